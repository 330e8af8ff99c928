//! What cuts leave of files, over many small scenes: a stack that keeps its promises loses nothing that was promised,
//! and one that does not is detected.

use seekwise_disk::block::CutSector;
use seekwise_disk::host::driver::{DriverSpec, FlushPolicy};
use seekwise_disk::queue::{Discipline, Policy};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::stack::Stack;
use seekwise_disk::testing::{Layer, SmallDrive};
use seekwise_disk::time::Span;
use seekwise_lab::cut::{CutReport, CutTime, judge_cuts};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::jobs;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::work::Work;

/// What may go wrong with a cut.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// The drive's cache is off.
    Off,
    /// It is on, and flushes reach the drive.
    Honest,
    /// It is on, and the driver answers flushes itself.
    Drops,
    /// It is on, and ext4 sends none.
    NoBarrier,
}

/// A drive of 1.5 GB with a buffer of 8 MB, below a driver.
fn stack(rng: &mut Rng, way: Way) -> Stack {
    let small = SmallDrive { zones: vec![(3_000, 512)], ..SmallDrive::default() };
    let mut small = small.with_buffer(64, 256).with_write_back(60);
    small.cache.destage_idle = Span::from_millis(500);
    small.cache.write_back = way != Way::Off;
    small.cut_sector = pick(rng, &[CutSector::Finished, CutSector::Old]);
    let plain = DriverSpec::plain(256, 1, Discipline::plain(Policy::Fcfs), 128);
    let flush = if way == Way::Drops { FlushPolicy::Never } else { FlushPolicy::Forward };
    Stack::bare(small.profile()).with_layer(Layer::Driver(DriverSpec { flush, ..plain }))
}

fn pick<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.below(of.len() as u64) as usize]
}

/// Operations on files, each with the flushes that make it durable. A write-through handle is not among them: Windows
/// NT forces the dirty data and flushes nothing, so that what its lazy writer sent just before may still be in the
/// drive's cache.
const PROGRAMS: &[&str] = &[
    "name = 'unpack'\nfiles = 60\ntotal_mb = 3\npacked_percent = 0\nsync_each = true\n",
    "name = 'cp'\nfiles = 30\ntotal_mb = 3\nmove = true\nsync_each = true\n",
    "name = 'word-processing'\nsaves = 20\ndocument_kib = 100\nsync_each = true\npause_ms = 300\ncompute_ms = 20\n",
    "name = 'bookkeeping'\ntable_mb = 2\nindex_mb = 1\nrecords = 60\n",
    "name = 'bookkeeping-transactions'\ntable_mb = 2\nindex_mb = 1\nrecords = 200\ntransaction = 20\nflushes = 12\n",
    "name = 'database'\ndata_mb = 20\nlog_mb = 4\ncommits = 200\nclients = 4\ncheckpoint_s = 1\n",
    "name = 'registry'\nhives = 2\nhive_mb = 2\nhive_flushes = 40\n",
];

/// A system, a volume or two, and a program or two.
fn scene(rng: &mut Rng, way: Way) -> String {
    let (family, fs) = match way {
        Way::NoBarrier => ("linux", "ext4"),
        // Windows 98 never asks for the medium.
        Way::Off => {
            pick(rng, &[("windows-98", "fat32"), ("windows-nt", "fat32"), ("windows-nt", "ntfs"), ("linux", "ext4")])
        }
        _ => pick(rng, &[("windows-nt", "fat32"), ("windows-nt", "ntfs"), ("linux", "ext4")]),
    };
    let barrier = if way == Way::NoBarrier { "barrier = false\n" } else { "" };
    let mut text = format!("[system]\nfamily = '{family}'\n");
    if rng.draw_chance(60) {
        text += &format!("[pagecache]\nmib = {}\n", pick(rng, &[4, 64]));
    }
    for name in ["c", "d"] {
        text += &format!("[volume.{name}]\nfs = '{fs}'\nsize_gib = 0.6\n{barrier}");
    }
    for name in &["one", "two"][..1 + rng.below(2) as usize] {
        let program = pick(rng, PROGRAMS);
        let two = ["'cp'", "'explorer'", "'database'"].iter().any(|it| program.contains(it));
        text += &format!("[program.{name}]\n{program}on = 'c'\n");
        text += if two && rng.draw_chance(60) { "to = 'd'\n" } else { "" };
    }
    text
}

fn work(text: &str, stack: &Stack) -> Work {
    let loaded = jobs::load_job("s.toml", stack.sectors(), &Inputs::from_today(&|_| Ok(text.to_owned())), &[]);
    loaded.unwrap_or_else(|wrong| panic!("{}\n{text}", wrong[0])).job
}

