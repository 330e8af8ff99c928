//! The requests and answers of one client after negotiation: received bytes become requests, answers become bytes to be
//! sent. Nothing here waits. Memory is bounded: while a client sends requests and does not read its answers, no more
//! requests are taken. All clients together have a limit as well ([`MemoryShare`]).

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::negotiation::{ALLOCATION_ID, Export, TransmissionTerms};
use super::wire::{self, HEAD, NbdCommand, RequestHead, error};

/// Limit of the memory for a client's requests and replies, in bytes: two of the largest requests.
const CLIENT_BUDGET: usize = 64 << 20;

/// Bytes read from a connection at once, if as many are there: many heads, or a small write.
const INPUT_BYTES: usize = 64 << 10;

/// Bytes of a large write's data that are read at once, straight to their place. Copying them takes some ten
/// microseconds, so that the reader is back in time for what is due.
const DATA_READ_BYTES: usize = 256 << 10;

/// Cost of a request in that memory, besides its data.
const REQUEST_COST: usize = 256;

/// A client's only request always gets memory if it costs no more than this, so that no client waits for ever: a page,
/// or a block status.
const SMALL_COST: usize = 16 << 10;

/// Memory that each client has in any case.
pub const CLIENT_MEMORY: u64 = (INPUT_BYTES + SMALL_COST) as u64;

/// Zeroes and trims longer than this keep a disk busy without data; a client may have [`MAX_LONG`] of them at once.
const LONG_BYTES: u32 = 1 << 20;

/// See [`LONG_BYTES`].
const MAX_LONG: usize = 2;

/// Extents of an answer to a block status, at most; a client asks again for the rest.
pub const MAX_EXTENTS: usize = 1000;

/// Largest output buffer that is kept for later answers: a few of a MiB, the size of large transfers.
const KEPT_BUFFER_BYTES: usize = 4 << 20;

/// Limit of the memory for requests and answers of all clients together.
#[derive(Debug)]
pub struct MemoryShare {
    taken: AtomicUsize,
    max_bytes: usize,
}

impl MemoryShare {
    /// Creates a limit of `max_bytes`.
    pub fn new(max_bytes: usize) -> MemoryShare {
        MemoryShare { taken: AtomicUsize::new(0), max_bytes }
    }

