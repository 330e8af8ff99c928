//! Timing of the arm and the platter: seek, settle, rotation, transfer. A [`Mechanics`] is a value without state; the
//! caller knows where the arm is.
//!
//! # Time and angle
//! An angle is a share of a revolution in 64 bits ([`geometry`](super::geometry)). The platter's angle at the time t is
//! `phase + t · rate` in wrapping 64-bit arithmetic, with `rate = round(2^64 · rpm / 60e9)` per nanosecond: it wraps exactly
//! and drifts less than 10^-12 of a revolution in each. Spans are rounded **down** to whole nanoseconds, so a wait ends at
//! most 1 ns before its sector. A head that is past a sector by no more than `CATCH_TOLERANCE` still reads it, so that
//! rounding never costs a revolution.
//!
//! # Seek
//! A table holds the time of a read seek for each distance in cylinders, until the arm has settled. Writing has its own table
//! if one was measured, and adds `write_settle` after a seek or a head switch. A head switch alone costs `head_switch`;
//! together with a seek the longer of the two counts, since they overlap (the access-time rule of DiskSim's mechanical model).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::geometry::Extent;
use crate::time::{Instant, Span};

/// A head that is past a sector's start by no more than this still reads it. Two roundings of at most 1 ns each meet at
/// a sector boundary; the gap between real sectors is some hundred nanoseconds, so 2 ns stays inside it.
pub(crate) const CATCH_TOLERANCE: Span = Span::from_nanos(2);

/// Error in a seek curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekError {
    /// No points, or the points' distances do not rise from 1.
    Points,
    /// A formula's times do not rise (single ≤ average ≤ full), or it goes below zero.
    Times,
    /// The speed is zero.
    Speed,
}

/// Seek times in nanoseconds by distance in cylinders; entry 0 is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeekCurve(Arc<[u32]>);

/// Hashes the times at powers of two and at the longest distance: a curve has hundreds of thousands of times.
impl Hash for SeekCurve {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let doubled = (0..u32::BITS).map_while(|bit| self.0.get(1 << bit));
        doubled.chain(self.0.last()).for_each(|time| time.hash(state));
        self.0.len().hash(state);
    }
}

impl SeekCurve {
    /// Interpolates measured points `(distance, time)`, rising from distance 1, by straight lines; the last two points
    /// are extended to the longest distance.
    pub fn from_points(points: &[(u32, Span)], cylinders: u32) -> Result<SeekCurve, SeekError> {
        let rising = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if points.is_empty() || points[0].0 != 1 || !rising {
            return Err(SeekError::Points);
        }
        let mut segment = 0usize;
        let times = (1..cylinders.max(1)).map(|distance| {
            while segment + 2 < points.len() && points[segment + 1].0 <= distance {
                segment += 1;
            }
            let (d0, t0) = points[segment];
            let (d1, t1) = points[(segment + 1).min(points.len() - 1)];
            interpolate(distance, (d0, t0.nanos()), (d1, t1.nanos()))
        });
        Ok(SeekCurve(core::iter::once(0).chain(times).collect()))
    }

    /// `a + b·√d + c·d` through the datasheet's three figures, after Lee: single track `min`, average over all pairs of
    /// cylinders `avg`, and full stroke `max`. DiskSim manual 4.0, section on seek models: `a = (-10 min + 15 avg - 5
    /// max) / (3 √C)`, `b = (7 min - 15 avg + 8 max) / (3 C)`, `t = a √(d-1) + b (d-1) + min`.
    pub fn lee(min: Span, avg: Span, max: Span, cylinders: u32) -> Result<SeekCurve, SeekError> {
        if min > avg || avg > max {
            return Err(SeekError::Times);
        }
        let (lo, mid, hi) = (min.nanos() as i128, avg.nanos() as i128, max.nanos() as i128);
        let c = i128::from(cylinders.max(2));
        let root_c = root_q16(cylinders.max(2));
        Self::from_formula(cylinders, |distance| {
            let d = distance - 1;
            let by_root = (-10 * lo + 15 * mid - 5 * hi) * root_q16(d) / (3 * root_c);
            let by_distance = (7 * lo - 15 * mid + 8 * hi) * i128::from(d) / (3 * c);
            lo + by_root + by_distance
        })
    }

