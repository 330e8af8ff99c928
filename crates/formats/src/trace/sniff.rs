//! Detects the format of a trace from the first bytes of its file. A single line in the form of a format is enough, so that a
//! mistake in the first line is reported as such, not as an unknown format.

use seekwise_drives::diagnostic::Diagnostic;

use super::fields::{parse_decimal, parse_digits, parse_hexadecimal, printable_word, split_blanks, split_commas};
use super::format::{FORMATS, TraceFormat};
use super::{biosnoop, blktrace, iolog};
use crate::recording;

/// Bytes that the detection needs: room for a page of messages before the table.
pub const HEAD_BYTES: u64 = 1 << 14;

/// Lines with content whose form is tried.
const MOST_LINES: usize = 20;

/// The result of the detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatGuess {
    /// A trace.
    As(TraceFormat),
    /// A trace that cannot be replayed, and why.
    Refused(String),
    /// An unknown format.
    Not,
}

/// Detects the format from the beginning of a file.
pub fn recognise(head: &[u8]) -> FormatGuess {
    if blktrace::read_magic(head).is_some() {
        return FormatGuess::As(TraceFormat::Blktrace);
    }
    if head.starts_with(b"BZh") {
        let why = "compressed with bzip2; expected gzip, zstd, xz, or plain text as from `bzcat FILE`";
        return FormatGuess::Refused(why.to_owned());
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.starts_with(recording::HEAD.as_bytes()) {
        return FormatGuess::As(TraceFormat::Recording);
    }
    if iolog::FIRST_LINES.iter().any(|known| head.starts_with(known)) {
        return FormatGuess::As(TraceFormat::Iolog);
    }
    let lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty() && line[0] != b'#').collect();
    if let Some(found) = lines.iter().take(MOST_LINES).find_map(|line| format_of_line(line)) {
        return FormatGuess::As(found);
    }
    lines.iter().find_map(|line| guess_from_header(line)).unwrap_or(FormatGuess::Not)
}

/// True for the beginning of a log that fio 3.33 replays: version 2 or 3.
#[must_use]
pub fn is_replayable_iolog(head: &[u8]) -> bool {
    iolog::FIRST_LINES.iter().any(|known| head.starts_with(known))
}

/// The format of a trace from its beginning, or an error.
pub(super) fn detect_format(file: &str, head: &[u8]) -> Result<TraceFormat, Diagnostic> {
    let format_names = || FORMATS.iter().map(|known| known.word).collect::<Vec<_>>().join(", ");
    match recognise(head) {
        FormatGuess::As(format) => Ok(format),
        FormatGuess::Refused(why) => Err(Diagnostic::at(file, 0, why)),
        FormatGuess::Not if head.is_empty() => {
            Err(Diagnostic::at(file, 0, "the file is empty").with_expected("a trace"))
        }
        FormatGuess::Not => {
            let first_line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let fault =
                format!("`{}` does not start a trace of a known format", printable_word(first_line.trim_ascii()));
            Err(Diagnostic::at(file, 1, fault)
                .with_expected(format!("one of {}; set trace.format=NAME to name it", format_names())))
        }
    }
}

/// The format in whose form a line is written.
fn format_of_line(line: &[u8]) -> Option<TraceFormat> {
    let is_op = |word: &[u8]| matches!(word, b"r" | b"R" | b"w" | b"W");
    let is_time = |word: &[u8]| parse_decimal(word, 1).is_some();
    let (words, count) = split_commas::<7>(line);
    let are_numbers = |indexes: &[usize]| indexes.iter().all(|&index| parse_digits(words[index]).is_some());
    match count {
        7 if [&b"read"[..], b"write"].iter().any(|op| words[3].eq_ignore_ascii_case(op)) => {
            return Some(TraceFormat::Msr);
        }
        5.. if is_op(words[3]) && are_numbers(&[0, 1, 2]) && is_time(words[4]) => return Some(TraceFormat::Spc),
        5 if is_op(words[1]) && are_numbers(&[0, 2, 3, 4]) => return Some(TraceFormat::Alibaba),
        5 if matches!(words[3], b"0" | b"1") && are_numbers(&[0, 1, 2, 4]) => return Some(TraceFormat::Tencent),
        3 if matches!(words[0], b"0" | b"1") && are_numbers(&[1, 2]) => return Some(TraceFormat::Iolog),
        _ => {}
    }
    let (words, count) = split_blanks::<7>(line);
    let are_numbers = |indexes: &[usize]| indexes.iter().all(|&index| parse_digits(words[index]).is_some());
    match count {
        6 if matches!(words[0], b"R" | b"W")
            && words[1].iter().all(u8::is_ascii_alphabetic)
            && are_numbers(&[2, 3]) =>
        {
            Some(TraceFormat::Validation)
        }
        5..=6 if is_time(words[0]) && are_numbers(&[1, 2, 3]) && parse_hexadecimal(words[4]).is_some() => {
            Some(TraceFormat::Disksim)
        }
        7.. if split_commas::<2>(words[0]).1 == 2 && are_numbers(&[1, 2, 4]) && is_time(words[3]) => {
            split_commas::<2>(words[0])
                .0
                .iter()
                .all(|number| parse_digits(number).is_some())
                .then_some(TraceFormat::Blkparse)
        }
        _ => None,
    }
}

