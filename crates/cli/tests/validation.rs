//! `validate` and `import` as a stranger meets them: keys of the JSON, exit codes, the picture, errors.

mod seekwise;

use std::fs;

use seekwise::{names, seekwise};
use serde_json::Value;

const TRACE: &str = "op,lba,sectors,measured_response_ms,think_ms\nR,1000,8,5,30\nW,90000,8,1,30\nR,2000,4,4,0\n";

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[test]
fn validate_prints_its_keys_and_draws_both_distributions() {
    let folder = folder(&[("t.csv", TRACE)]);
    let args = ["validate", "t.csv", "--drive", "atlas-10k-v-300", "--json", "--svg", "t.svg"];
    let said = seekwise(folder.path(), &args);
    assert_eq!(said.code, 0, "{}", said.err);
    let found: Value = serde_json::from_str(&said.out).unwrap();
    let keys = ["n", "mean_measured_ms", "mean_simulated_ms", "demerit_ms", "demerit_percent"];
    for side in [&found, &found["reads"], &found["writes"]] {
        assert!(keys.iter().all(|key| side[key].is_number()), "{side}");
    }
    assert_eq!((found["n"].as_u64(), found["reads"]["n"].as_u64()), (Some(3), Some(2)));
    assert!(fs::read_to_string(folder.path().join("t.svg")).unwrap().contains("response time, ms"));
}

#[test]
fn a_demerit_above_the_limit_answers_no() {
    let folder = folder(&[("t.csv", TRACE)]);
    let run =
        |limit| seekwise(folder.path(), &["validate", "t.csv", "--drive", "atlas-10k-v-300", "--at-most", limit]).code;
    assert_eq!((run("1000"), run("0.1")), (0, 1));
}

#[test]
fn what_cannot_be_validated_is_said() {
    let folder = folder(&[("t.csv", &TRACE.replace("90000", "700000000")), ("bad.csv", &TRACE.replace("W,", "X,"))]);
    let errors = |args: &[&str]| {
        let said = seekwise(folder.path(), args);
        assert_eq!((said.code, said.out.as_str()), (2, ""));
        said.err.trim_end().to_owned()
    };
    assert_eq!(
        errors(&["validate", "t.csv", "--drive", "atlas-10k-v-300"]),
        "error: t.csv:3: `lba`: the drive takes no request that ends at block 700000008; expected an end at or below \
         585937499, the blocks of atlas-10k-v-300"
    );
    assert_eq!(
        errors(&["validate", "bad.csv", "--drive", "atlas-10k-v-300"]),
        "error: bad.csv:3: `op`: `X` will not do; expected R or W"
    );
    assert_eq!(
        errors(&["validate", "t.csv", "--drive", "atlas-10k-v-30"]),
        "error: atlas-10k-v-30: no such built-in drive; did you mean `atlas-10k-v-300`?"
    );
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
