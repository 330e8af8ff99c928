//! Laws of a drive that follow from its description alone: the places of blocks, times and rates. Expected values are worked
//! out by hand; times are in nanoseconds.

use std::collections::BTreeMap;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, ControlError, Device, Flags, LandingKind, Op, Request, Status};
use seekwise_disk::drive::Drive;
use seekwise_disk::drive::geometry::{Extent, Geometry, LayoutError, SurfaceRun, TrackOrder, Zone};
use seekwise_disk::drive::mechanics::{Mechanics, SeekCurve};
use seekwise_disk::drive::profile::OverheadAfter;
use seekwise_disk::queue::Policy;
use seekwise_disk::record::Part;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{SmallDrive, random_profile};
use seekwise_disk::time::{Instant, Span};

/// The rate of a link whose transfers take no time: a nanosecond a megabyte.
const INSTANT_RATE: u64 = 1_000_000_000_000_000;

/// 7,200 rpm: 60 s / 7,200 = 8.333333 ms, rounded down.
const REVOLUTION: u64 = 8_333_333;

fn request(tag: u32, op: Op, lba: u64, sectors: u32) -> Request {
    Request { tag, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp: u64::from(tag) + 1 }
}

/// The completions of all requests in flight.
fn completions(drive: &mut Drive) -> Vec<Completion> {
    let mut completions = Vec::new();
    loop {
        while let Some(completion) = drive.poll_completion() {
            completions.push(completion);
        }
        let Some(next) = drive.poll_timeout() else {
            return completions;
        };
        drive.handle_timeout(next);
    }
}

/// Submits a request at `now` to a drive with nothing in flight, and runs it to its completion.
fn run_request(drive: &mut Drive, now: Instant, op: Op, lba: u64, sectors: u32) -> Completion {
    drive.handle_timeout(now);
    drive.submit(now, request(0, op, lba, sectors)).expect("room");
    loop {
        if let Some(completion) = drive.poll_completion() {
            return completion;
        }
        let next = drive.poll_timeout().expect("something in flight");
        drive.handle_timeout(next);
    }
}

/// Runs requests, first sector and length, one after another: each is submitted when the last one finishes.
fn run_back_to_back(drive: &mut Drive, from: Instant, op: Op, requests: &[(u64, u32)]) -> Vec<Completion> {
    let mut now = from;
    let run_next = |&(lba, sectors): &(u64, u32)| {
        let completion = run_request(drive, now, op, lba, sectors);
        assert_eq!(completion.status, Status::Done);
        now = completion.finished;
        completion
    };
    requests.iter().map(run_next).collect()
}

fn consecutive_requests(count: u64, sectors: u32) -> Vec<(u64, u32)> {
    (0..count).map(|index| (index * u64::from(sectors), sectors)).collect()
}

fn drive_with_instant_link() -> SmallDrive {
    let mut small = SmallDrive::default();
    (small.link.rate, small.link.write_rate) = (INSTANT_RATE, INSTANT_RATE);
    small
}

fn assert_near(found: u64, expected: u64, within: u64, context: &str) {
    assert!(found.abs_diff(expected) <= within, "{context}: found {found}, expected {expected} within {within}");
}

// Places

/// Drives with each order of tracks: without defects, with holes, and with holes and remapped blocks.
fn drives_of_all_layouts() -> Vec<SmallDrive> {
    let orders = [
        TrackOrder::Cylinder,
        TrackOrder::Switchback,
        TrackOrder::Serpentine(1),
        TrackOrder::Serpentine(5),
        TrackOrder::Serpentine(7),
    ];
    let plain =
        orders.map(|order| SmallDrive { order, heads: 3, zones: vec![(23, 17), (11, 8)], ..SmallDrive::default() });
    let holes = [(0, 3), (17, 1), (20, 20), (60, 1), (61, 2), (400, 17), (700, 30)];
    let with_holes = |small: SmallDrive| SmallDrive { holes: holes.to_vec(), ..small };
    let remaps = [(5, 1), (6, 729), (59, 60), (120, 700), (500, 0), (699, 18 + 4)];
    let with_remaps = |small: SmallDrive| SmallDrive { remaps: remaps.to_vec(), ..with_holes(small) };
    let (holed, remapped) = (plain.clone().map(with_holes), plain.clone().map(with_remaps));
    plain.into_iter().chain(holed).chain(remapped).collect()
}

