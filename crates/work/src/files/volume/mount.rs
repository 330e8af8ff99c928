//! The judge of files: what a mount finds after a cut, from the content of the drive and from what was written to it.
//!
//! The judge knows the purpose of each request ([`PlanStep::role`], [`PlanStep::holds`]) and the changes of each page
//! ([`PageChange`]); of the platter it knows only which write each sector holds. The volume is asked only for the
//! layout before the run.
//!
//! A page of metadata is as new as its oldest sector, or as the log makes it: up to the last transaction that is
//! complete on the drive together with all before it. Not modelled: a log that would bring a newer page back to an
//! older state, and a log that was overwritten before its pages were home. A file is readable as far as its clusters
//! follow one another from its beginning.
//!
//! Changes that reached the drive stay there, so [`FileLedger::fold_durable`] folds them into the state of each file: a mount
//! checks only those that were missing at the last call.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::cell::RefCell;

use seekwise_disk::block::SECTOR;

use super::change::{PageChange, PageFact};
use super::operations::Volume;
use super::plan::{PlanStep, SectorRole};
use super::space::ClusterRun;
use super::tree::{FileId, ROOT};

/// The content of a sector of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorState {
    /// The content from before the run.
    Before,
    /// The data of the write with this stamp.
    Stamp(u64),
    /// A cut left it unreadable.
    Unreadable,
}

/// The content of a drive's sectors.
pub trait SectorView {
    /// Reports the sectors from `from` to before `to`, run by run, in order and without gaps: first sector, end, and
    /// content.
    fn for_each_run(&self, from: u64, to: u64, tell: &mut dyn FnMut(u64, u64, SectorState));
}

/// Sector by sector.
impl<F: Fn(u64) -> SectorState> SectorView for F {
    fn for_each_run(&self, from: u64, to: u64, tell: &mut dyn FnMut(u64, u64, SectorState)) {
        (from..to).for_each(|lba| tell(lba, lba + 1, self(lba)));
    }
}

/// Bytes of a file that a program wrote, and since when they may be on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenExtent {
    /// The first byte.
    pub from: u64,
    /// The end.
    pub to: u64,
    pub since: IssueMoment,
}

/// A moment: it covers what was issued and changed from it on. The default is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueMoment {
    /// The first stamp.
    pub stamp: u64,
    /// The first change ([`PageChange::number`]).
    pub change: u64,
}

/// Sectors of a file's data, by content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSectors {
    /// The data looked for, or newer.
    pub fresh: u64,
    /// Older data of this file, or what it held before the run.
    pub stale: u64,
    /// Something else: the place was never written for this file, or the file does not reach that far.
    pub missing: u64,
    /// Unreadable.
    pub torn: u64,
}

impl DataSectors {
    /// The sum of all.
    pub fn total_sectors(&self) -> u64 {
        self.fresh + self.stale + self.missing + self.torn
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: DataSectors) {
        self.fresh += other.fresh;
        self.stale += other.stale;
        self.missing += other.missing;
        self.torn += other.torn;
    }
}

/// A file as a mount finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The directories that list it: none, one, or two if a move was interrupted.
    pub listed: Vec<FileId>,
    /// The length in its entry or record; 0 if it is in no directory.
    pub bytes: u64,
    places: BytePlaces,
}

/// Where a file's bytes lie.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BytePlaces {
    /// Bytes from, to, and the sector of the first; in order.
    runs: Vec<(u64, u64, u64)>,
    /// Bytes that are in its record, and the change that put them there.
    inside: (u64, u64),
}

/// A file from before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialFile {
    directory: Option<FileId>,
    pub bytes: u64,
    places: BytePlaces,
}

impl InitialFile {
    /// The directory of the file.
    pub fn directory(&self) -> Option<FileId> {
        self.directory
    }

    /// Describes `file` as it is in `volume` now.
    pub fn new(volume: &Volume, file: FileId) -> InitialFile {
        let cluster = volume.cluster_bytes();
        let run =
            |run: &ClusterRun| (run.from * cluster, (run.from + run.len) * cluster, volume.cluster_lba(run.start));
        let bytes = volume.file_bytes(file);
        let runs: Vec<(u64, u64, u64)> = volume.file_runs(file).iter().map(run).collect();
        let inside = if runs.is_empty() { bytes } else { 0 };
        InitialFile {
            directory: volume.parent_directory(file),
            bytes,
            places: BytePlaces { runs, inside: (inside, 0) },
        }
    }
}

