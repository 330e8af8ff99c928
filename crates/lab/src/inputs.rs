//! The texts from which a plan is made: drives, stacks, jobs with what they include, and environment variables. Each is
//! read once, and its text is kept. A plan made again from what was kept reads nothing else.
//!
//! No file is opened here: the caller supplies a reader. A trace may be larger than any memory. The caller supplies an
//! opener for it; it is surveyed once for each way of reading, and its properties are kept, not its text.
//!
//! Drives and scenes that were made of the texts are in a cache, which several inputs may share.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::drives;
use seekwise_drives::profile::ReadingCache;
use seekwise_drives::stack::Setting;
use seekwise_formats::scene::LayoutCache;
use seekwise_formats::trace::survey::TraceSurvey;
use seekwise_formats::trace::{TracePart, TraceReadOptions};
use seekwise_run::place::PlaceKind;
use serde::{Deserialize, Serialize};

use crate::built_in;
use crate::digest::sha256;

/// Opens a trace by its name: its parts, each with a name of its own.
pub(crate) type OpenParts = Arc<dyn Fn(&str) -> io::Result<Vec<TracePart>> + Send + Sync>;

/// Fetches the text of a file.
pub(crate) type TextLoader<'a> = dyn Fn(&str) -> io::Result<String> + 'a;

/// The role of a text. A drive and a job may have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InputRole {
    Drive,
    Stack,
    /// A job, or a file that a job includes.
    Job,
    /// A trace; its text only states its properties.
    Trace,
}

impl InputRole {
    const fn word(self) -> &'static str {
        match self {
            InputRole::Drive => "drive",
            InputRole::Stack => "stack",
            InputRole::Job => "job",
            InputRole::Trace => "trace",
        }
    }

    /// The text of a built-in drive or job.
    fn built_in(self, name: &str) -> Option<&'static str> {
        match self {
            InputRole::Drive => drives::find_text(name),
            InputRole::Stack | InputRole::Trace => None,
            InputRole::Job => built_in::find_text(name),
        }
    }
}

/// A text that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputText {
    pub role: InputRole,
    /// The name it was asked for by.
    pub name: String,
    /// SHA-256 of the text; `None` if there was none.
    pub sha256: Option<String>,
    /// `None` if there was none, as for an include that lies elsewhere than beside the job.
    pub text: Option<String>,
}

/// All that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputTexts {
    /// In the order in which they were first asked for.
    pub texts: Vec<InputText>,
    /// Environment variables that jobs asked for; `None` for one that was not set.
    pub variables: BTreeMap<String, Option<String>>,
}

/// How today's files differ from what was kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputChanges {
    /// Changed texts, each with its first different lines.
    pub differ: Vec<String>,
    /// Files that cannot be read any more, and why.
    pub gone: Vec<String>,
}

/// Settings by key and value, with each unit and source that they have.
type KnownSettings = BTreeMap<(String, String), Vec<Arc<Setting>>>;

/// Drives, and layouts of scenes, that were built before. Threads may share them; no result depends on it.
#[derive(Default)]
pub struct InputCache {
    pub drives: ReadingCache,
    pub layouts: LayoutCache,
}

/// The source of a plan's texts and variables.
pub struct Inputs<'a> {
    /// `None`: only what was kept is read.
    read: Option<Box<TextLoader<'a>>>,
    /// `None`: no trace is opened.
    open: Option<OpenParts>,
    /// Places in real time that a plan may name.
    places: &'static [PlaceKind],
    /// The logs that fio jobs ask for are written.
    pub(crate) writes_logs: bool,
    taken: RefCell<InputTexts>,
    /// By name and way of reading.
    surveys: RefCell<Vec<(String, Arc<TraceSurvey>)>>,
    /// Settings so far: most are those of many cells.
    settings: RefCell<KnownSettings>,
    /// Profiles and layouts of scenes so far.
    cache: Arc<InputCache>,
}

