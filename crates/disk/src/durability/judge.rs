//! Merges the events of the client and of the media into one order of time, and judges each cut at its instant.
//!
//! A landing is reported when its access has ended. So events of the client wait in a queue until everything that
//! reached the medium before them is known, which is up to the end of the latest landing of each drive. The wait is at
//! most the longest access; without an outstanding write there is none.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{Completion, Landing, LandingKind, MemberRole, Op, Request, Status};
use crate::time::{Instant, Span};
use crate::witness::Witness;

use super::heads::{self, Heads, StampedRun};
use super::loss::CutLoss;
use super::rebuilds::Rebuilds;
use super::risk::RiskLevel;
use super::runs::{SectorRuns, run_overlap};
use super::terms::DriveTerms;
use super::view::{ArrayView, CutArray};
use super::{SourceJudge, Tally};

/// Longer than any access of a drive: after this time without a landing none is in progress. The longest command
/// carries 65,536 sectors; a drive would have to write less than 3.4 MB/s, the rate of about 1990.
const LONGEST_ACCESS: Span = Span::from_secs(10);

/// An event of the client.
#[derive(Clone, Debug)]
enum ClientEvent {
    /// A note of the source.
    Note,
    Submit(Request),
    /// A write or flush ended; true: without an error.
    End(Request, bool),
    /// Sectors of a write were superseded in a buffer.
    Supersede(StampedRun),
    /// A cut of the run itself, or the loss of a drive, left sectors unreadable.
    Tear(StampedRun),
    /// The drives' write cache was switched.
    Caches(bool),
    /// A drive of an array was lost or replaced.
    Turn,
    /// The rebuild of a drive is over.
    Whole(u32),
    /// An orderly power-off.
    Off,
}

/// The observer of a run, and the judge of its cuts.
pub struct CutJudge<T, S = ()> {
    terms: DriveTerms,
    /// Rising; those before `next` are judged.
    cuts: Vec<Instant>,
    next: usize,
    /// The delay of a further cut after the job's end.
    pause: Option<Span>,
    /// Events that are not handled yet.
    queue: VecDeque<(Instant, ClientEvent)>,
    queued_writes: usize,
    heads: Heads,
    /// The drives that are lost, and those that may be.
    plan: CutArray,
    /// By set of lost drives.
    views: BTreeMap<u64, ArrayView>,
    /// Only if a drive is to be rebuilt.
    rebuilds: Option<Rebuilds>,
    /// Writes are acknowledged before they are durable.
    caching: bool,
    /// Sectors that a cut of the run itself left unreadable.
    torn: Vec<StampedRun>,
    longest_at_risk: Span,
    /// Receives ages, data at risk and the result of each cut.
    tally: T,
    /// Data at risk are reported up to this instant.
    horizon: Instant,
    latest: Instant,
    found: Vec<CutLoss>,
    acknowledged: u64,
    flushes: u64,
    /// The judge of the source's own objects.
    source: S,
}

/// The results of a judge.
pub struct CutJudgement<T, S = ()> {
    /// Every cut, in order.
    pub cuts: Vec<CutLoss>,
    /// The receiver of ages and data at risk.
    pub tally: T,
    /// Writes acknowledged in the run.
    pub acknowledged: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// The longest time for which a write was acknowledged and not on the medium.
    pub longest_at_risk: Span,
    /// The judge of the source's own objects, or what it found.
    pub source: S,
}

impl<T: Tally, S: SourceJudge + Default> CutJudge<T, S> {
    /// Creates a judge of cuts at these instants, and of one `pause` after the job's end; `plan` describes the drives.
    pub fn new(
        terms: DriveTerms,
        plan: CutArray,
        mut cuts: Vec<Instant>,
        pause: Option<Span>,
        tally: T,
    ) -> CutJudge<T, S> {
        cuts.sort_unstable();
        CutJudge {
            terms,
            cuts,
            next: 0,
            pause,
            queue: VecDeque::new(),
            queued_writes: 0,
            heads: Heads::new(plan.members(), plan.lost_drives()),
            views: plan.lost_sets().into_iter().map(|lost| (lost, ArrayView::new(terms, &plan, lost))).collect(),
            rebuilds: plan.has_rebuild().then(Rebuilds::default),
            plan,
            caching: terms.volatile_at_first,
            torn: Vec::new(),
            longest_at_risk: Span::ZERO,
            tally,
            horizon: Instant::FAR,
            latest: Instant::ZERO,
            found: Vec::new(),
            acknowledged: 0,
            flushes: 0,
            source: S::default(),
        }
    }
}

