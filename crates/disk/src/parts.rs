//! The parts of a response time, and the other costs of a request. Each component knows the parts that it adds to;
//! `record` keeps the account of a request.
//!
//! ```text
//!  submitted                                                                            finished
//!  |processor|driver|flush|controller|queue|overhead|seek|settle|rotation|transfer|cache|link|
//! ```
//! The doc comments of [`Part`] define them. *Flush* has three cases: a request waits for an earlier flush or another
//! barrier; a command queued in the drive waits while the drive writes back for a flush; a flush waits until all dirty
//! data is on the medium.

use crate::time::Span;

/// A part of a response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Part {
    /// Processor cores of the host.
    Processor,
    /// Waiting in the operating system's driver.
    Driver,
    /// Waiting behind a flush or another barrier, in the driver or in the drive; of a flush, for the medium.
    Flush,
    /// The controller's own cost, and waiting for its channel.
    Controller,
    /// Waiting in the drive's queue.
    Queue,
    /// The drive's command overhead.
    Overhead,
    /// Arm movement or head switch.
    Seek,
    /// Extra settling before a write.
    Settle,
    /// Waiting for the first wanted sector to come under the head, and for the skew between tracks.
    Rotation,
    /// Wanted sectors passing under the head.
    Transfer,
    /// Waiting for a segment of the drive's buffer, or for a read-ahead in progress.
    Cache,
    /// Moving data over the interface.
    Link,
}

/// Each part with its name in results and its meaning, in the order in which a request meets them.
const TABLE: [(Part, &str, &str); Part::COUNT] = [
    (Part::Processor, "processor", "waiting for the host's processor, and work on it"),
    (Part::Driver, "driver", "waiting in the host's driver, before the drive or the controller took the request"),
    (
        Part::Flush,
        "flush",
        "waiting behind a flush or another barrier, in the driver or in the drive; of a flush, for the medium",
    ),
    (Part::Controller, "controller", "the controller's own cost, and waiting for its channel"),
    (Part::Queue, "queue", "waiting in the drive's queue"),
    (Part::Overhead, "overhead", "the drive's command overhead"),
    (Part::Seek, "seek", "movement of the arm, or a switch of heads"),
    (Part::Settle, "settle", "extra settling before a write"),
    (Part::Rotation, "rotation", "waiting for the wanted sectors to come under the head"),
    (Part::Transfer, "transfer", "the wanted sectors passing under the head"),
    (Part::Cache, "cache", "waiting for a segment of the drive's buffer, or for a read-ahead in progress"),
    (Part::Link, "link", "moving data over the interface"),
];

impl Part {
    /// The number of parts.
    pub const COUNT: usize = 12;
    /// All parts, in the order in which a request meets them.
    pub const ALL: [Part; Part::COUNT] = {
        let mut all = [Part::Processor; Part::COUNT];
        let mut row = 0;
        while row < Part::COUNT {
            all[row] = TABLE[row].0;
            assert!(all[row] as usize == row, "the table is in the order of the parts");
            row += 1;
        }
        all
    };

    /// The name in results.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The meaning, in words.
    pub const fn meaning(self) -> &'static str {
        TABLE[self as usize].2
    }
}

/// A response time by its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts([u64; Part::COUNT]);

impl Parts {
    /// No time at all.
    pub const NONE: Parts = Parts([0; Part::COUNT]);

    /// The time spent in `part`.
    pub fn get(&self, part: Part) -> Span {
        Span::from_nanos(self.0[part as usize])
    }

    /// Adds `span` to `part`.
    pub fn add(&mut self, part: Part, span: Span) {
        self.0[part as usize] += span.nanos();
    }

    /// Adds `nanos` to `part`; the sum does not come near to wrapping.
    #[inline]
    pub(crate) fn add_nanos(&mut self, part: Part, nanos: u64) {
        let sum = &mut self.0[part as usize];
        *sum = sum.wrapping_add(nanos);
    }

    /// Adds all parts of `other`; no sum comes near to wrapping. Adding part by part avoids a store-forwarding stall: a
    /// wide read of what was just written narrowly.
    #[inline]
    pub(crate) fn add_all(&mut self, other: &Parts) {
        for (sum, part) in self.0.iter_mut().zip(&other.0) {
            *sum = sum.wrapping_add(*part);
        }
    }

