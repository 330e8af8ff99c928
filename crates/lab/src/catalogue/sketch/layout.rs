//! Chooses heads, cylinders and zones that hold a capacity at the rates of a datasheet; `sketch` writes the profile.
//!
//! The sectors of a track follow from the rate, and the number of tracks from the capacity. The number of tracks on a surface follows from
//! the sectors of its longest track, because makers kept the shape of a bit much the same as it shrank: twice the sectors a track, twice
//! the tracks.

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_drives::figure::{FigureValue as Figure, ZoneRow};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use toml_edit::{Array, InlineTable, Value};

use super::Datasheet;
use crate::catalogue::curves::sustained_mb_s;

/// The largest capacity of a profile in bytes: sector numbers have 48 bits.
const MOST_BYTES: u64 = (1 << 48) * SECTOR;
/// The most surfaces: drives on the market had at most 28.
const MOST_HEADS: f64 = 64.0;
/// The fewest cylinders: fewer make no seek curve.
const LEAST_CYLINDERS: f64 = 64.0;

/// Sustained rates of the outermost zone and of the innermost.
#[derive(Clone, Copy, Debug)]
pub(super) struct SustainedRates {
    pub outer_mb_s: f64,
    pub inner_mb_s: f64,
}

impl SustainedRates {
    /// The rates of the datasheet. A missing one follows from the other by their ratio in `base`. Without both, the tracks of `base` turn
    /// at the datasheet's speed.
    pub(super) fn from_datasheet(base: &DriveFile, base_profile: &Profile, datasheet: &Datasheet) -> SustainedRates {
        let base_rates = SustainedRates::from_profile(base_profile);
        let rpm_ratio = datasheet.rpm.map_or(1.0, |rpm| rpm / base.number(figure::MECHANICS_RPM).unwrap_or(rpm));
        let ratio = base_rates.outer_mb_s / base_rates.inner_mb_s;
        let (outer_mb_s, inner_mb_s) = match (datasheet.outer, datasheet.inner) {
            (Some(outer), Some(inner)) => (outer, inner),
            (Some(outer), None) => (outer, outer / ratio),
            (None, Some(inner)) => (inner * ratio, inner),
            (None, None) => (base_rates.outer_mb_s * rpm_ratio, base_rates.inner_mb_s * rpm_ratio),
        };
        SustainedRates { outer_mb_s, inner_mb_s }
    }

    /// The rates of a drive's outermost and innermost zones, without short remainders, as in the checks.
    pub(super) fn from_profile(profile: &Profile) -> SustainedRates {
        let is_long = |&(first, end): &(u64, u64)| end > first && end - first > profile.geometry.sectors() / 1000;
        let mut zones = profile.geometry.zone_block_bounds().filter(is_long);
        let outer = zones.next().unwrap_or((0, profile.geometry.sectors()));
        let inner = zones.last().unwrap_or(outer);
        let mb_s = |(first, end): (u64, u64)| sustained_mb_s(profile, first, end, false);
        SustainedRates { outer_mb_s: mb_s(outer), inner_mb_s: mb_s(inner) }
    }

    /// Corrects this target by how far a first drive that was made for it misses the datasheet's rates.
    pub(super) fn corrected_for_miss(self, first_profile: &Profile, datasheet: &Datasheet) -> SustainedRates {
        let first = SustainedRates::from_profile(first_profile);
        let corrected = |target: f64, wanted: Option<f64>, reached: f64| match wanted {
            Some(wanted) if reached > 0.0 => target * wanted / reached,
            _ => target,
        };
        SustainedRates {
            outer_mb_s: corrected(self.outer_mb_s, datasheet.outer, first.outer_mb_s),
            inner_mb_s: corrected(self.inner_mb_s, datasheet.inner, first.inner_mb_s),
        }
    }
}

/// A layout of blocks.
#[derive(Clone, Debug)]
pub(super) struct SketchLayout {
    pub sectors: u64,
    pub heads: u32,
    pub rpm: f64,
    /// Skew between cylinders, as a share of a revolution.
    pub track_skew: f64,
    /// Skew between heads, as a share of a revolution.
    pub head_skew: f64,
    /// From the outside in.
    zones: Vec<SketchZone>,
    /// The mean skew at a change of track, as a share of a revolution.
    mean_skew: f64,
    target: SustainedRates,
    /// Sectors at the end of the last zone that are not used.
    spare_sectors: u64,
}

/// A zone of a layout.
#[derive(Clone, Copy, Debug)]
struct SketchZone {
    cylinders: u64,
    track_sectors: u64,
}

