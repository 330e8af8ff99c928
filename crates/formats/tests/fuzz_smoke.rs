//! Runs the entries of the fuzz targets (`fuzz/entries.rs`) on a stable compiler: valid seeds are changed by a seeded generator,
//! so that every run has the same cases.
//!
//! The test finds panics, wrong sums and endless loops near valid files; the fuzz targets go further. `SEEKWISE_FUZZ_CASES`
//! sets another number of cases of each parser.

#[path = "../../../fuzz/change.rs"]
mod change;
#[path = "../../../fuzz/entries.rs"]
pub mod entries;

use std::time::Instant;

use crate::shared_files;
use change::change;
use seekwise_disk::rng::{Rng, Seed};

/// Cases of each parser.
const CASES: u64 = 20_000;
/// Entries that build a whole drive or job of each valid case, or read a case in every format; they get a tenth of the cases.
const HEAVY: [&str; 5] = ["fio_job", "profile", "stack", "disksim", "recorded_trace"];
/// Milliseconds after which a case counts as endless (in a debug build on a shared machine).
const LONGEST_MS: u128 = 5_000;
/// Seeds are cut here, so that a case costs little.
const LONGEST_SEED: usize = 6_000;

const ICF: &[u8] = b"Version 1.1.0\r\n'TEST SETUP ==\r\n'Test Description\r\n\td\r\n'Run Time\r\n\
'\thours minutes seconds\r\n\
\t0 10 0\r\n'Ramp Up Time (s)\r\n\t30\r\n'Disk Cycling\r\n'\tstart step step type\r\n\
\t1 1 LINEAR\r\n'Queue Depth Cycling\r\n\
'\tstart end step step type\r\n\t1 256 2 EXPONENTIAL\r\n'Test Type\r\n\
\tCYCLE_OUTSTANDING_IOS_AND_TARGETS\r\n'END test setup\r\n\
'ACCESS SPECIFICATIONS ==\r\n'Access specification name,default assignment\r\n\tA,ALL\r\n\
'size,% of size,% reads,% random,delay,burst,align,reply\r\n\t512,10,80,100,0,1,0,0\r\n\
\t4096,90,80,100,7,2,4096,512\r\n\
'END access specifications\r\n'MANAGER LIST ==\r\n'Manager ID, manager name\r\n\t1,H\r\n'Worker\r\n\
\tW\r\n'Worker type\r\n\tDISK\r\n\
'Default target settings for worker\r\n'Number of outstanding IOs,test connection rate\r\n\
\t32,DISABLED,1,ENABLED,5\r\n\
'Disk maximum size,starting sector,Data pattern\r\n\t1000,64,0\r\n'Assigned access specs\r\n\tA\r\n\
\tIdle\r\n'Target assignments\r\n\
'Target\r\n\tC:\r\n'End target\r\n'Target\r\n\tPHYSICALDRIVE:1\r\n'End target\r\n'End worker\r\n\
'End manager\r\n'END manager list\r\n";

const OLD_ICF: &[u8] = b"3.26.97\nTEST SETUP\n'Test Type\n\tNORMAL\n'END test setup\nACCESS SPECIFICATIONS\n'size\n\
2048 100 67 100 0 1\n512,30,100,0,0,1\n4096,70,0,50,0,1\n'END access specifications\n";

const CSV: &[u8] = b"'Test Type,Test Description\n0,d\n'Version\n1.1.0\n'Time Stamp\ns\n'Access specifications\n\
'Access specification name,default assignment\nA,0\n'size,% of size\n512,100,1,2,3,4,5,6,\n\
'End access specifications\n'Results\n\
'Target Type,Target Name,IOps,MBps,Read MBps (Decimal),Queue Depth,0 to 50 uS, >= 10 s\n\
ALL,All,1.5,2,3,4,5,6\nDISK,C:,,,,,,\n\
PROCESSOR,CPU 0,,\n'Time Stamp\ne\n";

