//! A run of a script on a device, with the checks of the contract that need a single run.
//!
//! The run observes what a client can: acceptance, completions, landings and the next timeout; of an array, each copy of
//! its blocks ([`BlockCopies`]). [`DurabilityChecker`] judges the image that the landings leave at a cut. Speed is not
//! checked.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::durability::{DurabilityChecker, PowerFailure, Promise};
use super::image::SectorImage;
use super::mirror_copies::BlockCopies;
use super::script::{ScriptAction, TimedAction};
use super::violation::Violation;
use crate::block::setting::LayerSetting;
use crate::block::{
    Completion, Control, ControlError, CutSector, Device, Flags, Landing, LandingKind, Limits, MemberRole, Op, Request,
    Status,
};
use crate::time::{Instant, Span};

/// The instants at which a device is called during a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepMode {
    /// At the script's instants and at every timeout.
    EachTimeout,
    /// At the script's instants only, and at this end.
    ScriptInstants(Instant),
    /// At the script's instants, four times between two of them, and at this end.
    ExtraCalls(Instant),
}

/// Everything that a device returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceTrace {
    pub(super) completions: Vec<Completion>,
    pub(super) landings: Vec<Landing>,
    /// Steps whose request was refused.
    pub(super) refused_steps: Vec<usize>,
    /// The instant of the last call.
    pub(super) end: Instant,
}

/// The longest time after a script in which everything must complete: a hundred times as long as a full queue of a script's
/// longest requests takes on the slowest small drive.
const MAX_COMPLETION_TIME: Span = Span::from_secs(600);

/// The most timeouts between two steps of a script; more mean that time does not advance.
const MAX_TIMEOUTS: u32 = 1_000_000;

/// A request that the device accepted.
struct TrackedRequest {
    request: Request,
    submitted: Instant,
    /// The status, once the request has ended.
    ended: Option<Status>,
    /// How often the fate of each sector of a write was reported: all sectors of the first copy, then those of the next.
    report_counts: Vec<u8>,
}

/// An aborted request, and the indices of the requests in flight with it, of which one must turn out to have failed.
struct UnexplainedAbort {
    request: Request,
    in_flight: BTreeSet<usize>,
}

/// A device during a script, and what it has answered.
pub(super) struct ScriptRun {
    device: Box<dyn Device>,
    limits: Limits,
    promise: Promise,
    copies: BlockCopies,
    /// A checker for each copy of an array's blocks, with its image.
    checkers: Vec<(DurabilityChecker, SectorImage)>,
    /// All accepted requests; the index is the stamp less 1.
    requests: Vec<TrackedRequest>,
    /// By tag: the indices of requests in flight.
    in_flight: BTreeMap<u32, usize>,
    /// When everything ready was last polled.
    last_drained: Option<Instant>,
    /// Until when the power was last off; `FAR` while it is.
    power_off_until: Option<Instant>,
    /// When the script last aborted a request, or reset the device.
    last_abort: Option<Instant>,
    /// When a request last failed by itself.
    last_failure: Option<Instant>,
    /// Aborts by the device before the failure that causes them has been reported: the failed request may take longer on
    /// its way up.
    unexplained_aborts: Vec<UnexplainedAbort>,
    /// The last number that an array gave to a write.
    last_number: u64,
    trace: DeviceTrace,
}

impl TrackedRequest {
    /// How many sectors, of all copies, were reported: landed, or superseded in the buffer by a later write.
    fn reported_sectors(&self) -> usize {
        self.report_counts.iter().filter(|&&count| count > 0).count()
    }
}

fn broken_rule<T>(rule: u8, text: String) -> Result<T, Violation> {
    Err(Violation { rule, text })
}

fn is_write(op: Op) -> bool {
    matches!(op, Op::Write | Op::WriteZeroes)
}

