//! A drive when its power fails or is switched off (`drive/power.rs`): protected buffers, flash, the faults of a profile, and
//! the cached writes that are on the medium after a cut. Times are worked out by hand for the small drive: 7,200 rpm, 64
//! sectors a track, a revolution of 8.333333 ms.

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

/// A drive with four segments of a track each, all of which may be dirty. Dirty data are destaged after a second without
/// commands.
fn caching_drive() -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(4, 64).with_write_back(4);
    small.cache.destage_idle = Span::from_secs(1);
    small
}

fn caching_drive_with_fault(set_fault: impl FnOnce(&mut Faults)) -> SmallDrive {
    let mut small = caching_drive();
    set_fault(&mut small.faults);
    small
}

fn drive_with_landings(small: &SmallDrive) -> Drive {
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    drive
}

/// Submits a request at `at`, and runs the drive to its completion.
fn run_request(drive: &mut Drive, at: Instant, op: Op, flags: Flags, lba: u64, sectors: u32) -> Completion {
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

fn response_time(completion: &Completion) -> Span {
    assert_eq!(completion.status, Status::Done);
    completion.finished.since(completion.submitted)
}

fn poll_landings(drive: &mut Drive) -> Vec<Landing> {
    std::iter::from_fn(|| drive.poll_landing()).collect()
}

/// Cuts the power at `at`. Returns the landings not yet polled.
fn cut_power(drive: &mut Drive, at: Instant) -> Vec<Landing> {
    drive.handle_timeout(at);
    drive.control(at, &Control::PowerCut).expect("power always fails");
    poll_landings(drive)
}

fn sectors_of_kind(landings: &[Landing], kind: LandingKind) -> u32 {
    landings.iter().filter(|landing| landing.kind == kind).map(|landing| landing.sectors).sum()
}

#[test]
fn fua_goes_to_the_medium_unless_it_is_ignored() {
    for ignores_fua in [false, true] {
        let mut drive = drive_with_landings(&caching_drive_with_fault(|faults| faults.ignores_fua = ignores_fua));
        assert!(drive.limits(0).fua);
        let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::FUA, 32, 8);
        assert_eq!(response_time(&written) < Span::from_micros(10), ignores_fua, "{written:?}");
        let left = cut_power(&mut drive, written.finished);
        let kind = if ignores_fua { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors_of_kind(&left, kind), 8, "{left:?}");
    }
}

#[test]
fn a_flush_waits_unless_it_is_acknowledged_early() {
    for early_flush in [false, true] {
        let mut drive = drive_with_landings(&caching_drive_with_fault(|faults| faults.early_flush = early_flush));
        let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        let flushed = run_request(&mut drive, written.finished, Op::Flush, Flags::NONE, 0, 0);
        assert_eq!(response_time(&flushed) == Span::ZERO, early_flush, "{flushed:?}");
        let left = cut_power(&mut drive, flushed.finished);
        let kind = if early_flush { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors_of_kind(&left, kind), 8, "{left:?}");
    }
}

/// An early flush changes nothing: the data are written when they would have been without it.
#[test]
fn an_early_flush_leaves_the_destaging_as_it_was() {
    // When the last command ends, and when the write lands.
    let finished_and_landed = |flush: bool| {
        let mut drive = drive_with_landings(&caching_drive_with_fault(|faults| faults.early_flush = true));
        let mut last = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        if flush {
            last = run_request(&mut drive, last.finished, Op::Flush, Flags::NONE, 0, 0);
        }
        drive.handle_timeout(Instant::ZERO + Span::from_secs(3));
        (last.finished, poll_landings(&mut drive)[0].to)
    };
    assert_eq!(finished_and_landed(true), finished_and_landed(false));
    assert!(finished_and_landed(true).1 > Instant::ZERO + Span::from_secs(1));
}

#[test]
fn a_power_off_waits_for_destaging_unless_it_is_forgotten() {
    for forgets_on_power_off in [false, true] {
        let mut drive =
            drive_with_landings(&caching_drive_with_fault(|faults| faults.forgets_on_power_off = forgets_on_power_off));
        let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        drive.control(written.finished, &Control::PowerOff).expect("an orderly end");
        assert_eq!(drive.poll_timeout().is_none(), forgets_on_power_off, "off at once");
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        assert_eq!(drive.poll_timeout(), None);
        let kind = if forgets_on_power_off { LandingKind::Dropped } else { LandingKind::Landed };
        let left = poll_landings(&mut drive);
        assert_eq!(sectors_of_kind(&left, kind), 8, "{left:?}");
    }
}

