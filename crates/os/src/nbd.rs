//! The network block device protocol (NBD), the server's side and a client's: fixed newstyle negotiation, options,
//! requests and replies, as in the specification (`doc/proto.md` of the NetworkBlockDevice project). An [`Export`] is
//! what a server offers; [`crate::live`] carries out its requests.
//!
//! | file | what it is |
//! |---|---|
//! | [`wire`] | numbers and layouts: bytes in, requests out; replies as bytes |
//! | `negotiation` | from the first byte to transmission: GO, INFO, LIST, EXPORT_NAME, structured replies, contexts |
//! | `connection` | one client after that: its requests, their answers, and its limits |
//! | `client` | the other side: any export as a device |
//!
//! TLS is not supported: a tunnel or the socket's mode keeps others out.

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
pub use connection::{CLIENT_MEMORY, MAX_EXTENTS, MemoryShare, Transmission};
pub use negotiation::{Export, Handshake, HandshakeStep, MAX_REQUEST_BYTES, TransmissionTerms, negotiate};

/// A connection, to be read, written and polled.
pub trait NbdWire: Read + Write + AsFd + Send {
    /// Makes the connection non-blocking.
    fn set_non_blocking(&self) -> io::Result<()>;
}

#[cfg(unix)]
impl NbdWire for UnixStream {
    fn set_non_blocking(&self) -> io::Result<()> {
        self.set_nonblocking(true)
    }
}

impl NbdWire for TcpStream {
    fn set_non_blocking(&self) -> io::Result<()> {
        // A request or a reply does not wait for the next one.
        self.set_nodelay(true)?;
        self.set_nonblocking(true)
    }
}

/// Creates both ends of a connection within this program.
#[cfg(unix)]
pub fn connection_pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    let (near, far) = UnixStream::pair()?;
    Ok((Box::new(near), Box::new(far)))
}

/// Creates both ends of a connection within this program.
#[cfg(not(unix))]
pub fn connection_pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    tcp_connection_pair()
}

/// Creates both ends of a connection over this machine's network.
pub(crate) fn tcp_connection_pair() -> io::Result<(Box<dyn NbdWire>, Box<dyn NbdWire>)> {
    let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (far, accepted_from) = listener.accept()?;
    // Another program of this machine may have been first.
    if accepted_from != near.local_addr()? {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    near.set_nodelay(true)?;
    Ok((Box::new(near), Box::new(far)))
}
