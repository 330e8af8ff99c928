//! The medium: where arm and platter are, what they are at work on, and when they are free for more. What is worth doing
//! next is not known here, nor who waits for it.

use super::access::{Access, Passes, Sweep};
use super::geometry::{Extent, Geometry};
use super::mechanics::{Arm, Mechanics, Reach, ReadReach};
use super::movement::{Errand, MovementListener};
use super::profile::Profile;
use super::recovery::{Recovery, WeakPlaces};
use super::stream::{DiskMechanism, MediaStream};
use super::target::Target;
use crate::block::SECTOR;
use crate::rng::{Rng, Seed};
use crate::time::{Instant, Span};

/// What the arm and the heads are doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Activity {
    /// Nothing.
    Idle,
    /// An access for a command or of a dirty segment.
    Access {
        /// Its blocks and its start.
        access: Access,
        /// Its course.
        sweep: Sweep,
        /// What for.
        purpose: Purpose,
        /// The read-ahead that follows it.
        then: Option<MediaStream>,
    },
    /// Reading ahead.
    Prefetch(MediaStream),
}

/// What an access is for.
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
    fn errand(self, write: bool) -> Errand {
        match self {
            Purpose::Destage(_) => Errand::Destage,
            Purpose::Moving => Errand::Home,
            Purpose::Command { .. } if write => Errand::Write,
            Purpose::Command { .. } => Errand::Read,
        }
    }
}

/// Arm, heads and platters.
#[derive(Debug)]
pub(super) struct Medium {
    geometry: Geometry,
    mechanics: Mechanics,
    weak: WeakPlaces,
    /// Blocks of a physical sector.
    unit: u64,
    /// A read may begin with any block of its track.
    zero_latency: bool,
    /// The share of a read, in percent, that is in the buffer before the link takes any.
    buffer_full: u32,
    /// What was written is read back.
    verify: bool,
    /// The share of writes, in percent, that begin a revolution late, and which they are.
    late_percent: u32,
    lateness: Rng,
    /// From the end of one access until the next may be chosen.
    dispatch: Span,
    /// So long a choice is not final.
    revise: Span,
    activity: Activity,
    arm: Arm,
    /// The next access may be chosen from here on.
    free: Instant,
    /// The last seek went to higher cylinders.
    inward: bool,
    seeks: u64,
    /// Of these, those that went the other way than the one before.
    reversals: u64,
    /// The physical sector, counted from 0, that the last write ended in the middle of: the drive knows all of it.
    half_written: Option<u64>,
    /// Who is told of movements.
    listener: Option<MovementListener>,
}

impl Medium {
    /// That of `profile` at rest, its platter turned by `phase` at time 0.
    pub(super) fn new(profile: Profile, phase: u64) -> Medium {
        Medium {
            geometry: profile.geometry,
            mechanics: profile.mechanics.with_phase(phase),
            weak: WeakPlaces::new(profile.weak, profile.firmware.recovery_limit),
            unit: u64::from(profile.physical_sector) / SECTOR,
            zero_latency: profile.firmware.zero_latency,
            buffer_full: profile.link.buffer_full,
            verify: profile.firmware.write_verify,
            late_percent: profile.firmware.late_writes_percent,
            lateness: Seed(phase).stream("late writes"),
            dispatch: profile.firmware.dispatch,
            revise: profile.firmware.revise,
            activity: Activity::Idle,
            arm: Arm::default(),
            free: Instant::ZERO,
            inward: true,
            seeks: 0,
            reversals: 0,
            half_written: None,
            listener: None,
        }
    }

    // Where things are

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

    /// Blocks.
    #[inline]
    pub(super) fn sectors(&self) -> u64 {
        self.geometry.sectors()
    }

    /// Blocks of a physical sector.
    #[inline]
    pub(super) fn unit(&self) -> u64 {
        self.unit
    }

    /// Bytes of a physical sector.
    pub(super) fn physical_sector(&self) -> u32 {
        (self.unit * SECTOR) as u32
    }

    /// The track from block `lba` on.
    #[inline]
    pub(super) fn track(&self, lba: u64) -> Extent {
        self.geometry.extent(lba, u32::MAX)
    }

    /// Where the arm is when nothing is under way.
    #[inline]
    pub(super) fn arm(&self) -> Arm {
        self.arm
    }

