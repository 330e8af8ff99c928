//! The processor above a stack: its keys, and how to build it.

use seekwise_disk::host::processor::ProcessorSpec;
use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey, span_from_ms};

pub(super) static PROCESSOR: LayerKind = LayerKind {
    name: "processor",
    otherwise: "none: computing takes no time",
    what: "the cores that programs and the system run on",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Processor,
    shared: false,
    build,
};

static KEYS: &[ProfileKey] = &[
    ProfileKey::must("cores", "", KeyDomain::Whole(1, 1024), "number of cores").also(&["cpus"]),
    ProfileKey::must(
        "speed",
        "",
        KeyDomain::Number(0.01, 10_000.0),
        "speed as a multiple of the reference machine, a Pentium III at 800 MHz, on the same code path",
    )
    .also(&["clock"]),
    ProfileKey::must(
        "request_us",
        "us",
        KeyDomain::Number(0.0, 1e6),
        "cost of program and system per request, on the reference machine",
    )
    .also(&["system call"]),
    ProfileKey::must(
        "interrupt_us",
        "us",
        KeyDomain::Number(0.0, 1e6),
        "cost of an interrupt, on the reference machine",
    ),
    ProfileKey::must(
        "copy_mb_s",
        "MB/s",
        KeyDomain::Number(1.0, 1e7),
        "rate of copying in memory; not scaled by `speed`",
    )
    .also(&["memory bandwidth"]),
    ProfileKey::must(
        "parity_mb_s",
        "MB/s",
        KeyDomain::Number(1.0, 1e7),
        "rate of computing parity; not scaled by `speed`",
    )
    .also(&["xor"]),
];

static BELONGS: &[KeyCondition] = &[];

/// Builds the processor: scales its costs and those of the drivers below from the reference machine to its speed.
fn build(figures: &Figures<'_>, context: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    let at_speed = |us: f64| span_from_ms(us / 1e3 / figures.number("speed"));
    let half = figures.number("request_us") / 2.0;
    Ok(Layer::Processor(ProcessorSpec {
        cores: figures.count("cores"),
        issue: at_speed(half + context.request_us),
        finish: at_speed(half),
        interrupt: at_speed(figures.number("interrupt_us")),
        copy: figures.bytes_per_s("copy_mb_s"),
        parity: figures.bytes_per_s("parity_mb_s"),
    }))
}
