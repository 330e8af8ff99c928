//! Each sparing scheme and order drawn slot by slot, so that a person can judge it; and what bad layouts are told.
//!
//! The drive: 2 surfaces, 5 slots a track, 3 cylinders. A drawing has a line a track, in the order of cylinders and heads:
//! the number of the block in each slot, or a dot.

use super::super::syntax;
use super::*;
use crate::profile::{self, tests::SMALL};
use seekwise_model::drive::geometry::Geometry;

const ZONE_TEXT: &str = "First cylinder number = 0, Last cylinder number = 2, Blocks per track = 5,
    Offset of first block = 0, Empty space at zone front = 0, Skew for track switch = 1, Skew for cylinder switch = 2,
    Number of spares = 1, slips = [], defects = []";

/// A layout with the zones given.
fn layout_text(mapping: u32, scheme: u32, range: u32, blocks: u32, zones: &[String]) -> String {
    let zones: Vec<String> = zones.iter().map(|zone| format!("dm_layout_g1_zone {{ {zone} }}")).collect();
    format!(
        "dm_disk D {{ Number of data surfaces = 2, Number of cylinders = 6, Block count = {blocks},
         Layout Model = dm_layout_g1 {{ LBN-to-PBN mapping scheme = {mapping}, Sparing scheme used = {scheme},
         Rangesize for sparing = {range}, Zones = [ {} ] }} }}",
        zones.join(", ")
    )
}

/// The geometry of a layout's text, by way of the profile.
fn geometry(text: &str) -> Result<Geometry, Errors> {
    let blocks = syntax::read("d.model", text, &|_| Err(String::new())).map_err(|error| vec![error])?;
    let model = Fields::of(&blocks[0], super::super::MODEL);
    let mut out = Text::new("d", "D", "d.model");
    layout(&model, &mut out)?;
    let mechanics = &SMALL[SMALL.find("[mechanics]").expect("a section")..];
    let toml = format!("{}\n{mechanics}", out.finish().0);
    let drive = profile::parse("d", &toml).unwrap_or_else(|errors| panic!("{errors:?}\n{toml}"));
    Ok(drive.profile()?.geometry)
}

