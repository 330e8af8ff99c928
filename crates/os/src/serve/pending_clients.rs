//! Connections of a server that do not belong to the disk yet. One thread has both listening sockets, all clients that still negotiate,
//! and all that send orders; it waits for none of them, and their number, bytes and time are bounded. No connection gets a thread.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::mpsc::channel;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use seekwise_disk::time::{Instant, Span};

use super::{ANSWERS, ServerListener, parse_order};
use crate::clock::{Clock, to_timespec};
use crate::live::attendance::AttendanceCounters;
use crate::live::transports::{DoorProbe, DoorRecorder, make_round_trip};
use crate::live::{Connection, DiskMessage, Inbox};
use crate::nbd::{Export, Handshake, HandshakeStep, NbdWire, Transmission, TransmissionTerms};
use seekwise_run::receipt::transports::TransportKind as Way;

/// Time limit of a client's negotiation: a few messages of a few bytes, whatever their pace.
const AGREES: Span = Span::from_secs(10);

/// Connections that are accepted before those that are here are served again, so that a single newcomer is heard before many
/// others push it out.
const AT_ONCE: usize = 16;

/// Most connections for orders at once: people and scripts, one order after another.
const ORDERING: usize = 16;

/// Reads from a connection before others are served: the rest is there at the next turn.
const READS: usize = 16;

/// The longest order, in bytes: a key and a value.
const ORDER: usize = 4096;

/// How long nobody is accepted when the system has nothing left for a new connection.
const REST: Span = Span::from_millis(100);

/// Connections that do not belong to the disk yet.
pub(super) struct PendingClients {
    clients: Option<ServerListener>,
    orders: Option<ServerListener>,
    export: Export,
    inbox: Inbox,
    book: AttendanceCounters,
    clock: Clock,
    guests: Vec<NegotiatingClient>,
    ordering: Vec<OrderConnection>,
    /// Given up for a moment if there is no descriptor for a new connection, so that a newcomer is turned away and does not wait.
    reserve: Option<File>,
    /// Nobody is accepted until then.
    rests: Option<Instant>,
}

/// A client that still negotiates.
struct NegotiatingClient {
    wire: Box<dyn NbdWire>,
    talk: Handshake,
    out: OutputBuffer,
    came: Instant,
}

/// A connection that sends orders.
struct OrderConnection {
    wire: Box<dyn NbdWire>,
    /// Received bytes of the next order.
    line: Vec<u8>,
    out: OutputBuffer,
    /// Nothing more is read.
    ends: bool,
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

    /// Writes what the other end takes.
    fn send(&mut self, wire: &mut dyn NbdWire) -> io::Result<()> {
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
fn read_available(wire: &mut dyn NbdWire, into: &mut [u8]) -> io::Result<Option<usize>> {
    match wire.read(into) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(error) => Err(error),
    }
}

impl NegotiatingClient {
    /// Continues the negotiation until it waits for the other end. Returns the terms when it is over; errors are those of the connection.
    fn negotiate(&mut self) -> io::Result<Option<TransmissionTerms>> {
        let mut piece = [0; 4096];
        for _ in 0..READS {
            self.out.send(&mut *self.wire)?;
            if !self.out.is_empty() {
                // A client that does not read is not heard.
                return Ok(None);
            }
            let wanted = self.talk.bytes_wanted().min(piece.len());
            let Some(came) = read_available(&mut *self.wire, &mut piece[..wanted])? else { return Ok(None) };
            if came == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match self.talk.take_bytes(&piece[..came], &mut self.out.bytes) {
                HandshakeStep::On => {}
                HandshakeStep::Leaves => {
                    // The client may not wait for this.
                    let _ = self.out.send(&mut *self.wire);
                    return Err(ErrorKind::ConnectionAborted.into());
                }
                HandshakeStep::Goes(negotiated) => return Ok(Some(negotiated)),
            }
        }
        self.out.send(&mut *self.wire)?;
        Ok(None)
    }
}

impl OrderConnection {
    /// Reads orders and carries them out. False when it is over; errors are those of the connection.
    fn serve_orders(&mut self, inbox: &Inbox, book: &AttendanceCounters) -> io::Result<bool> {
        // At most the orders in one such piece are done before others are heard.
        let mut piece = [0; 256];
        let mut has_read = false;
        loop {
            self.out.send(&mut *self.wire)?;
            if !self.out.is_empty() || self.ends {
                return Ok(!self.out.is_empty());
            }
            if let Some(end) = self.line.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.line.drain(..=end).collect();
                self.obey_line(&line, inbox);
                continue;
            }
            if self.line.len() > ORDER {
                book.write(|book| book.orders_turned_away += 1);
                self.ends = true;
                self.push_answer(Err(format!("a line of more than {ORDER} bytes; expected an order")));
                continue;
            }
            if std::mem::replace(&mut has_read, true) {
                return Ok(true);
            }
            match read_available(&mut *self.wire, &mut piece)? {
                None => return Ok(true),
                Some(0) => {
                    self.ends = true;
                    let line = std::mem::take(&mut self.line);
                    if !line.is_empty() {
                        self.obey_line(&line, inbox);
                    }
                }
                Some(came) => self.line.extend(&piece[..came]),
            }
        }
    }

