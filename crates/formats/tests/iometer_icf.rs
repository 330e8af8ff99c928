//! Iometer configurations: all versions of the grammar, and the jobs that they become.

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_formats::iometer::icf::{self, IcfVersion, IometerConfig, SpecAssignment, TestType, WorkerSpawn};
use seekwise_work::workload::{IometerPattern, Job, Pattern, Region, Worker};

/// Sectors of a 160-GB drive of 2005.
const DRIVE: u64 = 312_581_808;

const SPEC: &str = "'ACCESS SPECIFICATIONS ====\r
'Access specification name,default assignment\r
\tReads; 4K,NONE\r
'size,% of size,% reads,% random,delay,burst,align,reply\r
\t4096,100,100,100,0,1,0,0\r
'Access specification name,default assignment\r
\tWrites,NONE\r
'size,% of size,% reads,% random,delay,burst,align,reply\r
\t8192,40,0,0,5,3,4096,512\r
\t65536,60,10,80,0,1,0,0\r
'END access specifications\r
";

/// The test setup of a file with this test type.
fn write_setup(test_type: &str) -> String {
    format!(
        "Version 1.1.0\n'TEST SETUP ===\n'Test Description\n\tA test\n'Run Time\n'\thours minutes seconds\n\t0 10 5\n\
         'Ramp Up Time (s)\n\t30\n'Default Disk Workers to Spawn\n\tNUMBER_OF_CPUS\n\
         'Worker Cycling\n'\tstart step step type\n\
         \t1 1 LINEAR\n'Disk Cycling\n'\tstart step step type\n\t1 1 LINEAR\n'Queue Depth Cycling\n\
         '\tstart end step step type\n\t1 40 4 EXPONENTIAL\n'Test Type\n\t{test_type}\n'END test setup\n"
    )
}

