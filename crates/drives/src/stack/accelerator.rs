//! A driver's cache in host memory: its keys, and how to build it.

use seekwise_disk::host::accelerator::AcceleratorSpec;
use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};

pub(super) static ACCELERATOR: LayerKind = LayerKind {
    name: "accelerator",
    otherwise: "none: no disk cache in host memory",
    what: "a driver's cache of the whole disk in host memory",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Accelerator,
    shared: false,
    build,
};

static KEYS: &[ProfileKey] = &[
    ProfileKey::must("size_mb", "MiB", KeyDomain::Whole(1, 65_536), "size of the cache").also(&["page cache"]),
    ProfileKey::must("hit_us", "us", KeyDomain::Number(0.001, 1e6), "cost of a request that the cache answers"),
    ProfileKey::must("write_back", "", KeyDomain::Flag, "acknowledges writes before they reach the layer below"),
    ProfileKey::must(
        "flush",
        "",
        KeyDomain::Word(&["forward", "drop"]),
        "`forward`: write dirty data, then pass the flush down; `drop`: acknowledge it without doing either",
    ),
    ProfileKey::must(
        "dirty_percent",
        "%",
        KeyDomain::Whole(0, 100),
        "share that may be dirty before write-back starts",
    )
    .also(&["dirty_ratio"]),
    ProfileKey::must("dirty_ms", "ms", KeyDomain::Number(0.0, 1e7), "age at which dirty data is written back")
        .also(&["dirty_expire"]),
    ProfileKey::must("idle_ms", "ms", KeyDomain::Number(0.0, 1e7), "idle time after which dirty data is written back"),
    ProfileKey::must(
        "read_ahead_kib",
        "KiB",
        KeyDomain::Whole(0, 65_536),
        "read-ahead for a sequential reader; 0 means none",
    )
    .also(&["readahead", "read_ahead_kb"]),
];

static BELONGS: &[KeyCondition] = &[
    ("dirty_percent", &["write_back"], &["true"]),
    ("dirty_ms", &["write_back"], &["true"]),
    ("idle_ms", &["write_back"], &["true"]),
];

/// Builds the layer: shares in thousandths, read-ahead in sectors.
fn build(figures: &Figures<'_>, _: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    Ok(Layer::Accelerator(AcceleratorSpec {
        size: figures.whole("size_mb") << 20,
        hit: figures.micros("hit_us"),
        write_back: figures.flag("write_back"),
        drops_flushes: figures.word("flush") == "drop",
        dirty_share: figures.count("dirty_percent") * 10,
        dirty_age: figures.span("dirty_ms"),
        idle: figures.span("idle_ms"),
        read_ahead: figures.count("read_ahead_kib") * 2,
    }))
}
