//! The values of all options of a job: options are applied one after another, and a later one replaces an earlier one.
//!
//! Each option is checked alone here; `build` and `layout` check combinations, and options against the size of the drive. Defaults
//! are from `fio --cmdhelp` of 3.33. Arrays of three are values for reads, writes and trims.

use std::collections::BTreeMap;

use seekwise_disk::time::Span;
use seekwise_work::workload::{ArrivalProcess, Direction, Distribution, FileService, Generator, Syncs, ThinkTime};

use super::draw::{self, SizeSplit};
use super::engines::{self, EngineMode, FioEngine};
use super::job_option::{ExpandedOption, FileLine};
use super::number::{self, Amount};
use super::open_flags::AccessHint;
use super::options::{self, OptionFate};
use super::value::{self, OptionError, OptionType, OptionValue};

/// The values of the options that shape a job.
#[derive(Clone, Debug)]
pub(super) struct FioSettings {
    pub(super) name: Option<String>,
    kb_base: u64,
    pub(super) engine: &'static str,
    // Files.
    pub(super) filenames: Vec<String>,
    pub(super) directories: Vec<String>,
    pub(super) filename_format: String,
    pub(super) nrfiles: u64,
    pub(super) openfiles: u64,
    pub(super) file_service: Option<FileService>,
    pub(super) size: Option<Amount>,
    pub(super) io_size: Option<Amount>,
    pub(super) filesize: Option<(u64, u64)>,
    pub(super) offset: Amount,
    pub(super) offset_increment: Amount,
    pub(super) offset_align: Option<u64>,
    pub(super) number_ios: u64,
    pub(super) fill_device: bool,
    // Shape.
    pub(super) direction: Direction,
    pub(super) random: bool,
    /// The number after the colon of `rw`: requests when random, bytes when sequential.
    pub(super) postfix: Option<i64>,
    pub(super) identical: bool,
    pub(super) mix_read: u8,
    pub(super) bs: [u64; 3],
    pub(super) bsrange: [Option<(u64, u64)>; 3],
    pub(super) bssplit: [Option<SizeSplit>; 3],
    pub(super) align: [u64; 3],
    pub(super) unaligned: bool,
    pub(super) sizes_by_randomness: bool,
    pub(super) percentage_random: [u8; 3],
    pub(super) distribution: Distribution,
    pub(super) generator: Generator,
    pub(super) norandommap: bool,
    pub(super) randrepeat: bool,
    pub(super) randseed: Option<u64>,
    pub(super) zonemode: Option<&'static str>,
    pub(super) zone_size: u64,
    pub(super) zone_range: u64,
    pub(super) zone_skip: Amount,
    pub(super) zoned: Zoning,
    // Concurrency.
    pub(super) depth: DepthSettings,
    pub(super) numjobs: u32,
    pub(super) grouping: Grouping,
    pub(super) logs: Logs,
    pub(super) priority_percent: [u64; 3],
    /// `cmdprio_class`; 0 if it is not given.
    pub(super) priority_class: [u64; 3],
    // Durability.
    pub(super) direct: bool,
    pub(super) write_through: bool,
    pub(super) system: SystemOptions,
    pub(super) syncs: Syncs,
    pub(super) end_fsync: bool,
    pub(super) fsync_on_close: bool,
    /// `continue_on_error`: reads, and writes.
    pub(super) survives: [bool; 2],
    pub(super) verify: VerifySettings,
    // Duration and pace, nanoseconds.
    pub(super) runtime: u64,
    pub(super) time_based: bool,
    pub(super) ramp: u64,
    pub(super) start_delay: (u64, u64),
    pub(super) loops: u32,
    pub(super) think: ThinkTime,
    pub(super) rate: [u64; 3],
    pub(super) rate_iops: [u64; 3],
    pub(super) rate_process: ArrivalProcess,
    pub(super) rate_ignore_thinktime: bool,
    pub(super) flow: FlowSettings,
    /// The place at which each option was last given.
    places: BTreeMap<&'static str, FileLine>,
}

