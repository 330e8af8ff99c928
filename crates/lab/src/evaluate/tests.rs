//! Tests of expressions over results made by hand: values, intervals, shapes and faults.

use super::*;
use crate::finding::Evidence;
use crate::inputs::Inputs;
use crate::plan;
use crate::provenance::RunSample;
use crate::run::blank::record_with;
use crate::stats::Judgement;
use seekwise_formats::expression::parse;
use seekwise_formats::study;

const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 2\njob = 'random-read'\n[[factor]]\nname = 'mode'\n\
    key = 'drive.cache.write_back'\nlevels = ['on', 'off']\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\n\
    levels = [1, 2, 8]\n";

/// Requests a second of each run of each cell: on 1, 2, 8, then off 1, 2, 8.
const IOPS: [[f64; 2]; 6] =
    [[100.0, 102.0], [150.0, 153.0], [200.0, 210.0], [100.0, 100.0], [90.0, 110.0], [120.0, 120.0]];

/// What cuts left of files and operations.
const FILES: &str = r#""files":{"promised_lost":{"cuts_with_loss":1,"count":2},"unpromised_lost":{"cuts_with_loss":0,"count":0},
    "in_neither_place":{"cuts_with_loss":0,"count":0},"stale":{"cuts_with_loss":0,"count":0},
    "unreadable":{"cuts_with_loss":0,"count":0}},"operations":{"promised_lost":{"cuts_with_loss":0,"count":0},
    "unpromised_lost":{"cuts_with_loss":0,"count":0},"in_part":{"cuts_with_loss":0,"count":0}}"#;

fn record(cell: usize, run: usize) -> RunRecord {
    let times = r#"{"mean":1.0,"p50":1.0,"p90":1.0,"p95":1.0,"p99":1.0,"p99_9":1.0,"p99_99":1.0,"max":1.0}"#;
    let view = |iops: f64| {
        format!(r#"{{"ios":1,"iops":{iops},"bytes_per_s":1.0,"response_ms":{times},"since_due_ms":{times}}}"#)
    };
    let (all, one) = (view(IOPS[cell][run]), view(0.0));
    let text = format!(
        r#"{{"cell":{cell},"run":{run},"target":"d","job":"j","seed":1,"stream_hash":"0","elapsed_s":1.0,
        "all":{all},"read":{one},"write":{one},"flush":{one},"commit":{one},"memory_percent":50.0,"cpu":{{"percent":7.5,"ios_per_cpu_second":1.0}},"cost":{{"wall_ns":500.0,"processor_ns":400.0}},
        "array":{{"reads":1,"read_bytes":8,"writes":1,"written_bytes":8,"read_per_byte_read":1.0,"read_per_byte_written":2.0,
        "written_per_byte_written":2.0,"read_modify_writes":1,"reconstruct_writes":0,"members":[]}},
        "cuts":{{"cuts":1,"writes":1,"flushes":0,"torn_cuts":0,"hole_cuts":0,"acknowledged_lost":{{"cuts_with_loss":1,"writes":3}},
        "flushed_lost":{{"cuts_with_loss":0,"writes":0}},"fua_lost":{{"cuts_with_loss":0,"writes":0}},
        "promised_lost":{{"cuts_with_loss":0,"writes":0}},{FILES}}},
        "shutdowns":{{"cuts":1,"writes":1,"flushes":0,"torn_cuts":0,"hole_cuts":0,"acknowledged_lost":
        {{"cuts_with_loss":0,"writes":0}},"flushed_lost":{{"cuts_with_loss":0,"writes":0}},"fua_lost":
        {{"cuts_with_loss":0,"writes":0}},"promised_lost":{{"cuts_with_loss":0,"writes":0}},{FILES}}},
        "anatomy_ms":{{"processor":0.0,"driver":0.0,"flush":0.0,"controller":0.0,"queue":0.0,"overhead":0.0,"seek":0.0,
        "settle":0.0,"rotation":2.0,"transfer":0.0,"cache":0.0,"link":0.0}},"warnings":["a","b"]}}"#
    );
    record_with(&text)
}

