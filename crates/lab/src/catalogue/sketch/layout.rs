//! Heads, cylinders and zones that hold a capacity at the rates of a datasheet. Sectors a track follow from a rate, and tracks from the
//! capacity. The number of tracks on a surface follows from the bits of a track, because makers kept the shape of a bit much the same as it
//! shrank: twice the sectors a track, twice the tracks. The profile is written elsewhere.

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_drives::figure::{FigureValue as Figure, ZoneRow};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use toml_edit::{Array, InlineTable, Value};

use super::Datasheet;
use crate::catalogue::curves::sustained_mb_s;

/// Bytes that fit into 48 bits of sectors, the limit of a profile.
const MOST: u64 = (1 << 48) * SECTOR;
/// The most surfaces: drives on the market had at most 28.
const HEADS: f64 = 64.0;
/// The fewest cylinders: fewer make no seek curve.
const CYLINDERS: f64 = 64.0;

/// Target rates in MB/s: sustained, of the outermost zone and the innermost.
#[derive(Clone, Copy, Debug)]
pub(super) struct SustainedRates {
    pub outer: f64,
    pub inner: f64,
}

impl SustainedRates {
    /// The rates of the datasheet. A missing one follows from the other by their ratio in `base`; without both, the tracks of `base` turn
    /// at the datasheet's speed.
    pub(super) fn from_datasheet(base: &DriveFile, base_profile: &Profile, given: &Datasheet) -> SustainedRates {
        let were = SustainedRates::from_profile(base_profile);
        let rpm_ratio = given.rpm.map_or(1.0, |rpm| rpm / base.number(figure::MECHANICS_RPM).unwrap_or(rpm));
        let ratio = were.outer / were.inner;
        match (given.outer, given.inner) {
            (Some(outer), Some(inner)) => SustainedRates { outer, inner },
            (Some(outer), None) => SustainedRates { outer, inner: outer / ratio },
            (None, Some(inner)) => SustainedRates { outer: inner * ratio, inner },
            (None, None) => SustainedRates { outer: were.outer * rpm_ratio, inner: were.inner * rpm_ratio },
        }
    }

    /// The rates of a drive: outermost zone, and the innermost of a fair length, as in the checks.
    pub(super) fn from_profile(profile: &Profile) -> SustainedRates {
        let fair = |span: &(u64, u64)| span.1 > span.0 && span.1 - span.0 > profile.geometry.sectors() / 1000;
        let mut spans = profile.geometry.zone_block_bounds().filter(fair);
        let first = spans.next().unwrap_or((0, profile.geometry.sectors()));
        let last = spans.last().unwrap_or(first);
        let rate = |span: (u64, u64)| sustained_mb_s(profile, span.0, span.1, false);
        SustainedRates { outer: rate(first), inner: rate(last) }
    }

    /// The target corrected by `made`, which was made with this target and missed the wanted rates.
    pub(super) fn correct_for(self, made: &Profile, given: &Datasheet) -> SustainedRates {
        let made = SustainedRates::from_profile(made);
        let corrected = |aim: f64, wanted: Option<f64>, made: f64| match wanted {
            Some(wanted) if made > 0.0 => aim * wanted / made,
            _ => aim,
        };
        SustainedRates {
            outer: corrected(self.outer, given.outer, made.outer),
            inner: corrected(self.inner, given.inner, made.inner),
        }
    }
}

/// A layout of blocks.
#[derive(Clone, Debug)]
pub(super) struct SketchLayout {
    pub sectors: u64,
    pub heads: u32,
    pub rpm: f64,
    /// Between cylinders, between heads, as shares of a revolution.
    pub skews: (f64, f64),
    /// Cylinders and sectors a track, from the outside in.
    zones: Vec<(u64, u64)>,
    /// The loss at a change of track, as a share of a revolution.
    lost: f64,
    aim: SustainedRates,
    spare: u64,
}

