//! Findings and claims over results made by hand, whose verdicts are known: two cells without and two with a longer queue.

use std::sync::OnceLock;

use seekwise_disk::parts::Part;
use seekwise_drives::concern::Concern;
use seekwise_formats::study;

use super::*;
use crate::inputs::Inputs;
use crate::plan;
use crate::provenance::RunSample;
use crate::run::arrivals::{Arrivals, Backlog};
use crate::run::blank::record_with;
use crate::run::{KindRecord, Response};

const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 4\njob = 'random-read'\n[stack]\n\
    drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n\
    [[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
    [[compare]]\nname = 'c'\nfactor = 'queue'\nfrom = 1\nto = 32\n";

/// Cells of the longer queue: what cell 0 is compared with, and cell 1.
const LONGER: [usize; 2] = [2, 3];

/// The settings of the four cells; they never change, so they are made once.
pub(super) fn made() -> &'static StudyProvenance {
    static MADE: OnceLock<StudyProvenance> = OnceLock::new();
    MADE.get_or_init(|| {
        let (study, inputs) = (plain(), Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into())));
        let cells = plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None))
    })
}

pub(super) fn plain() -> Study {
    study::parse("s.toml", STUDY).unwrap()
}

/// The study with another metric.
fn of(figure: Statistic) -> Study {
    let mut study = plain();
    study.compare[0].metric = Some(Metric::of_all(figure));
    study
}

/// A run of a cell: 100 requests a second of 4096 bytes, each of 10 ms. Cells are never the same run.
pub(super) fn record(cell: usize, run: u32) -> RunRecord {
    let times = r#"{"mean":10.0,"p50":9.0,"p90":20.0,"p95":25.0,"p99":30.0,"p99_9":40.0,"p99_99":50.0,"max":60.0}"#;
    let view =
        format!(r#"{{"ios":200000,"iops":100.0,"bytes_per_s":409600.0,"response_ms":{times},"since_due_ms":{times}}}"#);
    let none = r#"{"ios":0,"iops":0.0,"bytes_per_s":0.0,"response_ms":null}"#;
    let text = format!(
        r#"{{"cell":{cell},"run":{run},"target":"d","job":"j","seed":{run},"stream_hash":"{cell}","elapsed_s":2000.0,
        "all":{view},"read":{view},"write":{none},"flush":{none},"cpu":{{"percent":20.0,"ios_per_cpu_second":500.0}},
        "array":{{"reads":1,"read_bytes":8,"writes":1,"written_bytes":8,"read_per_byte_read":1.0,"read_per_byte_written":2.0,
        "written_per_byte_written":2.0,"read_modify_writes":1,"reconstruct_writes":0,"members":[]}},
        "drive":{{"flushes":0,"seeks":0,"reversals":0,"bitmap_writes":0,
        "syncs":{{"rebuilt_sectors":1,"checked_sectors":0,"ended":0,"drains":0,"mb_per_s":50.0}}}},
        "cost":{{"wall_ns":300.0,"processor_ns":200.0}},"anatomy_ms":{{"rotation":10.0}},"warnings":[]}}"#
    );
    record_with(&text)
}

/// Makes a figure of a run `by` times what it is.
pub(super) fn times(run: &mut RunRecord, figure: Statistic, by: f64) {
    let of = |times: &mut Option<Response>, one: fn(&mut Response) -> &mut f64| {
        *one(times.as_mut().expect("there are times")) *= by;
    };
    let RunRecord { all: KindRecord { iops, bytes_per_s, response_ms: from_issue, since_due_ms: due, .. }, .. } = run;
    match figure {
        Statistic::Iops => *iops *= by,
        Statistic::BytesPerS => *bytes_per_s *= by,
        Statistic::Mean => of(from_issue, |it| &mut it.mean),
        Statistic::P50 => of(from_issue, |it| &mut it.p50),
        Statistic::P90 => of(from_issue, |it| &mut it.p90),
        Statistic::P95 => of(from_issue, |it| it.p95.as_mut().unwrap()),
        Statistic::P99 => of(from_issue, |it| &mut it.p99),
        Statistic::P999 => of(from_issue, |it| &mut it.p99_9),
        Statistic::P9999 => of(from_issue, |it| &mut it.p99_99),
        Statistic::Max => of(from_issue, |it| &mut it.max),
        Statistic::SinceDue => of(due, |it| &mut it.mean),
        Statistic::SinceDueP50 => of(due, |it| &mut it.p50),
        Statistic::SinceDueP90 => of(due, |it| &mut it.p90),
        Statistic::SinceDueP95 => of(due, |it| it.p95.as_mut().unwrap()),
        Statistic::SinceDueP99 => of(due, |it| &mut it.p99),
        Statistic::SinceDueP999 => of(due, |it| &mut it.p99_9),
        Statistic::SinceDueP9999 => of(due, |it| &mut it.p99_99),
        Statistic::SinceDueMax => of(due, |it| &mut it.max),
        Statistic::Cpu => run.cpu.as_mut().unwrap().percent *= by,
        Statistic::IosPerCpuSecond => run.cpu.as_mut().unwrap().ios_per_cpu_second *= by,
        Statistic::WallNs => run.cost.as_mut().unwrap().wall_ns *= by,
        Statistic::ProcessorNs => *run.cost.as_mut().unwrap().processor_ns.as_mut().unwrap() *= by,
        Statistic::Elapsed => run.elapsed_s *= by,
        Statistic::SyncMbPerS => *run.drive.syncs.as_mut().unwrap().mb_per_s.as_mut().unwrap() *= by,
        Statistic::ReadPerByteWritten => {
            *run.array.as_mut().unwrap().read_per_byte_written.as_mut().unwrap() *= by;
        }
        Statistic::WrittenPerByteWritten => {
            *run.array.as_mut().unwrap().written_per_byte_written.as_mut().unwrap() *= by;
        }
    }
}

