//! Splits requests into portions, and portions into commands of the members. The array decides when commands are sent.

use super::layout::{ArrayVolume, RaidLevel};
use super::parity::StripeRow;
use super::portions::{MemberCommand, Portion, PortionKind};
use super::{Array, ArrayContext, ArrayMember, NOBODY, REFUSAL, ReadBalance};
use crate::block::{Op, Status};
use crate::record::Effort;
use crate::time::Instant;

impl Array {
    /// Splits a request into portions and begins them.
    pub(super) fn split_request(&mut self, context: &mut ArrayContext, now: Instant, parent: u32) {
        let request = context.slots[parent].request;
        let sectors: u64 = self.volumes.iter().map(ArrayVolume::capacity).sum();
        let mut portion = Portion { op: request.op, ..Portion::blank_flush(parent, now) };
        let refused = match request.op {
            _ if !self.powered => Some(Status::PowerLost),
            Op::Flush => None,
            Op::Read | Op::Write if request.end() > sectors => Some(Status::OutOfRange),
            Op::Read | Op::Write => None,
            _ => Some(Status::Unsupported),
        };
        if let Some(status) = refused {
            context.slots[parent].status = status;
            return;
        }
        if request.op == Op::Flush {
            return self.begin_portion(context, now, portion);
        }
        if request.op == Op::Write {
            portion.number = self.numbering.number_write(&mut context.landings, now, &request);
        }
        let mut start = 0;
        for index in 0..self.volumes.len() {
            let volume = self.volumes[index];
            let (lba, end) = (request.lba.max(start), request.end().min(start + volume.capacity()));
            if lba < end {
                self.split_in_volume(
                    context,
                    now,
                    &volume,
                    Portion { volume: index as u8, lba: lba - start, end: end - start, ..portion },
                );
            }
            start += volume.capacity();
        }
    }

    /// Splits the part of a request in one volume.
    fn split_in_volume(&mut self, context: &mut ArrayContext, now: Instant, volume: &ArrayVolume, portion: Portion) {
        let plain = Portion { kind: PortionKind::Plain, ..portion };
        match (volume.parities() > 0, portion.op) {
            _ if self.dead >> portion.volume & 1 == 1 => self.begin_portion(context, now, plain),
            (false, Op::Write) if volume.copies() > 1 => self.begin_portion(context, now, with_row_lock(volume, plain)),
            (false, _) => self.begin_portion(context, now, plain),
            (true, Op::Write) => self.split_parity_write(context, now, volume, portion),
            (true, _) if self.failed == 0 => self.begin_portion(context, now, plain),
            (true, _) => self.split_degraded_read(context, now, volume, portion),
        }
    }

    /// Splits a write row by row; whole rows stay together, because they need no reads.
    fn split_parity_write(&mut self, context: &mut ArrayContext, now: Instant, volume: &ArrayVolume, portion: Portion) {
        let mut lba = portion.lba;
        while lba < portion.end {
            let (row, rest) = (volume.row_sectors(), portion.end - lba);
            let end = match lba.is_multiple_of(row) && rest >= row {
                true => lba + rest / row * row,
                false => (lba / row * row + row).min(portion.end),
            };
            self.begin_portion(
                context,
                now,
                with_row_lock(volume, Portion { kind: PortionKind::Update, lba, end, ..portion }),
            );
            lba = end;
        }
    }

    /// Splits a read: rows with lost data one by one, the others together.
    fn split_degraded_read(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        volume: &ArrayVolume,
        portion: Portion,
    ) {
        let (mut from, mut lba) = (portion.lba, portion.lba);
        while lba < portion.end {
            let end = (lba / volume.row_sectors() * volume.row_sectors() + volume.row_sectors()).min(portion.end);
            if row_part(volume, lba, end).touches_missing_member(self.readable_members(member_end(volume, end))) {
                if from < lba {
                    self.begin_portion(
                        context,
                        now,
                        Portion { kind: PortionKind::Plain, lba: from, end: lba, ..portion },
                    );
                }
                self.begin_portion(
                    context,
                    now,
                    with_row_lock(volume, Portion { kind: PortionKind::Recover, lba, end, ..portion }),
                );
                from = end;
            }
            lba = end;
        }
        if from < portion.end {
            self.begin_portion(
                context,
                now,
                Portion { kind: PortionKind::Plain, lba: from, end: portion.end, ..portion },
            );
        }
    }

