//! Laws of the buffer's policies: a write longer than its segment, a stream's read-ahead beside waiting commands,
//! ageing of dirty data, discarding, reads behind writes, and segments that follow the commands. Times are computed by hand from the small
//! drive: 7,200 rpm, 64 sectors a track, a revolution of 8.333333 ms.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Op, Request};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::{AdaptiveDivision, OverheadAfter, ReadAhead, ReadAheadHold, WrittenHits};
use seekwise_disk::queue::Policy;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{SmallDrive, check_conformance};
use seekwise_disk::time::{Instant, Span};

const REVOLUTION: u64 = 8_333_333;
/// On a track of 64.
const SECTOR: u64 = REVOLUTION / 64;

fn submit(drive: &mut Drive, at: Instant, tag: u32, op: Op, lba: u64, sectors: u32) {
    drive.handle_timeout(at);
    let request = Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 };
    drive.submit(at, request).expect("room");
}

/// The next completion.
fn next(drive: &mut Drive) -> Completion {
    loop {
        if let Some(completion) = drive.poll_completion() {
            return completion;
        }
        let next = drive.poll_timeout().expect("something in flight");
        drive.handle_timeout(next);
    }
}

/// The ends of the `count` next completions, by tag.
fn ends(drive: &mut Drive, count: usize) -> Vec<u64> {
    let mut ends = vec![0; count];
    for _ in 0..count {
        let completion = next(drive);
        ends[completion.tag as usize] = completion.finished.nanos();
    }
    ends
}

fn near(found: u64, expected: u64) {
    assert!(found.abs_diff(expected) < 20_000, "{found} ns, expected {expected} ns");
}

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn round_writing() -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(4, 16).with_write_back(3);
    small.cache.wraps = true;
    small.cache.destage_idle = Span::from_millis(1000);
    small
}

#[test]
fn a_write_longer_than_its_segment_is_acknowledged_when_the_rest_fits() {
    let mut drive = round_writing().drive();
    // Sector 0 passes at 0; the data of one sector take half a microsecond, so the write waits for a revolution.
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next(&mut drive).finished.nanos();
    near(acknowledged, REVOLUTION + 32 * SECTOR);
    // The flush waits for the rest.
    submit(&mut drive, at(acknowledged), 1, Op::Flush, 0, 0);
    near(next(&mut drive).finished.nanos(), REVOLUTION + 48 * SECTOR);
}

#[test]
fn a_write_that_goes_round_leaves_its_place_in_the_queue_to_the_next() {
    let mut drive = round_writing().drive();
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next(&mut drive).finished;
    // One command at a time, and for the host the first is over.
    submit(&mut drive, acknowledged, 1, Op::Read, 48, 8);
    near(next(&mut drive).finished.nanos(), REVOLUTION + 56 * SECTOR);
}

#[test]
fn a_cut_loses_what_of_it_has_not_passed() {
    let mut drive = round_writing().drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    submit(&mut drive, Instant::ZERO, 0, Op::Write, 0, 48);
    let acknowledged = next(&mut drive).finished;
    drive.control(acknowledged, &Control::PowerCut).unwrap();
    let landings: Vec<_> = std::iter::from_fn(|| drive.poll_landing()).collect();
    let runs: Vec<_> = landings.iter().map(|landing| (landing.lba, landing.sectors, landing.kind)).collect();
    use seekwise_disk::block::LandingKind::{Discarded, Landed};
    assert_eq!(runs[0].2, Landed);
    assert_eq!(runs.iter().map(|run| run.1).sum::<u32>(), 48);
    assert!((31..=33).contains(&runs[0].1), "{runs:?}");
    assert_eq!(runs.last().unwrap().2, Discarded);
}

