//! Tests of the import on a small drive whose layout was drawn by hand: figures, warnings and errors.

use seekwise_disk::drive::geometry::Extent;
use seekwise_disk::drive::profile::WrittenHits;

use super::*;

/// A complete small drive: two zones, a spare sector per cylinder, a slip, a table of seeks.
const PARV: &str = "disksim_bus BUS0 {\n Read block transfer time = 0.05,\n Write block transfer time = 0.1\n}\nsource tiny.diskspecs\n\
instantiate [ disk0 ] as TINY\ntopology disksim_bus b [ disksim_disk disk0 [] ]\n";

const SPECS: &str = "disksim_disk TINY { # a comment, with = and {\n Model = source tiny.model,\n Bulk sector transfer time = 0.0,\n\
Scheduler = disksim_ioqueue { Scheduling policy = 1 },\n Max queue length = 1,\n Number of buffer segments = 4,\n\
Segment size (in blks) = 16,\n Maximum number of write segments = 1,\n Buffer continuous read = 3,\n\
Maximum read-ahead (blks) = 16,\n Fast write level = 1,\n Read hit over. after read = 0.2,\n Read hit over. after write = 0.3,\n\
Read miss over. after read = 0.4,\n Read miss over. after write = 0.5,\n Write hit over. after read = 0.6,\n\
Write hit over. after write = 0.7,\n Preseeking level = 1\n}\n";

const MODEL: &str = "dm_disk TINY_model {\n Number of data surfaces = 2,\n Number of cylinders = 8,\n Block count = 130,\n\
Layout Model = dm_layout_g1 {\n LBN-to-PBN mapping scheme = 0,\n Sparing scheme used = 2,\n Rangesize for sparing = 1,\n\
Zones = [\n dm_layout_g1_zone {\n First cylinder number = 0,\n Last cylinder number = 3,\n Blocks per track = 10,\n\
Offset of first block = 0,\n Empty space at zone front = 3,\n Skew for track switch = 2,\n Skew for cylinder switch = 5,\n\
Number of spares = 1,\n slips = [ 24 ],\n defects = []\n },\n dm_layout_g1_zone {\n First cylinder number = 4,\n\
Last cylinder number = 7,\n Blocks per track = 8,\n Skew for track switch = 2,\n Skew for cylinder switch = 4,\n\
Number of spares = 1,\n slips = [],\n defects = []\n }\n ]\n },\n Mechanical Model = dm_mech_g1 {\n\
Access time type = trackSwitchPlusRotation,\n Seek type = extracted,\n Full seek curve = tiny.seek,\n\
Add. write settling delay = -0.25,\n Head switch time = 0.5,\n Rotation speed (in rpms) = 6000\n }\n}\n";

const SEEK: &str = "Seek distances measured: 3\n1, 1.0\n3, 2.0\n7, 4.0\n";

/// Imports the small drive after one change in one file.
fn import_with(file: &str, from: &str, to: &str) -> Result<DisksimImport, Vec<Diagnostic>> {
    let change = |name: &str, text: &str| if name == file { text.replace(from, to) } else { text.to_owned() };
    let load = |name: &str| match name {
        "tiny.diskspecs" => Ok(change(name, SPECS)),
        "tiny.model" => Ok(change(name, MODEL)),
        "tiny.seek" => Ok(change(name, SEEK)),
        _ => Err("no such file".to_owned()),
    };
    import("tiny.parv", &change("tiny.parv", PARV), &load, None, "tiny")
}

#[track_caller]
fn assert_refused(file: &str, from: &str, to: &str, expected: &str) {
    let errors = import_with(file, from, to).expect_err("refused");
    assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), expected);
}

