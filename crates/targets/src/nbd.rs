//! The network block device protocol, the server's side and a client's: fixed newstyle negotiation, options, requests and replies,
//! as the specification has them (`doc/proto.md` of the NetworkBlockDevice project). No disk lies here: what is served is
//! an [`Export`], and what becomes of a request is [`crate::live`]'s affair.
//!
//! | file | what it is |
//! |---|---|
//! | [`wire`] | numbers and layouts: bytes in, requests out; replies as bytes |
//! | `negotiation` | from the first byte to transmission: GO, INFO, LIST, EXPORT_NAME, structured replies, contexts |
//! | `connection` | one client: its reader, its writer, and what it may have outstanding |
//! | `client` | the other side: any export as a device |
//!
//! Without TLS: a tunnel or the socket's mode keeps others out.

#[cfg(unix)]
mod client;
mod connection;
mod negotiation;
pub mod wire;

#[cfg(unix)]
pub use client::{Client, Wire};
pub use connection::{Asked, Given, Reply, serve};
pub use negotiation::{Export, Negotiated};
