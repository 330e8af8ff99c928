//! Small drives for tests: with chosen settings, or with random ones below random layers. A small drive differs from a real
//! one in its size alone, so that tests reach every part of it.
//!
//! Settings that came later are drawn from streams of their own: a seed of an older case then still stands for its drive.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::mirror_copies::BlockCopies;
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
use crate::host::array::{
    ArraySpec, BesideUsers, BitmapSpec, ParityWrite, ReadBalance, SyncPieces, SyncPolicy, SyncSpeed,
};
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

    /// The layout of blocks on tracks.
    pub fn geometry(&self) -> Result<Geometry, LayoutError> {
        let mut zones = Vec::new();
        let mut first_cylinder = 0;
        for &(cylinders, track_slots) in &self.zones {
            let slots_of_heads = alloc::vec![track_slots; self.heads as usize];
            zones.extend(Zone::lay(first_cylinder, cylinders, self.order, &slots_of_heads, self.skews()));
            first_cylinder += cylinders;
        }
        let slots: u64 = zones.iter().map(Zone::slots).sum();
        let hole_slots: u64 = self.holes.iter().map(|&(_, length)| length).sum();
        Geometry::new(slots - hole_slots, &zones, &self.holes, &self.remaps)
    }

    /// The arm and the spindle.
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

    /// Adds any kind of queue, and weak blocks.
    fn with_random_queue(mut self) -> SmallDrive {
        let rng = &mut Seed(self.phase).stream("queuing");
        self.link.queuing = random_queuing(rng, self.firmware.depth);
        self.firmware.priority = rng.draw_chance(50);
        let recovery_limits = [None, Some(Span::ZERO), Some(Span::from_millis(30)), Some(Span::from_millis(200))];
        self.firmware.recovery_limit = pick_one(rng, &recovery_limits);
        self.weak = if rng.draw_chance(30) { random_weak_blocks(rng) } else { Vec::new() };
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

    /// The drive with this number in the stack. All are equal except for their phases.
    fn numbered_drive(&self, drive_number: u64) -> SmallDrive {
        SmallDrive { phase: self.drive.phase.wrapping_add(drive_number << 61), ..self.drive.clone() }
    }

    /// The description of the stack.
    pub fn to_stack(&self) -> crate::stack::Stack {
        crate::stack::Stack { layers: self.layers.clone(), ..crate::stack::Stack::bare(self.drive.profile()) }
    }

    /// The copies of the blocks of its array.
    pub fn block_copies(&self) -> BlockCopies {
        let stack = self.to_stack();
        stack.array().map_or_else(BlockCopies::default, |spec| BlockCopies::new(&stack.volumes(), spec.lost))
    }
}

/// Returns one of `choices`, all equally likely.
pub(super) fn pick_one<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn random_overhead(rng: &mut Rng, limit_ns: u64) -> OverheadAfter {
    OverheadAfter { read: random_span(rng, limit_ns), write: random_span(rng, limit_ns) }
}

/// A span below `limit_ns`; zero in half of the cases.
fn random_span(rng: &mut Rng, limit_ns: u64) -> Span {
    match rng.draw_chance(50) {
        true => Span::ZERO,
        false => Span::from_nanos(rng.below(limit_ns)),
    }
}

/// Twelve holes in the first thousand or so slots: the first slot and the length of each.
fn random_holes(rng: &mut Rng) -> Vec<(u64, u64)> {
    let mut end = 0;
    let next_hole = |_| {
        let (first, length) = (end + rng.below(100), 1 + rng.below(5));
        end = first + length;
        (first, length)
    };
    (0..12).map(next_hole).collect()
}