    /// Begins a portion; it runs as soon as it has locked its range.
    pub(super) fn begin_portion(&mut self, context: &mut ArrayContext, now: Instant, portion: Portion) {
        if portion.parent != NOBODY {
            context.slots[portion.parent].note += 1;
        }
        let index = self.portions.put(portion);
        if self.turns.lock_or_wait(&self.portions, index) {
            self.run_portion(context, now, index);
        }
    }

    /// Sends the first commands of a portion, or starts it again.
    pub(super) fn run_portion(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        if self.hold_for_bitmap(index) {
            return;
        }
        let portion = &mut self.portions[index];
        portion.begun = true;
        let portion = *portion;
        // A portion without commands must not end before all of them are made.
        self.portions[index].left += 1;
        match portion.kind {
            _ if self.is_lost(&portion) => return self.failing.push_back((now + REFUSAL, index)),
            PortionKind::Flush | PortionKind::Seal => self.flush_members(now, index),
            PortionKind::Rebuild => self.read_run(now, index),
            PortionKind::Plain => self.access_copies(now, index),
            PortionKind::Update => self.read_for_update(context, now, index),
            PortionKind::Recover => self.recover_row(context, now, index),
            // `store_pages` has made its commands.
            PortionKind::Intent => {}
        }
        self.finish_dispatch(context, now, index);
    }

    /// True if the portion is refused because its volume is lost. A flush covers all volumes, so it fails if any of
    /// them is lost: what that volume had acknowledged will never be durable.
    pub(super) fn is_lost(&self, portion: &Portion) -> bool {
        match portion.kind {
            PortionKind::Flush => self.dead != 0,
            PortionKind::Seal | PortionKind::Rebuild | PortionKind::Intent => false,
            _ => self.dead >> portion.volume & 1 == 1,
        }
    }

    pub(super) fn finish_dispatch(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let portion = &mut self.portions[index];
        portion.left -= 1;
        if portion.left == 0 {
            portion.ledger.book_until(crate::record::Part::Driver, now);
            self.advance_portion(context, now, index);
        }
    }

    pub(super) fn fail_portion(&mut self, index: u32) {
        self.portions[index].status = Status::MediumError;
    }

    fn flush_members(&mut self, now: Instant, index: u32) {
        let only = self.portions[index].kind == PortionKind::Seal;
        let new = self.rebuild.map_or(0, |rebuild| 1 << rebuild.member);
        let wanted = if only { new } else { !self.failed | new };
        for member in (0..self.spec.members).filter(|member| wanted >> member & 1 == 1) {
            self.flush_member(now, index, member);
        }
    }

    pub(super) fn flush_member(&mut self, now: Instant, index: u32, member: u32) {
        let lba = self.members[member as usize].head;
        self.queue_command(now, MemberCommand { portion: index, member, op: Op::Flush, lba, sectors: 0, sent: false });
    }

    /// Reads one copy, or writes all, chunk by chunk; chunks that are contiguous on a member are joined.
    fn access_copies(&mut self, now: Instant, index: u32) {
        let portion = self.portions[index];
        let volume = self.volumes[usize::from(portion.volume)];
        // Members with a growing piece, one bit each.
        let mut growing = 0u32;
        let mut lba = portion.lba;
        while lba < portion.end {
            let place = volume.row_position(lba);
            let sectors = (volume.chunk - place.within).min(portion.end - lba);
            let from = volume.row_start(place.row) + place.within;
            let to = from + sectors;
            if portion.op == Op::Write {
                let writable = self.writable_members(from);
                for copy in 0..volume.copies() {
                    let member = volume.data_member(place.row, place.column, copy);
                    if writable >> member & 1 == 1 {
                        growing |= 1 << member;
                        self.join_piece(now, index, member, from, to);
                    }
                }
            } else {
                match self.choose_copy(&volume, place.row, place.column, (from, to), portion.avoid) {
                    Some(member) => {
                        growing |= 1 << member;
                        self.join_piece(now, index, member, from, to);
                    }
                    None => self.fail_portion(index),
                }
            }
            lba += sectors;
        }
        while growing != 0 {
            let member = growing.trailing_zeros();
            growing &= growing - 1;
            if let Some((from, to)) = self.open[member as usize].take() {
                self.queue_range(now, index, member, portion.op, from, to);
            }
        }
    }

