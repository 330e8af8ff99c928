//! The schema of the output of `--json`, of CSV and of `results.jsonl` against docs/output.md. A key that is added or removed or that
//! changes its type fails here until the page has it and, where the page's rules demand it, the version of the schema is raised.
//! `SEEKWISE_UPDATE=1` rewrites the lists of the page, but not the version.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::seekwise::run_program;
use serde_json::Value;

const DRIVE: &str = "barracuda-7200.7-ncq";
/// The version of the schema, as outputs say it.
const SCHEMA: u64 = 1;
/// Keys whose members are names that the user gave, or that a list gives; the page has `*` for them.
const NAMED: [&str; 6] = ["operations", "metrics", "receipt", "settings", "variables", "figures"];

const FILES: [(&str, &str); 5] = [
    (
        "mix.fio",
        "[a]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nnumber_ios=60\nfsync=10\n[b]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nnumber_ios=40\n",
    ),
    ("paced.fio", "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nrate_iops=50\ntime_based\nruntime=1\n"),
    ("rate.fio", "[j]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1g\nrate=100k\ntime_based\nruntime=1\n"),
    (
        "t.csv",
        "op,lba,sectors,measured_response_ms,think_ms\nR,1000,8,5,30\nR,90000,8,1,30\nR,2000,4,4,0\n\
                R,2004,4,9,5\nR,2008,4,9,5\nR,2012,4,9,5\nR,2016,4,9,5\nR,2020,4,9,5\nR,2024,4,9,5\nR,2028,4,9,5\nR,2032,4,9,5\n",
    ),
    (
        "s.toml",
        "title = 't'\nquestion = 'q'\nruns = 2\njob = 'mix.fio'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n\
                [[factor]]\nname = 'depth'\nkey = 'drive.firmware.depth'\nlevels = [1, 8]\n\
                [[compare]]\nname = 'c'\nfactor = 'depth'\nfrom = '1'\nto = '8'\n",
    ),
];

/// A comparison of short runs whose pair stays undecided.
const UNTIL_DECIDED: [&str; 15] = [
    "compare",
    "file-server",
    "--on",
    DRIVE,
    "--vary",
    "drive.firmware.depth=1,32",
    "--set",
    "job.depth=4",
    "--metric",
    "p99",
    "--runtime",
    "2 s",
    "--runs",
    "5",
    "--until-decided",
];

/// A fitted drive with one draw.
const FITTED: [&str; 3] = [
    "fitted.toml",
    include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml"),
    "\n[fit]\nseen = [{ rw = \"read\", block = 512, depth = 1, write_cache = true }]\n\
     draws = [{ \"mechanics.seek.average_ms\" = 9 }]\n",
];

/// The outputs: the name in the page, and the commands whose outputs have that schema together.
const OUTPUTS: [(&str, &[&[&str]]); 13] = [
    (
        "run",
        &[
            &["run", "mix.fio", "--on", DRIVE],
            &["run", "paced.fio", "--on", DRIVE],
            &["run", "rate.fio", "--on", DRIVE, "--slow", "1ms"],
            &["run", "random-read", "--on", DRIVE, "--runtime", "1s"],
            &["run", "mix.fio", "--on", DRIVE, "--set", "array=raid-5", "--set", "array.drives=4"],
            &["run", "random-read", "--on", DRIVE, "--set", "array=raid-1", "--runtime", "1s"],
            &["run", "mix.fio", "--on", "fitted.toml"],
        ],
    ),
    (
        "compare",
        &[
            &["compare", "mix.fio", "--on", DRIVE, "--vary", "drive.firmware.depth=1,8", "--runs", "2"],
            &["compare", "paced.fio", "--on", DRIVE, "--vary", "drive.firmware.depth=1,8", "--runs", "2"],
            &["compare", "random-read", "--on", DRIVE, "--vary", "drive.firmware.depth=1,8", "--runs", "2"],
            &["compare", "mix.fio", "--on", "fitted.toml", "--vary", "drive.firmware.depth=1,8", "--runs", "2"],
            &UNTIL_DECIDED,
            // The job ends by its number of requests, so its runs are not shortened.
            &[
                "compare",
                "mix.fio",
                "--on",
                DRIVE,
                "--vary",
                "drive.firmware.depth=1,8",
                "--runs",
                "2",
                "--until-decided",
            ],
        ],
    ),
    ("study", &[&["study", "s.toml", "--out", "study"]]),
    ("power-cut", &[&["power-cut", "random-write", "--on", DRIVE, "--cuts", "2", "--runtime", "1s"]]),
    ("validate", &[&["validate", "t.csv", "--drive", DRIVE]]),
    ("drives", &[&["drives"]]),
    ("drives NAME", &[&["drives", DRIVE]]),
    ("studies", &[&["studies"]]),
    ("patterns", &[&["patterns"]]),
    ("programs", &[&["programs"]]),
    ("keys", &[&["keys"]]),
    ("flush-audit", &[&["flush-audit", "barracuda-7200.7"]]),
    (
        "export latency",
        &[
            &["export", "latency", "--on", DRIVE, "--runtime", "1s"],
            &["export", "latency", "--on", DRIVE, "--runtime", "1s", "--size", "1g", "--for", "fdb"],
        ],
    ),
];

type Shape = BTreeMap<String, BTreeSet<&'static str>>;

