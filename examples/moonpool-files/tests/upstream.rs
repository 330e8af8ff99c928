//! moonpool's own tests of its storage, on moonpool's storage and on modelled disks. The package of moonpool-sim has them; they are
//! compiled in a package of their own below `target`.
//!
//! The changes are those of a user: another world is imported ([`adapt`]). Each test that does not pass is named with its reason: a test
//! that changes sides is noticed. With `--test upstream -- --nocapture` it prints the counts. Left out are `config`, which has no
//! storage, and `tokio_provider`, which tests the real file system.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// moonpool's files of tests that run.
const FILES: [&str; 8] =
    ["basic", "concurrent", "crash_api", "determinism", "faults", "latency", "performance", "recovery"];

/// Its contracts of providers that touch storage; the runner here gives both kinds simulated time.
const CONTRACTS: &str = r#"
const ADDRESS: &str = "10.0.0.1:4000";
struct SimFixtures;
impl fixtures::Fixtures for SimFixtures {
    fn bind_addr(&self) -> String { ADDRESS.to_owned() }
    fn connect_addr(&self, listener: &str) -> String { listener.to_owned() }
    fn path(&self, name: &str) -> String { name.to_owned() }
    fn unbound_addr(&self) -> Option<String> { None }
}
mod contracts {
    use super::*;
    fn run<Fut: Future<Output = ()> + Send + 'static>(contract: impl FnOnce(KIND) -> Fut) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut sim = moonpool_sim::SimWorld::new();
            let ip = "10.0.0.1".parse().unwrap();
            let providers = moonpool_sim::SimProviders::new(sim.downgrade(), 42, ip);
            let handle = tokio::spawn(contract(MAKE));
            while !handle.is_finished() {
                sim.step();
                tokio::task::yield_now().await;
            }
            handle.await.unwrap();
        });
    }
    #[test]
    fn storage() { run(|p| async move { contract_storage::storage_contract(&p, &SimFixtures).await }); }
}
"#;

/// Tests that fail, by reason.
const FAILS: [(&str, &[&str]); 3] = [
    (
        "faults that moonpool's settings choose: a disk has its own",
        &[
            "faults::test_default_config_fallback",
            "faults::test_dynamic_config_change",
            "faults::test_fault_injection_produces_mixed_results",
            "faults::test_per_process_phantom_write_isolation",
            "faults::test_per_process_storage_config_isolation",
            "faults::test_per_process_sync_failure_isolation",
            "faults::test_phantom_write_fault",
            "faults::test_read_corruption_fault",
            "faults::test_sync_failure_fault",
            "faults::test_write_corruption_fault",
        ],
    ),
    (
        "latencies and rates that moonpool's settings choose: a disk and its page cache have their own",
        &[
            "latency::test_custom_latency_ranges",
            "latency::test_disk_episode_correlated_per_owner",
            "latency::test_disk_episode_isolated_across_machines",
            "latency::test_disk_episodes_off_by_default",
            "latency::test_disk_stall_inflates_elapsed_time",
            "latency::test_fast_storage_config",
            "latency::test_read_latency_scales_with_size",
            "latency::test_write_latency_scales_with_size",
            "performance::test_fast_local_minimal_overhead",
            "performance::test_hdd_vs_ssd_performance",
            "performance::test_iops_and_bandwidth_combine",
            "performance::test_large_file_bandwidth_constraint",
            "performance::test_low_bandwidth_increases_latency",
            "performance::test_low_iops_increases_latency",
            "performance::test_read_bandwidth_constraint",
            "performance::test_sequential_small_ops_iops_limited",
        ],
    ),
    (
        "ext4 commits names with its next transaction, and no sync followed; moonpool's names are durable at once",
        &["recovery::test_delete_crash_recovery", "recovery::test_rename_crash_recovery"],
    ),
];

/// The changes of a user: another world, and the type of its disks.
fn adapt(source: &str) -> String {
    source
        .replace(
            "use moonpool_sim::{",
            "use seekwise_example_moonpool_files::DiskWorld as SimWorld;\nuse moonpool_sim::{",
        )
        .replace("SimWorld, StorageConfiguration", "StorageConfiguration")
        .replace(
            "moonpool_sim::SimStorageProvider",
            "seekwise_example_moonpool_files::Storage<moonpool_sim::SimTimeProvider>",
        )
}

/// The folder of moonpool-sim's sources.
fn moonpool() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let paths = text.split("\"manifest_path\":\"").filter_map(|rest| rest.split('"').next());
    let found = paths.map(Path::new).find(|path| path.to_string_lossy().contains("/moonpool-sim-"));
    found.and_then(Path::parent).expect("cargo metadata names moonpool-sim").to_owned()
}

