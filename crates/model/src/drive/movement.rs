//! What the arm did, told while it does it, for those who draw or explain it. No figure rests on it, and a drive that
//! nobody asked tells nothing. A read-ahead is not told: where it got to is where the next movement starts.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::access::{Access, Pass, Passes};
use super::mechanics::Arm;
use crate::time::Instant;

/// What the heads were moved for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// A command that reads.
    Read,
    /// A command that writes.
    Write,
    /// Writing out what the buffer had acknowledged.
    Destage,
    /// Moving data from the media cache to their place.
    Home,
}

/// The arm goes to a track, and blocks of it pass under the head.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// Which of several drives.
    pub drive: u32,
    /// What for.
    pub errand: Errand,
    /// When the arm starts.
    pub start: Instant,
    /// Where it starts.
    pub from: Arm,
    /// Where it goes, the stretches of its way, and the blocks that pass.
    pub pass: Pass,
    /// When it is over: the pass, and whole revolutions for blocks that were read again or verified.
    pub end: Instant,
}

/// Where drives tell their movements, in the order in which they end.
pub type MovementLog = Rc<RefCell<Vec<Movement>>>;

/// Whom a drive tells.
#[derive(Debug)]
pub(super) struct MovementListener {
    /// The drive's number.
    pub(super) drive: u32,
    pub(super) movements: MovementLog,
}

impl MovementListener {
    /// `access` is over at `over`: each of its tracks is a movement.
    #[inline(never)]
    pub(super) fn hear(&self, access: &Access, passes: Passes<'_>, errand: Errand, over: Instant) {
        let (mut start, mut from) = (access.start, access.from);
        let mut told = self.movements.borrow_mut();
        for pass in passes {
            let last = pass.extent.end() == access.end();
            let end = if last { over.max(pass.over()) } else { pass.over() };
            told.push(Movement { drive: self.drive, errand, start, from, pass, end });
            (start, from) = (pass.over(), Arm { cylinder: pass.extent.cylinder, head: pass.extent.head });
        }
    }
}