    /// Adds a piece to the member's growing one, or starts another.
    fn join_piece(&mut self, now: Instant, index: u32, member: u32, from: u64, to: u64) {
        match &mut self.open[member as usize] {
            Some(open) if open.1 == from => open.1 = to,
            open => {
                if let Some((from, to)) = open.replace((from, to)) {
                    let op = self.portions[index].op;
                    self.queue_range(now, index, member, op, from, to);
                }
            }
        }
    }

    /// The member to read a chunk from: among several copies the member at which the last piece ended, else as the balance
    /// says.
    fn choose_copy(
        &mut self,
        volume: &ArrayVolume,
        row: u64,
        column: u32,
        span: (u64, u64),
        avoid: u64,
    ) -> Option<u32> {
        let usable = self.readable_members(span.1) & !avoid;
        let members = (0..volume.copies()).map(|copy| volume.data_member(row, column, copy));
        let mut members = members.filter(|member| usable >> member & 1 == 1);
        if volume.copies() == 1 {
            return members.next();
        }
        let goes_on = |member: &u32| self.open[*member as usize].is_some_and(|open| open.1 == span.0);
        if let Some(member) = members.clone().find(goes_on) {
            return Some(member);
        }
        match self.spec.balance {
            ReadBalance::First => members.next(),
            ReadBalance::RoundRobin => {
                self.turn = self.turn.wrapping_add(1);
                let count = members.clone().count().max(1);
                members.nth(self.turn as usize % count)
            }
            ReadBalance::Nearest => members.min_by_key(|&member| {
                let ArrayMember { waiting, flying, head, .. } = &self.members[member as usize];
                (*flying > 0 || !waiting.is_empty(), head.abs_diff(span.0), member)
            }),
        }
    }

    /// Reads the chunks that a write to a row with parity needs first.
    fn read_for_update(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let portion = self.portions[index];
        let volume = self.volumes[usize::from(portion.volume)];
        if portion.end - portion.lba > volume.row_sectors() {
            return self.charge_parity(context, index, portion.end - portion.lba);
        }
        let row = row_part(&volume, portion.lba, portion.end);
        let usable = self.readable_members(portion.span.1) & !portion.avoid;
        match row.choose_method(usable, self.writable_members(portion.span.0), self.spec.parity) {
            Some(way) => {
                self.charge_parity(context, index, row.computed_sectors(way, self.writable_members(portion.span.0)));
                row.visit_reads(way, usable, |member, from, to| {
                    self.queue_range(now, index, member, Op::Read, from, to)
                });
            }
            None => self.fail_portion(index),
        }
    }

    /// Reads the row to reconstruct its lost data.
    fn recover_row(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let portion = self.portions[index];
        let volume = self.volumes[usize::from(portion.volume)];
        let row = row_part(&volume, portion.lba, portion.end);
        let usable = self.readable_members(portion.span.1) & !portion.avoid;
        if row.source_members(usable).is_none() {
            return self.fail_portion(index);
        }
        let (low, high) = row.hull();
        self.charge_parity(context, index, u64::from(volume.columns()) * (high - low));
        row.visit_source_reads(usable, |member, from, to| self.queue_range(now, index, member, Op::Read, from, to));
    }

    /// Charges the portion's request with this many sectors of parity work.
    fn charge_parity(&mut self, context: &mut ArrayContext, index: u32, sectors: u64) {
        let parent = self.portions[index].parent;
        if parent != NOBODY {
            let effort = Effort { parity: sectors as u32, ..Effort::default() };
            context.slots[parent].account_mut().effort.add(&effort);
        }
    }

    /// Writes, once everything needed has been read.
    pub(super) fn write_portion(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let portion = self.portions[index];
        let volume = self.volumes[usize::from(portion.volume)];
        self.portions[index].left += 1;
        if portion.kind == PortionKind::Rebuild {
            if let Some(rebuild) = self.rebuild {
                self.queue_range(now, index, rebuild.member, Op::Write, portion.span.0, portion.span.1);
            }
        } else {
            let writable = self.writable_members(portion.span.0);
            if portion.end - portion.lba <= volume.row_sectors() {
                let row = row_part(&volume, portion.lba, portion.end);
                row.visit_writes(writable, |member, from, to| {
                    self.queue_range(now, index, member, Op::Write, from, to)
                });
            } else {
                for member in (0..volume.members).filter(|member| writable >> member & 1 == 1) {
                    self.queue_range(now, index, member, Op::Write, portion.span.0, portion.span.1);
                }
            }
        }
        self.finish_dispatch(context, now, index);
    }

