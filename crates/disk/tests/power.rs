//! What a drive does with its power, by hand: protection, flash, the named faults, and which of many cached writes a
//! cut leaves. Times are those of the small drive: 7,200 rpm, 64 sectors a track, a revolution of 8.333333 ms.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{
    Completion, Control, CutSector, Device, Flags, Landing, LandingKind, Op, Queuing, Request, Status,
};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::{Faults, Profile};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{BlockCopies, Promise, SmallDrive, check_promise_conformance, random_stack};
use seekwise_disk::time::{Instant, Span};

const REVOLUTION: Span = Span::from_nanos(8_333_333);

/// Four segments of a track, all of which may be dirty; destaged after a second without commands.
fn cached() -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(4);
    small.cache.destage_idle = Span::from_secs(1);
    small
}

fn cached_with(set: impl FnOnce(&mut Faults)) -> SmallDrive {
    let mut small = cached();
    set(&mut small.faults);
    small
}

fn drive(small: &SmallDrive) -> Drive {
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    drive
}

/// Submits at `at` and waits.
fn answer(drive: &mut Drive, at: Instant, op: Op, flags: Flags, lba: u64, sectors: u32) -> Completion {
    drive.handle_timeout(at);
    let request = Request { tag: 0, unit: 0, origin: 0, op, flags, lba, sectors, stamp: lba + 1 };
    drive.submit(at, request).expect("room");
    loop {
        if let Some(completion) = drive.poll_completion() {
            return completion;
        }
        let next = drive.poll_timeout().expect("it is in flight");
        drive.handle_timeout(next);
    }
}

fn response(completion: &Completion) -> Span {
    assert_eq!(completion.status, Status::Done);
    completion.finished.since(completion.submitted)
}

fn landings(drive: &mut Drive) -> Vec<Landing> {
    std::iter::from_fn(|| drive.poll_landing()).collect()
}

fn cut(drive: &mut Drive, at: Instant) -> Vec<Landing> {
    drive.handle_timeout(at);
    drive.control(at, &Control::PowerCut).expect("power always fails");
    landings(drive)
}

fn sectors(landings: &[Landing], kind: LandingKind) -> u32 {
    landings.iter().filter(|landing| landing.kind == kind).map(|landing| landing.sectors).sum()
}

#[test]
fn fua_goes_to_the_medium_unless_it_is_ignored() {
    for ignores_fua in [false, true] {
        let mut drive = drive(&cached_with(|faults| faults.ignores_fua = ignores_fua));
        assert!(drive.limits(0).fua);
        let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::FUA, 32, 8);
        assert_eq!(response(&written) < Span::from_micros(10), ignores_fua, "{written:?}");
        let left = cut(&mut drive, written.finished);
        let kind = if ignores_fua { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors(&left, kind), 8, "{left:?}");
    }
}

#[test]
fn a_flush_waits_unless_it_is_acknowledged_early() {
    for early_flush in [false, true] {
        let mut drive = drive(&cached_with(|faults| faults.early_flush = early_flush));
        let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        let flushed = answer(&mut drive, written.finished, Op::Flush, Flags::NONE, 0, 0);
        assert_eq!(response(&flushed) == Span::ZERO, early_flush, "{flushed:?}");
        let left = cut(&mut drive, flushed.finished);
        let kind = if early_flush { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors(&left, kind), 8, "{left:?}");
    }
}

/// A false flush speeds nothing up: the data are written when they would have been without it.
#[test]
fn an_early_flush_leaves_the_destaging_as_it_was() {
    let landed = |flush: bool| {
        let mut drive = drive(&cached_with(|faults| faults.early_flush = true));
        let mut last = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        if flush {
            last = answer(&mut drive, last.finished, Op::Flush, Flags::NONE, 0, 0);
        }
        drive.handle_timeout(Instant::ZERO + Span::from_secs(3));
        (last.finished, landings(&mut drive)[0].to)
    };
    assert_eq!(landed(true), landed(false));
    assert!(landed(true).1 > Instant::ZERO + Span::from_secs(1));
}

#[test]
fn a_power_off_waits_for_destaging_unless_it_is_forgotten() {
    for forgets_on_power_off in [false, true] {
        let mut drive = drive(&cached_with(|faults| faults.forgets_on_power_off = forgets_on_power_off));
        let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        drive.control(written.finished, &Control::PowerOff).expect("an orderly end");
        assert_eq!(drive.poll_timeout().is_none(), forgets_on_power_off, "off at once");
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        assert_eq!(drive.poll_timeout(), None);
        let kind = if forgets_on_power_off { LandingKind::Dropped } else { LandingKind::Landed };
        let left = landings(&mut drive);
        assert_eq!(sectors(&left, kind), 8, "{left:?}");
    }
}

