//! The commands, a file each, and how they print.

mod bench;
mod claims;
mod compare;
pub mod complete;
#[cfg(target_os = "linux")]
mod crash;
mod disk;
mod drives;
#[cfg(target_os = "linux")]
mod exec;
mod explain;
mod explore;
mod export;
mod fit;
mod flush_audit;
mod import;
mod init;
mod keys;
mod measured;
mod patterns;
mod power_cut;
mod programs;
mod python_module;
mod rebuild;
mod report;
mod restore;
mod run;
mod serve;
mod studies;
mod study;
mod sweep;
mod validate;

use std::ffi::OsString;
use std::io::Write;

use seekwise::{Bounds, Files, answer};

use crate::args::{Cli, CliCommand};
use crate::exit::{CommandError, CommandResult};
use crate::output::{print_to_stderr, to_printable};

/// Runs the command; `words` are the command line.
pub fn dispatch(cli: Cli, words: &[OsString]) -> CommandResult {
    if cli.max_memory.is_some() && !takes_memory_bound(&cli.command) {
        return Err(CommandError::new(
            "--max-memory: not supported by this command; expected run, compare, study, claims, explain, power-cut, serve or exec",
        ));
    }
    let bounds = Bounds::new(cli.max_memory);
    let files = Files::default().with_limit(bounds.memory_bytes());
    match cli.command {
        CliCommand::Drives(args) => drives::run_command(&args, &files, cli.json),
        CliCommand::Studies(args) => studies::run_command(&args, &files, cli.json),
        CliCommand::Patterns(args) => patterns::run_command(&args, cli.json),
        CliCommand::Programs(args) => programs::run_command(&args, cli.json),
        CliCommand::Keys(args) => keys::run_command(&args, cli.json),
        CliCommand::Init(args) => init::run_command(&args),
        CliCommand::Run(args) => run::run_command(&args, &files, &bounds, cli.json),
        CliCommand::Compare(args) => compare::run_command(&args, &files, &bounds, words, cli.json),
        CliCommand::Study(args) => study::run_command(&args, files, &bounds, cli.json),
        CliCommand::Sweep(args) => sweep::run_command(&args, cli.json),
        CliCommand::Claims(args) => claims::run_command(&args, files, &bounds, cli.json),
        CliCommand::Explain(args) => explain::run_command(&args, files, &bounds, cli.json),
        CliCommand::Import(args) => import::run_command(&args, &files, cli.json),
        CliCommand::Fit(args) => fit::run_command(&args, files, words, cli.json),
        CliCommand::Validate(args) => validate::run_command(&args, &files, words, cli.json),
        CliCommand::PowerCut(args) => power_cut::run_command(&args, &files, &bounds, words, cli.json),
        CliCommand::Rebuild(args) => rebuild::run_rebuild(&args, &files, words, cli.json),
        CliCommand::Scrub(args) => rebuild::run_scrub(&args, &files, words, cli.json),
        CliCommand::Serve(args) => serve::run_command(&args, &files, &bounds, cli.json),
        #[cfg(target_os = "linux")]
        CliCommand::Crash(args) => crash::run_command(&args, &files, words, cli.json),
        #[cfg(not(target_os = "linux"))]
        CliCommand::Crash(_) => Err(CommandError::new("crash: only supported on Linux")),
        #[cfg(target_os = "linux")]
        CliCommand::Exec(args) => exec::run_command(&args, &files, &bounds, cli.json),
        #[cfg(not(target_os = "linux"))]
        CliCommand::Exec(_) => Err(CommandError::new("exec: only supported on Linux")),
        CliCommand::Disk(args) => disk::run_command(&args.order, cli.json),
        CliCommand::FlushAudit(args) => flush_audit::run_command(&args, &files, cli.json),
        CliCommand::Restore(args) => restore::run_command(&args, cli.json),
        CliCommand::Report(args) => report::run_command(&args, &files, cli.json),
        CliCommand::Explore => explore::run_command(cli.json),
        CliCommand::Export(args) => export::run_command(&args, &files, cli.json),
        CliCommand::Bench(args) => bench::run_command(&args, &files, cli.json),
        CliCommand::Completions(args) => complete::print_completions(&args),
        CliCommand::Man(args) => complete::write_manual(&args),
    }
}

/// Whether the command takes `--max-memory`.
fn takes_memory_bound(command: &CliCommand) -> bool {
    use CliCommand::{Claims, Compare, Exec, Explain, PowerCut, Run, Serve, Study};
    matches!(command, Run(_) | Compare(_) | Study(_) | Claims(_) | Explain(_) | PowerCut(_) | Serve(_) | Exec(_))
}

/// Prints warnings, each once, to standard error.
fn print_warnings<W: ToString>(warnings: impl IntoIterator<Item = W>) {
    let mut printed = std::collections::BTreeSet::new();
    for warning in warnings {
        let text = warning.to_string();
        if printed.insert(text.clone()) {
            print_to_stderr(crate::screen::wrap_for_stderr(&format!("warning: {text}")));
        }
    }
}

/// Prints a value as JSON to standard output, an object with the version of its schema (docs/output.md).
fn print_json(value: &impl serde::Serialize) -> Result<(), CommandError> {
    write_line(&answer::json(value))
}

/// Prints text to standard output, without control characters.
fn print_text(text: &str) -> Result<(), CommandError> {
    write_line(&to_printable(text.trim_end()))
}

/// Writes a line to standard output. A closed pipe is no error: its reader wanted no more, and the command ends with its own
/// exit code.
fn write_line(text: &str) -> Result<(), CommandError> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
