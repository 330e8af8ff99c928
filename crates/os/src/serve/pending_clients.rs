//! Accepts the connections of a server and serves those that do not belong to the disk: clients that still negotiate,
//! and connections that send orders. One thread serves them and both listening sockets. It waits for none of them, and
//! their number, bytes and time are bounded.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::mpsc::channel;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use seekwise_disk::time::{Instant, Span};

use super::{ANSWER_PREFIXES, ServerListener, parse_order};
use crate::clock::{Clock, to_timespec};
use crate::live::attendance::AttendanceCounters;
use crate::live::transports::{LatencyRecorder, TransportProbe, make_round_trip};
use crate::live::{Connection, DiskMessage, Inbox, OrderReply};
use crate::nbd::{Export, Handshake, HandshakeStep, NbdWire, Transmission, TransmissionTerms};
use seekwise_run::receipt::transports::TransportKind;

/// Time limit of a client's negotiation, which is a few messages of a few bytes.
const NEGOTIATION_LIMIT: Span = Span::from_secs(10);

/// Connections that are accepted before the present ones are served again, so that a single newcomer is served before
/// many others push it out.
const ACCEPTED_AT_ONCE: usize = 16;

/// Most connections for orders at once. People and scripts send one order after another.
const MAX_ORDER_CONNECTIONS: usize = 16;

/// Reads from a connection before others are served; the rest is read at the next turn.
const READS_PER_TURN: usize = 16;

/// The longest order, in bytes: a key and a value.
const MAX_ORDER_BYTES: usize = 4096;

/// How long no connection is accepted after the system had no resources for one.
const ACCEPT_PAUSE: Span = Span::from_millis(100);

/// The listening sockets, and the connections that do not belong to the disk.
pub(super) struct PendingClients {
    clients: Option<ServerListener>,
    orders: Option<ServerListener>,
    export: Export,
    inbox: Inbox,
    attendance: AttendanceCounters,
    clock: Clock,
    /// In order of arrival.
    negotiating: Vec<NegotiatingClient>,
    ordering: Vec<OrderConnection>,
    /// A file descriptor that is given up for a moment if there is none for a new connection, so that the newcomer is
    /// turned away and does not wait.
    reserve: Option<File>,
    /// No connection is accepted until then.
    paused_until: Option<Instant>,
}

/// The sockets that are ready.
struct ReadySockets {
    end_signal: bool,
    clients: bool,
    orders: bool,
    /// In the order of the connections.
    negotiating: Vec<bool>,
    ordering: Vec<bool>,
}

/// A client that still negotiates.
struct NegotiatingClient {
    wire: Box<dyn NbdWire>,
    handshake: Handshake,
    output: OutputBuffer,
    arrived: Instant,
}

/// A connection that sends orders.
struct OrderConnection {
    wire: Box<dyn NbdWire>,
    /// Received bytes of the next order.
    line: Vec<u8>,
    output: OutputBuffer,
    /// Nothing more is read, and the connection ends when its answers are sent.
    is_closing: bool,
}

/// Bytes to be sent.
#[derive(Default)]
struct OutputBuffer {
    bytes: Vec<u8>,
    sent: usize,
}

