//! What each operation reads, writes and flushes, and where: beside the line of the reference that says so, computed by
//! hand from the formats, or compared with an observed real ext4.

use seekwise_disk::block::{Flags, Op};
use seekwise_disk::time::Instant;
use seekwise_work::files::volume::{
    Ext4Spec, Fat32Spec, FatDriver, FileId, FileName, IoPlan, ROOT, SyncScope, Volume, VolumeError, VolumeFormat,
};

use super::{
    FAT32, NTFS, create_64k, ext4_format, idle_volume_with_64k, instant_at, mounted_volume, run_until_idle,
    steps_as_text,
};

/// Appends a page and flushes the file; returns the steps.
fn append_and_flush(volume: &mut Volume, file: FileId, seconds: u64) -> Vec<String> {
    steps_as_text(|plan| {
        let end = volume.file_bytes(file);
        volume.write(instant_at(seconds), file, end, 4096, Flags::NONE, plan).expect("room");
        volume.fsync(instant_at(seconds), file, SyncScope::All, plan);
    })
}

// FAT32. 8 GiB are 16,777,216 sectors, so clusters of 4 KiB (the specification's table). The tables begin after 32
// reserved sectors, at 2,080, and have (16,777,216 - 32) / 1,025 = 16,368 sectors; data begin at 2,080 + 32,736 =
// 34,816. The root directory is the first cluster, so the file begins at 34,824; its 16 entries are in the tables'
// first sector.

#[test]
fn fat32_creates_64_kib() {
    let mut volume = mounted_volume(FAT32);
    let at_once = steps_as_text(|plan| _ = create_64k(&mut volume, plan));
    // "the first metadata change on a clean volume writes the boot sector (1 sector) synchronously, write-through".
    assert_eq!(at_once, ["0 Write 2048+1 FUA Boot", "1 Write 34824+128 Data { file: FileId(1), from: 0 }"]);
    assert_eq!(
        run_until_idle(&mut volume),
        [
            // "first run 3 s after the cache becomes dirty"; "the same range is written to all FAT copies in parallel".
            "3 s: 0 Write 34816+8 Directory(FileId(0))",
            "3 s: 0 Write 2080+1 Fat(0)",
            "3 s: 0 Write 18448+1 Fat(1)",
            // "8 s after the last metadata change the volume is marked clean: boot sector + FSInfo in one 2-sector
            // write"; "the FAT[1] clean bit is flipped as well".
            "8 s: 0 Write 2080+1 Fat(0)",
            "8 s: 0 Write 18448+1 Fat(1)",
            "8 s: 1 Write 2048+2 FUA Boot",
        ]
    );
}

#[test]
fn fat32_flushes_data_then_directories_then_tables_then_the_drive() {
    let (mut volume, file) = idle_volume_with_64k(FAT32);
    // "CcFlushCache(data), update dirent, flush parent directory and all ancestors' dirty pages, if allocation changed
    // every dirty FAT page (both copies), IRP_MJ_FLUSH_BUFFERS"; writes caused by a flush are tagged SL_WRITE_THROUGH.
    let first = append_and_flush(&mut volume, file, 100);
    assert_eq!(
        first,
        [
            "0 Write 2048+1 FUA Boot",
            "1 Write 34952+8 Data { file: FileId(1), from: 65536 }",
            "2 Write 34816+8 FUA Directory(FileId(0))",
            "3 Write 2080+1 FUA Fat(0)",
            "3 Write 18448+1 FUA Fat(1)",
            "4 flush",
        ]
    );
    assert_eq!(append_and_flush(&mut volume, file, 101).len(), 5, "the volume is marked dirty already");
    let again = steps_as_text(|plan| {
        volume.write(instant_at(102), file, 0, 4096, Flags::NONE, plan).expect("there");
        volume.fsync(instant_at(102), file, SyncScope::All, plan);
    });
    assert_eq!(again.len(), 3, "no cluster more: data, directory, flush: {again:?}");
}

#[test]
fn windows_98_asks_for_no_flush_and_no_medium() {
    let format = VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Windows98 });
    let (mut volume, file) = idle_volume_with_64k(format);
    assert_eq!(
        append_and_flush(&mut volume, file, 100),
        [
            "0 Write 34952+8 Data { file: FileId(1), from: 65536 }",
            "1 Write 34816+8 Directory(FileId(0))",
            "2 Write 2080+1 Fat(0)",
            "2 Write 18448+1 Fat(1)",
        ]
    );
}

