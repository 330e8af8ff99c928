//! Operations of FAT32 and NTFS beside those of `operations.rs`, as lists of sectors worked out by hand: deleted and
//! created again, renamed, moved, directories that grow, tables and logs that go on in another sector.
//!
//! Both lie on 8 GiB from sector 2,048 on in clusters of 8 sectors. FAT32: tables at 2,080 and 18,448, the root's
//! cluster 0 at 34,816. NTFS: records at 4,196,352, four a page, the root's in page 1 and the first file's in page 6;
//! the bitmap of clusters at 4,195,840, a page for 32,768; the log at 8,390,664: two restart pages, two tails, and the
//! ring.

use seekwise_disk::block::Flags;
use seekwise_work::files::volume::{
    FileId, FileLedger, FileName, IoPlan, PlanStep, ROOT, SectorRole, SectorState, SyncScope, Volume, VolumeSpec,
};

use super::{
    FAT32, NTFS, idle_volume_with_64k, instant_at, mounted_volume, run_until_idle, steps_as_text, volume_spec,
};

const BOOT: &str = "0 Write 2048+1 FUA Boot";

/// The writes of NT's lazy writer on FAT32 three seconds after a change, and of the clean mark five seconds later.
/// Directory pages are given as first sector, sectors, and the directory's number.
fn lazy_writes(second: u64, directory_pages: &[(u64, u64, u32)], table_sectors: u64) -> Vec<String> {
    let mut all: Vec<String> = directory_pages
        .iter()
        .map(|(lba, sectors, file)| format!("{} s: 0 Write {lba}+{sectors} Directory(FileId({file}))", second + 3))
        .collect();
    all.extend([
        format!("{} s: 0 Write 2080+{table_sectors} Fat(0)", second + 3),
        format!("{} s: 0 Write 18448+{table_sectors} Fat(1)", second + 3),
        format!("{} s: 0 Write 2080+1 Fat(0)", second + 8),
        format!("{} s: 0 Write 18448+1 Fat(1)", second + 8),
        format!("{} s: 1 Write 2048+2 FUA Boot", second + 8),
    ]);
    all
}

/// Creates a file with this many clusters of data.
fn create_file(
    volume: &mut Volume,
    second: u64,
    directory: FileId,
    name: FileName,
    clusters: u64,
    plan: &mut IoPlan,
) -> FileId {
    let file = volume.create_file(instant_at(second), directory, name, plan).expect("room");
    if clusters > 0 {
        volume.write(instant_at(second), file, 0, clusters * 4096, Flags::NONE, plan).expect("room");
    }
    file
}

#[test]
fn fat32_frees_clusters_in_both_tables_and_goes_on_behind_them() {
    let (mut volume, file) = idle_volume_with_64k(FAT32);
    assert_eq!(steps_as_text(|plan| volume.delete(instant_at(100), file, plan)), [BOOT]);
    assert_eq!(run_until_idle(&mut volume), lazy_writes(100, &[(34_816, 8, 0)], 1));
    // The file had clusters 1 to 16: the next has 17 to 32, and the first entry again.
    let again = steps_as_text(|plan| _ = create_file(&mut volume, 200, ROOT, FileName::SHORT, 16, plan));
    assert_eq!(again, [BOOT, "1 Write 34952+128 Data { file: FileId(2), from: 0 }"]);
    assert_eq!(run_until_idle(&mut volume), lazy_writes(200, &[(34_816, 8, 0)], 1));
}

#[test]
fn fat32_writes_as_many_sectors_of_its_tables_as_hold_the_entries() {
    // A sector has 128 entries, and cluster 0 has number 2: a file from cluster 1 on ends in the first sector with its
    // 125th.
    for (clusters, sectors) in [(124, 1), (125, 1), (126, 2), (125 + 128, 2), (126 + 128, 3)] {
        let mut volume = mounted_volume(FAT32);
        let file = create_file(&mut volume, 0, ROOT, FileName::SHORT, clusters, &mut IoPlan::new());
        assert_eq!(run_until_idle(&mut volume), lazy_writes(0, &[(34_816, 8, 0)], sectors), "{clusters} clusters");
        volume.delete(instant_at(100), file, &mut IoPlan::new());
        assert_eq!(
            run_until_idle(&mut volume),
            lazy_writes(100, &[(34_816, 8, 0)], sectors),
            "{clusters} clusters freed"
        );
    }
}