    fn obey_line(&mut self, line: &[u8], inbox: &Inbox) {
        let said = match parse_order(String::from_utf8_lossy(line).trim_end()) {
            Err(expected) => Err(expected),
            Ok(order) => {
                let (answer, said) = channel();
                let ended = || Err("it has ended".to_owned());
                // The disk answers within a turn of its own.
                inbox
                    .send(DiskMessage::Order(order, answer))
                    .map_or_else(|_| ended(), |()| said.recv().unwrap_or_else(|_| ended()))
            }
        };
        self.push_answer(said);
    }

    fn push_answer(&mut self, said: Result<String, String>) {
        let [done, refused] = ANSWERS;
        let (how, words) = said.map_or_else(|words| (refused, words), |words| (done, words));
        self.out.bytes.extend(format!("{how}{words}\n").bytes());
    }
}

/// Gives the disk one end of this connection as a client of our own, and returns the other.
pub(super) fn connect_own_client(
    (near, far): (Box<dyn NbdWire>, Box<dyn NbdWire>),
    export: &Export,
    inbox: &Inbox,
) -> io::Result<Box<dyn NbdWire>> {
    far.set_non_blocking()?;
    let line = Transmission::new(export.clone(), TransmissionTerms::default());
    let _ = inbox.send(DiskMessage::Client(Box::new(Connection { wire: far, line, ours: true })));
    Ok(near)
}

impl PendingClients {
    /// Creates it with these listening sockets.
    pub(super) fn new(
        [clients, orders]: [Option<ServerListener>; 2],
        export: Export,
        inbox: Inbox,
        book: AttendanceCounters,
    ) -> io::Result<PendingClients> {
        for door in clients.iter().chain(&orders) {
            door.set_non_blocking()?;
        }
        let (clock, guests, ordering) = (Clock::start(), Vec::new(), Vec::new());
        Ok(PendingClients {
            clients,
            orders,
            export,
            inbox,
            book,
            clock,
            guests,
            ordering,
            reserve: open_reserve(),
            rests: None,
        })
    }

    /// Starts a client of our own that probes the transport of clients, if they have a socket: over a connection of the same kind.
    pub(super) fn start_probe(&self, measured: DoorRecorder) -> io::Result<Option<DoorProbe>> {
        let Some(door) = &self.clients else { return Ok(None) };
        let mut near = connect_own_client(door.connection_pair()?, &self.export, &self.inbox)?;
        Ok(Some(DoorProbe::start_probe(measured, Way::Network, move || make_round_trip(&mut near))))
    }

    /// Accepts connections until the other end of `leash` is gone.
    pub(super) fn accept_clients(mut self, leash: &dyn NbdWire) {
        loop {
            let now = self.clock.now();
            self.drop_expired(now);
            let rests = self.rests.is_some_and(|until| now < until);
            let Some(ready) = self.wait_for_ready(leash, rests, now) else { return };
            let [leashed, clients, orders, rest @ ..] = &ready[..] else { return };
            if *leashed {
                return;
            }
            let (guests, ordering) = rest.split_at(self.guests.len());
            self.serve_ready(guests, ordering);
            for (there, is_client) in [(*clients, true), (*orders, false)] {
                // New connections are served at the next turn.
                let mut left = if there { AT_ONCE } else { 0 };
                while left > 0 && self.accept_one(is_client) {
                    left -= 1;
                }
            }
        }
    }

    /// Waits until something is to be done; returns which is ready of the leash, both sockets, clients and orders. `None` if waiting fails.
    fn wait_for_ready(&self, leash: &dyn NbdWire, rests: bool, now: Instant) -> Option<Vec<bool>> {
        let mut ways = vec![PollFd::from_borrowed_fd(leash.as_fd(), PollFlags::IN)];
        for door in [&self.clients, &self.orders] {
            // Without a socket, or while nobody is accepted, the leash stands in.
            ways.push(match door.as_ref().filter(|_| !rests) {
                Some(door) => PollFd::from_borrowed_fd(door.as_fd(), PollFlags::IN),
                None => PollFd::from_borrowed_fd(leash.as_fd(), PollFlags::empty()),
            });
        }
        let wanted = |out: &OutputBuffer| if out.is_empty() { PollFlags::IN } else { PollFlags::OUT };
        let guests = self.guests.iter().map(|it| (&it.wire, wanted(&it.out)));
        for (wire, wanted) in guests.chain(self.ordering.iter().map(|it| (&it.wire, wanted(&it.out)))) {
            ways.push(PollFd::from_borrowed_fd(wire.as_fd(), wanted));
        }
        let expires = self.guests.first().map(|guest| guest.came + AGREES);
        let next = expires.into_iter().chain(self.rests.filter(|_| rests)).min();
        let patience = next.map(|next| to_timespec(next.saturating_since(now) + Span::from_millis(1)));
        match poll(&mut ways, patience.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Some(ways.iter().map(|way| !way.revents().is_empty()).collect()),
            Err(_) => None,
        }
    }

