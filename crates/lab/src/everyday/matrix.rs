//! The cases of everyday work: jobs that most people try first on a drive. Each has a name, from which it is read, and makes a job for fio;
//! [`super::arithmetic`] has the expected results.

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::everyday::CASES;
use seekwise_drives::profile::{DriveFile, ReadingCache};

/// The access pattern of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CasePattern {
    /// Consecutive requests.
    Sequential,
    /// Requests anywhere in the region.
    Random,
    /// Writes of one block again and again, each with a flush.
    Flushed,
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseOp {
    Read,
    /// Writes with the write cache on.
    Cached,
    /// Writes with the write cache off.
    Uncached,
}

/// The part of the drive in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseRegion {
    /// The outermost zone.
    Outer,
    /// The innermost zone that is more than a short remainder.
    Inner,
    Whole,
    /// The first 10^9 bytes.
    Gigabyte,
}

/// A case of everyday work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EverydayCase {
    /// The name in tables and in profiles.
    pub name: &'static str,
    pub op: CaseOp,
    pub pattern: CasePattern,
    pub place: CaseRegion,
    /// Bytes in a request.
    pub bytes: u64,
    /// Requests outstanding.
    pub depth: u32,
}

/// Streams from a sector to more than any segment holds, one request at a time and up to as deep as ATA's queues: arrival over the link and
/// writing to the medium can lock at one depth and no other.
pub(crate) fn stream_cases() -> Vec<EverydayCase> {
    let sizes = [512, 2 << 10, 8 << 10, 32 << 10, 128 << 10, 512 << 10, 2 << 20, 16 << 20];
    let mut all = Vec::new();
    for op in [CaseOp::Read, CaseOp::Cached] {
        for (bytes, depth) in sizes.into_iter().flat_map(|bytes| [1, 2, 4, 8, 16, 32].map(|depth| (bytes, depth))) {
            let (pattern, place) = (CasePattern::Sequential, CaseRegion::Outer);
            all.push(EverydayCase { name: "a lone stream", op, pattern, place, bytes, depth });
        }
    }
    all
}

/// A zone of less than a thousandth of the drive is a remainder, too short for a long transfer.
const REMAINDER_DIVISOR: u64 = 1000;

impl EverydayCase {
    /// The case with this name. Panics if it is not one of [`CASES`]; a test reads all of them.
    fn parse_name(name: &'static str) -> EverydayCase {
        let mut words = name.split(", ");
        let work = words.next().unwrap_or_default();
        let (op, pattern) = match work {
            "sequential reads" => (CaseOp::Read, CasePattern::Sequential),
            "sequential cached writes" => (CaseOp::Cached, CasePattern::Sequential),
            "sequential uncached writes" => (CaseOp::Uncached, CasePattern::Sequential),
            "random reads" => (CaseOp::Read, CasePattern::Random),
            "random cached writes" => (CaseOp::Cached, CasePattern::Random),
            "random uncached writes" => (CaseOp::Uncached, CasePattern::Random),
            "overwrite and flush" => (CaseOp::Cached, CasePattern::Flushed),
            _ => panic!("{name}: no such work"),
        };
        let place = if pattern == CasePattern::Random { CaseRegion::Whole } else { CaseRegion::Outer };
        let mut case = EverydayCase { name, op, pattern, place, bytes: 0, depth: 1 };
        for word in words {
            match word.split_once(' ') {
                Some(("depth", depth)) => case.depth = depth.parse().expect("a depth"),
                Some((size, "B")) => case.bytes = size.parse().expect("a size"),
                Some((size, "KiB")) => case.bytes = size.parse::<u64>().expect("a size") << 10,
                Some((size, "MiB")) => case.bytes = size.parse::<u64>().expect("a size") << 20,
                _ if word == "inside 1 GB" => case.place = CaseRegion::Gigabyte,
                _ if word == "inner zone" => case.place = CaseRegion::Inner,
                _ => panic!("{name}: {word}?"),
            }
        }
        case
    }