#[test]
fn blocks_continue_after_holes_and_no_block_lies_in_one() {
    for order in [TrackOrder::Cylinder, TrackOrder::Switchback, TrackOrder::Serpentine(5)] {
        let whole = SmallDrive { order, heads: 3, zones: vec![(23, 17), (11, 8)], ..SmallDrive::default() };
        let holes = vec![(0, 3), (17, 1), (20, 20), (61, 2), (400, 17)];
        let (slots, geometry) =
            (whole.geometry().expect("fits"), SmallDrive { holes: holes.clone(), ..whole }.geometry());
        let geometry = geometry.expect("fits");
        let is_used = |slot: &u64| !holes.iter().any(|hole| (hole.0..hole.0 + hole.1).contains(slot));
        let used: Vec<u64> = (0..slots.sectors()).filter(is_used).collect();
        for (lba, &slot) in (0..).zip(&used) {
            let (block, in_slot) = (geometry.extent(lba, 1), slots.extent(slot, 1));
            assert_eq!(block, Extent { lba, ..in_slot }, "{order:?}, {slot}");
            for (to, &to_slot) in (lba..).zip(&used[lba as usize..]).take(50) {
                assert_eq!(geometry.is_without_gaps(lba, to), to_slot - slot == to - lba, "{order:?}, {lba} to {to}");
            }
        }
        assert_eq!(used.len() as u64, geometry.sectors());
    }
}

#[test]
fn every_other_cylinder_runs_its_heads_backwards() {
    let small = SmallDrive { order: TrackOrder::Switchback, heads: 3, zones: vec![(5, 8)], ..SmallDrive::default() };
    let geometry = small.geometry().expect("fits");
    let heads: Vec<u8> = (0..15).map(|track| geometry.extent(track * 8, 1).head).collect();
    assert_eq!(heads, [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2]);
}

#[test]
fn each_block_has_a_slot_of_its_own() {
    for small in drives_of_all_layouts() {
        let geometry = small.geometry().expect("fits");
        let mut tracks: BTreeMap<(u32, u8), Vec<(u64, u64)>> = BTreeMap::new();
        for lba in 0..geometry.sectors() {
            let extent = geometry.extent(lba, 1);
            assert!(extent.cylinder < geometry.cylinders() && extent.head < geometry.surfaces());
            tracks.entry((extent.cylinder, extent.head)).or_default().push((extent.angle, extent.slot));
        }
        for (track, mut slots) in tracks {
            slots.sort_unstable();
            let slot_angle = slots[0].1;
            let track_slots = u64::MAX / slot_angle;
            assert!(slots.len() as u64 <= track_slots, "{track:?} holds {} of {track_slots}", slots.len());
            for pair in slots.windows(2) {
                assert!(
                    pair[1].0 - pair[0].0 >= slot_angle,
                    "two blocks in one slot of {track:?}: {pair:?}\n{small:?}"
                );
            }
            let from_last_to_first = slots[0].0.wrapping_sub(slots[slots.len() - 1].0);
            assert!(
                slots.len() == 1 || from_last_to_first >= slot_angle,
                "two blocks in one slot of {track:?}\n{small:?}"
            );
        }
    }
}

#[test]
fn an_extent_lies_where_its_blocks_lie() {
    for small in drives_of_all_layouts() {
        let geometry = small.geometry().expect("fits");
        let mut lba = 0;
        while lba < geometry.sectors() {
            let extent = geometry.extent(lba, u32::MAX);
            assert_eq!(extent.lba, lba);
            for offset in 0..u64::from(extent.sectors) {
                let block = geometry.extent(lba + offset, 1);
                let angle = extent.angle.wrapping_add(extent.slot.wrapping_mul(offset));
                assert_eq!(
                    (block.cylinder, block.head, block.angle),
                    (extent.cylinder, extent.head, angle),
                    "{small:?}"
                );
            }
            lba = extent.end();
        }
        assert_eq!(lba, geometry.sectors());
    }
}

