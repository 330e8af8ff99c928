//! Instants of a session that is written by hand: one flush, one promise, one landing.

use seekwise_disk::block::{Completion, Flags, Landing, MemberRole, Request, TrackRun};
use seekwise_disk::record::{Effort, Parts};

use super::*;

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn flush(finished: u64, status: Status) -> HistoryEvent {
    let request =
        Request { tag: 0, unit: 0, origin: 0, op: Op::Flush, flags: Flags::NONE, lba: 0, sectors: 0, stamp: 1 };
    let (parts, effort) = (Parts::default(), Effort::default());
    HistoryEvent::Over(request, Completion { tag: 0, status, submitted: at(0), finished: at(finished), parts, effort })
}

fn landing(from: u64, to: u64, kind: LandingKind) -> HistoryEvent {
    HistoryEvent::Landed(Landing {
        member: 0,
        role: MemberRole::Copy(0),
        lba: 0,
        sectors: 8,
        stamp: 1,
        number: 0,
        from: at(from),
        to: at(to),
        kind,
        sector: 0,
        run: TrackRun { sector: 0, sectors: 8, from: at(from), to: at(to) },
    })
}

/// A session from 0 to 2000 ns: a promise at 500, a landing from 100 to 200, a flush that ends at 1000; and a flush that was aborted.
fn session() -> History {
    let events = vec![
        landing(100, 200, LandingKind::Landed),
        landing(300, 400, LandingKind::Discarded),
        flush(700, Status::Aborted),
        flush(1000, Status::Done),
    ];
    let said = |nanos: u64, words: &str| (at(nanos), HistoryMark::Said(words.to_owned()));
    let marks = vec![(at(0), HistoryMark::Begin), said(500, "a"), (at(2000), HistoryMark::End)];
    History { events, marks, ..History::default() }
}

const SPAN: (Instant, Instant) = (at(0), at(2000));

#[test]
fn a_quarter_each_is_at_flushes_promises_and_landings() {
    for n in [4, 8, 40, 400] {
        let chosen = choose_instants(&session(), SPAN, n, InstantWeights::Mixed, Seed(3));
        assert_eq!(chosen.len(), n);
        assert!(chosen.windows(2).all(|two| two[0].0 < two[1].0), "they differ, in order");
        let of = |why: InstantReason| chosen.iter().filter(|it| it.1 == why).map(|it| it.0.nanos()).collect::<Vec<_>>();
        let flushes = [of(InstantReason::Unflushed), of(InstantReason::Flushed)].concat();
        assert!(flushes.iter().all(|it| [999, 1000].contains(it)) && flushes.len() == (n / 4).min(2), "{flushes:?}");
        assert!(of(InstantReason::Flushed).iter().all(|it| *it == 1000));
        assert_eq!(of(InstantReason::Promised), [500]);
        // The ends of a landing are none: it has not begun at 100, and is whole at 200. Draws may repeat.
        let landings = of(InstantReason::Landing);
        assert!(
            landings.iter().all(|it| (101..200).contains(it)) && (1..=n / 4).contains(&landings.len()),
            "{landings:?}"
        );
        assert!(of(InstantReason::Drawn).iter().all(|it| *it <= 2000));
    }
}

#[test]
fn as_power_fails_all_are_drawn_evenly() {
    let chosen = choose_instants(&session(), SPAN, 1000, InstantWeights::Time, Seed(3));
    assert!(chosen.len() == 1000 && chosen.iter().all(|it| it.1 == InstantReason::Drawn));
    // Half of them in each half: 500 ± 16, five deviations.
    let early = chosen.iter().filter(|it| it.0 < at(1000)).count();
    assert!((420..=580).contains(&early), "{early}");
    let other = choose_instants(&session(), SPAN, 1000, InstantWeights::Time, Seed(4));
    assert!(chosen != other && chosen == choose_instants(&session(), SPAN, 1000, InstantWeights::Time, Seed(3)));
}

#[test]
fn a_short_span_has_all_of_its_nanoseconds() {
    let chosen = choose_instants(&session(), (at(998), at(1001)), 40, InstantWeights::Mixed, Seed(3));
    let (drawn, at_flush) = (InstantReason::Drawn, [InstantReason::Unflushed, InstantReason::Flushed]);
    let expected =
        [(998, drawn), (999, at_flush[0]), (1000, at_flush[1]), (1001, drawn)].map(|(ns, why)| (at(ns), why));
    assert_eq!(chosen, expected);
    let one = choose_instants(&session(), (at(1500), at(1500)), 5, InstantWeights::Mixed, Seed(3));
    assert_eq!(one, [(at(1500), InstantReason::Drawn)]);
}

#[test]
fn a_promise_or_flush_at_the_ends_of_the_span_counts_and_beyond_it_does_not() {
    let reasons = |from: u64, to: u64| {
        let chosen = choose_instants(&session(), (at(from), at(to)), 400, InstantWeights::Mixed, Seed(3));
        let has = |why: InstantReason| chosen.iter().any(|it| it.1 == why);
        [InstantReason::Promised, InstantReason::Unflushed, InstantReason::Flushed, InstantReason::Landing].map(has)
    };
    assert_eq!(reasons(500, 999), [true, true, false, false]);
    assert_eq!(reasons(501, 998), [false; 4]);
    assert_eq!(reasons(0, 500), [true, false, false, true]);
    assert_eq!(reasons(1000, 1800), [false, false, true, false]);
}

#[test]
fn landings_count_within_the_span_without_their_ends() {
    let time = |from: u64, to: u64| landing_time(&session(), (at(from), at(to))).nanos();
    assert_eq!([time(0, 2000), time(150, 2000), time(0, 150), time(199, 2000), time(200, 2000)], [99, 50, 49, 1, 0]);
    let mut two = session();
    two.events.push(landing(150, 250, LandingKind::Landed));
    assert_eq!(landing_time(&two, SPAN).nanos(), 198, "drives of an array count one by one");
}
