//! The progress of long work, and about how long it will take: one line on standard error, of a terminal only, never
//! wider than the terminal.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressStyle};
use seekwise::Observer;
use seekwise::observer::PILOT_RUNS;
use terminal_size::{Width, terminal_size_of};

use crate::interrupt::{self, ResumeHint};
use crate::output::print_to_stderr;

/// Columns from which on there is a bar and all words.
const WIDE: u16 = 80;

/// Columns from which on the current step is shown.
const MIDDLE: u16 = 50;

/// Characters of the current step, beside a bar.
const WHAT: usize = 32;

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
        interrupt::hold_signals().set_bar(&bar);
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
    pub fn set_step(&self, what: &str) {
        let mut short: String = what.chars().take(WHAT).collect();
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

    /// Sets how much need not be done: the forecast does not go by it.
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

/// The progress line of work that the library does, and what a signal does with it.
pub struct ProgressObserver {
    progress: Mutex<Option<ProgressLine>>,
    /// Where results are kept, and the command that continues.
    kept: Option<(PathBuf, String)>,
    /// For a fit, which keeps its points and ends by itself at the first signal: whether that came.
    points: Option<Arc<AtomicBool>>,
}

impl ProgressObserver {
    /// The line of work that keeps nothing.
    pub fn new() -> ProgressObserver {
        ProgressObserver { progress: Mutex::new(None), kept: None, points: None }
    }

    /// The line of work that keeps its runs in `folder`; `again` continues it.
    pub fn keeping_runs(folder: &Path, again: String) -> ProgressObserver {
        ProgressObserver { progress: Mutex::new(None), kept: Some((folder.to_owned(), again)), points: None }
    }

    /// The line of a fit that keeps the points that it tries at `path`; `again` continues it. The first signal ends it.
    pub fn keeping_points(path: &Path, again: String) -> ProgressObserver {
        let points = Some(Arc::new(AtomicBool::new(false)));
        ProgressObserver { progress: Mutex::new(None), kept: Some((path.to_owned(), again)), points }
    }

    fn with_progress(&self, does: impl FnOnce(&ProgressLine)) {
        if let Some(progress) = &*self.progress.lock().expect("no holder panics") {
            does(progress);
        }
    }
}

impl Observer for ProgressObserver {
    fn begin_work(&self, total: Option<u64>, done: u64, unit: &'static str) {
        // Pilot runs are not kept.
        if let Some((folder, again)) = self.kept.as_ref().filter(|_| unit != PILOT_RUNS) {
            // Work in other units is one run.
            let of = if unit == "runs" { total } else { self.points.is_none().then_some(1) };
            let is_first = self.progress.lock().expect("no holder panics").is_none();
            let mut now = interrupt::hold_signals();
            now.set_resume_hint(ResumeHint { folder: folder.clone(), of, again: again.clone() });
            if let Some(enough) = self.points.clone().filter(|_| is_first) {
                now.end_with(move || {
                    enough.store(true, Ordering::Relaxed);
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

    fn report_work(&self, what: &str) {
        self.with_progress(|progress| progress.set_step(what));
    }

    fn is_enough(&self) -> bool {
        self.points.as_ref().is_some_and(|enough| enough.load(Ordering::Relaxed))
    }
}

impl Drop for ProgressObserver {
    fn drop(&mut self) {
        if self.points.is_some() {
            interrupt::hold_signals().clear_resume_hint();
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

    /// The widest that a template's own words and figures become, without what fills the rest of a line.
    fn widest(template: &str) -> usize {
        let most = [
            ("{msg}", &"w".repeat(WHAT + 1)[..]),
            ("{wide_msg}", ""),
            ("{wide_bar}", ""),
            ("{pos}", "1000000000"),
            ("{len}", "1000000000"),
            ("{elapsed}", "59m"),
            ("{eta}", "59m"),
            ("{percent}", "100"),
            ("{spinner}", "x"),
        ];
        let text = most.iter().fold(template.to_owned(), |text, (key, value)| text.replace(key, value));
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
        observer.report_work(&"w".repeat(WHAT + 9));
        assert_eq!(shown(), (4, None, "w".repeat(WHAT) + " "));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 20..200 {
            for unit in ["runs", "requests", "cases"] {
                let open = widest(&spinner_template(width, unit));
                assert!(open <= usize::from(width), "{width}: {open}");
            }
            // Milliards of runs are not planned; those of a study have six digits.
            let closed = widest(&bar_template(width, "runs").replace("{len}", "100000").replace("{pos}", "100000"));
            assert!(closed <= usize::from(width), "{width}: {closed}");
        }
    }
}
