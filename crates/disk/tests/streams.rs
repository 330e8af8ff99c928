//! Laws of streams and of commands that wait beside them, of runs of cached writes, and of writes of parts of physical sectors
//! (`drive/read_ahead.rs`, `drive/write_back.rs`). Times are worked out by hand for the small drive: 7,200 rpm, 64 sectors a
//! track, a revolution of 8.333333 ms.

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

/// In nanoseconds.
const REVOLUTION: u64 = 8_333_333;

/// The time in which a sector passes the head, in nanoseconds.
const SECTOR: u64 = REVOLUTION / 64;

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

fn submit(drive: &mut Drive, at: Instant, request: Request) {
    drive.handle_timeout(at);
    drive.submit(at, request).expect("room");
}

/// Runs the drive to its next completion.
fn next_completion(drive: &mut Drive) -> Completion {
    loop {
        if let Some(completion) = drive.poll_completion() {
            return completion;
        }
        let timeout = drive.poll_timeout().expect("something in flight");
        drive.handle_timeout(timeout);
    }
}

/// Runs requests, first sector and length, one after another. Returns the time of all.
fn time_one_by_one(drive: &mut Drive, op: Op, requests: impl Iterator<Item = (u64, u32)>) -> Span {
    let mut now = Instant::ZERO;
    for (tag, (lba, sectors)) in requests.enumerate() {
        submit(drive, now, request(tag as u32, op, lba, sectors));
        now = next_completion(drive).finished;
    }
    now.since(Instant::ZERO)
}

/// The host is slower than the medium, so that the read-ahead stops and begins again. A hit is still sent at once.
#[test]
fn a_hit_does_not_wait_for_a_read_ahead_that_begins_again() {
    let mut drive = SmallDrive::default().with_buffer(4, 128).drive();
    let mut now = Instant::ZERO;
    for tag in 0..400 {
        submit(&mut drive, now, request(tag, Op::Read, u64::from(tag) * 4, 4));
        let completion = next_completion(&mut drive);
        // Twice as long as four sectors take to pass.
        now = completion.finished + Span::from_nanos(8 * SECTOR);
        if tag > 0 {
            assert_eq!(completion.parts.get(Part::Cache), Span::ZERO, "read {tag}: {completion:?}");
        }
    }
}

/// A stream of requests that are as long as a segment, or longer, loses no revolutions: each request takes the time in which its
/// sectors pass, and that of switches.
#[test]
fn requests_longer_than_a_segment_stream() {
    for sectors in [31, 32, 33, 48, 64, 100] {
        let mut drive = SmallDrive::default().with_buffer(4, 32).drive();
        let count = 6_400 / u64::from(sectors);
        let requests = (0..count).map(|index| (index * u64::from(sectors), sectors));
        let stream_time = time_one_by_one(&mut drive, Op::Read, requests);
        let passing_ns = count * u64::from(sectors) * SECTOR;
        // A skew of 8 of 64 sectors a track, the first latency, and the effect of the last read-ahead.
        let bound_ns = passing_ns * 72 / 64 + 3 * REVOLUTION;
        assert!(stream_time.nanos() < bound_ns, "{sectors} sectors: {stream_time:?} of {} ms", bound_ns / 1_000_000);
    }
}

/// Read-ahead begins after the first, second or third read of a stream, as the profile says.
#[test]
fn a_read_ahead_begins_after_the_read_that_the_profile_says() {
    for after in 1..4 {
        let mut small = SmallDrive::default().with_buffer(4, 32);
        small.cache.read_ahead.after = after;
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        for number in 1..6u32 {
            submit(&mut drive, now, request(number, Op::Read, u64::from(number) * 4, 4));
            let completion = next_completion(&mut drive);
            let medium_time = completion.parts.get(Part::Rotation) + completion.parts.get(Part::Transfer);
            assert_eq!(medium_time == Span::ZERO, number > after, "after {after}, read {number}: {completion:?}");
            // A pause in which the read-ahead fetches all its blocks.
            now = completion.finished + Span::from_millis(20);
        }
    }
}

