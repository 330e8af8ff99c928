//! The prediction of a drive's own figures for a case, calculated as one would by hand. Nothing is simulated here, and nothing is assumed
//! about the model's firmware: only that the arm, the platter, the electronics and the link take the times of the profile.
//!
//! Times are in seconds, rates in requests a second, angles in shares of a revolution.

use seekwise_disk::block::{Queuing, SECTOR};
use seekwise_disk::drive::mechanics::Arm;
use seekwise_disk::drive::profile::{OverheadAfter, Profile};
use seekwise_disk::queue::Policy;
use seekwise_disk::time::Span;
use serde::Serialize;

use super::matrix::{CaseOp, CasePattern, EverydayCase};
use crate::catalogue::curves::sustained_mb_s;

/// The expectation for a case: requests a second, from `low` to `high`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct ExpectedRate {
    /// The fewest requests a second.
    pub low: f64,
    /// The most requests a second.
    pub high: f64,
    pub law: RateLaw,
}

/// How an expectation is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLaw {
    /// A stream: medium or commands.
    Stream,
    /// A stream whose commands are slower than the medium, and use up the data ahead of them within a revolution.
    ShortSegment,
    /// A stream of reads each longer than a track, on a drive that begins anywhere in a track.
    LongReads,
    /// Positioning, then the data.
    Access,
    /// Several outstanding.
    Queue,
    /// Writes that wait in the buffer.
    Destage,
    /// Each write a revolution after the one before.
    Behind,
    /// A part of a sector: read, a revolution, write.
    Part,
    /// Rewrites of one sector.
    Again,
}

impl RateLaw {
    /// All laws.
    pub const ALL: [RateLaw; 9] = [
        RateLaw::Stream,
        RateLaw::ShortSegment,
        RateLaw::LongReads,
        RateLaw::Access,
        RateLaw::Queue,
        RateLaw::Destage,
        RateLaw::Behind,
        RateLaw::Part,
        RateLaw::Again,
    ];

    /// The letter in tables.
    pub const fn table_letter(self) -> char {
        (b'A' + self as u8) as char
    }

    /// The description, with the reason for the tolerance.
    pub const fn words(self) -> &'static str {
        match self {
            RateLaw::Stream => {
                "The smaller of two rates, the medium's and the commands'. Medium: a track's sectors in 1 + skew \
                 revolutions, in the zone in use. Commands at depth 1: link command, overhead of a hit, data over the \
                 link and completion, one after another. Deeper: the slower of the electronics (command and overhead) and \
                 the link; ATA's tagged queuing shares the bus, so there the rate lies between the two. Off by 3 % at \
                 most, from partial requests at the window's edges and from waits at a track's end if both rates are \
                 equal"
            }
            RateLaw::ShortSegment => {
                "The medium is faster than the commands, so the drive stops when its read-ahead is as far ahead as its \
                 figures allow. To resume it waits a revolution, and a switch at a track's end; meanwhile the commands \
                 use up the data ahead. The rate is at most the commands' rate C, and at least M S / (S + T (M - C)): S \
                 is the number of bytes ahead, M the medium's rate and T the wait. S is smaller than the buffer's space \
                 by what the medium gains on the commands within a track, before the switch loses it again; by half of \
                 the space at most. Off by 3 % at most, as a stream"
            }
            RateLaw::LongReads => {
                "A read of whole tracks may begin on each track wherever the head arrives. The rate is at least that of a \
                 stream, and at most one track in a revolution plus the arm's movement to the next. Off by 3 % at most, \
                 as a stream"
            }
            RateLaw::Access => {
                "The sum of link command, overhead, mean seek between random places among the blocks in use (settled, for \
                 a write), half a revolution, the data with their track switches (less for reads that may begin anywhere \
                 in a track), the data that the link still has to send after the medium is done, and completion. Off by 2 \
                 % at most: random draws leave 0.3 %, sums over 400 places 0.5 %, and after read-ahead the arm starts a \
                 track or two farther on"
            }
            RateLaw::Queue => {
                "At least the rate of depth 1, because a choice never makes a drive slower. At most the rate of a drive \
                 that at each access chooses among as many new places as the depth, each a seek and a wait away, and \
                 takes the soonest: the sum over time t of (1 - share of places reached by t) to the power of the depth. \
                 A drive that does not choose by time takes the nearest seek and half a revolution. Off by 3 % at most: \
                 both bounds are sums over random draws"
            }
            RateLaw::Destage => {
                "At least the rate of uncached writes at depth 1 in the same place, because the drive could destage in \
                 order of arrival. At most the rate of a drive that chooses each time among all writes that fit the share \
                 of its buffer for dirty data: by time if destaging knows the angle, otherwise by seek and half a \
                 revolution. Writes that overwrite or touch a waiting one cost nothing. The rate never exceeds that of \
                 the commands. Off by 3 % at most, as a queue"
            }
            RateLaw::Behind => {
                "The next write arrives when its first sector has just passed. So each takes its data and a revolution, \
                 or less at a track switch whose skew leaves enough time. Off by 1 % at most, from the window's edges"
            }
            RateLaw::Part => {
                "As a random write, but the drive reads the whole physical sector, waits until it comes round again, and \
                 writes it: one revolution more. Off by 3 % at most: settling for the write may come before the read or \
                 within the revolution"
            }
            RateLaw::Again => {
                "The same sectors come round once a revolution. Commands and settling take less, so each loop takes one \
                 revolution. Off by 1 % at most, from the window's edges"
            }
        }
    }

    /// The largest difference that still counts as expected.
    pub const fn tolerance(self) -> f64 {
        match self {
            RateLaw::Behind | RateLaw::Again => 0.01,
            RateLaw::Access => 0.02,
            RateLaw::Stream
            | RateLaw::ShortSegment
            | RateLaw::LongReads
            | RateLaw::Queue
            | RateLaw::Destage
            | RateLaw::Part => 0.03,
        }
    }
}

