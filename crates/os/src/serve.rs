//! A disk as a network block device: clients connect to a socket, and are handed to the disk's thread when they have
//! negotiated; a second socket takes orders (power, settings, status), a line each. `pending_clients` has all other connections.

pub mod command;
#[cfg(target_os = "linux")]
pub mod fuse;
#[cfg(target_os = "linux")]
mod loops;
mod pending_clients;

use std::io;
#[cfg(unix)]
use std::io::Write;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;

use rustix::fd::{AsFd, BorrowedFd};
#[cfg(unix)]
use seekwise_disk::block::{Device, Flags, Op, Request};
#[cfg(unix)]
use seekwise_disk::flash::{Flash, FlashSpec};
#[cfg(unix)]
use seekwise_disk::rng::Seed;
#[cfg(unix)]
use seekwise_disk::stack::Stack;
#[cfg(unix)]
use seekwise_disk::time::Span;

use self::pending_clients::PendingClients;
#[cfg(unix)]
use self::pending_clients::connect_own_client;
#[cfg(unix)]
use crate::bytes::Bytes;
#[cfg(unix)]
use crate::clock::{Clock, take_real_time_priority};
#[cfg(unix)]
use crate::live::transports::{DoorProbe, DoorRecorder, make_round_trip};
#[cfg(unix)]
use crate::live::{Connection, DiskMessage};
use crate::live::{DiskOrder, Inbox, LiveDisk, OrderReply, create_inbox};
#[cfg(unix)]
use crate::nbd::NbdClient;
use crate::nbd::{self, Export, NbdWire, pair};
#[cfg(unix)]
use crate::nbd::{Transmission, negotiate};
#[cfg(unix)]
use crate::real_time::TimedDevice;
use seekwise_run::receipt::transports::{RequestTotals, TransportEnds, TransportKind as Way};
use seekwise_run::receipt::{PathCost, Receipt};

/// Name of a disk in a folder of the system.
pub const FILE: &str = "disk.img";

/// Address for clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A socket in the file system, for this user alone.
    Unix(PathBuf),
    /// An address of the network.
    Tcp(SocketAddr),
}

impl ListenAddress {
    /// Reads `unix:PATH` or `tcp:ADDRESS:PORT`, or says what was expected.
    pub fn parse(text: &str) -> Result<ListenAddress, String> {
        let expected = || format!("`{text}` is no address; expected unix:PATH or tcp:127.0.0.1:PORT");
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(ListenAddress::Unix(PathBuf::from(path))),
            Some(("tcp", address)) => {
                let address = address.replace("localhost:", "127.0.0.1:");
                address.parse().map(ListenAddress::Tcp).map_err(|_| expected())
            }
            _ => Err(expected()),
        }
    }

    /// Makes the path of a socket absolute.
    pub fn into_absolute(self) -> io::Result<ListenAddress> {
        match self {
            ListenAddress::Unix(path) => Ok(ListenAddress::Unix(std::path::absolute(path)?)),
            tcp => Ok(tcp),
        }
    }

    /// Whether only programs of this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            ListenAddress::Unix(_) => true,
            ListenAddress::Tcp(address) => address.ip().is_loopback(),
        }
    }

    /// Formats it as clients name it.
    pub fn client_uri(&self) -> String {
        match self {
            ListenAddress::Unix(path) => format!("nbd+unix:///?socket={}", path.display()),
            ListenAddress::Tcp(address) => format!("nbd://{address}"),
        }
    }
}

/// An export of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExportUri {
    /// Address of the server.
    pub address: ListenAddress,
    /// Name of the export there; most servers have one without a name.
    pub export: String,
}

