//! The operating system's driver: it holds requests, joins neighbours, sorts them, splits the large ones, sends so many
//! down at once, and decides what becomes of flushes. It costs no processor time.
//!
//! | part | what it is |
//! |---|---|
//! | [`spec`] | what a driver is told to do |
//! | `commands` | what goes down at once, and whose it is |
//! | `merge` | which neighbours become one command |
//! | `scheduler` | which command is next: in one queue, [`deadline`], [`fair`] |
//!
//! A request larger than `max_transfer` goes down as several commands, each as soon as there is room; it completes
//! with the last of them, and its account follows that one. Above an ATA drive a flush is a barrier as the drivers of the
//! field make it one: it goes down when everything before it has completed, and nothing after it goes down before it has.
//! Above a SCSI drive it goes down as any other; a request *ordered* goes down behind all before it and before all after
//! it, one for the *head of queue* next. What is held behind a barrier waits in part *flush* until that has passed; what
//! a barrier itself waits for is *driver*.
//!
//! A command that came back aborted though nobody above asked for that went down with another's error: each request in it
//! is sent again by itself, as Linux's libata does. What was lost on it is *driver*. A command that takes longer than
//! `timeout` is aborted, above an ATA queue with all beside it by a reset, and sent again so many times; the milliseconds
//! that an operating system spends on that are not modelled.
//!
//! Settings that change while it runs: `driver.depth`, `driver.flush`, `driver.write_through`, `driver.power_off`.

mod commands;
pub mod deadline;
pub mod fair;
mod merge;
mod scheduler;
pub mod spec;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use self::commands::{Commands, Piece, Stage};
use self::merge::{Neighbours, joins};
use self::scheduler::Scheduler;
pub use self::spec::{DriverSpec, FlushPolicy, Plug, PowerOff, SchedulerSpec, WriteThrough};
use crate::block::{
    Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Queuing, Request, SECTOR, Status,
};
use crate::host::carried::Carried;
use crate::record::{DriveLog, Effort, Ledger, Part};
use crate::time::Instant;

/// The driver.
pub struct Driver {
    spec: DriverSpec,
    below: Box<dyn Device>,
    parents: Vec<Parent>,
    free: Vec<u32>,
    commands: Commands,
    /// Commands that wait.
    scheduler: Scheduler,
    /// Where they begin and end; kept where the driver merges.
    neighbours: Neighbours,
    /// Commands for the head of the queue.
    urgent: VecDeque<u32>,
    /// Barriers and what came after one.
    held: VecDeque<u32>,
    /// By tag: the command that was sent down under it.
    sent: Vec<u32>,
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
    /// Sectors below: what lies beyond fails, and is joined with nothing.
    sectors: u64,
    /// The stamps of merged writes; kept where landings are asked for.
    carried: Option<Carried>,
    /// Commands below by when they time out, and their tags; some are back already.
    alarms: VecDeque<(Instant, u32)>,
    /// What waits is held back until then; `FAR` when it is not.
    plugged: Instant,
    /// The supply is cut then; `FAR` when not.
    cut: Instant,
    /// When something is due here.
    own_next: Instant,
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
    /// A flush of its own follows the write.
    through: bool,
    /// It is held, and a barrier that came before has not passed.
    behind: bool,
}

impl Parent {
    fn new(request: Request, now: Instant) -> Parent {
        let (ledger, effort) = (Ledger::open(now), Effort::default());
        Parent { request, ledger, effort, left: 0, status: Status::Done, live: true, through: false, behind: false }
    }
}

impl Driver {
    /// A driver above `below`.
    pub fn new(spec: DriverSpec, below: Box<dyn Device>) -> Driver {
        let limits = below.limits(0);
        let depth = spec.depth.min(limits.depth).max(1);
        let spec = DriverSpec { max_transfer: spec.max_transfer.min(limits.max_transfer).max(1), ..spec };
        let parent = Parent { live: false, ..Parent::new(BLANK, Instant::ZERO) };
        Driver {
            parents: alloc::vec![parent; spec.capacity as usize],
            free: (0..spec.capacity).rev().collect(),
            commands: Commands::with_capacity(spec.capacity as usize),
            scheduler: Scheduler::new(spec.scheduler, spec.capacity as usize),
            neighbours: Neighbours::default(),
            urgent: VecDeque::new(),
            held: VecDeque::new(),
            sent: alloc::vec![0; depth as usize],
            idle_tags: (0..depth).rev().collect(),
            ready: VecDeque::new(),
            head: 0,
            flushing: false,
            ordering: false,
            queuing: limits.queuing,
            depth,
            physical: u64::from(limits.physical) / SECTOR,
            sectors: limits.sectors,
            carried: None,
            alarms: VecDeque::new(),
            plugged: Instant::FAR,
            cut: Instant::FAR,
            own_next: Instant::FAR,
            spec,
            below,
        }
    }