impl SketchLayout {
    /// A layout with the datasheet's capacity at these rates, which otherwise follows `base`. Its skews take `wider` times as long as those
    /// of `base`.
    pub(super) fn from_datasheet(
        base: &DriveFile,
        given: &Datasheet,
        aim: &SustainedRates,
        wider: f64,
    ) -> Result<SketchLayout, String> {
        let number = |key: &str| base.number(key).unwrap_or(0.0);
        let unit = (number(figure::GEOMETRY_PHYSICAL_SECTOR) as u64 / SECTOR).max(1);
        let sectors = match given.capacity {
            Some(bytes) if !(1_000_000..=MOST).contains(&bytes) => {
                return Err(format!("--capacity {bytes} bytes: expected 1 MB to 144 PB (10^15)"));
            }
            Some(bytes) => bytes / SECTOR / unit * unit,
            None => number(figure::GEOMETRY_SECTORS) as u64,
        };
        let rpm = given.rpm.unwrap_or_else(|| number(figure::MECHANICS_RPM));
        // A time is a larger share of a revolution if the revolution is shorter.
        let rpm_ratio = rpm / number(figure::MECHANICS_RPM);
        let skew = |key: &str| super::round_six_digits((number(key) * rpm_ratio * wider).min(0.99));
        let skews = (skew(figure::GEOMETRY_TRACK_SKEW), skew(figure::GEOMETRY_HEAD_SKEW));
        let run = base.number(figure::GEOMETRY_RUN_TRACKS).unwrap_or(1.0);
        // Changes of track with the track skew, and with the head skew: a serpentine follows a surface for a run of tracks, the other orders
        // take all heads of a cylinder first.
        let (track_skews, head_skews) =
            match base.figure(figure::GEOMETRY_ORDER).map(|figure| figure.value.to_string()).as_deref() {
                Some("serpentine") => (run - 1.0, 1.0),
                _ => (1.0, number(figure::GEOMETRY_HEADS) - 1.0),
            };
        let lost = (track_skews * skews.0 + head_skews * skews.1) / (track_skews + head_skews);
        let track = |rate: f64| {
            let sectors = rate * 1e6 * 60.0 * (1.0 + lost) / (SECTOR as f64 * rpm);
            ((sectors / unit as f64).round() as u64).max(1) * unit
        };
        let shape = zone_shape(base);
        let (outer, inner) = (track(aim.outer), track(aim.inner));
        let along = |part: f64| {
            let between = inner as f64 + part * (outer as f64 - inner as f64);
            ((between / unit as f64).round() as u64).max(1) * unit
        };
        let rows: Vec<(f64, u64)> = shape.rows.iter().map(|&(share, part)| (share, along(part))).collect();
        let mean: f64 = rows.iter().map(|&(share, spt)| share * spt as f64).sum();
        let reserved = number(figure::CACHE_MEDIA_CACHE_MIB) as u64 * 2048;
        let tracks = (sectors + reserved) as f64 / mean;
        let surface_tracks = shape.tracks_a_sector * outer as f64;
        let heads = given.heads.map_or_else(|| (tracks / surface_tracks).round().max(1.0), f64::from);
        if heads > HEADS || tracks / heads < CYLINDERS {
            return Err(format!(
                "--capacity {} bytes takes {tracks:.0} tracks at these rates, and a surface as dense as that has {surface_tracks:.0}: \
                 {:.2} surfaces; expected 1 to {HEADS}, with {CYLINDERS} cylinders or more",
                sectors * SECTOR,
                tracks / surface_tracks
            ));
        }
        // Zones of whole runs, unless the surface has so few that rounding would show.
        let multiple = if tracks / heads > 1000.0 * run { run as u64 } else { 1 };
        let zones = fill_zones(&rows, sectors + reserved, heads as u64, tracks / heads, multiple);
        let held: u64 = zones.iter().map(|&(cylinders, spt)| cylinders * spt * heads as u64).sum();
        let spare = held - sectors - reserved;
        Ok(SketchLayout { sectors, heads: heads as u32, rpm, skews, zones, lost, aim: *aim, spare })
    }

    /// Sectors of the longest track.
    pub(super) fn longest_track_sectors(&self) -> u64 {
        self.zones.iter().map(|zone| zone.1).max().unwrap_or(0)
    }

    /// MB/s under the heads of the outermost zone.
    pub(super) fn media_rate_mb_s(&self) -> f64 {
        (self.longest_track_sectors() * SECTOR) as f64 * self.rpm / 60.0 / 1e6
    }

    /// The rate of the outermost zone if no revolution is lost.
    pub(super) fn outer_rate_mb_s(&self) -> f64 {
        self.media_rate_mb_s() / (1.0 + self.lost)
    }