/// A client that does not wait for the power-off loses the buffer of an honest drive, too.
#[test]
fn a_power_off_that_is_not_waited_for_loses_the_buffer() {
    let mut drive = drive_with_landings(&caching_drive());
    let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    drive.control(written.finished, &Control::PowerOff).expect("an orderly end");
    let left = cut_power(&mut drive, written.finished + Span::from_micros(10));
    assert_eq!(sectors_of_kind(&left, LandingKind::Discarded), 8, "{left:?}");
}

#[test]
fn a_write_cache_that_is_off_holds_nothing_unless_it_lies() {
    for caches_when_off in [false, true] {
        let mut small = caching_drive_with_fault(|faults| faults.caches_when_off = caches_when_off);
        small.cache.write_back = false;
        let mut drive = drive_with_landings(&small);
        assert!(!drive.limits(0).volatile_cache);
        let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
        let left = cut_power(&mut drive, written.finished);
        let kind = if caches_when_off { LandingKind::Discarded } else { LandingKind::Landed };
        assert_eq!(sectors_of_kind(&left, kind), 8, "{left:?}");
    }
}

#[test]
fn a_protected_buffer_survives_a_cut() {
    let mut drive = drive_with_landings(&SmallDrive { protected: true, ..caching_drive() });
    let written = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    let forced = run_request(&mut drive, written.finished, Op::Write, Flags::FUA, 320, 8);
    let flushed = run_request(&mut drive, forced.finished, Op::Flush, Flags::NONE, 0, 0);
    assert!(response_time(&forced) < Span::from_micros(10), "{forced:?}");
    assert_eq!(response_time(&flushed), Span::ZERO);
    let left = cut_power(&mut drive, flushed.finished);
    assert_eq!(sectors_of_kind(&left, LandingKind::Landed), 16, "{left:?}");
    // With the write cache off a protected drive writes through, like any other.
    let mut off = SmallDrive { protected: true, ..caching_drive() };
    off.cache.write_back = false;
    let written = run_request(&mut off.drive(), Instant::ZERO, Op::Write, Flags::NONE, 32, 8);
    assert!(response_time(&written) > Span::from_millis(1), "{written:?}");
}

#[test]
fn flash_saves_the_buffer_with_the_cache_off_too() {
    let mut small = caching_drive();
    small.cache.write_back = false;
    small.cache.flash_sectors = 20;
    let mut drive = drive_with_landings(&small);
    let mut at = Instant::ZERO;
    for lba in [32, 320] {
        let written = run_request(&mut drive, at, Op::Write, Flags::FUA, lba, 8);
        assert!(response_time(&written) < Span::from_micros(10), "{written:?}");
        at = written.finished;
    }
    // The flash has room for two of the three writes: the third waits until another is on the medium.
    let third = run_request(&mut drive, at, Op::Write, Flags::NONE, 640, 8);
    assert!(response_time(&third) > Span::from_micros(100), "{third:?}");
    let left = cut_power(&mut drive, third.finished);
    assert_eq!(sectors_of_kind(&left, LandingKind::Landed), 24, "{left:?}");
    let saved: u32 = left.iter().filter(|landing| landing.from == third.finished).map(|landing| landing.sectors).sum();
    assert_eq!(saved, 16, "{left:?}");
}

#[test]
fn contradicting_settings_are_refused() {
    let refused_field = |change: fn(&mut Profile)| {
        let mut profile = caching_drive().profile();
        change(&mut profile);
        profile.check().err().map(|error| error.field)
    };
    assert_eq!(refused_field(|_| ()), None);
    let ignores_missing_fua = |profile: &mut Profile| {
        profile.link.fua = false;
        profile.faults.ignores_fua = true;
    };
    assert_eq!(refused_field(ignores_missing_fua), Some("faults.ignores_fua"));
    let caches_without_buffer = |profile: &mut Profile| {
        profile.cache.write_back = false;
        profile.cache.dirty_segments = 0;
        profile.faults.caches_when_off = true;
    };
    assert_eq!(refused_field(caches_without_buffer), Some("faults.caches_when_off"));
    let saves_without_buffer = |profile: &mut Profile| {
        profile.cache.write_back = false;
        profile.cache.dirty_segments = 0;
        profile.cache.flash_sectors = 8;
    };
    assert_eq!(refused_field(saves_without_buffer), Some("cache.flash_sectors"));
}