    fn busy(&self) -> u32 {
        self.sent.len() as u32 - self.idle_tags.len() as u32
    }

    /// A flush goes down. Whether the device below caches writes may change while it runs.
    fn forwards_flushes(&self) -> bool {
        match self.spec.flush {
            FlushPolicy::Forward => true,
            FlushPolicy::Cached => self.below.limits(0).volatile_cache,
            FlushPolicy::Drop | FlushPolicy::Never => false,
        }
    }

    /// The request as it is treated here, without a mark that the policy forgets; and whether a flush is to follow it.
    /// The mark is a matter of writes: on anything else it is forgotten with the others.
    fn policed(&self, request: Request) -> (Request, bool) {
        let forwards = !request.flags.has(Flags::FUA) || self.forwards_flushes();
        let write_through = if forwards { self.spec.write_through } else { WriteThrough::Ignore };
        if !request.flags.has(Flags::FUA) || write_through == WriteThrough::Fua {
            return (request, false);
        }
        let writes = matches!(request.op, Op::Write | Op::WriteZeroes);
        let plain = Request { flags: request.flags.without(Flags::FUA), ..request };
        (plain, writes && write_through == WriteThrough::Flush)
    }

    /// Takes in a request that has a number, or answers it at once.
    fn accept(&mut self, now: Instant, index: u32, request: Request) {
        let (down, through) = self.policed(request);
        self.parents[index as usize] = Parent { through, ..Parent::new(down, now) };
        if self.cut != Instant::FAR {
            self.parents[index as usize].status = Status::PowerLost;
            return self.answer(index, now);
        }
        if down.op == Op::Flush && !self.forwards_flushes() {
            return self.answer(index, now);
        }
        let barrier = self.stands_alone(&down) || self.is_ordered(&down);
        let waits = !self.scheduler.is_empty();
        let held = barrier || !self.held.is_empty() || self.flushing || (self.ordering && waits);
        match held && !self.heads_queue(&down) {
            true => self.hold(index),
            false => self.admit(now, index),
        }
    }

    /// Keeps a request back: a barrier, or what came after one.
    fn hold(&mut self, index: u32) {
        let unfinished = self.ordering && !self.scheduler.is_empty();
        self.parents[index as usize].behind = self.flushing || unfinished || !self.held.is_empty();
        self.held.push_back(index);
    }

    /// Puts an accepted request among the waiting.
    fn admit(&mut self, now: Instant, parent: u32) {
        let request = self.parents[parent as usize].request;
        if request.op == Op::Flush {
            self.parents[parent as usize].left = 1;
            return self.await_turn(now, Piece::new(parent, self.head, 0, request.stamp));
        }
        let mut lba = request.lba;
        let mut pieces = 0;
        loop {
            let sectors = self.piece(lba, request.end());
            self.await_turn(now, Piece::new(parent, lba, sectors, request.stamp));
            pieces += 1;
            lba += u64::from(sectors);
            if lba >= request.end() {
                break;
            }
        }
        self.parents[parent as usize].left = pieces;
    }

    fn await_turn(&mut self, now: Instant, piece: Piece) {
        let parent = self.parents[piece.parent as usize].request;
        let request = Request { lba: piece.lba, sectors: piece.sectors, ..parent };
        if self.heads_queue(&request) {
            let number = self.commands.add(request, piece);
            self.commands.get_mut(number).stage = Stage::Urgent;
            return self.urgent.push_back(number);
        }
        let wanted = self.spec.merge && (self.spec.merge_reads || request.op != Op::Read);
        let merges = wanted && joins(&request) && request.end() <= self.sectors;
        if merges && self.joined(&request, piece) {
            return;
        }
        if let Some(plug) = self.spec.plug.filter(|_| self.busy() == 0 && self.scheduler.is_empty()) {
            self.plugged = now + plug.wait;
        }
        let number = self.commands.add(request, piece);
        self.scheduler.add(now, number, &request);
        if merges {
            self.neighbours.insert(number, &request);
        }
    }

