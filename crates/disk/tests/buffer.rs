//! The policies of the buffer in a drive (`drive/cache.rs`): writes longer than a segment, read-ahead beside waiting
//! commands, the age of dirty data, discarding, reads of written blocks, and segments that adapt to the commands.
//!
//! Times are worked out by hand for the default small drive: 7,200 rpm, so that a revolution takes 8.333333 ms, and 64
//! sectors a track. Sector 0 is under the head at time 0.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Op, Request};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::{AdaptiveDivision, OverheadAfter, ReadAhead, ReadAheadHold, WrittenHits};
use seekwise_disk::queue::Policy;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{SmallDrive, check_conformance};
use seekwise_disk::time::{Instant, Span};

/// In nanoseconds.
const REVOLUTION: u64 = 8_333_333;

/// The time in which a sector passes the head, in nanoseconds.
const SECTOR: u64 = REVOLUTION / 64;

fn submit(drive: &mut Drive, at: Instant, tag: u32, op: Op, lba: u64, sectors: u32) {
    drive.handle_timeout(at);
    let request = Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 };
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

/// Runs the drive to its next `count` completions. Returns their times by tag, in nanoseconds.
fn end_times_ns(drive: &mut Drive, count: usize) -> Vec<u64> {
    let mut times_ns = vec![0; count];
    for _ in 0..count {
        let completion = next_completion(drive);
        times_ns[completion.tag as usize] = completion.finished.nanos();
    }
    times_ns
}

/// Checks that the times differ by less than 20 us. Expected times leave out transfers on the link.
fn assert_near_ns(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) < 20_000, "{found} ns, expected {expected} ns");
}

fn instant_ns(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A drive whose long writes wrap round in their segment, and that does not write in the background.
fn wrapping_drive() -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(4, 16).with_write_back(3);
    small.cache.wraps = true;
    small.cache.destage_idle = Span::from_millis(1000);
    small
}

#[test]
fn a_write_longer_than_its_segment_is_acknowledged_when_the_rest_fits() {
    let mut drive = wrapping_drive().drive();
    // The data of sector 0 cross the link in half a microsecond: too late for its pass at 0, so the write waits a revolution.
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next_completion(&mut drive).finished.nanos();
    assert_near_ns(acknowledged, REVOLUTION + 32 * SECTOR);
    // The flush waits for the rest.
    submit(&mut drive, instant_ns(acknowledged), 1, Op::Flush, 0, 0);
    assert_near_ns(next_completion(&mut drive).finished.nanos(), REVOLUTION + 48 * SECTOR);
}

#[test]
fn a_write_that_wraps_leaves_the_queue_to_the_next_command() {
    let mut drive = wrapping_drive().drive();
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next_completion(&mut drive).finished;
    // The drive takes one command at a time; the first has been acknowledged.
    submit(&mut drive, acknowledged, 1, Op::Read, 48, 8);
    assert_near_ns(next_completion(&mut drive).finished.nanos(), REVOLUTION + 56 * SECTOR);
}

#[test]
fn a_cut_loses_the_sectors_of_a_wrapping_write_that_have_not_passed() {
    let mut drive = wrapping_drive().drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next_completion(&mut drive).finished;
    drive.control(acknowledged, &Control::PowerCut).unwrap();
    let landings: Vec<_> = std::iter::from_fn(|| drive.poll_landing()).collect();
    let runs: Vec<_> = landings.iter().map(|landing| (landing.lba, landing.sectors, landing.kind)).collect();
    use seekwise_disk::block::LandingKind::{Discarded, Landed};
    assert_eq!(runs[0].2, Landed);
    assert_eq!(runs.iter().map(|run| run.1).sum::<u32>(), 48);
    assert!((31..=33).contains(&runs[0].1), "{runs:?}");
    assert_eq!(runs.last().unwrap().2, Discarded);
}