const JSON: &[u8] = br#"fio: talk
{"fio version":"fio-3.33","timestamp":1,"global options":{"rw":"read"},"jobs":[{"jobname":"j","read":{"io_bytes":8192,
"io_kbytes":8,"bw":4,"iops":2.5,"runtime":1000,"clat_ns":{"min":3,"max":5,"mean":4.5,"N":2,"percentile":{"50.000000":4},
"bins":{"4":2}}},"latency_us":{"2":100.0},"usr_cpu":1e2}],"disk_util":[{"name":"sda","util":9.5}]}
{"fio version":"fio-2.1.4","client_stats":[{"hostname":"h","write":{"io_bytes":8,"clat":{"min":3}}}]}
"#;

const FIO: &[u8] =
    b"[global]\nioengine=libaio\niodepth=4\nfilename=/dev/sda\nsize=10%\n; a comment\n[a]\nrw=randrw\nrwmixread=70\n\
bssplit=4k/60:64k/40,8k\nrandom_distribution=zipf:1.2\nnumjobs=2\nruntime=10s\nramp_time=2\n[b]\nstonewall\n\
rw=write:4k\nbs=4k-64k\nblockalign=4k\noffset=1g\nrate=1m,2m\nfsync=8\nverify=crc32c\nnrfiles=3\n\
zonemode=strided\nzonesize=1m\nzoneskip=2m\nfilename=${NAME}:/dev/sdb\nthinktime=10ms\nloops=2\nsize=(2*4m)\n";

const PROFILE: &[u8] = include_bytes!("../../drives/profiles/atlas-10k-v-300.toml");

/// The section of a fitted profile: loads and draws.
const FITTED: &[u8] =
    b"name = 'f'\ntitle = 't'\n[fit]\nseen = [{ rw = 'randread', block = 4096, depth = 1, write_cache = true }]\n\
draws = [{ 'mechanics.seek.average_ms' = 8.1, mechanics.rpm = 7300, 'firmware.queue.policy' = 'sptf',\n\
'mechanics.seek.points' = [[1, 0.5], [100, 1.2]], 'cache.segments' = 'none' }, { 'cache.write_back' = false }]\n";

const STUDY: &[u8] =
    b"title = 't'\nquestion = 'q'\nseed = 3\nruns = 2\nruntime = '10 s'\nramp = 2\njob = 'random-read'\n\
[stack]\ndrive = 'barracuda-7200.7'\n[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n[[factor]]\n\
name = 'setup'\n[[factor.bundle]]\nname = 'off'\nset = { drive.firmware.depth = 1 }\n[[factor.bundle]]\n\
name = 'on'\nset = { drive.firmware.depth = 32, driver = 'direct' }\n[[compare]]\nname = 'c'\nfactor = 'setup'\n\
from = 'off'\nto = 'on'\nmetric = 'response_ms'\n[[claim]]\nid = 'C1'\nclass = 'M'\nfinding = 'f'\n\
condition = 'c'\nmechanism = 'm'\nablate = { drive.firmware.depth = 1 }\n\
check = ['(iops[setup=on] / iops[setup=off])[depth=8] >= 1.05']\nshow = ['rising(iops over depth) for each setup']\n";

const EXPRESSION: &[u8] =
    b"high(slope(write.response_ms over log2(depth))) < -2 * abs(1.5 %) and not argmax(iops[s='a b']\n\
over depth in (1, 8)) in (8, a) or max(iops, 2) in 6 \xc2\xb1 3 % for each depth in (1), s";

const TRACE: &[u8] = b"# a comment\nop,lba,sectors,measured_response_ms,think_ms,arrival_ms\nR,100,8,5.25,10,0\n\n\
W,7,1,0.5,0,15.25\n";

const OTHER_TRACE: &[u8] =
    b"rw;Offset bytes;size_bytes;Response (us);timestamp_s\nread;51200;4096;5250;1.5\nWrite;0;512;7;1.6\n";

