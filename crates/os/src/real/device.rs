//! A real file as a device: its requests go to the kernel by io_uring ([`RingDevice`]) or one call after another
//! ([`CallDevice`]). A transfer that ends short continues where it ended, and an interrupted call is repeated. A
//! failure is reported with operation, place, size and the system's reason.
//!
//! The time of a request until the kernel has taken it (fio's submission latency) counts as `processor`, the time after
//! that (fio's completion latency) as `queue`: what happens in the kernel is not known here. The wait for its turn to
//! be submitted counts as `driver`, as for all devices.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{ReadWriteFlags, pwritev2};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Request, SECTOR, Status,
};
use seekwise_disk::engine::EngineError;
use seekwise_disk::record::{DriveLog, Effort, Part, Parts};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_run::handle::RealHandle;
use seekwise_run::outcome::RunError;
use seekwise_run::receipt::Receipt;

use super::pattern;
use super::uring::{Ring, RingDurability, RingEntry, RingOperation, SlotMemory};
use crate::clock::{BUSY_WAIT, Clock};
use crate::real_time::{TimedDevice, answer_control};

/// Requests that go to the kernel in one call, at most, while there are more. Each takes it some 2 us, and the first is
/// not to wait for the last. Measured on a virtual machine at depth 32: with 4 or 8 the rate was 12 % above that with
/// 64, and the processor time 4 to 14 % below.
const BATCH: usize = 4;

/// Failures that are reported one by one; the others are counted.
const MAX_REPORTS: usize = 3;

/// Retries of a request for which the system has no room (`EAGAIN`), a millisecond apart at most.
const MAX_RETRIES: u32 = 10_000;

/// Properties that all devices of a file share.
pub(crate) struct FileShape {
    /// Name of the file in errors.
    pub name: String,
    /// Limits of the device.
    pub limits: Limits,
    /// By worker: how it opens the file.
    pub handles: Vec<RealHandle>,
    /// By worker: index of its file.
    pub files: Vec<usize>,
    /// The worker of the first handle; a request's origin is its worker.
    pub first_worker: u16,
    /// Bytes of a slot: larger requests are split.
    pub slot_bytes: usize,
    /// Whether reads and writes have slots of their own, so that data that were read are never written.
    pub has_write_slots: bool,
    /// Seed of the pattern that is written.
    pub seed: Seed,
}

impl FileShape {
    fn worker_index(&self, origin: u16) -> usize {
        usize::from(origin.saturating_sub(self.first_worker)).min(self.handles.len() - 1)
    }

    /// Returns the operation of a request; `None` if a file has none for it.
    fn ring_operation(&self, request: &Request) -> Option<RingOperation> {
        let handle = &self.handles[self.worker_index(request.origin)];
        Some(match request.op {
            Op::Read => RingOperation::Read,
            Op::Write if request.flags.has(Flags::FUA) => {
                RingOperation::Write(if handle.whole { RingDurability::Whole } else { RingDurability::Data })
            }
            Op::Write => RingOperation::Write(RingDurability::Not),
            Op::Flush => RingOperation::Sync { data_only: handle.data_only },
            Op::Trim => RingOperation::Hole,
            Op::WriteZeroes => RingOperation::Zeroes,
            Op::Compute => return None,
        })
    }

    /// Returns the status of a request that is not sent to the kernel; `None` if it is.
    fn status_without_kernel(&self, request: &Request, operation: Option<RingOperation>) -> Option<Status> {
        match operation {
            None => Some(Status::Unsupported),
            Some(RingOperation::Sync { .. }) => None,
            Some(_) if request.end() > self.limits.sectors => Some(Status::OutOfRange),
            Some(_) => None,
        }
    }
}

