//! A drive's profile from a few figures of its datasheet: capacity, speed, rates, average seek. All other figures are
//! taken from a built-in drive, or scaled from it, and marked as inferred with the reasoning. The layout is made so
//! that it holds the capacity at these rates; a profile that would not meet its own figures is refused.
//!
//! Not here: the profile of a real unit, which `fit` finds from measurements.

mod layout;

use seekwise_disk::block::SECTOR;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::time::Span;
use seekwise_drives::key_names::figure;
use seekwise_drives::profile::{self, DriveFile};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use self::layout::{SketchLayout, SustainedRates};
use super::check::{WRITES, check_drive};
use super::{find_text, load_drive, names};
use crate::rewriting::{drop_uncited, put_figure};

/// The words for the origin of a profile's figure.
const ORIGINS: [&str; 4] = ["measured", "datasheet", "inferred", "fitted"];

/// The real rates of link generations: MB/s, and the source. Below the last, streams wait for the link.
const LINKS: [(f64, &str); 4] = [
    (132.4, "SATA 1.5 Gb/s: 150 MB/s less about 12 % for frames"),
    (275.0, "SATA 3 Gb/s: 300 MB/s less about 8 % for frames"),
    (550.0, "SATA 6 Gb/s: 600 MB/s less about 8 % for frames"),
    (1100.0, "SAS 12 Gb/s: 1200 MB/s less about 8 % for frames"),
];

/// The factor by which skews widen at a time, and how wide they may become.
const WIDER: f64 = 1.1;
const WIDEST: f64 = 20.0;
/// Below this share of the rate by sectors and skews, revolutions are lost: one in fifty tracks.
const LATE: f64 = 0.98;

/// The known figures of a drive; `None` for unknown ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Datasheet {
    /// In bytes.
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
}

impl Datasheet {
    /// True if nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Datasheet::default()
    }

    /// Checks for impossible figures, whatever the drive is like.
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
        match (self.outer, self.inner) {
            (Some(outer), Some(inner)) if inner > outer => Err(format!(
                "--inner {inner} is more than --outer {outer}: the outer tracks are longer and pass as often; expected at most {outer}"
            )),
            _ => Ok(()),
        }
    }
}

/// The built-in drive that is nearest to these figures, by ratios; the speed counts three times, because it is a
/// drive's class. `None` if no figure allows a comparison.
pub fn nearest_drive(given: &Datasheet) -> Option<&'static str> {
    if given.capacity.is_none() && [given.rpm, given.outer, given.seek] == [None; 3] {
        return None;
    }
    let far = |value: Option<f64>, other: f64, weight: f64| value.map_or(0.0, |it| weight * (it / other).ln().abs());
    let distance = |name: &str| {
        let drive = load_drive(name).ok()?;
        let profile = drive.profile().ok()?;
        let seek = profile.mechanics.seek().mean_time().nanos() as f64 / 1e6;
        let bytes = drive.number(figure::GEOMETRY_SECTORS)? * SECTOR as f64;
        Some(
            far(given.capacity.map(|bytes| bytes as f64), bytes, 0.5)
                + far(given.rpm, drive.number(figure::MECHANICS_RPM)?, 3.0)
                + far(given.outer, SustainedRates::from_profile(&profile).outer, 1.0)
                + far(given.seek, seek, 1.0),
        )
    };
    let distances = names().filter_map(|name| Some((name, distance(name).filter(|it| it.is_finite())?)));
    let nearest = distances.min_by(|one, other| one.1.total_cmp(&other.1));
    nearest.map(|it| it.0)
}

