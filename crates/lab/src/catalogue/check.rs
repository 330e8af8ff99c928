//! Compares a modelled drive with its datasheet or with measurements, figure by figure.
//!
//! A profile may say that the model misses a figure (`misses = "why"`). Such a figure is shown too; its check fails if the model meets it
//! after all.

use seekwise_disk::drive::profile::Profile;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{DriveFile, doubts};
use serde::Serialize;

use super::curves::{lost_revolution_share, sustained_mb_s};

/// The comparison of one figure.
#[derive(Clone, Debug, Serialize)]
pub struct DatasheetCheck {
    pub what: &'static str,
    /// The figure of the real drive.
    pub expected: f64,
    /// The figure of the modelled drive.
    pub found: f64,
    /// The unit of both.
    pub unit: &'static str,
    /// The largest difference that counts as equal, as a share of the expected figure.
    pub tolerance: f64,
    /// True if the figure is met, or missed as the profile says.
    pub ok: bool,
    /// The origin of the expected figure.
    pub kind: FigureOrigin,
    /// Citation or derivation.
    pub source: String,
    /// The profile's reason why the model does not meet the figure.
    pub misses: Option<String>,
}

/// Tolerance of seek times, as a share. The model's curve is built from these figures or measured with them; 2 % covers the rounding of
/// datasheets.
const SEEK_TOLERANCE: f64 = 0.02;
/// Tolerance of rates, as a share. The model rounds to whole sectors a track, and datasheets to whole MB/s.
const RATE_TOLERANCE: f64 = 0.03;
/// Tolerance of half a revolution, as a share. Datasheets cut digits: 5.5 for the 5.56 ms of 5400 rpm.
const LATENCY_TOLERANCE: f64 = 0.015;

/// The check that compares the write rate with the read rate.
pub(crate) const WRITE_RATE: &str = "sequential write over read";

/// All comparisons that the drive's figures allow.
pub fn check_drive(drive: &DriveFile, profile: &Profile) -> Vec<DatasheetCheck> {
    let (geometry, mechanics) = (&profile.geometry, &profile.mechanics);
    let seek = mechanics.seek();
    let ms = |span: seekwise_disk::time::Span| span.nanos() as f64 / 1e6;
    let settle_ms = ms(mechanics.switch_and_settle().1);
    let full_stroke = seek.seek_time(geometry.cylinders().saturating_sub(1));
    let has_sectors = |&(first, end): &(u64, u64)| first < end;
    // The last zones may be short remainders, too short for a rate.
    let is_long = |&(first, end): &(u64, u64)| end - first > geometry.sectors() / 1000;
    let outer = geometry.zone_block_bounds().find(has_sectors);
    let inner = geometry.zone_block_bounds().filter(has_sectors).filter(is_long).last();
    let media_mb_s = |zone: Option<(u64, u64)>, write: bool| {
        zone.map_or(0.0, |(first, end)| sustained_mb_s(profile, first, end, write))
    };
    // A stream is as fast as the slower of medium and link.
    let read_mb_s = |zone: Option<(u64, u64)>| media_mb_s(zone, false).min(profile.link.rate as f64 / 1e6);
    // A stated capacity is compared with the sectors of the zones; a measured or fitted one, or one set for a run, with the sectors
    // offered.
    let offered = geometry.extent(geometry.sectors() - 1, 1).end();
    let in_zones = doubts::usable_zone_sectors(drive)
        .filter(|_| doubts::datasheet_or_inferred_figure(drive, figure::GEOMETRY_SECTORS).is_some());
    let capacity = in_zones.unwrap_or(offered) as f64;
    let average_ms = ms(seek.mean_time());
    let modelled = [
        ("capacity", figure::GEOMETRY_SECTORS, capacity, doubts::SPARE),
        ("average seek, read", figure::CHECKS_AVERAGE_SEEK_MS, average_ms, SEEK_TOLERANCE),
        ("average seek, write", figure::CHECKS_AVERAGE_WRITE_SEEK_MS, average_ms + settle_ms, SEEK_TOLERANCE),
        ("single-track seek", figure::CHECKS_SINGLE_SEEK_MS, ms(seek.seek_time(1)), SEEK_TOLERANCE),
        ("full-stroke seek", figure::CHECKS_FULL_SEEK_MS, ms(full_stroke), SEEK_TOLERANCE),
        ("half a revolution", figure::CHECKS_LATENCY_MS, ms(mechanics.revolution()) / 2.0, LATENCY_TOLERANCE),
        ("rate, outermost zone", figure::CHECKS_OUTER_MB_S, read_mb_s(outer), RATE_TOLERANCE),
        ("rate, innermost zone", figure::CHECKS_INNER_MB_S, read_mb_s(inner), RATE_TOLERANCE),
    ];
    let mut checks: Vec<DatasheetCheck> = modelled
        .into_iter()
        .filter_map(|(what, key, modelled, tolerance)| check_figure_if_stated(drive, what, key, modelled, tolerance))
        .collect();
    let (read, write) = (media_mb_s(outer, false), media_mb_s(outer, true));
    checks.extend((read > 0.0).then(|| check_write_rate(read, write)));
    checks.extend(outer.map(|(first, end)| check_lost_revolutions(lost_revolution_share(profile, first, end))));
    checks
}

