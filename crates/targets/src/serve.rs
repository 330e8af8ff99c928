//! A disk as a network block device: a socket where clients come, one thread for each; a second socket where orders come
//! (power, settings, status), a line each; and the one thread that has the disk.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::live::{Disk, Message, Order, Receipt};
use crate::nbd::{self, Export};

/// Where clients come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket in the file system, for this user alone.
    Unix(PathBuf),
    /// An address of the network.
    Tcp(SocketAddr),
}

impl Address {
    /// Reads `unix:PATH` or `tcp:ADDRESS:PORT`, or says what was expected.
    pub fn parse(text: &str) -> Result<Address, String> {
        let expected = || format!("`{text}` is no address; expected unix:PATH or tcp:127.0.0.1:PORT");
        match text.split_once(':') {
            Some(("unix", path)) if !path.is_empty() => Ok(Address::Unix(PathBuf::from(path))),
            Some(("tcp", address)) => {
                let address = address.replace("localhost:", "127.0.0.1:");
                address.parse().map(Address::Tcp).map_err(|_| expected())
            }
            _ => Err(expected()),
        }
    }

    /// Only programs of this machine can come.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Unix(_) => true,
            Address::Tcp(address) => address.ip().is_loopback(),
        }
    }

    /// As clients name it.
    pub fn uri(&self) -> String {
        match self {
            Address::Unix(path) => format!("nbd+unix:///?socket={}", path.display()),
            Address::Tcp(address) => format!("nbd://{address}"),
        }
    }
}

/// Sockets that clients and orders come to, ready for them.
#[derive(Debug)]
pub struct Doors {
    clients: Door,
    orders: Option<Door>,
    address: Address,
}

#[derive(Debug)]
enum Door {
    #[cfg(unix)]
    Unix(UnixListener, PathBuf),
    Tcp(TcpListener),
}

/// A connection's two ways.
trait Ways: Read + Write + Send {
    fn back(&self) -> io::Result<Box<dyn Ways>>;
    /// Both ways end: whoever reads is woken.
    fn end(&self);
}

#[cfg(unix)]
impl Ways for UnixStream {
    fn back(&self) -> io::Result<Box<dyn Ways>> {
        Ok(Box::new(self.try_clone()?))
    }
    fn end(&self) {
        let _ = self.shutdown(std::net::Shutdown::Both);
    }
}

impl Ways for TcpStream {
    fn back(&self) -> io::Result<Box<dyn Ways>> {
        Ok(Box::new(self.try_clone()?))
    }
    fn end(&self) {
        let _ = self.shutdown(std::net::Shutdown::Both);
    }
}

