//! Builds the [`Job`] that an Iometer configuration would run on the modelled drive.
//!
//! Iometer runs a series of tests for each access specification in turn; within a series the test type varies workers,
//! targets or queue depth from test to test (order as in Iometer's source). Each test becomes a stage of the job, and each
//! target of a worker becomes a stream of that stage. [`super::icf`] reads the file; `seekwise_work::workload` draws requests.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use seekwise_disk::rng::Seed;
use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{self, AccessSpec, CountingRule, IometerPattern, Job, Pace, Pattern, Region};

use super::config::{Cycling, IometerConfig, IometerWorker, LineAndName, SpecAssignment, TestType, WorkerSpawn};
use super::lines::LONGEST_WORD;
use super::standard;

/// Iometer counts sizes and starts in sectors of this many bytes.
const SECTOR_BYTES: u64 = 512;
/// Targets' slices of the drive begin at multiples of this many sectors, so that drives of 4-KiB sectors serve them aligned.
const SLICE_ALIGNMENT_SECTORS: u64 = 8;
/// Run time in place of Iometer's "until stopped": long enough for a mean of some thousand random requests.
const DEFAULT_RUN_TIME: Span = Span::from_secs(60);
/// Errors up to which the nearest right name is looked for.
const MOST_SUGGESTIONS: usize = 20;
/// Right names that are compared with a wrong one.
const MOST_CANDIDATES: usize = 500;
/// A job's limit of workers, which are called streams here.
const MOST_STREAMS: u64 = 65_535;

