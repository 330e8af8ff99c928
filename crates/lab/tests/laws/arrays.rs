//! What is measured for laws of arrays: striping, mirrors, lost members, rebuilds, flushes, and what stands above an array.

use seekwise_disk::block::{Flags, Op};

use super::bench::{Bench, CHUNK, Ran, TURN};
use super::probe::Passage;
use super::{Measure, Measured};

pub const LAWS: &[(&str, Measure)] = &[
    ("A01", whole_chunk),
    ("A02", chunk_from_the_middle),
    ("A03", whole_row),
    ("A04", striped_bytes),
    ("A05", striped_at_depth_1),
    ("A06", striped_at_depth_128),
    ("A07", striped_shares),
    ("A08", striped_stream),
    ("A09", buffered_stream),
    ("A10", linear),
    ("A11", undivided_above_md),
    ("A12", largest_command),
    ("A13", merged_at_the_members),
    ("A14", read_ahead_of_two_rows),
    ("A15", read_ahead_of_a_mirror),
    ("A35", mirrored_write),
    ("A36", slower_of_two),
    ("A37", mirrored_at_depth_2),
    ("A38", arms_of_mirrors),
    ("A39", sequential_on_one_copy),
    ("A40", sequential_rate),
    ("A41", two_sequential_readers),
    ("A42", raid_10_sequential),
    ("A43", raid_10_write),
    ("A44", degraded_read),
    ("A45", degraded_random_reads),
    ("A46", degraded_random_writes),
    ("A47", degraded_read_of_raid_6),
    ("A48", degraded_mirror),
    ("A49", rebuild_of_a_mirror),
    ("A50", rebuild_of_raid_5),
    ("A51", rebuild_limit),
    ("A52", reader_during_a_rebuild),
    ("A53", rebuild_under_load),
    ("A54", flushes_of_members),
    ("A55", no_flush_with_write_through),
    ("A56", bitmap_of_one_region),
    ("A57", bitmap_of_new_regions),
];

const RAID_0: &str = "array=raid-0 array.drives=4";
const RAID_0_OF_5: &str = "array=raid-0 array.drives=5";
const RAID_1: &str = "array=raid-1";
const RAID_5: &str = "array=raid-5 array.drives=5";

/// Random reads of a page at depth 1, enough for a mean to 1 %.
const LONE_READS: &str = "rw=randread bs=4k iodepth=1 number_ios=3000";

/// A stream of one drive, direct.
const STREAM: &str = "rw=read bs=1m iodepth=8 runtime=4 time_based";

fn read(lba: u64, sectors: u32) -> [(u64, Op, Flags, u64, u32); 1] {
    [(0, Op::Read, Flags::NONE, lba, sectors)]
}

fn units(passage: &Passage) -> f64 {
    passage.bytes_by_unit().len() as f64
}

fn whole_chunk(bench: &Bench) -> Measured {
    let ran = bench.script(RAID_0_OF_5, &read(7 * CHUNK, CHUNK as u32))?;
    Ok(vec![("commands", ran.members.count()), ("members", units(&ran.members))])
}

fn chunk_from_the_middle(bench: &Bench) -> Measured {
    let ran = bench.script(RAID_0_OF_5, &read(7 * CHUNK + CHUNK / 2, CHUNK as u32))?;
    Ok(vec![("commands", ran.members.count()), ("members", units(&ran.members))])
}

fn whole_row(bench: &Bench) -> Measured {
    let ran = bench.script(RAID_0_OF_5, &read(0, 5 * CHUNK as u32))?;
    // One chunk of each, however it is cut.
    let extents = ran.members.bytes_by_unit().values().filter(|bytes| **bytes == CHUNK as f64 * 512.0).count();
    Ok(vec![("members", extents as f64), ("least_over_most_bytes", ran.members.least_over_most_bytes())])
}

