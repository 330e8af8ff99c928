//! Builds the [`Job`] that an Iometer configuration would run on the modelled drive.
//!
//! Each test of Iometer's series is a stage; each (worker, target) of a test is a stream of the job. The order is
//! Iometer's (read in its source): access specifications outside, steps of the test type inside. Reading the file is
//! [`super::icf`]'s; drawing the requests is the model's.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{self, AccessSpec, CountingRule, IometerPattern, Job, Pace, Pattern, Region};

use super::config::{Cycling, IometerConfig, IometerWorker, SpecAssignment, TestType, WorkerSpawn};
use super::lines::LONGEST_WORD;
use super::standard;

/// Bytes of a sector, Iometer's unit of sizes and starts.
const SECTOR: u64 = 512;
/// Slices begin at multiples of this many sectors, so that drives of 4-KiB sectors serve them aligned.
const SLICE_UNIT: u64 = 8;
/// Stands for "until stopped": long enough for a mean of some thousand random requests.
const DEFAULT_RUN: Span = Span::from_secs(60);
/// Wrong names that get the nearest right one, and right ones looked at for each.
const MOST_SUGGESTIONS: usize = 20;
const MOST_CANDIDATES: usize = 500;
/// A job's limit of workers.
const MOST_STREAMS: u64 = 65_535;

impl IometerConfig {
    /// The job this configuration describes, on a drive of `device_sectors` sectors of 512 bytes.
    ///
    /// Also returns warnings about all that is not as Iometer would do it: targets that share the drive, files taken as runs of
    /// sectors, workers left out, a run time chosen here. Iometer's data pattern has no bearing on a disk.
    ///
    /// # Errors
    /// Why nothing could run: no access specification, only network workers, an unknown specification, an area
    /// outside the drive or smaller than a request, or more streams than a job holds.
    pub fn job(&self, device_sectors: u64) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut plan = IometerPlan::new(self, device_sectors);
        let runners = plan.list_runners();
        let workers = if plan.errors.is_empty() { plan.build_stages(&runners) } else { Vec::new() };
        if workers.is_empty() && plan.errors.is_empty() {
            plan.error(0, "Test Type", "no test of this configuration runs anything");
        }
        if plan.errors.is_empty() {
            let name = if self.description.is_empty() { &self.file } else { &self.description };
            let job = Job { name: name.clone(), workers };
            Ok((job, plan.warnings))
        } else {
            Err(plan.errors)
        }
    }
}

/// A disk worker that will run.
struct Runner {
    manager: usize,
    settings: IometerWorker,
    /// A specification for each test series; `None` is Iometer's "Idle".
    specs: Vec<Option<AccessSpec>>,
    targets: Vec<TargetArea>,
}

/// Where a worker's target lies on the drive.
struct TargetArea {
    name: String,
    area: Region,
    seed: u64,
}

/// A test: how many targets of each runner, and the depth if the test sets it.
struct SeriesTest {
    active: Vec<usize>,
    depth: Option<u32>,
}

struct IometerPlan<'a> {
    config: &'a IometerConfig,
    sectors: u64,
    /// The file's specifications by name, as written and in small letters.
    names: BTreeMap<String, &'a AccessSpec>,
    /// The standard ones, made when first asked for.
    standard: OnceCell<Vec<AccessSpec>>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

