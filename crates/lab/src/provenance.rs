//! The provenance of a study's results, as it is kept beside them and read again years later: the program, the seeds,
//! all texts that were read, and for each cell every setting of its stack and its job. Reports and claims are made from
//! this and from the records; they read no drive, stack or job again.

pub mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use seekwise_disk::rng::Seed;
use seekwise_drives::key_names::stack::PLACE;
use seekwise_drives::stack::Setting;
use serde::{Deserialize, Serialize};

use crate::digest::{settings_hash, sha256};
use crate::inputs::InputTexts;
use crate::plan::{Cell, PreparedCell};
use crate::run::RunRecord;
use crate::sampling_plan::SamplingPlan;

pub use crate::sampling_plan::RunSample;

/// Provenance as the text of a file.
fn as_text(provenance: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(provenance).expect("it has no keys but strings");
    text.push('\n');
    text
}

/// The provenance of a study's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyProvenance {
    pub program: ProgramVersion,
    /// SHA-256 of the study's text.
    pub study_sha256: String,
    /// The seed of each run, the same in all cells.
    pub seeds: Vec<u64>,
    /// How it is sampled until it is decided; nothing for a fixed sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingPlan>,
    /// The names of the drives' profiles, and of places in real time.
    pub drives: Vec<String>,
    /// The readers' warnings.
    pub warnings: Vec<String>,
    /// All that was read.
    pub inputs: InputTexts,
    /// The settings that are the same in all cells.
    shared: Vec<Setting>,
    /// The other settings: each cell lists the indexes of its own.
    varied: Vec<Setting>,
    pub cells: Vec<CellProvenance>,
}

/// The program that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramVersion {
    pub version: String,
    /// A hash of the sources that decide a result's figures.
    pub build: String,
}

impl ProgramVersion {
    /// The version of this program.
    pub fn current() -> ProgramVersion {
        ProgramVersion { version: env!("CARGO_PKG_VERSION").to_owned(), build: env!("SEEKWISE_BUILD").to_owned() }
    }
}

impl std::fmt::Display for ProgramVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Seekwise {}, build {}", self.version, self.build)
    }
}

/// The provenance of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellProvenance {
    /// The levels and the settings that were asked for.
    #[serde(flatten)]
    pub cell: Cell,
    /// The hash of its settings; each of its records has it.
    pub hash: String,
    /// Indexes in the varied settings.
    varied: Vec<usize>,
}

impl StudyProvenance {
    /// Collects the provenance of a study's results.
    pub fn new(
        study_sha256: String,
        cells: &[Cell],
        prepared: &[PreparedCell],
        inputs: InputTexts,
        RunSample { seeds, sampling }: RunSample,
    ) -> StudyProvenance {
        let (shared, varied, places) = split_settings(prepared);
        let made = |((cell, prepared), varied): ((&Cell, &PreparedCell), Vec<usize>)| CellProvenance {
            cell: cell.clone(),
            hash: prepared.hash.clone(),
            varied,
        };
        let drives: BTreeSet<String> = prepared.iter().map(|cell| cell.target.name()).collect();
        let warnings: BTreeSet<String> =
            prepared.iter().flat_map(|cell| &cell.warnings).map(ToString::to_string).collect();
        StudyProvenance {
            program: ProgramVersion::current(),
            study_sha256,
            seeds,
            sampling,
            drives: drives.into_iter().collect(),
            warnings: warnings.into_iter().collect(),
            inputs,
            shared,
            varied,
            cells: cells.iter().zip(prepared).zip(places).map(made).collect(),
        }
    }

    /// Joins cells of two results: of each pair the first result's, then of each the second's, with the name of its
    /// result before the first's levels. There is no sampling plan: the runs are judged as they are.
    pub fn join_results(sides: [(&str, &StudyProvenance); 2], pairs: &[(usize, usize)]) -> StudyProvenance {
        let (mut varied, mut cells) = (Vec::new(), Vec::new());
        for (place, (name, made)) in sides.into_iter().enumerate() {
            let (first, shared) = (varied.len(), made.shared.len());
            varied.extend(made.shared.iter().chain(&made.varied).cloned());
            cells.extend(pairs.iter().map(|pair| {
                let CellProvenance { cell, hash, varied } = &made.cells[[pair.0, pair.1][place]];
                // The first side's words: `on` of one side is `true` of the other.
                let own = &sides[0].1.cells[pair.0].cell.levels;
                let levels = std::iter::once(name.to_owned()).chain(own.iter().cloned()).collect();
                let own = varied.iter().map(|index| index + shared);
                CellProvenance {
                    cell: Cell { levels, settings: cell.settings.clone() },
                    hash: hash.clone(),
                    varied: (0..shared).chain(own).map(|index| first + index).collect(),
                }
            }));
        }
        let [(_, from), (_, to)] = sides;
        let both = |of: fn(&StudyProvenance) -> &Vec<String>| {
            of(from).iter().chain(of(to)).cloned().collect::<BTreeSet<String>>().into_iter().collect()
        };
        StudyProvenance {
            sampling: None,
            drives: both(|made| &made.drives),
            warnings: both(|made| &made.warnings),
            shared: Vec::new(),
            varied,
            cells,
            ..from.clone()
        }
    }

