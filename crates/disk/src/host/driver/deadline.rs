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

/// The commands of one direction.
#[derive(Default)]
struct DirectionQueue {
    /// By first sector.
    sorted: Vec<(u64, u32)>,
    /// Arrival and number, oldest first.
    fifo: VecDeque<(Instant, u32)>,
    /// Where the last command sent began.
    position: u64,
}

impl DirectionQueue {
    /// The first command at or above the last one sent.
    fn next_upward(&self) -> Option<u32> {
        let at = self.sorted.partition_point(|&(lba, _)| lba < self.position);
        self.sorted.get(at).map(|&(_, number)| number)
    }

    fn oldest_command(&self) -> Option<u32> {
        self.fifo.front().map(|&(_, number)| number)
    }

    fn has_expired(&self, now: Instant, after: Span) -> bool {
        self.fifo.front().is_some_and(|&(since, _)| since + after <= now)
    }

    fn take_command(&mut self, number: u32) {
        if let Some(at) = self.sorted.iter().position(|&(_, other)| other == number) {
            self.position = self.sorted.remove(at).0;
        }
        self.fifo.retain(|&(_, other)| other != number);
    }
}

/// The commands of one class: reads, writes.
#[derive(Default)]
struct PriorityClass([DirectionQueue; 2]);

impl PriorityClass {
    fn is_empty(&self) -> bool {
        self.0.iter().all(|side| side.sorted.is_empty())
    }

    fn has_arrived_by(&self, instant: Instant) -> bool {
        self.0.iter().any(|side| side.fifo.front().is_some_and(|&(since, _)| since <= instant))
    }
}

const READ: usize = 0;
const WRITE: usize = 1;