/// Requests in flight and how they are submitted: `iodepth` and options beside it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DepthSettings {
    pub(super) iodepth: u32,
    pub(super) iodepth_low: u32,
    pub(super) batch_submit: u32,
    pub(super) batch_complete_min: u32,
    pub(super) batch_complete_max: u32,
    pub(super) serialize_overlap: bool,
    /// True for `io_submit_mode=offload`.
    pub(super) offload: bool,
}

impl Default for DepthSettings {
    fn default() -> DepthSettings {
        DepthSettings {
            iodepth: 1,
            iodepth_low: 0,
            batch_submit: 1,
            batch_complete_min: 1,
            batch_complete_max: 0,
            serialize_overlap: false,
            offload: false,
        }
    }
}

/// The reading back of written data.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerifySettings {
    /// True if written data can be verified (`verify`).
    pub(super) is_on: bool,
    /// True if the job itself reads its data back (`do_verify`).
    pub(super) do_verify: bool,
    pub(super) backlog: u64,
    pub(super) backlog_batch: u64,
}

impl Default for VerifySettings {
    fn default() -> VerifySettings {
        VerifySettings { is_on: false, do_verify: true, backlog: 0, backlog_batch: 0 }
    }
}

/// The share of a job in a flow of several; a weight of 0: none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowSettings {
    pub(super) weight: u32,
    pub(super) id: u32,
    pub(super) sleep_us: u32,
}

/// Options that begin stages and groups of jobs, or report a group as one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grouping {
    pub(super) stonewall: bool,
    pub(super) new_group: bool,
    pub(super) group_reporting: bool,
}

/// The logs of a job.
#[derive(Clone, Debug, Default)]
pub(super) struct Logs {
    /// The log that it plays (`read_iolog`).
    pub(super) read: Option<String>,
    pub(super) replay: IologOptions,
    /// The log of its requests (`write_iolog`).
    pub(super) write: Option<String>,
}

/// The way in which a log is played.
#[derive(Clone, Debug)]
pub(super) struct IologOptions {
    pub(super) no_stall: bool,
    pub(super) redirect: Option<String>,
    /// `replay_time_scale`, in percent.
    pub(super) time_scale: u32,
    /// `replay_scale` and `replay_align`; 0: as recorded.
    pub(super) scale: u64,
    pub(super) align: u64,
}

impl Default for IologOptions {
    fn default() -> IologOptions {
        IologOptions { no_stall: false, redirect: None, time_scale: 100, scale: 0, align: 0 }
    }
}

/// Options of a replay, besides `read_iolog`.
pub(super) const REPLAYING: [&str; 5] =
    ["replay_no_stall", "replay_redirect", "replay_time_scale", "replay_scale", "replay_align"];

/// True if the option shapes the requests of a job.
pub(super) fn is_honoured(name: &str) -> bool {
    options::find_option(name).is_some_and(|known| matches!(known.fate, OptionFate::Honoured))
}

/// Values of the options that only apply with `zonemode=zbd`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Zoning {
    pub(super) capacity: u64,
    pub(super) max_open_zones: u32,
    pub(super) job_max_open_zones: u32,
    pub(super) read_beyond_wp: bool,
    pub(super) reset_threshold_millionths: u32,
    pub(super) reset_frequency_millionths: u32,
}

/// Options that only apply with `zonemode=zbd`.
pub(super) const ZONING: [&str; 6] = [
    "zonecapacity",
    "max_open_zones",
    "job_max_open_zones",
    "read_beyond_wp",
    "zone_reset_threshold",
    "zone_reset_frequency",
];

/// Settings for the operating system only.
#[derive(Clone, Copy, Debug)]
pub(super) struct SystemOptions {
    pub(super) invalidate: bool,
    /// True for `sync=sync`, false for `sync=dsync`.
    pub(super) whole_sync: bool,
    /// `fadvise_hint`, if it is more than a switch.
    pub(super) hint: Option<AccessHint>,
}

