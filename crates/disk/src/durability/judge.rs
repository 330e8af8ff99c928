//! Merges the events of the client and of the media into one order of time, and judges each cut at its instant.
//!
//! A landing is reported only when its access has ended. So an event of the client waits in a queue until everything
//! that reached the medium before it is known: until every drive has reported a landing that ended later. The wait is at
//! most the longest access. If no write is outstanding, an event does not wait.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use crate::block::setting::{ArraySetting, LayerSetting};
use crate::block::{Completion, Landing, LandingKind, MemberRole, Op, Request, Status};
use crate::host::array::layout::MemberSet;
use crate::time::{Instant, Span};
use crate::witness::Witness;

use super::heads::{self, Heads, SectorsAtHeads, StampedRun};
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
    /// A write or flush ended.
    End {
        request: Request,
        succeeded: bool,
    },
    /// Sectors of a write were superseded in a buffer.
    Supersede(StampedRun),
    /// A cut of the run itself, or the loss of a drive, left sectors unreadable.
    Tear(StampedRun),
    /// The drives' write cache was switched on or off.
    WriteCache {
        on: bool,
    },
    /// A drive of an array was lost or replaced.
    ArrayChange,
    /// The rebuild of a drive is over.
    RebuildOver {
        member: u32,
    },
    /// An orderly power-off.
    PowerOff,
}

/// The observer of a run, and the judge of its cuts.
pub struct CutJudge<T, S = ()> {
    terms: DriveTerms,
    /// Rising; those before `next_cut` are judged.
    cuts: Vec<Instant>,
    next_cut: usize,
    /// The delay of a further cut after the job's end.
    final_delay: Option<Span>,
    /// Events that are not handled yet.
    queue: VecDeque<(Instant, ClientEvent)>,
    /// Submissions of writes in `queue`.
    queued_writes: usize,
    heads: Heads,
    /// The drives that are lost, and those that may be.
    array: CutArray,
    /// By set of lost drives.
    views: BTreeMap<MemberSet, ArrayView>,
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
    /// When the latest event was queued.
    latest: Instant,
    losses: Vec<CutLoss>,
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
    /// Creates a judge of cuts of `array` at these instants, and of one `final_delay` after the job's end.
    pub fn new(
        terms: DriveTerms,
        array: CutArray,
        mut cuts: Vec<Instant>,
        final_delay: Option<Span>,
        tally: T,
    ) -> CutJudge<T, S> {
        cuts.sort_unstable();
        CutJudge {
            terms,
            cuts,
            next_cut: 0,
            final_delay,
            queue: VecDeque::new(),
            queued_writes: 0,
            heads: Heads::new(array.members(), array.lost_drives()),
            views: array.lost_sets().into_iter().map(|lost| (lost, ArrayView::new(terms, &array, lost))).collect(),
            rebuilds: array.has_rebuild().then(Rebuilds::default),
            array,
            caching: terms.volatile_at_first,
            torn: Vec::new(),
            longest_at_risk: Span::ZERO,
            tally,
            horizon: Instant::FAR,
            latest: Instant::ZERO,
            losses: Vec::new(),
            acknowledged: 0,
            flushes: 0,
            source: S::default(),
        }
    }
}

impl<T: Tally, S: SourceJudge> CutJudge<T, S> {
    /// The view with the drives that are lost now.
    fn current_view(&mut self) -> &mut ArrayView {
        self.views.get_mut(&self.array.lost_drives()).expect("a view of each set that may be lost")
    }

    fn risk_level(&mut self) -> RiskLevel {
        self.current_view().risk.risk_level()
    }

    /// Ends the run, when the device has nothing relevant left to report.
    pub fn finish(mut self, end: Instant) -> CutJudgement<T, S> {
        self.read_notes();
        self.end_job(end);
        self.heads.close_run();
        self.handle_events_before(self.horizon + Span::from_nanos(1));
        let level = self.risk_level();
        self.report_risk(self.horizon, level);
        let horizon = self.horizon;
        CutJudgement {
            longest_at_risk: self.longest_at_risk.max(self.current_view().risk.longest_at_risk(horizon)),
            cuts: self.losses,
            tally: self.tally,
            acknowledged: self.acknowledged,
            flushes: self.flushes,
            source: self.source,
        }
    }

