//! The contract of devices, checked on every kind of device and on random stacks. Canaries show that the check works: each is
//! a device that breaks one rule, and must be caught by it.
//!
//! This command checks more random stacks and arrays, from seeds never drawn before:
//!
//! ```text
//! SEEKWISE_CONFORMANCE_SEEDS=10000 SEEKWISE_CONFORMANCE_FIRST=20000 cargo test -p seekwise-disk --test whole conformance::random
//! ```

use std::cell::Cell;
use std::collections::VecDeque;

use seekwise_disk::block::{
    Completion, Control, ControlError, CutSector, Device, Flags, Landing, LandingKind, Limits, Op, Queuing, Request,
    Status,
};
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::flash::{Flash, FlashSpec};
use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::host::controller::ControllerSpec;
use seekwise_disk::host::driver::DriverSpec;
use seekwise_disk::host::identity::IdentityLayer;
use seekwise_disk::host::mixed_devices::MixedDevices;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::{DriveLog, Effort, Part, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{
    Layer, SmallDrive, SmallStack, check_array_conformance, check_conformance, random_array, random_stack,
    random_tall_stack,
};
use seekwise_disk::time::{Instant, Span};

/// Checks the contract on a stack without an array, by scripts of each seed.
fn check_stack(name: &str, stack: &SmallStack, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(violation) = check_conformance(&|| stack.build(), stack.drive.cut_sector, seed) {
            panic!("{name}, seed {seed}: {violation:?}\n{stack:?}");
        }
    }
}

fn bare_stack(drive: SmallDrive) -> SmallStack {
    SmallStack { drive, layers: vec![] }
}

fn write_back_drive() -> SmallDrive {
    SmallDrive::default().with_buffer(4, 64).with_write_back(2).with_queue(8, Policy::Sptf)
}

fn drive_with_queuing(queuing: Queuing) -> SmallDrive {
    let mut drive = write_back_drive();
    drive.link.queuing = queuing;
    drive
}

const CONTROLLER: Layer = Layer::Controller(ControllerSpec::plain(4, Span::from_micros(30), 20_000_000));
const ACCELERATOR: AcceleratorSpec = AcceleratorSpec {
    size: 256 * 1024,
    hit: Span::from_micros(2),
    write_back: true,
    drops_flushes: false,
    dirty_share: 500,
    dirty_age: Span::from_millis(500),
    idle: Span::from_millis(10),
    read_ahead: 64,
};
const DRIVER: Layer = Layer::Driver(DriverSpec::plain(64, 4, Discipline::plain(Policy::CLook), 40));

#[test]
fn a_plain_drive_keeps_the_contract() {
    check_stack("plain", &bare_stack(SmallDrive::default()), 0..10);
}

#[test]
fn a_queueing_drive_keeps_the_contract() {
    for policy in [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf] {
        check_stack("queue", &bare_stack(SmallDrive::default().with_buffer(2, 32).with_queue(32, policy)), 0..5);
    }
}

#[test]
fn a_write_back_drive_keeps_the_contract() {
    check_stack("write-back", &bare_stack(write_back_drive()), 0..20);
}

#[test]
fn layers_keep_the_contract() {
    let layered = |layers| SmallStack { drive: write_back_drive(), layers };
    check_stack("identity", &layered(vec![Layer::Identity]), 0..5);
    check_stack("controller", &layered(vec![CONTROLLER]), 0..10);
    check_stack("driver", &layered(vec![DRIVER]), 0..10);
    check_stack("all", &layered(vec![Layer::Identity, CONTROLLER, CONTROLLER, DRIVER]), 0..10);
}

