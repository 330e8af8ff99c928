//! The one crank of all layers: requests and their accounts, answers, aborts, landings, and stepping what is below.
//!
//! What a layer does is its own file, a [`Layer`]: with a request on its way [`down`](Layer::down), with a completion on
//! its way [`up`](Layer::up), at its [`turn`](Layer::turn), with a control. What it leaves out passes through:
//! [`Identity`](super::identity::Identity) leaves out everything. How it is called, and when what is below is, stands
//! here once; with a device below it, it is a [`Layered`].
//!
//! | when | the layer is asked |
//! |---|---|
//! | a request has come and there is room for it | `down`, once |
//! | a command that it sent is back | `up`, with all that came back together, in order |
//! | it is due | `turn`, until it has nothing more to do at that instant |
//! | an abort, a reset, a power cut | `held`, `withdraw`, `below`: what it has of a request, here and below |
//! | a setting of its own | `set`; `obey` for whoever makes something else of a control |
//! | something landed below | `landed`, to tell it in places and stamps of what came from above |
//!
//! Each of the first three answers when the layer wants its turn; it has it then at the latest.
//!
//! What a request took is written down once where it can be. A completion that is the answer to a request as it comes up
//! stays where it is and gets the stretch that was spent here ([`Crank::answer_with`]). Only of a request that is answered
//! later, or by several commands, the layer keeps an [`Account`] ([`Crank::adopt`], then [`Crank::answer`]).
//!
//! Nothing is allocated on the way of a request once as many have been in flight together.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use super::carried::Carried;
use crate::block::{Completion, Control, ControlError, Device, Landing, Limits, Reached, Request, Status};
use crate::record::{Account, DriveLog, Part};
use crate::slab::Slab;
use crate::time::Instant;

/// What a layer does. The crank's methods are how it does it.
pub trait Layer: Sized {
    /// What it notes of each request, beside the account.
    type Note: Copy + Default;
    /// Where the time goes that a request spends here.
    const PART: Part;
    /// Its settings are `NAME.key`, unless it is called otherwise ([`Layered::called`]).
    const NAME: &'static str;

    /// What it can do, taking `room` requests at once above a device that can do `below`.
    fn limits(&self, room: u32, below: Limits) -> Limits {
        Limits { depth: below.depth.min(room), ..below }
    }

    /// There is room for a request. There is when nothing is in flight.
    fn has_room(&self, crank: &Crank<Self>, request: &Request) -> bool {
        let _ = request;
        crank.in_flight() < crank.room
    }

    /// A request has come, and is in `slot`.
    fn down(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32) -> Instant {
        crank.pass(now, slot);
        Instant::FAR
    }

    /// A command is back; its tag is the one that it was sent with. The completion stays in its place if it is the answer.
    fn up(&mut self, crank: &mut Crank<Self>, completion: &mut Completion) -> Instant {
        crank.answer_with(completion.tag, completion);
        Instant::FAR
    }

    /// Does what is due at `now`, or a part of it: `now` is answered when there may be more.
    fn turn(&mut self, crank: &mut Crank<Self>, now: Instant) -> Instant {
        let _ = (crank, now);
        Instant::FAR
    }

    /// Slots of requests that it has, in the order in which a reset ends them.
    fn held(&self, crank: &Crank<Self>) -> Vec<u32> {
        let _ = crank;
        Vec::new()
    }

    /// Takes what is not below of a request out of all that waits, because it is to end with `status`. True when that was
    /// all of it.
    fn withdraw(&mut self, crank: &mut Crank<Self>, now: Instant, slot: u32, status: Status) -> bool {
        let _ = (crank, now, slot, status);
        false
    }

    /// Tags of the commands below that end when the request in `slot` is aborted.
    fn below(&self, crank: &Crank<Self>, slot: u32) -> Vec<u32> {
        let _ = crank;
        alloc::vec![slot]
    }

