//! Iometer's generator: its numbers computed by hand from its published steps, and its counting.

use super::device::{device_limits, fio_pattern, job_of_one, run_job, worker_with};
use seekwise_disk::block::Op;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::workload::{
    AccessLine, AccessSpec, CountingRule, Direction, IometerPattern, Job, Pattern, Region, Window, Workload,
    WorkloadFault,
};

/// A line with its bytes, and its shares in per cent.
fn access_line(size: u32, share: u8, reads: u8, random: u8) -> AccessLine {
    AccessLine { size, share, reads, random, delay: Span::ZERO, burst: 1, align: 0, reply: 0 }
}

fn iometer_job(lines: Vec<AccessLine>, area: Region, (worker_seed, target_seed): (u64, u64)) -> Job {
    let spec = AccessSpec { name: "spec".into(), lines };
    let pattern = IometerPattern { spec, area, worker_seed, target_seed };
    let mut worker = worker_with(Pattern::Iometer(pattern));
    worker.runtime = Some(Span::from_millis(10));
    Job { name: "job".into(), workers: vec![worker] }
}

/// X <- X * 136204069 + 28500701229 mod 2^64, then X mod the limit; in 128 bits here.
fn draw_below(state: &mut u128, limit: u128) -> u64 {
    *state = (*state * 136_204_069 + 28_500_701_229) % (1 << 64);
    (*state % limit) as u64
}

#[test]
fn the_first_numbers_are_those_of_the_formula() {
    // 1 * 136204069 + 28500701229 = 28636905298; mod 100 is 98. Then 28636905298 * 136204069 + 28500701229 =
    // 3900463028117506562 + 28500701229 = 3900463056618207791, below 2^64 = 1.8e19.
    let mut x = 1;
    assert_eq!(draw_below(&mut x, 100), 98);
    assert_eq!(x, 28_636_905_298);
    draw_below(&mut x, 100);
    assert_eq!(x, 28_636_905_298 * 136_204_069 + 28_500_701_229);
}

#[test]
fn twenty_requests_of_two_lines_follow_the_steps() {
    let area = Region { start: 1 << 20, bytes: 1 << 30 };
    let lines = vec![access_line(4096, 60, 67, 50), access_line(65_536, 40, 20, 80)];
    let run = run_job(&iometer_job(lines.clone(), area, (11, 1)), Span::from_micros(100));
    let (mut worker, mut target) = (11u128, 1u128);
    let (mut pointer, mut last) = (area.start, 0);
    for issue in &run.issued[..20] {
        // The first 60 of 100 cells are the first line's.
        let line = &lines[usize::from(draw_below(&mut worker, 100) >= 60)];
        let op = if draw_below(&mut target, 100) < u64::from(line.reads) { Op::Read } else { Op::Write };
        pointer = match draw_below(&mut target, 100) < u64::from(line.random) {
            true => area.start + draw_below(&mut target, u128::from(area.bytes)),
            false => pointer + last,
        };
        pointer = pointer.div_ceil(512) * 512;
        if pointer + u64::from(line.size) > area.start + area.bytes {
            pointer = area.start;
        }
        last = u64::from(line.size);
        assert_eq!((issue.op, issue.lba, issue.sectors), (op, pointer / 512, line.size / 512));
    }
}

#[test]
fn reads_and_writes_share_one_pointer_and_wrap() {
    let area = Region { start: 4096, bytes: 10 * 4096 };
    let run = run_job(&iometer_job(vec![access_line(4096, 100, 50, 0)], area, (1, 1)), Span::from_micros(10));
    assert!(run.issued.iter().any(|i| i.op == Op::Read) && run.issued.iter().any(|i| i.op == Op::Write));
    assert!(run.issued.iter().enumerate().all(|(i, issue)| issue.lba == 8 + i as u64 % 10 * 8));
}

#[test]
fn a_burst_keeps_its_line_and_a_delay_comes_before_it() {
    let slow = AccessLine { burst: 4, delay: Span::from_millis(1), ..access_line(4096, 50, 100, 100) };
    let quick = AccessLine { burst: 2, ..access_line(512, 50, 100, 100) };
    let run =
        run_job(&iometer_job(vec![slow, quick], Region { start: 0, bytes: 1 << 30 }, (5, 1)), Span::from_micros(10));
    let mut at = 0;
    let (mut bursts, mut previous) = (0, None);
    while at + 4 < run.issued.len() {
        let length = if run.issued[at].sectors == 8 { 4 } else { 2 };
        let burst = &run.issued[at..at + length];
        assert!(burst.iter().all(|i| i.sectors == burst[0].sectors));
        if let Some(previous) = previous {
            let gap = burst[0].at.since(previous).nanos();
            assert_eq!(gap, if length == 4 { 1_010_000 } else { 10_000 });
        }
        previous = Some(burst[length - 1].at);
        at += length;
        bursts += 1;
    }
    assert!(bursts > 10);
}

#[test]
fn alignment_rounds_up() {
    let aligned = AccessLine { align: 65_536, ..access_line(4096, 100, 100, 100) };
    let run =
        run_job(&iometer_job(vec![aligned], Region { start: 512, bytes: 1 << 30 }, (1, 1)), Span::from_micros(10));
    assert!(run.issued.iter().all(|i| i.lba % 128 == 0 && i.lba > 0));
}

