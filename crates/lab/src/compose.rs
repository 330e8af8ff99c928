//! Builds the data of a study's page, a [`Report`], from the study, the provenance of its cells and the records of their runs.
//! Estimates, intervals and verdicts come from `finding` and `stats`; this room selects, orders and words them.

pub mod answer;
pub mod parts;

use std::cmp::Ordering;

use seekwise_disk::record::Part;
use seekwise_drives::key_names::work;
use seekwise_drives::metric::{Metric, Statistic};
use seekwise_formats::study::{BestQuestion, ComparisonSpec, Study};

use crate::finding::{
    BestLevel, Cause, CellCase, ClaimJudgement, Evidence, Finding, LevelShare, OverallComparison, SecondaryFigure,
    UNDECIDED, judgement_outcome,
};
use crate::outcome::{DifferenceWords, Outcome, PROCESSOR_TIME};
use crate::provenance::{ProgramVersion, StudyProvenance, differing_keys};
use crate::report::{self, Anatomy, Provenance, Report, ReportLayer};
use crate::rounds::{self, SamplingAccount};
use crate::run::{ArrayRecord, Arrivals, CpuRecord, Response, RunRecord, pool_responses};
use crate::stats::{self, Interval, Judgement, Verdict, quality};
use crate::stretch::make_stretches;
use seekwise_drives::stack::{self, Setting};

/// The material of a report.
pub struct ReportMaterial<'a> {
    pub study: &'a Study,
    /// The study's cells as they were prepared, with all their settings.
    pub made: &'a StudyProvenance,
    /// The record of each run that is done.
    pub records: &'a [RunRecord],
    /// The command line that repeats the study.
    pub command: &'a str,
}

/// Builds the report.
pub fn build_report(material: &ReportMaterial<'_>) -> Report {
    let ReportMaterial { study, made, records, command } = *material;
    let evidence = Evidence::new(study, made, records);
    let account = SamplingAccount::from_evidence(&evidence);
    let (findings, overall) = evidence.findings();
    let overall_verdicts = overall.iter().map(|summary| overall_verdict(&evidence, summary, findings));
    let mut verdicts: Vec<report::ReportVerdict> = overall_verdicts.collect();
    // Leading comparisons come first, in the study's order.
    verdicts.sort_by(|one, other| match (one.leads, other.leads) {
        (true, true) => Ordering::Equal,
        (false, false) => compare_by_outcome_and_size(one, other),
        (one_leads, other_leads) => other_leads.cmp(&one_leads),
    });
    // The verdict over a single cell already is the verdict on that cell.
    let has_several_cells =
        |finding: &&Finding| overall.iter().any(|summary| summary.compare == finding.compare && summary.cells != 1);
    let mut cell_verdicts: Vec<report::ReportVerdict> =
        findings.iter().filter(has_several_cells).map(|finding| cell_verdict(&evidence, finding)).collect();
    cell_verdicts.sort_by(compare_by_outcome_and_size);
    verdicts.extend(cell_verdicts);
    Report {
        title: study.title.clone(),
        question: study.question.clone(),
        expectation: study.expect.clone(),
        command: command.to_owned(),
        version: made.program.version.clone(),
        seed: study.seed,
        runs_per_cell: account
            .as_ref()
            .map_or([study.runs.into(); 2], |account| [account.least_runs, account.most_runs]),
        runs_planned: count_planned_runs(study, made, records),
        runs_done: records.len() as u64,
        runtime_s: account
            .as_ref()
            .and_then(|account| account.runtime_s)
            .unwrap_or([stated_or_longest_runtime_s(study, made, records); 2]),
        virtual_time: !made.is_measured(),
        interval: explain_intervals(study, &evidence, account.as_ref()),
        meanings: verdict_meanings(),
        stretches: make_stretches(made, &cells_to_animate(&verdicts, &evidence, made)),
        verdicts,
        stack: to_report_layers(made),
        factors: study
            .factor
            .iter()
            .map(|factor| report::ReportFactor {
                name: factor.name.clone(),
                unit: factor.unit.clone(),
                says: factor.says.clone(),
                levels: factor.level_names(),
            })
            .collect(),
        cells: (0..made.cells.len())
            .filter(|&cell| !evidence.cell_runs(cell).is_empty())
            .map(|cell| to_report_cell(made, &evidence, cell))
            .collect(),
        best: evidence
            .best_levels()
            .into_iter()
            .filter_map(|(question, answer)| to_report_best(study, question, answer))
            .collect(),
        claims: evidence.judge_claims().iter().map(to_report_claim).collect(),
        warnings: made.warnings.clone(),
        provenance: to_report_provenance(made),
    }
}

