//! Laws of a drive's queue (`drive/queuing.rs`, `queue.rs`): which commands wait for others, which go first, and how long a
//! command can be postponed. Expected values are worked out by hand, or are bounds that hold for random drives.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, LandingKind, Op, Queuing, Request, Status};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::WrittenHits;
use seekwise_disk::drive::recovery::WeakBlocks;
use seekwise_disk::host::driver::{Driver, DriverSpec};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Part;
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{SmallDrive, check_conformance, random_profile};
use seekwise_disk::time::{Instant, Span};

mod recovery;
mod revised;

/// 7,200 rpm: 60 s / 7,200 = 8.333333 ms, rounded down.
const REVOLUTION: u64 = 8_333_333;

const KINDS: [Queuing; 4] = [Queuing::None, Queuing::Tcq, Queuing::Ncq, Queuing::Scsi];

fn instant_us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

fn read(tag: u32, lba: u64) -> Request {
    request(tag, Op::Read, lba, 8)
}

fn write(tag: u32, lba: u64) -> Request {
    request(tag, Op::Write, lba, 8)
}

fn with_flags(request: Request, flags: Flags) -> Request {
    Request { flags, ..request }
}

const FLUSH: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

/// The completions of all requests in flight, in order.
fn completions(device: &mut dyn Device) -> Vec<Completion> {
    let mut completions = Vec::new();
    loop {
        while let Some(completion) = device.poll_completion() {
            completions.push(completion);
        }
        match device.poll_timeout() {
            Some(next) => device.handle_timeout(next),
            None => return completions,
        }
    }
}

fn submit(device: &mut dyn Device, now: Instant, requests: &[Request]) {
    device.handle_timeout(now);
    for &request in requests {
        device.submit(now, request).expect("room");
    }
}

fn tags(done: &[Completion]) -> Vec<u32> {
    done.iter().map(|completion| completion.tag).collect()
}

fn completion_of(done: &[Completion], tag: u32) -> Completion {
    *done.iter().find(|completion| completion.tag == tag).expect("answered")
}

fn drive_with_queue(kind: Queuing, depth: u32, policy: Policy) -> SmallDrive {
    let mut small = SmallDrive::default().with_queue(depth, policy);
    small.link.queuing = kind;
    small
}

// Depth

#[test]
fn each_kind_has_its_depth() {
    for (kind, depth, is_allowed) in [
        (Queuing::None, 1, true),
        (Queuing::None, 2, false),
        (Queuing::Tcq, 1, true),
        (Queuing::Tcq, 32, true),
        (Queuing::Tcq, 33, false),
        (Queuing::Ncq, 32, true),
        (Queuing::Ncq, 33, false),
        (Queuing::Scsi, 256, true),
        (Queuing::Scsi, 257, false),
    ] {
        let checked = drive_with_queue(kind, depth, Policy::Fcfs).profile().check();
        assert_eq!(checked.is_ok(), is_allowed, "{kind:?}, {depth}: {checked:?}");
        assert!(checked.err().is_none_or(|error| error.field == "firmware.depth"));
    }
}

#[test]
fn with_a_depth_of_one_all_kinds_are_equal() {
    for seed in 0..20 {
        let mut rng = Seed(seed).stream("kinds");
        let mut small = random_profile(&mut rng);
        small.firmware.depth = 1;
        let run = |kind: Queuing| {
            let mut small = small.clone();
            small.link.queuing = kind;
            let (mut drive, mut rng, mut now) = (small.drive(), Seed(seed).stream("requests"), Instant::ZERO);
            let mut completions = Vec::new();
            for tag in 0..60 {
                let op = [Op::Read, Op::Read, Op::Write, Op::Flush][rng.below(4) as usize];
                let sectors = if op == Op::Flush { 0 } else { 1 + rng.below(40) as u32 };
                submit(&mut drive, now, &[request(tag, op, rng.below(1_500), sectors)]);
                let done = drive.proceed(Instant::FAR).expect("answered");
                now = done.finished + Span::from_micros(rng.below(900));
                completions.push(done);
            }
            completions
        };
        let unqueued = run(Queuing::None);
        assert!(KINDS.iter().all(|&kind| run(kind) == unqueued), "seed {seed}");
    }
}

