//! Small drives, and random ones below random layers.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::mirror_copies::VolumeSight;
use crate::block::{CutSector, Device, Queuing};
use crate::drive::Drive;
use crate::drive::geometry::{Geometry, LayoutError, Skews, TrackOrder, Zone};
use crate::drive::mechanics::{Mechanics, SeekCurve};
use crate::drive::profile::{
    AdaptiveDivision, CacheSpec, Faults, Firmware, Link, Overhead, OverheadAfter, Profile, ReadAhead, ReadAheadEnd,
    ReadAheadHold, WrittenHits,
};
use crate::drive::recovery::WeakBlocks;
use crate::host::accelerator::AcceleratorSpec;
use crate::host::array::layout::{RaidLevel, VolumeShare};
use crate::host::array::{ArraySpec, BitmapSpec, ParityWrite, ReadBalance};
use crate::host::controller::{ControllerSpec, InterruptCoalescing, ProgrammedIo};
use crate::host::driver::deadline::DeadlineSpec;
use crate::host::driver::fair::FairSpec;
use crate::host::driver::{DriverSpec, FlushPolicy, ForcedWritePolicy, Plug, SchedulerSpec};
use crate::host::processor::ProcessorSpec;
use crate::host::scsi::ScsiSpec;
use crate::queue::{Discipline, Policy};
use crate::rng::{Rng, Seed};
use crate::stack::{Layer, build_layers};
use crate::time::Span;

/// The settings of a small drive. The default turns at 7,200 rpm, has two heads, 64-sector tracks, no buffer, no
/// overhead, a link of 1 GB/s and takes one command at a time.
#[derive(Clone, Debug)]
pub struct SmallDrive {
    /// How tracks follow one another.
    pub order: TrackOrder,
    /// Surfaces.
    pub heads: u32,
    /// Cylinders and slots per track of each zone, from the outside in.
    pub zones: Vec<(u32, u32)>,
    /// Slots that hold no blocks: first, and how many.
    pub holes: Vec<(u64, u64)>,
    /// Slots whose block lives in a slot of a hole.
    pub remaps: Vec<(u64, u64)>,
    /// Thousandths of a revolution a minute.
    pub millirpm: u64,
    /// Seek over one cylinder, over a third of them, and over all.
    pub seek: (Span, Span, Span),
    pub head_switch: Span,
    /// The time that writing adds to a seek or a head switch.
    pub write_settle: Span,
    /// The head skew is the head switch, the cylinder skew the one-cylinder seek, each and this much more.
    pub skew_margin: Span,
    /// 512 or 4096.
    pub physical_sector: u32,
    /// The effect of a cut on the sector under the head.
    pub cut_sector: CutSector,
    /// A capacitor keeps the buffer.
    pub protected: bool,
    /// The promises that the drive breaks.
    pub faults: Faults,
    /// The buffer.
    pub cache: CacheSpec,
    /// How commands are taken and ordered.
    pub firmware: Firmware,
    /// Fixed costs.
    pub overhead: Overhead,
    /// The interface.
    pub link: Link,
    /// Places that are hard to read.
    pub weak: Vec<WeakBlocks>,
    /// Where the platter stands at time 0.
    pub phase: u64,
}

impl Default for SmallDrive {
    fn default() -> SmallDrive {
        SmallDrive {
            order: TrackOrder::Cylinder,
            heads: 2,
            zones: alloc::vec![(40, 64), (40, 48)],
            holes: Vec::new(),
            remaps: Vec::new(),
            millirpm: 7_200_000,
            seek: (Span::from_micros(600), Span::from_millis(2), Span::from_millis(4)),
            head_switch: Span::from_micros(500),
            write_settle: Span::ZERO,
            skew_margin: Span::from_micros(20),
            physical_sector: 512,
            cut_sector: CutSector::Old,
            protected: false,
            faults: Faults::default(),
            cache: CacheSpec::NONE,
            firmware: Firmware { destage: Discipline::plain(Policy::CLook), ..Firmware::UNQUEUED },
            overhead: Overhead::NONE,
            link: Link { max_transfer: 4096, fua: true, queuing: Queuing::Scsi, ..Link::new(1_000_000_000) },
            weak: Vec::new(),
            phase: 0,
        }
    }
}

