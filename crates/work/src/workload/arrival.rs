//! When a worker may issue: rates with even or exponential gaps, and think time.
//!
//! A rate makes an open arrival process: each request is due at an instant, whatever the device does, and its response
//! time counts from that instant. Requests that fall due while the depth is used up are issued late.
//!
//! fio differs in three points. fio waits for all requests in flight before it sleeps for a rate, which would close the
//! loop. fio's Poisson gaps, whole microseconds in single precision, miss the requested rate; here gaps are exponential
//! to 2^-32 ns, and their mean matches the rate within 10^-8. fio's first Poisson request comes at once, here after a
//! gap.

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};

use super::fio::FioStream;
use super::fixed_point;
use super::job::{ArrivalProcess, IssueRate, Pace, ThinkTime};

/// Nanoseconds in a second.
const SECOND: u128 = 1_000_000_000;

/// The arrival processes of a worker.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    clocks: [Option<ArrivalClock>; 3],
}

/// The arrival process of one direction.
#[derive(Clone, Debug)]
struct ArrivalClock {
    rate: IssueRate,
    /// The source of exponential gaps; `None` for even gaps.
    random: Option<Rng>,
    began: Instant,
    /// Bytes or requests so far.
    count: u64,
    /// When the next request is due, from the beginning: nanoseconds with 32 fraction bits.
    next_due: u128,
    /// Nanoseconds for a byte or a request, 32 fraction bits.
    unit_time: u128,
}

impl Arrival {
    /// The processes of worker `worker`; `None` if it has no rate.
    pub(crate) fn new(pace: &Pace, seed: Seed, worker: u16) -> Option<Arrival> {
        let clock = |direction: usize| {
            let stream = || seed.numbered_stream("arrival", u64::from(worker) * 3 + direction as u64);
            pace.rate[direction].map(|rate| ArrivalClock {
                rate,
                random: (pace.process == ArrivalProcess::Poisson).then(stream),
                began: Instant::ZERO,
                count: 0,
                next_due: 0,
                unit_time: (SECOND << 32) / u128::from(rate.per_second()),
            })
        };
        pace.rate.iter().any(Option::is_some).then(|| Arrival { clocks: [clock(0), clock(1), clock(2)] })
    }

    /// Begins the worker, whose requests of each direction have about `typical_bytes`.
    pub(crate) fn begin_worker(&mut self, now: Instant, typical_bytes: [u64; 3]) {
        for (clock, bytes) in self.clocks.iter_mut().zip(typical_bytes) {
            if let Some(clock) = clock {
                clock.began = now;
                if clock.random.is_some() {
                    clock.advance(bytes);
                }
            }
        }
    }

    /// When the next request of a direction is due; `None` for a direction without a rate, which is always due.
    pub(crate) fn next_due(&self, direction: usize) -> Option<Instant> {
        let clock = self.clocks[direction].as_ref()?;
        // A random gap may be longer than any run.
        let nanos = u64::try_from(clock.next_due >> 32).unwrap_or(u64::MAX);
        Some(Instant::from_nanos(clock.began.nanos().saturating_add(nanos)))
    }

    /// Notes that a request of a direction was issued.
    pub(crate) fn record_issue(&mut self, direction: usize, bytes: u64) {
        if let Some(clock) = &mut self.clocks[direction] {
            clock.advance(bytes);
        }
    }
}

impl IssueRate {
    fn per_second(self) -> u64 {
        let (IssueRate::Bytes(rate) | IssueRate::Requests(rate)) = self;
        rate
    }
}

impl ArrivalClock {
    /// Computes when the request after one of `bytes` bytes is due.
    fn advance(&mut self, bytes: u64) {
        let amount = match self.rate {
            IssueRate::Bytes(_) => bytes,
            IssueRate::Requests(_) => 1,
        };
        match &mut self.random {
            // From the count, so that rounding does not accumulate.
            None => {
                self.count += amount;
                self.next_due = (u128::from(self.count) * SECOND / u128::from(self.rate.per_second())) << 32;
            }
            Some(random) => {
                let gap = fixed_point::minus_ln_of_fraction(random.next_u64().max(1)) >> 28;
                self.next_due += (gap * (u128::from(amount) * self.unit_time)) >> 32;
            }
        }
    }
}

