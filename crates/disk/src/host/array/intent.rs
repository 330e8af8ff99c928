//! Joins an array's writes to its write-intent bitmap (`bitmap`): which writes wait for the bitmap, and how its pages get
//! to the members.
//!
//! Each page goes to all members with `REQ_PREFLUSH | REQ_FUA` (Linux, `drivers/md/md.c`, `md_super_write`). So a member
//! with a volatile cache gets a flush and the page. A SCSI drive that honours FUA gets the page with FUA; another drive
//! gets a second flush after the page (libata has FUA switched off, `libata.fua`, and `block/blk-flush.c` then flushes
//! after the write). A member without a volatile cache gets only the page.
//!
//! On a volume with parity one thread does everything (`raid5d`; `group_thread_cnt` is 0 by default): while it waits for
//! newly set bits to be stored, no other write goes on. Mirrors have no such thread: only the writes wait whose bits are
//! not yet stored. Not modelled: a program's thread that submits to a mirror is itself held up by the bitmap.

use alloc::vec::Vec;

use super::bitmap::{BitmapCounts, WriteIntentBitmap};
use super::layout::MemberSet;
use super::portions::{MemberSpan, NONE, Portion, PortionKind};
use super::{Array, ArrayContext};
use crate::block::{Limits, Op, Queuing, Status};
use crate::host::layer::NextTurn;
use crate::record::Part;
use crate::time::Instant;

/// The step of a write of pages on a member.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IntentStep {
    FlushBefore,
    WritePages,
    FlushAfter,
}

/// How far a member has come with the pages under way.
#[derive(Clone, Copy)]
struct MemberIntent {
    step: IntentStep,
    /// Commands of the step that are under way.
    commands_left: u32,
}

/// Writes that wait for the bitmap, by index of their portions, and the bitmap's pages under way.
#[derive(Clone, Default)]
pub(super) struct IntentQueue {
    /// Writes that may not begin yet.
    waiting: Vec<u32>,
    /// An empty list to swap with, so that nothing is allocated.
    spare: Vec<u32>,
    /// The portion that carries the pages under way. A portion that a cut left behind may end after the power is back.
    current: Option<u32>,
    members: Vec<MemberIntent>,
    /// A write of pages has ended since the waiting writes were last resumed.
    write_ended: bool,
    /// Members to which the pages under way go with FUA. The choice is made once for all pages, as a write
    /// cache may be switched at any time.
    pub fua_members: MemberSet,
}

impl IntentQueue {
    pub fn new(members: u32) -> IntentQueue {
        let idle = MemberIntent { step: IntentStep::FlushAfter, commands_left: 0 };
        IntentQueue { members: alloc::vec![idle; members as usize], ..IntentQueue::default() }
    }

    /// Removes a portion that has ended from the waiting writes.
    pub(crate) fn forget_waiting(&mut self, portion_index: u32) {
        self.waiting.retain(|&other| other != portion_index);
    }
}

impl Array {
    /// Counts a write in the bitmap before it begins, and holds it until its bits are stored. True if it must wait.
    pub(super) fn hold_for_bitmap(&mut self, portion_index: u32) -> bool {
        let Some(bitmap) = &mut self.bitmap else { return false };
        let portion = &mut self.portions[portion_index];
        let writes = portion.op == Op::Write && matches!(portion.kind, PortionKind::Plain | PortionKind::Stripes);
        if !writes || portion.request_slot == NONE || self.lost_volumes >> portion.volume & 1 == 1 {
            return false;
        }
        if !portion.in_bitmap {
            portion.in_bitmap = true;
            portion.awaited_bitmap_write = bitmap.begin_write(portion.blocks, portion.locked);
        }
        if portion.kind == PortionKind::Stripes {
            portion.awaited_bitmap_write = portion.awaited_bitmap_write.max(bitmap.urgent_write().unwrap_or(0));
        }
        let waits = !bitmap.is_write_over(portion.awaited_bitmap_write);
        if waits {
            self.intents.waiting.push(portion_index);
        }
        waits
    }

    /// Resumes writes that waited for the bitmap, scans its bits, begins its next write.
    pub(super) fn advance_bitmap(&mut self, context: &mut ArrayContext, now: Instant) -> NextTurn {
        if self.bitmap.is_none() {
            return Instant::FAR;
        }
        if core::mem::take(&mut self.intents.write_ended) || !self.powered {
            self.resume_held_writes(context, now);
        }
        let (is_complete, powered) = (self.missing_members == 0, self.powered);
        let Some(bitmap) = self.bitmap.as_mut().filter(|_| powered) else { return Instant::FAR };
        if bitmap.next_scan() <= now {
            // While a member is missing, md clears nothing: a member that returns needs what was written meanwhile.
            bitmap.scan_bits(now, is_complete);
        }
        if bitmap.start_page_write() {
            self.send_bitmap_pages(context, now);
        }
        self.bitmap.as_ref().map_or(Instant::FAR, |bitmap| bitmap.next_scan())
    }

    /// Begins waiting writes; without power they end.
    fn resume_held_writes(&mut self, context: &mut ArrayContext, now: Instant) {
        let waiting = core::mem::replace(&mut self.intents.waiting, core::mem::take(&mut self.intents.spare));
        for &index in &waiting {
            if self.powered {
                self.dispatch_portion(context, now, index);
            } else {
                // The write's bit is not stored, and will not be.
                self.portions[index].status = Status::PowerLost;
                self.portions[index].ledger.book_until(Part::Driver, now);
                self.finish_portion(context, now, index);
            }
        }
        self.intents.spare = waiting;
        self.intents.spare.clear();
    }

