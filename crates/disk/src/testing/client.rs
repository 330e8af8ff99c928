//! A random client of a device: it issues reads, writes, forced writes and flushes in a closed loop, and notes what it
//! sees of them.
//!
//! A client judges nothing, and depends only on its own random stream and the completions that it polls. So two clients of
//! one seed on equal devices do the same up to any instant, whatever happens to either afterwards.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::durability::DurabilityChecker;
use super::image::SectorImage;
use super::stacks::pick_one;
use crate::block::setting::LayerSetting;
use crate::block::{Control, Device, Flags, Landing, Limits, Op, Request};
use crate::rng::Rng;
use crate::time::{Instant, Span};

/// The requests that a client issues.
#[derive(Clone, Copy, Debug)]
pub struct ClientHabits {
    /// The most requests in flight.
    pub depth: u32,
    /// In per cent of the requests; the rest are writes.
    pub reads: u32,
    /// In per cent of the requests.
    pub flushes: u32,
    /// The percentage of writes with forced unit access, if the device supports it.
    pub forced: u32,
    /// The percentage of writes that continue the last one.
    pub sequential: u32,
    /// The longest request in sectors.
    pub longest: u32,
    /// The first sector in use.
    pub first: u64,
    /// Sectors in use.
    pub span: u64,
    /// Writes lie apart, one at each place, until the span is used up.
    pub apart: bool,
    /// Pause before a request: zero up to this, each order of magnitude equally likely.
    pub pause: Span,
}

impl ClientHabits {
    /// Random habits for a device of these limits.
    pub fn random(limits: &Limits, rng: &mut Rng) -> ClientHabits {
        let apart = rng.draw_chance(30);
        let span = pick_one(rng, &[64, 512, 4000, limits.sectors]).min(limits.sectors);
        let span = if apart { limits.sectors } else { span };
        ClientHabits {
            depth: pick_one(rng, &[1, 2, 8, 32]),
            reads: pick_one(rng, &[0, 10, 40]),
            flushes: pick_one(rng, &[2, 10, 30]),
            apart,
            forced: if apart { 0 } else { pick_one(rng, &[0, 5, 30]) },
            sequential: pick_one(rng, &[0, 30, 80]),
            longest: pick_one(rng, &[1, 8, 16, 64, 200]).min(limits.max_transfer).min(span as u32),
            first: rng.below(limits.sectors - span + 1),
            span,
            pause: pick_one(rng, &[Span::ZERO, Span::from_micros(100), Span::from_millis(3), Span::from_millis(40)]),
        }
    }
}

/// A client with its device.
pub struct TestClient {
    pub device: Box<dyn Device>,
    /// Sees what the device acknowledges, and judges images.
    pub checker: DurabilityChecker,
    /// The content of the medium, from all landings so far.
    pub image: SectorImage,
    /// All writes accepted, in order.
    pub written: Vec<Request>,
    /// All landings so far, if [`TestClient::keep_landings`] was called.
    pub landings: Vec<Landing>,
    keep: bool,
    habits: ClientHabits,
    limits: Limits,
    rng: Rng,
    flying: BTreeMap<u32, Request>,
    /// A request for which the device had no room.
    held: Option<Request>,
    last_end: u64,
    place: u64,
    stamp: u64,
    not_before: Instant,
    now: Instant,
}

impl TestClient {
    /// A client of a fresh device, with landings on. Panics if the device refuses them.
    pub fn new(mut device: Box<dyn Device>, checker: DurabilityChecker, habits: ClientHabits, rng: Rng) -> TestClient {
        let landings = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &landings).expect("a device with landings");
        TestClient {
            limits: device.limits(0),
            device,
            checker,
            image: SectorImage::new(),
            written: Vec::new(),
            landings: Vec::new(),
            keep: false,
            habits,
            rng,
            flying: BTreeMap::new(),
            held: None,
            last_end: 0,
            place: 0,
            stamp: 0,
            not_before: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    /// Keeps landings from now on.
    pub fn keep_landings(&mut self) {
        self.keep = true;
    }

    /// The landings kept since the last call.
    pub fn take_landings(&mut self) -> Vec<Landing> {
        core::mem::take(&mut self.landings)
    }

    /// The present instant.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// How many requests are in flight.
    pub fn in_flight(&self) -> usize {
        self.flying.len()
    }

    /// Issues and polls up to and including `until`.
    pub fn work_until(&mut self, until: Instant) {
        while let Some(next) = self.next_action().filter(|&next| next <= until) {
            self.step_to(next);
            if self.wants_request(next) {
                self.issue_request(next);
            }
        }
        self.step_to(until);
    }

    /// Issues nothing; polls until nothing happens by itself any more, or until `until`.
    pub fn wait_until(&mut self, until: Instant) {
        while let Some(next) = self.device.poll_timeout().filter(|&next| next <= until) {
            self.step_to(next);
        }
    }

    /// Issues nothing more; polls until nothing is in flight.
    pub(crate) fn drain_all(&mut self) {
        while let Some(next) = self.device.poll_timeout().filter(|_| !self.flying.is_empty()) {
            self.step_to(next);
        }
        assert!(self.flying.is_empty() && self.held.is_none(), "something never ended");
    }

    /// Ends with a flush.
    pub fn drain_and_flush(&mut self) {
        self.drain_all();
        self.stamp += 1;
        let (flags, stamp) = (Flags::NONE, self.stamp);
        self.send_request(Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags, lba: 0, sectors: 0, stamp });
        self.drain_all();
    }

