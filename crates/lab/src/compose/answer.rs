//! The answer of a whole review in a few plain sentences, made from the results of its parts: which level is best for most kinds of work,
//! what each change gains and loses (`changes`), and how many published findings are reproduced. If most are not, the first sentence says
//! so.

mod changes;

use crate::finding::ClaimAnswer;
use crate::report::review::{AnswerSentence, BriefAnswer, Chapter};
use crate::report::{ReportBest, ReportClaim, ReportShare};

/// The sentences of the answer; the first one answers the review's question.
pub fn summarize_review(chapters: &[Chapter]) -> Vec<AnswerSentence> {
    let best_rows: Vec<&ReportBest> = chapters.iter().flat_map(|chapter| &chapter.report.best).collect();
    let claims: Vec<&ReportClaim> = chapters.iter().flat_map(|chapter| &chapter.report.claims).collect();
    let counts = ReproductionCounts::from_claims(&claims);
    let model_doubted = counts.as_ref().is_some_and(ReproductionCounts::mostly_fails);
    let changes = changes::sentences_on_changes(chapters, best_rows.is_empty());
    let mut sentences: Vec<AnswerSentence> =
        best_level_sentences(&best_rows, model_doubted).into_iter().chain(changes).collect();
    match (counts, sentences.first_mut()) {
        (Some(counts), Some(first)) if model_doubted => {
            let otherwise = if best_rows.is_empty() { "do otherwise" } else { "rank them otherwise" };
            let answer = first.says.trim_end_matches('.');
            first.says = format!("{answer}. But {}, so a real drive may well {otherwise}.", counts.counts_text(", "));
        }
        (Some(counts), _) => {
            sentences.push(AnswerSentence { says: counts.sentence_with_advice(), ..AnswerSentence::default() })
        }
        (None, _) => {}
    }
    sentences
}

/// The answer in short: the level that is best most often, or in how many cases each change gains and loses.
pub fn brief_answer(chapters: &[Chapter]) -> BriefAnswer {
    let best_rows: Vec<&ReportBest> = chapters.iter().flat_map(|chapter| &chapter.report.best).collect();
    if best_rows.is_empty() {
        return changes::brief_answer_on_changes(chapters);
    }
    let claims: Vec<&ReportClaim> = chapters.iter().flat_map(|chapter| &chapter.report.claims).collect();
    let model_doubted = ReproductionCounts::from_claims(&claims).is_some_and(|counts| counts.mostly_fails());
    let says = brief_best_level(&best_rows, model_doubted).unwrap_or_default();
    BriefAnswer { says, lines: Vec::new() }
}

/// The level that is best for most kinds of work, and the one that falls behind least.
fn brief_best_level(rows: &[&ReportBest], model_doubted: bool) -> Option<String> {
    let factor = &rows.first()?.factor;
    let rows: Vec<&ReportBest> = rows.iter().copied().filter(|row| row.factor == *factor).collect();
    let levels = level_standings(&rows);
    let (most, safest) = (most_often_best(&levels)?, least_behind(&levels)?);
    let named = |level: &str| if level.parse::<f64>().is_ok() { format!("{factor} {level}") } else { level.to_owned() };
    let best = if model_doubted { "In this model, best" } else { "Best" };
    let floor = format!("never below {:.0} % of the best", 100.0 * safest.worst_ratio);
    let lead = format!("{best} or as good for {} of {} kinds of work: {}", most.wins, rows.len(), named(most.name));
    Some(match safest.name == most.name {
        true => format!("{lead}, {floor}."),
        false => format!("{lead}; {floor}: {}.", named(safest.name)),
    })
}

/// How a level does over all kinds of work.
struct LevelStanding<'a> {
    name: &'a str,
    /// Number of kinds of work for which it is best, or as good.
    wins: usize,
    /// Its lowest ratio to the best level, and the kind of work that has it.
    worst_ratio: f64,
    worst_work: &'a str,
}

/// Sentences on the levels of the first factor of `rows`: which is best, and what it gains and loses against the factor's first level.
fn best_level_sentences(rows: &[&ReportBest], model_doubted: bool) -> Vec<AnswerSentence> {
    let Some(factor) = rows.first().map(|row| &row.factor) else { return Vec::new() };
    let rows: Vec<&ReportBest> = rows.iter().copied().filter(|row| row.factor == *factor).collect();
    let levels = level_standings(&rows);
    let best = best_level_sentence(factor, &rows, &levels, model_doubted);
    let best = best.map(|says| AnswerSentence { says, ..AnswerSentence::default() });
    best.into_iter().chain(gains_over_first_level(factor, &rows, &levels)).collect()
}