/// A worker: name, settings, specifications, targets.
type WorkerText<'a> = (&'a str, &'a str, &'a [&'a str], &'a [&'a str]);

/// The text of a manager with workers.
fn write_manager(name: &str, workers: &[WorkerText<'_>]) -> String {
    let mut text = format!("'Manager ID, manager name\n\t1,{name}\n'Manager network address\n\t\n");
    for (worker, settings, specs, targets) in workers {
        let (outstanding, disk) = settings.split_once('|').unwrap_or((settings, "0,0,0"));
        text += &format!(
            "'Worker\n\t{worker}\n'Worker type\n\tDISK\n'Default target settings for worker\n\
             'Number of outstanding IOs,test connection rate,transactions per connection,use fixed seed,fixed seed value\n\
             \t{outstanding}\n'Disk maximum size,starting sector,Data pattern\n\t{disk}\n\
             'End default target settings for worker\n'Assigned access specs\n"
        );
        text += &specs.iter().map(|spec| format!("\t{spec}\n")).collect::<String>();
        text += "'End assigned access specs\n'Target assignments\n";
        text +=
            &targets.iter().map(|t| format!("'Target\n\t{t}\n'Target type\n\tDISK\n'End target\n")).collect::<String>();
        text += "'End target assignments\n'End worker\n";
    }
    text + "'End manager\n"
}

/// The manager list of a file.
fn write_manager_list(managers: &[String]) -> String {
    format!("'MANAGER LIST ====\n{}'END manager list\nVersion 1.1.0\n", managers.concat())
}

fn parse(text: &str) -> (IometerConfig, Vec<Diagnostic>) {
    icf::parse("a.icf", text.as_bytes()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn build_job(text: &str) -> (Job, Vec<Diagnostic>) {
    parse(text).0.job(DRIVE).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// True if one of the diagnostics contains `text`.
fn any_contains(diagnostics: &[Diagnostic], text: &str) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.to_string().contains(text))
}

fn pattern(worker: &Worker) -> &IometerPattern {
    match &worker.pattern {
        Pattern::Iometer(pattern) => pattern,
        other => panic!("not Iometer's: {other:?}"),
    }
}

/// Stage, depth and name of each stream.
fn list_streams(job: &Job) -> Vec<(u32, u32, &str)> {
    job.workers.iter().map(|worker| (worker.stage, worker.depth, worker.name.as_str())).collect()
}

/// The number of streams of each stage.
fn streams_of_stages(job: &Job) -> Vec<usize> {
    let stages = job.workers.iter().map(|worker| worker.stage + 1).max().unwrap_or(0);
    (0..stages).map(|stage| job.workers.iter().filter(|worker| worker.stage == stage).count()).collect()
}

#[test]
fn reads_every_field_of_the_current_version() {
    let list = [write_manager(
        "HOST",
        &[("Worker 1", "32,ENABLED,5,ENABLED,12345|1024,64,1", &["Reads; 4K"], &["PHYSICALDRIVE:0"])],
    )];
    let more = "'Default Network Workers to Spawn\n\t3\n'Worker Cycling";
    let setup = write_setup("CYCLE_OUTSTANDING_IOS").replace("'Worker Cycling", more);
    let (config, warnings) = parse(&(setup + SPEC + &write_manager_list(&list)));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(config.version, IcfVersion::Numbered([1, 1, 0]));
    assert_eq!(config.description, "A test");
    assert_eq!((config.run_time, config.ramp), (Span::from_secs(605), Span::from_secs(30)));
    assert_eq!((config.disk_workers, config.network_workers), (WorkerSpawn::PerProcessor, WorkerSpawn::Exactly(3)));
    assert_eq!(config.test_type, TestType::CycleOutstandingIos);
    let depth = config.depth_cycling;
    assert_eq!((depth.steps.start, depth.end, depth.steps.step, depth.steps.exponential), (1, 40, 4, true));
    let row = config.specs[1].spec.lines[0];
    assert_eq!((row.size, row.share, row.reads, row.random), (8192, 40, 0, 0));
    assert_eq!((row.delay, row.burst, row.align, row.reply), (Span::from_millis(5), 3, 4096, 512));
    let worker = &config.managers[0].workers[0];
    assert_eq!((worker.outstanding, worker.connection, worker.fixed_seed), (32, Some(5), Some(12345)));
    assert_eq!((worker.maximum_size, worker.starting_sector, worker.data_pattern), (1024, 64, 1));
}

#[test]
fn the_first_line_may_be_a_bare_date_of_1998() {
    let text = "3.26.97\nTEST SETUP\n'Test Type\n\tNORMAL\n'END test setup\nACCESS SPECIFICATIONS ====\n\
                'size, % of size, % reads, % random, delay, burst\n2048 100 67 100 0 1\n\
                512,30,100,0,0,1\n4096,70,0,50,0,1\n\
                'END access specifications\n";
    let (config, _) = parse(text);
    assert_eq!(config.version, IcfVersion::Dated(19_980_105));
    let names: Vec<&str> = config.specs.iter().map(|spec| spec.spec.name.as_str()).collect();
    assert_eq!(names, ["2 KiB random 67% reads", "Untitled"]);
    assert_eq!(config.specs[1].spec.lines.len(), 2);
    assert!(config.specs.iter().all(|spec| spec.assignment == SpecAssignment::All));
    assert_eq!(streams_of_stages(&build_job(text).0), [1, 1]);
}

#[test]
fn a_dated_version_may_end_in_a_blank() {
    let (config, _) = parse(&format!("Version 2008.06.18 \n{SPEC}"));
    assert_eq!(config.version, IcfVersion::Dated(20_080_618));
}

#[test]
fn the_rows_of_section_six_mean_what_they_say() {
    let text = "'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\n\tX,ALL\n'size\n\
                \t65536,10,80,100,0,1,0,0\n\t512,90,80,100,0,1,0,0\n'END access specifications\n";
    let row = parse(text).0.specs[0].spec.lines[0];
    assert_eq!((row.size, row.share, row.reads, row.random), (65_536, 10, 80, 100));
}

#[test]
fn shares_that_do_not_sum_to_100_are_an_error_with_place_and_sum() {
    let text = "'ACCESS SPECIFICATIONS\n'Access specification name,default assignment\n\tShort one,NONE\n'size\n\
                \t512,49,0,0,0,1,0,0\n\t1024,50,0,0,0,1,0,0\n'END access specifications\n";
    let errors = icf::parse("a.icf", text.as_bytes()).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].to_string(), "a.icf:3: `Short one`: the shares of its 2 rows sum to 99 %; expected 100 %");
}

#[test]
fn unknown_keys_are_kept_and_the_nearest_is_named() {
    let text = write_setup("NORMAL").replace("'Test Type", "'Ramp Down Time\n\t7\n'Test Type") + SPEC;
    let (config, warnings) = parse(&text);
    assert_eq!(config.unknown, [(21, "Ramp Down Time".to_owned(), "7".to_owned())]);
    assert!(any_contains(&warnings, "did you mean `ramp up time`?"), "{warnings:?}");
    assert_eq!(config.test_type, TestType::Normal);
}

#[test]
fn latin_1_crlf_any_case_and_missing_values_are_read() {
    let bytes = b"version 2006.07.27\r\n'TEST setup ===\r\n'Test description\r\n'RUN time\r\n'\thours\r\n\t0 0 2\r\n\
        'end TEST setup\r\n'access SPECIFICATIONS\r\n'access specification NAME,default\r\n\tPr\xfcfung,all\r\n\
        'SIZE\r\n\
        \t512,100,100,0,0,1,0,0\r\n'end access specifications\r\n";
    let (config, warnings) = icf::parse("a.icf", bytes).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(config.description, "");
    assert_eq!(config.run_time, Span::from_secs(2));
    assert_eq!(config.specs[0].spec.name, "Prüfung");
    assert_eq!(config.specs[0].assignment, SpecAssignment::All);
}

#[test]
fn wrong_values_are_errors_where_they_stand() {
    let text = write_setup("CYCLE_TARGET").replace("0 10 5", "0 ten 5") + SPEC;
    let errors = icf::parse("a.icf", text.as_bytes()).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [7, 22]);
    assert_eq!(errors[1].nearest.as_deref(), Some("CYCLE_TARGETS"));
    assert!(icf::parse("a.icf", b"[global]\nrw=read\n").unwrap_err()[0].message.contains("not an Iometer"));
    assert!(icf::parse("a.icf", b"").is_err());
}

#[test]
fn patterns_alone_run_in_turn_on_one_worker() {
    let (job, warnings) = build_job(SPEC);
    assert_eq!(
        list_streams(&job),
        [(0, 1, "Worker 1 on drive: Reads; 4K, depth 1"), (1, 1, "Worker 1 on drive: Writes, depth 1")]
    );
    assert_eq!(pattern(&job.workers[0]).area, Region { start: 0, bytes: DRIVE * 512 });
    assert_eq!(job.workers[0].runtime, Some(Span::from_secs(60)));
    for words in ["lists no worker", "running all of them in turn (2)", "run time is 0"] {
        assert!(any_contains(&warnings, words), "{words}: {warnings:?}");
    }
    let (job, _) = build_job(&SPEC.replace("Writes,NONE", "Writes,DISK"));
    assert_eq!(list_streams(&job), [(0, 1, "Worker 1 on drive: Writes, depth 1")]);
}

#[test]
fn settings_of_a_worker_reach_its_stream() {
    let list = [write_manager(
        "H",
        &[("W", "32,DISABLED,1,ENABLED,77|2048,64,0", &["Writes", "Reads; 4K"], &["PHYSICALDRIVE:0"])],
    )];
    let (job, warnings) = build_job(&(write_setup("NORMAL") + SPEC + &write_manager_list(&list)));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(job.name, "A test");
    assert_eq!(streams_of_stages(&job), [1, 1]);
    let worker = &job.workers[1];
    assert_eq!((worker.depth, worker.stage, worker.time_based), (32, 1, true));
    assert_eq!((worker.runtime, worker.ramp), (Some(Span::from_secs(605)), Span::from_secs(30)));
    let pattern = pattern(worker);
    assert_eq!(pattern.spec.name, "Reads; 4K");
    assert_eq!(pattern.area, Region { start: 64 * 512, bytes: 2048 * 512 });
    assert_eq!((pattern.worker_seed, pattern.target_seed), (77, 77));
}

#[test]
fn different_targets_share_the_drive_and_streams_differ() {
    let targets: &[&str] = &["PHYSICALDRIVE:0", "C: \"System\"", "/mnt/x [ext3]"];
    let list = [write_manager("H", &[("A", "1", &["Reads; 4K"], targets), ("B", "1", &["Reads; 4K"], &targets[..1])])];
    let (job, warnings) = build_job(&(write_setup("NORMAL") + SPEC + &write_manager_list(&list)));
    let slice = DRIVE / 3 / 8 * 8 * 512;
    let areas: Vec<Region> = job.workers.iter().map(|worker| pattern(worker).area).collect();
    let at = |start| Region { start, bytes: slice };
    assert_eq!(areas, [at(0), at(slice), at(2 * slice), at(0)]);
    assert!(any_contains(&warnings, "3 targets share the drive"), "{warnings:?}");
    assert_eq!(warnings.iter().filter(|warning| warning.message.contains("iobw.tst")).count(), 2);
    let mut seeds: Vec<u64> = job.workers.iter().map(|worker| pattern(worker).target_seed).collect();
    assert_eq!(seeds[0], 1);
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4);
}

