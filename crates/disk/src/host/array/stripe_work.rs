//! Work on stripes (`stripe_cache`): adds the pages of requests to stripes, plans what stripes read and write (`parity`),
//! joins their pages to commands, and ends the accesses whose pages have arrived.
//!
//! All writes to a volume with parity go this way, and reads of one that has lost a member. A request becomes *bios* of at
//! most 256 pages; a bio goes to stripe after stripe with all its pages of each. If no stripe is free, the request waits
//! with what is left of it, and the requests behind it wait too: in Linux the thread that submits them sleeps. What has
//! been added is worked on meanwhile. So a row that is added in two steps may be read before it is written as a whole. One
//! thread works on all stripes; it is woken by what is added and by pages that arrive.
//!
//! Pages that follow one another on a member go as one command, as a plug of `raid5d` and the member's queue merge them.
//! A command serves all accesses to its pages. The first of them has its effort; each has its time from the instant up to
//! which its account is booked. The pages of a stripe go with the flags of all its writes, as md does with FUA
//! (`ops_complete_reconstruct`).
//!
//! Source: Linux 6.1, `drivers/md/raid5.c`: `raid5_make_request`, `handle_stripe`, `ops_run_io`. Simplified: an access that
//! is aborted before its pages were added ends; afterwards it goes on, as a bio does. A write of less than a page writes its
//! sectors, where md writes the page; parity goes in whole pages.

use alloc::vec::Vec;

use super::intent;
use super::layout::{ArrayVolume, MemberSet};
use super::member_load;
use super::numbering::GatheredPart;
use super::parity::{ParityMethod, ParityPlan, StripeWrite, members_of, row_members};
use super::portions::{FORGOTTEN, MemberCommand, NONE, Portion, STRIPES, SectorBounds};
use super::stripe_cache::{PAGE, PAGE_END, PageAccess};
use super::{Array, ArrayContext};
use crate::block::array_load::MemberWork;
use crate::block::{Completion, Flags, Op, Status};
use crate::host::layer::NextTurn;
use crate::record::{Effort, Part};
use crate::time::{Instant, Span};

/// Sectors in the longest bio: 256 pages of 4 KiB (`BIO_MAX_VECS`).
const LONGEST_BIO: u64 = 256 * PAGE;

/// The time from a call that wakes the thread that works on stripes (`raid5d`) until it begins. Inferred: to wake a thread on a
/// core that sleeps takes some microseconds. What programs submit at one instant is added meanwhile. On a machine with several
/// cores the thread begins while more is being added, and so reads more: md in a virtual machine reads 0.01 to 0.5 bytes for
/// each byte written at 64 KiB and depth 32, this model 0 (`docs/development/testing.md`).
const WAKE: Span = Span::from_micros(5);

/// A page that a stripe reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PageCommand {
    member: u32,
    volume: u8,
    is_write: bool,
    flags: Flags,
    work: MemberWork,
    page: u64,
    /// Sectors of the page, without the end.
    from: u8,
    end: u8,
}

impl PageCommand {
    /// True if `next` may go in the same command.
    fn is_followed_by(&self, next: &PageCommand) -> bool {
        let follows = self.end == PAGE_END && next.from == 0;
        follows && PageCommand { page: self.page + 1, from: next.from, end: next.end, ..*self } == *next
    }
}

impl Array {
    /// Adds waiting portions to stripes, and works on stripes if it is time. Returns when it is time next.
    pub(super) fn work_on_stripes(&mut self, context: &mut ArrayContext, now: Instant) -> NextTurn {
        self.add_waiting_portions(context, now);
        // While newly set bits of the bitmap are being stored, the thread waits for them.
        if self.bitmap.as_ref().is_some_and(|bitmap| bitmap.urgent_write().is_some()) {
            return Instant::FAR;
        }
        if self.stripe_turn <= now {
            self.stripe_turn = Instant::FAR;
            while let Some(index) = self.stripes.take_next() {
                self.handle_stripe(context, now, index);
            }
            self.send_page_commands(context, now);
            self.add_waiting_portions(context, now);
        }
        self.stripe_turn
    }

