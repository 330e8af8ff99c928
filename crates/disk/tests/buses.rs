//! Cables (`host/channel.rs`, `host/scsi.rs`): how long drives on one IDE channel or one SCSI bus wait for one another, and the
//! contract of both. And the wake-up time of a link (`host/controller.rs`). Expected values are worked out by hand.

use seekwise_disk::block::{Completion, Control, CutSector, Device, Flags, Op, Queuing, Request, Status};
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{Array, ArraySpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed};
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

/// Several drives, one unit each.
fn ports(small: &SmallDrive, units: u32) -> Box<dyn Device> {
    Box::new(Ports::new((0..units).map(|_| Box::new(small.drive()) as Box<dyn Device>).collect()))
}

fn submit(device: &mut dyn Device, now: Instant, request: Request) {
    device.submit(now, request).expect("room");
}

fn completions(device: &mut dyn Device) -> Vec<Completion> {
    std::iter::from_fn(|| device.proceed(Instant::FAR)).collect()
}

fn completion_of(done: &[Completion], tag: u32) -> Completion {
    *done.iter().find(|completion| completion.tag == tag).expect("an answer")
}

/// The completion of a request that arrives at `now` at a drive without a cable.
fn alone_on_drive(small: &SmallDrive, now: Instant, request: Request) -> Completion {
    let mut drive = small.drive();
    submit(&mut drive, now, Request { unit: 0, ..request });
    drive.proceed(Instant::FAR).expect("an answer")
}

// ---- a link that sleeps

/// A controller that costs nothing but the time to wake its link, above a drive that takes eight commands.
fn controller_with_wake_time(wake: Span) -> impl Device {
    let spec = ControllerSpec { wake, ..ControllerSpec::plain(8, Span::ZERO, 1_000_000_000) };
    Controller::build_above(spec, Box::new(SmallDrive::default().with_queue(8, Policy::Fcfs).drive()))
}

#[test]
fn the_command_that_wakes_the_link_waits_for_it_and_the_next_does_not() {
    let wake = Span::from_micros(50);
    // By tag: the time that each request waits in the controller.
    let controller_times = |wake, timed_requests: &[(Instant, Request)]| {
        let mut device = controller_with_wake_time(wake);
        let mut done = Vec::new();
        for &(at, request) in timed_requests {
            done.extend(std::iter::from_fn(|| device.proceed(at)));
            submit(&mut device, at, request);
        }
        done.extend(completions(&mut device));
        (0..timed_requests.len() as u32)
            .map(|tag| completion_of(&done, tag).parts.get(Part::Controller))
            .collect::<Vec<_>>()
    };
    let micros = |micros| Instant::ZERO + Span::from_micros(micros);
    // The second request comes during the wake-up, after 20 us, and waits for the remaining 30.
    let during_wake = [(Instant::ZERO, read(0, 0, 4_000)), (micros(20), read(1, 0, 100))];
    assert_eq!(controller_times(wake, &during_wake), [wake, Span::from_micros(30)]);
    // While the first request is in flight the link is awake.
    let while_awake = [(Instant::ZERO, read(0, 0, 4_000)), (micros(200), read(1, 0, 100))];
    assert_eq!(controller_times(wake, &while_awake), [wake, Span::ZERO]);
    // A second later the link sleeps again.
    let after_sleep = [(Instant::ZERO, read(0, 0, 4_000)), (micros(1_000_000), read(1, 0, 100))];
    assert_eq!(controller_times(wake, &after_sleep), [wake, wake]);
    assert_eq!(controller_times(Span::ZERO, &after_sleep), [Span::ZERO, Span::ZERO], "a link that never sleeps");
}

// ---- the channel

