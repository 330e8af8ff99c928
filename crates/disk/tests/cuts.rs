//! Power cuts: the state at any instant, computed from a run without a cut, equals the state that a cut at that instant
//! leaves; and that state obeys the laws of durability.

use std::collections::HashMap;

use seekwise_disk::block::{Control, Landing, LandingKind, MemberRole, cut};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::testing::{
    ClientHabits, CopyImages, CutTally, DriveFault, DurabilityChecker, LossCounts, PowerFailure, Promise, SectorImage,
    SmallStack, TestClient, random_stack_to_cut, run_cut_case,
};
use seekwise_disk::time::{Instant, Span};

/// A random client of a new device of the stack.
fn random_client(stack: &SmallStack, seed: u64) -> TestClient {
    let mut rng = Seed(seed).stream("client");
    let device = stack.build();
    let limits = device.limits(0);
    let habits = ClientHabits::random(&limits, &mut rng);
    let checker = DurabilityChecker::new(Promise::from_limits(&limits, stack.drive.cut_sector))
        .for_copy(&stack.block_copies(), 0);
    TestClient::new(device, checker, habits, rng)
}

/// Instants of a run for cuts: random ones, and instants at, before and after the events of random landings.
fn draw_cut_instants(landings: &[Landing], end: Instant, rng: &mut Rng) -> Vec<Instant> {
    let mut instants: Vec<Instant> = (0..6).map(|_| Instant::from_nanos(rng.below(end.nanos()))).collect();
    for _ in 0..6 {
        let Some(landing) = landings.get(rng.below(landings.len().max(1) as u64) as usize) else { break };
        let (from_ns, to_ns) = (landing.from.nanos(), landing.to.nanos());
        let sectors_before_cut = rng.below(u64::from(landing.sectors) + 1);
        let within_ns = from_ns + (to_ns - from_ns) * sectors_before_cut / u64::from(landing.sectors);
        for at_ns in [from_ns, to_ns, within_ns] {
            instants.push(Instant::from_nanos((at_ns + rng.below(3)).saturating_sub(1)).min(end));
        }
    }
    instants
}

/// The last landing of each block in each role: its stamp, its number in the array, and its kind.
fn last_landings(landings: &[Landing]) -> HashMap<(MemberRole, u64), (u64, u64, LandingKind)> {
    let on_medium = landings.iter().filter(|it| matches!(it.kind, LandingKind::Landed | LandingKind::Torn));
    let blocks = on_medium.flat_map(|it| (it.lba..it.end()).map(move |lba| ((it.role, lba), it)));
    blocks.map(|(role_and_lba, it)| (role_and_lba, (it.stamp, it.number, it.kind))).collect()
}

/// Computes the result of cuts at several instants from one run, and compares it with runs that are cut there.
fn check_computed_cuts(seed: u64) {
    let mut stack = random_stack_to_cut(&mut Seed(seed).stream("stack"));
    // Landings do not report data that survive a cut in a buffer.
    (stack.drive.protected, stack.drive.cache.flash_sectors) = (false, 0);
    let unit = u64::from(stack.drive.physical_sector) / 512;
    let end = Instant::ZERO + Span::from_millis(400);
    let mut uncut = random_client(&stack, seed);
    uncut.keep_landings();
    uncut.work_until(end);
    // A landing in progress at the end is reported when it is over.
    uncut.poll_until(end + Span::from_secs(2));
    for at in draw_cut_instants(&uncut.landings, end, &mut Seed(seed).stream("instants")) {
        let mut cut_off = random_client(&stack, seed);
        cut_off.keep_landings();
        cut_off.work_until(at);
        cut_off.control(&Control::PowerCut);
        let (mut computed_image, mut computed) = (SectorImage::new(), Vec::new());
        cut::report_fates(&uncut.landings, at, unit, stack.drive.cut_sector, |part| computed.push(part));
        computed.iter().for_each(|part| computed_image.apply_landing(part));
        assert_eq!(computed_image, cut_off.image, "seed {seed}, cut at {at:?}\n{stack:?}");
        assert_eq!(last_landings(&computed), last_landings(&cut_off.landings), "seed {seed}, cut at {at:?}\n{stack:?}");
        let mut images = CopyImages::new(&stack);
        images.apply_landings(&computed);
        if let Err(breach) = images.judge_copies(&mut cut_off, PowerFailure::Cut) {
            panic!("seed {seed}, cut at {at:?}: {breach:?}\n{stack:?}");
        }
    }
}