/// The guess from the header of a table, which may follow a page of messages; `None` if the line is no known header.
fn guess_from_header(line: &[u8]) -> Option<FormatGuess> {
    let words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let has = |word: &[u8]| words.contains(&word);
    let first_word = words.first()?;
    match () {
        () if first_word.starts_with(b"TIME")
            && has(b"SECTOR")
            && has(b"BYTES")
            && biosnoop::has_disk_column(&words) =>
        {
            Some(FormatGuess::As(TraceFormat::Biosnoop))
        }
        () if first_word.starts_with(b"TIME") && has(b"DISK") && has(b"COMM") => {
            let why = "it has response times but no sector numbers, like the output of bpftrace's biosnoop";
            Some(FormatGuess::Refused(format!("{why}; expected the output of bcc's biosnoop")))
        }
        () if has(b"BLOCK") && has(b"SIZE") && has(b"COMM") => {
            let why = "it has sector numbers but no timestamps, like the output of DTrace's iosnoop";
            Some(FormatGuess::Refused(format!("{why}; expected a trace with timestamps")))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_is_recognised_by_a_line() {
        for (text, format) in [
            ("128166372003061629,usr,0,Read,7014609920,24576,41286\n", TraceFormat::Msr),
            ("0,20941264,8192,W,0.551706,Alpha/NT\n", TraceFormat::Spc),
            (" 0 , 20941264 , 8192 , w , 0.551706\n", TraceFormat::Spc),
            ("419,W,8792731648,16384,1577808144360767\n", TraceFormat::Alibaba),
            ("1538323200,12910952,128,0,1063\n", TraceFormat::Tencent),
            ("0, 4096, 512\n", TraceFormat::Iolog),
            ("fio version 3 iolog\n", TraceFormat::Iolog),
            ("0.000 5 170843704 56 1\n", TraceFormat::Disksim),
            ("R Miss 564347 2 14095.370 13876.270\n", TraceFormat::Validation),
            ("  8,16   5        1     0.000000000 18615  Q   R 1444645666 + 256 [java]\n", TraceFormat::Blkparse),
            ("#Maj,Mn CPU\n259,0 3 1 0.000000000 1867 P N [x]\n", TraceFormat::Blkparse),
            ("Tracing...\nTIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n", TraceFormat::Biosnoop),
            ("# seekwise recording 1\n# x\n", TraceFormat::Recording),
            ("a slip\n0,20941264,8192,W,0.551706\n", TraceFormat::Spc),
        ] {
            assert_eq!(recognise(text.as_bytes()), FormatGuess::As(format), "{text}");
        }
        let seven = 0x6561_7407u32;
        for head in [seven.to_le_bytes(), seven.to_be_bytes()] {
            assert_eq!(recognise(&head), FormatGuess::As(TraceFormat::Blktrace));
        }
    }

    #[test]
    fn other_texts_are_no_traces() {
        let others = [
            "[a]\nrw=read\nsize=1g\n",
            "; fio\n[global]\nbs=4k\n",
            "Version 1.1.0\n'TEST SETUP\n2048,100,67,100,0,1,0,0\n",
            "drive = \"x\"\n[driver]\n",
            "lba,sectors,op,measured_response_ms,think_ms\n0,8,R,8.0,1\n",
            "",
            "1,2,3,4\n",
        ];
        for text in others {
            assert_eq!(recognise(text.as_bytes()), FormatGuess::Not, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_played_says_why() {
        let reason_of_refusal = |text: &[u8]| match recognise(text) {
            FormatGuess::Refused(why) => why,
            other => format!("{other:?}"),
        };
        assert!(reason_of_refusal(b"BZh91AY&SY").contains("`bzcat FILE`"));
        assert!(
            reason_of_refusal(b"TIME(ms)     DISK   COMM   PID    LAT(ms)\n611 nvme0n1 bash 4179 10\n")
                .contains("no sector numbers")
        );
        assert!(reason_of_refusal(b"  UID   PID D    BLOCK   SIZE       COMM PATHNAME\n").contains("no timestamps"));
    }
}
