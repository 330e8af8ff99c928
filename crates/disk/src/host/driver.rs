//! The operating system's driver: holds requests, merges neighbours, sorts them, splits large ones, limits how many are
//! outstanding, and applies the flush policy. No processor time is counted here.
//!
//! | part | what it is |
//! |---|---|
//! | [`spec`] | the settings of a driver |
//! | `commands` | commands, and the pieces of requests in them |
//! | `merge` | which neighbours become one command |
//! | `scheduler` | which command is next: in one queue, [`deadline`], [`fair`] |
//! | `flushes` | which flushes share a command |
//!
//! A request larger than `max_transfer` goes down as several commands, each as soon as there is room. The request
//! completes with the last of them, and has the account of the last. At most `capacity` commands are in the driver:
//! Linux splits a request before each part takes one of the `nr_requests` (`blk_mq_submit_bio`). Parts without room, and
//! the requests behind them, wait in order of arrival, in part *driver*.
//!
//! Some requests are *barriers*. Above an ATA drive a flush is one, as in the drivers of the field: it goes down when
//! everything before it has completed, and nothing after it goes down before it has. Above a SCSI drive a flush goes down
//! like any other command; there an *ordered* request is a barrier, which goes down after all before it and before all
//! after it. A request for the *head of queue* passes everything and goes down next. A request behind a barrier waits in
//! part *flush* until the barrier has passed; a barrier's own wait is *driver*.
//!
//! A driver that shares flushes ([`DriverSpec::share_flushes`]) has no such barrier: a flush passes all that has not gone
//! down. A request that comes while one is below waits in part *flush*; one that it passed, in part *driver*.
//!
//! A command that comes back aborted without an abort from above was aborted because another failed: each request in it
//! is sent again on its own, as Linux's libata does. The lost time is *driver*. A command that takes longer than
//! `timeout` is aborted, above an ATA queue by a reset that aborts all others too, and sent again up to `retries` times.
//! The milliseconds that an operating system spends on this are not modelled.
//!
//! Settings that may change during a run: [`DriverSetting`].

mod commands;
pub mod deadline;
pub mod fair;
mod flushes;
mod merge;
mod scheduler;
pub mod spec;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::commands::{CommandStage, DriverCommands, RequestPiece};
use self::flushes::SharedFlushes;
use self::merge::{MergeIndex, can_merge};
use self::scheduler::Scheduler;
pub use self::spec::{DriverSpec, Plug, SchedulerSpec};
use crate::block::setting::{DriverSetting, LayerSetting};
pub use crate::block::setting::{FlushPolicy, ForcedWritePolicy, PowerOffPolicy};
use crate::block::setting_use::SettingUse;
use crate::block::{Completion, Control, ControlError, Device, Flags, Limits, Op, Queuing, Request, SECTOR, Status};
use crate::host::layer::{self, HostLayer, LayeredDevice, NextTurn};
use crate::record::{Effort, Part};
use crate::time::{Instant, Span};

/// The operating system's driver. Requests are named by their slots, commands by their numbers.
#[derive(Clone)]
pub struct Driver {
    spec: DriverSpec,
    commands: DriverCommands,
    /// The waiting commands.
    scheduler: Scheduler,
    /// Where the waiting commands begin and end; only if the driver merges.
    merge_index: MergeIndex,
    /// Commands for the head of the queue.
    urgent: VecDeque<u32>,
    /// The request whose last parts found no room, and the first sector of these.
    partly_queued: Option<(u32, u64)>,
    /// Barriers, and the requests behind them or behind the one that is partly queued.
    held_requests: VecDeque<u32>,
    /// Flushes that share commands.
    flushes: SharedFlushes,
    /// By tag: the command that was last sent down under it.
    sent_commands: Vec<u32>,
    free_tags: Vec<u32>,
    /// The sector after the last command sent.
    last_end: u64,
    flush_is_below: bool,
    /// The waiting commands are the rest of an ordered request.
    finishes_ordered: bool,
    queuing: Queuing,
    /// How many commands it sends down at once.
    depth: u32,
    /// Sectors in a physical sector below.
    physical_sectors: u64,
    /// The capacity below in sectors. Requests beyond it fail and are never merged.
    capacity: u64,
    /// When each command below times out, and its tag; rising. Some commands may have returned already.
    timeouts: VecDeque<(Instant, u32)>,
    /// Until when waiting commands are held back; `FAR` if they are not.
    plugged_until: Instant,
    /// When the supply is cut; `FAR` if it is not.
    cut_at: Instant,
    /// How many commands were below at once.
    most_below: u32,
    /// The longest time of a command below.
    longest_command: Span,
    /// A command came back aborted.
    saw_abort: bool,
}