impl<T: Tally, S: SourceJudge> CutJudge<T, S> {
    /// The view with the drives that are lost now.
    fn current_view(&mut self) -> &mut ArrayView {
        self.views.get_mut(&self.plan.lost_drives()).expect("a view of each set that may be lost")
    }

    fn risk_level(&mut self) -> RiskLevel {
        self.current_view().risk.risk_level()
    }

    /// Ends the run, when the device has nothing relevant left to report.
    pub fn finish(mut self, end: Instant) -> CutJudgement<T, S> {
        self.read_notes();
        self.end_job(end);
        self.heads.close_run();
        self.settle_before(self.horizon + Span::from_nanos(1));
        let level = self.risk_level();
        self.report_risk(self.horizon, level);
        let horizon = self.horizon;
        CutJudgement {
            longest_at_risk: self.longest_at_risk.max(self.current_view().risk.longest_at_risk(horizon)),
            cuts: self.found,
            tally: self.tally,
            acknowledged: self.acknowledged,
            flushes: self.flushes,
            source: self.source,
        }
    }

    /// Ends a run whose power has been off since `off`, the only cut.
    pub fn finish_powered_off(mut self, off: Instant) -> CutJudgement<T, S> {
        self.cuts = vec![off];
        self.read_notes();
        self.queue.push_back((self.latest, ClientEvent::Off));
        self.finish(off)
    }

    /// Notes the end of the job: sets the last cut and the horizon.
    fn end_job(&mut self, end: Instant) {
        self.cuts.extend(self.pause.take().map(|pause| end + pause));
        self.horizon = self.cuts.last().map_or(end, |&last| last.max(end));
    }

    fn queue_event(&mut self, now: Instant, doing: ClientEvent) {
        self.close_run();
        self.latest = now;
        self.queue.push_back((now, doing));
        // Without an outstanding write, nothing unknown can land.
        if self.check_idle() {
            self.settle_before(now);
        }
        self.settle_before(Instant::from_nanos(now.nanos().saturating_sub(LONGEST_ACCESS.nanos())));
    }

    /// True if no write is outstanding.
    fn check_idle(&mut self) -> bool {
        self.queued_writes == 0 && self.current_view().check_idle()
    }

    /// The instant of the next event or cut; events come first.
    fn next_instant(&self) -> Option<Instant> {
        let (doing, cut) = (self.queue.front().map(|it| it.0), self.cuts.get(self.next).copied());
        doing.into_iter().chain(cut).min()
    }

    /// Handles everything before `bound`, up to which all landings are known.
    fn settle_before(&mut self, bound: Instant) {
        loop {
            let event = self.next_instant().filter(|&at| at < bound);
            let edge = self.heads.next_edge().filter(|&at| at <= bound);
            match (edge, event) {
                (Some(edge), event) if event.is_none_or(|event| edge <= event) => drop(self.pass_heads(edge)),
                (_, Some(event)) => {
                    let under = self.pass_heads(event);
                    self.handle_next(event, &under);
                }
                _ => return,
            }
        }
    }

    /// Reports the data at risk up to `until`.
    fn report_risk(&mut self, until: Instant, before: RiskLevel) {
        let level = self.risk_level();
        self.tally.record_risk(until.min(self.horizon), before, level);
    }

    /// Completes the track run, and handles the events before the end of the latest of each drive.
    fn close_run(&mut self) {
        if self.heads.close_run() {
            self.settle_before(self.heads.known_until());
        }
    }

