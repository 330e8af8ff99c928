//! Serves a disk as a network block device. Clients connect to a socket, negotiate with the thread of
//! `pending_clients`, and are then handed to the disk's thread. A second socket takes orders (power, settings, status),
//! a line each. A disk can also be served within this program: to measure the cost of a connection, and as the place
//! `live`.

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
use self::pending_clients::connect_probe_client;
#[cfg(unix)]
use crate::bytes::Bytes;
#[cfg(unix)]
use crate::clock::{Clock, take_real_time_priority};
#[cfg(unix)]
use crate::live::transports::{LatencyRecorder, TransportProbe, make_round_trip};
#[cfg(unix)]
use crate::live::{Connection, DiskMessage};
use crate::live::{DiskOrder, Inbox, LiveDisk, OrderReply, create_inbox};
#[cfg(unix)]
use crate::nbd::NbdClient;
use crate::nbd::{self, Export, NbdWire, connection_pair};
#[cfg(unix)]
use crate::nbd::{Transmission, negotiate};
#[cfg(unix)]
use crate::real_time::TimedDevice;
use seekwise_run::receipt::transports::{RequestTotals, TransportEnds, TransportKind};
use seekwise_run::receipt::{PathCost, Receipt};

/// Name of the disk's file in a folder where it is mounted.
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
    /// Parses `unix:PATH` or `tcp:ADDRESS:PORT`; an error says what was expected.
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
            ListenAddress::Unix(path) => format!("nbd+unix:///?socket={}", encode_path(path)),
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
    /// Parses `unix:PATH`, `tcp:HOST:PORT` or a URI of this protocol, without `nbd:` or with it; an error says what was
    /// expected.
    pub fn parse(text: &str) -> Result<ExportUri, String> {
        let expected = || {
            format!(
                "`{text}` is no address; expected unix:PATH, tcp:HOST:PORT, nbd://HOST:PORT/EXPORT or \
                     nbd+unix:///EXPORT?socket=PATH"
            )
        };
        let decode = |text: &str| percent_decode(text).ok_or_else(expected);
        let decode_name = |text: &str| String::from_utf8(decode(text)?).map_err(|_| expected());
        if let Some(rest) = text.strip_prefix("nbd+unix:///") {
            let (export, path) = rest.split_once("?socket=").filter(|it| !it.1.is_empty()).ok_or_else(expected)?;
            let path = path_from_bytes(decode(path)?).ok_or_else(expected)?;
            return Ok(ExportUri { address: ListenAddress::Unix(path), export: decode_name(export)? });
        }
        if let Some(rest) = text.strip_prefix("nbd:").unwrap_or(text).strip_prefix("//") {
            let (host, export) = rest.split_once('/').unwrap_or((rest, ""));
            return Ok(ExportUri {
                address: ListenAddress::Tcp(resolve_host(host).ok_or_else(expected)?),
                export: decode_name(export)?,
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
    let first = |addresses: io::Result<std::vec::IntoIter<SocketAddr>>| addresses.ok()?.next();
    first(host.to_socket_addrs()).or_else(|| first((host, PORT).to_socket_addrs()))
}

impl std::fmt::Display for ExportUri {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let export = percent_encode(self.export.as_bytes());
        match &self.address {
            ListenAddress::Unix(path) => write!(f, "nbd+unix:///{export}?socket={}", encode_path(path)),
            ListenAddress::Tcp(address) if export.is_empty() => write!(f, "nbd://{address}"),
            ListenAddress::Tcp(address) => write!(f, "nbd://{address}/{export}"),
        }
    }
}

fn encode_path(path: &Path) -> String {
    percent_encode(path.as_os_str().as_encoded_bytes())
}

#[cfg(unix)]
fn path_from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
}

#[cfg(not(unix))]
fn path_from_bytes(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Encodes all bytes but slashes and those that need it nowhere in a URI (RFC 3986, 2.3), as NBD's URIs ask for.
fn percent_encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(*byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Decodes a part of a URI; `None` if a `%` is not followed by two hexadecimal digits.
fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    Some(bytes)
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

    /// Removes the socket, unless somebody has put something else there.
    fn remove_if_unchanged(&self) {
        if SocketFile::new(&self.path).is_ok_and(|present| present.inode == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl ServerListener {
    fn open(address: &ListenAddress) -> io::Result<ServerListener> {
        match address {
            ListenAddress::Tcp(address) => Ok(ServerListener::Tcp(TcpListener::bind(address)?)),
            #[cfg(unix)]
            ListenAddress::Unix(path) => Ok(ServerListener::Unix(bind_private_socket(path)?, SocketFile::new(path)?)),
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
            ServerListener::Unix(..) => connection_pair(),
            ServerListener::Tcp(_) => nbd::tcp_connection_pair(),
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
        if let ServerListener::Unix(_, socket_file) = self {
            socket_file.remove_if_unchanged();
        }
    }
}

/// Removes a socket that a killed server left and nobody answers. An error if there is something else than a socket: it
/// is somebody's.
#[cfg(unix)]
fn remove_stale_socket(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(metadata) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !metadata.file_type().is_socket() {
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
fn bind_private_socket(path: &Path) -> io::Result<UnixListener> {
    use rustix::fs::Mode;
    remove_stale_socket(path)?;
    let former_umask = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    rustix::process::umask(former_umask);
    listener
}

impl ServerSockets {
    /// Opens sockets for clients at `address` and for orders at `control_socket`, if they are given.
    pub fn open(address: Option<&ListenAddress>, control_socket: Option<&Path>) -> io::Result<ServerSockets> {
        let clients = address.map(ServerListener::open).transpose()?;
        let address = match &clients {
            Some(ServerListener::Tcp(listener)) => Some(ListenAddress::Tcp(listener.local_addr()?)),
            _ => address.cloned(),
        };
        let orders =
            control_socket.map(|path| ServerListener::open(&ListenAddress::Unix(path.to_owned()))).transpose()?;
        Ok(ServerSockets { clients, orders, address })
    }

    /// Address for clients, with the port that the system chose.
    pub fn address(&self) -> Option<&ListenAddress> {
        self.address.as_ref()
    }
}

/// Serves `disk` until it receives a message to stop in the inbox that `on_start` gets. Errors are those of the image's
/// file.
pub fn serve_disk(
    disk: LiveDisk,
    export: Export,
    sockets: ServerSockets,
    on_start: impl FnOnce(Inbox),
) -> io::Result<Receipt> {
    let (inbox, mut messages) = create_inbox()?;
    let ServerSockets { clients, orders, .. } = sockets;
    let pending = PendingClients::new([clients, orders], export, inbox.clone(), disk.attendance_counters())?;
    let (running, end_signal) = connection_pair()?;
    let probe = pending.start_probe(disk.latency_recorder())?;
    on_start(inbox);
    let accepting = thread::spawn(move || pending.accept_clients(&*end_signal));
    let receipt = disk.run(&mut messages);
    // Ends the accepting thread, which drops clients that still negotiate.
    drop((messages, running, probe));
    let _ = accepting.join();
    receipt
}

/// Measures the cost of a connection to a disk on this machine now: with the connection, threads and client of a served
/// disk, and a device that takes a known time for each request. That time is as long as a disk's: waking from it costs
/// more than from a short pause.
#[cfg(unix)]
pub fn measure_path_cost() -> io::Result<Option<PathCost>> {
    /// Measured reads, after a few that warm up: a third of a second, and the 99th percentile is the second largest.
    const READS: usize = 100;
    const WARM_UP_READS: usize = 5;
    /// Time of each read: that of a disk's fast ones.
    const PAUSE: Span = Span::from_millis(3);
    let spec =
        FlashSpec { sectors: 1 << 20, largest: 8, read: PAUSE, write: PAUSE, read_rate: 1 << 40, write_rate: 1 << 40 };
    let export = Export::new(&spec.limits(), String::new());
    let build_disk = move || LiveDisk::new(Box::new(Flash::new(spec)), Bytes::default(), 1.0, None);
    let DiskWithClient { mut client, inbox, .. } = start_disk_with_client(export, build_disk)?;
    let clock = Clock::start();
    let mut costs = Vec::new();
    for stamp in 0..(READS + WARM_UP_READS) as u64 {
        let (op, flags) = (Op::Read, Flags::NONE);
        let read = Request { tag: 0, unit: 0, origin: 0, op, flags, lba: stamp * 8, sectors: 8, stamp };
        let _ = client.submit(clock.now(), read);
        let completion = loop {
            if let Some(completion) = client.poll_completion() {
                break completion;
            }
            TimedDevice::wait_for_event(&mut client, &clock, None).map_err(|_| io::ErrorKind::BrokenPipe)?;
            client.handle_timeout(clock.now());
        };
        costs.push(completion.finished.since(completion.submitted).saturating_sub(PAUSE));
    }
    let _ = inbox.send(DiskMessage::Stop);
    costs.drain(..WARM_UP_READS);
    costs.sort_unstable();
    Ok(Some(PathCost { p50: costs[READS / 2 - 1], p99: costs[READS * 99 / 100 - 1] }))
}

/// Returns `None`: there is no client.
#[cfg(not(unix))]
pub fn measure_path_cost() -> io::Result<Option<PathCost>> {
    Ok(None)
}

/// Starts a modelled disk within this program, whose bytes are in memory, and returns its only client: the device at
/// the other end of the connection.
#[cfg(unix)]
pub(crate) fn serve_to_own_client(stack: &Stack, seed: Seed) -> io::Result<NbdClient> {
    let export = Export::new(&stack.build(seed).limits(0), stack.profile.name.clone());
    let (stack, cost, latencies) = (stack.clone(), measure_path_cost()?, LatencyRecorder::default());
    let disk_latencies = latencies.clone();
    let build_disk = move || {
        LiveDisk::new(stack.build(seed), Bytes::default(), 1.0, None)
            .with_path_cost(cost)
            .with_latency_recorder(disk_latencies)
    };
    let DiskWithClient { client, inbox, disk_thread } = start_disk_with_client(export.clone(), build_disk)?;
    let mut near = connect_probe_client(connection_pair()?, &export, &inbox)?;
    let mut has_priority = false;
    let probe = TransportProbe::start_probe(latencies.clone(), TransportKind::Network, move || {
        // The run's client, beside which this one works, has the priority too.
        if !std::mem::replace(&mut has_priority, true) {
            take_real_time_priority();
        }
        make_round_trip(&mut near)
    });
    Ok(client.with_end_action(move |far| {
        drop(probe);
        latencies.update_latencies(|latencies| {
            latencies.client = Some(TransportEnds { far, near: RequestTotals::from(&latencies.network) });
        });
        // The disk may have ended by itself: its result says why.
        let _ = inbox.send(DiskMessage::Stop);
        disk_thread.join().unwrap_or_else(|_| Err(io::Error::other("the disk's thread panicked")))
    }))
}

/// A disk at work on a thread of this program, and its only client.
#[cfg(unix)]
struct DiskWithClient {
    client: NbdClient,
    inbox: Inbox,
    disk_thread: thread::JoinHandle<io::Result<Receipt>>,
}

/// Starts the disk that `build_disk` returns, on a thread, and connects its only client.
#[cfg(unix)]
fn start_disk_with_client(
    export: Export,
    build_disk: impl FnOnce() -> LiveDisk + Send + 'static,
) -> io::Result<DiskWithClient> {
    let (near, far) = connection_pair()?;
    let (inbox, mut messages) = create_inbox()?;
    let disk_thread = thread::spawn(move || build_disk().run(&mut messages));
    let disk_inbox = inbox.clone();
    thread::spawn(move || negotiate_and_hand_over(far, export, &disk_inbox));
    Ok(DiskWithClient { client: NbdClient::connect(near, "")?, inbox, disk_thread })
}

/// Negotiates with a client within this program, and hands its connection to the disk. Errors of the connection end it
/// alone.
#[cfg(unix)]
fn negotiate_and_hand_over(mut wire: Box<dyn NbdWire>, export: Export, inbox: &Inbox) {
    let Ok(Some(terms)) = negotiate(&mut wire, &export) else { return };
    if wire.set_non_blocking().is_ok() {
        let transmission = Transmission::new(export, terms);
        // If the disk has ended, the client is dropped.
        let _ = inbox.send(DiskMessage::Client(Box::new(Connection { wire, transmission, is_probe: false })));
    }
}

/// Beginnings of answers to orders: done, or refused.
const ANSWER_PREFIXES: [&str; 2] = ["done: ", "refused: "];

/// Parses an order; an error says what was expected.
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
pub fn send_order(control_socket: &Path, order: &str) -> io::Result<OrderReply> {
    let mut stream = UnixStream::connect(control_socket)?;
    writeln!(stream, "{order}")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // The listener may say anything, or nothing.
    let mut answer = Vec::new();
    let read = io::Read::read_to_end(&mut stream, &mut answer);
    let text = String::from_utf8_lossy(&answer);
    let [done, refused] = ANSWER_PREFIXES.map(|prefix| text.trim_end().strip_prefix(prefix).map(str::to_owned));
    let nobody =
        || read.err().unwrap_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "nobody takes orders there"));
    done.map(Ok).or(refused.map(Err)).ok_or_else(nobody)
}

/// Fails: there are no such sockets.
#[cfg(not(unix))]
pub fn send_order(_: &Path, _: &str) -> io::Result<OrderReply> {
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

    #[test]
    fn a_uri_has_no_bytes_that_mean_something_else_there() {
        let uri = |path: &str| ListenAddress::Unix(path.into()).client_uri();
        assert_eq!(uri("/a b/c?d&e%f#ü"), "nbd+unix:///?socket=/a%20b/c%3Fd%26e%25f%23%C3%BC");
        assert_eq!(uri("/run/x_1-2.3~/s"), "nbd+unix:///?socket=/run/x_1-2.3~/s");
        for (path, export) in [("/a b/c?d&e%f#ü", ""), ("/s", "one disk/2?")] {
            let named = ExportUri { address: ListenAddress::Unix(path.into()), export: export.to_owned() };
            assert_eq!(ExportUri::parse(&named.to_string()), Ok(named));
        }
        for wrong in [
            "nbd+unix:///?socket=/a%2",
            "nbd+unix:///?socket=/a%zz",
            "nbd+unix:///%FF?socket=/a",
            "nbd+unix:///?socket=/%+1",
        ] {
            assert!(ExportUri::parse(wrong).unwrap_err().contains("expected unix:PATH"), "{wrong}");
        }
        // A path without a scheme is taken as it is.
        assert_eq!(ExportUri::parse("unix:/a%20b").unwrap().address, ListenAddress::Unix("/a%20b".into()));
    }

    #[cfg(unix)]
    #[test]
    fn a_client_within_the_program_is_counted_as_any_other() {
        use crate::null::NullDevice;
        let (mut near, far) = connection_pair().unwrap();
        let (inbox, mut messages) = create_inbox().unwrap();
        let hello =
            [&3u32.to_be_bytes()[..], b"IHAVEOPT", &nbd::wire::option::EXPORT_NAME.to_be_bytes(), &[0; 4]].concat();
        near.write_all(&hello).unwrap();
        let disk = NullDevice::new();
        negotiate_and_hand_over(far, Export::new(&disk.limits(0), String::new()), &inbox);
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
