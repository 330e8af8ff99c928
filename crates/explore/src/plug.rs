//! The writes of a run: when each was issued, acknowledged and on the platter. A page draws a cut of the power through them; how much a cut
//! loses is the judge's figure (`power_cut`), not this room's.

use std::collections::BTreeMap;

use seekwise::{Error, Setup};
use seekwise_disk::block::{Completion, Landing, LandingKind, Op, Request};
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_disk::witness::Witness;
use seekwise_lab::cut::modelled_stack;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::sim::{self, RunEnding};
use serde::Serialize;

/// Most writes and flushes of a run that are listed.
pub const MOST_LISTED: usize = 2000;

/// A write or a flush of a run; instants are nanoseconds of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedRequest {
    /// `write` or `flush`.
    pub op: &'static str,
    pub lba: u64,
    pub sectors: u32,
    pub issued_ns: u64,
    /// When the drive said that it was done.
    pub acknowledged_ns: Option<u64>,
    /// When its last sector was on the platter; `None` for flushes, and for writes that a later write to the same place replaced.
    pub landed_ns: Option<u64>,
}

/// The writes and flushes of a run, in the order of issue.
#[derive(Debug, Serialize)]
pub struct WriteHistory {
    pub requests: Vec<ListedRequest>,
    /// When the job ended, in nanoseconds of the run.
    pub end_ns: u64,
}

/// Runs `setup` and lists its writes and flushes until all writes are on the platter.
pub fn write_history(setup: &Setup) -> Result<WriteHistory, Error> {
    let prepared = setup.prepare()?;
    let stack = modelled_stack(&prepared.target).map_err(Error::new)?;
    if stack.array().is_some() {
        return Err(Error::new("the writes of an array are not listed; expected a single drive"));
    }
    let seed = Seed(setup.seed);
    let mut log = WriteLog::default();
    let source = prepared.job.make_source(seed);
    let (outcome, _) = sim::run_witnessed(stack, source, RunCutoff::NEVER, seed, RunEnding::Linger, &mut log)
        .map_err(|error| error.with_change_in_words(prepared.target.changes()))?;
    Ok(WriteHistory { requests: log.requests, end_ns: outcome.figures.end.nanos() })
}

/// Lists requests as they come, and finds them again by their stamps.
#[derive(Default)]
struct WriteLog {
    requests: Vec<ListedRequest>,
    /// Listed writes by stamp, and how many sectors of each are not on the platter.
    writes: BTreeMap<u64, (usize, u32)>,
    /// Listed requests in flight, by tag.
    in_flight: BTreeMap<u32, usize>,
}

impl Witness for WriteLog {
    fn note_submission(&mut self, now: Instant, request: &Request) {
        let op = match request.op {
            Op::Write => "write",
            Op::Flush => "flush",
            _ => return,
        };
        if self.requests.len() == MOST_LISTED {
            return;
        }
        let index = self.requests.len();
        if request.op == Op::Write {
            self.writes.insert(request.stamp, (index, request.sectors));
        }
        self.in_flight.insert(request.tag, index);
        let (lba, sectors, issued_ns) = (request.lba, request.sectors, now.nanos());
        self.requests.push(ListedRequest { op, lba, sectors, issued_ns, acknowledged_ns: None, landed_ns: None });
    }

    fn note_completion(&mut self, request: &Request, completion: &Completion) {
        if let Some(index) = self.in_flight.remove(&request.tag) {
            self.requests[index].acknowledged_ns = Some(completion.finished.nanos());
        }
    }

    fn note_landing(&mut self, landing: &Landing) {
        let Some((index, missing)) = self.writes.get_mut(&landing.stamp) else { return };
        *missing = missing.saturating_sub(landing.sectors);
        let request = &mut self.requests[*index];
        match (*missing, landing.kind) {
            (0, LandingKind::Landed) => request.landed_ns = Some(landing.to.nanos()),
            (0, _) => request.landed_ns = None,
            _ => {}
        }
    }

    fn should_linger(&mut self, _: Instant, _: Instant) -> bool {
        self.writes.values().any(|(_, missing)| *missing > 0)
    }
}

#[cfg(test)]
mod tests {
    use seekwise::power_cut::{CutTime, power_cut};
    use seekwise::{Bounds, Setup};

    use super::*;

    /// The judge of power cuts and the list agree on how many acknowledged writes a cut loses.
    #[test]
    fn the_list_loses_as_many_writes_as_the_judge_finds() {
        for flush in ["0", "8"] {
            let setup = Setup::new("paced-writes", "barracuda-7200.7-ncq").with("job.env.FLUSH", flush);
            let history = write_history(&setup).unwrap();
            let writes = || history.requests.iter().filter(|request| request.op == "write");
            let flushes = history.requests.len() - writes().count();
            assert_eq!((writes().count(), flushes > 0), (120, flush == "8"));
            assert!(writes().all(|write| write.landed_ns > Some(write.issued_ns)), "all reach the platter in the end");
            let mut found_loss = false;
            for cut in (1..20).map(|step| history.end_ns * step / 20) {
                let held = |write: &&ListedRequest| {
                    write.acknowledged_ns.is_some_and(|at| at <= cut) && write.landed_ns.is_none_or(|at| at > cut)
                };
                let listed = writes().filter(held).count() as u64;
                let when = CutTime::At(vec![Instant::from_nanos(cut)]);
                let judged = power_cut(&setup, when, &Bounds::new(None), &()).unwrap().report;
                assert_eq!(listed, judged.acknowledged_lost.writes, "cut at {cut} ns, a flush after {flush}");
                found_loss |= listed > 0;
            }
            assert!(found_loss);
        }
    }
}
