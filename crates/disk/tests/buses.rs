//! What several drives on one cable cost one another, by hand: an IDE channel, a SCSI bus. And the contract on both. What a
//! link that sleeps costs.

use seekwise_disk::block::{Completion, Control, CutSector, Device, Flags, Op, Queuing, Request, Status};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance};
use seekwise_disk::host::channel::Channel;
use seekwise_disk::host::controller::{Controller, ControllerSpec};
use seekwise_disk::host::ports::Ports;
use seekwise_disk::host::scsi::{ScsiBus, ScsiSpec};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Part;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{BlockCopies, SmallDrive, check_array_conformance, check_conformance, random_profile};
use seekwise_disk::time::{Instant, Rate, Span};

const BLANK: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 8, stamp: 1 };

fn read(tag: u32, unit: u8, lba: u64) -> Request {
    Request { tag, unit, lba, stamp: u64::from(tag) + 1, ..BLANK }
}

fn ports(small: &SmallDrive, units: u32) -> Box<dyn Device> {
    Box::new(Ports::new((0..units).map(|_| Box::new(small.drive()) as Box<dyn Device>).collect()))
}

fn submit(device: &mut dyn Device, now: Instant, request: Request) {
    device.submit(now, request).expect("room");
}

fn answers(device: &mut dyn Device) -> Vec<Completion> {
    std::iter::from_fn(|| device.proceed(Instant::FAR)).collect()
}

fn of(done: &[Completion], tag: u32) -> Completion {
    *done.iter().find(|completion| completion.tag == tag).expect("an answer")
}

/// When a drive alone completes `request`, which arrives at `now`.
fn alone(small: &SmallDrive, now: Instant, request: Request) -> Completion {
    let mut drive = small.drive();
    submit(&mut drive, now, Request { unit: 0, ..request });
    drive.proceed(Instant::FAR).expect("an answer")
}

// ---- a link that sleeps

/// A controller of no cost of its own, above a drive that takes eight commands.
fn sleeping(wake: Span) -> impl Device {
    let spec = ControllerSpec { wake, ..ControllerSpec::plain(8, Span::ZERO, 1_000_000_000) };
    Controller::build_above(spec, Box::new(SmallDrive::default().with_queue(8, Policy::Fcfs).drive()))
}

#[test]
fn the_command_that_wakes_the_link_waits_for_it_and_the_next_does_not() {
    let wake = Span::from_micros(50);
    let begun = |wake, instants: &[(Instant, Request)]| {
        let mut device = sleeping(wake);
        let mut done = Vec::new();
        for &(at, request) in instants {
            done.extend(std::iter::from_fn(|| device.proceed(at)));
            submit(&mut device, at, request);
        }
        done.extend(answers(&mut device));
        (0..instants.len() as u32).map(|tag| of(&done, tag).parts.get(Part::Controller)).collect::<Vec<_>>()
    };
    let micros = |micros| Instant::ZERO + Span::from_micros(micros);
    // Two at once: the second comes 20 us later, and waits for the other 30.
    let together = [(Instant::ZERO, read(0, 0, 4_000)), (micros(20), read(1, 0, 100))];
    assert_eq!(begun(wake, &together), [wake, Span::from_micros(30)]);
    // While the first is on its way the link is awake.
    let behind = [(Instant::ZERO, read(0, 0, 4_000)), (micros(200), read(1, 0, 100))];
    assert_eq!(begun(wake, &behind), [wake, Span::ZERO]);
    // A second later it sleeps again.
    let apart = [(Instant::ZERO, read(0, 0, 4_000)), (micros(1_000_000), read(1, 0, 100))];
    assert_eq!(begun(wake, &apart), [wake, wake]);
    assert_eq!(begun(Span::ZERO, &apart), [Span::ZERO, Span::ZERO], "one that never sleeps");
}

// ---- the channel

#[test]
fn the_slave_waits_for_the_master_seek_and_all() {
    let small = SmallDrive::default();
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    let (first, second) = (read(0, 0, 4_000), read(1, 1, 100));
    submit(&mut device, Instant::ZERO, first);
    submit(&mut device, Instant::ZERO, second);
    let done = answers(&mut device);
    let master = alone(&small, Instant::ZERO, first);
    let slave = alone(&small, master.finished, second);
    assert_eq!(of(&done, 0), master);
    assert_eq!(of(&done, 1).finished, slave.finished);
    assert_eq!(of(&done, 1).parts.get(Part::Controller), master.finished.since(Instant::ZERO));
    assert_eq!(of(&done, 1).parts.get(Part::Rotation), slave.parts.get(Part::Rotation));
}

