//! The ready-made layers above a drive, read from `hosts.toml` in the same form as a drive's figures.

use seekwise_model::host::controller::{Coalesce, ControllerSpec, Programmed};
use seekwise_model::host::driver::DriverSpec;
use seekwise_model::host::processor::ProcessorSpec;

use crate::diagnostic::Diagnostic;
use crate::profile::figure::{Accepts, Figure, Key, Reader, Value};
use crate::profile::{discipline, span};
use crate::stack::modes::{self, MODES};

const HOSTS: &str = include_str!("hosts.toml");

const fn key(path: &'static str, unit: &'static str, accepts: Accepts, required: bool) -> Key {
    Key { path, unit, accepts, required }
}

/// The keys of a driver.
pub static DRIVER_KEYS: &[Key] = &[
    key("capacity", "", Accepts::Whole(1, 65_536), true),
    key("depth", "", Accepts::Whole(1, 65_536), true),
    key("queue.policy", "", Accepts::Word(&["fcfs", "sstf", "look", "clook"]), true),
    key("queue.window", "", Accepts::Whole(0, 65_536), false),
    key("queue.max_wait_ms", "ms", Accepts::Number(0.001, 1e6), false),
    key("max_transfer_sectors", "sectors", Accepts::Whole(1, 65_536), true),
    key("request_us", "us", Accepts::Number(0.0, 1e6), false),
];

/// The keys of a controller.
pub static CONTROLLER_KEYS: &[Key] = &[
    key("depth", "", Accepts::Whole(1, 256), true),
    key("command_ms", "ms", Accepts::Number(0.0, 10_000.0), true),
    key("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), true),
    key("mode", "", Accepts::Word(MODES), false),
    key("interrupt_block_sectors", "sectors", Accepts::Whole(1, 256), false),
    key("coalesce", "", Accepts::Whole(2, 256), false),
    key("coalesce_us", "us", Accepts::Number(0.001, 1e6), false),
];

/// The keys of a processor.
pub static PROCESSOR_KEYS: &[Key] = &[
    key("cores", "", Accepts::Whole(1, 1024), true),
    key("speed", "", Accepts::Number(0.01, 10_000.0), true),
    key("request_us", "us", Accepts::Number(0.0, 1e6), true),
    key("interrupt_us", "us", Accepts::Number(0.0, 1e6), true),
    key("copy_mb_s", "MB/s", Accepts::Number(1.0, 1e7), true),
];

/// The layers that come ready-made, and their keys.
pub static HOST_LAYERS: &[(&str, &[Key])] =
    &[("processor", PROCESSOR_KEYS), ("driver", DRIVER_KEYS), ("controller", CONTROLLER_KEYS)];

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
        _ => "",
    }
}

pub(super) fn driver(figures: &[Figure]) -> DriverSpec {
    DriverSpec {
        capacity: whole(figures, "capacity") as u32,
        depth: whole(figures, "depth") as u32,
        queue: discipline(
            word(figures, "queue.policy"),
            whole(figures, "queue.window"),
            // A driver knows no positioning time, so neither SPTF nor what restrains it.
            0,
            0,
            number(figures, "queue.max_wait_ms"),
        ),
        max_transfer: whole(figures, "max_transfer_sectors") as u32,
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

/// What the mode that a controller is set to lets the link move, bytes a second.
pub(super) fn mode(figures: &[Figure]) -> Option<u64> {
    modes::attainable(word(figures, "mode"))
}
