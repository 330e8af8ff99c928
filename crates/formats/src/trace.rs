//! Recorded traces, as jobs: requests with their instants, whatever tool wrote them down, one file a format. Read as a
//! stream, put into the order of their instants in a bounded window: what a trace takes does not grow with its length.
//!
//! A format is told by what stands at the beginning ([`recognise`]), or named. What its numbers count is known of each
//! format and can be said otherwise ([`Reading`]). [`survey`] reads a trace once before it is played, and says whether its
//! units can be what they are taken for.
//!
//! Traces with measured response times, which `seekwise validate` holds a drive against, are another thing: [`measured`].

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod disksim;
mod fields;
mod format;
mod iolog;
pub mod keys;
mod lines;
pub mod measured;
mod msr;
mod order;
mod packed;
mod pairing;
mod reader;
mod recorded;
mod sink;
mod sniff;
mod spc;
pub mod survey;
mod tencent;

pub use fields::{TIMES, Units, name_of};
pub use format::{Event, FORMATS, Format, Known, Reading, WINDOW, Wait};
pub use packed::{Input, unpacked};
pub use reader::{Entry, Met, Part, Reader, open};
pub use sniff::{HEAD, Recognised, recognise};
