//! Records the beginning of a run for a picture: its first counted requests, and the movements of the arms meanwhile.
//! The requests are those of any other run with that seed; only the run ends earlier.

use seekwise_disk::block::{Limits, Source};
use seekwise_disk::drive::movement::{Movement, MovementLog};
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};

use super::apply_change;
use crate::cutoff::RunCutoff;
use crate::outcome::{RunError, join_source};

/// Virtual time between two checks whether enough requests are done: short, so that little is run in vain, but longer
/// than a request, which takes milliseconds if the arm moves.
const STEP: Span = Span::from_nanos(10_000_000);

/// How long the run goes on after the last of these requests. A movement is logged when it ends, and the longest
/// accesses, a buffer or a band of tracks written in one go, take some hundred milliseconds.
const AFTER: Span = Span::from_secs(1);

/// Most movements kept from before the first counted request is done.
const KEPT_BEFORE: usize = 1024;

/// Most movements kept from then on. A page shows 1,600; the rest is room for movements that began earlier and ended
/// late. The limit matters for drives that move millions of times by themselves while a cache answers the requests.
const KEPT_SINCE: usize = 8192;

/// The beginning of a run: its first requests and the movements of the arms.
#[derive(Clone, Debug, Default)]
pub struct RunTimeline {
    /// The requests, in the order in which they completed.
    pub records: Vec<Record>,
    /// The movements, in the order in which they ended.
    pub movements: Vec<Movement>,
}

/// Runs `make_source` on `stack` until `record_count` counted requests are done and the movements of the arms for them
/// have ended, or until `issue_limit` requests were issued.
pub fn record_run_beginning<S: Source>(
    stack: &Stack,
    make_source: impl FnOnce(&Limits) -> Result<S, RunError>,
    seed: Seed,
    record_count: usize,
    issue_limit: u64,
) -> Result<RunTimeline, RunError> {
    let log = MovementLog::default();
    let mut engine = join_source(stack.build_logged(seed, &log), make_source, RunCutoff::after_requests(issue_limit))?;
    let mut records: Vec<Record> = Vec::new();
    let mut changes = stack.changes.iter().enumerate().peekable();
    let (mut at, mut end) = (Instant::ZERO, Instant::FAR);
    loop {
        // A cache may answer a million requests in a step.
        engine.run(at, &mut |record| {
            if records.len() < record_count {
                records.push(*record);
            }
        })?;
        while let Some((index, change)) = changes.next_if(|(_, change)| change.at <= at) {
            apply_change(engine.device_mut(), index, change, at)?;
        }
        let mut movements = log.borrow_mut();
        if records.is_empty() && movements.len() > KEPT_BEFORE {
            let excess = movements.len() - KEPT_BEFORE;
            movements.drain(..excess);
        }
        movements.truncate(KEPT_BEFORE + KEPT_SINCE);
        if records.len() >= record_count {
            end = records.iter().map(|record| record.completion.finished).max().unwrap_or(at) + AFTER;
        }
        if engine.is_over() || at >= end {
            break;
        }
        // Time without events is skipped. The step never passes the next change.
        let step = engine.poll_timeout().unwrap_or(Instant::FAR).max(at + STEP);
        at = changes.peek().map_or(Instant::FAR, |(_, change)| change.at).min(step);
    }
    Ok(RunTimeline { records, movements: log.take() })
}

#[cfg(test)]
mod tests {
    use seekwise_disk::testing::SmallDrive;
    use seekwise_formats::fio::{self, FioContext};

    use super::*;
    use crate::sim::run_source;
    use crate::work::Work;

    #[test]
    fn a_recorded_beginning_is_that_of_the_whole_run() {
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
            let followed = record_run_beginning(&stack, work.make_source(Seed(1)), Seed(1), most, u64::MAX).unwrap();
            assert!(followed.records.iter().map(done).eq(all.iter().copied().take(most)), "{most}");
            assert!(!followed.movements.is_empty(), "{most}");
        }
    }
}
