//! Plans the commands whose results are hashed: built-in studies with their claims, every drive, array, driver,
//! scheduler and other layer, patterns, the repository's jobs, traces, recordings and logs, power cuts, and fits; also
//! other people's files, if they are there. The program lists its own drives, presets and patterns, so that each new
//! one becomes a new row.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The beginning of rows whose files are not part of the project.
pub const SHARED: &str = "shared/";

/// Runs of each cell of a study.
const RUNS_OF_CELL: u32 = 2;

/// The most seconds of a run, and of the ramp before it.
const MAX_SECONDS: [(&str, f64); 2] = [("runtime", 2.0), ("ramp", 0.5)];

/// Power cuts of a study's cell.
const CUTS_OF_CELL: u32 = 10;

/// The drive of jobs that name none.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// The workloads that run on every drive and layer.
const SHORT_WORKLOADS: [&str; 4] = ["random-read", "random-write", "streaming-read", "file-server"];

/// A recorded session: four requests, a flush and orders.
const RECORDING: &str = "# seekwise recording 1\n# a drive\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
    0,0,9000000,done,read,1000,8,0,0\n1,1000000,19000000,done,write,90000000,16,1,1\norder,15000000,drive.cache.write_back=false\n\
    2,20000000,30000000,done,write,90000016,16,0,0\n3,31000000,39000000,done,flush,0,0,0,0\n4,50000000,59000000,done,read,5000,256,0,0\n";

/// A few measured figures, for a short fit.
const CURVE: &str = "rw,depth,bs,iops\nrandread,1,4k,77\nrandread,4,4k,110\nrandread,32,4k,170\nrandwrite,1,4k,150\nrandwrite,8,4k,160\n";

/// A job that writes fio's log of its requests.
const LOGGED_JOB: &str = "[global]\nbs=4k\nsize=1g\nnumber_ios=200\n[one]\nrw=randrw\niodepth=4\nioengine=libaio\nwrite_iolog=one.log\n[two]\nrw=write\nwrite_iolog=two.log\n";

