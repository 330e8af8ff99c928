//! The IDE channels of an array's drives: their key, and the layer of it.

use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};

/// The layer.
pub(super) static CHANNEL: Kind = Kind {
    name: "channel",
    otherwise: "none: each drive has a channel of its own",
    what: "IDE channels that drives share, one command at a time on each",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    build,
};

static KEYS: &[Key] = &[Key::must(
    "drives",
    "",
    Accepts::Whole(1, 2),
    "drives on each: two wait for one another, whatever the command; the first and the second share one, and so on",
)
.also(&["master", "slave", "master and slave", "cable"])];

static BELONGS: &[(&str, &[&str], &[&str])] = &[];

fn build(it: &Figures<'_>, _: &mut Beside<'_>) -> Result<Layer, Misfit> {
    Ok(Layer::Channel(it.count("drives")))
}
