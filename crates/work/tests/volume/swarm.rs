//! Random operations in any order, with the laws that hold after every step.

use std::collections::BTreeMap;

use seekwise_disk::block::{Flags, Op};
use seekwise_disk::rng::{Rng, Seed};
use seekwise_disk::time::{Instant, Span};
use seekwise_work::files::volume::{
    Aging, DataSectors, Ext4Spec, FileId, FileLedger, FileName, InitialFile, IoPlan, IssueMoment, NtfsSpec, Partition,
    ROOT, SectorRole, SectorState, SyncScope, Volume, VolumeFormat, VolumeSpec, WrittenExtent,
};

use super::{FAT32, ext4_format};

/// 600 MiB, at the place of a second partition of an old drive.
const PARTITION: Partition = Partition { first: 16_065 * 30 + 63, sectors: 600 << 11 };

/// A volume under random operations, and a drive on which all their writes land.
struct Swarm {
    volume: Volume,
    rng: Rng,
    now: Instant,
    folders: Vec<FileId>,
    files: Vec<FileId>,
    ledger: FileLedger,
    /// Extents written to files.
    written: Vec<(FileId, WrittenExtent)>,
    /// By sector: the stamp of its last write.
    image: BTreeMap<u64, u64>,
    /// The stamp of the last write.
    stamp: u64,
    /// For NTFS and ext4: the latest change in the log.
    logged: u64,
}

impl Swarm {
    fn new(format: VolumeFormat, seed: u64) -> Swarm {
        let aging = Aging { fragments: 150, gap_kib: 256 };
        let spec = VolumeSpec { partition: PARTITION, format, aging, history: true, seed: Seed(seed) };
        let mut volume = Volume::format(&spec).expect("fits");
        let mut rng = Seed(seed).stream("swarm");
        let mut ledger = FileLedger::default();
        let mut files = Vec::new();
        for _ in 0..30 {
            let bytes = rng.below(300_000);
            let file = volume.place_initial_file(ROOT, FileName::long(20), bytes).expect("room");
            ledger.add_initial_file(file, InitialFile::new(&volume, file));
            files.push(file);
        }
        volume.begin_run();
        let (image, now) = (BTreeMap::new(), Instant::ZERO);
        let written = Vec::new();
        Swarm { volume, rng, now, folders: vec![ROOT], files, ledger, written, image, stamp: 0, logged: 0 }
    }

    fn draw_file(&mut self, candidates: &[FileId]) -> FileId {
        candidates[self.rng.below(candidates.len() as u64) as usize]
    }

    /// Makes a random operation of any kind.
    fn make_random_operation(&mut self, plan: &mut IoPlan) {
        let (folders, files) = (self.folders.clone(), self.files.clone());
        let (folder, name) = (self.draw_file(&folders), FileName::long(1 + self.rng.below(60) as u8));
        let now = self.now;
        let kind = self.rng.below(100);
        if kind < 25 || files.is_empty() {
            self.files.extend(self.volume.create_file(now, folder, name, plan));
            return;
        }
        let file = self.draw_file(&files);
        let (at, bytes) = (self.rng.below(200_000), 1 + self.rng.below(200_000));
        let volume = &mut self.volume;
        match kind {
            25..30 if folders.len() < 40 => self.folders.extend(volume.create_directory(now, folder, name, plan)),
            30..55 => {
                let since = IssueMoment { stamp: self.stamp + 1, change: self.ledger.latest_change() + 1 };
                if volume.write(now, file, at, bytes, Flags::NONE, plan).is_ok() {
                    self.written.push((file, WrittenExtent { from: at, to: at + bytes, since }));
                }
            }
            55..60 => volume.close(now, file, plan),
            60..68 => volume.fsync(now, file, if at % 2 == 0 { SyncScope::All } else { SyncScope::Data }, plan),
            68..76 => volume.rename(now, file, folder, name, plan).expect("room"),
            76..84 => {
                volume.delete(now, file, plan);
                self.files.retain(|&other| other != file);
            }
            84..90 => {
                let to = volume.find_free_run(64 << 10).expect("room");
                volume.move_chunk(now, file, at, to, plan).expect("free");
            }
            90..96 => {
                volume.open(file, plan);
                volume.read(file, at, bytes, plan);
            }
            _ => volume.sync(now, plan),
        }
    }

    /// Lets up to two seconds pass, with the work that is due meanwhile.
    fn pass_time(&mut self) {
        let until = self.now + Span::from_micros(1 + self.rng.below(2_000_000));
        while let Some(due) = self.volume.poll_timeout().filter(|&due| due <= until) {
            assert!(due >= self.now, "nothing falls due in the past");
            let mut plan = IoPlan::new();
            self.volume.handle_timeout(due, &mut plan);
            self.now = due;
            self.check_and_land(&plan);
        }
        self.now = until;
    }

