//! The work of a run: a job of workers with or without a page cache, a scene of programs, a recorded session, or a
//! trace. The source of its requests is an [`Issuer`], so a place runs all kinds alike.

pub mod trace;

use std::sync::Arc;

use seekwise_disk::block::{Accounting, Completion, Limits, Op, Source, SourcePoll};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_work::files::buffered_source::{BufferedSource, BufferedSpec};
use seekwise_work::files::call::Reads;
use seekwise_work::files::note::FileNotes;
use seekwise_work::files::scene::{Operation, ProgramCommit, ProgramError, Scene, SceneEnd, SceneError, SceneSpec};
use seekwise_work::workload::session_replay::{RecordedSession, ReplayComparison, SessionReplay};
use seekwise_work::workload::{Direction, IssueListener, IssueRate, Job, Pattern, Window, Worker, Workload};

use self::trace::{ReplayResult, TracePlayback, TraceSpec};
use crate::outcome::RunError;

/// The work of a run.
#[derive(Clone, Debug)]
pub enum Work {
    /// Workers that issue requests.
    Job(Job),
    /// A job whose requests go through a page cache.
    Cached(Box<(Job, BufferedSpec)>),
    /// Programs on volumes.
    Scene(Box<SceneSpec>),
    /// The recorded requests of a served disk.
    Session(Arc<RecordedSession>),
    /// A recorded trace, read while it is played.
    Trace(TraceSpec),
}

impl From<Job> for Work {
    fn from(job: Job) -> Work {
        Work::Job(job)
    }
}

/// The rate of each direction in which a worker issues; `None` for a direction without one.
pub fn issue_rates(worker: &Worker) -> impl Iterator<Item = Option<IssueRate>> {
    let used = match &worker.pattern {
        Pattern::Fio(fio) => match fio.direction {
            Direction::Read => [true, false, false],
            Direction::Write => [false, true, false],
            Direction::Trim => [false, false, true],
            Direction::Mixed => [true, true, false],
            Direction::TrimWrite => [false, true, true],
        },
        Pattern::Iometer(_) => [true; 3],
    };
    worker.pace.rate.into_iter().zip(used).filter(|(_, used)| *used).map(|(rate, _)| rate)
}

/// The requests of a writer that make a commit: a write, or several, and the sync that makes them durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitRule {
    /// None: it asks for no durable write, or its source counts its commits ([`Issuer::commits`]).
    Never,
    /// Each write by itself: `sync=` makes it durable when it returns.
    EachWrite,
    /// A flush with the writes that it covers, and a forced write by itself.
    BySync,
}

impl CommitRule {
    fn from_worker(worker: &Worker) -> CommitRule {
        match &worker.pattern {
            Pattern::Fio(fio) if fio.write_through => CommitRule::EachWrite,
            Pattern::Fio(fio) if fio.syncs.fsync > 0 || fio.syncs.fdatasync > 0 || fio.flush_at_end => {
                CommitRule::BySync
            }
            Pattern::Fio(_) | Pattern::Iometer(_) => CommitRule::Never,
        }
    }
}

/// The name of a scene's last group: requests of the system that no program waits for.
const SYSTEM: &str = "system";

impl Work {
    /// The name of the job, scene, session or trace.
    pub fn name(&self) -> &str {
        match self {
            Work::Job(job) => &job.name,
            Work::Cached(cached) => &cached.0.name,
            Work::Scene(scene) => &scene.name,
            Work::Session(session) => &session.name,
            Work::Trace(trace) => &trace.name,
        }
    }

    /// The workers; scenes, sessions and traces have none.
    pub fn workers(&self) -> &[Worker] {
        match self {
            Work::Job(job) => &job.workers,
            Work::Cached(cached) => &cached.0.workers,
            Work::Scene(_) | Work::Session(_) | Work::Trace(_) => &[],
        }
    }

