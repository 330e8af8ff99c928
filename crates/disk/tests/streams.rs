//! Laws of streams and of what waits beside them, of runs of cached writes, and of parts of physical sectors. Times are
//! computed by hand from the small drive: 7,200 rpm, 64 sectors a track, a revolution of 8.333333 ms.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, LandingKind, Op, Request};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::geometry::TrackOrder;
use seekwise_disk::drive::profile::{ReadAheadEnd, ReadAheadHold};
use seekwise_disk::queue::Policy;
use seekwise_disk::record::Part;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{SmallDrive, random_profile};
use seekwise_disk::time::{Instant, Span};

const REVOLUTION: u64 = 8_333_333;
const SECTOR: u64 = REVOLUTION / 64;

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

fn submit(drive: &mut Drive, at: Instant, request: Request) {
    drive.handle_timeout(at);
    drive.submit(at, request).expect("room");
}

fn next(drive: &mut Drive) -> Completion {
    loop {
        if let Some(completion) = drive.poll_completion() {
            return completion;
        }
        let next = drive.poll_timeout().expect("something in flight");
        drive.handle_timeout(next);
    }
}

/// Reads or writes one after another; how long all took.
fn one_by_one(drive: &mut Drive, op: Op, requests: impl Iterator<Item = (u64, u32)>) -> Span {
    let mut now = Instant::ZERO;
    for (tag, (lba, sectors)) in requests.enumerate() {
        submit(drive, now, request(tag as u32, op, lba, sectors));
        now = next(drive).finished;
    }
    now.since(Instant::ZERO)
}

/// With a host slower than the medium, the read-ahead fills up again and again. A hit is still sent at once: the host
/// is never slower than without it.
#[test]
fn a_hit_does_not_wait_for_a_read_ahead_that_begins_again() {
    let mut drive = SmallDrive::default().with_buffer(4, 128).drive();
    let mut now = Instant::ZERO;
    for tag in 0..400 {
        submit(&mut drive, now, request(tag, Op::Read, u64::from(tag) * 4, 4));
        let completion = next(&mut drive);
        // Twice as long as four sectors take to pass.
        now = completion.finished + Span::from_nanos(8 * SECTOR);
        if tag > 0 {
            assert_eq!(completion.parts.get(Part::Cache), Span::ZERO, "read {tag}: {completion:?}");
        }
    }
}

/// Requests as long as a segment, and longer, stream as well: of three tracks and more, each costs its passing and
/// switches.
#[test]
fn requests_longer_than_a_segment_stream() {
    for sectors in [31, 32, 33, 48, 64, 100] {
        let mut drive = SmallDrive::default().with_buffer(4, 32).drive();
        let count = 6_400 / u64::from(sectors);
        let took = one_by_one(&mut drive, Op::Read, (0..count).map(|n| (n * u64::from(sectors), sectors)));
        let passing = count * u64::from(sectors) * SECTOR;
        // A skew of 8 of 64 a track, the first rotation, and what the last read-ahead saves or costs.
        let most = passing * 72 / 64 + 3 * REVOLUTION;
        assert!(took.nanos() < most, "{sectors} sectors: {took:?} of {} ms", most / 1_000_000);
    }
}

/// Read-ahead that begins after the second, or third, read of a stream.
#[test]
fn a_read_ahead_begins_behind_the_read_that_the_profile_says() {
    for after in 1..4 {
        let mut small = SmallDrive::default().with_buffer(4, 32);
        small.cache.read_ahead.after = after;
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        for number in 1..6u32 {
            // A pause in which a read-ahead fetches all it may.
            submit(&mut drive, now, request(number, Op::Read, u64::from(number) * 4, 4));
            let completion = next(&mut drive);
            let moved = completion.parts.get(Part::Rotation) + completion.parts.get(Part::Transfer);
            assert_eq!(moved == Span::ZERO, number > after, "after {after}, read {number}: {completion:?}");
            now = completion.finished + Span::from_millis(20);
        }
    }
}

