//! Sentences of a review's answer on each change that its parts judge in their leading comparisons, such as "the queue switched on".
//!
//! A sentence says in how many cases the change gains and loses, by how much, and where it loses most; a case is a cell of a part. If cases
//! differ in a second change of the answer, there is a sentence for the change alone and one for both. Further sentences give the processor
//! time for the same work, the loss in a power cut, and two changes together against neither.

use crate::compose::parts::{is_held_level, level_in_words};
use crate::finding::{CellCase, CellTally, join_words};
use crate::outcome::{DifferenceWords, Outcome};
use crate::report::review::{AnswerSentence, BriefAnswer, BriefCase, BriefLine, Chapter};
use crate::report::{JudgedCases, ReportVerdict};

/// Ratio of the ends of a range from which on the range is given part by part: about half an order of magnitude.
const WIDE: f64 = 3.0;

/// The sentences on the changes of all parts that answer the question. If no part does, they are on the changes of all parts if
/// `else_all_parts`, otherwise there are none.
pub(crate) fn sentences_on_changes(chapters: &[Chapter], else_all_parts: bool) -> Vec<AnswerSentence> {
    let all = collect_changes(chapters, else_all_parts);
    // Concerns that change at once are named only in the first answer about the same sides.
    let sides = |index: usize| {
        let ReportVerdict { side_a, side_b, at_once, .. } = all[index].verdicts[0];
        (side_a, side_b, at_once)
    };
    let are_named = |index: usize| (0..index).any(|earlier| sides(earlier) == sides(index));
    let outcomes = all.iter().enumerate().flat_map(|(index, change)| change.outcome_sentences(&all, are_named(index)));
    let combined = all.iter().enumerate().filter_map(|(index, change)| change.combined_sentence(&all[index + 1..]));
    outcomes.chain(combined).collect()
}

/// Changes that the answer in short names.
const BRIEF_CHANGES: usize = 4;

/// The answer in short on the changes that [`sentences_on_changes`] tells. If the question has halves, the first change of each answers it.
pub(crate) fn brief_answer_on_changes(chapters: &[Chapter]) -> BriefAnswer {
    let all = collect_changes(chapters, true);
    let mut named: Vec<&JudgedChange<'_>> = Vec::new();
    for change in &all {
        let is_told = named.iter().any(|known| known.half.is_some() && known.half == change.half);
        if !is_told && named.len() < BRIEF_CHANGES {
            named.push(change);
        }
    }
    match named[..] {
        [only] => BriefAnswer { says: only.brief_sentence(), lines: only.lines_by_part() },
        _ => {
            let line = |change: &&JudgedChange<'_>| brief_line(change.brief_sentence(), change.brief_cases());
            BriefAnswer { says: String::new(), lines: named.iter().map(line).collect() }
        }
    }
}

fn brief_line<'a>(says: String, cases: impl IntoIterator<Item = &'a ChangeCase<'a>>) -> BriefLine {
    let brief = |case: &ChangeCase<'_>| {
        let inverse = case.verdict.better == "lower";
        let ratio = if inverse { case.cell.ratio.recip() } else { case.cell.ratio };
        BriefCase { ratio, verdict: case.cell.outcome }
    };
    BriefLine { says, cases: cases.into_iter().map(brief).collect() }
}

/// A change, with the verdicts on it of all parts that answer one half of the review's question; of all parts if it has no halves.
struct JudgedChange<'a> {
    /// At least one.
    verdicts: Vec<&'a ReportVerdict>,
    /// The half that the parts answer ([`Chapter::half`]).
    half: Option<&'a str>,
    words: DifferenceWords,
    cases: Vec<ChangeCase<'a>>,
    /// The cases judged by processor time for a request, if the metric is processor use.
    per_request: Vec<ChangeCase<'a>>,
}

/// A case of a change: one cell of one part.
#[derive(Clone, Copy)]
struct ChangeCase<'a> {
    part: &'a Chapter,
    verdict: &'a ReportVerdict,
    cell: &'a CellCase,
    /// Above 1 for a gain in speed: the ratio of two times is inverted.
    ratio: f64,
}

/// Some cases of a change.
struct CaseGroup<'a> {
    /// Words after the change's name that tell these cases from its others.
    words: String,
    cases: Vec<ChangeCase<'a>>,
}

