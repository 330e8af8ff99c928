//! What is run for the table: built-in studies with their claims, every drive, array, driver, scheduler and other layer,
//! patterns, the repository's jobs, traces, recordings and logs, power cuts, fits; and other people's files, if they are here.
//! The program lists its own drives, presets and patterns, so that a new one is a new row.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The beginning of rows whose files are not part of the project.
pub const SHARED: &str = "shared/";

/// Runs of each cell of a study, and the longest that a run and what comes before it may be, in seconds.
const RUNS: u32 = 2;
const LONGEST: [(&str, f64); 2] = [("runtime", 2.0), ("ramp", 0.5)];

/// Power cuts of a study's cell.
const CUTS: u32 = 10;

/// The drive under jobs that say nothing of one.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// Work that every drive and layer runs.
const WORK: [&str; 4] = ["random-read", "random-write", "streaming-read", "file-server"];

/// A recorded session: four requests, a flush and orders.
const RECORDING: &str = "# seekwise recording 1\n# a drive\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
    0,0,9000000,done,read,1000,8,0,0\n1,1000000,19000000,done,write,90000000,16,1,1\norder,15000000,drive.cache.write_back=false\n\
    2,20000000,30000000,done,write,90000016,16,0,0\n3,31000000,39000000,done,flush,0,0,0,0\n4,50000000,59000000,done,read,5000,256,0,0\n";

/// A few measured figures, for a short fit.
const CURVE: &str = "rw,depth,bs,iops\nrandread,1,4k,77\nrandread,4,4k,110\nrandread,32,4k,170\nrandwrite,1,4k,150\nrandwrite,8,4k,160\n";

/// A job that writes fio's log of its requests.
const LOGGED: &str = "[global]\nbs=4k\nsize=1g\nnumber_ios=200\n[one]\nrw=randrw\niodepth=4\nioengine=libaio\nwrite_iolog=one.log\n[two]\nrw=write\nwrite_iolog=two.log\n";

