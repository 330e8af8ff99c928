//! Settings and layout to the model's job: clones, stages, groups, and what the model cannot express.
//!
//! Source: fio's order of threads, its groups (`stonewall`, `new_group`, `group_reporting`),
//! and its corrections of options that depend on one another.

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
const RANDSEED: u64 = 0x89;
/// The seed of `randrepeat=0`, where fio asks the system. Runs here are repeatable all the same, so any seed
/// will do.
const NOT_REPEATED: u64 = 0x5eed;
/// Workers of a job, at most: the model numbers them in 16 bits.
const MOST_WORKERS: usize = 65_535;
/// Files of all workers together, at most: each is an entry in memory. The largest job met has 16,384.
const MOST_FILES: u64 = 4_000_000;

/// Warnings and errors as they come up.
#[derive(Default)]
struct JobFindings {
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

/// Builds the job; `cached` says that there is a page cache for what is not direct.
pub(super) fn build_job(file: &JobFile, sectors: u64, cached: bool) -> Result<(Job, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut found = JobFindings { warnings: file.warnings.clone(), errors: Vec::new() };
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
    let files = |section: &JobSection| section.settings.file_count() * u64::from(section.settings.numjobs);
    let files: u64 = file.sections.iter().map(files).sum();
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
    if !cached {
        warn_buffered(file, &mut found.warnings);
    }
    let shapes: Vec<Worker> =
        (0..file.sections.len()).map(|section| section_worker(file, section, &mut found)).collect();
    let clones = list_clones(file);
    let drive = sectors.saturating_mul(512);
    check_flows(file, &clones, &mut found.errors);
    let plans = layout::lay_out(file, &clones, drive, &mut found.warnings, &mut found.errors);
    if !found.errors.is_empty() {
        return Err(found.errors);
    }
    let complete = |(clone, plan): (&JobClone, WorkerLayout)| build_worker(file, &shapes[clone.section], clone, plan);
    let workers: Vec<Worker> = clones.iter().zip(plans.into_iter().flatten()).map(complete).collect();
    check_common_zones(file, &clones, &workers, &mut found.errors);
    match found.errors.is_empty() {
        true => Ok((Job { name: file_stem(&file.file), workers }, found.warnings)),
        false => Err(found.errors),
    }
}

/// Refuses flows whose jobs begin in different stages: they would wait for one another for ever, in fio too.
fn check_flows(file: &JobFile, clones: &[JobClone], errors: &mut Vec<Diagnostic>) {
    let flow = |clone: &JobClone| file.sections[clone.section].settings.flow;
    for clone in clones.iter().filter(|clone| flow(clone)[0] > 0) {
        let together =
            |other: &JobClone| flow(other)[0] == 0 || flow(other)[1] != flow(clone)[1] || other.stage == clone.stage;
        if clone.number == 0 && !clones.iter().all(together) {
            let message =
                "jobs of one flow begin together: behind a stonewall they would wait for one another for ever";
            errors.push(file.diagnostic_at(clone.section, "flow", message));
        }
    }
}

/// Checks that workers on one file, which share its zones, have equal zone settings, as fio requires. Zones that nobody writes
/// cannot be read.
fn check_common_zones(file: &JobFile, clones: &[JobClone], workers: &[Worker], errors: &mut Vec<Diagnostic>) {
    let zoned = |worker: usize| match &workers[worker].pattern {
        Pattern::Fio(fio) => fio.zoned.as_ref().map(|zoned| (fio, zoned)),
        Pattern::Iometer(_) => None,
    };
    for (worker, clone) in clones.iter().enumerate().take(workers.len()).filter(|(_, clone)| clone.number == 0) {
        let Some((fio, own)) = zoned(worker) else { continue };
        let shares =
            |other: &Zoned| other.files.iter().any(|theirs| own.files.iter().any(|ours| ours.start == theirs.start));
        let mut all = (0..workers.len()).filter_map(zoned).filter(|(_, other)| shares(other)).peekable();
        // The first worker on a file sets its zones.
        let kept = all.peek().is_none_or(|(_, first)| own.most_open == 0 || own.most_open == first.most_open);
        let alike = all.peek().is_none_or(|(_, first)| (own.size, own.capacity) == (first.size, first.capacity));
        if !kept || !alike {
            let key = if alike { "max_open_zones" } else { "zonesize" };
            let message = "workers on one file share its zones, and another job sets them differently";
            errors.push(file.diagnostic_at(clone.section, key, message));
        }
        let written = all.any(|(other, _)| other.direction != Direction::Read);
        if fio.direction == Direction::Read && !own.beyond && !written {
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

/// How the files of each worker are opened.
pub(super) fn open_flags(file: &JobFile) -> Vec<FileOpenFlags> {
    let opening = |clone: &JobClone| {
        let settings = &file.sections[clone.section].settings;
        FileOpenFlags {
            direct: !settings.uses_page_cache(),
            through: settings.write_through,
            invalidate: settings.system.invalidate,
        }
    };
    list_clones(file).iter().map(opening).collect()
}

/// How each worker opens a real file.
pub(super) fn fio_open_flags(file: &JobFile) -> Vec<FioOpenFlags> {
    let opened = |clone: &JobClone| {
        let settings = &file.sections[clone.section].settings;
        let direct = !settings.uses_page_cache();
        let hint = match settings.system.hint {
            _ if direct => AccessHint::None,
            Some(hint) => hint,
            None if settings.random => AccessHint::Random,
            None => AccessHint::Sequential,
        };
        FioOpenFlags {
            calls: settings.engine().runs == EngineMode::Synchronous,
            direct,
            invalidate: settings.system.invalidate,
            data_only: settings.syncs.fdatasync > 0 && settings.syncs.fsync == 0,
            whole: settings.system.whole_sync,
            hint,
        }
    };
    list_clones(file).iter().map(opened).collect()
}

/// All clones in fio's order: of each section the first, then the others from the last to the second.
pub(super) fn list_clones(file: &JobFile) -> Vec<JobClone> {
    let mut clones: Vec<JobClone> = Vec::new();
    let (mut stage, mut group_id, mut group) = (0, 0, 0);
    let mut reported: Option<u32> = None;
    for (section, job) in file.sections.iter().enumerate() {
        let settings = &job.settings;
        let Grouping { stonewall, new_group, group_reporting } = settings.grouping;
        if !clones.is_empty() {
            stage += u32::from(stonewall);
            group_id += u32::from(stonewall || new_group);
        }
        for number in std::iter::once(0).chain((1..settings.numjobs).rev()) {
            if !clones.is_empty() && (!group_reporting || reported != Some(group_id)) {
                group += 1;
            }
            reported = group_reporting.then_some(group_id);
            let draw = layout::mix(random_seed(settings).wrapping_mul(clones.len() as u64 + 1));
            clones.push(JobClone { section, number, draw, stage, group_id, group });
        }
    }
    clones
}

/// `randseed`, which overrides `randrepeat` as in fio. The model tells threads apart by the worker's number.
fn random_seed(settings: &FioSettings) -> u64 {
    settings.randseed.unwrap_or(if settings.randrepeat { RANDSEED } else { NOT_REPEATED })
}

/// Warns once of all jobs that go through the page cache in fio.
fn warn_buffered(file: &JobFile, warnings: &mut Vec<Diagnostic>) {
    let names: Vec<&str> =
        file.sections.iter().filter(|job| job.settings.uses_page_cache()).map(|job| job.name.as_str()).collect();
    let Some(first) = names.first() else { return };
    let which = match names.len() {
        1 => format!("job {first} is"),
        more => format!("job {first} and {} more are", more - 1),
    };
    let message = format!(
        "{which} buffered (fio's default); without a page cache (`--set pagecache.mib=512`) \
         the drive is measured as with direct=1"
    );
    let section = file.sections.iter().position(|job| job.settings.uses_page_cache()).unwrap_or(0);
    let line = file.sections[section].line;
    warnings.push(Diagnostic::at(&file.file, line, message).with_key("direct"));
}

/// A clone with its own place, seed and delay.
fn build_worker(file: &JobFile, shape: &Worker, clone: &JobClone, plan: WorkerLayout) -> Worker {
    let mut worker = shape.clone();
    let (low, high) = file.sections[clone.section].settings.start_delay;
    let drawn = u128::from(clone.draw) * u128::from(high - low + 1);
    worker.start_delay = Span::from_nanos(low + (drawn >> 64) as u64);
    (worker.stage, worker.group) = (clone.stage, clone.group);
    if let Pattern::Fio(pattern) = &mut worker.pattern {
        (pattern.files, pattern.bytes) = (plan.files, plan.bytes);
        if let Some(zoned) = &mut pattern.zoned {
            (zoned.files, zoned.cut) = (plan.wholes, plan.cut);
        }
    }
    worker
}

/// The common part of all clones of a section.
fn section_worker(file: &JobFile, index: usize, found: &mut JobFindings) -> Worker {
    let section = &file.sections[index];
    let settings = &section.settings;
    let mut check = SectionCheck { file, index, settings, found };
    let depth = check.check_depth();
    let time_based = check.check_time_based();
    check.warn_replay_options();
    let pace = check.build_pace();
    let pattern = Pattern::Fio(check.build_pattern(time_based));
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

/// A section under examination.
struct SectionCheck<'a> {
    file: &'a JobFile,
    index: usize,
    settings: &'a FioSettings,
    found: &'a mut JobFindings,
}

impl SectionCheck<'_> {
    fn warn(&mut self, key: &'static str, message: impl Into<String>) {
        self.found.warnings.push(self.file.diagnostic_at(self.index, key, message));
    }

    fn refuse(&mut self, key: &'static str, message: impl Into<String>) {
        self.found.errors.push(self.file.diagnostic_at(self.index, key, message));
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

    /// Whether the engine holds one request at a time.
    fn is_synchronous(&self) -> bool {
        let character = |name: &String| name.starts_with("/dev/sg") || name.starts_with("/dev/bsg");
        match self.settings.engine().runs {
            EngineMode::Synchronous => true,
            EngineMode::ScsiGeneric => {
                !self.settings.filenames.iter().all(character) || self.settings.filenames.is_empty()
            }
            EngineMode::Asynchronous | EngineMode::Refused(_) => false,
        }
    }

    fn check_depth(&mut self) -> u32 {
        let settings = self.settings;
        let one = self.is_synchronous() && !settings.offload;
        if one && settings.iodepth > 1 {
            let message = format!(
                "the engine {} holds one request at a time: the depth is 1, not {}",
                settings.engine, settings.iodepth
            );
            self.warn("iodepth", message);
        }
        let depth = if one { 1 } else { settings.iodepth };
        if settings.serialize_overlap && depth > 1 && self.settings.direction != Direction::Read {
            self.refuse("serialize_overlap", "requests in flight that overlap are not held back in this version");
        }
        depth
    }

    fn check_time_based(&mut self) -> bool {
        if self.settings.time_based && self.settings.runtime == 0 {
            self.warn("time_based", "without a runtime it does nothing, as in fio: the job ends with its bytes");
        }
        self.settings.time_based && self.settings.runtime > 0
    }

    fn build_pace(&mut self) -> Pace {
        let settings = self.settings;
        let given = |rates: [u64; 3]| rates.iter().any(|rate| *rate > 0);
        if given(settings.rate) && given(settings.rate_iops) {
            self.refuse("rate_iops", "rate and rate_iops exclude one another");
        }
        if settings.rate_ignore_thinktime
            && settings.think.time > Span::ZERO
            && (given(settings.rate) || given(settings.rate_iops))
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
        // As in fio: no longer than the pause.
        let think = ThinkTime { spin: settings.think.spin.min(settings.think.time), ..settings.think };
        let [weight, id, sleep] = settings.flow;
        let flow = (weight > 0).then_some(Flow { id, weight, sleep: Span::from_micros(sleep.into()) });
        let rate = [rate(0), rate(1), rate(2)];
        Pace { think: thinks.then_some(think), rate, process: settings.rate_process, flow }
    }

    /// The pattern without files and bytes, which differ between clones.
    fn build_pattern(&mut self, time_based: bool) -> FioPattern {
        let settings = self.settings;
        let blocks = [self.block_sizes(0), self.block_sizes(1), self.block_sizes(2)];
        let writes = self.has_writes();
        FioPattern {
            direction: settings.direction,
            random: if settings.random { settings.percentage_random } else { [0; 3] },
            mix_read: settings.mix_read,
            modifier: self.rw_modifier(),
            blocks,
            align: self.check_align(),
            sizes_by_randomness: settings.sizes_by_randomness,
            files: Vec::new(),
            file_service: self.file_service(),
            bytes: 0,
            requests: (settings.number_ios > 0).then_some(settings.number_ios),
            loops: settings.loops,
            distribution: settings.distribution.clone(),
            random_map: self.random_map(),
            generator: self.random_generator(),
            seed: random_seed(settings),
            repeat: match (settings.randrepeat, settings.randseed) {
                (true, None) => RandomRepeat::Passes,
                (true, Some(_)) => RandomRepeat::Runs,
                (false, _) => RandomRepeat::Never,
            },
            syncs: if writes { settings.syncs } else { Syncs::default() },
            flush_at_end: writes && settings.flush_at_end.contains(&true),
            write_through: writes && settings.write_through,
            strided: self.strided_zones(),
            zoned: self.build_zoned(),
            sizes_alike: settings.verify[0],
            done_for_good: !settings.verify[1] && settings.loops == 1 && !time_based,
            verify: writes && settings.verify == [true; 2],
            backlog: settings.verify_backlog(),
            engine: self.io_engine(),
            priority: self.urgent_percent(),
        }
    }

    /// Percent of urgent requests: only the real-time class is marked on the command itself, as libata passes it on.
    fn urgent_percent(&mut self) -> [u8; 3] {
        let settings = self.settings;
        let [[read, write, _], classes] = settings.priority;
        let urgent = |direction: usize| [0, 1].contains(&classes[direction]);
        if (read > 0 && !urgent(0)) || (write > 0 && !urgent(1)) {
            self.warn("cmdprio_class", "only class 1, real time, reaches the drive; requests of others are as all");
        }
        let share = |direction: usize, percent: u64| if urgent(direction) { percent as u8 } else { 0 };
        [share(0, read), share(1, write), 0]
    }

    fn block_sizes(&mut self, direction: usize) -> BlockSizes {
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
        let used = self.used_directions()[direction] || settings.sizes_by_randomness && direction < 2;
        if let Some(odd) = sizes.iter().find(|size| used && **size % 512 != 0) {
            self.refuse(key, format!("{odd} bytes are not whole sectors of 512"));
        }
        if used && matches!(blocks, BlockSizes::Range { unaligned: true, .. }) {
            self.warn("bs_unaligned", "sizes are cut to whole sectors, as a drive has no others");
        }
        blocks
    }

    fn rw_modifier(&mut self) -> Option<RwModifier> {
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

    fn check_align(&mut self) -> [u64; 3] {
        let align = if self.settings.random { self.settings.align } else { [0; 3] };
        if let Some(odd) = align.iter().find(|bytes| **bytes % 512 != 0) {
            self.refuse("ba", format!("{odd} bytes are not whole sectors of 512"));
        }
        align
    }

    /// fio turns the map off for other distributions and for `blockalign`.
    fn random_map(&self) -> bool {
        let settings = self.settings;
        let least = |direction| settings.least_block_of(direction);
        let aligned = (0..3).all(|direction| [0, least(direction)].contains(&settings.align[direction]));
        settings.random && !settings.norandommap && settings.distribution == Distribution::Uniform && aligned
    }

    /// The other distributions draw by themselves, in fio too.
    fn random_generator(&self) -> Generator {
        match self.settings.distribution {
            Distribution::Uniform => self.settings.generator,
            _ => Generator::Tausworthe,
        }
    }

    fn file_service(&mut self) -> FileService {
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

    /// How fio's engine takes requests, by its source: whether a sync is queued, or a call that holds back later requests.
    fn io_engine(&self) -> IoEngine {
        let settings = self.settings;
        let kind = match settings.engine {
            _ if self.is_synchronous() => EngineKind::OneAtATime,
            // fio's null engine is one of either kind.
            "null" if settings.iodepth == 1 => EngineKind::OneAtATime,
            "null" => EngineKind::OneGroupAtATime,
            "libaio" | "windowsaio" | "solarisaio" => EngineKind::SyncsHold,
            _ => EngineKind::AllQueued,
        };
        let [least, most, low, batch] = settings.batches;
        // A batch that is not given, or above the depth, is the depth.
        let batch = match settings.engine {
            // Requests are handed over as they come.
            "windowsaio" => 1,
            _ if batch == 0 => settings.iodepth,
            _ => batch.min(settings.iodepth),
        };
        IoEngine { kind, least, most: most.max(least), low, batch }
    }

    /// `zonesize` alone means strided zones, as in fio; a range not given is the size.
    fn strided_zones(&mut self) -> Option<StridedZones> {
        let settings = self.settings;
        let wanted = settings.zonemode.map_or(settings.zones[0] > 0, |mode| mode == "strided");
        let skip = if let Amount::Bytes(bytes) = settings.zone_skip { bytes } else { 0 };
        if matches!(settings.zone_skip, Amount::Percent(_)) {
            self.refuse("zoneskip", "a percentage is not a value for it");
        }
        if settings.zonemode == Some("none") && settings.zones[0] > 0 {
            self.refuse("zonesize", "it needs zonemode=strided");
        }
        if wanted && settings.zones[0] == 0 {
            self.refuse("zonesize", "zonemode=strided needs it");
        }
        let range = if settings.zones[1] > 0 { settings.zones[1] } else { settings.zones[0] };
        if wanted && [range, settings.zones[0], skip].iter().any(|bytes| bytes % 512 != 0) {
            self.refuse("zonesize", "zones are whole sectors of 512 bytes");
        }
        (wanted && settings.file_count() == 1).then_some(StridedZones { range, size: settings.zones[0], skip })
    }

    /// Warns of replay options without a log to replay.
    fn warn_replay_options(&mut self) {
        for key in REPLAYING.into_iter().filter(|key| self.settings.option_place(key).is_some()) {
            self.warn(key, "without read_iolog it does nothing, as in fio");
        }
    }

    /// `zonemode=zbd`, without the files: a capacity not given is the size.
    fn build_zoned(&mut self) -> Option<Zoned> {
        let settings = self.settings;
        let ([size, _], own) = (settings.zones, settings.zoned);
        if settings.zonemode != Some("zbd") {
            for key in ZONING.into_iter().filter(|key| settings.option_place(key).is_some()) {
                self.warn(key, "without zonemode=zbd it does nothing, as in fio");
            }
            return None;
        }
        let skip = if let Amount::Bytes(bytes) = settings.zone_skip { bytes } else { 0 };
        let capacity = if own.capacity == 0 { size } else { own.capacity };
        self.refuse_zones(size, capacity, skip);
        let [threshold, frequency] = own.resets;
        Some(Zoned {
            files: Vec::new(),
            size,
            capacity,
            most_open: own.most_open[0],
            most_open_of_worker: own.most_open[1],
            skip,
            beyond: own.beyond,
            reset_threshold: threshold,
            reset_every: 1_000_000u32.checked_div(frequency).unwrap_or(0),
            cut: 0,
        })
    }

    fn refuse_zones(&mut self, size: u64, capacity: u64, skip: u64) {
        let settings = self.settings;
        let smallest = (0..2).map(|direction| settings.least_block_of(direction)).max().unwrap_or(1);
        if size == 0 {
            self.refuse("zonesize", "zonemode=zbd on a drive without zones needs it, as in fio");
        }
        if [size, capacity].iter().any(|bytes| bytes % 512 != 0) {
            self.refuse("zonesize", "zones are whole sectors of 512 bytes");
        }
        if capacity > size {
            self.refuse("zonecapacity", format!("{capacity} bytes are more than a zone of {size}"));
        }
        if size > 0 && smallest > capacity {
            self.refuse(
                "zonesize",
                format!("blocks of {smallest} bytes are larger than what a zone holds, {capacity}"),
            );
        }
        if size > 0 && !skip.is_multiple_of(size) {
            self.refuse("zoneskip", format!("{skip} bytes are not whole zones of {size}, which fio asks for"));
        }
        if settings.zoned.most_open[1] > 0 && settings.zoned.most_open[0] == 0 {
            self.refuse("job_max_open_zones", "it needs max_open_zones, as in fio");
        }
        if matches!(settings.direction, Direction::Trim | Direction::TrimWrite) {
            self.refuse("rw", "a trim in zonemode=zbd empties a zone, and asks nothing of a drive without zones");
        }
        if settings.verify[0] {
            self.refuse("verify", "what zones hold is not verified in this version");
        }
    }
}

impl FioSettings {
    /// The backlog of verification; without a batch of its own, the whole backlog is read back at once.
    fn verify_backlog(&self) -> Option<VerifyBacklog> {
        let [every, batch] = self.backlog;
        (every > 0 && self.verify == [true; 2])
            .then_some(VerifyBacklog { every, batch: if batch == 0 { every } else { batch } })
    }

    /// Whether fio goes through the page cache; pass-through engines never do.
    fn uses_page_cache(&self) -> bool {
        !self.direct && !matches!(self.engine, "sg" | "io_uring_cmd")
    }

    /// How many files each clone has.
    fn file_count(&self) -> u64 {
        if self.filenames.is_empty() { self.nrfiles } else { self.filenames.len() as u64 }
    }
}
