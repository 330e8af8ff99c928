//! Bounds on what a command takes of the machine: memory, checked before the first run; wall time, forecast if it is long.

use std::num::NonZero;
use std::thread::available_parallelism;

use seekwise_lab::demand;
use seekwise_lab::study::is_measured;

use crate::error::Error;
use crate::system::clock::Clock;

/// A cell of a plan, and the seconds and requests of its job.
pub use seekwise_lab::demand::{JobExtent, job_extent};
pub use seekwise_lab::plan::PreparedCell;

/// Memory that is assumed if the system does not say how much there is.
const UNKNOWN: u64 = 4 << 30;

/// Seconds from which on a forecast is logged.
const LONG: f64 = 10.0;

/// Seconds from which on the forecast is a warning.
const VERY_LONG: f64 = 3600.0;

/// Virtual seconds, and requests, below which nothing takes long, so that no probe is made. A core simulates some
/// 100,000 requests a second (`seekwise bench`), and drives of the field serve a few hundred.
const SHORT: (f64, f64) = (1800.0, 1e6);

/// Cells of a study that are probed for the forecast.
const PROBED: usize = 20;

/// The bounds of a command.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes.
    memory: u64,
    /// The user gave it; else it is a quarter of the machine's.
    given: bool,
}

/// The runs that a command is about to make.
pub struct RunPlan<'a> {
    /// The cells, prepared.
    pub cells: &'a [PreparedCell],
    /// Runs of each cell.
    pub runs: u64,
    /// Cuts of a run.
    pub cuts: u32,
    /// How often the work of a run is done, judging included.
    pub times: u64,
    /// Cores; 0: all.
    pub threads: usize,
    /// The seed of the probes.
    pub seed: u64,
    /// Runs are shortened, and end when all verdicts stand.
    pub until_decided: bool,
}

impl Bounds {
    /// `given` bytes, else a quarter of the machine's.
    pub fn new(given: Option<u64>) -> Bounds {
        let memory = given.unwrap_or_else(|| machine_memory().map_or(UNKNOWN, |bytes| bytes / 4));
        Bounds { memory, given: given.is_some() }
    }

    /// Bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// Returns the number of cores on which `plan` keeps within the memory, and logs a forecast if the plan takes long.
    /// An error if not even one run at a time fits.
    pub fn admit(&self, plan: &RunPlan<'_>) -> Result<usize, Error> {
        let runs = plan.runs.saturating_mul(plan.cells.len() as u64);
        let most = plan
            .cells
            .iter()
            .map(|cell| demand::run_memory_bytes(&cell.target, &cell.job, plan.cuts))
            .max()
            .unwrap_or(0);
        let measured = is_measured(plan.cells);
        if measured && plan.threads > 1 {
            log::info!("real-time runs are sequential; --threads is ignored");
        }
        let wanted = match plan.threads {
            _ if measured => 1,
            0 => available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let cores = wanted.min(usize::try_from(runs).unwrap_or(usize::MAX)).max(1);
        let fits = |cores: &usize| demand::plan_memory_bytes(most, *cores as u64, runs) <= self.memory;
        let Some(within) = (1..=cores).rev().find(fits) else {
            return Err(Error::new(self.refusal_text(demand::plan_memory_bytes(most, 1, runs))));
        };
        if within < cores {
            log::info!("using {within} of {cores} cores to stay within {} of memory", format_bytes(self.memory));
        }
        self.warn_of_time(plan, runs, within)?;
        Ok(if within < cores { within } else { plan.threads })
    }

    fn refusal_text(&self, bytes: u64) -> String {
        let whose = if self.given { "--max-memory" } else { "a quarter of the machine's; --max-memory changes it" };
        format!(
            "this may take up to {} of memory; the limit is {} ({whose})",
            format_bytes(bytes),
            format_bytes(self.memory)
        )
    }

    fn warn_of_time(&self, plan: &RunPlan<'_>, runs: u64, cores: usize) -> Result<(), Error> {
        let times = plan.runs as f64 * plan.times as f64;
        let short = |cell: &PreparedCell| {
            let JobExtent { seconds, requests } = job_extent(&cell.job);
            let share = |of: Option<f64>, most: f64| of.map_or(f64::INFINITY, |of| of / most);
            share(seconds, SHORT.0).min(share(requests.map(|all| all as f64), SHORT.1))
        };
        if plan.cells.iter().map(short).sum::<f64>() * times / (cores as f64) < 1.0 {
            return Ok(());
        }
        let seconds = forecast(plan)? / cores as f64;
        if seconds > LONG {
            let how = if seconds > VERY_LONG { log::Level::Warn } else { log::Level::Info };
            let what = if runs == 1 { "1 run will".to_owned() } else { format!("{runs} runs will") };
            let ends = match plan.until_decided {
                true => "; they are shortened and end when all verdicts stand, and",
                false => "; a shorter runtime or fewer runs take less, and",
            };
            let took = wall(seconds);
            log::log!(
                how,
                "{what} take about {took} here, judging by their first requests{ends} Ctrl-C stops at any time"
            );
        }
        Ok(())
    }
}

/// Wall seconds that a plan takes on one core, judging by the first requests of some of its cells.
pub fn forecast(plan: &RunPlan<'_>) -> Result<f64, Error> {
    let step = plan.cells.len().div_ceil(PROBED);
    let (mut took, clock) = (Vec::new(), Clock::start());
    for cell in plan.cells.iter().step_by(step.max(1)) {
        took.push(demand::forecast_seconds(&cell.target, &cell.job, plan.seed, &|| clock.elapsed_seconds())?);
    }
    let mean = took.iter().sum::<f64>() / took.len().max(1) as f64;
    Ok(mean * plan.runs as f64 * plan.times as f64 * plan.cells.len() as f64)
}

/// A length of time in words.
pub fn wall(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

/// Bytes in words.
fn format_bytes(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e18 => "more than 10^18 bytes".to_owned(),
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.1} MB", bytes / 1e6),
    }
}

