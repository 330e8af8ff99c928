//! The ready-made layers above a drive, read from `hosts.toml` in the same form as a drive's figures.

use seekwise_model::host::accelerator::AcceleratorSpec;
use seekwise_model::host::array::layout::{Level, Share};
use seekwise_model::host::array::{ArraySpec, Balance, ParityWrite};
use seekwise_model::host::controller::{Coalesce, ControllerSpec, Programmed};
use seekwise_model::host::driver::deadline::DeadlineSpec;
use seekwise_model::host::driver::fair::FairSpec;
use seekwise_model::host::driver::{DriverSpec, FlushPolicy, Plug, PowerOff, SchedulerSpec, WriteThrough};
use seekwise_model::host::processor::ProcessorSpec;
use seekwise_model::time::Span;

use crate::diagnostic::Diagnostic;
use crate::profile::figure::{Figure, Kind, Reader, Value};
use crate::profile::{discipline, span};
use crate::stack::keys::HOST_LAYERS;
use crate::stack::modes;

const HOSTS: &str = include_str!("hosts.toml");

/// A key of a layer that means something only where another, or one of several, has a certain value or is there at all.
type Belongs = (&'static str, &'static [&'static str], &'static [&'static str]);

const DRIVER_BELONGS: &[Belongs] = &[
    ("queue.window", &["queue.policy"], &["fcfs", "sstf", "look", "clook"]),
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
    ("power_off_pause_ms", &["power_off"], &["pause"]),
    ("retries", &["timeout_ms"], &[]),
];

const CONTROLLER_BELONGS: &[Belongs] = &[
    ("interrupt_block_sectors", &["mode"], &["pio-0", "pio-1", "pio-2", "pio-3", "pio-4"]),
    ("coalesce", &["coalesce_us"], &[]),
    ("coalesce_us", &["coalesce"], &[]),
];

const ACCELERATOR_BELONGS: &[Belongs] = &[
    ("dirty_percent", &["write_back"], &["true"]),
    ("dirty_ms", &["write_back"], &["true"]),
    ("idle_ms", &["write_back"], &["true"]),
];

const ARRAY_BELONGS: &[Belongs] =
    &[("read", &["level", "second"], &["raid-1", "raid-10"]), ("parity", &["level", "second"], &["raid-5", "raid-6"])];

/// What the user sets in a layer must mean something: the first key that does not, and what it would need.
pub(super) fn meaningless(layer: &str, figures: &[Figure]) -> Option<(&'static str, String)> {
    let belongs = match layer {
        "accelerator" => ACCELERATOR_BELONGS,
        "driver" => DRIVER_BELONGS,
        "controller" => CONTROLLER_BELONGS,
        "array" => ARRAY_BELONGS,
        _ => return None,
    };
    let has = |key: &str| figures.iter().any(|figure| figure.key == key);
    let set = |key: &str| figures.iter().any(|figure| figure.key == key && figure.kind == Kind::Set);
    let fits = |needs: &[&str], values: &[&str]| match values {
        [] => needs.iter().any(|needs| has(needs)),
        _ => needs.iter().any(|needs| values.contains(&word(figures, needs))),
    };
    let (key, needs, values) = *belongs.iter().find(|(key, needs, values)| set(key) && !fits(needs, values))?;
    let values: Vec<&str> = values.iter().copied().filter(|value| !value.is_empty()).collect();
    let wanted = if values.is_empty() { String::new() } else { format!(" = {}", values.join(" or ")) };
    let needs: Vec<String> = needs.iter().map(|needs| format!("`{layer}.{needs}`")).collect();
    Some((key, format!("{}{wanted} beside it", needs.join(" or "))))
}

/// A ready-made layer.
#[derive(Clone, Debug)]
pub struct Host {
    /// Which layer of a stack it is.
    pub layer: &'static str,
    /// Its name.
    pub name: String,
    /// Its figures.
    pub figures: Vec<Figure>,
}

/// All ready-made layers.
pub fn hosts() -> Result<Vec<Host>, Vec<Diagnostic>> {
    let mut reader = Reader::new("hosts.toml", HOSTS);
    let mut table = reader.table();
    if let Some(sources) = table.remove("sources") {
        reader.read_sources(&sources);
    }
    let mut hosts = Vec::new();
    for &(layer, keys) in HOST_LAYERS {
        let named = table.remove(layer);
        let entries = named.iter().filter_map(|value| value.get_ref().as_table());
        for (name, entry) in entries.flatten() {
            let mut figures = Vec::new();
            if let Some(entry) = entry.get_ref().as_table() {
                reader.walk(entry, "", keys, false, &mut figures);
            }
            hosts.push(Host { layer, name: name.get_ref().to_string(), figures });
        }
    }
    match reader.errors.is_empty() {
        true => Ok(hosts),
        false => Err(reader.errors),
    }
}

fn whole(figures: &[Figure], key: &str) -> u64 {
    match figures.iter().find(|f| f.key == key).map(|f| &f.value) {
        Some(Value::Whole(n)) => *n,
        _ => 0,
    }
}

fn whole_or(figures: &[Figure], key: &str, otherwise: u64) -> u64 {
    match figures.iter().any(|f| f.key == key) {
        true => whole(figures, key),
        false => otherwise,
    }
}

fn number(figures: &[Figure], key: &str) -> f64 {
    match figures.iter().find(|f| f.key == key).map(|f| &f.value) {
        Some(Value::Number(n)) => *n,
        Some(Value::Whole(n)) => *n as f64,
        _ => 0.0,
    }
}

fn word<'a>(figures: &'a [Figure], key: &str) -> &'a str {
    match figures.iter().find(|f| f.key == key).map(|f| &f.value) {
        Some(Value::Word(word)) => word,
        Some(Value::Flag(true)) => "true",
        Some(Value::Flag(false)) => "false",
        _ => "",
    }
}

fn flag(figures: &[Figure], key: &str) -> Option<bool> {
    match figures.iter().find(|f| f.key == key).map(|f| &f.value) {
        Some(Value::Flag(on)) => Some(*on),
        _ => None,
    }
}

/// A time, if there is a figure of it.
fn time(figures: &[Figure], key: &str) -> Option<Span> {
    figures.iter().any(|f| f.key == key).then(|| span(number(figures, key)))
}

fn count(figures: &[Figure], key: &str) -> Option<u32> {
    figures.iter().any(|f| f.key == key).then(|| whole(figures, key) as u32)
}

pub(super) fn driver(figures: &[Figure]) -> DriverSpec {
    let plug = time(figures, "plug.wait_ms").zip(count(figures, "plug.commands"));
    let pause = time(figures, "power_off_pause_ms").unwrap_or(Span::ZERO);
    DriverSpec {
        capacity: whole(figures, "capacity") as u32,
        depth: whole(figures, "depth") as u32,
        scheduler: scheduler(figures),
        max_transfer: whole(figures, "max_transfer_sectors") as u32,
        merge: flag(figures, "merge").unwrap_or(false),
        merge_reads: flag(figures, "merge_reads").unwrap_or(true),
        plug: plug.map(|(wait, commands)| Plug { commands, wait }),
        flush: FlushPolicy::named(word(figures, "flush")).unwrap_or_default(),
        write_through: WriteThrough::named(word(figures, "write_through")).unwrap_or_default(),
        power_off: match word(figures, "power_off") {
            "at-once" => PowerOff::AtOnce,
            "pause" => PowerOff::Pause(pause),
            _ => PowerOff::Orderly,
        },
        timeout: time(figures, "timeout_ms"),
        retries: whole(figures, "retries") as u32,
    }
}

/// What is not given is as in Linux.
fn scheduler(figures: &[Figure]) -> SchedulerSpec {
    let time = |key: &str, or: Span| time(figures, key).unwrap_or(or);
    let count = |key: &str, or: u32| count(figures, key).unwrap_or(or);
    match word(figures, "queue.policy") {
        "deadline" => SchedulerSpec::Deadline(DeadlineSpec {
            read_expire: time("queue.read_expire_ms", DeadlineSpec::LINUX.read_expire),
            write_expire: time("queue.write_expire_ms", DeadlineSpec::LINUX.write_expire),
            writes_starved: count("queue.writes_starved", DeadlineSpec::LINUX.writes_starved),
            fifo_batch: count("queue.fifo_batch", DeadlineSpec::LINUX.fifo_batch),
            prio_aging: time("queue.prio_aging_ms", DeadlineSpec::LINUX.prio_aging),
        }),
        "fair" => SchedulerSpec::Fair(FairSpec {
            slice_idle: time("queue.slice_idle_ms", FairSpec::LINUX.slice_idle),
            seeky_idle: time("queue.seeky_idle_ms", FairSpec::LINUX.seeky_idle),
            timeout: time("queue.turn_ms", FairSpec::LINUX.timeout),
            max_budget: count("queue.max_budget_sectors", FairSpec::LINUX.max_budget),
            async_charge: count("queue.async_charge", FairSpec::LINUX.async_charge),
            sync_writes: flag(figures, "queue.sync_writes").unwrap_or(FairSpec::LINUX.sync_writes),
        }),
        // A driver knows no positioning time, so neither SPTF nor what restrains it.
        policy => {
            let (window, wait) = (whole(figures, "queue.window"), number(figures, "queue.max_wait_ms"));
            SchedulerSpec::Order(discipline(policy, window, 0, 0, wait))
        }
    }
}

/// The costs of a processor and of the `driver` on it, both on the reference machine, at the processor's speed.
pub(super) fn processor(figures: &[Figure], driver: &[Figure]) -> ProcessorSpec {
    let at_speed = |us: f64| span(us / 1e3 / number(figures, "speed"));
    let half = number(figures, "request_us") / 2.0;
    ProcessorSpec {
        cores: whole(figures, "cores") as u32,
        issue: at_speed(half + number(driver, "request_us")),
        finish: at_speed(half),
        interrupt: at_speed(number(figures, "interrupt_us")),
        copy: (number(figures, "copy_mb_s") * 1e6).round() as u64,
        parity: (number(figures, "parity_mb_s") * 1e6).round() as u64,
    }
}

pub(super) fn accelerator(figures: &[Figure]) -> AcceleratorSpec {
    AcceleratorSpec {
        size: whole(figures, "size_mb") << 20,
        hit: span(number(figures, "hit_us") / 1e3),
        write_back: flag(figures, "write_back").unwrap_or(true),
        drops_flushes: word(figures, "flush") == "drop",
        dirty_share: whole(figures, "dirty_percent") as u32 * 10,
        dirty_age: span(number(figures, "dirty_ms")),
        idle: span(number(figures, "idle_ms")),
        read_ahead: whole(figures, "read_ahead_kib") as u32 * 2,
    }
}

/// A controller, above a drive in whose profile the mode of the link is set already.
pub(super) fn controller(figures: &[Figure], link: u64) -> ControllerSpec {
    let command = span(number(figures, "command_ms"));
    let rate = (number(figures, "rate_mb_s") * 1e6).round() as u64;
    let block = whole_or(figures, "interrupt_block_sectors", modes::BLOCK) as u32;
    let programmed = word(figures, "mode").starts_with("pio").then_some(Programmed { rate: link, block });
    let wait = span(number(figures, "coalesce_us") / 1e3);
    let coalesce = Some(whole(figures, "coalesce") as u32).filter(|&count| count > 1);
    let coalesce = coalesce.map(|count| Coalesce { count, wait });
    ControllerSpec { programmed, coalesce, ..ControllerSpec::plain(whole(figures, "depth") as u32, command, rate) }
}

fn level(word: &str) -> Level {
    match word {
        "raid-1" => Level::Raid1,
        "raid-10" => Level::Raid10,
        "raid-5" => Level::Raid5,
        "raid-6" => Level::Raid6,
        _ => Level::Raid0,
    }
}

/// An array, or the key of what does not fit together and what would.
pub(super) fn array(figures: &[Figure]) -> Result<ArraySpec, (&'static str, String)> {
    let sectors = |key: &str| whole(figures, key) as u32 * 2;
    let members = whole(figures, "drives") as u32;
    let (first, second) = (whole(figures, "percent") as u32 * 10, word(figures, "second"));
    let mut shares = vec![Share { level: level(word(figures, "level")), permille: first }];
    match (second, first) {
        ("", 1000) => {}
        ("", _) => return Err(("second", "a level for the rest of the drives".to_owned())),
        (_, 1000) => return Err(("percent", "less than 100, for there is a second volume".to_owned())),
        (word, _) => shares.push(Share { level: level(word), permille: 1000 - first }),
    }
    for share in &shares {
        let least = share.level.least_members();
        if members < least {
            return Err(("drives", format!("{least} at least")));
        }
        if share.level == Level::Raid10 && !members.is_multiple_of(2) {
            return Err(("drives", "an even number, for pairs".to_owned()));
        }
    }
    let lost = figures.iter().any(|f| f.key == "lose").then(|| whole(figures, "lose"));
    if lost.is_some_and(|member| member >= u64::from(members)) {
        return Err(("lose", format!("a number from 0 to {}", members - 1)));
    }
    Ok(ArraySpec {
        members,
        shares,
        chunk: sectors("chunk_kib"),
        depth: whole(figures, "depth") as u32,
        queue: discipline(word(figures, "queue.policy"), 0, 0, 0, 0.0),
        balance: match word(figures, "read") {
            "round-robin" => Balance::RoundRobin,
            "first" => Balance::First,
            _ => Balance::Nearest,
        },
        parity: match word(figures, "parity") {
            "modify" => ParityWrite::Modify,
            "reconstruct" => ParityWrite::Reconstruct,
            _ => ParityWrite::Fewest,
        },
        rebuild_rate: (number(figures, "rebuild_mb_s") * 1e6).round() as u64,
        rebuild_run: sectors("rebuild_run_kib"),
        lost: lost.map_or(0, |member| 1 << member),
    })
}

/// What a bus moves, bytes a second.
pub(super) fn bus(figures: &[Figure]) -> u64 {
    (number(figures, "rate_mb_s") * 1e6).round() as u64
}

/// What the mode that a controller is set to lets the link move, bytes a second.
pub(super) fn mode(figures: &[Figure]) -> Option<u64> {
    modes::attainable(word(figures, "mode"))
}