impl Door {
    fn open(address: &Address) -> io::Result<Door> {
        match address {
            Address::Tcp(address) => Ok(Door::Tcp(TcpListener::bind(address)?)),
            #[cfg(unix)]
            Address::Unix(path) => Ok(Door::Unix(private(path)?, path.clone())),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "there are no such sockets here")),
        }
    }

    fn accept(&self) -> io::Result<Box<dyn Ways>> {
        match self {
            #[cfg(unix)]
            Door::Unix(listener, _) => Ok(Box::new(listener.accept()?.0)),
            Door::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                // A reply is not to wait for the next one.
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Door::Unix(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A socket for this user alone (mode 0600), from its first moment on.
#[cfg(unix)]
fn private(path: &Path) -> io::Result<UnixListener> {
    use rustix::fs::Mode;
    // A socket that nobody answers is what a killed server left.
    if path.exists() && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        std::fs::remove_file(path)?;
    }
    let before = rustix::process::umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
    let listener = UnixListener::bind(path);
    rustix::process::umask(before);
    listener
}

impl Doors {
    /// Opens `address` for clients and, if it is given, `control` for orders.
    pub fn open(address: &Address, control: Option<&Path>) -> io::Result<Doors> {
        let mut address = address.clone();
        let clients = Door::open(&address)?;
        if let Door::Tcp(listener) = &clients {
            address = Address::Tcp(listener.local_addr()?);
        }
        let orders = control.map(|path| Door::open(&Address::Unix(path.to_owned()))).transpose()?;
        Ok(Doors { clients, orders, address })
    }

    /// Where clients come; the port is the one that was given.
    pub fn address(&self) -> &Address {
        &self.address
    }
}

/// Serves `disk` until it is told to stop through what `begin` was handed. Errors are those of the image's file.
pub fn serve(disk: Disk, export: Export, doors: Doors, begin: impl FnOnce(Sender<Message>)) -> io::Result<Receipt> {
    let (messages, comes) = channel();
    begin(messages.clone());
    let Doors { clients, orders, .. } = doors;
    // These threads end with the program: whoever they wait for may never come.
    let asked = messages.clone();
    #[cfg(unix)]
    let path = if let Door::Unix(_, path) = &clients { Some(path.clone()) } else { None };
    thread::spawn(move || {
        while let Ok(ways) = clients.accept() {
            let (export, asked) = (export.clone(), asked.clone());
            thread::spawn(move || client(ways, &export, &asked));
        }
    });
    let control = orders.as_ref().and_then(path_of);
    if let Some(orders) = orders {
        let messages = messages.clone();
        thread::spawn(move || {
            while let Ok(ways) = orders.accept() {
                let messages = messages.clone();
                thread::spawn(move || hear(ways, &messages));
            }
        });
    }
    drop(messages);
    let receipt = disk.run(&comes);
    #[cfg(unix)]
    for path in path.into_iter().chain(control) {
        let _ = std::fs::remove_file(path);
    }
    receipt
}

#[cfg(unix)]
fn path_of(door: &Door) -> Option<PathBuf> {
    if let Door::Unix(_, path) = door { Some(path.clone()) } else { None }
}

#[cfg(not(unix))]
fn path_of(_: &Door) -> Option<PathBuf> {
    None
}

/// One client until it leaves. What goes wrong with its connection is its own affair.
fn client(ways: Box<dyn Ways>, export: &Export, messages: &Sender<Message>) {
    let Ok(back) = ways.back() else { return };
    let Ok(end) = ways.back() else { return };
    let _ = nbd::serve(ways, back, export, |asked| {
        // Without a disk the reply says that the server is shutting down.
        let _ = messages.send(Message::Asked(asked));
    });
    end.end();
}

/// Orders, a line each, each answered with a line.
fn hear(ways: Box<dyn Ways>, messages: &Sender<Message>) {
    let Ok(mut back) = ways.back() else { return };
    for line in BufReader::new(ways).lines() {
        let Ok(line) = line else { return };
        let said = match order(&line) {
            Err(expected) => expected,
            Ok(order) => {
                let (answer, said) = channel();
                if messages.send(Message::Order(order, answer)).is_err() {
                    return;
                }
                said.recv().unwrap_or_else(|_| "it has ended".to_owned())
            }
        };
        if writeln!(back, "{said}").is_err() {
            return;
        }
    }
}

/// Reads an order, or says what was expected.
fn order(line: &str) -> Result<Order, String> {
    match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
        ("cut", "") => Ok(Order::Cut),
        ("off", "") => Ok(Order::Off),
        ("on", "") => Ok(Order::On),
        ("status", "") => Ok(Order::Status),
        ("set", setting) => match setting.split_once('=') {
            Some((key, value)) => Ok(Order::Set(key.trim().to_owned(), value.trim().to_owned())),
            None => Err(format!("`{setting}` sets nothing; expected set KEY=VALUE")),
        },
        _ => Err(format!("`{line}` is no order; expected cut, off, on, status or set KEY=VALUE")),
    }
}

/// Sends an order to a server, and gives its answer.
#[cfg(unix)]
pub fn send(control: &Path, order: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(control)?;
    writeln!(stream, "{order}")?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said.trim_end().to_owned())
}

/// Sends an order to a server, and gives its answer.
#[cfg(not(unix))]
pub fn send(_: &Path, _: &str) -> io::Result<String> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "there are no such sockets here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_or_refused() {
        assert_eq!(Address::parse("unix:/tmp/s"), Ok(Address::Unix("/tmp/s".into())));
        let here = Address::parse("tcp:localhost:10809").unwrap();
        assert!(here.is_local() && here.uri() == "nbd://127.0.0.1:10809");
        assert!(!Address::parse("tcp:0.0.0.0:10809").unwrap().is_local());
        for wrong in ["", "unix:", "tcp:here", "/tmp/s", "tcp:127.0.0.1"] {
            let said = Address::parse(wrong).unwrap_err();
            assert_eq!(said, format!("`{wrong}` is no address; expected unix:PATH or tcp:127.0.0.1:PORT"));
        }
    }

    #[test]
    fn orders_are_read_or_refused() {
        assert_eq!(order("cut "), Ok(Order::Cut));
        assert_eq!(order("set driver.flush = drop"), Ok(Order::Set("driver.flush".into(), "drop".into())));
        assert!(order("cut now").unwrap_err().contains("expected cut, off, on"));
        assert!(order("set x").unwrap_err().contains("expected set KEY=VALUE"));
    }
}