/// No read waits for a stream beyond the queue's limit, whatever the read-ahead holds.
#[test]
fn no_stream_delays_a_command_beyond_its_limit() {
    let limit = Span::from_millis(200);
    let mut limited = 0;
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
        let (mut now, mut lba, mut wait) = (next_completion(&mut drive).finished, 4, None);
        let end = now + Span::from_millis(1_000);
        submit(&mut drive, now, request(1, Op::Read, lba, 4));
        submit(&mut drive, now, request(2, Op::Read, far, 1));
        let submitted = now;
        while now < end && lba + 8 < far {
            let completion = next_completion(&mut drive);
            now = completion.finished;
            if completion.tag == 2 {
                wait = Some(now.since(submitted));
                break;
            }
            lba += 4;
            submit(&mut drive, now, request(1, Op::Read, lba, 4));
        }
        // The limit, the access in progress, a seek and two revolutions of the slowest small drive.
        let bound = limit + Span::from_millis(120);
        let waited = wait.unwrap_or(now.since(submitted));
        assert!(waited <= bound, "seed {seed}: {waited:?}\n{small:?}");
        limited += u32::from(waited > limit);
    }
    assert!(limited > 10, "some reads must wait up to the limit: {limited}");
}

/// Two reads of a stream are always outstanding, so that a request always waits for the read-ahead. Beside them come scattered
/// cached writes, one at a time. Soon each must wait until another is on the medium.
#[test]
fn no_stream_delays_a_write_without_room_beyond_its_limit() {
    let limit = Span::from_millis(200);
    let mut limited = 0;
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
        let (mut stream_lba, mut submitted) = (0, [Instant::ZERO; 3]);
        // Tag 2 is a write, the others are reads of the stream. Returns when the last write was submitted.
        let mut submit_next = |drive: &mut Drive, now: Instant, tag: u32| {
            submitted[tag as usize] = now;
            let write = request(2, Op::Write, half + rng.below(half - 1), 1);
            let read = request(tag, Op::Read, stream_lba, 4);
            stream_lba = (stream_lba + 4 * u64::from(tag < 2)) % (half - 8);
            submit(drive, now, if tag == 2 { write } else { read });
            submitted[2]
        };
        (0..3).for_each(|tag| _ = submit_next(&mut drive, Instant::ZERO, tag));
        let (mut now, mut write_submitted) = (Instant::ZERO, Instant::ZERO);
        // The limit, the access in progress, a seek and two revolutions of the slowest small drive, and a write of at most 64
        // sectors.
        let bound = limit + Span::from_millis(160);
        while now < Instant::ZERO + Span::from_millis(2_000) {
            let completion = next_completion(&mut drive);
            now = completion.finished;
            let waited = now.since(write_submitted);
            assert!(waited <= bound, "seed {seed}: {waited:?}\n{small:?}");
            limited += u32::from(completion.tag == 2 && waited > limit);
            write_submitted = submit_next(&mut drive, now, completion.tag);
        }
    }
    assert!(limited > 10, "some writes must wait up to the limit: {limited}");
}

/// Reads files from front to end, one after another, with `depth` reads outstanding. Each begins at one of `file_lbas`, and takes
/// `reads` reads of `sectors`. Returns the time of all.
fn time_to_read_files(mut drive: Drive, file_lbas: &[u64], (reads, sectors): (u32, u32), depth: usize) -> Span {
    let starts = file_lbas.iter().flat_map(|lba| (0..reads).map(move |read| lba + u64::from(read * sectors)));
    let (mut now, mut outstanding) = (Instant::ZERO, 0);
    for (tag, lba) in starts.enumerate() {
        if outstanding == depth {
            now = next_completion(&mut drive).finished;
            outstanding -= 1;
        }
        submit(&mut drive, now, request(tag as u32, Op::Read, lba, sectors));
        outstanding += 1;
    }
    (0..outstanding).for_each(|_| now = next_completion(&mut drive).finished);
    now.since(Instant::ZERO)
}