/// The runs of all cells, as `change` leaves them; runs that it denies are missing.
pub(super) fn runs(study: &Study, mut change: impl FnMut(&mut RunRecord) -> bool) -> Vec<RunRecord> {
    let all = (0..made().cells.len()).flat_map(|cell| (0..study.runs).map(move |run| record(cell, run)));
    all.filter_map(|mut run| change(&mut run).then_some(run)).collect()
}

/// What is asked of the results of `study` whose runs are changed.
pub(super) fn ask<R>(
    study: &Study,
    change: impl FnMut(&mut RunRecord) -> bool,
    asked: impl FnOnce(&Evidence<'_>) -> R,
) -> R {
    let records = runs(study, change);
    asked(&Evidence::new(study, made(), &records))
}

/// True in the cells with the longer queue.
pub(super) fn is_longer(run: &RunRecord) -> bool {
    LONGER.contains(&run.cell)
}

/// The outcomes of both findings, and of both cells together, if the figures of the longer queue are `by` times those of the other.
fn outcomes(study: &Study, by: f64, spread: f64) -> [Outcome; 3] {
    let figure = study.compare[0].metric.as_ref().map_or(Statistic::Iops, |metric| metric.figure);
    let change = |run: &mut RunRecord| {
        if is_longer(run) {
            times(run, figure, by * [1.0, 1.0 + spread, 1.0 - spread, 1.0][run.run as usize]);
        }
        true
    };
    ask(study, change, |evidence| {
        let (findings, overall) = evidence.findings();
        let each = |finding: &Finding| judgement_outcome(finding.judgement.as_ref(), finding.refused.as_ref());
        [each(&findings[0]), each(&findings[1]), overall[0].outcome(findings)]
    })
}

const RATES: [Statistic; 4] =
    [Statistic::Iops, Statistic::BytesPerS, Statistic::IosPerCpuSecond, Statistic::SyncMbPerS];

const TIMES: [Statistic; 22] = [
    Statistic::Mean,
    Statistic::P50,
    Statistic::P90,
    Statistic::P95,
    Statistic::P99,
    Statistic::P999,
    Statistic::P9999,
    Statistic::Max,
    Statistic::SinceDue,
    Statistic::SinceDueP50,
    Statistic::SinceDueP90,
    Statistic::SinceDueP95,
    Statistic::SinceDueP99,
    Statistic::SinceDueP999,
    Statistic::SinceDueP9999,
    Statistic::SinceDueMax,
    Statistic::Cpu,
    Statistic::WallNs,
    Statistic::ProcessorNs,
    Statistic::Elapsed,
    Statistic::ReadPerByteWritten,
    Statistic::WrittenPerByteWritten,
];

#[test]
fn more_is_better_of_rates_and_worse_of_times() {
    use Outcome::{Faster, NoDifference, Slower};
    for (figures, more, less) in [(&RATES[..], Faster, Slower), (&TIMES[..], Slower, Faster)] {
        for &figure in figures {
            let found = [1.1, 1.0, 1.0 / 1.1].map(|by| outcomes(&of(figure), by, 0.001));
            assert_eq!(found, [[more; 3], [NoDifference; 3], [less; 3]], "{figure:?}");
        }
    }
}

#[test]
fn a_study_s_margin_is_where_no_difference_ends() {
    use Outcome::{Faster, NoDifference, Slower};
    for percent in [0.5, 2.0, 10.0] {
        let edge = 1.0 + percent / 100.0;
        for (figure, more, less) in [(Statistic::Iops, Faster, Slower), (Statistic::P99, Slower, Faster)] {
            let mut study = of(figure);
            study.margin_percent = percent;
            for (by, expected) in [
                (edge * (1.0 + 1e-6), more),
                (edge * (1.0 - 1e-6), NoDifference),
                (1.0, NoDifference),
                (1.0 / edge * (1.0 + 1e-6), NoDifference),
                (1.0 / edge * (1.0 - 1e-6), less),
            ] {
                assert_eq!(outcomes(&study, by, 0.0), [expected; 3], "{figure:?} {by} within {percent} %");
            }
        }
    }
}

#[test]
fn what_cannot_be_paired_has_no_verdict_and_its_neighbour_keeps_its_own() {
    use Outcome::{Faster, NotEnoughData};
    let study = plain();
    let spoilt: [fn(&mut RunRecord) -> bool; 5] = [
        |_| false,
        |run| run.run != 3,
        |run| run.run == 0,
        |run| {
            run.all.ios = if run.run == 2 { 0 } else { 200_000 };
            true
        },
        |run| {
            run.all.iops = if run.run == 1 { 0.0 } else { 120.0 };
            true
        },
    ];
    for (number, spoil) in spoilt.into_iter().enumerate() {
        let change = |run: &mut RunRecord| {
            times(run, Statistic::Iops, if is_longer(run) { 1.2 } else { 1.0 });
            run.cell != LONGER[0] || spoil(run)
        };
        ask(&study, change, |evidence| {
            let (findings, overall) = evidence.findings();
            let each: Vec<Outcome> = findings.iter().map(|it| judgement_outcome(it.judgement.as_ref(), None)).collect();
            assert_eq!(each, [NotEnoughData, Faster], "{number}");
            assert!(findings[0].judgement.is_none() && overall[0].judgement.is_none(), "{number}");
            assert_eq!(overall[0].outcome(findings), NotEnoughData, "{number}");
            assert_eq!((overall[0].cells, overall[0].tally.better, overall[0].tally.undecided), (2, 1, 1), "{number}");
            let range = overall[0].range.expect("one cell has a ratio");
            assert!((range.low - 1.2).abs() < 1e-12 && range.low == range.high, "{number} {range:?}");
        });
    }
}

#[test]
fn one_run_of_each_side_is_too_few() {
    let mut study = plain();
    study.runs = 1;
    let change = |run: &mut RunRecord| {
        times(run, Statistic::Iops, if is_longer(run) { 3.0 } else { 1.0 });
        true
    };
    ask(&study, change, |evidence| {
        let (findings, overall) = evidence.findings();
        for judgement in findings.iter().map(|it| it.judgement).chain([overall[0].judgement]) {
            let judgement = judgement.expect("there is a ratio");
            assert_eq!(judgement.verdict, Verdict::NotEnoughData { more_runs: 4 });
            assert_eq!((judgement.ratio.low, judgement.ratio.high), (0.0, f64::INFINITY));
        }
        assert_eq!(overall[0].outcome(findings), Outcome::NotEnoughData);
    });
}

#[test]
fn all_cells_together_are_the_geometric_mean_run_by_run() {
    let change = |run: &mut RunRecord| {
        times(run, Statistic::Iops, [1.0, 5.0, 1.1, 6.0][run.cell] * (1.0 + 0.1 * f64::from(run.run)));
        true
    };
    ask(&plain(), change, |evidence| {
        let (findings, overall) = evidence.findings();
        let sides: Vec<_> = findings.iter().map(|it| (it.compare, it.from, it.to, it.cell.as_str())).collect();
        assert_eq!(sides, [(0, 0, 2, "depth 1"), (0, 1, 3, "depth 8")]);
        let ratios: Vec<f64> = findings.iter().map(|it| it.judgement.unwrap().ratio.estimate).collect();
        assert!((ratios[0] - 1.1).abs() < 1e-9 && (ratios[1] - 1.2).abs() < 1e-9, "{ratios:?}");
        // √(1.1 · 1.2); what all runs share does not scatter.
        let all = overall[0].judgement.unwrap();
        assert!((all.ratio.estimate - 1.32f64.sqrt()).abs() < 1e-9 && all.comparison.paired.runs == 4, "{all:?}");
        assert!(all.comparison.paired.deviation < 1e-9);
        let range = overall[0].range.unwrap();
        assert!((range.low - 1.1).abs() < 1e-9 && (range.high - 1.2).abs() < 1e-9);
        assert_eq!((overall[0].cells, overall[0].tally.better), (2, 2));
        assert_eq!(overall[0].place.as_ref().unwrap().text, "faster, +10 to +20 % in all 2 cells");
    });
}

#[test]
fn mixed_is_for_cells_of_one_comparison_that_surely_differ_both_ways() {
    use Outcome::{Faster, Mixed, NoDifference, Refused, Slower};
    // Beside the judged comparison the reverse of it, of a figure that does not change.
    let reverse = "[[compare]]\nname = 'd'\nfactor = 'queue'\nfrom = 32\nto = 1\n";
    let mut study = study::parse("s.toml", &format!("{STUDY}{reverse}")).unwrap();
    study.compare[1].metric = Some(Metric::of_all(Statistic::Mean));
    for (by, expected) in [
        ([1.2, 0.7], Mixed),
        ([0.7, 1.2], Mixed),
        ([1.2, 1.0], Faster),
        ([0.7, 1.0], Slower),
        ([1.0, 1.0], NoDifference),
    ] {
        let change = |run: &mut RunRecord| {
            let by = if run.cell < 2 { 1.0 } else { by[run.cell - 2] };
            times(run, Statistic::Iops, by * (1.0 + 1e-4 * f64::from(run.run)));
            true
        };
        ask(&study, change, |evidence| {
            let (findings, overall) = evidence.findings();
            assert_eq!([&overall[0], &overall[1]].map(|it| it.outcome(findings)), [expected, NoDifference], "{by:?}");
            let mut refused = overall[0].clone();
            refused.refused = Some("why".to_owned());
            assert_eq!(refused.outcome(findings), Refused);
        });
    }
}

#[test]
fn a_refused_comparison_says_nothing_but_why() {
    let change = |run: &mut RunRecord| {
        times(run, Statistic::Iops, if is_longer(run) { 1.2 } else { 1.0 });
        times(run, Statistic::P99, if is_longer(run) { 2.0 } else { 1.0 });
        run.cuts = Some(Box::new(cut(run.cell as u64)));
        true
    };
    for (credit, is_refused) in
        [(vec![Concern::Queue], false), (vec![Concern::WriteCache], true), (vec![Concern::Queue, Concern::Bus], true)]
    {
        let mut study = plain();
        study.compare[0].credit = Some(credit.clone());
        ask(&study, change, |evidence| {
            let (findings, overall) = evidence.findings();
            let expected = if is_refused { Outcome::Refused } else { Outcome::Faster };
            for finding in findings {
                assert_eq!(judgement_outcome(finding.judgement.as_ref(), finding.refused.as_ref()), expected);
                assert_eq!(finding.beside.is_empty(), is_refused, "{credit:?}: its p99 is worse");
            }
            let all = &overall[0];
            assert_eq!(all.outcome(findings), expected);
            assert_eq!((all.refused.is_some(), all.judgement.is_some()), (is_refused, true), "{credit:?}");
            let said = [all.range.is_some(), all.place.is_some(), all.price.is_some()];
            assert_eq!(said, [!is_refused; 3], "{credit:?}");
        });
    }
}

/// Cuts of a run, of which each lost `lost` acknowledged writes.
fn cut(lost: u64) -> crate::run::CutRecord {
    let loss = |writes: u64| format!(r#"{{"cuts_with_loss":1,"writes":{writes}}}"#);
    let text = format!(
        r#"{{"cuts":10,"writes":100,"flushes":0,"torn_cuts":0,"hole_cuts":0,"acknowledged_lost":{},"flushed_lost":{none},"fua_lost":{none},
        "promised_lost":{none}}}"#,
        loss(10 * lost),
        none = loss(0)
    );
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_price_is_the_mean_of_a_cut_on_each_side() {
    let price = |is_cut: fn(&RunRecord) -> bool| {
        let change = |run: &mut RunRecord| {
            run.cuts = is_cut(run).then(|| Box::new(cut([1, 3, 4, 8][run.cell])));
            true
        };
        ask(&plain(), change, |evidence| evidence.findings().1[0].price)
    };
    // (1 + 3) / 2 on the base, (4 + 8) / 2 on the other side; 2 cells of 4 runs of 10 cuts.
    let text = price(|_| true).and_then(|price| price.text("queue", "1"));
    assert_eq!(
        text.as_deref(),
        Some("but a power cut loses 6 writes that it had acknowledged, 2 with “queue 1” (mean of 80 cuts)")
    );
    assert_eq!(price(|run| run.cell != 1), None);
    assert_eq!(price(|run| run.cell != 3 || run.run != 2), None);
}

/// Requests that came by a rate.
pub(super) fn by_rate(all: bool, kept: bool) -> Option<Arrivals> {
    Some(Arrivals {
        asked_iops: Some(100.0),
        asked_bytes_per_s: None,
        reached_iops: 100.0,
        reached_bytes_per_s: 409_600.0,
        backlog_ms: Backlog { mean: 0.0, max: 0.0 },
        all,
        kept,
    })
}

#[test]
fn a_rate_that_was_asked_for_and_kept_is_no_result() {
    let refused = |metric: &str, spoil: fn(&mut RunRecord)| {
        let mut study = plain();
        study.compare[0].metric = Some(metric.parse().unwrap());
        let change = |run: &mut RunRecord| {
            run.arrivals = by_rate(true, true);
            spoil(run);
            true
        };
        ask(&study, change, |evidence| evidence.findings().0.iter().map(|it| it.refused.is_some()).collect::<Vec<_>>())
    };
    let given = [
        ("iops", true),
        ("read.iops", true),
        ("write.iops", true),
        ("bytes_per_s", true),
        ("elapsed", true),
        ("mean", false),
        ("p99", false),
        ("since_due", false),
        ("flush.iops", false),
        ("operations.copy.iops", false),
        ("cpu", false),
    ];
    for (metric, is_given) in given {
        assert_eq!(refused(metric, |_| ()), [is_given; 2], "{metric}");
    }
    // A single run of either side that fell behind, was not asked for all, or came by itself makes the rate a result.
    let spoilt: [fn(&mut RunRecord); 4] = [
        |run| run.arrivals = if (run.cell, run.run) == (0, 3) { by_rate(true, false) } else { run.arrivals },
        |run| run.arrivals = if (run.cell, run.run) == (2, 0) { by_rate(true, false) } else { run.arrivals },
        |run| run.arrivals = if (run.cell, run.run) == (2, 1) { by_rate(false, true) } else { run.arrivals },
        |run| run.arrivals = if (run.cell, run.run) == (0, 0) { None } else { run.arrivals },
    ];
    for spoil in spoilt {
        assert_eq!(refused("iops", spoil), [false, true]);
    }
}

/// What is said beside the first finding's verdict, and whether it is worse, if the longer queue's figures are so many times the others'.
fn beside(study: &Study, ios: u64, figures: &[(Statistic, f64)]) -> Vec<(String, bool)> {
    let change = |run: &mut RunRecord| {
        run.all.ios = ios;
        let spread = 1.0 + 1e-5 * f64::from(run.run);
        for (figure, by) in figures {
            times(run, *figure, if is_longer(run) { by * spread } else { 1.0 });
        }
        true
    };
    ask(study, change, |evidence| {
        let said = |it: &SecondaryFigure| (it.metric.to_string(), it.worse);
        evidence.findings().0[0].beside.iter().map(said).collect()
    })
}

#[test]
fn figures_that_contradict_the_verdict_are_beside_it() {
    use Statistic::{BytesPerS, Iops, Mean, P99, P999};
    let study = plain();
    let of = |figures: &[(Statistic, f64)]| beside(&study, 200_000, figures);
    let one = |name: &str, worse: bool| vec![(name.to_owned(), worse)];
    assert_eq!(of(&[(Iops, 1.1), (P99, 1.3)]), one("p99", true));
    assert_eq!(of(&[(Iops, 1.1), (P99, 0.7)]), []);
    assert_eq!(of(&[(Iops, 0.9), (P99, 0.7)]), one("p99", false));
    assert_eq!(of(&[(Iops, 0.9), (P99, 1.3)]), []);
    assert_eq!(of(&[(Mean, 1.3)]), one("mean", true), "beside no difference");
    assert_eq!(of(&[(Mean, 0.7)]), one("mean", false));
    assert_eq!(of(&[(Iops, 1.1), (P99, 1.3), (P999, 1.3)]).len(), 2);
    // 2 % is the margin of what contradicts too.
    assert_eq!([1.019, 1.021].map(|by| of(&[(Iops, 1.1), (P99, by)]).len()), [0, 1]);
    // Bytes say something else only of requests of other sizes: of 1.9 % they are of one size, of 2.1 % not.
    assert_eq!(of(&[(Iops, 1.015), (BytesPerS, 1.015 * 1.019)]), []);
    assert_eq!(of(&[(Iops, 1.015), (BytesPerS, 1.015 * 1.021)]), one("bytes_per_s", false));
    assert_eq!(of(&[(Iops, 1.1), (BytesPerS, 0.9)]), one("bytes_per_s", true));
}

/// Ten requests must lie beyond a percentile: 1000 of them for p99, ten thousand for p99.9.
#[test]
fn a_percentile_of_too_few_requests_is_thin_and_stands_beside_nothing() {
    use Statistic::{Iops, P99, P999};
    let tails = [(Iops, 1.1), (P99, 1.3), (P999, 1.3)];
    let said = [999, 1000, 9_999, 10_000].map(|ios| beside(&plain(), ios, &tails).len());
    assert_eq!(said, [0, 1, 1, 2]);
    for (figure, few, is_thin) in
        [(P99, 999, true), (P99, 1000, false), (P999, 9_999, true), (P999, 10_000, false), (Iops, 1, false)]
    {
        for cell in [0, 2] {
            let change = |run: &mut RunRecord| {
                run.all.ios = if (run.cell, run.run) == (cell, 2) { few } else { 200_000 };
                true
            };
            let thin =
                ask(&of(figure), change, |evidence| evidence.findings().0.iter().map(|it| it.thin).collect::<Vec<_>>());
            assert_eq!(thin, [is_thin, false], "{figure:?} of {few}");
        }
    }
}

#[test]
fn how_long_a_run_took_has_a_cause_only_for_equal_work() {
    let cause = |figure: Statistic, more: u64| {
        let change = |run: &mut RunRecord| {
            run.all.ios += if run.cell == 2 && run.run == 0 { more } else { 0 };
            run.anatomy_ms.set(Part::Rotation, if is_longer(run) { 5.0 } else { 10.0 });
            true
        };
        ask(&of(figure), change, |evidence| {
            evidence.findings().0.iter().map(|it| it.cause.is_some()).collect::<Vec<_>>()
        })
    };
    assert_eq!(cause(Statistic::Elapsed, 0), [true, true]);
    assert_eq!(cause(Statistic::Elapsed, 1), [false, true]);
    assert_eq!(cause(Statistic::Mean, 1), [true, true]);
}

/// A mean that moved against the verdict is called so.
#[test]
fn the_cause_knows_the_verdict() {
    for (by, is_opposed) in [(1.2, false), (0.8, true), (1.0, false)] {
        let change = |run: &mut RunRecord| {
            run.anatomy_ms.set(Part::Rotation, if is_longer(run) { 5.0 } else { 10.0 });
            times(run, Statistic::Iops, if is_longer(run) { by } else { 1.0 });
            true
        };
        let found = ask(&plain(), change, |evidence| evidence.findings().0[0].cause.as_ref().unwrap().is_opposed);
        assert_eq!(found, is_opposed, "{by}");
    }
}

#[test]
fn less_of_the_processor_for_less_work_is_said() {
    use Statistic::{Cpu, Iops, IosPerCpuSecond};
    let found = |rate: f64, each: f64| {
        let change = |run: &mut RunRecord| {
            for (figure, by) in [(Cpu, 0.7), (Iops, rate), (IosPerCpuSecond, each)] {
                times(run, figure, if is_longer(run) { by } else { 1.0 });
            }
            true
        };
        ask(&of(Cpu), change, |evidence| {
            let all = &evidence.findings().1[0];
            let beside: Vec<(String, bool)> = all.beside.iter().map(|it| (it.metric.to_string(), it.worse)).collect();
            (beside, all.per_request.clone())
        })
    };
    let (beside, each) = found(0.5, 0.8);
    assert_eq!(beside, [("iops".to_owned(), true), ("ios_per_cpu_second".to_owned(), true)]);
    // A request takes 1 / 0.8 of the time.
    assert!(each.len() == 2 && each.iter().all(|it| it.0 == Outcome::Slower && (it.1 - 1.25).abs() < 1e-9), "{each:?}");
    let (beside, each) = found(0.5, 1.25);
    assert_eq!(beside, [("iops".to_owned(), true), ("ios_per_cpu_second".to_owned(), false)]);
    assert!(each.iter().all(|it| it.0 == Outcome::Faster && (it.1 - 0.8).abs() < 1e-9), "{each:?}");
    assert_eq!(found(1.0, 0.8).0, [], "the work is the same");
    assert_eq!(found(1.5, 0.8).0, [], "more work");
    let of_rate = ask(&plain(), |_| true, |evidence| evidence.findings().1[0].per_request.len());
    assert_eq!(of_rate, 0, "nothing of other metrics");
}

/// A time that is better beside a rate that is worse; of all cells only the rate is said.
#[test]
fn the_rate_is_beside_a_time_over_all_cells() {
    let found = |rate: f64| {
        let change = |run: &mut RunRecord| {
            for (figure, by) in [(Statistic::Mean, 0.5), (Statistic::Iops, rate), (Statistic::P99, 3.0)] {
                times(run, figure, if is_longer(run) { by } else { 1.0 });
            }
            true
        };
        ask(&of(Statistic::Mean), change, |evidence| {
            evidence.findings().1[0].beside.iter().map(|it| (it.metric.to_string(), it.worse)).collect::<Vec<_>>()
        })
    };
    assert_eq!(found(0.9), [("iops".to_owned(), true)]);
    assert_eq!(found(1.1), []);
    assert_eq!(found(0.99), []);
}

#[test]
fn a_mean_has_the_interval_of_its_runs() {
    let mut study = plain();
    study.runs = 2;
    let change = |run: &mut RunRecord| {
        run.all.iops = [10.0, 12.0][run.run as usize];
        run.write.ios = u64::from(run.cell == 1 && run.run == 0);
        !(run.cell == 2 && run.run == 1) && run.cell != 3
    };
    ask(&study, change, |evidence| {
        let mean = |cell: usize| evidence.cell_mean(cell, |run| run.all.iops);
        // Mean 11, s = √2, t(0.975) with one degree = 12.7062: ± 12.7062.
        let two = mean(0);
        assert!(
            (two.low + 1.7062).abs() < 1e-3 && two.estimate == 11.0 && (two.high - 23.7062).abs() < 1e-3,
            "{two:?}"
        );
        assert_eq!(mean(2), Interval { estimate: 10.0, low: 10.0, high: 10.0 });
        assert_eq!(mean(3), Interval { estimate: 0.0, low: 0.0, high: 0.0 });
        let of = |cell: usize, metric: &str| evidence.metric_mean(cell, &metric.parse().unwrap()).map(|it| it.estimate);
        assert_eq!([of(0, "iops"), of(2, "iops"), of(3, "iops")], [Some(11.0), Some(10.0), None]);
        assert_eq!([of(0, "write.iops"), of(1, "write.iops")], [None, None], "a run without such a request");
    });
}

#[test]
fn runs_are_of_their_cells() {
    let study = plain();
    let mut records = runs(&study, |_| true);
    records.push(record(4, 0));
    let evidence = Evidence::new(&study, made(), &records);
    for cell in 0..4 {
        let own: Vec<(usize, u32)> = evidence.cell_runs(cell).iter().map(|run| (run.cell, run.run)).collect();
        assert_eq!(own, [(cell, 0), (cell, 1), (cell, 2), (cell, 3)]);
    }
}

/// Cells without a difference of their runs are left to no chance, and it is said which setting nobody asked for.
#[test]
fn a_setting_that_no_request_asks_for_is_named() {
    let change = |run: &mut RunRecord| {
        run.stream_hash = (run.cell % 2).to_string();
        true
    };
    ask(&plain(), change, |evidence| {
        let said: Vec<&str> = evidence.findings().0.iter().map(|it| it.unasked.as_deref().unwrap_or("")).collect();
        assert_eq!(said[0], "the job has at most one request in flight, and both sides take as many");
        assert_eq!(
            said[1],
            "this job asks for nothing that drive.firmware.depth changes: all runs are equal to the nanosecond",
            "a queue of 1 does not take 8"
        );
    });
    let other = |run: &mut RunRecord| {
        run.stream_hash = "0".to_owned();
        run.elapsed_s += if run.cell == 2 && run.run == 3 { 1e-9 } else { 0.0 };
        run.elapsed_s += if run.cell == 1 { 1.0 } else { 0.0 };
        true
    };
    ask(&plain(), other, |evidence| {
        assert!(evidence.findings().0.iter().all(|it| it.unasked.is_none()), "one run differs by a nanosecond");
    });
}

/// A claim of this study with these keys.
fn claim(more: &str) -> Claim {
    let text = format!("id = 'T1'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\n{more}");
    toml::from_str(&text).unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// What a claim with these keys says, if the longer queue is so many times as fast in both cells.
fn claimed(more: &str, by: [f64; 2]) -> (Option<bool>, bool, ClaimAnswer) {
    let mut study = plain();
    study.claim = vec![claim(more)];
    let change = |run: &mut RunRecord| {
        let by = if run.cell < 2 { 1.0 } else { by[run.cell - 2] };
        times(run, Statistic::Iops, by * (1.0 + 1e-4 * f64::from(run.run)));
        true
    };
    ask(&study, change, |evidence| {
        let judged = &evidence.judge_claims()[0];
        (judged.holds, judged.undecided, judged.answer())
    })
}

#[test]
fn a_planted_difference_is_found_and_planted_equality_is_not() {
    use ClaimAnswer::{NotReproduced, Reproduced, Shown};
    let faster = "class = 'M'\ncheck = ['(iops[queue=32] / iops[queue=1])[depth=8] > 1.05']";
    let equal = "class = 'N'\ncheck = ['(iops[queue=32] / iops[queue=1])[depth=8] in 0.95..1.05']";
    for (by, found) in [(1.2, true), (1.0501, true), (1.0499, false), (1.0, false), (0.8, false)] {
        let answer = if found { Reproduced } else { NotReproduced };
        assert_eq!(claimed(faster, [1.0, by]), (Some(found), false, answer), "{by}");
    }
    // Equality is believed only if a planted difference is found too, which `seekwise claims` tries.
    for (by, found) in [(1.2, false), (1.0501, false), (1.0499, true), (1.0, true), (0.9501, true), (0.9499, false)] {
        let answer = if found { Shown } else { NotReproduced };
        assert_eq!(claimed(equal, [1.0, by]), (Some(found), false, answer), "{by}");
    }
    assert_eq!(claimed("class = 'M'\nshow = ['iops[queue=1, depth=1]']", [1.0, 1.0]), (None, false, Shown));
}

#[test]
fn a_claim_over_a_range_needs_more_than_half_of_it() {
    use ClaimAnswer::{NotDecided, NotReproduced, Reproduced};
    let over = "class = 'M'\ncheck = ['iops[queue=32] / iops[queue=1] > 1.05']\nover = ['depth']";
    assert_eq!(claimed(over, [1.2, 1.2]), (Some(true), false, Reproduced));
    assert_eq!(claimed(over, [1.2, 1.0]), (None, true, NotDecided));
    assert_eq!(claimed(over, [1.0, 1.0]), (Some(false), false, NotReproduced));
    let decided = format!("{over}\ndecided_if = ['iops[queue=32] / iops[queue=1] != 1.0']");
    assert_eq!(claimed(&decided, [1.2, 1.2]), (Some(true), false, Reproduced));
    assert_eq!(claimed(&decided, [1.2, 1.0]).2, NotDecided);
}

#[test]
fn a_claim_s_lines_say_what_was_checked_decided_and_shown() {
    let more = "class = 'M'\ncheck = ['iops[queue=32] > 99 for each depth in (8)']\ndecided_if = ['1 < 2']\nshow = ['cpu.percent[queue=1, depth=1]']";
    let mut study = plain();
    study.claim = vec![claim(more)];
    ask(
        &study,
        |_| true,
        |evidence| {
            let judged = &evidence.judge_claims()[0];
            assert!(judged.vote.is_none(), "without a range there is no vote to show");
            let holds: Vec<Option<bool>> = judged.checked.iter().map(|check| check.holds).collect();
            assert_eq!(holds, [Some(true), Some(true), None]);
            assert!(judged.checked[1].of.starts_with("decided if ") && !judged.checked[0].of.starts_with("decided if"));
            assert_eq!(
                judged.figure_lines().len(),
                judged.figure_line().split("; ").count() + 1,
                "{}",
                judged.figure_line()
            );
            // 100 is a 99th of the bound above it.
            let to_spare = judged.distance.as_ref().and_then(|it| it.share).unwrap();
            assert!((to_spare + 1.0 / 99.0).abs() < 1e-9, "{to_spare}");
        },
    );
}

/// Whether it counts as reproduced, what is pending, and the answer: of all classes, with and without a companion.
#[test]
fn only_what_holds_alone_counts_as_reproduced() {
    use ClaimAnswer::{Agrees, Disagrees, NotReproduced, Reproduced, Shown};
    for class in ["M", "N", "S", "I", "J"] {
        for companion in [false, true] {
            let with = if companion { "with = { claim = 'C4', same = 'drive' }\n" } else { "" };
            let claim = claim(&format!("class = '{class}'\n{with}"));
            let judged = |holds: Option<bool>| ClaimJudgement {
                claim: &claim,
                checked: Vec::new(),
                holds,
                undecided: false,
                vote: None,
                distance: None,
            };
            let (yes, no, open) = (judged(Some(true)), judged(Some(false)), judged(None));
            let needs_more = class == "N" || companion;
            let (reproduced, answers) = match class {
                "J" => ([None, None, None], [Agrees, Disagrees, Shown]),
                _ if needs_more => ([None, Some(false), None], [Shown, NotReproduced, Shown]),
                _ => ([Some(true), Some(false), None], [Reproduced, NotReproduced, Shown]),
            };
            let all = [&yes, &no, &open];
            assert_eq!(all.map(ClaimJudgement::is_reproduced), reproduced, "{class} {companion}");
            assert_eq!(all.map(ClaimJudgement::answer), answers, "{class} {companion}");
            let pending = match (class, companion) {
                ("J", _) => None,
                (_, true) => Some("if C4 holds beside it (seekwise claims T1)"),
                ("N", false) => Some("if a planted difference is detected (seekwise claims T1)"),
                _ => None,
            };
            assert_eq!(yes.pending_condition().as_deref(), pending, "{class} {companion}");
            assert_eq!((no.pending_condition(), open.pending_condition()), (None, None));
        }
    }
}

#[test]
fn answers_follow_from_what_holds() {
    use ClaimAnswer::{Agrees, InPart, NotDecided, NotReproduced, Reproduced, Shown};
    let (whole, part) = (claim("class = 'M'"), claim("class = 'M'\nunchecked = 'u'"));
    let judgement = claim("class = 'J'");
    let of = |claim: &Claim, reproduced, undecided| ClaimAnswer::classify(claim, reproduced, reproduced, undecided);
    assert_eq!([Some(true), Some(false), None].map(|it| of(&whole, it, false)), [Reproduced, NotReproduced, Shown]);
    assert_eq!([Some(true), Some(false), None].map(|it| of(&part, it, false)), [InPart, NotReproduced, Shown]);
    assert_eq!([Some(true), Some(false), None].map(|it| of(&whole, it, true)), [NotDecided; 3]);
    assert_eq!(of(&judgement, Some(true), true), NotDecided);
    assert_eq!(ClaimAnswer::classify(&judgement, None, Some(true), false), Agrees);
    let words =
        [Reproduced, InPart, NotReproduced, NotDecided, Agrees, ClaimAnswer::Disagrees, Shown].map(ClaimAnswer::words);
    assert_eq!(
        words,
        [
            "reproduced",
            "reproduced in part",
            "not reproduced",
            "not decided",
            "judgement: the model agrees",
            "judgement: the model disagrees",
            "shown"
        ]
    );
}
