//! The experiment: two clients write, the power of both servers fails, and when it has returned somebody asks for all that was
//! acknowledged. Equal seeds give equal runs, to the nanosecond.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use seekwise_disk::block::Completion;
use tokio::time::timeout;
use turmoil::{Builder, Sim};

use crate::disk::Disk;
use crate::store::{Acknowledge, Connection, serve};

/// The drive of each server: 7,200 rpm, 8 MB of buffer, its write cache on.
const DRIVE: &str = "barracuda-7200.7-ncq";

const SERVERS: [&str; 2] = ["primary", "follower"];

/// The longest that a message takes: long enough for the drive to find a pause now and then, and to write something back.
const NETWORK: Duration = Duration::from_millis(8);

/// When the power fails, and when it is back.
const CUT: Duration = Duration::from_millis(2000);
const BACK: Duration = Duration::from_millis(4000);

/// Longer than an answer takes while there is power.
const PATIENCE: Duration = Duration::from_secs(1);

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Each acknowledgement, with its instant in nanoseconds.
    pub acknowledged: Vec<(u128, String)>,
    /// Those of them whose value neither server has afterwards.
    pub lost: Vec<String>,
    /// What each disk answered, and when.
    pub answers: [Vec<Completion>; 2],
}

/// Runs it both ways, and says what came of it.
pub fn report(seed: u64) -> turmoil::Result<String> {
    let line = |when| {
        let Outcome { acknowledged, lost, .. } = run(seed, when)?;
        Ok(format!("{when:?}: {} writes acknowledged, {} of them lost\n", acknowledged.len(), lost.len()))
    };
    [Acknowledge::BeforeFlush, Acknowledge::AfterFlush].into_iter().map(line).collect()
}

/// Runs it.
pub fn run(seed: u64, when: Acknowledge) -> turmoil::Result<Outcome> {
    let mut sim = Builder::new().rng_seed(seed).max_message_latency(NETWORK).build();
    let disks = [Disk::open(DRIVE, seed), Disk::open(DRIVE, seed + 1)];
    let followers = [Some(SERVERS[1]), None];
    for ((name, disk), follower) in SERVERS.iter().zip(&disks).zip(followers) {
        let disk = disk.clone();
        sim.host(*name, move || serve(disk.clone(), when, follower));
    }
    let acknowledged = Rc::new(RefCell::new(Vec::new()));
    for name in ["ann", "bob"] {
        sim.client(name, write(name, Rc::clone(&acknowledged)));
    }

    step_until(&mut sim, CUT)?;
    for (name, disk) in SERVERS.iter().zip(&disks) {
        sim.crash(*name);
        disk.cut(sim.elapsed());
    }
    step_until(&mut sim, BACK)?;
    for (name, disk) in SERVERS.iter().zip(&disks) {
        disk.power_on(sim.elapsed());
        sim.bounce(*name);
    }

    let (acknowledged, lost) = (acknowledged.take(), Rc::new(RefCell::new(Vec::new())));
    let keys = acknowledged.iter().map(|(_, key): &(u128, String)| key.clone()).collect();
    sim.client("auditor", audit(keys, Rc::clone(&lost)));
    sim.run()?;
    Ok(Outcome { acknowledged, lost: lost.take(), answers: disks.map(|disk| disk.history()) })
}

fn step_until(sim: &mut Sim<'_>, end: Duration) -> turmoil::Result {
    while sim.elapsed() < end {
        sim.step()?;
    }
    Ok(())
}

/// Writes one key after another, until no answer comes any more.
async fn write(name: &str, acknowledged: Rc<RefCell<Vec<(u128, String)>>>) -> turmoil::Result {
    let mut primary = Connection::to(SERVERS[0]).await?;
    for number in 0.. {
        let key = format!("{name}-{number}");
        match timeout(PATIENCE, primary.ask(&format!("put {key} {number}"))).await {
            Ok(Ok(answer)) if answer == "ok" => {
                let now = turmoil::sim_elapsed().expect("a host of a simulation");
                acknowledged.borrow_mut().push((now.as_nanos(), key));
            }
            _ => break,
        }
    }
    Ok(())
}

/// Asks both servers for each key.
async fn audit(keys: Vec<String>, lost: Rc<RefCell<Vec<String>>>) -> turmoil::Result {
    let [mut primary, mut follower] = [Connection::to(SERVERS[0]).await?, Connection::to(SERVERS[1]).await?];
    for key in keys {
        let question = format!("get {key}");
        if primary.ask(&question).await? == "-" && follower.ask(&question).await? == "-" {
            lost.borrow_mut().push(key);
        }
    }
    Ok(())
}