    /// The settings of a cell: those that all share, then its own.
    pub fn cell_settings(&self, cell: usize) -> impl Iterator<Item = &Setting> {
        let own = self.cells.get(cell).into_iter().flat_map(|cell| &cell.varied);
        self.shared.iter().chain(own.filter_map(|&place| self.varied.get(place)))
    }

    /// Every setting of any cell, each with each of its values.
    pub fn all_settings(&self) -> Vec<&Setting> {
        self.shared.iter().chain(&self.varied).collect()
    }

    /// The setting of a cell with this key.
    pub fn find_setting(&self, cell: usize, key: &str) -> Option<&Setting> {
        self.cell_settings(cell).find(|setting| setting.key == key)
    }

    /// True if some of its runs are measured in real time.
    pub fn is_measured(&self) -> bool {
        (0..self.cells.len()).any(|cell| self.find_setting(cell, PLACE).is_some())
    }

    /// The order of a fixed sample, as indexes of cell and run: cell by cell in virtual time. If runs are measured, block by block
    /// of one run of each cell, each block in its own order, so that drift affects all cells alike.
    pub fn fixed_order(&self) -> Vec<(usize, usize)> {
        let (cells, runs) = (self.cells.len(), self.seeds.len());
        if !self.is_measured() {
            return (0..cells * runs).map(|index| (index / runs, index % runs)).collect();
        }
        let block = |(run, &seed): (usize, &u64)| {
            let mut chance = Seed(seed).stream("block");
            let mut block: Vec<(usize, usize)> = (0..cells).map(|cell| (cell, run)).collect();
            for last in (1..cells).rev() {
                block.swap(last, chance.below(last as u64 + 1) as usize);
            }
            block
        };
        self.seeds.iter().enumerate().flat_map(block).collect()
    }

    /// The text that is written beside the records.
    pub fn to_text(&self) -> String {
        as_text(self)
    }

    /// SHA-256 of that text.
    pub fn hash(&self) -> String {
        sha256(self.to_text().as_bytes())
    }

    /// Checks that it is what was written beside `study`'s results; an error says what does not fit.
    pub fn check_study(&self, study: &str) -> Result<(), String> {
        if sha256(study.as_bytes()) != self.study_sha256 {
            return Err("study.toml is not the study that it was made from: its SHA-256 differs".to_owned());
        }
        if self.seeds.is_empty() {
            return Err("`seeds` is empty".to_owned());
        }
        self.inputs.check_hashes()?;
        if let Some(plan) = &self.sampling {
            plan.check_fit(self.cells.len(), self.seeds.len())?;
        }
        for (place, cell) in self.cells.iter().enumerate() {
            if settings_hash(self.cell_settings(place)) != cell.hash {
                return Err(format!("the settings of cell {place} do not fit its hash {}", cell.hash));
            }
        }
        Ok(())
    }

    /// Checks that `record` is number `index` of the plan, whose `order` is that of `rounds::sample_order`; an error says what
    /// it is, and what was expected.
    pub fn check_record(&self, order: &[(usize, usize)], index: usize, record: &RunRecord) -> Result<(), String> {
        let Some(&(cell, run)) = order.get(index) else {
            return Err(format!("one record more than the plan's {}", order.len()));
        };
        let made = &self.cells[cell];
        if (record.cell, record.run as usize) != (cell, run) {
            let before = order[..index].contains(&(record.cell, record.run as usize));
            let why = if before { "it stands there twice, or out of order" } else { "a line before it is missing" };
            let (found, of) = (record.run, record.cell);
            return Err(format!("holds run {found} of cell {of}, where the plan has run {run} of cell {cell}; {why}"));
        }
        if record.seed != self.seeds[run] {
            return Err(format!("run {run} of cell {cell} has seed {}, the plan {}", record.seed, self.seeds[run]));
        }
        if record.cell_hash != made.hash {
            let named = &record.cell_hash;
            return Err(format!(
                "run {run} of cell {cell} was made of other settings (`{named}`, not `{}`)",
                made.hash
            ));
        }
        Ok(())
    }
}

