//! Write-intent bitmaps of arrays (`host/array/bitmap.rs`): the page writes that a write waits for, worked out by hand; and,
//! on random arrays, that after a cut members differ only in regions that the bitmap has as dirty.

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Op, Request};
use seekwise_disk::drive::profile::Faults;
use seekwise_disk::host::array::layout::{RaidLevel, VolumeShare};
use seekwise_disk::host::array::{
    Array, ArraySpec, BitmapCounts, BitmapSpec, ParityWrite, ReadBalance, SyncPolicy, SyncSpeed,
};
use seekwise_disk::host::layer::LayeredDevice;
use seekwise_disk::host::ports::Ports;
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::record::Part;
use seekwise_disk::rng::Seed;
use seekwise_disk::testing::{SectorImage, SmallDrive, VolumeMembers, random_profile};
use seekwise_disk::time::{Instant, Span};

fn spec(level: RaidLevel, members: u32, region_sectors: u64, delay_ms: u64) -> ArraySpec {
    ArraySpec {
        members,
        shares: vec![VolumeShare { level, permille: 1000 }],
        chunk: 16,
        depth: 64,
        queue: Discipline::plain(Policy::Fcfs),
        balance: ReadBalance::Nearest,
        parity: ParityWrite::Fewest,
        stripe_cache: 256,
        sync_speed: SyncSpeed::LINUX,
        sync_policy: SyncPolicy::Md,
        lost: 0,
        bitmap: Some(BitmapSpec { chunk: Some(region_sectors), delay: Span::from_millis(delay_ms) }),
    }
}

fn array(spec: &ArraySpec, drive: &SmallDrive) -> LayeredDevice<Array> {
    let member = |index: u32| SmallDrive { phase: u64::from(index) << 61, ..drive.clone() }.drive();
    let members = (0..spec.members).map(|index| Box::new(member(index)) as Box<dyn Device>);
    Array::build_above(spec.clone(), Box::new(Ports::new(members.collect())))
}

fn write(tag: u32, lba: u64, sectors: u32) -> Request {
    let stamp = u64::from(tag) + 1;
    Request { tag, unit: 0, origin: 0, op: Op::Write, flags: Flags::NONE, lba, sectors, stamp }
}

fn run_request(device: &mut dyn Device, now: Instant, request: Request) -> Completion {
    device.submit(now, request).expect("room");
    device.proceed(Instant::FAR).expect("an answer")
}

fn plus_ms(at: Instant, ms: u64) -> Instant {
    at + Span::from_millis(ms)
}

/// On a mirror of drives without a cache, the first write to a region waits for a page of the bitmap; the next write to it
/// does not. Three passes later the bit is cleared, with one more page, and a write to the region waits again.
#[test]
fn the_first_write_to_a_region_pays_for_its_bit() {
    let mut device = array(&spec(RaidLevel::Raid1, 2, 64, 100), &SmallDrive::default());
    let waited = |answer: &Completion| answer.parts.get(Part::Driver) > Span::ZERO;
    let first = run_request(&mut device, Instant::ZERO, write(0, 0, 8));
    assert!(waited(&first) && first.effort.commands == 2, "the bitmap's commands do not count for the write");
    let same_region = run_request(&mut device, first.finished, write(1, 32, 8));
    assert!(!waited(&same_region));
    let other_region = run_request(&mut device, same_region.finished, write(2, 64, 8));
    assert!(waited(&other_region));
    assert_eq!(device.layer().bitmap_counts(), BitmapCounts { pages_written: 2, resync_regions: 0 });
    let after_passes = plus_ms(other_region.finished, 1000);
    device.handle_timeout(after_passes);
    let both_cleared = BitmapCounts { pages_written: 3, resync_regions: 0 };
    assert_eq!(device.layer().bitmap_counts(), both_cleared, "both bits in one page");
    let first_region_again = run_request(&mut device, after_passes, write(3, 0, 8));
    assert!(waited(&first_region_again));
    assert_eq!(device.layer().bitmap_counts().pages_written, 4);
}

/// A drive with a cache gets a flush, the page, and a flush; a SCSI drive gets a flush, and the page with FUA.
#[test]
fn a_page_goes_past_the_members_caches() {
    use seekwise_disk::block::Queuing;
    for (queuing, flushes) in [(Queuing::Scsi, 2), (Queuing::Ncq, 4)] {
        let mut drive = SmallDrive::default().with_buffer(4, 64).with_write_back(2);
        (drive.link.queuing, drive.link.fua) = (queuing, true);
        let mut device = array(&spec(RaidLevel::Raid1, 2, 64, 100_000), &drive);
        run_request(&mut device, Instant::ZERO, write(0, 0, 8));
        assert_eq!(device.drive_log().flushes, flushes, "{queuing:?}, of two drives");
    }
    let mut device = array(&spec(RaidLevel::Raid1, 2, 64, 100_000), &SmallDrive::default());
    run_request(&mut device, Instant::ZERO, write(0, 0, 8));
    assert_eq!(device.drive_log().flushes, 0, "without a cache nothing is flushed");
}

