//! Drafts a drive's profile from a few figures of its datasheet: capacity, speed, rates, average seek.
//!
//! All other figures are taken from a built-in drive, the base, or scaled from it, and marked as inferred with the reasoning. `layout`
//! chooses heads, cylinders and zones that hold the capacity at these rates. A profile that would not meet its own figures is refused.
//! The profile of a real unit is not made here; `fit` finds it from measurements.

mod layout;

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::time::Span;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{self, DriveFile};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use self::layout::{SketchLayout, SustainedRates};
use super::check::{WRITE_RATE, check_drive};
use super::{find_text, load_drive, names};
use crate::rewriting::{remove_uncited_sources, replace_figure};

/// The keys under which a profile says where a figure is from.
const ORIGINS: [&str; 4] = ["measured", "datasheet", "inferred", "fitted"];

/// Usable rates of link generations in MB/s, with the derivation. A faster medium waits for its link.
const LINKS: [(f64, &str); 4] = [
    (132.4, "SATA 1.5 Gb/s: 150 MB/s less about 12 % for frames"),
    (275.0, "SATA 3 Gb/s: 300 MB/s less about 8 % for frames"),
    (550.0, "SATA 6 Gb/s: 600 MB/s less about 8 % for frames"),
    (1100.0, "SAS 12 Gb/s: 1200 MB/s less about 8 % for frames"),
];

/// The factor by which the skews grow at each try.
const SKEW_STEP: f64 = 1.1;
/// The largest factor of the skews that is tried.
const WIDEST_SKEW: f64 = 20.0;
/// A drive whose rate is below this share of that by sectors and skews loses revolutions: one in fifty tracks.
const LEAST_RATE_SHARE: f64 = 0.98;

/// A sector is half a KiB.
const SECTORS_PER_KIB: f64 = 2.0;
/// A track that is longer than the base's by this factor is another medium's; rounding to whole sectors and zones moves it by less.
const LEAST_GROWTH: f64 = 1.05;
/// A buffer that holds a track in less than this share of its segments is of an older generation: areal density doubled in each.
const LEAST_SEGMENT_SHARE: f64 = 0.5;

/// The known figures of a drive; `None` for unknown ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Datasheet {
    /// Capacity in bytes.
    pub capacity: Option<u64>,
    pub rpm: Option<f64>,
    /// Sustained rate of the outermost zone in MB/s.
    pub outer: Option<f64>,
    /// Sustained rate of the innermost zone in MB/s.
    pub inner: Option<f64>,
    /// Average read seek in milliseconds.
    pub seek: Option<f64>,
    /// Surfaces with a head.
    pub heads: Option<u32>,
    /// The cache of a datasheet, in MB of 2^20 bytes.
    pub buffer_mib: Option<u32>,
}

impl Datasheet {
    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Datasheet::default()
    }

    /// Checks that each figure is possible for some drive, and that the inner rate is not above the outer one.
    fn check_limits(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<f64>, low: f64, high: f64, unit: &str| match value {
            Some(value) if !(low..=high).contains(&value) => {
                Err(format!("--{name} {value}: expected {low} to {high}{unit}"))
            }
            _ => Ok(()),
        };
        within("rpm", self.rpm, 1_000.0, 30_000.0, " revolutions a minute")?;
        within("outer", self.outer, 0.1, 2_000.0, " MB/s")?;
        within("inner", self.inner, 0.1, 2_000.0, " MB/s")?;
        within("seek", self.seek, 1.0, 200.0, " ms")?;
        within("heads", self.heads.map(f64::from), 1.0, 64.0, "")?;
        within("buffer", self.buffer_mib.map(f64::from), 1.0, 16_384.0, " MB")?;
        match (self.outer, self.inner) {
            (Some(outer), Some(inner)) if inner > outer => Err(format!(
                "--inner {inner} is more than --outer {outer}: the outer tracks are longer and pass as often; expected at most {outer}"
            )),
            _ => Ok(()),
        }
    }
}

