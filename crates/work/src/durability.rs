//! Losses of files and operations at a cut: results that programs got, compared with the files that a mount would find.
//!
//! The judge sees calls and their results, the purpose of each request, changes by page, and landings. The content of
//! caches, the drive's and the system's, is unknown to it.
//!
//! | word | meaning here |
//! |---|---|
//! | promised | a flush of the file or its volume returned after it, or a write-through returned |
//! | lost | not found, too short, or with other bytes than those acknowledged or later ones |
//! | in neither place | deleted or renamed in an operation that made or renamed a file, and neither is found whole |
//! | stale | found with older bytes of its own than were acknowledged |
//! | unreadable | a sector of it was under a head and is torn |
//! | in part | some bytes of an operation are on the medium and others not |
//!
//! | file | what it holds |
//! |---|---|
//! | `acknowledgements` | results that programs got |
//! | `cut_medium` | sectors as a mount reads them |
//! | [`losses`] | counts over all cuts |

mod acknowledgements;
mod cut_medium;
pub mod losses;

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use seekwise_disk::durability::SourceJudge;
use seekwise_disk::durability::overlay::CutOverlay;
use seekwise_disk::durability::runs::SectorRuns;
use seekwise_disk::time::Instant;

use crate::files::call::{Call, File, OpenMode};
use crate::files::note::{FileNote, FileNotes, IssuedWrite};
use crate::files::scene::SceneSpec;
use crate::files::system::SystemFamily;
use crate::files::volume::{DataSectors, FileLedger, IssueMoment, SectorRole, WrittenExtent};

use self::acknowledgements::{Effect, FileKnowledge, OperationEffects, ProgramThread};
use self::cut_medium::{CutMedium, Mounts};
use self::losses::{FileCutCounts, FileLossCounts, FileLossKind};

/// Limit of the writes and changes kept of a run, about 80 bytes each.
const MOST: usize = 4_000_000;

/// Limit of the operations that may end between an operation and one that relies on it: the most clients of a program.
const CLIENTS: usize = 4096;

/// The judge of files.
pub struct FileJudge {
    family: SystemFamily,
    volumes: Vec<String>,
    programs: Vec<String>,
    ledgers: Vec<FileLedger>,
    told: BTreeMap<File, FileKnowledge>,
    /// Files with parts that are not known to be on the medium.
    open: BTreeSet<File>,
    threads: Vec<ProgramThread>,
    /// Operations that ended and are not known to be on the medium as a whole.
    operations: Vec<OperationEffects>,
    /// By operation under way: bytes of other threads that it relies on.
    relied: BTreeMap<(u16, u32), Vec<Effect>>,
    /// By tag: writes issued, and not yet accepted by the device.
    issued: BTreeMap<u32, IssuedWrite>,
    /// The latest stamp of a write.
    stamp: u64,
    /// Counts acknowledgements.
    number: u64,
    kept: usize,
    losses: FileLossCounts,
    /// Notes of the scene, and those that were taken and are not handled yet.
    notes: FileNotes,
    taken: VecDeque<FileNote>,
}

impl FileJudge {
    /// A judge of a scene, which makes these notes.
    pub fn new(spec: &SceneSpec, notes: FileNotes) -> FileJudge {
        FileJudge {
            family: spec.system.family,
            volumes: spec.volume_names.clone(),
            programs: spec.programs.iter().map(|program| program.name.clone()).collect(),
            ledgers: spec.volumes.iter().map(|_| FileLedger::default()).collect(),
            told: BTreeMap::new(),
            open: BTreeSet::new(),
            threads: Vec::new(),
            operations: Vec::new(),
            relied: BTreeMap::new(),
            issued: BTreeMap::new(),
            stamp: 0,
            number: 0,
            kept: 0,
            losses: FileLossCounts::default(),
            notes,
            taken: VecDeque::new(),
        }
    }

    /// Returns the losses; an error if the run made more changes than are kept.
    pub fn finish(self) -> Result<FileLossCounts, String> {
        match self.kept > MOST {
            true => Err(format!(
                "the scene makes more than {MOST} writes and changes to files, and what cuts leave of so many is not kept: \
                 give its programs fewer files or bytes"
            )),
            false => Ok(self.losses),
        }
    }