    /// Bytes in use.
    pub(crate) fn bytes_taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes so many bytes if they fit, or beyond the limit if `is_forced`; false if none were taken.
    fn try_take(&self, bytes: usize, is_forced: bool) -> bool {
        let taken = self.bytes_taken();
        let fits = is_forced || taken.saturating_add(bytes) <= self.max_bytes;
        if fits {
            self.taken.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Default for MemoryShare {
    /// No limit but each client's own.
    fn default() -> MemoryShare {
        MemoryShare::new(usize::MAX)
    }
}

/// A write whose data are being received.
struct PartialWrite {
    head: RequestHead,
    data: Vec<u8>,
    /// Bytes of `data` that have come.
    received: usize,
}

/// A client after negotiation.
pub struct Transmission {
    share: Arc<MemoryShare>,
    /// Bytes of the share that this client's input buffer takes.
    input_share: usize,
    /// The next request waits for memory that other clients have.
    waits_for_others: bool,
    /// Number of requests here that are longer than [`LONG_BYTES`].
    long_requests: usize,
    /// Bytes received and sent.
    bytes_moved: u64,
    /// Whole requests received.
    requests: u64,
    export: Export,
    terms: TransmissionTerms,
    /// Received bytes that are not parsed yet lie from `input_start` to `input_end`.
    input: Box<[u8]>,
    input_start: usize,
    input_end: usize,
    partial_write: Option<PartialWrite>,
    /// Bytes of a refused write's data that are still to come.
    bytes_to_skip: usize,
    /// Nothing more is read.
    has_ended: bool,
    /// The next request waits for memory.
    waits_for_memory: bool,
    output: Vec<u8>,
    /// Bytes of `output` that are sent.
    sent: usize,
    /// Cost of all requests here.
    cost: usize,
    /// Cost of the requests whose answers are in `output`.
    answered_cost: usize,
}

impl Transmission {
    /// Creates the state of a client that has agreed upon an export.
    pub fn new(export: Export, terms: TransmissionTerms) -> Transmission {
        Transmission {
            share: Arc::default(),
            input_share: 0,
            waits_for_others: false,
            long_requests: 0,
            bytes_moved: 0,
            requests: 0,
            export,
            terms,
            input: vec![0; INPUT_BYTES].into_boxed_slice(),
            input_start: 0,
            input_end: 0,
            partial_write: None,
            bytes_to_skip: 0,
            has_ended: false,
            waits_for_memory: false,
            output: Vec::new(),
            sent: 0,
            cost: 0,
            answered_cost: 0,
        }
    }

    /// Sends the rest of the negotiation first.
    pub(crate) fn send_first(&mut self, bytes: &[u8]) {
        self.output.extend(bytes);
    }

    /// Takes its memory from `share` from now on.
    pub(crate) fn use_share(&mut self, share: Arc<MemoryShare>) {
        share.taken.fetch_add(INPUT_BYTES + self.cost, Ordering::Relaxed);
        self.share.give_back(self.input_share + self.cost);
        (self.share, self.input_share) = (share, INPUT_BYTES);
    }

    /// Whether the next request waits for memory that other clients have.
    pub(crate) fn waits_for_share(&self) -> bool {
        self.waits_for_others && self.waits_for_memory
    }

    /// Whether the client holds memory until it reads, or sends the rest of a write.
    pub(crate) fn holds_memory(&self) -> bool {
        self.wants_write() || self.partial_write.is_some()
    }

    /// Bytes moved either way until now.
    pub(crate) fn bytes_moved(&self) -> u64 {
        self.bytes_moved
    }

    /// Number of whole requests received.
    pub fn request_count(&self) -> u64 {
        self.requests
    }

    /// Whether more is to be read now.
    pub fn wants_read(&self) -> bool {
        !self.has_ended && !self.waits_for_memory
    }

    /// Whether there are bytes to be written.
    pub(crate) fn wants_write(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether the client has left and all its requests are answered.
    pub fn is_over(&self) -> bool {
        self.has_ended && self.cost == 0
    }

    /// Reads the bytes that are there; waits only if `stream` does.
    pub fn read_from(&mut self, stream: &mut impl Read) -> io::Result<()> {
        let read = match &mut self.partial_write {
            Some(write) => {
                let end = write.data.len().min(write.received + DATA_READ_BYTES);
                stream.read(&mut write.data[write.received..end])
            }
            None => {
                self.input.copy_within(self.input_start..self.input_end, 0);
                (self.input_start, self.input_end) = (0, self.input_end - self.input_start);
                stream.read(&mut self.input[self.input_end..])
            }
        };
        self.bytes_moved += *read.as_ref().unwrap_or(&0) as u64;
        match (read, &mut self.partial_write) {
            (Ok(0), _) => self.stop_reading(),
            (Ok(bytes), Some(write)) => write.received += bytes,
            (Ok(bytes), None) => self.input_end += bytes,
            (Err(error), _) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            (Err(error), _) => return Err(error),
        }
        Ok(())
    }

    /// Stops reading; a request that did not come whole is dropped.
    fn stop_reading(&mut self) {
        self.has_ended = true;
        self.waits_for_memory = false;
        self.input_end = self.input_start;
        if let Some(write) = self.partial_write.take() {
            let cost = self.request_cost(&write.head);
            self.free_cost(cost);
        }
    }

    fn free_cost(&mut self, cost: usize) {
        self.cost -= cost;
        self.share.give_back(cost);
    }

    /// Returns the next valid request, with the data of a write; answers invalid ones.
    pub fn next_request(&mut self) -> Option<(RequestHead, Vec<u8>)> {
        loop {
            let skipped = self.bytes_to_skip.min(self.input_end - self.input_start);
            self.bytes_to_skip -= skipped;
            self.input_start += skipped;
            if let Some(write) = &mut self.partial_write {
                let more = (write.data.len() - write.received).min(self.input_end - self.input_start);
                let new_data = &self.input[self.input_start..self.input_start + more];
                write.data[write.received..write.received + more].copy_from_slice(new_data);
                write.received += more;
                self.input_start += more;
                if write.received < write.data.len() {
                    return None;
                }
                self.requests += 1;
                return self.partial_write.take().map(|write| (write.head, write.data));
            }
            let bytes =
                self.input[self.input_start..self.input_end].first_chunk::<HEAD>().filter(|_| !self.has_ended)?;
            let Some(head) = RequestHead::parse(bytes).filter(|head| head.command != NbdCommand::Disconnect) else {
                // A goodbye, or bytes that are no request.
                self.stop_reading();
                return None;
            };
            let cost = self.request_cost(&head);
            // A request larger than the budget is taken alone.
            let exceeds_budget = self.cost > 0 && self.cost + cost > CLIENT_BUDGET;
            let waits_for_own = exceeds_budget || is_long(&head) && self.long_requests >= MAX_LONG;
            let is_forced = self.cost == 0 && cost <= SMALL_COST;
            self.waits_for_others = !waits_for_own && !self.share.try_take(cost, is_forced);
            self.waits_for_memory = waits_for_own || self.waits_for_others;
            if self.waits_for_memory {
                return None;
            }
            self.cost += cost;
            self.long_requests += usize::from(is_long(&head));
            self.input_start += HEAD;
            let length = head.length as usize;
            match (request_error(&head, &self.export, self.terms), head.command) {
                (None, NbdCommand::Write) => {
                    self.partial_write = Some(PartialWrite { head, data: vec![0; length], received: 0 });
                }
                (None, _) => {
                    self.requests += 1;
                    return Some((head, Vec::new()));
                }
                (Some(error), command) => {
                    self.bytes_to_skip = if command == NbdCommand::Write { length } else { 0 };
                    self.answer_failed(&head, error);
                }
            }
        }
    }

    /// Cost of a request in the budget.
    fn request_cost(&self, head: &RequestHead) -> usize {
        REQUEST_COST
            + match head.command {
                NbdCommand::Read | NbdCommand::Write if head.length > self.export.largest => 0,
                NbdCommand::BlockStatus => 8 * MAX_EXTENTS,
                NbdCommand::Read | NbdCommand::Write => head.length as usize,
                _ => 0,
            }
    }

    fn uses_chunks(&self, head: &RequestHead) -> bool {
        self.terms.structured && matches!(head.command, NbdCommand::Read | NbdCommand::BlockStatus)
    }

    /// Answers a finished request; `fill` writes the data of a read over zeroes, or returns an error.
    pub fn answer_done(&mut self, head: &RequestHead, fill: impl FnOnce(&mut [u8]) -> Result<(), u32>) {
        let length = if head.command == NbdCommand::Read { head.length as usize } else { 0 };
        let answer_start = self.output.len();
        match self.uses_chunks(head) {
            true => self.output.extend(wire::data_chunk_head(head.cookie, head.offset, length)),
            false => self.output.extend(wire::simple_reply_head(0, head.cookie)),
        }
        let data_start = self.output.len();
        self.output.resize(data_start + length, 0);
        if let Err(error) = fill(&mut self.output[data_start..]) {
            self.output.truncate(answer_start);
            return self.answer_failed(head, error);
        }
        self.count_answered(head);
    }

    /// Accounts for an answered request.
    fn count_answered(&mut self, head: &RequestHead) {
        self.answered_cost += self.request_cost(head);
        self.long_requests -= usize::from(is_long(head));
    }

    /// Answers a block status with extents: bytes, and flags of `base:allocation`.
    pub fn answer_extents(&mut self, head: &RequestHead, extents: &[(u32, u32)]) {
        self.output.extend(wire::status_chunk(head.cookie, ALLOCATION_ID, extents));
        self.count_answered(head);
    }

    /// Answers a request with an error ([`wire::error`]).
    pub fn answer_failed(&mut self, head: &RequestHead, error: u32) {
        match self.uses_chunks(head) {
            true => self.output.extend(wire::error_chunk(head.cookie, error)),
            false => self.output.extend(wire::simple_reply_head(error, head.cookie)),
        }
        self.count_answered(head);
    }

    /// Sends as many bytes as the other end takes; waits only if `stream` does. `on_request` gets the requests for
    /// which there is memory again.
    pub fn write_to(
        &mut self,
        stream: &mut impl Write,
        mut on_request: impl FnMut(RequestHead, Vec<u8>),
    ) -> io::Result<()> {
        loop {
            self.send_output(stream)?;
            if !self.waits_for_memory || self.wants_write() {
                return Ok(());
            }
            while let Some((head, data)) = self.next_request() {
                on_request(head, data);
            }
            // Answers to refused requests are to be sent, too.
            if !self.wants_write() {
                return Ok(());
            }
        }
    }

    fn send_output(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.sent < self.output.len() {
            match stream.write(&self.output[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => {
                    self.sent += bytes;
                    self.bytes_moved += bytes as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.free_sent();
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sent = 0;
        self.output.clear();
        if self.output.capacity() > KEPT_BUFFER_BYTES {
            self.output = Vec::new();
        }
        let answered = std::mem::take(&mut self.answered_cost);
        self.free_cost(answered);
        Ok(())
    }

    /// Frees the memory of answers that are sent while others are not. An answer is never longer than its cost.
    fn free_sent(&mut self) {
        // At least half of the buffer is sent: fewer bytes are copied than were sent.
        if self.sent >= KEPT_BUFFER_BYTES.max(self.output.len() / 2) {
            let freed = self.sent.min(self.answered_cost);
            self.answered_cost -= freed;
            self.free_cost(freed);
            self.output.drain(..std::mem::take(&mut self.sent));
        }
    }
}

impl Drop for Transmission {
    fn drop(&mut self) {
        self.share.give_back(self.input_share + self.cost);
    }
}

/// Whether a request is one of zeroes or a trim beyond [`LONG_BYTES`].
fn is_long(head: &RequestHead) -> bool {
    matches!(head.command, NbdCommand::Trim | NbdCommand::WriteZeroes) && head.length > LONG_BYTES
}

/// Returns the error of the protocol for an invalid request; `None` if the request is valid.
fn request_error(head: &RequestHead, export: &Export, terms: TransmissionTerms) -> Option<u32> {
    let is_within = head.offset.checked_add(u64::from(head.length)).is_some_and(|end| end <= export.bytes);
    let is_aligned = (head.offset | u64::from(head.length)).is_multiple_of(u64::from(export.smallest));
    let is_write = matches!(head.command, NbdCommand::Write | NbdCommand::WriteZeroes);
    let range_error = match () {
        () if head.length == 0 || !is_aligned => Some(error::INVALID),
        () if !is_within && is_write => Some(error::NO_SPACE),
        () if !is_within => Some(error::INVALID),
        () => None,
    };
    match head.command {
        _ if head.flags & !wire::FLAGS != 0 => Some(error::INVALID),
        NbdCommand::WriteZeroes if head.flags & wire::FAST_ZERO != 0 && !export.fast_zeroes => {
            range_error.or(Some(error::UNSUPPORTED))
        }
        NbdCommand::Read | NbdCommand::Write if head.length > export.largest => Some(error::INVALID),
        NbdCommand::Read | NbdCommand::Write | NbdCommand::Trim | NbdCommand::WriteZeroes => range_error,
        NbdCommand::BlockStatus if !terms.status => Some(error::INVALID),
        NbdCommand::BlockStatus => range_error,
        // A flush covers everything, so it names no range.
        NbdCommand::Flush if (head.offset, head.length) != (0, 0) => Some(error::INVALID),
        NbdCommand::Flush | NbdCommand::Disconnect => None,
        NbdCommand::Unknown(_) => Some(error::INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export() -> Export {
        Export {
            description: String::new(),
            bytes: 1 << 26,
            smallest: 512,
            preferred: 4096,
            largest: 1 << 25,
            fast_zeroes: false,
        }
    }

    fn of(command: NbdCommand, offset: u64, length: u32) -> RequestHead {
        RequestHead { command, flags: 0, cookie: 1, offset, length }
    }

    #[test]
    fn requests_are_held_against_the_export() {
        let plain = TransmissionTerms::default();
        let export = Export { bytes: 1 << 20, largest: 1 << 16, ..export() };
        let said = |head: RequestHead| request_error(&head, &export, plain);
        assert_eq!(said(of(NbdCommand::Read, 0, 4096)), None);
        assert_eq!(said(of(NbdCommand::Read, 0, 0)), Some(error::INVALID));
        assert_eq!(said(of(NbdCommand::Read, 100, 512)), Some(error::INVALID));
        assert_eq!(said(of(NbdCommand::Read, 0, 1 << 17)), Some(error::INVALID));
        assert_eq!(said(of(NbdCommand::Write, (1 << 20) - 512, 1024)), Some(error::NO_SPACE));
        assert_eq!(said(of(NbdCommand::Read, u64::MAX - 511, 512)), Some(error::INVALID));
        assert_eq!(said(of(NbdCommand::Trim, 0, 1 << 20)), None, "no bytes come with it");
        assert_eq!(said(of(NbdCommand::BlockStatus, 0, 512)), Some(error::INVALID), "not agreed upon");
        assert_eq!(said(of(NbdCommand::Flush, 0, 0)), None);
        assert_eq!(said(of(NbdCommand::Flush, 0, 512)), Some(error::INVALID), "it would never be over");
        assert_eq!(said(of(NbdCommand::Unknown(77), 0, 512)), Some(error::INVALID));
    }

    /// proto.md: zero lengths, parts of blocks, and ranges beyond the end are invalid; writes beyond the end have no
    /// space.
    #[test]
    fn every_range_about_the_ends_is_judged_as_the_specification_says() {
        const BYTES: u128 = 1 << 20;
        let export = Export { bytes: 1 << 20, largest: 1 << 16, ..export() };
        let terms = TransmissionTerms { structured: true, status: true };
        let end = 1u64 << 20;
        let offsets = [0, 1, 511, 512, end - 1024, end - 512, end, end + 512, u64::MAX - 511, u64::MAX];
        let lengths = [0, 1, 511, 512, 1024, 1536, (1 << 16) - 512, 1 << 16, (1 << 16) + 512, 1 << 20, 0xffff_fe00];
        use NbdCommand::{BlockStatus, Read, Trim, Write, WriteZeroes};
        for (offset, length) in offsets.into_iter().flat_map(|offset| lengths.map(|length| (offset, length))) {
            let whole = offset % 512 == 0 && length % 512 == 0 && length > 0;
            let fits = u128::from(offset) + u128::from(length) <= BYTES;
            for command in [Read, Write, Trim, WriteZeroes, BlockStatus] {
                let carried = matches!(command, Read | Write);
                let grows = matches!(command, Write | WriteZeroes);
                let expected = match (whole && !(carried && length > 1 << 16), fits) {
                    (true, true) => None,
                    (true, false) if grows => Some(error::NO_SPACE),
                    _ => Some(error::INVALID),
                };
                let head = of(command, offset, length);
                assert_eq!(request_error(&head, &export, terms), expected, "{command:?} {offset} {length}");
            }
            let flush = request_error(&of(NbdCommand::Flush, offset, length), &export, terms);
            assert_eq!(flush.is_none(), offset == 0 && length == 0);
        }
    }

    /// Bits 0 to 4 are known; the others are refused whatever the command.
    #[test]
    fn every_flag_of_a_command_is_known_or_refused() {
        use NbdCommand::{BlockStatus, Flush, Read, Trim, Write, WriteZeroes};
        let terms = TransmissionTerms { structured: true, status: true };
        for command in [Read, Write, Trim, WriteZeroes, BlockStatus, Flush] {
            let length = if command == Flush { 0 } else { 512 };
            for bit in 0..16 {
                let head = RequestHead { flags: 1 << bit, ..of(command, 0, length) };
                let fast = Export { fast_zeroes: true, ..export() };
                let expected = (bit > 4).then_some(error::INVALID);
                assert_eq!(request_error(&head, &fast, terms), expected, "{command:?}, bit {bit}");
                let slow = (command == WriteZeroes && bit == 4).then_some(error::UNSUPPORTED);
                assert_eq!(request_error(&head, &export(), terms), expected.or(slow), "{command:?}, bit {bit}");
            }
        }
        // A range that makes no sense is said before zeroes that are slow.
        let head = RequestHead { flags: wire::FAST_ZERO, ..of(WriteZeroes, 0, 1) };
        assert_eq!(request_error(&head, &export(), terms), Some(error::INVALID));
        assert_eq!(
            request_error(&of(BlockStatus, 0, 512), &export(), TransmissionTerms::default()),
            Some(error::INVALID)
        );
    }

    #[test]
    fn zeroes_and_trims_are_long_beyond_a_mebibyte_and_nothing_else_is() {
        use NbdCommand::{Read, Trim, Write, WriteZeroes};
        for (command, may_be) in [(Trim, true), (WriteZeroes, true), (Read, false), (Write, false)] {
            let long = [(1 << 20) - 1, 1 << 20, (1 << 20) + 1].map(|length| is_long(&of(command, 0, length)));
            assert_eq!(long, [false, false, may_be], "{command:?}");
        }
    }

    #[test]
    fn a_client_may_fill_its_budget_to_the_last_byte() {
        let export = || Export { smallest: 256, ..export() };
        // Two requests of 32 MiB with their own 256 bytes each are the budget.
        let full = (32 << 20) - 256;
        for (second, fits) in [(full, true), (full + 256, false)] {
            let mut line = Transmission::new(export(), TransmissionTerms::default());
            line.read_from(&mut &[request(0, 0, full), request(0, 0, second)].concat()[..]).unwrap();
            let first = line.next_request().unwrap().0;
            assert_eq!((line.next_request().is_some(), line.wants_read()), (fits, fits));
            assert!(!line.waits_for_share(), "its own requests are in the way");
            line.answer_done(&first, |_| Ok(()));
            assert_eq!((line.wants_write(), line.holds_memory(), line.is_over()), (true, true, false));
        }
    }

    #[test]
    fn a_small_request_alone_has_room_where_all_is_taken() {
        let share = Arc::new(MemoryShare::new(0));
        for (length, has_room) in [((16 << 10) - 256, true), (16 << 10, false)] {
            let mut line = Transmission::new(Export { smallest: 256, ..export() }, TransmissionTerms::default());
            line.use_share(Arc::clone(&share));
            line.read_from(&mut &[request(0, 0, length), request(0, 0, 256)].concat()[..]).unwrap();
            assert_eq!((line.next_request().is_some(), line.waits_for_share()), (has_room, !has_room), "{length}");
            assert!(line.next_request().is_none() && line.waits_for_share(), "a second one waits");
        }
        let share = MemoryShare::new(100);
        assert!(
            share.try_take(60, false)
                && share.try_take(40, false)
                && !share.try_take(1, false)
                && share.try_take(1, true)
        );
        share.give_back(100);
        assert_eq!(share.bytes_taken(), 1);
    }

    #[test]
    fn answers_are_chunks_only_of_reads_and_status_where_that_was_agreed() {
        use NbdCommand::{BlockStatus, Read, Trim, Write};
        for (command, structured, in_chunks) in [
            (Read, true, true),
            (BlockStatus, true, true),
            (Write, true, false),
            (Trim, true, false),
            (Read, false, false),
        ] {
            let terms = TransmissionTerms { structured, status: structured };
            let head = of(command, 512, 512);
            let said = |answer: &dyn Fn(&mut Transmission)| {
                let mut line = Transmission::new(export(), terms);
                answer(&mut line);
                line.output.clone()
            };
            let error = if in_chunks {
                wire::error_chunk(1, error::IO)
            } else {
                wire::simple_reply_head(error::IO, 1).to_vec()
            };
            assert_eq!(said(&|line| line.answer_failed(&head, error::IO)), error, "{command:?}");
            assert_eq!(said(&|line| line.answer_done(&head, |_| Err(error::IO))), error, "{command:?}");
            if command == BlockStatus {
                let extents = [(512, 3), (1024, 0)];
                assert_eq!(
                    said(&|line| line.answer_extents(&head, &extents)),
                    wire::status_chunk(1, ALLOCATION_ID, &extents)
                );
                continue;
            }
            let length = if command == Read { 512 } else { 0 };
            let begin = if in_chunks {
                wire::data_chunk_head(1, 512, length).to_vec()
            } else {
                wire::simple_reply_head(0, 1).to_vec()
            };
            let filled = said(&|line| {
                line.answer_done(&head, |data| {
                    data.fill(7);
                    Ok(())
                });
            });
            assert_eq!(filled, [begin, vec![7; length]].concat(), "{command:?}");
        }
    }

    #[test]
    fn bytes_of_both_directions_and_whole_requests_are_counted() {
        let mut line = Transmission::new(export(), TransmissionTerms::default());
        line.send_first(&[1, 2, 3]);
        assert!(line.wants_write() && line.holds_memory());
        let write = [request(1, 0, 512), vec![1; 512]].concat();
        line.read_from(&mut &write[..HEAD + 100]).unwrap();
        assert!(line.next_request().is_none());
        assert_eq!((line.bytes_moved(), line.request_count()), ((HEAD + 100) as u64, 0));
        line.read_from(&mut &write[HEAD + 100..]).unwrap();
        let (head, data) = line.next_request().unwrap();
        assert_eq!((data, line.bytes_moved(), line.request_count()), (vec![1; 512], (HEAD + 512) as u64, 1));
        line.answer_done(&head, |_| Ok(()));
        line.write_to(&mut io::sink(), |_, _| ()).unwrap();
        assert_eq!((line.bytes_moved(), line.holds_memory()), ((HEAD + 512 + 3 + 16) as u64, false));
        // A goodbye is no request.
        line.read_from(&mut &request(2, 0, 0)[..]).unwrap();
        assert!(line.next_request().is_none() && line.is_over() && line.request_count() == 1);
    }

    fn request(command: u16, offset: u64, length: u32) -> Vec<u8> {
        let numbers = [&wire::REQUEST.to_be_bytes()[..], &0u16.to_be_bytes(), &command.to_be_bytes(), &[9; 8]];
        [numbers.concat(), offset.to_be_bytes().to_vec(), length.to_be_bytes().to_vec()].concat()
    }

    /// A socket that takes so many bytes at once and then has no room, time after time.
    struct Slow(usize, bool);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 { Ok(bytes.len().min(self.0)) } else { Err(ErrorKind::WouldBlock.into()) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn requests_come_whole_however_their_bytes_are_cut() {
        let data: Vec<u8> = (0..200_000u32).map(|at| at as u8).collect();
        let data = &data[..199_680];
        let refused = [request(1, 100, 1000), vec![5; 1000]].concat();
        let bytes = [request(0, 0, 4096), request(1, 512, 199_680), data.to_vec(), refused, request(3, 0, 0)].concat();
        for piece in [1, 27, 28, 4096, 300_000] {
            let mut line = Transmission::new(export(), TransmissionTerms::default());
            let mut heard = Vec::new();
            for mut piece in bytes.chunks(piece) {
                while !piece.is_empty() {
                    line.read_from(&mut piece).unwrap();
                    heard.extend(std::iter::from_fn(|| line.next_request()));
                }
            }
            let commands: Vec<_> = heard.iter().map(|(head, _)| head.command).collect();
            assert_eq!(commands, [NbdCommand::Read, NbdCommand::Write, NbdCommand::Flush]);
            assert!(heard[1].1 == data, "in pieces of {piece}");
            assert_eq!(line.output, wire::simple_reply_head(error::INVALID, u64::from_be_bytes([9; 8])));
            line.read_from(&mut &[][..]).unwrap();
            assert!(!line.wants_read() && !line.is_over(), "three are not answered");
            for (head, _) in &heard {
                line.answer_done(head, |_| Ok(()));
            }
            line.write_to(&mut io::sink(), |_, _| ()).unwrap();
            assert!(line.is_over());
        }
    }

    #[test]
    fn who_never_reads_is_not_heard_until_he_does() {
        let mut line = Transmission::new(export(), TransmissionTerms::default());
        let large = 1 << 25;
        let bytes = [request(0, 0, large), request(0, 0, large), request(0, 0, 512)].concat();
        line.read_from(&mut &bytes[..]).unwrap();
        // Two of the largest are more than the budget by what a request costs itself.
        let (first, _) = line.next_request().unwrap();
        assert!(line.next_request().is_none() && !line.wants_read());
        line.answer_done(&first, |_| Ok(()));
        // The socket is full at first: nothing is written, and room is there only later.
        let (mut slow, mut heard) = (Slow(1 << 24, true), Vec::new());
        let mut calls = 0;
        while heard.is_empty() {
            assert!(line.wants_write(), "nobody would call again after {calls} calls");
            line.write_to(&mut slow, |head, _| heard.push(head)).unwrap();
            calls += 1;
        }
        assert_eq!((calls, line.wants_write(), line.wants_read()), (4, false, true), "half of it at each second call");
        let second = heard[0];
        assert_eq!(heard[1].length, 512, "there is room for a small one");
        assert!(line.output.capacity() == 0, "a large answer's room is given back");
        line.answer_done(&second, |_| Err(error::IO));
        assert_eq!(line.output, wire::simple_reply_head(error::IO, second.cookie), "no data come with an error");
    }

    #[test]
    fn long_zeroes_hold_nothing_and_come_two_at_once() {
        let export = Export { bytes: 1 << 40, ..export() };
        let mut line = Transmission::new(export, TransmissionTerms::default());
        let long = 4 << 20;
        line.read_from(&mut &[request(6, 0, long), request(4, 0, long), request(6, 0, long)].concat()[..]).unwrap();
        let (first, _) = line.next_request().unwrap();
        assert!(
            line.next_request().is_some()
                && line.next_request().is_none()
                && !line.wants_read()
                && !line.waits_for_share()
        );
        assert_eq!(line.cost, 2 * REQUEST_COST);
        line.answer_done(&first, |_| Ok(()));
        let mut third = None;
        line.write_to(&mut io::sink(), |head, _| third = Some(head)).unwrap();
        assert_eq!(third.map(|head| (head.command, head.length)), Some((NbdCommand::WriteZeroes, long)));
        let fast = RequestHead { flags: wire::FAST_ZERO, ..first };
        let plain = TransmissionTerms::default();
        assert_eq!(request_error(&fast, &line.export, plain), Some(error::UNSUPPORTED), "they would be written");
        assert_eq!(request_error(&fast, &Export { fast_zeroes: true, ..line.export.clone() }, plain), None);
        assert_eq!(
            request_error(&RequestHead { flags: 32, ..first }, &line.export, plain),
            Some(error::INVALID),
            "nobody knows it"
        );
    }

    #[test]
    fn all_have_so_much_together_and_each_a_small_one() {
        let share = Arc::new(MemoryShare::new((1 << 25) + (1 << 20)));
        let line = |bytes: &[Vec<u8>]| {
            let mut line = Transmission::new(export(), TransmissionTerms::default());
            line.use_share(Arc::clone(&share));
            line.read_from(&mut &bytes.concat()[..]).unwrap();
            line
        };
        let mut one = line(&[request(0, 0, 1 << 25)]);
        let mut other = line(&[request(0, 0, 4096), request(0, 0, 1 << 20)]);
        let (large, _) = one.next_request().unwrap();
        assert!(other.next_request().is_some(), "a small one");
        assert!(other.next_request().is_none() && other.waits_for_share() && !other.wants_read());
        one.answer_done(&large, |_| Ok(()));
        assert!(other.next_request().is_none() && one.holds_memory());
        one.write_to(&mut io::sink(), |_, _| ()).unwrap();
        assert!(other.next_request().is_some() && !one.holds_memory());
        drop((one, other));
        assert_eq!(share.bytes_taken(), 0);
    }

    #[test]
    fn what_is_cut_off_costs_nothing_and_is_not_done() {
        let mut line = Transmission::new(export(), TransmissionTerms::default());
        let bytes = [request(1, 0, 4096), vec![1; 100]].concat();
        line.read_from(&mut &bytes[..]).unwrap();
        assert!(line.next_request().is_none() && line.wants_read());
        line.read_from(&mut &[][..]).unwrap();
        assert!(line.next_request().is_none() && line.is_over());
        // Nonsense is not talked to any longer.
        let mut line = Transmission::new(export(), TransmissionTerms::default());
        line.read_from(&mut &[0; 2 * HEAD][..]).unwrap();
        assert!(line.next_request().is_none() && line.is_over());
    }
}
