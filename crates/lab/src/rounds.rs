//! Sampling until decided: a study's comparisons are run in rounds of short, warmed runs, and a pair stops when its
//! verdict stands. The length of the runs is planned here, and which runs come next follows from the records so far.
//! `finding` decides when a verdict stands; nothing is run here but the [`pilot`] runs.
//!
//! Cells that a comparison joins, directly or over others, are a group: their runs are equally long. Which runs come next
//! follows from the records in the plan's order alone, so results are the same bytes on any number of cores, and after they
//! were interrupted.

mod account;
pub mod pilot;
mod reasons;

use seekwise_drives::metric::Metric;
use seekwise_formats::study::Study;
use seekwise_run::outcome::RunError;

pub use self::account::{FixedCells, SamplingAccount, UndecidedPair};
use self::pilot::{Pilot, PilotWatch};
use crate::finding::Evidence;
use crate::plan::PreparedCell;
use crate::provenance::StudyProvenance;
use crate::run::RunRecord;
use crate::sampling_plan::{SampledGroup, SamplingPlan};
use crate::stats::sequential::LOOKS;

/// Requests of a run at least, where no percentile asks for more: from some hundreds on, the logarithm of a mean of response
/// times is close to normal (the central limit theorem; response times of disks are skewed, but not heavily).
const REQUESTS: u64 = 500;

/// Values beyond a percentile that a run needs, as for its flag (`stats/quality`).
const BEYOND: u64 = 10;

/// Looks that would take more than this many times the fixed sample's virtual time are left out.
const DEAREST: u64 = 2;

/// The fewest looks with which sampling until decided is of use.
const FEWEST_LOOKS: usize = 2;

/// Nanoseconds of a pilot at least: a disk answers about a hundred requests a second at random, so that it has those of a run.
const PILOT: u64 = REQUESTS * 10_000_000;

/// The least share of its ramp that a run counts. With a half, the ramp costs at most twice the counted time; a longer
/// run would cost more where few of them decide.
const OF_RAMP: f64 = 0.5;

/// Times are rounded up to milliseconds, as a person would write them.
const ROUND: u64 = 1_000_000;

/// Whether sampling until decided may shorten runs of a study: its cells run in virtual time, and some comparison's may be of
/// another length than the study says.
pub fn may_shorten(study: &Study, made: &StudyProvenance, prepared: &[PreparedCell]) -> bool {
    let evidence = Evidence::new(study, made, &[]);
    !made.is_measured() && group_cells(&evidence, prepared).1.iter().any(|group| group.length.is_ok())
}

/// Plans how `study` is sampled until it is decided: runs a pilot of each cell whose group may have shorter runs.
pub fn plan_sampling(
    study: &Study,
    made: &StudyProvenance,
    prepared: &[PreparedCell],
    threads: usize,
    watch: &PilotWatch<'_>,
) -> Result<SamplingPlan, RunError> {
    let evidence = Evidence::new(study, made, &[]);
    let (of_cell, groups) = group_cells(&evidence, prepared);
    let wanted = groups.iter().filter_map(|group| Some((&group.cells, group.length.as_ref().ok()?)));
    let wanted = wanted.flat_map(|(cells, length)| cells.iter().map(|&cell| (cell, length.pilot_length(study.runs))));
    let pilots = pilot::run_pilots(study, prepared, wanted, threads, watch)?;
    let planned = |CellGroup { cells, judged, length }: CellGroup<'_>| match length {
        Ok(length) => {
            let own: Vec<&Pilot> = cells.iter().filter_map(|cell| pilots.of_cell.get(cell)).collect();
            sampled_group(study, length, &own, &judged)
        }
        Err(why) => fixed_group(study, RunLength::from_workers(prepared[cells[0]].job.workers()), why),
    };
    let fixed_of = |cell: &PreparedCell| RunLength::from_workers(cell.job.workers()).map(|length| length.total_ns());
    let fixed_ns = prepared.iter().map(fixed_of).sum::<Option<u64>>();
    Ok(SamplingPlan {
        groups: groups.into_iter().map(planned).collect(),
        of_cell,
        pilot_ns: pilots.virtual_ns,
        fixed_ns: fixed_ns.map(|sum| sum * u64::from(study.runs)),
    })
}

/// Cells that comparisons join, directly or over others.
struct CellGroup<'e> {
    cells: Vec<usize>,
    /// The metrics by which they are judged.
    judged: Vec<&'e Metric>,
    /// How long their runs are, or why they may be no shorter.
    length: Result<RunLength, String>,
}

/// The group of each cell, and the groups.
fn group_cells<'e>(evidence: &Evidence<'e>, prepared: &[PreparedCell]) -> (Vec<usize>, Vec<CellGroup<'e>>) {
    let compared = evidence.compared_cells();
    let of_cell = join_cells(prepared.len(), compared.iter().map(|&(from, to, _)| (from, to)));
    let count = of_cell.iter().max().map_or(0, |last| last + 1);
    let (mut cells, mut judged) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (cell, &group) in of_cell.iter().enumerate() {
        cells[group].push(cell);
    }
    for (from, _, metric) in compared {
        judged[of_cell[from]].push(metric);
    }
    let group = |(cells, judged): (Vec<usize>, Vec<&'e Metric>)| {
        let of: Vec<&PreparedCell> = cells.iter().map(|&cell| &prepared[cell]).collect();
        let length = reasons::group_length(evidence.study, &of, &judged);
        CellGroup { cells, judged, length }
    };
    let groups = cells.into_iter().zip(judged).map(group).collect();
    (of_cell, groups)
}