    /// Sectors of the outermost track of a drive.
    pub(super) fn outer_track_sectors(base: &DriveFile) -> f64 {
        zone_shape(base).longest
    }

    fn total_cylinders(&self) -> u64 {
        self.zones.iter().map(|zone| zone.0).sum()
    }

    pub(super) fn explain_heads(&self, like: &str) -> String {
        format!(
            "{} cylinders on each with tracks of up to {} sectors: as many tracks to a sector of the track as on {like}, the shape of \
             its bits",
            self.total_cylinders(),
            self.longest_track_sectors()
        )
    }

    pub(super) fn explain_zones(&self, like: &str) -> String {
        format!(
            "zones that fall as {like}'s, from {} (outer rate {:.1} MB/s) to {} (inner {:.1} MB/s), rate x (1 + skew) / (512 x \
             revolutions a second); as many cylinders as the capacity needs, {} sectors at the end unused",
            self.longest_track_sectors(),
            self.aim.outer,
            self.zones.last().map_or(0, |zone| zone.1),
            self.aim.inner,
            self.spare
        )
    }

    /// The rows of a profile.
    pub(super) fn zone_rows(&self) -> Array {
        let mut rows = Array::new();
        let mut first = 0;
        for &(cylinders, spt) in &self.zones {
            let mut row = InlineTable::new();
            for (key, value) in [("first", first), ("cylinders", cylinders), ("spt", spt)] {
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

/// The zones of a drive as shares.
struct ZoneShape {
    /// Share of all cylinders, and where its tracks lie between the shortest (0) and the longest (1).
    rows: Vec<(f64, f64)>,
    /// Sectors of the outermost track, as the mean of its heads.
    longest: f64,
    /// Tracks of a surface for each sector of its outermost track (`longest`): the shape of a bit.
    tracks_a_sector: f64,
}

fn zone_shape(base: &DriveFile) -> ZoneShape {
    let rows: &[ZoneRow] = match base.figure(figure::GEOMETRY_ZONES).map(|figure| &figure.value) {
        Some(Figure::Zones(rows)) => rows,
        _ => &[],
    };
    let mean = |row: &ZoneRow| {
        let runs = row.band.iter().flat_map(|band| &band.runs).map(|run| run.spt);
        let all: Vec<f64> = row.spt.iter().copied().chain(runs).map(f64::from).collect();
        all.iter().sum::<f64>() / all.len().max(1) as f64
    };
    let all: f64 = rows.iter().map(|row| f64::from(row.cylinders)).sum();
    // Short remainders at the end say nothing.
    let fair: Vec<&ZoneRow> = rows.iter().filter(|row| f64::from(row.cylinders) > all / 200.0).collect();
    let cylinders: f64 = fair.iter().map(|row| f64::from(row.cylinders)).sum();
    let (outer, inner) = (fair.first().map_or(1.0, |row| mean(row)), fair.last().map_or(1.0, |row| mean(row)));
    let part = |row: &ZoneRow| if outer > inner { (mean(row) - inner) / (outer - inner) } else { 1.0 };
    ZoneShape {
        rows: fair.iter().map(|row| (f64::from(row.cylinders) / cylinders, part(row).clamp(0.0, 1.0))).collect(),
        longest: outer,
        tracks_a_sector: all / outer,
    }
}

/// Cylinders and sectors a track of each zone. `rows` has its share of all `cylinders`, and its sectors a track. The last zone has as many
/// cylinders as the rest of `sectors` needs. Cylinders are a multiple of `multiple`, if possible.
fn fill_zones(rows: &[(f64, u64)], sectors: u64, heads: u64, cylinders: f64, multiple: u64) -> Vec<(u64, u64)> {
    let (mut zones, mut left): (Vec<(u64, u64)>, u64) = (Vec::new(), sectors);
    for (index, &(share, spt)) in rows.iter().enumerate() {
        let a_cylinder = spt * heads;
        let wanted = match index + 1 == rows.len() {
            true => left.div_ceil(a_cylinder).next_multiple_of(multiple),
            false => ((share * cylinders) as u64 / multiple * multiple).max(1).min(left / a_cylinder),
        };
        if wanted > 0 {
            left = left.saturating_sub(wanted * a_cylinder);
            zones.push((wanted, spt));
        }
    }
    zones
}
