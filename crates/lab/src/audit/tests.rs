//! The judge on timings that were made by hand: disks that turn with noise, and things that do not turn and look like it.

use seekwise_model::rng::{Rng, Seed};
use seekwise_model::time::{Instant, Span};
use seekwise_targets::audit::{Beside, Overwrite, Round, Timings, Took};

use super::{Certainty, Judgement, Verdict, evidence, judge};

/// A disk made of rules: from when a write or flush was asked to when it is answered, in nanoseconds.
struct Rules<'a> {
    read: u64,
    write: &'a mut dyn FnMut(u64) -> u64,
    flush: &'a mut dyn FnMut(u64) -> u64,
    forced: &'a mut dyn FnMut(u64) -> u64,
    scattered_flush: u64,
}

/// The audit of such a disk, as [`seekwise_targets::audit::measure`] asks it.
fn audited(rules: Rules<'_>) -> Judgement {
    judge(&timings(rules))
}

fn timings(rules: Rules<'_>) -> Timings {
    let mut rng = Seed(11).stream("pauses");
    let (at, span) = (Instant::from_nanos, Span::from_nanos);
    let mut now = 5_000_000;
    let mut timings =
        Timings { reads: vec![span(rules.read); 60], again: vec![span(100_000); 60], ..Timings::default() };
    timings.empty = vec![span(60_000); 40];
    for _ in 0..120 {
        let pause = rng.below(16_000_000);
        let (asked, written) = (now + pause, (rules.write)(now + pause));
        let flushed = (rules.flush)(written);
        let write = Took { from: at(asked), to: at(written) };
        timings.overwrites.push(Overwrite {
            pause: span(pause),
            write,
            flush: Took { from: at(written), to: at(flushed) },
        });
        now = flushed;
    }
    for _ in 0..120 {
        let asked = now + rng.below(16_000_000);
        now = (rules.forced)(asked);
        timings.forced.push(Took { from: at(asked), to: at(now) });
    }
    timings.rounds = vec![Round { writes: span(3_200_000), flush: span(rules.scattered_flush) }; 10];
    timings.beside = vec![Beside { flush: span(30_000_000), slowest: span(40_000_000) }; 15];
    timings
}

/// The next time that the place is under the head, where a turn takes `turn` nanoseconds, and some noise.
fn next(turn: u64, noise: u64, rng: &mut Rng) -> impl FnMut(u64) -> u64 + '_ {
    move |asked| (asked + 100_000).div_ceil(turn) * turn + if noise > 0 { rng.below(noise) } else { 0 }
}

fn quick(by: u64) -> impl FnMut(u64) -> u64 {
    move |asked| asked + by
}

/// 7,200 a minute.
const TURN: u64 = 8_333_333;

#[test]
fn an_honest_disk_is_found_through_noise() {
    for (noise, certainty) in [(0, Certainty::Certain), (1_000_000, Certainty::Certain), (3_000_000, Certainty::Likely)]
    {
        let (mut one, mut two) = (Seed(1).stream("noise"), Seed(2).stream("noise"));
        let said = audited(Rules {
            read: 9_000_000,
            write: &mut quick(90_000),
            flush: &mut next(TURN, noise, &mut one),
            forced: &mut next(TURN, noise, &mut two),
            scattered_flush: 90_000_000,
        });
        assert_eq!((said.verdict, said.certainty), (Verdict::Honest, certainty), "{noise}: {said:?}");
        let found = said.revolution.unwrap();
        assert!(found.sold() == Some(7200.0) || noise > 2_000_000, "{found:?}");
    }
}

/// Three ends in ten lie half a revolution further: a journal's block is written behind some of them.
#[test]
fn ends_at_two_angles_have_one_spindle() {
    let (mut one, mut two, mut odd) = (Seed(1).stream("a"), Seed(2).stream("a"), Seed(3).stream("a"));
    let mut turns = next(TURN, 200_000, &mut one);
    let said = audited(Rules {
        read: 9_000_000,
        write: &mut quick(90_000),
        flush: &mut |asked| turns(asked) + if odd.below(10) < 3 { TURN / 2 } else { 0 },
        forced: &mut next(TURN, 200_000, &mut two),
        scattered_flush: 90_000_000,
    });
    assert_eq!((said.verdict, said.revolution.unwrap().sold()), (Verdict::Honest, Some(7200.0)), "{said:?}");
}