/// Which part of what a run leaves is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// The JSON that it prints.
    Answer,
    /// The text that it prints.
    Text,
    /// A study's records, its verdicts and each of its claims, a row each.
    Study,
    /// The pages of a Parquet file.
    Parquet(&'static str),
    /// All files of this ending that it writes, as text.
    Logs(&'static str),
}

/// One run of the program.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The row's name, or the beginning of its rows'.
    pub name: String,
    /// The program's arguments.
    pub words: Vec<String>,
    /// Where it runs; a folder of its own if nothing is said.
    pub folder: Option<PathBuf>,
    /// Files that are there before it runs, if it has a folder of its own.
    pub files: Vec<(&'static str, String)>,
    /// Variables of its environment.
    pub variables: Vec<(String, &'static str)>,
    pub take: Take,
    /// It may be refused: other people's jobs ask for what no disk has.
    pub may_refuse: bool,
}

impl Piece {
    fn new(name: String, words: &[&str], take: Take) -> Piece {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Piece { name, words, folder: None, files: Vec::new(), variables: Vec::new(), take, may_refuse: false }
    }

    /// A run of a job for a short time.
    fn job(name: String, job: &str, on: &str, runtime: Option<&str>, sets: &[&str]) -> Piece {
        let mut words = vec!["run", job, "--on", on, "--json"];
        words.extend(runtime.iter().flat_map(|runtime| ["--runtime", runtime]));
        words.extend(sets.iter().flat_map(|set| ["--set", set]));
        Piece::new(name, &words, Take::Answer)
    }

    fn with(mut self, file: &'static str, text: &str) -> Piece {
        self.files.push((file, text.to_owned()));
        self
    }

    fn within(mut self, folder: &Path) -> Piece {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Whether one of these rows is of this run; all are wanted if none is named.
    pub fn is_wanted(&self, rows: &[String]) -> bool {
        let own = format!("{}/", self.name);
        rows.is_empty() || rows.iter().any(|row| self.name.starts_with(row.as_str()) || row.starts_with(&own))
    }
}

/// All runs, those of studies first, since they are the longest.
pub struct Plan {
    pub pieces: Vec<Piece>,
    pub lacks_shared: bool,
}

impl Plan {
    pub fn new(program: &Path, shared: Option<&Path>) -> Result<Plan, String> {
        let mut pieces = studies()?;
        pieces.extend(fixed());
        pieces.extend(drives(&names(&listed(program, "drives")?)?));
        pieces.extend(layers(&presets(&listed(program, "keys")?)));
        pieces.extend(patterns(&listed(program, "patterns")?)?);
        pieces.extend(examples()?);
        if let Some(shared) = shared {
            pieces.extend(measured(shared)?);
            pieces.extend(wild(&shared.join("wild"))?);
        }
        Ok(Plan { pieces, lacks_shared: shared.is_none() })
    }
}

/// What the program lists.
fn listed(program: &Path, what: &str) -> Result<Value, String> {
    let output = Command::new(program).args([what, "--json"]).output();
    let output = output.map_err(|why| format!("{}: {why}", program.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|why| format!("`seekwise {what} --json`: {why}"))
}

fn names(list: &Value) -> Result<Vec<String>, String> {
    let name = |entry: &Value| entry["name"].as_str().map(str::to_owned);
    let entries = list.as_array().into_iter().flatten();
    entries.map(name).collect::<Option<_>>().ok_or_else(|| "an entry without a name".to_owned())
}

/// The built-in studies, shortened. Reviews are their parts.
fn studies() -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    for path in
        files(&crate::root().join("crates/lab/studies"), &|path| path.extension().is_some_and(|end| end == "toml"))?
    {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = read(&path)?;
        if text.contains("\n[[factor]]") && path.parent().is_some_and(|folder| folder.ends_with("studies")) {
            pieces.push(study(&name, &shortened(&text), "--fixed"));
        }
    }
    pieces.push(study("until-decided", include_str!("../small.toml"), "--until-decided"));
    Ok(pieces)
}

fn study(name: &str, text: &str, sample: &str) -> Piece {
    let words = ["study", "study.toml", sample, "--threads", "1", "--out", "out", "--json"];
    Piece::new(format!("study/{name}"), &words, Take::Study).with("study.toml", text)
}

/// A study with few short runs: its top-level figures are replaced, where they are larger.
fn shortened(text: &str) -> String {
    let mut is_top = true;
    let lines = text.lines().map(|line| {
        is_top &= !line.starts_with('[');
        let Some((key, value)) = line.split_once(" = ").filter(|_| is_top) else { return format!("{line}\n") };
        let fewest = |most: u32| {
            let number = value.split_whitespace().next()?.parse::<u32>().ok()?;
            (number > most).then(|| format!("{key} = {most}\n"))
        };
        let shorter = match key {
            "runs" => fewest(RUNS),
            "cuts" | "shutdowns" => fewest(CUTS),
            _ => LONGEST
                .iter()
                .find(|(known, _)| *known == key)
                .and_then(|(_, most)| (seconds(value)? > *most).then(|| format!("{key} = \"{most} s\"\n"))),
        };
        shorter.unwrap_or_else(|| format!("{line}\n"))
    });
    lines.collect()
}

/// The seconds of a quoted duration, such as `"10 m"`.
fn seconds(value: &str) -> Option<f64> {
    let (number, unit) = value.trim().strip_prefix('"')?.split_once('"')?.0.split_once(' ')?;
    let unit = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)].iter().find(|(name, _)| *name == unit)?.1;
    number.parse::<f64>().ok().map(|number| number * unit)
}

/// Power cuts: what is run, on what, and how it is cut.
const CUT: [(&str, &str); 5] = [
    ("flushed", "critical-writes --on caviar-wd400jb --cuts 100 --runtime 10s"),
    ("unflushed", "random-write --on barracuda-7200.7-ncq --cuts 200 --runtime 10s"),
    ("raid-5", "random-write --on cheetah-15k.4 --set array=raid-5 --cuts 200 --runtime 10s"),
    ("scene", "database-beside-copy --on barracuda-7200.7 --set volume.data.barrier=off --cuts 50"),
    ("shutdown", "random-write --on caviar-wd400jb --set driver=windows-98 --shutdown --cuts 10 --runtime 2s"),
];

/// A file's name, and what stands in it.
type NamedText = (&'static str, &'static str);

/// A comparison, a fit, logs and recordings: the row, the command without the drive, and the file that is there before.
const SINGLE: [(&str, &str, Take, Option<NamedText>); 6] = [
    (
        "compare/depth",
        "compare random-write --vary drive.firmware.depth=1,32 --set job.depth=32 --runtime 1s --metric iops --metric p99 --json --out out",
        Take::Answer,
        None,
    ),
    (
        "fit/curve",
        "fit curve.csv,hold=none -o fitted.toml --points 60 --only overhead,firmware.queue --json",
        Take::Answer,
        Some(("curve.csv", CURVE)),
    ),
    (
        "log/parquet",
        "run file-server --runtime 2s --set job.depth=8 --log log.parquet",
        Take::Parquet("log.parquet"),
        None,
    ),
    ("log/iolog", "run job.fio --seed 5", Take::Logs("log"), Some(("job.fio", LOGGED))),
    ("recording/played", "run session.csv --json", Take::Answer, Some(("session.csv", RECORDING))),
    (
        "recording/as-trace",
        "run session.csv --trace-format recording --json",
        Take::Answer,
        Some(("session.csv", RECORDING)),
    ),
];

/// Runs of one command each, and other forms of output.
fn fixed() -> Vec<Piece> {
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let mut pieces: Vec<Piece> = CUT
        .iter()
        .map(|(name, line)| {
            let words = [&["power-cut"][..], &words(line), &["--json", "--seed", "3"]].concat();
            Piece::new(format!("cut/{name}"), &words, Take::Answer)
        })
        .collect();
    for (name, line, take, file) in SINGLE {
        let on = if line.starts_with("fit ") { "--drive" } else { "--on" };
        let piece = Piece::new(name.to_owned(), &[&words(line)[..], &[on, DRIVE]].concat(), take);
        pieces.push(file.into_iter().fold(piece, |piece, (file, text)| piece.with(file, text)));
    }
    for (format, take) in [("fio-json", Take::Answer), ("csv", Take::Text)] {
        let words = ["run", "docs/examples/oltp.fio", "--on", "exos-x18", "--runtime", "1s", "--format", format];
        pieces.push(Piece::new(format!("format/{format}"), &words, take).within(&crate::root()));
    }
    pieces
}

/// Each drive under short work, and its figures and everyday cases.
fn drives(names: &[String]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for name in names {
        pieces.push(Piece::new(format!("drive/{name}/check"), &["drives", name, "--check", "--json"], Take::Answer));
        pieces.push(Piece::new(format!("drive/{name}/figures"), &["drives", name, "--json"], Take::Answer));
        pieces.extend(
            WORK.map(|work| Piece::job(format!("drive/{name}/{work}"), work, name, Some("2s"), &["job.depth=4"])),
        );
    }
    pieces
}

/// The presets that each layer takes, and policies of queues, by key.
fn presets(keys: &Value) -> HashMap<String, Vec<String>> {
    let all =
        keys.as_array().into_iter().flatten().flat_map(|section| section["keys"].as_array().into_iter().flatten());
    let of = |key: &Value| Some((key["key"].as_str()?.to_owned(), key["takes"].as_str()?.to_owned()));
    let list = |takes: &str| takes.split(", ").filter(|word| *word != "none").map(str::to_owned).collect();
    // A key stands in several sections; the first is the stack's.
    let mut presets = HashMap::new();
    for (key, takes) in all.filter_map(of) {
        presets.entry(key).or_insert_with(|| list(&takes));
    }
    presets
}

/// A layer's key, the drive below it, and what else is set.
const LAYERS: [(&str, &str, &[&str]); 10] = [
    ("driver", DRIVE, &["job.depth=16"]),
    ("driver.queue.policy", DRIVE, &["driver=linux-none", "driver.depth=1", "job.depth=16"]),
    ("drive.firmware.queue.policy", DRIVE, &["job.depth=16"]),
    ("controller", DRIVE, &["job.depth=8"]),
    ("processor", DRIVE, &["driver=windows-xp", "job.depth=4"]),
    ("accelerator", DRIVE, &["driver=windows-xp"]),
    ("array", "cheetah-15k.4", &["job.depth=8"]),
    ("scsi", "cheetah-15k.4", &["array=raid-0", "job.depth=8"]),
    ("bus", DRIVE, &["array=raid-0", "job.depth=8"]),
    ("channel", "caviar-wd400jb", &["array=raid-0", "job.depth=8"]),
];

/// Each preset of each layer under short work; arrays also without a drive, and with a bitmap.
fn layers(presets: &HashMap<String, Vec<String>>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let none = Vec::new();
    for (key, on, sets) in LAYERS {
        for preset in presets.get(key).unwrap_or(&none).iter().filter(|preset| !preset.contains(' ')) {
            let own = format!("{key}={preset}");
            let mut more: Vec<&[&str]> = vec![&[]];
            if key == "array" && ["raid-1", "raid-10", "raid-5", "raid-6"].contains(&preset.as_str()) {
                more.extend([&["array.lose=0"][..], &["array.bitmap=internal"]]);
            }
            for more in more {
                let sets: Vec<&str> = sets.iter().chain(&[own.as_str()]).chain(more).copied().collect();
                for work in WORK {
                    let name: String = [key, preset].iter().chain(more).map(|word| format!("{word}/")).collect();
                    pieces.push(Piece::job(format!("layer/{name}{work}"), work, on, Some("1s"), &sets));
                }
            }
        }
    }
    pieces
}

/// Each built-in pattern and job for a second, each scene whole.
fn patterns(list: &Value) -> Result<Vec<Piece>, String> {
    let scenes: Vec<bool> = list.as_array().into_iter().flatten().map(|entry| entry["scene"].is_string()).collect();
    let piece = |(name, is_scene): (String, bool)| {
        let runtime = if is_scene { None } else { Some("1s") };
        Piece::job(format!("job/{name}"), &name, DRIVE, runtime, &[])
    };
    Ok(names(list)?.into_iter().zip(scenes).map(piece).collect())
}

/// The jobs and files of the manual; those of crates/lab/studies/jobs are built in, and run by their names.
fn examples() -> Result<Vec<Piece>, String> {
    let root = crate::root();
    let is_job = |path: &Path| path.extension().is_some_and(|end| end == "fio" || end == "icf");
    let jobs = files(&root.join("docs/examples"), &is_job)?;
    let name = |path: PathBuf| path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
    let mut pieces: Vec<Piece> = jobs
        .into_iter()
        .map(name)
        .map(|job| Piece::job(format!("job/{job}"), &job, DRIVE, Some("2s"), &[]).within(&root))
        .collect();
    let stack = Piece::job(
        "job/docs/examples/stack.toml".to_owned(),
        "random-read",
        "docs/examples/stack.toml",
        Some("2s"),
        &[],
    );
    pieces.push(stack.within(&root));
    let drive = read(&root.join("docs/examples/drive.toml"))?;
    pieces.push(
        Piece::new("job/docs/examples/drive.toml".to_owned(), &["drives", "drive.toml", "--json"], Take::Answer)
            .with("drive.toml", &drive),
    );
    pieces.push(study(
        "docs/examples/study.toml",
        &shortened(&read(&root.join("docs/examples/study.toml"))?),
        "--fixed",
    ));
    Ok(pieces)
}

/// Measured traces, played on their fitted drives, and a short fit of one.
fn measured(shared: &Path) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    for path in files(&shared.join("validation/traces"), &|path| path.extension().is_some_and(|end| end == "csv"))? {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let drive = crate::root().join(format!("validation/drives/{stem}.toml"));
        let (trace, drive) = (format!("validation/traces/{stem}.csv"), drive.to_string_lossy().into_owned());
        let words = ["validate", &trace, "--drive", &drive, "--json"];
        pieces.push(Piece::new(format!("{SHARED}validate/{stem}"), &words, Take::Answer).within(shared));
    }
    let profile = read(&crate::root().join("validation/drives/atlas10k.toml"))?;
    let trace = read(&shared.join("validation/traces/atlas10k.csv"))?;
    let trace: String = trace.lines().take(2001).map(|line| format!("{line}\n")).collect();
    let words = [
        "fit",
        "trace.csv",
        "--drive",
        "drive.toml",
        "-o",
        "fitted.toml",
        "--points",
        "60",
        "--only",
        "overhead",
        "--json",
    ];
    let fit = Piece::new(format!("{SHARED}fit/atlas10k"), &words, Take::Answer);
    pieces.push(fit.with("drive.toml", &profile).with("trace.csv", &trace));
    Ok(pieces)
}

