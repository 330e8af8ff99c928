//! Writes of an array and its write-intent bitmap: the writes that wait for it, and how its pages get to the members.
//!
//! Each page goes to all members with `REQ_PREFLUSH | REQ_FUA` (Linux, `drivers/md/md.c`, `md_super_write`): a member
//! with a volatile cache gets a flush, the page, and, unless it is a SCSI drive that honours FUA, another flush (libata
//! has FUA switched off, `libata.fua`; `block/blk-flush.c` then flushes after the write). Other members get only the page.
//!
//! On a volume with parity one thread does everything (`raid5d`; `group_thread_cnt` is 0 by default): while it waits for
//! newly set bits to be stored, no other write goes on. Mirrors have no such thread; only the writes whose bits are on
//! their way wait. Not modelled: a program's thread that submits to a mirror is itself held up by the bitmap.

use alloc::vec::Vec;

use super::bitmap::WriteIntentBitmap;
use super::portions::{NOBODY, Portion, PortionKind};
use super::{Array, ArrayContext};
use crate::block::{Limits, Op, Queuing, Status};
use crate::record::Part;
use crate::time::Instant;

/// How far a member has come with the pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IntentStep {
    Before,
    Pages,
    After,
}

/// Writes that wait for the bitmap, and its pages under way.
#[derive(Default)]
pub(super) struct IntentQueue {
    /// Writes that may not begin yet.
    waiting: Vec<u32>,
    /// Writes with parity that may not go on, and an empty list to swap with.
    paused: Vec<u32>,
    spare: Vec<u32>,
    /// The portion that carries the pages under way. A portion that a cut left behind may end after the power is back.
    current: Option<u32>,
    /// By member: its step, and commands of it that are under way.
    steps: Vec<(IntentStep, u32)>,
    /// A write of pages has ended.
    released: bool,
    /// Members to which the pages under way go with FUA, one bit each: a write cache may be switched at any time.
    pub forced: u32,
}

impl IntentQueue {
    pub fn new(members: u32) -> IntentQueue {
        let steps = alloc::vec![(IntentStep::After, 0); members as usize];
        IntentQueue { steps, ..IntentQueue::default() }
    }

    /// Forgets a portion that has ended.
    pub(crate) fn forget_portion(&mut self, portion: u32) {
        self.waiting.retain(|&other| other != portion);
    }
}

impl Array {
    /// Notes a write in the bitmap before it begins. True if it must wait.
    pub(super) fn hold_for_bitmap(&mut self, index: u32) -> bool {
        let Some(bitmap) = &mut self.bitmap else { return false };
        let portion = &mut self.portions[index];
        let writes = portion.op == Op::Write && matches!(portion.kind, PortionKind::Plain | PortionKind::Update);
        if !writes || portion.parent == NOBODY || self.dead >> portion.volume & 1 == 1 {
            return false;
        }
        if !portion.noted {
            portion.noted = true;
            portion.after = bitmap.begin_write((portion.lba, portion.end), portion.span);
        }
        if portion.kind == PortionKind::Update {
            portion.after = portion.after.max(bitmap.urgent_write().unwrap_or(0));
        }
        let waits = !bitmap.is_over(portion.after);
        if waits {
            self.intents.waiting.push(index);
        }
        waits
    }

    /// Pauses a write with parity until the bitmap is stored, if newly set bits are on their way. True if it did.
    pub(super) fn pause_for_bitmap(&mut self, index: u32) -> bool {
        let urgent = self.bitmap.as_ref().is_some_and(|bitmap| bitmap.urgent_write().is_some());
        let pauses = urgent && self.portions[index].kind == PortionKind::Update;
        if pauses {
            self.intents.paused.push(index);
        }
        pauses
    }

    /// Continues writes that waited for the bitmap, looks through its bits, begins its next write. Returns when to call again.
    pub(super) fn advance_bitmap(&mut self, context: &mut ArrayContext, now: Instant) -> Instant {
        if self.bitmap.is_none() {
            return Instant::FAR;
        }
        if core::mem::take(&mut self.intents.released) || !self.powered {
            self.release_held_writes(context, now);
        }
        let (whole, powered) = (self.failed == 0, self.powered);
        let Some(bitmap) = self.bitmap.as_mut().filter(|_| powered) else { return Instant::FAR };
        if bitmap.next_scan() <= now {
            // While a member is missing, md clears nothing: a member that returns needs what was written meanwhile.
            bitmap.scan_bits(now, whole);
        }
        if bitmap.start_page_write() {
            self.store_pages(context, now);
        }
        self.bitmap.as_ref().map_or(Instant::FAR, |bitmap| bitmap.next_scan())
    }

