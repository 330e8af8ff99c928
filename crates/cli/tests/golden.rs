//! Golden outputs of commands, in `golden/`: each command must print the same bytes. Other tests ask whether an answer is right; these
//! notice that a figure or a word has changed that no other test asks about.
//!
//! `SEEKWISE_UPDATE=1` writes the present outputs: read the difference before you commit it.

use std::fs;
use std::path::Path;

use crate::seekwise::{program_command, program_output};

#[path = "../../lab/tests/outline.rs"]
mod outline;

/// Two jobs: one with four requests outstanding, one that is paced by a rate and flushes.
const JOB: &str = "[global]\nsize=200m\nruntime=2s\ntime_based\nioengine=libaio\ndirect=1\n\n\
                   [reads]\nrw=randread\nbs=4k\niodepth=4\n\n[log]\nrw=write\nbs=16k\nfsync=4\nrate_iops=50\n";

const STUDY: &str = "title = \"Tiny\"\nquestion = \"Is it faster with a queue?\"\nseed = 3\nruns = 2\nruntime = \"1 s\"\nramp = \"0 s\"\n\n\
                     [stack]\ndrive = \"barracuda-7200.7-ncq\"\ncontroller = \"ahci\"\n\n[[factor]]\nname = \"depth\"\n\
                     key = \"job.depth\"\nlevels = [1, 8]\n\n[[factor]]\nname = \"pattern\"\nkey = \"job\"\n\
                     levels = [\"random-read\", \"file-server\"]\n\n[[compare]]\nname = \"A queue\"\nfactor = \"depth\"\nfrom = 1\n\
                     to = 8\nheadline = true\n";

const RECIPE: &str = "title = \"mine\"\nworkload = \"work\"\ncheck = \"look\"\n\n[variant.mine]\ntitle = \"alone\"\n";

/// The name of the golden file, and the arguments of the command.
const COMMANDS: &[(&str, &str)] = &[
    ("drives", "drives"),
    ("drives-found", "drives seagate"),
    ("drive", "drives exos-x18"),
    ("drive-checked", "drives barracuda-7200.7-ncq --check"),
    ("drive-json", "drives caviar-wd400jb --json"),
    ("patterns", "patterns"),
    ("pattern-database", "patterns database"),
    ("pattern-workstation", "patterns workstation"),
    ("pattern-stream", "patterns streaming-read"),
    ("pattern-write", "patterns access-time-write"),
    ("pattern-scene", "patterns copy"),
    ("patterns-json", "patterns --json"),
    ("programs", "programs"),
    ("program", "programs boot"),
    ("program-json", "programs database --json"),
    ("study-shown", "studies q-tcq-and-ncq"),
    ("study-json", "studies ncq-alone --json"),
    ("keys-cache", "keys drive.cache"),
    ("keys-json", "keys array --json"),
    ("recipes", "crash --recipes"),
    ("recipe", "crash --recipes --recipe sqlite-delete-full"),
    ("recipe-of-file", "crash --recipes --recipe recipe.toml"),
    ("recipe-json", "crash --recipes --recipe sqlite-wal-full --json"),
    ("run", "run job.fio --on barracuda-7200.7-ncq --plot"),
    ("run-json", "run job.fio --on barracuda-7200.7-ncq --json"),
    ("run-csv", "run job.fio --on barracuda-7200.7-ncq --format csv"),
    ("run-fio", "run job.fio --on barracuda-7200.7-ncq --format fio-json"),
    (
        "run-driver",
        "run file-server --on caviar-wd400jb --set driver=windows-xp --set processor=athlon-xp-2000 --runtime 2s",
    ),
    ("run-array", "run job.fio --on exos-x18 --set array=raid-5 --set array.drives=4"),
    ("run-scene", "run start --on barracuda-7200.7-ncq --set driver=windows-xp"),
    ("run-columns", "run random-read --on exos-x18 --columns mean,p99,max --runtime 2s"),
    ("validate", "validate trace.csv --drive atlas-10k-v-300"),
    ("validate-json", "validate trace.csv --drive atlas-10k-v-300 --json"),
    ("compare", "compare job.fio --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32 --runs 3"),
    ("compare-json", "compare job.fio --on barracuda-7200.7-ncq --vary drive.firmware.depth=1,32 --runs 3 --json"),
    ("compare-levels", "compare random-read --on barracuda-7200.7-ncq --vary job.depth=1,4,16 --runs 3 --runtime 2s"),
    (
        "compare-dry",
        "compare random-read --on barracuda-7200.7-ncq --vary job.depth=1,2 --runs 1000000 --fixed --dry-run",
    ),
    ("power-cut", "power-cut random-write --on caviar-wd400jb --set driver=windows-98 --runtime 2s --cuts 20"),
    ("power-cut-json", "power-cut random-write --on caviar-wd400jb --runtime 2s --cuts 20 --json"),
    ("study", "study tiny.toml --out tiny"),
    ("study-claims", "study q-two-revolutions --out claims"),
    ("study-as-json", "study tiny.toml --out again --json"),
    ("claim", "claims N9 --runs 2"),
    ("claim-json", "claims N9 --runs 2 --json"),
    ("fit", "fit trace.csv --drive atlas-10k-v-300 --points 40 --only overhead --out fitted.toml --page fitted.html"),
    ("export-moonpool", "export latency --on exos-x18 --depth 1,8 --for moonpool --runtime 20s"),
    ("export-turmoil", "export latency --on exos-x18 --depth 1,8 --for turmoil --runtime 20s"),
    ("export-tigerbeetle", "export latency --on exos-x18 --depth 1,8 --for tigerbeetle --runtime 20s"),
    ("export-fdb", "export latency --on exos-x18 --depth 1,8 --for fdb --runtime 20s"),
    ("export-json", "export latency --on exos-x18 --depth 1,8 --for json --runtime 20s"),
    ("restore", "restore --help"),
];

/// Files that these commands leave.
const FILES: &[(&str, &str)] = &[
    ("study-records", "tiny/results.jsonl"),
    ("study-made-from", "tiny/made-from.json"),
    ("study-report", "tiny/report.html"),
    ("fitted", "fitted.toml"),
    ("fitted-page", "fitted.html"),
];

fn outline_or_text(text: &str, build: &str) -> String {
    let text = text.replace(build, "BUILD");
    let is_json = text.trim_start().starts_with(['{', '[']);
    match is_json.then(|| outline::json(&text, 4)).flatten() {
        Some(outline) => outline,
        None if text.starts_with("<!") => outline::page(&text),
        None => text,
    }
}

#[test]
fn what_commands_say_is_what_was_read_last() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("job.fio", JOB), ("trace.csv", &outline::trace()), ("tiny.toml", STUDY), ("recipe.toml", RECIPE)]
    {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let version = program_output(program_command(folder.path()).arg("--version").output().unwrap()).success_stdout();
    let build = version.split(['(', ')', ' ', '\n']).max_by_key(|word| word.len()).unwrap().to_owned();
    let mut texts = Vec::new();
    for (name, words) in COMMANDS {
        let output = program_command(folder.path()).args(words.split(' ')).env("COLUMNS", "100").output().unwrap();
        let said = program_output(output);
        assert!(said.code <= 1, "{words}: {}", said.err);
        texts.push(((*name).to_owned(), format!("$ seekwise {words}\n{}", outline_or_text(&said.out, &build))));
    }
    for (name, path) in FILES {
        texts.push((
            (*name).to_owned(),
            outline_or_text(&fs::read_to_string(folder.path().join(path)).unwrap(), &build),
        ));
    }
    outline::compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), &texts);
}
