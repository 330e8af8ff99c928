//! Reads the options of a job that plays a log of requests (`read_iolog`) instead of drawing them. [`crate::trace`] reads the log
//! itself.
//!
//! A log plays alone: the job is the only one of its file. Options that shape drawn requests do nothing, as in fio, with a
//! warning. Options that fio applies to a replay and this version does not are refused.

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::trace::{LoopMode, ReplayLoop, ReplaySpeed, Stall};

use super::engines::EngineMode;
use super::job_file::JobFile;
use super::job_option::{FileLine, JobOption};
use super::open_flags::FioOpenFlags;
use super::{build, settings};
use crate::trace::keys::TraceOptions;
use crate::trace::{IologPlacement, TraceFormat, TraceReadOptions};

/// Options that a replay heeds, besides labels and options that change nothing anyway.
const APPLIED: &[&str] = &[
    "read_iolog",
    "replay_redirect",
    "replay_no_stall",
    "replay_time_scale",
    "replay_align",
    "replay_scale",
    "name",
    "ioengine",
    "iodepth",
    "direct",
    "buffered",
    "runtime",
    "invalidate",
    "continue_on_error",
    "kb_base",
];

/// Options that fio applies to a replay, and this version does not.
const REFUSED: &[&str] = &[
    "numjobs",
    "thinktime",
    "ramp_time",
    "time_based",
    "startdelay",
    "sync",
    "writefua",
    "end_fsync",
    "fsync_on_close",
    "verify",
    "verify_backlog",
    "iodepth_low",
    "iodepth_batch_complete_min",
    "iodepth_batch_complete_max",
    "serialize_overlap",
    "io_submit_mode",
    "flow",
    "cmdprio_percentage",
];

/// Values without effect.
const NEUTRAL: [&str; 4] = ["0", "1", "none", "inline"];

/// A log to be played.
#[derive(Clone, Debug)]
pub struct IologReplay {
    /// The path, as the job file says it.
    pub path: String,
    /// The place of `read_iolog` in the job file.
    pub place: FileLine,
    /// Options by which the log is read and played.
    pub options: TraceOptions,
    /// Time after which nothing is issued.
    pub runtime: Option<Span>,
    /// Flags with which a real file is opened for it.
    pub open_flags: Vec<FioOpenFlags>,
    /// Warnings about the job file.
    pub warnings: Vec<Diagnostic>,
}

impl JobFile {
    /// The log that the job plays, if any.
    pub fn replay(&self) -> Result<Option<IologReplay>, Vec<Diagnostic>> {
        let Some(index) = self.sections.iter().position(|section| section.settings.logs.read.is_some()) else {
            return Ok(None);
        };
        let settings = &self.sections[index].settings;
        let mut errors: Vec<Diagnostic> = Vec::new();
        if self.sections.len() > 1 {
            let fault = self.diagnostic_at(index, "read_iolog", "a log is played alone in this version");
            errors.push(fault.with_expected("it as the only job of its file"));
        }
        let is_refused = |given: &&JobOption| {
            let is_neutral = NEUTRAL.contains(&given.value.as_str()) && (given.name == "numjobs" || given.value != "1");
            let is_default_batch = given.name.starts_with("iodepth_batch_complete") && given.value == "1";
            REFUSED.contains(&given.name.as_str()) && !is_neutral && !is_default_batch
        };
        let refusal = |given: &JobOption| {
            let fault = Diagnostic::at(&given.file, given.line, "of a log that is played it is not in this version");
            fault.with_key(&given.name).with_expected("the option taken out")
        };
        errors.extend(self.all_options().filter(is_refused).map(refusal));
        let paths = settings::split_colon_names(settings.logs.read.as_deref().unwrap_or("")).unwrap_or_default();
        let [path] = &paths[..] else {
            let fault = self.diagnostic_at(index, "read_iolog", format!("{} logs are named", paths.len()));
            errors.push(fault.with_expected("one: the others are those of clones, which are not in this version"));
            return Err(errors);
        };
        if !errors.is_empty() {
            return Err(errors);
        }
        let has_no_effect = |given: &&JobOption| {
            settings::is_honoured(&given.name) && ![APPLIED, REFUSED].concat().contains(&given.name.as_str())
        };
        let warning = |given: &JobOption| {
            Diagnostic::at(&given.file, given.line, "it does nothing where a log is played, as in fio")
                .with_key(&given.name)
        };
        let warnings =
            self.warnings.iter().cloned().chain(self.all_options().filter(has_no_effect).map(warning)).collect();
        let place = settings.option_place("read_iolog").cloned().unwrap_or_default();
        let runtime = (settings.runtime > 0).then(|| Span::from_nanos(settings.runtime));
        let (path, open_flags) = (path.clone(), build::fio_open_flags(self));
        Ok(Some(IologReplay { path, place, options: self.trace_options(index), runtime, open_flags, warnings }))
    }