    /// The datasheet's three figures joined by two pieces: a root from the single-track to the average time (taken at
    /// a third of the cylinders), a straight line from there to the full stroke.
    pub fn three_point(single: Span, avg: Span, full: Span, cylinders: u32) -> Result<SeekCurve, SeekError> {
        if single > avg || avg > full {
            return Err(SeekError::Times);
        }
        let (one, mid, max) = (single.nanos() as i128, avg.nanos() as i128, full.nanos() as i128);
        let last = i128::from(cylinders.max(4)) - 1;
        let third = (cylinders.max(4) / 3).max(2);
        let root_span = root_q16(third) - root_q16(1);
        Self::from_formula(cylinders, |distance| {
            if distance <= third {
                one + (mid - one) * (root_q16(distance) - root_q16(1)) / root_span
            } else {
                mid + (max - mid) * i128::from(distance - third) / (last - i128::from(third)).max(1)
            }
        })
    }

    /// Ruemmler and Wilkes's two parts, each as (constant, slope in nanoseconds): constant plus slope times `√d` below
    /// `long_from` cylinders, constant plus slope times `d` from there. A seek of one cylinder takes `single`, if
    /// given.
    pub fn ruemmler_wilkes(
        single: Option<Span>,
        short: (Span, u64),
        long_from: u32,
        long: (Span, u64),
        cylinders: u32,
    ) -> Result<SeekCurve, SeekError> {
        Self::from_formula(cylinders, |distance| match single {
            Some(time) if distance == 1 => i128::from(time.nanos()),
            _ if distance < long_from => {
                i128::from(short.0.nanos()) + ((i128::from(short.1) * root_q16(distance)) >> 16)
            }
            _ => i128::from(long.0.nanos()) + i128::from(long.1) * i128::from(distance),
        })
    }

    /// `time_ns` gives the nanoseconds of each distance.
    fn from_formula(cylinders: u32, time_ns: impl Fn(u32) -> i128) -> Result<SeekCurve, SeekError> {
        let mut times: Vec<u32> = Vec::with_capacity(cylinders.max(1) as usize);
        times.push(0);
        for distance in 1..cylinders {
            times.push(u32::try_from(time_ns(distance)).map_err(|_| SeekError::Times)?);
        }
        Ok(SeekCurve(times.into()))
    }

    /// The time of a read seek over `distance` cylinders; beyond the table's end, its last entry.
    #[inline(always)]
    pub fn seek_time(&self, distance: u32) -> Span {
        SeekTimes::new(&self.0).time_at(distance)
    }

    /// Returns the curve with each time reduced by `reduction`, not below zero.
    pub fn shortened_by(&self, reduction: Span) -> SeekCurve {
        SeekCurve(self.0.iter().map(|&time| (u64::from(time).saturating_sub(reduction.nanos())) as u32).collect())
    }

    /// The mean over two independent, uniformly drawn cylinders, equal ones left out: the datasheet's "average seek"
    /// as IBM's manuals define it, each distance d weighted by the number of pairs that far apart.
    pub fn mean_time(&self) -> Span {
        let cylinders = self.0.len() as u128;
        let weighted = self.0.iter().enumerate().skip(1).map(|(d, &t)| u128::from(t) * (cylinders - d as u128));
        let pairs = cylinders * (cylinders - 1) / 2;
        Span::from_nanos((weighted.sum::<u128>() / pairs.max(1)) as u64)
    }
}

/// Nanoseconds at `distance` on the line through two points (distance, nanoseconds).
fn interpolate(distance: u32, (d0, t0): (u32, u64), (d1, t1): (u32, u64)) -> u32 {
    if d1 == d0 {
        return t0 as u32;
    }
    let (d0, t0, d1, t1) = (i128::from(d0), i128::from(t0), i128::from(d1), i128::from(t1));
    (t0 + (t1 - t0) * (i128::from(distance) - d0) / (d1 - d0)).clamp(0, i128::from(u32::MAX)) as u32
}

