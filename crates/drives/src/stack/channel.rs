//! The IDE channels of an array's drives: their key, and how to build them.

use seekwise_disk::stack::Layer;

use super::kind::{KeyCondition, LayerContext, LayerKind, LayerMisfit};
use crate::concern::Concern;
use crate::figure::{Figures, KeyDomain, ProfileKey};

pub(super) static CHANNEL: LayerKind = LayerKind {
    name: "channel",
    otherwise: "none: each drive has its own channel",
    what: "IDE channels shared by drives, with one command at a time on each",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    shared: true,
    build,
};

static KEYS: &[ProfileKey] = &[ProfileKey::must(
    "drives",
    "",
    KeyDomain::Whole(1, 2),
    "drives per channel; two on one channel wait for each other, whatever the command. The first and second drive share a channel, and so on",
)
.also(&["master", "slave", "master and slave", "cable"])];

static BELONGS: &[KeyCondition] = &[];

fn build(figures: &Figures<'_>, _: &mut LayerContext<'_>) -> Result<Layer, LayerMisfit> {
    Ok(Layer::Channel(figures.count("drives")))
}