// Commands chosen before their turn

/// Submits a read, and reads at `lbas` during it, to a drive that plans `ahead` commands. Returns the tags in order of
/// completion.
fn completion_order(ahead: u32, lbas: &[u64]) -> Vec<u32> {
    let mut small = drive_with_queue(Queuing::Ncq, 16, Policy::Sptf);
    small.firmware.ahead = ahead;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    let waiting: Vec<Request> = lbas.iter().zip(1..).map(|(&lba, tag)| read(tag, lba)).collect();
    submit(&mut drive, instant_us(10), &waiting);
    tags(&completions(&mut drive))
}

/// Blocks that are far from the end of the first read, at 4,008, and near it, in turn. With a plan of three, the last two are
/// not planned.
const FAR_AND_NEAR_LBAS: [u64; 5] = [40, 4_100, 120, 4_060, 160];

#[test]
fn planned_commands_keep_their_order_and_the_others_compete_afterwards() {
    let unplanned = completion_order(0, &FAR_AND_NEAR_LBAS);
    assert!(unplanned[1] == 2 || unplanned[1] == 4, "without a plan a near one is first: {unplanned:?}");
    // Three commands are planned as they come. Where the third ends, the fifth is near and the fourth is not.
    assert_eq!(completion_order(3, &FAR_AND_NEAR_LBAS), [0, 1, 2, 3, 5, 4]);
    // A plan of all waiting commands has the order of arrival.
    assert_eq!(completion_order(5, &FAR_AND_NEAR_LBAS), [0, 1, 2, 3, 4, 5]);
}

/// The drive chooses by distance. Three commands wait during a read, one near and two far. When the near one is done and a far
/// one is chosen, two come that are nearer than the other far one.
#[test]
fn commands_that_come_during_a_round_wait_for_the_next() {
    let order_with_round = |round: u32| {
        let mut small = drive_with_queue(Queuing::Ncq, 16, Policy::Sstf);
        small.firmware.queue.round = round;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
        submit(&mut drive, instant_us(10), &[read(1, 40), read(2, 4_100), read(3, 7_000)]);
        let mut done = Vec::new();
        while let Some(now) = drive.poll_timeout() {
            drive.handle_timeout(now);
            while let Some(completion) = drive.poll_completion() {
                done.push(completion.tag);
                if completion.tag == 2 {
                    submit(&mut drive, now, &[read(4, 6_500), read(5, 2_000)]);
                }
            }
        }
        done
    };
    assert_eq!(order_with_round(0), [0, 2, 3, 4, 5, 1]);
    assert_eq!(order_with_round(100), [0, 2, 3, 1, 5, 4]);
}

#[test]
fn a_head_of_queue_command_passes_planned_ones() {
    let mut small = drive_with_queue(Queuing::Scsi, 16, Policy::Sptf);
    small.firmware.ahead = 4;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, instant_us(10), &[read(1, 40), read(2, 4_100), with_flags(read(3, 80), Flags::HEAD_OF_QUEUE)]);
    assert_eq!(tags(&completions(&mut drive)), [0, 3, 1, 2]);
}

/// Reads of two streams alternate, and all are planned. A read that continues the one in progress is served by its read-ahead.
#[test]
fn a_stream_is_read_past_planned_commands() {
    let mut small = drive_with_queue(Queuing::Ncq, 16, Policy::Sptf).with_buffer(4, 64);
    (small.firmware.ahead, small.cache.read_ahead.max) = (8, 64);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, instant_us(10), &[read(1, 40), read(2, 4_008), read(3, 48), read(4, 4_016)]);
    assert_eq!(tags(&completions(&mut drive)), [0, 2, 4, 1, 3]);
}

