//! fio's requests and their instants, worked out by hand from its rules.

use super::device::{Issued, Run, device_limits, fio_pattern, job_of_one, run_job};
use super::eight_zones;
use seekwise_disk::block::Op;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_work::workload::{
    BlockSizes, Direction, EngineKind, FioPattern, Flow, IoEngine, StridedZones, Syncs, VerifyBacklog, Workload,
    WorkloadFault, Zoned,
};

/// Bytes of a block.
const BLOCK: u64 = 4096;

/// Numbers of the blocks at which the requests begin.
fn block_numbers(run: &Run) -> Vec<u64> {
    run.issued.iter().map(|issued| issued.lba / 8).collect()
}

/// A letter for each request.
fn operation_letters(run: &Run) -> String {
    let letter = |op: Op| match op {
        Op::Read => 'r',
        Op::Write => 'w',
        Op::Flush => 'f',
        _ => 't',
    };
    run.issued.iter().map(|issued| letter(issued.op)).collect()
}

/// Microseconds at which the requests are issued.
fn issue_micros(run: &Run) -> Vec<u64> {
    run.issued.iter().map(|issued| issued.at.nanos() / 1000).collect()
}

/// The fault of a job with this pattern.
fn job_fault(pattern: FioPattern) -> Option<WorkloadFault> {
    Workload::new(&job_of_one(pattern), &device_limits(false), Seed(0)).err().map(|error| error.fault)
}

#[test]
fn a_share_of_more_than_all_is_told() {
    let whole = || FioPattern { mix_read: 100, priority: [100; 3], ..fio_pattern(Direction::Mixed, 100, 1 << 20) };
    assert_eq!(job_fault(whole()), None);
    assert_eq!(job_fault(FioPattern { mix_read: 101, ..whole() }), Some(WorkloadFault::Shares("reads and writes")));
    for direction in 0..3 {
        let mut shares = [100; 3];
        shares[direction] = 101;
        assert_eq!(job_fault(FioPattern { random: shares, ..whole() }), Some(WorkloadFault::Shares("random places")));
        assert_eq!(job_fault(FioPattern { priority: shares, ..whole() }), Some(WorkloadFault::Shares("priorities")));
    }
}

#[test]
fn a_size_is_checked_only_in_directions_that_are_used() {
    let table = [
        (Direction::Read, [true, false, false]),
        (Direction::Write, [false, true, false]),
        (Direction::Trim, [false, false, true]),
        (Direction::Mixed, [true, true, false]),
        (Direction::TrimWrite, [false, true, true]),
    ];
    for (direction, used) in table {
        for (other, used) in used.into_iter().enumerate() {
            let mut pattern = fio_pattern(direction, 0, 1 << 20);
            pattern.blocks[other] = BlockSizes::Fixed(1000);
            let odd = WorkloadFault::Sector { what: "a block", bytes: 1000, sector: 512 };
            assert_eq!(job_fault(pattern), used.then_some(odd), "{direction:?} {other}");
        }
    }
}

#[test]
fn a_mixed_job_keeps_its_share_of_reads() {
    const REQUESTS: u64 = 10_000;
    for share in [0, 10, 25, 50, 75, 90, 100] {
        let pattern =
            FioPattern { mix_read: share, requests: Some(REQUESTS), ..fio_pattern(Direction::Mixed, 0, 400 << 20) };
        let run = run_job(&job_of_one(pattern), Span::ZERO);
        assert_eq!(run.issued.len() as u64, REQUESTS);
        let reads = run.issued.iter().filter(|issued| issued.op == Op::Read).count() as u64;
        let share = u64::from(share);
        let off = reads.abs_diff(REQUESTS * share / 100);
        // Four standard errors.
        assert!(off.pow(2) <= 16 * REQUESTS * share * (100 - share) / 10_000, "{reads} reads at {share} %");
    }
}