    /// Wakes the thread that works on stripes.
    fn wake_stripe_thread(&mut self, now: Instant) {
        self.stripe_turn = self.stripe_turn.min(now + WAKE);
    }

    /// Adds the portions that wait for stripes, in order.
    fn add_waiting_portions(&mut self, context: &mut ArrayContext, now: Instant) {
        while let Some(&portion_index) = self.stripe_queue.front() {
            if self.must_refuse(&self.portions[portion_index]) && !self.portions[portion_index].writing {
                self.fail_portion(portion_index);
            } else {
                if !self.add_portion(context, now, portion_index) {
                    break;
                }
            }
            self.stripe_queue.pop_front();
            self.finish_dispatch(context, now, portion_index);
        }
    }

    /// Adds what is left of a portion to stripes, bio by bio. True if all is added.
    fn add_portion(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) -> bool {
        let portion = self.portions[portion_index];
        let volume = self.volumes[usize::from(portion.volume)];
        let (mut bio_from, mut next_page) = portion.next_page;
        while bio_from < portion.blocks.end {
            let bio = SectorBounds { from: bio_from, end: portion.blocks.end.min(bio_from + LONGEST_BIO) };
            while let Some(page) = touched_page_from(&volume, bio, next_page) {
                if !self.add_page(context, now, portion_index, bio, page) {
                    self.portions[portion_index].next_page = (bio_from, page);
                    return false;
                }
                next_page = page + 1;
            }
            (bio_from, next_page) = (bio.end, 0);
        }
        true
    }

    /// Adds what a bio wants of a page to its stripe. False if it must wait: no stripe is free, or another write to these
    /// sectors waits.
    fn add_page(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        portion_index: u32,
        bio: SectorBounds,
        page: u64,
    ) -> bool {
        let portion = self.portions[portion_index];
        let volume = self.volumes[usize::from(portion.volume)];
        let Some(index) = self.stripes.find_or_claim(portion.volume, page) else { return false };
        let accesses = || page_accesses(&volume, bio, page, portion_index);
        let stripe = self.stripes.stripe(index);
        if portion.op == Op::Write && !accesses().all(|access| stripe.can_gather(&access)) {
            return false;
        }
        self.begin_access(context, now, portion_index);
        let stripe = self.stripes.stripe_mut(index);
        stripe.avoided |= portion.avoided_members;
        for access in accesses() {
            self.portions[portion_index].commands_left += 1;
            match portion.op {
                Op::Write => stripe.writes.push(access),
                _ => stripe.reads.push(access),
            }
        }
        let flags = context.slots[portion.request_slot].request.flags;
        self.stripes.make_ready_again(index, portion.op == Op::Write && !flags.has(Flags::BACKGROUND));
        self.wake_stripe_thread(now);
        true
    }

    /// Notes that the first page of a portion is added: from now on it goes on to its end. Numbers a write.
    fn begin_access(&mut self, context: &mut ArrayContext, now: Instant, portion_index: u32) {
        let portion = &mut self.portions[portion_index];
        if !core::mem::replace(&mut portion.writing, true) && portion.op == Op::Write {
            let volume = &self.volumes[..usize::from(portion.volume)];
            let start: u64 = volume.iter().map(ArrayVolume::capacity).sum();
            let blocks = SectorBounds { from: start + portion.blocks.from, end: start + portion.blocks.end };
            let stamp = context.slots[portion.request_slot].request.stamp;
            portion.write_number = self.numbering.number_write(&mut context.landings, now, stamp, blocks);
        }
    }

    /// The members of a stripe with its data, and with its parity.
    fn stripe_members(&self, index: u32) -> (MemberSet, MemberSet) {
        let (place, stripe) = (self.stripe_bounds(index), self.stripes.stripe(index));
        let volume = &self.volumes[usize::from(stripe.volume)];
        row_members(volume, (place.from - volume.first) / volume.chunk)
    }

