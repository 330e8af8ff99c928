//! Groups, lengths and rounds, on small studies that are run here.

use super::*;
use crate::inputs::Inputs;
use crate::plan;
use crate::provenance::RunSample;
use crate::study::{EarlierRuns, SEARCHED, run_study_order};
use crate::workers::Workers;
use seekwise_run::cutoff::RunCutoff;

const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 4\nruntime = '60 s'\njob = 'file-server'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
    [[factor]]\nname = 'depth'\nkey = 'drive.firmware.depth'\nlevels = [1, 32, 8]\n\
    [[factor]]\nname = 'in flight'\nkey = 'job.depth'\nlevels = [64, 2]\n\
    [[compare]]\nname = 'c'\nfactor = 'depth'\nfrom = 1\nto = 32\n";

struct Planned {
    study: Study,
    made: StudyProvenance,
    prepared: Vec<PreparedCell>,
}

fn planned(text: &str) -> Planned {
    let study = seekwise_formats::study::parse("s.toml", text).unwrap();
    let (cells, sample) = (plan::study_cells(&study), RunSample::new(&study, None));
    prepared(study, &cells, sample)
}

fn prepared(study: Study, cells: &[plan::Cell], sample: RunSample) -> Planned {
    let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
    let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
    let made = StudyProvenance::new(String::new(), cells, &prepared, inputs.texts_read(), sample);
    Planned { study, made, prepared }
}

fn sampled(text: &str) -> Planned {
    let Planned { study, made, prepared: cells } = planned(text);
    let plan = super::plan_sampling(&study, &made, &cells, 1, &PilotWatch::NONE).unwrap();
    let longer = plan.cells_with_lengths(made.cells.iter().map(|made| &made.cell));
    let sample = RunSample::new(&study, Some(plan));
    prepared(study, &longer, sample)
}

#[test]
fn cells_that_a_comparison_joins_are_a_group() {
    assert_eq!(group_of_each_cell(5, [(0, 3), (3, 4)].into_iter()), [0, 1, 2, 0, 0]);
    assert_eq!(group_of_each_cell(4, [(2, 3), (0, 1), (1, 2)].into_iter()), [0, 0, 0, 0]);
    assert_eq!(group_of_each_cell(3, std::iter::empty()), [0, 1, 2]);
}

#[test]
fn a_fixed_sample_is_cut_into_as_many_runs_as_there_may_be() {
    let seconds = |seconds: u64| seconds * 1_000_000_000;
    let length = RunLength { runtime_ns: seconds(60), ramp_ns: 0 };
    assert_eq!((length.short_runtime_ns(6), length.pilot_length_ns(6)), (seconds(2), seconds(8)));
    assert_eq!(length.short_runtime_ns(1_000), seconds(60), "never longer than the study's");
    assert_eq!(
        RunLength { ramp_ns: seconds(5), ..length }.pilot_length_ns(6),
        seconds(20),
        "the ramp that was asked for is looked at"
    );
    assert_eq!(
        RunLength { runtime_ns: seconds(2), ramp_ns: 0 }.pilot_length_ns(3),
        seconds(2),
        "a pilot has requests enough"
    );
}

#[test]
fn what_is_not_compared_or_may_not_be_shortened_is_a_fixed_sample() {
    let plan = sampled(STUDY).made.sampling.unwrap();
    assert_eq!(plan.of_cell, [0, 1, 0, 1, 2, 3]);
    let why = |plan: &SamplingPlan, group: usize| plan.groups[group].fixed.clone().unwrap_or_default();
    assert!(plan.groups[0].fixed.is_none() && plan.groups[0].looks.starts_with(&[3, 5]), "{plan:?}");
    assert!(why(&plan, 2).contains("nothing is compared") && plan.groups[2].looks == [4], "{plan:?}");
    for (change, said) in [
        ("metric = 'max'\n", "`max` depends on how long a run is"),
        ("metric = 'elapsed'\n", "depends on how long a run is"),
    ] {
        let plan = sampled(&format!("{STUDY}{change}")).made.sampling.unwrap();
        assert!(why(&plan, 0).contains(said), "{plan:?}");
    }
    let plan = sampled(&STUDY.replace("runs = 4", "runs = 4\ncuts = 1")).made.sampling.unwrap();
    assert!(why(&plan, 0).contains("power is cut"), "{plan:?}");
}

#[test]
fn what_comes_next_follows_from_the_records_before_it() {
    let planned = sampled(STUDY);
    let (records, rounds) = run_rounds(&planned);
    let Planned { study, made, .. } = &planned;
    let whole = sample_order(study, made, &records);
    assert_eq!(whole, records.iter().map(|record| (record.cell, record.run as usize)).collect::<Vec<_>>());
    assert!(rounds > 1, "one pair needs more than its first look");
    for count in 0..records.len() {
        let so_far = sample_order(study, made, &records[..count]);
        assert!(so_far.len() > count && whole.starts_with(&so_far), "after {count} runs");
    }
    let account = SamplingAccount::from_evidence(&Evidence::new(study, made, &records)).unwrap();
    assert_eq!((account.runs as usize, account.undecided.len()), (records.len(), 0));
    assert!(
        account.to_sentences().contains("2 cells sampled as the study says: nothing is compared with it."),
        "{}",
        account.to_sentences()
    );
}

/// A drive of which a queue's rule is varied: with one request outstanding it decides nothing.
const RULES: &str = "title = 't'\nquestion = 'q'\nruns = 4\nruntime = '60 s'\njob = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
    [[factor]]\nname = 'rule'\nkey = 'drive.firmware.queue.nearest'\nlevels = [0, 2, 6]\n\
    [[factor]]\nname = 'in flight'\nkey = 'job.depth'\nlevels = [1, 8]\n\
    [[compare]]\nname = 'a'\nfactor = 'rule'\nfrom = 0\nto = 2\n[[compare]]\nname = 'b'\nfactor = 'rule'\nfrom = 0\nto = 6\n";

