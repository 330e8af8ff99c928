//! A client of any export, as a device: for jobs whose place is `nbd:` or `live:`. It has no thread. Requests are sent
//! and replies received without waiting for either, so a server that stops reading cannot block this program; only
//! [`NbdClient::wait_for_event`] waits.
//!
//! Only simple replies are used. The data of a write are the request's stamp, repeated.
//!
//! A server may mean harm, or be none. So its messages before transmission are bounded in bytes, number and time, and a
//! server that has not answered a request for [`REQUEST_LIMIT`] counts as gone. Data that it sends are dropped.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

use rustix::event::{PollFd, PollFlags, poll};
use seekwise_disk::block::{
    Completion, Control, ControlError, Device, Flags, Landing, Limits, Op, Queuing, Request, SECTOR, Status,
};
use seekwise_disk::engine::EngineError;
use seekwise_disk::record::{DriveLog, Effort, Part, Parts};
use seekwise_disk::time::{Instant, Span};

use super::NbdWire;
use super::wire::{self, WireReader, answer, can, error, info, option};
use crate::clock::{BUSY_WAIT, Clock, drop_real_time_priority, to_timespec};
use crate::real_time::{TimedDevice, answer_control};
use seekwise_run::outcome::RunError;
use seekwise_run::receipt::Receipt;
use seekwise_run::receipt::transports::RequestTotals;

/// Requests in flight, at most: as many as a worker may have. A server that takes fewer lets the others wait.
const DEPTH: u32 = 65_535;

/// The longest request if an export names no limit: the protocol lets a client send it to any server.
const MAX_REQUEST_BYTES: u32 = 32 << 20;

/// Largest answer before transmission: sizes, a name, a description.
const MAX_ANSWER_BYTES: u32 = 64 << 10;

/// Answers to one option, at most.
const MAX_ANSWERS: usize = 100;

/// The largest export: offsets of files are 63 bits.
const MAX_EXPORT_BYTES: u64 = 1 << 63;

/// Time limit of the negotiation.
const NEGOTIATION_LIMIT: Span = Span::from_secs(30);

/// How long a request may take. The disk behind a server gives up after some minutes (Linux, of SCSI disks: six tries
/// of 30 s).
const REQUEST_LIMIT: Span = Span::from_secs(600);

/// Bytes read from a connection at once.
const PIECE_BYTES: usize = 256 << 10;

/// Properties that an export reports, its sizes of requests in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExportOffer {
    bytes: u64,
    flags: u16,
    smallest: u32,
    preferred: u32,
    largest: u32,
}

/// A request in flight.
struct NbdRequest {
    tag: u32,
    submitted: Instant,
    /// Bytes of data in its reply.
    reply_bytes: usize,
    is_read_or_write: bool,
}

/// A reply that is being received.
struct PartialReply {
    cookie: u64,
    error: u32,
    /// Bytes of its data that are still to come.
    bytes_left: usize,
}

/// A client of an export.
pub struct NbdClient {
    wire: Box<dyn NbdWire>,
    offer: ExportOffer,
    /// Requests in flight, by cookie.
    in_flight: BTreeMap<u64, NbdRequest>,
    last_cookie: u64,
    output: Vec<u8>,
    /// Bytes of `output` that are sent.
    sent: usize,
    /// Bytes of the head of a reply, until it is whole.
    head: Vec<u8>,
    /// A reply whose head has come.
    reply: Option<PartialReply>,
    piece: Box<[u8]>,
    completions: VecDeque<Completion>,
    now: Instant,
    has_ended: bool,
    /// Whether the connection has ended because the server did not answer in time.
    timed_out: bool,
    /// Totals of successful reads and writes, with their time here.
    totals: RequestTotals,
    /// Called when the run is over.
    on_end: Option<OnEnd>,
}

/// A connection whose reads wait until a deadline at most.
struct DeadlineWire<'a> {
    wire: &'a mut dyn NbdWire,
    clock: Clock,
    deadline: Instant,
}

impl Read for DeadlineWire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_since(self.clock.now());
        let mut polled = [PollFd::from_borrowed_fd(self.wire.as_fd(), PollFlags::IN)];
        match poll(&mut polled, Some(&to_timespec(left))) {
            Ok(0) => Err(io::Error::new(ErrorKind::TimedOut, "it has not said what it is within 30 s")),
            Err(rustix::io::Errno::INTR) => Err(ErrorKind::Interrupted.into()),
            _ => self.wire.read(buffer),
        }
    }
}

