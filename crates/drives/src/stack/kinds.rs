//! The list of all kinds of layers, and lookups by the names of layers.

use super::kind::LayerKind;
use crate::concern::Concern;
use crate::figure::ProfileKey;
use crate::profile::keys::KEYS;

/// The kinds of layers above a drive, from the program down.
pub(super) static KINDS: [&LayerKind; 8] = [
    &super::processor::PROCESSOR,
    &super::accelerator::ACCELERATOR,
    &super::driver::DRIVER,
    &super::array::ARRAY,
    &super::bus::BUS,
    &super::channel::CHANNEL,
    &super::scsi::SCSI,
    &super::controller::CONTROLLER,
];

/// The layers of a stack, from the program down; the last is the drive.
pub fn layers() -> impl Iterator<Item = &'static str> + Clone {
    KINDS.iter().map(|kind| kind.name).chain(["drive"])
}

/// A layer above a drive, for a list of keys.
pub struct LayerDescription {
    pub name: &'static str,
    /// The layer's default, in words.
    pub otherwise: &'static str,
    /// The explanation.
    pub what: &'static str,
}

/// The layers above a drive, from the program down.
pub fn layer_descriptions() -> impl Iterator<Item = LayerDescription> {
    KINDS.iter().map(|kind| LayerDescription { name: kind.name, otherwise: kind.otherwise, what: kind.what })
}

/// The concern that a difference in a layer above the drive is credited to, unless the key has its own.
pub fn layer_concern(layer: &str) -> Option<Concern> {
    kind_of(layer).map(|kind| kind.concern)
}

/// The kind of the layer with this name: `driver` and `driver-2` are drivers. `None` for the drive and unknown names.
pub(super) fn kind_of(layer: &str) -> Option<&'static LayerKind> {
    KINDS.into_iter().find(|kind| kind.name == strip_number(layer))
}

/// The name of a layer without the number of a second or later one: `driver` of `driver-2`.
pub fn strip_number(layer: &str) -> &str {
    match layer.rsplit_once('-') {
        Some((kind, number)) if number.parse().is_ok_and(|number: u32| number > 1) => kind,
        _ => layer,
    }
}

/// The keys of the figures of the layer with this name; those of a drive if there is no such layer.
pub fn keys_of(layer: &str) -> &'static [ProfileKey] {
    kind_of(layer).map_or(KEYS, |kind| kind.keys)
}