/// A stream reads up to the end of a segment; then at once comes a read elsewhere. Returns how long this waits until its seek
/// begins.
fn wait_before_seek_ns(holds: bool, max_wait: Option<Span>) -> u64 {
    let mut small = SmallDrive::default().with_buffer(4, 32).with_queue(4, Policy::Fcfs);
    small.cache.read_ahead.hold = if holds { ReadAheadHold::Segment } else { ReadAheadHold::Never };
    small.cache.read_ahead.over_requested = true;
    small.cache.read_ahead.after = 2;
    small.firmware.queue.max_wait = max_wait;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, 0, Op::Read, 8, 32);
    let first = end_times_ns(&mut drive, 1)[0];
    // Read-ahead begins with the second read of a stream: after this one, up to block 80.
    submit(&mut drive, instant_ns(first + 3 * REVOLUTION), 0, Op::Read, 40, 8);
    let second = end_times_ns(&mut drive, 1)[0];
    assert_near_ns(second % REVOLUTION, 48 * SECTOR);
    submit(&mut drive, instant_ns(second), 0, Op::Read, 3000, 1);
    let completion = next_completion(&mut drive);
    let before_seek = completion.parts.get(seekwise_disk::record::Part::Queue);
    before_seek.nanos()
}

#[test]
fn a_streams_read_ahead_fills_its_segment_before_it_gives_way() {
    assert_near_ns(wait_before_seek_ns(false, None), 0);
    // The wait is for 32 more sectors on two tracks, with the skew between them.
    let held = wait_before_seek_ns(true, None);
    assert!((32 * SECTOR..34 * SECTOR + 520_000).contains(&held), "{held} ns");
    // The wait ends when a command has waited as long as it may.
    assert_near_ns(wait_before_seek_ns(true, Some(Span::from_millis(1))), 1_000_000);
}

#[test]
fn dirty_data_of_age_compete_with_commands() {
    let landed_at = |age: Option<Span>| {
        let mut small = SmallDrive::default().with_buffer(4, 16).with_write_back(2).with_queue(8, Policy::Fcfs);
        small.cache.destage_idle = Span::from_millis(1);
        small.cache.destage_age = age;
        small.cache.read_ahead.max = 0;
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        submit(&mut drive, Instant::ZERO, 0, Op::Write, 100, 1);
        next_completion(&mut drive);
        // Two reads at a time keep the drive busy.
        submit(&mut drive, instant_ns(500_000), 1, Op::Read, 2000, 1);
        submit(&mut drive, instant_ns(500_000), 2, Op::Read, 3000, 1);
        let mut now_ns = 0;
        while now_ns < 300_000_000 {
            let completion = next_completion(&mut drive);
            now_ns = completion.finished.nanos();
            if let Some(landing) = drive.poll_landing() {
                return Some(landing.to.nanos());
            }
            submit(&mut drive, completion.finished, completion.tag, Op::Read, now_ns % 4000, 1);
        }
        None
    };
    assert_eq!(landed_at(None), None);
    let landed = landed_at(Some(Span::from_millis(50))).expect("landed");
    assert!((50_000_000..50_000_000 + 6 * REVOLUTION).contains(&landed), "{landed} ns");
}

#[test]
fn a_segment_read_to_its_end_is_displaced_first() {
    let hit_again = |discards: bool| {
        let mut small = SmallDrive::default().with_buffer(2, 16);
        small.cache.read_ahead.max = 0;
        small.cache.read_ahead.discards = discards;
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        // The second of two segments is read again to its end. Without discarding the first is the older one.
        for (lba, sectors) in [(0, 8), (1000, 8), (1000, 8), (2000, 8)] {
            submit(&mut drive, now, 0, Op::Read, lba, sectors);
            now = next_completion(&mut drive).finished + Span::from_millis(1);
        }
        submit(&mut drive, now, 0, Op::Read, 0, 8);
        next_completion(&mut drive).finished.since(now) < Span::from_micros(100)
    };
    assert!(!hit_again(false));
    assert!(hit_again(true));
}

#[test]
fn an_adaptive_buffer_keeps_the_contract() {
    let mut small = SmallDrive::default().with_buffer(3, 85).with_write_back(2).with_queue(8, Policy::Sptf);
    small.cache.adaptive = Some(AdaptiveDivision { sectors: 256, most: 16, dirty_percent: 75, own_lengths: false });
    for seed in 0..40 {
        if let Err(violation) = check_conformance(&|| Box::new(small.drive()), small.cut_sector, seed) {
            panic!("seed {seed}: {violation:?}");
        }
    }
}