/// A read that continues where a segment ends, then at once one elsewhere: when the second begins its seek.
fn elsewhere(holds: bool, max_wait: Option<Span>) -> u64 {
    let mut small = SmallDrive::default().with_buffer(4, 32).with_queue(4, Policy::Fcfs);
    small.cache.read_ahead.hold = if holds { ReadAheadHold::Segment } else { ReadAheadHold::Never };
    small.cache.read_ahead.over_requested = true;
    small.cache.read_ahead.after = 2;
    small.firmware.queue.max_wait = max_wait;
    let mut drive = small.drive();
    submit(&mut drive, Instant::ZERO, 0, Op::Read, 8, 32);
    let first = ends(&mut drive, 1)[0];
    // Only the second of a stream is read ahead: it continues where the first ended, up to 80.
    submit(&mut drive, at(first + 3 * REVOLUTION), 0, Op::Read, 40, 8);
    let second = ends(&mut drive, 1)[0];
    near(second % REVOLUTION, 48 * SECTOR);
    submit(&mut drive, at(second), 0, Op::Read, 3000, 1);
    let completion = next(&mut drive);
    let before_seek = completion.parts.get(seekwise_disk::record::Part::Queue);
    before_seek.nanos()
}

#[test]
fn a_streams_read_ahead_fills_its_segment_before_it_gives_way() {
    near(elsewhere(false, None), 0);
    // 32 more sectors on two tracks, with the skew between them.
    let held = elsewhere(true, None);
    assert!((32 * SECTOR..34 * SECTOR + 520_000).contains(&held), "{held} ns");
    // No longer than a command may wait.
    near(elsewhere(true, Some(Span::from_millis(1))), 1_000_000);
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
        next(&mut drive);
        // Two reads in turn never let the drive idle.
        submit(&mut drive, at(500_000), 1, Op::Read, 2000, 1);
        submit(&mut drive, at(500_000), 2, Op::Read, 3000, 1);
        let mut until = 0;
        while until < 300_000_000 {
            let completion = next(&mut drive);
            until = completion.finished.nanos();
            if let Some(landing) = drive.poll_landing() {
                return Some(landing.to.nanos());
            }
            submit(&mut drive, completion.finished, completion.tag, Op::Read, until % 4000, 1);
        }
        None
    };
    assert_eq!(landed_at(None), None);
    let landed = landed_at(Some(Span::from_millis(50))).expect("landed");
    assert!((50_000_000..50_000_000 + 6 * REVOLUTION).contains(&landed), "{landed} ns");
}

#[test]
fn what_has_been_read_to_its_end_is_given_up_first() {
    let hit_again = |discards: bool| {
        let mut small = SmallDrive::default().with_buffer(2, 16);
        small.cache.read_ahead.max = 0;
        small.cache.read_ahead.discards = discards;
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        // Two segments. The second is read again to its end, so without discarding the first is the older.
        for (lba, sectors) in [(0, 8), (1000, 8), (1000, 8), (2000, 8)] {
            submit(&mut drive, now, 0, Op::Read, lba, sectors);
            now = next(&mut drive).finished + Span::from_millis(1);
        }
        submit(&mut drive, now, 0, Op::Read, 0, 8);
        next(&mut drive).finished.since(now) < Span::from_micros(100)
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
        let swift = (0..count).filter(|_| {
            submit(drive, now, 0, Op::Write, rng.below(8000), 1);
            let completion = next(drive);
            let took = completion.finished.since(now);
            now = completion.finished;
            took < Span::from_micros(100)
        });
        let swift = swift.count();
        // Enough time to destage everything.
        now += Span::from_millis(5000);
        drive.handle_timeout(now);
        swift
    };
    let first = burst(&mut drive, 20);
    assert!(first < 10, "{first} of 20 found room in two segments");
    burst(&mut drive, 64);
    let later = burst(&mut drive, 40);
    assert_eq!(later, 40, "of 40 found room in 48 segments");
}