    /// Checks the laws of every plan; then all its writes land.
    fn check_and_land(&mut self, plan: &IoPlan) {
        self.ledger.add_changes(&self.volume.take_changes());
        let phases: Vec<u32> = plan.steps().iter().map(|step| step.phase).collect();
        assert!(phases.is_sorted(), "phases rise");
        let end = PARTITION.first + PARTITION.sectors;
        let mut ahead = self.logged;
        let mut phase = 0;
        for step in plan.steps() {
            if step.op == Op::Flush {
                assert_eq!(phases.iter().filter(|&&other| other == step.phase).count(), 1, "a flush stands alone");
                continue;
            }
            assert!(step.sectors > 0 && step.lba >= PARTITION.first && step.lba + step.sectors <= end, "{step}");
            if step.op == Op::Read {
                continue;
            }
            if step.phase > phase {
                (phase, self.logged) = (step.phase, ahead);
            }
            if step.role.is_log() {
                ahead = ahead.max(step.latest_change);
            } else if self.volume.has_log() && step.latest_change > 0 {
                assert!(
                    step.role == SectorRole::LogRestart || step.latest_change <= self.logged,
                    "the log goes first: {step}"
                );
            }
            self.stamp += 1;
            self.ledger.add_write(self.stamp, step, step.lba, step.sectors);
            (step.lba..step.lba + step.sectors).for_each(|lba| {
                self.image.insert(lba, self.stamp);
            });
        }
        self.logged = ahead;
    }

    /// Checks that no cluster belongs to two files.
    fn check_clusters(&self) {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for file in self.volume.files() {
            taken.extend(self.volume.file_runs(file).iter().map(|run| (run.start, run.start + run.len)));
        }
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[0].1 <= pair[1].0), "clusters of two files");
    }

    /// Checks that a mount finds every file at its place, with its length and its data.
    fn check_mount(&self, case: &str) {
        let held = |lba: u64| self.image.get(&lba).map_or(SectorState::Before, |&stamp| SectorState::Stamp(stamp));
        let mounted = self.ledger.mount(held);
        for &file in &self.files {
            let found = mounted.find_file(file);
            assert_eq!((found.listed.len(), found.bytes), (1, self.volume.file_bytes(file)), "{case}, {file:?}");
        }
        for (file, extent) in self.written.iter().filter(|(file, _)| self.files.contains(file)) {
            let data = mounted.data_sectors(*file, &mounted.find_file(*file), extent);
            assert_eq!(
                data,
                DataSectors { fresh: data.total_sectors(), ..DataSectors::default() },
                "{case}, {file:?}, {extent:?}"
            );
        }
    }
}

/// Runs random operations; returns the number of writes and the end.
fn run_swarm(format: VolumeFormat, seed: u64) -> (u64, Instant) {
    let mut swarm = Swarm::new(format, seed);
    let free = swarm.volume.free_bytes();
    let mut plan = IoPlan::new();
    swarm.volume.mount(&mut plan);
    swarm.check_and_land(&plan);
    for turn in 0..400 {
        plan.clear();
        swarm.make_random_operation(&mut plan);
        swarm.check_and_land(&plan);
        swarm.pass_time();
        if turn % 40 == 0 {
            swarm.check_clusters();
        }
    }
    plan.clear();
    for file in swarm.files.clone() {
        swarm.volume.close(swarm.now, file, &mut plan);
    }
    swarm.volume.sync(swarm.now, &mut plan);
    swarm.check_and_land(&plan);
    swarm.check_mount(&format!("{format:?}, seed {seed}"));
    // All files are deleted; only the clusters of directories are left.
    for file in std::mem::take(&mut swarm.files) {
        swarm.volume.delete(swarm.now, file, &mut plan);
    }
    for folder in swarm.folders.clone().into_iter().filter(|&folder| folder != ROOT).rev() {
        swarm.volume.delete(swarm.now, folder, &mut plan);
    }
    assert!(swarm.volume.free_bytes() + (256 << 10) > free, "{format:?}: clusters are lost");
    (swarm.stamp, swarm.now)
}

#[test]
fn anything_in_any_order() {
    let no_barrier = VolumeFormat::Ext4(Ext4Spec { barrier: false, ..Ext4Spec::default() });
    let small = VolumeFormat::Ntfs(NtfsSpec { cluster: 1024 });
    let large = VolumeFormat::Ntfs(NtfsSpec { cluster: 65_536 });
    for format in [FAT32, super::NTFS, small, large, ext4_format(), no_barrier] {
        for seed in 0..crate::scaled_draws(6) {
            assert_eq!(run_swarm(format, seed), run_swarm(format, seed), "the same each time");
        }
    }
}