/// A command that has waited beyond the limit is planned next. A planned command waits only for those planned before it.
#[test]
fn a_limit_of_waiting_holds_for_commands_that_are_not_planned() {
    let mut small = drive_with_queue(Queuing::Ncq, 16, Policy::Sptf);
    (small.firmware.ahead, small.firmware.queue.max_wait) = (1, Some(Span::from_millis(15)));
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    let near = (2..12).map(|tag| read(tag, 4_000 + u64::from(tag) * 24));
    let waiting: Vec<Request> = [read(1, 4_016), read(15, 40)].into_iter().chain(near).collect();
    submit(&mut drive, instant_us(10), &waiting);
    let done = completions(&mut drive);
    let far = completion_of(&done, 15);
    let passed = done.iter().filter(|other| other.tag != 15 && other.finished < far.finished);
    let late = passed.filter(|other| other.finished > instant_us(15_010) + Span::from_nanos(3 * REVOLUTION)).count();
    assert_eq!(late, 0, "{done:?}");
    assert!(done.last().is_some_and(|last| last.tag != 15), "it passed some");
}

// A flush beside others

/// Runs two cached writes; then a flush and a read that come at once. Returns the completions of the flush and of the read.
fn flush_and_read_beside(kind: Queuing) -> (Completion, Completion) {
    let mut small = drive_with_queue(kind, 8, Policy::Fcfs).with_buffer(8, 64).with_write_back(6);
    small.cache.destage_idle = Span::from_secs(1);
    small.firmware.destage = Discipline::plain(Policy::Fcfs);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[write(1, 0), write(2, 4_000)]);
    drive.handle_timeout(instant_us(1_000));
    while drive.poll_completion().is_some() {}
    submit(&mut drive, instant_us(1_000), &[FLUSH, read(3, 8_000)]);
    let done = completions(&mut drive);
    (completion_of(&done, 0), completion_of(&done, 3))
}

#[test]
fn an_ata_flush_runs_alone_and_a_scsi_flush_beside_others() {
    for kind in [Queuing::Tcq, Queuing::Ncq] {
        let (flush, read) = flush_and_read_beside(kind);
        assert!(
            read.parts.get(Part::Flush) >= flush.finished.since(instant_us(1_000)),
            "{kind:?}: the read waits for the flush"
        );
    }
    let (flush, read) = flush_and_read_beside(Queuing::Scsi);
    assert!(read.finished < flush.finished, "the read is served beside the flush");
    assert_eq!(read.parts.total(), read.finished.since(read.submitted));
}

/// A SCSI drive destages for a flush, nearest first, while a read far away waits. The wait counts as [`Part::Flush`].
#[test]
fn a_queued_command_waits_behind_a_flush_while_the_drive_writes_back_for_it() {
    let flush_part = |with_flush: bool| {
        let mut small = drive_with_queue(Queuing::Scsi, 8, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
        small.cache.destage_idle = Span::from_secs(1);
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[write(1, 0), write(2, 40)]);
        drive.handle_timeout(instant_us(1_000));
        while drive.poll_completion().is_some() {}
        if with_flush {
            submit(&mut drive, instant_us(1_000), &[FLUSH]);
        }
        let begun = instant_us(1_001);
        drive.handle_timeout(begun);
        submit(&mut drive, begun, &[read(3, 8_000)]);
        let read = completion_of(&completions(&mut drive), 3);
        assert_eq!(read.parts.total(), read.finished.since(read.submitted));
        read.parts.get(Part::Flush)
    };
    assert!(flush_part(true) > Span::ZERO);
    assert_eq!(flush_part(false), Span::ZERO, "without a flush no command waits for one");
}

