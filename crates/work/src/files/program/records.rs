//! A bookkeeping program on shared files, which posts records into tables and their indexes. Each record reads some
//! index pages and makes a few small writes: to the table's end, its index and its head. Without transactions the
//! writes of each record are flushed one by one; with them, the writes of several records are flushed together. An
//! operation is a transaction, or a record without transactions.

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
    /// How many of these writes a flush follows; with transactions, the number of flushes at the end of each, at most
    /// one for each file.
    pub flushes: u32,
    /// Bytes in a write.
    pub bytes: u64,
    /// How the files are opened.
    pub handle: OpenMode,
    /// Computing for each record.
    pub time: Span,
}

#[derive(Debug)]
struct IndexedTable {
    table: File,
    index: File,
    /// The length of the table.
    end: u64,
}

#[derive(Debug)]
struct Records {
    spec: RecordsSpec,
    tables: Vec<IndexedTable>,
    /// The number of the record.
    at: u32,
    rng: Rng,
}

pub(super) fn create_program(
    spec: &RecordsSpec,
    context: &mut ProgramContext<'_>,
) -> Result<Box<dyn Program>, VolumeError> {
    let directory = context.place_directory(spec.volume)?;
    let mut tables = Vec::new();
    for _ in 0..spec.tables {
        let table = context.place_file(directory, spec.table)?;
        tables.push(IndexedTable { table, index: context.place_file(directory, spec.index)?, end: spec.table });
    }
    Ok(script::program_from_script(Records { spec: *spec, tables, at: 0, rng: context.named_rng("records") }))
}

impl Records {
    /// Returns write number `n` of a record: to the table's end, its index and its head in turn.
    fn make_write(&mut self, n: u32) -> Call {
        let RecordsSpec { bytes, handle, index: index_bytes, .. } = self.spec;
        let at = self.at as usize % self.tables.len();
        let table = &mut self.tables[at];
        let (file, from) = match n % 3 {
            0 => {
                table.end += bytes;
                (table.table, table.end - bytes)
            }
            1 => (table.index, self.rng.below((index_bytes / bytes).max(1)) * bytes),
            _ => (table.table, 0),
        };
        Call::Write { file, from, bytes, handle }
    }

    /// Adds the actions of a record: reads, computing, writes, and a flush after each write that must be durable.
    fn add_record(&mut self, actions: &mut ActionQueue) {
        let RecordsSpec { reads, writes, flushes, index: index_bytes, bytes, handle, .. } = self.spec;
        actions.push_calls(compute_call(self.spec.time));
        let index = self.tables[self.at as usize % self.tables.len()].index;
        for _ in 0..reads {
            let from = self.rng.below((index_bytes / bytes).max(1)) * bytes;
            actions.push_call(Call::Read { file: index, from, bytes, handle });
        }
        for n in 0..writes {
            let call = self.make_write(n);
            actions.push_call(call);
            // Flushes are spread evenly among the writes, and the last follows the last write.
            let flushes_before = |n: u32| n * flushes / writes;
            let is_flushed = self.spec.transaction == 1 && flushes_before(n + 1) > flushes_before(n);
            if let (true, Call::Write { file, .. }) = (is_flushed, call) {
                actions.push_call(Call::Sync(file, SyncScope::All));
            }
        }
    }
}

impl Script for Records {
    fn add_next_actions(&mut self, _: &ScriptContext<'_>, actions: &mut ActionQueue) -> bool {
        if self.at == self.spec.records {
            return false;
        }
        let number = self.at;
        actions.push_began(number);
        let until = self.spec.records.min(self.at + self.spec.transaction);
        while self.at < until {
            self.add_record(actions);
            self.at += 1;
        }
        if self.spec.transaction > 1 {
            let files = self.tables.iter().flat_map(|table| [table.table, table.index]);
            actions.push_calls(files.take(self.spec.flushes as usize).map(|file| Call::Sync(file, SyncScope::All)));
        }
        actions.push_ended(number);
        true
    }
}
