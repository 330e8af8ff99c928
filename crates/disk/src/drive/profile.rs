//! The profile of a drive: the description from which a [`Drive`](super::Drive) is built.
//!
//! `seekwise-drives` reads profiles from files, which name the sources of their figures. Parts that can be wrong in
//! themselves are checked where they are made ([`Geometry::new`], [`SeekCurve`]), the rest by [`Profile::check`]. Parts
//! that grow are `#[non_exhaustive]`: begin with a constructor or a constant, then assign fields.
//!
//! [`SeekCurve`]: super::mechanics::SeekCurve

use alloc::string::String;
use alloc::vec::Vec;

use super::geometry::Geometry;
use super::mechanics::Mechanics;
use super::recovery::WeakBlocks;
use crate::block::assurance::{Assurance, BrokenPromise};
use crate::block::{CutSector, Queuing};
use crate::queue::{Discipline, Policy};
use crate::time::Span;

/// A whole drive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Profile {
    /// Name in the catalogue.
    pub name: String,
    /// Bytes of a physical sector, 512 or 4096.
    pub physical_sector: u32,
    /// Layout of the blocks.
    pub geometry: Geometry,
    /// Timing of arm and platter.
    pub mechanics: Mechanics,
    /// The buffer.
    pub cache: CacheSpec,
    /// How commands are taken and ordered.
    pub firmware: Firmware,
    /// Fixed costs of commands.
    pub overhead: Overhead,
    /// The interface.
    pub link: Link,
    /// Effect of a power cut on the sector under the writing head.
    pub cut_sector: CutSector,
    /// Weak places of the medium, by rising block, without overlap.
    pub weak: Vec<WeakBlocks>,
    /// A capacitor keeps the buffer until it is written: a flush costs its command only, and writes with FUA are
    /// acknowledged from the buffer.
    pub protected: bool,
    /// Faults of the drive.
    pub faults: Faults,
}

/// Violations of the standard. No drive in the catalogue has any; each has only the effect that its name says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Faults {
    /// Takes writes with FUA and caches them like others. (Jens Axboe on the ST3120827AS, linux-kernel 2005-05-30:
    /// accepts FUA writes and still puts them in cache.)
    pub ignores_fua: bool,
    /// Acknowledges a flush at once; dirty data are destaged when they would have been without it. (A drive of 7,200
    /// rpm that acknowledges a flush in 0.39 ms cannot have turned to its sector.)
    pub early_flush: bool,
    /// Stops at an orderly power-off without destaging.
    pub forgets_on_power_off: bool,
    /// Caches writes although its write cache is off, and still reports the cache as off.
    pub caches_when_off: bool,
}

impl Faults {
    /// Assurances that the faults break, if the drive's buffer does not outlive a power cut.
    pub(crate) fn broken_assurances(&self) -> Vec<BrokenPromise> {
        let faults = [
            (self.ignores_fua, "faults.ignores_fua", Assurance::Fua),
            (self.early_flush, "faults.early_flush", Assurance::Flush),
            (self.forgets_on_power_off, "faults.forgets_on_power_off", Assurance::PowerOff),
            (self.caches_when_off, "faults.caches_when_off", Assurance::CacheOff),
        ];
        let present = faults.into_iter().filter(|fault| fault.0);
        present.flat_map(|(_, key, breaks)| BrokenPromise::for_setting(key, "true", &[breaks])).collect()
    }
}