impl SmallDrive {
    /// The angle the platter turns by in `span`.
    pub(crate) fn angle_of(&self, span: Span) -> u64 {
        let turns = (u128::from(span.nanos()) * u128::from(self.millirpm)) << 64;
        (turns / 60_000_000_000_000) as u64
    }

    /// The skews that [`SmallDrive::skew_margin`] describes.
    pub fn skews(&self) -> Skews {
        Skews {
            head: self.angle_of(self.head_switch + self.skew_margin),
            cylinder: self.angle_of(self.seek.0 + self.skew_margin),
        }
    }

    /// The layout.
    pub fn geometry(&self) -> Result<Geometry, LayoutError> {
        let mut zones = Vec::new();
        let mut first = 0;
        for &(cylinders, spt) in &self.zones {
            let spt = alloc::vec![spt; self.heads as usize];
            zones.extend(Zone::lay(first, cylinders, self.order, &spt, self.skews()));
            first += cylinders;
        }
        let slots: u64 = zones.iter().map(Zone::slots).sum();
        let left_out: u64 = self.holes.iter().map(|hole| hole.1).sum();
        Geometry::new(slots - left_out, &zones, &self.holes, &self.remaps)
    }

    /// Arm and spindle.
    pub fn mechanics(&self) -> Mechanics {
        let cylinders = self.zones.iter().map(|zone| zone.0).sum();
        let (single, average, full) = self.seek;
        let curve = SeekCurve::three_point(single, average, full, cylinders).expect("rising times");
        Mechanics::new(curve, self.head_switch, self.write_settle, self.millirpm)
            .expect("a speed")
            .with_phase(self.phase)
    }

    /// The drive's description. Panics when the settings do not fit together.
    pub fn profile(&self) -> Profile {
        Profile {
            name: String::from("small"),
            physical_sector: self.physical_sector,
            geometry: self.geometry().expect("a layout that fits"),
            mechanics: self.mechanics(),
            cache: self.cache,
            firmware: self.firmware,
            overhead: self.overhead,
            link: self.link,
            cut_sector: self.cut_sector,
            weak: self.weak.clone(),
            protected: self.protected,
            faults: self.faults,
        }
    }

    /// The drive.
    pub fn drive(&self) -> Drive {
        Drive::new(self.profile(), self.phase)
    }

    /// Adds a buffer of `segments` of `segment_sectors`, which reads ahead as far as a segment goes.
    pub fn with_buffer(mut self, segments: u32, segment_sectors: u32) -> SmallDrive {
        self.cache.segments = segments;
        self.cache.segment_sectors = segment_sectors;
        self.cache.read_ahead.max = segment_sectors;
        self.cache.adaptive = None;
        self
    }

    /// Adds write-back with at most `dirty_segments`.
    pub fn with_write_back(mut self, dirty_segments: u32) -> SmallDrive {
        self.cache.write_back = true;
        self.cache.dirty_segments = dirty_segments;
        self
    }

    /// Adds any kind of queue, and weak places, drawn from a stream of their own, so that the seeds of older cases stand for
    /// the same drives.
    fn with_random_queue(mut self) -> SmallDrive {
        let rng = &mut Seed(self.phase).stream("queuing");
        self.link.queuing = random_queuing(rng, self.firmware.depth);
        self.firmware.priority = rng.draw_chance(50);
        let limits = [None, Some(Span::ZERO), Some(Span::from_millis(30)), Some(Span::from_millis(200))];
        self.firmware.recovery_limit = pick_one(rng, &limits);
        self.weak = if rng.draw_chance(30) { random_weak(rng) } else { Vec::new() };
        self
    }

    /// Adds a queue.
    pub fn with_queue(mut self, depth: u32, policy: Policy) -> SmallDrive {
        self.firmware.depth = depth;
        self.firmware.queue = Discipline::plain(policy);
        self
    }
}

/// A small drive with layers above it.
#[derive(Clone, Debug)]
pub struct SmallStack {
    pub drive: SmallDrive,
    /// The layers above it, the lowest first.
    pub layers: Vec<Layer>,
}

impl SmallStack {
    /// The device.
    pub fn build(&self) -> Box<dyn Device> {
        build_layers(&self.layers, &mut |number| Box::new(self.numbered_drive(u64::from(number)).drive()))
    }

