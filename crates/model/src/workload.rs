//! Workloads: jobs, their workers, and the generators that turn them into requests.
//!
//! A [`Job`] is a list of [`Worker`]s. Each worker is a closed loop (or paced stream) of requests over its own files,
//! drawn by the algorithm of fio or of Iometer. [`Workload`] runs them all and is the [`crate::block::Source`] that an
//! engine joins to a device. All byte positions are absolute on the device: the reader of a job file lays the files out
//! first. Other sources stand beside it: a measured trace ([`replay`]), a recorded session ([`recorded`]), and a trace
//! that is read while it is played ([`trace`]).
//!
//! Shares are whole per cent, exponents millionths: no floating point reaches the model.

use alloc::string::String;
use alloc::vec::Vec;

use crate::time::{Instant, Span};

mod address;
mod arrival;
mod check;
mod fio;
mod fixed;
mod flow;
mod iometer;
mod map;
mod reaping;
pub mod recorded;
pub mod replay;
mod size;
mod source;
mod tausworthe;
mod telling;
pub mod trace;
mod worker;
mod written;
mod zoned;

pub use check::{Fault, WorkloadError};
pub use source::Workload;
pub use tausworthe::DEFAULT_SEED;
pub use telling::Tell;

/// A job: workers that run together or in stages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// For reports.
    pub name: String,
    /// In order; at most 65,535.
    pub workers: Vec<Worker>,
}

/// A stream of requests: a clone of a fio job, or a (worker, target) pair of Iometer.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// For reports.
    pub name: String,
    /// Workers of a stage start when all of the stage before have ended (fio's `stonewall`, Iometer's next test).
    pub stage: u32,
    /// Reporting group: workers of one group are reported together.
    pub group: u32,
    /// Waits this long after its stage begins.
    pub start_delay: Span,
    /// Nothing is counted for this long after it begins; the run time begins after it.
    pub ramp: Span,
    /// Ends after this long (ramp not included); `None`: when its bytes are done.
    pub runtime: Option<Span>,
    /// Begins again when its bytes are done, until `runtime`.
    pub time_based: bool,
    /// The most requests in flight.
    pub depth: u32,
    pub pace: Pace,
    /// Goes on after a failed read, and after a failed write, trim or flush, as Iometer's workers do, and fio's with
    /// `continue_on_error`. Otherwise it ends at the first failure, once everything in flight has ended.
    pub survives: [bool; 2],
    pub pattern: Pattern,
}

/// When requests are issued. The default is a closed loop: at once, up to the depth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    pub think: Option<Think>,
    /// For reads, writes and trims.
    pub rate: [Option<Rate>; 3],
    /// How a rate spaces its requests.
    pub process: Process,
    /// Its share of what several workers issue together.
    pub flow: Option<Flow>,
}

/// fio's `flow`: workers of one flow issue in the proportions of their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// `flow_id`.
    pub id: u32,
    /// At least 1.
    pub weight: u32,
    /// How long the worker sleeps when it is ahead (`flow_sleep`); zero: until the others have caught up.
    pub sleep: Span,
}

/// fio's think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Think {
    /// The length of a pause.
    pub time: Span,
    /// How much of it the program computes, if there is a processor. The pause grows if the computing takes longer.
    pub spin: Span,
    /// How many blocks between pauses; at least 1.
    pub blocks: u32,
    /// Counts blocks when issued, not when completed.
    pub on_issue: bool,
}

/// The rate of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bytes a second.
    Bytes(u64),
    Requests(u64),
}

/// How a rate spaces its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    #[default]
    Linear,
    /// By exponential gaps, as far as the depth allows.
    Poisson,
}

/// A range of bytes on the device: a file, a partition, or the whole device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first byte on the device.
    pub start: u64,
    pub bytes: u64,
}

/// The algorithm that draws the requests.
#[expect(clippy::large_enum_variant, reason = "a worker has one, and nearly all are fio's")]
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    Fio(FioPattern),
    Iometer(IometerPattern),
}

/// The time for which a worker is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The end of its ramp.
    pub from: Instant,
    /// Its end; not before `from`.
    pub until: Instant,
}

/// The directions of fio's `rw`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    Read,
    Write,
    Trim,
    Mixed,
    /// A trim, then a write at the same place.
    TrimWrite,
}