/// The driver's own data on a request.
#[derive(Clone, Copy, Default)]
pub struct RequestNote {
    /// Pieces not yet completed.
    pieces_left: u32,
    /// A flush under the same tag follows the write.
    flush_follows: bool,
    /// A barrier before it has not passed.
    is_behind_barrier: bool,
}

/// A request as the policies let it go down.
struct AdmittedRequest {
    request: Request,
    /// A flush must follow.
    flush_follows: bool,
}

type DriverContext = layer::HostLayerContext<Driver>;

impl Driver {
    /// A driver above `below`.
    pub fn build_above(spec: DriverSpec, below: Box<dyn Device>) -> LayeredDevice<Driver> {
        let limits = below.limits(0);
        let depth = spec.depth.min(limits.depth).max(1);
        let spec = DriverSpec { max_transfer: spec.max_transfer.min(limits.max_transfer).max(1), ..spec };
        let driver = Driver {
            commands: DriverCommands::with_capacity(spec.capacity as usize),
            scheduler: Scheduler::new(spec.scheduler, spec.capacity as usize),
            merge_index: MergeIndex::default(),
            urgent: VecDeque::new(),
            partly_queued: None,
            held_requests: VecDeque::new(),
            flushes: SharedFlushes::default(),
            sent_commands: alloc::vec![0; depth as usize],
            free_tags: (0..depth).rev().collect(),
            last_end: 0,
            flush_is_below: false,
            finishes_ordered: false,
            queuing: limits.queuing,
            depth,
            physical_sectors: u64::from(limits.physical) / SECTOR,
            capacity: limits.sectors,
            timeouts: VecDeque::new(),
            plugged_until: Instant::FAR,
            cut_at: Instant::FAR,
            most_below: 0,
            longest_command: Span::ZERO,
            saw_abort: false,
            spec,
        };
        LayeredDevice::new(driver, spec.capacity, below)
    }

    fn commands_below(&self) -> u32 {
        self.sent_commands.len() as u32 - self.free_tags.len() as u32
    }

    /// True if nothing can go down before a command returns, and no barrier is held.
    fn waits_for_completion(&self) -> bool {
        self.commands_below() >= self.depth && !self.holds_requests()
    }

    /// True if a command or request has not gone down yet.
    fn has_unsent(&self) -> bool {
        let has_flush = self.flushes.has_gathered() || self.unsent_flush().is_some();
        let has_waiting = !(self.scheduler.is_empty() && self.urgent.is_empty());
        has_flush || has_waiting || self.holds_requests()
    }

    /// True if requests wait that an ordered one must not pass.
    fn has_waiting(&self) -> bool {
        !self.scheduler.is_empty() || self.flushes.has_gathered() || self.unsent_flush().is_some()
    }

    /// True if an ATA drive has a flush, or gets one before any other command.
    fn sends_only_flush(&self) -> bool {
        self.flush_is_below || (self.queuing != Queuing::Scsi && !self.flushes.yields && self.unsent_flush().is_some())
    }

