//! Builds the model's job from the settings of a job file and the layout of its files: clones, stages and groups. Refuses
//! combinations of options that the model cannot express.
//!
//! The rules are fio's: its order of threads, its groups (`stonewall`, `new_group`, `group_reporting`), and its corrections of
//! options that depend on one another.

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::files::buffered_source::FileOpenFlags;
use seekwise_work::workload::{
    BlockSizes, CountingRule, Direction, Distribution, EngineKind, FileService, FioPattern, Flow, Generator, IoEngine,
    IssueRate, Job, Pace, Pattern, RandomRepeat, RwModifier, StridedZones, Syncs, ThinkTime, VerifyBacklog, Worker,
    Zoned,
};

use super::engines::EngineMode;
use super::job_file::{JobFile, JobSection, WorkerOrigin};
use super::layout::{self, JobClone, WorkerLayout};
use super::number::Amount;
use super::open_flags::{AccessHint, FioOpenFlags};
use super::settings::{FioSettings, Grouping, REPLAYING, ZONING};

/// fio's default `randseed`.
const DEFAULT_SEED: u64 = 0x89;
/// The seed of `randrepeat=0`. fio asks the system for one; runs here are repeatable all the same, so any seed will do.
const UNREPEATED_SEED: u64 = 0x5eed;
/// The most workers of a job: the model numbers them in 16 bits.
const MOST_WORKERS: usize = 65_535;
/// The most files of all workers together: each is an entry in memory. The largest known job has 16,384.
const MOST_FILES: u64 = 4_000_000;

/// The warnings and errors so far.
#[derive(Default)]
struct JobFindings {
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// Builds the job with its warnings. Without a page cache, requests that are not direct go to the drive all the same.
pub(super) fn build_job(
    file: &JobFile,
    device_sectors: u64,
    has_page_cache: bool,
) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut findings = JobFindings { warnings: file.warnings.clone(), errors: Vec::new() };
    if file.sections.is_empty() {
        return Err(vec![
            Diagnostic::at(&file.file, 0, "there is no job in the file").with_expected("a section such as [job]"),
        ]);
    }
    let workers: usize = file.sections.iter().map(|section| section.settings.numjobs as usize).sum();
    if workers > MOST_WORKERS {
        let message = format!("the jobs have {workers} workers together, and at most {MOST_WORKERS} are possible");
        return Err(vec![Diagnostic::at(&file.file, 0, message).with_key("numjobs")]);
    }
    let section_files = |section: &JobSection| section.settings.file_count() * u64::from(section.settings.numjobs);
    let files: u64 = file.sections.iter().map(section_files).sum();
    if files > MOST_FILES {
        let message = format!("the workers have {files} files together, and at most {MOST_FILES} are possible");
        return Err(vec![Diagnostic::at(&file.file, 0, message).with_key("nrfiles")]);
    }
    if let Some(section) = file.sections.iter().position(|section| section.settings.logs.read.is_some()) {
        return Err(vec![file.diagnostic_at(
            section,
            "read_iolog",
            "it plays a log, which takes the place of a job here",
        )]);
    }
    if !has_page_cache {
        warn_buffered(file, &mut findings.warnings);
    }
    let templates: Vec<Worker> =
        (0..file.sections.len()).map(|section| build_template(file, section, &mut findings)).collect();
    let clones = list_clones(file);
    let drive_bytes = device_sectors.saturating_mul(512);
    check_flows(file, &clones, &mut findings.errors);
    let layouts = layout::lay_out(file, &clones, drive_bytes, &mut findings.warnings, &mut findings.errors);
    if !findings.errors.is_empty() {
        return Err(findings.errors);
    }
    let build =
        |(clone, layout): (&JobClone, WorkerLayout)| build_worker(file, &templates[clone.section], clone, layout);
    let workers: Vec<Worker> = clones.iter().zip(layouts.into_iter().flatten()).map(build).collect();
    check_common_zones(file, &clones, &workers, &mut findings.errors);
    match findings.errors.is_empty() {
        true => Ok((Job { name: file_stem(&file.file), workers }, findings.warnings)),
        false => Err(findings.errors),
    }
}

