//! The experiment: two clients write, the power of both servers fails, and after it has returned an auditor asks for
//! all acknowledged keys. Equal seeds give equal runs, to the nanosecond.

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

/// The longest time of a message: long enough for the drive to be idle now and then, and to write something back.
const MAX_MESSAGE_LATENCY: Duration = Duration::from_millis(8);

/// The simulated time at which the power fails.
const CUT_TIME: Duration = Duration::from_millis(2000);

/// The simulated time at which the power returns.
const RETURN_TIME: Duration = Duration::from_millis(4000);

/// A time longer than any answer takes while there is power.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// The outcome of a run.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Each acknowledged key, with its instant in nanoseconds.
    pub acknowledged: Vec<(u128, String)>,
    /// The acknowledged keys whose value neither server has afterwards.
    pub lost: Vec<String>,
    /// The completions of each disk.
    pub answers: [Vec<Completion>; 2],
}

/// Runs the experiment with both kinds of acknowledgement; returns a line for each.
pub fn report(seed: u64) -> turmoil::Result<String> {
    let line = |acknowledge| {
        let Outcome { acknowledged, lost, .. } = run(seed, acknowledge)?;
        Ok(format!("{acknowledge:?}: {} writes acknowledged, {} of them lost\n", acknowledged.len(), lost.len()))
    };
    [Acknowledge::BeforeFlush, Acknowledge::AfterFlush].into_iter().map(line).collect()
}

/// Runs the experiment.
pub fn run(seed: u64, acknowledge: Acknowledge) -> turmoil::Result<Outcome> {
    let mut sim = Builder::new().rng_seed(seed).max_message_latency(MAX_MESSAGE_LATENCY).build();
    let disks = [Disk::open(DRIVE, seed), Disk::open(DRIVE, seed + 1)];
    let followers = [Some(SERVERS[1]), None];
    for ((name, disk), follower) in SERVERS.iter().zip(&disks).zip(followers) {
        let disk = disk.clone();
        sim.host(*name, move || serve(disk.clone(), acknowledge, follower));
    }
    let acknowledged = Rc::new(RefCell::new(Vec::new()));
    for name in ["ann", "bob"] {
        sim.client(name, write(name, Rc::clone(&acknowledged)));
    }

    step_until(&mut sim, CUT_TIME)?;
    for (name, disk) in SERVERS.iter().zip(&disks) {
        sim.crash(*name);
        disk.cut(sim.elapsed());
    }
    step_until(&mut sim, RETURN_TIME)?;
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

/// Writes one key after another until no answer comes, and keeps the acknowledged keys.
async fn write(name: &str, acknowledged: Rc<RefCell<Vec<(u128, String)>>>) -> turmoil::Result {
    let mut primary = Connection::connect(SERVERS[0]).await?;
    for number in 0.. {
        let key = format!("{name}-{number}");
        match timeout(ANSWER_TIMEOUT, primary.request(&format!("put {key} {number}"))).await {
            Ok(Ok(answer)) if answer == "ok" => {
                let now = turmoil::sim_elapsed().expect("a host of a simulation");
                acknowledged.borrow_mut().push((now.as_nanos(), key));
            }
            _ => break,
        }
    }
    Ok(())
}

/// Asks both servers for each key, and keeps the lost ones.
async fn audit(keys: Vec<String>, lost: Rc<RefCell<Vec<String>>>) -> turmoil::Result {
    let [mut primary, mut follower] = [Connection::connect(SERVERS[0]).await?, Connection::connect(SERVERS[1]).await?];
    for key in keys {
        let line = format!("get {key}");
        if primary.request(&line).await? == "-" && follower.request(&line).await? == "-" {
            lost.borrow_mut().push(key);
        }
    }
    Ok(())
}
