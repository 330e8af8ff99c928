//! The work that all layers share: requests and their accounts, answers, aborts, landings, and stepping the device below.
//!
//! Each layer's own work is in its own file, as a [`HostLayer`]. A [`LayeredDevice`] joins a layer to the device below and
//! makes these calls. A layer that lacks a method lets the event pass through
//! ([`IdentityLayer`](super::identity::IdentityLayer) has none of them).
//!
//! | event | call |
//! |---|---|
//! | a request has come and there is room for it | [`accept_request`](HostLayer::accept_request), once |
//! | commands are back | [`handle_completion`](HostLayer::handle_completion), for each, in order |
//! | the layer's turn is due | [`run_due_work`](HostLayer::run_due_work), until nothing more is due at that instant |
//! | an abort, a reset, a power cut | `held_slots`, `withdraw_request`, `tags_to_abort`: the parts of a request in the layer, and below it |
//! | a control | `change_setting` for a setting of the layer; `apply_control` for a layer with its own treatment of controls |
//! | a landing below | `report_landing`, to report it in addresses and stamps of the requests from above |
//!
//! The first three calls return when the layer wants its next turn ([`NextTurn`]). The turn may come earlier.
//!
//! Accounts are copied as little as possible. A completion that directly answers a request stays in place, and the
//! layer adds its own time to it ([`HostLayerContext::answer_with_completion`]). If a request is answered later, or by
//! several commands, the layer collects an `Account` ([`HostLayerContext::book_completion`]) and then answers
//! ([`HostLayerContext::answer_request`]).
//!
//! The path of a request does not allocate once as many requests have been in flight together.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use super::carried_writes::CarriedWrites;
use crate::block::array_load::ArrayLoad;
use crate::block::busy_curve::BusyCurve;
use crate::block::setting::LayerSetting;
use crate::block::setting_use::SettingUse;
use crate::block::{Completion, Control, ControlError, Device, DeviceProgress, Landing, Limits, Request, Status};
use crate::record::{Account, DriveLog, Part};
use crate::slab::Slab;
use crate::time::Instant;

/// When a layer wants to be called again ([`HostLayer::run_due_work`]); `FAR` if only another event gives it work.
pub type NextTurn = Instant;

