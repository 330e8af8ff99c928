//! The network block device protocol, the server's side and a client's: fixed newstyle negotiation, options, requests and replies,
//! as the specification has them (`doc/proto.md` of the NetworkBlockDevice project). No disk lies here: what is served is
//! an [`Export`], and what becomes of a request is [`crate::live`]'s affair.
//!
//! | file | what it is |
//! |---|---|
//! | [`wire`] | numbers and layouts: bytes in, requests out; replies as bytes |
//! | `negotiation` | from the first byte to transmission: GO, INFO, LIST, EXPORT_NAME, structured replies, contexts |
//! | `connection` | one client after that: its requests, their answers, and what it may have outstanding |
//! | `client` | the other side: any export as a device |
//!
//! Without TLS: a tunnel or the socket's mode keeps others out.

#[cfg(unix)]
mod client;
mod connection;
mod negotiation;
pub mod wire;

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;

use rustix::fd::AsFd;

#[cfg(unix)]
pub use client::NbdClient;
pub use connection::{EACH, EXTENTS, MemoryShare, Transmission};
pub use negotiation::{Export, Handshake, HandshakeStep, LARGEST, TransmissionTerms, negotiate};

/// A connection's two ways.
pub trait NbdWire: Read + Write + AsFd + Send {
    /// From now on nothing waits.
    fn without_waiting(&self) -> io::Result<()>;
}

#[cfg(unix)]
impl NbdWire for UnixStream {
    fn without_waiting(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

impl NbdWire for TcpStream {
    fn without_waiting(&self) -> io::Result<()> {
        // A request or a reply is not to wait for the next one.
        self.set_nodelay(true)?;
        self.set_nonblocking(true)
    }
}

/// Both ends of a connection within this program.
#[cfg(unix)]
pub fn pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    let (near, far) = UnixStream::pair()?;
    Ok((Box::new(near), Box::new(far)))
}

/// Both ends of a connection within this program.
#[cfg(not(unix))]
pub fn pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    tcp_pair()
}

/// The same over this machine's network.
pub fn tcp_pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    let door = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(door.local_addr()?)?;
    let (far, from) = door.accept()?;
    // Somebody else of this machine may have been first.
    if from != near.local_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    near.set_nodelay(true)?;
    Ok((Box::new(near), Box::new(far)))
}
