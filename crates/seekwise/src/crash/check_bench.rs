//! Runs the user's check on media of one session, and finds the data that files lack on them. Which cuts are tried is not decided
//! here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use seekwise_disk::block::SECTOR;
use seekwise_disk::durability::image::{LostWrite, MediumImage};
use seekwise_disk::durability::terms::DriveTerms;
use seekwise_disk::durability::writes::SessionWrites;
use seekwise_disk::history::{DataPart, History, HistoryMark};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_formats::ext4::Ext4BlockMap;
use seekwise_lab::crash::proof::{CheckProof, EarlyChange, MediumChanges, received_medium, validate_check};
use seekwise_lab::crash::purpose::purpose_words;
use seekwise_lab::crash::trial::{
    CrashCase, CrashResults, CrashTrial, ShrinkResult, TrialOptions, first_passing_flush, shrink_losses,
};
use seekwise_lab::crash::verdict::CheckOutput;
use seekwise_os::image_checker::{CheckResult, ImageChecker, ImageContent};
use seekwise_os::kernel::pages::{UnflushedName, UnflushedPages, UnflushedState};
use seekwise_os::kernel::{ExitCause, FileSystemKind, ProgramBounds};
use seekwise_os::medium_change::{ChangedBytes, MediumChange, draw_alterations, list_removals};
use seekwise_os::outputs::create_like_parent;
use seekwise_os::session::SessionRecord;

use crate::error::Error;

/// Alterations that are tried until a check notices one.
const ALTERATIONS: usize = 32;

