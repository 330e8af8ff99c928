//! The medium: where arm and platter are, which access or read-ahead is in progress, and when the next access may
//! start. The medium does one thing at a time; `access_choice` decides what comes next.

use super::access::{Access, AccessBlocks, AccessTiming, EdgeReads, Passes};
use super::geometry::{Extent, Geometry};
use super::link::LinkInterval;
use super::mechanics::{Arm, Mechanics, PositioningCosts, ReadPositioningCosts};
use super::movement::{MovementListener, MovementPurpose};
use super::profile::Profile;
use super::recovery::{Recovery, WeakPlaces};
use super::stream::{DiskMechanism, MediaStream};
use super::target::Target;
use crate::block::SECTOR;
use crate::rng::{Rng, Seed};
use crate::time::{Instant, Span};

/// Activity of the arm and the heads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Activity {
    /// Nothing.
    Idle,
    /// An access for a command, a dirty segment or the media cache.
    Access {
        access: Access,
        timing: AccessTiming,
        purpose: Purpose,
        /// The read-ahead that follows it.
        then: Option<MediaStream>,
    },
    /// A read-ahead.
    Prefetch(MediaStream),
}

/// Purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// The command in this slot, its data going into this segment.
    Command { slot: u16, segment: Option<usize> },
    /// Writing out this segment, to its place or into the media cache.
    Destage(usize),
    /// Moving data from the media cache home.
    Moving,
}

impl Purpose {
    fn movement_purpose(self, write: bool) -> MovementPurpose {
        match self {
            Purpose::Destage(_) => MovementPurpose::Destage,
            Purpose::Moving => MovementPurpose::Home,
            Purpose::Command { .. } if write => MovementPurpose::Write,
            Purpose::Command { .. } => MovementPurpose::Read,
        }
    }
}

/// The read-ahead that runs, or follows the access in progress.
pub(super) struct CurrentReadAhead<'a> {
    pub(super) stream: &'a MediaStream,
    /// The end of the access that it follows; `None` if it runs.
    pub(super) starts_at: Option<Instant>,
}

/// A read-ahead that ended early.
pub(super) struct InterruptedReadAhead {
    /// The segment that it filled.
    pub(super) segment: usize,
    /// The first block that it does not bring.
    pub(super) end: u64,
}

/// Arm, heads and platters.
#[derive(Clone, Debug)]
pub(super) struct Medium {
    geometry: Geometry,
    mechanics: Mechanics,
    weak: WeakPlaces,
    physical_sector_blocks: u64,
    /// A read may begin with any block of its track.
    zero_latency: bool,
    /// Share of a read, in percent, that is in the buffer before the link starts.
    buffer_full: u32,
    /// Writes are read back.
    verify: bool,
    /// Share of writes, in percent, that begin a revolution late, and the random numbers that select them.
    late_percent: u32,
    lateness: Rng,
    /// Time from the end of an access until the next may be chosen.
    dispatch: Span,
    /// Time in which a choice may be revised.
    revise: Span,
    activity: Activity,
    arm: Arm,
    /// Earliest instant at which the next access may be chosen.
    free_from: Instant,
    /// The last seek went to higher cylinders.
    inward: bool,
    seeks: u64,
    /// Seeks against the direction of the one before.
    reversals: u64,
    /// Number of the physical sector in the middle of which the last write ended; the drive knows all of it.
    half_written: Option<u64>,
    /// Listener to movements.
    listener: Option<MovementListener>,
}

impl Medium {
    /// Returns the idle medium of `profile`, its platter turned by `phase` at time 0.
    pub(super) fn new(profile: Profile, phase: u64) -> Medium {
        Medium {
            geometry: profile.geometry,
            mechanics: profile.mechanics.with_phase(phase),
            weak: WeakPlaces::new(profile.weak, profile.firmware.recovery_limit),
            physical_sector_blocks: u64::from(profile.physical_sector) / SECTOR,
            zero_latency: profile.firmware.zero_latency,
            buffer_full: profile.link.buffer_full,
            verify: profile.firmware.write_verify,
            late_percent: profile.firmware.late_writes_percent,
            lateness: Seed(phase).stream("late writes"),
            dispatch: profile.firmware.dispatch,
            revise: profile.firmware.revise,
            activity: Activity::Idle,
            arm: Arm::default(),
            free_from: Instant::ZERO,
            inward: true,
            seeks: 0,
            reversals: 0,
            half_written: None,
            listener: None,
        }
    }