impl<'a> Inputs<'a> {
    /// Built-in drives and jobs, the files that `read` fetches, and the environment, as they are now.
    pub fn from_today(read: &'a TextLoader<'a>) -> Inputs<'a> {
        Inputs::from_loader(Box::new(read))
    }

    /// As [`Inputs::from_today`], with a reader of its own.
    pub fn from_loader(read: Box<TextLoader<'a>>) -> Inputs<'a> {
        Inputs { read: Some(read), ..Inputs::from_kept(InputTexts::default()) }
    }

    /// Only kept texts are read.
    pub fn from_kept(taken: InputTexts) -> Inputs<'static> {
        Inputs {
            read: None,
            open: None,
            places: &[],
            writes_logs: false,
            taken: RefCell::new(taken),
            surveys: RefCell::default(),
            settings: RefCell::default(),
            cache: Arc::default(),
        }
    }

    /// Adds an opener of traces.
    #[must_use]
    pub fn with_opener(self, open: OpenParts) -> Inputs<'a> {
        Inputs { open: Some(open), ..self }
    }

    /// Adds places in real time.
    #[must_use]
    pub fn with_places(self, places: &'static [PlaceKind]) -> Inputs<'a> {
        Inputs { places, ..self }
    }

    /// For a run that writes the logs that fio jobs ask for.
    #[must_use]
    pub fn with_written_logs(self) -> Inputs<'a> {
        Inputs { writes_logs: true, ..self }
    }

    /// Shares the cache of other inputs.
    #[must_use]
    pub fn with_cache(self, cache: Arc<InputCache>) -> Inputs<'a> {
        Inputs { cache, ..self }
    }

    /// The cache of profiles and layouts of scenes.
    pub fn cache(&self) -> &Arc<InputCache> {
        &self.cache
    }

    /// Places in real time that a plan may name.
    pub fn places(&self) -> &'static [PlaceKind] {
        self.places
    }

    /// How traces are opened.
    pub fn opener(&self) -> Option<&OpenParts> {
        self.open.as_ref()
    }

    /// False if no trace of this name is opened: a plan that is made again opens those alone that were traces before.
    pub(crate) fn may_be_trace(&self, name: &str) -> bool {
        self.read.is_some() || self.keeps_trace(name)
    }

    /// True if a trace of this name was read.
    pub(crate) fn keeps_trace(&self, name: &str) -> bool {
        self.taken.borrow().find_text(InputRole::Trace, name).is_some()
    }

    /// The survey of the trace called `name`, read in this way; `make` surveys it. An error if it differs from the kept
    /// one.
    pub(crate) fn survey_trace(
        &self,
        name: &str,
        reading: &TraceReadOptions,
        touched: bool,
        make: &dyn Fn() -> Result<TraceSurvey, Diagnostic>,
    ) -> Result<Arc<TraceSurvey>, Diagnostic> {
        let way = format!("{name} {reading:?} {touched}");
        if let Some((_, known)) = self.surveys.borrow().iter().find(|known| known.0 == way) {
            return Ok(Arc::clone(known));
        }
        let survey = Arc::new(make()?);
        let words = survey.summary_line();
        let mut taken = self.taken.borrow_mut();
        let same = |kept: &&InputText| {
            kept.role == InputRole::Trace && kept.name == name && kept.text.as_ref() == Some(&words)
        };
        match (taken.texts.iter().find(same), &self.read) {
            (Some(_), _) => {}
            (None, None) => {
                let before =
                    taken.find_text(InputRole::Trace, name).and_then(|kept| kept.text.clone()).unwrap_or_default();
                let why = format!("it is another trace now: {}", words.trim());
                return Err(Diagnostic::at(name, 0, why).with_expected(before.trim()));
            }
            (None, Some(_)) => {
                let sha256 = Some(sha256(words.as_bytes()));
                let kept = InputText { role: InputRole::Trace, name: name.to_owned(), sha256, text: Some(words) };
                taken.texts.push(kept);
            }
        }
        self.surveys.borrow_mut().push((way, Arc::clone(&survey)));
        Ok(survey)
    }

    /// Shares these settings: each that equals a kept one is replaced by that.
    pub(crate) fn share_settings(&self, own: Vec<Setting>) -> Vec<Arc<Setting>> {
        let mut known = self.settings.borrow_mut();
        let mut kept = |own: Setting| {
            let alike = known.entry((own.key.clone(), own.value.clone())).or_default();
            let found = alike.iter().find(|known| ***known == own).cloned();
            found.unwrap_or_else(|| {
                let own = Arc::new(own);
                alike.push(Arc::clone(&own));
                own
            })
        };
        // Collecting by value would reuse the memory of `own`, thirteen times as much.
        let mut shared = Vec::with_capacity(own.len());
        shared.extend(own.into_iter().map(&mut kept));
        shared
    }

    /// The text of a built-in drive or job, or of a file, by name.
    pub fn read_text(&self, role: InputRole, name: &str) -> io::Result<String> {
        if let Some(kept) = self.taken.borrow().find_text(role, name) {
            return kept.text.clone().ok_or(ErrorKind::NotFound.into());
        }
        let Some(read) = &self.read else { return Err(ErrorKind::NotFound.into()) };
        let read = read_now(role, name, read);
        let text = match &read {
            Ok(text) => Some(text.clone()),
            Err(why) if why.kind() == ErrorKind::NotFound => None,
            Err(_) => return read,
        };
        let sha256 = text.as_ref().map(|text| sha256(text.as_bytes()));
        self.taken.borrow_mut().texts.push(InputText { role, name: name.to_owned(), sha256, text });
        read
    }

    /// An environment variable.
    pub(crate) fn read_variable(&self, name: &str) -> Option<String> {
        if let Some(value) = self.taken.borrow().variables.get(name) {
            return value.clone();
        }
        let value = self.read.as_ref().and_then(|_| std::env::var(name).ok());
        self.taken.borrow_mut().variables.insert(name.to_owned(), value.clone());
        value
    }

    /// All that was read so far.
    pub fn texts_read(&self) -> InputTexts {
        self.taken.borrow().clone()
    }
}

