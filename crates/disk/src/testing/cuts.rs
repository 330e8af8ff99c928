//! The swarm of power cuts: random stacks under random clients, cut again and again, judged by [`DurabilityChecker`] alone.
//!
//! A case is one stack and one client from one seed. Between two power failures it lives for some time, from 10 us to
//! 300 ms, each order of magnitude equally likely; then it is cut, or powered off and left until it is done, or powered
//! off and cut before it is done. An honest drive must break no law at any failure; with a [`DriveFault`], the stack
//! must break one. Some of the stacks have arrays; there, each copy of a mirror is judged separately: what was promised
//! is on every member that should have it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::client::{ClientHabits, TestClient};
use super::durability::{Breach, DurabilityChecker, DurabilityLaw, LossCounts, PowerFailure, Promise};
use super::image::SectorImage;
use super::mirror_copies::VolumeSight;
use super::stacks::{SmallDrive, SmallStack, pick_one, random_stack, with_random_array};
use crate::block::{Control, Landing};
use crate::drive::profile::{Faults, MediaCacheSpec};
use crate::host::driver::ForcedWritePolicy;
use crate::queue::{Discipline, Policy};
use crate::rng::{Rng, Seed};
use crate::stack::Layer;
use crate::time::{Instant, Span};

/// A fault of [`Faults`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveFault {
    IgnoresFua,
    EarlyFlush,
    ForgetsOnPowerOff,
    CachesWhenOff,
}

impl DriveFault {
    /// All faults, with their names in a profile.
    pub const ALL: [(DriveFault, &str); 4] = [
        (DriveFault::IgnoresFua, "ignores_fua"),
        (DriveFault::EarlyFlush, "early_flush"),
        (DriveFault::ForgetsOnPowerOff, "forgets_on_power_off"),
        (DriveFault::CachesWhenOff, "caches_when_off"),
    ];

    /// Gives the stack's drive the fault, with conditions in which it matters.
    fn plant_fault(self, stack: &mut SmallStack, habits: &mut ClientHabits) {
        let drive = &mut stack.drive;
        // Room for dirty data, and no hurry to write them.
        drive.cache.segments = drive.cache.segments.max(4);
        drive.cache.dirty_segments = drive.cache.dirty_segments.max(4);
        drive.cache.destage_idle = drive.cache.destage_idle.max(Span::from_millis(5));
        drive.cache.write_back = self != DriveFault::CachesWhenOff;
        (drive.cache.flash_sectors, drive.protected) = (0, false);
        match self {
            DriveFault::IgnoresFua => {
                drive.link.fua = true;
                habits.forced = 30;
                stack.layers.iter_mut().for_each(|layer| {
                    if let Layer::Driver(spec) = layer {
                        spec.write_through = ForcedWritePolicy::Fua;
                    }
                });
                drive.faults = Faults { ignores_fua: true, ..Faults::default() };
            }
            DriveFault::EarlyFlush => {
                habits.flushes = 30;
                drive.faults = Faults { early_flush: true, ..Faults::default() };
            }
            DriveFault::ForgetsOnPowerOff => drive.faults = Faults { forgets_on_power_off: true, ..Faults::default() },
            DriveFault::CachesWhenOff => {
                drive.faults = Faults { caches_when_off: true, ..Faults::default() };
                // Above a cache, nothing is promised without a flush anyway.
                stack.layers.retain(|layer| !matches!(layer, Layer::Accelerator(_)));
            }
        }
    }
}

/// The result of a case.
#[derive(Clone, Debug, Default)]
pub struct CutTally {
    /// Power failures: cuts, and orderly ones.
    pub cuts: u64,
    /// Orderly failures among them.
    pub offs: u64,
    /// The sum over the failures that broke no law.
    pub toll: LossCounts,
    /// Failures at which a law was broken, by law: durable, tearing, stale, order.
    pub breaches: [u64; 4],
    /// The first of them.
    pub first: Option<String>,
}

impl CutTally {
    /// How many failures broke any law.
    pub fn broken_count(&self) -> u64 {
        self.breaches.iter().sum()
    }

