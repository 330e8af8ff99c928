//! A modelled disk at work in real time: the layers of [`seekwise_run::sim`], stepped by the clock, with bytes.
//!
//! One thread has the disk and its clients' connections: it reads their requests and writes their answers itself, so that no thread
//! has to be woken between. Its other messages ([`DiskMessage`]) are new clients and orders to the power; between messages it waits for
//! the device's next instant. A request is submitted at the model's instant of its arrival, and answered when the model's
//! completion has come. So a recorded session that is played in virtual time gives the same instants: late calls change nothing
//! (rule 2 of the contract). The delay that the clock adds is in the [`Receipt`].

pub mod array_history;
pub mod attendance;
mod clients;
pub mod content;
mod disk_request;
mod memory_limits;
mod orders;
mod stalls;
pub mod transports;

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::Sender;

use seekwise_disk::block::setting::LayerSetting;
use seekwise_disk::block::{Completion, Control, Device, Flags, Landing, Limits, Op, Request, SECTOR, Status};
use seekwise_disk::history::{HistoryEvent, WriteData};
use seekwise_disk::slab::Slab;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::receipt::{ClockSpeed, PathCost, Receipt, Stalls};
use seekwise_work::workload::session_replay::RecordedRequest;

use self::attendance::AttendanceCounters;
use self::clients::{ClientRequest, Clients};
pub use self::clients::{Connection, Inbox, Messages, create_inbox};
use self::content::DiskContent;
pub use self::disk_request::{Caller, DiskRequest, ReplyTo};
pub use self::memory_limits::MemoryRoom;
pub use self::orders::{DiskOrder, OrderReply};
use self::stalls::StallWatch;
use self::transports::DoorRecorder;
use crate::bytes::{Bytes, UnreadableSector};
use crate::chronicle::Chronicle;
use crate::clock::{BUSY_WAIT, Clock, take_real_time_priority};
use crate::nbd::wire::{self, NbdCommand, RequestHead, error};
use crate::nbd::{EXTENTS, LARGEST};
use seekwise_run::receipt::transports::TransportKind;

/// A message to a disk.
#[derive(Debug)]
pub enum DiskMessage {
    /// A new client, with its requests from now on.
    Client(Box<Connection>),
    /// No descriptor is left for a new connection: a client that has sent no request is to give way. The answer says whether one did.
    Crowded(Sender<bool>),
    /// A request of a caller within the program.
    Asked(DiskRequest),
    /// A caller within the program wants an answer and nothing else.
    Nothing(Caller),
    /// An order; the answer is its result, in words.
    Order(DiskOrder, Sender<OrderReply>),
    /// The end, in order.
    Stop,
}

/// Sectors of a request that are handed down before others have their turn: the largest request with data. Zeroes and trims of
/// up to 4 GiB go in such portions, and no piece is larger.
const AT_ONCE: u64 = LARGEST / SECTOR;

/// A planned power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutPlan {
    /// At this instant of the model.
    At(Instant),
    /// After so many flushes.
    Flush(u64),
    /// After so many writes.
    Write(u64),
}

