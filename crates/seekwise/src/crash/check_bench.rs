//! Runs the user's check on media that power cuts of one session leave, finds the data that files lack on them, and
//! tries the check itself. Which cuts are tried is decided by the laboratory (`seekwise_lab::crash`).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use seekwise_disk::block::SECTOR;
use seekwise_disk::durability::image::{LostWrite, MediumImage};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::writes::{SessionWrite, SessionWrites};
use seekwise_disk::history::{DataPart, History, HistoryMark};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_formats::ext4::Ext4BlockMap;
use seekwise_lab::crash::proof::{CheckProof, EarlyChange, MediumChanges, received_medium, validate_check};
use seekwise_lab::crash::purpose::{lost_blocks, purpose_words};
use seekwise_lab::crash::recovery::{ChainLink, written_before};
use seekwise_lab::crash::standing::{MediumSectors, StandingData};
use seekwise_lab::crash::trial::{
    CrashCase, CrashResults, CrashTrial, ShrinkResult, TrialOptions, first_passing_flush, shrink_losses,
};
use seekwise_lab::crash::verdict::CheckOutput;
use seekwise_os::image_checker::{CheckResult, DiskContent, ImageChecker, ImageContent};
use seekwise_os::kernel::pages::{FilePages, UnflushedName, UnflushedPages, UnflushedState};
use seekwise_os::kernel::xfs_blocks::find_xfs_uses;
use seekwise_os::kernel::{ExitCause, FileSystemKind, ProgramBounds};
use seekwise_os::medium_change::{ChangedBytes, MediumChange, draw_alterations, list_removals};
use seekwise_os::outputs::create_like_parent;
use seekwise_os::session::SessionRecord;

use crate::error::Error;

/// At most so many alterations of a good medium are tried until a check notices one.
const MAX_ALTERATIONS: usize = 32;

/// A check and the recorded session that it checks: that of the workload, or a recovery.
pub struct CheckBench<'a> {
    checker: &'a ImageChecker<'a>,
    history: &'a History,
    /// Earlier sessions and their cuts, if this is a recovery from these.
    before: &'a [ChainLink],
    /// Contents of the files that the session changed, at its end.
    pages: &'a FilePages,
    /// All promises of the workload.
    promises: Vec<&'a str>,
    /// The session's writes, and which of them the disk may lose.
    writes: SessionWrites,
    stop: &'a AtomicBool,
}