/// Imports the small drive after one change in one file, and asserts the warnings.
#[track_caller]
fn import_with_warnings(file: &str, from: &str, to: &str, expected: &[&str]) -> DisksimImport {
    let found = import_with(file, from, to).expect("an import");
    assert_eq!(found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
    found
}

fn tiny_profile() -> seekwise_disk::drive::profile::Profile {
    let found = import_with("", "", "").unwrap();
    profile::parse("tiny", &found.toml).and_then(|drive| drive.profile()).unwrap()
}

#[test]
fn figures_arrive_with_their_origin() {
    let found = import_with("", "", "").unwrap();
    for line in [
        "read_miss_after_write_ms = { value = 0.5, measured = \"@disksim tiny.diskspecs:15: Read miss over. after write\" }",
        "write_settle_ms = { value = -0.25, measured = \"@disksim tiny.model:38: Add. write settling delay\" }",
        "until = { value = \"segment\", measured = \"@disksim tiny.diskspecs:9: Buffer continuous read\" }",
    ] {
        assert!(found.toml.contains(line), "{line}\nnot in\n{}", found.toml);
    }
    // A sector takes as long as the slowest block on its path needs: 512 bytes in 0.05 ms for reads and in 0.1 ms for writes.
    let profile = tiny_profile();
    assert_eq!((profile.link.rate, profile.link.write_rate), (10_240_000, 5_120_000));
    assert_eq!(profile.mechanics.movement_time(Default::default(), 3, 0, true).nanos(), 1_750_000);
}

#[test]
fn ignored_parameters_are_listed_and_those_with_an_effect_stand_first() {
    let found = import_with("", "", "").unwrap();
    let first = &found.left[0];
    assert_eq!(
        (first.key.as_str(), first.active, first.place.as_str()),
        ("Preseeking level", true, "tiny.diskspecs:18")
    );
    assert!(found.left.iter().skip(1).all(|left| !left.active), "{:?}", found.left);
    // The profile has the parameters with an effect.
    let drive = profile::parse("tiny", &found.toml).unwrap();
    let named: Vec<_> = drive.not_modelled.iter().map(|left| (left.key.as_str(), left.says.as_str())).collect();
    let says = "1 (tiny.diskspecs:18): the arm moves for the next command before the current one completes";
    assert_eq!(named, [("Preseeking level", says)]);
    assert_eq!(write::toml_string("a \"b\\\n"), "\"a \\\"b\\\\ \"");
}

/// The layout as drawn by hand: zone 0 has cylinders of 20 slots with one spare each. Three slots at the front are empty, and slot
/// 24 is slipped, so that cylinder 1 has no spare left.
#[test]
fn blocks_have_the_places_of_the_scheme() {
    let geometry = tiny_profile().geometry;
    let place = |lba: u64| {
        let Extent { cylinder, head, before, .. } = geometry.extent(lba, 1);
        (cylinder, head, before)
    };
    assert_eq!(place(0), (0, 0, 3));
    assert_eq!(place(6), (0, 0, 9));
    assert_eq!(place(7), (0, 1, 0));
    assert_eq!(place(15), (0, 1, 8));
    assert_eq!(place(16), (1, 0, 0), "slot 19 is a spare");
    assert_eq!(place(19), (1, 0, 3));
    assert_eq!(place(20), (1, 0, 5), "slot 24 is slipped");
    assert_eq!(place(34), (1, 1, 9), "and cylinder 1 is full");
    assert_eq!(place(35), (2, 0, 0));
    assert_eq!(place(73), (4, 0, 0), "zone 1: 16 + 19 + 19 + 19 blocks before it");
    assert_eq!(place(88), (5, 0, 0), "cylinders of 16 slots with one spare");
}

#[test]
fn truncated_files_are_named_where_they_end() {
    assert_refused(
        "tiny.model",
        "Rotation speed (in rpms) = 6000\n }\n}\n",
        "",
        "tiny.model:39: the file ends inside `dm_mech_g1`; expected `}`",
    );
    assert_refused(
        "tiny.diskspecs",
        " Preseeking level = 1\n}\n",
        "",
        "tiny.diskspecs:17: the file ends inside `TINY`; expected `}`",
    );
    let count = "tiny.model:4: `Block count`: 130 blocks, but the zones hold 133 without spares and slips; using 133";
    let short = "tiny.seek:1: `Seek distances measured`: the table has 2 distances, not 3 as stated";
    let end = "tiny.seek: `distance`: the table ends earlier: 7 cylinders are taken to need 4 ms";
    import_with_warnings("tiny.seek", "7, 4.0\n", "", &[count, short, end]);
}

#[test]
fn misspelt_parameters_get_the_nearest_word() {
    assert_refused(
        "tiny.diskspecs",
        "Fast write level",
        "Fast wirte level",
        "tiny.diskspecs:1: `Fast write level`: `TINY` lacks this parameter; did you mean `Fast wirte level`?",
    );
    assert_refused(
        "tiny.diskspecs",
        "Preseeking",
        "Preseking",
        "tiny.diskspecs:18: `Preseking level`: unknown parameter; expected a parameter of disksim_disk; did you mean \
         `Preseeking level`?",
    );
    assert_refused(
        "tiny.model",
        "extracted",
        "extrcted",
        "tiny.model:36: `Seek type`: `extrcted` is not a form of seek curve; expected extracted, linear, curve, constant, \
         hpl, hplplus10; did you mean `extracted`?",
    );
    assert_refused(
        "tiny.parv",
        "tiny.diskspecs",
        "tini.diskspecs",
        "tiny.parv:5: `tini.diskspecs`: cannot be read: no such file",
    );
}

#[test]
fn contradictions_without_a_layout_are_errors() {
    assert_refused(
        "tiny.model",
        "Last cylinder number = 3",
        "Last cylinder number = 5",
        "tiny.model:23: `First cylinder number`: the zone starts at 4, inside the previous one; expected 6 or more",
    );
    assert_refused(
        "tiny.seek",
        "7, 4.0",
        "7, 4000.0",
        "tiny.seek:4: `seek time`: `4000.0` is invalid; expected milliseconds from 0 to 1000",
    );
    assert_refused(
        "tiny.model",
        "Number of data surfaces = 2",
        "Number of data surfaces = 0",
        "tiny.model:2: `Number of data surfaces`: 0 is invalid; expected a number from 1 to 64",
    );
}

#[test]
fn contradictions_that_can_be_laid_out_are_warnings() {
    let count = "blocks, but the zones hold 133 without spares and slips; using 133";
    let found = import_with_warnings("", "", "", &[&format!("tiny.model:4: `Block count`: 130 {count}")]);
    let given = "sectors = { value = 133, measured = \"@disksim tiny.model:5: what its zones, spares and slips leave; its \
                 Block count says 130 blocks\" }";
    assert!(found.toml.contains(given), "{}", found.toml);
    let told = format!("tiny.model:4: `Block count`: 1300 {count}");
    let same = import_with_warnings("tiny.model", "Block count = 130", "Block count = 1300", &[&told]);
    assert_eq!(same.toml, found.toml.replace("says 130 ", "says 1300 "));
    assert_eq!(tiny_profile().geometry.sectors(), 133);
    let found = import_with_warnings("tiny.model", "Block count = 130", "Block count = 133", &[]);
    assert!(found.toml.contains("sectors = { value = 133, measured = \"@disksim tiny.model:4: Block count\" }"));
    for cylinders in [1, 7, 9, 4000] {
        let found = import_with("tiny.model", "cylinders = 8", &format!("cylinders = {cylinders}")).expect("an import");
        let left = found.left.iter().find(|left| left.key == "Number of cylinders").expect("it is listed");
        assert_eq!((left.why.as_str(), left.active), ("the layout has 8, which is used", true), "{cylinders}");
    }
}

#[test]
fn read_hits_on_writes_and_segments_for_writes_are_imported() {
    let cache = |from: &str, to: &str| {
        let found = import_with("tiny.diskspecs", from, to).unwrap();
        let profile = profile::parse("tiny", &found.toml).and_then(|drive| drive.profile()).unwrap();
        let named = |left: &&UnmodelledParameter| {
            ["Allow read hits on write data", "Use separate write segment"].contains(&left.key.as_str())
        };
        let left: Vec<_> = found.left.iter().filter(named).map(|left| (left.active, left.why.clone())).collect();
        (profile.cache.written_hits, profile.cache.writes_apart, left)
    };
    let more = |line: &str| format!("Max queue length = 1,\n {line},");
    let with_line = |line: &str| cache("Max queue length = 1,", &more(line));
    assert_eq!(cache("", ""), (WrittenHits::Cached, false, vec![]));
    assert_eq!(with_line("Allow read hits on write data = 0").0, WrittenHits::None);
    assert_eq!(with_line("Allow read hits on write data = 1").0, WrittenHits::All);
    assert_eq!(with_line("Use separate write segment = 1"), (WrittenHits::Cached, true, vec![]));
    assert_eq!(with_line("Use separate write segment = 0"), (WrittenHits::Cached, false, vec![]));
    // The only segment cannot be set aside for writes: reads need it.
    let one =
        cache("Number of buffer segments = 4,", "Number of buffer segments = 1,\n Use separate write segment = 1,");
    assert_eq!(one, (WrittenHits::Cached, false, vec![(true, "reads would have no segment left".to_owned())]));
}

#[test]
fn spellings_of_one_value_import_alike() {
    let plain = import_with("", "", "").unwrap();
    let same = |file: &str, from: &str, to: &str| assert_eq!(import_with(file, from, to).unwrap(), plain, "{to}");
    same("tiny.seek", "3, 2.0", "3 2.0");
    same("tiny.seek", "3, 2.0", "\t3,\t2.0");
    let left = |found: &DisksimImport| found.toml.clone();
    // A skew of eight sectors backwards is one of two sectors forwards on a track of ten.
    let turned = import_with(
        "tiny.model",
        "track switch = 2,\n Skew for cylinder switch = 5",
        "track switch = -8,\n Skew for cylinder switch = -5",
    );
    assert_eq!(left(&turned.unwrap()), left(&plain));
    assert_eq!(
        left(&import_with("tiny.model", "Rangesize for sparing = 1", "Rangesize for sparing = 0").unwrap()),
        left(&plain)
    );
}

/// A scheduler that the model replaces by a similar one changes results only if there is a choice, from a depth of 2.
#[test]
fn a_scheduler_that_the_model_lacks_matters_from_a_depth_of_two() {
    let known =
        [(1, "fcfs"), (2, "look"), (3, "clook"), (4, "sstf"), (5, "look"), (6, "clook"), (7, "sstf"), (8, "sptf")];
    let all = known
        .map(|(number, policy)| (number, policy, true))
        .into_iter()
        .chain([(9, "sptf", false), (40, "sptf", false)]);
    for (number, policy, exact) in all {
        for depth in 1..=3 {
            let queue = format!("policy = {number} }},\n Max queue length = {depth}");
            let found =
                import_with("tiny.diskspecs", "policy = 1 },\n Max queue length = 1", &queue).expect("an import");
            assert!(found.toml.contains(&format!("[firmware.queue]\npolicy = {{ value = \"{policy}\"")), "{number}");
            let left = found.left.iter().find(|left| left.key == "Scheduling policy").expect("it is listed");
            assert_eq!(left.active, !exact && depth > 1, "{number} at depth {depth}");
        }
    }
}

#[test]
fn unmodelled_parameters_of_the_arm_are_listed() {
    let listed = |from: &str, to: &str| {
        let found = import_with("tiny.model", from, to).expect("an import");
        let keys = ["Percent error in rpms", "Access time type", "Constant access time", "Average seek time"];
        let left = found.left.into_iter().filter(|left| keys.contains(&left.key.as_str()));
        left.map(|left| (left.key, left.active)).collect::<Vec<_>>()
    };
    let owned = |keys: &[(&str, bool)]| keys.iter().map(|&(key, active)| (key.to_owned(), active)).collect::<Vec<_>>();
    let rpm = |error: &str| listed("rpms) = 6000", &format!("rpms) = 6000,\n Percent error in rpms = {error}"));
    assert_eq!(listed("", ""), owned(&[("Access time type", false)]));
    assert_eq!(rpm("0"), owned(&[("Percent error in rpms", false), ("Access time type", false)]));
    assert_eq!(rpm("0.5"), owned(&[("Percent error in rpms", true), ("Access time type", false)]));
    let fixed = listed("trackSwitchPlusRotation", "constant,\n Constant access time = 5");
    assert_eq!(fixed, owned(&[("Access time type", true), ("Constant access time", true)]));
    let table = listed("= extracted", "= extracted,\n Average seek time = 2");
    assert_eq!(table, owned(&[("Access time type", false), ("Average seek time", false)]));
    let lee = "= curve,\n Single cylinder seek time = 1,\n Average seek time = 2,\n Full strobe seek time = 4";
    assert_eq!(listed("= extracted", lee), owned(&[("Access time type", false)]), "it is used");
}

#[test]
fn unknown_parameters_are_warnings_and_misspellings_errors() {
    let count = "tiny.model:4: `Block count`: 130 blocks, but the zones hold 133 without spares and slips; using 133";
    let speed = "tiny.diskspecs:18: `Spindle lubricant`: unknown parameter with `oil`, ignored";
    let strange = "Preseeking level = 1, Spindle lubricant = oil";
    import_with_warnings("tiny.diskspecs", "Preseeking level = 1", strange, &[count, speed]);
    // The near parameter is present as well, so this one is unknown and no misspelling.
    let twice = "Preseeking level = 1, Preseeking levels = 2";
    let own = "tiny.diskspecs:18: `Preseeking levels`: unknown parameter with 2, ignored";
    import_with_warnings("tiny.diskspecs", "Preseeking level = 1", twice, &[count, own]);
    let zone = "tiny.model:15: `Colour`: unknown parameter with `blue`, ignored";
    import_with_warnings(
        "tiny.model",
        "Offset of first block = 0",
        "Offset of first block = 0,\n Colour = blue",
        &[zone, count],
    );
    assert_refused(
        "tiny.model",
        "slips = [ 24 ]",
        "slipps = [ 24 ]",
        "tiny.model:19: `slipps`: unknown parameter; expected a parameter of dm_layout_g1_zone; did you mean `slips`?",
    );
}

#[test]
fn a_file_that_sources_itself_is_an_error() {
    let load = |_: &str| Ok("source again".to_owned());
    let error = import("again", "source again", &load, None, "x").unwrap_err();
    assert_eq!(error[0].to_string(), "again:1: `again`: files are sourced more than 24 deep");
}

#[test]
fn formulas_of_seeks_pass_through_their_figures() {
    let hpl = "Seek type = hpl,\n HPL seek equation values = [ 4, 1.0, 0.5, 2.0, 0.25, -1 ]";
    let found = import_with("tiny.model", "Seek type = extracted", hpl).unwrap();
    let line = found.toml.lines().find(|line| line.contains("[1, 1.5]")).expect("1 + 0.5 * sqrt 1");
    assert!(line.contains("[4, 3]"), "2 + 0.25 * 4: {line}");
    let lee = "Seek type = curve,\n Single cylinder seek time = 1.0,\n Average seek time = 2.0,\n Full strobe seek time = 4.0";
    let found = import_with("tiny.model", "Seek type = extracted", lee).unwrap();
    assert!(found.toml.contains("[1, 1]"), "the single cylinder: {}", found.toml);
}

#[test]
fn an_index_of_tracks_becomes_bands_of_runs() {
    let g4 = "dm_layout_g4 { TP = [ 0, 9, 10, 0, 7, 8 ], IDX = [ [ 0, 1, 0.0, 10, 1, 0.25, 20, -2, TRACK, 0, 0, 20, 0, \
              0.5, 8, 1, 0.25, 16, 2, TRACK, 1, 1 ], [ 0, 0, 0.0, 36, 2, 0.125, 144, 8, IDX, 0 ] ], Slips = [ 5, 1 ], \
              Remaps = [ ] }\n";
    let (start, end) = (MODEL.find("dm_layout_g1 {").unwrap(), MODEL.find(" Mechanical Model").unwrap());
    let found = import_with("tiny.model", &MODEL[start..end], &format!("{g4},\n")).unwrap();
    let geometry = profile::parse("tiny", &found.toml).and_then(|drive| drive.profile()).unwrap().geometry;
    let tracks: Vec<(u32, u8)> = [0u64, 10, 19, 27, 35].map(|lba| geometry.extent(lba, 1).cylinder_and_head()).to_vec();
    // Surface 0 runs towards lower cylinders (1, 0), surface 1 towards higher ones; block 5 lies after the slip.
    assert_eq!(tracks, [(1, 0), (0, 0), (0, 1), (1, 1), (3, 0)]);
    assert_eq!(geometry.extent(5, 1).before, 6);
}

/// Imports the first of these files, which are given by path and text.
fn import_files(files: &[(&str, &str)], wanted_drive: Option<&str>) -> Result<DisksimImport, Vec<Diagnostic>> {
    let load = |name: &str| {
        let found = files.iter().find(|file| file.0 == name);
        found.map(|file| file.1.to_owned()).ok_or_else(|| "no such file".to_owned())
    };
    import("tiny.parv", files[0].1, &load, wanted_drive, "tiny")
}

#[test]
fn files_are_searched_next_to_the_one_that_names_them() {
    let set_up = PARV.replace("tiny.diskspecs", "drives/tiny.diskspecs");
    let specs = SPECS.replace("tiny.model", "model/tiny.model");
    let parts = [
        ("tiny.parv", set_up.as_str()),
        ("drives/tiny.diskspecs", &specs),
        ("drives/model/tiny.model", MODEL),
        ("drives/model/tiny.seek", SEEK),
    ];
    let plain = import_with("", "", "").unwrap().toml;
    assert!(import_files(&parts, None).unwrap().toml == plain);
    // A file that is not there is searched next to the first file.
    let mut elsewhere = parts;
    (elsewhere[2].0, elsewhere[3].0) = ("model/tiny.model", "tiny.seek");
    assert!(import_files(&elsewhere, None).unwrap().toml == plain);
}

#[test]
fn the_instantiated_drive_is_imported_and_a_variant_inherits() {
    let base = SPECS.replace("TINY", "BASE");
    let rest = "instantiate [ disk0 .. disk2 ] as TINY\n";
    let variant = format!("{base}BASE TINY {{ Fast write level = 0, Head count = 3 }}\n{rest}");
    let parts = [("tiny.parv", variant.as_str()), ("tiny.model", MODEL), ("tiny.seek", SEEK)];
    let found = import_files(&parts, None).expect("a drive");
    assert_eq!(found.drive, "TINY");
    assert!(found.toml.contains("write_back = { value = false") && found.toml.contains("segments = { value = 4"));
    let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings[0], "tiny.parv:20: `TINY`: the file has 2 drives; using the one that is instantiated");
    assert!(import_files(&parts, Some("BASE")).expect("a drive").toml.contains("write_back = { value = true"));
    let other = import_files(&parts, Some("TINI")).unwrap_err()[0].to_string();
    assert_eq!(other, "tiny.parv: `TINI`: the file has no such drive; expected BASE, TINY; did you mean `TINY`?");
    let none = [("tiny.parv", &*variant.replace("instantiate [ disk0 .. disk2 ] as TINY", "")), parts[1], parts[2]];
    let several = import_files(&none, None).unwrap_err()[0].to_string();
    assert_eq!(several, "tiny.parv: the file has 2 drives; expected --drive and one of BASE, TINY");
    let cut = [("tiny.parv", &*variant.replace("as TINY", "")), parts[1], parts[2]];
    let error = import_files(&cut, None).unwrap_err()[0].to_string();
    assert_eq!(
        error,
        "tiny.parv:21: `instantiate`: it does not say what to instantiate; expected `instantiate [ a, b ] as NAME`"
    );
}