#[test]
fn fat32_moves_a_chunk_with_four_flushes() {
    let mut volume = mounted_volume(FAT32);
    let file = volume.place_initial_file(ROOT, FileName::SHORT, 256 << 10).expect("room");
    volume.begin_run();
    volume.mount(&mut IoPlan::new());
    let to = volume.find_free_run(1 << 20).expect("room") + 1000;
    // "allocate target, write target FAT entries (2 copies) + device flush, read 64 KB, write 64 KB write-through,
    // second splice FAT entry + device flush, first splice: dirent (or FAT entry) + device flush, (source freed lazily)
    // + device flush". The file's clusters are 1 to 64; target 1,065 has its entry in sector 1,067 / 128 = 8 of the
    // table.
    let chunk =
        steps_as_text(|plan| assert_eq!(volume.move_chunk(instant_at(0), file, 64 << 10, to, plan), Ok(64 << 10)));
    assert_eq!(
        chunk,
        [
            "0 Write 2048+1 FUA Boot",
            "1 Write 2088+1 FUA Fat(0)",
            "1 Write 18456+1 FUA Fat(1)",
            "2 flush",
            "3 Read 34952+128 Data { file: FileId(1), from: 65536 }",
            "4 Write 43336+128 FUA Data { file: FileId(1), from: 65536 }",
            "5 Write 2088+1 FUA Fat(0)",
            "5 Write 18456+1 FUA Fat(1)",
            "6 flush",
            "7 Write 2080+1 FUA Fat(0)",
            "7 Write 18448+1 FUA Fat(1)",
            "8 flush",
            "9 flush",
        ]
    );
    assert_eq!(volume.file_runs(file).len(), 3);
    assert_eq!(volume.move_chunk(instant_at(1), file, 0, 3, &mut IoPlan::new()), Err(VolumeError::Taken));
}

// NTFS. 8 GiB are 2,097,152 clusters of 4 KiB. `$MFT` is at 2 GiB (whole GiB below a third), and its zone is 1 GiB
// after it; `$MFTMirr` is in the middle, the log of 8 GiB / 200 after it. The shortest run is that between zone and
// middle: the root directory and the first files go there.

#[test]
fn ntfs_creates_64_kib_the_log_before_the_pages() {
    let mut volume = mounted_volume(NTFS);
    let at_once = steps_as_text(|plan| _ = create_64k(&mut volume, plan));
    assert_eq!(
        at_once,
        ["0 Read 2064+8 MftBitmap", "1 Write 6293512+128 Data { file: FileId(1), from: 0 }"],
        "all but the bitmap of records was read at the mount"
    );
    assert_eq!(
        run_until_idle(&mut volume),
        [
            // "log first": a page that is not full goes to a tail page (2 pages after the 2 restart pages).
            "3 s: 0 Write 8390680+8 LogRecords",
            // "$MFT record + $MFT:$BITMAP, directory index buffer, plus $Bitmap": record 27 is in page 6, the root's in
            // 1.
            "3 s: 1 Write 2064+8 MftBitmap",
            "3 s: 1 Write 4196032+8 ClusterBitmap",
            "3 s: 1 Write 4196360+8 MftRecords",
            "3 s: 1 Write 4196400+8 MftRecords",
            "3 s: 1 Write 6293504+8 Directory(FileId(0))",
            // "checkpoint every 5 s": its records, then a restart page.
            "5 s: 0 Write 8390688+8 LogRecords",
            "5 s: 1 Write 8390664+8 FUA LogRestart",
        ]
    );
}

#[test]
fn ntfs_flushes_a_file_by_its_log() {
    let (mut volume, file) = idle_volume_with_64k(NTFS);
    let places: Vec<String> = append_and_flush(&mut volume, file, 100);
    let kinds: Vec<&str> = places.iter().map(|step| step.rsplit(' ').next().expect("words")).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["LogRecords", "flush"], "{places:?}");
    assert!(!places.iter().any(|step| step.contains("MftRecords")), "a mount has the record from the log");
    assert_eq!(places[0], "0 Write 6293640+8 Data { file: FileId(1), from: 65536 }");
}

#[test]
fn small_files_of_ntfs_live_in_their_records() {
    let mut volume = mounted_volume(NTFS);
    // 1,024 less header 56, times 96, name 120, the data's header 24, end 8: 720 bytes.
    let (small, large) =
        (volume.place_initial_file(ROOT, FileName::SHORT, 720), volume.place_initial_file(ROOT, FileName::SHORT, 721));
    assert!(volume.file_runs(small.expect("room")).is_empty());
    assert_eq!(volume.file_runs(large.expect("room")).len(), 1);
    volume.begin_run();
    volume.mount(&mut IoPlan::new());
    let written = steps_as_text(|plan| {
        let file = volume.create_file(instant_at(0), ROOT, FileName::SHORT, plan).expect("room");
        volume.write(instant_at(0), file, 0, 500, Flags::NONE, plan).expect("room");
    });
    assert!(!written.iter().any(|step| step.contains("Data")), "{written:?}");
}

