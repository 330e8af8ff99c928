//! What `--on` names: a modelled drive or a stack file, with `--set` on top, and a job for it; as a cell, and as the study
//! that results are kept of.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell, Prepared};

use crate::args::On;
use crate::exit::Failure;
use crate::files;
use crate::output::quoted;

/// The settings of `JOB --on TARGET --set … --runtime …`, as a study's cell has them.
pub fn cell(job: &str, on: &On) -> Result<Cell, Failure> {
    files::one_standard_input(&[job, &on.target])?;
    let mut settings = vec![("job".to_owned(), job.to_owned())];
    settings.extend(target(&on.target)?);
    if let Some(runtime) = &on.runtime {
        settings.push(("job.runtime".to_owned(), runtime.clone()));
    }
    settings.extend(on.set.iter().cloned());
    Ok(Cell { levels: Vec::new(), settings })
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

/// The key that a target's name stands for: a stack file, a drive's profile, or a drive of the catalogue.
fn target(name: &str) -> Result<Vec<(String, String)>, Failure> {
    for scheme in ["file:", "device:"] {
        if name.starts_with(scheme) {
            return Err(Failure::new(format!(
                "{name}: real files and devices cannot be targets in this version; expected a drive (see `seekwise \
                 drives`) or a stack file"
            )));
        }
    }
    if !name.ends_with(".toml") && name != files::STANDARD_INPUT {
        return Ok(vec![("drive".to_owned(), name.to_owned())]);
    }
    // A profile describes a drive's geometry; a stack names a drive. Both are TOML.
    let profile = files::read(name)?.lines().any(|line| line.trim_start().starts_with("[geometry"));
    Ok(vec![(if profile { "drive" } else { "stack" }.to_owned(), name.to_owned())])
}
