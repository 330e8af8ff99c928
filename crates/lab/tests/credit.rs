//! What a difference is credited to, and what is refused: pairs of sides that differ in one concern, in several, in the
//! job, in job and stack.

use seekwise_formats::study;
use seekwise_lab::finding::{Evidence, Finding};
use seekwise_lab::inputs::Inputs;
use seekwise_lab::plan;
use seekwise_lab::provenance::{RunSample, StudyProvenance};

/// The common settings of both sides of every pair.
const BASE: &str = "title = 't'\nquestion = 'q'\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
    drive = 'barracuda-7200.7-ncq'\ndriver = 'windows-xp'\ncontroller = 'ahci'\n";

/// A job in a file: its size, its requests' size and its direction are variables.
const JOB: &str = "[a]\nioengine=libaio\ndirect=1\nsize=${SZ}\nbs=${BS}\nrw=${RW}\n";

/// The finding of a study of one comparison, between two levels of this factor.
fn finding(factor: &str, [from, to]: [&str; 2], credit: &str) -> Finding {
    let credit = if credit.is_empty() { String::new() } else { format!("credit = [{credit}]\n") };
    let compare = format!("[[compare]]\nname = 'c'\nfactor = 'f'\nfrom = '{from}'\nto = '{to}'\n{credit}");
    let text = format!("{BASE}[[factor]]\nname = 'f'\n{factor}\n{compare}");
    let study = study::parse("s.toml", &text).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let read = |name: &str| match name {
        "v.fio" => Ok(JOB.to_owned()),
        "s.toml" => Ok(SCENE.to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    let (inputs, cells) = (Inputs::from_today(&read), plan::study_cells(&study));
    let prepare = |cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let prepared: Vec<_> = cells.iter().map(prepare).collect();
    let made =
        StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None));
    Evidence::new(&study, &made, &[]).findings().0[0].clone()
}

/// A factor of two bundles.
fn bundles(a: &str, b: &str) -> String {
    let bundle = |name: &str, set: &str| format!("[[factor.bundle]]\nname = '{name}'\nset = {{ {set} }}\n");
    bundle("a", a) + &bundle("b", b)
}