/// Orders verdicts for the page: refused comparisons, differences (the largest first), no difference, undecided.
fn compare_by_outcome_and_size(one: &report::ReportVerdict, other: &report::ReportVerdict) -> Ordering {
    let rank = |verdict: &report::ReportVerdict| match verdict.verdict {
        Outcome::Refused => 0,
        Outcome::Faster | Outcome::Slower | Outcome::Mixed => 1,
        Outcome::NoDifference => 2,
        Outcome::NotEnoughData => 3,
    };
    let size = |verdict: &report::ReportVerdict| verdict.ratio.map_or(0.0, |ratio| ratio.estimate.ln().abs());
    rank(one).cmp(&rank(other)).then_with(|| size(other).total_cmp(&size(one)))
}

/// The cells of the moving picture: both sides of the first verdict; if one of them has no run yet, the first cell that has one.
fn cells_to_animate(verdicts: &[report::ReportVerdict], evidence: &Evidence<'_>, made: &StudyProvenance) -> Vec<usize> {
    let cell_ids = verdicts.first().map_or(&[][..], |verdict| &verdict.cell_ids);
    let sides: Vec<usize> = cell_ids.iter().filter_map(|id| id.parse().ok()).collect();
    let has_runs = |cell: &usize| !evidence.cell_runs(*cell).is_empty();
    match !sides.is_empty() && sides.iter().all(has_runs) {
        true => sides,
        false => (0..made.cells.len()).find(has_runs).into_iter().collect(),
    }
}