/// The name of the built-in drive that is nearest to these figures, by weighted logarithms of ratios. The speed weighs most, because it is
/// a drive's class. `None` if no figure allows a comparison.
pub fn nearest_drive(datasheet: &Datasheet) -> Option<&'static str> {
    let Datasheet { capacity, rpm, outer, seek, .. } = *datasheet;
    if capacity.is_none() && [rpm, outer, seek] == [None; 3] {
        return None;
    }
    let far =
        |value: Option<f64>, other: f64, weight: f64| value.map_or(0.0, |value| weight * (value / other).ln().abs());
    let distance = |name: &str| {
        let drive = load_drive(name).ok()?;
        let profile = drive.profile().ok()?;
        let seek_ms = profile.mechanics.seek().mean_time().nanos() as f64 / 1e6;
        let bytes = drive.number(figure::GEOMETRY_SECTORS)? * SECTOR as f64;
        Some(
            far(capacity.map(|bytes| bytes as f64), bytes, 0.5)
                + far(rpm, drive.number(figure::MECHANICS_RPM)?, 3.0)
                + far(outer, SustainedRates::from_profile(&profile).outer_mb_s, 1.0)
                + far(seek, seek_ms, 1.0),
        )
    };
    let distances = names().filter_map(|name| Some((name, distance(name).filter(|distance| distance.is_finite())?)));
    let nearest = distances.min_by(|one, other| one.1.total_cmp(&other.1));
    nearest.map(|(name, _)| name)
}

/// The TOML text of a profile called `name` with the figures of `datasheet`, and otherwise like the built-in drive `base_name`. An error
/// says which figures contradict each other.
pub fn draft_profile(base_name: &str, datasheet: &Datasheet, name: &str) -> Result<String, String> {
    datasheet.check_limits()?;
    let drive = load_drive(base_name).map_err(|errors| errors[0].to_string())?;
    let profile = drive.profile().map_err(|errors| join_faults(&errors))?;
    let base = BaseDrive { name: base_name, drive: &drive, profile: &profile };
    // An arm that is slower than the base's comes too late for the base's skews and loses a revolution a track. Wider skews avoid that.
    let mut skew_factor = 1.0;
    let SketchDraft { text, drive, profile, .. } = loop {
        let draft = draft_at_skew(base, datasheet, name, skew_factor)?;
        match draft.loses_revolutions && skew_factor < WIDEST_SKEW {
            true => skew_factor *= SKEW_STEP,
            false => break draft,
        }
    };
    let track_kib = SketchLayout::outer_track_sectors(&drive) / SECTORS_PER_KIB;
    if let Some(mib) = datasheet.buffer_mib.filter(|&mib| f64::from(mib) * 1024.0 < track_kib) {
        let least = (track_kib / 1024.0).ceil();
        return Err(format!("--buffer {mib}: a track has {track_kib:.0} KiB; expected at least {least} MB"));
    }
    let missed = check_drive(&drive, &profile).into_iter().find(|check| !check.ok);
    let doubt = drive.warnings().into_iter().next();
    match (missed, doubt) {
        (Some(check), _) => Err(format!(
            "no drive like `{base_name}` has these figures: {} would be {:.2} {}, not {:.2}; try another with --like",
            check.what, check.found, check.unit, check.expected
        )),
        (None, Some(doubt)) => Err(format!(
            "these figures do not make a drive: {}; expected {}",
            doubt.message,
            doubt.expected.as_deref().unwrap_or("other figures, or another drive with --like")
        )),
        (None, None) => Ok(text),
    }
}

/// The built-in drive that a draft otherwise follows.
#[derive(Clone, Copy)]
struct BaseDrive<'a> {
    name: &'a str,
    drive: &'a DriveFile,
    profile: &'a Profile,
}

/// A profile at one width of its skews.
struct SketchDraft {
    text: String,
    drive: DriveFile,
    profile: Profile,
    /// True if a stream loses revolutions at changes of track.
    loses_revolutions: bool,
}

/// Drafts the profile with skews that take `skew_factor` times as long as the base's.
fn draft_at_skew(
    base: BaseDrive<'_>,
    datasheet: &Datasheet,
    name: &str,
    skew_factor: f64,
) -> Result<SketchDraft, String> {
    // Tracks are whole sectors and runs whole tracks, so the first layout is a little off its rates; the second corrects that.
    let target = SustainedRates::from_datasheet(base.drive, base.profile, datasheet);
    let first = Sketch::new(base, datasheet, &target, skew_factor)?;
    let (_, first_profile) = parse_profile(name, &first.into_toml(name)?)?;
    let corrected = target.corrected_for_miss(&first_profile, datasheet);
    let sketch = Sketch::new(base, datasheet, &corrected, skew_factor)?;
    let expected_mb_s = sketch.layout.outer_rate_mb_s();
    let text = sketch.into_toml(name)?;
    let (drive, profile) = parse_profile(name, &text)?;
    let reads_slowly = SustainedRates::from_profile(&profile).outer_mb_s < LEAST_RATE_SHARE * expected_mb_s;
    let writes_slowly = check_drive(&drive, &profile).iter().any(|check| check.what == WRITE_RATE && !check.ok);
    Ok(SketchDraft { text, drive, profile, loses_revolutions: reads_slowly || writes_slowly })
}