/// After 62 scattered writes the second of two reads asks for shorter segments. A read-ahead that is to follow the first brings
/// its blocks; one that runs is broken off, and the blocks pass before the next access may be chosen.
#[test]
fn a_new_division_ends_a_read_ahead_that_runs() {
    for (later, expected) in [(0, REVOLUTION + 24 * SECTOR), (REVOLUTION + 10 * SECTOR, 2 * REVOLUTION + 24 * SECTOR)] {
        let mut small = SmallDrive::default().with_buffer(3, 32).with_queue(2, Policy::Fcfs);
        small.cache.adaptive = Some(AdaptiveDivision { sectors: 96, most: 12, dirty_percent: 75, own_lengths: false });
        small.firmware.dispatch = Span::from_millis(2);
        let mut drive = small.drive();
        for write in 0..62 {
            takes(&mut drive, write * 10 * REVOLUTION, Op::Write, write * 100, 1);
        }
        let time = 999 * REVOLUTION;
        submit(&mut drive, at(time), 0, Op::Read, 0, 8);
        submit(&mut drive, at(time + later), 1, Op::Read, 16, 8);
        near(ends(&mut drive, 2)[1] - time, expected);
    }
}

/// How long a program takes for `writes` sequential writes of four sectors, starting again after `area`.
fn round_and_round(policy: Policy, area: u64, writes: u64) -> Span {
    let mut small = SmallDrive::default().with_buffer(6, 64).with_write_back(5);
    small.firmware.destage.policy = policy;
    let mut drive = small.drive();
    let mut now = Instant::ZERO;
    for write in 0..writes {
        submit(&mut drive, now, 0, Op::Write, write * 4 % area, 4);
        now = next(&mut drive).finished;
    }
    now.since(Instant::ZERO)
}

/// Destaging what a stream is still filling would cost it a revolution for each write as long as other commands wait.
#[test]
fn a_stream_that_begins_anew_is_not_written_out_block_by_block() {
    for policy in [Policy::Fcfs, Policy::Sstf, Policy::Look, Policy::CLook, Policy::Sptf] {
        let (straight, round) = (round_and_round(policy, 7000, 1700), round_and_round(policy, 1400, 1700));
        // Each of five rounds costs a seek back, not more.
        let allowed = straight + Span::from_nanos(6 * 4 * REVOLUTION);
        assert!(round <= allowed, "{policy:?}: {round:?}, {straight:?} straight on");
    }
}

/// After how many scattered writes, beyond the three of a stream, what the stream wrote goes to the medium: with room for
/// five runs of 64 blocks that is when the drive must write anything out.
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
        now = next(&mut drive).finished;
        if std::iter::from_fn(|| drive.poll_landing()).any(|landing| landing.lba < 12) {
            return write;
        }
    }
    panic!("the stream's end was never written");
}

/// The remainder of a stream is no longer spared after as many other writes as there are segments. The buffer is full from
/// the seventh write on; the arm stands where the stream is, which without sparing would be the first to go, as it is in
/// the order of arrival.
#[test]
fn the_end_of_a_stream_is_written_out_among_others() {
    let spared = writes_until_the_stream_lands(Policy::CLook);
    // Then it waits until the arm has gone once across what five runs hold.
    assert!((8..8 + 2 * 5).contains(&spared), "after {spared} writes");
    assert_eq!(writes_until_the_stream_lands(Policy::Fcfs), 7);
}

/// What a read brought is no stream of writes: a write behind it is not spared and goes as its place says.
#[test]
fn a_write_behind_what_was_read_is_no_stream() {
    let first_to_land = |read: bool| {
        let mut small = SmallDrive::default().with_buffer(6, 64).with_write_back(3);
        small.firmware.destage.policy = Policy::Sstf;
        (small.cache.read_ahead.max, small.cache.destage_idle) = (0, Span::from_millis(20));
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
        submit(&mut drive, Instant::ZERO, 0, if read { Op::Read } else { Op::Write }, 0, 8);
        let mut now = next(&mut drive).finished + Span::from_millis(100);
        for lba in [8, 6000] {
            submit(&mut drive, now, 0, Op::Write, lba, 4);
            now = next(&mut drive).finished;
        }
        drive.handle_timeout(now + Span::from_millis(200));
        let landed = std::iter::from_fn(|| drive.poll_landing()).find(|landing| landing.lba >= 8);
        landed.expect("an idle drive writes out").lba
    };
    assert_eq!(first_to_land(true), 8);
    assert_eq!(first_to_land(false), 6000, "behind a write that is on the medium already it may go on");
}