    /// Serves the connections that are ready.
    fn serve_ready(&mut self, guests: &[bool], ordering: &[bool]) {
        let PendingClients { inbox, book, .. } = self;
        let mut ready = ordering.iter();
        self.ordering.retain_mut(|it| {
            let ready = ready.next().copied().unwrap_or(false);
            !ready || it.serve_orders(inbox, book).unwrap_or(false)
        });
        let mut ready = guests.iter();
        for mut guest in std::mem::take(&mut self.guests) {
            if !ready.next().copied().unwrap_or(false) {
                self.guests.push(guest);
                continue;
            }
            match guest.negotiate() {
                Ok(None) => self.guests.push(guest),
                // Errors of its connection are its own affair.
                Err(_) => {}
                Ok(Some(negotiated)) => self.hand_over(guest, negotiated),
            }
        }
    }

    /// Hands a client that has negotiated to the disk. If the disk has ended, the client is dropped.
    fn hand_over(&self, guest: NegotiatingClient, negotiated: TransmissionTerms) {
        let NegotiatingClient { wire, talk, out, .. } = guest;
        let mut line = Transmission::new(talk.export().clone(), negotiated);
        line.send_first(&out.bytes[out.sent..]);
        let _ = self.inbox.send(DiskMessage::Client(Box::new(Connection { wire, line, ours: false })));
    }

    /// Disconnects clients that took too long.
    fn drop_expired(&mut self, now: Instant) {
        let before = self.guests.len();
        self.guests.retain(|guest| now.saturating_since(guest.came) < AGREES);
        let expired = (before - self.guests.len()) as u64;
        if expired > 0 {
            self.book.write(|book| book.expired += expired);
        }
    }

    /// Accepts a connection. False if there is none, or none can be accepted now.
    fn accept_one(&mut self, is_client: bool) -> bool {
        let Some(door) = (if is_client { &self.clients } else { &self.orders }) else { return false };
        match door.accept() {
            Ok(wire) => {
                if wire.set_non_blocking().is_ok() {
                    self.add_connection(wire, is_client);
                }
                true
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => false,
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => true,
            Err(error) => self.make_room(&error, is_client),
        }
    }

    /// Makes room if there is no descriptor, or no memory of the system's, for a new connection. The client that has negotiated for longest
    /// goes; without one the disk's client that has sent no request for longest; without one the reserve is given up for a moment, and a
    /// newcomer is turned away. True if another may be accepted.
    fn make_room(&mut self, error: &io::Error, is_client: bool) -> bool {
        if !self.has_waiting(is_client) {
            // The system reports it before it looks: nobody has come.
            return false;
        }
        let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
        // Windows has no table of all processes' files that could be full.
        #[cfg(unix)]
        let descriptors = is(Errno::MFILE) || is(Errno::NFILE);
        #[cfg(not(unix))]
        let descriptors = is(Errno::MFILE);
        self.book.write(|book| book.without_descriptor += 1);
        if !self.guests.is_empty() {
            self.guests.remove(0);
            self.book.write(|book| book.gave_way += 1);
            return true;
        }
        let (answer, said) = channel();
        let asked = self.inbox.send(DiskMessage::Crowded(answer));
        // The disk answers within a turn of its own.
        if asked.is_ok() && said.recv().unwrap_or(false) {
            return true;
        }
        let door = if is_client { &self.clients } else { &self.orders };
        if descriptors && self.reserve.take().is_some() {
            let turned = door.as_ref().is_some_and(|door| door.accept().is_ok());
            self.reserve = open_reserve();
            if turned {
                self.book.write(|book| book.turned_away += 1);
                return self.reserve.is_some();
            }
        }
        // To try again at once would only keep a processor busy.
        self.rests = Some(self.clock.now() + REST);
        false
    }

    /// Whether a connection waits at this socket.
    fn has_waiting(&self, is_client: bool) -> bool {
        let door = if is_client { &self.clients } else { &self.orders };
        door.as_ref().is_some_and(|door| {
            let mut way = [PollFd::from_borrowed_fd(door.as_fd(), PollFlags::IN)];
            poll(&mut way, Some(&to_timespec(Span::ZERO))).is_ok_and(|ready| ready > 0)
        })
    }

    /// Takes a new connection.
    fn add_connection(&mut self, wire: Box<dyn NbdWire>, is_client: bool) {
        if !is_client {
            if self.ordering.len() >= ORDERING {
                // The oldest one gives way.
                self.ordering.remove(0);
                self.book.write(|book| book.orders_turned_away += 1);
            }
            let ordering = OrderConnection { wire, line: Vec::new(), out: OutputBuffer::default(), ends: false };
            return self.ordering.push(ordering);
        }
        self.book.write(|book| book.came += 1);
        if self.guests.len() >= self.book.read().limit {
            self.guests.remove(0);
            self.book.write(|book| book.gave_way += 1);
        }
        let (talk, hello) = Handshake::new(self.export.clone());
        let mut guest =
            NegotiatingClient { wire, talk, out: OutputBuffer { bytes: hello, sent: 0 }, came: self.clock.now() };
        if guest.out.send(&mut *guest.wire).is_ok() {
            self.guests.push(guest);
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
