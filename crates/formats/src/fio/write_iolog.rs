//! `write_iolog`: which worker's requests go into which log, and what its files are called there.
//!
//! Nothing is written here; [`LogOf::line`] formats a line. Source: fio 3.33, `iolog.c` (version 3 of its logs).

use seekwise_disk::block::{Op, Request, SECTOR};
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::Region;

use super::job_file::JobFile;
use super::{build, layout};

/// The longest name that fio reads from a log.
const LONGEST: usize = 255;

/// The log of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOf {
    /// Index of its worker in the job.
    pub worker: u16,
    /// Where it is to be written, as the job file says it.
    pub path: String,
    /// File and line that say so.
    pub place: (String, usize),
    /// The names of its files, and where they lie on the device.
    files: Vec<(String, Region)>,
    /// Syncs are of the data alone.
    data_only: bool,
}

impl JobFile {
    /// The logs that the job asks for, with its files laid out on a drive of this many sectors.
    pub fn logs(&self, device_sectors: u64) -> Result<Vec<LogOf>, Vec<Diagnostic>> {
        let clones = build::list_clones(self);
        if self.sections.iter().all(|section| section.settings.logs.write.is_none()) {
            return Ok(Vec::new());
        }
        let mut errors = Vec::new();
        let plans = layout::lay_out(self, &clones, device_sectors.saturating_mul(SECTOR), &mut Vec::new(), &mut errors);
        let mut logs: Vec<LogOf> = Vec::new();
        for ((worker, clone), plan) in (0..).zip(&clones).zip(plans) {
            let settings = &self.sections[clone.section].settings;
            let (Some(path), Some(plan)) = (&settings.logs.write, plan) else { continue };
            let refuse = |message: String| self.diagnostic_at(clone.section, "write_iolog", message);
            let files: Vec<(String, Region)> = plan.names.into_iter().zip(plan.wholes).collect();
            if logs.iter().any(|log| log.path == *path) {
                let fault = refuse(format!("`{path}` is the log of another worker too, and fio mixes their lines up"));
                errors.push(fault.with_expected("a log for each worker: a job of its own for each, with numjobs=1"));
                continue;
            }
            let blank = |name: &String| name.contains(char::is_whitespace) || name.len() > LONGEST;
            if let Some((name, _)) = files.iter().find(|(name, _)| blank(name)) {
                errors.push(refuse(format!("fio does not read the file's name `{name}` from a log")));
            }
            let place = settings.option_place("write_iolog").cloned().unwrap_or_default();
            let data_only = settings.syncs.fdatasync > 0 && settings.syncs.fsync == 0;
            logs.push(LogOf { worker, path: path.clone(), place, files, data_only });
        }
        errors.dedup();
        if errors.is_empty() { Ok(logs) } else { Err(errors) }
    }
}

impl LogOf {
    /// The head of the log: its version and its files.
    pub fn head(&self) -> String {
        let of = |action: &str| self.files.iter().map(|(name, _)| format!("0 {name} {action}\n")).collect::<String>();
        format!("fio version 3 iolog\n{}{}", of("add"), of("open"))
    }

    /// The line of a request that was issued at `at`, counted from `base`; `None` if fio has no line for it.
    pub fn line(&self, base: Instant, at: Instant, request: &Request) -> Option<String> {
        let action = match request.op {
            Op::Read => "read",
            Op::Write | Op::WriteZeroes => "write",
            Op::Trim => "trim",
            Op::Flush if self.data_only => "datasync",
            Op::Flush => "sync",
            Op::Compute => return None,
        };
        let (start, bytes) = (request.lba * SECTOR, u64::from(request.sectors) * SECTOR);
        let within = |region: &Region| (region.start..region.start + region.bytes).contains(&start);
        let at = log_micros(at.since(base));
        // A sync is logged for the first file: the drive flushes all.
        let (name, region) = match request.op {
            Op::Flush => self.files.first()?,
            _ => self.files.iter().find(|(_, region)| within(region))?,
        };
        let place = if request.op == Op::Flush { 0 } else { start - region.start };
        Some(format!("{at} {name} {action} {place} {bytes}\n"))
    }

    /// The end of the log, at `at`.
    pub fn tail(&self, base: Instant, at: Instant) -> String {
        let at = log_micros(at.since(base));
        self.files.iter().map(|(name, _)| format!("{at} {name} close\n")).collect()
    }
}

/// Microseconds plus 1: a replay by fio takes an instant of 0 for none, and lets the second request follow at once.
fn log_micros(since: Span) -> u64 {
    since.nanos() / 1_000 + 1
}