impl Write for DeadlineWire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.wire.flush()
    }
}

/// Ends the server behind a connection, and returns its receipt.
type OnEnd = Box<dyn FnOnce(RequestTotals) -> io::Result<Receipt>>;

impl NbdClient {
    /// Negotiates with a server for the export `name`.
    pub fn connect(mut wire: Box<dyn NbdWire>, name: &str) -> io::Result<NbdClient> {
        let clock = Clock::start();
        let offer = negotiate_export(
            &mut DeadlineWire { wire: &mut *wire, clock, deadline: clock.now() + NEGOTIATION_LIMIT },
            name,
        )?;
        wire.set_non_blocking()?;
        Ok(NbdClient {
            wire,
            offer,
            in_flight: BTreeMap::new(),
            last_cookie: 0,
            output: Vec::new(),
            sent: 0,
            head: Vec::new(),
            reply: None,
            piece: vec![0; PIECE_BYTES].into_boxed_slice(),
            completions: VecDeque::new(),
            now: Instant::ZERO,
            has_ended: false,
            timed_out: false,
            totals: RequestTotals::default(),
            on_end: None,
        })
    }

    /// Sets `on_end`, which is called with the totals of reads and writes when the run is over.
    pub(crate) fn with_end_action(
        self,
        on_end: impl FnOnce(RequestTotals) -> io::Result<Receipt> + 'static,
    ) -> NbdClient {
        NbdClient { on_end: Some(Box::new(on_end)), ..self }
    }

    /// Limits of the export, as a device.
    pub fn limits(&self) -> Limits {
        let ExportOffer { bytes, flags, smallest, preferred, largest } = self.offer;
        let logical = smallest.max(SECTOR as u32);
        Limits {
            sectors: bytes / SECTOR,
            logical,
            physical: preferred.clamp(logical, 4096),
            max_transfer: largest / SECTOR as u32,
            optimal_transfer: 0,
            depth: DEPTH,
            fua: flags & can::FUA != 0,
            volatile_cache: flags & can::FLUSH != 0,
            queuing: Queuing::Scsi,
            computes: false,
        }
    }

    /// Ends the connection if sending or receiving failed, and aborts the requests in flight.
    fn end_on_error(&mut self, result: io::Result<()>) {
        if result.is_err() {
            self.has_ended = true;
            for (_, request) in std::mem::take(&mut self.in_flight) {
                self.complete_request(request, Status::Aborted);
            }
        }
    }

    /// Time left for the oldest request in flight; `None` without one.
    fn time_left(&self, clock: &Clock) -> Option<Span> {
        let first = self.in_flight.values().next()?;
        Some((first.submitted + REQUEST_LIMIT).saturating_since(clock.now()))
    }