/// The text as it is now.
fn read_now(role: InputRole, name: &str, read: &TextLoader<'_>) -> io::Result<String> {
    role.built_in(name).map_or_else(|| read(name), |text| Ok(text.to_owned()))
}

impl InputTexts {
    fn find_text(&self, role: InputRole, name: &str) -> Option<&InputText> {
        self.texts.iter().find(|kept| kept.role == role && kept.name == name)
    }

    /// Checks every text against its hash; an error is the name of one that differs.
    pub(crate) fn check_hashes(&self) -> Result<(), String> {
        let fits = |kept: &&InputText| kept.text.as_ref().map(|text| sha256(text.as_bytes())) == kept.sha256;
        match self.texts.iter().find(|kept| !fits(kept)) {
            Some(kept) => Err(format!("the text of {} `{}` does not fit its sha256", kept.role.word(), kept.name)),
            None => Ok(()),
        }
    }

    /// Changed and missing texts, compared with what `read` fetches and the environment has now.
    pub fn find_changes(&self, read: &TextLoader<'_>) -> InputChanges {
        let mut changes = InputChanges::default();
        // A survey shows later whether a trace is the same.
        for InputText { role, name, text, .. } in self.texts.iter().filter(|kept| kept.role != InputRole::Trace) {
            let what = format!("{} `{name}`", role.word());
            match (text, read_now(*role, name, read)) {
                (Some(before), Ok(now)) if *before != now => {
                    changes.differ.push(format!("{what} is another now:\n{}", first_differences(name, before, &now)));
                }
                (None, Ok(_)) => changes.differ.push(format!("{what} is there now, and was not")),
                (_, Ok(_)) => {}
                (Some(_), Err(why)) => changes.gone.push(format!("{what}: {why}")),
                (None, Err(_)) => {}
            }
        }
        let said = |value: &Option<String>| value.as_ref().map_or("not set".to_owned(), |value| format!("`{value}`"));
        for (name, before) in &self.variables {
            let now = std::env::var(name).ok();
            if now != *before {
                changes.differ.push(format!("variable {name} was {} and is {}", said(before), said(&now)));
            }
        }
        changes
    }
}

/// Lines of each side that a difference shows.
const SHOWN: usize = 3;

