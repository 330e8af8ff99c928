//! A command that runs while a disk is served: signals are passed on to it, and its exit code is that of a shell.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A running command, and its end.
#[derive(Debug)]
pub struct BesideCommand {
    /// Process id; `None` once reaped, for the system may then reuse it.
    process: Arc<Mutex<Option<u32>>>,
    exit_code: Receiver<u8>,
}

impl BesideCommand {
    /// Starts the command; `on_end` is called after its end.
    pub fn start(command: &mut Command, on_end: impl FnOnce() + Send + 'static) -> io::Result<BesideCommand> {
        let mut child = command.spawn()?;
        let process = Arc::new(Mutex::new(Some(child.id())));
        let reaped = Arc::clone(&process);
        let (sender, exit_code) = channel();
        thread::spawn(move || {
            // Two stages: first wait without reaping, so that signals can be sent meanwhile; then reap under the lock,
            // so that none is sent to another process that was given the id.
            wait_without_reaping(&mut child);
            let status = {
                let mut process = reaped.lock().unwrap_or_else(PoisonError::into_inner);
                *process = None;
                child.wait()
            };
            let _ = sender.send(status.map_or(u8::MAX, shell_exit_code));
            on_end();
        });
        Ok(BesideCommand { process, exit_code })
    }

    /// Returns a function for any thread that passes a signal on to the command; false if it has ended.
    pub fn signal_sender(&self) -> impl Fn(i32) -> bool + Send + use<> {
        let process = Arc::clone(&self.process);
        move |signal| {
            let process = process.lock().unwrap_or_else(PoisonError::into_inner);
            process.is_some_and(|process| send_signal(process, signal))
        }
    }

    /// Returns a function that reads its process id; `None` once it has ended.
    pub fn process_reader(&self) -> impl Fn() -> Option<u32> + Clone + Send + use<> {
        let process = Arc::clone(&self.process);
        move || *process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the exit code, once: `None` before the command has ended, and after the code was returned. After death
    /// by a signal it is 128 and the signal's number.
    pub fn try_exit_code(&self) -> Option<u8> {
        self.exit_code.try_recv().ok()
    }
}

/// Converts a status to a shell's exit code.
fn shell_exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    // Codes of other systems are wider than a byte: none of them may become 0.
    status.code().or(signal).map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX))
}

/// Waits until the child has ended, without reaping it.
#[cfg(unix)]
fn wait_without_reaping(child: &mut Child) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let process = Pid::from_child(child);
    let ended = || waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    while ended().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

/// Waits until the child has ended. It keeps its status, which the next wait returns.
#[cfg(not(unix))]
fn wait_without_reaping(child: &mut Child) {
    let _ = child.wait();
}

#[cfg(unix)]
fn send_signal(process: u32, signal: i32) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.zip(Signal::from_named_raw(signal)).is_some_and(|(process, signal)| kill_process(process, signal).is_ok())
}

#[cfg(not(unix))]
fn send_signal(_: u32, _: i32) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(script: &str, signal: Option<i32>) -> u8 {
        let (sender, receiver) = channel();
        let started = BesideCommand::start(Command::new("sh").args(["-c", script]), move || sender.send(()).unwrap());
        let command = started.unwrap();
        if let Some(signal) = signal {
            assert_eq!(command.try_exit_code(), None);
            assert!(command.signal_sender()(signal));
        }
        receiver.recv().unwrap();
        assert!(!command.signal_sender()(15), "nobody is there any more");
        command.try_exit_code().unwrap()
    }

    #[test]
    fn its_end_is_told_as_a_shell_tells_it() {
        assert_eq!((ended("exit 0", None), ended("exit 3", None), ended("exit 255", None)), (0, 3, 255));
        assert_eq!((ended("kill -9 $$", None), ended("kill -SEGV $$", None)), (137, 139));
    }

    #[test]
    fn signals_are_handed_on() {
        assert_eq!((ended("exec sleep 60", Some(15)), ended("exec sleep 60", Some(1))), (143, 129));
    }
}
