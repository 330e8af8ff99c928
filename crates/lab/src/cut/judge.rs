//! Puts what a client saw and what the medium received into the order in which it happened, and judges each cut at its
//! instant.
//!
//! A landing is reported when its access has ended, so what a client does meanwhile waits in a queue until then: nothing
//! that reaches the medium before the end of the latest landing can still be unknown. It waits no longer than the longest
//! access, and not at all when no write is outstanding. One drive with one arm: several would have to be put into one
//! order first.

use std::collections::VecDeque;

use seekwise_model::block::{self, Completion, CutSector, Landing, LandingKind, Op, Request, SECTOR, Status};
use seekwise_model::time::{Instant, Span};
use seekwise_targets::sim::{Stack, Witness};

use super::curve::Curve;
use super::image::Image;
use super::risk::{Level, Risk, Run, Standing, union};
use crate::stats::histogram::Histogram;

/// Longer than any access of a drive takes: after so much time without a landing none is under way. The longest command
/// carries 65,536 sectors; a drive would have to write less than 3.4 MB/s, the rate of about 1990.
const LONGEST_ACCESS: Span = Span::from_secs(10);

/// What a drive promises, and what a cut does to the sector under its head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Sectors of a physical sector.
    pub unit: u64,
    /// What becomes of the one under the head.
    pub cut_sector: CutSector,
    /// Writes are acknowledged that a cut can lose.
    pub volatile: bool,
    /// All writes go through a buffer that outlives a cut: what is acknowledged is safe, and no write is cut short.
    pub saves: bool,
}

/// Sectors of one write.
type Part = (Run, u64);

impl Terms {
    /// Of a drive, or of one below a cache in memory: what is there outlives no cut.
    pub fn of(stack: &Stack) -> Terms {
        let profile = &stack.profile;
        let cached = stack.accelerator.is_some_and(|accelerator| accelerator.write_back);
        let cache = &profile.cache;
        let caches = cache.write_back || cache.flash_sectors > 0 || profile.faults.caches_when_off;
        Terms {
            unit: u64::from(profile.physical_sector) / SECTOR,
            cut_sector: profile.cut_sector,
            // The profile's word: a fault is found out by it.
            volatile: cached || cache.write_back && !profile.saves_buffer(),
            saves: !cached && caches && profile.saves_buffer(),
        }
    }

    /// The fate of the sector under the head, as a profile names it.
    pub fn cut_sector_name(self) -> &'static str {
        match self.cut_sector {
            CutSector::Finished => "finished",
            CutSector::Old => "old",
            CutSector::Unreadable => "unreadable",
        }
    }
}

/// Which writes are counted: all that were acknowledged, or those of them of which more was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Acknowledged.
    Acknowledged,
    /// … before a flush was submitted that has completed.
    Flushed,
    /// … and marked to complete only when on the medium (FUA).
    Forced,
    /// Promised to be durable: flushed, forced, or any of a drive without a volatile cache.
    Promised,
}

impl Class {
    /// All of them.
    pub const ALL: [Class; 4] = [Class::Acknowledged, Class::Flushed, Class::Forced, Class::Promised];
}

/// What a cut lost of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Writes of which at least one sector holds something older.
    pub writes: u64,
    /// Bytes that hold something older, each counted once.
    pub bytes: u64,
    /// The time from the earliest acknowledgement of a lost write until the cut.
    pub oldest: Span,
}

/// What one cut left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// When.
    pub at: Instant,
    /// By class, in the order of [`Class::ALL`].
    pub lost: [Lost; 4],
    /// Sectors that cannot be read.
    pub torn: u64,
    /// … that held acknowledged data before.
    pub torn_acknowledged: u64,
    /// … that held data promised to be durable.
    pub torn_promised: u64,
    /// Writes, acknowledged or not, of which some sectors are new on the medium and some are not.
    pub partial: u64,
    /// Writes not yet acknowledged.
    pub in_flight: u64,
    /// … of which all is on the medium nevertheless.
    pub survived: u64,
}

/// What a client does that matters here.
#[derive(Clone, Copy, Debug)]
enum Doing {
    Submit(Request),
    /// A write or flush ended; true: as it should.
    End(Request, bool),
    /// So many sectors of a write were superseded in the buffer.
    Supersede(u64, u64),
}