/// A single run with landings on gives the result of a cut at any instant.
#[test]
fn a_cut_is_answered_without_cutting() {
    for seed in 0..crate::reduced_draws(300) {
        check_computed_cuts(seed);
    }
}

/// The law above would hold for a client whose data never reach the medium; those of this client do.
#[test]
fn the_cut_runs_write() {
    let count_landed = |seed| {
        let mut client = random_client(&random_stack_to_cut(&mut Seed(seed).stream("stack")), seed);
        client.keep_landings();
        client.work_until(Instant::ZERO + Span::from_millis(400));
        client.landings.iter().filter(|landing| landing.kind == LandingKind::Landed).count()
    };
    let counts: Vec<usize> = (0..crate::reduced_draws(300)).map(count_landed).collect();
    let writing_runs = counts.iter().filter(|&&count| count > 10).count();
    assert!(writing_runs > crate::reduced_draws(200) as usize, "runs with more than ten landings: {writing_runs}");
}

/// Stacks, of the cases that `cargo xtask cuts` runs in large numbers.
const STACKS: u64 = 20;

/// Power failures of each stack.
const FAILURES: u64 = 250;

#[test]
fn honest_drives_lose_nothing_durable() {
    let mut sum = CutTally::default();
    for seed in 0..crate::reduced_draws(STACKS) {
        sum.add(&run_cut_case(seed, FAILURES, None));
    }
    assert_eq!(sum.first_breach, None);
    let LossCounts { acknowledged, durable, lost } = sum.losses;
    assert!(
        durable > crate::reduced_draws(5000) && lost > crate::reduced_draws(500) && acknowledged > durable,
        "the cuts mattered: {:?}",
        sum.losses
    );
}

/// Found in 20,000 stacks. A write behind blocks that a read had brought counted as the growth of a stream, so that a later
/// write went before it although the drive destages in the order of arrival. The drive of the first seed verifies writes,
/// that of the second writes late.
#[test]
fn writes_behind_what_was_read_keep_the_order_of_arrival() {
    for seed in [4_088, 17_162] {
        let tally = run_cut_case(seed, 5, None);
        assert_eq!(tally.first_breach, None, "seed {seed}");
        assert!(tally.losses.lost > 0, "seed {seed}: {:?}", tally.losses);
    }
}

/// Found in 60,000 stacks. The acknowledgements of two writes in flight together may come in the other order than their
/// commands: two cores finish them, or the data of one fit into a gap on the link. A drive that writes them in the order of
/// their commands breaks no law.
#[test]
fn writes_in_flight_together_have_no_order() {
    for seed in [29_929, 324_902] {
        assert_eq!(run_cut_case(seed, 10, None).first_breach, None, "seed {seed}");
    }
}

/// Found in 60,000 stacks. A write of blocks on their way to the medium joined a run that had become dirty before those. A
/// buffer that survives the cut was written out in the order of these runs, the older blocks last. Some of these buffers
/// are saved to flash, some by a capacitor.
#[test]
fn a_saved_buffer_leaves_the_newest_blocks_on_the_medium() {
    for (seed, failures) in [(213_505, 10), (251_551, 10), (10_486, 5)] {
        let tally = run_cut_case(seed, failures, None);
        assert_eq!(tally.first_breach, None, "seed {seed}");
    }
}

#[test]
fn every_fault_is_caught() {
    let stacks = crate::reduced_draws(STACKS);
    for (fault, name) in DriveFault::ALL {
        let is_caught = |&seed: &u64| run_cut_case(seed, FAILURES, Some(fault)).breach_count() > 0;
        let caught = (0..stacks).filter(is_caught).count() as u64;
        assert!(caught >= stacks * 9 / 10, "{name} in {caught} of {stacks} stacks");
    }
}