#[test]
fn an_adaptive_buffer_takes_more_scattered_writes_than_its_first_division_holds() {
    let mut small = SmallDrive::default().with_buffer(3, 341).with_write_back(2).with_queue(1, Policy::Sptf);
    small.cache.adaptive = Some(AdaptiveDivision { sectors: 1024, most: 64, dirty_percent: 75, own_lengths: false });
    small.cache.destage_idle = Span::from_millis(1);
    let mut drive = small.drive();
    let mut rng = Seed(1).stream("writes");
    let mut now = Instant::ZERO;
    let mut burst = |drive: &mut Drive, count: u32| {
        let found_room = (0..count).filter(|_| {
            submit(drive, now, 0, Op::Write, rng.below(8000), 1);
            let completion = next_completion(drive);
            let response = completion.finished.since(now);
            now = completion.finished;
            response < Span::from_micros(100)
        });
        let found_room = found_room.count();
        // Enough time to destage everything.
        now += Span::from_millis(5000);
        drive.handle_timeout(now);
        found_room
    };
    let first = burst(&mut drive, 20);
    assert!(first < 10, "{first} of 20 found room in two segments");
    burst(&mut drive, 64);
    let later = burst(&mut drive, 40);
    assert_eq!(later, 40, "of 40 found room in 48 segments");
}

/// After 62 scattered writes the second of two reads makes the segments shorter. If the read-ahead of the first read is still to
/// come, it brings the blocks of the second. If it is running, it ends, and the blocks pass before the next access begins.
#[test]
fn a_new_division_ends_a_read_ahead_that_runs() {
    for (delay_ns, expected_ns) in
        [(0, REVOLUTION + 24 * SECTOR), (REVOLUTION + 10 * SECTOR, 2 * REVOLUTION + 24 * SECTOR)]
    {
        let mut small = SmallDrive::default().with_buffer(3, 32).with_queue(2, Policy::Fcfs);
        small.cache.adaptive = Some(AdaptiveDivision { sectors: 96, most: 12, dirty_percent: 75, own_lengths: false });
        small.firmware.dispatch = Span::from_millis(2);
        let mut drive = small.drive();
        for write in 0..62 {
            response_ns(&mut drive, write * 10 * REVOLUTION, Op::Write, write * 100, 1);
        }
        let start_ns = 999 * REVOLUTION;
        submit(&mut drive, instant_ns(start_ns), 0, Op::Read, 0, 8);
        submit(&mut drive, instant_ns(start_ns + delay_ns), 1, Op::Read, 16, 8);
        assert_near_ns(end_times_ns(&mut drive, 2)[1] - start_ns, expected_ns);
    }
}

/// The time of `writes` sequential writes of four sectors, which start again at block 0 after `area_sectors`.
fn sequential_write_time(policy: Policy, area_sectors: u64, writes: u64) -> Span {
    let mut small = SmallDrive::default().with_buffer(6, 64).with_write_back(5);
    small.firmware.destage.policy = policy;
    let mut drive = small.drive();
    let mut now = Instant::ZERO;
    for write in 0..writes {
        submit(&mut drive, now, 0, Op::Write, write * 4 % area_sectors, 4);
        now = next_completion(&mut drive).finished;
    }
    now.since(Instant::ZERO)
}

/// A drive that wrote out the run that a stream is still filling would take a revolution for each of its writes, as long as
/// other commands wait.
#[test]
fn a_stream_that_begins_anew_is_not_written_out_block_by_block() {
    for policy in [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf] {
        let (straight, round) = (sequential_write_time(policy, 7000, 1700), sequential_write_time(policy, 1400, 1700));
        // Each of five rounds costs a seek back and no more.
        let allowed = straight + Span::from_nanos(6 * 4 * REVOLUTION);
        assert!(round <= allowed, "{policy:?}: {round:?}, {straight:?} straight on");
    }
}

/// A stream of three writes is followed by scattered ones. Returns the number of the write at which data of the stream go to
/// the medium. The buffer has room for five runs of 64 blocks; nothing is written out before it is full.
fn writes_until_the_stream_lands(policy: Policy) -> usize {
    let mut small = SmallDrive::default().with_buffer(6, 64).with_write_back(5).with_queue(1, Policy::Fcfs);
    small.firmware.destage.policy = policy;
    small.cache.destage_idle = Span::from_millis(1000);
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    let mut now = Instant::ZERO;
    let scattered = (0..40).map(|write| 1000 + write * 777 % 6000);
    for (write, lba) in [0, 4, 8].into_iter().chain(scattered).enumerate() {
        submit(&mut drive, now, 0, Op::Write, lba, 4);
        now = next_completion(&mut drive).finished;
        if std::iter::from_fn(|| drive.poll_landing()).any(|landing| landing.lba < 12) {
            return write;
        }
    }
    panic!("the stream's end was never written");
}

