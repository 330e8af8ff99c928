//! `seekwise compare JOB --on file:… --against DRIVE`: measures a job on a real file or device, simulates it on a modelled drive, and
//! prints both side by side.

use seekwise::prediction::{FIGURES, Histogram, Prediction, mean_over_runs, predict_and_measure};
use seekwise::reading::display_name;
use seekwise::shell::quote_for_shell;
use seekwise::{Bounds, Setup};

use super::super::{print_json, print_text};
use crate::args;
use crate::exit::{CommandAnswer, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressObserver;
use crate::screen;
use crate::tables::{mark_figures_from, new_table};

/// Shares of requests at which the distributions are compared.
const SHARES: [(f64, &str); 8] = [
    (0.01, "1 %"),
    (0.1, "10 %"),
    (0.25, "25 %"),
    (0.5, "50 %"),
    (0.75, "75 %"),
    (0.9, "90 %"),
    (0.99, "99 %"),
    (0.999, "99.9 %"),
];

/// Predicts and measures the job, and prints both.
pub fn compare_with_prediction(
    args: &args::CompareArgs,
    setup: &Setup,
    drive: &str,
    bounds: &Bounds,
    json: bool,
) -> CommandResult {
    let progress = ProgressObserver::new();
    let prediction = predict_and_measure(setup, drive, args.runs, bounds, &progress)?;
    drop(progress);
    if json {
        print_json(&prediction.json())?;
        return Ok(CommandAnswer::Done);
    }
    print_text(&screen::wrap_text(&PredictionText(&prediction).format_prediction(args), screen::output_width()))?;
    let (words, runs, seed) = (setup.words(), args.runs, setup.seed);
    print_to_stderr(format!(
        "Again: seekwise compare {words} --against {} --runs {runs} --seed {seed}",
        quote_for_shell(drive)
    ));
    Ok(CommandAnswer::Done)
}

/// A prediction, as text.
struct PredictionText<'a>(&'a Prediction);

impl PredictionText<'_> {
    fn format_prediction(&self, args: &args::CompareArgs) -> String {
        let mut text = format!(
            "{}: measured on {}, predicted on {}\n\n",
            display_name(&args.jobs[0]),
            display_name(args.on.target_name()),
            display_name(&self.0.drive)
        );
        text.push_str(&format!("{}\n\n{}\n\n", self.figures_table(), self.shares_table()));
        let (ms, percent) = self.0.demerit_ms_and_percent();
        text.push_str(&format!(
            "Demerit: {ms:.3} ms, {percent:.1} % of the measured mean (how far the two distributions are apart).\n"
        ));
        text.push_str(&format!("Where the predicted time goes: {}.\n", self.anatomy_line()));
        text.push_str(match self.0.has_same_requests() {
            true => "Both sides drew the same requests.\n",
            false => "Note: the two sides did not draw the same requests.\n",
        });
        for doubt in self.0.doubts() {
            text.push_str(&format!("Note: {doubt}.\n"));
        }
        for warning in self.0.warnings() {
            text.push_str(&format!("Note: {warning}.\n"));
        }
        text + &format!("{} runs a side; 95 % interval of the measured mean.", self.0.measurements.len())
    }

    fn figures_table(&self) -> String {
        let mut rows = new_table(["", "predicted", "measured", "±", "off %"]);
        mark_figures_from(&mut rows, 1);
        for (name, figure) in FIGURES {
            let (predicted, measured) =
                (mean_over_runs(&self.0.predictions, figure), mean_over_runs(&self.0.measurements, figure));
            rows.add_row([
                name.to_owned(),
                format!("{:.3}", predicted.estimate),
                format!("{:.3}", measured.estimate),
                format!("{:.3}", (measured.high - measured.low) / 2.0),
                format!("{:+.1}", 100.0 * (predicted.estimate / measured.estimate - 1.0)),
            ]);
        }
        rows.draw(screen::output_width())
    }

    fn shares_table(&self) -> String {
        let mut rows = new_table(["share of requests, at most", "predicted ms", "measured ms"]);
        mark_figures_from(&mut rows, 1);
        let pools = self.0.pooled();
        for (share, name) in SHARES {
            let quantile_ms = |pool: &Histogram| pool.quantile(share).map_or(0.0, |span| span.nanos() as f64 / 1e6);
            rows.add_row([
                name.to_owned(),
                format!("{:.3}", quantile_ms(&pools[0])),
                format!("{:.3}", quantile_ms(&pools[1])),
            ]);
        }
        rows.draw(screen::output_width())
    }

    /// The parts of the mean predicted response, the largest first.
    fn anatomy_line(&self) -> String {
        let first = &self.0.predictions[0].anatomy_ms;
        let total = first.total();
        let mut parts: Vec<(&str, f64)> = first.iter().map(|(part, ms)| (part.name(), 100.0 * ms / total)).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let named = parts.iter().filter(|part| part.1 >= 0.5).map(|(name, share)| format!("{name} {share:.0} %"));
        named.collect::<Vec<_>>().join(", ")
    }
}