    /// Subtracts `nanos` nanoseconds in all, from the last part first.
    pub(crate) fn subtract_from_last(&mut self, mut nanos: u64) {
        for part_nanos in self.0.iter_mut().rev() {
            let subtracted = nanos.min(*part_nanos);
            *part_nanos -= subtracted;
            nanos -= subtracted;
        }
    }

    /// The nanoseconds of all parts, in the order of [`Part::ALL`].
    #[inline]
    pub fn nanos(&self) -> &[u64; Part::COUNT] {
        &self.0
    }

    /// All parts together: the response time.
    pub fn total(&self) -> Span {
        Span::from_nanos(self.0.iter().sum())
    }
}

/// Work that a request causes on the host's processor: counted by the layers on its way, charged in the topmost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Commands sent to devices for it.
    pub commands: u16,
    /// Interrupts by these commands that the processor saw.
    pub interrupts: u16,
    /// Commands among them by which an array read old data or parity before it could write: read-modify-write.
    pub modify_reads: u16,
    /// Commands among them by which an array read the rest of a row before it could write: reconstruct-write.
    pub reconstruct_reads: u16,
    /// Sectors that the processor copied in memory.
    pub copied: u32,
    /// Sectors that the processor read in memory to compute parity, or to reconstruct data from it.
    pub parity: u32,
    /// Time for which the processor moved the data itself, a word at a time (PIO).
    pub programmed: Span,
}

impl Effort {
    /// Nothing.
    pub const NONE: Effort = Effort {
        commands: 0,
        interrupts: 0,
        modify_reads: 0,
        reconstruct_reads: 0,
        copied: 0,
        parity: 0,
        programmed: Span::ZERO,
    };
    /// A single command, answered by a single interrupt.
    pub const COMMAND: Effort = Effort { commands: 1, interrupts: 1, ..Effort::NONE };

    /// Adds the effort of another request.
    #[inline]
    pub fn add(&mut self, other: &Effort) {
        self.commands = self.commands.saturating_add(other.commands);
        self.interrupts = self.interrupts.saturating_add(other.interrupts);
        self.modify_reads = self.modify_reads.saturating_add(other.modify_reads);
        self.reconstruct_reads = self.reconstruct_reads.saturating_add(other.reconstruct_reads);
        self.copied = self.copied.saturating_add(other.copied);
        self.parity = self.parity.saturating_add(other.parity);
        self.programmed += other.programmed;
    }
}

/// Counts of what drives did since the beginning, for any reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriveLog {
    /// Flush commands that reached them.
    pub flushes: u64,
    /// Accesses that began on another cylinder than the heads were at, for commands and for what is written back.
    pub seeks: u64,
    /// Seeks in the direction opposite to the previous one.
    pub reversals: u64,
    /// Pages of a write-intent bitmap that an array wrote, each to all of its drives.
    pub bitmap_writes: u64,
    /// Rebuilds and checks of an array.
    pub syncs: SyncCounts,
}

/// Counts of an array's rebuilds and checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SyncCounts {
    /// Sectors that rebuilds wrote to new drives.
    pub rebuilt_sectors: u64,
    /// Sectors of each drive that checks read.
    pub checked_sectors: u64,
    /// Rebuilds and checks that came to their end.
    pub ended: u64,
    /// How often one waited until nothing of it was in flight, because users were busy.
    pub drains: u64,
}

impl SyncCounts {
    fn add(&mut self, other: &SyncCounts) {
        self.rebuilt_sectors += other.rebuilt_sectors;
        self.checked_sectors += other.checked_sectors;
        self.ended += other.ended;
        self.drains += other.drains;
    }
}

impl DriveLog {
    /// Adds another drive's.
    pub fn add(&mut self, other: &DriveLog) {
        self.flushes += other.flushes;
        self.seeks += other.seeks;
        self.reversals += other.reversals;
        self.bitmap_writes += other.bitmap_writes;
        self.syncs.add(&other.syncs);
    }
}