#[test]
fn areas_outside_the_drive_are_refused_or_cut() {
    let text = |disk: &str| {
        let settings = format!("1,DISABLED,1|{disk}");
        write_setup("NORMAL")
            + SPEC
            + &write_manager_list(&[write_manager("H", &[("A", &settings, &["Reads; 4K"], &["PHYSICALDRIVE:0"])])])
    };
    let errors_with = |disk: &str| parse(&text(disk)).0.job(1000).unwrap_err();
    assert!(any_contains(&errors_with("0,1000"), "starts at sector 1000 of a target of 1000"));
    assert!(any_contains(&errors_with("4,0"), "too few for its requests"));
    let (job, warnings) = parse(&text("2000,100")).0.job(1000).unwrap();
    assert_eq!(pattern(&job.workers[0]).area, Region { start: 51_200, bytes: 900 * 512 });
    assert!(any_contains(&warnings, "using 900"), "{warnings:?}");
}

#[test]
fn specifications_go_outside_and_depths_inside() {
    let list = [write_manager("H", &[("W", "7", &["Writes", "Reads; 4K"], &["a", "b"])])];
    let (job, _) = build_job(&(write_setup("CYCLE_OUTSTANDING_IOS") + SPEC + &write_manager_list(&list)));
    assert_eq!(streams_of_stages(&job), [2; 6]);
    let depths: Vec<u32> = job.workers.iter().step_by(2).map(|worker| worker.depth).collect();
    assert_eq!(depths, [1, 4, 16, 1, 4, 16]);
    assert_eq!(pattern(&job.workers[6]).spec.name, "Reads; 4K");
    assert!(job.workers.iter().all(|worker| worker.group == worker.stage));
}