/// The first lines in which two texts differ, each with its place.
pub fn first_differences(name: &str, before: &str, now: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(a, b)| a == b).count();
    let side = |sign: char, lines: &[&str]| {
        let changed = &lines[head..lines.len() - tail];
        let numbered = changed.iter().take(SHOWN).enumerate();
        let mut said: Vec<String> =
            numbered.map(|(at, line)| format!("  {name}:{}: {sign} {line}", head + at + 1)).collect();
        if changed.len() > SHOWN {
            said.push(format!("  {sign} and {} lines more", changed.len() - SHOWN));
        }
        said
    };
    let said = [side('-', &old), side('+', &new)].concat();
    if said.is_empty() { "  (only in the ends of its lines)".to_owned() } else { said.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Cell, prepare_cell};

    #[test]
    fn cells_share_a_drive_s_tables_if_their_inputs_share_a_cache() {
        let settings = [("job", "random-read"), ("drive", "raptor-wd740gd")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let cell = Cell { levels: Vec::new(), settings };
        let mechanics = |inputs: &Inputs<'_>| {
            let prepared = prepare_cell("s.toml", &cell, inputs).unwrap();
            prepared.target.stack().unwrap().profile.mechanics.clone()
        };
        let absent = |_: &str| Err(ErrorKind::NotFound.into());
        let inputs = Inputs::from_today(&absent);
        let first = mechanics(&inputs);
        assert!(first.shares_tables(&mechanics(&inputs)));
        let again = || Inputs::from_kept(inputs.texts_read());
        assert!(!first.shares_tables(&mechanics(&again())));
        assert!(first.shares_tables(&mechanics(&again().with_cache(Arc::clone(inputs.cache())))));
    }

    #[test]
    fn a_text_is_read_once_and_found_again_without_its_file() {
        let reads = RefCell::new(0);
        let read = |name: &str| match name {
            "a.fio" => {
                *reads.borrow_mut() += 1;
                Ok("[a]".to_owned())
            }
            _ => Err(ErrorKind::NotFound.into()),
        };
        let inputs = Inputs::from_today(&read);
        for _ in 0..2 {
            assert_eq!(inputs.read_text(InputRole::Job, "a.fio").unwrap(), "[a]");
            assert_eq!(inputs.read_text(InputRole::Job, "b.fio").unwrap_err().kind(), ErrorKind::NotFound);
        }
        assert_eq!(*reads.borrow(), 1);
        // A drive of the catalogue is not a job.
        assert!(inputs.read_text(InputRole::Drive, "exos-x18").unwrap().contains("geometry"));
        assert!(inputs.read_text(InputRole::Job, "exos-x18").is_err());
        let kept = Inputs::from_kept(inputs.texts_read());
        assert_eq!(kept.read_text(InputRole::Job, "a.fio").unwrap(), "[a]");
        assert!(kept.read_text(InputRole::Drive, "wd140edfz").is_err(), "only what was kept");
        assert_eq!(kept.texts_read(), inputs.texts_read());
    }

    #[test]
    fn what_changed_is_said_with_its_line() {
        let inputs = Inputs::from_today(&|_| Ok("[a]\nbs=4k\nrw=read\n".to_owned()));
        inputs.read_text(InputRole::Job, "a.fio").unwrap();
        let mut taken = inputs.texts_read();
        taken.check_hashes().unwrap();
        assert_eq!(taken.find_changes(&|_| Ok("[a]\nbs=4k\nrw=read\n".to_owned())), InputChanges::default());
        let changes = taken.find_changes(&|_| Ok("[a]\nbs=8k\nrw=read\n".to_owned()));
        let expected = "job `a.fio` is another now:\n  a.fio:2: - bs=4k\n  a.fio:2: + bs=8k";
        assert_eq!(changes.differ, [expected]);
        let changes = taken.find_changes(&|_| Err(ErrorKind::NotFound.into()));
        assert!(changes.gone[0].starts_with("job `a.fio`: ") && changes.differ.is_empty(), "{changes:?}");
        taken.texts[0].text = Some("[b]".to_owned());
        assert!(taken.check_hashes().unwrap_err().contains("`a.fio` does not fit"));
    }

    #[test]
    fn a_difference_is_short() {
        assert_eq!(first_differences("f", "a\nb\nc\n", "a\nc\n"), "  f:2: - b");
        assert_eq!(first_differences("f", "a\n", "a\r\n"), "  (only in the ends of its lines)");
        let said = first_differences("f", "1\n2\n3\n4\n5", "x");
        assert_eq!(said, "  f:1: - 1\n  f:2: - 2\n  f:3: - 3\n  - and 2 lines more\n  f:1: + x");
    }

    #[test]
    fn hashes_are_those_of_sha256sum() {
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
