//! Cuts of recoveries in `seekwise crash`: runs them, and shows their results as text and JSON.

use seekwise::crash::{
    BadChain, ChainLink, CrashResults, CrashVerdict, InstantReason, RecoveryLevel, RecoveryOptions, RecoveryResults,
    RecoveryRunner, SessionRecord,
};
use seekwise::setup::Seed;
use serde_json::{Value, json};

use super::text::{self, VerdictCounts, to_seconds};
use super::{WorstMedium, print_to_stderr, workers};
use crate::args;
use crate::exit::CommandError;
use crate::progress::ProgressLine;
use crate::screen::wrap_text;
use crate::tables;

/// All findings about cuts of recoveries.
pub struct RecoveryReport {
    pub results: RecoveryResults,
    /// The last medium of the worst chain of cuts, and its cause; `None` if a recovery failed there.
    pub worst: Option<WorstMedium>,
}

/// Recovers from all media of the first cuts, and cuts the recoveries.
pub fn run_recoveries(
    args: &args::CrashArgs,
    runner: &RecoveryRunner<'_>,
    recorded: &SessionRecord,
    outcome: &CrashResults,
) -> Result<RecoveryResults, CommandError> {
    print_to_stderr(format!("Cutting the recoveries from {} media", outcome.checked));
    let options = RecoveryOptions {
        depth: usize::from(args.depth),
        cuts: args.cuts_per_recovery(),
        orders: args.orders,
        seed: Seed(args.seed),
        workers: workers(args),
        weights: args.instants.instant_weights(),
    };
    let progress = ProgressLine::with_total(outcome.checked as u64, "recoveries");
    let report_progress = |ended, expected| {
        progress.set_total(expected);
        progress.set_done(ended);
    };
    Ok(runner.run(&options, &recorded.history, outcome, &report_progress)?)
}

/// The worst chain of cuts after which the check failed; if there is none, the one after which the recovery failed.
pub fn worst_chain(results: &RecoveryResults) -> Option<&BadChain> {
    // Verdicts are ordered from the best to the worst.
    results.first.values().rfind(|chain| !chain.recovery_failed).or_else(|| results.first.values().next_back())
}

/// The number of cuts with each outcome, by how many cuts came one after another, and of the media that no earlier cut had left.
pub fn levels_table(outcome: &CrashResults, recoveries: &RecoveryResults) -> tables::Table {
    let headings = ["cuts one after another", "recoveries", "failed", "cuts"].map(str::to_owned);
    let verdicts = CrashVerdict::ALL.iter().map(|verdict| verdict.words().to_owned());
    let mut table =
        tables::table_with_headings(headings.into_iter().chain(verdicts).chain(["new media".to_owned()]).collect());
    tables::mark_figures_from(&mut table, 1);
    let mut add_row = |number: usize, figures: [String; 3], counts: &VerdictCounts, media: usize| {
        let counts = CrashVerdict::ALL.map(|verdict| counts.with_verdict(verdict).to_string());
        table.add_row([number.to_string()].into_iter().chain(figures).chain(counts).chain([media.to_string()]));
    };
    let first = [String::new(), String::new(), outcome.tried.len().to_string()];
    add_row(1, first, &VerdictCounts::of_trials(outcome.tried.iter()), outcome.checked);
    for (number, level) in recoveries.levels.iter().enumerate() {
        let figures = [level.recoveries, level.failed, level.tried.len()].map(|count| count.to_string());
        add_row(number + 2, figures, &VerdictCounts::of_trials(level.tried.iter()), level.checked);
    }
    table
}

/// The report on recoveries, wrapped to `width`.
pub fn paragraphs(args: &args::CrashArgs, report: &RecoveryReport, width: usize) -> Vec<String> {
    let results = &report.results;
    let mut paragraphs = vec![wrap_text(&summary(args, results), width)];
    for chain in results.first.values() {
        paragraphs.push(wrap_text(&chain_text(chain), width));
    }
    if let Some(worst) = &report.worst {
        let reason = "The recovery gave up what it had before the disk had received what replaces it";
        paragraphs.push(text::fewest_writes_text(worst, reason, width));
        paragraphs.extend(super::unflushed::late_data_text(worst, "the recovery gives up what it had", width));
    }
    paragraphs
}

