//! Every option that writes a file, combined with everything that may be at the path. In each combination the command is refused and
//! changes nothing, or the file is complete and nothing else has changed. `--nocapture` prints the table.
//!
//! The paths are links, devices, images of mounted disks, the command's own input, another program's `NAME.part`, other folders, a path
//! that a second run writes, and files on a full or read-only file system. Cases that need root are skipped without it.

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::seekwise::{ProgramOutput, program_command, program_output};

/// A command that writes a file or folder. `OUT` in its words stands for the path of that.
#[derive(Clone, Copy)]
struct Writer {
    /// The name in the table.
    name: &'static str,
    words: &'static str,
    /// An input file of the command, which must not be its output; `None` if it reads no files.
    input: Option<&'static str>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A file with the same bytes each time.
    Same,
    /// A file whose bytes are not compared, for example because they contain real times.
    File,
    /// A file that a job names.
    Named,
    /// A folder with the same bytes each time.
    Folder,
}

const fn writer(name: &'static str, kind: Kind, input: Option<&'static str>, words: &'static str) -> Writer {
    Writer { name, words, input, kind }
}

/// All options that write. The inputs `j.fio`, `t.csv`, `x.parv`, `d.toml`, `k.find` and the result folder `kept` are in the same folder.
const WRITERS: &[Writer] = &[
    writer("run --log", Kind::Same, Some("j.fio"), "run j.fio --on d.toml --log OUT --force"),
    writer("run: write_iolog", Kind::Named, Some("n.fio"), "run n.fio --on d.toml --force"),
    writer("run --svg", Kind::Same, Some("j.fio"), "run j.fio --on d.toml --svg OUT --force"),
    writer("run --png", Kind::Same, Some("d.toml"), "run j.fio --on d.toml --png OUT --force"),
    writer("run --out", Kind::Folder, Some("j.fio"), "run j.fio --on d.toml --out OUT --force"),
    writer("exec --receipt", Kind::File, None, "exec --on null --fs none --receipt OUT --force -- true"),
    writer(
        "compare --svg",
        Kind::Same,
        Some("j.fio"),
        "compare j.fio --on d.toml --vary job.depth=1,2 --runs 2 --svg OUT --force",
    ),
    writer(
        "compare --png",
        Kind::Same,
        Some("d.toml"),
        "compare j.fio --on d.toml --vary job.depth=1,2 --runs 2 --png OUT --force",
    ),
    writer(
        "compare --page",
        Kind::Same,
        Some("d.toml"),
        "compare j.fio --on d.toml --vary job.depth=1,2 --runs 2 --page OUT --force",
    ),
    writer(
        "compare --out",
        Kind::Folder,
        Some("j.fio"),
        "compare j.fio --on d.toml --vary job.depth=1,2 --runs 2 --out OUT --force",
    ),
    writer("study --out", Kind::Folder, Some("s.toml"), "study s.toml --out OUT --force"),
    writer("power-cut --svg", Kind::Same, Some("j.fio"), "power-cut j.fio --on d.toml --cuts 2 --svg OUT --force"),
    writer("power-cut --page", Kind::Same, Some("d.toml"), "power-cut j.fio --on d.toml --cuts 2 --page OUT --force"),
    writer("drives --svg", Kind::Same, Some("d.toml"), "drives d.toml --svg OUT --force"),
    writer(
        "rebuild --page",
        Kind::Same,
        Some("d.toml"),
        "rebuild --on d.toml --array raid-1 --drives 2 --live 1% --page OUT --force",
    ),
    writer("validate --svg", Kind::Same, Some("t.csv"), "validate t.csv --drive d.toml --svg OUT --force"),
    writer("validate --page", Kind::Same, Some("d.toml"), "validate t.csv --drive d.toml --page OUT --force"),
    writer("validate --log", Kind::Same, Some("t.csv"), "validate t.csv --drive d.toml --log OUT --force"),
    writer("report --svg", Kind::Same, Some("kept/results.jsonl"), "report kept --svg OUT --force"),
    writer("flush-audit --svg", Kind::Same, Some("d.toml"), "flush-audit d.toml --svg OUT --force"),
    writer(
        "fit --out",
        Kind::Same,
        Some("t.csv"),
        "fit t.csv --drive d.toml --only overhead.read_miss_ms --generations 1 -o OUT --force",
    ),
    writer(
        "fit --page",
        Kind::File,
        Some("d.toml"),
        "fit t.csv --drive d.toml --only overhead.read_miss_ms --generations 1 -o f.toml --page OUT --force",
    ),
    writer("explain --out", Kind::Same, None, "explain c3 --only drive.link.rate_mb_s --alone --out OUT --force"),
    writer("export --out", Kind::Same, Some("d.toml"), "export latency --on d.toml --runtime 1s --out OUT --force"),
    writer("import --out", Kind::Same, Some("x.parv"), "import disksim x.parv --out OUT --force"),
    writer("init --out", Kind::Same, None, "init stack --out OUT --force"),
    writer(
        "serve --image",
        Kind::File,
        Some("d.img"),
        "serve d.toml --nbd unix:s --base d.img --image OUT --run -- true",
    ),
    writer("crash --image", Kind::Same, Some("k.find"), "crash --again k.find --image OUT --force"),
    writer("serve --record", Kind::File, Some("d.toml"), "serve d.toml --nbd unix:s --record OUT --run -- true"),
    writer("man", Kind::Folder, None, "man OUT"),
];