/// The segmented buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CacheSpec {
    /// Number of equal segments; 0: no buffer, neither for reading ahead nor for writing.
    pub segments: u32,
    /// The length of each.
    pub segment_sectors: u32,
    /// Read-ahead after a read.
    pub read_ahead: ReadAhead,
    /// Acknowledges writes when they are in the buffer.
    pub write_back: bool,
    /// Maximum number of segments that hold unwritten data at once: at most `segments`, at least 1 with `write_back`.
    pub dirty_segments: u32,
    /// Maximum number of runs of written blocks that are dirty at once. Each takes as much of the buffer as it is long,
    /// all together at most `dirty_segments` times `segment_sectors`. `None`: each takes whole segments, so the limit
    /// on dirty segments limits them too.
    pub dirty_runs: Option<u32>,
    /// A dirty segment may grow at its end while it is destaged: blocks that are on the medium make room.
    pub fills_while_draining: bool,
    /// A write that finds no run, or no segment, free waits until this many are free: the low-water mark of a buffer
    /// that is drained in bursts. 1: it takes the next free one.
    pub room_runs: u32,
    /// Time without commands after which the drive begins to destage.
    pub destage_idle: Span,
    /// Maximum sectors of dirty data that the drive saves in flash at a power cut, on the energy of the turning
    /// spindle; 0: no flash. A drive with flash holds no more dirty data than that, so all acknowledged writes are
    /// durable: also with FUA, with the write cache off, and those that a flush covers.
    pub flash_sectors: u64,
    /// Reserved stretches of the medium for small writes.
    pub media_cache: Option<MediaCacheSpec>,
    /// Age at which dirty data compete with commands for the medium.
    pub destage_age: Option<Span>,
    /// A write longer than its segment wraps around in it: it goes to the medium at once, and is acknowledged when the
    /// part that is not on the medium yet fits the segment. If false, it takes several segments.
    pub wraps: bool,
    /// Number and size of segments change with the commands; `segments` and `segment_sectors` are then the initial
    /// ones.
    pub adaptive: Option<AdaptiveDivision>,
    /// Which written blocks serve reads.
    pub written_hits: WrittenHits,
    /// As many segments as `dirty_segments` says, all but one at most, are reserved for writes: no read takes one of
    /// them, and writes take no other.
    pub writes_apart: bool,
}

/// Which written blocks serve reads while they stay in the buffer. (DiskSim 4.0's manual: "Allow read hits on write
/// data". In `disksim_diskcache.c` a segment is emptied after a write if that is 0 and kept if it is 1, whether or not
/// writes are acknowledged from the buffer.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WrittenHits {
    /// None: a read of dirty blocks waits until they are on the medium, and reads them there.
    None,
    /// Blocks of writes that were acknowledged from the buffer.
    #[default]
    Cached,
    /// Blocks of writes that went to the medium first, too.
    All,
}

/// Limits of the division of an adaptive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AdaptiveDivision {
    /// Sectors of the whole buffer.
    pub sectors: u32,
    /// Maximum number of segments.
    pub most: u32,
    /// The share of the segments, in percent, that may hold unwritten data.
    pub dirty_percent: u32,
    /// Segments have lengths of their own. Written runs (at most `CacheSpec::dirty_runs`) take as much memory as they
    /// are long, reads as much as they and their read-ahead bring, at most a segment's length. Otherwise all segments
    /// are equally long and change together.
    pub own_lengths: bool,
}

/// Reserved stretches of the medium, into which small writes go one after another before they go to their own places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MediaCacheSpec {
    /// Number of stretches.
    pub stretches: u32,
    /// Slots of a stretch; no block lies in them.
    pub slots: u64,
    /// First slot of the first stretch.
    pub first_slot: u64,
    /// Distance from the first slot of a stretch to that of the next.
    pub stride: u64,
    /// Longest write that goes there, in sectors.
    pub largest: u32,
}

/// Rules of read-ahead after a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ReadAhead {
    /// Maximum sectors past the request; 0: none. The segment's end is a limit too.
    pub max: u32,
    /// Sectors past the request that are read even if another command waits.
    pub min: u32,
    /// There is read-ahead from this read of a stream on, counted from 1. Each read of a stream begins where the one
    /// before ended.
    pub after: u32,
    /// Where a read-ahead ends if nothing else ends it.
    pub until: ReadAheadEnd,
    /// Read-ahead may overwrite the blocks just read, so that the segment's whole length lies ahead. Otherwise the
    /// request's blocks stay and the rest of the segment is filled.
    pub over_requested: bool,
    /// Blocks that pass under the head before the first wanted block of a track are kept too.
    pub free_blocks: bool,
    /// How long the read-ahead of a stream continues while a command waits.
    pub hold: ReadAheadHold,
    /// `hold` applies from this read of a stream on, counted from 1. Parts of one long request, which a host has split, are
    /// reads of a stream too.
    pub hold_after: u32,
    /// A segment that the host has read to its end is the first to be evicted.
    pub discards: bool,
    /// `max` and `min` count lengths of the read, not sectors (MF).
    pub multiplied: bool,
    /// Maximum sectors, whatever `max` comes to (the maximum prefetch ceiling).
    pub ceiling: Option<u32>,
    /// Longest read, in sectors, that is followed by a read-ahead (the disable prefetch transfer length).
    pub longest_read: Option<u32>,
}

