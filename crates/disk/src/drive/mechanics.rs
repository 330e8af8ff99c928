//! Timing of the arm and the platter: seek, settle, rotation, transfer. No queue, no cache, no command.
//!
//! # Time and angle
//! The platter's angle is `phase + t · rate` in wrapping 64-bit arithmetic, `rate = round(2^64 · rpm / 60e9)` per
//! nanosecond: it wraps exactly and drifts less than 10^-12 a turn. Spans are rounded **down** to whole nanoseconds, so a
//! wait ends at most 1 ns before its sector; a head that is past a sector by no more than `CATCH` still reads it,
//! so that rounding never costs a revolution.
//!
//! # Seek
//! The table holds the time of a read seek for each distance in cylinders, arm settled. Writing has its own table if one was measured, and
//! adds `write_settle` after a seek or a head switch. A head switch alone costs `head_switch`; together with a seek the longer of the two
//! counts, since they overlap (the access-time rule of DiskSim's mechanical model).

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::geometry::Extent;
use crate::time::{Instant, Span};

/// A head this far past a sector's start still catches it. Two roundings of at most 1 ns each meet at a sector
/// boundary; the gap between real sectors is some hundred nanoseconds, so 2 ns stays inside it.
pub(crate) const CATCH: Span = Span::from_nanos(2);

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

    /// `a + b·√d + c·d` through the datasheet's three figures, after Lee: single track `min`, average `avg` (over all
    /// pairs of cylinders) and full stroke `max`. DiskSim manual 4.0, section on seek models:
    /// `a = (-10 min + 15 avg - 5 max) / (3 √C)`, `b = (7 min - 15 avg + 8 max) / (3 C)`, `t = a √(d-1) + b (d-1) + min`.
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

    /// Ruemmler and Wilkes's two parts: `short.0 + short.1·√d` below `bend` cylinders, `long.0 + long.1·d` from there;
    /// the slopes in nanoseconds. A seek of one cylinder takes `single`, if given.
    pub fn hp(
        single: Option<Span>,
        short: (Span, u64),
        bend: u32,
        long: (Span, u64),
        cylinders: u32,
    ) -> Result<SeekCurve, SeekError> {
        Self::from_formula(cylinders, |distance| match single {
            Some(time) if distance == 1 => i128::from(time.nanos()),
            _ if distance < bend => i128::from(short.0.nanos()) + ((i128::from(short.1) * root_q16(distance)) >> 16),
            _ => i128::from(long.0.nanos()) + i128::from(long.1) * i128::from(distance),
        })
    }

    fn from_formula(cylinders: u32, time: impl Fn(u32) -> i128) -> Result<SeekCurve, SeekError> {
        let mut times: Vec<u32> = Vec::with_capacity(cylinders.max(1) as usize);
        times.push(0);
        for distance in 1..cylinders {
            times.push(u32::try_from(time(distance)).map_err(|_| SeekError::Times)?);
        }
        Ok(SeekCurve(times.into()))
    }

    /// The time of a read seek over `distance` cylinders; beyond the table's end, its last entry.
    #[inline(always)]
    pub fn seek_time(&self, distance: u32) -> Span {
        SeekTimes::new(&self.0).time_at(distance)
    }

    /// Returns the curve with each time reduced by `less`, not below zero.
    pub fn shortened_by(&self, less: Span) -> SeekCurve {
        SeekCurve(self.0.iter().map(|&time| (u64::from(time).saturating_sub(less.nanos())) as u32).collect())
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

fn interpolate(distance: u32, (d0, t0): (u32, u64), (d1, t1): (u32, u64)) -> u32 {
    if d1 == d0 {
        return t0 as u32;
    }
    let (d0, t0, d1, t1) = (i128::from(d0), i128::from(t0), i128::from(d1), i128::from(t1));
    (t0 + (t1 - t0) * (i128::from(distance) - d0) / (d1 - d0)).clamp(0, i128::from(u32::MAX)) as u32
}

/// The square root with sixteen binary places.
fn root_q16(n: u32) -> i128 {
    i128::from((u64::from(n) << 32).isqrt())
}

/// Arm and spindle. Copies share its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mechanics {
    seek: SeekCurve,
    /// Seek curve of writes, if it differs.
    write_seek: Option<SeekCurve>,
    /// Movement plus settling of a write on the same head, by distance; `None` if writing takes the time of reading.
    written: Option<Arc<[u32]>>,
    /// Lower bound of all seeks, read or write, from each [`FLOOR`]-th distance on.
    floors: Arc<[u32]>,
    head_switch: Span,
    write_settle: Span,
    /// Positioning for a write takes at least this long.
    least_write: Span,
    /// Angle per nanosecond.
    rate: u64,
    /// Nanoseconds a revolution, with 32 binary places.
    period: u64,
    phase: u64,
    /// The angle that passes in [`CATCH`].
    catch: u64,
}