    /// True if flushes go down. The device below may switch its write cache during a run.
    fn forwards_flushes(&self, context: &DriverContext) -> bool {
        match self.spec.flush {
            FlushPolicy::Forward => true,
            FlushPolicy::Cached => context.limits_below(0).volatile_cache,
            FlushPolicy::Drop | FlushPolicy::Never => false,
        }
    }

    /// Applies the policy for forced unit access to a request. The flag applies to writes; if it is dropped for them, it is
    /// dropped on other requests as well.
    fn apply_forced_write_policy(&self, context: &DriverContext, request: Request) -> AdmittedRequest {
        let unchanged = AdmittedRequest { request, flush_follows: false };
        if !request.flags.has(Flags::FUA) {
            return unchanged;
        }
        let forwards = self.forwards_flushes(context);
        let write_through = if forwards { self.spec.write_through } else { ForcedWritePolicy::Ignore };
        let needs_flush = write_through.needs_flush(self.queuing, context.limits_below(0).fua);
        if !needs_flush && write_through != ForcedWritePolicy::Ignore {
            return unchanged;
        }
        let writes = matches!(request.op, Op::Write | Op::WriteZeroes);
        AdmittedRequest {
            request: Request { flags: request.flags.without(Flags::FUA), ..request },
            flush_follows: writes && needs_flush,
        }
    }

    /// Cuts the request in `slot` into pieces of at most the largest transfer, and queues them.
    fn queue_request(&mut self, context: &mut DriverContext, now: Instant, slot: u32) {
        let request = context.slots[slot].request;
        if request.op == Op::Flush {
            context.slots[slot].note.pieces_left = 1;
            return self.queue_piece(context, now, RequestPiece::new(slot, self.last_end, 0, request.stamp));
        }
        context.slots[slot].note.pieces_left = self.count_pieces(request.lba, request.end());
        self.queue_pieces(context, now, slot, request.lba);
    }

    /// How many commands the sectors `lba..end` take.
    fn count_pieces(&self, mut lba: u64, end: u64) -> u32 {
        let mut pieces = 1;
        loop {
            lba += u64::from(self.next_piece_sectors(lba, end));
            if lba >= end {
                return pieces;
            }
            pieces += 1;
        }
    }

    /// Queues the pieces of the request in `slot` from sector `lba` on, as many as there is room for.
    fn queue_pieces(&mut self, context: &mut DriverContext, now: Instant, slot: u32, mut lba: u64) {
        let request = context.slots[slot].request;
        loop {
            if !self.has_room() && !self.is_head_of_queue(&request) {
                self.partly_queued = Some((slot, lba));
                return;
            }
            let sectors = self.next_piece_sectors(lba, request.end());
            self.queue_piece(context, now, RequestPiece::new(slot, lba, sectors, request.stamp));
            lba += u64::from(sectors);
            if lba >= request.end() {
                return;
            }
        }
    }

    /// True if another command may wait or go down.
    fn has_room(&self) -> bool {
        self.scheduler.len() + self.urgent.len() + (self.commands_below() as usize) < self.spec.capacity as usize
    }

    /// Queues a piece: in a command of its own, or merged into a waiting one.
    fn queue_piece(&mut self, context: &DriverContext, now: Instant, piece: RequestPiece) {
        let whole = context.slots[piece.request_slot].request;
        if self.shares_flush(&whole) {
            return self.flushes.gather(now, piece);
        }
        let request = Request { lba: piece.lba, sectors: piece.sectors, ..whole };
        if self.is_head_of_queue(&request) {
            let number = self.commands.add(request, piece);
            self.commands.get_mut(number).stage = CommandStage::Urgent;
            return self.urgent.push_back(number);
        }
        let merges_op = self.spec.merge && (self.spec.merge_reads || request.op != Op::Read);
        // A write that a flush must follow has its own command (`block/blk-flush.c`: such requests are never merged).
        let stands_alone = context.slots[piece.request_slot].note.flush_follows;
        let merges = merges_op && can_merge(&request) && !stands_alone && request.end() <= self.capacity;
        if merges && self.try_merge_piece(&request, piece) {
            return;
        }
        if let Some(plug) = self.spec.plug.filter(|_| self.commands_below() == 0 && self.scheduler.is_empty()) {
            self.plugged_until = now + plug.wait;
        }
        let number = self.commands.add(request, piece);
        self.scheduler.add(now, number, &request);
        if merges {
            self.merge_index.insert(number, &request);
        }
    }