    /// The sectors of a stripe on each member.
    fn stripe_bounds(&self, index: u32) -> SectorBounds {
        let stripe = self.stripes.stripe(index);
        let from = self.volumes[usize::from(stripe.volume)].first + stripe.page * PAGE;
        SectorBounds { from, end: from + PAGE }
    }

    /// Does all that a stripe can do now: ends its writes, serves its reads, reads what it needs, or sends its writes.
    fn handle_stripe(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        if self.stripes.stripe(index).writing == 0 {
            self.end_written_accesses(context, now, index);
        }
        self.serve_reads(context, now, index);
        if !self.stripes.stripe(index).reads.is_empty() {
            self.read_for_reads(context, now, index);
        }
        if !self.stripes.stripe(index).writes.is_empty() {
            let write = self.waiting_write(index);
            match write.plan(self.spec.parity) {
                None => self.fail_accesses(context, now, index, Status::MediumError),
                Some(plan) => self.advance_write(context, index, &write, plan),
            }
        }
        self.stripes.release_if_idle(index);
    }

    /// The state of a stripe and the members, as its waiting writes meet it.
    fn waiting_write(&self, index: u32) -> StripeWrite {
        let bounds = self.stripe_bounds(index);
        let (data, parity) = self.stripe_members(index);
        let stripe = self.stripes.stripe(index);
        let volume = self.volumes[usize::from(stripe.volume)];
        let (touched, covered) = stripe.written_members();
        StripeWrite {
            data,
            parity,
            touched,
            covered,
            current: stripe.current,
            reading: stripe.reading,
            readable: self.members_with(&volume, bounds) & !stripe.avoided,
            writable: self.members_to_write(&volume, bounds),
        }
    }

    /// Ends the reads whose pages are in memory.
    fn serve_reads(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let current = self.stripes.stripe(index).current;
        let mut place = 0;
        while let Some(&read) = self.stripes.stripe(index).reads.get(place) {
            if current >> read.member & 1 == 1 {
                self.stripes.stripe_mut(index).reads.remove(place);
                self.finish_dispatch(context, now, read.portion);
            } else {
                place += 1;
            }
        }
    }

    /// Reads the pages that the stripe's reads wait for; of a page that cannot be read, those from which it is computed.
    fn read_for_reads(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let write = self.waiting_write(index);
        let wanted = self.stripes.stripe(index).reads.iter().fold(0, |set, read| set | 1 << read.member);
        let direct = wanted & (write.readable | write.reading);
        self.read_pages(index, direct, MemberWork::User);
        if wanted == direct {
            return;
        }
        match write.whole_row_sources() {
            None => self.fail_accesses(context, now, index, Status::MediumError),
            Some(sources) if sources & !write.current == 0 => {
                let first = self.stripes.stripe(index).reads[0].portion;
                self.charge_parity(context, first, u64::from(write.data.count_ones()) * PAGE);
                self.stripes.stripe_mut(index).current |= write.data | write.parity;
                self.serve_reads(context, now, index);
            }
            Some(sources) => self.read_pages(index, sources & !write.current, MemberWork::User),
        }
    }

    /// Reads what the plan misses, or sends the stripe's writes.
    fn advance_write(&mut self, context: &mut ArrayContext, index: u32, write: &StripeWrite, plan: ParityPlan) {
        if plan.missing != 0 {
            if self.stripes.may_preread(index) {
                self.read_pages(index, plan.missing, plan.method.read_work());
            }
        } else if !self.stripes.stripe(index).has_pages_on_the_way() {
            self.write_stripe(context, index, write, plan.method);
        }
    }

    /// Reads those of `pages` that are not being read, for this purpose.
    fn read_pages(&mut self, index: u32, pages: MemberSet, work: MemberWork) {
        let stripe = self.stripes.stripe_mut(index);
        let new = pages & !stripe.reading;
        stripe.reading |= new;
        let (volume, page) = (stripe.volume, stripe.page);
        let command = |member| PageCommand {
            member,
            volume,
            is_write: false,
            flags: Flags::NONE,
            work,
            page,
            from: 0,
            end: PAGE_END,
        };
        self.page_commands.extend(members_of(new).map(command));
    }