/// Up to four of the two hundred slots from `first` on, in order.
fn random_bad_slots(rng: &mut Rng, first: u64) -> Vec<u64> {
    let count = rng.below(5);
    let mut slots: Vec<u64> = (0..count).map(|_| first + rng.below(200)).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// Pairs of a bad slot that holds a block, and a slot of a hole to which the block moves.
fn remaps_into_holes(bad_slots: &[u64], holes: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let hole_slots = || holes.iter().flat_map(|&(first, length)| first..first + length);
    let with_block = bad_slots.iter().copied().filter(|&slot| !hole_slots().any(|in_hole| in_hole == slot));
    with_block.zip(hole_slots()).collect()
}

/// Any discipline.
pub fn random_discipline(rng: &mut Rng) -> Discipline {
    let policies = [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf];
    let turns_rng = &mut Seed(rng.clone().below(1 << 32)).stream("turns");
    let sample = pick_one(&mut Seed(rng.clone().below(1 << 32)).stream("sample"), &[0, 0, 1, 3, 12]);
    let ageing_after =
        Span::from_millis(pick_one(&mut Seed(rng.clone().below(1 << 32)).stream("ageing"), &[0, 0, 10, 100]));
    let (policy, window) = (pick_one(rng, &policies), pick_one(rng, &[0, 0, 0, 1, 3, 8]));
    let nearest = pick_one(rng, &[0, 0, 0, 1, 3]);
    Discipline {
        policy,
        window,
        nearest,
        sample: if nearest == 0 { sample } else { 0 },
        ageing: pick_one(rng, &[0, 0, 5, 50, 1000]),
        ageing_after,
        patience: pick_one(turns_rng, &[0, 0, 1, 2]),
        round: pick_one(turns_rng, &[0, 0, 1, 50, 100]),
        max_wait: pick_one(rng, &[None, None, Some(Span::from_millis(20)), Some(Span::from_millis(200))]),
    }
}

/// Settings of SCSI's caching mode page.
fn random_caching_page(rng: &Rng) -> ReadAhead {
    let mut own_rng = Seed(rng.clone().below(u64::MAX)).stream("caching page");
    ReadAhead {
        multiplied: own_rng.draw_chance(20),
        ceiling: pick_one(&mut own_rng, &[None, None, Some(24), Some(512)]),
        longest_read: pick_one(&mut own_rng, &[None, None, Some(16)]),
        ..ReadAhead::NONE
    }
}

fn random_cache(rng: &mut Rng) -> CacheSpec {
    let segments = pick_one(rng, &[0, 1, 2, 3, 4, 16]);
    let segment_sectors = pick_one(rng, &[8, 32, 64, 256]);
    let max = pick_one(rng, &[0, 8, 40, 256, 1024]);
    let adapts = segments == 4 && segment_sectors >= 32;
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
            ..random_caching_page(rng)
        },
        write_back: segments > 0 && rng.draw_chance(60),
        dirty_segments: if segments > 0 { 1 + rng.below(u64::from(segments)) as u32 } else { 0 },
        dirty_runs: if segments > 4 {
            pick_one(rng, &[None, Some(1), Some(5), Some(40)])
        } else {
            own_lengths.then_some(5)
        },
        fills_while_draining: rng.draw_chance(50),
        destage_idle: random_span(rng, 50_000_000),
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
        ..random_written_blocks(rng)
    };
    let has_equal_segments = !adapts && cache.dirty_runs.is_none();
    CacheSpec { writes_apart: cache.writes_apart && has_equal_segments, ..cache }
}

/// The settings of verified writes and of the turns of commands.
fn random_command_turns(rng: &Rng) -> Firmware {
    let mut own_rng = Seed(rng.clone().below(u64::MAX)).stream("turns of commands");
    Firmware {
        write_verify: own_rng.draw_chance(15),
        late_writes_percent: pick_one(&mut own_rng, &[0, 0, 7, 100]),
        commands_percent: pick_one(&mut own_rng, &[None, None, None, Some(0), Some(30), Some(100)]),
        revise: Span::from_micros(pick_one(&mut own_rng, &[0, 0, 200, 5000])),
        ..SmallDrive::default().firmware
    }
}

/// The settings of written blocks in the buffer.
fn random_written_blocks(rng: &Rng) -> CacheSpec {
    let mut own_rng = Seed(rng.clone().below(u64::MAX)).stream("written blocks");
    CacheSpec {
        written_hits: pick_one(
            &mut own_rng,
            &[WrittenHits::Cached, WrittenHits::Cached, WrittenHits::None, WrittenHits::All],
        ),
        writes_apart: own_rng.draw_chance(40),
        room_runs: pick_one(&mut own_rng, &[1, 1, 2, 5]),
        ..CacheSpec::NONE
    }
}