    /// Puts a piece to a command that waits and is its neighbour, if there is one that has room.
    fn joined(&mut self, request: &Request, piece: Piece) -> bool {
        let fits = |&number: &u32| {
            let other = &self.commands.get(number).request;
            let programs = !self.scheduler.parts_programs() || other.origin == request.origin;
            programs && other.flags == request.flags && other.sectors + request.sectors <= self.spec.max_transfer
        };
        let (before, behind) = (self.neighbours.before(request).find(fits), self.neighbours.behind(request).find(fits));
        let Some(number) = before.or(behind) else {
            return false;
        };
        let was = self.commands.get(number).request;
        self.neighbours.remove(number, &was);
        match before {
            Some(_) => self.commands.append(number, piece),
            None => self.commands.prepend(number, piece),
        }
        let is = self.commands.get(number).request;
        self.scheduler.moved(number, &was, &is);
        self.neighbours.insert(number, &is);
        true
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
                break;
            }
        }
        self.own_next = self.own_event();
    }

    /// The soonest instant at which something is due here.
    fn own_event(&mut self) -> Instant {
        while let Some(&(at, tag)) = self.alarms.front() {
            if self.is_overdue(at, tag) {
                break;
            }
            self.alarms.pop_front();
        }
        let alarm = self.alarms.front().map_or(Instant::FAR, |&(at, _)| at);
        let may_send = !self.flushing && self.busy() < self.depth && self.plugged == Instant::FAR;
        let scheduler = if may_send { self.scheduler.when() } else { Instant::FAR };
        self.cut.min(self.plugged).min(alarm).min(scheduler)
    }

    /// The command under `tag` is the one that times out at `at`.
    fn is_overdue(&self, at: Instant, tag: u32) -> bool {
        let command = self.commands.get(self.sent[tag as usize]);
        let limit = self.spec.timeout.is_some_and(|timeout| command.sent + timeout == at);
        limit && command.stage == Stage::Below && command.request.tag == tag
    }

    fn send(&mut self, now: Instant) -> bool {
        if self.flushing && self.busy() == 0 {
            self.flushing = false;
        }
        self.release(now);
        if self.flushing || self.busy() >= self.depth {
            return false;
        }
        let Some(number) = self.next_command(now) else {
            return false;
        };
        let tag = self.idle_tags.pop().expect("as many tags as commands below");
        let command = self.commands.get_mut(number);
        (command.stage, command.sent, command.request.tag) = (Stage::Below, now, tag);
        let mut request = command.request;
        if let Some(piece) = self.commands.pieces_of(number).next().filter(|_| request.sectors == 0) {
            request.lba = self.parents[piece.parent as usize].request.lba;
        }
        self.sent[tag as usize] = number;
        self.flushing = self.stands_alone(&request);
        if request.op != Op::Flush {
            self.head = request.end();
        }
        self.note_stamps(number);
        if let Some(timeout) = self.spec.timeout {
            self.alarms.push_back((now + timeout, tag));
        }
        self.below.submit(now, request).expect("room below for the depth it states");
        true
    }

    /// What lands under the stamp of a merged command is told under each request's own.
    fn note_stamps(&mut self, number: u32) {
        let Some(carried) = self.carried.as_mut().filter(|_| self.spec.merge) else {
            return;
        };
        let Request { op, stamp, .. } = self.commands.get(number).request;
        for piece in self.commands.pieces_of(number).filter(|piece| op == Op::Write && piece.stamp != stamp) {
            carried.note(stamp, piece.stamp, piece.lba, piece.lba + u64::from(piece.sectors));
        }
    }

    fn next_command(&mut self, now: Instant) -> Option<u32> {
        if let Some(number) = self.urgent.pop_front() {
            return Some(number);
        }
        if self.stays_plugged(now) {
            return None;
        }
        let number = self.scheduler.next(now, self.head)?;
        if self.spec.merge {
            self.neighbours.remove(number, &self.commands.get(number).request);
        }
        Some(number)
    }

    /// The plug is pulled when enough wait, the time is over, or a barrier waits.
    fn stays_plugged(&mut self, now: Instant) -> bool {
        let enough = self.spec.plug.is_none_or(|plug| self.scheduler.len() >= plug.commands as usize);
        if self.plugged != Instant::FAR && (enough || self.plugged <= now || !self.held.is_empty()) {
            self.plugged = Instant::FAR;
        }
        self.plugged != Instant::FAR
    }

    /// Lets held requests join the queue: a flush when all before it are done, an ordered request when all before it are
    /// sent, the rest up to the next of these.
    fn release(&mut self, now: Instant) {
        while let Some(&parent) = self.held.front() {
            let request = self.parents[parent as usize].request;
            let (alone, ordered) = (self.stands_alone(&request), self.is_ordered(&request));
            let waits = !self.scheduler.is_empty();
            if self.flushing || (self.ordering && waits) {
                return;
            }
            self.passed(now, parent);
            if (alone && (self.busy() > 0 || waits)) || (ordered && waits) {
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

    /// The barriers before a held request have passed: what it waits for from here on is the driver's.
    fn passed(&mut self, now: Instant, index: u32) {
        let parent = &mut self.parents[index as usize];
        if core::mem::take(&mut parent.behind) {
            parent.ledger.until(Part::Flush, now);
        }
    }

    fn returned(&mut self, completion: Completion) {
        let number = self.sent[completion.tag as usize];
        self.idle_tags.push(completion.tag);
        self.scheduler.completed(completion.finished, &self.commands.get(number).request);
        // One command was sent for all of them: the first has its cost.
        let mut effort = completion.effort;
        while let Some(piece) = self.commands.pop(number) {
            self.parents[piece.parent as usize].effort.add(&effort);
            effort = Effort::default();
            self.piece_returned(piece, &completion);
        }
    }

    fn piece_returned(&mut self, piece: Piece, completion: &Completion) {
        let again = piece.tries <= self.spec.retries || self.spec.timeout.is_none();
        let parent = &mut self.parents[piece.parent as usize];
        if completion.status == Status::Aborted && parent.status == Status::Done && again {
            return self.await_turn_alone(completion.finished, piece);
        }
        parent.left -= 1;
        if completion.status != Status::Done && parent.status == Status::Done {
            parent.status = completion.status;
        }
        if parent.left > 0 {
            return;
        }
        parent.ledger.adopt(Part::Driver, completion);
        if core::mem::take(&mut parent.through) && parent.status == Status::Done {
            return self.flush_behind(completion.finished, piece.parent);
        }
        self.answer(piece.parent, completion.finished);
    }

    /// A piece that is sent again shares no command: what it left below keeps the stamp that it went down with.
    fn await_turn_alone(&mut self, now: Instant, piece: Piece) {
        let merge = core::mem::replace(&mut self.spec.merge, false);
        self.await_turn(now, piece);
        self.spec.merge = merge;
    }

    /// The write is done; its flush goes down as any other.
    fn flush_behind(&mut self, now: Instant, index: u32) {
        let request = &mut self.parents[index as usize].request;
        (request.op, request.sectors) = (Op::Flush, 0);
        let request = *request;
        let held = self.stands_alone(&request) || !self.held.is_empty();
        match held && !self.heads_queue(&request) {
            true => self.hold(index),
            false => self.admit(now, index),
        }
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
            self.held.retain(|&other| other != index);
            let below = self.withdraw(now, index);
            let parent = &mut self.parents[index as usize];
            parent.status = status;
            parent.left = below;
            if below == 0 {
                let part = if parent.behind { Part::Flush } else { Part::Driver };
                parent.ledger.until(part, now);
                self.answer(index, now);
            }
        }
    }

    /// Takes a request's pieces out of the commands that wait; what shared those with it goes on waiting. Answers how many
    /// of its pieces are below.
    fn withdraw(&mut self, now: Instant, parent: u32) -> u32 {
        let mut below = 0;
        for number in self.commands.of(parent) {
            if self.commands.get(number).stage == Stage::Below {
                below += self.commands.pieces_of(number).filter(|piece| piece.parent == parent).count() as u32;
                continue;
            }
            let request = self.commands.get(number).request;
            self.scheduler.remove(number, &request);
            self.neighbours.remove(number, &request);
            self.urgent.retain(|&other| other != number);
            while let Some(piece) = self.commands.pop(number) {
                if piece.parent != parent {
                    self.await_turn_alone(now, piece);
                }
            }
        }
        below
    }

    fn abort(&mut self, now: Instant, tag: u32) -> Result<(), ControlError> {
        let known = self.parents.iter().position(|parent| parent.live && parent.request.tag == tag);
        let index = known.ok_or(ControlError::UnknownTag)? as u32;
        self.drop_waiting(now, Status::Aborted, |other| other == tag);
        // What shares a command with others goes on below, and its answer waits for that.
        let alone = |&number: &u32| self.commands.pieces_of(number).all(|piece| piece.parent == index);
        let below = self.commands.of(index).into_iter().filter(alone);
        for tag in below.map(|number| self.commands.get(number).request.tag).collect::<Vec<_>>() {
            self.below.control(now, &Control::Abort(tag))?;
        }
        Ok(())
    }

    /// Everything ends, here and below.
    fn end_all(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        let status = if matches!(control, Control::Reset) { Status::Aborted } else { Status::PowerLost };
        self.drop_waiting(now, status, |_| true);
        self.below.control(now, control)
    }

    fn cut_power(&mut self, now: Instant) -> Result<(), ControlError> {
        self.cut = Instant::FAR;
        let done = self.end_all(now, &Control::PowerCut);
        self.collect_landings();
        if let Some(carried) = &mut self.carried {
            carried.forget();
        }
        done
    }

    fn set(&mut self, now: Instant, key: &str, value: &str) -> Result<(), ControlError> {
        match key.strip_prefix("driver.") {
            None if key == "landings" => {
                self.below.control(now, &Control::Set { key, value })?;
                self.carried = (value == "on").then(Carried::default);
                Ok(())
            }
            None => self.below.control(now, &Control::Set { key, value }),
            Some("depth") => {
                let depth = value.parse().ok().filter(|depth| (1..=self.sent.len() as u32).contains(depth));
                self.depth = depth.ok_or(ControlError::BadValue)?;
                Ok(())
            }
            Some(own) => self.spec.set(own, value),
        }
    }

    fn obey(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        match *control {
            Control::Abort(tag) => self.abort(now, tag),
            Control::PowerCut => self.cut_power(now),
            Control::Reset => self.end_all(now, control),
            Control::PowerOff => match self.spec.at_power_off() {
                PowerOff::Orderly => self.below.control(now, control),
                PowerOff::AtOnce => self.cut_power(now),
                PowerOff::Pause(pause) => {
                    self.cut = self.cut.min(now + pause);
                    Ok(())
                }
            },
            Control::PowerOn => {
                self.cut = Instant::FAR;
                self.below.control(now, control)
            }
            Control::Set { key, value } => self.set(now, key, value),
        }
    }

    /// Does what is due here at `now`: the plug is pulled, the supply goes, commands time out.
    fn own_due(&mut self, now: Instant) {
        if self.plugged <= now {
            self.plugged = Instant::FAR;
        }
        if self.cut <= now {
            self.cut_power(now).expect("a cut is never refused");
        }
        while let Some(&(at, tag)) = self.alarms.front().filter(|&&(at, _)| at <= now) {
            self.alarms.pop_front();
            if !self.is_overdue(at, tag) {
                continue;
            }
            self.commands.count_try(self.sent[tag as usize]);
            let control = if self.queuing.is_ata() { Control::Reset } else { Control::Abort(tag) };
            self.below.control(now, &control).expect("a command that is below");
            while let Some(completion) = self.below.poll_completion() {
                self.returned(completion);
            }
        }
    }

    fn collect_landings(&mut self) {
        if let Some(carried) = &mut self.carried {
            while let Some(landing) = self.below.poll_landing() {
                carried.tell(landing);
            }
        }
    }
}

const BLANK: Request =
    Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 0 };