#[test]
fn the_slave_waits_for_the_whole_command_of_the_master() {
    let small = SmallDrive::default();
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    let (first, second) = (read(0, 0, 4_000), read(1, 1, 100));
    submit(&mut device, Instant::ZERO, first);
    submit(&mut device, Instant::ZERO, second);
    let done = completions(&mut device);
    let master = alone_on_drive(&small, Instant::ZERO, first);
    let slave = alone_on_drive(&small, master.finished, second);
    assert_eq!(completion_of(&done, 0), master);
    assert_eq!(completion_of(&done, 1).finished, slave.finished);
    assert_eq!(completion_of(&done, 1).parts.get(Part::Controller), master.finished.since(Instant::ZERO));
    assert_eq!(completion_of(&done, 1).parts.get(Part::Rotation), slave.parts.get(Part::Rotation));
}

#[test]
fn drives_on_channels_of_their_own_do_not_wait() {
    let small = SmallDrive::default();
    let four = [read(0, 0, 4_000), read(1, 1, 100), read(2, 2, 900), read(3, 3, 2_500)];
    let run = |drives_per_channel| {
        let mut device = Channel::build_above(drives_per_channel, ports(&small, 4), 4);
        four.iter().for_each(|&request| submit(&mut device, Instant::ZERO, request));
        completions(&mut device)
    };
    let apart = run(1);
    for request in four {
        assert_eq!(completion_of(&apart, request.tag), alone_on_drive(&small, Instant::ZERO, request));
    }
    let paired = run(2);
    for (master, slave) in [(0, 1), (2, 3)] {
        let first = alone_on_drive(&small, Instant::ZERO, four[master]);
        assert_eq!(completion_of(&paired, master as u32), first);
        assert_eq!(
            completion_of(&paired, slave as u32).finished,
            alone_on_drive(&small, first.finished, four[slave]).finished
        );
    }
}

#[test]
fn two_busy_drives_of_a_channel_take_turns() {
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
fn a_flush_occupies_the_channel_for_its_whole_time() {
    let small = SmallDrive::default().with_buffer(8, 64).with_write_back(6);
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    submit(&mut device, Instant::ZERO, Request { op: Op::Write, lba: 4_000, ..BLANK });
    let written = device.proceed(Instant::FAR).expect("an answer").finished;
    submit(&mut device, written, Request { op: Op::Flush, tag: 1, sectors: 0, stamp: 2, ..BLANK });
    submit(&mut device, written, read(2, 1, 100));
    let done = completions(&mut device);
    let flushed = completion_of(&done, 1).finished;
    assert!(flushed.since(written) > Span::from_millis(1), "the arm and the platter");
    assert_eq!(completion_of(&done, 2).finished, alone_on_drive(&small, flushed, read(2, 1, 100)).finished);
}

#[test]
fn drives_that_share_a_channel_have_no_queue() {
    let small = SmallDrive::default().with_queue(8, Policy::Sptf);
    let depth = |drives_per_channel| Channel::build_above(drives_per_channel, ports(&small, 2), 2).limits(1).depth;
    assert_eq!((depth(1), depth(2)), (8, 1));
}

#[test]
fn a_command_that_waits_for_the_channel_can_be_aborted() {
    let small = SmallDrive::default();
    let mut device = Channel::build_above(2, ports(&small, 2), 2);
    submit(&mut device, Instant::ZERO, read(0, 0, 4_000));
    submit(&mut device, Instant::ZERO, read(1, 1, 0));
    let soon = Instant::ZERO + Span::from_micros(10);
    device.control(soon, &Control::Abort(1)).expect("it is in flight");
    let aborted = device.poll_completion().expect("at once");
    assert_eq!((aborted.tag, aborted.status, aborted.finished), (1, Status::Aborted, soon));
    assert_eq!(completions(&mut device), [alone_on_drive(&small, Instant::ZERO, read(0, 0, 4_000))]);
}

// ---- the bus

const BUS: ScsiSpec =
    ScsiSpec { rate: 100_000_000, command: Span::from_micros(10), reconnect: Span::from_micros(8), fair: false };

/// A drive whose own figures include the phases of [`BUS`], as those of a data sheet do.
fn scsi_drive() -> SmallDrive {
    let mut small = SmallDrive::default().with_queue(8, Policy::Fcfs);
    small.link.rate = BUS.rate;
    small.link.write_rate = BUS.rate;
    small.link.command = Span::from_micros(20);
    small
}

/// How long a transfer of `sectors` occupies the bus.
fn transfer_time(sectors: u64) -> Span {
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
        assert_eq!(completions(&mut device), [alone_on_drive(&small, now, request)], "seed {seed}");
    }
}