/// Sample places in a stretch of blocks, when all pairs of them are considered.
const PLACES: u64 = 400;

/// Number of angles at which the arm may reach a track.
const ANGLES: u32 = 16;

/// Sample places when the nearest of many is sought.
const MANY: u64 = 65_536;

/// The step in seconds of the sum over a wait.
const STEP: f64 = 5e-6;

fn to_seconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e9
}

/// An angle of the model, 2^64 once around, as a share of a revolution.
fn to_revolutions(angle: u64) -> f64 {
    angle as f64 / 2f64.powi(64)
}

/// The rotation from the platter's position to `angle`; zero if it is there at once, whatever the rounding.
fn rotation_to(angle: f64, stands: f64) -> f64 {
    const ROUNDING: f64 = 1e-9;
    let ahead = (angle - stands).rem_euclid(1.0);
    if ahead > 1.0 - ROUNDING { 0.0 } else { ahead }
}

/// `count` blocks spread evenly from `first` to `end`; the golden section keeps them out of step with tracks.
fn sample_places(first: u64, end: u64, count: u64) -> impl Iterator<Item = u64> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let width = (end - first) as f64 / count as f64;
    (0..count)
        .map(move |i| first + ((i as f64 + (i as f64 * GOLDEN).fract()) * width) as u64)
        .map(move |lba| lba.min(end - 1))
}

/// The drive's figures as arithmetic needs them.
pub(crate) struct CaseFigures<'a> {
    profile: &'a Profile,
    case: EverydayCase,
    first: u64,
    end: u64,
}

/// A pass over a request, from the arm's arrival at its first track.
struct RequestPass {
    /// When all of it has passed.
    over: f64,
    /// When enough of it has passed, from its first sector on, for the link to begin.
    led: f64,
    /// Where the arm and the platter are then.
    arm: Arm,
    angle: f64,
}