/// The end of a stream is no longer spared after as many other writes as there are segments. The buffer is full from the
/// seventh write on. The arm stands at the stream, so that an unspared stream would be written out first; in the order of
/// arrival it is.
#[test]
fn the_end_of_a_stream_is_written_out_among_others() {
    let spared = writes_until_the_stream_lands(Policy::CLook);
    // Afterwards it waits until the arm has crossed the other runs once.
    assert!((8..8 + 2 * 5).contains(&spared), "after {spared} writes");
    assert_eq!(writes_until_the_stream_lands(Policy::Fcfs), 7);
}

/// Blocks that a read brought are no stream of writes: a write behind them is not spared, and goes to the medium in the order of
/// the policy.
#[test]
fn a_write_behind_read_blocks_is_no_stream() {
    let first_to_land = |read: bool| {
        let mut small = SmallDrive::default().with_buffer(6, 64).with_write_back(3);
        small.firmware.destage.policy = Policy::Sstf;
        (small.cache.read_ahead.max, small.cache.destage_idle) = (0, Span::from_millis(20));
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        submit(&mut drive, Instant::ZERO, 0, if read { Op::Read } else { Op::Write }, 0, 8);
        let mut now = next_completion(&mut drive).finished + Span::from_millis(100);
        for lba in [8, 6000] {
            submit(&mut drive, now, 0, Op::Write, lba, 4);
            now = next_completion(&mut drive).finished;
        }
        drive.handle_timeout(now + Span::from_millis(200));
        let landed = std::iter::from_fn(|| drive.poll_landing()).find(|landing| landing.lba >= 8);
        landed.expect("an idle drive writes out").lba
    };
    assert_eq!(first_to_land(true), 8);
    assert_eq!(first_to_land(false), 6000, "behind a write that is on the medium already it may go on");
}

/// With segments of their own lengths, a written run takes as much memory as it is long. So as many short writes find room as
/// there may be runs; long writes do until three quarters of the memory are used.
#[test]
fn written_runs_of_their_own_lengths_share_the_memory() {
    let writes_with_room = |sectors: u32| {
        let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(12).with_queue(1, Policy::Sptf);
        small.cache.adaptive = Some(AdaptiveDivision { sectors: 1024, most: 64, dirty_percent: 75, own_lengths: true });
        small.cache.dirty_runs = Some(48);
        small.cache.destage_idle = Span::from_millis(1000);
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        (0..64)
            .take_while(|&number| {
                submit(&mut drive, now, 0, Op::Write, (number * 37 % 64) * 100, sectors);
                let completion = next_completion(&mut drive);
                let response = completion.finished.since(now);
                now = completion.finished;
                response < Span::from_micros(200)
            })
            .count()
    };
    assert_eq!(writes_with_room(1), 48, "runs");
    // 12 segments of 64 are 768 blocks.
    assert_eq!(writes_with_room(32), 24, "blocks");
}

/// A drive with a buffer of 1,024 blocks: of segments of their own lengths, or of 16 segments of 64 blocks.
fn shared_buffer_drive(own_lengths: bool, read_ahead_sectors: u32) -> Drive {
    let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(12).with_queue(1, Policy::Sptf);
    let adaptive = AdaptiveDivision { sectors: 1024, most: 64, dirty_percent: 75, own_lengths: true };
    small.cache.adaptive = own_lengths.then_some(adaptive);
    small.cache.dirty_runs = Some(48);
    small.cache.read_ahead.max = read_ahead_sectors;
    small.drive()
}

/// Reads of eight blocks without read-ahead take eight blocks of memory each: the 64 segments that there may be are used up
/// before the 1,024 blocks are. With whole segments of 64 blocks, 16 reads fit.
#[test]
fn reads_of_their_own_lengths_take_memory_for_their_blocks() {
    let kept_reads = |mut drive: Drive| {
        let mut now_ns = 0;
        let mut is_hit = |number: u64| {
            let response = response_ns(&mut drive, now_ns, Op::Read, number * 37 % 101 * 60, 8);
            now_ns += response + 1_000_000;
            response < 200_000
        };
        (0..80).for_each(|number| assert!(!is_hit(number), "{number} was never read before"));
        // In this order, newest first, reads of kept blocks displace nothing.
        (0..80).rev().take_while(|&number| is_hit(number)).count()
    };
    assert_eq!(kept_reads(shared_buffer_drive(true, 0)), 64, "segments");
    assert_eq!(kept_reads(shared_buffer_drive(false, 0)), 16, "whole segments");
}

