//! The rules and constants of the page caches of Windows NT, Windows 98 and Linux, each with its source. The cache
//! itself is in `pages`, read-ahead in `read_ahead`, write-back in `system/cached_calls`.

use seekwise_disk::block::{Limits, SECTOR};
use seekwise_disk::time::Span;

use crate::files::volume::WriteBack;

/// The settings of a page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCacheSpec {
    /// Memory for pages, in bytes.
    pub bytes: u64,
    /// Two LRU lists, so that pages that were used twice stay longer; otherwise one list.
    pub two_lists: bool,
    pub ahead: ReadAheadRule,
    pub back: WriteBackRule,
    /// Writers wait while more than this percentage of the cache is dirty.
    pub limit: u32,
    /// Processor time of a call, besides copying: entering the system, finding the pages, mapping them. Inferred, 2 µs
    /// (0.3 µs to 10 µs, the difference between processors of 2000 and 2020). The stack's own figure should replace it.
    pub call: Span,
    /// Copying between program and cache, in bytes a second; the rate of the stack's processor if it has one. Inferred,
    /// 600 MB/s (100 MB/s to 10 GB/s), as of a processor of 2002 (`athlon-xp`).
    pub copy: u64,
}

/// Read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAheadRule {
    /// Windows: as many granules as the read has, after the granule in which it ends.
    Granule {
        /// Bytes in a granule.
        bytes: u64,
        /// Number of consecutive sequential reads before it begins.
        after: u32,
    },
    /// Linux: a window that grows to this many bytes; `None` for what the device asks for (`ReadAheadRule::on_device`).
    Window(Option<u64>),
}

/// Linux's largest window for a device that states no length of requests, and the least of any (`VM_READAHEAD_PAGES`).
pub(super) const LEAST_WINDOW: u64 = 128 << 10;

impl ReadAheadRule {
    /// The rule for files on a device with these limits. Linux's window grows to twice the length that the device serves best,
    /// such as an array's row (`blk_apply_bdi_limits` in block/blk-settings.c; `disk_update_readahead` before 6.9).
    pub(crate) fn on_device(self, limits: &Limits) -> ReadAheadRule {
        match self {
            ReadAheadRule::Window(None) => {
                let optimal = u64::from(limits.optimal_transfer) * SECTOR;
                ReadAheadRule::Window(Some((2 * optimal).max(LEAST_WINDOW)))
            }
            rule => rule,
        }
    }
}

/// Write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBackRule {
    /// Windows: a share of all dirty pages at a time. The writes of a file go one after another, those of several files
    /// side by side.
    Lazy {
        /// When it writes, and what share.
        clock: WriteBack,
        /// The largest write in bytes.
        most: u64,
        /// Files written side by side.
        files: u32,
    },
    /// Linux: old dirty files, and everything above a share.
    Flusher {
        /// How often it wakes up.
        wake: Span,
        /// The age at which dirty files are written.
        expire: Span,
        /// The flusher also writes while more than this percentage of the cache is dirty.
        background: u32,
        /// Bytes of a file in a chunk, before the next file's turn.
        chunk: u64,
        /// Chunks in flight at once.
        chunks: u32,
    },
}

impl PageCacheSpec {
    /// The defaults of `call` and `copy`.
    const COST: (Span, u64) = (Span::from_micros(2), 600_000_000);

    /// Windows NT, 2000, XP.
    ///
    /// Read-ahead is 64 KB (fastfat, `READ_AHEAD_GRANULARITY`), or as much as a longer read had (ReactOS,
    /// `CcScheduleReadAhead`), from the third read of a sequence on (Windows Internals, "Intelligent Read-Ahead": three
    /// reads are needed, two are kept). The lazy writer writes an eighth once a second, first after 3 s
    /// ([`WriteBack::NT`]), 64 KB at a time, one write of a file after another (`MmFlushSection` waits for each;
    /// inferred for XP: 64 KB to 1 MB), 4 files side by side (5 critical worker threads less one, as in ReactOS, which
    /// copies the constants). Writers wait while more than a quarter of memory is dirty (ReactOS, for a medium system;
    /// a small one an eighth, a large one three eighths). There is one list: pages that leave the system's working set
    /// are evicted in the order in which they left it (Windows Internals, "standby list").
    pub const fn windows_nt(bytes: u64) -> PageCacheSpec {
        let back = WriteBackRule::Lazy { clock: WriteBack::NT, most: 64 << 10, files: 4 };
        let ahead = ReadAheadRule::Granule { bytes: 64 << 10, after: 2 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: false, ahead, back, limit: 25, call, copy }
    }

