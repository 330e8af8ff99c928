//! What `--on` names: a place in real time, or a modelled drive or a stack file, with `--set` on top, and a job for it; as
//! a cell, and as the study that results are kept of.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell, Prepared};
use seekwise_lab::{catalogue, jobs};
use seekwise_model::stack::Stack;
use seekwise_targets::place::{self, Of};

use crate::args::On;
use crate::exit::Failure;
use crate::files::{self, Kind};
use crate::output::quoted;

/// The key of a trace's format.
const FORMAT: &str = "trace.format";

/// The settings of `JOB --on TARGET --set … --runtime …`, as a study's cell has them.
pub fn cell(job: &str, on: &On) -> Result<Cell, Failure> {
    files::one_standard_input(&[job, &on.target])?;
    is_job(job)?;
    let target = target(&on.target)?;
    once(&on.set)?;
    free(on, &target)?;
    let mut settings = vec![("job".to_owned(), job.to_owned())];
    settings.extend(target);
    if let Some(runtime) = &on.runtime {
        settings.push(("job.runtime".to_owned(), runtime.clone()));
    }
    settings.extend(destroy(on)?);
    if let Some(format) = &on.trace_format {
        settings.push((FORMAT.to_owned(), format.clone()));
    }
    settings.extend(on.set.iter().cloned());
    Ok(Cell { levels: Vec::new(), settings })
}

/// The key that `--destroy` stands for.
fn destroy(on: &On) -> Result<Option<(String, String)>, Failure> {
    let Some(name) = &on.destroy else { return Ok(None) };
    if on.set.iter().any(|(key, _)| key == plan::DESTROY) {
        return Err(Failure::new(format!(
            "--destroy {name}: conflicts with --set {}; expected one of the two",
            plan::DESTROY
        )));
    }
    match place::named(&on.target) {
        Some((place::Kind { of: Of::Path(_) | Of::Address(_), .. }, _)) => {
            Ok(Some((plan::DESTROY.to_owned(), name.clone())))
        }
        _ => Err(Failure::new(format!(
            "--destroy {name}: {} holds nothing to destroy; expected file:PATH, device:PATH or nbd:ADDRESS",
            on.target
        ))),
    }
}

/// The modelled stack that a target names, without a job.
pub fn stack(name: &str, set: &[(String, String)]) -> Result<(Stack, Vec<String>), Failure> {
    once(set)?;
    let mut settings = target(name)?;
    if settings.iter().any(|(key, _)| key == plan::PLACE) {
        return Err(Failure::new(format!("{name}: not a modelled disk; expected a drive or a stack file")));
    }
    if let Some((key, _)) = set.iter().find(|(key, _)| key.starts_with("job.")) {
        return Err(Failure::new(format!("--set: `{key}`: there is no job; expected a key of the stack")));
    }
    settings.extend(set.iter().cloned());
    // Any job will do: what it is laid out on is asked for.
    settings.push(("job".to_owned(), "random-read".to_owned()));
    let prepared = prepare(&Cell { levels: Vec::new(), settings }, &files::inputs())?;
    let warnings = prepared.warnings.iter().map(ToString::to_string).collect();
    let stack = prepared.target.stack().expect("a modelled stack").clone();
    Ok((stack, warnings))
}

/// An error where something is set of what has no stack.
pub fn nothing_set(set: &[(String, String)]) -> Result<(), Failure> {
    match set.first() {
        None => Ok(()),
        Some((key, _)) => {
            Err(Failure::new(format!("--set {key}: there is no modelled stack; expected none with `null`")))
        }
    }
}

/// What a run is called.
pub fn title(job: &str, on: &On) -> String {
    format!("{} on {}", files::spoken(job), files::spoken(&on.target))
}