    /// Reads another copy, or recovers the rows, after a command of a plain read has failed.
    pub(super) fn fail_over(&mut self, context: &mut ArrayContext, now: Instant, command: &MemberCommand) {
        let portion = self.portions[command.portion];
        let volume = self.volumes[usize::from(portion.volume)];
        let (mut from, end) = (command.lba, command.lba + u64::from(command.sectors));
        let avoid = portion.avoid | 1 << command.member;
        self.portions[command.portion].avoid = avoid;
        while from < end {
            let row = (from - volume.first) / volume.chunk;
            let to = (volume.row_start(row) + volume.chunk).min(end);
            let block = volume.block_at(command.member, from).map(|(_, block)| block);
            let place = block.map(|block| volume.row_position(block));
            let copy = place.and_then(|place| self.choose_copy(&volume, row, place.column, (from, to), avoid));
            match (copy, block) {
                (Some(member), _) => self.queue_range(now, command.portion, member, Op::Read, from, to),
                (None, Some(block)) if volume.parities() > 0 => {
                    let end = block + (to - from);
                    let recover = Portion {
                        kind: PortionKind::Recover,
                        lba: block,
                        end,
                        avoid,
                        left: 0,
                        begun: false,
                        ..portion
                    };
                    self.begin_portion(context, now, with_row_lock(&volume, recover));
                }
                _ => self.fail_portion(command.portion),
            }
            from = to;
        }
    }

    /// Queues a command, or several, split between physical sectors, if it exceeds the largest transfer.
    pub(super) fn queue_range(&mut self, now: Instant, portion: u32, member: u32, op: Op, from: u64, to: u64) {
        let mut lba = from;
        while lba < to {
            let most = lba + u64::from(self.limits.max_transfer);
            let aligned = most - most % self.physical;
            let stop = if to <= most {
                to
            } else if aligned > lba {
                aligned
            } else {
                most
            };
            self.queue_command(
                now,
                MemberCommand { portion, member, op, lba, sectors: (stop - lba) as u32, sent: false },
            );
            lba = stop;
        }
    }

    fn queue_command(&mut self, now: Instant, command: MemberCommand) {
        let tag = self.commands.put(command);
        self.portions[command.portion].left += 1;
        let member = &mut self.members[command.member as usize];
        member.head = command.lba + u64::from(command.sectors);
        member.waiting.push(now, command.lba, tag);
        self.asking |= 1 << command.member;
    }
}

/// The part of one row that blocks `lba..end` form.
fn row_part(volume: &ArrayVolume, lba: u64, end: u64) -> StripeRow {
    let row = lba / volume.row_sectors();
    StripeRow { volume: *volume, row, from: lba - row * volume.row_sectors(), to: end - row * volume.row_sectors() }
}

/// The first sector on the members after the rows of all blocks before `end`.
fn member_end(volume: &ArrayVolume, end: u64) -> u64 {
    volume.row_start(end.div_ceil(volume.row_sectors()))
}

/// The portion with the range that it locks: its rows; for mirrors, only the sectors or pairs that it touches.
fn with_row_lock(volume: &ArrayVolume, portion: Portion) -> Portion {
    let (first, last) = (volume.row_position(portion.lba), volume.row_position(portion.end - 1));
    let span = match (volume.parities() > 0, first.row == last.row && first.column == last.column) {
        (false, true) => {
            let start = volume.row_start(first.row);
            (start + first.within, start + last.within + 1)
        }
        _ => (volume.row_start(first.row), volume.row_start(last.row + 1)),
    };
    let lanes = match volume.level {
        RaidLevel::Raid10 if first.row == last.row => (first.column..=last.column).fold(0, |all, pair| all | 1 << pair),
        _ => u64::MAX,
    };
    Portion { span, lanes, ..portion }
}
