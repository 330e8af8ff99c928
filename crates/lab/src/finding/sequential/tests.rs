//! Pairs that are open, and the verdicts of their looks, over results made by hand.

use seekwise_drives::concern::Concern;
use seekwise_drives::metric::Statistic;
use seekwise_formats::study::Study;

use super::super::judgement_outcome;
use super::super::tests::{by_rate, is_longer, made, plain, runs, times};
use super::*;
use crate::outcome::Outcome;
use crate::sampling_plan::SampledGroup;

/// What is asked of results that are sampled until decided, with looks after 3 and 5 runs, of which there are so many in each cell. At
/// depth 1 the longer queue is surely half as fast again; at depth 8 nothing is sure.
fn sampled<R>(
    study: &Study,
    count: [u32; 4],
    change: impl Fn(&mut RunRecord),
    asked: impl FnOnce(&Evidence<'_>, &SamplingPlan) -> R,
) -> R {
    let group = SampledGroup { looks: vec![3, 5], fixed: None, runtime_ns: Some(1_000), ramp_ns: 0, settled_ns: None };
    let plan = SamplingPlan { of_cell: vec![0; 4], groups: vec![group], pilot_ns: 0, fixed_ns: None };
    let mut made = made().clone();
    made.sampling = Some(plan.clone());
    let figures = |run: &mut RunRecord| {
        let place = run.run as usize;
        times(run, Statistic::Iops, [1.0, 1.0, 1.5 + 1e-4 * place as f64, [1.5, 0.7, 1.0, 1.2, 0.8][place]][run.cell]);
        change(run);
        run.run < count[run.cell]
    };
    let mut longer = study.clone();
    longer.runs = 5;
    let records = runs(&longer, figures);
    asked(&Evidence::new(study, &made, &records), &plan)
}

/// The pairs that are open, and the runs that each needs.
fn open(study: &Study, count: [u32; 4], change: impl Fn(&mut RunRecord)) -> Vec<(Vec<usize>, u32)> {
    sampled(study, count, change, |evidence, plan| {
        evidence.open_pairs(plan).into_iter().map(|pair| (pair.cells, pair.next)).collect()
    })
}

#[test]
fn what_is_undecided_is_open_until_its_last_look() {
    let (study, same) = (plain(), |_: &mut RunRecord| ());
    let (sure, unsure, both) = (vec![0, 2], vec![1, 3], vec![0, 2, 1, 3]);
    let all = |next: u32| vec![(sure.clone(), next), (unsure.clone(), next), (both.clone(), next)];
    assert_eq!(open(&study, [0; 4], same), all(3));
    assert_eq!(open(&study, [2; 4], same), all(3));
    for count in [3, 4] {
        assert_eq!(open(&study, [count; 4], same), [(unsure.clone(), 5), (both.clone(), 5)], "{count}");
    }
    assert_eq!(open(&study, [5; 4], same), []);
    // The side with fewer runs counts.
    assert_eq!(open(&study, [3, 3, 2, 3], same), [(sure, 3), (unsure, 5), (both, 3)]);
    // What is refused, or has a run without a value, runs on for nothing.
    let mut refused = plain();
    refused.compare[0].credit = Some(vec![Concern::WriteCache]);
    assert_eq!(open(&refused, [2; 4], same), []);
    assert_eq!(open(&study, [3; 4], |run| run.all.iops *= if run.cell == 1 { 0.0 } else { 1.0 }), []);
}

#[test]
fn a_verdict_is_that_of_the_look_that_decided_it() {
    // A p99 that is worse in the first three runs, and far better in the others.
    let tail = |run: &mut RunRecord| {
        let by = if run.run < 3 { 1.3 + 1e-4 * f64::from(run.run) } else { 0.1 };
        times(run, Statistic::P99, if is_longer(run) { by } else { 1.0 });
    };
    let found = |count: u32| {
        sampled(&plain(), [count; 4], tail, |evidence, _| {
            let (findings, overall) = evidence.findings();
            let each = |finding: &Finding| {
                let beside: Vec<String> = finding.beside.iter().map(|it| it.metric.to_string()).collect();
                (judgement_outcome(finding.judgement.as_ref(), None), finding.pairs, beside.join(" "))
            };
            (each(&findings[0]), each(&findings[1]), overall[0].judgement.is_some())
        })
    };
    let none = (Outcome::NotEnoughData, None, String::new());
    assert_eq!(found(2), (none.clone(), none, false));
    let decided = (Outcome::Faster, Some(3), "p99".to_owned());
    assert_eq!(found(3), (decided.clone(), (Outcome::NotEnoughData, Some(3), String::new()), true));
    assert_eq!(found(5), (decided, (Outcome::NotEnoughData, Some(5), String::new()), true));
}

/// Runs that are added later change nothing of what may be compared: a rate that was kept in the first look stays given.
#[test]
fn what_is_given_is_told_from_the_first_look() {
    let refused = |kept: fn(u32) -> bool| {
        let rated = |run: &mut RunRecord| run.arrivals = by_rate(true, kept(run.run));
        sampled(&plain(), [5; 4], rated, |evidence, _| {
            evidence.findings().0.iter().map(|it| it.refused.is_some()).collect::<Vec<_>>()
        })
    };
    assert_eq!([refused(|_| true), refused(|run| run < 3)], [[true, true], [true, true]]);
    assert_eq!(refused(|run| run != 2), [false, false]);
    let compared = sampled(
        &plain(),
        [3; 4],
        |_| (),
        |evidence, _| {
            evidence
                .compared_cells()
                .into_iter()
                .map(|(from, to, metric)| (from, to, metric.to_string()))
                .collect::<Vec<_>>()
        },
    );
    assert_eq!(compared, [(0, 2, "iops".to_owned()), (1, 3, "iops".to_owned())]);
}