    /// Changes a setting of its own.
    fn set(&mut self, crank: &mut Crank<Self>, now: Instant, key: &str, value: &str) -> Result<(), ControlError> {
        let _ = (crank, now, key, value);
        Err(ControlError::UnknownKey)
    }

    /// Something landed below: tells it in places and stamps of what came from above.
    fn landed(&mut self, crank: &mut Crank<Self>, landing: Landing) {
        crank.landings.translate(landing);
    }

    /// Tells the stamps of writes of which something may still land; those in flight are told without that.
    fn unsettled(&self, crank: &Crank<Self>, tell: &mut dyn FnMut(u64)) {
        crank.unsettled_below(tell);
    }

    /// Does something beside requests.
    fn obey(&mut self, crank: &mut Crank<Self>, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        crank.obey(self, now, control)
    }
}

/// A request from above.
#[derive(Clone, Copy)]
pub struct Held<N> {
    /// As it came, but for its tag, which is the slot, as for whoever it is passed on to; a layer may treat it as another.
    pub request: Request,
    /// Its tag for whoever it came from.
    pub tag: u32,
    /// How it will end.
    pub status: Status,
    /// What the layer notes.
    pub note: N,
    came: Instant,
    /// Something is written down of it.
    written: bool,
    account: Account,
    live: bool,
}

impl<N: Default> Held<N> {
    /// A place for one.
    fn none() -> Held<N> {
        let (note, account, came) = (N::default(), Account::open(Instant::ZERO), Instant::ZERO);
        Held { request: Request::NONE, tag: 0, status: Status::Done, note, came, written: false, account, live: false }
    }

    /// `request` has come, and is in `slot`, in the place of one that is over: it is too large to be moved.
    #[inline(always)]
    fn begin(&mut self, now: Instant, slot: u32, request: Request) {
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

impl<N> Held<N> {
    /// A part of it has ended with `status`; of those that went wrong the first counts.
    pub fn part_ended(&mut self, status: Status) {
        if self.status == Status::Done {
            self.status = status;
        }
    }

    /// What is written down of it until now.
    #[inline]
    pub fn account(&mut self) -> &mut Account {
        if !self.written {
            (self.written, self.account) = (true, Account::open(self.came));
        }
        &mut self.account
    }

    /// The answer to a request that is over is put into the place of one that was taken.
    #[inline]
    fn put(&self, answer: &mut Completion) {
        let Account { ledger, effort } = &self.account;
        answer.tag = self.tag;
        answer.status = self.status;
        (answer.submitted, answer.finished) = (ledger.start(), ledger.mark());
        answer.parts = ledger.parts();
        answer.effort = *effort;
    }
}

/// What a layer works with.
pub struct Crank<L: Layer> {
    /// Requests from above, by slot.
    pub slots: Slab<Held<L::Note>>,
    /// What goes up of landings.
    pub landings: Carried,
    below: Box<dyn Device>,
    /// Requests that it takes at once.
    room: u32,
    /// Answers that were not polled: the oldest are `ready`, for the rest so many slots of those freed last hold them.
    answers: u32,
    /// Answers that were not polled before a slot was wanted again.
    ready: VecDeque<Completion>,
    /// What is below was called, and may have something for us.
    called: bool,
    /// The answer to a request is the completion that came up for it just now.
    answered: Option<u32>,
    /// When something happens below; `FAR` when nothing does by itself.
    below_next: Instant,
    /// When the layer wants its turn.
    own_next: Instant,
    /// What it is called in keys.
    name: Cow<'static, str>,
}

impl<L: Layer> Crank<L> {
    /// What `unit` of the device below can do.
    pub fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    /// Requests that it takes at once.
    pub fn room(&self) -> u32 {
        self.room
    }

    /// Requests from above that have no answer yet.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.slots.taken()
    }

    /// Sends a command down. What is below has room for as many as it said.
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.below_next = self.below.submit(now, request).expect("room below for the depth it states");
        self.called |= self.below_next <= now || self.landings.are_wanted();
    }

