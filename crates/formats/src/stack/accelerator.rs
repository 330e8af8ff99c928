//! A driver's cache in host memory: its keys, and how to build it.

use seekwise_model::host::accelerator::AcceleratorSpec;
use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};

pub(super) static ACCELERATOR: Kind = Kind {
    name: "accelerator",
    otherwise: "none: no disk cache in host memory",
    what: "a driver's cache of the whole disk in host memory",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Accelerator,
    build,
};

static KEYS: &[Key] = &[
    Key::must("size_mb", "MiB", Accepts::Whole(1, 65_536), "size of the cache").also(&["page cache"]),
    Key::must("hit_us", "us", Accepts::Number(0.001, 1e6), "cost of a request that the cache answers"),
    Key::must("write_back", "", Accepts::Flag, "acknowledges writes before they reach the layer below"),
    Key::must(
        "flush",
        "",
        Accepts::Word(&["forward", "drop"]),
        "`forward`: write dirty data, then pass the flush down; `drop`: acknowledge it without doing either",
    ),
    Key::must("dirty_percent", "%", Accepts::Whole(0, 100), "share that may be dirty before write-back starts")
        .also(&["dirty_ratio"]),
    Key::must("dirty_ms", "ms", Accepts::Number(0.0, 1e7), "age at which dirty data is written back")
        .also(&["dirty_expire"]),
    Key::must("idle_ms", "ms", Accepts::Number(0.0, 1e7), "idle time after which dirty data is written back"),
    Key::must("read_ahead_kib", "KiB", Accepts::Whole(0, 65_536), "read-ahead for a sequential reader; 0 means none")
        .also(&["readahead", "read_ahead_kb"]),
];

static BELONGS: &[(&str, &[&str], &[&str])] = &[
    ("dirty_percent", &["write_back"], &["true"]),
    ("dirty_ms", &["write_back"], &["true"]),
    ("idle_ms", &["write_back"], &["true"]),
];

fn build(it: &Figures<'_>, _: &mut Beside<'_>) -> Result<Layer, Misfit> {
    Ok(Layer::Accelerator(AcceleratorSpec {
        size: it.whole("size_mb") << 20,
        hit: it.micros("hit_us"),
        write_back: it.flag("write_back"),
        drops_flushes: it.word("flush") == "drop",
        dirty_share: it.count("dirty_percent") * 10,
        dirty_age: it.span("dirty_ms"),
        idle: it.span("idle_ms"),
        read_ahead: it.count("read_ahead_kib") * 2,
    }))
}
