//! Tests of profiles: the texts of errors, word for word, and the figures of a built drive.

use super::fit_record::{LoadPattern, SeenLoad};
use super::*;

/// A small whole profile: 2 heads, 2 zones, 8,000 slots.
const SMALL: &str = r#"
name = "small"
title = "A small drive"
[geometry]
sectors = { value = 7_900, inferred = "a" }
physical_sector = { value = 512, inferred = "a" }
heads = { value = 2, inferred = "a" }
order = { value = "serpentine", inferred = "a" }
run_tracks = { value = 5, inferred = "a" }
track_skew = { value = 0.25, inferred = "a" }
head_skew = { value = 0.25, inferred = "a" }
[geometry.zones]
inferred = "a"
value = [
    { first = 0, cylinders = 20, spt = 120 },
    { first = 20, cylinders = 20, spt = [90, 70] },
]
[mechanics]
rpm = { value = 7200, inferred = "a" }
head_switch_ms = { value = 1, inferred = "a" }
write_settle_ms = { value = 0.25, inferred = "a" }
[mechanics.seek]
form = { value = "lee", inferred = "a" }
single_ms = { value = 1.0, inferred = "a" }
average_ms = { value = 4.0, inferred = "a" }
full_ms = { value = 8.0, inferred = "a" }
[cache]
size_kib = { value = 7077, inferred = "a" }
segments = { value = 32, inferred = "a" }
max_segments = { value = 64, inferred = "a" }
write_back = { value = true, inferred = "a" }
dirty_percent = { value = 75, inferred = "a" }
destage_idle_ms = { value = 10, inferred = "a" }
read_ahead.max_sectors = { value = 100, inferred = "a" }
read_ahead.min_sectors = { value = 0, inferred = "a" }
[firmware]
depth = { value = 32, inferred = "a" }
dispatch_ms = { value = 0, inferred = "a" }
zero_latency = { value = true, inferred = "a" }
queue.policy = { value = "sptf", inferred = "a" }
destage.policy = { value = "sstf", inferred = "a" }
[overhead]
read_hit_ms = { value = 0.1, inferred = "a" }
read_miss_ms = { value = 0.1, inferred = "a" }
write_hit_ms = { value = 0.1, inferred = "a" }
write_miss_ms = { value = 0.1, inferred = "a" }
flush_ms = { value = 0.1, inferred = "a" }
completion_ms = { value = 0, inferred = "a" }
[link]
rate_mb_s = { value = 86.4, inferred = "a" }
command_ms = { value = 0.01, inferred = "a" }
max_transfer_sectors = { value = 256, inferred = "a" }
fua = { value = false, inferred = "a" }
queuing = { value = "ncq", inferred = "a" }
[power]
cut_sector = { value = "finished", inferred = "a" }
"#;