/// The streams wait for the read-ahead, or for room in the buffer.
#[test]
fn a_stream_alone_on_the_bus_loses_nothing() {
    let small = scsi_drive().with_buffer(8, 64).with_write_back(4);
    for op in [Op::Read, Op::Write] {
        let run_stream = |device: &mut dyn Device| {
            let (mut now, mut done) = (Instant::ZERO, Vec::new());
            for tag in 0..60 {
                submit(device, now, Request { op, sectors: 16, ..read(tag, 0, u64::from(tag) * 16) });
                done.push(device.proceed(Instant::FAR).expect("an answer"));
                now = done[tag as usize].finished;
            }
            done
        };
        let on_bus = run_stream(&mut ScsiBus::build_above(BUS, ports(&small, 1), 1));
        assert_eq!(on_bus, run_stream(&mut small.drive()), "{op:?}");
    }
}

#[test]
fn the_host_hands_over_one_command_at_a_time() {
    let small = scsi_drive();
    let mut device = ScsiBus::build_above(BUS, ports(&small, 3), 3);
    (0..3).for_each(|unit| submit(&mut device, Instant::ZERO, read(u32::from(unit), unit, 1_000 * u64::from(unit))));
    let done = completions(&mut device);
    for unit in 0..3u8 {
        let handed_over = Instant::ZERO + BUS.command.times(u64::from(unit));
        let alone = alone_on_drive(&small, handed_over, read(0, 0, 1_000 * u64::from(unit)));
        assert_eq!(completion_of(&done, u32::from(unit)).finished, alone.finished);
        let controller_time = completion_of(&done, u32::from(unit)).parts.get(Part::Controller);
        assert_eq!(controller_time, handed_over.since(Instant::ZERO));
    }
}

/// Three drives read equal blocks, so that all have their data at one instant. The highest number goes first, though it got
/// its command last. The time in which the bus is idle during the reads goes to the drive that got its command first.
#[test]
fn data_cross_one_after_another_by_number() {
    let slow = ScsiSpec { rate: 1_000_000, ..BUS };
    let small = scsi_drive();
    let mut device = ScsiBus::build_above(slow, ports(&small, 3), 3);
    (0..3).for_each(|unit| submit(&mut device, Instant::ZERO, read(u32::from(unit), unit, 1_000)));
    let done = completions(&mut device);
    let alone = alone_on_drive(&small, Instant::ZERO, read(0, 0, 1_000));
    let each = slow.reconnect + Rate::new(slow.rate).transfer_time(8 * 512);
    let idle = alone.parts.get(Part::Transfer) + alone.parts.get(Part::Link);
    assert_eq!(completion_of(&done, 2).finished, alone.finished + each);
    assert_eq!(completion_of(&done, 1).finished, alone.finished + each.times(2));
    assert_eq!(completion_of(&done, 0).finished, alone.finished + (each.times(3) - idle));
    for tag in 0..3 {
        let done = completion_of(&done, tag);
        assert_eq!(done.parts.total(), done.finished.since(Instant::ZERO));
    }
}