/// Distances that share a lower bound of seek times: a fine step for a queue spread over thousands of cylinders, and
/// coarse enough for the table to stay in a processor's nearest cache.
const FLOOR: usize = 64;

/// Hashes all figures except derived ones and the phase.
impl Hash for Mechanics {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.seek, &self.write_seek, self.head_switch, self.write_settle, self.least_write, self.rate, self.period)
            .hash(state);
    }
}

/// Least time from each [`FLOOR`]-th distance on.
fn lower_bounds(times: &[u32]) -> Arc<[u32]> {
    let mut least = u32::MAX;
    let mut floors: Vec<u32> = Vec::with_capacity(times.len() / FLOOR + 1);
    for stretch in times.chunks(FLOOR).rev() {
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

/// Costs of reaching other places from one place and instant, for a choice among many.
#[derive(Clone, Copy)]
pub(crate) struct PositioningCosts<'a> {
    /// Movement times of reads, and of writes.
    ways: [MovementTimes<'a>; 2],
    floors: &'a [u32],
    arm: Arm,
    begun: Instant,
    turning: PlatterRotation,
}

/// Costs of reads alone, whose data are never awaited: most choices are among reads, and these cost less to compute.
#[derive(Clone, Copy)]
pub(crate) struct ReadPositioningCosts<'a> {
    way: MovementTimes<'a>,
    floors: &'a [u32],
    arm: Arm,
    turning: PlatterRotation,
}

/// Rotation of the platter while the arm moves. Two figures are negated, so that a scan of many only multiplies and adds.
#[derive(Clone, Copy)]
struct PlatterRotation {
    /// Minus the difference of the angle at the start and `catch`.
    before: u64,
    /// Minus the angle that passes in a nanosecond.
    backwards: u64,
    period: u64,
    catch: u64,
}

impl PlatterRotation {
    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        let moved = movement.nanos().wrapping_mul(self.backwards);
        wait_beyond(moved.wrapping_add(angle).wrapping_add(self.before), self.period, self.catch)
    }
}

impl ReadPositioningCosts<'_> {
    /// Time of the movement to a track.
    #[inline(always)]
    pub fn movement_time(&self, cylinder: u32, head: u8) -> Span {
        self.way.movement_time(self.arm, cylinder, head)
    }

    /// Lower bound of all movements over `distance` cylinders or more.
    #[inline(always)]
    pub(crate) fn least_movement(&self, distance: u64) -> Span {
        lower_bound(self.floors, distance)
    }

    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        self.turning.rotation_wait(movement, angle)
    }
}

#[inline(always)]
fn lower_bound(floors: &[u32], distance: u64) -> Span {
    let floor = floors.get(distance as usize / FLOOR).or(floors.last());
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
        self.begun
    }

    /// Time of the movement to a track, settling included.
    #[inline(always)]
    pub fn movement_time(&self, cylinder: u32, head: u8, write: bool) -> Span {
        self.ways[usize::from(write)].movement_time(self.arm, cylinder, head)
    }

    /// Lower bound of all movements over `distance` cylinders or more.
    #[inline(always)]
    pub(crate) fn least_movement(&self, distance: u64) -> Span {
        lower_bound(self.floors, distance)
    }

    /// Wait after a movement until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, movement: Span, angle: u64) -> Span {
        self.turning.rotation_wait(movement, angle)
    }

    /// Cost of a place whose data are ready after `ready`: `cost`, and as many revolutions as it takes until then.
    #[inline(always)]
    pub(crate) fn wait_until_ready(&self, cost: u64, ready: Span) -> u64 {
        match ready.nanos().checked_sub(cost) {
            None | Some(0) => cost,
            Some(early) => add_revolutions(cost, early, self.turning.period),
        }
    }
}