/// The run time that the study states, in seconds. If it states none, or sampling until decided may have shortened runs, the
/// longest run's.
fn stated_or_longest_runtime_s(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> f64 {
    let stated = study.runtime.filter(|_| made.sampling.is_none());
    stated.map_or_else(|| longest_run_s(records), |runtime| runtime.seconds())
}

fn longest_run_s(records: &[RunRecord]) -> f64 {
    records.iter().map(|record| record.elapsed_s).fold(0.0, f64::max)
}

/// Number of planned runs; with sampling until decided, as far as the records show where it ends.
fn count_planned_runs(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> u64 {
    rounds::sample_order(study, made, records).len() as u64
}

/// The sentence on what intervals mean: method, level and unit of sampling.
fn explain_intervals(study: &Study, evidence: &Evidence<'_>, account: Option<&SamplingAccount>) -> String {
    let paired = pairing_words(evidence.made);
    match (account, study.runs) {
        (Some(account), _) => format!(
            "{} Intervals of ratios hold 95 % of the time whenever runs stop (Student t intervals of the deciding look, its \
             share of 5 %); ratios are paired run by run {paired}, and verdicts are Holm-corrected over all comparisons.",
            account.to_sentences()
        ),
        (None, 1) => "One run: figures without an interval.".to_owned(),
        (None, runs) => format!(
            "Intervals are 95 % Student t intervals over {runs} independent runs; ratios are paired run by run {paired}, and \
             verdicts are Holm-corrected over all comparisons.",
        ),
    }
}

/// Words for how the runs of two sides are paired.
pub fn pairing_words(made: &StudyProvenance) -> &'static str {
    match made.is_measured() {
        true => "in randomised blocks, one run of each side in turn",
        false => "on the same random numbers",
    }
}

fn verdict_meanings() -> Vec<report::VerdictMeaning> {
    let meaning = |(word, says): (&str, &str)| report::VerdictMeaning { word: word.to_owned(), says: says.to_owned() };
    stats::verdict_meanings().map(meaning).collect()
}

fn to_report_interval(interval: Interval) -> report::ReportInterval {
    report::ReportInterval { estimate: interval.estimate, low: interval.low, high: interval.high }
}

fn judgement_text(metric: &Metric, judgement: Option<&Judgement>, refusal: Option<&String>) -> String {
    match (refusal, judgement) {
        (Some(why), _) => format!("refused: {why};"),
        (None, Some(judgement)) => DifferenceWords::for_metric(metric).verdict_and_ratio(judgement),
        (None, None) => "not enough data".to_owned(),
    }
}

/// The ratio for the page; `None` if its interval is unbounded, as for a single run.
fn ratio_with_finite_interval(judgement: Option<&Judgement>) -> Option<report::ReportInterval> {
    judgement.map(|judgement| judgement.ratio).filter(|ratio| ratio.high.is_finite()).map(to_report_interval)
}

/// The verdict on one cell of a comparison.
fn cell_verdict(evidence: &Evidence<'_>, finding: &Finding) -> report::ReportVerdict {
    let compare = &evidence.study.compare[finding.compare];
    let metric = evidence.judged_metric(finding.compare);
    let judgement = finding.judgement.as_ref();
    let text = judgement_text(metric, judgement, finding.refused.as_ref());
    let outcome = judgement_outcome(judgement, finding.refused.as_ref());
    let word = match outcome {
        Outcome::NotEnoughData => UNDECIDED,
        outcome => DifferenceWords::for_metric(metric).outcome_word(outcome),
    };
    let mut verdict = report::ReportVerdict {
        name: compare.name.clone(),
        headline: match finding.cell.as_str() {
            "" => format!("{}: {text}", compare.name),
            cell => format!("{}: {text} in {cell}", compare.name),
        },
        leads: false,
        factor: finding.credit.clone(),
        side_a: compare.from.clone(),
        side_b: compare.to.clone(),
        cell: finding.cell.clone(),
        cell_ids: vec![finding.from.to_string(), finding.to.to_string()],
        metric: metric.title(),
        better: metric.better_direction().to_owned(),
        ratio: ratio_with_finite_interval(judgement),
        range: None,
        cells: 1,
        verdict: outcome,
        word: word.to_owned(),
        p_adjusted: judgement.map(|judgement| judgement.p_holm),
        margin_percent: Some(evidence.study.margin_percent),
        differs: differing_setting_keys(evidence, finding),
        at_once: finding.at_once.iter().map(ToString::to_string).collect(),
        note: finding.refused.clone().or_else(|| doubt_note(finding)),
        cause: finding.cause.as_ref().map(to_report_cause),
        beside: finding.beside.iter().map(SecondaryFigure::text).collect(),
        ..report::ReportVerdict::default()
    };
    qualify_cpu_gain_for_less_work(&mut verdict, metric, &finding.beside);
    verdict
}

/// Qualifies a lower use of the processor by "for less work" if fewer requests a second were done: it is no plain gain.
fn qualify_cpu_gain_for_less_work(
    verdict: &mut report::ReportVerdict,
    metric: &Metric,
    secondary_figures: &[SecondaryFigure],
) {
    let less_work = secondary_figures.iter().any(|figure| figure.worse && figure.metric.figure == Statistic::Iops);
    if less_work && metric.figure == Statistic::Cpu && verdict.verdict == Outcome::Faster {
        verdict.qualify("for less work");
    }
}

/// The verdict on all cells of a comparison together.
fn overall_verdict(
    evidence: &Evidence<'_>,
    overall: &OverallComparison,
    findings: &[Finding],
) -> report::ReportVerdict {
    let compare = &evidence.study.compare[overall.compare];
    let metric = evidence.judged_metric(overall.compare);
    let judgement = overall.judgement.as_ref();
    let own_findings: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == overall.compare).collect();
    let strongest = own_findings.iter().max_by(|a, b| effect_size(a).total_cmp(&effect_size(b)));
    let words = DifferenceWords::for_metric(metric);
    let (outcome, word) = match overall.refused {
        Some(_) => (Outcome::Refused, Outcome::Refused.name().to_owned()),
        None => (overall.tally.outcome(), overall.tally.outcome_words(words)),
    };
    let beside: Vec<SecondaryFigure> = match &own_findings[..] {
        [finding] => finding.beside.clone(),
        _ => overall.beside.clone(),
    };
    let mut verdict = report::ReportVerdict {
        name: compare.name.clone(),
        headline: comparison_headline(evidence, overall),
        leads: compare.headline,
        factor: overall.credit.clone(),
        side_a: compare.from.clone(),
        side_b: compare.to.clone(),
        cell: match &own_findings[..] {
            [finding] => finding.cell.clone(),
            _ => format!("geometric mean of {} cells: {}", overall.cells, describe_cells(evidence.study, compare)),
        },
        cell_ids: strongest.map_or(Vec::new(), |finding| vec![finding.from.to_string(), finding.to.to_string()]),
        metric: metric.title(),
        better: metric.better_direction().to_owned(),
        ratio: ratio_with_finite_interval(judgement),
        range: overall.range.filter(|_| overall.cells > 1),
        verdict: outcome,
        word,
        cells: overall.cells,
        varied: compare.factor.clone(),
        p_adjusted: judgement.map(|judgement| judgement.p_holm),
        margin_percent: Some(evidence.study.margin_percent),
        at_once: overall.at_once.iter().map(ToString::to_string).collect(),
        differs: own_findings.first().map_or(Vec::new(), |finding| differing_setting_keys(evidence, finding)),
        note: overall.refused.clone().or_else(|| extreme_cells_sentence(metric, &own_findings)),
        cause: own_findings
            .first()
            .filter(|_| own_findings.len() == 1)
            .and_then(|finding| finding.cause.as_ref())
            .map(to_report_cause),
        beside: beside.iter().map(SecondaryFigure::text).collect(),
        place: overall.place.clone(),
        ..report::ReportVerdict::default()
    };
    set_cell_cases_and_slightness(&mut verdict, evidence, overall, &own_findings);
    qualify_cpu_gain_for_less_work(&mut verdict, metric, &beside);
    if let Some(price) = &overall.price
        && let Some(text) = price.text(&compare.factor, &compare.from)
    {
        verdict.set_price(text, price.is_loss());
    }
    verdict
}

