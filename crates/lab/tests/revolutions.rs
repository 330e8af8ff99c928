//! Commits of programs on ext4 in revolutions of the drive. The counts of revolutions and flushes are those measured on
//! a WD140EDFZ under Linux (device reports of a storage project, 2026; XFS, and ext4's overwrites). How many
//! revolutions a seek between data and journal takes depends on their places, so it is no case.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan::{self, Cell};
use seekwise_lab::run::{RunRecord, measure_run};
use seekwise_lab::study::cell_record;

const TURN_MS: f64 = 60_000.0 / 7200.0;

/// A program that overwrites 4 KiB of a file, in order, and syncs.
const OVERWRITE: &str = "name = 'database'\nwrites = 0\nreads = 0\ncheckpoint_s = 0\ncompute_ms = 0\ngroup = false\n\
    clients = 1\ncommits = 100\ndata_mb = 1\nlog_mb = 64\nlog_block = 4096\nrecord_bytes = 4096\n";

/// A program that appends 16 KiB to a file and syncs.
const APPEND: &str = "name = 'bookkeeping'\ntables = 1\ntable_mb = 1\nindex_mb = 1\nreads = 0\nwrites = 1\nflushes = 1\n\
    compute_ms = 0\nrecords = 100\nwrite_bytes = 16384\n";

/// A program that writes a new file, syncs it, renames it and syncs its directory.
const SAVE: &str = "name = 'word-processing'\ndocument_kib = 64\nblock_kib = 64\nsaves = 60\nsync_each = true\n\
    sync_directory = true\ncompute_ms = 0\npause_ms = 0\n";

/// Runs `count` programs on ext4 near the start of the drive, below Linux.
fn run(program: &str, count: u32, settings: &[(&str, &str)]) -> RunRecord {
    let mut scene = "[system]\nfamily = 'linux'\n[pagecache]\nmib = 1024\ncopy_mb_s = 6000\n\
        [volume.c]\nfs = 'ext4'\nsize_gib = 100\n"
        .to_owned();
    (0..count).for_each(|number| scene += &format!("[program.p{number}]\n{program}"));
    let stack = [("job", "s.toml"), ("drive", "wd140edfz"), ("driver", "linux-mq-deadline"), ("controller", "ahci")];
    let settings = stack.iter().chain(settings).map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let text = |_: &str| Ok(scene.clone());
    let inputs = Inputs::from_today(&text);
    let prepared = plan::prepare_cell("s.toml", &Cell { levels: Vec::new(), settings }, &inputs);
    let prepared = prepared.unwrap_or_else(|faults| panic!("{}", faults[0]));
    let measured = measure_run(&prepared.target, &prepared.job, 1, |_| ()).expect("it runs");
    cell_record(&prepared, &measured, 1)
}

/// Whole revolutions of the median commit, if it is whole and not 0; and flushes of the drive per commit.
fn commit(program: &str, count: u32, settings: &[(&str, &str)]) -> (Option<u32>, f64) {
    let record = run(program, count, settings);
    let commits = &record.commit.as_ref().expect("commits").figures;
    let turns = commits.response_ms.expect("commits").p50 / TURN_MS;
    let flushes = record.drive.flushes as f64 / commits.ios as f64;
    // A median is up to 3 % too high, and a commit moves on by its own sectors, at most 32 of 3992 a track.
    let whole = (1..9).find(|&whole| (-0.01..0.03 * f64::from(whole) + 0.01).contains(&(turns - f64::from(whole))));
    (whole, (flushes * 100.0).round() / 100.0)
}

const UNCACHED: (&str, &str) = ("drive.cache.write_back", "false");

#[test]
fn an_overwrite_takes_a_revolution_and_writers_share_flushes() {
    // Measured: 1.00, 1.00, 0.50 and 0.34 flushes; two, four and six writers may wait for several revolutions.
    for (writers, flushes) in [(1, 1.0), (2, 1.0), (4, 0.5), (6, 0.33)] {
        for (settings, flushes) in [(&[][..], flushes), (&[UNCACHED], 0.0)] {
            let (turns, sent) = commit(OVERWRITE, writers, settings);
            assert_eq!(sent, flushes, "{writers} writers, {settings:?}");
            let is_right = turns.is_some_and(|turns| writers > 1 || turns == 1);
            assert!(is_right, "{writers} writers, {settings:?}: {turns:?} revolutions");
        }
    }
}

#[test]
fn a_commit_of_the_journal_takes_whole_revolutions_and_two_flushes() {
    for (program, flushes) in [(APPEND, 2.0), (SAVE, 4.0)] {
        let (turns, sent) = commit(program, 1, &[]);
        assert!(turns.is_some_and(|turns| turns > 1) && sent == flushes, "{turns:?} revolutions, {sent} flushes");
    }
}

#[test]
fn without_flushes_no_commit_takes_a_revolution() {
    for program in [OVERWRITE, APPEND, SAVE] {
        assert_eq!(commit(program, 1, &[("driver.flush", "drop")]), (None, 0.0));
    }
}
