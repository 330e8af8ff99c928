//! Tests of the judge on synthetic timings: disks that rotate with noise, and devices that do not rotate but look like
//! it.

use seekwise_model::rng::{Rng, Seed};
use seekwise_model::time::{Instant, Span};
use seekwise_run::audit::{AuditInterval, AuditTimings, FlushUnderReads, Overwrite, Round, TwoOverwrites};

use super::{AuditJudgement, AuditVerdict, Certainty, evidence, judge};

/// A synthetic disk: from the instant of a write or flush to that of its answer, in nanoseconds.
struct Rules<'a> {
    /// A read's shortest time, and how much longer the longest is.
    read: [u64; 2],
    write: &'a mut dyn FnMut(u64) -> u64,
    flush: &'a mut dyn FnMut(u64) -> u64,
    forced: &'a mut dyn FnMut(u64) -> u64,
    scattered_flush: u64,
    /// Other places have angles of their own, of a spindle with this revolution.
    places: Option<u64>,
}

/// The audit of such a disk, as [`seekwise_run::audit::measure`] asks it.
fn audited(rules: Rules<'_>) -> AuditJudgement {
    judge(&timings(rules))
}

fn timings(rules: Rules<'_>) -> AuditTimings {
    let mut rng = Seed(11).stream("pauses");
    let (at, span) = (Instant::from_nanos, Span::from_nanos);
    let mut now = 5_000_000;
    let mut timings =
        AuditTimings { again: vec![span(100_000); 60], empty: vec![span(60_000); 40], ..AuditTimings::default() };
    let [least, more] = rules.read;
    timings.reads = (0..60).map(|_| span(least + rng.below(more + 1))).collect();
    // At a place whose angle is this far behind the first's.
    let mut overwrite = |now: &mut u64, rng: &mut Rng, behind: u64| {
        let pause = rng.below(16_000_000);
        let asked = *now + pause;
        let written = (rules.write)(asked - behind) + behind;
        let flushed = (rules.flush)(written - behind) + behind;
        *now = flushed;
        let write = AuditInterval { from: at(asked), to: at(written) };
        Overwrite { pause: span(pause), write, flush: AuditInterval { from: at(written), to: at(flushed) } }
    };
    timings.overwrites = (0..120).map(|_| overwrite(&mut now, &mut rng, 0)).collect();
    let angles: Vec<u64> = (0..12).map(|_| rules.places.map_or(0, |turn| rng.below(turn))).collect();
    for (place, &behind) in angles.iter().enumerate().cycle().take(60) {
        let (first, other) = (overwrite(&mut now, &mut rng, 0), overwrite(&mut now, &mut rng, behind));
        let forced = [first.flush, other.flush];
        timings.elsewhere.push(TwoOverwrites { place, first, other, forced });
    }
    for _ in 0..120 {
        let asked = now + rng.below(16_000_000);
        now = (rules.forced)(asked);
        timings.forced.push(AuditInterval { from: at(asked), to: at(now) });
    }
    timings.rounds = vec![Round { writes: span(1_600_000), flush: span(rules.scattered_flush) }; 10];
    timings.beside = vec![FlushUnderReads { flush: span(30_000_000), slowest: span(40_000_000) }; 15];
    timings
}

/// The next time that the place is under the head, with a revolution of `turn` nanoseconds, and some noise.
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
            read: [5_000_000, 2 * TURN],
            write: &mut quick(90_000),
            flush: &mut next(TURN, noise, &mut one),
            forced: &mut next(TURN, noise, &mut two),
            scattered_flush: 90_000_000,
            places: Some(TURN),
        });
        assert_eq!((said.verdict, said.certainty), (AuditVerdict::Honest, certainty), "{noise}: {said:?}");
        let found = said.revolution.unwrap();
        assert!(found.sold() == Some(7200.0) || noise > 2_000_000, "{found:?}");
    }
}