impl ReadAhead {
    /// No read-ahead.
    pub const NONE: ReadAhead = ReadAhead {
        max: 0,
        min: 0,
        after: 1,
        until: ReadAheadEnd::Segment,
        over_requested: false,
        free_blocks: false,
        hold: ReadAheadHold::Never,
        hold_after: 2,
        discards: false,
        multiplied: false,
        ceiling: None,
        longest_read: None,
    };

    /// Maximum read-ahead after a read of `read_sectors`, in sectors.
    #[inline]
    pub fn max_sectors(&self, read_sectors: u32) -> u64 {
        match self.longest_read {
            Some(longest) if read_sectors > longest => 0,
            _ => self.in_sectors(self.max, read_sectors).min(self.ceiling.map_or(u64::MAX, u64::from)),
        }
    }

    /// Read-ahead after a read of `read_sectors` that no waiting command breaks off, in sectors.
    #[inline]
    pub fn min_sectors(&self, read_sectors: u32) -> u64 {
        self.in_sectors(self.min, read_sectors).min(self.max_sectors(read_sectors))
    }

    /// `max` or `min` in sectors, after a read of `read_sectors`.
    fn in_sectors(&self, max_or_min: u32, read_sectors: u32) -> u64 {
        u64::from(max_or_min) * if self.multiplied { u64::from(read_sectors) } else { 1 }
    }
}

/// Where reading ahead ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadAheadEnd {
    /// When the segment is full.
    #[default]
    Segment,
    /// At the end of the track.
    Track,
    /// At the end of the cylinder.
    Cylinder,
    /// At the end of the track with the first block to read ahead; one track farther if the segment's first block lies
    /// before that track.
    NextTrack,
}

/// How long the read-ahead of a stream, from its second read on, continues although a command waits. The queue's wait
/// limit has precedence. (SCSI's caching mode page: with ABPF a command ends a read-ahead at once; without, the drive
/// decides, and with DISC a read-ahead goes on beyond a track's end.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ReadAheadHold {
    /// Not at all.
    #[default]
    Never,
    /// To the end of the track on which the last read ended.
    Track,
    /// Until the segment is full; later reads of the stream extend it no farther while a command waits.
    Segment,
    /// As `Segment`, but each read of the stream that comes in time extends it.
    Stream,
}

/// How the drive takes and orders commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Firmware {
    /// Maximum number of commands at once: 1 without queuing, 32 with NCQ.
    pub depth: u32,
    /// The order of waiting commands.
    pub queue: Discipline,
    /// Number of commands that are planned beyond the next, and keep their order.
    pub ahead: u32,
    /// The order in which dirty segments are destaged.
    pub destage: Discipline,
    /// Time from the end of a media access until the next command is chosen. If it is longer than the round trip to the
    /// host, the choice includes the command that the host sends after the completion.
    pub dispatch: Span,
    /// Time after a choice in which the chosen command still gives way to a nearer one that comes: the arm has started,
    /// but has hardly moved. 0: a choice is final.
    pub revise: Span,
    /// A read begins with whichever wanted sector comes first under the head.
    pub zero_latency: bool,
    /// Commands marked [`PRIORITY`](crate::block::Flags::PRIORITY) go before the others.
    pub priority: bool,
    /// Longest time of retries of a read before it fails; `None`: until it succeeds.
    pub recovery_limit: Option<Span>,
    /// Writes are read back in the next revolution (ATA's Write-Read-Verify, ATA8-ACS 4.23; SCSI's WRITE AND VERIFY as
    /// a rule of the drive's own).
    pub write_verify: bool,
    /// Share of the writes after a seek, in percent, that begin a revolution late: the head is not safely on its track
    /// in time, and writing is inhibited. (A. Al Mamun, G. Guo, C. Bi, Hard Disk Drive: Mechatronics and Control, 2007:
    /// a write is held back while the position error is beyond its limit.) The platter's phase seeds the selection.
    pub late_writes_percent: u32,
    /// Share of the accesses, in percent, that commands have while dirty segments compete with them; `None`: the
    /// cheaper access goes first.
    pub commands_percent: Option<u32>,
}