    // Positions

    #[inline]
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    pub(super) fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    #[inline]
    pub(super) fn platter(&self) -> DiskMechanism<'_> {
        DiskMechanism { geometry: &self.geometry, mechanics: &self.mechanics }
    }

    /// Number of blocks.
    #[inline]
    pub(super) fn sectors(&self) -> u64 {
        self.geometry.sectors()
    }

    /// Blocks of a physical sector.
    #[inline]
    pub(super) fn physical_sector_blocks(&self) -> u64 {
        self.physical_sector_blocks
    }

    /// Bytes of a physical sector.
    pub(super) fn physical_sector_bytes(&self) -> u32 {
        (self.physical_sector_blocks * SECTOR) as u32
    }

    /// Rest of the track from block `lba` on.
    #[inline]
    pub(super) fn track_from(&self, lba: u64) -> Extent {
        self.geometry.extent(lba, u32::MAX)
    }

    /// Position of the arm; exact only if nothing is in progress.
    #[inline]
    pub(super) fn arm(&self) -> Arm {
        self.arm
    }

    /// First weak block in `lba..end`.
    #[inline]
    pub(super) fn first_weak_block(&self, lba: u64, end: u64) -> Option<u64> {
        self.weak.first_weak_block(lba, end)
    }

    /// Outcome of a read of `lba..end`.
    #[inline]
    pub(super) fn read_outcome(&self, lba: u64, end: u64) -> Recovery {
        self.weak.read_outcome(lba, end, &self.mechanics)
    }

    /// Block after the last on the track of `first`, or on its cylinder if `whole_cylinder`.
    pub(super) fn track_end(&self, first: Extent, whole_cylinder: bool) -> u64 {
        let mut end = first.end();
        if first.behind == 0 && !whole_cylinder {
            return end;
        }
        while end < self.geometry.sectors() {
            let next = self.track_from(end);
            if next.cylinder != first.cylinder || (next.head != first.head && !whole_cylinder) {
                break;
            }
            end = next.end();
        }
        end
    }

    /// Rotational delay of the first pass of an access.
    pub(super) fn first_rotation(&self, access: &Access) -> Span {
        access.passes(&self.geometry, &self.mechanics).next().map_or(Span::ZERO, |pass| pass.rotation)
    }

    /// Number of blocks, at most `max_blocks`, that pass before those of `first` while its track turns for `rotation`:
    /// reading them costs no time.
    #[inline(never)]
    pub(super) fn free_blocks_before(&self, first: &Extent, rotation: Span, max_blocks: u64) -> u64 {
        let (geometry, lba) = (&self.geometry, first.lba);
        let passed = self.mechanics.angle_passed_in(rotation) / first.slot.max(1);
        let mut free = passed.min(u64::from(first.before)).min(lba).min(max_blocks);
        // A weak block that passes is not read.
        while let Some(weak) = self.first_weak_block(lba - free, lba) {
            free = lba - 1 - weak;
        }
        if geometry.is_without_gaps(lba - free, lba) {
            return free;
        }
        // Slots of holes before it on the track hold no blocks.
        while free > 0 && geometry.extent(lba - free, 1).cylinder_and_head() != first.cylinder_and_head() {
            free -= 1;
        }
        free
    }

    // Timing

    /// Costs of reaching other places from where the arm is at `now`.
    #[inline(always)]
    pub(super) fn positioning_costs(&self, now: Instant) -> PositioningCosts<'_> {
        self.mechanics.positioning_costs(self.arm, now)
    }

    /// Costs of reads alone from where the arm is at `now`.
    #[inline(always)]
    pub(super) fn read_positioning_costs(&self, now: Instant) -> ReadPositioningCosts<'_> {
        self.mechanics.read_positioning_costs(self.arm, now)
    }

    /// Candidate for an access to the first `sectors` blocks of `track`, or to all of it if it has fewer.
    #[inline]
    pub(super) fn target(&self, slot: u16, track: &Extent, sectors: u32, write: bool) -> Target {
        let max_rotation = match self.zero_latency && !write {
            // A read that begins wherever the head lands in its blocks is done when the platter has turned once.
            true => {
                let covered_angle = track.slot.wrapping_mul(u64::from(sectors.min(track.sectors)));
                self.mechanics.turning_time(covered_angle.wrapping_neg())
            }
            false => Span::from_nanos(u64::MAX),
        };
        Target::at_extent(track, slot, write, max_rotation)
    }

    /// Access to `blocks` that starts at `now` with the arm at `from`; the data of a write cross the link as given.
    #[inline(always)]
    pub(super) fn plan_access(&self, now: Instant, from: Arm, blocks: AccessBlocks, data: LinkInterval) -> Access {
        let AccessBlocks { write, first, end } = blocks;
        let sectors = (end - first.lba) as u32;
        Access {
            start: now,
            from,
            first,
            sectors,
            write,
            data_at: if write {
                self.earliest_write_start(&first, sectors, data).max(self.whole_sector_start(now, &first))
            } else {
                now
            },
            zero_latency: self.zero_latency && !write,
            lead_sectors: self.lead_sectors(sectors),
            edge_reads: EdgeReads::NONE,
            late: false,
            verify: write && self.verify,
        }
    }

    /// Timing of `access`.
    #[inline(always)]
    pub(super) fn access_timing(&self, access: &Access) -> AccessTiming {
        access.total_timing(&self.geometry, &self.mechanics)
    }

    /// Timing of a read of `sectors` blocks that are all on the track of `first`.
    #[inline(always)]
    pub(super) fn track_read_timing(&self, now: Instant, from: Arm, first: Extent, sectors: u32) -> AccessTiming {
        let access = Access {
            start: now,
            from,
            first,
            sectors,
            write: false,
            data_at: now,
            zero_latency: self.zero_latency,
            lead_sectors: self.lead_sectors(sectors),
            edge_reads: EdgeReads::NONE,
            late: false,
            verify: false,
        };
        access.single_track_timing(&self.mechanics)
    }

    /// Blocks of a read of `read_sectors` that are in the buffer before the link starts.
    #[inline(always)]
    fn lead_sectors(&self, read_sectors: u32) -> u32 {
        (read_sectors * self.buffer_full / 100).max(1)
    }

    /// The passes of `access`.
    pub(super) fn passes<'a>(&'a self, access: &'a Access) -> Passes<'a> {
        access.passes(&self.geometry, &self.mechanics)
    }

    /// When another access may be chosen after one with this timing, and where the arm is then.
    pub(super) fn state_after(&self, timing: &AccessTiming) -> (Instant, Arm) {
        (timing.end + self.dispatch, timing.arm)
    }

    /// Earliest start of a write of `sectors` blocks in which no block comes too late over the link, which they cross
    /// evenly.
    pub(super) fn earliest_write_start(&self, first: &Extent, sectors: u32, data: LinkInterval) -> Instant {
        let LinkInterval { start, end } = data;
        let mechanics = &self.mechanics;
        let block_time = Span::from_nanos(end.since(start).nanos().div_ceil(u64::from(sectors)));
        let angle_before_last = u128::from(first.slot) * u128::from(sectors - 1);
        // A lower bound: a longer write changes tracks as well.
        let passing_before_last =
            mechanics.revolutions((angle_before_last >> 64) as u64) + mechanics.turning_time(angle_before_last as u64);
        (start + block_time).max(Instant::from_nanos(end.nanos().saturating_sub(passing_before_last.nanos())))
    }

    /// Earliest start of a write to `first` that continues the physical sector in which the last write ended: that
    /// sector must come round again, to be written as a whole.
    fn whole_sector_start(&self, now: Instant, first: &Extent) -> Instant {
        let unit = self.physical_sector_blocks;
        match !first.lba.is_multiple_of(unit) && self.half_written == Some(first.lba / unit) {
            true => now + self.mechanics.turning_time(first.slot.saturating_mul(unit)),
            false => Instant::ZERO,
        }
    }

    // Activity

    #[inline]
    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Timing of the access in progress.
    #[inline]
    pub(super) fn current_timing(&self) -> Option<&AccessTiming> {
        match &self.activity {
            Activity::Access { timing, .. } => Some(timing),
            _ => None,
        }
    }

    /// True while a read-ahead runs.
    pub(super) fn is_prefetching(&self) -> bool {
        matches!(self.activity, Activity::Prefetch(_))
    }

    /// True while an access is in progress.
    #[inline]
    pub(super) fn is_accessing(&self) -> bool {
        matches!(self.activity, Activity::Access { .. })
    }

    /// True if the access in progress is that of the command in `slot`.
    #[inline]
    pub(super) fn serves_command(&self, slot: u16) -> bool {
        matches!(self.activity, Activity::Access { purpose: Purpose::Command { slot: served, .. }, .. } if served == slot)
    }

    /// Read-ahead that runs, or follows the access in progress.
    #[inline]
    pub(super) fn current_read_ahead(&self) -> Option<CurrentReadAhead<'_>> {
        match &self.activity {
            Activity::Prefetch(stream) => Some(CurrentReadAhead { stream, starts_at: None }),
            Activity::Access { then: Some(stream), timing, .. } => {
                Some(CurrentReadAhead { stream, starts_at: Some(timing.end) })
            }
            _ => None,
        }
    }

    /// Segment being filled at `now`, by a read or the read-ahead after it.
    #[inline]
    pub(super) fn filling_segment(&mut self, now: Instant) -> Option<usize> {
        self.advance_read_ahead(now);
        match &self.activity {
            Activity::Prefetch(stream) => Some(stream.segment),
            Activity::Access { purpose: Purpose::Command { segment, .. }, .. } => *segment,
            _ => None,
        }
    }

    /// Earliest instant at which the next access may be chosen.
    #[inline]
    pub(super) fn free_from(&self) -> Instant {
        self.free_from
    }

    /// Time in which a choice may be revised.
    pub(super) fn revision_time(&self) -> Span {
        self.revise
    }

    /// Delays the choice of the next access until `at`.
    pub(super) fn delay_choice_until(&mut self, at: Instant) {
        self.free_from = self.free_from.max(at);
    }

    /// Number of seeks, and of those against the direction of the one before.
    pub(super) fn seek_counts(&self) -> (u64, u64) {
        (self.seeks, self.reversals)
    }

    // Accesses

    /// Starts `access`. If it writes only a part of a physical sector, it reads the rest first, unless `is_known` says
    /// that the drive has those blocks (from, to).
    #[inline]
    pub(super) fn start_access(&mut self, mut access: Access, purpose: Purpose, is_known: impl Fn(u64, u64) -> bool) {
        let unit = self.physical_sector_blocks;
        if access.write && unit > 1 {
            access.edge_reads = self.edge_reads(access.lba(), access.end(), is_known);
            self.half_written = (!access.end().is_multiple_of(unit)).then_some(access.end() / unit);
        }
        if access.write && self.late_percent > 0 && access.first.cylinder != self.arm.cylinder {
            access.late = self.lateness.draw_chance(self.late_percent);
        }
        let timing = self.access_timing(&access);
        self.count_seek(self.arm.cylinder, access.first.cylinder);
        self.activity = Activity::Access { access, timing, purpose, then: None };
    }

    /// The ends of a write of `lba..end` that cover only part of a physical sector whose rest is not known and was not
    /// written last.
    fn edge_reads(&self, lba: u64, end: u64, is_known: impl Fn(u64, u64) -> bool) -> EdgeReads {
        let unit = self.physical_sector_blocks;
        let reads = |from: u64, to: u64| from != to && self.half_written != Some(from / unit) && !is_known(from, to);
        EdgeReads { start: reads(lba / unit * unit, lba), end: reads(end, end.next_multiple_of(unit)) }
    }

    /// Forgets the half-written physical sector: the next write does not continue it.
    pub(super) fn forget_half_written(&mut self) {
        self.half_written = None;
    }

    /// Counts a seek, unless the cylinders are the same.
    fn count_seek(&mut self, from_cylinder: u32, to_cylinder: u32) {
        if from_cylinder != to_cylinder {
            let inward = to_cylinder > from_cylinder;
            self.reversals += u64::from(self.seeks > 0 && inward != self.inward);
            self.seeks += 1;
            self.inward = inward;
        }
    }

    /// Adds `retries` to the access in progress. Returns when it ends and where the arm is then.
    #[inline]
    pub(super) fn add_retries(&mut self, retries: u64) -> Option<(Instant, Arm)> {
        let Activity::Access { timing, .. } = &mut self.activity else { return None };
        if retries > 0 {
            timing.add_retries(self.mechanics.revolutions(retries));
        }
        Some((timing.end, timing.arm))
    }

    /// The access in progress.
    pub(super) fn current_access(&self) -> Option<&Access> {
        match &self.activity {
            Activity::Access { access, .. } => Some(access),
            _ => None,
        }
    }

    /// Sets the read-ahead that follows the access in progress.
    #[inline]
    pub(super) fn set_read_ahead(&mut self, stream: Option<MediaStream>) {
        if let Activity::Access { then, .. } = &mut self.activity {
            *then = stream;
        }
    }

    /// Ends the access in progress: the arm is where it ended, and its read-ahead starts. The next access may be chosen
    /// after the dispatch time; or at `now`, if `any_continues_at` says that a command begins at the block where this
    /// access ends: that is known before, so nothing is to be made ready. (Inferred: makers' sequential rates of queued
    /// writes leave no room for a revolution per command.)
    #[inline]
    pub(super) fn end_access(&mut self, now: Instant, any_continues_at: impl Fn(u64) -> bool) {
        let Activity::Access { access, timing, purpose, then } = &self.activity else { return };
        if let Some(listener) = &self.listener {
            listener.record_access(access, self.passes(access), purpose.movement_purpose(access.write), timing.end);
        }
        self.arm = timing.arm;
        let at_once = self.dispatch > Span::ZERO && any_continues_at(access.end());
        self.free_from = if at_once { now } else { now + self.dispatch };
        // No `match` for its value: the stream would be moved to the stack and back, instead of staying where it is in memory.
        if let Some(stream) = *then {
            self.activity = Activity::Prefetch(stream);
        } else {
            self.activity = Activity::Idle;
        }
    }

    /// Makes blocks `lba..end` sound again, which were written in place.
    pub(super) fn refresh_blocks(&mut self, lba: u64, end: u64) {
        self.weak.remove_written(lba, end);
    }

    /// True if movements are listened to.
    #[inline]
    pub(super) fn has_listener(&self) -> bool {
        self.listener.is_some()
    }

    /// Records an access to one track that took place, with nothing else in progress.
    #[inline(always)]
    pub(super) fn record_lone_track_access(&mut self, from_cylinder: u32, timing: &AccessTiming) {
        self.count_seek(from_cylinder, timing.arm.cylinder);
        self.activity = Activity::Idle;
        (self.free_from, self.arm) = self.state_after(timing);
    }

    /// Breaks off the access in progress at `now`; the arm stays on the track that it reached.
    pub(super) fn stop_access(&mut self, now: Instant) {
        let Activity::Access { access, .. } = &self.activity else { return };
        let reached = self.passes(access).take_while(|pass| pass.transfer_start() <= now).last();
        if let Some(pass) = reached {
            self.arm = Arm { cylinder: pass.extent.cylinder, head: pass.extent.head };
        }
        self.activity = Activity::Idle;
        self.free_from = now;
    }

    /// Ends all activity.
    pub(super) fn stop_activity(&mut self) {
        self.activity = Activity::Idle;
    }

    /// Makes the medium free at `now`.
    pub(super) fn make_free(&mut self, now: Instant) {
        self.free_from = now;
    }

    // Read-ahead

    /// Read-ahead into `segment` from `extent`, a track's rest, up to block `limit`; it starts at `start` with the arm
    /// at `arm`.
    #[inline]
    pub(super) fn plan_read_ahead(
        &self,
        start: Instant,
        arm: Arm,
        extent: Extent,
        limit: u64,
        segment: usize,
    ) -> MediaStream {
        MediaStream::new(self.platter(), start, arm, extent, limit, segment)
    }

    /// Starts a read-ahead with nothing else in progress.
    pub(super) fn start_read_ahead(&mut self, stream: MediaStream) {
        self.activity = Activity::Prefetch(stream);
    }

    /// Replaces the read-ahead, running or to follow the access in progress, by `stream`.
    pub(super) fn replace_read_ahead(&mut self, stream: MediaStream) {
        if let Activity::Prefetch(ahead) | Activity::Access { then: Some(ahead), .. } = &mut self.activity {
            *ahead = stream;
        }
    }

    /// Advances a read-ahead to `now`, and ends one that has reached its limit.
    #[inline]
    pub(super) fn advance_read_ahead(&mut self, now: Instant) {
        if let Activity::Prefetch(stream) = &self.activity
            && stream.advanced_to != now
        {
            self.run_read_ahead(now);
        }
    }

    #[inline(never)]
    fn run_read_ahead(&mut self, now: Instant) {
        let Activity::Prefetch(stream) = &mut self.activity else {
            return;
        };
        let platter = DiskMechanism { geometry: &self.geometry, mechanics: &self.mechanics };
        stream.catch_up(platter, now);
        stream.advanced_to = now;
        if let Some(over) = stream.end_by(platter, now) {
            self.arm = stream.arm();
            self.activity = Activity::Idle;
            self.free_from = self.free_from.max(over);
        }
    }

    /// Advances a read-ahead to `now`, and sets the arm to where it is by then.
    pub(super) fn move_arm_with_read_ahead(&mut self, now: Instant) {
        self.advance_read_ahead(now);
        if let Activity::Prefetch(stream) = &self.activity {
            self.arm = stream.arm();
        }
    }

    /// Ends a read-ahead at `now`, or cancels the one that was to follow an access.
    pub(super) fn break_off_read_ahead(&mut self, now: Instant) -> Option<InterruptedReadAhead> {
        self.advance_read_ahead(now);
        match &mut self.activity {
            Activity::Prefetch(stream) => {
                let platter = DiskMechanism { geometry: &self.geometry, mechanics: &self.mechanics };
                let (segment, end) = (stream.segment, stream.first_missing_block(platter, now));
                self.arm = stream.arm();
                self.activity = Activity::Idle;
                Some(InterruptedReadAhead { segment, end })
            }
            Activity::Access { access, purpose: Purpose::Command { segment: Some(segment), .. }, then, .. } => {
                *then = None;
                Some(InterruptedReadAhead { segment: *segment, end: access.end() })
            }
            _ => None,
        }
    }

    /// Lets the read in progress continue without a segment: its data go to the host alone.
    pub(super) fn detach_segment(&mut self) {
        if let Activity::Access { purpose: Purpose::Command { segment, .. }, .. } = &mut self.activity {
            *segment = None;
        }
    }

    /// Sets the listener to movements.
    pub(super) fn set_listener(&mut self, listener: MovementListener) {
        self.listener = Some(listener);
    }

    /// Removes the listener to movements.
    pub(super) fn remove_listener(&mut self) {
        self.listener = None;
    }
}
