//! Laws of volumes: where files lie, what is read, what is refused. `volume/operations.rs` has the reads, writes and
//! flushes of each operation, `volume/ext4.rs` and `volume/windows.rs` have more of them; `volume/real_ext4.rs`
//! compares them with the kernel's, `volume/copying.rs` takes volumes to a drive and back, `volume/swarm.rs` runs
//! random operations.

mod copying;
mod ext4;
mod operations;
#[cfg(target_os = "linux")]
mod real_ext4;
mod swarm;
mod windows;

use seekwise_disk::block::{Flags, Op};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::volume::{
    Aging, Ext4Spec, Fat32Spec, FatDriver, FileId, FileName, IoPlan, NtfsSpec, Partition, PlanStep, ROOT, SectorRole,
    Volume, VolumeError, VolumeFormat, VolumeMisfit, VolumeSpec,
};

/// 8 GiB at 1 MiB.
const PARTITION: Partition = Partition { first: 2048, sectors: 8 << 21 };

const FAT32: VolumeFormat = VolumeFormat::Fat32(Fat32Spec { cluster: None, host: FatDriver::Nt });
const NTFS: VolumeFormat = VolumeFormat::Ntfs(NtfsSpec { cluster: 4096 });

fn ext4_format() -> VolumeFormat {
    VolumeFormat::Ext4(Ext4Spec::default())
}

fn volume_spec(format: VolumeFormat) -> VolumeSpec {
    VolumeSpec { partition: PARTITION, format, aging: Aging::NONE, history: false, seed: Seed(1) }
}

/// An empty volume, mounted.
fn mounted_volume(format: VolumeFormat) -> Volume {
    let mut volume = Volume::format(&volume_spec(format)).expect("fits");
    volume.mount(&mut IoPlan::new());
    volume
}

fn instant_at(seconds: u64) -> Instant {
    Instant::ZERO + Span::from_secs(seconds)
}

/// The steps of one operation, as text.
fn steps_as_text(work: impl FnOnce(&mut IoPlan)) -> Vec<String> {
    let mut plan = IoPlan::new();
    work(&mut plan);
    plan.steps().iter().map(PlanStep::to_string).collect()
}

/// Everything that falls due until nothing does, each step after its second.
fn run_until_idle(volume: &mut Volume) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(due) = volume.poll_timeout() {
        let second = due.nanos() / 1_000_000_000;
        all.extend(
            steps_as_text(|plan| volume.handle_timeout(due, plan)).iter().map(|step| format!("{second} s: {step}")),
        );
    }
    all
}

/// A file of 64 KiB: created, written, closed.
fn create_64k(volume: &mut Volume, plan: &mut IoPlan) -> FileId {
    let file = volume.create_file(instant_at(0), ROOT, FileName::SHORT, plan).expect("room");
    volume.write(instant_at(0), file, 0, 64 << 10, Flags::NONE, plan).expect("room");
    volume.close(instant_at(0), file, plan);
    file
}

/// The same, with nothing left to do on the volume.
fn idle_volume_with_64k(format: VolumeFormat) -> (Volume, FileId) {
    let mut volume = mounted_volume(format);
    let file = create_64k(&mut volume, &mut IoPlan::new());
    run_until_idle(&mut volume);
    (volume, file)
}

// All three.

#[test]
fn a_rename_within_a_volume_moves_no_data() {
    for format in [FAT32, NTFS, ext4_format()] {
        let (mut volume, file) = idle_volume_with_64k(format);
        let mut plan = IoPlan::new();
        let folder = volume.create_directory(instant_at(100), ROOT, FileName::SHORT, &mut plan).expect("room");
        volume.rename(instant_at(100), file, folder, FileName::long(30), &mut plan).expect("room");
        volume.sync(instant_at(100), &mut plan);
        let roles: Vec<SectorRole> = plan.steps().iter().map(|step| step.role).collect();
        assert!(!roles.iter().any(|role| matches!(role, SectorRole::Data { .. })));
        assert!(roles.contains(&SectorRole::Directory(ROOT)), "{format:?}: where it was");
        // The new directory of NTFS has room for its entries in its record.
        let there = if format == NTFS { SectorRole::MftRecords } else { SectorRole::Directory(folder) };
        assert!(roles.contains(&there), "{format:?}: where it is");
    }
}