    /// Sends all waiting writes of a stripe, with the new parity.
    fn write_stripe(&mut self, context: &mut ArrayContext, index: u32, write: &StripeWrite, method: ParityMethod) {
        let is_whole_row = write.covered == write.data;
        self.stripes.begin_writes(index, is_whole_row);
        let stripe = self.stripes.stripe_mut(index);
        core::mem::swap(&mut stripe.writes, &mut stripe.under_way);
        let written = (write.touched | write.parity) & write.writable;
        if method == ParityMethod::Whole {
            stripe.current |= write.data | write.parity;
        }
        stripe.current |= write.touched | write.parity & write.writable;
        (stripe.writing, stripe.avoided) = (written, stripe.avoided & !written);
        let (volume, page, first) = (stripe.volume, stripe.page, stripe.under_way[0].portion);
        let flags_of = |access: &PageAccess| context.slots[self.portions[access.portion].request_slot].request.flags;
        let flags = stripe.under_way.iter().fold(Flags::NONE, |all, access| all.with(flags_of(access)));
        let flags = flags.without(Flags::BACKGROUND).without(Flags::PRIORITY);
        debug_assert!(
            stripe.under_way.iter().all(|access| {
                intent::is_covered_by_bitmap(self.bitmap.as_ref(), &self.portions[access.portion], Op::Write)
            }),
            "data before their bit of the bitmap"
        );
        let command = |member| {
            let (from, end) = stripe.written_sectors(member).unwrap_or((0, PAGE_END));
            PageCommand { member, volume, is_write: true, flags, work: MemberWork::User, page, from, end }
        };
        self.page_commands.extend(members_of(written).map(command));
        self.charge_parity(context, first, write.computed_sectors(method));
        if written == 0 {
            self.stripes.make_ready(index);
        }
    }

    /// Joins the pages of stripes to commands, and queues these.
    fn send_page_commands(&mut self, context: &ArrayContext, now: Instant) {
        let mut pages = core::mem::take(&mut self.page_commands);
        pages.sort_unstable();
        let longest = (u64::from(self.limits.max_transfer) / PAGE).max(1) as usize;
        for joined in pages.chunk_by(PageCommand::is_followed_by).flat_map(|run| run.chunks(longest)) {
            let (first, count) = (joined[0], joined.len() as u64);
            let lba = self.volumes[usize::from(first.volume)].first + first.page * PAGE + u64::from(first.from);
            let op = if first.is_write { Op::Write } else { Op::Read };
            let stamp = match op {
                Op::Write if context.landings.are_wanted() => self.number_gathered(context, &first, count),
                _ => 0,
            };
            let beside = u32::from(first.from) + u32::from(PAGE_END - joined[joined.len() - 1].end);
            let (member, sectors) = (first.member, (count * PAGE) as u32 - beside);
            let (portion, flags, work) = (STRIPES, first.flags, first.work);
            self.queue_command(
                now,
                MemberCommand { portion, member, work, op, lba, sectors, stamp, flags, sent: false },
            );
        }
        pages.clear();
        self.page_commands = pages;
    }

    /// Numbers a command that writes `count` pages, and notes the writes that it carries.
    fn number_gathered(&mut self, context: &ArrayContext, first: &PageCommand, count: u64) -> u64 {
        let mut parts: Vec<GatheredPart> = Vec::new();
        for index in (first.page..first.page + count).filter_map(|page| self.stripes.find(first.volume, page)) {
            let start = self.stripe_bounds(index).from;
            let (_, parity) = self.stripe_members(index);
            let part_of = |access: &PageAccess, from: u8, end: u8| {
                let portion = &self.portions[access.portion];
                let stamp = context.slots[portion.request_slot].request.stamp;
                let bounds = SectorBounds { from: start + u64::from(from), end: start + u64::from(end) };
                GatheredPart { bounds, number: portion.write_number, stamp }
            };
            let under_way = &self.stripes.stripe(index).under_way;
            if parity >> first.member & 1 == 1 {
                let all = under_way.iter().map(|access| part_of(access, 0, PAGE_END));
                parts.extend(all.max_by_key(|part| part.number));
            } else {
                let of_member = under_way.iter().filter(|access| access.member == first.member);
                parts.extend(of_member.map(|access| part_of(access, access.from, access.end)));
            }
        }
        self.numbering.number_gathered(parts)
    }