/// Refuses flows whose jobs begin in different stages: they would wait for one another for ever, in fio too.
fn check_flows(file: &JobFile, clones: &[JobClone], errors: &mut Vec<Diagnostic>) {
    let settings = |clone: &JobClone| &file.sections[clone.section].settings;
    for clone in clones.iter().filter(|clone| settings(clone).flow.weight > 0) {
        let shares_flow =
            |other: &JobClone| settings(other).flow.weight > 0 && settings(other).flow.id == settings(clone).flow.id;
        let begins_apart = |other: &JobClone| shares_flow(other) && other.stage != clone.stage;
        if clone.number == 0 && clones.iter().any(begins_apart) {
            let message =
                "jobs of one flow begin together: behind a stonewall they would wait for one another for ever";
            errors.push(file.diagnostic_at(clone.section, "flow", message));
        }
    }
}

/// Checks that workers on one file, which share its zones, have equal zone settings, as fio requires; and that zones are written
/// if they are read.
fn check_common_zones(file: &JobFile, clones: &[JobClone], workers: &[Worker], errors: &mut Vec<Diagnostic>) {
    let zoned_pattern = |worker: usize| match &workers[worker].pattern {
        Pattern::Fio(fio) => fio.zoned.as_ref().map(|zoned| (fio, zoned)),
        Pattern::Iometer(_) => None,
    };
    for (worker, clone) in clones.iter().enumerate().take(workers.len()).filter(|(_, clone)| clone.number == 0) {
        let Some((fio, own)) = zoned_pattern(worker) else { continue };
        let shares_file =
            |other: &Zoned| other.files.iter().any(|theirs| own.files.iter().any(|ours| ours.start == theirs.start));
        let mut sharing =
            (0..workers.len()).filter_map(zoned_pattern).filter(|(_, other)| shares_file(other)).peekable();
        // The first worker on a file sets its zones.
        let is_open_limit_equal =
            sharing.peek().is_none_or(|(_, first)| own.most_open == 0 || own.most_open == first.most_open);
        let is_size_equal =
            sharing.peek().is_none_or(|(_, first)| (own.size, own.capacity) == (first.size, first.capacity));
        if !is_open_limit_equal || !is_size_equal {
            let key = if is_size_equal { "max_open_zones" } else { "zonesize" };
            let message = "workers on one file share its zones, and another job sets them differently";
            errors.push(file.diagnostic_at(clone.section, key, message));
        }
        let is_written = sharing.any(|(other, _)| other.direction != Direction::Read);
        if fio.direction == Direction::Read && !own.beyond && !is_written {
            let message =
                "its zones are empty, as all are at first on a drive without zones, and there is nothing to read";
            errors.push(file.diagnostic_at(clone.section, "zonemode", message).with_expected("read_beyond_wp=1"));
        }
    }
}

/// The file's name without directory and ending.
fn file_stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

/// Section, clone and group of each worker.
pub(super) fn worker_origins(file: &JobFile) -> Vec<WorkerOrigin> {
    let origin =
        |clone: &JobClone| WorkerOrigin { section: clone.section, clone: clone.number, group_id: clone.group_id };
    list_clones(file).iter().map(origin).collect()
}

/// The flags with which each worker opens its files above a modelled page cache.
pub(super) fn cached_open_flags(file: &JobFile) -> Vec<FileOpenFlags> {
    let flags = |clone: &JobClone| {
        let settings = &file.sections[clone.section].settings;
        FileOpenFlags {
            direct: !settings.uses_page_cache(),
            through: settings.write_through,
            invalidate: settings.system.invalidate,
        }
    };
    list_clones(file).iter().map(flags).collect()
}

/// The flags with which each worker opens a real file.
pub(super) fn fio_open_flags(file: &JobFile) -> Vec<FioOpenFlags> {
    let flags = |clone: &JobClone| {
        let settings = &file.sections[clone.section].settings;
        let direct = !settings.uses_page_cache();
        let hint = match settings.system.hint {
            _ if direct => AccessHint::None,
            Some(hint) => hint,
            None if settings.random => AccessHint::Random,
            None => AccessHint::Sequential,
        };
        FioOpenFlags {
            calls: settings.engine().mode == EngineMode::Synchronous,
            direct,
            invalidate: settings.system.invalidate,
            data_only: settings.syncs.fdatasync > 0 && settings.syncs.fsync == 0,
            whole: settings.system.whole_sync,
            hint,
        }
    };
    list_clones(file).iter().map(flags).collect()
}