/// With a read-ahead of eight blocks each, the reads take 16, 15 times 64 and 40 of 1,024 blocks. The read-ahead that continues
/// takes the last eight, so that nothing is displaced.
#[test]
fn a_read_ahead_that_continues_takes_memory_for_its_blocks() {
    let mut drive = shared_buffer_drive(true, 8);
    let mut now_ns = 0;
    let mut is_hit = |lba, sectors| {
        now_ns += 10 * REVOLUTION;
        response_ns(&mut drive, now_ns, Op::Read, lba, sectors) < 200_000
    };
    let reads = [(1000, 8)].into_iter().chain((0..15).map(|number| (2000 + 100 * number, 56))).chain([(4000, 32)]);
    reads.for_each(|(lba, sectors)| assert!(!is_hit(lba, sectors), "{lba} was never read before"));
    assert!(is_hit(1008, 8), "it was read ahead");
    assert!(is_hit(2000, 8), "the oldest is kept");
    assert!(is_hit(1016, 8), "the read-ahead continued");
}

/// A stream with a segment of its own length is read as fast as one with a whole segment.
#[test]
fn a_stream_is_as_fast_with_segments_of_their_own_lengths() {
    let stream_time_ns = |mut drive: Drive| {
        (0..200).fold(0, |now_ns, number| now_ns + response_ns(&mut drive, now_ns, Op::Read, number * 8, 8))
    };
    assert_eq!(stream_time_ns(shared_buffer_drive(true, 64)), stream_time_ns(shared_buffer_drive(false, 64)));
}

#[test]
fn a_buffer_of_own_lengths_keeps_the_contract() {
    let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(3).with_queue(8, Policy::Sptf);
    small.cache.adaptive = Some(AdaptiveDivision { sectors: 256, most: 16, dirty_percent: 75, own_lengths: true });
    small.cache.dirty_runs = Some(12);
    for seed in 0..40 {
        if let Err(violation) = check_conformance(&|| Box::new(small.drive()), small.cut_sector, seed) {
            panic!("seed {seed}: {violation:?}");
        }
    }
}

/// The response time of a command that is submitted at `now_ns` to an idle drive, in nanoseconds.
fn response_ns(drive: &mut Drive, now_ns: u64, op: Op, lba: u64, sectors: u32) -> u64 {
    submit(drive, instant_ns(now_ns), 0, op, lba, sectors);
    next_completion(drive).finished.nanos() - now_ns
}

fn drive_with_written_hits(hits: WrittenHits, write_back: bool, idle_ms: u64) -> Drive {
    let mut small = SmallDrive::default().with_buffer(4, 32).with_write_back(3);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.write_back = write_back;
    small.cache.destage_idle = Span::from_millis(idle_ms);
    small.cache.written_hits = hits;
    small.drive()
}

/// An instant at which block 0 comes under the head four sectors later, in nanoseconds.
const FOUR_SECTORS_BEFORE: u64 = 3 * REVOLUTION - 4 * SECTOR;

#[test]
fn a_read_of_dirty_blocks_waits_for_the_medium_where_written_blocks_serve_no_reads() {
    for (hits, expected) in [
        (WrittenHits::Cached, 0),
        (WrittenHits::All, 0),
        // The blocks are written when they pass, and read a revolution later.
        (WrittenHits::None, 4 * SECTOR + REVOLUTION + 8 * SECTOR),
    ] {
        let mut drive = drive_with_written_hits(hits, true, 1000);
        assert_near_ns(response_ns(&mut drive, 0, Op::Write, 0, 8), 0);
        assert_near_ns(response_ns(&mut drive, FOUR_SECTORS_BEFORE, Op::Read, 0, 8), expected);
        // Blocks that a read has brought serve the next.
        assert_near_ns(response_ns(&mut drive, 9 * REVOLUTION, Op::Read, 0, 8), 0);
    }
}