/// The results of a check over the six cells, of which those in `ran` were run.
fn check_of(text: &str, ran: &[usize]) -> Vec<EvaluatedCheck> {
    let study = study::parse("s.toml", STUDY).unwrap();
    let cells = plan::study_cells(&study);
    let records: Vec<RunRecord> = ran.iter().flat_map(|&cell| [record(cell, 0), record(cell, 1)]).collect();
    let mut runs: Vec<Vec<&RunRecord>> = vec![Vec::new(); cells.len()];
    for record in &records {
        runs[record.cell].push(record);
    }
    let levels = cells.iter().map(|cell| &cell.levels[..]).collect();
    let expression = parse(text).unwrap_or_else(|fault| panic!("{text}: {fault}"));
    StudyResults::new(&study, levels, None, &runs).check_expression(&expression, &[])
}

#[track_caller]
fn said(text: &str, expected: &str) {
    assert_eq!(check_lines(&check_of(text, &[0, 1, 2, 3, 4, 5])).join("\n"), expected);
}

#[test]
fn sides_are_paired_run_by_run() {
    // 200/100 and 210/102: mean 2.0294; t(1) = 12.706, s = 0.04159, so ± 0.3737.
    said("(iops[depth=8] / iops[depth=1])[mode=on]", "(iops[depth=8] / iops[depth=1])[mode=on]: 2.029 ± 0.374");
    said("iops[mode=on, depth=1] in 100..102", "iops[mode=on, depth=1], wanted 100..102: 101.0 ± 12.7 – holds");
    said("iops[mode=on, depth=1] in 99 ± 2 %", "iops[mode=on, depth=1], wanted 99 ± 2 %: 101.0 ± 12.7 – FAILS");
    // 100 and 102: s = √2. 90 and 110 are 1 on average and scatter about it; 200 and 210 scatter less than their
    // distance from it.
    said("deviation(iops[mode=on, depth=1])", "deviation(iops[mode=on, depth=1]): 1.414");
    for (of, holds) in [("iops[mode=off, depth=2]", true), ("iops[mode=on, depth=8]", false)] {
        let within = check_of(&format!("-deviation({of}) < {of} - 100 < deviation({of})"), &[0, 1, 2, 3, 4, 5]);
        assert_eq!(within[0].holds, Some(holds), "{of}");
    }
    said("low(iops[mode=on, depth=1]) < 88.4", "low(iops[mode=on, depth=1]), wanted < 88.4: 88.29 – holds");
}

#[test]
fn an_interval_has_the_places_that_say_something() {
    assert_eq!(estimate_with_interval(353.573_806, 0.000_001), "353.574 ± <0.001");
    assert_eq!(estimate_with_interval(8.333_333_3, 0.000_000_1), "8.33333 ± <0.00001");
    assert_eq!(estimate_with_interval(8.333, 0.04), "8.333 ± 0.040");
    assert_eq!(estimate_with_interval(12.5, 0.02), "12.50 ± 0.02");
    assert_eq!(estimate_with_interval(4521.3, 310.0), "4521 ± 310");
}

