//! Runs that need not run again: records that stand for other cells, because their stacks are equal, or differ only in what the run
//! did not ask ([`Stack::runs_alike`]). Measured runs stand for no other.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use seekwise_disk::block::setting_use::SettingUse;
use seekwise_disk::stack::{Stack, UnusedSettings, UsedSettings};
use seekwise_formats::study::Study;

use super::warning_texts;
use crate::plan::PreparedCell;
use crate::run::RunRecord;

/// The common properties of cells whose runs may be alike: the kin of their stacks, the work, the job's name, warnings,
/// cuts and shutdowns. Only stacks of such cells are compared, which costs microseconds for each pair.
pub(super) type CellKin = (u64, String, String, Vec<String>, [Option<u32>; 2]);

/// The kin of `prepared`.
pub(super) fn cell_kin(study: &Study, prepared: &PreparedCell) -> CellKin {
    let PreparedCell { kin, work, job, .. } = prepared;
    (*kin, work.clone(), job.name().to_owned(), warning_texts(prepared), [study.cuts, study.shutdowns])
}

/// A run that is known, on this stack.
pub(crate) struct KnownRun<'r> {
    stack: Arc<Stack>,
    /// The use of its settings; all, where that is not known.
    asked: SettingUse,
    record: Cow<'r, RunRecord>,
}

impl<'r> KnownRun<'r> {
    /// The record of a run of `prepared`, if it may stand for others.
    pub(crate) fn from_run(prepared: &PreparedCell, record: &RunRecord) -> Option<KnownRun<'static>> {
        stack_of(prepared).map(|stack| KnownRun::on_stack(stack, Cow::Owned(record.clone())))
    }

    /// The record of a run on `stack`.
    fn on_stack(stack: Arc<Stack>, record: Cow<'r, RunRecord>) -> KnownRun<'r> {
        // Cuts fall into runs of their own, which may ask more.
        let judged = record.cuts.is_some() || record.shutdowns.is_some();
        let asked = record.asked.filter(|_| !judged).unwrap_or(SettingUse::ALL);
        KnownRun { stack, asked, record }
    }

    /// Whether a run of `prepared`, which has the same work, would run alike.
    fn stands_for(&self, prepared: &PreparedCell) -> bool {
        #[cfg(test)]
        COMPARED.with(|compared| compared.set(compared.get() + 1));
        prepared.target.stack().is_some_and(|stack| self.stack.runs_alike(stack, &self.asked))
    }

    /// The record as that of a run of `prepared`.
    pub(super) fn record_of(&self, prepared: &PreparedCell) -> RunRecord {
        let (cell_hash, target) = (prepared.hash.clone(), prepared.target.name());
        RunRecord { cell_hash, target, ..RunRecord::clone(&self.record) }
    }
}

/// The stack of a cell whose runs may stand for others: measured ones stand for none.
fn stack_of(prepared: &PreparedCell) -> Option<Arc<Stack>> {
    prepared.target.stack().filter(|_| !prepared.target.is_measured()).map(|stack| Arc::new(stack.clone()))
}

#[cfg(test)]
thread_local! {
    /// How often a run was compared with a cell.
    pub(super) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    /// How often runs were searched for one that stands for a cell.
    pub(crate) static SEARCHED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Runs that are known of cells that are kin, each with what is to be told of it. A search goes by which settings they left
/// open, of which there are few combinations, and by the values of the others: a cell is not compared with every one of them.
pub(crate) struct KnownRuns<'r, T>(BTreeMap<UnusedSettings, SettingsMap<'r, T>>);

/// Runs by the settings that they asked.
type SettingsMap<'r, T> = HashMap<UsedSettings, Vec<(KnownRun<'r>, T)>>;

impl<T> Default for KnownRuns<'_, T> {
    fn default() -> Self {
        KnownRuns(BTreeMap::new())
    }
}

impl<'r, T> KnownRuns<'r, T> {
    /// Adds one.
    pub(crate) fn add(&mut self, known: KnownRun<'r>, told: T) {
        let open = known.stack.unused_settings(&known.asked);
        let asked = known.stack.used_settings(&open);
        self.0.entry(open).or_default().entry(asked).or_default().push((known, told));
    }

    /// Finds one that stands for a run of `prepared`, which has the same work.
    pub(crate) fn find_alike<'s>(&'s self, prepared: &PreparedCell) -> Option<&'s (KnownRun<'r>, T)> {
        #[cfg(test)]
        SEARCHED.with(|searched| searched.set(searched.get() + 1));
        let stack = prepared.target.stack()?;
        let of = |(open, runs): (&UnusedSettings, &'s SettingsMap<'r, T>)| {
            let mut alike = runs.get(&stack.used_settings(open))?.iter();
            alike.find(|(known, _)| known.stands_for(prepared))
        };
        self.0.iter().find_map(of)
    }
}

/// Runs of other plans, by the kin of their cells and their seeds.
#[derive(Default)]
pub struct EarlierRuns<'r>(BTreeMap<(CellKin, u64), KnownRuns<'r, ()>>);

impl<'r> EarlierRuns<'r> {
    /// Adds the `records` of a plan, which need not run again. Records may be lent: those of a study are most of what it holds.
    pub fn add(
        &mut self,
        study: &Study,
        prepared: &[PreparedCell],
        records: impl IntoIterator<Item = Cow<'r, RunRecord>>,
    ) {
        // By cell: its runs share one stack.
        let mut stacks: BTreeMap<usize, Option<Arc<Stack>>> = BTreeMap::new();
        for record in records {
            let (cell, seed) = (record.cell, record.seed);
            let prepared = &prepared[cell];
            if self.find_record(study, prepared, seed).is_none()
                && let Some(stack) = stacks.entry(cell).or_insert_with(|| stack_of(prepared))
            {
                let known = KnownRun::on_stack(Arc::clone(stack), record);
                self.0.entry((cell_kin(study, prepared), seed)).or_default().add(known, ());
            }
        }
    }

    /// The record of a run of `prepared`, if one of them stands for it.
    pub(super) fn find_record(&self, study: &Study, prepared: &PreparedCell, seed: u64) -> Option<RunRecord> {
        if self.0.is_empty() {
            return None;
        }
        let known = self.0.get(&(cell_kin(study, prepared), seed))?;
        known.find_alike(prepared).map(|(known, ())| known.record_of(prepared))
    }
}
