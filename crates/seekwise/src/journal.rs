//! The journal of a fit or an explanation: the questions that it has tried and their answers, line by line in a file
//! beside its result, until the result is there. After an interruption it asks the same questions in the same order and
//! finds the answers here.
//!
//! ```text
//! first line   the hash of all that the result is made from
//! others       {"question":"…","answer":"VALUE …","sum":"…"}, numbers as short as they can be said and read back the same
//! ```
//!
//! Lines end in a sum that includes the first line (`seal`), so that none stands for that of another journal. The last
//! line may have been cut short when its writer was killed. Only one process at a time writes a journal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::foreign::{self, entry_exists};
use crate::lock::WriteLock;
use crate::reading::Files;
use crate::seal::{LineFault, check_line, seal_line};
use crate::system::outputs::open_append;
use crate::system::unfinished::lock_unfinished;

/// How often a journal is opened again if another process removes it meanwhile.
const MAX_OPEN_ATTEMPTS: u32 = 100;

/// An open journal.
pub struct SearchJournal {
    path: PathBuf,
    hash: String,
    lines: Mutex<File>,
    failure: Mutex<Option<Error>>,
    _lock: WriteLock,
}

/// Answers by their questions.
type KnownAnswers = BTreeMap<String, Vec<f64>>;

/// Says whether values can answer a question; an error says why not.
pub(crate) type AnswerCheck<'a> = &'a dyn Fn(&str, &[f64]) -> Result<(), String>;

/// How a journal is opened.
#[derive(Clone, Copy, Debug)]
pub struct JournalOptions<'a> {
    /// The hash of all that the result is made from.
    pub hash: &'a str,
    /// Go on with the answers that the journal has.
    pub resume: bool,
    /// Replace a journal that is there.
    pub force: bool,
    /// Limits the journal's length.
    pub files: &'a Files,
}

impl SearchJournal {
    /// Opens the journal of the result `out`, which lies beside it, and returns it with the answers that it has
    /// already.
    pub fn open(
        out: &Path,
        options: JournalOptions<'_>,
        check: AnswerCheck<'_>,
    ) -> Result<(SearchJournal, KnownAnswers), Error> {
        let mut path = OsString::from(out.as_os_str());
        path.push(".journal");
        let path = PathBuf::from(path);
        let error = |why: String| Error::new(format!("{}: {why}", path.display()));
        let io_error = |why: io::Error| error(why.to_string());
        let error_in_line = |LineFault { line, why }: LineFault| {
            Error::new(format!("{}:{line}: {why}; --force starts over", path.display()))
        };
        let JournalOptions { hash, resume, force, files } = options;
        if resume && !entry_exists(&path) {
            return Err(error("there is nothing to go on with".to_owned()));
        }
        let (lock, mut file) = open_locked(&path, force && !resume).map_err(io_error)?;
        let (known_answers, good_bytes) = match resume {
            true => read_answers(&foreign::read_opened_text(files, &file).map_err(io_error)?, hash, check)
                .map_err(error_in_line)?,
            false if !force && !has_no_answers(&foreign::read_opened_text(files, &file).map_err(io_error)?, hash) => {
                return Err(error("its run was interrupted; --resume continues it, --force starts over".to_owned()));
            }
            false => (KnownAnswers::new(), 0),
        };
        truncate_or_begin(&mut file, hash, good_bytes).map_err(|why| {
            if good_bytes == 0 {
                // There is nothing in it. Why it could not be begun is the error that counts.
                let _ = fs::remove_file(&path);
            }
            io_error(why)
        })?;
        lock_unfinished().count_kept_records(known_answers.len() as u64);
        let (lines, hash) = (Mutex::new(file), hash.to_owned());
        Ok((SearchJournal { path, hash, lines, failure: Mutex::new(None), _lock: lock }, known_answers))
    }