/// A request in flight.
#[derive(Clone, Copy)]
struct InFlightRequest {
    request: Request,
    operation: RingOperation,
    /// Index of the open file.
    file: usize,
    submitted: Instant,
    /// When the requests before it were with the kernel, and its own turn came.
    turn_began: Instant,
    /// When the kernel had taken it.
    taken: Instant,
    bytes_done: u64,
    retries: u32,
}

impl InFlightRequest {
    fn has_data(&self) -> bool {
        matches!(self.operation, RingOperation::Read | RingOperation::Write(_))
    }

    fn length_bytes(&self) -> u64 {
        u64::from(self.request.sectors) * SECTOR
    }

    fn next_piece_bytes(&self, slot_bytes: usize) -> u64 {
        let left = self.length_bytes() - self.bytes_done;
        if self.has_data() { left.min(slot_bytes as u64) } else { left }
    }

    fn completion(&self, status: Status, finished: Instant) -> Completion {
        let mut parts = Parts::default();
        let turn_began = self.turn_began.clamp(self.submitted, finished);
        let taken = self.taken.clamp(turn_began, finished);
        parts.add(Part::Driver, turn_began.since(self.submitted));
        parts.add(Part::Processor, taken.since(turn_began));
        parts.add(Part::Queue, finished.since(taken));
        let (tag, submitted) = (self.request.tag, self.submitted);
        Completion { tag, status, submitted, finished, parts, effort: Effort::COMMAND }
    }
}

/// Reports of failed requests.
#[derive(Default)]
struct FailureReports {
    reports: Vec<String>,
    /// Number of further failures.
    more: u64,
}

impl FailureReports {
    fn add(&mut self, shape: &FileShape, failed: &InFlightRequest, reason: &dyn std::fmt::Display) {
        if self.reports.len() == MAX_REPORTS {
            self.more += 1;
            return;
        }
        let name = &shape.name;
        let (bytes, offset) =
            (failed.length_bytes() - failed.bytes_done, failed.request.lba * SECTOR + failed.bytes_done);
        self.reports.push(match failed.operation {
            RingOperation::Sync { data_only: true } => format!("{name}: fdatasync: {reason}"),
            RingOperation::Sync { data_only: false } => format!("{name}: fsync: {reason}"),
            operation => format!("{name}: {} of {bytes} bytes at {offset}: {reason}", operation_name(operation)),
        });
    }

    /// Takes the reports, in words.
    fn take(&mut self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more requests failed", self.more));
        self.more = 0;
        std::mem::take(&mut self.reports).into_iter().chain(more).collect()
    }
}

fn operation_name(operation: RingOperation) -> &'static str {
    match operation {
        RingOperation::Read => "read",
        RingOperation::Write(_) => "write",
        RingOperation::Hole => "trim",
        RingOperation::Zeroes => "zeroing",
        RingOperation::Sync { .. } => "sync",
    }
}

/// Error of a transfer that met an end of the file where there should be none.
const FILE_ENDED: &str = "the file ended there: it was cut off meanwhile";

/// A device by the kernel's ring.
pub(crate) struct RingDevice {
    shape: FileShape,
    ring: Ring,
    /// By slot.
    in_flight: Vec<Option<InFlightRequest>>,
    /// Free slots, for reads and for writes.
    free_slots: [Vec<u32>; 2],
    /// Slots whose entries are not submitted to the kernel yet.
    unsubmitted: Vec<u32>,
    /// Slots to be retried.
    to_retry: Vec<u32>,
    /// The run's clock, after the first wait.
    clock: Option<Clock>,
    /// When the kernel had taken the last submitted request.
    last_taken: Instant,
    completions: VecDeque<Completion>,
    now: Instant,
    failures: FailureReports,
}