/// The square root of `n`, with sixteen binary places.
fn root_q16(n: u32) -> i128 {
    i128::from((u64::from(n) << 32).isqrt())
}

/// Arm and spindle. Copies share its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mechanics {
    seek: SeekCurve,
    /// Seek curve of writes, if it differs.
    write_seek: Option<SeekCurve>,
    /// Movement plus settling of a write on the same head in nanoseconds, by distance; `None` if writing takes the time
    /// of reading.
    write_movements: Option<Arc<[u32]>>,
    /// Lower bound in nanoseconds of all seeks, read or write, from each [`FLOOR_STEP`]-th distance on.
    floors: Arc<[u32]>,
    head_switch: Span,
    write_settle: Span,
    /// Positioning for a write takes at least this long.
    least_write: Span,
    /// Angle per nanosecond.
    rate: u64,
    /// Nanoseconds of a revolution, with 32 binary places.
    period_q32: u64,
    /// The platter's angle at time 0.
    phase: u64,
    /// The angle that passes in [`CATCH_TOLERANCE`].
    catch_angle: u64,
}

/// Number of distances that share a lower bound of seek times: few for a queue spread over thousands of cylinders, and
/// many enough for the table to stay in a processor's nearest cache.
const FLOOR_STEP: usize = 64;

/// Hashes all figures, except the phase and those derived from others.
impl Hash for Mechanics {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (
            &self.seek,
            &self.write_seek,
            self.head_switch,
            self.write_settle,
            self.least_write,
            self.rate,
            self.period_q32,
        )
            .hash(state);
    }
}

/// The least of `times` from each [`FLOOR_STEP`]-th distance on.
fn lower_bounds(times: &[u32]) -> Arc<[u32]> {
    let mut least = u32::MAX;
    let mut floors: Vec<u32> = Vec::with_capacity(times.len() / FLOOR_STEP + 1);
    for stretch in times.chunks(FLOOR_STEP).rev() {
        least = stretch.iter().fold(least, |least, &time| least.min(time));
        floors.push(least);
    }
    floors.reverse();
    floors.into()
}

/// Position of the arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm {
    pub cylinder: u32,
    /// The head in use.
    pub head: u8,
}

/// Costs of reaching other places from where the arm is at an instant, for a choice among many.
#[derive(Clone, Copy)]
pub(crate) struct PositioningCosts<'a> {
    /// Movement times of reads, and of writes.
    movement_times: [MovementTimes<'a>; 2],
    floors: &'a [u32],
    arm: Arm,
    start: Instant,
    rotation: PlatterRotation,
}

/// Costs of reads alone, whose data are never awaited: most choices are among reads, and these cost less to compute.
#[derive(Clone, Copy)]
pub(crate) struct ReadPositioningCosts<'a> {
    movement_times: MovementTimes<'a>,
    floors: &'a [u32],
    arm: Arm,
    rotation: PlatterRotation,
}

/// Rotation of the platter while the arm moves. Two figures are negated, so that a scan of many only multiplies and adds.
#[derive(Clone, Copy)]
struct PlatterRotation {
    /// Minus the angle, at the start, of the first place that is still caught.
    minus_caught_angle: u64,
    /// Minus the angle that passes in a nanosecond.
    minus_rate: u64,
    period_q32: u64,
    catch_angle: u64,
}

impl PlatterRotation {
    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        let minus_turned = movement.nanos().wrapping_mul(self.minus_rate);
        let beyond_caught = minus_turned.wrapping_add(angle).wrapping_add(self.minus_caught_angle);
        wait_for_angle(beyond_caught, self.period_q32, self.catch_angle)
    }
}

impl ReadPositioningCosts<'_> {
    /// Time of the movement to a track.
    #[inline(always)]
    pub fn movement_time(&self, cylinder: u32, head: u8) -> Span {
        self.movement_times.movement_time(self.arm, cylinder, head)
    }

    /// Lower bound of all movements over `cylinders` cylinders or more.
    #[inline(always)]
    pub(crate) fn least_movement_at_or_beyond(&self, cylinders: u64) -> Span {
        floor_at_or_beyond(self.floors, cylinders)
    }

    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        self.rotation.rotation_wait(movement, angle)
    }
}

