//! What `--on` names: a modelled drive or a stack file, with `--set` on top, and a job for it.

use seekwise_lab::plan::{self, Cell, Prepared};

use crate::args::On;
use crate::exit::Failure;
use crate::files;

/// The settings of `JOB --on TARGET --set … --runtime …`, as a study's cell has them.
pub fn cell(job: &str, on: &On) -> Result<Cell, Failure> {
    let mut settings = vec![("job".to_owned(), job.to_owned())];
    settings.extend(target(&on.target)?);
    if let Some(runtime) = &on.runtime {
        settings.push(("job.runtime".to_owned(), runtime.clone()));
    }
    settings.extend(on.set.iter().cloned());
    Ok(Cell { levels: Vec::new(), settings })
}

/// Builds what a cell runs.
pub fn prepare(cell: &Cell) -> Result<Prepared, Failure> {
    Ok(plan::prepare("command line", cell, &files::text)?)
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
    if !name.ends_with(".toml") {
        return Ok(vec![("drive".to_owned(), name.to_owned())]);
    }
    // A profile describes a drive's geometry; a stack names a drive. Both are TOML.
    let profile = files::read(name)?.lines().any(|line| line.trim_start().starts_with("[geometry"));
    Ok(vec![(if profile { "drive" } else { "stack" }.to_owned(), name.to_owned())])
}
