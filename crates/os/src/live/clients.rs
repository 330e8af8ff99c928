//! Serves the clients of a disk and receives its other messages, all on one thread, by `poll`: no client holds up another. Answers that
//! a client does not read wait in its [`Transmission`]. A client that disconnects is removed; requests that it sent are still carried out.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use seekwise_disk::time::{Instant, Span};

use super::DiskMessage;
use super::attendance::AttendanceCounters;
use crate::clock::{Clock, to_timespec};
use crate::nbd::wire::RequestHead;
use crate::nbd::{MemoryShare, NbdWire, Transmission, pair};

/// How long a client may hold memory that others wait for and move less than [`MOVED`]: no link for a disk is slower.
const PATIENCE: Span = Span::from_secs(10);

/// See [`PATIENCE`].
const MOVED: u64 = 1 << 20;

/// Interval of that check.
const LOOK: Span = Span::from_millis(500);

/// The sending end of a disk's messages, for any thread.
#[derive(Clone)]
pub struct Inbox {
    messages: Sender<DiskMessage>,
    wake_up: Arc<DiskWakeUp>,
}

/// Wakes the disk's thread while it waits for its clients.
struct DiskWakeUp {
    /// A wake-up was sent and not received yet.
    pending: AtomicBool,
    socket: Mutex<Box<dyn NbdWire>>,
}

/// The receiving end of a disk's messages.
pub struct Messages {
    messages: Receiver<DiskMessage>,
    wake_up: Arc<DiskWakeUp>,
    /// The other end of the wake-up's socket.
    wake_socket: Box<dyn NbdWire>,
}

/// Creates both ends. Errors are those of the system, which may have no more sockets.
pub fn create_inbox() -> io::Result<(Inbox, Messages)> {
    let (socket, wake_socket) = pair()?;
    socket.set_non_blocking()?;
    wake_socket.set_non_blocking()?;
    let wake_up = Arc::new(DiskWakeUp { pending: AtomicBool::new(false), socket: Mutex::new(socket) });
    let (sender, messages) = channel();
    Ok((Inbox { messages: sender, wake_up: Arc::clone(&wake_up) }, Messages { messages, wake_up, wake_socket }))
}

impl Inbox {
    /// Sends a message; an error if the disk has ended.
    pub fn send(&self, message: DiskMessage) -> Result<(), SendError<DiskMessage>> {
        self.messages.send(message)?;
        if !self.wake_up.pending.swap(true, Ordering::AcqRel) {
            // If the socket is full, a wake-up is in it.
            let _ = self.wake_up.socket.lock().unwrap_or_else(PoisonError::into_inner).write(&[0]);
        }
        Ok(())
    }
}

impl Messages {
    /// Resets the wake-up. Messages sent before can be received.
    fn reset_wake_up(&mut self) {
        let _ = self.wake_socket.read(&mut [0; 16]);
        self.wake_up.pending.swap(false, Ordering::AcqRel);
    }

    /// Receives a message, if there is one.
    pub(crate) fn try_receive(&self) -> Option<DiskMessage> {
        self.messages.try_recv().ok()
    }
}

/// A client that has negotiated.
pub struct Connection {
    /// Its connection.
    pub wire: Box<dyn NbdWire>,
    /// Its requests and answers.
    pub line: Transmission,
    /// Whether it is our own client, which measures latencies.
    pub ours: bool,
}

impl Connection {
    /// Events to poll for.
    fn poll_flags(&self) -> PollFlags {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, self.line.wants_read());
        wanted.set(PollFlags::OUT, self.line.wants_write());
        wanted
    }
}

/// A client that is served.
struct ServedClient {
    connection: Connection,
    /// While others wait for memory: since when it has moved too little, and the bytes moved by then.
    idle: Option<(Instant, u64)>,
}

/// A request that a client sent.
pub(super) struct ClientRequest {
    /// The client's number.
    pub client: u64,
    pub head: RequestHead,
    pub data: Vec<u8>,
}

/// All clients, by number.
#[derive(Default)]
pub(super) struct Clients {
    served: BTreeMap<u64, ServedClient>,
    last: u64,
    share: Arc<MemoryShare>,
    pub(super) book: AttendanceCounters,
    /// When a client was last turned away, for as long as it may come again.
    turned_away: Option<Instant>,
    /// Requests received and not taken yet.
    received: Vec<ClientRequest>,
    /// Clients that may have answers to be written.
    answered: Vec<u64>,
}

