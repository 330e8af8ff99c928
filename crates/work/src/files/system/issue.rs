//! Issues plans to the drive by the rules of [`IoPlan`]: phase after phase. A step waits for a request in flight of its
//! volume that it overlaps if either writes; a plan may have to wait for earlier writes of its volume.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seekwise_disk::block::{Flags, Op, Request};
use seekwise_disk::slab::Slab;

use crate::files::volume::{IoPlan, PlanStep, PlanWait};

/// Plans being issued, and their requests in flight. `O` is the owner of a plan.
pub(super) struct PlanIssuer<O> {
    plans: Slab<ActivePlan<O>>,
    /// The requests in flight, by tag.
    in_flight: Slab<IssuedRequest>,
    /// By volume: its requests in flight.
    volumes: Vec<VolumeRequests>,
    /// Plans whose next step may be issued, in order.
    ready: VecDeque<u32>,
    /// Plans whose next step overlaps a request in flight.
    overlapping: Vec<u32>,
    /// Plans that wait for writes before them ([`PlanWait`]).
    behind_writes: Vec<u32>,
    /// All plans under way, the earliest first.
    live: Vec<u32>,
    ended: VecDeque<EndedPlan<O>>,
    /// How many plans were begun.
    begun: u64,
    /// Later plans pass no write of plans up to this number.
    guarded: u64,
    /// Empty plans for reuse.
    spare: Vec<IoPlan>,
}

/// A plan under way.
struct ActivePlan<O> {
    owner: O,
    /// Rises from plan to plan.
    number: u64,
    volume: u8,
    origin: u16,
    plan: IoPlan,
    /// The index of the step to issue next.
    next: usize,
    /// How many sectors of this step are issued.
    sent: u64,
    /// Number of requests in flight.
    in_flight: u32,
    /// Number of incomplete writes and flushes: steps not wholly issued, and requests in flight.
    writes: u32,
    failed: bool,
}

/// A plan that has ended.
pub(super) struct EndedPlan<O> {
    pub(super) owner: O,
    /// A request of it failed.
    pub(super) failed: bool,
}

/// The request behind a tag.
#[derive(Clone, Copy)]
enum IssuedRequest {
    /// A step of a plan, or a part of it.
    Step { plan: u32, step: u32 },
    /// Computing of a thread.
    Compute(u16),
}

/// The sectors of a request in flight.
struct InFlightExtent {
    first: u64,
    end: u64,
    tag: u32,
}

/// The requests in flight of a volume.
#[derive(Default)]
struct VolumeRequests {
    /// The unit of the device on which it lies.
    unit: u8,
    /// The largest request there, in sectors.
    max_sectors: u64,
    reads: Vec<InFlightExtent>,
    writes: Vec<InFlightExtent>,
}

impl VolumeRequests {
    /// True if a request for these sectors must wait for one in flight.
    fn must_wait(&self, op: Op, first: u64, end: u64) -> bool {
        let overlaps = |other: &InFlightExtent| other.first < end && first < other.end;
        match op {
            Op::Flush => false,
            Op::Read => self.writes.iter().any(overlaps),
            _ => self.writes.iter().any(overlaps) || self.reads.iter().any(overlaps),
        }
    }

    fn extents_mut(&mut self, op: Op) -> &mut Vec<InFlightExtent> {
        if op == Op::Read { &mut self.reads } else { &mut self.writes }
    }
}

impl<O: Copy> PlanIssuer<O> {
    /// Creates an issuer for `volumes` volumes, with no plan under way.
    pub(super) fn new(volumes: usize, max_sectors: u32) -> PlanIssuer<O> {
        PlanIssuer {
            plans: Slab::with_capacity(16),
            in_flight: Slab::with_capacity(64),
            volumes: (0..volumes)
                .map(|_| VolumeRequests { max_sectors: u64::from(max_sectors), ..VolumeRequests::default() })
                .collect(),
            ready: VecDeque::new(),
            overlapping: Vec::new(),
            behind_writes: Vec::new(),
            live: Vec::new(),
            ended: VecDeque::new(),
            begun: 0,
            guarded: 0,
            spare: Vec::new(),
        }
    }

    /// Puts a volume on a unit; requests there have at most `max_sectors` sectors.
    pub(super) fn set_unit(&mut self, volume: u8, unit: u8, max_sectors: u32) {
        let requests = &mut self.volumes[volume as usize];
        (requests.unit, requests.max_sectors) = (unit, u64::from(max_sectors));
    }

