//! A device that passes everything on and lists it: what reached this place of a stack, when, and when it was answered. Counts and times
//! of laws come from these lists, not from the accounts that the model keeps.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use seekwise_disk::block::{Completion, Control, ControlError, Device, Landing, Limits, Op, Request, SECTOR};
use seekwise_disk::record::DriveLog;
use seekwise_disk::time::Instant;

/// A request that passed a probe; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Passed {
    pub request: Request,
    pub at: u64,
    /// `u64::MAX` while it is in flight.
    pub finished: u64,
}

impl Passed {
    pub fn bytes(&self) -> f64 {
        f64::from(self.request.sectors) * SECTOR as f64
    }

    pub fn seconds(&self) -> f64 {
        (self.finished - self.at) as f64 / 1e9
    }
}

/// What passed one place, in order.
#[derive(Clone, Debug, Default)]
pub struct Passage(pub Vec<Passed>);

/// The list of a probe that is in use.
pub type SharedPassage = Rc<RefCell<Passage>>;

/// Passes everything on to the device below, and lists the requests.
pub struct Probe {
    below: Box<dyn Device>,
    passage: SharedPassage,
    /// The place in the list of each request in flight, by its tag.
    in_flight: BTreeMap<u32, usize>,
}

impl Probe {
    pub fn above(below: Box<dyn Device>, passage: &SharedPassage) -> Box<dyn Device> {
        Box::new(Probe { below, passage: Rc::clone(passage), in_flight: BTreeMap::new() })
    }
}

impl Device for Probe {
    fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let next = self.below.submit(now, request)?;
        let list = &mut self.passage.borrow_mut().0;
        self.in_flight.insert(request.tag, list.len());
        list.push(Passed { request, at: now.nanos(), finished: u64::MAX });
        Ok(next)
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.below.control(now, control)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.below.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.below.handle_timeout(now);
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        let completion = self.below.poll_completion()?;
        if let Some(place) = self.in_flight.remove(&completion.tag) {
            self.passage.borrow_mut().0[place].finished = completion.finished.nanos();
        }
        Some(completion)
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }

    fn report_unsettled(&self, report_stamp: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(report_stamp);
    }

    fn drive_log(&self) -> DriveLog {
        self.below.drive_log()
    }
}

impl Passage {
    /// The part of the list that `is_wanted`.
    pub fn filter(&self, is_wanted: impl Fn(&Passed) -> bool) -> Passage {
        Passage(self.0.iter().copied().filter(|passed| is_wanted(passed)).collect())
    }

    pub fn of(&self, op: Op) -> Passage {
        self.filter(|passed| passed.request.op == op)
    }

    pub fn at_unit(&self, unit: u8) -> Passage {
        self.filter(|passed| passed.request.unit == unit)
    }

    /// Reads and writes that ended in this span of seconds.
    pub fn ended_within(&self, from: f64, to: f64) -> Passage {
        self.filter(|passed| (from..to).contains(&(passed.finished as f64 / 1e9)))
    }

    pub fn count(&self) -> f64 {
        self.0.len() as f64
    }

    pub fn bytes(&self) -> f64 {
        self.0.iter().map(Passed::bytes).sum()
    }

    pub fn largest_kib(&self) -> f64 {
        self.0.iter().map(Passed::bytes).fold(0.0, f64::max) / 1024.0
    }

    /// The size of the request at `index`; no number if there is none.
    pub fn kib(&self, index: usize) -> f64 {
        self.0.get(index).map_or(f64::NAN, |passed| passed.bytes() / 1024.0)
    }

    /// The size of the last request.
    pub fn last_kib(&self) -> f64 {
        self.0.last().map_or(f64::NAN, |passed| passed.bytes() / 1024.0)
    }

    /// Bytes by unit.
    pub fn bytes_by_unit(&self) -> BTreeMap<u8, f64> {
        let mut bytes = BTreeMap::new();
        self.0.iter().for_each(|passed| *bytes.entry(passed.request.unit).or_insert(0.0) += passed.bytes());
        bytes
    }

    /// Mean time of a request.
    pub fn mean_seconds(&self) -> f64 {
        self.0.iter().map(Passed::seconds).sum::<f64>() / self.count()
    }

    /// The least of the units' bytes over the most.
    pub fn least_over_most_bytes(&self) -> f64 {
        let bytes = self.bytes_by_unit();
        let least = bytes.values().copied().fold(f64::INFINITY, f64::min);
        least / bytes.values().copied().fold(0.0, f64::max)
    }

    /// Instants at which the number in flight changes, in order; at one instant ends come first.
    fn steps(&self) -> Vec<(u64, i64)> {
        let mut steps: Vec<(u64, i64)> =
            self.0.iter().flat_map(|passed| [(passed.at, 1), (passed.finished, -1)]).collect();
        steps.sort_unstable();
        steps
    }

    pub fn most_in_flight(&self) -> f64 {
        let mut number = 0;
        let numbers = self.steps().into_iter().map(|(_, step)| {
            number += step;
            number
        });
        numbers.max().unwrap_or(0) as f64
    }

    /// The mean number in flight, and the share of the time in which there is one, up to `end` nanoseconds.
    pub fn mean_in_flight_and_busy(&self, end: u64) -> (f64, f64) {
        let (mut number, mut last, mut sum, mut busy) = (0i64, 0u64, 0.0, 0.0);
        for (at, step) in self.steps() {
            let at = at.min(end);
            let span = (at - last) as f64;
            sum += number as f64 * span;
            busy += if number > 0 { span } else { 0.0 };
            (number, last) = (number + step, at);
        }
        (sum / end as f64, busy / end as f64)
    }
}
