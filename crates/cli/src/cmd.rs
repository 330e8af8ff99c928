//! The commands, one file each.

mod bench;
mod claims;
mod compare;
pub mod complete;
#[cfg(target_os = "linux")]
mod crash;
mod disk;
mod drives;
mod fit;
mod flush_audit;
mod import;
mod init;
mod keys;
mod patterns;
mod power_cut;
mod programs;
mod report;
mod restore;
mod run;
mod serve;
mod studies;
mod study;
mod validate;

use std::io::Write;

use seekwise::Bounds;
use seekwise_lab::run::SCHEMA;

use crate::args::{Cli, Command};
use crate::exit::{Failure, Outcome};
use crate::output::{say, shown, shown_json};

/// Runs the command.
pub fn dispatch(cli: Cli) -> Outcome {
    if cli.max_memory.is_some() && !bounded(&cli.command) {
        return Err(Failure::new(
            "--max-memory: not supported by this command; expected run, compare, study, claims, power-cut or serve",
        ));
    }
    let bounds = Bounds::new(cli.max_memory);
    match cli.command {
        Command::Drives(args) => drives::drives(&args, cli.json),
        Command::Studies(args) => studies::studies(&args, cli.json),
        Command::Patterns(args) => patterns::patterns(&args, cli.json),
        Command::Programs(args) => programs::programs(&args, cli.json),
        Command::Keys(args) => keys::keys(&args, cli.json),
        Command::Init(args) => init::init(&args),
        Command::Run(args) => run::run(&args, &bounds, cli.json),
        Command::Compare(args) => compare::compare(&args, &bounds, cli.json),
        Command::Study(args) => study::study(&args, &bounds, cli.json),
        Command::Claims(args) => claims::claims(&args, &bounds, cli.json),
        Command::Import(args) => import::import(&args, cli.json),
        Command::Fit(args) => fit::fit(&args, cli.json),
        Command::Validate(args) => validate::validate(&args, cli.json),
        Command::PowerCut(args) => power_cut::power_cut(&args, &bounds, cli.json),
        Command::Serve(args) => serve::serve(&args, &bounds, cli.json),
        #[cfg(target_os = "linux")]
        Command::Crash(args) => crash::crash(&args, cli.json),
        #[cfg(not(target_os = "linux"))]
        Command::Crash(_) => Err(Failure::new("crash: only supported on Linux")),
        Command::Disk(args) => disk::disk(&args.order, cli.json),
        Command::Power(args) => disk::former("power", &args.into(), cli.json),
        Command::Set(args) => disk::former("set", &args.into(), cli.json),
        Command::Status(args) => disk::former("status", &args.into(), cli.json),
        Command::FlushAudit(args) => flush_audit::flush_audit(&args, cli.json),
        Command::Restore(args) => restore::restore(&args, cli.json),
        Command::Report(args) => report::report(&args, cli.json),
        Command::Bench(args) => bench::bench(&args, cli.json),
        Command::Completions(args) => complete::completions(&args),
        Command::Man(args) => complete::man(&args),
    }
}

/// Whether a command keeps within a bound of memory.
fn bounded(command: &Command) -> bool {
    use Command::{Claims, Compare, PowerCut, Run, Serve, Study};
    matches!(command, Run(_) | Compare(_) | Study(_) | Claims(_) | PowerCut(_) | Serve(_))
}

/// Prints warnings, each once, to standard error.
fn warn<W: ToString>(warnings: impl IntoIterator<Item = W>) {
    let mut said = std::collections::BTreeSet::new();
    for warning in warnings {
        let text = warning.to_string();
        if said.insert(text.clone()) {
            say(crate::screen::talk(&format!("warning: {text}")));
        }
    }
}

/// Prints a value as JSON to standard output, an object with the version of its schema (docs/output.md).
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut value = serde_json::to_value(value).expect("results have no keys but strings");
    if let Some(object) = value.as_object_mut() {
        object.insert("schema".to_owned(), SCHEMA.into());
    }
    let text = serde_json::to_string_pretty(&value).expect("results have no keys but strings");
    written(&shown_json(&text))
}

/// Prints text to standard output, without control characters.
fn print(text: &str) -> Result<(), Failure> {
    written(&shown(text.trim_end()))
}

/// Writes a text and the end of its line to standard output. A reader that has gone has what it wanted: the command
/// goes on, and its exit code is the one that it comes to.
fn written(text: &str) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
