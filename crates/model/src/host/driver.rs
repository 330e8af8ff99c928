//! The operating system's driver, a first form: it holds requests, sorts them, splits the large ones and sends so
//! many down at once. It costs no processor time, merges nothing and knows no time-outs; it passes priorities on and
//! does not order by them.
//!
//! A request larger than `max_transfer` goes down as several commands, each as soon as there is room; it completes
//! with the last of them, and its account follows that one. Above an ATA drive a flush is a barrier as the drivers of the
//! field make it one: it goes down when everything before it has completed, and nothing after it goes down before it has.
//! Above a SCSI drive it goes down as any other; a request *ordered* goes down behind all before it and before all after
//! it, one for the *head of queue* next.
//!
//! A command that came back aborted though nobody above asked for that went down with another's error: it is sent again,
//! as Linux's libata does. What was lost on it is *driver*.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::block::{
    Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Queuing, Request, SECTOR, Status,
};
use crate::queue::{Discipline, Queue};
use crate::record::{Effort, Ledger, Part};
use crate::time::Instant;

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Requests it takes from above at once.
    pub capacity: u32,
    /// Commands it has outstanding below at once; the device's own depth is a limit too.
    pub depth: u32,
    /// Which waiting request goes down next; positions are LBAs.
    pub queue: Discipline,
    /// Larger requests are split into commands of at most this many sectors.
    pub max_transfer: u32,
}

/// The driver.
pub struct Driver {
    spec: DriverSpec,
    below: Box<dyn Device>,
    parents: Vec<Parent>,
    free: Vec<u32>,
    /// Pieces that wait: parent and the piece's first sector in the device.
    waiting: Queue<Piece>,
    /// Pieces for the head of the queue.
    urgent: VecDeque<Piece>,
    /// Barriers and what came after one.
    held: VecDeque<u32>,
    /// By tag: what was sent down under it.
    commands: Vec<Piece>,
    idle_tags: Vec<u32>,
    ready: VecDeque<Completion>,
    head: u64,
    flushing: bool,
    /// What waits is the rest of an ordered request.
    ordering: bool,
    queuing: Queuing,
    depth: u32,
    /// Sectors of a physical sector below.
    physical: u64,
}

#[derive(Clone, Copy)]
struct Parent {
    request: Request,
    ledger: Ledger,
    effort: Effort,
    /// Pieces not yet completed.
    left: u32,
    status: Status,
    live: bool,
}

#[derive(Clone, Copy)]
struct Piece {
    parent: u32,
    lba: u64,
    sectors: u32,
}

impl Driver {
    /// A driver above `below`.
    pub fn new(spec: DriverSpec, below: Box<dyn Device>) -> Driver {
        let limits = below.limits(0);
        let depth = spec.depth.min(limits.depth).max(1);
        let spec = DriverSpec { max_transfer: spec.max_transfer.min(limits.max_transfer).max(1), ..spec };
        let blank = Request { op: Op::Flush, ..BLANK };
        let parent = Parent {
            request: blank,
            ledger: Ledger::open(Instant::ZERO),
            effort: Effort::default(),
            left: 0,
            status: Status::Done,
            live: false,
        };
        Driver {
            parents: alloc::vec![parent; spec.capacity as usize],
            free: (0..spec.capacity).rev().collect(),
            waiting: Queue::new(spec.queue, spec.capacity as usize),
            urgent: VecDeque::new(),
            held: VecDeque::new(),
            commands: alloc::vec![Piece { parent: 0, lba: 0, sectors: 0 }; depth as usize],
            idle_tags: (0..depth).rev().collect(),
            ready: VecDeque::new(),
            head: 0,
            flushing: false,
            ordering: false,
            queuing: limits.queuing,
            depth,
            physical: u64::from(limits.physical) / SECTOR,
            spec,
            below,
        }
    }

    fn busy(&self) -> u32 {
        self.depth - self.idle_tags.len() as u32
    }

