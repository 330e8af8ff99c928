//! How much of the machine a command may take: memory is checked before the first run, and a run that takes long is
//! announced by a forecast of its wall time.

use std::num::NonZero;
use std::thread::available_parallelism;

use seekwise_lab::demand;
use seekwise_lab::study::is_measured;

use crate::error::Error;
use crate::system::clock::Clock;

/// A cell of a plan, and the seconds and requests of its job.
pub use seekwise_lab::demand::{JobExtent, job_extent};
pub use seekwise_lab::plan::PreparedCell;

/// Bytes of memory that are assumed if the system does not say how much there is.
const ASSUMED_MEMORY_BYTES: u64 = 4 << 30;

/// Forecasts above so many seconds are logged as a note.
const NOTED_FORECAST_S: f64 = 10.0;

/// Forecasts above so many seconds are logged as a warning.
const WARNED_FORECAST_S: f64 = 3600.0;

/// A plan that simulates fewer virtual seconds than these on each core takes no time worth a forecast. A core simulates
/// some 100,000 requests a second (`seekwise bench`), and drives in use serve a few hundred.
const SHORT_PLAN_S: f64 = 1800.0;

/// A plan with fewer requests than these on each core gets no forecast either.
const SHORT_PLAN_REQUESTS: f64 = 1e6;

/// How many cells of a study are simulated in part for the forecast.
const MAX_PROBED_CELLS: usize = 20;

/// The memory that a command may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    memory_bytes: u64,
    /// Whether the user gave the limit; else it is a quarter of the machine's memory.
    is_given: bool,
}

/// The runs that a command is about to make.
pub struct RunPlan<'a> {
    /// The cells, prepared.
    pub cells: &'a [PreparedCell],
    /// Runs of each cell.
    pub runs_per_cell: u64,
    /// Power cuts that are judged within a run.
    pub cuts_per_run: u32,
    /// How often the job of a run is simulated: more than once if power cuts are judged.
    pub passes_per_run: u64,
    /// Cores; 0: all.
    pub threads: usize,
    /// The seed of the partial runs from which the time is forecast.
    pub seed: u64,
    /// Runs are shortened, and end when all verdicts stand.
    pub until_decided: bool,
}

impl Bounds {
    /// So many bytes, or a quarter of the machine's memory if none are given.
    pub fn new(memory_bytes: Option<u64>) -> Bounds {
        let quarter = || machine_memory_bytes().map_or(ASSUMED_MEMORY_BYTES, |bytes| bytes / 4);
        Bounds { memory_bytes: memory_bytes.unwrap_or_else(quarter), is_given: memory_bytes.is_some() }
    }