#[test]
fn an_ata_flush_waits_for_commands_in_flight() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let mut small = drive_with_queue(kind, 8, Policy::Fcfs).with_buffer(8, 64).with_write_back(6);
        small.cache.read_ahead.max = 0;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[read(1, 4_000), read(2, 400), FLUSH]);
        let done = completions(&mut drive);
        // Nothing is dirty: the flush takes no time once it is accepted.
        let expected = if kind == Queuing::Scsi { vec![0, 1, 2] } else { vec![1, 2, 0] };
        assert_eq!(tags(&done), expected, "{kind:?}");
        let flush = completion_of(&done, 0);
        let service_time = flush.finished.since(Instant::ZERO) - flush.parts.get(Part::Queue);
        assert_eq!(service_time, Span::ZERO, "{kind:?}: {flush:?}");
    }
}

// Orders

#[test]
fn an_ordered_command_goes_after_all_earlier_and_before_all_later_ones() {
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("ordered");
        let mut small = random_profile(&mut rng);
        small.firmware.depth = 32;
        small.link.queuing = Queuing::Scsi;
        small.weak.clear();
        let mut device: Box<dyn Device> = Box::new(small.drive());
        if rng.draw_chance(50) {
            let queue = Discipline::plain(Policy::CLook);
            device = Box::new(Driver::build_above(DriverSpec::plain(64, 5, queue, 16), device));
        }
        let ordered = 3 + rng.below(20) as u32;
        let requests: Vec<Request> = (0..28)
            .map(|tag| {
                let op = [Op::Read, Op::Write, Op::Flush][rng.below(3) as usize];
                let sectors = if op == Op::Flush { 0 } else { 1 + rng.below(60) as u32 };
                let flags = if tag == ordered { Flags::ORDERED } else { Flags::NONE };
                with_flags(request(tag, op, rng.below(1_200), sectors), flags)
            })
            .collect();
        submit(&mut *device, Instant::ZERO, &requests);
        let done = completions(&mut *device);
        let index = done.iter().position(|completion| completion.tag == ordered).expect("answered");
        assert!(done[..index].iter().all(|completion| completion.tag < ordered), "seed {seed}: {:?}", tags(&done));
        assert!(done[index + 1..].iter().all(|completion| completion.tag > ordered), "seed {seed}: {:?}", tags(&done));
        assert!(done.iter().all(|completion| completion.status == Status::Done));
    }
}

#[test]
fn a_head_of_queue_command_is_next() {
    for policy in [Policy::Fcfs, Policy::Sptf, Policy::CLook] {
        let small = drive_with_queue(Queuing::Scsi, 8, policy);
        let mut drive = small.drive();
        submit(
            &mut drive,
            Instant::ZERO,
            &[read(0, 0), read(1, 100), read(2, 200), with_flags(read(3, 300), Flags::ORDERED)],
        );
        submit(&mut drive, instant_us(10), &[read(4, 10), with_flags(read(5, 8_000), Flags::HEAD_OF_QUEUE)]);
        let order = tags(&completions(&mut drive));
        assert_eq!((order[1], order[5]), (5, 4), "after the access in progress, before the ordered one: {order:?}");
        assert_eq!(order[4], 3);
    }
}

#[test]
fn a_queue_without_orders_refuses_ordered_commands() {
    for kind in KINDS {
        for flags in [Flags::ORDERED, Flags::HEAD_OF_QUEUE] {
            let mut drive = drive_with_queue(kind, 1, Policy::Fcfs).drive();
            submit(&mut drive, Instant::ZERO, &[with_flags(read(0, 0), flags)]);
            let status = completions(&mut drive)[0].status;
            // A queue of one keeps any order.
            let expected = if kind.is_ata() { Status::Unsupported } else { Status::Done };
            assert_eq!(status, expected, "{kind:?}");
        }
    }
}

