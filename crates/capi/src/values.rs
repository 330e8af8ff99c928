//! Values that C and Rust exchange: structures of integers, and enumerations as numbers. C may pass any number, so a function takes a number
//! and not one of these enumerations, and refuses a number that has no meaning.
//!
//! cbindgen copies the comments on these items to the header.

use seekwise_disk::block::{Completion, Flags, Landing, LandingKind, Limits, MemberRole, Op, Status};
use seekwise_disk::record::Part;

/// The library's version, first part.
pub const SEEKWISE_VERSION_MAJOR: u32 = 0;

/// The library's version, second part. Before 1.0 a program needs the one that it was built with.
pub const SEEKWISE_VERSION_MINOR: u32 = 2;

/// The library's version, third part.
pub const SEEKWISE_VERSION_PATCH: u32 = 0;

/// An instant that never comes: nothing happens by itself.
pub const SEEKWISE_NEVER: u64 = u64::MAX;

/// The parts of a response. seekwise_part_name names them.
pub const SEEKWISE_PARTS: usize = 12;

/// A request's longest run, in sectors of 512 bytes: what the longest command of ATA carries.
pub const SEEKWISE_MOST_SECTORS: u32 = 65536;

/// A request ends at most here, in sectors from the first: what ATA's addresses of 48 bits reach.
pub const SEEKWISE_MOST_LBA: u64 = 281474976710656;

/// Flag: a write completes only when it is on the medium, a read comes from the medium (force unit access).
pub const SEEKWISE_FUA: u32 = 1;

/// Flag: all earlier requests are served before, all later ones after (SCSI ordered).
pub const SEEKWISE_ORDERED: u32 = 2;

/// Flag: served next (SCSI head of queue).
pub const SEEKWISE_HEAD_OF_QUEUE: u32 = 4;

/// Flag: served before what is not so marked, where the drive makes that difference.
pub const SEEKWISE_PRIORITY: u32 = 8;

const _: () = assert!(SEEKWISE_PARTS == Part::COUNT && SEEKWISE_MOST_LBA == 1 << 48);

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseStatus {
    /// Done.
    Ok = 0,
    /// There is nothing to hand over.
    None = 1,
    /// The disk has no room: advance to its next instant, collect completions, try again.
    Busy = 2,
    /// A null pointer, a number that stands for nothing, or one out of its range.
    BadArgument = 3,
    /// The instant is before an earlier call's.
    TimeRanBack = 4,
    /// A request with this tag is in flight, or its completion was not collected.
    TagInUse = 5,
    /// No such drive, layer, key, value or tag.
    Unknown = 6,
    /// The disk is off.
    Off = 7,
    /// A fault of the model. The disk answers nothing else any more; free it.
    Panicked = 8,
    /// The memory is too small for what was asked for; the size that it takes was given.
    NoRoom = 9,
    /// The disk keeps no log of its calls: seekwise_keep_log right after it was opened.
    NoLog = 10,
    /// The bytes are no saved state, damaged, of another format, or the model answers their calls otherwise.
    BadState = 11,
}

/// The operation of a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseOp {
    /// Bytes from the medium.
    Read = 0,
    /// Bytes to the medium.
    Write = 1,
    /// A run of zeroes, no data on the link.
    WriteZeroes = 2,
    /// Make all writes durable whose completions were collected. No sectors.
    Flush = 3,
    /// The sectors are no longer needed. The built-in drives do not support it.
    Trim = 4,
}

/// How a request ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseOutcome {
    /// As it should.
    Done = 0,
    /// Taken back by a reset or an abort, or by another's error.
    Aborted = 1,
    /// The power went, or was away.
    PowerLost = 2,
    /// The request reaches past the end of the disk.
    OutOfRange = 3,
    /// The disk does not support the operation.
    Unsupported = 4,
    /// The medium could not be read or written.
    MediumError = 5,
}

