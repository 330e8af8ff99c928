//! `seekwise import` as a stranger meets it: errors with their place, nothing left behind.

mod seekwise;

use std::fs;

use seekwise::{names, seekwise};

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn a_set_up_that_cannot_be_imported_leaves_nothing_behind() {
    let cut = "disksim_disk T {\n Model = source t.model,\n";
    let folder =
        folder(&[("cut.parv", cut), ("none.parv", "disksim_bus B { type = 1 }\n"), ("t.model", "dm_disk T { }")]);
    let before = names(folder.path());
    let errors = |file: &str| {
        let said = seekwise(folder.path(), &["import", "disksim", file, "-o", "t.toml"]);
        assert_eq!((said.code, said.out.as_str()), (2, ""));
        said.err.trim_end().to_owned()
    };
    assert_eq!(errors("cut.parv"), "error: cut.parv:2: the file ends inside `T`; expected `}`");
    assert_eq!(
        errors("none.parv"),
        "error: none.parv: `disksim_bus`: there is no drive in it; expected a block `disksim_disk NAME { … }`; did you mean \
         `disksim_disk`?"
    );
    assert_eq!(names(folder.path()), before);
}
