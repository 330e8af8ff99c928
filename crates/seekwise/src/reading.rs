//! Reads the files that a command names, with an error that says which file and why not. `-` is standard input. An
//! input that can be read only once is kept (`buffered_input`), and no text is longer than its limit (`text_limit`).
//! Nothing is kept beyond the value that reads ([`Files`]).

mod buffered_input;
mod text_limit;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;

use seekwise_formats::recording;
use seekwise_formats::scene::SceneFile;
use seekwise_formats::trace::{HEAD_BYTES, TracePart, unpack};
use seekwise_lab::inputs::{InputTexts, Inputs};
use seekwise_lab::trace;

use self::buffered_input::{BufferedInput, OneTimeInputs};
use crate::error::Error;
use crate::system::outputs::mark_input;
use crate::system::places::PLACES;

/// The name of standard input.
pub const STANDARD_INPUT: &str = "-";

/// The name of a file for titles: that of standard input is in words.
pub fn display_name(name: &str) -> &str {
    if name == STANDARD_INPUT { "standard input" } else { name }
}

/// An error if two inputs of a command are on standard input.
pub(crate) fn reject_second_standard_input(names: &[&str]) -> Result<(), Error> {
    match names.iter().filter(|name| **name == STANDARD_INPUT).count() {
        0 | 1 => Ok(()),
        _ => Err(Error::new("-: standard input can only be used once; expected a file for the other argument")),
    }
}

/// Marks the files of these names, if there are any, as inputs of the command: none of its outputs may take their
/// place.
pub fn mark_inputs(names: &[&str]) {
    names.iter().filter_map(|name| fs::metadata(name).ok()).for_each(|metadata| mark_input(&metadata));
}

/// The files of a command, by their names; `-` is standard input. Clones share what can be read only once.
///
/// ```
/// use seekwise::{Files, Setup, run};
///
/// let files = Files::default().with_text("mine.fio", "[a]\nrw=randread\nsize=1g\ntime_based\nruntime=1\n");
/// let setup = Setup::new("mine.fio", "barracuda-7200.7-ncq").with_files(files);
/// assert_eq!(run::run(&setup, &())?.record.job, "mine.fio");
/// # Ok::<(), seekwise::Error>(())
/// ```
#[derive(Clone)]
pub struct Files {
    /// Bytes of the longest text.
    max_text_bytes: u64,
    /// Texts that the caller has in memory, by their names.
    texts: BTreeMap<String, Arc<[u8]>>,
    one_time_inputs: Arc<OneTimeInputs>,
}

impl Default for Files {
    /// The files of the system, each text of 256 MiB at most.
    fn default() -> Files {
        Files { max_text_bytes: text_limit::MAX_TEXT_BYTES, texts: BTreeMap::new(), one_time_inputs: Arc::default() }
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Files { max_text_bytes, texts, .. } = self;
        f.debug_struct("Files").field("limit", max_text_bytes).field("texts", &texts.keys()).finish_non_exhaustive()
    }
}

impl Files {
    /// With texts no longer than a quarter of so many bytes of memory, within the limits of any text.
    #[must_use]
    pub fn with_limit(self, memory_bytes: u64) -> Files {
        Files { max_text_bytes: text_limit::text_limit_bytes(memory_bytes), ..self }
    }

    /// With a text that the caller has in memory, read under this name in place of a file.
    #[must_use]
    pub fn with_text(mut self, name: impl Into<String>, text: &str) -> Files {
        self.texts.insert(name.into(), text.as_bytes().into());
        self
    }

