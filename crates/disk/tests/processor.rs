//! The processor of a host (`host/processor.rs`): the core time of a request, requests that wait for a core, and programmed
//! I/O. Expected values are worked out by hand.

use seekwise_disk::block::{Completion, Device, Flags, Op, Request, Status};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
use seekwise_disk::host::controller::{Controller, ControllerSpec, InterruptCoalescing, ProgrammedIo};
use seekwise_disk::host::ports::Ports;
use seekwise_disk::host::processor::{Processor, ProcessorSpec};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::{Effort, Part};
use seekwise_disk::testing::SmallDrive;
use seekwise_disk::time::{Instant, Span};

const SPEC: ProcessorSpec = ProcessorSpec {
    cores: 1,
    issue: Span::from_micros(50),
    finish: Span::from_micros(10),
    interrupt: Span::from_micros(20),
    copy: 100_000_000,
    parity: 50_000_000,
};

const BLANK: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 1 };

fn drive() -> Box<dyn Device> {
    Box::new(SmallDrive::default().with_queue(8, Policy::Fcfs).drive())
}

fn submit(device: &mut dyn Device, now: Instant, tag: u32, op: Op, lba: u64, sectors: u32) {
    device.submit(now, Request { tag, op, lba, sectors, stamp: u64::from(tag) + 1, ..BLANK }).expect("room");
}

fn completions(device: &mut dyn Device) -> Vec<Completion> {
    core::iter::from_fn(|| device.proceed(Instant::FAR)).collect()
}

/// The core time that was used until `end`. Checks that no core worked longer than all the time.
fn core_time(device: &dyn Device, end: Instant) -> Span {
    let cores = device.core_load(end).expect("a processor");
    assert_eq!((cores.find_overload(), cores.work_between(Instant::ZERO, end)), (None, cores.total_work()));
    cores.total_work()
}

fn completion_of(done: &[Completion], tag: u32) -> Completion {
    *done.iter().find(|completion| completion.tag == tag).expect("done")
}

#[test]
fn parity_takes_core_time_when_the_request_returns() {
    let share = VolumeShare { level: RaidLevel::Raid5, permille: 1000 };
    let spec = ArraySpec {
        members: 3,
        shares: vec![share],
        chunk: 16,
        depth: 8,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::First,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: None,
    };
    let members = (0..3).map(|_| Box::new(SmallDrive::default().drive()) as Box<dyn Device>).collect();
    let mut device = Processor::build_above(SPEC, Box::new(Array::build_above(spec, Box::new(Ports::new(members)))));
    // A whole row: 32 sectors of data make the parity, and three commands go down.
    device.submit(Instant::ZERO, Request { op: Op::Write, sectors: 32, ..BLANK }).expect("room");
    let done = device.proceed(Instant::FAR).expect("an answer");
    let parity = Span::from_nanos(32 * 512 * 1_000_000_000 / SPEC.parity);
    assert_eq!((done.effort.commands, done.effort.parity), (3, 32));
    assert_eq!(core_time(&device, done.finished), Span::from_micros(50 + 10 + 3 * 20) + parity);
}

#[test]
fn a_request_costs_its_issue_its_interrupt_and_its_return() {
    let mut bare = drive();
    submit(&mut *bare, Instant::ZERO + SPEC.issue, 0, Op::Read, 100, 8);
    let below = completions(&mut *bare)[0];
    let mut device = Processor::build_above(SPEC, drive());
    submit(&mut device, Instant::ZERO, 0, Op::Read, 100, 8);
    let done = completions(&mut device)[0];
    assert_eq!(done.finished, below.finished + SPEC.interrupt + SPEC.finish);
    assert_eq!(done.parts.get(Part::Processor), Span::from_micros(80));
    assert_eq!((done.effort, core_time(&device, done.finished)), (Effort::COMMAND, Span::from_micros(80)));
}

#[test]
fn requests_wait_for_the_core_and_two_cores_serve_two() {
    // The ends of two computations of 100 us, in microseconds.
    let end_times = |cores: u32| {
        let mut device = Processor::build_above(ProcessorSpec { cores, ..SPEC }, drive());
        for tag in 0..2 {
            submit(&mut device, Instant::ZERO, tag, Op::Compute, 0, 100);
        }
        let done = completions(&mut device);
        [completion_of(&done, 0).finished.nanos() / 1000, completion_of(&done, 1).finished.nanos() / 1000]
    };
    assert_eq!(end_times(1), [100, 200]);
    assert_eq!(end_times(2), [100, 100]);
}