/// Of one store written runs take what they are long: short writes of as many runs as there may be are taken at once,
/// before any look at the commands, and long ones as far as three quarters of the store go.
#[test]
fn written_runs_of_their_own_lengths_share_one_store() {
    let swift = |sectors: u32| {
        let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(12).with_queue(1, Policy::Sptf);
        small.cache.adaptive = Some(AdaptiveDivision { sectors: 1024, most: 64, dirty_percent: 75, own_lengths: true });
        small.cache.dirty_runs = Some(48);
        small.cache.destage_idle = Span::from_millis(1000);
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        (0..64)
            .take_while(|&number| {
                submit(&mut drive, now, 0, Op::Write, (number * 37 % 64) * 100, sectors);
                let completion = next(&mut drive);
                let took = completion.finished.since(now);
                now = completion.finished;
                took < Span::from_micros(200)
            })
            .count()
    };
    assert_eq!(swift(1), 48, "runs");
    // 12 segments of 64 are 768 blocks.
    assert_eq!(swift(32), 24, "blocks");
}

/// 16 segments of 64 blocks and 48 runs, of one store; reads hold what they bring, or whole segments.
fn one_store(own_lengths: bool, ahead: u32) -> Drive {
    let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(12).with_queue(1, Policy::Sptf);
    let adaptive = AdaptiveDivision { sectors: 1024, most: 64, dirty_percent: 75, own_lengths: true };
    small.cache.adaptive = own_lengths.then_some(adaptive);
    small.cache.dirty_runs = Some(48);
    small.cache.read_ahead.max = ahead;
    small.drive()
}

/// Reads of eight blocks that are not read ahead hold eight: 64 tags are used up before 1024 blocks are. Whole segments of
/// 64 are 16.
#[test]
fn reads_of_their_own_lengths_hold_what_they_bring() {
    let stay = |mut drive: Drive| {
        let mut now = 0;
        let mut read = |number: u64| {
            let took = takes(&mut drive, now, Op::Read, number * 37 % 101 * 60, 8);
            now += took + 1_000_000;
            took < 200_000
        };
        (0..80).for_each(|number| assert!(!read(number), "{number} was never read before"));
        // The newest first, so that what is read again pushes nothing out.
        (0..80).rev().take_while(|&number| read(number)).count()
    };
    assert_eq!(stay(one_store(true, 0)), 64, "tags");
    assert_eq!(stay(one_store(false, 0)), 16, "whole segments");
}

/// With eight blocks after each, the reads take 16, 15 times 64 and 40 of 1024. A read-ahead that goes on needs the other eight,
/// so nothing is displaced.
#[test]
fn a_read_ahead_that_goes_on_takes_memory_for_what_it_brings() {
    let mut drive = one_store(true, 8);
    let mut time = 0;
    let mut hits = |lba, sectors| {
        time += 10 * REVOLUTION;
        takes(&mut drive, time, Op::Read, lba, sectors) < 200_000
    };
    let reads = [(1000, 8)].into_iter().chain((0..15).map(|number| (2000 + 100 * number, 56))).chain([(4000, 32)]);
    reads.for_each(|(lba, sectors)| assert!(!hits(lba, sectors), "{lba} was never read before"));
    assert!(hits(1008, 8), "it was read ahead");
    assert!(hits(2000, 8), "the oldest stays");
    assert!(hits(1016, 8), "the read-ahead went on");
}