/// Sets the result of each cell of a comparison, and whether their common difference is too slight for a colour.
fn set_cell_cases_and_slightness(
    verdict: &mut report::ReportVerdict,
    evidence: &Evidence<'_>,
    overall: &OverallComparison,
    findings: &[&Finding],
) {
    let study = evidence.study;
    let compare = &study.compare[overall.compare];
    let factors = || study.factor.iter().map(|factor| &factor.name);
    let judged_cases = |words: DifferenceWords, outcomes_and_ratios: &[(Outcome, f64)]| {
        let case = |(finding, &(outcome, ratio)): (&&Finding, &(Outcome, f64))| {
            let levels = factors().zip(&evidence.made.cells[finding.from].cell.levels);
            let others = levels.filter(|(factor, _)| **factor != compare.factor);
            let levels = others.map(|(factor, level)| (factor.clone(), level.clone())).collect();
            CellCase { levels, outcome, ratio }
        };
        report::JudgedCases { words, cases: findings.iter().zip(outcomes_and_ratios).map(case).collect() }
    };
    let ratio = |judgement: Option<Judgement>| judgement.map_or(1.0, |judgement| judgement.ratio.estimate);
    let outcome = |finding: &&Finding| judgement_outcome(finding.judgement.as_ref(), None);
    let outcomes_and_ratios: Vec<(Outcome, f64)> =
        findings.iter().map(|finding| (outcome(finding), ratio(finding.judgement))).collect();
    verdict.slight = overall.tally.is_slight(ratio(overall.judgement), study.margin_percent / 100.0);
    verdict.cases =
        Some(judged_cases(DifferenceWords::for_metric(evidence.judged_metric(overall.compare)), &outcomes_and_ratios));
    let per_request = &overall.per_request;
    verdict.per_request = (!per_request.is_empty()).then(|| judged_cases(PROCESSOR_TIME, per_request));
}

/// Describes the cells of a comparison by the other factors: "one for each depth".
fn describe_cells(study: &Study, compare: &ComparisonSpec) -> String {
    let others = study.factor.iter().filter(|factor| factor.name != compare.factor);
    let varied: Vec<&str> =
        others.filter(|factor| factor.level_names().len() > 1).map(|factor| factor.name.as_str()).collect();
    match &varied[..] {
        [one] => format!("one for each {one}"),
        [before @ .., last] => format!("one for each combination of {} and {last}", before.join(", ")),
        [] => "all there are".to_owned(),
    }
}

/// The headline of a comparison over several cells: in which of them the effect is. The geometric mean over all cells is no answer, because
/// some cells can show no effect; the page gives it below the headline.
pub fn comparison_headline(evidence: &Evidence<'_>, overall: &OverallComparison) -> String {
    let name = &evidence.study.compare[overall.compare].name;
    let metric = evidence.judged_metric(overall.compare);
    let text = judgement_text(metric, overall.judgement.as_ref(), overall.refused.as_ref());
    match &overall.place {
        Some(place) if overall.cells > 1 => format!("{name}: {}", place.text),
        _ if overall.cells == 1 => format!("{name}: {text}"),
        _ => format!("{name}: {text} over all {} cells", overall.cells),
    }
}

/// The size of a finding's effect: the absolute logarithm of its ratio.
fn effect_size(finding: &Finding) -> f64 {
    finding.judgement.map_or(0.0, |judgement| judgement.ratio.estimate.ln().abs())
}

/// The sentence that names the worst and the best cell by `metric`, so that a mean does not hide them; `None` if there is one cell, or if
/// all ratios are equal.
pub fn extreme_cells_sentence(metric: &Metric, findings: &[&Finding]) -> Option<String> {
    let ratio = |finding: &&&Finding| finding.judgement.map(|judgement| judgement.ratio.estimate);
    let least = findings.iter().min_by(|a, b| ratio(a).unwrap_or(1.0).total_cmp(&ratio(b).unwrap_or(1.0)))?;
    let most = findings.iter().max_by(|a, b| ratio(a).unwrap_or(1.0).total_cmp(&ratio(b).unwrap_or(1.0)))?;
    if findings.len() < 2 {
        return None;
    }
    let alike = ratio(&least)? == ratio(&most)?;
    let (worst, best) = if metric.figure.higher_is_better() { (least, most) } else { (most, least) };
    (!alike).then(|| format!("Worst at {}; best at {}.", worst.cell, best.cell))
}

