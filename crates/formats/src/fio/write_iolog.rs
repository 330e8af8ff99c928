//! Formats the logs of issued requests that a job asks for (`write_iolog`): one log per worker, with the names of the worker's
//! files. No file is written here.
//!
//! The format is version 3 of fio's logs, from `iolog.c` of fio 3.33.

use seekwise_disk::block::{Op, Request, SECTOR};
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::Region;

use super::job_file::JobFile;
use super::job_option::FileLine;
use super::{build, layout};

/// The longest name that fio reads from a log.
const LONGEST_NAME: usize = 255;

/// The log of one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerIolog {
    /// Index of the worker in the job.
    pub worker: u16,
    /// The path of the log, as the job file says it.
    pub path: String,
    /// The place of `write_iolog` in the job file.
    pub place: FileLine,
    /// The names of the worker's files, and their regions on the device.
    files: Vec<(String, Region)>,
    /// Syncs are of the data alone (`fdatasync`).
    data_only: bool,
}

impl JobFile {
    /// The logs that the job asks for, with its files laid out on a drive of this many sectors.
    pub fn worker_iologs(&self, device_sectors: u64) -> Result<Vec<WorkerIolog>, Vec<Diagnostic>> {
        let clones = build::list_clones(self);
        if self.sections.iter().all(|section| section.settings.logs.write.is_none()) {
            return Ok(Vec::new());
        }
        let mut errors = Vec::new();
        let device_bytes = device_sectors.saturating_mul(SECTOR);
        let layouts = layout::lay_out(self, &clones, device_bytes, &mut Vec::new(), &mut errors);
        let mut logs: Vec<WorkerIolog> = Vec::new();
        for ((worker, clone), layout) in (0..).zip(&clones).zip(layouts) {
            let settings = &self.sections[clone.section].settings;
            let (Some(path), Some(layout)) = (&settings.logs.write, layout) else { continue };
            let fault = |message: String| self.diagnostic_at(clone.section, "write_iolog", message);
            let files: Vec<(String, Region)> = layout.names.into_iter().zip(layout.whole_files).collect();
            if logs.iter().any(|log| log.path == *path) {
                let shared = fault(format!("`{path}` is the log of another worker too, and fio mixes their lines up"));
                errors.push(shared.with_expected("a log for each worker: a job of its own for each, with numjobs=1"));
                continue;
            }
            let is_unreadable = |name: &String| name.contains(char::is_whitespace) || name.len() > LONGEST_NAME;
            if let Some((name, _)) = files.iter().find(|(name, _)| is_unreadable(name)) {
                errors.push(fault(format!("fio does not read the file's name `{name}` from a log")));
            }
            let place = settings.option_place("write_iolog").cloned().unwrap_or_default();
            let data_only = settings.syncs.fdatasync > 0 && settings.syncs.fsync == 0;
            logs.push(WorkerIolog { worker, path: path.clone(), place, files, data_only });
        }
        errors.dedup();
        if errors.is_empty() { Ok(logs) } else { Err(errors) }
    }
}

impl WorkerIolog {
    /// The head of the log: its version and its files.
    pub fn head_lines(&self) -> String {
        let lines =
            |action: &str| self.files.iter().map(|(name, _)| format!("0 {name} {action}\n")).collect::<String>();
        format!("fio version 3 iolog\n{}{}", lines("add"), lines("open"))
    }

    /// The line of a request; `None` if fio has no line for it.
    pub fn request_line(&self, log_start: Instant, issued_at: Instant, request: &Request) -> Option<String> {
        let action = match request.op {
            Op::Read => "read",
            Op::Write | Op::WriteZeroes => "write",
            Op::Trim => "trim",
            Op::Flush if self.data_only => "datasync",
            Op::Flush => "sync",
            Op::Compute => return None,
        };
        let (start, bytes) = (request.lba * SECTOR, u64::from(request.sectors) * SECTOR);
        let holds_start = |region: &Region| (region.start..region.start + region.bytes).contains(&start);
        let micros = log_micros(issued_at.since(log_start));
        // A sync is logged for the first file: the drive flushes all.
        let (name, region) = match request.op {
            Op::Flush => self.files.first()?,
            _ => self.files.iter().find(|(_, region)| holds_start(region))?,
        };
        let offset = if request.op == Op::Flush { 0 } else { start - region.start };
        Some(format!("{micros} {name} {action} {offset} {bytes}\n"))
    }

    /// The last lines of the log: its files are closed.
    pub fn tail_lines(&self, log_start: Instant, closed_at: Instant) -> String {
        let micros = log_micros(closed_at.since(log_start));
        self.files.iter().map(|(name, _)| format!("{micros} {name} close\n")).collect()
    }
}

/// The time of a log's line in microseconds, plus 1: fio's replay takes 0 for no time, and would let the second request follow at
/// once.
fn log_micros(since_start: Span) -> u64 {
    since_start.nanos() / 1_000 + 1
}