/// A side's settings, the other's, what the study credits, and the result: a credit, or why it is refused.
type Pair = (&'static str, &'static str, &'static str, Result<&'static str, &'static str>);

/// The refusal of other work that no study declares.
const UNDECLARED: &str = "the sides do different work: they differ in the pattern (job.pattern.reads); a study that \
    compares work says so: credit = [\"pattern\"]";

const PAIRS: [Pair; 31] = [
    // One concern, named.
    ("'drive.firmware.depth' = 1", "'drive.firmware.depth' = 32", "'queue'", Ok("the command queue")),
    ("'drive.cache.write_back' = true", "'drive.cache.write_back' = false", "'write-cache'", Ok("the write cache")),
    ("'driver.flush' = 'forward'", "'driver.flush' = 'drop'", "'flush-policy'", Ok("the flush policy")),
    ("'drive.mechanics.rpm' = 7200", "'drive.mechanics.rpm' = 5400", "'mechanics'", Ok("the mechanics")),
    ("'drive.cache.segments' = 8", "'drive.cache.segments' = 16", "'segments'", Ok("the drive's segments")),
    ("'drive.cache.dirty_runs' = 8", "'drive.cache.dirty_runs' = 16", "'firmware'", Ok("the drive's firmware")),
    (
        "'drive.cache.fills_while_draining' = true",
        "'drive.cache.fills_while_draining' = false",
        "'firmware'",
        Ok("the drive's firmware"),
    ),
    ("'drive.cache.read_ahead.after' = 1", "'drive.cache.read_ahead.after' = 2", "'read-ahead'", Ok("the read-ahead")),
    ("'job.depth' = 1", "'job.depth' = 8", "'depth'", Ok("the depth")),
    // One concern, another named; a drive is not its spindle.
    (
        "'drive.mechanics.rpm' = 7200",
        "'drive.mechanics.rpm' = 5400",
        "'drive'",
        Err("it credits the drive, but the sides differ in the mechanics (drive.mechanics.rpm) too"),
    ),
    (
        "'drive.cache.write_back' = true",
        "'drive.cache.write_back' = false",
        "'segments'",
        Err("it credits the drive's segments, but the sides differ in the write cache (drive.cache.write_back) too"),
    ),
    // A concern named in which nothing differs.
    (
        "'drive.firmware.depth' = 1",
        "'drive.firmware.depth' = 32",
        "'queue', 'interface'",
        Err("it credits a bundle: the command queue, the interface, but the sides do not differ in the interface"),
    ),
    // Two concerns.
    (
        "'drive.firmware.depth' = 1, 'driver.flush' = 'forward'",
        "'drive.firmware.depth' = 32, 'driver.flush' = 'drop'",
        "'queue'",
        Err("it credits the command queue, but the sides differ in the flush policy (driver.flush) too"),
    ),
    (
        "'drive.firmware.depth' = 1, 'driver.flush' = 'forward'",
        "'drive.firmware.depth' = 32, 'driver.flush' = 'drop'",
        "'queue', 'flush-policy'",
        Ok("a bundle: the command queue, the flush policy"),
    ),
    (
        "controller = 'ahci'",
        "controller = 'sii-3112'",
        "'controller'",
        Err("it credits the controller, but the sides differ in the command queue (controller.depth) too"),
    ),
    (
        "controller = 'ahci'",
        "controller = 'sii-3112'",
        "'controller', 'queue'",
        Ok("a bundle: the controller, the command queue"),
    ),
    // Another drive brings its mechanics with it, not its queue.
    (
        "drive = 'barracuda-7200.7'",
        "drive = 'barracuda-7200.7-ncq'",
        "'drive'",
        Err("it credits the drive, but the sides differ in the command queue (drive.firmware.depth and 4 more) too"),
    ),
    (
        "drive = 'barracuda-7200.7'",
        "drive = 'barracuda-7200.7-ncq'",
        "'drive', 'queue'",
        Ok("a bundle: the drive, the command queue"),
    ),
    // Job and stack.
    (
        "'drive.firmware.depth' = 1, 'job.depth' = 1",
        "'drive.firmware.depth' = 32, 'job.depth' = 32",
        "'queue'",
        Err("the sides do different work: they differ in the depth (job.depth), and it credits the command queue"),
    ),
    (
        "'drive.firmware.depth' = 1, 'job.depth' = 1, job = 'random-read'",
        "'drive.firmware.depth' = 32, 'job.depth' = 32, job = 'random-write'",
        "'queue'",
        Err(
            "the sides do different work: they differ in the depth (job.depth), the pattern (job.pattern.reads), and it credits the command queue",
        ),
    ),
    (
        "'drive.firmware.depth' = 1, 'job.depth' = 1",
        "'drive.firmware.depth' = 32, 'job.depth' = 32",
        "'queue', 'depth'",
        Ok("a bundle: the command queue, the depth"),
    ),
    // Other work, declared and not.
    ("job = 'random-read'", "job = 'random-write'", "", Err(UNDECLARED)),
    ("job = 'random-read'", "job = 'random-write'", "'pattern'", Ok("the pattern")),
    (
        "job = 'random-read'",
        "job = 'file-server'",
        "'pattern'",
        Err(
            "the sides do different work: they differ in the size of requests (job.size.blocks), and it credits the pattern",
        ),
    ),
    // Variables of a job.
    (
        "job = 'v.fio', 'job.env.SZ' = '1g', 'job.env.BS' = '4k', 'job.env.RW' = 'read'",
        "job = 'v.fio', 'job.env.SZ' = '20g', 'job.env.BS' = '4k', 'job.env.RW' = 'read'",
        "'pattern'",
        Err(
            "the sides do different work: they differ in the place of the work (job.place.bytes and 1 more), and it credits the pattern",
        ),
    ),
    (
        "job = 'v.fio', 'job.env.SZ' = '1g', 'job.env.BS' = '4k', 'job.env.RW' = 'read'",
        "job = 'v.fio', 'job.env.SZ' = '1g', 'job.env.BS' = '64k', 'job.env.RW' = 'read'",
        "'size'",
        Ok("the size of requests"),
    ),
    // The same work over the whole of a larger volume is the same work.
    ("array = 'none'", "array = 'raid-0'", "'array'", Ok("the array")),
    // With an array Linux's driver stands below it, which follows from the array; an order that is asked for does not.
    ("array = 'none', driver = 'linux-none'", "array = 'raid-0', driver = 'linux-none'", "'array'", Ok("the array")),
    (
        "array = 'raid-0', driver = 'linux-none', 'array.depth' = 4",
        "array = 'raid-0', driver = 'linux-none', 'array.depth' = 8, order = 'driver, array, controller'",
        "'array'",
        Err("it credits the array, but the sides differ in the order of the layers (stack.order) too"),
    ),
    // Bundles without a name are credited as what differs in them.
    (
        "'drive.firmware.depth' = 1, controller = 'sii-3112'",
        "'drive.firmware.depth' = 32, controller = 'ahci'",
        "",
        Ok("a bundle: the controller, the command queue"),
    ),
    (
        "'driver.flush' = 'forward', 'job.depth' = 1",
        "'driver.flush' = 'drop', 'job.depth' = 8",
        "",
        Ok("a bundle: the flush policy, the depth"),
    ),
];

/// A scene of one volume and one program.
const SCENE: &str = "[system]\nfamily = 'windows-nt'\n[volume.c]\nfs = 'fat32'\nsize_gib = 8\n[program.copy]\n\
    name = 'total-commander'\nfiles = 1\ntotal_mb = 1\n";

#[test]
fn file_system_system_and_program_are_told_apart() {
    let pair = |a: &str, b: &str, credit: &str| {
        let (a, b) = (format!("job = 's.toml', {a}"), format!("job = 's.toml', {b}"));
        finding(&bundles(&a, &b), ["a", "b"], credit).refused
    };
    let fs = |fs: &str, family: &str| format!("\"volume.c.fs\" = '{fs}', \"system.family\" = '{family}'");
    // Windows 98 on FAT32 against Windows 2000 on NTFS: which of the two was it?
    let both = (fs("fat32", "windows-98"), fs("ntfs", "windows-nt"));
    let why = pair(&both.0, &both.1, "'file-system'").expect("refused");
    assert!(why.contains("the system (system.family)"), "{why}");
    assert_eq!(pair(&both.0, &both.1, "'system', 'file-system'"), None);
    assert_eq!(pair(&fs("fat32", "windows-nt"), &fs("ntfs", "windows-nt"), "'file-system'"), None);
    let cache = |mib: u32| format!("\"pagecache.mib\" = {mib}");
    assert_eq!(pair(&cache(0), &cache(64), "'page-cache'"), None);
    let on = |fs: &str, mib: u32| format!("\"volume.c.fs\" = '{fs}', {}", cache(mib));
    let why = pair(&on("fat32", 0), &on("ntfs", 64), "'file-system'").expect("refused");
    assert!(why.contains("the page cache (pagecache.mib)"), "{why}");
    let block = |kib: u32| format!("\"program.copy.block_kib\" = {kib}");
    assert_eq!(pair(&block(32), &block(1024), "'program'"), None);
}

/// Windows ME on FAT32 against Windows 2000 on NTFS, as it was published, and with one of the two changed at a time.
#[test]
fn a_system_with_its_file_system_is_no_file_system() {
    let text = include_str!("../studies/d-playback.toml");
    let study = study::parse("d-playback", text).expect("a study");
    let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let (inputs, cells) = (Inputs::from_today(&read), plan::study_cells(&study));
    let prepare =
        |cell| plan::prepare_cell("d-playback", cell, &inputs).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let prepared: Vec<_> = cells.iter().map(prepare).collect();
    let made =
        StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None));
    let evidence = Evidence::new(&study, &made, &[]);
    let (findings, _) = evidence.findings();
    for finding in findings {
        let published = study.compare[finding.compare].name == "Windows 2000 on NTFS against Windows ME on FAT32";
        assert_eq!(finding.refused.is_some(), published, "{:?}", finding.refused);
        assert!(finding.refused.iter().all(|why| why.contains("the system (system.family)")), "{:?}", finding.refused);
    }
    assert!(findings.iter().any(|finding| finding.refused.is_some()));
}