impl<'a> CheckBench<'a> {
    /// A check of the media of a session on `stack`; `stop` ends a check with an error.
    pub fn new(
        checker: &'a ImageChecker<'a>,
        recorded: &'a SessionRecord,
        stack: &Stack,
        stop: &'a AtomicBool,
    ) -> CheckBench<'a> {
        let history = &recorded.history;
        let writes = SessionWrites::from_history(history, DriveTerms::from_stack(stack).volatile);
        let promises = history.promises_until(Instant::FAR).collect();
        CheckBench { checker, history, before: &[], pages: &recorded.pages, promises, writes, stop }
    }

    /// The check of the last session of a chain, which is not empty.
    pub fn of_last_session(&self, chain: &'a [ChainLink]) -> CheckBench<'a> {
        let (last, before) = chain.split_last().expect("a chain has a cut");
        CheckBench {
            checker: self.checker,
            history: &last.history,
            before,
            pages: self.pages,
            promises: self.promises.clone(),
            writes: (*last.writes).clone(),
            stop: self.stop,
        }
    }

    /// Checks the media of all cuts of the session on `stack`; `progress` is called after each medium.
    pub fn run_trials(
        &self,
        trials: &TrialOptions,
        stack: &Stack,
        progress: &(dyn Fn() + Sync),
    ) -> Result<CrashResults, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        trials.run(self.history, stack, &check, progress).map_err(Error::new)
    }

    /// Finds the fewest lost writes of the session with which the check still fails on the medium of a trial.
    pub fn shrink_losses(&self, (trial, image): (&CrashTrial, &MediumImage)) -> Result<ShrinkResult, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        shrink_losses(&self.writes, &self.promises, trial, image, &check).map_err(Error::new)
    }

    /// Finds the first flush after a bad trial with whose data the check would have passed. Returns the end of that
    /// flush, and the data that the disk received between the cut and then; `None` if no flush makes the check pass.
    pub fn find_late_data(&self, bad_trial: &CrashTrial) -> Result<Option<(Instant, UnflushedState)>, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        let passing_flush_end =
            first_passing_flush(&self.writes, self.history, &self.promises, bad_trial, &check).map_err(Error::new)?;
        let Some(passing_flush_end) = passing_flush_end else { return Ok(None) };
        let Some(mut late_data) = self.received_between(bad_trial.case.at, passing_flush_end)? else { return Ok(None) };
        // If the check passes with the names alone, it did not miss the data of the files.
        if self.passes_with_names(&bad_trial.case, &late_data.names)? {
            late_data.files.clear();
        }
        Ok(Some((passing_flush_end, late_data)))
    }

    /// Runs the check on a medium.
    fn check_medium(&self, worker: usize, image: &MediumImage, promises: &[&str]) -> io::Result<CheckOutput> {
        let output = self.check_changed(worker, image, promises, None)?;
        output.ok_or_else(|| io::Error::other("the medium was not checked"))
    }

    fn check_changed(
        &self,
        worker: usize,
        image: &MediumImage,
        promises: &[&str],
        change: Option<&MediumChange>,
    ) -> io::Result<Option<CheckOutput>> {
        let check_result = self.checker.run_check(worker, &self.image_content(image), promises, change)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        Ok(check_result.map(to_check_output))
    }

    /// The content of a medium.
    fn image_content(&self, image: &MediumImage) -> ImageContent<'a> {
        let mut pieces = written_before(self.before);
        pieces.extend(image.written_pieces(self.history, &self.writes));
        ImageContent { pieces, torn: image.torn_sectors().to_vec() }
    }

    /// The whole disk with the content of a medium.
    pub(super) fn disk_content(&self, image: &MediumImage) -> DiskContent<'_> {
        self.checker.disk_content(self.image_content(image))
    }

    /// The session's writes.
    pub(super) fn writes(&self) -> &SessionWrites {
        &self.writes
    }

    /// The session's data.
    pub(super) fn history(&self) -> &History {
        self.history
    }

    /// The disk at the beginning of the session.
    pub(super) fn initial_content(&self) -> DiskContent<'_> {
        self.checker.disk_content(ImageContent { pieces: written_before(self.before), torn: Vec::new() })
    }

    /// Writes a medium to a file.
    pub(super) fn write_image(&self, path: &Path, image: &MediumImage) -> io::Result<()> {
        self.checker.write_image(path, &self.image_content(image))
    }

    /// Tries the check on media whose answer is known: a good one, and ones from which data was removed or in which it
    /// was altered.
    pub fn prove_check(&self, seed: Seed) -> Result<CheckProof, Error> {
        let workload_bytes = self.changed_bytes().map_err(Error::new)?;
        let promises = self.history.promises_until(Instant::FAR).count() as u64;
        let final_content = self.image_content(&received_medium(&self.writes, Instant::FAR));
        let records = self.checker.find_records(&final_content, &workload_bytes).map_err(Error::new)?;
        let alterations = draw_alterations(&records, MAX_ALTERATIONS, &mut seed.stream("proof"));
        let changes = MediumChanges {
            removals: list_removals(&workload_bytes, promises),
            alterations: alterations.into_iter().map(|change| (change.describe_place(), change)).collect(),
            early: self.early_changes(&workload_bytes)?,
        };
        let check = |image: &MediumImage, promises: &[&str], change: Option<&MediumChange>| {
            self.check_changed(0, image, promises, change)
        };
        validate_check(self.history, &self.writes, &changes, &check).map_err(Error::new)
    }

    /// Changes to files that appeared with an early promise and then stayed the same until the end.
    fn early_changes(&self, workload_bytes: &[ChangedBytes]) -> Result<Vec<EarlyChange<MediumChange>>, Error> {
        /// So many promises are examined, and of each the changes to so many files.
        const MAX_PROMISES: usize = 3;
        const MAX_FILES_PER_PROMISE: usize = 3;
        let is_promise = |(_, mark): &&(Instant, HistoryMark)| matches!(mark, HistoryMark::Said(_));
        let promised_at: Vec<Instant> = self.history.marks.iter().filter(is_promise).map(|(at, _)| *at).collect();
        // A single file holds the records of all promises, so it goes on changing.
        if promised_at.len() < 2 || workload_bytes.iter().filter(|changed| changed.file.is_some()).count() < 2 {
            return Ok(Vec::new());
        }
        let workload_begin = self.history.marked_span().map_or(Instant::ZERO, |span| span.0);
        let mut early_changes = Vec::new();
        let mut examined: Vec<usize> =
            (0..MAX_PROMISES).map(|number| number * promised_at.len() / MAX_PROMISES).collect();
        examined.dedup();
        for index in examined.into_iter().filter(|index| index + 1 < promised_at.len()) {
            let from = match index {
                0 => Instant::from_nanos(workload_begin.nanos().saturating_sub(1)),
                _ => promised_at[index - 1],
            };
            let files = self.unchanged_files(from, promised_at[index])?;
            for (file, length) in files.into_iter().take(MAX_FILES_PER_PROMISE) {
                let altered = MediumChange::Altered { file: Some(file.clone()), from: 0, to: length };
                for change in [MediumChange::Removed { file }, altered] {
                    early_changes.push(EarlyChange { at: promised_at[index], promises: index + 1, change });
                }
            }
        }
        Ok(early_changes)
    }

    /// Files that the disk received between two instants and that did not change afterwards, each with its length in
    /// bytes.
    fn unchanged_files(&self, from: Instant, to: Instant) -> Result<Vec<(PathBuf, u64)>, Error> {
        let Some(received) = self.received_between(from, to)? else { return Ok(Vec::new()) };
        let is_new = |pages: &UnflushedPages| !pages.named && !pages.ranges.is_empty();
        let new_files: Vec<UnflushedPages> = received.files.into_iter().filter(is_new).collect();
        if new_files.is_empty() {
            return Ok(Vec::new());
        }
        // Compared both ways: a file that grew shows in what was gained alone, a deleted one in what was lost alone.
        let (gained, lost) = (self.received_between(to, Instant::FAR)?, self.received_between(Instant::FAR, to)?);
        let has_name = |state: &UnflushedState, name: &Path| {
            state.files.iter().any(|pages| pages.file == name) || state.names.iter().any(|change| change.name == name)
        };
        let is_unchanged = |name: &Path| !gained.iter().chain(&lost).any(|state| has_name(state, name));
        let unchanged = new_files.into_iter().filter(|pages| is_unchanged(&pages.file));
        Ok(unchanged.map(|pages| (pages.file, pages.length)).collect())
    }

    /// The bytes that the workload changed: of its files, or of the bare disk if it has no file system.
    fn changed_bytes(&self) -> io::Result<Vec<ChangedBytes>> {
        let begin = self.history.marked_span().map_or(Instant::ZERO, |span| span.0);
        let before = received_medium(&self.writes, Instant::from_nanos(begin.nanos().saturating_sub(1)));
        let Some(missing) = self.checker.find_missing(&self.image_content(&before), self.pages)? else {
            let pieces = received_medium(&self.writes, Instant::FAR).written_pieces(self.history, &self.writes);
            let byte_range = |(lba, part): &(u64, DataPart<'_>)| (lba * SECTOR, lba * SECTOR + part.bytes());
            let ranges: Vec<(u64, u64)> = pieces.iter().map(byte_range).collect();
            return Ok(vec![ChangedBytes { file: None, ranges }]);
        };
        let to_changed_bytes = |pages: UnflushedPages| ChangedBytes { file: Some(pages.file), ranges: pages.ranges };
        Ok(missing.files.into_iter().map(to_changed_bytes).collect())
    }

    /// Data of files that the disk had not received when the workload ended; `None` if unknown.
    pub fn unflushed_state(&self) -> Result<Option<UnflushedState>, Error> {
        let end = self.history.marked_span().map_or(Instant::ZERO, |span| span.1);
        let content = self.image_content(&received_medium(&self.writes, end));
        self.checker.find_missing(&content, self.pages).map_err(Error::new)
    }

    /// Contents of files and folders that a disk with all data received by `to` has, and one with the data received by
    /// `from` alone lacks. `None` if unknown.
    fn received_between(&self, from: Instant, to: Instant) -> Result<Option<UnflushedState>, Error> {
        let content_at = |instant: Instant| self.image_content(&received_medium(&self.writes, instant));
        let pages = self.checker.read_pages(&content_at(to)).map_err(Error::new)?;
        let Some(pages) = pages else { return Ok(None) };
        self.checker.find_missing(&content_at(from), &pages).map_err(Error::new)
    }

    /// Whether the check passes on a medium with everything that the disk received until the cut, after these names are
    /// put right. If so, no data was missing but names alone.
    fn passes_with_names(&self, case: &CrashCase, names: &[UnflushedName]) -> Result<bool, Error> {
        let named = MediumChange::Named(names.to_vec());
        let due = &self.promises[..case.due];
        let check_result = self.check_changed(0, &received_medium(&self.writes, case.at), due, Some(&named));
        let finding = check_result.and_then(|output| output.map(|output| output.to_finding()).transpose());
        let finding = finding.map_err(Error::new)?;
        Ok(finding.is_some_and(|finding| !finding.verdict.is_bad()))
    }

    /// The data that stand on a medium in place of each of these lost writes, by its stamp.
    pub fn find_standing_data(&self, image: &MediumImage, lost: &[LostWrite]) -> BTreeMap<u64, StandingData> {
        let disk = self.disk_content(image);
        let zeroed = disk.written.pieces.iter().filter(|(_, part)| matches!(part, DataPart::Zeroes { .. }));
        let zeroed = zeroed.map(|(lba, part)| (*lba, lba + part.bytes() / SECTOR)).collect();
        let medium = MediumSectors { data: disk.sectors(), zeroed, torn: disk.written.torn.clone() };
        let find = |lost: &LostWrite| StandingData::find(lost, self.history, &medium);
        lost.iter().filter_map(|lost| Some((lost.write.stamp, find(lost)?))).collect()
    }

    /// The stamps of the writes that a cut at `at`, which left this medium, lost whole or in part.
    pub fn lost_writes(&self, image: &MediumImage, at: Instant) -> BTreeSet<u64> {
        image.lost_writes(&self.writes, at).iter().map(|lost| lost.write.stamp).collect()
    }

    /// The writes that were accepted around `at`, at most `before` until then and `after` after it, as if they were lost whole.
    pub fn writes_around(&self, at: Instant, before: usize, after: usize) -> [Vec<LostWrite>; 2] {
        let whole = |write: &SessionWrite| LostWrite { write: *write, parts: vec![write.run] };
        let accepted: Vec<_> = self.writes.accepted_by(at).collect();
        let last = accepted[accepted.len().saturating_sub(before)..].iter();
        let next = self.writes.accepted_by(Instant::FAR).skip(accepted.len()).take(after);
        [last.map(|write| whole(write)).collect(), next.map(whole).collect()]
    }

    /// Says what each of these writes was for (a file's data, an inode, the journal), by its stamp, and completes the files of `standing`.
    /// A medium without losses is mounted once, so that its file system replays its journal, and its block map is read.
    pub fn explain_writes(
        &self,
        at: Instant,
        (system, bounds): (&FileSystemKind, ProgramBounds<'_>),
        folder: &Path,
        writes: &[LostWrite],
        standing: &mut BTreeMap<u64, StandingData>,
    ) -> io::Result<BTreeMap<u64, String>> {
        let (image_path, mount_point) = (folder.join("whole"), folder.join("whole-mount"));
        self.write_image(&image_path, &received_medium(&self.writes, at))?;
        create_like_parent(&mount_point)?;
        system.mount(&image_path, &mount_point, bounds)?.unmount()?;
        std::fs::remove_dir(&mount_point)?;
        let explained = match system.name() {
            "ext4" => self.explain_on_ext4(&image_path, writes, standing),
            "xfs" => self.explain_on_xfs(&image_path, bounds, writes, standing),
            _ => Ok(BTreeMap::new()),
        };
        std::fs::remove_file(&image_path)?;
        explained
    }

    fn explain_on_ext4(
        &self,
        image: &Path,
        writes: &[LostWrite],
        standing: &mut BTreeMap<u64, StandingData>,
    ) -> io::Result<BTreeMap<u64, String>> {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::open(image)?;
        let read = |offset: u64, length: usize| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
        };
        let Some(layout) = Ext4BlockMap::read(&read) else { return Ok(BTreeMap::new()) };
        for data in standing.values_mut() {
            let file = layout.find_file(data.difference.offset, &read);
            data.file = file.map(|(name, offset)| (name.to_owned(), offset));
        }
        let describe = |sector: u64, written: &[u8]| Some(layout.describe_offset(sector * SECTOR, written, &read));
        let purpose = |lost: &LostWrite| (lost.write.stamp, purpose_words(lost, self.history, &describe));
        Ok(writes.iter().map(purpose).collect())
    }

    fn explain_on_xfs(
        &self,
        image: &Path,
        bounds: ProgramBounds<'_>,
        writes: &[LostWrite],
        standing: &mut BTreeMap<u64, StandingData>,
    ) -> io::Result<BTreeMap<u64, String>> {
        /// Of a write, so many blocks are looked up: a write of the log may have hundreds.
        const MAX_BLOCKS: usize = 64;
        let differing = |data: &StandingData| data.difference.offset / SECTOR;
        let blocks = writes.iter().flat_map(|write| lost_blocks(write).take(MAX_BLOCKS));
        let sectors = blocks.chain(standing.values().map(differing)).collect();
        let uses = find_xfs_uses(image, &sectors, bounds)?;
        for data in standing.values_mut() {
            let file = uses.get(&differing(data)).and_then(|used| used.file.clone());
            data.file = file.map(|(name, offset)| (name, offset + data.difference.offset % SECTOR));
        }
        let describe = |sector: u64, _: &[u8]| uses.get(&sector).map(|used| used.words.clone());
        let purpose = |lost: &LostWrite| (lost.write.stamp, purpose_words(lost, self.history, &describe));
        Ok(writes.iter().map(purpose).collect())
    }
}

/// The result of a check in the form that the laboratory judges.
pub(super) fn to_check_output(check_result: CheckResult) -> CheckOutput {
    let CheckResult { ended, unmountable, fault } = check_result;
    let (exit_cause, printed) = ended.map(|ended| (ended.how, ended.printed)).unzip();
    let (code, died) = match exit_cause {
        Some(ExitCause::Exited(code)) => (Some(code), None),
        Some(cause) => (None, Some(cause.to_string())),
        None => (None, None),
    };
    CheckOutput { code, died, printed: printed.unwrap_or_default(), unmountable, fault }
}
