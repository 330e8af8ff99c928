//! Laws of queuing: which commands wait for which, which go first, how long a command can be postponed.

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

fn at(us: u64) -> Instant {
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

fn marked(request: Request, flags: Flags) -> Request {
    Request { flags, ..request }
}

const FLUSH: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

/// All answers to the requests in flight, in their order.
fn answers(device: &mut dyn Device) -> Vec<Completion> {
    let mut all = Vec::new();
    loop {
        while let Some(completion) = device.poll_completion() {
            all.push(completion);
        }
        match device.poll_timeout() {
            Some(next) => device.handle_timeout(next),
            None => return all,
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

fn of(done: &[Completion], tag: u32) -> Completion {
    *done.iter().find(|completion| completion.tag == tag).expect("answered")
}

fn queued(kind: Queuing, depth: u32, policy: Policy) -> SmallDrive {
    let mut small = SmallDrive::default().with_queue(depth, policy);
    small.link.queuing = kind;
    small
}

// How deep

#[test]
fn each_kind_has_its_depth() {
    for (kind, depth, fits) in [
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
        let checked = queued(kind, depth, Policy::Fcfs).profile().check();
        assert_eq!(checked.is_ok(), fits, "{kind:?}, {depth}: {checked:?}");
        assert!(checked.err().is_none_or(|error| error.field == "firmware.depth"));
    }
}

#[test]
fn with_one_outstanding_all_kinds_are_alike() {
    for seed in 0..20 {
        let mut rng = Seed(seed).stream("kinds");
        let mut small = random_profile(&mut rng);
        small.firmware.depth = 1;
        let run = |kind: Queuing| {
            let mut small = small.clone();
            small.link.queuing = kind;
            let (mut drive, mut rng, mut now) = (small.drive(), Seed(seed).stream("requests"), Instant::ZERO);
            let mut all = Vec::new();
            for tag in 0..60 {
                let op = [Op::Read, Op::Read, Op::Write, Op::Flush][rng.below(4) as usize];
                let sectors = if op == Op::Flush { 0 } else { 1 + rng.below(40) as u32 };
                submit(&mut drive, now, &[request(tag, op, rng.below(1_500), sectors)]);
                let done = drive.proceed(Instant::FAR).expect("answered");
                now = done.finished + Span::from_micros(rng.below(900));
                all.push(done);
            }
            all
        };
        let one = run(Queuing::None);
        assert!(KINDS.iter().all(|&kind| run(kind) == one), "seed {seed}");
    }
}

// Commands chosen before their turn

/// A long read, then others during it: the order in which all are answered.
fn order_of(ahead: u32, places: &[u64]) -> Vec<u32> {
    let mut small = queued(Queuing::Ncq, 16, Policy::Sptf);
    small.firmware.ahead = ahead;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    let waiting: Vec<Request> = places.iter().zip(1..).map(|(&lba, tag)| read(tag, lba)).collect();
    submit(&mut drive, at(10), &waiting);
    tags(&answers(&mut drive))
}

/// Far and near in turn from the first, whose end is at 4,008; the last two after the end of the plan.
const FAR_AND_NEAR: [u64; 5] = [40, 4_100, 120, 4_060, 160];

#[test]
fn what_is_planned_keeps_its_order_and_the_rest_competes_for_its_end() {
    let free = order_of(0, &FAR_AND_NEAR);
    assert!(free[1] == 2 || free[1] == 4, "a near one goes first where nothing is planned: {free:?}");
    // Three are planned as they come. Where the third ends, the fifth is near and the fourth is not.
    assert_eq!(order_of(3, &FAR_AND_NEAR), [0, 1, 2, 3, 5, 4]);
    // As many as wait: in order of arrival.
    assert_eq!(order_of(5, &FAR_AND_NEAR), [0, 1, 2, 3, 4, 5]);
}

/// Three wait during a read, one near and two far, by distance alone; when the near one is done and the second far one chosen,
/// two come that are nearer than the third.
#[test]
fn what_comes_during_a_round_waits_for_the_next() {
    let order = |round: u32| {
        let mut small = queued(Queuing::Ncq, 16, Policy::Sstf);
        small.firmware.queue.round = round;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
        submit(&mut drive, at(10), &[read(1, 40), read(2, 4_100), read(3, 7_000)]);
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
    assert_eq!(order(0), [0, 2, 3, 4, 5, 1]);
    assert_eq!(order(100), [0, 2, 3, 1, 5, 4]);
}

#[test]
fn one_for_the_head_of_the_queue_passes_what_is_planned() {
    let mut small = queued(Queuing::Scsi, 16, Policy::Sptf);
    small.firmware.ahead = 4;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, at(10), &[read(1, 40), read(2, 4_100), marked(read(3, 80), Flags::HEAD_OF_QUEUE)]);
    assert_eq!(tags(&answers(&mut drive)), [0, 3, 1, 2]);
}

/// Two streams in turn, all planned: a read that continues the one under way rides on its read-ahead.
#[test]
fn a_stream_is_read_on_past_what_is_planned() {
    let mut small = queued(Queuing::Ncq, 16, Policy::Sptf).with_buffer(4, 64);
    (small.firmware.ahead, small.cache.read_ahead.max) = (8, 64);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    submit(&mut drive, at(10), &[read(1, 40), read(2, 4_008), read(3, 48), read(4, 4_016)]);
    assert_eq!(tags(&answers(&mut drive)), [0, 2, 4, 1, 3]);
}

/// A command that has waited beyond the limit is planned next, and a planned command waits only for those before it.
#[test]
fn a_limit_of_waiting_holds_for_what_is_not_planned() {
    let mut small = queued(Queuing::Ncq, 16, Policy::Sptf);
    (small.firmware.ahead, small.firmware.queue.max_wait) = (1, Some(Span::from_millis(15)));
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[read(0, 4_000)]);
    let near = (2..12).map(|tag| read(tag, 4_000 + u64::from(tag) * 24));
    let waiting: Vec<Request> = [read(1, 4_016), read(15, 40)].into_iter().chain(near).collect();
    submit(&mut drive, at(10), &waiting);
    let done = answers(&mut drive);
    let far = of(&done, 15);
    let passed = done.iter().filter(|one| one.tag != 15 && one.finished < far.finished);
    let late = passed.filter(|one| one.finished > at(15_010) + Span::from_nanos(3 * REVOLUTION)).count();
    assert_eq!(late, 0, "{done:?}");
    assert!(done.last().is_some_and(|last| last.tag != 15), "it passed some");
}

// A flush beside others

/// Two cached writes, a flush and a read at once: the read's answer and the flush's.
fn flush_beside_a_read(kind: Queuing) -> (Completion, Completion) {
    let mut small = queued(kind, 8, Policy::Fcfs).with_buffer(8, 64).with_write_back(6);
    small.cache.destage_idle = Span::from_secs(1);
    small.firmware.destage = Discipline::plain(Policy::Fcfs);
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, &[write(1, 0), write(2, 4_000)]);
    drive.handle_timeout(at(1_000));
    while drive.poll_completion().is_some() {}
    submit(&mut drive, at(1_000), &[FLUSH, read(3, 8_000)]);
    let done = answers(&mut drive);
    (of(&done, 0), of(&done, 3))
}

#[test]
fn an_ata_flush_is_alone_and_a_scsi_flush_is_one_of_many() {
    for kind in [Queuing::Tcq, Queuing::Ncq] {
        let (flush, read) = flush_beside_a_read(kind);
        assert!(
            read.parts.get(Part::Flush) >= flush.finished.since(at(1_000)),
            "{kind:?}: the read waits for the flush"
        );
    }
    let (flush, read) = flush_beside_a_read(Queuing::Scsi);
    assert!(read.finished < flush.finished, "the read is served beside the flush");
    assert_eq!(read.parts.total(), read.finished.since(read.submitted));
}

/// A SCSI drive destages for a flush, nearest first, while a read on the far side waits: that wait counts as flush.
#[test]
fn a_queued_command_waits_behind_a_flush_while_the_drive_writes_back_for_it() {
    let waits = |flushed: bool| {
        let mut small = queued(Queuing::Scsi, 8, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
        small.cache.destage_idle = Span::from_secs(1);
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[write(1, 0), write(2, 40)]);
        drive.handle_timeout(at(1_000));
        while drive.poll_completion().is_some() {}
        if flushed {
            submit(&mut drive, at(1_000), &[FLUSH]);
        }
        let begun = at(1_001);
        drive.handle_timeout(begun);
        submit(&mut drive, begun, &[read(3, 8_000)]);
        let read = of(&answers(&mut drive), 3);
        assert_eq!(read.parts.total(), read.finished.since(read.submitted));
        read.parts.get(Part::Flush)
    };
    assert!(waits(true) > Span::ZERO);
    assert_eq!(waits(false), Span::ZERO, "without a flush nobody waits for one");
}

#[test]
fn an_ata_flush_waits_for_what_is_under_way() {
    for kind in [Queuing::Tcq, Queuing::Ncq, Queuing::Scsi] {
        let mut small = queued(kind, 8, Policy::Fcfs).with_buffer(8, 64).with_write_back(6);
        small.cache.read_ahead.max = 0;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[read(1, 4_000), read(2, 400), FLUSH]);
        let done = answers(&mut drive);
        // Nothing is dirty: the flush costs its command, once it is accepted.
        let expected = if kind == Queuing::Scsi { vec![0, 1, 2] } else { vec![1, 2, 0] };
        assert_eq!(tags(&done), expected, "{kind:?}");
        let flush = of(&done, 0);
        let served = flush.finished.since(Instant::ZERO) - flush.parts.get(Part::Queue);
        assert_eq!(served, Span::ZERO, "{kind:?}: {flush:?}");
    }
}

// Orders

#[test]
fn ordered_has_all_earlier_before_it_and_all_later_behind() {
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
                marked(request(tag, op, rng.below(1_200), sectors), flags)
            })
            .collect();
        submit(&mut *device, Instant::ZERO, &requests);
        let done = answers(&mut *device);
        let place = done.iter().position(|completion| completion.tag == ordered).expect("answered");
        assert!(done[..place].iter().all(|completion| completion.tag < ordered), "seed {seed}: {:?}", tags(&done));
        assert!(done[place + 1..].iter().all(|completion| completion.tag > ordered), "seed {seed}: {:?}", tags(&done));
        assert!(done.iter().all(|completion| completion.status == Status::Done));
    }
}

