//! Tencent's block traces of 2018: `Timestamp,Offset,Size,IOType,VolumeID`; sectors of 512 bytes, 0 is a read and 1 a write.
//! The timestamp is in whole seconds of Unix time, so that thousands of requests share one; those of one second are
//! spread evenly over it in their order.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, TraceUnits, split_commas};
use super::format::TraceFormat;
use super::sink::{EntrySink, LineParser, RawEntry};

/// The most requests with one timestamp, which take 64 MB.
const MOST: usize = 1 << 20;

pub(super) struct Tencent {
    units: TraceUnits,
    /// The requests of the current second.
    second: Vec<RawEntry>,
}

impl Tencent {
    pub fn new(units: TraceUnits) -> Tencent {
        Tencent { units, second: Vec::new() }
    }

    fn spread_second(&mut self, sink: &mut EntrySink) {
        let count = self.second.len() as u64;
        for (place, raw) in self.second.drain(..).enumerate() {
            let after = (u128::from(self.units.time) * place as u128 / u128::from(count)) as u64;
            sink.put(RawEntry { at: raw.at.saturating_add(after), ..raw });
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
        let [stamp, offset, size, op, volume] = words;
        if stamp.eq_ignore_ascii_case(b"timestamp") && line.number == 1 {
            return Ok(true);
        }
        let at = line.parse_time("Timestamp", stamp, self.units.time)?;
        let op = match op {
            b"0" => Op::Read,
            b"1" => Op::Write,
            _ => return Err(line.invalid_word("IOType", op, "0 for a read or 1 for a write")),
        };
        let extent = line.parse_extent(["Offset", "Size"], [offset, size], &self.units)?;
        line.parse_whole("VolumeID", volume)?;
        let device = sink.devices.device_index(line, volume)?;
        if self.second.first().is_some_and(|first| first.at != at) {
            self.spread_second(sink);
        }
        if self.second.len() == MOST {
            return Err(line.invalid_word(
                "Timestamp",
                stamp,
                &format!("at most {MOST} requests with the same timestamp"),
            ));
        }
        let (lba, sectors, ragged) = (extent.lba, extent.sectors, extent.ragged);
        self.second.push(RawEntry {
            at,
            response: None,
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

    fn finish(&mut self, sink: &mut EntrySink) {
        self.spread_second(sink);
    }
}
