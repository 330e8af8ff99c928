//! The list of built-in drives, and one drive in full with sources, checks and curves, as values. Nothing is drawn here.

use seekwise_disk::block::SECTOR;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::figure::{FigureOrigin, FigureValue, ZoneRow};
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::DriveFile;
use serde::Serialize;

use super::check::{DatasheetCheck, check_drive};
use super::curves::{Curves, seek_and_rate_curves, sustained_mb_s};
use super::{load_drive, names};
use crate::plot::Picture;

/// A drive in the list.
#[derive(Clone, Debug, Serialize)]
pub struct DriveSummary {
    /// Name in the catalogue.
    pub name: String,
    /// Maker and model.
    pub title: String,
    /// Year of the model.
    pub year: Option<u32>,
    /// The studies that measured it.
    pub studies: Vec<String>,
    /// The interface in words.
    pub interface: String,
    /// Capacity in 10^9 bytes.
    pub capacity_gb: f64,
    pub rpm: f64,
    /// Surfaces.
    pub heads: u8,
    /// Usable buffer in KiB.
    pub cache_kib: u64,
    /// Commands held at once.
    pub depth: u32,
    /// Mean read seek of the model over uniformly drawn cylinders.
    pub average_seek_ms: f64,
    /// Sustained rate of the outermost zone in 10^6 bytes a second.
    pub outer_mb_s: f64,
}

/// A figure of a drive.
#[derive(Clone, Debug, Serialize)]
pub struct SheetFigure {
    /// Dotted key, as `--set` takes it.
    pub key: String,
    /// The value as text.
    pub value: String,
    pub unit: &'static str,
    /// The origin of the value.
    pub kind: FigureOrigin,
    /// Citation or derivation.
    pub source: String,
}

/// A drive in full.
#[derive(Clone, Debug, Serialize)]
pub struct DriveSheet {
    /// The drive as in the list.
    #[serde(flatten)]
    pub summary: DriveSummary,
    pub figures: Vec<SheetFigure>,
    /// Comparisons with datasheet and measurement.
    pub checks: Vec<DatasheetCheck>,
    pub curves: Curves,
}

/// Builds the sheet of a drive.
pub fn build_sheet(drive: &DriveFile) -> Result<DriveSheet, Vec<Diagnostic>> {
    let profile = drive.profile()?;
    let geometry = &profile.geometry;
    let (first, end) = geometry.zone_block_bounds().find(|span| span.0 < span.1).unwrap_or((0, geometry.sectors()));
    let summary = DriveSummary {
        name: drive.name.clone(),
        title: drive.title.clone(),
        year: drive.year,
        studies: drive.studies.clone(),
        interface: drive.interface.clone(),
        capacity_gb: (geometry.sectors() * SECTOR) as f64 / 1e9,
        rpm: drive.number(figure::MECHANICS_RPM).unwrap_or(0.0),
        heads: geometry.surfaces(),
        cache_kib: drive.number(figure::CACHE_SIZE_KIB).unwrap_or(0.0) as u64,
        depth: profile.firmware.depth,
        average_seek_ms: profile.mechanics.seek().mean_time().nanos() as f64 / 1e6,
        outer_mb_s: sustained_mb_s(&profile, first, end, false),
    };
    let figures = drive.figures().filter(|figure| !figure.key.starts_with("checks."));
    Ok(DriveSheet {
        summary,
        figures: figures.map(sheet_figure).collect(),
        checks: check_drive(drive, &profile),
        curves: seek_and_rate_curves(&profile),
    })
}

/// The mean number of sectors per track of a zone, over its heads or the runs of its band.
fn mean_sectors_per_track(row: &ZoneRow) -> u32 {
    let runs = row.band.iter().flat_map(|band| &band.runs);
    let counts: Vec<u32> = row.spt.iter().copied().chain(runs.map(|run| run.spt)).collect();
    counts.iter().sum::<u32>() / counts.len().max(1) as u32
}

fn sheet_figure(figure: &seekwise_drives::figure::Figure) -> SheetFigure {
    let value = match &figure.value {
        FigureValue::Zones(rows) => {
            let (outer, inner) =
                (rows.first().map_or(0, mean_sectors_per_track), rows.last().map_or(0, mean_sectors_per_track));
            format!("{} zones, {outer} to {inner} sectors a track", rows.len())
        }
        value => value.to_string(),
    };
    SheetFigure {
        key: format!("drive.{}", figure.key),
        value,
        unit: figure.unit,
        kind: figure.kind,
        source: figure.source.clone(),
    }
}

/// The built-in drives, a summary each.
pub fn drive_summaries() -> Result<Vec<DriveSummary>, Vec<Diagnostic>> {
    let summary = |name| Ok(build_sheet(&load_drive(name)?)?.summary);
    names().map(summary).collect()
}

/// The seek curve as a picture.
pub fn seek_picture(sheet: &DriveSheet) -> Picture<'_> {
    Picture { title: "Seek time", x: "distance (cylinders)", y: "read seek (ms)", points: &sheet.curves.seek }
}

/// The transfer curve as a picture.
pub fn rate_picture(sheet: &DriveSheet) -> Picture<'_> {
    Picture { title: "Sustained rate", x: "position (GB)", y: "rate (MB/s)", points: &sheet.curves.rate }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::draw_terminal;

    /// Every figure stays finite when all divisors are zero: a sector in less than a nanosecond, one block.
    #[test]
    fn a_sheet_has_figures_only() {
        let text = crate::catalogue::find_text("barracuda-7200.7").unwrap();
        let (head, rest) = text.split_once("value = [\n    { first = 0,").unwrap();
        let rest = rest.split_once("\n]").unwrap().1;
        let zones = "value = [ { first = 0, cylinders = 1000, spt = 1000000 } ]";
        let mut drive = seekwise_drives::profile::parse("tiny.toml", &format!("{head}{zones}{rest}")).unwrap();
        for (key, value) in [("geometry.sectors", "1"), ("mechanics.rpm", "100000"), ("geometry.run_tracks", "1")] {
            drive.set(key, value).unwrap();
        }
        let sheet = build_sheet(&drive).unwrap();
        let still = Picture { title: "", x: "", y: "", points: &[(1.0, 0.0)] };
        let pictures = [seek_picture(&sheet), rate_picture(&sheet), still];
        let drawn: String = pictures.iter().map(|picture| draw_terminal(picture, 60, 8)).collect();
        let words = drawn.split(|c: char| !c.is_alphanumeric() && c != '.').map(str::to_lowercase);
        let odd: Vec<String> = words.filter(|word| ["nan", "inf"].contains(&word.as_str())).collect();
        assert!(odd.is_empty(), "{odd:?} in {drawn}");
        let figures = sheet.checks.iter().map(|check| check.found).chain([sheet.summary.outer_mb_s]);
        assert!(figures.chain(sheet.curves.rate.iter().map(|point| point.1)).all(f64::is_finite), "{sheet:?}");
    }

    #[test]
    fn a_sheet_says_where_each_figure_comes_from() {
        let drive = load_drive("atlas-10k-v-300").unwrap();
        let json = serde_json::to_value(build_sheet(&drive).unwrap()).unwrap();
        assert_eq!(json["name"], "atlas-10k-v-300");
        assert!(json["figures"][0]["source"].as_str().unwrap().contains("DIXtrac"));
        assert!(json["curves"]["rate"].as_array().unwrap().len() >= 32);
    }
}