fn striped_bytes(bench: &Bench) -> Measured {
    let ran = bench.run(RAID_0, "rw=randrw bs=64k iodepth=8 number_ios=400")?;
    let ratio = |op| ran.members.of(op).bytes() / ran.asked(op);
    Ok(vec![("read", ratio(Op::Read)), ("written", ratio(Op::Write))])
}

/// Requests a second over the whole run.
fn rate(ran: &Ran) -> f64 {
    ran.records.len() as f64 / ran.seconds()
}

fn striped_at_depth_1(bench: &Bench) -> Measured {
    let ratio = rate(&*bench.run(RAID_0, LONE_READS)?) / rate(&*bench.run("", LONE_READS)?);
    Ok(vec![("ratio_to_one_drive", ratio)])
}

const DEEP_READS: &str = "rw=randread bs=4k iodepth=128 runtime=22 time_based";

fn striped_at_depth_128(bench: &Bench) -> Measured {
    let one = bench.run("", "rw=randread bs=4k iodepth=32 runtime=22 time_based")?;
    let ratio = bench.run(RAID_0, DEEP_READS)?.rate(2.0, 22.0) / one.rate(2.0, 22.0);
    Ok(vec![("ratio_to_one_drive", ratio)])
}

fn striped_shares(bench: &Bench) -> Measured {
    let ran = bench.run(RAID_0, DEEP_READS)?;
    let (count, share) = (ran.members.count(), 0.25);
    let sigma = (count * share * (1.0 - share)).sqrt();
    let deviation = |unit| (ran.members.at_unit(unit).count() - count * share).abs() / sigma;
    Ok(vec![("largest_deviation_in_sigmas", (0..4).map(deviation).fold(0.0, f64::max))])
}

fn striped_stream(bench: &Bench) -> Measured {
    let striped = bench.run(RAID_0, "rw=read bs=2m iodepth=8 runtime=4 time_based")?;
    Ok(vec![("ratio_to_one_drive", striped.byte_rate(1.0, 4.0) / bench.run("", STREAM)?.byte_rate(1.0, 4.0))])
}

fn buffered_stream(bench: &Bench) -> Measured {
    let words = format!("{RAID_0} pagecache.mib=256 pagecache.copy_mb_s=6000");
    let striped = bench.run(&words, "rw=read bs=128k direct=0 runtime=4 time_based")?;
    Ok(vec![("ratio_to_one_drive", striped.byte_rate(1.0, 4.0) / bench.run("", STREAM)?.byte_rate(1.0, 4.0))])
}

fn linear(bench: &Bench) -> Measured {
    let ran = bench.run("array=linear", "rw=randread bs=4k size=10g number_ios=300")?;
    Ok(vec![("other_members_commands", ran.members.count() - ran.members.at_unit(0).count())])
}

fn undivided_above_md(bench: &Bench) -> Measured {
    let ran = bench.script(RAID_5, &[(0, Op::Write, Flags::NONE, 0, 8192)])?;
    Ok(vec![("largest_kib", ran.array.largest_kib()), ("commands", ran.array.count())])
}

const STRIPED_WRITES: &str = "rw=write bs=64k iodepth=256 runtime=3 time_based";

fn largest_command(bench: &Bench) -> Measured {
    let writes = bench.run("array=raid-0", STRIPED_WRITES)?;
    let reads = bench.run(RAID_0, "rw=read bs=2m iodepth=8 runtime=4 time_based")?;
    Ok(vec![("largest_kib", writes.all_drives().largest_kib().max(reads.all_drives().largest_kib()))])
}

fn merged_at_the_members(bench: &Bench) -> Measured {
    let ran = bench.run("array=raid-0", STRIPED_WRITES)?;
    let drives = ran.all_drives();
    let (commands, bytes) = (drives.count() / ran.members.count(), drives.bytes() / ran.members.bytes());
    Ok(vec![("commands_ratio", commands), ("bytes_ratio", bytes)])
}

const BUFFERED_READS: &str = "rw=read bs=128k direct=0 number_ios=600";