fn collect_changes(chapters: &[Chapter], else_all_parts: bool) -> Vec<JudgedChange<'_>> {
    let some_answer = chapters.iter().any(|chapter| chapter.answers);
    let chosen = chapters.iter().filter(|chapter| if some_answer { chapter.answers } else { else_all_parts });
    let leading = |part| {
        let Chapter { report, .. }: &Chapter = part;
        report.verdicts.iter().filter(|verdict| verdict.leads).map(move |verdict| (part, verdict))
    };
    let mut changes: Vec<JudgedChange<'_>> = Vec::new();
    for (part, verdict) in chosen.flat_map(leading) {
        let Some(JudgedCases { words, cases }) = &verdict.cases else { continue };
        let is_time = words.is_speed() && verdict.better == "lower";
        let gain = |cell: &'_ CellCase| if is_time { cell.ratio.recip() } else { cell.ratio };
        let cases = cases.iter().map(|cell| ChangeCase { part, verdict, cell, ratio: gain(cell) });
        let per_request = verdict.per_request.iter().flat_map(|judged| &judged.cases);
        let per_request = per_request.map(|cell| ChangeCase { part, verdict, cell, ratio: cell.ratio });
        let half = part.half.as_deref();
        match changes.iter_mut().find(|known| known.half == half && known.is_judged_by(verdict, *words)) {
            Some(known) => {
                known.cases.extend(cases);
                known.per_request.extend(per_request);
                known.verdicts.push(verdict);
            }
            None => changes.push(JudgedChange {
                verdicts: vec![verdict],
                half,
                words: *words,
                cases: cases.collect(),
                per_request: per_request.collect(),
            }),
        }
    }
    changes
}

impl<'a> JudgedChange<'a> {
    /// True if `verdict`, whose differences are worded by `words`, judges this change.
    fn is_judged_by(&self, verdict: &ReportVerdict, words: DifferenceWords) -> bool {
        let own = self.verdicts[0];
        let alike = (words.is_speed() && self.words.is_speed()) || own.metric == verdict.metric;
        let sides = |one: &ReportVerdict| (one.side_a.clone(), one.side_b.clone(), one.differs.clone());
        let refused = |one: &ReportVerdict| one.verdict == Outcome::Refused;
        alike && sides(own) == sides(verdict) && refused(own) == refused(verdict)
    }

    /// Sentences on the outcomes, such as "The queue switched on: faster in 24 of 54 cases, 1.10 to 1.30 times as fast; slower in 2, 0.93
    /// times (worst: depth 64); no difference in 28." There is one for each group of cases ([`JudgedChange::group_cases_by`]), and one for
    /// the price. The first names the concerns that change at once, unless these `are_named` already.
    fn outcome_sentences(&self, all: &[JudgedChange<'_>], are_named: bool) -> Vec<AnswerSentence> {
        let first = self.verdicts[0];
        let sentence = |words: &str, says: String| self.sentence_with_half(&format!("{}{words}", first.name), says);
        if first.verdict == Outcome::Refused {
            return vec![sentence("", "refused, for the sides differ in more than that.".to_owned())];
        }
        let at_once = match &first.at_once[..] {
            [] => String::new(),
            _ if are_named => String::new(),
            several => format!(" It changes {} at once.", join_words(several, "and")),
        };
        let other = all.iter().find(|other| self.has_cases_on_both_sides_of(other));
        let all_cases = || vec![CaseGroup { words: String::new(), cases: self.cases.clone() }];
        let groups = other.map_or_else(all_cases, |other| self.group_cases_by(other));
        let after_gains = self.after_gains();
        let named_factor = other.map(JudgedChange::varied_factor);
        let per_request = self.processor_time_per_request_text();
        let mut sentences: Vec<AnswerSentence> = Vec::new();
        for CaseGroup { words, cases } in &groups {
            let counts = CaseSummary { cases, words: self.words, after_gains, named_factor }.summary_text();
            let at_once = if sentences.is_empty() { &at_once[..] } else { "" };
            sentences.push(sentence(words, format!("{per_request}{counts}.{at_once}")));
        }
        let prices =
            self.verdicts.iter().filter(|verdict| verdict.loses).filter_map(|verdict| verdict.price.as_deref());
        // A longer price also names the part that measured it. The word "but" joins a price to a headline, which is not here.
        let shortest = prices.min_by_key(|price| price.len());
        sentences.extend(shortest.map(|price| sentence("", format!("{}.", price.trim_start_matches("but ")))));
        sentences
    }

    /// The cost of the gains, in words that follow the word for a gain.
    fn after_gains(&self) -> &'static str {
        if self.verdicts.iter().any(|verdict| verdict.loses) {
            ", at a price,"
        } else if self.verdicts.iter().any(|verdict| verdict.tempered) {
            // A gain without a loss is tempered only by less work.
            ", partly for less work,"
        } else {
            ""
        }
    }

    /// The cases that the answer in short counts: those by processor time for a request, if there are any.
    fn brief_cases(&self) -> &[ChangeCase<'a>] {
        if self.per_request.is_empty() { &self.cases } else { &self.per_request }
    }

    /// The change in a few words: in how many cases it gains and loses.
    fn brief_sentence(&self) -> String {
        // The half of the question that it answers, or its name.
        let subject = self.half.unwrap_or(&self.verdicts[0].name);
        if self.verdicts[0].verdict == Outcome::Refused {
            return format!("{subject}: refused.");
        }
        let (words, after_gains) = match self.per_request.is_empty() {
            true => (self.words, self.after_gains()),
            false => (crate::outcome::PROCESSOR_TIME, ""),
        };
        let counts = CaseSummary { cases: self.brief_cases(), words, after_gains, named_factor: None }.brief_text();
        let each = if self.per_request.is_empty() { "" } else { "for each request " };
        format!("{subject}: {each}{counts}.")
    }

