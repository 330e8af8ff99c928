//! Files of hosts on modelled disks: a service that syncs keeps its data through a crash, one that does not may lose them; equal
//! seeds give equal runs.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use seekwise_example_turmoil_files::disks::Disks;
use seekwise_example_turmoil_files::{blocking, fs};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt, SeekFrom};
use turmoil::{Builder, Sim};

fn step_until(sim: &mut Sim<'_>, end: Duration) -> turmoil::Result {
    while sim.elapsed() < end {
        sim.step()?;
    }
    Ok(())
}

/// Appends numbers to a log, and notes each with the time when it was acknowledged; after a restart it reads them.
async fn serve(
    syncs: bool,
    acknowledged: Rc<RefCell<Vec<(Duration, u32)>>>,
    found: Rc<RefCell<Vec<u32>>>,
) -> turmoil::Result {
    if fs::try_exists("/log").await? {
        let bytes = fs::read("/log").await?;
        let numbers = bytes.chunks_exact(4).map(|number| u32::from_le_bytes(number.try_into().expect("four bytes")));
        found.borrow_mut().extend(numbers);
        std::future::pending::<()>().await;
    }
    let log = fs::File::create("/log").await?;
    log.sync_all().await?;
    for number in 0.. {
        log.write_at(&u32::to_le_bytes(number), u64::from(number) * 4).await?;
        if syncs {
            log.sync_data().await?;
        } else {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let now = turmoil::sim_elapsed().expect("a host of a simulation");
        acknowledged.borrow_mut().push((now, number));
    }
    Ok(())
}

/// Numbers with the time of their acknowledgement.
type Acknowledged = Vec<(Duration, u32)>;

/// Acknowledged numbers, and those found after a crash.
fn run(syncs: bool, seed: u64) -> turmoil::Result<(Acknowledged, Vec<u32>)> {
    let (acknowledged, found) = (Rc::default(), Rc::default());
    let mut sim = Builder::new().rng_seed(seed).build();
    let mut disks = Disks::new("barracuda-7200.7-ncq", seed);
    let shared = (Rc::clone(&acknowledged), Rc::clone(&found));
    disks.host(&mut sim, "server", move || serve(syncs, Rc::clone(&shared.0), Rc::clone(&shared.1)));
    step_until(&mut sim, Duration::from_secs(2))?;
    disks.crash(&mut sim, "server");
    step_until(&mut sim, Duration::from_secs(3))?;
    disks.bounce(&mut sim, "server");
    step_until(&mut sim, Duration::from_secs(4))?;
    drop(sim);
    Ok((acknowledged.take(), found.take()))
}

#[test]
fn what_was_synced_before_a_crash_is_there_after_it() {
    for seed in [1, 2] {
        let (acknowledged, found) = run(true, seed).unwrap();
        assert!(acknowledged.len() > 20, "{} acknowledged", acknowledged.len());
        for (_, number) in &acknowledged {
            assert_eq!(found.get(*number as usize), Some(number), "seed {seed}");
        }
        assert_eq!((acknowledged, found), run(true, seed).unwrap(), "equal seeds, equal runs");
    }
}

#[test]
fn what_was_not_synced_may_be_lost() {
    let (acknowledged, found) = run(false, 1).unwrap();
    // Two seconds are less than the age at which write-back begins.
    assert!(acknowledged.len() > 100 && found.is_empty(), "{} acknowledged, {} found", acknowledged.len(), found.len());
}

#[test]
fn operations_without_power_fail_and_a_blocking_call_takes_the_disks_time() {
    let mut sim = Builder::new().build();
    let mut disks = Disks::new("barracuda-7200.7-ncq", 1);
    let results = Rc::new(RefCell::new(Vec::new()));
    let noted = Rc::clone(&results);
    disks.host(&mut sim, "server", move || {
        let noted = Rc::clone(&noted);
        async move {
            blocking::write("/a", b"blocking")?;
            blocking::File::open("/a")?.sync_all()?;
            let begun = tokio::time::Instant::now();
            // It waits behind the sync, which the simulation's clock did not see.
            let file = fs::File::create("/b").await?;
            assert!(begun.elapsed() > Duration::from_millis(5), "{:?}", begun.elapsed());
            loop {
                let both = file.sync_all().await.is_ok() && fs::read("/a").await.is_ok();
                noted.borrow_mut().push(both);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    });
    for second in 1..=3 {
        match second {
            2 => disks.cut_power(&sim, "server"),
            3 => disks.power_on(&sim, "server"),
            _ => {}
        }
        results.borrow_mut().clear();
        step_until(&mut sim, Duration::from_secs(second)).unwrap();
        let all = results.borrow();
        // A handle ends with the power.
        assert!(all.len() > 5 && all.iter().all(|ok| *ok == (second == 1)), "second {second}: {all:?}");
    }
}

#[test]
fn files_work_as_in_turmoil() {
    let mut sim = Builder::new().build();
    sim.client("test", async {
        fs::create_dir_all("/a/b").await?;
        fs::write("/a/b/one", b"hello").await?;
        assert_eq!(fs::copy("/a/b/one", "/a/two").await?, 5);
        fs::rename("/a/two", "/a/b/one").await?;
        let names: Vec<_> = fs::read_dir("/a/b").await?.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names, [std::path::Path::new("/a/b/one")]);
        let mut file = fs::OpenOptions::new().read(true).append(true).open("/a/b/one").await?;
        file.write_all(b", world").await?;
        file.seek(SeekFrom::End(-5)).await?;
        let mut text = String::new();
        file.read_to_string(&mut text).await?;
        assert_eq!((text.as_str(), file.metadata().await?.len()), ("world", 12));
        file.set_len(7).await?;
        file.set_len(20).await?;
        assert_eq!(fs::read("/a/b/one").await?, [&b"hello, "[..], &[0; 13]].concat());
        let denied = fs::File::open("/a/b/one").await?.write_at(b"x", 0).await;
        assert_eq!(denied.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        assert!(fs::OpenOptions::new().write(true).create_new(true).open("/a/b/one").await.is_err());
        assert_eq!(fs::File::create("/a/b/one").await?.metadata().await?.len(), 0);
        assert_eq!(fs::remove_dir("/a").await.unwrap_err().kind(), std::io::ErrorKind::DirectoryNotEmpty);
        fs::remove_dir_all("/a").await?;
        assert!(!fs::try_exists("/a").await?);
        Ok(())
    });
    sim.run().unwrap();
}
