//! Issues plans to the drive by the rules of [`IoPlan`]: phase after phase; a step waits for any step of its volume
//! that it overlaps if either writes; a log waits for all writes requested before it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use seekwise_disk::block::{Flags, Op, Request};
use seekwise_disk::slab::Slab;

use crate::files::volume::{IoPlan, PlanStep, PlanWait};

/// Plans being issued, and their requests in flight. `O` is the owner of a plan.
pub(super) struct PlanIssuer<O> {
    errands: Slab<ActivePlan<O>>,
    /// By tag.
    flying: Slab<IssuedRequest>,
    /// By volume: its requests in flight.
    lanes: Vec<VolumeRequests>,
    /// Plans that may have a request, in order.
    ready: VecDeque<u32>,
    /// Plans whose next step overlaps a request in flight.
    held: Vec<u32>,
    /// Plans that wait for all writes before them ([`PlanWait::Writes`]).
    behind: Vec<u32>,
    /// Plans under way, the earliest first.
    live: Vec<u32>,
    /// Plans that have ended: the owner, and whether a request failed.
    ended: VecDeque<(O, bool)>,
    /// Empty plans for reuse.
    spare: Vec<IoPlan>,
}

/// A plan under way.
struct ActivePlan<O> {
    owner: O,
    volume: u8,
    origin: u16,
    plan: IoPlan,
    /// The step to issue next, and how many of its sectors are issued.
    next: usize,
    sent: u64,
    /// Requests in flight.
    flying: u32,
    /// Incomplete writes and flushes: steps not wholly issued, and requests in flight.
    writes: u32,
    failed: bool,
}

/// The request behind a tag.
#[derive(Clone, Copy)]
enum IssuedRequest {
    /// A step of a plan, or a part of it.
    Step { errand: u32, step: u32 },
    /// Computing of a thread.
    Compute(u16),
}

/// First sector, end, and tag.
type Extent = (u64, u64, u32);

#[derive(Default)]
struct VolumeRequests {
    /// The unit of the device on which it lies.
    unit: u8,
    /// The largest request there, in sectors.
    largest: u64,
    reads: Vec<Extent>,
    writes: Vec<Extent>,
}

impl VolumeRequests {
    /// True if a step there must wait.
    fn must_wait(&self, op: Op, first: u64, end: u64) -> bool {
        let hits = |one: &Extent| one.0 < end && first < one.1;
        match op {
            Op::Flush => false,
            Op::Read => self.writes.iter().any(hits),
            _ => self.writes.iter().any(hits) || self.reads.iter().any(hits),
        }
    }

    fn extents_mut(&mut self, op: Op) -> &mut Vec<Extent> {
        if op == Op::Read { &mut self.reads } else { &mut self.writes }
    }
}