/// Reads that wait while a read-ahead of their own stream passes are served by it. So files at random places take no longer with
/// several reads outstanding than with one. Served in order of arrival, they lose at most a revolution a file. Served by
/// position, the drive may begin in the middle of a file, if that passes the head first, and read the beginning later: this
/// takes two more positionings, of a revolution each on average.
#[test]
fn several_outstanding_reads_are_no_slower_than_one() {
    const FILES: u32 = 8;
    for hold in [ReadAheadHold::Never, ReadAheadHold::Track, ReadAheadHold::Segment, ReadAheadHold::Stream] {
        let mut lost_by_position = Vec::new();
        for seed in 0..100 {
            let mut rng = Seed(seed).stream("files");
            let mut small = SmallDrive::default().with_buffer(4, [64, 128, 256][rng.below(3) as usize]);
            small.zones = vec![(200, [64, 100, 128][rng.below(3) as usize])];
            small.phase = rng.next_u64();
            small.firmware.zero_latency = rng.draw_chance(50);
            small.firmware.dispatch = Span::from_micros(rng.below(3) * 100);
            let by_position = rng.draw_chance(50);
            small = small.with_queue(32, if by_position { Policy::Sptf } else { Policy::Fcfs });
            small.firmware.queue.max_wait = rng.draw_chance(50).then_some(Span::from_millis(300));
            small.cache.read_ahead.hold = hold;
            let sectors = [4, 8, 16, 24][rng.below(4) as usize];
            let file = (1_600 / sectors, sectors);
            let last = small.drive().limits(0).sectors - 1_600;
            let file_lbas: Vec<u64> = (0..FILES).map(|_| rng.below(last)).collect();
            let with_one_ns = time_to_read_files(small.drive(), &file_lbas, file, 1).nanos() as f64;
            for depth in [2, 4, 16, 32] {
                let lost_ns = time_to_read_files(small.drive(), &file_lbas, file, depth).nanos() as f64 - with_one_ns;
                let revolutions = lost_ns / REVOLUTION as f64 / f64::from(FILES);
                assert!(
                    by_position || revolutions <= 1.0,
                    "seed {seed}, {depth} outstanding: {revolutions} revolutions a file\n{small:?}"
                );
                lost_by_position.extend(by_position.then_some(revolutions));
            }
        }
        let mean = lost_by_position.iter().sum::<f64>() / lost_by_position.len() as f64;
        assert!(mean <= 2.0, "{hold:?}: {mean} revolutions a file");
    }
}

// Cached writes

/// A drive with a write cache of segments that may all be dirty, and that does not destage for ten seconds.
fn caching_drive(segments: u32, segment_sectors: u32) -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(segments, segment_sectors).with_write_back(segments);
    small.cache.read_ahead.max = 0;
    small.cache.destage_idle = Span::from_secs(10);
    small
}

/// How many scattered writes are acknowledged before one must wait for room.
fn writes_until_wait(mut drive: Drive, sectors: u32) -> u64 {
    let mut now = Instant::ZERO;
    for tag in 0..200 {
        submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 40, sectors));
        let completion = next_completion(&mut drive);
        if completion.parts.get(Part::Cache) > Span::ZERO {
            return u64::from(tag);
        }
        now = completion.finished;
    }
    200
}

/// Scattered dirty runs are limited by a number of their own, and by the memory that they fill.
#[test]
fn runs_are_limited_by_number_and_by_memory() {
    // Without a number of their own, each run takes a segment.
    assert_eq!(writes_until_wait(caching_drive(4, 32).drive(), 8), 4);
    let writes_with_runs = |dirty_runs, sectors| {
        let mut small = caching_drive(4, 32);
        small.cache.dirty_runs = Some(dirty_runs);
        writes_until_wait(small.drive(), sectors)
    };
    assert_eq!([2, 9, 16].map(|dirty_runs| writes_with_runs(dirty_runs, 8)), [2, 9, 16]);
    // 128 sectors of memory hold sixteen runs of eight, and four of 32.
    assert_eq!([8, 32].map(|sectors| writes_with_runs(100, sectors)), [16, 4]);
}

