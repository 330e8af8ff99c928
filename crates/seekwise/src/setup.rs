//! A job, a target, and settings on top, as users name them; the cell of a plan that they stand for; and the study that
//! their results are kept as.

use std::io::ErrorKind;
use std::path::Path;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::duration::Duration;
use seekwise_drives::key_names::{self, is_job_key, job, real, trace};
use seekwise_formats::study::Study;
use seekwise_lab::{built_in, catalogue, jobs, plan};
use seekwise_run::place::{self, PlaceSource};

use crate::error::Error;
use crate::reading::{self, FileKind, Files};
use crate::shell::quote_for_shell;
use crate::system::places::PLACES;

/// A cell as it is asked for, and prepared: its settings, its work, and where that runs.
pub use seekwise_drives::stack::Setting;
pub use seekwise_lab::inputs::Inputs;
pub use seekwise_lab::plan::{Cell, PreparedCell};
pub use seekwise_run::place::Target;
pub use seekwise_run::work::Work;

/// A modelled stack, its changes in words, and the seed of its random numbers.
pub use seekwise_disk::rng::Seed;
pub use seekwise_disk::stack::Stack;
pub use seekwise_drives::change::WrittenChange;

/// Formats of traces.
pub use seekwise_formats::trace::FORMATS as TRACE_FORMATS;

/// A job on a target, with settings on top.
///
/// ```
/// use seekwise::Setup;
///
/// let setup = Setup::new("random-read", "barracuda-7200.7-ncq").with("job.depth", "4").with_runtime("2 s");
/// assert_eq!(setup.words(), "random-read --on barracuda-7200.7-ncq --set job.depth=4 --runtime '2 s'");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Setup {
    /// A fio job file, an Iometer .icf, a scene, a recorded trace, `-` (standard input), or a built-in pattern.
    pub job: String,
    /// A drive, a stack file, or a place in real time such as `file:PATH`.
    pub target: String,
    /// Dotted keys of the stack or the job, and values.
    pub set: Vec<(String, String)>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How long each worker runs (`60 s`), whatever the job says.
    pub runtime: Option<String>,
    /// The serial number, name or address of what may be overwritten.
    pub destroy: Option<String>,
    /// The format of a trace, where it is not the one that it looks like.
    pub trace_format: Option<String>,
    /// Where the job and the target are read.
    pub files: Files,
}

impl Setup {
    /// A job on a target, with seed 1.
    pub fn new(job: impl Into<String>, target: impl Into<String>) -> Setup {
        let (job, target) = (job.into(), target.into());
        let files = Files::default();
        Setup { job, target, set: Vec::new(), seed: 1, runtime: None, destroy: None, trace_format: None, files }
    }