impl SketchLayout {
    /// A layout with the datasheet's capacity at the `target` rates, which otherwise follows `base`. Its skews take `skew_factor` times as
    /// long as those of `base`.
    pub(super) fn from_datasheet(
        base: &DriveFile,
        datasheet: &Datasheet,
        target: &SustainedRates,
        skew_factor: f64,
    ) -> Result<SketchLayout, String> {
        let number = |key: &str| base.number(key).unwrap_or(0.0);
        let physical_sector = (number(figure::GEOMETRY_PHYSICAL_SECTOR) as u64 / SECTOR).max(1);
        let sectors = match datasheet.capacity {
            Some(bytes) if !(1_000_000..=MOST_BYTES).contains(&bytes) => {
                return Err(format!("--capacity {bytes} bytes: expected 1 MB to 144 PB (10^15)"));
            }
            Some(bytes) => bytes / SECTOR / physical_sector * physical_sector,
            None => number(figure::GEOMETRY_SECTORS) as u64,
        };
        let rpm = datasheet.rpm.unwrap_or_else(|| number(figure::MECHANICS_RPM));
        // A time is a larger share of a revolution if the revolution is shorter.
        let rpm_ratio = rpm / number(figure::MECHANICS_RPM);
        let skew = |key: &str| super::round_to_six_decimals((number(key) * rpm_ratio * skew_factor).min(0.99));
        let (track_skew, head_skew) = (skew(figure::GEOMETRY_TRACK_SKEW), skew(figure::GEOMETRY_HEAD_SKEW));
        let run_tracks = base.number(figure::GEOMETRY_RUN_TRACKS).unwrap_or(1.0);
        // How often each skew occurs: a serpentine follows a surface for a run of tracks before it changes the head; the other orders take
        // all heads of a cylinder before they change the cylinder.
        let (track_skews, head_skews) =
            match base.figure(figure::GEOMETRY_ORDER).map(|figure| figure.value.to_string()).as_deref() {
                Some("serpentine") => (run_tracks - 1.0, 1.0),
                _ => (1.0, number(figure::GEOMETRY_HEADS) - 1.0),
            };
        let mean_skew = (track_skews * track_skew + head_skews * head_skew) / (track_skews + head_skews);
        let whole_sectors = |sectors: f64| ((sectors / physical_sector as f64).round() as u64).max(1) * physical_sector;
        let track_sectors = |mb_s: f64| whole_sectors(mb_s * 1e6 * 60.0 * (1.0 + mean_skew) / (SECTOR as f64 * rpm));
        let shape = zone_shape(base);
        let (outer, inner) = (track_sectors(target.outer_mb_s), track_sectors(target.inner_mb_s));
        let track_at = |position: f64| whole_sectors(inner as f64 + position * (outer as f64 - inner as f64));
        let zone_share = |zone: &ZoneProportions| ZoneShare {
            cylinder_share: zone.cylinder_share,
            track_sectors: track_at(zone.track_position),
        };
        let shares: Vec<ZoneShare> = shape.zones.iter().map(zone_share).collect();
        let mean_track_sectors: f64 = shares.iter().map(|zone| zone.cylinder_share * zone.track_sectors as f64).sum();
        let media_cache_sectors = number(figure::CACHE_MEDIA_CACHE_MIB) as u64 * 2048;
        let tracks = (sectors + media_cache_sectors) as f64 / mean_track_sectors;
        let surface_tracks = shape.surface_tracks_per_sector * outer as f64;
        let heads = datasheet.heads.map_or_else(|| (tracks / surface_tracks).round().max(1.0), f64::from);
        if heads > MOST_HEADS || tracks / heads < LEAST_CYLINDERS {
            return Err(format!(
                "--capacity {} bytes takes {tracks:.0} tracks at these rates, and a surface as dense as that has {surface_tracks:.0}: \
                 {:.2} surfaces; expected 1 to {MOST_HEADS}, with {LEAST_CYLINDERS} cylinders or more",
                sectors * SECTOR,
                tracks / surface_tracks
            ));
        }
        let cylinders = tracks / heads;
        // Zones of whole runs, unless the surface has so few that rounding would show.
        let multiple = if cylinders > 1000.0 * run_tracks { run_tracks as u64 } else { 1 };
        let zones = fill_zones(&shares, sectors + media_cache_sectors, heads as u64, cylinders, multiple);
        let held: u64 = zones.iter().map(|zone| zone.cylinders * zone.track_sectors * heads as u64).sum();
        let spare_sectors = held - sectors - media_cache_sectors;
        let (heads, target) = (heads as u32, *target);
        Ok(SketchLayout { sectors, heads, rpm, track_skew, head_skew, zones, mean_skew, target, spare_sectors })
    }

    pub(super) fn longest_track_sectors(&self) -> u64 {
        self.zones.iter().map(|zone| zone.track_sectors).max().unwrap_or(0)
    }

    /// The rate at which the outermost zone passes under a head, without skews.
    pub(super) fn media_rate_mb_s(&self) -> f64 {
        (self.longest_track_sectors() * SECTOR) as f64 * self.rpm / 60.0 / 1e6
    }

    /// The rate of the outermost zone if no revolution is lost.
    pub(super) fn outer_rate_mb_s(&self) -> f64 {
        self.media_rate_mb_s() / (1.0 + self.mean_skew)
    }

    /// Sectors of the outermost track of a drive, as the mean of its heads.
    pub(super) fn outer_track_sectors(base: &DriveFile) -> f64 {
        zone_shape(base).outer_track_sectors
    }

    fn total_cylinders(&self) -> u64 {
        self.zones.iter().map(|zone| zone.cylinders).sum()
    }