/// The text of a test program: all files as modules, and the contracts.
fn program(kind: &str) -> String {
    let mut text: String =
        ["fixtures", "contract_storage"].map(|name| format!("#[path = \"{kind}/{name}.rs\"]\nmod {name};\n")).concat();
    for file in FILES {
        text += &format!("#[path = \"{kind}/{file}.rs\"]\nmod {file};\n");
    }
    let (type_name, value) = match kind {
        "before" => ("moonpool_sim::SimProviders", "providers"),
        _ => (
            "seekwise_example_moonpool_files::DiskProviders<moonpool_sim::SimProviders>",
            "{\nlet disk = seekwise_example_moonpool_files::Storage::new(\"barracuda-7200.7-ncq\", 1, sim.time_provider());\n\
             seekwise_example_moonpool_files::DiskProviders::new(providers, disk)\n}",
        ),
    };
    text + &CONTRACTS.replace("KIND", type_name).replace("MAKE", value)
}

/// Writes a package whose tests `before` are moonpool's, and whose tests `after` are the same on modelled disks.
fn write_package(package: &Path, moonpool: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(moonpool.join("tests").join(path)).expect("moonpool's test");
    for kind in ["before", "after"] {
        let folder = package.join("tests").join(kind);
        std::fs::create_dir_all(&folder).unwrap();
        for file in FILES {
            let source = read(&format!("storage/{file}.rs"));
            let source = if kind == "after" { adapt(&source) } else { source };
            std::fs::write(folder.join(format!("{file}.rs")), source).unwrap();
        }
        let fixtures = read("conformance/fixtures.rs").replace("use tempfile::TempDir;", "");
        let fixtures = fixtures.split("/// Fixtures for the real Tokio runtime").next().unwrap();
        std::fs::write(folder.join("fixtures.rs"), fixtures).unwrap();
        std::fs::write(folder.join("contract_storage.rs"), read("conformance/contract_storage.rs")).unwrap();
        std::fs::write(package.join(format!("tests/{kind}.rs")), program(kind)).unwrap();
    }
    std::fs::create_dir_all(package.join("src")).unwrap();
    std::fs::write(package.join("src/lib.rs"), "").unwrap();
    // Its dependencies are those of the example, so that both use one build of them.
    let manifest = std::fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let (_, dependencies) = manifest.split_once("[dependencies]\n").expect("the example has dependencies");
    let dependencies = dependencies.replace("../../crates", &here.join("../../crates").to_string_lossy());
    let manifest = format!(
        "[package]\nname = \"upstream\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n\
         seekwise-example-moonpool-files = {{ path = {here:?} }}\n{dependencies}"
    );
    std::fs::write(package.join("Cargo.toml"), manifest).unwrap();
    std::fs::copy(here.join("Cargo.lock"), package.join("Cargo.lock")).unwrap();
}

/// The tests of a kind, each with whether it passed.
fn run(package: &Path, kind: &str) -> BTreeMap<String, bool> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("it lies in the folder of builds");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(package).args(["test", "--no-fail-fast", "--test", kind, "--target-dir"]).arg(target);
    let output = cargo.output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let outcomes: BTreeMap<String, bool> = text
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "))
        .filter(|(_, result)| matches!(*result, "ok" | "FAILED"))
        .map(|(name, result)| (name.to_owned(), result == "ok"))
        .collect();
    assert!(!outcomes.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    outcomes
}

#[test]
fn moonpools_own_tests_do_on_modelled_disks_as_the_table_says() {
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("upstream");
    write_package(&package, &moonpool());
    let (before, after) = (run(&package, "before"), run(&package, "after"));
    assert!(before.values().all(|passed| *passed), "moonpool's own tests fail: {before:?}");
    assert!(before.keys().eq(after.keys()), "other tests run: {before:?} {after:?}");
    for file in FILES.iter().chain(&["contracts"]) {
        let count = |tests: &BTreeMap<String, bool>| {
            tests.iter().filter(|(name, passed)| name.split("::").next() == Some(file) && **passed).count()
        };
        println!("{file}: {} before, {} after", count(&before), count(&after));
    }
    FAILS.iter().for_each(|(reason, tests)| println!("{reason}: {}", tests.len()));
    let fails = || FAILS.iter().flat_map(|(_, tests)| *tests);
    let wrong: Vec<_> = after.iter().filter(|(name, passed)| **passed == fails().any(|test| test == *name)).collect();
    assert!(wrong.is_empty(), "not as the table says: {wrong:?}");
    let unknown: Vec<_> = fails().filter(|test| !after.contains_key(**test)).collect();
    assert!(unknown.is_empty(), "no tests of moonpool: {unknown:?}");
}
