//! What is measured for laws of Linux's page cache: read-ahead, hits, write-back, syncs. The probe at the top of the stack lists the
//! requests of the cache itself.

use seekwise_disk::block::Op;

use super::bench::{Bench, Ran};
use super::drivers::different_responses;
use super::{Measure, Measured};

pub const LAWS: &[(&str, Measure)] = &[
    ("P01", first_windows),
    ("P02", lead),
    ("P03", random_pages),
    ("P04", stream),
    ("P05", second_time),
    ("P06", loop_beyond_memory),
    ("P07", uniform_hits),
    ("P08", young_and_little),
    ("P09", background),
    ("P10", largest_dirty),
    ("P11", expired),
    ("P12", synced),
    ("P13", rising),
    ("P14", changed_again),
    ("P15", large_writes),
    ("P16", half_pages),
    ("P17", copied),
    ("P18", long_run),
    ("P19", without_write_cache),
    ("P20", direct),
];

const MIB: f64 = 1_048_576.0;

/// Memory for pages in most laws: 64 MiB.
const SMALL: &str = "pagecache.mib=64";

const MEMORY: f64 = 64.0 * MIB;

fn first_windows(bench: &Bench) -> Measured {
    let reads = bench.run(SMALL, "rw=read bs=4k direct=0 number_ios=200")?.top.of(Op::Read);
    Ok(vec![
        ("first_kib", reads.kib(0)),
        ("second_kib", reads.kib(1)),
        ("third_kib", reads.kib(2)),
        ("fourth_kib", reads.kib(3)),
        ("fifth_kib", reads.kib(4)),
    ])
}

fn lead(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=read bs=16k direct=0 number_ios=600")?;
    Ok(vec![("farthest_ahead_kib", ran.farthest_ahead_kib())])
}

fn random_pages(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=randread bs=4k direct=0 number_ios=1500")?;
    Ok(vec![("bytes", ran.top.bytes() / ran.asked(Op::Read))])
}

fn stream(bench: &Bench) -> Measured {
    let buffered = bench.run(SMALL, "rw=read bs=128k direct=0 runtime=4 time_based")?;
    let direct = bench.run("", "rw=read bs=1m iodepth=8 runtime=4 time_based")?;
    Ok(vec![("ratio", buffered.byte_rate(1.0, 4.0) / direct.byte_rate(1.0, 4.0))])
}

fn second_time(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=read bs=128k direct=0 size=16m io_size=32m")?;
    Ok(vec![("bytes_for_each_byte", ran.top.bytes() / ran.asked(Op::Read))])
}

fn loop_beyond_memory(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=read bs=128k direct=0 size=80m io_size=400m")?;
    Ok(vec![("memory_share", 1.0 - ran.top.bytes() / ran.asked(Op::Read))])
}

fn uniform_hits(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=randread bs=4k direct=0 size=128m norandommap number_ios=60000")?;
    let half = &ran.records[30_000..];
    let from = half[0].issued.nanos();
    let missed = ran.top.filter(|passed| passed.at >= from).count();
    Ok(vec![("hit_share", 1.0 - missed / half.len() as f64)])
}

fn young_and_little(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=write bs=4k direct=0 size=6m rate=300k")?;
    Ok(vec![("bytes_at_the_drive", ran.top.of(Op::Write).bytes())])
}

/// Bytes of the program's requests that began by an instant.
fn begun_by(ran: &Ran, at: u64) -> f64 {
    let begun = ran.records.iter().filter(|record| record.issued.nanos() <= at);
    begun.map(|record| f64::from(record.request.sectors) * 512.0).sum()
}

fn background(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=write bs=64k direct=0 size=12m")?;
    let first = ran.top.of(Op::Write).0.first().map(|passed| passed.at).ok_or("nothing was written back")?;
    Ok(vec![("dirty_share_at_the_first_write", begun_by(&ran, first) / MEMORY)])
}