/// Lower bound of all movements over `cylinders` cylinders or more.
#[inline(always)]
fn floor_at_or_beyond(floors: &[u32], cylinders: u64) -> Span {
    let floor = floors.get(cylinders as usize / FLOOR_STEP).or(floors.last());
    Span::from_nanos(floor.copied().unwrap_or(0).into())
}

/// Times of movements to a track, settling included.
#[derive(Clone, Copy)]
struct MovementTimes<'a> {
    times: SeekTimes<'a>,
    /// Minimum on the same head, and on another.
    least: [Span; 2],
}

impl MovementTimes<'_> {
    /// Time of the movement to a track. The minimum is looked up first, so that a scan keeps more in registers.
    #[inline(always)]
    fn movement_time(&self, arm: Arm, cylinder: u32, head: u8) -> Span {
        let least = self.least[usize::from(arm.head != head)];
        self.times.time_at(arm.cylinder.abs_diff(cylinder)).max(least)
    }
}

impl PositioningCosts<'_> {
    /// Instant at which the movement starts.
    #[inline(always)]
    pub(crate) fn start_instant(&self) -> Instant {
        self.start
    }

    /// Time of the movement to a track, settling included.
    #[inline(always)]
    pub fn movement_time(&self, cylinder: u32, head: u8, write: bool) -> Span {
        self.movement_times[usize::from(write)].movement_time(self.arm, cylinder, head)
    }

    /// Lower bound of all movements over `cylinders` cylinders or more.
    #[inline(always)]
    pub(crate) fn least_movement_at_or_beyond(&self, cylinders: u64) -> Span {
        floor_at_or_beyond(self.floors, cylinders)
    }

    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        self.rotation.rotation_wait(movement, angle)
    }

    /// Cost in nanoseconds of a place whose data are ready after `ready`: `cost_ns`, and as many revolutions as it
    /// takes until then.
    #[inline(always)]
    pub(crate) fn cost_until_ready(&self, cost_ns: u64, ready: Span) -> u64 {
        match ready.nanos().checked_sub(cost_ns) {
            None | Some(0) => cost_ns,
            Some(early_ns) => add_revolutions(cost_ns, early_ns, self.rotation.period_q32),
        }
    }
}

/// Adds as many revolutions as cover `early_ns`. Not inlined, because the data of most commands are ready.
#[cold]
#[inline(never)]
fn add_revolutions(cost_ns: u64, early_ns: u64, period_q32: u64) -> u64 {
    let revolution_ns = period_q32 >> 32;
    cost_ns + early_ns.div_ceil(revolution_ns) * revolution_ns
}

/// Seek times in nanoseconds, by distance.
#[derive(Clone, Copy)]
struct SeekTimes<'a> {
    table: &'a [u32],
    /// Last entry, for distances beyond the table's end. A field, because a call for it would cost a scan its registers.
    farthest: u32,
}

impl SeekTimes<'_> {
    fn new(table: &[u32]) -> SeekTimes<'_> {
        SeekTimes { table, farthest: table.last().copied().unwrap_or(0) }
    }

    /// Time of a distance.
    #[inline(always)]
    fn time_at(&self, distance: u32) -> Span {
        Span::from_nanos(u64::from(*self.table.get(distance as usize).unwrap_or(&self.farthest)))
    }
}

/// Time in which the platter turns by `angle`.
#[inline(always)]
fn time_of_angle(angle: u64, period_q32: u64) -> Span {
    Span::from_nanos(((u128::from(angle) * u128::from(period_q32)) >> 96) as u64)
}

/// Wait for a place that lies `beyond_caught` after the first angle that is still caught, which is `catch_angle` behind
/// the head. A place in between costs no wait.
#[inline(always)]
fn wait_for_angle(beyond_caught: u64, period_q32: u64, catch_angle: u64) -> Span {
    let (ahead_of_head, is_caught) = beyond_caught.overflowing_sub(catch_angle);
    time_of_angle(if is_caught { 0 } else { ahead_of_head }, period_q32)
}

