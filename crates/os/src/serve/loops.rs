//! Loop devices on the file of a disk, as the kernel counts their requests: the other end of the transport through the file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seekwise_disk::time::Span;

use crate::live::transports::DoorRecorder;
use seekwise_run::receipt::transports::{RequestTotals, TransportEnds, TransportKind};

/// Interval of the looks at the kernel's counts.
pub(super) const EVERY: Duration = Duration::from_millis(500);

/// Follows the loop device on a file.
pub(super) struct LoopFollower {
    file: PathBuf,
    /// The device, the kernel's totals when it was first seen, and the file's totals then.
    since: Option<(PathBuf, RequestTotals, RequestTotals)>,
}

/// Parses the totals of reads and writes in a block device's `stat`: each has four numbers, requests first and milliseconds last
/// (Linux, `Documentation/block/stat.rst`).
fn parse_stat(stat: &str) -> Option<RequestTotals> {
    let numbers: Vec<u64> = stat.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let [reads, _, _, reading, writes, _, _, writing, ..] = numbers[..] else { return None };
    Some(RequestTotals { requests: reads + writes, took: Span::from_millis(reading + writing) })
}

impl LoopFollower {
    pub(super) fn new(file: &Path) -> LoopFollower {
        LoopFollower { file: file.to_owned(), since: None }
    }

    /// Looks once; always true, for a device may come.
    pub(super) fn follow_once(&mut self, measured: &DoorRecorder) -> bool {
        let _ = self.update_totals(measured);
        true
    }

    /// Looks once; `None` without a device.
    fn update_totals(&mut self, measured: &DoorRecorder) -> Option<()> {
        let now = measured.write(|ways| RequestTotals::from(&*ways.transport_mut(TransportKind::File)));
        if self.since.is_none() {
            self.since = device_on(&self.file).and_then(|device| Some((device.clone(), read_totals(&device)?, now)));
        }
        let (device, first, came) = self.since.as_ref()?;
        let ends = TransportEnds { far: read_totals(device)?.since(*first), near: now.since(*came) };
        measured.write(|ways| ways.device = Some(ends));
        Some(())
    }
}

fn read_totals(device: &Path) -> Option<RequestTotals> {
    parse_stat(&fs::read_to_string(device.join("stat")).ok()?)
}

/// Returns the loop device on this file, as its folder in `/sys`.
fn device_on(file: &Path) -> Option<PathBuf> {
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
        let counted = parse_stat(stat).unwrap();
        assert_eq!(counted, RequestTotals { requests: 150, took: Span::from_millis(400) });
        assert_eq!(parse_stat("1 2 3"), None);
    }
}