#[test]
fn workers_take_turns_with_one_request_each() {
    // A worker without flushes has a shorter way than one with them.
    for flush_at_end in [false, true] {
        let mut job = job_of_one(FioPattern { flush_at_end, ..fio_pattern(Direction::Read, 0, 16 * BLOCK) });
        job.workers[0].depth = 3;
        job.workers = vec![job.workers[0].clone(); 3];
        let run = run_job(&job, Span::from_micros(10));
        let first: Vec<u16> = run.issued[..9].iter().map(|issued| issued.origin).collect();
        assert_eq!(first, [0, 1, 2, 0, 1, 2, 0, 1, 2], "flushes: {flush_at_end}");
    }
}

/// Nine blocks, zones of two. After `size` blocks the next zone begins, `skip` blocks behind the one before; past the
/// end of the file, and in each pass, it is the first one.
#[test]
fn strided_zones_follow_one_another_and_each_pass_begins_with_the_first() {
    for (size, skip, pass) in [
        (2, 1, [0u64, 1, 3, 4, 6, 7, 0, 1, 3]),
        (1, 1, [0, 3, 6, 0, 3, 6, 0, 3, 6]),
        (3, 1, [0, 1, 0, 3, 4, 3, 6, 7, 6]),
        (2, 0, [0, 1, 2, 3, 4, 5, 6, 7, 8]),
    ] {
        let strided = Some(StridedZones { range: 2 * BLOCK, size: size * BLOCK, skip: skip * BLOCK });
        let engine = IoEngine { kind: EngineKind::SyncsHold, ..IoEngine::default() };
        let pattern = FioPattern { strided, engine, loops: 2, ..fio_pattern(Direction::Read, 0, 9 * BLOCK) };
        let run = run_job(&job_of_one(pattern), Span::ZERO);
        assert_eq!(block_numbers(&run), pass.repeat(2), "{size} blocks, {skip} skipped");
    }
}

/// Zones of two blocks with four requests each: both blocks come before either comes again.
#[test]
fn a_strided_zone_is_covered_again_until_it_has_its_bytes() {
    let strided = Some(StridedZones { range: 2 * BLOCK, size: 4 * BLOCK, skip: 0 });
    let engine = IoEngine { kind: EngineKind::SyncsHold, ..IoEngine::default() };
    let run = run_job(
        &job_of_one(FioPattern { strided, engine, ..fio_pattern(Direction::Read, 100, 8 * BLOCK) }),
        Span::ZERO,
    );
    let mut pairs: Vec<Vec<u64>> = block_numbers(&run).chunks(2).map(<[u64]>::to_vec).collect();
    pairs.iter_mut().for_each(|pair| pair.sort_unstable());
    assert_eq!(pairs, [[0, 1], [0, 1], [2, 3], [2, 3]]);
}

/// A file of whole blocks and a half, with every other request in sequence. A pass ends where one of these meets the
/// half block, and the place that fio draws next is not marked in its map, unless a flush comes first. With flushes all
/// passes, whose streams begin anew, therefore have the places of the first.
#[test]
fn a_flush_comes_between_a_pass_and_the_place_that_would_not_be_marked() {
    for size in 4..104 {
        let random = fio_pattern(Direction::Read, 100, size * BLOCK + BLOCK / 2);
        let pattern = FioPattern { random: [50; 3], bytes: 8 * size * BLOCK, flush_at_end: true, ..random };
        let run = run_job(&job_of_one(pattern), Span::ZERO);
        let pass = |pass: &[Issued]| pass.iter().map(|issued| issued.lba).collect();
        let passes: Vec<Vec<u64>> = run.issued.split(|issued| issued.op == Op::Flush).map(pass).collect();
        assert!(passes.len() > 3 && passes.iter().all(|pass| passes[0].starts_with(pass)), "{size} blocks: {passes:?}");
    }
}