impl ExportUri {
    /// Reads `unix:PATH`, `tcp:HOST:PORT` or a URI of this protocol, without `nbd:` or with it, or says what was expected.
    pub fn parse(text: &str) -> Result<ExportUri, String> {
        let expected = || {
            format!(
                "`{text}` is no address; expected unix:PATH, tcp:HOST:PORT, nbd://HOST:PORT/EXPORT or \
                     nbd+unix:///EXPORT?socket=PATH"
            )
        };
        if let Some(rest) = text.strip_prefix("nbd+unix:///") {
            let (export, path) = rest.split_once("?socket=").filter(|it| !it.1.is_empty()).ok_or_else(expected)?;
            return Ok(ExportUri { address: ListenAddress::Unix(PathBuf::from(path)), export: export.to_owned() });
        }
        if let Some(rest) = text.strip_prefix("nbd:").unwrap_or(text).strip_prefix("//") {
            let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
            return Ok(ExportUri {
                address: ListenAddress::Tcp(resolve_host(host).ok_or_else(expected)?),
                export: export.to_owned(),
            });
        }
        let address = match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => ListenAddress::Unix(PathBuf::from(path)),
            Some(("tcp", host)) => ListenAddress::Tcp(resolve_host(host).ok_or_else(expected)?),
            _ => return Err(expected()),
        };
        Ok(ExportUri { address, export: String::new() })
    }
}

/// Resolves the first address of a host, at the protocol's own port if none is named.
fn resolve_host(host: &str) -> Option<SocketAddr> {
    const PORT: u16 = 10809;
    let of = |at: &dyn Fn() -> io::Result<std::vec::IntoIter<SocketAddr>>| at().ok()?.next();
    of(&|| host.to_socket_addrs()).or_else(|| of(&|| (host, PORT).to_socket_addrs()))
}

impl std::fmt::Display for ExportUri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.address {
            ListenAddress::Unix(path) => write!(f, "nbd+unix:///{}?socket={}", self.export, path.display()),
            ListenAddress::Tcp(at) if self.export.is_empty() => write!(f, "nbd://{at}"),
            ListenAddress::Tcp(at) => write!(f, "nbd://{at}/{}", self.export),
        }
    }
}

/// Open sockets for clients and for orders.
#[derive(Debug)]
pub struct ServerSockets {
    clients: Option<ServerListener>,
    orders: Option<ServerListener>,
    address: Option<ListenAddress>,
}

#[derive(Debug)]
enum ServerListener {
    #[cfg(unix)]
    Unix(UnixListener, SocketFile),
    Tcp(TcpListener),
}

/// A socket of ours in the file system.
#[cfg(unix)]
#[derive(Clone, Debug)]
struct SocketFile {
    path: PathBuf,
    /// Inode of the socket there.
    inode: u64,
}

#[cfg(unix)]
impl SocketFile {
    fn new(path: &Path) -> io::Result<SocketFile> {
        use std::os::unix::fs::MetadataExt;
        Ok(SocketFile { path: path.to_owned(), inode: std::fs::symlink_metadata(path)?.ino() })
    }

    /// Removes it, unless somebody has put something else there.
    fn remove_socket(&self) {
        if SocketFile::new(&self.path).is_ok_and(|there| there.inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ServerListener {
    fn open(address: &ListenAddress) -> io::Result<ServerListener> {
        match address {
            ListenAddress::Tcp(address) => Ok(ServerListener::Tcp(TcpListener::bind(address)?)),
            #[cfg(unix)]
            ListenAddress::Unix(path) => Ok(ServerListener::Unix(bind_private(path)?, SocketFile::new(path)?)),
            #[cfg(not(unix))]
            ListenAddress::Unix(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "there are no such sockets here")),
        }
    }

    /// Makes it non-blocking.
    fn set_non_blocking(&self) -> io::Result<()> {
        match self {
            #[cfg(unix)]
            ServerListener::Unix(listener, _) => listener.set_nonblocking(true),
            ServerListener::Tcp(listener) => listener.set_nonblocking(true),
        }
    }

    /// Creates both ends of a connection within this program, of this socket's kind.
    fn connection_pair(&self) -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
        match self {
            #[cfg(unix)]
            ServerListener::Unix(..) => pair(),
            ServerListener::Tcp(_) => nbd::tcp_pair(),
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            #[cfg(unix)]
            ServerListener::Unix(listener, _) => listener.as_fd(),
            ServerListener::Tcp(listener) => listener.as_fd(),
        }
    }

    fn accept(&self) -> io::Result<Box<dyn NbdWire>> {
        match self {
            #[cfg(unix)]
            ServerListener::Unix(listener, _) => Ok(Box::new(listener.accept()?.0)),
            ServerListener::Tcp(listener) => Ok(Box::new(listener.accept()?.0)),
        }
    }
}

impl Drop for ServerListener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let ServerListener::Unix(_, place) = self {
            place.remove_socket();
        }
    }
}

