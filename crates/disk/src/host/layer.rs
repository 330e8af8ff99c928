//! The work that all layers share: requests and their accounts, answers, aborts, landings, and stepping the device below.
//!
//! Each layer's own work is in its own file, as a [`HostLayer`]: on a request's way [`accept_request`](HostLayer::accept_request), on a
//! completion's way [`handle_completion`](HostLayer::handle_completion), at its [`run_due_work`](HostLayer::run_due_work), on a control. Events without a method
//! of the layer pass through ([`IdentityLayer`](super::identity::IdentityLayer) has none). A [`LayeredDevice`] joins a layer
//! to the device below, and decides when to call each.
//!
//! | event | call |
//! |---|---|
//! | a request has come and there is room for it | `accept_request`, once |
//! | commands are back | `handle_completion`, for all that came back together, in order |
//! | the layer's turn is due | `run_due_work`, until it has nothing more to do at that instant |
//! | an abort, a reset, a power cut | `held_slots`, `withdraw_request`, `tags_to_abort`: the layer's parts of a request, here and below |
//! | a setting of its own | `change_setting`; `apply_control` for layers that treat a control in their own way |
//! | a landing below | `report_landing`, to report it in addresses and stamps of the requests from above |
//!
//! The first three return when the layer wants its turn; it gets it then at the latest.
//!
//! Accounts are copied as little as possible. A completion that directly answers a request stays in place, and the
//! layer adds its own time to it ([`HostLayerContext::answer_with`]). Only if a request is answered later, or by several commands,
//! the layer keeps an `Account` ([`HostLayerContext::adopt_completion`], then [`HostLayerContext::answer_request`]).
//!
//! The path of a request does not allocate once as many requests have been in flight together.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::carried_writes::CarriedWrites;
use crate::block::busy_curve::BusyCurve;
use crate::block::setting::LayerSetting;
use crate::block::setting_use::SettingUse;
use crate::block::{Completion, Control, ControlError, Device, DeviceProgress, Landing, Limits, Request, Status};
use crate::record::{Account, DriveLog, Part};
use crate::slab::Slab;
use crate::time::Instant;

/// A layer's own work, done through the methods of its context.
pub trait HostLayer: Sized {
    /// The layer's note on each request, besides the account.
    type Note: Copy + Default;
    /// The part that a request's time in the layer counts as.
    const PART: Part;

    /// The capabilities, if it accepts `room` requests at once above a device with those of `below`.
    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: below.depth.min(room), ..below }
    }

    /// True if there is room for a request. There must be when nothing is in flight.
    fn has_room(&self, context: &HostLayerContext<Self>, request: &Request) -> bool {
        let _ = request;
        context.in_flight() < context.room
    }

    /// Handles a request that has come, in `slot`.
    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> Instant {
        context.pass_down(now, slot);
        Instant::FAR
    }

    /// Handles a command that is back under the tag with which it was sent. If the completion is the answer, it stays
    /// in its place.
    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> Instant {
        context.answer_with(completion.tag, completion);
        Instant::FAR
    }

    /// Does what is due at `now`, or a part of it; returns `now` if there may be more.
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> Instant {
        let _ = (context, now);
        Instant::FAR
    }

    /// The slots of its requests, in the order in which a reset ends them.
    fn held_slots(&self, context: &HostLayerContext<Self>) -> Vec<u32> {
        let _ = context;
        Vec::new()
    }

    /// Removes a request that ends with `status` from all queues here. True if no part of it is below.
    fn withdraw_request(
        &mut self,
        context: &mut HostLayerContext<Self>,
        now: Instant,
        slot: u32,
        status: Status,
    ) -> bool {
        let _ = (context, now, slot, status);
        false
    }

    /// The tags of the commands below that end when the request in `slot` is aborted.
    fn tags_to_abort(&self, context: &HostLayerContext<Self>, slot: u32) -> Vec<u32> {
        let _ = context;
        alloc::vec![slot]
    }

    /// Changes a setting of its own; `None` if it is another layer's.
    fn change_setting(
        &mut self,
        context: &mut HostLayerContext<Self>,
        now: Instant,
        setting: LayerSetting,
    ) -> Option<Result<(), ControlError>> {
        let _ = (context, now, setting);
        None
    }

    /// Reports a landing below in addresses and stamps of the requests from above.
    fn report_landing(&mut self, context: &mut HostLayerContext<Self>, landing: Landing) {
        context.landings.translate_landing(landing);
    }

    /// Reports the stamps of writes that may still land; the requests in flight here are reported without it.
    fn report_unsettled(&self, context: &HostLayerContext<Self>, tell: &mut dyn FnMut(u64)) {
        context.report_unsettled_below(tell);
    }

    /// The log of the drives below, with the layer's own counts.
    fn extend_log(&self, below: DriveLog) -> DriveLog {
        below
    }

    /// The use of the layer's own settings by `now`, as far as [`SettingUse`] tracks them.
    fn setting_use(&self, _now: Instant) -> SettingUse {
        SettingUse::NOTHING
    }

    /// The load of the layer's own cores until `now`.
    fn core_load(&self, _now: Instant) -> Option<BusyCurve> {
        None
    }

    /// Applies a control.
    fn apply_control(
        &mut self,
        context: &mut HostLayerContext<Self>,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        context.apply_default_control(self, now, control)
    }
}