    /// Sets a dotted key of the stack or the job.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl ToString) -> Setup {
        self.set.push((key.into(), value.to_string()));
        self
    }

    /// With another seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Setup {
        Setup { seed, ..self }
    }

    /// With each worker running this long, such as `10 s`.
    #[must_use]
    pub fn with_runtime(self, runtime: impl Into<String>) -> Setup {
        Setup { runtime: Some(runtime.into()), ..self }
    }

    /// With what may be overwritten, by its serial number, name or address.
    #[must_use]
    pub fn with_destroy(self, name: impl Into<String>) -> Setup {
        Setup { destroy: Some(name.into()), ..self }
    }

    /// With the files that the job and the target are read from.
    #[must_use]
    pub fn with_files(self, files: Files) -> Setup {
        Setup { files, ..self }
    }

    /// Returns the setup as a cell of a study.
    pub fn cell(&self) -> Result<Cell, Error> {
        reading::reject_second_standard_input(&[&self.job, &self.target])?;
        require_job(&self.files, &self.job)?;
        if let Some(fault) = target_fault(&self.files, &self.target) {
            return Err(fault);
        }
        let target = target_settings(&self.files, &self.target)?;
        reject_repeated_keys(&self.set)?;
        self.check_conflicts(&target)?;
        let mut settings = vec![("job".to_owned(), self.job.clone())];
        settings.extend(target);
        if let Some(runtime) = &self.runtime {
            settings.push((job::RUNTIME.to_owned(), runtime.clone()));
        }
        settings.extend(self.destroy_setting()?);
        if let Some(format) = &self.trace_format {
            settings.push((trace::FORMAT.to_owned(), format.clone()));
        }
        settings.extend(self.set.iter().cloned());
        Ok(Cell { levels: Vec::new(), settings })
    }

    /// Reads and builds all that the cell runs.
    pub fn prepare(&self) -> Result<PreparedCell, Error> {
        prepare(&self.cell()?, &self.files.inputs())
    }

    /// The setting that `--destroy` stands for; an error if the target has nothing to destroy.
    fn destroy_setting(&self) -> Result<Option<(String, String)>, Error> {
        let Some(name) = &self.destroy else { return Ok(None) };
        if self.set.iter().any(|(key, _)| key == real::DESTROY) {
            return Err(Error::new(format!(
                "--destroy {name}: conflicts with --set {}; expected one of the two",
                real::DESTROY
            )));
        }
        match place::parse_place(PLACES, &self.target) {
            Some((
                place::PlaceKind {
                    of: PlaceSource::File(_) | PlaceSource::Device(_) | PlaceSource::Address(_), ..
                },
                _,
            )) => Ok(Some((real::DESTROY.to_owned(), name.clone()))),
            _ => Err(Error::new(format!(
                "--destroy {name}: {} holds nothing to destroy; expected file:PATH, device:PATH or nbd:ADDRESS",
                self.target
            ))),
        }
    }

    /// An error if `--set` sets what another argument sets.
    fn check_conflicts(&self, target: &[(String, String)]) -> Result<(), Error> {
        let target_is_drive = target.iter().any(|(key, _)| key == "drive");
        for (key, value) in &self.set {
            let other_argument = match key.as_str() {
                "job" => "the argument before --on names the job",
                "stack" => "--on names the stack",
                key_names::stack::PLACE => "--on names the place",
                "drive" if target_is_drive => "--on names the drive",
                job::RUNTIME if self.runtime.is_some() => "--runtime sets the run time",
                trace::FORMAT if self.trace_format.is_some() => "--trace-format names the format",
                _ => continue,
            };
            return Err(Error::new(format!("--set {key}={value}: {other_argument}; expected one of the two")));
        }
        Ok(())
    }

    /// The title of a run.
    pub fn title(&self) -> String {
        format!("{} on {}", reading::display_name(&self.job), reading::display_name(&self.target))
    }

    /// True if the target is a drive, and not a stack or a place.
    pub(crate) fn is_on_a_drive_alone(&self) -> bool {
        matches!(target_settings(&self.files, &self.target).as_deref(), Ok([(key, _)]) if key == "drive")
    }

    /// The arguments of `seekwise run` for this setup, as a shell takes them: `JOB --on TARGET --set …`.
    pub fn words(&self) -> String {
        let mut words = vec![self.job.clone(), "--on".to_owned(), self.target.clone()];
        for (key, value) in &self.set {
            words.extend(["--set".to_owned(), format!("{key}={value}")]);
        }
        if let Some(runtime) = &self.runtime {
            words.extend(["--runtime".to_owned(), runtime.clone()]);
        }
        if let Some(name) = &self.destroy {
            words.extend(["--destroy".to_owned(), name.clone()]);
        }
        if let Some(format) = &self.trace_format {
            words.extend(["--trace-format".to_owned(), format.clone()]);
        }
        words.iter().map(|word| quote_for_shell(word)).collect::<Vec<_>>().join(" ")
    }

    /// The study that has this setup as its one cell, and so many runs of it.
    pub fn study(&self, cell: Cell, question: impl Into<String>, runs: u32) -> Result<Study, Error> {
        let mut study = Study::new(self.title(), question);
        (study.seed, study.runs) = (self.seed, runs);
        for (key, value) in cell.settings {
            match key.as_str() {
                "job" => study.job = Some(value),
                job::RUNTIME => study.runtime = Some(Duration::parse(&value).map_err(Error::new)?),
                _ => drop(study.stack.insert(key, value.into())),
            }
        }
        Ok(study)
    }
}

/// Prepares a cell to be run.
pub fn prepare(cell: &Cell, inputs: &Inputs<'_>) -> Result<PreparedCell, Error> {
    Ok(plan::prepare_cell("command line", cell, inputs)?)
}

