//! The judge of power cuts in a scene: at each cut it compares the results that programs got of their calls with the
//! files that a mount would find, and counts the files and operations that were lost.
//!
//! The judge knows calls and their results, the role of each write, the changes of pages, and the writes that are on
//! the media. The content of caches, the drive's and the system's, is unknown to it.
//!
//! | word | meaning here |
//! |---|---|
//! | acknowledged | the call that wrote, created or renamed it returned |
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

use seekwise_disk::durability::overlay::CutOverlay;
use seekwise_disk::durability::runs::SectorRuns;
use seekwise_disk::durability::{SourceJudge, SourceNote};
use seekwise_disk::time::Instant;

use crate::files::call::{Call, File, OpenMode};
use crate::files::note::{FileNote, FileNotes, IssuedWrite, OperationId};
use crate::files::scene::SceneSpec;
use crate::files::system::SystemFamily;
use crate::files::volume::{DataSectors, FileLedger, IssueMoment, SectorRole, WrittenExtent};

use self::acknowledgements::{Effect, FileKnowledge, OperationEffects, PendingCall, ProgramThread};
use self::cut_medium::{CutMedium, Mounts};
use self::losses::{FileCutCounts, FileLossCounts, FileLossKind};

/// Limit of the writes and changes of a run that are kept, about 80 bytes each.
const MAX_KEPT: usize = 4_000_000;

/// An operation that another relies on is one of this many that ended last: the most clients of a program.
const RELIED_OPERATIONS: usize = 4096;

/// The judge of files.
pub struct FileJudge {
    family: SystemFamily,
    /// The names of the volumes and of the programs.
    volumes: Vec<String>,
    programs: Vec<String>,
    /// By volume.
    ledgers: Vec<FileLedger>,
    knowledge: BTreeMap<File, FileKnowledge>,
    /// Files with parts that are not known to be on the medium.
    tracked: BTreeSet<File>,
    threads: Vec<ProgramThread>,
    /// Operations that ended and are not known to be on the medium as a whole.
    operations: Vec<OperationEffects>,
    /// By operation under way: bytes of other threads that it relies on.
    relied: BTreeMap<OperationId, Vec<Effect>>,
    /// By tag: writes issued, and not yet accepted by the device.
    issued: BTreeMap<u32, IssuedWrite>,
    /// The stamp of the last write that the device accepted.
    latest_stamp: u64,
    /// Number of calls acknowledged so far.
    acknowledged: u64,
    /// Number of writes and changes kept.
    kept: usize,
    losses: FileLossCounts,
    notes: FileNotes,
    /// Notes that were taken and not handled.
    taken_notes: VecDeque<FileNote>,
}

impl FileJudge {
    /// Creates the judge of a scene that pushes its notes to `notes`.
    pub fn new(spec: &SceneSpec, notes: FileNotes) -> FileJudge {
        FileJudge {
            family: spec.system.family,
            volumes: spec.volume_names.clone(),
            programs: spec.programs.iter().map(|program| program.name.clone()).collect(),
            ledgers: spec.volumes.iter().map(|_| FileLedger::default()).collect(),
            knowledge: BTreeMap::new(),
            tracked: BTreeSet::new(),
            threads: Vec::new(),
            operations: Vec::new(),
            relied: BTreeMap::new(),
            issued: BTreeMap::new(),
            latest_stamp: 0,
            acknowledged: 0,
            kept: 0,
            losses: FileLossCounts::default(),
            notes,
            taken_notes: VecDeque::new(),
        }
    }

    /// Returns the losses; an error if the run made more writes and changes than are kept.
    pub fn finish(self) -> Result<FileLossCounts, String> {
        match self.kept > MAX_KEPT {
            true => Err(format!(
                "the scene makes more than {MAX_KEPT} writes and changes to files, and what cuts leave of so many is \
                 not kept: give its programs fewer files or bytes"
            )),
            false => Ok(self.losses),
        }
    }