impl ScriptRun {
    /// Runs `script` on a fresh device with this promise and these copies of its blocks.
    pub(super) fn run_script(
        mut device: Box<dyn Device>,
        (promise, copies): (Promise, &BlockCopies),
        script: &[TimedAction],
        step_mode: StepMode,
    ) -> Result<DeviceTrace, Violation> {
        let report_landings = Control::Set(LayerSetting::Landings(true));
        if let Err(error) = device.control(Instant::ZERO, &report_landings) {
            return broken_rule(5, format!("landings cannot be had: {error:?}"));
        }
        let mut run = ScriptRun {
            limits: device.limits(0),
            device,
            promise,
            checkers: (0..copies.count())
                .map(|copy| (DurabilityChecker::new(promise).for_copy(copies, copy), SectorImage::new()))
                .collect(),
            copies: copies.clone(),
            requests: Vec::new(),
            in_flight: BTreeMap::new(),
            last_drained: None,
            power_off_until: None,
            last_abort: None,
            last_failure: None,
            unexplained_aborts: Vec::new(),
            last_number: 0,
            trace: DeviceTrace {
                completions: Vec::new(),
                landings: Vec::new(),
                refused_steps: Vec::new(),
                end: Instant::ZERO,
            },
        };
        let mut last_step = Instant::ZERO;
        for (index, step) in script.iter().enumerate() {
            run.advance_to(last_step, step.at, step_mode)?;
            run.perform_step(index, step)?;
            last_step = step.at;
        }
        run.run_to_end(last_step, step_mode)?;
        Ok(run.trace)
    }

    /// Calls the device at `now`, and polls everything ready.
    fn handle_timeout(&mut self, now: Instant) -> Result<(), Violation> {
        self.device.handle_timeout(now);
        self.drain_ready(now)
    }

    /// Calls the device up to and including `at`, from the script's instant `last_step` on.
    fn advance_to(&mut self, last_step: Instant, at: Instant, step_mode: StepMode) -> Result<(), Violation> {
        match step_mode {
            StepMode::EachTimeout => self.handle_each_timeout(at)?,
            StepMode::ScriptInstants(_) => {}
            StepMode::ExtraCalls(_) => {
                let third_ns = at.since(last_step).nanos() / 3;
                for offset_ns in [third_ns, third_ns, 2 * third_ns, 2 * third_ns + 1] {
                    self.handle_timeout((last_step + Span::from_nanos(offset_ns)).min(at))?;
                }
            }
        }
        self.handle_timeout(at)
    }

    fn handle_each_timeout(&mut self, until: Instant) -> Result<(), Violation> {
        for _ in 0..MAX_TIMEOUTS {
            match self.device.poll_timeout() {
                Some(next) if next <= until => self.handle_timeout(next)?,
                _ => return Ok(()),
            }
        }
        broken_rule(1, format!("{MAX_TIMEOUTS} timeouts before {until:?}"))
    }

    /// Runs to the end of the mode, and on until nothing is in flight.
    fn run_to_end(&mut self, last_step: Instant, step_mode: StepMode) -> Result<(), Violation> {
        self.trace.end = last_step;
        if let StepMode::ScriptInstants(end) | StepMode::ExtraCalls(end) = step_mode {
            self.advance_to(last_step, end, step_mode)?;
            self.trace.end = end;
        }
        for _ in 0..MAX_TIMEOUTS {
            match self.device.poll_timeout() {
                Some(next) if !self.in_flight.is_empty() && next <= last_step + MAX_COMPLETION_TIME => {
                    self.trace.end = next;
                    self.handle_timeout(next)?;
                }
                _ => break,
            }
        }
        match self.in_flight.values().next() {
            Some(&index) => broken_rule(3, format!("never completed: {:?}", self.requests[index].request)),
            None => Ok(()),
        }
    }