fn build_errors(text: &str) -> String {
    let built = parse("d.toml", text).and_then(|drive| drive.profile());
    let errors = built.err().unwrap_or_default();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

/// Asserts the errors of the small profile, in full, after `old` has been replaced by `new`.
fn assert_errors(old: &str, new: &str, expected: &str) {
    assert!(SMALL.contains(old), "{old}");
    assert_eq!(build_errors(&SMALL.replace(old, new)).trim_end(), expected);
}

#[test]
fn the_small_profile_builds() {
    let drive = parse("d.toml", SMALL).unwrap();
    let profile = drive.profile().unwrap();
    assert_eq!(profile.geometry.sectors(), 7_900);
    assert_eq!(profile.geometry.cylinders(), 40);
    assert_eq!(profile.geometry.surfaces(), 2);
    assert_eq!(profile.cache.segment_sectors, 442);
    assert_eq!(profile.cache.dirty_segments, 24);
    assert_eq!(profile.link.rate, 86_400_000);
    assert_eq!(profile.geometry.extent(0, 1000).sectors, 120);
    assert!(drive.figures().all(|figure| figure.source == "a"));
}

#[test]
fn an_error_names_the_nearest_key() {
    assert_errors("rpm =", "rmp =", "d.toml:19: `mechanics.rmp`: unknown key; did you mean `mechanics.rpm`?");
}

#[test]
fn a_figure_without_a_source_is_an_error() {
    let expected = "d.toml:19: `mechanics.rpm`: figure without a source; \
                    expected { value = …, measured | datasheet | inferred | fitted = \"…\" }";
    assert_errors("{ value = 7200, inferred = \"a\" }", "7200", expected);
    assert_errors("{ value = 7200, inferred = \"a\" }", "{ value = 7200 }", expected);
    assert_errors(
        "{ value = 7200, inferred = \"a\" }",
        "{ value = 7200, infered = \"a\" }",
        &format!("d.toml:19: `mechanics.rpm`: unknown word `infered`; did you mean `inferred`?\n{expected}"),
    );
    assert_errors(
        "{ value = 7200, inferred = \"a\" }",
        "{ value = 7200, inferred = \"@manual p. 3\" }",
        "d.toml:19: `mechanics.rpm`: unknown source `@manual`",
    );
}

#[test]
fn a_fitted_number_has_an_interval_and_nothing_else_has_one() {
    const RPM: &str = "{ value = 7200, inferred = \"a\" }";
    let text = SMALL.replace(RPM, "{ value = 7200, fitted = \"a\", interval = [7100, 7300.5] }");
    let text = text.replace("\"serpentine\", inferred", "\"serpentine\", fitted");
    let drive = parse("d.toml", &text).unwrap();
    let origin_and_interval = |key: &str| drive.figure(key).map(|figure| (figure.kind, figure.interval)).unwrap();
    assert_eq!(origin_and_interval("mechanics.rpm"), (FigureOrigin::Fitted, Some((7100.0, 7300.5))));
    assert_eq!(origin_and_interval("geometry.order"), (FigureOrigin::Fitted, None), "a word has none");
    assert_eq!(origin_and_interval("cache.segments"), (FigureOrigin::Inferred, None));
    for (figure, message) in [
        ("{ value = 7200, fitted = \"a\" }", "a fitted number without an interval"),
        ("{ value = 7200, fitted = \"a\", interval = [7300, 7100] }", "invalid `interval`"),
        ("{ value = 7200, fitted = \"a\", interval = [7200] }", "invalid `interval`"),
        (
            "{ value = 7200, measured = \"a\", interval = [7100, 7300] }",
            "an interval on a figure that is not a fitted number",
        ),
    ] {
        let expected = "{ value = …, fitted = \"…\", interval = [low, high] }";
        assert_errors(RPM, figure, &format!("d.toml:19: `mechanics.rpm`: {message}; expected {expected}"));
    }
}

#[test]
fn a_wrong_type_and_range_are_errors() {
    assert_errors(
        "segments = { value = 32",
        "segments = { value = -3",
        "d.toml:29: `cache.segments`: -3 is out of range; expected a whole number from 0 to 4096",
    );
    assert_errors(
        "write_back = { value = true",
        "write_back = { value = \"maybe\"",
        "d.toml:31: `cache.write_back`: has type string; expected on or off (or true, false, yes, no, 1, 0)",
    );
    assert_errors(
        "\"sptf\"",
        "\"best\"",
        "d.toml:40: `firmware.queue.policy`: unknown word `best`; \
         expected one of fcfs, sstf, look, clook, sptf",
    );
}

#[test]
fn missing_keys_are_errors() {
    assert_errors("rpm = { value = 7200, inferred = \"a\" }\n", "", "d.toml: `mechanics.rpm`: missing key");
    assert_errors(
        "run_tracks = { value = 5, inferred = \"a\" }\n",
        "",
        "d.toml: `geometry.run_tracks`: missing key: required by a serpentine order",
    );
    assert_errors(
        "form = { value = \"lee\"",
        "form = { value = \"table\"",
        "d.toml: `mechanics.seek.points`: missing key: required by the seek curve `table`",
    );
}

#[test]
fn an_error_names_both_zones() {
    assert_errors(
        "first = 20,",
        "first = 15,",
        "d.toml:16: `geometry.zones`: zone 1 begins at cylinder 15 and overlaps zone 0 (line 15), \
         which ends before 20; expected first = 20",
    );
    assert_errors(
        "first = 20,",
        "first = 25,",
        "d.toml:16: `geometry.zones`: zone 1 begins at cylinder 25 and leaves a gap after zone 0 (line 15), \
         which ends before 20; expected first = 20",
    );
    assert_errors(
        "[90, 70]",
        "[90, 70, 60]",
        "d.toml:16: `geometry.zones`: zone 1 has sectors per track for 3 heads; expected one number, or 2",
    );
}

#[test]
fn zones_hold_less_than_the_capacity() {
    assert_errors("7_900", "8_001", "d.toml:14: `geometry.zones`: the zones hold 8000 sectors, the drive claims 8001");
}

#[test]
fn contradictions_are_errors() {
    assert_errors(
        "physical_sector = { value = 512",
        "physical_sector = { value = 1000",
        "d.toml:6: `geometry.physical_sector`: contradicts the other figures; expected 512 or 4096",
    );
    assert_errors(
        "min_sectors = { value = 0",
        "min_sectors = { value = 200",
        "d.toml:35: `cache.read_ahead.min_sectors`: contradicts the other figures; \
         expected at most cache.read_ahead.max",
    );
    assert_errors(
        "title = \"A small drive\"",
        "title = \"A small drive\"\n[sources]\nmanual = \"M\"",
        "d.toml: `sources.manual`: no figure cites it",
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = SMALL.replace("rpm =", "rmp =").replace("value = 32, inferred", "value = 32, source");
    assert_eq!(build_errors(&text).lines().count(), 5);
}

#[test]
fn refuses_a_curve_that_does_not_rise() {
    assert_errors(
        "single_ms = { value = 1.0",
        "single_ms = { value = 5.0",
        "d.toml:25: `mechanics.seek.average_ms`: \
         no rising seek curve has single_ms=5, average_ms=4 and full_ms=8; \
         expected average_ms from 5.00 to 8.00 with the other two",
    );
}

#[test]
fn never_panics_on_broken_text() {
    for end in (0..SMALL.len()).step_by(3) {
        if SMALL.is_char_boundary(end) {
            let _ = build_errors(&SMALL[..end]);
        }
    }
    assert!(build_errors("= [").starts_with("d.toml:1: "));
}

#[test]
fn sets_by_key() {
    let mut drive = parse("d.toml", SMALL).unwrap();
    drive.set("cache.segments", "128").unwrap();
    drive.set("firmware.queue.policy", "fcfs").unwrap();
    drive.set("firmware.queue.window", "2").unwrap();
    let profile = drive.profile().unwrap();
    assert_eq!(profile.cache.segments, 64);
    assert_eq!(profile.firmware.queue.window, 2);
    assert_eq!(
        drive.warnings()[0].to_string(),
        "d.toml: `cache.segments`: the drive has at most 64 segments; using 64"
    );
    drive.set("cache.adaptive", "true").unwrap();
    assert_eq!(drive.profile().unwrap().cache.segments, 3);
    assert!(drive.warnings()[0].to_string().contains("this value is ignored"));
    assert_eq!(
        drive.set("cache.segmnts", "1").unwrap_err()[0].to_string(),
        "--set: `drive.cache.segmnts`: unknown key; did you mean `drive.cache.segments`?"
    );
    assert_eq!(
        drive.set("cache.segments", "-1").unwrap_err()[0].to_string(),
        "--set: `drive.cache.segments`: -1 is out of range; expected a whole number from 0 to 4096"
    );
}

/// Three quarters of 64 segments may be dirty: 48 runs of any length, and 16 segments for reading.
#[test]
fn adaptive_segments_of_their_own_lengths_are_runs_and_segments_for_reading() {
    let mut drive = parse("d.toml", SMALL).unwrap();
    drive.set("cache.adaptive", "true").unwrap();
    drive.set("cache.adaptive_lengths", "own").unwrap();
    drive.set("cache.max_segments", "64").unwrap();
    drive.set("cache.dirty_percent", "75").unwrap();
    let cache = drive.profile().unwrap().cache;
    let sectors = cache.adaptive.unwrap().sectors;
    assert_eq!((cache.segments, cache.segment_sectors, cache.dirty_runs), (16, sectors / 16, Some(48)));
    drive.set("cache.adaptive_lengths", "equal").unwrap();
    assert_eq!(drive.profile().unwrap().cache.dirty_runs, None);
}

/// The small profile in cylinder order, so that slots can be counted by hand, with `lists` added to its layout.
fn with_lists(lists: &str) -> String {
    let at = SMALL.find("[mechanics]").expect("a section");
    let plain = format!("{}{lists}{}", &SMALL[..at], &SMALL[at..]).replace("7_900", "100");
    plain.replace("\"serpentine\"", "\"cylinder\"").replace("run_tracks = { value = 5, inferred = \"a\" }\n", "")
}

#[test]
fn reads_holes_and_remaps() {
    let lists = "[geometry.holes]\ninferred = \"a\"\nvalue = [[118, 2, 120, 1], [5, 1]]\n\
                 [geometry.remaps]\ninferred = \"a\"\nvalue = [[7, 118]]\n";
    let geometry = parse("d.toml", &with_lists(lists)).unwrap().profile().unwrap().geometry;
    let place = |lba: u64| (geometry.extent(lba, 200).before, geometry.extent(lba, 200).sectors);
    // Block 5 lies after the hole at slot 5. Block 6 would lie in slot 7 and is remapped to slot 118.
    assert_eq!([place(4), place(5), place(6), place(7)], [(4, 1), (6, 1), (118, 1), (8, 93)]);
}

#[test]
fn tells_what_is_wrong_with_holes_and_remaps() {
    let errors = |lists: &str| {
        build_errors(&with_lists(&lists.replace('|', "\ninferred = \"a\"\nvalue = "))).trim_end().to_owned()
    };
    let form = "expected rows [first slot, slots] or [first slot, slots, period, times more]";
    let row = "not [first slot, slots] or [first slot, slots, period, times more]";
    assert_eq!(errors("[geometry.holes]|[[1]]\n"), format!("d.toml:19: `geometry.holes`: {row}; {form}"));
    assert_eq!(
        errors("[geometry.holes]|[[3, 1], [2, 2]]\n"),
        "d.toml:19: `geometry.holes`: hole 1 is empty, overlaps the previous one, or lies beyond the last slot; \
         expected first slots in ascending order"
    );
    assert_eq!(
        errors("[geometry.holes]|[[3, 1, 2, 9999999999]]\n"),
        "d.toml:19: `geometry.holes`: row 0 leads beyond the last slot, or to more than 20000000 holes; \
         expected [first slot, slots, period, times more]"
    );
    assert_eq!(
        errors("[geometry.remaps]|[[3, 9]]\n"),
        "d.toml:19: `geometry.remaps`: remap 0 is out of order, begins in a hole, or leads to a slot in use; \
         expected slots in ascending order, each with a slot in a hole"
    );
    assert_eq!(
        errors("[geometry.remaps]|[[3, -9]]\n"),
        "d.toml:19: `geometry.remaps`: not [slot, slot in a hole]; expected pairs [slot, slot in a hole]"
    );
    let split =
        with_lists("[geometry.holes]\ninferred = \"a\"\nvalue = [[8, 4]]\n").replace("value = 512", "value = 4096");
    let split = split.replace("[90, 70]", "[96, 72]");
    assert_eq!(
        build_errors(&split).trim_end(),
        "d.toml:19: `geometry.holes`: a physical sector is split at slot 8; \
         expected multiples of 8 slots, and remaps only with sectors of 512 bytes"
    );
}

#[test]
fn tells_which_zone_cannot_be_laid_out() {
    let zone = "{ first = 20, cylinders = 20, spt = [90, 70] }";
    let errors = |new: &str| build_errors(&SMALL.replace(zone, new)).trim_end().to_owned();
    assert_eq!(
        errors("{ first = 20, cylinders = 20, band = 3, runs = [[0, 0, 3, 9, 0, 0]] }"),
        "d.toml:16: `geometry.zones`: zone 1 cannot be laid out: cylinders; expected a whole number of bands"
    );
    assert_eq!(
        errors("{ first = 20, cylinders = 20, band = 2, runs = [[0, 0, 3, 9, 0, 0]] }"),
        "d.toml:16: `geometry.zones`: zone 1 cannot be laid out: runs; expected runs inside the band's cylinders"
    );
}

/// The small profile with more lines in its last section, and a section of faults.
fn with_power(power: &str, faults: &str) -> String {
    format!("{SMALL}{power}\n[faults]\n{faults}\n").replace("fua = { value = false", "fua = { value = true")
}

#[test]
fn power_flash_and_faults_are_built_and_warned_of() {
    let text = with_power(
        "protected = { value = true, inferred = \"a\" }",
        "ignores_fua = { value = true, inferred = \"a\" }\nearly_flush = { value = false, inferred = \"a\" }",
    );
    let mut drive = parse("d.toml", &text).unwrap();
    drive.set("cache.flash_kib", "64").unwrap();
    drive.set("faults.caches_when_off", "true").unwrap();
    let profile = drive.profile().unwrap();
    assert!(profile.protected && profile.faults.ignores_fua && profile.faults.caches_when_off);
    assert!(!profile.faults.early_flush && !profile.faults.forgets_on_power_off);
    assert_eq!(profile.cache.flash_sectors, 128);
    let warnings: Vec<String> = drive.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("`faults.ignores_fua`: a faulty drive: it accepts FUA writes"), "{warnings:?}");
    assert!(warnings[1].contains("it caches writes even with its write cache off"), "{warnings:?}");
}

#[test]
fn a_fault_that_cannot_be_is_an_error() {
    let mut drive = parse("d.toml", SMALL).unwrap();
    drive.set("faults.ignores_fua", "true").unwrap();
    let errors: String = drive.profile().unwrap_err().iter().map(ToString::to_string).collect();
    assert!(errors.contains("`faults.ignores_fua`: contradicts the other figures; expected false"), "{errors}");
}

#[test]
fn a_media_cache_takes_slots_of_the_layout() {
    // 4,800 + 3,200 slots of which 100 are spare: no room for a MiB.
    let mut drive = parse("d.toml", &SMALL.replace("7_900", "5_900")).unwrap();
    drive.set("cache.media_cache_mib", "1").unwrap();
    let errors = drive.profile().unwrap_err();
    let says = "`cache.media_cache_largest_kib`: missing key: required by `cache.media_cache_mib`";
    assert!(errors[0].to_string().contains(says), "{}", errors[0]);
    drive.set("cache.media_cache_largest_kib", "64").unwrap();
    drive.set("cache.media_cache_stretches", "2").unwrap();
    let profile = drive.profile().unwrap();
    let media = profile.cache.media_cache.unwrap();
    assert_eq!((media.stretches, media.slots, media.largest), (2, 1024, 128));
    assert!(profile.geometry.has_only_holes(media.first_slot + media.stride, media.slots));
    assert!(!profile.geometry.has_only_holes(media.first_slot - 1, media.slots));
}

/// 100 of 8,000 slots are spare, a media cache takes 2,048, and a cylinder of the last zone has 160: 13 more cylinders.
#[test]
fn a_media_cache_without_room_in_the_zones_gets_cylinders_behind_them() {
    let mut drive = parse("d.toml", SMALL).unwrap();
    assert_eq!(drive.profile().unwrap().geometry.cylinders(), 40);
    drive.set("cache.media_cache_mib", "1").unwrap();
    drive.set("cache.media_cache_largest_kib", "64").unwrap();
    let profile = drive.profile().unwrap();
    assert_eq!((profile.geometry.cylinders(), profile.geometry.sectors()), (53, 7_900));
    // Zones that are too small without a media cache stay an error.
    drive.set("geometry.sectors", "8001").unwrap();
    assert!(drive.profile().unwrap_err()[0].to_string().contains("the zones hold"));
}

#[test]
fn every_built_in_drive_takes_a_media_cache() {
    for name in crate::drives::names() {
        let mut drive = crate::drives::load(name).unwrap();
        drive.set("cache.media_cache_mib", "256").unwrap();
        drive.set("cache.media_cache_largest_kib", "64").unwrap();
        let profile = drive.profile().unwrap_or_else(|errors| panic!("{name}: {}", errors[0]));
        assert_eq!(profile.cache.media_cache.map(|media| media.slots), Some(256 * 2048), "{name}");
    }
}

#[test]
fn a_profile_names_the_cases_in_which_its_drive_deviates() {
    let parse_with = |entries: &str| parse("small.toml", &format!("{SMALL}[everyday]\n{entries}"));
    let drive =
        parse_with("\"random reads, 4 KiB, depth 2\" = { misses = \"it sleeps\", measured = \"a diary\" }\n").unwrap();
    let exception = &drive.otherwise[0];
    assert_eq!((exception.case, exception.misses.as_str()), ("random reads, 4 KiB, depth 2", "it sleeps"));
    assert_eq!((exception.kind, exception.source.as_str()), (FigureOrigin::Measured, "a diary"));
    let line = SMALL.lines().count() + 2;
    let error = |entries: &str| parse_with(entries).unwrap_err()[0].to_string();
    assert_eq!(
        error("\"random read, 4 KiB, depth 2\" = { misses = \"a\", measured = \"b\" }\n"),
        format!(
            "small.toml:{line}: `everyday.\"random read, 4 KiB, depth 2\"`: unknown case; \
             did you mean `random reads, 4 KiB, depth 2`?"
        )
    );
    for entry in ["{ misses = \"a\" }", "{ measured = \"b\" }", "{ misses = \"a\", measured = \"\" }", "7"] {
        let error = error(&format!("\"random reads, 4 KiB, depth 2\" = {entry}\n"));
        assert!(error.contains("is not a case with a reason and a source"), "{error}");
        assert!(error.contains("misses = \"why\""), "{error}");
    }
    assert!(
        error("\"random reads, 4 KiB, depth 2\" = { misses = \"a\", measured = \"@b\" }\n")
            .contains("unknown source `@b`")
    );
}

/// A `[fit]` that is right.
const FIT: &str = r#"
[fit]
seen = [
    { rw = "randread", block = 4096, depth = 1, write_cache = true },
    { rw = "read", block = 1048576, depth = 4, write_cache = false },
]
draws = [
    { "mechanics.seek.average_ms" = 4.2, "firmware.queue.policy" = "sstf" },
    { mechanics.rpm = 7300, "cache.write_back" = false, "mechanics.seek.points" = [[1, 0.5],
        [100, 1.2]] },
]
"#;

#[test]
fn a_fit_leaves_loads_and_draws() {
    let drive = parse("d.toml", &format!("{SMALL}{FIT}")).unwrap();
    let fit = drive.fit.as_ref().unwrap();
    let loads =
        [SeenLoad::new(LoadPattern::RandomRead, 4096, 1, true), SeenLoad::new(LoadPattern::Read, 1 << 20, 4, false)];
    assert_eq!(fit.seen, loads);
    let [first, second] = [0, 1].map(|index| drive.with_draw(index).unwrap());
    let text = |drive: &DriveFile, key: &str| drive.figure(key).map(|figure| figure.value.to_string());
    assert_eq!(text(&first, "mechanics.seek.average_ms").as_deref(), Some("4.2"));
    assert_eq!(text(&first, "firmware.queue.policy").as_deref(), Some("sstf"));
    assert_eq!(first.number("mechanics.rpm"), Some(7200.0), "it differs in what it lists alone");
    assert_eq!(
        (second.number("mechanics.rpm"), text(&second, "cache.write_back").as_deref()),
        (Some(7300.0), Some("false"))
    );
    assert_eq!(text(&second, "mechanics.seek.points").as_deref(), Some("2 points"));
    let rpm = second.figure("mechanics.rpm").unwrap();
    assert_eq!((rpm.kind, rpm.source.as_str()), (FigureOrigin::Fitted, "draw 2 of the fit"));
    let absent = drive.with_draw(2).unwrap_err()[0].to_string();
    assert_eq!(absent, "d.toml: `fit.draws`: there is no draw 2; expected a number below 2");
}

#[test]
fn what_the_user_sets_no_draw_changes() {
    let mut drive = parse("d.toml", &format!("{SMALL}{FIT}")).unwrap();
    drive.set("mechanics.seek.average_ms", "5").unwrap();
    let drawn = drive.with_draw(0).unwrap();
    assert_eq!(drawn.number("mechanics.seek.average_ms"), Some(5.0));
    assert_eq!(drawn.figure("firmware.queue.policy").unwrap().value.to_string(), "sstf");
}

#[test]
fn a_wrong_fit_is_an_error_at_its_line() {
    let head = SMALL.lines().count();
    let assert_fault = |old: &str, new: &str, line: usize, expected: &str| {
        assert!(FIT.contains(old), "{old}");
        let faults = parse("d.toml", &format!("{SMALL}{}", FIT.replace(old, new))).unwrap_err();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(faults, [format!("d.toml:{}: {expected}", head + line)]);
    };
    assert_fault(
        "draws = [",
        "drawns = []\ndraws = [",
        7,
        "`fit.drawns`: unknown key; expected one of seen, draws; did you mean `draws`?",
    );
    assert_fault(
        "\"randread\"",
        "\"randraed\"",
        4,
        "`fit.seen.rw`: invalid value; expected one of read, write, randread, randwrite, rw, randrw; did you mean `randread`?",
    );
    assert_fault(
        "depth = 4",
        "depth = 0",
        5,
        "`fit.seen.depth`: invalid value; expected a whole number from 1 to 65536",
    );
    assert_fault(", write_cache = true", "", 4, "`fit.seen.write_cache`: missing key; expected true or false");
    assert_fault(
        "mechanics.seek.average_ms",
        "mechanics.seek.avrage_ms",
        8,
        "`fit.draws.mechanics.seek.avrage_ms`: unknown key; did you mean `mechanics.seek.average_ms`?",
    );
    assert_fault(
        "\"sstf\"",
        "\"best\"",
        8,
        "`fit.draws.firmware.queue.policy`: unknown word `best`; expected one of fcfs, sstf, look, clook, sptf",
    );
    let loads = "    { rw = \"read\", block = 512, depth = 1, write_cache = true },\n".repeat(999);
    assert_fault("seen = [\n", &format!("seen = [\n{loads}"), 3, "`fit.seen`: has 1001 entries; expected at most 1000");
    let draws = "    {},\n".repeat(99);
    assert_fault(
        "draws = [\n",
        &format!("draws = [\n{draws}"),
        7,
        "`fit.draws`: has 101 entries; expected at most 100",
    );
}
