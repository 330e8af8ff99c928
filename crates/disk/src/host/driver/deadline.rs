//! The deadline scheduler: reads before writes, sorted by address, each within its expiry time, as in Linux's
//! mq-deadline (`block/mq-deadline.c`, Linux 6.x; the figures are its defaults, its documentation is
//! `Documentation/block/deadline-iosched.rst`).
//!
//! Commands of each direction wait in two orders, by address and by expiry. The driver sends a *batch* of one direction
//! by rising address. When the batch is full or no command of its direction lies farther up, the direction is chosen
//! anew: reads, unless writes have been passed over `writes_starved` times. A batch begins at the oldest command of its
//! direction if that has expired or none lies farther up, else where the direction's last batch stopped. So a stream
//! far up cannot delay a direction's oldest command for longer than its expiry and a batch.
//!
//! Commands marked urgent are a class of their own that goes first; the others go when no urgent command waits, or when
//! they have waited for `prio_aging`. A flush bypasses the sorting and goes next.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Flags, Op, Request};
use crate::time::{Instant, Span};

/// The times and counts of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeadlineSpec {
    /// When a read expires.
    pub read_expire: Span,
    /// When a write expires.
    pub write_expire: Span,
    /// How many batches of reads may pass over waiting writes.
    pub writes_starved: u32,
    /// Commands in a batch.
    pub fifo_batch: u32,
    /// A command that is not urgent goes before urgent ones when it has waited this long.
    pub prio_aging: Span,
}

impl DeadlineSpec {
    /// The kernel's defaults: `read_expire` HZ/2, `write_expire` 5 HZ, `writes_starved` 2, `fifo_batch` 16,
    /// `prio_aging_expire` 10 HZ.
    pub const LINUX: DeadlineSpec = DeadlineSpec {
        read_expire: Span::from_millis(500),
        write_expire: Span::from_secs(5),
        writes_starved: 2,
        fifo_batch: 16,
        prio_aging: Span::from_secs(10),
    };
}

/// The waiting commands of one direction.
#[derive(Clone, Default)]
struct DirectionQueue {
    /// First sector and number, by first sector.
    sorted: Vec<(u64, u32)>,
    /// Arrival and number, oldest first.
    fifo: VecDeque<(Instant, u32)>,
    /// The first sector of the last command sent.
    last_sent_lba: u64,
}

impl DirectionQueue {
    /// The number of the first command at or above the last one sent.
    fn next_upward(&self) -> Option<u32> {
        let next = self.sorted.partition_point(|&(lba, _)| lba < self.last_sent_lba);
        self.sorted.get(next).map(|&(_, number)| number)
    }

    fn oldest_command(&self) -> Option<u32> {
        self.fifo.front().map(|&(_, number)| number)
    }

    /// True if the oldest command has waited for `expiry`.
    fn has_expired_command(&self, now: Instant, expiry: Span) -> bool {
        self.fifo.front().is_some_and(|&(arrival, _)| arrival + expiry <= now)
    }

    /// Removes a command that is sent, and remembers its place.
    fn remove_sent(&mut self, number: u32) {
        if let Some(index) = self.sorted.iter().position(|&(_, other)| other == number) {
            self.last_sent_lba = self.sorted.remove(index).0;
        }
        self.fifo.retain(|&(_, other)| other != number);
    }
}

/// The commands of one class: reads, writes.
#[derive(Clone, Default)]
struct PriorityClass([DirectionQueue; 2]);

impl PriorityClass {
    fn is_empty(&self) -> bool {
        self.0.iter().all(|queue| queue.sorted.is_empty())
    }

    /// True if a waiting command arrived at `instant` or before.
    fn has_command_since(&self, instant: Instant) -> bool {
        self.0.iter().any(|queue| queue.fifo.front().is_some_and(|&(arrival, _)| arrival <= instant))
    }
}

const READ: usize = 0;
const WRITE: usize = 1;

/// The waiting commands of a deadline scheduler, by number.
#[derive(Clone)]
pub(super) struct DeadlineScheduler {
    spec: DeadlineSpec,
    /// Urgent, others.
    classes: [PriorityClass; 2],
    /// Flushes, which bypass the sorting.
    unsorted: VecDeque<u32>,
    /// The direction of the present batch, and how many commands of it were sent.
    direction: usize,
    sent_in_batch: u32,
    /// How often waiting writes were passed over.
    writes_passed_over: u32,
}

fn is_sorted(request: &Request) -> bool {
    request.op != Op::Flush
}

fn class_index(request: &Request) -> usize {
    usize::from(!request.flags.has(Flags::PRIORITY))
}

fn direction_index(request: &Request) -> usize {
    if request.op == Op::Read { READ } else { WRITE }
}

impl DeadlineScheduler {
    /// A scheduler without commands.
    pub fn new(spec: DeadlineSpec) -> DeadlineScheduler {
        let (classes, unsorted) = Default::default();
        DeadlineScheduler { spec, classes, unsorted, direction: READ, sent_in_batch: 0, writes_passed_over: 0 }
    }

