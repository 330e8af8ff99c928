//! What the arm did, told while it does it, for those who draw or explain it. No figure rests on it, and a drive that
//! nobody asked tells nothing. A read-ahead is not told: where it got to is where the next movement starts.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;

use super::access::{Access, Pass};
use super::mechanics::Arm;
use super::{Drive, Purpose};
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
    /// When it is over: the pass, and whole revolutions for blocks that had to be read again.
    pub end: Instant,
}

/// Where drives tell their movements, in the order in which they end.
pub type Movements = Rc<RefCell<Vec<Movement>>>;

/// Whom a drive tells.
pub(super) struct Listener {
    drive: u32,
    movements: Movements,
}

impl Drive {
    /// From now on it tells `movements` what its arm does, as drive number `drive`.
    pub fn tell(&mut self, drive: u32, movements: Movements) {
        self.listener = Some(Listener { drive, movements });
    }

    /// `access` is over at `end`: each of its tracks is a movement.
    #[inline]
    pub(super) fn tell_movements(&self, access: &Access, purpose: Purpose, end: Instant) {
        if let Some(listener) = &self.listener {
            self.tell_passes(listener, access, purpose, end);
        }
    }

    #[inline(never)]
    fn tell_passes(&self, listener: &Listener, access: &Access, purpose: Purpose, over: Instant) {
        let errand = match purpose {
            Purpose::Destage(_) => Errand::Destage,
            Purpose::Moving => Errand::Home,
            Purpose::Command { .. } if access.write => Errand::Write,
            Purpose::Command { .. } => Errand::Read,
        };
        let (mut start, mut from) = (access.start, access.from);
        let mut told = listener.movements.borrow_mut();
        for pass in access.passes(&self.profile.geometry, &self.profile.mechanics) {
            let last = pass.extent.end() == access.end();
            let end = if last { over.max(pass.end) } else { pass.end };
            told.push(Movement { drive: listener.drive, errand, start, from, pass, end });
            (start, from) = (pass.end, Arm { cylinder: pass.extent.cylinder, head: pass.extent.head });
        }
    }
}