/// The profile of a drive called `name` with the figures `given`, and otherwise like the built-in drive `like`. An
/// error says which figures contradict each other.
pub fn draft_profile(like: &str, given: &Datasheet, name: &str) -> Result<String, String> {
    given.check_limits()?;
    let base = load_drive(like).map_err(|errors| errors[0].to_string())?;
    let base_profile = base.profile().map_err(|errors| join_faults(&errors))?;
    // If the arm is slower than that of the other drive, it comes too late for its skews and loses a revolution a track. Wider skews avoid
    // that.
    let mut skew = 1.0;
    let (text, drive, profile) = loop {
        let (text, drive, profile, loses) = draft_at_skew(like, (&base, &base_profile), given, name, skew)?;
        match loses && skew < WIDEST {
            true => skew *= WIDER,
            false => break (text, drive, profile),
        }
    };
    let missed = check_drive(&drive, &profile).into_iter().find(|check| !check.ok);
    let doubt = drive.warnings().into_iter().next();
    match (missed, doubt) {
        (Some(check), _) => Err(format!(
            "no drive like `{like}` has these figures: {} would be {:.2} {}, not {:.2}; try another with --like",
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

/// The profile with skews this many times as wide as the other drive's, and whether it loses revolutions between
/// tracks.
fn draft_at_skew(
    like: &str,
    base: (&DriveFile, &Profile),
    given: &Datasheet,
    name: &str,
    skew: f64,
) -> Result<(String, DriveFile, Profile, bool), String> {
    // Tracks are whole sectors and runs whole tracks, so the first layout is a little off its rates; the second
    // corrects that.
    let first = SustainedRates::from_datasheet(base.0, base.1, given);
    let (_, made) = parse_profile(name, &Sketch::new(like, base, given, &first, skew)?.into_toml(name)?)?;
    let sketch = Sketch::new(like, base, given, &first.correct_for(&made, given), skew)?;
    let expected = sketch.layout.outer_rate_mb_s();
    let text = sketch.into_toml(name)?;
    let (drive, profile) = parse_profile(name, &text)?;
    let late = SustainedRates::from_profile(&profile).outer < LATE * expected;
    let lost = check_drive(&drive, &profile).iter().any(|check| check.what == WRITES && !check.ok);
    Ok((text, drive, profile, late || lost))
}

fn parse_profile(name: &str, text: &str) -> Result<(DriveFile, Profile), String> {
    let parsed = profile::parse(&format!("{name}.toml"), text);
    let built = parsed.and_then(|drive| drive.profile().map(|profile| (drive, profile)));
    built.map_err(|errors| join_faults(&errors))
}

fn join_faults(errors: &[seekwise_drives::diagnostic::Diagnostic]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// A profile in the making.
struct Sketch<'a> {
    like: &'a str,
    base: &'a DriveFile,
    base_profile: &'a Profile,
    given: &'a Datasheet,
    layout: SketchLayout,
    /// The width of its skews in time, as a multiple of the other drive's.
    skew: f64,
    document: DocumentMut,
}

impl<'a> Sketch<'a> {
    fn new(
        like: &'a str,
        (base, base_profile): (&'a DriveFile, &'a Profile),
        given: &'a Datasheet,
        aim: &SustainedRates,
        skew: f64,
    ) -> Result<Sketch<'a>, String> {
        let document: DocumentMut =
            find_text(like).unwrap_or_default().parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
        let layout = SketchLayout::from_datasheet(base, given, aim, skew)?;
        Ok(Sketch { like, base, base_profile, given, layout, skew, document })
    }

    /// The whole profile as text.
    fn into_toml(mut self, name: &str) -> Result<String, String> {
        self.infer_base_figures();
        self.write_header(name);
        self.write_geometry();
        self.write_mechanics()?;
        self.write_link_and_buffer();
        self.write_checks();
        drop_uncited(&mut self.document);
        let text = self.document.to_string();
        let text: Vec<&str> = text.lines().skip_while(|line| line.starts_with('#') || line.is_empty()).collect();
        Ok(text.join("\n") + "\n")
    }

    /// Marks all figures of the other drive as inferred, and leaves out what belongs to a single unit.
    fn infer_base_figures(&mut self) {
        let like = self.like;
        let root = self.document.as_table_mut();
        ["year", "everyday", "faults"].iter().for_each(|key| drop(root.remove(key)));
        if let Some(table) = root.get_mut("geometry").and_then(Item::as_table_like_mut) {
            ["holes", "remaps"].iter().for_each(|key| drop(table.remove(key)));
        }
        for (_, item) in root.iter_mut().filter(|(key, _)| !["sources", "checks"].contains(&key.get())) {
            if let Some(table) = item.as_table_like_mut() {
                infer_figures(table, like);
            }
        }
    }

    fn write_header(&mut self, name: &str) {
        let gb = self.layout.sectors as f64 * 512.0 / 1e9;
        let size = if gb < 1000.0 { format!("{gb:.1} GB") } else { format!("{:.1} TB", gb / 1000.0) };
        let title = format!("A drive of {size}, {} rpm, otherwise like {}", self.layout.rpm, self.like);
        self.document["name"] = toml_edit::value(name);
        self.document["title"] = toml_edit::value(title);
        self.document["studies"] = toml_edit::value(toml_edit::Array::new());
    }

    fn set_figure(&mut self, key: &str, value: impl Into<Value>, kind: &str, source: &str) {
        let mut figure = InlineTable::new();
        figure.insert("value", value.into());
        figure.insert(kind, Value::from(source));
        put_figure(self.document.as_table_mut(), key, Item::Value(Value::InlineTable(figure)));
    }

    /// Sets a figure as given on the command line.
    fn set_stated_figure(&mut self, key: &str, value: impl Into<Value>, option: &str) {
        self.set_figure(key, value, "datasheet", &format!("given to `seekwise init drive` as {option}"));
    }

    fn write_geometry(&mut self) {
        let (layout, given) = (self.layout.clone(), *self.given);
        match given.capacity {
            Some(bytes) => {
                self.set_stated_figure(figure::GEOMETRY_SECTORS, layout.sectors as i64, &format!("--capacity {bytes}"))
            }
            None => self.set_figure(
                figure::GEOMETRY_SECTORS,
                layout.sectors as i64,
                "inferred",
                &format!("as {}", self.like),
            ),
        }
        match given.heads {
            Some(heads) => {
                self.set_stated_figure(figure::GEOMETRY_HEADS, i64::from(heads), &format!("--heads {heads}"))
            }
            None => self.set_figure(
                figure::GEOMETRY_HEADS,
                i64::from(layout.heads),
                "inferred",
                &layout.explain_heads(self.like),
            ),
        }
        let mut why = format!("{}'s, the same time for the arm at this speed", self.like);
        if self.skew > 1.0 {
            why += &format!("; {:.2} times as wide, so that its slower arm loses no revolution", self.skew);
        }
        self.set_figure(figure::GEOMETRY_TRACK_SKEW, layout.skews.0, "inferred", &why);
        self.set_figure(figure::GEOMETRY_HEAD_SKEW, layout.skews.1, "inferred", &why);
        let mut zones = Table::new();
        zones.insert("inferred", toml_edit::value(layout.explain_zones(self.like)));
        zones.insert("value", Item::Value(Value::Array(layout.zone_rows())));
        put_figure(self.document.as_table_mut(), figure::GEOMETRY_ZONES, Item::Table(zones));
    }

    fn write_mechanics(&mut self) -> Result<(), String> {
        if let Some(rpm) = self.given.rpm {
            self.set_stated_figure(figure::MECHANICS_RPM, shortest_number(rpm), &format!("--rpm {rpm}"));
        }
        let profile = self.base_profile;
        let ms = |span: Span| span.nanos() as f64 / 1e6;
        let seek = profile.mechanics.seek();
        let was =
            [seek.seek_time(1), seek.mean_time(), seek.seek_time(profile.geometry.cylinders().max(2) - 1)].map(ms);
        let (switch, settle) = profile.mechanics.switch_and_settle();
        let average = self.given.seek.unwrap_or(was[1]);
        let least = ms(switch).max(ms(settle));
        if average <= least {
            return Err(format!(
                "--seek {average}: switching heads and settling take {least} ms on `{}`; expected an average above that, or a faster \
                 drive with --like",
                self.like
            ));
        }
        // All three times are scaled by one factor, which keeps the shape.
        let [single, _, full] = was.map(|time| round_six_digits(time * average / was[1]));
        let (like, all) = (self.like, if self.given.seek.is_some() { "scaled to the average" } else { "unchanged" });
        let table = self.document["mechanics"]["seek"].as_table_like_mut();
        table.into_iter().for_each(|table| ["points", "write_points"].iter().for_each(|key| drop(table.remove(key))));
        self.set_figure(
            figure::MECHANICS_SEEK_FORM,
            "sibling",
            "inferred",
            "the shape that nine measured curves have in common",
        );
        let times = |what: &str| format!("{like}'s {what} seek, {all}");
        self.set_figure(figure::MECHANICS_SEEK_SINGLE_MS, single, "inferred", &times("single-track"));
        match self.given.seek {
            Some(average) => self.set_stated_figure(
                figure::MECHANICS_SEEK_AVERAGE_MS,
                shortest_number(average),
                &format!("--seek {average}"),
            ),
            None => self.set_figure(
                figure::MECHANICS_SEEK_AVERAGE_MS,
                round_six_digits(average),
                "inferred",
                &times("average"),
            ),
        }
        self.set_figure(figure::MECHANICS_SEEK_FULL_MS, full, "inferred", &times("full-stroke"));
        Ok(())
    }

    /// Sets a link that carries the medium's rate, and segments that hold a track if the other drive's do.
    fn write_link_and_buffer(&mut self) {
        let under_heads = self.layout.media_rate_mb_s();
        let number = |key: &str| self.base.number(key).unwrap_or(0.0);
        let (link, kib, segments) =
            (number(figure::LINK_RATE_MB_S), number(figure::CACHE_SIZE_KIB), number(figure::CACHE_SEGMENTS));
        let carries = LINKS.iter().find(|(rate, _)| *rate >= under_heads);
        if let Some((rate, why)) = carries.filter(|_| link < under_heads) {
            let table = self.document["link"].as_table_like_mut();
            table.into_iter().for_each(|table| drop(table.remove("write_rate_mb_s")));
            self.set_figure(
                figure::LINK_RATE_MB_S,
                shortest_number(*rate),
                "inferred",
                &format!("{why}: what carries the outermost zone"),
            );
        }
        let (track, was) =
            (self.layout.longest_track_sectors() as f64 / 2.0, SketchLayout::outer_track_sectors(self.base) / 2.0);
        let most = (kib / track).floor().max(1.0);
        if segments > most && kib / segments >= was {
            let why = format!("as many as hold a track of {track:.0} KiB each; {segments} on {}", self.like);
            self.set_figure(figure::CACHE_SEGMENTS, most as i64, "inferred", &why);
        }
    }

    /// Sets the profile's checks: what was given, and nothing of the other drive.
    fn write_checks(&mut self) {
        self.document.as_table_mut().insert("checks", Item::Table(Table::new()));
        let given = *self.given;
        let latency = round_six_digits(30_000.0 / self.layout.rpm);
        self.set_figure(
            figure::CHECKS_LATENCY_MS,
            latency,
            "inferred",
            "half of 60,000 ms by the revolutions a minute",
        );
        let stated = [
            (figure::CHECKS_OUTER_MB_S, "outer", given.outer),
            (figure::CHECKS_INNER_MB_S, "inner", given.inner),
            (figure::CHECKS_AVERAGE_SEEK_MS, "seek", given.seek),
        ];
        for (key, option, value) in stated {
            if let Some(value) = value {
                self.set_stated_figure(key, shortest_number(value), &format!("--{option} {value}"));
            }
        }
    }
}

/// Marks each figure of a section as inferred, with what the other drive's profile says of it.
fn infer_figures(table: &mut dyn TableLike, like: &str) {
    if table.contains_key("value") {
        let said = ORIGINS.iter().find_map(|kind| Some((*kind, table.remove(kind)?.as_str()?.to_owned())));
        ["interval", "misses"].iter().for_each(|key| drop(table.remove(key)));
        if let Some((kind, source)) = said {
            table.insert("inferred", toml_edit::value(format!("as {like} ({kind}: {source})")));
        }
        return;
    }
    for (_, item) in table.iter_mut() {
        if let Some(inner) = item.as_table_like_mut() {
            infer_figures(inner, like);
        }
    }
    // A section may state its origin for all of its figures.
    for kind in ORIGINS {
        if let Some(source) = table.get(kind).and_then(Item::as_str).map(str::to_owned) {
            table.remove(kind);
            table.insert("inferred", toml_edit::value(format!("as {like} ({kind}: {source})")));
        }
    }
}

/// Rounds to six digits after the point.
fn round_six_digits(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// A number in its shortest form.
fn shortest_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 1e15 { Value::from(number as i64) } else { Value::from(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        Datasheet { capacity, rpm: Some(rpm), outer: Some(outer), inner: Some(inner), seek: Some(seek), heads: None }
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
            // What was given is the datasheet's; all else is inferred.
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
                Datasheet { seek: Some(round_six_digits(seek * 1.2)), ..none },
                Datasheet { outer: Some(round_six_digits(were.outer * 0.9)), ..none },
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