    /// The text of a file. Bytes that are no UTF-8 are read as Latin-1, as old Windows tools wrote them; a file with a
    /// zero byte is no text.
    pub fn text(&self, path: &str) -> io::Result<String> {
        let bytes = match self.buffered_input(path)? {
            Some(input) => buffered_text(&input)?,
            None => self.read_within_limit(open_input(path)?)?,
        };
        if bytes.contains(&0) {
            return Err(io::Error::new(ErrorKind::InvalidData, "it contains null bytes; expected a text file"));
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| error.as_bytes().iter().map(|&byte| char::from(byte)).collect()))
    }

    /// The text of a file that must exist and not be empty.
    pub fn read(&self, path: &str) -> Result<String, Error> {
        self.text(path).and_then(require_content).map_err(|error| read_error(path, &error))
    }

    /// The text of a file that need not exist: `None` only when nothing of that name exists.
    pub fn find(&self, path: &str) -> Result<Option<String>, Error> {
        match self.text(path).and_then(require_content) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(read_error(path, &error)),
            Ok(text) => Ok(Some(text)),
        }
    }

    /// Whether a file is a trace, which need not be held in memory.
    pub(crate) fn is_trace(&self, path: &str) -> bool {
        let read_head = |(_, part): TracePart| {
            let mut head = Vec::new();
            part.take(HEAD_BYTES).read_to_end(&mut head).map(|_| head)
        };
        let first_part = self.trace_parts(path).ok().and_then(|parts| parts.into_iter().next());
        first_part.and_then(|part| read_head(part).ok()).is_some_and(|head| trace::is_trace_head(&head))
    }

    /// The inputs from which a plan is made: files, read when they are named, and traces, which are opened and not read
    /// whole.
    pub fn inputs(&self) -> Inputs<'static> {
        let files = self.clone();
        self.with_traces_and_places(Inputs::from_loader(Box::new(move |path: &str| files.text(path))))
    }

    /// The inputs from which a plan is made again: texts that were kept, and traces.
    pub(crate) fn kept_inputs(&self, kept_texts: InputTexts) -> Inputs<'static> {
        self.with_traces_and_places(Inputs::from_kept(kept_texts))
    }

    fn with_traces_and_places(&self, inputs: Inputs<'static>) -> Inputs<'static> {
        let files = self.clone();
        inputs.with_opener(Arc::new(move |path: &str| files.trace_parts(path))).with_places(PLACES)
    }

    /// Reads all of an input; an error if it is longer than a text may be.
    pub(crate) fn read_within_limit(&self, input: impl Read) -> io::Result<Vec<u8>> {
        text_limit::read_whole(input, self.max_text_bytes)
    }

    /// Reads a line with its end into `line`, replacing its contents; the last line may have no end.
    pub(crate) fn read_line(&self, input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<()> {
        text_limit::read_line(input, line, self.max_text_bytes)
    }

    /// An input that is in memory, or that can be read only once; `None` for a file.
    fn buffered_input(&self, name: &str) -> io::Result<Option<BufferedInput>> {
        match self.texts.get(name) {
            Some(text) => Ok(Some(BufferedInput::Memory(Arc::clone(text)))),
            None if buffered_input::is_readable_once(name)? => self.one_time_inputs.read_or_recall(name).map(Some),
            None => Ok(None),
        }
    }

    /// Opens and unpacks the parts of a trace: the file, or all files of blktrace (one for each processor) that lie
    /// beside it.
    fn trace_parts(&self, path: &str) -> io::Result<Vec<TracePart>> {
        if let Some(input) = self.buffered_input(path)? {
            return Ok(vec![(display_name(path).to_owned(), unpack(input.reader())?)]);
        }
        let open = |path: String| -> io::Result<TracePart> {
            let input = unpack(Box::new(open_input(&path)?))?;
            Ok((path, input))
        };
        processor_files(path).into_iter().map(open).collect()
    }
}

/// Opens an input for reading: no output of the command may take its place.
fn open_input(path: &str) -> io::Result<fs::File> {
    if cfg!(target_family = "wasm") {
        return Err(io::Error::new(ErrorKind::NotFound, "WebAssembly has no files; expected a text in memory"));
    }
    if Path::new(path).is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory; expected a file"));
    }
    let file = fs::File::open(path)?;
    mark_input(&file.metadata()?);
    Ok(file)
}

/// The bytes of a buffered input; an error if it is too long for a text.
fn buffered_text(input: &BufferedInput) -> io::Result<Vec<u8>> {
    match input {
        BufferedInput::Memory(bytes) => Ok(bytes.to_vec()),
        BufferedInput::File(_) => {
            let why = "it is too long for a job, a scene or a stack, and not a known trace format";
            Err(io::Error::new(ErrorKind::InvalidData, why))
        }
    }
}

/// The files of all processors if `path` is one of blktrace's, `NAME.blktrace.N`; else `path` alone.
fn processor_files(path: &str) -> Vec<String> {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let Some((stem, _)) = path.rsplit_once(".blktrace.").filter(|(_, rest)| is_number(rest)) else {
        return vec![path.to_owned()];
    };
    let folder = Path::new(stem).parent().filter(|folder| !folder.as_os_str().is_empty());
    let listed = fs::read_dir(folder.unwrap_or(Path::new(".")));
    let name = Path::new(stem).file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!("{name}.blktrace.");
    let names = listed.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut processors: Vec<u32> =
        names.filter_map(|name| name.strip_prefix(&prefix).filter(|rest| is_number(rest))?.parse().ok()).collect();
    processors.sort_unstable();
    if processors.is_empty() {
        vec![path.to_owned()]
    } else {
        processors.iter().map(|processor| format!("{stem}.blktrace.{processor}")).collect()
    }
}

fn require_content(text: String) -> io::Result<String> {
    match text.trim().is_empty() {
        true => Err(io::Error::new(ErrorKind::InvalidData, "the file is empty")),
        false => Ok(text),
    }
}

fn read_error(path: &str, error: &io::Error) -> Error {
    Error::new(format!("{path}: cannot be read: {error}"))
}

/// The file of a result folder that tells from what its results were made.
pub const ORIGIN_FILE: &str = "made-from.json";

/// Whether a folder has the file that tells from what its results were made.
pub fn is_result_folder(folder: &Path) -> bool {
    folder.join(ORIGIN_FILE).symlink_metadata().is_ok()
}

/// The kind of a file, as far as its text tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A fio job file, an Iometer configuration, a scene, a recorded session or a trace.
    Job,
    Study,
    Stack,
    /// A drive's profile.
    Profile,
    /// A measured trace.
    Trace,
    /// The JSON that fio printed.
    FioOutput,
    /// The JSON that Seekwise printed.
    Answer,
}

