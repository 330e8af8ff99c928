//! The answer of a whole review in a few plain sentences, from its parts' results alone: what is best for most kinds of work,
//! how many cases of a change gain and lose, what a power cut loses by it, and how many published findings come out again.

use crate::finding::{CellTally, ClaimAnswer, listed};
use crate::outcome::{DifferenceWords, Outcome};
use crate::report::review::Chapter;
use crate::report::{ReportBest, ReportClaim, ReportVerdict};

/// The sentences, the first of which answers the question.
pub fn answer(chapters: &[Chapter]) -> Vec<String> {
    let best: Vec<&ReportBest> = chapters.iter().flat_map(|chapter| &chapter.report.best).collect();
    let claims: Vec<&ReportClaim> = chapters.iter().flat_map(|chapter| &chapter.report.claims).collect();
    let changes = changes(chapters, best.is_empty());
    best_level(&best).into_iter().chain(changes.iter().map(Change::sentence)).chain(came_out(&claims)).collect()
}

/// What is said of one change, in all parts that judge it.
struct Change<'a> {
    of: Vec<&'a ReportVerdict>,
    words: DifferenceWords,
    tally: CellTally,
}

/// The changes that lead the parts which answer the question; if none does, and `any`, those that lead any part.
fn changes(chapters: &[Chapter], any: bool) -> Vec<Change<'_>> {
    let answering = chapters.iter().any(|chapter| chapter.answers);
    let asked = chapters.iter().filter(|chapter| if answering { chapter.answers } else { any });
    let mut changes: Vec<Change<'_>> = Vec::new();
    for verdict in asked.flat_map(|chapter| chapter.report.verdicts.iter().filter(|verdict| verdict.leads)) {
        let Some((words, tally)) = verdict.tally else { continue };
        // A time is a speed the other way round.
        let tally = if words.is_speed() && verdict.better == "lower" { tally.inverted() } else { tally };
        let same = |change: &&mut Change<'_>| {
            let known = change.of[0];
            let alike = (words.is_speed() && change.words.is_speed()) || known.metric == verdict.metric;
            let sides = |it: &ReportVerdict| (it.side_a.clone(), it.side_b.clone(), it.differs.clone());
            let refused = |it: &ReportVerdict| it.verdict == Outcome::Refused;
            alike && sides(known) == sides(verdict) && refused(known) == refused(verdict)
        };
        match changes.iter_mut().find(same) {
            Some(known) => {
                known.tally = known.tally.and(tally);
                known.of.push(verdict);
            }
            None => changes.push(Change { of: vec![verdict], words, tally }),
        }
    }
    changes
}

impl Change<'_> {
    /// "The queue switched on: faster in 24 of 54 cases, up to 1.30 times as fast; slower in 2, down to 0.93 times; no
    /// difference in 28."
    fn sentence(&self) -> String {
        let first = self.of[0];
        if first.verdict == Outcome::Refused {
            return format!("{}: refused, for the sides differ in more than that.", first.name);
        }
        let at_once = match &first.at_once[..] {
            [] => String::new(),
            several => format!(" (which changes {} at once)", listed(several, "and")),
        };
        let price = self.of.iter().filter(|verdict| verdict.loses).filter_map(|verdict| verdict.price.as_deref());
        let price = price.min_by_key(|price| price.len()).map(|price| format!("; {price}"));
        let counts = self.counts().join("; ");
        format!("{}{at_once}: {counts}{}.", first.name, price.unwrap_or_default())
    }

    fn counts(&self) -> Vec<String> {
        let CellTally { better, worse, same, undecided, best, worst } = self.tally;
        let speed = self.words.is_speed();
        let [ahead, behind] = match speed {
            true => ["faster", "slower"],
            false => [Outcome::Faster, Outcome::Slower].map(|outcome| self.words.word(outcome)),
        };
        let by = |ratio: Option<f64>| {
            let Some(ratio) = ratio else { return String::new() };
            let way = if ratio > 1.0 { "up to" } else { "down to" };
            match speed {
                true => format!(", {way} {} times as fast", short(ratio)),
                false => format!(", {way} {}", self.words.times(&short(ratio))),
            }
        };
        let ahead = match self.of.iter().any(|verdict| verdict.tempered && !verdict.loses) {
            true => format!("{ahead} for less work"),
            false => ahead.to_owned(),
        };
        let all = [
            (ahead, better, by(best)),
            (behind.to_owned(), worse, by(worst)),
            ("no difference".to_owned(), same, String::new()),
            ("undecided".to_owned(), undecided, String::new()),
        ];
        let mut said: Vec<String> = Vec::new();
        for (word, count, by) in all.into_iter().filter(|(_, count, _)| *count > 0) {
            said.push(match (said.is_empty(), self.tally.cells()) {
                (true, 1) => format!("{word} in the one case{by}"),
                (true, cells) if cells == count => format!("{word} in all {cells} cases{by}"),
                (true, cells) => format!("{word} in {count} of {cells} cases{by}"),
                (false, _) => format!("{word} in {count}{by}"),
            });
        }
        said
    }
}