impl<'a> IometerPlan<'a> {
    fn new(config: &'a IometerConfig, sectors: u64) -> IometerPlan<'a> {
        let mut names: BTreeMap<String, &AccessSpec> = BTreeMap::new();
        // If names are equal, the first counts; a name as written goes before one in other letters.
        for fold in [str::to_owned as fn(&str) -> String, |name: &str| name.to_lowercase()] {
            for specification in &config.specs {
                names.entry(fold(&specification.spec.name)).or_insert(&specification.spec);
            }
        }
        let (warnings, errors) = (Vec::new(), Vec::new());
        IometerPlan { config, sectors, names, standard: OnceCell::new(), warnings, errors }
    }

    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::at(&self.config.file, line, message));
    }

    fn error(&mut self, line: usize, key: &str, message: impl Into<String>) {
        self.errors.push(Diagnostic::at(&self.config.file, line, message).with_key(key));
    }

    fn list_runners(&mut self) -> Vec<Runner> {
        let workers = self.disk_workers();
        let assigned = workers.iter().any(|(_, worker)| !worker.assigned.is_empty());
        let standing = if assigned || workers.is_empty() { Vec::new() } else { self.unassigned_specs() };
        let mut runners = Vec::new();
        for (manager, settings) in workers {
            if assigned && settings.assigned.is_empty() {
                self.warn(
                    settings.line,
                    format!("worker `{}` has no access specification and stays idle", settings.name),
                );
                continue;
            }
            let specs = if assigned { self.assigned_specs(&settings) } else { standing.clone() };
            if let Some(transactions) = settings.connection {
                let message = format!("closing and reopening the disk every {transactions} transactions is ignored");
                self.warn(settings.line, message);
            }
            runners.push(Runner { manager, settings, specs, targets: Vec::new() });
        }
        self.place_targets(&mut runners);
        runners
    }

    /// The disk workers with the index of their manager; one of our own when the file lists no workers.
    fn disk_workers(&mut self) -> Vec<(usize, IometerWorker)> {
        let config = self.config;
        let all =
            config.managers.iter().enumerate().flat_map(|(m, manager)| manager.workers.iter().map(move |w| (m, w)));
        let (network, disk): (Vec<_>, Vec<_>) = all.partition(|(_, worker)| worker.network.is_some());
        for (_, worker) in &network {
            self.warn(worker.line, format!("network worker `{}` is ignored: only disks are modelled", worker.name));
        }
        if !disk.is_empty() {
            return disk.into_iter().map(|(manager, worker)| (manager, worker.clone())).collect();
        }
        if let Some((_, worker)) = network.first() {
            self.error(worker.line, "Worker type", "nothing to run: all workers are network workers");
            return Vec::new();
        }
        let spawned = match config.disk_workers {
            WorkerSpawn::PerProcessor => "one per processor".to_owned(),
            WorkerSpawn::Exactly(count) => count.to_string(),
        };
        self.warn(
            0,
            format!("the file lists no workers; using one with a depth of 1 (Iometer would create {spawned})"),
        );
        vec![(0, IometerWorker::new(0, "Worker 1"))]
    }

    /// Specifications to run when no worker has one: those for new disk workers, otherwise all.
    fn unassigned_specs(&mut self) -> Vec<Option<AccessSpec>> {
        let specs = &self.config.specs;
        let default: Vec<_> =
            specs.iter().filter(|spec| matches!(spec.assignment, SpecAssignment::All | SpecAssignment::Disk)).collect();
        let (chosen, which) = if default.is_empty() {
            (specs.iter().collect(), "all of them")
        } else {
            (default, "those assigned to new disk workers")
        };
        if chosen.is_empty() {
            self.error(0, "ACCESS SPECIFICATIONS", "nothing to run: the file has no access specifications");
        } else {
            let count = chosen.len();
            let message = format!("no worker has an assigned access specification; running {which} in turn ({count})");
            self.warn(0, message);
        }
        chosen.into_iter().map(|specification| Some(specification.spec.clone())).collect()
    }

    fn assigned_specs(&mut self, worker: &IometerWorker) -> Vec<Option<AccessSpec>> {
        worker.assigned.iter().filter_map(|(line, name)| self.resolve_spec(*line, name)).collect()
    }

    /// The specification of this name: of the file, otherwise of the standard ones. `Some(None)` is "Idle".
    fn resolve_spec(&mut self, line: usize, name: &str) -> Option<Option<AccessSpec>> {
        let folded = name.to_lowercase();
        if let Some(spec) = self.names.get(name).or_else(|| self.names.get(&folded)) {
            return Some(Some((*spec).clone()));
        }
        if folded == "idle" {
            return Some(None);
        }
        let standard =
            self.standard.get_or_init(standard::specs).iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
        if let Some(spec) = standard.cloned() {
            let what = "using the standard one of that name";
            self.warn(line, format!("`{name}` is not in this file; {what}"));
            return Some(Some(spec));
        }
        let message = "no access specification has this name";
        let mut error = Diagnostic::at(&self.config.file, line, message).with_key(name);
        // A file can hold thousands of wrong names; the first ones say enough.
        if self.errors.len() < MOST_SUGGESTIONS && name.len() <= LONGEST_WORD {
            let short = self.config.specs.iter().map(|other| other.spec.name.as_str());
            error = error.suggest_nearest(name, short.take(MOST_CANDIDATES).filter(|name| name.len() <= LONGEST_WORD));
        }
        self.errors.push(error);
        None
    }

    /// Lays the targets out on the drive: each different target an equal slice, in the order of the file.
    fn place_targets(&mut self, runners: &mut [Runner]) {
        let mut slices: BTreeMap<(usize, String), u64> = BTreeMap::new();
        let mut order = Vec::new();
        for runner in runners.iter() {
            for (line, name) in &runner.settings.targets {
                let next = slices.len() as u64;
                slices.entry((runner.manager, name.clone())).or_insert_with(|| {
                    order.push((*line, name.clone()));
                    next
                });
            }
        }
        let slice = self.slice_sectors(&order);
        let mut stream = 0;
        for runner in runners {
            let settings = &runner.settings;
            if settings.targets.is_empty() {
                self.warn(settings.line, format!("worker `{}` has no target; it uses the whole drive", settings.name));
                let area = self.target_area(settings, 0, self.sectors);
                runner.targets.push(TargetArea {
                    name: "drive".to_owned(),
                    area,
                    seed: next_seed(settings, &mut stream),
                });
            }
            for (_, name) in &settings.targets {
                let first = slices[&(runner.manager, name.clone())] * slice;
                let area = self.target_area(settings, first, slice);
                runner.targets.push(TargetArea { name: name.clone(), area, seed: next_seed(settings, &mut stream) });
            }
        }
    }

    /// Sectors of each target's slice; warns of what the targets were in Iometer.
    fn slice_sectors(&mut self, targets: &[(usize, String)]) -> u64 {
        for (line, name) in targets.iter().filter(|(_, name)| is_file_system(name)) {
            let what = "its iobw.tst is taken as one run of sectors from the start";
            self.warn(*line, format!("`{name}` has a file system: {what}"));
        }
        let count = targets.len() as u64;
        if count < 2 {
            return self.sectors;
        }
        let names: Vec<&str> = targets.iter().take(8).map(|(_, name)| name.as_str()).collect();
        let more = if targets.len() > names.len() { ", …" } else { "" };
        let names = names.join(", ");
        self.warn(
            targets[0].0,
            format!("{count} targets share the drive, in equal slices in this order: {names}{more}"),
        );
        self.sectors / count / SLICE_UNIT * SLICE_UNIT
    }

    /// The part of a target in use: `first` and `sectors` are those of its slice.
    fn target_area(&mut self, worker: &IometerWorker, first: u64, sectors: u64) -> Region {
        let (start, maximum) = (worker.starting_sector, worker.maximum_size);
        if start >= sectors {
            let message = format!("worker `{}` starts at sector {start} of a target of {sectors}", worker.name);
            self.error(worker.line, "starting sector", message);
            return Region { start: 0, bytes: 0 };
        }
        let rest = sectors - start;
        if maximum > rest {
            let message =
                format!("worker `{}` asks for {maximum} sectors of a target with {rest}; using {rest}", worker.name);
            self.warn(worker.line, message);
        }
        let used = if maximum == 0 { rest } else { maximum.min(rest) };
        match ((first + start).checked_mul(SECTOR), used.checked_mul(SECTOR)) {
            (Some(start), Some(bytes)) => Region { start, bytes },
            _ => {
                self.error(0, "Disk maximum size", "the drive has more bytes than 64 bits can count");
                Region { start: 0, bytes: 0 }
            }
        }
    }

    fn build_stages(&mut self, runners: &[Runner]) -> Vec<workload::Worker> {
        let series = runners.iter().map(|runner| runner.specs.len()).max().unwrap_or(0);
        let runtime = self.test_runtime();
        let mut streams = Vec::new();
        let mut stage = 0;
        for index in 0..series {
            let active = |runner: &&Runner| matches!(runner.specs.get(index), Some(Some(_)));
            let present: Vec<&Runner> = runners.iter().filter(active).collect();
            let tests = self.list_tests(&present);
            let total: usize = tests.iter().flat_map(|test| &test.active).sum();
            if (streams.len() + total) as u64 > MOST_STREAMS {
                self.error(0, "Test Type", format!("more than {MOST_STREAMS} streams in all tests together"));
            }
            if !self.errors.is_empty() {
                return Vec::new();
            }
            for test in tests {
                for (runner, &count) in present.iter().zip(&test.active) {
                    let stream = |target| self.build_stream(runner, index, target, (stage, runtime, test.depth));
                    let made: Vec<_> = runner.targets.iter().take(count).filter_map(stream).collect();
                    streams.extend(made);
                }
                stage += 1;
            }
            self.check_requests_fit(&present, index);
        }
        streams
    }

    fn test_runtime(&mut self) -> Span {
        if self.config.run_time != Span::ZERO {
            return self.config.run_time;
        }
        let seconds = DEFAULT_RUN.nanos() / 1_000_000_000;
        self.warn(0, format!("the run time is 0, which means until stopped; each test runs for {seconds} s"));
        DEFAULT_RUN
    }

    fn build_stream(
        &self,
        runner: &Runner,
        index: usize,
        target: &TargetArea,
        (stage, runtime, depth): (u32, Span, Option<u32>),
    ) -> Option<workload::Worker> {
        let spec = runner.specs.get(index)?.clone()?;
        let depth = depth.unwrap_or(runner.settings.outstanding);
        Some(workload::Worker {
            name: format!("{} on {}: {}, depth {depth}", runner.settings.name, target.name, spec.name),
            stage,
            group: stage,
            start_delay: Span::ZERO,
            counting: CountingRule::Tool,
            ramp: self.config.ramp,
            runtime: Some(runtime),
            time_based: true,
            depth,
            pace: Pace::default(),
            survives: [true; 2],
            // Iometer seeds a worker with the seed of its first target.
            pattern: Pattern::Iometer(IometerPattern {
                spec,
                area: target.area,
                worker_seed: target.seed,
                target_seed: target.seed,
            }),
        })
    }

    /// Checks that a request, put at its alignment, fits into the area it is drawn in.
    fn check_requests_fit(&mut self, present: &[&Runner], index: usize) {
        for runner in present {
            let Some(Some(spec)) = runner.specs.get(index) else {
                continue;
            };
            let need = |row: &workload::AccessLine| u64::from(row.size.max(row.reply)) + u64::from(row.align.max(512));
            let largest = spec.lines.iter().map(need).max().unwrap_or(0);
            if let Some(target) = runner.targets.iter().find(|target| target.area.bytes < largest) {
                let (name, bytes) = (&target.name, target.area.bytes);
                let message =
                    format!("the {bytes} bytes of `{name}` are too few for its requests ({largest} with alignment)");
                self.error(runner.settings.line, &spec.name.clone(), message);
            }
        }
    }

    /// The tests of one access specification, in Iometer's order.
    fn list_tests(&mut self, present: &[&Runner]) -> Vec<SeriesTest> {
        let config = self.config;
        let fixed = |active: Vec<usize>| SeriesTest { active, depth: None };
        let each = |targets: u64| limit_targets(present, u64::MAX, targets);
        let mut tests = match config.test_type {
            TestType::Normal => vec![fixed(each(u64::MAX))],
            TestType::CycleTargets => growing_sets(config.target_cycling, each).into_iter().map(fixed).collect(),
            TestType::CycleWorkers => {
                let workers = growing_sets(config.worker_cycling, |workers| limit_targets(present, workers, u64::MAX));
                workers.into_iter().map(fixed).collect()
            }
            TestType::IncrementTargetsParallel => {
                growing_sets(config.target_cycling, |targets| deal_targets(present, targets, true))
                    .into_iter()
                    .map(fixed)
                    .collect()
            }
            TestType::IncrementTargetsSerial => {
                growing_sets(config.target_cycling, |targets| deal_targets(present, targets, false))
                    .into_iter()
                    .map(fixed)
                    .collect()
            }
            TestType::CycleWorkersAndTargets => workers_and_targets(config, present),
            TestType::CycleOutstandingIos => self.repeat_at_depths(vec![each(u64::MAX)]),
            TestType::CycleOutstandingIosAndTargets => self.repeat_at_depths(growing_sets(config.target_cycling, each)),
        };
        tests.retain(|test| test.active.iter().any(|&targets| targets > 0));
        tests
    }

    /// Repeats each set of active targets at every depth.
    fn repeat_at_depths(&mut self, actives: Vec<Vec<usize>>) -> Vec<SeriesTest> {
        let cycling = self.config.depth_cycling;
        if cycling.steps.start == 0 || (cycling.steps.step == 0 && cycling.steps.start <= cycling.end) {
            self.error(0, "Queue Depth Cycling", "a depth or step of 0 never ends");
            return Vec::new();
        }
        let mut tests = Vec::new();
        let mut streams = 0;
        for active in actives {
            for depth in cycle_counts(cycling.steps).take_while(|&depth| depth <= u64::from(cycling.end)) {
                streams += active.iter().sum::<usize>() as u64;
                if streams > MOST_STREAMS || active.is_empty() {
                    // The caller says so; no need to list them all.
                    tests.push(SeriesTest { active, depth: None });
                    return tests;
                }
                tests.push(SeriesTest { active: active.clone(), depth: u32::try_from(depth).ok() });
            }
        }
        tests
    }
}