fn read_ahead_of_two_rows(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{RAID_5} pagecache.mib=256"), BUFFERED_READS)?;
    Ok(vec![("farthest_ahead_kib", ran.farthest_ahead_kib())])
}

fn read_ahead_of_a_mirror(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{RAID_1} pagecache.mib=256"), BUFFERED_READS)?;
    Ok(vec![("farthest_ahead_kib", ran.farthest_ahead_kib())])
}

fn mirrored_write(bench: &Bench) -> Measured {
    let ran = bench.run(RAID_1, "rw=randwrite bs=4k iodepth=1 number_ios=300")?;
    let [read, written] = ran.for_each_byte_written();
    let balance = ran.members.of(Op::Write).least_over_most_bytes();
    Ok(vec![("read", read), ("written", written), ("least_over_most_bytes", balance)])
}

/// Seeds of a law about the phases of platters.
const PHASES: u64 = 24;

fn slower_of_two(bench: &Bench) -> Measured {
    let (writes, uncached) = ("rw=randwrite bs=4k iodepth=1 number_ios=100", "drive.cache.write_back=false");
    let mirror = format!("{RAID_1} {uncached}");
    let mut longer = 0.0;
    for seed in 1..=PHASES {
        let [one, two] = [uncached, &mirror].map(|words| bench.run_seeded(words, writes, seed));
        longer += (two?.mean_response() - one?.mean_response()) / TURN / PHASES as f64;
    }
    Ok(vec![("longer_by_revolutions", longer)])
}

fn mirrored_at_depth_2(bench: &Bench) -> Measured {
    let two = bench.run(RAID_1, "rw=randread bs=4k iodepth=2 number_ios=3000")?;
    Ok(vec![("ratio_to_one_drive", rate(&two) / rate(&*bench.run("", LONE_READS)?))])
}

/// The mean distance between successive commands at each place, as a share of the span.
fn mean_distance(places: &[Passage], capacity: u64) -> f64 {
    let lbas = |passage: &Passage| passage.0.iter().map(|passed| passed.request.lba).collect::<Vec<u64>>();
    let steps = places.iter().flat_map(|passage| {
        lbas(passage).windows(2).map(|pair| pair[0].abs_diff(pair[1]) as f64).collect::<Vec<f64>>()
    });
    let steps: Vec<f64> = steps.collect();
    steps.iter().sum::<f64>() / steps.len() as f64 / capacity as f64
}

fn arms_of_mirrors(bench: &Bench) -> Measured {
    let (one, two) = (bench.run("", LONE_READS)?, bench.run(RAID_1, LONE_READS)?);
    let distances = [&one, &two].map(|ran| mean_distance(&ran.drives, ran.capacity));
    Ok(vec![("one_arm", distances[0]), ("of_two", distances[1])])
}

fn sequential(depth: u32) -> String {
    format!("rw=read bs=128k iodepth={depth} size=200m")
}

fn sequential_on_one_copy(bench: &Bench) -> Measured {
    let other_share = |depth| -> Result<f64, String> {
        let members = &bench.run(RAID_1, &sequential(depth))?.members;
        let first = members.at_unit(0).bytes() / members.bytes();
        Ok(first.min(1.0 - first))
    };
    Ok(vec![("other_copy_share_1", other_share(1)?), ("other_copy_share_4", other_share(4)?)])
}

fn sequential_rate(bench: &Bench) -> Measured {
    let ratio = |depth| -> Result<f64, String> {
        Ok(rate(&*bench.run(RAID_1, &sequential(depth))?) / rate(&*bench.run("", &sequential(depth))?))
    };
    let large = "rw=read bs=4m iodepth=4 runtime=4 time_based";
    let large = bench.run(RAID_1, large)?.byte_rate(1.0, 4.0) / bench.run("", large)?.byte_rate(1.0, 4.0);
    Ok(vec![("ratio_1", ratio(1)?), ("ratio_4", ratio(4)?), ("ratio_of_4_mib_at_4", large)])
}