/// The most bytes that the program has written and the drive has not.
fn most_dirty(ran: &Ran) -> f64 {
    let written = |record: &seekwise_disk::record::Record| {
        (record.completion.finished.nanos(), f64::from(record.request.sectors) * 512.0)
    };
    let mut changes: Vec<(u64, f64)> = ran.records.iter().map(written).collect();
    changes.extend(ran.top.of(Op::Write).0.iter().map(|passed| (passed.finished, -passed.bytes())));
    changes.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let mut dirty = 0.0;
    changes.into_iter().fold(0.0, |most: f64, (_, change)| {
        dirty += change;
        most.max(dirty)
    })
}

fn largest_dirty(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=write bs=64k direct=0 size=300m")?;
    Ok(vec![("largest_dirty_share", most_dirty(&ran) / MEMORY)])
}

fn expired(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=randwrite bs=4k direct=0 rate_iops=10 runtime=40 time_based")?;
    let first = ran.top.of(Op::Write).0.first().map_or(f64::NAN, |passed| passed.at as f64 / 1e9);
    Ok(vec![("seconds_to_the_first_write", first)])
}

fn synced(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=randwrite bs=4k direct=0 fsync=16 number_ios=160 end_fsync=1")?;
    let flushes = ran.drives[0].of(Op::Flush).count() / ran.requests(Op::Flush);
    Ok(vec![("bytes", ran.top.bytes() / ran.asked(Op::Write)), ("flushes_for_each", flushes)])
}

fn rising(bench: &Bench) -> Measured {
    let writes = bench.run(SMALL, "rw=randwrite bs=4k direct=0 size=1g number_ios=500 end_fsync=1")?.top.of(Op::Write);
    let falls = writes.0.windows(2).filter(|pair| pair[1].request.lba < pair[0].request.lba).count();
    Ok(vec![("descending_steps", if writes.0.len() > 400 { falls as f64 } else { f64::NAN })])
}

fn changed_again(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=randwrite norandommap bs=4k direct=0 size=4k number_ios=50 end_fsync=1")?;
    Ok(vec![("pages_written", ran.top.of(Op::Write).bytes() / 4096.0)])
}

fn large_writes(bench: &Bench) -> Measured {
    let ran = bench.run("pagecache.mib=1024", "rw=write bs=4k direct=0 size=16m end_fsync=1")?;
    Ok(vec![("commands_at_the_drive", ran.drives[0].of(Op::Write).count())])
}

fn half_pages(bench: &Bench) -> Measured {
    let reads = |bytes: &str| -> Result<f64, String> {
        let ran = bench.run(SMALL, &format!("rw=randwrite bs={bytes} direct=0 size=8g number_ios=300"))?;
        Ok(ran.top.of(Op::Read).count() / ran.requests(Op::Write))
    };
    Ok(vec![("reads_for_each_half", reads("2k")?), ("reads_for_each_whole", reads("4k")?)])
}

fn copied(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, "rw=write bs=4k direct=0 size=4m")?;
    Ok(vec![("mean_us", ran.mean_response() * 1e6)])
}

const LONG_WRITES: &str = "rw=write bs=128k direct=0 runtime=12 time_based";

fn long_run(bench: &Bench) -> Measured {
    let ran = bench.run(SMALL, LONG_WRITES)?;
    let direct = bench.run("", "rw=write bs=1m iodepth=8 runtime=4 time_based")?;
    let unaccounted = ran.asked(Op::Write) - ran.drives[0].ended_within(0.0, ran.seconds()).of(Op::Write).bytes();
    let ratio = ran.byte_rate(2.0, 12.0) / direct.byte_rate(1.0, 4.0);
    Ok(vec![("unaccounted_share_of_memory", unaccounted / MEMORY), ("ratio_to_direct", ratio)])
}

fn without_write_cache(bench: &Bench) -> Measured {
    let rate = |words: &str| -> Result<f64, String> {
        let ran = bench.run(words, LONG_WRITES)?;
        Ok(ran.drives[0].of(Op::Write).ended_within(2.0, 12.0).bytes())
    };
    Ok(vec![("ratio", rate(&format!("{SMALL} drive.cache.write_back=false"))? / rate(SMALL)?)])
}

fn direct(bench: &Bench) -> Measured {
    let reads = "rw=randread bs=4k iodepth=4 number_ios=300";
    let (with, without) = (bench.run(SMALL, reads)?, bench.run("", reads)?);
    Ok(vec![("different_responses", different_responses(&with, &without))])
}