fn parse_profile(name: &str, text: &str) -> Result<(DriveFile, Profile), String> {
    let parsed = profile::parse(&format!("{name}.toml"), text);
    let built = parsed.and_then(|drive| drive.profile().map(|profile| (drive, profile)));
    built.map_err(|errors| join_faults(&errors))
}

fn join_faults(errors: &[seekwise_drives::diagnostic::Diagnostic]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// The buffer of a built-in drive.
struct BufferSibling {
    name: &'static str,
    kib: f64,
    segments: f64,
}

/// A profile in the making.
struct Sketch<'a> {
    base: BaseDrive<'a>,
    datasheet: &'a Datasheet,
    layout: SketchLayout,
    /// The duration of the skews, as a multiple of the base's.
    skew_factor: f64,
    /// The base's profile at first, then rewritten section by section.
    document: DocumentMut,
}

impl<'a> Sketch<'a> {
    fn new(
        base: BaseDrive<'a>,
        datasheet: &'a Datasheet,
        target: &SustainedRates,
        skew_factor: f64,
    ) -> Result<Sketch<'a>, String> {
        let text = find_text(base.name).unwrap_or_default();
        let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let layout = SketchLayout::from_datasheet(base.drive, datasheet, target, skew_factor)?;
        Ok(Sketch { base, datasheet, layout, skew_factor, document })
    }

    /// Rewrites the base's profile as that of the drive `name`, without the comments at its head.
    fn into_toml(mut self, name: &str) -> Result<String, String> {
        self.mark_base_figures_as_inferred();
        self.write_names(name);
        self.write_geometry();
        self.write_mechanics()?;
        self.write_link();
        self.write_buffer();
        self.write_checks();
        remove_uncited_sources(&mut self.document);
        let text = self.document.to_string();
        let text: Vec<&str> = text.lines().skip_while(|line| line.starts_with('#') || line.is_empty()).collect();
        Ok(text.join("\n") + "\n")
    }

    /// Marks all figures of the base as inferred, and removes those that belong to a single unit.
    fn mark_base_figures_as_inferred(&mut self) {
        let root = self.document.as_table_mut();
        ["year", "everyday", "faults"].iter().for_each(|key| drop(root.remove(key)));
        if let Some(table) = root.get_mut("geometry").and_then(Item::as_table_like_mut) {
            ["holes", "remaps"].iter().for_each(|key| drop(table.remove(key)));
        }
        for (_, item) in root.iter_mut().filter(|(key, _)| !["sources", "checks"].contains(&key.get())) {
            if let Some(table) = item.as_table_like_mut() {
                mark_figures_as_inferred(table, self.base.name);
            }
        }
    }

    fn write_names(&mut self, name: &str) {
        let gb = self.layout.sectors as f64 * 512.0 / 1e9;
        let size = if gb < 1000.0 { format!("{gb:.1} GB") } else { format!("{:.1} TB", gb / 1000.0) };
        let title = format!("A drive of {size}, {} rpm, otherwise like {}", self.layout.rpm, self.base.name);
        self.document["name"] = toml_edit::value(name);
        self.document["title"] = toml_edit::value(title);
        self.document["studies"] = toml_edit::value(toml_edit::Array::new());
    }

    /// Sets a figure with its origin `kind` and its source.
    fn set_figure(&mut self, key: &str, value: impl Into<Value>, kind: &str, source: &str) {
        let mut figure = InlineTable::new();
        figure.insert("value", value.into());
        figure.insert(kind, Value::from(source));
        replace_figure(self.document.as_table_mut(), key, Item::Value(Value::InlineTable(figure)));
    }

    /// Sets a figure as given on the command line.
    fn set_stated_figure(&mut self, key: &str, value: impl Into<Value>, option: &str) {
        self.set_figure(key, value, "datasheet", &format!("given to `seekwise init drive` as {option}"));
    }

    fn write_geometry(&mut self) {
        let (layout, datasheet) = (self.layout.clone(), *self.datasheet);
        let base = self.base.name;
        match datasheet.capacity {
            Some(bytes) => {
                self.set_stated_figure(figure::GEOMETRY_SECTORS, layout.sectors as i64, &format!("--capacity {bytes}"))
            }
            None => self.set_figure(figure::GEOMETRY_SECTORS, layout.sectors as i64, "inferred", &format!("as {base}")),
        }
        match datasheet.heads {
            Some(heads) => {
                self.set_stated_figure(figure::GEOMETRY_HEADS, i64::from(heads), &format!("--heads {heads}"))
            }
            None => self.set_figure(
                figure::GEOMETRY_HEADS,
                i64::from(layout.heads),
                "inferred",
                &layout.explain_heads(base),
            ),
        }
        let mut why = format!("{base}'s, the same time for the arm at this speed");
        if self.skew_factor > 1.0 {
            why += &format!("; {:.2} times as wide, so that its slower arm loses no revolution", self.skew_factor);
        }
        self.set_figure(figure::GEOMETRY_TRACK_SKEW, layout.track_skew, "inferred", &why);
        self.set_figure(figure::GEOMETRY_HEAD_SKEW, layout.head_skew, "inferred", &why);
        let mut zones = Table::new();
        zones.insert("inferred", toml_edit::value(layout.explain_zones(base)));
        zones.insert("value", Item::Value(Value::Array(layout.zone_rows())));
        replace_figure(self.document.as_table_mut(), figure::GEOMETRY_ZONES, Item::Table(zones));
    }

    fn write_mechanics(&mut self) -> Result<(), String> {
        if let Some(rpm) = self.datasheet.rpm {
            self.set_stated_figure(figure::MECHANICS_RPM, to_toml_number(rpm), &format!("--rpm {rpm}"));
        }
        let BaseDrive { name: base, profile, .. } = self.base;
        let ms = |span: Span| span.nanos() as f64 / 1e6;
        let seek = profile.mechanics.seek();
        let full_stroke = profile.geometry.cylinders().max(2) - 1;
        let base_ms = [seek.seek_time(1), seek.mean_time(), seek.seek_time(full_stroke)].map(ms);
        let base_average_ms = base_ms[1];
        let (switch, settle) = profile.mechanics.switch_and_settle();
        let average_ms = self.datasheet.seek.unwrap_or(base_average_ms);
        let least_ms = ms(switch).max(ms(settle));
        if average_ms <= least_ms {
            return Err(format!(
                "--seek {average_ms}: switching heads and settling take {least_ms} ms on `{base}`; expected an average above that, or a \
                 faster drive with --like"
            ));
        }
        // All three times are scaled by one factor, which keeps the shape of the curve.
        let [single_ms, _, full_ms] = base_ms.map(|ms| round_to_six_decimals(ms * average_ms / base_average_ms));
        let scaling = if self.datasheet.seek.is_some() { "scaled to the average" } else { "unchanged" };
        let table = self.document["mechanics"]["seek"].as_table_like_mut();
        table.into_iter().for_each(|table| ["points", "write_points"].iter().for_each(|key| drop(table.remove(key))));
        self.set_figure(
            figure::MECHANICS_SEEK_FORM,
            "sibling",
            "inferred",
            "the shape that nine measured curves have in common",
        );
        let source = |seek: &str| format!("{base}'s {seek} seek, {scaling}");
        self.set_figure(figure::MECHANICS_SEEK_SINGLE_MS, single_ms, "inferred", &source("single-track"));
        match self.datasheet.seek {
            Some(average_ms) => self.set_stated_figure(
                figure::MECHANICS_SEEK_AVERAGE_MS,
                to_toml_number(average_ms),
                &format!("--seek {average_ms}"),
            ),
            None => self.set_figure(
                figure::MECHANICS_SEEK_AVERAGE_MS,
                round_to_six_decimals(average_ms),
                "inferred",
                &source("average"),
            ),
        }
        self.set_figure(figure::MECHANICS_SEEK_FULL_MS, full_ms, "inferred", &source("full-stroke"));
        Ok(())
    }

    /// Sets a link that carries the medium's rate.
    fn write_link(&mut self) {
        let media_mb_s = self.layout.media_rate_mb_s();
        let link_mb_s = self.base.drive.number(figure::LINK_RATE_MB_S).unwrap_or(0.0);
        let fast_enough = LINKS.iter().find(|(rate, _)| *rate >= media_mb_s);
        if let Some((rate, why)) = fast_enough.filter(|_| link_mb_s < media_mb_s) {
            let table = self.document["link"].as_table_like_mut();
            table.into_iter().for_each(|table| drop(table.remove("write_rate_mb_s")));
            self.set_figure(
                figure::LINK_RATE_MB_S,
                to_toml_number(*rate),
                "inferred",
                &format!("{why}: what carries the outermost zone"),
            );
        }
    }

    /// Sets the buffer's size if it is stated or belongs to a slower medium, and segments and read-ahead that hold a track. A host as fast
    /// as the medium takes the rest of a shorter segment while the drive waits a revolution to read on.
    fn write_buffer(&mut self) {
        let (base, drive) = (self.base.name, self.base.drive);
        let number = |key: &str| drive.number(key).unwrap_or(0.0);
        let (base_kib, base_segments) = (number(figure::CACHE_SIZE_KIB), number(figure::CACHE_SEGMENTS));
        let base_track_kib = SketchLayout::outer_track_sectors(drive) / SECTORS_PER_KIB;
        let track_sectors = self.layout.longest_track_sectors();
        let track_kib = track_sectors as f64 / SECTORS_PER_KIB;
        let grows = track_kib > LEAST_GROWTH * base_track_kib;
        let needed_kib = if grows { track_kib } else { track_kib.min(base_kib / base_segments.max(1.0)) };
        let too_few = grows && base_kib < LEAST_SEGMENT_SHARE * base_segments * needed_kib;
        let sibling = too_few.then(|| self.nearest_by_rate()).flatten().filter(|sibling| sibling.kib > base_kib);
        let (kib, segments, of) = match (self.datasheet.buffer_mib, &sibling) {
            (Some(mib), _) => {
                self.set_stated_figure(figure::CACHE_SIZE_KIB, i64::from(mib) * 1024, &format!("--buffer {mib}"));
                (f64::from(mib) * 1024.0, base_segments, base)
            }
            (None, Some(BufferSibling { name, kib, segments })) => {
                let why = format!(
                    "as {name}, whose medium is the nearest in rate; {base}'s {base_kib} KiB hold too few tracks"
                );
                self.set_figure(figure::CACHE_SIZE_KIB, *kib as i64, "inferred", &why);
                let table = self.document["cache"].as_table_like_mut();
                table.into_iter().for_each(|table| drop(table.remove("max_segments")));
                (*kib, *segments, *name)
            }
            (None, None) => (base_kib, base_segments, base),
        };
        // A segment of the base's own length must not lose one to rounding.
        let held = (kib / needed_kib + 1e-6).floor().clamp(1.0, segments.max(1.0));
        if base_segments > 0.0 && held != base_segments {
            let why = match held < segments {
                true => format!("as many as hold a track of {track_kib:.0} KiB each; {segments} on {of}"),
                false => format!("as {of}"),
            };
            self.set_figure(figure::CACHE_SEGMENTS, held as i64, "inferred", &why);
        }
        let read_ahead = number(figure::CACHE_READ_AHEAD_MAX_SECTORS);
        if grows && (1.0..track_sectors as f64).contains(&read_ahead) {
            let why =
                format!("a track at the outer edge, so that a stream keeps the medium's rate; {read_ahead} on {base}");
            self.set_figure(figure::CACHE_READ_AHEAD_MAX_SECTORS, track_sectors as i64, "inferred", &why);
        }
    }

    /// The buffer of the built-in drive whose medium is the nearest in rate to this one.
    fn nearest_by_rate(&self) -> Option<BufferSibling> {
        let outer = Some(self.layout.outer_rate_mb_s());
        let name = nearest_drive(&Datasheet { outer, ..Datasheet::default() })?;
        let drive = load_drive(name).ok()?;
        let (kib, segments) = (drive.number(figure::CACHE_SIZE_KIB)?, drive.number(figure::CACHE_SEGMENTS)?);
        Some(BufferSibling { name, kib, segments })
    }

    /// Replaces the base's checks by those that the datasheet allows.
    fn write_checks(&mut self) {
        self.document.as_table_mut().insert("checks", Item::Table(Table::new()));
        let datasheet = *self.datasheet;
        let latency_ms = round_to_six_decimals(30_000.0 / self.layout.rpm);
        self.set_figure(
            figure::CHECKS_LATENCY_MS,
            latency_ms,
            "inferred",
            "half of 60,000 ms by the revolutions a minute",
        );
        let stated = [
            (figure::CHECKS_OUTER_MB_S, "outer", datasheet.outer),
            (figure::CHECKS_INNER_MB_S, "inner", datasheet.inner),
            (figure::CHECKS_AVERAGE_SEEK_MS, "seek", datasheet.seek),
        ];
        for (key, option, value) in stated {
            if let Some(value) = value {
                self.set_stated_figure(key, to_toml_number(value), &format!("--{option} {value}"));
            }
        }
    }
}

