//! A device that tells a witness what passes it: requests as they are accepted, completions as they are polled, landings
//! as they are reported. It changes nothing and keeps only what is in flight.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use seekwise_model::block::{Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Request, Status};
use seekwise_model::record::DriveLog;
use seekwise_model::time::Instant;

/// Tags of writes of `sync=` that go down without a mark, each followed by a flush of its own under the same tag.
pub type Pairs = Rc<RefCell<BTreeSet<u32>>>;

/// Sees what passes between a job and its device, in the order in which it does; instants never run back.
///
/// A completion or landing of an instant may be told after a landing that began before it: a landing is reported when
/// its access has ended.
///
/// It is told what the program sees: a write that a flush of its own follows (`sync=` on a device without
/// [`Flags::FUA`]) is marked as forced, and completes with that flush.
pub trait Witness {
    /// The device accepted `request` at `now`.
    fn submitted(&mut self, now: Instant, request: &Request);
    /// `request` completed.
    fn completed(&mut self, request: &Request, completion: &Completion);
    /// Something became of a written run, or a layer told what it is worth.
    fn landed(&mut self, landing: &Landing);
    /// A setting was changed at `now`.
    fn changed(&mut self, now: Instant, key: &str, value: &str) {
        let _ = (now, key, value);
    }
    /// The job ended at `end`, and the device would go on by itself at `next`: is it to?
    fn lingers(&mut self, end: Instant, next: Instant) -> bool;
}

impl<W: Witness> Witness for &mut W {
    fn submitted(&mut self, now: Instant, request: &Request) {
        (**self).submitted(now, request);
    }
    fn completed(&mut self, request: &Request, completion: &Completion) {
        (**self).completed(request, completion);
    }
    fn landed(&mut self, landing: &Landing) {
        (**self).landed(landing);
    }
    fn changed(&mut self, now: Instant, key: &str, value: &str) {
        (**self).changed(now, key, value);
    }
    fn lingers(&mut self, end: Instant, next: Instant) -> bool {
        (**self).lingers(end, next)
    }
}

/// A device and its witness.
pub struct Watched<D, W> {
    device: D,
    witness: W,
    /// By tag: what is in flight.
    flying: Vec<Option<Request>>,
    pairs: Pairs,
    /// By tag: writes that are done below and wait for their flush.
    unflushed: BTreeMap<u32, Request>,
}

impl<D: Device, W: Witness> Watched<D, W> {
    /// Asks `device`, which has done nothing yet, for its landings. Panics if it has none to give.
    pub fn new(mut device: D, witness: W) -> Watched<D, W> {
        let wanted = Control::Set { key: "landings", value: "on" };
        device.control(Instant::ZERO, &wanted).expect("every device reports landings when asked");
        let (pairs, unflushed) = (Pairs::default(), BTreeMap::new());
        Watched { device, witness, flying: Vec::new(), pairs, unflushed }
    }

    /// The same, with a source that tells `pairs` of writes that wait for a flush.
    pub fn with_pairs(self, pairs: Pairs) -> Watched<D, W> {
        Watched { pairs, ..self }
    }

    /// Lets the device go on by itself for as long as the witness wants.
    pub(super) fn linger(&mut self, end: Instant) {
        while let Some(next) = self.device.poll_timeout() {
            if !self.witness.lingers(end, next) {
                return;
            }
            self.handle_timeout(next);
        }
    }

    /// The power goes in order; the device goes on until it has nothing left to do. Answers when that was.
    pub(super) fn power_off(&mut self, end: Instant) -> Result<Instant, ControlError> {
        self.control(end, &Control::PowerOff)?;
        let mut last = end;
        while let Some(next) = self.device.poll_timeout() {
            self.handle_timeout(next);
            last = next;
        }
        Ok(last)
    }

    fn tell_landings(&mut self) {
        while let Some(landing) = self.device.poll_landing() {
            self.witness.landed(&landing);
        }
    }

    fn tell(&mut self, completion: &Completion) {
        let request = self.flying.get_mut(completion.tag as usize).and_then(Option::take);
        let request = request.expect("a completion of something in flight");
        let paired = request.op == Op::Write && self.pairs.borrow_mut().remove(&request.tag);
        if paired && completion.status == Status::Done {
            self.unflushed.insert(request.tag, request);
            return;
        }
        if let Some(write) = self.unflushed.remove(&request.tag) {
            self.witness.completed(&write, completion);
        }
        self.witness.completed(&request, completion);
    }
}

impl<D: Device, W: Witness> Device for Watched<D, W> {
    fn limits(&self, unit: u8) -> Limits {
        self.device.limits(unit)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.device.submit(now, request)?;
        self.tell_landings();
        let tag = request.tag as usize;
        if tag >= self.flying.len() {
            self.flying.resize(tag + 1, None);
        }
        let forced = request.op == Op::Write && self.pairs.borrow().contains(&request.tag);
        let flags = if forced { request.flags.with(Flags::FUA) } else { request.flags };
        let seen = Request { flags, ..request };
        self.flying[tag] = Some(seen);
        self.witness.submitted(now, &seen);
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        let done = self.device.control(now, control);
        self.tell_landings();
        if let (Control::Set { key, value }, Ok(())) = (control, done) {
            self.witness.changed(now, key, value);
        }
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.device.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.device.handle_timeout(now);
        self.tell_landings();
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        let completion = self.device.poll_completion()?;
        self.tell(&completion);
        Some(completion)
    }

    /// Nothing: the witness has them.
    fn log(&self) -> DriveLog {
        self.device.log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }

    fn unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.device.unsettled(tell);
    }

    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        let completion = self.device.proceed(until);
        self.tell_landings();
        self.tell(&completion?);
        completion
    }
}