#[test]
fn a_read_waits_for_the_medium_if_a_part_of_its_blocks_is_dirty() {
    let mut drive = drive_with_written_hits(WrittenHits::None, true, 1000);
    assert_near_ns(response_ns(&mut drive, 0, Op::Write, 4, 4), 0);
    assert_near_ns(response_ns(&mut drive, FOUR_SECTORS_BEFORE, Op::Read, 0, 8), 4 * SECTOR + REVOLUTION + 8 * SECTOR);
    // A read of other blocks does not wait for dirty ones.
    assert_near_ns(response_ns(&mut drive, 9 * REVOLUTION, Op::Write, 40, 4), 0);
    assert_near_ns(response_ns(&mut drive, 12 * REVOLUTION - 4 * SECTOR, Op::Read, 16, 8), (4 + 16 + 8) * SECTOR);
}

#[test]
fn blocks_that_were_written_out_serve_reads_where_the_profile_says_so() {
    for (hits, write_back, expected) in [
        (WrittenHits::Cached, true, 0),
        (WrittenHits::None, true, 12 * SECTOR),
        (WrittenHits::Cached, false, 12 * SECTOR),
        (WrittenHits::All, false, 0),
        (WrittenHits::None, false, 12 * SECTOR),
    ] {
        let mut drive = drive_with_written_hits(hits, write_back, 0);
        response_ns(&mut drive, 0, Op::Write, 0, 8);
        assert_near_ns(response_ns(&mut drive, 12 * REVOLUTION - 4 * SECTOR, Op::Read, 0, 8), expected);
    }
}

#[test]
fn a_write_through_that_goes_on_where_another_ended_joins_its_blocks() {
    let mut drive = drive_with_written_hits(WrittenHits::All, false, 0);
    for (index, time) in [3, 6, 9].into_iter().enumerate() {
        response_ns(&mut drive, time * REVOLUTION, Op::Write, 8 * index as u64, 8);
    }
    assert_near_ns(response_ns(&mut drive, 12 * REVOLUTION, Op::Read, 0, 24), 0);
    // Some of the blocks are written again: all are in the buffer, in a single copy.
    response_ns(&mut drive, 15 * REVOLUTION, Op::Write, 8, 4);
    assert_near_ns(response_ns(&mut drive, 18 * REVOLUTION, Op::Read, 8, 4), 0);
    assert_near_ns(response_ns(&mut drive, 21 * REVOLUTION, Op::Read, 0, 8), 0);
}

/// Reads two runs of blocks and those at `others`, writes two other runs, and reads the first two again. Returns which of
/// these are hits.
fn read_hits_after_writes(writes_apart: bool, others: &[u64]) -> [bool; 2] {
    let mut small = SmallDrive::default().with_buffer(3, 16).with_write_back(1);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.writes_apart = writes_apart;
    let mut drive = small.drive();
    let mut now_ns = 0;
    let mut is_hit = |op, lba| {
        now_ns += 20 * REVOLUTION;
        response_ns(&mut drive, now_ns, op, lba, 8) < SECTOR
    };
    let reads = [0, 512];
    reads.iter().chain(others).for_each(|&lba| assert!(!is_hit(Op::Read, lba)));
    [1024, 2048].into_iter().for_each(|lba| assert!(is_hit(Op::Write, lba)));
    let [second, first] = [512, 0].map(|lba| is_hit(Op::Read, lba));
    [first, second]
}

#[test]
fn writes_with_segments_of_their_own_displace_no_read_blocks() {
    // The first write takes the third segment; the second write displaces the first read.
    assert_eq!(read_hits_after_writes(false, &[]), [false, true]);
    assert_eq!(read_hits_after_writes(true, &[]), [true, true]);
    // In return reads have two segments, and a third read displaces the first.
    assert_eq!(read_hits_after_writes(true, &[3072]), [false, true]);
}

#[test]
fn drives_with_written_blocks_of_any_kind_keep_the_contract() {
    for hits in [WrittenHits::None, WrittenHits::All] {
        for apart in [false, true] {
            for seed in 0..6 {
                let mut small = SmallDrive::default().with_buffer(4, 32).with_write_back(2).with_queue(8, Policy::Sptf);
                small.cache.written_hits = hits;
                small.cache.writes_apart = apart;
                let build_device = || -> Box<dyn Device> { Box::new(small.drive()) };
                check_conformance(&build_device, small.cut_sector, seed).expect("the contract");
            }
        }
    }
}

/// A drive without a buffer.
fn uncached_drive(verify: bool) -> Drive {
    let mut small = SmallDrive::default();
    small.firmware.write_verify = verify;
    small.drive()
}

