//! The IDE channels of an array's drives: their key, and how to build them.

use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};

pub(super) static CHANNEL: Kind = Kind {
    name: "channel",
    otherwise: "none: each drive has its own channel",
    what: "IDE channels shared by drives, with one command at a time on each",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    build,
};

static KEYS: &[Key] = &[Key::must(
    "drives",
    "",
    Accepts::Whole(1, 2),
    "drives per channel; two on one channel wait for each other, whatever the command. The first and second drive share a channel, and so on",
)
.also(&["master", "slave", "master and slave", "cable"])];

static BELONGS: &[(&str, &[&str], &[&str])] = &[];

fn build(it: &Figures<'_>, _: &mut Beside<'_>) -> Result<Layer, Misfit> {
    Ok(Layer::Channel(it.count("drives")))
}
