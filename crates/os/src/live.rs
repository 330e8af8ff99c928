//! A modelled disk at work in real time, with the data of its clients: the layers of [`seekwise_run::sim`], stepped by
//! the clock.
//!
//! One thread has the disk and its clients' connections: it reads their requests and writes their answers itself, so
//! that no thread has to be woken between. Its other messages ([`DiskMessage`]) are new clients and orders to the
//! power; between messages it waits for the device's next instant.
//!
//! A request is submitted at the model's instant of its arrival, and answered when the model has completed it. Late
//! calls change nothing (rule 2 of the contract), so a recorded session that is played in virtual time gives the same
//! instants. The delay that the clock adds is in the [`Receipt`].

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
use seekwise_disk::history::HistoryEvent;
use seekwise_disk::slab::Slab;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::receipt::{ClockSpeed, PathCost, Receipt, Stalls};
use seekwise_work::workload::session_replay::RecordedRequest;

use self::attendance::AttendanceCounters;
use self::clients::{ClientRequest, Clients};
pub use self::clients::{Connection, Inbox, Messages, create_inbox};
use self::content::DiskContent;
pub use self::disk_request::{Caller, CallerAnswer, DiskRequest, ReplyTo};
use self::disk_request::{nbd_error, request_kind, write_data};
pub use self::memory_limits::MemoryRoom;
pub use self::orders::{DiskOrder, OrderReply};
use self::stalls::StallWatch;
use self::transports::LatencyRecorder;
use crate::bytes::{Bytes, UnreadableSector};
use crate::chronicle::Chronicle;
use crate::clock::{BUSY_WAIT, Clock, take_real_time_priority};
use crate::nbd::wire::{self, NbdCommand, RequestHead, error};
use crate::nbd::{MAX_EXTENTS, MAX_REQUEST_BYTES};
use seekwise_run::receipt::demand::DemandKind;
use seekwise_run::receipt::transports::TransportKind;

/// A message to a disk.
#[derive(Debug)]
pub enum DiskMessage {
    /// A new client, with its requests from now on.
    Client(Box<Connection>),
    /// No file descriptor is left for a new connection: disconnect a client that has sent no request. The answer says
    /// whether there was one.
    Crowded(Sender<bool>),
    /// A request of a caller within the program.
    Request(DiskRequest),
    /// A caller within the program wants an empty answer, to measure the round trip.
    Nothing(Caller),
    /// An order; the answer is its result, in words.
    Order(DiskOrder, Sender<OrderReply>),
    /// A wish for the receipt up to now. The demand is counted anew from here.
    Report(Sender<Receipt>),
    /// The end, in order.
    Stop,
}

/// Sectors of a request that are submitted before other requests have their turn: as many as the largest request with
/// data has. Zeroes and trims of up to 4 GiB are submitted in such portions, and no piece is larger.
const PORTION_SECTORS: u64 = MAX_REQUEST_BYTES / SECTOR;

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
    request: DiskRequest,
    /// The first sector that was not submitted yet.
    next_sector: u64,
    /// The first sector after the request.
    end_sector: u64,
    pieces_in_flight: u32,
    status: Status,
    /// Whether a flush is to follow a forced write, for a device without FUA.
    flush: FollowUpFlush,
    arrived: Instant,
    /// Completion of the last piece so far.
    completed: Instant,
    /// Memory reserved for the request.
    reserved_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FollowUpFlush {
    /// No flush is needed.
    None,
    /// The flush is submitted when the data are on the device.
    Due,
    InFlight,
}

/// A piece in flight.
#[derive(Clone, Copy)]
struct DevicePiece {
    /// Index of its job.
    job: u32,
    request: Request,
    submitted: Instant,
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
    /// How many times as fast as the clock the model's time runs.
    speed: f64,
    clients: Clients,
    jobs: Slab<Option<DiskJob>>,
    /// Jobs that have pieces to submit, in order of arrival.
    waiting: VecDeque<u32>,
    /// Answers that go out at the end of this turn.
    replies: Vec<(Caller, CallerAnswer)>,
    /// Pieces in flight, by tag.
    pieces: Slab<Option<DevicePiece>>,
    /// The last stamp given to a request.
    stamp: u64,
    memory_limits: MemoryRoom,
    /// Memory reserved for writes under way.
    reserved_bytes: u64,
    powered: bool,
    /// Instant up to which the model ran ahead of the clock.
    ran_ahead_to: Instant,
    planned_cut: Option<CutPlan>,
    receipt: Receipt,
    latencies: LatencyRecorder,
    /// How long the thread waited, by the clock.
    idle: Span,
    stall_watch: Option<StallWatch>,
    /// An error of the image or the recorder, which ends the disk.
    failure: Option<io::Error>,
    recorder: Option<DiskRecorder>,
    chronicle: Option<Chronicle>,
}

