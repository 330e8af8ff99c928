//! Counts the operations of a scene's programs, such as files copied or commits, by program.

use std::collections::BTreeMap;

use seekwise_run::work::{Issuer, Work};
use seekwise_work::files::scene::ProgramError;
use seekwise_work::workload::Window;
use serde::{Deserialize, Serialize};

use crate::stats::histogram::Histogram;
use crate::stats::response::Response;

/// The operations of one program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OperationRecord {
    #[serde(deserialize_with = "super::deserialize_count")]
    pub count: u64,
    /// How many a second, from the program's beginning to its end.
    pub per_s: f64,
    /// `None` if none ended.
    #[serde(deserialize_with = "Response::deserialize_nonzero")]
    pub response_ms: Option<Response>,
}

/// The operations of each program of a scene by its name, with the rate over the program's window.
pub(super) fn count_operations(
    issuer: &Issuer,
    work: &Work,
    windows: &[Option<Window>],
) -> BTreeMap<String, OperationRecord> {
    let Some(scene) = work.scene() else { return BTreeMap::new() };
    let mut times: Vec<Histogram> = scene.programs.iter().map(|_| Histogram::default()).collect();
    for operation in issuer.operations() {
        times[usize::from(operation.program)].record(operation.ended.since(operation.began));
    }
    let record = |((program, times), window): ((_, &Histogram), &Option<Window>)| {
        let program: &seekwise_work::files::scene::ProgramPlan = program;
        let seconds = window.map_or(0.0, |window| window.until.since(window.from).nanos() as f64 / 1e9);
        let count = times.count();
        let per_s = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        (program.name.clone(), OperationRecord { count, per_s, response_ms: Response::from_histogram(times) })
    };
    scene.programs.iter().zip(&times).zip(windows).map(record).collect()
}

/// Programs that stopped before their end, in words.
pub(super) fn program_troubles(issuer: &Issuer, work: &Work) -> Vec<String> {
    let name = |program: usize| work.scene().map_or("", |scene| &scene.programs[program].name);
    let words = |(program, trouble): (usize, ProgramError)| match trouble {
        ProgramError::Refused(why) => format!("program {} stopped: {why}", name(program)),
        ProgramError::Failed => format!("program {} stopped: a request of its failed", name(program)),
        ProgramError::Waits => {
            format!("program {} waits for what never comes; please report this scene", name(program))
        }
    };
    issuer.program_errors().into_iter().map(words).collect()
}
