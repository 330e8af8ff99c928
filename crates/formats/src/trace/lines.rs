//! Splits a text into lines for the parser of its format.

use std::io::{BufRead, Read};

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, find_byte};
use super::sink::{EntrySink, LineParser, Rows};

/// The longest line of any format.
const LONGEST: u64 = 1 << 16;

/// Lines of a text.
pub(super) struct Lines<P> {
    file: String,
    input: Box<dyn BufRead + Send>,
    parse: P,
    number: u64,
    line: Vec<u8>,
    cut: bool,
    over: bool,
}

impl<P: LineParser> Lines<P> {
    pub(crate) fn new_boxed(file: &str, input: Box<dyn BufRead + Send>, parse: P) -> Box<Lines<P>> {
        Box::new(Lines { file: file.to_owned(), input, parse, number: 0, line: Vec::new(), cut: false, over: false })
    }

    fn finish(&mut self, sink: &mut EntrySink) -> bool {
        self.over = true;
        self.parse.finish(sink);
        false
    }

    fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::at(&self.file, self.number as usize, message)
    }

    /// Collects the next line in `line`; false at the end.
    fn read_line(&mut self) -> Result<bool, Diagnostic> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST).read_until(b'\n', &mut self.line);
        match read.map_err(|why| self.fault(format!("cannot be read: {why}")))? {
            read if read as u64 == LONGEST => Err(self.fault(format!("the line is longer than {LONGEST} bytes"))),
            read => Ok(read > 0),
        }
    }
}

/// Parses a line of `file`, including its end. False: the rest is not part of the trace.
#[inline]
fn parse_raw_line<P: LineParser>(
    parser: &mut P,
    file: &str,
    number: u64,
    line: &[u8],
    sink: &mut EntrySink,
) -> Result<bool, Diagnostic> {
    let mark = if number == 1 { &b"\xef\xbb\xbf"[..] } else { b"" };
    let text = line.strip_prefix(mark).unwrap_or(line).trim_ascii();
    if text.is_empty() || text[0] == b'#' {
        return Ok(true);
    }
    parser.parse_line(&TraceLine { file, number, text }, sink).map_err(|fault| match line.ends_with(b"\n") {
        true => fault,
        false => Diagnostic { message: format!("the file ends inside this line: {}", fault.message), ..fault },
    })
}

impl<P: LineParser> Rows for Lines<P> {
    #[inline]
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        while sink.ready.is_empty() && !self.over {
            self.number += 1;
            // Usually the whole line is in the buffer. Read errors are reported when the line is collected.
            let here = self.input.fill_buf().unwrap_or_default();
            let here = &here[..here.len().min(LONGEST as usize - 1)];
            let more = match find_byte(here, b'\n') {
                Some(end) => {
                    self.cut = false;
                    let more = parse_raw_line(&mut self.parse, &self.file, self.number, &here[..=end], sink);
                    self.input.consume(end + 1);
                    more?
                }
                None if self.read_line()? => {
                    self.cut = !self.line.ends_with(b"\n");
                    parse_raw_line(&mut self.parse, &self.file, self.number, &self.line, sink)?
                }
                None => false,
            };
            if !more {
                return Ok(self.finish(sink));
            }
        }
        Ok(!self.over)
    }

    fn is_cut(&self) -> bool {
        self.cut
    }
}
