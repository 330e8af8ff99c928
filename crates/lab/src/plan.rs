//! A study's plan: the cells of its factors, in order, and what each one runs.
//!
//! The first factor varies slowest. Settings whose key is `job` or begins with `job.` change the job, all others the
//! stack. Runs with the same index use the same seed in every cell, so that sides are compared on the same chance.

use seekwise_formats::diagnostic::{Diagnostic, nearest};
use seekwise_formats::stack::{Setting, Stack as StackFile};
use seekwise_formats::study::{Duration, Study, flatten, plain};
use seekwise_model::rng::Seed;
use seekwise_model::time::Span;
use seekwise_model::workload::Job;
use seekwise_targets::sim::Stack;

use crate::catalogue;
use crate::jobs::{Loaded, Origin};

/// One combination of levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The level of each factor, in the study's order.
    pub levels: Vec<String>,
    /// Dotted keys and values, later ones over earlier ones.
    pub settings: Vec<(String, String)>,
}

/// What a cell runs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The stack.
    pub stack: Stack,
    /// The stack's settings, for showing and comparing.
    pub settings: Vec<Setting>,
    /// The job.
    pub job: Job,
    /// What the job was read from.
    pub origin: Origin,
    /// What the readers of both had to say.
    pub warnings: Vec<Diagnostic>,
}

/// The keys that change a job.
const JOB_KEYS: [&str; 4] = ["job", "job.depth", "job.runtime", "job.ramp"];

/// All cells of `study`.
pub fn cells(study: &Study) -> Vec<Cell> {
    let mut base: Vec<(String, String)> = Vec::new();
    if let Some(job) = &study.job {
        base.push(("job".to_owned(), job.clone()));
    }
    base.extend(study.runtime.map(|runtime| ("job.runtime".to_owned(), runtime.to_string())));
    base.extend(study.ramp.map(|ramp| ("job.ramp".to_owned(), ramp.to_string())));
    base.extend(flatten(&study.stack));
    let mut cells = vec![Cell { levels: Vec::new(), settings: base }];
    for factor in &study.factor {
        let levels: Vec<(String, Vec<(String, String)>)> = match &factor.key {
            Some(key) => factor.levels.iter().map(|level| (plain(level), vec![(key.clone(), plain(level))])).collect(),
            None => factor.bundle.iter().map(|bundle| (bundle.name.clone(), flatten(&bundle.set))).collect(),
        };
        let with = |cell: &Cell| {
            levels.iter().map(|(name, set)| {
                let mut cell = cell.clone();
                cell.levels.push(name.clone());
                cell.settings.extend(set.iter().cloned());
                cell
            }).collect::<Vec<_>>()
        };
        cells = cells.iter().flat_map(with).collect();
    }
    cells
}

/// The seed of the `run`-th run of every cell.
pub fn seed(study: &Study, run: u32) -> u64 {
    Seed(study.seed).run(u64::from(run)).0
}

/// Builds what a cell runs. `read` fetches the text of a drive, stack or job file that is not built in; `file` names
/// the study in errors.
pub fn prepare(file: &str, cell: &Cell, read: &dyn Fn(&str) -> Option<String>) -> Result<Prepared, Vec<Diagnostic>> {
    let of = |key: &str| cell.settings.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let Some(drive) = of("drive") else {
        return Err(vec![Diagnostic::at(file, 0, "no drive").key("stack.drive").expected("the name of a drive")]);
    };
    let mut stack = StackFile::named_drive(drive);
    for (key, value) in &cell.settings {
        if key == "drive" || key == "job" || key.starts_with("job.") {
            continue;
        }
        stack.set(key, value).map_err(|fault| vec![fault])?;
    }
    let built = stack.build(&|name| catalogue::text(name).map(str::to_owned).or_else(|| read(name)))?;
    let sectors = built.profile.geometry.sectors();
    let Some(name) = of("job") else {
        return Err(vec![Diagnostic::at(file, 0, "no job").key("job").expected("a pattern or a job file")]);
    };
    let Loaded { mut job, origin, mut warnings } = crate::jobs::load(name, sectors, read)?;
    for (key, value) in cell.settings.iter().filter(|(key, _)| key.starts_with("job.")) {
        set_job(file, &mut job, key, value).map_err(|fault| vec![fault])?;
    }
    warnings.extend(built.warnings.iter().cloned());
    let stack = Stack { driver: built.driver, controller: built.controller, layers: Vec::new(), profile: built.profile };
    Ok(Prepared { stack, settings: built.settings, job, origin, warnings })
}

/// Changes all workers of a job by a dotted key.
pub fn set_job(file: &str, job: &mut Job, key: &str, value: &str) -> Result<(), Diagnostic> {
    let fault = |expected: &str| Diagnostic::at(file, 0, format!("`{value}` does not fit")).key(key).expected(expected);
    let span = || Duration::parse(value).map(|length| Span::from_nanos(length.nanos));
    for worker in &mut job.workers {
        match key {
            "job.depth" => match value.parse() {
                Ok(depth) if (1..=65_535).contains(&depth) => worker.depth = depth,
                _ => return Err(fault("a queue depth from 1 to 65535")),
            },
            "job.runtime" => {
                worker.runtime = Some(span().map_err(|_| fault("a length of time"))?);
                worker.time_based = true;
            }
            "job.ramp" => worker.ramp = span().map_err(|_| fault("a length of time"))?,
            _ => {
                let near = nearest(key, JOB_KEYS).map(str::to_owned);
                let known = Diagnostic::at(file, 0, "unknown key").key(key).expected(JOB_KEYS.join(", "));
                return Err(Diagnostic { nearest: near, ..known });
            }
        }
    }
    Ok(())
}