/// Three ends in ten lie half a revolution further: a journal's block is written after some of them.
#[test]
fn ends_at_two_angles_have_one_spindle() {
    let (mut one, mut two, mut odd) = (Seed(1).stream("a"), Seed(2).stream("a"), Seed(3).stream("a"));
    let mut turns = next(TURN, 200_000, &mut one);
    let said = audited(Rules {
        read: [5_000_000, 2 * TURN],
        write: &mut quick(90_000),
        flush: &mut |asked| turns(asked) + if odd.below(10) < 3 { TURN / 2 } else { 0 },
        forced: &mut next(TURN, 200_000, &mut two),
        scattered_flush: 90_000_000,
        places: Some(TURN),
    });
    assert_eq!((said.verdict, said.revolution.unwrap().sold()), (AuditVerdict::Honest, Some(7200.0)), "{said:?}");
}

/// One end in ten at any time: another program was at work.
#[test]
fn neighbours_that_come_between_take_no_verdict_away() {
    let (mut one, mut two, mut odd) = (Seed(1).stream("a"), Seed(2).stream("a"), Seed(3).stream("a"));
    let mut turns = next(TURN, 200_000, &mut one);
    let said = audited(Rules {
        read: [5_000_000, 2 * TURN],
        write: &mut quick(90_000),
        flush: &mut |asked| if odd.below(10) == 0 { asked + odd.below(30_000_000) } else { turns(asked) },
        forced: &mut next(TURN, 200_000, &mut two),
        scattered_flush: 90_000_000,
        places: Some(TURN),
    });
    assert_eq!(said.verdict, AuditVerdict::Honest, "{said:?}");
    assert_eq!(said.revolution.unwrap().sold(), Some(7200.0));
}

/// A software disk that takes the time of one revolution for each flush, from its submission.
#[test]
fn a_delay_of_one_length_is_no_spindle() {
    for delay in [4_000_000, TURN, 11_111_111] {
        let said = audited(Rules {
            read: [5_000_000, 2 * TURN],
            write: &mut quick(90_000),
            flush: &mut quick(delay),
            forced: &mut quick(delay),
            scattered_flush: delay,
            places: None,
        });
        assert_eq!(
            (said.verdict, said.certainty, said.revolution),
            (AuditVerdict::CannotTell, Certainty::Open, None),
            "{delay}"
        );
        assert!(said.why[0].contains("fit no revolution"), "{said:?}");
    }
}

/// Flushes that a timer answers look like a spindle of that period. Each of these signs alone gives it away: how it
/// reads, how many blocks are on its medium within a tick, or that all places end at one angle.
#[test]
fn a_timer_is_no_spindle() {
    let said = |tick: u64, read: [u64; 2], scattered_flush: u64| {
        let (mut one, mut two) = (Seed(1).stream("t"), Seed(2).stream("t"));
        audited(Rules {
            read,
            write: &mut quick(90_000),
            flush: &mut next(tick, 60_000, &mut one),
            forced: &mut next(tick, 60_000, &mut two),
            scattered_flush,
            places: None,
        })
    };
    let disk = [4_000_000, 12_000_000];
    for (tick, read, scattered, why) in [
        (4_000_000, [90_000, 0], 2_300_000, "less than one revolution"),
        (4_000_000, disk, 2_300_000, "less than one revolution"),
        (4_000_000, [4_000_000, 0], 128_000_000, "end at the same angle"),
        (10_000_000, disk, 320_000_000, "a timer may have this period too"),
    ] {
        let said = said(tick, read, scattered);
        assert_eq!((said.verdict, said.certainty), (AuditVerdict::CannotTell, Certainty::Open), "{said:?}");
        assert!(said.why[1].contains(why), "{said:?}");
    }
    // 8.333 ms is no multiple of a timer's tick: a spindle, but none that reads like one. If the reads and waits of a
    // spindle are imitated too, it is at most likely, as for a disk with a media cache, all of whose places are the
    // log's.
    for (tick, read) in [(TURN, [90_000, 0]), (4_000_000, disk), (6_000_000, disk)] {
        let said = said(tick, read, 190_000_000);
        assert_eq!((said.verdict, said.certainty), (AuditVerdict::Honest, Certainty::Likely), "{said:?}");
    }
}