#[test]
fn head_of_queue_is_next() {
    for policy in [Policy::Fcfs, Policy::Sptf, Policy::CLook] {
        let small = queued(Queuing::Scsi, 8, policy);
        let mut drive = small.drive();
        submit(
            &mut drive,
            Instant::ZERO,
            &[read(0, 0), read(1, 100), read(2, 200), marked(read(3, 300), Flags::ORDERED)],
        );
        submit(&mut drive, at(10), &[read(4, 10), marked(read(5, 8_000), Flags::HEAD_OF_QUEUE)]);
        let order = tags(&answers(&mut drive));
        assert_eq!((order[1], order[5]), (5, 4), "behind the access in progress, past the ordered one: {order:?}");
        assert_eq!(order[4], 3);
    }
}

#[test]
fn an_order_that_is_not_kept_is_refused() {
    for kind in KINDS {
        for flags in [Flags::ORDERED, Flags::HEAD_OF_QUEUE] {
            let mut drive = queued(kind, 1, Policy::Fcfs).drive();
            submit(&mut drive, Instant::ZERO, &[marked(read(0, 0), flags)]);
            let status = answers(&mut drive)[0].status;
            // One at a time is in order by itself.
            let expected = if kind.is_ata() { Status::Unsupported } else { Status::Done };
            assert_eq!(status, expected, "{kind:?}");
        }
    }
}