#[test]
fn priority_goes_first_where_it_is_honoured_until_others_wait_too_long() {
    // How many commands complete before command 2, which has no priority; 99 if it is not among the first twelve.
    let served_before = |honours_priority: bool, max_wait: Option<Span>| {
        let mut small = drive_with_queue(Queuing::Ncq, 8, Policy::Fcfs);
        small.firmware.priority = honours_priority;
        small.firmware.queue.max_wait = max_wait;
        let mut drive = small.drive();
        let urgent = |tag| with_flags(read(tag, 3_000), Flags::PRIORITY);
        submit(&mut drive, Instant::ZERO, &[read(0, 8), read(1, 100), read(2, 200), urgent(3), urgent(4)]);
        let (mut order, mut next_tag) = (Vec::new(), 5);
        while order.len() < 12 {
            drive.handle_timeout(drive.poll_timeout().expect("in flight"));
            while let Some(completion) = drive.poll_completion() {
                order.push(completion.tag);
                if completion.tag >= 3 {
                    submit(&mut drive, completion.finished, &[urgent(next_tag)]);
                    next_tag += 1;
                }
            }
        }
        order.iter().position(|&tag| tag == 2).unwrap_or(99)
    };
    assert_eq!(served_before(false, None), 2, "a drive that does not honour priority serves in order");
    assert_eq!(served_before(true, None), 99, "a stream with priority starves the others");
    let passed = served_before(true, Some(Span::from_millis(40)));
    assert!((5..10).contains(&passed), "{passed}: about five revolutions");
}

// Legacy tagged queuing

#[test]
fn a_release_of_the_bus_takes_a_service_command() {
    let mut small = drive_with_queue(Queuing::Ncq, 8, Policy::Fcfs).with_buffer(4, 256);
    small.overhead.read_hit = small.overhead.read_miss;
    let run_miss_and_hit = |kind: Queuing| {
        let mut small = small.clone();
        small.link.queuing = kind;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 1)]);
        let miss = completions(&mut drive)[0];
        submit(&mut drive, instant_us(50_000), &[read(1, 8)]);
        (miss, completions(&mut drive)[0])
    };
    let ((tagged_miss, tagged_hit), (native_miss, native_hit)) =
        (run_miss_and_hit(Queuing::Tcq), run_miss_and_hit(Queuing::Ncq));
    let link = |completion: &Completion| completion.parts.get(Part::Link);
    assert_eq!(tagged_hit, native_hit, "a hit keeps the bus");
    assert_eq!(link(&tagged_miss) - link(&native_miss), Span::from_micros(10));
}

#[test]
fn a_command_waits_for_data_on_the_same_bus() {
    let run = |kind: Queuing| {
        let mut small = drive_with_queue(kind, 8, Policy::Fcfs).with_buffer(4, 1024);
        (small.link.rate, small.link.command) = (10_000_000, Span::from_micros(5));
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 64)]);
        completions(&mut drive);
        // 256 buffered sectors take 13 ms at 10 MB/s.
        submit(&mut drive, instant_us(100_000), &[request(1, Op::Read, 0, 256)]);
        submit(&mut drive, instant_us(101_000), &[read(2, 9_000 - 512)]);
        completion_of(&completions(&mut drive), 2)
    };
    let (tagged, native) = (run(Queuing::Tcq), run(Queuing::Ncq));
    assert!(native.parts.get(Part::Link) < Span::from_millis(2), "{native:?}");
    assert!(tagged.parts.get(Part::Link) > Span::from_millis(11), "{tagged:?}");
}

// The tail