/// No read waits for a stream beyond the queue's limit, whatever the read-ahead holds or keeps.
#[test]
fn no_stream_keeps_a_command_beyond_its_limit() {
    let limit = Span::from_millis(200);
    let mut held = 0;
    for seed in 0..400 {
        let mut rng = Seed(seed).stream("beside a stream");
        let mut small = random_profile(&mut rng);
        small.weak.clear();
        small.link.queuing = seekwise_disk::block::Queuing::Ncq;
        small.firmware.depth = 4;
        small.firmware.queue.max_wait = Some(limit);
        small.cache.read_ahead.max = small.cache.read_ahead.max.max(256);
        small.cache.read_ahead.min = 128;
        small.cache.read_ahead.hold =
            [ReadAheadHold::Never, ReadAheadHold::Track, ReadAheadHold::Segment, ReadAheadHold::Stream]
                [rng.below(4) as usize];
        let mut drive = small.drive();
        let far = drive.limits(0).sectors - 1;
        submit(&mut drive, Instant::ZERO, request(0, Op::Read, 0, 4));
        let (mut now, mut place, mut waits) = (next(&mut drive).finished, 4, None);
        let end = now + Span::from_millis(1_000);
        submit(&mut drive, now, request(1, Op::Read, place, 4));
        submit(&mut drive, now, request(2, Op::Read, far, 1));
        let asked = now;
        while now < end && place + 8 < far {
            let completion = next(&mut drive);
            now = completion.finished;
            if completion.tag == 2 {
                waits = Some(now.since(asked));
                break;
            }
            place += 4;
            submit(&mut drive, now, request(1, Op::Read, place, 4));
        }
        // The limit, the access in progress, a seek and two revolutions of the slowest small drive.
        let most = limit + Span::from_millis(120);
        let waited = waits.unwrap_or(now.since(asked));
        assert!(waited <= most, "seed {seed}: {waited:?}\n{small:?}");
        held += u32::from(waited > limit);
    }
    assert!(held > 10, "some streams must come up to the limit: {held}");
}

/// Two reads of a stream are always outstanding, so that a read-ahead always has a request waiting for it. Beside them
/// go scattered cached writes, one at a time; soon each must wait until another is on the medium.
#[test]
fn no_stream_keeps_a_write_without_room_beyond_its_limit() {
    let limit = Span::from_millis(200);
    let mut held = 0;
    for seed in 0..400 {
        let mut rng = Seed(seed).stream("writes beside a stream");
        let mut small = random_profile(&mut rng).with_buffer(4, 64).with_write_back(2);
        small.weak.clear();
        small.link.queuing = seekwise_disk::block::Queuing::Ncq;
        small.firmware.depth = 4;
        small.firmware.queue.max_wait = Some(limit);
        small.firmware.destage.max_wait = None;
        small.cache.read_ahead.max = small.cache.read_ahead.max.max(256);
        small.cache.read_ahead.hold =
            [ReadAheadHold::Never, ReadAheadHold::Track, ReadAheadHold::Segment, ReadAheadHold::Stream]
                [rng.below(4) as usize];
        let mut drive = small.drive();
        let half = drive.limits(0).sectors / 2;
        let (mut place, mut begun) = (0, [Instant::ZERO; 3]);
        let mut ask = |drive: &mut Drive, now: Instant, tag: u32| {
            begun[tag as usize] = now;
            let write = request(2, Op::Write, half + rng.below(half - 1), 1);
            let read = request(tag, Op::Read, place, 4);
            place = (place + 4 * u64::from(tag < 2)) % (half - 8);
            submit(drive, now, if tag == 2 { write } else { read });
            begun[2]
        };
        (0..3).for_each(|tag| _ = ask(&mut drive, Instant::ZERO, tag));
        let (mut now, mut since) = (Instant::ZERO, Instant::ZERO);
        // The limit, the access in progress, a seek and two revolutions of the slowest small drive; a write waits for
        // one of at most 64 sectors.
        let most = limit + Span::from_millis(160);
        while now < Instant::ZERO + Span::from_millis(2_000) {
            let completion = next(&mut drive);
            now = completion.finished;
            assert!(now.since(since) <= most, "seed {seed}: {:?}\n{small:?}", now.since(since));
            held += u32::from(completion.tag == 2 && now.since(since) > limit);
            since = ask(&mut drive, now, completion.tag);
        }
    }
    assert!(held > 10, "some writes must come up to the limit: {held}");
}