    /// The scene, if it is one.
    pub fn scene(&self) -> Option<&SceneSpec> {
        match self {
            Work::Job(_) | Work::Cached(_) | Work::Session(_) | Work::Trace(_) => None,
            Work::Scene(scene) => Some(scene),
        }
    }

    /// True if it may change data: write, trim or zero.
    pub fn may_write(&self) -> bool {
        match self {
            Work::Job(_) | Work::Cached(_) => self.workers().iter().any(|worker| match &worker.pattern {
                Pattern::Fio(fio) => fio.direction != Direction::Read,
                Pattern::Iometer(iometer) => iometer.spec.lines.iter().any(|line| line.reads < 100 || line.reply > 0),
            }),
            // A volume is written when it is opened.
            Work::Scene(_) => true,
            Work::Session(session) => session.entries.iter().any(|entry| !matches!(entry.op, Op::Read | Op::Flush)),
            Work::Trace(trace) => trace.writes + trace.trims > 0,
        }
    }

    /// The number of the group in which the requests of each worker are counted; for a scene of each program, then of
    /// the system.
    pub fn group_numbers(&self) -> Vec<u16> {
        match self {
            Work::Job(_) | Work::Cached(_) => self.workers().iter().map(|worker| worker.group as u16).collect(),
            Work::Scene(scene) => (0..=scene.programs.len() as u16).collect(),
            Work::Session(_) | Work::Trace(_) => vec![0],
        }
    }

    /// True for each worker whose requests are due at fixed times, by a rate or a recording, whatever the device does;
    /// for a scene for each program, then for the system.
    pub fn have_fixed_due_times(&self) -> Vec<bool> {
        match self {
            Work::Job(_) | Work::Cached(_) => {
                self.workers().iter().map(|worker| issue_rates(worker).any(|rate| rate.is_some())).collect()
            }
            Work::Scene(scene) => vec![false; scene.programs.len() + 1],
            Work::Session(_) => vec![true],
            Work::Trace(trace) => vec![trace.is_open_loop()],
        }
    }

    /// By worker: which of its requests make a commit.
    pub fn commit_rules(&self) -> Vec<CommitRule> {
        match self {
            Work::Job(_) | Work::Cached(_) => self.workers().iter().map(CommitRule::from_worker).collect(),
            Work::Scene(_) => Vec::new(),
            Work::Session(_) | Work::Trace(_) => vec![CommitRule::BySync],
        }
    }

    /// The name of each group: that of its first worker, or of its program.
    pub fn group_names(&self) -> Vec<String> {
        match self {
            Work::Job(_) | Work::Cached(_) => {
                let workers = self.workers();
                let groups = workers.iter().map(|worker| worker.group).max().map_or(0, |last| last + 1);
                let first = |group| workers.iter().find(|worker| worker.group == group);
                (0..groups).map(|group| first(group).map_or(String::new(), |worker| worker.name.clone())).collect()
            }
            Work::Scene(scene) => {
                let programs = scene.programs.iter().map(|program| program.name.clone());
                programs.chain([SYSTEM.to_owned()]).collect()
            }
            Work::Session(_) | Work::Trace(_) => vec![self.name().to_owned()],
        }
    }

    /// Returns a function that makes the source of its requests for a device with the given limits.
    pub fn make_source(&self, seed: Seed) -> impl FnOnce(&Limits) -> Result<Issuer, RunError> {
        self.make_source_with_listener(seed, None)
    }

    /// As [`make_source`](Work::make_source); the source also reports each request of a job's workers to `listener` as
    /// it is issued.
    pub fn make_source_with_listener(
        &self,
        seed: Seed,
        listener: Option<IssueListener>,
    ) -> impl FnOnce(&Limits) -> Result<Issuer, RunError> {
        move |limits| match self {
            Work::Job(job) => Ok(Issuer::Workload(Workload::new(job, limits, seed)?.with_listener(listener))),
            Work::Cached(cached) => {
                let (job, spec) = &**cached;
                let workload = Workload::new(job, limits, seed)?.with_listener(listener);
                Ok(Issuer::Buffered(Box::new(BufferedSource::new(workload, spec, limits))))
            }
            Work::Session(session) => Ok(Issuer::Session(SessionReplay::new(Arc::clone(session)))),
            Work::Trace(trace) => Ok(Issuer::Trace(Box::new(trace.open_source(limits)?))),
            Work::Scene(scene) => issuer_of_scene(Scene::new(scene, limits, seed)),
        }
    }