/// True for a drive letter or a mount point, a target with a file system; not for `1: "MODEL"`, `PHYSICALDRIVE:0` and `sda`.
fn is_file_system(name: &str) -> bool {
    let letter =
        name.split_once(':').is_some_and(|(drive, _)| drive.len() == 1 && drive.as_bytes()[0].is_ascii_alphabetic());
    letter || name.contains('[') || (name.starts_with('/') && !name.starts_with("/dev/"))
}

/// The seed of a worker's next target. Without a fixed one Iometer takes the clock, different for each target;
/// here the first is 1 and the others differ, so that streams are apart and runs repeat.
fn next_seed(worker: &IometerWorker, stream: &mut u64) -> u64 {
    let index = *stream;
    *stream += 1;
    match (worker.fixed_seed, index) {
        (Some(seed), _) => seed,
        (None, 0) => 1,
        (None, _) => Seed(1).numbered_stream("iometer", index).next_u64(),
    }
}

/// A count's values: rising by its step, or by powers of it. A factor of 1 adds 1, as in Iometer.
fn cycle_counts(cycling: Cycling) -> impl Iterator<Item = u64> {
    let (start, step) = (u64::from(cycling.start), u64::from(cycling.step));
    let powers = cycling.exponential && step != 1;
    std::iter::successors(Some(start), move |&count| {
        Some(if powers { count.saturating_mul(step) } else { count.saturating_add(step) })
    })
}