/// Files read from front to end with several reads outstanding, in the order of the files; how long all took.
fn files(mut drive: Drive, places: &[u64], (reads, sectors): (u32, u32), depth: usize) -> Span {
    let starts = places.iter().flat_map(|place| (0..reads).map(move |read| place + u64::from(read * sectors)));
    let (mut now, mut outstanding) = (Instant::ZERO, 0);
    for (tag, lba) in starts.enumerate() {
        if outstanding == depth {
            now = next(&mut drive).finished;
            outstanding -= 1;
        }
        submit(&mut drive, now, request(tag as u32, Op::Read, lba, sectors));
        outstanding += 1;
    }
    (0..outstanding).for_each(|_| now = next(&mut drive).finished);
    now.since(Instant::ZERO)
}

/// Reads that wait while a read-ahead of their own stream passes are served by it, whatever it holds for: files at
/// random places take no longer with several reads outstanding than with one. Served in order they lose nothing, within
/// a revolution a file. By position, a drive may begin in the middle of a file, if that comes first under the head, and
/// fetch the earlier part later: there and back, two positionings of a revolution each on average. (When they waited
/// until the segment was full, each was read again: up to 400 revolutions for a file of 31.)
#[test]
fn more_outstanding_is_no_slower() {
    const FILES: u32 = 8;
    for hold in [ReadAheadHold::Never, ReadAheadHold::Track, ReadAheadHold::Segment, ReadAheadHold::Stream] {
        let mut lost = Vec::new();
        for seed in 0..100 {
            let mut rng = Seed(seed).stream("files");
            let mut small = SmallDrive::default().with_buffer(4, [64, 128, 256][rng.below(3) as usize]);
            small.zones = vec![(200, [64, 100, 128][rng.below(3) as usize])];
            small.phase = rng.next_u64();
            small.firmware.zero_latency = rng.draw_chance(50);
            small.firmware.dispatch = Span::from_micros(rng.below(3) * 100);
            let sorted = rng.draw_chance(50);
            small = small.with_queue(32, if sorted { Policy::Sptf } else { Policy::Fcfs });
            small.firmware.queue.max_wait = rng.draw_chance(50).then_some(Span::from_millis(300));
            small.cache.read_ahead.hold = hold;
            let sectors = [4, 8, 16, 24][rng.below(4) as usize];
            let file = (1_600 / sectors, sectors);
            let last = small.drive().limits(0).sectors - 1_600;
            let places: Vec<u64> = (0..FILES).map(|_| rng.below(last)).collect();
            let one = files(small.drive(), &places, file, 1).nanos() as f64;
            for depth in [2, 4, 16, 32] {
                let more = files(small.drive(), &places, file, depth).nanos() as f64 - one;
                let turns = more / REVOLUTION as f64 / f64::from(FILES);
                assert!(
                    sorted || turns <= 1.0,
                    "seed {seed}, {depth} outstanding: {turns} revolutions a file\n{small:?}"
                );
                lost.extend(sorted.then_some(turns));
            }
        }
        let mean = lost.iter().sum::<f64>() / lost.len() as f64;
        assert!(mean <= 2.0, "{hold:?}: {mean} revolutions a file");
    }
}

// Cached writes

fn cached(segments: u32, sectors: u32) -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(segments, sectors).with_write_back(segments);
    small.cache.read_ahead.max = 0;
    small.cache.destage_idle = Span::from_secs(10);
    small
}