/// Checks whether a direction's rate lets it issue at `now`: `Ok` with the instant since which it is due (`None`
/// without a rate), or `Err` with the instant at which it will be due. A mixed job turns to the other direction if that
/// is due already, or sooner.
pub(crate) fn admit_by_rate(
    arrival: &Arrival,
    fio: &mut FioStream,
    direction: usize,
    now: Instant,
) -> Result<Option<Instant>, Instant> {
    let later_due = |direction: usize| arrival.next_due(direction).filter(|&due| due > now);
    let Some(due) = later_due(direction) else {
        return Ok(arrival.next_due(direction));
    };
    let Some(other) = fio.other_direction(direction) else {
        return Err(due);
    };
    match later_due(other) {
        None => {
            fio.turn_to(other);
            Ok(arrival.next_due(other))
        }
        Some(sooner) if sooner < due => {
            fio.turn_to(other);
            Err(sooner)
        }
        Some(_) => Err(due),
    }
}

/// Think time: after a number of blocks, wait for everything in flight, then issue nothing for a while.
#[derive(Clone, Debug)]
pub(crate) struct ThinkState {
    think: ThinkTime,
    /// Blocks issued.
    issued: u64,
    /// Blocks completed.
    completed: u64,
    /// The count of blocks at the last pause.
    count_at_pause: u64,
    /// A block was issued or offered since the count was last checked.
    needs_check: bool,
    pause: Pause,
}

#[derive(Clone, Copy, Debug)]
enum Pause {
    None,
    Draining,
    /// The program computes since this instant.
    Computing(Instant),
    Until(Instant),
}

/// An action that think time demands.
pub(crate) enum ThinkAction {
    /// Go on.
    Issue,
    /// Wait until the requests in flight are done.
    Drain,
    /// Compute for this long.
    Compute(Span),
    /// Wait until this instant.
    At(Instant),
}

impl ThinkState {
    /// Think time at its start.
    pub(crate) fn new(think: ThinkTime) -> ThinkState {
        ThinkState { think, issued: 0, completed: 0, count_at_pause: 0, needs_check: false, pause: Pause::None }
    }

    /// Notes that a block was issued.
    pub(crate) fn record_issue(&mut self) {
        self.issued += 1;
        self.needs_check = true;
    }

    /// Notes that the next block only reads back what was written: fio does not count it as issued.
    pub(crate) fn discount_read_back(&mut self) {
        self.issued = self.issued.saturating_sub(1);
    }

    /// Notes that the engine refused a block: fio checks its count after that too.
    pub(crate) fn record_refused_offer(&mut self) {
        self.needs_check = true;
    }

    /// Notes that fio saw a block completed.
    pub(crate) fn record_completion(&mut self) {
        self.completed += 1;
    }

    /// Notes the end of computing: the worker sleeps for the rest of the time.
    pub(crate) fn end_computing(&mut self, now: Instant) {
        if let Pause::Computing(since) = self.pause {
            let rest = self.think.time.saturating_sub(self.think.spin);
            self.pause = Pause::Until((since + self.think.time).max(now + rest));
        }
    }

    /// Returns the action at `now`, with `in_flight` requests in flight. fio checks its count once after each issue.
    pub(crate) fn next_action(&mut self, now: Instant, in_flight: u32) -> ThinkAction {
        if core::mem::take(&mut self.needs_check) {
            let count = if self.think.on_issue { self.issued } else { self.completed };
            if count >= self.count_at_pause + u64::from(self.think.blocks) {
                self.count_at_pause = count;
                self.pause = Pause::Draining;
            }
        }
        if matches!(self.pause, Pause::Draining) {
            if in_flight > 0 {
                return ThinkAction::Drain;
            }
            if self.think.spin > Span::ZERO {
                self.pause = Pause::Computing(now);
                return ThinkAction::Compute(self.think.spin);
            }
            self.pause = Pause::Until(now + self.think.time);
        }
        match self.pause {
            Pause::Computing(_) => ThinkAction::Drain,
            Pause::Until(end) if now < end => ThinkAction::At(end),
            _ => {
                self.pause = Pause::None;
                ThinkAction::Issue
            }
        }
    }
}