    /// A line for each part that judges this change.
    fn lines_by_part(&self) -> Vec<BriefLine> {
        let cases = self.brief_cases();
        let summary = CaseSummary { cases, words: self.words, after_gains: "", named_factor: None };
        let line = |part: &str| brief_line(part.to_owned(), cases.iter().filter(|case| case.part.heading == part));
        summary.part_headings().into_iter().map(line).collect()
    }

    /// The sentence on this change together with the first of `others` that it can be combined with: each has cases on both sides of the
    /// other. The ratio is that of this change alone, times that of the other on top of it; such a product has no verdict of its own.
    fn combined_sentence(&self, others: &[JudgedChange<'_>]) -> Option<AnswerSentence> {
        let speeds =
            |change: &JudgedChange<'_>| change.words.is_speed() && change.verdicts[0].verdict != Outcome::Refused;
        let can_be_combined = |other: &&JudgedChange<'_>| {
            self.half == other.half && self.has_cases_on_both_sides_of(other) && other.has_cases_on_both_sides_of(self)
        };
        let other = others.iter().filter(|other| speeds(self) && speeds(other)).find(can_be_combined)?;
        let [own, then] = [&self.verdicts[0], &other.verdicts[0]];
        let decided = |case: &&ChangeCase<'_>| case.cell.outcome != Outcome::NotEnoughData;
        let without_other = |case: &&ChangeCase<'_>| case.level_of(other.varied_factor()) == Some(&then.side_a);
        let mut cases: Vec<ChangeCase<'_>> = Vec::new();
        for case in self.cases.iter().filter(decided).filter(without_other) {
            let other_on_top = |next: &&ChangeCase<'_>| {
                next.level_of(self.varied_factor()) == Some(&own.side_b)
                    && decided(next)
                    && case.differs_only_in(next, [self.varied_factor(), other.varied_factor()])
            };
            let next = other.cases.iter().find(other_on_top);
            cases.extend(next.map(|next| ChangeCase { ratio: case.ratio * next.ratio, ..*case }));
        }
        let least = cases.iter().min_by(|one, other| one.ratio.total_cmp(&other.ratio))?;
        let most = cases.iter().max_by(|one, other| one.ratio.total_cmp(&other.ratio))?;
        let side =
            |change: &JudgedChange<'_>, level: &str| format!("{} {}", change.varied_factor(), level_in_words(level));
        let both =
            |own_level: &str, other_level: &str| format!("{} with {}", side(self, own_level), side(other, other_level));
        let sides = format!("{}, against {}", both(&own.side_b, &then.side_b), both(&own.side_a, &then.side_a));
        let named_factor = Some(other.varied_factor());
        let summary = CaseSummary { cases: &cases, words: self.words, after_gains: "", named_factor };
        let [low, high] = [least, most].map(|case| (format_ratio(case.ratio), summary.case_conditions(case)));
        let loses = self.verdicts.iter().chain(&other.verdicts).any(|verdict| verdict.loses);
        let cost = if loses { ", at a price" } else { "" };
        let parts = join_words(
            &summary.part_headings().iter().map(|part| format!("\u{201c}{part}\u{201d}")).collect::<Vec<_>>(),
            "and",
        );
        let says = format!(
            "{} ({}) to {} ({}) times as fast{cost}, in the {} cases of {parts}: {sides}. This is the product of the first change alone and \
             the second on top of it.",
            low.0,
            low.1,
            high.0,
            high.1,
            cases.len()
        );
        (cases.len() > 1).then(|| self.sentence_with_half("Both against neither", says))
    }

    /// A sentence whose subject names the half of the question, if there are halves.
    fn sentence_with_half(&self, about: &str, says: String) -> AnswerSentence {
        let about = self.half.map_or(about.to_owned(), |half| format!("{half} \u{2014} {about}"));
        AnswerSentence { about, says }
    }

    /// The summary by processor time for a request; empty if the metric is not processor use. It comes before the summary by share of all
    /// time, which may be less only because less is done.
    fn processor_time_per_request_text(&self) -> String {
        if self.per_request.is_empty() {
            return String::new();
        }
        let words = crate::outcome::PROCESSOR_TIME;
        let counts = CaseSummary { cases: &self.per_request, words, after_gains: "", named_factor: None };
        let counts = counts.summary_text();
        format!("for each request {counts}. As a share of all time: ")
    }

    fn varied_factor(&self) -> &str {
        &self.verdicts[0].varied
    }

    /// True if some cases of this change lie on each side of another change, so that it can be judged alone and together with the other.
    fn has_cases_on_both_sides_of(&self, other: &JudgedChange<'_>) -> bool {
        let has_cases_at = |side: &String| {
            self.cases.iter().any(|case| case.level_of_change(other).is_some_and(|level| level == side))
        };
        let on_both_sides = || [&other.verdicts[0].side_a, &other.verdicts[0].side_b].into_iter().all(has_cases_at);
        !other.varied_factor().is_empty() && self.varied_factor() != other.varied_factor() && on_both_sides()
    }

    /// Groups the cases: without the other change, with it, and those whose level of it is unknown.
    fn group_cases_by(&self, other: &JudgedChange<'_>) -> Vec<CaseGroup<'a>> {
        let [base, changed] = [&other.verdicts[0].side_a, &other.verdicts[0].side_b];
        let side = |level: &str| format!("{} {}", other.varied_factor(), level_in_words(level));
        let cases_at = |is_wanted: &dyn Fn(Option<&str>) -> bool| -> Vec<ChangeCase<'a>> {
            self.cases.iter().copied().filter(|case| is_wanted(case.level_of_change(other))).collect()
        };
        let rest = cases_at(&|level| level.is_none_or(|level| level != base && level != changed));
        let mut parts: Vec<String> = rest.iter().map(|case| format!("\u{201c}{}\u{201d}", case.part.heading)).collect();
        parts.dedup();
        let groups = [
            (format!(" alone, with {}", side(base)), cases_at(&|level| level == Some(base))),
            (format!(" together with {}", side(changed)), cases_at(&|level| level == Some(changed))),
            (format!(" in {}", join_words(&parts, "and")), rest),
        ];
        let groups = groups.into_iter().filter(|(_, cases)| !cases.is_empty());
        groups.map(|(words, cases)| CaseGroup { words, cases }).collect()
    }
}

