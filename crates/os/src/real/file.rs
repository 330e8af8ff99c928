//! A real file or device as a place: prepared for a job, refused before a run if the job does not fit, opened by its
//! workers.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Advice, fadvise};
use seekwise_disk::block::{Limits, Queuing, SECTOR};
use seekwise_disk::rng::Seed;
use seekwise_run::handle::{AccessHint, RealEngine, RealHandle, RealOptions};
use seekwise_run::outcome::RunError;
use seekwise_run::place::Place;
use seekwise_run::testbed::TestBench;
use seekwise_run::work::Work;
use seekwise_work::workload::{Direction, Pattern, Worker};

use super::bench;
use super::claim::{self, WriteClaim};
use super::device::{CallDevice, FileShape, RingDevice};
use super::path::{self, PathKind, PathMode, ResolvedPath};
use super::settings::{DeviceSettings, SettingsGuard};
use super::{DEVICE, FILE, MAX_THREADS, check_ring, probe, uring};
use crate::measured_place::Measured;
use crate::real_time::{RealTime, RunGuard, TimedDevice};

/// Requests of a scene or a session in flight, at most.
const SCENE_DEPTH: u32 = 128;

/// Bytes of a piece of a request of a scene or a session: larger ones are split.
const SCENE_PIECE_BYTES: usize = 256 << 10;

/// Memory for requests in flight, at most.
const MAX_MEMORY: u64 = 1 << 30;

/// A file or device.
#[derive(Clone, Debug)]
pub(crate) struct RealPlace {
    resolved: ResolvedPath,
    options: RealOptions,
    /// Settings of the disk during a run.
    settings: DeviceSettings,
    requirements: PlaceRequirements,
}

/// Requirements of the work that runs on a place.
#[derive(Clone, Debug)]
struct PlaceRequirements {
    /// By worker; one for all work without workers.
    handles: Vec<RealHandle>,
    /// By worker: requests in flight.
    depths: Vec<u32>,
    largest_bytes: usize,
    reads: bool,
    writes: bool,
}

impl RealPlace {
    /// Opens the file at this path.
    pub(crate) fn for_file(path: &str, options: &RealOptions) -> Result<Arc<dyn Place>, String> {
        RealPlace::for_path(path, PathKind::File, options)
    }

    /// Opens the device at this path.
    pub(crate) fn for_device(path: &str, options: &RealOptions) -> Result<Arc<dyn Place>, String> {
        if options.layout.is_some() {
            return Err("real.layout: a device is as long as it is; expected it with file:PATH".to_owned());
        }
        RealPlace::for_path(path, PathKind::Device, options)
    }

    fn for_path(path: &str, kind: PathKind, options: &RealOptions) -> Result<Arc<dyn Place>, String> {
        if path.is_empty() {
            return Err("expected a path behind the colon".to_owned());
        }
        let mut settings = DeviceSettings::default();
        for (key, value) in &options.settings {
            settings.set(key, value)?;
        }
        let resolved = path::resolve_path(Path::new(path), kind, options.layout)?;
        let handle = RealHandle { direct: resolved.direct_alignment.is_some(), ..RealHandle::default() };
        let requirements =
            PlaceRequirements { handles: vec![handle], depths: vec![1], largest_bytes: 0, reads: false, writes: false };
        Ok(Arc::new(Measured(RealPlace { resolved, options: options.clone(), settings, requirements })))
    }

    /// Prepares the place for `work`, whose workers open it as `handles` say; a single handle is for all. The error
    /// says why the work does not fit.
    fn fit_to_work(&self, work: &Work, handles: &[RealHandle]) -> Result<RealPlace, String> {
        let shown = self.resolved.path.display();
        let mut requirements = match work {
            Work::Job(job) => PlaceRequirements::for_job(&job.workers, handles)?,
            Work::Cached(_) => {
                return Err(format!(
                    "{shown}: the system has a page cache of its own; expected direct=0 in the job, or \
                                    real.direct=false, and no pagecache keys"
                ));
            }
            _ => PlaceRequirements {
                handles: vec![handles.first().copied().unwrap_or_default()],
                depths: vec![SCENE_DEPTH],
                largest_bytes: SCENE_PIECE_BYTES,
                reads: true,
                writes: work.may_write(),
            },
        };
        requirements.largest_bytes = requirements.largest_bytes.max(SECTOR as usize).next_multiple_of(uring::ALIGNMENT);
        if self.resolved.direct_alignment.is_none() && requirements.handles.iter().any(|handle| handle.direct) {
            return Err(format!(
                "{shown}: its file system takes no requests past the page cache (O_DIRECT); expected \
                                direct=0 in the job, or real.direct=false"
            ));
        }
        let memory = requirements.memory_bytes();
        if memory > MAX_MEMORY {
            return Err(format!(
                "requests in flight take {memory} bytes of memory; expected at most {MAX_MEMORY}: a \
                                smaller depth, fewer workers or smaller blocks"
            ));
        }
        if requirements.writes {
            self.may_write()?;
        }
        Ok(RealPlace { requirements, ..self.clone() })
    }

