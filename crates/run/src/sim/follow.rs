//! The first requests of a run that count, and what the arms did meanwhile: the same run as any other with that seed,
//! ended when enough is known.

use seekwise_disk::block::{Limits, Source};
use seekwise_disk::drive::movement::{Movement, MovementLog};
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};

use super::apply_change;
use crate::cutoff::RunCutoff;
use crate::outcome::{RunError, join_source};

/// How often is asked whether enough is known: often enough that little is run in vain, and seldom beside the requests
/// of a drive, each of which takes a millisecond or more where the arm moves.
const STEP: Span = Span::from_nanos(10_000_000);

/// How long is run on when enough requests are done: an access is told when it is over, and the longest, a buffer or a band of
/// tracks written in one go, is some hundred milliseconds of passing blocks.
const AFTER: Span = Span::from_secs(1);

/// Movements kept before anything counts: the last of them end when the first requests do.
const BEFORE: usize = 1024;

/// Movements kept from then on. A page shows 1,600; the others are room for what began before the first request was done and
/// ended late. Drives that are busy by themselves make millions while a program's requests are answered by a memory.
const SINCE: usize = 8192;

/// The requests and movements of a run that was followed.
#[derive(Clone, Debug, Default)]
pub struct RunTimeline {
    /// The requests, in the order in which they completed.
    pub records: Vec<Record>,
    /// The movements, in the order in which they ended.
    pub movements: Vec<Movement>,
}

/// Runs `source` on `stack` until `most` counted requests are done and the movements of the arms then are over, or
/// until as many requests were issued as `bound` allows.
pub fn follow_run<S: Source>(
    stack: &Stack,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    seed: Seed,
    most: usize,
    bound: u64,
) -> Result<RunTimeline, RunError> {
    let told = MovementLog::default();
    let mut engine = join_source(stack.build_logged(seed, &told), source, RunCutoff::after_requests(bound))?;
    let mut records: Vec<Record> = Vec::new();
    let mut changes = stack.changes.iter().enumerate().peekable();
    let (mut at, mut end) = (Instant::ZERO, Instant::FAR);
    loop {
        // A memory answers a million in a step.
        engine.run(at, &mut |record| {
            if records.len() < most {
                records.push(*record);
            }
        })?;
        while let Some(change) = changes.next_if(|(_, change)| change.at <= at) {
            apply_change(engine.device_mut(), change, at)?;
        }
        let mut told = told.borrow_mut();
        if records.is_empty() && told.len() > BEFORE {
            let spare = told.len() - BEFORE;
            told.drain(..spare);
        }
        told.truncate(BEFORE + SINCE);
        if records.len() >= most {
            end = records.iter().map(|record| record.completion.finished).max().unwrap_or(at) + AFTER;
        }
        if engine.is_over() || at >= end {
            break;
        }
        // Time in which nothing is to happen is skipped. The first requests are known after the first step.
        let step = engine.poll_timeout().unwrap_or(Instant::FAR).max(at + STEP);
        at = changes.peek().map_or(Instant::FAR, |(_, change)| change.at).min(step);
    }
    Ok(RunTimeline { records, movements: told.take() })
}

#[cfg(test)]
mod tests {
    use seekwise_disk::testing::SmallDrive;
    use seekwise_formats::fio::{self, FioContext};

    use super::*;
    use crate::sim::run_source;
    use crate::work::Work;

    #[test]
    fn a_followed_run_is_the_beginning_of_the_whole_one() {
        let stack = Stack::bare(SmallDrive::default().profile());
        let text = "[a]\nfilename=/dev/sdb\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nnumber_ios=40\n";
        let (job, _) = fio::parse("a.fio", text, &FioContext::bare()).unwrap().job(stack.sectors()).unwrap();
        let work = Work::from(job);
        let done = |record: &Record| (record.request.lba, record.issued, record.completion.finished);
        let mut all = Vec::new();
        let mut note = |record: &Record| all.push(done(record));
        run_source(&stack, work.make_source(Seed(1)), RunCutoff::NEVER, Seed(1), &mut note).unwrap();
        assert_eq!(all.len(), 40);
        for most in [1, 7, 40, 50] {
            let followed = follow_run(&stack, work.make_source(Seed(1)), Seed(1), most, u64::MAX).unwrap();
            assert!(followed.records.iter().map(done).eq(all.iter().copied().take(most)), "{most}");
            assert!(!followed.movements.is_empty(), "{most}");
        }
    }
}