#[test]
fn drives_on_channels_of_their_own_do_not_meet() {
    let small = SmallDrive::default();
    let four = [read(0, 0, 4_000), read(1, 1, 100), read(2, 2, 900), read(3, 3, 2_500)];
    let run = |drives| {
        let mut device = Channel::build_above(drives, ports(&small, 4), 4);
        four.iter().for_each(|&request| submit(&mut device, Instant::ZERO, request));
        answers(&mut device)
    };
    let apart = run(1);
    for request in four {
        assert_eq!(of(&apart, request.tag), alone(&small, Instant::ZERO, request));
    }
    let paired = run(2);
    for (master, slave) in [(0, 1), (2, 3)] {
        let first = alone(&small, Instant::ZERO, four[master]);
        assert_eq!(of(&paired, master as u32), first);
        assert_eq!(of(&paired, slave as u32).finished, alone(&small, first.finished, four[slave]).finished);
    }
}

#[test]
fn both_that_are_wanted_take_turns() {
    let small = SmallDrive::default();
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    let (mut order, mut tag) = (Vec::new(), 1);
    submit(&mut device, Instant::ZERO, read(0, 0, 0));
    submit(&mut device, Instant::ZERO, read(1, 1, 0));
    while let Some(done) = device.proceed(Instant::FAR) {
        let unit = (done.tag % 2) as u8;
        order.push(unit);
        tag += 1;
        if tag < 12 {
            submit(&mut device, done.finished, read(2 * tag + u32::from(unit), unit, u64::from(tag) * 300));
        }
    }
    assert_eq!(order, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_flush_has_the_channel_as_long_as_it_takes() {
    let small = SmallDrive::default().with_buffer(8, 64).with_write_back(6);
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    submit(&mut device, Instant::ZERO, Request { op: Op::Write, lba: 4_000, ..BLANK });
    let written = device.proceed(Instant::FAR).expect("an answer").finished;
    submit(&mut device, written, Request { op: Op::Flush, tag: 1, sectors: 0, stamp: 2, ..BLANK });
    submit(&mut device, written, read(2, 1, 100));
    let done = answers(&mut device);
    let flushed = of(&done, 1).finished;
    assert!(flushed.since(written) > Span::from_millis(1), "the arm and the platter");
    assert_eq!(of(&done, 2).finished, alone(&small, flushed, read(2, 1, 100)).finished);
}

#[test]
fn of_two_on_a_channel_neither_queues_and_one_alone_does() {
    let small = SmallDrive::default().with_queue(8, Policy::Sptf);
    let depth = |drives| Channel::build_above(drives, ports(&small, 2), 2).limits(1).depth;
    assert_eq!((depth(1), depth(2)), (8, 1));
}

#[test]
fn what_waits_for_the_channel_can_be_taken_back() {
    let small = SmallDrive::default();
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    submit(&mut device, Instant::ZERO, read(0, 0, 4_000));
    submit(&mut device, Instant::ZERO, read(1, 1, 0));
    let soon = Instant::ZERO + Span::from_micros(10);
    device.control(soon, &Control::Abort(1)).expect("it is in flight");
    let gone = device.poll_completion().expect("at once");
    assert_eq!((gone.tag, gone.status, gone.finished), (1, Status::Aborted, soon));
    assert_eq!(answers(&mut device), [alone(&small, Instant::ZERO, read(0, 0, 4_000))]);
}

// ---- the bus

const BUS: ScsiSpec =
    ScsiSpec { rate: 100_000_000, command: Span::from_micros(10), reconnect: Span::from_micros(8), fair: false };

/// A drive whose own figures include the bus phases.
fn scsi_drive() -> SmallDrive {
    let mut small = SmallDrive::default().with_queue(8, Policy::Fcfs);
    small.link.rate = BUS.rate;
    small.link.write_rate = BUS.rate;
    small.link.command = Span::from_micros(20);
    small
}

/// How long a transfer of `sectors` takes the bus, beyond the drive's own time.
fn transfer(sectors: u64) -> Span {
    BUS.reconnect + Rate::new(BUS.rate).transfer_time(sectors * 512)
}

#[test]
fn a_drive_alone_on_the_bus_loses_nothing() {
    for seed in 0..200 {
        let rng = &mut Seed(seed).stream("alone");
        let small = if rng.draw_chance(50) { scsi_drive() } else { scsi_drive().with_buffer(8, 64).with_write_back(4) };
        let mut device = ScsiBus::build_above(BUS, ports(&small, 1), 1);
        let op = if rng.draw_chance(50) { Op::Read } else { Op::Write };
        let request = Request { op, lba: rng.below(5_000), sectors: 1 + rng.below(120) as u32, ..BLANK };
        let now = Instant::from_nanos(rng.below(20_000_000));
        submit(&mut device, now, request);
        assert_eq!(answers(&mut device), [alone(&small, now, request)], "seed {seed}");
    }
}

/// Streams that wait for the read-ahead, and for room in the buffer.
#[test]
fn a_stream_alone_on_the_bus_loses_nothing() {
    let small = scsi_drive().with_buffer(8, 64).with_write_back(4);
    for op in [Op::Read, Op::Write] {
        let run = |device: &mut dyn Device| {
            let (mut now, mut done) = (Instant::ZERO, Vec::new());
            for tag in 0..60 {
                submit(device, now, Request { op, sectors: 16, ..read(tag, 0, u64::from(tag) * 16) });
                done.push(device.proceed(Instant::FAR).expect("an answer"));
                now = done[tag as usize].finished;
            }
            done
        };
        assert_eq!(run(&mut ScsiBus::build_above(BUS, ports(&small, 1), 1)), run(&mut small.drive()), "{op:?}");
    }
}

#[test]
fn the_host_hands_over_one_command_at_a_time() {
    let small = scsi_drive();
    let mut device = ScsiBus::build_above(BUS, ports(&small, 3), 3);
    (0..3).for_each(|unit| submit(&mut device, Instant::ZERO, read(u32::from(unit), unit, 1_000 * u64::from(unit))));
    let done = answers(&mut device);
    for unit in 0..3u8 {
        let begun = Instant::ZERO + BUS.command.times(u64::from(unit));
        let own = alone(&small, begun, read(0, 0, 1_000 * u64::from(unit)));
        assert_eq!(of(&done, u32::from(unit)).finished, own.finished);
        assert_eq!(of(&done, u32::from(unit)).parts.get(Part::Controller), begun.since(Instant::ZERO));
    }
}

/// Three drives read the same blocks, so that the heads of all pass them at one instant, and all have their data then.
/// The highest number goes first, though it had its command last. The idle time during their reads goes to the first
/// that asks.
#[test]
fn data_cross_one_after_another_by_number() {
    let slow = ScsiSpec { rate: 1_000_000, ..BUS };
    let small = scsi_drive();
    let mut device = ScsiBus::build_above(slow, ports(&small, 3), 3);
    (0..3).for_each(|unit| submit(&mut device, Instant::ZERO, read(u32::from(unit), unit, 1_000)));
    let done = answers(&mut device);
    let own = alone(&small, Instant::ZERO, read(0, 0, 1_000));
    let each = slow.reconnect + Rate::new(slow.rate).transfer_time(8 * 512);
    let idle = own.parts.get(Part::Transfer) + own.parts.get(Part::Link);
    assert_eq!(of(&done, 2).finished, own.finished + each);
    assert_eq!(of(&done, 1).finished, own.finished + each.times(2));
    assert_eq!(of(&done, 0).finished, own.finished + (each.times(3) - idle));
    for tag in 0..3 {
        let done = of(&done, tag);
        assert_eq!(done.parts.total(), done.finished.since(Instant::ZERO));
    }
}

/// Sixty reads from the buffers of three drives: the bus is never idle once it is busy, so the last one ends when the
/// first command and everything after it have been on it.
#[test]
fn a_bus_that_is_wanted_all_the_time_gives_all_it_has() {
    let mut small = scsi_drive().with_buffer(4, 64);
    small.link.rate = 1_000_000_000;
    let mut device = ScsiBus::build_above(BUS, ports(&small, 3), 3);
    // Into the buffers, one after another.
    let mut now = Instant::ZERO;
    for unit in 0..3 {
        submit(&mut device, now, Request { sectors: 32, ..read(u32::from(unit), unit, 0) });
        now = device.proceed(Instant::FAR).expect("an answer").finished + Span::from_millis(20);
    }
    let (begun, mut asked, mut last) = (now, 0, now);
    let mut ask = |device: &mut dyn Device, now: Instant, unit: u8| {
        if asked < 60 {
            submit(device, now, Request { sectors: 32, ..read(100 + asked * 3 + u32::from(unit), unit, 0) });
            asked += 1;
        }
    };
    (0..12).for_each(|turn| ask(&mut device, begun, turn % 3));
    while let Some(done) = device.proceed(Instant::FAR) {
        assert_eq!(done.parts.get(Part::Seek) + done.parts.get(Part::Rotation), Span::ZERO, "from the buffer");
        last = done.finished;
        ask(&mut device, done.finished, ((done.tag - 100) % 3) as u8);
    }
    let all = (BUS.command + transfer(32)).times(60);
    assert_eq!(last.since(begun), all);
}

/// Three drives with data in their buffers, each with two outstanding commands, on a bus for one of them.
#[test]
fn a_lower_number_waits_for_ever_unless_arbitration_is_fair() {
    let small = scsi_drive().with_buffer(4, 64);
    let served = |fair| {
        let slow = ScsiSpec { rate: 1_000_000, fair, ..BUS };
        let mut device = ScsiBus::build_above(slow, ports(&small, 3), 3);
        let mut counts = [0; 3];
        let ask = |device: &mut dyn Device, now, unit: u8, tag| submit(device, now, read(tag, unit, 0));
        (0..6u8).for_each(|index| ask(&mut device, Instant::ZERO, index % 3, u32::from(index)));
        for _ in 0..90 {
            let done = device.proceed(Instant::FAR).expect("an answer");
            let unit = (done.tag % 3) as u8;
            counts[usize::from(unit)] += 1;
            ask(&mut device, done.finished, unit, done.tag);
        }
        counts
    };
    let (unfair, fair) = (served(false), served(true));
    assert!(unfair[0] < 3 && unfair[1] < unfair[2], "{unfair:?}");
    assert!(fair.iter().all(|&count| (29..=31).contains(&count)), "{fair:?}");
}

// ---- the contract

/// An array of two drives over `share`.
fn arrayed(level: RaidLevel, seed: u64, share: &dyn Fn(Box<dyn Device>, u32) -> Box<dyn Device>) {
    let mut drive = random_profile(&mut Seed(seed).stream("buses"));
    drive.firmware.recovery_limit = None;
    let (count, chunk) = (level.least_members().max(3), 16);
    let spec = ArraySpec {
        members: count,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk,
        depth: 8,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: ParityWrite::Fewest,
        rebuild_rate: 100_000_000,
        rebuild_run: 128,
        lost: 0,
        bitmap: None,
    };
    let laid = spec.volumes(drive.drive().limits(0).sectors);
    let make = || -> Box<dyn Device> { Box::new(Array::build_above(spec.clone(), share(ports(&drive, count), count))) };
    if let Err(violation) = check_array_conformance(&make, drive.cut_sector, &BlockCopies::new(&laid, 0), seed) {
        panic!("{level:?}, seed {seed}: {violation:?}\n{drive:?}");
    }
}

#[test]
fn a_channel_and_a_bus_keep_the_contract() {
    let slow = ScsiSpec { rate: 2_000_000, command: Span::from_micros(300), fair: true, ..BUS };
    for kind in [Queuing::None, Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let depth = if kind == Queuing::None { 1 } else { 8 };
        let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(2).with_queue(depth, Policy::Sptf);
        small.link.queuing = kind;
        for seed in 0..10 {
            let one = |drives| {
                check_conformance(&|| Box::new(Channel::build_above(drives, ports(&small, 2), 2)), CutSector::Old, seed)
            };
            assert_eq!((one(1).err(), one(2).err()), (None, None), "{kind:?}, seed {seed}");
            let bus = |spec| {
                check_conformance(&|| Box::new(ScsiBus::build_above(spec, ports(&small, 2), 2)), CutSector::Old, seed)
            };
            assert_eq!((bus(BUS).err(), bus(slow).err()), (None, None), "{kind:?}, seed {seed}");
        }
    }
    for seed in 0..15 {
        for level in [RaidLevel::Linear, RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid5] {
            arrayed(level, seed, &|below, units| Box::new(Channel::build_above(2, below, units)));
            arrayed(level, seed, &|below, units| Box::new(ScsiBus::build_above(BUS, below, units)));
            arrayed(level, seed, &|below, units| Box::new(ScsiBus::build_above(slow, below, units)));
        }
    }
}
