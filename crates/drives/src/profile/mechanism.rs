//! Builds platters and arms once for all drives with the same figures: their tables take milliseconds and a megabyte, and the
//! cells of a study mostly differ in other figures. A cached mechanism holds the figures that its building read; a drive in which
//! these figures are equal shares its tables.

use std::cell::RefCell;
use std::collections::BTreeSet;

use seekwise_disk::drive::geometry::Geometry;
use seekwise_disk::drive::mechanics::Mechanics;
use seekwise_disk::drive::profile::MediaCacheSpec;

use super::build::{self, DriveFigures};
use crate::diagnostic::Diagnostic;
use crate::figure::FigureValue;
use crate::recent_cache::RecentCache;

/// The positions of blocks on the platters, and the times to move between them.
#[derive(Clone)]
pub(super) struct Mechanism {
    pub geometry: Geometry,
    /// Slots that a media cache reserves.
    pub media_cache: Option<MediaCacheSpec>,
    pub mechanics: Mechanics,
}

/// A mechanism, and each figure that was read to build it.
pub(super) struct CachedMechanism {
    /// Key, and value if the figure was given.
    read_figures: Vec<(&'static str, Option<FigureValue>)>,
    mechanism: Mechanism,
}

/// The mechanism of these figures: from `cache`, or built and added to it.
pub(super) fn find_or_build(
    figures: &DriveFigures<'_>,
    cache: &RecentCache<CachedMechanism>,
) -> Result<Mechanism, Vec<Diagnostic>> {
    let has_same_figures =
        |cached: &CachedMechanism| cached.read_figures.iter().all(|(key, value)| figure_value(figures, key) == *value);
    if let Some(mechanism) = cache.find_and_touch(has_same_figures, |cached| cached.mechanism.clone()) {
        return Ok(mechanism);
    }
    let read_keys = RefCell::new(BTreeSet::new());
    let recording = DriveFigures { file: figures.file, figures: figures.figures.recording_keys(&read_keys) };
    let (geometry, media_cache) = build::build_geometry(&recording)?;
    let mechanics = build::build_mechanics(&recording, geometry.cylinders())?;
    let mechanism = Mechanism { geometry, media_cache, mechanics };
    let read_figures = read_keys.borrow().iter().map(|&key| (key, figure_value(figures, key))).collect();
    cache.add(CachedMechanism { read_figures, mechanism: mechanism.clone() });
    Ok(mechanism)
}

fn figure_value(figures: &DriveFigures<'_>, key: &str) -> Option<FigureValue> {
    figures.figures.find(key).map(|figure| figure.value.clone())
}

#[cfg(test)]
mod tests {
    use crate::drives;
    use crate::profile::ReadingCache;

    #[test]
    fn a_drive_with_other_figures_has_another_mechanism() {
        let cache = ReadingCache::default();
        let built_with = |set: &[(&str, &str)]| {
            let mut drive = drives::load("barracuda-7200.7").unwrap();
            for (key, value) in set {
                drive.set(key, value).unwrap();
            }
            let profile = drive.build_profile(&cache).unwrap();
            (profile.mechanics.revolution(), profile.mechanics.seek().clone(), profile.geometry.sectors())
        };
        let own = built_with(&[]);
        assert_eq!(built_with(&[("cache.segments", "4")]).1, own.1);
        assert_ne!(built_with(&[("mechanics.rpm", "5400")]).0, own.0);
        assert_ne!(built_with(&[("mechanics.seek.full_ms", "19")]).1, own.1);
        assert_eq!(built_with(&[]), own, "as before, whatever was built between");
    }

    #[test]
    fn equal_mechanisms_share_their_tables() {
        let cache = ReadingCache::default();
        let with = |key: &str, value: &str, cache: &ReadingCache| {
            let mut drive = drives::load("raptor-wd740gd").unwrap();
            drive.set(key, value).unwrap();
            drive.build_profile(cache).unwrap().mechanics
        };
        let first = with("cache.segments", "4", &cache);
        assert!(first.shares_tables(&with("cache.segments", "8", &cache)));
        assert!(!first.shares_tables(&with("mechanics.rpm", "7200", &cache)));
        assert!(
            !first.shares_tables(&with("cache.segments", "8", &ReadingCache::default())),
            "nothing outlives its cache"
        );
    }
}
