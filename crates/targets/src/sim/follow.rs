//! The first requests of a run that count, and what the arms did meanwhile: the same run as any other with that seed,
//! ended when enough is known.

use std::cell::Cell;

use seekwise_model::block::{Device, Op};
use seekwise_model::drive::movement::{Movement, Movements};
use seekwise_model::engine::Engine;
use seekwise_model::record::Record;
use seekwise_model::rng::Seed;
use seekwise_model::stack::Stack;
use seekwise_model::time::{Instant, Span};
use seekwise_model::workload::{Job, Workload};

use super::{Fingerprint, SimError, apply, as_served};

/// How often is asked whether enough is known: often enough that little is run in vain, and seldom beside the requests
/// of a drive, each of which takes a millisecond or more where the arm moves.
const STEP: Span = Span::from_nanos(10_000_000);

/// Movements kept before anything counts: the last of them end when the first requests do.
const BEFORE: usize = 1024;

/// What was followed.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// The requests, in the order in which they completed.
    pub records: Vec<Record>,
    /// The movements, in the order in which they ended.
    pub movements: Vec<Movement>,
}

/// Runs `job` on `stack` until `most` counted requests are done, or as many requests were issued as `bound` allows.
pub fn follow(stack: &Stack, job: &Job, seed: Seed, most: usize, bound: u64) -> Result<Followed, SimError> {
    let told = Movements::default();
    let device = stack.build_told(seed, &told);
    let workload = Workload::new(job, &device.limits(0), seed).map_err(|error| SimError::Job(error.to_string()))?;
    let served = Cell::new((Op::Read, 0));
    let mut engine = Engine::new(Fingerprint::of(workload, bound, &served), device);
    let mut records: Vec<Record> = Vec::new();
    let mut changes = stack.changes.iter().peekable();
    let mut at = Instant::ZERO;
    while !engine.is_over() && records.len() < most && at < Instant::FAR {
        // Where nothing is to happen for longer than a step, none is taken.
        let step = engine.poll_timeout().unwrap_or(Instant::FAR).max(at + STEP);
        at = changes.peek().map_or(Instant::FAR, |change| change.at).min(step);
        engine
            .run(at, &mut |record| records.push(as_served(record, served.get()).unwrap_or(*record)))
            .map_err(SimError::Stuck)?;
        while let Some(change) = changes.next_if(|change| change.at <= at) {
            apply(engine.device_mut(), change, at)?;
        }
        let mut told = told.borrow_mut();
        if records.is_empty() && told.len() > BEFORE {
            let spare = told.len() - BEFORE;
            told.drain(..spare);
        }
    }
    records.truncate(most);
    Ok(Followed { records, movements: told.take() })
}