/// A request from above.
#[derive(Clone, Copy)]
pub struct HeldRequest<N> {
    /// The request as it came, except for its tag, which is the slot number, as in commands passed on. A layer may change
    /// it.
    pub request: Request,
    /// The submitter's tag.
    pub tag: u32,
    /// How it will end.
    pub status: Status,
    /// The layer's note.
    pub note: N,
    came: Instant,
    /// The account has entries.
    written: bool,
    account: Account,
    live: bool,
}

impl<N: Default> HeldRequest<N> {
    /// A placeholder.
    fn placeholder() -> HeldRequest<N> {
        let (note, account, came) = (N::default(), Account::open(Instant::ZERO), Instant::ZERO);
        HeldRequest {
            request: Request::NONE,
            tag: 0,
            status: Status::Done,
            note,
            came,
            written: false,
            account,
            live: false,
        }
    }

    /// Starts a request in `slot`, in place of a finished one: it is too large to move.
    #[inline(always)]
    fn begin_request(&mut self, now: Instant, slot: u32, request: Request) {
        self.tag = request.tag;
        self.request = request;
        self.request.tag = slot;
        self.came = now;
        self.written = false;
        self.status = Status::Done;
        self.note = N::default();
        self.live = true;
    }
}

impl<N> HeldRequest<N> {
    /// Notes that a part of it has ended with `status`; the first error counts.
    pub(crate) fn note_part_status(&mut self, status: Status) {
        if self.status == Status::Done {
            self.status = status;
        }
    }

    /// The account until now.
    #[inline]
    pub(crate) fn account(&mut self) -> &mut Account {
        if !self.written {
            (self.written, self.account) = (true, Account::open(self.came));
        }
        &mut self.account
    }

    /// Writes the answer over a completion that is no longer needed.
    #[inline]
    fn write_answer(&self, answer: &mut Completion) {
        let Account { ledger, effort } = &self.account;
        answer.tag = self.tag;
        answer.status = self.status;
        (answer.submitted, answer.finished) = (ledger.start(), ledger.booked_until());
        answer.parts = ledger.parts();
        answer.effort = *effort;
    }
}

/// The context of a layer's work.
pub struct HostLayerContext<L: HostLayer> {
    /// Requests from above, by slot.
    pub slots: Slab<HeldRequest<L::Note>>,
    /// Landings on their way up.
    pub landings: CarriedWrites,
    below: Box<dyn Device>,
    /// How many requests it accepts at once.
    room: u32,
    /// Answers not yet polled: the oldest are in `ready`, the rest in the slots freed last.
    answers: u32,
    /// Answers that were moved here because their slots were wanted again.
    ready: VecDeque<Completion>,
    /// The device below was called, and may have a completion.
    called: bool,
    /// The request that is answered by the completion that just came up.
    answered: Option<u32>,
    /// When something happens below; `FAR` if nothing does by itself.
    below_next: Instant,
    /// When the layer wants its turn.
    own_next: Instant,
    /// The number among the layers of its kind, from the top, from 1.
    number: u32,
}