/// The witness of a run, and the judge of its cuts.
pub struct Judge {
    terms: Terms,
    /// Rising; those before `next` are judged.
    cuts: Vec<Instant>,
    next: usize,
    /// One more cut comes so long after the job's end.
    pause: Option<Span>,
    /// What is not in `risk` yet.
    queue: VecDeque<(Instant, Doing)>,
    queued_writes: usize,
    /// The track run being reported.
    run: Vec<Landing>,
    risk: Risk,
    /// Kept where a cut can destroy what lies on the medium.
    image: Option<Image>,
    curve: Curve,
    /// Where the curve ends.
    horizon: Instant,
    latest: Instant,
    found: Vec<Cut>,
    ages: [Histogram; 4],
    acknowledged: u64,
    flushes: u64,
}

/// What a judge has found.
pub struct Judgement {
    /// Every cut, in order.
    pub cuts: Vec<Cut>,
    /// By class: how long ago each lost write had been acknowledged, over all cuts.
    pub ages: [Histogram; 4],
    /// Data at risk over time.
    pub curve: Curve,
    /// Writes acknowledged in the run.
    pub acknowledged: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// The longest time for which a write was acknowledged and not on the medium.
    pub longest_at_risk: Span,
}

impl Judge {
    /// A judge of cuts at these instants, and of one `pause` after the job's end.
    pub fn new(terms: Terms, mut cuts: Vec<Instant>, pause: Option<Span>) -> Judge {
        cuts.sort_unstable();
        Judge {
            terms,
            cuts,
            next: 0,
            pause,
            queue: VecDeque::new(),
            queued_writes: 0,
            run: Vec::new(),
            risk: Risk::default(),
            image: (terms.cut_sector == CutSector::Unreadable).then(Image::default),
            curve: Curve::default(),
            horizon: Instant::FAR,
            latest: Instant::ZERO,
            found: Vec::new(),
            ages: Default::default(),
            acknowledged: 0,
            flushes: 0,
        }
    }

    /// The run is over and the device has nothing more to report that matters.
    pub fn finish(mut self, end: Instant) -> Judgement {
        self.end(end);
        self.close_run();
        self.settle(self.horizon + Span::from_nanos(1));
        self.draw(self.horizon, self.risk.level());
        Judgement {
            longest_at_risk: self.risk.longest_at_risk(self.horizon),
            cuts: self.found,
            ages: self.ages,
            curve: self.curve,
            acknowledged: self.acknowledged,
            flushes: self.flushes,
        }
    }

    /// The job has ended.
    fn end(&mut self, end: Instant) {
        self.cuts.extend(self.pause.take().map(|pause| end + pause));
        self.horizon = self.cuts.last().map_or(end, |&last| last.max(end));
    }

    fn note(&mut self, now: Instant, doing: Doing) {
        self.close_run();
        self.latest = now;
        self.queue.push_back((now, doing));
        // Without a write outstanding nothing can land that is not known.
        if self.risk.is_idle() && self.queued_writes == 0 {
            self.settle(now);
        }
        self.settle(Instant::from_nanos(now.nanos().saturating_sub(LONGEST_ACCESS.nanos())));
    }

    /// What comes next: a doing (of one instant first) or a cut.
    fn upcoming(&self) -> Option<Instant> {
        let (doing, cut) = (self.queue.front().map(|it| it.0), self.cuts.get(self.next).copied());
        doing.into_iter().chain(cut).min()
    }

    /// Does all that comes before `bound`, during which nothing lands.
    fn settle(&mut self, bound: Instant) {
        while let Some(at) = self.upcoming().filter(|&at| at < bound) {
            self.draw(at, self.risk.level());
            self.step(at, &[]);
        }
    }

    /// The curve goes on from what it was to this level.
    fn draw(&mut self, until: Instant, before: Level) {
        self.curve.until(until.min(self.horizon), before, self.risk.level());
    }

