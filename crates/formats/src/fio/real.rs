//! Builds the job of a job file for a real file or device: honours options that only matter there, and refuses options that are
//! not supported there. No file is opened.

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{Job, Pattern};

use super::build;
use super::engines::EngineMode;
use super::job_file::{JobFile, JobSection};
use super::job_option::JobOption;
use super::open_flags::FioOpenFlags;

/// Options that would change the measurement on a real file but are not supported: their names, the reason, and the values
/// without effect.
const REFUSED: &[(&[&str], &str, &[&str])] = &[
    (&["verify"], "data read back are not verified", &["0", "none"]),
    (
        &["nice", "prio", "prioclass", "priohint", "cmdprio_percentage", "cmdprio_bssplit", "cgroup", "cgroup_weight"],
        "priorities do not reach the kernel",
        &["0", "none"],
    ),
    (
        &["cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "gtod_cpu"],
        "threads are not bound to processors; `taskset` binds the whole program",
        &[],
    ),
    (&["uid", "gid"], "the process does not change its user or group", &[]),
    (&["ioscheduler"], "jobs do not change system settings", &[]),
    (
        &["fadvise_hint"],
        "only the hints 0, 1, random and sequential are supported",
        &["0", "1", "random", "sequential"],
    ),
    (&["pre_read", "sync_file_range"], "the page cache gets no such call", &["0"]),
    (
        &["zero_buffers", "buffer_pattern", "buffer_compress_percentage", "dedupe_percentage"],
        "the contents of writes cannot be chosen",
        &["0"],
    ),
    (&["write_hint"], "lifetime hints are not passed to the device", &["none"]),
    (&["unlink", "unlink_each_loop", "create_on_open"], "jobs do not create or remove files", &["0"]),
    (
        &["hipri", "hipri_percentage", "sqthread_poll", "sqthread_poll_cpu", "force_async", "nowait", "uncached"],
        "only an ordinary, waiting ring is supported",
        &["0"],
    ),
    (&["flow"], "workers are not balanced against each other", &["0"]),
    (&["lockmem"], "memory is not locked", &["0"]),
    (&["readfua", "writefua"], "it belongs to engines that are not supported there", &["0"]),
];

/// Options that are honoured, or have no other setting, on a real file; a modelled drive ignores them with a warning.
const HONOURED: &[&str] = &["fadvise_hint", "thread", "fixedbufs", "registerfiles", "disk_util"];

/// Engines that are not supported on real files, and the reason.
const REFUSED_ENGINES: &[(&str, &str)] = &[
    ("mmap", "page faults are not requests"),
    ("splice", "pipes are not supported"),
    ("null", "it does no I/O; use `--on null`"),
    ("sg", "commands that bypass the block layer are not supported"),
    ("io_uring_cmd", "commands that bypass the block layer are not supported"),
];

impl JobFile {
    /// Lays the job out on a file of this many sectors; also returns the flags with which each worker opens it.
    pub fn real_job(&self, file_sectors: u64) -> Result<(Job, Vec<FioOpenFlags>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let mut errors = self.unsupported_real_options();
        for section in &self.sections {
            let engine = section.settings.engine;
            if let Some((_, why)) = REFUSED_ENGINES.iter().find(|(name, _)| *name == engine) {
                let place = section.settings.option_place("ioengine");
                let (file, line) = place.map_or((&*self.file, section.line), |(file, line)| (file, *line));
                let fault =
                    Diagnostic::at(file, line, format!("`{engine}` on a real file: {why}")).with_key("ioengine");
                errors.push(fault.with_expected("psync, sync, libaio or io_uring"));
            }
        }
        errors.extend((0..self.sections.len()).filter_map(|section| self.mixed_syncs_error(section)));
        errors.dedup();
        let (job, warnings) =
            build::build_job(self, file_sectors, true).map_err(|more| [&errors[..], &more[..]].concat())?;
        errors.extend(self.shared_zones_error(&job));
        if !errors.is_empty() {
            return Err(errors);
        }
        let honoured = |warning: &Diagnostic| warning.key.as_deref().is_some_and(|key| HONOURED.contains(&key));
        let mut warnings: Vec<Diagnostic> = warnings.into_iter().filter(|warning| !honoured(warning)).collect();
        warnings.extend(self.engine_replacement_warning());
        Ok((job, build::fio_open_flags(self), warnings))
    }

    /// Errors about options that would change the measurement on a real file but are not supported.
    pub fn unsupported_real_options(&self) -> Vec<Diagnostic> {
        self.all_options().filter_map(refuse_option).collect()
    }

    /// All options as given, those of `[global]` first.
    pub(super) fn all_options(&self) -> impl Iterator<Item = &JobOption> {
        self.globals.iter().chain(self.sections.iter().flat_map(|section| &section.options))
    }

    /// The error about a job with both kinds of syncs: the flags of a real file have only one.
    fn mixed_syncs_error(&self, section_index: usize) -> Option<Diagnostic> {
        let settings = &self.sections[section_index].settings;
        let message = "on a real file: fsync and fdatasync in one job are not supported";
        (settings.syncs.fsync > 0 && settings.syncs.fdatasync > 0)
            .then(|| self.diagnostic_at(section_index, "fdatasync", message))
    }

    /// The error about workers that share the zones of a file: each worker of a real file has its own state of zones.
    fn shared_zones_error(&self, job: &Job) -> Option<Diagnostic> {
        let files = job.workers.iter().filter_map(|worker| match &worker.pattern {
            Pattern::Fio(fio) => fio.zoned.as_ref(),
            Pattern::Iometer(_) => None,
        });
        let mut starts: Vec<u64> = files.flat_map(|zoned| zoned.files.iter().map(|file| file.start)).collect();
        starts.sort_unstable();
        let section = self.sections.iter().position(|section| section.settings.zonemode == Some("zbd"))?;
        let message = "on a real file: workers that share the zones of a file are not supported";
        starts.windows(2).any(|pair| pair[0] == pair[1]).then(|| self.diagnostic_at(section, "zonemode", message))
    }

    /// The warning that another asynchronous engine is replaced by io_uring.
    fn engine_replacement_warning(&self) -> Option<Diagnostic> {
        let is_replaced = |section: &&JobSection| {
            section.settings.engine().mode == EngineMode::Asynchronous && section.settings.engine != "io_uring"
        };
        let section = self.sections.iter().find(is_replaced)?;
        let engine = section.settings.engine;
        let (file, line) =
            section.settings.option_place("ioengine").map_or((&*self.file, section.line), |(file, line)| (file, *line));
        Some(Diagnostic::at(file, line, format!("{engine}: requests are issued through io_uring")).with_key("ioengine"))
    }
}

/// The error about an option that is not supported on a real file.
fn refuse_option(given: &JobOption) -> Option<Diagnostic> {
    let (_, why, values_without_effect) = REFUSED.iter().find(|(names, ..)| names.contains(&given.name.as_str()))?;
    if values_without_effect.contains(&given.value.as_str()) {
        return None;
    }
    let fault = Diagnostic::at(&given.file, given.line, format!("on a real file: {why}"));
    Some(fault.with_key(&given.name).with_expected("no such option, or a modelled drive"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::{AccessHint, FioContext, parse};

    fn build_real(text: &str) -> Result<(Vec<FioOpenFlags>, Vec<String>), String> {
        let file = parse("j.fio", text, &FioContext::bare()).map_err(|faults| faults[0].to_string())?;
        let (_, flags, warnings) = file.real_job(1 << 21).map_err(|faults| faults[0].to_string())?;
        Ok((flags, warnings.iter().map(ToString::to_string).collect()))
    }

    #[test]
    fn options_have_their_meaning() {
        let (opened, warnings) =
            build_real("[a]\nsize=1m\nrw=randread\n[b]\nsize=1m\nioengine=io_uring\ndirect=1\n").unwrap();
        let usual = FioOpenFlags {
            calls: true,
            direct: false,
            invalidate: true,
            data_only: false,
            whole: false,
            hint: AccessHint::Random,
        };
        assert_eq!(opened, [usual, FioOpenFlags { calls: false, direct: true, hint: AccessHint::None, ..usual }]);
        assert_eq!(warnings, [""; 0]);
        let sync = "[a]\nsize=1m\nrw=write\nsync=1\nfdatasync=4\ninvalidate=0\nfadvise_hint=0\n";
        let opened = build_real(sync).unwrap().0[0];
        assert!(opened.whole && opened.data_only && !opened.invalidate && opened.hint == AccessHint::None);
        assert!(!build_real(&sync.replace("sync=1", "sync=dsync")).unwrap().0[0].whole);
        let warnings = build_real("[a]\nsize=1m\nioengine=libaio\n").unwrap().1;
        assert_eq!(warnings, ["j.fio:3: `ioengine`: libaio: requests are issued through io_uring"]);
    }

    #[test]
    fn unsupported_options_are_refused() {
        let error = build_real("[a]\nsize=1m\nnice=5\n").unwrap_err();
        assert!(error.starts_with("j.fio:3: `nice`: on a real file: priorities do not reach"), "{error}");
        assert!(build_real("[a]\nsize=1m\nioengine=mmap\n").unwrap_err().contains("page faults are not requests"));
        assert!(build_real("[global]\nverify=md5\n[a]\nrw=write\nsize=1m\n").unwrap_err().contains("are not verified"));
        assert!(build_real("[a]\nsize=1m\nverify=0\nnice=0\n").is_ok());
        let both = build_real("[a]\nsize=1m\nrw=write\nfsync=2\nfdatasync=3\n").unwrap_err();
        assert!(both.contains("fsync and fdatasync in one job"), "{both}");
        assert!(build_real("[a]\nsize=1m\nflow=2\n").unwrap_err().contains("are not balanced against each other"));
        let zoned = "[a]\nrw=write\nsize=1m\nfilename=f\nzonemode=zbd\nzonesize=64k\n";
        assert!(build_real(zoned).is_ok());
        assert!(build_real(&format!("{zoned}numjobs=2\n")).unwrap_err().contains("share the zones"));
    }
}
