//! The list of all layers, and lookups by their names.

use super::kind::LayerKind;
use crate::concern::Concern;
use crate::figure::ProfileKey;
use crate::profile::keys::KEYS;

/// The layers above a drive, from the program down.
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

/// The layers above a drive, from the program down: name, default in words, description.
pub fn layer_descriptions() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    KINDS.iter().map(|kind| (kind.name, kind.otherwise, kind.what))
}

/// The concern that a difference in a layer above the drive is credited to, unless the key has its own.
pub fn layer_concern(layer: &str) -> Option<Concern> {
    kind_of(layer).map(|kind| kind.concern)
}

/// The kind of a layer of this name: `driver` and `driver-2` are drivers.
pub(super) fn kind_of(name: &str) -> Option<&'static LayerKind> {
    KINDS.into_iter().find(|kind| kind.name == strip_number(name))
}

/// The name without the number of a second or later layer of a kind.
pub fn strip_number(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((kind, number)) if number.parse().is_ok_and(|number: u32| number > 1) => kind,
        _ => name,
    }
}

/// The keys of the figures of a layer of this name.
pub fn keys_of(layer: &str) -> &'static [ProfileKey] {
    kind_of(layer).map_or(KEYS, |kind| kind.keys)
}
