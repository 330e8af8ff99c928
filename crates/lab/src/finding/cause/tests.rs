//! Causes as they are printed: closed loops, arrivals of their own, measured runs.

use super::*;

fn cause(parts: &[(Part, i64, i64)], arrival: Arrival) -> Cause {
    let change = |&(part, from, to): &(Part, i64, i64)| PartChange { part, waits: WAITING.contains(&part), from, to };
    let (of, parts, is_split) = ("reads".to_owned(), parts.iter().map(change).collect(), arrival != Arrival::Measured);
    Cause { of, parts, arrival, is_split, mix: Vec::new(), commit: None, is_opposed: false }
}

fn closed(outstanding: [f64; 2], at_work: [f64; 2]) -> Arrival {
    Arrival::Closed(Some(ClosedLoop { outstanding, at_work: Some(at_work), flushes: [0; 2] }))
}

#[test]
fn parts_add_up_to_the_difference_as_computed_and_as_printed() {
    let parts = [
        (Part::Queue, 0, 70_123_456),
        (Part::Seek, 4_000_400, 3_500_900),
        (Part::Rotation, 4_100_400, 4_100_900),
        (Part::Link, 30_400, 30_400),
    ];
    let open = cause(&parts, Arrival::Open);
    let sum: i64 = open.parts.iter().map(PartChange::difference).sum();
    assert_eq!(sum, open.to() - open.from());
    // 70.123 - 0.498 makes the figure before the colon, and each bracket the figure before it.
    assert_eq!(
        open.text(),
        "mean response of reads 8.131 -> 77.756 ms, +69.625 ms: waiting +70.123, 101 % (queue +70.123); own work -0.498, \
         -1 % (seek -0.500, the rest +0.002)"
    );
    assert_eq!(
        cause(&parts, closed([1.0, 10.2], [1.0, 1.0])).text(),
        "each read: own work 8.131 -> 7.633 ms, -0.498 (seek -0.500, the rest +0.002). Waiting 0.000 -> \
         70.123 ms, +70.123 (queue +70.123), with 10.2 outstanding on average instead of 1.0. Mean response 8.131 -> 77.756 ms, +69.625"
    );
}

/// A drive's queue in another order under 32 requests: its work is the cause, though waiting is 97 % of the difference.
#[test]
fn in_a_closed_loop_the_work_comes_first_and_the_waiting_follows() {
    let parts =
        [(Part::Driver, 0, 0), (Part::Queue, 400_000_000, 214_000_000), (Part::Rotation, 12_900_000, 6_900_000)];
    assert_eq!(
        cause(&parts, closed([32.0, 32.2], [1.0, 1.0])).text(),
        "each read: own work 12.900 -> 6.900 ms, -6.000 (rotation -6.000). Waiting falls with it: 400.000 -> \
         214.000 ms, -186.000 (queue -186.000), with 32.2 outstanding on average instead of 32.0. Mean response 412.900 -> 220.900 ms, -192.000"
    );
}

#[test]
fn more_at_work_at_once_is_a_cause_of_its_own() {
    let parts = [(Part::Queue, 400_000_000, 200_000_000), (Part::Rotation, 12_900_000, 12_900_000)];
    assert_eq!(
        cause(&parts, closed([32.0, 32.0], [1.0, 1.95])).text(),
        "each read: own work 12.900 ms on both sides. Waiting 400.000 -> 200.000 ms, -200.000 (queue \
         -200.000), with 32.0 outstanding on average on both sides, and 1.9 at work at once instead of 1.0. Mean response 412.900 -> 212.900 ms, -200.000"
    );
    // Four drives under four requests: nobody waits on either side.
    let parts = [(Part::Rotation, 12_900_000, 12_900_000)];
    assert_eq!(
        cause(&parts, closed([1.0, 4.0], [1.0, 4.0])).text(),
        "each read: own work 12.900 ms on both sides, with 4.0 outstanding on average instead of 1.0, and 4.0 at work at once \
         instead of 1.0"
    );
}

