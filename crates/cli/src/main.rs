//! The command line: arguments in, tables or JSON and an exit code out. The only place with a terminal, files to write
//! and exit codes; what is computed, other crates compute.

mod args;
mod bounds;
mod cmd;
mod exit;
mod files;
mod fio_output;
mod log;
mod output;
mod planned;
mod prose;
mod results;
mod tables;
mod target;

use clap::Parser;

fn main() -> std::process::ExitCode {
    cmd::complete::answer();
    let cli = args::Cli::parse();
    exit::code(cmd::dispatch(cli))
}