    /// How many commands wait.
    pub fn len(&self) -> usize {
        let queues = self.classes.iter().flat_map(|class| &class.0);
        self.unsorted.len() + queues.map(|queue| queue.sorted.len()).sum::<usize>()
    }

    fn queue_for(&mut self, request: &Request) -> &mut DirectionQueue {
        &mut self.classes[class_index(request)].0[direction_index(request)]
    }

    /// Adds a command that waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        if !is_sorted(request) {
            return self.unsorted.push_back(number);
        }
        let queue = self.queue_for(request);
        let index = queue.sorted.partition_point(|&(lba, _)| lba <= request.lba);
        queue.sorted.insert(index, (request.lba, number));
        queue.fifo.push_back((now, number));
    }

    /// Removes a waiting command.
    pub fn remove(&mut self, number: u32, request: &Request) {
        self.unsorted.retain(|&other| other != number);
        let queue = self.queue_for(request);
        queue.sorted.retain(|&(_, other)| other != number);
        queue.fifo.retain(|&(_, other)| other != number);
    }

    /// Updates a waiting command that has grown from `before` to `after`.
    pub(crate) fn update_grown(&mut self, number: u32, before: &Request, after: &Request) {
        let queue = self.queue_for(before);
        queue.sorted.retain(|&(_, other)| other != number);
        let index = queue.sorted.partition_point(|&(lba, _)| lba <= after.lba);
        queue.sorted.insert(index, (after.lba, number));
    }

    /// Takes out the next command.
    pub(crate) fn take_next(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.unsorted.pop_front() {
            return Some(number);
        }
        let aged = now.nanos().checked_sub(self.spec.prio_aging.nanos()).map(Instant::from_nanos);
        let class = match aged.is_some_and(|aged| self.classes[1].has_command_since(aged)) {
            true => 1,
            false => usize::from(self.classes[0].is_empty()),
        };
        self.take_next_of_class(class, now)
    }

    /// Takes out the next command of a class: of the present batch, or of a new one.
    fn take_next_of_class(&mut self, class: usize, now: Instant) -> Option<u32> {
        let queue = &self.classes[class].0[self.direction];
        if let Some(number) = queue.next_upward().filter(|_| self.sent_in_batch < self.spec.fifo_batch) {
            return Some(self.take_for_batch(class, number));
        }
        let direction = self.choose_direction(class)?;
        let queue = &self.classes[class].0[direction];
        let expiry = if direction == READ { self.spec.read_expire } else { self.spec.write_expire };
        let upward = queue.next_upward().filter(|_| !queue.has_expired_command(now, expiry));
        let number = upward.or_else(|| queue.oldest_command())?;
        (self.direction, self.sent_in_batch) = (direction, 0);
        Some(self.take_for_batch(class, number))
    }

    /// Chooses the direction of a new batch: reads, unless there are none, or writes have been passed over too often.
    fn choose_direction(&mut self, class: usize) -> Option<usize> {
        let [reads, writes] = &self.classes[class].0;
        let (has_reads, has_writes) = (!reads.sorted.is_empty(), !writes.sorted.is_empty());
        if has_reads && has_writes {
            self.writes_passed_over += 1;
        }
        if has_reads && !(has_writes && self.writes_passed_over > self.spec.writes_starved) {
            return Some(READ);
        }
        self.writes_passed_over = 0;
        has_writes.then_some(WRITE)
    }

    /// Takes out a command of the present batch.
    fn take_for_batch(&mut self, class: usize, number: u32) -> u32 {
        self.sent_in_batch += 1;
        self.classes[class].0[self.direction].remove_sent(number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Seed;

    const SPEC: DeadlineSpec = DeadlineSpec {
        read_expire: Span::from_nanos(6),
        write_expire: Span::from_nanos(15),
        writes_starved: 2,
        fifo_batch: 3,
        prio_aging: Span::from_nanos(25),
    };

    fn request(op: Op, lba: u64, urgent: bool) -> Request {
        let flags = if urgent { Flags::PRIORITY } else { Flags::NONE };
        Request { op, flags, lba, sectors: u32::from(op != Op::Flush), ..Request::NONE }
    }

    #[derive(Clone, Copy)]
    struct ListedCommand {
        number: u32,
        arrival: u64,
        request: Request,
    }

    /// A list of all commands in order of arrival, and the rules of the module's head, each a search of the list.
    #[derive(Default)]
    struct ListScheduler {
        waiting: Vec<ListedCommand>,
        /// By class and direction: where the last command sent began.
        positions: [[u64; 2]; 2],
        /// The direction of the present batch, and how many commands of it were sent.
        writes: bool,
        sent_in_batch: u32,
        writes_passed_over: u32,
    }

    impl ListScheduler {
        fn commands_of(&self, class: usize, writes: bool) -> impl Iterator<Item = &ListedCommand> {
            self.waiting.iter().filter(move |command| {
                let Request { op, flags, .. } = command.request;
                let own_class = usize::from(!flags.has(Flags::PRIORITY));
                op != Op::Flush && own_class == class && (op != Op::Read) == writes
            })
        }

        /// The lowest address of a command that is no lower than the last one sent.
        fn next_upward_lba(&self, class: usize, writes: bool) -> Option<u64> {
            let from = self.positions[class][usize::from(writes)];
            self.commands_of(class, writes).map(|command| command.request.lba).filter(|&lba| lba >= from).min()
        }

        fn take_next(&mut self, now: u64) -> Option<u32> {
            if let Some(index) = self.waiting.iter().position(|command| command.request.op == Op::Flush) {
                return Some(self.waiting.remove(index).number);
            }
            let has_any = |class: usize, writes: bool| self.commands_of(class, writes).next().is_some();
            let has_aged = |writes: bool| self.commands_of(1, writes).any(|command| command.arrival + 25 <= now);
            let is_other_class = has_aged(false) || has_aged(true) || !(has_any(0, false) || has_any(0, true));
            let class = usize::from(is_other_class);
            let (has_reads, has_writes) = (has_any(class, false), has_any(class, true));
            if let Some(lba) = self.next_upward_lba(class, self.writes).filter(|_| self.sent_in_batch < 3) {
                return Some(self.take_first(class, self.writes, |command| command.request.lba == lba));
            }
            if !has_reads && !has_writes {
                // The count begins again if nothing waits (Linux keeps it until a write is sent).
                self.writes_passed_over = 0;
                return None;
            }
            // Waiting writes are passed over by two batches of reads. The third batch is theirs.
            self.writes_passed_over += u32::from(has_reads && has_writes);
            let writes = !has_reads || (has_writes && self.writes_passed_over > 2);
            if writes {
                self.writes_passed_over = 0;
            }
            let oldest = self.commands_of(class, writes).next().copied().expect("one waits");
            let has_expired = oldest.arrival + if writes { 15 } else { 6 } <= now;
            let upward = self.next_upward_lba(class, writes).filter(|_| !has_expired);
            (self.writes, self.sent_in_batch) = (writes, 0);
            Some(match upward {
                Some(lba) => self.take_first(class, writes, |command| command.request.lba == lba),
                None => self.take_first(class, writes, |command| command.number == oldest.number),
            })
        }

        fn take_first(&mut self, class: usize, writes: bool, is_wanted: impl Fn(&ListedCommand) -> bool) -> u32 {
            let wanted = *self.commands_of(class, writes).find(|command| is_wanted(command)).expect("it waits");
            self.waiting.retain(|command| command.number != wanted.number);
            self.positions[class][usize::from(writes)] = wanted.request.lba;
            self.sent_in_batch += 1;
            wanted.number
        }
    }

    #[test]
    fn the_next_command_is_the_one_that_a_search_by_the_rules_finds() {
        let mut sent = [0; 2];
        for seed in 0..40 {
            let mut rng = Seed(seed).stream("deadline");
            let (mut scheduler, mut list) = (DeadlineScheduler::new(SPEC), ListScheduler::default());
            let (mut now, mut number, is_busy) = (0, 0, rng.draw_chance(50));
            for step in 0..600 {
                now += rng.below(if is_busy { 2 } else { 4 });
                let at = Instant::from_nanos(now);
                match rng.below(10) {
                    0..5 if list.waiting.len() < 40 => {
                        number += 1;
                        let op = [Op::Read, Op::Write, Op::Write, Op::Read, Op::WriteZeroes, Op::Flush]
                            [rng.below(6) as usize];
                        let op = if op == Op::Flush && rng.draw_chance(80) { Op::Read } else { op };
                        // Addresses are apart, so that no two commands begin at one.
                        let lba = 100_000 + rng.below(100) * 1_000 + u64::from(number);
                        let request = request(op, lba, rng.draw_chance(20));
                        scheduler.add(at, number, &request);
                        list.waiting.push(ListedCommand { number, arrival: now, request });
                    }
                    5 if !list.waiting.is_empty() => {
                        let index = rng.below(list.waiting.len() as u64) as usize;
                        if rng.draw_chance(50) {
                            let ListedCommand { number, request, .. } = list.waiting.remove(index);
                            scheduler.remove(number, &request);
                        } else if list.waiting[index].request.op != Op::Flush {
                            // A neighbour has joined it in front.
                            let ListedCommand { number, request, .. } = &mut list.waiting[index];
                            let before = *request;
                            request.lba = before.lba.saturating_sub(500);
                            scheduler.update_grown(*number, &before, request);
                        }
                    }
                    _ => {
                        let taken = scheduler.take_next(at);
                        assert_eq!(taken, list.take_next(now), "seed {seed}, step {step}");
                        sent[usize::from(list.writes)] += u32::from(taken.is_some());
                    }
                }
                assert_eq!(scheduler.len(), list.waiting.len());
            }
        }
        assert!(sent.iter().all(|&count| count > 1_000), "{sent:?} reads and writes");
    }
}
