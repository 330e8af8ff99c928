//! Files as a mount after a power cut finds them.
//!
//! A [`FileLedger`] collects, during the run, the changes of metadata pages ([`PageChange`]) and the writes of the
//! volume with their roles ([`PlanStep::role`]) and latest changes ([`PlanStep::latest_change`]). After a cut the drive
//! says which write each sector holds ([`SectorView`]). From both, [`FileLedger::mount`] derives which changes
//! survived, and so which files there are and where their bytes lie. The volume itself is used only for files from
//! before the run.
//!
//! A page of metadata is as new as its oldest sector, or as the log makes it: up to the last transaction that is
//! complete on the drive together with all before it. A file is readable as far as its clusters are contiguous in the
//! file from its beginning. Two cases are not modelled: a log that would bring a newer page back to an older state, and
//! a log that was overwritten before its pages were home.
//!
//! Changes on the drive stay there, so [`FileLedger::fold_durable`] folds them into the state of each file. A mount
//! then checks only the changes that were missing at the last call.

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
    /// Calls `report` with the sectors from `first` to before `end`, run by run, in order and without gaps: first
    /// sector, end, and content.
    fn for_each_run(&self, first: u64, end: u64, report: &mut dyn FnMut(u64, u64, SectorState));
}

/// A function from sector to content, for tests.
impl<F: Fn(u64) -> SectorState> SectorView for F {
    fn for_each_run(&self, first: u64, end: u64, report: &mut dyn FnMut(u64, u64, SectorState)) {
        (first..end).for_each(|lba| report(lba, lba + 1, self(lba)));
    }
}

/// Bytes of a file that a program wrote, and the moment from which on their writes may be on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenExtent {
    /// The first byte.
    pub from: u64,
    /// The end.
    pub to: u64,
    pub since: IssueMoment,
}

/// A moment of the run, by the stamps and changes that begin then. The default is the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IssueMoment {
    /// The first stamp issued from then on.
    pub stamp: u64,
    /// The first change made from then on ([`PageChange::number`]).
    pub change: u64,
}

/// Counts of the sectors of a file's data, by content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataSectors {
    /// The expected data, or newer data.
    pub fresh: u64,
    /// Older data of this file, or what it held before the run.
    pub stale: u64,
    /// Other content: the sector was never written for this file, or the file does not reach that far.
    pub missing: u64,
    /// A cut left the sector unreadable.
    pub torn: u64,
}

impl DataSectors {
    /// The sum of all.
    pub fn total_sectors(&self) -> u64 {
        self.fresh + self.stale + self.missing + self.torn
    }

    /// Readable sectors without the expected data.
    pub(crate) fn lost_sectors(&self) -> u64 {
        self.stale + self.missing
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

/// Bytes `from..to` of a file, which lie on the drive from sector `lba` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlacedBytes {
    from: u64,
    to: u64,
    lba: u64,
}

/// The first bytes of a file, which are in its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ResidentBytes {
    bytes: u64,
    /// The change that wrote them.
    change: u64,
}

/// The places of a file's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BytePlaces {
    /// In order of bytes.
    runs: Vec<PlacedBytes>,
    resident: ResidentBytes,
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
        let placed = |run: &ClusterRun| PlacedBytes {
            from: run.from * cluster,
            to: (run.from + run.len) * cluster,
            lba: volume.cluster_lba(run.start),
        };
        let bytes = volume.file_bytes(file);
        let runs: Vec<PlacedBytes> = volume.file_runs(file).iter().map(placed).collect();
        let resident = ResidentBytes { bytes: if runs.is_empty() { bytes } else { 0 }, change: 0 };
        InitialFile { directory: volume.parent_directory(file), bytes, places: BytePlaces { runs, resident } }
    }
}

/// A write, as it was issued.
#[derive(Clone, Copy, Debug)]
struct LedgerWrite {
    stamp: u64,
    lba: u64,
    sectors: u64,
    role: SectorRole,
    latest_change: u64,
}

/// A file, as far as the ledger knows it.
#[derive(Clone, Debug, Default)]
struct LedgerFile {
    /// The state by the changes that are on the drive.
    listed: Vec<FileId>,
    recorded: bool,
    bytes: u64,
    places: BytePlaces,
    /// The file has a record that the run allocated or freed.
    has_record_changes: bool,
    /// Later changes, in order.
    pending: Vec<PageChange>,
    /// The places of its bytes before the run.
    before: BytePlaces,
}

/// How much of the log is on the drive.
#[derive(Clone, Copy, Debug, Default)]
struct LogProgress {
    /// The number of writes to the log that are on the drive together with all before them.
    writes: usize,
    /// The latest change that they bring.
    latest_change: u64,
}