    /// The source of the number of heads, for the profile.
    pub(super) fn explain_heads(&self, base_name: &str) -> String {
        format!(
            "{} cylinders on each with tracks of up to {} sectors: as many tracks to a sector of the track as on {base_name}, the shape of \
             its bits",
            self.total_cylinders(),
            self.longest_track_sectors()
        )
    }

    /// The source of the zones, for the profile.
    pub(super) fn explain_zones(&self, base_name: &str) -> String {
        format!(
            "zones that fall as {base_name}'s, from {} (outer rate {:.1} MB/s) to {} (inner {:.1} MB/s), rate x (1 + skew) / (512 x \
             revolutions a second); as many cylinders as the capacity needs, {} sectors at the end unused",
            self.longest_track_sectors(),
            self.target.outer_mb_s,
            self.zones.last().map_or(0, |zone| zone.track_sectors),
            self.target.inner_mb_s,
            self.spare_sectors
        )
    }

    /// The zones as a TOML array, a line each.
    pub(super) fn zone_rows(&self) -> Array {
        let mut rows = Array::new();
        let mut first = 0;
        for &SketchZone { cylinders, track_sectors } in &self.zones {
            let mut row = InlineTable::new();
            for (key, value) in [("first", first), ("cylinders", cylinders), ("spt", track_sectors)] {
                row.insert(key, Value::from(value as i64));
            }
            row.decor_mut().set_prefix("\n    ");
            rows.push_formatted(Value::InlineTable(row));
            first += cylinders;
        }
        rows.set_trailing_comma(true);
        rows.set_trailing("\n");
        rows
    }
}

/// A zone of the base, in proportion to all of it.
struct ZoneProportions {
    cylinder_share: f64,
    /// Where the length of its tracks lies between the shortest (0) and the longest (1).
    track_position: f64,
}

/// The zones of the base as proportions, and its density.
struct ZoneShape {
    zones: Vec<ZoneProportions>,
    /// Sectors of the outermost track, as the mean of its heads.
    outer_track_sectors: f64,
    /// Tracks of a surface for each sector of its outermost track: the shape of a bit.
    surface_tracks_per_sector: f64,
}

fn zone_shape(base: &DriveFile) -> ZoneShape {
    let rows: &[ZoneRow] = match base.figure(figure::GEOMETRY_ZONES).map(|figure| &figure.value) {
        Some(Figure::Zones(rows)) => rows,
        _ => &[],
    };
    let mean_track = |row: &ZoneRow| {
        let runs = row.band.iter().flat_map(|band| &band.runs).map(|run| run.spt);
        let counts: Vec<f64> = row.spt.iter().copied().chain(runs).map(f64::from).collect();
        counts.iter().sum::<f64>() / counts.len().max(1) as f64
    };
    let all_cylinders: f64 = rows.iter().map(|row| f64::from(row.cylinders)).sum();
    // Short remainders at the end are left out.
    let long: Vec<&ZoneRow> = rows.iter().filter(|row| f64::from(row.cylinders) > all_cylinders / 200.0).collect();
    let long_cylinders: f64 = long.iter().map(|row| f64::from(row.cylinders)).sum();
    let outer = long.first().map_or(1.0, |row| mean_track(row));
    let inner = long.last().map_or(1.0, |row| mean_track(row));
    let position = |row: &ZoneRow| if outer > inner { (mean_track(row) - inner) / (outer - inner) } else { 1.0 };
    let proportions = |row: &&ZoneRow| ZoneProportions {
        cylinder_share: f64::from(row.cylinders) / long_cylinders,
        track_position: position(row).clamp(0.0, 1.0),
    };
    ZoneShape {
        zones: long.iter().map(proportions).collect(),
        outer_track_sectors: outer,
        surface_tracks_per_sector: all_cylinders / outer,
    }
}

/// The share of a zone in the cylinders of a layout, and the sectors of its tracks.
struct ZoneShare {
    cylinder_share: f64,
    track_sectors: u64,
}

/// Fills `sectors` into zones with these shares of about `cylinders`. Each zone has a multiple of `multiple` cylinders, if possible; the
/// last one has as many as the rest of the sectors needs.
fn fill_zones(shares: &[ZoneShare], sectors: u64, heads: u64, cylinders: f64, multiple: u64) -> Vec<SketchZone> {
    let (mut zones, mut left): (Vec<SketchZone>, u64) = (Vec::new(), sectors);
    for (index, &ZoneShare { cylinder_share, track_sectors }) in shares.iter().enumerate() {
        let cylinder_sectors = track_sectors * heads;
        let zone_cylinders = match index + 1 == shares.len() {
            true => left.div_ceil(cylinder_sectors).next_multiple_of(multiple),
            false => ((cylinder_share * cylinders) as u64 / multiple * multiple).max(1).min(left / cylinder_sectors),
        };
        if zone_cylinders > 0 {
            left = left.saturating_sub(zone_cylinders * cylinder_sectors);
            zones.push(SketchZone { cylinders: zone_cylinders, track_sectors });
        }
    }
    zones
}