    /// As [`make_source`](Work::make_source), for a judge of power cuts: a scene reports its use of files to `notes`,
    /// and ends as `scene_end` says. Other work reports nothing.
    pub fn make_source_with_file_notes(
        &self,
        seed: Seed,
        notes: FileNotes,
        scene_end: SceneEnd,
    ) -> impl FnOnce(&Limits) -> Result<Issuer, RunError> {
        move |limits| match self {
            Work::Job(_) | Work::Cached(_) | Work::Session(_) | Work::Trace(_) => self.make_source(seed)(limits),
            Work::Scene(scene) => {
                issuer_of_scene(Scene::with_notes(scene, limits, seed, notes).map(|scene| scene.with_end(scene_end)))
            }
        }
    }
}

fn issuer_of_scene(scene: Result<Scene, SceneError>) -> Result<Issuer, RunError> {
    match scene {
        Ok(scene) => Ok(Issuer::Scene(Box::new(scene))),
        Err(misfit) => Err(RunError::Unfit(format!("the scene does not fit what it is to run on: {misfit}"))),
    }
}

/// The source of the requests of a work.
#[allow(clippy::large_enum_variant, reason = "a run has one issuer, and a box would cost a job's requests time")]
pub enum Issuer {
    /// Workers of a job.
    Workload(Workload),
    /// A job above a page cache.
    Buffered(Box<BufferedSource<Workload>>),
    Scene(Box<Scene>),
    Session(SessionReplay),
    /// The workers of a job, in their order, after each has run on a thread of its own.
    SeparateWorkers(Vec<Workload>),
    Trace(Box<TracePlayback>),
}

impl Issuer {
    /// The time for which the requests of each worker count, in a run that ended at `end`; for a scene of each program,
    /// then of the system, which counts until the last program's end.
    pub fn counting_windows(&self, end: Instant) -> Vec<Option<Window>> {
        match self {
            Issuer::Workload(workload) => workload.counting_windows(end),
            Issuer::Buffered(buffered) => buffered.source().counting_windows(end),
            Issuer::Session(_) | Issuer::Trace(_) => vec![Some(Window { from: Instant::ZERO, until: end })],
            Issuer::SeparateWorkers(workers) => {
                workers.iter().flat_map(|worker| worker.counting_windows(end)).collect()
            }
            Issuer::Scene(scene) => {
                let window = |(from, until)| Window { from, until };
                let mut windows: Vec<Option<Window>> = scene.run_windows(end).map(|it| it.map(window)).collect();
                let until = windows.iter().flatten().map(|window| window.until).max().unwrap_or(end);
                windows.push(Some(Window { from: Instant::ZERO, until }));
                windows
            }
        }
    }

    /// Bytes that counted requests read through a page cache; `None` without one or without such reads.
    pub fn cached_reads(&self) -> Option<Reads> {
        let reads = match self {
            Issuer::Workload(_) | Issuer::SeparateWorkers(_) | Issuer::Session(_) | Issuer::Trace(_) => return None,
            Issuer::Buffered(buffered) => buffered.cached_reads(),
            Issuer::Scene(scene) => scene.cached_reads(),
        };
        (reads.asked > 0).then_some(reads)
    }

    /// Operations of programs, such as a commit.
    pub fn operations(&self) -> &[Operation] {
        match self {
            Issuer::Workload(_)
            | Issuer::SeparateWorkers(_)
            | Issuer::Buffered(_)
            | Issuer::Session(_)
            | Issuer::Trace(_) => &[],
            Issuer::Scene(scene) => scene.operations(),
        }
    }

