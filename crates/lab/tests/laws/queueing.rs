//! What is measured for laws of queues, and for identities of runs.

use seekwise_disk::block::Op;
use seekwise_disk::record::Part;

use super::bench::{Bench, FIRST_COME, TURN};
use super::drivers::{different_responses, first_come};
use super::{Measure, Measured};

pub const LAWS: &[(&str, Measure)] = &[
    ("Q01", little_above_an_array),
    ("Q02", little_at_members),
    ("Q03", parts_add_up),
    ("Q04", visits),
    ("Q05", response_time),
    ("Q06", with_a_pause),
    ("Q07", never_idle),
    ("Q08", pollaczek_khinchine),
    ("Q09", arrivals_see_averages),
    ("Q10", half_a_revolution),
    ("Q11", a_third_of_the_span),
    ("Q12", last_of_four_platters),
    ("Q13", balanced_stations),
    ("Q14", throughput_bounds),
    ("Q15", equal_seeds),
    ("Q16", first_in_first_out),
    ("Q17", mixed_shares),
];

const ARRAY: &str = "array=raid-5 array.drives=5";
const MIXED: &str = "rw=randrw bs=4k iodepth=8 number_ios=2000";

fn little_above_an_array(bench: &Bench) -> Measured {
    let ran = bench.run(ARRAY, MIXED)?;
    let (counted, _) = ran.top.mean_in_flight_and_busy(ran.end);
    let law = ran.records.len() as f64 / ran.seconds() * ran.mean_response();
    Ok(vec![("counted_over_law", counted / law)])
}

fn little_at_members(bench: &Bench) -> Measured {
    let ran = bench.run(ARRAY, MIXED)?;
    let error = |member: u8| {
        let passage = ran.members.at_unit(member);
        let (counted, _) = passage.mean_in_flight_and_busy(ran.end);
        (counted / (passage.count() / ran.seconds() * passage.mean_seconds()) - 1.0).abs()
    };
    Ok(vec![("largest_error", (0..5).map(error).fold(0.0, f64::max))])
}

fn parts_add_up(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{ARRAY} processor=current"), "rw=randrw bs=64k iodepth=8 fsync=8 number_ios=500")?;
    let is_unequal =
        |record: &&seekwise_disk::record::Record| record.completion.parts.total() != record.response_time();
    Ok(vec![("unequal", ran.records.iter().filter(is_unequal).count() as f64)])
}

fn visits(bench: &Bench) -> Measured {
    let for_each = |words: &str| -> Result<f64, String> {
        let ran = bench.run(words, "rw=randwrite bs=4k iodepth=8 number_ios=1000")?;
        Ok(ran.members.count() / ran.requests(Op::Write))
    };
    let (raid_5, raid_1) = (for_each("array=raid-5 array.drives=5")?, for_each("array=raid-1")?);
    Ok(vec![("raid_5", raid_5), ("raid_1", raid_1), ("raid_0", for_each("array=raid-0 array.drives=4")?)])
}

fn response_time(bench: &Bench) -> Measured {
    let (four, eight) = (first_come(bench, 4)?, first_come(bench, 8)?);
    let law = 8.0 / (eight.records.len() as f64 / eight.seconds() * eight.mean_response());
    Ok(vec![("n_over_x_r", law), ("response_ratio", eight.mean_response() / four.mean_response())])
}

fn with_a_pause(bench: &Bench) -> Measured {
    let ran = bench.run(FIRST_COME, "rw=randread bs=4k iodepth=1 numjobs=4 thinktime=20000 number_ios=500")?;
    let law = 4.0 * ran.seconds() / ran.records.len() as f64 - 0.02;
    Ok(vec![("ratio", ran.mean_response() / law)])
}

fn never_idle(bench: &Bench) -> Measured {
    let ran = first_come(bench, 4)?;
    Ok(vec![("busy_share", ran.drives[0].mean_in_flight_and_busy(ran.end).1)])
}

/// Poisson arrivals at six tenths of what a first-come drive serves.
fn open_arrivals(bench: &Bench) -> Result<std::rc::Rc<super::bench::Ran>, String> {
    let service = first_come(bench, 4)?.drives[0].mean_seconds();
    let rate = (0.6 / service).round();
    let job = format!("rw=randread bs=4k iodepth=512 rate_iops={rate} rate_process=poisson number_ios=6000");
    bench.run(FIRST_COME, &job)
}

fn pollaczek_khinchine(bench: &Bench) -> Measured {
    let ran = open_arrivals(bench)?;
    let drive = &ran.drives[0];
    let (mean, count) = (drive.mean_seconds(), drive.count());
    let square = drive.0.iter().map(|passed| passed.seconds().powi(2)).sum::<f64>() / count;
    let arrivals = count / ran.seconds();
    let law = arrivals * square / (2.0 * (1.0 - arrivals * mean));
    Ok(vec![("wait_over_law", (ran.mean_response() - mean) / law)])
}