    /// Handles a note of the scene.
    fn handle_note(&mut self, note: FileNote) {
        if self.kept > MOST {
            return;
        }
        match note {
            FileNote::There(file, there) => {
                let told = self.told.entry(file).or_default();
                (told.there, told.kept, told.found, told.length) = (true, true, true, there.bytes);
                told.directory = there.directory().map(|directory| directory.0);
                self.ledgers[usize::from(file.volume)].add_initial_file(file.id, there);
            }
            FileNote::Called(thread, call) => self.handle_call(thread, call),
            FileNote::Returned(thread, made, done) => self.handle_return(thread, made, done),
            FileNote::Began(thread, program, number) => self.thread_mut(thread).began = Some((program, number)),
            FileNote::Relies(program, number, file, from, bytes) => {
                let extent = self.last_written_extent(file, from, from + bytes);
                let effect = Effect { file, extent: Some(extent), promised: true };
                self.relied.entry((program, number)).or_default().push(effect);
            }
            FileNote::Ended(thread, program, number) => self.end_operation(thread, program, number),
            FileNote::Changed(volume, changes) => {
                self.kept += changes.len();
                self.ledgers[usize::from(volume)].add_changes(&changes);
            }
            FileNote::Issued(issued) => {
                self.kept += 1;
                self.issued.insert(issued.tag, issued);
            }
            FileNote::Over => {}
        }
    }

    fn thread_mut(&mut self, thread: u16) -> &mut ProgramThread {
        let thread = usize::from(thread);
        if thread >= self.threads.len() {
            self.threads.resize(thread + 1, ProgramThread::default());
        }
        &mut self.threads[thread]
    }

    fn follow_file(&mut self, file: File) -> &mut FileKnowledge {
        self.open.insert(file);
        self.told.entry(file).or_default()
    }

    fn handle_call(&mut self, thread: u16, call: Call) {
        let change = call.volume().map_or(0, |volume| self.ledgers[usize::from(volume)].latest_change());
        let since = IssueMoment { stamp: self.stamp + 1, change: change + 1 };
        let number = self.number;
        self.thread_mut(thread).calling = Some((call, since, number));
        match call {
            Call::Delete(file) => {
                self.follow_file(file).deleting = true;
                if let Some(made) = self.thread_mut(thread).made {
                    self.follow_file(made).replaces = Some(file);
                }
            }
            Call::Rename { file, directory, .. } => {
                let told = self.follow_file(file);
                (told.renamed, told.kept, told.directory) = (true, false, Some(directory.id.0));
            }
            Call::Shift { file, .. } => self.follow_file(file).expect_whole(),
            Call::Write { file, from, bytes, .. } => {
                self.thread_mut(thread).add_write(file, WrittenExtent { from, to: from + bytes, since });
            }
            _ => {}
        }
    }

    fn handle_return(&mut self, thread: u16, made: Option<File>, done: bool) {
        let Some((call, since, before)) = self.thread_mut(thread).calling.take() else { return };
        if !done {
            return;
        }
        self.number += 1;
        let number = self.number;
        match call {
            Call::Create { directory, .. } => {
                let file = made.expect("it was made");
                let told = self.follow_file(file);
                (told.created, told.directory) = (true, Some(directory.id.0));
                let thread = self.thread_mut(thread);
                thread.made = Some(file);
                thread.effects.push(Effect { file, extent: None, promised: false });
            }
            Call::Write { file, from, bytes, handle } => {
                // Windows 98 waits for the drive only: the grown part of a file is found once the tables are written.
                let promised = handle == OpenMode::WriteThrough && self.family != SystemFamily::Windows98;
                self.follow_file(file).record_write(number, WrittenExtent { from, to: from + bytes, since }, promised);
            }
            Call::Sync(file, _) => self.follow_file(file).promise_up_to(before),
            Call::SyncVolume(volume) => {
                for file in self.open.iter().filter(|file| file.volume == volume) {
                    self.told.get_mut(file).expect("it is open").promise_up_to(before);
                }
            }
            Call::Rename { file, .. } => {
                self.thread_mut(thread).effects.push(Effect { file, extent: None, promised: false });
            }
            _ => {}
        }
    }