#[test]
fn priority_goes_first_where_it_is_honoured_until_others_wait_too_long() {
    let run = |honoured: bool, max_wait: Option<Span>| {
        let mut small = queued(Queuing::Ncq, 8, Policy::Fcfs);
        small.firmware.priority = honoured;
        small.firmware.queue.max_wait = max_wait;
        let mut drive = small.drive();
        let urgent = |tag| marked(read(tag, 3_000), Flags::PRIORITY);
        submit(&mut drive, Instant::ZERO, &[read(0, 8), read(1, 100), read(2, 200), urgent(3), urgent(4)]);
        let (mut order, mut next) = (Vec::new(), 5);
        while order.len() < 12 {
            drive.handle_timeout(drive.poll_timeout().expect("in flight"));
            while let Some(completion) = drive.poll_completion() {
                order.push(completion.tag);
                if completion.tag >= 3 {
                    submit(&mut drive, completion.finished, &[urgent(next)]);
                    next += 1;
                }
            }
        }
        order.iter().position(|&tag| tag == 2).unwrap_or(99)
    };
    assert_eq!(run(false, None), 2, "a drive that does not honour it serves in order");
    assert_eq!(run(true, None), 99, "a stream of them starves the others");
    let waits = run(true, Some(Span::from_millis(40)));
    assert!((5..10).contains(&waits), "{waits}: about five revolutions");
}