/// The standing of each level over all kinds of work, in the factor's order.
fn level_standings<'a>(rows: &[&'a ReportBest]) -> Vec<LevelStanding<'a>> {
    let mut levels: Vec<LevelStanding<'_>> = Vec::new();
    for row in rows {
        for share in &row.levels {
            let win = usize::from(share.alike);
            match levels.iter_mut().find(|level| level.name == share.level) {
                Some(level) => {
                    level.wins += win;
                    if share.ratio < level.worst_ratio {
                        level.worst_ratio = share.ratio;
                        level.worst_work = &row.work;
                    }
                }
                None => levels.push(LevelStanding {
                    name: &share.level,
                    wins: win,
                    worst_ratio: share.ratio,
                    worst_work: &row.work,
                }),
            }
        }
    }
    levels
}

/// The level that is best for the most kinds of work; the first one of equals.
fn most_often_best<'l, 'a>(levels: &'l [LevelStanding<'a>]) -> Option<&'l LevelStanding<'a>> {
    levels.iter().rev().max_by_key(|level| level.wins)
}

/// The level whose worst kind of work is the least bad; the first one of equals.
fn least_behind<'l, 'a>(levels: &'l [LevelStanding<'a>]) -> Option<&'l LevelStanding<'a>> {
    levels.iter().rev().max_by(|one, other| one.worst_ratio.total_cmp(&other.worst_ratio))
}

