//! Puts what a client saw and what the medium received into the order in which it happened, and judges each cut at its
//! instant.
//!
//! A landing is reported when its access has ended, so what a client does meanwhile waits in a queue until then: nothing
//! that reaches the medium before the end of the latest landing of each drive can still be unknown. It waits no longer
//! than the longest access, and not at all when no write is outstanding.
//!
//! | file | what is there |
//! |---|---|
//! | `heads` | what the drives write, in one order of time |
//! | [`super::view`] | what of it a program would read |
//! | `risk` | writes not all of which is on the medium |
//! | [`super::stripes`] | rows whose parity does not belong to their data |
//! | `image` | what lies where a torn sector could destroy it |

use std::collections::VecDeque;

use seekwise_model::block::{Completion, CutSector, Landing, LandingKind, Op, Request, SECTOR, Status};
use seekwise_model::stack::Stack;
use seekwise_model::time::{Instant, Span};
use seekwise_targets::sim::Witness;

use super::curve::Curve;
use super::heads::{self, Heads};
use super::image::{Held, Image};
use super::risk::{Level, Risk, Run, Standing, union};
use super::stripes::{Holes, Stripes};
use super::view::View;
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

/// Blocks of one write.
type Part = (Run, u64);

impl Terms {
    /// Of a drive, or of one below a cache in memory: what is there outlives no cut.
    pub fn of(stack: &Stack) -> Terms {
        let profile = &stack.profile;
        let cached = stack.accelerators().any(|accelerator| accelerator.write_back);
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
    /// Rows whose parity does not belong to their data.
    pub holes: Holes,
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
    heads: Heads,
    view: View,
    risk: Risk,
    /// Kept where rows have parity.
    stripes: Option<Stripes>,
    /// What a cut of the run itself left unreadable.
    torn: Vec<heads::Part>,
    /// Kept where a cut can destroy what lies on the medium.
    image: Option<Image<Held>>,
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
    /// A judge of cuts at these instants, and of one `pause` after the job's end; `view` is the program's.
    pub fn new(terms: Terms, view: View, mut cuts: Vec<Instant>, pause: Option<Span>) -> Judge {
        cuts.sort_unstable();
        Judge {
            terms,
            cuts,
            next: 0,
            pause,
            queue: VecDeque::new(),
            queued_writes: 0,
            heads: Heads::new(view.members()),
            stripes: view.has_parity().then(|| Stripes::new(view.volumes())),
            view,
            torn: Vec::new(),
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
        self.heads.close();
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

    /// The run is over and the power is gone since `off`: the one cut is that.
    pub fn finish_off(mut self, off: Instant) -> Judgement {
        self.cuts = vec![off];
        self.finish(off)
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
        if self.is_idle() {
            self.settle(now);
        }
        self.settle(Instant::from_nanos(now.nanos().saturating_sub(LONGEST_ACCESS.nanos())));
    }

    /// No write is outstanding.
    fn is_idle(&mut self) -> bool {
        self.risk.is_idle() && self.queued_writes == 0 && self.stripes.as_mut().is_none_or(Stripes::is_idle)
    }

    /// What comes next: a doing (of one instant first) or a cut.
    fn upcoming(&self) -> Option<Instant> {
        let (doing, cut) = (self.queue.front().map(|it| it.0), self.cuts.get(self.next).copied());
        doing.into_iter().chain(cut).min()
    }

    /// Does all that comes before `bound`, up to which everything that landed is known.
    fn settle(&mut self, bound: Instant) {
        loop {
            let event = self.upcoming().filter(|&at| at < bound);
            let edge = self.heads.edge().filter(|&at| at <= bound);
            match (edge, event) {
                (Some(edge), event) if event.is_none_or(|event| edge <= event) => drop(self.pass(edge)),
                (_, Some(event)) => {
                    let under = self.pass(event);
                    self.step(event, &under);
                }
                _ => return,
            }
        }
    }

    /// The curve goes on from what it was to this level.
    fn draw(&mut self, until: Instant, before: Level) {
        self.curve.until(until.min(self.horizon), before, self.risk.level());
    }

    /// The track run is complete: what happened before the end of the latest of each drive happens.
    fn close_run(&mut self) {
        if self.heads.close() {
            self.settle(self.heads.known());
        }
    }

    /// What has passed the heads at `at` lands. Answers what they are over, and a cut would tear.
    fn pass(&mut self, at: Instant) -> Vec<heads::Part> {
        let before = self.risk.level();
        let (passed, over) = self.heads.at(at, self.terms);
        passed.iter().for_each(|part| self.land(at, part));
        self.draw(at, before);
        over
    }

    /// These sectors of the members as a program sees them, in order.
    fn seen(&self, parts: &[heads::Part]) -> Vec<Part> {
        let mut seen: Vec<Part> = Vec::new();
        for part in parts {
            let stamp = self.stamp_of(part.stamp);
            self.view.blocks(part.member, part.run, |run| seen.extend(stamp.map(|stamp| (run, stamp))));
        }
        seen.sort_unstable();
        seen
    }

    /// The stamp of a write as its program knows it; nothing for what an array did by itself.
    fn stamp_of(&self, stamp: u64) -> Option<u64> {
        match &self.stripes {
            _ if !self.view.has_parity() => (stamp > 0).then_some(stamp),
            Some(stripes) => stripes.stamp(stamp),
            None => None,
        }
    }

    fn land(&mut self, at: Instant, part: &heads::Part) {
        let stamp = self.stamp_of(part.stamp);
        if let Some(stripes) = &mut self.stripes {
            stripes.land(part.member, part.run, part.stamp);
        }
        let Some(stamp) = stamp else { return };
        let (image, risk, volatile) = (&mut self.image, &mut self.risk, self.terms.volatile);
        self.view.blocks(part.member, part.run, |run| {
            if let Some(image) = image {
                image.land(run, risk.held(stamp, volatile));
            }
            risk.land(at, run, stamp);
        });
    }

    /// The doing or the cut that is due at `at`, with these parts under the head.
    fn step(&mut self, at: Instant, under: &[heads::Part]) {
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

    fn judge(&mut self, at: Instant, under: &[heads::Part]) {
        let under = [under, &self.torn[..]].concat();
        // What is in a buffer that outlives a cut is not told.
        let known = self.stripes.as_mut().filter(|_| !self.terms.saves);
        let holes = known.map_or(Holes::default(), |stripes| stripes.holes(&under, self.terms.cut_sector));
        let under = &self.seen(&under);
        let besides = if self.terms.cut_sector == CutSector::Finished { &under[..] } else { &[] };
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
            holes,
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

    fn entered(&mut self, number: u64, request: &Request) {
        if let Some(stripes) = &mut self.stripes {
            stripes.enter(number, request);
        }
    }

    fn landed(&mut self, landing: &Landing) {
        let run = (landing.lba, landing.end());
        match landing.kind {
            LandingKind::Landed => {
                if self.heads.take(landing) {
                    self.settle(self.heads.known());
                }
            }
            LandingKind::Discarded => {
                // It changes nothing by itself: no reason to settle, or to close a track run.
                let Some(stamp) = self.stamp_of(landing.stamp) else { return };
                let mut sectors = 0;
                self.view.blocks(landing.member, run, |run| sectors += run.1 - run.0);
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, Doing::Supersede(stamp, sectors)));
            }
            LandingKind::Torn => self.torn.push(heads::part(landing)),
            LandingKind::Dropped => {}
        }
    }

    fn lingers(&mut self, end: Instant, next: Instant) -> bool {
        self.end(end);
        self.close_run();
        !self.is_idle() && self.next < self.cuts.len() && next <= self.horizon + LONGEST_ACCESS
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
        Judge::new(terms, View::default(), cuts.iter().map(|&ns| at(ns)).collect(), None)
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
