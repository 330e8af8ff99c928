//! The default output of blkparse (manual page blkparse(1)):
//! `major,minor cpu sequence seconds pid action RWBS sector + sectors [process]`, then a summary, which is ignored.
//!
//! Requests are the events of one action: Q (queued by a program, the default) or D (issued to the driver). The events C complete
//! them. The kernel writes Q after it has remapped a partition's sector to the disk (A), so sectors belong to the named device.

use seekwise_disk::block::Op;
use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, parse_digits, printable_word, sector_extent, split_blanks};
use super::format::{KernelEvent, TraceFormat};
use super::pairing::Pairing;
use super::sink::{EntrySink, LineParser, RawEntry};

/// Every action that blkparse prints.
const ACTIONS: [&str; 16] = ["Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "m"];

/// The beginnings of the lines after the last event.
const SUMMARY: [&[u8]; 6] = [b"CPU", b"Total", b"Events", b"Throughput", b"Skips:", b"Input"];

/// Parses lines, and pairs requests with their completions.
pub(super) struct Blkparse {
    /// The action whose events are the requests: `Q` or `D`.
    request_action: &'static [u8],
    pairing: Pairing,
}

impl Blkparse {
    pub fn new(event: KernelEvent) -> Blkparse {
        let request_action: &[u8] = if event == KernelEvent::Queued { b"Q" } else { b"D" };
        Blkparse { request_action, pairing: Pairing::default() }
    }
}

/// The request that the word RWBS describes.
struct RwbsRequest {
    /// A flush precedes the request.
    flush: bool,
    /// `None`: there is no request besides the flush.
    op: Option<Op>,
    fua: bool,
}

/// Reads RWBS: `F` first is a flush; then comes `R`, `W`, `D` or `N`; a later `F` is FUA. `S`, `M`, `A` and `E` are ignored.
fn parse_rwbs(line: &TraceLine<'_>, rwbs: &[u8]) -> Result<RwbsRequest, Diagnostic> {
    let (flush, rest) = rwbs.strip_prefix(b"F").map_or((false, rwbs), |rest| (true, rest));
    let op = match rest.first() {
        Some(b'R') => Some(Op::Read),
        Some(b'W') => Some(Op::Write),
        Some(b'D') => Some(Op::Trim),
        Some(b'N') => None,
        None if flush => None,
        _ => return Err(line.invalid_word("RWBS", rwbs, "R, W, D, N or F, followed by flags")),
    };
    let fua = op == Some(Op::Write) && rest[1..].contains(&b'F');
    Ok(RwbsRequest { flush, op, fua })
}

impl LineParser for Blkparse {
    fn parse_line(&mut self, line: &TraceLine<'_>, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        if SUMMARY.iter().any(|head| line.text.starts_with(head)) {
            return Ok(false);
        }
        let (words, count) = split_blanks::<10>(line.text);
        let [device, _, _, timestamp, _, action, rwbs, sector, plus, sectors] = words;
        let device_numbers = device.split(|byte| *byte == b',').filter(|number| parse_digits(number).is_some()).count();
        if count < 7 || device_numbers != 2 {
            let fault =
                if device_numbers == 2 { line.wrong_count(count, "") } else { line.invalid_word("device", device, "") };
            return Err(fault.with_expected(TraceFormat::Blkparse.spec().columns));
        }
        if action != self.request_action && action != b"C" {
            if !ACTIONS.iter().any(|known| known.as_bytes() == action) {
                return Err(line
                    .invalid_word("action", action, &ACTIONS.join(", "))
                    .suggest_nearest(&printable_word(action), ACTIONS));
            }
            sink.passed_over += 1;
            return Ok(true);
        }
        let at_ns = line.parse_time_ns("seconds", timestamp, 1_000_000_000)?;
        let RwbsRequest { flush, op, fua } = parse_rwbs(line, rwbs)?;
        // A request without sectors is printed without these words.
        let extent = match plus {
            b"+" => sector_extent(line.parse_whole("sector", sector)?, line.parse_whole("sectors", sectors)?)
                .ok_or_else(|| line.invalid_word("sector", sector, "an address below 16 EiB"))?,
            _ => super::fields::TraceExtent { lba: 0, sectors: 0, ragged: false },
        };
        let device = sink.devices.index_of(line, device)?;
        if action == b"C" {
            self.pairing.complete_sectors(device, extent.lba, extent.sectors.into(), at_ns, sink);
            return Ok(true);
        }
        let raw = RawEntry { at_ns, fua, device, line: line.number, ..RawEntry::default() };
        if flush {
            self.pairing.add_request(RawEntry { op: Op::Flush, fua: false, ..raw }, sink);
        }
        match op.filter(|_| extent.sectors > 0) {
            Some(op) => {
                self.pairing.add_request(RawEntry { op, lba: extent.lba, sectors: extent.sectors, ..raw }, sink)
            }
            None if flush => {}
            None => sink.passed_over += 1,
        }
        Ok(true)
    }

    fn add_remaining(&mut self, sink: &mut EntrySink) {
        self.pairing.add_remaining(sink);
    }
}