/// Marks each figure of a section as inferred from the base, with the origin and source that the base's profile gives.
fn mark_figures_as_inferred(table: &mut dyn TableLike, base_name: &str) {
    if table.contains_key("value") {
        let origin = ORIGINS.iter().find_map(|kind| Some((*kind, table.remove(kind)?.as_str()?.to_owned())));
        ["interval", "misses"].iter().for_each(|key| drop(table.remove(key)));
        if let Some((kind, source)) = origin {
            table.insert("inferred", toml_edit::value(format!("as {base_name} ({kind}: {source})")));
        }
        return;
    }
    for (_, item) in table.iter_mut() {
        if let Some(inner) = item.as_table_like_mut() {
            mark_figures_as_inferred(inner, base_name);
        }
    }
    // A section may state its origin for all of its figures.
    for kind in ORIGINS {
        if let Some(source) = table.get(kind).and_then(Item::as_str).map(str::to_owned) {
            table.remove(kind);
            table.insert("inferred", toml_edit::value(format!("as {base_name} ({kind}: {source})")));
        }
    }
}

fn round_to_six_decimals(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A number as TOML: an integer if it is whole.
fn to_toml_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { Value::from(number as i64) } else { Value::from(number) }
}

#[cfg(test)]
mod tests {
    use seekwise_disk::stack::Stack;

