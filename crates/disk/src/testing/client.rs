//! A random client of a device, which issues reads, writes, forced writes and flushes in a closed loop, and passes requests
//! and completions on to a checker of durability.
//!
//! A client judges nothing, and depends only on its own random stream and on the completions that it polls. So two clients
//! of one seed on equal devices do the same up to any instant, whatever happens to either afterwards.

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
    /// The percentage of reads among the requests; the rest are writes and flushes.
    pub read_percent: u32,
    /// The percentage of flushes among the requests.
    pub flush_percent: u32,
    /// The percentage of writes with forced unit access, if the device supports it.
    pub fua_percent: u32,
    /// The percentage of writes that continue the last one.
    pub sequential_percent: u32,
    /// The length of the longest request.
    pub max_sectors: u32,
    /// The first sector in use.
    pub first_sector: u64,
    /// Sectors in use.
    pub span_sectors: u64,
    /// No write touches another until the sectors in use are used up.
    pub spreads_writes: bool,
    /// The longest pause before a request; all orders of magnitude up to it are equally likely.
    pub max_pause: Span,
}

impl ClientHabits {
    /// Random habits for a device of these limits.
    pub fn random(limits: &Limits, rng: &mut Rng) -> ClientHabits {
        let spreads_writes = rng.draw_chance(30);
        let small_span = pick_one(rng, &[64, 512, 4000, limits.sectors]).min(limits.sectors);
        let span_sectors = if spreads_writes { limits.sectors } else { small_span };
        ClientHabits {
            depth: pick_one(rng, &[1, 2, 8, 32]),
            read_percent: pick_one(rng, &[0, 10, 40]),
            flush_percent: pick_one(rng, &[2, 10, 30]),
            spreads_writes,
            fua_percent: if spreads_writes { 0 } else { pick_one(rng, &[0, 5, 30]) },
            sequential_percent: pick_one(rng, &[0, 30, 80]),
            max_sectors: pick_one(rng, &[1, 8, 16, 64, 200]).min(limits.max_transfer).min(span_sectors as u32),
            first_sector: rng.below(limits.sectors - span_sectors + 1),
            span_sectors,
            max_pause: pick_one(
                rng,
                &[Span::ZERO, Span::from_micros(100), Span::from_millis(3), Span::from_millis(40)],
            ),
        }
    }
}

/// A client with its device.
pub struct TestClient {
    pub device: Box<dyn Device>,
    /// Observes requests and completions, and judges images.
    pub checker: DurabilityChecker,
    /// The content of the medium, from all landings so far.
    pub image: SectorImage,
    /// All writes accepted, in order.
    pub written: Vec<Request>,
    /// All landings so far, if [`TestClient::keep_landings`] was called.
    pub landings: Vec<Landing>,
    keeps_landings: bool,
    habits: ClientHabits,
    limits: Limits,
    rng: Rng,
    /// Requests in flight by tag.
    in_flight: BTreeMap<u32, Request>,
    /// A request for which the device had no room.
    refused: Option<Request>,
    /// The end of the last write.
    last_end: u64,
    /// Where the last write lies, if writes are spread: an index of areas of equal length.
    spread_index: u64,
    last_stamp: u64,
    /// The earliest instant of the next request.
    next_issue: Instant,
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
            keeps_landings: false,
            habits,
            rng,
            in_flight: BTreeMap::new(),
            refused: None,
            last_end: 0,
            spread_index: 0,
            last_stamp: 0,
            next_issue: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    /// Keeps landings from now on.
    pub fn keep_landings(&mut self) {
        self.keeps_landings = true;
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
        self.in_flight.len()
    }

    /// Issues and polls up to and including `until`.
    pub fn work_until(&mut self, until: Instant) {
        while let Some(next) = self.next_action_at().filter(|&next| next <= until) {
            self.step_to(next);
            if self.is_request_due(next) {
                self.issue_request(next);
            }
        }
        self.step_to(until);
    }

    /// Issues nothing; polls until the device has nothing left to do, or until `until`.
    pub fn poll_until(&mut self, until: Instant) {
        while let Some(next) = self.device.poll_timeout().filter(|&next| next <= until) {
            self.step_to(next);
        }
    }

    /// Issues nothing more; polls until nothing is in flight.
    pub(crate) fn poll_until_idle(&mut self) {
        while let Some(next) = self.device.poll_timeout().filter(|_| !self.in_flight.is_empty()) {
            self.step_to(next);
        }
        assert!(self.in_flight.is_empty() && self.refused.is_none(), "something never ended");
    }