/// Scattered writes that are acknowledged before one must wait.
fn held(mut drive: Drive, sectors: u32) -> u64 {
    let mut now = Instant::ZERO;
    for tag in 0..200 {
        submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 40, sectors));
        let completion = next(&mut drive);
        if completion.parts.get(Part::Cache) > Span::ZERO {
            return u64::from(tag);
        }
        now = completion.finished;
    }
    200
}

/// The number of scattered runs that may wait is a limit of its own; so is the memory that they fill.
#[test]
fn runs_are_limited_by_number_and_by_memory() {
    // Segments of their own: four.
    assert_eq!(held(cached(4, 32).drive(), 8), 4);
    let runs = |number, sectors| {
        let mut small = cached(4, 32);
        small.cache.dirty_runs = Some(number);
        held(small.drive(), sectors)
    };
    assert_eq!((runs(2, 8), runs(9, 8), runs(16, 8)), (2, 9, 16));
    // 128 sectors of memory hold sixteen runs of eight, and four of 32.
    assert_eq!((runs(100, 8), runs(100, 32)), (16, 4));
}

/// Writes of blocks that are dirty, or on their way to the medium, wait for nothing while there is room for another
/// run: each takes its command and the link, 1 GB/s and no overhead here. A table's last sector, written with each
/// appended record, is part of such a write; with one every few milliseconds it meets its run at the medium again and
/// again.
#[test]
fn written_again_is_no_slower_than_written() {
    let (mut replaced, mut overtaken) = (0, 0);
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("written again");
        // In an area of 24 blocks no more than twelve runs are apart.
        let mut small = cached(16, 32);
        small.cache.destage_idle = Span::from_micros(rng.below(3) * 500);
        small.cache.fills_while_draining = rng.draw_chance(50);
        small.cache.dirty_runs = rng.draw_chance(50).then_some(16);
        small.physical_sector = [512, 4096][rng.below(2) as usize];
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        let mut now = Instant::ZERO;
        let mut acknowledged = [Instant::ZERO; 24];
        for tag in 0..200 {
            let (lba, sectors) = (rng.below(20), 1 + rng.below(4) as u32);
            submit(&mut drive, now, request(tag, Op::Write, 1_000 + lba, sectors));
            let completion = next(&mut drive);
            let took = completion.finished.since(now).nanos();
            // A rounding for each part of it that lands in another run.
            assert!(took.abs_diff(u64::from(sectors) * 512) <= 4, "seed {seed}, write {tag}: {completion:?}");
            for landing in core::iter::from_fn(|| drive.poll_landing()) {
                replaced += u32::from(landing.kind == LandingKind::Discarded);
                let first = landing.lba as usize - 1_000;
                let blocks = acknowledged[first..first + landing.sectors as usize].iter();
                overtaken +=
                    u32::from(landing.kind == LandingKind::Landed && blocks.clone().any(|&at| at > landing.from));
            }
            acknowledged[lba as usize..lba as usize + sectors as usize].fill(completion.finished);
            now = completion.finished + Span::from_micros(rng.below(12_000));
        }
    }
    // Both must occur: runs replaced in the buffer, and runs written again while they were on their way.
    assert!(replaced > 1_000 && overtaken > 100, "{replaced}, {overtaken}");
}