#[test]
fn the_first_block_of_a_name_counts() {
    let twice = format!("{PARV}disksim_bus BUS0 {{ Read block transfer time = 9 }}\nsource tiny.diskspecs\n");
    let parts = [("tiny.parv", &*twice), ("tiny.diskspecs", SPECS), ("tiny.model", MODEL), ("tiny.seek", SEEK)];
    let found = import_files(&parts, None).expect("a drive");
    assert_eq!(found.toml, import_with("", "", "").unwrap().toml);
    let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings[0], "tiny.parv:8: `BUS0`: defined again; using the one at tiny.parv:1");
    assert_eq!(warnings[1], "tiny.diskspecs:1: `TINY`: defined again; using the one at tiny.diskspecs:1");
}

#[test]
fn a_file_without_a_drive_is_an_error_that_names_the_missing_part() {
    let error = |text: &str| import_files(&[("tiny.parv", text)], None).unwrap_err()[0].to_string();
    let mechanics = "tiny.parv: the file has no drive; expected the file that sources it (.diskspecs or .parv); this one \
                     holds only a drive's mechanics";
    assert_eq!(error(MODEL), mechanics);
    let flat = "disksim_simpledisk D { Constant access time = 5 }";
    assert!(error(flat).ends_with("expected a `disksim_disk`; a `disksim_simpledisk` has no mechanics"));
    assert!(error("disksim_disc D { Print stats = 1 }").ends_with("did you mean `disksim_disk`?"));
}

