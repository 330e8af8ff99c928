//! Sampling until decided: a study's comparisons are run in rounds of short, warmed runs, and a pair stops when its verdict stands. The
//! length of the runs is planned here, and the runs that come next follow from the records so far. `finding` decides when a verdict stands;
//! only the [`pilot`] runs are made here.
//!
//! Cells that a comparison joins, directly or over others, are a group: their runs are equally long. The runs that come next follow from the
//! records in the plan's order alone, so results are byte for byte equal on any number of cores, and after an interruption.

mod account;
pub mod pilot;
mod reasons;

use seekwise_drives::metric::Metric;
use seekwise_formats::study::Study;
use seekwise_run::outcome::RunError;

pub use self::account::{FixedCells, SamplingAccount, UndecidedPair};
use self::pilot::{CellPilot, Pilot, PilotWatch};
use crate::finding::Evidence;
use crate::plan::PreparedCell;
use crate::provenance::StudyProvenance;
use crate::run::RunRecord;
use crate::sampling_plan::{SampledGroup, SamplingPlan};
use crate::stats::sequential::LOOKS;

/// The fewest requests of a run, where no percentile asks for more: from some hundreds on, the logarithm of a mean of response times is
/// close to normal (the central limit theorem; response times of disks are skewed, but not heavily).
const REQUESTS: u64 = 500;

/// Values above a percentile that a run needs, as for its flag (`stats/quality`).
const VALUES_ABOVE: u64 = 10;

/// The largest cost of a look, in virtual times of the fixed sample; dearer looks are left out.
const DEAREST: u64 = 2;

/// The fewest looks with which sampling until decided is of use.
const FEWEST_LOOKS: usize = 2;

/// The shortest pilot: at about a hundred random requests a second, a disk does the requests of a run in it.
const PILOT_NS: u64 = REQUESTS * 10_000_000;

/// The least counted time of a run, as a share of its ramp. With a half, the ramp costs at most twice the counted time; a longer run would
/// cost more where few runs decide.
const OF_RAMP: f64 = 0.5;

/// A millisecond, to which times are rounded up, as a person would write them.
const ROUND_NS: u64 = 1_000_000;

/// True if sampling until decided may shorten runs of a study: its cells run in virtual time, and the runs of some comparison may have
/// another length than the study says.
pub fn may_shorten_runs(study: &Study, made: &StudyProvenance, prepared: &[PreparedCell]) -> bool {
    let evidence = Evidence::new(study, made, &[]);
    !made.is_measured() && group_cells(&evidence, prepared).groups.iter().any(|group| group.length.is_ok())
}

/// Makes the plan by which `study` is sampled until it is decided; runs a pilot of each cell whose group may have shorter runs.
pub fn plan_sampling(
    study: &Study,
    made: &StudyProvenance,
    prepared: &[PreparedCell],
    threads: usize,
    watch: &PilotWatch<'_>,
) -> Result<SamplingPlan, RunError> {
    let evidence = Evidence::new(study, made, &[]);
    let CellGroups { of_cell, groups } = group_cells(&evidence, prepared);
    let shortened = groups.iter().filter_map(|group| Some((&group.cells, group.length.as_ref().ok()?)));
    let wanted = shortened.flat_map(|(cells, length)| {
        cells.iter().map(|&cell| CellPilot { cell, length_ns: length.pilot_length_ns(study.runs) })
    });
    let pilots = pilot::run_pilots(study, prepared, wanted, threads, watch)?;
    let plan_group = |CellGroup { cells, judged, length }: CellGroup<'_>| match length {
        Ok(length) => {
            let group_pilots: Vec<&Pilot> = cells.iter().filter_map(|cell| pilots.of_cell.get(cell)).collect();
            sampled_group(study, length, &group_pilots, &judged)
        }
        Err(why) => fixed_group(study, RunLength::from_workers(prepared[cells[0]].job.workers()), why),
    };
    let run_ns = |cell: &PreparedCell| RunLength::from_workers(cell.job.workers()).map(|length| length.total_ns());
    let fixed_ns = prepared.iter().map(run_ns).sum::<Option<u64>>();
    Ok(SamplingPlan {
        groups: groups.into_iter().map(plan_group).collect(),
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
    /// The length of their runs, or the reason why it may not be another.
    length: Result<RunLength, String>,
}

/// The cells of a study in groups.
struct CellGroups<'e> {
    /// By cell, the index of its group.
    of_cell: Vec<usize>,
    groups: Vec<CellGroup<'e>>,
}

fn group_cells<'e>(evidence: &Evidence<'e>, prepared: &[PreparedCell]) -> CellGroups<'e> {
    let compared = evidence.compared_cells();
    let of_cell = group_of_each_cell(prepared.len(), compared.iter().map(|&(from, to, _)| (from, to)));
    let count = of_cell.iter().max().map_or(0, |last| last + 1);
    let (mut cells, mut judged) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    for (cell, &group) in of_cell.iter().enumerate() {
        cells[group].push(cell);
    }
    for (from, _, metric) in compared {
        judged[of_cell[from]].push(metric);
    }
    let group = |(cells, judged): (Vec<usize>, Vec<&'e Metric>)| {
        let prepared: Vec<&PreparedCell> = cells.iter().map(|&cell| &prepared[cell]).collect();
        let length = reasons::group_length(evidence.study, &prepared, &judged);
        CellGroup { cells, judged, length }
    };
    let groups = cells.into_iter().zip(judged).map(group).collect();
    CellGroups { of_cell, groups }
}

/// The length of the runs of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RunLength {
    /// The counted time.
    runtime_ns: u64,
    /// The time before it.
    ramp_ns: u64,
}

impl RunLength {
    fn total_ns(self) -> u64 {
        self.runtime_ns + self.ramp_ns
    }