    /// Adds a piece, with its `request`, to a waiting neighbour that has room. False if there is none.
    fn try_merge_piece(&mut self, request: &Request, piece: RequestPiece) -> bool {
        let fits = |&number: &u32| {
            let other = &self.commands.get(number).request;
            let may_share = !self.scheduler.separates_programs() || other.origin == request.origin;
            let flags_of = |request: &Request| request.flags.without(Flags::BACKGROUND);
            let is_alike = may_share && flags_of(other) == flags_of(request);
            is_alike && other.sectors + request.sectors <= self.spec.max_transfer
        };
        let before = self.merge_index.commands_before(request).filter(fits).min();
        let after = || self.merge_index.commands_after(request).filter(fits).min();
        let Some(number) = before.or_else(after) else {
            return false;
        };
        let ungrown = self.commands.get(number).request;
        match before {
            Some(_) => self.commands.append_piece(number, piece),
            None => self.commands.prepend_piece(number, piece),
        }
        let grown = self.commands.get(number).request;
        self.scheduler.update_grown(number, &ungrown, &grown);
        self.merge_index.update_grown(number, &ungrown, &grown);
        true
    }

    /// True if the request goes down before all that wait.
    fn is_head_of_queue(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::HEAD_OF_QUEUE)
    }

    /// True if the request goes down only when nothing else is below, and nothing follows before it returns.
    fn is_flush_barrier(&self, request: &Request) -> bool {
        self.queuing != Queuing::Scsi && request.op == Op::Flush && !self.shares_flush(request)
    }

    /// True if the request is a barrier.
    fn is_barrier(&self, request: &Request) -> bool {
        self.is_flush_barrier(request) || self.is_ordered(request)
    }

    /// True if requests, or parts of one, wait for a barrier or for room.
    fn holds_requests(&self) -> bool {
        self.partly_queued.is_some() || !self.held_requests.is_empty()
    }

    /// True if the request goes down after all that came before it, and before all that came after it.
    fn is_ordered(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::ORDERED) && !self.is_head_of_queue(request)
    }

    /// Sectors of the first command for `lba..end`, which is split between physical sectors if possible.
    fn next_piece_sectors(&self, lba: u64, end: u64) -> u32 {
        let limit = lba.saturating_add(u64::from(self.spec.max_transfer));
        if end <= limit {
            return (end - lba) as u32;
        }
        let aligned = limit - limit % self.physical_sectors;
        let stop = if aligned > lba { aligned } else { limit };
        (stop - lba) as u32
    }

    /// When the driver next has work without a request or a completion.
    fn next_own_event(&self) -> NextTurn {
        let timeout = self.timeouts.front().map_or(Instant::FAR, |&(at, _)| at);
        let may_send = !self.sends_only_flush() && self.commands_below() < self.depth && !self.is_plugged();
        let scheduler = if may_send { self.scheduler.next_wakeup() } else { Instant::FAR };
        self.cut_at.min(self.plugged_until).min(timeout).min(scheduler).min(self.flushes.pending_timeout())
    }

    /// Forgets the first time-outs if their commands have returned.
    fn forget_past_timeouts(&mut self) {
        while let Some(&(at, tag)) = self.timeouts.front() {
            if self.times_out(tag, at) {
                return;
            }
            self.timeouts.pop_front();
        }
    }

    /// True if the command that is below under `tag` times out at `at`. False if it has returned, and another may have the
    /// tag.
    fn times_out(&self, tag: u32, at: Instant) -> bool {
        let command = self.commands.get(self.sent_commands[tag as usize]);
        let has_timeout = self.spec.timeout.is_some_and(|timeout| command.sent + timeout == at);
        has_timeout && command.stage == CommandStage::Below && command.request.tag == tag
    }

    /// Queues held requests as far as barriers allow, and sends the next command. True if it sent one.
    fn try_send_command(&mut self, context: &mut DriverContext, now: Instant) -> bool {
        if self.flush_is_below && self.commands_below() == 0 {
            self.flush_is_below = false;
        }
        self.queue_held_requests(context, now);
        self.begin_shared_flush(context, now);
        if self.flush_is_below || self.commands_below() >= self.depth {
            return false;
        }
        let Some(number) = self.take_next_command(now) else {
            return false;
        };
        let tag = self.free_tags.pop().expect("as many tags as commands below");
        let command = self.commands.get_mut(number);
        (command.stage, command.sent, command.request.tag) = (CommandStage::Below, now, tag);
        let mut request = command.request;
        if request.sectors == 0 {
            request.lba = context.slots[self.commands.first_piece(number).request_slot].request.lba;
        }
        self.sent_commands[tag as usize] = number;
        self.most_below = self.most_below.max(self.commands_below());
        self.flush_is_below = self.queuing != Queuing::Scsi && request.op == Op::Flush;
        self.flushes.yields = self.flushes.is_under_way(number);
        if request.op != Op::Flush {
            self.last_end = request.end();
        }
        if self.spec.merge && request.op == Op::Write {
            // Landings of a merged command are reported under each request's own stamp. A piece is noted even if its stamp
            // is the command's: another command with the stamp may hold other writes of these blocks.
            for piece in self.commands.pieces_of(number) {
                context.landings.note_carried(
                    request.stamp,
                    piece.stamp,
                    piece.lba,
                    piece.lba + u64::from(piece.sectors),
                );
            }
        }
        if let Some(timeout) = self.spec.timeout {
            self.timeouts.push_back((now + timeout, tag));
        }
        context.submit_below(now, request);
        true
    }

    /// Takes out the command that goes down next, if one may go down at `now`.
    fn take_next_command(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.urgent.pop_front() {
            return Some(number);
        }
        self.unplug_if_due(now);
        let flush = self.unsent_flush();
        let may_take = !self.is_plugged() && (flush.is_none() || self.flushes.yields);
        let Some(number) = may_take.then(|| self.scheduler.take_next(now, self.last_end)).flatten() else {
            return flush.filter(|_| self.queuing == Queuing::Scsi || self.commands_below() == 0);
        };
        if self.spec.merge {
            self.merge_index.remove(number, &self.commands.get(number).request);
        }
        Some(number)
    }

    /// True if waiting commands are held back for others to join.
    fn is_plugged(&self) -> bool {
        self.plugged_until != Instant::FAR
    }

    /// Unplugs the queue if enough commands wait, the time is over, or a barrier is held.
    fn unplug_if_due(&mut self, now: Instant) {
        let are_enough = self.spec.plug.is_none_or(|plug| self.scheduler.len() >= plug.commands as usize);
        if are_enough || self.plugged_until <= now || !self.held_requests.is_empty() {
            self.plugged_until = Instant::FAR;
        }
    }

    /// Queues held requests: a flush once all before it are done, an ordered request once all before it are sent, the
    /// rest up to the next of these.
    fn queue_held_requests(&mut self, context: &mut DriverContext, now: Instant) {
        if let Some((slot, lba)) = self.partly_queued.take() {
            self.queue_pieces(context, now, slot, lba);
        }
        while self.partly_queued.is_none()
            && let Some(&slot) = self.held_requests.front()
        {
            let request = context.slots[slot].request;
            let (is_flush, is_ordered) = (self.is_flush_barrier(&request), self.is_ordered(&request));
            let has_waiting = self.has_waiting();
            if self.flush_is_below || (self.finishes_ordered && has_waiting) {
                return;
            }
            Driver::end_barrier_wait(context, now, slot);
            if (is_flush && (self.commands_below() > 0 || has_waiting)) || (is_ordered && has_waiting) {
                return;
            }
            self.held_requests.pop_front();
            self.finishes_ordered = is_ordered;
            self.queue_request(context, now, slot);
            if is_flush {
                return;
            }
        }
    }

    /// Ends a request's wait behind barriers, which have passed: from now on its wait is driver time.
    fn end_barrier_wait(context: &mut DriverContext, now: Instant, slot: u32) {
        let request = &mut context.slots[slot];
        if core::mem::take(&mut request.note.is_behind_barrier) {
            request.account_mut().ledger.book_until(Part::Flush, now);
        }
    }

    /// Handles a piece whose command has completed: sends it again, or counts it off its request, which ends with its last
    /// piece. The completion becomes the answer in place only if the piece is the last of the command.
    fn finish_piece(
        &mut self,
        context: &mut DriverContext,
        piece: RequestPiece,
        completion: &mut Completion,
        is_last_of_command: bool,
    ) {
        let (slot, now) = (piece.request_slot, completion.finished);
        let may_retry = piece.timeouts <= self.spec.retries || self.spec.timeout.is_none();
        let request = &mut context.slots[slot];
        if completion.status == Status::Aborted && request.status == Status::Done && may_retry {
            request.account_mut().effort.add(&completion.effort);
            return self.queue_piece_unmerged(context, now, piece);
        }
        request.note.pieces_left -= 1;
        if request.note.pieces_left > 0 {
            request.account_mut().effort.add(&completion.effort);
            request.keep_first_error(completion.status);
            return;
        }
        if is_last_of_command && request.status == Status::Done && !request.note.flush_follows {
            return context.answer_with_completion(slot, completion);
        }
        request.keep_first_error(completion.status);
        context.book_completion(slot, completion);
        let held = &mut context.slots[slot];
        if core::mem::take(&mut held.note.flush_follows) && held.status == Status::Done {
            // The write is done; its flush goes down like any other.
            (held.request.op, held.request.sectors) = (Op::Flush, 0);
            let must_hold = self.is_flush_barrier(&held.request) || self.holds_requests();
            return self.hold_or_queue(context, now, slot, must_hold);
        }
        let status = held.status;
        context.answer_request(now, slot, status);
    }

    /// Holds a request if it must wait as a barrier or behind one, unless it is for the head of the queue; else queues it.
    fn hold_or_queue(&mut self, context: &mut DriverContext, now: Instant, slot: u32, must_hold: bool) {
        match must_hold && !self.is_head_of_queue(&context.slots[slot].request) {
            true => self.hold_request(context, slot),
            false => self.queue_request(context, now, slot),
        }
    }

    /// Holds a request: a barrier, or one that must not pass others.
    fn hold_request(&mut self, context: &mut DriverContext, slot: u32) {
        let is_ordered_unsent = self.finishes_ordered && !self.scheduler.is_empty();
        let is_behind_held = self.held_requests.back().is_some_and(|&last| {
            let last = &context.slots[last];
            last.note.is_behind_barrier || self.is_barrier(&last.request)
        });
        context.slots[slot].note.is_behind_barrier = self.flush_is_below || is_ordered_unsent || is_behind_held;
        self.held_requests.push_back(slot);
    }

    /// Queues a piece again in a command of its own: its data below keep the stamp under which they went down.
    fn queue_piece_unmerged(&mut self, context: &DriverContext, now: Instant, piece: RequestPiece) {
        let merge = core::mem::replace(&mut self.spec.merge, false);
        self.queue_piece(context, now, piece);
        self.spec.merge = merge;
    }

    /// Ends all requests and cuts the power of the device below.
    fn cut_power(&mut self, context: &mut DriverContext, now: Instant) -> Result<(), ControlError> {
        self.cut_at = Instant::FAR;
        let done = context.apply_default_control(self, now, &Control::PowerCut);
        context.collect_landings(self);
        context.landings.forget_all();
        done
    }

    /// Does the driver's own work that is due at `now`: unplugs the queue, cuts the supply, aborts commands that time out.
    fn do_due_work(&mut self, context: &mut DriverContext, now: Instant) {
        if self.plugged_until <= now {
            self.plugged_until = Instant::FAR;
        }
        if self.cut_at <= now {
            self.cut_power(context, now).expect("a cut is never refused");
        }
        while let Some(&(at, tag)) = self.timeouts.front().filter(|&&(at, _)| at <= now) {
            self.timeouts.pop_front();
            if !self.times_out(tag, at) {
                continue;
            }
            self.commands.count_timeout(self.sent_commands[tag as usize]);
            let control = if self.queuing.is_ata() { Control::Reset } else { Control::Abort(tag) };
            context.control_below(now, &control).expect("a command that is below");
            context.collect_completions(self);
        }
    }
}