// ext4. mke2fs lays out 8 GiB with 1 block of group descriptors and 1,023 more for growth: block bitmaps from block
// 1,025, inode bitmaps from 1,041, tables of 512 blocks from 1,057; the root's block is 9,249, the journal begins at
// 1,081,344. A block is 8 sectors. Data avoid the first group of a flex group: they begin at block 32,768 + 1,025.

#[test]
fn ext4_creates_64_kib_and_commits_five_blocks() {
    let mut volume = mounted_volume(ext4_format());
    let at_once = steps_as_text(|plan| _ = create_64k(&mut volume, plan));
    assert_eq!(
        at_once,
        [
            "0 Read 76040+8 Directory(FileId(0))",
            "1 Read 10376+8 InodeBitmap",
            "2 Read 10256+8 BlockBitmap",
            "3 Write 272392+128 Data { file: FileId(1), from: 0 }",
        ]
    );
    assert_eq!(
        run_until_idle(&mut volume),
        [
            // "commit=5 s"; "descriptor block + copies of modified metadata blocks + commit block". The blocks:
            // descriptors, block bitmap, inode bitmap, inodes (the root's and the file's are in one), the directory.
            "5 s: 0 Write 8652808+48 JournalBlocks",
            "5 s: 1 flush",
            "5 s: 2 Write 8652856+8 FUA JournalCommit",
            // "Checkpoint writes metadata home later": 30 s old, looked for every 5 s.
            "35 s: 0 Write 2056+8 GroupDescriptors",
            "35 s: 0 Write 10256+8 BlockBitmap",
            "35 s: 0 Write 10376+8 InodeBitmap",
            "35 s: 0 Write 10504+8 Inodes",
            "35 s: 0 Write 76040+8 Directory(FileId(0))",
        ]
    );
}

#[test]
fn ext4_appends_with_three_writes_and_a_barrier() {
    let (mut volume, file) = idle_volume_with_64k(ext4_format());
    assert_eq!(
        append_and_flush(&mut volume, file, 100),
        [
            "0 Write 272520+8 Data { file: FileId(1), from: 65536 }",
            "1 Write 8652864+32 JournalBlocks",
            "2 flush",
            "3 Write 8652896+8 FUA JournalCommit",
        ]
    );
    let rewritten = |volume: &mut Volume, what: SyncScope| {
        steps_as_text(|plan| {
            volume.write(instant_at(101), file, 0, 4096, Flags::NONE, plan).expect("there");
            volume.fsync(instant_at(101), file, what, plan);
        })
    };
    // Only times changed: fdatasync needs no commit, only the drive; fsync commits the inode.
    assert_eq!(rewritten(&mut volume, SyncScope::Data)[1..], ["1 flush"]);
    assert_eq!(rewritten(&mut volume, SyncScope::All).len(), 4);
}