    /// Appends a question and its answer; [`take_failure`](SearchJournal::take_failure) has the error if that fails.
    pub fn append_answer(&self, question: &str, answer: &[f64]) {
        let mut unfinished = lock_unfinished();
        let mut lines = self.lines.lock().expect("no holder panics");
        match lines.write_all(answer_line(&self.hash, question, answer).as_bytes()) {
            Ok(()) => unfinished.count_kept_records(1),
            Err(error) => {
                let failure = Error::new(format!("{}: {error}", self.path.display()));
                self.failure.lock().expect("no holder panics").get_or_insert(failure);
            }
        }
    }

    /// The error of the first write that failed since the last call.
    pub fn take_failure(&self) -> Option<Error> {
        self.failure.lock().expect("no holder panics").take()
    }

    /// Removes the journal, as the result is there.
    pub fn remove(self) {
        let _unfinished = lock_unfinished();
        // A journal that stays is found by the next search, which reports it.
        let _ = fs::remove_file(&self.path);
    }
}

/// Opens and locks the journal, which is created if there is none. With `replace_non_file`, a link or anything else
/// that is no file is removed first.
fn open_locked(path: &Path, replace_non_file: bool) -> io::Result<(WriteLock, File)> {
    for _ in 0..MAX_OPEN_ATTEMPTS {
        if replace_non_file && path.symlink_metadata().is_ok_and(|there| !there.is_file()) {
            fs::remove_file(path)?;
        }
        let file = open_append(path)?;
        let lock = WriteLock::of_open_file(file.try_clone()?, path)?;
        // The last writer may have removed it since it was opened.
        if is_file_at(path, &file)? {
            return Ok((lock, file));
        }
    }
    Err(io::Error::other("others make and remove it all the time"))
}

#[cfg(unix)]
fn is_file_at(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let own = file.metadata()?;
    Ok(path.symlink_metadata().is_ok_and(|there| (there.dev(), there.ino()) == (own.dev(), own.ino())))
}

#[cfg(not(unix))]
fn is_file_at(path: &Path, _: &File) -> io::Result<bool> {
    Ok(entry_exists(path))
}

/// Cuts off all but the first `good_bytes`; if there are none, begins the journal with its first line.
fn truncate_or_begin(file: &mut File, hash: &str, good_bytes: u64) -> io::Result<()> {
    file.set_len(good_bytes)?;
    if good_bytes == 0 { file.write_all(format!("{hash}\n").as_bytes()) } else { Ok(()) }
}

/// Whether `text` is part of a journal without a whole answer, as a writer leaves it that is killed at once.
fn has_no_answers(text: &str, hash: &str) -> bool {
    match text.split_once('\n') {
        Some((first, rest)) => first == hash && !rest.contains('\n'),
        None => hash.starts_with(text),
    }
}

/// A question with its answer, as a line has them.
#[derive(Serialize, Deserialize)]
struct AnswerLine {
    question: String,
    /// Numbers that JSON does not know, such as an infinite one, are words.
    answer: String,
}

fn answer_line(hash: &str, question: &str, answer: &[f64]) -> String {
    let answer = answer.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let line = AnswerLine { question: question.to_owned(), answer };
    seal_line(hash, &serde_json::to_string(&line).expect("it has no keys but strings"))
}

/// Reads the answers of a journal, and how many of its bytes are good; the rest is a line that was cut short.
fn read_answers(text: &str, hash: &str, check: AnswerCheck<'_>) -> Result<(KnownAnswers, u64), LineFault> {
    if has_no_answers(text, hash) {
        return Ok((KnownAnswers::new(), 0));
    }
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first != format!("{hash}\n") {
        let why = "it belongs to other data, another profile, other options or another build".to_owned();
        return Err(LineFault { line: 1, why });
    }
    let (mut known_answers, mut good_bytes) = (KnownAnswers::new(), first.len());
    // The last line may have been cut short.
    for (index, line) in lines.enumerate().filter(|(_, line)| line.ends_with('\n')) {
        let answered = parse_answer_line(hash, line.trim_end_matches('\n'), check);
        let (question, answer) = answered.map_err(|why| LineFault { line: index + 2, why })?;
        known_answers.insert(question, answer);
        good_bytes += line.len();
    }
    Ok((known_answers, good_bytes as u64))
}

