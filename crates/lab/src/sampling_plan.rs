//! The seeds of a study's runs, and the plan by which it is sampled until it is decided: the groups of its cells, the length of their runs,
//! and the numbers of runs at which their pairs are looked at. It is kept with what made the results. `rounds` makes the plan, and
//! decides which runs come next.

use seekwise_drives::duration::Duration;
use seekwise_drives::key_names::job;
use seekwise_formats::study::Study;
use serde::{Deserialize, Serialize};

use crate::plan::{self, Cell};

/// The runs of every cell of a study.
#[derive(Clone, Debug)]
pub struct RunSample {
    /// The seed of each run.
    pub seeds: Vec<u64>,
    /// How they are sampled until the study is decided; nothing for a fixed sample.
    pub sampling: Option<SamplingPlan>,
}

impl RunSample {
    /// As many runs as the study says, or as the plan of its sampling takes at most.
    pub fn new(study: &Study, sampling: Option<SamplingPlan>) -> RunSample {
        let runs = sampling.as_ref().map_or(study.runs, SamplingPlan::most_runs);
        RunSample { seeds: (0..runs).map(|run| plan::run_seed(study, run)).collect(), sampling }
    }
}

/// How a study is sampled until it is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingPlan {
    /// By cell the index of its group.
    pub of_cell: Vec<usize>,
    pub groups: Vec<SampledGroup>,
    /// Virtual time of all pilot runs.
    pub pilot_ns: u64,
    /// Virtual time of the fixed sample, if the length of every run is fixed in advance.
    pub fixed_ns: Option<u64>,
}

/// Cells whose runs are equally long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledGroup {
    /// The numbers of runs after which its pairs are looked at.
    pub looks: Vec<u32>,
    /// The reason why it is sampled as the study says, if it is: its only look is the study's number of runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed: Option<String>,
    /// Counted time of a run, if fixed in advance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime_ns: Option<u64>,
    /// Time of a run before its counted time.
    pub ramp_ns: u64,
    /// Time after which its pilot runs were steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_ns: Option<u64>,
}

impl SamplingPlan {
    /// The group of a cell.
    pub(crate) fn group_of_cell(&self, cell: usize) -> &SampledGroup {
        &self.groups[self.of_cell[cell]]
    }

    /// The numbers of runs after which a cell's pairs are looked at.
    pub(crate) fn looks_of_cell(&self, cell: usize) -> &[u32] {
        &self.group_of_cell(cell).looks
    }

    /// Runs of a cell before the first look.
    pub(crate) fn first_look(&self, cell: usize) -> u32 {
        self.looks_of_cell(cell).first().copied().unwrap_or(0)
    }

    /// The looks at the ratio over several cells: those that all of them have, up to `most_runs`.
    pub(crate) fn looks_of_all(&self, cells: impl Iterator<Item = usize>, most_runs: u32) -> Vec<u32> {
        let by_cell: Vec<&[u32]> = cells.map(|cell| self.looks_of_cell(cell)).collect();
        let last = by_cell.iter().filter_map(|looks| looks.last()).copied().min().unwrap_or(0);
        let longest = by_cell.iter().max_by_key(|looks| looks.len()).copied().unwrap_or(&[]);
        let looks: Vec<u32> = longest.iter().copied().filter(|&look| look <= last.min(most_runs)).collect();
        if looks.is_empty() { vec![last] } else { looks }
    }

    /// The most runs of any cell.
    pub fn most_runs(&self) -> u32 {
        self.groups.iter().filter_map(|group| group.looks.last()).copied().max().unwrap_or(0)
    }