    /// Checks whether the content may be overwritten. A run checks again when it begins ([`WriteClaim`]).
    fn may_write(&self) -> Result<(), String> {
        let destroyed_name = self.options.destroy.as_deref();
        match self.resolved.kind {
            PathKind::Device => probe::may_write(&self.resolved.path, destroyed_name),
            PathKind::File => claim::may_write(&self.resolved, destroyed_name),
        }
    }

    /// Claims the file or device if the run writes, and applies the settings of the disk.
    fn claim_for_run(&self) -> Result<RealRunGuard, String> {
        let claim = || WriteClaim::acquire(&self.resolved, self.options.destroy.as_deref());
        let claim = self.requirements.writes.then(claim).transpose()?;
        Ok(RealRunGuard { settings: self.settings.apply(&self.resolved.path)?, claim })
    }

    /// Opens a device for the workers from `first_worker` on, one for each handle.
    fn open_device(
        &self,
        first_worker: u16,
        handles: &[RealHandle],
        depth: u32,
        seed: Seed,
    ) -> Result<Box<dyn TimedDevice>, RunError> {
        let unfit = |why: String| RunError::Unfit(why);
        let mut modes: Vec<PathMode> = Vec::new();
        let mut files = Vec::new();
        for handle in handles {
            let mode = PathMode { write: self.requirements.writes, direct: handle.direct };
            let index = modes.iter().position(|known| *known == mode).unwrap_or(modes.len());
            if index == modes.len() {
                modes.push(mode);
            }
            files.push(index);
        }
        let opened: Vec<_> =
            modes.iter().map(|mode| self.resolved.open(*mode)).collect::<Result<_, _>>().map_err(unfit)?;
        for (handle, &file) in handles.iter().zip(&files) {
            let hint = match handle.hint {
                AccessHint::None => None,
                AccessHint::Random => Some(Advice::Random),
                AccessHint::Sequential => Some(Advice::Sequential),
            };
            for advice in handle.invalidate.then_some(Advice::DontNeed).into_iter().chain(hint) {
                fadvise(&opened[file], 0, None, advice)
                    .map_err(|why| unfit(format!("{}: its cached pages: {why}", self.resolved.path.display())))?;
            }
        }
        let shape = FileShape {
            name: self.resolved.path.display().to_string(),
            limits: Limits { depth, ..self.limits() },
            handles: handles.to_vec(),
            files,
            first_worker,
            slot_bytes: self.requirements.largest_bytes,
            has_write_slots: self.requirements.reads && self.requirements.writes,
            seed,
        };
        if handles.iter().all(|handle| handle.engine == RealEngine::Calls) {
            return Ok(Box::new(CallDevice::new(shape, opened, depth as usize)));
        }
        let ring = RingDevice::new(shape, opened, depth as usize);
        Ok(Box::new(ring.map_err(|why| unfit(format!("io_uring: {why}; `--set real.engine=psync` goes without")))?))
    }
}

/// Keeps the settings of the disk and the claim of a file or device during a run. Settings are restored first.
struct RealRunGuard {
    settings: SettingsGuard,
    claim: Option<WriteClaim>,
}

impl RunGuard for RealRunGuard {
    fn undo(self: Box<Self>) -> Result<(), String> {
        let RealRunGuard { settings, claim } = *self;
        settings.restore().and(claim.map_or(Ok(()), WriteClaim::release))
    }
}

/// Returns the length of the file or device at a path, or of the file that the options would create there.
pub(crate) fn path_bytes(path: &str, is_device: bool, options: &RealOptions) -> Result<u64, String> {
    let kind = if is_device { PathKind::Device } else { PathKind::File };
    let path = Path::new(path);
    let exists = path.is_file() || !path.is_dir() && path.exists() || path.join(path::DATA_FILE).exists();
    match options.layout {
        Some(bytes) if !exists && kind == PathKind::File => Ok(bytes),
        _ => path::resolve_path(path, kind, None).map(|resolved| resolved.sectors * SECTOR),
    }
}