#[test]
fn each_test_type_grows_as_iometer_does() {
    // Two managers: workers of 3 and 1 targets, and of 2.
    let spec: &[&str] = &["Writes"];
    let one = write_manager("H", &[("A", "1", spec, &["a", "b", "c"]), ("B", "1", spec, &["a"])]);
    let list = write_manager_list(&[one, write_manager("I", &[("C", "1", spec, &["a", "b"])])]);
    let streams_with = |kind: &str| streams_of_stages(&build_job(&(write_setup(kind) + SPEC + &list)).0);
    assert_eq!(streams_with("NORMAL"), [6]);
    // A target of each worker, then two, then three, as far as each has them.
    assert_eq!(streams_with("CYCLE_TARGETS"), [3, 5, 6]);
    // A worker of each manager, then two.
    assert_eq!(streams_with("CYCLE_WORKERS"), [5, 6]);
    // n targets of each manager, down its workers.
    assert_eq!(streams_with("INCREMENT_TARGETS_PARALLEL"), [2, 4, 5, 6]);
    // n targets in all.
    assert_eq!(streams_with("INCREMENT_TARGETS_SERIAL"), [1, 2, 3, 4, 5, 6]);
    // A worker of each manager with 1, 2, 3 targets; then two workers of each manager.
    assert_eq!(streams_with("CYCLE_WORKERS_AND_TARGETS"), [2, 4, 5, 3, 5, 6]);
    assert_eq!(streams_with("CYCLE_OUTSTANDING_IOS"), [6, 6, 6]);
    assert_eq!(streams_with("CYCLE_OUTSTANDING_IOS_AND_TARGETS"), [3, 3, 3, 5, 5, 5, 6, 6, 6]);
}