    /// Puts an accepted request among the waiting.
    fn admit(&mut self, now: Instant, parent: u32) {
        let request = self.parents[parent as usize].request;
        if request.op == Op::Flush {
            self.await_turn(now, Piece { parent, lba: self.head, sectors: 0 });
            self.parents[parent as usize].left = 1;
            return;
        }
        let mut lba = request.lba;
        let mut pieces = 0;
        loop {
            let sectors = self.piece(lba, request.end());
            self.await_turn(now, Piece { parent, lba, sectors });
            pieces += 1;
            lba += u64::from(sectors);
            if lba >= request.end() {
                break;
            }
        }
        self.parents[parent as usize].left = pieces;
    }

    fn await_turn(&mut self, now: Instant, piece: Piece) {
        match self.heads_queue(&self.parents[piece.parent as usize].request) {
            true => self.urgent.push_back(piece),
            false => self.waiting.push(now, piece.lba, piece),
        }
    }

    /// Goes down next.
    fn heads_queue(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::HEAD_OF_QUEUE)
    }

    /// Goes down when nothing else is below, and nothing after it before it is back.
    fn stands_alone(&self, request: &Request) -> bool {
        self.queuing != Queuing::Scsi && request.op == Op::Flush
    }

    /// Goes down behind all that came before, and before all that comes after.
    fn is_ordered(&self, request: &Request) -> bool {
        self.queuing == Queuing::Scsi && request.flags.has(Flags::ORDERED) && !self.heads_queue(request)
    }

    /// Sectors of the next command for `lba..end`. A split falls between physical sectors where it can.
    fn piece(&self, lba: u64, end: u64) -> u32 {
        let most = lba + u64::from(self.spec.max_transfer);
        if end <= most {
            return (end - lba) as u32;
        }
        let aligned = most - most % self.physical;
        let stop = if aligned > lba { aligned } else { most };
        (stop - lba) as u32
    }

    /// Sends down what there is room for, answers what came back, at `now`.
    fn pump(&mut self, now: Instant) {
        loop {
            while let Some(completion) = self.below.poll_completion() {
                self.returned(completion);
            }
            if !self.send(now) {
                return;
            }
        }
    }

    fn send(&mut self, now: Instant) -> bool {
        if self.flushing && self.busy() == 0 {
            self.flushing = false;
        }
        self.release(now);
        if self.flushing {
            return false;
        }
        let Some(&tag) = self.idle_tags.last() else {
            return false;
        };
        let Some(piece) = self.next_piece(now) else {
            return false;
        };
        let parent = &self.parents[piece.parent as usize];
        let lba = if piece.sectors == 0 { parent.request.lba } else { piece.lba };
        let request = Request { tag, lba, sectors: piece.sectors, ..parent.request };
        self.idle_tags.pop();
        self.commands[tag as usize] = piece;
        self.flushing = self.stands_alone(&request);
        if request.op != Op::Flush {
            self.head = request.end();
        }
        self.below.submit(now, request).expect("room below for the depth it states");
        true
    }

    fn next_piece(&mut self, now: Instant) -> Option<Piece> {
        if let Some(piece) = self.urgent.pop_front() {
            return Some(piece);
        }
        let choice = self.waiting.choose(now, self.head, |_, _| 0, |_| 0)?;
        Some(self.waiting.take(choice))
    }

    /// Lets held requests join the queue: a flush when all before it are done, an ordered request when all before it are
    /// sent, the rest up to the next of these.
    fn release(&mut self, now: Instant) {
        while let Some(&parent) = self.held.front() {
            let request = self.parents[parent as usize].request;
            let (alone, ordered) = (self.stands_alone(&request), self.is_ordered(&request));
            let waits = !self.waiting.is_empty();
            if self.flushing || (alone && (self.busy() > 0 || waits)) || ((ordered || self.ordering) && waits) {
                return;
            }
            self.held.pop_front();
            self.ordering = ordered;
            self.admit(now, parent);
            if alone {
                return;
            }
        }
    }

    fn returned(&mut self, completion: Completion) {
        let piece = self.commands[completion.tag as usize];
        self.idle_tags.push(completion.tag);
        let parent = &mut self.parents[piece.parent as usize];
        parent.effort.add(&completion.effort);
        if completion.status == Status::Aborted && parent.status == Status::Done {
            return self.await_turn(completion.finished, piece);
        }
        parent.left -= 1;
        if completion.status != Status::Done && parent.status == Status::Done {
            parent.status = completion.status;
        }
        if parent.left > 0 {
            return;
        }
        parent.ledger.adopt(Part::Driver, &completion);
        self.answer(piece.parent, completion.finished);
    }

    fn answer(&mut self, index: u32, finished: Instant) {
        let parent = &mut self.parents[index as usize];
        parent.live = false;
        self.ready.push_back(Completion {
            tag: parent.request.tag,
            status: parent.status,
            submitted: parent.ledger.start(),
            finished,
            parts: parent.ledger.parts(),
            effort: parent.effort,
        });
        self.free.push(index);
    }

    /// Requests that have not gone down end here; those below are the device's to end.
    fn drop_waiting(&mut self, now: Instant, status: Status, chosen: impl Fn(u32) -> bool) {
        for index in 0..self.parents.len() as u32 {
            let parent = self.parents[index as usize];
            if !parent.live || !chosen(parent.request.tag) {
                continue;
            }
            let below = self.commands_of(index);
            self.waiting.retain(|piece| piece.parent != index);
            self.urgent.retain(|piece| piece.parent != index);
            self.held.retain(|&other| other != index);
            let parent = &mut self.parents[index as usize];
            parent.status = status;
            parent.left = below;
            if below == 0 {
                parent.ledger.until(Part::Driver, now);
                self.answer(index, now);
            }
        }
    }

    fn commands_of(&self, parent: u32) -> u32 {
        let busy = |tag: &u32| !self.idle_tags.contains(tag) && self.commands[*tag as usize].parent == parent;
        (0..self.depth).filter(busy).count() as u32
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        let known = self.parents.iter().position(|parent| parent.live && parent.request.tag == tag);
        let index = known.ok_or(ControlError::UnknownTag)? as u32;
        let below: Vec<u32> = (0..self.depth)
            .filter(|tag| !self.idle_tags.contains(tag) && self.commands[*tag as usize].parent == index)
            .collect();
        self.drop_waiting(now, Status::Aborted, |other| other == tag);
        for tag in below {
            self.below.control(now, &Control::Abort(tag))?;
        }
        Ok(())
    }
}

