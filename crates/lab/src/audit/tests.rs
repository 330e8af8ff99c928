//! Tests of the verdict on synthetic timings: disks that rotate with noise, and devices that do not rotate but look like it.

use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};
use seekwise_run::audit::{AuditInterval, AuditTimings, FlushUnderReads, Overwrite, Round, TwoOverwrites};

use super::{AuditJudgement, AuditVerdict, Certainty, flush_gap_percentiles, judge_timings};

/// A synthetic disk: functions from the instant of a write or flush to that of its answer, in nanoseconds.
struct Rules<'a> {
    /// The shortest time of a read, and how much longer the longest is, in nanoseconds.
    read: [u64; 2],
    write: &'a mut dyn FnMut(u64) -> u64,
    flush: &'a mut dyn FnMut(u64) -> u64,
    forced: &'a mut dyn FnMut(u64) -> u64,
    scattered_flush: u64,
    /// The revolution of the spindle on which other blocks have angles of their own.
    places: Option<u64>,
}

/// The verdict on such a disk.
fn audited(rules: Rules<'_>) -> AuditJudgement {
    judge_timings(&timings(rules))
}

/// The timings that [`seekwise_run::audit::measure_timings`] would measure on such a disk.
fn timings(rules: Rules<'_>) -> AuditTimings {
    let mut rng = Seed(11).stream("pauses");
    let (at, span) = (Instant::from_nanos, Span::from_nanos);
    let mut now = 5_000_000;
    let mut timings =
        AuditTimings { again: vec![span(100_000); 60], empty: vec![span(60_000); 40], ..AuditTimings::default() };
    let [least, more] = rules.read;
    timings.reads = (0..60).map(|_| span(least + rng.below(more + 1))).collect();
    // An overwrite of a block whose angle is `behind` ns behind the first block's.
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

/// The next time that the block is under the head, with a revolution of `turn` nanoseconds and some noise.
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
        assert!(found.commercial_speed() == Some(7200.0) || noise > 2_000_000, "{found:?}");
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
    assert_eq!(
        (said.verdict, said.revolution.unwrap().commercial_speed()),
        (AuditVerdict::Honest, Some(7200.0)),
        "{said:?}"
    );
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
    assert_eq!(said.revolution.unwrap().commercial_speed(), Some(7200.0));
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
    assert!(said.revolution.unwrap().may_be_timer_tick());
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
        let found = super::lattice::fit_period(&ends);
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
    assert_eq!(judge_timings(&rules).verdict, AuditVerdict::CannotTell, "an empty flush reaches it");
    rules.empty = vec![Span::from_nanos(2_000); 40];
    assert_eq!(
        (judge_timings(&rules).verdict, judge_timings(&rules).certainty),
        (AuditVerdict::FlushIgnored, Certainty::Likely)
    );
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
    let points = flush_gap_percentiles(&timings);
    assert_eq!((points.len(), points[118].0), (119, 100.0));
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    let turns = |ms: f64| ms / (TURN as f64 / 1e6);
    assert!(points.iter().all(|point| (turns(point.1) - turns(point.1).round()).abs() < 1e-6));
}

#[test]
fn nothing_measured_is_nothing_told() {
    let said = judge_timings(&AuditTimings::default());
    assert_eq!((said.verdict, said.revolution), (AuditVerdict::CannotTell, None));
}

/// A period that fits so well, with a small error.
fn lattice(period_ms: f64, held: f64) -> super::Lattice {
    super::Lattice { period_ms, rpm: 60_000.0 / period_ms, held, number: 119, error_ms: 0.0 }
}

/// The period of 7,200 a minute in ms.
const TURN_MS: f64 = TURN as f64 / 1e6;