    /// Issues a flush once nothing is in flight, and polls until it has ended.
    pub fn flush_and_wait(&mut self) {
        self.poll_until_idle();
        self.last_stamp += 1;
        let (flags, stamp) = (Flags::NONE, self.last_stamp);
        self.send_request(Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags, lba: 0, sectors: 0, stamp });
        self.poll_until_idle();
    }

    /// Issues nothing for `span`.
    pub fn idle_for(&mut self, span: Span) {
        let until = self.now + span;
        self.poll_until(until);
        self.step_to(until);
    }

    /// Applies a control now.
    pub fn control(&mut self, control: &Control) {
        self.device.control(self.now, control).expect("a control that every device knows");
        self.refused = None;
        self.poll_ready();
    }

    /// True if the client may have another request in flight.
    fn has_room(&self) -> bool {
        (self.in_flight.len() as u32) < self.habits.depth && self.refused.is_none()
    }

    /// When the client issues the next request, or the device has something to do.
    fn next_action_at(&self) -> Option<Instant> {
        let issue = self.has_room().then(|| self.next_issue.max(self.now));
        issue.into_iter().chain(self.device.poll_timeout()).min()
    }

    fn is_request_due(&self, now: Instant) -> bool {
        self.has_room() && self.next_issue <= now
    }

    fn step_to(&mut self, now: Instant) {
        self.now = now;
        self.device.handle_timeout(now);
        self.poll_ready();
    }

    /// Polls landings and completions. After a completion, submits the refused request again.
    fn poll_ready(&mut self) {
        let mut has_completion = false;
        while let Some(landing) = self.device.poll_landing() {
            self.image.apply_landing(&landing);
            if self.keeps_landings {
                self.landings.push(landing);
            }
        }
        while let Some(completion) = self.device.poll_completion() {
            self.in_flight.remove(&completion.tag).expect("a completion of something in flight");
            self.checker.note_completion(&completion);
            has_completion = true;
        }
        if let Some(request) = self.refused.take_if(|_| has_completion) {
            self.send_request(request);
        }
    }

    fn issue_request(&mut self, now: Instant) {
        let request = self.draw_request();
        let divisor = 10u64.pow(self.rng.below(4) as u32);
        self.next_issue = now + Span::from_nanos(self.rng.below(self.habits.max_pause.nanos() / divisor + 1));
        self.send_request(request);
    }

    fn send_request(&mut self, request: Request) {
        match self.device.submit(self.now, request) {
            Ok(_) => {
                self.in_flight.insert(request.tag, request);
                if request.op == Op::Write {
                    self.written.push(request);
                }
                self.checker.note_submission(&request);
                self.poll_ready();
            }
            Err(returned) => self.refused = Some(returned),
        }
    }

    /// The first sector of the next write, if writes are spread.
    fn next_spread_lba(&mut self) -> u64 {
        let unit = self.limits.physical / 512;
        let area_sectors = u64::from(self.habits.max_sectors.next_multiple_of(unit) + unit);
        let areas = (self.habits.span_sectors / area_sectors).max(1);
        // A stride that visits most areas before it repeats one.
        self.spread_index = (self.spread_index + areas * 5 / 13 + 1) % areas;
        let first = self.habits.first_sector.next_multiple_of(u64::from(unit));
        (first + self.spread_index * area_sectors).min(self.limits.sectors - area_sectors)
    }

    fn draw_request(&mut self) -> Request {
        let ClientHabits { first_sector: first, span_sectors: span, .. } = self.habits;
        self.last_stamp += 1;
        let tag = (0..).find(|tag| !self.in_flight.contains_key(tag)).unwrap_or(0);
        let flush = Request {
            tag,
            unit: 0,
            origin: 0,
            op: Op::Flush,
            flags: Flags::NONE,
            lba: 0,
            sectors: 0,
            stamp: self.last_stamp,
        };
        let percent = self.rng.below(100) as u32;
        if percent < self.habits.flush_percent {
            return flush;
        }
        let op = if percent < self.habits.flush_percent + self.habits.read_percent { Op::Read } else { Op::Write };
        let unit = if self.rng.draw_chance(80) { self.limits.physical / 512 } else { 1 };
        let max_sectors =
            u64::from(self.habits.max_sectors.next_multiple_of(unit)).min(span / u64::from(unit) * u64::from(unit));
        let sectors = (1 + self.rng.below(max_sectors.max(1)) as u32).next_multiple_of(unit);
        let last = first + span - u64::from(sectors).min(span);
        let continues =
            self.rng.draw_chance(self.habits.sequential_percent) && self.last_end >= first && self.last_end <= last;
        let start = match continues {
            true => self.last_end,
            false => {
                let drawn = first + self.rng.below(last - first + 1);
                drawn - drawn % u64::from(unit)
            }
        };
        let lba = match self.habits.spreads_writes && op == Op::Write {
            true => self.next_spread_lba(),
            false => start.min(self.limits.sectors - u64::from(sectors)),
        };
        let flags = match op == Op::Write && self.limits.fua && self.rng.draw_chance(self.habits.fua_percent) {
            true => Flags::FUA,
            false => Flags::NONE,
        };
        if op == Op::Write {
            self.last_end = lba + u64::from(sectors);
        }
        Request { op, flags, lba, sectors, ..flush }
    }
}