/// The settings that all cells share, the others, and each cell's indexes among these.
fn split_settings(prepared: &[PreparedCell]) -> (Vec<Setting>, Vec<Setting>, Vec<Vec<usize>>) {
    let Some(first) = prepared.first() else { return Default::default() };
    let has = |cell: &PreparedCell, place: usize, setting: &Arc<Setting>| {
        cell.settings.get(place) == Some(setting) || cell.settings.contains(setting)
    };
    let everywhere = |&(place, setting): &(usize, &Arc<Setting>)| prepared.iter().all(|cell| has(cell, place, setting));
    let shared: Vec<Setting> =
        first.settings.iter().enumerate().filter(everywhere).map(|(_, setting)| (**setting).clone()).collect();
    let keys: BTreeSet<&str> = shared.iter().map(|setting| setting.key.as_str()).collect();
    let mut varied: Vec<Setting> = Vec::new();
    let mut of_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut places = Vec::new();
    for cell in prepared {
        let mut own = Vec::new();
        for setting in cell.settings.iter().filter(|setting| !keys.contains(setting.key.as_str())) {
            let known = of_key.entry(&setting.key).or_default();
            own.push(known.iter().copied().find(|&place| varied[place] == **setting).unwrap_or_else(|| {
                known.push(varied.len());
                varied.push((**setting).clone());
                varied.len() - 1
            }));
        }
        places.push(own);
    }
    (shared, varied, places)
}

/// The keys in which two sides differ, in order.
pub fn differing_keys<'a>(
    from: impl Iterator<Item = &'a Setting>,
    to: impl Iterator<Item = &'a Setting>,
) -> Vec<String> {
    let mut sides: BTreeMap<&str, [Option<&str>; 2]> = BTreeMap::new();
    from.for_each(|setting| sides.entry(&setting.key).or_default()[0] = Some(&setting.value));
    to.for_each(|setting| sides.entry(&setting.key).or_default()[1] = Some(&setting.value));
    sides.into_iter().filter(|(_, [from, to])| from != to).map(|(key, _)| key.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::plan;

    const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 2\njob = 'random-read'\n[stack]\n\
        drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
        [[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n";

    fn made() -> StudyProvenance {
        let study = seekwise_formats::study::parse("s.toml", STUDY).unwrap();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cells = plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        let sample = RunSample::new(&study, None);
        let made = StudyProvenance::new(sha256(STUDY.as_bytes()), &cells, &prepared, inputs.texts_read(), sample);
        for (place, cell) in prepared.iter().enumerate() {
            let mut kept: Vec<&Setting> = made.cell_settings(place).collect();
            kept.sort_by_key(|setting| &setting.key);
            let mut all: Vec<&Setting> = cell.settings.iter().map(|setting| &**setting).collect();
            all.sort_by_key(|setting| &setting.key);
            assert_eq!(kept, all);
        }
        made
    }

    #[test]
    fn settings_are_kept_once_and_come_back() {
        let made = made();
        assert!(made.shared.len() > 60, "{}", made.shared.len());
        let varied: Vec<&str> = made.varied.iter().map(|setting| setting.key.as_str()).collect();
        assert_eq!(varied, ["drive.firmware.depth", "job.depth", "drive.firmware.depth", "job.depth"]);
        assert_eq!(made.find_setting(3, "job.depth").unwrap().value, "8");
        let text = serde_json::to_string(&made).unwrap();
        let back: StudyProvenance = serde_json::from_str(&text).unwrap();
        assert_eq!(back, made);
        assert_eq!(back.check_study(STUDY), Ok(()));
    }

    #[test]
    fn cells_of_two_results_keep_their_settings() {
        let made = made();
        let both = StudyProvenance::join_results([("a", &made), ("b", &made)], &[(0, 3), (2, 1)]);
        let levels: Vec<String> = both.cells.iter().map(|made| made.cell.levels.join(" ")).collect();
        // The second side's cells bear the first side's words, and keep their own settings.
        assert_eq!(levels, ["a 1 1", "a 8 1", "b 1 1", "b 8 1"]);
        for (cell, of) in [(0, 0), (1, 2), (2, 3), (3, 1)] {
            assert!(both.cell_settings(cell).eq(made.cell_settings(of)), "{cell}");
        }
    }

    #[test]
    fn what_was_changed_by_hand_is_told() {
        let mut other = made();
        assert!(other.check_study("title = 'u'").unwrap_err().contains("study.toml is not the study"));
        let rpm = other.shared.iter_mut().find(|setting| setting.key == "drive.mechanics.rpm").unwrap();
        rpm.value = "5400".to_owned();
        assert!(other.check_study(STUDY).unwrap_err().contains("the settings of cell 0 do not fit its hash"));
    }

    #[test]
    fn hashes_do_not_depend_on_the_order_of_settings() {
        let made = made();
        let mut settings: Vec<&Setting> = made.cell_settings(1).collect();
        settings.reverse();
        assert_eq!(settings_hash(settings.into_iter()), made.cells[1].hash);
        assert_ne!(made.cells[0].hash, made.cells[1].hash);
    }
}