/// A write, as it was issued.
#[derive(Clone, Copy, Debug)]
struct LedgerWrite {
    stamp: u64,
    lba: u64,
    sectors: u64,
    role: SectorRole,
    holds: u64,
}

/// The state of a file.
#[derive(Clone, Debug, Default)]
struct KnownFile {
    /// State on the drive.
    listed: Vec<FileId>,
    recorded: bool,
    bytes: u64,
    places: BytePlaces,
    /// The file system keeps records, and that of this file changed.
    keeps_record: bool,
    /// Later changes, in order.
    pending: Vec<PageChange>,
    /// Where its bytes lay before the run.
    before: BytePlaces,
}

/// The writes and changes of a volume, as the judge is told of them.
#[derive(Clone, Debug, Default)]
pub struct FileLedger {
    /// By stamp.
    writes: Vec<LedgerWrite>,
    /// Writes to the log, by index in `writes`; how many of them are on the drive, and the last change they bring.
    logs: Vec<usize>,
    passed: (usize, u64),
    files: BTreeMap<FileId, KnownFile>,
    /// Files with pending changes.
    open: BTreeSet<FileId>,
    /// The latest change.
    latest: u64,
}

/// A volume as a mount finds it.
#[derive(Debug)]
pub struct VolumeState<'a, S> {
    ledger: &'a FileLedger,
    on: S,
    /// The last change that the log brings.
    log: u64,
    /// By first sector: up to which change pages are on the drive, as far as asked.
    pages: RefCell<BTreeMap<u64, u64>>,
}

impl BytePlaces {
    fn map_bytes(&mut self, from: u64, to: u64, lba: u64) {
        self.unmap_bytes(from, to);
        let at = self.runs.partition_point(|run| run.0 < from);
        if let Some(last) = at.checked_sub(1).map(|before| &mut self.runs[before])
            && last.1 == from
            && last.2 + (from - last.0) / SECTOR == lba
        {
            last.1 = to;
        } else {
            self.runs.insert(at, (from, to, lba));
        }
    }

    fn unmap_bytes(&mut self, from: u64, to: u64) {
        if self.runs.iter().all(|run| run.1 <= from || to <= run.0) {
            return;
        }
        let old = core::mem::take(&mut self.runs);
        for (first, end, lba) in old {
            if first < end.min(from) {
                self.runs.push((first, end.min(from), lba));
            }
            if first.max(to) < end {
                self.runs.push((first.max(to), end, lba + (first.max(to) - first) / SECTOR));
            }
        }
    }

    /// Where a byte lies.
    fn find_lba(&self, byte: u64) -> Option<u64> {
        let run = self.runs.iter().find(|run| (run.0..run.1).contains(&byte))?;
        Some(run.2 + (byte - run.0) / SECTOR)
    }
}

impl KnownFile {
    fn apply_fact(&mut self, fact: PageFact) {
        match fact {
            PageFact::Listed(directory) if self.listed.contains(&directory) => {}
            PageFact::Listed(directory) => self.listed.push(directory),
            PageFact::Unlisted(directory) => self.listed.retain(|&listed| listed != directory),
            PageFact::Recorded => self.recorded = true,
            PageFact::Unrecorded => self.recorded = false,
            PageFact::Sized(bytes) => self.bytes = bytes,
            PageFact::Mapped(from, to, lba) => self.places.map_bytes(from, to, lba),
            PageFact::Unmapped(from, to) => self.places.unmap_bytes(from, to),
            PageFact::Inside(_) => {}
        }
    }

    /// Applies a change, also to the bytes that its record holds.
    fn apply_change(&mut self, change: &PageChange) {
        self.apply_fact(change.fact);
        if let PageFact::Inside(bytes) = change.fact {
            self.places.inside = (bytes, change.number);
        }
    }
}

/// Changes that hold together: an entry that lies on two pages.
fn change_groups(changes: &[PageChange]) -> impl Iterator<Item = &[PageChange]> {
    changes.chunk_by(|a, b| a.number == b.number && a.fact == b.fact)
}

impl FileLedger {
    /// Adds a file from before the run.
    pub fn add_initial_file(&mut self, file: FileId, there: InitialFile) {
        let InitialFile { directory, bytes, places } = there;
        let listed = directory.into_iter().collect();
        let (before, recorded) = (places.clone(), true);
        self.files.insert(file, KnownFile { listed, recorded, bytes, places, before, ..KnownFile::default() });
    }

