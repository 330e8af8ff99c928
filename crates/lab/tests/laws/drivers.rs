//! What is measured for laws of drivers and schedulers: splitting, merging, order, flushes, and how many go down at once.

use seekwise_disk::block::{Flags, Op};

use super::bench::{Bench, FIRST_COME, Ran, Scripted};
use super::probe::Passage;
use super::{Measure, Measured};

pub const LAWS: &[(&str, Measure)] = &[
    ("D01", split),
    ("D02", parts_count_one_by_one),
    ("D03", accepted_at_once),
    ("D04", reads_before_writes),
    ("D05", writes_always_first),
    ("D06", expired_at_once),
    ("D07", one_way_lift),
    ("D08", reader_behind_a_stream),
    ("D09", merged_neighbours),
    ("D10", merged_in_front),
    ("D11", unmerged_neighbours),
    ("D12", nothing_merged),
    ("D13", flushes_by_cache),
    ("D14", forced_writes),
    ("D15", flushes_at_one_instant),
    ("D16", shared_flushes),
    ("D17", queue_of_one),
    ("D18", queue_that_knows_the_angle),
    ("D19", fair_shares),
    ("D20", same_bytes),
];

fn split(bench: &Bench) -> Measured {
    let ran = bench.script("", &[(0, Op::Read, Flags::NONE, 0, 8192)])?;
    let drive = &ran.drives[0];
    Ok(vec![("commands", drive.count()), ("first_kib", drive.kib(0)), ("last_kib", drive.last_kib())])
}

fn parts_count_one_by_one(bench: &Bench) -> Measured {
    let ran = bench.run("driver.capacity=8", "rw=randread bs=4m iodepth=16 number_ios=48")?;
    Ok(vec![("most_at_the_drive", ran.drives[0].most_in_flight())])
}

fn accepted_at_once(bench: &Bench) -> Measured {
    let ran = bench.run("", "rw=randread bs=4k iodepth=256 number_ios=2000")?;
    Ok(vec![("most_accepted", ran.top.most_in_flight())])
}

/// Reads for each write at the drive, while a hundred of each wait and one is served.
fn reads_for_each_write(bench: &Bench, words: &str) -> Measured {
    let each = "bs=4k iodepth=100 runtime=16 time_based";
    let words = format!("driver.capacity=1000 driver.depth=1 {words}");
    let ran = bench.run(&words, &format!("[r] rw=randread {each} [w] rw=randwrite {each}"))?;
    let during = ran.drives[0].ended_within(2.0, 16.0);
    Ok(vec![("reads_for_each_write", during.of(Op::Read).count() / during.of(Op::Write).count())])
}

fn reads_before_writes(bench: &Bench) -> Measured {
    reads_for_each_write(bench, "driver.queue.read_expire_ms=1000000")
}

fn writes_always_first(bench: &Bench) -> Measured {
    reads_for_each_write(bench, "driver.queue.writes_starved=0")
}

/// How often a command has an older stamp than the one before it.
fn out_of_order(passage: &Passage) -> f64 {
    passage.0.windows(2).filter(|pair| pair[1].request.stamp < pair[0].request.stamp).count() as f64
}

fn expired_at_once(bench: &Bench) -> Measured {
    let words = "driver.depth=1 driver.queue.read_expire_ms=0 driver.queue.fifo_batch=1";
    let ran = bench.run(words, "rw=randread bs=4k iodepth=32 number_ios=400")?;
    Ok(vec![("out_of_order", out_of_order(&ran.drives[0]))])
}

/// The mean step upwards with 63 waiting, over the span by twice 63. Left out are the start and the end, where fewer wait.
fn mean_step_up(bench: &Bench, scheduler: &str) -> Result<f64, String> {
    let words = format!("driver.capacity=64 driver.depth=1 {scheduler}");
    let ran = bench.run(&words, "rw=randread bs=4k iodepth=64 number_ios=3000")?;
    let lbas: Vec<u64> = ran.drives[0].0.iter().map(|passed| passed.request.lba).collect();
    let steady = lbas[200..lbas.len() - 200].windows(2).filter(|pair| pair[1] > pair[0]);
    let steps: Vec<f64> = steady.map(|pair| (pair[1] - pair[0]) as f64).collect();
    Ok(steps.iter().sum::<f64>() / steps.len() as f64 / (ran.capacity as f64 / (2.0 * 63.0)))
}

