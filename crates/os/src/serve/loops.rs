//! Reads the kernel's totals of requests to a loop device on the file of a disk: the other end of the transport through
//! the file.

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
    device_totals: RequestTotals,
    /// Totals of the requests that the disk had received through the file.
    file_totals: RequestTotals,
}

/// Parses the totals of reads and writes in a block device's `stat`: each has four numbers, requests first and
/// milliseconds last (Linux, `Documentation/block/stat.rst`).
fn parse_block_stat(stat: &str) -> Option<RequestTotals> {
    let numbers: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [reads, _, _, reading, writes, _, _, writing, ..] = numbers[..] else { return None };
    Some(RequestTotals { requests: reads + writes, took: Span::from_millis(reading + writing) })
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
        let (far, near) = (device_totals.since(first.device_totals), file_totals.since(first.file_totals));
        latencies.update_latencies(|latencies| latencies.device = Some(TransportEnds { far, near }));
    }
}

impl FirstReading {
    fn read(file: &Path, file_totals: RequestTotals) -> Option<FirstReading> {
        let device = find_loop_device(file)?;
        Some(FirstReading { device_totals: read_totals(&device)?, device, file_totals })
    }
}

fn read_totals(device: &Path) -> Option<RequestTotals> {
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
        let stat = "     100        1      800      250       50        0      400      150        0      300      400        0";
        let counted = parse_block_stat(stat).unwrap();
        assert_eq!(counted, RequestTotals { requests: 150, took: Span::from_millis(400) });
        assert_eq!(parse_block_stat("1 2 3"), None);
    }
}