impl Default for SystemOptions {
    fn default() -> SystemOptions {
        SystemOptions { invalidate: true, whole_sync: false, hint: None }
    }
}

impl SystemOptions {
    /// Sets the hint of `fadvise_hint`.
    fn set_hint(&mut self, value: &OptionValue) {
        self.hint = match value.is_zero() {
            true => Some(AccessHint::None),
            false if value.is_word("random") => Some(AccessHint::Random),
            false if value.is_word("sequential") => Some(AccessHint::Sequential),
            false => None,
        };
    }
}

impl Default for FioSettings {
    fn default() -> FioSettings {
        FioSettings {
            name: None,
            kb_base: 1024,
            engine: engines::DEFAULT,
            filenames: Vec::new(),
            directories: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".to_owned(),
            nrfiles: 1,
            openfiles: 0,
            file_service: Some(FileService::RoundRobin),
            size: None,
            io_size: None,
            filesize: None,
            offset: Amount::Bytes(0),
            offset_increment: Amount::Bytes(0),
            offset_align: None,
            number_ios: 0,
            fill_device: false,
            direction: Direction::Read,
            random: false,
            postfix: None,
            identical: false,
            mix_read: 50,
            bs: [4096; 3],
            bsrange: [None; 3],
            bssplit: [const { None }; 3],
            align: [0; 3],
            unaligned: false,
            sizes_by_randomness: false,
            percentage_random: [100; 3],
            distribution: Distribution::Uniform,
            generator: Generator::Tausworthe,
            norandommap: false,
            randrepeat: true,
            randseed: None,
            zonemode: None,
            zone_size: 0,
            zone_range: 0,
            zone_skip: Amount::Bytes(0),
            zoned: Zoning::default(),
            depth: DepthSettings::default(),
            numjobs: 1,
            grouping: Grouping::default(),
            logs: Logs::default(),
            priority_percent: [0; 3],
            priority_class: [0; 3],
            direct: false,
            write_through: false,
            system: SystemOptions::default(),
            syncs: Syncs::default(),
            end_fsync: false,
            fsync_on_close: false,
            survives: [false; 2],
            verify: VerifySettings::default(),
            runtime: 0,
            time_based: false,
            ramp: 0,
            start_delay: (0, 0),
            loops: 1,
            think: ThinkTime { time: Span::ZERO, spin: Span::ZERO, blocks: 1, on_issue: false },
            rate: [0; 3],
            rate_iops: [0; 3],
            rate_process: ArrivalProcess::Linear,
            rate_ignore_thinktime: false,
            flow: FlowSettings::default(),
            places: BTreeMap::new(),
        }
    }
}

impl FioSettings {
    /// Sets the value of one option; returns warnings.
    pub(super) fn apply_option(&mut self, option: &ExpandedOption) -> Result<Vec<String>, OptionError> {
        let mut notes: Vec<String> = Vec::new();
        for variable in &option.unset {
            notes.push(format!("the variable ${{{variable}}} is not set, so it is empty"));
        }
        let (name, kind, fate) = match options::find_option(&option.name) {
            Some(known) => (known.name, known.kind, known.fate),
            None => match self.engine_option(&option.name)? {
                Some(engine_option) => engine_option,
                None => return Ok(notes),
            },
        };
        let value = value::parse_value(kind, option.value.as_deref(), self.kb_base, &mut notes)?;
        match fate {
            OptionFate::Honoured => self.set_honoured(name, value, &mut notes)?,
            OptionFate::Label => {}
            OptionFate::Harmless(reason) if name == "fadvise_hint" => {
                self.system.set_hint(&value);
                notes.push(format!("no effect here: {reason}"));
            }
            OptionFate::Harmless(reason) if name == "sync_file_range" => {
                self.syncs.file_range = parse_file_range_interval(&value)?;
                notes.push(format!("it takes its turn among the syncs, and the drive sees nothing of it: {reason}"));
            }
            OptionFate::Harmless(reason) if name == "iodepth_batch" => {
                self.depth.batch_submit = value.as_number() as u32;
                notes.push(format!("it decides when a sync comes, and nothing else: {reason}"));
            }
            OptionFate::Harmless(reason) => notes.push(format!("no effect here: {reason}")),
            OptionFate::Refused(reason, neutral) => {
                let text = option.value.as_deref().unwrap_or("");
                if !value.is_zero() && !neutral.contains(&text) {
                    return Err(OptionError::new(reason));
                }
            }
        }
        self.places.insert(name, option.place.clone());
        Ok(notes)
    }

