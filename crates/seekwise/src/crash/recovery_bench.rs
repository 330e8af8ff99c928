//! Runs recoveries on modelled disks, each worker on one of its own, and the user's check on the media that cuts of these recoveries leave.
//! Which cuts are tried is decided by the laboratory (`seekwise_lab::crash::recovery`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use seekwise_disk::history::History;
use seekwise_disk::rng::Seed;
use seekwise_lab::crash::recovery::{
    ChainLink, ChainMedium, RecoveryBench, RecoveryOptions, RecoveryResults, RecoveryRun,
};
use seekwise_lab::crash::trial::CrashResults;
use seekwise_lab::crash::verdict::CheckOutput;
use seekwise_os::image_checker::{ImageChecker, ImageContent};
use seekwise_os::outputs::create_like_parent;
use seekwise_os::session::ProgramSession;

use super::check_bench::to_check_output;
use crate::error::Error;

/// Recoveries with their check.
pub struct RecoveryRunner<'a> {
    pub checker: &'a ImageChecker<'a>,
    /// A recovery: its command, disk and speed. Seed, content and folder are those of each run; it makes folders below this one.
    pub session: ProgramSession<'a>,
    /// Ends all with an error.
    pub stop: &'a AtomicBool,
}

impl RecoveryRunner<'_> {
    /// Recovers from the media that the cuts of the workload's session left, and cuts these recoveries. `progress` is called with the
    /// recoveries that have ended and how many there will be.
    pub fn run(
        &self,
        options: &RecoveryOptions,
        history: &Arc<History>,
        outcome: &CrashResults,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<RecoveryResults, Error> {
        options.run(history, outcome, self.session.stack, self, progress).map_err(Error::new)
    }

    fn fail_if_stopped(&self) -> io::Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(io::Error::other("stopped")) } else { Ok(()) }
    }
}

fn content<'a>(medium: &ChainMedium<'a>) -> ImageContent<'a> {
    ImageContent { pieces: medium.written_pieces(), torn: medium.image.torn_sectors().to_vec() }
}

impl RecoveryBench for RecoveryRunner<'_> {
    fn recover(&self, worker: usize, chain: &[ChainLink], seed: Seed) -> io::Result<RecoveryRun> {
        self.fail_if_stopped()?;
        let medium = ChainMedium::of_chain(chain).ok_or_else(|| io::Error::other("no cut to recover from"))?;
        let folder = self.session.folder.join(format!("recovery-{worker}"));
        create_like_parent(&folder)?;
        let base = folder.join("base");
        let recover = || {
            self.checker.write_image(&base, &content(&medium))?;
            ProgramSession { seed, base: Some(&base), folder: &folder, ..self.session.clone() }.record_recovery()
        };
        let recovered = recover();
        let removed = std::fs::remove_dir_all(&folder);
        let recovered = recovered?;
        removed?;
        self.fail_if_stopped()?;
        Ok(RecoveryRun { history: recovered.history, failure: recovered.failure })
    }

    fn check(&self, worker: usize, medium: &ChainMedium<'_>, promises: &[&str]) -> io::Result<CheckOutput> {
        let checked = self.checker.run_check(worker, &content(medium), promises, None)?;
        self.fail_if_stopped()?;
        checked.map(to_check_output).ok_or_else(|| io::Error::other("the medium was not checked"))
    }

    fn hash_content(&self, medium: &ChainMedium<'_>) -> u64 {
        self.checker.hash_content(&content(medium))
    }
}