/// A few lines of each format of traces.
const TRACES: [&[u8]; 10] = [
    b"  8,16 5 2 0.000001850 18615 Q R 1444645666 + 8 [java]\n  8,16 5 5 0.000008 1 D R 1444645666 + 8 [j]\n\
      8,16 5 6 0.000009 18615 Q FWFS 8 + 8 [j]\n  8,16 5 7 0.00001 0 C R 1444645666 + 8 [0]\nCPU0 (8,16):\n",
    b"\x07tae\x01\0\0\0\x00\x01\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x01\0\x11\0\x09\0\0\0\x10\0\x80\0\0\0\0\0\0\0\0\0\
      \x07tae\x02\0\0\0\x00\x02\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\x10\0\0\x08\0\x81\0\x09\0\0\0\x10\0\x80\0\0\0\0\0\0\0\0\0",
    b"128166372003061629,usr,0,Read,7014609920,24576,41286\n128166372003061000,usr,0,Write,0,512,9\n",
    b"0,303567,3584,w,0.000000\n1 , 55590,3072,R,1e-3,more\n",
    b"0.000 5 170843704 56 1\n1.037 5 170843768 120 0x80\n",
    b"R Miss 100 8 5250.0 10000\nW Doub 7 1 500 0\n",
    b"fio version 2 iolog\nf add\nf write 4096 4096\nf wait 1000 0\nf sync 0 0\nf wait 10 0\nf read 0 512\n",
    b"fio version 3 iolog\n2 f add\n878 f trim 0 16384\n99 f read 512 512\n",
    b"419,W,8792731648,16384,1577808144360767\n725,R,0,512,1577808144360000\n",
    b"TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)\n0.000004 a b 1 sda W 8 4096 0.1 0.74\n",
];

const RECORDING: &[u8] = b"# seekwise recording 1\n# a drive, seed 1\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n\
2,20,90,done,write,100,8,1,0\n1,10,95,failed,read,7,1,0,1\norder,96,cut\norder,97,driver.flush=drop\n3,98,99,done,flush,0,0,0,0\n";
const DISKSIM_TRACE: &[u8] = b"R Hit 100 8 5250.0 10000\nW Doub 7 1 500 0\n";

const DISKSIM: &[u8] =
    b"disksim_bus B { Read block transfer time = 0.05 }\nsource specs\ntopology b [ d [] ]\n#file specs\n\
disksim_disk T { Model = source model, Bulk sector transfer time = 0.0,\nScheduler = q { Scheduling policy = 1 },\n\
Max queue length = 1, Number of buffer segments = 4, Segment size (in blks) = 16,\nBuffer continuous read = 3,\n\
Fast write level = 1 }\n#file model\ndm_disk T { Number of data surfaces = 2, Number of cylinders = 8,\n\
Block count = 110, Layout Model = dm_layout_g1 { LBN-to-PBN mapping scheme = 1, Sparing scheme used = 2,\n\
Rangesize for sparing = 1, Zones = [ dm_layout_g1_zone { First cylinder number = 0, Last cylinder number = 7,\n\
Blocks per track = 10, Empty space at zone front = 3, Skew for track switch = 2, Skew for cylinder switch = 5,\n\
Number of spares = 1, slips = [ 24, 7, 24 ], defects = [ 3, 19 ] } ] },\nMechanical Model = dm_mech_g1 { Seek type = extracted,\n\
Full seek curve = seek, Head switch time = 0.5, Rotation speed (in rpms) = 6000 } }\n#file seek\n1, 1.0\n3, 2.0\n";