/// The writes and changes of a volume during a run.
#[derive(Clone, Debug, Default)]
pub struct FileLedger {
    /// By stamp.
    writes: Vec<LedgerWrite>,
    /// The writes to the log, by index in `writes`.
    log_writes: Vec<usize>,
    /// How much of the log was on the drive at the last [`FileLedger::fold_durable`].
    log_durable: LogProgress,
    files: BTreeMap<FileId, LedgerFile>,
    /// Files with pending changes.
    open: BTreeSet<FileId>,
    latest_change: u64,
}

/// A volume as a mount finds it.
#[derive(Debug)]
pub struct VolumeState<'a, S> {
    ledger: &'a FileLedger,
    sectors: S,
    /// The latest change that the log brings.
    log: u64,
    /// By first sector: the latest change of pages on the drive, as far as they were looked up.
    pages: RefCell<BTreeMap<u64, u64>>,
}

impl BytePlaces {
    /// Places bytes `from..to` from sector `lba` on.
    fn map_bytes(&mut self, from: u64, to: u64, lba: u64) {
        self.unmap_bytes(from, to);
        let at = self.runs.partition_point(|run| run.from < from);
        if let Some(last) = at.checked_sub(1).map(|before| &mut self.runs[before])
            && last.to == from
            && last.lba + (from - last.from) / SECTOR == lba
        {
            last.to = to;
        } else {
            self.runs.insert(at, PlacedBytes { from, to, lba });
        }
    }

    /// Removes the places of bytes `from..to`.
    fn unmap_bytes(&mut self, from: u64, to: u64) {
        if self.runs.iter().all(|run| run.to <= from || to <= run.from) {
            return;
        }
        for run in core::mem::take(&mut self.runs) {
            if run.from < run.to.min(from) {
                self.runs.push(PlacedBytes { to: run.to.min(from), ..run });
            }
            let rest = run.from.max(to);
            if rest < run.to {
                self.runs.push(PlacedBytes { from: rest, lba: run.lba + (rest - run.from) / SECTOR, ..run });
            }
        }
    }

    /// The run that places a byte.
    fn find_run(&self, byte: u64) -> Option<&PlacedBytes> {
        self.runs.iter().find(|run| (run.from..run.to).contains(&byte))
    }

    /// The sector of a byte.
    fn lba_of_byte(&self, byte: u64) -> Option<u64> {
        self.find_run(byte).map(|run| run.lba + (byte - run.from) / SECTOR)
    }
}

impl LedgerFile {
    /// Changes the state of the file by the fact of a change.
    fn apply_change(&mut self, change: &PageChange) {
        match change.fact {
            PageFact::Listed(directory) if self.listed.contains(&directory) => {}
            PageFact::Listed(directory) => self.listed.push(directory),
            PageFact::Unlisted(directory) => self.listed.retain(|&listed| listed != directory),
            PageFact::Recorded => self.recorded = true,
            PageFact::Unrecorded => self.recorded = false,
            PageFact::Sized(bytes) => self.bytes = bytes,
            PageFact::Mapped { from, to, lba } => self.places.map_bytes(from, to, lba),
            PageFact::Unmapped { from, to } => self.places.unmap_bytes(from, to),
            PageFact::Inside(bytes) => self.places.resident = ResidentBytes { bytes, change: change.number },
        }
    }
}

/// Groups of changes that hold only together: those of an entry that lies on two pages.
fn change_groups(changes: &[PageChange]) -> impl Iterator<Item = &[PageChange]> {
    changes.chunk_by(|a, b| a.number == b.number && a.fact == b.fact)
}

impl FileLedger {
    /// Adds a file from before the run.
    pub fn add_initial_file(&mut self, file: FileId, initial: InitialFile) {
        let InitialFile { directory, bytes, places } = initial;
        let listed = directory.into_iter().collect();
        let (before, recorded) = (places.clone(), true);
        self.files.insert(file, LedgerFile { listed, recorded, bytes, places, before, ..LedgerFile::default() });
    }

    /// Adds the result of [`super::Volume::take_changes`], in its order.
    pub fn add_changes(&mut self, changes: &[PageChange]) {
        for change in changes {
            let known = self.files.entry(change.file).or_default();
            known.has_record_changes |= matches!(change.fact, PageFact::Recorded | PageFact::Unrecorded);
            known.pending.push(*change);
            self.open.insert(change.file);
            self.latest_change = self.latest_change.max(change.number);
        }
    }

    /// Adds a write, of all or a part of the sectors of `step`, that was issued under `stamp`; stamps rise.
    pub fn add_write(&mut self, stamp: u64, step: &PlanStep, lba: u64, sectors: u64) {
        let role = match step.role {
            SectorRole::Data { file, from } => SectorRole::Data { file, from: from + (lba - step.lba) * SECTOR },
            role => role,
        };
        if role.is_log() {
            self.log_writes.push(self.writes.len());
        }
        self.writes.push(LedgerWrite { stamp, lba, sectors, role, latest_change: step.latest_change });
    }