    /// Returns bytes of `file` as the last ended operation wrote them: an operation that relies on them ends after it.
    fn last_written_extent(&self, file: File, from: u64, to: u64) -> WrittenExtent {
        let covers = |effect: &Effect| {
            let extent = effect.extent.filter(|it| effect.file == file && it.from <= from && to <= it.to)?;
            Some(extent.since)
        };
        let of = |operation: &OperationEffects| operation.effects.iter().find_map(covers);
        let since = self.operations.iter().rev().take(CLIENTS).find_map(of);
        WrittenExtent { from, to, since: since.unwrap_or_default() }
    }

    fn end_operation(&mut self, thread: u16, program: u16, number: u32) {
        let it = self.thread_mut(thread);
        it.made = None;
        let mut effects = core::mem::take(&mut it.effects);
        for effect in &mut effects {
            let Some(told) = self.told.get_mut(&effect.file) else { continue };
            effect.promised = effect.extent.map_or(told.kept, |extent| told.is_promised(&extent));
            told.by.get_or_insert((program, number));
        }
        effects.extend(self.relied.remove(&(program, number)).unwrap_or_default());
        if !effects.is_empty() {
            self.operations.push(OperationEffects { program, number, effects });
        }
    }

    /// Stops following files and operations that are on the medium for good.
    fn prune_durable(&mut self, image: &SectorRuns<u64>) {
        let overlay = CutOverlay::default();
        let seen = CutMedium { image, overlay: &overlay };
        self.ledgers.iter_mut().for_each(|ledger| ledger.fold_durable(seen));
        let mounts = Mounts::new(&self.ledgers, seen);
        let (told, mut closed) = (&mut self.told, Vec::new());
        for &file in &self.open {
            let told = told.get_mut(&file).expect("it is open");
            let lists = mounts.is_listed(file);
            if lists && !told.deleting {
                told.found = true;
                told.promised.retain(|extent| !mounts.has_extent(file, extent));
                told.pending.retain(|(_, extent)| !mounts.has_extent(file, extent));
            }
            let rests = self.ledgers[usize::from(file.volume)].has_pending_changes(file.id);
            if told.deleting || lists && !rests && told.promised.is_empty() && told.pending.is_empty() {
                told.replaces = told.replaces.filter(|_| told.deleting);
                closed.push(file);
            }
        }
        let told = &self.told;
        let rests = |effect: &Effect| {
            let there = || {
                effect.extent.map_or_else(|| mounts.is_listed(effect.file), |it| mounts.has_extent(effect.file, &it))
            };
            !told.get(&effect.file).is_some_and(|told| told.deleting) && !there()
        };
        self.operations.retain(|operation| operation.effects.iter().any(rests));
        self.open.retain(|file| closed.binary_search(file).is_err());
    }

    fn judge_file(&self, mounts: &Mounts<'_>, file: File, left: &mut FileCutCounts) {
        let told = &self.told[&file];
        let lists = mounts.is_listed(file);
        let sum = |extents: &mut dyn Iterator<Item = &WrittenExtent>| {
            extents.fold(DataSectors::default(), |mut sum, extent| {
                sum.add(mounts.data_sectors(file, extent));
                sum
            })
        };
        let promised = sum(&mut told.promised.iter());
        let pending = sum(&mut told.pending.iter().map(|it| &it.1));
        let is_lost = |data: &DataSectors| data.stale + data.missing > 0;
        let breaks = match lists {
            true => is_lost(&promised),
            false => told.kept,
        };
        let lacks = if lists { is_lost(&pending) } else { told.created && !told.kept };
        let name = || self.file_path(file, told);
        left.count_if(breaks, FileLossKind::FilePromised, name);
        left.count_if(!breaks && lacks, FileLossKind::FileUnpromised, name);
        let whole = lists && promised.fresh + pending.fresh == promised.total_sectors() + pending.total_sectors();
        let nowhere = told.renamed && told.found && !lists;
        left.count_if(
            nowhere || !whole && self.has_no_whole_predecessor(mounts, told),
            FileLossKind::FileNeither,
            name,
        );
        left.count_if(lists && promised.stale + pending.stale > 0, FileLossKind::FileStale, name);
        left.count_if(promised.torn + pending.torn > 0, FileLossKind::FileUnreadable, name);
    }

