//! What is measured for laws of writes to RAID 5 and 6: bytes read and written at the members for each byte of the program.

use std::collections::BTreeSet;

use seekwise_disk::block::{Flags, Op};

use super::bench::{Bench, CHUNK, Ran};
use super::{Measure, Measured};

pub const LAWS: &[(&str, Measure)] = &[
    ("A16", |bench| small_writes(bench, "array=raid-5 array.drives=5")),
    ("A17", rewritten_blocks),
    ("A18", |bench| small_writes(bench, "array=raid-5 array.drives=3")),
    ("A19", tie),
    ("A20", |bench| small_writes(bench, "array=raid-6 array.drives=8")),
    ("A21", |bench| small_writes(bench, "array=raid-6 array.drives=5")),
    ("A22", across_borders),
    ("A23", |bench| stream(bench, "64k", 1)),
    ("A24", |bench| stream(bench, "64k", 4)),
    ("A25", |bench| stream(bench, "64k", 32)),
    ("A26", |bench| stream(bench, "64k", 128)),
    ("A27", |bench| stream(bench, "512k", 8)),
    ("A28", |bench| stream(bench, "1280k", 8)),
    ("A29", |bench| stream(bench, "2m", 4)),
    ("A30", |bench| read_and_written(buffered(bench, 5)?)),
    ("A31", four_members),
    ("A32", no_cliff),
    ("A33", least_and_most),
    ("A34", larger_caches),
];

fn read_and_written([read, written]: [f64; 2]) -> Measured {
    Ok(vec![("read", read), ("written", written)])
}

const SMALL: &str = "rw=randwrite bs=4k iodepth=8 number_ios=1000";

fn small_writes(bench: &Bench, words: &str) -> Measured {
    read_and_written(bench.run(words, SMALL)?.for_each_byte_written())
}

/// The share of the blocks read that are also written.
fn share_written(ran: &Ran) -> f64 {
    let place = |op| {
        let blocks = ran.members.of(op).0.into_iter().flat_map(|passed| {
            let request = passed.request;
            (request.lba / 8..request.end().div_ceil(8)).map(move |block| (request.unit, block))
        });
        blocks.collect::<Vec<_>>()
    };
    let written: BTreeSet<(u8, u64)> = place(Op::Write).into_iter().collect();
    let read = place(Op::Read);
    read.iter().filter(|block| written.contains(block)).count() as f64 / read.len() as f64
}

fn rewritten_blocks(bench: &Bench) -> Measured {
    let ran = bench.run("array=raid-5 array.drives=5", SMALL)?;
    Ok(vec![("share_of_reads_that_are_written", share_written(&ran))])
}

fn tie(bench: &Bench) -> Measured {
    let ran = bench.run("array=raid-5 array.drives=4", SMALL)?;
    let [read, written] = ran.for_each_byte_written();
    Ok(vec![("read", read), ("written", written), ("share_of_reads_that_are_written", share_written(&ran))])
}

fn across_borders(bench: &Bench) -> Measured {
    // Borders far apart, in no order: a linear congruence over 100,000 rows of four chunks, at each of their three inner borders.
    let write = |number: u64| {
        let row = number.wrapping_mul(48_271) % 100_000;
        let border = (row * 4 + 1 + number % 3) * CHUNK;
        (number * 40_000, Op::Write, Flags::NONE, border - 64, 128)
    };
    let ran = bench.script("array=raid-5 array.drives=5", &(0..200).map(write).collect::<Vec<_>>())?;
    let asked = 200.0 * 65_536.0;
    read_and_written([Op::Read, Op::Write].map(|op| ran.members.of(op).bytes() / asked))
}

/// Bytes of a stream of direct writes: 64 MiB.
fn direct(bench: &Bench, words: &str, block: &str, depth: u32) -> Result<[f64; 2], String> {
    // Whole requests: 1,280 KiB do not divide 64 MiB.
    let size = if block == "1280k" { "size=80m" } else { "size=64m" };
    let ran = bench.run(words, &format!("rw=write bs={block} iodepth={depth} {size}"))?;
    Ok(ran.for_each_byte_written())
}

fn stream(bench: &Bench, block: &str, depth: u32) -> Measured {
    read_and_written(direct(bench, "array=raid-5 array.drives=5", block, depth)?)
}

/// A buffered stream of 200 MiB, then fsync, on RAID 5 of so many.
fn buffered(bench: &Bench, members: u32) -> Result<[f64; 2], String> {
    let words = format!("array=raid-5 array.drives={members} pagecache.mib=512 pagecache.copy_mb_s=6000");
    let ran = bench.run(&words, "rw=write bs=128k direct=0 size=200m end_fsync=1")?;
    Ok(ran.for_each_byte_written())
}

fn four_members(bench: &Bench) -> Measured {
    let words = "array=raid-5 array.drives=4";
    let ([read_1, written_1], [read_128, written_128]) =
        (direct(bench, words, "64k", 1)?, direct(bench, words, "64k", 128)?);
    Ok(vec![("read_1", read_1), ("written_1", written_1), ("read_128", read_128), ("written_128", written_128)])
}

fn no_cliff(bench: &Bench) -> Measured {
    let [three, four, five] = [3, 4, 5].map(|members| buffered(bench, members));
    let four = four?;
    Ok(vec![("read_3", three?[0]), ("read_4", four[0]), ("read_5", five?[0]), ("written_4", four[1])])
}

fn least_and_most(bench: &Bench) -> Measured {
    let streams = [("64k", 1), ("64k", 4), ("64k", 32), ("64k", 128), ("512k", 8), ("1280k", 8), ("2m", 4)];
    let written = streams.map(|(block, depth)| direct(bench, "array=raid-5 array.drives=5", block, depth));
    let written = written.into_iter().map(|both| both.map(|both| both[1])).collect::<Result<Vec<f64>, String>>()?;
    let (least, most) =
        written.iter().fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), it| (least.min(*it), most.max(*it)));
    Ok(vec![("least_written", least), ("most_written", most)])
}

fn larger_caches(bench: &Bench) -> Measured {
    let reads = |pages: u32| -> Result<f64, String> {
        let words = format!("array=raid-5 array.drives=5 array.stripe_cache={pages}");
        Ok(direct(bench, &words, "64k", 32)?[0])
    };
    let (small, middle, large) = (reads(256)?, reads(512)?, reads(1024)?);
    Ok(vec![("reads_512_less_256", middle - small), ("reads_1024_less_512", large - middle)])
}