const BLANK: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Read, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

impl Device for Driver {
    fn limits(&self, unit: u8) -> Limits {
        let below = self.below.limits(unit);
        Limits { max_transfer: u32::MAX, depth: self.spec.capacity, ..below }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.handle_timeout(now);
        let Some(index) = self.free.pop() else {
            return Err(request);
        };
        self.parents[index as usize] = Parent {
            request,
            ledger: Ledger::open(now),
            effort: Effort::default(),
            left: 0,
            status: Status::Done,
            live: true,
        };
        let barrier = self.stands_alone(&request) || self.is_ordered(&request);
        let held = barrier || !self.held.is_empty() || self.flushing || (self.ordering && !self.waiting.is_empty());
        match held && !self.heads_queue(&request) {
            true => self.held.push_back(index),
            false => self.admit(now, index),
        }
        self.pump(now);
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let done = match *control {
            Control::Abort(tag) => self.abort(now, tag),
            Control::PowerCut | Control::Reset => {
                let status = if matches!(control, Control::Reset) { Status::Aborted } else { Status::PowerLost };
                self.drop_waiting(now, status, |_| true);
                self.below.control(now, control)
            }
            _ => self.below.control(now, control),
        };
        self.pump(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.below.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.below.poll_timeout() {
            if next > now {
                break;
            }
            self.below.handle_timeout(next);
            self.pump(next);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.below.poll_landing()
    }

    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            let completion = self.below.proceed(until)?;
            let at = completion.finished;
            self.returned(completion);
            self.pump(at);
            self.handle_timeout(at);
        }
    }
}