#[test]
fn reductions_over_cells() {
    said(
        "argmax(iops over depth) == 8 for each mode",
        "argmax(iops over depth), wanted == 8:\n  mode on: 8 (1: 101.0, 2: 151.5, 8: 205.0) – holds\n  mode off: 8 (1: \
         100.0, 2: 100.0, 8: 120.0) – holds",
    );
    said(
        "rising(iops[mode=on] over depth)",
        "rising(iops[mode=on] over depth): so (1: 101.0, 2: 151.5, 8: 205.0) – holds",
    );
    said(
        "rising(iops[mode=off] over depth)",
        "rising(iops[mode=off] over depth): not so (1: 100.0, 2: 100.0, 8: 120.0) – FAILS",
    );
    said(
        "falling(iops[mode=on] over depth in (8, 1))",
        "falling(iops[mode=on] over depth in (8, 1)): so (8: 205.0, 1: 101.0) – holds",
    );
    said(
        "argmax(iops[depth=1] over mode) in (on, 7)",
        "argmax(iops[depth=1] over mode), wanted one of (on, 7): on (on: 101.0, off: 100.0) – holds",
    );
    said("geomean(iops over depth)[mode=off]", "geomean(iops over depth)[mode=off]: 106.1 ± 45.1");
    said(
        "share(iops > 110 over mode, depth) >= 0.5",
        "share(iops > 110 over mode, depth), wanted >= 0.5: 0.5000 – holds",
    );
    // Over log2: 100, 150, 200 at 0, 1, 3 is 32.14 a doubling; 102, 153, 210 is 34.93.
    said(
        "slope(iops[mode=on] over log2(depth))",
        "slope(iops[mode=on] over log2(depth)): 33.54 ± 17.70 (1: 101.0, 2: 151.5, 8: 205.0)",
    );
}

#[test]
fn conditions_join() {
    said(
        "iops[mode=on] > iops[mode=off] > 99 for each depth in (2)",
        "iops[mode=on] > iops[mode=off] > 99:\n  depth 2: 151.5 ± 19.1 > 100.0 ± 127.1 > 99.00 – holds",
    );
    for (text, holds) in [("1 < 2 and 2 < 1", false), ("1 < 2 or 2 < 1", true), ("not 1 < 2", false), ("1 != 2", true)]
    {
        assert_eq!(check_of(text, &[])[0].holds, Some(holds), "{text}");
    }
}

#[test]
fn what_was_not_run_neither_holds_nor_fails() {
    let checked = check_of("iops[mode=on, depth=8] > iops[mode=on, depth=1]", &[0]);
    assert_eq!((checked[0].holds, checked[0].value.as_str()), (None, "not run > 101.0 ± 12.7"));
    assert_eq!(check_of("max(iops over depth)[mode=on] > 1", &[0])[0].holds, None);
    assert_eq!(check_of("iops[mode=on, depth=8] > 1 or 1 < 2", &[0])[0].holds, None);
}

#[test]
fn needed_cells_are_those_it_reads() {
    let study = study::parse("s.toml", STUDY).unwrap();
    let cells = plan::study_cells(&study);
    let claim = |text: &str, over: &[&str]| -> Claim {
        let over = over.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "id = 'T1'\nclass = 'I'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\ncheck = ['{text}']\nover = [{over}]"
        );
        toml::from_str(&text).unwrap()
    };
    let of = |text: &str| needed_cells(&study, &cells, &claim(text, &[]));
    assert_eq!(of("(iops[depth=8] / iops[depth=1])[mode=off] > 1"), [3, 5]);
    assert_eq!(of("high(slope(iops over log2(depth))) < 0 for each mode in (on)"), [0, 1, 2]);
    assert_eq!(of("iops[mode=on, depth=8] > 1 or iops[mode=off, depth=1] > 1"), [2, 3]);
    assert_eq!(needed_cells(&study, &cells, &claim("iops[depth=8] > iops[depth=1]", &["mode"])), [0, 2, 3, 5]);
}

#[test]
fn every_figure_of_an_expression_is_in_a_record() {
    let record = record_json(&record(0, 0));
    for key in seekwise_formats::expression::quantities() {
        assert!(json_figure(&record, &key).is_some(), "{key}");
    }
    assert_eq!(json_figure(&record, "warnings"), Some(2.0));
    assert_eq!(json_figure(&record, "cuts.files.promised_lost.count"), Some(2.0));
}

#[test]
fn histograms_are_not_taken_along() {
    let mut heavy = record(0, 0);
    let light = record_json(&heavy).to_string().len();
    let buckets: crate::stats::packed_buckets::PackedBuckets = (1..1_000).map(|edge| (edge, 1)).collect();
    heavy.histogram.clone_from(&buckets);
    heavy.groups.push(crate::run::GroupRecord { name: "g".to_owned(), all: heavy.all.clone(), histogram: buckets });
    assert!(record_json(&heavy).to_string().len() < light + 1_000, "a group's figures, and no bucket");
}