    /// Sends as many bytes as the server takes.
    fn send_output(&mut self) -> io::Result<()> {
        while self.sent < self.output.len() {
            match self.wire.write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    /// Receives replies until no more bytes are there.
    fn receive_replies(&mut self) -> io::Result<()> {
        loop {
            match self.wire.read(&mut self.piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => self.parse_replies(bytes)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Parses the replies in the first `bytes` of `piece`, and completes their requests.
    fn parse_replies(&mut self, bytes: usize) -> io::Result<()> {
        /// Bytes of a simple reply's head.
        const HEAD: usize = 16;
        let mut next = 0;
        while next < bytes || self.reply.as_ref().is_some_and(|reply| reply.bytes_left == 0) {
            match &mut self.reply {
                Some(reply) => {
                    let skipped = reply.bytes_left.min(bytes - next);
                    (reply.bytes_left, next) = (reply.bytes_left - skipped, next + skipped);
                    if reply.bytes_left > 0 {
                        return Ok(());
                    }
                    let (cookie, error) = (reply.cookie, reply.error);
                    self.reply = None;
                    let request = self.in_flight.remove(&cookie).expect("it was looked up when its head came");
                    self.complete_request(request, completion_status(error));
                }
                None => {
                    let more = (HEAD - self.head.len()).min(bytes - next);
                    self.head.extend(&self.piece[next..next + more]);
                    next += more;
                    if self.head.len() < HEAD {
                        return Ok(());
                    }
                    let mut reader = WireReader(&self.head);
                    let (magic, error, cookie) = (reader.read_u32(), reader.read_u32(), reader.read_u64());
                    let (Some(wire::SIMPLE_REPLY), Some(error), Some(cookie)) = (magic, error, cookie) else {
                        return Err(ErrorKind::InvalidData.into());
                    };
                    let Some(request) = self.in_flight.get(&cookie) else { return Err(ErrorKind::InvalidData.into()) };
                    let bytes_left = if error == 0 { request.reply_bytes } else { 0 };
                    self.reply = Some(PartialReply { cookie, error, bytes_left });
                    self.head.clear();
                }
            }
        }
        Ok(())
    }

    fn complete_request(&mut self, request: NbdRequest, status: Status) {
        let NbdRequest { tag, submitted, is_read_or_write, .. } = request;
        let (finished, mut parts) = (self.now, Parts::default());
        if is_read_or_write && status == Status::Done {
            self.totals.requests += 1;
            self.totals.took += finished.since(submitted);
        }
        // The parts of a response time behind the connection are not known here.
        parts.add(Part::Queue, finished.since(submitted));
        self.completions.push_back(Completion { tag, status, submitted, finished, parts, effort: Effort::COMMAND });
    }

    /// Appends a request to the bytes to be sent.
    fn push_request(&mut self, command: u16, flags: u16, request: &Request) {
        let (offset, length) = match request.op {
            Op::Flush => (0, 0),
            _ => (request.lba * SECTOR, request.sectors * SECTOR as u32),
        };
        self.output.extend(wire::REQUEST.to_be_bytes());
        self.output.extend(flags.to_be_bytes());
        self.output.extend(command.to_be_bytes());
        self.output.extend(self.last_cookie.to_be_bytes());
        self.output.extend(offset.to_be_bytes());
        self.output.extend(length.to_be_bytes());
        if request.op == Op::Write {
            let stamp = request.stamp.to_le_bytes();
            self.output.extend(stamp.iter().cycle().take(length as usize));
        }
    }
}

impl TimedDevice for NbdClient {
    fn wait_for_event(&mut self, clock: &Clock, until: Option<Instant>) -> Result<(), EngineError> {
        if until.is_none() && self.in_flight.is_empty() {
            return Err(EngineError::Silent(self.now));
        }
        loop {
            let left = until.map(|until| until.saturating_since(clock.now()));
            if left == Some(Span::ZERO) {
                return Ok(());
            }
            // The last part is waited for busily.
            let sleep = left.map(|left| left.saturating_sub(BUSY_WAIT));
            let request_left = self.time_left(clock);
            if request_left == Some(Span::ZERO) {
                self.timed_out = true;
                self.end_on_error(Err(ErrorKind::TimedOut.into()));
                return Ok(());
            }
            let sleep = sleep.into_iter().chain(request_left).min().map(to_timespec);
            let wanted = if self.sent < self.output.len() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
            // A connection that has ended always counts as ready, though nothing comes from it.
            let wire = [PollFd::from_borrowed_fd(self.wire.as_fd(), wanted)];
            match poll(&mut { wire }[..usize::from(!self.has_ended)], sleep.as_ref()) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                _ => return Ok(()),
            }
        }
    }

    fn check_alive(&self) -> Result<(), RunError> {
        match self.has_ended {
            true if self.timed_out => {
                Err(RunError::Unfit("the server of the network block device did not answer for 600 s".to_owned()))
            }
            true => Err(RunError::Unfit("the server of the network block device hung up during the run".to_owned())),
            false => Ok(()),
        }
    }

    fn end_run(mut self: Box<Self>) -> Result<Option<Receipt>, RunError> {
        drop_real_time_priority();
        let totals = self.totals;
        let ended = self.on_end.take().map(|on_end| on_end(totals)).transpose();
        ended.map_err(|error| RunError::Unfit(error.to_string()))
    }
}

impl Device for NbdClient {
    fn limits(&self, _: u8) -> Limits {
        NbdClient::limits(self)
    }

    fn submit(&mut self, now: Instant, request: Request) -> Result<Instant, Request> {
        if self.in_flight.len() >= DEPTH as usize {
            return Err(request);
        }
        self.now = now;
        let has = |flag: u16| self.offer.flags & flag != 0;
        let command = match request.op {
            Op::Read => Some(0),
            Op::Write => Some(1),
            Op::Flush => Some(3).filter(|_| has(can::FLUSH)),
            Op::Trim => Some(4).filter(|_| has(can::TRIM)),
            Op::WriteZeroes => Some(6).filter(|_| has(can::WRITE_ZEROES)),
            Op::Compute => None,
        };
        let reply_bytes = if request.op == Op::Read { request.sectors as usize * SECTOR as usize } else { 0 };
        let is_read_or_write = matches!(request.op, Op::Read | Op::Write | Op::WriteZeroes);
        let in_flight = NbdRequest { tag: request.tag, submitted: now, reply_bytes, is_read_or_write };
        let status_at_once = match command {
            _ if self.has_ended => Some(Status::Aborted),
            // Nothing is volatile if nothing can be flushed.
            None if request.op == Op::Flush => Some(Status::Done),
            None => Some(Status::Unsupported),
            _ if request.op != Op::Flush && request.end() > self.offer.bytes / SECTOR => Some(Status::OutOfRange),
            Some(_) => None,
        };
        if let Some(status) = status_at_once {
            self.complete_request(in_flight, status);
            return Ok(now);
        }
        self.last_cookie += 1;
        self.in_flight.insert(self.last_cookie, in_flight);
        let is_forced = request.flags.has(Flags::FUA) && has(can::FUA) && request.op != Op::Read;
        self.push_request(command.unwrap_or(0), if is_forced { wire::FUA } else { 0 }, &request);
        // Replies that come meanwhile are received at a later instant than this one.
        let sent = self.send_output();
        self.end_on_error(sent);
        Ok(now)
    }

    /// Requests in flight complete by themselves, and the cache of a server cannot be changed from here.
    fn control(&mut self, _: Instant, control: &Control) -> Result<(), ControlError> {
        answer_control(control)
    }

    /// Returns `None`: only replies are events.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if !self.has_ended {
            let exchanged = self.send_output().and_then(|()| self.receive_replies());
            self.end_on_error(exchanged);
        }
    }

    fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    fn poll_landing(&mut self) -> Option<Landing> {
        None
    }

    /// Reports nothing: it is not known here.
    fn report_unsettled(&self, _: &mut dyn FnMut(u64)) {}

    fn drive_log(&self) -> DriveLog {
        DriveLog::default()
    }
}

fn completion_status(number: u32) -> Status {
    match number {
        0 => Status::Done,
        error::NO_SPACE | error::INVALID => Status::OutOfRange,
        error::UNSUPPORTED => Status::Unsupported,
        error::SHUTDOWN => Status::Aborted,
        _ => Status::MediumError,
    }
}

/// Negotiates: fixed newstyle, and GO with the block sizes.
fn negotiate_export(wire: &mut (impl Read + Write), name: &str) -> io::Result<ExportOffer> {
    let hello: [u8; 18] = read_array(wire)?;
    let mut reader = WireReader(&hello);
    if (reader.read_u64(), reader.read_u64()) != (Some(wire::GREETING), Some(wire::OPTIONS)) {
        return Err(invalid_data("it does not greet as a server of network block devices does"));
    }
    let server_flags = reader.read_u16().unwrap_or(0);
    if server_flags & wire::FIXED_NEWSTYLE == 0 {
        return Err(invalid_data("it speaks the protocol's old form alone"));
    }
    let mut message = u32::from(server_flags & (wire::FIXED_NEWSTYLE | wire::NO_ZEROES)).to_be_bytes().to_vec();
    let data =
        [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), &[0, 1], &info::BLOCK_SIZE.to_be_bytes()].concat();
    message.extend(wire::OPTIONS.to_be_bytes());
    message.extend(option::GO.to_be_bytes());
    message.extend((data.len() as u32).to_be_bytes());
    message.extend(data);
    wire.write_all(&message)?;
    let mut offer = ExportOffer { bytes: 0, flags: 0, smallest: 1, preferred: 4096, largest: MAX_REQUEST_BYTES };
    for _ in 0..MAX_ANSWERS {
        let head: [u8; 20] = read_array(wire)?;
        let mut reader = WireReader(&head);
        let (magic, _, kind, length) =
            (reader.read_u64(), reader.read_u32(), reader.read_u32(), reader.read_u32().unwrap_or(0));
        if magic != Some(wire::OPTION_REPLY) || length > MAX_ANSWER_BYTES {
            return Err(invalid_data("its answer to an option is none"));
        }
        let mut data = vec![0; length as usize];
        wire.read_exact(&mut data)?;
        match kind {
            Some(answer::INFO) => {
                offer.add_info(&data).ok_or_else(|| invalid_data("what it tells of its export is cut short"))?
            }
            Some(answer::ACK) => return offer.validate(),
            Some(answer::UNKNOWN) => return Err(invalid_data(&format!("it has no export `{name}`"))),
            _ => return Err(invalid_data("it refuses this client")),
        }
    }
    Err(invalid_data("it goes on and on about its export"))
}

impl ExportOffer {
    /// Returns the offer, if a client of whole sectors can use it.
    fn validate(self) -> io::Result<ExportOffer> {
        /// The largest block of a disk of the model.
        const LARGEST_BLOCK: u32 = 4096;
        let ExportOffer { bytes, smallest, preferred, largest, .. } = self;
        if bytes < SECTOR {
            return Err(invalid_data("its export holds nothing"));
        }
        if bytes > MAX_EXPORT_BYTES {
            return Err(invalid_data(&format!("its export is of {bytes} bytes; expected 2^63 at most")));
        }
        if !smallest.is_power_of_two() || smallest > LARGEST_BLOCK {
            return Err(invalid_data(&format!(
                "its smallest block is of {smallest} bytes; expected a power of two up to 4096"
            )));
        }
        let least = smallest.max(SECTOR as u32);
        if !preferred.is_power_of_two() || preferred < smallest || largest < least {
            let sizes = format!("{preferred} bytes preferred and {largest} at most");
            return Err(invalid_data(&format!("its block sizes make no sense: {smallest} at least, {sizes}")));
        }
        Ok(self)
    }