/// Writes of blocks that are dirty, or on their way to the medium, do not wait while there is room for another run. Each takes the
/// time of its data on the link alone, at 1 GB/s. The last sector of a table, written with each appended record, is such a
/// write.
#[test]
fn a_write_of_dirty_blocks_is_no_slower_than_others() {
    let (mut replaced, mut overtaken) = (0, 0);
    for seed in 0..200 {
        let mut rng = Seed(seed).stream("written again");
        // The area has 24 blocks, so that there are at most twelve separate runs.
        let mut small = caching_drive(16, 32);
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
            let completion = next_completion(&mut drive);
            let response = completion.finished.since(now).nanos();
            // Each part that goes to another run is rounded.
            assert!(response.abs_diff(u64::from(sectors) * 512) <= 4, "seed {seed}, write {tag}: {completion:?}");
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
    // Both must occur: blocks replaced in the buffer, and blocks written again on their way to the medium.
    assert!(replaced > 1_000 && overtaken > 100, "{replaced}, {overtaken}");
}

/// A run may grow while its beginning is on its way to the medium. So a stream that is written at the pace of the medium, in a
/// buffer of one segment, takes no longer than its sectors take to pass.
#[test]
fn a_run_fills_while_it_drains() {
    let mut small = caching_drive(1, 128);
    small.cache.fills_while_draining = true;
    small.cache.destage_idle = Span::ZERO;
    small.firmware.destage.policy = Policy::Fcfs;
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    let mut now = Instant::ZERO;
    for tag in 0..256 {
        submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 8, 8));
        let completion = next_completion(&mut drive);
        // A little faster than eight sectors and their part of the skew pass.
        now = completion.finished.max(Instant::ZERO + Span::from_nanos(u64::from(tag) * 8 * SECTOR * 74 / 64));
    }
    drive.handle_timeout(Instant::ZERO + Span::from_secs(5));
    let landed: Vec<_> = core::iter::from_fn(|| drive.poll_landing()).collect();
    assert!(landed.iter().all(|landing| landing.kind == LandingKind::Landed));
    assert_eq!(landed.iter().map(|landing| u64::from(landing.sectors)).sum::<u64>(), 2_048);
    let medium_time = landed.last().unwrap().to.since(landed[0].from);
    let passing_ns = 2_048 * SECTOR * 74 / 64;
    assert!(medium_time.nanos() < passing_ns + 4 * REVOLUTION, "{medium_time:?} for {} ms", passing_ns / 1_000_000);
}

// Parts of physical sectors

/// Runs a write on a new drive with physical sectors of 4,096 bytes.
fn write_to_4k_drive(lba: u64, sectors: u32) -> Completion {
    let small = SmallDrive { physical_sector: 4096, ..SmallDrive::default() };
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, request(0, Op::Write, lba, sectors));
    next_completion(&mut drive)
}

/// A write of parts of physical sectors reads them first, and writes a revolution later: both ends of the write in a single
/// revolution.
#[test]
fn a_write_of_part_of_a_physical_sector_costs_a_revolution() {
    // The rotational latency of a write to physical sectors of 4,096 bytes, and of 512 bytes, in nanoseconds.
    let latency_4k = |lba, sectors| write_to_4k_drive(lba, sectors).parts.get(Part::Rotation).nanos();
    let latency_512 = |lba, sectors| {
        let mut drive = SmallDrive::default().drive();
        submit(&mut drive, Instant::ZERO, request(0, Op::Write, lba, sectors));
        next_completion(&mut drive).parts.get(Part::Rotation).nanos()
    };
    for (lba, sectors) in [(16, 1), (19, 5), (16, 12), (20, 8)] {
        let added_ns = latency_4k(lba, sectors) - latency_512(lba, sectors);
        assert!(added_ns.abs_diff(REVOLUTION) < 100, "{lba}, {sectors}: {added_ns} ns more");
    }
    assert_eq!(latency_4k(16, 16), latency_512(16, 16), "whole physical sectors");
}