    /// The first weak block in `lba..end`.
    #[inline]
    pub(super) fn first_weak(&self, lba: u64, end: u64) -> Option<u64> {
        self.weak.first_in(lba, end)
    }

    /// How a read of `lba..end` gets on.
    #[inline]
    pub(super) fn recovery(&self, lba: u64, end: u64) -> Recovery {
        self.weak.recovery(lba, end, &self.mechanics)
    }

    /// The block after the last on the track, or the cylinder, that `first` is a part of.
    pub(super) fn track_end(&self, first: Extent, cylinder: bool) -> u64 {
        let mut end = first.end();
        if first.behind == 0 && !cylinder {
            return end;
        }
        while end < self.geometry.sectors() {
            let next = self.track(end);
            if next.cylinder != first.cylinder || (next.head != first.head && !cylinder) {
                break;
            }
            end = next.end();
        }
        end
    }

    /// How long the first track of an access turns before its first block passes.
    pub(super) fn first_wait(&self, access: &Access) -> Span {
        access.passes(&self.geometry, &self.mechanics).next().map_or(Span::ZERO, |pass| pass.rotation)
    }

    /// How many blocks pass before those of `first` while its track turns for `rotation`, at most `room`.
    #[inline(never)]
    pub(super) fn free_blocks(&self, first: &Extent, rotation: Span, room: u64) -> u64 {
        let (geometry, lba) = (&self.geometry, first.lba);
        let passed = self.mechanics.angle_of(rotation) / first.slot.max(1);
        let mut free = passed.min(u64::from(first.before)).min(lba).min(room);
        // A weak block that passes is not read.
        while let Some(weak) = self.first_weak(lba - free, lba) {
            free = lba - 1 - weak;
        }
        if geometry.is_unbroken(lba - free, lba) {
            return free;
        }
        // Slots left out before it on the track hold no blocks.
        while free > 0 && geometry.extent(lba - free, 1).cylinder_and_head() != first.cylinder_and_head() {
            free -= 1;
        }
        free
    }

    // How long things take