/// A variant of a drive, in use, with a formula for its seeks; and one with a table of seeks out of order.
const DISKSIM_VARIANT: &[u8] =
    b"disksim_ctlr C { Bulk sector transfer time = 0x1 }\nsource specs\nB V { Fast write level = 2 }\n\
instantiate [ d0 .. d2 ] as V\n#file specs\ndisksim_disk B { Model = source model, Bulk sector transfer time = 0.1,\n\
Scheduler = q { Scheduling policy = 8 }, Max queue length = 8, Number of buffer segments = 1,\n\
Segment size (in blks) = 16, Buffer continuous read = 4, Fast write level = 0 }\n#file model\n\
dm_disk M { Number of data surfaces = 1, Number of cylinders = 30, Layout Model = dm_layout_g1 {\n\
LBN-to-PBN mapping scheme = 2, Sparing scheme used = 8, Rangesize for sparing = 3, Skew units = revolutions,\n\
Zones = [ dm_layout_g1_zone { First cylinder number = 1, Last cylinder number = 29, Blocks per track = 0xA,\n\
Offset of first block = 0.5, Skew for track switch = 0.2, Number of spares = 1, slips = [ ], defects = [ ] } ] },\n\
Mechanical Model = dm_mech_g1 { Seek type = hplplus10, HPL seek equation values = [ 12, 1.0, 0.2, 9.0, 0.01, -1 ],\n\
First ten seek times = [ 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9 ], Head switch time = 0.5,\n\
Rotation speed (in rpms) = 3600 } }\n";

const DISKSIM_TABLE: &[u8] =
    b"disksim_disk T { Model = dm_disk M { Number of data surfaces = 1, Number of cylinders = 9, Layout Model =\n\
dm_layout_g1 { LBN-to-PBN mapping scheme = 0, Sparing scheme used = 0, Zones = [ dm_layout_g1_zone {\n\
First cylinder number = 0, Last cylinder number = 8, Blocks per track = 10 } ] }, Mechanical Model = dm_mech_g1 {\n\
Seek type = extracted, Full seek curve = seek, Head switch time = 0.5, Rotation speed (in rpms) = 6000 } },\n\
Bulk sector transfer time = 0.0, Scheduler = q { Scheduling policy = 1 }, Number of buffer segments = 0,\n\
Segment size (in blks) = 1, Buffer continuous read = 0, Fast write level = 0 }\n#file seek\n\
Seek distances measured: 4\n5, 3.0, 0.1\n2, 1.0, 0.1\nx\n3\t2.0\t0.1\n3 2.0 0.1\n6 2.9 0.1\n";

const STACK: &[u8] = b"driver = \"windows-xp\"\n[drive]\nname = \"barracuda-7200.7\"\ncache.segments = 4\n\
firmware.queue.policy = \"sptf\"\n[controller]\nname = \"sii-3112\"\nrate_mb_s = 90\n";

const COPY: &[u8] = include_bytes!("../../lab/studies/jobs/copy.toml");
const RECORDS: &[u8] = include_bytes!("../../lab/studies/jobs/records.toml");

const REVIEW: &[u8] = b"title = 't'\nquestion = 'q'\nintroduction = \"\"\"\none\ntwo\n\nthree\n\"\"\"\n[[part]]\n\
study = \"d-modes\"\nwhy = 'w'\nanswers = true\nhalf = 'In an array'\n[[part]]\nstudy = \"own/queue.toml\"\n";

const RECIPE: &[u8] = include_bytes!("../recipes/sqlite.toml");

/// A disk with a table, a label of LVM, a superblock of ext4 and a swap area, one over the other.
const DISK: &[u8] = &{
    const fn put(mut disk: [u8; 5000], at: usize, bytes: &[u8]) -> [u8; 5000] {
        let mut next = 0;
        while next < bytes.len() {
            disk[at + next] = bytes[next];
            next += 1;
        }
        disk
    }
    let disk = put(put([0; 5000], 450, &[0x83]), 510, &[0x55, 0xaa]);
    let disk = put(put(disk, 512, b"LABELONE"), 536, b"LVM2 001");
    put(put(disk, 1080, &[0x53, 0xef]), 4086, b"SWAPSPACE2")
};

/// Words that mean something to one of the parsers, to be put in anywhere.
const WORDS: [&[u8]; 16] = [
    b"'",
    b"\n",
    b"\r",
    b",",
    b"0",
    b"18446744073709551615",
    b"-1",
    b"4294967296",
    b"1e308",
    b"\xff",
    b"{",
    b"}",
    b"'End ",
    b"'Target\n\tX\n",
    b"99999",
    b"\"",
];