    /// Adds the tally of another case.
    pub fn add(&mut self, other: &CutTally) {
        self.cuts += other.cuts;
        self.offs += other.offs;
        self.toll.acknowledged += other.toll.acknowledged;
        self.toll.durable += other.toll.durable;
        self.toll.lost += other.toll.lost;
        for (mine, theirs) in self.breaches.iter_mut().zip(other.breaches) {
            *mine += theirs;
        }
        self.first = self.first.take().or_else(|| other.first.clone());
    }

    fn count_failure(&mut self, judged: Result<LossCounts, Breach>, context: impl Fn() -> String) {
        self.cuts += 1;
        match judged {
            Ok(toll) => {
                self.toll.acknowledged += toll.acknowledged;
                self.toll.durable += toll.durable;
                self.toll.lost += toll.lost;
            }
            Err(breach) => {
                let law = [DurabilityLaw::Durable, DurabilityLaw::Tearing, DurabilityLaw::Stale, DurabilityLaw::Order]
                    .iter()
                    .position(|&l| l == breach.law);
                self.breaches[law.unwrap_or(0)] += 1;
                self.first.get_or_insert_with(|| format!("{}: {breach:?}", context()));
            }
        }
    }
}

/// The stack of a case: random, with more write caches than elsewhere, media caches, some buffers that survive a cut,
/// and arrays.
pub fn stack_to_cut(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    let cache = &mut stack.drive.cache;
    if rng.draw_chance(60) {
        cache.segments = cache.segments.max(2);
        cache.dirty_segments = 1 + rng.below(u64::from(cache.segments)) as u32;
        cache.write_back = true;
    }
    let may_hold = cache.segments > 0;
    if may_hold && rng.draw_chance(10) {
        cache.flash_sectors = 1 + rng.below(2 * u64::from(cache.segment_sectors));
    }
    if may_hold && rng.draw_chance(20) {
        add_media_cache(&mut stack.drive, rng);
    }
    stack.drive.protected = rng.draw_chance(10);
    if rng.draw_chance(30) {
        stack.drive.firmware.destage = Discipline::plain(Policy::Fcfs);
    }
    // Drawn from a stream of its own, so that seeds of older cases still give the same drives.
    let rng = &mut Seed(rng.clone().next_u64()).stream("array");
    if rng.draw_chance(40) { with_random_array(stack, rng) } else { stack }
}

/// Gives the drive a media cache in one or two stretches.
fn add_media_cache(drive: &mut SmallDrive, rng: &mut Rng) {
    let stretches = 1 + rng.below(2) as u32;
    let slots = pick_one(rng, &[64, 256]);
    let (first_slot, stride) = (1400, 640);
    drive.holes.extend((0..u64::from(stretches)).map(|index| (first_slot + index * stride, slots)));
    let largest = pick_one(rng, &[8, 64]);
    drive.cache.media_cache = Some(MediaCacheSpec { stretches, slots, first_slot, stride, largest });
}

/// The promise of the stack, including its order.
fn promise_of(stack: &SmallStack) -> Promise {
    let drive = &stack.drive;
    let mut in_one = drive.link.max_transfer;
    if drive.cache.segments > 0 {
        let least = drive.cache.adaptive.map_or(u32::MAX, |adaptive| adaptive.sectors / adaptive.most);
        in_one = in_one.min(drive.cache.segment_sectors).min(least);
    }
    let mut in_order = drive.firmware.destage.policy == Policy::Fcfs && drive.cache.media_cache.is_none();
    for layer in &stack.layers {
        match layer {
            // A command of several requests may be split anywhere.
            Layer::Driver(spec) => in_one = if spec.merge { 0 } else { in_one.min(spec.max_transfer) },
            // Data from memory may be split as well, and leave it in any order.
            Layer::Accelerator(_) => (in_one, in_order) = (0, false),
            _ => {}
        }
    }
    let array = stack.client_sight().is_array();
    let limits = stack.build().limits(0);
    // An array splits writes over its members.
    Promise {
        saves_buffer: drive.protected || drive.cache.flash_sectors > 0,
        in_one: if array { 0 } else { in_one },
        in_order: in_order && !array,
        ..Promise::from_limits(&limits, drive.cut_sector)
    }
}