impl OutputBuffer {
    fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Sends as many bytes as the other end takes.
    fn send_available(&mut self, wire: &mut dyn NbdWire) -> io::Result<()> {
        while self.sent < self.bytes.len() {
            match wire.write(&self.bytes[self.sent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(bytes) => self.sent += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        *self = OutputBuffer::default();
        Ok(())
    }
}

/// Reads from a non-blocking connection: `None` if there is nothing yet, zero bytes if it has ended.
fn read_available(wire: &mut dyn NbdWire, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    match wire.read(buffer) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

impl NegotiatingClient {
    /// Continues the negotiation until it waits for the other end. Returns the terms when it is over; errors are those
    /// of the connection.
    fn negotiate(&mut self) -> io::Result<Option<TransmissionTerms>> {
        let mut piece = [0; 4096];
        for _ in 0..READS_PER_TURN {
            self.output.send_available(&mut *self.wire)?;
            if !self.output.is_empty() {
                // Nothing is read from a client that does not read its answers.
                return Ok(None);
            }
            let wanted = self.handshake.bytes_wanted().min(piece.len());
            let Some(received) = read_available(&mut *self.wire, &mut piece[..wanted])? else { return Ok(None) };
            if received == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match self.handshake.receive(&piece[..received], &mut self.output.bytes) {
                HandshakeStep::Continues => {}
                HandshakeStep::Leaves => {
                    // The client may not wait for this.
                    let _ = self.output.send_available(&mut *self.wire);
                    return Err(ErrorKind::ConnectionAborted.into());
                }
                HandshakeStep::Begins(terms) => return Ok(Some(terms)),
            }
        }
        self.output.send_available(&mut *self.wire)?;
        Ok(None)
    }
}

impl OrderConnection {
    /// Reads orders, has the disk carry them out, and sends the answers. False when the connection is over; errors are
    /// its own.
    fn serve_orders(&mut self, inbox: &Inbox, attendance: &AttendanceCounters) -> io::Result<bool> {
        // The orders in one such piece at most are carried out before others are served.
        let mut piece = [0; 256];
        let mut has_read = false;
        loop {
            self.output.send_available(&mut *self.wire)?;
            if !self.output.is_empty() || self.is_closing {
                return Ok(!self.output.is_empty());
            }
            if let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                self.answer_order(&line, inbox);
                continue;
            }
            if self.line.len() > MAX_ORDER_BYTES {
                attendance.update_counters(|counters| counters.orders_turned_away += 1);
                self.is_closing = true;
                self.push_answer(Err(format!("a line of more than {MAX_ORDER_BYTES} bytes; expected an order")));
                continue;
            }
            if std::mem::replace(&mut has_read, true) {
                return Ok(true);
            }
            match read_available(&mut *self.wire, &mut piece)? {
                None => return Ok(true),
                Some(0) => {
                    self.is_closing = true;
                    let line = std::mem::take(&mut self.line);
                    if !line.is_empty() {
                        self.answer_order(&line, inbox);
                    }
                }
                Some(received) => self.line.extend(&piece[..received]),
            }
        }
    }

    /// Has the disk carry out an order, and appends its answer.
    fn answer_order(&mut self, line: &[u8], inbox: &Inbox) {
        let reply = match parse_order(String::from_utf8_lossy(line).trim_end()) {
            Err(expected) => Err(expected),
            Ok(order) => {
                let (answer, reply) = channel();
                let ended = || Err("it has ended".to_owned());
                // The disk answers within a turn of its own.
                inbox
                    .send(DiskMessage::Order(order, answer))
                    .map_or_else(|_| ended(), |()| reply.recv().unwrap_or_else(|_| ended()))
            }
        };
        self.push_answer(reply);
    }

    fn push_answer(&mut self, reply: OrderReply) {
        let [done, refused] = ANSWER_PREFIXES;
        let (prefix, words) = reply.map_or_else(|words| (refused, words), |words| (done, words));
        self.output.bytes.extend(format!("{prefix}{words}\n").bytes());
    }
}

/// Gives the disk one end of this connection as that of a probe, a client of our own, and returns the other.
pub(super) fn connect_probe_client(
    (near, far): (Box<dyn NbdWire>, Box<dyn NbdWire>),
    export: &Export,
    inbox: &Inbox,
) -> io::Result<Box<dyn NbdWire>> {
    far.set_non_blocking()?;
    let transmission = Transmission::new(export.clone(), TransmissionTerms::default());
    let _ = inbox.send(DiskMessage::Client(Box::new(Connection { wire: far, transmission, is_probe: true })));
    Ok(near)
}

impl PendingClients {
    /// Starts with these listening sockets and no connection.
    pub(super) fn new(
        [clients, orders]: [Option<ServerListener>; 2],
        export: Export,
        inbox: Inbox,
        attendance: AttendanceCounters,
    ) -> io::Result<PendingClients> {
        for listener in clients.iter().chain(&orders) {
            listener.set_non_blocking()?;
        }
        Ok(PendingClients {
            clients,
            orders,
            export,
            inbox,
            attendance,
            clock: Clock::start(),
            negotiating: Vec::new(),
            ordering: Vec::new(),
            reserve: open_reserve(),
            paused_until: None,
        })
    }

    /// Starts a client of our own that probes the transport over a connection of the same kind; `None` if clients have
    /// no socket.
    pub(super) fn start_probe(&self, latencies: LatencyRecorder) -> io::Result<Option<TransportProbe>> {
        let Some(listener) = &self.clients else { return Ok(None) };
        let mut near = connect_probe_client(listener.connection_pair()?, &self.export, &self.inbox)?;
        Ok(Some(TransportProbe::start_probe(latencies, TransportKind::Network, move || make_round_trip(&mut near))))
    }

    /// Accepts and serves connections until the other end of `end_signal` is closed.
    pub(super) fn accept_clients(mut self, end_signal: &dyn NbdWire) {
        loop {
            let now = self.clock.now();
            self.drop_expired(now);
            let is_paused = self.paused_until.is_some_and(|until| now < until);
            let Some(ready) = self.wait_for_ready(end_signal, is_paused, now) else { return };
            if ready.end_signal {
                return;
            }
            self.serve_ready(&ready.negotiating, &ready.ordering);
            for (has_new, is_client) in [(ready.clients, true), (ready.orders, false)] {
                // New connections are served at the next turn.
                let mut left = if has_new { ACCEPTED_AT_ONCE } else { 0 };
                while left > 0 && self.try_accept(is_client) {
                    left -= 1;
                }
            }
        }
    }

    /// Waits until a socket is ready, a client exceeds its time, or a pause ends. `None` if waiting fails.
    fn wait_for_ready(&self, end_signal: &dyn NbdWire, is_paused: bool, now: Instant) -> Option<ReadySockets> {
        let mut polled = vec![PollFd::from_borrowed_fd(end_signal.as_fd(), PollFlags::IN)];
        for listener in [&self.clients, &self.orders] {
            // The end signal takes the place of a socket that is missing or must wait.
            polled.push(match listener.as_ref().filter(|_| !is_paused) {
                Some(listener) => PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN),
                None => PollFd::from_borrowed_fd(end_signal.as_fd(), PollFlags::empty()),
            });
        }
        let flags = |output: &OutputBuffer| if output.is_empty() { PollFlags::IN } else { PollFlags::OUT };
        let negotiating = self.negotiating.iter().map(|client| (&client.wire, flags(&client.output)));
        let ordering = self.ordering.iter().map(|connection| (&connection.wire, flags(&connection.output)));
        for (wire, flags) in negotiating.chain(ordering) {
            polled.push(PollFd::from_borrowed_fd(wire.as_fd(), flags));
        }
        let expires = self.negotiating.first().map(|client| client.arrived + NEGOTIATION_LIMIT);
        let next = expires.into_iter().chain(self.paused_until.filter(|_| is_paused)).min();
        let limit = next.map(|next| to_timespec(next.saturating_since(now) + Span::from_millis(1)));
        if poll(&mut polled, limit.as_ref()).is_err_and(|error| error != Errno::INTR) {
            return None;
        }
        let mut ready = polled.iter().map(|socket| !socket.revents().is_empty());
        Some(ReadySockets {
            end_signal: ready.next()?,
            clients: ready.next()?,
            orders: ready.next()?,
            negotiating: ready.by_ref().take(self.negotiating.len()).collect(),
            ordering: ready.collect(),
        })
    }

    /// Serves the connections that are ready, each flag in the order of the connections.
    fn serve_ready(&mut self, negotiating: &[bool], ordering: &[bool]) {
        let PendingClients { inbox, attendance, .. } = self;
        let mut flags = ordering.iter();
        self.ordering.retain_mut(|connection| {
            let is_ready = flags.next().copied().unwrap_or(false);
            !is_ready || connection.serve_orders(inbox, attendance).unwrap_or(false)
        });
        let mut flags = negotiating.iter();
        for mut client in std::mem::take(&mut self.negotiating) {
            if !flags.next().copied().unwrap_or(false) {
                self.negotiating.push(client);
                continue;
            }
            match client.negotiate() {
                Ok(None) => self.negotiating.push(client),
                // An error of its connection ends this client alone.
                Err(_) => {}
                Ok(Some(terms)) => self.hand_over(client, terms),
            }
        }
    }

    /// Hands a client that has negotiated to the disk. If the disk has ended, the client is dropped.
    fn hand_over(&self, client: NegotiatingClient, terms: TransmissionTerms) {
        let NegotiatingClient { wire, handshake, output, .. } = client;
        let mut transmission = Transmission::new(handshake.export().clone(), terms);
        transmission.send_first(&output.bytes[output.sent..]);
        let _ = self.inbox.send(DiskMessage::Client(Box::new(Connection { wire, transmission, is_probe: false })));
    }

    /// Disconnects clients that took too long.
    fn drop_expired(&mut self, now: Instant) {
        let before = self.negotiating.len();
        self.negotiating.retain(|client| now.saturating_since(client.arrived) < NEGOTIATION_LIMIT);
        let expired = (before - self.negotiating.len()) as u64;
        if expired > 0 {
            self.attendance.update_counters(|counters| counters.expired += expired);
        }
    }

    fn listener(&self, is_client: bool) -> Option<&ServerListener> {
        if is_client { self.clients.as_ref() } else { self.orders.as_ref() }
    }

    /// Accepts a connection of a client, or for orders. False if there is none, or none can be accepted now.
    fn try_accept(&mut self, is_client: bool) -> bool {
        let Some(listener) = self.listener(is_client) else { return false };
        match listener.accept() {
            Ok(wire) => {
                if wire.set_non_blocking().is_ok() {
                    self.add_connection(wire, is_client);
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => true,
            Err(error) => self.make_room_to_accept(&error, is_client),
        }
    }

    /// Makes room after this error, if the system has no file descriptor or no memory for a new connection. Disconnects
    /// the client that has negotiated for longest; else the disk's client that has sent no request for longest; else
    /// gives up the reserve for a moment to turn the newcomer away. True if another connection may be accepted.
    fn make_room_to_accept(&mut self, error: &io::Error, is_client: bool) -> bool {
        if !self.has_incoming(is_client) {
            // The system reports the error even if no connection waits.
            return false;
        }
        let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
        // Windows has no table of all processes' files that could be full.
        #[cfg(unix)]
        let lacks_descriptors = is(Errno::MFILE) || is(Errno::NFILE);
        #[cfg(not(unix))]
        let lacks_descriptors = is(Errno::MFILE);
        self.attendance.update_counters(|counters| counters.without_descriptor += 1);
        if !self.negotiating.is_empty() {
            self.negotiating.remove(0);
            self.attendance.update_counters(|counters| counters.gave_way += 1);
            return true;
        }
        let (answer, has_dropped) = channel();
        let sent = self.inbox.send(DiskMessage::Crowded(answer));
        // The disk answers within a turn of its own.
        if sent.is_ok() && has_dropped.recv().unwrap_or(false) {
            return true;
        }
        if lacks_descriptors && self.reserve.take().is_some() {
            let is_turned_away = self.listener(is_client).is_some_and(|listener| listener.accept().is_ok());
            self.reserve = open_reserve();
            if is_turned_away {
                self.attendance.update_counters(|counters| counters.turned_away += 1);
                return self.reserve.is_some();
            }
        }
        // To try again at once would only keep a processor busy.
        self.paused_until = Some(self.clock.now() + ACCEPT_PAUSE);
        false
    }

    /// Whether a connection waits to be accepted.
    fn has_incoming(&self, is_client: bool) -> bool {
        self.listener(is_client).is_some_and(|listener| {
            let mut polled = [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)];
            poll(&mut polled, Some(&to_timespec(Span::ZERO))).is_ok_and(|ready| ready > 0)
        })
    }

    /// Adds a new connection. At the limit, the oldest of its kind is disconnected.
    fn add_connection(&mut self, wire: Box<dyn NbdWire>, is_client: bool) {
        if !is_client {
            if self.ordering.len() >= MAX_ORDER_CONNECTIONS {
                self.ordering.remove(0);
                self.attendance.update_counters(|counters| counters.orders_turned_away += 1);
            }
            let (line, output) = (Vec::new(), OutputBuffer::default());
            return self.ordering.push(OrderConnection { wire, line, output, is_closing: false });
        }
        self.attendance.update_counters(|counters| counters.came += 1);
        if self.negotiating.len() >= self.attendance.read_counters().limit {
            self.negotiating.remove(0);
            self.attendance.update_counters(|counters| counters.gave_way += 1);
        }
        let (handshake, hello) = Handshake::new(self.export.clone());
        let output = OutputBuffer { bytes: hello, sent: 0 };
        let mut client = NegotiatingClient { wire, handshake, output, arrived: self.clock.now() };
        if client.output.send_available(&mut *client.wire).is_ok() {
            self.negotiating.push(client);
        }
    }
}

/// Opens the descriptor that is given up when there is no other.
fn open_reserve() -> Option<File> {
    File::open(if cfg!(windows) { "NUL" } else { "/dev/null" }).ok()
}

#[cfg(all(test, unix))]
#[path = "pending_clients/tests.rs"]
mod tests;
