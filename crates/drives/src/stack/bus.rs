//! A bus shared by all controllers of an array: its key, and how to build it.

use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};

pub(super) static BUS: LayerKind = LayerKind {
    name: "bus",
    otherwise: "none: each channel has its own path to memory",
    what: "a bus that all channels of an array share",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    shared: true,
    build,
};

static KEYS: &[ProfileKey] = &[ProfileKey::must(
    "rate_mb_s",
    "MB/s",
    KeyDomain::Number(0.001, 100_000.0),
    "total transfer rate of an array's channels",
)
.also(&["pci"])];

static BELONGS: &[KeyCondition] = &[];

fn build(figures: &Figures<'_>, _: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    Ok(Layer::Bus(figures.bytes_per_s("rate_mb_s")))
}
