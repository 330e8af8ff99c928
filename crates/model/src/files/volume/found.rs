//! What a mount finds after a cut, from acknowledgements and what the drive holds alone: the judge of files.
//!
//! It knows which request wrote what ([`Step::role`], [`Step::holds`]), which of them were acknowledged, and what changed on
//! which page ([`Change`]); of the platter only which write each sector holds. It does not ask the volume.
//!
//! A page of metadata is as new as its oldest sector, or as the log brings it: up to the last transaction that is whole on
//! the drive with all before it. A log that would bring a newer page back to an older state is not modelled.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::change::{Change, Fact};
use super::plan::{Role, Step};
use super::tree::FileId;
use crate::block::SECTOR;

/// What a sector of the drive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// What it held before the run.
    Before,
    /// The data of the write with this stamp.
    Stamp(u64),
    /// A cut left it unreadable.
    Unreadable,
}

/// Sectors of a file's data, by what became of the last acknowledged write of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// There, or newer ones.
    pub fresh: u64,
    /// Older data of this file, or what it held before the run.
    pub stale: u64,
    /// Something else: the place was never written for this file, or the file does not reach so far.
    pub missing: u64,
    /// Unreadable.
    pub torn: u64,
}

/// One file as a mount finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The directories that list it: none, one, or, where a move was caught halfway, two.
    pub listed: Vec<FileId>,
    /// How long it is by its entry or record; 0 where it is in no directory.
    pub bytes: u64,
    /// What was written to it and acknowledged.
    pub data: Data,
}

/// A write, as it was issued.
#[derive(Clone, Copy, Debug)]
struct Write {
    lba: u64,
    sectors: u64,
    role: Role,
    holds: u64,
    done: bool,
}

/// What a file was before the run.
#[derive(Clone, Copy, Debug)]
struct Before {
    directory: FileId,
    bytes: u64,
}

/// All that the judge is told.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Bytes of a cluster.
    cluster: u64,
    /// By stamp.
    writes: BTreeMap<u64, Write>,
    /// Stamps of writes to the log, and of data by file; they rise.
    logs: Vec<u64>,
    data: BTreeMap<FileId, Vec<u64>>,
    changes: BTreeMap<FileId, Vec<Change>>,
    before: BTreeMap<FileId, Before>,
}

/// A volume as a mount finds it; `F` says what each sector of the drive holds.
#[derive(Clone, Debug)]
pub struct Mounted<'a, F> {
    ledger: &'a Ledger,
    on: F,
    /// The last change that the log brings.
    log: u64,
}

impl Ledger {
    /// Nothing told yet, of a volume with clusters of so many bytes.
    pub fn new(cluster_bytes: u64) -> Ledger {
        Ledger { cluster: cluster_bytes, ..Ledger::default() }
    }

    /// A file that was there before the run.
    pub fn was_there(&mut self, file: FileId, directory: FileId, bytes: u64) {
        self.before.insert(file, Before { directory, bytes });
    }

    /// What [`super::Volume::take_changes`] gave, in its order.
    pub fn changed(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.changes.entry(change.file).or_default().push(change);
        }
    }

    /// A write of these sectors of `step` was issued under `stamp`.
    pub fn issued(&mut self, stamp: u64, step: &Step, lba: u64, sectors: u64) {
        let role = match step.role {
            Role::Data { file, from } => Role::Data { file, from: from + (lba - step.lba) * SECTOR },
            role => role,
        };
        match role {
            Role::Data { file, .. } => self.data.entry(file).or_default().push(stamp),
            role if role.is_log() => self.logs.push(stamp),
            _ => {}
        }
        self.writes.insert(stamp, Write { lba, sectors, role, holds: step.holds, done: false });
    }

    /// It was acknowledged.
    pub fn acknowledged(&mut self, stamp: u64) {
        if let Some(write) = self.writes.get_mut(&stamp) {
            write.done = true;
        }
    }

    /// What a mount finds where `on` says what each sector of the drive holds.
    pub fn mount<F: Fn(u64) -> Held>(&self, on: F) -> Mounted<'_, F> {
        let log = self.log(&on);
        Mounted { ledger: self, on, log }
    }

    /// How far the log goes: the last change of the last transaction that is there with all before it. A log page that was
    /// overwritten by a later one had served.
    fn log(&self, on: &impl Fn(u64) -> Held) -> u64 {
        let mut reached = 0;
        for stamp in &self.logs {
            let write = &self.writes[stamp];
            let there = |lba: u64| matches!(on(lba), Held::Stamp(held) if held >= *stamp);
            if !(write.lba..write.lba + write.sectors).all(there) {
                break;
            }
            if write.role != Role::JournalBlocks {
                reached = reached.max(write.holds);
            }
        }
        reached
    }
}