/// The cache gathers the parts of a physical sector before it writes them, so that they cost no revolution.
#[test]
fn the_cache_gathers_parts_of_a_physical_sector() {
    // When a physical sector that is written in `parts` requests lands.
    let landed_at = |parts: u32| {
        let mut small = SmallDrive { physical_sector: 4096, ..caching_drive(4, 32) };
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
            next_completion(&mut drive);
        }
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        core::iter::from_fn(|| drive.poll_landing()).map(|landing| landing.to).max().expect("landed")
    };
    let (whole, gathered) = (landed_at(1), landed_at(8));
    // The last part comes 7 ms later, and the sector passes once a revolution.
    let revolutions = (gathered.nanos().abs_diff(whole.nanos()) as f64 / REVOLUTION as f64).round();
    assert!(revolutions <= 1.0, "{whole:?} and {gathered:?}");
}

/// The fields of SCSI's caching page say how far a read-ahead goes. After a pause, the blocks up to there are in the buffer, and the
/// next one is not.
#[test]
fn a_read_ahead_goes_as_far_as_the_caching_page_says() {
    // The fields of the page, and the blocks of the read-ahead after a read of four.
    let pages: [(bool, Option<u32>, Option<u32>, u64); 6] = [
        (false, None, None, 5),
        (true, None, None, 20),
        (true, Some(8), None, 8),
        (false, Some(8), None, 5),
        (true, None, Some(3), 0),
        (true, None, Some(4), 20),
    ];
    for (multiplied, ceiling, longest_read, ahead) in pages {
        let is_miss = |block: u64| {
            let mut small = SmallDrive::default().with_buffer(4, 60);
            let page = &mut small.cache.read_ahead;
            (page.max, page.multiplied, page.ceiling, page.longest_read) = (5, multiplied, ceiling, longest_read);
            let mut drive = small.drive();
            submit(&mut drive, Instant::ZERO, request(0, Op::Read, 0, 4));
            let after_pause = next_completion(&mut drive).finished + Span::from_millis(21);
            submit(&mut drive, after_pause, request(1, Op::Read, block, 1));
            let parts = next_completion(&mut drive).parts;
            parts.get(Part::Rotation) + parts.get(Part::Transfer) > Span::ZERO
        };
        let fields = (multiplied, ceiling, longest_read);
        assert!((4..4 + ahead).all(|block| !is_miss(block)), "{fields:?}: not as far as {ahead}");
        assert!(is_miss(4 + ahead), "{fields:?}: farther than {ahead}");
    }
}

/// The read-ahead of a read of eight blocks, with segments of 64, ends with the segment, after its own length, with the track or the
/// cylinder after the read, or with the drive, whichever comes first. The block before the end is a hit, the next is not.
#[test]
fn a_read_ahead_ends_at_the_first_of_its_limits() {
    // Forty cylinders of two tracks of 64 blocks, then forty of 48.
    let drive_end = 40 * 128 + 40 * 96;
    // The end of the track, or of the cylinder, of `block`; `length` is that of the outer ones.
    let end_of = |block: u64, length: u64| match block.checked_sub(5_120) {
        None => (block / length + 1) * length,
        Some(in_inner_zone) => 5_120 + (in_inner_zone / (length / 4 * 3) + 1) * (length / 4 * 3),
    };
    let mut lbas: Vec<u64> = [0, 1, 47, 48, 55, 56, 57, 63, 64, 100, 119, 120, 5_111, 5_112, 5_160].to_vec();
    lbas.extend([8, 9, 10, 40, 56, 57, 64, 65, 72].map(|before: u64| drive_end - before));
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
        for &lba in &lbas {
            let end = lba + 8;
            let is_miss = |block: u64| {
                let mut small = SmallDrive::default().with_buffer(4, 64);
                let read_ahead = &mut small.cache.read_ahead;
                (read_ahead.max, read_ahead.until, read_ahead.over_requested) = (max, until, over_requested);
                let mut drive = small.drive();
                submit(&mut drive, Instant::ZERO, request(0, Op::Read, lba, 8));
                let after_pause = next_completion(&mut drive).finished + Span::from_millis(51);
                submit(&mut drive, after_pause, request(1, Op::Read, block, 1));
                next_completion(&mut drive).parts.get(Part::Transfer) > Span::ZERO
            };
            let room = if over_requested { 64 } else { 56 };
            let mut limit = (end + u64::from(max).min(room)).min(drive_end);
            match until {
                ReadAheadEnd::Track => limit = limit.min(end_of(end, 64)),
                ReadAheadEnd::Cylinder => limit = limit.min(end_of(end, 128)),
                _ => {}
            }
            let context = format!("{until:?}, {max} blocks, from {lba}, over the read {over_requested}");
            assert!(!is_miss(limit - 1), "{context}: not as far as {limit}");
            assert!(limit == drive_end || is_miss(limit), "{context}: farther than {limit}");
        }
    }
}

