//! fio job files of a few lines each: the job that they become, or the error or warning about them.

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::fio::{self, FioContext};
use seekwise_work::workload::*;

/// A drive of 160 GB.
const SECTORS: u64 = 312_581_808;
const DRIVE: u64 = SECTORS * 512;

/// The job of a file's text, with its warnings.
fn build(text: &str) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    let environment = |name: &str| (name == "DEPTH").then(|| "8".to_owned());
    let include = |path: &str| match path {
        "jobs/common.inc" => Ok("direct=1\n; a comment\ninclude more.inc\n".to_owned()),
        "jobs/more.inc" => Ok("iodepth=3\n".to_owned()),
        "jobs/section.inc" => Ok("[a]\n".to_owned()),
        deep if deep.starts_with("jobs/deep") => {
            let left: u32 = deep["jobs/deep".len()..].trim_end_matches(".inc").parse().expect("a number");
            Ok(if left == 0 { "iodepth=2\n".to_owned() } else { format!("include deep{}.inc\n", left - 1) })
        }
        "jobs/loop.inc" => Ok("include loop.inc\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let context =
        FioContext { environment: &environment, include: &include, page_size: 4096, memory_mb: 1024, processors: 2 };
    fio::parse("jobs/a.fio", text, &context)?.job(SECTORS)
}

/// The workers of a job of these lines on a raw device.
fn workers(lines: &str) -> (Vec<Worker>, Vec<Diagnostic>) {
    let text = format!("[a]\nfilename=/dev/sdb\ndirect=1\nioengine=libaio\n{lines}\n");
    let (job, warnings) = build(&text).unwrap_or_else(|errors| panic!("{lines}: {}", errors[0]));
    (job.workers, warnings)
}

/// The pattern of the first worker of a job of these lines on a raw device.
fn pattern(lines: &str) -> FioPattern {
    pattern_of(&workers(lines).0[0])
}

fn pattern_of(worker: &Worker) -> FioPattern {
    match &worker.pattern {
        Pattern::Fio(pattern) => pattern.clone(),
        other => panic!("{other:?}"),
    }
}

/// The error about `key` at `line` (from 1) of these lines of a job, which must be refused.
fn error_about(lines: &str, line: usize, key: &str) -> Diagnostic {
    let errors = build(&format!("[a]\n{lines}\n")).expect_err(lines);
    let found = errors.iter().find(|error| error.line == line + 1 && error.key.as_deref() == Some(key));
    found.unwrap_or_else(|| panic!("{lines}: no error at line {line} about {key}: {errors:?}")).clone()
}

/// The warning about `key` of these lines of a job on a raw device, which must be accepted.
fn warning_about(lines: &str, key: &str) -> Diagnostic {
    let (_, warnings) = workers(lines);
    let found = warnings.iter().find(|warning| warning.key.as_deref() == Some(key));
    found.unwrap_or_else(|| panic!("{lines}: no warning about {key}: {warnings:?}")).clone()
}

#[test]
fn priorities_reach_the_drive_in_the_real_time_class_only() {
    assert_eq!(pattern("rw=randrw").priority, [0; 3]);
    assert_eq!(pattern("rw=randrw\ncmdprio_percentage=10").priority, [10, 10, 0]);
    assert_eq!(pattern("rw=randrw\ncmdprio_percentage=10,20\ncmdprio_class=1").priority, [10, 20, 0]);
    assert_eq!(pattern("rw=randrw\ncmdprio_percentage=10,20\ncmdprio_class=2,1").priority, [0, 20, 0]);
    warning_about("rw=randrw\ncmdprio_percentage=10\ncmdprio_class=3", "cmdprio_class");
    warning_about("cmdprio_percentage=10\ncmdprio=4", "cmdprio");
    error_about("filename=/dev/sdb\nioengine=libaio\ncmdprio_bssplit=4k/50:64k/10", 3, "cmdprio_bssplit");
}

#[test]
fn sizes_and_their_traps() {
    for (text, bytes) in [("64k", 65536), ("64kib", 64000), ("64ki", 65536), ("0x10000", 65536), ("(16*4k)", 65536)] {
        assert_eq!(pattern(&format!("size={text}\nbs=512")).bytes, bytes, "{text}");
    }
    assert_eq!(pattern("bs=512\nsize=64k\nkb_base=1000").bytes, 64000, "kb_base comes first wherever it stands");
    assert_eq!(pattern("bs=512\nsize=64kib\nkb_base=1000").bytes, 65536);
    assert_eq!(pattern("size=8*1024*$pagesize").bytes, 8 << 22);
    assert_eq!(pattern("size=10%").bytes, DRIVE / 10 / 4096 * 4096);
    assert_eq!(pattern("").bytes, DRIVE, "without a size a device is used whole");
    assert_eq!(pattern("size=1m\nsize=2m").bytes, 2 << 20, "the later one wins");
    let cut = error_about("filename=/dev/sdb\nsize=1.5g", 2, "size");
    assert!(cut.message.contains("1 bytes are less than the smallest block"), "{cut}");
    assert!(warning_about("io_size=1.5g", "io_size").message.contains("reads 1"));
    assert_eq!(pattern("io_size=1.5g").bytes, 1);
}

#[test]
fn triples() {
    let sizes = |bs: &str| {
        pattern(&format!("bs={bs}")).blocks.map(|blocks| match blocks {
            BlockSizes::Fixed(bytes) => bytes,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(sizes("8k,32k,"), [8192, 32768, 4096]);
    assert_eq!(sizes("8k,32k"), [8192, 32768, 32768]);
    assert_eq!(sizes(",8k"), [4096, 8192, 8192]);
    assert_eq!(sizes("8k"), [8192; 3]);
}

#[test]
fn times_and_their_traps() {
    for (text, seconds) in [("10m", 600), ("10", 10), ("10s", 10), ("10sec", 10), ("1h", 3600)] {
        let (workers, warnings) = workers(&format!("runtime={text}"));
        assert_eq!(workers[0].runtime, Some(Span::from_secs(seconds)), "{text}");
        assert_eq!(warnings.len(), usize::from(text == "10sec"), "{text}");
    }
    assert_eq!(workers("startdelay=500ms").0[0].start_delay, Span::from_millis(500));
    let delay = workers("startdelay=5-10").0[0].start_delay;
    assert!((Span::from_secs(5)..=Span::from_secs(10)).contains(&delay), "{delay}");
    assert_eq!(workers("thinktime=2000").0[0].pace.think.unwrap().time, Span::from_millis(2));
    assert_eq!(workers("ramp_time=5").0[0].ramp, Span::from_secs(5));
    error_about("runtime=10x", 1, "runtime");
}

#[test]
fn sections_globals_and_comments() {
    let text = "[globalx]\nbs=8k ; inline # twice\nfilename=/dev/sdb\n[a]\n[global]\nbs=16k\n[b]\nblocksize=32k\n[c]\n";
    let (job, _) = build(text).unwrap();
    let sizes: Vec<_> = job.workers.iter().map(|worker| pattern_of(worker).blocks[0].clone()).collect();
    assert_eq!(sizes, [BlockSizes::Fixed(8192), BlockSizes::Fixed(32768), BlockSizes::Fixed(16384)]);
    let file = fio::parse("a.fio", text, &FioContext::bare()).unwrap();
    let globals: Vec<_> =
        file.global_options().iter().map(|given| (given.name.as_str(), given.value.as_str())).collect();
    assert_eq!(globals, [("bs", "8k"), ("filename", "/dev/sdb"), ("bs", "16k")]);
    assert_eq!(file.sections()[1].options[0].name, "bs", "aliases are given under fio's own name");
    assert_eq!(job.name, "a");
}

#[test]
fn includes_and_variables() {
    let (job, _) = build("[a]\nfilename=/dev/sdb\nioengine=libaio\ninclude common.inc\n").unwrap();
    assert_eq!(job.workers[0].depth, 3, "includes nest, beside the including file");
    assert_eq!(error_about("include none.inc", 1, "include").message, "none.inc cannot be read: no such file");
    assert!(build("[a]\ninclude section.inc\n").unwrap_err()[0].message.contains("section in an included file"));
    assert_eq!(
        build("[a]\ninclude loop.inc\n").unwrap_err()[0].message,
        "jobs/loop.inc is included twice in one section"
    );
    assert!(build("[a]\ninclude deep16.inc\n").unwrap_err()[0].message.contains("16 files deep"));
    assert!(build("[a]\nfilename=/dev/sdb\ninclude deep15.inc\n[b]\nfilename=/dev/sdb\ninclude deep15.inc\n").is_ok());

    let depth = |depth: &str| build(&format!("[a]\nfilename=/dev/sdb\nioengine=libaio\niodepth={depth}\n"));
    assert_eq!(depth("65535").unwrap().0.workers[0].depth, 65_535);
    assert!(depth("65536").unwrap_err()[0].to_string().contains("a number from 1 to 65535"));
    assert!(build("[a]\nfilename=/dev/sdb\nrandseed=18446744073709551615\n").is_ok());
    assert!(build("[a]\nfilename=/dev/sdb\nruntime=11000d\n").unwrap_err()[0].to_string().contains("10 years"));

    let (job, _) = build("[a]\nfilename=/dev/sdb\nioengine=libaio\niodepth=${DEPTH}\n").unwrap();
    assert_eq!(job.workers[0].depth, 8);
    assert!(error_about("iodepth=${NONE}", 1, "iodepth").message.contains("${NONE} is not set"));
    assert!(build("bs=4k\n[a]\n").unwrap_err()[0].message.contains("before any section"));
    assert!(build("[a\nsize=4k\n").unwrap_err()[0].message.contains("not closed"));
    assert!(build("[global]\nsize=4k\n").unwrap_err()[0].message.contains("no job"));
    assert_eq!(build("").unwrap_err().len(), 1);
}

#[test]
fn unknown_words_name_the_nearest() {
    assert_eq!(error_about("iodeph=4", 1, "iodeph").nearest.as_deref(), Some("iodepth"));
    assert_eq!(error_about("ioengine=libaoi", 1, "ioengine").nearest.as_deref(), Some("libaio"));
    assert_eq!(error_about("rw=randreed", 1, "rw").nearest.as_deref(), Some("randread"));
    assert!(error_about("hipri", 1, "hipri").message.contains("the engine psync has no such option"));
    for (line, key) in [
        ("IODEPTH=4", "IODEPTH"),
        ("iodepth=0", "iodepth"),
        ("direct=2", "direct"),
        ("direct", "direct"),
        ("rwmixread=120", "rwmixread"),
        ("bs=20%", "bs"),
        ("size=", "size"),
        ("numjobs=0", "numjobs"),
        ("rw=randread:0", "rw"),
        ("bsrange=4k", "bsrange"),
        ("bssplit=4k/60:8k/60", "bssplit"),
        ("size=3z", "size"),
    ] {
        error_about(line, 1, key);
    }
    let errors = build("[a]\nbogus=1\nbs=x\n[b]\nrw=no\n").unwrap_err();
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [2, 3, 5], "all errors at once");
}

#[test]
fn what_the_model_cannot_express_is_refused_by_name() {
    for (line, key) in [
        ("offset=8z", "offset"),
        ("read_iolog=trace", "read_iolog"),
        ("latency_target=5ms", "latency_target"),
        ("wait_for=b", "wait_for"),
        ("exitall", "exitall"),
        ("rate_min=1m", "rate_min"),
        ("steadystate_duration=30", "steadystate_duration"),
        ("atomic=1", "atomic"),
        ("thinktime_iotime=2", "thinktime_iotime"),
        ("ioengine=rbd", "ioengine"),
        ("ioengine=external:/tmp/x.so", "ioengine"),
    ] {
        error_about(line, 1, key);
        if let Some((option, _)) =
            line.split_once('=').filter(|(option, _)| !["wait_for", "read_iolog", "ioengine"].contains(option))
        {
            workers(&format!("{option}=0"));
        }
    }
    error_about("size=1m\nrate=1m\nrate_iops=10", 3, "rate_iops");
    error_about("size=1m\nbs=1000", 2, "bs");
    error_about("size=1m\nnrfiles=4\nfile_service_type=zipf", 3, "file_service_type");
    error_about("size=1m\nnrfiles=4\nopenfiles=2", 3, "openfiles");
    // An engine's own options do not hide the engine's refusal.
    let errors = build("[a]\nioengine=http\nhttps=on\nhttp_mode=s3\n").unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("the engine http is not in this version"), "{}", errors[0]);
    // An engine in [global] that no job keeps is nobody's.
    assert!(build("[global]\nioengine=net\nfilename=/dev/sdb\n[a]\nioengine=libaio\n").is_ok());
}

#[test]
fn what_changes_nothing_is_warned_of() {
    for (line, key) in [
        ("cpus_allowed=0-3", "cpus_allowed"),
        ("write_bw_log", "write_bw_log"),
        ("prio=3", "prio"),
        ("hipri", "hipri"),
        ("thread", "thread"),
        ("iodepth_batch=4", "iodepth_batch"),
        ("refill_buffers", "refill_buffers"),
        ("percentile_list=99:99.9", "percentile_list"),
        ("time_based", "time_based"),
        ("bsrange=4k-8k\nbs_unaligned", "bs_unaligned"),
    ] {
        let lines = if key == "hipri" { "ioengine=io_uring\nhipri" } else { line };
        warning_about(lines, key);
    }
    assert!(warning_about("direct=0", "direct").message.contains("without a page cache"));
    assert!(warning_about("buffered=1", "direct").message.contains("without a page cache"));
    assert!(workers("group_reporting\nnorandommap\nrandseed=5").1.is_empty(), "what is honoured is not warned of");
}

#[test]
fn engines_and_depth() {
    assert_eq!(workers("iodepth=32").0[0].depth, 32);
    let (capped, warnings) = workers("ioengine=psync\niodepth=32");
    assert_eq!(capped[0].depth, 1);
    assert_eq!(warnings[0].key.as_deref(), Some("iodepth"));
    assert_eq!(
        workers("ioengine=sync\niodepth=4\nio_submit_mode=offload").0[0].depth,
        4,
        "helper threads lift the cap"
    );
    for engine in ["io_uring", "posixaio", "windowsaio", "null"] {
        assert_eq!(workers(&format!("ioengine={engine}\niodepth=4")).0[0].depth, 4, "{engine}");
    }
    for engine in ["sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "sg"] {
        assert_eq!(workers(&format!("ioengine={engine}\niodepth=4")).0[0].depth, 1, "{engine}");
    }
    assert_eq!(workers("ioengine=sg\nfilename=/dev/sg1\niodepth=4").0[0].depth, 4);
    assert!(pattern("ioengine=sg\nrw=write\nwritefua=1").write_through);
}

#[test]
fn directions_and_their_postfix() {
    let sequential = pattern("rw=read:8k");
    assert_eq!((sequential.direction, sequential.random), (Direction::Read, [0; 3]));
    assert_eq!(sequential.modifier, Some(RwModifier::Skip(8192)));
    assert_eq!(pattern("rw=read:-8k").modifier, Some(RwModifier::Skip(-8192)));
    let random = pattern("readwrite=randwrite:8");
    assert_eq!((random.direction, random.random), (Direction::Write, [100; 3]));
    assert_eq!(random.modifier, Some(RwModifier::Run(8)));
    assert_eq!(pattern("rw=randwrite:8\nrw_sequencer=identical").modifier, Some(RwModifier::Same(8)));
    let mixed = pattern("rw=randrw\nrwmixread=70\nrwmixwrite=40\npercentage_random=60,20");
    assert_eq!((mixed.direction, mixed.mix_read, mixed.random), (Direction::Mixed, 60, [60, 20, 20]));
    assert_eq!(pattern("rw=randtrimwrite").direction, Direction::TrimWrite);
    assert_eq!(pattern("rw=rw").direction, Direction::Mixed);
}

#[test]
fn the_random_map_and_the_seeds() {
    assert!(pattern("rw=randread").random_map);
    for lines in
        ["rw=read", "rw=randread\nnorandommap", "rw=randread\nrandom_distribution=zipf:1.2", "rw=randread\nba=8k"]
    {
        assert!(!pattern(lines).random_map, "{lines}");
    }
    assert!(pattern("rw=randrw\nbs=4k,8k").random_map, "one map for both, by number, as fio has it");
    assert_eq!(pattern("rw=randread").repeat, RandomRepeat::Passes);
    assert_eq!(pattern("rw=randread\nrandseed=7").repeat, RandomRepeat::Runs);
    assert_eq!(pattern("rw=randread\nrandrepeat=0\nrandseed=7").repeat, RandomRepeat::Never);
    assert_eq!(pattern("rw=randread").seed, 0x89);
    assert_eq!(pattern("rw=randread\nrandrepeat=0\nrandseed=7").seed, 7);
    assert_ne!(pattern("rw=randread\nrandrepeat=0").seed, 0x89);
    let zoned = pattern("rw=randread\nrandom_distribution=zoned:60/10:30/20:10/70\nrandom_generator=lfsr");
    assert_eq!(zoned.distribution, Distribution::Zoned(vec![(60, 10), (30, 20), (10, 70)]));
    assert_eq!(zoned.generator, Generator::Tausworthe);
    assert_eq!(pattern("rw=randread\nrandom_generator=lfsr").generator, Generator::Lfsr);
}

#[test]
fn sizes_of_requests() {
    let split = pattern("rw=randrw\nbssplit=64k/40:4k/,1m");
    assert_eq!(split.blocks[0], BlockSizes::Split(vec![(4096, 60), (65536, 40)]));
    assert_eq!(split.blocks[1], BlockSizes::Split(vec![(1 << 20, 100)]));
    let range = pattern("bsrange=16k-4k,8k-8k");
    assert_eq!(range.blocks[0], BlockSizes::Range { min: 4096, max: 16384, unaligned: false });
    assert_eq!(range.blocks[1], BlockSizes::Fixed(8192));
    let unaligned = |lines: &str| workers(&format!("bs_unaligned\n{lines}")).1.len();
    assert_eq!((unaligned("bsrange=4k-8k"), unaligned("bsrange=4k-4k"), unaligned("bsrange=4k-4k,4k-8k")), (1, 0, 0));
    assert_eq!(unaligned("rw=randrw\nbsrange=4k-4k,4k-8k"), 1, "in directions that are used");
    assert!(pattern("bs_is_seq_rand=1\nbs=4k,64k").sizes_by_randomness);
}

#[test]
fn files_lie_one_after_another_and_a_name_is_one_file() {
    let text = "[global]\nsize=10000\nbs=512\n[a]\nnrfiles=2\n\
        [b]\nnumjobs=2\n[c]\nfilename=shared\n[d]\nfilename=shared\nsize=20k\n";
    let (job, _) = build(text).unwrap();
    let regions: Vec<Vec<(u64, u64)>> = job
        .workers
        .iter()
        .map(|worker| pattern_of(worker).files.iter().map(|file| (file.start, file.bytes)).collect())
        .collect();
    // 5000 bytes each, cut to whole sectors, each on a boundary of 4 KiB.
    assert_eq!(regions[0], [(0, 4608), (8192, 4608)]);
    assert_eq!((regions[1][0].0, regions[2][0].0), (16384, 28672));
    assert_eq!(regions[3], [(40960, 9728)]);
    assert_eq!(regions[4], [(40960, 20480)], "the file is as long as its longest user needs");
}

/// 512 bytes a block: what is left over of a size makes the first files a block longer, as far as it has whole blocks.
#[test]
fn whole_blocks_left_over_of_a_size_go_to_the_first_files() {
    let lengths = |size: u64, files: usize| -> Vec<u64> {
        let (job, _) = build(&format!("[a]\nsize={size}\nbs=512\nnrfiles={files}\n")).unwrap();
        pattern_of(&job.workers[0]).files.iter().map(|file| file.bytes).collect()
    };
    assert_eq!(lengths(10_001, 2), [4608; 2]);
    for (left, longer) in [(0, 0), (511, 0), (512, 1), (1023, 1), (1024, 2), (1535, 2)] {
        let expected: Vec<u64> = (0..2000).map(|file| if file < longer { 1536 } else { 1024 }).collect();
        assert_eq!(lengths(2000 * 1024 + left, 2000), expected, "{left} left over");
    }
}

#[test]
fn devices_are_the_drive_or_slices_of_it() {
    let (workers_on_devices, warnings) = workers("filename=/dev/sda:/dev/sdb");
    let files = pattern_of(&workers_on_devices[0]).files;
    let slice = DRIVE / 2 / 4096 * 4096;
    assert_eq!(files, [Region { start: 0, bytes: slice }, Region { start: slice, bytes: slice }]);
    assert!(warnings[0].message.contains("each gets a slice"), "{}", warnings[0]);
    assert_eq!(pattern("filename=\\\\.\\PhysicalDrive1").files, [Region { start: 0, bytes: DRIVE }]);
    assert_eq!(pattern("filename=c\\:disk\nsize=1m").files.len(), 1);
    let named = build("[/dev/sdc]\n").unwrap().0;
    assert_eq!(pattern_of(&named.workers[0]).bytes, DRIVE, "a section may be named for a device");
}

#[test]
fn offsets_and_sizes() {
    let (clones, _) = workers("numjobs=3\noffset=1g\noffset_increment=2g\nsize=1g");
    let starts: Vec<u64> = clones.iter().map(|worker| pattern_of(worker).files[0].start >> 30).collect();
    assert_eq!(starts, [1, 5, 3], "fio's order: the first clone, then from the last to the second");
    let half = pattern("offset=50%\nbs=64k");
    assert_eq!(half.files[0].start, (DRIVE / 2).next_multiple_of(65536));
    assert_eq!(half.files[0].bytes, DRIVE - half.files[0].start);
    assert_eq!(pattern("size=1g\nio_size=3g").bytes, 3 << 30);
    assert_eq!(pattern("filesize=1m\nfilename=x\nsize=8g").bytes, 1 << 20);
    assert_eq!(pattern("size=1g\nnumber_ios=100\nloops=3").requests, Some(100));
    let large = error_about("filename=/dev/sdb\nsize=200g", 2, "size");
    assert!(large.message.contains("214748364800") && large.message.contains("160041885696"), "{large}");
    assert!(error_about("size=100g\nnumjobs=2", 1, "size").message.contains("2 files take 214748364800"));
    assert!(error_about("offset=1\nfilename=/dev/sdb", 1, "offset").message.contains("sector"));
    assert!(build("[a]\nrw=read\n").unwrap_err()[0].message.contains("needs a size"));
    let sizes: Vec<u64> = pattern("filename_format=f.$filenum\nfilename=\\:x\nfilesize=1m-2m")
        .files
        .iter()
        .map(|file| file.bytes)
        .collect();
    assert!(sizes.iter().all(|bytes| (1 << 20..=2 << 20).contains(bytes)), "{sizes:?}");
}

#[test]
fn stages_groups_and_clones() {
    let text = "[global]\nfilename=/dev/sdb\n[a]\nstonewall\nnumjobs=2\n[b]\nnew_group\n\
        [c]\nstonewall\ngroup_reporting\nnumjobs=3\n[d]\ngroup_reporting\n[e]\n";
    let (job, _) = build(text).unwrap();
    let stages: Vec<u32> = job.workers.iter().map(|worker| worker.stage).collect();
    assert_eq!(stages, [0, 0, 0, 1, 1, 1, 1, 1], "a barrier before the first job is none");
    let groups: Vec<u32> = job.workers.iter().map(|worker| worker.group).collect();
    assert_eq!(groups, [0, 1, 2, 3, 3, 3, 3, 4], "reported together only with group_reporting");
    let file = fio::parse("a.fio", text, &FioContext::bare()).unwrap();
    let origins: Vec<(usize, u32, u32)> =
        file.worker_origins().iter().map(|origin| (origin.section, origin.clone, origin.group_id)).collect();
    assert_eq!(origins, [(0, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 2), (2, 2, 2), (2, 1, 2), (3, 0, 2), (4, 0, 2)]);
}

#[test]
fn durability_pace_and_verification() {
    let durable = pattern("rw=write\nfdatasync=8\nend_fsync=1\nsync=dsync");
    assert_eq!((durable.syncs.fdatasync, durable.flush_at_end, durable.write_through), (8, true, true));
    let all = pattern("rw=randrw\nfsync=4\nfdatasync=6\nsync_file_range=wait_before,write:9").syncs;
    assert_eq!(all, Syncs { fsync: 4, fdatasync: 6, file_range: 9 });
    assert_eq!(pattern("rw=write\nsync_file_range=write").syncs.file_range, 1);
    let reads = pattern("rw=read\nfsync=8\nend_fsync=1\nsync=1");
    assert_eq!((reads.syncs, reads.flush_at_end, reads.write_through), (Syncs::default(), false, false));
    let batches = pattern("ioengine=libaio\niodepth=8\niodepth_batch_complete=3\niodepth_low=2").engine;
    assert_eq!(batches, IoEngine { kind: EngineKind::SyncsHold, least: 3, most: 3, low: 2, batch: 1 });
    assert_eq!(pattern("ioengine=io_uring\niodepth=8").engine.kind, EngineKind::AllQueued);
    assert_eq!(pattern("ioengine=psync\niodepth=8").engine.kind, EngineKind::OneAtATime);
    let paced = workers(
        "rate_iops=100,50,\nrate_process=poisson\nthinktime=1ms\nthinktime_blocks=4\nthinktime_blocks_type=issue",
    );
    let pace = &paced.0[0].pace;
    assert_eq!(pace.rate, [Some(IssueRate::Requests(100)), Some(IssueRate::Requests(50)), None]);
    assert_eq!(pace.process, ArrivalProcess::Poisson);
    assert_eq!(pace.think, Some(ThinkTime { time: Span::from_millis(1), spin: Span::ZERO, blocks: 4, on_issue: true }));
    assert_eq!(
        workers("rate=,1m").0[0].pace.rate,
        [None, Some(IssueRate::Bytes(1 << 20)), Some(IssueRate::Bytes(1 << 20))]
    );
    assert!(pattern("rw=randwrite\nverify=crc32c").verify);
    assert_eq!(pattern("rw=write\nverify=md5\nverify_backlog=9").backlog, Some(VerifyBacklog { every: 9, batch: 9 }));
    let some = pattern("rw=write\nverify=md5\nverify_backlog=9\nverify_backlog_batch=2").backlog;
    assert_eq!(some, Some(VerifyBacklog { every: 9, batch: 2 }));
    let flow = workers("flow=8\nflow_id=3\nflow_sleep=5").0[0].pace.flow;
    assert_eq!(flow, Some(Flow { id: 3, weight: 8, sleep: Span::from_micros(5) }));
    let apart = build("[global]\nsize=1m\nflow=1\n[a]\n[b]\nstonewall\n").unwrap_err();
    assert!(apart[0].message.contains("begin together"), "{}", apart[0]);
    assert!(!pattern("rw=randwrite\nverify=crc32c\ndo_verify=0").verify);
    assert!(!pattern("rw=randread\nverify=crc32c").verify);
    assert!(pattern("rw=write\nverify=md5\ntime_based\nruntime=5").verify, "each pass is read back");
    let strided = pattern("zonemode=strided\nzonesize=1m\nzonerange=4m\nzoneskip=8m");
    assert_eq!(strided.strided, Some(StridedZones { range: 4 << 20, size: 1 << 20, skip: 8 << 20 }));
    assert_eq!(pattern("zonesize=1m").strided, Some(StridedZones { range: 1 << 20, size: 1 << 20, skip: 0 }));
}

#[test]
fn strided_zones_are_whole_sectors() {
    let fits = pattern("zonesize=4k\nzonerange=8k\nzoneskip=512").strided;
    assert_eq!(fits, Some(StridedZones { range: 8192, size: 4096, skip: 512 }));
    for lines in ["zonesize=4097", "zonesize=4k\nzonerange=1", "zonesize=4k\nzoneskip=1"] {
        let error = error_about(&format!("filename=/dev/sdb\n{lines}"), 2, "zonesize");
        assert!(error.message.contains("whole sectors of 512 bytes"), "{lines}: {error}");
    }
}

#[test]
fn zones_that_fio_keeps_itself() {
    for (line, at, key) in [
        ("zonemode=zbd", 0, "zonesize"),
        ("rw=trim\nbs=64k\nsize=1m", 3, "rw"),
        ("size=1m", 1, "zonemode"),
        ("rw=write\nsize=1m\njob_max_open_zones=2", 5, "job_max_open_zones"),
        ("rw=write\nsize=1m\noffset=4k", 5, "offset"),
        ("rw=write\nsize=32k", 4, "size"),
        ("rw=write\nsize=1m\nzonecapacity=128k", 5, "zonecapacity"),
        ("rw=write\nsize=1m\nzoneskip=4k", 5, "zoneskip"),
        ("rw=write\nsize=1m\nverify=md5", 5, "verify"),
        ("rw=write\nsize=1m\nbs=128k", 2, "zonesize"),
    ] {
        let zones = if line == "zonemode=zbd" { "" } else { "zonemode=zbd\nzonesize=64k\n" };
        error_about(&format!("{zones}{line}"), at, key);
    }
    let lines = "rw=randwrite\nfilename=f\nzonemode=zbd\nzonesize=1m\nsize=3z\noffset=2z\nio_size=5z\nmax_open_zones=4";
    let fio = pattern(&format!("{lines}\nzone_reset_threshold=0.7\nzone_reset_frequency=.125"));
    let zoned = fio.zoned.expect("it has zones");
    assert_eq!((zoned.size, zoned.capacity, zoned.most_open, zoned.beyond), (1 << 20, 1 << 20, 4, false));
    assert_eq!((zoned.reset_threshold, zoned.reset_every), (700_000, 8));
    assert_eq!((zoned.files, zoned.cut), (vec![Region { start: 0, bytes: 5 << 20 }], 0));
    assert_eq!(fio.files, [Region { start: 2 << 20, bytes: 3 << 20 }]);
    assert_eq!(fio.bytes, 5 << 20);
    // The part of a zone at the end counts to the size, and is not written.
    let fio = pattern("rw=write\nfilename=f\nzonemode=zbd\nzonesize=1m\nsize=2560k");
    assert_eq!((fio.files, fio.bytes), (vec![Region { start: 0, bytes: 2 << 20 }], 2560 << 10));
    assert_eq!(fio.zoned.map(|zoned| zoned.cut), Some(512 << 10));
    let shared = "[global]\nrw=write\nfilename=f\nsize=1m\nzonemode=zbd\nzonesize=64k\n[a]\nmax_open_zones=2\n[b]\n";
    assert!(build(shared).is_ok(), "who says nothing has what the other says");
    let errors = build(&format!("{shared}max_open_zones=3\n")).unwrap_err();
    assert!(errors[0].message.contains("share its zones"), "{}", errors[0]);
    assert!(warning_about("max_open_zones=3", "max_open_zones").message.contains("without zonemode=zbd"));
}

#[test]
fn a_mix_may_be_all_reads_or_all_writes() {
    let mix_read = |lines: &str| pattern(&format!("rw=randrw\n{lines}")).mix_read;
    for percent in [0, 1, 50, 99, 100] {
        assert_eq!(mix_read(&format!("rwmixread={percent}")), percent);
        assert_eq!(mix_read(&format!("rwmixwrite={percent}")), 100 - percent);
    }
    assert_eq!(mix_read(""), 50);
    for key in ["rwmixread", "rwmixwrite"] {
        error_about(&format!("filename=/dev/sdb\n{key}=101"), 2, key);
    }
}

#[test]
fn a_job_may_end_where_its_drive_does_and_not_beyond() {
    let last = DRIVE - 4096;
    let whole = Region { start: last, bytes: 4096 };
    assert_eq!(pattern(&format!("offset={last}\nsize=4096")).files, [whole]);
    assert_eq!(pattern(&format!("offset={last}")).files, [whole], "without a size it goes to the end");
    error_about(&format!("filename=/dev/sdb\noffset={last}\nsize=8192"), 3, "size");
    error_about(&format!("filename=/dev/sdb\noffset={DRIVE}"), 2, "offset");
    error_about("filename=/dev/sdb\noffset=100", 2, "offset");
    error_about(&format!("filename=/dev/sdb\nbs=8k\noffset={last}"), 0, "size");
}

#[test]
fn an_offset_in_percent_is_rounded_up_to_a_block() {
    for percent in [1, 33, 50, 99] {
        let exact = DRIVE * percent / 100;
        for (lines, unit) in [("bs=4k", 4096), ("bs=512", 512), ("bs=4k\noffset_align=1m", 1 << 20)] {
            let start = exact.div_ceil(unit) * unit;
            let files = pattern(&format!("{lines}\noffset={percent}%")).files;
            assert_eq!(files, [Region { start, bytes: DRIVE - start }], "{percent} % with {lines}");
        }
    }
}

/// Zones of 64 KiB: what is no whole zone at the end is not written.
#[test]
fn zones_are_written_whole() {
    const ZONE: u64 = 64 << 10;
    for bytes in (ZONE..=3 * ZONE).step_by(4096) {
        let lines = format!("rw=write\nfilename=f\nzonemode=zbd\nzonesize=64k\nsize={bytes}");
        let fio = pattern(&lines);
        let cut = bytes - bytes / ZONE * ZONE;
        assert_eq!((fio.zoned.unwrap().cut, fio.files[0].bytes, fio.bytes), (cut, bytes - cut, bytes));
    }
}
