//! Plans on their way to the drive, by the rules that stand at [`Plan`]: phase after phase, no step beside one of its
//! volume that it overlaps where either writes, and a log after all writes that were asked for before it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{Flags, Op, Request};
use crate::files::volume::{Plan, Step, Wait};
use crate::slab::Slab;

/// Plans that are being issued, and what of them is at the drive. `O` says whose a plan is.
pub(super) struct Issue<O> {
    errands: Slab<Errand<O>>,
    /// By tag.
    flying: Slab<Flying>,
    /// Of each volume: what is at the drive.
    lanes: Vec<Lane>,
    /// Errands that may have a request, in order.
    ready: VecDeque<u32>,
    /// Errands whose next step overlaps what is at the drive.
    held: Vec<u32>,
    /// Errands that wait for all writes before them ([`Wait::Writes`]).
    behind: Vec<u32>,
    /// Errands under way, the earliest first.
    live: Vec<u32>,
    /// Those that are over: whose, and whether a request failed.
    ended: VecDeque<(O, bool)>,
    /// Plans to be used again.
    spare: Vec<Plan>,
}

/// A plan under way.
struct Errand<O> {
    owner: O,
    volume: u8,
    origin: u16,
    plan: Plan,
    /// The step to issue next, and how many of its sectors are issued.
    next: usize,
    sent: u64,
    /// Its requests at the drive.
    flying: u32,
    /// Its writes and flushes that are not complete: steps not wholly issued, and requests at the drive.
    writes: u32,
    failed: bool,
}

/// What a tag stands for.
#[derive(Clone, Copy)]
enum Flying {
    /// A step of an errand, or a part of it.
    Step { errand: u32, step: u32 },
    /// Computing of a thread.
    Compute(u16),
}

/// First sector, the one behind the last, and whose it is.
type Extent = (u64, u64, u32);

#[derive(Default)]
struct Lane {
    /// Which of the device's units it lies on.
    unit: u8,
    /// Sectors of the largest request there.
    largest: u64,
    reads: Vec<Extent>,
    writes: Vec<Extent>,
}

impl Lane {
    /// Whether a step there has to wait.
    fn overlaps(&self, op: Op, first: u64, end: u64) -> bool {
        let hits = |one: &Extent| one.0 < end && first < one.1;
        match op {
            Op::Flush => false,
            Op::Read => self.writes.iter().any(hits),
            _ => self.writes.iter().any(hits) || self.reads.iter().any(hits),
        }
    }

    fn of(&mut self, op: Op) -> &mut Vec<Extent> {
        if op == Op::Read { &mut self.reads } else { &mut self.writes }
    }
}

impl<O: Copy> Issue<O> {
    /// Nothing under way on so many volumes.
    pub(super) fn new(volumes: usize, largest: u32) -> Issue<O> {
        Issue {
            errands: Slab::with_capacity(16),
            flying: Slab::with_capacity(64),
            lanes: (0..volumes).map(|_| Lane { largest: u64::from(largest), ..Lane::default() }).collect(),
            ready: VecDeque::new(),
            held: Vec::new(),
            behind: Vec::new(),
            live: Vec::new(),
            ended: VecDeque::new(),
            spare: Vec::new(),
        }
    }

    /// Puts a volume on another unit than the first, which takes requests of so many sectors.
    pub(super) fn put_on(&mut self, volume: u8, unit: u8, largest: u32) {
        let lane = &mut self.lanes[volume as usize];
        (lane.unit, lane.largest) = (unit, u64::from(largest));
    }

    /// An empty plan.
    pub(super) fn plan(&mut self) -> Plan {
        self.spare.pop().unwrap_or_default()
    }

    /// A plan that is not issued.
    pub(super) fn give_back(&mut self, mut plan: Plan) {
        plan.clear();
        self.spare.push(plan);
    }