#[test]
fn slips_shift_and_remaps_move() {
    // A cylinder has two tracks of 64 slots. Slot 3 is slipped; five spares end the first cylinder; block 10 moves to one.
    let small = SmallDrive { holes: vec![(3, 1), (123, 5)], remaps: vec![(10, 124)], ..SmallDrive::default() };
    let geometry = small.geometry().expect("fits");
    let (before_slip, after_slip) = (geometry.extent(0, u32::MAX), geometry.extent(3, u32::MAX));
    assert_eq!(before_slip.sectors, 3);
    let slipped_angle = before_slip.angle.wrapping_add(before_slip.slot.wrapping_mul(4));
    assert_eq!(after_slip.angle, slipped_angle, "one slot further");
    assert_eq!(after_slip.sectors, 6, "up to the remapped block");
    let moved = geometry.extent(9, u32::MAX);
    let track = geometry.extent(63, 1);
    assert_eq!((moved.lba, moved.sectors, moved.cylinder, moved.head, moved.before), (9, 1, 0, 1, 60));
    assert_eq!(moved.angle, track.angle.wrapping_add(track.slot.wrapping_mul(60)));
    assert_eq!(geometry.extent(10, u32::MAX).before, 11, "the next block lies in its own slot");
    assert!(!geometry.is_without_gaps(9, 10), "the remapped block lies elsewhere");
    let last = geometry.extent(121, u32::MAX);
    assert_eq!((last.sectors, last.head, last.behind), (1, 1, 5), "the spares end the cylinder");
    assert_eq!((geometry.extent(122, 1).cylinder, geometry.extent(122, 1).before), (1, 0));
}

#[test]
fn a_layout_that_contradicts_itself_is_refused_by_name() {
    let sound = SmallDrive { holes: vec![(10, 2), (20, 4)], remaps: vec![(5, 10), (30, 20)], ..SmallDrive::default() };
    let geometry = |change: fn(&mut SmallDrive)| {
        let mut small = sound.clone();
        change(&mut small);
        small.geometry().map(|_| ())
    };
    assert_eq!(geometry(|_| ()), Ok(()));
    let hole = |hole| Err(LayoutError::Hole { hole });
    assert_eq!(geometry(|small| small.holes[1].0 = 11), hole(1));
    assert_eq!(geometry(|small| small.holes[0].1 = 0), hole(0));
    assert_eq!(geometry(|small| small.holes.push((8_960, 1))), hole(2), "80 cylinders, 2 heads, 64 or 48 slots");
    let remap = |remap| Err(LayoutError::Remap { remap });
    assert_eq!(geometry(|small| small.remaps[1].1 = 10), remap(0), "two blocks in one slot");
    assert_eq!(geometry(|small| small.remaps[1].0 = 5), remap(1));
    assert_eq!(geometry(|small| small.remaps[1].0 = 23), remap(1), "no block there");
    assert_eq!(geometry(|small| small.remaps[1].1 = 40), remap(1), "a block there");
    assert_eq!(geometry(|small| small.remaps[1].1 = u64::MAX), remap(1));
}