/// Parts of positioning: the time before the first slot of an extent passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Positioning {
    /// Arm movement or head switch.
    pub seek: Span,
    /// Extra settling before a write.
    pub settle: Span,
    /// Wait for the slot.
    pub rotation: Span,
}

impl Positioning {
    /// Sum of the parts.
    pub fn total(&self) -> Span {
        self.seek + self.settle + self.rotation
    }
}

impl Mechanics {
    /// Returns a mechanism that turns `millirpm` thousandths of a revolution a minute.
    pub fn new(seek: SeekCurve, head_switch: Span, write_settle: Span, millirpm: u64) -> Result<Mechanics, SeekError> {
        if millirpm == 0 {
            return Err(SeekError::Speed);
        }
        // Thousandths of a revolution a minute that make one revolution a nanosecond.
        let one_per_ns = 60_000_000_000_000u128;
        let rate = (((u128::from(millirpm) << 64) + one_per_ns / 2) / one_per_ns) as u64;
        let period_q32 = ((one_per_ns << 32) / u128::from(millirpm)) as u64;
        let catch_angle = CATCH_TOLERANCE.nanos() * rate;
        let mechanics = Mechanics {
            floors: lower_bounds(&seek.0),
            seek,
            write_seek: None,
            write_movements: None,
            head_switch,
            write_settle,
            least_write: Span::ZERO,
            rate,
            period_q32,
            phase: 0,
            catch_angle,
        };
        Ok(mechanics.with_write_movements())
    }

    /// Builds the table of write movements anew.
    fn with_write_movements(mut self) -> Mechanics {
        let differs = self.write_seek.is_some() || self.write_settle.max(self.least_write) > Span::ZERO;
        self.write_movements = differs.then(|| {
            let seek = &self.write_seek.as_ref().unwrap_or(&self.seek).0;
            let movement_ns = |&time: &u32| self.write_movement(Span::from_nanos(time.into())).nanos();
            seek.iter().map(|time| u32::try_from(movement_ns(time)).unwrap_or(u32::MAX)).collect()
        });
        self
    }

    /// A movement of `seek`, and the extra time of a write. A longer movement never has a smaller sum, so the longer of
    /// two movements may be taken before or after adding.
    fn write_movement(&self, seek: Span) -> Span {
        seek + self.extra_write_time(seek)
    }

    /// True if both share one table of read seek times in memory.
    pub fn shares_tables(&self, other: &Mechanics) -> bool {
        Arc::ptr_eq(&self.seek.0, &other.seek.0)
    }

    /// Sets a seek curve for writes.
    pub fn with_write_seek(mut self, curve: SeekCurve) -> Mechanics {
        let write_floors = lower_bounds(&curve.0);
        let length = self.floors.len().max(write_floors.len());
        // Beyond the shorter table's end its last time continues.
        let floor = |table: &[u32], index: usize| table.get(index).or(table.last()).copied().unwrap_or(0);
        self.floors = (0..length).map(|index| floor(&self.floors, index).min(floor(&write_floors, index))).collect();
        self.write_seek = Some(curve);
        self.with_write_movements()
    }

    /// Sets the least time of positioning for a write, even on the same track.
    pub fn with_least_write(mut self, least: Span) -> Mechanics {
        self.least_write = least;
        self.with_write_movements()
    }

    /// Slows the platter by `ppm` millionths.
    pub(crate) fn slowed_by(mut self, ppm: u64) -> Mechanics {
        let scaled = |value: u64, millionths: u64| ((u128::from(value) * u128::from(millionths)) / 1_000_000) as u64;
        self.rate = scaled(self.rate, 1_000_000 - ppm);
        self.period_q32 = scaled(self.period_q32, 1_000_000 + ppm);
        self.catch_angle = CATCH_TOLERANCE.nanos() * self.rate;
        self
    }

