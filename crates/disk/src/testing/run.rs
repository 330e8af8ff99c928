//! A run of a script on a device, with the checks that can be made as it goes.
//!
//! [`DurabilityChecker`] judges durability. The run sees what a client sees: acceptance, completions, landings, the next instant;
//! an array, through its [`VolumeSight`]. The reported fate of every write is compared with the image that the landings
//! leave. Speed is not checked.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::durability::{DurabilityChecker, PowerFailure, Promise};
use super::image::SectorImage;
use super::mirror_copies::VolumeSight;
use super::script::{ScriptAction, TimedAction};
use super::violation::Violation;
use crate::block::setting::LayerSetting;
use crate::block::{
    Completion, Control, ControlError, CutSector, Device, Flags, Landing, LandingKind, Limits, MemberRole, Op, Request,
    Status,
};
use crate::time::{Instant, Span};

/// The steps in which a device goes through a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepMode {
    /// Through every timeout that it names.
    EachTimeout,
    /// At the script's own instants only, and once at the end.
    OwnInstants(Instant),
    /// Also between them, twice each time; and once at the end.
    Restless(Instant),
}

/// Everything that a device returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceTrace {
    pub(super) completions: Vec<Completion>,
    pub(super) landings: Vec<Landing>,
    /// Steps whose request was refused.
    pub(super) refused: Vec<usize>,
    pub(super) end: Instant,
}

/// The longest time after a script in which everything must complete: a full queue of a script's longest requests takes
/// some seconds on the slowest small drive.
const PATIENCE: Span = Span::from_secs(600);

/// The most timeouts in one stretch; more mean that time does not pass.
const STEPS: u32 = 1_000_000;

/// The life of a request, in the order of the client's own actions.
struct TrackedRequest {
    request: Request,
    submitted: Instant,
    ended: Option<Status>,
    /// By sector of a write: how often it was reported, and whether as on the medium.
    reported: Vec<(u8, bool)>,
}

pub(super) struct ScriptRun {
    device: Box<dyn Device>,
    limits: Limits,
    promise: Promise,
    sight: VolumeSight,
    /// A checker for each copy of an array's blocks, with its image.
    checkers: Vec<(DurabilityChecker, SectorImage)>,
    /// By stamp, from 1.
    lives: Vec<TrackedRequest>,
    flying: BTreeMap<u32, usize>,
    drained: Option<Instant>,
    /// Until when the power was last off, or failing; `FAR` if it is.
    dark: Option<Instant>,
    /// When the script last aborted something.
    aborted: Option<Instant>,
    /// When the last request failed by itself.
    failed: Option<Instant>,
    /// Aborted requests with which none has failed yet, each with those in flight then: the failed one may take longer
    /// on its way up.
    unexplained: Vec<(Request, BTreeSet<usize>)>,
    /// The last number that an array gave to a write.
    number: u64,
    trace: DeviceTrace,
}

impl TrackedRequest {
    /// Sectors reported on the medium, or superseded in the buffer by a later write.
    fn settled_sectors(&self) -> usize {
        self.reported.iter().filter(|sector| sector.0 > 0).count()
    }
}

fn broken_rule<T>(rule: u8, text: String) -> Result<T, Violation> {
    Err(Violation { rule, text })
}

fn is_write(op: Op) -> bool {
    matches!(op, Op::Write | Op::WriteZeroes)
}

impl ScriptRun {
    /// Takes a fresh device through `script`.
    pub(super) fn run_script(
        mut device: Box<dyn Device>,
        (promise, sight): (Promise, &VolumeSight),
        script: &[TimedAction],
        stepping: StepMode,
    ) -> Result<DeviceTrace, Violation> {
        let wanted = Control::Set(LayerSetting::Landings(true));
        if let Err(error) = device.control(Instant::ZERO, &wanted) {
            return broken_rule(5, format!("landings cannot be had: {error:?}"));
        }
        let mut run = ScriptRun {
            limits: device.limits(0),
            device,
            promise,
            checkers: (0..sight.copies())
                .map(|copy| (DurabilityChecker::new(promise).for_copy(sight, copy), SectorImage::new()))
                .collect(),
            sight: sight.clone(),
            lives: Vec::new(),
            flying: BTreeMap::new(),
            drained: None,
            dark: None,
            aborted: None,
            failed: None,
            unexplained: Vec::new(),
            number: 0,
            trace: DeviceTrace {
                completions: Vec::new(),
                landings: Vec::new(),
                refused: Vec::new(),
                end: Instant::ZERO,
            },
        };
        let mut before = Instant::ZERO;
        for (index, step) in script.iter().enumerate() {
            run.step_to(before, step.at, stepping)?;
            run.perform_step(index, step)?;
            before = step.at;
        }
        run.run_to_end(before, stepping)?;
        Ok(run.trace)
    }