/// A client's request under way, in pieces that the device accepts.
struct DiskJob {
    asked: DiskRequest,
    /// First sector that was not handed down yet, and the end.
    next: u64,
    end: u64,
    /// Pieces in flight.
    below: u32,
    status: Status,
    /// Whether a flush is to follow, as the device has no FUA, or is in flight.
    flush: FollowUpFlush,
    /// Arrival, and completion of the last piece.
    came: Instant,
    done: Instant,
    /// Memory reserved for it.
    aside: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowUpFlush {
    None,
    Follows,
    Below,
}

/// A piece in flight.
#[derive(Clone, Copy)]
struct DevicePiece {
    job: u32,
    request: Request,
    /// When the device took it.
    at: Instant,
}

/// An event for a recorder.
#[derive(Clone, Copy, Debug)]
pub enum RecorderEvent<'a> {
    /// A finished request, as the device took it.
    Request(&'a RecordedRequest),
    /// An order at an instant: `cut`, `off`, `on`, or a setting as `KEY=VALUE`.
    Order(Instant, &'a str),
    /// The disk has ended.
    End,
}

/// Records the events of a disk.
pub type DiskRecorder = Box<dyn FnMut(RecorderEvent<'_>) -> io::Result<()> + Send>;

/// A modelled disk at work.
pub struct LiveDisk {
    device: Box<dyn Device>,
    limits: Limits,
    /// Levels whose keys orders may set; none if no stack is modelled.
    levels: Vec<String>,
    content: DiskContent,
    clock: Clock,
    /// Nanoseconds of the model in one of the clock.
    speed: f64,
    clients: Clients,
    jobs: Slab<Option<DiskJob>>,
    /// Jobs that have pieces to hand down, in order of arrival.
    waiting: VecDeque<u32>,
    /// Answers that go out at the end of this turn.
    replies: Vec<(Caller, Result<Vec<u8>, u32>)>,
    /// Pieces in flight, by tag.
    pieces: Slab<Option<DevicePiece>>,
    stamp: u64,
    /// Limits of its memory, and the memory reserved for writes under way.
    room: MemoryRoom,
    aside: u64,
    powered: bool,
    /// Instant up to which the model ran ahead of the clock.
    ahead: Instant,
    plan: Option<CutPlan>,
    receipt: Receipt,
    measured: DoorRecorder,
    /// How long the thread waited, by the clock.
    idle: Span,
    watch: Option<StallWatch>,
    trouble: Option<io::Error>,
    recorder: Option<DiskRecorder>,
    chronicle: Option<Chronicle>,
}

impl LiveDisk {
    /// Creates a disk that begins now. The model's time runs `speed` times as fast as the clock.
    pub fn new(mut device: Box<dyn Device>, bytes: Bytes, speed: f64, plan: Option<CutPlan>) -> LiveDisk {
        let wanted = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &wanted).expect("every device reports landings when asked");
        let limits = device.limits(0);
        LiveDisk {
            device,
            limits,
            levels: Vec::new(),
            content: DiskContent::new(bytes),
            clock: Clock::start(),
            speed,
            clients: Clients::default(),
            jobs: Slab::with_capacity(0),
            waiting: VecDeque::new(),
            replies: Vec::new(),
            pieces: Slab::with_capacity(0),
            stamp: 0,
            room: MemoryRoom::default(),
            aside: 0,
            powered: true,
            ahead: Instant::ZERO,
            plan,
            receipt: Receipt { speed: ClockSpeed(speed), ..Receipt::default() },
            measured: DoorRecorder::default(),
            idle: Span::ZERO,
            watch: None,
            trouble: None,
            recorder: None,
            chronicle: None,
        }
    }

    /// Sets the cost of a connection, if it was measured.
    pub fn with_path_cost(mut self, path: Option<PathCost>) -> LiveDisk {
        self.receipt.path = path;
        self
    }

    /// Sets limits of memory: writes beyond them are answered with an error. To be called after [`LiveDisk::with_cut_history`].
    pub fn with_memory_limits(mut self, room: MemoryRoom) -> LiveDisk {
        self.clients.set_memory_limit(room.clients);
        self.content = self.content.with_history_limit(room.contents);
        LiveDisk { room, ..self }
    }

    /// Sets the largest number of clients at once.
    pub fn with_client_limit(self, clients: usize) -> LiveDisk {
        self.clients.book.write(|book| book.limit = clients);
        self
    }

    /// Sets the recorder of its transports' latencies.
    pub(crate) fn with_latency_recorder(self, measured: DoorRecorder) -> LiveDisk {
        LiveDisk { measured, ..self }
    }

    /// The recorder of its transports' latencies.
    pub fn latency_recorder(&self) -> DoorRecorder {
        self.measured.clone()
    }

    /// The counters of its clients.
    pub(crate) fn attendance_counters(&self) -> AttendanceCounters {
        self.clients.book.clone()
    }

    /// Sets the drives that its array lacks at the beginning, a bit each.
    pub fn without_drives(mut self, lost: u64) -> LiveDisk {
        self.content = self.content.without_drives(lost);
        self
    }

    /// Keeps the history of this stack's array, so that what a cut leaves is known while a drive is lost; see
    /// [`DiskContent::with_cut_history`]. To be called after [`LiveDisk::without_drives`].
    pub fn with_cut_history(mut self, stack: &Stack) -> LiveDisk {
        self.content = self.content.with_cut_history(stack);
        self
    }

    /// Sets the layers of its stack: a refused order says whether the layer is missing or the value does not fit.
    pub fn with_layers(mut self, stack: &Stack) -> LiveDisk {
        self.levels = stack.layer_names();
        self.levels.push("drive".to_owned());
        self
    }

    /// Sets a recorder of all events; its errors end the disk, as those of the image do.
    pub fn with_recorder(mut self, recorder: DiskRecorder) -> LiveDisk {
        self.recorder = Some(recorder);
        self
    }

    /// Sets a chronicle of all events, with the data.
    pub fn with_chronicle(mut self, chronicle: Chronicle) -> LiveDisk {
        self.chronicle = Some(chronicle);
        self
    }

    fn record_event(&mut self, what: RecorderEvent<'_>) {
        if let Some(Err(error)) = self.recorder.as_mut().map(|recorder| recorder(what)) {
            self.trouble.get_or_insert(io::Error::new(error.kind(), format!("the recording: {error}")));
        }
    }

    /// Serves until it is told to stop, then switches off in order. Errors are those of the image's file and of the recorder.
    pub fn run(mut self, messages: &mut Messages) -> io::Result<Receipt> {
        self.receipt.precedence = take_real_time_priority();
        self.watch = Some(StallWatch::begin(self.clock));
        let ended = self.serve_messages(messages);
        self.receipt.stalls = self.watch.take().map_or_else(Stalls::default, StallWatch::end);
        ended.and_then(|()| self.shut_down())
    }

    fn serve_messages(&mut self, messages: &mut Messages) -> io::Result<()> {
        loop {
            let stop = self.take_messages(messages);
            self.step_device();
            // Requests that are answered at once are so now, not after another look at all clients.
            if self.next_instant().is_some_and(|next| next <= self.now()) {
                self.step_device();
            }
            self.send_replies();
            if let Some(trouble) = self.trouble.take() {
                return Err(trouble);
            }
            if stop {
                return Ok(());
            }
        }
    }

    /// Handles messages and requests; waits for them until the device's next instant, which counts as idle. True if it is to stop.
    fn take_messages(&mut self, messages: &mut Messages) -> bool {
        let from = self.clock.now();
        let is_woken = self.wait_for_messages(messages);
        self.idle += self.clock.now().since(from);
        while let Some(message) = if is_woken { messages.try_receive() } else { None } {
            if self.handle_message(message) {
                return true;
            }
        }
        for ClientRequest { client, head, data } in self.clients.take_requests() {
            self.take_request(DiskRequest { head, data, skip: 0, whom: ReplyTo::Client(client) });
        }
        false
    }

    /// Sends all answers together: a system call costs more than an answer.
    fn send_replies(&mut self) {
        self.clients.write_answers();
        for (caller, outcome) in self.replies.drain(..) {
            caller.answer(outcome);
        }
    }

    /// Waits until something comes, or until the device's next instant. True if there may be messages.
    fn wait_for_messages(&mut self, messages: &mut Messages) -> bool {
        loop {
            let left = self.next_instant().map(|next| self.time_until(next));
            // The last part is waited for awake.
            let is_woken =
                self.clients.wait_for_clients(messages, &self.clock, left.map(|left| left.saturating_sub(BUSY_WAIT)));
            if is_woken || self.clients.has_requests() || left == Some(Span::ZERO) {
                return is_woken;
            }
        }
    }

    fn handle_message(&mut self, message: DiskMessage) -> bool {
        match message {
            DiskMessage::Client(connection) => self.clients.add(*connection, self.clock.now()),
            DiskMessage::Crowded(answer) => drop(answer.send(self.clients.drop_silent_client())),
            DiskMessage::Asked(asked) => self.take_request(asked),
            DiskMessage::Nothing(caller) => self.replies.push((caller, Ok(Vec::new()))),
            DiskMessage::Order(order, answer) => {
                let said = self.carry_out(&order);
                let _ = answer.send(said);
            }
            DiskMessage::Stop => return true,
        }
        false
    }

    /// The present of the model. While a disk that was switched off writes out, its time runs ahead of the clock.
    fn now(&self) -> Instant {
        Instant::from_nanos((self.clock.now().nanos() as f64 * self.speed) as u64).max(self.ahead)
    }

    /// Converts an instant of the model to one of the clock.
    fn to_clock_time(&self, at: Instant) -> Instant {
        Instant::from_nanos((at.nanos() as f64 / self.speed) as u64)
    }

    /// Time on the clock until the model's `at`.
    fn time_until(&self, at: Instant) -> Span {
        Span::from_nanos((at.saturating_since(self.now()).nanos() as f64 / self.speed).ceil() as u64)
    }

    /// Whether a planned cut may come: the power is on, and what a cut leaves is known.
    fn may_be_cut(&self) -> bool {
        self.powered && self.content.cut_refusal().is_none()
    }

    /// The next instant at which something happens by itself.
    fn next_instant(&self) -> Option<Instant> {
        let planned = if let Some(CutPlan::At(at)) = self.plan.filter(|_| self.may_be_cut()) { Some(at) } else { None };
        self.device.poll_timeout().into_iter().chain(planned).min()
    }

    /// Handles all that is due, answers complete requests, and hands down waiting ones.
    fn step_device(&mut self) {
        let now = self.now();
        if let Some(CutPlan::At(at)) = self.plan.filter(|_| self.may_be_cut())
            && at <= now
        {
            self.device.handle_timeout(at);
            self.drain_device();
            self.cut_power(at);
        }
        self.device.handle_timeout(now);
        self.drain_device();
        self.submit_waiting(now);
    }

    /// Takes a request.
    fn take_request(&mut self, asked: DiskRequest) {
        let head = asked.head;
        if !self.powered {
            return self.answer_error(asked.whom, &head, error::IO);
        }
        let fua = head.flags & wire::FUA != 0 && matches!(head.command, NbdCommand::Write | NbdCommand::WriteZeroes);
        let flush = if fua && !self.limits.fua { FollowUpFlush::Follows } else { FollowUpFlush::None };
        let (first, sectors) = (head.offset / SECTOR, u64::from(head.length) / SECTOR);
        match head.command {
            NbdCommand::BlockStatus => return self.answer_block_status(&asked, first, sectors),
            NbdCommand::Flush => {
                self.plan_cut_at_count(|plan| matches!(plan, CutPlan::Flush(_)), self.receipt.flushes + 1)
            }
            NbdCommand::Write | NbdCommand::WriteZeroes => {
                self.plan_cut_at_count(|plan| matches!(plan, CutPlan::Write(_)), self.receipt.writes + 1);
            }
            _ => {}
        }
        let Some(aside) = self.memory_to_reserve(&asked) else { return self.refuse_for_memory(asked) };
        let job = DiskJob {
            asked,
            next: first,
            end: first + sectors,
            below: 0,
            status: Status::Done,
            flush,
            came: self.now(),
            done: Instant::ZERO,
            aside,
        };
        self.aside += aside;
        self.waiting.push_back(self.jobs.put(Some(job)));
    }

    /// Returns the memory to reserve for a write, here and where it will lie; `None` if there is not enough.
    fn memory_to_reserve(&mut self, asked: &DiskRequest) -> Option<u64> {
        let RequestHead { command, offset, length, .. } = asked.head;
        let bytes = match command {
            NbdCommand::Write => u64::from(length),
            NbdCommand::WriteZeroes => 0,
            _ => return Some(0),
        };
        let (lba, held) = (offset / SECTOR, self.content.memory_bytes() + self.aside);
        let fits = |cost: &u64| held + cost <= self.room.contents;
        // Pieces that exist already are counted only if it matters.
        let cost = Some(self.content.write_memory_bound(lba, bytes)).filter(fits);
        let cost = cost.or_else(|| Some(self.content.write_memory(lba, bytes)).filter(fits))?;
        self.receipt.held_most = self.receipt.held_most.max(held + cost + self.clients.memory_bytes());
        Some(cost)
    }

    /// Answers ENOSPC to a write for which no memory is left.
    fn refuse_for_memory(&mut self, asked: DiskRequest) {
        let receipt = &mut self.receipt;
        receipt.requests += 1;
        receipt.writes += 1;
        receipt.failures += 1;
        receipt.refused_for_memory += 1;
        self.answer_error(asked.whom, &asked.head, error::NO_SPACE);
    }

    /// Makes the cut planned for the `count`th of these requests due now, before that request is handed down.
    fn plan_cut_at_count(&mut self, of: impl Fn(&CutPlan) -> bool, count: u64) {
        let due = |plan: &CutPlan| match *plan {
            CutPlan::Flush(at) | CutPlan::Write(at) => count >= at,
            CutPlan::At(_) => false,
        };
        if self.plan.filter(of).is_some_and(|plan| due(&plan)) {
            self.plan = Some(CutPlan::At(self.now()));
        }
    }

    /// Hands down waiting requests while the device accepts them.
    fn submit_waiting(&mut self, now: Instant) {
        while let Some(&index) = self.waiting.front() {
            let Some(job) = self.jobs[index].as_mut() else {
                self.waiting.pop_front();
                continue;
            };
            let head = job.asked.head;
            let is_flush =
                head.command == NbdCommand::Flush || job.flush == FollowUpFlush::Follows && job.next == job.end;
            if is_flush && head.command != NbdCommand::Flush && job.below > 0 {
                // The flush follows when its pieces are back.
                self.waiting.pop_front();
                continue;
            }
            let first = head.offset / SECTOR;
            // No piece exceeds the portion that is handed down before others have their turn.
            let most = u64::from(self.limits.max_transfer).max(1).min(AT_ONCE - (job.next - first) % AT_ONCE);
            let sectors = if is_flush { 0 } else { (job.end - job.next).min(most) };
            let op = match head.command {
                _ if is_flush => Op::Flush,
                NbdCommand::Read => Op::Read,
                NbdCommand::Trim => Op::Trim,
                _ => Op::Write,
            };
            let completed = if is_flush { Ok(Ok(None)) } else { job.asked.whole_sector_data(self.content.bytes()) };
            let Ok(Ok(completed)) = completed else {
                self.fail_first_write(index, completed.map(|read| read.map(drop)));
                continue;
            };
            let forced = op == Op::Write && head.flags & wire::FUA != 0 && self.limits.fua;
            let flags = if forced { Flags::FUA } else { Flags::NONE };
            let tag = self.pieces.claim_place(|| None);
            let (lba, stamp) = (if is_flush { 0 } else { job.next }, self.stamp + 1);
            let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors: sectors as u32, stamp };
            if self.device.submit(now, request).is_err() {
                self.pieces.free(tag);
                return;
            }
            self.stamp = stamp;
            job.below += 1;
            if is_flush {
                job.flush = FollowUpFlush::Below;
            } else {
                job.next += sectors;
            }
            if let Some(completed) = completed {
                (job.asked.data, job.asked.skip) = (completed, 0);
            }
            let data = (op == Op::Write).then(|| write_data(&mut job.asked, lba, sectors));
            if let Some(chronicle) = &self.chronicle {
                chronicle.update_history(|history| history.record_request(now, &request, data.as_ref()));
            }
            self.content.record_request(now, &request, data);
            if job.next == job.end && (job.flush != FollowUpFlush::Follows || job.below > 0) {
                self.waiting.pop_front();
            } else if (job.next - first).is_multiple_of(AT_ONCE) {
                // Requests that came meanwhile go before the rest of one longer than a portion.
                self.waiting.rotate_left(1);
            }
            self.pieces[tag] = Some(DevicePiece { job: index, request, at: now });
            // Completions due at this instant, or at once.
            self.drain_device();
        }
    }

    /// Fails the first waiting write: the sectors that it covers in part cannot be read.
    fn fail_first_write(&mut self, index: u32, read: Result<io::Result<()>, UnreadableSector>) {
        self.waiting.pop_front();
        if let Ok(read) = read {
            self.fail_on_error(read);
        }
        if let Some(job) = &mut self.jobs[index] {
            (job.status, job.next) = (Status::MediumError, job.end);
        }
        self.answer_job(index);
    }

    /// Takes landings, then completions.
    fn drain_device(&mut self) {
        self.take_landings();
        while let Some(completion) = self.device.poll_completion() {
            self.complete_piece(&completion);
        }
    }

    fn take_landings(&mut self) {
        let landings: Vec<Landing> = std::iter::from_fn(|| self.device.poll_landing()).collect();
        if let Some(chronicle) = self.chronicle.as_ref().filter(|_| !landings.is_empty()) {
            chronicle
                .update_history(|history| history.events.extend(landings.iter().copied().map(HistoryEvent::Landed)));
        }
        let landed = self.content.apply_landings(&landings);
        self.fail_on_error(landed);
    }

    /// Ends the disk if the image failed.
    fn fail_on_error(&mut self, done: io::Result<()>) {
        if let Err(error) = done {
            self.keep_image_error(error);
        }
    }

    /// Keeps an error of the image, which ends the disk.
    fn keep_image_error(&mut self, error: io::Error) {
        self.trouble.get_or_insert(io::Error::new(error.kind(), format!("the image: {error}")));
    }

    fn complete_piece(&mut self, completion: &Completion) {
        let piece = self.pieces.take(completion.tag).expect("a completion of something in flight");
        if self.recorder.is_some() {
            let Request { stamp, op, flags, lba, sectors, tag, .. } = piece.request;
            let (done, ok, fua) = (completion.finished, completion.status == Status::Done, flags.has(Flags::FUA));
            self.record_event(RecorderEvent::Request(&RecordedRequest {
                stamp,
                at: piece.at,
                done,
                ok,
                op,
                lba,
                sectors,
                fua,
                tag,
            }));
        }
        if let Some(chronicle) = &self.chronicle {
            chronicle.update_history(|history| history.events.push(HistoryEvent::Over(piece.request, *completion)));
        }
        let over = self.content.record_completion(&piece.request, completion, self.stamp);
        self.fail_on_error(over);
        let job = self.jobs[piece.job].as_mut().expect("a piece belongs to a job");
        job.below -= 1;
        job.done = job.done.max(completion.finished);
        // A drive that knows no trim leaves the data, which a trim allows.
        let passes = piece.request.op == Op::Trim && completion.status == Status::Unsupported;
        if job.status == Status::Done && !passes {
            job.status = completion.status;
        }
        let failed = job.status != Status::Done;
        if job.below > 0 || !failed && job.next < job.end {
            return;
        }
        if job.flush == FollowUpFlush::Follows && !failed {
            self.waiting.push_back(piece.job);
            return;
        }
        self.answer_job(piece.job);
    }

    /// Ends a job and answers it.
    fn answer_job(&mut self, index: u32) {
        let Some(job) = self.jobs.take(index) else { return };
        self.aside -= job.aside;
        if job.next < job.end {
            // The job failed before all of it was handed down.
            self.waiting.retain(|&other| other != index);
        }
        let DiskRequest { head, whom, .. } = job.asked;
        let receipt = &mut self.receipt;
        receipt.requests += 1;
        match head.command {
            NbdCommand::Read => receipt.reads += 1,
            NbdCommand::Flush => receipt.flushes += 1,
            NbdCommand::Write | NbdCommand::WriteZeroes => receipt.writes += 1,
            _ => {}
        }
        // Data that the image could not take are not acknowledged.
        if job.status != Status::Done || self.trouble.is_some() {
            receipt.failures += 1;
            return self.answer_error(whom, &head, protocol_error(job.status));
        }
        let left = self.clock.now();
        let due = self.to_clock_time(job.done).min(left);
        self.receipt.count_answer(due, left);
        let door = if matches!(whom, ReplyTo::Client(_)) { TransportKind::Network } else { TransportKind::File };
        let modelled = due.saturating_since(self.to_clock_time(job.came));
        let moves = matches!(head.command, NbdCommand::Read | NbdCommand::Write);
        self.measured.write(|ways| ways.transport_mut(door).add_request(modelled, left.since(due), moves));
        self.answer_success(whom, &head);
    }

    /// Answers a successful request; a read with its data.
    fn answer_success(&mut self, whom: ReplyTo, head: &RequestHead) {
        let LiveDisk { content, clients, replies, .. } = self;
        let mut found = Ok(Ok(()));
        let mut fill = |data: &mut [u8]| {
            if head.command == NbdCommand::Read {
                found = content.bytes().read_into(head.offset / SECTOR, data);
            }
            if matches!(found, Ok(Ok(()))) { Ok(()) } else { Err(error::IO) }
        };
        match whom {
            ReplyTo::Client(number) => {
                if let Some(line) = clients.client_to_answer(number) {
                    line.answer_done(head, fill);
                }
            }
            ReplyTo::Caller(caller) => {
                let length = if head.command == NbdCommand::Read { head.length as usize } else { 0 };
                let mut data = vec![0; length];
                let filled = fill(&mut data);
                replies.push((caller, filled.map(|()| data)));
            }
        }
        match found {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.keep_image_error(error),
            Err(_) => self.receipt.failures += 1,
        }
    }

    /// Answers a request with an error.
    fn answer_error(&mut self, whom: ReplyTo, head: &RequestHead, error: u32) {
        match whom {
            ReplyTo::Client(number) => {
                if let Some(line) = self.clients.client_to_answer(number) {
                    line.answer_failed(head, error);
                }
            }
            ReplyTo::Caller(caller) => self.replies.push((caller, Err(error))),
        }
    }

    /// Answers a block status, `base:allocation`: what was never written reads as zeroes (flags 3: a hole, zero).
    fn answer_block_status(&mut self, asked: &DiskRequest, first: u64, sectors: u64) {
        /// Sectors with data that are looked at for one answer: 256 MiB, whose pieces are found in a millisecond or two. A client asks
        /// again for the rest.
        const LOOKED_AT: u64 = 1 << 19;
        let most = if asked.head.flags & wire::REQ_ONE != 0 { 1 } else { EXTENTS };
        let mut extents: Vec<(u32, u32)> = Vec::new();
        let (mut at, end, mut left) = (first, first + sectors, LOOKED_AT);
        let bytes = self.content.bytes();
        while at < end && left > 0 && extents.len() < most {
            let data = bytes.first_data_sector(at..end);
            let (to, flags) = if data > at { (data, 3) } else { (bytes.first_hole_sector(at..end.min(at + left)), 0) };
            extents.push((((to - at) * SECTOR) as u32, flags));
            left = left.saturating_sub(if flags == 0 { to - at } else { 0 });
            at = to;
        }
        // Callers within the program do not ask for it.
        if let ReplyTo::Client(number) = asked.whom
            && let Some(line) = self.clients.client_to_answer(number)
        {
            line.answer_extents(&asked.head, &extents);
        }
    }

    /// Fails requests that were not handed down whole.
    fn fail_waiting(&mut self) {
        for index in std::mem::take(&mut self.waiting) {
            if let Some(job) = &mut self.jobs[index] {
                job.status = Status::PowerLost;
                job.next = job.end;
                if job.below == 0 {
                    self.answer_job(index);
                }
            }
        }
    }

    /// Switches off in order; data that no platter took (a drive that forgets) stay lost.
    fn shut_down(mut self) -> io::Result<Receipt> {
        let now = self.now();
        if self.powered {
            self.device.handle_timeout(now);
            self.drain_device();
            self.power_off(now);
        }
        self.send_replies();
        self.record_event(RecorderEvent::End);
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => {
                self.content.bytes().sync_image()?;
                Ok(self.receipt_so_far())
            }
        }
    }
}

/// Returns the data of a write for these sectors.
fn write_data(asked: &mut DiskRequest, lba: u64, sectors: u64) -> WriteData {
    let from = ((lba - asked.head.offset / SECTOR) * SECTOR) as usize;
    let length = (sectors * SECTOR) as usize;
    match asked.head.command {
        NbdCommand::WriteZeroes => {
            WriteData::Zeroes { bytes: sectors * SECTOR, allocated: asked.head.flags & wire::NO_HOLE != 0 }
        }
        _ if length == asked.data.len() => WriteData::Bytes(std::mem::take(&mut asked.data)),
        _ => WriteData::Bytes(asked.data[from..from + length].to_vec()),
    }
}

fn protocol_error(status: Status) -> u32 {
    match status {
        Status::OutOfRange => error::NO_SPACE,
        Status::Unsupported => error::UNSUPPORTED,
        _ => error::IO,
    }
}