    /// Sends the request in `slot` down as it is.
    pub fn pass(&mut self, now: Instant, slot: u32) {
        self.submit(now, self.slots[slot].request);
    }

    /// Does something to what is below.
    pub fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.called = true;
        self.below.control(now, control)
    }

    /// What a command below took of time and effort was its request's; what it waited before was spent here.
    #[inline]
    pub fn adopt(&mut self, slot: u32, completion: &Completion) {
        let held = &mut self.slots[slot];
        if held.written {
            return held.account.adopt(L::PART, completion);
        }
        held.written = true;
        held.account = Account::of(completion);
        held.account.ledger.extend_back(L::PART, held.came);
    }

    /// The completion that has come up is the answer to the request in `slot`, of which it was the only command: what it
    /// waited before was spent here, and nothing is copied.
    #[inline]
    pub fn answer_with(&mut self, slot: u32, completion: &mut Completion) {
        let held = &mut self.slots[slot];
        if held.written {
            held.account.adopt(L::PART, completion);
            held.status = completion.status;
            held.put(completion);
        } else {
            completion.extend_back(L::PART, held.came);
            completion.tag = held.tag;
        }
        held.live = false;
        self.answered = Some(slot);
    }

    /// Ends the request in `slot` at `now`; what is not accounted for was spent here.
    #[inline]
    pub fn answer(&mut self, now: Instant, slot: u32, status: Status) {
        debug_assert!(self.answered.is_none(), "answered in order");
        let held = &mut self.slots[slot];
        held.account().ledger.until(L::PART, now);
        (held.status, held.live) = (status, false);
        self.slots.free(slot);
        self.answers += 1;
    }

    /// The next answer is put into `answer`; there is one.
    #[inline(always)]
    fn poll(&mut self, answer: &mut Completion) {
        match self.ready.pop_front() {
            Some(kept) => *answer = kept,
            None => self.slots[self.slots.freed(self.answers)].put(answer),
        }
        self.answers -= 1;
    }

    /// Keeps the answers that were not polled: their slots may be taken.
    #[inline(never)]
    fn keep_answers(&mut self) {
        for last in (1..=self.answers - self.ready.len() as u32).rev() {
            let mut answer = Completion::NONE;
            self.slots[self.slots.freed(last)].put(&mut answer);
            self.ready.push_back(answer);
        }
    }

    /// The request in `slot` has no answer yet.
    pub fn is_live(&self, slot: u32) -> bool {
        self.slots[slot].live
    }

    /// Slots of requests that have no answer yet, rising.
    pub fn live(&self) -> impl Iterator<Item = u32> {
        (0..self.slots.len()).filter(|&slot| self.slots[slot].live)
    }

    /// Takes back what has come from below.
    #[inline(never)]
    pub fn collect(&mut self, layer: &mut L) {
        self.collect_landings(layer);
        while let Some(completion) = &mut self.below.poll_completion() {
            if let Some(slot) = self.come_up(layer, completion) {
                self.keep(slot, completion);
            }
        }
    }

    /// Answers the slot of the request whose answer the completion is as it stands, if it is one.
    #[inline(always)]
    fn come_up(&mut self, layer: &mut L, completion: &mut Completion) -> Option<u32> {
        let turn = layer.up(self, completion);
        self.own_next = self.own_next.min(turn);
        self.answered.take()
    }

    /// True when the completion is the answer that is polled next as it stands.
    #[inline(always)]
    fn pass_on(&mut self, layer: &mut L, completion: &mut Completion) -> bool {
        let Some(slot) = self.come_up(layer, completion) else { return false };
        let next = self.answers == 0;
        match next {
            true => self.slots.free(slot),
            false => self.keep(slot, completion),
        }
        next
    }

    /// Keeps the answer to the request in `slot` until it is polled.
    fn keep(&mut self, slot: u32, answer: &Completion) {
        let held = &mut self.slots[slot];
        (held.account, held.status) = (Account::of(answer), answer.status);
        self.slots.free(slot);
        self.answers += 1;
    }

    /// Takes over the landings that have come from below.
    #[inline(always)]
    pub fn collect_landings(&mut self, layer: &mut L) {
        if self.landings.are_wanted() {
            self.take_landings(layer);
        }
    }

    #[inline(never)]
    fn take_landings(&mut self, layer: &mut L) {
        while let Some(landing) = self.below.poll_landing() {
            layer.landed(self, landing);
        }
        if self.landings.are_many() {
            let mut unsettled = BTreeSet::new();
            self.unsettled_below(&mut |stamp| unsettled.extend([stamp]));
            self.landings.keep(&unsettled);
        }
    }

    /// Tells the stamps of commands below of which something may still land.
    pub fn unsettled_below(&self, tell: &mut dyn FnMut(u64)) {
        self.below.unsettled(tell);
    }

    /// Ends the request in `slot` as far as it is here.
    pub fn end(&mut self, layer: &mut L, now: Instant, slot: u32, status: Status) {
        if self.slots[slot].live && layer.withdraw(self, now, slot, status) {
            self.answer(now, slot, status);
        }
    }

    /// What becomes of a control where the layer makes nothing else of it.
    pub fn obey(&mut self, layer: &mut L, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        match *control {
            Control::Abort(tag) => self.abort(layer, now, tag),
            Control::Reset | Control::PowerCut => {
                let cut = matches!(control, Control::PowerCut);
                let status = if cut { Status::PowerLost } else { Status::Aborted };
                for slot in layer.held(self) {
                    self.end(layer, now, slot, status);
                }
                self.control(now, control)
            }
            Control::Set { key, value } => match key.strip_prefix(&*self.name).and_then(|key| key.strip_prefix('.')) {
                Some(own) => layer.set(self, now, own, value),
                None => self.control(now, control),
            },
            Control::PowerOff | Control::PowerOn => self.control(now, control),
        }
    }

    fn abort(&mut self, layer: &mut L, now: Instant, tag: u32) -> Result<(), ControlError> {
        let slot = self.live().find(|&slot| self.slots[slot].tag == tag).ok_or(ControlError::UnknownTag)?;
        let below = layer.below(self, slot);
        if layer.withdraw(self, now, slot, Status::Aborted) {
            self.answer(now, slot, Status::Aborted);
            return Ok(());
        }
        below.into_iter().try_for_each(|tag| self.control(now, &Control::Abort(tag)))
    }
}