    /// Lands what has passed the heads at `at`. Returns the parts under them, which a cut would tear.
    fn pass_heads(&mut self, at: Instant) -> Vec<StampedRun> {
        let before = self.risk_level();
        let (passed, over) = self.heads.advance_to(at, self.terms);
        passed.iter().for_each(|part| self.land_part(at, part));
        self.report_risk(at, before);
        over
    }

    fn land_part(&mut self, at: Instant, part: &StampedRun) {
        let over = |torn: &StampedRun| {
            torn.member == part.member && torn.role == part.role && run_overlap(torn.run, part.run).is_some()
        };
        self.torn.retain(|torn| !over(torn));
        let rebuilt = match (&self.rebuilds, part.role) {
            (Some(rebuilds), MemberRole::RebuiltCopy(_)) => rebuilds.copied_parts(part),
            _ => vec![*part],
        };
        for view in self.views.values_mut() {
            rebuilt.iter().for_each(|part| view.land_part(at, part));
        }
    }

    /// Handles the event or the cut at `at`, with these parts under the heads.
    fn handle_next(&mut self, at: Instant, under: &[StampedRun]) {
        match self.queue.front() {
            Some((due, _)) if *due == at => {
                if let Some((_, doing)) = self.queue.pop_front() {
                    self.perform_event(at, doing);
                }
            }
            _ => {
                self.next += 1;
                self.judge_cut(at, under);
            }
        }
    }

    fn perform_event(&mut self, at: Instant, doing: ClientEvent) {
        match doing {
            ClientEvent::Note => self.source.handle_next_note(),
            ClientEvent::Submit(request) if request.op == Op::Flush => {
                self.for_each_view(|view| view.risk.submit_flush(request.stamp))
            }
            ClientEvent::Submit(request) => {
                self.queued_writes -= 1;
                self.source.handle_submission(request.tag, request.stamp);
                let sure = !self.caching;
                self.for_each_view(|view| view.risk.submit_write(&request, sure));
            }
            ClientEvent::End(request, done) if request.op == Op::Flush => {
                self.flushes += u64::from(done);
                self.for_each_view(|view| view.risk.complete_flush(request.stamp, done));
            }
            ClientEvent::Tear(part) => self.torn.push(part),
            ClientEvent::Supersede(part) => self.for_each_view(|view| view.supersede_part(&part)),
            ClientEvent::End(request, false) => self.for_each_view(|view| view.risk.fail_write(request.stamp)),
            ClientEvent::End(request, true) => {
                self.acknowledged += 1;
                self.for_each_view(|view| view.acknowledge_write(at, &request));
            }
            ClientEvent::Caches(on) => {
                self.caching = self.terms.volatile && (on || self.terms.in_memory);
                if self.caching {
                    self.for_each_view(|view| view.risk.mark_unsure());
                }
            }
            ClientEvent::Off => self.source.promise_all(),
            ClientEvent::Turn => self.change_array(at, CutArray::apply_next_change),
            ClientEvent::Whole(member) => {
                self.change_array(at, |plan| plan.end_rebuild(member));
                self.rebuilds.iter_mut().for_each(Rebuilds::end_rebuild);
            }
        }
    }

    fn for_each_view(&mut self, act: impl FnMut(&mut ArrayView)) {
        self.views.values_mut().for_each(act);
    }

    /// Changes the set of lost drives.
    fn change_array(&mut self, at: Instant, turn: impl FnOnce(&mut CutArray)) {
        let before = self.risk_level();
        self.longest_at_risk = self.longest_at_risk.max(self.current_view().risk.longest_at_risk(at));
        turn(&mut self.plan);
        // A lost drive's content is never read; its replacement is new.
        let lost = self.plan.lost_drives();
        self.torn.retain(|part| lost >> part.member & 1 == 0);
        let sets = self.plan.lost_sets();
        self.views.retain(|lost, _| sets.contains(lost));
        self.report_risk(at, before);
    }