    /// The place at which an option was last given.
    pub(super) fn option_place(&self, name: &str) -> Option<&FileLine> {
        self.places.get(name)
    }

    /// The engine, as the list of engines has it.
    pub(super) fn engine(&self) -> &'static FioEngine {
        engines::find_engine(self.engine).unwrap_or(&engines::ENGINES[0])
    }

    /// The reason why the engine is not supported, if it is not.
    pub(super) fn engine_refusal(&self) -> Option<String> {
        match self.engine().mode {
            EngineMode::Refused(reason) => Some(format!("the engine {} is not in this version: {reason}", self.engine)),
            _ => None,
        }
    }

    /// An option of the engine in use; `None` if that engine is refused and the option may be one of its own.
    fn engine_option(&self, name: &str) -> Result<Option<(&'static str, OptionType, OptionFate)>, OptionError> {
        let engine = self.engine();
        let is_refused = matches!(engine.mode, EngineMode::Refused(_));
        match options::find_engine_option(name) {
            Some(option) if option.engines.contains(&engine.name) => Ok(Some((option.name, option.kind, option.fate))),
            Some(_) if is_refused => Ok(None),
            Some(option) => {
                let owners = match option.engines {
                    [] => "engines that are refused".to_owned(),
                    engines => engines.join(", "),
                };
                Err(OptionError::new(format!("the engine {} has no such option; it belongs to {owners}", engine.name)))
            }
            None if engines::is_external(engine) => Ok(None),
            None => Err(OptionError::new("unknown option")
                .with_expected("a fio option")
                .suggest_nearest(name, options::names())),
        }
    }

    /// Sets the value of an honoured option. Each setter below returns false for options of another.
    fn set_honoured(&mut self, name: &str, value: OptionValue, notes: &mut Vec<String>) -> Result<(), OptionError> {
        let is_set = self.set_files(name, &value)?
            || self.set_replay(name, &value)
            || self.set_directions_and_sizes(name, &value, notes)?
            || self.set_randomness(name, &value)?
            || self.set_zones(name, &value)?
            || self.set_engine_and_priorities(name, &value, notes)?
            || self.set_depth_and_job_groups(name, &value)
            || self.set_caching_and_syncs(name, &value)
            || self.set_verification_and_errors(name, &value)
            || self.set_times_and_rates(name, &value);
        assert!(is_set, "{name} is in the table as honoured and is not");
        Ok(())
    }

    fn set_files(&mut self, name: &str, value: &OptionValue) -> Result<bool, OptionError> {
        match name {
            "name" => self.name = Some(value.as_text()),
            "filename" => self.filenames = split_colon_names(&value.as_text())?,
            "directory" => self.directories = split_colon_names(&value.as_text())?,
            "filename_format" => self.filename_format = value.as_text(),
            "nrfiles" => self.nrfiles = value.as_number(),
            "openfiles" => self.openfiles = value.as_number(),
            "file_service_type" => self.file_service = parse_file_service(value)?,
            "size" => self.size = value.nonzero_size(),
            "io_size" => self.io_size = value.nonzero_size(),
            "filesize" => self.filesize = value.as_range(),
            "offset" => self.offset = value.nonzero_size().unwrap_or(Amount::Bytes(0)),
            "offset_increment" => self.offset_increment = value.nonzero_size().unwrap_or(Amount::Bytes(0)),
            "offset_align" => self.offset_align = Some(value.as_number()),
            "number_ios" => self.number_ios = value.as_number(),
            "fill_device" => self.fill_device = value.is_on(),
            "write_iolog" => self.logs.write = Some(value.as_text()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_replay(&mut self, name: &str, value: &OptionValue) -> bool {
        match name {
            "read_iolog" => self.logs.read = Some(value.as_text()),
            "replay_no_stall" => self.logs.replay.no_stall = value.is_on(),
            "replay_redirect" => self.logs.replay.redirect = Some(value.as_text()),
            "replay_time_scale" => self.logs.replay.time_scale = value.as_number() as u32,
            "replay_scale" => self.logs.replay.scale = value.as_number(),
            "replay_align" => self.logs.replay.align = value.as_number(),
            _ => return false,
        }
        true
    }

    fn set_directions_and_sizes(
        &mut self,
        name: &str,
        value: &OptionValue,
        notes: &mut Vec<String>,
    ) -> Result<bool, OptionError> {
        match (name, value) {
            ("rw", OptionValue::Word(word, postfix)) => self.set_direction(word, postfix.as_deref(), notes)?,
            ("rw_sequencer", _) => self.identical = value.is_word("identical"),
            ("rwmixread", _) => self.mix_read = value.as_number() as u8,
            ("rwmixwrite", _) => self.mix_read = 100 - value.as_number() as u8,
            ("kb_base", _) => self.kb_base = if value.is_word("1000") { 1000 } else { 1024 },
            ("bs", OptionValue::Ints(given)) => update_given(&mut self.bs, given),
            ("ba", OptionValue::Ints(given)) => update_given(&mut self.align, given),
            ("bsrange", OptionValue::Ranges(given)) => {
                for (slot, given) in self.bsrange.iter_mut().zip(given) {
                    *slot = given.or(*slot);
                }
            }
            ("bssplit", OptionValue::Text(text)) => {
                let given =
                    number::parse_triple(text, &[','], |part| draw::parse_size_split(part, self.kb_base, notes));
                let given = given
                    .map_err(|expected| OptionError::new("`bssplit` is not understood").with_expected(expected))?;
                for (slot, given) in self.bssplit.iter_mut().zip(given) {
                    *slot = given.or(slot.take());
                }
            }
            ("bs_unaligned", _) => self.unaligned = value.is_on(),
            ("bs_is_seq_rand", _) => self.sizes_by_randomness = value.is_on(),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_randomness(&mut self, name: &str, value: &OptionValue) -> Result<bool, OptionError> {
        match (name, value) {
            ("percentage_random", OptionValue::Ints(given)) => {
                for (slot, given) in self.percentage_random.iter_mut().zip(given) {
                    *slot = given.map_or(*slot, |percent| percent as u8);
                }
            }
            ("random_distribution", OptionValue::Word(word, rest)) => {
                self.distribution = draw::parse_distribution(word, rest.as_deref(), self.kb_base)?;
            }
            ("random_generator", OptionValue::Word(word, _)) => {
                self.generator = match *word {
                    "lfsr" => Generator::Lfsr,
                    "tausworthe64" => Generator::Tausworthe64,
                    _ => Generator::Tausworthe,
                }
            }
            ("norandommap", _) => self.norandommap = value.is_on(),
            ("randrepeat", _) => self.randrepeat = value.is_on(),
            ("randseed", _) => self.randseed = Some(value.as_number()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_zones(&mut self, name: &str, value: &OptionValue) -> Result<bool, OptionError> {
        // The option's type accepts at most 1, so the value fits.
        let millionths = |text: &str| number::parse_millionths(text).map_or(0, |share| share as u32);
        match (name, value) {
            ("zonemode", OptionValue::Word(word, _)) => self.zonemode = Some(word),
            ("zonesize", _) => self.zone_size = value.plain_size()?,
            ("zonerange", _) => self.zone_range = value.plain_size()?,
            ("zoneskip", _) => self.zone_skip = value.nonzero_size().unwrap_or(Amount::Bytes(0)),
            ("zonecapacity", _) => self.zoned.capacity = value.plain_size()?,
            ("read_beyond_wp", _) => self.zoned.read_beyond_wp = value.is_on(),
            ("max_open_zones", _) => self.zoned.max_open_zones = value.as_number() as u32,
            ("job_max_open_zones", _) => self.zoned.job_max_open_zones = value.as_number() as u32,
            ("zone_reset_threshold", OptionValue::Text(text)) => {
                self.zoned.reset_threshold_millionths = millionths(text);
            }
            ("zone_reset_frequency", OptionValue::Text(text)) => {
                self.zoned.reset_frequency_millionths = millionths(text);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Converts sizes in zones to bytes. If the size of a zone is not known, the error is the name of an option that needs it.
    pub(super) fn convert_zones_to_bytes(&mut self) -> Result<(), &'static str> {
        let zone_size = self.zone_size;
        let mut amounts = [
            ("size", self.size.as_mut()),
            ("io_size", self.io_size.as_mut()),
            ("offset", Some(&mut self.offset)),
            ("offset_increment", Some(&mut self.offset_increment)),
            ("zoneskip", Some(&mut self.zone_skip)),
        ];
        for (name, amount) in &mut amounts {
            let Some(amount) = amount else { continue };
            if let Amount::Zones(zones) = **amount {
                let bytes = zones.checked_mul(zone_size).filter(|_| zone_size > 0).ok_or(*name)?;
                **amount = Amount::Bytes(bytes);
            }
        }
        Ok(())
    }

    fn set_engine_and_priorities(
        &mut self,
        name: &str,
        value: &OptionValue,
        notes: &mut Vec<String>,
    ) -> Result<bool, OptionError> {
        match (name, value) {
            ("cmdprio_percentage", OptionValue::Ints(given)) => update_given(&mut self.priority_percent, given),
            ("cmdprio_class", OptionValue::Ints(given)) => update_given(&mut self.priority_class, given),
            ("ioengine", _) => {
                let text = value.as_text();
                let Some(engine) = engines::find_engine(&text) else {
                    let known = engines::ENGINES.iter().map(|engine| engine.name);
                    return Err(
                        OptionError::new(format!("`{text}` is not an I/O engine")).suggest_nearest(&text, known)
                    );
                };
                self.engine = engine.name;
                notes.extend(engine.note.map(str::to_owned));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn set_depth_and_job_groups(&mut self, name: &str, value: &OptionValue) -> bool {
        match name {
            "iodepth" => self.depth.iodepth = value.as_number() as u32,
            "iodepth_low" => self.depth.iodepth_low = value.as_number() as u32,
            "iodepth_batch_complete_min" => self.depth.batch_complete_min = value.as_number() as u32,
            "iodepth_batch_complete_max" => self.depth.batch_complete_max = value.as_number() as u32,
            "serialize_overlap" => self.depth.serialize_overlap = value.is_on(),
            "io_submit_mode" => self.depth.offload = value.is_word("offload"),
            "numjobs" => self.numjobs = value.as_number() as u32,
            "stonewall" => self.grouping.stonewall = value.is_on(),
            "new_group" => self.grouping.new_group = value.is_on(),
            "group_reporting" => self.grouping.group_reporting = value.is_on(),
            _ => return false,
        }
        true
    }

    fn set_caching_and_syncs(&mut self, name: &str, value: &OptionValue) -> bool {
        match name {
            "direct" => self.direct = value.is_on(),
            "invalidate" => self.system.invalidate = value.is_on(),
            "buffered" => self.direct = !value.is_on(),
            "sync" => (self.write_through, self.system.whole_sync) = (!value.is_zero(), !value.is_word("dsync")),
            "writefua" => self.write_through |= value.is_on(),
            "fsync" => self.syncs.fsync = value.as_number() as u32,
            "fdatasync" => self.syncs.fdatasync = value.as_number() as u32,
            "end_fsync" => self.end_fsync = value.is_on(),
            "fsync_on_close" => self.fsync_on_close = value.is_on(),
            _ => return false,
        }
        true
    }

    fn set_verification_and_errors(&mut self, name: &str, value: &OptionValue) -> bool {
        match name {
            "verify" => self.verify.is_on = !value.is_zero(),
            "do_verify" => self.verify.do_verify = value.is_on(),
            "verify_backlog" => self.verify.backlog = value.as_number(),
            "verify_backlog_batch" => self.verify.backlog_batch = value.as_number(),
            "continue_on_error" => self.survives = survived_errors(value),
            _ => return false,
        }
        true
    }

    fn set_times_and_rates(&mut self, name: &str, value: &OptionValue) -> bool {
        match (name, value) {
            ("runtime", _) => self.runtime = value.as_number(),
            ("time_based", _) => self.time_based = value.is_on(),
            ("ramp_time", _) => self.ramp = value.as_number(),
            ("startdelay", OptionValue::TimeRange(low, high)) => self.start_delay = (*low, *high),
            ("loops", _) => self.loops = (value.as_number() as u32).max(1),
            ("thinktime", _) => self.think.time = Span::from_nanos(value.as_number()),
            ("thinktime_spin", _) => self.think.spin = Span::from_nanos(value.as_number()),
            ("thinktime_blocks", _) => self.think.blocks = value.as_number() as u32,
            ("thinktime_blocks_type", _) => self.think.on_issue = value.is_word("issue"),
            ("rate", OptionValue::Ints(given)) => update_given(&mut self.rate, given),
            ("rate_iops", OptionValue::Ints(given)) => update_given(&mut self.rate_iops, given),
            ("rate_process", _) => {
                self.rate_process =
                    if value.is_word("poisson") { ArrivalProcess::Poisson } else { ArrivalProcess::Linear }
            }
            ("flow", _) => self.flow.weight = value.as_number() as u32,
            ("flow_id", _) => self.flow.id = value.as_number() as u32,
            ("flow_sleep", _) => self.flow.sleep_us = value.as_number() as u32,
            ("rate_ignore_thinktime", _) => self.rate_ignore_thinktime = value.is_on(),
            _ => return false,
        }
        true
    }

    /// Sets the directions of `rw` and the number after its colon.
    fn set_direction(&mut self, word: &str, postfix: Option<&str>, notes: &mut Vec<String>) -> Result<(), OptionError> {
        let (random, plain) = match word.strip_prefix("rand") {
            Some(plain) => (true, plain),
            None => (false, word),
        };
        self.random = random;
        self.direction = match plain {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "trim" => Direction::Trim,
            "trimwrite" => Direction::TrimWrite,
            _ => Direction::Mixed,
        };
        self.postfix = None;
        if let Some(text) = postfix {
            let value = number::parse_integer(text, self.kb_base, notes).ok().filter(|value| !random || *value >= 1);
            let expected = if random { "a count from 1 after the colon" } else { "a size after the colon" };
            let wrong = || OptionError::new(format!("`{word}:{text}` is not a value for it")).with_expected(expected);
            self.postfix = Some(value.ok_or_else(wrong)?);
        }
        Ok(())
    }
}

/// Updates the given values and keeps the others.
fn update_given(slots: &mut [u64; 3], given: &[Option<i64>; 3]) {
    for (slot, given) in slots.iter_mut().zip(given) {
        *slot = given.map_or(*slot, i64::unsigned_abs);
    }
}

/// The names between colons; `\:` is a colon in a name.
pub(super) fn split_colon_names(text: &str) -> Result<Vec<String>, OptionError> {
    let mut names = vec![String::new()];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, names.last_mut()) {
            ('\\', Some(name)) if rest.peek() == Some(&':') => name.extend(rest.next()),
            (':', _) => names.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    if names.is_empty() { Err(OptionError::new("no name is given")) } else { Ok(names) }
}

/// The service of `file_service_type`; `None` if the model has no such choice, which matters with several files.
fn parse_file_service(value: &OptionValue) -> Result<Option<FileService>, OptionError> {
    let OptionValue::Word(word, rest) = value else {
        return Ok(None);
    };
    let requests = match rest.as_deref().filter(|_| matches!(*word, "random" | "roundrobin" | "sequential")) {
        Some(text) => text.trim().parse::<u32>().map_err(|_| {
            OptionError::new(format!("`{word}:{text}` is not a value for it"))
                .with_expected("a number of requests after the colon")
        })?,
        None => 1,
    };
    Ok(match *word {
        "sequential" => Some(FileService::Sequential),
        "roundrobin" if requests == 1 => Some(FileService::RoundRobin),
        "random" if requests == 1 => Some(FileService::Random),
        _ => None,
    })
}

impl OptionValue {
    fn as_number(&self) -> u64 {
        match self {
            OptionValue::Int(n) => n.unsigned_abs(),
            OptionValue::Time(ns) => *ns,
            OptionValue::Seed(seed) => *seed,
            _ => 0,
        }
    }

    fn is_on(&self) -> bool {
        *self == OptionValue::Switch(true)
    }

    fn as_text(&self) -> String {
        match self {
            OptionValue::Text(text) => text.clone(),
            _ => String::new(),
        }
    }

    fn is_word(&self, wanted: &str) -> bool {
        matches!(self, OptionValue::Word(word, _) if *word == wanted)
    }

    /// A size; zero counts as none, as in fio.
    fn nonzero_size(&self) -> Option<Amount> {
        match self {
            OptionValue::Size(Amount::Bytes(0)) => None,
            OptionValue::Size(amount) => Some(*amount),
            _ => None,
        }
    }

    fn plain_size(&self) -> Result<u64, OptionError> {
        match self {
            OptionValue::Size(Amount::Bytes(bytes)) => Ok(*bytes),
            OptionValue::Size(Amount::Zones(_)) => {
                Err(OptionError::new("a number of zones is not a value for it").with_expected("a size"))
            }
            _ => Err(OptionError::new("a percentage is not a value for it").with_expected("a size")),
        }
    }

    fn as_range(&self) -> Option<(u64, u64)> {
        match self {
            OptionValue::SizeRange(low, high) => Some((*low, *high)),
            _ => None,
        }
    }
}

/// The number of writes between `sync_file_range` calls: the number after the colon, or 1.
fn parse_file_range_interval(value: &OptionValue) -> Result<u32, OptionError> {
    const EXPECTED: &str =
        "wait_before, write or wait_after, several between commas, and a number of writes after a colon";
    let text = value.as_text();
    let (words, number) = text.split_once(':').unwrap_or((&text, "1"));
    let known = |word: &str| ["wait_before", "write", "wait_after"].contains(&word.trim());
    let number = number.trim().parse().ok().filter(|_| words.split(',').all(known));
    number.ok_or_else(|| OptionError::new(format!("`{text}` is not a value for it")).with_expected(EXPECTED))
}

/// The errors after which a worker continues: those of reads, and those of writes. fio counts trims and flushes with writes.
fn survived_errors(value: &OptionValue) -> [bool; 2] {
    let is_any = |words: &[&str]| words.iter().any(|word| value.is_word(word));
    [is_any(&["read", "io", "all", "1"]), is_any(&["write", "io", "all", "1"])]
}

#[cfg(test)]
#[path = "settings/tests.rs"]
mod tests;