impl RingDevice {
    /// Creates a device of open files, with `depth` requests in flight.
    pub fn new(shape: FileShape, files: Vec<File>, depth: usize) -> io::Result<RingDevice> {
        let slots = if shape.has_write_slots { 2 * depth } else { depth };
        let mut ring = Ring::new(files, slots, shape.slot_bytes)?;
        let write_slots = slots - depth..slots;
        write_slots.for_each(|slot| pattern::fill_pattern(ring.slot(slot), Seed(shape.seed.0 ^ slot as u64)));
        let numbers = |from: usize, to: usize| (from as u32..to as u32).rev().collect();
        let free_slots = match shape.has_write_slots {
            true => [numbers(0, depth), numbers(depth, slots)],
            false => [numbers(0, slots), Vec::new()],
        };
        Ok(RingDevice {
            shape,
            ring,
            in_flight: vec![None; slots],
            free_slots,
            unsubmitted: Vec::with_capacity(depth),
            to_retry: Vec::new(),
            clock: None,
            last_taken: Instant::ZERO,
            completions: VecDeque::with_capacity(depth),
            now: Instant::ZERO,
            failures: FailureReports::default(),
        })
    }

    /// Returns the index of the list in `free_slots` that a request's slot comes from.
    fn slot_list_index(&self, op: Op) -> usize {
        usize::from(self.shape.has_write_slots && op == Op::Write)
    }

    /// Puts the next piece of a slot's request into the ring.
    fn push_piece(&mut self, slot: u32) {
        let in_flight = self.in_flight[slot as usize].expect("a slot in use");
        let (bytes, offset) =
            (in_flight.next_piece_bytes(self.shape.slot_bytes), in_flight.request.lba * SECTOR + in_flight.bytes_done);
        let entry = RingEntry { file: in_flight.file, operation: in_flight.operation, offset, slot_offset: 0, bytes };
        match self.ring.push(slot as usize, &entry) {
            Ok(()) => self.unsubmitted.push(slot),
            Err(error) => self.finish_slot(slot, Err(&error)),
        }
    }

    fn finish_slot(&mut self, slot: u32, result: Result<(), &dyn std::fmt::Display>) {
        let in_flight = self.in_flight[slot as usize].take().expect("a slot in use");
        let status = match result {
            Ok(()) => Status::Done,
            Err(why) => {
                self.failures.add(&self.shape, &in_flight, why);
                Status::MediumError
            }
        };
        self.completions.push_back(in_flight.completion(status, self.now.max(in_flight.submitted)));
        let list = self.slot_list_index(in_flight.request.op);
        self.free_slots[list].push(slot);
    }

    /// Ends, continues or repeats the request of a slot after its piece; `result` is that of [`RingCompletion`].
    fn complete_piece(&mut self, slot: u32, result: i32) {
        let in_flight = self.in_flight[slot as usize].as_mut().expect("a slot in use");
        let has_data = in_flight.has_data();
        match result {
            // EINTR, EAGAIN.
            -4 | -11 if in_flight.retries < MAX_RETRIES => {
                in_flight.retries += 1;
                self.to_retry.push(slot);
            }
            error if error < 0 => {
                let why = io::Error::from_raw_os_error(-error);
                self.finish_slot(slot, Err(&why));
            }
            0 if has_data => self.finish_slot(slot, Err(&FILE_ENDED)),
            bytes if has_data => {
                in_flight.bytes_done += bytes as u64;
                match in_flight.bytes_done < in_flight.length_bytes() {
                    true => self.push_piece(slot),
                    false => self.finish_slot(slot, Ok(())),
                }
            }
            _ => self.finish_slot(slot, Ok(())),
        }
    }

    /// Submits new entries to the kernel, and notes when it had taken them.
    fn submit_new(&mut self) {
        let Some(clock) = self.clock.filter(|_| !self.unsubmitted.is_empty()) else { return };
        if let Err(error) = self.ring.submit() {
            // The outcome is not known: new entries are reported as failed when they are completed, or are never sent.
            self.failures.reports.push(format!("{}: io_uring_enter: {error}", self.shape.name));
        }
        let taken = clock.now();
        self.last_taken = taken;
        for slot in self.unsubmitted.drain(..) {
            if let Some(in_flight) =
                self.in_flight[slot as usize].as_mut().filter(|in_flight| in_flight.bytes_done == 0)
            {
                in_flight.taken = taken;
            }
        }
    }

