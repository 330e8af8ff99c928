//! Warns of implausible combinations of figures, which no real drive has, at the line of the figure. Impossible combinations
//! (zones that hold less than the drive offers, zones that overlap) are errors in `build`. Figures that were measured or fitted,
//! or set for a run, are not checked.
//!
//! | rule | bound | source of the bound |
//! |---|---|---|
//! | zones hold what the drive offers, its holes and media cache left out | [`SPARE`] more | the built-in drives and those of `validation` hold at most 0.5 % more; spares are of that order |
//! | the link carries the outermost zone | as fast | a slower link limits every stream |
//! | sectors per track fall towards the spindle, to a third at least | `MOST_OUTER_TO_INNER` | 1.0 to 2.2 on all drives here; the inner radius is a third of the outer one at least |
//! | a full stroke takes some averages | `FULL_STROKE_AVERAGES` | 1.6 to 2.4 averages on all drives here |
//! | spindle speed | `SPEED_RPM` | 3,600 to 15,000 of drives that were sold, 2,400 of the slowest |
//! | density | `MOST_CYLINDERS`, `MOST_SECTORS_PER_TRACK` | the drives of 22 TB here reach about half of both |
//! | patience needs `sptf` | | no other policy has positioning times to weigh |
//! | a segment holds a fair part of a track | `LEAST_SEGMENT_TRACKS` | 0.4 tracks at least on all drives here |

use std::ops::RangeInclusive;

use super::drive_file::DriveFile;
use crate::diagnostic::Diagnostic;
use crate::figure::{Figure, FigureOrigin, FigureValue, RunRow, ZoneRow};

/// Largest surplus of the zones over the drive's capacity, as a share of the capacity.
pub const SPARE: f64 = 0.02;
/// Largest ratio of the sectors of the outermost track to those of the innermost.
const MOST_OUTER_TO_INNER: f64 = 3.5;
/// Ratio of full-stroke to average seek.
const FULL_STROKE_AVERAGES: RangeInclusive<f64> = 1.2..=3.5;
const SPEED_RPM: RangeInclusive<f64> = 2_000.0..=20_000.0;
const MOST_CYLINDERS: u64 = 1_000_000;
const MOST_SECTORS_PER_TRACK: u64 = 12_000;
/// Least size of a segment, as a share of the outermost track.
const LEAST_SEGMENT_TRACKS: f64 = 0.05;

/// The sectors that the drive could offer: those of all zones without holes and media cache. `None` without zones.
pub fn usable_zone_sectors(drive: &DriveFile) -> Option<u64> {
    let heads = drive.number("geometry.heads")? as u64;
    let all = zone_rows(drive)?.iter().try_fold(0u64, |sum, row| sum.checked_add(row_sectors(row, heads)?))?;
    let holes = match drive.figure("geometry.holes").map(|figure| &figure.value) {
        Some(FigureValue::Holes(rows)) => {
            let slots = |&[_, slots, _, repetitions]: &[u64; 4]| slots.saturating_mul(repetitions.saturating_add(1));
            rows.iter().map(slots).fold(0u64, u64::saturating_add)
        }
        _ => 0u64,
    };
    let media_cache = drive.number("cache.media_cache_mib").map_or(0, |mib| mib as u64 * 2048);
    Some(all.saturating_sub(holes.saturating_add(media_cache)))
}

fn zone_rows(drive: &DriveFile) -> Option<&[ZoneRow]> {
    match &drive.figure("geometry.zones")?.value {
        FigureValue::Zones(rows) if !rows.is_empty() => Some(rows),
        _ => None,
    }
}

/// Sectors of a row's cylinders; `None` on overflow.
fn row_sectors(row: &ZoneRow, heads: u64) -> Option<u64> {
    let cylinders = u64::from(row.cylinders);
    match &row.band {
        Some(band) => {
            let run_sectors = |run: &RunRow| u64::from(run.tracks.unsigned_abs()) * u64::from(run.spt);
            let bands = cylinders / u64::from(band.cylinders.max(1));
            band.runs.iter().try_fold(0u64, |sum, run| sum.checked_add(run_sectors(run)))?.checked_mul(bands)
        }
        None => {
            let listed: u64 = row.spt.iter().map(|&spt| u64::from(spt)).sum();
            // A row has one number for all heads, or one per head.
            let tracks = if row.spt.len() == 1 { heads } else { 1 };
            listed.checked_mul(tracks)?.checked_mul(cylinders)
        }
    }
}

/// Sectors of a row's longest track.
fn longest_track_sectors(row: &ZoneRow) -> u64 {
    let runs = row.band.iter().flat_map(|band| &band.runs).map(|run| run.spt);
    row.spt.iter().copied().chain(runs).max().map_or(0, u64::from)
}