/// A run may grow while its beginning is on its way to the medium: written at the medium's pace, a stream in a buffer
/// of one segment takes no longer than it takes to pass.
#[test]
fn a_run_fills_while_it_drains() {
    let mut small = cached(1, 128);
    small.cache.fills_while_draining = true;
    small.cache.destage_idle = Span::ZERO;
    small.firmware.destage.policy = Policy::Fcfs;
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    let mut now = Instant::ZERO;
    for tag in 0..256 {
        submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 8, 8));
        let completion = next(&mut drive);
        // A little faster than eight sectors pass, with the skew.
        now = completion.finished.max(Instant::ZERO + Span::from_nanos(u64::from(tag) * 8 * SECTOR * 74 / 64));
    }
    drive.handle_timeout(Instant::ZERO + Span::from_secs(5));
    let landed: Vec<_> = core::iter::from_fn(|| drive.poll_landing()).collect();
    assert!(landed.iter().all(|landing| landing.kind == LandingKind::Landed));
    assert_eq!(landed.iter().map(|landing| u64::from(landing.sectors)).sum::<u64>(), 2_048);
    let took = landed.last().unwrap().to.since(landed[0].from);
    let passing = 2_048 * SECTOR * 74 / 64;
    assert!(took.nanos() < passing + 4 * REVOLUTION, "{took:?} for {} ms", passing / 1_000_000);
}

// Parts of physical sectors

/// How long a write takes from its submission, on a drive of 4096-byte sectors that has read nothing.
fn write(lba: u64, sectors: u32) -> Completion {
    let small = SmallDrive { physical_sector: 4096, ..SmallDrive::default() };
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, request(0, Op::Write, lba, sectors));
    next(&mut drive)
}

/// A write of a part of a physical sector reads it first and writes it a revolution later; both its ends in one
/// revolution.
#[test]
fn part_of_a_physical_sector_costs_a_revolution() {
    let whole = |lba, sectors| write(lba, sectors).parts.get(Part::Rotation).nanos();
    for (lba, sectors, whole_lba) in [(16, 1, 16), (19, 5, 19), (16, 12, 16), (20, 8, 20)] {
        let part = whole(lba, sectors);
        // The platter decides where the block passes, counted from the start of the run: only whole revolutions are
        // additional.
        let base = {
            let mut drive = SmallDrive::default().drive();
            submit(&mut drive, Instant::ZERO, request(0, Op::Write, whole_lba, sectors));
            next(&mut drive).parts.get(Part::Rotation).nanos()
        };
        let more = part - base;
        assert!(more.abs_diff(REVOLUTION) < 100, "{lba}, {sectors}: {more} ns more");
    }
    // Whole sectors add no cost.
    let base = {
        let mut drive = SmallDrive::default().drive();
        submit(&mut drive, Instant::ZERO, request(0, Op::Write, 16, 16));
        next(&mut drive).parts.get(Part::Rotation).nanos()
    };
    assert_eq!(whole(16, 16), base);
}

/// The cache gathers the parts of a sector before it writes them: no revolution is lost for data that came in parts.
#[test]
fn the_cache_gathers_parts_of_a_sector() {
    let landed = |parts: u32| {
        let mut small = SmallDrive { physical_sector: 4096, ..cached(4, 32) };
        small.cache.destage_idle = Span::from_millis(50);
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        for tag in 0..parts {
            let sectors = 8 / parts;
            submit(
                &mut drive,
                Instant::ZERO + Span::from_millis(u64::from(tag)),
                request(tag, Op::Write, 80 + u64::from(tag * sectors), sectors),
            );
            next(&mut drive);
        }
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        core::iter::from_fn(|| drive.poll_landing()).map(|landing| landing.to).max().expect("landed")
    };
    let (whole, gathered) = (landed(1), landed(8));
    // The first write came seven ms earlier; the place comes round once a revolution.
    let turns = (gathered.nanos().abs_diff(whole.nanos()) as f64 / REVOLUTION as f64).round();
    assert!(turns <= 1.0, "{whole:?} and {gathered:?}");
}