/// A stream's ring is as long as a whole segment, and it is read as fast.
#[test]
fn a_stream_is_as_fast_with_segments_of_their_own_lengths() {
    let whole = |mut drive: Drive| {
        let mut now = 0;
        for number in 0..200 {
            now += takes(&mut drive, now, Op::Read, number * 8, 8);
        }
        now
    };
    assert_eq!(whole(one_store(true, 64)), whole(one_store(false, 64)));
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

/// How long one command takes that comes at `at` and has the drive to itself.
fn takes(drive: &mut Drive, time: u64, op: Op, lba: u64, sectors: u32) -> u64 {
    submit(drive, at(time), 0, op, lba, sectors);
    next(drive).finished.nanos() - time
}

fn behind_writes(hits: WrittenHits, write_back: bool, idle_ms: u64) -> Drive {
    let mut small = SmallDrive::default().with_buffer(4, 32).with_write_back(3);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.write_back = write_back;
    small.cache.destage_idle = Span::from_millis(idle_ms);
    small.cache.written_hits = hits;
    small.drive()
}

/// Block 0 comes under the head 4 sectors after the read.
const BEFORE: u64 = 3 * REVOLUTION - 4 * SECTOR;

#[test]
fn a_read_of_dirty_blocks_that_serve_none_waits_until_they_are_on_the_medium() {
    for (hits, expected) in [
        (WrittenHits::Cached, 0),
        (WrittenHits::All, 0),
        // Written in the turn that comes, read in the next.
        (WrittenHits::None, 4 * SECTOR + REVOLUTION + 8 * SECTOR),
    ] {
        let mut drive = behind_writes(hits, true, 1000);
        near(takes(&mut drive, 0, Op::Write, 0, 8), 0);
        near(takes(&mut drive, BEFORE, Op::Read, 0, 8), expected);
        // What a read has brought serves the next.
        near(takes(&mut drive, 9 * REVOLUTION, Op::Read, 0, 8), 0);
    }
}

#[test]
fn a_part_of_a_read_that_is_dirty_holds_all_of_it_up() {
    let mut drive = behind_writes(WrittenHits::None, true, 1000);
    near(takes(&mut drive, 0, Op::Write, 4, 4), 0);
    near(takes(&mut drive, BEFORE, Op::Read, 0, 8), 4 * SECTOR + REVOLUTION + 8 * SECTOR);
    // What is clean is none of it.
    near(takes(&mut drive, 9 * REVOLUTION, Op::Write, 40, 4), 0);
    near(takes(&mut drive, 12 * REVOLUTION - 4 * SECTOR, Op::Read, 16, 8), (4 + 16 + 8) * SECTOR);
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
        let mut drive = behind_writes(hits, write_back, 0);
        takes(&mut drive, 0, Op::Write, 0, 8);
        near(takes(&mut drive, 12 * REVOLUTION - 4 * SECTOR, Op::Read, 0, 8), expected);
    }
}

#[test]
fn a_write_through_that_goes_on_where_another_ended_joins_its_blocks() {
    let mut drive = behind_writes(WrittenHits::All, false, 0);
    for (index, time) in [3, 6, 9].into_iter().enumerate() {
        takes(&mut drive, time * REVOLUTION, Op::Write, 8 * index as u64, 8);
    }
    near(takes(&mut drive, 12 * REVOLUTION, Op::Read, 0, 24), 0);
    // Written anew, elsewhere in the buffer or not: still all there, once.
    takes(&mut drive, 15 * REVOLUTION, Op::Write, 8, 4);
    near(takes(&mut drive, 18 * REVOLUTION, Op::Read, 8, 4), 0);
    near(takes(&mut drive, 21 * REVOLUTION, Op::Read, 0, 8), 0);
}

/// Which of two reads of the same blocks are hits, between which `others` are read and two places written.
fn after_writes(apart: bool, others: &[u64]) -> [bool; 2] {
    let mut small = SmallDrive::default().with_buffer(3, 16).with_write_back(1);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.writes_apart = apart;
    let mut drive = small.drive();
    let mut time = 0;
    let mut next_of = |op, lba| {
        time += 20 * REVOLUTION;
        takes(&mut drive, time, op, lba, 8) < SECTOR
    };
    let reads = [0, 512];
    reads.iter().chain(others).for_each(|&lba| assert!(!next_of(Op::Read, lba)));
    [1024, 2048].into_iter().for_each(|lba| assert!(next_of(Op::Write, lba)));
    let [second, first] = [512, 0].map(|lba| next_of(Op::Read, lba));
    [first, second]
}

#[test]
fn writes_with_segments_of_their_own_displace_nothing_that_was_read() {
    // Three segments: the first write takes the third, the second that of the first read.
    assert_eq!(after_writes(false, &[]), [false, true]);
    assert_eq!(after_writes(true, &[]), [true, true]);
    // The price: reads have two, and a third displaces the first.
    assert_eq!(after_writes(true, &[3072]), [false, true]);
}

