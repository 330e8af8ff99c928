//! Runs programs of the user's, commands of a shell, and tools of the system to their end, and keeps the last of their
//! output.
//!
//! A program is ended together with all processes that it began (`ProcessGroup`). One that escaped may hold a pipe for
//! ever, so each wait for a pipe has a limit. The kept output is bounded, for a program may print without end.

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
    /// Names and values, besides the `INHERITED` part of our own environment.
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
    /// Thirty seconds, also while all is to stop: for releasing devices and mounts, and for short questions to the
    /// system.
    pub(crate) fn thirty_seconds() -> ProgramBounds<'static> {
        ProgramBounds { limit: Duration::from_secs(30), stop: None }
    }
}

/// The variables of our own environment that programs inherit, besides all that begin with `LC_`.
pub(crate) const INHERITED: [&str; 10] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ", "TMPDIR"];

/// Interval of the checks whether a program is to stop.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Limit of the wait for a pipe after the program has ended.
const PIPE_LIMIT: Duration = Duration::from_secs(5);

/// Bytes of a program's output that are kept: the last ones.
const KEPT_BYTES: usize = 64 << 10;

/// Limits of the promises that a workload prints, a line each: bytes of a line, lines, bytes in all.
const MAX_LINE_BYTES: u64 = 64 << 10;
const MAX_LINES: usize = 1_000_000;
const MAX_BYTES: usize = 64 << 20;

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

/// Builds the command of a shell. It inherits only the variables that every program does.
pub(super) fn shell_command(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).stdin(Stdio::null()).env_clear();
    let is_inherited = |name: &str| INHERITED.contains(&name) || name.starts_with("LC_");
    command.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_inherited)));
    command
}

impl ShellProgram<'_> {
    /// Starts the shell as the leader of a process group of its own. The command runs in a second shell below: a
    /// program that kills its parent does not kill us.
    fn start(&self, group: &ProcessGroup, output: Stdio, errors: Stdio) -> io::Result<Child> {
        // The outer shell would print a message about a child that a signal ended, which repeats its exit code. So only
        // the inner shell's errors are kept.
        let inner_shell = "exec 3>&2 2>/dev/null; sh -c \"$1\" 2>&3 3>&-; exit $?";
        let mut command = match group.group_join_file() {
            Some(_) => shell_command(&format!("echo $$ > \"$0\" || exit 126; {inner_shell}")),
            None => shell_command(inner_shell),
        };
        command
            .arg(group.group_join_file().unwrap_or_default())
            .arg(self.command)
            .stdout(output)
            .stderr(errors)
            .process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let (name, mark) = group.environment_mark();
        command.env(name, mark);
        command.spawn().map_err(|error| io::Error::new(error.kind(), format!("sh: {error}")))
    }

    /// Runs the program to its end and returns its output.
    pub fn run(&self) -> io::Result<ProgramExit> {
        self.run_in_group(&ProcessGroup::new(self.groups))
    }

    fn run_in_group(&self, group: &ProcessGroup) -> io::Result<ProgramExit> {
        let (reads, writes) = io::pipe()?;
        let child = self.start(group, writes.try_clone()?.into(), writes.into())?;
        let tail = PipeTail::spawn_reader(reads);
        let how = self.wait_and_end_group(child, group, &AtomicBool::new(false))?;
        Ok(ProgramExit { how, printed: tail.wait_for_text() })
    }

    /// Runs the program to its end and calls `on_line` with each line as soon as it is printed; `errors` takes its
    /// errors. Exceeding the limits of promises is an error.
    pub(crate) fn run_reading_lines(
        &self,
        errors: Stdio,
        on_line: impl FnMut(&str) + Send + 'static,
    ) -> io::Result<ExitCause> {
        let (reads, writes) = io::pipe()?;
        let group = ProcessGroup::new(self.groups);
        let child = self.start(&group, writes.into(), errors)?;
        // Taken out when the program has ended, so that `on_line` is not called any more.
        let (on_line, exceeds_limits) = (Arc::new(Mutex::new(Some(on_line))), Arc::new(AtomicBool::new(false)));
        let (reader_on_line, reader_exceeds) = (Arc::clone(&on_line), Arc::clone(&exceeds_limits));
        let (reader_result, reader_ended) = channel();
        thread::spawn(move || {
            let result = for_each_promise_line(reads, |line| {
                let mut on_line = reader_on_line.lock().unwrap_or_else(PoisonError::into_inner);
                on_line.as_mut().map(|on_line| on_line(line)).is_some()
            });
            reader_exceeds.store(result.is_err(), Ordering::Relaxed);
            let _ = reader_result.send(result);
        });
        let how = self.wait_and_end_group(child, &group, &exceeds_limits);
        let read = reader_ended.recv_timeout(PIPE_LIMIT);
        on_line.lock().unwrap_or_else(PoisonError::into_inner).take();
        read.unwrap_or(Ok(()))?;
        how
    }

    /// Waits for the program's end, then ends what is left of its group.
    fn wait_and_end_group(&self, child: Child, group: &ProcessGroup, stop_early: &AtomicBool) -> io::Result<ExitCause> {
        let leader = Pid::from_child(&child);
        let (status, ended) = wait_for_exit(child, self.bounds, stop_early);
        group.kill_and_wait(leader)?;
        // The group has ended, so a program that was ended early sends its status too.
        match status {
            Err(how) => ended.recv_timeout(PIPE_LIMIT).map_or(Ok(how), |status| status.map(|_| how)),
            Ok(status) => Ok(ExitCause::from_status(status?)),
        }
    }
}

