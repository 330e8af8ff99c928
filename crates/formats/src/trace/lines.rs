//! Splits the text of a trace into lines and gives each to the parser of its format; empty lines and comments are skipped.

use std::io::{BufRead, Read};

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{TraceLine, find_byte};
use super::sink::{EntryReader, EntrySink, LineParser};

/// The bytes of the longest line of any format.
const LONGEST_LINE: u64 = 1 << 16;

/// A text, read line by line.
pub(super) struct Lines<P> {
    file: String,
    input: Box<dyn BufRead + Send>,
    parser: P,
    /// The number of the current line, from 1.
    number: u64,
    /// A line that is not whole in the input's buffer.
    line: Vec<u8>,
    last_line_unended: bool,
    at_end: bool,
}

impl<P: LineParser> Lines<P> {
    pub(crate) fn new_boxed(file: &str, input: Box<dyn BufRead + Send>, parser: P) -> Box<Lines<P>> {
        let (line, file) = (Vec::new(), file.to_owned());
        Box::new(Lines { file, input, parser, number: 0, line, last_line_unended: false, at_end: false })
    }

    fn fault(&self, message: String) -> Diagnostic {
        Diagnostic::at(&self.file, self.number as usize, message)
    }

    /// Reads the next line into `self.line`; false at the end of the file.
    fn read_line(&mut self) -> Result<bool, Diagnostic> {
        self.line.clear();
        let read = (&mut self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.line);
        match read.map_err(|why| self.fault(format!("cannot be read: {why}")))? {
            read if read as u64 == LONGEST_LINE => {
                Err(self.fault(format!("the line is longer than {LONGEST_LINE} bytes")))
            }
            read => Ok(read > 0),
        }
    }
}

/// Parses a line with its line end, unless it is empty or a comment. False if the trace ends here, although the file goes on.
#[inline]
fn parse_raw_line<P: LineParser>(
    parser: &mut P,
    file: &str,
    number: u64,
    line: &[u8],
    sink: &mut EntrySink,
) -> Result<bool, Diagnostic> {
    let byte_order_mark = if number == 1 { &b"\xef\xbb\xbf"[..] } else { b"" };
    let text = line.strip_prefix(byte_order_mark).unwrap_or(line).trim_ascii();
    if text.is_empty() || text[0] == b'#' {
        return Ok(true);
    }
    parser.parse_line(&TraceLine { file, number, text }, sink).map_err(|fault| match line.ends_with(b"\n") {
        true => fault,
        false => Diagnostic { message: format!("the file ends inside this line: {}", fault.message), ..fault },
    })
}

impl<P: LineParser> EntryReader for Lines<P> {
    #[inline]
    fn read_more(&mut self, sink: &mut EntrySink) -> Result<bool, Diagnostic> {
        while sink.ready.is_empty() && !self.at_end {
            self.number += 1;
            // The whole line is in the buffer, usually. Read errors are reported by `read_line`.
            let buffered = self.input.fill_buf().unwrap_or_default();
            let buffered = &buffered[..buffered.len().min(LONGEST_LINE as usize - 1)];
            let goes_on = match find_byte(buffered, b'\n') {
                Some(end) => {
                    self.last_line_unended = false;
                    let parsed = parse_raw_line(&mut self.parser, &self.file, self.number, &buffered[..=end], sink);
                    self.input.consume(end + 1);
                    parsed?
                }
                None if self.read_line()? => {
                    self.last_line_unended = !self.line.ends_with(b"\n");
                    parse_raw_line(&mut self.parser, &self.file, self.number, &self.line, sink)?
                }
                None => false,
            };
            if !goes_on {
                self.at_end = true;
                self.parser.add_remaining(sink);
                return Ok(false);
            }
        }
        Ok(!self.at_end)
    }

    fn is_last_line_unended(&self) -> bool {
        self.last_line_unended
    }
}