/// Compares the drive's own figure under `key` with a modelled value; `None` if the drive has no such figure.
fn check_figure_if_stated(
    drive: &DriveFile,
    what: &'static str,
    key: &str,
    modelled: f64,
    tolerance: f64,
) -> Option<DatasheetCheck> {
    let figure = drive.figure(key)?;
    let expected = drive.number(key)?;
    let met = (modelled - expected).abs() <= tolerance * expected;
    Some(DatasheetCheck {
        what,
        expected,
        found: modelled,
        unit: figure.unit,
        tolerance,
        ok: met == figure.misses.is_none(),
        kind: figure.kind,
        source: figure.source.clone(),
        misses: figure.misses.clone(),
    })
}

/// The check that compares the skews with the time of the arm.
pub const LOST_REVOLUTIONS: &str = "track changes that lose a revolution";

/// Checks that a reading stream loses a revolution at hardly any track change. If the arm needs longer than a skew lasts, a stream loses one
/// at every track, which costs up to half its rate. So a changed seek or settle time needs other skews.
fn check_lost_revolutions(lost_share: f64) -> DatasheetCheck {
    DatasheetCheck {
        what: LOST_REVOLUTIONS,
        expected: 0.0,
        found: lost_share,
        unit: "",
        tolerance: 0.0,
        ok: lost_share <= MOST_LOST,
        kind: FigureOrigin::Inferred,
        source: "a drive's skew covers its seek to the next track".to_owned(),
        misses: None,
    }
}

/// The share of track changes that may lose a revolution: one in fifty, because a skew may not fit the border of a zone.
const MOST_LOST: f64 = 0.02;

/// Checks that a stream writes as fast as it reads: the skews leave time to settle.
fn check_write_rate(read_mb_s: f64, write_mb_s: f64) -> DatasheetCheck {
    const TOLERANCE: f64 = 0.001;
    let ratio = write_mb_s / read_mb_s;
    DatasheetCheck {
        what: WRITE_RATE,
        expected: 1.0,
        found: ratio,
        unit: "",
        tolerance: TOLERANCE,
        ok: (ratio - 1.0).abs() <= TOLERANCE,
        kind: FigureOrigin::Inferred,
        source: "a drive's skew covers its write settle".to_owned(),
        misses: None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{load_drive, names};
    use super::*;

    #[test]
    fn every_drive_passes_its_own_checks() {
        for name in names() {
            let drive = load_drive(name).unwrap();
            let profile = drive.profile().unwrap_or_else(|errors| panic!("{errors:?}"));
            let checks = check_drive(&drive, &profile);
            assert!(checks.len() >= 3, "{name}");
            for check in checks {
                let (what, expected, found) = (check.what, check.expected, check.found);
                println!("{name:26} {what:28} {expected:14.2} {found:14.2} {}", check.ok);
                assert!(check.ok, "{name}: {what}: expected {expected}, found {found}");
            }
        }
    }

    #[test]
    fn a_wrong_speed_is_noticed() {
        let mut drive = load_drive("barracuda-7200.7").unwrap();
        drive.set("mechanics.rpm", "5400").unwrap();
        let profile = drive.profile().unwrap();
        let failed = check_drive(&drive, &profile).into_iter().filter(|check| !check.ok);
        let failed: Vec<&str> = failed.map(|check| check.what).collect();
        assert!(failed.contains(&"half a revolution"), "{failed:?}");
        assert!(failed.contains(&"rate, outermost zone"), "{failed:?}");
    }

    #[test]
    fn a_skew_too_small_for_the_arm_is_noticed() {
        let mut drive = load_drive("barracuda-7200.7").unwrap();
        drive.set("geometry.track_skew", "0.05").unwrap();
        let profile = drive.profile().unwrap();
        let rate = check_drive(&drive, &profile).into_iter().find(|check| check.what == "rate, outermost zone");
        assert!(rate.unwrap().found < 35.0);
        // A slower seek asks for wider skews, of each drive.
        let mut drive = load_drive("travelstar-5k250-160").unwrap();
        let lost = |drive: &DriveFile| {
            let found = check_drive(drive, &drive.profile().unwrap())
                .into_iter()
                .find(|check| check.what == LOST_REVOLUTIONS)
                .unwrap();
            (found.ok, found.found)
        };
        let (ok, share) = lost(&drive);
        assert!(ok && share < 0.01, "a band's end at most: {share}");
        drive.set("mechanics.seek.single_ms", "2.0").unwrap();
        let (ok, share) = lost(&drive);
        assert!(!ok && share > 0.9, "{share}");
    }

    /// Extents follow one another without a gap or overlap and stay on the drive, at sampled places of each drive.
    #[test]
    fn extents_are_contiguous_and_inside() {
        for name in names() {
            let profile = load_drive(name).unwrap().profile().unwrap();
            let geometry = &profile.geometry;
            let heads = load_drive(name).unwrap().number("geometry.heads").unwrap();
            assert_eq!(f64::from(geometry.surfaces()), heads, "{name}");
            for sample in 0..500u64 {
                let mut lba = geometry.sectors() / 500 * sample;
                for _ in 0..20 {
                    let extent = geometry.extent(lba, 100_000);
                    assert_eq!(extent.lba, lba);
                    assert!(extent.sectors >= 1 && extent.end() <= geometry.sectors());
                    assert!(extent.cylinder < geometry.cylinders(), "{name} {lba}");
                    assert!(extent.head < geometry.surfaces());
                    let second = geometry.extent(lba + u64::from(extent.sectors) - 1, 1);
                    assert_eq!((second.cylinder, second.head), (extent.cylinder, extent.head));
                    lba = extent.end();
                    if lba >= geometry.sectors() {
                        break;
                    }
                }
            }
            assert_eq!(geometry.extent(geometry.sectors() - 1, 9).end(), geometry.sectors());
        }
    }
}