/// A ratio in two or three figures.
fn short(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 9.95 => format!("{ratio:.0}"),
        ratio if ratio >= 1.95 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

/// A level over all kinds of work.
struct Level<'a> {
    name: &'a str,
    /// Kinds of work for which it is best, or as good.
    first: usize,
    /// The least share of the best that it has, and in which kind of work.
    least: (f64, &'a str),
}

/// Which level is best for most kinds of work and how far it falls behind in the worst of them; and the level that falls least,
/// if that is another.
fn best_level(rows: &[&ReportBest]) -> Option<String> {
    let factor = &rows.first()?.factor;
    let rows: Vec<&&ReportBest> = rows.iter().filter(|row| row.factor == *factor).collect();
    let mut levels: Vec<Level<'_>> = Vec::new();
    for row in &rows {
        for share in &row.levels {
            let first = usize::from(share.alike);
            match levels.iter_mut().find(|level| level.name == share.level) {
                Some(level) => {
                    level.first += first;
                    if share.ratio < level.least.0 {
                        level.least = (share.ratio, &row.work);
                    }
                }
                None => levels.push(Level { name: &share.level, first, least: (share.ratio, &row.work) }),
            }
        }
    }
    // The first of equal ones.
    let most = levels.iter().rev().max_by_key(|level| level.first)?;
    let safest = levels.iter().rev().max_by(|one, other| one.least.0.total_cmp(&other.least.0))?;
    let percent = |level: &Level<'_>| format!("{:.0} % of the best", 100.0 * level.least.0);
    let kinds = rows.len();
    let Level { name, first, least: (_, work) } = most;
    let lead = format!("Of {factor}, {name} is best, or as good, for {first} of {kinds} kinds of work");
    Some(match safest.name == *name {
        true => format!("{lead}, and never worse than {}.", percent(most)),
        false => format!(
            "{lead}, but falls to {} for \u{201c}{work}\u{201d}; {} is so for {}, and never worse than {}.",
            percent(most),
            safest.name,
            safest.first,
            percent(safest)
        ),
    })
}

/// How many of the published findings that can hold or fail come out again.
fn came_out(claims: &[&ReportClaim]) -> Option<String> {
    let in_part = ClaimAnswer::InPart.words();
    let count = |wanted: &dyn Fn(&ReportClaim) -> bool| claims.iter().filter(|claim| wanted(claim)).count();
    let held = count(&|claim| claim.reproduced == Some(true) && claim.answer != in_part);
    let part = count(&|claim| claim.reproduced == Some(true) && claim.answer == in_part);
    let so_far = count(&|claim| claim.reproduced.is_none() && claim.pending.is_some());
    let failed = count(&|claim| claim.reproduced == Some(false));
    let all = held + part + so_far + failed;
    let only = if 2 * failed > all { "Only " } else { "" };
    let more = [(part, " in part"), (so_far, " so far, with one check left to seekwise claims"), (failed, "")];
    let more = more.iter().filter(|(count, _)| *count > 0).map(|(count, how)| match (how, count) {
        (&"", 1) => "1 does not".to_owned(),
        (&"", _) => format!("{count} do not"),
        (how, _) => format!("{count} more{how}"),
    });
    let come = if held == 1 { "comes" } else { "come" };
    let held = format!("{only}{held} of {all} published findings {come} out again");
    let said: Vec<String> = [held].into_iter().chain(more).collect();
    (all > 0).then(|| format!("{}.", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use seekwise_formats::metric::{IOPS, Metric};

    use super::*;
    use crate::report::{Report, ReportShare};
    use Outcome::{Faster, NoDifference, NotEnoughData, Refused, Slower};

    fn verdict(metric: &Metric, cells: &[(Outcome, f64)]) -> ReportVerdict {
        let tally = CellTally::of(cells.iter().copied());
        ReportVerdict {
            name: "The queue switched on".to_owned(),
            leads: true,
            side_a: "off".to_owned(),
            side_b: "on".to_owned(),
            metric: metric.title(),
            better: metric.better().to_owned(),
            verdict: tally.outcome(),
            tally: Some((DifferenceWords::of(metric), tally)),
            ..ReportVerdict::default()
        }
    }

    fn chapter(answers: bool, verdicts: Vec<ReportVerdict>) -> Chapter {
        Chapter { answers, report: Report { verdicts, ..Report::default() }, ..Chapter::default() }
    }

    fn metric(word: &str) -> Metric {
        word.parse().unwrap()
    }

    #[test]
    fn cases_of_one_change_are_counted_together_whatever_they_are_measured_by() {
        let rates = [(Faster, 1.3), (Faster, 1.1), (Slower, 0.93), (NoDifference, 1.0)];
        let chapters = [
            chapter(true, vec![verdict(&IOPS, &rates)]),
            chapter(true, vec![verdict(&metric("elapsed"), &[(Faster, 0.25), (NotEnoughData, 1.5)])]),
            chapter(false, vec![verdict(&IOPS, &[(Slower, 0.1)])]),
        ];
        assert_eq!(
            answer(&chapters),
            [
                "The queue switched on: faster in 3 of 6 cases, up to 4.0 times as fast; slower in 1, down to 0.93 times as \
              fast; no difference in 1; undecided in 1."
            ]
        );
    }

    #[test]
    fn nothing_is_said_that_no_cell_says() {
        let of = |cells: &[(Outcome, f64)]| answer(&[chapter(false, vec![verdict(&IOPS, cells)])]);
        assert_eq!(of(&[(NotEnoughData, 3.0)]), ["The queue switched on: undecided in the one case."]);
        assert_eq!(of(&[(NoDifference, 1.0); 2]), ["The queue switched on: no difference in all 2 cases."]);
        let refused = ReportVerdict { verdict: Refused, ..verdict(&IOPS, &[(Faster, 2.0)]) };
        let said = answer(&[chapter(true, vec![refused])]);
        assert_eq!(said, ["The queue switched on: refused, for the sides differ in more than that."]);
        assert!(answer(&[chapter(true, Vec::new())]).is_empty());
    }

    #[test]
    fn what_takes_a_gain_back_stands_with_it() {
        let mut priced = verdict(&IOPS, &[(Faster, 2.0)]);
        priced.set_price("but a power cut loses 1 write".to_owned(), true);
        priced.at_once = vec!["the controller".to_owned(), "the bus".to_owned()];
        let mut less = verdict(&metric("cpu"), &[(Faster, 0.5)]);
        less.temper("for less work");
        assert_eq!(
            answer(&[chapter(true, vec![priced, less])]),
            [
                "The queue switched on (which changes the controller and the bus at once): faster in the one case, up to 2.0 times as \
                 fast; but a power cut loses 1 write.",
                "The queue switched on: less processor use for less work in the one case, down to 0.50 × as much."
            ]
        );
    }

    #[test]
    fn a_level_that_falls_less_is_named_beside_the_one_that_is_first_most_often() {
        let row = |work: &str, ratios: [f64; 2]| {
            let share = |(level, ratio): (&str, f64)| ReportShare {
                level: level.to_owned(),
                ratio,
                alike: ratio > 0.98,
                ..ReportShare::default()
            };
            let levels = ["64", "adaptive"].into_iter().zip(ratios).map(share).collect();
            ReportBest { work: work.to_owned(), factor: "segments".to_owned(), levels, ..ReportBest::default() }
        };
        let rows = [row("writes", [1.0, 0.9]), row("servers", [1.0, 0.99]), row("reads", [0.54, 1.0])];
        let said = |rows: &[ReportBest]| best_level(&rows.iter().collect::<Vec<_>>()).unwrap();
        // Both are first in two: the one that stands first.
        assert_eq!(
            said(&rows),
            "Of segments, 64 is best, or as good, for 2 of 3 kinds of work, but falls to 54 % of the best for “reads”; \
             adaptive is so for 2, and never worse than 90 % of the best."
        );
        assert_eq!(
            said(&rows[..2]),
            "Of segments, 64 is best, or as good, for 2 of 2 kinds of work, and never worse than 100 % of the best."
        );
    }

    #[test]
    fn findings_that_mostly_fail_are_said_to() {
        let claim = |reproduced, answer: &str, pending: Option<&str>| ReportClaim {
            reproduced,
            answer: answer.to_owned(),
            pending: pending.map(str::to_owned),
            ..ReportClaim::default()
        };
        let (yes, no) = (claim(Some(true), "reproduced", None), claim(Some(false), "not reproduced", None));
        let (part, open) = (claim(Some(true), "reproduced in part", None), claim(None, "", Some("if")));
        assert_eq!(
            came_out(&[&yes, &no, &no, &no, &open]).unwrap(),
            "Only 1 of 5 published findings comes out again; 1 more so far, with one check left to seekwise claims; 3 do not."
        );
        assert_eq!(
            came_out(&[&yes, &part, &no]).unwrap(),
            "1 of 3 published findings comes out again; 1 more in part; 1 does not."
        );
        // What has another test to come does not count as failed.
        assert!(came_out(&[&yes, &no, &open, &open]).unwrap().starts_with("1 of 4 published"));
        assert_eq!(came_out(&[]), None);
    }
}
