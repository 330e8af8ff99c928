//! The keys of the layers above a drive: unit, range, what holds without them, what they say. Each stands here once; the
//! reader, `--set`, `seekwise keys`, the guide and the errors all go by these lists. A drive's are `profile/keys`.

use crate::profile::figure::{Accepts, Key};
use crate::stack::modes::MODES;

/// The keys of a processor.
static PROCESSOR_KEYS: &[Key] = &[
    Key::must("cores", "", Accepts::Whole(1, 1024), "cores on which all work queues").also(&["cpus"]),
    Key::must(
        "speed",
        "",
        Accepts::Number(0.01, 10_000.0),
        "times the reference machine, a Pentium III of 800 MHz, on the same path",
    )
    .also(&["clock"]),
    Key::must(
        "request_us",
        "us",
        Accepts::Number(0.0, 1e6),
        "program and system, for each request, on the reference machine",
    )
    .also(&["system call"]),
    Key::must("interrupt_us", "us", Accepts::Number(0.0, 1e6), "each interrupt, on the reference machine"),
    Key::must("copy_mb_s", "MB/s", Accepts::Number(1.0, 1e7), "copying in memory; not scaled by `speed`")
        .also(&["memory bandwidth"]),
    Key::must("parity_mb_s", "MB/s", Accepts::Number(1.0, 1e7), "computing an array's parity; not scaled by `speed`")
        .also(&["xor"]),
];

/// The keys of an accelerator.
static ACCELERATOR_KEYS: &[Key] = &[
    Key::must("size_mb", "MiB", Accepts::Whole(1, 65_536), "memory").also(&["page cache"]),
    Key::must("hit_us", "us", Accepts::Number(0.001, 1e6), "what a request costs that ends here"),
    Key::must("write_back", "", Accepts::Flag, "answers writes before they are below"),
    Key::must(
        "flush",
        "",
        Accepts::Word(&["forward", "drop"]),
        "`forward`: what is dirty goes down first, then the flush; `drop`: answers it",
    ),
    Key::must("dirty_percent", "%", Accepts::Whole(0, 100), "share that may be dirty before it is written out")
        .also(&["dirty_ratio"]),
    Key::must("dirty_ms", "ms", Accepts::Number(0.0, 1e7), "age at which it is written out").also(&["dirty_expire"]),
    Key::must("idle_ms", "ms", Accepts::Number(0.0, 1e7), "quiet after which it is written out"),
    Key::must("read_ahead_kib", "KiB", Accepts::Whole(0, 65_536), "behind a sequential reader; 0: none")
        .also(&["readahead", "read_ahead_kb"]),
];

/// The keys of a driver.
static DRIVER_KEYS: &[Key] = &[
    Key::must("capacity", "", Accepts::Whole(1, 65_536), "requests taken at once; those beyond wait with the program").also(&["nr_requests"]),
    Key::must("depth", "", Accepts::Whole(1, 65_536), "commands outstanding below; the device's own depth is a limit too").also(&["queue depth", "qd"]),
    Key::must("queue.policy", "", Accepts::Word(&["fcfs", "sstf", "look", "clook", "deadline", "fair"]), "the order of what waits: by block number, or `deadline` as Linux's mq-deadline, `fair` in the manner of BFQ").also(&["scheduler", "elevator", "io scheduler"]),
    Key::may("queue.window", "", Accepts::Whole(0, 65_536), "0, all", "by block number: among how many of the oldest it chooses"),
    Key::may("queue.max_wait_ms", "ms", Accepts::Number(0.001, 1e6), "no limit", "by block number: what has waited longer goes first"),
    Key::may("queue.read_expire_ms", "ms", Accepts::Number(0.0, 1e6), "500", "`deadline`: a read is due after so long"),
    Key::may("queue.write_expire_ms", "ms", Accepts::Number(0.0, 1e6), "5000", "`deadline`: a write is"),
    Key::may("queue.writes_starved", "", Accepts::Whole(0, 65_536), "2", "`deadline`: batches of reads for which writes are passed over"),
    Key::may("queue.fifo_batch", "", Accepts::Whole(1, 65_536), "16", "`deadline`: commands of a batch"),
    Key::may("queue.prio_aging_ms", "ms", Accepts::Number(0.0, 1e6), "10000", "`deadline`: what is not urgent goes first when it has waited so long"),
    Key::may("queue.slice_idle_ms", "ms", Accepts::Number(0.0, 10_000.0), "8", "`fair`: how long a program is waited for"),
    Key::may("queue.seeky_idle_ms", "ms", Accepts::Number(0.0, 10_000.0), "2", "`fair`: how long one that seeks is"),
    Key::may("queue.turn_ms", "ms", Accepts::Number(0.001, 10_000.0), "125", "`fair`: the longest turn of a program"),
    Key::may("queue.max_budget_sectors", "sectors", Accepts::Whole(1, 1 << 24), "16384", "`fair`: sectors of a turn"),
    Key::may("queue.async_charge", "", Accepts::Whole(1, 1000), "3", "`fair`: what a sector of an asynchronous write counts"),
    Key::may("queue.sync_writes", "", Accepts::Flag, "on", "`fair`: direct writes count as synchronous"),
    Key::must("max_transfer_sectors", "sectors", Accepts::Whole(1, 65_536), "longer requests are split").also(&["max_sectors_kb", "split"]),
    Key::may("merge", "", Accepts::Flag, "off", "neighbours that wait become one command"),
    Key::may("merge_reads", "", Accepts::Flag, "on", "reads too, where neighbours are merged"),
    Key::may("plug.commands", "", Accepts::Whole(1, 65_536), "no plugging", "the first requests wait until there are so many").also(&["plugging"]),
    Key::may("plug.wait_ms", "ms", Accepts::Number(0.001, 10_000.0), "no plugging", "or until the first has waited so long"),
    Key::may("flush", "", Accepts::Word(&["forward", "cached", "drop", "never"]), "forward", "what becomes of a flush: it goes down (`cached`: where the drive caches writes), or is answered and FUA forgotten (`never`: also none before a power-off)").also(&["barrier", "fsync"]),
    Key::may("write_through", "", Accepts::Word(&["fua", "flush", "ignore"]), "fua", "a write with FUA goes down so, with a flush behind it, or like any other"),
    Key::may("power_off", "", Accepts::Word(&["orderly", "at-once", "pause"]), "orderly", "what becomes of an orderly power-off").also(&["shutdown"]),
    Key::may("power_off_pause_ms", "ms", Accepts::Number(0.0, 600_000.0), "0", "how long the `pause` is"),
    Key::may("timeout_ms", "ms", Accepts::Number(0.001, 1e6), "none", "a command that takes longer is aborted and sent again").also(&["time-out"]),
    Key::may("retries", "", Accepts::Whole(0, 1_000_000), "0", "so many times"),
    Key::may("request_us", "us", Accepts::Number(0.0, 1e6), "0", "its own cost for each request, on the reference machine"),
];