/// The evidence of an honest disk of 7,200 a minute.
fn honest() -> super::AuditEvidence {
    super::AuditEvidence {
        flushes: lattice(TURN_MS, 0.9),
        writes: lattice(5.0, 0.1),
        forced: lattice(TURN_MS, 0.9),
        signs: super::Signs { reads_apart: 0.8, reads_held: 0.1, places_held: 0.9, places_alike: 0.1 },
        figures: super::AuditMedians {
            read_ms: 12.0,
            read_again_ms: 0.3,
            empty_flush_ms: 0.2,
            write_ms: 0.3,
            flush_ms: 8.0,
            forced_ms: 8.0,
            scattered_write_ms: 0.1,
            scattered_flush_ms: 90.0,
            read_beside_flush_ms: 40.0,
            path_ms: 0.1,
        },
        forces: Some(true),
    }
}

/// Changes the evidence of an honest disk, and judges it.
fn found(change: impl FnOnce(&mut super::AuditEvidence)) -> (AuditVerdict, Certainty) {
    let mut evidence = honest();
    change(&mut evidence);
    let super::ReasonedVerdict { verdict, certainty, why } = evidence.reach_verdict();
    assert!(!why.is_empty());
    (verdict, certainty)
}

#[test]
fn a_verdict_changes_at_its_bounds() {
    use AuditVerdict::{CacheOff, CannotTell, FlushIgnored, FuaIgnored, Honest, NothingRotates, Protected};
    use Certainty::{Certain, Likely, Open};
    assert_eq!(found(|_| ()), (Honest, Certain));
    assert_eq!(found(|it| it.flushes.number = 0), (CannotTell, Open));
    // How well its period is kept: a spindle from a half on, certain from 0.73 on.
    for (held, expected) in
        [(0.73, (Honest, Certain)), (0.7299, (Honest, Likely)), (0.5, (Honest, Likely)), (0.4999, (CannotTell, Open))]
    {
        assert_eq!(found(|it| it.flushes.held = held), expected, "{held}");
    }
    assert_eq!(found(|it| it.flushes = lattice(60_000.0 / 7_300.0, 0.9)), (Honest, Likely), "a speed that is not sold");
    assert_eq!(found(|it| it.signs.reads_apart = 0.5), (Honest, Likely), "reads that wait for no spindle");
    for (held, expected) in [(0.9, (CacheOff, Certain)), (0.5, (CacheOff, Likely)), (0.4999, (Honest, Certain))] {
        assert_eq!(found(|it| it.writes = lattice(TURN_MS, held)), expected, "{held}");
    }
    // Forced writes that wait for nothing.
    let forced = |held: f64, ms: f64, forces: Option<bool>| {
        found(|it| (it.forced.held, it.figures.forced_ms, it.forces) = (held, ms, forces)).0
    };
    assert_eq!(
        [Some(true), None, Some(false)].map(|forces| forced(0.1, 1.9, forces)),
        [FuaIgnored, FuaIgnored, Honest]
    );
    assert_eq!(
        [forced(0.5, 1.9, None), forced(0.4999, 1.9, None), forced(0.1, 2.0, None)],
        [Honest, FuaIgnored, Honest]
    );
    // Flushes that do not wait: forced writes show a spindle, or reads alone do.
    let early = |forced_held: f64, flush_ms: f64, scattered_ms: f64, read_ms: f64| {
        found(|it| {
            it.flushes.held = 0.1;
            it.forced.held = forced_held;
            (it.figures.flush_ms, it.figures.scattered_flush_ms, it.figures.read_ms) =
                (flush_ms, scattered_ms, read_ms);
        })
    };
    assert_eq!(
        [early(0.9, 1.9, 90.0, 12.0), early(0.6, 1.9, 90.0, 12.0)],
        [(FlushIgnored, Certain), (FlushIgnored, Likely)]
    );
    assert_eq!([early(0.9, 2.0, 90.0, 12.0), early(0.4, 1.9, 90.0, 12.0)], [(CannotTell, Open); 2]);
    assert_eq!([early(0.4, 1.9, 1.9, 0.99), early(0.4, 9.0, 9.0, 0.99)], [(NothingRotates, Likely); 2]);
    assert_eq!([early(0.4, 2.0, 1.9, 1.0), early(0.4, 1.9, 2.0, 1.0)], [(CannotTell, Open); 2]);
    let answered = |forced_ms: f64, forces: Option<bool>, empty_ms: f64, write_ms: f64, again_ms: f64| {
        found(|it| {
            (it.flushes.held, it.forced.held, it.forces) = (0.1, 0.1, forces);
            (it.figures.flush_ms, it.figures.scattered_flush_ms, it.figures.forced_ms) = (1.0, 1.0, forced_ms);
            (it.figures.empty_flush_ms, it.figures.write_ms, it.figures.read_again_ms) = (empty_ms, write_ms, again_ms);
        })
    };
    assert_eq!(answered(1.9, Some(true), 0.2, 0.3, 0.3), (Protected, Likely));
    assert_eq!([answered(2.0, Some(true), 0.2, 0.3, 0.3), answered(1.9, None, 0.2, 0.3, 0.3)], [(CannotTell, Open); 2]);
    // The path takes 0.1: a flush of 0.05 reaches the disk if a block takes 0.4, and not if it takes 0.6, be it written or read.
    assert_eq!(answered(1.9, Some(true), 0.15, 0.7, 0.7), (FlushIgnored, Likely));
    assert_eq!(
        [answered(1.9, Some(true), 0.15, 0.5, 0.7), answered(1.9, Some(true), 0.15, 0.7, 0.5)],
        [(Protected, Likely); 2]
    );
}