/// One end in ten at any time: another program was at work.
#[test]
fn neighbours_that_come_between_take_no_verdict_away() {
    let (mut one, mut two, mut odd) = (Seed(1).stream("a"), Seed(2).stream("a"), Seed(3).stream("a"));
    let mut turns = next(TURN, 200_000, &mut one);
    let said = audited(Rules {
        read: 9_000_000,
        write: &mut quick(90_000),
        flush: &mut |asked| if odd.below(10) == 0 { asked + odd.below(30_000_000) } else { turns(asked) },
        forced: &mut next(TURN, 200_000, &mut two),
        scattered_flush: 90_000_000,
    });
    assert_eq!(said.verdict, Verdict::Honest, "{said:?}");
    assert_eq!(said.revolution.unwrap().sold(), Some(7200.0));
}

/// A disk of software that takes one revolution's time for each flush, from when it is asked.
#[test]
fn a_delay_of_one_length_is_no_spindle() {
    for delay in [4_000_000, TURN, 11_111_111] {
        let said = audited(Rules {
            read: 9_000_000,
            write: &mut quick(90_000),
            flush: &mut quick(delay),
            forced: &mut quick(delay),
            scattered_flush: delay,
        });
        assert_eq!(
            (said.verdict, said.certainty, said.revolution),
            (Verdict::CannotTell, Certainty::Open, None),
            "{delay}"
        );
        assert!(said.why[0].contains("fit no revolution"), "{said:?}");
    }
}

/// Answers by a timer of 250 a second look like 15,000 revolutions a minute: that is said.
#[test]
fn a_timer_is_said_to_be_possible() {
    let (mut one, mut two) = (Seed(1).stream("t"), Seed(2).stream("t"));
    let said = audited(Rules {
        read: 5_000_000,
        write: &mut quick(90_000),
        flush: &mut next(4_000_000, 20_000, &mut one),
        forced: &mut next(4_000_000, 20_000, &mut two),
        scattered_flush: 40_000_000,
    });
    assert_eq!((said.verdict, said.certainty), (Verdict::Honest, Certainty::Likely));
    assert!(said.why.iter().any(|why| why.contains("timer")), "{said:?}");
}

#[test]
fn flash_with_a_slow_flush_is_no_spindle_either() {
    let mut odd = Seed(3).stream("a");
    let said = audited(Rules {
        read: 90_000,
        write: &mut quick(30_000),
        flush: &mut |asked| asked + 1_000_000 + odd.below(3_000_000),
        forced: &mut quick(900_000),
        scattered_flush: 4_000_000,
    });
    assert_eq!((said.verdict, said.certainty, said.revolution), (Verdict::ProtectedOrFlash, Certainty::Likely, None));
}

#[test]
fn a_flush_that_costs_less_than_a_command_does_not_reach_the_disk() {
    let mut rules = timings(Rules {
        read: 9_000_000,
        write: &mut quick(90_000),
        flush: &mut quick(2_000),
        forced: &mut quick(90_000),
        scattered_flush: 2_000,
    });
    assert_eq!(judge(&rules).verdict, Verdict::CannotTell, "an empty flush reaches it");
    rules.empty = vec![Span::from_nanos(2_000); 40];
    assert_eq!((judge(&rules).verdict, judge(&rules).certainty), (Verdict::FlushIgnored, Certainty::Likely));
}

#[test]
fn the_evidence_is_a_staircase() {
    let (mut one, mut two) = (Seed(1).stream("t"), Seed(2).stream("t"));
    let timings = timings(Rules {
        read: 9_000_000,
        write: &mut quick(90_000),
        flush: &mut next(TURN, 0, &mut one),
        forced: &mut next(TURN, 0, &mut two),
        scattered_flush: 90_000_000,
    });
    let points = evidence(&timings);
    assert_eq!((points.len(), points[118].0), (119, 100.0));
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    let turns = |ms: f64| ms / (TURN as f64 / 1e6);
    assert!(points.iter().all(|point| (turns(point.1) - turns(point.1).round()).abs() < 1e-6));
}

#[test]
fn nothing_measured_is_nothing_told() {
    let said = judge(&Timings::default());
    assert_eq!((said.verdict, said.revolution), (Verdict::CannotTell, None));
}
