//! Power cuts: the state at any instant, computed from a run without a cut, equals the state that a cut at that instant
//! leaves; and that state obeys the laws of durability.

use std::collections::HashMap;

use seekwise_disk::block::{Control, Landing, LandingKind, MemberRole, cut};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{
    ClientHabits, CutTally, DriveFault, DurabilityChecker, LossCounts, MemberImages, PowerFailure, Promise,
    SectorImage, SmallStack, TestClient, cuts, stack_to_cut,
};
use seekwise_disk::time::{Instant, Span};

fn client(stack: &SmallStack, seed: u64) -> TestClient {
    let mut rng = Seed(seed).stream("client");
    let device = stack.build();
    let limits = device.limits(0);
    let habits = ClientHabits::random(&limits, &mut rng);
    let checker = DurabilityChecker::new(Promise::from_limits(&limits, stack.drive.cut_sector))
        .for_copy(&stack.client_sight(), 0);
    TestClient::new(device, checker, habits, rng)
}

/// Instants of a run for cuts: random ones, and at, before and after events.
fn instants(whole: &TestClient, end: Instant, rng: &mut Rng) -> Vec<Instant> {
    let mut instants: Vec<Instant> = (0..6).map(|_| Instant::from_nanos(rng.below(end.nanos()))).collect();
    for _ in 0..6 {
        let Some(landing) = whole.landings.get(rng.below(whole.landings.len().max(1) as u64) as usize) else { break };
        let within = landing.to.since(landing.from).nanos();
        let share = within * rng.below(u64::from(landing.sectors) + 1) / u64::from(landing.sectors);
        for at in [landing.from.nanos(), landing.to.nanos(), landing.from.nanos() + share] {
            instants.push(Instant::from_nanos((at + rng.below(3)).saturating_sub(1)).min(end));
        }
    }
    instants
}

/// What each place holds for the caller: by role and block, the stamp, the number, and whether it can be read.
fn places(landings: &[Landing]) -> HashMap<(MemberRole, u64), (u64, u64, LandingKind)> {
    let on_medium = landings.iter().filter(|it| matches!(it.kind, LandingKind::Landed | LandingKind::Torn));
    let sectors = on_medium.flat_map(|it| (it.lba..it.end()).map(move |lba| ((it.role, lba), it)));
    sectors.map(|(place, it)| (place, (it.stamp, it.number, it.kind))).collect()
}

fn offline_is_real(seed: u64) {
    let mut stack = stack_to_cut(&mut Seed(seed).stream("stack"));
    // Data that survive a cut without being on the medium are not in the landings.
    (stack.drive.protected, stack.drive.cache.flash_sectors) = (false, 0);
    let unit = u64::from(stack.drive.physical_sector) / 512;
    let end = Instant::ZERO + Span::from_millis(400);
    let mut whole = client(&stack, seed);
    whole.keep_landings();
    whole.work_until(end);
    // A landing in progress at the end is reported when it is over.
    whole.wait_until(end + Span::from_secs(2));
    for at in instants(&whole, end, &mut Seed(seed).stream("instants")) {
        let mut cut_off = client(&stack, seed);
        cut_off.keep_landings();
        cut_off.work_until(at);
        cut_off.control(&Control::PowerCut);
        let (mut told, mut left) = (SectorImage::new(), Vec::new());
        cut::report_fates(&whole.landings, at, unit, stack.drive.cut_sector, |part| left.push(part));
        left.iter().for_each(|part| told.apply_landing(part));
        assert_eq!(told, cut_off.image, "seed {seed}, cut at {at:?}\n{stack:?}");
        assert_eq!(places(&left), places(&cut_off.landings), "seed {seed}, cut at {at:?}\n{stack:?}");
        let mut copies = MemberImages::new(&stack);
        copies.apply_landings(&left);
        if let Err(breach) = copies.judge_copies(&mut cut_off, PowerFailure::Cut) {
            panic!("seed {seed}, cut at {at:?}: {breach:?}\n{stack:?}");
        }
    }
}

/// One run with landings on gives the result of a cut at any instant.
#[test]
fn a_cut_is_answered_without_cutting() {
    for seed in 0..crate::drawn(300) {
        offline_is_real(seed);
    }
}

/// The law above would hold for a client that never gets anything onto the medium; this one does.
#[test]
fn the_cut_runs_write() {
    let landed = |seed| {
        let mut whole = client(&stack_to_cut(&mut Seed(seed).stream("stack")), seed);
        whole.keep_landings();
        whole.work_until(Instant::ZERO + Span::from_millis(400));
        whole.landings.iter().filter(|landing| landing.kind == LandingKind::Landed).count()
    };
    let counts: Vec<usize> = (0..crate::drawn(300)).map(landed).collect();
    let some = counts.iter().filter(|&&count| count > 10).count();
    assert!(some > crate::drawn(200) as usize, "runs with more than ten landings: {some}");
}

/// A part of `cargo xtask cuts`: how many stacks, and how many power failures of each.
const STACKS: u64 = 20;
const EACH: u64 = 250;

#[test]
fn honest_drives_lose_nothing_durable() {
    let mut sum = CutTally::default();
    for seed in 0..crate::drawn(STACKS) {
        sum.add(&cuts(seed, EACH, None));
    }
    assert_eq!(sum.first, None);
    let LossCounts { acknowledged, durable, lost } = sum.toll;
    assert!(
        durable > crate::drawn(5000) && lost > crate::drawn(500) && acknowledged > durable,
        "the cuts mattered: {:?}",
        sum.toll
    );
}

/// Found in 20,000 stacks: a write behind blocks that a read had brought counted as the growth of a stream and let a later
/// one pass, though destaged in the order of arrival; the first drive verifies, the second writes late.
#[test]
fn writes_behind_what_was_read_keep_the_order_of_arrival() {
    for seed in [4_088, 17_162] {
        let tally = cuts(seed, 5, None);
        assert_eq!(tally.first, None, "seed {seed}");
        assert!(tally.toll.lost > 0, "seed {seed}: {:?}", tally.toll);
    }
}

/// Found in 60,000 stacks: the acknowledgements of two writes in flight together may come the other way round, finished on
/// two cores, or where one's data fit into a gap on the link; what the drive wrote in the order of their commands is no breach.
#[test]
fn writes_in_flight_together_have_no_order() {
    for seed in [29_929, 324_902] {
        assert_eq!(cuts(seed, 10, None).first, None, "seed {seed}");
    }
}

/// Found in 60,000 stacks: a write of blocks on their way to the medium joined a run that had become dirty before those,
/// and a buffer that outlives the cut was written out in that order, the older blocks last. One of flash, one of a
/// capacitor.
#[test]
fn a_saved_buffer_leaves_the_newest_of_what_was_on_its_way() {
    for (seed, each) in [(213_505, 10), (251_551, 10), (10_486, 5)] {
        let tally = cuts(seed, each, None);
        assert_eq!(tally.first, None, "seed {seed}");
    }
}

#[test]
fn every_fault_is_caught() {
    let stacks = crate::drawn(STACKS);
    for (fault, name) in DriveFault::ALL {
        let caught = (0..stacks).filter(|&seed| cuts(seed, EACH, Some(fault)).broken_count() > 0).count() as u64;
        assert!(caught >= stacks * 9 / 10, "{name} in {caught} of {stacks} stacks");
    }
}