    /// Adds the result of [`super::Volume::take_changes`], in its order.
    pub fn add_changes(&mut self, changes: &[PageChange]) {
        for change in changes {
            let known = self.files.entry(change.file).or_default();
            known.keeps_record |= matches!(change.fact, PageFact::Recorded | PageFact::Unrecorded);
            known.pending.push(*change);
            self.open.insert(change.file);
            self.latest = self.latest.max(change.number);
        }
    }

    /// Notes that a write of these sectors of `step` was issued under `stamp`; stamps rise.
    pub fn add_write(&mut self, stamp: u64, step: &PlanStep, lba: u64, sectors: u64) {
        let role = match step.role {
            SectorRole::Data { file, from } => SectorRole::Data { file, from: from + (lba - step.lba) * SECTOR },
            role => role,
        };
        if role.is_log() {
            self.logs.push(self.writes.len());
        }
        self.writes.push(LedgerWrite { stamp, lba, sectors, role, holds: step.holds });
    }

    /// The latest change added.
    pub fn latest_change(&self) -> u64 {
        self.latest
    }

    /// True if a part of a file was not on the drive yet at the last `FileLedger::fold_durable`.
    pub fn is_open(&self, file: FileId) -> bool {
        self.open.contains(&file)
    }

    /// The purpose of the write with this stamp.
    pub(crate) fn write_role(&self, stamp: u64) -> Option<SectorRole> {
        self.find_write(stamp).map(|write| write.role)
    }

    fn find_write(&self, stamp: u64) -> Option<&LedgerWrite> {
        let at = self.writes.binary_search_by_key(&stamp, |write| write.stamp).ok()?;
        Some(&self.writes[at])
    }

    /// Mounts a drive with the content `on`.
    pub fn mount<S: SectorView>(&self, on: S) -> VolumeState<'_, S> {
        let (_, log) = self.log_progress(&on);
        VolumeState { ledger: self, on, log, pages: RefCell::default() }
    }

    /// Folds changes that are on the drive into the state of each file. Nothing that `on` holds may be lost later.
    pub(crate) fn fold_durable(&mut self, on: impl SectorView) {
        let passed = self.log_progress(&on);
        self.passed = passed;
        let mut known: Vec<(FileId, usize)> = Vec::new();
        let mounted = self.mount(on);
        for &file in &self.open {
            let there = change_groups(&self.files[&file].pending).take_while(|group| mounted.has_changes(group));
            known.push((file, there.map(<[PageChange]>::len).sum()));
        }
        for (file, count) in known {
            let one = self.files.get_mut(&file).expect("it was open");
            let there: Vec<PageChange> = one.pending.drain(..count).collect();
            change_groups(&there).for_each(|group| one.apply_change(&group[0]));
            if one.pending.is_empty() {
                self.open.remove(&file);
            }
        }
    }

    /// Returns how many writes of the log are on the drive together with all before them, and the last change of the
    /// last complete transaction among them. A log page overwritten by a later one is no longer needed.
    fn log_progress(&self, on: &impl SectorView) -> (usize, u64) {
        let (mut count, mut reached) = self.passed;
        for &at in &self.logs[count..] {
            let write = &self.writes[at];
            let mut there = true;
            on.for_each_run(write.lba, write.lba + write.sectors, &mut |_, _, held| {
                there &= matches!(held, SectorState::Stamp(held) if held >= write.stamp);
            });
            if !there {
                break;
            }
            if write.role != SectorRole::JournalBlocks {
                reached = reached.max(write.holds);
            }
            count += 1;
        }
        (count, reached)
    }
}

