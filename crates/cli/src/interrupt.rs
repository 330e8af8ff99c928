//! Ctrl-C, SIGTERM and SIGHUP (a closed terminal): the program prints which results are kept and how to continue, undoes its changes
//! to the system, and ends with exit code 130.
//!
//! A result folder is complete after each run, so the work itself need not be stopped: a thread waits for the signal, then until
//! no line is half written, and ends the program. A signal may come at any time; the state on which it acts is therefore one
//! variable for the whole program. On Windows, the system ends the program, and a folder is as sound as after any other
//! sudden end.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use seekwise::unfinished;

/// The state on which a signal acts.
pub struct SignalState {
    kept: Option<ResumeHint>,
    bar: Option<ProgressBar>,
    /// Asks the work to end by itself when a signal comes; without it the program ends at once.
    ending: Option<Box<dyn FnOnce(i32) + Send>>,
    /// Actions that undo changes to the system before the program ends.
    undo_actions: Vec<Box<dyn Fn() + Send>>,
}

/// Where results are kept, and how to continue.
pub struct ResumeHint {
    /// The folder, as the user named it.
    pub folder: PathBuf,
    /// Runs in total; unknown for a fit.
    pub total_runs: Option<u64>,
    /// The command that continues.
    pub resume_command: String,
}

static STATE: Mutex<SignalState> =
    Mutex::new(SignalState { kept: None, bar: None, ending: None, undo_actions: Vec::new() });

/// Locks the state on which a signal acts: no signal ends the program until the guard is dropped.
pub fn lock_signals() -> MutexGuard<'static, SignalState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SignalState {
    /// Sets where results are kept.
    pub fn set_resume_hint(&mut self, hint: ResumeHint) {
        self.kept = Some(hint);
    }

    /// Forgets the kept results, and the action that the first signal calls.
    pub fn clear_resume_hint(&mut self) {
        self.kept = None;
        self.ending = None;
    }

    /// Sets the bar that a signal clears.
    pub fn set_bar(&mut self, bar: &ProgressBar) {
        self.bar = Some(bar.clone());
    }

    /// Sets the action that the first signal calls, so that the work ends by itself. A second signal ends the program.
    pub fn set_ending(&mut self, ending: impl FnOnce() + Send + 'static) {
        self.set_ending_by_signal(move |_| ending());
    }

    /// As [`SignalState::set_ending`]; the action gets the signal's number.
    pub fn set_ending_by_signal(&mut self, ending: impl FnOnce(i32) + Send + 'static) {
        self.ending = Some(Box::new(ending));
    }

    /// Adds an action that a signal calls before the program ends; a second call must do no harm.
    pub fn push_undo(&mut self, undo: impl Fn() + Send + 'static) {
        self.undo_actions.push(Box::new(undo));
    }

    /// The last line that the program prints: how many results are kept, where, and how to continue.
    fn closing_line(&self, kept_records: u64) -> String {
        match &self.kept {
            None => "Interrupted: nothing was kept.".to_owned(),
            Some(ResumeHint { folder, total_runs, resume_command }) => {
                let units = total_runs.map_or("tried points".to_owned(), |total| format!("of {total} runs"));
                let folder = folder.display();
                format!("Interrupted: {kept_records} {units} are kept in {folder}. To continue:\n{resume_command}")
            }
        }
    }
}

/// Calls `print`, which writes to standard error, with the progress bar suspended.
pub fn with_bar_suspended(print: impl FnOnce()) {
    let bar = lock_signals().bar.clone();
    match bar {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// The signal with which the program outside of namespaces (`exec`) passes SIGINT on to the one inside. A terminal interrupts all
/// programs of a command line by itself: those two, and the command. So the program inside must tell this one apart.
#[cfg(target_os = "linux")]
pub const OUTER_INTERRUPT: i32 = signal_hook::consts::SIGUSR1;

/// Starts the thread that acts on signals.
#[cfg(unix)]
pub fn handle_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // `nohup` ignores SIGHUP.
    let handled = [SIGINT, SIGTERM].into_iter().chain(Some(SIGHUP).filter(|&signal| !is_ignored(signal)));
    #[cfg(target_os = "linux")]
    let handled = handled.chain(seekwise::exec::is_in_namespaces().then_some(OUTER_INTERRUPT));
    // Without handlers, the system ends the program.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(handled) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let ending = lock_signals().ending.take();
            match ending {
                Some(ending) => ending(signal),
                None => end_interrupted(),
            }
        }
    });
}

/// Whether the program was started with this signal ignored (proc_pid_status(5)).
#[cfg(target_os = "linux")]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Unknown: SIGHUP keeps its default action.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(_: i32) -> bool {
    true
}

/// Does nothing: the system ends the program.
#[cfg(not(unix))]
pub fn handle_signals() {}

/// Ends the program as a signal does: removes unfinished files, undoes changes to the system, prints which results are kept, and
/// exits.
#[cfg(unix)]
pub fn end_interrupted() -> ! {
    // With both locks held, nothing more is written.
    let unfinished = unfinished::lock_unfinished();
    let state = lock_signals();
    if let Some(bar) = &state.bar {
        bar.finish_and_clear();
    }
    for path in unfinished.paths() {
        // A failure cannot be reported any more.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    state.undo_actions.iter().for_each(|undo| undo());
    #[cfg(target_os = "linux")]
    seekwise::leftovers::restore_own_settings();
    crate::output::print_to_stderr(state.closing_line(unfinished.kept_records()));
    std::process::exit(crate::exit::STOPPED.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_says_what_is_kept_and_how_to_continue() {
        let mut state = SignalState { kept: None, bar: None, ending: None, undo_actions: Vec::new() };
        assert_eq!(state.closing_line(0), "Interrupted: nothing was kept.");
        state.set_resume_hint(ResumeHint {
            folder: "out".into(),
            total_runs: Some(60),
            resume_command: "seekwise study out --resume".to_owned(),
        });
        assert_eq!(
            state.closing_line(13),
            "Interrupted: 13 of 60 runs are kept in out. To continue:\nseekwise study out --resume"
        );
    }
}
