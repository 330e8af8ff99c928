//! Splits requests into portions, and portions into commands of the members. The array decides when commands are sent.
//!
//! Portions are named by their index in the array's list.

use super::layout::{ArrayVolume, RaidLevel};
use super::portions::{LockKind, MemberCommand, MemberSpan, NONE, Portion, PortionKind, SectorBounds};
use super::stripe_cache::PAGE;
use super::{Array, ArrayContext, REFUSAL};
use crate::block::array_load::MemberWork;
use crate::block::{Flags, Limits, Op, Status};
use crate::record::{Effort, Part};
use crate::time::Instant;

impl Array {
    /// Splits the request in `slot` into portions and begins them.
    pub(super) fn split_request(&mut self, context: &mut ArrayContext, now: Instant, slot: u32) {
        let request = context.slots[slot].request;
        let capacity: u64 = self.volumes.iter().map(ArrayVolume::capacity).sum();
        let mut portion = Portion { op: request.op, ..Portion::blank_flush(slot, now) };
        let refused = match request.op {
            _ if !self.powered => Some(Status::PowerLost),
            Op::Flush => None,
            Op::Read | Op::Write if request.end() > capacity => Some(Status::OutOfRange),
            Op::Read | Op::Write => None,
            _ => Some(Status::Unsupported),
        };
        if let Some(status) = refused {
            context.slots[slot].status = status;
            return;
        }
        if request.op == Op::Flush {
            return self.begin_portion(context, now, portion);
        }
        let mut start = 0;
        for index in 0..self.volumes.len() {
            let volume = self.volumes[index];
            let (from, end) = (request.lba.max(start), request.end().min(start + volume.capacity()));
            if from < end {
                let blocks = SectorBounds { from: from - start, end: end - start };
                // The stripe cache numbers a write when it adds the first page.
                if request.op == Op::Write && volume.parities() == 0 {
                    let bounds = SectorBounds { from, end };
                    portion.write_number =
                        self.numbering.number_write(&mut context.landings, now, request.stamp, bounds);
                }
                self.split_in_volume(context, now, &volume, Portion { volume: index as u8, blocks, ..portion });
            }
            start += volume.capacity();
        }
    }

    /// Splits the part of a request in one volume.
    fn split_in_volume(&mut self, context: &mut ArrayContext, now: Instant, volume: &ArrayVolume, portion: Portion) {
        let plain = Portion { kind: PortionKind::Plain, ..portion };
        let by_stripes = Portion { kind: PortionKind::Stripes, next_page: (portion.blocks.from, 0), ..portion };
        match (volume.parities() > 0, portion.op) {
            _ if self.lost_volumes >> portion.volume & 1 == 1 => self.begin_portion(context, now, plain),
            (false, Op::Write) if volume.copies() > 1 => {
                self.begin_portion(context, now, with_locked_range(volume, plain))
            }
            (false, _) => self.begin_portion(context, now, plain),
            (true, Op::Read) if self.missing_members == 0 => self.begin_portion(context, now, plain),
            (true, _) if !takes_flags(&context.limits_below(0), context.slots[portion.request_slot].request.flags) => {
                context.slots[portion.request_slot].keep_first_error(Status::Unsupported);
            }
            (true, _) => self.begin_portion(context, now, with_locked_range(volume, by_stripes)),
        }
    }

    /// Begins a portion: makes its first commands as soon as it has locked its range.
    pub(super) fn begin_portion(&mut self, context: &mut ArrayContext, now: Instant, portion: Portion) {
        if portion.request_slot != NONE {
            context.slots[portion.request_slot].note.unfinished_portions += 1;
        }
        let portion = if self.sync.is_some() { self.with_read_lock(portion) } else { portion };
        let index = self.portions.put(portion);
        if self.locks.lock_or_wait(&self.portions, index) {
            self.dispatch_portion(context, now, index);
        }
    }

    /// The portion with a lock, if it is a user's read of a mirror during a sync. A sync of a mirror waits for users.
    pub(super) fn with_read_lock(&self, portion: Portion) -> Portion {
        let volume = self.volumes[usize::from(portion.volume)];
        let is_plain_read = portion.kind == PortionKind::Plain && portion.op == Op::Read;
        if !is_plain_read || volume.copies() == 1 || portion.locked_columns != 0 {
            return portion;
        }
        let lock_kind = if volume.level == RaidLevel::Raid10 { LockKind::Read } else { LockKind::PassingRead };
        Portion { lock_kind, ..with_locked_range(&volume, portion) }
    }

    /// Makes the first commands of a portion, or makes them again; refuses it if its volume is lost.
    pub(super) fn dispatch_portion(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        if self.hold_for_bitmap(portion_index) {
            return;
        }
        let portion = &mut self.portions[portion_index];
        portion.begun = true;
        // The added count keeps the portion from ending before all commands are made.
        portion.commands_left += 1;
        let portion = *portion;
        match portion.kind {
            _ if self.must_refuse(&portion) => return self.refusals.push_back((now + REFUSAL, portion_index)),
            PortionKind::Flush | PortionKind::RebuildFlush => self.flush_members(now, portion_index),
            PortionKind::RebuildRun | PortionKind::CheckRun => self.read_sync_run(now, portion_index),
            PortionKind::Plain => self.access_copies(now, portion_index),
            // The stripe cache adds its pages, and then takes back the added count.
            PortionKind::Stripes => return self.stripe_queue.push_back(portion_index),
            // `send_bitmap_pages` has made its commands.
            PortionKind::BitmapPages => {}
        }
        self.finish_dispatch(context, now, portion_index);
    }