    /// The track run is complete: it lands, and what happened meanwhile happens.
    fn close_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return };
        self.settle(first.from + Span::from_nanos(1));
        self.draw(first.from, self.risk.level());
        while let Some(at) = self.upcoming().filter(|&at| at < last.to) {
            let (passed, under) = passed(&run, at, self.terms);
            self.land(at, &passed);
            self.step(at, &under);
        }
        let all: Vec<Part> = run.iter().map(part).collect();
        self.land(last.to, &all);
        self.run = run;
        self.run.clear();
    }

    fn land(&mut self, at: Instant, parts: &[Part]) {
        let before = self.risk.level();
        for &(run, stamp) in parts {
            if let Some(image) = &mut self.image {
                image.land(run, self.risk.held(stamp, self.terms.volatile));
            }
            self.risk.land(at, run, stamp);
        }
        self.draw(at, before);
    }

    /// The doing or the cut that is due at `at`, with these parts under the head.
    fn step(&mut self, at: Instant, under: &[Part]) {
        match self.queue.front() {
            Some(&(due, doing)) if due == at => {
                self.queue.pop_front();
                self.perform(at, doing);
            }
            _ => {
                self.next += 1;
                self.judge(at, under);
            }
        }
    }

    fn perform(&mut self, at: Instant, doing: Doing) {
        match doing {
            Doing::Submit(request) if request.op == Op::Flush => self.risk.flush(request.stamp),
            Doing::Submit(request) => {
                self.queued_writes -= 1;
                self.risk.submit(&request);
            }
            Doing::End(request, done) if request.op == Op::Flush => {
                self.flushes += u64::from(done);
                self.risk.end_flush(request.stamp, done);
            }
            Doing::Supersede(stamp, sectors) => self.risk.supersede(stamp, sectors),
            Doing::End(request, false) => self.risk.fail(request.stamp),
            Doing::End(request, true) => {
                self.acknowledged += 1;
                if self.terms.saves {
                    self.risk.land(at, (request.lba, request.end()), request.stamp);
                }
                let number = self.risk.acknowledge(at, request.stamp);
                if let Some(image) = &mut self.image {
                    image.acknowledge((request.lba, request.end()), request.stamp, number);
                }
            }
        }
    }

    fn judge(&mut self, at: Instant, under: &[Part]) {
        let besides = if self.terms.cut_sector == CutSector::Finished { under } else { &[] };
        let standing = self.risk.standing(besides);
        let lost = Class::ALL.map(|class| {
            let of_class = standing.iter().filter(|it| self.terms.holds(class, it));
            lost(of_class, at, &mut self.ages[class as usize])
        });
        let missing = |it: &Standing<'_>| it.missing.iter().map(|run| run.1 - run.0).sum::<u64>();
        let flying = || standing.iter().filter(|it| it.write.acknowledged.is_none());
        let partial = |it: &&Standing<'_>| (1..it.write.run.1 - it.write.run.0).contains(&missing(it));
        let (torn, torn_acknowledged, torn_promised) = self.torn(under);
        self.found.push(Cut {
            at,
            lost,
            torn,
            torn_acknowledged,
            torn_promised,
            partial: standing.iter().filter(partial).map(|it| it.write.count).sum(),
            in_flight: flying().count() as u64,
            survived: flying().filter(|it| it.missing.is_empty()).count() as u64,
        });
    }

    /// Sectors that cannot be read; those of them that held acknowledged data, and promised data.
    fn torn(&self, under: &[Part]) -> (u64, u64, u64) {
        let Some(image) = &self.image else { return (0, 0, 0) };
        let sectors = |run: Run| run.1 - run.0;
        let held = || under.iter().flat_map(|&(run, _)| image.held(run));
        let relied_on = held().filter(|(_, held)| held.acknowledged.is_some());
        let promised = held()
            .filter(|(_, held)| held.acknowledged.is_some_and(|number| held.forced || self.risk.is_flushed(number)));
        (
            under.iter().map(|&(run, _)| sectors(run)).sum(),
            relied_on.map(|it| sectors(it.0)).sum(),
            promised.map(|it| sectors(it.0)).sum(),
        )
    }
}