    fn handle_and_drain(&mut self, now: Instant) -> Result<(), Violation> {
        self.device.handle_timeout(now);
        self.drain_ready(now)
    }

    fn step_to(&mut self, before: Instant, at: Instant, stepping: StepMode) -> Result<(), Violation> {
        match stepping {
            StepMode::EachTimeout => self.handle_each_timeout(at)?,
            StepMode::OwnInstants(_) => {}
            StepMode::Restless(_) => {
                let third = at.since(before).nanos() / 3;
                for early in [third, third, 2 * third, 2 * third + 1] {
                    self.handle_and_drain((before + Span::from_nanos(early)).min(at))?;
                }
            }
        }
        self.handle_and_drain(at)
    }

    fn handle_each_timeout(&mut self, until: Instant) -> Result<(), Violation> {
        for _ in 0..STEPS {
            match self.device.poll_timeout() {
                Some(next) if next <= until => self.handle_and_drain(next)?,
                _ => return Ok(()),
            }
        }
        broken_rule(1, format!("{STEPS} timeouts before {until:?}"))
    }

    /// Runs until nothing is in flight, or until the instant at which that was so.
    fn run_to_end(&mut self, before: Instant, stepping: StepMode) -> Result<(), Violation> {
        self.trace.end = before;
        if let StepMode::OwnInstants(end) | StepMode::Restless(end) = stepping {
            self.step_to(before, end, stepping)?;
            self.trace.end = end;
        }
        for _ in 0..STEPS {
            let next = self.device.poll_timeout();
            match next {
                Some(next) if !self.flying.is_empty() && next <= before + PATIENCE => {
                    self.trace.end = next;
                    self.handle_and_drain(next)?;
                }
                _ => break,
            }
        }
        match self.flying.values().next() {
            Some(&life) => broken_rule(3, format!("never completed: {:?}", self.lives[life].request)),
            None => Ok(()),
        }
    }

    fn perform_step(&mut self, index: usize, step: &TimedAction) -> Result<(), Violation> {
        let now = step.at;
        match step.act {
            ScriptAction::Submit { op, flags, lba, sectors } => {
                if !self.submit_request(now, op, flags, lba, sectors)? {
                    self.trace.refused.push(index);
                }
                self.drain_ready(now)
            }
            ScriptAction::Abort(nth) => self.abort_nth(now, nth),
            ScriptAction::Reset => {
                self.aborted = Some(now);
                self.apply_control(now, &Control::Reset)
            }
            ScriptAction::Cut => self.cut_power(now),
            ScriptAction::Off => {
                self.dark = Some(Instant::FAR);
                self.apply_control(now, &Control::PowerOff)
            }
            ScriptAction::On => {
                self.dark = self.dark.map(|until| until.min(now));
                self.apply_control(now, &Control::PowerOn)
            }
        }
    }

    fn apply_control(&mut self, now: Instant, control: &Control) -> Result<(), Violation> {
        match self.device.control(now, control) {
            Ok(()) => self.drain_ready(now),
            Err(error) => broken_rule(3, format!("{control:?} at {now:?} refused: {error:?}")),
        }
    }