    fn retry_slots(&mut self) {
        for slot in std::mem::take(&mut self.to_retry) {
            self.push_piece(slot);
        }
    }
}

impl TimedDevice for RingDevice {
    fn wait_for_event(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError> {
        if until.is_none() && self.ring.in_flight() == 0 && self.to_retry.is_empty() && self.completions.is_empty() {
            return Err(EngineError::Silent(self.now));
        }
        if !self.to_retry.is_empty() {
            self.ring.wait_for_completion(Some(Duration::from_millis(1))).map_err(|_| EngineError::Silent(self.now))?;
            self.retry_slots();
        }
        self.clock = Some(*clock);
        self.submit_new();
        loop {
            if self.ring.completions_ready() || !self.completions.is_empty() {
                return Ok(());
            }
            let left = until.map(|until| until.saturating_since(clock.now()));
            if left == Some(Span::ZERO) {
                return Ok(());
            }
            // The last part is waited for busily.
            match left.map(|left| left.saturating_sub(BUSY_WAIT)) {
                Some(Span::ZERO) => {
                    // Completions wait until this thread asks for them.
                    self.ring.wait_for_completion(Some(Duration::ZERO)).map_err(|_| EngineError::Silent(self.now))?;
                    std::hint::spin_loop();
                }
                sleep => {
                    let sleep = sleep.map(|sleep| Duration::from_nanos(sleep.nanos()));
                    self.ring.wait_for_completion(sleep).map_err(|_| EngineError::Silent(self.now))?;
                }
            }
        }
    }

    fn end_run(mut self: Box<Self>) -> Result<Option<Receipt>, RunError> {
        let settled = self.ring.settle();
        settled.map_err(|remainder| RunError::Unfit(format!("{}: {remainder}", self.shape.name))).map(|()| None)
    }

    fn take_troubles(&mut self) -> Vec<String> {
        self.failures.take()
    }
}

impl Device for RingDevice {
    fn limits(&self, _: u8) -> Limits {
        self.shape.limits
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        let list = self.slot_list_index(request.op);
        let Some(slot) = self.free_slots[list].pop() else { return Err(request) };
        self.now = now;
        let operation = self.shape.ring_operation(&request);
        let file = self.shape.files[self.shape.worker_index(request.origin)];
        let status_at_once = self.shape.status_without_kernel(&request, operation);
        let operation = operation.unwrap_or(RingOperation::Sync { data_only: true });
        let turn_began = self.last_taken.max(now);
        let in_flight = InFlightRequest {
            request,
            operation,
            file,
            submitted: now,
            turn_began,
            taken: turn_began,
            bytes_done: 0,
            retries: 0,
        };
        if let Some(status) = status_at_once {
            self.free_slots[list].push(slot);
            self.completions.push_back(in_flight.completion(status, now));
            return Ok(now);
        }
        self.in_flight[slot as usize] = Some(in_flight);
        if request.op == Op::Write {
            let bytes = in_flight.next_piece_bytes(self.shape.slot_bytes) as usize;
            pattern::stamp_pages(&mut self.ring.slot(slot as usize)[..bytes], request.stamp);
        }
        self.push_piece(slot);
        if self.unsubmitted.len() >= BATCH {
            self.submit_new();
        }
        Ok(now)
    }