/// Dangers at the path of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Danger {
    Link,
    DanglingLink,
    Device,
    MountedLoop,
    OwnInput,
    ForeignPart,
    ForeignFolder,
    TwoWriters,
    NoSpace,
    ReadOnly,
}

const DANGERS: [Danger; 10] = [
    Danger::Link,
    Danger::DanglingLink,
    Danger::Device,
    Danger::MountedLoop,
    Danger::OwnInput,
    Danger::ForeignPart,
    Danger::ForeignFolder,
    Danger::TwoWriters,
    Danger::NoSpace,
    Danger::ReadOnly,
];

/// The result of a cell; an error is a failure of the test.
type Cell = Result<&'static str, String>;

const REFUSED: Cell = Ok("refused");
const WHOLE: Cell = Ok("whole");
const SKIPPED: Cell = Ok("skipped");
const NONE: Cell = Ok("-");

/// Writes the input files: a trace for `fit` and `validate`, a drive, short jobs and a study. `log` is the log of `n.fio`.
fn write_inputs(folder: &Path, log: &str) {
    let at = |name: &str| folder.join(name);
    let mut trace = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
    for index in 0..400_u64 {
        let (lba, ms) = (index * 7_368_787 % 300_000_000, 6.0 + (index * 37 % 120) as f64 / 10.0);
        trace += &format!("{lba},8,R,{ms},5\n");
    }
    let job = "[j]\nioengine=libaio\ndirect=1\nrw=randrw\nbs=4k\nsize=1g\nnumber_ios=50\n";
    fs::write(at("t.csv"), trace).unwrap();
    fs::write(at("j.fio"), job).unwrap();
    fs::write(at("n.fio"), format!("{job}write_iolog={log}\n")).unwrap();
    fs::write(at("d.toml"), include_str!("../../drives/profiles/barracuda-7200.7-ncq.toml")).unwrap();
    fs::write(at("x.parv"), crate::import::CONTRADICTORY).unwrap();
    fs::write(at("d.img"), "begins so").unwrap();
    fs::write(at("k.find"), kept_find()).unwrap();
    fs::write(at("precious"), "mine").unwrap();
    let study = "title = 'Depth'\nquestion = 'Does a queue help?'\nruns = 2\njob = 'j.fio'\n[stack]\n\
                 drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n\
                 [[compare]]\nname = 'queue'\nfactor = 'depth'\nfrom = '1'\nto = '8'\n";
    fs::write(at("s.toml"), study).unwrap();
}

/// A find of `crash --keep`: a disk of 64 KiB whose second sector was written.
fn kept_find() -> Vec<u8> {
    use seekwise_lab::digest::sha256;
    let (bytes, data) = (65_536_u64, [7_u8; 512]);
    let content = sha256(&[&bytes.to_le_bytes()[..], &1_u64.to_le_bytes(), &data].concat());
    let index = serde_json::json!({
        "made_by": "by hand", "command": "seekwise crash", "title": "work on a disk", "fs": null, "verdict": "corrupt", "words": "gone",
        "promises": 1, "earlier_cuts_ns": [], "cut_ns": 9, "disk_bytes": bytes, "content": content, "base": [], "unreadable": [],
        "writes": [{
            "stamp": 1, "lba": 1, "sectors": 1, "zeroes": false, "accepted_ns": 3, "acknowledged_ns": null, "promised_ns": null,
            "lost": [], "explains": false, "purpose": null,
        }],
    });
    let sealed = [format!("seekwise crash find 1\n{index}\n").as_bytes(), &data].concat();
    [&sealed[..], sha256(&sealed).as_bytes(), b"\n"].concat()
}