    /// Turns the platter by `phase` at time 0.
    pub(crate) fn with_phase(mut self, phase: u64) -> Mechanics {
        self.phase = phase;
        self
    }

    /// The seek curve.
    pub fn seek(&self) -> &SeekCurve {
        &self.seek
    }

    /// Times of a head switch and of settling before a write.
    pub fn switch_and_settle(&self) -> (Span, Span) {
        (self.head_switch, self.write_settle)
    }

    /// Time of a revolution, rounded down.
    pub fn revolution(&self) -> Span {
        Span::from_nanos(self.period_q32 >> 32)
    }

    /// Time of `count` whole revolutions.
    pub fn revolutions(&self, count: u64) -> Span {
        Span::from_nanos(((u128::from(self.period_q32) * u128::from(count)) >> 32) as u64)
    }

    /// Angle of the platter at `at`.
    #[inline(always)]
    pub fn angle_at(&self, at: Instant) -> u64 {
        self.phase.wrapping_add(at.nanos().wrapping_mul(self.rate))
    }

    /// Time in which the platter turns by `angle`.
    #[inline(always)]
    pub fn turning_time(&self, angle: u64) -> Span {
        time_of_angle(angle, self.period_q32)
    }

    /// Angle that passes in `span`, which is shorter than a revolution.
    pub(crate) fn angle_passed_in(&self, span: Span) -> u64 {
        span.nanos().wrapping_mul(self.rate)
    }

    /// The first angle that is still caught at `at`: it is `catch_angle` behind the head.
    #[inline(always)]
    fn first_caught_angle(&self, at: Instant) -> u64 {
        self.angle_at(at).wrapping_sub(self.catch_angle)
    }