    /// Requests in flight complete by themselves.
    fn control(&mut self, _: Instant, control: &Control) -> Result<(), ControlError> {
        answer_control(control)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.completions.front().map(|_| self.now + Span::from_nanos(1))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        while let Some(completion) = self.ring.reap() {
            self.complete_piece(completion.slot as u32, completion.result);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }

    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}

    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

/// A device by calls, one after another (pread, pwrite).
pub(crate) struct CallDevice {
    shape: FileShape,
    files: Vec<File>,
    memory: SlotMemory,
    waiting: VecDeque<InFlightRequest>,
    depth: usize,
    completions: VecDeque<Completion>,
    now: Instant,
    failures: FailureReports,
}

impl CallDevice {
    /// Creates a device of open files; `depth` requests may wait for their turn.
    pub fn new(shape: FileShape, files: Vec<File>, depth: usize) -> CallDevice {
        let mut memory = SlotMemory::new(2, shape.slot_bytes);
        pattern::fill_pattern(memory.slot(1), shape.seed);
        let (waiting, completions, failures) = (VecDeque::new(), VecDeque::new(), FailureReports::default());
        CallDevice { shape, files, memory, waiting, depth, completions, now: Instant::ZERO, failures }
    }

    /// Transfers one piece and returns its bytes.
    fn transfer_piece(&mut self, in_flight: &InFlightRequest) -> io::Result<u64> {
        let bytes = in_flight.next_piece_bytes(self.shape.slot_bytes);
        let offset = in_flight.request.lba * SECTOR + in_flight.bytes_done;
        let file = &self.files[in_flight.file];
        match in_flight.operation {
            RingOperation::Read => {
                file.read_at(&mut self.memory.slot(0)[..bytes as usize], offset).map(|done| done as u64)
            }
            RingOperation::Write(durability) => {
                let data = &mut self.memory.slot(1)[..bytes as usize];
                pattern::stamp_pages(data, in_flight.request.stamp);
                let flags = match durability {
                    RingDurability::Not => return file.write_at(data, offset).map(|done| done as u64),
                    RingDurability::Data => ReadWriteFlags::DSYNC,
                    RingDurability::Whole => ReadWriteFlags::SYNC,
                };
                Ok(pwritev2(file, &[IoSlice::new(data)], offset, flags)? as u64)
            }
            RingOperation::Sync { data_only: true } => file.sync_data().map(|()| 0),
            RingOperation::Sync { data_only: false } => file.sync_all().map(|()| 0),
            RingOperation::Hole => {
                Ok(fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)
                    .map(|()| bytes)?)
            }
            RingOperation::Zeroes => {
                Ok(fallocate(file, FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE, offset, bytes)
                    .map(|()| bytes)?)
            }
        }
    }

    /// Carries out a whole request.
    fn carry_out(&mut self, in_flight: &mut InFlightRequest) -> Status {
        while in_flight.bytes_done < in_flight.length_bytes()
            || matches!(in_flight.operation, RingOperation::Sync { .. })
        {
            let reason: &dyn std::fmt::Display = match self.transfer_piece(in_flight) {
                Ok(_) if matches!(in_flight.operation, RingOperation::Sync { .. }) => return Status::Done,
                Ok(0) => &FILE_ENDED,
                Ok(bytes) => {
                    in_flight.bytes_done += bytes;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => &error.to_string(),
            };
            self.failures.add(&self.shape, in_flight, reason);
            return Status::MediumError;
        }
        Status::Done
    }
}

impl TimedDevice for CallDevice {
    fn wait_for_event(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError> {
        if let Some(mut in_flight) = self.waiting.pop_front() {
            let status = self.carry_out(&mut in_flight);
            let finished = clock.now().max(in_flight.submitted);
            self.completions.push_back(in_flight.completion(status, finished));
            return Ok(());
        }
        if self.completions.is_empty() {
            clock.wait_until(until.ok_or(EngineError::Silent(self.now))?);
        }
        Ok(())
    }

    fn take_troubles(&mut self) -> Vec<String> {
        self.failures.take()
    }
}

impl Device for CallDevice {
    fn limits(&self, _: u8) -> Limits {
        self.shape.limits
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        if self.waiting.len() >= self.depth {
            return Err(request);
        }
        self.now = now;
        let operation = self.shape.ring_operation(&request);
        let file = self.shape.files[self.shape.worker_index(request.origin)];
        let status_at_once = self.shape.status_without_kernel(&request, operation);
        let operation = operation.unwrap_or(RingOperation::Sync { data_only: true });
        let in_flight = InFlightRequest {
            request,
            operation,
            file,
            submitted: now,
            turn_began: now,
            taken: now,
            bytes_done: 0,
            retries: 0,
        };
        match status_at_once {
            Some(status) => self.completions.push_back(in_flight.completion(status, now)),
            None => self.waiting.push_back(in_flight),
        }
        Ok(now)
    }