    /// The drive with a number: equal except for its phase.
    fn numbered_drive(&self, drive: u64) -> SmallDrive {
        SmallDrive { phase: self.drive.phase.wrapping_add(drive << 61), ..self.drive.clone() }
    }

    /// The description of the stack.
    pub fn to_stack(&self) -> crate::stack::Stack {
        crate::stack::Stack { layers: self.layers.clone(), ..crate::stack::Stack::bare(self.drive.profile()) }
    }

    /// The client's view of the members.
    pub fn client_sight(&self) -> VolumeSight {
        let stack = self.to_stack();
        stack.array().map_or_else(VolumeSight::default, |spec| VolumeSight::new(&stack.volumes(), spec.lost))
    }
}

pub(super) fn pick_one<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn some_costs(rng: &mut Rng, below: u64) -> OverheadAfter {
    OverheadAfter { read: some_span(rng, below), write: some_span(rng, below) }
}

/// A span below `limit` nanoseconds, none at all in half of the cases.
fn some_span(rng: &mut Rng, limit: u64) -> Span {
    match rng.draw_chance(50) {
        true => Span::ZERO,
        false => Span::from_nanos(rng.below(limit)),
    }
}

/// Up to twelve holes in the first thousand or so slots.
fn random_holes(rng: &mut Rng) -> Vec<(u64, u64)> {
    let mut end = 0;
    let hole = |_| {
        let (first, length) = (end + rng.below(100), 1 + rng.below(5));
        end = first + length;
        (first, length)
    };
    (0..12).map(hole).collect()
}