    fn trace_options(&self, index: usize) -> TraceOptions {
        let settings = &self.sections[index].settings;
        let replay = &settings.logs.replay;
        let engine = settings.engine();
        let is_one_at_a_time =
            engine.mode == EngineMode::Synchronous || (engine.name == "null" && settings.depth.iodepth == 1);
        let calls = is_one_at_a_time || matches!(engine.name, "libaio" | "windowsaio");
        let depth = if is_one_at_a_time { 1 } else { settings.depth.iodepth };
        let stall = if replay.no_stall { Stall::None } else { Stall::Recorded };
        // The scale is in percent: 100 is as recorded, 200 twice as fast.
        let thousandths = replay.time_scale.saturating_mul(10).max(1);
        let placement = IologPlacement {
            redirect: replay.redirect.clone(),
            scale: replay.scale.max(1),
            align: replay.align.max(1),
        };
        let reading = TraceReadOptions {
            format: Some(TraceFormat::Iolog),
            placement: Some(placement),
            ..TraceReadOptions::default()
        };
        let mode = LoopMode::Replay(ReplayLoop { depth, stall, calls });
        TraceOptions { reading, mode, speed: ReplaySpeed { thousandths }, ..TraceOptions::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::{FioContext, parse};

    fn replay(lines: &str) -> Result<IologReplay, String> {
        let file = parse("j.fio", &format!("[a]\nread_iolog=log\n{lines}\n"), &FioContext::bare());
        let file = file.map_err(|faults| faults[0].to_string())?;
        file.replay().map(|found| found.expect("it plays a log")).map_err(|faults| faults[0].to_string())
    }

    #[test]
    fn options_of_a_replay_become_options_of_the_trace() {
        let plain = replay("ioengine=libaio\niodepth=8\nruntime=3\nbs=8k").unwrap();
        assert_eq!(plain.options.mode, LoopMode::Replay(ReplayLoop { depth: 8, stall: Stall::Recorded, calls: true }));
        assert_eq!((plain.path.as_str(), plain.runtime), ("log", Some(Span::from_secs(3))));
        let warnings: Vec<String> = plain.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, ["j.fio:6: `bs`: it does nothing where a log is played, as in fio"]);
        let keys = "replay_no_stall=1\nreplay_time_scale=50\nreplay_scale=4\nreplay_align=4k\nreplay_redirect=/dev/sdc";
        let options = replay(keys).unwrap().options;
        assert_eq!(options.mode, LoopMode::Replay(ReplayLoop { depth: 1, stall: Stall::None, calls: true }));
        assert_eq!(options.speed.thousandths, 500);
        let placement = IologPlacement { redirect: Some("/dev/sdc".to_owned()), scale: 4, align: 4096 };
        assert_eq!(options.reading.placement, Some(placement));
    }

    #[test]
    fn unsupported_options_of_a_replay_are_refused_by_name() {
        for key in
            ["thinktime=5", "numjobs=2", "verify=md5", "sync=1", "iodepth_batch_complete_min=4", "replay_skip=read"]
        {
            let error = replay(key).unwrap_err();
            assert!(error.contains(&format!("`{}`", key.split('=').next().unwrap())), "{error}");
        }
        assert!(replay("numjobs=1\nverify=0\niodepth_batch_complete_min=1").is_ok());
        assert!(replay("[b]\nsize=1m").unwrap_err().contains("played alone"));
    }
}