/// Runs the case of `seed` through `cuts` power failures; with `fault`, on a drive that has it.
pub fn cuts(seed: u64, cuts: u64, fault: Option<DriveFault>) -> CutTally {
    let mut rng = Seed(seed).stream("cuts");
    let mut stack = stack_to_cut(&mut rng);
    let mut habits = ClientHabits::random(&stack.build().limits(0), &mut rng);
    if let Some(fault) = fault {
        fault.plant_fault(&mut stack, &mut habits);
    }
    let mut copies = MemberImages::new(&stack);
    let checker = DurabilityChecker::new(promise_of(&stack)).for_copy(&copies.sight, 0);
    let mut client = TestClient::new(stack.build(), checker, habits, Seed(seed).stream("client"));
    client.keep_landings();
    let mut tally = CutTally::default();
    for done in 0..cuts {
        client.work_until(client.now() + draw_lifetime(&mut rng));
        let failure = fail_power(&mut client, &mut rng);
        tally.offs += u64::from(failure == PowerFailure::Off);
        let judged = copies.judge_copies(&mut client, failure);
        tally.count_failure(judged, || {
            format!("seed {seed}, {failure:?} {done} at {:?}, {habits:?} {stack:?}", client.now())
        });
        client.rest_for(Span::from_micros(rng.below(30_000)));
        client.control(&Control::PowerOn);
    }
    tally
}

/// The members of an array as images of its blocks: one for each copy. A single drive is one copy.
pub struct MemberImages {
    sight: VolumeSight,
    /// Now, and at the last failure.
    images: Vec<(SectorImage, SectorImage)>,
}

impl MemberImages {
    /// The copies of the stack's array, with nothing written yet.
    pub fn new(stack: &SmallStack) -> MemberImages {
        let sight = stack.client_sight();
        MemberImages { images: (0..sight.copies()).map(|_| Default::default()).collect(), sight }
    }

    /// The view through the array.
    pub fn sight(&self) -> &VolumeSight {
        &self.sight
    }

    /// Applies landings.
    pub fn apply_landings(&mut self, landings: &[Landing]) {
        let images = &mut self.images;
        for landing in landings {
            self.sight.visit_images(landing, |image, part| images[image as usize].0.apply_block(part));
        }
    }

    /// Judges each copy by what the client saw; returns the counts of the first, or the first breach.
    pub fn judge_copies(&mut self, client: &mut TestClient, failure: PowerFailure) -> Result<LossCounts, Breach> {
        let landings = client.take_landings();
        self.apply_landings(&landings);
        let mut others = Ok(());
        for (copy, (now, before)) in self.images.iter_mut().enumerate().skip(1) {
            let judged = client.checker.for_other_copy(&self.sight, copy as u32, before).judge_image(now, failure);
            others = others.and(judged.map(drop));
            *before = now.clone();
        }
        let first = client.checker.judge_image(&self.images[0].0, failure);
        others.and(first)
    }
}

/// Draws a time from 10 us to 300 ms, each order of magnitude equally likely.
fn draw_lifetime(rng: &mut Rng) -> Span {
    let most = pick_one(rng, &[100, 1000, 10_000, 50_000, 300_000]);
    Span::from_micros(10 + rng.below(most))
}

fn fail_power(client: &mut TestClient, rng: &mut Rng) -> PowerFailure {
    let kind = rng.below(100);
    if kind >= 85 {
        client.control(&Control::PowerOff);
        if kind < 95 {
            client.wait_until(Instant::FAR);
            assert_eq!(client.in_flight(), 0, "an orderly power-off ends every request");
            return PowerFailure::Off;
        }
        client.rest_for(Span::from_micros(rng.below(20_000)));
    }
    client.control(&Control::PowerCut);
    PowerFailure::Cut
}