/// Builds the modelled stack that a target names, without a job. Returns the stack, its changes in words, and the
/// warnings of its reader.
pub fn build_stack(
    files: &Files,
    name: &str,
    set: &[(String, String)],
) -> Result<(Stack, Vec<WrittenChange>, Vec<Diagnostic>), Error> {
    reject_repeated_keys(set)?;
    let unmodelled_error = || Error::new(format!("{name}: not a modelled disk; expected a drive or a stack file"));
    if target_fault(files, name).is_some() {
        return Err(unmodelled_error());
    }
    let mut settings = target_settings(files, name)?;
    if settings.iter().any(|(key, _)| key == key_names::stack::PLACE) {
        return Err(unmodelled_error());
    }
    if let Some((key, _)) = set.iter().find(|(key, _)| is_job_key(key)) {
        return Err(Error::new(format!("--set: `{key}`: there is no job; expected a key of the stack")));
    }
    settings.extend(set.iter().cloned());
    // Any job will do: only the stack below it is wanted.
    settings.push(("job".to_owned(), "random-read".to_owned()));
    let prepared = prepare(&Cell { levels: Vec::new(), settings }, &files.inputs())?;
    match prepared.target {
        Target::Sim(stack, changes) => Ok((*stack, changes, prepared.warnings)),
        Target::Measured(_) => Err(unmodelled_error()),
    }
}

/// An error if a key is set, for targets that have no modelled stack.
pub fn reject_settings_without_stack(set: &[(String, String)]) -> Result<(), Error> {
    match set.first() {
        None => Ok(()),
        Some((key, _)) => {
            Err(Error::new(format!("--set {key}: there is no modelled stack; expected none with `null`")))
        }
    }
}

/// The error about a target that is a job, or the path of a device, a folder or a file of data, which `--on` does not
/// take as it is; `None` for any other name.
fn target_fault(files: &Files, name: &str) -> Option<Error> {
    let path = Path::new(name);
    if place::parse_place(PLACES, name).is_some() || catalogue::find_text(name).is_some() {
        return None;
    }
    let is_binary = || files.text(name).is_err_and(|why| why.kind() == ErrorKind::InvalidData);
    let (fault, expected) = match () {
        () if is_built_in(name) => ("is a job", format!("a drive: `seekwise run {name} --on DRIVE` runs it")),
        () if path.starts_with("/dev") => ("is a device", format!("--on device:{name} to measure it")),
        () if is_device(name) => ("is a device", format!("--on device:/dev/{name} to measure it")),
        () if reading::is_result_folder(path) => {
            ("is a result folder", format!("a drive; `seekwise report {}` shows the results", quote_for_shell(name)))
        }
        () if path.is_dir() => ("is a folder", format!("--on file:{name} to measure a file in it")),
        () if path.is_file() && is_binary() => ("is a file of data", format!("--on file:{name} to measure it")),
        () if path.is_absolute() && !path.exists() && !name.ends_with(".toml") => {
            let expected = format!("--on file:{name} --set real.layout=1g to make a file there and measure it");
            ("is no drive and no file", expected)
        }
        () => return None,
    };
    Some(Diagnostic::at(name, 0, fault).with_expected(expected).into())
}

/// Whether a bare word names a block device as Linux does: `sda`, `vdb1`, `nvme0n1`. A file of that name is no device.
fn is_device(name: &str) -> bool {
    let after_lettered = ["xvd", "sd", "vd"].iter().find_map(|kind| name.strip_prefix(kind));
    let is_lettered = |rest: &str| {
        let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        (1..=2).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_lowercase())
    };
    let after_numbered = ["nvme", "mmcblk"].iter().find_map(|kind| name.strip_prefix(kind));
    let is_numbered = after_numbered.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    !Path::new(name).exists() && (is_numbered || after_lettered.is_some_and(is_lettered))
}