    fn abort_nth(&mut self, now: Instant, nth: usize) -> Result<(), Violation> {
        self.aborted = Some(now);
        let count = self.flying.len().max(1);
        let tag = self.flying.keys().nth(nth % count).copied();
        let done = self.device.control(now, &Control::Abort(tag.unwrap_or(u32::MAX)));
        match (tag, done) {
            (Some(_), Ok(())) | (None, Err(ControlError::UnknownTag)) => self.drain_ready(now),
            _ => broken_rule(3, format!("abort of {tag:?} at {now:?} answered {done:?}")),
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
        let tag = (0..).find(|tag| !self.flying.contains_key(tag)).unwrap_or(0);
        let stamp = self.lives.len() as u64 + 1;
        let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors, stamp };
        match self.device.submit(now, request) {
            Ok(next) => {
                self.flying.insert(tag, self.lives.len());
                self.checkers.iter_mut().for_each(|(checker, _)| checker.note_submission(&request));
                let reported = self.initial_reports(&request);
                self.lives.push(TrackedRequest { request, submitted: now, ended: None, reported });
                self.check_next_instant(now, next)?;
                Ok(true)
            }
            Err(back) if back != request => broken_rule(3, format!("{request:?} came back as {back:?}")),
            Err(_) if self.flying.is_empty() => {
                broken_rule(3, format!("refused with nothing in flight at {now:?}: {request:?}"))
            }
            Err(_) => Ok(false),
        }
    }

    /// Checks that a device which accepted a request at `now` names a valid instant `next`.
    fn check_next_instant(&mut self, now: Instant, next: Instant) -> Result<(), Violation> {
        let before = self.trace.completions.len();
        self.drain_ready(now)?;
        let completed = self.trace.completions.len() > before;
        let timeout = self.device.poll_timeout().unwrap_or(Instant::FAR);
        match next > now && (completed || timeout != next) {
            true => broken_rule(1, format!("at {now:?} it said {next:?}; completed: {completed}, then {timeout:?}")),
            false => Ok(()),
        }
    }

    /// The reports at the start, for each sector of a write and each copy of it: none, but sectors on lost members count as
    /// reported.
    fn initial_reports(&self, request: &Request) -> Vec<(u8, bool)> {
        let blocks = if is_write(request.op) { request.lba..request.end() } else { 0..0 };
        let copies = 0..self.sight.copies();
        copies
            .flat_map(|copy| blocks.clone().map(move |lba| (copy, lba)))
            .map(|(copy, lba)| {
                let hidden = !self.sight.sees_block(copy, lba);
                (u8::from(hidden), hidden)
            })
            .collect()
    }