#[test]
fn parsers_return_on_changed_files() {
    let given_cases = std::env::var("SEEKWISE_FUZZ_CASES").ok().and_then(|text| text.parse().ok());
    let cases =
        |name| given_cases.unwrap_or(crate::number_of_draws(if HEAVY.contains(&name) { CASES / 10 } else { CASES }));
    // Each parser has a thread. The streams of random numbers are named, so the order does not matter.
    std::thread::scope(|scope| {
        for (name, entry) in entries::ALL {
            let cases = cases(name);
            scope.spawn(move || try_cases(name, entry, cases));
        }
    });
}

/// Runs an entry on so many changed seeds; panics if the entry does, or takes too long.
fn try_cases(name: &str, entry: entries::Entry, cases: u64) {
    let seeds = read_seeds(name);
    let mut rng = Seed(20_071_115).stream(name);
    let (start, mut longest) = (Instant::now(), 0);
    for _ in 0..cases {
        let case = draw_changed(&seeds, &mut rng);
        let begun = Instant::now();
        if std::panic::catch_unwind(|| entry(&case, &mut |_| ())).is_err() {
            panic!("{name} panics on {:?}", String::from_utf8_lossy(&case));
        }
        longest = longest.max(begun.elapsed().as_millis());
        assert!(longest < LONGEST_MS, "{name} took {longest} ms on {:?}", String::from_utf8_lossy(&case));
    }
    let seconds = start.elapsed().as_secs();
    println!("{name}: {cases} cases of {} seeds in {seconds} s, the longest took {longest} ms", seeds.len());
}

#[test]
fn the_seeds_are_valid() {
    use seekwise_drives::{profile, stack};
    use seekwise_formats::{fio, fio_json, iometer, signature, study, trace};
    for bytes in [ICF, OLD_ICF] {
        let (config, _) = iometer::icf::parse("seed", bytes).unwrap();
        assert!(config.job(1_000_000).is_ok());
    }
    assert_eq!(iometer::results::parse("seed", CSV).unwrap().0[0].rows.len(), 3);
    assert_eq!(fio_json::read(JSON).unwrap().len(), 2);
    let text = |bytes| str::from_utf8(bytes).unwrap();
    let context = fio::FioContext { environment: &|_| Some("/dev/sda".to_owned()), ..fio::FioContext::bare() };
    let (job, _) = fio::parse("seed", text(FIO), &context).unwrap().job(312_581_808).unwrap();
    assert_eq!(job.workers.len(), 3);
    assert!(profile::parse("seed", text(PROFILE)).unwrap().profile().is_ok());
    assert_eq!(seekwise_formats::expression::parse(text(EXPRESSION)).map(|seed| seed.each.len()), Ok(2));
    assert_eq!(study::parse("seed", text(STUDY)).unwrap().claim.len(), 1);
    let drive = |_: &str| Ok(include_str!("../../drives/profiles/barracuda-7200.7.toml").to_owned());
    assert!(stack::StackFile::parse("seed", text(STACK)).unwrap().build(&drive).unwrap().stack.layers.len() > 1);
    assert_eq!(trace::measured::parse("seed", text(TRACE)).unwrap().lines, [3, 5]);
    assert_eq!(trace::measured::parse("seed", text(OTHER_TRACE)).unwrap().rows.len(), 2);
    for bytes in [DISKSIM, DISKSIM_VARIANT, DISKSIM_TABLE] {
        let parts: Vec<&str> = text(bytes).split("#file ").collect();
        let load = |name: &str| {
            let part = parts.iter().find_map(|part| part.strip_prefix(name));
            part.map(str::to_owned).ok_or_else(|| "no such part".to_owned())
        };
        assert!(seekwise_formats::disksim::import("seed", parts[0], &load, None, "seed").is_ok());
    }
    for bytes in [COPY, RECORDS] {
        assert!(seekwise_formats::scene::SceneFile::parse("seed", text(bytes)).is_ok());
    }
    assert_eq!(study::review::Review::parse("seed", text(REVIEW)).unwrap().part.len(), 2);
    assert!(seekwise_formats::recipe::parse("seed", text(RECIPE)).unwrap().len() > 1);
    let ends = signature::DiskEnds { head: DISK, tail: DISK, bytes: DISK.len() as u64 };
    assert_eq!(signature::find_signatures(ends).len(), 4);
    assert_eq!(trace::measured::parse("seed", text(DISKSIM_TRACE)).unwrap().rows.len(), 2);
}

