//! The operating system's driver, a first form: it holds requests, sorts them, splits the large ones and sends so
//! many down at once.

use crate::queue::Discipline;
use crate::time::Span;

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Requests it takes from above at once.
    pub capacity: u32,
    /// Commands it has outstanding below at once; the device's own depth is a limit too.
    pub depth: u32,
    /// Which waiting request goes down next; positions are LBAs.
    pub queue: Discipline,
    /// Larger requests are split into commands of at most this many sectors.
    pub max_transfer: u32,
}

/// A host bus adapter on the way down, a first form: a limit on commands outstanding and a cost a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControllerSpec {
    /// Commands outstanding at once: 1 without queuing, 32 for AHCI with NCQ.
    pub depth: u32,
    /// Its own cost a command, one after another.
    pub command: Span,
    /// Bytes a second that its bus moves; a slower one than the drive's link stretches the transfer.
    pub rate: u64,
}
