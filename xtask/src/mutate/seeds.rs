//! The kinds of input: what is changed, where it is put, and what reads it. Each begins from small valid files, so that
//! most changes are read a good way.

use std::fs;
use std::io::Result;
use std::path::Path;
use std::process::{Command, Stdio};

/// A kind of input.
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// The file that the program reads; one of a result folder, where it begins from none.
    file: &'static str,
    /// What it begins from: texts, or files of the repository where they begin with `@`.
    from: &'static [&'static str],
    /// The program's arguments.
    pub(super) arguments: &'static [&'static str],
}

const ON: &str = "barracuda-7200.7-ncq";

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    Kind { name: "fio", file: "j.fio", from: &[FIO, STREAMS], arguments: &["run", "j.fio", "--on", ON, "--json"] },
    Kind {
        name: "icf",
        file: "j.icf",
        from: &[ICF],
        arguments: &["run", "j.icf", "--on", ON, "--json", "--runtime", "20 ms"],
    },
    Kind { name: "study", file: "s.toml", from: &[STUDY, ARRAY], arguments: &["study", "s.toml", "--threads", "1"] },
    Kind {
        name: "stack",
        file: "k.toml",
        from: &[STACK, ACCELERATED],
        arguments: &["run", "random-write", "--on", "k.toml", "--runtime", "5 s", "--json"],
    },
    Kind {
        name: "drive",
        file: "d.toml",
        from: &["@drives/barracuda-7200.7.toml", "@drives/wd140edfz.toml", "@drives/cheetah-15k.4.toml"],
        arguments: &["run", "file-server", "--on", "d.toml", "--runtime", "50 ms"],
    },
    Kind {
        name: "sheet",
        file: "d.toml",
        from: &["@drives/atlas-10k-v-300.toml", "@validation/drives/hp_c2247a.toml"],
        arguments: &["drives", "d.toml", "--svg", "/dev/null"],
    },
    Kind {
        name: "scene",
        file: "c.toml",
        from: &["@studies/jobs/copy.toml", "@studies/jobs/records.toml"],
        arguments: &["run", "c.toml", "--on", ON, "--json"],
    },
    Kind { name: "records", file: "out/results.jsonl", from: &[], arguments: &["report", "out"] },
    Kind { name: "made-from", file: "out/made-from.json", from: &[], arguments: &["report", "out"] },
    Kind { name: "disksim", file: "x.parv", from: &[DISKSIM], arguments: &["import", "disksim", "x.parv"] },
    Kind {
        name: "trace",
        file: "t.csv",
        from: &[TRACE, DISKSIM_TRACE],
        arguments: &["validate", "t.csv", "--drive", ON, "--json"],
    },
];

/// A result folder's file, unchanged.
const WHOLE: &str = "whole";

/// Parts of one text that are files beside it, as DiskSim's set-ups have them.
const PART: &str = "#file ";

impl Kind {
    /// A folder in which the program can read it.
    pub(super) fn prepare(&self, program: &Path, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder)?;
        if self.from.is_empty() {
            fs::write(folder.join("s.toml"), STUDY)?;
            let mut study = Command::new(program);
            study.args(["study", "s.toml"]).current_dir(folder).stdout(Stdio::null()).stderr(Stdio::null());
            let made = study.status()?;
            assert!(made.success(), "the study of the result folder is a valid one");
            // Without sums, as of an earlier version: a sum would refuse each change before its figures are read.
            fs::remove_file(folder.join("out/sums.txt"))?;
            let bare =
                |line: &str| line.split_once(",\"sum\":").map_or(line.to_owned(), |(bare, _)| format!("{bare}}}"));
            let whole: String =
                fs::read_to_string(folder.join(self.file))?.lines().map(|line| bare(line) + "\n").collect();
            fs::write(folder.join(WHOLE), whole)?;
        }
        Ok(())
    }

    /// How many files it begins from.
    pub(super) fn texts(&self) -> u64 {
        self.from.len().max(1) as u64
    }

    /// One of the files that it begins from.
    pub(super) fn text(&self, folder: &Path, which: u64) -> Result<Vec<u8>> {
        let Some(from) = self.from.get(which as usize) else {
            return fs::read(folder.join(WHOLE));
        };
        match from.strip_prefix('@') {
            Some(path) => fs::read(crate::root().join(path)),
            None => Ok(from.as_bytes().to_vec()),
        }
    }

    /// Puts the changed text where it is read.
    pub(super) fn place(&self, folder: &Path, input: &[u8]) -> Result<()> {
        if self.name == "study" && folder.join("out").exists() {
            fs::remove_dir_all(folder.join("out"))?;
        }
        let text = String::from_utf8_lossy(input);
        if self.name != "disksim" {
            return fs::write(folder.join(self.file), input);
        }
        for (index, part) in text.split(PART).enumerate() {
            let (name, body) = if index == 0 { (self.file, part) } else { part.split_once('\n').unwrap_or((part, "")) };
            // A name may have been changed into one that is no name of a file beside it.
            if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') {
                fs::write(folder.join(name), body)?;
            }
        }
        Ok(())
    }
}

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