    /// Adds the properties in this information; `None` if the data are cut short.
    fn add_info(&mut self, data: &[u8]) -> Option<()> {
        let mut reader = WireReader(data);
        match reader.read_u16()? {
            info::EXPORT => (self.bytes, self.flags) = (reader.read_u64()?, reader.read_u16()?),
            info::BLOCK_SIZE => {
                (self.smallest, self.preferred) = (reader.read_u32()?, reader.read_u32()?);
                // A server may name no limit.
                self.largest = reader.read_u32()?.min(MAX_REQUEST_BYTES);
            }
            _ => {}
        }
        Some(())
    }
}

fn invalid_data(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

fn read_array<const N: usize>(wire: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    wire.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    /// A client of an export of 1 MiB with these flags and block sizes, and the server's end.
    fn client(flags: u16, sizes: [u32; 3]) -> (NbdClient, UnixStream) {
        let (near, mut far) = UnixStream::pair().unwrap();
        let told = |kind: u16, data: &[u8]| {
            wire::option_reply(option::GO, answer::INFO, &[&kind.to_be_bytes()[..], data].concat())
        };
        let hello = [
            &wire::GREETING.to_be_bytes()[..],
            &wire::OPTIONS.to_be_bytes(),
            &wire::FIXED_NEWSTYLE.to_be_bytes(),
            &told(info::EXPORT, &[&(1u64 << 20).to_be_bytes()[..], &flags.to_be_bytes()].concat()),
            &told(info::BLOCK_SIZE, &sizes.map(u32::to_be_bytes).concat()),
            &wire::option_reply(option::GO, answer::ACK, &[]),
        ]
        .concat();
        far.write_all(&hello).unwrap();
        (NbdClient::connect(Box::new(near), "").unwrap(), far)
    }

    #[test]
    fn what_can_be_flushed_is_volatile_and_what_can_be_forced_has_fua() {
        const OTHERS: u16 = !(can::FLUSH | can::FUA);
        for (flags, volatile_cache, fua) in [
            (0, false, false),
            (can::FLUSH, true, false),
            (can::FUA, false, true),
            (can::FLUSH | can::FUA, true, true),
            (OTHERS, false, false),
            (OTHERS | can::FLUSH, true, false),
            (OTHERS | can::FUA, false, true),
        ] {
            let (client, _server) = client(flags, [512, 4096, 65_536]);
            let limits = client.limits();
            assert_eq!((limits.volatile_cache, limits.fua), (volatile_cache, fua), "{flags:#06x}");
        }
    }

    #[test]
    fn a_device_takes_the_sizes_that_its_export_tells() {
        // The export's, at least, preferred and at most; logical and physical bytes, and sectors at most.
        for (sizes, logical, physical, most) in [
            ([512, 4096, 65_536], 512, 4096, 128),
            ([1, 1, 512], 512, 512, 1),
            ([4096, 4096, 4096], 4096, 4096, 8),
            ([1, 65_536, 32 << 20], 512, 4096, 65_536),
            ([512, 512, u32::MAX], 512, 512, 65_536),
        ] {
            let (client, _server) = client(can::FLAGS, sizes);
            let limits = client.limits();
            let told = (limits.sectors, limits.logical, limits.physical, limits.max_transfer);
            assert_eq!(told, (2048, logical, physical, most), "{sizes:?}");
        }
    }
}
