//! The operating system's driver: its keys, and how to build it.

use seekwise_disk::host::driver::deadline::DeadlineSpec;
use seekwise_disk::host::driver::fair::FairSpec;
use seekwise_disk::host::driver::{DriverSpec, Plug, PowerOffPolicy, SchedulerSpec};
use seekwise_disk::queue::Discipline;
use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::change::{flush_policy, forced_write_policy};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};
use crate::profile::queue_discipline;

pub(super) static DRIVER: LayerKind = LayerKind {
    name: "driver",
    otherwise: "direct: in order, without splitting, without a limit of its own",
    what: "the operating system's driver and scheduler",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Driver,
    shared: false,
    build,
};

static KEYS: &[ProfileKey] = &[
    ProfileKey::must("capacity", "", KeyDomain::Whole(1, 65_536), "requests accepted at once, and commands in the driver; further ones wait, parts of a split request too").also(&["nr_requests"]),
    ProfileKey::must("depth", "", KeyDomain::Whole(1, 65_536), "commands in flight to the device; the device's own depth limits them too").also(&["queue depth", "qd"]),
    ProfileKey::must("queue.policy", "", KeyDomain::Word(&["fcfs", "sstf", "look", "clook", "deadline", "fair"]), "order of waiting requests: by block number, `deadline` as in Linux's mq-deadline, or `fair` as in BFQ").also(&["scheduler", "elevator", "io scheduler"]),
    ProfileKey::may("queue.window", "", KeyDomain::Whole(0, 65_536), "0, all", "by block number: number of the oldest requests that the policy sees"),
    ProfileKey::may("queue.round_percent", "%", KeyDomain::Whole(0, 100), "0", "by block number: share of a round that is served before newer requests join it; 100 with `look` is FSCAN").also(&["fscan"]),
    ProfileKey::may("queue.max_wait_ms", "ms", KeyDomain::Number(0.001, 1e6), "no limit", "by block number: a request that has waited longer goes first"),
    ProfileKey::may("queue.read_expire_ms", "ms", KeyDomain::Number(0.0, 1e6), "500", "`deadline`: time until a read is due"),
    ProfileKey::may("queue.write_expire_ms", "ms", KeyDomain::Number(0.0, 1e6), "5000", "`deadline`: time until a write is due"),
    ProfileKey::may("queue.writes_starved", "", KeyDomain::Whole(0, 65_536), "2", "`deadline`: batches of reads that may pass waiting writes"),
    ProfileKey::may("queue.fifo_batch", "", KeyDomain::Whole(1, 65_536), "16", "`deadline`: commands per batch"),
    ProfileKey::may("queue.prio_aging_ms", "ms", KeyDomain::Number(0.0, 1e6), "10000", "`deadline`: time after which a low-priority request goes first"),
    ProfileKey::may("queue.slice_idle_ms", "ms", KeyDomain::Number(0.0, 10_000.0), "8", "`fair`: how long it idles for the next request of a program"),
    ProfileKey::may("queue.seeky_idle_ms", "ms", KeyDomain::Number(0.0, 10_000.0), "2", "`fair`: how long it idles for a program that seeks"),
    ProfileKey::may("queue.turn_ms", "ms", KeyDomain::Number(0.001, 10_000.0), "125", "`fair`: longest turn of a program"),
    ProfileKey::may("queue.max_budget_sectors", "sectors", KeyDomain::Whole(1, 1 << 24), "16384", "`fair`: sectors per turn"),
    ProfileKey::may("queue.async_charge", "", KeyDomain::Whole(1, 1000), "3", "`fair`: sectors charged for each sector that is written asynchronously"),
    ProfileKey::may("queue.sync_writes", "", KeyDomain::Flag, "on", "`fair`: direct writes count as synchronous"),
    ProfileKey::must("max_transfer_sectors", "sectors", KeyDomain::Whole(1, 65_536), "largest request; longer ones are split").also(&["max_sectors_kb", "split"]),
    ProfileKey::may("merge", "", KeyDomain::Flag, "off", "adjacent waiting requests are merged into one command"),
    ProfileKey::may("merge_reads", "", KeyDomain::Flag, "on", "merging applies to reads too"),
    ProfileKey::may("plug.commands", "", KeyDomain::Whole(1, 65_536), "no plugging", "requests are held back until this many wait").also(&["plugging"]),
    ProfileKey::may("plug.wait_ms", "ms", KeyDomain::Number(0.001, 10_000.0), "no plugging", "requests are held back at most this long"),
    ProfileKey::may("flush", "", KeyDomain::Word(&["forward", "cached", "drop", "never"]), "forward", "handling of flushes: `forward` passes them down, `cached` only if the drive caches writes; `drop` acknowledges them without effect and drops FUA; `never` also drops the flush before a power-off").also(&["barrier", "fsync"]),
    ProfileKey::may("write_through", "", KeyDomain::Word(&["fua", "flush", "fua-on-scsi", "ignore"]), "fua", "handling of a write with FUA: `fua` passes it down as is, `flush` sends a flush after it, `fua-on-scsi` does the first only above SCSI and SAS drives that honour FUA, `ignore` sends it like any other write"),
    ProfileKey::may("share_flushes", "", KeyDomain::Flag, "off", "flushes that come while one is in flight wait and share the next, as in Linux"),
    ProfileKey::may("power_off", "", KeyDomain::Word(&["orderly", "at-once", "pause"]), "orderly", "handling of an orderly power-off: `orderly`, the drive writes back its dirty data; `at-once`, power is cut at once; `pause`, power is cut after a pause").also(&["shutdown"]),
    ProfileKey::may("power_off_pause_ms", "ms", KeyDomain::Number(0.0, 600_000.0), "0", "length of the `pause`"),
    ProfileKey::may("timeout_ms", "ms", KeyDomain::Number(0.001, 1e6), "none", "a command that takes longer is aborted and retried").also(&["time-out"]),
    ProfileKey::may("retries", "", KeyDomain::Whole(0, 1_000_000), "0", "retries of a command that timed out"),
    ProfileKey::may("request_us", "us", KeyDomain::Number(0.0, 1e6), "0", "cost of the driver per request, on the reference machine"),
];