/// The recoveries and their cuts, and whether the disk kept its promises.
fn summary(args: &args::CrashArgs, results: &RecoveryResults) -> String {
    let sum = |count: fn(&RecoveryLevel) -> usize| results.levels.iter().map(count).sum::<usize>();
    let (recoveries, broke) = (sum(|level| level.recoveries), sum(|level| level.disk_broke));
    let took: f64 = results.levels.iter().map(|level| level.took.nanos() as f64 / 1e9).sum();
    let cut = recoveries - sum(|level| level.failed);
    let mean = if cut == 0 { 0.0 } else { took / cut as f64 };
    let mut words = format!(
        "Recoveries: {recoveries}, of {mean:.3} s of the disk's time each, cut {} times each; media that an earlier cut had left, too, are \
         not counted as new. What was promised before the first cut must be there after the last.",
        args.cuts_per_recovery()
    );
    if broke > 0 {
        words.push_str(&format!(" At {broke} of these cuts the disk lost a write that it had promised."));
    }
    if let Some(cuts) = results.found_after {
        words.push_str(&format!(" The first bad medium was known after {cuts} cuts, those of the workload included."));
    }
    words
}

/// The cuts of a bad chain, and its end.
fn chain_text(chain: &BadChain) -> String {
    let cut = |link: &ChainLink, why: &str| {
        let order = link.case.order.map_or(String::new(), |number| format!(", order {number}"));
        format!("at {:.6} s ({why}{order})", to_seconds(link.case.at))
    };
    let cut_of_recovery = |link: &ChainLink| {
        let why = match link.case.why {
            // A recovery promises nothing.
            InstantReason::Promised => "a line has been printed",
            why => why.words(),
        };
        format!(", then {} of the recovery", cut(link, why))
    };
    let mut cuts = chain.links.iter();
    let first = cuts.next().map(|link| cut(link, link.case.why.words())).unwrap_or_default();
    let later: String = cuts.map(cut_of_recovery).collect();
    let promises = chain.trial.case.promises;
    let words = text::check_words(&chain.trial.finding);
    let verdict = chain.trial.finding.verdict.words();
    match chain.recovery_failed {
        true => format!("The recovery failed after cuts {first}{later}, after {promises} promises: {words}."),
        false => {
            format!("The first {verdict} after a recovery: cuts {first}{later}, after {promises} promises: {words}.")
        }
    }
}

/// The report on recoveries as JSON.
pub fn recovery_json(args: &args::CrashArgs, report: &RecoveryReport) -> Value {
    let level_json = |(number, level): (usize, &RecoveryLevel)| {
        let with_order = |is: bool| level.tried.iter().filter(move |tried| tried.case.order.is_some() == is);
        json!({
            "level": number + 2, "recoveries": level.recoveries, "failed": level.failed, "took_s": level.took.nanos() as f64 / 1e9,
            "cuts": with_order(false).count(), "orders": with_order(true).count(), "checked": level.checked,
            "disk_broke": level.disk_broke, "at_cuts": text::counts_json(&VerdictCounts::of_trials(with_order(false))),
            "in_orders": text::counts_json(&VerdictCounts::of_trials(with_order(true))),
        })
    };
    let chain_json = |chain: &BadChain| {
        let cut = |link: &ChainLink| json!({ "at_s": to_seconds(link.case.at), "instant": link.case.why, "order": link.case.order });
        json!({
            "chain": chain.links.iter().map(cut).collect::<Vec<_>>(), "promises": chain.trial.case.promises,
            "verdict": chain.trial.finding.verdict, "words": chain.trial.finding.words,
            "recovery_failed": chain.recovery_failed,
        })
    };
    let results = &report.results;
    json!({
        "depth": args.depth, "cuts_per_recovery": args.cuts_per_recovery(), "speed": args.speed_of_recoveries(),
        "levels": results.levels.iter().enumerate().map(level_json).collect::<Vec<_>>(),
        "first": results.first.values().map(chain_json).collect::<Vec<_>>(), "found_after": results.found_after,
        "shrunk": report.worst.as_ref().map(text::shrunk_json), "late": super::unflushed::late_json(report.worst.as_ref()),
    })
}
