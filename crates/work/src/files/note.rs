//! Notes from a scene to a judge of power cuts: programs' calls and their results, writes with their roles, and changes
//! of pages. State that programs cannot see, such as the content of memory, is not reported.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use seekwise_disk::time::Instant;

use super::call::{Call, File, ThreadId};
use super::volume::{InitialFile, PageChange, PlanStep};

/// An operation of a program, such as a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OperationId {
    /// The program's index in the scene.
    pub program: u16,
    /// The number that the program gave it.
    pub number: u32,
}

/// An event of a scene.
#[derive(Clone, Debug)]
pub enum FileNote {
    /// A file from before the run is about to be used for the first time.
    FirstUse(File, InitialFile),
    Called(ThreadId, Call),
    Returned {
        thread: ThreadId,
        /// The file that the call created.
        created: Option<File>,
        succeeded: bool,
    },
    Began(ThreadId, OperationId),
    /// The operation relies on `bytes` bytes from byte `from` on, which another thread wrote.
    Relies {
        operation: OperationId,
        file: File,
        from: u64,
        bytes: u64,
    },
    Ended(ThreadId, OperationId),
    /// Pages of this volume changed.
    Changed(u8, Vec<PageChange>),
    /// A write was issued.
    Issued(IssuedWrite),
    /// The last program that the scene waits for has ended.
    Over,
}

/// A write as it is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedWrite {
    /// The tag of the request, unique until the write completes.
    pub tag: u32,
    pub volume: u8,
    /// The step of a plan that it belongs to.
    pub step: PlanStep,
    pub lba: u64,
    pub sectors: u32,
}

/// A queue of unread notes, shared by the scene and the judge.
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