fn two_sequential_readers(bench: &Bench) -> Measured {
    let each = "rw=read bs=128k iodepth=1 runtime=4 time_based size=10g";
    let ran = bench.run(RAID_1, &format!("[a] {each} [b] {each} offset=80g"))?;
    let (border, mut own) = (40 << 21, [[0.0; 2]; 2]);
    for passed in &ran.members.0 {
        own[usize::from(passed.request.lba >= border)][usize::from(passed.request.unit)] += passed.bytes();
    }
    let share = |reader: usize, member: usize| own[reader][member] / (own[reader][0] + own[reader][1]);
    let least = |first: usize| share(0, first).min(share(1, 1 - first));
    Ok(vec![("least_share_on_own_copy", least(0).max(least(1)))])
}

fn raid_10_sequential(bench: &Bench) -> Measured {
    let members = &bench.run("array=raid-10", &sequential(4))?.members;
    let second = members.at_unit(1).bytes() + members.at_unit(3).bytes();
    Ok(vec![("share_of_second_copies", second / members.bytes())])
}

fn raid_10_write(bench: &Bench) -> Measured {
    let ran = bench.run("array=raid-10", "rw=randwrite bs=4k iodepth=4 number_ios=300")?;
    let [read, written] = ran.for_each_byte_written();
    let chunk = bench.script("array=raid-10", &[(0, Op::Write, Flags::NONE, 5 * CHUNK, CHUNK as u32)])?;
    Ok(vec![("read", read), ("written", written), ("members_of_one_chunk", units(&chunk.members))])
}

/// Commands, and bytes for each byte, of the reads of a page in each of the first four chunks.
fn reads_of_chunks(bench: &Bench, words: &str) -> Result<Vec<(f64, f64)>, String> {
    let read_chunk = |chunk: u64| {
        let ran = bench.script(words, &read(chunk * CHUNK, 8))?;
        Ok((ran.members.count(), ran.members.bytes() / 4096.0))
    };
    (0..4).map(read_chunk).collect()
}

fn degraded_read(bench: &Bench) -> Measured {
    let mut reads = reads_of_chunks(bench, &format!("{RAID_5} array.lose=1"))?;
    reads.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (lost, other) = (reads[3], reads[2]);
    Ok(vec![("lost_chunk_commands", lost.0), ("lost_chunk_bytes", lost.1), ("other_chunk_bytes", other.1)])
}

fn degraded_random_reads(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{RAID_5} array.lose=1"), "rw=randread bs=4k iodepth=4 number_ios=2000")?;
    Ok(vec![("read", ran.members.bytes() / ran.asked(Op::Read))])
}

fn degraded_random_writes(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{RAID_5} array.lose=1"), "rw=randwrite bs=4k iodepth=4 number_ios=2000")?;
    let [read, written] = ran.for_each_byte_written();
    Ok(vec![("read", read), ("written", written)])
}

fn degraded_read_of_raid_6(bench: &Bench) -> Measured {
    let reads = reads_of_chunks(bench, "array=raid-6 array.drives=6 array.lose=2")?;
    Ok(vec![("lost_chunk_bytes", reads.iter().map(|read| read.1).fold(0.0, f64::max))])
}

fn degraded_mirror(bench: &Bench) -> Measured {
    let reads = "rw=randread bs=4k iodepth=4 number_ios=2000";
    let ratio = rate(&*bench.run("array=raid-1 array.lose=1", reads)?) / rate(&*bench.run("", reads)?);
    Ok(vec![("ratio_to_one_drive", ratio)])
}

/// Nothing happens for seven seconds.
const IDLE: &str = "rw=read bs=4k startdelay=7 number_ios=1";

/// Words of an array that begins to rebuild member 1 at once.
fn rebuilding(words: &str) -> String {
    format!("{words} array.lose=1 at.1ms.array.replace=1")
}

