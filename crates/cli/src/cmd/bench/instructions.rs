//! Counts the instructions that simulating a request costs: this program runs twice under `perf` or `valgrind`, with few requests
//! and with more, and the difference leaves out the cost of starting. On a shared machine counts are steadier than times.

use std::process::{Command, Output, Stdio};

use crate::exit::CommandError;

/// Requests of the two runs. If the cost of a request varies by a tenth, the mean over ten thousand requests is known to a
/// thousandth.
const REQUESTS: [u64; 2] = [1_000, 11_000];

/// A counter of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionCounter {
    /// The processor's own counter, by Linux.
    Perf,
    /// A simulated processor, some fifty times slower.
    Valgrind,
}

impl InstructionCounter {
    /// The first counter that works here; virtual machines often hide the processor's.
    pub fn first_working() -> Option<InstructionCounter> {
        [InstructionCounter::Perf, InstructionCounter::Valgrind].into_iter().find(|counter| {
            let nothing = [std::ffi::OsStr::new("true")];
            counter.run_under_counter(&nothing).ok().is_some_and(|output| counter.parse_count(&output).is_some())
        })
    }

    pub const fn name(self) -> &'static str {
        match self {
            InstructionCounter::Perf => "perf",
            InstructionCounter::Valgrind => "valgrind",
        }
    }

    fn run_under_counter(self, command: &[impl AsRef<std::ffi::OsStr>]) -> std::io::Result<Output> {
        let counter_options: &[&str] = match self {
            InstructionCounter::Perf => &["stat", "-x,", "-e", "instructions:u", "--"],
            InstructionCounter::Valgrind => &["--tool=callgrind", "--callgrind-out-file=/dev/null"],
        };
        Command::new(self.name()).args(counter_options).args(command).env("LC_ALL", "C").stdin(Stdio::null()).output()
    }

    /// The count that it printed to standard error.
    fn parse_count(self, output: &Output) -> Option<u64> {
        let stderr = String::from_utf8_lossy(&output.stderr);
        output.status.success().then_some(())?;
        match self {
            InstructionCounter::Perf => {
                let line = stderr.lines().find(|line| line.contains(",instructions:u,"))?;
                line.split(',').next()?.parse().ok()
            }
            InstructionCounter::Valgrind => {
                let (_, rest) = stderr.split_once("Collected :")?;
                rest.split_whitespace().next()?.parse().ok()
            }
        }
    }

    /// Instructions per request of a workload on `drive`.
    pub fn instructions_per_request(self, workload: &str, drive: &str) -> Result<f64, CommandError> {
        let program = std::env::current_exe().map_err(CommandError::new)?;
        let count_with = |requests: u64| {
            let requests = requests.to_string();
            let words = ["bench", "--json", "--only", workload, "--drive", drive, "--requests", &requests];
            let command: Vec<&std::ffi::OsStr> =
                std::iter::once(program.as_os_str()).chain(words.iter().map(std::ffi::OsStr::new)).collect();
            let output = self.run_under_counter(&command).map_err(CommandError::new)?;
            let why = || format!("{} counted nothing of `{workload}`", self.name());
            self.parse_count(&output).ok_or_else(|| CommandError::new(why()))
        };
        let [few, more] = [count_with(REQUESTS[0])?, count_with(REQUESTS[1])?];
        Ok((more as f64 - few as f64) / (REQUESTS[1] - REQUESTS[0]) as f64)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn output_with_stderr(text: &str) -> Output {
        Output { status: ExitStatus::from_raw(0), stdout: Vec::new(), stderr: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_output_of_a_counter_is_parsed() {
        let perf = output_with_stderr("1234567,,instructions:u,800000,100.00,,\n");
        assert_eq!(InstructionCounter::Perf.parse_count(&perf), Some(1_234_567));
        assert_eq!(
            InstructionCounter::Perf.parse_count(&output_with_stderr("<not supported>,,instructions:u,0,100.00,,\n")),
            None
        );
        let valgrind = output_with_stderr("==1== Events    : Ir\n==1== Collected : 5489533\n==1== \n");
        assert_eq!(InstructionCounter::Valgrind.parse_count(&valgrind), Some(5_489_533));
        let failed = Output { status: ExitStatus::from_raw(256), ..valgrind };
        assert_eq!(InstructionCounter::Valgrind.parse_count(&failed), None);
    }
}