    /// The latest change added.
    pub fn latest_change(&self) -> u64 {
        self.latest_change
    }

    /// True if a change of the file was not on the drive yet at the last `FileLedger::fold_durable`.
    pub fn has_pending_changes(&self, file: FileId) -> bool {
        self.open.contains(&file)
    }

    /// The role of the write with this stamp.
    pub(crate) fn write_role(&self, stamp: u64) -> Option<SectorRole> {
        self.find_write(stamp).map(|write| write.role)
    }

    fn find_write(&self, stamp: u64) -> Option<&LedgerWrite> {
        let at = self.writes.binary_search_by_key(&stamp, |write| write.stamp).ok()?;
        Some(&self.writes[at])
    }

    /// Mounts the volume on a drive with these sectors.
    pub fn mount<S: SectorView>(&self, sectors: S) -> VolumeState<'_, S> {
        let log = self.log_progress(&sectors).latest_change;
        VolumeState { ledger: self, sectors, log, pages: RefCell::default() }
    }

    /// Folds changes that are on the drive into the state of each file. No content of `sectors` may be lost later.
    pub(crate) fn fold_durable(&mut self, sectors: impl SectorView) {
        self.log_durable = self.log_progress(&sectors);
        let mut durable_counts: Vec<(FileId, usize)> = Vec::new();
        let mounted = self.mount(sectors);
        for &file in &self.open {
            let durable = change_groups(&self.files[&file].pending).take_while(|group| mounted.is_on_drive(group));
            durable_counts.push((file, durable.map(<[PageChange]>::len).sum()));
        }
        for (file, count) in durable_counts {
            let known = self.files.get_mut(&file).expect("it was open");
            let durable: Vec<PageChange> = known.pending.drain(..count).collect();
            change_groups(&durable).for_each(|group| known.apply_change(&group[0]));
            if known.pending.is_empty() {
                self.open.remove(&file);
            }
        }
    }

    /// Returns how much of the log is on the drive: the writes, and the latest change of the complete transactions
    /// among them. A log page overwritten by a later one is no longer needed, so it counts as being on the drive.
    fn log_progress(&self, sectors: &impl SectorView) -> LogProgress {
        let mut progress = self.log_durable;
        for &at in &self.log_writes[progress.writes..] {
            let write = &self.writes[at];
            let mut is_durable = true;
            sectors.for_each_run(write.lba, write.lba + write.sectors, &mut |_, _, content| {
                is_durable &= matches!(content, SectorState::Stamp(stamp) if stamp >= write.stamp);
            });
            if !is_durable {
                break;
            }
            if write.role != SectorRole::JournalBlocks {
                progress.latest_change = progress.latest_change.max(write.latest_change);
            }
            progress.writes += 1;
        }
        progress
    }
}