/// Other people's jobs and traces, each for a short time; whether one is refused is a row too.
fn wild(wild: &Path) -> Result<Vec<Piece>, String> {
    let is_job = |path: &Path| {
        let ending = path.extension().unwrap_or_default();
        let traces = path.components().any(|part| part.as_os_str() == "traces");
        traces || ["fio", "job", "ini", "icf"].iter().any(|known| ending == *known)
    };
    let mut pieces = Vec::new();
    for folder in ["fio-examples", "fio-jobs", "iometer", "traces"] {
        for path in files(&wild.join(folder), &is_job)? {
            let text = String::from_utf8_lossy(&fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?)
                .into_owned();
            let name = path.strip_prefix(wild).unwrap_or(&path).to_string_lossy().into_owned();
            let runtime = if name.ends_with(".icf") { "20ms" } else { "2s" };
            let runtime = (folder != "traces").then_some(runtime);
            let mut piece = Piece::job(format!("{SHARED}wild/{name}"), &name, DRIVE, runtime, &[]).within(wild);
            piece.may_refuse = true;
            // A trace has none, and its bytes may be anything.
            piece.variables = if folder == "traces" { Vec::new() } else { variables(&text) };
            pieces.push(piece);
        }
    }
    Ok(pieces)
}

/// The variables that a job file refers to, with values that fit their names.
fn variables(text: &str) -> Vec<(String, &'static str)> {
    let names = text.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned());
    let value = |name: &str| {
        let name = name.to_ascii_uppercase();
        let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
        match () {
            () if has(&["ENGINE"]) => "libaio",
            () if has(&["READ_TYPE", "FIO_RW"]) => "randread",
            () if has(&["MIX"]) => "70",
            () if has(&["BLOCK", "BS"]) => "4k",
            () if has(&["SIZE"]) => "1g",
            () if has(&["TIME"]) => "10",
            () if has(&["DEV", "FILENAME", "DISK"]) => "/dev/sdb",
            () if has(&["DIRECTORY"]) || has(&["DIR"]) && !has(&["DIRECT"]) => "/mnt",
            () if has(&["DIRECT"]) => "1",
            () => "4",
        }
    };
    names.map(|name| (name.clone(), value(&name))).collect()
}

