//! What a fit or an explanation has tried, line by line beside its result, until the result is there. One that was interrupted
//! asks the same questions in the same order and finds the answers here.
//!
//! ```text
//! first line   the hash of all that the result is made from
//! others       QUESTION VALUE … = LOSS …, numbers as short as they can be said and read back the same
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::error::Error;
use seekwise_os::outputs::{open_append, write_whole};
use seekwise_os::unfinished::hold;

/// An open journal.
pub struct SearchJournal {
    path: PathBuf,
    lines: Mutex<File>,
    failure: Mutex<Option<Error>>,
}

/// Answers by their questions.
type Known = BTreeMap<String, Vec<f64>>;

impl SearchJournal {
    /// The journal beside `out`, with what is known already.
    pub fn open(out: &Path, hash: &str, resume: bool, force: bool) -> Result<(SearchJournal, Known), Error> {
        let mut path = OsString::from(out.as_os_str());
        path.push(".journal");
        let path = PathBuf::from(path);
        let wrong = |why: String| Error::new(format!("{}: {why}", path.display()));
        let known = match (fs::read_to_string(&path), resume) {
            (Ok(text), true) => read(&text, hash).map_err(wrong)?,
            (Ok(_), false) if !force => {
                return Err(wrong("its run was interrupted; --resume continues it, --force starts over".to_owned()));
            }
            (Err(error), true) => return Err(wrong(format!("there is nothing to go on with: {error}"))),
            _ => Known::new(),
        };
        // Written anew, so that a line cut short does not stay.
        let mut text = format!("{hash}\n");
        known.iter().for_each(|(question, answer)| text.push_str(&line(question, answer)));
        write_whole(&path, text.as_bytes(), true).map_err(|error| wrong(error.to_string()))?;
        let file = open_append(&path).map_err(|error| wrong(error.to_string()))?;
        hold().count(known.len() as u64);
        Ok((SearchJournal { path, lines: Mutex::new(file), failure: Mutex::new(None) }, known))
    }

    /// Writes an answer down.
    pub fn write(&self, question: &str, answer: &[f64]) {
        let mut now = hold();
        let mut lines = self.lines.lock().expect("no holder panics");
        match lines.write_all(line(question, answer).as_bytes()) {
            Ok(()) => now.count(1),
            Err(error) => {
                let failure = Error::new(format!("{}: {error}", self.path.display()));
                self.failure.lock().expect("no holder panics").get_or_insert(failure);
            }
        }
    }

    /// Why it could not be written.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().expect("no holder panics").take()
    }

    /// The result is there.
    pub fn done(self) {
        let _now = hold();
        // One that stays is found by the next one, which says so.
        let _ = fs::remove_file(&self.path);
    }
}

fn line(question: &str, answer: &[f64]) -> String {
    let answer: Vec<String> = answer.iter().map(ToString::to_string).collect();
    format!("{question} = {}\n", answer.join(" "))
}

fn read(text: &str, hash: &str) -> Result<Known, String> {
    let mut lines = text.split_inclusive('\n');
    match lines.next().map(str::trim_end) {
        Some(first) if first == hash => {}
        _ => return Err("it belongs to other data, another profile or other options; --force starts over".to_owned()),
    }
    let mut known = Known::new();
    // The last line may have been cut short.
    for (number, line) in lines.filter(|line| line.ends_with('\n')).enumerate() {
        let wrong = || format!("line {} is no answer; --force starts over", number + 2);
        let (question, answer) = line.trim_end().split_once(" = ").ok_or_else(wrong)?;
        let answer: Result<Vec<f64>, _> = answer.split(' ').map(str::parse).collect();
        known.insert(question.to_owned(), answer.map_err(|_| wrong())?);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back_and_a_torn_line_is_left_out() {
        let mut text = "abc\n".to_owned() + &line("Seen 0.1 2", &[1.0 / 3.0]) + &line("Held 0.1 2", &[2.5, 1e-9]);
        text.push_str("Seen 0.1 3 = 0.33");
        let known = read(&text, "abc").unwrap();
        assert_eq!(known.len(), 2);
        assert_eq!((known["Seen 0.1 2"][0], known["Held 0.1 2"][1]), (1.0 / 3.0, 1e-9));
        assert!(read(&text, "abd").unwrap_err().contains("other data"));
        assert!(read("abc\nSeen 1\n", "abc").unwrap_err().starts_with("line 2"));
    }
}
