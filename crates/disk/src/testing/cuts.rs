//! Random power cuts: random stacks under random clients, cut again and again, judged by [`DurabilityChecker`] alone.
//!
//! A case is one stack and one client from one seed. Between two power failures the client works for 10 us to 300 ms, all
//! orders of magnitude equally likely. A failure is a cut, or an orderly power-off that the client waits for, or a
//! power-off that is cut short. An honest drive must break no law at any failure. A drive with a [`DriveFault`] must break
//! one at some failure. If the stack has an array, each copy of a mirror is judged separately: promised data must be on
//! every member that should have them.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::client::{ClientHabits, TestClient};
use super::durability::{Breach, DurabilityChecker, DurabilityLaw, LossCounts, PowerFailure, Promise};
use super::image::SectorImage;
use super::mirror_copies::BlockCopies;
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

    /// Gives the stack's drive the fault, and makes stack and client such that it shows.
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
                habits.fua_percent = 30;
                stack.layers.iter_mut().for_each(|layer| {
                    if let Layer::Driver(spec) = layer {
                        spec.write_through = ForcedWritePolicy::Fua;
                    }
                });
                drive.faults = Faults { ignores_fua: true, ..Faults::default() };
            }
            DriveFault::EarlyFlush => {
                habits.flush_percent = 30;
                drive.faults = Faults { early_flush: true, ..Faults::default() };
            }
            DriveFault::ForgetsOnPowerOff => drive.faults = Faults { forgets_on_power_off: true, ..Faults::default() },
            DriveFault::CachesWhenOff => {
                drive.faults = Faults { caches_when_off: true, ..Faults::default() };
                // A cache in memory promises nothing without a flush, so that the fault would not show.
                stack.layers.retain(|layer| !matches!(layer, Layer::Accelerator(_)));
            }
        }
    }
}

/// The result of a case.
#[derive(Clone, Debug, Default)]
pub struct CutTally {
    /// Power failures: cuts and orderly power-offs.
    pub failures: u64,
    /// Orderly power-offs among them.
    pub power_offs: u64,
    /// The sum over the failures that broke no law.
    pub losses: LossCounts,
    /// Failures at which a law was broken, by law: durable, tearing, stale, order.
    pub breaches: [u64; 4],
    /// The first breach, in words.
    pub first_breach: Option<String>,
}

impl CutTally {
    /// How many failures broke any law.
    pub fn breach_count(&self) -> u64 {
        self.breaches.iter().sum()
    }

    /// Adds the tally of another case.
    pub fn add(&mut self, other: &CutTally) {
        self.failures += other.failures;
        self.power_offs += other.power_offs;
        self.losses.add(other.losses);
        for (sum, count) in self.breaches.iter_mut().zip(other.breaches) {
            *sum += count;
        }
        self.first_breach = self.first_breach.take().or_else(|| other.first_breach.clone());
    }

    /// Counts a failure with its judgement. `describe_case` says in which case it was, for the first breach.
    fn count_failure(&mut self, judged: Result<LossCounts, Breach>, describe_case: impl Fn() -> String) {
        self.failures += 1;
        match judged {
            Ok(losses) => self.losses.add(losses),
            Err(breach) => {
                let laws = [DurabilityLaw::Durable, DurabilityLaw::Tearing, DurabilityLaw::Stale, DurabilityLaw::Order];
                let index = laws.iter().position(|&law| law == breach.law);
                self.breaches[index.unwrap_or(0)] += 1;
                self.first_breach.get_or_insert_with(|| format!("{}: {breach:?}", describe_case()));
            }
        }
    }
}