    fn judge_cut(&mut self, at: Instant, under: &[StampedRun]) {
        let under = [under, &self.torn[..]].concat();
        let view = self.views.get_mut(&self.plan.lost_drives()).expect("a view of each set that may be lost");
        self.found.push(view.judge_cut(at, &under, &mut self.tally));
        if view.surface.is_none() {
            return;
        }
        let overlay = view.cut_overlay(&under);
        let surface = view.surface.as_ref().expect("it is kept");
        self.source.judge_cut(at, surface, &overlay);
        self.tally.record_cut(at, surface, &overlay);
    }

    /// Reports to the tally what each cut leaves on the medium, write by write.
    pub(crate) fn with_surface(mut self) -> CutJudge<T, S> {
        self.views.values_mut().for_each(|view| view.surface = Some(SectorRuns::default()));
        self
    }

    /// Judges the source's own objects as well.
    pub fn with_source(self, source: S) -> CutJudge<T, S> {
        CutJudge { source, ..self }.with_surface()
    }

    /// Reads the source's new notes.
    fn read_notes(&mut self) {
        while let Some((at, ends)) = self.source.take_note() {
            if ends && let Some(pause) = self.pause.take() {
                self.cuts = vec![at + pause];
            }
            self.latest = self.latest.max(at);
            self.queue.push_back((self.latest, ClientEvent::Note));
        }
    }

    /// Notes that an array accepted a write, or a run of a rebuild.
    fn handle_accepted(&mut self, landing: &Landing) {
        let (part, sector, whole) = ((landing.lba, landing.end()), landing.sector, landing.run);
        match (landing.role, &mut self.rebuilds) {
            (MemberRole::Every, rebuilds) => {
                if let Some(rebuilds) = rebuilds {
                    rebuilds.accept_write(part, landing.number, landing.stamp);
                }
                let first = landing.lba - (sector - whole.sector);
                let whole = (first, first + u64::from(whole.sectors));
                self.for_each_view(|view| view.accept_write(landing.number, whole, part, landing.stamp));
            }
            (MemberRole::RebuiltCopy(_), Some(rebuilds)) => rebuilds.begin_run(landing.number, part),
            _ => {}
        }
    }
}

/// True if the request changes the medium, or forces a change. Nothing is volatile on the devices beside the drives:
/// their flushes force nothing.
fn affects_medium(request: &Request) -> bool {
    matches!(request.op, Op::Write | Op::WriteZeroes) || request.op == Op::Flush && request.unit == 0
}

impl<T: Tally, S: SourceJudge> Witness for CutJudge<T, S> {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        self.read_notes();
        if affects_medium(request) {
            self.queued_writes += usize::from(request.op != Op::Flush);
            self.queue_event(now, ClientEvent::Submit(*request));
        }
    }

    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        self.read_notes();
        if affects_medium(request) {
            let now = completion.finished.max(self.latest);
            self.queue_event(now, ClientEvent::End(*request, completion.status == Status::Done));
        }
    }

    fn note_landing(&mut self, landing: &Landing) {
        self.read_notes();
        match landing.kind {
            LandingKind::Landed => {
                if self.heads.take_landing(landing) {
                    self.settle_before(self.heads.known_until());
                }
            }
            LandingKind::Discarded => {
                // Superseded data change nothing on the medium: no reason to settle, or to close a track run.
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::Supersede(heads::stamped_run(landing))));
            }
            LandingKind::Torn => {
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::Tear(heads::stamped_run(landing))));
            }
            LandingKind::Taken => self.handle_accepted(landing),
            LandingKind::Gone => self.heads.stop_drive(landing.member),
            LandingKind::Whole => {
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::Whole(landing.member)));
            }
            LandingKind::Dropped => {}
        }
    }

    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        self.read_notes();
        match setting {
            LayerSetting::WriteBack(on) => self.queue_event(now, ClientEvent::Caches(on)),
            LayerSetting::Array(setting) => {
                if let ArraySetting::Replace(member) = setting {
                    self.heads.start_drive(member, now);
                }
                self.queue_event(now, ClientEvent::Turn);
            }
            _ => {}
        }
    }

    fn should_linger(&mut self, end: Instant, next: Instant) -> bool {
        self.read_notes();
        self.end_job(end);
        self.close_run();
        !self.check_idle() && self.next < self.cuts.len() && next <= self.horizon + LONGEST_ACCESS
    }
}