#[test]
fn a_verified_write_takes_a_revolution_more_on_each_track() {
    for (lba, sectors, tracks) in [(0, 8, 1), (0, 72, 2), (8, 64, 2)] {
        let write_ns = |verify| response_ns(&mut uncached_drive(verify), FOUR_SECTORS_BEFORE, Op::Write, lba, sectors);
        assert_near_ns(write_ns(true) - write_ns(false), tracks * REVOLUTION);
    }
    assert_near_ns(
        response_ns(&mut uncached_drive(true), FOUR_SECTORS_BEFORE, Op::Write, 0, 8),
        (4 + 8) * SECTOR + REVOLUTION,
    );
    // A read has nothing to verify.
    assert_near_ns(response_ns(&mut uncached_drive(true), FOUR_SECTORS_BEFORE, Op::Read, 0, 8), (4 + 8) * SECTOR);
}

#[test]
fn blocks_that_are_being_verified_are_on_the_medium() {
    let mut drive = uncached_drive(true);
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    submit(&mut drive, instant_ns(FOUR_SECTORS_BEFORE), 0, Op::Write, 0, 8);
    let during_verification = instant_ns(FOUR_SECTORS_BEFORE + 12 * SECTOR + REVOLUTION / 2);
    drive.handle_timeout(during_verification);
    drive.control(during_verification, &Control::PowerCut).unwrap();
    let landing = drive.poll_landing().expect("it has passed");
    assert_eq!((landing.lba, landing.sectors), (0, 8));
    assert_eq!(landing.kind, seekwise_disk::block::LandingKind::Landed);
    assert_near_ns(landing.to.nanos(), FOUR_SECTORS_BEFORE + 12 * SECTOR);
}

/// How many of `writes` writes begin a revolution late, if `percent` of those after a seek are to. `with_seeks`: each write
/// seeks; otherwise none does.
fn count_late_writes(percent: u32, writes: u64, with_seeks: bool) -> u64 {
    let response_times = |percent| {
        let mut small = SmallDrive::default();
        small.firmware.late_writes_percent = percent;
        let mut drive = small.drive();
        let lba = move |write: u64| if with_seeks { (write + 1) % 2 * 1024 } else { write % 2 * 8 };
        (0..writes)
            .map(|write| response_ns(&mut drive, (write + 1) * 10 * REVOLUTION, Op::Write, lba(write), 4))
            .collect()
    };
    let (with_late, in_time): (Vec<u64>, Vec<u64>) = (response_times(percent), response_times(0));
    let revolutions_late = |(with_late, in_time): (&u64, &u64)| {
        let revolutions = (with_late - in_time + 1000) / REVOLUTION;
        assert_near_ns(with_late - in_time, revolutions * REVOLUTION);
        assert!(revolutions <= 1);
        revolutions
    };
    with_late.iter().zip(&in_time).map(revolutions_late).sum()
}

#[test]
fn a_percentage_of_writes_begins_a_revolution_late_after_a_seek() {
    assert_eq!(count_late_writes(100, 50, true), 50);
    assert_eq!(count_late_writes(100, 50, false), 0);
    // In 1,000 draws 80 are expected, with a standard deviation of 8.6.
    let late = count_late_writes(8, 1000, true);
    assert!((45..=115).contains(&late), "{late}");
}

/// Writes four blocks at each of `lbas`, 10 us after one another; all find room in the buffer.
fn write_to_buffer(drive: &mut Drive, start_ns: u64, lbas: &[u64]) {
    for (index, &lba) in lbas.iter().enumerate() {
        assert_near_ns(response_ns(drive, start_ns + 10_000 * index as u64, Op::Write, lba, 4), 0);
    }
}

/// Fills the buffer with four scattered writes. Returns the response times of four more, one after another, in nanoseconds.
fn write_times_beyond_full_buffer(room_runs: u32) -> [u64; 4] {
    let mut small = SmallDrive::default().with_buffer(8, 16).with_write_back(4);
    small.cache.destage_idle = Span::from_millis(1000);
    small.cache.room_runs = room_runs;
    small.firmware.destage.policy = Policy::Fcfs;
    let mut drive = small.drive();
    let mut now_ns = 3 * REVOLUTION - 2 * SECTOR;
    write_to_buffer(&mut drive, now_ns - 50_000, &[0, 16, 32, 48]);
    [1024, 1056, 1088, 1120].map(|lba| {
        let response = response_ns(&mut drive, now_ns, Op::Write, lba, 4);
        now_ns += response;
        response
    })
}

