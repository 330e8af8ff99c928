//! The rules of the three systems' page caches.

use crate::files::volume::WriteBack;
use crate::time::Span;

/// A page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageCacheSpec {
    /// Memory for pages.
    pub bytes: u64,
    /// Pages that were used twice are kept before others; else one order of use.
    pub two_lists: bool,
    /// What is read before it is asked for.
    pub ahead: Ahead,
    /// When dirty pages go out.
    pub back: Back,
    /// Programs that write are held up while more than so many hundredths of the cache differ from the drive.
    pub limit: u32,
    /// What a call costs the processor, beside copying. Inferred, 2 µs (0.3 µs to 10 µs): entering the system, finding the
    /// pages, mapping them; processors of 2000 to 2020 differ by that much. The stack's own figure should replace it.
    pub call: Span,
    /// Bytes a second that the processor copies between program and cache; that of the stack's processor where it has
    /// one. Inferred, 600 MB/s (100 MB/s to 10 GB/s): as of a processor of 2002 (`athlon-xp`).
    pub copy: u64,
}

/// Read-ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ahead {
    /// Windows: as many granules as a sequential read has, beyond the one in which it ends.
    Granule {
        /// Bytes of a granule.
        bytes: u64,
        /// Reads that have gone on where the one before ended.
        after: u32,
    },
    /// Linux: a window that grows to so many bytes.
    Window(u64),
}

/// Write-back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// A share of all dirty pages at a time, in writes of at most `most` bytes, one after another of a file, so many files
    /// side by side.
    Lazy {
        /// When, and how many.
        clock: WriteBack,
        /// Bytes of a write.
        most: u64,
        /// Files at a time.
        files: u32,
    },
    /// What is old, and all above a share.
    Flusher {
        /// How often it looks.
        wake: Span,
        /// How old dirty files may grow.
        expire: Span,
        /// It writes while more than so many hundredths of the cache are dirty.
        background: u32,
        /// Bytes of a file at a time, then the next file's.
        chunk: u64,
        /// So many of these at the drive at once.
        chunks: u32,
    },
}

impl PageCacheSpec {
    const COST: (Span, u64) = (Span::from_micros(2), 600_000_000);

    /// Windows NT, 2000, XP.
    ///
    /// Read-ahead 64 KB (fastfat, `READ_AHEAD_GRANULARITY`), or as much as a longer read had (ReactOS, `CcScheduleReadAhead`),
    /// from the third read of a sequence on (Windows Internals, "Intelligent Read-Ahead": three reads are needed, two are
    /// kept). The lazy writer once a second, an eighth, first after 3 s
    /// ([`WriteBack::NT`]); 64 KB a write, one at a time of a file (`MmFlushSection` waits for each; inferred of XP: 64 KB to
    /// 1 MB); 4 files side by side (5 critical worker threads less one, as ReactOS has it, which copies the constants).
    /// Writers wait while more than a quarter of memory is dirty (ReactOS, of a medium system; a small one an eighth, a
    /// large one three eighths). One list: pages that leave the system's working set are taken in the order in which they
    /// left it (Windows Internals, "standby list").
    pub const fn windows_nt(bytes: u64) -> PageCacheSpec {
        let back = Back::Lazy { clock: WriteBack::NT, most: 64 << 10, files: 4 };
        let ahead = Ahead::Granule { bytes: 64 << 10, after: 2 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: false, ahead, back, limit: 25, call, copy }
    }

    /// Windows 95 and 98 (VCACHE).
    ///
    /// Read-ahead 64 KB (the default of System Properties, File System, Hard Disk) from the second read on (inferred: first
    /// to third), as much and begun as Windows NT does (inferred: nothing is published). Everything after 2 s
    /// ([`WriteBack::WINDOWS_98`]), one file at a time, 64 KB a write (both inferred: 4 KB to 64 KB). Writers wait at half of
    /// the cache (inferred: a quarter to all of it).
    pub const fn windows_98(bytes: u64) -> PageCacheSpec {
        let back = Back::Lazy { clock: WriteBack::WINDOWS_98, most: 64 << 10, files: 1 };
        let ahead = Ahead::Granule { bytes: 64 << 10, after: 1 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: false, ahead, back, limit: 50, call, copy }
    }

    /// Linux.
    ///
    /// Read-ahead to 128 KB (`VM_READAHEAD_PAGES`). The flusher every 5 s (`dirty_writeback_centisecs`), files dirty for
    /// 30 s (`dirty_expire_centisecs`), all above 10 % (`dirty_background_ratio`), 4 MiB of a file at a time
    /// (`MIN_WRITEBACK_PAGES`); as many of these as fill a queue of 128 requests of 128 KB (`nr_requests`; inferred: 1 to
    /// 16). Writers wait above 20 % (`dirty_ratio`); the kernel since 3.2 slows them from halfway on, which has the same
    /// mean (inferred).
    pub const fn linux(bytes: u64) -> PageCacheSpec {
        let (wake, expire) = (Span::from_secs(5), Span::from_secs(30));
        let back = Back::Flusher { wake, expire, background: 10, chunk: 4 << 20, chunks: 4 };
        let (call, copy) = PageCacheSpec::COST;
        PageCacheSpec { bytes, two_lists: true, ahead: Ahead::Window(128 << 10), back, limit: 20, call, copy }
    }
}
