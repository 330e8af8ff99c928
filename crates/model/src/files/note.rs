//! What a scene tells a judge of power cuts, as it happens: what programs called and what came of it, what was issued for
//! whom, what changed on which page. What a program does not see (what is in memory) is not among it.

use alloc::collections::VecDeque;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::call::{Call, File, Thread};
use super::volume::{Change, Step, There};
use crate::time::Instant;

/// One thing.
#[derive(Clone, Debug)]
pub enum Note {
    /// A file that was there before the run is about to be used for the first time.
    There(File, There),
    /// A thread calls.
    Called(Thread, Call),
    /// Its call returned: the file that it made; whether all was done.
    Returned(Thread, Option<File>, bool),
    /// An operation of this program under this number began.
    Began(Thread, u16, u32),
    /// The operation rests on bytes that another thread wrote: from, and how many.
    Relies(u16, u32, File, u64, u64),
    /// It ended.
    Ended(Thread, u16, u32),
    /// Something changed on pages of this volume.
    Changed(u8, Vec<Change>),
    /// A write is issued.
    Issued(Issued),
    /// The last program that the scene waits for is over.
    Over,
}

/// A write as it is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Its tag, its own until it is complete.
    pub tag: u32,
    /// The volume.
    pub volume: u8,
    /// What it is a part of.
    pub step: Step,
    /// First sector.
    pub lba: u64,
    /// Sectors.
    pub sectors: u32,
}

/// Notes that nobody has read yet, for whoever writes and whoever reads them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Rc<RefCell<VecDeque<(Instant, Note)>>>);

impl Notes {
    /// Writes one.
    pub fn tell(&self, at: Instant, note: Note) {
        self.0.borrow_mut().push_back((at, note));
    }

    /// Reads the next one.
    pub fn poll(&self) -> Option<(Instant, Note)> {
        self.0.borrow_mut().pop_front()
    }
}
