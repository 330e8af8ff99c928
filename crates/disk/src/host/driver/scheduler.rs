//! The interface of all schedulers: which waiting command goes down next. The rules of each are in its own file.

use super::deadline::DeadlineScheduler;
use super::fair::FairScheduler;
use super::spec::SchedulerSpec;
use crate::block::Request;
use crate::queue::{NoCosts, Queue};
use crate::time::Instant;

/// The waiting commands, by number.
#[derive(Clone)]
pub(super) enum Scheduler {
    /// A queue with a discipline.
    Order(Queue<u32>),
    /// As Linux's mq-deadline.
    Deadline(DeadlineScheduler),
    /// In the manner of Linux's BFQ.
    Fair(FairScheduler),
}

impl Scheduler {
    /// Without commands, with room for about `capacity`.
    pub fn new(spec: SchedulerSpec, capacity: usize) -> Scheduler {
        match spec {
            SchedulerSpec::Order(discipline) => Scheduler::Order(Queue::new(discipline, capacity)),
            SchedulerSpec::Deadline(spec) => Scheduler::Deadline(DeadlineScheduler::new(spec)),
            SchedulerSpec::Fair(spec) => Scheduler::Fair(FairScheduler::new(spec)),
        }
    }

    /// How many commands wait.
    pub fn len(&self) -> usize {
        match self {
            Scheduler::Order(queue) => queue.len(),
            Scheduler::Deadline(deadline) => deadline.len(),
            Scheduler::Fair(fair) => fair.len(),
        }
    }

    /// The most commands that have waited at once; `u32::MAX` if they are not counted.
    pub(crate) fn most_waiting(&self) -> u32 {
        match self {
            Scheduler::Order(queue) => queue.max_waiting(),
            Scheduler::Deadline(_) | Scheduler::Fair(_) => u32::MAX,
        }
    }

    /// Adds a command that waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        match self {
            Scheduler::Order(queue) => queue.push(now, request.lba, number),
            Scheduler::Deadline(deadline) => deadline.add(now, number, request),
            Scheduler::Fair(fair) => fair.add(now, number, request),
        }
    }

    /// True if no command waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes out the next command, if one is to go down at `now`. `last_end` is where the last one ended on the device. A
    /// call that returns none changes nothing, except at the instants of [`Scheduler::next_wakeup`].
    pub(crate) fn take_next(&mut self, now: Instant, last_end: u64) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        match self {
            Scheduler::Order(queue) => {
                let choice = queue.choose(now, last_end, &NoCosts)?;
                Some(queue.take(choice))
            }
            Scheduler::Deadline(deadline) => deadline.take_next(now),
            Scheduler::Fair(fair) => fair.take_next(now),
        }
    }

    /// Notes that a command has completed.
    pub fn note_completion(&mut self, now: Instant, request: &Request) {
        if let Scheduler::Fair(fair) = self {
            fair.note_completion(now, request);
        }
    }

    /// When it may have a command to send without an arrival or a completion; `FAR` if never.
    pub(crate) fn next_wakeup(&self) -> Instant {
        match self {
            Scheduler::Fair(fair) => fair.next_wakeup(),
            _ => Instant::FAR,
        }
    }

    /// Updates a waiting command that has grown from `before` to `after`.
    pub(crate) fn update_grown(&mut self, number: u32, before: &Request, after: &Request) {
        match self {
            Scheduler::Order(_) if before.lba == after.lba => {}
            Scheduler::Order(queue) => queue.set_position(|&other| other == number, after.lba),
            Scheduler::Deadline(deadline) => deadline.update_grown(number, before, after),
            Scheduler::Fair(fair) => fair.update_grown(number, before, after),
        }
    }

    /// Removes a waiting command.
    pub fn remove(&mut self, number: u32, request: &Request) {
        match self {
            Scheduler::Order(queue) => queue.retain(|&other| other != number),
            Scheduler::Deadline(deadline) => deadline.remove(number, request),
            Scheduler::Fair(fair) => fair.remove(number, request),
        }
    }

    /// True if only commands of the same program may merge.
    pub(crate) fn separates_programs(&self) -> bool {
        matches!(self, Scheduler::Fair(_))
    }
}