impl<'a> CaseFigures<'a> {
    /// The figures of `profile` for `case`.
    pub fn new(profile: &'a Profile, case: EverydayCase) -> CaseFigures<'a> {
        let (first, end) = case.block_span(profile);
        CaseFigures { profile, case, first, end }
    }

    /// The expectation.
    pub(crate) fn expected_rate(&self) -> ExpectedRate {
        match (self.case.pattern, self.case.op) {
            (CasePattern::Sequential, CaseOp::Uncached) => exact_rate(self.uncached_write_rate(), RateLaw::Behind),
            (CasePattern::Sequential, _) => self.stream_rate(),
            (CasePattern::Flushed, _) => exact_rate(self.rewrite_rate(), RateLaw::Again),
            (CasePattern::Random, CaseOp::Cached) => self.destage_rate(),
            (CasePattern::Random, CaseOp::Uncached) if self.is_partial_sector() => {
                exact_rate(self.partial_write_rate(), RateLaw::Part)
            }
            (CasePattern::Random, _) if self.effective_depth() == 1 => {
                exact_rate(1.0 / self.access_time(), RateLaw::Access)
            }
            (CasePattern::Random, _) => self.queued_rate(),
        }
    }

    /// How long it takes to fill the buffer of a drive that accepts writes faster than it destages them.
    pub(crate) fn buffer_fill_time(&self) -> f64 {
        if self.case.op != CaseOp::Cached {
            return 0.0;
        }
        let taken = self.command_bytes() / self.buffered_command_time();
        let written = match self.case.pattern {
            CasePattern::Sequential => self.medium_bytes_per_s(),
            _ => 0.0,
        };
        // Slower commands fill it too if the drive has no reason yet to destage.
        let rate = if taken > written { (taken - written).max(taken / 10.0) } else { taken };
        self.dirty_limit_bytes() / rate
    }

    fn is_write(&self) -> bool {
        self.case.op != CaseOp::Read
    }

    fn is_partial_sector(&self) -> bool {
        self.case.bytes < u64::from(self.profile.physical_sector)
    }

    /// Number of commands that a request takes: a command's size is limited.
    fn commands_per_request(&self) -> f64 {
        (self.case.bytes as f64 / self.command_bytes()).ceil()
    }

    /// Bytes of a command.
    fn command_bytes(&self) -> f64 {
        (self.case.bytes as f64).min(f64::from(self.profile.link.max_transfer) * SECTOR as f64)
    }

    /// Number of requests that the drive really holds at once.
    fn effective_depth(&self) -> u32 {
        let queues = self.profile.link.queuing != Queuing::None;
        if queues { self.case.depth.min(self.profile.firmware.depth) } else { 1 }
    }

    fn revolution_time(&self) -> f64 {
        to_seconds(self.profile.mechanics.revolution())
    }

    /// Bytes of the buffer that may be dirty.
    fn dirty_limit_bytes(&self) -> f64 {
        let cache = &self.profile.cache;
        match cache.adaptive {
            Some(it) => f64::from(it.sectors) * f64::from(it.dirty_percent) / 100.0 * SECTOR as f64,
            None => f64::from(cache.dirty_segments) * f64::from(cache.segment_sectors) * SECTOR as f64,
        }
    }

    /// The time of the electronics for a command: its way over the link and its overhead.
    fn electronics_time(&self, cached: bool) -> f64 {
        let overhead = &self.profile.overhead;
        let own = |after: OverheadAfter| to_seconds(if self.is_write() { after.write } else { after.read });
        let cost = match (self.is_write(), cached) {
            (false, true) => own(overhead.read_hit),
            (false, false) => own(overhead.read_miss),
            (true, true) => own(overhead.write_hit),
            (true, false) => own(overhead.write_miss),
        };
        to_seconds(self.profile.link.command) + cost
    }

    /// The time of a command's data on the link.
    fn link_time(&self) -> f64 {
        let link = &self.profile.link;
        self.command_bytes() / if self.is_write() { link.write_rate } else { link.rate } as f64
    }

    fn completion_time(&self) -> f64 {
        let overhead = &self.profile.overhead;
        to_seconds(if self.is_write() { overhead.write_completion } else { overhead.completion })
    }

    /// The time of a command that the buffer serves, with nothing else going on.
    fn buffered_command_time(&self) -> f64 {
        self.electronics_time(true) + self.link_time() + self.completion_time()
    }

    /// Bytes a second of the medium.
    fn medium_bytes_per_s(&self) -> f64 {
        sustained_mb_s(self.profile, self.first, self.end, self.is_write()) * 1e6
    }

    fn stream_rate(&self) -> ExpectedRate {
        let bytes = self.case.bytes as f64;
        let alone = self.command_bytes() / self.buffered_command_time();
        let overlapped = self.command_bytes() / self.electronics_time(true).max(self.link_time());
        let medium = self.medium_bytes_per_s();
        let (least, most) = match (self.effective_depth(), self.profile.link.queuing) {
            (1, _) => (alone, alone),
            // Commands share the bus with data, and may or may not be decoded meanwhile.
            (_, Queuing::Tcq) => (alone, overlapped),
            _ => (overlapped, overlapped),
        };
        let (ahead, revolution) = (self.buffer_lead_bytes(), self.revolution_time());
        let (low, high) = (least.min(medium) / bytes, most.min(medium) / bytes);
        let track = self.profile.geometry.extent(self.first, u32::MAX);
        let passing = f64::from(track.sectors) * SECTOR as f64;
        // If it stops at a track's end, the switch to the next is added.
        let back = (passing / medium).max(revolution);
        if least < medium && ahead < least * back {
            let gained = if ahead < least * revolution { passing - least * revolution } else { 0.0 };
            let ahead = ahead - gained.clamp(0.0, ahead / 2.0);
            let filled = medium * ahead / (ahead + back * (medium - least));
            return ExpectedRate { low: filled / bytes, high, law: RateLaw::ShortSegment };
        }
        if self.begins_anywhere() && self.command_bytes() > f64::from(track.sectors) * SECTOR as f64 {
            let high = most.min(self.max_medium_bytes_per_s()) / bytes;
            return ExpectedRate { low, high, law: RateLaw::LongReads };
        }
        ExpectedRate { low, high, law: RateLaw::Stream }
    }

    /// Bytes by which the medium may be ahead of a stream of reads, or behind one of writes.
    fn buffer_lead_bytes(&self) -> f64 {
        let cache = &self.profile.cache;
        let room = cache.adaptive.map_or(cache.segment_sectors, |it| it.sectors);
        match self.case.op {
            CaseOp::Read => f64::from(room.min(cache.read_ahead.max)) * SECTOR as f64,
            _ => self.dirty_limit_bytes(),
        }
    }

    /// True if a read may begin with whichever wanted sector of a track comes first.
    fn begins_anywhere(&self) -> bool {
        self.profile.firmware.zero_latency && !self.is_write()
    }

    /// Bytes a second of whole tracks, each begun wherever the head reaches it.
    fn max_medium_bytes_per_s(&self) -> f64 {
        let track = self.profile.geometry.extent(self.first, u32::MAX);
        let next = self.profile.geometry.extent(track.end(), u32::MAX);
        let arm = Arm { cylinder: track.cylinder, head: track.head };
        let movement = self.movement_time(arm, next.cylinder, next.head, false);
        next.sectors as f64 * SECTOR as f64 / (self.revolution_time() + movement)
    }

    /// The pass over the request at `lba`; the arm reached its first track when the platter was at `angle`.
    fn pass_over_request(&self, lba: u64, sectors: u32, angle: f64) -> RequestPass {
        let geometry = &self.profile.geometry;
        // Later commands find the platter where the first left it.
        let first = lba + (self.command_bytes() as u64 / SECTOR);
        let revolution = self.revolution_time();
        let mut passage = RequestPass { over: 0.0, led: 0.0, arm: Arm::default(), angle };
        let (mut at, mut left) = (lba, sectors);
        let mut lead = (sectors.min((first - lba) as u32) * self.profile.link.buffer_full / 100).max(1);
        while left > 0 {
            let most = if at < first { (first - at).min(u64::from(left)) as u32 } else { left };
            let track = geometry.extent(at, most);
            if at > lba && (passage.arm.cylinder, passage.arm.head) != track.cylinder_and_head() {
                let movement = self.movement_time(passage.arm, track.cylinder, track.head, self.is_write());
                passage.over += movement;
                passage.angle += movement / revolution;
            }
            let (ahead, arc) =
                (rotation_to(to_revolutions(track.angle), passage.angle), to_revolutions(track.covered_angle()));
            // In the middle of the wanted sectors: the rest, and then the missed part when it comes round.
            let anywhere = self.begins_anywhere() && at < first;
            let turned = if anywhere && ahead > 1.0 - arc { 1.0 } else { ahead + arc };
            if lead > 0 {
                let within = lead.min(track.sectors);
                passage.led =
                    passage.over + (ahead + to_revolutions(track.slot) * f64::from(within)).min(turned) * revolution;
                lead -= within;
            }
            passage.over += turned * revolution;
            passage.angle += turned;
            passage.arm = Arm { cylinder: track.cylinder, head: track.head };
            at += u64::from(track.sectors);
            left -= track.sectors;
        }
        passage
    }

    /// Seek or head switch, and settling for a write.
    fn movement_time(&self, arm: Arm, cylinder: u32, head: u8, write: bool) -> f64 {
        let mechanics = &self.profile.mechanics;
        let seek = mechanics.movement_time(arm, cylinder, head, write);
        to_seconds(seek) + if write { to_seconds(mechanics.extra_write_time(seek)) } else { 0.0 }
    }

    /// The mean movement between places of the stretch.
    fn mean_movement_time(&self, write: bool) -> f64 {
        let arms: Vec<Arm> = self.sample_arms(PLACES).collect();
        let all = arms.iter().flat_map(|from| arms.iter().map(move |to| (*from, to)));
        let sum: f64 = all.map(|(from, to)| self.movement_time(from, to.cylinder, to.head, write)).sum();
        sum / (arms.len() * arms.len()) as f64
    }

    fn sample_arms(&self, count: u64) -> impl Iterator<Item = Arm> + '_ {
        sample_places(self.first, self.end, count).map(|lba| {
            let extent = self.profile.geometry.extent(lba, 1);
            Arm { cylinder: extent.cylinder, head: extent.head }
        })
    }