    /// Between two calls no request is in flight.
    fn control(&mut self, _: Instant, control: &Control) -> Result<(), ControlError> {
        answer_control(control)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.completions.front().map(|done| done.finished.max(self.now) + Span::from_nanos(1))
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }

    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}

    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::Queuing;

    /// A file of 64 sectors, in slots of a page; its workers are numbered from 3.
    fn shape(handles: Vec<RealHandle>) -> FileShape {
        let limits = Limits {
            sectors: 64,
            logical: 512,
            physical: 4096,
            max_transfer: u32::MAX,
            optimal_transfer: 0,
            depth: 8,
            fua: true,
            volatile_cache: true,
            queuing: Queuing::Scsi,
            computes: false,
        };
        let files = vec![0; handles.len()];
        FileShape {
            name: "it".to_owned(),
            limits,
            handles,
            files,
            first_worker: 3,
            slot_bytes: 4096,
            has_write_slots: true,
            seed: Seed(7),
        }
    }

    /// A device of each kind for a file; no ring where the kernel forbids them.
    fn devices(file: &File) -> Vec<Box<dyn TimedDevice>> {
        let (all, copies) = (|| shape(vec![RealHandle::default()]), || vec![file.try_clone().unwrap()]);
        let mut devices: Vec<Box<dyn TimedDevice>> = vec![Box::new(CallDevice::new(all(), copies(), 8))];
        match RingDevice::new(all(), copies(), 8) {
            Ok(ring) => devices.push(Box::new(ring)),
            Err(error) => println!("skipped: no io_uring here ({error})"),
        }
        devices
    }

    /// How a request ends.
    fn status(device: &mut dyn TimedDevice, clock: &Clock, request: Request) -> Status {
        device.submit(clock.now(), request).unwrap();
        loop {
            device.wait_for_event(clock, None).unwrap();
            device.handle_timeout(clock.now());
            if let Some(completion) = device.poll_completion() {
                assert_eq!(completion.parts.total(), completion.finished.since(completion.submitted));
                return completion.status;
            }
        }
    }

    fn request(op: Op, lba: u64, sectors: u32) -> Request {
        Request { op, lba, sectors, stamp: 0x0102, ..Request::NONE }
    }

    /// A worker whose flushes are of data alone, and one whose writes are forced with all metadata.
    #[test]
    fn a_request_becomes_the_operation_that_its_worker_and_its_flags_ask_for() {
        let of = |data_only, whole| RealHandle { data_only, whole, ..RealHandle::default() };
        let shape = shape(vec![of(true, false), of(false, true)]);
        let (plain, urgent) = (RingOperation::Write(RingDurability::Not), Flags::FUA.with(Flags::PRIORITY));
        let forced = [RingDurability::Data, RingDurability::Whole].map(RingOperation::Write);
        for (op, flags, operations) in [
            (Op::Read, Flags::NONE, [RingOperation::Read; 2]),
            (Op::Read, Flags::FUA, [RingOperation::Read; 2]),
            (Op::Write, Flags::NONE, [plain; 2]),
            (Op::Write, Flags::PRIORITY, [plain; 2]),
            (Op::Write, Flags::FUA, forced),
            (Op::Write, urgent, forced),
            (
                Op::Flush,
                Flags::NONE,
                [RingOperation::Sync { data_only: true }, RingOperation::Sync { data_only: false }],
            ),
            (Op::Trim, Flags::NONE, [RingOperation::Hole; 2]),
            (Op::WriteZeroes, Flags::NONE, [RingOperation::Zeroes; 2]),
        ] {
            for (origin, operation) in [3, 4].into_iter().zip(operations) {
                let request = Request { op, flags, origin, sectors: 8, ..Request::NONE };
                assert_eq!(shape.ring_operation(&request), Some(operation), "{op:?} {flags:?} of {origin}");
            }
        }
        assert_eq!(shape.ring_operation(&request(Op::Compute, 0, 1)), None);
    }