/// All clones in fio's order: of each section the first, then the others from the last to the second.
pub(super) fn list_clones(file: &JobFile) -> Vec<JobClone> {
    let mut clones: Vec<JobClone> = Vec::new();
    let (mut stage, mut group_id, mut group) = (0, 0, 0);
    let mut group_reported_last: Option<u32> = None;
    for (section, job) in file.sections.iter().enumerate() {
        let settings = &job.settings;
        let Grouping { stonewall, new_group, group_reporting } = settings.grouping;
        if !clones.is_empty() {
            stage += u32::from(stonewall);
            group_id += u32::from(stonewall || new_group);
        }
        for number in std::iter::once(0).chain((1..settings.numjobs).rev()) {
            if !clones.is_empty() && (!group_reporting || group_reported_last != Some(group_id)) {
                group += 1;
            }
            group_reported_last = group_reporting.then_some(group_id);
            let draw = layout::mix_bits(random_seed(settings).wrapping_mul(clones.len() as u64 + 1));
            clones.push(JobClone { section, number, draw, stage, group_id, group });
        }
    }
    clones
}

/// The seed of a job: `randseed` overrides `randrepeat`, as in fio. The model gives each worker its own stream by its number.
fn random_seed(settings: &FioSettings) -> u64 {
    settings.randseed.unwrap_or(if settings.randrepeat { DEFAULT_SEED } else { UNREPEATED_SEED })
}

/// Warns once of all jobs that would go through the page cache in fio.
fn warn_buffered(file: &JobFile, warnings: &mut Vec<Diagnostic>) {
    let names: Vec<&str> =
        file.sections.iter().filter(|job| job.settings.uses_page_cache()).map(|job| job.name.as_str()).collect();
    let Some(first) = names.first() else { return };
    let subject = match names.len() {
        1 => format!("job {first} is"),
        more => format!("job {first} and {} more are", more - 1),
    };
    let message = format!(
        "{subject} buffered (fio's default); without a page cache (`--set pagecache.mib=512`) \
         the drive is measured as with direct=1"
    );
    let section = file.sections.iter().position(|job| job.settings.uses_page_cache()).unwrap_or(0);
    let line = file.sections[section].line;
    warnings.push(Diagnostic::at(&file.file, line, message).with_key("direct"));
}

/// Builds the worker of a clone: the template of its section with the clone's files, stage, group and delay.
fn build_worker(file: &JobFile, template: &Worker, clone: &JobClone, layout: WorkerLayout) -> Worker {
    let mut worker = template.clone();
    let (low, high) = file.sections[clone.section].settings.start_delay;
    let drawn = u128::from(clone.draw) * u128::from(high - low + 1);
    worker.start_delay = Span::from_nanos(low + (drawn >> 64) as u64);
    (worker.stage, worker.group) = (clone.stage, clone.group);
    if let Pattern::Fio(pattern) = &mut worker.pattern {
        (pattern.files, pattern.bytes) = (layout.files, layout.bytes);
        if let Some(zoned) = &mut pattern.zoned {
            (zoned.files, zoned.cut) = (layout.whole_files, layout.cut_bytes);
        }
    }
    worker
}

/// Builds the part of a worker that all clones of a section have in common.
fn build_template(file: &JobFile, section_index: usize, findings: &mut JobFindings) -> Worker {
    let section = &file.sections[section_index];
    let settings = &section.settings;
    let mut builder = TemplateBuilder { file, section_index, settings, findings };
    let depth = builder.effective_depth();
    let time_based = builder.is_time_based();
    if settings.time_based && !time_based {
        builder.warn("time_based", "without a runtime it does nothing, as in fio: the job ends with its bytes");
    }
    builder.warn_replay_options();
    let pace = builder.build_pace();
    let pattern = Pattern::Fio(builder.build_pattern(time_based));
    Worker {
        name: section.name.clone(),
        stage: 0,
        group: 0,
        start_delay: Span::ZERO,
        counting: CountingRule::Tool,
        ramp: Span::from_nanos(settings.ramp),
        runtime: (settings.runtime > 0).then(|| Span::from_nanos(settings.runtime)),
        time_based,
        depth,
        pace,
        survives: settings.survives,
        pattern,
    }
}