impl LiveDisk {
    /// Creates a disk that begins now. The model's time runs `speed` times as fast as the clock.
    pub fn new(mut device: Box<dyn Device>, bytes: Bytes, speed: f64, planned_cut: Option<CutPlan>) -> LiveDisk {
        let report_landings = Control::Set(LayerSetting::Landings(true));
        device.control(Instant::ZERO, &report_landings).expect("every device reports landings when asked");
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
            memory_limits: MemoryRoom::default(),
            reserved_bytes: 0,
            powered: true,
            ran_ahead_to: Instant::ZERO,
            planned_cut,
            receipt: Receipt { speed: ClockSpeed(speed), ..Receipt::default() },
            latencies: LatencyRecorder::default(),
            idle: Span::ZERO,
            stall_watch: None,
            failure: None,
            recorder: None,
            chronicle: None,
        }
    }

    /// Sets the cost of a connection, if it was measured.
    pub fn with_path_cost(mut self, cost: Option<PathCost>) -> LiveDisk {
        self.receipt.path = cost;
        self
    }

    /// Sets limits of memory: writes beyond them are answered with an error. To be called after
    /// [`LiveDisk::with_cut_history`].
    pub fn with_memory_limits(mut self, limits: MemoryRoom) -> LiveDisk {
        self.clients.set_memory_limit(limits.clients);
        self.content = self.content.with_history_limit(limits.contents);
        LiveDisk { memory_limits: limits, ..self }
    }

    /// Sets the largest number of clients at once.
    pub fn with_client_limit(self, max_clients: usize) -> LiveDisk {
        self.clients.attendance.update_counters(|attendance| attendance.limit = max_clients);
        self
    }

    /// Sets the recorder of its transports' latencies.
    pub(crate) fn with_latency_recorder(self, latencies: LatencyRecorder) -> LiveDisk {
        LiveDisk { latencies, ..self }
    }

    /// The recorder of its transports' latencies.
    pub fn latency_recorder(&self) -> LatencyRecorder {
        self.latencies.clone()
    }

    /// The counters of its clients.
    pub(crate) fn attendance_counters(&self) -> AttendanceCounters {
        self.clients.attendance.clone()
    }

    /// Sets the drives that its array lacks at the beginning, a bit each.
    pub fn without_drives(mut self, lost_drives: u64) -> LiveDisk {
        self.content = self.content.without_drives(lost_drives);
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

    fn record_event(&mut self, event: RecorderEvent<'_>) {
        if let Some(Err(error)) = self.recorder.as_mut().map(|recorder| recorder(event)) {
            self.failure.get_or_insert(io::Error::new(error.kind(), format!("the recording: {error}")));
        }
    }

    /// Serves until it is told to stop, then switches off in order. Errors are those of the image's file and of the
    /// recorder.
    pub fn run(mut self, messages: &mut Messages) -> io::Result<Receipt> {
        self.receipt.precedence = take_real_time_priority();
        self.stall_watch = Some(StallWatch::begin(self.clock));
        let ended = self.serve_messages(messages);
        self.receipt.stalls = self.stall_watch.take().map_or_else(Stalls::default, StallWatch::end);
        ended.and_then(|()| self.shut_down())
    }

    fn serve_messages(&mut self, messages: &mut Messages) -> io::Result<()> {
        loop {
            let stop = self.wait_and_handle_messages(messages);
            self.step_device();
            // Requests that the device completes at once are answered now, not after another look at all clients.
            if self.next_instant().is_some_and(|next| next <= self.model_now()) {
                self.step_device();
            }
            self.send_replies();
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            if stop {
                return Ok(());
            }
        }
    }

    /// Waits for messages and requests until the device's next instant, which counts as idle, and handles them. True if
    /// the disk is to stop.
    fn wait_and_handle_messages(&mut self, messages: &mut Messages) -> bool {
        let began = self.clock.now();
        let may_have_messages = self.wait_for_messages(messages);
        self.idle += self.clock.now().since(began);
        while let Some(message) = if may_have_messages { messages.try_receive() } else { None } {
            if self.handle_message(message) {
                return true;
            }
        }
        for ClientRequest { client, head, data } in self.clients.take_requests() {
            self.accept_request(DiskRequest { head, data, skip: 0, reply_to: ReplyTo::Client(client) });
        }
        false
    }

    /// Sends all answers together: a system call costs more than an answer.
    fn send_replies(&mut self) {
        self.clients.write_answers();
        for (caller, answer) in self.replies.drain(..) {
            caller.answer(answer);
        }
    }

    /// Waits until a message or a request comes, or until the device's next instant. True if there may be messages.
    fn wait_for_messages(&mut self, messages: &mut Messages) -> bool {
        loop {
            let left = self.next_instant().map(|next| self.clock_time_until(next));
            // The last part is waited for busily.
            let may_have_messages =
                self.clients.wait_for_clients(messages, &self.clock, left.map(|left| left.saturating_sub(BUSY_WAIT)));
            if may_have_messages || self.clients.has_requests() || left == Some(Span::ZERO) {
                return may_have_messages;
            }
        }
    }

    /// Handles a message; true if the disk is to stop.
    fn handle_message(&mut self, message: DiskMessage) -> bool {
        match message {
            DiskMessage::Client(connection) => self.clients.add(*connection, self.clock.now()),
            DiskMessage::Crowded(answer) => drop(answer.send(self.clients.drop_silent_client())),
            DiskMessage::Request(request) => self.accept_request(request),
            DiskMessage::Nothing(caller) => self.replies.push((caller, Ok(Vec::new()))),
            DiskMessage::Order(order, answer) => {
                let reply = self.carry_out(&order);
                let _ = answer.send(reply);
            }
            DiskMessage::Report(answer) => {
                let now = self.model_now();
                self.receipt.demand.count_until(now);
                let _ = answer.send(self.receipt_so_far());
                self.receipt.demand.restart(now);
            }
            DiskMessage::Stop => return true,
        }
        false
    }

    /// The present instant of the model. While a disk that was switched off writes out, its time runs ahead of the
    /// clock.
    fn model_now(&self) -> Instant {
        Instant::from_nanos((self.clock.now().nanos() as f64 * self.speed) as u64).max(self.ran_ahead_to)
    }

    /// Converts an instant of the model to one of the clock.
    fn to_clock_time(&self, at: Instant) -> Instant {
        Instant::from_nanos((at.nanos() as f64 / self.speed) as u64)
    }

    /// Time on the clock until the model's `at`.
    fn clock_time_until(&self, at: Instant) -> Span {
        Span::from_nanos((at.saturating_since(self.model_now()).nanos() as f64 / self.speed).ceil() as u64)
    }

    /// Whether a planned cut may come: the power is on, and what a cut leaves is known.
    fn may_be_cut(&self) -> bool {
        self.powered && self.content.cut_refusal().is_none()
    }

    /// The next instant at which something happens by itself.
    fn next_instant(&self) -> Option<Instant> {
        let planned =
            if let Some(CutPlan::At(at)) = self.planned_cut.filter(|_| self.may_be_cut()) { Some(at) } else { None };
        self.device.poll_timeout().into_iter().chain(planned).min()
    }

    /// Steps the device to the present: makes a planned cut that is due, answers complete requests, and submits waiting
    /// ones.
    fn step_device(&mut self) {
        let now = self.model_now();
        if let Some(CutPlan::At(at)) = self.planned_cut.filter(|_| self.may_be_cut())
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

    /// Starts a request as a job, or answers it at once.
    fn accept_request(&mut self, request: DiskRequest) {
        let head = request.head;
        if !self.powered {
            return self.answer_error(request.reply_to, &head, error::IO);
        }
        let is_write = matches!(head.command, NbdCommand::Write | NbdCommand::WriteZeroes);
        let needs_flush = is_write && head.flags & wire::FUA != 0 && !self.limits.fua;
        let (first_sector, sectors) = (head.offset / SECTOR, u64::from(head.length) / SECTOR);
        match head.command {
            NbdCommand::BlockStatus => return self.answer_block_status(&request, first_sector, sectors),
            NbdCommand::Flush => self.plan_cut_if_due(CutPlan::Flush(self.receipt.flushes + 1)),
            NbdCommand::Write | NbdCommand::WriteZeroes => {
                self.plan_cut_if_due(CutPlan::Write(self.receipt.writes + 1));
            }
            _ => {}
        }
        let Some(reserved_bytes) = self.memory_to_reserve(&request) else { return self.refuse_for_memory(request) };
        let job = DiskJob {
            request,
            next_sector: first_sector,
            end_sector: first_sector + sectors,
            pieces_in_flight: 0,
            status: Status::Done,
            flush: if needs_flush { FollowUpFlush::Due } else { FollowUpFlush::None },
            arrived: self.model_now(),
            completed: Instant::ZERO,
            reserved_bytes,
        };
        self.reserved_bytes += reserved_bytes;
        self.receipt.demand.begin_request(job.arrived);
        self.waiting.push_back(self.jobs.put(Some(job)));
    }

    /// Returns the memory to reserve for a write, on its way and where it will lie; `None` if there is not enough.
    fn memory_to_reserve(&mut self, request: &DiskRequest) -> Option<u64> {
        let RequestHead { command, offset, length, .. } = request.head;
        let data_bytes = match command {
            NbdCommand::Write => u64::from(length),
            NbdCommand::WriteZeroes => 0,
            _ => return Some(0),
        };
        let (lba, held) = (offset / SECTOR, self.content.memory_bytes() + self.reserved_bytes);
        let fits = |bytes: &u64| held + bytes <= self.memory_limits.contents;
        // Pieces that exist already are counted only if it matters.
        let bound = Some(self.content.write_memory_bound(lba, data_bytes)).filter(fits);
        let needed = bound.or_else(|| Some(self.content.write_memory(lba, data_bytes)).filter(fits))?;
        self.receipt.held_most = self.receipt.held_most.max(held + needed + self.clients.memory_bytes());
        Some(needed)
    }

    /// Answers ENOSPC to a write for which no memory is left.
    fn refuse_for_memory(&mut self, request: DiskRequest) {
        let receipt = &mut self.receipt;
        receipt.requests += 1;
        receipt.writes += 1;
        receipt.failures += 1;
        receipt.refused_for_memory += 1;
        self.answer_error(request.reply_to, &request.head, error::NO_SPACE);
    }

    /// Makes a cut that is planned for the write or flush of this number, or an earlier one, due before that is
    /// submitted.
    fn plan_cut_if_due(&mut self, reached: CutPlan) {
        let is_due = match (self.planned_cut, reached) {
            (Some(CutPlan::Flush(planned)), CutPlan::Flush(number))
            | (Some(CutPlan::Write(planned)), CutPlan::Write(number)) => number >= planned,
            _ => false,
        };
        if is_due {
            self.planned_cut = Some(CutPlan::At(self.model_now()));
        }
    }

    /// Submits waiting requests, piece by piece, while the device accepts them.
    fn submit_waiting(&mut self, now: Instant) {
        while let Some(&index) = self.waiting.front() {
            let Some(job) = self.jobs[index].as_mut() else {
                self.waiting.pop_front();
                continue;
            };
            let head = job.request.head;
            let is_follow_up = job.flush == FollowUpFlush::Due && job.next_sector == job.end_sector;
            let is_flush = head.command == NbdCommand::Flush || is_follow_up;
            if is_follow_up && head.command != NbdCommand::Flush && job.pieces_in_flight > 0 {
                // The flush is submitted when the pieces are complete.
                self.waiting.pop_front();
                continue;
            }
            let first_sector = head.offset / SECTOR;
            // No piece crosses the end of a portion.
            let portion_left = PORTION_SECTORS - (job.next_sector - first_sector) % PORTION_SECTORS;
            let max_sectors = u64::from(self.limits.max_transfer).max(1).min(portion_left);
            let sectors = if is_flush { 0 } else { (job.end_sector - job.next_sector).min(max_sectors) };
            let op = match head.command {
                _ if is_flush => Op::Flush,
                NbdCommand::Read => Op::Read,
                NbdCommand::Trim => Op::Trim,
                _ => Op::Write,
            };
            let whole = if is_flush { Ok(Ok(None)) } else { job.request.whole_sector_data(self.content.bytes()) };
            let Ok(Ok(whole_sectors)) = whole else {
                self.fail_first_write(index, whole.map(|read| read.map(drop)));
                continue;
            };
            let is_forced = op == Op::Write && head.flags & wire::FUA != 0 && self.limits.fua;
            let flags = if is_forced { Flags::FUA } else { Flags::NONE };
            let tag = self.pieces.claim_place(|| None);
            let (lba, stamp) = (if is_flush { 0 } else { job.next_sector }, self.stamp + 1);
            let request = Request { tag, unit: 0, origin: 0, op, flags, lba, sectors: sectors as u32, stamp };
            if self.device.submit(now, request).is_err() {
                self.pieces.free(tag);
                return;
            }
            self.stamp = stamp;
            job.pieces_in_flight += 1;
            if is_flush {
                job.flush = FollowUpFlush::InFlight;
            } else {
                job.next_sector += sectors;
            }
            if let Some(data) = whole_sectors {
                (job.request.data, job.request.skip) = (data, 0);
            }
            let data = (op == Op::Write).then(|| write_data(&mut job.request, lba, sectors));
            if let Some(chronicle) = &self.chronicle {
                chronicle.update_history(|history| history.record_request(now, &request, data.as_ref()));
            }
            self.content.record_request(now, &request, data);
            let is_submitted = job.next_sector == job.end_sector;
            if is_submitted && (job.flush != FollowUpFlush::Due || job.pieces_in_flight > 0) {
                self.waiting.pop_front();
            } else if (job.next_sector - first_sector).is_multiple_of(PORTION_SECTORS) {
                // Requests that came meanwhile go before the rest of one longer than a portion.
                self.waiting.rotate_left(1);
            }
            self.pieces[tag] = Some(DevicePiece { job: index, request, submitted: now });
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
            (job.status, job.next_sector) = (Status::MediumError, job.end_sector);
        }
        self.answer_job(index);
    }

    /// Takes all landings from the device, then all completions.
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
        let applied = self.content.apply_landings(&landings);
        self.fail_on_error(applied);
    }

    /// Keeps an error of the image, if there is one.
    fn fail_on_error(&mut self, image_result: io::Result<()>) {
        if let Err(error) = image_result {
            self.keep_image_error(error);
        }
    }

    /// Keeps an error of the image, which ends the disk.
    fn keep_image_error(&mut self, error: io::Error) {
        self.failure.get_or_insert(io::Error::new(error.kind(), format!("the image: {error}")));
    }

    /// Records a completed piece, and answers its request if it was the last one.
    fn complete_piece(&mut self, completion: &Completion) {
        let piece = self.pieces.take(completion.tag).expect("a completion of something in flight");
        if self.recorder.is_some() {
            let Request { stamp, op, flags, lba, sectors, tag, .. } = piece.request;
            let (done, ok, fua) = (completion.finished, completion.status == Status::Done, flags.has(Flags::FUA));
            self.record_event(RecorderEvent::Request(&RecordedRequest {
                stamp,
                at: piece.submitted,
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
        self.receipt.demand.add_parts(&completion.parts);
        let recorded = self.content.record_completion(&piece.request, completion, self.stamp);
        self.fail_on_error(recorded);
        let job = self.jobs[piece.job].as_mut().expect("a piece belongs to a job");
        job.pieces_in_flight -= 1;
        job.completed = job.completed.max(completion.finished);
        // A drive that knows no trim leaves the data, which a trim allows.
        let is_unsupported_trim = piece.request.op == Op::Trim && completion.status == Status::Unsupported;
        if job.status == Status::Done && !is_unsupported_trim {
            job.status = completion.status;
        }
        let has_failed = job.status != Status::Done;
        if job.pieces_in_flight > 0 || !has_failed && job.next_sector < job.end_sector {
            return;
        }
        if job.flush == FollowUpFlush::Due && !has_failed {
            self.waiting.push_back(piece.job);
            return;
        }
        self.answer_job(piece.job);
    }

    /// Ends a job and answers it.
    fn answer_job(&mut self, index: u32) {
        let Some(job) = self.jobs.take(index) else { return };
        self.reserved_bytes -= job.reserved_bytes;
        if job.next_sector < job.end_sector {
            // The job failed before all of it was submitted.
            self.waiting.retain(|&other| other != index);
        }
        let DiskRequest { head, reply_to, .. } = job.request;
        let receipt = &mut self.receipt;
        receipt.requests += 1;
        let kind = request_kind(head.command);
        match kind {
            Some(DemandKind::Read) => receipt.reads += 1,
            Some(DemandKind::Flush) => receipt.flushes += 1,
            Some(DemandKind::Write) => receipt.writes += 1,
            None => {}
        }
        receipt.demand.end_request(kind, head.length.into(), job.arrived, job.completed.max(job.arrived));
        // Data that the image could not take are not acknowledged.
        if job.status != Status::Done || self.failure.is_some() {
            receipt.failures += 1;
            return self.answer_error(reply_to, &head, nbd_error(job.status));
        }
        let now = self.clock.now();
        let due = self.to_clock_time(job.completed).min(now);
        self.receipt.count_answer(due, now);
        let is_network = matches!(reply_to, ReplyTo::Client(_));
        let transport = if is_network { TransportKind::Network } else { TransportKind::File };
        let modelled = due.saturating_since(self.to_clock_time(job.arrived));
        self.latencies.update_latencies(|latencies| {
            latencies.transport_mut(transport).add_request(kind, modelled, now.since(due));
        });
        self.answer_success(reply_to, &head);
    }

    /// Answers a successful request; a read with its data.
    fn answer_success(&mut self, reply_to: ReplyTo, head: &RequestHead) {
        let LiveDisk { content, clients, replies, .. } = self;
        let mut read_result = Ok(Ok(()));
        let mut fill_data = |data: &mut [u8]| {
            if head.command == NbdCommand::Read {
                read_result = content.bytes().read_into(head.offset / SECTOR, data);
            }
            if matches!(read_result, Ok(Ok(()))) { Ok(()) } else { Err(error::IO) }
        };
        match reply_to {
            ReplyTo::Client(number) => {
                if let Some(transmission) = clients.client_to_answer(number) {
                    transmission.answer_done(head, fill_data);
                }
            }
            ReplyTo::Caller(caller) => {
                let length = if head.command == NbdCommand::Read { head.length as usize } else { 0 };
                let mut data = vec![0; length];
                let filled = fill_data(&mut data);
                replies.push((caller, filled.map(|()| data)));
            }
        }
        match read_result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.keep_image_error(error),
            Err(_) => self.receipt.failures += 1,
        }
    }

    /// Answers a request with an error.
    fn answer_error(&mut self, reply_to: ReplyTo, head: &RequestHead, error: u32) {
        match reply_to {
            ReplyTo::Client(number) => {
                if let Some(transmission) = self.clients.client_to_answer(number) {
                    transmission.answer_failed(head, error);
                }
            }
            ReplyTo::Caller(caller) => self.replies.push((caller, Err(error))),
        }
    }

    /// Answers a block status (`base:allocation`): a list of extents, each with a length in bytes and flags. Extents
    /// that were never written read as zeroes (flags 3: a hole, zero).
    fn answer_block_status(&mut self, request: &DiskRequest, first_sector: u64, sectors: u64) {
        /// Sectors with data that one answer covers, at most: 256 MiB, whose pieces are found in a millisecond or two.
        /// A client asks again for the rest.
        const MAX_DATA_SECTORS: u64 = 1 << 19;
        const HOLE: u32 = 3;
        let max_extents = if request.head.flags & wire::REQ_ONE != 0 { 1 } else { MAX_EXTENTS };
        let mut extents: Vec<(u32, u32)> = Vec::new();
        let (mut next, end, mut data_left) = (first_sector, first_sector + sectors, MAX_DATA_SECTORS);
        let bytes = self.content.bytes();
        while next < end && data_left > 0 && extents.len() < max_extents {
            let first_data = bytes.first_data_sector(next..end);
            let (extent_end, flags) = if first_data > next {
                (first_data, HOLE)
            } else {
                (bytes.first_hole_sector(next..end.min(next + data_left)), 0)
            };
            extents.push((((extent_end - next) * SECTOR) as u32, flags));
            data_left = data_left.saturating_sub(if flags == 0 { extent_end - next } else { 0 });
            next = extent_end;
        }
        // Callers within the program do not ask for it.
        if let ReplyTo::Client(number) = request.reply_to
            && let Some(transmission) = self.clients.client_to_answer(number)
        {
            transmission.answer_extents(&request.head, &extents);
        }
    }

    /// Fails requests that were not submitted whole.
    fn fail_waiting(&mut self) {
        for index in std::mem::take(&mut self.waiting) {
            if let Some(job) = &mut self.jobs[index] {
                job.status = Status::PowerLost;
                job.next_sector = job.end_sector;
                if job.pieces_in_flight == 0 {
                    self.answer_job(index);
                }
            }
        }
    }

    /// Switches off in order; data that no platter took (a drive that forgets) stay lost.
    fn shut_down(mut self) -> io::Result<Receipt> {
        let now = self.model_now();
        if self.powered {
            self.device.handle_timeout(now);
            self.drain_device();
            self.power_off(now);
        }
        self.send_replies();
        self.record_event(RecorderEvent::End);
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => {
                self.content.bytes().sync_image()?;
                Ok(self.receipt_so_far())
            }
        }
    }
}