// Legacy tagged queuing

#[test]
fn a_release_costs_its_service() {
    let mut small = queued(Queuing::Ncq, 8, Policy::Fcfs).with_buffer(4, 256);
    small.overhead.read_hit = small.overhead.read_miss;
    let run = |kind: Queuing| {
        let mut small = small.clone();
        small.link.queuing = kind;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 1)]);
        let miss = answers(&mut drive)[0];
        submit(&mut drive, at(50_000), &[read(1, 8)]);
        (miss, answers(&mut drive)[0])
    };
    let (tagged, native) = (run(Queuing::Tcq), run(Queuing::Ncq));
    let link = |completion: &Completion| completion.parts.get(Part::Link);
    assert_eq!(tagged.1, native.1, "from the buffer at once: the bus is kept");
    assert_eq!(link(&tagged.0) - link(&native.0), Span::from_micros(10));
}

#[test]
fn a_command_waits_for_data_on_the_same_bus() {
    let run = |kind: Queuing| {
        let mut small = queued(kind, 8, Policy::Fcfs).with_buffer(4, 1024);
        (small.link.rate, small.link.command) = (10_000_000, Span::from_micros(5));
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[request(0, Op::Read, 0, 64)]);
        answers(&mut drive);
        // 256 buffered sectors take 13 ms at 10 MB/s.
        submit(&mut drive, at(100_000), &[request(1, Op::Read, 0, 256)]);
        submit(&mut drive, at(101_000), &[read(2, 9_000 - 512)]);
        of(&answers(&mut drive), 2)
    };
    let (tagged, native) = (run(Queuing::Tcq), run(Queuing::Ncq));
    assert!(native.parts.get(Part::Link) < Span::from_millis(2), "{native:?}");
    assert!(tagged.parts.get(Part::Link) > Span::from_millis(11), "{tagged:?}");
}

// The tail

/// An endless stream of sequential reads, and one read elsewhere: how long that waits, up to `end`.
fn beside_a_stream(small: &SmallDrive, depth: u32, end: Span) -> Span {
    let mut drive = small.drive();
    let mut next = 0u64;
    let mut ahead = |tag: u32| {
        let lba = next;
        next += 16;
        request(tag, Op::Read, lba, 16)
    };
    for tag in 0..depth {
        submit(&mut drive, at(1_000 * u64::from(tag)), &[ahead(tag)]);
    }
    submit(&mut drive, at(1_000 * u64::from(depth)), &[read(99, 51_000)]);
    while let Some(now) = drive.poll_timeout().filter(|&now| now <= Instant::ZERO + end) {
        drive.handle_timeout(now);
        while let Some(completion) = drive.poll_completion() {
            if completion.tag == 99 {
                return completion.finished.since(completion.submitted);
            }
            submit(&mut drive, now, &[ahead(completion.tag)]);
        }
    }
    end
}

fn prefetching(queue: Discipline) -> SmallDrive {
    let mut small = queued(Queuing::Ncq, 32, Policy::Sptf).with_buffer(8, 256);
    (small.cache.read_ahead.over_requested, small.zones) = (true, vec![(400, 64)]);
    small.firmware.queue = queue;
    small
}

#[test]
fn a_reader_beside_a_stream_starves_without_ageing() {
    let plain = Discipline::plain(Policy::Sptf);
    // The stream is over after seven.
    let long = Span::from_secs(6);
    assert_eq!(beside_a_stream(&prefetching(plain), 8, long), long, "not in six seconds");
    let in_order = Discipline::plain(Policy::Fcfs);
    // No longer than the eight before it take, and a revolution for each that had passed its place.
    let waited = beside_a_stream(&prefetching(in_order), 8, long);
    assert!(waited < Span::from_millis(100), "{waited}");
    let limited = Discipline { max_wait: Some(Span::from_millis(300)), ..plain };
    let waited = beside_a_stream(&prefetching(limited), 8, long);
    assert!(waited > Span::from_millis(250) && waited < Span::from_millis(400), "{waited}");
    let aged = Discipline { ageing: 100, ..plain };
    let waited = beside_a_stream(&prefetching(aged), 8, long);
    // A tenth of its wait outweighs a seek and a revolution, 13 ms, after 130 ms; a little later with what is under
    // way.
    assert!(waited < Span::from_millis(200), "{waited}");
}