/// Fixed costs of commands, spent by the drive's electronics one command after another. The costs of reads and writes
/// depend on the kind of the command before, since firmware keeps state between commands of a kind (DIXtrac measures
/// them apart).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Overhead {
    /// A read served by the buffer.
    pub read_hit: OverheadAfter,
    /// A read served by the medium.
    pub read_miss: OverheadAfter,
    /// A write acknowledged from the buffer.
    pub write_hit: OverheadAfter,
    /// A write that goes to the medium first.
    pub write_miss: OverheadAfter,
    pub flush: Span,
    /// Reacquiring the bus after the drive has released it: before the data of a read from the medium, before the
    /// status of a write to it.
    pub reselect: Span,
    /// Status to the host, after the last byte of a read.
    pub completion: Span,
    /// Status to the host, after a write is acknowledged.
    pub write_completion: Span,
}

/// A cost by the kind of the command before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OverheadAfter {
    /// After a read.
    pub read: Span,
    /// After a write.
    pub write: Span,
}

impl Firmware {
    /// No queue: one command at a time.
    pub const UNQUEUED: Firmware = Firmware {
        depth: 1,
        queue: Discipline::plain(Policy::Fcfs),
        ahead: 0,
        destage: Discipline::plain(Policy::Fcfs),
        dispatch: Span::ZERO,
        revise: Span::ZERO,
        zero_latency: false,
        priority: false,
        recovery_limit: None,
        write_verify: false,
        late_writes_percent: 0,
        commands_percent: None,
    };
}

impl CacheSpec {
    /// No buffer, neither for reading ahead nor for writing.
    pub const NONE: CacheSpec = CacheSpec {
        segments: 0,
        segment_sectors: 0,
        read_ahead: ReadAhead::NONE,
        write_back: false,
        dirty_segments: 0,
        dirty_runs: None,
        fills_while_draining: false,
        room_runs: 1,
        destage_idle: Span::ZERO,
        flash_sectors: 0,
        media_cache: None,
        destage_age: None,
        wraps: false,
        adaptive: None,
        written_hits: WrittenHits::Cached,
        writes_apart: false,
    };

    /// Upper bound of the runs that are dirty at once, to size queues. Without `dirty_runs`: one for each segment that
    /// the buffer may be divided into.
    pub fn max_dirty_runs(&self) -> u32 {
        self.dirty_runs.unwrap_or(self.adaptive.map_or(self.segments, |it| it.most))
    }
}

impl Overhead {
    /// No costs.
    pub const NONE: Overhead = Overhead {
        read_hit: OverheadAfter::both(Span::ZERO),
        read_miss: OverheadAfter::both(Span::ZERO),
        write_hit: OverheadAfter::both(Span::ZERO),
        write_miss: OverheadAfter::both(Span::ZERO),
        flush: Span::ZERO,
        reselect: Span::ZERO,
        completion: Span::ZERO,
        write_completion: Span::ZERO,
    };
}

impl OverheadAfter {
    /// Returns the same cost after a read and after a write.
    pub const fn both(cost: Span) -> OverheadAfter {
        OverheadAfter { read: cost, write: cost }
    }
}