    /// The mean of `what` over places and angles, for a pass over a request of `sectors`.
    fn mean_passage(&self, sectors: u32, what: impl Fn(&RequestPass) -> f64) -> f64 {
        let unit = u64::from(self.profile.physical_sector) / SECTOR;
        let last = (self.end - u64::from(sectors)).max(self.first + 1);
        let over = |lba: u64| {
            let angles = (0..ANGLES).map(|i| (f64::from(i) + 0.5) / f64::from(ANGLES));
            // The angles begin where the request does: evenly around it, wherever it lies.
            let begin = to_revolutions(self.profile.geometry.extent(lba, 1).angle);
            angles.map(|angle| what(&self.pass_over_request(lba, sectors, begin + angle))).sum::<f64>()
                / f64::from(ANGLES)
        };
        sample_places(self.first, last, PLACES).map(|lba| over(lba / unit * unit)).sum::<f64>() / PLACES as f64
    }

    /// A random access, one at a time, from one completion to the next.
    fn access_time(&self) -> f64 {
        let sectors = (self.case.bytes / SECTOR) as u32;
        let (command, completion) = (self.electronics_time(false), self.completion_time());
        let (reselect, dispatch) =
            (to_seconds(self.profile.overhead.reselect), to_seconds(self.profile.firmware.dispatch));
        let sector = self.link_time() * SECTOR as f64 / self.command_bytes();
        let hits = (self.commands_per_request() - 1.0) * (self.electronics_time(true) + completion);
        let link = self.commands_per_request() * self.link_time() + hits;
        let write = self.is_write();
        self.mean_movement_time(write)
            + self.mean_passage(sectors, |passage| {
                let done = match write {
                    true => passage.over + reselect,
                    false => (passage.over + sector).max(passage.led + reselect + link),
                };
                (done + completion + command).max(passage.over + dispatch)
            })
    }