fn one_way_lift(bench: &Bench) -> Measured {
    let lift = mean_step_up(bench, "driver=direct driver.queue.policy=clook")?;
    let deadline = mean_step_up(bench, "driver.queue.read_expire_ms=1000000")?;
    Ok(vec![("lift", lift), ("deadline", deadline)])
}

fn reader_behind_a_stream(bench: &Bench) -> Measured {
    let stream = "[s] rw=read bs=128k iodepth=32 offset=40g size=100g runtime=10 time_based";
    let reader = "[r] rw=randread bs=4k iodepth=1 size=20g runtime=10 time_based";
    let ran = bench.run("driver.depth=1", &format!("{stream} {reader}"))?;
    let waits = ran.records.iter().filter(|record| record.worker == 1).map(|record| record.response_time().nanos());
    Ok(vec![("longest_ms", waits.max().unwrap_or(0) as f64 / 1e6)])
}

/// A read far away, which the drive is busy with, and then neighbours at one instant.
fn behind_a_busy_drive(bench: &Bench, words: &str, neighbours: &[(Op, Flags, u64, u32)]) -> Result<Passage, String> {
    let mut script: Vec<Scripted> = vec![(0, Op::Read, Flags::NONE, 200_000_000, 8)];
    script.extend(neighbours.iter().map(|&(op, flags, lba, sectors)| (100, op, flags, lba, sectors)));
    let ran = bench.script(&format!("driver.depth=1 {words}"), &script)?;
    Ok(ran.drives[0].filter(|passed| passed.request.op != Op::Flush && passed.request.lba != 200_000_000))
}

/// Writes of 64 KiB, one behind another.
fn neighbours(count: u64) -> Vec<(Op, Flags, u64, u32)> {
    (0..count).map(|number| (Op::Write, Flags::NONE, 1_000_000 + 128 * number, 128)).collect()
}

fn merged_neighbours(bench: &Bench) -> Measured {
    let drive = behind_a_busy_drive(bench, "", &neighbours(32))?;
    Ok(vec![("commands", drive.count()), ("first_kib", drive.kib(0)), ("last_kib", drive.last_kib())])
}

fn merged_in_front(bench: &Bench) -> Measured {
    let descending: Vec<_> = neighbours(16).into_iter().rev().collect();
    let drive = behind_a_busy_drive(bench, "", &descending)?;
    Ok(vec![("commands", drive.count()), ("kib", drive.kib(0))])
}

fn unmerged_neighbours(bench: &Bench) -> Measured {
    let at = |number: u64| 1_000_000 + 8 * number;
    let mixed = [
        (Op::Read, Flags::NONE, at(0), 8),
        (Op::Write, Flags::NONE, at(1), 8),
        (Op::Write, Flags::FUA, at(2), 8),
        (Op::Write, Flags::NONE, at(3), 8),
    ];
    Ok(vec![("commands", behind_a_busy_drive(bench, "", &mixed)?.count())])
}

fn nothing_merged(bench: &Bench) -> Measured {
    Ok(vec![("commands", behind_a_busy_drive(bench, "driver=linux-none", &neighbours(16))?.count())])
}

/// Flush commands at the drive.
fn flushes(ran: &Ran) -> f64 {
    ran.all_drives().of(Op::Flush).count()
}

const SYNCED: &str = "rw=randwrite bs=4k iodepth=1 fsync=1 number_ios=200";

fn flushes_by_cache(bench: &Bench) -> Measured {
    let with = bench.run("", SYNCED)?;
    let without = bench.run("drive.cache.write_back=false", SYNCED)?;
    Ok(vec![("with_cache", flushes(&with) / with.requests(Op::Flush)), ("without", flushes(&without))])
}