/// The commands of a deadline scheduler.
pub(super) struct DeadlineScheduler {
    spec: DeadlineSpec,
    /// Urgent, others.
    classes: [PriorityClass; 2],
    /// Commands that bypass the sorting.
    next: VecDeque<u32>,
    direction: usize,
    batch: u32,
    starved: u32,
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
        let (classes, next) = Default::default();
        DeadlineScheduler { spec, classes, next, direction: READ, batch: 0, starved: 0 }
    }

    /// How many commands wait.
    pub fn len(&self) -> usize {
        let sides = self.classes.iter().flat_map(|class| &class.0);
        self.next.len() + sides.map(|side| side.sorted.len()).sum::<usize>()
    }

    fn side_mut(&mut self, request: &Request) -> &mut DirectionQueue {
        &mut self.classes[class_index(request)].0[direction_index(request)]
    }

    /// Adds a command that waits from `now` on.
    pub fn add(&mut self, now: Instant, number: u32, request: &Request) {
        if !is_sorted(request) {
            return self.next.push_back(number);
        }
        let side = self.side_mut(request);
        let at = side.sorted.partition_point(|&(lba, _)| lba <= request.lba);
        side.sorted.insert(at, (request.lba, number));
        side.fifo.push_back((now, number));
    }

    /// Removes a waiting command.
    pub fn remove(&mut self, number: u32, request: &Request) {
        self.next.retain(|&other| other != number);
        let side = self.side_mut(request);
        side.sorted.retain(|&(_, other)| other != number);
        side.fifo.retain(|&(_, other)| other != number);
    }

    /// Updates a waiting command that has grown from `before` to `after`.
    pub(crate) fn update_grown(&mut self, number: u32, before: &Request, after: &Request) {
        let side = self.side_mut(before);
        side.sorted.retain(|&(_, other)| other != number);
        let at = side.sorted.partition_point(|&(lba, _)| lba <= after.lba);
        side.sorted.insert(at, (after.lba, number));
    }

    /// Takes out the next command.
    pub fn next(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.next.pop_front() {
            return Some(number);
        }
        let aged = now.nanos().checked_sub(self.spec.prio_aging.nanos()).map(Instant::from_nanos);
        let class = match aged.is_some_and(|aged| self.classes[1].has_arrived_by(aged)) {
            true => 1,
            false => usize::from(self.classes[0].is_empty()),
        };
        self.next_in_class(class, now)
    }

    fn next_in_class(&mut self, class: usize, now: Instant) -> Option<u32> {
        let sides = &self.classes[class].0;
        if let Some(number) = sides[self.direction].next_upward().filter(|_| self.batch < self.spec.fifo_batch) {
            return Some(self.send_command(class, number));
        }
        let direction = self.choose_direction(class)?;
        let side = &self.classes[class].0[direction];
        let expire = if direction == READ { self.spec.read_expire } else { self.spec.write_expire };
        let number = side.next_upward().filter(|_| !side.has_expired(now, expire)).or_else(|| side.oldest_command())?;
        (self.direction, self.batch) = (direction, 0);
        Some(self.send_command(class, number))
    }

    /// Chooses reads, unless there are none, or writes have been passed over too often.
    fn choose_direction(&mut self, class: usize) -> Option<usize> {
        let [reads, writes] = &self.classes[class].0;
        let (reads, writes) = (!reads.sorted.is_empty(), !writes.sorted.is_empty());
        if reads && writes {
            self.starved += 1;
        }
        if reads && !(writes && self.starved > self.spec.writes_starved) {
            return Some(READ);
        }
        self.starved = 0;
        writes.then_some(WRITE)
    }

    fn send_command(&mut self, class: usize, number: u32) -> u32 {
        self.batch += 1;
        self.classes[class].0[self.direction].take_command(number);
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

    /// One list of all commands in the order of their coming, and the rules of the module's head, each a search of it.
    #[derive(Default)]
    struct Plain {
        waiting: Vec<(u32, u64, Request)>,
        /// By class and direction: where the last command sent began.
        positions: [[u64; 2]; 2],
        writes: bool,
        batch: u32,
        starved: u32,
    }

    impl Plain {
        fn of(&self, class: usize, writes: bool) -> impl Iterator<Item = &(u32, u64, Request)> {
            let ours = move |it: &&(u32, u64, Request)| {
                let other = usize::from(!it.2.flags.has(Flags::PRIORITY));
                it.2.op != Op::Flush && other == class && (it.2.op != Op::Read) == writes
            };
            self.waiting.iter().filter(ours)
        }

        /// The lowest of those that lie no lower than the last one.
        fn onward(&self, class: usize, writes: bool) -> Option<u64> {
            let from = self.positions[class][usize::from(writes)];
            self.of(class, writes).map(|it| it.2.lba).filter(|&lba| lba >= from).min()
        }

        fn next(&mut self, now: u64) -> Option<u32> {
            if let Some(at) = self.waiting.iter().position(|it| it.2.op == Op::Flush) {
                return Some(self.waiting.remove(at).0);
            }
            let any = |class: usize, writes: bool| self.of(class, writes).next().is_some();
            let aged = [false, true].iter().any(|&writes| self.of(1, writes).any(|it| it.1 + 25 <= now));
            let class = usize::from(aged || !(any(0, false) || any(0, true)));
            let (reads, writes) = (any(class, false), any(class, true));
            if self.batch < 3 && self.onward(class, self.writes).is_some() {
                let lba = self.onward(class, self.writes).expect("just found");
                return Some(self.send(class, self.writes, |it| it.2.lba == lba));
            }
            if !reads && !writes {
                // Where nothing waits the count begins again (Linux keeps it until a write is sent).
                self.starved = 0;
                return None;
            }
            // Writes that wait have been passed over by two batches of reads: the third is theirs.
            self.starved += u32::from(reads && writes);
            let chosen = !reads || (writes && self.starved > 2);
            if chosen {
                self.starved = 0;
            }
            let oldest = self.of(class, chosen).next().copied().expect("one waits");
            let expired = oldest.1 + if chosen { 15 } else { 6 } <= now;
            let onward = self.onward(class, chosen).filter(|_| !expired);
            (self.writes, self.batch) = (chosen, 0);
            Some(match onward {
                Some(lba) => self.send(class, chosen, |it| it.2.lba == lba),
                None => self.send(class, chosen, |it| it.0 == oldest.0),
            })
        }

        fn send(&mut self, class: usize, writes: bool, which: impl Fn(&(u32, u64, Request)) -> bool) -> u32 {
            let (number, _, request) = *self.of(class, writes).find(|it| which(it)).expect("it waits");
            self.waiting.retain(|it| it.0 != number);
            self.positions[class][usize::from(writes)] = request.lba;
            self.batch += 1;
            number
        }
    }

    #[test]
    fn the_next_command_is_that_which_a_search_by_the_rules_finds() {
        let mut sent = [0; 2];
        for seed in 0..40 {
            let mut rng = Seed(seed).stream("deadline");
            let (mut ours, mut plain) = (DeadlineScheduler::new(SPEC), Plain::default());
            let (mut now, mut number, busy) = (0, 0, rng.draw_chance(50));
            for step in 0..600 {
                now += rng.below(if busy { 2 } else { 4 });
                let at = Instant::from_nanos(now);
                match rng.below(10) {
                    0..5 if plain.waiting.len() < 40 => {
                        number += 1;
                        let op = [Op::Read, Op::Write, Op::Write, Op::Read, Op::WriteZeroes, Op::Flush]
                            [rng.below(6) as usize];
                        let op = if op == Op::Flush && rng.draw_chance(80) { Op::Read } else { op };
                        // Places are apart, so that none begins where another does.
                        let lba = 100_000 + rng.below(100) * 1_000 + u64::from(number);
                        let request = request(op, lba, rng.draw_chance(20));
                        ours.add(at, number, &request);
                        plain.waiting.push((number, now, request));
                    }
                    5 if !plain.waiting.is_empty() => {
                        let which = rng.below(plain.waiting.len() as u64) as usize;
                        if rng.draw_chance(50) {
                            let (number, _, request) = plain.waiting.remove(which);
                            ours.remove(number, &request);
                        } else if plain.waiting[which].2.op != Op::Flush {
                            // A neighbour has joined it in front.
                            let kept = &mut plain.waiting[which];
                            let (number, before) = (kept.0, kept.2);
                            kept.2.lba = before.lba.saturating_sub(500);
                            ours.update_grown(number, &before, &kept.2);
                        }
                    }
                    _ => {
                        let found = ours.next(at);
                        assert_eq!(found, plain.next(now), "seed {seed}, step {step}");
                        sent[usize::from(plain.writes)] += u32::from(found.is_some());
                    }
                }
                assert_eq!(ours.len(), plain.waiting.len());
            }
        }
        assert!(sent.iter().all(|&count| count > 1_000), "{sent:?} reads and writes");
    }
}