#[test]
fn flushes_are_part_of_the_loop() {
    let mut dropped = cause(&[(Part::Link, 200_000, 250_000)], closed([1.0, 1.0], [1.0, 1.0]));
    let Arrival::Closed(Some(closed)) = &mut dropped.arrival else { unreachable!() };
    closed.flushes = [8_333_000, 0];
    assert_eq!(
        dropped.text(),
        "each read: flushes between them 8.333 -> 0.000 ms, -8.333; own work 0.200 -> 0.250 ms, +0.050 (link +0.050)"
    );
}

/// Writes that the buffer takes wait for a segment: the drive works on others, which are answered.
#[test]
fn waiting_for_the_buffer_is_no_work() {
    let parts = [(Part::Queue, 220_000_000, 0), (Part::Rotation, 7_000_000, 0), (Part::Cache, 0, 227_000_000)];
    let known = ClosedLoop { outstanding: [31.0, 31.0], at_work: None, flushes: [0; 2] };
    let said = cause(&parts, Arrival::Closed(Some(known))).text();
    assert_eq!(
        said,
        "mean response of reads 227.000 -> 227.000 ms, +0.000 ms: waiting +7.000 (cache +227.000, queue -220.000); own work \
         -7.000 (rotation -7.000); cache is waiting for a segment of the drive's buffer, or for a read-ahead in progress"
    );
}

/// One more outstanding, and no other work: waiting follows nothing.
#[test]
fn waiting_follows_only_work_that_explains_it() {
    let deeper = [(Part::Queue, 48_825_000, 50_174_000), (Part::Rotation, 1_791_000, 1_791_000)];
    assert_eq!(
        cause(&deeper, closed([30.0, 30.8], [1.06, 1.06])).text(),
        "each read: own work 1.791 ms on both sides. Waiting 48.825 -> 50.174 ms, +1.349 (queue +1.349), with 30.8 \
         outstanding on average instead of 30.0. Mean response 50.616 -> 51.965 ms, +1.349"
    );
    let less_work = [(Part::Queue, 60_000_000, 61_500_000), (Part::Rotation, 2_000_000, 1_900_000)];
    let text = cause(&less_work, closed([31.0, 32.2], [1.0, 0.97])).text();
    assert!(!text.contains(" with it"), "waiting rose though the work fell: {text}");
}

#[test]
fn the_mean_that_moves_against_the_verdict_says_so() {
    let mut cause = cause(&[(Part::Rotation, 12_000_000, 6_000_000)], Arrival::Open);
    for (verdict, opposes) in [(Verdict::Faster, false), (Verdict::Slower, true)] {
        cause.oppose(verdict);
        let text = cause.text();
        assert_eq!(
            text.starts_with("the mean moved the other way (shorter): mean response of reads "),
            opposes,
            "{text}"
        );
    }
}

#[test]
fn of_a_measured_run_nobody_knows_what_waits() {
    assert_eq!(
        cause(&[(Part::Processor, 10_000, 10_000), (Part::Queue, 9_000_000, 5_000_000)], Arrival::Measured).text(),
        "mean response of reads 9.010 -> 5.010 ms, -4.000 ms: queue -4.000; how much of it is waiting was not measured"
    );
}

#[test]
fn shares_of_what_cancels_are_not_said() {
    let cause = cause(&[(Part::Queue, 9_000_000, 1_000_000), (Part::Driver, 0, 7_900_000)], Arrival::Open);
    assert_eq!(cause.share(&cause.parts[0]), None);
    assert!(cause.text().ends_with("-0.100 ms: waiting -0.100 (queue -8.000, driver +7.900)"), "{}", cause.text());
}

#[test]
fn equal_sides_have_no_cause() {
    for arrival in [Arrival::Open, Arrival::Measured, closed([1.0, 1.0], [0.5, 0.5]), Arrival::Closed(None)] {
        let text = cause(&[(Part::Queue, 5_000, 5_000)], arrival).text();
        assert_eq!(text, "mean response of reads 0.005 -> 0.005 ms: no part of it changed");
        let text = cause(&[(Part::Queue, 5_000_000, 5_010_000)], arrival).text();
        assert_eq!(text, "mean response of reads 5.000 -> 5.010 ms: no part changes it by 2 %");
    }
}
