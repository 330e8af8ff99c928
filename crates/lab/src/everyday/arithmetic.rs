//! The expected rate of an everyday case, calculated from the drive's profile as one would by hand. Nothing is simulated here, and nothing is
//! assumed about the model's firmware: only that the arm, the platter, the electronics and the link take the times of the profile.
//!
//! Each kind of work has its rule, a [`RateLaw`]; [`RateLaw::words`] states it. Times are in seconds, rates in requests a second unless
//! named otherwise, angles in shares of a revolution.

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

/// The rule by which an expected rate is calculated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateLaw {
    /// A stream, as fast as the slower of the medium and the commands.
    Stream,
    /// A stream whose commands are slower than the medium, and use up within a revolution the data that was read ahead.
    ShortSegment,
    /// A stream of reads each longer than a track, on a drive that begins anywhere in a track.
    LongReads,
    /// One random request at a time: positioning, then the data.
    Access,
    /// Several random requests outstanding.
    Queue,
    /// Random writes that wait in the buffer.
    Destage,
    /// Sequential writes without a cache, each a revolution after the one before.
    Behind,
    /// Writes of a part of a sector: read, a revolution, write.
    Part,
    /// Rewrites of the same sectors, each with a flush.
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

    /// The largest difference that still counts as expected, as a share of the expected rate.
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

/// Number of sampled blocks where all pairs of them are considered.
const SAMPLE_LBAS: u64 = 400;

/// Number of angles at which the arm is assumed to reach a track.
const ANGLES: u32 = 16;

/// Number of sampled blocks where the nearest of many is chosen.
const CHOICE_SAMPLES: u64 = 65_536;

/// The step of the sum over waiting times, in seconds.
const WAIT_STEP_S: f64 = 5e-6;

fn to_seconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e9
}

/// An angle of the model, 2^64 once around, as a share of a revolution.
fn to_revolutions(angle: u64) -> f64 {
    angle as f64 / 2f64.powi(64)
}

/// The rotation from one angle to another, in revolutions; zero if they differ only by rounding.
fn rotation_ahead(from_angle: f64, to_angle: f64) -> f64 {
    const ROUNDING: f64 = 1e-9;
    let ahead = (to_angle - from_angle).rem_euclid(1.0);
    if ahead > 1.0 - ROUNDING { 0.0 } else { ahead }
}

/// So many blocks, spread evenly from `first` to before `end`; the golden section keeps them out of step with tracks.
fn sample_lbas(first: u64, end: u64, count: u64) -> impl Iterator<Item = u64> {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let width = (end - first) as f64 / count as f64;
    (0..count)
        .map(move |i| first + ((i as f64 + (i as f64 * GOLDEN).fract()) * width) as u64)
        .map(move |lba| lba.min(end - 1))
}

/// A drive's profile and the case whose rate is calculated.
pub(crate) struct CaseFigures<'a> {
    profile: &'a Profile,
    case: EverydayCase,
    /// The first block in use.
    first: u64,
    /// The block after the last in use.
    end: u64,
}

/// The pass of the head over a request, from the arm's arrival at its first track.
struct RequestPass {
    /// When all of the request has passed.
    end_s: f64,
    /// When enough has passed, from the first sector on, for the link to begin.
    link_start_s: f64,
    /// The arm's place at the end.
    arm: Arm,
    /// The platter's angle at the end.
    angle: f64,
}