#[test]
fn the_systems_work_goes_before_a_programs() {
    let mut device = Processor::build_above(SPEC, drive());
    submit(&mut device, Instant::ZERO, 0, Op::Compute, 0, 40_000);
    submit(&mut device, Instant::ZERO + Span::from_micros(1000), 1, Op::Read, 100, 8);
    let done = completions(&mut device);
    // The 80 us of the read are taken from the program.
    assert_eq!(completion_of(&done, 0).finished, Instant::ZERO + Span::from_micros(40_080));
    assert!(completion_of(&done, 1).finished < completion_of(&done, 0).finished);
}

/// A controller whose transfers the processor carries out, at this many bytes a second.
fn controller_with_programmed_io(rate: u64) -> Box<dyn Device> {
    let programmed = Some(ProgrammedIo { rate, block: 16 });
    let spec = ControllerSpec { programmed, ..ControllerSpec::plain(1, Span::ZERO, 1_000_000_000) };
    Box::new(Controller::build_above(spec, drive()))
}

#[test]
fn programmed_transfers_take_the_cores_idle_time_and_no_more() {
    // 64 sectors at 1 MB/s: 32.768 ms, in four blocks.
    let transfer = Span::from_micros(32_768);
    let mut device = Processor::build_above(SPEC, controller_with_programmed_io(1_000_000));
    submit(&mut device, Instant::ZERO, 0, Op::Read, 0, 64);
    let alone = completions(&mut device)[0];
    assert_eq!(alone.effort.interrupts, 4);
    let alone_core_time = core_time(&device, alone.finished);
    assert_eq!(alone_core_time, transfer + SPEC.issue + SPEC.interrupt.times(4) + SPEC.finish);
    // A program that always computes delays the transfer: on one core the two take the sum of their times.
    let mut device = Processor::build_above(SPEC, controller_with_programmed_io(1_000_000));
    submit(&mut device, Instant::ZERO, 0, Op::Read, 0, 64);
    submit(&mut device, Instant::ZERO, 1, Op::Compute, 0, 500_000);
    let done = completions(&mut device);
    let work = Span::from_micros(500_000) + alone_core_time;
    let end = completion_of(&done, 0).finished.max(completion_of(&done, 1).finished);
    assert_eq!(end, Instant::ZERO + work);
    assert!(completion_of(&done, 0).finished > alone.finished);
}

/// Requests come together, so that each is handed over while the work for others still waits for the core. Work takes idle time
/// of the core when it is done, not when it is queued.
#[test]
fn a_core_works_no_longer_than_all_the_time() {
    for (count, sectors) in [(2, 8), (8, 8), (8, 1), (8, 64)] {
        let spec = ControllerSpec {
            programmed: Some(ProgrammedIo { rate: 16_000_000, block: 16 }),
            ..ControllerSpec::plain(8, Span::ZERO, 1_000_000_000)
        };
        let buffered = SmallDrive::default().with_buffer(4, 256).with_queue(8, Policy::Fcfs).drive();
        let mut device = Processor::build_above(SPEC, Box::new(Controller::build_above(spec, Box::new(buffered))));
        let mut end = Instant::ZERO;
        for turn in 0..4 {
            for tag in 0..count {
                submit(&mut device, end, tag, Op::Read, u64::from(tag * sectors), sectors);
            }
            let done = completions(&mut device);
            end = done.iter().map(|completion| completion.finished).max().expect("answers");
            let fixed_work = SPEC.issue + SPEC.interrupt.times(sectors.div_ceil(16).into()) + SPEC.finish;
            // At 16 MB/s a sector takes 32 us.
            let each = fixed_work + Span::from_micros(u64::from(sectors) * 32);
            assert_eq!(core_time(&device, end), each.times((turn + 1) * u64::from(count)), "{count} of {sectors}");
        }
    }
}

#[test]
fn commands_that_are_done_together_share_an_interrupt() {
    let coalesce = Some(InterruptCoalescing { count: 3, wait: Span::from_millis(500) });
    let spec = ControllerSpec { coalesce, ..ControllerSpec::plain(8, Span::ZERO, 1_000_000_000) };
    let mut device = Controller::build_above(spec, drive());
    for tag in 0..4 {
        submit(&mut device, Instant::ZERO, tag, Op::Read, u64::from(tag) * 8, 8);
    }
    let done = completions(&mut device);
    let interrupts: Vec<u16> = done.iter().map(|completion| completion.effort.interrupts).collect();
    assert_eq!(interrupts, [1, 0, 0, 1]);
    assert!(done.iter().all(|completion| completion.status == Status::Done));
    let third = done[2].finished;
    assert!(done[..3].iter().all(|completion| completion.finished == third));
    // The fourth waits for others, at most 500 ms.
    assert!(done[3].finished.since(third) > Span::from_millis(480));
}
