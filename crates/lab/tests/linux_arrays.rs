//! Arrays under Linux's drivers, by the stack's natural words: what stands above md, what the page cache reads ahead, and which copy
//! of a mirror a reader has. Rates are held against those of drives alone.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::run::{RunRecord, measure_run};
use seekwise_lab::study::cell_record;

/// Runs a fio job with these options on drives under mq-deadline.
fn run(options: &str, settings: &[(&str, &str)]) -> RunRecord {
    let job = format!("[j]\nfilename=/dev/md0\nioengine=libaio\ntime_based\nruntime=4\n{options}\n");
    let stack =
        [("job", "j.fio"), ("drive", "barracuda-7200.7-ncq"), ("driver", "linux-mq-deadline"), ("controller", "ahci")];
    let settings = stack.iter().chain(settings).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let text = |_: &str| Ok(job.clone());
    let inputs = Inputs::from_today(&text);
    let prepared = plan::prepare_cell("s.toml", &Cell { levels: Vec::new(), settings }, &inputs);
    let prepared = prepared.unwrap_or_else(|faults| panic!("{}", faults[0]));
    let measured = measure_run(&prepared.target, &prepared.job, 1, |_| ()).expect("it runs");
    cell_record(&prepared, &measured, 1)
}

fn mb_per_s(options: &str, settings: &[(&str, &str)]) -> f64 {
    run(options, settings).all.bytes_per_s / 1e6
}

const STREAM: &str = "direct=1\nrw=read\nbs=128k";

/// A drive serves a random read at depth 32 as it does below an array that gives each of eight drives 32.
#[test]
fn each_drive_of_an_array_has_its_scheduler() {
    let of_eight = [("array", "raid-0"), ("array.drives", "8")];
    let random = |depth: u32| format!("direct=1\nrw=randread\nbs=4k\niodepth={depth}");
    let alone = run(&random(32), &[]).all.iops;
    let together = run(&random(256), &of_eight).all.iops;
    // Some of the eight have more than 32 at a time, others fewer.
    assert!((0.85..1.02).contains(&(together / 8.0 / alone)), "{together} against 8 times {alone}");
    let above = run(&random(256), &[&of_eight[..], &[("order", "driver, array, controller")]].concat()).all.iops;
    assert!(above < 0.9 * together, "one scheduler of 64 requests above all: {above}");
}

/// Two rows of RAID 5 fit into its stripe cache: none is read before it is written.
#[test]
fn whole_rows_reach_raid_5_as_they_are() {
    let rows = mb_per_s("direct=1\nrw=write\nbs=2m\niodepth=2", &[("array", "raid-5"), ("array.drives", "5")]);
    let alone = mb_per_s("direct=1\nrw=write\nbs=512k\niodepth=2", &[]);
    assert!((0.85..1.05).contains(&(rows / 4.0 / alone)), "{rows}, a drive alone {alone}");
}

/// The page cache reads two rows ahead, which keeps all drives busy; 128 KiB are a part of one chunk.
#[test]
fn a_buffered_stream_has_all_drives_of_a_striped_array() {
    let buffered = |settings: &[(&str, &str)]| {
        let cache = [("pagecache.mib", "1024"), ("pagecache.copy_mb_s", "8000")];
        mb_per_s("rw=read\nbs=128k", &[&cache[..], settings].concat())
    };
    let alone = buffered(&[]);
    // Each drive of RAID 5 passes over a chunk of parity a row, and loses some revolutions at it.
    for (level, drives, least, most) in [("raid-0", "8", 0.95 * 8.0, 8.05), ("raid-5", "5", 0.7 * 4.0, 4.05)] {
        let striped = buffered(&[("array", level), ("array.drives", drives)]);
        assert!((least..most).contains(&(striped / alone)), "{level}: {striped}, a drive alone {alone}");
    }
    let short = buffered(&[("array", "raid-0"), ("array.drives", "8"), ("pagecache.read_ahead_kib", "128")]);
    assert!(short < 2.0 * alone, "as it is set: {short}");
    let mirror = buffered(&[("array", "raid-1")]);
    assert!((0.98..1.02).contains(&(mirror / alone)), "a mirror states no row: {mirror}");
}

#[test]
fn a_mirror_reads_one_stream_as_fast_as_a_drive_and_two_twice() {
    for depth in [1, 4, 32] {
        let stream = format!("{STREAM}\niodepth={depth}");
        let (alone, mirror) = (mb_per_s(&stream, &[]), mb_per_s(&stream, &[("array", "raid-1")]));
        assert!((0.98..1.02).contains(&(mirror / alone)), "depth {depth}: {mirror}, a drive alone {alone}");
    }
    let two = format!("{STREAM}\niodepth=4\nnumjobs=2\noffset_increment=20g\nsize=10g");
    let ratio = mb_per_s(&two, &[("array", "raid-1")]) / mb_per_s(&format!("{STREAM}\niodepth=4"), &[]);
    assert!((1.9..2.02).contains(&ratio), "{ratio}");
}

/// Intel's driver is not md: the preset keeps the rule that takes an idle drive each time.
#[test]
fn matrix_keeps_its_own_balance() {
    let second_volume = format!("{STREAM}\niodepth=4\noffset=80%");
    let volume = |balance: &[(&str, &str)]| mb_per_s(&second_volume, &[&[("array", "matrix")][..], balance].concat());
    assert_eq!(volume(&[]), volume(&[("array.read", "idle")]));
    assert!(volume(&[("array.read", "nearest")]) < volume(&[]));
}
