//! The clock of Windows' lazy writer, which writes a share of the dirty metadata at a time. The pages are in `pages`.

use alloc::vec::Vec;

use seekwise_disk::time::{Instant, Span};

use super::pages::{DirtyPage, MetadataPages};

/// When a lazy writer writes dirty pages, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBack {
    /// The time after the first page became dirty.
    pub first: Span,
    /// The interval from then on, while any page is dirty.
    pub every: Span,
    /// The oldest of the dirty pages are written, one in this many at a time; all if there are no more than this.
    pub share: usize,
}

impl WriteBack {
    /// Windows NT: an eighth of the dirty pages once a second (Russinovich and Solomon, Windows Internals, "Lazy
    /// writer"), first after 3 s (ReactOS, which copies the constants). The page cache applies the same rule to pages
    /// of data; that both are counted separately is inferred to make no lasting difference.
    pub const NT: WriteBack = WriteBack { first: Span::from_secs(3), every: Span::from_secs(1), share: 8 };
    /// Windows 98: all at once after 2 s. Inferred (1 s to 5 s): its file cache is said to write "when the disk is
    /// idle".
    pub(crate) const WINDOWS_98: WriteBack =
        WriteBack { first: Span::from_secs(2), every: Span::from_secs(2), share: 1 };
}

/// The lazy writer's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct LazyWriter {
    spec: WriteBack,
    due: Instant,
}

impl LazyWriter {
    pub(super) fn new(spec: WriteBack) -> LazyWriter {
        LazyWriter { spec, due: Instant::FAR }
    }

    /// When it writes next; `FAR` if nothing is dirty.
    pub(super) fn next_due(&self) -> Instant {
        self.due
    }

    /// Starts the clock, because something is dirty, unless it runs.
    pub(super) fn start_clock(&mut self, now: Instant) {
        if self.due == Instant::FAR {
            self.due = now + self.spec.first;
        }
    }

    /// Stops the clock.
    pub(super) fn stop_clock(&mut self) {
        self.due = Instant::FAR;
    }

    /// Takes the pages to write at `now`; none if it is not due.
    pub(super) fn take_due_pages(&mut self, now: Instant, pages: &mut MetadataPages) -> Vec<DirtyPage> {
        if now < self.due {
            return Vec::new();
        }
        let dirty = pages.dirty_count();
        let count = if dirty <= self.spec.share { dirty } else { dirty / self.spec.share };
        let taken = pages.take_oldest_dirty(count);
        self.due = if pages.dirty_count() == 0 { Instant::FAR } else { now + self.spec.every };
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::volume::plan::SectorRole;

    #[test]
    fn an_eighth_a_second_after_three() {
        let (mut lazy, mut pages) = (LazyWriter::new(WriteBack::NT), MetadataPages::default());
        for page in 0..64 {
            pages.mark_dirty(page * 8, 8, SectorRole::MftRecords, 1);
        }
        lazy.start_clock(Instant::ZERO);
        assert!(lazy.take_due_pages(Instant::from_nanos(2_999_999_999), &mut pages).is_empty());
        let mut sizes = Vec::new();
        while lazy.next_due() != Instant::FAR {
            sizes.push(lazy.take_due_pages(lazy.next_due(), &mut pages).len());
        }
        // 64, 56, 49, 43 … each less an eighth, rounded down; the last eight together.
        assert_eq!(sizes[..5], [8, 7, 6, 5, 4]);
        assert_eq!((sizes.iter().sum::<usize>(), *sizes.last().expect("some")), (64, 8));
    }
}