impl<'a> ChangeCase<'a> {
    /// The level of another change's factor in this case: one that its part varies, or one that its part holds.
    fn level_of_change<'b>(&'b self, other: &'b JudgedChange<'_>) -> Option<&'b str> {
        let is_held =
            |level: &&String| self.part.held.iter().any(|held| is_held_level(held, other.varied_factor(), level));
        let sides = [&other.verdicts[0].side_a, &other.verdicts[0].side_b];
        let held = || sides.into_iter().find(is_held).map(String::as_str);
        self.level_of(other.varied_factor()).or_else(held)
    }

    /// The level of a factor that its part varies; `None` if its part does not vary it.
    fn level_of(&self, factor: &str) -> Option<&'a str> {
        self.cell.levels.iter().find(|(name, _)| name == factor).map(|(_, level)| &level[..])
    }

    /// True if another case is of the same part and metric and differs from this one in nothing but `factors`.
    fn differs_only_in(&self, other: &ChangeCase<'_>, factors: [&str; 2]) -> bool {
        let rest = |case: &ChangeCase<'_>| -> Vec<(String, String)> {
            case.cell.levels.iter().filter(|(factor, _)| !factors.contains(&&factor[..])).cloned().collect()
        };
        std::ptr::eq(self.part, other.part) && self.verdict.metric == other.verdict.metric && rest(self) == rest(other)
    }
}

/// Cases that one sentence summarizes.
struct CaseSummary<'a> {
    cases: &'a [ChangeCase<'a>],
    words: DifferenceWords,
    /// Words after the word for a gain.
    after_gains: &'a str,
    /// A factor whose level the sentence has named already.
    named_factor: Option<&'a str>,
}