#[test]
fn pairs_are_credited_or_refused() {
    for (a, b, credit, expected) in PAIRS {
        let found = finding(&bundles(a, b), ["a", "b"], credit);
        let came = found.refused.as_deref().map_or(Ok(found.credit.as_str()), Err);
        println!("{a} | {b} | {credit} | {came:?}");
        assert_eq!(came, expected, "{a} against {b}, crediting {credit}");
    }
}

/// A factor of one key is credited with what is below it; but another job is other work.
#[test]
fn what_changes_at_once_is_named() {
    let of = |a: &str, b: &str, credit: &str| finding(&bundles(a, b), ["a", "b"], credit).at_once;
    let (one, two) = ("'drive.firmware.depth' = 1", "'drive.firmware.depth' = 32");
    assert!(of(one, two, "").is_empty(), "one thing alone");
    let both = of(&format!("{one}, 'driver.flush' = 'forward'"), &format!("{two}, 'driver.flush' = 'drop'"), "");
    assert_eq!(both, ["the flush policy", "the command queue"]);
    // What is refused is said by the refusal.
    assert!(
        of(&format!("{one}, 'driver.flush' = 'forward'"), &format!("{two}, 'driver.flush' = 'drop'"), "'queue'")
            .is_empty()
    );
}

#[test]
fn a_key_is_credited_with_what_it_sets() {
    let keyed = |key: &str, a: &str, b: &str| {
        let found = finding(&format!("key = '{key}'\nlevels = ['{a}', '{b}']\n"), [a, b], "");
        (found.credit, found.refused)
    };
    for (key, a, b) in [
        ("driver", "windows-xp", "linux-mq-deadline"),
        ("drive", "barracuda-7200.7-ncq", "exos-x18"),
        ("drive.firmware.depth", "1", "32"),
        ("job.depth", "1", "32"),
        ("job.runtime", "2 s", "3 s"),
        ("array", "raid-0", "raid-1"),
    ] {
        assert_eq!(keyed(key, a, b), ("f".to_owned(), None), "{key}");
    }
    let why = keyed("job", "random-read", "random-write").1.unwrap();
    assert_eq!(why, UNDECLARED);
}