fn to_report_cause(cause: &Cause) -> report::ReportCause {
    let ms = |ns: i64| ns as f64 / 1e6;
    let changed = cause.parts.iter().filter(|change| change.difference_ns() != 0);
    report::ReportCause {
        of: cause.of.clone(),
        from_ms: ms(cause.from()),
        to_ms: ms(cause.to()),
        parts: changed.map(|change| (change.name(), ms(change.difference_ns()))).collect(),
        text: cause.text(),
    }
}

fn differing_setting_keys(evidence: &Evidence<'_>, finding: &Finding) -> Vec<String> {
    differing_keys(evidence.made.cell_settings(finding.from), evidence.made.cell_settings(finding.to))
}

/// Reasons to doubt the verdict.
fn doubt_note(finding: &Finding) -> Option<String> {
    let judgement = finding.judgement.as_ref()?;
    let missing = matches!(judgement.verdict, Verdict::NotEnoughData { .. }).then(|| judgement.verdict.to_string());
    let doubts = quality::judgement_flags(judgement).into_iter().map(|flag| flag.to_string());
    let thin = finding.thin.then(|| "fewer requests a run than the percentile needs".to_owned());
    let said: Vec<String> = missing.into_iter().chain(doubts).chain(thin).collect();
    (!said.is_empty()).then(|| said.join("; "))
}

fn to_report_cell(made: &StudyProvenance, evidence: &Evidence<'_>, cell: usize) -> report::ReportCell {
    let runs = evidence.cell_runs(cell);
    let histogram = pool_responses(runs);
    // A boxed slice has no spare capacity, and a page has hundreds of them.
    let buckets: Box<[(f64, u64)]> =
        histogram.buckets().map(|(edge, count)| (edge.nanos() as f64 / 1e6, count)).collect();
    let mean = |value: fn(&RunRecord) -> f64| to_report_interval(evidence.cell_mean(cell, value));
    let part = |part: Part| {
        let sum: f64 = runs.iter().map(|run| run.anatomy_ms.get(part)).sum();
        sum / runs.len() as f64
    };
    let kind_response = |kind_of_run: fn(&RunRecord) -> &crate::run::KindRecord| {
        let responses: Vec<Response> = runs.iter().filter_map(|run| kind_of_run(run).response_ms).collect();
        (!responses.is_empty()).then(|| Response::average(&responses))
    };
    let mut flags: Vec<String> = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
    flags.extend(runs.iter().flat_map(|run| run.fit_notes()));
    flags.sort();
    flags.dedup();
    report::ReportCell {
        id: cell.to_string(),
        levels: made.cells[cell].cell.levels.clone(),
        runs: runs.len() as u32,
        ios: runs.iter().map(|run| run.all.ios).sum(),
        iops: mean(|run| run.all.iops),
        bytes_per_s: mean(|run| run.all.bytes_per_s),
        response_ms: Response {
            mean: evidence.cell_mean(cell, |run| run.all.mean_ms()).estimate,
            ..Response::from_histogram(&histogram).unwrap_or_default()
        },
        reads: kind_response(|run| &run.read),
        writes: kind_response(|run| &run.write),
        flushes: kind_response(|run| &run.flush),
        flushes_per_s: evidence.cell_mean(cell, |run| run.flush.iops).estimate,
        histogram: buckets.into_vec(),
        anatomy_ms: Anatomy::from_parts(part),
        elapsed_s: mean(|run| run.elapsed_s),
        operations: to_report_operations(evidence, cell),
        cpu: mean_cpu_use(runs),
        arrivals: to_report_arrivals(runs),
        array: to_report_array(runs),
        flags,
    }
}

/// The operations of a scene's programs. A program without operations in some run is left out.
fn to_report_operations(evidence: &Evidence<'_>, cell: usize) -> Vec<report::ReportOperations> {
    let runs = evidence.cell_runs(cell);
    let first = runs.first().into_iter().flat_map(|run| run.issuer.operations.keys());
    let operations_of = |program: &String| {
        let done: Vec<_> = runs.iter().map(|run| run.issuer.operations.get(program)).collect::<Option<_>>()?;
        let count = done.iter().map(|done| done.count).sum();
        let rate = |run: &RunRecord| run.issuer.operations.get(program).map_or(0.0, |done| done.per_s);
        done.iter().all(|done| done.count > 0).then(|| report::ReportOperations {
            program: program.clone(),
            count,
            per_s: to_report_interval(evidence.cell_mean(cell, rate)),
            response_ms: Response::average(&done.iter().filter_map(|done| done.response_ms).collect::<Vec<_>>()),
        })
    };
    first.filter_map(operations_of).collect()
}