/// Runs an endless stream of sequential reads with `depth` outstanding, and one read elsewhere. Returns how long that read takes,
/// at most `end`.
fn wait_beside_stream(small: &SmallDrive, depth: u32, end: Span) -> Span {
    let mut drive = small.drive();
    let mut next_lba = 0u64;
    let mut next_of_stream = |tag: u32| {
        let lba = next_lba;
        next_lba += 16;
        request(tag, Op::Read, lba, 16)
    };
    for tag in 0..depth {
        submit(&mut drive, instant_us(1_000 * u64::from(tag)), &[next_of_stream(tag)]);
    }
    submit(&mut drive, instant_us(1_000 * u64::from(depth)), &[read(99, 51_000)]);
    while let Some(now) = drive.poll_timeout().filter(|&now| now <= Instant::ZERO + end) {
        drive.handle_timeout(now);
        while let Some(completion) = drive.poll_completion() {
            if completion.tag == 99 {
                return completion.finished.since(completion.submitted);
            }
            submit(&mut drive, now, &[next_of_stream(completion.tag)]);
        }
    }
    end
}

/// A drive with a long read-ahead.
fn read_ahead_drive(queue: Discipline) -> SmallDrive {
    let mut small = drive_with_queue(Queuing::Ncq, 32, Policy::Sptf).with_buffer(8, 256);
    (small.cache.read_ahead.over_requested, small.zones) = (true, vec![(400, 64)]);
    small.firmware.queue = queue;
    small
}

#[test]
fn a_reader_beside_a_stream_starves_without_ageing() {
    let plain = Discipline::plain(Policy::Sptf);
    // The stream reaches the end of the drive after seven seconds.
    let six_seconds = Span::from_secs(6);
    assert_eq!(wait_beside_stream(&read_ahead_drive(plain), 8, six_seconds), six_seconds, "not in six seconds");
    let in_order = Discipline::plain(Policy::Fcfs);
    // The wait is for the eight commands before it, and for a revolution of each that had passed its block.
    let waited = wait_beside_stream(&read_ahead_drive(in_order), 8, six_seconds);
    assert!(waited < Span::from_millis(100), "{waited}");
    let limited = Discipline { max_wait: Some(Span::from_millis(300)), ..plain };
    let waited = wait_beside_stream(&read_ahead_drive(limited), 8, six_seconds);
    assert!(waited > Span::from_millis(250) && waited < Span::from_millis(400), "{waited}");
    let aged = Discipline { ageing: 100, ..plain };
    let waited = wait_beside_stream(&read_ahead_drive(aged), 8, six_seconds);
    // After 130 ms a tenth of its wait outweighs a seek and a revolution, 13 ms. The access in progress comes first.
    assert!(waited < Span::from_millis(200), "{waited}");
}

/// With rounds or patience a command waits at most for two rounds. A round has as many accesses as the drive holds commands.
#[test]
fn a_reader_beside_a_stream_is_served_within_two_rounds() {
    let plain = Discipline::plain(Policy::Sptf);
    let is_in_time = |queue: Discipline, depth: u32| {
        let small = read_ahead_drive(queue);
        let two_rounds = Span::from_nanos(longest_access(&small).nanos() * 2 * u64::from(depth + 1));
        wait_beside_stream(&small, depth, Span::from_secs(6)) <= two_rounds
    };
    for depth in [8, 12, 16] {
        assert!(is_in_time(Discipline { round: 100, ..plain }, depth), "{depth}");
        assert!(is_in_time(Discipline { round: 50, ..plain }, depth), "{depth}");
        assert!(is_in_time(Discipline { patience: 2, ..plain }, depth), "{depth}");
        assert!(!is_in_time(plain, depth), "{depth}: without rounds the reader starves");
    }
}

/// An upper bound of the time of an access of up to 300 sectors: a seek over all cylinders and two revolutions for each track, and
/// all retries of weak blocks.
fn longest_access(small: &SmallDrive) -> Span {
    let revolution = Span::from_nanos(60_000_000_000_000 / small.millirpm + 1);
    let tracks = 2 + 300 / u64::from(small.zones.iter().map(|zone| zone.1).min().unwrap_or(1));
    let retries: u64 = small.weak.iter().map(|weak| u64::from(weak.retries)).sum();
    let positioning = small.seek.2 + small.head_switch + small.write_settle + revolution;
    Span::from_nanos((positioning.nanos() + revolution.nanos()) * tracks + retries * revolution.nanos())
}

