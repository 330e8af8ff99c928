//! Jobs as values: the workers, when each issues, and what. The generators turn them into requests.

use alloc::string::String;
use alloc::vec::Vec;

use seekwise_disk::time::{Instant, Span};

/// A job: all its workers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Job {
    /// The name, for reports.
    pub name: String,
    /// The workers, in order. At most 65,535.
    pub workers: Vec<Worker>,
}

/// A stream of requests: a fio job's clone, or a (worker, target) pair of Iometer.
#[derive(Clone, Debug, PartialEq)]
pub struct Worker {
    /// The name, for reports.
    pub name: String,
    /// Workers of a stage start when all of the stage before have ended (fio's `stonewall`, Iometer's next test).
    pub stage: u32,
    /// Reporting group: workers of one group are reported together.
    pub group: u32,
    /// Waits this long after its stage begins.
    pub start_delay: Span,
    /// Not counted for this long after it begins; the run time begins after it.
    pub ramp: Span,
    /// Which of its requests are counted.
    pub counting: CountingRule,
    /// Ends after this long (ramp not included); `None`: when its bytes are done.
    pub runtime: Option<Span>,
    /// Begins again when its bytes are done, until `runtime`.
    pub time_based: bool,
    /// Requests in flight at most.
    pub depth: u32,
    /// When it issues.
    pub pace: Pace,
    /// Goes on after a failed read, and after a failed write, trim or flush, as Iometer does, and fio with
    /// `continue_on_error`; else it ends at the first failure, once the requests in flight have ended.
    pub survives: [bool; 2],
    /// The requests that it issues.
    pub pattern: Pattern,
}

/// Which requests of a worker are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountingRule {
    /// As the tool of the job counts. fio also counts requests in flight at the end, Iometer leaves out those issued in the
    /// ramp: in a run of length T the rate is off by about the mean response over T (Little's law: one queue too many or too
    /// few is counted).
    #[default]
    Tool,
    /// Requests that complete between the end of the ramp and the end of the run time, whenever they were issued: the
    /// rate of a steady worker, however short the run.
    Window,
}

/// When requests are issued. The default is a closed loop: at once, up to the depth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// Pauses between blocks.
    pub think: Option<ThinkTime>,
    /// A rate for reads, writes and trims.
    pub rate: [Option<IssueRate>; 3],
    /// How a rate spaces its requests.
    pub process: ArrivalProcess,
    /// The share of the requests that several workers issue together.
    pub flow: Option<Flow>,
}

/// fio's `flow`: workers of one flow issue in the proportions of their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Which flow (`flow_id`).
    pub id: u32,
    /// The weight; at least 1.
    pub weight: u32,
    /// How long it sleeps when it is ahead (`flow_sleep`); zero: until the others have caught up.
    pub sleep: Span,
}

/// fio's think time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThinkTime {
    /// How long.
    pub time: Span,
    /// The part of it in which the program computes, if there is a processor; the pause is longer if computing takes longer.
    pub spin: Span,
    /// After how many blocks; at least 1.
    pub blocks: u32,
    /// Counts blocks when issued rather than when completed.
    pub on_issue: bool,
}

/// A rate of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueRate {
    /// Bytes a second.
    Bytes(u64),
    /// Requests a second.
    Requests(u64),
}

/// How a rate spaces its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrivalProcess {
    /// Evenly.
    #[default]
    Linear,
    /// Exponential gaps, as far as the depth allows.
    Poisson,
}

/// A run of bytes on the device: a file, a partition, the whole of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First byte on the device.
    pub start: u64,
    pub bytes: u64,
}

/// Which algorithm draws the requests.
#[expect(clippy::large_enum_variant, reason = "a worker has one, and nearly all are fio's")]
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// fio's generator.
    Fio(FioPattern),
    /// Iometer's generator.
    Iometer(IometerPattern),
}

/// The time for which a worker counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When the ramp ended.
    pub from: Instant,
    /// When the worker ended; not before `from`.
    pub until: Instant,
}

/// The directions of fio's `rw`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    #[default]
    Read,
    Write,
    Trim,
    /// Reads and writes, mixed.
    Mixed,
    /// A trim, then a write of the same place.
    TrimWrite,
}