/// A layer with the device below it.
pub struct Layered<L: Layer> {
    layer: L,
    crank: Crank<L>,
}

impl<L: Layer> Layered<L> {
    /// `layer`, taking `room` requests at once, above `below`.
    pub fn new(layer: L, room: u32, below: Box<dyn Device>) -> Layered<L> {
        let below_next = below.poll_timeout().unwrap_or(Instant::FAR);
        let crank = Crank {
            slots: Slab::with_capacity(room as usize),
            landings: Carried::default(),
            below,
            room,
            answers: 0,
            ready: VecDeque::new(),
            called: false,
            answered: None,
            below_next,
            own_next: Instant::FAR,
            name: Cow::Borrowed(L::NAME),
        };
        Layered { layer, crank }
    }

    /// The same, called otherwise in keys: one of several of its kind.
    #[must_use]
    pub fn called(mut self, name: &str) -> Layered<L> {
        if name != L::NAME {
            self.crank.name = Cow::Owned(String::from(name));
        }
        self
    }

    /// The layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    /// The layer at work, before the first request.
    pub(super) fn parts(&mut self) -> (&mut L, &mut Crank<L>) {
        (&mut self.layer, &mut self.crank)
    }

    /// Takes back, does and sends down all that is due at `now`.
    #[inline(always)]
    fn settle(&mut self, now: Instant) {
        let Layered { layer, crank } = self;
        while crank.called || crank.own_next <= now {
            if core::mem::take(&mut crank.called) {
                crank.collect(layer);
                crank.below_next = crank.below.poll_timeout().unwrap_or(Instant::FAR);
            } else {
                crank.own_next = layer.turn(crank, now);
            }
        }
    }