/// The files below a folder, each with mode, length, and a hash of its content or the target of a link. Empty folders are left out.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(&inside).unwrap() {
            let path = entry.unwrap().path();
            let of = fs::symlink_metadata(&path).unwrap();
            let what = match of.file_type() {
                kind if kind.is_dir() => {
                    folders.push(path);
                    continue;
                }
                kind if kind.is_symlink() => fs::read_link(&path).unwrap().display().to_string(),
                // Only images are larger; for them the first 9 MiB are enough.
                kind if kind.is_file() => {
                    use std::io::Read;
                    let mut head = Vec::new();
                    fs::File::open(&path).unwrap().take(9 << 20).read_to_end(&mut head).unwrap();
                    seekwise_lab::digest::sha256(&head)
                }
                _ => "special".to_owned(),
            };
            let name = path.strip_prefix(folder).unwrap().to_owned();
            all.insert(name, format!("{:o} {} {what}", of.mode(), of.len()));
        }
    }
    // The socket of a server is not compared.
    all.remove(Path::new("s"));
    all
}

/// The command of a writer in a folder, with `out` as the path of its output.
fn writer_command(writer: &Writer, folder: &Path, out: &str) -> Command {
    let mut command = program_command(folder);
    command.args(writer.words.split(' ').map(|word| if word == "OUT" { out } else { word }));
    command
}

fn run_writer(writer: &Writer, folder: &Path, out: &str) -> ProgramOutput {
    program_output(writer_command(writer, folder, out).output().unwrap())
}

/// Runs a writer whose output must be refused: nothing changes, and the error names the output.
fn expect_refused(writer: &Writer, folder: &Path, out: &str) -> Cell {
    let before = snapshot(folder);
    let found = run_writer(writer, folder, out);
    let changed = snapshot(folder) != before;
    match found.code {
        2 if !changed && found.err.replace("\n  ", "").contains(out.rsplit('/').next().unwrap_or(out)) => REFUSED,
        code => Err(format!("exit {code}, changed: {changed}: {}", found.err)),
    }
}

/// Runs a writer whose output must be complete: it equals the reference, and nothing else changes.
fn expect_whole(writer: &Writer, folder: &Path, out: &str, reference: &Reference) -> Cell {
    let before = snapshot(folder);
    let found = run_writer(writer, folder, out);
    match found.code {
        0 => check_output(writer, folder, out, &before, reference),
        code => Err(format!("exit {code}: {}", found.err)),
    }
}

/// Compares a folder after a run: the output must equal the reference, and nothing else may differ from `before`.
fn check_output(
    writer: &Writer,
    folder: &Path,
    out: &str,
    before: &BTreeMap<PathBuf, String>,
    reference: &Reference,
) -> Cell {
    let mut after = snapshot(folder);
    let mut own = BTreeMap::new();
    for name in after.keys().cloned().collect::<Vec<_>>() {
        if before.get(&name) != after.get(&name) && (name.starts_with(out) || name.starts_with("f.toml")) {
            own.insert(name.clone(), after.remove(&name).unwrap());
        }
    }
    let others: BTreeMap<_, _> = before.iter().filter(|(name, _)| !own.contains_key(*name)).collect();
    let same = after.iter().collect::<BTreeMap<_, _>>() == others;
    match (same, own.is_empty(), writer.kind) {
        (false, ..) => Err(format!("something else changed: {after:?}")),
        (_, true, _) => Err("there is no output".to_owned()),
        (_, _, Kind::Same | Kind::Folder) if own != reference.0 => Err(format!("it is not whole: {own:?}")),
        _ => WHOLE,
    }
}

/// The output of a writer without any danger at its path.
struct Reference(BTreeMap<PathBuf, String>);