/// A kind of queue that can have this depth.
fn random_queuing(rng: &mut Rng, depth: u32) -> Queuing {
    let kinds = [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi, Queuing::None];
    pick_one(rng, if depth > 1 { &kinds[..3] } else { &kinds })
}

/// Up to thirty runs of weak blocks, some close together, among the first 1,800 blocks.
fn random_weak_blocks(rng: &mut Rng) -> Vec<WeakBlocks> {
    let mut end = 0;
    let count = 1 + rng.below(30);
    let mut next_run = |_| {
        let (gap, sectors) = (pick_one(rng, &[0, 3, 40, 200]), 1 + rng.below(12) as u32);
        let weak = WeakBlocks { lba: end + rng.below(gap + 1), sectors, retries: rng.below(6) as u32 };
        end = weak.end();
        weak
    };
    (0..count).map(&mut next_run).filter(|weak| weak.end() <= 1_800).collect()
}

/// Any small drive. Defects only where the physical sector is the logical one.
pub fn random_profile(rng: &mut Rng) -> SmallDrive {
    let physical_sector = pick_one(rng, &[512, 512, 4096]);
    let heads = 1 + rng.below(4) as u32;
    let order = pick_one(rng, &[TrackOrder::Cylinder, TrackOrder::Serpentine(1), TrackOrder::Serpentine(5)]);
    let zones = pick_one(rng, &[[(20, 64), (31, 40)], [(1, 16), (90, 32)], [(40, 128), (7, 120)]]);
    let defects = physical_sector == 512 && rng.draw_chance(40);
    let depth = pick_one(rng, &[1, 1, 4, 32]);
    let (slipped, remapped) = match defects {
        true => (random_bad_slots(rng, 0), random_bad_slots(rng, 300)),
        false => (Vec::new(), Vec::new()),
    };
    let holes = match rng.draw_chance(30) && physical_sector == 512 {
        true => random_holes(rng),
        false if defects => slipped.into_iter().map(|slot| (slot, 1)).chain([(600, 8)]).collect(),
        false => Vec::new(),
    };
    SmallDrive {
        order,
        heads,
        zones: zones.to_vec(),
        remaps: remaps_into_holes(&remapped, &holes),
        holes,
        millirpm: pick_one(rng, &[4_200_000, 5_400_000, 7_200_000, 10_000_000, 15_037_500]),
        head_switch: pick_one(rng, &[Span::ZERO, Span::from_micros(300), Span::from_micros(1100)]),
        write_settle: random_span(rng, 400_000),
        skew_margin: random_span(rng, 100_000),
        physical_sector,
        cut_sector: pick_one(rng, &[CutSector::Finished, CutSector::Old, CutSector::Unreadable]),
        cache: random_cache(rng),
        firmware: Firmware {
            depth,
            queue: random_discipline(rng),
            ahead: 0,
            destage: random_discipline(rng),
            dispatch: random_span(rng, 300_000),
            zero_latency: rng.draw_chance(40),
            priority: false,
            recovery_limit: None,
            ..random_command_turns(rng)
        },
        overhead: Overhead {
            read_hit: random_overhead(rng, 200_000),
            read_miss: random_overhead(rng, 300_000),
            write_hit: random_overhead(rng, 200_000),
            write_miss: random_overhead(rng, 300_000),
            flush: random_span(rng, 100_000),
            reselect: random_span(rng, 100_000),
            completion: random_span(rng, 100_000),
            write_completion: random_span(rng, 100_000),
        },
        link: Link {
            rate: pick_one(rng, &[30_000_000, 100_000_000, 300_000_000]),
            write_rate: pick_one(rng, &[5_000_000, 100_000_000, 300_000_000]),
            command: random_span(rng, 20_000),
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
    let command = random_span(rng, 50_000);
    let rate = pick_one(rng, &[1_000_000, 20_000_000, 1_000_000_000]);
    let programmed = rng.draw_chance(30).then_some(ProgrammedIo { rate: 16_000_000, block: pick_one(rng, &[1, 16]) });
    // Given by the rate, so that an older seed still stands for its stack.
    let wake = if rate == 20_000_000 { command.times(2) } else { Span::ZERO };
    let coalesce = rng
        .draw_chance(30)
        .then(|| InterruptCoalescing { count: pick_one(rng, &[2, 8]), wait: random_span(rng, 2_000_000) });
    ControllerSpec { wake, programmed, coalesce, ..ControllerSpec::plain(depth, command, rate) }
}

fn random_processor(rng: &mut Rng) -> ProcessorSpec {
    ProcessorSpec {
        cores: pick_one(rng, &[1, 2]),
        issue: random_span(rng, 100_000),
        finish: random_span(rng, 100_000),
        interrupt: random_span(rng, 20_000),
        copy: 100_000_000,
        parity: 200_000_000,
    }
}

/// Any small drive below up to four layers.
pub fn random_stack(rng: &mut Rng) -> SmallStack {
    let drive = random_profile(rng);
    let may_resend = drive.link.queuing.is_ata();
    let layers = (0..rng.below(5)).map(|_| match rng.below(4) {
        0 => Layer::Identity,
        2 => Layer::Processor(random_processor(rng)),
        1 => Layer::Controller(random_controller(rng)),
        _ => Layer::Driver(random_driver(rng, may_resend)),
    });
    let mut layers: Vec<Layer> = layers.collect();
    let accelerator_rng = &mut Seed(drive.phase).stream("accelerator");
    if accelerator_rng.draw_chance(30) {
        let index = accelerator_rng.below(layers.len() as u64 + 1) as usize;
        layers.insert(index, Layer::Accelerator(random_accelerator(accelerator_rng)));
    }
    SmallStack { drive, layers }
}

/// The cable that the drives of an array may share below its bus.
fn random_cable(rng: &mut Rng) -> Option<Layer> {
    match rng.below(4) {
        0 => Some(Layer::Channel(2)),
        1 => Some(Layer::Scsi(ScsiSpec {
            rate: pick_one(rng, &[1_000_000, 20_000_000, 320_000_000]),
            command: random_span(rng, 50_000),
            reconnect: random_span(rng, 50_000),
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

/// A driver that keeps its promises. `may_resend`: the drive's queue is ATA's, so that a command may time out and be sent
/// again.
fn random_driver(rng: &mut Rng, may_resend: bool) -> DriverSpec {
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
        write_through: pick_one(rng, &[ForcedWritePolicy::Fua, ForcedWritePolicy::Flush, ForcedWritePolicy::FuaOnScsi]),
        timeout: (may_resend && rng.draw_chance(30)).then_some(Span::from_secs(3)),
        retries: 1_000_000,
        // A flush that the driver ends at once is not refused for its flags, as an ATA drive would.
        flush: if may_resend {
            FlushPolicy::Forward
        } else {
            pick_one(rng, &[FlushPolicy::Forward, FlushPolicy::Cached])
        },
        share_flushes: rng.draw_chance(50),
        ..plain
    }
}

/// A random stack, or array, with two to four more of the layers that are prone to errors together: drivers that merge, or
/// divide merged requests, accelerators, and processors of two cores. Half of the single drives have unreadable blocks.
pub fn random_tall_stack(rng: &mut Rng) -> SmallStack {
    let mut stack = random_stack(rng);
    if rng.draw_chance(60) && stack.drive.firmware.depth > 1 {
        stack.drive.link.queuing = pick_one(rng, &[Queuing::Tcq, Queuing::Ncq]);
    }
    let may_resend = stack.drive.link.queuing.is_ata();
    // These drivers were drawn for another kind of queue.
    stack.layers.retain(|layer| !matches!(layer, Layer::Driver(_)));
    for _ in 0..2 + rng.below(3) {
        let layer = match rng.below(5) {
            0 | 1 => {
                let driver = random_driver(rng, may_resend);
                Layer::Driver(DriverSpec { merge: true, max_transfer: pick_one(rng, &[8, 8, 100, 1024]), ..driver })
            }
            2 | 3 => Layer::Accelerator(random_accelerator(rng)),
            _ => Layer::Processor(ProcessorSpec { cores: 2, ..random_processor(rng) }),
        };
        let index = rng.below(stack.layers.len() as u64 + 1) as usize;
        stack.layers.insert(index, layer);
    }
    match rng.draw_chance(50) {
        true => with_random_array(stack, rng),
        false => {
            if rng.draw_chance(50) {
                stack.drive.weak = random_weak_blocks(rng);
                stack.drive.firmware.recovery_limit = Some(Span::ZERO);
            }
            stack
        }
    }
}

/// Any small array of up to five drives, with random layers below and above it. Some have lost a member that they can
/// spare.
pub fn random_array(rng: &mut Rng) -> SmallStack {
    let stack = random_stack(rng);
    with_random_array(stack, rng)
}

/// A write-intent bitmap of small regions and short periods, where an array can have one.
fn random_bitmap(spec: &ArraySpec, rng: &mut Rng) -> Option<BitmapSpec> {
    let is_redundant = spec.shares.len() == 1 && !matches!(spec.shares[0].level, RaidLevel::Raid0 | RaidLevel::Linear);
    let chunk = pick_one(rng, &[None, Some(8), Some(64), Some(1024)]);
    let delay = Span::from_millis(pick_one(rng, &[1, 20, 300]));
    (is_redundant && rng.draw_chance(40)).then_some(BitmapSpec { chunk, delay })
}

/// md's policy of rebuilds and checks, or any other one.
pub fn random_sync_policy(rng: &mut Rng) -> SyncPolicy {
    let pieces = SyncPieces {
        sectors: pick_one(rng, &[8, 24, 64, 2048]),
        in_flight: pick_one(rng, &[1, 2, 16]),
        beside_users: pick_one(rng, &[BesideUsers::GoOn, BesideUsers::Wait, BesideUsers::Credit]),
        group: pick_one(rng, &[0, 8, 64, 512]),
        as_files: rng.draw_chance(30),
    };
    if rng.draw_chance(50) { SyncPolicy::Md } else { SyncPolicy::Pieces(pieces) }
}

/// Adds any array to the stack, at a random height.
pub(super) fn with_random_array(mut stack: SmallStack, rng: &mut Rng) -> SmallStack {
    // With limited recovery, results would depend on which of two members fails to read first. Tests of errors use arrays
    // with fixed settings.
    stack.drive.firmware.recovery_limit = None;
    let level =
        pick_one(rng, &[RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6]);
    let members = match level {
        RaidLevel::Raid10 => 4,
        _ => level.least_members() + rng.below(2) as u32,
    };
    let other_level = match level {
        RaidLevel::Raid0 => RaidLevel::Raid1,
        _ => RaidLevel::Raid0,
    };
    let shares = match rng.draw_chance(20) {
        true => alloc::vec![VolumeShare { level, permille: 400 }, VolumeShare { level: other_level, permille: 600 }],
        false => alloc::vec![VolumeShare { level, permille: 1000 }],
    };
    let loses_member = shares.len() == 1 && level != RaidLevel::Raid0 && rng.draw_chance(40);
    let mut spec = ArraySpec {
        members,
        shares,
        chunk: pick_one(rng, &[8, 16, 64]),
        depth: pick_one(rng, &[1, 4, 32]),
        queue: Discipline { policy: pick_one(rng, &[Policy::Fcfs, Policy::CLook]), ..Discipline::plain(Policy::Fcfs) },
        balance: pick_one(rng, &[ReadBalance::Nearest, ReadBalance::Idle, ReadBalance::RoundRobin, ReadBalance::First]),
        parity: pick_one(rng, &[ParityWrite::Fewest, ParityWrite::Modify, ParityWrite::Reconstruct]),
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: if loses_member { 1 << rng.below(u64::from(members)) } else { 0 },
        bitmap: None,
    };
    let bus = pick_one(rng, &[None, Some(2_000_000), Some(100_000_000)]).map(Layer::Bus);
    let cable_rng = &mut Seed(stack.drive.phase).stream("cable");
    let cable = random_cable(cable_rng);
    if cable_rng.draw_chance(40) {
        spec.shares
            .iter_mut()
            .filter(|share| share.level == RaidLevel::Raid0)
            .for_each(|share| share.level = RaidLevel::Linear);
    }
    spec.sync_policy = random_sync_policy(&mut Seed(stack.drive.phase).stream("sync policy"));
    spec.bitmap = random_bitmap(&spec, &mut Seed(stack.drive.phase).stream("bitmap"));
    let index = rng.below(stack.layers.len() as u64 + 1) as usize;
    stack.layers.splice(index..index, cable.into_iter().chain(bus).chain([Layer::Array(spec)]));
    stack
}