/// A block crosses the link in 10 ms. A cut ends the read that is crossing, and the link is free for the next command: also on a
/// bus that commands and data share.
#[test]
fn a_cut_frees_the_link() {
    for (queuing, depth) in [(Queuing::None, 1), (Queuing::Tcq, 2)] {
        let mut small = SmallDrive::default();
        (small.link.rate, small.link.queuing, small.firmware.depth) = (51_200, queuing, depth);
        let mut drive = drive_with_landings(&small);
        let read = Request { op: Op::Read, lba: 0, sectors: 16, stamp: 1, ..Request::NONE };
        drive.submit(Instant::ZERO, read).expect("room");
        let at = Instant::ZERO + Span::from_millis(50);
        cut_power(&mut drive, at);
        let lost = drive.poll_completion().expect("at once");
        assert_eq!((lost.status, lost.finished), (Status::PowerLost, at), "of 160 ms");
        drive.control(at, &Control::PowerOn).expect("known");
        // In the eighth revolution two sectors pass until block 0 comes, and four are written.
        let sector = REVOLUTION.nanos() / 64;
        let begin = Instant::from_nanos(7 * REVOLUTION.nanos() - 2 * sector);
        let written = run_request(&mut drive, begin, Op::Write, Flags::NONE, 0, 4);
        assert!(response_time(&written).nanos().abs_diff(6 * sector) < 20_000, "{queuing:?}: {written:?}");
    }
}

/// Drives with protected buffers or with flash keep the whole contract.
#[test]
fn buffers_that_survive_a_cut_keep_the_contract() {
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

/// Writes to these blocks in the cache, and cuts the power `delay` after destaging begins. Returns the blocks that are on the
/// medium, in order of their landings.
fn blocks_after_cut(policy: Policy, blocks: &[u64], delay: Span) -> Vec<u64> {
    let mut small = SmallDrive::default().with_buffer(16, 64).with_write_back(16);
    small.firmware.destage = Discipline::plain(policy);
    small.cache.destage_idle = Span::from_millis(100);
    let mut drive = drive_with_landings(&small);
    let mut at = Instant::ZERO;
    for &lba in blocks {
        at = run_request(&mut drive, at, Op::Write, Flags::NONE, lba, 8).finished;
    }
    let left = cut_power(&mut drive, at + Span::from_millis(100) + delay);
    let whole = left.iter().filter(|landing| landing.kind == LandingKind::Landed && landing.sectors == 8);
    whole.map(|landing| landing.lba).collect()
}

/// The blocks on the medium after a cut are the first in the order in which the policy destages. The arm is at block 0.
#[test]
fn blocks_after_a_cut_are_the_first_of_the_destage_order() {
    let blocks = [4000, 1280, 6000, 2560, 512, 5120];
    let mut rising = blocks;
    rising.sort_unstable();
    for (policy, order) in [(Policy::Fcfs, blocks), (Policy::CLook, rising), (Policy::Sstf, rising)] {
        let mut counts = [0; 7];
        for micros in (0..80_000).step_by(700) {
            let left = blocks_after_cut(policy, &blocks, Span::from_micros(micros));
            assert_eq!(left, order[..left.len()], "{policy:?} after {micros} us");
            counts[left.len()] += 1;
        }
        assert!(counts.iter().all(|&count| count > 0), "{policy:?}: every number of blocks occurs: {counts:?}");
    }
}

/// Two contiguous dirty segments are destaged together. If they share a physical sector, the second waits until it passes again.
#[test]
fn half_a_physical_sector_costs_a_revolution() {
    // The time between the landings of two segments that meet at block `middle`.
    let gap = |middle: u32| {
        let mut small =
            SmallDrive { physical_sector: 4096, cut_sector: CutSector::Old, ..caching_drive() }.with_buffer(4, 32);
        small.cache.destage_idle = Span::from_millis(10);
        let mut drive = drive_with_landings(&small);
        let first = run_request(&mut drive, Instant::ZERO, Op::Write, Flags::NONE, 0, middle);
        run_request(&mut drive, first.finished, Op::Write, Flags::NONE, u64::from(middle), 40 - middle);
        drive.handle_timeout(Instant::ZERO + Span::from_secs(1));
        let left = poll_landings(&mut drive);
        assert_eq!(left.len(), 2, "{left:?}");
        left[1].from.since(left[0].to)
    };
    assert!(gap(16) < Span::from_nanos(10), "{:?}", gap(16));
    let deviation_ns = REVOLUTION.nanos().abs_diff(gap(12).nanos());
    assert!(deviation_ns < 1000, "{:?}", gap(12));
}