/// An action on a disk, besides requests.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseControl {
    /// The supply fails: everything volatile is lost.
    PowerCut = 0,
    /// An orderly power-off.
    PowerOff = 1,
    /// The supply returns.
    PowerOn = 2,
    /// Everything in flight is aborted; the cache stays.
    Reset = 3,
}

/// The fate of sectors that were written.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseLandingKind {
    /// On the medium.
    Landed = 0,
    /// A power cut left them unreadable.
    Torn = 1,
    /// Never on the medium: lost at a cut, or overwritten in the cache.
    Discarded = 2,
    /// Acknowledged and then forgotten by a fault.
    Dropped = 3,
    /// An array took the write; nothing has become of it yet.
    Taken = 4,
    /// The member is lost, with all that it holds.
    Gone = 5,
    /// The member holds again all that it should.
    Whole = 6,
}

/// The contents of a place on a drive, as the array's host sees it; without an array always copy 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekwiseRole {
    /// A copy of the sectors.
    Copy = 0,
    /// A parity of their row.
    Parity = 1,
    /// A copy, written by a rebuild.
    RebuiltCopy = 2,
    /// A parity, written by a rebuild.
    RebuiltParity = 3,
    /// All copies: the write has not come to any drive.
    Every = 4,
}

/// The limits of a disk.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekwiseLimits {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// Bytes of a logical sector; requests are whole multiples.
    pub logical_bytes: u32,
    /// Bytes of a physical sector; writes of less cost a read.
    pub physical_bytes: u32,
    /// The longest request in sectors.
    pub max_transfer_sectors: u32,
    /// Requests that it takes at once.
    pub depth: u32,
    /// 1: it knows SEEKWISE_FUA.
    pub fua: u32,
    /// 1: it acknowledges writes before they are durable.
    pub volatile_cache: u32,
}

/// A request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekwiseRequest {
    /// Names the request until its completion is collected.
    pub tag: u32,
    /// A number of SeekwiseOp.
    pub op: u32,
    /// SEEKWISE_FUA and the like, or'ed together.
    pub flags: u32,
    /// Sectors of 512 bytes: from 1 to SEEKWISE_MOST_SECTORS; 0 for a flush.
    pub sectors: u32,
    /// The first sector; 0 for a flush. A request that ends past the disk but not past SEEKWISE_MOST_LBA is out of range.
    pub lba: u64,
}

/// The answer to a request.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekwiseCompletion {
    /// The request's tag.
    pub tag: u32,
    /// A number of SeekwiseOutcome.
    pub outcome: u32,
    /// When the disk took it.
    pub submitted_ns: u64,
    /// When it was done.
    pub finished_ns: u64,
    /// Where the time between went; the parts add up to it exactly.
    pub parts_ns: [u64; SEEKWISE_PARTS],
}

/// The fate of a run of sectors that were written with one stamp, which passed under the head evenly in from_ns..to_ns.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeekwiseLanding {
    /// The stamp of the write, as seekwise_submit gave it.
    pub stamp: u64,
    /// The first sector.
    pub lba: u64,
    pub sectors: u32,
    /// A number of SeekwiseLandingKind.
    pub kind: u32,
    /// When the head came over the first sector.
    pub from_ns: u64,
    /// When it left the last.
    pub to_ns: u64,
    /// The drive of an array, from 0.
    pub member: u32,
    /// A number of SeekwiseRole.
    pub role: u32,
    /// Which copy or parity, from 0.
    pub which: u32,
}

impl SeekwiseOp {
    /// The operation that a number from C stands for.
    pub fn from_number(number: u32) -> Option<Op> {
        [Op::Read, Op::Write, Op::WriteZeroes, Op::Flush, Op::Trim].get(number as usize).copied()
    }
}

/// Parses the flags from C; `None` if an unknown bit is set.
pub fn parse_flags(bits: u32) -> Option<Flags> {
    let known = [
        (SEEKWISE_FUA, Flags::FUA),
        (SEEKWISE_ORDERED, Flags::ORDERED),
        (SEEKWISE_HEAD_OF_QUEUE, Flags::HEAD_OF_QUEUE),
        (SEEKWISE_PRIORITY, Flags::PRIORITY),
    ];
    let known_bits = known.iter().fold(0, |known_bits, (bit, _)| known_bits | bit);
    let set = known.iter().filter(|(bit, _)| bits & bit != 0);
    (bits & !known_bits == 0).then(|| set.fold(Flags::NONE, |flags, (_, flag)| flags.with(*flag)))
}

