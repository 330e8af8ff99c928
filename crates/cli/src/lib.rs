//! The program `seekwise`: takes arguments, prints tables or JSON, and returns an exit code. The library `seekwise` does the work;
//! terminal and exit codes are here only. This is a library, so that the Python module can contain the program.
//!
//! | room | what it is |
//! |---|---|
//! | `screen` | the terminal's width |
//! | `args` | the arguments of each command, with their help |
//! | `output` | text without control characters, and standard error |
//! | `exit` | exit codes, error messages and tips |
//! | `interrupt` | Ctrl-C, SIGTERM and SIGHUP |
//! | `progress` | one line of progress |
//! | `tables` | tables of all commands |
//! | `pages` | the file of `--page` |
//! | `cmd` | the commands, one file each |
//! | `pictures` | the files of `--svg` and `--png` |
//! | `logger` | the library's notes and warnings |
//!
//! ```
//! let words = |line: &str| line.split(' ').map(Into::into).collect::<Vec<_>>();
//! assert_eq!(seekwise_cli::program(&words("seekwise run random-read --on exos-x18 --runtime 1s")), 0);
//! // An unknown drive is an error of the user's.
//! assert_eq!(seekwise_cli::program(&words("seekwise run random-read --on exos-x19")), 2);
//! ```

mod args;
mod cmd;
mod exit;
mod interrupt;
mod logger;
mod output;
mod pages;
mod pictures;
mod progress;
mod screen;
mod tables;

use std::ffi::OsString;

use seekwise::outputs::guard_files;

/// Runs the program; `words` are its name and its arguments. Returns the exit code.
pub fn program(words: &[OsString]) -> u8 {
    if !cmd::complete::answer_completion_request(words) {
        return exit::FAILED;
    }
    interrupt::handle_signals();
    logger::install_logger();
    match args::parse_command_line(words) {
        Ok(cli) => exit::exit_code(guard_files(|| cmd::dispatch(cli, words))),
        Err(error) => exit::argument_error_code(error, words),
    }
}
