//! The electronics: the table of commands in flight, from the port to the completion. Commands are decoded one after
//! another, held back if they must wait for others, and completed in order. `reads` and `writes` know what a command
//! needs from buffer and medium.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use super::cache::BufferLookup;
use super::command::{Command, Stage};
use super::profile::{Firmware, Overhead};
use super::queuing::CommandStanding;
use crate::block::{Completion, Flags, Op, Queuing, Request, Status};
use crate::record::Part;
use crate::time::{Instant, Span};

/// Commands in flight, by slot.
#[derive(Clone, Debug)]
pub(super) struct Electronics {
    firmware: Firmware,
    overhead: Overhead,
    queuing: Queuing,
    commands: Vec<Command>,
    free_slots: Vec<u16>,
    /// Arriving commands, by the instant at which they are decoded.
    arriving: VecDeque<(Instant, u16)>,
    /// Decoded commands held back for others.
    held: VecDeque<u16>,
    /// The command that runs alone.
    alone: Option<u16>,
    /// Commands whose end is known, soonest first.
    finishing: VecDeque<(Instant, u16)>,
    ready: VecDeque<Completion>,
    /// Earliest instant at which the decoding of the next command begins.
    decoder_free_from: Instant,
    /// When the last command in flight ended.
    idle_since: Instant,
    /// The last read or write taken was a write.
    last_was_write: bool,
    /// An acknowledged write is still being written to the medium, apart from dirty segments.
    draining: bool,
    /// Flush commands received.
    flushes: u64,
}

impl Index<u16> for Electronics {
    type Output = Command;

    #[inline]
    fn index(&self, slot: u16) -> &Command {
        &self.commands[usize::from(slot)]
    }
}

impl IndexMut<u16> for Electronics {
    #[inline]
    fn index_mut(&mut self, slot: u16) -> &mut Command {
        &mut self.commands[usize::from(slot)]
    }
}

impl Electronics {
    /// Returns idle electronics. With `slot_for_draining` a write that is acknowledged but not yet on the medium keeps
    /// a slot of its own.
    pub(super) fn new(
        firmware: Firmware,
        overhead: Overhead,
        queuing: Queuing,
        slot_for_draining: bool,
    ) -> Electronics {
        let capacity = firmware.depth as usize + usize::from(slot_for_draining);
        Electronics {
            firmware,
            overhead,
            queuing,
            commands: alloc::vec![Command::empty_slot(); capacity],
            free_slots: (0..capacity as u16).rev().collect(),
            arriving: VecDeque::with_capacity(capacity),
            held: VecDeque::new(),
            alone: None,
            finishing: VecDeque::with_capacity(capacity),
            ready: VecDeque::with_capacity(capacity),
            decoder_free_from: Instant::ZERO,
            idle_since: Instant::ZERO,
            last_was_write: false,
            draining: false,
            flushes: 0,
        }
    }

    /// Fixed costs of commands.
    #[inline]
    pub(super) fn overhead(&self) -> &Overhead {
        &self.overhead
    }

    /// Maximum number of commands in flight.
    pub(super) fn depth(&self) -> u32 {
        self.firmware.depth
    }

    /// Number of slots.
    pub(super) fn slot_count(&self) -> usize {
        self.commands.len()
    }

    /// Number of flush commands received.
    pub(super) fn flush_count(&self) -> u64 {
        self.flushes
    }