/// The minimum of a read-ahead may count in lengths of the read. A command that comes meanwhile waits for it.
#[test]
fn a_minimum_in_lengths_of_the_read_is_not_cut_off() {
    let queue_time = |multiplied: bool| {
        let mut small = SmallDrive::default().with_buffer(4, 64);
        let read_ahead = &mut small.cache.read_ahead;
        (read_ahead.max, read_ahead.min, read_ahead.multiplied) = (60, 4, multiplied);
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, request(0, Op::Read, 0, 8));
        let read_finished = next_completion(&mut drive).finished;
        submit(&mut drive, read_finished, request(1, Op::Read, 6_400, 1));
        next_completion(&mut drive).parts.get(Part::Queue)
    };
    let (in_sectors, in_lengths) = (queue_time(false), queue_time(true));
    // Four lengths of eight blocks are 28 blocks more than four blocks.
    let added_ns = in_lengths.nanos() - in_sectors.nanos();
    assert!(added_ns.abs_diff(28 * SECTOR) < SECTOR, "{in_sectors:?}, {in_lengths:?}");
}

/// A stream of writes that are longer than a segment, with up to more outstanding than the buffer holds, runs at the rate of the
/// medium. The drive never chooses a write whose data are still on the link while it has those of another, which would lose a
/// revolution.
#[test]
fn a_stream_of_cached_writes_runs_at_media_rate() {
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
    // Bytes a second: 1,415 sectors a track, 90 revolutions a second, and the skew of each track.
    let media_rate = 1415.0 * 512.0 * 90.0 / (1.0 + small.skews().cylinder as f64 / 2f64.powi(64));
    for depth in 1..=16 {
        let (mut drive, mut now, writes) = (small.drive(), Instant::ZERO, 500);
        for tag in 0..writes {
            if tag >= depth {
                now = next_completion(&mut drive).finished;
            }
            submit(&mut drive, now, request(tag, Op::Write, u64::from(tag) * 1024, 1024));
        }
        let rate = f64::from(writes - depth) * 1024.0 * 512.0 / (now.nanos() as f64 / 1e9);
        assert!(rate > 0.95 * media_rate, "depth {depth}: {:.1} of {:.1} MB/s", rate / 1e6, media_rate / 1e6);
    }
}

/// Random uncached writes, 32 outstanding, on a link that brings half or two thirds of the data that the medium could take: the
/// link is always busy. The drive never chooses a write whose data are still to come while it has those of another.
#[test]
fn uncached_writes_run_at_the_rate_of_a_slow_link() {
    for link_rate in [20_000_000, 30_000_000] {
        let mut small = SmallDrive { zones: vec![(200, 1024)], ..SmallDrive::default() }.with_queue(32, Policy::Sptf);
        small.link.write_rate = link_rate;
        let (mut drive, mut now, writes, depth) = (small.drive(), Instant::ZERO, 1_000, 32);
        let mut rng = Seed(7).stream("places");
        for tag in 0..writes {
            if tag >= depth {
                now = next_completion(&mut drive).finished;
            }
            submit(&mut drive, now, request(tag, Op::Write, rng.below(300) * 512, 512));
        }
        let rate = f64::from(writes - depth) * 512.0 * 512.0 / (now.nanos() as f64 / 1e9);
        assert!(rate > 0.99 * link_rate as f64, "{:.2} of {:.2} MB/s", rate / 1e6, link_rate as f64 / 1e6);
    }
}
