//! Writes the outcomes of all pairs as Markdown.

use super::trial::{Figure, Group, Interval, JUDGED, Outcome, Prediction};

/// The groups of predictions, as the table names them.
const GROUPS: [(Group, &str); 7] = [
    (Group::Depths, "random reads of 4 KiB, depths 2, 8 and 32"),
    (Group::Blocks, "random reads of 64 KiB, depth 4"),
    (Group::Mix, "70/30 mix, depth 8; no writes seen"),
    (Group::Writes, "random writes of 4 KiB, depth 4; no writes seen"),
    (Group::MixOfSeen, "70/30 mix, depth 8; writes seen at depths 1 and 16"),
    (Group::WritesOfSeen, "random writes of 4 KiB, depth 4; writes seen at depths 1 and 16"),
    (Group::Alone, "random reads of 4 KiB, depth 8; one result seen, at depth 1"),
];

/// The data of each fit, as the table names them.
const FITS: [&str; 3] = ["reads: five results", "reads and writes: seven results", "one result"];

/// Returns the tables of all outcomes.
pub fn render(outcomes: &[Outcome]) -> String {
    let mut text = interval_table(outcomes);
    text += &prediction_table(outcomes);
    text += &processor_table(outcomes);
    text += &datasheet_sentence(outcomes);
    text + &alone_sentence(outcomes)
}

/// Returns a pair's figures in a few words.
pub fn summarise(outcome: &Outcome) -> String {
    let held = outcome.intervals.iter().filter(|interval| interval.is_held()).count();
    let rates: Vec<&Prediction> = of_group(std::slice::from_ref(outcome), Group::Depths, Figure::Rate);
    let inside = outcome.predictions.iter().filter(|prediction| prediction.is_in_band()).count();
    let datasheet = match outcome.contradicts {
        Some((wrong, right)) => {
            let answer = |contradicted| if contradicted { "contradicted" } else { "believed" };
            format!(", wrong datasheet {}, right one {}", answer(wrong), answer(right))
        }
        None => String::new(),
    };
    format!(
        "{held} of {} intervals hold, rates at unseen depths {} off (start {}), {inside} of {} predictions in their band{datasheet}, \
         fit of {:.0} processor seconds",
        outcome.intervals.len(),
        percent(quantile(rates.iter().map(|it| it.error()), 50)),
        percent(quantile(rates.iter().map(|it| it.start_error()), 50)),
        outcome.predictions.len(),
        outcome.processor_s[0],
    )
}

/// A row for each key, of the fits to reads and of those that saw writes.
fn interval_table(outcomes: &[Outcome]) -> String {
    let mut text = "| key | intervals that contain the true value | median relative width | wrong, no interval | with writes seen | median \
                    relative width | wrong, no interval |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let mut add_row = |name: &str, is_wanted: &dyn Fn(&str) -> bool| {
        let cells = |with_writes: bool| {
            let all = outcomes.iter().flat_map(|outcome| &outcome.intervals);
            let chosen: Vec<&Interval> = all.filter(|it| it.with_writes == with_writes && is_wanted(it.key)).collect();
            let held = chosen.iter().filter(|interval| interval.is_held()).count();
            let left = outcomes.iter().flat_map(|outcome| &outcome.left);
            let left = left.filter(|it| it.with_writes == with_writes && is_wanted(it.key)).count();
            match chosen.len() {
                0 => format!("– | – | {left}"),
                count => {
                    let width = quantile(chosen.iter().map(|interval| interval.relative_width()), 50);
                    format!("{held} of {count} | {} | {left}", percent(width))
                }
            }
        };
        text += &format!("| {name} | {} | {} |\n", cells(false), cells(true));
    };
    for key in JUDGED {
        add_row(&format!("`{key}`"), &|it| it == key);
    }
    add_row("all", &|_| true);
    text
}

/// The predictions of a group and figure.
fn of_group(outcomes: &[Outcome], group: Group, figure: Figure) -> Vec<&Prediction> {
    let all = outcomes.iter().flat_map(|outcome| &outcome.predictions);
    all.filter(|prediction| (prediction.group, prediction.figure) == (group, figure)).collect()
}

/// Two rows for each group of loads, and one for all predictions.
fn prediction_table(outcomes: &[Outcome]) -> String {
    let mut text = "\n| predicted load | figure | error: median | 90th percentile | start's error: median | inside the band | median width of the \
                    band |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (group, name) in GROUPS {
        for (figure, word) in [(Figure::Rate, "rate"), (Figure::P99, "p99")] {
            text += &prediction_row(name, word, &of_group(outcomes, group, figure));
        }
    }
    let all: Vec<&Prediction> = outcomes.iter().flat_map(|outcome| &outcome.predictions).collect();
    text + &prediction_row("all", "both", &all)
}

fn prediction_row(name: &str, figure: &str, chosen: &[&Prediction]) -> String {
    let of = |value: fn(&Prediction) -> f64, share| percent(quantile(chosen.iter().map(|it| value(it)), share));
    let inside = chosen.iter().filter(|prediction| prediction.is_in_band()).count();
    format!(
        "| {name} | {figure} | {} | {} | {} | {inside} of {} | {} |\n",
        of(Prediction::error, 50),
        of(Prediction::error, 90),
        of(Prediction::start_error, 50),
        chosen.len(),
        of(Prediction::band_width, 50),
    )
}