/// The sentence on the level that is best for most kinds of work, and how far it falls behind in the worst of them. If another level falls
/// behind less, the sentence recommends that one for all kinds. If `model_doubted`, it speaks of the model alone.
fn best_level_sentence(
    factor: &str,
    rows: &[&ReportBest],
    levels: &[LevelStanding<'_>],
    model_doubted: bool,
) -> Option<String> {
    let most = most_often_best(levels)?;
    let safest = least_behind(levels)?;
    let percent = |level: &LevelStanding<'_>| format!("{:.0} % of the best", 100.0 * level.worst_ratio);
    let kinds = rows.len();
    let LevelStanding { name, wins, worst_work: work, .. } = most;
    let of = if model_doubted { "In this model, of" } else { "Of" };
    let lead = format!("{of} {factor}, {name} is best, or as good, for {wins} of {kinds} kinds of work");
    Some(match safest.name == *name {
        true => format!("{lead}, and never worse than {}.", percent(most)),
        false => format!(
            "{lead}, but falls to {} for \u{201c}{work}\u{201d}; {other} is so for {}, and never worse than {}: where one must do for all of \
             them, take {other}.",
            percent(most),
            safest.wins,
            percent(safest),
            other = safest.name
        ),
    })
}

/// The sentence on what the level that is best most often gains and loses against the factor's first level; `None` if it is that level. A
/// level is ahead or behind if the ratio exceeds the margin and the intervals do not overlap.
fn gains_over_first_level(factor: &str, rows: &[&ReportBest], levels: &[LevelStanding<'_>]) -> Option<AnswerSentence> {
    let (base, most) = (levels.first()?, most_often_best(levels)?);
    // Kinds of work in which the two levels surely differ: how many times as good the best one is, and the name of the work.
    let mut sure: Vec<(f64, &str)> = Vec::new();
    for row in rows {
        let share = |level: &LevelStanding<'_>| row.levels.iter().find(|share| share.level == level.name);
        let (Some(of_best), Some(of_base)) = (share(most), share(base)) else { continue };
        let apart = |upper: &ReportShare, lower: &ReportShare| {
            upper.low > lower.high && upper.ratio / lower.ratio > 1.0 + row.margin_percent / 100.0
        };
        if apart(of_best, of_base) || apart(of_base, of_best) {
            sure.push((of_best.ratio / of_base.ratio, &row.work));
        }
    }
    sure.sort_by(|one, other| other.0.total_cmp(&one.0));
    let count = |ahead: bool| sure.iter().filter(|(ratio, _)| (*ratio > 1.0) == ahead).count();
    let side = |(word, ahead): (&str, bool)| {
        let furthest = if ahead { sure.first() } else { sure.last() };
        let (ratio, work) = furthest.filter(|(ratio, _)| (*ratio > 1.0) == ahead)?;
        Some(format!("{word} in {}, most in \u{201c}{work}\u{201d} ({ratio:.2} times as good)", count(ahead)))
    };
    let rest = rows.len() - sure.len();
    let rest = (rest > 0).then(|| format!("not surely apart in {rest}"));
    let counts: Vec<String> = [("ahead", true), ("behind", false)].into_iter().filter_map(side).chain(rest).collect();
    let about = format!("Of {factor}, {} against {}", most.name, base.name);
    (most.name != base.name)
        .then(|| AnswerSentence { about, says: format!("of {} kinds of work {}.", rows.len(), counts.join("; ")) })
}

/// Numbers of published findings by outcome, of those that can hold or fail.
struct ReproductionCounts {
    held: usize,
    /// Reproduced in part: no check covers the rest of the finding.
    in_part: usize,
    /// Reproduced so far: one check has not run yet.
    so_far: usize,
    failed: usize,
}

impl ReproductionCounts {
    /// Counts the claims; `None` if none can hold or fail.
    fn from_claims(claims: &[&ReportClaim]) -> Option<ReproductionCounts> {
        let words_in_part = ClaimAnswer::InPart.words();
        let count = |wanted: &dyn Fn(&ReportClaim) -> bool| claims.iter().filter(|claim| wanted(claim)).count();
        let counts = ReproductionCounts {
            held: count(&|claim| claim.reproduced == Some(true) && claim.answer != words_in_part),
            in_part: count(&|claim| claim.reproduced == Some(true) && claim.answer == words_in_part),
            so_far: count(&|claim| claim.reproduced.is_none() && claim.pending.is_some()),
            failed: count(&|claim| claim.reproduced == Some(false)),
        };
        (counts.total_claims() > 0).then_some(counts)
    }

    fn total_claims(&self) -> usize {
        self.held + self.in_part + self.so_far + self.failed
    }

    fn mostly_fails(&self) -> bool {
        2 * self.failed > self.total_claims()
    }

    /// The counts in words, joined by `separator`.
    fn counts_text(&self, separator: &str) -> String {
        let only = if self.mostly_fails() { "only " } else { "" };
        // Counts besides those that hold, each with its words; failed ones have words of their own below.
        let more = [
            (self.in_part, " in part"),
            (self.so_far, " so far (seekwise claims runs the last check)"),
            (self.failed, ""),
        ];
        let more = more.iter().filter(|(count, _)| *count > 0).map(|(count, how)| match (how, count) {
            (&"", 1) => "1 does not".to_owned(),
            (&"", _) => format!("{count} do not"),
            (how, _) => format!("{count} more{how}"),
        });
        let come = if self.held == 1 { "comes" } else { "come" };
        let held = format!("{only}{} of {} published findings {come} out again", self.held, self.total_claims());
        [held].into_iter().chain(more).collect::<Vec<_>>().join(separator)
    }

    /// The counts as a sentence that also says whether to rely on the model.
    fn sentence_with_advice(&self) -> String {
        let text = self.counts_text("; ");
        let text = text.strip_prefix("only ").map_or(text.clone(), |rest| format!("Only {rest}"));
        match self.failed {
            0 => format!("{text}."),
            1 => format!("{text}: for what it is about, do not rely on the model."),
            _ => format!("{text}: for what these are about, do not rely on the model."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, ReportShare};

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
        let said = |rows: &[ReportBest]| best_level_sentences(&rows.iter().collect::<Vec<_>>(), false)[0].to_sentence();
        // Both are first in two: the one that stands first.
        assert_eq!(
            said(&rows),
            "Of segments, 64 is best, or as good, for 2 of 3 kinds of work, but falls to 54 % of the best for “reads”; \
             adaptive is so for 2, and never worse than 90 % of the best: where one must do for all of them, take adaptive."
        );
        assert_eq!(
            said(&rows[..2]),
            "Of segments, 64 is best, or as good, for 2 of 2 kinds of work, and never worse than 100 % of the best."
        );
    }

    #[test]
    fn in_short_the_best_level_stands_beside_the_one_that_falls_least() {
        let share = |(level, ratio): (&str, f64)| {
            let (level, alike) = (level.to_owned(), ratio > 0.98);
            ReportShare { level, ratio, alike, ..ReportShare::default() }
        };
        let row = |ratios: [f64; 2]| {
            let levels = ["64", "adaptive"].into_iter().zip(ratios).map(share).collect();
            ReportBest { factor: "segments".to_owned(), levels, ..ReportBest::default() }
        };
        let said = |best: Vec<ReportBest>| {
            let report = Report { best, ..Report::default() };
            brief_answer(&[Chapter { report, ..Chapter::default() }])
        };
        let brief = said(vec![row([1.0, 0.9]), row([1.0, 0.97]), row([0.5, 1.0])]);
        let words = "Best or as good for 2 of 3 kinds of work: segments 64; never below 90 % of the best: adaptive.";
        assert_eq!((&brief.says[..], brief.lines.len()), (words, 0));
        let alone = said(vec![row([1.0, 0.9]), row([1.0, 0.97])]).says;
        assert_eq!(alone, "Best or as good for 2 of 2 kinds of work: segments 64, never below 100 % of the best.");
    }

    #[test]
    fn the_best_level_gains_and_loses_against_the_first_what_is_sure() {
        let share = |level: &str, ratio: f64, half: f64| {
            let (low, high) = (ratio - half, ratio + half);
            ReportShare { level: level.to_owned(), ratio, low, high, alike: ratio > 0.98 }
        };
        let row = |work: &str, four: (f64, f64), many: (f64, f64)| {
            let levels = vec![share("4", four.0, four.1), share("64", many.0, many.1)];
            let (work, factor) = (work.to_owned(), "segments".to_owned());
            ReportBest { work, factor, levels, margin_percent: 2.0, ..ReportBest::default() }
        };
        let rows = [
            row("servers", (0.8, 0.01), (1.0, 0.0)),
            row("writes", (0.5, 0.01), (1.0, 0.0)),
            row("reads", (1.0, 0.0), (0.6, 0.01)),
            row("wide", (0.9, 0.14), (1.0, 0.0)),
            row("within the margin", (0.99, 0.001), (1.0, 0.0)),
        ];
        let said = |rows: &[ReportBest]| best_level_sentences(&rows.iter().collect::<Vec<_>>(), false)[1..].to_vec();
        assert_eq!(
            said(&rows)[0].to_sentence(),
            "Of segments, 64 against 4: of 5 kinds of work ahead in 2, most in “writes” (2.00 times as good); behind in 1, most in “reads” \
             (0.60 times as good); not surely apart in 2."
        );
        assert!(said(&rows[2..3]).is_empty(), "the first is best");
    }

    fn claim(reproduced: Option<bool>, answer: &str, pending: Option<&str>) -> ReportClaim {
        ReportClaim {
            reproduced,
            answer: answer.to_owned(),
            pending: pending.map(str::to_owned),
            ..ReportClaim::default()
        }
    }

    #[test]
    fn findings_are_counted_and_what_follows_is_said() {
        let (yes, no) = (claim(Some(true), "reproduced", None), claim(Some(false), "not reproduced", None));
        let (part, open) = (claim(Some(true), "reproduced in part", None), claim(None, "", Some("if")));
        let sentence =
            |claims: &[&ReportClaim]| ReproductionCounts::from_claims(claims).unwrap().sentence_with_advice();
        assert_eq!(
            sentence(&[&yes, &no, &no, &no, &open]),
            "Only 1 of 5 published findings comes out again; 1 more so far (seekwise claims runs the last check); 3 do not: for what \
             these are about, do not rely on the model."
        );
        assert_eq!(
            sentence(&[&yes, &part, &no]),
            "1 of 3 published findings comes out again; 1 more in part; 1 does not: for what it is about, do not rely on the model."
        );
        assert_eq!(sentence(&[&yes, &yes]), "2 of 2 published findings come out again.");
        // A claim with a check to come does not count as failed.
        assert!(sentence(&[&yes, &no, &open, &open]).starts_with("1 of 4 published"));
        assert!(ReproductionCounts::from_claims(&[]).is_none());
    }

    #[test]
    fn where_most_findings_fail_the_answer_itself_says_so() {
        let share = |level: &str, ratio: f64| ReportShare {
            level: level.to_owned(),
            ratio,
            alike: ratio > 0.98,
            ..ReportShare::default()
        };
        let levels = vec![share("64", 1.0), share("4", 0.5)];
        let best = vec![ReportBest {
            work: "reads".to_owned(),
            factor: "segments".to_owned(),
            levels,
            ..ReportBest::default()
        }];
        let claims = |failed: usize| {
            let no = claim(Some(false), "not reproduced", None);
            let all = std::iter::repeat_n(no, failed).chain([claim(Some(true), "reproduced", None)]);
            all.collect::<Vec<_>>()
        };
        let said = |best: &[ReportBest], failed: usize| {
            let report = Report { best: best.to_vec(), claims: claims(failed), ..Report::default() };
            let said = summarize_review(&[Chapter { report, ..Chapter::default() }]);
            said.iter().map(AnswerSentence::to_sentence).collect::<Vec<_>>()
        };
        assert_eq!(
            said(&best, 3),
            [
                "In this model, of segments, 64 is best, or as good, for 1 of 1 kinds of work, and never worse than 100 % of the best. But only \
              1 of 4 published findings comes out again, 3 do not, so a real drive may well rank them otherwise."
            ]
        );
        let trusted = said(&best, 1);
        assert!(trusted[0].starts_with("Of segments") && trusted[1].starts_with("1 of 2 published"), "{trusted:?}");
        assert_eq!(said(&[], 3).len(), 1, "where nothing answers, the findings are all there is");
    }
}