#[test]
fn a_period_is_no_spindle_s_where_one_sign_contradicts() {
    use AuditVerdict::{CacheOff, CannotTell, Honest};
    let said = |change: &dyn Fn(&mut super::AuditEvidence)| found(change).0;
    // 32 scattered blocks within a revolution: written in 3.2 ms and flushed in the rest of 8.333.
    let scattered = |ms: f64| said(&|it| it.figures.scattered_flush_ms = ms);
    assert_eq!([scattered(5.1), scattered(5.2)], [CannotTell, Honest]);
    // Reads that end at one angle, unless they are answered without a wait, in a quarter of a revolution.
    let reads = |held: f64, ms: f64| said(&|it| (it.signs.reads_held, it.figures.read_ms) = (held, ms));
    assert_eq!(
        [reads(0.5, 12.0), reads(0.4999, 12.0), reads(0.9, 2.08), reads(0.9, 2.09)],
        [CannotTell, Honest, Honest, CannotTell]
    );
    // A timer's period, and no place has an angle of its own; a speed that is sold and reads that turn take that back.
    let timer = |period_ms: f64, places_alike: f64, apart: f64| {
        said(&|it| {
            (it.flushes, it.signs.places_alike, it.signs.reads_apart) = (lattice(period_ms, 0.9), places_alike, apart);
        })
    };
    assert_eq!([timer(9.0, 0.9, 0.8), timer(9.0, 0.1, 0.8)], [CannotTell, Honest]);
    assert_eq!([timer(6.0, 0.9, 0.8), timer(6.0, 0.9, 0.4)], [Honest, CannotTell], "10,000 a minute");
    let alone = |alike: f64| found(|it| (it.writes, it.signs.places_alike) = (lattice(9.0, 0.9), alike)).0;
    assert_eq!([alone(0.1), alone(0.9)], [CacheOff, CannotTell], "of writes without a flush as well");
}