    /// True if the portion is refused because its volume is lost. A flush covers all volumes, so it fails if any of
    /// them is lost: data that the volume had acknowledged will never be durable.
    pub(super) fn must_refuse(&self, portion: &Portion) -> bool {
        match portion.kind {
            PortionKind::Flush => self.lost_volumes != 0,
            PortionKind::RebuildFlush | PortionKind::RebuildRun | PortionKind::CheckRun | PortionKind::BitmapPages => {
                false
            }
            _ => self.lost_volumes >> portion.volume & 1 == 1,
        }
    }

    /// Takes back the extra command that a portion was given while its commands were made.
    pub(super) fn finish_dispatch(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        let portion = &mut self.portions[portion_index];
        portion.commands_left -= 1;
        if portion.commands_left == 0 {
            portion.ledger.book_until(Part::Driver, now);
            self.advance_portion(context, now, portion_index);
        }
    }

    pub(super) fn fail_portion(&mut self, portion_index: u32) {
        self.portions[portion_index].status = Status::MediumError;
    }

    /// Makes the commands of a flush: to all members, or, at the end of a rebuild, to the new ones.
    fn flush_members(&mut self, now: Instant, portion_index: u32) {
        let new = self.rebuilt_members();
        let is_rebuild = self.portions[portion_index].kind == PortionKind::RebuildFlush;
        let flushed = if is_rebuild { new } else { !self.missing_members | new };
        for member in (0..self.spec.members).filter(|member| flushed >> member & 1 == 1) {
            self.flush_member(now, portion_index, member);
        }
    }

    pub(super) fn flush_member(&mut self, now: Instant, portion_index: u32, member: u32) {
        let (lba, portion) = (self.members[member as usize].queued_end, portion_index);
        let (work, op) = (self.portions[portion].kind.member_work(), Op::Flush);
        let (stamp, flags) = (self.portions[portion].write_number, Flags::NONE);
        self.queue_command(
            now,
            MemberCommand { portion, member, work, op, lba, sectors: 0, stamp, flags, sent: false },
        );
    }

    /// Makes the commands that read one copy, or write all, chunk by chunk. Chunks that are contiguous on a member are
    /// joined to a piece.
    fn access_copies(&mut self, now: Instant, portion_index: u32) {
        let portion = self.portions[portion_index];
        let volume = self.volumes[usize::from(portion.volume)];
        // Members with a growing piece, one bit each.
        let mut growing = 0u32;
        let mut lba = portion.blocks.from;
        while lba < portion.blocks.end {
            let place = volume.row_position(lba);
            let sectors = (volume.chunk - place.within).min(portion.blocks.end - lba);
            let from = volume.row_start(place.row) + place.within;
            let bounds = SectorBounds { from, end: from + sectors };
            if portion.op == Op::Write {
                let writable = self.members_to_write(&volume, bounds);
                for copy in 0..volume.copies() {
                    let member = volume.data_member(place.row, place.column, copy);
                    if writable >> member & 1 == 1 {
                        growing |= 1 << member;
                        self.grow_piece(now, portion_index, MemberSpan { member, bounds });
                    }
                }
            } else {
                match self.choose_copy(&volume, place.row, place.column, bounds, portion.avoided_members) {
                    Some(member) => {
                        growing |= 1 << member;
                        self.grow_piece(now, portion_index, MemberSpan { member, bounds });
                    }
                    None => self.fail_portion(portion_index),
                }
            }
            lba += sectors;
        }
        while growing != 0 {
            let member = growing.trailing_zeros();
            growing &= growing - 1;
            if let Some(bounds) = self.growing_pieces[member as usize].take() {
                self.queue_span(now, portion_index, portion.op, MemberSpan { member, bounds });
            }
        }
    }

    /// Adds a chunk to the member's growing piece if it continues it. Otherwise queues that piece and starts another.
    fn grow_piece(&mut self, now: Instant, portion_index: u32, MemberSpan { member, bounds }: MemberSpan) {
        match &mut self.growing_pieces[member as usize] {
            Some(piece) if piece.end == bounds.from => piece.end = bounds.end,
            piece => {
                if let Some(bounds) = piece.replace(bounds) {
                    let op = self.portions[portion_index].op;
                    self.queue_span(now, portion_index, op, MemberSpan { member, bounds });
                }
            }
        }
    }

    /// Charges the portion's request with this many sectors of parity work.
    pub(super) fn charge_parity(&mut self, context: &mut ArrayContext, portion_index: u32, sectors: u64) {
        let slot = self.portions[portion_index].request_slot;
        if slot != NONE {
            let effort = Effort { parity: sectors as u32, ..Effort::default() };
            context.slots[slot].account_mut().effort.add(&effort);
        }
    }