    use super::*;
    use crate::inputs::Inputs;
    use crate::jobs::load_job;
    use crate::run::measure_run;

    /// Capacity in GB, rpm, outer and inner MB/s, average seek ms: as in datasheets and measurements of the time.
    const DRIVES: [(&str, f64, f64, f64, f64, f64); 20] = [
        ("ST15150N, 1995", 4.29, 7200.0, 8.0, 5.0, 8.0),
        ("ST51270A, 1996", 1.28, 5400.0, 6.3, 3.3, 10.5),
        ("ST34501N, 1997", 4.55, 10_033.0, 15.0, 10.2, 7.7),
        ("ST39140A, 1998", 9.1, 7200.0, 14.5, 8.5, 9.5),
        ("SV0432D, 1998", 4.3, 5400.0, 15.5, 9.0, 9.0),
        ("Atlas 10K, 1999", 9.1, 10_025.0, 25.0, 17.0, 5.0),
        ("Fireball AS, 2000", 30.0, 7200.0, 37.0, 20.0, 8.5),
        ("146Z10, 2001", 146.0, 10_000.0, 66.0, 34.0, 4.7),
        ("180GXP, 2002", 180.0, 7200.0, 56.0, 29.0, 8.5),
        ("WD740GD, 2003", 74.3, 10_000.0, 72.0, 54.0, 4.5),
        ("15K.4, 2004", 146.0, 15_000.0, 96.0, 58.0, 3.5),
        ("MK8034GSX, 2005", 80.0, 5400.0, 34.0, 16.0, 12.0),
        ("7K500, 2006", 500.0, 7200.0, 64.8, 31.0, 8.5),
        ("F1, 2007", 1000.0, 7200.0, 118.0, 60.0, 8.9),
        ("15K.7, 2009", 450.0, 15_000.0, 204.0, 122.0, 3.4),
        ("DT01ACA300, 2012", 3000.0, 7200.0, 201.0, 90.0, 8.5),
        ("HC310, 2016", 6000.0, 7200.0, 237.0, 115.0, 7.4),
        ("X18, 2020", 18_000.0, 7200.0, 270.0, 125.0, 7.55),
        ("HC570, 2022", 22_000.0, 7200.0, 291.0, 140.0, 7.4),
        ("X24, 2024", 24_000.0, 7200.0, 285.0, 130.0, 7.5),
    ];