/// Warnings about implausible figures.
pub(super) fn find_doubts(drive: &DriveFile) -> Vec<Diagnostic> {
    let checks = [
        check_capacity,
        check_spindle_speed,
        check_inward_density,
        check_density,
        check_link_rate,
        check_full_stroke,
        check_segment_size,
    ];
    checks.into_iter().filter_map(|check| check(drive)).chain(check_queue_settings(drive)).collect()
}

/// Warns of settings of a queue that have no effect: those of a choice by positioning time under another policy, and an age from
/// which nothing counts. If a run sets the policy alone, the drive's own settings are not warned of.
fn check_queue_settings(drive: &DriveFile) -> impl Iterator<Item = Diagnostic> {
    let is_off = |figure: &Figure| match figure.value {
        FigureValue::Whole(count) => count == 0,
        FigureValue::Number(number) => number == 0.0,
        _ => false,
    };
    let by_policy = move |queue: &str, name: &str| {
        let policy = drive.figure(&format!("{queue}.policy"))?;
        let FigureValue::Word(word) = &policy.value else { return None };
        let setting = drive.figure(&format!("{queue}.{name}")).filter(|setting| !is_off(setting))?;
        let intended = setting.kind == FigureOrigin::Set || policy.kind != FigureOrigin::Set;
        let message = format!("no effect: the policy is `{word}`");
        (intended && word != "sptf").then(|| figure_warning(drive, setting, message).with_expected("`sptf`"))
    };
    let without_ageing = move |queue: &str| {
        let after = drive.figure(&format!("{queue}.ageing_after_ms")).filter(|after| !is_off(after))?;
        let counts = drive.figure(&format!("{queue}.ageing")).is_some_and(|ageing| !is_off(ageing));
        let message = format!("no effect: `{queue}.ageing` is 0");
        (!counts).then(|| figure_warning(drive, after, message).with_expected("thousandths of the wait"))
    };
    let queues = ["firmware.queue", "firmware.destage"].into_iter();
    queues.flat_map(move |queue| {
        let under_policy = ["patience", "sample", "ageing_after_ms"].map(|name| by_policy(queue, name));
        under_policy.into_iter().chain([without_ageing(queue)]).flatten()
    })
}

/// The figure, if it is from a datasheet or inferred: not measured, fitted or set for a run.
pub fn datasheet_or_inferred_figure<'d>(drive: &'d DriveFile, key: &str) -> Option<&'d Figure> {
    let stated = |figure: &&Figure| matches!(figure.kind, FigureOrigin::Datasheet | FigureOrigin::Inferred);
    drive.figure(key).filter(stated)
}

fn figure_warning(drive: &DriveFile, figure: &Figure, message: String) -> Diagnostic {
    Diagnostic::at(&drive.file, figure.line, message).with_key(figure.key)
}

fn check_capacity(drive: &DriveFile) -> Option<Diagnostic> {
    let (offered, held) = (drive.number("geometry.sectors")?, usable_zone_sectors(drive)? as f64);
    datasheet_or_inferred_figure(drive, "geometry.zones")?;
    let figure = datasheet_or_inferred_figure(drive, "geometry.sectors").filter(|_| held > offered * (1.0 + SPARE))?;
    let gb = |sectors: f64| sectors * 512.0 / 1e9;
    let message = format!(
        "the drive has {:.1} GB, but its zones hold {:.1} GB, {:.1} times as much: the inner tracks are never used",
        gb(offered),
        gb(held),
        held / offered
    );
    Some(
        figure_warning(drive, figure, message)
            .with_expected(format!("zones that hold up to {:.0} % more", SPARE * 100.0)),
    )
}

fn check_spindle_speed(drive: &DriveFile) -> Option<Diagnostic> {
    let (figure, rpm) = (datasheet_or_inferred_figure(drive, "mechanics.rpm")?, drive.number("mechanics.rpm")?);
    let outside = !SPEED_RPM.contains(&rpm);
    let message = format!("no drive ran at {rpm} rpm");
    outside.then(|| figure_warning(drive, figure, message).with_expected("3,600 to 15,000 for a real drive"))
}

fn check_inward_density(drive: &DriveFile) -> Option<Diagnostic> {
    let (figure, rows) = (datasheet_or_inferred_figure(drive, "geometry.zones")?, zone_rows(drive)?);
    let track_sectors = |row: &ZoneRow| match row.band {
        Some(_) => longest_track_sectors(row) as f64,
        None => row.spt.iter().map(|&spt| f64::from(spt)).sum::<f64>() / row.spt.len().max(1) as f64,
    };
    let denser = rows.windows(2).position(|pair| track_sectors(&pair[1]) > 1.1 * track_sectors(&pair[0]));
    if let Some(zone) = denser {
        let row = &rows[zone + 1];
        let message = format!(
            "zone {} has {:.0} sectors per track, but zone {zone} before it has {:.0}: zones are listed from the outside in",
            zone + 1,
            track_sectors(row),
            track_sectors(&rows[zone])
        );
        let warning = Diagnostic::at(&drive.file, row.line, message).with_key(figure.key);
        return Some(warning.with_expected("no more sectors per track than farther out"));
    }
    let (outer, inner) = (track_sectors(rows.first()?), track_sectors(rows.last()?));
    let message = format!("{outer:.0} sectors on outer tracks and {inner:.0} on inner ones: no platter is that wide");
    let expected = format!("an outermost track of at most {MOST_OUTER_TO_INNER} times the innermost");
    (outer > MOST_OUTER_TO_INNER * inner).then(|| figure_warning(drive, figure, message).with_expected(expected))
}

