//! Serves the clients of a disk and receives its other messages, all on one thread, by `poll`: no client holds up
//! another. Answers that a client does not read wait in its [`Transmission`]. A client that disconnects is removed;
//! requests that it has sent are still carried out.

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
use crate::nbd::{MemoryShare, NbdWire, Transmission, connection_pair};

/// How long a client may hold memory that others wait for, and move less than [`LEAST_MOVED_BYTES`]: no link for a disk
/// is slower.
const PATIENCE: Span = Span::from_secs(10);

/// See [`PATIENCE`].
const LEAST_MOVED_BYTES: u64 = 1 << 20;

/// Interval of the check for [`PATIENCE`].
const CHECK_INTERVAL: Span = Span::from_millis(500);

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
    /// The receiving end of the wake-up's socket.
    wake_socket: Box<dyn NbdWire>,
}

/// Creates both ends. Errors are those of the system, which may have no more sockets.
pub fn create_inbox() -> io::Result<(Inbox, Messages)> {
    let (socket, wake_socket) = connection_pair()?;
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
            // A full socket has a wake-up in it.
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
    pub transmission: Transmission,
    /// Whether it is our own client, which measures latencies.
    pub is_probe: bool,
}

impl Connection {
    /// Events to poll for.
    fn poll_flags(&self) -> PollFlags {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, self.transmission.wants_read());
        flags.set(PollFlags::OUT, self.transmission.wants_write());
        flags
    }
}

/// A client that is served.
struct ServedClient {
    connection: Connection,
    /// While others wait for memory: the beginning of the interval in which its moved bytes are counted.
    watched_since: Option<MovedBytes>,
}

/// Bytes that a client had sent and read at an instant.
#[derive(Clone, Copy)]
struct MovedBytes {
    at: Instant,
    bytes: u64,
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
    /// The last number given to a client.
    last_number: u64,
    memory_share: Arc<MemoryShare>,
    pub(super) attendance: AttendanceCounters,
    /// When a client was last turned away; `None` once it is not expected to come again.
    turned_away: Option<Instant>,
    /// Requests received and not taken yet.
    received: Vec<ClientRequest>,
    /// Numbers of clients that may have answers to be written.
    answered: Vec<u64>,
}

impl Clients {
    /// Sets the memory of all clients together.
    pub(crate) fn set_memory_limit(&mut self, bytes: u64) {
        self.memory_share = Arc::new(MemoryShare::new(usize::try_from(bytes).unwrap_or(usize::MAX)));
    }