impl CaseSummary<'_> {
    /// In how many cases it gains and loses; if in none, what most of them show.
    fn brief_text(&self) -> String {
        let tally = self.tally();
        let [better, worse] = self.outcome_words();
        let cells = tally.cell_count();
        let mut effects = [(format!("{better}{}", self.after_gains), tally.better), (worse.to_owned(), tally.worse)];
        effects.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let nothing = [("undecided".to_owned(), tally.undecided), ("no difference".to_owned(), tally.same)];
        let most = nothing.into_iter().max_by_key(|(_, count)| *count);
        let told = effects.into_iter().filter(|(_, count)| *count > 0);
        let told: Vec<(String, usize)> =
            if tally.better + tally.worse > 0 { told.collect() } else { most.into_iter().collect() };
        let phrase = |(place, (word, count)): (usize, (String, usize))| match place {
            0 if cells == 1 => word.trim_end_matches(',').to_owned(),
            0 if count == cells => format!("{word} in all {cells} cases"),
            0 => format!("{word} in {count} of {cells} cases"),
            _ => format!("{word} in {count}"),
        };
        told.into_iter().enumerate().map(phrase).collect::<Vec<_>>().join(", ")
    }

    fn tally(&self) -> CellTally {
        CellTally::from_cells(self.cases.iter().map(|case| (case.cell.outcome, case.ratio)))
    }

    /// The words for a gain and for a loss.
    fn outcome_words(&self) -> [&'static str; 2] {
        match self.words.is_speed() {
            true => ["faster", "slower"],
            false => [Outcome::Faster, Outcome::Slower].map(|outcome| self.words.outcome_word(outcome)),
        }
    }

    /// How many cases have each outcome, the most frequent first, and by how much they differ.
    fn summary_text(&self) -> String {
        let tally = self.tally();
        let [better, worse] = self.outcome_words();
        // The best case is named only if less than half of the cases gain; the worst always.
        let few_gain = 2 * tally.better < tally.cell_count();
        let mut all = [
            (format!("{better}{}", self.after_gains), tally.better, self.effect_text(Outcome::Faster, few_gain)),
            (worse.to_owned(), tally.worse, self.effect_text(Outcome::Slower, true)),
            ("no difference".to_owned(), tally.same, String::new()),
            ("undecided".to_owned(), tally.undecided, String::new()),
        ];
        all.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
        let parts = match self.part_headings().len() {
            1 => String::new(),
            several => format!(" ({several} parts)"),
        };
        let mut phrases: Vec<String> = Vec::new();
        for (word, count, by) in all.into_iter().filter(|(_, count, _)| *count > 0) {
            phrases.push(match (phrases.is_empty(), tally.cell_count()) {
                (true, 1) => format!("{word} in the one case{by}"),
                (true, cells) if cells == count => format!("{word} in all {cells} cases{parts}{by}"),
                (true, cells) => format!("{word} in {count} of {cells} cases{parts}{by}"),
                (false, _) => format!("{word} in {count}{by}"),
            });
        }
        phrases.join("; ")
    }

    /// By how much the cases of an outcome differ. If `name_extreme`, it names the case that differs most; a wide range of gains is given
    /// part by part instead.
    fn effect_text(&self, outcome: Outcome, name_extreme: bool) -> String {
        let mut cases: Vec<&ChangeCase<'_>> = self.cases.iter().filter(|case| case.cell.outcome == outcome).collect();
        // Reversed, so that the stable sort leaves the first of equals last: that one is named, as in the row below the answer.
        cases.reverse();
        cases.sort_by(|one, other| one.ratio.ln().abs().total_cmp(&other.ratio.ln().abs()));
        let (Some(least), Some(most)) = (cases.first(), cases.last()) else { return String::new() };
        let ratio = ratio_range(&cases);
        let by = match self.words.is_speed() {
            true => format!(", {ratio} times as fast"),
            false => format!(", {}", self.words.ratio_to_base(&ratio)),
        };
        let wide = (most.ratio / least.ratio).ln().abs() >= WIDE.ln();
        let ranges = self.ranges_by_part(&cases);
        if wide && ranges.len() > 1 && outcome == Outcome::Faster {
            return format!("{by} ({})", ranges.join("; "));
        }
        let which = match (cases.len(), outcome) {
            (1, _) => "",
            (_, Outcome::Faster) => "most: ",
            _ => "worst: ",
        };
        let conditions = self.case_conditions(most);
        let name_extreme = (name_extreme || wide) && self.cases.len() > 1 && !conditions.is_empty();
        if name_extreme { format!("{by} ({which}{conditions})") } else { by }
    }

    /// The range of ratios in each part that has some of these cases.
    fn ranges_by_part(&self, cases: &[&ChangeCase<'_>]) -> Vec<String> {
        let range = |part: &str| {
            let own: Vec<&ChangeCase<'_>> = cases.iter().copied().filter(|case| case.part.heading == part).collect();
            (!own.is_empty()).then(|| format!("\u{201c}{part}\u{201d} {}", ratio_range(&own)))
        };
        self.part_headings().into_iter().filter_map(range).collect()
    }

    /// The headings of the parts that the cases belong to, each once.
    fn part_headings(&self) -> Vec<&str> {
        let mut parts: Vec<&str> = Vec::new();
        for case in self.cases {
            if !parts.contains(&&case.part.heading[..]) {
                parts.push(&case.part.heading);
            }
        }
        parts
    }

    /// The conditions of a case: its levels, and its part if there are several.
    fn case_conditions(&self, case: &ChangeCase<'_>) -> String {
        let others = case.cell.levels.iter().filter(|(factor, _)| Some(&factor[..]) != self.named_factor);
        let levels: Vec<String> = others.map(|(factor, level)| format!("{factor} {}", level_in_words(level))).collect();
        let part = &case.part.heading;
        let part = (self.part_headings().len() > 1).then(|| format!("\u{201c}{part}\u{201d}"));
        part.into_iter().chain(levels).collect::<Vec<_>>().join(", ")
    }
}