/// The interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Link {
    /// Effective rate to the host, in bytes a second.
    pub rate: u64,
    /// Effective rate to the drive, in bytes a second.
    pub write_rate: u64,
    /// Time on the link of one command: registers or frames, and turnaround.
    pub command: Span,
    /// Maximum sectors that one command can carry.
    pub max_transfer: u32,
    /// Share of a read from the medium, in percent, that is in the buffer before the link starts (the buffer full ratio
    /// of SCSI's disconnect-reconnect page); 0: the first block suffices.
    pub buffer_full: u32,
    /// Honours forced unit access.
    pub fua: bool,
    /// How commands are queued.
    pub queuing: Queuing,
}

impl Link {
    /// A link of this rate in both directions. Commands cost nothing and carry up to 256 sectors, without queuing or
    /// forced unit access.
    pub const fn new(bytes_a_second: u64) -> Link {
        Link {
            rate: bytes_a_second,
            write_rate: bytes_a_second,
            command: Span::ZERO,
            max_transfer: 256,
            buffer_full: 0,
            fua: false,
            queuing: Queuing::None,
        }
    }
}

/// A field, the rule for it, and whether it holds.
type ProfileRule = (&'static str, &'static str, bool);

/// Error in a profile: a field that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProfileError {
    /// Dotted name of the field.
    pub field: &'static str,
    /// Rule that it breaks.
    pub expected: &'static str,
}

impl Profile {
    /// A drive of 512-byte sectors without a buffer, which takes one command at a time; only its mechanics and its link take time.
    pub fn new(name: impl Into<String>, geometry: Geometry, mechanics: Mechanics, link: Link) -> Profile {
        Profile {
            name: name.into(),
            physical_sector: 512,
            geometry,
            mechanics,
            cache: CacheSpec::NONE,
            firmware: Firmware::UNQUEUED,
            overhead: Overhead::NONE,
            link,
            cut_sector: CutSector::Old,
            weak: Vec::new(),
            protected: false,
            faults: Faults::default(),
        }
    }

    /// True if the buffer has room for unwritten data, whether the write cache is switched on or not.
    fn may_hold_dirty(&self) -> bool {
        (1..=self.cache.segments).contains(&self.cache.dirty_segments)
    }

    /// True if no block lies in the stretches of the media cache, and they do not overlap.
    fn media_cache_has_only_holes(&self) -> bool {
        self.cache.media_cache.is_none_or(|media| {
            let mut stretches = (0..u64::from(media.stretches)).map(|index| media.first_slot + index * media.stride);
            let are_apart = media.stretches == 1 || media.stride >= media.slots;
            are_apart && media.slots > 0 && stretches.all(|first| self.geometry.has_only_holes(first, media.slots))
        })
    }

    /// True when what is in the buffer outlives a power cut.
    pub fn saves_buffer(&self) -> bool {
        self.protected || self.cache.flash_sectors > 0
    }

    /// Checks the fields against each other.
    pub fn check(&self) -> Result<(), ProfileError> {
        match self.cache_rules().iter().chain(&self.other_rules()).find(|rule| !rule.2) {
            Some(&(field, expected, _)) => Err(ProfileError { field, expected }),
            None => Ok(()),
        }
    }

    fn cache_rules(&self) -> [ProfileRule; 11] {
        let cache = &self.cache;
        [
            ("cache.segments", "at most 4096", cache.segments <= 4096),
            (
                "cache.adaptive",
                // `segments` from 3 to `most`, `most` at most 4096, and at least 8 sectors for each of `most` segments.
                "with 3 segments or more at the start, no more than at most, and room for them",
                cache.adaptive.is_none_or(|it| {
                    (3..=it.most).contains(&cache.segments) && it.most <= 4096 && it.sectors >= 8 * it.most
                }),
            ),
            (
                "cache.dirty_runs",
                "from 1 to 4096; with adaptive segments just if they have lengths of their own",
                cache.dirty_runs.is_none_or(|runs| (1..=4096).contains(&runs))
                    && cache.adaptive.is_none_or(|it| it.own_lengths == cache.dirty_runs.is_some()),
            ),
            (
                "cache.writes_apart",
                "without cache.adaptive and cache.dirty_runs",
                !cache.writes_apart || (cache.adaptive.is_none() && cache.dirty_runs.is_none()),
            ),
            ("cache.room_runs", "from 1 to 4096", (1..=4096).contains(&cache.room_runs)),
            ("cache.segment_sectors", "at least 1", cache.segments == 0 || cache.segment_sectors > 0),
            (
                "cache.dirty_segments",
                "from 1 to cache.segments with write_back",
                !cache.write_back || (1..=cache.segments).contains(&cache.dirty_segments),
            ),
            ("cache.read_ahead.min", "at most cache.read_ahead.max", cache.read_ahead.min <= cache.read_ahead.max),
            ("cache.read_ahead.after", "at least 1", cache.read_ahead.after >= 1),
            (
                "cache.flash_sectors",
                "0 without cache.dirty_segments",
                cache.flash_sectors == 0 || self.may_hold_dirty(),
            ),
            ("cache.media_cache", "in slots without blocks", self.media_cache_has_only_holes()),
        ]
    }

