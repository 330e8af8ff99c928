//! The contract on every device there is, and canaries: devices that break one rule each and must be caught by it.
//!
//! More random stacks and arrays, from seeds never drawn before:
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

fn check(what: &str, stack: &SmallStack, seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(violation) = check_conformance(&|| stack.build(), stack.drive.cut_sector, seed) {
            panic!("{what}, seed {seed}: {violation:?}\n{stack:?}");
        }
    }
}

fn bare(drive: SmallDrive) -> SmallStack {
    SmallStack { drive, layers: vec![] }
}

fn cached() -> SmallDrive {
    SmallDrive::default().with_buffer(4, 64).with_write_back(2).with_queue(8, Policy::Sptf)
}

fn of_kind(kind: Queuing) -> SmallDrive {
    let mut small = cached();
    small.link.queuing = kind;
    small
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
    check("plain", &bare(SmallDrive::default()), 0..10);
}

#[test]
fn a_queueing_drive_keeps_the_contract() {
    for policy in [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf] {
        check("queue", &bare(SmallDrive::default().with_buffer(2, 32).with_queue(32, policy)), 0..5);
    }
}

#[test]
fn a_write_back_drive_keeps_the_contract() {
    check("write-back", &bare(cached()), 0..20);
}

#[test]
fn layers_keep_the_contract() {
    let layered = |layers| SmallStack { drive: cached(), layers };
    check("identity", &layered(vec![Layer::Identity]), 0..5);
    check("controller", &layered(vec![CONTROLLER]), 0..10);
    check("driver", &layered(vec![DRIVER]), 0..10);
    check("all", &layered(vec![Layer::Identity, CONTROLLER, CONTROLLER, DRIVER]), 0..10);
}

/// Of one page, of some, of all that a script uses; above drives with and without a cache, alone and among layers.
#[test]
fn an_accelerator_keeps_the_contract() {
    for size in [4096, 64 * 1024, 16 << 20] {
        for write_back in [true, false] {
            let layer = || Layer::Accelerator(AcceleratorSpec { size, write_back, ..ACCELERATOR });
            check("plain", &SmallStack { drive: SmallDrive::default(), layers: vec![layer()] }, 0..10);
            check("cached", &SmallStack { drive: cached(), layers: vec![layer()] }, 0..10);
            check("driven", &SmallStack { drive: of_kind(Queuing::Ncq), layers: vec![DRIVER, layer()] }, 0..10);
            check("twice", &SmallStack { drive: cached(), layers: vec![layer(), DRIVER, layer()] }, 0..5);
        }
    }
}

#[test]
fn each_kind_of_queue_keeps_the_contract_with_weak_places() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let mut drive = of_kind(kind);
        drive.weak = (0..40).map(|i| WeakBlocks { lba: i * 200 + 7, sectors: 3, retries: 1 + i as u32 % 4 }).collect();
        drive.firmware.recovery_limit = Some(Span::from_millis(20));
        check("bare", &bare(drive.clone()), 0..10);
        check("driven", &SmallStack { drive: drive.clone(), layers: vec![DRIVER] }, 0..10);
        check("in company", &SmallStack { drive, layers: vec![CONTROLLER, DRIVER, DRIVER] }, 0..10);
    }
}

/// Both are slow enough that cuts, aborts and other requests overlap them.
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

/// One unit of several, as a device.
struct Unit {
    of: Box<dyn Device>,
    unit: u8,
    first: u64,
}

impl Device for Unit {
    fn limits(&self, _: u8) -> Limits {
        self.of.limits(self.unit)
    }
    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let lba = request.lba + self.first;
        self.of.submit(now, Request { unit: self.unit, lba, ..request }).map_err(|_| request)
    }
    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        self.of.control(now, control)
    }
    fn poll_timeout(&self) -> Option<Instant> {
        self.of.poll_timeout()
    }
    fn handle_timeout(&mut self, now: Instant) {
        self.of.handle_timeout(now);
    }
    fn poll_completion(&mut self) -> Option<Completion> {
        self.of.poll_completion()
    }
    fn drive_log(&self) -> DriveLog {
        self.of.drive_log()
    }
    fn poll_landing(&mut self) -> Option<Landing> {
        let landing = self.of.poll_landing()?;
        assert_eq!(landing.member, u32::from(self.unit), "its own drive's");
        Some(Landing { lba: landing.lba - self.first, ..landing })
    }
    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.of.report_unsettled(tell);
    }
}