    /// Memory in use by all clients, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_share.bytes_taken() as u64
    }

    /// Adds a client at `now`. At the limit, the client that was added first among those without a request is
    /// disconnected, or else the new one is turned away.
    pub fn add(&mut self, mut connection: Connection, now: Instant) {
        let limit = self.attendance.read_counters().limit;
        let served = self.served.values().filter(|it| !it.connection.is_probe).count();
        if served >= limit && !connection.is_probe && !self.drop_silent_client() {
            // Noted, for the client may come again when clients that hold memory for too long are disconnected.
            self.turned_away = Some(now);
            return self.attendance.update_counters(|counters| counters.turned_away += 1);
        }
        connection.transmission.use_share(Arc::clone(&self.memory_share));
        self.last_number += 1;
        self.served.insert(self.last_number, ServedClient { connection, watched_since: None });
        let served = self.served.values().filter(|it| !it.connection.is_probe).count() as u64;
        self.attendance.update_counters(|counters| counters.most = counters.most.max(served));
    }

    /// Disconnects the client that was added first among those without a request. False if all have sent one.
    pub(crate) fn drop_silent_client(&mut self) -> bool {
        let is_silent = |it: &Connection| !it.is_probe && it.transmission.request_count() == 0;
        let silent = self.served.iter().find(|(_, it)| is_silent(&it.connection)).map(|it| *it.0);
        let is_dropped = silent.and_then(|silent| self.served.remove(&silent)).is_some();
        if is_dropped {
            self.attendance.update_counters(|counters| counters.gave_way += 1);
        }
        is_dropped
    }

    /// Returns the client of this number, which is about to be answered; `None` if it is gone.
    pub(crate) fn client_to_answer(&mut self, number: u64) -> Option<&mut Transmission> {
        let served = self.served.get_mut(&number)?;
        if self.answered.last() != Some(&number) {
            self.answered.push(number);
        }
        Some(&mut served.connection.transmission)
    }

    /// While clients wait for memory, or one was turned away lately: gives free memory to those that wait, and
    /// disconnects those that hold memory and move less than [`LEAST_MOVED_BYTES`] in [`PATIENCE`]. True if clients
    /// still wait.
    fn free_awaited_memory(&mut self, clock: &Clock) -> bool {
        let Clients { served, received, turned_away, .. } = self;
        if turned_away.is_none() && !served.values().any(|it| it.connection.transmission.waits_for_share()) {
            return false;
        }
        let now = clock.now();
        *turned_away = turned_away.filter(|since| now.since(*since) <= PATIENCE + PATIENCE);
        let mut dropped = Vec::new();
        for (number, ServedClient { connection, watched_since }) in served.iter_mut() {
            if connection.transmission.waits_for_share() && connection.write_output(*number, received).is_err() {
                dropped.push(*number);
                continue;
            }
            let moved = connection.transmission.bytes_moved();
            let since = *watched_since.get_or_insert(MovedBytes { at: now, bytes: moved });
            if !connection.transmission.holds_memory() || moved - since.bytes >= LEAST_MOVED_BYTES {
                *watched_since = Some(MovedBytes { at: now, bytes: moved });
            } else if now.since(since.at) >= PATIENCE {
                self.attendance.update_counters(|counters| counters.hung_up += 1);
                dropped.push(*number);
            }
        }
        dropped.iter().for_each(|number| drop(served.remove(number)));
        let has_waiting =
            turned_away.is_some() || served.values().any(|it| it.connection.transmission.waits_for_share());
        if !has_waiting {
            served.values_mut().for_each(|it| it.watched_since = None);
        }
        has_waiting
    }

    /// Whether requests were received and not taken yet.
    pub(crate) fn has_requests(&self) -> bool {
        !self.received.is_empty()
    }

    /// Takes the received requests.
    pub(crate) fn take_requests(&mut self) -> impl Iterator<Item = ClientRequest> + use<> {
        std::mem::take(&mut self.received).into_iter()
    }

    /// Waits until a client can be read or written to, a message comes, or `limit` is over; without a limit for as long
    /// as it takes. Serves the clients that are ready. True if there may be messages.
    pub(crate) fn wait_for_clients(&mut self, messages: &mut Messages, clock: &Clock, limit: Option<Span>) -> bool {
        let has_waiting = self.free_awaited_memory(clock);
        let limit = if self.received.is_empty() { limit } else { Some(Span::ZERO) };
        let check = has_waiting.then_some(CHECK_INTERVAL);
        let limit = limit.into_iter().chain(check).min().map(to_timespec);
        let mut sockets = Vec::with_capacity(1 + self.served.len());
        sockets.push(PollFd::from_borrowed_fd(messages.wake_socket.as_fd(), PollFlags::IN));
        for ServedClient { connection, .. } in self.served.values() {
            sockets.push(PollFd::from_borrowed_fd(connection.wire.as_fd(), connection.poll_flags()));
        }
        if !poll(&mut sockets, limit.as_ref()).is_ok_and(|ready| ready > 0) {
            return false;
        }
        let may_have_messages = !sockets[0].revents().is_empty();
        let ready: Vec<PollFlags> = sockets[1..].iter().map(PollFd::revents).collect();
        let mut events = ready.into_iter();
        let Clients { served, received, .. } = self;
        served.retain(|number, it| {
            let events = events.next().unwrap_or(PollFlags::empty());
            events.is_empty() || it.connection.read_and_write(events, *number, received).is_ok()
        });
        if may_have_messages {
            messages.reset_wake_up();
        }
        may_have_messages
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
    /// Reads and writes as far as these events allow; an error when the connection is over.
    fn read_and_write(&mut self, events: PollFlags, client: u64, received: &mut Vec<ClientRequest>) -> io::Result<()> {
        if events.contains(PollFlags::IN) && self.transmission.wants_read() {
            self.transmission.read_from(&mut self.wire)?;
            let requests = std::iter::from_fn(|| self.transmission.next_request());
            received.extend(requests.map(|(head, data)| ClientRequest { client, head, data }));
        } else if events.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // Refused requests have been answered.
        self.write_output(client, received)
    }

    /// Writes as many answers as the client takes, which may free memory for more requests; an error when the
    /// connection is over.
    fn write_output(&mut self, client: u64, received: &mut Vec<ClientRequest>) -> io::Result<()> {
        self.transmission.write_to(&mut self.wire, |head, data| received.push(ClientRequest { client, head, data }))?;
        if self.transmission.is_over() { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
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
    fn client(is_probe: bool) -> (Box<dyn NbdWire>, Connection) {
        let (near, wire) = connection_pair().unwrap();
        near.set_non_blocking().unwrap();
        wire.set_non_blocking().unwrap();
        (near, Connection { wire, transmission: Transmission::new(export(), TransmissionTerms::default()), is_probe })
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
        clients.attendance.update_counters(|counters| counters.limit = limit);
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
        let mut add = |clients: &mut Clients, is_probe: bool| {
            let (near, connection) = client(is_probe);
            clients.add(connection, Instant::from_nanos(0));
            ends.push(near);
            ends.len() - 1
        };
        let own = add(&mut clients, true);
        let (first, second) = (add(&mut clients, false), add(&mut clients, false));
        assert_eq!(clients.attendance.read_counters().most, 2, "our own is not counted");
        let third = add(&mut clients, false);
        let another_own = add(&mut clients, true);
        let counters = clients.attendance.read_counters();
        assert_eq!((counters.gave_way, counters.turned_away, counters.most), (1, 0, 2));
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
        let counters = clients.attendance.read_counters();
        assert_eq!((counters.gave_way, counters.turned_away, is_left(&mut *near)), (1, 1, true));
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