    fn release_held_writes(&mut self, context: &mut ArrayContext, now: Instant) {
        let paused = core::mem::replace(&mut self.intents.paused, core::mem::take(&mut self.intents.spare));
        paused.iter().for_each(|&index| self.advance_portion(context, now, index));
        self.intents.spare = paused;
        self.intents.spare.clear();
        let waiting = core::mem::replace(&mut self.intents.waiting, core::mem::take(&mut self.intents.spare));
        for &index in &waiting {
            if self.powered {
                self.run_portion(context, now, index);
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

    /// Sends the pages of the bitmap that are to be written.
    fn store_pages(&mut self, context: &mut ArrayContext, now: Instant) {
        let portion = Portion { kind: PortionKind::Intent, op: Op::Write, ..Portion::blank_flush(NOBODY, now) };
        let index = self.portions.put(Portion { begun: true, left: 1, ..portion });
        self.intents.current = Some(index);
        self.intents.forced = forced_members((0..self.spec.members).map(|member| context.limits_below(member as u8)));
        let new = self.rebuild.map_or(0, |rebuild| 1 << rebuild.member);
        let wanted = !self.failed | new;
        for member in (0..self.spec.members).filter(|member| wanted >> member & 1 == 1) {
            match context.limits_below(member as u8).volatile_cache {
                true => {
                    self.intents.steps[member as usize] = (IntentStep::Before, 1);
                    self.flush_member(now, index, member);
                }
                false => self.send_pages(now, index, member),
            }
        }
        self.finish_dispatch(context, now, index);
    }

    fn send_pages(&mut self, now: Instant, index: u32, member: u32) {
        let before = self.portions[index].left;
        let pages = self.bitmap.as_ref().map_or(0, |bitmap| bitmap.page_ranges_in_flight().count());
        for page in 0..pages {
            let range = self.bitmap.as_ref().and_then(|bitmap| bitmap.page_ranges_in_flight().nth(page));
            let (from, to) = range.expect("as many as counted");
            self.queue_range(now, index, member, Op::Write, from, to);
        }
        self.intents.steps[member as usize] = (IntentStep::Pages, self.portions[index].left - before);
    }

    /// Takes the member's next step after a command of the bitmap, not yet counted off, unless something went wrong.
    pub(super) fn take_next_step(&mut self, context: &ArrayContext, now: Instant, index: u32, member: u32) {
        if self.intents.current != Some(index) {
            return;
        }
        let (step, left) = self.intents.steps[member as usize];
        self.intents.steps[member as usize].1 = left - 1;
        if left > 1 || self.portions[index].status != Status::Done || self.is_gone(member) {
            return;
        }
        let (cached, forced) =
            (context.limits_below(member as u8).volatile_cache, self.intents.forced >> member & 1 == 1);
        match step {
            IntentStep::Before => self.send_pages(now, index, member),
            IntentStep::Pages if cached && !forced => {
                self.intents.steps[member as usize] = (IntentStep::After, 1);
                self.flush_member(now, index, member);
            }
            IntentStep::Pages | IntentStep::After => {}
        }
    }

    /// Ends the write of pages: the bitmap is stored, or the power failed.
    pub(super) fn end_page_write(&mut self, index: u32, status: Status) {
        if self.intents.current != Some(index) {
            return;
        }
        self.intents.current = None;
        if let Some(bitmap) = &mut self.bitmap {
            bitmap.finish_page_write(status == Status::Done);
        }
        self.intents.released = true;
    }

    /// Reloads the bitmap from the members when the power is back.
    pub(super) fn reload_bitmap(&mut self, now: Instant) {
        let Some(bitmap) = &mut self.bitmap else { return };
        bitmap.restore_stored(now, core::mem::take(&mut self.was_cut));
        self.intents.current = None;
        self.intents.released = true;
        for index in 0..self.portions.len() {
            self.portions[index].noted = false;
        }
    }

    /// Pages of the bitmap that were written, each to all members, and how many regions a cut left dirty.
    pub fn bitmap_counts(&self) -> (u64, usize) {
        self.bitmap.as_ref().map_or((0, 0), |bitmap| (bitmap.written, bitmap.resync_region_count()))
    }

    /// True if the bitmap has the region of `block` as dirty since a cut.
    pub fn needs_resync(&self, block: u64) -> bool {
        self.bitmap.as_ref().is_none_or(|bitmap| bitmap.needs_resync(block))
    }
}

/// The members whose pages go down with FUA, one bit each.
fn forced_members(limits: impl Iterator<Item = Limits>) -> u32 {
    let forced = |limits: &Limits| limits.volatile_cache && uses_fua(limits);
    limits.enumerate().filter(|(_, limits)| forced(limits)).fold(0, |all, (member, _)| all | 1 << member)
}

/// True if the members have the bits of all regions that a write's command goes to.
pub(super) fn is_covered(bitmap: Option<&WriteIntentBitmap>, portion: &Portion, op: Op) -> bool {
    let bitmap = bitmap.filter(|_| portion.noted && op == Op::Write);
    bitmap.is_none_or(|bitmap| bitmap.covers_write((portion.lba, portion.end), portion.span))
}

/// True if a page goes down with FUA, not with a flush after it.
fn uses_fua(limits: &Limits) -> bool {
    limits.fua && limits.queuing == Queuing::Scsi
}