/// The keys of an array.
static ARRAY_KEYS: &[Key] = &[
    Key::must("level", "", Accepts::Word(LEVELS), "level of the first volume").also(&[
        "raid",
        "raid level",
        "mirror",
        "stripe",
    ]),
    Key::must("drives", "", Accepts::Whole(2, 32), "drives of the array").also(&["members", "disks"]),
    Key::must("chunk_kib", "KiB", Accepts::Whole(4, 65_536), "a chunk").also(&["stripe size", "stripe unit", "strip"]),
    Key::must("percent", "%", Accepts::Whole(1, 100), "the first volume's share of each drive"),
    Key::may("second", "", Accepts::Word(LEVELS), "one volume", "level of a second volume behind it")
        .also(&["matrix raid"]),
    Key::must("depth", "", Accepts::Whole(1, 65_536), "requests at once"),
    Key::must("queue.policy", "", Accepts::Word(&["fcfs", "sstf", "look", "clook"]), "order of what waits for a drive"),
    Key::must("read", "", Accepts::Word(&["nearest", "round-robin", "first"]), "which copy of a mirror is read")
        .also(&["read balance"]),
    Key::must(
        "parity",
        "",
        Accepts::Word(&["fewest", "modify", "reconstruct"]),
        "the way parity is made: with the fewest reads, always by change, or always anew",
    )
    .also(&["read-modify-write", "rmw"]),
    Key::must("rebuild_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "how fast a new drive is filled")
        .also(&["resync"]),
    Key::must("rebuild_run_kib", "KiB", Accepts::Whole(4, 65_536), "in runs of what length"),
    Key::may(
        "lose",
        "",
        Accepts::Whole(0, 31),
        "all are there",
        "a drive that is not there from the start, counted from 0",
    )
    .also(&["degraded", "failed drive"]),
];

/// The keys of a bus that all controllers of an array share.
static BUS_KEYS: &[Key] =
    &[Key::must("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "what all channels of an array move together")
        .also(&["pci"])];

/// The keys of a controller.
static CONTROLLER_KEYS: &[Key] = &[
    Key::must("depth", "", Accepts::Whole(1, 256), "commands outstanding").also(&["queue depth"]),
    Key::must("command_ms", "ms", Accepts::Number(0.0, 10_000.0), "what a command costs"),
    Key::must("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "what the controller can move"),
    Key::may(
        "mode",
        "",
        Accepts::Word(MODES),
        "as fast as the drive's link",
        "transfer mode; one fitted share of its clock arrives (`sata-3` is 3 Gb/s, called SATA II; `sata-6` SATA III)",
    )
    .also(&["dma", "udma", "pio", "transfer mode", "sata ii", "sata iii"]),
    Key::may("interrupt_block_sectors", "sectors", Accepts::Whole(1, 256), "16", "`pio`: sectors for each interrupt")
        .also(&["multcount"]),
    Key::may("coalesce", "", Accepts::Whole(2, 256), "1", "completions for each interrupt")
        .also(&["interrupt coalescing"]),
    Key::may("coalesce_us", "us", Accepts::Number(0.001, 1e6), "1 completion each", "how long the first of them waits"),
];

/// The words for levels, of an array.
const LEVELS: &[&str] = &["raid-0", "raid-1", "raid-10", "raid-5", "raid-6"];

/// The layers that come ready-made, and their keys.
pub static HOST_LAYERS: &[(&str, &[Key])] = &[
    ("processor", PROCESSOR_KEYS),
    ("accelerator", ACCELERATOR_KEYS),
    ("driver", DRIVER_KEYS),
    ("array", ARRAY_KEYS),
    ("bus", BUS_KEYS),
    ("controller", CONTROLLER_KEYS),
];
