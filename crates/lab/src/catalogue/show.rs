//! The list of drives and one drive in full: figures with their sources, checks, curves. As text and as values for
//! JSON.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use seekwise_formats::diagnostic::Diagnostic;
use seekwise_formats::profile::DriveFile;
use seekwise_formats::profile::figure::{Kind, Value, ZoneRow};
use seekwise_model::block::SECTOR;
use serde::Serialize;

use super::check::{Check, checks};
use super::curves::{Curves, curves, sustained};
use super::plot::{Picture, terminal};
use super::{load, names};

/// One line of the list.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Name in the catalogue.
    pub name: String,
    /// Maker and model.
    pub title: String,
    /// Year of the model.
    pub year: Option<u32>,
    /// Studies that measured it.
    pub studies: Vec<String>,
    /// Interface in words.
    pub interface: String,
    /// Capacity in 10^9 bytes.
    pub capacity_gb: f64,
    /// Revolutions a minute.
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

/// One figure.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Dotted key, as `--set` takes it.
    pub key: String,
    /// The value as text.
    pub value: String,
    /// Its unit.
    pub unit: &'static str,
    /// Where from.
    pub kind: Kind,
    /// Citation or derivation.
    pub source: String,
}

/// One drive in full.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    /// What the list says.
    #[serde(flatten)]
    pub summary: Summary,
    /// All figures.
    pub figures: Vec<Shown>,
    /// Comparisons with datasheet and measurement.
    pub checks: Vec<Check>,
    /// Points of both curves.
    pub curves: Curves,
}

/// One drive in full.
pub fn sheet(drive: &DriveFile) -> Result<Sheet, Vec<Diagnostic>> {
    let profile = drive.profile()?;
    let geometry = &profile.geometry;
    let (first, end) = geometry.zone_spans().find(|span| span.0 < span.1).unwrap_or((0, geometry.sectors()));
    let summary = Summary {
        name: drive.name.clone(),
        title: drive.title.clone(),
        year: drive.year,
        studies: drive.studies.clone(),
        interface: drive.interface.clone(),
        capacity_gb: (geometry.sectors() * SECTOR) as f64 / 1e9,
        rpm: drive.number("mechanics.rpm").unwrap_or(0.0),
        heads: geometry.surfaces(),
        cache_kib: drive.number("cache.size_kib").unwrap_or(0.0) as u64,
        depth: profile.firmware.depth,
        average_seek_ms: profile.mechanics.seek().mean().nanos() as f64 / 1e6,
        outer_mb_s: sustained(&profile, first, end, false),
    };
    let figures = drive.figures().filter(|figure| !figure.key.starts_with("checks."));
    Ok(Sheet {
        summary,
        figures: figures.map(shown).collect(),
        checks: checks(drive, &profile),
        curves: curves(&profile),
    })
}

/// Sectors a track in the mean.
fn mean_track(row: &ZoneRow) -> u32 {
    let runs = row.band.iter().flat_map(|band| &band.runs);
    let all: Vec<u32> = row.spt.iter().copied().chain(runs.map(|run| run.spt)).collect();
    all.iter().sum::<u32>() / all.len().max(1) as u32
}

fn shown(figure: &seekwise_formats::profile::figure::Figure) -> Shown {
    let value = match &figure.value {
        Value::Zones(rows) => {
            let (outer, inner) = (rows.first().map_or(0, mean_track), rows.last().map_or(0, mean_track));
            format!("{} zones, {outer} to {inner} sectors a track", rows.len())
        }
        value => value.to_string(),
    };
    Shown {
        key: format!("drive.{}", figure.key),
        value,
        unit: figure.unit,
        kind: figure.kind,
        source: figure.source.clone(),
    }
}

/// The built-in drives, for JSON and for [`list`].
pub fn summaries() -> Result<Vec<Summary>, Vec<Diagnostic>> {
    let summary = |name| Ok(sheet(&load(name)?)?.summary);
    names().map(summary).collect()
}

/// The built-in drives as a table.
pub fn list(width: u16) -> Result<String, Vec<Diagnostic>> {
    let mut table = table(width);
    table.set_header([
        "name",
        "GB",
        "rpm",
        "heads",
        "interface",
        "cache KiB",
        "seek ms",
        "outer MB/s",
        "year",
        "study",
    ]);
    for drive in summaries()? {
        table.add_row([
            drive.name,
            format!("{:.0}", drive.capacity_gb),
            format!("{:.0}", drive.rpm),
            drive.heads.to_string(),
            drive.interface,
            drive.cache_kib.to_string(),
            format!("{:.1}", drive.average_seek_ms),
            format!("{:.0}", drive.outer_mb_s),
            drive.year.map_or(String::new(), |year| year.to_string()),
            drive.studies.join(" "),
        ]);
    }
    right(&mut table, &[1, 2, 3, 5, 6, 7]);
    Ok(format!("{table}\n"))
}

/// One drive in full as text of at most `width` columns.
pub fn show(drive: &DriveFile, width: u16) -> Result<String, Vec<Diagnostic>> {
    let sheet = sheet(drive)?;
    let summary = &sheet.summary;
    let mut text = format!("{}  ({})\n", summary.title, summary.name);
    let year = summary.year.map_or(String::new(), |year| format!(", {year}"));
    text += &format!("{}{year}, {:.1} GB\n\n", summary.interface, summary.capacity_gb);
    text += &format!("{}\n\n{}\n\n", figures(drive, &sheet, width), comparison(drive, &sheet, width));
    for (name, citation) in &drive.sources {
        text += &format!("[{name}] {citation}\n");
    }
    text.push('\n');
    let columns = u32::from(width.clamp(40, 120)) - 12;
    text += &terminal(&seek_picture(&sheet), columns, 12);
    text.push('\n');
    text += &terminal(&rate_picture(&sheet), columns, 12);
    Ok(text)
}