/// Sequential writes in a zone of 16 blocks. After so many writes one of them empties the zone first, and is at its
/// beginning. In the last case only writes count that find two blocks written, a 64th of the file.
#[test]
fn a_zone_is_emptied_after_so_many_writes_once_enough_is_written() {
    for (reset_every, reset_threshold, places) in [
        (0, 0, [0, 1, 2, 3, 4, 5, 6, 7]),
        (1, 0, [0, 0, 0, 0, 0, 0, 0, 0]),
        (3, 0, [0, 1, 0, 1, 2, 0, 1, 2]),
        (2, 1_000_000 / 64, [0, 1, 2, 0, 1, 2, 0, 1]),
    ] {
        let zones = Zoned { reset_every, reset_threshold, ..eight_zones(0) };
        let pattern = FioPattern { zoned: Some(zones), bytes: 8 * BLOCK, ..fio_pattern(Direction::Write, 0, 8 << 16) };
        let run = run_job(&job_of_one(pattern), Span::from_micros(10));
        assert_eq!(block_numbers(&run), places, "every {reset_every} beyond {reset_threshold}");
    }
}

#[test]
fn a_worker_opens_no_more_zones_than_it_may_nor_than_the_file_allows() {
    for (most_open, most_open_of_worker, expected) in [(4, 1, 1), (4, 2, 2), (4, 3, 3), (2, 3, 2), (3, 3, 3), (4, 0, 4)]
    {
        let zones = Zoned { most_open_of_worker, ..eight_zones(most_open) };
        let random =
            FioPattern { zoned: Some(zones), random_map: false, ..fio_pattern(Direction::Write, 100, 8 << 16) };
        let run = run_job(&job_of_one(FioPattern { bytes: 192 * BLOCK, ..random }), Span::from_micros(10));
        let (mut ends, mut most) = ([0; 8], 0);
        for issued in &run.issued {
            ends[(issued.lba / 128) as usize] = issued.lba % 128 + u64::from(issued.sectors);
            // A zone closes when it is full.
            most = most.max(ends.iter().filter(|end| (1..128).contains(*end)).count());
        }
        assert_eq!((run.issued.len(), most), (192, expected), "{most_open} {most_open_of_worker}");
    }
}

/// By hand: a worker that is ahead of its share waits for the other, whose zone it must not keep meanwhile.
#[test]
fn a_worker_held_back_by_its_flow_leaves_its_zone_to_the_others() {
    let zones =
        FioPattern { zoned: Some(eight_zones(1)), random_map: false, ..fio_pattern(Direction::Write, 100, 8 << 16) };
    let mut job = job_of_one(FioPattern { bytes: 40 * BLOCK, ..zones });
    job.workers[0].pace.flow = Some(Flow { id: 1, weight: 1, sleep: Span::ZERO });
    job.workers = vec![job.workers[0].clone(); 2];
    let mut issued = [0i32; 2];
    for each in run_job(&job, Span::from_micros(10)).issued {
        issued[usize::from(each.origin)] += 1;
        // fio's count of all begins at one: with one more than the other, a worker is not ahead yet.
        assert!((issued[0] - issued[1]).abs() <= 2, "{issued:?}");
    }
    assert_eq!(issued, [40, 40]);
}

/// By hand: after each two writes both are read back, the rest at the end. Reads are among the requests that
/// `number_ios` allows, except those at the end.
#[test]
fn what_is_read_back_on_the_way_counts_as_requests() {
    for (requests, ops) in [(3, "wwrr"), (4, "wwrr"), (5, "wwrrwr"), (6, "wwrrwwrr"), (9, "wwrrwwrrwr")] {
        let backlog = Some(VerifyBacklog { every: 2, batch: 2 });
        let pattern = FioPattern { verify: true, backlog, ..fio_pattern(Direction::Write, 0, 8 * BLOCK) };
        let run = run_job(&job_of_one(FioPattern { requests: Some(requests), ..pattern }), Span::from_micros(10));
        assert_eq!(operation_letters(&run), ops, "{requests} requests");
        // As far as written, each block is written once and read once.
        let mut places = block_numbers(&run);
        places.sort_unstable();
        let twice: Vec<u64> = (0..ops.len() as u64).map(|place| place / 2).collect();
        assert_eq!(places, twice, "{requests} requests");
    }
}