impl Clients {
    /// Sets the memory of all clients together.
    pub(crate) fn set_memory_limit(&mut self, bytes: u64) {
        self.share = Arc::new(MemoryShare::new(usize::try_from(bytes).unwrap_or(usize::MAX)));
    }

    /// Memory in use by all clients, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.share.bytes_taken() as u64
    }

    /// Adds a client at `now`. At the limit, the client that has been there longest without a request gives way, or else the new one.
    pub fn add(&mut self, mut connection: Connection, now: Instant) {
        let limit = self.book.read().limit;
        let there = self.served.values().filter(|it| !it.connection.ours).count();
        if there >= limit && !connection.ours && !self.drop_silent_client() {
            // The client may come again when those that do not read are gone.
            self.turned_away = Some(now);
            return self.book.write(|book| book.turned_away += 1);
        }
        connection.line.use_share(Arc::clone(&self.share));
        self.last += 1;
        self.served.insert(self.last, ServedClient { connection, idle: None });
        let there = self.served.values().filter(|it| !it.connection.ours).count() as u64;
        self.book.write(|book| book.most = book.most.max(there));
    }

    /// Removes the client that has been there longest without a request. False if all have sent one.
    pub(crate) fn drop_silent_client(&mut self) -> bool {
        let is_silent = |it: &Connection| !it.ours && it.line.request_count() == 0;
        let silent = self.served.iter().find(|(_, it)| is_silent(&it.connection)).map(|it| *it.0);
        let gone = silent.and_then(|silent| self.served.remove(&silent)).is_some();
        if gone {
            self.book.write(|book| book.gave_way += 1);
        }
        gone
    }

    /// Returns the client of this number, which is about to be answered; `None` if it is gone.
    pub(crate) fn client_to_answer(&mut self, number: u64) -> Option<&mut Transmission> {
        let served = self.served.get_mut(&number)?;
        if self.answered.last() != Some(&number) {
            self.answered.push(number);
        }
        Some(&mut served.connection.line)
    }

    /// Makes room while clients wait for memory, or were turned away lately; true if so. A client that waits takes what memory is free.
    /// A client that holds memory and moves less than [`MOVED`] in [`PATIENCE`] is disconnected.
    fn make_room(&mut self, clock: &Clock) -> bool {
        let Clients { served, received, turned_away, .. } = self;
        if turned_away.is_none() && !served.values().any(|it| it.connection.line.waits_for_share()) {
            return false;
        }
        let now = clock.now();
        *turned_away = turned_away.filter(|since| now.since(*since) <= PATIENCE + PATIENCE);
        let mut gone = Vec::new();
        for (number, ServedClient { connection, idle }) in served.iter_mut() {
            if connection.line.waits_for_share() && connection.write_output(*number, received).is_err() {
                gone.push(*number);
                continue;
            }
            let moved = connection.line.bytes_moved();
            let (since, before) = *idle.get_or_insert((now, moved));
            if !connection.line.holds_memory() || moved - before >= MOVED {
                *idle = Some((now, moved));
            } else if now.since(since) >= PATIENCE {
                self.book.write(|book| book.hung_up += 1);
                gone.push(*number);
            }
        }
        gone.iter().for_each(|number| drop(served.remove(number)));
        let waits = turned_away.is_some() || served.values().any(|it| it.connection.line.waits_for_share());
        if !waits {
            served.values_mut().for_each(|it| it.idle = None);
        }
        waits
    }

    /// Whether requests were received and not taken yet.
    pub(crate) fn has_requests(&self) -> bool {
        !self.received.is_empty()
    }

    /// Takes the received requests.
    pub(crate) fn take_requests(&mut self) -> impl Iterator<Item = ClientRequest> + use<> {
        std::mem::take(&mut self.received).into_iter()
    }

    /// Waits until a client can be read or written to, a message comes, or `patience` is over; without it, for good. Serves the
    /// clients that are ready. True if there may be messages.
    pub(crate) fn wait_for_clients(&mut self, messages: &mut Messages, clock: &Clock, patience: Option<Span>) -> bool {
        let waits = self.make_room(clock);
        let patience = if self.received.is_empty() { patience } else { Some(Span::ZERO) };
        let patience = if waits { Some(patience.map_or(LOOK, |span| span.min(LOOK))) } else { patience };
        let patience = patience.map(to_timespec);
        let mut sockets = Vec::with_capacity(1 + self.served.len());
        sockets.push(PollFd::from_borrowed_fd(messages.wake_socket.as_fd(), PollFlags::IN));
        for ServedClient { connection, .. } in self.served.values() {
            sockets.push(PollFd::from_borrowed_fd(connection.wire.as_fd(), connection.poll_flags()));
        }
        if !poll(&mut sockets, patience.as_ref()).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let is_woken = !sockets[0].revents().is_empty();
        let ready: Vec<PollFlags> = sockets[1..].iter().map(PollFd::revents).collect();
        let mut ready = ready.into_iter();
        let Clients { served, received, .. } = self;
        served.retain(|number, it| {
            let ready = ready.next().unwrap_or(PollFlags::empty());
            ready.is_empty() || it.connection.read_and_write(ready, *number, received).is_ok()
        });
        if is_woken {
            messages.reset_wake_up();
        }
        is_woken
    }

    /// Writes answers, as far as clients take them.
    pub(crate) fn write_answers(&mut self) {
        let Clients { served, received, answered, .. } = self;
        for number in answered.drain(..) {
            let Some(it) = served.get_mut(&number) else { continue };
            if it.connection.write_output(number, received).is_err() {
                served.remove(&number);
            }
        }
    }
}