    fn partial_write_rate(&self) -> f64 {
        let whole = (self.profile.physical_sector / SECTOR as u32).max(1);
        let passes = self.mean_passage(whole, |passage| passage.over);
        let command = self.electronics_time(false) + self.completion_time();
        1.0 / (command + self.mean_movement_time(false) + passes + self.revolution_time())
    }

    /// The highest rate, when each is chosen among `choice` places of the stretch; by time if `knows_angle`.
    fn nearest_choice_rate(&self, choice: f64, knows_angle: bool) -> f64 {
        let write = self.is_write();
        let revolution = self.revolution_time();
        // From the middle all others are nearest.
        let middle = self.profile.geometry.extent(self.first + (self.end - self.first) / 2, 1);
        let from = Arm { cylinder: middle.cylinder, head: middle.head };
        let mut moves: Vec<f64> =
            self.sample_arms(MANY).map(|to| self.movement_time(from, to.cylinder, to.head, write)).collect();
        moves.sort_by(f64::total_cmp);
        let transfer = self.case.bytes as f64 / self.fastest_bytes_per_s();
        let longest = moves.last().copied().unwrap_or(0.0) + if knows_angle { revolution } else { 0.0 };
        let steps = (longest / STEP).ceil() as usize;
        // The share of places reached within each step, and of those that have come round by then.
        let reached: Vec<f64> = (0..=steps)
            .map(|step| moves.partition_point(|&time| time <= step as f64 * STEP) as f64 / moves.len() as f64)
            .collect();
        let window = (revolution / STEP).round() as usize;
        let (mut best, mut within) = (0.0, 0.0);
        for step in 0..=steps {
            within += reached[step] - if step >= window { reached[step - window] } else { 0.0 };
            let share = if knows_angle { (within / window as f64).min(1.0) } else { reached[step] };
            best += (1.0 - share).powf(choice) * STEP;
        }
        1.0 / (best + transfer + if knows_angle { 0.0 } else { revolution / 2.0 })
    }

