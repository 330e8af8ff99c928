//! The operating system's driver: holds requests, merges neighbours, sorts them, splits large ones, limits how many are
//! outstanding, and applies the flush policy. No processor time is counted here.
//!
//! | part | what it is |
//! |---|---|
//! | [`spec`] | the settings of a driver |
//! | `commands` | commands, and the pieces of requests in them |
//! | `merge` | which neighbours become one command |
//! | `scheduler` | which command is next: in one queue, [`deadline`], [`fair`] |
//!
//! A request larger than `max_transfer` goes down as several commands, each as soon as there is room; it completes with
//! the last of them, and its account follows that one. Above an ATA drive a flush is a barrier, as in the drivers of
//! the field: it goes down when everything before it has completed, and nothing after it goes down before it has. Above
//! a SCSI drive it goes down like any other command; an *ordered* request goes down after all before it and before all
//! after it, and one for the *head of queue* next. A request behind a barrier waits in part *flush* until the
//! barrier has passed; a barrier's own wait is *driver*.
//!
//! A command that comes back aborted without an abort from above went down with another's error: each request in it is
//! sent again on its own, as Linux's libata does. The lost time is *driver*. A command that takes longer than `timeout`
//! is aborted, above an ATA queue by a reset that aborts all others too, and sent again up to `retries` times; the
//! milliseconds that an operating system spends on this are not modelled.
//!
//! Settings that may change during a run: [`DriverSetting`].

mod commands;
pub mod deadline;
pub mod fair;
mod merge;
mod scheduler;
pub mod spec;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::commands::{CommandStage, DriverCommands, RequestPiece};
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

/// The operating system's driver.
pub struct Driver {
    spec: DriverSpec,
    commands: DriverCommands,
    /// The waiting commands.
    scheduler: Scheduler,
    /// Where they begin and end; only if the driver merges.
    neighbours: MergeIndex,
    /// Commands for the head of the queue.
    urgent: VecDeque<u32>,
    /// Barriers and the requests behind them.
    held: VecDeque<u32>,
    /// By tag: the command that was sent down under it.
    sent: Vec<u32>,
    idle_tags: Vec<u32>,
    head: u64,
    flushing: bool,
    /// The waiting commands are the rest of an ordered request.
    ordering: bool,
    queuing: Queuing,
    depth: u32,
    /// Sectors in a physical sector below.
    physical: u64,
    /// Capacity below in sectors. Requests beyond it fail and are never merged.
    sectors: u64,
    /// Commands below by when they time out, with their tags. Some may be back already.
    alarms: VecDeque<(Instant, u32)>,
    /// Until when waiting commands are held back; `FAR` if they are not.
    plugged: Instant,
    /// When the supply is cut; `FAR` if it is not.
    cut: Instant,
    /// How many commands were below at once, how long one took at most, and that one came back aborted.
    most_below: u32,
    longest: Span,
    aborted: bool,
}