#[test]
fn each_zone_is_checked_field_by_field() {
    let run = SurfaceRun { head: 0, first: 1, backwards: true, tracks: 2, sectors_per_track: 9, angle: 0, skew: 0 };
    let sound = Zone {
        first_cylinder: 3,
        cylinders: 4,
        band_cylinders: 2,
        runs: vec![run],
        angle: 0,
        band_skew: 0,
        restart: None,
    };
    let field = |change: fn(&mut Zone)| {
        let mut zone = sound.clone();
        change(&mut zone);
        match Geometry::new(36, &[zone], &[], &[]) {
            Ok(_) => "",
            Err(LayoutError::Zone { zone: 0, field, .. }) => field,
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(field(|_| ()), "");
    assert_eq!(field(|zone| zone.cylinders = 0), "cylinders");
    assert_eq!(field(|zone| zone.cylinders = 5), "cylinders");
    assert_eq!(field(|zone| zone.first_cylinder = u32::MAX - 2), "cylinders");
    assert_eq!(field(|zone| zone.band_cylinders = 0), "band_cylinders");
    assert_eq!(field(|zone| zone.runs.clear()), "runs");
    assert_eq!(field(|zone| zone.runs[0].tracks = 3), "runs", "it would leave the band");
    assert_eq!(field(|zone| zone.runs[0].first = 2), "runs");
    assert_eq!(field(|zone| zone.runs[0].sectors_per_track = 0), "runs");
    assert_eq!(field(|zone| zone.runs[0].sectors_per_track = u32::MAX), "runs");
    assert_eq!(field(|zone| zone.runs = vec![zone.runs[0].clone(); 65_537]), "runs");
    let overlap = [sound.clone(), Zone { first_cylinder: 6, ..sound.clone() }];
    let found = Geometry::new(1, &overlap, &[], &[]).map(|_| ());
    assert_eq!(found, Err(LayoutError::Zones { zone: 1, expected: 7, found: 6 }));
    let found = Geometry::new(37, &[sound], &[], &[]).map(|_| ());
    assert_eq!(found, Err(LayoutError::TooSmall { holds: 36, claims: 37 }));
}

#[test]
fn neighbouring_tracks_are_turned_by_the_skew() {
    for order in [TrackOrder::Cylinder, TrackOrder::Switchback, TrackOrder::Serpentine(4)] {
        let small = SmallDrive { order, heads: 2, zones: vec![(8, 64)], ..SmallDrive::default() };
        let (geometry, skews) = (small.geometry().expect("fits"), small.skews());
        for track in 0..15u64 {
            let (one, next) = (geometry.extent(track * 64, 1), geometry.extent(track * 64 + 64, 1));
            let surface_ends = match order {
                TrackOrder::Cylinder | TrackOrder::Switchback => track % 2 == 0,
                TrackOrder::Serpentine(tracks) => (track + 1) % u64::from(tracks) == 0,
            };
            let skew = if surface_ends { skews.head } else { skews.cylinder };
            assert_eq!(next.angle.wrapping_sub(one.angle), skew, "{order:?}, track {track}");
        }
    }
}

// Times

#[test]
fn nothing_is_faster_than_its_transfer() {
    for seed in 0..60 {
        let mut rng = Seed(seed).stream("transfer");
        let mut small = random_profile(&mut rng);
        (small.cache.segments, small.cache.write_back, small.cache.adaptive) = (0, false, None);
        small.weak.clear();
        let mut drive = small.drive();
        let mut now = Instant::ZERO;
        for _ in 0..40 {
            let sectors = 1 + rng.below(200) as u32;
            let lba = rng.below(drive.limits(0).sectors - u64::from(sectors));
            let op = if rng.draw_chance(50) { Op::Read } else { Op::Write };
            let completion = run_request(&mut drive, now, op, lba, sectors);
            let mut transfer = Span::ZERO;
            let mut at = lba;
            while at < lba + u64::from(sectors) {
                let left = (lba + u64::from(sectors) - at) as u32;
                let extent = drive.geometry().extent(at, left);
                transfer += drive.mechanics().transfer_time(&extent);
                at = extent.end();
            }
            assert_eq!(completion.parts.get(Part::Transfer), transfer, "seed {seed}");
            assert_eq!(completion.parts.total(), completion.finished.since(now));
            now = completion.finished + Span::from_nanos(rng.below(10_000_000));
        }
    }
}

/// Consecutive tracks take a revolution and a skew each.
#[test]
fn a_long_read_runs_at_the_rate_of_its_tracks() {
    let mut small = drive_with_instant_link();
    small.zones = vec![(40, 64)];
    let mut drive = small.drive();
    let tracks = 40u64;
    let read = run_request(&mut drive, Instant::ZERO, Op::Read, 0, 64 * tracks as u32);
    // The switch of heads, or the seek of one cylinder, and the margin of the skew.
    let (head_skew, cylinder_skew) = (500_000 + 20_000, 600_000 + 20_000);
    let skews = tracks / 2 * head_skew + (tracks / 2 - 1) * cylinder_skew;
    assert_near(read.finished.nanos(), tracks * REVOLUTION + skews, 4 * tracks, "forty tracks from rest");
}

#[test]
fn back_to_back_requests_lose_no_revolution_without_overhead() {
    for op in [Op::Read, Op::Write] {
        let done =
            run_back_to_back(&mut drive_with_instant_link().drive(), Instant::ZERO, op, &consecutive_requests(64, 1));
        assert_near(done[63].finished.nanos(), REVOLUTION, 64, "a track sector by sector");
    }
}

#[test]
fn back_to_back_requests_lose_a_revolution_with_overhead() {
    let mut small = drive_with_instant_link();
    small.overhead.read_miss = OverheadAfter::both(Span::from_micros(1));
    let done = run_back_to_back(&mut small.drive(), Instant::ZERO, Op::Read, &consecutive_requests(10, 1));
    for pair in done.windows(2) {
        let interval = pair[1].finished.since(pair[0].finished).nanos();
        assert_near(interval, REVOLUTION + REVOLUTION / 64, 4, "a revolution and a sector");
    }
}

/// An access as a read and as a write, each on a fresh drive. The write settles once after each movement of the arm. The
/// platter turns meanwhile, so that the write ends with the read, or whole revolutions later.
#[test]
fn a_write_settles_once_after_each_movement() {
    // First block and length, switches of heads (500 us each) and seeks of one cylinder (600 us each). A track has 64 blocks, a
    // cylinder two tracks; skews leave 20 us more than a movement takes.
    let accesses = [
        (0, 64, 0, 0),
        (64, 8, 1, 0),
        (128, 8, 0, 1),
        (192, 8, 0, 1),
        (0, 192, 1, 1),
        (60, 140, 2, 1),
        (130, 190, 1, 2),
    ];
    for settle_ns in [0, 1, 10_000, 30_000, 500_000, 2_000_000] {
        for (lba, sectors, switches, seeks) in accesses {
            let small = SmallDrive { write_settle: Span::from_nanos(settle_ns), ..drive_with_instant_link() };
            let done = [Op::Read, Op::Write].map(|op| run_request(&mut small.drive(), Instant::ZERO, op, lba, sectors));
            let context = format!("settle {settle_ns}, {sectors} at {lba}");
            for (completion, settle_time) in done.iter().zip([0, (switches + seeks) * settle_ns]) {
                let part = |part| completion.parts.get(part).nanos();
                let movement_time = 500_000 * switches + 600_000 * seeks;
                assert_eq!((part(Part::Settle), part(Part::Seek)), (settle_time, movement_time), "{context}");
                assert_near(part(Part::Transfer), u64::from(sectors) * REVOLUTION / 64, 10, &context);
            }
            let [read, write] = done.map(|completion| completion.finished.nanos());
            let revolutions = (write - read + 10) / REVOLUTION;
            assert_near(write - read, revolutions * REVOLUTION, 6, &context);
            // Within an access the skew leaves 20 us: each movement that settles longer costs a revolution. The first movement may
            // cost another.
            let track_changes = (lba + u64::from(sectors) - 1) / 64 - lba / 64;
            let missed = if settle_ns > 20_000 { track_changes } else { 0 };
            assert!((missed..=missed + 1).contains(&revolutions), "{context}: {revolutions} later, {missed} missed");
        }
    }
}

#[test]
fn the_angle_drifts_less_than_a_microsecond_in_ten_days() {
    for millirpm in [4_200_000u64, 5_400_000, 7_200_000, 10_025_000, 15_000_000] {
        let curve = SeekCurve::from_points(&[(1, Span::from_millis(1))], 10).expect("a curve");
        let mechanics = Mechanics::new(curve, Span::ZERO, Span::ZERO, millirpm).expect("a speed");
        let ten_days = 10 * 86_400 * 1_000_000_000u64;
        // A nanosecond at a thousandth of a revolution a minute turns by this part of a revolution.
        let parts_of_revolution = 60_000_000_000_000u128;
        let turned = u128::from(ten_days) * u128::from(millirpm) % parts_of_revolution;
        let exact = ((turned << 64) / parts_of_revolution) as u64;
        let error = mechanics.angle_at(Instant::from_nanos(ten_days)).wrapping_sub(exact) as i64;
        let drift = mechanics.turning_time(error.unsigned_abs());
        assert!(drift < Span::from_micros(1), "{millirpm}: {drift}");
    }
}

#[test]
fn seek_curves_give_their_figures() {
    let (one, average, full) = (Span::from_micros(800), Span::from_micros(4_700), Span::from_micros(10_200));
    let three_point = SeekCurve::three_point(one, average, full, 9_000).expect("rising");
    let times = [1, 3_000, 8_999].map(|distance| three_point.seek_time(distance));
    assert_eq!(times, [one, average, full], "one cylinder, a third, all");
    let lee = SeekCurve::lee(one, average, full, 9_000).expect("rising");
    assert_eq!(lee.seek_time(1), one);
    assert_near(lee.mean_time().nanos(), average.nanos(), 4_700, "Lee's average is the mean over all pairs");
    assert_near(lee.seek_time(8_999).nanos(), full.nanos(), 2_000, "Lee's full stroke");
    let hp = SeekCurve::ruemmler_wilkes(
        None,
        (Span::from_micros(3_240), 400_000),
        383,
        (Span::from_micros(8_000), 8_000),
        1_962,
    )
    .expect("positive");
    // HP 97560 (Ruemmler and Wilkes 1994): 3.24 + 0.4 sqrt(d) ms below 383 cylinders, 8.00 + 0.008 d ms from there.
    assert_eq!(hp.seek_time(100), Span::from_nanos(7_240_000));
    assert_eq!(hp.seek_time(383), Span::from_nanos(11_064_000));
    assert_eq!(hp.seek_time(1_961), Span::from_nanos(23_688_000));
    let table = SeekCurve::from_points(&[(1, one), (11, average), (21, full)], 100).expect("rising");
    assert_eq!((table.seek_time(1), table.seek_time(11), table.seek_time(21)), (one, average, full));
    assert_eq!(table.seek_time(6).nanos(), (one.nanos() + average.nanos()) / 2);
    assert_eq!(table.seek_time(0), Span::ZERO);
}

// The queue

/// Four sectors of a track, at a quarter, three quarters, a half and the end: in this order they take two revolutions, in order
/// of angle one.
#[test]
fn four_requests_on_a_track_take_one_revolution_under_sptf_and_two_under_fcfs() {
    for (policy, revolutions) in [(Policy::Sptf, 1), (Policy::Fcfs, 2)] {
        let mut drive = drive_with_instant_link().with_queue(4, policy).drive();
        for (tag, lba) in [15, 47, 31, 63].into_iter().enumerate() {
            drive.submit(Instant::ZERO, request(tag as u32, Op::Read, lba, 1)).expect("room");
        }
        let last =
            completions(&mut drive).into_iter().map(|completion| completion.finished).max().expect("four answers");
        assert_near(last.nanos(), revolutions * REVOLUTION, 8, "the last of four");
    }
}

#[test]
fn a_whole_track_without_latency_takes_one_revolution() {
    let mut small = drive_with_instant_link();
    small.firmware.zero_latency = true;
    for phase in 0..32u64 {
        small.phase = phase << 59 | phase << 20;
        let read = run_request(&mut small.drive(), Instant::ZERO, Op::Read, 0, 64);
        assert!(read.finished.nanos() <= REVOLUTION + 2, "phase {phase}: {}", read.finished.nanos());
        small.firmware.zero_latency = false;
        let plain = run_request(&mut small.drive(), Instant::ZERO, Op::Read, 0, 64);
        assert!(phase == 0 || plain.finished.nanos() > REVOLUTION + 100_000, "phase {phase}");
        small.firmware.zero_latency = true;
    }
}

// The buffer

fn streaming_drive() -> SmallDrive {
    let mut small = SmallDrive { zones: vec![(60, 500)], ..SmallDrive::default() };
    small.link.rate = 150_000_000;
    small.overhead.read_miss = OverheadAfter::both(Span::from_micros(300));
    small.overhead.read_hit = OverheadAfter::both(Span::from_micros(100));
    small
}

#[test]
fn a_sequential_stream_runs_at_media_rate_with_segments() {
    let done = run_back_to_back(
        &mut streaming_drive().with_buffer(4, 1024).drive(),
        Instant::ZERO,
        Op::Read,
        &consecutive_requests(200, 128),
    );
    // 180 reads of 128 sectors are 46.08 tracks of 500; two tracks take two revolutions, a head and a cylinder skew.
    let stream_time = done[199].finished.since(done[19].finished).nanos();
    let expected = 180 * 128 * (2 * REVOLUTION + 520_000 + 620_000) / 1_000;
    assert_near(stream_time, expected, expected / 100, "media rate");
}

#[test]
fn a_sequential_stream_loses_revolutions_without_segments() {
    let done =
        run_back_to_back(&mut streaming_drive().drive(), Instant::ZERO, Op::Read, &consecutive_requests(50, 128));
    let stream_time = done[49].finished.since(done[0].finished).nanos();
    assert!(stream_time >= 49 * REVOLUTION, "{stream_time}");
}

#[test]
fn a_hit_costs_overhead_and_link() {
    let mut small = streaming_drive().with_buffer(2, 1024);
    small.overhead.completion = Span::from_micros(7);
    small.link.command = Span::from_micros(11);
    let mut drive = small.drive();
    let miss = run_request(&mut drive, Instant::ZERO, Op::Read, 0, 8);
    let later = miss.finished + Span::from_millis(50);
    let hit = run_request(&mut drive, later, Op::Read, 8, 30);
    let link = 30 * 512 * 1_000_000_000 / 150_000_000;
    assert_eq!(hit.finished.since(later).nanos(), 100_000 + 7_000 + 11_000 + link);
    assert_eq!(hit.parts.get(Part::Rotation), Span::ZERO);
}

fn scattered_requests(count: u64) -> Vec<(u64, u32)> {
    (0..count).map(|index| (index * 1_237 % 7_000, 8)).collect()
}

#[test]
fn write_back_acknowledges_from_the_buffer_until_it_is_full() {
    let mut small = SmallDrive { zones: vec![(80, 64)], ..SmallDrive::default() }.with_buffer(8, 64).with_write_back(5);
    small.cache.destage_idle = Span::from_secs(1);
    small.overhead.write_hit = OverheadAfter::both(Span::from_micros(50));
    let done = run_back_to_back(&mut small.drive(), Instant::ZERO, Op::Write, &scattered_requests(200));
    for completion in &done[..5] {
        let response = completion.finished.since(completion.submitted);
        assert_eq!(response, Span::from_nanos(50_000 + 8 * 512), "from the buffer");
    }
    assert!(done[5].parts.get(Part::Cache) > Span::ZERO, "the sixth waits for a segment");
    // In the steady state each write waits until another is destaged. The pace is that of the writes without a buffer, because
    // the arm moves alike. A quarter is left for other rotational latencies.
    small.cache.write_back = false;
    let through = run_back_to_back(&mut small.drive(), Instant::ZERO, Op::Write, &scattered_requests(200));
    let pace = |done: &[Completion]| done[199].finished.since(done[9].finished).nanos() / 190;
    small.cache.write_back = true;
    small.firmware.destage.policy = Policy::Fcfs;
    let back = run_back_to_back(&mut small.drive(), Instant::ZERO, Op::Write, &scattered_requests(200));
    assert_near(pace(&back), pace(&through), pace(&through) / 4, "the pace of destaging");
}

#[test]
fn a_write_longer_than_a_segment_is_cached_in_several() {
    let mut small = SmallDrive::default().with_buffer(8, 64).with_write_back(5);
    small.cache.destage_idle = Span::from_secs(1);
    small.overhead.write_hit = OverheadAfter::both(Span::from_micros(50));
    for (sectors, fits) in [(64, true), (65, true), (5 * 64, true), (5 * 64 + 1, false), (1_000, false)] {
        let mut drive = small.drive();
        drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
        let write = run_request(&mut drive, Instant::ZERO, Op::Write, 100, sectors);
        let crossing = 50_000 + u64::from(sectors) * 512;
        assert_eq!(write.finished.nanos() == crossing, fits, "{sectors}: {write:?}");
        run_request(&mut drive, write.finished, Op::Flush, 0, 0);
        let mut landed = Vec::new();
        while let Some(landing) = drive.poll_landing() {
            assert_eq!((landing.kind, landing.stamp), (LandingKind::Landed, 1));
            landed.extend(landing.lba..landing.lba + u64::from(landing.sectors));
        }
        landed.sort_unstable();
        assert_eq!(landed, (100..100 + u64::from(sectors)).collect::<Vec<_>>(), "each block once");
    }
}

#[test]
fn writes_longer_than_the_buffer_run_at_media_rate() {
    let mut drive = streaming_drive().with_buffer(4, 128).with_write_back(3).drive();
    let done = run_back_to_back(&mut drive, Instant::ZERO, Op::Write, &consecutive_requests(30, 1_000));
    // 20 writes of two tracks each; every two tracks take two revolutions, a head and a cylinder skew.
    let stream_time = done[29].finished.since(done[9].finished).nanos();
    let expected = 20 * (2 * REVOLUTION + 520_000 + 620_000);
    assert_near(stream_time, expected, expected / 50, "media rate");
}

#[test]
fn a_flush_waits_for_dirty_data() {
    let mut small = SmallDrive::default().with_buffer(8, 64).with_write_back(5).with_queue(4, Policy::Fcfs);
    small.cache.destage_idle = Span::from_secs(1);
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    let done = run_back_to_back(&mut drive, Instant::ZERO, Op::Write, &scattered_requests(4));
    assert!(drive.poll_landing().is_none(), "nothing on the medium before the flush");
    let flush = run_request(&mut drive, done[3].finished, Op::Flush, 0, 0);
    let mut landed = 0;
    while let Some(landing) = drive.poll_landing() {
        assert_eq!(landing.kind, LandingKind::Landed);
        assert!(landing.to <= flush.finished);
        landed += landing.sectors;
    }
    assert_eq!(landed, 4 * 8);
    assert!(flush.parts.get(Part::Flush) > Span::ZERO);
}

#[test]
fn an_empty_flush_costs_its_command() {
    let mut small = SmallDrive::default().with_buffer(8, 64).with_write_back(5);
    small.overhead.flush = Span::from_micros(40);
    small.overhead.completion = Span::from_micros(5);
    small.link.command = Span::from_micros(3);
    let flush = run_request(&mut small.drive(), Instant::ZERO, Op::Flush, 0, 0);
    assert_eq!(flush.finished.nanos(), 48_000);
}

#[test]
fn a_flush_does_not_destage_later_writes() {
    let mut small = SmallDrive::default().with_buffer(8, 64).with_write_back(5).with_queue(4, Policy::Fcfs);
    small.cache.destage_idle = Span::from_secs(1);
    let mut drive = small.drive();
    drive.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a known key");
    let before = run_back_to_back(&mut drive, Instant::ZERO, Op::Write, &[(0, 8), (2_000, 8)]);
    let now = before[1].finished;
    drive.submit(now, request(1, Op::Flush, 0, 0)).expect("room");
    drive.submit(now + Span::from_micros(100), request(2, Op::Write, 4_000, 8)).expect("room");
    drive.handle_timeout(now + Span::from_millis(500));
    let mut landed = 0;
    while let Some(landing) = drive.poll_landing() {
        landed += landing.sectors;
    }
    assert_eq!(landed, 16, "the write after the flush waits for the idle time");
}

#[test]
fn an_aborted_read_leaves_nothing_in_the_buffer() {
    let mut drive = SmallDrive::default().with_buffer(4, 64).with_write_back(2).with_queue(4, Policy::Fcfs).drive();
    let at = |us: u64| Instant::from_nanos(us * 1_000);
    drive.submit(at(0), request(0, Op::Read, 3_000, 8)).expect("room");
    drive.submit(at(10), request(1, Op::Write, 3_000, 8)).expect("room");
    drive.control(at(20), &Control::Reset).expect("on");
    let statuses = completions(&mut drive).into_iter().map(|completion| (completion.tag, completion.status));
    assert_eq!(statuses.collect::<Vec<_>>(), [(1, Status::Done), (0, Status::Aborted)]);
    let read = run_request(&mut drive, at(1_000_000), Op::Read, 100, 8);
    assert!(read.parts.get(Part::Transfer) > Span::ZERO, "block 100 was never read: {read:?}");
}

#[test]
fn write_back_needs_a_buffer() {
    let on = Control::Set(LayerSetting::WriteBack(true));
    let mut bare = SmallDrive::default();
    assert_eq!(bare.drive().control(Instant::ZERO, &on), Err(ControlError::BadValue));
    bare.cache.dirty_segments = 3;
    assert_eq!(bare.drive().control(Instant::ZERO, &on), Err(ControlError::BadValue));
    let mut drive = SmallDrive { cache: bare.cache, ..SmallDrive::default() }.with_buffer(4, 64).drive();
    assert_eq!(drive.control(Instant::ZERO, &on), Ok(()));
    assert!(drive.limits(0).volatile_cache);
}