    /// Returns an empty plan, from memory that is reused.
    pub(super) fn take_empty_plan(&mut self) -> IoPlan {
        self.spare.pop().unwrap_or_default()
    }

    /// Empties a plan that is no longer needed, for reuse.
    pub(super) fn recycle_plan(&mut self, mut plan: IoPlan) {
        plan.clear();
        self.spare.push(plan);
    }

    /// Begins a plan. The end is reported by [`PlanIssuer::poll_ended_plan`], at once if there are no steps.
    pub(super) fn begin_plan(&mut self, owner: O, origin: u16, volume: u8, plan: IoPlan) {
        let writes = plan.steps().iter().filter(|step| step.op != Op::Read).count() as u32;
        let wait = plan.wait;
        self.begun += 1;
        let id = self.plans.put(ActivePlan {
            owner,
            number: self.begun,
            volume,
            origin,
            plan,
            next: 0,
            sent: 0,
            in_flight: 0,
            writes,
            failed: false,
        });
        self.live.push(id);
        if wait != PlanWait::Nothing && self.must_wait_behind_writes(id) {
            self.behind_writes.push(id);
        } else {
            self.continue_or_end_plan(id);
        }
    }

    /// True if an earlier plan of the same volume has incomplete writes or flushes that the plan waits for.
    fn must_wait_behind_writes(&self, id: u32) -> bool {
        let ActivePlan { volume, plan, .. } = &self.plans[id];
        let is_awaited =
            |steps: &[PlanStep]| plan.wait == PlanWait::Writes || steps.iter().any(|step| step.role.is_log());
        let before = self.live.iter().take_while(|&&live| live != id).map(|&live| &self.plans[live]);
        before
            .filter(|before| before.volume == *volume && before.writes > 0)
            .any(|before| is_awaited(before.plan.steps()))
    }

    /// Continues a plan with nothing in flight at its next phase, or ends it.
    fn continue_or_end_plan(&mut self, id: u32) {
        let active = &self.plans[id];
        if active.next < active.plan.steps().len() && !active.failed {
            self.ready.push_back(id);
            return;
        }
        let active = &mut self.plans[id];
        active.writes = 0;
        self.ended.push_back(EndedPlan { owner: active.owner, failed: active.failed });
        let plan = core::mem::take(&mut active.plan);
        self.recycle_plan(plan);
        self.plans.free(id);
        self.live.retain(|&live| live != id);
        self.release_behind_writes();
    }

    /// Continues the plans that waited for earlier writes which are complete now.
    fn release_behind_writes(&mut self) {
        while let Some(at) = self.behind_writes.iter().position(|&id| !self.must_wait_behind_writes(id)) {
            let id = self.behind_writes.remove(at);
            self.continue_or_end_plan(id);
        }
    }

    /// The next request for the drive.
    pub(super) fn poll_request(&mut self) -> Option<Request> {
        while let Some(&id) = self.ready.front() {
            let active = &self.plans[id];
            let step = active.plan.steps()[active.next];
            let volume = &self.volumes[active.volume as usize];
            let (lba, sectors) = (step.lba + active.sent, (step.sectors - active.sent).min(volume.max_sectors));
            let must_wait = volume.must_wait(step.op, lba, lba + sectors);
            if must_wait || self.passes_guarded_write(id, step.op, lba, lba + sectors) {
                self.ready.pop_front();
                self.overlapping.push(id);
                continue;
            }
            let active = &mut self.plans[id];
            let volume = &mut self.volumes[active.volume as usize];
            let is_last_part = active.sent + sectors == step.sectors;
            let tag = self.in_flight.put(IssuedRequest::Step { plan: id, step: active.next as u32 });
            if step.op != Op::Flush {
                volume.extents_mut(step.op).push(InFlightExtent { first: lba, end: lba + sectors, tag });
            }
            active.writes += u32::from(step.op != Op::Read && !is_last_part);
            active.in_flight += 1;
            active.sent += sectors;
            if is_last_part {
                (active.next, active.sent) = (active.next + 1, 0);
                if active.plan.steps().get(active.next).is_none_or(|next| next.phase != step.phase) {
                    self.ready.pop_front();
                }
            }
            let (unit, origin) = (volume.unit, active.origin);
            return Some(Request {
                tag,
                unit,
                origin,
                op: step.op,
                flags: step.flags,
                lba,
                sectors: sectors as u32,
                stamp: 0,
            });
        }
        None
    }