/// Adds the type of the value at `path`, and of all values below it.
fn add_shape(path: &str, value: &Value, shape: &mut Shape) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "text",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    shape.entry(path.to_owned()).or_default().insert(kind);
    match value {
        Value::Array(of) => of.iter().for_each(|value| add_shape(&format!("{path}[]"), value, shape)),
        Value::Object(of) => {
            let named = NAMED.contains(&path.rsplit('.').next().unwrap_or(path));
            for (key, value) in of {
                let key = if named { "*" } else { key };
                add_shape(&if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }, value, shape);
            }
        }
        _ => {}
    }
}

fn folder_with_inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    FILES.iter().for_each(|(name, text)| fs::write(folder.path().join(name), text).unwrap());
    let [name, profile, fit] = FITTED;
    fs::write(folder.path().join(name), format!("{profile}{fit}")).unwrap();
    folder
}

fn shape_text(shape: &Shape) -> String {
    let line = |(path, kinds): (&String, &BTreeSet<&str>)| {
        let path = if path.is_empty() { "(all)" } else { path };
        format!("{path}: {}\n", kinds.iter().copied().collect::<Vec<_>>().join(" or "))
    };
    shape.iter().map(line).collect()
}

/// The name of each list in the page, and its present text.
fn present_shapes(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, commands) in OUTPUTS {
        let mut shape = Shape::new();
        for command in commands {
            let said = run_program(folder, &[*command, &["--json"]].concat());
            let value: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{command:?}: {}", said.err));
            if value.is_object() {
                assert_eq!(value["schema"], SCHEMA, "{command:?} says its version");
            }
            add_shape("", &value, &mut shape);
        }
        found.push((name.to_owned(), shape_text(&shape)));
    }
    let mut shape = Shape::new();
    for line in fs::read_to_string(folder.join("study/results.jsonl")).unwrap().lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        assert_eq!(value["schema"], SCHEMA, "a record says its version");
        add_shape("", &value, &mut shape);
    }
    found.push(("results.jsonl".to_owned(), shape_text(&shape)));
    let csv = run_program(folder, &["run", "mix.fio", "--on", DRIVE, "--format", "csv"]).success_stdout();
    let columns = |csv: String| csv.lines().next().unwrap().replace(',', "\n") + "\n";
    found.push(("csv".to_owned(), columns(csv)));
    let compare = ["compare", "mix.fio", "--on", DRIVE, "--vary", "drive.firmware.depth=1,8", "--runs", "2"];
    let csv = run_program(folder, &[&compare[..], &["--format", "csv"]].concat()).success_stdout();
    found.push(("csv of compare".to_owned(), columns(csv)));
    found
}

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/output.md")
}

/// The marks before and after a list in the page.
fn block_marks(name: &str) -> [String; 2] {
    [format!("<!-- {name} -->\n```text\n"), format!("```\n<!-- end of {name} -->")]
}

#[test]
fn what_is_printed_is_what_the_page_promises() {
    let folder = folder_with_inputs();
    let mut page_text = fs::read_to_string(page_path()).unwrap();
    assert!(page_text.contains(&format!("The version is **{SCHEMA}**")), "the page says the version that outputs say");
    let mut off = Vec::new();
    for (name, now) in present_shapes(folder.path()) {
        let [begin, end] = block_marks(&name);
        let (from, to) = (page_text.find(&begin).map(|at| at + begin.len()), page_text.find(&end));
        let (Some(from), Some(to)) = (from, to) else { panic!("docs/output.md has no list {name}") };
        if page_text[from..to] != now {
            let (told, here): (BTreeSet<&str>, BTreeSet<&str>) =
                (page_text[from..to].lines().collect(), now.lines().collect());
            let gone: Vec<&&str> = told.difference(&here).collect();
            let new: Vec<&&str> = here.difference(&told).collect();
            off.push(format!("{name}: only in the page {gone:?}; only printed {new:?}"));
        }
        page_text.replace_range(from..to, &now);
    }
    if std::env::var_os("SEEKWISE_UPDATE").is_some() {
        fs::write(page_path(), page_text).unwrap();
        return;
    }
    assert!(
        off.is_empty(),
        "docs/output.md and the program differ; see its rules, then SEEKWISE_UPDATE=1:\n{}",
        off.join("\n")
    );
}

/// Figures of kinds of requests that did not occur are null, not 0.
#[test]
fn nothing_that_did_not_happen_is_a_number() {
    let folder = folder_with_inputs();
    let run = run_program(folder.path(), &["run", "random-read", "--on", DRIVE, "--runtime", "1s", "--json"]).json();
    for kind in ["write", "flush"] {
        assert_eq!((&run[kind]["ios"], &run[kind]["response_ms"]), (&0.into(), &Value::Null), "{kind}");
    }
    assert_eq!((&run["arrivals"], &run["all"]["since_due_ms"]), (&Value::Null, &Value::Null), "a closed loop");
    let csv = run_program(folder.path(), &["run", "random-read", "--on", DRIVE, "--runtime", "1s", "--format", "csv"])
        .success_stdout();
    let row = csv.lines().find(|line| line.contains(",write,")).unwrap();
    assert!(row.ends_with(&format!(",write,0,0,0,{},{SCHEMA}", ",".repeat(15))), "{row}");
}