/// fio's generator, as its manual and code define it (fio 3.x). Triples are read, write, trim.
#[derive(Clone, Debug, PartialEq)]
pub struct FioPattern {
    /// `rw` without its `rand`.
    pub direction: Direction,
    /// Per cent of requests at random places: 0 for `rw=read`, 100 for `randread`, else `percentage_random`.
    pub random: [u8; 3],
    /// `rwmixread`: per cent of reads when mixed.
    pub mix_read: u8,
    /// `rw=randread:8`: this many sequential requests for each random place; `rw=read:8k`: bytes skipped after each.
    pub modifier: Option<Modifier>,
    /// Sizes of requests.
    pub blocks: [Blocks; 3],
    /// `blockalign`: offsets of random requests are multiples of this; 0 for the smallest block.
    pub align: [u64; 3],
    /// `bs_is_seq_rand`: `blocks[0]` for sequential and `blocks[1]` for random requests.
    pub sizes_by_randomness: bool,
    /// Each already reduced to the part in use (offset, size).
    pub files: Vec<Region>,
    /// How the next file is chosen.
    pub file_service: FileService,
    /// Bytes in one pass over all files together (`io_size`, by default the files' sizes).
    pub bytes: u64,
    /// `number_ios`: ends after this many requests.
    pub requests: Option<u64>,
    /// `loops`: how many passes.
    pub loops: u32,
    /// How random requests are distributed.
    pub distribution: Distribution,
    /// Each block once in a pass. It is off with `norandommap`, with any distribution other than uniform, and if read
    /// and write sizes differ: the job's reader decides.
    pub random_map: bool,
    /// `random_generator`.
    pub generator: Generator,
    /// `randseed`. The streams are those of fio's thread with the worker's number (the first is 1).
    pub seed: u64,
    /// Which of the streams repeat.
    pub repeat: Repeat,
    pub syncs: Syncs,
    /// Flushes each file at the end of a pass (`end_fsync`, `fsync_on_close`). A file that is done before the others is
    /// not flushed separately.
    pub flush_at_end: bool,
    /// `sync=sync|dsync`: each write is durable before it completes.
    pub write_through: bool,
    /// `zonemode=strided`.
    pub strided: Option<Strided>,
    /// `zonemode=zbd` on a drive without zones.
    pub zoned: Option<Zoned>,
    /// Reads and writes draw the same sizes (`verify`, whether anything is read back or not).
    pub sizes_alike: bool,
    /// Files that are done count as such in later passes too, so that there is none once all were (`do_verify=0`, whether
    /// anything is verified or not, where passes are neither counted nor timed).
    pub done_for_good: bool,
    /// Reads back what it wrote at the end (`verify` with `do_verify`).
    pub verify: bool,
    /// Reads back some of it earlier, if it verifies.
    pub backlog: Option<VerifyBacklog>,
    /// How its engine accepts and completes requests.
    pub engine: Engine,
    /// `cmdprio_percentage`: per cent of requests marked [`PRIORITY`](crate::block::Flags::PRIORITY).
    pub priority: [u8; 3],
}

/// Which of fio's random streams repeat (`randrepeat`, `randseed`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Repeat {
    /// Each pass starts its streams again (`randrepeat=1` without a seed).
    #[default]
    Passes,
    /// Streams run on from pass to pass (`randseed`). Places are the same for any seed: fio 3.33 has one constant for
    /// them.
    Runs,
    /// None repeats in fio (`randrepeat=0`); here all streams follow the seed.
    Never,
}

/// fio's syncs: each after this many writes, and before each request from then on until the next write; 0 for never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// `fsync`: a flush.
    pub fsync: u32,
    /// `fdatasync`: also a flush.
    pub fdatasync: u32,
    /// `sync_file_range`: the drive does not see it, but it takes its turn.
    pub file_range: u32,
}

impl Syncs {
    /// True if there are any.
    pub fn any(&self) -> bool {
        *self != Syncs::default()
    }
}

/// fio's `verify_backlog`: reads data back before everything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyBacklog {
    /// Reads back whenever a multiple of this many writes waits; at least 1.
    pub every: u64,
    /// How many are read back then (`verify_backlog_batch`); at least 1.
    pub batch: u64,
}

/// How fio's engine accepts and completes requests. With more than one in flight this decides when fio looks at
/// completions, and so where its syncs fall and when it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Engine {
    pub kind: EngineKind,
    /// When the whole depth is in use, the engine waits for at least this many (`iodepth_batch_complete_min`); if
    /// neither this nor `most` is set, for one after each request.
    pub least: u32,
    /// The most completions taken at a time (`iodepth_batch_complete_max`); at least `least`.
    pub most: u32,
    /// Goes on taking completions until no more than this are in flight (`iodepth_low`); 0 for the depth.
    pub low: u32,
    /// Requests are handed over so many at a time (`iodepth_batch`). They reach the device at once here; but a sync that is a
    /// call waits for those that are not handed over yet, and for one to be taken back.
    pub batch: u32,
}

impl Default for Engine {
    /// One completion at a time, as it comes.
    fn default() -> Engine {
        Engine { kind: EngineKind::OneAtATime, least: 1, most: 1, low: 0, batch: 1 }
    }
}

/// The kinds of fio's engines, as far as their requests differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// A call for each request (`psync`). A pass goes on until no file has more, whatever its bytes.
    #[default]
    OneAtATime,
    /// Requests are queued; a sync is a call that holds back all later ones (`libaio`). A pass ends with its bytes.
    SyncsHold,
    /// Syncs are queued like all requests (`io_uring`). A pass ends with its bytes.
    AllQueued,
}