    /// Commits of a scene's programs; those of other work are in the records ([`Work::commit_rules`]).
    pub fn commits(&self) -> &[ProgramCommit] {
        if let Issuer::Scene(scene) = self { scene.commits() } else { &[] }
    }

    /// Programs that did not reach their end: index in the scene, and why.
    pub fn program_errors(&self) -> Vec<(usize, ProgramError)> {
        match self {
            Issuer::Workload(_)
            | Issuer::SeparateWorkers(_)
            | Issuer::Buffered(_)
            | Issuer::Session(_)
            | Issuer::Trace(_) => Vec::new(),
            Issuer::Scene(scene) => scene.program_errors().collect(),
        }
    }

    /// For a recorded session: how its requests ended, compared with the recording.
    pub fn replay_comparison(&self) -> Option<ReplayComparison> {
        if let Issuer::Session(play) = self { Some(play.comparison_so_far()) } else { None }
    }

    /// For a trace: how it was played.
    pub fn replay_result(&self) -> Option<ReplayResult> {
        if let Issuer::Trace(playing) = self { Some(playing.replay_result()) } else { None }
    }

    /// Why a trace could not be read to its end, if it could not.
    pub fn read_error(&self) -> Option<String> {
        if let Issuer::Trace(playing) = self { playing.read_error() } else { None }
    }
}

impl Source for Issuer {
    #[inline]
    fn next(&mut self, now: Instant) -> SourcePoll {
        match self {
            Issuer::Workload(workload) => workload.next(now),
            Issuer::Buffered(buffered) => buffered.next(now),
            Issuer::Scene(scene) => scene.next(now),
            Issuer::Session(play) => play.next(now),
            Issuer::Trace(playing) => playing.next(now),
            // The workers have run already.
            Issuer::SeparateWorkers(_) => SourcePoll::Done,
        }
    }

    #[inline(always)]
    fn complete(&mut self, now: Instant, completion: &Completion) -> Accounting {
        match self {
            Issuer::Workload(workload) => workload.complete(now, completion),
            Issuer::Buffered(buffered) => buffered.complete(now, completion),
            Issuer::Scene(scene) => scene.complete(now, completion),
            Issuer::Session(play) => play.complete(now, completion),
            Issuer::Trace(playing) => playing.complete(now, completion),
            Issuer::SeparateWorkers(_) => Accounting::Out,
        }
    }

    fn handle_refusal(&mut self, now: Instant) {
        match self {
            Issuer::Workload(workload) => workload.handle_refusal(now),
            Issuer::Buffered(buffered) => buffered.handle_refusal(now),
            Issuer::Scene(scene) => scene.handle_refusal(now),
            Issuer::Session(play) => play.handle_refusal(now),
            Issuer::Trace(playing) => playing.handle_refusal(now),
            Issuer::SeparateWorkers(_) => {}
        }
    }

    #[inline]
    fn awaits_completion(&self, now: Instant) -> bool {
        if let Issuer::Workload(workload) = self { workload.awaits_completion(now) } else { false }
    }
}

#[cfg(test)]
mod tests {
    use seekwise_disk::block::Device;
    use seekwise_disk::testing::SmallDrive;
    use seekwise_disk::time::Span;
    use seekwise_formats::fio::{self, FioContext};
    use seekwise_formats::scene::{LayoutCache, SceneFile};

    use super::*;

    /// A drive of 160 GB, in sectors.
    const DRIVE: u64 = 312_581_808;

    fn job(text: &str) -> Work {
        fio::parse("a.fio", text, &FioContext::bare()).unwrap().job(DRIVE).unwrap().0.into()
    }

    fn scene(text: &str) -> Work {
        Work::Scene(Box::new(
            SceneFile::parse("s.toml", text).unwrap().build(DRIVE, None, &LayoutCache::default()).unwrap().spec,
        ))
    }