/// How far a read is followed by the words of SCSI's caching page: after a pause the blocks up to there are in the buffer,
/// the next one is not.
#[test]
fn a_read_is_followed_as_far_as_the_caching_page_says() {
    // Of a read of four blocks: the page's words, and the blocks behind it.
    let pages: [(bool, Option<u32>, Option<u32>, u64); 6] = [
        (false, None, None, 5),
        (true, None, None, 20),
        (true, Some(8), None, 8),
        (false, Some(8), None, 5),
        (true, None, Some(3), 0),
        (true, None, Some(4), 20),
    ];
    for (multiplied, ceiling, longest_read, ahead) in pages {
        let moved = |block: u64| {
            let mut small = SmallDrive::default().with_buffer(4, 60);
            let words = &mut small.cache.read_ahead;
            (words.max, words.multiplied, words.ceiling, words.longest_read) = (5, multiplied, ceiling, longest_read);
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, request(0, Op::Read, 0, 4));
            let pause = next(&mut drive).finished + Span::from_millis(21);
            submit(&mut drive, pause, request(1, Op::Read, block, 1));
            let parts = next(&mut drive).parts;
            parts.get(Part::Rotation) + parts.get(Part::Transfer) > Span::ZERO
        };
        let words = (multiplied, ceiling, longest_read);
        assert!((4..4 + ahead).all(|block| !moved(block)), "{words:?}: not as far as {ahead}");
        assert!(moved(4 + ahead), "{words:?}: farther than {ahead}");
    }
}

/// One read of eight blocks from a segment of 64: its read-ahead ends with the segment, with its own length, with the track or
/// the cylinder behind the read, or with the drive, whichever comes first. The block before the end is a hit, the next is not.
#[test]
fn a_read_ahead_ends_where_the_first_of_its_limits_is() {
    // Forty cylinders of two tracks of 64 blocks, then forty of 48.
    let drive_end = 40 * 128 + 40 * 96;
    let track = |block: u64, length: u64| match block.checked_sub(5_120) {
        None => (block / length + 1) * length,
        Some(beyond) => 5_120 + (beyond / (length / 4 * 3) + 1) * (length / 4 * 3),
    };
    let mut places: Vec<u64> = [0, 1, 47, 48, 55, 56, 57, 63, 64, 100, 119, 120, 5_111, 5_112, 5_160].to_vec();
    places.extend([8, 9, 10, 40, 56, 57, 64, 65, 72].map(|before: u64| drive_end - before));
    for (until, max, over_requested) in [
        (ReadAheadEnd::Segment, 0, false),
        (ReadAheadEnd::Segment, 1, false),
        (ReadAheadEnd::Segment, 55, false),
        (ReadAheadEnd::Segment, 56, false),
        (ReadAheadEnd::Segment, 57, false),
        (ReadAheadEnd::Segment, 63, true),
        (ReadAheadEnd::Segment, 65, true),
        (ReadAheadEnd::Track, 64, false),
        (ReadAheadEnd::Cylinder, 64, false),
    ] {
        for &lba in &places {
            let end = lba + 8;
            let moved = |block: u64| {
                let mut small = SmallDrive::default().with_buffer(4, 64);
                let words = &mut small.cache.read_ahead;
                (words.max, words.until, words.over_requested) = (max, until, over_requested);
                let mut drive = small.drive();
                submit(&mut drive, Instant::ZERO, request(0, Op::Read, lba, 8));
                let pause = next(&mut drive).finished + Span::from_millis(51);
                submit(&mut drive, pause, request(1, Op::Read, block, 1));
                next(&mut drive).parts.get(Part::Transfer) > Span::ZERO
            };
            let room = if over_requested { 64 } else { 56 };
            let mut limit = (end + u64::from(max).min(room)).min(drive_end);
            match until {
                ReadAheadEnd::Track => limit = limit.min(track(end, 64)),
                ReadAheadEnd::Cylinder => limit = limit.min(track(end, 128)),
                _ => {}
            }
            let what = format!("{until:?}, {max} blocks, from {lba}, over the read {over_requested}");
            assert!(!moved(limit - 1), "{what}: not as far as {limit}");
            assert!(limit == drive_end || moved(limit), "{what}: farther than {limit}");
        }
    }
}