/// The law of the rounds, without any limit of time: a command waits at most for two rounds, each as many accesses as the drive
/// holds commands.
#[test]
fn beside_a_stream_a_reader_is_served_within_two_rounds() {
    let plain = Discipline::plain(Policy::Sptf);
    let fair = |queue: Discipline, depth: u32| {
        let small = prefetching(queue);
        let two_rounds = Span::from_nanos(longest_access(&small).nanos() * 2 * u64::from(depth + 1));
        beside_a_stream(&small, depth, Span::from_secs(6)) <= two_rounds
    };
    for depth in [8, 12, 16] {
        assert!(fair(Discipline { round: 100, ..plain }, depth), "{depth}");
        assert!(fair(Discipline { round: 50, ..plain }, depth), "{depth}");
        assert!(fair(Discipline { patience: 2, ..plain }, depth), "{depth}");
        assert!(!fair(plain, depth), "{depth}: the canary starves it");
    }
}

/// The longest time of an access to the medium on a small drive: a seek over all cylinders and a revolution on every
/// track, with all the retries of weak places.
fn longest_access(small: &SmallDrive) -> Span {
    let turn = Span::from_nanos(60_000_000_000_000 / small.millirpm + 1);
    let tracks = 2 + 300 / u64::from(small.zones.iter().map(|zone| zone.1).min().unwrap_or(1));
    let tries: u64 = small.weak.iter().map(|weak| u64::from(weak.retries)).sum();
    let place = small.seek.2 + small.head_switch + small.write_settle + turn;
    Span::from_nanos((place.nanos() + turn.nanos()) * tracks + tries * turn.nanos())
}

/// Endless random loads of reads that hit and miss, cached and uncached writes, and flushes.
fn longest_queue_wait(small: &SmallDrive, seed: u64) -> (Span, Span) {
    let (mut drive, mut rng): (Drive, Rng) = (small.drive(), Seed(seed).stream("load"));
    let sectors = drive.limits(0).sectors;
    let stream_share = [0, 50, 90][rng.below(3) as usize];
    let reads = [50, 90, 100][rng.below(3) as usize];
    let mut next = 0;
    let mut draw = |tag: u32| {
        let size = 1 + rng.below(24) as u32;
        let streams = rng.draw_chance(stream_share);
        let lba = if streams { next } else { rng.below(sectors - 24) };
        if streams {
            next = (next + u64::from(size)) % (sectors - 24);
        }
        match rng.below(100) {
            0 => Request { tag, ..FLUSH },
            draw if draw < reads => request(tag, Op::Read, lba, size),
            _ => request(tag, Op::Write, lba, size),
        }
    };
    let (mut queue, mut flush) = (Span::ZERO, Span::ZERO);
    for tag in 0..small.firmware.depth {
        submit(&mut drive, Instant::ZERO, &[draw(tag)]);
    }
    let mut flushes = vec![false; 256];
    for _ in 0..1_500 {
        let now = drive.poll_timeout().expect("in flight");
        drive.handle_timeout(now);
        while let Some(done) = drive.poll_completion() {
            match flushes[done.tag as usize] {
                true => flush = flush.max(done.parts.get(Part::Flush)),
                false => queue = queue.max(done.parts.get(Part::Queue) + done.parts.get(Part::Flush)),
            }
            let next = draw(done.tag);
            flushes[done.tag as usize] = next.op == Op::Flush;
            submit(&mut drive, now, &[next]);
        }
    }
    (queue, flush)
}

/// No command waits for the medium longer than `max_wait` and the accesses of commands before it: the others that the
/// drive holds, and its dirty segments. No flush waits longer than its segments' limit and the same.
#[test]
fn nobody_waits_longer_than_the_limit_allows() {
    let mut limited = 0;
    for seed in 0..120 {
        let mut small = random_profile(&mut Seed(seed).stream("tail"));
        small.link.queuing = Queuing::Scsi;
        small.firmware.depth = [2, 4, 16][seed as usize % 3];
        small.firmware.queue.max_wait = Some(Span::from_millis(50));
        small.firmware.destage.max_wait = Some(Span::from_millis(80));
        let (queue, flush) = longest_queue_wait(&small, seed);
        let rivals = u64::from(small.firmware.depth + small.cache.max_dirty_runs()) + 2;
        let turns = Span::from_nanos(longest_access(&small).nanos() * rivals);
        assert!(queue <= Span::from_millis(50) + turns, "seed {seed}: {queue}, {turns}\n{small:?}");
        let segments = Span::from_nanos(turns.nanos() * (u64::from(small.cache.max_dirty_runs()) + 1));
        assert!(flush <= Span::from_millis(80) + segments, "seed {seed}: {flush}, {segments}\n{small:?}");
        limited += u32::from(queue > Span::from_millis(50));
    }
    assert!(limited > 30, "{limited}: the limit was reached");
}