    /// Begins a plan. It ends in [`Issue::poll_ended`], at once where it asks for nothing.
    pub(super) fn begin(&mut self, owner: O, origin: u16, volume: u8, plan: Plan) {
        let writes = plan.steps().iter().filter(|step| step.op != Op::Read).count() as u32;
        let wait = plan.wait;
        let errand = self.errands.put(Errand {
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
        if wait == Wait::Writes && self.has_writes_before(errand) {
            self.behind.push(errand);
        } else {
            self.go_on(errand);
        }
    }

    /// Whether an earlier plan of the same volume has writes or flushes that are not complete.
    fn has_writes_before(&self, errand: u32) -> bool {
        let volume = self.errands[errand].volume;
        let before = self.live.iter().take_while(|&&live| live != errand);
        before.map(|&live| &self.errands[live]).any(|before| before.volume == volume && before.writes > 0)
    }

    /// An errand with nothing at the drive goes on with its next phase, or ends.
    fn go_on(&mut self, errand: u32) {
        let one = &self.errands[errand];
        if one.next < one.plan.steps().len() && !one.failed {
            self.ready.push_back(errand);
            return;
        }
        let one = &mut self.errands[errand];
        one.writes = 0;
        self.ended.push_back((one.owner, one.failed));
        let plan = core::mem::take(&mut one.plan);
        self.give_back(plan);
        self.errands.free(errand);
        self.live.retain(|&live| live != errand);
        self.release();
    }

    /// What waited for writes before it begins where these are over.
    fn release(&mut self) {
        while let Some(at) = self.behind.iter().position(|&errand| !self.has_writes_before(errand)) {
            let errand = self.behind.remove(at);
            self.go_on(errand);
        }
    }

    /// The next request for the drive.
    pub(super) fn poll(&mut self) -> Option<Request> {
        while let Some(&errand) = self.ready.front() {
            let one = &mut self.errands[errand];
            let step = one.plan.steps()[one.next];
            let lane = &mut self.lanes[one.volume as usize];
            let (lba, sectors) = (step.lba + one.sent, (step.sectors - one.sent).min(lane.largest));
            if lane.overlaps(step.op, lba, lba + sectors) {
                self.ready.pop_front();
                self.held.push(errand);
                continue;
            }
            let last = one.sent + sectors == step.sectors;
            let tag = self.flying.put(Flying::Step { errand, step: one.next as u32 });
            if step.op != Op::Flush {
                lane.of(step.op).push((lba, lba + sectors, tag));
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

    /// A request of so many microseconds of a thread's computing.
    pub(super) fn compute(&mut self, thread: u16, micros: u32) -> Request {
        let tag = self.flying.put(Flying::Compute(thread));
        let (op, flags) = (Op::Compute, Flags::NONE);
        Request { tag, unit: 0, origin: thread, op, flags, lba: 0, sectors: micros, stamp: 0 }
    }

    /// What of the model asked for the request with this tag: volume and step; nothing where a thread computes.
    pub(super) fn step(&self, tag: u32) -> Option<(u8, &Step)> {
        match self.flying[tag] {
            Flying::Step { errand, step } => {
                Some((self.errands[errand].volume, &self.errands[errand].plan.steps()[step as usize]))
            }
            Flying::Compute(_) => None,
        }
    }

    /// The thread that computes, where the request with this tag is that.
    pub(super) fn computes(&self, tag: u32) -> Option<u16> {
        match self.flying[tag] {
            Flying::Compute(thread) => Some(thread),
            Flying::Step { .. } => None,
        }
    }

    /// A request is complete. Answers whose, where a thread computed.
    pub(super) fn complete(&mut self, tag: u32, failed: bool) -> Option<u16> {
        let flying = self.flying[tag];
        self.flying.free(tag);
        let (errand, step) = match flying {
            Flying::Compute(thread) => return Some(thread),
            Flying::Step { errand, step } => (errand, step),
        };
        let one = &mut self.errands[errand];
        let op = one.plan.steps()[step as usize].op;
        if op != Op::Flush {
            let extents = self.lanes[one.volume as usize].of(op);
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
            self.go_on(errand);
        } else if !self.behind.is_empty() {
            self.release();
        }
        None
    }

    /// A plan that is over: whose it was, and whether a request failed.
    pub(super) fn poll_ended(&mut self) -> Option<(O, bool)> {
        self.ended.pop_front()
    }
}
