//! Fills a [`Report`] from a study, what its cells ran, and their records. No statistics are computed here.

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
use crate::run::{Arrivals, CpuRecord, Response, RunRecord, pool_responses};
use crate::stats::{self, Interval, Judgement, Verdict, quality};
use crate::stretch::make_stretches;
use seekwise_drives::stack::{self, Setting};

/// The material of a report.
pub struct ReportMaterial<'a> {
    pub study: &'a Study,
    /// The provenance of its cells.
    pub made: &'a StudyProvenance,
    /// The results.
    pub records: &'a [RunRecord],
    /// The command that repeats the study.
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
    verdicts.sort_by(|one, other| {
        other.leads.cmp(&one.leads).then_with(|| if one.leads { Ordering::Equal } else { compare_by_size(one, other) })
    });
    // A comparison in a single cell is that of the cell.
    let several = |finding: &&Finding| overall.iter().any(|it| it.compare == finding.compare && it.cells != 1);
    let mut cells: Vec<report::ReportVerdict> =
        findings.iter().filter(several).map(|finding| cell_verdict(&evidence, finding)).collect();
    cells.sort_by(compare_by_size);
    verdicts.extend(cells);
    Report {
        title: study.title.clone(),
        question: study.question.clone(),
        expectation: study.expect.clone(),
        command: command.to_owned(),
        version: made.program.version.clone(),
        seed: study.seed,
        runs_per_cell: account.as_ref().map_or([study.runs.into(); 2], |it| [it.least_runs, it.most_runs]),
        runs_planned: runs_planned(study, made, records),
        runs_done: records.len() as u64,
        runtime_s: account.as_ref().and_then(|it| it.runtime_s).unwrap_or([runtime_s(study, made, records); 2]),
        virtual_time: !made.is_measured(),
        interval: interval_text(study, &evidence, account.as_ref()),
        meanings: verdict_meanings(),
        stretches: make_stretches(made, &animated_cells(&verdicts, &evidence, made)),
        verdicts,
        stack: report_layers(made),
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
            .map(|cell| report_cell(made, &evidence, cell))
            .collect(),
        best: evidence
            .best_levels()
            .into_iter()
            .filter_map(|(question, answer)| report_best(study, question, answer))
            .collect(),
        claims: evidence.judge_claims().iter().map(report_claim).collect(),
        warnings: made.warnings.clone(),
        provenance: report_provenance(made),
    }
}

/// The order of verdicts: refused ones, then differences with the largest first, then those without one, then undecided
/// ones.
fn compare_by_size(one: &report::ReportVerdict, other: &report::ReportVerdict) -> Ordering {
    let rank = |verdict: &report::ReportVerdict| match verdict.verdict {
        Outcome::Refused => 0,
        Outcome::Faster | Outcome::Slower | Outcome::Mixed => 1,
        Outcome::NoDifference => 2,
        Outcome::NotEnoughData => 3,
    };
    let size = |verdict: &report::ReportVerdict| verdict.ratio.map_or(0.0, |ratio| ratio.estimate.ln().abs());
    rank(one).cmp(&rank(other)).then_with(|| size(other).total_cmp(&size(one)))
}

/// The cells of the moving picture: the headline's sides, or, if not both are done, the first cell that is.
fn animated_cells(verdicts: &[report::ReportVerdict], evidence: &Evidence<'_>, made: &StudyProvenance) -> Vec<usize> {
    let headline = verdicts.first().map_or(&[][..], |verdict| &verdict.cell_ids);
    let judged: Vec<usize> = headline.iter().filter_map(|id| id.parse().ok()).collect();
    let done = |cell: &usize| !evidence.cell_runs(*cell).is_empty();
    match !judged.is_empty() && judged.iter().all(done) {
        true => judged,
        false => (0..made.cells.len()).find(done).into_iter().collect(),
    }
}