/// The question and the answer of a line.
fn parse_answer_line(hash: &str, line: &str, check: AnswerCheck<'_>) -> Result<(String, Vec<f64>), String> {
    check_line(hash, line)?;
    let AnswerLine { question, answer } = serde_json::from_str(line).map_err(|_| "it is no answer")?;
    let answer: Result<Vec<f64>, _> = answer.split(' ').map(str::parse).collect();
    let answer = answer.map_err(|_| "its answer is no list of numbers")?;
    check(&question, &answer)?;
    Ok((question, answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: AnswerCheck<'static> = &|_, _| Ok(());

    fn text() -> String {
        "abc\n".to_owned()
            + &answer_line("abc", "Seen 0.1 2", &[1.0 / 3.0])
            + &answer_line("abc", "Held 0.1 2", &[2.5, 1e-9])
    }

    #[test]
    fn what_was_written_is_read_back_and_a_torn_line_is_left_out() {
        let (whole, torn) = (text(), text() + "Seen 0.1 3 = 0.33");
        let (known, bytes) = read_answers(&torn, "abc", ANY).unwrap();
        assert_eq!((known.len(), bytes), (2, whole.len() as u64));
        assert_eq!((known["Seen 0.1 2"][0], known["Held 0.1 2"][1]), (1.0 / 3.0, 1e-9));
        assert!(read_answers(&torn, "abd", ANY).unwrap_err().why.contains("other data"));
        assert_eq!(read_answers("abc\nSeen 1\n", "abc", ANY).unwrap_err().line, 2);
        let refused =
            read_answers(&whole, "abc", &|question, _| Err(format!("{question} has no such answer"))).unwrap_err();
        assert_eq!(refused, LineFault { line: 2, why: "Seen 0.1 2 has no such answer".to_owned() });
    }

    /// Of each byte every bit but the highest, which makes no text.
    #[test]
    fn each_changed_byte_is_refused_with_its_line_or_changes_no_answer() {
        let whole = text();
        let (before, _) = read_answers(&whole, "abc", ANY).unwrap();
        for at in 0..whole.len() {
            for bit in 0..7 {
                let mut bytes = whole.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let changed = String::from_utf8(bytes).unwrap();
                match read_answers(&changed, "abc", ANY) {
                    Err(LineFault { line, .. }) => assert_eq!(line, 1 + whole[..at].matches('\n').count(), "{changed}"),
                    Ok((known, _)) => {
                        assert!(at == whole.len() - 1, "only a last line without its end may be left out: {changed}");
                        assert!(known.iter().all(|(question, answer)| before[question] == *answer));
                    }
                }
            }
        }
    }

    #[test]
    fn a_writer_that_is_killed_at_once_leaves_a_journal_that_the_next_one_takes() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("f");
        let open = |resume| {
            let options = JournalOptions { hash: "abc", resume, force: false, files: &Files::default() };
            SearchJournal::open(&out, options, ANY).map(|it| it.1.len())
        };
        for left in ["", "a", "abc", "abc\n", "abc\nSeen 1 ="] {
            for resume in [false, true] {
                fs::write(folder.path().join("f.journal"), left).unwrap();
                assert_eq!(open(resume).unwrap(), 0, "{left:?} {resume}");
                assert_eq!(fs::read_to_string(folder.path().join("f.journal")).unwrap(), "abc\n");
            }
        }
        fs::write(folder.path().join("f.journal"), text()).unwrap();
        assert!(open(false).unwrap_err().to_string().contains("was interrupted"));
        assert_eq!(open(true).unwrap(), 2);
    }

    #[test]
    fn a_journal_has_one_writer() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("f");
        let options = JournalOptions { hash: "abc", resume: false, force: true, files: &Files::default() };
        let open = || SearchJournal::open(&out, options, ANY);
        let (first, _) = open().unwrap();
        let said = open().map(drop).unwrap_err().to_string();
        assert!(said.contains("f.journal: ") && said.contains(" is writing here"), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the journal alone");
        first.remove();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