/// The driver's note on a request.
#[derive(Clone, Copy, Default)]
pub struct RequestNote {
    /// Pieces not yet completed.
    left: u32,
    /// A flush of its own follows the write.
    through: bool,
    /// Held behind a barrier that has not passed.
    behind: bool,
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
            neighbours: MergeIndex::default(),
            urgent: VecDeque::new(),
            held: VecDeque::new(),
            sent: alloc::vec![0; depth as usize],
            idle_tags: (0..depth).rev().collect(),
            head: 0,
            flushing: false,
            ordering: false,
            queuing: limits.queuing,
            depth,
            physical: u64::from(limits.physical) / SECTOR,
            sectors: limits.sectors,
            alarms: VecDeque::new(),
            plugged: Instant::FAR,
            cut: Instant::FAR,
            most_below: 0,
            longest: Span::ZERO,
            aborted: false,
            spec,
        };
        LayeredDevice::new(driver, spec.capacity, below)
    }

    fn commands_below(&self) -> u32 {
        self.sent.len() as u32 - self.idle_tags.len() as u32
    }

    /// True if nothing goes down before a command is back, and nothing waits behind a barrier.
    fn is_full(&self) -> bool {
        self.commands_below() >= self.depth && self.held.is_empty()
    }

    /// True if a command or request has not gone down yet.
    fn has_waiting(&self) -> bool {
        !(self.scheduler.is_empty() && self.urgent.is_empty() && self.held.is_empty())
    }

    /// True if flushes go down. The device below may switch its write cache during a run.
    fn forwards_flushes(&self, context: &DriverContext) -> bool {
        match self.spec.flush {
            FlushPolicy::Forward => true,
            FlushPolicy::Cached => context.limits_below(0).volatile_cache,
            FlushPolicy::Drop | FlushPolicy::Never => false,
        }
    }

    /// Applies the policies to a request with forced unit access: returns it, without the flag if they drop it, and whether
    /// a flush must follow. The flag applies to writes; on other requests it is dropped as well.
    fn apply_policies(&self, context: &DriverContext, request: Request) -> (Request, bool) {
        let forwards = !request.flags.has(Flags::FUA) || self.forwards_flushes(context);
        let write_through = if forwards { self.spec.write_through } else { ForcedWritePolicy::Ignore };
        if !request.flags.has(Flags::FUA) || write_through == ForcedWritePolicy::Fua {
            return (request, false);
        }
        let writes = matches!(request.op, Op::Write | Op::WriteZeroes);
        let plain = Request { flags: request.flags.without(Flags::FUA), ..request };
        (plain, writes && write_through == ForcedWritePolicy::Flush)
    }

    /// Queues an accepted request.
    fn queue_request(&mut self, context: &mut DriverContext, now: Instant, parent: u32) {
        let request = context.slots[parent].request;
        if request.op == Op::Flush {
            context.slots[parent].note.left = 1;
            return self.queue_piece(context, now, RequestPiece::new(parent, self.head, 0, request.stamp));
        }
        let mut lba = request.lba;
        let mut pieces = 0;
        loop {
            let sectors = self.piece_sectors(lba, request.end());
            self.queue_piece(context, now, RequestPiece::new(parent, lba, sectors, request.stamp));
            pieces += 1;
            lba += u64::from(sectors);
            if lba >= request.end() {
                break;
            }
        }
        context.slots[parent].note.left = pieces;
    }

    fn queue_piece(&mut self, context: &DriverContext, now: Instant, piece: RequestPiece) {
        let parent = context.slots[piece.parent].request;
        let request = Request { lba: piece.lba, sectors: piece.sectors, ..parent };
        if self.is_head_of_queue(&request) {
            let number = self.commands.add(request, piece);
            self.commands.get_mut(number).stage = CommandStage::Urgent;
            return self.urgent.push_back(number);
        }
        let wanted = self.spec.merge && (self.spec.merge_reads || request.op != Op::Read);
        let merges = wanted && can_merge(&request) && request.end() <= self.sectors;
        if merges && self.merge_piece(&request, piece) {
            return;
        }
        if let Some(plug) = self.spec.plug.filter(|_| self.commands_below() == 0 && self.scheduler.is_empty()) {
            self.plugged = now + plug.wait;
        }
        let number = self.commands.add(request, piece);
        self.scheduler.add(now, number, &request);
        if merges {
            self.neighbours.insert(number, &request);
        }
    }

    /// Adds a piece to a waiting neighbour that has room, if there is one.
    fn merge_piece(&mut self, request: &Request, piece: RequestPiece) -> bool {
        let fits = |&number: &u32| {
            let other = &self.commands.get(number).request;
            let programs = !self.scheduler.separates_programs() || other.origin == request.origin;
            programs && other.flags == request.flags && other.sectors + request.sectors <= self.spec.max_transfer
        };
        let before = self.neighbours.commands_before(request).filter(fits).min();
        let behind = || self.neighbours.commands_after(request).filter(fits).min();
        let Some(number) = before.or_else(behind) else {
            return false;
        };
        let was = self.commands.get(number).request;
        match before {
            Some(_) => self.commands.append_piece(number, piece),
            None => self.commands.prepend_piece(number, piece),
        }
        let is = self.commands.get(number).request;
        self.scheduler.update_grown(number, &was, &is);
        self.neighbours.update_grown(number, &was, &is);
        true
    }

    /// True if the request goes down next.
    fn is_head_of_queue(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::HEAD_OF_QUEUE)
    }

    /// True if the request goes down when nothing else is below, and nothing follows before it is back.
    fn is_flush_barrier(&self, request: &Request) -> bool {
        self.queuing != Queuing::Scsi && request.op == Op::Flush
    }

    /// True if the request goes down after all that came before and before all that came after.
    fn is_ordered(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::ORDERED) && !self.is_head_of_queue(request)
    }

    /// Sectors of the next command for `lba..end`, split between physical sectors if possible.
    fn piece_sectors(&self, lba: u64, end: u64) -> u32 {
        let most = lba.saturating_add(u64::from(self.spec.max_transfer));
        if end <= most {
            return (end - lba) as u32;
        }
        let aligned = most - most % self.physical;
        let stop = if aligned > lba { aligned } else { most };
        (stop - lba) as u32
    }

    /// The next instant at which something is due here.
    fn next_own_event(&self) -> Instant {
        let alarm = self.alarms.front().map_or(Instant::FAR, |&(at, _)| at);
        let may_send = !self.flushing && self.commands_below() < self.depth && self.plugged == Instant::FAR;
        let scheduler = if may_send { self.scheduler.next_wakeup() } else { Instant::FAR };
        self.cut.min(self.plugged).min(alarm).min(scheduler)
    }

    /// Forgets the first alarms if their commands are back.
    fn forget_alarms(&mut self) {
        while let Some(&(at, tag)) = self.alarms.front() {
            if self.is_overdue(at, tag) {
                return;
            }
            self.alarms.pop_front();
        }
    }

    /// True if the command under `tag` is the one that times out at `at`.
    fn is_overdue(&self, at: Instant, tag: u32) -> bool {
        let command = self.commands.get(self.sent[tag as usize]);
        let limit = self.spec.timeout.is_some_and(|timeout| command.sent + timeout == at);
        limit && command.stage == CommandStage::Below && command.request.tag == tag
    }

    fn send_next(&mut self, context: &mut DriverContext, now: Instant) -> bool {
        if self.flushing && self.commands_below() == 0 {
            self.flushing = false;
        }
        self.release_held(context, now);
        if self.flushing || self.commands_below() >= self.depth {
            return false;
        }
        let Some(number) = self.next_command(now) else {
            return false;
        };
        let tag = self.idle_tags.pop().expect("as many tags as commands below");
        let command = self.commands.get_mut(number);
        (command.stage, command.sent, command.request.tag) = (CommandStage::Below, now, tag);
        let mut request = command.request;
        if request.sectors == 0 {
            request.lba = context.slots[self.commands.first_piece(number).parent].request.lba;
        }
        self.sent[tag as usize] = number;
        self.most_below = self.most_below.max(self.commands_below());
        self.flushing = self.is_flush_barrier(&request);
        if request.op != Op::Flush {
            self.head = request.end();
        }
        if self.spec.merge && request.op == Op::Write {
            // Landings of a merged command are reported under each request's own stamp. Also if the stamps are equal:
            // another command with the stamp may hold other writes of the same blocks.
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
            self.alarms.push_back((now + timeout, tag));
        }
        context.submit_below(now, request);
        true
    }

    fn next_command(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.urgent.pop_front() {
            return Some(number);
        }
        if self.unplug_if_due(now) {
            return None;
        }
        let number = self.scheduler.next(now, self.head)?;
        if self.spec.merge {
            self.neighbours.remove(number, &self.commands.get(number).request);
        }
        Some(number)
    }

    /// Unplugs the queue if enough commands wait, the time is over, or a barrier waits. True if it stays plugged.
    fn unplug_if_due(&mut self, now: Instant) -> bool {
        let enough = self.spec.plug.is_none_or(|plug| self.scheduler.len() >= plug.commands as usize);
        if self.plugged != Instant::FAR && (enough || self.plugged <= now || !self.held.is_empty()) {
            self.plugged = Instant::FAR;
        }
        self.plugged != Instant::FAR
    }

    /// Queues held requests: a flush once all before it are done, an ordered request once all before it are sent, the
    /// rest up to the next of these.
    fn release_held(&mut self, context: &mut DriverContext, now: Instant) {
        while let Some(&parent) = self.held.front() {
            let request = context.slots[parent].request;
            let (alone, ordered) = (self.is_flush_barrier(&request), self.is_ordered(&request));
            let waits = !self.scheduler.is_empty();
            if self.flushing || (self.ordering && waits) {
                return;
            }
            Driver::end_barrier_wait(context, now, parent);
            if (alone && (self.commands_below() > 0 || waits)) || (ordered && waits) {
                return;
            }
            self.held.pop_front();
            self.ordering = ordered;
            self.queue_request(context, now, parent);
            if alone {
                return;
            }
        }
    }

    /// Notes that the barriers before a held request have passed: from here on its wait is driver time.
    fn end_barrier_wait(context: &mut DriverContext, now: Instant, slot: u32) {
        let held = &mut context.slots[slot];
        if core::mem::take(&mut held.note.behind) {
            held.account_mut().ledger.book_until(Part::Flush, now);
        }
    }

    /// Handles a piece whose command is back. If it is the command's `last`, the completion may be reused.
    fn finish_piece(
        &mut self,
        context: &mut DriverContext,
        piece: RequestPiece,
        completion: &mut Completion,
        last: bool,
    ) {
        let (slot, now) = (piece.parent, completion.finished);
        let again = piece.tries <= self.spec.retries || self.spec.timeout.is_none();
        let parent = &mut context.slots[slot];
        if completion.status == Status::Aborted && parent.status == Status::Done && again {
            parent.account_mut().effort.add(&completion.effort);
            return self.queue_piece_alone(context, now, piece);
        }
        parent.note.left -= 1;
        if parent.note.left > 0 {
            parent.account_mut().effort.add(&completion.effort);
            parent.keep_first_error(completion.status);
            return;
        }
        if last && parent.status == Status::Done && !parent.note.through {
            return context.answer_with_completion(slot, completion);
        }
        parent.keep_first_error(completion.status);
        context.book_completion(slot, completion);
        let parent = &mut context.slots[slot];
        if core::mem::take(&mut parent.note.through) && parent.status == Status::Done {
            // The write is done; its flush goes down like any other.
            (parent.request.op, parent.request.sectors) = (Op::Flush, 0);
            let held = self.is_flush_barrier(&parent.request) || !self.held.is_empty();
            return self.hold_or_queue(context, now, slot, held);
        }
        let status = parent.status;
        context.answer_request(now, slot, status);
    }

    /// Holds a request that waits as a barrier or behind one; queues any other, which goes down as there is room.
    fn hold_or_queue(&mut self, context: &mut DriverContext, now: Instant, slot: u32, held: bool) {
        match held && !self.is_head_of_queue(&context.slots[slot].request) {
            true => self.hold_back(context, slot),
            false => self.queue_request(context, now, slot),
        }
    }

    /// Holds a request back: a barrier, or one behind it.
    fn hold_back(&mut self, context: &mut DriverContext, slot: u32) {
        let unfinished = self.ordering && !self.scheduler.is_empty();
        context.slots[slot].note.behind = self.flushing || unfinished || !self.held.is_empty();
        self.held.push_back(slot);
    }

    /// Sends a piece again in a command of its own: its data below keep the stamp under which they went down.
    fn queue_piece_alone(&mut self, context: &DriverContext, now: Instant, piece: RequestPiece) {
        let merge = core::mem::replace(&mut self.spec.merge, false);
        self.queue_piece(context, now, piece);
        self.spec.merge = merge;
    }

    fn cut_power(&mut self, context: &mut DriverContext, now: Instant) -> Result<(), ControlError> {
        self.cut = Instant::FAR;
        let done = context.apply_default_control(self, now, &Control::PowerCut);
        context.collect_landings(self);
        context.landings.forget_all();
        done
    }

    /// Does what is due at `now`: unplugs the queue, cuts the supply, times commands out.
    fn handle_own_due(&mut self, context: &mut DriverContext, now: Instant) {
        if self.plugged <= now {
            self.plugged = Instant::FAR;
        }
        if self.cut <= now {
            self.cut_power(context, now).expect("a cut is never refused");
        }
        while let Some(&(at, tag)) = self.alarms.front().filter(|&&(at, _)| at <= now) {
            self.alarms.pop_front();
            if !self.is_overdue(at, tag) {
                continue;
            }
            self.commands.count_timeout(self.sent[tag as usize]);
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
        let (down, through) = self.apply_policies(context, context.slots[slot].request);
        let parent = &mut context.slots[slot];
        (parent.request, parent.note.through) = (down, through);
        if self.cut != Instant::FAR {
            context.answer_request(now, slot, Status::PowerLost);
        } else if down.op == Op::Flush && !self.forwards_flushes(context) {
            context.answer_request(now, slot, Status::Done);
        } else {
            let barrier = self.is_flush_barrier(&down) || self.is_ordered(&down);
            let waits = !self.scheduler.is_empty();
            let held = barrier || !self.held.is_empty() || self.flushing || (self.ordering && waits);
            self.hold_or_queue(context, now, slot, held);
        }
        if self.is_full() { Instant::FAR } else { now }
    }

    #[inline(always)]
    fn handle_completion(&mut self, context: &mut DriverContext, completion: &mut Completion) -> NextTurn {
        let number = self.sent[completion.tag as usize];
        self.idle_tags.push(completion.tag);
        self.scheduler.note_completion(completion.finished, &self.commands.get(number).request);
        let now = completion.finished;
        self.longest = self.longest.max(now.since(self.commands.get(number).sent));
        self.aborted |= completion.status == Status::Aborted;
        let mut piece = self.commands.first_piece(number);
        loop {
            let next = self.commands.take_next_piece(&piece);
            self.finish_piece(context, piece, completion, next.is_none());
            let Some(next) = next else { break };
            // The first is charged for the command that served all of them.
            completion.effort = Effort::NONE;
            piece = next;
        }
        self.commands.free_number(number);
        self.forget_alarms();
        now
    }

    #[inline(always)]
    fn run_due_work(&mut self, context: &mut DriverContext, now: Instant) -> NextTurn {
        if self.send_next(context, now) {
            let more = !self.is_full() && self.has_waiting();
            return if more { now } else { self.next_own_event().max(now) };
        }
        let next = self.next_own_event();
        if next <= now {
            self.handle_own_due(context, now);
        }
        next
    }

    fn held_slots(&self, context: &DriverContext) -> Vec<u32> {
        context.unanswered_slots().collect()
    }

    /// Takes a request's pieces out of the waiting commands. Other pieces in these commands go on waiting.
    fn withdraw_request(&mut self, context: &mut DriverContext, now: Instant, slot: u32, status: Status) -> bool {
        self.held.retain(|&other| other != slot);
        Driver::end_barrier_wait(context, now, slot);
        let mut below = 0;
        for number in self.commands.numbers_for_request(slot) {
            if self.commands.get(number).stage == CommandStage::Below {
                below += self.commands.pieces_of(number).filter(|piece| piece.parent == slot).count() as u32;
                continue;
            }
            let request = self.commands.get(number).request;
            self.scheduler.remove(number, &request);
            self.neighbours.remove(number, &request);
            self.urgent.retain(|&other| other != number);
            let mut next = Some(self.commands.first_piece(number));
            while let Some(piece) = next {
                if piece.parent != slot {
                    self.queue_piece_alone(context, now, piece);
                }
                next = self.commands.take_next_piece(&piece);
            }
            self.commands.free_number(number);
        }
        context.slots[slot].status = status;
        context.slots[slot].note.left = below;
        below == 0
    }

    /// Leaves out commands shared with other requests: they go on, and the answer waits for them.
    fn tags_to_abort(&self, _: &DriverContext, slot: u32) -> Vec<u32> {
        let commands =
            self.commands.numbers_for_request(slot).into_iter().map(|number| (number, self.commands.get(number)));
        let below = commands.filter(|(_, command)| command.stage == CommandStage::Below);
        let alone = below.filter(|&(number, _)| self.commands.pieces_of(number).all(|piece| piece.parent == slot));
        alone.map(|(_, command)| command.request.tag).collect()
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        let below = (0..self.sent.len() as u32).filter(|tag| !self.idle_tags.contains(tag));
        let age = |tag: u32| now.saturating_since(self.commands.get(self.sent[tag as usize]).sent);
        SettingUse {
            waiting: self.scheduler.most_waiting(),
            below: self.most_below,
            longest: below.map(age).fold(self.longest, Span::max),
            again: self.aborted,
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
                DriverSetting::Depth(depth) if !(1..=self.sent.len() as u32).contains(&depth) => {
                    return Some(Err(ControlError::BadValue));
                }
                DriverSetting::Depth(depth) => self.depth = depth,
                _ => self.spec.change_setting(setting),
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
                self.cut = self.cut.min(now + pause);
                Ok(())
            }
            (Control::PowerOn, _) => {
                self.cut = Instant::FAR;
                context.apply_default_control(self, now, control)
            }
            _ => context.apply_default_control(self, now, control),
        }
    }
}
