//! Recorded sessions of a served disk, request by request: `seekwise serve --record` writes them and `seekwise run` replays them.
//!
//! The format is this project's own. The first line is [`HEAD`], the second names the target and the seed of the session, the
//! third is the header of the columns, `COLUMNS`. Each further line is a request, in order of completion: number, time of
//! arrival at the stack, time of completion, `done` or `failed`, the operation, first sector and sectors of 512 bytes, 1 if
//! marked FUA, and the tag in flight. Times are nanoseconds of the model's time. Orders to the disk (`cut`, `off`, `on`,
//! `reset`, `KEY=VALUE`) are lines of `order`, their time and their words.

use seekwise_disk::block::Op;
use seekwise_disk::time::Instant;
use seekwise_work::workload::session_replay::{RecordedRequest, RecordedSession};

use seekwise_drives::change::{POWER, WrittenChange};
use seekwise_drives::diagnostic::Diagnostic;

/// The first line of every recording.
pub const HEAD: &str = "# seekwise recording 1";

/// The header of the columns.
pub(crate) const COLUMNS: &str = "stamp,at_ns,done_ns,status,op,lba,sectors,fua,tag";

/// Words of operations.
const OPS: [(&str, Op); 4] = [("read", Op::Read), ("write", Op::Write), ("flush", Op::Flush), ("trim", Op::Trim)];

/// Limits of any disk and session: 2^55 sectors (16 EiB), 2^20 requests in flight, and a year.
const MOST_LBA: u64 = 1 << 55;
const MOST_TAG: u64 = 1 << 20;
const MOST_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// A recording: the session, and the orders to the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The requests.
    pub session: RecordedSession,
    pub orders: Vec<WrittenChange>,
}

/// The lines before the first request. `made_on` names the target and the seed in one line.
pub fn head_lines(made_on: &str) -> String {
    format!("{HEAD}\n# {made_on}\n{COLUMNS}\n")
}

/// The line of a request.
pub fn request_line(request: &RecordedRequest) -> String {
    let RecordedRequest { stamp, at, done, ok, op, lba, sectors, fua, tag } = request;
    let op_word = OPS.iter().find(|known| known.1 == *op).map_or("write", |known| known.0);
    let (status, fua) = (if *ok { "done" } else { "failed" }, u8::from(*fua));
    format!("{stamp},{},{},{status},{op_word},{lba},{sectors},{fua},{tag}\n", at.nanos(), done.nanos())
}

/// The line of an order: power (`cut`, `off`, `on`) or a setting.
pub fn order_line(at: Instant, words: &str) -> String {
    format!("order,{},{words}\n", at.nanos())
}

/// True if a text starts as a recording.
pub fn is_recording(text: &str) -> bool {
    text.starts_with(HEAD)
}

/// Reads the line of one request.
pub(crate) fn parse_request(file: &str, line: usize, text: &str) -> Result<RecordedRequest, Diagnostic> {
    RecordingLine { file, line }.parse_request(text)
}

/// Reads a recording. `file` is its name in errors, `name` its name in reports.
pub fn parse(file: &str, name: &str, text: &str) -> Result<Recording, Diagnostic> {
    let mut recording = Recording::default();
    let mut made_on = text.lines().skip(1).take_while(|line| line.starts_with('#'));
    recording.session.made_on = made_on.next().map_or("", |line| line[1..].trim()).to_owned();
    name.clone_into(&mut recording.session.name);
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#') && *line != COLUMNS) {
        let place = RecordingLine { file, line: number };
        match line.strip_prefix("order,") {
            Some(rest) => recording.orders.push(place.parse_order(rest)?),
            None => recording.session.entries.push(place.parse_request(line)?),
        }
    }
    let entries = &mut recording.session.entries;
    if entries.is_empty() {
        return Err(Diagnostic::at(file, 0, "the file contains no requests").with_expected("a line for each request"));
    }
    entries.sort_by_key(|entry| entry.stamp);
    for pair in entries.windows(2) {
        if pair[0].stamp == pair[1].stamp || pair[0].at > pair[1].at {
            let fault = format!("request {} does not come after request {}", pair[1].stamp, pair[0].stamp);
            return Err(Diagnostic::at(file, 0, fault).with_expected("numbers and times that rise together"));
        }
    }
    recording.orders.sort_by_key(|order| order.at);
    Ok(recording)
}

/// Name and line number, for errors about the line's text.
#[derive(Clone, Copy)]
struct RecordingLine<'a> {
    file: &'a str,
    line: usize,
}