/// Without the pause that lets it finish, even an honest drive loses what is in its buffer.
#[test]
fn a_power_off_that_is_not_waited_for_loses_the_buffer() {
    let mut drive = drive(&cached());
    let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    drive.control(written.finished, &Control::PowerOff).expect("an orderly end");
    let left = cut(&mut drive, written.finished + Span::from_micros(10));
    assert_eq!(sectors(&left, LandingKind::Discarded), 8, "{left:?}");
}

#[test]
fn a_write_cache_that_is_off_holds_nothing_unless_it_lies() {
    for caches_when_off in [false, true] {
        let mut small = cached_with(|faults| faults.caches_when_off = caches_when_off);
        small.cache.write_back = false;
        let mut drive = drive(&small);
        assert!(!drive.limits(0).volatile_cache);
        let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        let left = cut(&mut drive, written.finished);
        let kind = if caches_when_off { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors(&left, kind), 8, "{left:?}");
    }
}

#[test]
fn a_protected_buffer_outlives_a_cut() {
    let mut drive = drive(&SmallDrive { protected: true, ..cached() });
    let written = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    let forced = answer(&mut drive, written.finished, Op::Write, Flags::FUA, 320, 8);
    let flushed = answer(&mut drive, forced.finished, Op::Flush, Flags::NONE, 0, 0);
    assert!(response(&forced) < Span::from_micros(10), "{forced:?}");
    assert_eq!(response(&flushed), Span::ZERO);
    let left = cut(&mut drive, flushed.finished);
    assert_eq!(sectors(&left, LandingKind::Landed), 16, "{left:?}");
    // With the write cache off it writes through like any drive.
    let mut off = SmallDrive { protected: true, ..cached() };
    off.cache.write_back = false;
    let written = answer(&mut off.drive(), Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    assert!(response(&written) > Span::from_millis(1), "{written:?}");
}

#[test]
fn flash_takes_the_buffer_with_the_cache_off_too() {
    let mut small = cached();
    small.cache.write_back = false;
    small.cache.flash_sectors = 20;
    let mut drive = drive(&small);
    let mut at = Instant::ZERO;
    for lba in [32, 320] {
        let written = answer(&mut drive, at, Op::Write, Flags::FUA, lba, 8);
        assert!(response(&written) < Span::from_micros(10), "{written:?}");
        at = written.finished;
    }
    // The third does not fit into the flash with the other two: one of them goes to the medium first.
    let third = answer(&mut drive, at, Op::Write, Flags::NONE, 640, 8);
    assert!(response(&third) > Span::from_micros(100), "{third:?}");
    let left = cut(&mut drive, third.finished);
    assert_eq!(sectors(&left, LandingKind::Landed), 24, "{left:?}");
    let saved: u32 = left.iter().filter(|landing| landing.from == third.finished).map(|landing| landing.sectors).sum();
    assert_eq!(saved, 16, "{left:?}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    let field = |change: fn(&mut Profile)| {
        let mut profile = cached().profile();
        change(&mut profile);
        profile.check().err().map(|error| error.field)
    };
    assert_eq!(field(|_| ()), None);
    let unforced = |profile: &mut Profile| {
        profile.link.fua = false;
        profile.faults.ignores_fua = true;
    };
    assert_eq!(field(unforced), Some("faults.ignores_fua"));
    let bufferless = |profile: &mut Profile| {
        profile.cache.write_back = false;
        profile.cache.dirty_segments = 0;
        profile.faults.caches_when_off = true;
    };
    assert_eq!(field(bufferless), Some("faults.caches_when_off"));
    let nowhere = |profile: &mut Profile| {
        profile.cache.write_back = false;
        profile.cache.dirty_segments = 0;
        profile.cache.flash_sectors = 8;
    };
    assert_eq!(field(nowhere), Some("cache.flash_sectors"));
}

/// Data cross in 10 ms a block: the cut takes the rest of a read with it, and the link is free for what comes then, on a bus that
/// commands and data share too.
#[test]
fn a_cut_takes_what_is_on_the_link_too() {
    for (queuing, depth) in [(Queuing::None, 1), (Queuing::Tcq, 2)] {
        let mut small = SmallDrive::default();
        (small.link.rate, small.link.queuing, small.firmware.depth) = (51_200, queuing, depth);
        let mut drive = drive(&small);
        let read = Request { op: Op::Read, lba: 0, sectors: 16, stamp: 1, ..Request::NONE };
        drive.submit(Instant::ZERO, read).expect("room");
        let at = Instant::ZERO + Span::from_millis(50);
        cut(&mut drive, at);
        let lost = drive.poll_completion().expect("at once");
        assert_eq!((lost.status, lost.finished), (Status::PowerLost, at), "of 160 ms");
        drive.control(at, &Control::PowerOn).expect("known");
        // In the eighth revolution: two sectors until block 0 comes, and four that are written.
        let sector = REVOLUTION.nanos() / 64;
        let begin = Instant::from_nanos(7 * REVOLUTION.nanos() - 2 * sector);
        let written = answer(&mut drive, begin, Op::Write, Flags::NONE, 0, 4);
        assert!(response(&written).nanos().abs_diff(6 * sector) < 20_000, "{queuing:?}: {written:?}");
    }
}

/// Protected drives and drives with flash under the whole contract.
#[test]
fn buffers_that_outlive_a_cut_keep_the_contract() {
    for seed in 0..100 {
        let mut rng = Seed(seed).stream("stack");
        let mut stack = random_stack(&mut rng);
        match rng.draw_chance(50) || stack.drive.cache.segments == 0 {
            true => stack.drive.protected = true,
            false => stack.drive.cache.flash_sectors = 1 + rng.below(100),
        }
        let device = || stack.build();
        let plain = Promise::from_limits(&device().limits(0), stack.drive.cut_sector);
        let promise = Promise { saves_buffer: true, ..plain };
        if let Err(violation) = check_promise_conformance(&device, promise, &BlockCopies::default(), seed) {
            panic!("seed {seed}: {violation:?}\n{stack:?}");
        }
    }
}

/// Cached writes at these blocks, then a cut at a given time after destaging began: the blocks that are there.
fn survivors(policy: Policy, blocks: &[u64], after: Span) -> Vec<u64> {
    let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(16);
    small.firmware.destage = Discipline::plain(policy);
    small.cache.destage_idle = Span::from_millis(100);
    let mut drive = drive(&small);
    let mut at = Instant::ZERO;
    for &lba in blocks {
        at = answer(&mut drive, at, Op::Write, Flags::NONE, lba, 8).finished;
    }
    let left = cut(&mut drive, at + Span::from_millis(100) + after);
    let whole = left.iter().filter(|landing| landing.kind == LandingKind::Landed && landing.sectors == 8);
    whole.map(|landing| landing.lba).collect()
}

/// A cut leaves a beginning of the order in which the policy destages a burst. The arm is at block 0.
#[test]
fn survivors_are_the_first_of_the_destage_order() {
    let blocks = [4000, 1280, 6000, 2560, 512, 5120];
    let mut rising = blocks;
    rising.sort_unstable();
    for (policy, order) in [(Policy::Fcfs, blocks), (Policy::CLook, rising), (Policy::Sstf, rising)] {
        let mut counts = [0; 7];
        for micros in (0..80_000).step_by(700) {
            let left = survivors(policy, &blocks, Span::from_micros(micros));
            assert_eq!(left, order[..left.len()], "{policy:?} after {micros} us");
            counts[left.len()] += 1;
        }
        assert!(counts.iter().all(|&count| count > 0), "{policy:?}: every number of survivors is seen: {counts:?}");
    }
}

/// Two contiguous dirty segments are destaged together. If they share a physical sector, it must come round again for
/// the second.
#[test]
fn half_a_physical_sector_costs_a_revolution() {
    let gap = |middle: u32| {
        let mut small = SmallDrive { physical_sector: 4096, cut_sector: CutSector::Old, ..cached() }.with_buffer(4, 32);
        small.cache.destage_idle = Span::from_millis(10);
        let mut drive = drive(&small);
        let first = answer(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 0, middle);
        answer(&mut drive, first.finished, Op::Write, Flags::NONE, u64::from(middle), 40 - middle);
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        let left = landings(&mut drive);
        assert_eq!(left.len(), 2, "{left:?}");
        left[1].from.since(left[0].to)
    };
    assert!(gap(16) < Span::from_nanos(10), "{:?}", gap(16));
    let late = REVOLUTION.nanos().abs_diff(gap(12).nanos());
    assert!(late < 1000, "{:?}", gap(12));
}
