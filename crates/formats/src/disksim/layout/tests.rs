//! Tests of layouts: each sparing scheme and order is drawn slot by slot, so that a person can judge it; errors of bad layouts.
//!
//! The drive has 2 surfaces, 5 slots per track and 3 cylinders. A drawing has a line per track, in the order of cylinders and
//! heads: the number of the block in each slot, or a dot.

use seekwise_disk::drive::geometry::Geometry;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::profile;

use super::super::syntax::{self, ParameterBlock};
use super::*;

/// The sections of a small drive after its geometry.
const MECHANICS: &str = r#"[mechanics]
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

const ZONE_TEXT: &str = "First cylinder number = 0, Last cylinder number = 2, Blocks per track = 5,
    Offset of first block = 0, Empty space at zone front = 0, Skew for track switch = 1, Skew for cylinder switch = 2,
    Number of spares = 1, slips = [], defects = []";

/// The text of a layout with these zones.
fn layout_text(mapping: u32, scheme: u32, range_cylinders: u32, blocks: u32, zones: &[String]) -> String {
    let zones: Vec<String> = zones.iter().map(|zone| format!("dm_layout_g1_zone {{ {zone} }}")).collect();
    format!(
        "dm_disk D {{ Number of data surfaces = 2, Number of cylinders = 6, Block count = {blocks},
         Layout Model = dm_layout_g1 {{ LBN-to-PBN mapping scheme = {mapping}, Sparing scheme used = {scheme},
         Rangesize for sparing = {range_cylinders}, Zones = [ {} ] }} }}",
        zones.join(", ")
    )
}

fn parse_blocks(text: &str) -> Result<Vec<ParameterBlock>, Diagnostic> {
    let files = syntax::SourceFiles { first: "d.model", load: &|_| Err(String::new()) };
    syntax::read_setup(text, files).map(|setup| setup.blocks)
}

/// The geometry of a layout: from its text to a profile, and from the profile to the model.
fn build_geometry(text: &str) -> Result<Geometry, Errors> {
    let blocks = parse_blocks(text).map_err(|error| vec![error])?;
    let model = ParameterFields::new(&blocks[0], super::super::MODEL);
    let mut writer = ProfileWriter::new("d", "D", "d.model");
    write_geometry(&model, &mut writer)?;
    let toml = format!("{}\n{MECHANICS}", writer.finish().toml);
    let drive = profile::parse("d", &toml).unwrap_or_else(|errors| panic!("{errors:?}\n{toml}"));
    Ok(drive.profile()?.geometry)
}

/// Draws a geometry with 5 or fewer slots per track.
fn draw(geometry: &Geometry) -> String {
    let tracks = geometry.cylinders() as usize * 2;
    let mut slots = vec![vec![" .".to_owned(); 5]; tracks];
    for lba in 0..geometry.sectors() {
        let extent = geometry.extent(lba, 1);
        let slot = &mut slots[extent.cylinder as usize * 2 + usize::from(extent.head)][extent.before as usize];
        assert_eq!(slot, " .", "two blocks in one slot");
        *slot = format!("{lba:>2}");
    }
    slots.iter().map(|track| track.join(" ") + "\n").collect()
}

/// The text of a zone with changed values.
fn zone_with(changes: &[(&str, &str)]) -> String {
    let change = |text: String, (key, value): &(&str, &str)| {
        let at = text.find(key).expect("a key") + key.len();
        let end = if text[at..].trim_start().starts_with("= [") { "]" } else { "," };
        let end = at + text[at..].find(end).unwrap_or(text.len() - at) + usize::from(end == "]");
        format!("{} = {value}{}", &text[..at], &text[end.min(text.len())..])
    };
    changes.iter().fold(ZONE_TEXT.to_owned(), change)
}

/// Draws the layout of a scheme with these slips and this empty space at the front.
fn draw_scheme(scheme: u32, blocks: u32, slips: &str, front: &str) -> String {
    let zone = zone_with(&[("slips", slips), ("Empty space at zone front", front)]);
    draw(&build_geometry(&layout_text(0, scheme, 2, blocks, &[zone])).expect("a layout"))
}