/// The length of a run, in seconds: as the study says; if it says nothing, or runs were sampled until decided (which may shorten them),
/// that of the longest.
fn runtime_s(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> f64 {
    let stated = study.runtime.filter(|_| made.sampling.is_none());
    stated.map_or_else(|| longest_run_s(records), |runtime| runtime.seconds())
}

/// The longest run, if the job itself said when to end.
fn longest_run_s(records: &[RunRecord]) -> f64 {
    records.iter().map(|record| record.elapsed_s).fold(0.0, f64::max)
}

/// Number of runs planned; with sampling until decided, as far as the records show its end.
fn runs_planned(study: &Study, made: &StudyProvenance, records: &[RunRecord]) -> u64 {
    rounds::sample_order(study, made, records).len() as u64
}

fn interval_text(study: &Study, evidence: &Evidence<'_>, account: Option<&SamplingAccount>) -> String {
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

/// How the runs of two sides are paired.
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

fn report_interval(interval: Interval) -> report::ReportInterval {
    report::ReportInterval { estimate: interval.estimate, low: interval.low, high: interval.high }
}

fn judgement_text(metric: &Metric, judgement: Option<&Judgement>, refused: Option<&String>) -> String {
    match (refused, judgement) {
        (Some(why), _) => format!("refused: {why};"),
        (None, Some(judgement)) => DifferenceWords::for_metric(metric).verdict_and_ratio(judgement),
        (None, None) => "not enough data".to_owned(),
    }
}

/// The ratio for the page, if it has an interval.
fn finite_ratio(judgement: Option<&Judgement>) -> Option<report::ReportInterval> {
    judgement.map(|judgement| judgement.ratio).filter(|ratio| ratio.high.is_finite()).map(report_interval)
}

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
        ratio: finite_ratio(judgement),
        range: None,
        cells: 1,
        verdict: outcome,
        word: word.to_owned(),
        p_adjusted: judgement.map(|judgement| judgement.p_holm),
        margin_percent: Some(evidence.study.margin_percent),
        differs: differing_settings(evidence, finding),
        at_once: finding.at_once.iter().map(ToString::to_string).collect(),
        note: finding.refused.clone().or_else(|| doubt_note(finding)),
        cause: finding.cause.as_ref().map(report_cause),
        beside: finding.beside.iter().map(SecondaryFigure::text).collect(),
        ..report::ReportVerdict::default()
    };
    temper_cpu_gain(&mut verdict, metric, &finding.beside);
    verdict
}

/// Tempers a lower use of the processor by a side that does less work: it is no plain gain.
fn temper_cpu_gain(verdict: &mut report::ReportVerdict, metric: &Metric, beside: &[SecondaryFigure]) {
    let less = beside.iter().any(|figure| figure.worse && figure.metric.figure == Statistic::Iops);
    if less && metric.figure == Statistic::Cpu && verdict.verdict == Outcome::Faster {
        verdict.qualify("for less work");
    }
}

fn overall_verdict(
    evidence: &Evidence<'_>,
    overall: &OverallComparison,
    findings: &[Finding],
) -> report::ReportVerdict {
    let compare = &evidence.study.compare[overall.compare];
    let metric = evidence.judged_metric(overall.compare);
    let judgement = overall.judgement.as_ref();
    let own: Vec<&Finding> = findings.iter().filter(|finding| finding.compare == overall.compare).collect();
    let strongest = own.iter().max_by(|a, b| effect_size(a).total_cmp(&effect_size(b)));
    let words = DifferenceWords::for_metric(metric);
    let (outcome, word) = match overall.refused {
        Some(_) => (Outcome::Refused, Outcome::Refused.name().to_owned()),
        None => (overall.tally.outcome(), overall.tally.outcome_words(words)),
    };
    let beside: Vec<SecondaryFigure> = match &own[..] {
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
        cell: match &own[..] {
            [finding] => finding.cell.clone(),
            _ => format!("geometric mean of {} cells: {}", overall.cells, describe_cells(evidence.study, compare)),
        },
        cell_ids: strongest.map_or(Vec::new(), |finding| vec![finding.from.to_string(), finding.to.to_string()]),
        metric: metric.title(),
        better: metric.better_direction().to_owned(),
        ratio: finite_ratio(judgement),
        range: overall.range.filter(|_| overall.cells > 1),
        verdict: outcome,
        word,
        cells: overall.cells,
        varied: compare.factor.clone(),
        p_adjusted: judgement.map(|judgement| judgement.p_holm),
        margin_percent: Some(evidence.study.margin_percent),
        at_once: overall.at_once.iter().map(ToString::to_string).collect(),
        differs: own.first().map_or(Vec::new(), |finding| differing_settings(evidence, finding)),
        note: overall.refused.clone().or_else(|| extreme_cells(metric, &own)),
        cause: own.first().filter(|_| own.len() == 1).and_then(|finding| finding.cause.as_ref()).map(report_cause),
        beside: beside.iter().map(SecondaryFigure::text).collect(),
        place: overall.place.clone(),
        ..report::ReportVerdict::default()
    };
    add_cell_cases(&mut verdict, evidence, overall, &own);
    temper_cpu_gain(&mut verdict, metric, &beside);
    if let Some(price) = &overall.price
        && let Some(text) = price.text(&compare.factor, &compare.from)
    {
        verdict.set_price(text, price.is_loss());
    }
    verdict
}

