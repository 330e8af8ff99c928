//! Records posted into tables and their indexes, as a bookkeeping program on shared files does: each record reads some
//! index pages and makes a few small writes to the table's end, its index and its head. Without transactions each
//! record is made durable write by write; with them, the writes of several records are made durable together. An
//! operation is a record, or a transaction of several.

use alloc::boxed::Box;
use alloc::vec::Vec;

use seekwise_disk::rng::Rng;
use seekwise_disk::time::Span;

use super::action::{Program, compute_call};
use super::context::ProgramContext;
use super::script::{self, ActionQueue, Script, ScriptContext};
use crate::files::call::{Call, File, OpenMode};
use crate::files::volume::{SyncScope, VolumeError};

/// The figures of the tables and the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordsSpec {
    pub volume: u8,
    /// How many tables, each with an index.
    pub tables: u32,
    /// Bytes in a table.
    pub table: u64,
    /// Bytes in an index.
    pub index: u64,
    pub records: u32,
    /// Records in a transaction; 1 for no transactions.
    pub transaction: u32,
    /// Index pages read for each record.
    pub reads: u32,
    /// Writes for each record.
    pub writes: u32,
    /// How many of these a flush follows; with transactions, flushes at the end of each, at most one for each file.
    pub flushes: u32,
    /// Bytes in a write.
    pub bytes: u64,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Computing for each record.
    pub time: Span,
}

#[derive(Debug)]
struct Records {
    spec: RecordsSpec,
    tables: Vec<(File, File)>,
    /// By table: its end.
    ends: Vec<u64>,
    at: u32,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &RecordsSpec,
    place: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = place.create_directory(spec.volume)?;
    let mut tables = Vec::new();
    for _ in 0..spec.tables {
        tables.push((place.place_file(directory, spec.table)?, place.place_file(directory, spec.index)?));
    }
    Ok(script::from_script(Records {
        spec: *spec,
        ends: alloc::vec![spec.table; tables.len()],
        tables,
        at: 0,
        rng: place.named_rng("records"),
    }))
}

impl Records {
    /// Returns write `n` of a record: to the table's end, its index and its head in turn.
    fn write_call(&mut self, n: u32) -> Call {
        let RecordsSpec { bytes, handle, index: long, .. } = self.spec;
        let at = self.at as usize % self.tables.len();
        let (table, index) = self.tables[at];
        let (file, from) = match n % 3 {
            0 => {
                self.ends[at] += bytes;
                (table, self.ends[at] - bytes)
            }
            1 => (index, self.rng.below((long / bytes).max(1)) * bytes),
            _ => (table, 0),
        };
        Call::Write { file, from, bytes, handle }
    }

    /// Adds the actions of a record: reads, computing, writes, and a flush after each write that must be durable.
    fn add_record(&mut self, acts: &mut ActionQueue) {
        let RecordsSpec { reads, writes, flushes, index: long, bytes, handle, .. } = self.spec;
        acts.push_calls(compute_call(self.spec.time));
        let (_, index) = self.tables[self.at as usize % self.tables.len()];
        for _ in 0..reads {
            let from = self.rng.below((long / bytes).max(1)) * bytes;
            acts.push_call(Call::Read { file: index, from, bytes, handle });
        }
        for n in 0..writes {
            let call = self.write_call(n);
            acts.push_call(call);
            // Evenly among the writes, and after the last.
            let so_far = |n: u32| n * flushes / writes;
            if let (1, true, Call::Write { file, .. }) = (self.spec.transaction, so_far(n + 1) > so_far(n), call) {
                acts.push_call(Call::Sync(file, SyncScope::All));
            }
        }
    }
}

impl Script for Records {
    fn add_actions(&mut self, _: &ScriptContext<'_>, acts: &mut ActionQueue) -> bool {
        if self.at == self.spec.records {
            return false;
        }
        let number = self.at;
        acts.push_began(number);
        let until = self.spec.records.min(self.at + self.spec.transaction);
        while self.at < until {
            self.add_record(acts);
            self.at += 1;
        }
        if self.spec.transaction > 1 {
            let files = self.tables.iter().flat_map(|&(table, index)| [table, index]);
            acts.push_calls(files.take(self.spec.flushes as usize).map(|file| Call::Sync(file, SyncScope::All)));
        }
        acts.push_ended(number);
        true
    }
}