impl FileKind {
    /// The kind of `text`; `None` if it might be any.
    pub fn of(text: &str) -> Option<FileKind> {
        let lines = || text.lines().map(str::trim_start);
        let sets_key = |keys: &[&str]| {
            let is_setting = |line: &str| line.split_once('=').is_some_and(|(key, _)| keys.contains(&key.trim_end()));
            lines().any(is_setting)
        };
        let has_line_beginning = |heads: &[&str]| lines().any(|line| heads.iter().any(|head| line.starts_with(head)));
        let is_json = text.trim_start().starts_with('{');
        match () {
            // Notes of fio may stand before its JSON.
            () if (is_json || text.contains("\n{")) && text.contains("\"fio version\"") => Some(FileKind::FioOutput),
            () if is_json && (text.contains("\"stream_hash\"") || text.contains("\"comparisons\"")) => {
                Some(FileKind::Answer)
            }
            () if SceneFile::looks_like(text) || recording::is_recording(text) => Some(FileKind::Job),
            () if has_line_beginning(&["[geometry"]) => Some(FileKind::Profile),
            () if has_line_beginning(&["[[factor]]", "[[compare]]"]) || sets_key(&["question"]) => {
                Some(FileKind::Study)
            }
            () if lines().next().is_some_and(|line| line.contains("measured_response_ms")) => Some(FileKind::Trace),
            () if sets_key(&["rw", "readwrite", "ioengine"]) || has_line_beginning(&["'ACCESS SPECIFICATIONS"]) => {
                Some(FileKind::Job)
            }
            () if sets_key(&["drive"]) => Some(FileKind::Stack),
            () => None,
        }
    }

    /// The kind in words, and what a file of this kind is good for: the command that uses it.
    fn describe_use(self, name: &str) -> (&'static str, String) {
        match self {
            FileKind::Job => ("a job", format!("`seekwise run {name} --on DRIVE` runs it")),
            FileKind::Study => ("a study", format!("`seekwise study {name}` runs it")),
            FileKind::Stack => ("a stack", format!("`--on {name}` runs a job on it")),
            FileKind::Profile => ("a drive's profile", format!("`--on {name}` runs a job on it")),
            FileKind::Trace => ("a trace", format!("`seekwise validate {name} --drive DRIVE` plays it")),
            FileKind::FioOutput => (
                "what fio measured",
                format!(
                    "`seekwise run {name} --on DRIVE` sets it against the model, and `seekwise fit {name} --drive DRIVE -o FILE` fits \
                     a drive to it"
                ),
            ),
            FileKind::Answer => (
                "an answer of Seekwise in JSON",
                "the job that it names runs again; results to compare are kept by `--out DIR`".to_owned(),
            ),
        }
    }
}

/// An error if a file is of another kind than is wanted. Without it, its reader would report every line of it.
pub fn expect_kind(name: &str, text: &str, wanted: &[FileKind]) -> Result<(), Error> {
    match FileKind::of(text).filter(|kind| !wanted.contains(kind)) {
        None => Ok(()),
        Some(kind) => {
            let (kind_words, use_hint) = kind.describe_use(name);
            let wanted: Vec<&str> = wanted.iter().map(|kind| kind.describe_use(name).0).collect();
            Err(Error::new(format!("{name}: is {kind_words}; expected {}; {use_hint}", wanted.join(" or "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_memory_is_read_under_its_name_and_by_clones_of_its_value_alone() {
        let files = Files::default().with_text(STANDARD_INPUT, "a").with_text("/", "b");
        let read = |files: &Files, name: &str| files.clone().read(name).map_err(|why| why.to_string());
        assert_eq!((read(&files, "-"), read(&files, "/")), (Ok("a".to_owned()), Ok("b".to_owned())));
        let inner = files.clone().with_text(STANDARD_INPUT, "c");
        assert_eq!((read(&inner, "-"), read(&files, "-")), (Ok("c".to_owned()), Ok("a".to_owned())));
        let folder = Err("/: cannot be read: it is a directory; expected a file".to_owned());
        assert_eq!(read(&Files::default(), "/"), folder);
        let null = Files::default().with_text("x", "a\0");
        assert!(read(&null, "x").unwrap_err().ends_with("it contains null bytes; expected a text file"));
    }

    #[test]
    fn a_trace_in_memory_is_opened_as_often_as_is_wanted() {
        let rows = "128166372003061629,h,0,Read,0,4096,1\n128166372003261629,h,0,Read,8192,4096,1\n";
        let files = Files::default().with_text(STANDARD_INPUT, rows);
        assert!(files.is_trace(STANDARD_INPUT) && files.is_trace(STANDARD_INPUT));
        let inputs = files.inputs();
        let mut parts = inputs.opener().unwrap()(STANDARD_INPUT).unwrap();
        let mut text = String::new();
        parts[0].1.read_to_string(&mut text).unwrap();
        assert_eq!((parts[0].0.as_str(), text.as_str()), ("standard input", rows));
        assert!(!Files::default().with_text("-", "[a]\nrw=read\n").is_trace("-"));
    }
}