    /// Does what is due by `now`, instant after instant.
    fn step(&mut self, now: Instant) {
        loop {
            let next = self.soonest();
            if next > now || next == Instant::FAR {
                return;
            }
            if self.crank.below_next <= next {
                self.crank.below.handle_timeout(next);
                self.crank.called = true;
            }
            self.settle(next);
        }
    }

    /// When something happens here or below.
    #[inline]
    fn soonest(&self) -> Instant {
        self.crank.own_next.min(self.crank.below_next)
    }
}

impl<L: Layer> Layered<L> {
    /// When to call next: at once where something can be polled.
    #[inline]
    fn call_at(&self, now: Instant) -> Instant {
        if self.crank.answers > 0 { now } else { self.soonest() }
    }
}

impl<L: Layer> Device for Layered<L> {
    fn limits(&self, unit: u8) -> Limits {
        self.layer.limits(self.crank.room, self.crank.below.limits(unit))
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        self.handle_timeout(now);
        let Layered { layer, crank } = self;
        if !layer.has_room(crank, &request) {
            return Err(request);
        }
        if crank.answers > 0 {
            crank.keep_answers();
        }
        let slot = crank.slots.claim(Held::none);
        crank.slots[slot].begin(now, slot, request);
        let turn = layer.down(crank, now, slot);
        crank.own_next = crank.own_next.min(turn);
        self.settle(now);
        Ok(self.call_at(now))
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let Layered { layer, crank } = self;
        let done = layer.obey(crank, now, control);
        if let (Control::Set { key: "landings", value }, Ok(())) = (control, done) {
            crank.landings = Carried::new(*value == "on");
        }
        crank.own_next = now;
        self.settle(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let next = self.soonest();
        (next != Instant::FAR).then_some(next)
    }

    #[inline(always)]
    fn handle_timeout(&mut self, now: Instant) {
        if self.soonest() <= now {
            self.step(now);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        if self.crank.answers == 0 {
            return None;
        }
        let mut answer = Completion::NONE;
        self.crank.poll(&mut answer);
        Some(answer)
    }

    fn log(&self) -> DriveLog {
        self.crank.below.log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.crank.collect_landings(&mut self.layer);
        self.crank.landings.poll()
    }

    fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        let Layered { layer, crank } = self;
        crank.live().for_each(|slot| tell(crank.slots[slot].request.stamp));
        crank.landings.unsettled(tell);
        layer.unsettled(crank, tell);
    }

    fn proceed_into(&mut self, until: Instant, answer: &mut Completion) -> Reached {
        loop {
            if self.crank.answers > 0 {
                self.crank.poll(answer);
                return Reached { answered: true, next: self.call_at(answer.finished) };
            }
            let Layered { layer, crank } = self;
            let mut at = crank.own_next;
            let first = at.min(until);
            let mut passes = false;
            if crank.below_next <= first {
                let below = crank.below.proceed_into(first, answer);
                crank.collect_landings(layer);
                crank.below_next = below.next;
                if below.answered {
                    at = answer.finished;
                    crank.called = below.next <= at;
                    passes = crank.pass_on(layer, answer);
                }
            }
            if at > until || at == Instant::FAR {
                return Reached { answered: false, next: self.soonest() };
            }
            self.settle(at);
            self.handle_timeout(at);
            if passes {
                return Reached { answered: true, next: self.call_at(at) };
            }
        }
    }
}