impl<S: SectorView> VolumeState<'_, S> {
    /// True if the changes of a group are on the drive: the log brings them, or their pages hold them.
    fn is_on_drive(&self, group: &[PageChange]) -> bool {
        group.iter().all(|change| change.number <= self.log || self.latest_change_of_page(change) >= change.number)
    }

    /// The latest change that the drive holds of the page of `change`.
    fn latest_change_of_page(&self, change: &PageChange) -> u64 {
        *self.pages.borrow_mut().entry(change.page).or_insert_with(|| {
            let mut oldest = u64::MAX;
            self.sectors.for_each_run(change.page, change.page + change.sectors, &mut |_, _, content| {
                let latest_change = match content {
                    SectorState::Stamp(stamp) => self.ledger.find_write(stamp).map_or(0, |write| write.latest_change),
                    SectorState::Before | SectorState::Unreadable => 0,
                };
                oldest = oldest.min(latest_change);
            });
            oldest
        })
    }

    /// Returns a file as the mount finds it.
    pub fn find_file(&self, file: FileId) -> FileState {
        let Some(known) = self.ledger.files.get(&file) else {
            return FileState { listed: Vec::new(), bytes: 0, places: BytePlaces::default() };
        };
        let surviving = change_groups(&known.pending).filter(|group| self.is_on_drive(group));
        let mut found = LedgerFile { before: BytePlaces::default(), pending: Vec::new(), ..known.clone() };
        surviving.for_each(|group| found.apply_change(&group[0]));
        let LedgerFile { mut listed, recorded, mut bytes, has_record_changes, places, .. } = found;
        listed.retain(|&directory| self.has_directory(directory));
        listed.sort_unstable();
        if listed.is_empty() || (has_record_changes && !recorded) {
            (listed, bytes) = (Vec::new(), 0);
        }
        FileState { listed, bytes, places }
    }

    /// True if the mount finds a directory. Directories that the run did not make or move count as found.
    fn has_directory(&self, directory: FileId) -> bool {
        let is_known = directory != ROOT && self.ledger.files.contains_key(&directory);
        !is_known || !self.find_file(directory).listed.is_empty()
    }

    /// Counts the sectors of an extent by content; `found` is the file as the mount found it.
    pub fn data_sectors(&self, file: FileId, found: &FileState, extent: &WrittenExtent) -> DataSectors {
        let (from, to) = (extent.from / SECTOR * SECTOR, extent.to.next_multiple_of(SECTOR));
        let (mut data, mut at) = (DataSectors::default(), from);
        // A mount does not read bytes beyond the length, or after a gap.
        let end = to.min(found.bytes.next_multiple_of(SECTOR)).min(found.contiguous_end());
        while at < end {
            let run = found.places.find_run(at).expect("it reaches so far");
            let until = run.to.min(end);
            let lba = run.lba + (at - run.from) / SECTOR;
            self.sectors.for_each_run(lba, lba + (until - at) / SECTOR, &mut |first, end, content| {
                let run = SectorsOfFile { byte: at + (first - lba) * SECTOR, lba: first, count: end - first };
                data.add(self.judge_sectors(file, found, extent.since, &run, content));
            });
            at = until;
        }
        // The rest of the extent is fresh as far as it is in the file's record.
        let is_resident = found.has_resident_bytes_since(extent.since);
        let resident = if is_resident { found.places.resident.bytes.next_multiple_of(SECTOR) } else { 0 };
        let beyond = to.max(at) - at.max(from);
        let fresh = resident.min(to).saturating_sub(at.max(from));
        data.fresh += fresh / SECTOR;
        data.missing += (beyond - fresh) / SECTOR;
        data
    }

    /// Judges contiguous sectors with the same content.
    fn judge_sectors(
        &self,
        file: FileId,
        found: &FileState,
        since: IssueMoment,
        run: &SectorsOfFile,
        content: SectorState,
    ) -> DataSectors {
        let SectorsOfFile { byte, lba, count } = *run;
        let is_own = |write: &&LedgerWrite| match write.role {
            SectorRole::Data { file: owner, from } => owner == file && from + (lba - write.lba) * SECTOR == byte,
            _ => false,
        };
        let all_are = |field: fn(&mut DataSectors) -> &mut u64| {
            let mut data = DataSectors::default();
            *field(&mut data) = count;
            data
        };
        let is_resident = found.has_resident_bytes_since(since) && byte < found.places.resident.bytes;
        if is_resident && !matches!(content, SectorState::Stamp(_)) {
            return all_are(|data| &mut data.fresh);
        }
        match content {
            SectorState::Unreadable => all_are(|data| &mut data.torn),
            SectorState::Stamp(stamp) => match self.ledger.find_write(stamp).filter(is_own) {
                Some(_) if stamp >= since.stamp => all_are(|data| &mut data.fresh),
                Some(_) => all_are(|data| &mut data.stale),
                None => all_are(|data| &mut data.missing),
            },
            SectorState::Before => {
                let known = self.ledger.files.get(&file);
                match known.and_then(|known| known.before.lba_of_byte(byte)) == Some(lba) {
                    true if since.stamp == 0 => all_are(|data| &mut data.fresh),
                    true => all_are(|data| &mut data.stale),
                    false => all_are(|data| &mut data.missing),
                }
            }
        }
    }
}

/// Contiguous sectors of the drive with a part of a file.
struct SectorsOfFile {
    /// The first byte in the file.
    byte: u64,
    lba: u64,
    count: u64,
}

impl FileState {
    /// The end of the bytes that have places without a gap from the file's beginning.
    fn contiguous_end(&self) -> u64 {
        self.places.runs.iter().fold(0, |end, run| if run.from <= end { end.max(run.to) } else { end })
    }

    /// True if its record holds bytes that were written there at `since` or later.
    fn has_resident_bytes_since(&self, since: IssueMoment) -> bool {
        self.places.resident.bytes > 0 && self.places.resident.change >= since.change
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
            PageFact::Mapped { from: 0, to: 2048, lba: 100 },
            PageFact::Mapped { from: 2048, to: 4096, lba: 200 },
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
            let step = PlanStep { op: Op::Write, lba, sectors, flags: Flags::NONE, role, latest_change: 1, phase: 0 };
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
            let found = [0, 4095, 4096, 8192].map(|byte| places.lba_of_byte(byte));
            assert_eq!(found, [Some(100), Some(107), Some(lba), None]);
        }
    }

    #[test]
    fn content_from_before_the_run_is_stale_if_a_program_wrote_since() {
        let mut ledger = FileLedger::default();
        let runs = Vec::from([PlacedBytes { from: 0, to: 1024, lba: 300 }]);
        let places = BytePlaces { runs, resident: ResidentBytes::default() };
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