/// A layer's own work, done through the methods of its context.
pub trait HostLayer: Clone + 'static {
    /// A layer's own data on each request it holds.
    type Note: Copy + Default;
    /// The part that a request's time in the layer counts as.
    const PART: Part;

    /// The capabilities of the layer, which accepts `max_in_flight` requests at once, above a device with those of `below`.
    fn limits(&self, max_in_flight: u32, below: Limits) -> Limits {
        Limits { depth: below.depth.min(max_in_flight), ..below }
    }

    /// The capabilities below, as [`HostLayer::limits`] gets them.
    fn limits_below(&self, context: &HostLayerContext<Self>, unit: u8) -> Limits {
        context.limits_below(unit)
    }

    /// True if there is room for a request. There must be when nothing is in flight.
    fn has_room(&self, context: &HostLayerContext<Self>, request: &Request) -> bool {
        let _ = request;
        context.in_flight() < context.max_in_flight
    }

    /// Handles the new request in `slot`.
    fn accept_request(&mut self, context: &mut HostLayerContext<Self>, now: Instant, slot: u32) -> NextTurn {
        context.pass_down(now, slot);
        Instant::FAR
    }

    /// Handles the completion of a command, which has the tag with which the layer sent it. A completion that is the
    /// answer to a request may be changed in place.
    fn handle_completion(&mut self, context: &mut HostLayerContext<Self>, completion: &mut Completion) -> NextTurn {
        context.answer_with_completion(completion.tag, completion);
        Instant::FAR
    }

    /// Does what is due at `now`, or a part of it; returns `now` if there may be more.
    fn run_due_work(&mut self, context: &mut HostLayerContext<Self>, now: Instant) -> NextTurn {
        let _ = (context, now);
        Instant::FAR
    }

    /// The slots of requests that have parts in the layer, in the order in which a reset ends them.
    fn held_slots(&self, context: &HostLayerContext<Self>) -> Vec<u32> {
        let _ = context;
        Vec::new()
    }

    /// Removes a request that ends with `status` from the layer's queues. True if no part of it is below.
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

    /// Changes a setting of the layer; `None` if it is another layer's.
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

    /// Reports the stamps of writes that may still land, except those of requests that the layer holds.
    fn report_unsettled(&self, context: &HostLayerContext<Self>, report_stamp: &mut dyn FnMut(u64)) {
        context.report_unsettled_below(report_stamp);
    }

    /// The log of the drives below, with the layer's own counts added.
    fn add_own_counts(&self, log_below: DriveLog) -> DriveLog {
        log_below
    }

    /// The use of the layer's own settings by `now`, as far as [`SettingUse`] tracks them.
    fn setting_use(&self, _now: Instant) -> SettingUse {
        SettingUse::NOTHING
    }

    /// The load of the layer's own cores until `now`.
    fn core_load(&self, _now: Instant) -> Option<BusyCurve> {
        None
    }

    /// The work of the layer's own members until `now`.
    fn array_load(&self, _now: Instant) -> Option<ArrayLoad> {
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

/// A request from above, in its slot.
#[derive(Clone, Copy)]
pub struct HeldRequest<N> {
    /// The request as it came, except for its tag, which is the slot number, as in commands passed on. A layer may change
    /// it.
    pub request: Request,
    /// The submitter's tag.
    pub tag: u32,
    /// The status with which it will end.
    pub status: Status,
    /// The layer's own data on it ([`HostLayer::Note`]).
    pub note: N,
    accepted: Instant,
    /// `account` is valid.
    has_account: bool,
    account: Account,
    unanswered: bool,
}

impl<N: Default> HeldRequest<N> {
    /// A placeholder.
    fn placeholder() -> HeldRequest<N> {
        let (note, account, accepted) = (N::default(), Account::open(Instant::ZERO), Instant::ZERO);
        HeldRequest {
            request: Request::NONE,
            tag: 0,
            status: Status::Done,
            note,
            accepted,
            has_account: false,
            account,
            unanswered: false,
        }
    }

    /// Overwrites a finished request with a new one in `slot`: the whole is too large to move.
    #[inline(always)]
    fn overwrite_with(&mut self, now: Instant, slot: u32, request: Request) {
        self.tag = request.tag;
        self.request = request;
        self.request.tag = slot;
        self.accepted = now;
        self.has_account = false;
        self.status = Status::Done;
        self.note = N::default();
        self.unanswered = true;
    }
}

impl<N> HeldRequest<N> {
    /// Takes over the status with which a part of the request ended, unless an earlier part failed.
    pub(crate) fn keep_first_error(&mut self, status: Status) {
        if self.status == Status::Done {
            self.status = status;
        }
    }

    /// The account; opens it if there is none yet.
    #[inline]
    pub(crate) fn account_mut(&mut self) -> &mut Account {
        if !self.has_account {
            (self.has_account, self.account) = (true, Account::open(self.accepted));
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

/// The requests that a layer holds, and the device below it.
pub struct HostLayerContext<L: HostLayer> {
    /// Requests from above, by slot.
    pub slots: Slab<HeldRequest<L::Note>>,
    /// Landings on their way up.
    pub landings: CarriedWrites,
    below: Box<dyn Device>,
    /// How many requests the layer accepts at once.
    max_in_flight: u32,
    /// How many answers have not been polled: the oldest are in `saved_answers`, the rest in the slots freed last.
    unpolled: u32,
    /// Answers that were moved here because their slots were wanted again.
    saved_answers: VecDeque<Completion>,
    /// The device below was called, and may have a completion.
    below_called: bool,
    /// The slot of the request that the completion under way answers in place.
    answered_in_place: Option<u32>,
    /// When something happens below; `FAR` if nothing does by itself.
    below_next: Instant,
    /// When the layer wants its turn.
    own_next: NextTurn,
    /// The number among the layers of one kind, counted from 1 at the top.
    layer_number: u32,
}

impl<L: HostLayer> HostLayerContext<L> {
    /// Copies the requests and the device below, with all their state; `None` if that device cannot be copied.
    fn fork(&self) -> Option<HostLayerContext<L>> {
        Some(HostLayerContext {
            slots: self.slots.clone(),
            landings: self.landings.clone(),
            below: self.below.fork()?,
            max_in_flight: self.max_in_flight,
            unpolled: self.unpolled,
            saved_answers: self.saved_answers.clone(),
            below_called: self.below_called,
            answered_in_place: self.answered_in_place,
            below_next: self.below_next,
            own_next: self.own_next,
            layer_number: self.layer_number,
        })
    }

    /// The capabilities of `unit` of the device below.
    pub fn limits_below(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    /// How many requests the layer accepts at once.
    pub fn max_in_flight(&self) -> u32 {
        self.max_in_flight
    }

    /// The layer's number among those of its kind, counted from 1 at the top.
    pub fn layer_number(&self) -> u32 {
        self.layer_number
    }

    /// How many requests from above are unanswered.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.slots.places_in_use()
    }

    /// Sends a command down. The device below has room for as many as it reported.
    pub fn submit_below(&mut self, now: Instant, command: Request) {
        self.below_next = self.below.submit(now, command).expect("room below for the depth it states");
        self.below_called |= self.below_next <= now || self.landings.are_wanted();
    }

    /// Sends the request in `slot` down unchanged.
    pub(crate) fn pass_down(&mut self, now: Instant, slot: u32) {
        self.submit_below(now, self.slots[slot].request);
    }

    /// Applies a control to the device below.
    pub fn control_below(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.below_called = true;
        self.below.control(now, control)
    }

    /// Books the time and effort of a completed command on its request. The wait before the command counts as the layer's
    /// part.
    #[inline]
    pub fn book_completion(&mut self, slot: u32, completion: &Completion) {
        let held = &mut self.slots[slot];
        if held.has_account {
            return held.account.book_child(L::PART, completion);
        }
        held.has_account = true;
        held.account = Account::from_completion(completion);
        held.account.ledger.extend_back(L::PART, held.accepted);
    }

    /// Answers the request in `slot` with the completion of its last command, in place. The wait before the command counts
    /// as the layer's part.
    #[inline]
    pub fn answer_with_completion(&mut self, slot: u32, completion: &mut Completion) {
        let held = &mut self.slots[slot];
        if held.has_account {
            held.account.book_child(L::PART, completion);
            held.status = completion.status;
            held.write_answer(completion);
        } else {
            completion.extend_back(L::PART, held.accepted);
            completion.tag = held.tag;
        }
        held.unanswered = false;
        self.answered_in_place = Some(slot);
    }

    /// Ends the request in `slot` at `now`. Time not yet booked counts as the layer's part.
    #[inline]
    pub fn answer_request(&mut self, now: Instant, slot: u32, status: Status) {
        debug_assert!(self.answered_in_place.is_none(), "answered in order");
        let held = &mut self.slots[slot];
        held.account_mut().ledger.book_until(L::PART, now);
        (held.status, held.unanswered) = (status, false);
        self.slots.free(slot);
        self.unpolled += 1;
    }

    /// Moves the oldest answer that was not polled, which exists, to `answer`.
    #[inline(always)]
    fn pop_answer_into(&mut self, answer: &mut Completion) {
        match self.saved_answers.pop_front() {
            Some(saved) => *answer = saved,
            None => self.slots[self.slots.nth_last_freed(self.unpolled)].write_answer(answer),
        }
        self.unpolled -= 1;
    }

    /// Saves the answers that were not polled, before their slots are taken.
    #[inline(never)]
    fn save_unpolled_answers(&mut self) {
        for nth_last in (1..=self.unpolled - self.saved_answers.len() as u32).rev() {
            let mut answer = Completion::NONE;
            self.slots[self.slots.nth_last_freed(nth_last)].write_answer(&mut answer);
            self.saved_answers.push_back(answer);
        }
    }

    /// True if the request in `slot` is unanswered.
    pub(crate) fn is_unanswered(&self, slot: u32) -> bool {
        self.slots[slot].unanswered
    }

    /// The slots of unanswered requests, rising.
    pub(crate) fn unanswered_slots(&self) -> impl Iterator<Item = u32> {
        (0..self.slots.places_ever_used()).filter(|&slot| self.slots[slot].unanswered)
    }

    /// Passes the landings and completions from below to the layer.
    #[inline(never)]
    pub(crate) fn collect_completions(&mut self, layer: &mut L) {
        self.collect_landings(layer);
        while let Some(completion) = &mut self.below.poll_completion() {
            if let Some(answered_slot) = self.pass_to_layer(layer, completion) {
                self.save_answer(answered_slot, completion);
            }
        }
    }

    /// Passes a completion to the layer. Returns the slot of the request that the layer answered with it in place.
    #[inline(always)]
    fn pass_to_layer(&mut self, layer: &mut L, completion: &mut Completion) -> Option<u32> {
        let next_turn = layer.handle_completion(self, completion);
        self.own_next = self.own_next.min(next_turn);
        self.answered_in_place.take()
    }

    /// Passes a completion to the layer. True if it has become the next answer to be polled, in place; any other answer is
    /// saved.
    #[inline(always)]
    fn turn_into_next_answer(&mut self, layer: &mut L, completion: &mut Completion) -> bool {
        let Some(answered_slot) = self.pass_to_layer(layer, completion) else { return false };
        let is_next = self.unpolled == 0;
        match is_next {
            true => self.slots.free(answered_slot),
            false => self.save_answer(answered_slot, completion),
        }
        is_next
    }

    /// Saves the answer to the request in `slot` until it is polled.
    fn save_answer(&mut self, slot: u32, answer: &Completion) {
        let held = &mut self.slots[slot];
        (held.account, held.status) = (Account::from_completion(answer), answer.status);
        self.slots.free(slot);
        self.unpolled += 1;
    }

    /// Passes the landings from below to the layer, if landings are asked for.
    #[inline(always)]
    pub(crate) fn collect_landings(&mut self, layer: &mut L) {
        if self.landings.are_wanted() {
            self.drain_landings(layer);
        }
    }

    /// As [`HostLayerContext::collect_landings`]; also forgets writes that can no longer land, from time to time.
    #[inline(never)]
    fn drain_landings(&mut self, layer: &mut L) {
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
    pub(crate) fn report_unsettled_below(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(report_stamp);
    }

    /// Withdraws the request in `slot` from the layer, and answers it unless a part of it is below.
    pub fn withdraw_and_answer(&mut self, layer: &mut L, now: Instant, slot: u32, status: Status) {
        if self.slots[slot].unanswered && layer.withdraw_request(self, now, slot, status) {
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
                    self.withdraw_and_answer(layer, now, slot, status);
                }
                self.control_below(now, control)
            }
            Control::Set(setting) => {
                layer.change_setting(self, now, setting).unwrap_or_else(|| self.control_below(now, control))
            }
            Control::PowerOff | Control::PowerOn => self.control_below(now, control),
        }
    }

    /// Aborts the request that the submitter named `tag`: in the layer, and its commands below.
    fn abort_request(&mut self, layer: &mut L, now: Instant, tag: u32) -> Result<(), ControlError> {
        let slot = self.unanswered_slots().find(|&slot| self.slots[slot].tag == tag).ok_or(ControlError::UnknownTag)?;
        let tags_below = layer.tags_to_abort(self, slot);
        if layer.withdraw_request(self, now, slot, Status::Aborted) {
            self.answer_request(now, slot, Status::Aborted);
            return Ok(());
        }
        let mut aborted = false;
        for tag in tags_below {
            match self.control_below(now, &Control::Abort(tag)) {
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
    /// `layer`, which accepts `max_in_flight` requests at once, above `below`.
    pub fn new(layer: L, max_in_flight: u32, below: Box<dyn Device>) -> LayeredDevice<L> {
        let below_next = below.poll_timeout().unwrap_or(Instant::FAR);
        let context = HostLayerContext {
            slots: Slab::with_capacity(max_in_flight as usize),
            landings: CarriedWrites::default(),
            below,
            max_in_flight,
            unpolled: 0,
            saved_answers: VecDeque::new(),
            below_called: false,
            answered_in_place: None,
            below_next,
            own_next: Instant::FAR,
            layer_number: 1,
        };
        LayeredDevice { layer, context }
    }

    /// Gives the layer its number among several of its kind, by which settings name it.
    #[must_use]
    pub(crate) fn with_layer_number(mut self, layer_number: u32) -> LayeredDevice<L> {
        self.context.layer_number = layer_number;
        self
    }

    /// The layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    /// The layer and its context, before the first request.
    pub(super) fn layer_and_context_mut(&mut self) -> (&mut L, &mut HostLayerContext<L>) {
        (&mut self.layer, &mut self.context)
    }

    /// Lets the layer handle completions and do its work until nothing more is due at `now`.
    #[inline(always)]
    fn finish_work_at(&mut self, now: Instant) {
        let LayeredDevice { layer, context } = self;
        while context.below_called || context.own_next <= now {
            if core::mem::take(&mut context.below_called) {
                context.collect_completions(layer);
                context.below_next = context.below.poll_timeout().unwrap_or(Instant::FAR);
            } else {
                context.own_next = layer.run_due_work(context, now);
            }
        }
    }

    /// Does everything due by `now`, here and below, one instant after another.
    fn step_to(&mut self, now: Instant) {
        loop {
            let next = self.next_event();
            if next > now || next == Instant::FAR {
                return;
            }
            if self.context.below_next <= next {
                self.context.below.handle_timeout(next);
                self.context.below_called = true;
            }
            self.finish_work_at(next);
        }
    }

    /// When something happens here or below.
    #[inline]
    fn next_event(&self) -> Instant {
        self.context.own_next.min(self.context.below_next)
    }
}

impl<L: HostLayer> LayeredDevice<L> {
    /// When the caller must call next: at once if an answer can be polled.
    #[inline]
    fn next_call(&self, now: Instant) -> Instant {
        if self.context.unpolled > 0 { now } else { self.next_event() }
    }
}

impl<L: HostLayer> Device for LayeredDevice<L> {
    fn limits(&self, unit: u8) -> Limits {
        self.layer.limits(self.context.max_in_flight, self.layer.limits_below(&self.context, unit))
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        let LayeredDevice { layer, context } = self;
        if !layer.has_room(context, &request) {
            return Err(request);
        }
        if context.unpolled > 0 {
            context.save_unpolled_answers();
        }
        let slot = context.slots.claim_place(HeldRequest::placeholder);
        context.slots[slot].overwrite_with(now, slot, request);
        let next_turn = layer.accept_request(context, now, slot);
        context.own_next = context.own_next.min(next_turn);
        self.finish_work_at(now);
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
        self.finish_work_at(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.next_event();
        (next != Instant::FAR).then_some(next)
    }

    #[inline(always)]
    fn handle_timeout(&mut self, now: Instant) {
        if self.next_event() <= now {
            self.step_to(now);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        if self.context.unpolled == 0 {
            return None;
        }
        let mut answer = Completion::NONE;
        self.context.pop_answer_into(&mut answer);
        Some(answer)
    }

    fn drive_log(&self) -> DriveLog {
        self.layer.add_own_counts(self.context.below.drive_log())
    }

    fn setting_use(&self, now: Instant) -> SettingUse {
        self.layer.setting_use(now).merged_with(self.context.below.setting_use(now))
    }

    fn core_load(&self, now: Instant) -> Option<BusyCurve> {
        self.layer.core_load(now).or_else(|| self.context.below.core_load(now))
    }

    fn array_load(&self, now: Instant) -> Option<ArrayLoad> {
        self.layer.array_load(now).or_else(|| self.context.below.array_load(now))
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.context.collect_landings(&mut self.layer);
        self.context.landings.pop_landing()
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        let LayeredDevice { layer, context } = self;
        context.unanswered_slots().for_each(|slot| report_stamp(context.slots[slot].request.stamp));
        context.landings.report_stamps(report_stamp);
        layer.report_unsettled(context, report_stamp);
    }

    fn fork(&self) -> Option<Box<dyn Device>> {
        Some(Box::new(LayeredDevice { layer: self.layer.clone(), context: self.context.fork()? }))
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> DeviceProgress {
        loop {
            if self.context.unpolled > 0 {
                self.context.pop_answer_into(answer);
                return DeviceProgress { answered: true, next: self.next_call(answer.finished) };
            }
            let LayeredDevice { layer, context } = self;
            // The next instant at which the layer has work: its turn, or an earlier completion from below.
            let mut at = context.own_next;
            let bound = at.min(until);
            let mut is_answer = false;
            if context.below_next <= bound {
                let below = context.below.proceed_into(bound, answer);
                context.collect_landings(layer);
                context.below_next = below.next;
                if below.answered {
                    at = answer.finished;
                    context.below_called = below.next <= at;
                    is_answer = context.turn_into_next_answer(layer, answer);
                }
            }
            if at > until || at == Instant::FAR {
                return DeviceProgress { answered: false, next: self.next_event() };
            }
            self.finish_work_at(at);
            self.handle_timeout(at);
            if is_answer {
                return DeviceProgress { answered: true, next: self.next_call(at) };
            }
        }
    }
}