#[cfg(test)]
mod tests {
    use super::super::loss::{ClassLoss, WriteClass};
    use super::*;
    use crate::block::{CutSector, Flags};
    use crate::record::{Effort, Parts};

    const TERMS: DriveTerms = DriveTerms {
        unit: 1,
        cut_sector: CutSector::Unreadable,
        volatile: true,
        volatile_at_first: true,
        in_memory: false,
        saves: false,
    };

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn request(op: Op, stamp: u64, lba: u64) -> Request {
        let sectors = if op == Op::Flush { 0 } else { 4 };
        Request { tag: 0, unit: 0, origin: 0, op, flags: Flags::NONE, lba, sectors, stamp }
    }

    /// How many ages of acknowledged writes it was told, the most bytes at risk, and these times nanoseconds up to the last report.
    #[derive(Default)]
    struct Told {
        ages: u64,
        most: u64,
        exposure: u64,
        until: Instant,
    }

    impl Tally for Told {
        fn record_loss(&mut self, class: WriteClass, _: Span, count: u64) {
            self.ages += if class == WriteClass::Acknowledged { count } else { 0 };
        }
        fn record_risk(&mut self, until: Instant, before: RiskLevel, after: RiskLevel) {
            self.most = self.most.max(before.bytes).max(after.bytes);
            self.exposure += until.saturating_since(self.until).nanos() * (before.bytes + after.bytes) / 2;
            self.until = until;
        }
    }

    fn done(judge: &mut CutJudge<Told>, request: &Request, from: u64, to: u64) {
        judge.note_submission(at(from), request);
        complete(judge, request, from, to);
    }

    fn complete(judge: &mut CutJudge<Told>, request: &Request, from: u64, to: u64) {
        let (submitted, finished, status) = (at(from), at(to), Status::Done);
        judge.note_completion(
            request,
            &Completion { tag: 0, status, submitted, finished, parts: Parts::default(), effort: Effort::default() },
        );
    }

    fn landing(stamp: u64, lba: u64, from: u64, to: u64) -> Landing {
        Landing::new((lba, 4), stamp, (at(from), at(to)), LandingKind::Landed)
    }

    fn judge(terms: DriveTerms, cuts: &[u64]) -> CutJudge<Told> {
        CutJudge::new(terms, CutArray::default(), cuts.iter().map(|&ns| at(ns)).collect(), None, Told::default())
    }

