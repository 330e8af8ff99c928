//! Platters and arms, built once: their tables take milliseconds and a megabyte, and the cells of a study mostly differ in
//! other figures. A cached mechanism holds the figures that its building asked for; a drive with these figures shares its
//! tables.

use std::cell::RefCell;
use std::collections::BTreeSet;

use seekwise_disk::drive::geometry::Geometry;
use seekwise_disk::drive::mechanics::Mechanics;
use seekwise_disk::drive::profile::MediaCacheSpec;

use super::build::{self, DriveFigures};
use crate::diagnostic::Diagnostic;
use crate::figure::FigureValue;
use crate::recent_cache::RecentCache;

/// The places of blocks, and the times to get there.
#[derive(Clone)]
pub(super) struct Mechanism {
    pub geometry: Geometry,
    /// Slots that a media cache reserves.
    pub media_cache: Option<MediaCacheSpec>,
    pub mechanics: Mechanics,
}

/// A mechanism, and each figure that building it asked for.
pub(super) struct CachedMechanism {
    asked: Vec<(&'static str, Option<FigureValue>)>,
    mechanism: Mechanism,
}

/// The mechanism of these figures, as `built` before or built now.
pub(super) fn find_or_build(
    figures: &DriveFigures<'_>,
    built: &RecentCache<CachedMechanism>,
) -> Result<Mechanism, Vec<Diagnostic>> {
    let is = |it: &CachedMechanism| it.asked.iter().all(|(key, was)| figure_value(figures, key) == *was);
    if let Some(mechanism) = built.find(is, |found| found.mechanism.clone()) {
        return Ok(mechanism);
    }
    let asked = RefCell::new(BTreeSet::new());
    let noting = DriveFigures { file: figures.file, figures: figures.figures.with_recorder(&asked) };
    let (geometry, media_cache) = build::build_geometry(&noting)?;
    let mechanics = build::build_mechanics(&noting, geometry.cylinders())?;
    let mechanism = Mechanism { geometry, media_cache, mechanics };
    let asked = asked.borrow().iter().map(|&key| (key, figure_value(figures, key))).collect();
    built.add(CachedMechanism { asked, mechanism: mechanism.clone() });
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
        let at = |set: &[(&str, &str)]| {
            let mut drive = drives::load("barracuda-7200.7").unwrap();
            for (key, value) in set {
                drive.set(key, value).unwrap();
            }
            let profile = drive.build_profile(&cache).unwrap();
            (profile.mechanics.revolution(), profile.mechanics.seek().clone(), profile.geometry.sectors())
        };
        let own = at(&[]);
        assert_eq!(at(&[("cache.segments", "4")]).1, own.1);
        assert_ne!(at(&[("mechanics.rpm", "5400")]).0, own.0);
        assert_ne!(at(&[("mechanics.seek.full_ms", "19")]).1, own.1);
        assert_eq!(at(&[]), own, "as before, whatever was built between");
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