/// Up to four of two hundred slots, rising.
fn random_slots(rng: &mut Rng, from: u64) -> Vec<u64> {
    let count = rng.below(5);
    let mut slots: Vec<u64> = (0..count).map(|_| from + rng.below(200)).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// Each of `bad` that holds a block, with a slot of a hole that it lives in.
fn into_holes(bad: &[u64], holes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let slots = || holes.iter().flat_map(|&(first, length)| first..first + length);
    bad.iter().copied().filter(|&slot| !slots().any(|hole| hole == slot)).zip(slots()).collect()
}

/// Any discipline.
pub fn random_discipline(rng: &mut Rng) -> Discipline {
    let policies = [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf];
    // From a stream of its own, which leaves the draws that follow as they are.
    let turns = &mut Seed(rng.clone().below(1 << 32)).stream("turns");
    Discipline {
        policy: pick_one(rng, &policies),
        window: pick_one(rng, &[0, 0, 0, 1, 3, 8]),
        nearest: pick_one(rng, &[0, 0, 0, 1, 3]),
        ageing: pick_one(rng, &[0, 0, 5, 50, 1000]),
        patience: pick_one(turns, &[0, 0, 1, 2]),
        round: pick_one(turns, &[0, 0, 1, 50, 100]),
        max_wait: pick_one(rng, &[None, None, Some(Span::from_millis(20)), Some(Span::from_millis(200))]),
    }
}

/// Settings of the caching mode page, from a stream of their own, which leaves the other draws as they are.
fn random_page(rng: &Rng) -> ReadAhead {
    let mut own = Seed(rng.clone().below(u64::MAX)).stream("caching page");
    ReadAhead {
        multiplied: own.draw_chance(20),
        ceiling: pick_one(&mut own, &[None, None, Some(24), Some(512)]),
        longest_read: pick_one(&mut own, &[None, None, Some(16)]),
        ..ReadAhead::NONE
    }
}

fn random_cache(rng: &mut Rng) -> CacheSpec {
    let segments = pick_one(rng, &[0, 1, 2, 3, 4, 16]);
    let segment_sectors = pick_one(rng, &[8, 32, 64, 256]);
    let max = pick_one(rng, &[0, 8, 40, 256, 1024]);
    let adapts = segments == 4 && segment_sectors >= 32;
    // From a stream of its own, as the caching page.
    let own_lengths = adapts && Seed(rng.clone().below(u64::MAX)).stream("own lengths").draw_chance(40);
    let cache = CacheSpec {
        segments,
        segment_sectors,
        read_ahead: ReadAhead {
            max,
            min: rng.below(u64::from(max.min(64)) + 1) as u32,
            after: pick_one(rng, &[1, 1, 2, 3]),
            until: pick_one(
                rng,
                &[ReadAheadEnd::Segment, ReadAheadEnd::Track, ReadAheadEnd::Cylinder, ReadAheadEnd::NextTrack],
            ),
            over_requested: rng.draw_chance(40),
            free_blocks: rng.draw_chance(30),
            hold: pick_one(
                rng,
                &[ReadAheadHold::Never, ReadAheadHold::Track, ReadAheadHold::Segment, ReadAheadHold::Stream],
            ),
            discards: rng.draw_chance(30),
            ..random_page(rng)
        },
        write_back: segments > 0 && rng.draw_chance(60),
        dirty_segments: if segments > 0 { 1 + rng.below(u64::from(segments)) as u32 } else { 0 },
        dirty_runs: if segments > 4 {
            pick_one(rng, &[None, Some(1), Some(5), Some(40)])
        } else {
            own_lengths.then_some(5)
        },
        fills_while_draining: rng.draw_chance(50),
        destage_idle: some_span(rng, 50_000_000),
        flash_sectors: 0,
        media_cache: None,
        destage_age: pick_one(rng, &[None, None, Some(Span::from_millis(5)), Some(Span::from_millis(500))]),
        wraps: rng.draw_chance(50),
        adaptive: adapts.then_some(AdaptiveDivision {
            sectors: 4 * segment_sectors,
            most: 8,
            dirty_percent: 60,
            own_lengths,
        }),
        ..random_written(rng)
    };
    let equal = !adapts && cache.dirty_runs.is_none();
    CacheSpec { writes_apart: cache.writes_apart && equal, ..cache }
}

/// Verified writes and turns of commands, from a stream of their own.
fn random_turns(rng: &Rng) -> Firmware {
    let mut own = Seed(rng.clone().below(u64::MAX)).stream("turns of commands");
    Firmware {
        write_verify: own.draw_chance(15),
        late_writes_percent: pick_one(&mut own, &[0, 0, 7, 100]),
        commands_percent: pick_one(&mut own, &[None, None, None, Some(0), Some(30), Some(100)]),
        revise: Span::from_micros(pick_one(&mut own, &[0, 0, 200, 5000])),
        ..SmallDrive::default().firmware
    }
}

/// The treatment of written blocks, from a stream of its own.
fn random_written(rng: &Rng) -> CacheSpec {
    let mut own = Seed(rng.clone().below(u64::MAX)).stream("written blocks");
    CacheSpec {
        written_hits: pick_one(
            &mut own,
            &[WrittenHits::Cached, WrittenHits::Cached, WrittenHits::None, WrittenHits::All],
        ),
        writes_apart: own.draw_chance(40),
        room_runs: pick_one(&mut own, &[1, 1, 2, 5]),
        ..CacheSpec::NONE
    }
}

/// A kind of queue that can be so deep.
fn random_queuing(rng: &mut Rng, depth: u32) -> Queuing {
    let kinds = [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi, Queuing::None];
    pick_one(rng, if depth > 1 { &kinds[..3] } else { &kinds })
}

/// Up to thirty weak places, some close together, among the first few thousand blocks.
fn random_weak(rng: &mut Rng) -> Vec<WeakBlocks> {
    let mut end = 0;
    let count = 1 + rng.below(30);
    let mut place = |_| {
        let (gap, sectors) = (pick_one(rng, &[0, 3, 40, 200]), 1 + rng.below(12) as u32);
        let weak = WeakBlocks { lba: end + rng.below(gap + 1), sectors, retries: rng.below(6) as u32 };
        end = weak.end();
        weak
    };
    (0..count).map(&mut place).filter(|weak| weak.end() <= 1_800).collect()
}

/// Any small drive. Defects only where the physical sector is the logical one.
pub fn random_profile(rng: &mut Rng) -> SmallDrive {
    let physical_sector = pick_one(rng, &[512, 512, 4096]);
    let heads = 1 + rng.below(4) as u32;
    let order = pick_one(rng, &[TrackOrder::Cylinder, TrackOrder::Serpentine(1), TrackOrder::Serpentine(5)]);
    let zones = pick_one(rng, &[[(20, 64), (31, 40)], [(1, 16), (90, 32)], [(40, 128), (7, 120)]]);
    let defects = physical_sector == 512 && rng.draw_chance(40);
    let depth = pick_one(rng, &[1, 1, 4, 32]);
    let (slips, bad) = if defects { (random_slots(rng, 0), random_slots(rng, 300)) } else { (Vec::new(), Vec::new()) };
    let holes = match rng.draw_chance(30) && physical_sector == 512 {
        true => random_holes(rng),
        false if defects => slips.into_iter().map(|slot| (slot, 1)).chain([(600, 8)]).collect(),
        false => Vec::new(),
    };
    SmallDrive {
        order,
        heads,
        zones: zones.to_vec(),
        remaps: into_holes(&bad, &holes),
        holes,
        millirpm: pick_one(rng, &[4_200_000, 5_400_000, 7_200_000, 10_000_000, 15_037_500]),
        head_switch: pick_one(rng, &[Span::ZERO, Span::from_micros(300), Span::from_micros(1100)]),
        write_settle: some_span(rng, 400_000),
        skew_margin: some_span(rng, 100_000),
        physical_sector,
        cut_sector: pick_one(rng, &[CutSector::Finished, CutSector::Old, CutSector::Unreadable]),
        cache: random_cache(rng),
        firmware: Firmware {
            depth,
            queue: random_discipline(rng),
            ahead: 0,
            destage: random_discipline(rng),
            dispatch: some_span(rng, 300_000),
            zero_latency: rng.draw_chance(40),
            priority: false,
            recovery_limit: None,
            ..random_turns(rng)
        },
        overhead: Overhead {
            read_hit: some_costs(rng, 200_000),
            read_miss: some_costs(rng, 300_000),
            write_hit: some_costs(rng, 200_000),
            write_miss: some_costs(rng, 300_000),
            flush: some_span(rng, 100_000),
            reselect: some_span(rng, 100_000),
            completion: some_span(rng, 100_000),
            write_completion: some_span(rng, 100_000),
        },
        link: Link {
            rate: pick_one(rng, &[30_000_000, 100_000_000, 300_000_000]),
            write_rate: pick_one(rng, &[5_000_000, 100_000_000, 300_000_000]),
            command: some_span(rng, 20_000),
            max_transfer: pick_one(rng, &[256, 2048]),
            buffer_full: pick_one(rng, &[0, 0, 50, 100]),
            fua: rng.draw_chance(60),
            queuing: Queuing::Scsi,
        },
        phase: rng.next_u64(),
        ..SmallDrive::default()
    }
    .with_random_queue()
}

fn random_controller(rng: &mut Rng) -> ControllerSpec {
    let depth = pick_one(rng, &[1, 2, 32]);
    let command = some_span(rng, 50_000);
    let rate = pick_one(rng, &[1_000_000, 20_000_000, 1_000_000_000]);
    let programmed = rng.draw_chance(30).then_some(ProgrammedIo { rate: 16_000_000, block: pick_one(rng, &[1, 16]) });
    // Drawn with the rate, so that other stacks stay as they are.
    let wake = if rate == 20_000_000 { command.times(2) } else { Span::ZERO };
    let coalesce = rng
        .draw_chance(30)
        .then(|| InterruptCoalescing { count: pick_one(rng, &[2, 8]), wait: some_span(rng, 2_000_000) });
    ControllerSpec { wake, programmed, coalesce, ..ControllerSpec::plain(depth, command, rate) }
}

fn random_processor(rng: &mut Rng) -> ProcessorSpec {
    ProcessorSpec {
        cores: pick_one(rng, &[1, 2]),
        issue: some_span(rng, 100_000),
        finish: some_span(rng, 100_000),
        interrupt: some_span(rng, 20_000),
        copy: 100_000_000,
        parity: 200_000_000,
    }
}

/// Any small drive below up to four layers.
pub fn random_stack(rng: &mut Rng) -> SmallStack {
    let drive = random_profile(rng);
    let resends = drive.link.queuing.is_ata();
    let layers = (0..rng.below(5)).map(|_| match rng.below(4) {
        0 => Layer::Identity,
        2 => Layer::Processor(random_processor(rng)),
        1 => Layer::Controller(random_controller(rng)),
        _ => Layer::Driver(random_driver(rng, resends)),
    });
    let mut layers: Vec<Layer> = layers.collect();
    // From a stream of its own: the seeds of older cases stand for the same stacks below it.
    let rng = &mut Seed(drive.phase).stream("accelerator");
    if rng.draw_chance(30) {
        let height = rng.below(layers.len() as u64 + 1) as usize;
        layers.insert(height, Layer::Accelerator(random_accelerator(rng)));
    }
    SmallStack { drive, layers }
}

/// The cable that the drives of an array may share below its bus.
fn random_cable(rng: &mut Rng) -> Option<Layer> {
    match rng.below(4) {
        0 => Some(Layer::Channel(2)),
        1 => Some(Layer::Scsi(ScsiSpec {
            rate: pick_one(rng, &[1_000_000, 20_000_000, 320_000_000]),
            command: some_span(rng, 50_000),
            reconnect: some_span(rng, 50_000),
            fair: rng.draw_chance(50),
        })),
        _ => None,
    }
}

/// An accelerator that keeps its promises, from a single page to more than a small drive holds.
fn random_accelerator(rng: &mut Rng) -> AcceleratorSpec {
    AcceleratorSpec {
        size: 4096 * pick_one(rng, &[1, 3, 16, 256, 4096]),
        hit: Span::from_nanos(1 + rng.below(20_000)),
        write_back: rng.draw_chance(80),
        drops_flushes: false,
        dirty_share: pick_one(rng, &[0, 100, 500, 1000]),
        dirty_age: pick_one(rng, &[Span::from_millis(3), Span::from_millis(200), Span::from_secs(5)]),
        idle: pick_one(rng, &[Span::ZERO, Span::from_millis(2), Span::from_millis(100)]),
        read_ahead: pick_one(rng, &[0, 16, 128]),
    }
}

/// A driver that keeps its promises, with time-outs only if a write may be sent again. Later settings are drawn from a
/// stream of their own, so that the seeds of older cases stand for the same plain drivers.
fn random_driver(rng: &mut Rng, resends: bool) -> DriverSpec {
    let capacity = pick_one(rng, &[1, 4, 128]);
    let depth = pick_one(rng, &[1, 2, 32]);
    let queue = random_discipline(rng);
    let max_transfer = pick_one(rng, &[8, 100, 1024]);
    let plain = DriverSpec::plain(capacity, depth, queue, max_transfer);
    let rng = &mut Seed(u64::from(capacity + depth + max_transfer) ^ rng.clone().next_u64()).stream("driver");
    if rng.draw_chance(30) {
        return plain;
    }
    let plug = Plug { commands: 4, wait: pick_one(rng, &[Span::from_micros(50), Span::from_millis(3)]) };
    DriverSpec {
        scheduler: match rng.below(3) {
            0 => plain.scheduler,
            1 => SchedulerSpec::Deadline(DeadlineSpec {
                read_expire: pick_one(rng, &[Span::from_millis(5), Span::from_millis(500)]),
                fifo_batch: pick_one(rng, &[1, 3, 16]),
                ..DeadlineSpec::LINUX
            }),
            _ => SchedulerSpec::Fair(FairSpec {
                max_budget: pick_one(rng, &[8, 200, 16_384]),
                timeout: pick_one(rng, &[Span::from_millis(5), Span::from_millis(125)]),
                sync_writes: rng.draw_chance(50),
                ..FairSpec::LINUX
            }),
        },
        merge: rng.draw_chance(70),
        merge_reads: rng.draw_chance(70),
        plug: rng.draw_chance(30).then_some(plug),
        write_through: pick_one(rng, &[ForcedWritePolicy::Fua, ForcedWritePolicy::Flush]),
        timeout: (resends && rng.draw_chance(30)).then_some(Span::from_secs(3)),
        retries: 1_000_000,
        // A flush that ends at once is not refused for its flags, as it would be by an ATA drive.
        flush: if resends { FlushPolicy::Forward } else { pick_one(rng, &[FlushPolicy::Forward, FlushPolicy::Cached]) },
        ..plain
    }
}

/// A random stack, or array, below more of the layers that go wrong together: drivers that merge, or divide what others
/// merged, accelerators, processors of two cores; half of the single drives have places that they cannot read.
pub fn random_tower(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    if rng.draw_chance(60) && stack.drive.firmware.depth > 1 {
        stack.drive.link.queuing = pick_one(rng, &[Queuing::Tcq, Queuing::Ncq]);
    }
    let resends = stack.drive.link.queuing.is_ata();
    // Drivers drawn for the other kind of queue.
    stack.layers.retain(|layer| !matches!(layer, Layer::Driver(_)));
    for _ in 0..2 + rng.below(3) {
        let layer = match rng.below(5) {
            0 | 1 => {
                let driver = random_driver(rng, resends);
                Layer::Driver(DriverSpec { merge: true, max_transfer: pick_one(rng, &[8, 8, 100, 1024]), ..driver })
            }
            2 | 3 => Layer::Accelerator(random_accelerator(rng)),
            _ => Layer::Processor(ProcessorSpec { cores: 2, ..random_processor(rng) }),
        };
        let height = rng.below(stack.layers.len() as u64 + 1) as usize;
        stack.layers.insert(height, layer);
    }
    match rng.draw_chance(50) {
        true => with_random_array(stack, rng),
        false => {
            if rng.draw_chance(50) {
                stack.drive.weak = random_weak(rng);
                stack.drive.firmware.recovery_limit = Some(Span::ZERO);
            }
            stack
        }
    }
}

/// Any small array of up to five drives, with as many layers below and above it; some with members lost that they can
/// spare.
pub fn random_array(rng: &mut Rng) -> SmallStack {
    let stack = random_stack(rng);
    with_random_array(stack, rng)
}

/// A write-intent bitmap of small regions and short periods, where an array can have one.
fn random_bitmap(spec: &ArraySpec, rng: &mut Rng) -> Option<BitmapSpec> {
    let redundant = spec.shares.len() == 1 && !matches!(spec.shares[0].level, RaidLevel::Raid0 | RaidLevel::Linear);
    let chunk = pick_one(rng, &[None, Some(8), Some(64), Some(1024)]);
    let delay = Span::from_millis(pick_one(rng, &[1, 20, 300]));
    (redundant && rng.draw_chance(40)).then_some(BitmapSpec { chunk, delay })
}

/// The stack with any array somewhere in it.
pub(super) fn with_random_array(mut stack: SmallStack, rng: &mut Rng) -> SmallStack {
    // Which of two members fails to read decides what is recovered; errors of whole commands have tests of their own.
    stack.drive.firmware.recovery_limit = None;
    let level =
        pick_one(rng, &[RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6]);
    let members = match level {
        RaidLevel::Raid10 => 4,
        _ => level.least_members() + rng.below(2) as u32,
    };
    let half = match level {
        RaidLevel::Raid0 => RaidLevel::Raid1,
        _ => RaidLevel::Raid0,
    };
    let shares = match rng.draw_chance(20) {
        true => alloc::vec![VolumeShare { level, permille: 400 }, VolumeShare { level: half, permille: 600 }],
        false => alloc::vec![VolumeShare { level, permille: 1000 }],
    };
    let spare = shares.len() == 1 && level != RaidLevel::Raid0 && rng.draw_chance(40);
    let mut spec = ArraySpec {
        members,
        shares,
        chunk: pick_one(rng, &[8, 16, 64]),
        depth: pick_one(rng, &[1, 4, 32]),
        queue: Discipline { policy: pick_one(rng, &[Policy::Fcfs, Policy::CLook]), ..Discipline::plain(Policy::Fcfs) },
        balance: pick_one(rng, &[ReadBalance::Nearest, ReadBalance::RoundRobin, ReadBalance::First]),
        parity: pick_one(rng, &[ParityWrite::Fewest, ParityWrite::Modify, ParityWrite::Reconstruct]),
        rebuild_rate: 100_000_000,
        rebuild_run: 128,
        lost: if spare { 1 << rng.below(u64::from(members)) } else { 0 },
        bitmap: None,
    };
    let bus = pick_one(rng, &[None, Some(2_000_000), Some(100_000_000)]).map(Layer::Bus);
    // From a stream of its own, as the accelerator's.
    let later = &mut Seed(stack.drive.phase).stream("cable");
    let cable = random_cable(later);
    if later.draw_chance(40) {
        spec.shares
            .iter_mut()
            .filter(|share| share.level == RaidLevel::Raid0)
            .for_each(|share| share.level = RaidLevel::Linear);
    }
    spec.bitmap = random_bitmap(&spec, &mut Seed(stack.drive.phase).stream("bitmap"));
    let height = rng.below(stack.layers.len() as u64 + 1) as usize;
    stack.layers.splice(height..height, cable.into_iter().chain(bus).chain([Layer::Array(spec)]));
    stack
}
