//! What the members of an array did in a run, as a record keeps it: bytes by purpose and the busy time of each, the bytes at the
//! members for each byte of the array's requests, and the sentences that say what writes had to read first.

use seekwise_disk::block::SECTOR;
use seekwise_disk::block::array_load::{ArrayLoad, LoadCurve, MemberCounts, MovedSectors};
use seekwise_disk::time::Span;
use seekwise_work::workload::Window;
use serde::{Deserialize, Serialize};

use crate::stats::summary::RequestTally;

/// The work of an array in the counted time of a run. Work is counted when it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArrayRecord {
    /// Reads that the array served. They come from the layers above it, so a page cache or a driver may have merged the program's.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Writes that the array served, likewise.
    pub writes: u64,
    /// Bytes of these.
    pub written_bytes: u64,
    /// Bytes that the members read to serve reads, for each byte read; more than 1 if data had to be reconstructed. `None` without
    /// reads.
    pub read_per_byte_read: Option<f64>,
    /// Bytes that the members read because a write needed them first, for each byte written: old data, old parity, the rest of a row.
    /// `None` without writes.
    pub read_per_byte_written: Option<f64>,
    /// Bytes of data and parity that the members wrote for each byte written, without those of a rebuild and of the bitmap. `None`
    /// without writes.
    pub written_per_byte_written: Option<f64>,
    /// Counted writes of the job for which the array read old data or parity first (read-modify-write). 0 for requests that a page
    /// cache serves: they are not those of the array.
    pub read_modify_writes: u64,
    /// Counted writes of the job for which the array read the rest of a row first (reconstruct-write), likewise.
    pub reconstruct_writes: u64,
    pub members: Vec<MemberRecord>,
    /// The counted time, in seconds; 0 in records from before it was kept.
    #[serde(default)]
    pub elapsed_s: f64,
}

/// The work of one member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberRecord {
    /// Its number, from 0.
    pub member: u32,
    /// Read commands, for whatever purpose.
    pub reads: u64,
    /// Bytes of these.
    pub read_bytes: u64,
    /// Write commands, for whatever purpose.
    pub writes: u64,
    /// Bytes of these.
    pub written_bytes: u64,
    /// Flush commands.
    pub flushes: u64,
    /// Reads among `reads` of old data or parity before a write: read-modify-write.
    pub modify_reads: u64,
    /// Bytes of these.
    pub modify_read_bytes: u64,
    /// Reads among `reads` of the rest of a row before a write: reconstruct-write.
    pub reconstruct_reads: u64,
    /// Bytes of these.
    pub reconstruct_read_bytes: u64,
    /// Bytes among `read_bytes` for a rebuild or a check.
    pub sync_read_bytes: u64,
    /// Bytes among `written_bytes` for a rebuild or a check.
    pub sync_written_bytes: u64,
    /// Bytes among `written_bytes` of the write-intent bitmap.
    pub bitmap_written_bytes: u64,
    /// Time with at least one command in flight, in per cent of the counted time: `%util` of `iostat`.
    pub busy_percent: f64,
}

/// The counts of a curve in these windows together.
pub fn counts_in_windows(curve: &LoadCurve, windows: &[Window]) -> MemberCounts {
    let counts = windows.iter().map(|window| curve.counts_between(window.from, window.until));
    counts.fold(MemberCounts::default(), |sum, counts| sum.plus(&counts))
}

fn bytes(moved: MovedSectors) -> u64 {
    moved.sectors * SECTOR
}