/// Each unit is a device of its own: a drive, a stick, another drive. Each keeps the contract alone and below a layer.
#[test]
fn devices_beside_one_another_keep_the_contract() {
    let drive = || -> (Box<dyn Device>, u32) { (Box::new(cached().drive()), 1) };
    let stick = || -> (Box<dyn Device>, u32) { (Box::new(Flash::new(STICK)), 1) };
    let sectors = cached().drive().limits(0).sectors;
    for (unit, first, cut_sector) in
        [(0, 0, cached().cut_sector), (1, sectors, CutSector::Old), (2, sectors + STICK.sectors, cached().cut_sector)]
    {
        let of = || MixedDevices::build_above(vec![drive(), stick(), drive()]);
        for seed in 0..15 {
            let alone = || -> Box<dyn Device> { Box::new(Unit { of: Box::new(of()), unit, first }) };
            check_conformance(&alone, cut_sector, seed).unwrap_or_else(|wrong| panic!("unit {unit}: {wrong:?}"));
            let below = || -> Box<dyn Device> {
                Box::new(Unit { of: Box::new(IdentityLayer::build_above(Box::new(of()))), unit, first })
            };
            check_conformance(&below, cut_sector, seed).unwrap_or_else(|wrong| panic!("unit {unit}, below: {wrong:?}"));
        }
    }
}

#[test]
fn random_stacks_keep_the_contract() {
    swarm(300, |seed| {
        let stack = random_stack(&mut Seed(seed).stream("stack"));
        check("random stack", &stack, seed..seed + 1);
    });
}

/// Where seeds of the two others broke the contract, one in a thousand, merging drivers, accelerators and queues that abort
/// stood together; here they do more often. Of these 400, 7 broke it with the layers as they were then.
#[test]
fn random_tall_stacks_keep_the_contract() {
    swarm(400, |seed| through_sight(&random_tall_stack(&mut Seed(seed).stream("tower")), seed));
}

/// Runs the `sample` first seeds, or those that the environment asks for, to their end; then fails with all that fail.
fn swarm(sample: u64, check: impl Fn(u64) + std::panic::RefUnwindSafe) {
    let number_of = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let first = number_of("SEEKWISE_CONFORMANCE_FIRST").unwrap_or(0);
    let seeds = first..first + number_of("SEEKWISE_CONFORMANCE_SEEDS").unwrap_or(sample);
    let fails = |seed: &u64| std::panic::catch_unwind(|| check(*seed)).is_err();
    let failed: Vec<u64> = seeds.filter(fails).collect();
    assert!(failed.is_empty(), "seeds {failed:?}, each with its reason above");
}

/// How a canary breaks the contract.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    /// Rule 1: a completion is handed out only at the next call.
    Holds,
    /// Rule 1: the next timeout is now.
    NeverLater,
    /// Rule 1: a request is accepted as if nothing came of it.
    TellsNever,
    /// Rule 2: a completion is dated by the call that finds it.
    DatesByCall,
    /// Rule 3: one completion in five is lost.
    Swallows,
    /// Rule 3: the first request is refused though nothing is in flight.
    Refuses,
    /// Rule 4: a flush is acknowledged at once.
    SkipsFlush,
    /// Rule 5: landings name the next sector.
    Shifts,
    /// Rule 5: landings above an array name the members' sectors.
    Untranslated,
    /// Rule 5: an array's numbers fall.
    Misnumbers,
    /// Rule 5: a write with forced unit access goes into the cache.
    ForgetsFua,
    /// Rule 6: all that a cut discards is torn.
    Tears,
    /// Rule 3: every seventh answer is an abort that nobody requested.
    Aborts,
    /// Rule 3: an order that an ATA queue does not keep is accepted as if it did.
    Disorders,
    /// Rule 3: a write fails like a read.
    FailsWrites,
    /// Rule 7: a nanosecond too much in the queue.
    Pads,
}

