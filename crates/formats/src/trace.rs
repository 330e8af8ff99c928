//! Reads recorded traces as requests with their timestamps, from any supported tool; each format has a file. Traces are read as
//! a stream and sorted by timestamp in a bounded window, so that memory use does not grow with the length of a trace.
//!
//! The format is detected from the beginning ([`recognise`]), or named. The units of each format are known and can be overridden
//! ([`TraceReadOptions`]). [`survey`] reads a trace once before the replay, and checks whether its units are plausible.
//!
//! Traces with measured response times, for `seekwise validate`, are a separate format: [`measured`].

mod alibaba;
mod biosnoop;
mod blkparse;
mod blktrace;
mod compression;
mod disksim;
mod fields;
mod format;
mod iolog;
pub mod keys;
mod lines;
pub mod measured;
mod msr;
mod order;
mod pairing;
mod reader;
mod recording;
mod sink;
mod sniff;
mod spc;
pub mod survey;
mod tencent;

pub use compression::{TraceInput, unpack};
pub use fields::{TIME_UNITS, TraceUnits, time_unit_name};
pub use format::{
    FORMATS, FormatSpec, IologPlacement, KernelEvent, TraceFormat, TraceReadOptions, WINDOW, WaitMeaning,
};
pub use reader::{ReaderCounts, TraceEntry, TracePart, TraceReader, open};
pub use sniff::{FormatGuess, HEAD_BYTES, is_replayable_iolog, recognise};
