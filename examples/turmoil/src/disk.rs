//! A disk that asynchronous code awaits: a modelled drive in the simulated time of turmoil.
//!
//! A task that waits sleeps until the next instant that the device names, and then advances the device. Tokio's timers
//! have steps of a millisecond, so a task may wake late; the device handles each event at the event's own instant all
//! the same.
//!
//! The model stores no bytes. It reports which sectors of a write reached the medium ([landings](LandingKind)), and
//! this file keeps their contents.

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

/// A disk. Clones share it, and it outlives the software of its host.
#[derive(Clone)]
pub struct Disk {
    state: Rc<RefCell<State>>,
    /// Wakes waiting tasks after the device has advanced.
    advanced: Rc<Notify>,
}

struct State {
    device: Box<dyn Device>,
    /// The stamp of the last request, which is also its tag.
    stamp: u64,
    /// Completions that no task has taken yet, by tag.
    completions: BTreeMap<u32, Completion>,
    /// All completions, in the order in which they came.
    all_completions: Vec<Completion>,
    /// Data of writes that may still reach the medium, by stamp: the first sector, and the contents of the sectors.
    unsettled_writes: BTreeMap<u64, (u64, Vec<Sector>)>,
    /// The sectors on the medium.
    medium: BTreeMap<u64, Sector>,
    /// The sectors as reads see them: those on the medium, with the drive's buffer above.
    contents: BTreeMap<u64, Sector>,
}

impl Disk {
    /// A disk of this drive of the catalogue.
    pub fn open(drive_name: &str, seed: u64) -> Disk {
        let profile = drives::load(drive_name).and_then(|drive| drive.profile()).expect("a drive of the catalogue");
        let mut device = Stack::bare(profile).build(Seed(seed));
        let landings = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &landings).expect("every device has landings");
        let (completions, unsettled_writes) = (BTreeMap::new(), BTreeMap::new());
        let (medium, contents) = (BTreeMap::new(), BTreeMap::new());
        let state =
            State { device, stamp: 0, completions, all_completions: Vec::new(), unsettled_writes, medium, contents };
        Disk { state: Rc::new(RefCell::new(state)), advanced: Rc::default() }
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

    /// Makes all completed writes durable.
    pub async fn flush(&self) -> io::Result<()> {
        self.request(Op::Flush, 0, &[]).await
    }

    /// The power fails; only the sectors on the medium stay.
    pub fn cut(&self, now: Duration) {
        let mut state = self.state.borrow_mut();
        state.device.handle_timeout(to_instant(now));
        state.device.control(to_instant(now), &Control::PowerCut).expect("a cut is never refused");
        state.collect();
        state.completions.clear();
        state.contents = state.medium.clone();
    }

    /// The power returns.
    pub fn power_on(&self, now: Duration) {
        self.state.borrow_mut().device.control(to_instant(now), &Control::PowerOn).expect("power is never refused");
    }

    /// All completions of the disk, each with the parts of its time.
    pub fn history(&self) -> Vec<Completion> {
        self.state.borrow().all_completions.clone()
    }

    async fn request(&self, op: Op, lba: u64, data: &[Sector]) -> io::Result<()> {
        let tag = loop {
            let advanced = self.advanced.notified();
            if let Some(tag) = self.state.borrow_mut().submit(op, lba, data) {
                break tag;
            }
            self.wait_for_change(advanced).await;
        };
        loop {
            let advanced = self.advanced.notified();
            let completion = self.state.borrow_mut().completions.remove(&tag);
            match completion.map(|completion| completion.status) {
                Some(Status::Done) => return Ok(()),
                Some(status) => return Err(io::Error::other(format!("{op:?} at {lba}: {status:?}"))),
                None => self.wait_for_change(advanced).await,
            }
        }
    }

    /// Waits until another task has advanced the device, or until the device's next instant has come; then advances it.
    async fn wait_for_change(&self, advanced: Notified<'_>) {
        let next = self.state.borrow().device.poll_timeout();
        let next_instant = async {
            match next {
                Some(next) => tokio::time::sleep(Duration::from_nanos(next.saturating_since(now()).nanos())).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = advanced => {}
            () = next_instant => {
                let mut state = self.state.borrow_mut();
                state.device.handle_timeout(now());
                state.collect();
                self.advanced.notify_waiters();
            }
        }
    }
}

impl State {
    /// Submits a request to the device; returns its tag, or `None` if the device is full.
    fn submit(&mut self, op: Op, lba: u64, data: &[Sector]) -> Option<u32> {
        let (stamp, sectors) = (self.stamp + 1, if op == Op::Read { 1 } else { data.len() as u32 });
        let request = Request { tag: stamp as u32, op, flags: Flags::NONE, lba, sectors, stamp, ..Request::NONE };
        self.device.handle_timeout(now());
        let is_accepted = self.device.submit(now(), request).is_ok();
        if is_accepted {
            self.stamp = stamp;
            self.contents.extend((lba..).zip(data.iter().copied()));
            self.unsettled_writes.insert(stamp, (lba, data.to_vec()));
        }
        self.collect();
        is_accepted.then_some(request.tag)
    }

    /// Takes completions and landings from the device, as the contract demands after every call.
    fn collect(&mut self) {
        while let Some(completion) = self.device.poll_completion() {
            self.all_completions.push(completion);
            self.completions.insert(completion.tag, completion);
        }
        while let Some(landing) = self.device.poll_landing() {
            for lba in landing.lba..landing.end() {
                let (first, data) = &self.unsettled_writes[&landing.stamp];
                match landing.kind {
                    LandingKind::Landed => _ = self.medium.insert(lba, data[(lba - first) as usize]),
                    // A torn sector has neither the old nor the new contents: a store without checksums takes it for
                    // one that was never written.
                    LandingKind::Torn => _ = self.medium.remove(&lba),
                    _ => {}
                }
            }
        }
        let mut unsettled = BTreeSet::new();
        self.device.report_unsettled(&mut |stamp| _ = unsettled.insert(stamp));
        self.unsettled_writes.retain(|stamp, _| unsettled.contains(stamp));
    }
}

/// The present instant of the simulation.
fn now() -> Instant {
    to_instant(turmoil::sim_elapsed().expect("a host of a simulation"))
}

fn to_instant(elapsed: Duration) -> Instant {
    Instant::from_nanos(elapsed.as_nanos() as u64)
}