    /// True if the file replaced a deleted one, and none of the files replaced in turn is found whole.
    fn has_no_whole_predecessor(&self, mounts: &Mounts<'_>, told: &FileKnowledge) -> bool {
        let mut before = told.replaces;
        while let Some(file) = before {
            let Some(old) = self.told.get(&file).filter(|old| old.deleting) else { return false };
            let whole = WrittenExtent { from: 0, to: old.length, since: IssueMoment::default() };
            if mounts.is_listed(file) && mounts.has_extent(file, &whole) {
                return false;
            }
            before = old.replaces;
        }
        told.replaces.is_some()
    }

    /// Judges sectors outside the open files: unreadable ones, also of metadata, and unrecoverable ones of files.
    fn judge_torn(&self, image: &SectorRuns<u64>, overlay: &CutOverlay, left: &mut FileCutCounts) {
        let mut roles = BTreeSet::new();
        let mut note = |stamp: u64| {
            let role = |(volume, ledger): (usize, &FileLedger)| Some((volume, ledger.write_role(stamp)?));
            roles.extend(self.ledgers.iter().enumerate().find_map(role));
        };
        for &(run, stamp) in &overlay.torn {
            stamp.into_iter().for_each(&mut note);
            image.content_in(run).for_each(|(_, stamp)| note(stamp));
        }
        for (volume, role) in roles {
            match role {
                SectorRole::Data { file, .. } => {
                    let file = File { volume: volume as u8, id: file };
                    let told = self.told.get(&file).cloned().unwrap_or_default();
                    if !self.open.contains(&file) && !told.deleting {
                        left.count_if(true, FileLossKind::FileUnreadable, || self.file_path(file, &told));
                    }
                }
                role => left.count_if(true, FileLossKind::Metadata, || format!("{}: {role}", self.volumes[volume])),
            }
        }
        let lost: BTreeSet<u64> = overlay.gone.iter().flat_map(|&run| image.content_in(run).map(|it| it.1)).collect();
        let role = |stamp: u64| {
            let of = |(volume, ledger): (usize, &FileLedger)| Some((volume as u8, ledger.write_role(stamp)?));
            self.ledgers.iter().enumerate().find_map(of)
        };
        let files: BTreeSet<File> = lost
            .into_iter()
            .filter_map(role)
            .filter_map(|(volume, role)| match role {
                SectorRole::Data { file, .. } => Some(File { volume, id: file }),
                _ => None,
            })
            .collect();
        for file in files.into_iter().filter(|file| !self.open.contains(file)) {
            if let Some(told) = self.told.get(&file).filter(|told| !told.deleting) {
                left.count_if(told.kept, FileLossKind::FilePromised, || self.file_path(file, told));
                left.count_if(!told.kept, FileLossKind::FileUnpromised, || self.file_path(file, told));
            }
        }
    }

    fn weigh_effects(&self, mounts: &Mounts<'_>, effects: &[Effect]) -> OperationState {
        let mut weight = OperationState::default();
        for effect in effects {
            if self.told.get(&effect.file).is_some_and(|told| told.deleting) {
                continue;
            }
            let lost = match &effect.extent {
                None => !mounts.is_listed(effect.file),
                Some(extent) => {
                    let data = mounts.data_sectors(effect.file, extent);
                    weight.data.add(data);
                    data.stale + data.missing > 0
                }
            };
            weight.promised |= lost && effect.promised;
            weight.acknowledged |= lost;
        }
        weight
    }

    /// Names a file, as a path.
    fn file_path(&self, file: File, told: &FileKnowledge) -> String {
        let by =
            told.by.map_or(String::new(), |(program, number)| format!(" ({})", self.operation_name(program, number)));
        let directory = told.directory.map_or(String::new(), |directory| format!("directory-{directory}/"));
        format!("{}/{directory}file-{}{by}", self.volumes[usize::from(file.volume)], file.id.0)
    }

    /// Names an operation.
    fn operation_name(&self, program: u16, number: u32) -> String {
        format!("{} {number}", self.programs[usize::from(program)])
    }
}

impl SourceJudge for FileJudge {
    fn take_note(&mut self) -> Option<(Instant, bool)> {
        let (at, note) = self.notes.poll()?;
        let ends = matches!(note, FileNote::Over);
        self.taken.push_back(note);
        Some((at, ends))
    }

