//! Laws of the generator that need its private state: the short way draws as the long one does, and syncs count until
//! they are seen.

use super::*;
use crate::workload::job::{Distribution, EngineKind, IoEngine, RandomRepeat, StridedZones, VerifyBacklog};
use crate::workload::tausworthe::DEFAULT_SEED;
use crate::workload::zoned::JobZones;

const BLOCK: u64 = 4096;

/// Requests of a block over the first 16 of the device and half of another.
fn pattern(direction: Direction, random: u8) -> FioPattern {
    FioPattern {
        direction,
        random: [random; 3],
        mix_read: 50,
        modifier: None,
        blocks: [(); 3].map(|()| BlockSizes::Fixed(BLOCK)),
        align: [0; 3],
        sizes_by_randomness: false,
        files: alloc::vec![Region { start: 0, bytes: 16 * BLOCK + BLOCK / 2 }],
        file_service: FileService::RoundRobin,
        bytes: 16 * BLOCK + BLOCK / 2,
        requests: None,
        loops: 1,
        distribution: Distribution::Uniform,
        random_map: random > 0,
        generator: Generator::Tausworthe,
        seed: DEFAULT_SEED,
        repeat: RandomRepeat::Passes,
        syncs: Syncs::default(),
        flush_at_end: false,
        write_through: false,
        strided: None,
        zoned: None,
        sizes_alike: false,
        done_for_good: false,
        verify: false,
        backlog: None,
        engine: IoEngine::default(),
        priority: [0; 3],
    }
}

fn stream(pattern: &FioPattern, time_based: bool) -> FioStream {
    FioStream::new(pattern, 512, Seeds::new(pattern.seed, pattern.repeat, 1, 0), time_based)
}

fn next_step(stream: &mut FioStream) -> FioStep {
    stream.next_step(&mut ZoneContext { job_zones: &mut JobZones::default(), in_flight: 0, quiesces: false })
}

/// All steps to the end, 150 at most; the ramp ends after `ramp_steps`.
fn steps(mut stream: FioStream, ramp_steps: usize) -> Vec<FioStep> {
    let mut steps = Vec::new();
    while steps.len() < 150 {
        if steps.len() == ramp_steps {
            stream.forget_counts();
        }
        let step = next_step(&mut stream);
        steps.push(step);
        if step == FioStep::End || (step == FioStep::Pass && !stream.begin_pass()) {
            break;
        }
    }
    steps
}

#[test]
fn the_short_way_draws_what_the_long_way_does() {
    let sequential = pattern(Direction::Read, 0);
    let (mapped, free) =
        (pattern(Direction::Read, 100), FioPattern { random_map: false, ..pattern(Direction::Read, 100) });
    let queued = IoEngine { kind: EngineKind::AllQueued, ..IoEngine::default() };
    let cases = [sequential, mapped, free.clone()].into_iter().flat_map(|pattern| {
        [
            pattern.clone(),
            FioPattern { loops: 3, ..pattern.clone() },
            FioPattern { loops: 3, engine: queued, ..pattern.clone() },
            FioPattern { loops: 3, repeat: RandomRepeat::Runs, flush_at_end: true, ..pattern.clone() },
            FioPattern { requests: Some(11), loops: 2, ..pattern.clone() },
            FioPattern { bytes: 5 * BLOCK, ..pattern.clone() },
            FioPattern { bytes: 40 * BLOCK, engine: queued, ..pattern },
        ]
    });
    let others = [
        FioPattern { align: [512; 3], ..free.clone() },
        FioPattern { distribution: Distribution::Zoned(alloc::vec![(60, 10), (40, 90)]), ..free },
        FioPattern { generator: Generator::Lfsr, loops: 2, ..pattern(Direction::Read, 100) },
    ];
    for pattern in cases.chain(others) {
        for direction in [Direction::Read, Direction::Write, Direction::Trim] {
            let pattern = FioPattern { direction, ..pattern.clone() };
            for (time_based, ramp) in [(false, 0), (false, 6), (true, 0), (true, 6)] {
                let short = stream(&pattern, time_based);
                assert!(short.plain.is_some(), "{pattern:?}");
                let long = FioStream { plain: None, ..short.clone() };
                assert_eq!(steps(short, ramp), steps(long, ramp), "{time_based} {ramp} {pattern:?}");
            }
        }
    }
}

#[test]
fn only_one_file_one_direction_and_one_size_take_the_short_way() {
    let (sequential, random) = (|| pattern(Direction::Write, 0), || pattern(Direction::Write, 100));
    let range = BlockSizes::Range { min: BLOCK, max: 2 * BLOCK, unaligned: false };
    let half = Region { start: 0, bytes: 8 * BLOCK };
    let long = [
        pattern(Direction::Mixed, 100),
        pattern(Direction::TrimWrite, 100),
        // Random places in some requests, or in other directions only.
        FioPattern { random: [50; 3], ..random() },
        FioPattern { random: [100, 0, 0], ..random() },
        FioPattern { random: [100, 50, 0], ..random() },
        FioPattern { blocks: [(); 3].map(|()| range.clone()), ..random() },
        FioPattern { sizes_by_randomness: true, ..random() },
        FioPattern { files: alloc::vec![half, Region { start: 16 * BLOCK, ..half }], ..sequential() },
        // Places between those of the map.
        FioPattern { align: [512; 3], ..random() },
        FioPattern { modifier: Some(RwModifier::Run(4)), ..random() },
        FioPattern { modifier: Some(RwModifier::Skip(4096)), ..sequential() },
        FioPattern { syncs: Syncs { fdatasync: 3, ..Syncs::default() }, ..sequential() },
        FioPattern { strided: Some(StridedZones { range: BLOCK, size: BLOCK, skip: BLOCK }), ..sequential() },
        FioPattern { verify: true, backlog: Some(VerifyBacklog { every: 1, batch: 1 }), ..sequential() },
        FioPattern { done_for_good: true, ..sequential() },
    ];
    for pattern in long {
        assert!(stream(&pattern, false).plain.is_none(), "{pattern:?}");
    }
}

#[test]
fn a_sync_counts_among_the_requests_until_it_is_seen() {
    let write = |block| FioStep::Request(FioRequest { direction: WRITE, start: block * BLOCK, bytes: BLOCK });
    let (sync, two) = (FioStep::Sync(FioSync::Flush), FioPattern { requests: Some(2), ..pattern(Direction::Write, 0) });
    let syncs = Syncs { fsync: 1, ..Syncs::default() };
    for (syncs, seen, expected) in [
        (Syncs::default(), false, [write(0), write(1), FioStep::End]),
        // With the sync there are two: the pass is over, the job is not.
        (syncs, false, [write(0), sync, FioStep::Pass]),
        (syncs, true, [write(0), sync, write(1)]),
    ] {
        let mut stream = stream(&FioPattern { syncs, ..two.clone() }, false);
        let steps = [(); 3].map(|()| {
            let step = next_step(&mut stream);
            if seen && step == sync {
                stream.note_seen_completion(true);
            }
            step
        });
        assert_eq!(steps, expected, "{syncs:?}, seen: {seen}");
    }
}