impl<F: Fn(u64) -> Held> Mounted<'_, F> {
    /// Whether a change is there: the log brings it, or its page holds it.
    fn has(&self, change: &Change) -> bool {
        let is_on = |lba: u64| match (self.on)(lba) {
            Held::Stamp(stamp) => self.ledger.writes.get(&stamp).is_some_and(|write| write.holds >= change.number),
            Held::Before | Held::Unreadable => false,
        };
        change.number <= self.log || (change.page..change.page + change.sectors).all(is_on)
    }

    /// One file.
    pub fn find(&self, file: FileId) -> Found {
        let before = self.ledger.before.get(&file).copied();
        let changes = self.ledger.changes.get(&file).map_or(&[][..], Vec::as_slice);
        let mut listed: BTreeSet<FileId> = before.map(|before| before.directory).into_iter().collect();
        let (mut recorded, mut bytes) = (before.is_some(), before.map_or(0, |before| before.bytes));
        let mut mapped: Vec<(u64, u64)> =
            before.map(|before| (0, before.bytes.next_multiple_of(self.ledger.cluster))).into_iter().collect();
        let keeps_records = changes.iter().any(|c| matches!(c.fact, Fact::Recorded | Fact::Unrecorded));
        for same in changes.chunk_by(|a, b| a.number == b.number && a.fact == b.fact) {
            if !same.iter().all(|change| self.has(change)) {
                continue;
            }
            match same[0].fact {
                Fact::Listed(directory) => _ = listed.insert(directory),
                Fact::Unlisted(directory) => _ = listed.remove(&directory),
                Fact::Recorded => recorded = true,
                Fact::Unrecorded => recorded = false,
                Fact::Sized(length) => bytes = length,
                Fact::Mapped(from, to) => mapped.push((from, to)),
            }
        }
        if listed.is_empty() || (keeps_records && !recorded) {
            (listed, bytes) = (BTreeSet::new(), 0);
        }
        let reaches = |at: u64| at < bytes && mapped.iter().any(|&(from, to)| from <= at && at < to);
        Found { listed: listed.into_iter().collect(), bytes, data: self.data(file, &reaches) }
    }

    /// What became of the data of `file`.
    fn data(&self, file: FileId, reaches: &impl Fn(u64) -> bool) -> Data {
        // By sector of the file: where it was last written and acknowledged, under which stamp.
        let mut last: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for stamp in self.ledger.data.get(&file).map_or(&[][..], Vec::as_slice) {
            let write = &self.ledger.writes[stamp];
            if let (Role::Data { from, .. }, true) = (write.role, write.done) {
                last.extend((0..write.sectors).map(|i| (from / SECTOR + i, (write.lba + i, *stamp))));
            }
        }
        let had = self.ledger.before.get(&file).map_or(0, |before| before.bytes);
        let lengths = self.ledger.changes.get(&file).into_iter().flatten();
        let length = |change: &Change| if let Fact::Sized(bytes) = change.fact { bytes } else { 0 };
        // Behind the end, up to the end of its cluster, stands what was written with the rest.
        let longest = lengths.map(length).fold(had, u64::max);
        let behind = longest.div_ceil(SECTOR)..longest.next_multiple_of(self.ledger.cluster) / SECTOR;
        let mut data = Data::default();
        for (sector, (lba, stamp)) in last.into_iter().filter(|(sector, _)| !behind.contains(sector)) {
            let count = match (self.on)(lba) {
                _ if !reaches(sector * SECTOR) => &mut data.missing,
                Held::Unreadable => &mut data.torn,
                Held::Stamp(held) if held >= stamp => &mut data.fresh,
                Held::Stamp(held) if self.is_of(held, file) => &mut data.stale,
                Held::Before if sector * SECTOR < had => &mut data.stale,
                Held::Before | Held::Stamp(_) => &mut data.missing,
            };
            *count += 1;
        }
        data
    }

    fn is_of(&self, stamp: u64, file: FileId) -> bool {
        let role = self.ledger.writes.get(&stamp).map(|write| write.role);
        matches!(role, Some(Role::Data { file: whose, .. }) if whose == file)
    }
}