    fn sheet(gb: f64, rpm: f64, outer: f64, inner: f64, seek: f64) -> Datasheet {
        let capacity = Some((gb * 1e9) as u64);
        Datasheet {
            capacity,
            rpm: Some(rpm),
            outer: Some(outer),
            inner: Some(inner),
            seek: Some(seek),
            ..Datasheet::default()
        }
    }

    /// The expected results are calculated from the profile's text alone: sectors of the zones, rates of the first and
    /// last track.
    #[test]
    fn drives_of_thirty_years_meet_their_datasheets() {
        for (name, gb, rpm, outer, inner, seek) in DRIVES {
            let given = sheet(gb, rpm, outer, inner, seek);
            let like = nearest_drive(&given).unwrap();
            let text = draft_profile(like, &given, "mine").unwrap_or_else(|why| panic!("{name}: {why}"));
            let table: toml::Table = text.parse().unwrap();
            let figure = |section: &str, key: &str| table[section][key]["value"].clone();
            let number = |section: &str, key: &str| {
                let value = figure(section, key);
                value.as_float().or(value.as_integer().map(|whole| whole as f64)).unwrap()
            };
            let zones = figure("geometry", "zones");
            let zones: Vec<[f64; 2]> = zones
                .as_array()
                .unwrap()
                .iter()
                .map(|row| ["cylinders", "spt"].map(|key| row[key].as_integer().unwrap() as f64))
                .collect();
            let heads = number("geometry", "heads");
            let held = zones.iter().map(|[cylinders, spt]| cylinders * spt * heads * 512.0).sum::<f64>();
            assert!((1.0..1.02).contains(&(held / (gb * 1e9))), "{name}: {held} of {gb} GB");
            assert!((number("geometry", "sectors") * 512.0 - gb * 1e9).abs() < 4096.0, "{name}");
            // Between a whole revolution and one with either skew a track.
            let skews = [number("geometry", "track_skew"), number("geometry", "head_skew")];
            for (wanted, [_, spt]) in [(outer, zones[0]), (inner, zones[zones.len() - 1])] {
                let rate = |skew: f64| spt * 512.0 * rpm / 60.0 / 1e6 / (1.0 + skew);
                let (low, high) = (rate(skews[0].max(skews[1])), rate(skews[0].min(skews[1])));
                assert!((low * 0.98..high * 1.02).contains(&wanted), "{name}: {wanted} MB/s, not {low} to {high}");
            }
            let (drive, profile) = parse_profile("mine", &text).unwrap();
            let mean = profile.mechanics.seek().mean_time().nanos() as f64 / 1e6;
            assert!((mean / seek - 1.0).abs() < 0.01, "{name}: {mean} ms");
            assert!(check_drive(&drive, &profile).iter().all(|check| check.ok), "{name}");
            // Given figures are marked as the datasheet's; all others are inferred.
            let stated: Vec<&str> = drive
                .figures()
                .filter(|figure| figure.kind == seekwise_drives::figure::FigureOrigin::Datasheet)
                .map(|figure| figure.key)
                .collect();
            assert_eq!(
                stated,
                [
                    "geometry.sectors",
                    "mechanics.rpm",
                    "mechanics.seek.average_ms",
                    "checks.average_seek_ms",
                    "checks.outer_mb_s",
                    "checks.inner_mb_s"
                ],
                "{name}"
            );
            println!("{name:18} {like:26} {heads} heads, skews {skews:?}");
        }
    }