impl MemberRecord {
    fn from_counts(member: u32, counts: &MemberCounts, elapsed: Span) -> MemberRecord {
        let (reads, writes) = (counts.reads(), counts.writes());
        let busy_percent = match elapsed.nanos() {
            0 => 0.0,
            elapsed_ns => 100.0 * counts.busy.nanos() as f64 / elapsed_ns as f64,
        };
        MemberRecord {
            member,
            reads: reads.commands,
            read_bytes: bytes(reads),
            writes: writes.commands,
            written_bytes: bytes(writes),
            flushes: counts.flushes,
            modify_reads: counts.modify_reads.commands,
            modify_read_bytes: bytes(counts.modify_reads),
            reconstruct_reads: counts.reconstruct_reads.commands,
            reconstruct_read_bytes: bytes(counts.reconstruct_reads),
            sync_read_bytes: bytes(counts.sync_reads),
            sync_written_bytes: bytes(counts.sync_writes),
            bitmap_written_bytes: bytes(counts.bitmap_writes),
            busy_percent,
        }
    }

    /// Bytes that it read because writes needed them first.
    pub fn bytes_read_before_writes(&self) -> u64 {
        self.modify_read_bytes.saturating_add(self.reconstruct_read_bytes)
    }

    /// Bytes of a rebuild or a check: read and written.
    pub fn sync_bytes(&self) -> u64 {
        self.sync_read_bytes.saturating_add(self.sync_written_bytes)
    }
}

impl ArrayRecord {
    /// The work in these windows, which last `elapsed` together; `writes` are the job's counted writes.
    pub(super) fn from_load(
        load: &ArrayLoad,
        windows: &[Window],
        elapsed: Span,
        writes: &RequestTally,
    ) -> Box<ArrayRecord> {
        let requests = counts_in_windows(&load.requests, windows);
        let member = |(member, curve): (u32, &LoadCurve)| {
            MemberRecord::from_counts(member, &counts_in_windows(curve, windows), elapsed)
        };
        let (reads, written) = (requests.user_reads, requests.user_writes);
        let mut record = ArrayRecord {
            reads: reads.commands,
            read_bytes: bytes(reads),
            writes: written.commands,
            written_bytes: bytes(written),
            read_modify_writes: writes.read_modify_writes(),
            reconstruct_writes: writes.reconstruct_writes(),
            members: (0..).zip(&load.members).map(member).collect(),
            elapsed_s: elapsed.nanos() as f64 / 1e9,
            ..ArrayRecord::default()
        };
        record.set_ratios();
        Box::new(record)
    }

    /// Megabytes a second that rebuilds wrote to a new drive; without any, that checks read from a drive.
    pub(super) fn sync_mb_per_s(&self) -> f64 {
        let most = |of: fn(&MemberRecord) -> u64| self.members.iter().map(of).max().unwrap_or(0);
        let bytes = match most(|member| member.sync_written_bytes) {
            0 => most(|member| member.sync_read_bytes),
            written => written,
        };
        if self.elapsed_s > 0.0 { bytes as f64 / 1e6 / self.elapsed_s } else { 0.0 }
    }

    /// Sets the bytes at the members for each byte of the array's requests.
    fn set_ratios(&mut self) {
        [self.read_per_byte_read, self.read_per_byte_written, self.written_per_byte_written] = self.ratios();
    }

    /// Bytes read for each byte read, and read and written for each byte written, by the figures of the members.
    pub(super) fn ratios(&self) -> [Option<f64>; 3] {
        let sum = |of: fn(&MemberRecord) -> u64| self.members.iter().map(|member| of(member) as f64).sum::<f64>();
        let before = sum(MemberRecord::bytes_read_before_writes);
        let read = sum(|member| member.read_bytes) - before - sum(|member| member.sync_read_bytes);
        let own_writes = sum(|member| member.sync_written_bytes) + sum(|member| member.bitmap_written_bytes);
        let written = sum(|member| member.written_bytes) - own_writes;
        let per_byte = |bytes: f64, whole: u64| (whole > 0).then(|| bytes / whole as f64);
        [per_byte(read, self.read_bytes), per_byte(before, self.written_bytes), per_byte(written, self.written_bytes)]
    }

