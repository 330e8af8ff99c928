//! The tables of results: of runs, comparisons, buckets of response times, data at risk over time, and replayed
//! requests. Each column has its unit and its meaning.

use seekwise::compare::{DifferenceWords, Evidence, Finding, Interval, Judgement, Metric};
use seekwise::power_cut::{CutReport, RiskPoint};
use seekwise::run::{ArrayRecord, KindRecord, Response, RunRecord};
use seekwise::sweep::LevelKind;
use seekwise::time::Span;
use seekwise::validate::ResponseSamples;

use super::table::{Column, NamedColumn, Table};

/// A column with its name, unit and meaning.
pub fn named_column(
    name: impl Into<String>,
    unit: &'static str,
    meaning: impl Into<String>,
    column: Column,
) -> NamedColumn {
    NamedColumn { name: name.into(), unit, meaning: meaning.into(), column }
}

/// The levels of a factor, as all of its levels are.
fn level_column(kind: LevelKind, words: Vec<String>) -> Column {
    match kind {
        LevelKind::Count => Column::Count(words.iter().map(|word| word.parse().expect("a count")).collect()),
        LevelKind::Figure => Column::Figure(words.iter().map(|word| word.parse().ok()).collect()),
        LevelKind::Text => Column::Text(words),
    }
}

