//! An Iometer configuration (.icf) as a value: each field holds what the file says under the key of that name.

use seekwise_disk::time::Span;
use seekwise_work::workload::AccessSpec;

/// A configuration as the file says it. [`IometerConfig::job`] makes a job of it.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerConfig {
    /// The file's name, for diagnostics.
    pub file: String,
    /// The version the file states.
    pub version: IcfVersion,
    /// Free text.
    pub description: String,
    /// Run time of each test; zero means until stopped.
    pub run_time: Span,
    /// Time before recording begins.
    pub ramp: Span,
    /// Disk workers to make on a manager that the file does not list.
    pub disk_workers: WorkerSpawn,
    /// Network workers to make on such a manager.
    pub network_workers: WorkerSpawn,
    /// Results that Iometer would have recorded: `ALL`, `NO_TARGETS`, `NO_WORKERS`, `NO_MANAGERS` or `NONE`.
    pub record: String,
    /// Steps of the test types that vary the number of workers.
    pub worker_cycling: Cycling,
    /// Steps of the test types that vary the number of targets.
    pub target_cycling: Cycling,
    /// Steps of the test types that vary the queue depth.
    pub depth_cycling: DepthCycling,
    /// The quantity that varies from test to test.
    pub test_type: TestType,
    /// The access specifications, in order.
    pub specs: Vec<IcfAccessSpec>,
    /// The managers, in order.
    pub managers: Vec<IometerManager>,
    /// Keys this reader does not know: line, key, value.
    pub unknown: Vec<(usize, String, String)>,
}

/// Version of the program that wrote a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IcfVersion {
    /// The file does not say.
    #[default]
    Unstated,
    /// Named by its date, yyyymmdd.
    Dated(u32),
    /// 1.1 and later.
    Numbered([u32; 3]),
}

/// How many workers to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerSpawn {
    /// A worker for each processor.
    PerProcessor,
    /// The stated number of workers.
    Exactly(u32),
}

/// A count that grows from test to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycling {
    /// The first count.
    pub start: u32,
    /// The amount added from test to test, or the factor.
    pub step: u32,
    /// True if the step is a factor.
    pub exponential: bool,
}

/// A queue depth that grows from test to test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepthCycling {
    /// Start and step.
    pub steps: Cycling,
    /// The last depth that may run.
    pub end: u32,
}

/// The quantity that varies from test to test of one access specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TestType {
    /// Nothing: all targets of all workers.
    #[default]
    Normal,
    /// Targets of each worker.
    CycleTargets,
    /// Workers of each manager.
    CycleWorkers,
    /// Targets, given out down the workers of every manager at once.
    IncrementTargetsParallel,
    /// Targets, given out down the workers of one manager after another.
    IncrementTargetsSerial,
    /// Targets of each worker, for each number of workers.
    CycleWorkersAndTargets,
    /// Queue depth.
    CycleOutstandingIos,
    /// Queue depth, for each number of targets.
    CycleOutstandingIosAndTargets,
}

/// An access specification of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IcfAccessSpec {
    /// Line of its name, or of its first row when it has none.
    pub line: usize,
    /// The new workers that get the specification.
    pub assignment: SpecAssignment,
    /// Name and rows.
    pub spec: AccessSpec,
}

/// The new workers that get a specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecAssignment {
    #[default]
    None,
    All,
    /// Disk workers.
    Disk,
    /// Network workers.
    Network,
}

/// A machine that runs workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IometerManager {
    /// The number.
    pub id: u32,
    pub name: String,
    /// The network address, as written.
    pub address: String,
    /// The workers, in order.
    pub workers: Vec<IometerWorker>,
}

/// A name that the file gives, after the number of its line.
pub type LineAndName = (usize, String);

/// A worker: one thread of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IometerWorker {
    /// Line of its name; 0 when the file has no such worker.
    pub line: usize,
    pub name: String,
    /// `Some(protocol)` for a network worker.
    pub network: Option<String>,
    /// Requests in flight on each target.
    pub outstanding: u32,
    /// Transactions after which the worker closes and opens its targets; `None`: never.
    pub connection: Option<u32>,
    /// Seed of the worker's targets; `None`: taken from the clock.
    pub fixed_seed: Option<u64>,
    /// Sectors in use of each target; 0: all.
    pub maximum_size: u64,
    /// First sector in use.
    pub starting_sector: u64,
    /// Content of written data: 0 repeating bytes, 1 pseudo-random, 2 random.
    pub data_pattern: u32,
    /// The worker's access specifications, in order.
    pub assigned: Vec<LineAndName>,
    /// The worker's targets, in order.
    pub targets: Vec<LineAndName>,
}

impl IometerWorker {
    /// A worker with Iometer's values for a new one: one request in flight, the whole of each target.
    pub(super) fn new(line: usize, name: &str) -> IometerWorker {
        IometerWorker {
            line,
            name: name.to_owned(),
            network: None,
            outstanding: 1,
            connection: None,
            fixed_seed: None,
            maximum_size: 0,
            starting_sector: 0,
            data_pattern: 0,
            assigned: Vec::new(),
            targets: Vec::new(),
        }
    }
}