impl<S: SectorView> VolumeState<'_, S> {
    /// True if a change is on the drive: the log brings it, or all its pages hold it.
    fn has_changes(&self, group: &[PageChange]) -> bool {
        group.iter().all(|change| change.number <= self.log || self.page_holds(change) >= change.number)
    }

    /// Up to which change the page of this one is on the drive.
    fn page_holds(&self, change: &PageChange) -> u64 {
        *self.pages.borrow_mut().entry(change.page).or_insert_with(|| {
            let mut least = u64::MAX;
            self.on.for_each_run(change.page, change.page + change.sectors, &mut |_, _, held| {
                let holds = match held {
                    SectorState::Stamp(stamp) => self.ledger.find_write(stamp).map_or(0, |write| write.holds),
                    SectorState::Before | SectorState::Unreadable => 0,
                };
                least = least.min(holds);
            });
            least
        })
    }

    /// Returns a file as the mount finds it.
    pub fn find_file(&self, file: FileId) -> FileState {
        let Some(known) = self.ledger.files.get(&file) else {
            return FileState { listed: Vec::new(), bytes: 0, places: BytePlaces::default() };
        };
        let pending = change_groups(&known.pending).filter(|group| self.has_changes(group));
        let mut found = KnownFile { before: BytePlaces::default(), pending: Vec::new(), ..known.clone() };
        pending.for_each(|group| found.apply_change(&group[0]));
        let KnownFile { mut listed, recorded, mut bytes, keeps_record, places, .. } = found;
        listed.retain(|&directory| self.has_directory(directory));
        listed.sort_unstable();
        if listed.is_empty() || (keeps_record && !recorded) {
            (listed, bytes) = (Vec::new(), 0);
        }
        FileState { listed, bytes, places }
    }

    /// True if a directory is found. Directories that the run did not make or move count as found.
    fn has_directory(&self, directory: FileId) -> bool {
        let is_known = directory != ROOT && self.ledger.files.contains_key(&directory);
        !is_known || !self.find_file(directory).listed.is_empty()
    }

    /// Counts the sectors of an extent by content; `found` is the file as the mount found it.
    pub fn data_sectors(&self, file: FileId, found: &FileState, extent: &WrittenExtent) -> DataSectors {
        let (from, to) = (extent.from / SECTOR * SECTOR, extent.to.next_multiple_of(SECTOR));
        let (mut data, mut at) = (DataSectors::default(), from);
        // Bytes beyond the length, or after a gap, are not read.
        let end = to.min(found.bytes.next_multiple_of(SECTOR)).min(found.contiguous_end());
        while at < end {
            let run = found.places.runs.iter().find(|run| (run.0..run.1).contains(&at)).expect("it reaches so far");
            let until = run.1.min(end);
            let lba = run.2 + (at - run.0) / SECTOR;
            self.on.for_each_run(lba, lba + (until - at) / SECTOR, &mut |first, end, held| {
                let byte = at + (first - lba) * SECTOR;
                data.add(self.judge_sectors(file, found, extent.since, (byte, first, end - first), held));
            });
            at = until;
        }
        let inside =
            if found.is_resident_since(extent.since) { found.places.inside.0.next_multiple_of(SECTOR) } else { 0 };
        let beyond = to.max(at) - at.max(from);
        let kept = inside.min(to).saturating_sub(at.max(from));
        data.fresh += kept / SECTOR;
        data.missing += (beyond - kept) / SECTOR;
        data
    }

    /// Judges contiguous sectors with the same content; the first of them holds the file's byte `from`.
    fn judge_sectors(
        &self,
        file: FileId,
        found: &FileState,
        since: IssueMoment,
        (byte, lba, sectors): (u64, u64, u64),
        held: SectorState,
    ) -> DataSectors {
        let own = |write: &&LedgerWrite| match write.role {
            SectorRole::Data { file: whose, from } => whose == file && from + (lba - write.lba) * SECTOR == byte,
            _ => false,
        };
        let one = |count: fn(&mut DataSectors) -> &mut u64| {
            let mut data = DataSectors::default();
            *count(&mut data) = sectors;
            data
        };
        if found.is_resident_since(since) && byte < found.places.inside.0 && !matches!(held, SectorState::Stamp(_)) {
            return one(|data| &mut data.fresh);
        }
        match held {
            SectorState::Unreadable => one(|data| &mut data.torn),
            SectorState::Stamp(stamp) => match self.ledger.find_write(stamp).filter(own) {
                Some(_) if stamp >= since.stamp => one(|data| &mut data.fresh),
                Some(_) => one(|data| &mut data.stale),
                None => one(|data| &mut data.missing),
            },
            SectorState::Before => {
                let known = self.ledger.files.get(&file);
                match known.and_then(|known| known.before.find_lba(byte)) == Some(lba) {
                    true if since.stamp == 0 => one(|data| &mut data.fresh),
                    true => one(|data| &mut data.stale),
                    false => one(|data| &mut data.missing),
                }
            }
        }
    }
}