fn check_density(drive: &DriveFile) -> Option<Diagnostic> {
    let (figure, rows) = (datasheet_or_inferred_figure(drive, "geometry.zones")?, zone_rows(drive)?);
    let last = rows.last()?;
    let cylinders = u64::from(last.first) + u64::from(last.cylinders);
    let longest = rows.iter().map(longest_track_sectors).max()?;
    let message = format!("{cylinders} cylinders with up to {longest} sectors per track: denser than any drive");
    let expected = format!("at most {MOST_CYLINDERS} cylinders and {MOST_SECTORS_PER_TRACK} sectors per track");
    (cylinders > MOST_CYLINDERS || longest > MOST_SECTORS_PER_TRACK)
        .then(|| figure_warning(drive, figure, message).with_expected(expected))
}

/// The rate at which the outermost zone passes under a head.
fn outer_media_rate_mb_s(drive: &DriveFile) -> Option<f64> {
    Some(longest_track_sectors(zone_rows(drive)?.first()?) as f64 * 512.0 * drive.number("mechanics.rpm")? / 60.0 / 1e6)
}

fn check_link_rate(drive: &DriveFile) -> Option<Diagnostic> {
    let (figure, link) = (datasheet_or_inferred_figure(drive, "link.rate_mb_s")?, drive.number("link.rate_mb_s")?);
    let media = outer_media_rate_mb_s(drive)?;
    let message =
        format!("the link transfers {link} MB/s, but the outermost zone {media:.0} MB/s: the link limits every stream");
    (link < media).then(|| figure_warning(drive, figure, message).with_expected(format!("{media:.0} or more")))
}

fn check_full_stroke(drive: &DriveFile) -> Option<Diagnostic> {
    let figure = datasheet_or_inferred_figure(drive, "mechanics.seek.full_ms")?;
    let time_ms = |key| drive.number(key).filter(|ms| *ms > 0.0);
    let (full, average) = (time_ms("mechanics.seek.full_ms")?, time_ms("mechanics.seek.average_ms")?);
    let times = full / average;
    let message = format!("a full stroke of {full} ms is {times:.1} times the average of {average} ms");
    let expected = format!("{} to {} times", FULL_STROKE_AVERAGES.start(), FULL_STROKE_AVERAGES.end());
    (!FULL_STROKE_AVERAGES.contains(&times)).then(|| figure_warning(drive, figure, message).with_expected(expected))
}

