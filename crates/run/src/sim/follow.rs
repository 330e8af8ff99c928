//! Records the beginning of a run for a picture: its first counted requests, the movements of the arms meanwhile, and
//! what waited at the device. The requests are those of any other run with that seed; only the run ends earlier.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use seekwise_disk::block::{Accounting, Completion, Limits, Op, Request, Source, SourcePoll};
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

/// Most movements, and most accesses, kept from before the first counted request is done.
const KEPT_BEFORE: usize = 1024;

/// Most kept from then on. A page shows 1,600; the rest is room for movements that began earlier and ended
/// late. The limit matters for drives that move millions of times by themselves while a cache answers the requests.
const KEPT_SINCE: usize = 8192;

/// The longest run after these requests, until those that waited meanwhile are done as well. A queue of 256 empties in
/// less.
const LONGEST_AFTER: Span = Span::from_secs(5);

/// The beginning of a run: its first requests, the movements of the arms, and the queue.
#[derive(Clone, Debug, Default)]
pub struct RunTimeline {
    /// The counted requests, in the order in which they completed.
    pub records: Vec<Record>,
    /// The movements, in the order in which they ended.
    pub movements: Vec<Movement>,
    /// The reads and writes of the device's first unit, counted or not: in the order in which they completed, then those
    /// that the recording did not see done, by tag.
    pub accesses: Vec<DeviceAccess>,
}

/// A read or a write that its source issued to the device.
#[derive(Clone, Copy, Debug)]
pub struct DeviceAccess {
    pub request: Request,
    /// Its number among the accesses, in the order of issue.
    pub number: u64,
    /// When it was issued: first offered to the device.
    pub issued: Instant,
    /// `None` if the recording ended before.
    pub completion: Option<Completion>,
}

/// Accesses that were issued: those in flight by tag, the others in the order in which they completed.
#[derive(Debug, Default)]
struct AccessLog {
    issued: u64,
    in_flight: BTreeMap<u32, DeviceAccess>,
    completed: Vec<DeviceAccess>,
}

impl AccessLog {
    fn note_issue(&mut self, issued: Instant, request: Request) {
        if request.unit == 0 && matches!(request.op, Op::Read | Op::Write) {
            let number = self.issued;
            self.in_flight.insert(request.tag, DeviceAccess { request, number, issued, completion: None });
            self.issued += 1;
        }
    }

    fn note_completion(&mut self, completion: &Completion) {
        if let Some(access) = self.in_flight.remove(&completion.tag) {
            self.completed.push(DeviceAccess { completion: Some(*completion), ..access });
        }
    }

    /// True if an access that was issued before `end` is in flight.
    fn has_open_before(&self, end: Instant) -> bool {
        self.in_flight.values().any(|access| access.issued < end)
    }

    fn take_all(&mut self) -> Vec<DeviceAccess> {
        let mut all = std::mem::take(&mut self.completed);
        all.extend(std::mem::take(&mut self.in_flight).into_values());
        all
    }
}

/// A source whose accesses are logged.
struct LoggedSource<S> {
    source: S,
    log: Rc<RefCell<AccessLog>>,
}

impl<S: Source> Source for LoggedSource<S> {
    fn next(&mut self, now: Instant) -> SourcePoll {
        let poll = self.source.next(now);
        if let SourcePoll::Request(request) = poll {
            self.log.borrow_mut().note_issue(now, request);
        }
        poll
    }

    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        self.log.borrow_mut().note_completion(completion);
        self.source.complete(now, completion)
    }

    fn handle_refusal(&mut self, now: Instant) {
        self.source.handle_refusal(now);
    }

    fn awaits_completion(&self, now: Instant) -> bool {
        self.source.awaits_completion(now)
    }
}

/// Keeps at most `KEPT_BEFORE` of what was logged before the first counted request was done, and `KEPT_SINCE` from then on.
fn limit_log<T>(log: &mut Vec<T>, has_records: bool) {
    if !has_records && log.len() > KEPT_BEFORE {
        log.drain(..log.len() - KEPT_BEFORE);
    }
    log.truncate(KEPT_BEFORE + KEPT_SINCE);
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
    let (log, accesses) = (MovementLog::default(), Rc::new(RefCell::new(AccessLog::default())));
    let make_logged = |limits: &Limits| Ok(LoggedSource { source: make_source(limits)?, log: Rc::clone(&accesses) });
    let mut engine = join_source(stack.build_logged(seed, &log), make_logged, RunCutoff::after_requests(issue_limit))?;
    let mut records: Vec<Record> = Vec::new();
    let mut changes = stack.changes.iter().enumerate().peekable();
    let (mut at, mut end) = (Instant::ZERO, None);
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
        limit_log(&mut log.borrow_mut(), !records.is_empty());
        limit_log(&mut accesses.borrow_mut().completed, !records.is_empty());
        if records.len() >= record_count && end.is_none() {
            end = records.iter().map(|record| record.completion.finished).max();
        }
        if engine.is_over() || end.is_some_and(|end| may_stop(at, end, &accesses.borrow())) {
            break;
        }
        // Time without events is skipped. The step never passes the next change.
        let step = engine.poll_timeout().unwrap_or(Instant::FAR).max(at + STEP);
        at = changes.peek().map_or(Instant::FAR, |(_, change)| change.at).min(step);
    }
    let accesses = accesses.borrow_mut().take_all();
    Ok(RunTimeline { records, movements: log.take(), accesses })
}

/// True if at `at` all is recorded of a picture that ends at `end`.
fn may_stop(at: Instant, end: Instant, accesses: &AccessLog) -> bool {
    at >= end + AFTER && (at >= end + LONGEST_AFTER || !accesses.has_open_before(end))
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
            let accesses = followed.accesses.iter().map(|access| access.completion.unwrap().finished);
            let finished = accesses.zip(&followed.records);
            assert!(finished.clone().all(|(finished, record)| finished == record.completion.finished), "{most}");
            assert_eq!(finished.count(), most.min(40));
        }
    }

    #[test]
    fn what_waits_at_the_end_of_the_picture_is_recorded() {
        let stack = Stack::bare(SmallDrive::default().profile());
        let text = "[a]\nfilename=/dev/sdb\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nnumber_ios=40\nramp_time=100ms\n\
            ioengine=libaio\niodepth=4\n";
        let (job, _) = fio::parse("a.fio", text, &FioContext::bare()).unwrap().job(stack.sectors()).unwrap();
        let followed =
            record_run_beginning(&stack, Work::from(job).make_source(Seed(1)), Seed(1), 5, u64::MAX).unwrap();
        let end = followed.records.last().unwrap().completion.finished;
        let waiting = followed.accesses.iter().filter(|access| {
            access.issued <= end && access.completion.is_none_or(|completion| completion.finished > end)
        });
        // The drive takes one at a time: it has the next, and refuses the one after it, which keeps the others back.
        assert_eq!((followed.records.len(), waiting.count()), (5, 2));
        let before = followed.records[0].completion.finished;
        let uncounted = |access: &&DeviceAccess| access.completion.is_some_and(|it| it.finished < before);
        assert!(followed.accesses.iter().filter(uncounted).count() > 3, "those of the ramp are there");
    }
}