    #[test]
    fn a_drive_that_lies_about_flushes_is_found_out() {
        let mut judge = judge(TERMS, &[25, 35, 60]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        done(&mut judge, &request(Op::Flush, 2, 0), 20, 30);
        judge.note_landing(&landing(1, 100, 40, 48));
        let found = judge.finish(at(50));
        let counts: Vec<[u64; 4]> = found.cuts.iter().map(|cut| cut.lost.map(|lost| lost.writes)).collect();
        assert_eq!(counts, [[1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0]]);
        assert_eq!(found.cuts[1].lost[1], ClassLoss { writes: 1, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!((found.acknowledged, found.flushes, found.longest_at_risk.nanos()), (1, 1, 38));
        assert_eq!((found.tally.ages, found.tally.most), (2, 2048));
    }

    #[test]
    fn without_a_volatile_cache_every_loss_breaks_the_promise() {
        let mut judge = judge(TERMS.promising_all(), &[15]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        let found = judge.finish(at(20));
        assert_eq!(found.cuts[0].lost.map(|lost| lost.writes), [1, 0, 0, 1]);
    }

    #[test]
    fn data_at_risk_are_reported_to_the_end_of_the_run() {
        let mut judge = judge(TERMS, &[15]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        let found = judge.finish(at(30));
        assert_eq!((found.tally.until, found.tally.exposure), (at(30), 2048 * 20));
    }

    /// The write is in flight from 10 to 20.
    #[test]
    fn a_switched_write_cache_changes_what_an_acknowledgement_promises() {
        let off_at_first = DriveTerms { volatile_at_first: false, ..TERMS };
        for (terms, switched, on, promised) in [
            (TERMS, 5, false, 1),
            (TERMS, 5, true, 0),
            (TERMS, 15, false, 0),
            (off_at_first, 5, true, 0),
            (off_at_first, 15, true, 0),
            (off_at_first, 15, false, 1),
            (DriveTerms { in_memory: true, ..TERMS }, 5, false, 0),
            (TERMS.promising_all(), 5, true, 1),
        ] {
            let mut judge = judge(terms, &[25]);
            let write = request(Op::Write, 1, 100);
            let switch = |judge: &mut CutJudge<Told>| judge.queue_event(at(switched), ClientEvent::Caches(on));
            if switched < 10 {
                switch(&mut judge);
            }
            judge.note_submission(at(10), &write);
            if switched > 10 {
                switch(&mut judge);
            }
            complete(&mut judge, &write, 10, 20);
            let lost = judge.finish(at(30)).cuts[0].lost.map(|lost| lost.writes);
            assert_eq!(lost, [1, 0, 0, promised], "{terms:?}, {on} at {switched}");
        }
    }

    #[test]
    fn what_a_protected_buffer_holds_is_safe() {
        let mut judge = judge(DriveTerms { saves: true, ..TERMS.promising_all() }, &[5, 15, 25]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.note_landing(&landing(1, 100, 20, 28));
        let found = judge.finish(at(30));
        assert!(found.cuts.iter().all(|cut| cut.lost == [ClassLoss::default(); 4] && cut.torn == 0));
        assert_eq!(found.tally.most, 0);
    }

    #[test]
    fn a_cut_within_a_landing_finds_a_part_and_tears_what_was_promised() {
        let mut judge = judge(TERMS, &[105]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.note_landing(&landing(1, 100, 20, 28));
        done(&mut judge, &request(Op::Flush, 2, 0), 30, 40);
        done(&mut judge, &request(Op::Write, 3, 100), 50, 60);
        // Reported late, after a read of the client.
        judge.note_submission(at(104), &request(Op::Read, 4, 0));
        judge.note_landing(&landing(3, 100, 100, 108));
        let cut = judge.finish(at(120)).cuts[0];
        // Two sectors have passed, the third is torn and the fourth still old.
        assert_eq!((cut.lost[0].writes, cut.lost[0].bytes, cut.partial), (1, 1024, 1));
        assert_eq!((cut.torn, cut.torn_acknowledged, cut.torn_promised), (1, 1, 1));
        assert_eq!(cut.lost[3].writes, 0);
    }

    #[test]
    fn what_a_cut_of_the_run_tore_no_older_landing_takes_back() {
        let mut judge = judge(TERMS, &[55]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        done(&mut judge, &request(Op::Write, 2, 100), 20, 30);
        judge.note_landing(&landing(1, 100, 40, 48));
        let cut = |lba, sectors, kind| Landing::new((lba, sectors), 2, (at(55), at(55)), kind);
        judge.note_landing(&cut(100, 1, LandingKind::Torn));
        judge.note_landing(&cut(101, 3, LandingKind::Discarded));
        let cut = judge.finish(at(55)).cuts[0];
        assert_eq!((cut.torn, cut.torn_acknowledged, cut.lost[0].writes), (1, 1, 1));
    }

    #[test]
    fn what_is_superseded_in_the_cache_is_lost_as_long_as_older_data_show() {
        let mut judge = judge(TERMS, &[35, 55]);
        done(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        done(&mut judge, &request(Op::Write, 2, 100), 20, 30);
        judge.note_landing(&Landing { kind: LandingKind::Discarded, ..landing(1, 100, 20, 20) });
        judge.note_landing(&landing(2, 100, 40, 48));
        let found = judge.finish(at(60));
        assert_eq!(found.cuts[0].lost[0], ClassLoss { writes: 2, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!(found.cuts[1].lost[0].writes, 0);
    }
}