#[test]
fn drives_with_written_blocks_of_any_kind_keep_the_contract() {
    for hits in [WrittenHits::None, WrittenHits::All] {
        for apart in [false, true] {
            for seed in 0..6 {
                let mut small = SmallDrive::default().with_buffer(4, 32).with_write_back(2).with_queue(8, Policy::Sptf);
                small.cache.written_hits = hits;
                small.cache.writes_apart = apart;
                let make = || -> Box<dyn Device> { Box::new(small.drive()) };
                check_conformance(&make, small.cut_sector, seed).expect("the contract");
            }
        }
    }
}

fn writing_through(verify: bool) -> Drive {
    let mut small = SmallDrive::default();
    small.firmware.write_verify = verify;
    small.drive()
}

#[test]
fn a_verified_write_takes_a_revolution_more_on_each_track() {
    for (lba, sectors, tracks) in [(0, 8, 1), (0, 72, 2), (8, 64, 2)] {
        let time = |verify| takes(&mut writing_through(verify), BEFORE, Op::Write, lba, sectors);
        near(time(true) - time(false), tracks * REVOLUTION);
    }
    near(takes(&mut writing_through(true), BEFORE, Op::Write, 0, 8), (4 + 8) * SECTOR + REVOLUTION);
    // A read has nothing to verify.
    near(takes(&mut writing_through(true), BEFORE, Op::Read, 0, 8), (4 + 8) * SECTOR);
}

#[test]
fn what_is_being_verified_is_on_the_medium() {
    let mut drive = writing_through(true);
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).unwrap();
    submit(&mut drive, at(BEFORE), 0, Op::Write, 0, 8);
    let half = at(BEFORE + 12 * SECTOR + REVOLUTION / 2);
    drive.handle_timeout(half);
    drive.control(half, &Control::PowerCut).unwrap();
    let landing = drive.poll_landing().expect("it has passed");
    assert_eq!((landing.lba, landing.sectors), (0, 8));
    assert_eq!(landing.kind, seekwise_disk::block::LandingKind::Landed);
    near(landing.to.nanos(), BEFORE + 12 * SECTOR);
}

/// How many of so many writes begin a revolution late, when each is `behind_seek` or none is.
fn late_writes(percent: u32, writes: u64, behind_seek: bool) -> u64 {
    let times = |percent| {
        let mut small = SmallDrive::default();
        small.firmware.late_writes_percent = percent;
        let mut drive = small.drive();
        let lba = move |write: u64| if behind_seek { (write + 1) % 2 * 1024 } else { write % 2 * 8 };
        (0..writes).map(|write| takes(&mut drive, (write + 1) * 10 * REVOLUTION, Op::Write, lba(write), 4)).collect()
    };
    let (late, in_time): (Vec<u64>, Vec<u64>) = (times(percent), times(0));
    let more = |(late, in_time): (&u64, &u64)| {
        let revolutions = (late - in_time + 1000) / REVOLUTION;
        near(late - in_time, revolutions * REVOLUTION);
        assert!(revolutions <= 1);
        revolutions
    };
    late.iter().zip(&in_time).map(more).sum()
}

#[test]
fn so_many_writes_begin_a_revolution_late_after_a_seek() {
    assert_eq!(late_writes(100, 50, true), 50);
    assert_eq!(late_writes(100, 50, false), 0);
    // Of 1000 draws 80 are expected, with a standard deviation of 8.6.
    let late = late_writes(8, 1000, true);
    assert!((45..=115).contains(&late), "{late}");
}

/// Cached writes of 4 blocks, 10 microseconds after one another.
fn write_at_once(drive: &mut Drive, time: u64, places: &[u64]) {
    for (index, &lba) in places.iter().enumerate() {
        near(takes(drive, time + 10_000 * index as u64, Op::Write, lba, 4), 0);
    }
}