/// Adds the revolutions that cover `early` nanoseconds. A function apart, because the data of most commands are ready.
#[cold]
#[inline(never)]
fn add_revolutions(cost: u64, early: u64, period: u64) -> u64 {
    let revolution = period >> 32;
    cost + early.div_ceil(revolution) * revolution
}

/// Seek times by distance.
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

/// Extra time of a write after a movement of `seek`.
#[inline(always)]
fn settling_of_write(seek: Span, settle: Span, least: Span) -> Span {
    let settle = if seek > Span::ZERO { settle } else { Span::ZERO };
    settle.max(least.saturating_sub(seek))
}

/// Time to turn by `angle`.
#[inline(always)]
fn time_of_angle(angle: u64, period: u64) -> Span {
    Span::from_nanos(((u128::from(angle) * u128::from(period)) >> 96) as u64)
}

/// Wait for a place `beyond` the angle `catch` behind the head; a place between that angle and the head is still caught.
#[inline(always)]
fn wait_beyond(beyond: u64, period: u64, catch: u64) -> Span {
    let (ahead, caught) = beyond.overflowing_sub(catch);
    time_of_angle(if caught { 0 } else { ahead }, period)
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
        let per_ns = 60_000_000_000_000u128; // thousandths of a revolution a minute, in one nanosecond
        let rate = ((u128::from(millirpm) << 64) + per_ns / 2) / per_ns;
        let period = (per_ns << 32) / u128::from(millirpm);
        let (rate, period) = (rate as u64, period as u64);
        let catch = CATCH.nanos() * rate;
        let mechanics = Mechanics {
            floors: lower_bounds(&seek.0),
            seek,
            write_seek: None,
            written: None,
            head_switch,
            write_settle,
            least_write: Span::ZERO,
            rate,
            period,
            phase: 0,
            catch,
        };
        Ok(mechanics.with_write_table())
    }

    /// Builds the table for writes anew.
    fn with_write_table(mut self) -> Mechanics {
        let differs = self.write_seek.is_some() || self.write_settle.max(self.least_write) > Span::ZERO;
        self.written = differs.then(|| {
            let seek = &self.write_seek.as_ref().unwrap_or(&self.seek).0;
            let settled = |&time: &u32| self.write_movement(Span::from_nanos(time.into())).nanos();
            seek.iter().map(|time| u32::try_from(settled(time)).unwrap_or(u32::MAX)).collect()
        });
        self
    }

    /// Movement of `seek` and the extra time of a write. The sum never falls as the movement rises, so the greater of
    /// two movements may be taken before or after adding.
    fn write_movement(&self, seek: Span) -> Span {
        seek + self.extra_write_time(seek)
    }

    /// True if both share one table of seek times in memory.
    pub fn shares_tables(&self, other: &Mechanics) -> bool {
        Arc::ptr_eq(&self.seek.0, &other.seek.0)
    }

    /// Sets a seek curve for writes.
    pub fn with_write_seek(mut self, curve: SeekCurve) -> Mechanics {
        let of_writes = lower_bounds(&curve.0);
        // Beyond the shorter table's end its last time continues.
        let length = self.floors.len().max(of_writes.len());
        let at = |table: &[u32], index: usize| table.get(index).or(table.last()).copied().unwrap_or(0);
        self.floors = (0..length).map(|index| at(&self.floors, index).min(at(&of_writes, index))).collect();
        self.write_seek = Some(curve);
        self.with_write_table()
    }

    /// Sets the least time of positioning for a write, even on the same track.
    pub fn with_least_write(mut self, least: Span) -> Mechanics {
        self.least_write = least;
        self.with_write_table()
    }

    /// Slows the platter by `ppm` millionths.
    pub(crate) fn slowed_by(mut self, ppm: u64) -> Mechanics {
        let share = |value: u64, of: u64| ((u128::from(value) * u128::from(of)) / 1_000_000) as u64;
        (self.rate, self.period) = (share(self.rate, 1_000_000 - ppm), share(self.period, 1_000_000 + ppm));
        self.catch = CATCH.nanos() * self.rate;
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
        Span::from_nanos(self.period >> 32)
    }

    /// Time of `count` whole revolutions.
    pub fn revolutions(&self, count: u64) -> Span {
        Span::from_nanos(((u128::from(self.period) * u128::from(count)) >> 32) as u64)
    }

    /// Angle of the platter at `at`.
    #[inline(always)]
    pub fn angle_at(&self, at: Instant) -> u64 {
        self.phase.wrapping_add(at.nanos().wrapping_mul(self.rate))
    }

    /// Time to turn by `angle`.
    #[inline(always)]
    pub fn turning_time(&self, angle: u64) -> Span {
        time_of_angle(angle, self.period)
    }

    /// Angle that passes in `span`, less than a revolution.
    pub(crate) fn angle_passed_in(&self, span: Span) -> u64 {
        span.nanos().wrapping_mul(self.rate)
    }

    /// Angle of the platter at `at`, less the `catch` behind it that is still caught.
    #[inline(always)]
    fn uncaught_angle(&self, at: Instant) -> u64 {
        self.angle_at(at).wrapping_sub(self.catch)
    }

    /// Wait from `at` until `angle` comes under the head.
    #[inline(always)]
    pub(crate) fn rotation_wait(&self, at: Instant, angle: u64) -> Span {
        wait_beyond(angle.wrapping_sub(self.uncaught_angle(at)), self.period, self.catch)
    }

    #[inline]
    fn rotation_from(&self, at: Instant) -> PlatterRotation {
        let (before, backwards) = (self.uncaught_angle(at).wrapping_neg(), self.rate.wrapping_neg());
        PlatterRotation { before, backwards, period: self.period, catch: self.catch }
    }

    /// Costs of reaching other places from `arm` and `at`.
    #[inline]
    pub(crate) fn positioning_costs(&self, arm: Arm, at: Instant) -> PositioningCosts<'_> {
        let written = self.written.as_ref().unwrap_or(&self.seek.0);
        let [same, other] = [Span::ZERO, self.head_switch];
        PositioningCosts {
            ways: [
                MovementTimes { times: SeekTimes::new(&self.seek.0), least: [same, other] },
                MovementTimes {
                    times: SeekTimes::new(written),
                    least: [self.write_movement(same), self.write_movement(other)],
                },
            ],
            floors: &self.floors,
            arm,
            begun: at,
            turning: self.rotation_from(at),
        }
    }

    /// Costs of reads alone from `arm` and `at`.
    #[inline]
    pub(crate) fn read_positioning_costs(&self, arm: Arm, at: Instant) -> ReadPositioningCosts<'_> {
        ReadPositioningCosts {
            way: MovementTimes { times: SeekTimes::new(&self.seek.0), least: [Span::ZERO, self.head_switch] },
            floors: &self.floors,
            arm,
            turning: self.rotation_from(at),
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
        settling_of_write(seek, self.write_settle, self.least_write)
    }

    /// Parts of the time from `at` until the first slot of `extent` comes under the head.
    #[inline]
    pub fn positioning(&self, at: Instant, arm: Arm, extent: &Extent, write: bool) -> Positioning {
        let seek = self.movement_time(arm, extent.cylinder, extent.head, write);
        let settle = if write { self.extra_write_time(seek) } else { Span::ZERO };
        Positioning { seek, settle, rotation: self.rotation_wait(at + seek + settle, extent.angle) }
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
            assert!(least(distance) >= Some(reach.least_movement(distance)), "{distance}");
            // The shorter table's last stretch goes on.
            let stretch = distance.min(299) / FLOOR as u64 * FLOOR as u64;
            assert_eq!(Some(reach.least_movement(distance)), least(stretch), "{distance}");
        }
        assert_eq!(reach.least_movement(u64::MAX), reach.least_movement(999));
    }

    #[test]
    fn a_choice_waits_for_the_platter_as_an_access_does() {
        let curve = SeekCurve::from_points(&[(1, Span::from_micros(400))], 50).expect("rises");
        let mechanics = Mechanics::new(curve, Span::ZERO, Span::ZERO, 7_200_000).expect("turns").with_phase(12_345);
        let catch = mechanics.catch;
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