/// A spindle of a timer's period: each place has its own angle, which no timer knows.
#[test]
fn fifteen_thousand_a_minute_is_told_from_a_timer() {
    let (mut one, mut two) = (Seed(1).stream("t"), Seed(2).stream("t"));
    let said = audited(Rules {
        read: [3_000_000, 6_000_000],
        write: &mut quick(90_000),
        flush: &mut next(4_000_000, 60_000, &mut one),
        forced: &mut next(4_000_000, 60_000, &mut two),
        scattered_flush: 60_000_000,
        places: Some(4_000_000),
    });
    assert!(said.revolution.unwrap().may_be_a_tick());
    assert_eq!((said.verdict, said.certainty), (AuditVerdict::Honest, Certainty::Certain), "{said:?}");
}

/// The more a period scatters, the larger its error, and the true period lies within it.
#[test]
fn the_error_of_a_period_holds_the_true_one() {
    for (noise, most) in [(10_000, 0.002), (400_000, 0.05), (1_500_000, 0.2)] {
        let mut chance = Seed(noise).stream("noise");
        let mut turns = next(TURN, noise, &mut chance);
        let mut pauses = Seed(5).stream("pauses");
        let mut now = 0;
        let mut ends = Vec::new();
        for _ in 0..120 {
            now = turns(now + pauses.below(16_000_000));
            ends.push(Instant::from_nanos(now));
        }
        let found = super::lattice::of(&ends);
        let off = (found.period_ms - TURN as f64 / 1e6).abs();
        assert!(off <= found.error_ms && found.error_ms < most, "{noise}: {found:?}");
    }
}

#[test]
fn flash_with_a_slow_flush_is_no_spindle_either() {
    let mut odd = Seed(3).stream("a");
    let said = audited(Rules {
        read: [90_000, 0],
        write: &mut quick(30_000),
        flush: &mut |asked| asked + 1_000_000 + odd.below(3_000_000),
        forced: &mut quick(900_000),
        scattered_flush: 4_000_000,
        places: None,
    });
    assert_eq!(
        (said.verdict, said.certainty, said.revolution),
        (AuditVerdict::NothingRotates, Certainty::Likely, None)
    );
}

#[test]
fn a_flush_that_costs_less_than_a_command_does_not_reach_the_disk() {
    let mut rules = timings(Rules {
        read: [5_000_000, 2 * TURN],
        write: &mut quick(90_000),
        flush: &mut quick(2_000),
        forced: &mut quick(90_000),
        scattered_flush: 2_000,
        places: None,
    });
    assert_eq!(judge(&rules).verdict, AuditVerdict::CannotTell, "an empty flush reaches it");
    rules.empty = vec![Span::from_nanos(2_000); 40];
    assert_eq!((judge(&rules).verdict, judge(&rules).certainty), (AuditVerdict::FlushIgnored, Certainty::Likely));
}

#[test]
fn the_evidence_is_a_staircase() {
    let (mut one, mut two) = (Seed(1).stream("t"), Seed(2).stream("t"));
    let timings = timings(Rules {
        read: [5_000_000, 2 * TURN],
        write: &mut quick(90_000),
        flush: &mut next(TURN, 0, &mut one),
        forced: &mut next(TURN, 0, &mut two),
        scattered_flush: 90_000_000,
        places: Some(TURN),
    });
    let points = evidence(&timings);
    assert_eq!((points.len(), points[118].0), (119, 100.0));
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    let turns = |ms: f64| ms / (TURN as f64 / 1e6);
    assert!(points.iter().all(|point| (turns(point.1) - turns(point.1).round()).abs() < 1e-6));
}

#[test]
fn nothing_measured_is_nothing_told() {
    let said = judge(&AuditTimings::default());
    assert_eq!((said.verdict, said.revolution), (AuditVerdict::CannotTell, None));
}