/// The drawing of a geometry of 5 or fewer slots a track.
fn drawn(geometry: &Geometry) -> String {
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

/// Changes the zone's fields: `key = value` each.
fn zone_with(changes: &[(&str, &str)]) -> String {
    let change = |text: String, (key, value): &(&str, &str)| {
        let at = text.find(key).expect("a key") + key.len();
        let end = if text[at..].trim_start().starts_with("= [") { "]" } else { "," };
        let end = at + text[at..].find(end).unwrap_or(text.len() - at) + usize::from(end == "]");
        format!("{} = {value}{}", &text[..at], &text[end.min(text.len())..])
    };
    changes.iter().fold(ZONE_TEXT.to_owned(), change)
}

/// A scheme with slips in slots 2 and 13, or tracks 1, drawn.
fn scheme_drawn(scheme: u32, blocks: u32, slips: &str, front: &str) -> String {
    let zone = zone_with(&[("slips", slips), ("Empty space at zone front", front)]);
    drawn(&geometry(&layout_text(0, scheme, 2, blocks, &[zone])).expect("a layout"))
}

fn lines(expected: &[&str]) -> String {
    expected.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn spares_at_the_end_of_each_unit_take_up_its_slips() {
    let cylinders =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26  ."];
    assert_eq!(scheme_drawn(2, 27, "[2, 13]", "0"), lines(&cylinders), "a cylinder");
    let tracks =
        [" 0  1  .  2  3", " 4  5  6  7  .", " 8  9 10  . 11", "12 13 14 15  .", "16 17 18 19  .", "20 21 22 23  ."];
    assert_eq!(scheme_drawn(3, 24, "[2, 13]", "0"), lines(&tracks), "a track");
    // Two cylinders and one: the part range has no spare.
    let ranges =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23", "24 25 26 27 28"];
    assert_eq!(scheme_drawn(8, 29, "[2]", "0"), lines(&ranges), "a range");
    let zone =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23", "24 25 26 27 28"];
    assert_eq!(scheme_drawn(9, 29, "[2]", "0"), lines(&zone), "a zone");
    let zone =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28  ."];
    assert_eq!(scheme_drawn(9, 29, "[]", "0"), lines(&zone), "a zone without slips");
}

#[test]
fn spare_tracks_take_up_slipped_tracks() {
    let tracks =
        [" 0  1  2  3  4", " .  .  .  .  .", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24"];
    assert_eq!(scheme_drawn(1, 25, "[1]", "0"), lines(&tracks));
    let tracks =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", " .  .  .  .  ."];
    assert_eq!(scheme_drawn(1, 25, "[]", "0"), lines(&tracks));
}

#[test]
fn where_slips_go_to_the_end_spares_stay_spares() {
    let cylinders =
        [" 0  1  .  2  3", " 4  5  6  7  .", " 8  9 10  . 11", "12 13 14 15  .", "16 17 18 19 20", "21 22 23 24  ."];
    assert_eq!(scheme_drawn(4, 25, "[2, 13]", "0"), lines(&cylinders), "a cylinder");
    let fronts =
        [" .  0  .  1  2", " 3  4  5  6  7", " .  8  9  . 10", "11 12 13 14 15", " . 16 17 18 19", "20 21 22 23 24"];
    assert_eq!(scheme_drawn(6, 25, "[2, 13]", "0"), lines(&fronts), "a cylinder's front");
    let drive =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26 27"];
    assert_eq!(scheme_drawn(7, 28, "[2, 13]", "0"), lines(&drive), "spares behind the last block");
    let zone =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", "18 19 20 21 22", "23 24 25 26  ."];
    assert_eq!(scheme_drawn(10, 27, "[2, 13]", "0"), lines(&zone), "a zone");
}

#[test]
fn spares_at_the_front_take_up_slips_too() {
    let fronts =
        [" 0  1  .  2  3", " 4  5  6  7  8", " 9 10 11  . 12", "13 14 15 16 17", " . 18 19 20 21", "22 23 24 25 26"];
    assert_eq!(scheme_drawn(5, 27, "[2, 13]", "0"), lines(&fronts));
}

#[test]
fn no_sparing_uses_all_slots() {
    let all =
        [" 0  1  2  3  4", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28 29"];
    assert_eq!(scheme_drawn(0, 30, "[2, 13]", "0"), lines(&all));
}

#[test]
fn the_front_stays_empty_in_blocks_not_slots() {
    // Four blocks' worth; the slip among them comes on top. The one spare takes up one of the two slips.
    let zone =
        [" .  .  .  .  .", " 0  1  2  3  4", " 5  6  7  .  8", " 9 10 11 12 13", "14 15 16 17 18", "19 20 21 22 23"];
    assert_eq!(scheme_drawn(9, 24, "[2, 13]", "4"), lines(&zone));
    // Scheme 3: five blocks are a track of four and one.
    let tracks =
        [" .  .  .  .  .", " .  0  1  2  .", " 3  4  5  6  .", " 7  8  9 10  .", "11 12 13 14  .", "15 16 17 18  ."];
    assert_eq!(scheme_drawn(3, 19, "[]", "5"), lines(&tracks));
}

#[test]
fn defects_live_in_spares() {
    let zone = zone_with(&[("defects", "[4, 29, 7, 7]")]);
    let found = drawn(&geometry(&layout_text(0, 9, 1, 29, &[zone])).expect("a layout"));
    let expected =
        [" 0  1  2  3  .", " 5  6  7  8  9", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", "25 26 27 28  4"];
    assert_eq!(found, lines(&expected));
    let zone = zone_with(&[("defects", "[1, 5]")]);
    let found = drawn(&geometry(&layout_text(0, 1, 1, 25, &[zone])).expect("a layout"));
    let expected =
        [" 0  1  2  3  4", " .  .  .  .  .", "10 11 12 13 14", "15 16 17 18 19", "20 21 22 23 24", " 5  6  7  8  9"];
    assert_eq!(found, lines(&expected), "tracks");
}

#[test]
fn orders_begin_with_the_zone_or_with_the_drive() {
    let first = zone_with(&[("Number of spares", "0")]);
    let second = first.replace("r = 0, Last cylinder number = 2", "r = 3, Last cylinder number = 5");
    let zones = [first, second];
    let heads = |mapping: u32| {
        let geometry = geometry(&layout_text(mapping, 9, 1, 60, &zones)).expect("a layout");
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
        let geometry = geometry(&text).expect("a layout");
        // In fifths of a revolution: 1 for a surface, 2 for a cylinder, anew from 3 in the second zone.
        let fifths = |track: u64| (u128::from(geometry.extent(track * 5, 1).angle) * 5 + (1 << 60) >> 64) % 5;
        let found: Vec<u128> = (0..12).map(fifths).collect();
        assert_eq!(found, [0, 1, 3, 4, 1, 2, 3, 4, 1, 2, 4, 0], "mapping {mapping}");
        let turns = text
            .replace("track switch = 1", "track switch = 0.2")
            .replace("cylinder switch = 2", "cylinder switch = 0.4");
        let turns = turns.replace("block = 3", "block = 0.6").replace("Zones =", "Skew units = revolutions, Zones =");
        let turned = super::tests::geometry(&turns).expect("a layout");
        let off = turned.extent(55, 1).angle.wrapping_sub(geometry.extent(55, 1).angle) as i64;
        assert!(off.unsigned_abs() < 1 << 40, "the same in revolutions");
    }
}

#[test]
fn a_bad_layout_is_told_where() {
    let told = |changes: &[(&str, &str)]| {
        let errors = geometry(&layout_text(0, 9, 1, 20, &[zone_with(changes)])).expect_err("no layout");
        errors[0].to_string()
    };
    let slips = told(&[("slips", "[3, 2]")]);
    assert_eq!(slips, "d.model:5: `slips`: it does not rise; expected whole numbers that rise");
    let beyond = told(&[("slips", "[30]")]);
    assert_eq!(beyond, "d.model:5: `slips`: slot 30 lies beyond the zone's 30; expected below 30");
    let spares = told(&[("Number of spares", "30")]);
    assert_eq!(spares, "d.model:5: `Number of spares`: 30 spare slots in every 30; expected fewer than 30");
    let front = told(&[("Empty space at zone front", "40")]);
    assert_eq!(front, "d.model:4: `Empty space at zone front`: 40 leaves nothing of the zone");
    let defect = told(&[("defects", "[3, 4]")]);
    let expected = "d.model:5: `defects`: slot 4 of the zone is no spare; expected pairs of a slot and a spare slot";
    assert_eq!(defect, expected);
}
