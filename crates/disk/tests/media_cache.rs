//! The media cache, by hand: what goes there, what it is worth, where reads find it, and how it is emptied. The small
//! drive of 7,200 rpm has 64 sectors a track and a revolution of 8.333333 ms; the stretch begins at slot 4096.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, Status};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::MediaCacheSpec;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{Promise, SmallDrive, check_promise_conformance, random_stack_to_cut};
use seekwise_disk::time::{Instant, Span};

/// Sixteen segments of 16 sectors, all of which may be dirty; a media cache of `slots`; idle after 100 ms.
fn with(slots: u64) -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(16, 16).with_write_back(16);
    small.cache.read_ahead.max = 0;
    small.cache.destage_idle = Span::from_millis(100);
    small.holes = vec![(4096, 512)];
    small.cache.media_cache =
        (slots > 0).then_some(MediaCacheSpec { stretches: 1, slots, first_slot: 4096, stride: 0, largest: 8 });
    small
}

fn drive(small: &SmallDrive) -> Drive {
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    drive
}

fn answer(drive: &mut Drive, at: Instant, op: Op, lba: u64, sectors: u32) -> Completion {
    drive.handle_timeout(at);
    let request = Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: lba + 1 };
    drive.submit(at, request).expect("room");
    loop {
        if let Some(completion) = drive.poll_completion() {
            assert_eq!(completion.status, Status::Done);
            return completion;
        }
        let next = drive.poll_timeout().expect("it is in flight");
        drive.handle_timeout(next);
    }
}

fn response(completion: &Completion) -> Span {
    completion.finished.since(completion.submitted)
}

fn landings(drive: &mut Drive) -> Vec<Landing> {
    std::iter::from_fn(|| drive.poll_landing()).collect()
}

/// Eight writes of `sectors` far apart, and a flush: when it is done, and how long it took.
fn burst(drive: &mut Drive, sectors: u32) -> (Instant, Span) {
    let mut at = Instant::ZERO;
    for index in 0..8 {
        at = answer(drive, at, Op::Write, 100 + index * 900, sectors).finished;
    }
    let flush = answer(drive, at, Op::Flush, 0, 0);
    (flush.finished, response(&flush))
}

#[test]
fn a_flush_of_scattered_writes_takes_a_pass() {
    let at_home = burst(&mut drive(&with(0)), 8).1;
    let in_cache = burst(&mut drive(&with(512)), 8).1;
    assert!(at_home > Span::from_millis(40), "{at_home:?}");
    // One seek, at most a revolution to the place, a revolution for 64 sectors, and, because they are handed over one
    // by one, a miss or two.
    assert!(in_cache < Span::from_millis(30), "{in_cache:?}");
    // Longer writes go home.
    assert_eq!(burst(&mut drive(&with(512)), 16).1, burst(&mut drive(&with(0)), 16).1);
}

#[test]
fn a_full_media_cache_is_passed_by() {
    let (none, two, all) =
        (burst(&mut drive(&with(0)), 8).1, burst(&mut drive(&with(16)), 8).1, burst(&mut drive(&with(512)), 8).1);
    assert!(all < two && two <= none + Span::from_millis(25), "{all:?} {two:?} {none:?}");
}

#[test]
fn what_is_in_it_outlives_a_cut() {
    let mut drive = drive(&with(512));
    let (done, _) = burst(&mut drive, 8);
    let landed = landings(&mut drive);
    assert_eq!(landed.iter().map(|landing| landing.sectors).sum::<u32>(), 64);
    assert!(landed.iter().all(|landing| landing.kind == LandingKind::Landed && landing.to <= done));
    drive.control(done, &Control::PowerCut).expect("power always fails");
    assert_eq!(landings(&mut drive), []);
}

/// From the arm beside the stretch, a block in the media cache is near and its home is far; an idle drive moves it
/// home.
#[test]
fn reads_find_it_there_until_it_has_gone_home() {
    // All but the last written block leave the buffer at the cut.
    let after = |pause: Span| {
        let mut drive = drive(&with(512));
        let (done, _) = burst(&mut drive, 8);
        drive.handle_timeout(done + pause);
        let cut = done + pause;
        drive.control(cut, &Control::PowerCut).expect("power always fails");
        drive.control(cut, &Control::PowerOn).expect("power returns");
        let moved = landings(&mut drive).len();
        let own = answer(&mut drive, cut, Op::Read, 4090, 1).finished;
        let read = answer(&mut drive, own, Op::Read, 100, 8);
        let seek = read.parts.get(seekwise_disk::record::Part::Seek);
        (seek, drive.poll_timeout().is_none(), moved)
    };
    let (near, emptied, _) = after(Span::ZERO);
    assert!(near < Span::from_millis(1) && !emptied, "{near:?}");
    let (far, emptied, moved) = after(Span::from_secs(3));
    assert!(far > Span::from_millis(1) && emptied, "{far:?}");
    assert_eq!(moved, 8, "moving home reports nothing again");
}

/// A read that meets an entry and goes beyond it reads its own place, then the entry.
#[test]
fn a_read_gathers_its_blocks() {
    let mut drive = drive(&with(512));
    let (done, _) = burst(&mut drive, 8);
    drive.control(done, &Control::PowerCut).expect("power always fails");
    drive.control(done, &Control::PowerOn).expect("power returns");
    let whole = answer(&mut drive, done, Op::Read, 96, 16);
    let plain = answer(&mut drive, whole.finished, Op::Read, 200, 16);
    assert_eq!(whole.parts.total(), response(&whole));
    assert!(response(&whole) > response(&plain) + Span::from_millis(1), "{whole:?} {plain:?}");
}

/// A newer write replaces an older one in the media cache.
#[test]
fn a_write_home_makes_an_entry_stale() {
    let mut drive = drive(&with(512));
    let (done, _) = burst(&mut drive, 8);
    // Too long for the media cache, over the first entry.
    let written = answer(&mut drive, done, Op::Write, 96, 16);
    let flushed = answer(&mut drive, written.finished, Op::Flush, 0, 0).finished;
    drive.control(flushed, &Control::PowerCut).expect("power always fails");
    drive.control(flushed, &Control::PowerOn).expect("power returns");
    let read = answer(&mut drive, flushed, Op::Read, 100, 8);
    // The arm stands where the write was.
    assert_eq!(read.parts.get(seekwise_disk::record::Part::Seek), Span::ZERO, "{read:?}");
}

#[test]
fn media_caches_keep_the_contract() {
    let mut cached = 0;
    for seed in 0..400 {
        let stack = random_stack_to_cut(&mut Seed(seed).stream("stack"));
        if stack.drive.cache.media_cache.is_none() {
            continue;
        }
        cached += 1;
        let device = || stack.build();
        let plain = Promise::from_limits(&device().limits(0), stack.drive.cut_sector);
        let saves_buffer = stack.drive.protected || stack.drive.cache.flash_sectors > 0;
        if let Err(violation) =
            check_promise_conformance(&device, Promise { saves_buffer, ..plain }, &stack.block_copies(), seed)
        {
            panic!("seed {seed}: {violation:?}\n{stack:?}");
        }
    }
    assert!(cached > 40, "{cached} stacks with a media cache");
}