impl HostLayer for Driver {
    type Note = RequestNote;
    const PART: Part = Part::Driver;

    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        let fua = below.fua || self.spec.write_through != ForcedWritePolicy::Fua;
        Limits { max_transfer: u32::MAX, depth: max_in_flight, fua, ..below }
    }

    fn accept_request(&mut self, context: &mut DriverContext, now: Instant, slot: u32) -> NextTurn {
        let AdmittedRequest { request, flush_follows } =
            self.apply_forced_write_policy(context, context.slots[slot].request);
        let held = &mut context.slots[slot];
        (held.request, held.note.flush_follows) = (request, flush_follows);
        if self.cut_at != Instant::FAR {
            context.answer_request(now, slot, Status::PowerLost);
        } else if request.op == Op::Flush && !self.forwards_flushes(context) {
            context.answer_request(now, slot, Status::Done);
        } else {
            let is_ordered_unsent = self.finishes_ordered && !self.scheduler.is_empty();
            let is_behind_barrier = self.flush_is_below || is_ordered_unsent;
            let must_hold = is_behind_barrier || self.is_barrier(&request) || self.holds_requests();
            self.hold_or_queue(context, now, slot, must_hold);
            if !self.holds_requests() {
                self.begin_shared_flush(context, now);
            }
        }
        if self.waits_for_completion() { Instant::FAR } else { now }
    }

    #[inline(always)]
    fn handle_completion(&mut self, context: &mut DriverContext, completion: &mut Completion) -> NextTurn {
        let number = self.sent_commands[completion.tag as usize];
        self.free_tags.push(completion.tag);
        self.scheduler.note_completion(completion.finished, &self.commands.get(number).request);
        let now = completion.finished;
        self.longest_command = self.longest_command.max(now.since(self.commands.get(number).sent));
        self.saw_abort |= completion.status == Status::Aborted;
        if self.flushes.is_under_way(number) {
            self.end_shared_flush(context, now);
        }
        let mut piece = self.commands.first_piece(number);
        loop {
            let next = self.commands.take_next_piece(&piece);
            self.finish_piece(context, piece, completion, next.is_none());
            let Some(next) = next else { break };
            // The first piece is charged for the command that served all of them.
            completion.effort = Effort::NONE;
            piece = next;
        }
        self.commands.free_number(number);
        self.forget_past_timeouts();
        now
    }

    #[inline(always)]
    fn run_due_work(&mut self, context: &mut DriverContext, now: Instant) -> NextTurn {
        if self.try_send_command(context, now) {
            let may_send_more = !self.waits_for_completion() && self.has_unsent();
            return if may_send_more { now } else { self.next_own_event().max(now) };
        }
        let next = self.next_own_event();
        if next <= now {
            self.do_due_work(context, now);
        }
        next
    }

    fn held_slots(&self, context: &DriverContext) -> Vec<u32> {
        context.unanswered_slots().collect()
    }

    /// Takes a request's pieces out of the waiting commands. Other pieces in these commands go on waiting.
    fn withdraw_request(&mut self, context: &mut DriverContext, now: Instant, slot: u32, status: Status) -> bool {
        self.held_requests.retain(|&other| other != slot);
        self.partly_queued = self.partly_queued.filter(|&(other, _)| other != slot);
        self.flushes.withdraw(slot);
        Driver::end_barrier_wait(context, now, slot);
        let mut pieces_below = 0;
        for number in self.commands.numbers_for_request(slot) {
            if self.commands.get(number).stage == CommandStage::Below {
                pieces_below +=
                    self.commands.pieces_of(number).filter(|piece| piece.request_slot == slot).count() as u32;
                continue;
            }
            let request = self.commands.get(number).request;
            self.scheduler.remove(number, &request);
            self.merge_index.remove(number, &request);
            self.urgent.retain(|&other| other != number);
            self.flushes.forget_command(number);
            let mut next = Some(self.commands.first_piece(number));
            while let Some(piece) = next {
                if piece.request_slot != slot {
                    self.queue_piece_unmerged(context, now, piece);
                }
                next = self.commands.take_next_piece(&piece);
            }
            self.commands.free_number(number);
        }
        context.slots[slot].status = status;
        context.slots[slot].note.pieces_left = pieces_below;
        pieces_below == 0
    }

    /// Leaves out commands shared with other requests: they go on, and the answer waits for them.
    fn tags_to_abort(&self, _: &DriverContext, slot: u32) -> Vec<u32> {
        let commands =
            self.commands.numbers_for_request(slot).into_iter().map(|number| (number, self.commands.get(number)));
        let below = commands.filter(|(_, command)| command.stage == CommandStage::Below);
        let unshared =
            below.filter(|&(number, _)| self.commands.pieces_of(number).all(|piece| piece.request_slot == slot));
        unshared.map(|(_, command)| command.request.tag).collect()
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        let below = (0..self.sent_commands.len() as u32).filter(|tag| !self.free_tags.contains(tag));
        let age = |tag: u32| now.saturating_since(self.commands.get(self.sent_commands[tag as usize]).sent);
        SettingUse {
            waiting: self.scheduler.most_waiting(),
            below: self.most_below,
            longest: below.map(age).fold(self.longest_command, Span::max),
            again: self.saw_abort,
            ..SettingUse::NOTHING
        }
    }

    fn change_setting(
        &mut self,
        context: &mut DriverContext,
        _: Instant,
        setting: LayerSetting,
    ) -> Option<Result<(), ControlError>> {
        match setting {
            LayerSetting::Driver { number, setting } if number == context.layer_number() => match setting {
                DriverSetting::Depth(depth) if !(1..=self.sent_commands.len() as u32).contains(&depth) => {
                    return Some(Err(ControlError::BadValue));
                }
                DriverSetting::Depth(depth) => self.depth = depth,
                _ => self.spec.change_setting_except_depth(setting),
            },
            _ => return None,
        }
        Some(Ok(()))
    }

    fn apply_control(
        &mut self,
        context: &mut DriverContext,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        match (control, self.spec.effective_power_off()) {
            (Control::PowerCut, _) | (Control::PowerOff, PowerOffPolicy::AtOnce) => self.cut_power(context, now),
            (Control::PowerOff, PowerOffPolicy::Pause(pause)) => {
                self.cut_at = self.cut_at.min(now + pause);
                Ok(())
            }
            (Control::PowerOn, _) => {
                self.cut_at = Instant::FAR;
                context.apply_default_control(self, now, control)
            }
            _ => context.apply_default_control(self, now, control),
        }
    }
}