/// The part of a run's results that is hashed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashedPart {
    /// The JSON on standard output.
    Answer,
    /// The text on standard output.
    Text,
    /// The records, the verdicts and each claim of a study, in a row each.
    Study,
    /// The pages of the Parquet file of this name.
    Parquet(&'static str),
    /// All written files with this extension, as text.
    Logs(&'static str),
}

/// One run of the program.
#[derive(Clone, Debug)]
pub struct PlannedRun {
    /// The name of its row, or the beginning of the names of its rows.
    pub name: String,
    /// The program's arguments.
    pub words: Vec<String>,
    /// The working directory, if it is not a folder of its own.
    pub folder: Option<PathBuf>,
    /// Files that its own folder has before it runs: name and text.
    pub files: Vec<(&'static str, String)>,
    /// Environment variables: name and value.
    pub variables: Vec<(String, &'static str)>,
    pub hashed_part: HashedPart,
    /// Whether the program may refuse its file; some jobs of other people do what no disk can do.
    pub may_refuse: bool,
}

impl PlannedRun {
    fn new(name: String, words: &[&str], hashed_part: HashedPart) -> PlannedRun {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        PlannedRun {
            name,
            words,
            folder: None,
            files: Vec::new(),
            variables: Vec::new(),
            hashed_part,
            may_refuse: false,
        }
    }

    /// A run of a job, or of a pattern by its name.
    fn job(name: String, job: &str, target: &str, runtime: Option<&str>, sets: &[&str]) -> PlannedRun {
        let mut words = vec!["run", job, "--on", target, "--json"];
        words.extend(runtime.iter().flat_map(|runtime| ["--runtime", runtime]));
        words.extend(sets.iter().flat_map(|set| ["--set", set]));
        PlannedRun::new(name, &words, HashedPart::Answer)
    }

    fn with_file(mut self, name: &'static str, text: &str) -> PlannedRun {
        self.files.push((name, text.to_owned()));
        self
    }

    fn in_folder(mut self, folder: &Path) -> PlannedRun {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Whether one of these rows belongs to this run; all are wanted if none is named.
    pub fn is_wanted(&self, rows: &[String]) -> bool {
        let beginning = format!("{}/", self.name);
        rows.is_empty() || rows.iter().any(|row| self.name.starts_with(row.as_str()) || row.starts_with(&beginning))
    }
}

/// All runs. Those of studies are first, since they take longest.
pub struct Plan {
    pub runs: Vec<PlannedRun>,
    pub lacks_shared: bool,
}

impl Plan {
    pub fn new(program: &Path, shared: Option<&Path>) -> Result<Plan, String> {
        let mut runs = study_runs()?;
        runs.extend(single_runs());
        runs.extend(drive_runs(&entry_names(&list_json(program, "drives")?)?));
        runs.extend(layer_runs(&presets_by_key(&list_json(program, "keys")?)));
        runs.extend(pattern_runs(&list_json(program, "patterns")?)?);
        runs.extend(example_runs()?);
        if let Some(shared) = shared {
            runs.extend(measured_trace_runs(shared)?);
            runs.extend(foreign_file_runs(&shared.join("wild"))?);
        }
        Ok(Plan { runs, lacks_shared: shared.is_none() })
    }
}

/// The JSON of a listing by the program.
fn list_json(program: &Path, listing: &str) -> Result<Value, String> {
    let output = Command::new(program).args([listing, "--json"]).output();
    let output = output.map_err(|why| format!("{}: {why}", program.display()))?;
    serde_json::from_slice(&output.stdout).map_err(|why| format!("`seekwise {listing} --json`: {why}"))
}

fn entry_names(list: &Value) -> Result<Vec<String>, String> {
    let name = |entry: &Value| entry["name"].as_str().map(str::to_owned);
    let entries = list.as_array().into_iter().flatten();
    entries.map(name).collect::<Option<_>>().ok_or_else(|| "an entry without a name".to_owned())
}

/// The built-in studies, shortened. Reviews are their parts.
fn study_runs() -> Result<Vec<PlannedRun>, String> {
    let mut runs = Vec::new();
    for path in find_files(&crate::root().join("crates/lab/studies"), &|path| {
        path.extension().is_some_and(|end| end == "toml")
    })? {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = read(&path)?;
        if text.contains("\n[[factor]]") && path.parent().is_some_and(|folder| folder.ends_with("studies")) {
            runs.push(study_run(&name, &shortened_study(&text), "--fixed"));
        }
    }
    runs.push(study_run("until-decided", include_str!("../small.toml"), "--until-decided"));
    Ok(runs)
}

fn study_run(name: &str, text: &str, sample: &str) -> PlannedRun {
    let words = ["study", "study.toml", sample, "--threads", "1", "--out", "out", "--json"];
    PlannedRun::new(format!("study/{name}"), &words, HashedPart::Study).with_file("study.toml", text)
}

/// The text of a study with few short runs: its top-level numbers are replaced where they are larger.
fn shortened_study(text: &str) -> String {
    let mut is_top = true;
    let lines = text.lines().map(|line| {
        is_top &= !line.starts_with('[');
        let Some((key, value)) = line.split_once(" = ").filter(|_| is_top) else { return format!("{line}\n") };
        let reduced = |max: u32| {
            let number = value.split_whitespace().next()?.parse::<u32>().ok()?;
            (number > max).then(|| format!("{key} = {max}\n"))
        };
        let replacement = match key {
            "runs" => reduced(RUNS_OF_CELL),
            "cuts" | "shutdowns" => reduced(CUTS_OF_CELL),
            _ => MAX_SECONDS
                .iter()
                .find(|(known, _)| *known == key)
                .and_then(|(_, max)| (quoted_seconds(value)? > *max).then(|| format!("{key} = \"{max} s\"\n"))),
        };
        replacement.unwrap_or_else(|| format!("{line}\n"))
    });
    lines.collect()
}

/// The seconds of a quoted duration, such as `"10 m"`.
fn quoted_seconds(value: &str) -> Option<f64> {
    let (number, unit) = value.trim().strip_prefix('"')?.split_once('"')?.0.split_once(' ')?;
    let unit = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)].iter().find(|(name, _)| *name == unit)?.1;
    number.parse::<f64>().ok().map(|number| number * unit)
}

/// Power cuts: the row's name, and the arguments of `power-cut`.
const POWER_CUTS: [(&str, &str); 5] = [
    ("flushed", "critical-writes --on caviar-wd400jb --cuts 100 --runtime 10s"),
    ("unflushed", "random-write --on barracuda-7200.7-ncq --cuts 200 --runtime 10s"),
    ("raid-5", "random-write --on cheetah-15k.4 --set array=raid-5 --cuts 200 --runtime 10s"),
    ("scene", "database-beside-copy --on barracuda-7200.7 --set volume.data.barrier=off --cuts 50"),
    ("shutdown", "random-write --on caviar-wd400jb --set driver=windows-98 --shutdown --cuts 10 --runtime 2s"),
];

/// A file's name, and its text.
type NamedText = (&'static str, &'static str);

/// A comparison, a fit, logs and recordings: the row's name, the arguments without the drive, the hashed part, and a
/// file that is written before.
const SINGLE_COMMANDS: [(&str, &str, HashedPart, Option<NamedText>); 6] = [
    (
        "compare/depth",
        "compare random-write --vary drive.firmware.depth=1,32 --set job.depth=32 --runtime 1s --metric iops --metric p99 --json --out out",
        HashedPart::Answer,
        None,
    ),
    (
        "fit/curve",
        "fit curve.csv,hold=none -o fitted.toml --points 60 --only overhead,firmware.queue --json",
        HashedPart::Answer,
        Some(("curve.csv", CURVE)),
    ),
    (
        "log/parquet",
        "run file-server --runtime 2s --set job.depth=8 --log log.parquet",
        HashedPart::Parquet("log.parquet"),
        None,
    ),
    ("log/iolog", "run job.fio --seed 5", HashedPart::Logs("log"), Some(("job.fio", LOGGED_JOB))),
    ("recording/played", "run session.csv --json", HashedPart::Answer, Some(("session.csv", RECORDING))),
    (
        "recording/as-trace",
        "run session.csv --trace-format recording --json",
        HashedPart::Answer,
        Some(("session.csv", RECORDING)),
    ),
];

/// The power cuts, the single commands, and two other formats of output.
fn single_runs() -> Vec<PlannedRun> {
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let mut runs: Vec<PlannedRun> = POWER_CUTS
        .iter()
        .map(|(name, line)| {
            let words = [&["power-cut"][..], &words(line), &["--json", "--seed", "3"]].concat();
            PlannedRun::new(format!("cut/{name}"), &words, HashedPart::Answer)
        })
        .collect();
    for (name, line, hashed_part, file) in SINGLE_COMMANDS {
        let drive_option = if line.starts_with("fit ") { "--drive" } else { "--on" };
        let run = PlannedRun::new(name.to_owned(), &[&words(line)[..], &[drive_option, DRIVE]].concat(), hashed_part);
        runs.push(file.into_iter().fold(run, |run, (file, text)| run.with_file(file, text)));
    }
    for (format, hashed_part) in [("fio-json", HashedPart::Answer), ("csv", HashedPart::Text)] {
        let words = ["run", "docs/examples/oltp.fio", "--on", "exos-x18", "--runtime", "1s", "--format", format];
        runs.push(PlannedRun::new(format!("format/{format}"), &words, hashed_part).in_folder(&crate::root()));
    }
    runs
}

/// Each drive under short workloads, and its figures and everyday cases.
fn drive_runs(names: &[String]) -> Vec<PlannedRun> {
    let mut runs = Vec::new();
    for name in names {
        runs.push(PlannedRun::new(
            format!("drive/{name}/check"),
            &["drives", name, "--check", "--json"],
            HashedPart::Answer,
        ));
        runs.push(PlannedRun::new(format!("drive/{name}/figures"), &["drives", name, "--json"], HashedPart::Answer));
        runs.extend(
            SHORT_WORKLOADS
                .map(|work| PlannedRun::job(format!("drive/{name}/{work}"), work, name, Some("2s"), &["job.depth=4"])),
        );
    }
    runs
}

/// The presets of each layer and the policies of queues, by key.
fn presets_by_key(keys: &Value) -> HashMap<String, Vec<String>> {
    let entries =
        keys.as_array().into_iter().flatten().flat_map(|section| section["keys"].as_array().into_iter().flatten());
    let key_and_values = |key: &Value| Some((key["key"].as_str()?.to_owned(), key["takes"].as_str()?.to_owned()));
    let list = |takes: &str| takes.split(", ").filter(|word| *word != "none").map(str::to_owned).collect();
    // A key stands in several sections; the first is the stack's.
    let mut presets = HashMap::new();
    for (key, takes) in entries.filter_map(key_and_values) {
        presets.entry(key).or_insert_with(|| list(&takes));
    }
    presets
}

/// Layers: the key, the drive below, and other settings.
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

/// Each preset of each layer under short workloads; arrays also without a drive, and with a bitmap.
fn layer_runs(presets: &HashMap<String, Vec<String>>) -> Vec<PlannedRun> {
    let mut runs = Vec::new();
    let none = Vec::new();
    for (key, drive, settings) in LAYERS {
        for preset in presets.get(key).unwrap_or(&none).iter().filter(|preset| !preset.contains(' ')) {
            let setting = format!("{key}={preset}");
            let mut variants: Vec<&[&str]> = vec![&[]];
            if key == "array" && ["raid-1", "raid-10", "raid-5", "raid-6"].contains(&preset.as_str()) {
                variants.extend([&["array.lose=0"][..], &["array.bitmap=internal"]]);
            }
            for more in variants {
                let sets: Vec<&str> = settings.iter().chain(&[setting.as_str()]).chain(more).copied().collect();
                for work in SHORT_WORKLOADS {
                    let name: String = [key, preset].iter().chain(more).map(|word| format!("{word}/")).collect();
                    runs.push(PlannedRun::job(format!("layer/{name}{work}"), work, drive, Some("1s"), &sets));
                }
            }
        }
    }
    runs
}

/// Each built-in pattern and job for a second, each scene whole.
fn pattern_runs(list: &Value) -> Result<Vec<PlannedRun>, String> {
    let scenes: Vec<bool> = list.as_array().into_iter().flatten().map(|entry| entry["scene"].is_string()).collect();
    let make_run = |(name, is_scene): (String, bool)| {
        let runtime = if is_scene { None } else { Some("1s") };
        PlannedRun::job(format!("job/{name}"), &name, DRIVE, runtime, &[])
    };
    Ok(entry_names(list)?.into_iter().zip(scenes).map(make_run).collect())
}

/// The jobs and files of the manual; those of crates/lab/studies/jobs are built in, and run by their names.
fn example_runs() -> Result<Vec<PlannedRun>, String> {
    let root = crate::root();
    let is_job = |path: &Path| path.extension().is_some_and(|end| end == "fio" || end == "icf");
    let jobs = find_files(&root.join("docs/examples"), &is_job)?;
    let name_from_root = |path: PathBuf| path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
    let mut runs: Vec<PlannedRun> = jobs
        .into_iter()
        .map(name_from_root)
        .map(|job| PlannedRun::job(format!("job/{job}"), &job, DRIVE, Some("2s"), &[]).in_folder(&root))
        .collect();
    let stack = PlannedRun::job(
        "job/docs/examples/stack.toml".to_owned(),
        "random-read",
        "docs/examples/stack.toml",
        Some("2s"),
        &[],
    );
    runs.push(stack.in_folder(&root));
    let drive = read(&root.join("docs/examples/drive.toml"))?;
    runs.push(
        PlannedRun::new(
            "job/docs/examples/drive.toml".to_owned(),
            &["drives", "drive.toml", "--json"],
            HashedPart::Answer,
        )
        .with_file("drive.toml", &drive),
    );
    runs.push(study_run(
        "docs/examples/study.toml",
        &shortened_study(&read(&root.join("docs/examples/study.toml"))?),
        "--fixed",
    ));
    Ok(runs)
}

/// The replay of each measured trace on its fitted drive, and a short fit of one.
fn measured_trace_runs(shared: &Path) -> Result<Vec<PlannedRun>, String> {
    let mut runs = Vec::new();
    for path in find_files(&shared.join("validation/traces"), &|path| path.extension().is_some_and(|end| end == "csv"))?
    {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let drive = crate::root().join(format!("validation/drives/{stem}.toml"));
        let (trace, drive) = (format!("validation/traces/{stem}.csv"), drive.to_string_lossy().into_owned());
        let words = ["validate", &trace, "--drive", &drive, "--json"];
        runs.push(PlannedRun::new(format!("{SHARED}validate/{stem}"), &words, HashedPart::Answer).in_folder(shared));
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
    let fit = PlannedRun::new(format!("{SHARED}fit/atlas10k"), &words, HashedPart::Answer);
    runs.push(fit.with_file("drive.toml", &profile).with_file("trace.csv", &trace));
    Ok(runs)
}

/// Other people's jobs and traces, each for a short time; a refusal is a row too.
fn foreign_file_runs(foreign: &Path) -> Result<Vec<PlannedRun>, String> {
    let is_job = |path: &Path| {
        let ending = path.extension().unwrap_or_default();
        let is_trace = path.components().any(|part| part.as_os_str() == "traces");
        is_trace || ["fio", "job", "ini", "icf"].iter().any(|extension| ending == *extension)
    };
    let mut runs = Vec::new();
    for folder in ["fio-examples", "fio-jobs", "iometer", "traces"] {
        for path in find_files(&foreign.join(folder), &is_job)? {
            let text = String::from_utf8_lossy(&fs::read(&path).map_err(|why| format!("{}: {why}", path.display()))?)
                .into_owned();
            let name = path.strip_prefix(foreign).unwrap_or(&path).to_string_lossy().into_owned();
            let runtime = if name.ends_with(".icf") { "20ms" } else { "2s" };
            let runtime = (folder != "traces").then_some(runtime);
            let mut run =
                PlannedRun::job(format!("{SHARED}wild/{name}"), &name, DRIVE, runtime, &[]).in_folder(foreign);
            run.may_refuse = true;
            // A trace has no variables, and its bytes may be any.
            run.variables = if folder == "traces" { Vec::new() } else { variables_of_job(&text) };
            runs.push(run);
        }
    }
    Ok(runs)
}

/// The variables that a job file refers to, with values that fit their names.
fn variables_of_job(text: &str) -> Vec<(String, &'static str)> {
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
fn find_files(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, String> {
    let fault = |why: std::io::Error| format!("{}: {why}", folder.display());
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        entries.push(entry.map_err(fault)?.path());
    }
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            found.extend(find_files(&path, is_wanted)?);
        } else if is_wanted(&path) {
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
        assert_eq!(shortened_study(text), short);
        assert_eq!(shortened_study(short), short);
    }

    #[test]
    fn every_built_in_study_with_cells_is_run_and_short() {
        let studies = study_runs().unwrap();
        assert!(studies.len() > 50, "{}", studies.len());
        for study in &studies {
            let text = &study.files[0].1;
            let sets_runs = |line: &&str| line.starts_with("runs = ");
            assert!(
                text.lines().find(sets_runs).is_none_or(|line| ["runs = 1", "runs = 2", "runs = 3"].contains(&line)),
                "{}",
                study.name
            );
        }
    }

    #[test]
    fn a_row_names_its_run_and_a_beginning_names_several() {
        let run = study_run("ncq-alone", "", "--fixed");
        let is_wanted_by = |row: &str| run.is_wanted(&[row.to_owned()]);
        assert!(
            run.is_wanted(&[])
                && is_wanted_by("study/ncq-alone/claim/Q3")
                && is_wanted_by("study/")
                && is_wanted_by("study/ncq-alone")
        );
        assert!(!is_wanted_by("study/ncq-alone-2/records") && !is_wanted_by("drive/"));
    }

    #[test]
    fn presets_are_those_that_the_program_lists() {
        let keys = serde_json::json!([{"keys": [{"key": "array", "takes": "none, raid-1, linear"}]}, {"keys": [{"key": "array", "takes": "x"}]}]);
        let found = presets_by_key(&keys);
        assert_eq!(found["array"], ["raid-1", "linear"]);
        let count = |preset: &str| layer_runs(&found).iter().filter(|run| run.name.contains(preset)).count();
        assert_eq!(
            (count("raid-1"), count("linear")),
            (12, 4),
            "whole, without a drive and with a bitmap; no redundancy"
        );
    }
}