    /// What positioning costs from where the arm is at `now`.
    #[inline(always)]
    pub(super) fn reach(&self, now: Instant) -> Reach<'_> {
        self.mechanics.reach_from(self.arm, now)
    }

    /// The same, where only reads are waited for.
    #[inline(always)]
    pub(super) fn read_reach(&self, now: Instant) -> ReadReach<'_> {
        self.mechanics.read_reach_from(self.arm, now)
    }

    /// The first `sectors` blocks of `track`, or all of it, as a candidate.
    #[inline]
    pub(super) fn target(&self, slot: u16, track: &Extent, sectors: u32, write: bool) -> Target {
        let longest = match self.zero_latency && !write {
            // It begins wherever the head lands in its blocks, and is done when the platter has turned once.
            true => {
                let sweep = track.slot.wrapping_mul(u64::from(sectors.min(track.sectors)));
                self.mechanics.turn(sweep.wrapping_neg())
            }
            false => Span::from_nanos(u64::MAX),
        };
        Target::on(track, slot, write, longest)
    }

    /// The access from the block at `first` to `end`, the arm being at `from`; its data, if it writes, cross the link between the
    /// two instants of `data`.
    #[inline(always)]
    pub(super) fn access(
        &self,
        now: Instant,
        from: Arm,
        (write, end): (bool, u64),
        first: Extent,
        data: (Instant, Instant),
    ) -> Access {
        let sectors = (end - first.lba) as u32;
        Access {
            start: now,
            from,
            first,
            sectors,
            write,
            data_at: if write { self.writable_at(&first, sectors, data).max(self.whole_at(now, &first)) } else { now },
            zero_latency: self.zero_latency && !write,
            lead: self.lead(sectors),
            rereads: (false, false),
            late: false,
            verify: write && self.verify,
        }
    }

    /// The course of `access`.
    #[inline(always)]
    pub(super) fn sweep(&self, access: &Access) -> Sweep {
        access.sweep(&self.geometry, &self.mechanics)
    }

    /// The course of a read of `sectors` blocks that are all on the track of `first`, and how long each stretch of it takes.
    #[inline(always)]
    pub(super) fn read_on_track(&self, now: Instant, from: Arm, first: Extent, sectors: u32) -> Sweep {
        let access = Access {
            start: now,
            from,
            first,
            sectors,
            write: false,
            data_at: now,
            zero_latency: self.zero_latency,
            lead: self.lead(sectors),
            rereads: (false, false),
            late: false,
            verify: false,
        };
        access.sweep_track(&self.mechanics)
    }

    /// So many blocks of a read of `sectors` are in the buffer before the link takes any.
    #[inline(always)]
    fn lead(&self, sectors: u32) -> u32 {
        (sectors * self.buffer_full / 100).max(1)
    }

    /// The passes of `access`.
    pub(super) fn passes<'a>(&'a self, access: &'a Access) -> Passes<'a> {
        access.passes(&self.geometry, &self.mechanics)
    }

    /// When, and where the arm is, as another may follow an access with such a course.
    pub(super) fn after(&self, sweep: &Sweep) -> (Instant, Arm) {
        (sweep.end + self.dispatch, sweep.arm)
    }

    /// When the first of `sectors` blocks may go to the medium so that none is late, its data crossing the link evenly
    /// between the two instants of `data`.
    pub(super) fn writable_at(&self, first: &Extent, sectors: u32, (from, to): (Instant, Instant)) -> Instant {
        let mechanics = &self.mechanics;
        let behind = u128::from(first.slot) * u128::from(sectors - 1);
        let one = Span::from_nanos(to.since(from).nanos().div_ceil(u64::from(sectors)));
        // At least: a longer write changes tracks as well.
        let passing = mechanics.revolutions((behind >> 64) as u64) + mechanics.turn(behind as u64);
        (from + one).max(Instant::from_nanos(to.nanos().saturating_sub(passing.nanos())))
    }

    /// When a write to `first` may begin that goes on in the physical sector in which the last one ended: that sector must
    /// come round again, to be written as a whole.
    fn whole_at(&self, now: Instant, first: &Extent) -> Instant {
        match !first.lba.is_multiple_of(self.unit) && self.half_written == Some(first.lba / self.unit) {
            true => now + self.mechanics.turn(first.slot.saturating_mul(self.unit)),
            false => Instant::ZERO,
        }
    }

    // What it is at

    #[inline]
    pub(super) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The course of the access in progress.
    #[inline]
    pub(super) fn sweeping(&self) -> Option<&Sweep> {
        match &self.activity {
            Activity::Access { sweep, .. } => Some(sweep),
            _ => None,
        }
    }

    /// A read-ahead goes on.
    pub(super) fn is_prefetching(&self) -> bool {
        matches!(self.activity, Activity::Prefetch(_))
    }

    /// An access is in progress.
    #[inline]
    pub(super) fn is_accessing(&self) -> bool {
        matches!(self.activity, Activity::Access { .. })
    }

    /// The command in `slot` has the medium.
    #[inline]
    pub(super) fn serves(&self, slot: u16) -> bool {
        matches!(self.activity, Activity::Access { purpose: Purpose::Command { slot: on, .. }, .. } if on == slot)
    }

    /// The read-ahead that goes on, or follows the access in progress, and then when that ends.
    #[inline]
    pub(super) fn reading_ahead(&self) -> Option<(&MediaStream, Option<Instant>)> {
        match &self.activity {
            Activity::Prefetch(stream) => Some((stream, None)),
            Activity::Access { then: Some(stream), sweep, .. } => Some((stream, Some(sweep.end))),
            _ => None,
        }
    }

    /// The segment that is being filled, by a read or the read-ahead that follows it.
    #[inline]
    pub(super) fn filling(&mut self, now: Instant) -> Option<usize> {
        self.settle_stream(now);
        match &self.activity {
            Activity::Prefetch(stream) => Some(stream.segment),
            Activity::Access { purpose: Purpose::Command { segment, .. }, .. } => *segment,
            _ => None,
        }
    }

    /// The next access may be chosen from here on.
    #[inline]
    pub(super) fn free_from(&self) -> Instant {
        self.free
    }

    /// For so long what was chosen gives way to what comes.
    pub(super) fn revises(&self) -> Span {
        self.revise
    }

    /// No access is chosen before `at`.
    pub(super) fn wait_until(&mut self, at: Instant) {
        self.free = self.free.max(at);
    }

    /// Seeks that began, and those of them that went the other way than the one before.
    pub(super) fn seeks(&self) -> (u64, u64) {
        (self.seeks, self.reversals)
    }

    // Accesses

    /// Starts `access`. Of a physical sector of which it writes only a part it reads the rest, unless that is `known`.
    #[inline]
    pub(super) fn start(&mut self, mut access: Access, purpose: Purpose, known: impl Fn(u64, u64) -> bool) {
        if access.write && self.unit > 1 {
            access.rereads = self.rereads(access.lba(), access.end(), known);
            self.half_written = (!access.end().is_multiple_of(self.unit)).then_some(access.end() / self.unit);
        }
        if access.write && self.late_percent > 0 && access.first.cylinder != self.arm.cylinder {
            access.late = self.lateness.percent(self.late_percent);
        }
        let sweep = self.sweep(&access);
        self.note_seek(self.arm.cylinder, access.first.cylinder);
        self.activity = Activity::Access { access, sweep, purpose, then: None };
    }

    /// Whether a write of `lba..end` begins, and ends, inside a physical sector that must be read first: the rest of it
    /// is neither known nor what was written last.
    fn rereads(&self, lba: u64, end: u64, known: impl Fn(u64, u64) -> bool) -> (bool, bool) {
        let unit = self.unit;
        let known = |from: u64, to: u64| from == to || self.half_written == Some(from / unit) || known(from, to);
        (!known(lba / unit * unit, lba), !known(end, end.next_multiple_of(unit)))
    }

    /// What was written last goes on nowhere: the next write begins in a physical sector of its own.
    pub(super) fn forget_half(&mut self) {
        self.half_written = None;
    }

    /// An access begins at `cylinder`, the heads being at `from`.
    fn note_seek(&mut self, from: u32, cylinder: u32) {
        if from != cylinder {
            let inward = cylinder > from;
            self.reversals += u64::from(self.seeks > 0 && inward != self.inward);
            self.seeks += 1;
            self.inward = inward;
        }
    }

    /// Blocks of the access in progress are read again so many times. Answers when it ends and where the arm is then.
    #[inline]
    pub(super) fn try_again(&mut self, retries: u64) -> Option<(Instant, Arm)> {
        let Activity::Access { sweep, .. } = &mut self.activity else { return None };
        if retries > 0 {
            sweep.try_again(self.mechanics.revolutions(retries));
        }
        Some((sweep.end, sweep.arm))
    }

    /// The access in progress.
    pub(super) fn accessing(&self) -> Option<&Access> {
        match &self.activity {
            Activity::Access { access, .. } => Some(access),
            _ => None,
        }
    }

    /// `stream` follows the access in progress.
    #[inline]
    pub(super) fn go_on_with(&mut self, stream: Option<MediaStream>) {
        if let Activity::Access { then, .. } = &mut self.activity {
            *then = stream;
        }
    }

    /// The access in progress is over: the arm is where it ended, and its read-ahead goes on. The next may be chosen after
    /// the time of making ready, or at `now`, where a command `goes_on` at the block where it ends: that is known before it
    /// does, so nothing is to be made ready. (Inferred: makers' sequential rates of queued writes leave no room for a
    /// revolution a command.)
    #[inline]
    pub(super) fn end_access(&mut self, now: Instant, goes_on: impl Fn(u64) -> bool) {
        let Activity::Access { access, sweep, purpose, then } = &self.activity else { return };
        if let Some(listener) = &self.listener {
            listener.hear(access, self.passes(access), purpose.errand(access.write), sweep.end);
        }
        self.arm = sweep.arm;
        let at_once = self.dispatch > Span::ZERO && goes_on(access.end());
        self.free = if at_once { now } else { now + self.dispatch };
        // Not a `match` for its value: the stream would be moved to the stack and back, and in memory it may stay where it is.
        if let Some(stream) = *then {
            self.activity = Activity::Prefetch(stream);
        } else {
            self.activity = Activity::Idle;
        }
    }

    /// Blocks `lba..end` have been written in their place.
    pub(super) fn refresh(&mut self, lba: u64, end: u64) {
        self.weak.refresh(lba, end);
    }

    /// An access took place with nothing else under way, and `stream` goes on behind it.
    #[inline]
    pub(super) fn went_through(&mut self, access: &Access, sweep: &Sweep, stream: Option<MediaStream>) {
        self.note_seek(access.from.cylinder, access.first.cylinder);
        if let Some(listener) = &self.listener {
            listener.hear(access, self.passes(access), Errand::Read, sweep.end);
        }
        self.activity = stream.map_or(Activity::Idle, Activity::Prefetch);
        (self.free, self.arm) = self.after(sweep);
    }

    /// It is heard of what the arm does.
    #[inline]
    pub(super) fn is_listened_to(&self) -> bool {
        self.listener.is_some()
    }

    /// An access to one track at `cylinder` took place from where the arm was with nothing else under way, and `stream` goes on
    /// behind it.
    #[inline(always)]
    pub(super) fn passed_over(&mut self, from: u32, sweep: &Sweep, stream: Option<MediaStream>) {
        self.note_seek(from, sweep.arm.cylinder);
        self.activity = stream.map_or(Activity::Idle, Activity::Prefetch);
        (self.free, self.arm) = self.after(sweep);
    }

    /// Breaks off the access in progress at `now`: the arm stays where it has got to.
    pub(super) fn stop(&mut self, now: Instant) {
        let Activity::Access { access, .. } = &self.activity else { return };
        let reached = self.passes(access).take_while(|pass| pass.begin() <= now).last();
        if let Some(pass) = reached {
            self.arm = Arm { cylinder: pass.extent.cylinder, head: pass.extent.head };
        }
        self.activity = Activity::Idle;
        self.free = now;
    }

    /// Nothing goes on any more.
    pub(super) fn rest(&mut self) {
        self.activity = Activity::Idle;
    }

    /// It is free at `now`.
    pub(super) fn restart(&mut self, now: Instant) {
        self.free = now;
    }

    // Reading ahead

    /// Reads ahead from `extent`, a track's rest, up to `limit`, from `at` on with the arm at `arm`.
    #[inline]
    pub(super) fn stream(&self, at: Instant, arm: Arm, extent: Extent, limit: u64, segment: usize) -> MediaStream {
        MediaStream::start(self.platter(), at, arm, extent, limit, segment)
    }

    /// A read-ahead goes on with nothing else under way.
    pub(super) fn read_ahead(&mut self, stream: MediaStream) {
        self.activity = Activity::Prefetch(stream);
    }

    /// The read-ahead that goes on, or follows the access in progress, is `stream` from now on.
    pub(super) fn change_stream(&mut self, stream: MediaStream) {
        if let Activity::Prefetch(ahead) | Activity::Access { then: Some(ahead), .. } = &mut self.activity {
            *ahead = stream;
        }
    }

    /// Lets a read-ahead run up to `now`; one that has reached its limit is over since then.
    #[inline]
    pub(super) fn settle_stream(&mut self, now: Instant) {
        if let Activity::Prefetch(stream) = &self.activity
            && stream.settled != now
        {
            self.run_stream(now);
        }
    }

    #[inline(never)]
    fn run_stream(&mut self, now: Instant) {
        let Activity::Prefetch(stream) = &mut self.activity else {
            return;
        };
        let platter = DiskMechanism { geometry: &self.geometry, mechanics: &self.mechanics };
        stream.catch_up(platter, now);
        stream.settled = now;
        if let Some(over) = stream.over_by(platter, now) {
            self.arm = stream.arm();
            self.activity = Activity::Idle;
            self.free = self.free.max(over);
        }
    }

    /// Lets a read-ahead run up to `now`, and the arm is where it has got to.
    pub(super) fn follow_stream(&mut self, now: Instant) {
        self.settle_stream(now);
        if let Activity::Prefetch(stream) = &self.activity {
            self.arm = stream.arm();
        }
    }

    /// Ends a read-ahead at `now`, or calls off the one that was to follow an access. Answers the segment that it filled,
    /// and the block from which on nothing comes.
    pub(super) fn break_off(&mut self, now: Instant) -> Option<(usize, u64)> {
        self.settle_stream(now);
        match &mut self.activity {
            Activity::Prefetch(stream) => {
                let platter = DiskMechanism { geometry: &self.geometry, mechanics: &self.mechanics };
                let cut = (stream.segment, stream.filled(platter, now));
                self.arm = stream.arm();
                self.activity = Activity::Idle;
                Some(cut)
            }
            Activity::Access { access, purpose: Purpose::Command { segment: Some(segment), .. }, then, .. } => {
                *then = None;
                Some((*segment, access.end()))
            }
            _ => None,
        }
    }

    /// The access in progress goes on past the buffer.
    pub(super) fn leave_segment(&mut self) {
        if let Activity::Access { purpose: Purpose::Command { segment, .. }, .. } = &mut self.activity {
            *segment = None;
        }
    }

    /// From now on it tells `listener` what its arm does.
    pub(super) fn tell(&mut self, listener: MovementListener) {
        self.listener = Some(listener);
    }
}