/// What cuts of a random scene leave.
fn left(case: u64, way: Way, when: impl Fn(&mut Rng) -> CutTime) -> (String, CutReport) {
    let mut rng = Seed(case).stream("files");
    let stack = stack(&mut rng, way);
    let text = scene(&mut rng, way);
    let report = judge_cuts(RunCutoff::NEVER, &stack, &work(&text, &stack), case, &when(&mut rng), &|_, _| ());
    (format!("case {case}, {way:?}\n{text}"), report.unwrap_or_else(|error| panic!("{case}: {error}\n{text}")))
}

fn promised(report: &CutReport) -> (u64, u64) {
    let (files, operations) = (report.files.as_ref().unwrap(), report.operations.as_ref().unwrap());
    (files.promised_lost.count, operations.promised_lost.count)
}

#[test]
fn who_keeps_his_word_loses_nothing_that_was_promised() {
    let (mut unpromised, mut cuts) = (0, 0);
    for case in 0..60 {
        let way = if case % 3 == 0 { Way::Off } else { Way::Honest };
        let (what, report) = left(case, way, |_| CutTime::Random(60));
        let files = report.files.as_ref().unwrap();
        assert_eq!(promised(&report), (0, 0), "{what}\n{files:?}\n{:?}", report.operations);
        assert!(report.promise_kept, "{what}");
        unpromised += files.unpromised_lost.count;
        cuts += report.cuts;
    }
    // The judge considers all files: unpromised data are lost now and then.
    assert!(cuts == 3600 && unpromised > 0, "{unpromised}");
}

#[test]
fn who_drops_flushes_or_asks_for_none_is_found_out() {
    for way in [Way::Drops, Way::NoBarrier] {
        let (mut files, mut operations) = (0, 0);
        for case in 0..12 {
            let (_, report) = left(case, way, |_| CutTime::Random(60));
            let (file, operation) = promised(&report);
            (files, operations) = (files + file, operations + operation);
            assert_eq!(report.promise_kept, file + operation + report.promised_lost.writes == 0);
        }
        println!("{way:?}: {files} files, {operations} operations");
        assert!(files > 0 && operations > 0, "{way:?}: {files} files, {operations} operations");
    }
}

/// A move of small files, each copy flushed before its source is deleted.
const MOVE: &str = "[system]\nfamily = 'windows-nt'\n[pagecache]\nmib = 64\n[volume.d]\nfs = 'fat32'\n\
    size_gib = 0.6\n[volume.c]\nfs = 'ntfs'\nsize_gib = 0.6\n[program.move]\nname = 'explorer'\non = 'd'\nto = 'c'\n\
    files = 400\ntotal_mb = 8\nmove = true\nsync_each = true\nfile_ms = 20\n";

/// Files in neither place, on a drive that keeps data in its buffer for seconds: a page of the source's directory that
/// is written again there is destaged at its old place in the order, before copies that came after it.
fn moved(way: Way) -> u64 {
    let small = SmallDrive { zones: vec![(3_000, 512)], ..SmallDrive::default() };
    let mut small = small.with_buffer(256, 64).with_write_back(240);
    small.cache.destage_idle = Span::from_secs(5);
    small.cache.write_back = way != Way::Off;
    let plain = DriverSpec::plain(256, 1, Discipline::plain(Policy::Fcfs), 128);
    let flush = if way == Way::Drops { FlushPolicy::Never } else { FlushPolicy::Forward };
    let stack = Stack::bare(small.profile()).with_layer(Layer::Driver(DriverSpec { flush, ..plain }));
    let report =
        judge_cuts(RunCutoff::NEVER, &stack, &work(MOVE, &stack), 5, &CutTime::Random(400), &|_, _| ()).unwrap();
    report.files.unwrap().in_neither_place.count
}

#[test]
fn a_moved_file_is_in_neither_place_only_where_its_flush_is_lost() {
    assert_eq!((moved(Way::Honest), moved(Way::Off)), (0, 0));
    assert!(moved(Way::Drops) > 0);
}

#[test]
fn switching_off_in_order_keeps_all_unless_the_power_goes_at_once() {
    for case in 0..8 {
        let (what, report) = left(case, Way::Honest, |_| CutTime::Off(3));
        let files = report.files.as_ref().unwrap();
        assert!(report.promise_kept && files.unpromised_lost.count == 0, "{what}\n{files:?}");
    }
}

#[test]
fn the_same_cuts_give_the_same_answer() {
    let text = |case| {
        let (_, report) = left(case, Way::Drops, |_| CutTime::Random(40));
        format!("{:?} {:?}", report.files, report.operations)
    };
    assert_eq!(text(3), text(3));
}