/// The settings that a target's name stands for: a place, a stack file, a drive's profile, or a drive of the catalogue.
fn target_settings(files: &Files, name: &str) -> Result<Vec<(String, String)>, Error> {
    if let Some((kind, rest)) = place::parse_place(PLACES, name) {
        return match (&kind.of, rest) {
            (PlaceSource::Stack(_), Some(stack)) => {
                let mut settings = target_settings(files, stack)?;
                if settings.iter().any(|(key, _)| key == key_names::stack::PLACE) {
                    return Err(Error::new(format!(
                        "{name}: `{stack}` is not a modelled disk; expected {}",
                        kind.form
                    )));
                }
                settings.insert(0, (key_names::stack::PLACE.to_owned(), kind.name.to_owned()));
                Ok(settings)
            }
            (PlaceSource::Nothing(_), None)
            | (PlaceSource::Address(_) | PlaceSource::File(_) | PlaceSource::Device(_), Some(_)) => {
                Ok(vec![(key_names::stack::PLACE.to_owned(), name.to_owned())])
            }
            _ => Err(Error::new(format!("{name}: expected {}", kind.form))),
        };
    }
    if catalogue::find_text(name).is_some() {
        return Ok(vec![("drive".to_owned(), name.to_owned())]);
    }
    let text = match name.ends_with(".toml") || name == reading::STANDARD_INPUT {
        true => Some(files.read(name)?),
        false => files.find(name)?,
    };
    // A name that is no file is taken for an unknown drive, which is reported later.
    let Some(text) = text else { return Ok(vec![("drive".to_owned(), name.to_owned())]) };
    reading::expect_kind(name, &text, &[FileKind::Stack, FileKind::Profile])?;
    // A profile describes a drive's geometry; a stack names a drive. Both are TOML.
    let key = if FileKind::of(&text) == Some(FileKind::Profile) { "drive" } else { "stack" };
    Ok(vec![(key.to_owned(), name.to_owned())])
}

/// Whether a job or a pattern of that name is built in.
pub(crate) fn is_built_in(name: &str) -> bool {
    built_in::find_text(name).is_some() || jobs::built_in_patterns().iter().any(|pattern| pattern.name == name)
}

/// An error if a job's name is that of a drive, a result folder or a file of another kind.
pub(crate) fn require_job(files: &Files, name: &str) -> Result<(), Error> {
    if is_built_in(name) || files.is_trace(name) {
        return Ok(());
    }
    if catalogue::find_text(name).is_some() {
        let fault = Diagnostic::at(name, 0, "is a drive");
        return Err(fault.with_expected(format!("a job: `--on {name}` runs a job on it")).into());
    }
    if reading::is_result_folder(Path::new(name)) {
        let (folder, new_folder) =
            (quote_for_shell(name), quote_for_shell(&format!("{}-again", name.trim_end_matches('/'))));
        let expected = format!(
            "a job; `seekwise report {folder}` shows the results, `seekwise study {folder} --out {new_folder}` makes them again"
        );
        return Err(Diagnostic::at(name, 0, "is a result folder").with_expected(expected).into());
    }
    match files.text(name) {
        Ok(text) => reading::expect_kind(name, &text, &[FileKind::Job]),
        _ => Ok(()),
    }
}