/// The machine's memory, if the system says so.
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Setup;

    fn cell() -> PreparedCell {
        Setup::new("random-read", "barracuda-7200.7-ncq").with_runtime("1 s").prepare().unwrap()
    }

    fn admitted(memory: u64, cell: &PreparedCell, runs: u64, threads: usize) -> Result<usize, String> {
        let cells = std::slice::from_ref(cell);
        let plan = RunPlan { cells, runs, cuts: 0, times: 1, threads, seed: 1, until_decided: false };
        Bounds::new(Some(memory)).admit(&plan).map_err(|why| why.to_string())
    }

    #[test]
    fn as_many_cores_as_fit_in_the_memory_and_not_even_one_is_refused() {
        let cell = cell();
        let most = demand::run_memory_bytes(&cell.target, &cell.job, 0);
        for runs in [3, 100] {
            let needs = |cores: u64| demand::plan_memory_bytes(most, cores, runs);
            assert!(needs(1) < needs(2) && needs(2) < needs(3));
            for (memory, expected) in
                [(needs(1), 1), (needs(2) - 1, 1), (needs(2), 2), (needs(3) - 1, 2), (needs(3), 3), (u64::MAX, 3)]
            {
                assert_eq!(admitted(memory, &cell, runs, 3), Ok(expected), "{memory} bytes");
            }
            let why = admitted(needs(1) - 1, &cell, runs, 3).unwrap_err();
            assert!(why.starts_with("this may take up to ") && why.ends_with("(--max-memory)"), "{why}");
        }
        // A run more than there are needs no core of its own: what was asked for stays.
        assert_eq!(admitted(demand::plan_memory_bytes(most, 1, 1), &cell, 1, 8), Ok(8));
        assert_eq!(admitted(u64::MAX, &cell, 5, 0), Ok(0), "all cores");
    }

    #[test]
    fn a_bound_is_what_was_given_or_a_quarter_of_the_machine_s() {
        assert_eq!(Bounds::new(Some(7)).memory(), 7);
        assert_eq!(Bounds::new(None).memory(), machine_memory().map_or(UNKNOWN, |bytes| bytes / 4));
        let why = Bounds::new(None).refusal_text(1);
        assert!(why.ends_with("(a quarter of the machine's; --max-memory changes it)"), "{why}");
    }

    #[test]
    fn times_and_sizes_change_their_unit_where_it_is_too_small() {
        let times = [0.4, 89.4, 89.999, 90.0, 5399.0, 5400.0, 36_000.0].map(wall);
        assert_eq!(times, ["0 s", "89 s", "90 s", "2 min", "90 min", "1.5 h", "10.0 h"]);
        let sizes = [0, 999_000_000, 1_000_000_000, 2_500_000_000, u64::MAX].map(format_bytes);
        assert_eq!(sizes, ["0.0 MB", "999.0 MB", "1.0 GB", "2.5 GB", "more than 10^18 bytes"]);
    }
}