    fn handle_next_note(&mut self) {
        if let Some(note) = self.taken.pop_front() {
            self.handle_note(note);
        }
    }

    fn handle_submission(&mut self, tag: u32, stamp: u64) {
        self.stamp = stamp;
        if let Some(issued) = self.issued.remove(&tag) {
            let ledger = &mut self.ledgers[usize::from(issued.volume)];
            ledger.add_write(stamp, &issued.step, issued.lba, u64::from(issued.sectors));
        }
    }

    fn promise_all(&mut self) {
        for file in &self.open {
            let told = self.told.get_mut(file).expect("it is open");
            told.promise_up_to(self.number);
        }
        let effects = self.operations.iter_mut().flat_map(|operation| &mut operation.effects);
        effects.for_each(|effect| effect.promised = true);
    }

    fn judge_cut(&mut self, at: Instant, image: &SectorRuns<u64>, overlay: &CutOverlay) {
        self.prune_durable(image);
        let seen = CutMedium { image, overlay };
        let mounts = Mounts::new(&self.ledgers, seen);
        let mut left = FileCutCounts::new(at);
        for &file in &self.open {
            self.judge_file(&mounts, file, &mut left);
        }
        self.judge_torn(image, overlay, &mut left);
        for operation in &self.operations {
            let weight = self.weigh_effects(&mounts, &operation.effects);
            let name = || self.operation_name(operation.program, operation.number);
            left.count_if(weight.promised, FileLossKind::OperationPromised, name);
            left.count_if(!weight.promised && weight.acknowledged, FileLossKind::OperationUnpromised, name);
            left.count_if(weight.is_partial(), FileLossKind::OperationInPart, name);
        }
        for thread in self.threads.iter().filter(|thread| thread.began.is_some()) {
            let weight = self.weigh_effects(&mounts, &thread.effects);
            let name = || thread.began.map_or(String::new(), |(program, number)| self.operation_name(program, number));
            left.count_if(weight.is_partial(), FileLossKind::OperationInPart, name);
        }
        self.losses.add(left);
    }
}

/// The state of an operation after a cut.
#[derive(Clone, Copy, Debug, Default)]
struct OperationState {
    data: DataSectors,
    /// Something promised is lost; something acknowledged is lost.
    promised: bool,
    acknowledged: bool,
}