/// Builds a worker from the settings of a section, and collects warnings and errors about them.
struct TemplateBuilder<'a> {
    file: &'a JobFile,
    section_index: usize,
    settings: &'a FioSettings,
    findings: &'a mut JobFindings,
}

impl TemplateBuilder<'_> {
    fn warn(&mut self, key: &'static str, message: impl Into<String>) {
        self.findings.warnings.push(self.file.diagnostic_at(self.section_index, key, message));
    }

    fn refuse(&mut self, key: &'static str, message: impl Into<String>) {
        self.findings.errors.push(self.file.diagnostic_at(self.section_index, key, message));
    }

    fn has_writes(&self) -> bool {
        matches!(self.settings.direction, Direction::Write | Direction::Mixed | Direction::TrimWrite)
    }

    /// Directions in use: read, write, trim.
    fn used_directions(&self) -> [bool; 3] {
        match self.settings.direction {
            Direction::Read => [true, false, false],
            Direction::Write => [false, true, false],
            Direction::Trim => [false, false, true],
            Direction::Mixed => [true, true, false],
            Direction::TrimWrite => [false, true, true],
        }
    }

    /// True if the engine holds one request at a time.
    fn is_synchronous(&self) -> bool {
        let is_character_device = |name: &String| name.starts_with("/dev/sg") || name.starts_with("/dev/bsg");
        match self.settings.engine().mode {
            EngineMode::Synchronous => true,
            EngineMode::ScsiGeneric => {
                !self.settings.filenames.iter().all(is_character_device) || self.settings.filenames.is_empty()
            }
            EngineMode::Asynchronous | EngineMode::Refused(_) => false,
        }
    }

    /// The depth that takes effect; warns or refuses if it is not the given one.
    fn effective_depth(&mut self) -> u32 {
        let settings = self.settings;
        let has_depth_1 = self.is_synchronous() && !settings.depth.offload;
        if has_depth_1 && settings.depth.iodepth > 1 {
            let message = format!(
                "the engine {} holds one request at a time: the depth is 1, not {}",
                settings.engine, settings.depth.iodepth
            );
            self.warn("iodepth", message);
        }
        let depth = if has_depth_1 { 1 } else { settings.depth.iodepth };
        if settings.depth.serialize_overlap && depth > 1 && self.settings.direction != Direction::Read {
            self.refuse("serialize_overlap", "requests in flight that overlap are not held back in this version");
        }
        depth
    }

    fn is_time_based(&self) -> bool {
        self.settings.time_based && self.settings.runtime > 0
    }

    fn build_pace(&mut self) -> Pace {
        let settings = self.settings;
        let is_given = |rates: [u64; 3]| rates.iter().any(|rate| *rate > 0);
        if is_given(settings.rate) && is_given(settings.rate_iops) {
            self.refuse("rate_iops", "rate and rate_iops exclude one another");
        }
        if settings.rate_ignore_thinktime
            && settings.think.time > Span::ZERO
            && (is_given(settings.rate) || is_given(settings.rate_iops))
        {
            self.refuse("rate_ignore_thinktime", "a rate here always makes up for think time");
        }
        let rate = |direction: usize| match (settings.rate[direction], settings.rate_iops[direction]) {
            (0, 0) => None,
            (0, requests) => Some(IssueRate::Requests(requests)),
            (bytes, _) => Some(IssueRate::Bytes(bytes)),
        };
        let thinks = settings.think.time > Span::ZERO;
        if settings.think.spin > Span::ZERO && !thinks {
            self.warn("thinktime_spin", "without a thinktime it does nothing, as in fio");
        }
        // fio spins no longer than the pause.
        let think = ThinkTime { spin: settings.think.spin.min(settings.think.time), ..settings.think };
        let sleep = Span::from_micros(settings.flow.sleep_us.into());
        let flow =
            (settings.flow.weight > 0).then_some(Flow { id: settings.flow.id, weight: settings.flow.weight, sleep });
        let rate = [rate(0), rate(1), rate(2)];
        Pace { think: thinks.then_some(think), rate, process: settings.rate_process, flow }
    }

    /// The pattern without files and bytes, which differ between clones.
    fn build_pattern(&mut self, time_based: bool) -> FioPattern {
        let settings = self.settings;
        let blocks = [0, 1, 2].map(|direction| self.build_block_sizes(direction));
        let writes = self.has_writes();
        FioPattern {
            direction: settings.direction,
            random: if settings.random { settings.percentage_random } else { [0; 3] },
            mix_read: settings.mix_read,
            modifier: self.build_rw_modifier(),
            blocks,
            align: self.effective_alignments(),
            sizes_by_randomness: settings.sizes_by_randomness,
            files: Vec::new(),
            file_service: self.build_file_service(),
            bytes: 0,
            requests: (settings.number_ios > 0).then_some(settings.number_ios),
            loops: settings.loops,
            distribution: settings.distribution.clone(),
            random_map: self.has_random_map(),
            generator: self.random_generator(),
            seed: random_seed(settings),
            repeat: match (settings.randrepeat, settings.randseed) {
                (true, None) => RandomRepeat::Passes,
                (true, Some(_)) => RandomRepeat::Runs,
                (false, _) => RandomRepeat::Never,
            },
            syncs: if writes { settings.syncs } else { Syncs::default() },
            flush_at_end: writes && (settings.end_fsync || settings.fsync_on_close),
            write_through: writes && settings.write_through,
            strided: self.build_strided_zones(),
            zoned: self.build_zoned(),
            sizes_alike: settings.verify.is_on,
            done_for_good: !settings.verify.do_verify && settings.loops == 1 && !time_based,
            verify: writes && settings.verify.is_on && settings.verify.do_verify,
            backlog: settings.build_verify_backlog(),
            engine: self.build_io_engine(),
            priority: self.build_priority_percent(),
        }
    }

    /// Percent of reads and writes with priority: libata marks only the real-time class on a command.
    fn build_priority_percent(&mut self) -> [u8; 3] {
        let settings = self.settings;
        let [read, write, _] = settings.priority_percent;
        let is_real_time = |direction: usize| [0, 1].contains(&settings.priority_class[direction]);
        if (read > 0 && !is_real_time(0)) || (write > 0 && !is_real_time(1)) {
            self.warn("cmdprio_class", "only class 1, real time, reaches the drive; requests of others are as all");
        }
        let share = |direction: usize, percent: u64| if is_real_time(direction) { percent as u8 } else { 0 };
        [share(0, read), share(1, write), 0]
    }

    fn build_block_sizes(&mut self, direction: usize) -> BlockSizes {
        let settings = self.settings;
        let blocks = match (&settings.bssplit[direction], settings.bsrange[direction]) {
            (Some(split), _) => BlockSizes::Split(split.clone()),
            (None, Some((min, max))) if min < max => BlockSizes::Range { min, max, unaligned: settings.unaligned },
            (None, Some((size, _))) => BlockSizes::Fixed(size),
            (None, None) => BlockSizes::Fixed(settings.bs[direction]),
        };
        let (key, sizes) = match &blocks {
            BlockSizes::Split(split) => ("bssplit", split.iter().map(|(size, _)| *size).collect()),
            BlockSizes::Range { min, .. } => ("bsrange", vec![*min]),
            BlockSizes::Fixed(size) => ("bs", vec![*size]),
        };
        let is_used = self.used_directions()[direction] || settings.sizes_by_randomness && direction < 2;
        if let Some(odd) = sizes.iter().find(|size| is_used && **size % 512 != 0) {
            self.refuse(key, format!("{odd} bytes are not whole sectors of 512"));
        }
        if is_used && matches!(blocks, BlockSizes::Range { unaligned: true, .. }) {
            self.warn("bs_unaligned", "sizes are cut to whole sectors, as a drive has no others");
        }
        blocks
    }

    fn build_rw_modifier(&mut self) -> Option<RwModifier> {
        let count = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        match (self.settings.postfix?, self.settings.random) {
            (1, true) | (0, false) => None,
            (_, true) if self.settings.percentage_random == [0; 3] => None,
            (n, true) if self.settings.identical => Some(RwModifier::Same(count(n))),
            (n, true) => Some(RwModifier::Run(count(n))),
            (bytes, false) if bytes % 512 != 0 => {
                self.refuse("rw", format!("a gap of {bytes} bytes is not whole sectors of 512"));
                None
            }
            (bytes, false) => Some(RwModifier::Skip(bytes)),
        }
    }

    /// The alignment of random requests in bytes; refuses partial sectors.
    fn effective_alignments(&mut self) -> [u64; 3] {
        let align = if self.settings.random { self.settings.align } else { [0; 3] };
        if let Some(odd) = align.iter().find(|bytes| **bytes % 512 != 0) {
            self.refuse("ba", format!("{odd} bytes are not whole sectors of 512"));
        }
        align
    }

    /// True if each block is drawn once in a pass. fio does so only for the uniform distribution without `blockalign`.
    fn has_random_map(&self) -> bool {
        let settings = self.settings;
        let least = |direction| settings.least_block_of(direction);
        let has_default_alignment = (0..3).all(|direction| [0, least(direction)].contains(&settings.align[direction]));
        settings.random
            && !settings.norandommap
            && settings.distribution == Distribution::Uniform
            && has_default_alignment
    }

    /// The generator of random numbers. In fio, distributions other than the uniform one have their own.
    fn random_generator(&self) -> Generator {
        match self.settings.distribution {
            Distribution::Uniform => self.settings.generator,
            _ => Generator::Tausworthe,
        }
    }

    fn build_file_service(&mut self) -> FileService {
        let settings = self.settings;
        let files = settings.file_count();
        if files == 1 {
            return FileService::RoundRobin;
        }
        match settings.openfiles {
            0 => {}
            1 => {
                self.warn("openfiles", "one file is open at a time: each is done before the next");
                return FileService::Sequential;
            }
            open if open < files => {
                self.refuse("openfiles", format!("{open} of {files} files open at a time are not in this version"));
            }
            _ => {}
        }
        settings.file_service.unwrap_or_else(|| {
            self.refuse(
                "file_service_type",
                "of several files, one request each in turn, at random, or one after another",
            );
            FileService::RoundRobin
        })
    }

    /// The way in which fio's engine takes requests, from its source: whether a sync is queued, or a call that holds back later
    /// requests.
    fn build_io_engine(&self) -> IoEngine {
        let settings = self.settings;
        let kind = match settings.engine {
            _ if self.is_synchronous() => EngineKind::OneAtATime,
            // fio's null engine behaves by the depth.
            "null" if settings.depth.iodepth == 1 => EngineKind::OneAtATime,
            "null" => EngineKind::OneGroupAtATime,
            "libaio" | "windowsaio" | "solarisaio" => EngineKind::SyncsHold,
            _ => EngineKind::AllQueued,
        };
        let batch = match (settings.engine, settings.depth.batch_submit) {
            // The engine windowsaio submits each request at once.
            ("windowsaio", _) => 1,
            (_, 0) => settings.depth.iodepth,
            (_, batch) => batch.min(settings.depth.iodepth),
        };
        let (least, most) = (settings.depth.batch_complete_min, settings.depth.batch_complete_max);
        IoEngine { kind, least, most: most.max(least), low: settings.depth.iodepth_low, batch }
    }

    /// Strided zones. As in fio, `zonesize` alone means them, and the default of `zonerange` is `zonesize`.
    fn build_strided_zones(&mut self) -> Option<StridedZones> {
        let settings = self.settings;
        let size = settings.zone_size;
        let is_strided = settings.zonemode.map_or(size > 0, |mode| mode == "strided");
        let skip = if let Amount::Bytes(bytes) = settings.zone_skip { bytes } else { 0 };
        if matches!(settings.zone_skip, Amount::Percent(_)) {
            self.refuse("zoneskip", "a percentage is not a value for it");
        }
        if settings.zonemode == Some("none") && size > 0 {
            self.refuse("zonesize", "it needs zonemode=strided");
        }
        if is_strided && size == 0 {
            self.refuse("zonesize", "zonemode=strided needs it");
        }
        let range = if settings.zone_range > 0 { settings.zone_range } else { size };
        if is_strided && [range, size, skip].iter().any(|bytes| bytes % 512 != 0) {
            self.refuse("zonesize", "zones are whole sectors of 512 bytes");
        }
        (is_strided && settings.file_count() == 1).then_some(StridedZones { range, size, skip })
    }

    /// Warns of replay options without a log to replay.
    fn warn_replay_options(&mut self) {
        for key in REPLAYING.into_iter().filter(|key| self.settings.option_place(key).is_some()) {
            self.warn(key, "without read_iolog it does nothing, as in fio");
        }
    }

    /// The zones of `zonemode=zbd`, without the files. The default capacity of a zone is its size.
    fn build_zoned(&mut self) -> Option<Zoned> {
        let settings = self.settings;
        let (size, zoned) = (settings.zone_size, settings.zoned);
        if settings.zonemode != Some("zbd") {
            for key in ZONING.into_iter().filter(|key| settings.option_place(key).is_some()) {
                self.warn(key, "without zonemode=zbd it does nothing, as in fio");
            }
            return None;
        }
        let skip = if let Amount::Bytes(bytes) = settings.zone_skip { bytes } else { 0 };
        let capacity = if zoned.capacity == 0 { size } else { zoned.capacity };
        self.check_zones(size, capacity, skip);
        Some(Zoned {
            files: Vec::new(),
            size,
            capacity,
            most_open: zoned.max_open_zones,
            most_open_of_worker: zoned.job_max_open_zones,
            skip,
            beyond: zoned.read_beyond_wp,
            reset_threshold: zoned.reset_threshold_millionths,
            reset_every: 1_000_000u32.checked_div(zoned.reset_frequency_millionths).unwrap_or(0),
            cut: 0,
        })
    }

    /// Refuses settings of zones that contradict one another; sizes are in bytes.
    fn check_zones(&mut self, size_bytes: u64, capacity_bytes: u64, skip_bytes: u64) {
        let settings = self.settings;
        let block = (0..2).map(|direction| settings.least_block_of(direction)).max().unwrap_or(1);
        if size_bytes == 0 {
            self.refuse("zonesize", "zonemode=zbd on a drive without zones needs it, as in fio");
        }
        if [size_bytes, capacity_bytes].iter().any(|bytes| bytes % 512 != 0) {
            self.refuse("zonesize", "zones are whole sectors of 512 bytes");
        }
        if capacity_bytes > size_bytes {
            self.refuse("zonecapacity", format!("{capacity_bytes} bytes are more than a zone of {size_bytes}"));
        }
        if size_bytes > 0 && block > capacity_bytes {
            self.refuse(
                "zonesize",
                format!("blocks of {block} bytes are larger than what a zone holds, {capacity_bytes}"),
            );
        }
        if size_bytes > 0 && !skip_bytes.is_multiple_of(size_bytes) {
            self.refuse(
                "zoneskip",
                format!("{skip_bytes} bytes are not whole zones of {size_bytes}, which fio asks for"),
            );
        }
        if settings.zoned.job_max_open_zones > 0 && settings.zoned.max_open_zones == 0 {
            self.refuse("job_max_open_zones", "it needs max_open_zones, as in fio");
        }
        if matches!(settings.direction, Direction::Trim | Direction::TrimWrite) {
            self.refuse("rw", "a trim in zonemode=zbd empties a zone, and asks nothing of a drive without zones");
        }
        if settings.verify.is_on {
            self.refuse("verify", "what zones hold is not verified in this version");
        }
    }
}

impl FioSettings {
    /// The backlog of verification; without a batch of its own, the whole backlog is read back at once.
    fn build_verify_backlog(&self) -> Option<VerifyBacklog> {
        let (every, batch) = (self.verify.backlog, self.verify.backlog_batch);
        (every > 0 && self.verify.is_on && self.verify.do_verify)
            .then_some(VerifyBacklog { every, batch: if batch == 0 { every } else { batch } })
    }

    /// True if fio goes through the page cache; pass-through engines never do.
    fn uses_page_cache(&self) -> bool {
        !self.direct && !matches!(self.engine, "sg" | "io_uring_cmd")
    }

    /// The number of files of each clone.
    fn file_count(&self) -> u64 {
        if self.filenames.is_empty() { self.nrfiles } else { self.filenames.len() as u64 }
    }
}
