//! Programs of the user's: a command of a shell, its environment, its output, and its end.
//!
//! A program is ended with all that it began (`ProcessGroup`). A pipe that somebody else still holds is closed at this end: nobody waits
//! for a pipe here. Output is bounded, for a program may print without end.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use super::group::{GroupParent, ProcessGroup};

/// A command of a shell and its environment.
#[derive(Clone, Debug)]
pub struct ShellProgram<'a> {
    /// For `sh -c`.
    pub command: &'a str,
    /// Names and values, besides the `HANDED_ON` part of our own environment.
    pub environment: Vec<(String, String)>,
    /// The parent of its control group.
    pub groups: &'a GroupParent,
    /// When it is ended early, with all that it began.
    pub bounds: ProgramBounds<'a>,
}

/// When a program is ended before it ends by itself.
#[derive(Clone, Copy, Debug)]
pub struct ProgramBounds<'a> {
    /// If it takes longer, on the clock.
    pub limit: Duration,
    /// If this becomes true; `None` if only the limit ends it.
    pub stop: Option<&'a AtomicBool>,
}

impl ProgramBounds<'_> {
    /// Thirty seconds, whatever else is to stop: for releasing what was taken, and for short questions to the system.
    pub(crate) fn thirty_seconds() -> ProgramBounds<'static> {
        ProgramBounds { limit: Duration::from_secs(30), stop: None }
    }
}

/// The variables of our own environment that programs inherit, besides all that begin with `LC_`.
pub(crate) const HANDED_ON: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR"];

/// Interval of the checks whether a program is to stop.
const SLICE: Duration = Duration::from_millis(50);

/// How long the last output may take through a pipe that nobody writes to any more.
const LAST: Duration = Duration::from_secs(5);

/// Bytes of a program's output that are kept, the last ones.
const KEPT: usize = 64 << 10;

/// Limits of promises: bytes of a line, lines, bytes in all.
const LINE: u64 = 64 << 10;
const LINES: usize = 1_000_000;
const BYTES: usize = 64 << 20;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCause {
    /// With this exit code.
    Exited(i32),
    /// By this signal. A shell reports that of its child as an exit code of 128 and the signal's number.
    Died(i32),
    /// Ended because it exceeded its limit.
    Late(Duration),
    /// Ended because all was to stop.
    Stopped,
}

impl ExitCause {
    fn from_status(status: ExitStatus) -> ExitCause {
        let signal =
            status.signal().or_else(|| status.code().map(|code| code - 128).filter(|it| (1..=64).contains(it)));
        match (signal, status.code()) {
            (Some(signal), _) => ExitCause::Died(signal),
            (None, code) => ExitCause::Exited(code.unwrap_or(-1)),
        }
    }

    /// True for exit code 0.
    pub fn is_success(self) -> bool {
        self == ExitCause::Exited(0)
    }
}

impl fmt::Display for ExitCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitCause::Exited(code) => write!(f, "ended with exit code {code}"),
            ExitCause::Died(signal) => {
                // As the standard library names it: `signal: 11 (SIGSEGV)`.
                let words = ExitStatus::from_raw(*signal).to_string();
                let name = words.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(name, _)| name);
                match name {
                    Some(name) if !name.is_empty() => write!(f, "died of {name}"),
                    _ => write!(f, "died of signal {signal}"),
                }
            }
            ExitCause::Late(limit) => write!(f, "had not ended after {} s of the clock", limit.as_secs_f64()),
            ExitCause::Stopped => write!(f, "was stopped"),
        }
    }
}

/// The end of a program, and its output.
#[derive(Clone, Debug)]
pub struct ProgramExit {
    pub how: ExitCause,
    /// The last of its output and errors, interleaved as they came.
    pub printed: String,
}

/// Builds the command of a shell that inherits only the variables every program does.
pub(super) fn shell_command(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null()).env_clear();
    let handed = |name: &str| HANDED_ON.contains(&name) || name.starts_with("LC_");
    command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(handed)));
    command
}