/// fio's generator, as its manual and code define it (fio 3.x). Triples are read, write, trim.
#[derive(Clone, Debug, PartialEq)]
pub struct FioPattern {
    /// `rw` without its `rand`.
    pub direction: Direction,
    /// Percent of requests at random places: 0 for `rw=read`, 100 for `randread`, else `percentage_random`.
    pub random: [u8; 3],
    /// `rwmixread`: percent of reads when mixed.
    pub mix_read: u8,
    /// `rw=randread:8`: this many sequential requests per random place; `rw=read:8k`: bytes left out after each.
    pub modifier: Option<RwModifier>,
    /// Sizes of requests.
    pub blocks: [BlockSizes; 3],
    /// `blockalign`: offsets of random requests are multiples of this; 0: of the smallest block.
    pub align: [u64; 3],
    /// `bs_is_seq_rand`: `blocks[0]` for sequential and `blocks[1]` for random requests.
    pub sizes_by_randomness: bool,
    /// The files, each already reduced to the part in use (offset, size).
    pub files: Vec<Region>,
    /// Which file next.
    pub file_service: FileService,
    /// Bytes to do in one pass over all files together (`io_size`, default the files' sizes).
    pub bytes: u64,
    /// `number_ios`: ends after this many requests.
    pub requests: Option<u64>,
    /// `loops`: passes.
    pub loops: u32,
    /// Where random requests fall.
    pub distribution: Distribution,
    /// Each block once a pass (off with `norandommap`, with other distributions than uniform, and where read and
    /// write sizes differ: the job's reader decides).
    pub random_map: bool,
    /// `random_generator`.
    pub generator: Generator,
    /// `randseed`. The streams are those of fio's thread with the worker's number (the first is 1).
    pub seed: u64,
    /// Which of the streams repeat.
    pub repeat: RandomRepeat,
    /// Syncs between the requests.
    pub syncs: Syncs,
    /// A flush of each file at the end of a pass (`end_fsync`, `fsync_on_close`). A file that is done before the others
    /// is not flushed for itself.
    pub flush_at_end: bool,
    /// `sync=sync|dsync`: each write is durable before it completes.
    pub write_through: bool,
    /// `zonemode=strided`.
    pub strided: Option<StridedZones>,
    /// `zonemode=zbd` on a drive without zones.
    pub zoned: Option<Zoned>,
    /// Reads and writes draw their sizes alike (`verify`, whether anything is read back or not).
    pub sizes_alike: bool,
    /// Completed files stay completed in later passes, so that none follows once all are (`do_verify=0`, whether anything
    /// is verified or not, if passes are neither counted nor timed).
    pub done_for_good: bool,
    /// Reads back what it wrote, when done (`verify` with `do_verify`).
    pub verify: bool,
    /// If it verifies: reads some of it back on the way.
    pub backlog: Option<VerifyBacklog>,
    /// How its engine takes requests and gives them back.
    pub engine: IoEngine,
    /// `cmdprio_percentage`: percent of requests marked [`PRIORITY`](seekwise_disk::block::Flags::PRIORITY).
    pub priority: [u8; 3],
}

/// Which of fio's random streams repeat (`randrepeat`, `randseed`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RandomRepeat {
    /// Each pass starts its streams afresh (`randrepeat=1` without a seed).
    #[default]
    Passes,
    /// Streams run on from pass to pass (`randseed`). Places do not depend on the seed: fio 3.33 has one constant for them.
    Runs,
    /// Nothing in fio (`randrepeat=0`); here all streams follow the seed.
    Never,
}

/// fio's syncs: each after this many writes, and before each request from then on until the next write; 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// `fsync`: a flush.
    pub fsync: u32,
    /// `fdatasync`: a flush too.
    pub fdatasync: u32,
    /// `sync_file_range`: no request to the drive, but it takes its turn.
    pub file_range: u32,
}

impl Syncs {
    /// Whether there are any.
    pub fn has_any(&self) -> bool {
        *self != Syncs::default()
    }
}

/// fio's `verify_backlog`: what was written is read back before all is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyBacklog {
    /// A batch is read back whenever a multiple of so many writes waits for it; at least 1.
    pub every: u64,
    /// Writes in a batch (`verify_backlog_batch`); at least 1.
    pub batch: u64,
}

/// How fio's engine takes requests and gives them back. With more than one in flight this decides when fio sees
/// completions, and so where its syncs fall and when it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoEngine {
    /// Which kind it is.
    pub kind: EngineKind,
    /// Completions that fio waits for, at least, once all of the depth is in use (`iodepth_batch_complete_min`); if this
    /// and `most` are 0, it waits for one after each request.
    pub least: u32,
    /// Completions that it takes at a time, at most (`iodepth_batch_complete_max`); `least` if that is more.
    pub most: u32,
    /// Completions are taken until no more than this many requests are in flight (`iodepth_low`); 0: the depth.
    pub low: u32,
    /// Requests that are handed over at a time (`iodepth_batch`), a group. Here they reach the device at once; but a sync
    /// that is a call waits for those that are not handed over yet, and for a completion.
    pub batch: u32,
}

impl Default for IoEngine {
    /// A single request at a time.
    fn default() -> IoEngine {
        IoEngine { kind: EngineKind::OneAtATime, least: 1, most: 1, low: 0, batch: 1 }
    }
}

/// The kinds of fio's engines, as far as they differ in their requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// Each request is a call (`psync`). A pass goes on until no file has more, whatever its bytes.
    #[default]
    OneAtATime,
    /// Requests are queued, a sync is a call that holds back all later ones (`libaio`). A pass ends with its bytes.
    SyncsHold,
    /// Syncs are queued like all requests (`io_uring`). A pass ends with its bytes.
    AllQueued,
    /// Syncs are queued too, but after a group is handed over nothing more is taken until all of it is given back,
    /// together (`null`). A pass ends with its bytes.
    OneGroupAtATime,
}

