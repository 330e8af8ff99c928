//! The program `seekwise`; its code is in this crate's library.

fn main() -> std::process::ExitCode {
    seekwise_cli::program(&std::env::args_os().collect::<Vec<_>>()).into()
}