/// Removes a socket that a killed server left and nobody answers. Refuses anything else but a socket: it is somebody's.
#[cfg(unix)]
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(there) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !there.file_type().is_socket() {
        let why = format!("{}: something else is there; expected no file, or a socket that was left", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        _ => Ok(()),
    }
}

/// Binds a socket for this user alone (mode 0600), from its first moment on.
#[cfg(unix)]
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    use rustix::fs::Mode;
    remove_stale_socket(path)?;
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    rustix::process::umask(before);
    listener
}

impl ServerSockets {
    /// Opens `address` for clients and `control` for orders, if they are given.
    pub fn open(address: Option<&ListenAddress>, control: Option<&Path>) -> io::Result<ServerSockets> {
        let clients = address.map(ServerListener::open).transpose()?;
        let address = match &clients {
            Some(ServerListener::Tcp(listener)) => Some(ListenAddress::Tcp(listener.local_addr()?)),
            _ => address.cloned(),
        };
        let orders = control.map(|path| ServerListener::open(&ListenAddress::Unix(path.to_owned()))).transpose()?;
        Ok(ServerSockets { clients, orders, address })
    }

    /// Address for clients, with the port that the system chose.
    pub fn address(&self) -> Option<&ListenAddress> {
        self.address.as_ref()
    }
}

/// Serves `disk` until it is told to stop through the inbox that `begin` gets. Errors are those of the image's file.
pub fn serve_disk(
    disk: LiveDisk,
    export: Export,
    doors: ServerSockets,
    begin: impl FnOnce(Inbox),
) -> io::Result<Receipt> {
    let (inbox, mut messages) = create_inbox()?;
    let ServerSockets { clients, orders, .. } = doors;
    let hall = PendingClients::new([clients, orders], export, inbox.clone(), disk.attendance_counters())?;
    let (leash, end) = pair()?;
    let probe = hall.start_probe(disk.latency_recorder())?;
    begin(inbox);
    let open = thread::spawn(move || hall.accept_clients(&*end));
    let receipt = disk.run(&mut messages);
    // Clients that still negotiate are dropped, and wait for nothing that is gone.
    drop((messages, leash, probe));
    let _ = open.join();
    receipt
}