/// The active targets at each count, as long as their number grows.
fn growing_sets(cycling: Cycling, active: impl Fn(u64) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut tests = Vec::new();
    let (mut most, mut streams) = (0, 0);
    for count in cycle_counts(cycling) {
        let set = active(count);
        let total: usize = set.iter().sum();
        if total <= most || streams as u64 > MOST_STREAMS {
            break;
        }
        (most, streams) = (total, streams + total);
        tests.push(set);
    }
    tests
}

/// The first `workers` of every manager with at most `targets` each.
fn limit_targets(present: &[&Runner], workers: u64, targets: u64) -> Vec<usize> {
    let mut used: BTreeMap<usize, u64> = BTreeMap::new();
    let active = present.iter().map(|runner| {
        let used = used.entry(runner.manager).or_insert(0);
        *used += 1;
        if *used > workers { 0 } else { runner.targets.len().min(usize::try_from(targets).unwrap_or(usize::MAX)) }
    });
    active.collect()
}

/// `targets` given out down the workers: in each manager (`parallel`) or over all.
fn deal_targets(present: &[&Runner], targets: u64, parallel: bool) -> Vec<usize> {
    let mut left: BTreeMap<usize, u64> = BTreeMap::new();
    let active = present.iter().map(|runner| {
        let left = left.entry(if parallel { runner.manager } else { 0 }).or_insert(targets);
        let count = (runner.targets.len() as u64).min(*left);
        *left -= count;
        count as usize
    });
    active.collect()
}

/// Rising targets for each rising number of workers.
fn workers_and_targets(config: &IometerConfig, present: &[&Runner]) -> Vec<SeriesTest> {
    let most = |active: &[usize]| active.iter().filter(|&&targets| targets > 0).count() as u64;
    let mut tests = Vec::new();
    let (mut running, mut streams) = (0, 0);
    for workers in cycle_counts(config.worker_cycling) {
        let now = most(&limit_targets(present, workers, u64::MAX));
        if now <= running || streams as u64 > MOST_STREAMS {
            break;
        }
        running = now;
        let targets = growing_sets(config.target_cycling, |targets| limit_targets(present, workers, targets));
        streams += targets.iter().flatten().sum::<usize>();
        tests.extend(targets.into_iter().map(|active| SeriesTest { active, depth: None }));
    }
    tests
}