/// A write cache is switched on while the array runs. The next page goes to the medium with FUA: this takes a part of a
/// revolution, not only the time of the link.
#[test]
fn a_page_goes_past_a_cache_that_is_switched_on() {
    let mut drive = SmallDrive::default().with_buffer(4, 64).with_write_back(2);
    (drive.link.queuing, drive.link.fua, drive.cache.write_back) = (seekwise_disk::block::Queuing::Scsi, true, false);
    let mut device = array(&spec(RaidLevel::Raid1, 2, 64, 100_000), &drive);
    let before = run_request(&mut device, Instant::ZERO, write(0, 0, 8));
    assert_eq!(device.drive_log().flushes, 0);
    let cache_on = Control::Set(LayerSetting::WriteBack(true));
    device.control(before.finished, &cache_on).expect("a switch of the drives");
    let answer = run_request(&mut device, before.finished, write(1, 64, 8));
    assert_eq!(device.drive_log().flushes, 2, "before the page, of two drives");
    let waited = answer.parts.get(Part::Driver);
    assert!(waited > Span::from_millis(1), "{waited:?}");
}

/// Writes that come while a page is being written share the next one.
#[test]
fn pending_bits_of_a_page_go_together() {
    let mut device = array(&spec(RaidLevel::Raid5, 3, 64, 100_000), &SmallDrive::default());
    for tag in 0..8 {
        device.submit(Instant::ZERO, write(tag, u64::from(tag) * 128, 8)).expect("room");
    }
    for _ in 0..8 {
        device.proceed(Instant::FAR).expect("an answer");
    }
    assert_eq!(device.layer().bitmap_counts().pages_written, 2);
}

/// Counts of written blocks after cuts.
#[derive(Default)]
struct ComparedBlocks {
    in_clean_regions: usize,
    in_dirty_regions: usize,
    /// Blocks whose members differ.
    differing: usize,
}

/// Cuts the power of a random array during writes, and compares its members in all written blocks.
fn compare_members_after_cut(seed: u64, compared: &mut ComparedBlocks) {
    let rng = &mut Seed(seed).stream("bitmap cut");
    let mut drive = random_profile(rng);
    (drive.weak, drive.firmware.recovery_limit, drive.faults) = (Vec::new(), None, Faults::default());
    let level = [RaidLevel::Raid1, RaidLevel::Raid10, RaidLevel::Raid5, RaidLevel::Raid6][rng.below(4) as usize];
    let region_sectors = [16, 64, 256][rng.below(3) as usize];
    let delay_ms = [5, 30, 200][rng.below(3) as usize];
    let array_spec = spec(level, level.least_members(), region_sectors, delay_ms);
    let mut device = array(&array_spec, &drive);
    device.control(Instant::ZERO, &Control::Set(LayerSetting::Landings(true))).expect("a key");
    let (sectors, mut image, mut written) = (device.limits(0).sectors, SectorImage::new(), Vec::new());
    let end = plus_ms(Instant::ZERO, 50 + rng.below(1500));
    let mut now = Instant::ZERO;
    while now < end {
        // Whole physical sectors; most are near the start.
        let units = if rng.draw_chance(60) { sectors / 40 } else { sectors / 8 - 2 };
        let lba = rng.below(units) * 8;
        let request = write(written.len() as u32, lba, 8 + 8 * rng.below(2) as u32);
        if device.submit(now, request).is_ok() {
            written.push(request);
        }
        let max_pause_us = if rng.draw_chance(5) { 400_000 } else { 20_000 };
        now += Span::from_micros(rng.below(max_pause_us));
        device.handle_timeout(now.min(end));
        while device.poll_completion().is_some() {}
    }
    device.control(end.max(now), &Control::PowerCut).expect("a control");
    while let Some(landing) = device.poll_landing() {
        image.apply_landing(&landing);
    }
    device.control(plus_ms(now, 1), &Control::PowerOn).expect("a control");
    let volume = device.layer().volumes()[0];
    for block in written.iter().flat_map(|write| write.lba..write.end()) {
        let read = |lost| VolumeMembers { image: &image, volume, lost, writes: &written }.read_block(block);
        let are_equal = (0..array_spec.members).all(|member| read(1 << member) == read(0));
        match device.layer().needs_resync(block) {
            true => compared.in_dirty_regions += 1,
            false => compared.in_clean_regions += 1,
        }
        compared.differing += usize::from(!are_equal);
        assert!(
            are_equal || device.layer().needs_resync(block),
            "seed {seed}: block {block} differs, its region is clean"
        );
    }
}

#[test]
fn after_a_cut_members_differ_only_where_the_bitmap_is_dirty() {
    let mut compared = ComparedBlocks::default();
    (0..400).for_each(|seed| compare_members_after_cut(seed, &mut compared));
    let ComparedBlocks { in_clean_regions: clean, in_dirty_regions: dirty, differing } = compared;
    assert!(clean > 1000 && dirty > 1000 && differing > 100, "{clean} clean, {dirty} dirty, {differing} differ");
}