fn mean_cpu_use(runs: &[&RunRecord]) -> Option<CpuRecord> {
    let cpus: Vec<CpuRecord> = runs.iter().filter_map(|run| run.cpu).collect();
    let mean = |value: fn(&CpuRecord) -> f64| cpus.iter().map(value).sum::<f64>() / cpus.len() as f64;
    (!cpus.is_empty()).then(|| CpuRecord {
        percent: mean(|cpu| cpu.percent),
        ios_per_cpu_second: mean(|cpu| cpu.ios_per_cpu_second),
        iops_per_percent: mean(|cpu| cpu.iops_per_percent),
        mb_per_s_per_percent: mean(|cpu| cpu.mb_per_s_per_percent),
    })
}

/// The work of an array's members, as means over the runs; `None` if some run has none.
fn to_report_array(runs: &[&RunRecord]) -> Option<report::ReportArray> {
    let arrays: Vec<Option<&ArrayRecord>> = runs.iter().map(|run| run.array.as_deref()).collect();
    let writes = runs.iter().map(|run| run.write.ios).sum::<u64>() / runs.len().max(1) as u64;
    Some(report::ReportArray::from_mean(&ArrayRecord::mean(&arrays)?, writes))
}

/// Open arrivals, as means over the runs; `None` if some run has none.
fn to_report_arrivals(runs: &[&RunRecord]) -> Option<report::ReportArrivals> {
    let all: Vec<Arrivals> = runs.iter().map(|run| run.arrivals).collect::<Option<_>>()?;
    let mean = |value: fn(&Arrivals) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let first = all.first()?;
    Some(report::ReportArrivals {
        asked_iops: first.asked_iops.map(|_| mean(|run| run.asked_iops.unwrap_or(0.0))),
        asked_mb_per_s: first.asked_bytes_per_s.map(|_| mean(|run| run.asked_bytes_per_s.unwrap_or(0.0) / 1e6)),
        reached_iops: mean(|run| run.reached_iops),
        reached_mb_per_s: mean(|run| run.reached_bytes_per_s / 1e6),
        backlog_mean_ms: mean(|run| run.backlog_ms.mean),
        backlog_max_ms: all.iter().map(|run| run.backlog_ms.max).fold(0.0, f64::max),
    })
}

/// The job and the layers of all cells together; a setting that varies shows all its values.
fn to_report_layers(made: &StudyProvenance) -> Vec<ReportLayer> {
    let mut all_settings = made.all_settings();
    let job_keys = work::ALL.iter().map(|key| (*key).to_owned());
    let order: Vec<String> = job_keys.chain(stack::keys()).collect();
    all_settings.sort_by_key(|setting| order.iter().position(|known| *known == setting.key));
    let mut roles: Vec<&str> = vec!["job", "stack"];
    for layer in stack::layers() {
        let layer_names = all_settings.iter().map(|setting| setting.key.split('.').next().unwrap_or_default());
        let mut numbered: Vec<&str> = layer_names.filter(|role| stack::strip_number(role) == layer).collect();
        numbered.sort_unstable();
        numbered.dedup();
        roles.extend(numbered);
    }
    roles.into_iter().filter_map(|role| to_report_layer(role, &all_settings)).collect()
}

/// The layer `role` with the settings that begin with its name; `None` if it has none.
fn to_report_layer(role: &str, all_settings: &[&Setting]) -> Option<ReportLayer> {
    let prefix = format!("{role}.");
    let mut settings: Vec<report::ReportSetting> = Vec::new();
    for setting in all_settings.iter().filter(|setting| setting.key == role || setting.key.starts_with(&prefix)) {
        let value = match setting.unit.as_str() {
            "" => setting.value.clone(),
            unit => format!("{} {unit}", setting.value),
        };
        match settings.iter_mut().find(|known| known.key == setting.key) {
            Some(known) if known.value.split(" | ").any(|one| one == value) => {}
            Some(known) => known.value = format!("{} | {value}", known.value),
            None => settings.push(report::ReportSetting {
                key: setting.key.clone(),
                value,
                // The whole citation is a paragraph; `seekwise drives NAME` prints it.
                source: setting.kind.to_string(),
            }),
        }
    }
    // The layer's own name is its heading, not one of its settings.
    let named = settings.iter().position(|setting| setting.key == role);
    let name = named.map_or(String::new(), |place| settings.remove(place).value);
    (!settings.is_empty()).then(|| ReportLayer { role: role.to_owned(), name, settings })
}