#[test]
fn a_write_without_room_waits_until_several_runs_are_free() {
    // The runs pass one after another, 16 sectors apart, and each makes room for one write.
    let one_by_one = write_times_beyond_full_buffer(1);
    assert_near_ns(one_by_one[0], (2 + 4) * SECTOR);
    assert_near_ns(one_by_one[1], 16 * SECTOR);
    assert_near_ns(one_by_one[2], 16 * SECTOR);
    // The first waits for three runs; the next two find room at once.
    let bursts = write_times_beyond_full_buffer(3);
    assert_near_ns(bursts[0], (2 + 36) * SECTOR);
    assert_near_ns(bursts[1], 0);
    assert_near_ns(bursts[2], 0);
    assert!(bursts[3] > 12 * SECTOR, "{bursts:?}");
    // If there are fewer runs, the write waits for all.
    assert_near_ns(write_times_beyond_full_buffer(100)[0], (2 + 52) * SECTOR);
}

/// How many of four reads complete before a flush of three dirty segments, if commands get `percent` of the turns.
fn count_reads_before_flush(percent: Option<u32>) -> usize {
    let mut small = SmallDrive::default().with_buffer(8, 16).with_write_back(4).with_queue(8, Policy::Fcfs);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.destage_idle = Span::from_millis(1000);
    small.firmware.commands_percent = percent;
    let mut drive = small.drive();
    write_to_buffer(&mut drive, REVOLUTION, &[0, 256, 512]);
    // The first segment is written before the reads come, the others compete with them.
    submit(&mut drive, instant_ns(3 * REVOLUTION), 9, Op::Flush, 0, 0);
    for (tag, lba) in [1024, 2048, 3072, 4096].into_iter().enumerate() {
        submit(&mut drive, instant_ns(3 * REVOLUTION), tag as u32, Op::Read, lba, 4);
    }
    std::iter::from_fn(|| Some(next_completion(&mut drive))).take_while(|completion| completion.tag != 9).count()
}

#[test]
fn commands_get_their_share_of_the_turns() {
    // With 50 percent, reads get one of the two turns: a segment, a read, a segment.
    let found = [Some(0), Some(25), Some(50), Some(100)].map(count_reads_before_flush);
    assert_eq!(found, [0, 0, 1, 4]);
}

#[test]
fn drives_that_verify_share_turns_and_drain_in_bursts_keep_the_contract() {
    for (room_runs, percent, verify) in [(1, Some(0), true), (3, Some(100), false), (9, Some(40), true)] {
        for seed in 0..6 {
            let mut small = SmallDrive::default().with_buffer(6, 32).with_write_back(4).with_queue(8, Policy::Sptf);
            small.cache.room_runs = room_runs;
            small.firmware.commands_percent = percent;
            small.firmware.write_verify = verify;
            small.firmware.late_writes_percent = percent.unwrap_or(0);
            let build_device = || -> Box<dyn Device> { Box::new(small.drive()) };
            check_conformance(&build_device, small.cut_sector, seed).expect("the contract");
        }
    }
}

/// Two reads come at once to an empty buffer and are decoded one after another, for 20 ms each. The first reads the blocks that
/// pass from 25 ms on; its read-ahead runs to the end of the track, at 33.3 ms.
#[test]
fn a_read_finds_blocks_that_came_while_it_was_decoded() {
    for (lba, uses_proceed) in [(0, false), (0, true), (24, false), (24, true)] {
        let mut small = SmallDrive::default().with_buffer(4, 64).with_queue(2, Policy::Fcfs);
        small.overhead.read_miss = OverheadAfter::both(Span::from_millis(20));
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, 0, Op::Read, 0, 8);
        submit(&mut drive, Instant::ZERO, 1, Op::Read, lba, 8);
        let [first, second] = [0, 1].map(|_| match uses_proceed {
            true => drive.proceed(Instant::FAR).expect("an answer"),
            false => next_completion(&mut drive),
        });
        assert_eq!((first.tag, second.tag), (0, 1));
        assert_near_ns(first.finished.nanos(), 3 * REVOLUTION + 8 * SECTOR);
        assert_near_ns(second.finished.nanos(), 40_000_000);
    }
}