/// Reads that continue the last one at no cost, two writes far away and a flush for them.
#[test]
fn a_flush_is_not_put_off_for_ever_by_cheap_reads() {
    let wait = |limit: Option<Span>| {
        let mut small = queued(Queuing::Scsi, 8, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
        (small.cache.read_ahead.max, small.cache.destage_idle) = (0, Span::from_secs(1));
        small.firmware.destage = Discipline { max_wait: limit, ..Discipline::plain(Policy::Sptf) };
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[write(100, 8_500), write(101, 8_800)]);
        drive.handle_timeout(at(100));
        while drive.poll_completion().is_some() {}
        let mut place = 0u64;
        let mut near = |tag: u32| {
            place += 8;
            read(tag, place)
        };
        for tag in 1..8 {
            submit(&mut drive, at(100), &[near(tag)]);
        }
        submit(&mut drive, at(100), &[FLUSH]);
        while let Some(now) = drive.poll_timeout().filter(|&now| now < at(800_000)) {
            drive.handle_timeout(now);
            while let Some(completion) = drive.poll_completion() {
                match completion.tag {
                    0 => return completion.finished.since(at(100)),
                    tag => submit(&mut drive, now, &[near(tag)]),
                }
            }
        }
        Span::from_secs(20)
    };
    assert_eq!(wait(None), Span::from_secs(20), "not while the reads go on");
    let waited = wait(Some(Span::from_millis(200)));
    assert!(waited > Span::from_millis(190) && waited < Span::from_millis(260), "{waited}");
}

#[test]
fn a_segment_that_is_dirty_for_too_long_is_written_out_though_the_drive_is_busy() {
    let mut small = queued(Queuing::Ncq, 4, Policy::Sptf).with_buffer(8, 64).with_write_back(6);
    small.firmware.destage = Discipline { max_wait: Some(Span::from_millis(500)), ..Discipline::plain(Policy::Fcfs) };
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("known");
    submit(&mut drive, Instant::ZERO, &[write(0, 8_000), read(1, 0), read(2, 700)]);
    let mut rng = Seed(3).stream("reads");
    while let Some(now) = drive.poll_timeout().filter(|&now| now < at(2_000_000)) {
        drive.handle_timeout(now);
        while let Some(completion) = drive.poll_completion() {
            if completion.tag > 0 {
                submit(&mut drive, now, &[read(completion.tag, rng.below(6_000))]);
            }
        }
    }
    let landing = drive.poll_landing().expect("written out");
    assert!(landing.to > at(500_000) && landing.to < at(560_000), "{landing:?}");
}

/// Each comes right behind another command, waits for one thing alone, and is aborted after a millisecond.
#[test]
fn an_aborted_command_says_what_it_has_waited_for() {
    let mut small = SmallDrive::default().with_buffer(2, 16).with_write_back(1).with_queue(4, Policy::Fcfs);
    small.cache.destage_idle = Span::from_secs(1);
    let flush = Request { tag: 1, ..FLUSH };
    for (first, second, hits, part) in [
        // Block 32 passes after half a revolution, 4.2 ms.
        (read(0, 32), read(1, 1_000), WrittenHits::Cached, Part::Queue),
        (write(0, 32), flush, WrittenHits::Cached, Part::Flush),
        // A segment is dirty, and no more may be.
        (write(0, 32), write(1, 1_000), WrittenHits::Cached, Part::Cache),
        (write(0, 32), marked(write(1, 32), Flags::FUA), WrittenHits::Cached, Part::Cache),
        (write(0, 32), read(1, 32), WrittenHits::None, Part::Cache),
    ] {
        small.cache.written_hits = hits;
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, &[first, second]);
        drive.control(at(1_000), &Control::Abort(1)).expect("in flight");
        let aborted = of(&answers(&mut drive), 1);
        assert_eq!((aborted.status, aborted.finished), (Status::Aborted, at(1_000)), "{second:?}");
        assert_eq!(aborted.parts.get(part), Span::from_millis(1), "{second:?}: {:?}", aborted.parts);
    }
}