struct Canary {
    lie: Lie,
    below: Box<dyn Device>,
    now: Instant,
    seen: u32,
    /// The tag of the last write.
    written: u32,
    held: Vec<Completion>,
    ready: VecDeque<Completion>,
    landings: VecDeque<Landing>,
}

impl Canary {
    fn above(lie: Lie, below: Box<dyn Device>) -> Box<dyn Device> {
        let (held, ready, landings) = Default::default();
        Box::new(Canary { lie, below, now: Instant::ZERO, seen: 0, written: u32::MAX, held, ready, landings })
    }

    fn collect(&mut self, now: Instant) {
        self.now = now;
        self.ready.extend(self.held.drain(..));
        while let Some(mut completion) = self.below.poll_completion() {
            self.seen += 1;
            match self.lie {
                Lie::Holds => {
                    self.held.push(completion);
                    continue;
                }
                Lie::Swallows if self.seen.is_multiple_of(5) => continue,
                Lie::DatesByCall => {
                    completion.parts.add(Part::Link, now.since(completion.finished));
                    completion.finished = now;
                }
                Lie::Aborts if self.seen.is_multiple_of(7) => completion.status = Status::Aborted,
                Lie::FailsWrites if completion.tag == self.written => completion.status = Status::MediumError,
                Lie::Pads => completion.parts.add(Part::Queue, Span::from_nanos(1)),
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
            Lie::Refuses if self.seen == 0 => return Err(request),
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
            Lie::ForgetsFua => request.flags = Flags::NONE,
            Lie::Disorders if request.flags.has(Flags::FUA) => request.flags = Flags::FUA,
            Lie::Disorders => request.flags = Flags::NONE,
            Lie::FailsWrites if request.op == Op::Write => self.written = request.tag,
            _ => {}
        }
        let done = self.below.submit(now, request);
        self.collect(now);
        if self.lie == Lie::TellsNever { done.map(|_| Instant::FAR) } else { done }
    }

    fn control(&mut self, now: Instant, control: &Control) -> Result<(), ControlError> {
        let done = self.below.control(now, control);
        let cut = *control == Control::PowerCut;
        while let Some(mut landing) = self.below.poll_landing() {
            if cut && self.lie == Lie::Tears && landing.kind == LandingKind::Discarded {
                landing.kind = LandingKind::Torn;
            }
            self.landings.push_back(landing);
        }
        self.collect(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match self.lie {
            Lie::NeverLater if self.seen > 3 => Some(self.now),
            _ => self.below.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.below.handle_timeout(now);
        self.collect(now);
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
            Lie::Shifts => landing.lba += 1,
            Lie::Untranslated => landing.lba = landing.sector,
            Lie::Misnumbers => landing.number = u64::MAX - landing.number,
            _ => {}
        }
        Some(landing)
    }

    fn report_unsettled(&self, tell: &mut dyn FnMut(u64)) {
        self.below.report_unsettled(tell);
    }
}

/// The rule that the suite reports for a device, by the first seed of ten at which it fails.
fn verdict(make: &dyn Fn() -> Box<dyn Device>) -> Option<u8> {
    (0..10).find_map(|seed| check_conformance(make, cached().cut_sector, seed).err()).map(|violation| violation.rule)
}

#[test]
fn canaries_are_caught_by_their_rule() {
    let lies = [
        (Lie::Holds, 1),
        (Lie::NeverLater, 1),
        (Lie::TellsNever, 1),
        (Lie::DatesByCall, 2),
        (Lie::Swallows, 3),
        (Lie::Refuses, 3),
        (Lie::Aborts, 3),
        (Lie::Disorders, 3),
        (Lie::FailsWrites, 3),
        (Lie::SkipsFlush, 4),
        (Lie::Shifts, 5),
        (Lie::ForgetsFua, 5),
        (Lie::Tears, 6),
        (Lie::Pads, 7),
    ];
    for (index, (lie, rule)) in lies.into_iter().enumerate() {
        let kind = if lie == Lie::Disorders { Queuing::Ncq } else { Queuing::Scsi };
        let make = || Canary::above(lie, Box::new(of_kind(kind).drive()));
        assert_eq!(verdict(&make), Some(rule), "canary {index}");
    }
    // Where one command's error aborts others, an abort needs such an error.
    let make = || Canary::above(Lie::Aborts, Box::new(of_kind(Queuing::Ncq).drive()));
    assert_eq!(verdict(&make), Some(3));
}

#[test]
fn a_canary_that_differs_from_run_to_run_is_caught() {
    let made = Cell::new(0u64);
    let make = || -> Box<dyn Device> {
        made.set(made.get() + 1);
        Box::new(SmallDrive { phase: made.get() << 60, ..cached() }.drive())
    };
    assert_eq!(verdict(&make), Some(8));
}

fn through_sight(stack: &SmallStack, seed: u64) {
    let sight = stack.block_copies();
    if let Err(violation) = check_array_conformance(&|| stack.build(), stack.drive.cut_sector, &sight, seed) {
        panic!("seed {seed}: {violation:?}\n{stack:?}");
    }
}

#[test]
fn canaries_above_arrays_are_caught() {
    for lie in [Lie::Untranslated, Lie::Misnumbers] {
        let verdict = |seed: u64| {
            let stack = random_array(&mut Seed(seed).stream("array"));
            let make = || Canary::above(lie, stack.build());
            check_array_conformance(&make, stack.drive.cut_sector, &stack.block_copies(), seed).err()
        };
        assert_eq!((0..10).find_map(verdict).map(|violation| violation.rule), Some(5));
    }
}

#[test]
fn random_arrays_keep_the_contract() {
    swarm(200, |seed| through_sight(&random_array(&mut Seed(seed).stream("array")), seed));
}

/// Found by 5,000 more seeds: two members behind one channel, of which the abort of one command ends the other.
#[test]
fn a_command_that_ends_as_another_is_aborted_needs_no_abort() {
    for seed in [1857, 2102, 5572] {
        through_sight(&random_array(&mut Seed(seed).stream("array")), seed);
    }
}

/// Found by more seeds: a core hands an abort up before the error that caused it, which took more interrupts.
#[test]
fn an_abort_may_come_up_before_the_error_behind_it() {
    for seed in [1276, 2875, 4216] {
        check("two cores", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
}

/// Found by more seeds: a run of an accelerator lands, is lost or goes down again after a first report, above a driver
/// that sends it again or below one that merged its writes; a block goes down twice under one stamp, in a merged command
/// and as a part of the write with that stamp.
#[test]
fn what_went_down_together_is_told_apart_however_often_it_is_reported() {
    for seed in [3499, 20_323, 20_498, 20_948, 22_264] {
        check("merged", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
    for seed in [178, 2039, 3937, 4470, 4860, 5586, 20_012, 21_141, 22_436] {
        through_sight(&random_array(&mut Seed(seed).stream("array")), seed);
    }
}

/// Found by more seeds: the accelerator's own read-ahead meets a bad place, and the queue's other commands come back
/// aborted; runs of several flushes do, and the last to come back was taken for the oldest.
#[test]
fn an_accelerator_stands_the_aborts_of_an_ata_queue() {
    for seed in [25_846, 26_890, 44_706] {
        check("accelerated", &random_stack(&mut Seed(seed).stream("stack")), seed..seed + 1);
    }
}

/// Found by more seeds: a write that is divided in the buffer within a physical sector lands part by part.
#[test]
fn what_is_written_by_itself_may_end_within_a_physical_sector() {
    check("divided", &random_stack(&mut Seed(20_352).stream("stack")), 20_352..20_353);
}