    /// Means over the runs of a cell; `None` without any, or if a run has none.
    pub fn mean(runs: &[Option<&ArrayRecord>]) -> Option<ArrayRecord> {
        let runs: Vec<&ArrayRecord> = runs.iter().copied().collect::<Option<_>>()?;
        let first = runs.first()?;
        let mean = |value: &dyn Fn(&ArrayRecord) -> u64| {
            (runs.iter().map(|run| value(run) as f64).sum::<f64>() / runs.len() as f64).round() as u64
        };
        let member = |index: usize| {
            let mean = |value: fn(&MemberRecord) -> u64| mean(&|run| run.members.get(index).map_or(0, value));
            let busy = runs.iter().filter_map(|run| run.members.get(index)).map(|member| member.busy_percent);
            MemberRecord {
                member: first.members[index].member,
                reads: mean(|member| member.reads),
                read_bytes: mean(|member| member.read_bytes),
                writes: mean(|member| member.writes),
                written_bytes: mean(|member| member.written_bytes),
                flushes: mean(|member| member.flushes),
                modify_reads: mean(|member| member.modify_reads),
                modify_read_bytes: mean(|member| member.modify_read_bytes),
                reconstruct_reads: mean(|member| member.reconstruct_reads),
                reconstruct_read_bytes: mean(|member| member.reconstruct_read_bytes),
                sync_read_bytes: mean(|member| member.sync_read_bytes),
                sync_written_bytes: mean(|member| member.sync_written_bytes),
                bitmap_written_bytes: mean(|member| member.bitmap_written_bytes),
                busy_percent: busy.sum::<f64>() / runs.len() as f64,
            }
        };
        let mut record = ArrayRecord {
            reads: mean(&|run| run.reads),
            read_bytes: mean(&|run| run.read_bytes),
            writes: mean(&|run| run.writes),
            written_bytes: mean(&|run| run.written_bytes),
            read_modify_writes: mean(&|run| run.read_modify_writes),
            reconstruct_writes: mean(&|run| run.reconstruct_writes),
            members: (0..first.members.len()).map(member).collect(),
            elapsed_s: runs.iter().map(|run| run.elapsed_s).sum::<f64>() / runs.len() as f64,
            ..ArrayRecord::default()
        };
        record.set_ratios();
        Some(record)
    }

    /// Which reads writes had to wait for, by name, and the commands of the members behind a write; `None` if there were none.
    /// `writes` is the number of the job's counted writes.
    pub fn reads_before_writes_sentence(&self, writes: u64) -> Option<String> {
        let sum = |of: fn(&MemberRecord) -> u64| self.members.iter().map(of).sum::<u64>();
        let (modify, reconstruct) = (sum(|member| member.modify_reads), sum(|member| member.reconstruct_reads));
        if modify + reconstruct == 0 || self.writes == 0 {
            return None;
        }
        let share = |requests: u64| match self.read_modify_writes + self.reconstruct_writes {
            0 => String::new(),
            _ => format!(" in {:.1} % of the writes", 100.0 * requests as f64 / writes.max(1) as f64),
        };
        let methods = [
            (modify, "old data and parity", "read-modify-write", share(self.read_modify_writes)),
            (reconstruct, "the rest of the row", "reconstruct-write", share(self.reconstruct_writes)),
        ];
        let methods: Vec<String> = methods
            .into_iter()
            .filter(|(commands, ..)| *commands > 0)
            .map(|(_, source, name, share)| format!("{source}{share} ({name})"))
            .collect();
        let each = |commands: u64| commands as f64 / self.writes as f64;
        Some(format!(
            "Before it could write, the array read {}: {:.2} reads at the members for each write.",
            methods.join(" and "),
            each(modify + reconstruct)
        ))
    }

    /// The bytes at the members for each byte of the array's requests.
    pub fn bytes_sentence(&self) -> String {
        let written = self.read_per_byte_written.zip(self.written_per_byte_written).map(|(read, written)| {
            format!("For each byte written: {read:.2} bytes read and {written:.2} bytes written at the members.")
        });
        let read =
            self.read_per_byte_read.map(|read| format!("For each byte read: {read:.2} bytes read at the members."));
        written.into_iter().chain(read).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