    /// Ends a command of the stripe cache, which came back with `status`.
    pub(super) fn end_page_command(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        command: &MemberCommand,
        status: Status,
        completion: Option<&Completion>,
    ) {
        let Some(volume_index) = self.volumes.iter().position(|volume| command.lba < volume.end()) else { return };
        let first = (command.lba - self.volumes[volume_index].first) / PAGE;
        let end = command.lba + u64::from(command.sectors) - self.volumes[volume_index].first;
        let pages = first..end.div_ceil(PAGE);
        let mut effort = completion.map(|completion| {
            let mut effort = completion.effort;
            member_load::count_read_before_write(&mut effort, command.work);
            effort
        });
        let mut from = pages.start;
        while let Some(index) = self.stripes.find_first(volume_index as u8, from..pages.end) {
            from = self.stripes.stripe(index).page + 1;
            self.book_accesses(context, now, index, completion, &mut effort);
            match command.op {
                Op::Write => self.end_page_write_on(index, command.member, status),
                _ => self.end_page_read_on(context, now, index, command.member, status),
            }
            self.stripes.make_ready(index);
        }
        self.wake_stripe_thread(now);
    }

    /// Books a command on the accesses of a stripe that it serves: its time on all, its effort on the first of all stripes.
    fn book_accesses(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        index: u32,
        completion: Option<&Completion>,
        effort: &mut Option<Effort>,
    ) {
        let stripe = self.stripes.stripe(index);
        for access in stripe.under_way.iter().chain(&stripe.writes).chain(&stripe.reads) {
            let portion = &mut self.portions[access.portion];
            if let Some(effort) = effort.take() {
                context.slots[portion.request_slot].account_mut().effort.add(&effort);
            }
            match completion {
                _ if portion.ledger.booked_until() >= now => {}
                Some(completion) => portion.ledger.book_child_from_mark(Part::Driver, completion),
                None => portion.ledger.book_until(Part::Driver, now),
            }
        }
    }

    /// Ends a read of a stripe's page on `member`.
    fn end_page_read_on(&mut self, context: &mut ArrayContext, now: Instant, index: u32, member: u32, status: Status) {
        let stripe = self.stripes.stripe_mut(index);
        stripe.reading &= !(1 << member);
        match status {
            Status::Done => stripe.current |= 1 << member,
            Status::MediumError => stripe.avoided |= 1 << member,
            _ => self.fail_accesses(context, now, index, status),
        }
    }

    /// Notes that a write of a stripe's page on `member` has ended.
    fn end_page_write_on(&mut self, index: u32, member: u32, status: Status) {
        let stripe = self.stripes.stripe_mut(index);
        stripe.writing &= !(1 << member);
        // Lost with its member; the other members hold the data or can reconstruct them.
        let survives = self.lost_volumes >> stripe.volume & 1 == 0;
        if status != Status::Done && !(status == Status::MediumError && survives) {
            let portions = &mut self.portions;
            stripe.under_way.iter().for_each(|access| portions[access.portion].keep_first_error(status));
        }
    }

    /// Ends the writes of a stripe that were under way.
    fn end_written_accesses(&mut self, context: &mut ArrayContext, now: Instant, index: u32) {
        let mut ended = core::mem::take(&mut self.stripes.stripe_mut(index).under_way);
        for access in ended.drain(..) {
            self.finish_dispatch(context, now, access.portion);
        }
        self.stripes.stripe_mut(index).under_way = ended;
        self.stripes.end_writes(index);
    }

    /// Ends the accesses of a stripe that have not begun to write, with an error.
    fn fail_accesses(&mut self, context: &mut ArrayContext, now: Instant, index: u32, status: Status) {
        let stripe = self.stripes.stripe_mut(index);
        let mut failed = core::mem::take(&mut stripe.reads);
        failed.append(&mut stripe.writes);
        for access in failed {
            self.portions[access.portion].keep_first_error(status);
            self.finish_dispatch(context, now, access.portion);
        }
    }