impl<L: HostLayer> HostLayerContext<L> {
    /// The capabilities of `unit` of the device below.
    pub fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    /// How many requests it accepts at once.
    pub fn room(&self) -> u32 {
        self.room
    }

    /// The layer's number among those of its kind, from the top, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// How many requests from above are unanswered.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.slots.places_in_use()
    }

    /// Sends a command down. The device below has room for as many as it reported.
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.below_next = self.below.submit(now, request).expect("room below for the depth it states");
        self.called |= self.below_next <= now || self.landings.are_wanted();
    }

    /// Sends the request in `slot` down unchanged.
    pub(crate) fn pass_down(&mut self, now: Instant, slot: u32) {
        self.submit(now, self.slots[slot].request);
    }

    /// Applies a control to the device below.
    pub fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.called = true;
        self.below.control(now, control)
    }

    /// Adds the time and effort of a command to its request; the wait before it was spent here.
    #[inline]
    pub fn adopt_completion(&mut self, slot: u32, completion: &Completion) {
        let held = &mut self.slots[slot];
        if held.written {
            return held.account.book_child(L::PART, completion);
        }
        held.written = true;
        held.account = Account::from_completion(completion);
        held.account.ledger.extend_back(L::PART, held.came);
    }

    /// Answers the request in `slot` with the completion of its only command; the wait before it was spent here.
    /// Nothing is copied.
    #[inline]
    pub fn answer_with(&mut self, slot: u32, completion: &mut Completion) {
        let held = &mut self.slots[slot];
        if held.written {
            held.account.book_child(L::PART, completion);
            held.status = completion.status;
            held.write_answer(completion);
        } else {
            completion.extend_back(L::PART, held.came);
            completion.tag = held.tag;
        }
        held.live = false;
        self.answered = Some(slot);
    }

    /// Ends the request in `slot` at `now`; time not accounted for was spent here.
    #[inline]
    pub fn answer_request(&mut self, now: Instant, slot: u32, status: Status) {
        debug_assert!(self.answered.is_none(), "answered in order");
        let held = &mut self.slots[slot];
        held.account().ledger.book_until(L::PART, now);
        (held.status, held.live) = (status, false);
        self.slots.free(slot);
        self.answers += 1;
    }

    /// Writes the next answer, which exists, to `answer`.
    #[inline(always)]
    fn write_next_answer(&mut self, answer: &mut Completion) {
        match self.ready.pop_front() {
            Some(kept) => *answer = kept,
            None => self.slots[self.slots.nth_last_freed(self.answers)].write_answer(answer),
        }
        self.answers -= 1;
    }

    /// Saves the answers not yet polled: their slots may be taken.
    #[inline(never)]
    fn keep_answers(&mut self) {
        for last in (1..=self.answers - self.ready.len() as u32).rev() {
            let mut answer = Completion::NONE;
            self.slots[self.slots.nth_last_freed(last)].write_answer(&mut answer);
            self.ready.push_back(answer);
        }
    }

    /// True if the request in `slot` is unanswered.
    pub(crate) fn is_live(&self, slot: u32) -> bool {
        self.slots[slot].live
    }

    /// The slots of unanswered requests, rising.
    pub(crate) fn live_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.slots.places_ever_used()).filter(|&slot| self.slots[slot].live)
    }

    /// Handles the completions from below.
    #[inline(never)]
    pub(crate) fn collect_completions(&mut self, layer: &mut L) {
        self.collect_landings(layer);
        while let Some(completion) = &mut self.below.poll_completion() {
            if let Some(slot) = self.pass_to_layer(layer, completion) {
                self.keep_answer(slot, completion);
            }
        }
    }

    /// Passes a completion to the layer; returns the slot that it directly answers, if any.
    #[inline(always)]
    fn pass_to_layer(&mut self, layer: &mut L, completion: &mut Completion) -> Option<u32> {
        let turn = layer.handle_completion(self, completion);
        self.own_next = self.own_next.min(turn);
        self.answered.take()
    }

    /// True if the completion itself is the next answer to be polled.
    #[inline(always)]
    fn pass_up(&mut self, layer: &mut L, completion: &mut Completion) -> bool {
        let Some(slot) = self.pass_to_layer(layer, completion) else { return false };
        let next = self.answers == 0;
        match next {
            true => self.slots.free(slot),
            false => self.keep_answer(slot, completion),
        }
        next
    }

    /// Keeps the answer to the request in `slot` until it is polled.
    fn keep_answer(&mut self, slot: u32, answer: &Completion) {
        let held = &mut self.slots[slot];
        (held.account, held.status) = (Account::from_completion(answer), answer.status);
        self.slots.free(slot);
        self.answers += 1;
    }

    /// Handles the landings from below.
    #[inline(always)]
    pub(crate) fn collect_landings(&mut self, layer: &mut L) {
        if self.landings.are_wanted() {
            self.take_landings(layer);
        }
    }

    #[inline(never)]
    fn take_landings(&mut self, layer: &mut L) {
        while let Some(landing) = self.below.poll_landing() {
            layer.report_landing(self, landing);
        }
        if self.landings.is_scan_due() {
            let mut unsettled = BTreeSet::new();
            self.report_unsettled_below(&mut |stamp| unsettled.extend([stamp]));
            self.landings.keep_unsettled(&unsettled);
        }
    }

    /// Reports the stamps of commands below that may still land.
    pub(crate) fn report_unsettled_below(&self, tell: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(tell);
    }

    /// Ends the request in `slot` as far as it is here.
    pub fn end_request(&mut self, layer: &mut L, now: Instant, slot: u32, status: Status) {
        if self.slots[slot].live && layer.withdraw_request(self, now, slot, status) {
            self.answer_request(now, slot, status);
        }
    }

    /// Applies a control as layers do by default.
    pub(crate) fn apply_default_control(
        &mut self,
        layer: &mut L,
        now: Instant,
        control: &Control,
    ) -> Result<(), ControlError> {
        match *control {
            Control::Abort(tag) => self.abort_request(layer, now, tag),
            Control::Reset | Control::PowerCut => {
                let cut = matches!(control, Control::PowerCut);
                let status = if cut { Status::PowerLost } else { Status::Aborted };
                for slot in layer.held_slots(self) {
                    self.end_request(layer, now, slot, status);
                }
                self.control(now, control)
            }
            Control::Set(setting) => {
                layer.change_setting(self, now, setting).unwrap_or_else(|| self.control(now, control))
            }
            Control::PowerOff | Control::PowerOn => self.control(now, control),
        }
    }

    fn abort_request(&mut self, layer: &mut L, now: Instant, tag: u32) -> Result<(), ControlError> {
        let slot = self.live_slots().find(|&slot| self.slots[slot].tag == tag).ok_or(ControlError::UnknownTag)?;
        let below = layer.tags_to_abort(self, slot);
        if layer.withdraw_request(self, now, slot, Status::Aborted) {
            self.answer_request(now, slot, Status::Aborted);
            return Ok(());
        }
        let mut aborted = false;
        for tag in below {
            match self.control(now, &Control::Abort(tag)) {
                // The abort of another command brought up the answer, which waits to be polled.
                Err(ControlError::UnknownTag) if aborted => {}
                done => done?,
            }
            aborted = true;
        }
        Ok(())
    }
}

