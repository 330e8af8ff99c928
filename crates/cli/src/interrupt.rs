//! Ctrl-C, SIGTERM and SIGHUP (a closed terminal): the program says what is kept and how to go on, tidies up, and ends with exit code 130.
//!
//! A result folder is complete after each run, so nothing has to be asked to stop: a thread waits for the signal, then
//! until no line is half written, and ends the program. A signal comes to the whole program, whatever it is doing;
//! hence the one variable that all of it shares. Where there are no such signals (Windows), the system ends the program,
//! and a folder is as sound as after any other sudden end.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use seekwise::unfinished;

/// The state on which a signal acts.
pub struct SignalState {
    kept: Option<ResumeHint>,
    bar: Option<ProgressBar>,
    /// Ends the work in order when a signal comes.
    ending: Option<Box<dyn FnOnce(i32) + Send>>,
    /// Actions that put things back before the program ends.
    undo: Vec<Box<dyn Fn() + Send>>,
}

/// Where results are kept, and how to continue.
pub struct ResumeHint {
    /// The folder, as the user named it.
    pub folder: PathBuf,
    /// Runs in total; unknown for a fit.
    pub of: Option<u64>,
    /// The command that continues.
    pub again: String,
}

static NOW: Mutex<SignalState> = Mutex::new(SignalState { kept: None, bar: None, ending: None, undo: Vec::new() });

/// Keeps signals from ending the program until the guard is dropped.
pub fn hold_signals() -> MutexGuard<'static, SignalState> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SignalState {
    /// Sets where results are kept.
    pub fn set_resume_hint(&mut self, keeping: ResumeHint) {
        self.kept = Some(keeping);
    }

    /// Forgets the kept results, and the end in order.
    pub fn clear_resume_hint(&mut self) {
        self.kept = None;
        self.ending = None;
    }

    /// Sets the bar that a signal clears.
    pub fn set_bar(&mut self, bar: &ProgressBar) {
        self.bar = Some(bar.clone());
    }

    /// Lets the first signal call `ending`; the program ends when its work has ended. A second signal ends the program.
    pub fn end_with(&mut self, ending: impl FnOnce() + Send + 'static) {
        self.end_by_signal(move |_| ending());
    }

    /// As [`SignalState::end_with`]; `ending` is given the signal's number.
    pub fn end_by_signal(&mut self, ending: impl FnOnce(i32) + Send + 'static) {
        self.ending = Some(Box::new(ending));
    }

    /// Adds an action that a signal calls before the program ends; a second call must do no harm.
    pub fn push_undo(&mut self, undo: impl Fn() + Send + 'static) {
        self.undo.push(Box::new(undo));
    }

    /// The last words: how many results are kept, where, and how to continue.
    fn closing_words(&self, records: u64) -> String {
        match &self.kept {
            None => "Interrupted: nothing was kept.".to_owned(),
            Some(ResumeHint { folder, of, again }) => {
                let of = of.map_or("tried points".to_owned(), |of| format!("of {of} runs"));
                format!("Interrupted: {records} {of} are kept in {}. To continue:\n{again}", folder.display())
            }
        }
    }
}

/// Calls `does`, which writes to standard error, with the bar suspended.
pub fn beside_bar(does: impl FnOnce()) {
    let bar = hold_signals().bar.clone();
    match bar {
        Some(bar) => bar.suspend(does),
        None => does(),
    }
}

/// Lets signals end the program in order from now on.
#[cfg(unix)]
pub fn heed() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // `nohup` ignores SIGHUP.
    let heeded = [SIGINT, SIGTERM].into_iter().chain(Some(SIGHUP).filter(|&signal| !is_ignored(signal)));
    // Without handlers, the system ends the program.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(heeded) else { return };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let ending = hold_signals().ending.take();
            match ending {
                Some(ending) => ending(signal),
                None => stop(),
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
pub fn heed() {}

/// Says what is kept, tidies up and ends the program, as a signal does.
#[cfg(unix)]
pub fn stop() -> ! {
    // Both are held until the end: nothing is written any more.
    let unfinished = unfinished::lock_unfinished();
    let now = hold_signals();
    if let Some(bar) = &now.bar {
        bar.finish_and_clear();
    }
    for path in unfinished.paths() {
        // There is nobody to be told.
        let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    }
    now.undo.iter().for_each(|undo| undo());
    #[cfg(target_os = "linux")]
    seekwise::leftovers::restore_own_settings();
    crate::output::print_to_stderr(now.closing_words(unfinished.kept_records()));
    std::process::exit(crate::exit::STOPPED.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_is_kept_and_how_to_go_on() {
        let mut now = SignalState { kept: None, bar: None, ending: None, undo: Vec::new() };
        assert_eq!(now.closing_words(0), "Interrupted: nothing was kept.");
        now.set_resume_hint(ResumeHint {
            folder: "out".into(),
            of: Some(60),
            again: "seekwise study out --resume".to_owned(),
        });
        assert_eq!(
            now.closing_words(13),
            "Interrupted: 13 of 60 runs are kept in out. To continue:\nseekwise study out --resume"
        );
    }
}