impl FileState {
    /// The end of the bytes that follow one another from the beginning.
    fn contiguous_end(&self) -> u64 {
        self.places.runs.iter().fold(0, |reach, run| if run.0 <= reach { reach.max(run.1) } else { reach })
    }

    /// True if the bytes in its record are new enough.
    fn is_resident_since(&self, since: IssueMoment) -> bool {
        self.places.inside.0 > 0 && self.places.inside.1 >= since.change
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::{Flags, Op};

    const FILE: FileId = FileId(1);

    /// 4 KiB in two pieces, from sectors 100 and 200 on, written and written again; its entry is in sector 50.
    #[test]
    fn sectors_of_all_pieces_are_counted_by_their_content() {
        let mut ledger = FileLedger::default();
        let change = |fact| PageChange { number: 1, page: 50, sectors: 1, file: FILE, fact };
        let facts = [
            PageFact::Listed(ROOT),
            PageFact::Sized(4096),
            PageFact::Mapped(0, 2048, 100),
            PageFact::Mapped(2048, 4096, 200),
        ];
        ledger.add_changes(&facts.map(change));
        let data = |from| SectorRole::Data { file: FILE, from };
        for (stamp, lba, sectors, role) in [
            (1, 50, 1, SectorRole::Directory(ROOT)),
            (2, 100, 4, data(0)),
            (3, 200, 4, data(2048)),
            (4, 100, 4, data(0)),
            (5, 200, 4, data(2048)),
        ] {
            let step = PlanStep { op: Op::Write, lba, sectors, flags: Flags::NONE, role, holds: 1, phase: 0 };
            ledger.add_write(stamp, &step, lba, sectors);
        }
        let mounted = ledger.mount(|lba: u64| match lba {
            50 => SectorState::Stamp(1),
            100 => SectorState::Stamp(4),
            101 | 102 => SectorState::Stamp(2),
            103 => SectorState::Unreadable,
            200 | 201 => SectorState::Stamp(5),
            202 => SectorState::Stamp(3),
            _ => SectorState::Before,
        });
        let found = mounted.find_file(FILE);
        assert_eq!((&found.listed[..], found.bytes), (&[ROOT][..], 4096));
        let count = |to, stamp| {
            let extent = WrittenExtent { from: 0, to, since: IssueMoment { stamp, change: 0 } };
            mounted.data_sectors(FILE, &found, &extent)
        };
        // The second writes. Sector 203 was never written, and beyond 4 KiB there are two more.
        assert_eq!(count(5120, 4), DataSectors { fresh: 3, stale: 3, missing: 3, torn: 1 });
        assert_eq!(count(5120, 2), DataSectors { fresh: 6, stale: 0, missing: 3, torn: 1 }, "either will do");
        assert_eq!(count(2048, 4), DataSectors { fresh: 1, stale: 2, missing: 0, torn: 1 }, "the first piece");
        assert_eq!(count(5120, 4).total_sectors(), 10);
    }

    #[test]
    fn pieces_join_if_they_follow_one_another_on_the_drive() {
        for (lba, runs) in [(108, 1), (107, 2), (109, 2), (100 + 4096 * SECTOR, 2)] {
            let mut places = BytePlaces::default();
            places.map_bytes(0, 4096, 100);
            places.map_bytes(4096, 8192, lba);
            assert_eq!(places.runs.len(), runs, "from {lba} on");
            let found = [0, 4095, 4096, 8192].map(|byte| places.find_lba(byte));
            assert_eq!(found, [Some(100), Some(107), Some(lba), None]);
        }
    }

    #[test]
    fn content_from_before_the_run_is_stale_if_a_program_wrote_since() {
        let mut ledger = FileLedger::default();
        let places = BytePlaces { runs: Vec::from([(0, 1024, 300)]), inside: (0, 0) };
        ledger.add_initial_file(FILE, InitialFile { directory: Some(ROOT), bytes: 1024, places });
        let mounted = ledger.mount(|_: u64| SectorState::Before);
        let found = mounted.find_file(FILE);
        let count = |stamp| {
            let extent = WrittenExtent { from: 0, to: 1024, since: IssueMoment { stamp, change: 0 } };
            mounted.data_sectors(FILE, &found, &extent)
        };
        assert_eq!(count(0), DataSectors { fresh: 2, ..DataSectors::default() });
        assert_eq!(count(1), DataSectors { stale: 2, ..DataSectors::default() });
    }
}