/// Adds what each cell of a comparison says, and whether their common difference is too slight for a colour.
fn add_cell_cases(
    verdict: &mut report::ReportVerdict,
    evidence: &Evidence<'_>,
    overall: &OverallComparison,
    findings: &[&Finding],
) {
    let study = evidence.study;
    let compare = &study.compare[overall.compare];
    let factors = || study.factor.iter().map(|factor| &factor.name);
    let judged = |words: DifferenceWords, each: &[(Outcome, f64)]| {
        let case = |(finding, &(outcome, ratio)): (&&Finding, &(Outcome, f64))| {
            let levels = factors().zip(&evidence.made.cells[finding.from].cell.levels);
            let others = levels.filter(|(factor, _)| **factor != compare.factor);
            let levels = others.map(|(factor, level)| (factor.clone(), level.clone())).collect();
            CellCase { levels, outcome, ratio }
        };
        report::JudgedCases { words, cases: findings.iter().zip(each).map(case).collect() }
    };
    let ratio = |judgement: Option<Judgement>| judgement.map_or(1.0, |judgement| judgement.ratio.estimate);
    let outcome = |finding: &&Finding| judgement_outcome(finding.judgement.as_ref(), None);
    let each: Vec<(Outcome, f64)> =
        findings.iter().map(|finding| (outcome(finding), ratio(finding.judgement))).collect();
    verdict.slight = overall.tally.is_slight(ratio(overall.judgement), study.margin_percent / 100.0);
    verdict.cases = Some(judged(DifferenceWords::for_metric(evidence.judged_metric(overall.compare)), &each));
    let per_request = &overall.per_request;
    verdict.per_request = (!per_request.is_empty()).then(|| judged(PROCESSOR_TIME, per_request));
}

/// Describes the cells of a comparison.
fn describe_cells(study: &Study, compare: &ComparisonSpec) -> String {
    let others = study.factor.iter().filter(|factor| factor.name != compare.factor);
    let varied: Vec<&str> = others.filter(|it| it.level_names().len() > 1).map(|it| it.name.as_str()).collect();
    match &varied[..] {
        [one] => format!("one for each {one}"),
        [before @ .., last] => format!("one for each combination of {} and {last}", before.join(", ")),
        [] => "all there are".to_owned(),
    }
}

/// The headline: where the effect is. The geometric mean of all cells is given elsewhere: over cells that can show no effect it is no
/// answer.
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

fn effect_size(finding: &Finding) -> f64 {
    finding.judgement.map_or(0.0, |judgement| judgement.ratio.estimate.ln().abs())
}