    /// Bytes a second on the tracks with the most sectors, without a change of track.
    fn fastest_bytes_per_s(&self) -> f64 {
        let spans = self.profile.geometry.zone_block_bounds().filter(|span| span.0 < span.1);
        let slot = |(first, _): (u64, u64)| to_revolutions(self.profile.geometry.extent(first, 1).slot);
        SECTOR as f64 / (spans.map(slot).fold(1.0, f64::min) * self.revolution_time())
    }

    fn queued_rate(&self) -> ExpectedRate {
        let electronics = 1.0 / self.electronics_time(false).max(self.link_time());
        let most = self
            .nearest_choice_rate(f64::from(self.effective_depth()), self.profile.firmware.queue.policy == Policy::Sptf);
        ExpectedRate { low: 1.0 / self.access_time(), high: most.min(electronics), law: RateLaw::Queue }
    }

    fn destage_rate(&self) -> ExpectedRate {
        let uncached = EverydayCase { op: CaseOp::Uncached, depth: 1, ..self.case };
        let low = 1.0 / CaseFigures { case: uncached, ..*self }.access_time();
        let held = (self.dirty_limit_bytes() / self.case.bytes as f64).max(1.0);
        let blocks = ((self.end - self.first) * SECTOR) as f64 / self.case.bytes as f64;
        // A new write's block and its two neighbours may be dirty already; then it costs no access of its own.
        let spared = (3.0 * held / blocks).min(0.99);
        let most =
            self.nearest_choice_rate(held, self.profile.firmware.destage.policy == Policy::Sptf) / (1.0 - spared);
        let commands = match self.effective_depth() {
            1 => 1.0 / self.buffered_command_time(),
            _ => 1.0 / self.electronics_time(true).max(self.link_time()),
        };
        // A media cache writes them one after another.
        let most = if self.profile.cache.media_cache.is_some() { commands } else { most.min(commands) };
        ExpectedRate { low: low.min(most), high: most, law: RateLaw::Destage }
    }

    /// Uncached writes one after another, over some thousand of them.
    fn uncached_write_rate(&self) -> f64 {
        const WRITES: u64 = 4_000;
        let sectors = (self.case.bytes / SECTOR) as u32;
        let busy = self.electronics_time(false)
            + self.completion_time()
            + to_seconds(self.profile.overhead.reselect)
            + to_seconds(self.profile.mechanics.extra_write_time(Span::ZERO));
        let busy = busy.max(to_seconds(self.profile.firmware.dispatch));
        let mut arm: Option<Arm> = None;
        let (mut time, mut angle) = (0.0, 0.0);
        for write in 0..WRITES {
            let lba = self.first + write * u64::from(sectors);
            let track = self.profile.geometry.extent(lba, 1);
            let movement = arm.map_or(0.0, |arm| match (arm.cylinder, arm.head) == track.cylinder_and_head() {
                true => 0.0,
                false => self.movement_time(arm, track.cylinder, track.head, true),
            });
            angle += (busy + movement) / self.revolution_time();
            let passage = self.pass_over_request(lba, sectors, angle);
            time += busy + movement + passage.over;
            (angle, arm) = (passage.angle, Some(passage.arm));
        }
        WRITES as f64 / time
    }

    /// A write and a flush of the same place, over and over.
    fn rewrite_rate(&self) -> f64 {
        let flush = to_seconds(self.profile.link.command) + to_seconds(self.profile.overhead.flush);
        let transfer = self.case.bytes as f64 / self.medium_bytes_per_s();
        let settle = to_seconds(self.profile.mechanics.extra_write_time(Span::ZERO));
        let busy = self.buffered_command_time() + flush + settle + transfer;
        1.0 / (self.revolution_time() * (busy / self.revolution_time()).ceil())
    }
}