/// The least and the greatest ratio of some cases in words; a single one if both read alike.
fn ratio_range(cases: &[&ChangeCase<'_>]) -> String {
    let mut ratios: Vec<f64> = cases.iter().map(|case| case.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let mut ends: Vec<String> =
        ratios.first().into_iter().chain(ratios.last()).map(|ratio| format_ratio(*ratio)).collect();
    ends.dedup();
    ends.join(" to ")
}

/// A ratio with two or three digits.
fn format_ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 9.95 => format!("{ratio:.0}"),
        ratio if ratio >= 1.95 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use seekwise_drives::metric::{IOPS, Metric};

    use super::*;
    use crate::report::Report;
    use Outcome::{Faster, NoDifference, NotEnoughData, Refused, Slower};

    /// Cells, each with what tells it apart.
    type Cells<'a> = &'a [(&'a str, Outcome, f64)];

    fn judged(words: DifferenceWords, cells: Cells<'_>) -> JudgedCases {
        let levels = |said: &str| {
            let pairs = said.split(", ").filter_map(|pair| pair.split_once(' '));
            pairs.map(|(factor, level)| (factor.to_owned(), level.to_owned())).collect()
        };
        let case = |&(said, outcome, ratio): &(&str, Outcome, f64)| CellCase { levels: levels(said), outcome, ratio };
        JudgedCases { words, cases: cells.iter().map(case).collect() }
    }

    fn verdict(metric: &Metric, cells: Cells<'_>) -> ReportVerdict {
        let cases = judged(DifferenceWords::for_metric(metric), cells);
        ReportVerdict {
            name: "The queue switched on".to_owned(),
            leads: true,
            varied: "queue".to_owned(),
            side_a: "off".to_owned(),
            side_b: "on".to_owned(),
            metric: metric.title(),
            better: metric.better_direction().to_owned(),
            verdict: CellTally::from_cells(cases.cases.iter().map(|cell| (cell.outcome, cell.ratio))).outcome(),
            cases: Some(cases),
            ..ReportVerdict::default()
        }
    }

    /// A change of the cache, of the same shape.
    fn cache(cells: Cells<'_>) -> ReportVerdict {
        let (name, varied) = ("The cache switched on".to_owned(), "cache".to_owned());
        ReportVerdict { name, varied, differs: vec!["drive.cache".to_owned()], ..verdict(&IOPS, cells) }
    }

    fn chapter(heading: &str, verdicts: Vec<ReportVerdict>) -> Chapter {
        let report = Report { verdicts, ..Report::default() };
        Chapter { heading: heading.to_owned(), answers: true, report, ..Chapter::default() }
    }

    fn metric(word: &str) -> Metric {
        word.parse().unwrap()
    }

    fn answer(chapters: &[Chapter]) -> Vec<String> {
        sentences_on_changes(chapters, true).iter().map(AnswerSentence::to_sentence).collect()
    }

    #[test]
    fn of_cases_that_are_equally_bad_the_first_is_named() {
        let cells: Cells<'_> = &[
            ("window 2", Slower, 0.93),
            ("window 8", Slower, 0.93),
            ("window 1", Slower, 0.95),
            ("window 4", Slower, 0.96),
        ];
        let said = answer(&[chapter("One", vec![verdict(&IOPS, cells)])]);
        assert!(said[0].ends_with("0.93 to 0.96 times as fast (worst: window 2)."), "{said:?}");
    }

    #[test]
    fn cases_of_one_change_are_counted_together_and_the_worst_of_them_is_named() {
        let rates: Cells<'_> = &[
            ("depth 1", Faster, 1.3),
            ("depth 2", Faster, 1.1),
            ("depth 8", Slower, 0.93),
            ("depth 64", Slower, 0.5),
            ("depth 4", NoDifference, 1.0),
        ];
        let times: Cells<'_> = &[("work alone", Faster, 0.4), ("work both", NotEnoughData, 1.5)];
        let chapters = [
            chapter("One", vec![verdict(&IOPS, rates)]),
            chapter("Two", vec![verdict(&metric("elapsed"), times)]),
            Chapter { answers: false, ..chapter("Three", vec![verdict(&IOPS, &[("", Slower, 0.1)])]) },
        ];
        assert_eq!(
            answer(&chapters),
            [
                "The queue switched on: faster in 3 of 7 cases (2 parts), 1.10 to 2.5 times as fast (most: “Two”, work alone); slower in 2, \
              0.50 to 0.93 times as fast (worst: “One”, depth 64); no difference in 1; undecided in 1."
            ]
        );
        // In one part its name would say nothing.
        let alone = answer(&chapters[..1]);
        assert!(alone[0].contains("slower in 2, 0.50 to 0.93 times as fast (worst: depth 64)"), "{alone:?}");
    }

    #[test]
    fn in_short_the_effects_are_counted_and_each_case_is_a_dot() {
        let queue: Cells<'_> = &[("depth 1", NoDifference, 1.0); 5];
        let queue: Vec<_> = queue.iter().copied().chain([("depth 8", Faster, 1.5), ("depth 9", Slower, 0.5)]).collect();
        let mut cached = ReportVerdict { better: "lower".to_owned(), ..cache(&[("work a", Faster, 0.25)]) };
        cached.set_price("but a power cut loses 1 write".to_owned(), true);
        let said = |chapters: &[Chapter]| brief_answer_on_changes(chapters);
        let both = said(&[chapter("One", vec![verdict(&IOPS, &queue), cached])]);
        let lines: Vec<_> = both.lines.iter().map(|line| (&line.says[..], line.cases.len())).collect();
        let queued = "The queue switched on: faster in 1 of 7 cases, slower in 1.";
        assert_eq!(lines, [(queued, 7), ("The cache switched on: faster, at a price.", 1)]);
        assert!(both.says.is_empty(), "its lines say it");
        // Right is better: a quarter of the time is four times as good.
        assert_eq!(both.lines[1].cases, [BriefCase { ratio: 4.0, verdict: Faster }]);
        // A single change is drawn part by part.
        let of = |heading: &str, cells| chapter(heading, vec![verdict(&IOPS, cells)]);
        let one = said(&[of("One", &[("depth 1", Faster, 1.5)]), of("Two", &[("depth 1", Faster, 1.25)])]);
        assert_eq!(one.says, "The queue switched on: faster in all 2 cases.");
        assert_eq!(one.lines.iter().map(|line| &line.says[..]).collect::<Vec<_>>(), ["One", "Two"]);
        let same = said(&[of("One", &[("depth 1", NotEnoughData, 1.5), ("depth 2", NoDifference, 1.0)])]).says;
        assert_eq!(same, "The queue switched on: no difference in 1 of 2 cases.");
        let half = |half: &str, chapter: Chapter| Chapter { half: Some(half.to_owned()), ..chapter };
        let halves = said(&[half("In an array", of("One", &queue)), half("On files", of("Two", &queue[5..]))]);
        let halves: Vec<_> = halves.lines.iter().map(|line| &line.says[..]).collect();
        let array = "In an array: faster in 1 of 7 cases, slower in 1.";
        assert_eq!(halves, [array, "On files: faster in 1 of 2 cases, slower in 1."]);
        assert_eq!(said(&[]), BriefAnswer::default());
    }

    #[test]
    fn each_change_is_told_alone_and_together_with_the_other() {
        let queue = [
            ("cache off, work a", Faster, 1.2),
            ("cache on, work a", NoDifference, 1.0),
            ("cache on, work b", Slower, 0.7),
        ];
        let both = vec![verdict(&IOPS, &queue), cache(&[("queue off", Faster, 3.0), ("queue on", Faster, 1.5)])];
        let held = Chapter {
            held: vec!["cache on (of writes)".to_owned()],
            ..chapter("Held", vec![verdict(&IOPS, &[("", Faster, 1.1)])])
        };
        let unknown = chapter("Elsewhere", vec![verdict(&IOPS, &[("", NoDifference, 1.0)])]);
        assert_eq!(
            answer(&[chapter("Both", both), held, unknown]),
            [
                "The queue switched on alone, with cache off: faster in the one case, 1.20 times as fast.",
                "The queue switched on together with cache on: faster in 1 of 3 cases (2 parts), 1.10 times as fast (“Held”); slower in 1, \
                 0.70 times as fast (“Both”, work b); no difference in 1.",
                "The queue switched on in “Elsewhere”: no difference in the one case.",
                "The cache switched on alone, with queue off: faster in the one case, 3.0 times as fast.",
                "The cache switched on together with queue on: faster in the one case, 1.50 times as fast.",
            ]
        );
    }

    #[test]
    fn both_changes_are_told_against_neither_where_a_part_judges_either() {
        let queue = [
            ("cache off, block 4k", NoDifference, 1.0),
            ("cache off, block 512k", Faster, 2.5),
            ("cache on, block 4k", NoDifference, 1.0),
            ("cache on, block 512k", NoDifference, 1.01),
        ];
        // By time: a half is twice as fast.
        let cached = [
            ("queue off, block 4k", Faster, 0.25),
            ("queue off, block 512k", Faster, 0.125),
            ("queue on, block 4k", Faster, 0.25),
            ("queue on, block 512k", Faster, 0.4),
        ];
        let times = |cells: Cells<'_>| ReportVerdict { better: "lower".to_owned(), ..cache(cells) };
        let said = |verdicts: Vec<ReportVerdict>| answer(&[chapter("One", verdicts)]).pop().unwrap();
        // 1.0 x 4 and 2.5 x 2.5.
        assert_eq!(
            said(vec![verdict(&IOPS, &queue), times(&cached)]),
            "Both against neither: 4.0 (block 4k) to 6.2 (block 512k) times as fast, in the 2 cases of “One”: queue on with cache on, \
             against queue off with cache off. This is the product of the first change alone and the second on top of it."
        );
        // The product needs the queue's gain with the cache off, which no part judges here.
        let without = verdict(&IOPS, &queue[2..]);
        assert!(!said(vec![without, times(&cached)]).starts_with("Both"));
        // Nor is what is undecided, or no speed, multiplied.
        let open = cached.map(|(levels, _, ratio)| (levels, NotEnoughData, ratio));
        assert!(!said(vec![verdict(&IOPS, &queue), times(&open)]).starts_with("Both"));
        let processor = ReportVerdict { metric: "processor load".to_owned(), ..cache(&cached) };
        let processor = ReportVerdict { cases: Some(judged(crate::outcome::PROCESSOR_TIME, &cached)), ..processor };
        assert!(!said(vec![verdict(&IOPS, &queue), processor]).starts_with("Both"));
    }

    #[test]
    fn a_range_over_unlike_work_is_told_part_by_part_and_what_most_cases_do_first() {
        let slow: Cells<'_> = &[("work a", Faster, 1.1), ("work b", Faster, 1.3), ("work c", NoDifference, 1.0)];
        let fast: Cells<'_> = &[("work a", Faster, 40.0), ("work b", Faster, 104.0)];
        let same: Cells<'_> = &[("", NoDifference, 1.0); 4];
        let of = |heading: &str, cells| chapter(heading, vec![verdict(&IOPS, cells)]);
        assert_eq!(
            answer(&[of("One", slow), of("Two", fast), of("Three", same)]),
            [
                "The queue switched on: no difference in 5 of 9 cases (3 parts); faster in 4, 1.10 to 104 times as fast (“One” 1.10 to \
              1.30; “Two” 40 to 104)."
            ]
        );
        // Where all of them are in one part, the far end is named.
        let all = [slow, fast].concat();
        assert_eq!(
            answer(&[of("One", &all), of("Three", &same[..1])])[0],
            "The queue switched on: faster in 4 of 6 cases (2 parts), 1.10 to 104 times as fast (most: “One”, work b); no difference in 2."
        );
        assert_eq!(
            answer(&[of("One", &all)])[0],
            "The queue switched on: faster in 4 of 5 cases, 1.10 to 104 times as fast (most: work b); no difference in 1."
        );
    }

    #[test]
    fn a_change_that_never_stands_alone_is_not_told_apart() {
        let queue = || vec![verdict(&IOPS, &[("cache on, work a", Faster, 1.5)])];
        let said = answer(&[chapter("One", queue()), chapter("Two", vec![cache(&[("work a", Faster, 3.0)])])]);
        assert_eq!(said[0], "The queue switched on: faster in the one case, 1.50 times as fast.");
    }

    #[test]
    fn a_half_of_the_question_leads_its_own_sentence() {
        let half = |half: &str, chapter: Chapter| Chapter { half: Some(half.to_owned()), ..chapter };
        let of = |heading: &str| chapter(heading, vec![verdict(&IOPS, &[("depth 1", Faster, 1.5)])]);
        assert_eq!(
            answer(&[
                half("Under a host that sorts", of("One")),
                half("In an array", of("Two")),
                half("In an array", of("Three"))
            ]),
            [
                "Under a host that sorts — The queue switched on: faster in the one case, 1.50 times as fast.",
                "In an array — The queue switched on: faster in all 2 cases (2 parts), 1.50 times as fast.",
            ]
        );
    }

    #[test]
    fn nothing_is_said_that_no_cell_says() {
        let of =
            |cells: Cells<'_>| answer(&[Chapter { answers: false, ..chapter("One", vec![verdict(&IOPS, cells)]) }]);
        assert_eq!(of(&[("", NotEnoughData, 3.0)]), ["The queue switched on: undecided in the one case."]);
        let mostly = of(&[("", NoDifference, 1.0), ("", NotEnoughData, 1.0), ("", NotEnoughData, 1.0)]);
        assert_eq!(mostly, ["The queue switched on: undecided in 2 of 3 cases; no difference in 1."]);
        assert_eq!(of(&[("", NoDifference, 1.0); 2]), ["The queue switched on: no difference in all 2 cases."]);
        let refused = ReportVerdict { verdict: Refused, ..verdict(&IOPS, &[("", Faster, 2.0)]) };
        let said = answer(&[chapter("One", vec![refused])]);
        assert_eq!(said, ["The queue switched on: refused, for the sides differ in more than that."]);
        assert!(answer(&[chapter("One", Vec::new())]).is_empty());
    }

    #[test]
    fn what_takes_a_gain_back_stands_with_it() {
        let mut priced = verdict(&IOPS, &[("", Faster, 2.0)]);
        priced.set_price("but a power cut loses 1 write".to_owned(), true);
        priced.at_once = vec!["the controller".to_owned(), "the bus".to_owned()];
        assert_eq!(
            answer(&[chapter("One", vec![priced])]),
            [
                "The queue switched on: faster, at a price, in the one case, 2.0 times as fast. It changes the controller and the bus at once.",
                "The queue switched on: a power cut loses 1 write.",
            ]
        );
    }

    #[test]
    fn what_changes_at_once_is_said_once_of_the_same_sides() {
        let bundle = |side_b: &str, metric: &Metric| ReportVerdict {
            side_b: side_b.to_owned(),
            at_once: vec!["the controller".to_owned(), "the bus".to_owned()],
            ..verdict(metric, &[("", NoDifference, 1.0)])
        };
        let said =
            answer(&[chapter("One", vec![bundle("on", &IOPS), bundle("on", &metric("cpu")), bundle("card", &IOPS)])]);
        let changes = |one: &String| one.ends_with("It changes the controller and the bus at once.");
        assert_eq!(said.iter().map(changes).collect::<Vec<_>>(), [true, false, true], "{said:?}");
    }

    #[test]
    fn the_processor_is_said_for_the_same_work_first() {
        let mut less = verdict(&metric("cpu"), &[("depth 1", Faster, 0.5), ("depth 8", Faster, 0.4)]);
        less.qualify("for less work");
        let per_request: Cells<'_> = &[("depth 1", NoDifference, 1.0), ("depth 8", Slower, 1.25)];
        less.per_request = Some(judged(crate::outcome::PROCESSOR_TIME, per_request));
        assert_eq!(
            answer(&[chapter("One", vec![less])]),
            [
                "The queue switched on: for each request more processor time in 1 of 2 cases, 1.25 × as much (depth 8); no difference in \
              1. As a share of all time: less processor use, partly for less work, in all 2 cases, 0.40 to 0.50 × as much."
            ]
        );
    }
}