    /// Begins to send the pages of the bitmap that are to be written: to each member a flush first, or the pages.
    fn send_bitmap_pages(&mut self, context: &mut ArrayContext, now: Instant) {
        let portion = Portion { kind: PortionKind::BitmapPages, op: Op::Write, ..Portion::blank_flush(NONE, now) };
        let index = self.portions.put(Portion { begun: true, commands_left: 1, ..portion });
        self.intents.current = Some(index);
        self.intents.fua_members =
            members_with_fua((0..self.spec.members).map(|member| context.limits_below(member as u8)));
        let present = !self.missing_members | self.rebuilt_members();
        for member in (0..self.spec.members).filter(|member| present >> member & 1 == 1) {
            match context.limits_below(member as u8).volatile_cache {
                true => {
                    self.intents.members[member as usize] =
                        MemberIntent { step: IntentStep::FlushBefore, commands_left: 1 };
                    self.flush_member(now, index, member);
                }
                false => self.send_pages_to(now, index, member),
            }
        }
        self.finish_dispatch(context, now, index);
    }

    fn send_pages_to(&mut self, now: Instant, portion_index: u32, member: u32) {
        let before = self.portions[portion_index].commands_left;
        let pages = self.bitmap.as_ref().map_or(0, |bitmap| bitmap.page_bounds_in_flight().count());
        for page in 0..pages {
            let bounds = self.bitmap.as_ref().and_then(|bitmap| bitmap.page_bounds_in_flight().nth(page));
            let bounds = bounds.expect("as many as counted");
            self.queue_span(now, portion_index, Op::Write, MemberSpan { member, bounds });
        }
        let commands_left = self.portions[portion_index].commands_left - before;
        self.intents.members[member as usize] = MemberIntent { step: IntentStep::WritePages, commands_left };
    }

    /// Begins the member's next step when the last command of a step has returned, unless the command or the member failed.
    /// The portion has not yet counted the command off.
    pub(super) fn continue_page_write_on(
        &mut self,
        context: &ArrayContext,
        now: Instant,
        portion_index: u32,
        member: u32,
    ) {
        if self.intents.current != Some(portion_index) {
            return;
        }
        let MemberIntent { step, commands_left } = &mut self.intents.members[member as usize];
        *commands_left -= 1;
        let (step, is_step_over) = (*step, *commands_left == 0);
        if !is_step_over || self.portions[portion_index].status != Status::Done || self.is_member_gone(member) {
            return;
        }
        let is_cached = context.limits_below(member as u8).volatile_cache;
        let has_fua = self.intents.fua_members >> member & 1 == 1;
        match step {
            IntentStep::FlushBefore => self.send_pages_to(now, portion_index, member),
            IntentStep::WritePages if is_cached && !has_fua => {
                self.intents.members[member as usize] = MemberIntent { step: IntentStep::FlushAfter, commands_left: 1 };
                self.flush_member(now, portion_index, member);
            }
            IntentStep::WritePages | IntentStep::FlushAfter => {}
        }
    }

    /// Ends the write of pages that a portion carried: the bitmap is stored, or the power failed.
    pub(super) fn end_page_write(&mut self, portion_index: u32, status: Status) {
        if self.intents.current != Some(portion_index) {
            return;
        }
        self.intents.current = None;
        if let Some(bitmap) = &mut self.bitmap {
            bitmap.finish_page_write(status == Status::Done);
        }
        self.intents.write_ended = true;
    }

    /// Reloads the bitmap from the members when the power is back.
    pub(super) fn reload_bitmap(&mut self, now: Instant) {
        let Some(bitmap) = &mut self.bitmap else { return };
        bitmap.restore_stored(now, core::mem::take(&mut self.was_cut));
        self.intents.current = None;
        self.intents.write_ended = true;
        for index in 0..self.portions.places_ever_used() {
            self.portions[index].in_bitmap = false;
        }
    }

    /// Counts of the work on the bitmap; zero without one.
    pub fn bitmap_counts(&self) -> BitmapCounts {
        self.bitmap.as_ref().map_or_else(BitmapCounts::default, WriteIntentBitmap::counts)
    }

    /// True if the bitmap has the region of `block` as dirty since a cut, or if there is no bitmap.
    pub fn needs_resync(&self, block: u64) -> bool {
        self.bitmap.as_ref().is_none_or(|bitmap| bitmap.needs_resync(block))
    }
}

/// The members to which pages go with FUA and not with a flush after them, by the members' limits.
fn members_with_fua(limits: impl Iterator<Item = Limits>) -> MemberSet {
    let has_fua = |limits: &Limits| limits.volatile_cache && limits.fua && limits.queuing == Queuing::Scsi;
    limits.enumerate().filter(|(_, limits)| has_fua(limits)).fold(0, |all, (member, _)| all | 1 << member)
}

/// True if the members have the bits of all regions that a command of the portion writes to.
pub(super) fn is_covered_by_bitmap(bitmap: Option<&WriteIntentBitmap>, portion: &Portion, op: Op) -> bool {
    let bitmap = bitmap.filter(|_| portion.in_bitmap && op == Op::Write);
    bitmap.is_none_or(|bitmap| bitmap.covers_write(portion.blocks, portion.locked))
}