    /// Ends a run whose power has been off since `power_off`, the only cut.
    pub fn finish_powered_off(mut self, power_off: Instant) -> CutJudgement<T, S> {
        self.cuts = vec![power_off];
        self.read_notes();
        self.queue.push_back((self.latest, ClientEvent::PowerOff));
        self.finish(power_off)
    }

    /// Notes the end of the job: sets the last cut and the horizon.
    fn end_job(&mut self, end: Instant) {
        self.cuts.extend(self.final_delay.take().map(|delay| end + delay));
        self.horizon = self.cuts.last().map_or(end, |&last| last.max(end));
    }

    /// Queues an event, and handles the events before which nothing more can land.
    fn queue_event(&mut self, now: Instant, event: ClientEvent) {
        self.close_run();
        self.latest = now;
        self.queue.push_back((now, event));
        if self.prune_and_check_idle() {
            self.handle_events_before(now);
        }
        self.handle_events_before(Instant::from_nanos(now.nanos().saturating_sub(LONGEST_ACCESS.nanos())));
    }

    /// Forgets what is wholly on the medium. True if no write is outstanding.
    fn prune_and_check_idle(&mut self) -> bool {
        self.queued_writes == 0 && self.current_view().prune_and_check_idle()
    }

    /// The instant of the next event or cut; events come first.
    fn next_instant(&self) -> Option<Instant> {
        let (event_at, cut_at) = (self.queue.front().map(|(at, _)| *at), self.cuts.get(self.next_cut).copied());
        event_at.into_iter().chain(cut_at).min()
    }

