//! Notes from a scene to a judge of power cuts: programs' calls and their results, requests and their purpose, and
//! changes of pages. State that programs cannot see, such as the content of memory, is not reported.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use seekwise_disk::time::Instant;

use super::call::{Call, File, ThreadId};
use super::volume::{InitialFile, PageChange, PlanStep};

/// An event.
#[derive(Clone, Debug)]
pub enum FileNote {
    /// A file from before the run is about to be used for the first time.
    There(File, InitialFile),
    Called(ThreadId, Call),
    /// A call returned: the file that it created, and whether it succeeded.
    Returned(ThreadId, Option<File>, bool),
    /// An operation of this program with this number began.
    Began(ThreadId, u16, u32),
    /// The operation relies on bytes that another thread wrote: the first byte, and how many.
    Relies(u16, u32, File, u64, u64),
    Ended(ThreadId, u16, u32),
    /// Pages of this volume changed.
    Changed(u8, Vec<PageChange>),
    Issued(IssuedWrite),
    /// The last program that the scene waits for has ended.
    Over,
}

/// A write as it is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedWrite {
    /// The tag, unique until the write completes.
    pub tag: u32,
    pub volume: u8,
    /// The step that it belongs to.
    pub step: PlanStep,
    pub lba: u64,
    pub sectors: u32,
}

/// A queue of unread notes, shared by writer and reader.
#[derive(Clone, Debug, Default)]
pub struct FileNotes(Rc<RefCell<VecDeque<(Instant, FileNote)>>>);

impl FileNotes {
    /// Adds a note.
    pub fn push(&self, at: Instant, note: FileNote) {
        self.0.borrow_mut().push_back((at, note));
    }

    /// Removes and returns the next note.
    pub fn poll(&self) -> Option<(Instant, FileNote)> {
        self.0.borrow_mut().pop_front()
    }
}