    /// A request for `micros` microseconds of a thread's computing.
    pub(super) fn compute_request(&mut self, thread: u16, micros: u32) -> Request {
        let tag = self.in_flight.put(IssuedRequest::Compute(thread));
        let (op, flags) = (Op::Compute, Flags::NONE);
        Request { tag, unit: 0, origin: thread, op, flags, lba: 0, sectors: micros, stamp: 0 }
    }

    /// The volume and step of the request with this tag; `None` for computing.
    pub(super) fn request_step(&self, tag: u32) -> Option<(u8, &PlanStep)> {
        match self.in_flight[tag] {
            IssuedRequest::Step { plan, step } => {
                Some((self.plans[plan].volume, &self.plans[plan].plan.steps()[step as usize]))
            }
            IssuedRequest::Compute(_) => None,
        }
    }

    /// Keeps later plans from passing the writes that are planned now: the sectors of some are about to be free.
    pub(super) fn guard_planned_writes(&mut self) {
        self.guarded = self.begun;
    }

    /// True if an earlier, guarded plan has still to issue a write of these sectors.
    fn passes_guarded_write(&self, id: u32, op: Op, first: u64, end: u64) -> bool {
        let active = &self.plans[id];
        if op == Op::Flush || self.guarded == 0 {
            return false;
        }
        let last = self.guarded.min(active.number - 1);
        let overlaps = |step: &PlanStep| step.op == Op::Write && step.lba < end && first < step.lba + step.sectors;
        let guarded = self.live.iter().map(|&live| &self.plans[live]).take_while(|plan| plan.number <= last);
        guarded
            .filter(|plan| plan.volume == active.volume)
            .any(|plan| plan.plan.steps()[plan.next..].iter().any(overlaps))
    }

    /// How many plans were begun.
    pub(super) fn begun_plans(&self) -> u64 {
        self.begun
    }

    /// The number of the plan of a request; `None` for computing.
    pub(super) fn request_plan(&self, tag: u32) -> Option<u64> {
        match self.in_flight[tag] {
            IssuedRequest::Step { plan, .. } => Some(self.plans[plan].number),
            IssuedRequest::Compute(_) => None,
        }
    }

    /// The thread that computes in the request with this tag, if it is computing.
    pub(super) fn computing_thread(&self, tag: u32) -> Option<u16> {
        match self.in_flight[tag] {
            IssuedRequest::Compute(thread) => Some(thread),
            IssuedRequest::Step { .. } => None,
        }
    }

    /// Handles the completion of a request. Returns the thread whose computing it was, if it was computing.
    pub(super) fn complete_request(&mut self, tag: u32, failed: bool) -> Option<u16> {
        let issued = self.in_flight[tag];
        self.in_flight.free(tag);
        let (id, step) = match issued {
            IssuedRequest::Compute(thread) => return Some(thread),
            IssuedRequest::Step { plan, step } => (plan, step),
        };
        let active = &mut self.plans[id];
        let op = active.plan.steps()[step as usize].op;
        if op != Op::Flush {
            let extents = self.volumes[active.volume as usize].extents_mut(op);
            let at = extents.iter().position(|extent| extent.tag == tag).expect("it is at the drive");
            extents.swap_remove(at);
        }
        active.in_flight -= 1;
        active.failed |= failed;
        active.writes -= u32::from(op != Op::Read);
        self.ready.extend(self.overlapping.drain(..));
        let active = &self.plans[id];
        let is_within_phase = active.plan.steps().get(active.next).is_some_and(|next| {
            active.sent > 0 || (active.next > 0 && active.plan.steps()[active.next - 1].phase == next.phase)
        });
        if active.in_flight == 0 && (!is_within_phase || active.failed) {
            self.ready.retain(|&ready| ready != id);
            self.continue_or_end_plan(id);
        } else if !self.behind_writes.is_empty() {
            self.release_behind_writes();
        }
        None
    }

    /// Takes the next plan that has ended.
    pub(super) fn poll_ended_plan(&mut self) -> Option<EndedPlan<O>> {
        self.ended.pop_front()
    }
}