fn forced_writes(bench: &Bench) -> Measured {
    let forced = "rw=randwrite bs=4k iodepth=1 sync=1 number_ios=200";
    let sata = bench.run("", forced)?;
    let scsi = "drive=cheetah-15k.4 controller=scsi-u320 drive.cache.write_back=true";
    let scsi = bench.run(scsi, forced)?;
    let fua = |ran: &Ran| ran.drives[0].filter(|passed| passed.request.flags.has(Flags::FUA)).count();
    Ok(vec![
        ("flushes_for_each_sata", flushes(&sata) / sata.requests(Op::Write)),
        ("fua_sata", fua(&sata)),
        ("flushes_scsi", flushes(&scsi)),
        ("fua_for_each_scsi", fua(&scsi) / scsi.requests(Op::Write)),
    ])
}

fn flushes_at_one_instant(bench: &Bench) -> Measured {
    let mut script: Vec<Scripted> = vec![(0, Op::Write, Flags::NONE, 1_000_000, 8)];
    script.extend([(50_000, Op::Flush, Flags::NONE, 0, 0); 16]);
    Ok(vec![("commands", flushes(&bench.script("", &script)?))])
}

fn shared_flushes(bench: &Bench) -> Measured {
    let for_each = |writers: u32| -> Result<f64, String> {
        let ran = bench.run("", &format!("rw=randwrite bs=4k iodepth=1 fsync=1 numjobs={writers} number_ios=150"))?;
        Ok(flushes(&ran) / ran.requests(Op::Flush))
    };
    Ok(vec![("for_each_sync_1", for_each(1)?), ("for_each_sync_4", for_each(4)?), ("for_each_sync_8", for_each(8)?)])
}

/// How many of the responses of two runs differ, with those that one run lacks.
pub fn different_responses(one: &Ran, other: &Ran) -> f64 {
    let (one, other) = (one.responses(), other.responses());
    let different = one.iter().zip(&other).filter(|(one, other)| one != other).count();
    (different + one.len().abs_diff(other.len())) as f64
}

fn queue_of_one(bench: &Bench) -> Measured {
    let reads = "rw=randread bs=4k iodepth=1 number_ios=400";
    let (deep, shallow) = (bench.run("", reads)?, bench.run("driver.depth=1", reads)?);
    Ok(vec![("different_responses", different_responses(&deep, &shallow))])
}

fn queue_that_knows_the_angle(bench: &Bench) -> Measured {
    let reads = "rw=randread bs=4k iodepth=32 runtime=22 time_based";
    let rate = |words| Ok::<f64, String>(bench.run(words, reads)?.rate(2.0, 22.0));
    Ok(vec![("gain", rate("driver=linux-none")? / rate("driver.depth=1")?)])
}

fn fair_shares(bench: &Bench) -> Measured {
    let each = "rw=read bs=128k iodepth=1 runtime=12 time_based size=2g";
    let ran = bench.run("driver=linux-bfq", &format!("[a] {each} [b] {each} offset=2g"))?;
    let bytes = |worker| ran.records.iter().filter(|record| record.worker == worker).count() as f64;
    let (one, other) = (bytes(0), bytes(1));
    let lone = bench.run("driver=linux-bfq", &format!("[a] {each}"))?;
    Ok(vec![
        ("larger_over_smaller", one.max(other) / one.min(other)),
        ("sum_over_lone", (one + other) / lone.records.len() as f64),
    ])
}

fn same_bytes(bench: &Bench) -> Measured {
    let ran = bench.run("", "rw=randrw bs=2m iodepth=16 number_ios=100")?;
    let ratio = |op| ran.drives[0].of(op).bytes() / ran.asked(op);
    Ok(vec![("read", ratio(Op::Read)), ("written", ratio(Op::Write))])
}

/// Requests a second of random reads at a depth above a drive that serves first come, first served.
pub fn first_come(bench: &Bench, depth: u32) -> Result<std::rc::Rc<Ran>, String> {
    bench.run(FIRST_COME, &format!("rw=randread bs=4k iodepth={depth} number_ios=3000"))
}