impl OperationState {
    /// True if some sectors are on the medium and others are not.
    fn is_partial(&self) -> bool {
        self.data.fresh > 0 && self.data.fresh < self.data.total_sectors()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::system::SystemSpec;
    use crate::files::volume::{Alignment, FileId, FileName, PageChange, PageFact, PlanStep, ROOT};
    use alloc::vec;
    use seekwise_disk::block::{Flags, Op};

    const HOME: File = File { volume: 0, id: ROOT };
    const FOLDER: File = File { volume: 0, id: FileId(1) };
    const OLD: File = File { volume: 0, id: FileId(2) };
    const NEW: File = File { volume: 0, id: FileId(3) };

    /// Pages of eight sectors with the entries of the two directories.
    const HOME_PAGE: u64 = 100;
    const FOLDER_PAGE: u64 = 200;
    /// A page of data.
    const DATA_PAGE: u64 = 300;

    /// A judge of one volume, and the content of its drive.
    struct Case {
        judge: FileJudge,
        image: SectorRuns<u64>,
    }

    impl Case {
        /// A file was made and is on the drive; a cut, which found it there, is over.
        fn new() -> Case {
            let mut judge = FileJudge::new(
                &SceneSpec {
                    name: String::new(),
                    system: SystemSpec { family: SystemFamily::Linux, largest: 1024, cache: None },
                    alignment: Alignment::Mebibytes,
                    beside: Vec::new(),
                    volumes: Vec::new(),
                    volume_names: vec![String::from("c")],
                    programs: Vec::new(),
                    runtime: None,
                },
                FileNotes::default(),
            );
            judge.ledgers.push(FileLedger::default());
            let mut case = Case { judge, image: SectorRuns::default() };
            case.call(Call::Create { directory: HOME, name: FileName::SHORT }, Some(OLD));
            case.change(1, HOME_PAGE, OLD, PageFact::Listed(ROOT));
            case.write(1, HOME_PAGE, 1, true);
            case.cut();
            case
        }

        fn call(&mut self, call: Call, made: Option<File>) {
            self.judge.handle_note(FileNote::Called(0, call));
            self.judge.handle_note(FileNote::Returned(0, made, true));
        }

        fn change(&mut self, number: u64, page: u64, file: File, fact: PageFact) {
            let change = PageChange { number, page, sectors: 8, file: file.id, fact };
            self.judge.handle_note(FileNote::Changed(0, vec![change]));
        }

        /// Writes a page as of the change `latest_change`; it arrives on the medium or does not.
        fn write(&mut self, stamp: u64, page: u64, latest_change: u64, lands: bool) {
            self.write_as(SectorRole::Directory(ROOT), stamp, page, latest_change, lands);
        }

        fn write_as(&mut self, role: SectorRole, stamp: u64, page: u64, latest_change: u64, lands: bool) {
            let step =
                PlanStep { op: Op::Write, lba: page, sectors: 8, flags: Flags::NONE, role, latest_change, phase: 0 };
            let issued = IssuedWrite { tag: stamp as u32, volume: 0, step, lba: page, sectors: 8 };
            self.judge.handle_note(FileNote::Issued(issued));
            self.judge.handle_submission(stamp as u32, stamp);
            if lands {
                self.image.set_content((page, page + 8), stamp);
            }
        }

        fn cut(&mut self) {
            self.judge.judge_cut(Instant::from_nanos(1), &self.image, &CutOverlay::default());
        }

        fn in_neither_place(self) -> u64 {
            self.judge.finish().expect("few changes").count_of(FileLossKind::FileNeither).count
        }
    }

    /// Moved to a folder, or deleted there after another was made in the folder in its place.
    #[test]
    fn a_file_is_in_neither_place_when_its_old_entry_is_gone_and_the_new_one_is_not_there() {
        for replaces in [false, true] {
            for (leaves, arrives, neither) in [(false, false, 0), (false, true, 0), (true, false, 1), (true, true, 0)] {
                let mut case = Case::new();
                let name = FileName::SHORT;
                let made = match replaces {
                    true => {
                        case.call(Call::Create { directory: FOLDER, name }, Some(NEW));
                        case.call(Call::Delete(OLD), None);
                        NEW
                    }
                    false => {
                        case.call(Call::Rename { file: OLD, directory: FOLDER, name }, None);
                        OLD
                    }
                };
                case.change(2, HOME_PAGE, OLD, PageFact::Unlisted(ROOT));
                case.change(2, FOLDER_PAGE, made, PageFact::Listed(FOLDER.id));
                case.write(2, HOME_PAGE, 2, leaves);
                case.write(3, FOLDER_PAGE, 2, arrives);
                case.cut();
                assert_eq!(case.in_neither_place(), neither, "replaces {replaces}, leaves {leaves}, arrives {arrives}");
            }
        }
    }

    #[test]
    fn an_unreadable_sector_is_counted_for_a_file_that_rests() {
        let sector = |lba: u64| (lba, lba + 1);
        let torn = |lba, stamp| CutOverlay { torn: vec![(sector(lba), stamp)], ..CutOverlay::default() };
        let gone = CutOverlay { gone: vec![sector(DATA_PAGE)], ..CutOverlay::default() };
        for (overlay, lands, kind) in [
            (torn(DATA_PAGE, None), true, FileLossKind::FileUnreadable),
            (torn(DATA_PAGE, Some(2)), false, FileLossKind::FileUnreadable),
            (torn(HOME_PAGE, None), true, FileLossKind::Metadata),
            (gone, true, FileLossKind::FileUnpromised),
        ] {
            let mut case = Case::new();
            case.write_as(SectorRole::Data { file: OLD.id, from: 0 }, 2, DATA_PAGE, 0, lands);
            case.judge.judge_cut(Instant::from_nanos(2), &case.image, &overlay);
            let losses = case.judge.finish().expect("few changes");
            for other in [
                FileLossKind::FilePromised,
                FileLossKind::FileUnpromised,
                FileLossKind::FileUnreadable,
                FileLossKind::Metadata,
            ] {
                assert_eq!(losses.count_of(other).count, u64::from(other == kind), "{overlay:?}: {other:?}");
            }
        }
    }
}
