//! The density of a drive's tracks as one number: the same layout with more sectors on every track has fewer cylinders. Streams tell it; a
//! profile of another drive is mostly off by one factor.

use seekwise_drives::figure::{Figure, FigureValue, ZoneRow};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;

/// The zones of `drive` with `factor` times as many sectors a track, as a setting. The cylinders hold the drive's blocks as before: a zone
/// keeps its share of them, in whole runs of a serpentine, and the last one is as long as the capacity needs.
pub(super) fn zones_setting(drive: &DriveFile, factor: f64) -> Option<(&'static str, String)> {
    let Some(Figure { value: FigureValue::Zones(rows), .. }) = drive.figure(figure::GEOMETRY_ZONES) else {
        return None;
    };
    let whole = |key: &str| drive.number(key).map(|number| number as u64);
    let heads = whole(figure::GEOMETRY_HEADS)?;
    let sectors_a_physical = (whole(figure::GEOMETRY_PHYSICAL_SECTOR)? / 512).max(1);
    let run = whole(figure::GEOMETRY_RUN_TRACKS).unwrap_or(1).max(1);
    let mut missing = whole(figure::GEOMETRY_SECTORS)?;
    let (mut first, mut texts) = (u64::from(rows.first()?.first), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        let spt = denser_track(*row.spt.first()?, factor, sectors_a_physical);
        let needed = missing.div_ceil(spt * heads).next_multiple_of(run);
        let share = ((f64::from(row.cylinders) / factor / run as f64).round() as u64).max(1) * run;
        let cylinders = if index + 1 == rows.len() { needed.max(share) } else { share };
        missing = missing.saturating_sub(cylinders * spt * heads);
        texts.push(zone_text(row, first, cylinders, spt));
        first += cylinders;
    }
    Some((figure::GEOMETRY_ZONES, format!("[{}]", texts.join(", "))))
}

/// Sectors of a track with `factor` times as many, in whole physical sectors.
fn denser_track(spt: u32, factor: f64, sectors_a_physical: u64) -> u64 {
    ((f64::from(spt) * factor / sectors_a_physical as f64).round() as u64).max(1) * sectors_a_physical
}

fn zone_text(row: &ZoneRow, first: u64, cylinders: u64, spt: u64) -> String {
    let skews = row.skews.map_or(String::new(), |(track, head)| format!(", track_skew = {track}, head_skew = {head}"));
    format!("{{ first = {first}, cylinders = {cylinders}, spt = {spt}{skews} }}")
}

/// A distance in cylinders on the drive with `factor` times as many sectors a track: the same share of the stroke.
pub(super) fn moved_distance(cylinders: u32, factor: f64) -> u32 {
    if cylinders <= 1 { cylinders } else { ((f64::from(cylinders) / factor).round() as u32).max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn a_denser_drive_holds_its_blocks_on_fewer_cylinders() {
        let drive = catalogue::load_drive("exos-x18").unwrap();
        for factor in [0.5, 0.9, 1.3, 3.0] {
            let mut other = drive.clone();
            let (key, text) = zones_setting(&drive, factor).unwrap();
            other.set(key, &text).unwrap();
            let profile = other.profile().unwrap();
            assert_eq!(profile.geometry.sectors(), drive.profile().unwrap().geometry.sectors());
            let spt = |drive: &DriveFile| match &drive.figure(figure::GEOMETRY_ZONES).unwrap().value {
                FigureValue::Zones(rows) => f64::from(rows[0].spt[0]),
                _ => panic!("zones"),
            };
            assert!((spt(&other) / spt(&drive) / factor - 1.0).abs() < 0.01, "{factor}");
        }
    }

    #[test]
    fn single_cylinders_stay_single() {
        assert_eq!([0, 1, 2, 1000].map(|distance| moved_distance(distance, 2.0)), [0, 1, 1, 500]);
    }
}
