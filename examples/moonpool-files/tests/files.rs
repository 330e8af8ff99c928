//! Files of a simulation on modelled disks: what was synced is there after a power cut, what was not may be lost, and is if the
//! cut comes before write-back; operations take the disk's time and fail without power; equal seeds give equal runs. moonpool's own tests are in `upstream.rs`.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use moonpool_core::{OpenOptions, Providers, StorageFile, StorageProvider, TimeProvider};
use moonpool_sim::executor::{Executor, spawn, until_stalled};
use moonpool_sim::{SimContext, SimulationBuilder, SimulationResult, Workload};
use seekwise_example_moonpool_files::{DiskProviders, DiskWorld, Storage};

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// Runs a task to its end in simulated time.
fn run<R: Send + 'static>(sim: &mut DiskWorld, task: impl Future<Output = R> + Send + 'static) -> R {
    Executor::new(1).block_on(async {
        let task = spawn("task", task);
        until_stalled().await;
        while !task.is_finished() {
            assert!(sim.has_pending_events(), "the task waits for nothing");
            sim.step();
            until_stalled().await;
        }
        task.await.expect("the task has ended")
    })
}

/// Writes two records, syncs the first, and stops after this long; it knows nothing of modelled disks.
async fn serve(storage: impl StorageProvider, time: impl TimeProvider, wait: Duration) -> io::Result<()> {
    let mut log = storage.open("log", OpenOptions::create_write()).await?;
    log.write_all(b"synced ").await?;
    log.sync_all().await?;
    log.write_all(b"written").await?;
    time.sleep(wait).await.map_err(io::Error::other)
}

/// All of a user's lines: the world that has disks, the power cut and what is legal after it.
#[test]
fn what_was_synced_is_there_after_a_power_cut_and_what_was_not_may_be_lost() {
    let mut found = Vec::new();
    for seed in 1..=6 {
        let mut sim = DiskWorld::new_with_seed(seed);
        let (disk, time) = (sim.storage_provider(SERVER), sim.time_provider());
        run(&mut sim, serve(disk.clone(), time, Duration::from_secs(seed * 8))).unwrap();
        sim.simulate_crash_for_process(SERVER, true);
        let log = run(&mut sim, async move { read(&disk, "log").await }).unwrap();
        assert!([&b"synced "[..], b"synced written"].contains(&log.as_slice()), "seed {seed}: {log:?}");
        found.push(log.len());
    }
    // Write-back takes a page that is 30 s old: before that it is lost.
    assert!(found.starts_with(&[7, 7, 7]) && found.ends_with(&[14, 14]), "{found:?}");
}

async fn read(storage: &impl StorageProvider, path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    storage.open(path, OpenOptions::read_only()).await?.read_to_end(&mut bytes).await?;
    Ok(bytes)
}

/// Commits of four clients at once, each with the instants of its answers.
fn commits(seed: u64) -> Vec<Vec<Duration>> {
    let mut sim = DiskWorld::new_with_seed(seed);
    let (disk, time) = (sim.storage_provider(SERVER), sim.time_provider());
    run(&mut sim, async move {
        let clients = (0..4).map(|client| {
            let (disk, time) = (disk.clone(), time.clone());
            async move {
                let mut log = disk.open(&format!("log-{client}"), OpenOptions::create_write()).await.unwrap();
                let mut answers = Vec::new();
                for _ in 0..5 {
                    log.write_all(&[client; 5000]).await.unwrap();
                    log.sync_data().await.unwrap();
                    answers.push(time.now());
                }
                answers
            }
        });
        futures::future::join_all(clients).await
    })
}

#[test]
fn a_sync_takes_the_disks_time_and_equal_seeds_give_equal_runs() {
    let answers = commits(1);
    for client in &answers {
        let between = client.windows(2).map(|pair| pair[1] - pair[0]);
        // A commit needs a revolution of 8.3 ms or more, and few of them.
        assert!(between.clone().all(|span| span > Duration::from_millis(4)), "{answers:?}");
        assert!(between.max() < Some(Duration::from_millis(500)), "{answers:?}");
    }
    assert_eq!(answers, commits(1));
    assert_ne!(answers, commits(2), "the seed sets the platter's angle");
}