/// Accelerators of one page, of some, and of all pages that a script uses; above drives with and without a cache, alone and
/// among layers.
#[test]
fn an_accelerator_keeps_the_contract() {
    for size in [4096, 64 * 1024, 16 << 20] {
        for write_back in [true, false] {
            let layer = || Layer::Accelerator(AcceleratorSpec { size, write_back, ..ACCELERATOR });
            check_stack("plain", &SmallStack { drive: SmallDrive::default(), layers: vec![layer()] }, 0..10);
            check_stack("cached", &SmallStack { drive: write_back_drive(), layers: vec![layer()] }, 0..10);
            check_stack(
                "driven",
                &SmallStack { drive: drive_with_queuing(Queuing::Ncq), layers: vec![DRIVER, layer()] },
                0..10,
            );
            check_stack(
                "twice",
                &SmallStack { drive: write_back_drive(), layers: vec![layer(), DRIVER, layer()] },
                0..5,
            );
        }
    }
}

#[test]
fn each_kind_of_queue_keeps_the_contract_with_weak_places() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let mut drive = drive_with_queuing(kind);
        drive.weak = (0..40)
            .map(|index| WeakBlocks { lba: index * 200 + 7, sectors: 3, retries: 1 + index as u32 % 4 })
            .collect();
        drive.firmware.recovery_limit = Some(Span::from_millis(20));
        check_stack("bare", &bare_stack(drive.clone()), 0..10);
        check_stack("driven", &SmallStack { drive: drive.clone(), layers: vec![DRIVER] }, 0..10);
        check_stack("among layers", &SmallStack { drive, layers: vec![CONTROLLER, DRIVER, DRIVER] }, 0..10);
    }
}

/// A flash stick whose reads and writes are slow enough for cuts, aborts and other requests to overlap them.
const STICK: FlashSpec = FlashSpec {
    sectors: 9_000,
    largest: 128,
    read: Span::from_micros(700),
    write: Span::from_millis(3),
    read_rate: 16_000_000,
    write_rate: 8_000_000,
};

#[test]
fn a_flash_stick_keeps_the_contract() {
    for seed in 0..20 {
        check_conformance(&|| Box::new(Flash::new(STICK)), CutSector::Old, seed).expect("keeps the contract");
    }
}

/// A unit of several devices, as a device.
struct Unit {
    devices: Box<dyn Device>,
    unit: u8,
    /// The first block of the unit among those of all devices.
    first: u64,
}

impl Device for Unit {
    fn limits(&self, _: u8) -> Limits {
        self.devices.limits(self.unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let lba = request.lba + self.first;
        self.devices.submit(now, Request { unit: self.unit, lba, ..request }).map_err(|_| request)
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.devices.control(now, control)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.devices.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.devices.handle_timeout(now);
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        self.devices.poll_completion()
    }
    fn drive_log(&self) -> DriveLog {
        self.devices.drive_log()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        let landing = self.devices.poll_landing()?;
        assert_eq!(landing.member, u32::from(self.unit), "a landing of another unit");
        Some(Landing { lba: landing.lba - self.first, ..landing })
    }
    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.devices.report_unsettled(tell);
    }
}

/// Each unit is a device of its own: a drive, a stick, another drive. Each keeps the contract alone and below a layer.
#[test]
fn devices_beside_one_another_keep_the_contract() {
    let drive = || -> (Box<dyn Device>, u32) { (Box::new(write_back_drive().drive()), 1) };
    let stick = || -> (Box<dyn Device>, u32) { (Box::new(Flash::new(STICK)), 1) };
    let sectors = write_back_drive().drive().limits(0).sectors;
    for (unit, first, cut_sector) in [
        (0, 0, write_back_drive().cut_sector),
        (1, sectors, CutSector::Old),
        (2, sectors + STICK.sectors, write_back_drive().cut_sector),
    ] {
        let devices = || MixedDevices::build_above(vec![drive(), stick(), drive()]);
        for seed in 0..15 {
            let alone = || -> Box<dyn Device> { Box::new(Unit { devices: Box::new(devices()), unit, first }) };
            check_conformance(&alone, cut_sector, seed).unwrap_or_else(|wrong| panic!("unit {unit}: {wrong:?}"));
            let below = || -> Box<dyn Device> {
                Box::new(Unit { devices: Box::new(IdentityLayer::build_above(Box::new(devices()))), unit, first })
            };
            check_conformance(&below, cut_sector, seed).unwrap_or_else(|wrong| panic!("unit {unit}, below: {wrong:?}"));
        }
    }
}