#[test]
fn writing_no_bytes_to_an_empty_file_of_ext4_changes_its_times_alone() {
    let mut volume = mounted_volume(ext4_format());
    let file = volume.create_file(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    run_until_idle(&mut volume);
    for (scope, count) in [(SyncScope::Data, 1), (SyncScope::All, 3)] {
        let written = steps_as_text(|plan| {
            volume.write(instant_at(100), file, 0, 0, Flags::NONE, plan).expect("there");
            volume.fsync(instant_at(100), file, scope, plan);
        });
        assert_eq!(written.len(), count, "a flush, or a commit of the inode: {written:?}");
    }
}

#[test]
fn without_barriers_ext4_waits_but_does_not_flush() {
    let (mut volume, file) =
        idle_volume_with_64k(VolumeFormat::Ext4(Ext4Spec { barrier: false, ..Ext4Spec::default() }));
    let steps = append_and_flush(&mut volume, file, 100);
    let phases: Vec<&str> = steps.iter().map(|step| &step[..1]).collect();
    assert_eq!(phases, ["0", "1", "2"], "data, journal, commit: one after another");
    assert!(!steps.iter().any(|step| step.contains("flush") || step.contains("FUA")), "{steps:?}");
}

/// The sectors written and the number of flushes of a plan, on a device without FUA: a write with FUA needs a flush.
fn sectors_and_flushes(plan: &IoPlan) -> (u64, usize) {
    let writes = plan.steps().iter().filter(|step| step.op == Op::Write);
    let flushes = plan.steps().iter().filter(|step| step.op == Op::Flush || step.flags.has(Flags::FUA));
    (writes.map(|step| step.sectors).sum(), flushes.count())
}

/// Sectors written and flushes of operations, one after another, each with an fsync: the counts of Linux 6.18 in
/// `/sys/block/loop0/stat` on a loop device with 8 GiB that mke2fs 1.47 had made. `real_ext4.rs` counts them again.
pub const REAL_COSTS: [(&str, (u64, usize)); 10] = [
    ("64 KiB created", (184, 2)),
    ("4 KiB created", (64, 2)),
    ("4 KiB appended", (48, 2)),
    ("4 KiB written again", (32, 2)),
    ("the same, flushing data", (8, 1)),
    ("a folder", (72, 2)),
    ("a folder in it", (64, 2)),
    ("renamed where it is", (32, 2)),
    ("moved into the folder", (48, 2)),
    ("deleted there", (72, 2)),
];

#[test]
fn operations_cost_what_a_real_ext4_pays() {
    let mut volume = mounted_volume(ext4_format());
    let name = FileName::long(1);
    let mut seconds = 0;
    let mut rows = REAL_COSTS.iter();
    let mut costs = |work: &mut dyn FnMut(&mut Volume, Instant, &mut IoPlan) -> FileId| {
        let (what, expected) = rows.next().expect("a row for each operation");
        seconds += 100;
        let mut plan = IoPlan::new();
        let file = work(&mut volume, instant_at(seconds), &mut plan);
        let synced = if what.ends_with("data") { SyncScope::Data } else { SyncScope::All };
        volume.fsync(instant_at(seconds), file, synced, &mut plan);
        assert_eq!(sectors_and_flushes(&plan), *expected, "{what}");
        run_until_idle(&mut volume);
        file
    };
    let create = |volume: &mut Volume, now, plan: &mut IoPlan, bytes| {
        let file = volume.create_file(now, ROOT, name, plan).expect("room");
        volume.write(now, file, 0, bytes, Flags::NONE, plan).expect("room");
        file
    };
    let write = |volume: &mut Volume, now, plan: &mut IoPlan, file, from| {
        volume.write(now, file, from, 4096, Flags::NONE, plan).expect("room");
        file
    };
    let file = costs(&mut |volume, now, plan| create(volume, now, plan, 65_536));
    costs(&mut |volume, now, plan| create(volume, now, plan, 4096));
    costs(&mut |volume, now, plan| write(volume, now, plan, file, 65_536));
    costs(&mut |volume, now, plan| write(volume, now, plan, file, 0));
    costs(&mut |volume, now, plan| write(volume, now, plan, file, 0));
    let folder = costs(&mut |volume, now, plan| volume.create_directory(now, ROOT, name, plan).expect("room"));
    costs(&mut |volume, now, plan| volume.create_directory(now, folder, name, plan).expect("room"));
    for to in [ROOT, folder] {
        costs(&mut |volume, now, plan| {
            volume.rename(now, file, to, name, plan).expect("room");
            file
        });
    }
    costs(&mut |volume, now, plan| {
        volume.delete(now, file, plan);
        folder
    });
    assert!(rows.next().is_none(), "a row that was not tried");
}

#[test]
fn two_hundred_files_cost_about_what_a_real_ext4_pays() {
    let mut volume = mounted_volume(ext4_format());
    let folder = volume.create_directory(instant_at(0), ROOT, FileName::long(2), &mut IoPlan::new()).expect("room");
    run_until_idle(&mut volume);
    // Created and deleted at once: 168 and 160 sectors.
    let mut files = Vec::new();
    let near =
        |(sectors, flushes): (u64, usize), expected: u64| sectors.abs_diff(expected) * 10 <= expected && flushes == 2;
    let mut plan = IoPlan::new();
    for _ in 0..200 {
        files.push(volume.create_file(instant_at(5_000), folder, FileName::long(20), &mut plan).expect("room"));
    }
    volume.fsync(instant_at(5_000), folder, SyncScope::All, &mut plan);
    assert!(near(sectors_and_flushes(&plan), 168), "200 empty files: {:?}", sectors_and_flushes(&plan));
    run_until_idle(&mut volume);
    plan.clear();
    files.iter().for_each(|&file| volume.delete(instant_at(6_000), file, &mut plan));
    volume.fsync(instant_at(6_000), folder, SyncScope::All, &mut plan);
    assert!(near(sectors_and_flushes(&plan), 160), "200 deleted: {:?}", sectors_and_flushes(&plan));
    // 200 files of 100,000 bytes, each with its fsync: 52,688 sectors.
    run_until_idle(&mut volume);
    plan.clear();
    for _ in 0..200 {
        let file = volume.create_file(instant_at(7_000), folder, FileName::long(20), &mut plan).expect("room");
        volume.write(instant_at(7_000), file, 0, 100_000, Flags::NONE, &mut plan).expect("room");
        volume.fsync(instant_at(7_000), file, SyncScope::All, &mut plan);
    }
    let (sectors, flushes) = sectors_and_flushes(&plan);
    assert!(sectors.abs_diff(52_688) * 10 <= 52_688 && flushes == 400, "{sectors}, {flushes}");
}