fn exact_rate(rate: f64, law: RateLaw) -> ExpectedRate {
    ExpectedRate { low: rate, high: rate, law }
}

#[cfg(test)]
mod tests {
    use seekwise_drives::profile::ReadingCache;

    use super::super::matrix::applicable_cases;
    use super::*;
    use crate::catalogue::load_drive;

    /// The expectation for a case of a drive with some settings changed.
    fn expected(drive: &str, set: &[(&str, &str)], case: &str) -> ExpectedRate {
        let mut drive = load_drive(drive).unwrap();
        for (key, value) in set {
            drive.set(key, value).unwrap();
        }
        let reading = ReadingCache::default();
        let profile = drive.build_profile(&reading).unwrap();
        let case =
            applicable_cases(&drive, &profile, &reading).into_iter().find(|known| known.name == case).expect("a case");
        CaseFigures::new(&profile, case).expected_rate()
    }

    #[test]
    fn sample_places_are_spread_from_the_first_block_to_the_last() {
        let of = |first: u64, end: u64, count: u64| sample_places(first, end, count).collect::<Vec<_>>();
        // As many as there are blocks are all of them; fewer lie in parts of equal width, at 0 and 0.618 of it.
        assert_eq!(of(10, 14, 4), [10, 11, 12, 13]);
        assert_eq!([of(0, 8, 1), of(0, 8, 2)], [vec![0], vec![0, 6]]);
        // Three of two blocks lie at 0, 1.618 and 2.236 thirds of them.
        assert_eq!(of(5, 7, 3), [5, 6, 6]);
        assert_eq!(of(7, 8, 3), [7; 3]);
    }

    #[track_caller]
    fn near(found: f64, by_hand: f64, share: f64) {
        assert!((found / by_hand - 1.0).abs() <= share, "{found}, by hand {by_hand}");
    }

    #[test]
    fn streams_by_hand() {
        // 1109 sectors of 512 bytes in 1.155 revolutions, 120 a second; a change of surface every 128 tracks costs up to a
        // quarter of a revolution more.
        let medium = expected("barracuda-7200.7-ncq", &[], "sequential reads, 64 KiB, depth 1");
        near(medium.low * 65_536.0, 58.99e6, 0.002);
        assert_eq!((medium.low, medium.law), (medium.high, RateLaw::Stream));
        // 0.005 + 0.1 ms, and 4096 bytes at 550 MB/s: 112.4 us; deeper the electronics alone: 105 us.
        let commands = expected("exos-x18", &[], "sequential reads, 4 KiB, depth 1");
        near(commands.low, 1e6 / 112.447, 0.0001);
        near(expected("exos-x18", &[], "sequential reads, 4 KiB, depth 8").low, 1e6 / 105.0, 0.0001);
        // Without a queue depth 8 is depth 1: 10 + 14 us, and 4096 bytes at 88.25 MB/s 46.4 us: less than the medium's time.
        let one = expected("fireball-plus-as-30", &[("link.rate_mb_s", "30")], "sequential reads, 4 KiB, depth 8");
        near(one.high, 1e6 / (24.0 + 4096.0 / 30.0), 0.0001);
    }

    #[test]
    fn a_segment_too_short_for_a_revolution_by_hand() {
        // 122 us and 4096 bytes at 272 MB/s: 29.89 MB/s. Half a segment of 64 KiB fills at 78.2 in 32,768 / 48.3e6 s = 0.678 ms,
        // while 53,050 bytes pass; then a revolution of 5.999 ms and a switch, 1.278 revolutions a track.
        let short = expected("atlas-10k-v-300", &[("cache.segments", "128")], "sequential reads, 4 KiB, depth 1");
        assert_eq!(short.law, RateLaw::ShortSegment);
        near(short.low * 4096.0, 53_050.0 / (0.678e-3 + 1.278 * 5.999e-3), 0.003);
        near(short.high * 4096.0, 29.89e6, 0.001);
    }