/// Calls `on_line` with each line of promises, until it returns false; an error beyond their limits.
fn for_each_promise_line(pipe: impl Read, mut on_line: impl FnMut(&str) -> bool) -> io::Result<()> {
    let (mut reader, mut count, mut bytes) = (io::BufReader::new(pipe), 0, 0);
    loop {
        let mut line = Vec::new();
        reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        (count, bytes) = (count + 1, bytes + line.len());
        if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
            return Err(io::Error::other(format!(
                "printed a line of more than {} KiB; expected promises, a line each",
                MAX_LINE_BYTES >> 10
            )));
        }
        if count > MAX_LINES || bytes > MAX_BYTES {
            let most = format!("{MAX_LINES} lines, or {} MiB", MAX_BYTES >> 20);
            return Err(io::Error::other(format!("printed more than {most}; expected promises, a line each")));
        }
        let line = String::from_utf8_lossy(&line);
        if !on_line(line.trim_end_matches(['\n', '\r'])) {
            return Ok(());
        }
    }
}

/// The last bytes of a pipe, which a thread reads.
pub(super) struct PipeTail {
    last_bytes: Arc<Mutex<Vec<u8>>>,
    ended: Receiver<()>,
}

impl PipeTail {
    /// Starts a thread that reads until nobody has the pipe's other end.
    pub(super) fn spawn_reader(mut pipe: impl Read + Send + 'static) -> PipeTail {
        let (last_bytes, (end, ended)) = (Arc::new(Mutex::new(Vec::new())), channel());
        let kept = Arc::clone(&last_bytes);
        thread::spawn(move || {
            let mut piece = vec![0; KEPT_BYTES];
            while let Ok(read @ 1..) = pipe.read(&mut piece) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&piece[..read]);
                let excess = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..excess);
            }
            let _ = end.send(());
        });
        PipeTail { last_bytes, ended }
    }

    /// Waits until the pipe's writers have ended, within a limit, and returns the bytes that have come.
    pub(super) fn wait_for_text(self) -> String {
        let _ = self.ended.recv_timeout(PIPE_LIMIT);
        String::from_utf8_lossy(&self.last_bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

type ChildStatus = io::Result<ExitStatus>;

/// Waits for a process to end. Returns its status, or why it is to be ended, and the channel on which its status comes
/// then. `stop_early` stops the wait, too.
fn wait_for_exit(
    mut child: Child,
    bounds: ProgramBounds<'_>,
    stop_early: &AtomicBool,
) -> (Result<ChildStatus, ExitCause>, Receiver<ChildStatus>) {
    let (status_sender, ended) = channel();
    thread::spawn(move || drop(status_sender.send(child.wait())));
    let mut left = bounds.limit;
    loop {
        if bounds.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) || stop_early.load(Ordering::Relaxed) {
            return (Err(ExitCause::Stopped), ended);
        }
        if left.is_zero() {
            return (Err(ExitCause::Late(bounds.limit)), ended);
        }
        let slice = left.min(STOP_CHECK_INTERVAL);
        match ended.recv_timeout(slice) {
            Ok(status) => return (Ok(status), ended),
            Err(RecvTimeoutError::Disconnected) => return (Ok(Err(io::Error::other("nobody waits for it"))), ended),
            Err(RecvTimeoutError::Timeout) => left -= slice,
        }
    }
}

/// The end of a tool, and the last of its output and of its errors.
pub(super) struct ToolExit {
    pub how: ExitCause,
    pub output: String,
    pub errors: String,
}

/// Runs a tool of the system within bounds. A tool that does not end even when it is killed, because it waits for a
/// disk, is left behind.
pub(super) fn run_tool(command: &mut Command, bounds: ProgramBounds<'_>) -> io::Result<ToolExit> {
    // A group of its own: its children are ended with it, and a terminal's Ctrl-C reaches us alone.
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let process = Pid::from_child(&child);
    let (output, errors) =
        (child.stdout.take().map(PipeTail::spawn_reader), child.stderr.take().map(PipeTail::spawn_reader));
    let how = match wait_for_exit(child, bounds, &AtomicBool::new(false)) {
        (Ok(status), _) => ExitCause::from_status(status?),
        (Err(how), ended) => {
            let _ = kill_process_group(process, Signal::KILL);
            let _ = ended.recv_timeout(PIPE_LIMIT);
            how
        }
    };
    let wait_for = |tail: Option<PipeTail>| tail.map(PipeTail::wait_for_text).unwrap_or_default();
    Ok(ToolExit { how, output: wait_for(output), errors: wait_for(errors) })
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
        assert!(
            told.run_reading_lines(Stdio::inherit(), move |line| tells.send(line.to_owned()).unwrap())
                .unwrap()
                .is_success()
        );
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

    /// The programs would outlive their parent. Each sleeps for a time of its own, by which the test finds it. All keep the
    /// pipe open, so that the call would not return before they end.
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
                let ended =
                    program(&way.replace("TIME", &time), LONG).run_in_group(&ProcessGroup::new(parent)).unwrap();
                assert_eq!(ended.how, ExitCause::Exited(3), "{name}, held by {held}");
                let living = program(&format!("pgrep -f '[s]leep {time}'"), LONG).run().unwrap();
                assert_eq!(living.how, ExitCause::Exited(1), "{name}, held by {held}: {}", living.printed);
            }
        }
    }

    #[test]
    fn only_named_variables_are_handed_on() {
        let ended = program("env", LONG).run().unwrap();
        let known = |name: &str| INHERITED.contains(&name) || name.starts_with("LC_");
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
        assert!(ended.printed.len() <= KEPT_BYTES && ended.printed.ends_with("last\n"), "{}", ended.printed.len());
        let said =
            |command| program(command, LONG).run_reading_lines(Stdio::inherit(), |_| ()).unwrap_err().to_string();
        assert!(said("yes '' | tr '\\n' x").contains("a line of more than 64 KiB"));
        assert!(said("yes").contains("more than 1000000 lines"));
    }

    #[test]
    fn promises_may_fill_each_of_their_limits() {
        let line = [vec![b'x'; MAX_LINE_BYTES as usize - 1], vec![b'\n']].concat();
        // A byte more in front of it is one too many: of a line, of all, or a line of its own.
        for (more, text) in
            [("x", line.clone()), ("\n", line.repeat(MAX_BYTES / line.len())), ("\n", vec![b'\n'; MAX_LINES])]
        {
            let is_accepted = |text: &[u8]| for_each_promise_line(text, |_| true).is_ok();
            let bytes = text.len();
            assert_eq!((is_accepted(&text), is_accepted(&[more.as_bytes(), &text].concat())), (true, false), "{bytes}");
        }
    }
}