fn processor_table(outcomes: &[Outcome]) -> String {
    let mut text = "\n| fit to | processor seconds: median | most |\n|---|---|---|\n".to_owned();
    for (index, name) in FITS.into_iter().enumerate() {
        let seconds = |share| quantile(outcomes.iter().map(|outcome| outcome.processor_s[index]), share);
        text += &format!("| {name} | {:.0} | {:.0} |\n", seconds(50), seconds(100));
    }
    text
}

fn datasheet_sentence(outcomes: &[Outcome]) -> String {
    let answers: Vec<(bool, bool)> = outcomes.iter().filter_map(|outcome| outcome.contradicts).collect();
    let wrong = answers.iter().filter(|answer| answer.0).count();
    let right = answers.iter().filter(|answer| answer.1).count();
    let count = answers.len();
    let speeds: Vec<bool> = outcomes.iter().flat_map(|outcome| outcome.speeds.clone()).collect();
    let held = speeds.iter().filter(|is_held| **is_held).count();
    format!(
        "\nIf the start states an average seek that is 25 % wrong as a datasheet's, the output says in {wrong} of {count} fits that the data \
         contradict it. If the stated figure is right, the output says so wrongly in {right} of {count}. \
         A stated speed is contradicted in {} fits; the interval then contains the true speed in {held}.\n",
        speeds.len()
    )
}

fn alone_sentence(outcomes: &[Outcome]) -> String {
    let named = outcomes.iter().filter(|outcome| outcome.alone.names_depth).count();
    let median = |value: &dyn Fn(&Outcome) -> usize| quantile(outcomes.iter().map(|outcome| value(outcome) as f64), 50);
    format!(
        "\nAfter a fit to one result (random reads of 4 KiB, depth 1), {named} of {} predictions at depth 8 say that the fit did not see \
         it. Medians of such fits: intervals {:.0}, warnings {:.0}.\n",
        outcomes.len(),
        median(&|outcome| outcome.alone.intervals),
        median(&|outcome| outcome.alone.warnings.len()),
    )
}

/// The value below which this share of a hundred lies, by nearest rank; not a number if there are no values.
fn quantile(values: impl Iterator<Item = f64>, percent: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or(f64::NAN)
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        none if none.is_nan() => "–".to_owned(),
        value if value < 9.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::trial::{Alone, LeftFigure};
    use super::*;

    /// An outcome whose prediction is off by this share, with a band of 0.9 to 1.1 times the truth.
    fn outcome(error: f64, contradicts: Option<(bool, bool)>) -> Outcome {
        let interval =
            |with_writes, high| Interval { key: "mechanics.rpm", with_writes, truth: 100.0, low: 90.0, high };
        let predicted = 100.0 * (1.0 + error);
        let prediction = |band| Prediction {
            group: Group::Depths,
            figure: Figure::Rate,
            truth: 100.0,
            predicted,
            start: 150.0,
            band,
        };
        Outcome {
            intervals: vec![interval(false, 95.0), interval(true, 110.0), interval(false, 101.0)],
            predictions: vec![prediction((90.0, 110.0)), prediction((101.0, 110.0))],
            contradicts,
            left: vec![LeftFigure { key: "cache.dirty_runs", with_writes: false }],
            speeds: vec![true, error < 0.1],
            alone: Alone { intervals: 7, warnings: vec!["a".to_owned()], names_depth: error < 0.1 },
            processor_s: [20.0 + error * 100.0, 30.0, 4.0],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn outcomes_become_tables() {
        let outcomes = [outcome(0.02, Some((true, false))), outcome(0.2, Some((false, true))), outcome(0.05, None)];
        let text = render(&outcomes);
        for line in [
            "| `mechanics.rpm` | 3 of 6 | 5.0 % | 0 | 3 of 3 | 20 % | 0 |\n",
            "| `cache.dirty_runs` | – | – | 3 | – | – | 0 |\n",
            "| all | 3 of 6 | 5.0 % | 3 | 3 of 3 | 20 % | 0 |\n",
            "| random reads of 4 KiB, depths 2, 8 and 32 | rate | 5.0 % | 20 % | 50 % | 3 of 6 | 9.0 % |\n",
            "| random reads of 4 KiB, depths 2, 8 and 32 | p99 | – | – | – | 0 of 0 | – |\n",
            "| all | both | 5.0 % | 20 % | 50 % | 3 of 6 | 9.0 % |\n",
            "| reads: five results | 25 | 40 |\n",
            "in 1 of 2 fits that the data contradict it. If the stated figure is right, the output says so wrongly in 1 of 2. ",
            "A stated speed is contradicted in 6 fits; the interval then contains the true speed in 5.\n",
            "2 of 3 predictions at depth 8 say that the fit did not see it. Medians of such fits: intervals 7, warnings 1.\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let line = summarise(&outcomes[0]);
        assert!(
            line.starts_with("2 of 3 intervals hold, rates at unseen depths 2.0 % off (start 50 %), 1 of 2"),
            "{line}"
        );
        assert!(line.contains("wrong datasheet contradicted, right one believed"), "{line}");
    }

    #[test]
    fn quantiles_are_of_nearest_rank() {
        let ten = || (1..=10).map(f64::from);
        assert_eq!([50, 90, 100].map(|share| quantile(ten(), share)), [5.0, 9.0, 10.0]);
        assert!(quantile([].into_iter(), 50).is_nan());
    }
}