    /// The counted time of a short run: as many runs as the last look has count as long as `fixed_runs` of the study's length.
    fn short_runtime_ns(self, fixed_runs: u32) -> u64 {
        let most_runs = u64::from(LOOKS[LOOKS.len() - 1]);
        round_up_to_ms((self.runtime_ns.saturating_mul(u64::from(fixed_runs)) / most_runs).min(self.runtime_ns))
    }

    /// The length of a pilot: four short runs, or four ramps of the study. The first half may be ramp, and is compared with the second.
    fn pilot_length_ns(self, fixed_runs: u32) -> u64 {
        round_up_to_ms((4 * self.short_runtime_ns(fixed_runs).max(self.ramp_ns)).max(PILOT_NS.min(self.runtime_ns)))
    }
}

fn round_up_to_ms(nanos: u64) -> u64 {
    nanos.div_ceil(ROUND_NS).max(1) * ROUND_NS
}

/// A group that is sampled as the study says, and why.
fn fixed_group(study: &Study, length: Option<RunLength>, why: String) -> SampledGroup {
    SampledGroup {
        looks: vec![study.runs],
        fixed: Some(why),
        runtime_ns: length.map(|length| length.runtime_ns),
        ramp_ns: length.map_or(0, |length| length.ramp_ns),
        settled_ns: None,
    }
}

/// A group that is sampled until decided, with lengths from its pilot runs; as the study says if these save nothing.
fn sampled_group(study: &Study, length: RunLength, pilots: &[&Pilot], metrics: &[&Metric]) -> SampledGroup {
    let as_study_says = |why: String| fixed_group(study, Some(length), why);
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    let settled = pilots.iter().map(|pilot| pilot.settled_ns).collect::<Option<Vec<u64>>>();
    let Some(settled_ns) = settled.map(|all| all.into_iter().max().unwrap_or(0)) else {
        let longest_ns = pilots.iter().map(|pilot| pilot.length_ns).max().unwrap_or(0);
        return as_study_says(format!("no steady state within {} s", seconds(longest_ns)));
    };
    let ramp_ns = pilots.iter().map(|pilot| pilot.queue_warm_up_ns()).fold(round_up_to_ms(settled_ns), u64::max);
    let needed = pilots.iter().flat_map(|pilot| metrics.iter().map(|metric| pilot.needed_runtime_ns(metric)));
    let averaged = pilots.iter().map(|pilot| pilot.averaging_window_ns());
    let least_ns = needed.chain(averaged).max().unwrap_or(0).max((OF_RAMP * ramp_ns as f64) as u64);
    let runtime_ns = round_up_to_ms(length.short_runtime_ns(study.runs).max(least_ns).min(length.runtime_ns));
    let most_ns = DEAREST * u64::from(study.runs) * length.total_ns();
    let is_affordable = |look: &u32| u64::from(*look) * (runtime_ns + ramp_ns) <= most_ns;
    let looks: Vec<u32> = LOOKS.into_iter().filter(is_affordable).collect();
    if looks.len() < FEWEST_LOOKS {
        return as_study_says(format!(
            "runs of {} s after {} s of ramp would save nothing",
            seconds(runtime_ns),
            seconds(ramp_ns)
        ));
    }
    SampledGroup { looks, fixed: None, runtime_ns: Some(runtime_ns), ramp_ns, settled_ns: Some(settled_ns) }
}

/// For each cell the number of its group, which joins the cells of `pairs`; groups are counted in the order of their first cells.
fn group_of_each_cell(cell_count: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    // The first cell of the group of each.
    let mut first: Vec<usize> = (0..cell_count).collect();
    for (one, other) in pairs {
        let (later, earlier) = (first[one].max(first[other]), first[one].min(first[other]));
        first.iter_mut().filter(|cell| **cell == later).for_each(|cell| *cell = earlier);
    }
    let mut groups: Vec<usize> = first.clone();
    groups.sort_unstable();
    groups.dedup();
    first.iter().map(|cell| groups.binary_search(cell).unwrap_or(0)).collect()
}

/// The indices of a cell and of a run of it.
pub type CellAndRun = (usize, usize);

/// The plan's order of runs, as far as its first `records` determine it. A fixed sample is determined as a whole; of sampling until decided
/// all rounds that are done and the round that is due. The order is as long as the records when nothing is left to run.
pub fn sample_order(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> Vec<CellAndRun> {
    extend_order(Vec::new(), study, made, records)
}

/// Extends `order`, which the first of the records determined, as far as all of them determine it.
pub fn extend_order(
    mut order: Vec<CellAndRun>,
    study: &Study,
    made: &StudyProvenance,
    records: &[RunRecord],
) -> Vec<CellAndRun> {
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

/// The runs that come after the whole rounds `done`: those up to the next look of each open pair, cell by cell.
fn next_round(study: &Study, made: &StudyProvenance, plan: &SamplingPlan, done: &[RunRecord]) -> Vec<CellAndRun> {
    let mut run_counts: Vec<u32> = match done {
        [] => (0..made.cells.len()).map(|cell| plan.first_look(cell)).collect(),
        _ => vec![0; made.cells.len()],
    };
    let evidence = Evidence::new(study, made, done);
    if !done.is_empty() {
        for pair in evidence.open_pairs(plan) {
            for cell in pair.cells {
                run_counts[cell] = run_counts[cell].max(pair.next);
            }
        }
    }
    let runs = |(cell, run_count): (usize, u32)| {
        (evidence.cell_runs(cell).len()..run_count as usize).map(move |run| (cell, run))
    };
    run_counts.into_iter().enumerate().flat_map(runs).collect()
}

#[cfg(test)]
mod tests;