impl Connection {
    /// Reads and writes as far as it is ready; an error when it is over.
    fn read_and_write(&mut self, ready: PollFlags, client: u64, received: &mut Vec<ClientRequest>) -> io::Result<()> {
        if ready.contains(PollFlags::IN) && self.line.wants_read() {
            self.line.read_from(&mut self.wire)?;
            let requests = std::iter::from_fn(|| self.line.next_request());
            received.extend(requests.map(|(head, data)| ClientRequest { client, head, data }));
        } else if ready.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // Refused requests have been answered.
        self.write_output(client, received)
    }

    /// Writes what the client takes, which may make room for more requests; an error when it is over.
    fn write_output(&mut self, client: u64, received: &mut Vec<ClientRequest>) -> io::Result<()> {
        self.line.write_to(&mut self.wire, |head, data| received.push(ClientRequest { client, head, data }))?;
        if self.line.is_over() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::wire::{REQUEST, error};
    use crate::nbd::{Export, TransmissionTerms};

    fn export() -> Export {
        Export {
            description: String::new(),
            bytes: 1 << 30,
            smallest: 512,
            preferred: 4096,
            largest: 1 << 25,
            fast_zeroes: false,
        }
    }

    /// A client's end, and the disk's.
    fn client(ours: bool) -> (Box<dyn NbdWire>, Connection) {
        let (near, wire) = pair().unwrap();
        near.set_non_blocking().unwrap();
        wire.set_non_blocking().unwrap();
        (near, Connection { wire, line: Transmission::new(export(), TransmissionTerms::default()), ours })
    }

    fn is_left(near: &mut dyn NbdWire) -> bool {
        near.read(&mut [0; 64]).is_ok_and(|came| came == 0)
    }

    /// A read of so many bytes.
    fn asks(near: &mut dyn NbdWire, length: u32) {
        let head = [&REQUEST.to_be_bytes()[..], &[0; 4], &[9; 8], &0u64.to_be_bytes(), &length.to_be_bytes()].concat();
        near.write_all(&head).unwrap();
    }

    fn within(limit: usize) -> Clients {
        let clients = Clients::default();
        clients.book.write(|book| book.limit = limit);
        clients
    }

    /// Hears what has come.
    fn turn(clients: &mut Clients) {
        let (_, mut messages) = create_inbox().unwrap();
        clients.wait_for_clients(&mut messages, &Clock::start(), Some(Span::ZERO));
    }

    #[test]
    fn beyond_the_limit_the_first_silent_one_gives_way_and_else_the_new_one() {
        let mut clients = within(2);
        let mut ends = Vec::new();
        let mut add = |clients: &mut Clients, ours: bool| {
            let (near, connection) = client(ours);
            clients.add(connection, Instant::from_nanos(0));
            ends.push(near);
            ends.len() - 1
        };
        let own = add(&mut clients, true);
        let (first, second) = (add(&mut clients, false), add(&mut clients, false));
        assert_eq!(clients.book.read().most, 2, "our own is not counted");
        let third = add(&mut clients, false);
        let another_own = add(&mut clients, true);
        let book = clients.book.read();
        assert_eq!((book.gave_way, book.turned_away, book.most), (1, 0, 2));
        let left: Vec<bool> = ends.iter_mut().map(|it| is_left(&mut **it)).collect();
        assert_eq!(
            (left[own], left[first], left[second], left[third], left[another_own]),
            (false, true, false, false, false)
        );
        // Once all have asked, none of them gives way.
        for at in [second, third] {
            asks(&mut *ends[at], 512);
        }
        turn(&mut clients);
        assert_eq!(clients.take_requests().count(), 2);
        let (mut near, connection) = client(false);
        clients.add(connection, Instant::from_nanos(0));
        let book = clients.book.read();
        assert_eq!((book.gave_way, book.turned_away, is_left(&mut *near)), (1, 1, true));
        assert!(!clients.drop_silent_client(), "our own stays, however silent");
    }

    #[test]
    fn clients_share_the_memory_and_give_it_back() {
        let mut clients = within(8);
        clients.set_memory_limit(1 << 26);
        let (mut near, connection) = client(false);
        clients.add(connection, Instant::from_nanos(0));
        let alone = clients.memory_bytes();
        asks(&mut *near, 1 << 20);
        turn(&mut clients);
        assert!(clients.has_requests() && clients.memory_bytes() >= alone + (1 << 20));
        let taken: Vec<_> = clients.take_requests().collect();
        assert!(!clients.has_requests());
        let client = taken[0].client;
        assert!(clients.client_to_answer(client).is_some() && clients.client_to_answer(client + 1).is_none());
        drop(near);
        // It has left, and is to be answered; then there is nobody to be written to.
        turn(&mut clients);
        assert!(clients.memory_bytes() > 0);
        turn(&mut clients);
        assert_eq!(clients.memory_bytes(), 0, "who hangs up has nothing any more");
        assert!(clients.client_to_answer(client).is_none());
    }

    /// Two reads of a MiB are more than there is for all; each costs 256 bytes more, and a client's buffer 64 KiB.
    #[test]
    fn who_waits_for_memory_stays_and_is_heard_when_there_is_some() {
        let mut clients = within(8);
        clients.set_memory_limit(2 << 20);
        let mut ends: Vec<Box<dyn NbdWire>> = Vec::new();
        for _ in 0..2 {
            let (mut near, connection) = client(false);
            clients.add(connection, Instant::from_nanos(0));
            asks(&mut *near, 1 << 20);
            ends.push(near);
        }
        turn(&mut clients);
        let taken: Vec<_> = clients.take_requests().collect();
        assert_eq!(taken.len(), 1);
        for _ in 0..2 {
            turn(&mut clients);
            assert!(!clients.has_requests() && !ends.iter_mut().any(|it| is_left(&mut **it)));
        }
        clients.client_to_answer(taken[0].client).unwrap().answer_failed(&taken[0].head, error::IO);
        clients.write_answers();
        turn(&mut clients);
        let heard: Vec<u64> = clients.take_requests().map(|request| request.client).collect();
        assert_eq!((taken[0].client, heard), (1, vec![2]));
    }

    #[test]
    fn a_wake_up_wakes_once_and_messages_come_in_order() {
        let (inbox, mut messages) = create_inbox().unwrap();
        let mut clients = within(1);
        let clock = Clock::start();
        assert!(!clients.wait_for_clients(&mut messages, &clock, Some(Span::ZERO)) && messages.try_receive().is_none());
        inbox.send(DiskMessage::Stop).unwrap();
        let (answer, _hears) = channel();
        inbox.send(DiskMessage::Crowded(answer)).unwrap();
        assert!(clients.wait_for_clients(&mut messages, &clock, None));
        assert!(matches!(messages.try_receive(), Some(DiskMessage::Stop)));
        assert!(matches!(messages.try_receive(), Some(DiskMessage::Crowded(_))) && messages.try_receive().is_none());
        assert!(!clients.wait_for_clients(&mut messages, &clock, Some(Span::ZERO)), "the wake-up was reset");
        inbox.send(DiskMessage::Stop).unwrap();
        assert!(clients.wait_for_clients(&mut messages, &clock, None), "and can be sent again");
    }
}
