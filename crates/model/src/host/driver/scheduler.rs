//! Which waiting command goes down next: one interface for all schedulers.

use super::deadline::Deadline;
use super::fair::Fair;
use super::spec::SchedulerSpec;
use crate::block::Request;
use crate::queue::{Costless, Queue};
use crate::time::Instant;

/// The commands that wait, by number.
pub(super) enum Scheduler {
    /// One queue by a discipline.
    Order(Queue<u32>),
    /// Reads before writes, sorted, within their times.
    Deadline(Deadline),
    /// Each program in its turn.
    Fair(Fair),
}

impl Scheduler {
    /// An empty one, for about `capacity` commands.
    pub fn new(spec: SchedulerSpec, capacity: usize) -> Scheduler {
        match spec {
            SchedulerSpec::Order(discipline) => Scheduler::Order(Queue::new(discipline, capacity)),
            SchedulerSpec::Deadline(spec) => Scheduler::Deadline(Deadline::new(spec)),
            SchedulerSpec::Fair(spec) => Scheduler::Fair(Fair::new(spec)),
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        match self {
            Scheduler::Order(queue) => queue.len(),
            Scheduler::Deadline(deadline) => deadline.len(),
            Scheduler::Fair(fair) => fair.len(),
        }
    }

    /// A command waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        match self {
            Scheduler::Order(queue) => queue.push(now, request.lba, number),
            Scheduler::Deadline(deadline) => deadline.add(now, number, request),
            Scheduler::Fair(fair) => fair.add(now, number, request),
        }
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes out the next, if one is to go down at `now`. `head` is where the last one ended. To ask in vain changes
    /// nothing, but at the instants that [`Scheduler::when`] names.
    pub fn next(&mut self, now: Instant, head: u64) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        match self {
            Scheduler::Order(queue) => {
                let choice = queue.choose(now, head, &Costless)?;
                Some(queue.take(choice))
            }
            Scheduler::Deadline(deadline) => deadline.next(now),
            Scheduler::Fair(fair) => fair.next(now),
        }
    }

    /// A command is back.
    pub fn completed(&mut self, now: Instant, request: &Request) {
        if let Scheduler::Fair(fair) = self {
            fair.completed(now, request);
        }
    }

    /// When it may have something to send though nothing comes or completes; `FAR` when not.
    pub fn when(&self) -> Instant {
        match self {
            Scheduler::Fair(fair) => fair.when(),
            _ => Instant::FAR,
        }
    }

    /// A waiting command has grown: `before` is what it was, `after` what it is.
    pub fn moved(&mut self, number: u32, before: &Request, after: &Request) {
        match self {
            Scheduler::Order(_) if before.lba == after.lba => {}
            Scheduler::Order(queue) => queue.move_to(|&other| other == number, after.lba),
            Scheduler::Deadline(deadline) => deadline.moved(number, before, after),
            Scheduler::Fair(fair) => fair.moved(number, before, after),
        }
    }

    /// A waiting command goes.
    pub fn remove(&mut self, number: u32, request: &Request) {
        match self {
            Scheduler::Order(queue) => queue.retain(|&other| other != number),
            Scheduler::Deadline(deadline) => deadline.remove(number, request),
            Scheduler::Fair(fair) => fair.remove(number, request),
        }
    }

    /// Only commands of the same program may share one.
    pub fn parts_programs(&self) -> bool {
        matches!(self, Scheduler::Fair(_))
    }
}
