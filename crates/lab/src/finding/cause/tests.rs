//! Causes as they are printed: closed loops, arrivals of their own, measured runs.

use super::*;
use crate::run::{CommitRecord, KindRecord};

fn cause(parts: &[(Part, i64, i64)], arrival: Arrival) -> Cause {
    let change = |&(part, from, to): &(Part, i64, i64)| PartChange {
        part: Some(part),
        waits: WAITING.contains(&part),
        from,
        to,
    };
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
    let sum: i64 = open.parts.iter().map(PartChange::difference_ns).sum();
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
    for verdict in [Verdict::Faster, Verdict::Slower] {
        let mut even = cause(&[(Part::Rotation, 6_000_000, 6_000_000)], Arrival::Open);
        even.set_opposed(verdict);
        assert!(!even.is_opposed, "{verdict:?}");
    }
    let mut cause = cause(&[(Part::Rotation, 12_000_000, 6_000_000)], Arrival::Open);
    for (verdict, opposes) in [(Verdict::Faster, false), (Verdict::Slower, true)] {
        cause.set_opposed(verdict);
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
    assert_eq!(cause.share_of_part(&cause.parts[0]), None);
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

/// A run of 1000 reads, 100 a second, one at a time: each takes 10 ms of rotation.
fn run() -> RunRecord {
    let mut run = super::super::tests::record(0, 0);
    (run.all.ios, run.read.ios) = (1000, 1000);
    run.cpu = None;
    run
}

/// The cause between two sides of one run each, the other with its parts and figures changed.
fn between(
    whose: &str,
    hidden: HiddenWork,
    both: impl Fn(&mut RunRecord),
    other: impl Fn(&mut RunRecord),
) -> Option<Cause> {
    let scope = format!("{whose}mean").parse::<seekwise_drives::metric::Metric>().unwrap().whose;
    let mut sides = [run(), run()];
    sides.iter_mut().for_each(&both);
    other(&mut sides[1]);
    let [from, to] = &sides;
    Cause::between_runs(&scope, &[from], &[to], hidden)
}

/// Half of the rotation: twice the rate.
fn faster(run: &mut RunRecord) {
    run.anatomy_ms.set(Part::Rotation, 5.0);
    (run.all.iops, run.read.iops) = (200.0, 200.0);
    run.all.response_ms.as_mut().unwrap().mean = 5.0;
}

fn at_work(cause: &Cause) -> Option<[f64; 2]> {
    let Arrival::Closed(Some(closed)) = cause.arrival else { return None };
    closed.at_work
}

#[test]
fn a_closed_loop_is_told_from_its_records() {
    let cause = between("", HiddenWork::default(), |_| (), faster).unwrap();
    assert_eq!(cause.parts, [PartChange { part: Some(Part::Rotation), waits: false, from: 10_000_000, to: 5_000_000 }]);
    let known = ClosedLoop { outstanding: [1.0, 1.0], at_work: Some([1.0, 1.0]), flushes: [0, 0] };
    assert_eq!((cause.arrival, cause.is_split, cause.commit), (Arrival::Closed(Some(known)), true, None));
    assert_eq!(cause.text(), "each read: own work 10.000 -> 5.000 ms, -5.000 (rotation -5.000)");
    assert!(cause.mix.is_empty() && !cause.is_opposed);
}

#[test]
fn parts_that_do_not_show_all_work_tell_nothing_of_the_loop() {
    let nothing = HiddenWork::default();
    let cached = |run: &mut RunRecord| run.anatomy_ms.set(Part::Cache, 0.2);
    let less = |run: &mut RunRecord| {
        run.anatomy_ms.set(Part::Rotation, 9.8);
        run.anatomy_ms.set(Part::Cache, 0.19);
    };
    let writes = |run: &mut RunRecord| run.write.ios = 1;
    let memory = |run: &mut RunRecord| run.issuer.memory_percent = Some(0.0);
    let (array, cache) = (HiddenWork { has_array: true, ..nothing }, HiddenWork { caches_writes: true, ..nothing });
    let is_known = |hidden: HiddenWork, both: &dyn Fn(&mut RunRecord)| {
        let cause = between("", hidden, both, |_| ()).unwrap();
        assert!(matches!(cause.arrival, Arrival::Closed(Some(_))));
        (at_work(&cause).is_some(), cause.is_split)
    };
    assert_eq!(is_known(nothing, &less), (true, true));
    assert_eq!(is_known(nothing, &cached), (true, true), "1.96 % of 10.2 ms");
    let more = |run: &mut RunRecord| run.anatomy_ms.set(Part::Cache, 0.21);
    assert_eq!(is_known(nothing, &more), (false, true), "2.06 % of 10.21 ms");
    assert_eq!(
        [is_known(array, &|_| ()), is_known(cache, &|_| ()), is_known(cache, &writes)],
        [(false, false), (true, true), (false, true)]
    );
    assert_eq!([is_known(nothing, &writes), is_known(nothing, &memory)], [(true, true), (false, true)]);
}

#[test]
fn requests_come_by_themselves_if_any_run_says_so() {
    let due = |run: &mut RunRecord| {
        let backlog_ms = crate::run::arrivals::Backlog { mean: 0.0, max: 0.0 };
        run.arrivals = Some(crate::run::Arrivals {
            asked_iops: None,
            asked_bytes_per_s: None,
            reached_iops: 100.0,
            reached_bytes_per_s: 0.0,
            backlog_ms,
            all: true,
            kept: true,
        });
    };
    let arrival = |both: &dyn Fn(&mut RunRecord), other: &dyn Fn(&mut RunRecord)| {
        let cause = between("", HiddenWork::default(), both, other).unwrap();
        (cause.arrival, cause.is_split)
    };
    assert_eq!([arrival(&due, &|_| ()), arrival(&|_| (), &due)], [(Arrival::Open, true); 2]);
    let measured = |run: &mut RunRecord| run.place = "real".to_owned();
    assert_eq!([arrival(&|_| (), &measured), arrival(&due, &measured)], [(Arrival::Measured, false); 2]);
}

#[test]
fn time_at_the_processor_beyond_its_work_is_waiting_for_a_core() {
    // 500 requests a core-second are 2 ms of work each.
    let busy = |run: &mut RunRecord| {
        run.cpu = Some(crate::run::CpuRecord { percent: 20.0, ios_per_cpu_second: 500.0, ..Default::default() });
        run.anatomy_ms.set(Part::Processor, 3.0);
    };
    let parts =
        |both: &dyn Fn(&mut RunRecord), other: &dyn Fn(&mut RunRecord)| -> Vec<(&'static str, bool, i64, i64)> {
            let cause = between("", HiddenWork::default(), both, other).unwrap();
            let of = cause.parts.iter().filter(|change| change.part == Some(Part::Processor));
            of.map(|change| (change.name(), change.waits, change.from, change.to)).collect()
        };
    let more = |run: &mut RunRecord| run.anatomy_ms.set(Part::Processor, 5.0);
    assert_eq!(
        parts(&busy, &more),
        [("processor queue", true, 1_000_000, 3_000_000), ("processor", false, 2_000_000, 2_000_000)]
    );
    let less = |run: &mut RunRecord| run.anatomy_ms.set(Part::Processor, 1.5);
    assert_eq!(
        parts(&busy, &less),
        [("processor queue", true, 1_000_000, 0), ("processor", false, 2_000_000, 1_500_000)]
    );
    // With flushes among them the cores' time is not that of reads and writes alone.
    let flushes = |run: &mut RunRecord| {
        busy(run);
        run.flush.ios = 1;
    };
    assert_eq!(parts(&flushes, &more), [("processor", false, 3_000_000, 5_000_000)]);
}

#[test]
fn without_requests_or_parts_there_is_no_cause() {
    let of =
        |whose: &str, change: &dyn Fn(&mut RunRecord)| between(whose, HiddenWork::default(), |_| (), change).is_some();
    assert!(of("", &|_| ()) && !of("write.", &|_| ()) && !of("flush.", &|_| ()));
    assert!(!of("read.", &|_| ()), "its own parts are not kept");
    assert!(!of("", &|run| run.anatomy_ms = MeanParts::default()));
    let one = run();
    assert!(Cause::between_runs(&MetricScope::All, &[], &[&one], HiddenWork::default()).is_none());
    assert!(Cause::between_runs(&MetricScope::All, &[&one], &[], HiddenWork::default()).is_none());
    // The mean over the runs of a side: 10 and 20 ms.
    let mut other = run();
    other.anatomy_ms.set(Part::Rotation, 20.0);
    let cause = Cause::between_runs(&MetricScope::All, &[&one, &other], &[&other], HiddenWork::default()).unwrap();
    assert_eq!((cause.from(), cause.to()), (15_000_000, 20_000_000));
}

/// As many flushes as writes, within a twentieth, and nothing else: each follows a write.
#[test]
fn a_flush_after_each_write_is_a_commit() {
    let commit = |writes: u64, flushes: u64, reads: u64| {
        let both = |run: &mut RunRecord| {
            let (all, times) = (run.all.clone(), run.all.response_ms);
            (run.write, run.flush) = (all.clone(), all);
            run.flush.anatomy_ms.set(Part::Rotation, 8.0);
            (run.write.ios, run.flush.ios, run.read.ios) = (writes, flushes, reads);
            (run.write.response_ms, run.flush.response_ms) = (times, times);
            run.flush.response_ms.as_mut().unwrap().mean = 8.0;
            run.write.response_ms.as_mut().unwrap().mean = 1.0;
        };
        let other = |run: &mut RunRecord| {
            run.flush.response_ms.as_mut().unwrap().mean = 4.0;
            run.write.response_ms.as_mut().unwrap().mean = 2.0;
        };
        between("flush.", HiddenWork::default(), both, other).unwrap().commit
    };
    let known = Some(Commit { write: [1_000_000, 2_000_000], flush: [8_000_000, 4_000_000] });
    assert_eq!([commit(100, 100, 0), commit(100, 105, 0), commit(100, 95, 0)], [known; 3]);
    assert_eq!([commit(100, 106, 0), commit(106, 100, 0), commit(100, 100, 1)], [None; 3]);
}

/// One log: its commit has the parts of its write and its flush, all of them its own work, and the pause between them.
/// Among other requests, time behind a flush may be theirs.
#[test]
fn a_commit_has_the_parts_of_its_write_and_its_flush() {
    let commits = |other_iops: f64| {
        let both = move |run: &mut RunRecord| {
            run.all.response_ms.as_mut().unwrap().mean = 1.0;
            run.flush = run.all.clone();
            run.flush.response_ms.as_mut().unwrap().mean = 8.0;
            run.all.iops += other_iops;
            let mut figures = run.flush.clone();
            figures.anatomy_ms.set(Part::Rotation, 1.0);
            figures.anatomy_ms.set(Part::Flush, 8.0);
            run.commit = Some(Box::new(CommitRecord { figures, between_ms: Some(0.5) }));
        };
        let other = |run: &mut RunRecord| {
            let commit = run.commit.as_mut().unwrap();
            commit.figures.anatomy_ms.set(Part::Flush, 4.0);
            commit.between_ms = Some(1.0);
        };
        between("commit.", HiddenWork::default(), both, other).unwrap()
    };
    let alone = commits(0.0);
    let parts: Vec<_> = alone.parts.iter().map(|of| (of.name(), of.waits, of.from / 1000, of.to / 1000)).collect();
    let rotation = ("rotation", false, 1000, 1000);
    assert_eq!(parts, [("flush", false, 8000, 4000), rotation, ("between requests", false, 500, 1000)]);
    assert_eq!((alone.from(), alone.to()), (9_500_000, 6_000_000));
    let text = alone.text();
    assert!(text.starts_with("mean response of commits 9.500 -> 6.000 ms, -3.500 ms: "), "{text}");
    assert!(text.contains("flush -4.000") && text.contains("between requests +0.500"), "{text}");
    let among_others = commits(400.0);
    assert!(among_others.parts[0].waits && !among_others.is_split, "{among_others:?}");
}

#[test]
fn flushes_are_in_the_loop_and_at_work_only_one_at_a_time() {
    let known = |flush_ms: f64| {
        let flushed = |run: &mut RunRecord| {
            run.flush = KindRecord { ios: 500, iops: 50.0, response_ms: run.all.response_ms, ..run.flush.clone() };
            run.flush.response_ms.as_mut().unwrap().mean = flush_ms;
        };
        let cause = between("", HiddenWork::default(), flushed, |_| ()).unwrap();
        let Arrival::Closed(Some(closed)) = cause.arrival else { panic!("{cause:?}") };
        closed
    };
    // Half a flush a request: 100 a second of 10 and half of 0.8 ms.
    let single = known(0.8);
    assert_eq!(single.flushes, [400_000; 2]);
    let mut counts = single.outstanding.into_iter().chain(single.at_work.expect("nobody waits"));
    assert!(counts.all(|count| (count - 1.04).abs() < 1e-9), "{single:?}");
    // 1.06 outstanding: some flush waits for another request.
    assert_eq!(known(1.2).at_work, None);
}

/// A group of this share of 1000 requests that take so many ms, all of it work.
fn job(name: &str, ios: u64, ms: f64) -> crate::run::GroupRecord {
    let mut all = run().all;
    all.ios = ios;
    all.response_ms.as_mut().unwrap().mean = ms;
    all.anatomy_ms.set(Part::Rotation, ms);
    crate::run::GroupRecord { name: name.to_owned(), all, histogram: Vec::<(u64, u64)>::new().into_iter().collect() }
}

#[test]
fn another_mix_of_jobs_is_named_if_it_moves_the_mean() {
    let mix = |from: [(u64, f64); 2], to: [(u64, f64); 2]| {
        let with = |of: [(u64, f64); 2]| vec![job("log", of[0].0, of[0].1), job("data", of[1].0, of[1].1)];
        let both = |run: &mut RunRecord| run.groups = with(from);
        let cause = between("", HiddenWork::default(), both, |run| run.groups = with(to)).unwrap();
        assert_eq!(cause.is_split, cause.mix.is_empty());
        cause.mix.iter().map(mix::ShareChange::text).collect::<Vec<_>>()
    };
    let changed = ["job log 50.0 -> 90.0 %", "job data 50.0 -> 10.0 %"];
    assert_eq!(mix([(500, 1.0), (500, 9.0)], [(900, 1.0), (100, 9.0)]), changed);
    assert!(
        mix([(500, 5.0), (500, 5.0)], [(900, 5.0), (100, 5.0)]).is_empty(),
        "they take as long: the mean does not move"
    );
    assert!(mix([(500, 1.0), (500, 9.0)], [(500, 2.0), (500, 4.0)]).is_empty(), "the same mix");
    // 0.1 % of the requests more that take twice as long move a mean of 1 by 0.1 %.
    assert!(mix([(999, 1.0), (1, 2.0)], [(998, 1.0), (2, 2.0)]).is_empty());
    // If they take 50 times as long it is 4.9 %.
    assert_eq!(mix([(999, 1.0), (1, 50.0)], [(998, 1.0), (2, 50.0)]), ["job data 0.10 -> 0.20 %"]);
}

#[test]
fn another_mix_of_reads_and_writes_is_named() {
    let kinds = |reads: u64| {
        move |run: &mut RunRecord| {
            let [read, write] = [job("", reads, 10.0).all, job("", 1000 - reads, 2.0).all];
            (run.read, run.write) = (read, write);
        }
    };
    let cause = between("", HiddenWork::default(), kinds(500), kinds(800)).unwrap();
    let said: Vec<String> = cause.mix.iter().map(mix::ShareChange::text).collect();
    assert_eq!((said.join(", ").as_str(), cause.is_split), ("reads 50.0 -> 80.0 %, writes 50.0 -> 20.0 %", false));
    assert!(between("", HiddenWork::default(), kinds(500), kinds(500)).unwrap().mix.is_empty());
    assert!(
        between("read.", HiddenWork::default(), kinds(500), kinds(800)).unwrap().mix.is_empty(),
        "of reads alone nothing changed"
    );
}