    /// True if no command is in flight.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.free_slots.len() == self.commands.len()
    }

    /// When the last command in flight ended.
    pub(super) fn idle_since(&self) -> Instant {
        self.idle_since
    }

    /// True if an acknowledged write is still being written to the medium, apart from dirty segments.
    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        self.draining
    }

    /// Commands in flight.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = &Command> {
        self.commands.iter().filter(|command| command.stage != Stage::Free)
    }

    /// True if a command that waits for the medium begins at block `lba`.
    pub(super) fn any_queued_at(&self, lba: u64) -> bool {
        self.commands.iter().any(|command| command.stage == Stage::Queued && command.request.lba == lba)
    }

    /// Instant of the next decoding or completion, or `FAR`.
    #[inline]
    pub(super) fn next_event(&self) -> Instant {
        let first_instant = |queue: &VecDeque<(Instant, u16)>| queue.front().map_or(Instant::FAR, |&(at, _)| at);
        first_instant(&self.arriving).min(first_instant(&self.finishing))
    }

    // From the port to the end of decoding

    /// Takes a slot for another command, if the drive accepts one.
    #[inline]
    pub(super) fn take_slot(&mut self) -> Option<u16> {
        let spare = self.commands.len() - self.firmware.depth as usize;
        match self.free_slots.len() + usize::from(self.draining) <= spare {
            true => None,
            false => self.free_slots.pop(),
        }
    }

    /// Takes a command that comes while the drive is off; it ends at once with [`Status::PowerLost`].
    pub(super) fn refuse_command(
        &mut self,
        now: Instant,
        slot: u16,
        request: Request,
        versioned_lookup: (u64, BufferLookup),
    ) {
        self.flushes += u64::from(request.op == Op::Flush);
        self[slot].begin_request(now, request, versioned_lookup, true);
        self[slot].outcome = Status::PowerLost;
        self.finish_at(now, slot);
    }

    /// Takes a command that comes at `now`, gets the bus at `bus_free` and keeps it for `bus_time`. Returns when it is
    /// decoded, after those before it.
    #[inline]
    pub(super) fn take_command(
        &mut self,
        slot: u16,
        (now, bus_free, bus_time): (Instant, Instant, Span),
        request: Request,
        versioned_lookup: (u64, BufferLookup),
        (write_is_cached, may_read_ahead): (bool, bool),
    ) -> Instant {
        self.flushes += u64::from(request.op == Op::Flush);
        let begin = self.decoder_free_from.max(bus_free);
        let received = begin + bus_time;
        let decoded = received + self.decoding_cost(request.op, versioned_lookup.1, write_is_cached);
        if matches!(request.op, Op::Read | Op::Write | Op::WriteZeroes) {
            self.last_was_write = request.op != Op::Read;
        }
        let command = &mut self.commands[usize::from(slot)];
        command.begin_request(now, request, versioned_lookup, may_read_ahead);
        command.ledger.book_until(Part::Link, bus_free);
        command.ledger.book_until(Part::Queue, begin);
        command.ledger.book_until(Part::Link, received);
        command.ledger.book_until(Part::Overhead, decoded);
        self.decoder_free_from = decoded;
        self.arriving.push_back((decoded, slot));
        decoded
    }

    /// Time to decode a command, after the last read or write taken.
    #[inline]
    fn decoding_cost(&self, op: Op, lookup: BufferLookup, write_is_cached: bool) -> Span {
        let overhead = &self.overhead;
        let after = match op {
            Op::Read if lookup == BufferLookup::Miss => overhead.read_miss,
            Op::Read => overhead.read_hit,
            Op::Write | Op::WriteZeroes if write_is_cached => overhead.write_hit,
            Op::Write | Op::WriteZeroes => overhead.write_miss,
            Op::Flush | Op::Trim | Op::Compute => return overhead.flush,
        };
        if self.last_was_write { after.write } else { after.read }
    }

    /// When the arriving command is decoded, and its slot, if it is the only one in flight.
    #[inline]
    pub(super) fn lone_arrival(&self) -> Option<(Instant, u16)> {
        self.arriving.front().copied().filter(|_| self.free_slots.len() + 1 == self.commands.len())
    }

    /// Removes the next command that is decoded by `now`.
    #[inline]
    pub(super) fn pop_decoded(&mut self, now: Instant) -> Option<u16> {
        let &(at, slot) = self.arriving.front()?;
        if at > now {
            return None;
        }
        self.arriving.pop_front();
        Some(slot)
    }

    // Order constraints

    /// True if several commands can be outstanding.
    #[inline]
    fn is_queuing(&self) -> bool {
        self.firmware.depth > 1
    }

    /// True if a command must run alone.
    fn must_run_alone(&self, request: &Request) -> bool {
        match self.queuing {
            Queuing::None => false,
            Queuing::Tcq | Queuing::Ncq => !matches!(request.op, Op::Read | Op::Write),
            Queuing::Scsi => request.flags.has(Flags::ORDERED) && !request.flags.has(Flags::HEAD_OF_QUEUE),
        }
    }

    /// True if a command goes to the head of the queue.
    pub(super) fn goes_to_head(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::HEAD_OF_QUEUE)
    }

    /// True if a command goes before those without priority.
    pub(super) fn has_priority(&self, request: &Request) -> bool {
        self.firmware.priority && request.flags.has(Flags::PRIORITY)
    }

    /// Standing of a command among those that wait for the medium.
    #[inline]
    pub(super) fn standing(&self, request: &Request) -> CommandStanding {
        if request.flags == Flags::NONE {
            return CommandStanding::Plain;
        }
        if self.goes_to_head(request) {
            CommandStanding::Head
        } else if self.has_priority(request) {
            CommandStanding::Preferred
        } else {
            CommandStanding::Plain
        }
    }

    /// True if a command asks for an order that the drive does not keep.
    pub(super) fn is_order_unsupported(&self, request: &Request) -> bool {
        let ordered = request.flags.has(Flags::ORDERED) || request.flags.has(Flags::HEAD_OF_QUEUE);
        ordered && self.queuing.is_ata()
    }

    /// Number of commands that are decoded, and neither held back nor draining.
    fn active_count(&self) -> usize {
        let inactive = self.arriving.len() + self.held.len() + usize::from(self.draining);
        self.commands.len() - self.free_slots.len() - inactive
    }

    /// Holds back a decoded command that must wait for others. Returns true if it does.
    #[inline]
    pub(super) fn hold_back(&mut self, slot: u16, request: &Request) -> bool {
        if !self.is_queuing() || self.goes_to_head(request) {
            return false;
        }
        let behind_others = self.holds_any();
        // The command itself counts as active by now.
        let waits = behind_others || (self.must_run_alone(request) && self.active_count() > 1);
        if !waits {
            return false;
        }
        let command = &mut self[slot];
        (command.stage, command.behind_exclusive) = (Stage::Held, behind_others);
        self.held.push_back(slot);
        true
    }

    /// Admits a command; later ones wait for it if it must run alone.
    #[inline]
    pub(super) fn admit_command(&mut self, now: Instant, slot: u16, request: &Request) {
        self[slot].ledger.book_until(Part::Queue, now);
        if self.is_queuing() && self.must_run_alone(request) && !self.goes_to_head(request) {
            self.alone = Some(slot);
        }
    }

    /// True if commands are held back, or would be: one runs alone.
    #[inline]
    pub(super) fn holds_any(&self) -> bool {
        self.alone.is_some() || !self.held.is_empty()
    }

    /// Ends the wait of others for the command in `slot`, if it runs alone.
    pub(super) fn end_exclusive_run(&mut self, slot: u16) {
        if self.alone == Some(slot) {
            self.alone = None;
        }
    }

    /// Removes the next held-back command that may run.
    pub(super) fn pop_held(&mut self, now: Instant) -> Option<u16> {
        let &slot = self.held.front()?;
        if self.alone.is_some() {
            return None;
        }
        let command = &mut self[slot];
        let request = command.request;
        if core::mem::take(&mut command.behind_exclusive) {
            command.ledger.book_until(Part::Flush, now);
        }
        if self.must_run_alone(&request) && self.active_count() > 0 {
            return None;
        }
        self.held.pop_front();
        Some(slot)
    }

    /// Charges the wait of queued commands until `now` to `part`.
    pub(super) fn charge_queue_wait(&mut self, part: Part, now: Instant) {
        let queued = self.commands.iter_mut().filter(|command| command.stage == Stage::Queued);
        for command in queued.filter(|command| command.ledger.booked_until() < now) {
            command.ledger.book_until(part, now);
        }
    }

    // Completion

    /// Ends the work of a command at `at`; its status is still to be sent.
    pub(super) fn close_command(&mut self, slot: u16, at: Instant) {
        let overhead = &self.overhead;
        let command = &mut self.commands[usize::from(slot)];
        let write = matches!(command.request.op, Op::Write | Op::WriteZeroes);
        let end = at + if write { overhead.write_completion } else { overhead.completion };
        command.ledger.book_until(Part::Link, at);
        command.ledger.book_until(Part::Overhead, end);
        self.finish_at(end, slot);
    }

    /// Lets a command complete at `at`; commands of one instant complete in the order of their tags.
    pub(super) fn finish_at(&mut self, at: Instant, slot: u16) {
        self[slot].stage = Stage::Finishing;
        match self.finishing.back() {
            Some(&(last, _)) if last >= at => self.insert_finishing(at, slot),
            _ => self.finishing.push_back((at, slot)),
        }
    }

    /// Inserts a command among others that complete then or later.
    fn insert_finishing(&mut self, at: Instant, slot: u16) {
        let tag = self[slot].request.tag;
        let index = self.finishing.partition_point(|&(end, other)| (end, self[other].request.tag) <= (at, tag));
        self.finishing.insert(index, (at, slot));
    }

    /// Removes the next command that completes by `now`, and returns when.
    #[inline]
    pub(super) fn pop_finished(&mut self, now: Instant) -> Option<(Instant, u16)> {
        let &(at, slot) = self.finishing.front()?;
        if at > now {
            return None;
        }
        self.finishing.pop_front();
        Some((at, slot))
    }

    /// Makes the completion of a command ready to be polled. A command whose access is `still_on_medium` keeps its
    /// slot.
    pub(super) fn queue_completion(&mut self, at: Instant, slot: u16, still_on_medium: bool) {
        let command = &mut self.commands[usize::from(slot)];
        self.ready.push_back(command.completion(at));
        match still_on_medium {
            true => {
                command.stage = Stage::Draining;
                self.draining = true;
            }
            false => self.release_slot(at, slot),
        }
    }

    /// Frees a slot.
    pub(super) fn release_slot(&mut self, at: Instant, slot: u16) {
        let command = &mut self.commands[usize::from(slot)];
        self.draining &= command.stage != Stage::Draining;
        command.stage = Stage::Free;
        self.free_slots.push(slot);
        if self.is_idle() {
            self.idle_since = at;
        }
    }

    /// Frees the slot of the only command in flight, which was served in one go and ended at `at`.
    #[inline]
    pub(super) fn release_lone_slot(&mut self, at: Instant, slot: u16) {
        self.arriving.pop_front();
        self.free_slots.push(slot);
        self.idle_since = at;
        self[slot].stage = Stage::Free;
    }

    /// Instants (bus granted, command received, decoded) of a read miss that comes to a drive with no other command,
    /// can have the bus at `bus_free` and keeps it for `bus_time`.
    #[inline(always)]
    pub(super) fn lone_decoding(&self, bus_free: Instant, bus_time: Span) -> (Instant, Instant, Instant) {
        let after = &self.overhead.read_miss;
        let begin = self.decoder_free_from.max(bus_free);
        let received = begin + bus_time;
        (begin, received, received + if self.last_was_write { after.write } else { after.read })
    }

    /// Notes that a read, which had the drive to itself and no slot, was decoded and answered at these instants.
    #[inline(always)]
    pub(super) fn record_lone_read(&mut self, decoded: Instant, answered: Instant) {
        (self.decoder_free_from, self.idle_since, self.last_was_write) = (decoded, answered, false);
    }

    /// Removes the next completion.
    #[inline]
    pub(super) fn pop_ready(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    /// Moves the next completion into `answer`. Returns true if there is one.
    #[inline]
    pub(super) fn pop_ready_into(&mut self, answer: &mut Completion) -> bool {
        let Some(first) = self.ready.front() else { return false };
        *answer = *first;
        self.ready.pop_front();
        true
    }

    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    // Errors and aborts

    /// Removes an unfinished command from wherever it waits here, and ends its ledger at `now`; it will complete with
    /// `status`. Returns false if the slot has none, or `is_chosen` does not select its tag.
    pub(super) fn remove_command(
        &mut self,
        now: Instant,
        slot: u16,
        status: Status,
        is_chosen: impl Fn(u32) -> bool,
    ) -> bool {
        let command = &mut self[slot];
        if matches!(command.stage, Stage::Free | Stage::Draining) || !is_chosen(command.request.tag) {
            return false;
        }
        let part = match command.stage {
            Stage::Arriving => Part::Overhead,
            Stage::Held if command.behind_exclusive => Part::Flush,
            Stage::Held | Stage::Queued => Part::Queue,
            Stage::Medium => Part::Rotation,
            Stage::Parked => Part::Cache,
            Stage::Flushing => Part::Flush,
            _ => Part::Link,
        };
        command.ledger.close_at(part, now);
        command.outcome = status;
        self.arriving.retain(|&(_, other)| other != slot);
        self.held.retain(|&other| other != slot);
        self.finishing.retain(|&(_, other)| other != slot);
        true
    }

    /// Tags of the commands that fail with one that ended in `status`: an ATA queue aborts on an error. Delays the next
    /// decoding then, since the host reads the error log before it sends anything again (READ LOG EXT, 512 bytes, which
    /// takes `log_time` of the link).
    pub(super) fn tags_failing_with(&mut self, now: Instant, status: Status, log_time: Span) -> Option<Vec<u32>> {
        let error = matches!(status, Status::MediumError | Status::OutOfRange);
        if !error || !self.is_queuing() || !self.queuing.is_ata() {
            return None;
        }
        self.decoder_free_from = self.decoder_free_from.max(now) + log_time + self.overhead.flush;
        let waits = |stage: Stage| matches!(stage, Stage::Free | Stage::Arriving | Stage::Held | Stage::Draining);
        let under_way = self.commands.iter().filter(|command| !waits(command.stage));
        Some(under_way.map(|command| command.request.tag).collect())
    }

    /// Lets decoding start again at `now`, without commands before.
    pub(super) fn restart_decoding(&mut self, now: Instant) {
        self.decoder_free_from = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::SmallDrive;

    /// Tags in the order of completion of commands that end as given (nanoseconds, tag).
    fn completion_order(ends: &[(u64, u32)]) -> Vec<u32> {
        let profile = SmallDrive::default().profile();
        let firmware = Firmware { depth: ends.len() as u32, ..profile.firmware };
        let mut electronics = Electronics::new(firmware, profile.overhead, profile.link.queuing, false);
        for &(at, tag) in ends {
            let slot = electronics.take_slot().expect("there is one for each");
            let request = Request { tag, ..Request::NONE };
            electronics[slot].begin_request(Instant::ZERO, request, (0, BufferLookup::Miss), true);
            electronics.finish_at(Instant::from_nanos(at), slot);
        }
        let pop = || electronics.pop_finished(Instant::FAR).map(|(_, slot)| slot);
        let slots: Vec<u16> = core::iter::from_fn(pop).collect();
        slots.iter().map(|&slot| electronics[slot].request.tag).collect()
    }

    #[test]
    fn commands_complete_by_their_ends_and_ties_by_tag() {
        assert_eq!(completion_order(&[(10, 7), (20, 5), (30, 6)]), [7, 5, 6]);
        assert_eq!(completion_order(&[(30, 1), (10, 2), (20, 3)]), [2, 3, 1]);
        assert_eq!(completion_order(&[(10, 9), (10, 3), (20, 1), (10, 6), (20, 0)]), [3, 6, 9, 0, 1]);
    }
}
