//! The media cache of a drive (`drive/media_cache.rs`): the writes that go there, the time that it saves, reads of its entries,
//! and how it is emptied. Times are worked out by hand for a small drive of 7,200 rpm, with 64 sectors a track and a
//! revolution of 8.333333 ms. The media cache has one stretch, from slot 4096 on.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Landing, LandingKind, Op, Request, Status};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::profile::MediaCacheSpec;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{Promise, SmallDrive, check_promise_conformance, random_stack_to_cut};
use seekwise_disk::time::{Instant, Span};

/// A drive with a media cache of `slots` slots, none if zero. The buffer has sixteen segments of 16 sectors, all of which may be
/// dirty; it is idle after 100 ms.
fn drive_with_media_cache(slots: u64) -> SmallDrive {
    let mut small = SmallDrive::default().with_buffer(16, 16).with_write_back(16);
    small.cache.read_ahead.max = 0;
    small.cache.destage_idle = Span::from_millis(100);
    small.holes = vec![(4096, 512)];
    small.cache.media_cache =
        (slots > 0).then_some(MediaCacheSpec { stretches: 1, slots, first_slot: 4096, stride: 0, largest: 8 });
    small
}

fn with_landings(small: &SmallDrive) -> Drive {
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    drive
}

fn run_request(drive: &mut Drive, at: Instant, op: Op, lba: u64, sectors: u32) -> Completion {
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

fn response_time(completion: &Completion) -> Span {
    completion.finished.since(completion.submitted)
}

fn poll_landings(drive: &mut Drive) -> Vec<Landing> {
    std::iter::from_fn(|| drive.poll_landing()).collect()
}

/// Runs eight scattered writes of `sectors` each, and a flush. Returns when the flush is done, and its response time.
fn write_scattered_and_flush(drive: &mut Drive, sectors: u32) -> (Instant, Span) {
    let mut at = Instant::ZERO;
    for index in 0..8 {
        at = run_request(drive, at, Op::Write, 100 + index * 900, sectors).finished;
    }
    let flush = run_request(drive, at, Op::Flush, 0, 0);
    (flush.finished, response_time(&flush))
}

#[test]
fn a_flush_of_scattered_writes_takes_one_pass_of_the_media_cache() {
    let without_cache = write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(0)), 8).1;
    let with_cache = write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(512)), 8).1;
    assert!(without_cache > Span::from_millis(40), "{without_cache:?}");
    // A seek, at most a revolution of latency, a revolution for 64 sectors, and a missed revolution or two, because the runs
    // come one by one.
    assert!(with_cache < Span::from_millis(30), "{with_cache:?}");
    // Longer writes go to their own blocks.
    assert_eq!(
        write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(512)), 16).1,
        write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(0)), 16).1
    );
}

#[test]
fn a_full_media_cache_is_bypassed() {
    let (none, two, all) = (
        write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(0)), 8).1,
        write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(16)), 8).1,
        write_scattered_and_flush(&mut with_landings(&drive_with_media_cache(512)), 8).1,
    );
    assert!(all < two && two <= none + Span::from_millis(25), "{all:?} {two:?} {none:?}");
}

#[test]
fn data_in_the_media_cache_survive_a_cut() {
    let mut drive = with_landings(&drive_with_media_cache(512));
    let (done, _) = write_scattered_and_flush(&mut drive, 8);
    let landed = poll_landings(&mut drive);
    assert_eq!(landed.iter().map(|landing| landing.sectors).sum::<u32>(), 64);
    assert!(landed.iter().all(|landing| landing.kind == LandingKind::Landed && landing.to <= done));
    drive.control(done, &Control::PowerCut).expect("power always fails");
    assert_eq!(poll_landings(&mut drive), []);
}

/// An idle drive moves the entries to their own blocks. The arm is beside the stretch: a block in the media cache is near, and
/// its own place is far.
#[test]
fn reads_find_blocks_in_the_media_cache_until_they_are_moved() {
    // The seek of a read after `pause`, whether the drive has nothing left to do, and the landings reported before. The cut
    // empties the buffer.
    let read_after = |pause: Span| {
        let mut drive = with_landings(&drive_with_media_cache(512));
        let (done, _) = write_scattered_and_flush(&mut drive, 8);
        drive.handle_timeout(done + pause);
        let cut = done + pause;
        drive.control(cut, &Control::PowerCut).expect("power always fails");
        drive.control(cut, &Control::PowerOn).expect("power returns");
        let landings = poll_landings(&mut drive).len();
        let beside_stretch = run_request(&mut drive, cut, Op::Read, 4090, 1).finished;
        let read = run_request(&mut drive, beside_stretch, Op::Read, 100, 8);
        let seek = read.parts.get(seekwise_disk::record::Part::Seek);
        (seek, drive.poll_timeout().is_none(), landings)
    };
    let (near_seek, is_empty, _) = read_after(Span::ZERO);
    assert!(near_seek < Span::from_millis(1) && !is_empty, "{near_seek:?}");
    let (far_seek, is_empty, landings) = read_after(Span::from_secs(3));
    assert!(far_seek > Span::from_millis(1) && is_empty, "{far_seek:?}");
    assert_eq!(landings, 8, "a moved entry is not reported again");
}

/// A read that covers an entry and other blocks reads its own place, then the entry.
#[test]
fn a_read_gathers_blocks_from_both_places() {
    let mut drive = with_landings(&drive_with_media_cache(512));
    let (done, _) = write_scattered_and_flush(&mut drive, 8);
    drive.control(done, &Control::PowerCut).expect("power always fails");
    drive.control(done, &Control::PowerOn).expect("power returns");
    let over_entry = run_request(&mut drive, done, Op::Read, 96, 16);
    let plain = run_request(&mut drive, over_entry.finished, Op::Read, 200, 16);
    assert_eq!(over_entry.parts.total(), response_time(&over_entry));
    assert!(response_time(&over_entry) > response_time(&plain) + Span::from_millis(1), "{over_entry:?} {plain:?}");
}

/// A newer write to the blocks themselves replaces an older one in the media cache.
#[test]
fn a_write_that_bypasses_the_media_cache_makes_its_entry_stale() {
    let mut drive = with_landings(&drive_with_media_cache(512));
    let (done, _) = write_scattered_and_flush(&mut drive, 8);
    // This write covers the first entry, and is too long for the media cache.
    let written = run_request(&mut drive, done, Op::Write, 96, 16);
    let flushed = run_request(&mut drive, written.finished, Op::Flush, 0, 0).finished;
    drive.control(flushed, &Control::PowerCut).expect("power always fails");
    drive.control(flushed, &Control::PowerOn).expect("power returns");
    let read = run_request(&mut drive, flushed, Op::Read, 100, 8);
    // The arm is where the write was.
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