#[test]
fn a_directory_of_fat32_grows_when_no_place_is_long_enough() {
    // 128 entries a cluster: short names take one, names of 26 letters three, which may go on in the next cluster.
    for (name, fit, pages) in [(FileName::SHORT, 128, (34_824, 8, 0)), (FileName::long(26), 42, (34_816, 16, 0))] {
        let mut volume = mounted_volume(FAT32);
        let files: Vec<FileId> =
            (0..fit).map(|_| create_file(&mut volume, 0, ROOT, name, 0, &mut IoPlan::new())).collect();
        assert_eq!(volume.file_runs(ROOT).iter().map(|run| run.len).sum::<u64>(), 1);
        assert_eq!(run_until_idle(&mut volume), lazy_writes(0, &[(34_816, 8, 0)], 1));
        create_file(&mut volume, 100, ROOT, name, 0, &mut IoPlan::new());
        assert_eq!(volume.file_runs(ROOT).iter().map(|run| run.len).sum::<u64>(), 2);
        assert_eq!(run_until_idle(&mut volume), lazy_writes(100, &[pages], 1), "{name:?}");
        // A freed place is taken before the directory grows.
        volume.delete(instant_at(200), files[3], &mut IoPlan::new());
        run_until_idle(&mut volume);
        create_file(&mut volume, 300, ROOT, name, 0, &mut IoPlan::new());
        assert_eq!(run_until_idle(&mut volume), lazy_writes(300, &[(34_816, 8, 0)], 1), "{name:?}");
    }
}

