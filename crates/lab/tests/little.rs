//! Little's law: the mean number of requests in a place is their rate times the mean time there, and no place has more
//! than the limits in flight allow. The number is found by going through the run's instants, from issue to end, and not
//! from its sums; the wait for a pace, before the issue, is a place outside.

use seekwise_disk::record::{Part, Record};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::run::{MeasuredRun, measure_run};

/// The error of a run's shares from requests across its ends: at most this many.
const ACROSS: f64 = 1.0;

/// A run, request by request.
struct Ran {
    measured: MeasuredRun,
    records: Vec<Record>,
}

fn ran(options: &str) -> Ran {
    let job = format!("[j]\nioengine=libaio\ndirect=1\nbs=4k\nsize=4g\n{}\n", options.replace(' ', "\n"));
    let text = |name: &str| match name {
        "j.fio" => Ok(job.clone()),
        name => Err(std::io::Error::other(format!("no file {name}"))),
    };
    let inputs = Inputs::from_today(&text);
    let settings = [("job", "j.fio"), ("drive", "barracuda-7200.7-ncq")];
    let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
    let prepared = plan::prepare_cell("little", &Cell { levels: Vec::new(), settings }, &inputs).expect("a valid job");
    let mut records = Vec::new();
    let measured = measure_run(&prepared.target, &prepared.job, 1, |record| records.push(*record)).expect("it runs");
    Ran { measured, records }
}

impl Ran {
    fn seconds(&self) -> f64 {
        self.measured.run.elapsed().nanos() as f64 / 1e9
    }

    /// The largest and the mean number of requests between two instants of each.
    fn number(&self, between: fn(&Record) -> [u64; 2]) -> (i64, f64) {
        let mut steps: Vec<(u64, i64)> =
            self.records.iter().map(between).flat_map(|[from, to]| [(from, 1), (to, -1)]).collect();
        // At one instant an end comes before a beginning.
        steps.sort_unstable();
        let (mut number, mut most, mut sum, mut last) = (0i64, 0i64, 0f64, 0u64);
        for (at, step) in steps {
            sum += number as f64 * (at - last) as f64;
            (number, last) = (number + step, at);
            most = most.max(number);
        }
        (most, sum / 1e9 / self.seconds())
    }

    /// For any part of a response: rate times the mean time there.
    fn in_part(&self, part: Part) -> f64 {
        self.records.iter().map(|record| record.completion.parts.get(part).nanos() as f64).sum::<f64>()
            / 1e9
            / self.seconds()
    }
}

/// Options, and requests in flight at most.
const JOBS: [(&str, i64); 10] = [
    ("rw=randread iodepth=1 rate_iops=200 time_based runtime=10", 1),
    ("rw=randread iodepth=1 rate_iops=60 time_based runtime=10", 1),
    ("rw=randread iodepth=6 rate_iops=300 rate_process=poisson time_based runtime=10", 6),
    ("rw=randread iodepth=4 rate=2m time_based runtime=10", 4),
    ("rw=randread iodepth=1 number_ios=1000", 1),
    ("rw=randread iodepth=64 number_ios=3000", 64),
    ("rw=randrw iodepth=8 rate_iops=200,100 time_based runtime=10", 8),
    ("rw=randrw iodepth=4 sync=1 number_ios=1000", 4),
    ("rw=randread iodepth=3 numjobs=2 rate_iops=200 time_based runtime=10", 6),
    ("rw=randread iodepth=4 thinktime=20000 thinktime_blocks=4 number_ios=1000", 4),
];

#[test]
fn the_number_in_each_place_is_the_rate_times_the_time_there() {
    for (options, limit) in JOBS {
        let ran = ran(options);
        let all = ran.measured.run.reads_and_writes();
        let (most, mean) = ran.number(|record| [record.issued.nanos(), record.completion.finished.nanos()]);
        assert!(most <= limit, "{options}: {most} in flight");
        let by_law = all.iops() * all.tally.responses().mean_ns().unwrap() / 1e9;
        assert!((mean - by_law).abs() <= ACROSS, "{options}: {mean} in flight, {by_law} by rate and response");
        let parts: f64 = Part::ALL.into_iter().map(|part| ran.in_part(part)).sum();
        assert!(parts <= limit as f64, "{options}: {parts} requests in all parts, {limit} may be in flight");
        assert!((mean - parts).abs() <= ACROSS, "{options}: {mean} in flight, {parts} in the parts");
    }
}

#[test]
fn a_backlog_is_as_long_as_its_rate_and_wait_say_and_in_no_part() {
    // 200 are asked for and about 135 are reached: the rest waits to be issued, and the wait grows.
    let ran = ran(JOBS[0].0);
    let arrivals = ran.measured.arrivals.expect("it is paced");
    assert_eq!((arrivals.asked_iops.map(f64::round), arrivals.all, arrivals.kept), (Some(200.0), true, false));
    let (_, waiting) = ran.number(|record| [record.intended.nanos(), record.issued.nanos()]);
    let by_law = arrivals.reached_iops * arrivals.backlog_ms.mean / 1e3;
    assert!(waiting > 100.0 && (waiting / by_law - 1.0).abs() < 0.01, "{waiting} wait, {by_law} by rate and wait");
    // Late by the missing share of the rate.
    let missing = 1.0 - arrivals.reached_iops / 200.0;
    assert!((arrivals.backlog_ms.max / 1e3 / ran.seconds() / missing - 1.0).abs() < 0.02, "{arrivals:?}");
    assert_eq!(ran.in_part(Part::Driver), 0.0, "the drive takes one at a time, and one at a time is issued");
}

#[test]
fn a_pace_that_is_kept_changes_no_response() {
    let ran = ran(JOBS[1].0);
    let arrivals = ran.measured.arrivals.expect("it is paced");
    assert!(arrivals.kept && arrivals.backlog_ms.max < 20.0, "{arrivals:?}");
    assert!((arrivals.reached_iops / 60.0 - 1.0).abs() < 0.01, "{arrivals:?}");
}