/// Measures the cost of a connection to a disk on this machine now: the same connection, threads and client, and behind them a device
/// that takes a known time for each request. Each pauses as long as a disk: waking from that costs more than from a short pause.
#[cfg(unix)]
pub fn path_cost() -> io::Result<Option<PathCost>> {
    /// Measured reads, after a few that warm up: a third of a second, and the 99th percentile is the second largest.
    const READS: usize = 100;
    const FIRST: usize = 5;
    /// Time of each read: that of a disk's fast ones.
    const PAUSE: Span = Span::from_millis(3);
    let spec =
        FlashSpec { sectors: 1 << 20, largest: 8, read: PAUSE, write: PAUSE, read_rate: 1 << 40, write_rate: 1 << 40 };
    let export = Export::new(&spec.limits(), String::new());
    let begin = move || LiveDisk::new(Box::new(Flash::new(spec)), Bytes::default(), 1.0, None);
    let (mut client, inbox, _) = start_with_client(export, begin)?;
    let clock = Clock::start();
    let mut took = Vec::new();
    for stamp in 0..(READS + FIRST) as u64 {
        let (op, flags) = (Op::Read, Flags::NONE);
        let read = Request { tag: 0, unit: 0, origin: 0, op, flags, lba: stamp * 8, sectors: 8, stamp };
        let _ = client.submit(clock.now(), read);
        let done = loop {
            if let Some(done) = client.poll_completion() {
                break done;
            }
            TimedDevice::wait_for_event(&mut client, &clock, None).map_err(|_| io::ErrorKind::BrokenPipe)?;
            client.handle_timeout(clock.now());
        };
        took.push(done.finished.since(done.submitted).saturating_sub(PAUSE));
    }
    let _ = inbox.send(DiskMessage::Stop);
    took.drain(..FIRST);
    took.sort_unstable();
    Ok(Some(PathCost { p50: took[READS / 2 - 1], p99: took[READS * 99 / 100 - 1] }))
}

/// Not measured: there is no client.
#[cfg(not(unix))]
pub fn path_cost() -> io::Result<Option<PathCost>> {
    Ok(None)
}

/// Serves a modelled disk to this program alone, from now on; its bytes are in memory. The device is the client's
/// end of the connection.
#[cfg(unix)]
pub(crate) fn serve_to_self(stack: &Stack, seed: Seed) -> io::Result<NbdClient> {
    let export = Export::new(&stack.build(seed).limits(0), stack.profile.name.clone());
    let (stack, path, measured) = (stack.clone(), path_cost()?, DoorRecorder::default());
    let told = measured.clone();
    let begin = move || {
        LiveDisk::new(stack.build(seed), Bytes::default(), 1.0, None).with_path_cost(path).with_latency_recorder(told)
    };
    let (client, inbox, running) = start_with_client(export.clone(), begin)?;
    let mut near = connect_own_client(pair()?, &export, &inbox)?;
    let mut begun = false;
    let probe = DoorProbe::start_probe(measured.clone(), Way::Network, move || {
        // With precedence, as the run's client, beside which this one goes.
        if !std::mem::replace(&mut begun, true) {
            take_real_time_priority();
        }
        make_round_trip(&mut near)
    });
    Ok(client.with_ending(move |far| {
        drop(probe);
        measured.write(|ways| ways.client = Some(TransportEnds { far, near: RequestTotals::from(&ways.network) }));
        // The disk may have ended by itself: its result says why.
        let _ = inbox.send(DiskMessage::Stop);
        running.join().unwrap_or_else(|_| Err(io::Error::other("the disk's thread panicked")))
    }))
}

/// A disk at work within this program, on a thread of its own.
#[cfg(unix)]
type Running = thread::JoinHandle<io::Result<Receipt>>;

/// Starts a disk within this program, and connects its only client.
#[cfg(unix)]
fn start_with_client(
    export: Export,
    begin: impl FnOnce() -> LiveDisk + Send + 'static,
) -> io::Result<(NbdClient, Inbox, Running)> {
    let (near, far) = pair()?;
    let (inbox, mut messages) = create_inbox()?;
    let running = thread::spawn(move || begin().run(&mut messages));
    let asked = inbox.clone();
    thread::spawn(move || hand_over_client(far, export, &asked));
    Ok((NbdClient::connect(near, "")?, inbox, running))
}

/// Negotiates with a client within this program, and hands it to the disk. Errors of its connection are its own affair.
#[cfg(unix)]
fn hand_over_client(mut wire: Box<dyn NbdWire>, export: Export, inbox: &Inbox) {
    let Ok(Some(negotiated)) = negotiate(&mut wire, &export) else { return };
    if wire.set_non_blocking().is_ok() {
        // If the disk has ended, the client is dropped.
        let _ = inbox.send(DiskMessage::Client(Box::new(Connection {
            wire,
            line: Transmission::new(export, negotiated),
            ours: false,
        })));
    }
}