    /// The cells of a study with the lengths of their runs.
    pub fn cells_with_lengths<'c>(&self, cells: impl Iterator<Item = &'c Cell>) -> Vec<Cell> {
        let length = |nanos: u64| Duration { nanos }.to_string();
        let with_length = |(index, cell): (usize, &Cell)| {
            let mut cell = cell.clone();
            let group = self.group_of_cell(index);
            if let (None, Some(runtime)) = (&group.fixed, group.runtime_ns) {
                let keys = [
                    (job::RUNTIME, length(runtime)),
                    (job::RAMP, length(group.ramp_ns)),
                    // Otherwise the requests at its ends would distort a short run.
                    (job::COUNTED, "window".to_owned()),
                ];
                cell.settings.extend(keys.map(|(key, value)| (key.to_owned(), value)));
            }
            cell
        };
        cells.enumerate().map(with_length).collect()
    }

    /// Fails if the plan does not fit a study of so many cells and seeds.
    pub fn check_fit(&self, cell_count: usize, seed_count: usize) -> Result<(), String> {
        let rising =
            |looks: &[u32]| !looks.is_empty() && looks[0] > 0 && looks.windows(2).all(|pair| pair[0] < pair[1]);
        let fits = self.of_cell.len() == cell_count
            && self.of_cell.iter().all(|&group| group < self.groups.len())
            && self.groups.iter().all(|group| rising(&group.looks))
            && self.most_runs() as usize == seed_count;
        if fits { Ok(()) } else { Err("`sampling` does not fit its cells and seeds".to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(looks: &[u32], fixed: bool) -> SampledGroup {
        SampledGroup {
            looks: looks.to_vec(),
            fixed: fixed.then(|| "why".to_owned()),
            runtime_ns: Some(2_000_000_000),
            ramp_ns: 500_000_000,
            settled_ns: None,
        }
    }

    /// Cells 0 and 1 are looked at after 3, 5, 8 and 12 runs, cell 2 after 3, 5 and 8, cell 3 after 5 as the study says.
    fn plan() -> SamplingPlan {
        let groups = vec![group(&[3, 5, 8, 12], false), group(&[3, 5, 8], false), group(&[5], true)];
        SamplingPlan { of_cell: vec![0, 0, 1, 2], groups, pilot_ns: 0, fixed_ns: None }
    }

    #[test]
    fn cells_are_looked_at_together_where_all_of_them_are() {
        let plan = plan();
        assert_eq!((plan.first_look(0), plan.first_look(3), plan.most_runs()), (3, 5, 12));
        assert_eq!((plan.looks_of_cell(1), plan.looks_of_cell(2)), (&[3, 5, 8, 12][..], &[3, 5, 8][..]));
        let of = |cells: &[usize], most: u32| plan.looks_of_all(cells.iter().copied(), most);
        assert_eq!(of(&[0, 1], 20), [3, 5, 8, 12]);
        assert_eq!(of(&[0, 1], 12), [3, 5, 8, 12]);
        assert_eq!(of(&[0, 1], 11), [3, 5, 8]);
        assert_eq!(of(&[0, 2], 20), [3, 5, 8], "the other ends there");
        assert_eq!(of(&[2, 0, 3], 20), [3, 5]);
        assert_eq!(of(&[3], 2), [5], "the only look, however few are wanted");
    }

    #[test]
    fn a_plan_fits_its_cells_and_seeds_and_its_looks_rise() {
        assert_eq!(plan().check_fit(4, 12), Ok(()));
        assert!(
            [(3, 12), (5, 12), (4, 11), (4, 13)].iter().all(|&(cells, seeds)| plan().check_fit(cells, seeds).is_err())
        );
        for looks in [&[][..], &[0, 12], &[3, 3, 12], &[5, 3, 12]] {
            let mut plan = plan();
            plan.groups[0].looks = looks.to_vec();
            assert!(plan.check_fit(4, plan.most_runs() as usize).is_err(), "{looks:?}");
        }
        let mut beyond = plan();
        beyond.of_cell[3] = 3;
        assert!(beyond.check_fit(4, 12).is_err());
    }

    #[test]
    fn runs_are_as_long_as_their_group_s_unless_the_study_says_how_long() {
        let cell = Cell { levels: Vec::new(), settings: vec![("job.depth".to_owned(), "1".to_owned())] };
        let cells = plan().cells_with_lengths([&cell; 4].into_iter());
        let with = |of: &Cell| {
            of.settings[1..].iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        for longer in &cells[..3] {
            assert_eq!(with(longer), "job.runtime=2 s job.ramp=0.5 s job.counted=window");
        }
        assert_eq!(cells[3], cell);
    }
}