/// Runs it to its end; its records, and the number of rounds.
fn run_rounds(planned: &Planned) -> (Vec<RunRecord>, usize) {
    let Planned { study, made, prepared } = planned;
    let (mut records, mut rounds, workers) = (Vec::new(), 0, (&Workers::Serial, RunCutoff::NEVER));
    loop {
        let (order, done) = (sample_order(study, made, &records), records.len());
        if done == order.len() {
            return (records, rounds);
        }
        rounds += 1;
        run_study_order(study, prepared, (&made.seeds, &order), &EarlierRuns::default(), done, workers, |result| {
            records.push(result.unwrap());
            true
        });
    }
}

#[test]
fn cells_that_run_alike_share_a_pilot_on_any_number_of_cores() {
    let Planned { study, prepared, .. } = planned(RULES);
    let wanted = || (0..prepared.len()).map(|cell| pilot::CellPilot { cell, length_ns: 4_000_000_000 });
    let of = |cores| pilot::run_pilots(&study, &prepared, wanted(), cores, &PilotWatch::NONE).unwrap();
    let (one, four) = (of(1), of(4));
    // Cells 0, 2 and 4 are of depth 1; the others queue, each by its own rule.
    let first = |pilots: &pilot::Pilots| pilots.of_cell.values().filter(|it| it.length_ns == 4_000_000_000).count();
    assert_eq!((first(&one), one.of_cell.len()), (6, 6), "they are steady at once");
    assert_eq!(one.virtual_ns, 4 * 4_000_000_000);
    assert_eq!(four.virtual_ns, one.virtual_ns);
    let said = |pilots: &pilot::Pilots| format!("{:?}", pilots.of_cell);
    assert_eq!(said(&one), said(&four));
}

/// All cells were searched for again after each pilot: a study's time grew with the square of its cells.
#[test]
fn cells_that_are_all_kin_are_searched_for_a_few_times_each() {
    let of = |levels: std::ops::RangeInclusive<u32>, cores: usize| {
        let levels: Vec<u32> = levels.collect();
        let text = format!(
            "title = 't'\nquestion = 'q'\nruns = 4\nruntime = '60 s'\njob = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
             'job.depth' = 8\n[[factor]]\nname = 'it'\nkey = 'driver.timeout_ms'\nlevels = {levels:?}\n"
        );
        let Planned { study, prepared, .. } = planned(&text);
        assert!(prepared.iter().all(|cell| cell.kin == prepared[0].kin), "any could be like any other");
        let searched = SEARCHED.get();
        let wanted = (0..prepared.len()).map(|cell| pilot::CellPilot { cell, length_ns: 300_000_000 });
        let pilots = pilot::run_pilots(&study, &prepared, wanted, cores, &PilotWatch::NONE).unwrap();
        (pilots, SEARCHED.get() - searched)
    };
    for levels in [1..=60, 5001..=5060] {
        let (one, searched) = of(levels.clone(), 1);
        // Twice where it is run, and those that were not steady have a second pilot.
        assert!(searched <= 4 * 60, "{searched} searches");
        let (four, ahead) = of(levels, 4);
        assert!(ahead <= 6 * 60, "{ahead} searches");
        assert_eq!(format!("{:?}", one.of_cell), format!("{:?}", four.of_cell));
        assert_eq!(one.virtual_ns, four.virtual_ns);
    }
}

#[test]
fn cells_that_are_the_same_run_are_no_test_however_they_are_sampled() {
    for sample in [planned, sampled] {
        let planned = sample(RULES);
        let records = run_rounds(&planned).0;
        let evidence = Evidence::new(&planned.study, &planned.made, &records);
        let (findings, _) = evidence.findings();
        let at = |finding: &crate::finding::Finding| finding.judgement.expect("there are runs");
        let of = |cell: &'static str| findings.iter().filter(move |finding| finding.cell == cell);
        for finding in of("in flight 1") {
            assert_eq!((at(finding).p_holm, at(finding).ratio.estimate), (1.0, 1.0), "the rule is not asked");
            assert_eq!(at(finding).verdict.to_string(), "no difference within ±2 %");
        }
        let runs: Vec<usize> = [0, 2, 4].map(|cell| evidence.cell_runs(cell).len()).to_vec();
        assert!(runs.iter().all(|&count| count == runs[0]), "{runs:?}");
        if planned.made.sampling.is_none() {
            // Two pairs that queue, and both rules over all cells: with the pairs of depth 1 there would be six.
            let most = of("in flight 8").map(|it| at(it).p_holm / at(it).p).fold(0.0, f64::max);
            assert!((most - 4.0).abs() < 1e-9, "{most}");
        }
    }
}

#[test]
fn what_was_kept_fits_its_cells() {
    let made = sampled(STUDY).made;
    let plan = made.sampling.clone().unwrap();
    let text = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<StudyProvenance>(&text).unwrap(), made);
    assert_eq!(plan.check_fit(6, made.seeds.len()), Ok(()));
    assert!(plan.check_fit(5, made.seeds.len()).is_err() && plan.check_fit(6, 3).is_err());
    let mut falling = plan.clone();
    falling.groups[0].looks = vec![5, 3];
    assert!(falling.check_fit(6, made.seeds.len()).is_err());
    let mut beyond = plan;
    beyond.of_cell[0] = 9;
    assert!(beyond.check_fit(6, made.seeds.len()).is_err());
}
