//! A bus shared by all controllers of an array: its key, and how to build it.

use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};

pub(super) static BUS: Kind = Kind {
    name: "bus",
    otherwise: "none: each channel has its own path to memory",
    what: "a bus that all channels of an array share",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Bus,
    build,
};

static KEYS: &[Key] =
    &[Key::must("rate_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "total transfer rate of an array's channels")
        .also(&["pci"])];

static BELONGS: &[(&str, &[&str], &[&str])] = &[];

fn build(it: &Figures<'_>, _: &mut Beside<'_>) -> Result<Layer, Misfit> {
    Ok(Layer::Bus(it.rate("rate_mb_s")))
}