    /// Reads another copy, or reconstructs the data, after a command of a plain read has failed.
    pub(super) fn read_elsewhere(&mut self, context: &mut ArrayContext, now: Instant, failed: &MemberCommand) {
        let portion = self.portions[failed.portion];
        let volume = self.volumes[usize::from(portion.volume)];
        let (mut from, failed_end) = (failed.lba, failed.lba + u64::from(failed.sectors));
        let avoided_members = portion.avoided_members | 1 << failed.member;
        self.portions[failed.portion].avoided_members = avoided_members;
        while from < failed_end {
            let row = (from - volume.first) / volume.chunk;
            let end = (volume.row_start(row) + volume.chunk).min(failed_end);
            let bounds = SectorBounds { from, end };
            let block = volume.block_at(failed.member, from).map(|(_, block)| block);
            let column = block.map(|block| volume.row_position(block).column);
            let copy = column.and_then(|column| self.choose_copy(&volume, row, column, bounds, avoided_members));
            match (copy, block) {
                (Some(member), _) => {
                    self.queue_span(now, failed.portion, Op::Read, MemberSpan { member, bounds });
                }
                (None, Some(block)) if volume.parities() > 0 => {
                    let reconstruction = Portion {
                        kind: PortionKind::Stripes,
                        blocks: SectorBounds { from: block, end: block + (end - from) },
                        next_page: (block, 0),
                        avoided_members,
                        writing: false,
                        commands_left: 0,
                        begun: false,
                        ..portion
                    };
                    self.begin_portion(context, now, with_locked_range(&volume, reconstruction));
                }
                _ => self.fail_portion(failed.portion),
            }
            from = end;
        }
    }

    /// Queues a command for the purpose of its portion.
    pub(super) fn queue_span(&mut self, now: Instant, portion: u32, op: Op, span: MemberSpan) {
        self.queue_work(now, portion, self.portions[portion].kind.member_work(), op, span);
    }

    /// Queues a command for sectors of a member. If they exceed the largest transfer, queues several, split between physical
    /// sectors.
    fn queue_work(&mut self, now: Instant, portion: u32, work: MemberWork, op: Op, span: MemberSpan) {
        let MemberSpan { member, bounds } = span;
        let mut lba = bounds.from;
        while lba < bounds.end {
            let limit = lba + u64::from(self.limits.max_transfer);
            let aligned = limit - limit % self.physical;
            let stop = if bounds.end <= limit {
                bounds.end
            } else if aligned > lba {
                aligned
            } else {
                limit
            };
            let sectors = (stop - lba) as u32;
            let (stamp, flags) = (self.portions[portion].write_number, Flags::NONE);
            self.queue_command(
                now,
                MemberCommand { portion, member, work, op, lba, sectors, stamp, flags, sent: false },
            );
            lba = stop;
        }
    }

    pub(super) fn queue_command(&mut self, now: Instant, command: MemberCommand) {
        let tag = self.commands.put(command);
        if command.has_portion() {
            self.portions[command.portion].commands_left += 1;
        }
        let is_for_sync = command.work == MemberWork::Sync;
        let member = &mut self.members[command.member as usize];
        if is_for_sync {
            member.load.issue_for_sync(command.sectors);
        }
        member.queued_end = command.lba + u64::from(command.sectors);
        member.waiting.push(now, command.lba, tag);
        self.members_to_serve |= 1 << command.member;
    }
}

/// True if members of these limits take commands with these flags. A stripe serves several requests: one whose flags the
/// members refuse must not fail the others.
fn takes_flags(limits: &Limits, flags: Flags) -> bool {
    let has_order = flags.has(Flags::ORDERED) || flags.has(Flags::HEAD_OF_QUEUE);
    (limits.fua || !flags.has(Flags::FUA)) && !(has_order && limits.queuing.is_ata())
}

/// The portion with the range that it locks: its rows; within one chunk only the sectors that it touches, with parity whole
/// pages of them; on RAID 10 only the pairs.
fn with_locked_range(volume: &ArrayVolume, portion: Portion) -> Portion {
    let (first, last) = (volume.row_position(portion.blocks.from), volume.row_position(portion.blocks.end - 1));
    let is_in_one_chunk = first.row == last.row && first.column == last.column;
    let locked = if is_in_one_chunk {
        let (start, unit) = (volume.row_start(first.row), if volume.parities() > 0 { PAGE } else { 1 });
        let from = start + first.within / unit * unit;
        SectorBounds { from, end: start + (last.within + 1).next_multiple_of(unit) }
    } else {
        SectorBounds { from: volume.row_start(first.row), end: volume.row_start(last.row + 1) }
    };
    let locked_columns = match volume.level {
        RaidLevel::Raid10 if first.row == last.row => (first.column..=last.column).fold(0, |all, pair| all | 1 << pair),
        _ => u64::MAX,
    };
    let lock_kind = if portion.kind == PortionKind::Stripes { LockKind::Shared } else { portion.lock_kind };
    Portion { locked, locked_columns, lock_kind, ..portion }
}