    /// Handles landings, events and cuts before `bound`, up to which all landings are known.
    fn handle_events_before(&mut self, bound: Instant) {
        loop {
            let event_at = self.next_instant().filter(|&at| at < bound);
            let run_edge = self.heads.next_run_edge().filter(|&at| at <= bound);
            match (run_edge, event_at) {
                (Some(edge), event_at) if event_at.is_none_or(|at| edge <= at) => drop(self.advance_heads_to(edge)),
                (_, Some(at)) => {
                    let under_heads = self.advance_heads_to(at);
                    self.handle_event_or_cut(at, &under_heads);
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
            self.handle_events_before(self.heads.known_until());
        }
    }

    /// Lands what has passed the heads at `at`. Returns the parts under them, which a cut would tear.
    fn advance_heads_to(&mut self, at: Instant) -> Vec<StampedRun> {
        let before = self.risk_level();
        let SectorsAtHeads { passed, under_heads } = self.heads.advance_to(at, self.terms);
        passed.iter().for_each(|part| self.land_part(at, part));
        self.report_risk(at, before);
        under_heads
    }

    /// Records sectors that are on the medium in all views.
    fn land_part(&mut self, at: Instant, part: &StampedRun) {
        let is_overwritten = |torn: &StampedRun| {
            torn.member == part.member && torn.role == part.role && run_overlap(torn.run, part.run).is_some()
        };
        self.torn.retain(|torn| !is_overwritten(torn));
        let landed_parts = match (&self.rebuilds, part.role) {
            (Some(rebuilds), MemberRole::RebuiltCopy(_)) => rebuilds.copied_parts(part),
            _ => vec![*part],
        };
        for view in self.views.values_mut() {
            landed_parts.iter().for_each(|part| view.land_part(at, part));
        }
    }

    /// Handles the event or the cut that is due at `at`, with these parts under the heads.
    fn handle_event_or_cut(&mut self, at: Instant, under_heads: &[StampedRun]) {
        match self.queue.front() {
            Some((due, _)) if *due == at => {
                if let Some((_, event)) = self.queue.pop_front() {
                    self.handle_event(at, event);
                }
            }
            _ => {
                self.next_cut += 1;
                self.judge_cut(at, under_heads);
            }
        }
    }

    fn handle_event(&mut self, at: Instant, event: ClientEvent) {
        match event {
            ClientEvent::Note => self.source.handle_next_note(),
            ClientEvent::Submit(request) if request.op == Op::Flush => {
                self.for_each_view(|view| view.risk.submit_flush(request.stamp))
            }
            ClientEvent::Submit(request) => {
                self.queued_writes -= 1;
                self.source.handle_submission(request.tag, request.stamp);
                let uncached = !self.caching;
                self.for_each_view(|view| view.risk.submit_write(&request, uncached));
            }
            ClientEvent::End { request, succeeded } if request.op == Op::Flush => {
                self.flushes += u64::from(succeeded);
                self.for_each_view(|view| view.risk.complete_flush(request.stamp, succeeded));
            }
            ClientEvent::Tear(part) => self.torn.push(part),
            ClientEvent::Supersede(part) => self.for_each_view(|view| view.supersede_part(&part)),
            ClientEvent::End { request, succeeded: false } => {
                self.for_each_view(|view| view.risk.fail_write(request.stamp));
            }
            ClientEvent::End { request, succeeded: true } => {
                self.acknowledged += 1;
                self.for_each_view(|view| view.acknowledge_write(at, &request));
            }
            ClientEvent::WriteCache { on } => {
                self.caching = self.terms.volatile && (on || self.terms.in_memory);
                if self.caching {
                    self.for_each_view(|view| view.risk.mark_in_flight_as_cached());
                }
            }
            ClientEvent::PowerOff => self.source.promise_all(),
            ClientEvent::ArrayChange => self.change_array(at, CutArray::apply_next_change),
            ClientEvent::RebuildOver { member } => {
                self.change_array(at, |array| array.end_rebuild(member));
                self.rebuilds.iter_mut().for_each(Rebuilds::end_rebuild);
            }
        }
    }

    fn for_each_view(&mut self, act: impl FnMut(&mut ArrayView)) {
        self.views.values_mut().for_each(act);
    }

    /// Changes the set of lost drives.
    fn change_array(&mut self, at: Instant, change: impl FnOnce(&mut CutArray)) {
        let before = self.risk_level();
        self.longest_at_risk = self.longest_at_risk.max(self.current_view().risk.longest_at_risk(at));
        change(&mut self.array);
        // A lost drive's content is never read; its replacement is new.
        let lost = self.array.lost_drives();
        self.torn.retain(|part| lost >> part.member & 1 == 0);
        let possible_sets = self.array.lost_sets();
        self.views.retain(|lost, _| possible_sets.contains(lost));
        self.report_risk(at, before);
    }

    fn judge_cut(&mut self, at: Instant, under_heads: &[StampedRun]) {
        let torn = [under_heads, &self.torn[..]].concat();
        let view = self.views.get_mut(&self.array.lost_drives()).expect("a view of each set that may be lost");
        self.losses.push(view.judge_cut(at, &torn, &mut self.tally));
        if view.surface.is_none() {
            return;
        }
        let overlay = view.cut_overlay(&torn);
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
        while let Some(note) = self.source.take_note() {
            if note.ends_work
                && let Some(delay) = self.final_delay.take()
            {
                self.cuts = vec![note.at + delay];
            }
            self.latest = self.latest.max(note.at);
            self.queue.push_back((self.latest, ClientEvent::Note));
        }
    }

    /// Records that an array accepted a part of a write, or a run of a rebuild.
    fn record_accepted_write(&mut self, landing: &Landing) {
        let part = (landing.lba, landing.end());
        match (landing.role, &mut self.rebuilds) {
            (MemberRole::Every, rebuilds) => {
                if let Some(rebuilds) = rebuilds {
                    rebuilds.accept_write(part, landing.number, landing.stamp);
                }
                // The landing may be a part of the write, which starts at `run.sector`.
                let first = landing.lba - (landing.sector - landing.run.sector);
                let whole_write = (first, first + u64::from(landing.run.sectors));
                self.for_each_view(|view| view.accept_write(landing.number, whole_write, part, landing.stamp));
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
            let succeeded = completion.status == Status::Done;
            self.queue_event(now, ClientEvent::End { request: *request, succeeded });
        }
    }

    fn note_landing(&mut self, landing: &Landing) {
        self.read_notes();
        match landing.kind {
            LandingKind::Landed => {
                if self.heads.add_landing(landing) {
                    self.handle_events_before(self.heads.known_until());
                }
            }
            LandingKind::Discarded => {
                // Superseded data change nothing on the medium: no reason to handle events, or to close a track run.
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::Supersede(heads::stamped_run(landing))));
            }
            LandingKind::Torn => {
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::Tear(heads::stamped_run(landing))));
            }
            LandingKind::Taken => self.record_accepted_write(landing),
            LandingKind::Gone => self.heads.stop_drive(landing.member),
            LandingKind::Whole => {
                self.latest = self.latest.max(landing.to);
                self.queue.push_back((self.latest, ClientEvent::RebuildOver { member: landing.member }));
            }
            LandingKind::Dropped => {}
        }
    }

    fn note_change(&mut self, now: Instant, setting: LayerSetting) {
        self.read_notes();
        match setting {
            LayerSetting::WriteBack(on) => self.queue_event(now, ClientEvent::WriteCache { on }),
            LayerSetting::Array(setting) => {
                if let ArraySetting::Replace(member) = setting {
                    self.heads.start_drive(member, now);
                }
                self.queue_event(now, ClientEvent::ArrayChange);
            }
            _ => {}
        }
    }

    fn should_linger(&mut self, end: Instant, next: Instant) -> bool {
        self.read_notes();
        self.end_job(end);
        self.close_run();
        !self.prune_and_check_idle() && self.next_cut < self.cuts.len() && next <= self.horizon + LONGEST_ACCESS
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

    /// Sums up the reports of a judge.
    #[derive(Default)]
    struct ReportSums {
        /// Lost acknowledged writes.
        losses: u64,
        most_bytes_at_risk: u64,
        /// Bytes at risk, times the nanoseconds for which they were.
        byte_nanos: u64,
        last_report: Instant,
    }

    impl Tally for ReportSums {
        fn record_loss(&mut self, class: WriteClass, _: Span, count: u64) {
            self.losses += if class == WriteClass::Acknowledged { count } else { 0 };
        }
        fn record_risk(&mut self, until: Instant, before: RiskLevel, after: RiskLevel) {
            self.most_bytes_at_risk = self.most_bytes_at_risk.max(before.bytes).max(after.bytes);
            self.byte_nanos += until.saturating_since(self.last_report).nanos() * (before.bytes + after.bytes) / 2;
            self.last_report = until;
        }
    }

    fn note_submission_and_completion(
        judge: &mut CutJudge<ReportSums>,
        request: &Request,
        submitted_ns: u64,
        finished_ns: u64,
    ) {
        judge.note_submission(at(submitted_ns), request);
        note_completion(judge, request, submitted_ns, finished_ns);
    }

    fn note_completion(judge: &mut CutJudge<ReportSums>, request: &Request, submitted_ns: u64, finished_ns: u64) {
        let (submitted, finished, status) = (at(submitted_ns), at(finished_ns), Status::Done);
        judge.note_completion(
            request,
            &Completion { tag: 0, status, submitted, finished, parts: Parts::default(), effort: Effort::default() },
        );
    }

    fn landing(stamp: u64, lba: u64, from_ns: u64, to_ns: u64) -> Landing {
        Landing::new((lba, 4), stamp, (at(from_ns), at(to_ns)), LandingKind::Landed)
    }

    fn judge_with_cuts(terms: DriveTerms, cuts_ns: &[u64]) -> CutJudge<ReportSums> {
        let cuts = cuts_ns.iter().map(|&ns| at(ns)).collect();
        CutJudge::new(terms, CutArray::default(), cuts, None, ReportSums::default())
    }

    #[test]
    fn a_drive_that_lies_about_flushes_is_found_out() {
        let mut judge = judge_with_cuts(TERMS, &[25, 35, 60]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        note_submission_and_completion(&mut judge, &request(Op::Flush, 2, 0), 20, 30);
        judge.note_landing(&landing(1, 100, 40, 48));
        let found = judge.finish(at(50));
        let counts: Vec<[u64; 4]> = found.cuts.iter().map(|cut| cut.lost.map(|lost| lost.writes)).collect();
        assert_eq!(counts, [[1, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0]]);
        assert_eq!(found.cuts[1].lost[1], ClassLoss { writes: 1, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!((found.acknowledged, found.flushes, found.longest_at_risk.nanos()), (1, 1, 38));
        assert_eq!((found.tally.losses, found.tally.most_bytes_at_risk), (2, 2048));
    }

    #[test]
    fn without_a_volatile_cache_every_loss_breaks_the_promise() {
        let mut judge = judge_with_cuts(TERMS.promising_all(), &[15]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        let found = judge.finish(at(20));
        assert_eq!(found.cuts[0].lost.map(|lost| lost.writes), [1, 0, 0, 1]);
    }

    #[test]
    fn data_at_risk_are_reported_to_the_end_of_the_run() {
        let mut judge = judge_with_cuts(TERMS, &[15]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        let found = judge.finish(at(30));
        assert_eq!((found.tally.last_report, found.tally.byte_nanos), (at(30), 2048 * 20));
    }

    /// The write is in flight from 10 to 20.
    #[test]
    fn a_switched_write_cache_changes_what_an_acknowledgement_promises() {
        let off_at_first = DriveTerms { volatile_at_first: false, ..TERMS };
        for (terms, switched_ns, on, promised) in [
            (TERMS, 5, false, 1),
            (TERMS, 5, true, 0),
            (TERMS, 15, false, 0),
            (off_at_first, 5, true, 0),
            (off_at_first, 15, true, 0),
            (off_at_first, 15, false, 1),
            (DriveTerms { in_memory: true, ..TERMS }, 5, false, 0),
            (TERMS.promising_all(), 5, true, 1),
        ] {
            let mut judge = judge_with_cuts(terms, &[25]);
            let write = request(Op::Write, 1, 100);
            let switch =
                |judge: &mut CutJudge<ReportSums>| judge.queue_event(at(switched_ns), ClientEvent::WriteCache { on });
            if switched_ns < 10 {
                switch(&mut judge);
            }
            judge.note_submission(at(10), &write);
            if switched_ns > 10 {
                switch(&mut judge);
            }
            note_completion(&mut judge, &write, 10, 20);
            let lost = judge.finish(at(30)).cuts[0].lost.map(|lost| lost.writes);
            assert_eq!(lost, [1, 0, 0, promised], "{terms:?}, {on} at {switched_ns}");
        }
    }

    #[test]
    fn what_a_protected_buffer_holds_is_safe() {
        let mut judge = judge_with_cuts(DriveTerms { saves: true, ..TERMS.promising_all() }, &[5, 15, 25]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.note_landing(&landing(1, 100, 20, 28));
        let found = judge.finish(at(30));
        assert!(found.cuts.iter().all(|cut| cut.lost == [ClassLoss::default(); 4] && cut.torn == 0));
        assert_eq!(found.tally.most_bytes_at_risk, 0);
    }

    #[test]
    fn a_cut_within_a_landing_finds_a_part_and_tears_what_was_promised() {
        let mut judge = judge_with_cuts(TERMS, &[105]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        judge.note_landing(&landing(1, 100, 20, 28));
        note_submission_and_completion(&mut judge, &request(Op::Flush, 2, 0), 30, 40);
        note_submission_and_completion(&mut judge, &request(Op::Write, 3, 100), 50, 60);
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
        let mut judge = judge_with_cuts(TERMS, &[55]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        note_submission_and_completion(&mut judge, &request(Op::Write, 2, 100), 20, 30);
        judge.note_landing(&landing(1, 100, 40, 48));
        let cut = |lba, sectors, kind| Landing::new((lba, sectors), 2, (at(55), at(55)), kind);
        judge.note_landing(&cut(100, 1, LandingKind::Torn));
        judge.note_landing(&cut(101, 3, LandingKind::Discarded));
        let cut = judge.finish(at(55)).cuts[0];
        assert_eq!((cut.torn, cut.torn_acknowledged, cut.lost[0].writes), (1, 1, 1));
    }

    #[test]
    fn what_is_superseded_in_the_cache_is_lost_as_long_as_older_data_show() {
        let mut judge = judge_with_cuts(TERMS, &[35, 55]);
        note_submission_and_completion(&mut judge, &request(Op::Write, 1, 100), 0, 10);
        note_submission_and_completion(&mut judge, &request(Op::Write, 2, 100), 20, 30);
        judge.note_landing(&Landing { kind: LandingKind::Discarded, ..landing(1, 100, 20, 20) });
        judge.note_landing(&landing(2, 100, 40, 48));
        let found = judge.finish(at(60));
        assert_eq!(found.cuts[0].lost[0], ClassLoss { writes: 2, bytes: 2048, oldest: Span::from_nanos(25) });
        assert_eq!(found.cuts[1].lost[0].writes, 0);
    }
}