/// A layer with the device below it.
pub struct LayeredDevice<L: HostLayer> {
    layer: L,
    context: HostLayerContext<L>,
}

impl<L: HostLayer> LayeredDevice<L> {
    /// `layer`, accepting `room` requests at once, above `below`.
    pub fn new(layer: L, room: u32, below: Box<dyn Device>) -> LayeredDevice<L> {
        let below_next = below.poll_timeout().unwrap_or(Instant::FAR);
        let context = HostLayerContext {
            slots: Slab::with_capacity(room as usize),
            landings: CarriedWrites::default(),
            below,
            room,
            answers: 0,
            ready: VecDeque::new(),
            called: false,
            answered: None,
            below_next,
            own_next: Instant::FAR,
            number: 1,
        };
        LayeredDevice { layer, context }
    }

    /// Gives the layer another number in settings, as one of several of its kind.
    #[must_use]
    pub(crate) fn with_number(mut self, number: u32) -> LayeredDevice<L> {
        self.context.number = number;
        self
    }

    /// The layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    /// The layer and its context, before the first request.
    pub(super) fn parts_mut(&mut self) -> (&mut L, &mut HostLayerContext<L>) {
        (&mut self.layer, &mut self.context)
    }

    /// Handles what has come back, does what is due at `now`, and sends commands down.
    #[inline(always)]
    fn settle_instant(&mut self, now: Instant) {
        let LayeredDevice { layer, context } = self;
        while context.called || context.own_next <= now {
            if core::mem::take(&mut context.called) {
                context.collect_completions(layer);
                context.below_next = context.below.poll_timeout().unwrap_or(Instant::FAR);
            } else {
                context.own_next = layer.run_due_work(context, now);
            }
        }
    }