#[test]
fn random_stacks_keep_the_contract() {
    check_seeds(300, |seed| {
        let stack = random_stack(&mut Seed(seed).stream("stack"));
        check_stack("random stack", &stack, seed..seed + 1);
    });
}

/// In the other two tests a seed in a thousand had broken the contract: where merging drivers, accelerators and queues
/// that abort stood together. In tall stacks they do so more often: seven of these 400 seeds have found errors.
#[test]
fn random_tall_stacks_keep_the_contract() {
    check_seeds(400, |seed| check_array_stack(&random_tall_stack(&mut Seed(seed).stream("tower")), seed));
}

/// Checks the first `count` seeds, or those that the environment names. Fails at the end, with all seeds that failed.
fn check_seeds(count: u64, check_seed: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let variable = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let first = variable("SEEKWISE_CONFORMANCE_FIRST").unwrap_or(0);
    let seeds = first..first + variable("SEEKWISE_CONFORMANCE_SEEDS").unwrap_or(count);
    let fails = |seed: &u64| std::panic::catch_unwind(|| check_seed(*seed)).is_err();
    let failed: Vec<u64> = seeds.filter(fails).collect();
    assert!(failed.is_empty(), "seeds {failed:?}, each with its reason above");
}

/// How a canary breaks the contract.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// Rule 1: a completion is handed out only at the next call.
    DelaysCompletions,
    /// Rule 1: the next timeout is now.
    TimesOutNow,
    /// Rule 1: the acceptance of a request names no next timeout.
    NamesNoTimeout,
    /// Rule 2: a completion is dated by the call that finds it.
    DatesByCall,
    /// Rule 3: one completion in five is lost.
    LosesCompletions,
    /// Rule 3: the first request is refused though nothing is in flight.
    RefusesFirst,
    /// Rule 4: a flush is acknowledged at once.
    SkipsFlush,
    /// Rule 5: landings name the next sector.
    ShiftsLandings,
    /// Rule 5: landings above an array have the sectors of the members as blocks.
    KeepsMemberSectors,
    /// Rule 5: an array's numbers fall.
    ReversesNumbers,
    /// Rule 5: a write with forced unit access goes into the cache.
    DropsFua,
    /// Rule 6: all that a cut discards is torn.
    TearsDiscarded,
    /// Rule 3: every seventh answer is an abort that nobody requested.
    AbortsSome,
    /// Rule 3: an ATA queue accepts requests with an order, and drops the order.
    IgnoresOrders,
    /// Rule 3: a write fails like a read.
    FailsWrites,
    /// Rule 7: a part of the response is a nanosecond too long.
    PadsQueueTime,
}

/// A device that passes everything on, except that it breaks one rule.
struct Canary {
    lie: Lie,
    below: Box<dyn Device>,
    now: Instant,
    /// Completions so far.
    completions: u32,
    last_write_tag: u32,
    /// Completions for the next call.
    delayed: Vec<Completion>,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
}

impl Canary {
    fn build_above(lie: Lie, below: Box<dyn Device>) -> Box<dyn Device> {
        let (delayed, ready, landings) = Default::default();
        let (now, completions, last_write_tag) = (Instant::ZERO, 0, u32::MAX);
        Box::new(Canary { lie, below, now, completions, last_write_tag, delayed, ready, landings })
    }

