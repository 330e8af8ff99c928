//! The progress of long work, with an estimate of the time left: one line on standard error, if that is a terminal, never wider
//! than the terminal. Also, what a signal does with the work that it interrupts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressStyle};
use seekwise::Observer;
use seekwise::observer::PILOT_RUNS;
use terminal_size::{Width, terminal_size_of};

use crate::interrupt::{self, ResumeHint};
use crate::output::print_to_stderr;

/// From this width on, the line has a bar and all words.
const WIDE: u16 = 80;

/// From this width on, the line has the current step.
const MIDDLE: u16 = 50;

/// The most characters of the current step.
const STEP_CHARS: usize = 32;

/// The progress line of one piece of work.
pub struct ProgressLine {
    bar: ProgressBar,
    unit: &'static str,
    width: u16,
}

impl ProgressLine {
    /// Starts the line of work of `total` units.
    pub fn with_total(total: u64, unit: &'static str) -> ProgressLine {
        let width = terminal_width();
        ProgressLine::start(ProgressBar::new(total).with_style(progress_style(&bar_template(width, unit))), unit, width)
    }

    /// Starts the line of work of unknown length.
    pub fn unknown(unit: &'static str) -> ProgressLine {
        let width = terminal_width();
        ProgressLine::start(
            ProgressBar::new_spinner().with_style(progress_style(&spinner_template(width, unit))),
            unit,
            width,
        )
    }

    fn start(bar: ProgressBar, unit: &'static str, width: u16) -> ProgressLine {
        interrupt::lock_signals().set_bar(&bar);
        ProgressLine { bar, unit, width }
    }

    /// Sets the total.
    pub fn set_total(&self, total: u64) {
        if self.bar.length() != Some(total) {
            self.bar.set_length(total);
            self.bar.set_style(progress_style(&bar_template(self.width, self.unit)));
        }
    }

    /// Shows the current step.
    pub fn set_step(&self, step: &str) {
        let mut short: String = step.chars().take(STEP_CHARS).collect();
        if !short.is_empty() {
            short.push(' ');
        }
        self.bar.set_message(short);
    }