/// Beginnings of answers to orders: done, or refused.
const ANSWERS: [&str; 2] = ["done: ", "refused: "];

/// Parses an order, or says what was expected.
fn parse_order(line: &str) -> Result<DiskOrder, String> {
    match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("cut", "") => Ok(DiskOrder::Cut),
        ("off", "") => Ok(DiskOrder::Off),
        ("on", "") => Ok(DiskOrder::On),
        ("reset", "") => Ok(DiskOrder::Reset),
        ("status", "") => Ok(DiskOrder::Status),
        ("receipt", "") => Ok(DiskOrder::Receipt),
        ("set", setting) => match setting.split_once('=') {
            Some((key, value)) => Ok(DiskOrder::Set(key.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("`{setting}` sets nothing; expected set KEY=VALUE")),
        },
        _ => Err(format!("`{line}` is no order; expected cut, off, on, reset, status, receipt or set KEY=VALUE")),
    }
}

/// Sends an order to a server and returns its answer; an error if nobody takes orders there.
#[cfg(unix)]
pub fn send(control: &Path, order: &str) -> io::Result<OrderReply> {
    let mut stream = UnixStream::connect(control)?;
    writeln!(stream, "{order}")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // The listener may say anything, or nothing.
    let mut said = Vec::new();
    let heard = io::Read::read_to_end(&mut stream, &mut said);
    let text = String::from_utf8_lossy(&said);
    let [done, refused] = ANSWERS.map(|how| text.trim_end().strip_prefix(how).map(str::to_owned));
    let nobody =
        || heard.err().unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "nobody takes orders there"));
    done.map(Ok).or(refused.map(Err)).ok_or_else(nobody)
}

/// Fails: there are no such sockets.
#[cfg(not(unix))]
pub fn send(_: &Path, _: &str) -> io::Result<OrderReply> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "there are no such sockets here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        assert_eq!(ListenAddress::parse("unix:/tmp/s"), Ok(ListenAddress::Unix("/tmp/s".into())));
        let here = ListenAddress::parse("tcp:localhost:10809").unwrap();
        assert!(here.is_local() && here.client_uri() == "nbd://127.0.0.1:10809");
        assert!(!ListenAddress::parse("tcp:0.0.0.0:10809").unwrap().is_local());
        for wrong in ["", "unix:", "tcp:here", "/tmp/s", "tcp:127.0.0.1"] {
            let said = ListenAddress::parse(wrong).unwrap_err();
            assert_eq!(said, format!("`{wrong}` is no address; expected unix:PATH or tcp:127.0.0.1:PORT"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_client_within_the_program_is_counted_as_any_other() {
        use crate::null::NullDevice;
        let (mut near, far) = pair().unwrap();
        let (inbox, mut messages) = create_inbox().unwrap();
        let hello =
            [&3u32.to_be_bytes()[..], b"IHAVEOPT", &nbd::wire::option::EXPORT_NAME.to_be_bytes(), &[0; 4]].concat();
        near.write_all(&hello).unwrap();
        let disk = NullDevice::new();
        hand_over_client(far, Export::new(&disk.limits(0), String::new()), &inbox);
        inbox.send(DiskMessage::Stop).unwrap();
        let receipt = LiveDisk::new(Box::new(disk), Bytes::default(), 1.0, None).run(&mut messages).unwrap();
        assert_eq!(receipt.attendance.most, 1);
    }

    #[test]
    fn orders_are_read_or_refused() {
        assert_eq!(parse_order("cut "), Ok(DiskOrder::Cut));
        assert_eq!(parse_order("set driver.flush = drop"), Ok(DiskOrder::Set("driver.flush".into(), "drop".into())));
        assert!(parse_order("cut now").unwrap_err().contains("expected cut, off, on"));
        assert!(parse_order("set x").unwrap_err().contains("expected set KEY=VALUE"));
    }
}