impl IometerConfig {
    /// The job this configuration describes, on a drive of `device_sectors` sectors of 512 bytes.
    ///
    /// Also returns warnings about all that differs from Iometer's run: targets that share the drive, files taken as runs of
    /// sectors, workers left out, a run time chosen here. Iometer's data pattern does not change a disk's times.
    ///
    /// # Errors
    /// Why nothing could run: no access specification, only network workers, an unknown specification, an area
    /// outside the drive or smaller than a request, or more streams than a job holds.
    pub fn job(&self, device_sectors: u64) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut plan = IometerPlan::new(self, device_sectors);
        let disk_workers = plan.list_running_workers();
        let workers = if plan.errors.is_empty() { plan.build_streams(&disk_workers) } else { Vec::new() };
        if workers.is_empty() && plan.errors.is_empty() {
            plan.report_error(0, "Test Type", "no test of this configuration runs anything");
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

/// An access specification; `None` is Iometer's "Idle", which sends no requests.
type SpecOrIdle = Option<AccessSpec>;

/// A disk worker that will run.
struct RunningWorker {
    manager_index: usize,
    settings: IometerWorker,
    /// The worker's specification in each series of tests; series after the last are idle.
    specs: Vec<SpecOrIdle>,
    targets: Vec<TargetArea>,
}

impl RunningWorker {
    fn spec_of_series(&self, series: usize) -> Option<&AccessSpec> {
        self.specs.get(series)?.as_ref()
    }
}

/// Where a worker's target lies on the drive.
struct TargetArea {
    name: String,
    area: Region,
    seed: u64,
}

/// A test of a series.
struct SeriesTest {
    /// How many targets of each busy worker take part.
    target_counts: Vec<usize>,
    /// The depth of all workers, if the test sets it.
    depth: Option<u32>,
}

/// Settings that all streams of a test share.
#[derive(Clone, Copy)]
struct StageSettings {
    stage: u32,
    runtime: Span,
    /// The depth of all workers, if the test sets it.
    depth: Option<u32>,
}

struct IometerPlan<'a> {
    config: &'a IometerConfig,
    drive_sectors: u64,
    /// The file's specifications by name, as written and in small letters.
    specs_by_name: BTreeMap<String, &'a AccessSpec>,
    /// The specifications of [`standard`], made when first needed.
    standard_specs: OnceCell<Vec<AccessSpec>>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

impl<'a> IometerPlan<'a> {
    fn new(config: &'a IometerConfig, drive_sectors: u64) -> IometerPlan<'a> {
        let mut specs_by_name: BTreeMap<String, &AccessSpec> = BTreeMap::new();
        // The first of equal names counts; a name as written goes before one in other letters.
        for fold in [str::to_owned as fn(&str) -> String, |name: &str| name.to_lowercase()] {
            for specification in &config.specs {
                specs_by_name.entry(fold(&specification.spec.name)).or_insert(&specification.spec);
            }
        }
        let (warnings, errors) = (Vec::new(), Vec::new());
        IometerPlan { config, drive_sectors, specs_by_name, standard_specs: OnceCell::new(), warnings, errors }
    }

    fn warn(&mut self, line: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::at(&self.config.file, line, message));
    }

    fn report_error(&mut self, line: usize, key: &str, message: impl Into<String>) {
        self.errors.push(Diagnostic::at(&self.config.file, line, message).with_key(key));
    }

    /// The disk workers that run, with specifications and targets; warns of those that stay idle.
    fn list_running_workers(&mut self) -> Vec<RunningWorker> {
        let workers = self.list_disk_workers();
        let any_assigned = workers.iter().any(|worker| !worker.settings.assigned.is_empty());
        let shared_specs = if any_assigned || workers.is_empty() { Vec::new() } else { self.choose_shared_specs() };
        let mut running = Vec::new();
        for mut worker in workers {
            let settings = &worker.settings;
            if any_assigned && settings.assigned.is_empty() {
                self.warn(
                    settings.line,
                    format!("worker `{}` has no access specification and stays idle", settings.name),
                );
                continue;
            }
            let specs = if any_assigned { self.find_assigned_specs(settings) } else { shared_specs.clone() };
            if let Some(transactions) = settings.connection {
                let message = format!("closing and reopening the disk every {transactions} transactions is ignored");
                self.warn(settings.line, message);
            }
            worker.specs = specs;
            running.push(worker);
        }
        self.place_targets(&mut running);
        running
    }

    /// The file's disk workers, without specifications and targets; one made here when the file lists no workers.
    fn list_disk_workers(&mut self) -> Vec<RunningWorker> {
        let config = self.config;
        let all = config.managers.iter().enumerate().flat_map(|(manager_index, manager)| {
            manager.workers.iter().map(move |settings| RunningWorker {
                manager_index,
                settings: settings.clone(),
                specs: Vec::new(),
                targets: Vec::new(),
            })
        });
        let (network, disk): (Vec<_>, Vec<_>) = all.partition(|worker| worker.settings.network.is_some());
        for RunningWorker { settings, .. } in &network {
            self.warn(settings.line, format!("network worker `{}` is ignored: only disks are modelled", settings.name));
        }
        if !disk.is_empty() {
            return disk;
        }
        if let Some(worker) = network.first() {
            self.report_error(worker.settings.line, "Worker type", "nothing to run: all workers are network workers");
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
        let settings = IometerWorker::new(0, "Worker 1");
        vec![RunningWorker { manager_index: 0, settings, specs: Vec::new(), targets: Vec::new() }]
    }

    /// Specifications for all workers of a file that assigns none: those for new disk workers, otherwise all.
    fn choose_shared_specs(&mut self) -> Vec<SpecOrIdle> {
        let specs = &self.config.specs;
        let for_new_workers: Vec<_> =
            specs.iter().filter(|spec| matches!(spec.assignment, SpecAssignment::All | SpecAssignment::Disk)).collect();
        let (chosen, which) = if for_new_workers.is_empty() {
            (specs.iter().collect(), "all of them")
        } else {
            (for_new_workers, "those assigned to new disk workers")
        };
        if chosen.is_empty() {
            self.report_error(0, "ACCESS SPECIFICATIONS", "nothing to run: the file has no access specifications");
        } else {
            let count = chosen.len();
            let message = format!("no worker has an assigned access specification; running {which} in turn ({count})");
            self.warn(0, message);
        }
        chosen.into_iter().map(|specification| Some(specification.spec.clone())).collect()
    }

    fn find_assigned_specs(&mut self, worker: &IometerWorker) -> Vec<SpecOrIdle> {
        worker.assigned.iter().filter_map(|(line, name)| self.find_spec(*line, name)).collect()
    }

    /// The specification of this name: of the file, otherwise a standard one. Reports an unknown name as an error at `line`.
    fn find_spec(&mut self, line: usize, name: &str) -> Option<SpecOrIdle> {
        let folded = name.to_lowercase();
        if let Some(spec) = self.specs_by_name.get(name).or_else(|| self.specs_by_name.get(&folded)) {
            return Some(Some((*spec).clone()));
        }
        if folded == "idle" {
            return Some(None);
        }
        let standard =
            self.standard_specs.get_or_init(standard::specs).iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
        if let Some(spec) = standard.cloned() {
            self.warn(line, format!("`{name}` is not in this file; using the standard one of that name"));
            return Some(Some(spec));
        }
        let message = "no access specification has this name";
        let mut error = Diagnostic::at(&self.config.file, line, message).with_key(name);
        // A file can hold thousands of wrong names; the first ones say enough.
        if self.errors.len() < MOST_SUGGESTIONS && name.len() <= LONGEST_WORD {
            let candidates = self.config.specs.iter().map(|other| other.spec.name.as_str()).take(MOST_CANDIDATES);
            error = error.suggest_nearest(name, candidates.filter(|candidate| candidate.len() <= LONGEST_WORD));
        }
        self.errors.push(error);
        None
    }

    /// Gives each worker its targets: each different target is an equal slice of the drive, in the order of the file.
    fn place_targets(&mut self, workers: &mut [RunningWorker]) {
        let mut slice_indexes: BTreeMap<(usize, String), u64> = BTreeMap::new();
        let mut targets_in_order = Vec::new();
        for worker in workers.iter() {
            for (line, name) in &worker.settings.targets {
                let next_index = slice_indexes.len() as u64;
                slice_indexes.entry((worker.manager_index, name.clone())).or_insert_with(|| {
                    targets_in_order.push((*line, name.clone()));
                    next_index
                });
            }
        }
        let slice_sectors = self.divide_drive(&targets_in_order);
        let mut next_stream = 0;
        for worker in workers {
            let settings = &worker.settings;
            if settings.targets.is_empty() {
                self.warn(settings.line, format!("worker `{}` has no target; it uses the whole drive", settings.name));
                let area = self.used_area(settings, 0, self.drive_sectors);
                worker.targets.push(TargetArea {
                    name: "drive".to_owned(),
                    area,
                    seed: next_target_seed(settings, &mut next_stream),
                });
            }
            for (_, name) in &settings.targets {
                let slice_start = slice_indexes[&(worker.manager_index, name.clone())] * slice_sectors;
                let area = self.used_area(settings, slice_start, slice_sectors);
                let seed = next_target_seed(settings, &mut next_stream);
                worker.targets.push(TargetArea { name: name.clone(), area, seed });
            }
        }
    }

    /// Size in sectors of each target's slice of the drive. Warns of files taken as sectors and of targets that share the drive.
    fn divide_drive(&mut self, targets: &[LineAndName]) -> u64 {
        for (line, name) in targets.iter().filter(|(_, name)| has_file_system(name)) {
            let difference = "its iobw.tst is taken as one run of sectors from the start";
            self.warn(*line, format!("`{name}` has a file system: {difference}"));
        }
        let count = targets.len() as u64;
        if count < 2 {
            return self.drive_sectors;
        }
        let names: Vec<&str> = targets.iter().take(8).map(|(_, name)| name.as_str()).collect();
        let more = if targets.len() > names.len() { ", …" } else { "" };
        let names = names.join(", ");
        self.warn(
            targets[0].0,
            format!("{count} targets share the drive, in equal slices in this order: {names}{more}"),
        );
        self.drive_sectors / count / SLICE_ALIGNMENT_SECTORS * SLICE_ALIGNMENT_SECTORS
    }

    /// The part of a target's slice that the worker uses, both counted in sectors. Reports a start beyond the slice.
    fn used_area(&mut self, worker: &IometerWorker, slice_start: u64, slice_sectors: u64) -> Region {
        let (start, maximum) = (worker.starting_sector, worker.maximum_size);
        if start >= slice_sectors {
            let message = format!("worker `{}` starts at sector {start} of a target of {slice_sectors}", worker.name);
            self.report_error(worker.line, "starting sector", message);
            return Region { start: 0, bytes: 0 };
        }
        let rest = slice_sectors - start;
        if maximum > rest {
            let message =
                format!("worker `{}` asks for {maximum} sectors of a target with {rest}; using {rest}", worker.name);
            self.warn(worker.line, message);
        }
        let used = if maximum == 0 { rest } else { maximum.min(rest) };
        match ((slice_start + start).checked_mul(SECTOR_BYTES), used.checked_mul(SECTOR_BYTES)) {
            (Some(start), Some(bytes)) => Region { start, bytes },
            _ => {
                self.report_error(0, "Disk maximum size", "the drive has more bytes than 64 bits can count");
                Region { start: 0, bytes: 0 }
            }
        }
    }

    /// The streams of all tests: series by series, and in each series test by test.
    fn build_streams(&mut self, workers: &[RunningWorker]) -> Vec<workload::Worker> {
        let series_count = workers.iter().map(|worker| worker.specs.len()).max().unwrap_or(0);
        let runtime = self.choose_run_time();
        let mut streams = Vec::new();
        let mut stage = 0;
        for series in 0..series_count {
            let busy_workers: Vec<&RunningWorker> =
                workers.iter().filter(|worker| worker.spec_of_series(series).is_some()).collect();
            let tests = self.list_tests(&busy_workers);
            let total: usize = tests.iter().flat_map(|test| &test.target_counts).sum();
            if (streams.len() + total) as u64 > MOST_STREAMS {
                self.report_error(0, "Test Type", format!("more than {MOST_STREAMS} streams in all tests together"));
            }
            if !self.errors.is_empty() {
                return Vec::new();
            }
            for test in tests {
                let settings = StageSettings { stage, runtime, depth: test.depth };
                for (worker, &count) in busy_workers.iter().zip(&test.target_counts) {
                    let Some(spec) = worker.spec_of_series(series) else {
                        continue;
                    };
                    let targets = worker.targets.iter().take(count);
                    streams.extend(targets.map(|target| self.build_stream(worker, spec, target, settings)));
                }
                stage += 1;
            }
            self.check_requests_fit(&busy_workers, series);
        }
        streams
    }

    /// Run time of each test; warns when the file leaves it open.
    fn choose_run_time(&mut self) -> Span {
        if self.config.run_time != Span::ZERO {
            return self.config.run_time;
        }
        let seconds = DEFAULT_RUN_TIME.nanos() / 1_000_000_000;
        self.warn(0, format!("the run time is 0, which means until stopped; each test runs for {seconds} s"));
        DEFAULT_RUN_TIME
    }

    fn build_stream(
        &self,
        worker: &RunningWorker,
        spec: &AccessSpec,
        target: &TargetArea,
        settings: StageSettings,
    ) -> workload::Worker {
        let depth = settings.depth.unwrap_or(worker.settings.outstanding);
        workload::Worker {
            name: format!("{} on {}: {}, depth {depth}", worker.settings.name, target.name, spec.name),
            stage: settings.stage,
            group: settings.stage,
            start_delay: Span::ZERO,
            counting: CountingRule::Tool,
            ramp: self.config.ramp,
            runtime: Some(settings.runtime),
            time_based: true,
            depth,
            pace: Pace::default(),
            survives: [true; 2],
            // Iometer seeds a worker with the seed of its first target.
            pattern: Pattern::Iometer(IometerPattern {
                spec: spec.clone(),
                area: target.area,
                worker_seed: target.seed,
                target_seed: target.seed,
            }),
        }
    }

    /// Reports workers of the series whose largest request, with its alignment, exceeds a target's area.
    fn check_requests_fit(&mut self, busy_workers: &[&RunningWorker], series: usize) {
        for worker in busy_workers {
            let Some(spec) = worker.spec_of_series(series) else {
                continue;
            };
            let bytes_needed =
                |row: &workload::AccessLine| u64::from(row.size.max(row.reply)) + u64::from(row.align.max(512));
            let largest = spec.lines.iter().map(bytes_needed).max().unwrap_or(0);
            if let Some(target) = worker.targets.iter().find(|target| target.area.bytes < largest) {
                let (name, bytes) = (&target.name, target.area.bytes);
                let message =
                    format!("the {bytes} bytes of `{name}` are too few for its requests ({largest} with alignment)");
                self.report_error(worker.settings.line, &spec.name, message);
            }
        }
    }

    /// The tests of one series, in Iometer's order. `busy_workers` are those with a specification in the series.
    fn list_tests(&mut self, busy_workers: &[&RunningWorker]) -> Vec<SeriesTest> {
        let config = self.config;
        let at_own_depth = |target_counts: Vec<usize>| SeriesTest { target_counts, depth: None };
        let all_workers_with = |targets: u64| count_targets(busy_workers, u64::MAX, targets);
        let by_targets = config.target_cycling;
        let mut tests: Vec<SeriesTest> = match config.test_type {
            TestType::Normal => vec![at_own_depth(all_workers_with(u64::MAX))],
            TestType::CycleTargets => {
                cycle_while_growing(by_targets, all_workers_with).into_iter().map(at_own_depth).collect()
            }
            TestType::CycleWorkers => {
                let with_workers = |workers| count_targets(busy_workers, workers, u64::MAX);
                cycle_while_growing(config.worker_cycling, with_workers).into_iter().map(at_own_depth).collect()
            }
            TestType::IncrementTargetsParallel => {
                let with_targets = |targets| deal_targets_in_each_manager(busy_workers, targets);
                cycle_while_growing(by_targets, with_targets).into_iter().map(at_own_depth).collect()
            }
            TestType::IncrementTargetsSerial => {
                let with_targets = |targets| deal_targets_over_all(busy_workers, targets);
                cycle_while_growing(by_targets, with_targets).into_iter().map(at_own_depth).collect()
            }
            TestType::CycleWorkersAndTargets => list_worker_and_target_tests(config, busy_workers),
            TestType::CycleOutstandingIos => self.repeat_at_depths(vec![all_workers_with(u64::MAX)]),
            TestType::CycleOutstandingIosAndTargets => {
                self.repeat_at_depths(cycle_while_growing(by_targets, all_workers_with))
            }
        };
        tests.retain(|test| test.target_counts.iter().any(|&targets| targets > 0));
        tests
    }

    /// A test at every depth of the cycling for each set of workers' target counts.
    fn repeat_at_depths(&mut self, target_count_sets: Vec<Vec<usize>>) -> Vec<SeriesTest> {
        let cycling = self.config.depth_cycling;
        if cycling.steps.start == 0 || (cycling.steps.step == 0 && cycling.steps.start <= cycling.end) {
            self.report_error(0, "Queue Depth Cycling", "a depth or step of 0 never ends");
            return Vec::new();
        }
        let mut tests = Vec::new();
        let mut streams = 0;
        for target_counts in target_count_sets {
            for depth in cycle_counts(cycling.steps).take_while(|&depth| depth <= u64::from(cycling.end)) {
                streams += target_counts.iter().sum::<usize>() as u64;
                if streams > MOST_STREAMS || target_counts.is_empty() {
                    // The caller reports too many streams; the rest of the tests is not needed.
                    tests.push(SeriesTest { target_counts, depth: None });
                    return tests;
                }
                tests.push(SeriesTest { target_counts: target_counts.clone(), depth: u32::try_from(depth).ok() });
            }
        }
        tests
    }
}

/// True for a drive letter or a mount point, a target with a file system; not for `1: "MODEL"`, `PHYSICALDRIVE:0` and `sda`.
fn has_file_system(target_name: &str) -> bool {
    let is_drive_letter = target_name
        .split_once(':')
        .is_some_and(|(drive, _)| drive.len() == 1 && drive.as_bytes()[0].is_ascii_alphabetic());
    is_drive_letter || target_name.contains('[') || (target_name.starts_with('/') && !target_name.starts_with("/dev/"))
}

/// The seed of a worker's next target; counts the stream. Without a fixed seed Iometer takes the clock, different for each
/// target; here the first seed is 1 and the others are drawn, so that streams differ and runs repeat.
fn next_target_seed(worker: &IometerWorker, next_stream: &mut u64) -> u64 {
    let index = *next_stream;
    *next_stream += 1;
    match (worker.fixed_seed, index) {
        (Some(seed), _) => seed,
        (None, 0) => 1,
        (None, _) => Seed(1).numbered_stream("iometer", index).next_u64(),
    }
}

/// The counts from test to test, without end: the step is added, or is the factor. A factor of 1 adds 1, as in Iometer.
fn cycle_counts(cycling: Cycling) -> impl Iterator<Item = u64> {
    let (start, step) = (u64::from(cycling.start), u64::from(cycling.step));
    let is_factor = cycling.exponential && step != 1;
    std::iter::successors(Some(start), move |&count| {
        Some(if is_factor { count.saturating_mul(step) } else { count.saturating_add(step) })
    })
}

/// The workers' target counts at each count of the cycling, as long as their sum grows.
fn cycle_while_growing(cycling: Cycling, target_counts_at: impl Fn(u64) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut sets = Vec::new();
    let (mut last_sum, mut streams) = (0, 0);
    for count in cycle_counts(cycling) {
        let target_counts = target_counts_at(count);
        let sum: usize = target_counts.iter().sum();
        if sum <= last_sum || streams as u64 > MOST_STREAMS {
            break;
        }
        (last_sum, streams) = (sum, streams + sum);
        sets.push(target_counts);
    }
    sets
}

/// Targets of each worker, at most `targets_per_worker`; none of workers after the first `workers_per_manager` of a manager.
fn count_targets(workers: &[&RunningWorker], workers_per_manager: u64, targets_per_worker: u64) -> Vec<usize> {
    let limit = usize::try_from(targets_per_worker).unwrap_or(usize::MAX);
    let mut counted_of_manager: BTreeMap<usize, u64> = BTreeMap::new();
    let target_counts = workers.iter().map(|worker| {
        let counted = counted_of_manager.entry(worker.manager_index).or_insert(0);
        *counted += 1;
        if *counted > workers_per_manager { 0 } else { worker.targets.len().min(limit) }
    });
    target_counts.collect()
}

/// Targets of each worker when each manager's workers get `targets` in all, the first workers first.
fn deal_targets_in_each_manager(workers: &[&RunningWorker], targets: u64) -> Vec<usize> {
    let mut left_of_manager: BTreeMap<usize, u64> = BTreeMap::new();
    let target_counts = workers.iter().map(|worker| {
        let left = left_of_manager.entry(worker.manager_index).or_insert(targets);
        deal_from(left, worker)
    });
    target_counts.collect()
}

/// Targets of each worker when all workers together get `targets`, the first workers first.
fn deal_targets_over_all(workers: &[&RunningWorker], targets: u64) -> Vec<usize> {
    let mut left = targets;
    workers.iter().map(|worker| deal_from(&mut left, worker)).collect()
}

/// Takes as many targets from `left` as the worker has.
fn deal_from(left: &mut u64, worker: &RunningWorker) -> usize {
    let count = (worker.targets.len() as u64).min(*left);
    *left -= count;
    count as usize
}

/// The tests of [`TestType::CycleWorkersAndTargets`]: rising targets for each rising number of workers.
fn list_worker_and_target_tests(config: &IometerConfig, busy_workers: &[&RunningWorker]) -> Vec<SeriesTest> {
    let mut tests = Vec::new();
    let (mut last_running, mut streams) = (0, 0);
    for workers in cycle_counts(config.worker_cycling) {
        let all_targets = count_targets(busy_workers, workers, u64::MAX);
        let running = all_targets.iter().filter(|&&targets| targets > 0).count();
        if running <= last_running || streams as u64 > MOST_STREAMS {
            break;
        }
        last_running = running;
        let with_targets = |targets| count_targets(busy_workers, workers, targets);
        let sets = cycle_while_growing(config.target_cycling, with_targets);
        streams += sets.iter().flatten().sum::<usize>();
        tests.extend(sets.into_iter().map(|target_counts| SeriesTest { target_counts, depth: None }));
    }
    tests
}