/// Four scattered writes fill the buffer; then how long each of four more takes that follow one another.
fn beyond_a_full_buffer(room_runs: u32) -> [u64; 4] {
    let mut small = SmallDrive::default().with_buffer(8, 16).with_write_back(4);
    small.cache.destage_idle = Span::from_millis(1000);
    small.cache.room_runs = room_runs;
    small.firmware.destage.policy = Policy::Fcfs;
    let mut drive = small.drive();
    let mut time = 3 * REVOLUTION - 2 * SECTOR;
    write_at_once(&mut drive, time - 50_000, &[0, 16, 32, 48]);
    [1024, 1056, 1088, 1120].map(|lba| {
        let took = takes(&mut drive, time, Op::Write, lba, 4);
        time += took;
        took
    })
}

#[test]
fn a_write_without_room_waits_until_so_many_runs_are_free() {
    // The runs pass one after another, 16 sectors apart, and each makes room for one write.
    let one_by_one = beyond_a_full_buffer(1);
    near(one_by_one[0], (2 + 4) * SECTOR);
    near(one_by_one[1], 16 * SECTOR);
    near(one_by_one[2], 16 * SECTOR);
    // The first waits for three, the next two find the room that is left.
    let bursts = beyond_a_full_buffer(3);
    near(bursts[0], (2 + 36) * SECTOR);
    near(bursts[1], 0);
    near(bursts[2], 0);
    assert!(bursts[3] > 12 * SECTOR, "{bursts:?}");
    // No more than there are.
    near(beyond_a_full_buffer(100)[0], (2 + 52) * SECTOR);
}

/// How many of four reads are done before a flush of two dirty segments, when they compete.
fn reads_before_the_flush(percent: Option<u32>) -> usize {
    let mut small = SmallDrive::default().with_buffer(8, 16).with_write_back(4).with_queue(8, Policy::Fcfs);
    small.cache.read_ahead = ReadAhead::NONE;
    small.cache.destage_idle = Span::from_millis(1000);
    small.firmware.commands_percent = percent;
    let mut drive = small.drive();
    write_at_once(&mut drive, REVOLUTION, &[0, 256, 512]);
    // The first goes before any read is there.
    submit(&mut drive, at(3 * REVOLUTION), 9, Op::Flush, 0, 0);
    for (tag, lba) in [1024, 2048, 3072, 4096].into_iter().enumerate() {
        submit(&mut drive, at(3 * REVOLUTION), tag as u32, Op::Read, lba, 4);
    }
    std::iter::from_fn(|| Some(next(&mut drive))).take_while(|completion| completion.tag != 9).count()
}

#[test]
fn commands_get_their_share_of_the_turns() {
    // Of two turns one is theirs: a segment, a read, a segment.
    let found = [Some(0), Some(25), Some(50), Some(100)].map(reads_before_the_flush);
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
            let make = || -> Box<dyn Device> { Box::new(small.drive()) };
            check_conformance(&make, small.cut_sector, seed).expect("the contract");
        }
    }
}

/// Two reads come at once to an empty buffer and are decoded 20 ms each, one after another. The first reads what passes
/// from 25 ms on, and is followed to the end of the track at 33.3 ms.
#[test]
fn a_read_finds_what_came_while_it_was_decoded() {
    for (lba, proceeds) in [(0, false), (0, true), (24, false), (24, true)] {
        let mut small = SmallDrive::default().with_buffer(4, 64).with_queue(2, Policy::Fcfs);
        small.overhead.read_miss = OverheadAfter::both(Span::from_millis(20));
        let mut drive = small.drive();
        submit(&mut drive, Instant::ZERO, 0, Op::Read, 0, 8);
        submit(&mut drive, Instant::ZERO, 1, Op::Read, lba, 8);
        let [first, second] = [0, 1].map(|_| match proceeds {
            true => drive.proceed(Instant::FAR).expect("an answer"),
            false => next(&mut drive),
        });
        assert_eq!((first.tag, second.tag), (0, 1));
        near(first.finished.nanos(), 3 * REVOLUTION + 8 * SECTOR);
        near(second.finished.nanos(), 40_000_000);
    }
}