    /// MB/s of a stream of 64 KiB reads in the outermost zone, one outstanding.
    fn stream_mb_s(profile: &Profile) -> f64 {
        let job = "[s]\nrw=read\nbs=64k\niodepth=1\nsize=2g\nruntime=2\nramp_time=1\ntime_based\nfilename=/dev/sdb\ndirect=1\n";
        let read_job = |_: &str| Ok(job.to_owned());
        let loaded = load_job("s.fio", profile.geometry.sectors(), &Inputs::from_today(&read_job), &[]).unwrap();
        let run = measure_run(&Stack::bare(profile.clone()).into(), &loaded.job, 1, |_| {}).unwrap().run;
        run.reads_and_writes().iops() * f64::from(64 << 10) / 1e6
    }

    /// A fast medium, drafted after each built-in drive: old ones have buffers whose segments are shorter than its tracks.
    #[test]
    fn a_stream_has_the_rate_of_a_medium_that_is_faster_than_the_bases() {
        for like in names() {
            let given = Datasheet { outer: Some(262.0), ..Datasheet::default() };
            let text = draft_profile(like, &given, "mine").unwrap_or_else(|why| panic!("{like}: {why}"));
            let (mut drive, profile) = parse_profile("mine", &text).unwrap();
            let found = stream_mb_s(&profile);
            println!("{like:26} {found:.1} MB/s");
            assert!(found >= 0.97 * 262.0, "{like}: {found} MB/s");
            // With the base's own buffer the stream of this drive starves.
            if like == "cheetah-15k.4" {
                [("cache.size_kib", "7077"), ("cache.segments", "32")]
                    .iter()
                    .for_each(|(key, value)| drive.set(key, value).unwrap());
                let starved = stream_mb_s(&drive.profile().unwrap());
                assert!(starved < 0.6 * 262.0, "{starved} MB/s");
            }
        }
    }