/// Runs a random load of reads that hit and miss, cached and uncached writes, and flushes. Returns the longest wait of a command
/// for the medium, and that of a flush.
fn longest_waits(small: &SmallDrive, seed: u64) -> (Span, Span) {
    let (mut drive, mut rng): (Drive, Rng) = (small.drive(), Seed(seed).stream("load"));
    let sectors = drive.limits(0).sectors;
    let stream_percent = [0, 50, 90][rng.below(3) as usize];
    let read_percent = [50, 90, 100][rng.below(3) as usize];
    let mut stream_end = 0;
    let mut draw = |tag: u32| {
        let length = 1 + rng.below(24) as u32;
        let is_of_stream = rng.draw_chance(stream_percent);
        let lba = if is_of_stream { stream_end } else { rng.below(sectors - 24) };
        if is_of_stream {
            stream_end = (stream_end + u64::from(length)) % (sectors - 24);
        }
        match rng.below(100) {
            0 => Request { tag, ..FLUSH },
            percent if percent < read_percent => request(tag, Op::Read, lba, length),
            _ => request(tag, Op::Write, lba, length),
        }
    };
    let (mut longest_wait, mut longest_flush_wait) = (Span::ZERO, Span::ZERO);
    for tag in 0..small.firmware.depth {
        submit(&mut drive, Instant::ZERO, &[draw(tag)]);
    }
    let mut is_flush = vec![false; 256];
    for _ in 0..1_500 {
        let now = drive.poll_timeout().expect("in flight");
        drive.handle_timeout(now);
        while let Some(done) = drive.poll_completion() {
            match is_flush[done.tag as usize] {
                true => longest_flush_wait = longest_flush_wait.max(done.parts.get(Part::Flush)),
                false => longest_wait = longest_wait.max(done.parts.get(Part::Queue) + done.parts.get(Part::Flush)),
            }
            let next = draw(done.tag);
            is_flush[done.tag as usize] = next.op == Op::Flush;
            submit(&mut drive, now, &[next]);
        }
    }
    (longest_wait, longest_flush_wait)
}

/// A command waits for the medium at most for `max_wait` and for the accesses that may go before it: those of the other commands
/// in the drive, and of its dirty segments. A flush waits at most for the limit of its segments and for such accesses of each.
#[test]
fn no_command_waits_longer_than_the_limit_allows() {
    let mut limited = 0;
    for seed in 0..120 {
        let mut small = random_profile(&mut Seed(seed).stream("tail"));
        small.link.queuing = Queuing::Scsi;
        small.firmware.depth = [2, 4, 16][seed as usize % 3];
        small.firmware.queue.max_wait = Some(Span::from_millis(50));
        small.firmware.destage.max_wait = Some(Span::from_millis(80));
        let (queue, flush) = longest_waits(&small, seed);
        let accesses = u64::from(small.firmware.depth + small.cache.max_dirty_runs()) + 2;
        let access_time = Span::from_nanos(longest_access(&small).nanos() * accesses);
        assert!(queue <= Span::from_millis(50) + access_time, "seed {seed}: {queue}, {access_time}\n{small:?}");
        let flush_time = Span::from_nanos(access_time.nanos() * (u64::from(small.cache.max_dirty_runs()) + 1));
        assert!(flush <= Span::from_millis(80) + flush_time, "seed {seed}: {flush}, {flush_time}\n{small:?}");
        limited += u32::from(queue > Span::from_millis(50));
    }
    assert!(limited > 30, "{limited}: the limit was reached");
}

