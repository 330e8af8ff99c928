//! Service of a page cache: reads and write-back in flight, and the threads that wait for them.

use alloc::vec::Vec;

use seekwise_disk::slab::Slab;
use seekwise_disk::time::{Instant, Rate};

use crate::files::call::{File, ThreadId};
use crate::files::pagecache::{PAGE, PageCache, PageCacheSpec, ReadStream};

/// Files per thread whose read history is kept. Inferred (Windows and Linux keep it with each open file): 8 to any.
const STREAMS: usize = 32;

/// A page cache with its reads and write-back in flight.
pub(super) struct CacheService {
    pub(super) spec: PageCacheSpec,
    pub(super) copy: Rate,
    pub(super) cache: PageCache,
    /// Reads in flight, and their numbers in the order of their issue.
    pub(super) fills: Slab<CacheFill>,
    pub(super) filling: Vec<u32>,
    /// Waiting threads, each with the fill that it waits for.
    pub(super) waiters: Vec<(u32, ThreadId)>,
    /// By thread: files that it reads, the latest last.
    pub(super) streams: Vec<Vec<(File, ReadStream)>>,
    /// When dirty pages are looked for next; [`Instant::FAR`] if none are dirty.
    pub(super) due: Instant,
    /// Pages that the lazy writer has still to write of its share.
    pub(super) share: u64,
    /// Some files have been dirty for too long: the flusher writes them back.
    pub(super) expired: bool,
    /// Plans of write-back in flight.
    pub(super) writing: u32,
    /// Writers held up while too much is dirty, in order.
    pub(super) held: Vec<ThreadId>,
    /// Files whose write-back failed, not yet reported to a program.
    pub(super) lost: Vec<File>,
    /// Memory for lists of runs, reused.
    pub(super) runs: Vec<(u64, u64)>,
}

/// Pages being read into memory.
#[derive(Clone, Copy)]
pub(super) struct CacheFill {
    pub(super) file: File,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl CacheService {
    pub(super) fn new(spec: PageCacheSpec) -> CacheService {
        CacheService {
            copy: Rate::new(spec.copy),
            cache: PageCache::new(&spec),
            fills: Slab::with_capacity(8),
            filling: Vec::new(),
            waiters: Vec::new(),
            streams: Vec::new(),
            due: Instant::FAR,
            share: 0,
            expired: false,
            writing: 0,
            held: Vec::new(),
            lost: Vec::new(),
            runs: Vec::new(),
            spec,
        }
    }

    /// The next look for dirty pages, if one is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        (self.due != Instant::FAR).then_some(self.due)
    }

    /// A percentage of the cache, in pages.
    pub(super) fn percent_pages(&self, percent: u32) -> u64 {
        self.spec.bytes / PAGE * u64::from(percent) / 100
    }

    /// True if too much is dirty for another write.
    pub(super) fn is_full(&self) -> bool {
        let (dirty, writing) = self.cache.dirty_and_writing();
        dirty + writing > self.percent_pages(self.spec.limit)
    }

    /// Returns the history of a thread's reads of a file.
    pub(super) fn read_stream(&mut self, thread: ThreadId, file: File) -> &mut ReadStream {
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

    /// Forgets all threads' reads of a file.
    pub(super) fn forget_file(&mut self, file: File) {
        for streams in &mut self.streams {
            streams.retain(|stream| stream.0 != file);
        }
    }
}