#[test]
fn files_lie_one_behind_another_and_deleting_frees_them() {
    for format in [FAT32, NTFS, ext4_format()] {
        let mut volume = mounted_volume(format);
        let empty = volume.free_bytes();
        let files: Vec<FileId> = (0..10).map(|_| create_64k(&mut volume, &mut IoPlan::new())).collect();
        let starts: Vec<u64> = files.iter().map(|&file| volume.file_runs(file)[0].start).collect();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 16), "{format:?}: {starts:?}");
        assert!(volume.free_bytes() + 10 * 65_536 <= empty);
        for &file in &files {
            volume.delete(instant_at(1), file, &mut IoPlan::new());
            assert!(!volume.has_file(file));
        }
        assert_eq!(volume.free_bytes(), empty, "{format:?}");
        let large = volume.create_file(instant_at(2), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
        volume.write(instant_at(2), large, 0, 500 << 20, Flags::NONE, &mut IoPlan::new()).expect("room");
        assert!(volume.file_runs(large).len() <= 2, "{format:?}: {:?}", volume.file_runs(large));
    }
}

#[test]
fn files_are_as_fragmented_as_is_asked() {
    for format in [FAT32, NTFS, ext4_format()] {
        for fragments in [100, 130, 250, 1000] {
            let aging = Aging { fragments, gap_kib: 1024 };
            let mut volume = Volume::format(&VolumeSpec { aging, ..volume_spec(format) }).expect("fits");
            let mut rng = Seed(5).stream("sizes");
            // 8 to 200 KiB: some of them have too few clusters, and others make up for them.
            let files: Vec<FileId> = (0..400)
                .map(|_| volume.place_initial_file(ROOT, FileName::SHORT, 8192 + rng.below(196_608)).expect("room"))
                .collect();
            let pieces: usize = files.iter().map(|&file| volume.file_runs(file).len()).sum();
            assert!((fragments as usize * 4).abs_diff(pieces) <= 4, "{format:?}, {fragments}: {pieces}");
            // Each piece except a file's last has a gap after it; later files fill some.
            assert!(
                volume.free_run_count() >= (pieces - 400) * 3 / 4,
                "{format:?}, {fragments}: {:?}",
                volume.free_run_count()
            );
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut fat = mounted_volume(FAT32);
    let file = fat.create_file(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
    let most = u64::from(u32::MAX);
    assert_eq!(fat.extend_file(instant_at(0), file, most + 1, &mut IoPlan::new()), Err(VolumeError::TooLarge { most }));
    assert_eq!(fat.place_initial_file(ROOT, FileName::SHORT, 1 << 32), Err(VolumeError::TooLarge { most }));
    for format in [NTFS, ext4_format()] {
        let mut volume = mounted_volume(format);
        let file = volume.create_file(instant_at(0), ROOT, FileName::SHORT, &mut IoPlan::new()).expect("room");
        assert_eq!(volume.extend_file(instant_at(0), file, 9 << 30, &mut IoPlan::new()), Err(VolumeError::Full));
        assert_eq!(
            (volume.file_bytes(file), volume.place_initial_file(ROOT, FileName::SHORT, 9 << 30)),
            (0, Err(VolumeError::Full))
        );
    }
    let made =
        |partition, format| Volume::format(&VolumeSpec { partition, ..volume_spec(format) }).map(|_| ()).unwrap_err();
    let odd = |cluster| VolumeFormat::Fat32(Fat32Spec { cluster: Some(cluster), host: FatDriver::Nt });
    assert_eq!(made(PARTITION, odd(3000)), VolumeMisfit::Cluster { least: 512, most: 65_536 });
    assert!(matches!(made(Partition { first: 63, sectors: 60_000 }, FAT32), VolumeMisfit::TooSmall { .. }));
    assert_eq!(
        made(Partition { first: 63, sectors: (1 << 20) - 1 }, ext4_format()),
        VolumeMisfit::TooSmall { least: 1 << 20 }
    );
}

#[test]
fn a_directory_of_fat32_holds_65536_entries() {
    let mut volume = mounted_volume(FAT32);
    let long = FileName::long(26);
    let folder = volume.place_initial_directory(ROOT, FileName::SHORT).expect("room");
    // Three entries a name; two are the directory's own and its parent's.
    let mut count = 0;
    while volume.place_initial_file(folder, long, 0).is_ok() {
        count += 1;
    }
    assert_eq!(count, (65_536 - 2) / 3);
    assert_eq!(volume.place_initial_file(folder, long, 0), Err(VolumeError::DirectoryFull));
}

#[test]
fn a_volume_of_14_tb_costs_what_is_used() {
    let partition = Partition { first: 2048, sectors: 27_344_764_928 - 4096 };
    for format in [NTFS, ext4_format()] {
        let mut volume = Volume::format(&VolumeSpec { partition, ..volume_spec(format) }).expect("fits");
        for _ in 0..100 {
            volume.place_initial_file(ROOT, FileName::long(20), 1 << 30).expect("room");
        }
        let (bytes, runs) = (volume.free_bytes(), volume.free_run_count());
        assert!(bytes > 12_000_000_000_000 && runs < 10_000, "{format:?}: {runs} free runs");
    }
}

#[test]
fn two_hundred_thousand_files_are_placed() {
    for format in [FAT32, NTFS, ext4_format()] {
        let partition = Partition { first: 2048, sectors: 40 << 21 };
        let aging = Aging { fragments: 120, gap_kib: 64 };
        let mut volume = Volume::format(&VolumeSpec { partition, aging, ..volume_spec(format) }).expect("fits");
        for _ in 0..1000 {
            let folder = volume.place_initial_directory(ROOT, FileName::SHORT).expect("room");
            for file in 0..200 {
                volume.place_initial_file(folder, FileName::long(20), 4096 + file * 500).expect("room");
            }
        }
        volume.begin_run();
        assert_eq!(volume.file_count(), 1 + 1000 + 200_000);
    }
}

/// Ten names are more than a record of NTFS holds, and less than a page.
#[test]
fn listing_a_new_directory_reads_nothing() {
    let clusters = |cluster| VolumeFormat::Ntfs(NtfsSpec { cluster });
    for format in [FAT32, NTFS, clusters(65_536), ext4_format()] {
        let mut volume = mounted_volume(format);
        let mut plan = IoPlan::new();
        let folder = volume.create_directory(instant_at(0), ROOT, FileName::SHORT, &mut plan).expect("room");
        for _ in 0..10 {
            volume.create_file(instant_at(0), folder, FileName::long(20), &mut plan).expect("room");
        }
        assert!(!volume.file_runs(folder).is_empty());
        assert_eq!(steps_as_text(|plan| volume.list_directory(folder, plan)), [""; 0], "{format:?}");
    }
}

#[test]
fn reading_passes_over_what_is_in_memory() {
    for format in [FAT32, NTFS, ext4_format()] {
        let mut volume = Volume::format(&volume_spec(format)).expect("fits");
        let file = volume.place_initial_file(ROOT, FileName::long(20), 100_000).expect("room");
        volume.begin_run();
        volume.mount(&mut IoPlan::new());
        let mut plan = IoPlan::new();
        volume.open(file, &mut plan);
        let cold = plan.steps().len();
        volume.open(file, &mut plan);
        assert_eq!(plan.steps().len(), cold, "{format:?}: nothing is read twice");
        plan.clear();
        volume.read(file, 65_536, 65_536, &mut plan);
        let step = plan.steps()[0];
        // 34,464 bytes are 68 sectors, or nine blocks.
        let sectors = if format == ext4_format() { 72 } else { 68 };
        assert_eq!((plan.steps().len(), step.op, step.sectors), (1, Op::Read, sectors));
        assert_eq!(step.lba, volume.cluster_lba(volume.file_runs(file)[0].start) + 128);
    }
}