/// Each read continues the last one, at no cost. Two cached writes are far away, and a flush waits for them.
#[test]
fn cheap_reads_do_not_postpone_a_flush_beyond_its_limit() {
    let flush_time = |limit: Option<Span>| {
        let mut small = drive_with_queue(Queuing::Scsi, 8, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
        (small.cache.read_ahead.max, small.cache.destage_idle) = (0, Span::from_secs(1));
        small.firmware.destage = Discipline { max_wait: limit, ..Discipline::plain(Policy::Sptf) };
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[write(100, 8_500), write(101, 8_800)]);
        drive.handle_timeout(instant_us(100));
        while drive.poll_completion().is_some() {}
        let mut lba = 0u64;
        let mut next_read = |tag: u32| {
            lba += 8;
            read(tag, lba)
        };
        for tag in 1..8 {
            submit(&mut drive, instant_us(100), &[next_read(tag)]);
        }
        submit(&mut drive, instant_us(100), &[FLUSH]);
        while let Some(now) = drive.poll_timeout().filter(|&now| now < instant_us(800_000)) {
            drive.handle_timeout(now);
            while let Some(completion) = drive.poll_completion() {
                match completion.tag {
                    0 => return completion.finished.since(instant_us(100)),
                    tag => submit(&mut drive, now, &[next_read(tag)]),
                }
            }
        }
        Span::from_secs(20)
    };
    assert_eq!(flush_time(None), Span::from_secs(20), "not while the reads continue");
    let limited = flush_time(Some(Span::from_millis(200)));
    assert!(limited > Span::from_millis(190) && limited < Span::from_millis(260), "{limited}");
}

#[test]
fn a_segment_that_is_dirty_for_too_long_is_written_out_though_the_drive_is_busy() {
    let mut small = drive_with_queue(Queuing::Ncq, 4, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
    small.firmware.destage = Discipline { max_wait: Some(Span::from_millis(500)), ..Discipline::plain(Policy::Fcfs) };
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("known");
    submit(&mut drive, Instant::ZERO, &[write(0, 8_000), read(1, 0), read(2, 700)]);
    let mut rng = Seed(3).stream("reads");
    while let Some(now) = drive.poll_timeout().filter(|&now| now < instant_us(2_000_000)) {
        drive.handle_timeout(now);
        while let Some(completion) = drive.poll_completion() {
            if completion.tag > 0 {
                submit(&mut drive, now, &[read(completion.tag, rng.below(6_000))]);
            }
        }
    }
    let landing = drive.poll_landing().expect("written out");
    assert!(landing.to > instant_us(500_000) && landing.to < instant_us(560_000), "{landing:?}");
}

/// Each second command waits for one thing alone, and is aborted after a millisecond.
#[test]
fn an_aborted_command_has_its_wait_in_its_parts() {
    let mut small = SmallDrive::default().with_buffer(2, 16).with_write_back(1).with_queue(4, Policy::Fcfs);
    small.cache.destage_idle = Span::from_secs(1);
    let flush = Request { tag: 1, ..FLUSH };
    for (first, second, hits, part) in [
        // Block 32 passes after half a revolution, 4.2 ms.
        (read(0, 32), read(1, 1_000), WrittenHits::Cached, Part::Queue),
        (write(0, 32), flush, WrittenHits::Cached, Part::Flush),
        // No more than one segment may be dirty.
        (write(0, 32), write(1, 1_000), WrittenHits::Cached, Part::Cache),
        (write(0, 32), with_flags(write(1, 32), Flags::FUA), WrittenHits::Cached, Part::Cache),
        (write(0, 32), read(1, 32), WrittenHits::None, Part::Cache),
    ] {
        small.cache.written_hits = hits;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[first, second]);
        drive.control(instant_us(1_000), &Control::Abort(1)).expect("in flight");
        let aborted = completion_of(&completions(&mut drive), 1);
        assert_eq!((aborted.status, aborted.finished), (Status::Aborted, instant_us(1_000)), "{second:?}");
        assert_eq!(aborted.parts.get(part), Span::from_millis(1), "{second:?}: {:?}", aborted.parts);
    }
}