/// One comparison of one cell, asked for twice: by its cell and over all cells.
#[test]
fn what_is_asked_twice_is_one_test() {
    let compare = "[[compare]]\nname = 'c'\nfactor = 'mode'\nfrom = 'on'\nto = 'off'\n";
    let one = STUDY.replace("levels = [1, 2, 8]", "levels = [8]");
    let judged = |text: &str, cell_of: fn(usize) -> usize| {
        let study = study::parse("s.toml", text).unwrap();
        let cells = plan::study_cells(&study);
        let records: Vec<RunRecord> = (0..cells.len())
            .flat_map(|cell| [0, 1].map(|run| RunRecord { cell, ..record(cell_of(cell), run) }))
            .collect();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        // The content of cells does not matter here: one stands for all.
        let settings = [("job", "random-read"), ("drive", "barracuda-7200.7-ncq")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let any = plan::prepare_cell("s.toml", &Cell { levels: Vec::new(), settings }, &inputs).unwrap();
        let made = StudyProvenance::new(
            String::new(),
            &cells,
            &vec![any; cells.len()],
            inputs.texts_read(),
            RunSample::new(&study, None),
        );
        let evidence = Evidence::new(&study, &made, &records);
        let (findings, overall) = evidence.findings();
        let of = |judgement: Option<Judgement>| judgement.map(|it| (it.p, it.p_holm)).unwrap();
        let findings: Vec<(f64, f64)> = findings.iter().map(|finding| of(finding.judgement)).collect();
        (findings, overall.iter().map(|overall| of(overall.judgement)).collect::<Vec<_>>())
    };
    let (findings, overall) = judged(&format!("{one}{compare}"), |cell| [2, 5][cell]);
    assert_eq!(findings, overall);
    assert_eq!(findings[0].0, findings[0].1, "one test is corrected for itself alone");
    let (twice, _) = judged(&format!("{one}{compare}{compare}"), |cell| [2, 5][cell]);
    assert_eq!(twice, [findings[0]; 2]);
    // Three cells and the whole are four.
    let (three, _) = judged(&format!("{STUDY}{compare}"), |cell| cell);
    let least = three.iter().copied().reduce(|a, b| if a.0 <= b.0 { a } else { b }).unwrap();
    assert!((least.1 / least.0 - 4.0).abs() < 1e-9 || least.1 == 1.0, "{three:?}");
}

/// A damaged result folder: sums of such parts overflowed.
#[test]
fn parts_too_long_to_be_measured_have_no_cause() {
    use crate::finding::{Cause, HiddenWork};
    use seekwise_disk::parts::Part;
    use seekwise_drives::metric::MetricScope;

    let (sound, mut damaged) = (record(0, 0), record(0, 1));
    assert!(Cause::between_runs(&MetricScope::All, &[&sound], &[&sound], HiddenWork::default()).is_some());
    for long in [9.2e12, -9.2e12, f64::INFINITY, f64::NAN] {
        damaged.anatomy_ms.set(Part::Rotation, long);
        assert!(
            Cause::between_runs(&MetricScope::All, &[&sound], &[&damaged], HiddenWork::default()).is_none(),
            "{long}"
        );
    }
}

fn runs_of(values: &[f64]) -> NodeValue {
    NodeValue::Runs(values.to_vec())
}

#[test]
fn a_relation_holds_of_means_and_at_its_bound() {
    for (order, below, at, above) in [
        (Relation::Below, true, false, false),
        (Relation::AtMost, true, true, false),
        (Relation::Above, false, false, true),
        (Relation::AtLeast, false, true, true),
        (Relation::Equal, false, true, false),
        (Relation::Unequal, true, false, true),
    ] {
        // Runs of 1 and 4 are 2.5 on average.
        let of = |bound: f64| compare_means(&runs_of(&[1.0, 4.0]), order, &runs_of(&[bound]));
        assert_eq!([of(2.6), of(2.5), of(2.4)], [below, at, above], "{order:?}");
    }
    let word = |text: &str| NodeValue::Word(text.to_owned());
    let of_words = |a: &str, order, b: &str| compare_means(&word(a), order, &word(b));
    assert!(of_words("on", Relation::Equal, "on") && !of_words("on", Relation::Equal, "off"));
    assert!(of_words("on", Relation::Unequal, "off") && !of_words("on", Relation::Unequal, "on"));
    assert!(!of_words("a", Relation::Below, "b") && !of_words("b", Relation::AtLeast, "a"), "words have no order");
    assert!(of_words("2.0", Relation::Equal, "2") && of_words("8", Relation::Below, "16"), "levels that are numbers");
}

#[test]
fn a_distance_is_a_share_of_its_bound_and_negative_with_that_to_spare() {
    let of = |value: f64, order, bound: f64| share_beyond_bound(&runs_of(&[value]), order, &runs_of(&[bound]));
    let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
    for (value, bound, above) in [(110.0, 100.0, 0.1), (90.0, 100.0, -0.1), (-90.0, -100.0, 0.1), (100.0, 100.0, 0.0)] {
        for order in [Relation::Below, Relation::AtMost] {
            assert!(near(of(value, order, bound), above), "{value} {order:?} {bound}");
        }
        for order in [Relation::Above, Relation::AtLeast] {
            assert!(near(of(value, order, bound), -above), "{value} {order:?} {bound}");
        }
        assert!(near(of(value, Relation::Equal, bound), f64::abs(above)));
        assert_eq!(of(value, Relation::Unequal, bound), None);
    }
    assert_eq!(of(1.0, Relation::Below, 0.0), None, "no share of nothing");
    assert_eq!(share_beyond_bound(&NodeValue::Word("on".to_owned()), Relation::Equal, &runs_of(&[1.0])), None);
    assert_eq!(
        [larger_distance(Some(0.1), Some(-0.2)), larger_distance(None, Some(-0.2)), larger_distance(None, None)],
        [Some(0.1), Some(-0.2), None]
    );
    // Of a range the nearer end: 101 of 100 to 110 has a hundredth to spare below. Of a chain the worst link.
    let share = |text: &str| check_of(text, &[0, 1, 2, 3, 4, 5])[0].distance.unwrap();
    assert!((share("101 in 100..110") + 0.01).abs() < 1e-12 && (share("120 in 100..110") - 1.0 / 11.0).abs() < 1e-12);
    assert!((share("1 < 2 < 1.6") - 0.25).abs() < 1e-12);
}

#[test]
fn many_cells_are_reduced_run_by_run() {
    let names = ["1", "2", "4"].map(str::to_owned);
    let figures = [vec![2.0, 4.0], vec![8.0, 8.0], vec![4.0, 2.0]];
    let of = |reduction, log2| reduce_cells(reduction, &names, &figures, log2).unwrap();
    let near = |found: NodeValue, expected: [f64; 2]| {
        let NodeValue::Runs(runs) = found else { panic!("{found:?}") };
        assert!(runs.len() == 2 && runs.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{runs:?}");
    };
    near(of(Reduction::Max, false), [8.0, 8.0]);
    near(of(Reduction::Min, false), [2.0, 2.0]);
    near(of(Reduction::Sum, false), [14.0, 14.0]);
    near(of(Reduction::Mean, false), [14.0 / 3.0, 14.0 / 3.0]);
    // The cube root of 2 · 8 · 4.
    near(of(Reduction::Geomean, false), [4.0, 4.0]);
    near(of(Reduction::Spread, false), [3.0, 3.0]);
    // About 7/3: (-4/3 · 2 - 1/3 · 8 + 5/3 · 4) / (16/9 + 1/9 + 25/9) = 4/3 / (14/3); and -4/3 · 4 - 8/3 + 10/3 = -14/3 over it.
    near(of(Reduction::Slope, false), [2.0 / 7.0, -1.0]);
    // Over the doublings 0, 1, 2: (4 - 2) / 2 and (2 - 4) / 2.
    near(of(Reduction::Slope, true), [1.0, -1.0]);
    assert_eq!(of(Reduction::ArgMax, false), NodeValue::Word("2".to_owned()));
    let least = reduce_cells(Reduction::ArgMin, &names, &[vec![3.0], vec![2.0], vec![5.0]], false);
    assert_eq!(least, Some(NodeValue::Word("2".to_owned())));
    for (figures, rises, falls) in [
        ([1.0, 2.0, 3.0], true, false),
        ([3.0, 2.0, 1.0], false, true),
        ([1.0, 2.0, 2.0], false, false),
        ([2.0, 2.0, 1.0], false, false),
    ] {
        let figures = figures.map(|figure| vec![figure]);
        let steps = |reduction| reduce_cells(reduction, &names, &figures, false);
        assert_eq!(steps(Reduction::Rising), Some(NodeValue::Truth(rises)));
        assert_eq!(steps(Reduction::Falling), Some(NodeValue::Truth(falls)));
    }
    assert_eq!(reduce_cells(Reduction::Sum, &[], &[], false), None);
    assert_eq!(
        reduce_cells(Reduction::Slope, &["a".to_owned(), "b".to_owned()], &figures[..2], false),
        None,
        "names have no distance"
    );
}

#[test]
fn functions_go_run_by_run() {
    // On at depth 1: 100 and 102; at depth 2: 150 and 153; off at depth 2: 90 and 110.
    for (text, expected) in [
        ("max(iops[mode=off, depth=2], 100)", "105.0"),
        ("min(iops[mode=off, depth=2], 100)", "95.00"),
        ("max(iops[mode=off, depth=2], 100, 104)", "107.0"),
        ("abs(100 - iops[mode=off, depth=2])", "10.00"),
        ("log2(8)", "3.000"),
        ("-(3)", "-3.000"),
        ("2 + 3 * 4 - 6 / 2", "11.00"),
        ("iops[mode=on, depth=2] - iops[mode=on, depth=1]", "50.50"),
        ("iops[mode=on, depth=2] / iops[mode=on, depth=1]", "1.500"),
    ] {
        let value = check_of(text, &[0, 1, 2, 3, 4, 5])[0].value.clone();
        assert_eq!(value.split(" ±").next(), Some(expected), "{text}: {value}");
    }
    // 101 ± 12.706: 88.294 to 113.706.
    for (text, holds) in [
        ("88.2 < low(iops[mode=on, depth=1]) < 88.4", true),
        ("113.6 < high(iops[mode=on, depth=1]) < 113.8", true),
        ("low(iops[mode=on, depth=1]) < 88.2", false),
        ("high(iops[mode=on, depth=1]) > 113.8", false),
    ] {
        assert_eq!(check_of(text, &[0])[0].holds, Some(holds), "{text}");
    }
}

#[test]
fn the_level_nearest_to_a_figure_counts() {
    let value = |text: &str| check_of(text, &[0, 1, 2, 3, 4, 5])[0].value.clone();
    assert_eq!(value("(iops[mode=off, depth=1])[depth=8]"), "100.0");
    assert!(value("(iops[depth=8] / iops)[mode=on, depth=1]").starts_with("2.029"));
}

#[test]
fn a_figure_has_four_digits_or_all_before_the_point() {
    for (value, text) in [
        (0.0, "0.000"),
        (1.0, "1.000"),
        (9.999_4, "9.999"),
        (-12.345, "-12.35"),
        (999.95, "1000.0"),
        (1234.4, "1234"),
        (12_345.6, "12346"),
        (0.001_234_4, "0.001234"),
        (1e-12, "0.000000000"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(four_digits(value), text);
    }
    assert_eq!(
        [value_text(None), value_text(Some(&NodeValue::Truth(true))), value_text(Some(&NodeValue::Truth(false)))],
        ["not run", "so", "not so"]
    );
    assert_eq!(value_text(Some(&runs_of(&[2.0, 2.0]))), "2.000", "runs that are equal have no interval");
}