impl RecordingLine<'_> {
    fn invalid_word(self, key: &'static str, word: &str, expected: impl Into<String>) -> Diagnostic {
        let word: String = word.chars().take(40).collect();
        Diagnostic::at(self.file, self.line, format!("`{word}` is invalid")).with_key(key).with_expected(expected)
    }

    fn parse_number(self, key: &'static str, word: &str, limit: u64) -> Result<u64, Diagnostic> {
        let number = word.parse().ok().filter(|&number| number <= limit);
        number.ok_or_else(|| self.invalid_word(key, word, format!("a whole number up to {limit}")))
    }

    fn parse_instant(self, key: &'static str, word: &str) -> Result<Instant, Diagnostic> {
        self.parse_number(key, word, MOST_NS).map(Instant::from_nanos)
    }

    fn parse_request(self, line: &str) -> Result<RecordedRequest, Diagnostic> {
        let words: Vec<&str> = line.split(',').collect();
        let [stamp, at, done, status, op, lba, sectors, fua, tag] = words[..] else {
            let fault = Diagnostic::at(self.file, self.line, format!("{} values", words.len()));
            return Err(fault.with_expected(COLUMNS));
        };
        let known_op = OPS.iter().find(|known| known.0 == op).map(|known| known.1);
        let known_op = known_op.ok_or_else(|| self.invalid_word("op", op, "read, write, flush or trim"))?;
        let ok = match status {
            "done" => true,
            "failed" => false,
            _ => return Err(self.invalid_word("status", status, "done or failed")),
        };
        let entry = RecordedRequest {
            stamp: self.parse_number("stamp", stamp, u64::MAX)?,
            at: self.parse_instant("at_ns", at)?,
            done: self.parse_instant("done_ns", done)?,
            ok,
            op: known_op,
            lba: self.parse_number("lba", lba, MOST_LBA)?,
            sectors: self.parse_number("sectors", sectors, u64::from(u32::MAX))? as u32,
            fua: self.parse_number("fua", fua, 1)? == 1,
            tag: self.parse_number("tag", tag, MOST_TAG)? as u32,
        };
        match entry {
            _ if entry.done < entry.at => Err(self.invalid_word("done_ns", done, format!("{at} or later"))),
            _ if (entry.sectors == 0) != (known_op == Op::Flush) => {
                Err(self.invalid_word("sectors", sectors, "at least 1, or 0 for a flush"))
            }
            _ => Ok(entry),
        }
    }

    fn parse_order(self, time_and_words: &str) -> Result<WrittenChange, Diagnostic> {
        let (at, words) = time_and_words.split_once(',').unwrap_or((time_and_words, ""));
        let at = self.parse_instant("at_ns", at)?;
        let (key, value) = match words {
            "cut" | "off" | "on" | "reset" => (POWER, words),
            _ => match words.split_once('=') {
                Some((key, value)) if !key.is_empty() => (key, value),
                _ => return Err(self.invalid_word("order", words, "cut, off, on, reset or KEY=VALUE")),
            },
        };
        WrittenChange::parse(at, key, value, &|_| true)
            .map_err(|why| Diagnostic::at(self.file, self.line, why).with_key("order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(stamp: u64, op: Op) -> RecordedRequest {
        let (at, done) = (Instant::from_nanos(stamp * 10), Instant::from_nanos(stamp * 10 + 5));
        let sectors = if op == Op::Flush { 0 } else { 8 };
        RecordedRequest { stamp, at, done, ok: stamp != 2, op, lba: 0, sectors, fua: op == Op::Write, tag: 3 }
    }

    #[test]
    fn what_is_written_is_read() {
        let entries = [entry(1, Op::Read), entry(2, Op::Write), entry(3, Op::Flush), entry(4, Op::Trim)];
        let mut text = head_lines("a drive, seed 1");
        // Requests are written in order of completion.
        for place in [1, 0, 3, 2] {
            text.push_str(&request_line(&entries[place]));
        }
        text.push_str(&order_line(Instant::from_nanos(33), "cut"));
        text.push_str(&order_line(Instant::from_nanos(34), "driver.flush=drop"));
        assert!(is_recording(&text));
        let read = parse("f", "n", &text).unwrap();
        assert_eq!((read.session.entries, read.session.made_on), (entries.to_vec(), "a drive, seed 1".to_owned()));
        let orders: Vec<_> = read.orders.iter().map(|order| (order.at.nanos(), &*order.key, &*order.value)).collect();
        assert_eq!(orders, [(33, POWER, "cut"), (34, "driver.flush", "drop")]);
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number() {
        for (line, expected) in [
            ("1,2", "f:4: 2 values; expected stamp,at_ns,done_ns"),
            ("1,5,4,done,read,0,8,0,0", "f:4: `done_ns`: `4` is invalid; expected 5 or later"),
            ("1,5,6,done,reed,0,8,0,0", "f:4: `op`: `reed` is invalid; expected read, write, flush or trim"),
            ("1,5,6,done,read,0,0,0,0", "f:4: `sectors`: `0` is invalid; expected at least 1, or 0 for a flush"),
            ("1,5,6,maybe,read,0,8,0,0", "expected done or failed"),
            ("order,7,jump", "f:4: `order`: `jump` is invalid; expected cut, off, on, reset or KEY=VALUE"),
            ("order,7,driver.colour=red", "f:4: `order`: `driver.colour` = `red` during a run: no layer of the stack"),
            ("", "the file contains no requests"),
            ("1,5,6,done,read,0,8,0,0\n1,6,7,done,read,0,8,0,0", "request 1 does not come after request 1"),
        ] {
            let fault = parse("f", "n", &format!("{}{line}\n", head_lines("x"))).unwrap_err().to_string();
            assert!(fault.contains(expected), "{line}: {fault}");
        }
    }
}
