//! Log of a drive's arm movements, for drawings and explanations. No figure depends on it, and a drive without a
//! listener records nothing. Read-ahead is not recorded: the next movement starts where it ended.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::access::{Access, Pass, Passes};
use super::mechanics::Arm;
use crate::time::Instant;

/// Purpose of a movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovementPurpose {
    /// A command that reads.
    Read,
    /// A command that writes.
    Write,
    /// Destage of acknowledged writes.
    Destage,
    /// Reading data back from the media cache, and writing them to their places.
    Home,
}

/// A movement of the arm to a track, and the blocks that pass under the head there.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// Number of the drive, among several.
    pub drive: u32,
    pub purpose: MovementPurpose,
    /// When the arm starts.
    pub start: Instant,
    /// Where the arm starts.
    pub from: Arm,
    /// Destination, parts of the time, and blocks that pass.
    pub pass: Pass,
    /// End of the pass, with whole revolutions for blocks that were read again or verified.
    pub end: Instant,
}

/// Shared log of movements, in the order in which they end.
pub type MovementLog = Rc<RefCell<Vec<Movement>>>;

/// Listener to the movements of a drive.
#[derive(Clone, Debug)]
pub(super) struct MovementListener {
    /// Number of the drive.
    pub(super) drive: u32,
    pub(super) movements: MovementLog,
}

impl MovementListener {
    /// Records `access`, which ended at `ended`, as a movement for each track.
    #[inline(never)]
    pub(super) fn record_access(&self, access: &Access, passes: Passes<'_>, purpose: MovementPurpose, ended: Instant) {
        let (mut start, mut from) = (access.start, access.from);
        let mut movements = self.movements.borrow_mut();
        for pass in passes {
            let is_last = pass.extent.end() == access.end();
            let end = if is_last { ended.max(pass.next_start()) } else { pass.next_start() };
            movements.push(Movement { drive: self.drive, purpose, start, from, pass, end });
            (start, from) = (pass.next_start(), Arm { cylinder: pass.extent.cylinder, head: pass.extent.head });
        }
    }
}