/// Figures of response times, each with the last word of its columns' names.
type ResponseFigures = [(&'static str, fn(&Response) -> f64); 7];

const RESPONSE_FIGURES: ResponseFigures = [
    ("mean", |response| response.mean),
    ("p50", |response| response.p50),
    ("p90", |response| response.p90),
    ("p99", |response| response.p99),
    ("p99_9", |response| response.p99_9),
    ("p99_99", |response| response.p99_99),
    ("max", |response| response.max),
];

/// The columns of a kind of requests (`all`, `read` or `write`). The names of the figures of all have no prefix.
fn kind_columns(records: &[RunRecord], kind: &str, of_kind: fn(&RunRecord) -> &KindRecord) -> Vec<NamedColumn> {
    let (prefix, whose) = match kind {
        "all" => (String::new(), "reads and writes together".to_owned()),
        kind => (format!("{kind}_"), format!("{kind}s alone")),
    };
    let figure = |value: fn(&KindRecord) -> f64| {
        Column::Figure(records.iter().map(|record| Some(value(of_kind(record)))).collect())
    };
    let ios = Column::Count(records.iter().map(|record| of_kind(record).ios as i64).collect());
    let mut columns = vec![
        named_column(format!("{prefix}ios"), "requests", whose.clone(), ios),
        named_column(format!("{prefix}iops"), "requests/s", whose.clone(), figure(|kind| kind.iops)),
        named_column(format!("{prefix}bytes_per_s"), "bytes/s", whose.clone(), figure(|kind| kind.bytes_per_s)),
    ];
    for (name, value) in RESPONSE_FIGURES {
        let times = records.iter().map(|record| of_kind(record).response_ms.as_ref().map(value)).collect();
        let meaning = format!("response time of {whose}");
        columns.push(named_column(format!("{prefix}{name}_ms"), "ms", meaning, Column::Figure(times)));
    }
    columns
}

/// The bytes that an array's members moved for each byte; no columns if no run has an array.
fn member_columns(records: &[RunRecord]) -> Vec<NamedColumn> {
    let has_array = records.iter().any(|record| record.array.is_some());
    let column = |name: &str, meaning: &str, figure: fn(&ArrayRecord) -> Option<f64>| {
        let values = records.iter().map(|record| record.array.as_deref().and_then(figure)).collect();
        named_column(name, "bytes/byte", meaning, Column::Figure(values))
    };
    let columns = || {
        [
            column("members_read_per_byte_read", "read at the members for each byte read", |array| {
                array.read_per_byte_read
            }),
            column(
                "members_read_per_byte_written",
                "read at the members before writes, for each byte written",
                |array| array.read_per_byte_written,
            ),
            column("members_written_per_byte_written", "written at the members for each byte written", |array| {
                array.written_per_byte_written
            }),
        ]
    };
    if has_array { columns().into() } else { Vec::new() }
}

/// A row for each run: its cell's levels, and its figures.
pub fn run_table(evidence: &Evidence<'_>, records: &[RunRecord]) -> Table {
    let counts = |value: fn(&RunRecord) -> i64| Column::Count(records.iter().map(value).collect());
    let texts =
        |value: fn(&RunRecord) -> &String| Column::Text(records.iter().map(|record| value(record).clone()).collect());
    let mut columns = vec![
        named_column("cell", "", "the combination of levels, counted in the plan", counts(|record| record.cell as i64)),
        named_column("run", "", "the run of its cell", counts(|record| i64::from(record.run))),
        // Seeds have 64 bits, a column's numbers 63.
        named_column("seed", "", "", Column::Text(records.iter().map(|record| record.seed.to_string()).collect())),
        named_column("target", "", "", texts(|record| &record.target)),
        named_column("job", "", "", texts(|record| &record.job)),
    ];
    let used_names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    for (index, factor) in evidence.study.factor.iter().enumerate() {
        let words = records.iter().map(|record| evidence.made.cells[record.cell].cell.levels[index].clone()).collect();
        let name =
            if used_names.contains(&factor.name) { format!("factor.{}", factor.name) } else { factor.name.clone() };
        columns.push(named_column(name, "", "a factor's level", level_column(factor.level_kind(), words)));
    }
    columns.push(named_column(
        "elapsed_s",
        "s",
        "time counted, in the place's time",
        Column::Figure(records.iter().map(|record| Some(record.elapsed_s)).collect()),
    ));
    columns.extend(kind_columns(records, "all", |record| &record.all));
    columns.extend(kind_columns(records, "read", |record| &record.read));
    columns.extend(kind_columns(records, "write", |record| &record.write));
    let cpu_percent = records.iter().map(|record| record.cpu.map(|cpu| cpu.percent)).collect();
    columns.push(named_column("cpu_percent", "%", "of all cores", Column::Figure(cpu_percent)));
    columns.extend(member_columns(records));
    columns.push(named_column(
        "failures",
        "requests",
        "requests that ended with an error",
        counts(|record| record.failures as i64),
    ));
    columns.push(named_column("cell_hash", "", "of all settings of the cell", texts(|record| &record.cell_hash)));
    Table::of_columns(columns)
}

/// The verdict and the ratio in the words of the metric: `longer, 1.753 × as long [1.702, 1.806]`.
fn verdict_in_words(finding: &Finding, metric: &Metric) -> String {
    match (&finding.refused, &finding.judgement) {
        (Some(why), _) => format!("refused: {why}"),
        (None, Some(judgement)) => DifferenceWords::for_metric(metric).verdict_and_ratio(judgement),
        (None, None) => String::new(),
    }
}

/// A row for each comparison: its ratio with its interval, and its verdict.
pub fn comparison_table(evidence: &Evidence<'_>) -> Table {
    let findings = evidence.findings().0;
    let text = |value: &dyn Fn(&Finding) -> String| Column::Text(findings.iter().map(value).collect());
    let figure = |value: &dyn Fn(&Finding) -> Option<f64>| Column::Figure(findings.iter().map(value).collect());
    let comparison = |finding: &Finding| &evidence.study.compare[finding.compare];
    let levels = |cell: usize| evidence.made.cells[cell].cell.levels.join(", ");
    let verdict = |finding: &Finding| match (&finding.refused, &finding.judgement) {
        (Some(_), _) => "refused".to_owned(),
        (None, Some(judgement)) => judgement.verdict.to_string(),
        (None, None) => String::new(),
    };
    let judgement_figure =
        |value: fn(&Judgement) -> f64| figure(&move |finding: &Finding| finding.judgement.as_ref().map(value));
    // A single run has no interval.
    let interval_end = |value: fn(&Interval) -> f64| {
        let ratio = |finding: &Finding| {
            finding.judgement.as_ref().map(|judgement| judgement.ratio).filter(|ratio| ratio.high.is_finite())
        };
        figure(&move |finding: &Finding| ratio(finding).as_ref().map(value))
    };
    Table::of_columns(vec![
        named_column("comparison", "", "", text(&|finding| comparison(finding).name.clone())),
        named_column("cell", "", "the levels of the other factors", text(&|finding| finding.cell.clone())),
        named_column("metric", "", "", text(&|finding| evidence.judged_metric(finding.compare).to_string())),
        named_column("from", "", "the levels of the base", text(&|finding| levels(finding.from))),
        named_column("to", "", "the levels of what is compared with it", text(&|finding| levels(finding.to))),
        named_column("ratio", "1", "to over from, estimated", judgement_figure(|judgement| judgement.ratio.estimate)),
        named_column("low", "1", "the lower end of its interval of 95 %", interval_end(|interval| interval.low)),
        named_column("high", "1", "the upper end", interval_end(|interval| interval.high)),
        named_column("p", "1", "of `the ratio is 1`, for this cell alone", judgement_figure(|judgement| judgement.p)),
        named_column(
            "p_adjusted",
            "1",
            "the same, corrected for all comparisons (Holm)",
            judgement_figure(|judgement| judgement.p_holm),
        ),
        named_column("verdict", "", "faster is better, slower is worse, whatever the metric", text(&verdict)),
        named_column(
            "said",
            "",
            "verdict and ratio in the words of the metric",
            text(&|finding| verdict_in_words(finding, evidence.judged_metric(finding.compare))),
        ),
        named_column(
            "why",
            "",
            "the parts of the response that changed",
            text(&|finding| finding.cause.as_ref().map_or(String::new(), |cause| cause.text())),
        ),
    ])
}

/// A row for each bucket of response times of each run.
pub fn response_table(records: &[RunRecord]) -> Table {
    let (mut cells, mut runs, mut edges, mut counts, mut shares) = (vec![], vec![], vec![], vec![], vec![]);
    for record in records {
        let all_requests: u64 = record.histogram.iter().map(|(_, count)| count).sum();
        let mut so_far = 0;
        for (edge, count) in record.histogram.iter() {
            so_far += count;
            cells.push(record.cell as i64);
            runs.push(i64::from(record.run));
            edges.push(edge as i64);
            counts.push(count as i64);
            shares.push(Some(so_far as f64 / all_requests.max(1) as f64));
        }
    }
    Table::of_columns(vec![
        named_column("cell", "", "the combination of levels, counted in the plan", Column::Count(cells)),
        named_column("run", "", "the run of its cell", Column::Count(runs)),
        named_column("response_ns", "ns", "the upper edge of a bucket of response times", Column::Count(edges)),
        named_column("count", "requests", "reads and writes in the bucket", Column::Count(counts)),
        named_column("share", "1", "of all reads and writes, up to this edge", Column::Figure(shares)),
    ])
}

/// Data at risk over time: a row for each stretch of time.
pub fn risk_table(report: &CutReport) -> Table {
    let points = &report.at_risk;
    let figure = |value: fn(&RiskPoint) -> f64| Column::Figure(points.iter().map(|point| Some(value(point))).collect());
    let count = |value: fn(&RiskPoint) -> u64| Column::Count(points.iter().map(|point| value(point) as i64).collect());
    Table::of_columns(vec![
        named_column("t_s", "s", "the middle of the stretch", figure(|point| point.t_s)),
        named_column(
            "bytes_mean",
            "bytes",
            "acknowledged and not on the medium, mean",
            figure(|point| point.bytes_mean),
        ),
        named_column("bytes_max", "bytes", "the most", count(|point| point.bytes_max)),
        named_column(
            "writes_mean",
            "writes",
            "acknowledged and not on the medium, mean",
            figure(|point| point.writes_mean),
        ),
        named_column("writes_max", "writes", "the most", count(|point| point.writes_max)),
    ])
}

/// Measured and simulated response times of a trace: a row for each request.
pub fn sample_table(samples: &ResponseSamples) -> Table {
    let times = |spans: &[Span]| Column::Count(spans.iter().map(|span| span.nanos() as i64).collect());
    let op = samples.read.iter().map(|read| if *read { "read" } else { "write" }.to_owned()).collect();
    Table::of_columns(vec![
        named_column("op", "", "", Column::Text(op)),
        named_column("measured_ns", "ns", "response time on the real drive", times(&samples.measured)),
        named_column("simulated_ns", "ns", "response time on the modelled drive", times(&samples.simulated)),
    ])
}