    /// Polls everything that is ready at `now`.
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
                self.drained = Some(now);
                Ok(())
            }
        }
    }

    fn check_completion(&mut self, now: Instant, completion: &Completion) -> Result<(), Violation> {
        let Completion { tag, status, submitted, finished, parts, .. } = *completion;
        let Some(index) = self.flying.remove(&tag) else {
            return broken_rule(3, format!("a completion of nothing in flight: {completion:?}"));
        };
        self.checkers.iter_mut().for_each(|(checker, _)| checker.note_completion(completion));
        let life = &mut self.lives[index];
        life.ended = Some(status);
        let (request, life_submitted, settled) = (life.request, life.submitted, life.settled_sectors());
        if finished > now || self.drained.is_some_and(|before| before < now && finished <= before) {
            let before = self.drained;
            return broken_rule(
                1,
                format!("finished {finished:?}, handed out at {now:?}, drained at {before:?} before"),
            );
        }
        if submitted != life_submitted || finished < submitted || parts.total() != finished.since(submitted) {
            return broken_rule(7, format!("submitted {life_submitted:?}, but {completion:?} of {request:?}"));
        }
        self.check_status(&request, completion)?;
        self.check_explained(index, status)?;
        let through = status == Status::Done && !self.promise.saves_buffer && self.bypasses_cache(&request);
        if through && settled != request.sectors as usize * self.sight.copies() as usize {
            return broken_rule(5, format!("done with {settled} sectors on the medium: {request:?}"));
        }
        self.trace.completions.push(*completion);
        Ok(())
    }

    /// True for a write that must be on the medium when it completes.
    fn bypasses_cache(&self, request: &Request) -> bool {
        let forced = self.limits.fua && request.flags.has(Flags::FUA);
        is_write(request.op) && (forced || !self.limits.volatile_cache)
    }

    fn check_status(&mut self, request: &Request, completion: &Completion) -> Result<(), Violation> {
        let Completion { status, submitted, finished, .. } = *completion;
        let since = |at: Option<Instant>| at.is_some_and(|at| submitted <= at);
        let beyond = request.op != Op::Flush && request.end() > self.limits.sectors;
        let ordered = request.flags.has(Flags::ORDERED) || request.flags.has(Flags::HEAD_OF_QUEUE);
        let disordered = ordered && self.limits.queuing.is_ata();
        let plain = matches!(request.op, Op::Read | Op::Write | Op::Flush)
            && (self.limits.fua || !request.flags.has(Flags::FUA))
            && !disordered;
        let fits = match status {
            Status::Done => !beyond && !disordered,
            // Aborted by the client, or with another that fails while it is in flight.
            Status::Aborted => {
                since(self.aborted)
                    || (self.limits.queuing.is_ata() && (since(self.failed) || self.note_aborted(request)))
            }
            Status::PowerLost => since(self.dark),
            Status::OutOfRange => beyond,
            Status::Unsupported => !plain,
            Status::MediumError => request.op == Op::Read,
        };
        if matches!(status, Status::OutOfRange | Status::MediumError) {
            self.failed = Some(finished);
        }
        match fits {
            true => Ok(()),
            false => broken_rule(3, format!("{status:?} is no answer to {request:?}")),
        }
    }

    /// Notes an aborted request with those in flight. True if there are any.
    fn note_aborted(&mut self, request: &Request) -> bool {
        let others: BTreeSet<usize> = self.flying.values().copied().collect();
        let some = !others.is_empty();
        self.unexplained.push((*request, others));
        some
    }

    /// Checks that one of the requests in flight with an aborted one has failed, once all of them have ended. A request that
    /// an abort or a cut ended may have failed before.
    fn check_explained(&mut self, ended: usize, status: Status) -> Result<(), Violation> {
        let failed = !matches!(status, Status::Done | Status::Unsupported);
        self.unexplained.retain(|(_, others)| !(failed && others.contains(&ended)));
        self.unexplained.iter_mut().for_each(|(_, others)| _ = others.remove(&ended));
        match self.unexplained.iter().find(|(_, others)| others.is_empty()) {
            Some((request, _)) => broken_rule(3, format!("aborted, but no other failed: {request:?}")),
            None => Ok(()),
        }
    }

    fn check_landing(&mut self, now: Instant, landing: &Landing) -> Result<(), Violation> {
        if landing.from > landing.to || landing.to > now {
            return broken_rule(5, format!("reported at {now:?}: {landing:?}"));
        }
        self.trace.landings.push(*landing);
        match landing.kind {
            LandingKind::Gone | LandingKind::Whole => return Ok(()),
            _ if landing.sectors == 0 => return broken_rule(5, format!("of no sectors: {landing:?}")),
            LandingKind::Taken => return self.check_taken(landing),
            _ => {}
        }
        let mut seen = Vec::new();
        self.sight.visit_images(landing, |image, part| seen.push((image, *part)));
        seen.iter().try_for_each(|(image, part)| self.apply_part(*image, part))
    }

    /// Checks that an array's numbers rise with the writes that it accepts.
    fn check_taken(&mut self, landing: &Landing) -> Result<(), Violation> {
        let rises = landing.number >= self.number;
        self.number = landing.number;
        let life = (landing.stamp as usize).checked_sub(1).and_then(|index| self.lives.get(index));
        let inside = life.is_some_and(|it| landing.lba >= it.request.lba && landing.end() <= it.request.end());
        let whole = landing.run.sector <= landing.sector && self.sight.is_array();
        match rises && inside && whole {
            true => Ok(()),
            false => broken_rule(5, format!("taken: {landing:?}")),
        }
    }

    /// Applies a landing to one copy's image.
    fn apply_part(&mut self, image: u32, landing: &Landing) -> Result<(), Violation> {
        let known = (landing.stamp as usize).checked_sub(1).and_then(|index| self.lives.get_mut(index));
        let Some(life) = known else {
            return broken_rule(5, format!("unknown stamp: {landing:?}"));
        };
        let inside = landing.lba >= life.request.lba && landing.end() <= life.request.end();
        if !is_write(life.request.op) || !inside {
            return broken_rule(5, format!("{landing:?} of {:?}", life.request));
        }
        let copy = image as usize;
        let first = (landing.lba - life.request.lba) as usize + copy * life.request.sectors as usize;
        let mut twice = false;
        for sector in &mut life.reported[first..first + landing.sectors as usize] {
            twice |= sector.0 > 0;
            *sector = (sector.0.saturating_add(1), sector.1 || landing.kind == LandingKind::Landed);
        }
        // A layer may send a write again that was aborted with another's error; an array does so after a reset as well.
        if twice && !self.limits.queuing.is_ata() && !self.sight.is_array() {
            return broken_rule(5, format!("reported twice: {landing:?} of {:?}", life.request));
        }
        self.checkers[copy].1.apply_block(landing);
        Ok(())
    }

    fn cut_power(&mut self, now: Instant) -> Result<(), Violation> {
        self.dark = Some(Instant::FAR);
        let reported = self.trace.landings.len();
        self.apply_control(now, &Control::PowerCut)?;
        self.check_all_accounted()?;
        self.check_torn(reported)?;
        for (copy, (checker, image)) in self.checkers.iter_mut().enumerate() {
            if let Err(breach) = checker.judge_image(image, PowerFailure::Cut) {
                return broken_rule(4, format!("cut at {now:?}, copy {copy}: {breach:?}"));
            }
        }
        Ok(())
    }

    /// Checks that after a cut every sector of an acknowledged write is on the medium or reported lost; for a mirror, some
    /// copy of it.
    fn check_all_accounted(&self) -> Result<(), Violation> {
        let lost = self.lives.iter().find(|life| {
            let done = life.ended == Some(Status::Done) && is_write(life.request.op);
            let mut sectors = 0..life.request.sectors as usize;
            done && sectors
                .any(|at| life.reported.iter().skip(at).step_by(life.request.sectors as usize).all(|it| it.0 == 0))
        });
        match lost {
            Some(life) => broken_rule(5, format!("after the cut, no word of all of {:?}", life.request)),
            None => Ok(()),
        }
    }

    /// Checks that a cut tears at most one physical sector of each drive, and only as the profile says.
    fn check_torn(&self, reported: usize) -> Result<(), Violation> {
        (0..self.sight.drives()).try_for_each(|member| self.check_torn_on(member, reported))
    }

    fn check_torn_on(&self, member: u32, reported: usize) -> Result<(), Violation> {
        let own =
            |landing: &&Landing| landing.member == member && landing.role != MemberRole::Every && landing.sectors > 0;
        let batch = self.trace.landings[reported..].iter().filter(own);
        let batch: Vec<&Landing> = batch.collect();
        let unit = u64::from(self.limits.physical) / 512;
        let mut torn = batch.iter().filter(|landing| landing.kind == LandingKind::Torn);
        if let Some(first) = torn.clone().next() {
            if self.promise.cut_sector != CutSector::Unreadable {
                let said = self.promise.cut_sector;
                return broken_rule(6, format!("torn, though the profile says {said:?}: {first:?}"));
            }
            let place = first.sector / unit;
            let elsewhere =
                torn.find(|it| it.sector / unit != place || (it.sector + u64::from(it.sectors) - 1) / unit != place);
            if let Some(second) = elsewhere {
                return broken_rule(6, format!("more than one sector torn: {first:?} and {second:?}"));
            }
        }
        let landed = batch.iter().filter(|landing| landing.kind == LandingKind::Landed);
        for landing in landed {
            let end = landing.sector + u64::from(landing.sectors);
            // A run that goes to the medium by itself may end within a physical sector.
            let half = batch.iter().any(|it| {
                it.sector == end && (it.stamp, it.run) == (landing.stamp, landing.run) && it.kind != LandingKind::Landed
            });
            if half && end % unit != 0 {
                return broken_rule(6, format!("half a physical sector landed: {landing:?}"));
            }
        }
        Ok(())
    }
}