/// How long the runs of a cell are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunLength {
    runtime: u64,
    ramp: u64,
}

impl RunLength {
    fn total_ns(self) -> u64 {
        self.runtime + self.ramp
    }

    /// The counted time of a short run: the most runs that may be made count as long as the fixed sample.
    fn short_runtime(self, runs: u32) -> u64 {
        let most = u64::from(LOOKS[LOOKS.len() - 1]);
        round_to_ms((self.runtime.saturating_mul(u64::from(runs)) / most).min(self.runtime))
    }

    /// The length of its pilot: four short runs, or four of the ramp that was asked for. The first half may be ramp,
    /// and is compared with the second.
    fn pilot_length(self, runs: u32) -> u64 {
        round_to_ms((4 * self.short_runtime(runs).max(self.ramp)).max(PILOT.min(self.runtime)))
    }
}

fn round_to_ms(nanos: u64) -> u64 {
    nanos.div_ceil(ROUND).max(1) * ROUND
}

/// A group that is sampled as the study says.
fn fixed_group(study: &Study, length: Option<RunLength>, why: String) -> SampledGroup {
    SampledGroup {
        looks: vec![study.runs],
        fixed: Some(why),
        runtime_ns: length.map(|length| length.runtime),
        ramp_ns: length.map_or(0, |length| length.ramp),
        settled_ns: None,
    }
}

/// A group as its pilot runs suggest.
fn sampled_group(study: &Study, length: RunLength, pilots: &[&Pilot], metrics: &[&Metric]) -> SampledGroup {
    let as_said = |why: String| fixed_group(study, Some(length), why);
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let each = pilots.iter().map(|pilot| pilot.settled_ns).collect::<Option<Vec<u64>>>();
    let Some(settled) = each.map(|each| each.into_iter().max().unwrap_or(0)) else {
        let longest = pilots.iter().map(|pilot| pilot.length_ns).max().unwrap_or(0);
        return as_said(format!("no steady state within {} s", seconds(longest)));
    };
    let ramp = pilots.iter().map(|pilot| pilot.warm_ns()).fold(round_to_ms(settled), u64::max);
    let enough = pilots.iter().flat_map(|pilot| metrics.iter().map(|metric| pilot.enough_ns(metric)));
    let enough = enough.max().unwrap_or(0);
    let enough = pilots.iter().map(|pilot| pilot.looked_at_ns()).fold(enough, u64::max);
    let runtime = round_to_ms(
        length.short_runtime(study.runs).max((OF_RAMP * ramp as f64) as u64).max(enough).min(length.runtime),
    );
    let most = DEAREST * u64::from(study.runs) * length.total_ns();
    let fits = |look: &u32| u64::from(*look) * (runtime + ramp) <= most;
    let looks: Vec<u32> = LOOKS.into_iter().filter(fits).collect();
    if looks.len() < FEWEST_LOOKS {
        return as_said(format!("runs of {} s after {} s of ramp would save nothing", seconds(runtime), seconds(ramp)));
    }
    SampledGroup { looks, fixed: None, runtime_ns: Some(runtime), ramp_ns: ramp, settled_ns: Some(settled) }
}

/// For each of `cells` the number of its group, counted in the order of their first cells.
fn join_cells(cells: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut least: Vec<usize> = (0..cells).collect();
    for (one, other) in pairs {
        let (from, to) = (least[one].max(least[other]), least[one].min(least[other]));
        least.iter_mut().filter(|it| **it == from).for_each(|it| *it = to);
    }
    let mut firsts: Vec<usize> = least.clone();
    firsts.sort_unstable();
    firsts.dedup();
    least.iter().map(|first| firsts.binary_search(first).unwrap_or(0)).collect()
}

/// The plan's order, as indexes of cell and run, as far as `records`, its first ones, determine it: all of a fixed
/// sample; of sampling until decided all rounds that are done, and the one that is due. There are as many as records
/// when nothing is left to run.
pub fn sample_order(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> Vec<(usize, usize)> {
    extend_order(Vec::new(), study, made, records)
}

/// Extends `order`, which the first of the records determined.
pub fn extend_order(
    mut order: Vec<(usize, usize)>,
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
) -> Vec<(usize, usize)> {
    let Some(plan) = &made.sampling else { return made.fixed_order() };
    while order.len() <= records.len() {
        let round = next_round(study, made, plan, &records[..order.len()]);
        if round.is_empty() {
            break;
        }
        order.extend(round);
    }
    order
}

/// The runs that come after whole rounds: those of the next look of each open pair, cell by cell.
fn next_round(study: &Study, made: &StudyProvenance, plan: &SamplingPlan, done: &[RunRecord]) -> Vec<(usize, usize)> {
    let mut target: Vec<u32> = match done {
        [] => (0..made.cells.len()).map(|cell| plan.first_look(cell)).collect(),
        _ => vec![0; made.cells.len()],
    };
    let evidence = Evidence::new(study, made, done);
    if !done.is_empty() {
        for pair in evidence.open_pairs(plan) {
            for cell in pair.cells {
                target[cell] = target[cell].max(pair.next);
            }
        }
    }
    let runs =
        |(cell, target): (usize, u32)| (evidence.cell_runs(cell).len()..target as usize).map(move |run| (cell, run));
    target.into_iter().enumerate().flat_map(runs).collect()
}

#[cfg(test)]
mod tests;