    /// Issues nothing for `span`.
    pub fn rest_for(&mut self, span: Span) {
        let until = self.now + span;
        self.wait_until(until);
        self.step_to(until);
    }

    /// Applies a control now.
    pub fn control(&mut self, control: &Control) {
        self.device.control(self.now, control).expect("a control that every device knows");
        self.held = None;
        self.poll_ready();
    }

    fn next_action(&self) -> Option<Instant> {
        let room = (self.flying.len() as u32) < self.habits.depth && self.held.is_none();
        let own = room.then(|| self.not_before.max(self.now));
        let device = self.device.poll_timeout();
        own.into_iter().chain(device).min()
    }

    fn wants_request(&self, now: Instant) -> bool {
        (self.flying.len() as u32) < self.habits.depth && self.held.is_none() && self.not_before <= now
    }

    fn step_to(&mut self, now: Instant) {
        self.now = now;
        self.device.handle_timeout(now);
        self.poll_ready();
    }

    fn poll_ready(&mut self) {
        let mut freed = false;
        while let Some(landing) = self.device.poll_landing() {
            self.image.apply_landing(&landing);
            if self.keep {
                self.landings.push(landing);
            }
        }
        while let Some(completion) = self.device.poll_completion() {
            self.flying.remove(&completion.tag).expect("a completion of something in flight");
            self.checker.note_completion(&completion);
            freed = true;
        }
        if let Some(request) = self.held.take_if(|_| freed) {
            self.send_request(request);
        }
    }

    fn issue_request(&mut self, now: Instant) {
        let request = self.draw_request();
        let most = self.habits.pause.nanos();
        let scale = 10u64.pow(self.rng.below(4) as u32);
        self.not_before = now + Span::from_nanos(self.rng.below(most / scale + 1));
        self.send_request(request);
    }

    fn send_request(&mut self, request: Request) {
        match self.device.submit(self.now, request) {
            Ok(_) => {
                self.flying.insert(request.tag, request);
                if request.op == Op::Write {
                    self.written.push(request);
                }
                self.checker.note_submission(&request);
                self.poll_ready();
            }
            Err(back) => self.held = Some(back),
        }
    }

    /// The next of the places that lie apart.
    fn next_place(&mut self, longest: u32) -> u64 {
        let unit = self.limits.physical / 512;
        let step = u64::from(longest.next_multiple_of(unit) + unit);
        let places = (self.habits.span / step).max(1);
        // A stride that visits most places before it repeats one.
        self.place = (self.place + places * 5 / 13 + 1) % places;
        let first = self.habits.first.next_multiple_of(u64::from(unit));
        (first + self.place * step).min(self.limits.sectors - step)
    }

    fn draw_request(&mut self) -> Request {
        let ClientHabits { reads, flushes, forced, sequential, longest, first, span, .. } = self.habits;
        self.stamp += 1;
        let tag = (0..).find(|tag| !self.flying.contains_key(tag)).unwrap_or(0);
        let blank = Request {
            tag,
            unit: 0,
            origin: 0,
            op: Op::Flush,
            flags: Flags::NONE,
            lba: 0,
            sectors: 0,
            stamp: self.stamp,
        };
        let kind = self.rng.below(100) as u32;
        if kind < flushes {
            return blank;
        }
        let op = if kind < flushes + reads { Op::Read } else { Op::Write };
        let unit = if self.rng.draw_chance(80) { self.limits.physical / 512 } else { 1 };
        let most = u64::from(longest.next_multiple_of(unit)).min(span / u64::from(unit) * u64::from(unit));
        let sectors = (1 + self.rng.below(most.max(1)) as u32).next_multiple_of(unit);
        let last = first + span - u64::from(sectors).min(span);
        let on = self.rng.draw_chance(sequential) && self.last_end >= first && self.last_end <= last;
        let lba = if on { self.last_end } else { first + self.rng.below(last - first + 1) };
        let lba = (lba - if on { 0 } else { lba % u64::from(unit) }).min(self.limits.sectors - u64::from(sectors));
        let lba = if self.habits.apart && op == Op::Write { self.next_place(longest) } else { lba };
        let flags = match op == Op::Write && self.limits.fua && self.rng.draw_chance(forced) {
            true => Flags::FUA,
            false => Flags::NONE,
        };
        if op == Op::Write {
            self.last_end = lba + u64::from(sectors);
        }
        Request { op, flags, lba, sectors, ..blank }
    }
}