impl<'a> CaseFigures<'a> {
    /// The figures of `profile` for `case`.
    pub fn new(profile: &'a Profile, case: EverydayCase) -> CaseFigures<'a> {
        let (first, end) = case.first_and_end_lba(profile);
        CaseFigures { profile, case, first, end }
    }

    /// The expected rate, by the law of this kind of work.
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
                exact_rate(1.0 / self.mean_access_s(), RateLaw::Access)
            }
            (CasePattern::Random, _) => self.queued_rate(),
        }
    }

    /// The time to fill the buffer of a drive that accepts writes faster than it destages them; zero without cached writes.
    pub(crate) fn buffer_fill_s(&self) -> f64 {
        if self.case.op != CaseOp::Cached {
            return 0.0;
        }
        let accepted_per_s = self.command_bytes() / self.buffered_command_s();
        let destaged_per_s = match self.case.pattern {
            CasePattern::Sequential => self.medium_bytes_per_s(),
            _ => 0.0,
        };
        // Slower commands too fill the buffer of a drive that has no reason yet to destage.
        let filled_per_s = if accepted_per_s > destaged_per_s {
            (accepted_per_s - destaged_per_s).max(accepted_per_s / 10.0)
        } else {
            accepted_per_s
        };
        self.dirty_limit_bytes() / filled_per_s
    }

    fn is_write(&self) -> bool {
        self.case.op != CaseOp::Read
    }

    fn is_partial_sector(&self) -> bool {
        self.case.bytes < u64::from(self.profile.physical_sector)
    }

    /// Number of commands that a request takes, since a command's size is limited.
    fn commands_per_request(&self) -> f64 {
        (self.case.bytes as f64 / self.command_bytes()).ceil()
    }

    /// Bytes of a command.
    fn command_bytes(&self) -> f64 {
        (self.case.bytes as f64).min(f64::from(self.profile.link.max_transfer) * SECTOR as f64)
    }

    /// Number of requests that the drive holds at once: one if it has no queue.
    fn effective_depth(&self) -> u32 {
        let queues = self.profile.link.queuing != Queuing::None;
        if queues { self.case.depth.min(self.profile.firmware.depth) } else { 1 }
    }

    fn revolution_s(&self) -> f64 {
        to_seconds(self.profile.mechanics.revolution())
    }

    /// Bytes of the buffer that may be dirty.
    fn dirty_limit_bytes(&self) -> f64 {
        let cache = &self.profile.cache;
        match cache.adaptive {
            Some(adaptive) => f64::from(adaptive.sectors) * f64::from(adaptive.dirty_percent) / 100.0 * SECTOR as f64,
            None => f64::from(cache.dirty_segments) * f64::from(cache.segment_sectors) * SECTOR as f64,
        }
    }

    /// The time of the electronics for a command: the command over the link, and its overhead.
    fn electronics_s(&self, cached: bool) -> f64 {
        let overhead = &self.profile.overhead;
        let after_same_op = |after: OverheadAfter| to_seconds(if self.is_write() { after.write } else { after.read });
        let overhead_s = match (self.is_write(), cached) {
            (false, true) => after_same_op(overhead.read_hit),
            (false, false) => after_same_op(overhead.read_miss),
            (true, true) => after_same_op(overhead.write_hit),
            (true, false) => after_same_op(overhead.write_miss),
        };
        to_seconds(self.profile.link.command) + overhead_s
    }

    /// The time of a command's data on the link.
    fn link_s(&self) -> f64 {
        let link = &self.profile.link;
        self.command_bytes() / if self.is_write() { link.write_rate } else { link.rate } as f64
    }

    fn completion_s(&self) -> f64 {
        let overhead = &self.profile.overhead;
        to_seconds(if self.is_write() { overhead.write_completion } else { overhead.completion })
    }

    /// The time of a command that the buffer serves, with nothing else going on.
    fn buffered_command_s(&self) -> f64 {
        self.electronics_s(true) + self.link_s() + self.completion_s()
    }

    /// Bytes a second of the medium.
    fn medium_bytes_per_s(&self) -> f64 {
        sustained_mb_s(self.profile, self.first, self.end, self.is_write()) * 1e6
    }

    /// The rate of a stream, by one of the three laws for streams.
    fn stream_rate(&self) -> ExpectedRate {
        let request_bytes = self.case.bytes as f64;
        let one_by_one = self.command_bytes() / self.buffered_command_s();
        let overlapped = self.command_bytes() / self.electronics_s(true).max(self.link_s());
        let medium = self.medium_bytes_per_s();
        let (commands_low, commands_high) = match (self.effective_depth(), self.profile.link.queuing) {
            (1, _) => (one_by_one, one_by_one),
            // Commands share the bus with data, and may or may not be decoded meanwhile.
            (_, Queuing::Tcq) => (one_by_one, overlapped),
            _ => (overlapped, overlapped),
        };
        let (lead_bytes, revolution_s) = (self.buffer_lead_bytes(), self.revolution_s());
        let (low, high) = (commands_low.min(medium) / request_bytes, commands_high.min(medium) / request_bytes);
        let track = self.profile.geometry.extent(self.first, u32::MAX);
        let track_bytes = f64::from(track.sectors) * SECTOR as f64;
        // The wait of a drive that stops at a track's end includes the switch to the next.
        let resume_s = (track_bytes / medium).max(revolution_s);
        if commands_low < medium && lead_bytes < commands_low * resume_s {
            let gained_bytes =
                if lead_bytes < commands_low * revolution_s { track_bytes - commands_low * revolution_s } else { 0.0 };
            let usable_bytes = lead_bytes - gained_bytes.clamp(0.0, lead_bytes / 2.0);
            let filled_bytes_per_s = medium * usable_bytes / (usable_bytes + resume_s * (medium - commands_low));
            return ExpectedRate { low: filled_bytes_per_s / request_bytes, high, law: RateLaw::ShortSegment };
        }
        if self.begins_anywhere() && self.command_bytes() > f64::from(track.sectors) * SECTOR as f64 {
            let high = commands_high.min(self.whole_track_bytes_per_s()) / request_bytes;
            return ExpectedRate { low, high, law: RateLaw::LongReads };
        }
        ExpectedRate { low, high, law: RateLaw::Stream }
    }

    /// Bytes by which the medium may be ahead of a stream of reads, or behind one of writes.
    fn buffer_lead_bytes(&self) -> f64 {
        let cache = &self.profile.cache;
        let space_sectors = cache.adaptive.map_or(cache.segment_sectors, |adaptive| adaptive.sectors);
        match self.case.op {
            CaseOp::Read => f64::from(space_sectors.min(cache.read_ahead.max)) * SECTOR as f64,
            _ => self.dirty_limit_bytes(),
        }
    }

    /// True if a read may begin with whichever wanted sector of a track comes first.
    fn begins_anywhere(&self) -> bool {
        self.profile.firmware.zero_latency && !self.is_write()
    }

    /// Bytes a second of reads of whole tracks, each begun wherever the head reaches it.
    fn whole_track_bytes_per_s(&self) -> f64 {
        let track = self.profile.geometry.extent(self.first, u32::MAX);
        let next = self.profile.geometry.extent(track.end(), u32::MAX);
        let arm = Arm { cylinder: track.cylinder, head: track.head };
        let movement_s = self.arm_movement_s(arm, next.cylinder, next.head, false);
        next.sectors as f64 * SECTOR as f64 / (self.revolution_s() + movement_s)
    }

    /// The pass over a request; the arm reached the first track when the platter was at `angle`.
    fn pass_over_request(&self, lba: u64, sectors: u32, angle: f64) -> RequestPass {
        let geometry = &self.profile.geometry;
        // Commands after the first find the platter where the first left it.
        let first_command_end = lba + (self.command_bytes() as u64 / SECTOR);
        let revolution_s = self.revolution_s();
        let mut passage = RequestPass { end_s: 0.0, link_start_s: 0.0, arm: Arm::default(), angle };
        let (mut next_lba, mut sectors_left) = (lba, sectors);
        let mut lead_sectors =
            (sectors.min((first_command_end - lba) as u32) * self.profile.link.buffer_full / 100).max(1);
        while sectors_left > 0 {
            let limit = if next_lba < first_command_end {
                (first_command_end - next_lba).min(u64::from(sectors_left)) as u32
            } else {
                sectors_left
            };
            let track = geometry.extent(next_lba, limit);
            if next_lba > lba && (passage.arm.cylinder, passage.arm.head) != track.cylinder_and_head() {
                let movement_s = self.arm_movement_s(passage.arm, track.cylinder, track.head, self.is_write());
                passage.end_s += movement_s;
                passage.angle += movement_s / revolution_s;
            }
            let (ahead, arc) =
                (rotation_ahead(passage.angle, to_revolutions(track.angle)), to_revolutions(track.covered_angle()));
            // A head that arrives in the middle of the wanted sectors reads the rest, and then the missed part when it comes round.
            let may_begin_anywhere = self.begins_anywhere() && next_lba < first_command_end;
            let turned = if may_begin_anywhere && ahead > 1.0 - arc { 1.0 } else { ahead + arc };
            if lead_sectors > 0 {
                let lead_passed = lead_sectors.min(track.sectors);
                passage.link_start_s = passage.end_s
                    + (ahead + to_revolutions(track.slot) * f64::from(lead_passed)).min(turned) * revolution_s;
                lead_sectors -= lead_passed;
            }
            passage.end_s += turned * revolution_s;
            passage.angle += turned;
            passage.arm = Arm { cylinder: track.cylinder, head: track.head };
            next_lba += u64::from(track.sectors);
            sectors_left -= track.sectors;
        }
        passage
    }

    /// The time of a seek or head switch, and of settling for a write.
    fn arm_movement_s(&self, from: Arm, cylinder: u32, head: u8, write: bool) -> f64 {
        let mechanics = &self.profile.mechanics;
        let seek = mechanics.movement_time(from, cylinder, head, write);
        to_seconds(seek) + if write { to_seconds(mechanics.extra_write_time(seek)) } else { 0.0 }
    }

    /// The mean movement between two random blocks in use.
    fn mean_movement_s(&self, write: bool) -> f64 {
        let arms: Vec<Arm> = self.sample_arms(SAMPLE_LBAS).collect();
        let all = arms.iter().flat_map(|from| arms.iter().map(move |to| (*from, to)));
        let sum: f64 = all.map(|(from, to)| self.arm_movement_s(from, to.cylinder, to.head, write)).sum();
        sum / (arms.len() * arms.len()) as f64
    }

    /// The arm's places at so many blocks, spread evenly over those in use.
    fn sample_arms(&self, count: u64) -> impl Iterator<Item = Arm> + '_ {
        sample_lbas(self.first, self.end, count).map(|lba| {
            let extent = self.profile.geometry.extent(lba, 1);
            Arm { cylinder: extent.cylinder, head: extent.head }
        })
    }

    /// The mean over blocks and angles of a time that `seconds` takes from the pass over a request of so many sectors.
    fn mean_pass_s(&self, sectors: u32, seconds: impl Fn(&RequestPass) -> f64) -> f64 {
        let unit = u64::from(self.profile.physical_sector) / SECTOR;
        let last = (self.end - u64::from(sectors)).max(self.first + 1);
        let mean_at = |lba: u64| {
            let angles = (0..ANGLES).map(|i| (f64::from(i) + 0.5) / f64::from(ANGLES));
            // The angles are spread evenly from the request's first sector on, wherever that lies.
            let begin = to_revolutions(self.profile.geometry.extent(lba, 1).angle);
            angles.map(|angle| seconds(&self.pass_over_request(lba, sectors, begin + angle))).sum::<f64>()
                / f64::from(ANGLES)
        };
        sample_lbas(self.first, last, SAMPLE_LBAS).map(|lba| mean_at(lba / unit * unit)).sum::<f64>()
            / SAMPLE_LBAS as f64
    }

    /// The mean time of random accesses, one at a time, from one completion to the next.
    fn mean_access_s(&self) -> f64 {
        let sectors = (self.case.bytes / SECTOR) as u32;
        let (command_s, completion_s) = (self.electronics_s(false), self.completion_s());
        let (reselect_s, dispatch_s) =
            (to_seconds(self.profile.overhead.reselect), to_seconds(self.profile.firmware.dispatch));
        let sector_s = self.link_s() * SECTOR as f64 / self.command_bytes();
        let later_commands_s = (self.commands_per_request() - 1.0) * (self.electronics_s(true) + completion_s);
        let link_s = self.commands_per_request() * self.link_s() + later_commands_s;
        let write = self.is_write();
        self.mean_movement_s(write)
            + self.mean_pass_s(sectors, |passage| {
                let done_s = match write {
                    true => passage.end_s + reselect_s,
                    false => (passage.end_s + sector_s).max(passage.link_start_s + reselect_s + link_s),
                };
                (done_s + completion_s + command_s).max(passage.end_s + dispatch_s)
            })
    }

    /// The rate of random writes of a part of a sector, which the drive reads, waits a revolution for, and writes.
    fn partial_write_rate(&self) -> f64 {
        let sectors = (self.profile.physical_sector / SECTOR as u32).max(1);
        let pass_s = self.mean_pass_s(sectors, |passage| passage.end_s);
        let command_s = self.electronics_s(false) + self.completion_s();
        1.0 / (command_s + self.mean_movement_s(false) + pass_s + self.revolution_s())
    }

    /// The highest rate of a drive that chooses each request among `choice_count` random blocks: the soonest if it knows the angle,
    /// otherwise the one with the shortest movement.
    fn best_choice_rate(&self, choice_count: f64, knows_angle: bool) -> f64 {
        let write = self.is_write();
        let revolution_s = self.revolution_s();
        // Distances from the middle block are the shortest.
        let middle = self.profile.geometry.extent(self.first + (self.end - self.first) / 2, 1);
        let from = Arm { cylinder: middle.cylinder, head: middle.head };
        let mut movements_s: Vec<f64> =
            self.sample_arms(CHOICE_SAMPLES).map(|to| self.arm_movement_s(from, to.cylinder, to.head, write)).collect();
        movements_s.sort_by(f64::total_cmp);
        let transfer_s = self.case.bytes as f64 / self.fastest_bytes_per_s();
        let longest_s = movements_s.last().copied().unwrap_or(0.0) + if knows_angle { revolution_s } else { 0.0 };
        let steps = (longest_s / WAIT_STEP_S).ceil() as usize;
        // The share of blocks that the arm has reached by each step. A block then passes the head at a time uniform over the next revolution, so
        // the share that has passed is the mean of these shares over the last revolution.
        let reached_shares: Vec<f64> = (0..=steps)
            .map(|step| {
                movements_s.partition_point(|&time| time <= step as f64 * WAIT_STEP_S) as f64 / movements_s.len() as f64
            })
            .collect();
        let revolution_steps = (revolution_s / WAIT_STEP_S).round() as usize;
        let (mut soonest_s, mut sum_of_shares) = (0.0, 0.0);
        for step in 0..=steps {
            sum_of_shares += reached_shares[step]
                - if step >= revolution_steps { reached_shares[step - revolution_steps] } else { 0.0 };
            let share =
                if knows_angle { (sum_of_shares / revolution_steps as f64).min(1.0) } else { reached_shares[step] };
            soonest_s += (1.0 - share).powf(choice_count) * WAIT_STEP_S;
        }
        1.0 / (soonest_s + transfer_s + if knows_angle { 0.0 } else { revolution_s / 2.0 })
    }

    /// Bytes a second on the tracks with the most sectors, without a change of track.
    fn fastest_bytes_per_s(&self) -> f64 {
        let spans = self.profile.geometry.zone_block_bounds().filter(|span| span.0 < span.1);
        let slot = |(first, _): (u64, u64)| to_revolutions(self.profile.geometry.extent(first, 1).slot);
        SECTOR as f64 / (spans.map(slot).fold(1.0, f64::min) * self.revolution_s())
    }

    /// The rates between which a queue of random requests lies: without any choice, and with the best.
    fn queued_rate(&self) -> ExpectedRate {
        let command_rate = 1.0 / self.electronics_s(false).max(self.link_s());
        let choice_rate = self
            .best_choice_rate(f64::from(self.effective_depth()), self.profile.firmware.queue.policy == Policy::Sptf);
        ExpectedRate { low: 1.0 / self.mean_access_s(), high: choice_rate.min(command_rate), law: RateLaw::Queue }
    }

    /// The rates between which cached random writes lie: destaged in order of arrival, and with the best choice.
    fn destage_rate(&self) -> ExpectedRate {
        let uncached_case = EverydayCase { op: CaseOp::Uncached, depth: 1, ..self.case };
        let low = 1.0 / CaseFigures { case: uncached_case, ..*self }.mean_access_s();
        let waiting_writes = (self.dirty_limit_bytes() / self.case.bytes as f64).max(1.0);
        let block_count = ((self.end - self.first) * SECTOR) as f64 / self.case.bytes as f64;
        // A new write's block and its two neighbours may be dirty already; then it costs no access of its own.
        let spared_share = (3.0 * waiting_writes / block_count).min(0.99);
        let choice_rate = self.best_choice_rate(waiting_writes, self.profile.firmware.destage.policy == Policy::Sptf)
            / (1.0 - spared_share);
        let command_rate = match self.effective_depth() {
            1 => 1.0 / self.buffered_command_s(),
            _ => 1.0 / self.electronics_s(true).max(self.link_s()),
        };
        // A media cache writes them one after another, so only the commands bound the rate.
        let high = if self.profile.cache.media_cache.is_some() { command_rate } else { choice_rate.min(command_rate) };
        ExpectedRate { low: low.min(high), high, law: RateLaw::Destage }
    }

    /// The mean rate of some thousand consecutive uncached writes.
    fn uncached_write_rate(&self) -> f64 {
        const WRITES: u64 = 4_000;
        let sectors = (self.case.bytes / SECTOR) as u32;
        let overheads_s = self.electronics_s(false)
            + self.completion_s()
            + to_seconds(self.profile.overhead.reselect)
            + to_seconds(self.profile.mechanics.extra_write_time(Span::ZERO));
        let busy_s = overheads_s.max(to_seconds(self.profile.firmware.dispatch));
        let mut arm: Option<Arm> = None;
        let (mut total_s, mut angle) = (0.0, 0.0);
        for write in 0..WRITES {
            let lba = self.first + write * u64::from(sectors);
            let track = self.profile.geometry.extent(lba, 1);
            let movement_s = arm.map_or(0.0, |arm| match (arm.cylinder, arm.head) == track.cylinder_and_head() {
                true => 0.0,
                false => self.arm_movement_s(arm, track.cylinder, track.head, true),
            });
            angle += (busy_s + movement_s) / self.revolution_s();
            let passage = self.pass_over_request(lba, sectors, angle);
            total_s += busy_s + movement_s + passage.end_s;
            (angle, arm) = (passage.angle, Some(passage.arm));
        }
        WRITES as f64 / total_s
    }

    /// The rate of rewrites of the same sectors, each with a flush.
    fn rewrite_rate(&self) -> f64 {
        let flush_s = to_seconds(self.profile.link.command) + to_seconds(self.profile.overhead.flush);
        let transfer_s = self.case.bytes as f64 / self.medium_bytes_per_s();
        let settle_s = to_seconds(self.profile.mechanics.extra_write_time(Span::ZERO));
        let busy_s = self.buffered_command_s() + flush_s + settle_s + transfer_s;
        1.0 / (self.revolution_s() * (busy_s / self.revolution_s()).ceil())
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
        let samples = |first: u64, end: u64, count: u64| sample_lbas(first, end, count).collect::<Vec<_>>();
        // As many as there are blocks are all of them; fewer lie in parts of equal width, at 0 and 0.618 of it.
        assert_eq!(samples(10, 14, 4), [10, 11, 12, 13]);
        assert_eq!([samples(0, 8, 1), samples(0, 8, 2)], [vec![0], vec![0, 6]]);
        // Three of two blocks lie at 0, 1.618 and 2.236 thirds of them.
        assert_eq!(samples(5, 7, 3), [5, 6, 6]);
        assert_eq!(samples(7, 8, 3), [7; 3]);
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