#[test]
fn operations_without_power_fail_and_a_sync_that_a_cut_meets_does_too() {
    let mut sim = DiskWorld::new_with_seed(1);
    let (disk, time) = (sim.storage_provider(SERVER), sim.time_provider());
    let cut = disk.clone();
    let (met, without, after) = run(&mut sim, async move {
        let mut file = disk.open("a", OpenOptions::create_write()).await.unwrap();
        file.write_all(b"x").await.unwrap();
        let sync = file.sync_all();
        let cut_in_it = async {
            time.sleep(Duration::from_millis(1)).await.unwrap();
            cut.cut_power();
        };
        let (met, ()) = futures::future::join(sync, cut_in_it).await;
        let without = disk.exists("a").await;
        disk.power_on();
        (met, without, file.size().await)
    });
    assert!(met.unwrap_err().to_string().contains("power failed"));
    assert!(without.unwrap_err().to_string().contains("no power"));
    assert_eq!(after.unwrap_err().kind(), io::ErrorKind::NotFound, "a handle ends with the power");
}

#[test]
fn a_dropped_operation_leaves_others_and_the_disk_alone() {
    let mut sim = DiskWorld::new_with_seed(1);
    let (disk, time) = (sim.storage_provider(SERVER), sim.time_provider());
    run(&mut sim, async move {
        let mut file = disk.open("a", OpenOptions::create_write()).await.unwrap();
        file.write_all(b"x").await.unwrap();
        let dropped = time.timeout(Duration::from_millis(1), file.sync_all()).await;
        assert!(dropped.is_err());
        file.sync_all().await.unwrap();
        assert_eq!(read(&disk, "a").await.unwrap(), b"x");
    });
}

#[test]
fn files_open_append_and_seek_as_their_options_say() {
    let mut sim = DiskWorld::new();
    let disk = sim.storage_provider(SERVER);
    run(&mut sim, async move { use_files(disk).await.unwrap() });
}

async fn use_files(disk: Storage<impl TimeProvider>) -> io::Result<()> {
    disk.create_directory("d").await?;
    let options = OpenOptions::new().read(true).append(true).create(true);
    let mut file = disk.open("d/log", options).await?;
    file.write_all(b"hello").await?;
    file.seek(SeekFrom::Start(1)).await?;
    file.write_all(b", world").await?;
    assert_eq!((file.size().await?, file.seek(SeekFrom::End(-5)).await?), (12, 7));
    let mut text = String::new();
    file.read_to_string(&mut text).await?;
    assert_eq!(text, "world");
    assert_eq!(file.seek(SeekFrom::Current(-13)).await.unwrap_err().kind(), io::ErrorKind::InvalidInput);
    let mut reader = disk.open("d/log", OpenOptions::read_only()).await?;
    assert_eq!(reader.write(b"x").await.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(reader.set_len(0).await.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(disk.delete("d").await.unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(disk.open("e/log", OpenOptions::create_write()).await.unwrap_err().kind(), io::ErrorKind::NotFound);
    disk.rename("d/log", "log").await?;
    disk.delete("log").await?;
    assert!(!disk.exists("log").await?);
    Ok(())
}

/// A service of moonpool's runner, with a disk among its providers. It counts its runs: after a failure moonpool runs on without it.
struct Service(Arc<AtomicU32>);

#[async_trait]
impl Workload for Service {
    fn name(&self) -> &str {
        "service"
    }

    async fn run(&mut self, ctx: &SimContext) -> SimulationResult<()> {
        let disk = Storage::new("barracuda-7200.7-ncq", 1, ctx.time().clone());
        let providers = DiskProviders::new(ctx.providers().clone(), disk.clone());
        let served = serve(providers.storage().clone(), providers.time().clone(), Duration::from_secs(1)).await;
        served.expect("the power is on");
        disk.cut_power();
        disk.power_on();
        assert_eq!(read(&disk, "log").await.unwrap(), b"synced ");
        assert!(ctx.time().now() > Duration::from_secs(1), "{:?}", ctx.time().now());
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[test]
fn moonpools_runner_runs_services_on_disks() {
    let runs = Arc::new(AtomicU32::new(0));
    let service = Service(Arc::clone(&runs));
    let report = SimulationBuilder::new().workload(service).set_iterations(2).set_debug_seeds(vec![1, 2]).run();
    assert_eq!((report.successful_runs, report.failed_runs), (2, 0), "{report}");
    assert_eq!(runs.load(Ordering::Relaxed), 2);
}