#[test]
fn speeds_are_sold_within_a_hundredth_and_ticks_lie_within_two_clocks() {
    for speed in super::SPEEDS {
        let sold = |by: f64| lattice(60_000.0 / (speed * by), 0.9).commercial_speed();
        assert_eq!([sold(1.0), sold(1.0099), sold(0.9901)], [Some(speed); 3]);
        assert!(sold(1.0101) != Some(speed) && sold(0.9899) != Some(speed));
    }
    let tick =
        |period_ms: f64, error_ms: f64| super::Lattice { error_ms, ..lattice(period_ms, 0.9) }.may_be_timer_tick();
    assert!(tick(8.0, 0.0) && tick(8.0039, 0.0) && tick(7.9961, 0.0) && tick(8.3, 0.3));
    assert!(!tick(8.0042, 0.0) && !tick(7.9958, 0.0) && !tick(8.3, 0.29) && !tick(8.5, 0.4));
    let signs = |apart: f64, reads: f64, places: f64, alike: f64| {
        let signs = super::Signs { reads_apart: apart, reads_held: reads, places_held: places, places_alike: alike };
        (signs.reads_turn(), signs.places_differ())
    };
    assert_eq!(signs(0.5001, 0.4999, 0.73, 0.4999), (true, true));
    assert_eq!(signs(0.5, 0.4999, 0.7299, 0.4999), (false, false));
    assert_eq!(signs(0.5001, 0.5, 0.73, 0.5), (false, false));
}

/// Of several periods that fit, the longest is the spindle's; a shorter one within a twentieth of it is that too, if it fits better.
#[test]
fn a_spindle_has_the_longest_period() {
    let found = |of: &[(f64, f64)]| {
        let all: Vec<_> = of.iter().map(|&(period, held)| lattice(period, held)).collect();
        super::longest_spindle(&all).map(|it| it.period_ms)
    };
    assert_eq!(found(&[(8.0, 0.6), (4.0, 0.99), (12.0, 0.49)]), Some(8.0));
    assert_eq!(found(&[(8.0, 0.6), (7.7, 0.9)]), Some(7.7));
    assert_eq!(found(&[(8.0, 0.6), (7.6, 0.9)]), Some(8.0));
    assert_eq!(found(&[(8.0, 0.4)]), None);
}

/// Each time between two ends is the share of those that are no longer: of a single one all, of none nothing.
#[test]
fn the_evidence_ends_at_the_whole_however_few_overwrites_there_are() {
    let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
    let overwrite = |ms: u64| {
        let write = AuditInterval { from: at(ms - 2), to: at(ms - 1) };
        Overwrite { pause: Span::ZERO, write, flush: AuditInterval { from: at(ms - 1), to: at(ms) } }
    };
    let curve = |ends: &[u64]| {
        let overwrites = ends.iter().map(|&ms| overwrite(ms)).collect();
        flush_gap_percentiles(&AuditTimings { overwrites, ..AuditTimings::default() })
    };
    assert!(curve(&[]).is_empty() && curve(&[10]).is_empty());
    assert_eq!(curve(&[10, 18]), [(100.0, 8.0)]);
    assert_eq!(curve(&[10, 26, 34]), [(50.0, 8.0), (100.0, 16.0)], "16 ms, then 8");
    assert_eq!(curve(&[10, 26, 34, 58, 90]), [(25.0, 8.0), (50.0, 16.0), (75.0, 24.0), (100.0, 32.0)]);
}

/// Three times of 2.6 ms and one of 4.5: with every spindle's period, 3.8 to 11.7 ms, their directions sum up to less
/// than nothing. None fits, and the period is one of these all the same; without any time there is none.
#[test]
fn ends_that_fit_no_period_have_a_spindle_s_all_the_same() {
    let ends = [0, 2_600, 5_200, 7_800, 12_300].map(|us| Instant::ZERO + Span::from_micros(us));
    let found = super::lattice::fit_period(&ends);
    assert_eq!((found.held, found.number, found.fits_spindle()), (0.0, 4, false));
    assert!((3.8..11.8).contains(&found.period_ms), "{found:?}");
    assert!((found.rpm * found.period_ms - 60_000.0).abs() < 1e-6, "{found:?}");
    let none = super::lattice::fit_period(&ends[..1]);
    assert_eq!((none.period_ms, none.rpm, none.held, none.number), (0.0, 0.0, 0.0, 0));
}