    /// Windows 95 and 98 (VCACHE).
    ///
    /// Read-ahead is 64 KB (the default of System Properties, File System, Hard Disk) from the second read on
    /// (inferred: first to third); its amount and start are as in Windows NT (inferred: nothing is published).
    /// Everything is written after 2 s (`WriteBack::WINDOWS_98`), one file at a time, 64 KB a write (both inferred: 4
    /// KB to 64 KB). Writers wait at half of the cache (inferred: a quarter to all of it).
    pub const fn windows_98(bytes: u64) -> PageCacheSpec {
        let back = WriteBackRule::Lazy { clock: WriteBack::WINDOWS_98, most: 64 << 10, files: 1 };
        let ahead = ReadAheadRule::Granule { bytes: 64 << 10, after: 1 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: false, ahead, back, limit: 50, call, copy }
    }

    /// Linux.
    ///
    /// Read-ahead grows to 128 KB (`VM_READAHEAD_PAGES`), above an array to two of its rows. The flusher wakes up every 5 s (`dirty_writeback_centisecs`)
    /// and writes files dirty for 30 s (`dirty_expire_centisecs`) and everything above 10 % (`dirty_background_ratio`),
    /// 4 MiB of a file at a time (`MIN_WRITEBACK_PAGES`), as many of these as fill a queue of 128 requests of 128 KB
    /// (`nr_requests`; inferred: 1 to 16). Writers wait above 20 % (`dirty_ratio`); since 3.2 the kernel slows them
    /// from halfway on, with the same mean (inferred).
    pub const fn linux(bytes: u64) -> PageCacheSpec {
        let (wake, expire) = (Span::from_secs(5), Span::from_secs(30));
        let back = WriteBackRule::Flusher { wake, expire, background: 10, chunk: 4 << 20, chunks: 4 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: true, ahead: ReadAheadRule::Window(None), back, limit: 20, call, copy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::Queuing;

    /// Linux 6.1: `read_ahead_kb` is 4096 and `io_opt` 2 MiB on RAID 5 of five drives with chunks of 512 KiB, and 3072 on one
    /// of four; a drive has 128.
    #[test]
    fn linux_reads_two_rows_of_an_array_ahead() {
        let window_kib = |rule: ReadAheadRule, row_kib: u32| {
            let limits = Limits {
                sectors: 1 << 30,
                logical: 512,
                physical: 512,
                max_transfer: u32::MAX,
                optimal_transfer: 2 * row_kib,
                depth: 32,
                fua: false,
                volatile_cache: false,
                queuing: Queuing::None,
                computes: false,
            };
            match rule.on_device(&limits) {
                ReadAheadRule::Window(bytes) => bytes.expect("a device settles it") >> 10,
                ReadAheadRule::Granule { bytes, .. } => bytes >> 10,
            }
        };
        let linux = PageCacheSpec::linux(1 << 30).ahead;
        for (row_kib, window) in [(4 * 512, 4096), (3 * 512, 3072), (0, 128), (32, 128), (65, 130)] {
            assert_eq!(window_kib(linux, row_kib), window, "a row of {row_kib} KiB");
        }
        assert_eq!(window_kib(ReadAheadRule::Window(Some(256 << 10)), 2048), 256, "as it is set");
        assert_eq!(window_kib(PageCacheSpec::windows_nt(1 << 30).ahead, 2048), 64, "Windows knows of no rows");
    }
}