    #[test]
    fn accesses_by_hand() {
        // 0.16 ms, a seek of 8.5, half a revolution of 4.167, eight of some 900 sectors 0.075: 12.90 ms.
        near(expected("barracuda-7200.7-ncq", &[], "random reads, 4 KiB, depth 1").low, 1e3 / 12.9, 0.01);
        // A write settles for 0.25 ms.
        near(expected("barracuda-7200.7-ncq", &[], "random uncached writes, 4 KiB, depth 1").low, 1e3 / 13.15, 0.01);
        // 0.105 + 7.55 + 4.167 + 0.018 ms, and a revolution of 8.333.
        let part = expected("exos-x18", &[], "random uncached writes, 512 B, depth 1");
        near(part.low, 1e3 / 20.17, 0.01);
        assert_eq!(part.law, RateLaw::Part);
    }

    #[test]
    fn a_read_that_begins_anywhere_saves_what_is_worked_out_by_hand() {
        // A share f of a track, 2048 of 4000 sectors: turned by f + (1 - f^2) / 2 revolutions, else by f + 1 / 2.
        let case = "random reads, 1 MiB, depth 1";
        let set = |anywhere| {
            [
                ("firmware.zero_latency", anywhere),
                ("geometry.zones", "[{ first = 0, cylinders = 600000, spt = 4000 }]"),
                ("link.rate_mb_s", "100000"),
            ]
        };
        let (saving, plain) = (expected("exos-x18", &set("true"), case), expected("exos-x18", &set("false"), case));
        // Of the places, 2048 of 4000 reach into the next track, where the share is smaller: the saving is between half and all.
        let saved = 1.0 / plain.low - 1.0 / saving.low;
        let whole = 0.512 * 0.512 / 2.0 / 120.0;
        assert!((0.4 * whole..=whole).contains(&saved), "{saved} s, at most {whole}");
    }

    #[test]
    fn a_link_that_waits_for_the_buffer_by_hand() {
        // 64 KiB at 10 MB/s take 6.554 ms and the medium, 128 of some 870 sectors, 1.2: the link ends 6.554 ms behind the first
        // sector (0.01 ms), or behind all of them.
        let set = |percent| {
            [("link.rate_mb_s", "10"), ("firmware.zero_latency", "false"), ("link.buffer_full_percent", percent)]
        };
        let case = "random reads, 64 KiB, depth 1";
        let time = |percent| 1e3 / expected("barracuda-7200.7-ncq", &set(percent), case).low;
        near(time("0"), 0.16 + 8.5 + 4.167 + 0.01 + 6.554, 0.01);
        near(time("100") - time("0"), 1.2, 0.15);
    }

    #[test]
    fn revolutions_by_hand() {
        near(expected("barracuda-7200.7", &[], "overwrite and flush, 4 KiB").low, 120.0, 0.0001);
        // Eight of 1109 sectors and a revolution: 8.393 ms.
        near(
            expected("barracuda-7200.7-ncq", &[], "sequential uncached writes, 4 KiB, depth 1").low,
            1e3 / 8.393,
            0.002,
        );
    }

    #[test]
    fn the_nearest_of_many_by_hand() {
        // If no movement takes time, the soonest of n places is a revolution over n + 1 away.
        let still = [
            ("mechanics.seek.form", "lee"),
            ("mechanics.seek.single_ms", "0"),
            ("mechanics.seek.average_ms", "0"),
            ("mechanics.seek.full_ms", "0"),
            ("mechanics.head_switch_ms", "0"),
            ("link.rate_mb_s", "100000"),
            ("overhead.read_miss_ms", "0"),
        ];
        // Eight of 1109 sectors: 0.060 ms.
        for (depth, case) in [(2.0, "random reads, 4 KiB, depth 2"), (32.0, "random reads, 4 KiB, depth 32")] {
            let most = expected("barracuda-7200.7-ncq", &still, case).high;
            near(most, 1e3 / (8.333 / (depth + 1.0) + 0.060), 0.02);
        }
    }

    #[test]
    fn no_expectation_is_empty_and_every_law_is_used() {
        let mut used = Vec::new();
        for name in crate::catalogue::names() {
            let drive = load_drive(name).unwrap();
            let reading = ReadingCache::default();
            let profile = drive.build_profile(&reading).unwrap();
            for case in applicable_cases(&drive, &profile, &reading) {
                let expected = CaseFigures::new(&profile, case).expected_rate();
                let sound = 0.0 < expected.low && expected.low <= expected.high && expected.high.is_finite();
                assert!(sound, "{name}, {}: {expected:?}", case.name);
                used.push(expected.law);
            }
        }
        assert!(RateLaw::ALL.iter().all(|law| used.contains(law)));
    }
}