    /// The first block that the case uses, and the block after the last.
    pub(crate) fn first_and_end_lba(&self, profile: &Profile) -> (u64, u64) {
        let geometry = &profile.geometry;
        let sectors = geometry.sectors();
        let mut zones = geometry.zone_block_bounds().filter(|(first, end)| end - first > sectors / REMAINDER_DIVISOR);
        match self.place {
            CaseRegion::Outer => zones.next().unwrap_or((0, sectors)),
            CaseRegion::Inner => zones.last().unwrap_or((0, sectors)),
            CaseRegion::Whole => (0, sectors),
            CaseRegion::Gigabyte => (0, sectors.min(1_000_000_000 / SECTOR)),
        }
    }

    /// The region of the fio job, in whole requests: its offset and its size, in bytes.
    fn job_offset_and_size_bytes(&self, profile: &Profile) -> (u64, u64) {
        let (first, end) = self.first_and_end_lba(profile);
        let unit = self.bytes.max(u64::from(profile.physical_sector));
        let offset = (first * SECTOR).div_ceil(unit) * unit;
        match self.pattern {
            CasePattern::Flushed => (offset, self.bytes),
            _ => (offset, (end * SECTOR - offset) / unit * unit),
        }
    }

    /// The fio job: a ramp, and then the runtime that counts, in milliseconds of virtual time.
    pub fn fio_job(&self, profile: &Profile, ramp_ms: u64, runtime_ms: u64) -> String {
        let rw = match (self.pattern, self.op) {
            (CasePattern::Random, CaseOp::Read) => "randread",
            (CasePattern::Random, _) => "randwrite",
            (_, CaseOp::Read) => "read",
            _ => "write",
        };
        let (offset, size) = self.job_offset_and_size_bytes(profile);
        let flush = if self.pattern == CasePattern::Flushed { "fsync=1\n" } else { "" };
        format!(
            "[everyday]\nfilename=/dev/sdx\nioengine=libaio\ndirect=1\nrw={rw}\nbs={}\niodepth={}\noffset={offset}\n\
             size={size}\nnorandommap\ntime_based\nramp_time={ramp_ms}ms\nruntime={runtime_ms}ms\n{flush}",
            self.bytes, self.depth
        )
    }
}

/// The cases that apply to `drive`. Writes of a part of a sector need larger sectors, streams need a buffer, and a flush after each write
/// needs a buffer that does not survive a power failure.
pub(crate) fn applicable_cases(drive: &DriveFile, profile: &Profile, reading: &ReadingCache) -> Vec<EverydayCase> {
    let can_cache_writes =
        profile_with_write_cache(drive, true, reading).is_some_and(|profile| profile.cache.segments > 0);
    let reads_ahead = profile.cache.segments > 0 && profile.cache.read_ahead.max > 0;
    let applies = |case: &EverydayCase| {
        let size_applies = case.bytes >= 4096 || profile.physical_sector > case.bytes as u32;
        let op_applies = match (case.op, case.pattern) {
            (CaseOp::Read, CasePattern::Sequential) => reads_ahead,
            (CaseOp::Read, _) => true,
            (CaseOp::Cached, CasePattern::Flushed) => can_cache_writes && !profile.saves_buffer(),
            (CaseOp::Cached, _) => can_cache_writes,
            (CaseOp::Uncached, _) => profile.cache.flash_sectors == 0,
        };
        size_applies && op_applies
    };
    CASES.iter().map(|name| EverydayCase::parse_name(name)).filter(applies).collect()
}

/// The drive's profile with the write cache switched on or off; `None` if that cannot be switched.
pub fn profile_with_write_cache(drive: &DriveFile, enabled: bool, reading: &ReadingCache) -> Option<Profile> {
    let mut drive = drive.clone();
    drive.set(figure::CACHE_WRITE_BACK, if enabled { "true" } else { "false" }).ok()?;
    drive.build_profile(reading).ok()
}