/// The minimum counts in the read's own lengths as well: so much a waiting command leaves to the read-ahead.
#[test]
fn a_minimum_in_lengths_of_the_read_is_not_cut_off() {
    let waited = |multiplied: bool| {
        let mut small = SmallDrive::default().with_buffer(4, 64);
        let words = &mut small.cache.read_ahead;
        (words.max, words.min, words.multiplied) = (60, 4, multiplied);
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, request(0, Op::Read, 0, 8));
        let read = next(&mut drive).finished;
        submit(&mut drive, read, request(1, Op::Read, 6_400, 1));
        next(&mut drive).parts.get(Part::Queue)
    };
    let (sectors, lengths) = (waited(false), waited(true));
    // 28 blocks more: 4 of 8 each in place of 4.
    let more = lengths.nanos() - sectors.nanos();
    assert!(more.abs_diff(28 * SECTOR) < SECTOR, "{sectors:?}, {lengths:?}");
}

/// Writes longer than a segment, from one to more than the buffer holds outstanding. With eight and no more than one
/// write's room left, the drive took what was next under the head while its data were on the link, and lost a
/// revolution a write.
#[test]
fn a_stream_of_writes_waits_for_no_data_while_others_are_here() {
    let drive =
        SmallDrive { order: TrackOrder::Serpentine(128), heads: 3, zones: vec![(1024, 1415)], ..SmallDrive::default() };
    let mut small = drive.with_buffer(16, 951).with_write_back(12).with_queue(32, Policy::Sptf);
    small.millirpm = 5_400_000;
    small.seek = (Span::from_millis(1), Span::from_millis(2), Span::from_millis(4));
    (small.head_switch, small.skew_margin) = (Span::from_millis(1), Span::from_micros(600));
    small.write_settle = Span::from_micros(500);
    (small.cache.dirty_runs, small.cache.fills_while_draining) = (Some(32), true);
    small.cache.destage_idle = Span::from_millis(10);
    small.firmware.destage.policy = Policy::Sptf;
    (small.link.write_rate, small.link.command) = (132_400_000, Span::from_micros(10));
    small.overhead.write_hit.write = Span::from_micros(14);
    small.overhead.write_miss.write = Span::from_micros(150);
    let medium = 1415.0 * 512.0 * 90.0 / (1.0 + small.skews().cylinder as f64 / 2f64.powi(64));
    for depth in 1..=16 {
        let (mut drive, mut now, writes) = (small.drive(), Instant::ZERO, 500);
        for tag in 0..writes {
            if tag >= depth {
                now = next(&mut drive).finished;
            }
            submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 1024, 1024));
        }
        let rate = f64::from(writes - depth) * 1024.0 * 512.0 / (now.nanos() as f64 / 1e9);
        assert!(rate > 0.95 * medium, "depth {depth}: {:.1} of {:.1} MB/s", rate / 1e6, medium / 1e6);
    }
}

/// Uncached writes all over, on a link that brings half or two thirds of what the medium takes with 32 outstanding: the
/// medium has always something to do whose data are here. Choosing by position alone it waited for data while others
/// were here, and the link, with nothing more to bring, stood still for 3 % of the time.
#[test]
fn uncached_writes_wait_for_no_data_while_others_are_here() {
    for rate in [20_000_000, 30_000_000] {
        let mut small = SmallDrive { zones: vec![(200, 1024)], ..SmallDrive::default() }.with_queue(32, Policy::Sptf);
        small.link.write_rate = rate;
        let (mut drive, mut now, writes, depth) = (small.drive(), Instant::ZERO, 1_000, 32);
        let mut places = Seed(7).stream("places");
        for tag in 0..writes {
            if tag >= depth {
                now = next(&mut drive).finished;
            }
            submit(&mut drive, now, request(tag, Op::Write, places.below(300) * 512, 512));
        }
        let found = f64::from(writes - depth) * 512.0 * 512.0 / (now.nanos() as f64 / 1e9);
        assert!(found > 0.99 * rate as f64, "{:.2} of {:.2} MB/s", found / 1e6, rate as f64 / 1e6);
    }
}