impl Terms {
    /// True when a cut that loses this write loses one of `class`.
    fn holds(self, class: Class, standing: &Standing<'_>) -> bool {
        let forced = standing.write.fua;
        standing.write.acknowledged.is_some()
            && !standing.missing.is_empty()
            && match class {
                Class::Acknowledged => true,
                Class::Flushed => standing.flushed,
                Class::Forced => forced,
                Class::Promised => standing.flushed || forced || !self.volatile,
            }
    }
}

/// Sums lost writes up, and counts their ages.
fn lost<'a>(writes: impl Iterator<Item = &'a Standing<'a>>, at: Instant, ages: &mut Histogram) -> Lost {
    let mut lost = Lost::default();
    let mut runs: Vec<Run> = Vec::new();
    for standing in writes {
        let write = standing.write;
        let last = at.saturating_since(write.acknowledged.map_or(at, |it| it.at));
        let first = at.saturating_since(write.first);
        spread(ages, first, last, write.count);
        lost.writes += write.count;
        lost.oldest = lost.oldest.max(first);
        runs.extend(&standing.missing);
    }
    lost.bytes = union(runs.into_iter()) * SECTOR;
    lost
}

/// Counts `count` ages, evenly from the first to the last, in at most 64 steps.
fn spread(ages: &mut Histogram, first: Span, last: Span, count: u64) {
    const STEPS: u64 = 64;
    if count == 1 {
        return ages.record(last);
    }
    let (steps, all) = (count.min(STEPS), first.saturating_sub(last).nanos());
    for step in 0..steps {
        let share = (count * (step + 1) / steps) - (count * step / steps);
        ages.record_bucket(last + Span::from_nanos(all / (steps - 1) * step), share);
    }
}

fn part(landing: &Landing) -> Part {
    ((landing.lba, landing.end()), landing.stamp)
}

/// The parts of one track run that have passed the head at `at`, in whole physical sectors; and those of the physical
/// sector that is under it and would be cut short.
fn passed(run: &[Landing], at: Instant, terms: Terms) -> (Vec<Part>, Vec<Part>) {
    let (mut passed, mut under) = (Vec::new(), Vec::new());
    // Told apart by a name of its own, whatever becomes of it.
    block::cut::at(run, at, terms.unit, CutSector::Unreadable, |left| match left.kind {
        LandingKind::Landed => passed.push(part(&left)),
        LandingKind::Torn if !terms.saves => under.push(part(&left)),
        _ => {}
    });
    (passed, under)
}

/// True when `next` passes under the head right behind `last`: both are of one track run.
fn follows(last: &Landing, next: &Landing) -> bool {
    last.end() == next.lba && last.to == next.from && last.member == next.member
}

/// Whether the request leaves something on the medium, or sees to it.
fn matters(op: Op) -> bool {
    matches!(op, Op::Write | Op::WriteZeroes | Op::Flush)
}

impl Witness for Judge {
    fn submitted(&mut self, now: Instant, request: &Request) {
        if matters(request.op) {
            self.queued_writes += usize::from(request.op != Op::Flush);
            self.note(now, Doing::Submit(*request));
        }
    }

    fn completed(&mut self, request: &Request, completion: &Completion) {
        if matters(request.op) {
            let now = completion.finished.max(self.latest);
            self.note(now, Doing::End(*request, completion.status == Status::Done));
        }
    }

    fn landed(&mut self, landing: &Landing) {
        if landing.kind == LandingKind::Discarded {
            // It changes nothing by itself: no reason to settle, or to close a track run.
            self.latest = self.latest.max(landing.to);
            self.queue.push_back((self.latest, Doing::Supersede(landing.stamp, u64::from(landing.sectors))));
        }
        if landing.kind != LandingKind::Landed {
            return;
        }
        if self.run.last().is_some_and(|last| !follows(last, landing)) {
            self.close_run();
        }
        self.run.push(*landing);
    }

    fn lingers(&mut self, end: Instant, next: Instant) -> bool {
        self.end(end);
        self.close_run();
        let outstanding = !self.risk.is_idle() || self.queued_writes > 0;
        outstanding && self.next < self.cuts.len() && next <= self.horizon + LONGEST_ACCESS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_model::block::Flags;
    use seekwise_model::record::{Effort, Parts};

    const TERMS: Terms = Terms { unit: 1, cut_sector: CutSector::Unreadable, volatile: true, saves: false };

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn request(op: Op, stamp: u64, lba: u64) -> Request {
        let sectors = if op == Op::Flush { 0 } else { 4 };
        Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp }
    }