    fn other_rules(&self) -> [ProfileRule; 15] {
        [
            ("physical_sector", "512 or 4096", matches!(self.physical_sector, 512 | 4096)),
            ("firmware.late_writes_percent", "at most 100 percent", self.firmware.late_writes_percent <= 100),
            (
                "firmware.commands_percent",
                "at most 100 percent",
                self.firmware.commands_percent.is_none_or(|percent| percent <= 100),
            ),
            (
                "firmware.depth",
                "1 where link.queuing is none",
                self.link.queuing != Queuing::None || self.firmware.depth == 1,
            ),
            (
                "firmware.depth",
                "from 1 to 32 with ATA's queues",
                !self.link.queuing.is_ata() || self.firmware.depth <= 32,
            ),
            ("firmware.queue.sample", "0 with firmware.queue.nearest", self.firmware.queue.is_sample_or_nearest()),
            (
                "firmware.destage.sample",
                "0 with firmware.destage.nearest",
                self.firmware.destage.is_sample_or_nearest(),
            ),
            ("faults.ignores_fua", "false without link.fua", !self.faults.ignores_fua || self.link.fua),
            (
                "faults.caches_when_off",
                "false without cache.dirty_segments",
                !self.faults.caches_when_off || self.may_hold_dirty(),
            ),
            ("firmware.depth", "from 1 to 256", (1..=256).contains(&self.firmware.depth)),
            ("faults.weak", "places inside the drive that rise and do not overlap", self.weak_places_rise()),
            ("link.rate", "at least 1 byte a second", self.link.rate > 0),
            ("link.write_rate", "at least 1 byte a second", self.link.write_rate > 0),
            ("link.buffer_full", "at most 100 percent", self.link.buffer_full <= 100),
            ("link.max_transfer", "from 1 to 65536 sectors", (1..=65_536).contains(&self.link.max_transfer)),
        ]
    }

    /// True if the weak places lie on the drive, rise and do not overlap.
    fn weak_places_rise(&self) -> bool {
        let are_apart = self.weak.windows(2).all(|pair| pair[0].end() <= pair[1].lba);
        let are_valid = self.weak.iter().all(|weak| weak.sectors > 0 && weak.lba < u64::MAX - u64::from(weak.sectors));
        are_valid && are_apart && self.weak.last().is_none_or(|last| last.end() <= self.geometry.sectors())
    }
}

#[cfg(test)]
mod tests {
    use super::ReadAhead;

    /// The fields of mode page 08h by hand.
    #[test]
    fn a_read_is_followed_as_far_as_the_page_says() {
        let page = ReadAhead { max: 40, min: 3, ..ReadAhead::NONE };
        assert_eq!((page.max_sectors(16), page.min_sectors(16)), (40, 3));
        let multiplied = ReadAhead { multiplied: true, ..page };
        assert_eq!((multiplied.max_sectors(16), multiplied.min_sectors(16)), (640, 48));
        let under = ReadAhead { ceiling: Some(30), ..multiplied };
        assert_eq!((under.max_sectors(16), under.min_sectors(16)), (30, 30));
        let short_only = ReadAhead { longest_read: Some(15), ..page };
        assert_eq!((short_only.max_sectors(15), short_only.max_sectors(16), short_only.min_sectors(16)), (40, 0, 0));
    }
}
