//! A command that runs beside a served disk: signals are passed on to it, and its exit code is that of a shell.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// A running command, and its end.
#[derive(Debug)]
pub struct BesideCommand {
    /// The process until it is waited for: no other process can have its number.
    living: Arc<Mutex<Option<u32>>>,
    code: Receiver<u8>,
}

impl BesideCommand {
    /// Starts it; `ended` is called after its end.
    pub fn start(command: &mut Command, ended: impl FnOnce() + Send + 'static) -> io::Result<BesideCommand> {
        let mut child = command.spawn()?;
        let living = Arc::new(Mutex::new(Some(child.id())));
        let (waited, (tells, code)) = (Arc::clone(&living), channel());
        thread::spawn(move || {
            await_end(&child);
            let status = {
                let mut living = waited.lock().unwrap_or_else(PoisonError::into_inner);
                *living = None;
                child.wait()
            };
            let _ = tells.send(status.map_or(u8::MAX, exit_code));
            ended();
        });
        Ok(BesideCommand { living, code })
    }

    /// Returns a function, for any thread, that passes a signal on to it; false if it has ended.
    pub fn signal_sender(&self) -> impl Fn(i32) -> bool + Send + use<> {
        let living = Arc::clone(&self.living);
        move |signal| {
            let living = living.lock().unwrap_or_else(PoisonError::into_inner);
            living.is_some_and(|process| send(process, signal))
        }
    }

    /// Returns the exit code, if it has ended: after death by a signal 128 and the signal's number.
    pub fn try_exit_code(&self) -> Option<u8> {
        self.code.try_recv().ok()
    }
}

/// Converts a status to a shell's exit code.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    // Codes of other systems are wider than a byte: none of them may become 0.
    status.code().or(signal).map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX))
}

/// Waits until it has ended, and leaves its status to be taken.
#[cfg(unix)]
fn await_end(child: &Child) {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let process = Pid::from_child(child);
    let ended = || waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    while ended().is_err_and(|error| error == rustix::io::Errno::INTR) {}
}

#[cfg(not(unix))]
fn await_end(_: &Child) {}

#[cfg(unix)]
fn send(process: u32, signal: i32) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    process.zip(Signal::from_named_raw(signal)).is_some_and(|(process, signal)| kill_process(process, signal).is_ok())
}

#[cfg(not(unix))]
fn send(_: u32, _: i32) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(script: &str, signal: Option<i32>) -> u8 {
        let (tells, hears) = channel();
        let started = BesideCommand::start(Command::new("sh").args(["-c", script]), move || tells.send(()).unwrap());
        let command = started.unwrap();
        if let Some(signal) = signal {
            assert_eq!(command.try_exit_code(), None);
            assert!(command.signal_sender()(signal));
        }
        hears.recv().unwrap();
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