fn to_report_best(study: &Study, question: &BestQuestion, answer: Option<BestLevel>) -> Option<report::ReportBest> {
    let BestLevel { best, shares } = answer?;
    let level = |LevelShare { level, ratio, alike }: &LevelShare| report::ReportShare {
        level: level.clone(),
        ratio: ratio.estimate,
        low: ratio.low,
        high: ratio.high,
        alike: *alike,
    };
    Some(report::ReportBest {
        work: question.work.clone(),
        factor: question.factor.clone(),
        best: shares[best].level.clone(),
        levels: shares.iter().map(level).collect(),
        claims: question.claims.clone(),
        margin_percent: study.margin_percent,
    })
}

fn to_report_claim(judged: &ClaimJudgement<'_>) -> report::ReportClaim {
    report::ReportClaim {
        id: judged.claim.id.clone(),
        class: judged.claim.class.letter().to_owned(),
        finding: judged.claim.finding.clone(),
        condition: judged.claim.condition.clone(),
        figure: judged.figure_lines().join("\n"),
        reproduced: judged.is_reproduced(),
        answer: judged.answer().words().to_owned(),
        deciding: judged.distance.as_ref().filter(|_| !judged.claim.check.is_empty()).map(ToString::to_string),
        reading: judged.claim.reading.clone(),
        unchecked: judged.claim.unchecked.clone(),
        mechanism: judged.claim.mechanism.clone(),
        pending: judged.pending_condition(),
    }
}