fn join_lines(expected: &[&str]) -> String {
    expected.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn spares_at_the_end_of_each_unit_take_up_its_slips() {
    let cylinders =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26  ."];
    assert_eq!(draw_scheme(2, 27, "[2, 13]", "0"), join_lines(&cylinders), "a cylinder");
    let tracks =
        [" 0  1  .  2  3", " 4  5  6  7  .", " 8  9 10  . 11", "12 13 14 15  .", "16 17 18 19  .", "20 21 22 23  ."];
    assert_eq!(draw_scheme(3, 24, "[2, 13]", "0"), join_lines(&tracks), "a track");
    // Two cylinders and one: the part range has no spare.
    let ranges =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23", "24 25 26 27 28"];
    assert_eq!(draw_scheme(8, 29, "[2]", "0"), join_lines(&ranges), "a range");
    let zone =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23", "24 25 26 27 28"];
    assert_eq!(draw_scheme(9, 29, "[2]", "0"), join_lines(&zone), "a zone");
    let zone =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28  ."];
    assert_eq!(draw_scheme(9, 29, "[]", "0"), join_lines(&zone), "a zone without slips");
}

#[test]
fn spare_tracks_take_up_slipped_tracks() {
    let tracks =
        [" 0  1  2  3  4", " .  .  .  .  .", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24"];
    assert_eq!(draw_scheme(1, 25, "[1]", "0"), join_lines(&tracks));
    let tracks =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", " .  .  .  .  ."];
    assert_eq!(draw_scheme(1, 25, "[]", "0"), join_lines(&tracks));
}

#[test]
fn slips_to_the_end_use_up_no_spares() {
    let cylinders =
        [" 0  1  .  2  3", " 4  5  6  7  .", " 8  9 10  . 11", "12 13 14 15  .", "16 17 18 19 20", "21 22 23 24  ."];
    assert_eq!(draw_scheme(4, 25, "[2, 13]", "0"), join_lines(&cylinders), "a cylinder");
    let fronts =
        [" .  0  .  1  2", " 3  4  5  6  7", " .  8  9  . 10", "11 12 13 14 15", " . 16 17 18 19", "20 21 22 23 24"];
    assert_eq!(draw_scheme(6, 25, "[2, 13]", "0"), join_lines(&fronts), "a cylinder's front");
    let drive =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26 27"];
    assert_eq!(draw_scheme(7, 28, "[2, 13]", "0"), join_lines(&drive), "spares after the last block");
    let zone =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26  ."];
    assert_eq!(draw_scheme(10, 27, "[2, 13]", "0"), join_lines(&zone), "a zone");
}

#[test]
fn spares_at_the_front_take_up_slips_too() {
    let fronts =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", " . 18 19 20 21", "22 23 24 25 26"];
    assert_eq!(draw_scheme(5, 27, "[2, 13]", "0"), join_lines(&fronts));
}

#[test]
fn no_sparing_uses_all_slots() {
    let all =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28 29"];
    assert_eq!(draw_scheme(0, 30, "[2, 13]", "0"), join_lines(&all));
}

#[test]
fn the_front_stays_empty_in_blocks_not_slots() {
    // The space of four blocks and of the slip among them. The one spare takes up one of the two slips.
    let zone =
        [" .  .  .  .  .", " 0  1  2  3  4", " 5  6  7  .  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23"];
    assert_eq!(draw_scheme(9, 24, "[2, 13]", "4"), join_lines(&zone));
    // Scheme 3: five blocks are a track of four blocks, and one more.
    let tracks =
        [" .  .  .  .  .", " .  0  1  2  .", " 3  4  5  6  .", " 7  8  9 10  .", "11 12 13 14  .", "15 16 17 18  ."];
    assert_eq!(draw_scheme(3, 19, "[]", "5"), join_lines(&tracks));
}

#[test]
fn defects_are_remapped_to_spares() {
    let zone = zone_with(&[("defects", "[4, 29, 7, 7]")]);
    let found = draw(&build_geometry(&layout_text(0, 9, 1, 29, &[zone])).expect("a layout"));
    let expected =
        [" 0  1  2  3  .", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28  4"];
    assert_eq!(found, join_lines(&expected));
    let zone = zone_with(&[("defects", "[1, 5]")]);
    let found = draw(&build_geometry(&layout_text(0, 1, 1, 25, &[zone])).expect("a layout"));
    let expected =
        [" 0  1  2  3  4", " .  .  .  .  .", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", " 5  6  7  8  9"];
    assert_eq!(found, join_lines(&expected), "tracks");
}

#[test]
fn orders_begin_with_the_zone_or_with_the_drive() {
    let first = zone_with(&[("Number of spares", "0")]);
    let second = first.replace("r = 0, Last cylinder number = 2", "r = 3, Last cylinder number = 5");
    let zones = [first, second];
    let heads = |mapping: u32| {
        let geometry = build_geometry(&layout_text(mapping, 9, 1, 60, &zones)).expect("a layout");
        (0..12).map(|track| geometry.extent(track * 5, 1).head.to_string()).collect::<String>()
    };
    assert_eq!(heads(0), "01".repeat(6));
    assert_eq!(heads(1), "011001".repeat(2), "each zone begins at surface 0");
    assert_eq!(heads(2), "0110".repeat(3), "odd cylinders run backwards");
}

#[test]
fn skews_add_up_from_the_zones_offset() {
    let first = zone_with(&[("Number of spares", "0")]);
    let second = first.replace("r = 0, Last cylinder number = 2", "r = 3, Last cylinder number = 5");
    let second = second.replace("Offset of first block = 0", "Offset of first block = 3");
    for mapping in 0..3 {
        let text = layout_text(mapping, 9, 1, 60, &[first.clone(), second.clone()]);
        let geometry = build_geometry(&text).expect("a layout");
        // Angles in fifths of a revolution: 1 more per surface, 2 more per cylinder, from 3 on in the second zone.
        let fifths = |track: u64| ((u128::from(geometry.extent(track * 5, 1).angle) * 5 + (1 << 60)) >> 64) % 5;
        let found: Vec<u128> = (0..12).map(fifths).collect();
        assert_eq!(found, [0, 1, 3, 4, 1, 2, 3, 4, 1, 2, 4, 0], "mapping {mapping}");
        let turns = text
            .replace("track switch = 1", "track switch = 0.2")
            .replace("cylinder switch = 2", "cylinder switch = 0.4");
        let turns = turns.replace("block = 3", "block = 0.6").replace("Zones =", "Skew units = revolutions, Zones =");
        let turned = build_geometry(&turns).expect("a layout");
        let off = turned.extent(55, 1).angle.wrapping_sub(geometry.extent(55, 1).angle) as i64;
        assert!(off.unsigned_abs() < 1 << 40, "the same in revolutions");
    }
}

/// Two tracks of surface 0 inwards, two of surface 1 back, three times: 4 slots a track, slots 5, 20 and 21 slipped.
const INDEXED: &str = "dm_disk D { Number of data surfaces = 2, Number of cylinders = 6, Block count = 45,
    Layout Model = dm_layout_g4 { TP = [ 0, 3, 4 ],
    IDX = [ [ 0, 1, 0.0, 4, 1, 0.25, 8, -2, TRACK, 0, 0,  8, 0, 0.5, 4, 1, 0.125, 8, 2, TRACK, 0, 1 ],
            [ 0, 0, 0.125, 16, 2, 0.75, 48, 6, IDX, 0 ] ],
    Slips = [ 5, 1, 20, 2 ], Remaps = [ ] } }";

#[test]
fn an_index_unfolds_into_runs() {
    let found = draw(&build_geometry(INDEXED).expect("a layout"));
    let expected = [
        [" 4  .  5  6  .", " 7  8  9 10  .", " 0  1  2  3  .", "11 12 13 14  ."],
        [" .  . 19 20  .", "21 22 23 24  .", "15 16 17 18  .", "25 26 27 28  ."],
        ["33 34 35 36  .", "37 38 39 40  .", "29 30 31 32  .", "41 42 43 44  ."],
    ];
    assert_eq!(found, join_lines(&expected.concat()), "each row two cylinders of two surfaces");
}

#[test]
fn angles_of_an_index_add_up_along_its_path() {
    let whole = INDEXED.replace("5, 1, 20, 2", "").replace("= 45", "= 48");
    let geometry = build_geometry(&whole).expect("a layout");
    // Angles in eighths of a revolution. The zone begins at 1, each repetition 6 later. In a repetition the tracks of surface 0
    // are at 0 and 2, those of surface 1 at 4 and 5.
    let eighths = |track: u64| ((u128::from(geometry.extent(track * 4, 1).angle) * 8 + (1 << 60)) >> 64) % 8;
    let found: Vec<u128> = (0..12).map(eighths).collect();
    assert_eq!(found, [1, 3, 5, 6, 7, 1, 3, 4, 5, 7, 1, 2]);
}

#[test]
fn an_index_that_contradicts_itself_is_an_error() {
    let error =
        |from: &str, to: &str| build_geometry(&INDEXED.replace(from, to)).expect_err("no layout")[0].to_string();
    let gap = "d.model:3: `IDX`: row 1 of index 0 starts at block 9, but the previous one ends at 8";
    assert_eq!(error("TRACK, 0, 0,  8,", "TRACK, 0, 0,  9,"), gap);
    let child = "d.model:3: `IDX`: row 0 of index 1 has 12 blocks and 2 cylinders each time";
    assert_eq!(error("16, 2, 0.75, 48", "12, 2, 0.75, 36"), child);
    let cylinders = "d.model:3: `IDX`: row 0 of index 1 covers other cylinders than its repetitions";
    assert_eq!(error("48, 6, IDX", "48, 5, IDX"), cylinders);
    assert!(error("0, 3, 4 ]", "1, 3, 4 ]").contains("track pattern 0 is not a whole track"));
    let overlap = "overlap the previous ones, or exceed what a drive can have";
    let inside = error("6, IDX, 0 ]", "6, IDX, 0, 48, 3, 0.0, 16, 2, 0.75, 16, 2, IDX, 0 ]");
    assert_eq!(inside, format!("d.model:2: `IDX`: cylinders 3 to 5 {overlap}"));
    let beyond = error("[ 0, 0, 0.125", "[ 0, 9999995, 0.125");
    assert_eq!(beyond, format!("d.model:2: `IDX`: cylinders 9999995 to 10000001 {overlap}"));
}

#[test]
fn an_error_of_a_layout_names_its_parameter() {
    let error = |changes: &[(&str, &str)]| {
        let errors = build_geometry(&layout_text(0, 9, 1, 20, &[zone_with(changes)])).expect_err("no layout");
        errors[0].to_string()
    };
    for key in ["First cylinder number", "Last cylinder number"] {
        let range = "expected a number from 0 to 9999999";
        assert_eq!(error(&[(key, "10000000")]), format!("d.model:3: `{key}`: 10000000 is invalid; {range}"));
    }
    let slips = error(&[("slips", "[3, 2.5]")]);
    assert_eq!(slips, "d.model:5: `slips`: 2.5 is not a slot; expected whole numbers from 0");
    let spares = error(&[("Number of spares", "30")]);
    assert_eq!(spares, "d.model:5: `Number of spares`: 30 spare slots in each 30; expected fewer than 30");
    let front = error(&[("Empty space at zone front", "40")]);
    assert_eq!(front, "d.model:4: `Empty space at zone front`: 40 leaves no room in the zone");
    let defects = error(&[("defects", "[3, 29, 4]")]);
    assert_eq!(
        defects,
        "d.model:5: `defects`: they are not pairs; expected slot, slot that stands for it; whole numbers"
    );
}

/// Draws a layout; also returns the warnings about it.
fn draw_with_warnings(text: &str) -> (String, Vec<String>) {
    let blocks = parse_blocks(text).expect("blocks");
    let mut writer = ProfileWriter::new("d", "D", "d.model");
    write_geometry(&ParameterFields::new(&blocks[0], super::super::MODEL), &mut writer).expect("a layout");
    (draw(&build_geometry(text).expect("a layout")), writer.finish().warnings.iter().map(ToString::to_string).collect())
}

#[test]
fn unsorted_slips_are_sorted() {
    let with =
        |scheme, slips: &str| draw_with_warnings(&layout_text(0, scheme, 2, 27, &[zone_with(&[("slips", slips)])]));
    // Scheme 10 has one spare after 29 slots; two slips leave 27.
    let (expected, no_warnings) = with(10, "[2, 13]");
    assert_eq!(no_warnings, [""; 0]);
    let (found, warnings) = with(10, "[13, 2]");
    assert_eq!(
        (found, warnings),
        (expected.clone(), vec!["d.model:5: `slips`: 2 follows 13; sorted in ascending order".to_owned()])
    );
    let (found, warnings) = with(10, "[2, 13, 2, 13]");
    assert_eq!(found, expected);
    assert_eq!(
        warnings,
        [
            "d.model:5: `slips`: 2 follows 13; sorted in ascending order",
            "d.model:5: `slips`: of 4 slots, 2 are distinct; each is slipped once",
        ]
    );
    let (found, warnings) = with(10, "[2, 13, 30, 44]");
    assert_eq!(found, expected);
    assert_eq!(warnings, ["d.model:5: `slips`: 44 lies beyond the zone's 30: 2 of 4 left out"]);
    for scheme in 1..=10 {
        let slips = |order: &str| if scheme == 1 { "[1]".to_owned() } else { order.to_owned() };
        assert_eq!(with(scheme, &slips("[13, 2, 13]")).0, with(scheme, &slips("[2, 13]")).0, "scheme {scheme}");
    }
}

#[test]
fn the_zones_decide_if_the_block_count_contradicts_them() {
    let text = |blocks| layout_text(0, 9, 1, blocks, &[ZONE_TEXT.to_owned()]);
    let (_, no_warnings) = draw_with_warnings(&text(29));
    assert_eq!(no_warnings, [""; 0]);
    for claims in [0, 28, 30, 2900] {
        let (_, warnings) = draw_with_warnings(&text(claims));
        let expected = "the zones hold 29 without spares and slips; using 29";
        assert_eq!(warnings, [format!("d.model:1: `Block count`: {claims} blocks, but {expected}")]);
        assert_eq!(build_geometry(&text(claims)).expect("a layout").sectors(), 29);
    }
    let indexed = |blocks: &str| build_geometry(&INDEXED.replace("= 45", blocks)).expect("a layout").sectors();
    assert_eq!((indexed("= 45"), indexed("= 46"), indexed("= 17")), (45, 45, 45));
}

#[test]
fn unsorted_slips_of_an_index_are_sorted() {
    let expected = draw_with_warnings(INDEXED).0;
    let with = |slips: &str| draw_with_warnings(&INDEXED.replace("5, 1, 20, 2", slips));
    let (found, warnings) = with("20, 2, 5, 1");
    assert_eq!((found.as_str(), warnings.len()), (expected.as_str(), 1));
    assert_eq!(warnings[0], "d.model:5: `Slips`: 5 follows 20; sorted in ascending order");
    let (found, warnings) = with("5, 1, 20, 1, 20, 2, 60, 3");
    assert_eq!(found, expected);
    let met = "d.model:5: `Slips`: 1 meet others, 1 lie beyond the last of 48 slots: each slot is slipped once";
    assert_eq!(warnings, [met]);
}

#[test]
fn a_defect_without_a_spare_stays_in_its_place() {
    let with = |defects: &str| draw_with_warnings(&layout_text(0, 9, 1, 29, &[zone_with(&[("defects", defects)])]));
    let own = with("[]").0;
    let error = |own: u32, lives: u32, stay: &str| {
        format!(
            "d.model:5: `defects`: {own} cannot live in {lives}, no free spare of the zone: {stay} stay in their place"
        )
    };
    assert_eq!(with("[3, 4]"), (own.clone(), vec![error(3, 4, "1 of 1")]));
    assert_eq!(with("[99, 29]"), (own, vec![error(99, 29, "1 of 1")]));
    assert_eq!(with("[4, 29, 5, 29, 4, 29]"), (with("[4, 29]").0, vec![error(5, 29, "1 of 2")]));
}