/// Bytes a second that a rebuild wrote to the new member from the second to the sixth second, and bytes read in all for each written.
fn rebuilt(ran: &Ran) -> (f64, f64) {
    let during = ran.members.ended_within(2.0, 6.0);
    let written = during.of(Op::Write).at_unit(1).bytes();
    (written / 4.0, during.of(Op::Read).bytes() / written)
}

/// Bytes a second of one drive's stream of writes.
fn written_stream(bench: &Bench) -> Result<f64, String> {
    Ok(bench.run("", "rw=write bs=1m iodepth=8 runtime=4 time_based")?.byte_rate(1.0, 4.0))
}

fn rebuild_of_a_mirror(bench: &Bench) -> Measured {
    let (rate, _) = rebuilt(&*bench.run(&rebuilding(RAID_1), IDLE)?);
    Ok(vec![("ratio_to_streaming_rate", rate / written_stream(bench)?)])
}

fn rebuild_of_raid_5(bench: &Bench) -> Measured {
    let (rate, read) = rebuilt(&*bench.run(&rebuilding("array=raid-5 array.drives=4"), IDLE)?);
    Ok(vec![("read_for_each_written", read), ("ratio_to_streaming_rate", rate / written_stream(bench)?)])
}

fn rebuild_limit(bench: &Bench) -> Measured {
    let (rate, _) = rebuilt(&*bench.run(&rebuilding("array=raid-1 array.sync_speed_max=19531"), IDLE)?);
    Ok(vec![("mb_s", rate / 1e6)])
}

const READER: &str = "rw=randread bs=4k iodepth=1 runtime=7 time_based";

fn reader_during_a_rebuild(bench: &Bench) -> Measured {
    let (alone, during) = (bench.run("array=raid-1 array.lose=1", READER)?, bench.run(&rebuilding(RAID_1), READER)?);
    let longest = during.responses().into_iter().max().unwrap_or(0) as f64 / 1e6;
    Ok(vec![("share_of_rate", during.rate(1.0, 7.0) / alone.rate(1.0, 7.0)), ("longest_wait_ms", longest)])
}

fn rebuild_under_load(bench: &Bench) -> Measured {
    let (rate, _) = rebuilt(&*bench.run(&rebuilding(RAID_1), READER)?);
    Ok(vec![("kib_s", rate / 1024.0)])
}

const SYNCED_WRITES: &str = "rw=randwrite bs=4k iodepth=1 fsync=1 number_ios=200";

fn flushes_of_members(bench: &Bench) -> Measured {
    let ran = bench.run(RAID_5, SYNCED_WRITES)?;
    let flushes = ran.drives.iter().map(|drive| drive.of(Op::Flush).count() / ran.requests(Op::Flush));
    let (least, most) = flushes.fold((f64::INFINITY, 0.0), |(least, most), it| (it.min(least), it.max(most)));
    Ok(vec![("flushes_for_each_fsync_least", least), ("flushes_for_each_fsync_most", most)])
}

fn no_flush_with_write_through(bench: &Bench) -> Measured {
    let ran = bench.run(&format!("{RAID_5} drive.cache.write_back=false"), SYNCED_WRITES)?;
    Ok(vec![("flushes", ran.all_drives().of(Op::Flush).count())])
}

const BITMAP: &str = "array=raid-1 array.bitmap=internal";

fn bitmap_of_one_region(bench: &Bench) -> Measured {
    let ran = bench.run(BITMAP, "rw=randwrite bs=4k size=32m iodepth=8 number_ios=400 rate_iops=200")?;
    Ok(vec![("bitmap_writes", ran.log.bitmap_writes as f64)])
}

fn bitmap_of_new_regions(bench: &Bench) -> Measured {
    let ran = bench.run(BITMAP, "rw=randwrite bs=4k iodepth=1 number_ios=60")?;
    Ok(vec![("pages_for_each_write", ran.log.bitmap_writes as f64 / ran.requests(Op::Write))])
}
