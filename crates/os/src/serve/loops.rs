//! Reads the kernel's totals of requests to a loop device on the file of a disk: the other end of the transport through
//! the file. They count as long as nobody flushes: the time of a write includes the flushes before and after it
//! (`REQ_PREFLUSH`, `REQ_FUA`; block/blk-flush.c), which the disk counts apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seekwise_disk::time::Span;

use crate::live::transports::LatencyRecorder;
use seekwise_run::receipt::transports::{RequestTotals, TransportEnds, TransportKind};

/// Interval of the readings.
pub(super) const READ_INTERVAL: Duration = Duration::from_millis(500);

/// Follows the loop device on a file.
pub(super) struct LoopFollower {
    file: PathBuf,
    first: Option<FirstReading>,
}

/// A loop device when it was first seen.
struct FirstReading {
    /// The folder of the device in `/sys`.
    device: PathBuf,
    device_totals: DeviceTotals,
    /// Totals of the requests that the disk had received through the file.
    file_totals: RequestTotals,
}

/// The totals of a block device.
#[derive(Debug, PartialEq)]
struct DeviceTotals {
    reads_and_writes: RequestTotals,
    flushes: u64,
}

/// Parses a block device's `stat`: reads and writes have four numbers each, requests first and milliseconds last; number
/// 16 is flushes, since Linux 5.5 (`Documentation/block/stat.rst`).
fn parse_block_stat(stat: &str) -> Option<DeviceTotals> {
    let numbers: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [reads, _, _, reading, writes, _, _, writing, ..] = numbers[..] else { return None };
    let reads_and_writes = RequestTotals { requests: reads + writes, took: Span::from_millis(reading + writing) };
    Some(DeviceTotals { reads_and_writes, flushes: numbers.get(15).copied().unwrap_or(0) })
}

impl LoopFollower {
    pub(super) fn new(file: &Path) -> LoopFollower {
        LoopFollower { file: file.to_owned(), first: None }
    }

    /// Records the requests since the device was first seen, as both ends count them; does nothing without a device.
    pub(super) fn record_totals(&mut self, latencies: &LatencyRecorder) {
        let file_totals =
            latencies.update_latencies(|latencies| RequestTotals::from(&*latencies.transport_mut(TransportKind::File)));
        if self.first.is_none() {
            self.first = FirstReading::read(&self.file, file_totals);
        }
        let Some(first) = &self.first else { return };
        let Some(device_totals) = read_totals(&first.device) else { return };
        let far = device_totals.reads_and_writes.since(first.device_totals.reads_and_writes);
        let ends = TransportEnds { far, near: file_totals.since(first.file_totals) };
        let has_flushed = device_totals.flushes > first.device_totals.flushes;
        latencies.update_latencies(|latencies| latencies.device = (!has_flushed).then_some(ends));
    }
}

impl FirstReading {
    fn read(file: &Path, file_totals: RequestTotals) -> Option<FirstReading> {
        let device = find_loop_device(file)?;
        Some(FirstReading { device_totals: read_totals(&device)?, device, file_totals })
    }
}

fn read_totals(device: &Path) -> Option<DeviceTotals> {
    parse_block_stat(&fs::read_to_string(device.join("stat")).ok()?)
}

/// Returns the loop device on this file, as its folder in `/sys`.
fn find_loop_device(file: &Path) -> Option<PathBuf> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten().map(|entry| entry.path());
    let is_on = |device: &PathBuf| {
        let backing = fs::read_to_string(device.join("loop/backing_file"));
        backing.is_ok_and(|path| Path::new(path.trim_end_matches('\n')) == file)
    };
    devices.filter(|device| device.join("loop").is_dir()).find(is_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counts_are_read() {
        let stat = "     100        1      800      250       50        0      400      150        0      300      400";
        let reads_and_writes = RequestTotals { requests: 150, took: Span::from_millis(400) };
        let since_5_5 = format!("{stat}        0        0        0        0        7       90");
        for (stat, flushes) in [(stat, 0), (&since_5_5, 7)] {
            assert_eq!(parse_block_stat(stat), Some(DeviceTotals { reads_and_writes, flushes }));
        }
        assert_eq!(parse_block_stat("1 2 3"), None);
    }
}