#[test]
fn a_reply_follows_in_the_other_direction_within_the_depth() {
    let asked = AccessLine { reply: 512, ..access_line(4096, 100, 50, 100) };
    let mut job = iometer_job(vec![asked], Region { start: 0, bytes: 1 << 30 }, (1, 1));
    let run1 = run_job(&job, Span::from_micros(10));
    let whole = run1.issued.len() / 2 * 2;
    for pair in run1.issued[..whole].chunks(2) {
        assert_eq!((pair[0].sectors, pair[1].sectors), (8, 1));
        assert_ne!(pair[0].op, pair[1].op);
    }
    job.workers[0].depth = 5;
    assert_eq!(run_job(&job, Span::from_micros(10)).most_in_flight, [5]);
}

#[test]
fn only_what_begins_after_the_ramp_and_ends_in_time_counts() {
    let mut job = iometer_job(vec![access_line(4096, 100, 100, 100)], Region { start: 0, bytes: 1 << 30 }, (1, 1));
    job.workers[0].depth = 4;
    job.workers[0].ramp = Span::from_micros(105);
    job.workers[0].runtime = Some(Span::from_micros(100));
    let run = run_job(&job, Span::from_micros(10));
    // Issued when one completes, done 40 us later: those issued at 110 to 160 and done at 150 to 200 us are counted.
    let counted: Vec<u64> = run.counted().map(|(at, _)| at.nanos() / 10_000).collect();
    assert_eq!(counted, [15, 16, 17, 18, 19, 20]);
}

/// With that ramp and run time, until 205 us: the last request is issued at 200 us and done at 240. fio counts until
/// the worker ends, Iometer and a window until the run time does, unless the worker ends before.
#[test]
fn a_worker_counts_until_it_or_its_run_time_ends() {
    let random = || iometer_job(vec![access_line(4096, 100, 100, 100)], Region { start: 0, bytes: 1 << 30 }, (1, 1));
    let reads = |number: u64| job_of_one(fio_pattern(Direction::Read, 0, number * 4096));
    for (mut job, counting, until) in [
        (random(), CountingRule::Tool, 205),
        (random(), CountingRule::Window, 205),
        (reads(100), CountingRule::Tool, 240),
        (reads(100), CountingRule::Window, 205),
        (reads(15), CountingRule::Tool, 150),
        (reads(15), CountingRule::Window, 150),
    ] {
        let worker = &mut job.workers[0];
        (worker.depth, worker.counting) = (4, counting);
        (worker.ramp, worker.runtime) = (Span::from_micros(105), Some(Span::from_micros(100)));
        let [from, until] = [105, until].map(|us| Instant::ZERO + Span::from_micros(us));
        assert_eq!(run_job(&job, Span::from_micros(10)).windows, [Some(Window { from, until })], "{counting:?}");
    }
}

#[test]
fn lines_that_cannot_run_are_told_before() {
    let fault = |line: AccessLine| {
        let job = iometer_job(vec![line], Region { start: 512, bytes: 1 << 20 }, (1, 1));
        Workload::new(&job, &device_limits(false), Seed(0)).err().map(|error| error.fault)
    };
    let sound = AccessLine { align: 4096, reply: 512, ..access_line(4096, 100, 100, 100) };
    let odd = |what| Some(WorkloadFault::Sector { what, bytes: 1000, sector: 512 });
    for (line, expected) in [
        (sound, None),
        (AccessLine { share: 99, ..sound }, Some(WorkloadFault::Shares("an access specification"))),
        (AccessLine { reads: 101, ..sound }, Some(WorkloadFault::Shares("reads and random places"))),
        (AccessLine { random: 101, ..sound }, Some(WorkloadFault::Shares("reads and random places"))),
        (AccessLine { burst: 0, ..sound }, Some(WorkloadFault::Number("a burst"))),
        (AccessLine { size: 1000, ..sound }, odd("a request")),
        (AccessLine { reply: 1000, ..sound }, odd("a reply")),
        (AccessLine { align: 1000, ..sound }, odd("an alignment")),
        // The first aligned place leaves no room for the larger of request and reply.
        (AccessLine { align: 1 << 20, ..sound }, Some(WorkloadFault::NothingFits)),
        (AccessLine { align: 1 << 19, reply: 1 << 20, ..sound }, Some(WorkloadFault::NothingFits)),
    ] {
        assert_eq!(fault(line), expected, "{line:?}");
    }
}

#[test]
fn shares_are_as_specified() {
    let lines = vec![access_line(512, 10, 80, 100), access_line(4096, 60, 80, 100), access_line(65_536, 30, 80, 100)];
    let mut job = iometer_job(lines, Region { start: 0, bytes: 1 << 34 }, (1, 1));
    job.workers[0].runtime = Some(Span::from_secs(1));
    let run = run_job(&job, Span::from_micros(10));
    let n = run.issued.len() as f64;
    let share = |sectors: u32| run.issued.iter().filter(|i| i.sectors == sectors).count() as f64 / n;
    let chi: f64 = [(1, 0.1), (8, 0.6), (128, 0.3)].iter().map(|&(s, p)| (share(s) - p).powi(2) / p * n).sum();
    // Chi-squared, 2 degrees of freedom: one seed in a thousand exceeds 13.8; this one is fixed.
    assert!(chi < 13.8, "{chi}");
    let reads = run.issued.iter().filter(|i| i.op == Op::Read).count() as f64 / n;
    assert!((reads - 0.8).abs() < 4.0 * (0.16 / n).sqrt(), "{reads}");
}