impl EngineKind {
    /// Whether a sync is queued as requests are, and no call.
    pub(crate) fn queues_syncs(self) -> bool {
        matches!(self, EngineKind::AllQueued | EngineKind::OneGroupAtATime)
    }
}

/// The number after the colon of fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RwModifier {
    /// This many requests in sequence from each random place (`rw_sequencer=sequential`).
    Run(u32),
    /// This many requests at the same random place (`rw_sequencer=identical`).
    Same(u32),
    /// Bytes left out after each sequential request; negative runs backwards.
    Skip(i64),
}

/// Sizes of requests in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockSizes {
    /// All alike.
    Fixed(u64),
    /// `bsrange`: uniform between the two, multiples of the first unless `unaligned`.
    Range {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
        /// `bs_unaligned`: any number of bytes.
        unaligned: bool,
    },
    /// `bssplit`: size and percent; the percents sum to 100.
    Split(Vec<(u64, u8)>),
}

impl BlockSizes {
    /// The smallest size.
    pub fn smallest(&self) -> u64 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { min, .. } => *min,
            BlockSizes::Split(list) => list.iter().map(|&(bytes, _)| bytes).min().unwrap_or(0),
        }
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        match self {
            BlockSizes::Fixed(bytes) => *bytes,
            BlockSizes::Range { max, .. } => *max,
            BlockSizes::Split(list) => list.iter().map(|&(bytes, _)| bytes).max().unwrap_or(0),
        }
    }
}

/// Which of several files the next request goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileService {
    /// In turn, with one request each.
    #[default]
    RoundRobin,
    /// Each until it is done, then the next.
    Sequential,
    /// At random.
    Random,
}

/// Where fio's random requests fall.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// Evenly.
    #[default]
    Uniform,
    /// Zipf with this exponent in millionths, ranks scattered by fio's hash.
    Zipf {
        /// Exponent, millionths.
        theta: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// Pareto with this parameter in millionths, scattered by fio's hash.
    Pareto {
        /// Parameter, millionths.
        h: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// Sum of uniforms with this deviation in millionths of a percent, scattered by fio's hash.
    Normal {
        /// Deviation, millionths of a percent.
        deviation: u32,
        /// Third parameter, in millionths of the range.
        center: Option<u32>,
    },
    /// Percent of accesses, percent of the space, in order.
    Zoned(Vec<(u8, u8)>),
    /// Percent of accesses, bytes, in order.
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
pub struct StridedZones {
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
    /// The whole files, of which [`FioPattern::files`] are parts that begin with a zone. Workers on one file share its
    /// zones.
    pub files: Vec<Region>,
    /// Bytes of a zone.
    pub size: u64,
    /// Bytes from its beginning on that are written (`zonecapacity`).
    pub capacity: u64,
    /// Zones of a file that are open at a time (`max_open_zones`), the same for all of its workers; 0: any number.
    pub most_open: u32,
    /// Zones that this worker has open at a time (`job_max_open_zones`); 0: any number.
    pub most_open_of_worker: u32,
    /// `zoneskip`: bytes that sequential jobs leave out after each zone.
    pub skip: u64,
    /// Reads may go beyond the write pointer (`read_beyond_wp`).
    pub beyond: bool,
    /// `zone_reset_threshold`: the share of the worker's part that has to be written before zones are emptied, millionths.
    pub reset_threshold: u32,
    /// Beyond that share a zone is emptied after so many writes (1 over `zone_reset_frequency`); 0: none.
    pub reset_every: u32,
    /// Bytes at the ends of the files that fill no whole zone: counted in the size, but not used.
    pub cut: u64,
}

/// Iometer's generator over one target.
#[derive(Clone, Debug, PartialEq)]
pub struct IometerPattern {
    /// The access specification.
    pub spec: AccessSpec,
    /// Where on the device.
    pub area: Region,
    /// Seed of the worker's generator, which draws the lines.
    pub worker_seed: u64,
    /// Seed of the target's generator, which draws directions and places. Iometer's default is 1.
    pub target_seed: u64,
}

/// An Iometer access specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessSpec {
    pub name: String,
    /// The lines, whose shares sum to 100.
    pub lines: Vec<AccessLine>,
}

/// A line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessLine {
    /// Bytes of a request.
    pub size: u32,
    /// Percent of bursts that use this line.
    pub share: u8,
    /// Percent of reads.
    pub reads: u8,
    /// Percent of requests at random places.
    pub random: u8,
    /// Pause before a burst.
    pub delay: Span,
    /// Transactions in a burst.
    pub burst: u32,
    /// Places are rounded up to this many bytes; 0: to a sector.
    pub align: u32,
    /// Bytes of the answering request in the other direction; 0: none.
    pub reply: u32,
}
