//! The command line: arguments in, tables or JSON and an exit code out. The only place with a terminal
//! and exit codes; what is computed, other crates compute. It is a library for one reason: the Python package brings the
//! program along, in the same file as its module.

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

use std::ffi::OsString;

/// The program: `words` are its name and its arguments. Answers its exit code.
pub fn program(words: &[OsString]) -> u8 {
    if !cmd::complete::answer(words) {
        return exit::FAILED;
    }
    interrupt::heed();
    talk::begin();
    match args::parse(words) {
        Ok(cli) => exit::code(cmd::dispatch(cli, words)),
        Err(error) => exit::of_arguments(&error, words),
    }
}
