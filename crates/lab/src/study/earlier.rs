//! Runs that need not run again: records that stand for other cells, because their stacks are equal, or differ only in what the run
//! did not ask ([`Stack::runs_alike`]). Measured runs stand for no other.

use std::collections::BTreeMap;

use seekwise_formats::study::Study;
use seekwise_model::stack::Stack;

use super::warnings;
use crate::plan::PreparedCell;
use crate::run::RunRecord;

/// What cells have in common whose runs may be alike: the kin of their stacks, the work, the job's name, warnings, cuts and
/// shutdowns. Only of such are stacks compared, which costs microseconds for each pair.
pub(super) type CellKin = (u64, String, String, Vec<String>, [Option<u32>; 2]);

/// That of `prepared`.
pub(super) fn kin(study: &Study, prepared: &PreparedCell) -> CellKin {
    let PreparedCell { kin, work, job, .. } = prepared;
    (*kin, work.clone(), job.name().to_owned(), warnings(prepared), [study.cuts, study.shutdowns])
}

/// A run that is known, on this stack.
pub(crate) struct KnownRun {
    stack: Stack,
    record: RunRecord,
}

impl KnownRun {
    /// The record of a run of `prepared`, if it may stand for others.
    pub(crate) fn of(prepared: &PreparedCell, record: &RunRecord) -> Option<KnownRun> {
        let stack = prepared.target.stack().filter(|_| !prepared.target.is_measured())?;
        Some(KnownRun { stack: stack.clone(), record: record.clone() })
    }

    /// Whether a run of `prepared`, which has the same work, would run alike.
    pub(crate) fn stands_for(&self, prepared: &PreparedCell) -> bool {
        let Some(stack) = prepared.target.stack() else { return false };
        // Cuts fall into runs of their own, which may ask more.
        let judged = self.record.cuts.is_some() || self.record.shutdowns.is_some();
        match self.record.asked {
            Some(asked) if !judged => self.stack.runs_alike(stack, &asked),
            _ => self.stack == *stack,
        }
    }

    /// Its record as that of a run of `prepared`.
    pub(super) fn record_of(&self, prepared: &PreparedCell) -> RunRecord {
        let (cell_hash, target) = (prepared.hash.clone(), prepared.target.name());
        RunRecord { cell_hash, target, ..self.record.clone() }
    }
}

/// Runs of other plans, by the kin of their cells and their seeds.
#[derive(Default)]
pub struct EarlierRuns(BTreeMap<(CellKin, u64), Vec<KnownRun>>);

impl EarlierRuns {
    /// Adds the `records` of a plan, which need not run again.
    pub fn add(&mut self, study: &Study, prepared: &[PreparedCell], records: &[RunRecord]) {
        for record in records {
            let prepared = &prepared[record.cell];
            if self.find(study, prepared, record.seed).is_none()
                && let Some(known) = KnownRun::of(prepared, record)
            {
                self.0.entry((kin(study, prepared), record.seed)).or_default().push(known);
            }
        }
    }

    /// The record of a run of `prepared`, if one of them stands for it.
    pub(super) fn find(&self, study: &Study, prepared: &PreparedCell, seed: u64) -> Option<RunRecord> {
        if self.0.is_empty() {
            return None;
        }
        let known = self.0.get(&(kin(study, prepared), seed))?;
        known.iter().find(|known| known.stands_for(prepared)).map(|known| known.record_of(prepared))
    }
}