/// Names the worst and the best cell by `metric`, so that a mean does not hide them.
pub fn extreme_cells(metric: &Metric, findings: &[&Finding]) -> Option<String> {
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

fn report_cause(cause: &Cause) -> report::ReportCause {
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

fn differing_settings(evidence: &Evidence<'_>, finding: &Finding) -> Vec<String> {
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

fn report_cell(made: &StudyProvenance, evidence: &Evidence<'_>, cell: usize) -> report::ReportCell {
    let runs = evidence.cell_runs(cell);
    let histogram = pool_responses(runs);
    // A boxed slice has no spare capacity, and a page has hundreds of them.
    let buckets: Box<[(f64, u64)]> =
        histogram.buckets().map(|(edge, count)| (edge.nanos() as f64 / 1e6, count)).collect();
    let mean = |value: fn(&RunRecord) -> f64| report_interval(evidence.cell_mean(cell, value));
    let part = |part: Part| {
        let sum: f64 = runs.iter().map(|run| run.anatomy_ms.get(part)).sum();
        sum / runs.len() as f64
    };
    let kind = |of: fn(&RunRecord) -> &crate::run::KindRecord| {
        let done: Vec<Response> = runs.iter().filter_map(|run| of(run).response_ms).collect();
        (!done.is_empty()).then(|| Response::average(&done))
    };
    let mut flags: Vec<String> = runs.iter().flat_map(|run| run.warnings.iter().cloned()).collect();
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
        reads: kind(|run| &run.read),
        writes: kind(|run| &run.write),
        flushes: kind(|run| &run.flush),
        flushes_per_s: evidence.cell_mean(cell, |run| run.flush.iops).estimate,
        histogram: buckets.into_vec(),
        anatomy_ms: Anatomy::from_parts(part),
        elapsed_s: mean(|run| run.elapsed_s),
        operations: report_operations(evidence, cell),
        cpu: mean_cpu(runs),
        arrivals: report_arrivals(runs),
        flags,
    }
}

/// The operations of a scene's programs. A program that did nothing in some run is left out.
fn report_operations(evidence: &Evidence<'_>, cell: usize) -> Vec<report::ReportOperations> {
    let runs = evidence.cell_runs(cell);
    let first = runs.first().into_iter().flat_map(|run| run.issuer.operations.keys());
    let of_program = |program: &String| {
        let done: Vec<_> = runs.iter().map(|run| run.issuer.operations.get(program)).collect::<Option<_>>()?;
        let count = done.iter().map(|done| done.count).sum();
        let of = |run: &RunRecord| run.issuer.operations.get(program).map_or(0.0, |done| done.per_s);
        done.iter().all(|done| done.count > 0).then(|| report::ReportOperations {
            program: program.clone(),
            count,
            per_s: report_interval(evidence.cell_mean(cell, of)),
            response_ms: Response::average(&done.iter().filter_map(|done| done.response_ms).collect::<Vec<_>>()),
        })
    };
    first.filter_map(of_program).collect()
}

fn mean_cpu(runs: &[&RunRecord]) -> Option<CpuRecord> {
    let cpus: Vec<CpuRecord> = runs.iter().filter_map(|run| run.cpu).collect();
    let mean = |value: fn(&CpuRecord) -> f64| cpus.iter().map(value).sum::<f64>() / cpus.len() as f64;
    (!cpus.is_empty()).then(|| CpuRecord {
        percent: mean(|cpu| cpu.percent),
        ios_per_cpu_second: mean(|cpu| cpu.ios_per_cpu_second),
        iops_per_percent: mean(|cpu| cpu.iops_per_percent),
        mb_per_s_per_percent: mean(|cpu| cpu.mb_per_s_per_percent),
    })
}

/// Arrivals at instants of their own; nothing if some run had none.
fn report_arrivals(runs: &[&RunRecord]) -> Option<report::ReportArrivals> {
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

/// The job and the layers of all cells together: a varied setting shows all its values.
fn report_layers(made: &StudyProvenance) -> Vec<ReportLayer> {
    let mut all = made.all_settings();
    let of_job = work::ALL.iter().map(|key| (*key).to_owned());
    let order: Vec<String> = of_job.chain(stack::keys()).collect();
    all.sort_by_key(|setting| order.iter().position(|known| *known == setting.key));
    let mut roles: Vec<&str> = vec!["job", "stack"];
    for layer in stack::layers() {
        let of_kind = all.iter().map(|setting| setting.key.split('.').next().unwrap_or_default());
        let mut numbered: Vec<&str> = of_kind.filter(|role| stack::strip_number(role) == layer).collect();
        numbered.sort_unstable();
        numbered.dedup();
        roles.extend(numbered);
    }
    roles.into_iter().filter_map(|role| report_layer(role, &all)).collect()
}

fn report_layer(role: &str, all: &[&Setting]) -> Option<ReportLayer> {
    let prefix = format!("{role}.");
    let mut settings: Vec<report::ReportSetting> = Vec::new();
    for setting in all.iter().filter(|setting| setting.key == role || setting.key.starts_with(&prefix)) {
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

fn report_best(study: &Study, question: &BestQuestion, answer: Option<BestLevel>) -> Option<report::ReportBest> {
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

fn report_claim(judged: &ClaimJudgement<'_>) -> report::ReportClaim {
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

fn report_provenance(made: &StudyProvenance) -> Provenance {
    let ProgramVersion { build, .. } = &made.program;
    let this = ProgramVersion::current();
    let other = (made.program != this).then(|| {
        format!(
            "This page was made by {this}, which did not run this: it has no picture of the arm and no single requests."
        )
    });
    Provenance {
        hash: made.hash(),
        drive: made.drives.join(", "),
        notes: other.into_iter().chain([
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

    /// Of each cell the second side takes so many times what the first has.
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
        let said = |metric: &str| extreme_cells(&metric.parse().unwrap(), &cells.iter().collect::<Vec<_>>());
        assert_eq!(said("iops").unwrap(), "Worst at depth 8; best at depth 64.");
        assert_eq!(said("mean").unwrap(), "Worst at depth 64; best at depth 8.");
        assert_eq!(extreme_cells(&"mean".parse().unwrap(), &[&cells[0]]), None, "one cell has no ends");
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
        add_cell_cases(&mut said, &evidence, &overall, &judged.iter().collect::<Vec<_>>());
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
        assert_eq!(report_arrivals(&runs.iter().collect::<Vec<_>>()), Some(expected));
        let bytes = |asked: f64| format!(r#""asked_iops":null,"asked_bytes_per_s":{asked:?}"#);
        let [one, other] = [2e6, 4e6].map(|asked| due(&bytes(asked), [1.0, 1e6], [0.0, 0.0]));
        let found = report_arrivals(&[&one, &other]).unwrap();
        assert_eq!((found.asked_iops, found.asked_mb_per_s), (None, Some(3.0)));
        let closed = run("null", "null");
        assert_eq!([report_arrivals(&[&one, &closed]), report_arrivals(&[])], [None, None], "a run had none");

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
        assert_eq!(mean_cpu(&[&busy(20.0), &closed, &busy(40.0)]), Some(expected), "of the runs that have it");
        assert_eq!(mean_cpu(&[&closed]), None);
    }
}
