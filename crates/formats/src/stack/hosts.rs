//! The ready-made layers above a drive, read from `hosts.toml` in the same form as a drive's figures.

use seekwise_model::host::controller::ControllerSpec;
use seekwise_model::host::driver::DriverSpec;

use crate::diagnostic::Diagnostic;
use crate::profile::figure::{Accepts, Figure, Key, Reader, Value};
use crate::profile::{discipline, span};

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
];

/// The keys of a controller.
pub static CONTROLLER_KEYS: &[Key] = &[
    key("depth", "", Accepts::Whole(1, 256), true),
    key("command_ms", "ms", Accepts::Number(0.0, 10_000.0), true),
    key("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), true),
];

/// The layers that come ready-made, and their keys.
pub static HOST_LAYERS: &[(&str, &[Key])] = &[("driver", DRIVER_KEYS), ("controller", CONTROLLER_KEYS)];

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

pub(super) fn controller(figures: &[Figure]) -> ControllerSpec {
    ControllerSpec {
        depth: whole(figures, "depth") as u32,
        command: span(number(figures, "command_ms")),
        rate: (number(figures, "rate_mb_s") * 1e6).round() as u64,
    }
}