/// The number after the colon of fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modifier {
    /// This many requests in sequence from each random place (`rw_sequencer=sequential`).
    Run(u32),
    /// This many requests at the same random place (`rw_sequencer=identical`).
    Same(u32),
    /// Bytes skipped after each sequential request; negative for backwards.
    Skip(i64),
}

/// Sizes of requests in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    Fixed(u64),
    /// `bsrange`: uniform between the two; multiples of the first unless `unaligned`.
    Range {
        min: u64,
        max: u64,
        /// `bs_unaligned`: any number of bytes.
        unaligned: bool,
    },
    /// `bssplit`: size and per cent; the shares add up to 100.
    Split(Vec<(u64, u8)>),
}

impl Blocks {
    /// The smallest size.
    pub fn smallest(&self) -> u64 {
        match self {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { min, .. } => *min,
            Blocks::Split(list) => list.iter().map(|&(bytes, _)| bytes).min().unwrap_or(0),
        }
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        match self {
            Blocks::Fixed(bytes) => *bytes,
            Blocks::Range { max, .. } => *max,
            Blocks::Split(list) => list.iter().map(|&(bytes, _)| bytes).max().unwrap_or(0),
        }
    }
}

/// Which of several files the next request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileService {
    /// One after another, this many requests each.
    #[default]
    RoundRobin,
    /// One until it is done, then the next.
    Sequential,
    Random,
}

/// The distribution of fio's random requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    #[default]
    Uniform,
    /// Zipf, with the ranks scattered by fio's hash.
    Zipf {
        /// The exponent, in millionths.
        theta: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// Pareto, scattered by fio's hash.
    Pareto {
        /// The parameter, in millionths.
        h: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// A sum of uniform numbers, scattered by fio's hash.
    Normal {
        /// In millionths of a per cent.
        deviation: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// Per cent of accesses, per cent of the space, in order.
    Zoned(Vec<(u8, u8)>),
    /// Per cent of accesses, bytes, in order.
    ZonedAbsolute(Vec<(u8, u64)>),
}

/// fio's random generators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// Tausworthe 88, 32 bits.
    #[default]
    Tausworthe,
    /// Tausworthe 258, 64 bits.
    Tausworthe64,
    /// A linear feedback shift register over the blocks: each once, without a map.
    Lfsr,
}

/// fio's `zonemode=strided`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// Bytes between zone starts.
    pub range: u64,
    /// Bytes used of each zone.
    pub size: u64,
    /// Bytes skipped after each zone.
    pub skip: u64,
}

/// fio's `zonemode=zbd` on a drive without zones: each file has zones with write pointers, which fio keeps itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zoned {
    /// The whole files, of which [`FioPattern::files`] are parts that begin with a zone. Workers on one file have its
    /// zones in common.
    pub files: Vec<Region>,
    /// Bytes of a zone.
    pub size: u64,
    /// Bytes from its beginning on that are written (`zonecapacity`).
    pub capacity: u64,
    /// Zones of a file that are open at a time (`max_open_zones`), the same for all of its workers; 0: any number.
    pub most_open: u32,
    /// Of these, zones that this worker has open (`job_max_open_zones`); 0: any number.
    pub most_open_of_worker: u32,
    /// `zoneskip`, in bytes: left out behind each zone, in sequence.
    pub skip: u64,
    /// Reads go beyond what was written (`read_beyond_wp`).
    pub beyond: bool,
    /// `zone_reset_threshold`: the share of the worker's part that has to be written before zones are emptied, millionths.
    pub reset_threshold: u32,
    /// Then one is emptied after so many writes (1 over `zone_reset_frequency`); 0: none.
    pub reset_every: u32,
    /// Bytes at the ends of the files that are no whole zone: they count to the size, and are not used.
    pub cut: u64,
}

/// Iometer's generator over one target.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerPattern {
    pub spec: AccessSpec,
    pub area: Region,
    /// The seed of the worker's generator, which draws the lines.
    pub worker_seed: u64,
    /// The seed of the target's generator, which draws directions and places. Iometer's default is 1.
    pub target_seed: u64,
}

/// An Iometer access specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSpec {
    pub name: String,
    /// Their shares add up to 100.
    pub lines: Vec<AccessLine>,
}

/// A line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLine {
    /// Bytes in a request.
    pub size: u32,
    /// Per cent of bursts that use this line.
    pub share: u8,
    /// Per cent of reads.
    pub reads: u8,
    /// Per cent of requests at random places.
    pub random: u8,
    /// Pause before a burst.
    pub delay: Span,
    /// Transactions in a burst.
    pub burst: u32,
    /// Places are rounded up to this many bytes; 0 for a sector.
    pub align: u32,
    /// Bytes of the answering request in the other direction; 0 for none.
    pub reply: u32,
}
