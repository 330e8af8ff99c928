//! The program. All of it is in the library beside it.

fn main() -> std::process::ExitCode {
    seekwise_cli::program(&std::env::args_os().collect::<Vec<_>>()).into()
}