impl Device for Driver {
    fn limits(&self, unit: u8) -> Limits {
        let below = self.below.limits(unit);
        let fua = below.fua || self.spec.write_through != WriteThrough::Fua;
        Limits { max_transfer: u32::MAX, depth: self.spec.capacity, fua, ..below }
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<(), Request> {
        self.handle_timeout(now);
        let Some(index) = self.free.pop() else {
            return Err(request);
        };
        self.accept(now, index, request);
        self.pump(now);
        Ok(())
    }

    fn control(&mut self, now: Instant, control: &Control<'_>) -> Result<(), ControlError> {
        self.handle_timeout(now);
        let done = self.obey(now, control);
        self.pump(now);
        done
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let below = self.below.poll_timeout().unwrap_or(Instant::FAR);
        let next = self.own_next.min(below);
        (next != Instant::FAR).then_some(next)
    }

    fn handle_timeout(&mut self, now: Instant) {
        while let Some(next) = self.poll_timeout().filter(|&next| next <= now) {
            self.below.handle_timeout(next);
            self.pump(next);
            if self.own_next <= next {
                self.own_due(next);
                self.pump(next);
            }
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.ready.pop_front()
    }

    fn log(&self) -> DriveLog {
        self.below.log()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        self.collect_landings();
        self.carried.as_mut()?.poll()
    }

    fn proceed(&mut self, until: Instant) -> Option<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Some(completion);
            }
            let first = self.own_next.min(until);
            let at = match self.below.proceed(first) {
                Some(completion) => {
                    let at = completion.finished;
                    self.returned(completion);
                    self.pump(at);
                    at
                }
                None if first == until && self.own_next > until => return None,
                None if first == Instant::FAR => return None,
                None => first,
            };
            self.handle_timeout(at);
        }
    }
}
