//! The command line: arguments in, tables or JSON and an exit code out. The only place with a terminal, files to write
//! and exit codes; what is computed, other crates compute.

mod args;
mod bounds;
mod cmd;
mod exit;
mod files;
mod fio_output;
mod interrupt;
mod iolog;
mod log;
mod output;
mod planned;
mod progress;
mod results;
mod screen;
mod tables;
mod target;

fn main() -> std::process::ExitCode {
    cmd::complete::answer();
    interrupt::heed();
    match args::asked() {
        Ok(cli) => exit::code(cmd::dispatch(cli)),
        Err(error) => exit::of_arguments(&error),
    }
}