/// A random stack for power cuts: as [`random_stack`], with more write caches, some media caches, some buffers that survive
/// a cut, and some arrays.
pub fn random_stack_to_cut(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    let cache = &mut stack.drive.cache;
    if rng.draw_chance(60) {
        cache.segments = cache.segments.max(2);
        cache.dirty_segments = 1 + rng.below(u64::from(cache.segments)) as u32;
        cache.write_back = true;
    }
    let has_buffer = cache.segments > 0;
    if has_buffer && rng.draw_chance(10) {
        cache.flash_sectors = 1 + rng.below(2 * u64::from(cache.segment_sectors));
    }
    if has_buffer && rng.draw_chance(20) {
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

/// Gives the drive a media cache in one or two stretches of slots.
fn add_media_cache(drive: &mut SmallDrive, rng: &mut Rng) {
    let stretches = 1 + rng.below(2) as u32;
    let slots = pick_one(rng, &[64, 256]);
    let (first_slot, stride) = (1400, 640);
    drive.holes.extend((0..u64::from(stretches)).map(|index| (first_slot + index * stride, slots)));
    let largest = pick_one(rng, &[8, 64]);
    drive.cache.media_cache = Some(MediaCacheSpec { stretches, slots, first_slot, stride, largest });
}

/// The promise of a stack, with the order of its writes.
fn promise_with_order(stack: &SmallStack) -> Promise {
    let drive = &stack.drive;
    let mut one_access_sectors = drive.link.max_transfer;
    if drive.cache.segments > 0 {
        let smallest_segment = drive.cache.adaptive.map_or(u32::MAX, |adaptive| adaptive.sectors / adaptive.most);
        one_access_sectors = one_access_sectors.min(drive.cache.segment_sectors).min(smallest_segment);
    }
    let mut keeps_order = drive.firmware.destage.policy == Policy::Fcfs && drive.cache.media_cache.is_none();
    for layer in &stack.layers {
        match layer {
            // A command of several requests may be split anywhere.
            Layer::Driver(spec) => {
                one_access_sectors = if spec.merge { 0 } else { one_access_sectors.min(spec.max_transfer) }
            }
            // Data from memory may be split anywhere, and reach the drive in any order.
            Layer::Accelerator(_) => (one_access_sectors, keeps_order) = (0, false),
            _ => {}
        }
    }
    let is_array = stack.block_copies().is_array();
    let limits = stack.build().limits(0);
    // An array splits writes over its members.
    Promise {
        saves_buffer: drive.protected || drive.cache.flash_sectors > 0,
        one_access_sectors: if is_array { 0 } else { one_access_sectors },
        keeps_order: keeps_order && !is_array,
        ..Promise::from_limits(&limits, drive.cut_sector)
    }
}

/// Runs the case of `seed` through this many power failures; with `fault`, on a drive that has it.
pub fn run_cut_case(seed: u64, failures: u64, fault: Option<DriveFault>) -> CutTally {
    let mut rng = Seed(seed).stream("cuts");
    let mut stack = random_stack_to_cut(&mut rng);
    let mut habits = ClientHabits::random(&stack.build().limits(0), &mut rng);
    if let Some(fault) = fault {
        fault.plant_fault(&mut stack, &mut habits);
    }
    let mut images = CopyImages::new(&stack);
    let checker = DurabilityChecker::new(promise_with_order(&stack)).for_copy(&images.copies, 0);
    let mut client = TestClient::new(stack.build(), checker, habits, Seed(seed).stream("client"));
    client.keep_landings();
    let mut tally = CutTally::default();
    for index in 0..failures {
        client.work_until(client.now() + draw_work_time(&mut rng));
        let failure = fail_power(&mut client, &mut rng);
        tally.power_offs += u64::from(failure == PowerFailure::PowerOff);
        let judged = images.judge_copies(&mut client, failure);
        tally.count_failure(judged, || {
            format!("seed {seed}, {failure:?} {index} at {:?}, {habits:?} {stack:?}", client.now())
        });
        client.idle_for(Span::from_micros(rng.below(30_000)));
        client.control(&Control::PowerOn);
    }
    tally
}

/// The image of a copy of an array's blocks.
#[derive(Clone, Debug, Default)]
struct CopyImage {
    now: SectorImage,
    at_last_failure: SectorImage,
}

/// An image of each copy of an array's blocks. A single drive has one copy.
pub struct CopyImages {
    copies: BlockCopies,
    images: Vec<CopyImage>,
}

impl CopyImages {
    /// Images of the copies in a stack, with nothing written yet.
    pub fn new(stack: &SmallStack) -> CopyImages {
        let copies = stack.block_copies();
        CopyImages { images: (0..copies.count()).map(|_| CopyImage::default()).collect(), copies }
    }

    /// Applies landings.
    pub fn apply_landings(&mut self, landings: &[Landing]) {
        let images = &mut self.images;
        for landing in landings {
            let apply = |image: u32, part: &Landing| images[image as usize].now.apply_landing_in_blocks(part);
            self.copies.for_each_changed(landing, apply);
        }
    }

    /// Judges each copy by the client's observations. Returns the counts of the first copy, or the first breach.
    pub fn judge_copies(&mut self, client: &mut TestClient, failure: PowerFailure) -> Result<LossCounts, Breach> {
        let landings = client.take_landings();
        self.apply_landings(&landings);
        let mut others_judged = Ok(());
        for (copy, image) in self.images.iter_mut().enumerate().skip(1) {
            let mut checker = client.checker.for_other_copy(&self.copies, copy as u32, &image.at_last_failure);
            others_judged = others_judged.and(checker.judge_image(&image.now, failure).map(drop));
            image.at_last_failure = image.now.clone();
        }
        let first_judged = client.checker.judge_image(&self.images[0].now, failure);
        others_judged.and(first_judged)
    }
}

/// Draws the time for which a client works: from 10 us to 300 ms, all orders of magnitude equally likely.
fn draw_work_time(rng: &mut Rng) -> Span {
    let limit_us = pick_one(rng, &[100, 1000, 10_000, 50_000, 300_000]);
    Span::from_micros(10 + rng.below(limit_us))
}

/// Cuts the power, or switches it off and waits, or switches it off and cuts it soon after.
fn fail_power(client: &mut TestClient, rng: &mut Rng) -> PowerFailure {
    let percent = rng.below(100);
    if percent >= 85 {
        client.control(&Control::PowerOff);
        if percent < 95 {
            client.poll_until(Instant::FAR);
            assert_eq!(client.in_flight(), 0, "an orderly power-off ends every request");
            return PowerFailure::PowerOff;
        }
        client.idle_for(Span::from_micros(rng.below(20_000)));
    }
    client.control(&Control::PowerCut);
    PowerFailure::Cut
}
