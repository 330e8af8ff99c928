//! `seekwise import`: errors name their place in the input, and a failed import leaves no file.

use std::fs;

use crate::seekwise::{run_program, sorted_names};

fn folder_with_files(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_set_up_that_cannot_be_imported_leaves_nothing_behind() {
    let cut = "disksim_disk T {\n Model = source t.model,\n";
    let folder = folder_with_files(&[
        ("cut.parv", cut),
        ("none.parv", "disksim_bus B { type = 1 }\n"),
        ("t.model", "dm_disk T { }"),
        ("trace.csv", "lba,sectors,op\n1,8,R\n"),
    ]);
    let before = sorted_names(folder.path());
    let errors = |file: &str| {
        let said = run_program(folder.path(), &["import", "disksim", file, "-o", "t.toml"]);
        assert_eq!((said.code, said.out.as_str()), (2, ""));
        said.err.trim_end().to_owned()
    };
    assert_eq!(errors("cut.parv"), "error: cut.parv:2: the file ends inside `T`; expected `}`");
    assert_eq!(
        errors("none.parv"),
        "error: none.parv: `disksim_bus`: the file has no drive; expected a block `disksim_disk NAME { … }`; did you mean \
         `disksim_disk`?"
    );
    assert_eq!(
        errors("trace.csv"),
        "error: trace.csv:1: `lba` does not start a block of DiskSim parameters; expected `KIND NAME { … }`, `source FILE`, \
         `instantiate` or `topology`"
    );
    assert!(errors("t.model").contains("this one holds only a drive's mechanics"));
    assert_eq!(sorted_names(folder.path()), before);
}

/// A small drive whose slips are not sorted, and whose block count contradicts its zones.
pub const CONTRADICTORY: &str = "disksim_disk T { Model = dm_disk T {\n Number of data surfaces = 2, Number of cylinders = 8,\n\
Block count = 1000,\n Layout Model = dm_layout_g1 { LBN-to-PBN mapping scheme = 0, Sparing scheme used = 2, Zones = [\n\
dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 7, Blocks per track = 10, Number of spares = 1,\n\
slips = [ 24, 7, 24 ] } ] },\n Mechanical Model = dm_mech_g1 { Seek type = constant, Constant seek time = 2.0,\n\
Head switch time = 0.5, Rotation speed (in rpms) = 6000 } },\n Bulk sector transfer time = 0.0, Paint = red,\n\
Scheduler = disksim_ioqueue { Scheduling policy = 1 }, Number of buffer segments = 4, Segment size (in blks) = 16,\n\
Buffer continuous read = 3, Fast write level = 1 }\n";

#[test]
fn contradictions_are_warnings_that_name_both_figures() {
    let folder = folder_with_files(&[("t.parv", CONTRADICTORY)]);
    let said = run_program(folder.path(), &["import", "disksim", "t.parv", "-o", "t.toml"]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(
        said.err.lines().collect::<Vec<_>>(),
        [
            "warning: t.parv:6: `slips`: 7 follows 24; sorted in ascending order",
            "warning: t.parv:6: `slips`: of 3 slots, 2 are distinct; each is slipped once",
            "warning: t.parv:3: `Block count`: 1000 blocks, but the zones hold 152 without spares and slips; using 152",
            "warning: t.parv:9: `Paint`: unknown parameter with `red`, ignored",
        ]
    );
    let shown = run_program(folder.path(), &["import", "disksim", "t.parv", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&shown.out).expect("JSON");
    assert_eq!(value["warnings"].as_array().map(Vec::len), Some(4), "{value}");
}