/// A check and the recorded session that it checks.
pub struct CheckBench<'a> {
    checker: &'a ImageChecker<'a>,
    recorded: &'a SessionRecord,
    /// Writes, with the promises that the trials assume.
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
        let writes = SessionWrites::from_history(&recorded.history, DriveTerms::from_stack(stack).volatile);
        CheckBench { checker, recorded, writes, stop }
    }

    fn history(&self) -> &'a History {
        &self.recorded.history
    }

    /// Checks the media of all cuts of the session on `stack`; `progress` is called after each medium.
    pub fn run_trials(
        &self,
        trials: &TrialOptions,
        stack: &Stack,
        progress: &(dyn Fn() + Sync),
    ) -> Result<CrashResults, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        trials.run(self.history(), stack, &check, progress).map_err(Error::new)
    }

    /// Finds the fewest lost writes with which the check still fails on the medium of a trial.
    pub fn shrink_losses(
        &self,
        outcome: &CrashResults,
        trial: (&CrashTrial, &MediumImage),
    ) -> Result<ShrinkResult, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        shrink_losses(&outcome.writes, self.history(), trial.0, trial.1, &check).map_err(Error::new)
    }

    /// Finds the first flush after a bad trial with which the check would have passed; returns its end, and the data that the disk
    /// received between the two.
    pub fn find_late_data(
        &self,
        outcome: &CrashResults,
        tried: &CrashTrial,
    ) -> Result<Option<(Instant, UnflushedState)>, Error> {
        let check = |worker: usize, image: &MediumImage, promises: &[&str]| self.check_medium(worker, image, promises);
        let enough_at = first_passing_flush(&outcome.writes, self.history(), tried, &check).map_err(Error::new)?;
        let Some(enough_at) = enough_at else { return Ok(None) };
        let Some(mut received) = self.received_between(tried.case.at, enough_at)? else { return Ok(None) };
        // If the check passes with the names alone, it did not miss the data of the files.
        if self.passes_with_names(&tried.case, &received.names)? {
            received.files.clear();
        }
        Ok(Some((enough_at, received)))
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
        let looked = self.checker.run_check(worker, &self.image_content(image), promises, change)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped"));
        }
        Ok(looked.map(to_check_output))
    }

    /// The content of a medium.
    fn image_content(&self, image: &MediumImage) -> ImageContent<'a> {
        ImageContent { pieces: image.written_pieces(self.history(), &self.writes), torn: image.torn_sectors().to_vec() }
    }

    /// Writes a medium to a file.
    pub fn write_image(&self, path: &Path, image: &MediumImage) -> io::Result<()> {
        self.checker.write_image(path, &self.image_content(image))
    }

    /// Tries the check on media whose answer is known.
    pub fn prove_check(&self, seed: Seed) -> Result<CheckProof, Error> {
        let changed = self.changed_bytes().map_err(Error::new)?;
        let promises = self.history().promises_until(Instant::FAR).count() as u64;
        let whole = self.image_content(&received_medium(&self.writes, Instant::FAR));
        let held = self.checker.find_records(&whole, &changed).map_err(Error::new)?;
        let altered = draw_alterations(&held, ALTERATIONS, &mut seed.stream("proof"));
        let changes = MediumChanges {
            removals: list_removals(&changed, promises),
            alterations: altered.into_iter().map(|change| (change.describe_place(), change)).collect(),
            early: self.early_changes(&changed)?,
        };
        let check = |image: &MediumImage, promises: &[&str], change: Option<&MediumChange>| {
            self.check_changed(0, image, promises, change)
        };
        validate_check(self.history(), &self.writes, &changes, &check).map_err(Error::new)
    }

    /// Changes to files that appeared with an early promise and then stayed the same until the end.
    fn early_changes(&self, changed: &[ChangedBytes]) -> Result<Vec<EarlyChange<MediumChange>>, Error> {
        /// Promises that are examined, and files of each.
        const PROMISES: usize = 3;
        const FILES: usize = 3;
        let is_said = |(_, mark): &&(Instant, HistoryMark)| matches!(mark, HistoryMark::Said(_));
        let said: Vec<Instant> = self.history().marks.iter().filter(is_said).map(|it| it.0).collect();
        // A single file holds the records of all promises, so it goes on changing.
        if said.len() < 2 || changed.iter().filter(|it| it.file.is_some()).count() < 2 {
            return Ok(Vec::new());
        }
        let begin = self.history().marked_span().map_or(Instant::ZERO, |span| span.0);
        let mut early = Vec::new();
        let mut places: Vec<usize> = (0..PROMISES).map(|it| it * said.len() / PROMISES).collect();
        places.dedup();
        for place in places.into_iter().filter(|place| place + 1 < said.len()) {
            let from = if place == 0 { Instant::from_nanos(begin.nanos().saturating_sub(1)) } else { said[place - 1] };
            for (file, length) in self.unchanged_files(from, said[place])?.into_iter().take(FILES) {
                let altered = MediumChange::Altered { file: Some(file.clone()), from: 0, to: length };
                for change in [MediumChange::Removed { file }, altered] {
                    early.push(EarlyChange { at: said[place], promises: place + 1, change });
                }
            }
        }
        Ok(early)
    }

    /// Files that the disk received between two instants and that did not change afterwards; with their lengths.
    fn unchanged_files(&self, from: Instant, to: Instant) -> Result<Vec<(PathBuf, u64)>, Error> {
        let Some(new) = self.received_between(from, to)? else { return Ok(Vec::new()) };
        let new: Vec<_> = new.files.into_iter().filter(|it| !it.named && !it.ranges.is_empty()).collect();
        if new.is_empty() {
            return Ok(Vec::new());
        }
        // Compared both ways, because a file that grew lacks nothing, and a deleted one is not there to lack anything.
        let (later, gone) = (self.received_between(to, Instant::FAR)?, self.received_between(Instant::FAR, to)?);
        let other = |name: &Path, state: &UnflushedState| {
            state.files.iter().any(|it| it.file == name) || state.names.iter().any(|it| it.name == name)
        };
        let same = |name: &Path| !later.iter().chain(&gone).any(|state| other(name, state));
        Ok(new.into_iter().filter(|it| same(&it.file)).map(|it| (it.file, it.length)).collect())
    }

    /// The bytes that the workload changed: of its files, or of the bare disk.
    fn changed_bytes(&self) -> io::Result<Vec<ChangedBytes>> {
        let begin = self.history().marked_span().map_or(Instant::ZERO, |span| span.0);
        let before = received_medium(&self.writes, Instant::from_nanos(begin.nanos().saturating_sub(1)));
        let Some(missing) = self.checker.find_missing(&self.image_content(&before), &self.recorded.pages)? else {
            let pieces = received_medium(&self.writes, Instant::FAR).written_pieces(self.history(), &self.writes);
            let run = |(lba, part): &(u64, DataPart<'_>)| (lba * SECTOR, lba * SECTOR + part.bytes());
            let ranges: Vec<(u64, u64)> = pieces.iter().map(run).collect();
            return Ok(vec![ChangedBytes { file: None, ranges }]);
        };
        let of = |it: UnflushedPages| ChangedBytes { file: Some(it.file), ranges: it.ranges };
        Ok(missing.files.into_iter().map(of).collect())
    }

    /// Data not yet flushed to the disk when the workload ended; `None` if unknown.
    pub fn unflushed_state(&self) -> Result<Option<UnflushedState>, Error> {
        let end = self.history().marked_span().map_or(Instant::ZERO, |span| span.1);
        let content = self.image_content(&received_medium(&self.writes, end));
        self.checker.find_missing(&content, &self.recorded.pages).map_err(Error::new)
    }

    /// Contents of files and folders that are on the disk with everything received by `to`, but not with everything received by `from`.
    fn received_between(&self, from: Instant, to: Instant) -> Result<Option<UnflushedState>, Error> {
        let at = |at: Instant| self.image_content(&received_medium(&self.writes, at));
        let pages = self.checker.read_pages(&at(to)).map_err(Error::new)?;
        let Some(pages) = pages else { return Ok(None) };
        self.checker.find_missing(&at(from), &pages).map_err(Error::new)
    }

    /// True if the check passes on a case's medium with everything received by then and these names put right: all
    /// bytes are there.
    fn passes_with_names(&self, case: &CrashCase, names: &[UnflushedName]) -> Result<bool, Error> {
        let due: Vec<&str> = self.history().promises_until(case.at).take(case.due).collect();
        let named = MediumChange::Named(names.to_vec());
        let looked = self.check_changed(0, &received_medium(&self.writes, case.at), &due, Some(&named));
        let found = looked.and_then(|output| output.map(|it| it.to_finding()).transpose()).map_err(Error::new)?;
        Ok(found.is_some_and(|finding| !finding.verdict.is_bad()))
    }

    /// Finds the purposes of lost writes in a file system that has them all, mounted once to replay its journal.
    pub fn write_purposes(
        &self,
        at: Instant,
        (system, folder, bounds): (&FileSystemKind, &Path, ProgramBounds<'_>),
        lost: &[LostWrite],
    ) -> io::Result<Vec<(u64, String)>> {
        use std::os::unix::fs::FileExt;
        let (path, mount) = (folder.join("whole"), folder.join("whole-mount"));
        self.write_image(&path, &received_medium(&self.writes, at))?;
        create_like_parent(&mount)?;
        system.mount(&path, &mount, bounds)?.unmount()?;
        let file = std::fs::File::open(&path)?;
        let read = |offset: u64, length: usize| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, offset).ok().map(|()| bytes)
        };
        let Some(layout) = Ext4BlockMap::read(&read) else { return Ok(Vec::new()) };
        let purpose = |lost: &LostWrite| (lost.write.stamp, purpose_words(&layout, lost, self.history(), &read));
        Ok(lost.iter().map(purpose).collect())
    }
}

/// A check's result in the laboratory's form.
fn to_check_output(looked: CheckResult) -> CheckOutput {
    let CheckResult { ended, unmountable, fault } = looked;
    let (how, printed) = ended.map(|ended| (ended.how, ended.printed)).unzip();
    let (code, died) = match how {
        Some(ExitCause::Exited(code)) => (Some(code), None),
        Some(how) => (None, Some(how.to_string())),
        None => (None, None),
    };
    CheckOutput { code, died, printed: printed.unwrap_or_default(), unmountable, fault }
}