/// `JOB --on TARGET --set …`, as a shell takes it.
pub fn words(job: &str, on: &On) -> String {
    let mut words = vec![job.to_owned(), "--on".to_owned(), on.target.clone()];
    for (key, value) in &on.set {
        words.extend(["--set".to_owned(), format!("{key}={value}")]);
    }
    if let Some(runtime) = &on.runtime {
        words.extend(["--runtime".to_owned(), runtime.clone()]);
    }
    if let Some(name) = &on.destroy {
        words.extend(["--destroy".to_owned(), name.clone()]);
    }
    if let Some(format) = &on.trace_format {
        words.extend(["--trace-format".to_owned(), format.clone()]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Builds what a cell runs.
pub fn prepare(cell: &Cell, inputs: &Inputs<'_>) -> Result<Prepared, Failure> {
    Ok(plan::prepare("command line", cell, inputs)?)
}

/// The text of a study of `JOB --on TARGET …`, with what stands under all of its cells, and `more` keys.
pub fn study(
    job: &str,
    on: &On,
    question: String,
    runs: u32,
    more: impl IntoIterator<Item = (String, toml::Value)>,
) -> Result<String, Failure> {
    let text = |value: &str| toml::Value::String(value.to_owned());
    let (mut stack, mut study) = (toml::Table::new(), toml::Table::new());
    for (key, value) in cell(job, on)?.settings {
        match key.as_str() {
            "job" => study.insert(key, text(&value)),
            "job.runtime" => study.insert("runtime".to_owned(), text(&value)),
            _ => stack.insert(key, text(&value)),
        };
    }
    study.extend([
        ("title".to_owned(), toml::Value::String(title(job, on))),
        ("question".to_owned(), toml::Value::String(question)),
        ("runs".to_owned(), toml::Value::Integer(i64::from(runs))),
        ("stack".to_owned(), toml::Value::Table(stack)),
    ]);
    study.extend(more);
    // TOML's own numbers end at 2^63; a reader of 64 bits takes more.
    Ok(format!("seed = {}\n{}", on.seed, toml::to_string(&study).map_err(Failure::new)?))
}

/// The key that a target's name stands for: a place, a stack file, a drive's profile, or a drive of the catalogue.
fn target(name: &str) -> Result<Vec<(String, String)>, Failure> {
    if let Some((kind, rest)) = place::named(name) {
        return match (&kind.of, rest) {
            (Of::Stack(_), Some(stack)) => {
                let mut settings = target(stack)?;
                if settings.iter().any(|(key, _)| key == plan::PLACE) {
                    return Err(Failure::new(format!(
                        "{name}: `{stack}` is not a modelled disk; expected {}",
                        kind.form
                    )));
                }
                settings.insert(0, (plan::PLACE.to_owned(), kind.name.to_owned()));
                Ok(settings)
            }
            (Of::Nothing(_), None) | (Of::Address(_) | Of::Path(_), Some(_)) => {
                Ok(vec![(plan::PLACE.to_owned(), name.to_owned())])
            }
            _ => Err(Failure::new(format!("{name}: expected {}", kind.form))),
        };
    }
    if catalogue::text(name).is_some() {
        return Ok(vec![("drive".to_owned(), name.to_owned())]);
    }
    let text = match name.ends_with(".toml") || name == files::STANDARD_INPUT {
        true => Some(files::read(name)?),
        false => files::find(name)?,
    };
    // What is no file is a drive that there is not, and is told so.
    let Some(text) = text else { return Ok(vec![("drive".to_owned(), name.to_owned())]) };
    files::expect(name, &text, &[Kind::Stack, Kind::Profile])?;
    // A profile describes a drive's geometry; a stack names a drive. Both are TOML.
    let key = if Kind::of(&text) == Some(Kind::Profile) { "drive" } else { "stack" };
    Ok(vec![(key.to_owned(), name.to_owned())])
}

/// An error where a job's name is that of a file of another kind.
fn is_job(name: &str) -> Result<(), Failure> {
    let built_in = jobs::built_in(name).is_some() || jobs::patterns().iter().any(|pattern| pattern.name == name);
    if built_in || files::is_trace(name) {
        return Ok(());
    }
    match files::text(name) {
        Ok(text) => files::expect(name, &text, &[Kind::Job]),
        _ => Ok(()),
    }
}

/// An error where a key is set twice: one of the two would count for nothing.
pub fn once(set: &[(String, String)]) -> Result<(), Failure> {
    let twice = |(place, (key, _)): &(usize, &(String, String))| set[..*place].iter().any(|(other, _)| other == key);
    match set.iter().enumerate().find(twice) {
        Some((_, (key, value))) => Err(Failure::new(format!("--set {key}={value}: `{key}` is set twice"))),
        None => Ok(()),
    }
}

/// An error where `--set` says what another argument says.
fn free(on: &On, target: &[(String, String)]) -> Result<(), Failure> {
    let drive = target.iter().any(|(key, _)| key == "drive");
    for (key, value) in &on.set {
        let said = match key.as_str() {
            "job" => "the argument before --on names the job",
            "stack" => "--on names the stack",
            plan::PLACE => "--on names the place",
            "drive" if drive => "--on names the drive",
            "job.runtime" if on.runtime.is_some() => "--runtime sets the run time",
            FORMAT if on.trace_format.is_some() => "--trace-format names the format",
            _ => continue,
        };
        return Err(Failure::new(format!("--set {key}={value}: {said}; expected one of the two")));
    }
    Ok(())
}