fn arrivals_see_averages(bench: &Bench) -> Measured {
    let ran = open_arrivals(bench)?;
    let mut busy_until = 0;
    let mut records = ran.records.clone();
    records.sort_by_key(|record| record.issued);
    let finds_busy = records.iter().filter(|record| {
        let busy = record.issued.nanos() < busy_until;
        busy_until = busy_until.max(record.completion.finished.nanos());
        busy
    });
    let share = finds_busy.count() as f64 / ran.records.len() as f64;
    Ok(vec![("share_that_waits_less_load", share - ran.drives[0].mean_in_flight_and_busy(ran.end).1)])
}

const LONE_READS: &str = "rw=randread bs=4k iodepth=1 number_ios=3000";

fn half_a_revolution(bench: &Bench) -> Measured {
    let ran = bench.run("", LONE_READS)?;
    let rotation: u64 = ran.records.iter().map(|record| record.completion.parts.get(Part::Rotation).nanos()).sum();
    Ok(vec![("revolutions", rotation as f64 / 1e9 / ran.records.len() as f64 / TURN)])
}

fn a_third_of_the_span(bench: &Bench) -> Measured {
    let ran = bench.run("", LONE_READS)?;
    let lbas: Vec<u64> = ran.drives[0].0.iter().map(|passed| passed.request.lba).collect();
    let sum: u64 = lbas.windows(2).map(|pair| pair[0].abs_diff(pair[1])).sum();
    Ok(vec![("share", sum as f64 / (lbas.len() - 1) as f64 / ran.capacity as f64)])
}

fn last_of_four_platters(bench: &Bench) -> Measured {
    const SEEDS: u64 = 24;
    let row = "rw=randread bs=256k blockalign=256k iodepth=1 number_ios=60";
    let chunk = "rw=randread bs=64k blockalign=64k iodepth=1 number_ios=60";
    let mut longer = 0.0;
    for seed in 1..=SEEDS {
        let four = bench.run_seeded("array=raid-0 array.drives=4 array.chunk_kib=64", row, seed)?;
        let one = bench.run_seeded("", chunk, seed)?;
        longer += (four.mean_response() - one.mean_response()) / TURN / SEEDS as f64;
    }
    Ok(vec![("longer_by_revolutions", longer)])
}

fn balanced_stations(bench: &Bench) -> Measured {
    let words = format!("{FIRST_COME} array=raid-0 array.drives=4");
    let ran = bench.run(&words, "rw=randread bs=4k iodepth=8 number_ios=6000")?;
    let all_busy = 4.0 / first_come(bench, 1)?.mean_response();
    let rate = ran.records.len() as f64 / ran.seconds();
    Ok(vec![("over_exponential", rate / (all_busy * 8.0 / 11.0)), ("over_all_busy", rate / all_busy)])
}

fn throughput_bounds(bench: &Bench) -> Measured {
    let rate = |depth| -> Result<f64, String> {
        let ran = first_come(bench, depth)?;
        Ok(ran.records.len() as f64 / ran.seconds())
    };
    let (one, most) = (rate(1)?, 1.0 / first_come(bench, 16)?.drives[0].mean_seconds());
    let mut largest: f64 = 0.0;
    for depth in [1, 2, 4, 16] {
        largest = largest.max(rate(depth)? / most.min(f64::from(depth) * one));
    }
    Ok(vec![("largest_over_bound", largest)])
}

fn equal_seeds(bench: &Bench) -> Measured {
    let words = "array=raid-5 array.drives=4 pagecache.mib=64";
    let again = |seed| bench.run_again(words, "rw=randrw bs=4k direct=0 fsync=10 number_ios=300", seed);
    let (first, equal, other) = (again(1)?, again(1)?, again(2)?);
    let differ = |run| different_responses(&first, run);
    Ok(vec![("equal_differ", differ(&equal)), ("other_differ", differ(&other))])
}

fn first_in_first_out(bench: &Bench) -> Measured {
    let ran = first_come(bench, 8)?;
    let mut ends: Vec<(u64, u64)> = ran.top.0.iter().map(|passed| (passed.finished, passed.request.stamp)).collect();
    ends.sort_unstable();
    Ok(vec![("out_of_order", ends.windows(2).filter(|pair| pair[1].1 < pair[0].1).count() as f64)])
}

fn mixed_shares(bench: &Bench) -> Measured {
    let ran = bench.run("", "rw=randrw rwmixread=70 bs=4k iodepth=8 number_ios=3000")?;
    Ok(vec![("read_share", ran.requests(Op::Read) / (ran.requests(Op::Read) + ran.requests(Op::Write)))])
}