/// All wanted files below a folder, sorted.
fn files(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, String> {
    let fault = |why: std::io::Error| format!("{}: {why}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        entries.push(entry.map_err(fault)?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, wanted)?);
        } else if wanted(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_shortened_at_its_top_alone() {
        let text = "# a study\nseed = 3\nruns = 5      # each\nruntime = \"10 m\"\nramp = \"100 ms\"\ncuts = 200\n[stack]\nruns = 9\n";
        let short =
            "# a study\nseed = 3\nruns = 2\nruntime = \"2 s\"\nramp = \"100 ms\"\ncuts = 10\n[stack]\nruns = 9\n";
        assert_eq!(shortened(text), short);
        assert_eq!(shortened(short), short);
    }

    #[test]
    fn every_built_in_study_with_cells_is_run_and_short() {
        let studies = studies().unwrap();
        assert!(studies.len() > 50, "{}", studies.len());
        for study in &studies {
            let text = &study.files[0].1;
            let runs = |line: &&str| line.starts_with("runs = ");
            assert!(
                text.lines().find(runs).is_none_or(|line| ["runs = 1", "runs = 2", "runs = 3"].contains(&line)),
                "{}",
                study.name
            );
        }
    }

    #[test]
    fn a_row_names_its_run_and_a_beginning_names_several() {
        let piece = study("ncq-alone", "", "--fixed");
        let wanted = |row: &str| piece.is_wanted(&[row.to_owned()]);
        assert!(
            piece.is_wanted(&[]) && wanted("study/ncq-alone/claim/Q3") && wanted("study/") && wanted("study/ncq-alone")
        );
        assert!(!wanted("study/ncq-alone-2/records") && !wanted("drive/"));
    }

    #[test]
    fn presets_are_those_that_the_program_lists() {
        let keys = serde_json::json!([{"keys": [{"key": "array", "takes": "none, raid-1, linear"}]}, {"keys": [{"key": "array", "takes": "x"}]}]);
        let found = presets(&keys);
        assert_eq!(found["array"], ["raid-1", "linear"]);
        let count = |preset: &str| layers(&found).iter().filter(|piece| piece.name.contains(preset)).count();
        assert_eq!(
            (count("raid-1"), count("linear")),
            (12, 4),
            "whole, without a drive and with a bitmap; no redundancy"
        );
    }
}
