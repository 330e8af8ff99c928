//! The command line: arguments in, tables or JSON and an exit code out. The only place with a terminal
//! and exit codes; what is computed, other crates compute.

mod args;
mod cmd;
mod exit;
mod interrupt;
mod output;
mod pictures;
mod progress;
mod screen;
mod tables;
mod talk;

fn main() -> std::process::ExitCode {
    cmd::complete::answer();
    interrupt::heed();
    talk::begin();
    match args::parse() {
        Ok(cli) => exit::code(cmd::dispatch(cli)),
        Err(error) => exit::of_arguments(&error),
    }
}