impl ShellProgram<'_> {
    /// Starts the process, the leader of a group of its own. The command is a child of its shell: ending its parent does not end us.
    fn start(&self, group: &ProcessGroup, out: Stdio, errors: Stdio) -> io::Result<Child> {
        // The outer shell's message about a child that a signal ended repeats its exit code: only the child's own errors are heard.
        let below = "exec 3>&2 2>/dev/null; sh -c \"$1\" 2>&3 3>&-; exit $?";
        let mut command = match group.join_file() {
            Some(_) => shell_command(&format!("echo $$ > \"$0\" || exit 126; {below}")),
            None => shell_command(below),
        };
        command
            .arg(group.join_file().unwrap_or_default())
            .arg(self.command)
            .stdout(out)
            .stderr(errors)
            .process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let (name, mark) = group.environment_mark();
        command.env(name, mark);
        command.spawn().map_err(|error| io::Error::new(error.kind(), format!("sh: {error}")))
    }

    /// Runs it to its end and returns its output.
    pub fn run(&self) -> io::Result<ProgramExit> {
        self.run_in(&ProcessGroup::new(self.groups))
    }

    fn run_in(&self, group: &ProcessGroup) -> io::Result<ProgramExit> {
        let (reads, writes) = io::pipe()?;
        let child = self.start(group, writes.try_clone()?.into(), writes.into())?;
        let heard = PipeTail::spawn_reader(reads);
        let how = self.wait_and_end(child, group, &AtomicBool::new(false))?;
        Ok(ProgramExit { how, printed: heard.wait_for_text() })
    }

    /// Runs it to its end; calls `line` with each line as soon as it is printed. Its errors go where ours do. Exceeding the limits of
    /// promises is an error.
    pub(crate) fn run_with_lines(&self, line: impl FnMut(&str) + Send + 'static) -> io::Result<ExitCause> {
        let (reads, writes) = io::pipe()?;
        let group = ProcessGroup::new(self.groups);
        let child = self.start(&group, writes.into(), Stdio::inherit())?;
        // After its end `line` is not called any more.
        let (line, too_much) = (Arc::new(Mutex::new(Some(line))), Arc::new(AtomicBool::new(false)));
        let (telling, stops) = (Arc::clone(&line), Arc::clone(&too_much));
        let (tells, ended) = channel();
        thread::spawn(move || {
            let said = for_each_line(reads, |said| {
                telling.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(|line| line(said)).is_some()
            });
            stops.store(said.is_err(), Ordering::Relaxed);
            let _ = tells.send(said);
        });
        let how = self.wait_and_end(child, &group, &too_much);
        let said = ended.recv_timeout(LAST);
        line.lock().unwrap_or_else(PoisonError::into_inner).take();
        said.unwrap_or(Ok(()))?;
        how
    }

    /// Waits for its end, then ends what is left of it.
    fn wait_and_end(&self, child: Child, group: &ProcessGroup, enough: &AtomicBool) -> io::Result<ExitCause> {
        let leader = Pid::from_child(&child);
        let (status, ended) = wait_for_exit(child, self.bounds, enough);
        group.end_processes(leader)?;
        // The process has ended; its waiter has the status.
        match status {
            Err(how) => ended.recv_timeout(LAST).map_or(Ok(how), |status| status.map(|_| how)),
            Ok(status) => Ok(ExitCause::from_status(status?)),
        }
    }
}

/// Calls `line` with each line, until it answers false; an error beyond the limits of promises.
fn for_each_line(reads: impl Read, mut line: impl FnMut(&str) -> bool) -> io::Result<()> {
    let (mut reads, mut count, mut bytes) = (io::BufReader::new(reads), 0, 0);
    loop {
        let mut said = Vec::new();
        reads.by_ref().take(LINE).read_until(b'\n', &mut said)?;
        if said.is_empty() {
            return Ok(());
        }
        (count, bytes) = (count + 1, bytes + said.len());
        if said.len() as u64 == LINE && !said.ends_with(b"\n") {
            return Err(io::Error::other(format!(
                "printed a line of more than {} KiB; expected promises, a line each",
                LINE >> 10
            )));
        }
        if count > LINES || bytes > BYTES {
            let most = format!("{LINES} lines, or {} MiB", BYTES >> 20);
            return Err(io::Error::other(format!("printed more than {most}; expected promises, a line each")));
        }
        let said = String::from_utf8_lossy(&said);
        if !line(said.trim_end_matches(['\n', '\r'])) {
            return Ok(());
        }
    }
}