    /// Sets how much is done.
    pub fn set_done(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Counts one more as done.
    pub fn count_one(&self) {
        self.bar.inc(1);
    }

    /// Sets how much was done before this start; the estimate of the time left does not count it.
    pub fn skip_to(&self, done: u64) {
        self.bar.set_position(done);
        self.bar.reset_eta();
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Where work keeps its results, and the command that continues it.
struct KeptResults {
    path: PathBuf,
    resume_command: String,
}

/// The progress line of work that the library does, and what a signal does with that work.
pub struct ProgressObserver {
    progress: Mutex<Option<ProgressLine>>,
    kept: Option<KeptResults>,
    /// For a fit, which ends by itself at the first signal: whether the signal came.
    stop_requested: Option<Arc<AtomicBool>>,
}

impl ProgressObserver {
    /// The line of work that keeps nothing.
    pub fn new() -> ProgressObserver {
        ProgressObserver { progress: Mutex::new(None), kept: None, stop_requested: None }
    }

    /// The line of work that keeps its runs in `folder`.
    pub fn keeping_runs(folder: &Path, resume_command: String) -> ProgressObserver {
        let kept = KeptResults { path: folder.to_owned(), resume_command };
        ProgressObserver { progress: Mutex::new(None), kept: Some(kept), stop_requested: None }
    }

    /// The line of a fit that keeps the points that it tries at `path`. The first signal asks the fit to end.
    pub fn keeping_points(path: &Path, resume_command: String) -> ProgressObserver {
        let kept = KeptResults { path: path.to_owned(), resume_command };
        let stop_requested = Some(Arc::new(AtomicBool::new(false)));
        ProgressObserver { progress: Mutex::new(None), kept: Some(kept), stop_requested }
    }

    fn with_progress(&self, action: impl FnOnce(&ProgressLine)) {
        if let Some(progress) = &*self.progress.lock().expect("no holder panics") {
            action(progress);
        }
    }
}

impl Observer for ProgressObserver {
    fn begin_work(&self, total: Option<u64>, done: u64, unit: &'static str) {
        // Pilot runs are not kept.
        if let Some(KeptResults { path, resume_command }) = self.kept.as_ref().filter(|_| unit != PILOT_RUNS) {
            // Work that is not counted in runs is one run.
            let total_runs = if unit == "runs" { total } else { self.stop_requested.is_none().then_some(1) };
            let is_first = self.progress.lock().expect("no holder panics").is_none();
            let mut signals = interrupt::lock_signals();
            let (folder, resume_command) = (path.clone(), resume_command.clone());
            signals.set_resume_hint(ResumeHint { folder, total_runs, resume_command });
            if let Some(stop_requested) = self.stop_requested.clone().filter(|_| is_first) {
                signals.set_ending(move || {
                    stop_requested.store(true, Ordering::Relaxed);
                    print_to_stderr("Ending: the best so far is judged and written. Once more ends at once.");
                });
            }
        }
        let mut progress = self.progress.lock().expect("no holder panics");
        match (&*progress, total) {
            (Some(progress), Some(total)) if progress.unit == unit => progress.set_total(total),
            (_, Some(total)) => *progress = Some(ProgressLine::with_total(total, unit)),
            (_, None) => *progress = Some(ProgressLine::unknown(unit)),
        }
        progress.as_ref().expect("it was just begun").skip_to(done);
    }

    fn report_done(&self, done: u64) {
        self.with_progress(|progress| progress.set_done(done));
    }

    fn report_work(&self, step: &str) {
        self.with_progress(|progress| progress.set_step(step));
    }

    fn is_enough(&self) -> bool {
        self.stop_requested.as_ref().is_some_and(|requested| requested.load(Ordering::Relaxed))
    }
}

impl Drop for ProgressObserver {
    fn drop(&mut self) {
        if self.stop_requested.is_some() {
            interrupt::lock_signals().clear_resume_hint();
        }
    }
}

/// Columns of the terminal.
fn terminal_width() -> u16 {
    terminal_size_of(std::io::stderr()).map_or(WIDE, |(Width(columns), _)| columns)
}

fn progress_style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is well formed")
}

/// The template of work whose end is known.
fn bar_template(width: u16, unit: &str) -> String {
    match width {
        WIDE.. => format!("{{msg}}{{wide_bar}} {{pos}}/{{len}} {unit}, {{elapsed}} gone, about {{eta}} left"),
        MIDDLE.. => "{wide_msg}{pos}/{len}, {eta} left".to_owned(),
        _ => "{percent} %, {eta} left".to_owned(),
    }
}

/// The template of work whose end is not known.
fn spinner_template(width: u16, unit: &str) -> String {
    match width {
        MIDDLE.. => format!("{{spinner}} {{pos}} {unit}, {{elapsed}} gone"),
        _ => "{spinner} {pos}".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most columns of a template's words and figures, without the bar or step that fills the rest of a line.
    fn widest(template: &str) -> usize {
        let longest_values = [
            ("{msg}", &"w".repeat(STEP_CHARS + 1)[..]),
            ("{wide_msg}", ""),
            ("{wide_bar}", ""),
            ("{pos}", "1000000000"),
            ("{len}", "1000000000"),
            ("{elapsed}", "59m"),
            ("{eta}", "59m"),
            ("{percent}", "100"),
            ("{spinner}", "x"),
        ];
        let text = longest_values.iter().fold(template.to_owned(), |text, (key, value)| text.replace(key, value));
        assert!(!text.contains('{'), "{text}");
        text.chars().count()
    }

    #[test]
    fn the_line_shows_what_is_done_and_the_step() {
        let observer = ProgressObserver::new();
        let shown = || {
            let progress = observer.progress.lock().unwrap();
            let bar = &progress.as_ref().expect("it has begun").bar;
            (bar.position(), bar.length(), bar.message())
        };
        observer.begin_work(Some(10), 2, "runs");
        assert_eq!(shown(), (2, Some(10), String::new()));
        observer.report_done(7);
        observer.report_work("cell 3");
        assert_eq!(shown(), (7, Some(10), "cell 3 ".to_owned()));
        observer.begin_work(Some(12), 8, "runs");
        assert_eq!(shown(), (8, Some(12), "cell 3 ".to_owned()), "more of the same work stays on its line");
        observer.begin_work(None, 0, "requests");
        observer.report_done(4);
        observer.report_work(&"w".repeat(STEP_CHARS + 9));
        assert_eq!(shown(), (4, None, "w".repeat(STEP_CHARS) + " "));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 20..200 {
            for unit in ["runs", "requests", "cases"] {
                let open = widest(&spinner_template(width, unit));
                assert!(open <= usize::from(width), "{width}: {open}");
            }
            // A study has at most six digits of runs.
            let closed = widest(&bar_template(width, "runs").replace("{len}", "100000").replace("{pos}", "100000"));
            assert!(closed <= usize::from(width), "{width}: {closed}");
        }
    }
}