impl PlaceRequirements {
    /// Bytes that requests in flight take; reads and writes have separate slots.
    fn memory_bytes(&self) -> u64 {
        let requests: u64 = self.depths.iter().map(|depth| u64::from(*depth)).sum();
        requests * self.largest_bytes as u64 * if self.reads && self.writes { 2 } else { 1 }
    }

    fn for_job(workers: &[Worker], handles: &[RealHandle]) -> Result<PlaceRequirements, String> {
        if workers.len() > MAX_THREADS {
            let count = workers.len();
            return Err(format!("the job has {count} workers; expected at most {MAX_THREADS}: each is a thread here"));
        }
        let mut requirements = PlaceRequirements {
            handles: Vec::new(),
            depths: Vec::new(),
            largest_bytes: 0,
            reads: false,
            writes: false,
        };
        for (index, worker) in workers.iter().enumerate() {
            let handle = handles.get(index).or(handles.first()).copied().unwrap_or_default();
            requirements.handles.push(handle);
            requirements.depths.push(worker.depth);
            let use_of_place = pattern_use(&worker.pattern);
            requirements.largest_bytes = requirements.largest_bytes.max(use_of_place.largest_bytes as usize);
            requirements.reads |= use_of_place.reads;
            requirements.writes |= use_of_place.writes;
        }
        Ok(requirements)
    }
}

/// The requests that a pattern may make.
struct PatternUse {
    largest_bytes: u64,
    reads: bool,
    writes: bool,
}

fn pattern_use(pattern: &Pattern) -> PatternUse {
    match pattern {
        Pattern::Fio(fio) => {
            // Indices of `blocks`: reads, writes, trims.
            let (used, reads, writes) = match fio.direction {
                Direction::Read => (&[0][..], true, false),
                Direction::Write => (&[1][..], fio.verify, true),
                Direction::Trim => (&[2][..], false, true),
                Direction::Mixed => (&[0, 1][..], true, true),
                Direction::TrimWrite => (&[1, 2][..], false, true),
            };
            let used = if fio.sizes_by_randomness { &[0, 1][..] } else { used };
            let largest = used.iter().map(|direction| fio.blocks[*direction].largest()).max();
            PatternUse { largest_bytes: largest.unwrap_or(0), reads, writes }
        }
        Pattern::Iometer(iometer) => {
            let lines = &iometer.spec.lines;
            let largest = lines.iter().map(|line| line.size.max(line.reply)).max().unwrap_or(0);
            PatternUse {
                largest_bytes: largest.into(),
                reads: lines.iter().any(|line| line.reads > 0 || line.reply > 0),
                writes: lines.iter().any(|line| line.reads < 100 || line.reply > 0),
            }
        }
    }
}

