//! The page cache with its I/O: reads and write-back in flight, and the threads that wait for them. `cached_calls` has
//! the calls.

use alloc::vec::Vec;

use seekwise_disk::slab::Slab;
use seekwise_disk::time::{Instant, Rate};

use crate::files::call::{File, ThreadId};
use crate::files::pagecache::{DirtyRun, PAGE, PageCache, PageCacheSpec, ReadAheadRule, ReadStream};

/// Files per thread whose read history is kept. Inferred (Windows and Linux keep it with each open file): 8 to any.
const STREAMS: usize = 32;

/// A page cache with its reads and write-back in flight.
pub(super) struct CacheService {
    pub(super) spec: PageCacheSpec,
    /// By volume: read-ahead on its device.
    pub(super) ahead: Vec<ReadAheadRule>,
    pub(super) copy: Rate,
    pub(super) cache: PageCache,
    /// Reads in flight.
    pub(super) fills: Slab<CacheFill>,
    /// The numbers of the fills in `fills`, in the order of their issue.
    pub(super) filling: Vec<u32>,
    /// Waiting threads, each after the number of the fill that it waits for.
    pub(super) waiters: Vec<(u32, ThreadId)>,
    /// By thread: the histories of the files that it reads, the latest last.
    pub(super) streams: Vec<Vec<(File, ReadStream)>>,
    /// When write-back looks for dirty pages next; [`Instant::FAR`] if none are dirty.
    pub(super) due: Instant,
    /// Pages of the lazy writer's share that it has still to write.
    pub(super) share: u64,
    /// Some files have been dirty for too long, so the flusher writes them back.
    pub(super) expired: bool,
    /// Write-backs in flight: file and pages.
    pub(super) write_backs: Slab<Option<(File, Vec<DirtyRun>)>>,
    /// Number of them.
    pub(super) writing: u32,
    /// Writers held up while too much is dirty, in order.
    pub(super) held_writers: Vec<ThreadId>,
    /// Files whose write-back failed, until a program's sync reports it.
    pub(super) failed_files: Vec<File>,
    /// Memory for lists of runs, reused.
    pub(super) runs: Vec<DirtyRun>,
}

/// Pages being read into memory.
#[derive(Clone, Copy)]
pub(super) struct CacheFill {
    pub(super) file: File,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl CacheService {
    /// A page cache for so many volumes.
    pub(super) fn new(spec: PageCacheSpec, volumes: usize) -> CacheService {
        CacheService {
            ahead: alloc::vec![spec.ahead; volumes],
            copy: Rate::new(spec.copy),
            cache: PageCache::new(&spec),
            fills: Slab::with_capacity(8),
            filling: Vec::new(),
            waiters: Vec::new(),
            streams: Vec::new(),
            due: Instant::FAR,
            share: 0,
            expired: false,
            write_backs: Slab::with_capacity(8),
            writing: 0,
            held_writers: Vec::new(),
            failed_files: Vec::new(),
            runs: Vec::new(),
            spec,
        }
    }

    /// When write-back is due next; `None` if nothing is dirty.
    pub(super) fn next_write_back(&self) -> Option<Instant> {
        (self.due != Instant::FAR).then_some(self.due)
    }

    /// A percentage of the cache, in pages.
    pub(super) fn pages_of_percent(&self, percent: u32) -> u64 {
        self.spec.bytes / PAGE * u64::from(percent) / 100
    }

    /// True if so much is dirty that writers must wait.
    pub(super) fn must_hold_writers(&self) -> bool {
        let (dirty, writing) = self.cache.dirty_and_writing_pages();
        dirty + writing > self.pages_of_percent(self.spec.limit)
    }

    /// The history of a thread's reads of a file; a new one if there is none.
    pub(super) fn read_stream_mut(&mut self, thread: ThreadId, file: File) -> &mut ReadStream {
        let thread = thread as usize;
        if self.streams.len() <= thread {
            self.streams.resize(thread + 1, Vec::new());
        }
        let streams = &mut self.streams[thread];
        let at = match streams.iter().rposition(|stream| stream.0 == file) {
            Some(at) => at,
            None => {
                if streams.len() == STREAMS {
                    streams.remove(0);
                }
                streams.push((file, ReadStream::default()));
                streams.len() - 1
            }
        };
        &mut streams[at].1
    }

    /// Drops the histories of all threads' reads of a file.
    pub(super) fn drop_read_streams(&mut self, file: File) {
        for streams in &mut self.streams {
            streams.retain(|stream| stream.0 != file);
        }
    }
}
