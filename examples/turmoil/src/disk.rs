//! A disk that asynchronous code waits for: a device of the model, in the simulated time of turmoil.
//!
//! Whoever waits sleeps until the instant that the device names, then lets it do what is due. Tokio's timers have steps of a
//! millisecond, so a waiter may come late; the device does each thing at its own instant all the same.
//!
//! The model knows no bytes. It says which write reached the medium ([landings](LandingKind)), and this file keeps what was in it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, LandingKind, Op, Request, Status};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::drives;
use tokio::sync::{Notify, futures::Notified};

/// Bytes of a sector.
pub const SECTOR: usize = 512;

type Sector = [u8; SECTOR];

/// A disk. Its copies are the same disk; it outlives the software of its host.
#[derive(Clone)]
pub struct Disk {
    state: Rc<RefCell<State>>,
    /// Something was answered.
    changed: Rc<Notify>,
}

struct State {
    device: Box<dyn Device>,
    /// The stamp of the last request, and its tag.
    stamp: u64,
    answers: BTreeMap<u32, Completion>,
    /// All answers, in their order.
    history: Vec<Completion>,
    /// What is in writes that may still reach the medium, by stamp: the first sector, and the data.
    under_way: BTreeMap<u64, (u64, Vec<Sector>)>,
    /// What is on the medium.
    medium: BTreeMap<u64, Sector>,
    /// What a read finds: the medium, and the drive's buffer above it.
    contents: BTreeMap<u64, Sector>,
}

impl Disk {
    /// A drive of the catalogue.
    pub fn open(drive: &str, seed: u64) -> Disk {
        let profile = drives::load(drive).and_then(|drive| drive.profile()).expect("a drive of the catalogue");
        let mut device = Stack::bare(profile).build(Seed(seed));
        let landings = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &landings).expect("every device has landings");
        let (answers, under_way) = (BTreeMap::new(), BTreeMap::new());
        let (medium, contents) = (BTreeMap::new(), BTreeMap::new());
        let state = State { device, stamp: 0, answers, history: Vec::new(), under_way, medium, contents };
        Disk { state: Rc::new(RefCell::new(state)), changed: Rc::default() }
    }

    /// Reads a sector; zeroes where nothing was written.
    pub async fn read(&self, lba: u64) -> io::Result<Sector> {
        self.request(Op::Read, lba, &[]).await?;
        Ok(self.state.borrow().contents.get(&lba).copied().unwrap_or([0; SECTOR]))
    }

    /// Writes a sector. It is not durable before the flush that follows.
    pub async fn write(&self, lba: u64, data: Sector) -> io::Result<()> {
        self.request(Op::Write, lba, &[data]).await
    }

    /// Makes durable what was written and answered before.
    pub async fn flush(&self) -> io::Result<()> {
        self.request(Op::Flush, 0, &[]).await
    }

    /// The power fails. What is on the medium stays.
    pub fn cut(&self, now: Duration) {
        let mut state = self.state.borrow_mut();
        state.device.handle_timeout(instant(now));
        state.device.control(instant(now), &Control::PowerCut).expect("a cut is never refused");
        state.collect();
        state.answers.clear();
        state.contents = state.medium.clone();
    }

    /// The power returns.
    pub fn power_on(&self, now: Duration) {
        self.state.borrow_mut().device.control(instant(now), &Control::PowerOn).expect("power is never refused");
    }

    /// All that it answered, with where the time went.
    pub fn history(&self) -> Vec<Completion> {
        self.state.borrow().history.clone()
    }

    async fn request(&self, op: Op, lba: u64, data: &[Sector]) -> io::Result<()> {
        let tag = loop {
            let changed = self.changed.notified();
            if let Some(tag) = self.state.borrow_mut().submit(op, lba, data) {
                break tag;
            }
            self.turn(changed).await;
        };
        loop {
            let changed = self.changed.notified();
            let answer = self.state.borrow_mut().answers.remove(&tag);
            match answer.map(|answer| answer.status) {
                Some(Status::Done) => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("{op:?} at {lba}: {status:?}"))),
                None => self.turn(changed).await,
            }
        }
    }

    /// Waits until something may have happened: somebody else let the device go on, or its next instant has come.
    async fn turn(&self, changed: Notified<'_>) {
        let next = self.state.borrow().device.poll_timeout();
        let due = async {
            match next {
                Some(next) => tokio::time::sleep(Duration::from_nanos(next.saturating_since(now()).nanos())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = changed => {}
            () = due => {
                let mut state = self.state.borrow_mut();
                state.device.handle_timeout(now());
                state.collect();
                self.changed.notify_waiters();
            }
        }
    }
}

impl State {
    /// Hands a request to the device; its tag, or nothing where there is no room.
    fn submit(&mut self, op: Op, lba: u64, data: &[Sector]) -> Option<u32> {
        let (stamp, sectors) = (self.stamp + 1, if op == Op::Read { 1 } else { data.len() as u32 });
        let request = Request { tag: stamp as u32, op, flags: Flags::NONE, lba, sectors, stamp, ..Request::NONE };
        self.device.handle_timeout(now());
        let taken = self.device.submit(now(), request).is_ok();
        if taken {
            self.stamp = stamp;
            self.contents.extend((lba..).zip(data.iter().copied()));
            self.under_way.insert(stamp, (lba, data.to_vec()));
        }
        self.collect();
        taken.then_some(request.tag)
    }

    /// Takes up what the device has to say: the contract asks for that after every call.
    fn collect(&mut self) {
        while let Some(answer) = self.device.poll_completion() {
            self.history.push(answer);
            self.answers.insert(answer.tag, answer);
        }
        while let Some(landing) = self.device.poll_landing() {
            for lba in landing.lba..landing.end() {
                let (first, data) = &self.under_way[&landing.stamp];
                match landing.kind {
                    LandingKind::Landed => _ = self.medium.insert(lba, data[(lba - first) as usize]),
                    // Neither old nor new: a store without sums over its records takes it for never written.
                    LandingKind::Torn => _ = self.medium.remove(&lba),
                    _ => {}
                }
            }
        }
        let mut unsettled = BTreeSet::new();
        self.device.report_unsettled(&mut |stamp| _ = unsettled.insert(stamp));
        self.under_way.retain(|stamp, _| unsettled.contains(stamp));
    }
}

/// The present of the simulation, as the model counts it.
fn now() -> Instant {
    instant(turmoil::sim_elapsed().expect("a host of a simulation"))
}

fn instant(elapsed: Duration) -> Instant {
    Instant::from_nanos(elapsed.as_nanos() as u64)
}