/// The seek curve as a picture.
pub fn seek_picture(sheet: &Sheet) -> Picture<'_> {
    Picture { title: "Seek time", x: "distance (cylinders)", y: "read seek (ms)", points: &sheet.curves.seek }
}

/// The transfer curve as a picture.
pub fn rate_picture(sheet: &Sheet) -> Picture<'_> {
    Picture { title: "Sustained rate", x: "position (GB)", y: "rate (MB/s)", points: &sheet.curves.rate }
}

/// A source with its citations by their short names again: in a table they would repeat on every line.
fn short(drive: &DriveFile, source: &str) -> String {
    let names = drive.sources.iter();
    names.fold(source.to_owned(), |text, (name, citation)| text.replace(citation, &format!("[{name}]")))
}

fn figures(drive: &DriveFile, sheet: &Sheet, width: u16) -> Table {
    let mut table = table(width);
    table.set_header(["figure", "value", "unit", "kind", "source"]);
    for figure in &sheet.figures {
        table.add_row([
            figure.key.trim_start_matches("drive."),
            &figure.value,
            figure.unit,
            &figure.kind.to_string(),
            &short(drive, &figure.source),
        ]);
    }
    table
}

fn comparison(drive: &DriveFile, sheet: &Sheet, width: u16) -> Table {
    let mut table = table(width);
    table.set_header(["check", "expected", "model", "unit", "result", "source"]);
    for check in &sheet.checks {
        let result = match (&check.misses, check.ok) {
            (None, true) => "met",
            (Some(_), true) => "known miss",
            _ => "NOT MET",
        };
        let mut source = format!("{}: {}", check.kind, short(drive, &check.source));
        if let Some(why) = &check.misses {
            source += &format!(" (missed: {why})");
        }
        table.add_row([
            check.what.to_owned(),
            number(check.expected),
            number(check.found),
            check.unit.to_owned(),
            result.to_owned(),
            source,
        ]);
    }
    right(&mut table, &[1, 2]);
    table
}

/// Whole numbers in full, others with two decimals.
fn number(value: f64) -> String {
    match value.fract() == 0.0 && value >= 1000.0 {
        true => format!("{value:.0}"),
        false => format!("{value:.2}"),
    }
}

/// One line below the head, none between rows.
pub const RULED: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

fn table(width: u16) -> Table {
    let mut table = Table::new();
    table.load_style(RULED).set_content_arrangement(ContentArrangement::Dynamic).set_width(width.max(60));
    table
}

/// Sets columns flush right, as figures are read.
pub(super) fn right(table: &mut Table, columns: &[usize]) {
    for &column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_names_every_drive() {
        let text = list(140).unwrap();
        println!("{text}");
        assert!(names().all(|name| text.contains(name)));
    }

    /// All that a figure can be divided by is nothing: a sector in less than a nanosecond, one block.
    #[test]
    fn a_sheet_has_figures_only() {
        let text = crate::catalogue::text("barracuda-7200.7").unwrap();
        let (head, rest) = text.split_once("value = [\n    { first = 0,").unwrap();
        let rest = rest.split_once("\n]").unwrap().1;
        let zones = "value = [ { first = 0, cylinders = 1000, spt = 1000000 } ]";
        let mut drive = seekwise_formats::profile::parse("tiny.toml", &format!("{head}{zones}{rest}")).unwrap();
        for (key, value) in [("geometry.sectors", "1"), ("mechanics.rpm", "100000"), ("geometry.run_tracks", "1")] {
            drive.set(key, value).unwrap();
        }
        let still = Picture { title: "", x: "", y: "", points: &[(1.0, 0.0)] };
        let shown = show(&drive, 120).unwrap() + &terminal(&still, 60, 8);
        let words = shown.split(|c: char| !c.is_alphanumeric() && c != '.').map(str::to_lowercase);
        let odd: Vec<String> = words.filter(|word| ["nan", "inf"].contains(&word.as_str())).collect();
        assert!(odd.is_empty(), "{odd:?} in {shown}");
        let sheet = sheet(&drive).unwrap();
        let figures = sheet.checks.iter().map(|check| check.found).chain([sheet.summary.outer_mb_s]);
        assert!(figures.chain(sheet.curves.rate.iter().map(|point| point.1)).all(f64::is_finite), "{sheet:?}");
    }

    #[test]
    fn a_sheet_says_where_each_figure_comes_from() {
        let drive = load("atlas-10k-v-300").unwrap();
        let text = show(&drive, 140).unwrap();
        println!("{text}");
        for part in ["mechanics.rpm", "10001", "measured", "known miss", "Sustained rate", "position (GB)"] {
            assert!(text.contains(part), "{part}");
        }
        let json = serde_json::to_value(sheet(&drive).unwrap()).unwrap();
        assert_eq!(json["name"], "atlas-10k-v-300");
        assert!(json["figures"][0]["source"].as_str().unwrap().contains("DIXtrac"));
        assert!(json["curves"]["rate"].as_array().unwrap().len() >= 32);
    }
}