impl From<Status> for SeekwiseOutcome {
    fn from(status: Status) -> SeekwiseOutcome {
        match status {
            Status::Done => SeekwiseOutcome::Done,
            Status::Aborted => SeekwiseOutcome::Aborted,
            Status::PowerLost => SeekwiseOutcome::PowerLost,
            Status::OutOfRange => SeekwiseOutcome::OutOfRange,
            Status::Unsupported => SeekwiseOutcome::Unsupported,
            Status::MediumError => SeekwiseOutcome::MediumError,
        }
    }
}

impl From<Limits> for SeekwiseLimits {
    fn from(limits: Limits) -> SeekwiseLimits {
        SeekwiseLimits {
            sectors: limits.sectors,
            logical_bytes: limits.logical,
            physical_bytes: limits.physical,
            max_transfer_sectors: limits.max_transfer,
            depth: limits.depth,
            fua: u32::from(limits.fua),
            volatile_cache: u32::from(limits.volatile_cache),
        }
    }
}

impl From<Completion> for SeekwiseCompletion {
    fn from(completion: Completion) -> SeekwiseCompletion {
        SeekwiseCompletion {
            tag: completion.tag,
            outcome: SeekwiseOutcome::from(completion.status) as u32,
            submitted_ns: completion.submitted.nanos(),
            finished_ns: completion.finished.nanos(),
            parts_ns: *completion.parts.nanos(),
        }
    }
}

impl From<Landing> for SeekwiseLanding {
    fn from(landing: Landing) -> SeekwiseLanding {
        let kind = match landing.kind {
            LandingKind::Landed => SeekwiseLandingKind::Landed,
            LandingKind::Torn => SeekwiseLandingKind::Torn,
            LandingKind::Discarded => SeekwiseLandingKind::Discarded,
            LandingKind::Dropped => SeekwiseLandingKind::Dropped,
            LandingKind::Taken => SeekwiseLandingKind::Taken,
            LandingKind::Gone => SeekwiseLandingKind::Gone,
            LandingKind::Whole => SeekwiseLandingKind::Whole,
        };
        let (role, which) = match landing.role {
            MemberRole::Copy(which) => (SeekwiseRole::Copy, which),
            MemberRole::Parity(which) => (SeekwiseRole::Parity, which),
            MemberRole::RebuiltCopy(which) => (SeekwiseRole::RebuiltCopy, which),
            MemberRole::RebuiltParity(which) => (SeekwiseRole::RebuiltParity, which),
            MemberRole::Every => (SeekwiseRole::Every, 0),
        };
        SeekwiseLanding {
            stamp: landing.stamp,
            lba: landing.lba,
            sectors: landing.sectors,
            kind: kind as u32,
            from_ns: landing.from.nanos(),
            to_ns: landing.to.nanos(),
            member: landing.member,
            role: role as u32,
            which,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_parts_are_the_librarys() {
        let parts =
            [SEEKWISE_VERSION_MAJOR, SEEKWISE_VERSION_MINOR, SEEKWISE_VERSION_PATCH].map(|part| part.to_string());
        assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn numbers_that_stand_for_nothing_are_refused() {
        assert_eq!(SeekwiseOp::from_number(SeekwiseOp::Flush as u32), Some(Op::Flush));
        assert_eq!(SeekwiseOp::from_number(5), None);
        assert_eq!(parse_flags(SEEKWISE_FUA | SEEKWISE_PRIORITY), Some(Flags::FUA.with(Flags::PRIORITY)));
        assert_eq!((parse_flags(0), parse_flags(16), parse_flags(u32::MAX)), (Some(Flags::NONE), None, None));
    }
}
