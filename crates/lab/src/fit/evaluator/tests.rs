//! The answers, the memory and the counts of an evaluator, on losses that are known by formula.

use super::toy::{Toy, number};
use super::*;

/// A parabola with its least at 0.003, the same in every draw.
fn parabola() -> Toy {
    Toy::new(vec![number(0, 8, 0.0)], &|point, _| 1.0 + (1000.0 * point[0] - 3.0).powi(2), None)
}

#[test]
fn a_draw_counts_for_the_smaller_loss_alone() {
    // The whole, in front, is no draw; equal losses are not better.
    assert_eq!(share_of_draws_better(&[9.0, 1.0, 1.0, 1.0, 1.0], &[0.0, 2.0, 1.0, 0.5, 1.1]), 0.5);
    assert_eq!(share_of_draws_better(&[1.0, 1.0], &[1.0, 1.0]), 0.0);
    assert_eq!(share_of_draws_better(&[1.0, 1.0], &[1.0, 1.1]), 1.0);
    assert_eq!(share_of_draws_better(&[1.0], &[2.0]), 0.0, "without draws nothing is sure");
}

#[test]
fn the_best_point_is_the_first_of_equal_ones() {
    let toy = Toy::new(
        vec![number(0, 4, 0.0), number(1, 4, 0.0)],
        &|point, _| if point[0] < 0.002 { 2.0 } else { 1.0 },
        None,
    );
    let evaluator = toy.evaluator();
    let after = |point: [f64; 2]| {
        evaluator.loss(&point);
        evaluator.best_point().unwrap()
    };
    assert_eq!(evaluator.best_point(), None);
    assert_eq!(after([0.001, 0.004]), [0.001, 0.004]);
    assert_eq!(after([0.003, 0.002]), [0.003, 0.002], "the smaller loss");
    assert_eq!(after([0.001, 0.0]), [0.003, 0.002], "a larger loss");
    assert_eq!(after([0.003, 0.003]), [0.003, 0.002], "equal, and behind");
    assert_eq!(after([0.003, 0.001]), [0.003, 0.001], "equal, and before");
    assert_eq!(after([0.002, 0.004]), [0.002, 0.004], "the first value that differs decides");
}

#[test]
fn each_question_counts_once_and_a_fit_ends_at_a_pause_after_its_points() {
    let toy = parabola();
    let evaluator = toy.evaluator().with_point_limit(Some(3));
    assert_eq!(
        evaluator.ask_for_points(Question::Seen, &[vec![0.003], vec![0.003], vec![0.001]]),
        [[1.0], [1.0], [5.0]]
    );
    assert_eq!((evaluator.point_count(), evaluator.ended_at_checkpoint(), evaluator.ending()), (2, false, None));
    assert!(!evaluator.begin_stage("toys", 7));
    assert_eq!(evaluator.ask(Question::Drawn, &[0.003]), [1.0; 1 + SEEN_DRAWS], "another question of the same point");
    // Only a pause ends it: an answer between would depend on the order of cores.
    assert_eq!((evaluator.point_count(), evaluator.loss(&[0.004])), (3, 2.0));
    assert!(evaluator.ended_at_checkpoint() && evaluator.ended_at_checkpoint());
    assert_eq!(evaluator.ending(), Some(FitEnding { why: EarlyEnd::Points, stage: "toys", points: 4 }));
    assert_eq!((evaluator.loss(&[0.003]), evaluator.simulate_point(&[0.003])), (IMPOSSIBLE, None));
    evaluator.reopen_for_judging();
    assert_eq!((evaluator.loss(&[0.003]), evaluator.ended_at_checkpoint()), (1.0, false), "what was found is judged");
}

#[test]
fn a_listener_who_has_enough_ends_it_and_one_who_cancels_leaves_nothing() {
    let toy = parabola();
    let listener = FitListener { enough: &|| true, ..FitListener::never_ending(&|_| ()) };
    let evaluator = PointEvaluator { listener, ..toy.evaluator() };
    assert_eq!(evaluator.loss(&[0.003]), IMPOSSIBLE);
    assert_eq!(evaluator.ending().map(|it| it.why), Some(EarlyEnd::Enough));
    assert!(!evaluator.was_cancelled());
    let listener = FitListener { cancelled: &|| true, ..FitListener::never_ending(&|_| ()) };
    let evaluator = PointEvaluator { listener, ..toy.evaluator() };
    assert!(evaluator.was_cancelled() && evaluator.ending().is_none());
    evaluator.reopen_for_judging();
    assert_eq!(evaluator.loss(&[0.003]), IMPOSSIBLE, "a cancelled fit judges nothing either");
}

#[test]
fn a_listener_hears_each_fall_of_the_loss_and_what_was_known() {
    let toy = parabola();
    let heard = Mutex::new(Vec::new());
    let hears = |event: FitEvent<'_>| match event {
        FitEvent::Best(loss) => heard.lock().unwrap().push(loss),
        FitEvent::Tried { known, .. } => assert!(known),
        FitEvent::Stage { .. } | FitEvent::Paused(_) => {}
    };
    let evaluator = PointEvaluator { listener: FitListener::never_ending(&hears), ..toy.evaluator() };
    for value in [0.0, 0.006, 0.001, 0.002, 0.004, 0.003] {
        evaluator.loss(&[value]);
    }
    drop(evaluator);
    // 9, 9 (equal), 4, 1, 1 (equal), 0 above 1.
    assert_eq!(heard.into_inner().unwrap(), [10.0, 5.0, 2.0, 1.0]);
}

#[test]
fn a_kept_answer_has_as_many_values_as_its_question() {
    let check = |question: &str, answer: &[f64]| check_journal_answer(&[], question, answer).is_ok();
    for (question, values) in
        [("Seen 0.1", 1), ("Drawn 0.1", 1 + SEEN_DRAWS), ("Held 0.1", 1 + HELD_DRAWS), ("RoughSeen 0.1", 1)]
    {
        assert!(check(question, &vec![0.0; values]), "{question}");
        assert!(!check(question, &vec![0.0; values + 1]) && !check(question, &vec![0.0; values - 1]), "{question}");
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            let mut answer = vec![1.0; values];
            answer[values - 1] = bad;
            assert!(!check(question, &answer), "{question} {bad}");
        }
    }
    assert!(!check("Figures 0.1", &[1.0]) && !check("Other 0.1", &[1.0]) && !check("", &[1.0]));
    let toy = Toy::new(vec![number(0, 1, 0.0)], &|_, _| 1.0, Some(&|_, _| 1.0));
    let of_jobs = |question: &str, answer: &[f64]| check_journal_answer(&toy.data[..1], question, answer).is_ok();
    assert!(of_jobs("HeldFigures 0.1", &[2.0]) && of_jobs("HeldFigures 0.1", &[f64::NAN]));
    assert!(!of_jobs("HeldFigures 0.1", &[2.0, 3.0]) && !of_jobs("HeldFigures 0.1", &[f64::NAN, 2.0]));
    assert!(!of_jobs("Figures 0.1", &[2.0]), "nothing of it is seen");
    assert!(toy.evaluator().has_held_data() && !parabola().evaluator().has_held_data());
}