/// Ends of no file: for parsers whose seeds are all in this file.
const NO_FILES: &[&str] = &[];

/// Where a parser's seeds come from.
pub struct SeedSources {
    /// Seeds in this file.
    pub own: &'static [&'static [u8]],
    /// The folder of other people's files, and the ends of their names.
    folder: &'static str,
    ends: &'static [&'static str],
}

/// The seeds of the parser of this name.
pub fn seed_sources(name: &str) -> SeedSources {
    let (own, folder, ends): (&[&[u8]], _, &[&str]) = match name {
        "icf" => (&[ICF, OLD_ICF], "wild/iometer", &[".icf", ".save.txt"]),
        "results_csv" => (&[CSV], "wild/iometer/results-golden", &[".txt"]),
        "fio_json" => (&[JSON], "wild/fio-json", &[".json", ".output"]),
        "fio_job" => (&[FIO], "wild/fio-examples", &[".fio"]),
        "profile" => (&[PROFILE, FITTED], "wild/fio-examples", NO_FILES),
        "expression" => (&[EXPRESSION], "wild/fio-examples", NO_FILES),
        "study" => (&[STUDY, include_bytes!("../../lab/studies/ncq-alone.toml")], "wild/fio-examples", NO_FILES),
        "stack" => (&[STACK], "wild/fio-examples", NO_FILES),
        "recording" => (&[RECORDING], "wild/fio-examples", NO_FILES),
        "recorded_trace" => (&TRACES, "wild/traces", &[".txt", ".ascii", ".trace", ".iolog", ".csv", ".0", ".3"]),
        "trace" => (&[TRACE, DISKSIM_TRACE, OTHER_TRACE], "wild/fio-examples", NO_FILES),
        "disksim" => (&[DISKSIM, DISKSIM_VARIANT, DISKSIM_TABLE], "wild/fio-examples", NO_FILES),
        "signature" => (&[DISK], "wild/fio-examples", NO_FILES),
        "scene" => (&[COPY, RECORDS], "wild/fio-examples", NO_FILES),
        "review" => (&[REVIEW], "wild/fio-examples", NO_FILES),
        "recipe" => (&[RECIPE], "wild/fio-examples", NO_FILES),
        other => panic!("no seeds for {other}"),
    };
    SeedSources { own, folder, ends }
}

/// All seeds of a parser, cut to [`LONGEST_SEED`].
fn read_seeds(name: &str) -> Vec<Vec<u8>> {
    let SeedSources { own, folder, ends } = seed_sources(name);
    let wild = shared_files::files(folder, ends).into_iter().filter_map(|path| std::fs::read(path).ok());
    let mut seeds: Vec<Vec<u8>> = own.iter().map(|seed| seed.to_vec()).chain(wild).collect();
    seeds.iter_mut().for_each(|seed| seed.truncate(LONGEST_SEED));
    seeds
}

/// A random seed with one to eight changes.
pub fn draw_changed(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    // Half of the cases come from the first seed, which is of this file, whole and short.
    let index = if rng.draw_chance(50) { 0 } else { rng.below(seeds.len() as u64) as usize };
    let mut case = seeds[index].clone();
    let words = WORDS.map(<[u8]>::to_vec);
    for _ in 0..=rng.below(8) {
        change(&mut case, &words, rng);
    }
    case
}
