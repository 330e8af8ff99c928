//! The kinds of input: the file that is changed, its place, and the command that reads it. Each begins from small valid
//! files, so that a reader gets far into most changed files.

use std::fmt::Write;
use std::fs;
use std::io::Result;
use std::path::Path;
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

/// A file's name, and the function that makes its text.
type FileSource = (&'static str, fn() -> String);

/// A kind of input.
pub(super) struct InputKind {
    pub(super) name: &'static str,
    /// The file that the program reads.
    file: &'static str,
    origin: Origin,
    /// Other files that the program reads, which are not changed.
    other_files: &'static [FileSource],
    /// Outputs of an earlier run, which are removed before each run.
    outputs: &'static [&'static str],
    /// The program's arguments.
    pub(super) arguments: &'static [&'static str],
    /// If the kind is sealed, the file with the figures ([`STDOUT`]: the output): no change may give others.
    pub(super) figures_file: Option<&'static str>,
}

/// The origin of a kind's unchanged files.
enum Origin {
    /// Texts; one that begins with `@` names a file of the repository.
    Texts(&'static [&'static str]),
    /// The file that the program makes by these commands.
    Made(&'static [&'static [&'static str]]),
    /// A file made by these commands, whose sums are renewed after each change, as by somebody who hides it. Otherwise
    /// a sum would refuse a change before the figures are read.
    Resealed(&'static [&'static [&'static str]]),
}

use Origin::{Made, Resealed, Texts};

/// The file of a folder with the program's output.
pub(super) const STDOUT: &str = "stdout";

/// The part of a report about a folder in which runs are missing, as after an interruption.
const MISSING_RUNS: &str = "\"missing_runs\"";

const DRIVE: &str = "barracuda-7200.7-ncq";

/// The values of the fields that a kind does not set.
const DEFAULT_KIND: InputKind = InputKind {
    name: "",
    file: "",
    origin: Texts(&[]),
    other_files: &[],
    outputs: &[],
    arguments: &[],
    figures_file: None,
};

/// The command that makes a result folder.
const STUDY_COMMANDS: &[&[&str]] = &[&["study", "s.toml"]];

/// The command that makes the folder of a review.
const REVIEW_COMMANDS: &[&[&str]] = &[&["study", "r.toml"]];

/// The command of a fit that ends early, as an interrupted one.
const FIT_COMMANDS: &[&[&str]] = &[&[
    "fit",
    "t.csv",
    "--drive",
    DRIVE,
    "-o",
    "f.toml",
    "--only",
    "overhead.read_miss_ms",
    "--generations",
    "3",
    "--points",
    "12",
]];

const STUDY_FILES: &[FileSource] = &[("s.toml", || STUDY.to_owned())];

const REVIEW_FILES: &[FileSource] = &[("s.toml", || STUDY.to_owned()), ("r.toml", || REVIEW.to_owned())];

/// A kind that changes a file of a sealed result folder, from which a report is made.
const fn sealed_kind(name: &'static str, file: &'static str) -> InputKind {
    let arguments = &["report", "out", "--json"];
    InputKind {
        name,
        file,
        origin: Made(STUDY_COMMANDS),
        other_files: STUDY_FILES,
        arguments,
        figures_file: Some(STDOUT),
        ..DEFAULT_KIND
    }
}

/// All kinds.
pub(super) const KINDS: &[InputKind] = &[
    InputKind {
        name: "fio",
        file: "j.fio",
        origin: Texts(&[FIO, STREAMS]),
        arguments: &["run", "j.fio", "--on", DRIVE, "--json"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "icf",
        file: "j.icf",
        origin: Texts(&[ICF]),
        arguments: &["run", "j.icf", "--on", DRIVE, "--json", "--runtime", "20 ms"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "study",
        file: "s.toml",
        origin: Texts(&[STUDY, ARRAY]),
        outputs: &["out"],
        arguments: &["study", "s.toml", "--threads", "1"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "review",
        file: "r.toml",
        origin: Texts(&[REVIEW]),
        other_files: STUDY_FILES,
        outputs: &["out"],
        arguments: &["study", "r.toml", "--threads", "1"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "stack",
        file: "k.toml",
        origin: Texts(&[STACK, ACCELERATED]),
        arguments: &["run", "random-write", "--on", "k.toml", "--runtime", "5 s", "--json"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "drive",
        file: "d.toml",
        origin: Texts(&[
            "@crates/drives/profiles/barracuda-7200.7.toml",
            "@crates/drives/profiles/wd140edfz.toml",
            "@crates/drives/profiles/cheetah-15k.4.toml",
        ]),
        arguments: &["run", "file-server", "--on", "d.toml", "--runtime", "50 ms"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "sheet",
        file: "d.toml",
        origin: Texts(&["@crates/drives/profiles/atlas-10k-v-300.toml", "@validation/drives/hp_c2247a.toml"]),
        arguments: &["drives", "d.toml", "--svg", "d.svg", "--force"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "scene",
        file: "c.toml",
        origin: Texts(&["@crates/lab/studies/jobs/copy.toml", "@crates/lab/studies/jobs/records.toml"]),
        arguments: &["run", "c.toml", "--on", DRIVE, "--json"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "recording",
        file: "w.csv",
        origin: Texts(&[RECORDING]),
        arguments: &["run", "w.csv", "--on", DRIVE, "--json"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "replay",
        file: "t.trace",
        origin: Texts(&TRACES),
        arguments: &["run", "t.trace", "--on", DRIVE, "--json", "--runtime", "50 ms"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "records",
        file: "out/results.jsonl",
        origin: Resealed(STUDY_COMMANDS),
        other_files: STUDY_FILES,
        arguments: &["report", "out"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "made-from",
        file: "out/made-from.json",
        origin: Resealed(STUDY_COMMANDS),
        other_files: STUDY_FILES,
        arguments: &["report", "out"],
        ..DEFAULT_KIND
    },
    sealed_kind("sealed-1", "out/results.jsonl"),
    sealed_kind("sealed-2", "out/made-from.json"),
    sealed_kind("sealed-3", "out/study.toml"),
    sealed_kind("sealed-4", "out/sums.txt"),
    InputKind {
        name: "sealed-5",
        file: "out/made-from.json",
        origin: Made(REVIEW_COMMANDS),
        other_files: REVIEW_FILES,
        arguments: &["report", "out", "--json"],
        figures_file: Some(STDOUT),
        ..DEFAULT_KIND
    },
    InputKind {
        name: "resumed",
        file: "out/results.jsonl",
        origin: Made(STUDY_COMMANDS),
        other_files: STUDY_FILES,
        arguments: &["study", "out", "--resume", "--threads", "1", "--json"],
        figures_file: Some(STDOUT),
        ..DEFAULT_KIND
    },
    InputKind {
        name: "journal",
        file: "f.toml.journal",
        origin: Made(FIT_COMMANDS),
        other_files: &[("t.csv", measured_trace)],
        outputs: &["f.toml"],
        arguments: &[
            "fit",
            "t.csv",
            "--drive",
            DRIVE,
            "-o",
            "f.toml",
            "--only",
            "overhead.read_miss_ms",
            "--generations",
            "3",
            "--points",
            "12",
            "--resume",
        ],
        figures_file: Some("f.toml"),
    },
    InputKind {
        name: "disksim",
        file: "x.parv",
        origin: Texts(&[DISKSIM]),
        arguments: &["import", "disksim", "x.parv"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "trace",
        file: "t.csv",
        origin: Texts(&[TRACE, DISKSIM_TRACE]),
        arguments: &["validate", "t.csv", "--drive", DRIVE, "--json"],
        ..DEFAULT_KIND
    },
    InputKind {
        name: "fio-json",
        file: "r.json",
        origin: Texts(&[FIO_JSON]),
        arguments: &[
            "fit",
            "r.json",
            "--drive",
            DRIVE,
            "-o",
            "f.toml",
            "--only",
            "overhead.read_miss_ms",
            "--points",
            "3",
            "--force",
        ],
        ..DEFAULT_KIND
    },
];

/// The name under which the unchanged made file is kept.
const UNCHANGED_NAME: &str = "whole";

/// The line that begins another file within one text, as DiskSim's configurations have several.
const PART_MARK: &str = "#file ";

impl InputKind {
    /// Prepares a folder in which the program can read inputs of this kind.
    pub(super) fn prepare(&self, program: &Path, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        for (name, text) in self.other_files {
            fs::write(folder.join(name), text())?;
        }
        let (Made(commands) | Resealed(commands)) = self.origin else { return Ok(()) };
        for words in commands {
            let mut making = Command::new(program);
            making.args(*words).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
            assert!(making.status()?.success(), "{}: {words:?} makes what is changed", self.name);
        }
        let made = fs::read_to_string(folder.join(self.file))?;
        let whole = match self.origin {
            Resealed(_) => made.lines().map(|line| without_sum(line) + "\n").collect(),
            _ => made,
        };
        fs::write(folder.join(UNCHANGED_NAME), whole)
    }

    /// The number of unchanged texts.
    pub(super) fn text_count(&self) -> u64 {
        match self.origin {
            Texts(texts) => texts.len() as u64,
            Made(_) | Resealed(_) => 1,
        }
    }

    /// One of the unchanged texts.
    pub(super) fn read_text(&self, folder: &Path, index: u64) -> Result<Vec<u8>> {
        let Texts(texts) = self.origin else { return fs::read(folder.join(UNCHANGED_NAME)) };
        match texts[index as usize].strip_prefix('@') {
            Some(path) => fs::read(crate::root().join(path)),
            None => Ok(texts[index as usize].as_bytes().to_vec()),
        }
    }

    /// Removes earlier outputs, and writes the changed text to where it is read.
    pub(super) fn place_input(&self, folder: &Path, input: &[u8]) -> Result<()> {
        for path in self.outputs.iter().map(|name| folder.join(name)).filter(|path| path.exists()) {
            if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
        }
        if matches!(self.origin, Resealed(_)) {
            return write_resealed(&folder.join("out"), self.file, input);
        }
        let text = String::from_utf8_lossy(input);
        if self.name != "disksim" {
            return fs::write(folder.join(self.file), input);
        }
        for (index, part) in text.split(PART_MARK).enumerate() {
            let (name, body) = if index == 0 { (self.file, part) } else { part.split_once('\n').unwrap_or((part, "")) };
            // The change may have turned a name into one of no file beside it.
            if !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.') {
                fs::write(folder.join(name), body)?;
            }
        }
        Ok(())
    }

    /// The figures of the last run, if the kind is sealed.
    pub(super) fn read_figures(&self, folder: &Path) -> Result<Option<String>> {
        self.figures_file.map(|name| fs::read_to_string(folder.join(name))).transpose()
    }

    /// Whether figures differ from those of the unchanged input without a word. A folder with fewer runs may have fewer
    /// figures, and says so.
    pub(super) fn differs_silently(figures: Option<&str>, unchanged: Option<&str>) -> bool {
        figures != unchanged && !figures.is_some_and(|figures| figures.contains(MISSING_RUNS))
    }
}

/// Writes a changed file into a result folder and renews the sums: each record has its own, other files have lines in
/// `sums.txt`.
fn write_resealed(out: &Path, file: &str, input: &[u8]) -> Result<()> {
    let name = file.trim_start_matches("out/");
    let lines = || input.split_inclusive(|&byte| byte == b'\n');
    if name == "results.jsonl" {
        let sealed = lines().map(|line| {
            let bare = line.strip_suffix(b"\n").unwrap_or(line);
            match bare.strip_suffix(b"}") {
                Some(open) => [open, b",\"sum\":\"", line_sum(bare).as_bytes(), b"\"}\n"].concat(),
                None => line.to_vec(),
            }
        });
        return fs::write(out.join(name), sealed.collect::<Vec<_>>().concat());
    }
    fs::write(out.join(name), input)?;
    let mut sums = String::new();
    for file_name in ["study.toml", "made-from.json"] {
        let text = fs::read(out.join(file_name))?;
        for (index, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
            writeln!(sums, "{file_name}:{} {}", index + 1, line_sum(line)).expect("a text takes all that is written");
        }
    }
    fs::write(out.join("sums.txt"), sums)
}

/// The sum of a line: sixteen digits of its SHA-256.
fn line_sum(line: &[u8]) -> String {
    Sha256::digest(line).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// A line of results without its sum.
fn without_sum(line: &str) -> String {
    line.split_once(",\"sum\":").map_or(line.to_owned(), |(bare, _)| format!("{bare}}}"))
}

/// A measured trace of reads all over the drive.
fn measured_trace() -> String {
    let mut text = "lba,sectors,op,measured_response_ms,think_ms\n".to_owned();
    for index in 0..400_u64 {
        let (lba, ms) = (index * 7_368_787 % 150_000_000, 6.0 + (index * 37 % 120) as f64 / 10.0);
        writeln!(text, "{lba},8,R,{ms},5").expect("a text takes all that is written");
    }
    text
}

const REVIEW: &str = "title = 't'\nquestion = 'q'\nintroduction = 'i'\n[[part]]\nstudy = \"s.toml\"\nwhy = 'w'\nanswers = true\n\
half = 'In an array'\ntitle = 'One'\n";

const RECORDING: &str = "# seekwise recording 1\n# a drive, seed 1\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
1,10,9000000,done,read,7,1,0,1\n2,20,9900000,done,write,100,8,1,0\n3,9900098,9900099,done,flush,0,0,0,0\n";

/// A few lines of each format of traces that is text.
const TRACES: [&str; 9] = [
    "  8,16 5 2 0.000001850 18615 Q R 144464566 + 8 [java]\n  8,16 5 6 0.000009 18615 Q FWFS 8 + 8 [j]\n\
      8,16 5 7 0.00001 0 C R 144464566 + 8 [0]\nCPU0 (8,16):\n",
    "128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372003062000,usr,0,Write,0,512,9\n",
    "0,303567,3584,w,0.000000\n1 , 55590,3072,R,1e-3,more\n",
    "0.000 5 17084370 56 1\n1.037 5 17084376 120 0x80\n",
    "R Miss 100 8 5250.0 10000\nW Doub 7 1 500 0\n",
    "fio version 2 iolog\nf add\nf open\nf write 4096 4096\nf wait 1000 0\nf sync 0 0\nf wait 10 0\nf read 0 512\nf close\n",
    "fio version 3 iolog\n2 f add\n3 f open\n878 f trim 0 16384\n899 f read 512 512\n900 f close\n",
    "419,W,8792731648,16384,1577808144360767\n725,R,0,512,1577808144360900\n",
    "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.000004 a b 1 sda W 8 4096 0.1 0.74\n",
];

const FIO_JSON: &str = "{\"fio version\":\"fio-3.33\",\"timestamp\":1,\"global options\":{\"rw\":\"randread\",\"bs\":\"4k\",\
\"ioengine\":\"libaio\",\"direct\":\"1\",\"size\":\"1g\"},\"jobs\":[{\"jobname\":\"a\",\"job options\":{\"iodepth\":\"1\",\"runtime\":\"10\"},\
\"read\":{\"io_bytes\":2867200,\"iops\":70.0,\"runtime\":10000,\"total_ios\":700,\"clat_ns\":{\"min\":300000,\"max\":50000000,\
\"mean\":14200000.0,\"N\":700,\"percentile\":{\"50.000000\":14000000,\"99.000000\":24000000}}}},{\"jobname\":\"b\",\
\"job options\":{\"iodepth\":\"4\",\"stonewall\":\"1\",\"runtime\":\"10\"},\"read\":{\"io_bytes\":4096000,\"iops\":100.0,\"runtime\":10000,\
\"total_ios\":1000,\"clat_ns\":{\"min\":300000,\"max\":90000000,\"mean\":40000000.0,\"N\":1000,\"percentile\":\
{\"50.000000\":39000000,\"99.000000\":84000000}}}}]}\n";

const FIO: &str = "[global]\nioengine=libaio\ndirect=1\niodepth=4\nsize=64m\nrandseed=7\n[a]\nrw=randrw\nrwmixread=70\n\
bssplit=4k/60:64k/40,8k\nrandom_distribution=zipf:1.2\nnumjobs=2\nruntime=50ms\nramp_time=10ms\ntime_based\n[b]\n\
stonewall\nrw=write\nbs=4k-64k\noffset=1g\nrate=1m,2m\nfsync=8\nnumber_ios=20\nthinktime=1ms\nloops=2\nsync=1\n";

const STREAMS: &str = "[s]\nrw=randread:8\nbs=4k\nsize=16m\nnrfiles=3\nnumber_ios=60\nstartdelay=5ms\nrate_iops=400\n\
rate_process=poisson\nverify=crc32c\n[t]\nrw=trim\nzonemode=strided\nzonesize=1m\nzoneskip=2m\nsize=4m\nio_size=1m\n\
iodepth=64\nioengine=io_uring\nblockalign=8k\npercentage_random=40\n";

const ICF: &str = "Version 1.1.0\n'TEST SETUP ==\n'Test Description\n\td\n'Run Time\n'\thours minutes seconds\n\t0 0 1\n\
'Ramp Up Time (s)\n\t0\n'Disk Cycling\n'\tstart step step type\n\t1 1 LINEAR\n'Queue Depth Cycling\n\
'\tstart end step step type\n\t1 16 2 EXPONENTIAL\n'Test Type\n\tCYCLE_OUTSTANDING_IOS_AND_TARGETS\n'END test setup\n\
'ACCESS SPECIFICATIONS ==\n'Access specification name,default assignment\n\tA,ALL\n\
'size,% of size,% reads,% random,delay,burst,align,reply\n\t512,10,80,100,0,1,0,0\n\t4096,90,80,100,7,2,4096,512\n\
'END access specifications\n'MANAGER LIST ==\n'Manager ID, manager name\n\t1,H\n'Worker\n\tW\n'Worker type\n\tDISK\n\
'Default target settings for worker\n'Number of outstanding IOs,test connection rate\n\t8,DISABLED,1,ENABLED,5\n\
'Disk maximum size,starting sector,Data pattern\n\t1000,64,0\n'Assigned access specs\n\tA\n'Target assignments\n\
'Target\n\tC:\n'End target\n'End worker\n'End manager\n'END manager list\n";

const STUDY: &str = "title = 't'\nquestion = 'q'\nseed = 3\nruns = 2\nruntime = '50 ms'\nramp = '5 ms'\n\
margin_percent = 2.5\njob = 'random-read'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'depth'\n\
key = 'job.depth'\nlevels = [1, 8]\n[[factor]]\nname = 'setup'\n[[factor.bundle]]\nname = 'off'\n\
set = { drive.firmware.depth = 1 }\n[[factor.bundle]]\nname = 'on'\nset = { drive.firmware.depth = 32 }\n\
[[compare]]\nname = 'c'\nfactor = 'setup'\nfrom = 'off'\nto = 'on'\nmetric = 'response_ms'\n[[claim]]\nid = 'C1'\n\
class = 'M'\nfinding = 'f'\ncondition = 'c'\nmechanism = 'm'\nablate = { drive.firmware.depth = 1 }\n\
check = ['(iops[setup=on] / iops[setup=off])[depth=8] >= 1.05']\nshow = ['rising(iops over depth) for each setup']\n";

const ARRAY: &str = "title = 't'\nquestion = 'q'\nruns = 2\nruntime = '50 ms'\ncuts = 3\nshutdowns = 1\n\
job = 'random-write'\n[stack]\ndrive = 'cheetah-15k.4'\narray = 'raid-5'\n'array.drives' = 4\n'array.chunk_kib' = 64\n\
'drive.cache.write_back' = true\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 16]\n[[compare]]\n\
name = 'c'\nfactor = 'depth'\nfrom = '1'\nto = '16'\n";

const STACK: &str = "driver = \"linux-mq-deadline\"\nprocessor = \"current\"\narray = \"raid-6\"\n[drive]\n\
name = \"barracuda-7200.7\"\ncache.segments = 4\nfirmware.queue.policy = \"sptf\"\n[controller]\nname = \"sii-3112\"\n\
rate_mb_s = 90\n[at.\"10 ms\"]\n\"array.lose\" = 1\n[at.\"20 ms\"]\n\"array.lose\" = 2\n";

const ACCELERATED: &str = "driver = \"windows-xp\"\n[accelerator]\nname = \"maxboost\"\nsize_mb = 16\n\
dirty_percent = 50\ndirty_ms = 20\nidle_ms = 5\nhit_us = 30\n[array]\nname = \"raid-0\"\ndrives = 2\n[drive]\n\
name = \"caviar-wd400jb\"\ncache.write_back = true\n[at.\"10 ms\"]\n\"array.lose\" = 1\n";

const TRACE: &str = "# a comment\nop,lba,sectors,measured_response_ms,think_ms,arrival_ms\nR,100,8,5.25,10,0\n\n\
W,7,1,0.5,0,15.25\nR,90000,64,8.5,1,16.5\nW,8,16,4.25,3,20\n";

const DISKSIM_TRACE: &str = "R Hit 100 8 5250.0 10000\nW Doub 7 1 500 0\nR Miss 5000 16 9000 100\n";

const DISKSIM: &str = "disksim_bus B { Read block transfer time = 0.05 }\nsource specs\ntopology b [ d [] ]\n#file specs\n\
disksim_disk T { Model = source model, Bulk sector transfer time = 0.0,\nScheduler = q { Scheduling policy = 1 },\n\
Max queue length = 1, Number of buffer segments = 4, Segment size (in blks) = 16,\nBuffer continuous read = 3,\n\
Fast write level = 1 }\n#file model\ndm_disk T { Number of data surfaces = 2, Number of cylinders = 8,\n\
Block count = 110, Layout Model = dm_layout_g1 { LBN-to-PBN mapping scheme = 1, Sparing scheme used = 2,\n\
Rangesize for sparing = 1, Zones = [ dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 7,\n\
Blocks per track = 10, Empty space at zone front = 3, Skew for track switch = 2, Skew for cylinder switch = 5,\n\
Number of spares = 1, slips = [ 24 ], defects = [] } ] },\nMechanical Model = dm_mech_g1 { Seek type = extracted,\n\
Full seek curve = seek, Head switch time = 0.5, Rotation speed (in rpms) = 6000 } }\n#file seek\n1, 1.0\n3, 2.0\n";