    /// Does what is due by `now`, instant after instant.
    fn step_to(&mut self, now: Instant) {
        loop {
            let next = self.next_instant();
            if next > now || next == Instant::FAR {
                return;
            }
            if self.context.below_next <= next {
                self.context.below.handle_timeout(next);
                self.context.called = true;
            }
            self.settle_instant(next);
        }
    }

    /// When something happens here or below.
    #[inline]
    fn next_instant(&self) -> Instant {
        self.context.own_next.min(self.context.below_next)
    }
}

impl<L: HostLayer> LayeredDevice<L> {
    /// When to call next: at once if something can be polled.
    #[inline]
    fn next_call(&self, now: Instant) -> Instant {
        if self.context.answers > 0 { now } else { self.next_instant() }
    }
}

impl<L: HostLayer> Device for LayeredDevice<L> {
    fn limits(&self, unit: u8) -> Limits {
        self.layer.limits(self.context.room, self.context.below.limits(unit))
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        let LayeredDevice { layer, context } = self;
        if !layer.has_room(context, &request) {
            return Err(request);
        }
        if context.answers > 0 {
            context.keep_answers();
        }
        let slot = context.slots.claim_place(HeldRequest::placeholder);
        context.slots[slot].begin_request(now, slot, request);
        let turn = layer.accept_request(context, now, slot);
        context.own_next = context.own_next.min(turn);
        self.settle_instant(now);
        Ok(self.next_call(now))
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let LayeredDevice { layer, context } = self;
        let done = layer.apply_control(context, now, control);
        if let (Control::Set(LayerSetting::Landings(on)), Ok(())) = (control, done) {
            context.landings = CarriedWrites::new(*on);
        }
        context.own_next = now;
        self.settle_instant(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_instant();
        (next != Instant::FAR).then_some(next)
    }

    #[inline(always)]
    fn handle_timeout(&mut self, now: Instant) {
        if self.next_instant() <= now {
            self.step_to(now);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        if self.context.answers == 0 {
            return None;
        }
        let mut answer = Completion::NONE;
        self.context.write_next_answer(&mut answer);
        Some(answer)
    }

    fn drive_log(&self) -> DriveLog {
        self.layer.extend_log(self.context.below.drive_log())
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        self.layer.setting_use(now).merged_with(self.context.below.setting_use(now))
    }

    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        self.layer.core_load(now).or_else(|| self.context.below.core_load(now))
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.context.collect_landings(&mut self.layer);
        self.context.landings.pop_landing()
    }

    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        let LayeredDevice { layer, context } = self;
        context.live_slots().for_each(|slot| tell(context.slots[slot].request.stamp));
        context.landings.report_stamps(tell);
        layer.report_unsettled(context, tell);
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        loop {
            if self.context.answers > 0 {
                self.context.write_next_answer(answer);
                return DeviceProgress { answered: true, next: self.next_call(answer.finished) };
            }
            let LayeredDevice { layer, context } = self;
            let mut at = context.own_next;
            let first = at.min(until);
            let mut passes = false;
            if context.below_next <= first {
                let below = context.below.proceed_into(first, answer);
                context.collect_landings(layer);
                context.below_next = below.next;
                if below.answered {
                    at = answer.finished;
                    context.called = below.next <= at;
                    passes = context.pass_up(layer, answer);
                }
            }
            if at > until || at == Instant::FAR {
                return DeviceProgress { answered: false, next: self.next_instant() };
            }
            self.settle_instant(at);
            self.handle_timeout(at);
            if passes {
                return DeviceProgress { answered: true, next: self.next_call(at) };
            }
        }
    }
}
