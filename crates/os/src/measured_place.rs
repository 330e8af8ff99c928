//! A place in real time as runs see it ([`Measured`]). Its settings are changed for a run and restored after it, its
//! test bench is recorded before and after, and the clock drives the loop.

use std::sync::Arc;

use seekwise_disk::block::{Limits, Source};
use seekwise_disk::record::Record;
use seekwise_disk::rng::Seed;
use seekwise_disk::time::Instant;
use seekwise_run::cutoff::RunCutoff;
use seekwise_run::handle::RealHandle;
use seekwise_run::outcome::{RunCost, RunError, RunFigures, RunOutcome, into_outcome_and_device, join_source};
use seekwise_run::place::Place;
use seekwise_run::testbed::changes_between;
use seekwise_run::usage::Usage;
use seekwise_run::work::{Issuer, Work};
use seekwise_work::workload::IssueListener;

use crate::accounts::{SystemCounters, read_thread_usage};
use crate::clock::Clock;
use crate::real_time::{RealTime, RunGuard, run_engine};
use crate::threads::{self, ThreadedJob};

/// A place in real time as runs see it, driven by the clock.
#[derive(Debug)]
pub struct Measured<P>(pub P);

impl<P: RealTime> Place for Measured<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn full_name(&self) -> String {
        self.0.full_name()
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
    fn run(
        &self,
        work: &Work,
        cutoff: RunCutoff<'_>,
        seed: Seed,
        tell: Option<&IssueListener>,
        mut recorder: &mut dyn FnMut(&Record),
    ) -> Result<RunOutcome<Issuer>, RunError> {
        let (place, cutoff) = (&self.0, cutoff.checking_each_action());
        run_with_settings_and_bench(place, || match work {
            Work::Job(job) if place.is_threaded() && cutoff.request_limit == u64::MAX => {
                threads::run_job(&ThreadedJob { place, job, seed, tell, cutoff }, &mut recorder)
            }
            _ => run_on_this_thread(
                place,
                work.make_source_with_listener(seed, tell.cloned()),
                cutoff,
                seed,
                &mut recorder,
            ),
        })
    }
    fn prepare_for(&self, work: &Work, handles: &[RealHandle]) -> Result<Option<Arc<dyn Place>>, String> {
        self.0.prepare_for(work, handles)
    }
    fn request_memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }
    fn has_worker_handles(&self) -> bool {
        self.0.is_threaded()
    }
    fn check_io_uring(&self) -> Result<(), String> {
        self.0.check_ring()
    }
    fn check_may_overwrite(&self, destroyed_name: Option<&str>) -> Result<(), String> {
        self.0.may_write(destroyed_name)
    }
}

/// Runs with the place's settings, and records its test bench; each change of the bench during the run is a trouble.
fn run_with_settings_and_bench<S>(
    place: &dyn RealTime,
    run: impl FnOnce() -> Result<RunOutcome<S>, RunError>,
) -> Result<RunOutcome<S>, RunError> {
    let guard = place.prepare_run().map_err(RunError::Unfit)?;
    let bench = place.read_bench();
    let mut outcome = run()?;
    if let Some((before, after)) = bench.as_ref().zip(place.read_bench()) {
        outcome.figures.troubles.extend(changes_between(before, &after));
    }
    guard.map_or(Ok(()), RunGuard::undo).map_err(RunError::Unfit)?;
    outcome.figures.bench = bench;
    Ok(outcome)
}

/// Runs in real time, on the calling thread.
pub(crate) fn run_on_this_thread<S: Source>(
    place: &dyn RealTime,
    source: impl FnOnce(&Limits) -> Result<S, RunError>,
    cutoff: RunCutoff<'_>,
    seed: Seed,
    recorder: &mut impl FnMut(&Record),
) -> Result<RunOutcome<S>, RunError> {
    let engine = join_source(place.open(seed)?, source, cutoff)?;
    let usage_before = place.is_threaded().then(|| (SystemCounters::read(), read_thread_usage()));
    let clock = Clock::start();
    let engine = run_engine(engine, &clock, recorder)?;
    let wall = clock.now().since(Instant::ZERO);
    let cost = RunCost { wall, processor: clock.processor_time() };
    let usage = usage_before.map(|(system, thread)| Usage {
        threads: vec![read_thread_usage().since(&thread, wall)],
        system: SystemCounters::read().usage_since(&system),
    });
    let (RunOutcome { source, figures }, mut device) = into_outcome_and_device(engine);
    let troubles = device.take_troubles();
    let receipt = device.end_run()?;
    let log = receipt.as_ref().map_or(figures.log, |receipt| receipt.log);
    Ok(RunOutcome { source, figures: RunFigures { cost: Some(cost), log, receipt, usage, troubles, ..figures } })
}