#[test]
fn endless_cycling_is_refused() {
    let list = write_manager_list(&[write_manager("H", &[("A", "1", &["Writes"], &["a"])])]);
    let text =
        write_setup("CYCLE_OUTSTANDING_IOS").replace("1 40 4 EXPONENTIAL", "1 4000000000 0 LINEAR") + SPEC + &list;
    assert!(any_contains(&parse(&text).0.job(DRIVE).unwrap_err(), "never ends"));
    let text =
        write_setup("CYCLE_OUTSTANDING_IOS").replace("1 40 4 EXPONENTIAL", "1 4000000000 1 LINEAR") + SPEC + &list;
    assert!(any_contains(&parse(&text).0.job(DRIVE).unwrap_err(), "more than 65535 streams"));
}

#[test]
fn idle_and_network_workers_run_nothing() {
    let disk = write_manager("H", &[("A", "1", &["Idle", "Writes"], &["a"]), ("B", "1", &[], &["a"])]);
    let network = disk.replace("'End manager", "'Worker\n\tN\n'Worker type\n\tNETWORK,TCP\n'End worker\n'End manager");
    let (job, warnings) = build_job(&(write_setup("NORMAL") + SPEC + &write_manager_list(&[network])));
    assert_eq!(list_streams(&job), [(0, 1, "A on a: Writes, depth 1")]);
    assert!(
        any_contains(&warnings, "network worker `N` is ignored")
            && any_contains(&warnings, "`B` has no access specification")
    );
    let only = "'MANAGER LIST\n'Manager ID, manager name\n\t1,H\n'Worker\n\tN\n\
                'Worker type\n\tNETWORK,TCP\n'END manager list\n";
    let errors = parse(&(SPEC.to_owned() + only)).0.job(DRIVE).unwrap_err();
    assert!(any_contains(&errors, "all workers are network workers"), "{errors:?}");
}

#[test]
fn names_are_looked_up_in_the_file_then_among_the_standard_ones() {
    let job_with_spec = |name: &str| {
        parse(&(SPEC.to_owned() + &write_manager_list(&[write_manager("H", &[("A", "1", &[name], &["a"])])])))
            .0
            .job(DRIVE)
    };
    let (job, warnings) = job_with_spec("4 KiB; 75% Read; 0% random").unwrap();
    assert_eq!(pattern(&job.workers[0]).spec.lines[0].reads, 75);
    assert!(any_contains(&warnings, "the standard one"));
    let errors = job_with_spec("Write").unwrap_err();
    assert_eq!(errors[0].nearest.as_deref(), Some("Writes"));
    assert!(any_contains(
        &parse("'TEST SETUP\n'END test setup\n").0.job(DRIVE).unwrap_err(),
        "no access specification"
    ));
}

#[test]
fn large_hostile_files_end_soon() {
    let begun = std::time::Instant::now();
    let names: Vec<String> = (0..3000).map(|index| format!("no such specification {index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = "x".repeat(200_000);
    let list = [write_manager("H", &[("A", "1", &names, &["a"]), ("B", "1", &[&long], &["a"])])];
    let unknown = format!("'TEST SETUP\n'{long}\n\tvalue\n'END test setup\n");
    let unnamed = "'ACCESS SPECIFICATIONS\n'size\n".to_owned()
        + &"2048 100 67 100 0 1\n".repeat(5000)
        + "'END access specifications\n";
    let (config, _) = parse(&(unknown + &unnamed + &write_manager_list(&list)));
    assert_eq!(config.specs[4999].spec.name, "2 KiB random 67% reads 5000");
    assert_eq!(config.job(DRIVE).unwrap_err().len(), 3001);
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}