    #[test]
    fn a_buffer_is_the_datasheets_or_that_of_a_drive_as_fast() {
        let figures = |like: &str, given: Datasheet| {
            let (drive, _) = parse_profile("mine", &draft_profile(like, &given, "mine").unwrap()).unwrap();
            let figure = |key: &str| {
                let figure = drive.figure(key).unwrap();
                (drive.number(key).unwrap(), figure.source.clone())
            };
            (figure(figure::CACHE_SIZE_KIB), figure(figure::CACHE_SEGMENTS))
        };
        let fast = Datasheet { outer: Some(262.0), ..Datasheet::default() };
        let ((kib, source), _) = figures("cheetah-15k.4", fast);
        assert_eq!(kib, 245_760.0);
        assert!(source.starts_with("as exos-x18, whose medium is the nearest in rate"), "{source}");
        let ((kib, source), (segments, why)) = figures("cheetah-15k.4", Datasheet { buffer_mib: Some(16), ..fast });
        assert_eq!((kib, source.as_str()), (16_384.0, "given to `seekwise init drive` as --buffer 16"));
        assert!(segments < 13.0 && why.contains("as many as hold a track"), "{segments}: {why}");
        let refused = draft_profile("cheetah-15k.4", &Datasheet { buffer_mib: Some(1), ..fast }, "mine").unwrap_err();
        assert!(refused.starts_with("--buffer 1: a track has "), "{refused}");
        // A medium no faster than the base's keeps the base's buffer.
        let ((kib, _), (segments, why)) =
            figures("cheetah-15k.4", Datasheet { seek: Some(3.6), ..Datasheet::default() });
        assert_eq!((kib, segments), (7_077.0, 32.0), "{why}");
    }

    /// With each kind of layout and curve that there is.
    #[test]
    fn a_drive_takes_any_figure_by_itself() {
        for like in ["caviar-wd400jb", "raptor-wd740gd", "cheetah-15k.4", "atlas-10k-v-300", "exos-x18"] {
            let base = load_drive(like).unwrap();
            let profile = base.profile().unwrap();
            let were = SustainedRates::from_profile(&profile);
            let number = |key: &str| base.number(key).unwrap();
            let seek = profile.mechanics.seek().mean_time().nanos() as f64 / 1e6;
            let none = Datasheet::default();
            let each = [
                Datasheet { seek: Some(round_to_six_decimals(seek * 1.2)), ..none },
                Datasheet { outer: Some(round_to_six_decimals(were.outer_mb_s * 0.9)), ..none },
                Datasheet { rpm: Some(number("mechanics.rpm") * 0.8), ..none },
                Datasheet { capacity: Some((number("geometry.sectors") * 700.0) as u64), ..none },
            ];
            for given in each {
                let text = draft_profile(like, &given, "mine");
                assert!(text.is_ok(), "{like}: {given:?}: {text:?}");
            }
        }
    }

    #[test]
    fn figures_that_make_no_drive_are_refused_with_the_reason() {
        let right = sheet(8000.0, 5640.0, 185.0, 90.0, 8.5);
        assert!(draft_profile("wd140edfz", &right, "mine").is_ok());
        let wrong: [(Datasheet, &str); 9] = [
            (Datasheet { inner: Some(190.0), ..right }, "--inner 190 is more than --outer 185"),
            (Datasheet { rpm: Some(0.0), ..right }, "--rpm 0: expected 1000 to 30000"),
            (Datasheet { rpm: Some(f64::NAN), ..right }, "--rpm NaN: expected"),
            (Datasheet { outer: Some(f64::INFINITY), ..right }, "--outer inf: expected"),
            (Datasheet { seek: Some(0.0), ..right }, "--seek 0: expected 1 to 200 ms"),
            (Datasheet { capacity: Some(8_000_000_000_000_000_000), ..right }, "expected 1 MB to 144 PB"),
            (Datasheet { capacity: Some(100_000_000_000_000_000), ..right }, "surfaces; expected 1 to 64"),
            (Datasheet { capacity: Some(2_000_000), ..right }, "with 64 cylinders or more"),
            (Datasheet { heads: Some(1), ..right }, "denser than any drive"),
        ];
        for (given, says) in wrong {
            let why = draft_profile("wd140edfz", &given, "mine").unwrap_err();
            assert!(why.contains(says), "{why}");
        }
        let slow = draft_profile("caviar-wd400jb", &Datasheet { seek: Some(1.5), ..Datasheet::default() }, "mine")
            .unwrap_err();
        assert!(slow.contains("--seek 1.5: switching heads and settling take 2 ms"), "{slow}");
    }
}