impl<O: Copy> PlanIssuer<O> {
    /// Creates an issuer for `volumes` volumes, with no plan under way.
    pub(super) fn new(volumes: usize, largest: u32) -> PlanIssuer<O> {
        PlanIssuer {
            errands: Slab::with_capacity(16),
            flying: Slab::with_capacity(64),
            lanes: (0..volumes)
                .map(|_| VolumeRequests { largest: u64::from(largest), ..VolumeRequests::default() })
                .collect(),
            ready: VecDeque::new(),
            held: Vec::new(),
            behind: Vec::new(),
            live: Vec::new(),
            ended: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Puts a volume on another unit than the first, whose largest request has `largest` sectors.
    pub(super) fn set_unit(&mut self, volume: u8, unit: u8, largest: u32) {
        let lane = &mut self.lanes[volume as usize];
        (lane.unit, lane.largest) = (unit, u64::from(largest));
    }

    /// Returns an empty plan.
    pub(super) fn take_plan(&mut self) -> IoPlan {
        self.spare.pop().unwrap_or_default()
    }

    /// Takes back a plan that is not issued.
    pub(super) fn return_plan(&mut self, mut plan: IoPlan) {
        plan.clear();
        self.spare.push(plan);
    }

    /// Begins a plan. The end is reported by [`PlanIssuer::poll_ended`], at once if there are no steps.
    pub(super) fn begin_plan(&mut self, owner: O, origin: u16, volume: u8, plan: IoPlan) {
        let writes = plan.steps().iter().filter(|step| step.op != Op::Read).count() as u32;
        let wait = plan.wait;
        let errand = self.errands.put(ActivePlan {
            owner,
            volume,
            origin,
            plan,
            next: 0,
            sent: 0,
            flying: 0,
            writes,
            failed: false,
        });
        self.live.push(errand);
        if wait == PlanWait::Writes && self.has_writes_before(errand) {
            self.behind.push(errand);
        } else {
            self.continue_plan(errand);
        }
    }

    /// True if an earlier plan of the same volume has incomplete writes or flushes.
    fn has_writes_before(&self, errand: u32) -> bool {
        let volume = self.errands[errand].volume;
        let before = self.live.iter().take_while(|&&live| live != errand);
        before.map(|&live| &self.errands[live]).any(|before| before.volume == volume && before.writes > 0)
    }

    /// Continues a plan with nothing in flight: its next phase, or its end.
    fn continue_plan(&mut self, errand: u32) {
        let one = &self.errands[errand];
        if one.next < one.plan.steps().len() && !one.failed {
            self.ready.push_back(errand);
            return;
        }
        let one = &mut self.errands[errand];
        one.writes = 0;
        self.ended.push_back((one.owner, one.failed));
        let plan = core::mem::take(&mut one.plan);
        self.return_plan(plan);
        self.errands.free(errand);
        self.live.retain(|&live| live != errand);
        self.release_waiting();
    }

    /// Begins plans whose earlier writes are complete.
    fn release_waiting(&mut self) {
        while let Some(at) = self.behind.iter().position(|&errand| !self.has_writes_before(errand)) {
            let errand = self.behind.remove(at);
            self.continue_plan(errand);
        }
    }

    /// The next request for the drive.
    pub(super) fn poll_request(&mut self) -> Option<Request> {
        while let Some(&errand) = self.ready.front() {
            let one = &mut self.errands[errand];
            let step = one.plan.steps()[one.next];
            let lane = &mut self.lanes[one.volume as usize];
            let (lba, sectors) = (step.lba + one.sent, (step.sectors - one.sent).min(lane.largest));
            if lane.must_wait(step.op, lba, lba + sectors) {
                self.ready.pop_front();
                self.held.push(errand);
                continue;
            }
            let last = one.sent + sectors == step.sectors;
            let tag = self.flying.put(IssuedRequest::Step { errand, step: one.next as u32 });
            if step.op != Op::Flush {
                lane.extents_mut(step.op).push((lba, lba + sectors, tag));
            }
            one.writes += u32::from(step.op != Op::Read && !last);
            one.flying += 1;
            one.sent += sectors;
            if last {
                (one.next, one.sent) = (one.next + 1, 0);
                if one.plan.steps().get(one.next).is_none_or(|next| next.phase != step.phase) {
                    self.ready.pop_front();
                }
            }
            let (unit, origin) = (lane.unit, one.origin);
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
        let tag = self.flying.put(IssuedRequest::Compute(thread));
        let (op, flags) = (Op::Compute, Flags::NONE);
        Request { tag, unit: 0, origin: thread, op, flags, lba: 0, sectors: micros, stamp: 0 }
    }

    /// The volume and step of the request with this tag; `None` for computing.
    pub(super) fn plan_step(&self, tag: u32) -> Option<(u8, &PlanStep)> {
        match self.flying[tag] {
            IssuedRequest::Step { errand, step } => {
                Some((self.errands[errand].volume, &self.errands[errand].plan.steps()[step as usize]))
            }
            IssuedRequest::Compute(_) => None,
        }
    }

    /// The thread that computes in the request with this tag, if it is computing.
    pub(super) fn computing_thread(&self, tag: u32) -> Option<u16> {
        match self.flying[tag] {
            IssuedRequest::Compute(thread) => Some(thread),
            IssuedRequest::Step { .. } => None,
        }
    }

    /// Handles the completion of a request. Returns the thread if it was computing.
    pub(super) fn complete_request(&mut self, tag: u32, failed: bool) -> Option<u16> {
        let flying = self.flying[tag];
        self.flying.free(tag);
        let (errand, step) = match flying {
            IssuedRequest::Compute(thread) => return Some(thread),
            IssuedRequest::Step { errand, step } => (errand, step),
        };
        let one = &mut self.errands[errand];
        let op = one.plan.steps()[step as usize].op;
        if op != Op::Flush {
            let extents = self.lanes[one.volume as usize].extents_mut(op);
            let at = extents.iter().position(|extent| extent.2 == tag).expect("it is at the drive");
            extents.swap_remove(at);
        }
        one.flying -= 1;
        one.failed |= failed;
        one.writes -= u32::from(op != Op::Read);
        self.ready.extend(self.held.drain(..));
        let one = &self.errands[errand];
        let begun =
            one.plan.steps().get(one.next).is_some_and(|next| {
                one.sent > 0 || (one.next > 0 && one.plan.steps()[one.next - 1].phase == next.phase)
            });
        if one.flying == 0 && (!begun || one.failed) {
            self.ready.retain(|&ready| ready != errand);
            self.continue_plan(errand);
        } else if !self.behind.is_empty() {
            self.release_waiting();
        }
        None
    }

    /// The next plan that has ended: its owner, and whether a request failed.
    pub(super) fn poll_ended(&mut self) -> Option<(O, bool)> {
        self.ended.pop_front()
    }
}