    /// Takes the completions from below, and falsifies some.
    fn collect_completions(&mut self, now: Instant) {
        self.now = now;
        self.ready.extend(self.delayed.drain(..));
        while let Some(mut completion) = self.below.poll_completion() {
            self.completions += 1;
            match self.lie {
                Lie::DelaysCompletions => {
                    self.delayed.push(completion);
                    continue;
                }
                Lie::LosesCompletions if self.completions.is_multiple_of(5) => continue,
                Lie::DatesByCall => {
                    completion.parts.add(Part::Link, now.since(completion.finished));
                    completion.finished = now;
                }
                Lie::AbortsSome if self.completions.is_multiple_of(7) => completion.status = Status::Aborted,
                Lie::FailsWrites if completion.tag == self.last_write_tag => completion.status = Status::MediumError,
                Lie::PadsQueueTime => completion.parts.add(Part::Queue, Span::from_nanos(1)),
                _ => {}
            }
            self.ready.push_back(completion);
        }
    }
}

impl Device for Canary {
    fn limits(&self, unit: u8) -> Limits {
        self.below.limits(unit)
    }

    fn submit(&mut self, now: Instant, mut request: Request) -> Result<Instant, Request> {
        match self.lie {
            Lie::RefusesFirst if self.completions == 0 => return Err(request),
            Lie::SkipsFlush if request.op == Op::Flush => {
                let Request { tag, .. } = request;
                let parts = Parts::default();
                self.ready.push_back(Completion {
                    tag,
                    status: Status::Done,
                    submitted: now,
                    finished: now,
                    parts,
                    effort: Effort::default(),
                });
                return Ok(now);
            }
            Lie::DropsFua => request.flags = Flags::NONE,
            Lie::IgnoresOrders if request.flags.has(Flags::FUA) => request.flags = Flags::FUA,
            Lie::IgnoresOrders => request.flags = Flags::NONE,
            Lie::FailsWrites if request.op == Op::Write => self.last_write_tag = request.tag,
            _ => {}
        }
        let done = self.below.submit(now, request);
        self.collect_completions(now);
        if self.lie == Lie::NamesNoTimeout { done.map(|_| Instant::FAR) } else { done }
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let done = self.below.control(now, control);
        let cut = *control == Control::PowerCut;
        while let Some(mut landing) = self.below.poll_landing() {
            if cut && self.lie == Lie::TearsDiscarded && landing.kind == LandingKind::Discarded {
                landing.kind = LandingKind::Torn;
            }
            self.landings.push_back(landing);
        }
        self.collect_completions(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.lie {
            Lie::TimesOutNow if self.completions > 3 => Some(self.now),
            _ => self.below.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.below.handle_timeout(now);
        self.collect_completions(now);
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn drive_log(&self) -> DriveLog {
        self.below.drive_log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        let mut landing = self.landings.pop_front().or_else(|| self.below.poll_landing())?;
        match self.lie {
            Lie::ShiftsLandings => landing.lba += 1,
            Lie::KeepsMemberSectors => landing.lba = landing.sector,
            Lie::ReversesNumbers => landing.number = u64::MAX - landing.number,
            _ => {}
        }
        Some(landing)
    }

    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(tell);
    }
}

/// The rule that the check finds broken on a device, with the first of ten seeds at which it fails.
fn broken_rule(build_device: &dyn Fn() -> Box<dyn Device>) -> Option<u8> {
    (0..10)
        .find_map(|seed| check_conformance(build_device, write_back_drive().cut_sector, seed).err())
        .map(|violation| violation.rule)
}

#[test]
fn canaries_are_caught_by_their_rule() {
    let lies = [
        (Lie::DelaysCompletions, 1),
        (Lie::TimesOutNow, 1),
        (Lie::NamesNoTimeout, 1),
        (Lie::DatesByCall, 2),
        (Lie::LosesCompletions, 3),
        (Lie::RefusesFirst, 3),
        (Lie::AbortsSome, 3),
        (Lie::IgnoresOrders, 3),
        (Lie::FailsWrites, 3),
        (Lie::SkipsFlush, 4),
        (Lie::ShiftsLandings, 5),
        (Lie::DropsFua, 5),
        (Lie::TearsDiscarded, 6),
        (Lie::PadsQueueTime, 7),
    ];
    for (index, (lie, rule)) in lies.into_iter().enumerate() {
        let kind = if lie == Lie::IgnoresOrders { Queuing::Ncq } else { Queuing::Scsi };
        let build_device = || Canary::build_above(lie, Box::new(drive_with_queuing(kind).drive()));
        assert_eq!(broken_rule(&build_device), Some(rule), "canary {index}");
    }
    // In an ATA queue, where the error of a command aborts all others, an abort needs such an error.
    let build_device = || Canary::build_above(Lie::AbortsSome, Box::new(drive_with_queuing(Queuing::Ncq).drive()));
    assert_eq!(broken_rule(&build_device), Some(3));
}

#[test]
fn a_canary_that_differs_from_run_to_run_is_caught() {
    let built = Cell::new(0u64);
    let build_device = || -> Box<dyn Device> {
        built.set(built.get() + 1);
        Box::new(SmallDrive { phase: built.get() << 60, ..write_back_drive() }.drive())
    };
    assert_eq!(broken_rule(&build_device), Some(8));
}

/// Checks the contract on a stack that may have an array.
fn check_array_stack(stack: &SmallStack, seed: u64) {
    let copies = stack.block_copies();
    if let Err(violation) = check_array_conformance(&|| stack.build(), stack.drive.cut_sector, &copies, seed) {
        panic!("seed {seed}: {violation:?}\n{stack:?}");
    }
}

#[test]
fn canaries_above_arrays_are_caught() {
    for lie in [Lie::KeepsMemberSectors, Lie::ReversesNumbers] {
        let find_violation = |seed: u64| {
            let stack = random_array(&mut Seed(seed).stream("array"));
            let build_device = || Canary::build_above(lie, stack.build());
            check_array_conformance(&build_device, stack.drive.cut_sector, &stack.block_copies(), seed).err()
        };
        assert_eq!((0..10).find_map(find_violation).map(|violation| violation.rule), Some(5));
    }
}

#[test]
fn random_arrays_keep_the_contract() {
    check_seeds(200, |seed| check_array_stack(&random_array(&mut Seed(seed).stream("array")), seed));
}

/// Found by 5,000 more seeds. Two members share a channel; the abort of a command of one ends that of the other.
#[test]
fn a_command_that_ends_as_another_is_aborted_needs_no_abort() {
    for seed in [1857, 2102, 5572] {
        check_array_stack(&random_array(&mut Seed(seed).stream("array")), seed);
    }
}

/// Found by more seeds. A core hands an abort up before the error that caused it, which took more interrupts.
#[test]
fn an_abort_may_come_up_before_the_error_behind_it() {
    for seed in [1276, 2875, 4216] {
        check_stack("two cores", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
}

/// Found by more seeds. After a first report, a run of an accelerator lands, is lost or goes down again: above a driver that
/// sends it again, or below one that merged its writes. A block goes down twice under one stamp: in a merged command, and as
/// a part of the write with that stamp.
#[test]
fn merged_writes_are_distinguished_however_often_they_are_reported() {
    for seed in [3499, 20_323, 20_498, 20_948, 22_264] {
        check_stack("merged", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
    for seed in [178, 2039, 3937, 4470, 4860, 5586, 20_012, 21_141, 22_436] {
        check_array_stack(&random_array(&mut Seed(seed).stream("array")), seed);
    }
}

/// Found by more seeds. The accelerator's own read-ahead meets an unreadable block, so that the other commands in the queue
/// are aborted. If runs of several flushes are aborted, the last to come back was taken for the oldest.
#[test]
fn an_accelerator_survives_the_aborts_of_an_ata_queue() {
    for seed in [25_846, 26_890, 44_706] {
        check_stack("accelerated", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
}

/// Found by more seeds. A write that is divided in the buffer within a physical sector lands part by part.
#[test]
fn a_run_that_lands_by_itself_may_end_within_a_physical_sector() {
    check_stack("divided", &random_stack(&mut Seed(20_352).stream("stack")), 20_352..20_353);
}
