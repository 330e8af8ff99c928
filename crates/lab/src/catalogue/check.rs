//! The modelled drive against its datasheet or measurements. A figure that the model does not meet is marked in the
//! profile (`misses = "why"`); it is shown, and an unexpected agreement fails as well.

use seekwise_disk::drive::profile::Profile;
use seekwise_drives::figure::FigureOrigin;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{DriveFile, doubts};
use serde::Serialize;

use super::curves::{lost_revolution_share, sustained_mb_s};

/// A comparison.
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
    /// As it should be: met, or missed as the profile says.
    pub ok: bool,
    /// The origin of the expected figure.
    pub kind: FigureOrigin,
    /// Citation or derivation.
    pub source: String,
    /// Why the model does not meet it.
    pub misses: Option<String>,
}

/// Seek times are built from these figures or measured with them; 2 % covers the rounding of datasheets.
const SEEK: f64 = 0.02;
/// A rate rounds to whole sectors a track, and datasheets to whole MB/s.
const RATE: f64 = 0.03;
/// Datasheets cut digits: 5.5 for the 5.56 ms of 5400 rpm.
const TURN: f64 = 0.015;

/// The comparison of writing with reading.
pub(crate) const WRITES: &str = "sequential write over read";

/// All comparisons that the drive's figures allow.
pub fn check_drive(drive: &DriveFile, profile: &Profile) -> Vec<DatasheetCheck> {
    let (geometry, mechanics) = (&profile.geometry, &profile.mechanics);
    let seek = mechanics.seek();
    let ms = |span: seekwise_disk::time::Span| span.nanos() as f64 / 1e6;
    let settle = ms(mechanics.switch_and_settle().1);
    let full = seek.seek_time(geometry.cylinders().saturating_sub(1));
    let inner = geometry.zone_block_bounds().filter(|span| span.0 < span.1);
    // The last zone of a fair length: short remainders at the end say nothing.
    let inner = inner.filter(|span| span.1 - span.0 > geometry.sectors() / 1000).last();
    let rate = |span: Option<(u64, u64)>, write: bool| {
        span.map_or(0.0, |(first, end)| sustained_mb_s(profile, first, end, write))
    };
    // A stream is as fast as the slower of medium and link.
    let read = |span: Option<(u64, u64)>| rate(span, false).min(profile.link.rate as f64 / 1e6);
    let outer = geometry.zone_block_bounds().find(|span| span.0 < span.1);
    // A stated capacity is compared with the sectors of the zones; a measured or fitted one, or one set for a run, with the sectors
    // offered.
    let offers = geometry.extent(geometry.sectors() - 1, 1).end();
    let held = doubts::zone_sectors(drive).filter(|_| doubts::stated_figure(drive, figure::GEOMETRY_SECTORS).is_some());
    let capacity = held.unwrap_or(offers) as f64;
    let compared = [
        ("capacity", figure::GEOMETRY_SECTORS, capacity, doubts::SPARE),
        ("average seek, read", figure::CHECKS_AVERAGE_SEEK_MS, ms(seek.mean_time()), SEEK),
        ("average seek, write", figure::CHECKS_AVERAGE_WRITE_SEEK_MS, ms(seek.mean_time()) + settle, SEEK),
        ("single-track seek", figure::CHECKS_SINGLE_SEEK_MS, ms(seek.seek_time(1)), SEEK),
        ("full-stroke seek", figure::CHECKS_FULL_SEEK_MS, ms(full), SEEK),
        ("half a revolution", figure::CHECKS_LATENCY_MS, ms(mechanics.revolution()) / 2.0, TURN),
        ("rate, outermost zone", figure::CHECKS_OUTER_MB_S, read(outer), RATE),
        ("rate, innermost zone", figure::CHECKS_INNER_MB_S, read(inner), RATE),
    ];
    let mut checks: Vec<DatasheetCheck> = compared
        .into_iter()
        .filter_map(|(what, key, found, tolerance)| compare_figure(drive, what, key, found, tolerance))
        .collect();
    let (read, write) = (rate(outer, false), rate(outer, true));
    checks.extend((read > 0.0).then(|| check_write_skew(read, write)));
    checks.extend(outer.map(|(first, end)| check_seek_skew(lost_revolution_share(profile, first, end))));
    checks
}

fn compare_figure(
    drive: &DriveFile,
    what: &'static str,
    key: &str,
    found: f64,
    tolerance: f64,
) -> Option<DatasheetCheck> {
    let figure = drive.figure(key)?;
    let expected = drive.number(key)?;
    let met = (found - expected).abs() <= tolerance * expected;
    Some(DatasheetCheck {
        what,
        expected,
        found,
        unit: figure.unit,
        tolerance,
        ok: met == figure.misses.is_none(),
        kind: figure.kind,
        source: figure.source.clone(),
        misses: figure.misses.clone(),
    })
}

/// The comparison of skews with the arm.
pub const LOST: &str = "track changes that lose a revolution";

/// A skew that the arm cannot keep up with costs a stream a revolution a track, up to half its rate: a seek or a settling
/// time that was changed asks for other skews.
fn check_seek_skew(found: f64) -> DatasheetCheck {
    DatasheetCheck {
        what: LOST,
        expected: 0.0,
        found,
        unit: "",
        tolerance: 0.0,
        ok: found <= LATE,
        kind: FigureOrigin::Inferred,
        source: "a drive's skew covers its seek to the next track".to_owned(),
        misses: None,
    }
}

/// Track changes of a stream that may lose a revolution: one in fifty. A zone's border may not fit a skew.
const LATE: f64 = 0.02;

/// A skew that the arm cannot keep up with would cost a revolution a track.
fn check_write_skew(read: f64, write: f64) -> DatasheetCheck {
    let found = write / read;
    DatasheetCheck {
        what: WRITES,
        expected: 1.0,
        found,
        unit: "",
        tolerance: 0.001,
        ok: (found - 1.0).abs() <= 0.001,
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
            let found =
                check_drive(drive, &drive.profile().unwrap()).into_iter().find(|check| check.what == LOST).unwrap();
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