    /// Ends the waiting accesses to stripes of volumes that have lost too many members.
    pub(super) fn fail_accesses_of_lost_volumes(&mut self, context: &mut ArrayContext, now: Instant) {
        let busy: Vec<u32> = self.stripes.busy_stripes().collect();
        for index in busy {
            if self.lost_volumes >> self.stripes.stripe(index).volume & 1 == 1 {
                self.fail_accesses(context, now, index, Status::MediumError);
            }
            self.stripes.make_ready(index);
        }
        self.wake_stripe_thread(now);
    }

    /// Ends the portions that wait for stripes and were not added yet, if `is_chosen` selects them.
    pub(super) fn withdraw_unadded_portions(
        &mut self,
        context: &mut ArrayContext,
        now: Instant,
        is_chosen: impl Fn(&Portion) -> bool,
    ) {
        let queue = core::mem::take(&mut self.stripe_queue);
        for portion_index in queue {
            match is_chosen(&self.portions[portion_index]) {
                true => self.finish_dispatch(context, now, portion_index),
                false => self.stripe_queue.push_back(portion_index),
            }
        }
    }

    /// Ends all accesses with the host's power, and forgets all pages: they were in its memory.
    pub(super) fn lose_stripes(&mut self, context: &mut ArrayContext, now: Instant) {
        let busy: Vec<u32> = self.stripes.busy_stripes().collect();
        for index in busy {
            self.fail_accesses(context, now, index, Status::PowerLost);
            let under_way = core::mem::take(&mut self.stripes.stripe_mut(index).under_way);
            for access in under_way {
                self.portions[access.portion].keep_first_error(Status::PowerLost);
                self.finish_dispatch(context, now, access.portion);
            }
        }
        self.stripes.forget_all();
        self.page_commands.clear();
        for member in 0..self.members.len() {
            let mut unsent: Vec<u32> = Vec::new();
            let commands = &self.commands;
            self.members[member].waiting.retain(|&tag| {
                let stays = commands[tag].portion != STRIPES;
                unsent.extend((!stays).then_some(tag));
                stays
            });
            unsent.into_iter().for_each(|tag| {
                self.free_unsent_command(tag);
            });
        }
        for tag in 0..self.commands.places_ever_used() {
            let command = &mut self.commands[tag];
            if command.portion == STRIPES {
                command.portion = FORGOTTEN;
            }
        }
    }
}

/// The first page from `page` on that a bio touches.
fn touched_page_from(volume: &ArrayVolume, bio: SectorBounds, page: u64) -> Option<u64> {
    let pages_in_chunk = volume.chunk / PAGE;
    let (first, last) = (volume.row_position(bio.from), volume.row_position(bio.end - 1));
    let (mut from, end) = match (first.row, first.column) == (last.row, last.column) {
        true => (first.row * pages_in_chunk + first.within / PAGE, first.row * pages_in_chunk + last.within / PAGE + 1),
        false => (first.row * pages_in_chunk, (last.row + 1) * pages_in_chunk),
    };
    from = from.max(page);
    (from..end).find(|&page| page_accesses(volume, bio, page, NONE).next().is_some())
}

/// What a bio wants of a page, column by column.
fn page_accesses(volume: &ArrayVolume, bio: SectorBounds, page: u64, portion: u32) -> impl Iterator<Item = PageAccess> {
    let (volume, sector) = (*volume, page * PAGE);
    let (row, within) = (sector / volume.chunk, sector % volume.chunk);
    (0..volume.columns()).filter_map(move |column| {
        let start = row * volume.row_sectors() + u64::from(column) * volume.chunk + within;
        let (from, end) = (bio.from.max(start), bio.end.min(start + PAGE));
        let member = volume.data_member(row, column, 0);
        (from < end).then(|| PageAccess { portion, member, from: (from - start) as u8, end: (end - start) as u8 })
    })
}