#[test]
fn incomplete_tables_of_seeks_are_imported_with_warnings() {
    let count = "tiny.model:4: `Block count`: 130 blocks, but the zones hold 133 without spares and slips; using 133";
    let table = |to: &str, warnings: &[&str]| {
        let found = import_with_warnings("tiny.seek", SEEK, to, &[&[count], warnings].concat());
        let points = found.toml.split("[mechanics.seek.points]").nth(1).expect("points");
        points.split('=').nth(2).expect("a list").split("]\n").next().expect("an end").replace(['\n', ' '], "")
    };
    let plain = "[[1,1],[3,2],[7,4],";
    assert_eq!(table("1 1.0 0.1\n3\t2.0\t0.1\r\n7,4,0\n", &[]), plain);
    assert_eq!(table("\u{feff}0, 0\n1, 1.0\n3, 2.0\n7, 4.0\n", &[]), plain);
    let order = "tiny.seek: `distance`: 1 follows 7; sorted by distance";
    assert_eq!(table("7, 4.0\n1, 1.0\n3, 2.0\n", &[order]), plain);
    let again = "tiny.seek: `distance`: 1 distances are repeated; the first of each is used";
    assert_eq!(table("1, 1.0\n3, 2.0\n3, 2.5\n7, 4.0\n", &[again]), plain);
    let strange = "tiny.seek:1: `distance time` is not a seek; skipped 2 such lines; expected distance, time; optionally \
                   deviation and write time";
    assert_eq!(table("distance time\n1, 1.0\n3, 2.0\n7, 4.0\nend\n", &[strange]), plain);
    // The point at one cylinder is extrapolated from the first two points, and never below half of the first.
    let begin = "tiny.seek: `distance`: the table starts later: 1 cylinders are taken to need 1.5 ms";
    assert_eq!(table("3, 2.0\n7, 3.0\n", &[begin]), "[[1,1.5],[3,2],[7,3],");
    // The longest seek is extrapolated from the last third, and never falls.
    let end = "tiny.seek: `distance`: the table ends earlier: 7 cylinders are taken to need 4 ms";
    assert_eq!(
        table("1, 1.0\n3, 2\n4, 2.5\n5, 3.0\n", &[end]),
        "[[1,1],[3,2],[4,2.5],[5,3],[7,4],".replace("]],", "],")
    );
    let falls = end.replace("4 ms", "2.9 ms");
    assert_eq!(table("1, 1.0\n4, 3\n6, 2.9\n", &[&falls]), "[[1,1],[4,3],[6,2.9],[7,2.9],");
}

#[test]
fn numbers_may_be_hexadecimal() {
    let plain = import_with("", "", "").unwrap();
    assert_eq!(
        import_with("tiny.model", "Number of cylinders = 8", "Number of cylinders = 0x8").unwrap().toml,
        plain.toml
    );
    assert_eq!(import_with("tiny.model", "per track = 10", "per track = 0xA").unwrap().toml, plain.toml);
    let error = import_with("tiny.model", "per track = 10", "per track = -0xA").unwrap_err()[0].to_string();
    assert!(error.contains("-0xA is invalid; expected a number from 1"), "{error}");
}
