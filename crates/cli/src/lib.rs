//! The command line: arguments in, tables or JSON and an exit code out. The only place with a terminal and exit codes;
//! other crates compute. A library for one reason: the Python package brings the program along, in the same file as its
//! module.
//!
//! | room | what it is |
//! |---|---|
//! | `screen` | the terminal's width |
//! | `args` | one declaration of each command gives parsing and help |
//! | `output` | text for a terminal |
//! | `exit` | exit codes |
//! | `interrupt` | Ctrl-C, SIGTERM and SIGHUP |
//! | `progress` | one line of progress |
//! | `tables` | tables of all commands |
//! | `cmd` | the commands, one file each |
//! | `pictures` | pictures that a command is asked for |
//! | `talk` | the library's notes and warnings |

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

use seekwise::outputs::guard_files;

/// Runs the program; `words` are its name and its arguments. Returns its exit code.
pub fn program(words: &[OsString]) -> u8 {
    if !cmd::complete::answer_shell(words) {
        return exit::FAILED;
    }
    interrupt::heed();
    talk::install_logger();
    match args::parse_command_line(words) {
        Ok(cli) => exit::exit_code(guard_files(|| cmd::dispatch(cli, words))),
        Err(error) => exit::argument_error_code(error, words),
    }
}