/// Sixty reads are served from the buffers of three drives. The bus is never idle, so that the last read ends when all
/// commands and data have crossed it.
#[test]
fn a_bus_is_never_idle_while_drives_wait_for_it() {
    let mut small = scsi_drive().with_buffer(4, 64);
    small.link.rate = 1_000_000_000;
    let mut device = ScsiBus::build_above(BUS, ports(&small, 3), 3);
    // Consecutive reads fill the buffers.
    let mut now = Instant::ZERO;
    for unit in 0..3 {
        submit(&mut device, now, Request { sectors: 32, ..read(u32::from(unit), unit, 0) });
        now = device.proceed(Instant::FAR).expect("an answer").finished + Span::from_millis(20);
    }
    let (begun, mut submitted, mut last) = (now, 0, now);
    let mut submit_read = |device: &mut dyn Device, now: Instant, unit: u8| {
        if submitted < 60 {
            submit(device, now, Request { sectors: 32, ..read(100 + submitted * 3 + u32::from(unit), unit, 0) });
            submitted += 1;
        }
    };
    (0..12).for_each(|turn| submit_read(&mut device, begun, turn % 3));
    while let Some(done) = device.proceed(Instant::FAR) {
        assert_eq!(done.parts.get(Part::Seek) + done.parts.get(Part::Rotation), Span::ZERO, "from the buffer");
        last = done.finished;
        submit_read(&mut device, done.finished, ((done.tag - 100) % 3) as u8);
    }
    let bus_time = (BUS.command + transfer_time(32)).times(60);
    assert_eq!(last.since(begun), bus_time);
}

/// Three drives have their data in their buffers and two outstanding commands each. The bus is fast enough for one of them.
#[test]
fn a_lower_number_waits_for_ever_unless_arbitration_is_fair() {
    let small = scsi_drive().with_buffer(4, 64);
    // By unit: how many of 90 commands are served.
    let served_commands = |fair| {
        let slow = ScsiSpec { rate: 1_000_000, fair, ..BUS };
        let mut device = ScsiBus::build_above(slow, ports(&small, 3), 3);
        let mut counts = [0; 3];
        let submit_read = |device: &mut dyn Device, now, unit: u8, tag| submit(device, now, read(tag, unit, 0));
        (0..6u8).for_each(|index| submit_read(&mut device, Instant::ZERO, index % 3, u32::from(index)));
        for _ in 0..90 {
            let done = device.proceed(Instant::FAR).expect("an answer");
            let unit = (done.tag % 3) as u8;
            counts[usize::from(unit)] += 1;
            submit_read(&mut device, done.finished, unit, done.tag);
        }
        counts
    };
    let (unfair, fair) = (served_commands(false), served_commands(true));
    assert!(unfair[0] < 3 && unfair[1] < unfair[2], "{unfair:?}");
    assert!(fair.iter().all(|&count| (29..=31).contains(&count)), "{fair:?}");
}

// ---- the contract

/// Checks the contract on an array whose drives share the cable that `build_cable` builds.
fn check_array(level: RaidLevel, seed: u64, build_cable: &dyn Fn(Box<dyn Device>, u32) -> Box<dyn Device>) {
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
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: None,
    };
    let volumes = spec.volumes(drive.drive().limits(0).sectors);
    let build_device =
        || -> Box<dyn Device> { Box::new(Array::build_above(spec.clone(), build_cable(ports(&drive, count), count))) };
    if let Err(violation) =
        check_array_conformance(&build_device, drive.cut_sector, &BlockCopies::new(&volumes, 0), seed)
    {
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
            let check_channel = |drives| {
                check_conformance(&|| Box::new(Channel::build_above(drives, ports(&small, 2), 2)), CutSector::Old, seed)
            };
            assert_eq!((check_channel(1).err(), check_channel(2).err()), (None, None), "{kind:?}, seed {seed}");
            let check_bus = |spec| {
                check_conformance(&|| Box::new(ScsiBus::build_above(spec, ports(&small, 2), 2)), CutSector::Old, seed)
            };
            assert_eq!((check_bus(BUS).err(), check_bus(slow).err()), (None, None), "{kind:?}, seed {seed}");
        }
    }
    for seed in 0..15 {
        for level in [RaidLevel::Linear, RaidLevel::Raid0, RaidLevel::Raid1, RaidLevel::Raid5] {
            check_array(level, seed, &|below, units| Box::new(Channel::build_above(2, below, units)));
            check_array(level, seed, &|below, units| Box::new(ScsiBus::build_above(BUS, below, units)));
            check_array(level, seed, &|below, units| Box::new(ScsiBus::build_above(slow, below, units)));
        }
    }
}