/// The last bytes of a pipe.
pub(super) struct PipeTail {
    last: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl PipeTail {
    /// Reads, on a thread, until nobody has the pipe's other end.
    pub(super) fn spawn_reader(mut reads: impl Read + Send + 'static) -> PipeTail {
        let (last, (tells, ended)) = (Arc::new(Mutex::new(Vec::new())), channel());
        let hearing = Arc::clone(&last);
        thread::spawn(move || {
            let mut piece = vec![0; KEPT];
            while let Ok(read @ 1..) = reads.read(&mut piece) {
                let mut last = hearing.lock().unwrap_or_else(PoisonError::into_inner);
                last.extend_from_slice(&piece[..read]);
                let over = last.len().saturating_sub(KEPT);
                last.drain(..over);
            }
            let _ = tells.send(());
        });
        PipeTail { last, ended }
    }

    /// Returns the bytes that have come, once its writers have ended.
    pub(super) fn wait_for_text(self) -> String {
        let _ = self.ended.recv_timeout(LAST);
        String::from_utf8_lossy(&self.last.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

type Status = io::Result<ExitStatus>;

/// Waits for a process: its status, or why it is to be ended, and the channel of its status then. `enough` stops the wait, too.
fn wait_for_exit(
    mut child: Child,
    bounds: ProgramBounds<'_>,
    enough: &AtomicBool,
) -> (Result<Status, ExitCause>, Receiver<Status>) {
    let (tells, ended) = channel();
    thread::spawn(move || drop(tells.send(child.wait())));
    let mut left = bounds.limit;
    loop {
        if bounds.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) || enough.load(Ordering::Relaxed) {
            return (Err(ExitCause::Stopped), ended);
        }
        if left.is_zero() {
            return (Err(ExitCause::Late(bounds.limit)), ended);
        }
        let slice = left.min(SLICE);
        match ended.recv_timeout(slice) {
            Ok(status) => return (Ok(status), ended),
            Err(RecvTimeoutError::Disconnected) => return (Ok(Err(io::Error::other("nobody waits for it"))), ended),
            Err(RecvTimeoutError::Timeout) => left -= slice,
        }
    }
}

/// Runs a tool of the system within bounds: how it ended, its output, its errors. A tool that does not end even when it is killed,
/// because it waits for a disk, is left behind.
pub(super) fn run_tool(command: &mut Command, bounds: ProgramBounds<'_>) -> io::Result<(ExitCause, String, String)> {
    // A group of its own: its children are ended with it, and a terminal's Ctrl-C reaches us alone.
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let (out, errors) =
        (child.stdout.take().map(PipeTail::spawn_reader), child.stderr.take().map(PipeTail::spawn_reader));
    let how = match wait_for_exit(child, bounds, &AtomicBool::new(false)) {
        (Ok(status), _) => ExitCause::from_status(status?),
        (Err(how), ended) => {
            let _ = kill_process_group(process, Signal::KILL);
            let _ = ended.recv_timeout(LAST);
            how
        }
    };
    let all = |heard: Option<PipeTail>| heard.map(PipeTail::wait_for_text).unwrap_or_default();
    Ok((how, all(out), all(errors)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    static GROUPS: LazyLock<GroupParent> = LazyLock::new(GroupParent::find);

    fn program(command: &str, limit: Duration) -> ShellProgram<'_> {
        let environment = vec![("SEEKWISE_TEST".to_owned(), "here".to_owned())];
        ShellProgram { command, environment, groups: &GROUPS, bounds: ProgramBounds { limit, stop: None } }
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_program_tells_its_lines_and_its_end() {
        let ended = program("echo $SEEKWISE_TEST; echo wrong >&2; exit 11", LONG).run().unwrap();
        assert_eq!((ended.how, ended.printed.as_str()), (ExitCause::Exited(11), "here\nwrong\n"));
        let (tells, hears) = channel();
        let told = program("echo a; echo b; printf c", LONG);
        assert!(told.run_with_lines(move |line| tells.send(line.to_owned()).unwrap()).unwrap().is_success());
        assert_eq!(hears.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn one_that_never_ends_is_ended_with_what_it_began() {
        let short = Duration::from_millis(50);
        let ended = program("sleep 1000 & sleep 1000", short).run().unwrap();
        assert_eq!(ended.how, ExitCause::Late(short));
        let stop = AtomicBool::new(true);
        let stopped = ProgramBounds { limit: LONG, stop: Some(&stop) };
        let ended = ShellProgram { bounds: stopped, ..program("sleep 1000", stopped.limit) }.run().unwrap();
        assert_eq!(ended.how, ExitCause::Stopped);
    }

    /// Programs that would outlive whoever began them, each with a sleep of a length of its own to be known by. They keep the pipe, so that
    /// nothing would return before they end.
    #[test]
    fn what_a_program_leaves_is_ended_whatever_it_does_to_get_away() {
        let ways = [
            ("in the background", "sleep TIME & exit 3"),
            ("in a new session", "setsid sleep TIME & exit 3"),
            ("by two forks", "(setsid sh -c 'sleep TIME & exit' &); exit 3"),
            ("deaf", "setsid sh -c 'trap \"\" TERM HUP INT; sleep TIME' & exit 3"),
            ("stopped", "setsid sh -c 'kill -STOP $$; sleep TIME' & exit 3"),
        ];
        for (number, (name, way)) in ways.iter().enumerate() {
            for (held, parent) in [("the kernel", &*GROUPS), ("nobody", &GroupParent::default())] {
                let time = format!("98{number}.{}", std::process::id());
                let ended = program(&way.replace("TIME", &time), LONG).run_in(&ProcessGroup::new(parent)).unwrap();
                assert_eq!(ended.how, ExitCause::Exited(3), "{name}, held by {held}");
                let living = program(&format!("pgrep -f '[s]leep {time}'"), LONG).run().unwrap();
                assert_eq!(living.how, ExitCause::Exited(1), "{name}, held by {held}: {}", living.printed);
            }
        }
    }

    #[test]
    fn only_named_variables_are_handed_on() {
        let ended = program("env", LONG).run().unwrap();
        let known = |name: &str| HANDED_ON.contains(&name) || name.starts_with("LC_");
        // What a shell adds by itself.
        let own = ["SEEKWISE_TEST", "SEEKWISE_PROGRAM", "PWD", "OLDPWD", "SHLVL", "_"];
        let others: Vec<&str> = ended.printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        let others: Vec<&&str> = others.iter().filter(|name| !known(name) && !own.contains(name)).collect();
        // Cargo sets some dozen for each test.
        assert!(others.is_empty() && std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "{others:?}");
    }

    #[test]
    fn a_program_that_died_names_its_signal() {
        for (command, said) in [
            ("kill -SEGV $$", "died of SIGSEGV"),
            ("sh -c 'kill -ABRT $$'; exit $?", "died of SIGABRT"),
            ("kill -9 $PPID; sleep 60", "died of SIGKILL"),
            ("exit 3", "ended with exit code 3"),
            ("exit 255", "ended with exit code 255"),
        ] {
            assert_eq!(program(command, LONG).run().unwrap().how.to_string(), said, "{command}");
        }
    }

    #[test]
    fn what_is_printed_without_end_is_bounded() {
        let ended = program("yes | head -c 10000000; echo; echo last", LONG).run().unwrap();
        assert!(ended.printed.len() <= KEPT && ended.printed.ends_with("last\n"), "{}", ended.printed.len());
        let said = |command| program(command, LONG).run_with_lines(|_| ()).unwrap_err().to_string();
        assert!(said("yes '' | tr '\\n' x").contains("a line of more than 64 KiB"));
        assert!(said("yes").contains("more than 1000000 lines"));
    }

    #[test]
    fn promises_may_fill_each_of_their_limits() {
        let line = [vec![b'x'; LINE as usize - 1], vec![b'\n']].concat();
        // A byte more in front of it is one too many: of a line, of all, or a line of its own.
        for (more, text) in [("x", line.clone()), ("\n", line.repeat(BYTES / line.len())), ("\n", vec![b'\n'; LINES])] {
            let is_accepted = |text: &[u8]| for_each_line(text, |_| true).is_ok();
            let bytes = text.len();
            assert_eq!((is_accepted(&text), is_accepted(&[more.as_bytes(), &text].concat())), (true, false), "{bytes}");
        }
    }
}