#[test]
fn fat32_moves_an_entry_and_tells_a_directory_its_new_parent() {
    let (mut volume, file) = idle_volume_with_64k(FAT32);
    let mut folder = |second| {
        let made =
            volume.create_directory(instant_at(second), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
        (made, run_until_idle(&mut volume))
    };
    // The file has clusters 1 to 16, so the folders have 17 and, since the place to go on from stays, 18.
    let (to, lines) = folder(100);
    assert_eq!(lines, lazy_writes(100, &[(34_816, 8, 0), (34_952, 8, 2)], 1));
    let (moved, lines) = folder(200);
    assert_eq!(lines, lazy_writes(200, &[(34_816, 8, 0), (34_960, 8, 3)], 1));
    let rename = |volume: &mut Volume, second, what, to| {
        volume.rename(instant_at(second), what, to, FileName::SHORT, &mut IoPlan::new()).expect("room");
        run_until_idle(volume)
    };
    assert_eq!(rename(&mut volume, 300, file, ROOT), lazy_writes(300, &[(34_816, 8, 0)], 1));
    assert_eq!(rename(&mut volume, 400, file, to), lazy_writes(400, &[(34_816, 8, 0), (34_952, 8, 2)], 1));
    let both = [(34_816, 8, 0), (34_952, 8, 2), (34_960, 8, 3)];
    assert_eq!(rename(&mut volume, 500, moved, to), lazy_writes(500, &both, 1));
    assert_eq!(rename(&mut volume, 600, moved, to), lazy_writes(600, &both[1..2], 1), "where it is: no new parent");
}

/// 256 KiB in clusters 1 to 64, of which the first, the second or the last sixteen go to clusters 1,134 to 1,149: their
/// entries are the last sixteen of sector 8 of a table. The entries that link to them, and those where they were, are
/// in sector 0 or in the directory.
#[test]
fn fat32_writes_what_a_moved_chunk_changes_and_nothing_beside_it() {
    let begins = ["0 Write 2048+1 FUA Boot", "1 Write 2088+1 FUA Fat(0)", "1 Write 18456+1 FUA Fat(1)", "2 flush"];
    let first = [
        "5 Write 2088+1 FUA Fat(0)",
        "5 Write 18456+1 FUA Fat(1)",
        "6 flush",
        "7 Write 34816+8 FUA Directory(FileId(0))",
        "8 flush",
        "9 flush",
    ];
    let second = [
        "5 Write 2088+1 FUA Fat(0)",
        "5 Write 18456+1 FUA Fat(1)",
        "6 flush",
        "7 Write 2080+1 FUA Fat(0)",
        "7 Write 18448+1 FUA Fat(1)",
        "8 flush",
        "9 flush",
    ];
    // Nothing follows the last.
    let last = ["5 Write 2080+1 FUA Fat(0)", "5 Write 18448+1 FUA Fat(1)", "6 flush", "7 flush"];
    for (chunk, lba, links) in
        [(0, 34_824, first.as_slice()), (1, 34_952, second.as_slice()), (3, 35_208, last.as_slice())]
    {
        let mut volume = mounted_volume(FAT32);
        let file = volume.place_initial_file(ROOT, FileName::SHORT, 256 << 10).expect("room");
        volume.begin_run();
        volume.mount(&mut IoPlan::new());
        let from = chunk * 65_536;
        let moved =
            steps_as_text(|plan| assert_eq!(volume.move_chunk(instant_at(0), file, from, 1134, plan), Ok(65_536)));
        let mut expected: Vec<String> = begins.map(String::from).to_vec();
        expected.push(format!("3 Read {lba}+128 Data {{ file: FileId(1), from: {from} }}"));
        expected.push(format!("4 Write 43888+128 FUA Data {{ file: FileId(1), from: {from} }}"));
        expected.extend(links.iter().map(|link| String::from(*link)));
        assert_eq!(moved, expected, "chunk {chunk}");
        // The freed clusters.
        assert_eq!(run_until_idle(&mut volume), lazy_writes(0, &[], 1), "chunk {chunk}");
    }
}

// NTFS. A log record takes 88 bytes and its data; a page of the log has room for 4,032. The root's first buffer was
// logged before the run (4,496 bytes), and the file of 64 KiB with its checkpoint took 2,928: 7,424 bytes, in the
// second page.

#[test]
fn ntfs_deletes_by_its_log_and_gives_the_record_and_the_clusters_again() {
    let (mut volume, file) = idle_volume_with_64k(NTFS);
    assert_eq!(steps_as_text(|plan| volume.delete(instant_at(100), file, plan)), [""; 0], "all of it is in memory");
    let expected = [
        // 400 bytes for the entry, 664 for clusters and record: 8,488, so that the second page (8,064) is full.
        "103 s: 0 Write 8390704+8 LogRecords",
        "103 s: 0 Write 8390680+8 LogRecords",
        "103 s: 1 Write 2064+8 MftBitmap",
        "103 s: 1 Write 4196032+8 ClusterBitmap",
        "103 s: 1 Write 4196360+8 MftRecords",
        "103 s: 1 Write 4196400+8 MftRecords",
        "103 s: 1 Write 6293504+8 Directory(FileId(0))",
        // Tails and restart pages by turns.
        "105 s: 0 Write 8390688+8 LogRecords",
        "105 s: 1 Write 8390672+8 FUA LogRestart",
    ];
    assert_eq!(run_until_idle(&mut volume), expected);
    let again = steps_as_text(|plan| _ = create_file(&mut volume, 200, ROOT, FileName::SHORT, 16, plan));
    assert_eq!(again, ["0 Write 6293512+128 Data { file: FileId(2), from: 0 }"]);
}

#[test]
fn ntfs_renames_by_its_log_and_leaves_the_bitmaps_alone() {
    let (mut volume, file) = idle_volume_with_64k(NTFS);
    let renamed =
        steps_as_text(|plan| volume.rename(instant_at(100), file, ROOT, FileName::SHORT, plan).expect("room"));
    assert_eq!(renamed, [""; 0]);
    assert_eq!(
        run_until_idle(&mut volume),
        [
            // 400 bytes for each entry, 504 for the record: 8,728.
            "103 s: 0 Write 8390704+8 LogRecords",
            "103 s: 0 Write 8390680+8 LogRecords",
            "103 s: 1 Write 4196360+8 MftRecords",
            "103 s: 1 Write 4196400+8 MftRecords",
            "103 s: 1 Write 6293504+8 Directory(FileId(0))",
            "105 s: 0 Write 8390688+8 LogRecords",
            "105 s: 1 Write 8390672+8 FUA LogRestart",
        ]
    );
}

#[test]
fn ntfs_moves_a_chunk_through_to_the_medium_and_its_log_after_it() {
    let mut volume = mounted_volume(NTFS);
    // Two clusters for the boot sector and 32 for the bitmap of a million records: the file begins at cluster 34.
    let file = volume.place_initial_file(ROOT, FileName::SHORT, 256 << 10).expect("room");
    volume.begin_run();
    volume.mount(&mut IoPlan::new());
    assert_eq!((volume.file_runs(file)[0].start, volume.find_free_run(1 << 20)), (34, Some(98)));
    // The target's bits are in the second page of the bitmap of clusters.
    let chunk =
        steps_as_text(|plan| assert_eq!(volume.move_chunk(instant_at(0), file, 64 << 10, 33_866, plan), Ok(64 << 10)));
    assert_eq!(
        chunk,
        [
            "0 Read 2448+128 Data { file: FileId(1), from: 65536 }",
            "1 Write 272976+128 FUA Data { file: FileId(1), from: 65536 }",
            "2 Write 8390680+8 FUA LogRecords",
        ]
    );
    assert_eq!(
        run_until_idle(&mut volume),
        [
            "3 s: 0 Write 4195840+16 ClusterBitmap",
            "3 s: 0 Write 4196400+8 MftRecords",
            "5 s: 0 Write 8390688+8 LogRecords",
            "5 s: 1 Write 8390664+8 FUA LogRestart",
        ]
    );
    let runs: Vec<(u64, u64)> = volume.file_runs(file).iter().map(|run| (run.start, run.len)).collect();
    assert_eq!(runs, [(34, 16), (33_866, 16), (66, 32)]);
}

/// 42 names of 960 bytes, the root's second buffer of 4,496 and six flushes of 440 follow the first buffer's 4,496. The
/// 38th name finds no free record: 464 bytes for the bits of clusters, the run, the sizes and the end of the
/// transaction. Together they are 52,416 bytes, thirteen pages.
#[test]
fn ntfs_logs_more_records_as_it_logs_a_run_of_a_file() {
    let mut volume = mounted_volume(NTFS);
    let mut new = || create_file(&mut volume, 0, ROOT, FileName::SHORT, 0, &mut IoPlan::new());
    let files: Vec<FileId> = (0..42).map(|_| new()).collect();
    let mut flush = || steps_as_text(|plan| volume.fsync(instant_at(0), files[0], SyncScope::All, plan));
    let flushes: Vec<Vec<String>> = (0..6).map(|_| flush()).collect();
    assert_eq!(flushes[4], ["0 Write 8390680+8 FUA LogRecords", "1 flush"], "a tail page");
    assert_eq!(flushes[5], ["0 Write 8390792+8 FUA LogRecords", "1 flush"], "the thirteenth, and nothing beyond it");
}

#[test]
fn a_directory_of_ntfs_is_in_its_record_for_six_names_and_in_buffers_two_thirds_full_from_then_on() {
    let mut volume = mounted_volume(NTFS);
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    // An entry takes 112 bytes, a record has 680 for them, and two thirds of a buffer are 2,661.
    let mut made = 0;
    for (count, buffers) in [(6, 0), (7, 1), (23, 1), (24, 2), (47, 2), (48, 3)] {
        while made < count {
            made += 1;
            create_file(&mut volume, 0, folder, FileName::SHORT, 0, &mut IoPlan::new());
        }
        assert_eq!(volume.file_runs(folder).iter().map(|run| run.len).sum::<u64>(), buffers, "{count} names");
    }
}

/// Its entry is in the root's buffer, its record in page 6; the log has both.
#[test]
fn a_new_file_of_ntfs_is_found_by_its_entry_and_its_record_or_by_the_log() {
    let mut volume = Volume::format(&VolumeSpec { history: true, ..volume_spec(NTFS) }).expect("fits");
    volume.mount(&mut IoPlan::new());
    let file = create_file(&mut volume, 0, ROOT, FileName::SHORT, 0, &mut IoPlan::new());
    let (mut ledger, mut plan) = (FileLedger::default(), IoPlan::new());
    ledger.add_changes(&volume.take_changes());
    volume.handle_timeout(instant_at(3), &mut plan);
    for (stamp, step) in (1..).zip(plan.steps()) {
        ledger.add_write(stamp, step, step.lba, step.sectors);
    }
    // Where a mount finds the file when these writes are on the medium.
    let listed = |lands: &dyn Fn(&PlanStep) -> bool| {
        let on = |lba: u64| {
            let holds = |step: &PlanStep| (step.lba..step.lba + step.sectors).contains(&lba) && lands(step);
            let stamp = (1..).zip(plan.steps()).find(|(_, step)| holds(step)).map(|found| found.0);
            stamp.map_or(SectorState::Before, SectorState::Stamp)
        };
        ledger.mount(on).find_file(file).listed
    };
    let is_entry = |step: &PlanStep| step.role == SectorRole::Directory(ROOT);
    let is_record = |step: &PlanStep| step.lba == 4_196_400;
    assert_eq!(listed(&|step| is_entry(step) || is_record(step)), [ROOT]);
    assert_eq!(listed(&is_entry), [], "a name without a record");
    assert_eq!(listed(&is_record), [], "a record without a name");
    assert_eq!(listed(&|step| step.role.is_log()), [ROOT]);
    assert_eq!(listed(&|_| false), []);
}