    /// The limit in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The number of threads with which `plan` keeps within the memory; 0 means all cores. Logs a forecast if the plan
    /// takes long. An error if not even one run at a time fits.
    pub fn threads_within_memory(&self, plan: &RunPlan<'_>) -> Result<usize, Error> {
        let all_runs = plan.runs_per_cell.saturating_mul(plan.cells.len() as u64);
        let run_bytes = plan
            .cells
            .iter()
            .map(|cell| demand::run_memory_bytes(&cell.target, &cell.job, plan.cuts_per_run))
            .max()
            .unwrap_or(0);
        let is_measured_plan = is_measured(plan.cells);
        if is_measured_plan && plan.threads > 1 {
            log::info!("real-time runs are sequential; --threads is ignored");
        }
        let wanted = match plan.threads {
            _ if is_measured_plan => 1,
            0 => available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let cores = wanted.min(usize::try_from(all_runs).unwrap_or(usize::MAX)).max(1);
        let fits = |cores: &usize| demand::plan_memory_bytes(run_bytes, *cores as u64, all_runs) <= self.memory_bytes;
        let Some(fitting) = (1..=cores).rev().find(fits) else {
            return Err(Error::new(self.refusal_text(demand::plan_memory_bytes(run_bytes, 1, all_runs))));
        };
        if fitting < cores {
            log::info!("using {fitting} of {cores} cores to stay within {} of memory", format_bytes(self.memory_bytes));
        }
        self.log_long_forecast(plan, all_runs, fitting)?;
        Ok(if fitting < cores { fitting } else { plan.threads })
    }

    fn refusal_text(&self, bytes: u64) -> String {
        let whose = if self.is_given { "--max-memory" } else { "a quarter of the machine's; --max-memory changes it" };
        format!(
            "this may take up to {} of memory; the limit is {} ({whose})",
            format_bytes(bytes),
            format_bytes(self.memory_bytes)
        )
    }

    fn log_long_forecast(&self, plan: &RunPlan<'_>, all_runs: u64, cores: usize) -> Result<(), Error> {
        let passes_per_cell = plan.runs_per_cell as f64 * plan.passes_per_run as f64;
        // A pass over a job as a share of the longest plan that gets no forecast.
        let share_of_short_plan = |cell: &PreparedCell| {
            let JobExtent { seconds, requests } = job_extent(&cell.job);
            let share = |extent: Option<f64>, short: f64| extent.map_or(f64::INFINITY, |extent| extent / short);
            share(seconds, SHORT_PLAN_S).min(share(requests.map(|count| count as f64), SHORT_PLAN_REQUESTS))
        };
        if plan.cells.iter().map(share_of_short_plan).sum::<f64>() * passes_per_cell / (cores as f64) < 1.0 {
            return Ok(());
        }
        let seconds = forecast_core_seconds(plan)? / cores as f64;
        if seconds > NOTED_FORECAST_S {
            let level = if seconds > WARNED_FORECAST_S { log::Level::Warn } else { log::Level::Info };
            let subject = if all_runs == 1 { "1 run will".to_owned() } else { format!("{all_runs} runs will") };
            let advice = match plan.until_decided {
                true => "; they are shortened and end when all verdicts stand, and",
                false => "; a shorter runtime or fewer runs take less, and",
            };
            let time = format_wall_time(seconds);
            log::log!(
                level,
                "{subject} take about {time} here, judging by their first requests{advice} Ctrl-C stops at any time"
            );
        }
        Ok(())
    }
}

/// Wall seconds that a plan takes on one core, extrapolated from the first requests of some of its cells.
pub fn forecast_core_seconds(plan: &RunPlan<'_>) -> Result<f64, Error> {
    let step = plan.cells.len().div_ceil(MAX_PROBED_CELLS);
    let (mut cell_seconds, clock) = (Vec::new(), Clock::start());
    for cell in plan.cells.iter().step_by(step.max(1)) {
        cell_seconds.push(demand::forecast_seconds(&cell.target, &cell.job, plan.seed, &|| clock.elapsed_seconds())?);
    }
    let mean_s = cell_seconds.iter().sum::<f64>() / cell_seconds.len().max(1) as f64;
    Ok(mean_s * plan.runs_per_cell as f64 * plan.passes_per_run as f64 * plan.cells.len() as f64)
}

/// Seconds as a length of time in words, such as `4 min`.
pub fn format_wall_time(seconds: f64) -> String {
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

/// The machine's memory, if the system tells it as Linux does.
fn machine_memory_bytes() -> Option<u64> {
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

    fn admitted(memory_bytes: u64, cell: &PreparedCell, runs: u64, threads: usize) -> Result<usize, String> {
        let cells = std::slice::from_ref(cell);
        let plan = RunPlan {
            cells,
            runs_per_cell: runs,
            cuts_per_run: 0,
            passes_per_run: 1,
            threads,
            seed: 1,
            until_decided: false,
        };
        Bounds::new(Some(memory_bytes)).threads_within_memory(&plan).map_err(|why| why.to_string())
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
        assert_eq!(Bounds::new(Some(7)).memory_bytes(), 7);
        assert_eq!(
            Bounds::new(None).memory_bytes(),
            machine_memory_bytes().map_or(ASSUMED_MEMORY_BYTES, |bytes| bytes / 4)
        );
        let why = Bounds::new(None).refusal_text(1);
        assert!(why.ends_with("(a quarter of the machine's; --max-memory changes it)"), "{why}");
    }

    #[test]
    fn times_and_sizes_change_their_unit_where_it_is_too_small() {
        let times = [0.4, 89.4, 89.999, 90.0, 5399.0, 5400.0, 36_000.0].map(format_wall_time);
        assert_eq!(times, ["0 s", "89 s", "90 s", "2 min", "90 min", "1.5 h", "10.0 h"]);
        let sizes = [0, 999_000_000, 1_000_000_000, 2_500_000_000, u64::MAX].map(format_bytes);
        assert_eq!(sizes, ["0.0 MB", "999.0 MB", "1.0 GB", "2.5 GB", "more than 10^18 bytes"]);
    }
}