    fn perform_step(&mut self, index: usize, step: &TimedAction) -> Result<(), Violation> {
        let now = step.at;
        match step.action {
            ScriptAction::Submit { op, flags, lba, sectors } => {
                if !self.submit_request(now, op, flags, lba, sectors)? {
                    self.trace.refused_steps.push(index);
                }
                self.drain_ready(now)
            }
            ScriptAction::Abort(nth) => self.abort_nth(now, nth),
            ScriptAction::Reset => {
                self.last_abort = Some(now);
                self.send_control(now, &Control::Reset)
            }
            ScriptAction::PowerCut => self.cut_power(now),
            ScriptAction::PowerOff => {
                self.power_off_until = Some(Instant::FAR);
                self.send_control(now, &Control::PowerOff)
            }
            ScriptAction::PowerOn => {
                self.power_off_until = self.power_off_until.map(|until| until.min(now));
                self.send_control(now, &Control::PowerOn)
            }
        }
    }

    /// Sends a control that no device may refuse.
    fn send_control(&mut self, now: Instant, control: &Control) -> Result<(), Violation> {
        match self.device.control(now, control) {
            Ok(()) => self.drain_ready(now),
            Err(error) => broken_rule(3, format!("{control:?} at {now:?} refused: {error:?}")),
        }
    }

    fn abort_nth(&mut self, now: Instant, nth: usize) -> Result<(), Violation> {
        self.last_abort = Some(now);
        let count = self.in_flight.len().max(1);
        let tag = self.in_flight.keys().nth(nth % count).copied();
        let answer = self.device.control(now, &Control::Abort(tag.unwrap_or(u32::MAX)));
        match (tag, answer) {
            (Some(_), Ok(())) | (None, Err(ControlError::UnknownTag)) => self.drain_ready(now),
            _ => broken_rule(3, format!("abort of {tag:?} at {now:?} answered {answer:?}")),
        }
    }

