//! Tencent's block traces of 2018, as SNIA's repository of traces describes the lines:
//! `Timestamp,Offset,Size,IOType,VolumeID`; sectors of 512 bytes, 0 for a read and 1 for a write.
//!
//! The timestamp is in whole seconds of Unix time, so that thousands of requests share one. The reader spreads the requests of
//! a second evenly over it, in their order.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// The most requests with one timestamp; they take 64 MB.
const MOST_PER_TIMESTAMP: usize = 1 << 20;

/// Parses lines, and holds back those of one timestamp until the next.
pub(super) struct Tencent {
    units: TraceUnits,
    /// The requests so far of the current timestamp.
    same_second: Vec<RawEntry>,
}

impl Tencent {
    pub fn new(units: TraceUnits) -> Tencent {
        Tencent { units, same_second: Vec::new() }
    }

    /// Adds the requests of the current timestamp to `sink`, spread over its second.
    fn add_spread_over_second(&mut self, sink: &mut EntrySink) {
        let count = self.same_second.len() as u64;
        for (index, raw) in self.same_second.drain(..).enumerate() {
            let after_ns = (u128::from(self.units.time) * index as u128 / u128::from(count)) as u64;
            sink.add(RawEntry { at_ns: raw.at_ns.saturating_add(after_ns), ..raw });
        }
    }
}

impl LineParser for Tencent {
    #[inline]
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        let (words, count) = split_commas::<5>(line.text);
        if count != 5 {
            return Err(line.wrong_count(count, TraceFormat::Tencent.spec().columns));
        }
        let [timestamp, offset, size, op, volume] = words;
        if timestamp.eq_ignore_ascii_case(b"timestamp") && line.number == 1 {
            return Ok(true);
        }
        let at_ns = line.parse_time_ns("Timestamp", timestamp, self.units.time)?;
        let op = match op {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(line.invalid_word("IOType", op, "0 for a read or 1 for a write")),
        };
        let extent = line.parse_extent(["Offset", "Size"], [offset, size], &self.units)?;
        line.parse_whole("VolumeID", volume)?;
        let device = sink.devices.index_of(line, volume)?;
        if self.same_second.first().is_some_and(|first| first.at_ns != at_ns) {
            self.add_spread_over_second(sink);
        }
        if self.same_second.len() == MOST_PER_TIMESTAMP {
            return Err(line.invalid_word(
                "Timestamp",
                timestamp,
                &format!("at most {MOST_PER_TIMESTAMP} requests with the same timestamp"),
            ));
        }
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        self.same_second.push(RawEntry {
            at_ns,
            response_ns: None,
            op,
            fua: false,
            device,
            lba,
            sectors,
            ragged,
            line: line.number,
        });
        Ok(true)
    }

    fn add_remaining(&mut self, sink: &mut EntrySink) {
        self.add_spread_over_second(sink);
    }
}