/// By hand: a file of four blocks is written and read back, which moves eight. Another pass follows if a whole block of
/// `io_size` is left.
#[test]
fn what_is_read_back_counts_towards_the_bytes_to_do() {
    for (bytes, passes) in
        [(5 * BLOCK, 1), (8 * BLOCK, 1), (8 * BLOCK + BLOCK / 2, 1), (9 * BLOCK, 2), (16 * BLOCK, 2), (17 * BLOCK, 3)]
    {
        let pattern = FioPattern { verify: true, bytes, ..fio_pattern(Direction::Write, 0, 4 * BLOCK) };
        let run = run_job(&job_of_one(pattern), Span::from_micros(10));
        assert_eq!(operation_letters(&run), "wwwwrrrr".repeat(passes), "{bytes} bytes");
    }
}

/// By hand: a file of one block has two to do in a pass, for each write is read back at once. The flush shows where a
/// pass ends; the last pass ends with its write, which is read back after the flush.
#[test]
fn what_is_read_back_on_the_way_counts_in_its_pass() {
    let engine = IoEngine { kind: EngineKind::AllQueued, ..IoEngine::default() };
    let backlog = Some(VerifyBacklog { every: 1, batch: 1 });
    let pattern =
        FioPattern { verify: true, backlog, engine, random_map: false, ..fio_pattern(Direction::Write, 100, BLOCK) };
    let run = run_job(&job_of_one(FioPattern { flush_at_end: true, loops: 2, ..pattern }), Span::from_micros(10));
    assert_eq!(operation_letters(&run), "wrfwfr");
}

/// By hand, of depth 8 with groups of four, each taken back whole before the next begins: the count of a group goes on
/// through the reads of the verification.
///
/// Six blocks: four writes, then two, six reads (a group is full after two and after six), and the same again. Five
/// blocks: four writes, then one, five reads (a group is full after three), so that two writes fill the first group of
/// the next pass.
#[test]
fn groups_are_counted_through_the_verification() {
    // So many requests at so many microseconds.
    for (file, at) in [
        (6, [(4, 0), (2, 40), (6, 60), (4, 120), (2, 160), (6, 180)]),
        (5, [(4, 0), (1, 40), (5, 50), (2, 100), (3, 120), (5, 150)]),
    ] {
        let engine = IoEngine { kind: EngineKind::OneGroupAtATime, least: 1, most: 1, low: 0, batch: 4 };
        let pattern = FioPattern { verify: true, engine, loops: 2, ..fio_pattern(Direction::Write, 0, file * BLOCK) };
        let mut job = job_of_one(pattern);
        job.workers[0].depth = 8;
        let run = run_job(&job, Span::from_micros(10));
        let pass = "w".repeat(file as usize) + &"r".repeat(file as usize);
        assert_eq!(operation_letters(&run), pass.repeat(2), "{file} blocks");
        let at: Vec<u64> = at.into_iter().flat_map(|(number, at)| std::iter::repeat_n(at, number)).collect();
        assert_eq!(issue_micros(&run), at, "{file} blocks");
    }
}

/// By hand, of depth 4 with two completions at a time. A call is seen at once, and the depth is left to four writes. A
/// queued sync is seen only with the depth in use: after the first write three are queued, two are taken, and the third
/// leaves room for two writes more; of the next wait it is one of two completions.
#[test]
fn a_range_sync_takes_a_place_in_the_depth_unless_it_is_a_call() {
    for (kind, at) in [(EngineKind::SyncsHold, [0, 0, 0, 0, 20, 20]), (EngineKind::AllQueued, [0, 0, 0, 10, 10, 30])] {
        let engine = IoEngine { kind, least: 2, most: 2, low: 0, batch: 1 };
        let syncs = Syncs { file_range: 1, ..Syncs::default() };
        let mut job = job_of_one(FioPattern { engine, syncs, ..fio_pattern(Direction::Write, 0, 6 * BLOCK) });
        job.workers[0].depth = 4;
        let run = run_job(&job, Span::from_micros(10));
        assert_eq!((operation_letters(&run).as_str(), issue_micros(&run)), ("wwwwww", at.to_vec()), "{kind:?}");
    }
}