    /// Records the event of a note. After too many writes and changes it records nothing.
    fn record_note(&mut self, note: FileNote) {
        if self.kept > MAX_KEPT {
            return;
        }
        match note {
            FileNote::FirstUse(file, initial) => {
                let known = self.knowledge.entry(file).or_default();
                (known.is_initial, known.existence_promised, known.was_found) = (true, true, true);
                known.length = initial.bytes;
                known.directory = initial.directory().map(|directory| directory.0);
                self.ledgers[usize::from(file.volume)].add_initial_file(file.id, initial);
            }
            FileNote::Called(thread, call) => self.record_call(thread, call),
            FileNote::Returned { thread, created, succeeded } => self.record_return(thread, created, succeeded),
            FileNote::Began(thread, operation) => self.thread_mut(thread).operation = Some(operation),
            FileNote::Relies { operation, file, from, bytes } => {
                let extent = self.last_written_extent(file, from, from + bytes);
                let effect = Effect { file, extent: Some(extent), promised: true };
                self.relied.entry(operation).or_default().push(effect);
            }
            FileNote::Ended(thread, operation) => self.record_operation_end(thread, operation),
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

    /// Tracks a file of which a part may not be on the medium.
    fn track_file(&mut self, file: File) -> &mut FileKnowledge {
        self.tracked.insert(file);
        self.knowledge.entry(file).or_default()
    }

    fn record_call(&mut self, thread: u16, call: Call) {
        let change = call.volume().map_or(0, |volume| self.ledgers[usize::from(volume)].latest_change());
        let since = IssueMoment { stamp: self.latest_stamp + 1, change: change + 1 };
        let acknowledged = self.acknowledged;
        self.thread_mut(thread).call = Some(PendingCall { call, since, acknowledged });
        match call {
            Call::Delete(file) => {
                self.track_file(file).deleting = true;
                if let Some(created) = self.thread_mut(thread).created {
                    self.track_file(created).replaces = Some(file);
                }
            }
            Call::Rename { file, directory, .. } => {
                let known = self.track_file(file);
                (known.renamed, known.existence_promised) = (true, false);
                known.directory = Some(directory.id.0);
            }
            Call::Shift { file, .. } => self.track_file(file).expect_whole(),
            Call::Write { file, from, bytes, .. } => {
                self.thread_mut(thread).add_write(file, WrittenExtent { from, to: from + bytes, since });
            }
            _ => {}
        }
    }

    fn record_return(&mut self, thread: u16, created: Option<File>, succeeded: bool) {
        let Some(PendingCall { call, since, acknowledged }) = self.thread_mut(thread).call.take() else { return };
        if !succeeded {
            return;
        }
        self.acknowledged += 1;
        let number = self.acknowledged;
        match call {
            Call::Create { directory, .. } => {
                let file = created.expect("the call created a file");
                let known = self.track_file(file);
                (known.created, known.directory) = (true, Some(directory.id.0));
                let thread = self.thread_mut(thread);
                thread.created = Some(file);
                thread.effects.push(Effect { file, extent: None, promised: false });
            }
            Call::Write { file, from, bytes, handle } => {
                // Windows 98 waits for the drive only: the grown part of a file is found once the tables are written.
                let promised = handle == OpenMode::WriteThrough && self.family != SystemFamily::Windows98;
                self.track_file(file).record_write(number, WrittenExtent { from, to: from + bytes, since }, promised);
            }
            Call::Sync(file, _) => self.track_file(file).promise_up_to(acknowledged),
            Call::SyncVolume(volume) => {
                for file in self.tracked.iter().filter(|file| file.volume == volume) {
                    self.knowledge.get_mut(file).expect("it is tracked").promise_up_to(acknowledged);
                }
            }
            Call::Rename { file, .. } => {
                self.thread_mut(thread).effects.push(Effect { file, extent: None, promised: false });
            }
            _ => {}
        }
    }

    /// Returns bytes of `file` as the last operation that ended wrote them. An operation that relies on them ends
    /// later.
    fn last_written_extent(&self, file: File, from: u64, to: u64) -> WrittenExtent {
        let written_since = |effect: &Effect| {
            let extent = effect.extent.filter(|it| effect.file == file && it.from <= from && to <= it.to)?;
            Some(extent.since)
        };
        let last_operations = self.operations.iter().rev().take(RELIED_OPERATIONS);
        let since = last_operations.flat_map(|operation| &operation.effects).find_map(written_since);
        WrittenExtent { from, to, since: since.unwrap_or_default() }
    }

    /// Keeps the effects of an operation that has ended, and which of them are promised by then.
    fn record_operation_end(&mut self, thread: u16, operation: OperationId) {
        let thread = self.thread_mut(thread);
        thread.created = None;
        let mut effects = core::mem::take(&mut thread.effects);
        for effect in &mut effects {
            let Some(known) = self.knowledge.get_mut(&effect.file) else { continue };
            effect.promised = effect.extent.map_or(known.existence_promised, |extent| known.is_promised(&extent));
            known.maker.get_or_insert(operation);
        }
        effects.extend(self.relied.remove(&operation).unwrap_or_default());
        if !effects.is_empty() {
            self.operations.push(OperationEffects { operation, effects });
        }
    }

    /// Stops tracking the files and operations that are on the medium, as no later cut can take them away.
    fn stop_tracking_durable(&mut self, image: &SectorRuns<u64>) {
        let overlay = CutOverlay::default();
        let medium = CutMedium { image, overlay: &overlay };
        self.ledgers.iter_mut().for_each(|ledger| ledger.fold_durable(medium));
        let mounts = Mounts::new(&self.ledgers, medium);
        let (knowledge, mut durable) = (&mut self.knowledge, Vec::new());
        for &file in &self.tracked {
            let known = knowledge.get_mut(&file).expect("it is tracked");
            let is_listed = mounts.is_listed(file);
            if is_listed && !known.deleting {
                known.was_found = true;
                known.promised.retain(|extent| !mounts.holds_extent(file, extent));
                known.pending.retain(|pending| !mounts.holds_extent(file, &pending.extent));
            }
            let has_changes = self.ledgers[usize::from(file.volume)].has_pending_changes(file.id);
            let is_whole = is_listed && !has_changes && known.promised.is_empty() && known.pending.is_empty();
            if known.deleting || is_whole {
                known.replaces = known.replaces.filter(|_| known.deleting);
                durable.push(file);
            }
        }
        let knowledge = &self.knowledge;
        let is_missing = |effect: &Effect| {
            let is_deleting = knowledge.get(&effect.file).is_some_and(|known| known.deleting);
            !is_deleting
                && !match &effect.extent {
                    None => mounts.is_listed(effect.file),
                    Some(extent) => mounts.holds_extent(effect.file, extent),
                }
        };
        self.operations.retain(|operation| operation.effects.iter().any(is_missing));
        self.tracked.retain(|file| durable.binary_search(file).is_err());
    }

    /// Counts the losses of a tracked file.
    fn judge_file(&self, mounts: &Mounts<'_>, file: File, counts: &mut FileCutCounts) {
        let known = &self.knowledge[&file];
        let is_listed = mounts.is_listed(file);
        let promised = mounts.data_sectors(file, &known.promised);
        let pending = mounts.data_sectors(file, known.pending.iter().map(|pending| &pending.extent));
        let promised_lost = if is_listed { promised.lost_sectors() > 0 } else { known.existence_promised };
        let pending_lost = match is_listed {
            true => pending.lost_sectors() > 0,
            false => known.created && !known.existence_promised,
        };
        let is_whole =
            is_listed && promised.fresh + pending.fresh == promised.total_sectors() + pending.total_sectors();
        let lost_by_rename = known.renamed && known.was_found && !is_listed;
        let lost_by_replacement = !is_whole && self.has_no_whole_predecessor(mounts, known);
        let is_stale = is_listed && promised.stale + pending.stale > 0;
        let path = || self.describe_file(file, known);
        counts.count_if(promised_lost, FileLossKind::FilePromised, path);
        counts.count_if(!promised_lost && pending_lost, FileLossKind::FileUnpromised, path);
        counts.count_if(lost_by_rename || lost_by_replacement, FileLossKind::FileNeither, path);
        counts.count_if(is_stale, FileLossKind::FileStale, path);
        counts.count_if(promised.torn + pending.torn > 0, FileLossKind::FileUnreadable, path);
    }

    /// True if the file replaced a deleted one, and none of the files replaced in turn is found whole.
    fn has_no_whole_predecessor(&self, mounts: &Mounts<'_>, known: &FileKnowledge) -> bool {
        let mut replaced = known.replaces;
        while let Some(file) = replaced {
            let Some(predecessor) = self.knowledge.get(&file).filter(|it| it.deleting) else { return false };
            let whole = WrittenExtent { from: 0, to: predecessor.length, since: IssueMoment::default() };
            if mounts.is_listed(file) && mounts.holds_extent(file, &whole) {
                return false;
            }
            replaced = predecessor.replaces;
        }
        known.replaces.is_some()
    }

    /// The volume and the role of the write with this stamp.
    fn find_write_role(&self, stamp: u64) -> Option<(usize, SectorRole)> {
        self.ledgers.iter().enumerate().find_map(|(volume, ledger)| Some((volume, ledger.write_role(stamp)?)))
    }

    /// Counts the torn sectors of metadata and of files that are not tracked.
    fn judge_torn_sectors(&self, image: &SectorRuns<u64>, overlay: &CutOverlay, counts: &mut FileCutCounts) {
        let mut stamps = BTreeSet::new();
        for &(run, stamp_in_flight) in &overlay.torn {
            stamps.extend(stamp_in_flight);
            stamps.extend(image.content_in(run).map(|(_, stamp)| stamp));
        }
        let roles: BTreeSet<(usize, SectorRole)> =
            stamps.into_iter().filter_map(|stamp| self.find_write_role(stamp)).collect();
        for (volume, role) in roles {
            match role {
                SectorRole::Data { file, .. } => {
                    let file = File { volume: volume as u8, id: file };
                    let known = self.knowledge.get(&file).cloned().unwrap_or_default();
                    if !self.tracked.contains(&file) && !known.deleting {
                        counts.count_if(true, FileLossKind::FileUnreadable, || self.describe_file(file, &known));
                    }
                }
                role => counts.count_if(true, FileLossKind::Metadata, || format!("{}: {role}", self.volumes[volume])),
            }
        }
    }

    /// Counts the files that are not tracked and have a sector that cannot be recovered.
    fn judge_gone_sectors(&self, image: &SectorRuns<u64>, overlay: &CutOverlay, counts: &mut FileCutCounts) {
        let stamps: BTreeSet<u64> = overlay.gone.iter().flat_map(|&run| image.content_in(run).map(|it| it.1)).collect();
        let file_of = |stamp: u64| match self.find_write_role(stamp)? {
            (volume, SectorRole::Data { file, .. }) => Some(File { volume: volume as u8, id: file }),
            _ => None,
        };
        let files: BTreeSet<File> = stamps.into_iter().filter_map(file_of).collect();
        for file in files.into_iter().filter(|file| !self.tracked.contains(file)) {
            if let Some(known) = self.knowledge.get(&file).filter(|known| !known.deleting) {
                let is_promised = known.existence_promised;
                counts.count_if(is_promised, FileLossKind::FilePromised, || self.describe_file(file, known));
                counts.count_if(!is_promised, FileLossKind::FileUnpromised, || self.describe_file(file, known));
            }
        }
    }

    /// The state of an operation with these effects. Effects on files that are deleted do not count.
    fn operation_state(&self, mounts: &Mounts<'_>, effects: &[Effect]) -> OperationState {
        let mut state = OperationState::default();
        for effect in effects {
            if self.knowledge.get(&effect.file).is_some_and(|known| known.deleting) {
                continue;
            }
            let is_lost = match &effect.extent {
                None => !mounts.is_listed(effect.file),
                Some(extent) => {
                    let data = mounts.data_sectors(effect.file, [extent]);
                    state.data.add(data);
                    data.lost_sectors() > 0
                }
            };
            state.lacks_promised |= is_lost && effect.promised;
            state.lacks_acknowledged |= is_lost;
        }
        state
    }

    /// Describes a file for a report: its volume, directory and number, and the operation that made it.
    fn describe_file(&self, file: File, known: &FileKnowledge) -> String {
        let maker = known.maker.map_or(String::new(), |operation| format!(" ({})", self.operation_name(operation)));
        let directory = known.directory.map_or(String::new(), |directory| format!("directory-{directory}/"));
        format!("{}/{directory}file-{}{maker}", self.volumes[usize::from(file.volume)], file.id.0)
    }

    /// The name of an operation in a report.
    fn operation_name(&self, operation: OperationId) -> String {
        format!("{} {}", self.programs[usize::from(operation.program)], operation.number)
    }
}

impl SourceJudge for FileJudge {
    fn take_note(&mut self) -> Option<SourceNote> {
        let (at, note) = self.notes.poll()?;
        let ends_work = matches!(note, FileNote::Over);
        self.taken_notes.push_back(note);
        Some(SourceNote { at, ends_work })
    }

    fn handle_next_note(&mut self) {
        if let Some(note) = self.taken_notes.pop_front() {
            self.record_note(note);
        }
    }

    fn handle_submission(&mut self, tag: u32, stamp: u64) {
        self.latest_stamp = stamp;
        if let Some(issued) = self.issued.remove(&tag) {
            let ledger = &mut self.ledgers[usize::from(issued.volume)];
            ledger.add_write(stamp, &issued.step, issued.lba, u64::from(issued.sectors));
        }
    }

    fn promise_all(&mut self) {
        for file in &self.tracked {
            let known = self.knowledge.get_mut(file).expect("it is tracked");
            known.promise_up_to(self.acknowledged);
        }
        let effects = self.operations.iter_mut().flat_map(|operation| &mut operation.effects);
        effects.for_each(|effect| effect.promised = true);
    }

    fn judge_cut(&mut self, at: Instant, image: &SectorRuns<u64>, overlay: &CutOverlay) {
        self.stop_tracking_durable(image);
        let mounts = Mounts::new(&self.ledgers, CutMedium { image, overlay });
        let mut counts = FileCutCounts::new(at);
        for &file in &self.tracked {
            self.judge_file(&mounts, file, &mut counts);
        }
        self.judge_torn_sectors(image, overlay, &mut counts);
        self.judge_gone_sectors(image, overlay, &mut counts);
        for OperationEffects { operation, effects } in &self.operations {
            let state = self.operation_state(&mounts, effects);
            let (promised_lost, any_lost) = (state.lacks_promised, state.lacks_acknowledged);
            let name = || self.operation_name(*operation);
            counts.count_if(promised_lost, FileLossKind::OperationPromised, name);
            counts.count_if(!promised_lost && any_lost, FileLossKind::OperationUnpromised, name);
            counts.count_if(state.is_partial(), FileLossKind::OperationInPart, name);
        }
        for thread in &self.threads {
            let Some(operation) = thread.operation else { continue };
            let is_partial = self.operation_state(&mounts, &thread.effects).is_partial();
            counts.count_if(is_partial, FileLossKind::OperationInPart, || self.operation_name(operation));
        }
        self.losses.add_cut(counts);
    }
}

/// The state of an operation after a cut.
#[derive(Clone, Copy, Debug, Default)]
struct OperationState {
    data: DataSectors,
    /// A promised effect is lost.
    lacks_promised: bool,
    /// An acknowledged effect is lost, promised or not.
    lacks_acknowledged: bool,
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
        /// Creates a case in which a file was created and is on the drive, and a cut is over that found it there.
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

        fn call(&mut self, call: Call, created: Option<File>) {
            self.judge.record_note(FileNote::Called(0, call));
            self.judge.record_note(FileNote::Returned { thread: 0, created, succeeded: true });
        }

        fn change(&mut self, number: u64, page: u64, file: File, fact: PageFact) {
            let change = PageChange { number, page, sectors: 8, file: file.id, fact };
            self.judge.record_note(FileNote::Changed(0, vec![change]));
        }

        /// Writes a page as of the change `latest_change`; it arrives on the medium or does not.
        fn write(&mut self, stamp: u64, page: u64, latest_change: u64, lands: bool) {
            self.write_as(SectorRole::Directory(ROOT), stamp, page, latest_change, lands);
        }

        fn write_as(&mut self, role: SectorRole, stamp: u64, page: u64, latest_change: u64, lands: bool) {
            let step =
                PlanStep { op: Op::Write, lba: page, sectors: 8, flags: Flags::NONE, role, latest_change, phase: 0 };
            let issued = IssuedWrite { tag: stamp as u32, volume: 0, step, lba: page, sectors: 8 };
            self.judge.record_note(FileNote::Issued(issued));
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