impl RealTime for RealPlace {
    fn name(&self) -> &'static str {
        match self.resolved.kind {
            PathKind::File => FILE,
            PathKind::Device => DEVICE,
        }
    }

    fn full_name(&self) -> String {
        format!("{}:{}", self.name(), self.resolved.path.display())
    }

    fn limits(&self) -> Limits {
        let is_direct = self.requirements.handles.iter().any(|handle| handle.direct);
        let logical = self.resolved.direct_alignment.filter(|_| is_direct).unwrap_or(SECTOR as u32);
        Limits {
            sectors: self.resolved.sectors,
            logical,
            physical: logical.max(4096),
            max_transfer: u32::MAX,
            optimal_transfer: 0,
            depth: self.requirements.depths.iter().sum(),
            fua: true,
            volatile_cache: true,
            queuing: Queuing::Scsi,
            computes: false,
        }
    }

    fn prepare_for(&self, work: &Work, handles: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        Ok(Some(Arc::new(Measured(RealPlace::fit_to_work(self, work, handles)?))))
    }

    fn memory_bytes(&self) -> u64 {
        self.requirements.memory_bytes()
    }

    fn is_threaded(&self) -> bool {
        true
    }

    fn check_ring(&self) -> Result<(), String> {
        check_ring()
    }

    fn prepare_run(&self) -> Result<Option<Box<dyn RunGuard>>, String> {
        let is_created = self.resolved.create_if_missing()?;
        let guard = self.claim_for_run();
        if is_created && guard.is_err() {
            // The run for which the file was created does not begin, and nobody else has it yet.
            let _ = std::fs::remove_file(&self.resolved.path);
        }
        guard.map(|guard| Some(Box::new(guard) as Box<dyn RunGuard>))
    }

    fn read_bench(&self) -> Option<TestBench> {
        let bench = bench::read_bench(&self.resolved.path);
        Some(if self.options.hashed { bench.with_hashed_serial() } else { bench })
    }

    fn open(&self, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        let depth = self.requirements.depths.iter().sum();
        self.open_device(0, &self.requirements.handles, depth, seed)
    }

    fn open_for(&self, worker: u16, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        let index = usize::from(worker);
        let PlaceRequirements { handles, depths, .. } = &self.requirements;
        self.open_device(worker, &handles[index..=index], depths[index], seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::time::Span;
    use seekwise_formats::fio::{self, FioContext};
    use seekwise_work::workload::{AccessLine, AccessSpec, BlockSizes, FioPattern, IometerPattern, Region};

    fn tuple_of(pattern: &Pattern) -> (u64, [bool; 2]) {
        let PatternUse { largest_bytes, reads, writes } = pattern_use(pattern);
        (largest_bytes, [reads, writes])
    }

    /// Two workers with 3 and 5 requests in flight, and the pattern of both: blocks of 4 KiB, written 8, trimmed 16.
    fn fio_workers() -> ([Worker; 2], FioPattern) {
        let text = "[j]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=64k\n";
        let (mut job, _) = fio::parse("j.fio", text, &FioContext::bare()).unwrap().job(1 << 24).unwrap();
        let worker = job.workers.remove(0);
        let Pattern::Fio(pattern) = worker.pattern.clone() else { panic!("{worker:?}") };
        let blocks = [4096, 8192, 16_384].map(BlockSizes::Fixed);
        ([3, 5].map(|depth| Worker { depth, ..worker.clone() }), FioPattern { blocks, ..pattern })
    }

    #[test]
    fn the_largest_request_and_whether_a_job_reads_and_writes_are_those_of_its_directions() {
        let (_, plain) = fio_workers();
        for (direction, expected) in [
            (Direction::Read, (4096, [true, false])),
            (Direction::Write, (8192, [false, true])),
            (Direction::Trim, (16_384, [false, true])),
            (Direction::Mixed, (8192, [true, true])),
            (Direction::TrimWrite, (16_384, [false, true])),
        ] {
            let pattern = FioPattern { direction, ..plain.clone() };
            assert_eq!(tuple_of(&Pattern::Fio(pattern.clone())), expected, "{direction:?}");
            let by_place = FioPattern { sizes_by_randomness: true, ..pattern.clone() };
            assert_eq!(tuple_of(&Pattern::Fio(by_place)), (8192, expected.1), "{direction:?}");
            let verified = FioPattern { verify: true, ..pattern };
            let reads = expected.1[0] || direction == Direction::Write;
            assert_eq!(tuple_of(&Pattern::Fio(verified)).1, [reads, expected.1[1]], "{direction:?}");
        }
        for (reads, reply, expected) in [
            (100, 0, (512, [true, false])),
            (99, 0, (512, [true, true])),
            (1, 0, (512, [true, true])),
            (0, 0, (512, [false, true])),
            (100, 2048, (2048, [true, true])),
            (0, 256, (512, [true, true])),
        ] {
            let (delay, burst, align) = (Span::ZERO, 1, 0);
            let line = AccessLine { size: 512, share: 100, reads, random: 0, delay, burst, align, reply };
            let spec = AccessSpec { name: String::new(), lines: vec![line] };
            let area = Region { start: 0, bytes: 1 << 20 };
            let pattern = IometerPattern { spec, area, worker_seed: 1, target_seed: 1 };
            assert_eq!(tuple_of(&Pattern::Iometer(pattern)), expected, "{reads} % of reads, {reply} in reply");
        }
    }

    #[test]
    fn only_a_job_that_reads_and_writes_has_two_slots_for_a_request() {
        use Direction::{Mixed, Read, Trim, Write};
        let (workers, plain) = fio_workers();
        for (directions, slots, bytes) in
            [([Read, Read], 8, 4096), ([Write, Write], 8, 8192), ([Read, Write], 16, 8192), ([Mixed, Trim], 16, 16_384)]
        {
            let mut workers = workers.clone();
            for (worker, direction) in workers.iter_mut().zip(directions) {
                worker.pattern = Pattern::Fio(FioPattern { direction, ..plain.clone() });
            }
            let fit = PlaceRequirements::for_job(&workers, &[]).unwrap();
            assert_eq!(fit.memory_bytes(), slots * bytes, "{directions:?}");
        }
    }
}