    fn done(judge: &mut Judge, request: &Request, from: u64, to: u64) {
        judge.submitted(at(from), request);
        let (submitted, finished, status) = (at(from), at(to), Status::Done);
        judge.completed(
            request,
            &Completion { tag: 0, status, submitted, finished, parts: Parts::default(), effort: Effort::default() },
        );
    }

    fn landing(stamp: u64, lba: u64, from: u64, to: u64) -> Landing {
        let (from, to, kind) = (at(from), at(to), LandingKind::Landed);
        Landing { member: 0, lba, sectors: 4, stamp, from, to, kind }
    }

    fn judge(terms: Terms, cuts: &[u64]) -> Judge {
        Judge::new(terms, cuts.iter().map(|&ns| at(ns)).collect(), None)
    }

    #[test]
    fn a_drive_that_lies_about_flushes_is_found_out() {
        let mut judge = judge(TERMS, &[25, 35, 60]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        done(&mut judge, &request(Op::Flush, 2, 0), 20, 30);
        judge.landed(&landing(1, 100, 40, 48));
        let found = judge.finish(at(50));
        let counts: Vec<[u64; 4]> = found.cuts.iter().map(|cut| cut.lost.map(|lost| lost.writes)).collect();
        assert_eq!(counts, [[1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0]]);
        assert_eq!(found.cuts[1].lost[1], Lost { writes: 1, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!((found.acknowledged, found.flushes, found.longest_at_risk.nanos()), (1, 1, 38));
        assert_eq!(found.ages[0].count(), 2);
    }

    #[test]
    fn without_a_volatile_cache_every_loss_breaks_the_promise() {
        let mut judge = judge(Terms { volatile: false, ..TERMS }, &[15]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        let found = judge.finish(at(20));
        assert_eq!(found.cuts[0].lost.map(|lost| lost.writes), [1, 0, 0, 1]);
    }

    #[test]
    fn what_a_protected_buffer_holds_is_safe() {
        let mut judge = judge(Terms { volatile: false, saves: true, ..TERMS }, &[5, 15, 25]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.landed(&landing(1, 100, 20, 28));
        let found = judge.finish(at(30));
        assert!(found.cuts.iter().all(|cut| cut.lost == [Lost::default(); 4] && cut.torn == 0));
        assert_eq!(found.curve.summary().bytes_max, 0);
    }

    #[test]
    fn a_cut_within_a_landing_finds_a_part_and_tears_what_was_promised() {
        let mut judge = judge(TERMS, &[105]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.landed(&landing(1, 100, 20, 28));
        done(&mut judge, &request(Op::Flush, 2, 0), 30, 40);
        done(&mut judge, &request(Op::Write, 3, 100), 50, 60);
        // Reported late, after a read of the client.
        judge.submitted(at(104), &request(Op::Read, 4, 0));
        judge.landed(&landing(3, 100, 100, 108));
        let cut = judge.finish(at(120)).cuts[0];
        // Two sectors have passed, the third is torn and the fourth still old.
        assert_eq!((cut.lost[0].writes, cut.lost[0].bytes, cut.partial), (1, 1024, 1));
        assert_eq!((cut.torn, cut.torn_acknowledged, cut.torn_promised), (1, 1, 1));
        assert_eq!(cut.lost[3].writes, 0);
    }

    #[test]
    fn what_is_superseded_in_the_cache_is_lost_as_long_as_older_data_show() {
        let mut judge = judge(TERMS, &[35, 55]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        done(&mut judge, &request(Op::Write, 2, 100), 20, 30);
        judge.landed(&Landing { kind: LandingKind::Discarded, ..landing(1, 100, 20, 20) });
        judge.landed(&landing(2, 100, 40, 48));
        let found = judge.finish(at(60));
        assert_eq!(found.cuts[0].lost[0], Lost { writes: 2, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!(found.cuts[1].lost[0].writes, 0);
    }
}