static BELONGS: &[KeyCondition] = &[
    ("queue.window", &["queue.policy"], &["fcfs", "sstf", "look", "clook"]),
    ("queue.round_percent", &["queue.policy"], &["fcfs", "sstf", "look", "clook"]),
    ("queue.max_wait_ms", &["queue.policy"], &["fcfs", "sstf", "look", "clook"]),
    ("queue.read_expire_ms", &["queue.policy"], &["deadline"]),
    ("queue.write_expire_ms", &["queue.policy"], &["deadline"]),
    ("queue.writes_starved", &["queue.policy"], &["deadline"]),
    ("queue.fifo_batch", &["queue.policy"], &["deadline"]),
    ("queue.prio_aging_ms", &["queue.policy"], &["deadline"]),
    ("queue.slice_idle_ms", &["queue.policy"], &["fair"]),
    ("queue.seeky_idle_ms", &["queue.policy"], &["fair"]),
    ("queue.turn_ms", &["queue.policy"], &["fair"]),
    ("queue.max_budget_sectors", &["queue.policy"], &["fair"]),
    ("queue.async_charge", &["queue.policy"], &["fair"]),
    ("queue.sync_writes", &["queue.policy"], &["fair"]),
    ("merge_reads", &["merge"], &[]),
    ("plug.commands", &["plug.wait_ms"], &[]),
    ("plug.wait_ms", &["plug.commands"], &[]),
    ("write_through", &["flush"], &["forward", "cached", ""]),
    ("share_flushes", &["flush"], &["forward", "cached", ""]),
    ("power_off_pause_ms", &["power_off"], &["pause"]),
    ("retries", &["timeout_ms"], &[]),
];

/// Builds the driver and adds its cost per request to the context, for the processor above.
fn build(figures: &Figures<'_>, context: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    context.request_us += figures.number("request_us");
    let plug = figures.may_span("plug.wait_ms").zip(figures.may_count("plug.commands"));
    Ok(Layer::Driver(DriverSpec {
        capacity: figures.count("capacity"),
        depth: figures.count("depth"),
        scheduler: build_scheduler(figures),
        max_transfer: figures.count("max_transfer_sectors"),
        merge: figures.flag("merge"),
        merge_reads: figures.flag("merge_reads"),
        plug: plug.map(|(wait, commands)| Plug { commands, wait }),
        flush: flush_policy(figures.word("flush")).unwrap_or_default(),
        write_through: forced_write_policy(figures.word("write_through")).unwrap_or_default(),
        share_flushes: figures.flag("share_flushes"),
        power_off: match figures.word("power_off") {
            "at-once" => PowerOffPolicy::AtOnce,
            "pause" => PowerOffPolicy::Pause(figures.span("power_off_pause_ms")),
            _ => PowerOffPolicy::Orderly,
        },
        timeout: figures.may_span("timeout_ms"),
        retries: figures.count("retries"),
    }))
}

/// Builds the scheduler. The defaults of its keys are Linux's.
fn build_scheduler(figures: &Figures<'_>) -> SchedulerSpec {
    match figures.word("queue.policy") {
        "deadline" => SchedulerSpec::Deadline(DeadlineSpec {
            read_expire: figures.span("queue.read_expire_ms"),
            write_expire: figures.span("queue.write_expire_ms"),
            writes_starved: figures.count("queue.writes_starved"),
            fifo_batch: figures.count("queue.fifo_batch"),
            prio_aging: figures.span("queue.prio_aging_ms"),
        }),
        "fair" => SchedulerSpec::Fair(FairSpec {
            slice_idle: figures.span("queue.slice_idle_ms"),
            seeky_idle: figures.span("queue.seeky_idle_ms"),
            timeout: figures.span("queue.turn_ms"),
            max_budget: figures.count("queue.max_budget_sectors"),
            async_charge: figures.count("queue.async_charge"),
            sync_writes: figures.flag("queue.sync_writes"),
        }),
        // A driver does not know positioning times, so SPTF and its limits do not apply.
        policy => {
            let max_wait_ms = figures.may_number("queue.max_wait_ms").unwrap_or(0.0);
            let round = figures.count("queue.round_percent");
            SchedulerSpec::Order(Discipline {
                round,
                ..queue_discipline(policy, figures.whole("queue.window"), 0, 0, max_wait_ms)
            })
        }
    }
}
