//! Iometer configurations of other people: each becomes a job or is refused with a reason, and is read as Iometer reads it.

use std::collections::BTreeMap;
use std::path::Path;

use crate::shared_files;
use seekwise_formats::iometer::icf::{self, IometerConfig};
use seekwise_formats::iometer::standard;

/// Sectors of a 160-GB drive of 2005.
const DRIVE: u64 = 312_581_808;

fn parse(path: &Path) -> (IometerConfig, Vec<String>) {
    let bytes = std::fs::read(path).unwrap();
    let (config, warnings) = icf::parse(&path.to_string_lossy(), &bytes).unwrap_or_else(|errors| panic!("{errors:?}"));
    (config, warnings.iter().map(ToString::to_string).collect())
}

/// The configuration in the file of this name, if it is there.
fn parse_named(paths: &[std::path::PathBuf], name: &str) -> Option<IometerConfig> {
    paths.iter().find(|path| path.ends_with(name)).map(|path| parse(path).0)
}

#[test]
fn each_becomes_a_job_or_is_refused_with_a_reason() {
    let mut refused: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut jobs = 0;
    for path in shared_files::files("wild/iometer", &[".icf", ".save.txt", "builtin_specs.txt"]) {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        match icf::parse(&name, &bytes).and_then(|(config, mut warnings)| {
            let (job, more) = config.job(DRIVE)?;
            warnings.extend(more);
            Ok((job, warnings))
        }) {
            Ok((job, warnings)) => {
                let stages = job.workers.iter().map(|worker| worker.stage + 1).max().unwrap();
                println!("{name}: {stages} tests, {} streams, {} warnings", job.workers.len(), warnings.len());
                jobs += 1;
                for worker in &job.workers {
                    let seekwise_work::workload::Pattern::Iometer(pattern) = &worker.pattern else { panic!() };
                    assert!(pattern.area.bytes > 0 && pattern.area.start + pattern.area.bytes <= DRIVE * 512, "{name}");
                    assert!(worker.depth > 0 && worker.runtime.is_some(), "{name}");
                }
            }
            Err(errors) => refused.entry(errors[0].message.clone()).or_default().push(name),
        }
    }
    println!("{jobs} jobs; refused: {refused:#?}");
    if jobs > 0 {
        let network: &[&str] = &["network_worker.icf"];
        let nothing: &[&str] = &["nospec_error.icf"];
        let names: Vec<&[String]> = refused.values().map(Vec::as_slice).collect();
        assert_eq!(names, [network, nothing], "{refused:?}");
    }
}

/// `golden_save` holds what Iometer wrote after reading a file: all keys known, all values plain.
#[test]
fn what_iometer_saves_is_read_without_unknown_keys() {
    for path in shared_files::files("wild/iometer/icf-resaved", &[".save.txt"]) {
        let (config, warnings) = parse(&path);
        assert!(config.unknown.is_empty(), "{}: {:?}", path.display(), config.unknown);
        // The harness that kept these files masks the version and puts its exit code first.
        let masked =
            |text: &&String| text.contains("outside every section") || text.contains("version does not consist");
        assert_eq!(warnings.iter().filter(|text| !masked(text)).count(), 0, "{}: {warnings:?}", path.display());
        let (job, _) = config.job(DRIVE).unwrap();
        assert!(!job.workers.is_empty());
    }
}

#[test]
fn a_file_is_read_as_iometer_read_it() {
    let sources = shared_files::files("wild/iometer/icf", &[".icf"]);
    let saved = shared_files::files("wild/iometer/icf-resaved", &[".save.txt"]);
    let (Some(mut source), Some(mut saved_again)) =
        (parse_named(&sources, "two_managers_run.icf"), parse_named(&saved, "two_managers_run.save.txt"))
    else {
        return;
    };
    // Iometer numbers managers itself when it saves; lines and version are those of another file.
    for config in [&mut source, &mut saved_again] {
        config.version = icf::IcfVersion::Unstated;
        config.file.clear();
        config.specs.iter_mut().for_each(|spec| spec.line = 0);
        for manager in &mut config.managers {
            manager.id = 0;
            for worker in &mut manager.workers {
                worker.line = 0;
                worker.assigned.iter_mut().chain(&mut worker.targets).for_each(|(line, _)| *line = 0);
            }
        }
    }
    assert_eq!(source, saved_again);
}

/// The masked results tell what Iometer ran of a file: its first row counts managers, workers and disks.
#[test]
fn as_many_streams_run_as_iometer_ran() {
    let sources = shared_files::files("wild/iometer/icf", &[".icf"]);
    for path in shared_files::files("wild/iometer/results-golden", &[".golden.txt"]) {
        let name = path.file_name().unwrap().to_string_lossy().replace(".golden.txt", ".icf");
        let Some(config) = parse_named(&sources, &name) else {
            continue;
        };
        let golden = std::fs::read_to_string(&path).unwrap();
        let all = golden.lines().find_map(|line| line.strip_prefix("ROW ALL,All,")?.split(" ERR").next()).unwrap();
        let workers = config.managers.iter().map(|manager| manager.workers.len()).sum::<usize>();
        let job = config.job(DRIVE).unwrap().0;
        let here = format!("{},{},{workers},{}", config.specs[0].spec.name, config.managers.len(), job.workers.len());
        assert_eq!(here, all, "{name}");
    }
}

#[test]
fn rich_settings_survive() {
    let saved = shared_files::files("wild/iometer/icf-resaved", &[".save.txt"]);
    let Some(config) = parse_named(&saved, "multiline_allinone.save.txt") else {
        return;
    };
    let worker = &config.managers[0].workers[0];
    assert_eq!((worker.outstanding, worker.connection, worker.fixed_seed), (8, Some(5), Some(12345)));
    assert_eq!((worker.maximum_size, worker.starting_sector, worker.data_pattern), (1024, 64, 1));
    let ours = standard::specs().into_iter().find(|spec| spec.name == "All in one");
    assert_eq!(config.specs.iter().find(|spec| spec.spec.name == "All in one").map(|spec| spec.spec.clone()), ours);
}

/// Iometer's own list as one of its builds saved it equals the table, name by name and row by row.
#[test]
fn the_standard_table_holds_iometers_own_list() {
    for path in shared_files::files("wild/iometer/icf", &["golden_builtin_specs.txt"]) {
        let (config, _) = parse(&path);
        let ours = standard::specs();
        assert_eq!(config.specs.len(), 31);
        for specification in &config.specs {
            let same = ours.iter().find(|spec| spec.name == specification.spec.name);
            assert_eq!(same, Some(&specification.spec));
        }
    }
    for path in shared_files::files("wild/iometer/icf/autotest__tp-qemu", &["/iometer.icf"]) {
        let (config, _) = parse(&path);
        let ours = standard::specs();
        for specification in config.specs.iter().filter(|specification| specification.spec.name.contains("% random")) {
            assert_eq!(ours.iter().find(|spec| spec.name == specification.spec.name), Some(&specification.spec));
        }
    }
}