/// An error if a key is set twice: one of the two values would count for nothing.
pub fn reject_repeated_keys(set: &[(String, String)]) -> Result<(), Error> {
    let is_repeated =
        |(index, (key, _)): &(usize, &(String, String))| set[..*index].iter().any(|(other, _)| other == key);
    match set.iter().enumerate().find(is_repeated) {
        Some((_, (key, value))) => Err(Error::new(format!("--set {key}={value}: `{key}` is set twice"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setup() -> Setup {
        Setup::new("random-read", "barracuda-7200.7-ncq")
    }

    fn keys(setup: &Setup) -> Result<Vec<String>, String> {
        let cell = setup.cell().map_err(|why| why.to_string())?;
        Ok(cell.settings.into_iter().map(|(key, value)| format!("{key}={value}")).collect())
    }

    #[test]
    fn a_cell_has_the_job_the_target_and_what_is_set_in_this_order() {
        let full = setup().with("driver", "linux-none").with_runtime("2 s").with("job.depth", 4);
        let expected =
            ["job=random-read", "drive=barracuda-7200.7-ncq", "job.runtime=2 s", "driver=linux-none", "job.depth=4"];
        assert_eq!(keys(&full).unwrap(), expected);
        assert_eq!(keys(&Setup::new("random-read", "null")).unwrap(), ["job=random-read", "place=null"]);
    }

    /// What one argument says no other may say; without the first, the second is free to.
    #[test]
    fn a_key_that_an_argument_names_is_not_set_again() {
        for (key, said) in [
            ("job", "names the job"),
            ("stack", "names the stack"),
            ("place", "names the place"),
            ("drive", "names the drive"),
        ] {
            let why = keys(&setup().with(key, "x")).unwrap_err();
            assert!(why.starts_with(&format!("--set {key}=x: ")) && why.contains(said), "{why}");
        }
        assert!(keys(&setup().with("job.runtime", "1 s")).is_ok());
        assert!(keys(&setup().with("job.runtime", "1 s").with_runtime("2 s")).unwrap_err().contains("--runtime sets"));
        let formatted = Setup { trace_format: Some("spc".to_owned()), ..setup() };
        assert!(keys(&formatted).unwrap().contains(&"trace.format=spc".to_owned()));
        assert!(keys(&setup().with("trace.format", "spc")).is_ok());
        assert!(keys(&formatted.with("trace.format", "spc")).unwrap_err().contains("--trace-format names"));
        let twice = setup().with("job.depth", 1).with("job.span", "1g").with("job.depth", 2);
        assert_eq!(keys(&twice), Err("--set job.depth=2: `job.depth` is set twice".to_owned()));
    }

    #[test]
    fn only_what_holds_data_is_destroyed_and_by_one_name() {
        let why = keys(&setup().with_destroy("Z1")).unwrap_err();
        assert!(why.contains("barracuda-7200.7-ncq holds nothing to destroy"), "{why}");
        let file = Setup::new("random-read", "file:/tmp/there-is-none").with_destroy("there-is-none");
        assert!(keys(&file).unwrap().contains(&format!("{}=there-is-none", real::DESTROY)));
        let why = keys(&file.with(real::DESTROY, "other")).unwrap_err();
        assert!(why.contains("conflicts with --set"), "{why}");
    }

    #[test]
    fn words_of_linux_s_disks_are_devices_and_others_are_not() {
        for name in ["sda", "sdab", "sda1", "vdb12", "xvdc", "nvme0n1", "mmcblk0"] {
            assert!(is_device(name), "{name}");
        }
        for name in ["sd", "sdabc", "sdA", "sd1", "nvme", "nvmexy", "hda", "barracuda-7200.7", ""] {
            assert!(!is_device(name), "{name}");
        }
    }

    #[test]
    fn a_job_and_a_target_are_not_taken_for_one_another() {
        for (job, target, said) in [
            ("exos-x18", "exos-x18", "exos-x18: is a drive; expected a job: "),
            ("random-read", "random-write", "random-write: is a job; expected a drive: "),
            ("random-read", "sda", "sda: is a device; expected --on device:/dev/sda "),
            ("random-read", "/tmp", "/tmp: is a folder; expected --on file:/tmp "),
            ("random-read", "/there/is/none", "/there/is/none: is no drive and no file; expected --on file:"),
            ("-", "-", "-: standard input"),
        ] {
            let why = keys(&Setup::new(job, target)).unwrap_err();
            assert!(why.starts_with(said), "{job} on {target}: {why}");
        }
    }

    #[test]
    fn files_of_jobs_and_of_stacks_are_not_taken_for_one_another() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let stack = file("stack", "drive = 'exos-x18'\n");
        for job in [file("fio", "[j]\nrw=read\nsize=1m\n"), file("icf", "'ACCESS SPECIFICATIONS ====\n")] {
            assert_eq!(keys(&Setup::new(&*job, &*stack)).unwrap(), [format!("job={job}"), format!("stack={stack}")]);
            let why = keys(&Setup::new("random-read", &*job)).unwrap_err();
            assert!(why.starts_with(&format!("{job}: is a job; expected a stack or a drive's profile; ")), "{why}");
            let why = keys(&Setup::new(&*stack, "exos-x18")).unwrap_err();
            assert!(why.starts_with(&format!("{stack}: is a stack; expected a job; ")), "{why}");
        }
    }

    #[test]
    fn the_words_of_a_setup_are_those_that_make_it() {
        let full = setup().with("a", "b c").with_runtime("2 s").with_destroy("Z 1").with_seed(9);
        let words = full.words();
        assert!(words.starts_with("random-read --on barracuda-7200.7-ncq --set 'a=b c' --runtime '2 s'"), "{words}");
        assert!(words.contains("--destroy 'Z 1'"), "{words}");
        assert_eq!(full.title(), "random-read on barracuda-7200.7-ncq");
    }
}