    /// Wait from `at` until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, at: Instant, angle: u64) -> Span {
        wait_for_angle(angle.wrapping_sub(self.first_caught_angle(at)), self.period_q32, self.catch_angle)
    }

    /// Rotation of the platter from `start` on.
    #[inline]
    fn rotation_from(&self, start: Instant) -> PlatterRotation {
        PlatterRotation {
            minus_caught_angle: self.first_caught_angle(start).wrapping_neg(),
            minus_rate: self.rate.wrapping_neg(),
            period_q32: self.period_q32,
            catch_angle: self.catch_angle,
        }
    }

    /// Costs of reaching other places, if the arm starts from `arm` at `start`.
    #[inline]
    pub(crate) fn positioning_costs(&self, arm: Arm, start: Instant) -> PositioningCosts<'_> {
        let write_movements = self.write_movements.as_ref().unwrap_or(&self.seek.0);
        let [same_head, other_head] = [Span::ZERO, self.head_switch];
        PositioningCosts {
            movement_times: [
                MovementTimes { times: SeekTimes::new(&self.seek.0), least: [same_head, other_head] },
                MovementTimes {
                    times: SeekTimes::new(write_movements),
                    least: [self.write_movement(same_head), self.write_movement(other_head)],
                },
            ],
            floors: &self.floors,
            arm,
            start,
            rotation: self.rotation_from(start),
        }
    }

    /// Costs of reading at other places, if the arm starts from `arm` at `start`.
    #[inline]
    pub(crate) fn read_positioning_costs(&self, arm: Arm, start: Instant) -> ReadPositioningCosts<'_> {
        ReadPositioningCosts {
            movement_times: MovementTimes {
                times: SeekTimes::new(&self.seek.0),
                least: [Span::ZERO, self.head_switch],
            },
            floors: &self.floors,
            arm,
            rotation: self.rotation_from(start),
        }
    }

    /// Time of the arm movement, or the head switch if longer, from `arm` to a track.
    #[inline(always)]
    pub fn movement_time(&self, arm: Arm, cylinder: u32, head: u8, write: bool) -> Span {
        let curve = match &self.write_seek {
            Some(curve) if write => curve,
            _ => &self.seek,
        };
        let seek = curve.seek_time(arm.cylinder.abs_diff(cylinder));
        seek.max(if arm.head == head { Span::ZERO } else { self.head_switch })
    }

    /// Extra time of a write after a movement of `seek`.
    #[inline]
    pub fn extra_write_time(&self, seek: Span) -> Span {
        let settle = if seek > Span::ZERO { self.write_settle } else { Span::ZERO };
        settle.max(self.least_write.saturating_sub(seek))
    }

    /// Parts of the time from `start` until the first slot of `extent` comes under the head.
    #[inline]
    pub fn positioning(&self, start: Instant, arm: Arm, extent: &Extent, write: bool) -> Positioning {
        let seek = self.movement_time(arm, extent.cylinder, extent.head, write);
        let settle = if write { self.extra_write_time(seek) } else { Span::ZERO };
        Positioning { seek, settle, rotation: self.rotation_wait(start + seek + settle, extent.angle) }
    }

    /// Time in which the extent passes.
    #[inline]
    pub fn transfer_time(&self, extent: &Extent) -> Span {
        self.turning_time(extent.covered_angle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_a_distance_on_takes_less_than_its_floor() {
        // Points for every distance: nothing is extended beyond the last two, which may fall.
        let points = |step: u64, cylinders: u32| -> Vec<(u32, Span)> {
            let time = |d: u32| Span::from_micros(500 + u64::from(d) * step + u64::from(d * 7919 % 97));
            (1..cylinders).map(|d| (d, time(d))).collect()
        };
        let read = SeekCurve::from_points(&points(3, 1000), 1000).expect("rising distances");
        let write = SeekCurve::from_points(&points(2, 300), 300).expect("rising distances");
        let mechanics = Mechanics::new(read.clone(), Span::ZERO, Span::ZERO, 7_200_000).expect("turns");
        let mechanics = mechanics.with_write_seek(write.clone());
        let reach = mechanics.positioning_costs(Arm::default(), Instant::ZERO);
        for distance in 0..1400 {
            let least = |from: u64| (from..1500).map(|d| read.seek_time(d as u32).min(write.seek_time(d as u32))).min();
            assert!(least(distance) >= Some(reach.least_movement_at_or_beyond(distance)), "{distance}");
            // The shorter table's last stretch goes on.
            let stretch = distance.min(299) / FLOOR_STEP as u64 * FLOOR_STEP as u64;
            assert_eq!(Some(reach.least_movement_at_or_beyond(distance)), least(stretch), "{distance}");
        }
        assert_eq!(reach.least_movement_at_or_beyond(u64::MAX), reach.least_movement_at_or_beyond(999));
    }

    #[test]
    fn a_choice_waits_for_the_platter_as_an_access_does() {
        let curve = SeekCurve::from_points(&[(1, Span::from_micros(400))], 50).expect("rises");
        let mechanics = Mechanics::new(curve, Span::ZERO, Span::ZERO, 7_200_000).expect("turns").with_phase(12_345);
        let catch = mechanics.catch_angle;
        assert!(catch > 1);
        for (ns, moved) in [(0, 0), (1, 400_000), (77_777_777, 8_333_333)] {
            let (at, moved) = (Instant::from_nanos(ns), Span::from_nanos(moved));
            let there = mechanics.angle_at(at + moved);
            let far = [0, 1, catch - 1, catch, catch + 1, 1 << 40, 1 << 63];
            for angle in far.iter().flat_map(|&by| [there.wrapping_add(by), there.wrapping_sub(by)]) {
                // By the definition: nothing for what was passed by no more than that, else the way to it.
                let behind = there.wrapping_sub(angle);
                let wait = if behind <= catch { Span::ZERO } else { mechanics.turning_time(angle.wrapping_sub(there)) };
                let arm = Arm::default();
                assert_eq!(mechanics.rotation_wait(at + moved, angle), wait, "{ns} {angle}");
                assert_eq!(mechanics.read_positioning_costs(arm, at).rotation_wait(moved, angle), wait, "{ns} {angle}");
                assert_eq!(mechanics.positioning_costs(arm, at).rotation_wait(moved, angle), wait, "{ns} {angle}");
            }
        }
    }

    #[test]
    fn a_choice_reckons_with_the_movement_and_settling_that_follow() {
        let curve =
            |us: u64| SeekCurve::from_points(&[(1, Span::from_micros(us)), (50, Span::from_micros(us + 900))], 50);
        let spans = [0, 700, 2000].map(Span::from_micros);
        let shapes = spans.iter().flat_map(|&switch| spans.iter().map(move |&settle| (switch, settle)));
        for ((switch, settle), least) in shapes.flat_map(|shape| spans.map(|least| (shape, least))) {
            let plain = Mechanics::new(curve(400).expect("rises"), switch, settle, 7_200_000).expect("turns");
            let plain = plain.with_least_write(least);
            let own = plain.clone().with_write_seek(curve(600).expect("rises"));
            for (mechanics, cylinder, head, write) in [plain, own].iter().flat_map(|mechanics| {
                let places = (0..60).flat_map(|cylinder| [(cylinder, 0), (cylinder, 1)]);
                places.flat_map(move |(cylinder, head)| [false, true].map(|write| (mechanics, cylinder, head, write)))
            }) {
                let arm = Arm { cylinder: 5, head: 0 };
                let seek = mechanics.movement_time(arm, cylinder, head, write);
                let settle = if write { mechanics.extra_write_time(seek) } else { Span::ZERO };
                let reach = mechanics.positioning_costs(arm, Instant::ZERO);
                assert_eq!(reach.movement_time(cylinder, head, write), seek + settle, "{cylinder} {head} {write}");
                let reading = mechanics.read_positioning_costs(arm, Instant::ZERO);
                assert!(write || reading.movement_time(cylinder, head) == seek, "{cylinder} {head}");
            }
        }
    }

    /// 7,200 rpm are 8,333,333 1/3 ns a revolution. From cylinder 5 on head 0: 400 us to the next cylinder and 900 us more over
    /// the next 49; 700 us for the other head; 250 us of settling.
    #[test]
    fn what_writing_adds_is_its_settle_after_a_movement_and_what_is_missing_of_the_least() {
        let points = [(1, Span::from_micros(400)), (50, Span::from_micros(1300))];
        let curve = SeekCurve::from_points(&points, 51).expect("rises");
        let plain = Mechanics::new(curve, Span::from_micros(700), Span::from_micros(250), 7_200_000).expect("turns");
        let least = plain.clone().with_least_write(Span::from_millis(1));
        // Cylinder, head; movement, settle, and settle where positioning takes a millisecond at least.
        let places = [
            (5, 0, 0, 0, 1_000_000),
            (5, 1, 700_000, 250_000, 300_000),
            (6, 0, 400_000, 250_000, 600_000),
            (4, 1, 700_000, 250_000, 300_000),
            (30, 0, 840_816, 250_000, 250_000),
            (55, 1, 1_300_000, 250_000, 250_000),
        ];
        let arm = Arm { cylinder: 5, head: 0 };
        for (cylinder, head, seek, settle, at_least) in places {
            for (mechanics, settle) in [(&plain, settle), (&least, at_least)] {
                let extent =
                    Extent { lba: 0, sectors: 1, cylinder, head, angle: 0, slot: 1 << 58, before: 0, behind: 63 };
                for begun in [0, 1_000_000, 7_700_000] {
                    let position = |write| mechanics.positioning(Instant::from_nanos(begun), arm, &extent, write);
                    let (read, written) = (position(false), position(true));
                    assert_eq!((read.seek.nanos(), read.settle.nanos()), (seek, 0), "{cylinder} {head}");
                    assert_eq!((written.seek.nanos(), written.settle.nanos()), (seek, settle), "{cylinder} {head}");
                    // The slot begins at whole revolutions: the first that the head is there for.
                    for (place, ready) in [(read, begun + seek), (written, begun + seek + settle)] {
                        let turns = ready.saturating_sub(2).div_ceil(8_333_333);
                        let passes = (turns * 25_000_000) / 3;
                        let found = begun + place.total().nanos();
                        assert!(found.abs_diff(passes) <= 2, "{cylinder} {head} {begun}: {found} for {passes}");
                    }
                }
            }
        }
    }
}