    #[test]
    fn a_request_of_several_slots_is_carried_out_whole() {
        let (file, clock) = (tempfile::tempfile().unwrap(), Clock::start());
        for mut device in devices(&file) {
            for flags in [Flags::NONE, Flags::FUA] {
                file.write_all_at(&[0xaa; 32_768], 0).unwrap();
                let write = Request { flags, ..request(Op::Write, 8, 24) };
                assert_eq!(status(&mut *device, &clock, write), Status::Done);
                let mut bytes = vec![0; 32_768];
                file.read_exact_at(&mut bytes, 0).unwrap();
                let (before, rest) = bytes.split_at(8 * 512);
                let (written, behind) = rest.split_at(24 * 512);
                assert!(before.iter().chain(behind).all(|byte| *byte == 0xaa));
                for page in written.chunks(4096) {
                    assert_eq!((&page[..8], &page[8..16]), (&b"SEEKWISE"[..], &[2, 1, 0, 0, 0, 0, 0, 0][..]));
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_what_fails_is_told_with_its_place() {
        let (file, clock) = (tempfile::tempfile().unwrap(), Clock::start());
        for mut device in devices(&file) {
            file.set_len(32_768).unwrap();
            for (asked, expected) in [
                (request(Op::Read, 8, 24), Status::Done),
                (request(Op::Read, 56, 8), Status::Done),
                (request(Op::Read, 57, 8), Status::OutOfRange),
                (request(Op::Write, 64, 1), Status::OutOfRange),
                (request(Op::Flush, 0, 0), Status::Done),
                (request(Op::Compute, 0, 1), Status::Unsupported),
            ] {
                assert_eq!(status(&mut *device, &clock, asked), expected, "{asked:?}");
            }
            assert!(device.take_troubles().is_empty());
            // Cut off behind its 48th sector: a page of the request is there, and two are not.
            file.set_len(48 * 512).unwrap();
            assert_eq!(status(&mut *device, &clock, request(Op::Read, 40, 24)), Status::MediumError);
            let told = ["it: read of 8192 bytes at 24576: the file ended there: it was cut off meanwhile"];
            assert_eq!(device.take_troubles(), told);
        }
    }

    /// A request that is refused is done at once; the next instant is later than the present, whenever that is.
    #[test]
    fn what_is_done_is_due_a_nanosecond_from_now() {
        let file = tempfile::tempfile().unwrap();
        for mut device in devices(&file) {
            let at = Instant::from_nanos;
            assert_eq!(device.poll_timeout(), None);
            device.submit(at(10), request(Op::Read, 64, 1)).unwrap();
            assert_eq!(device.poll_timeout(), Some(at(11)));
            device.handle_timeout(at(20));
            assert_eq!(device.poll_timeout(), Some(at(21)));
            let done = device.poll_completion().map(|done| (done.status, done.submitted, done.finished));
            assert_eq!(done, Some((Status::OutOfRange, at(10), at(10))));
            assert_eq!((device.poll_completion(), device.poll_timeout()), (None, None));
            assert_eq!(device.wait_for_event(&Clock::start(), None), Err(EngineError::Silent(at(20))));
        }
    }
}