fn to_report_provenance(made: &StudyProvenance) -> Provenance {
    let ProgramVersion { build, .. } = &made.program;
    let this = ProgramVersion::current();
    let other_program = (made.program != this).then(|| {
        format!(
            "This page was made by {this}, which did not run this: it has no picture of the arm and no single requests."
        )
    });
    Provenance {
        hash: made.hash(),
        drive: made.drives.join(", "),
        notes: other_program.into_iter().chain([
            match made.is_measured() {
                true => "Measured in real time: the figures are of this machine, and another run's are others.".to_owned(),
                false => "A modelled drive in virtual time: the figures are the model's, not a measurement.".to_owned(),
            },
            format!(
                "Build {build}. Every drive, stack and job as it was read, every setting of each cell and the seed of \
                 each run stand in made-from.json beside this page; the command runs in that folder."
            ),
        ]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::CellTally;
    use crate::inputs::Inputs;
    use crate::plan;
    use crate::provenance::RunSample;
    use crate::run::blank::record_with;
    use crate::stats::{BetterDirection, Criteria, PairedComparison, PairedRatios, judge};

    /// A finding for each cell: the second side takes `ratio` times as long as the first.
    fn findings(ratios: &[(&str, f64)]) -> Vec<Finding> {
        let finding = |&(cell, ratio): &(&str, f64)| {
            let paired = PairedRatios::new(&[1.0, 1.1, 1.2], &[ratio, 1.1 * ratio, 1.21 * ratio]).unwrap();
            let judged = judge(&[PairedComparison { paired, better: BetterDirection::Lower }], &Criteria::default());
            Finding {
                compare: 0,
                from: 0,
                to: 1,
                cell: cell.to_owned(),
                judgement: Some(judged[0]),
                pairs: None,
                credit: String::new(),
                at_once: Vec::new(),
                refused: None,
                cause: None,
                unasked: None,
                beside: Vec::new(),
                thin: false,
            }
        };
        ratios.iter().map(finding).collect()
    }

    #[test]
    fn the_worst_and_the_best_cell_go_by_what_is_measured() {
        let cells = findings(&[("depth 1", 0.9), ("depth 8", 0.5), ("depth 64", 1.5)]);
        let said = |metric: &str| extreme_cells_sentence(&metric.parse().unwrap(), &cells.iter().collect::<Vec<_>>());
        assert_eq!(said("iops").unwrap(), "Worst at depth 8; best at depth 64.");
        assert_eq!(said("mean").unwrap(), "Worst at depth 64; best at depth 8.");
        assert_eq!(extreme_cells_sentence(&"mean".parse().unwrap(), &[&cells[0]]), None, "one cell has no ends");
    }

    #[test]
    fn a_case_is_told_by_the_levels_of_the_other_factors() {
        let text = "title = 't'\nquestion = 'q'\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
                    drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
                    [[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n\
                    [[compare]]\nname = 'q'\nfactor = 'queue'\nfrom = 1\nto = 32\n";
        let study = seekwise_formats::study::parse("s.toml", text).unwrap();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cells = plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        let made =
            StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None));
        let evidence = Evidence::new(&study, &made, &[]);
        // The first factor varies slowest: cells 0 and 1 are of depth 1, 2 and 3 of depth 8.
        let mut judged = findings(&[("depth 1", 0.5), ("depth 8", 0.9)]);
        (judged[1].from, judged[1].to) = (2, 3);
        let overall = OverallComparison {
            compare: 0,
            judgement: None,
            cells: 2,
            range: None,
            tally: CellTally::default(),
            place: None,
            beside: Vec::new(),
            per_request: vec![(Outcome::Faster, 0.7), (Outcome::NoDifference, 1.0)],
            price: None,
            credit: String::new(),
            at_once: Vec::new(),
            refused: None,
        };
        let mut said = report::ReportVerdict::default();
        set_cell_cases_and_slightness(&mut said, &evidence, &overall, &judged.iter().collect::<Vec<_>>());
        let levels = |judged: &report::JudgedCases| -> Vec<Vec<(String, String)>> {
            judged.cases.iter().map(|case| case.levels.clone()).collect()
        };
        let depth = |level: &str| vec![("depth".to_owned(), level.to_owned())];
        let (cases, requests) = (said.cases.unwrap(), said.per_request.unwrap());
        assert_eq!([levels(&cases), levels(&requests)], [vec![depth("1"), depth("8")], vec![depth("1"), depth("8")]]);
        let told: Vec<(Outcome, f64)> = requests.cases.iter().map(|case| (case.outcome, case.ratio)).collect();
        assert_eq!(told, overall.per_request);
    }

    /// A run with these figures of its arrivals and its processor, as JSON.
    fn run(arrivals: &str, cpu: &str) -> RunRecord {
        record_with(&format!(r#"{{"arrivals":{arrivals},"cpu":{cpu}}}"#))
    }

    #[test]
    fn arrivals_and_the_processor_s_share_are_means_over_the_runs_and_the_longest_backlog_of_all() {
        let due = |asked: &str, reached: [f64; 2], backlog: [f64; 2]| {
            let ([iops, bytes], [mean, max]) = (reached, backlog);
            let arrivals = format!(
                r#"{{{asked},"reached_iops":{iops:?},"reached_bytes_per_s":{bytes:?},
                "backlog_ms":{{"mean":{mean:?},"max":{max:?}}},"all":true,"kept":false}}"#
            );
            run(&arrivals, "null")
        };
        let rated = |asked: f64| format!(r#""asked_iops":{asked:?},"asked_bytes_per_s":null"#);
        let runs = [
            due(&rated(100.0), [90.0, 4e6], [1.0, 8.0]),
            due(&rated(300.0), [110.0, 8e6], [3.0, 6.0]),
            due(&rated(500.0), [160.0, 18e6], [5.0, 7.0]),
        ];
        let expected = report::ReportArrivals {
            asked_iops: Some(300.0),
            asked_mb_per_s: None,
            reached_iops: 120.0,
            reached_mb_per_s: 10.0,
            backlog_mean_ms: 3.0,
            backlog_max_ms: 8.0,
        };
        assert_eq!(to_report_arrivals(&runs.iter().collect::<Vec<_>>()), Some(expected));
        let bytes = |asked: f64| format!(r#""asked_iops":null,"asked_bytes_per_s":{asked:?}"#);
        let [one, other] = [2e6, 4e6].map(|asked| due(&bytes(asked), [1.0, 1e6], [0.0, 0.0]));
        let found = to_report_arrivals(&[&one, &other]).unwrap();
        assert_eq!((found.asked_iops, found.asked_mb_per_s), (None, Some(3.0)));
        let closed = run("null", "null");
        assert_eq!([to_report_arrivals(&[&one, &closed]), to_report_arrivals(&[])], [None, None], "a run had none");

        let busy = |percent: f64| {
            let [ios, iops, mb] = [2.0, 4.0, 8.0].map(|factor| factor * percent);
            let figures = format!(
                r#"{{"percent":{percent:?},"ios_per_cpu_second":{ios:?},"iops_per_percent":{iops:?},
                "mb_per_s_per_percent":{mb:?}}}"#
            );
            run("null", &figures)
        };
        let expected =
            CpuRecord { percent: 30.0, ios_per_cpu_second: 60.0, iops_per_percent: 120.0, mb_per_s_per_percent: 240.0 };
        assert_eq!(mean_cpu_use(&[&busy(20.0), &closed, &busy(40.0)]), Some(expected), "of the runs that have it");
        assert_eq!(mean_cpu_use(&[&closed]), None);
    }
}