impl Reference {
    fn of(writer: &Writer, out: &str) -> Result<Reference, String> {
        let folder = folder_with_inputs(out);
        let before = snapshot(folder.path());
        let found = run_writer(writer, folder.path(), out);
        let mut after = snapshot(folder.path());
        after.retain(|name, _| !before.contains_key(name));
        match (found.code, after.is_empty()) {
            (0, false) => Ok(Reference(after)),
            (code, _) => Err(format!("exit {code}, with nothing in its way: {}", found.err)),
        }
    }
}

fn folder_with_inputs(out: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    write_inputs_and_results(folder.path(), out);
    folder
}

/// Writes the input files and the result folder `kept`, which is made once for all tests.
fn write_inputs_and_results(folder: &Path, out: &str) {
    write_inputs(folder, out);
    static KEPT: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut kept = KEPT.lock().unwrap();
    if kept.is_empty() {
        let place = tempfile::tempdir().unwrap();
        write_inputs(place.path(), out);
        program_output(program_command(place.path()).args(["study", "s.toml", "--out", "kept"]).output().unwrap())
            .success_stdout();
        for entry in fs::read_dir(place.path().join("kept")).unwrap() {
            let entry = entry.unwrap();
            kept.insert(entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        }
    }
    fs::create_dir(folder.join("kept")).unwrap();
    kept.iter().for_each(|(name, bytes)| fs::write(folder.join("kept").join(name), bytes).unwrap());
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

fn run_tool(words: &[&str]) -> Result<String, String> {
    let (program, words) = words.split_first().unwrap();
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text).ok_or(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A mount, unmounted when dropped.
struct Mount(PathBuf);

impl Mount {
    fn tmpfs(on: &Path, options: &str) -> Option<Mount> {
        let done = run_tool(&["mount", "-t", "tmpfs", "-o", options, "tmpfs", on.to_str()?]);
        done.ok().map(|_| Mount(on.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = run_tool(&["umount", "-d", &self.0.display().to_string()]);
    }
}

/// The name of the output; it is not in a subfolder, because jobs accept no folder for their logs.
const OUT: &str = "out.file";

fn check_cell(writer: &Writer, danger: Danger, reference: &Reference) -> Cell {
    let folder = folder_with_inputs(OUT);
    let at = folder.path();
    match danger {
        Danger::Link => {
            let to = if writer.kind == Kind::Folder { "kept" } else { "precious" };
            symlink(to, at.join(OUT)).unwrap();
            expect_refused(writer, at, OUT)
        }
        Danger::DanglingLink => {
            symlink("nowhere", at.join(OUT)).unwrap();
            expect_refused(writer, at, OUT)
        }
        Danger::Device if writer.kind == Kind::Named => check_device(writer, at),
        Danger::Device => expect_refused(writer, at, "/dev/zero").and_then(|_| check_device(writer, at)),
        Danger::MountedLoop => check_mounted_image(writer, at),
        Danger::OwnInput => check_own_input(writer, at),
        Danger::ForeignPart => {
            symlink("precious", at.join(format!("{OUT}.part"))).unwrap();
            if writer.kind == Kind::Folder {
                fs::create_dir(at.join(OUT)).unwrap();
                for name in ["report.html", "made-from.json", "study.toml", "sums.txt", "results.jsonl", "seekwise.1"] {
                    symlink("../precious", at.join(OUT).join(format!("{name}.part"))).unwrap();
                }
            }
            expect_whole(writer, at, OUT, reference)
        }
        Danger::ForeignFolder => check_foreign_folder(writer, at),
        Danger::TwoWriters => check_two_writers(writer, at, reference),
        Danger::NoSpace => check_full_file_system(writer, reference),
        Danger::ReadOnly => check_read_only_file_system(writer),
    }
}

/// A block device under a name in the folder.
fn check_device(writer: &Writer, at: &Path) -> Cell {
    // No driver has this device number, so opening it touches no real device.
    match run_tool(&["mknod", &at.join(OUT).display().to_string(), "b", "240", "77"]) {
        Ok(_) => expect_refused(writer, at, OUT),
        Err(_) => SKIPPED,
    }
}

/// The output is the image of a mounted file system.
fn check_mounted_image(writer: &Writer, at: &Path) -> Cell {
    let (image, mount) = (at.join(OUT), tempfile::tempdir().unwrap());
    let file = fs::File::create(&image).unwrap();
    // The image is as large as the drive, because another size would be refused for that reason.
    file.set_len(160_041_885_696).unwrap();
    let (image, on) = (image.display().to_string(), mount.path().display().to_string());
    let made = run_tool(&["mkfs.ext4", "-q", "-F", "-E", "nodiscard", &image, "8m"])
        .and_then(|_| run_tool(&["mount", "-o", "loop,ro", &image, &on]));
    if !is_root() || made.is_err() {
        return SKIPPED;
    }
    let _mounted = Mount(mount.path().to_owned());
    let mut writer = *writer;
    // Without `--base`, since with it an existing image would be refused for that reason.
    let words = writer.words.replace(" --base d.img", "");
    writer.words = words.leak();
    let cell = expect_refused(&writer, at, OUT)?;
    assert!(mount.path().join("lost+found").exists());
    Ok(cell)
}

fn check_own_input(writer: &Writer, at: &Path) -> Cell {
    let Some(input) = writer.input else { return NONE };
    if writer.kind == Kind::Named {
        write_inputs(at, input);
    }
    expect_refused(writer, at, input)
}

/// The folder belongs to another user, who lets others read it.
fn check_foreign_folder(writer: &Writer, at: &Path) -> Cell {
    const NOBODY: u32 = 65534;
    let as_nobody = |mut command: Command| command.uid(NOBODY).gid(NOBODY).stdin(Stdio::null()).output();
    let mut version = program_command(at);
    version.arg("--version");
    if !is_root() || !as_nobody(version).is_ok_and(|output| output.status.success()) {
        return SKIPPED;
    }
    chown(at, Some(12345), Some(12345)).unwrap();
    let before = snapshot(at);
    let found = program_output(as_nobody(writer_command(writer, at, OUT)).unwrap());
    match found.code {
        2 if snapshot(at) == before => REFUSED,
        code => Err(format!("exit {code}: {}", found.err)),
    }
}

/// Two commands write the same output at once, with and without `--force`.
fn check_two_writers(writer: &Writer, at: &Path, reference: &Reference) -> Cell {
    for force in [" --force", ""] {
        let other = Writer { words: writer.words.replace(" --force", force).leak(), ..*writer };
        let before = snapshot(at);
        // The second has another socket.
        let second = Writer { words: other.words.replace("unix:s", "unix:s2").leak(), ..other };
        let start = |writer: &Writer| {
            writer_command(writer, at, OUT).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let running = [start(&other), start(&second)];
        let ended = running.map(|run| program_output(run.wait_with_output().unwrap()));
        let codes = ended.each_ref().map(|said| said.code);
        if !codes.contains(&0) || codes.iter().any(|code| ![0, 2].contains(code)) {
            return Err(format!("{codes:?}: {}{}", ended[0].err, ended[1].err));
        }
        check_output(writer, at, OUT, &before, reference)?;
        for name in [OUT, "f.toml"] {
            let _ = fs::remove_file(at.join(name));
        }
        let _ = fs::remove_dir_all(at.join(OUT));
    }
    WHOLE
}

fn check_full_file_system(writer: &Writer, reference: &Reference) -> Cell {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let Some(_mounted) = Mount::tmpfs(at, "size=2m") else { return SKIPPED };
    write_inputs_and_results(at, OUT);
    // The filler takes all space.
    let _ = fs::write(at.join("filler"), vec![1; 2 << 20]);
    let before = snapshot(at);
    let found = run_writer(writer, at, OUT);
    match found.code {
        // An image without a write takes no space.
        0 => check_output(writer, at, OUT, &before, reference),
        2 if snapshot(at) == before => REFUSED,
        code => Err(format!("exit {code}, {:?}: {}", snapshot(at), found.err)),
    }
}

fn check_read_only_file_system(writer: &Writer) -> Cell {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let Some(_mounted) = Mount::tmpfs(at, "size=2m") else { return SKIPPED };
    write_inputs_and_results(at, OUT);
    if run_tool(&["mount", "-o", "remount,ro", &at.display().to_string()]).is_err() {
        return SKIPPED;
    }
    let found = run_writer(writer, at, OUT);
    match found.code {
        2 => REFUSED,
        code => Err(format!("exit {code}: {}", found.err)),
    }
}

/// The second name may be spelled differently.
#[test]
fn two_outputs_of_a_command_under_one_name_are_refused() {
    let folder = folder_with_inputs("out.log");
    let at = folder.path();
    let before = snapshot(at);
    for words in [
        "run n.fio --on d.toml --log ./out.log --force",
        "drives d.toml --svg p --png ./p --force",
        "fit t.csv --drive d.toml --only overhead.read_miss_ms --generations 1 -o f.toml --page kept/../f.toml --force",
    ] {
        let found = program_output(program_command(at).args(words.split(' ')).output().unwrap());
        assert!(found.code == 2 && found.err.contains("another output of this command goes there"), "{}", found.err);
        assert_eq!(snapshot(at), before, "{words}");
    }
}

/// Runs as root only.
#[test]
fn a_file_that_changes_its_owner_by_force_is_its_new_owners_alone() {
    const NOBODY: u32 = 65534;
    let folder = folder_with_inputs(OUT);
    let at = folder.path();
    let path = at.join(OUT);
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    let mut init = program_command(at);
    init.args(["init", "stack", "--out", OUT, "--force"]).uid(NOBODY).gid(NOBODY).stdin(Stdio::null());
    if !is_root() || chown(&path, Some(12345), Some(12345)).is_err() || chown(at, Some(NOBODY), Some(NOBODY)).is_err() {
        return println!("skipped: only root gives files away");
    }
    let Ok(output) = init.output() else { return println!("skipped: nobody else may run the program") };
    program_output(output).success_stdout();
    let of = fs::metadata(&path).unwrap();
    assert_eq!((of.uid(), of.gid(), of.mode() & 0o777), (NOBODY, NOBODY, 0o600));
}

#[test]
fn every_output_is_refused_or_whole() {
    let next = Mutex::new(WRITERS.iter());
    let rows = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(writer) = next.lock().unwrap().next() else { return };
                    let reference = Reference::of(writer, OUT);
                    let cells = DANGERS.map(|danger| {
                        reference
                            .as_ref()
                            .map_err(Clone::clone)
                            .and_then(|reference| check_cell(writer, danger, reference))
                    });
                    rows.lock().unwrap().insert(writer.name, cells);
                }
            });
        }
    });
    let rows = rows.into_inner().unwrap();
    println!("| option | {} |", DANGERS.map(|danger| format!("{danger:?}")).join(" | "));
    let mut failed = Vec::new();
    for writer in WRITERS {
        let cells = &rows[writer.name];
        let words = cells.iter().map(|cell| cell.as_ref().map_or("FAILED", |word| word));
        println!("| {} | {} |", writer.name, words.collect::<Vec<_>>().join(" | "));
        for (danger, cell) in DANGERS.iter().zip(cells) {
            failed.extend(cell.as_ref().err().map(|why| format!("{}, {danger:?}: {why}", writer.name)));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A command without an output option creates no file, not even a temporary one, so it works where nothing can be written. A command
/// that writes shows that the test would notice a file.
#[test]
fn who_keeps_nothing_creates_no_file() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: calls of the kernel, which there is no strace to show");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let calls = folder.path().join("calls");
    let creates = |words: &[&str]| -> Vec<String> {
        let mut program = Command::new("strace");
        program.args(["-f", "-e", "trace=open,openat,openat2,creat,mkdir,mkdirat,memfd_create", "-o"]).arg(&calls);
        let output = program.arg(env!("CARGO_BIN_EXE_seekwise")).args(words).current_dir(folder.path()).output();
        assert!(output.unwrap().status.success(), "{words:?}");
        let is_new =
            |line: &&str| ["O_CREAT", "O_TMPFILE", "creat(", "mkdir", "memfd"].iter().any(|it| line.contains(it));
        fs::read_to_string(&calls).unwrap().lines().filter(is_new).map(str::to_owned).collect()
    };
    let compare =
        ["compare", "random-read", "--on", "barracuda-7200.7-ncq", "--vary", "job.depth=1,2", "--runtime", "200 ms"];
    assert_eq!(creates(&compare), [""; 0]);
    assert_eq!(creates(&[&compare[..], &["--until-decided"]].concat()), [""; 0]);
    assert_eq!(creates(&["run", "random-read", "--on", "barracuda-7200.7-ncq", "--runtime", "200 ms"]), [""; 0]);
    assert!(!creates(&[&compare[..], &["--out", "kept"]].concat()).is_empty());
}