    /// Submits a request. True if the device accepted it.
    fn submit_request(
        &mut self,
        now: Instant,
        op: Op,
        flags: Flags,
        lba: u64,
        sectors: u32,
    ) -> Result<bool, Violation> {
        let tag = (0..).find(|tag| !self.in_flight.contains_key(tag)).unwrap_or(0);
        let stamp = self.requests.len() as u64 + 1;
        let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp };
        match self.device.submit(now, request) {
            Ok(next) => {
                self.in_flight.insert(tag, self.requests.len());
                self.checkers.iter_mut().for_each(|(checker, _)| checker.note_submission(&request));
                let report_counts = self.initial_report_counts(&request);
                self.requests.push(TrackedRequest { request, submitted: now, ended: None, report_counts });
                self.check_next_instant(now, next)?;
                Ok(true)
            }
            Err(returned) if returned != request => broken_rule(3, format!("{request:?} came back as {returned:?}")),
            Err(_) if self.in_flight.is_empty() => {
                broken_rule(3, format!("refused with nothing in flight at {now:?}: {request:?}"))
            }
            Err(_) => Ok(false),
        }
    }

    /// Checks the instant `next` that a device named when it accepted a request at `now`: its next timeout, unless it has
    /// completed something at once.
    fn check_next_instant(&mut self, now: Instant, next: Instant) -> Result<(), Violation> {
        let completions_before = self.trace.completions.len();
        self.drain_ready(now)?;
        let completed = self.trace.completions.len() > completions_before;
        let timeout = self.device.poll_timeout().unwrap_or(Instant::FAR);
        match next > now && (completed || timeout != next) {
            true => broken_rule(1, format!("at {now:?} it said {next:?}; completed: {completed}, then {timeout:?}")),
            false => Ok(()),
        }
    }

    /// The counts of reports of a request without any report. Sectors on lost members count as reported once.
    fn initial_report_counts(&self, request: &Request) -> Vec<u8> {
        let blocks = if is_write(request.op) { request.lba..request.end() } else { 0..0 };
        let sectors = (0..self.copies.count()).flat_map(|copy| blocks.clone().map(move |lba| (copy, lba)));
        sectors.map(|(copy, lba)| u8::from(!self.copies.has_block(copy, lba))).collect()
    }

    /// Polls and checks everything that is ready at `now`.
    fn drain_ready(&mut self, now: Instant) -> Result<(), Violation> {
        while let Some(landing) = self.device.poll_landing() {
            self.check_landing(now, &landing)?;
        }
        while let Some(completion) = self.device.poll_completion() {
            self.check_completion(now, &completion)?;
        }
        match self.device.poll_timeout() {
            Some(next) if next <= now => broken_rule(1, format!("at {now:?}, drained, the next timeout is {next:?}")),
            _ => {
                self.last_drained = Some(now);
                Ok(())
            }
        }
    }

    fn check_completion(&mut self, now: Instant, completion: &Completion) -> Result<(), Violation> {
        let Completion { tag, status, submitted, finished, parts, .. } = *completion;
        let Some(index) = self.in_flight.remove(&tag) else {
            return broken_rule(3, format!("a completion of nothing in flight: {completion:?}"));
        };
        self.checkers.iter_mut().for_each(|(checker, _)| checker.note_completion(completion));
        let tracked = &mut self.requests[index];
        tracked.ended = Some(status);
        let (request, submitted_at, reported) = (tracked.request, tracked.submitted, tracked.reported_sectors());
        if finished > now || self.last_drained.is_some_and(|drained| drained < now && finished <= drained) {
            let drained = self.last_drained;
            return broken_rule(
                1,
                format!("finished {finished:?}, handed out at {now:?}, drained at {drained:?} before"),
            );
        }
        if submitted != submitted_at || finished < submitted || parts.total() != finished.since(submitted) {
            return broken_rule(7, format!("submitted {submitted_at:?}, but {completion:?} of {request:?}"));
        }
        self.check_status(&request, completion)?;
        self.check_aborts_explained(index, status)?;
        let must_have_landed = status == Status::Done && !self.promise.saves_buffer && self.bypasses_cache(&request);
        if must_have_landed && reported != request.sectors as usize * self.copies.count() as usize {
            return broken_rule(5, format!("done with {reported} sectors on the medium: {request:?}"));
        }
        self.trace.completions.push(*completion);
        Ok(())
    }

    /// True for a write that must be on the medium when it completes.
    fn bypasses_cache(&self, request: &Request) -> bool {
        let forced = self.limits.fua && request.flags.has(Flags::FUA);
        is_write(request.op) && (forced || !self.limits.volatile_cache)
    }

    /// Checks that a completion's status fits its request.
    fn check_status(&mut self, request: &Request, completion: &Completion) -> Result<(), Violation> {
        let Completion { status, submitted, finished, .. } = *completion;
        let was_in_flight_at = |at: Option<Instant>| at.is_some_and(|at| submitted <= at);
        let is_beyond_end = request.op != Op::Flush && request.end() > self.limits.sectors;
        let is_ordered = request.flags.has(Flags::ORDERED) || request.flags.has(Flags::HEAD_OF_QUEUE);
        let has_unknown_order = is_ordered && self.limits.queuing.is_ata();
        let must_be_supported = matches!(request.op, Op::Read | Op::Write | Op::Flush)
            && (self.limits.fua || !request.flags.has(Flags::FUA))
            && !has_unknown_order;
        let fits = match status {
            Status::Done => !is_beyond_end && !has_unknown_order,
            // Aborted by the client, or by an ATA drive together with a request that failed.
            Status::Aborted => {
                was_in_flight_at(self.last_abort)
                    || (self.limits.queuing.is_ata()
                        && (was_in_flight_at(self.last_failure) || self.add_unexplained_abort(request)))
            }
            Status::PowerLost => was_in_flight_at(self.power_off_until),
            Status::OutOfRange => is_beyond_end,
            Status::Unsupported => !must_be_supported,
            Status::MediumError => request.op == Op::Read,
        };
        if matches!(status, Status::OutOfRange | Status::MediumError) {
            self.last_failure = Some(finished);
        }
        match fits {
            true => Ok(()),
            false => broken_rule(3, format!("{status:?} is no answer to {request:?}")),
        }
    }

    /// Records an abort whose cause is not known yet. True if requests are in flight that may turn out to be its cause.
    fn add_unexplained_abort(&mut self, request: &Request) -> bool {
        let in_flight: BTreeSet<usize> = self.in_flight.values().copied().collect();
        let may_be_explained = !in_flight.is_empty();
        self.unexplained_aborts.push(UnexplainedAbort { request: *request, in_flight });
        may_be_explained
    }

    /// Checks, as the request with index `ended` has ended, that of the requests in flight with an aborted one some has
    /// failed once all of them have ended. A request that an abort or a cut ended may have failed before.
    fn check_aborts_explained(&mut self, ended: usize, status: Status) -> Result<(), Violation> {
        let failed = !matches!(status, Status::Done | Status::Unsupported);
        self.unexplained_aborts.retain(|abort| !(failed && abort.in_flight.contains(&ended)));
        self.unexplained_aborts.iter_mut().for_each(|abort| _ = abort.in_flight.remove(&ended));
        match self.unexplained_aborts.iter().find(|abort| abort.in_flight.is_empty()) {
            Some(abort) => broken_rule(3, format!("aborted, but no other failed: {:?}", abort.request)),
            None => Ok(()),
        }
    }

    /// Checks a landing, and applies it to the images.
    fn check_landing(&mut self, now: Instant, landing: &Landing) -> Result<(), Violation> {
        if landing.from > landing.to || landing.to > now {
            return broken_rule(5, format!("reported at {now:?}: {landing:?}"));
        }
        self.trace.landings.push(*landing);
        match landing.kind {
            LandingKind::Gone | LandingKind::Whole => return Ok(()),
            _ if landing.sectors == 0 => return broken_rule(5, format!("of no sectors: {landing:?}")),
            LandingKind::Taken => return self.check_acceptance(landing),
            _ => {}
        }
        let mut changed = Vec::new();
        self.copies.for_each_changed(landing, |image, part| changed.push((image, *part)));
        changed.iter().try_for_each(|(image, part)| self.check_and_apply_part(*image, part))
    }

    /// Checks a report of an accepted write: it is a part of the write, and the array's numbers never fall.
    fn check_acceptance(&mut self, landing: &Landing) -> Result<(), Violation> {
        let number_rises = landing.number >= self.last_number;
        self.last_number = landing.number;
        let tracked = (landing.stamp as usize).checked_sub(1).and_then(|index| self.requests.get(index));
        let is_inside = tracked.is_some_and(|it| landing.lba >= it.request.lba && landing.end() <= it.request.end());
        let is_of_array = landing.run.sector <= landing.sector && self.copies.is_array();
        match number_rises && is_inside && is_of_array {
            true => Ok(()),
            false => broken_rule(5, format!("taken: {landing:?}")),
        }
    }

    /// Checks a landing of one copy of the blocks, and applies it to the image of that copy.
    fn check_and_apply_part(&mut self, image: u32, landing: &Landing) -> Result<(), Violation> {
        let tracked = (landing.stamp as usize).checked_sub(1).and_then(|index| self.requests.get_mut(index));
        let Some(TrackedRequest { request, report_counts, .. }) = tracked else {
            return broken_rule(5, format!("unknown stamp: {landing:?}"));
        };
        let is_inside = landing.lba >= request.lba && landing.end() <= request.end();
        if !is_write(request.op) || !is_inside {
            return broken_rule(5, format!("{landing:?} of {request:?}"));
        }
        let copy = image as usize;
        let first = (landing.lba - request.lba) as usize + copy * request.sectors as usize;
        let counts = &mut report_counts[first..first + landing.sectors as usize];
        let is_repeated = counts.iter().any(|&count| count > 0);
        counts.iter_mut().for_each(|count| *count = count.saturating_add(1));
        // A layer may send a write again that was aborted with another's error; an array does so after a reset as well.
        if is_repeated && !self.limits.queuing.is_ata() && !self.copies.is_array() {
            return broken_rule(5, format!("reported twice: {landing:?} of {request:?}"));
        }
        self.checkers[copy].1.apply_landing_in_blocks(landing);
        Ok(())
    }

    /// Cuts the power, and checks what the cut leaves.
    fn cut_power(&mut self, now: Instant) -> Result<(), Violation> {
        self.power_off_until = Some(Instant::FAR);
        let landings_before = self.trace.landings.len();
        self.send_control(now, &Control::PowerCut)?;
        self.check_all_reported()?;
        (0..self.copies.drives()).try_for_each(|member| self.check_torn_on(member, landings_before))?;
        for (copy, (checker, image)) in self.checkers.iter_mut().enumerate() {
            if let Err(breach) = checker.judge_image(image, PowerFailure::Cut) {
                return broken_rule(4, format!("cut at {now:?}, copy {copy}: {breach:?}"));
            }
        }
        Ok(())
    }

    /// Checks that after a cut every sector of an acknowledged write has been reported, landed or lost; for a mirror, some
    /// copy of it.
    fn check_all_reported(&self) -> Result<(), Violation> {
        let has_unreported_sector = |tracked: &&TrackedRequest| {
            let is_acknowledged = tracked.ended == Some(Status::Done) && is_write(tracked.request.op);
            let sectors = tracked.request.sectors as usize;
            let counts_of_copies = |sector| tracked.report_counts.iter().skip(sector).step_by(sectors);
            is_acknowledged && (0..sectors).any(|sector| counts_of_copies(sector).all(|&count| count == 0))
        };
        match self.requests.iter().find(has_unreported_sector) {
            Some(tracked) => broken_rule(5, format!("after the cut, no word of all of {:?}", tracked.request)),
            None => Ok(()),
        }
    }

    /// Checks that a cut tears at most one physical sector of the drive `member`, and only as the profile says. The
    /// landings of the cut are those from the index `landings_before` on.
    fn check_torn_on(&self, member: u32, landings_before: usize) -> Result<(), Violation> {
        let is_on_member =
            |landing: &&Landing| landing.member == member && landing.role != MemberRole::Every && landing.sectors > 0;
        let of_cut: Vec<&Landing> = self.trace.landings[landings_before..].iter().filter(is_on_member).collect();
        let unit = u64::from(self.limits.physical) / 512;
        let mut torn = of_cut.iter().filter(|landing| landing.kind == LandingKind::Torn);
        if let Some(first) = torn.clone().next() {
            let promised = self.promise.cut_sector;
            if promised != CutSector::Unreadable {
                return broken_rule(6, format!("torn, though the profile says {promised:?}: {first:?}"));
            }
            let torn_unit = first.sector / unit;
            let is_outside = |landing: &&&Landing| {
                let last_sector = landing.sector + u64::from(landing.sectors) - 1;
                landing.sector / unit != torn_unit || last_sector / unit != torn_unit
            };
            if let Some(second) = torn.find(is_outside) {
                return broken_rule(6, format!("more than one sector torn: {first:?} and {second:?}"));
            }
        }
        for landing in of_cut.iter().filter(|landing| landing.kind == LandingKind::Landed) {
            let end = landing.sector + u64::from(landing.sectors);
            // A run that goes to the medium by itself may end within a physical sector.
            let is_cut_short = of_cut.iter().any(|it| {
                it.sector == end && (it.stamp, it.run) == (landing.stamp, landing.run) && it.kind != LandingKind::Landed
            });
            if is_cut_short && end % unit != 0 {
                return broken_rule(6, format!("half a physical sector landed: {landing:?}"));
            }
        }
        Ok(())
    }
}