    fn session(name: &str) -> Work {
        Work::Session(Arc::new(RecordedSession { name: name.to_owned(), ..RecordedSession::default() }))
    }

    /// Each clone is a group of its own. `group_reporting` makes one group of them and of the next section that has it
    /// too.
    #[test]
    fn a_group_has_the_name_of_its_first_worker_or_program() {
        let clones = "[global]\nfilename=/dev/sdb\n[a]\nnumjobs=2\n[b]\nnew_group\n[c]\nstonewall\ngroup_reporting\n\
                      numjobs=3\n[d]\ngroup_reporting\n[e]\n";
        let copy = "[system]\nfamily = 'windows-nt'\n[volume.d]\nfs = 'ntfs'\nsize_gib = 20\n[volume.c]\nfs = 'fat32'\n\
                    size_gib = 8\n[program.copy]\nname = 'total-commander'\non = 'd'\nto = 'c'\n";
        for (work, groups, names) in [
            (job(clones), &[0u16, 1, 2, 3, 3, 3, 3, 4][..], &["a", "a", "b", "c", "e"][..]),
            (scene(copy), &[0, 1], &["copy", "system"]),
            (session("morning"), &[0], &["morning"]),
        ] {
            assert_eq!(work.group_numbers(), groups);
            assert_eq!(work.group_names(), names);
        }
    }

    #[test]
    fn a_worker_commits_by_its_syncs_or_with_each_write() {
        let rules = |options: &str| job(&format!("[a]\nfilename=/dev/sdb\nsize=1g\n{options}\n")).commit_rules();
        for (options, rule) in [
            ("rw=write", CommitRule::Never),
            ("rw=write\nsync_file_range=write:2", CommitRule::Never),
            ("rw=write\nfsync=4", CommitRule::BySync),
            ("rw=write\nfdatasync=1", CommitRule::BySync),
            ("rw=write\nend_fsync=1", CommitRule::BySync),
            ("rw=write\nsync=1", CommitRule::EachWrite),
            ("rw=write\nsync=dsync\nfsync=1", CommitRule::EachWrite),
        ] {
            assert_eq!(rules(options), [rule], "{options}");
        }
        assert_eq!(session("morning").commit_rules(), [CommitRule::BySync]);
    }

    /// A worker counts from the end of its ramp, whether it runs among others or on a thread of its own; a session from
    /// its beginning on.
    #[test]
    fn each_worker_counts_for_a_time_of_its_own() {
        let limits = Limits { sectors: DRIVE, ..SmallDrive::default().drive().limits(0) };
        let at = |seconds| Instant::ZERO + Span::from_secs(seconds);
        let window = |from, until| Some(Window { from: at(from), until: at(until) });
        let begin = |source: &mut dyn Source| assert!(matches!(source.next(Instant::ZERO), SourcePoll::Request(_)));
        let text = "[global]\nfilename=/dev/sdb\ntime_based\nruntime=60\n[a]\n[b]\nramp_time=2\n[c]\nstonewall\n";
        let work = job(text);
        let mut together = work.make_source(Seed(0))(&limits).unwrap();
        begin(&mut together);
        begin(&mut together);
        assert_eq!(together.counting_windows(at(9)), [window(0, 9), window(2, 9), None]);
        let Work::Job(job) = &work else { panic!("a job") };
        let apart = [0, 1].map(|worker| {
            let mut alone = Workload::for_worker(job, worker, &limits, Seed(0)).unwrap();
            begin(&mut alone);
            alone
        });
        assert_eq!(Issuer::SeparateWorkers(apart.into()).counting_windows(at(9)), [window(0, 9), window(2, 9)]);
        let played = session("morning").make_source(Seed(0))(&limits).unwrap();
        assert_eq!(played.counting_windows(at(9)), [window(0, 9)]);
    }
}