fn check_segment_size(drive: &DriveFile) -> Option<Diagnostic> {
    let figure = datasheet_or_inferred_figure(drive, "cache.size_kib")?;
    let segments = drive.number("cache.segments").filter(|&count| count > 0.0 && !drive.has_adaptive_buffer())?;
    let segments = segments.min(drive.number("cache.max_segments").unwrap_or(f64::INFINITY));
    let sectors = drive.number("cache.size_kib")? * 2.0 / segments;
    let track = longest_track_sectors(zone_rows(drive)?.first()?) as f64;
    let message = format!(
        "{segments} segments of {:.1} KiB each, but tracks of {:.0} KiB: read-ahead ends before it helps",
        sectors / 2.0,
        track / 2.0
    );
    let expected = format!("at least {:.0} KiB for this many segments", LEAST_SEGMENT_TRACKS * track / 2.0 * segments);
    (sectors < LEAST_SEGMENT_TRACKS * track).then(|| figure_warning(drive, figure, message).with_expected(expected))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::super::parse;
    use super::*;

    fn repository_root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn exos() -> String {
        fs::read_to_string(repository_root().join("crates/drives/profiles/exos-x18.toml")).unwrap()
    }

    #[test]
    fn no_drive_of_ours_is_doubtful() {
        let folders = [repository_root().join("crates/drives/profiles"), repository_root().join("validation")];
        let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
        let mut seen = 0;
        for file in files.filter(|file| file.extension().is_some_and(|ext| ext == "toml")) {
            let text = fs::read_to_string(&file).unwrap();
            let Ok(drive) = parse(&file.to_string_lossy(), &text) else { continue };
            seen += 1;
            assert_eq!(find_doubts(&drive), [], "{}", file.display());
            // The calculated capacity of the zones is that of the layout.
            let mut full = drive.clone();
            let held = usable_zone_sectors(&drive).unwrap();
            full.set("geometry.sectors", &held.to_string()).unwrap();
            assert!(full.profile().is_ok(), "{}: {held}", file.display());
            full.set("geometry.sectors", &(held + 1).to_string()).unwrap();
            assert!(full.profile().is_err(), "{}: {held}", file.display());
        }
        assert!(seen >= 13, "{seen}");
    }

    /// One wrong figure each, as after a typing error.
    #[test]
    fn a_wrong_figure_is_doubted_with_its_line() {
        let wrong = [
            ("sectors         = { value = 35_156_656_128", "sectors         = { value = 15_628_053_168", "has 8.0 GB"),
            ("heads           = { value = 18", "heads           = { value = 36", "2.0 times as much"),
            ("rpm             = { value = 7200", "rpm             = { value = 720", "ran at 720 rpm"),
            (
                "{ first = 0, cylinders = 35584, spt = 4672 }",
                "{ first = 0, cylinders = 35584, spt = 46720 }",
                "no platter is that wide",
            ),
            ("cylinders = 33792, spt = 4528", "cylinders = 33792, spt = 5528", "zones are listed from the outside in"),
            ("cylinders = 26112, spt = 2160", "cylinders = 926112, spt = 2160", "as much: the inner tracks"),
            (
                "rate_mb_s            = { value = 550.0",
                "rate_mb_s            = { value = 55.0",
                "the link limits every stream",
            ),
            ("full_ms    = { value = 15.6", "full_ms    = { value = 156.0", "20.7 times the average"),
            ("size_kib        = { value = 245_760", "size_kib        = { value = 256", "64 segments of 4.0 KiB each"),
            ("segments        = { value = 64", "segments        = { value = 4096", "4096 segments of 60.0 KiB each"),
        ];
        for (right, slip, says) in wrong {
            let text = exos();
            assert!(text.contains(right), "{right}");
            let drive = parse("mine.toml", &text.replace(right, slip)).unwrap();
            let found: Vec<String> = find_doubts(&drive).iter().map(ToString::to_string).collect();
            let line = text.lines().position(|line| line.contains(right)).unwrap() + 1;
            println!("{found:?}");
            let says = says.replace("8.0 GB", "8001.6 GB");
            let own = !right.contains("spt") && !right.starts_with("heads") && !right.starts_with("segments");
            assert!(found.iter().any(|it| it.contains(&says)), "{slip}: {found:?}");
            assert!(!own || found.iter().any(|it| it.starts_with(&format!("mine.toml:{line}:"))), "{line}: {found:?}");
        }
    }

    /// Measured figures, and settings of a run, are trusted.
    #[test]
    fn what_somebody_knows_is_not_doubted() {
        let short = exos().replace("35_156_656_128, datasheet", "15_628_053_168, measured");
        assert_eq!(find_doubts(&parse("mine.toml", &short).unwrap()), []);
        let mut set = parse("mine.toml", &exos()).unwrap();
        set.set("geometry.sectors", "15628053168").unwrap();
        set.set("mechanics.rpm", "720").unwrap();
        assert_eq!(find_doubts(&set), []);
    }

    /// Patience or a sample without positioning times is doubted, also where a run sets it; a run that sets the policy alone is not.
    #[test]
    fn settings_that_their_queue_does_not_know_are_doubted() {
        let said = |settings: &[(&str, &str)]| {
            let mut drive = parse("mine.toml", &exos()).unwrap();
            settings.iter().for_each(|(key, value)| drive.set(key, value).unwrap());
            find_doubts(&drive).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let patience = ("firmware.queue.patience", "2");
        assert_eq!(said(&[patience]), [""; 0]);
        let look = said(&[("firmware.queue.policy", "look"), patience]);
        assert_eq!(look, ["mine.toml: `firmware.queue.patience`: no effect: the policy is `look`; expected `sptf`"]);
        assert_eq!(said(&[("firmware.queue.policy", "look")]), [""; 0]);
        let (sample, after) = (("firmware.queue.sample", "8"), ("firmware.queue.ageing_after_ms", "50"));
        assert!(said(&[("firmware.queue.policy", "look"), sample])[0].contains("`firmware.queue.sample`: no effect"));
        let unaged = said(&[after]);
        assert!(unaged[0].contains("no effect: `firmware.queue.ageing` is 0"), "{unaged:?}");
        assert_eq!(said(&[("firmware.queue.ageing", "3"), after, sample]), [""; 0]);
        let destage = said(&[("firmware.destage.policy", "clook"), ("firmware.destage.patience", "5")]);
        assert!(destage[0].contains("`firmware.destage.patience`: no effect"), "{destage:?}");
    }
}
