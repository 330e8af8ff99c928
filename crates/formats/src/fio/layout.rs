//! Lays the files of a job out on the drive: determines the bytes that each worker uses.
//!
//! A raw device is the whole drive. Named files follow one another from the start of the drive, each on a 4 KiB boundary, as on an
//! empty file system without metadata. A name is the same file for all workers. Sizes follow fio's setup of files: `size`,
//! `filesize`, `offset` and their percentages, in the order in which fio applies them.

use std::collections::BTreeMap;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_work::workload::{Direction, Region};

use super::job_file::JobFile;
use super::number::Amount;
use super::settings::FioSettings;

/// Files and slices start at multiples of this many bytes: the block size of common file systems, and the physical sector
/// of drives with 4 KiB sectors.
const ALIGNMENT: u64 = 4096;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// A clone of a job section.
pub(super) struct JobClone {
    /// The index of its section.
    pub(super) section: usize,
    /// fio's subjob number.
    pub(super) number: u32,
    /// 64 random bits of the clone, for values that fio draws before the run (delays, sizes of files).
    pub(super) draw: u64,
    pub(super) stage: u32,
    pub(super) group_id: u32,
    pub(super) group: u32,
}

/// The bytes of the drive that a worker uses.
#[derive(Clone, Debug)]
pub(super) struct WorkerLayout {
    /// The part of each file in use.
    pub(super) files: Vec<Region>,
    /// The whole extents of the same files.
    pub(super) whole_files: Vec<Region>,
    pub(super) names: Vec<String>,
    /// Bytes of one pass.
    pub(super) bytes: u64,
    /// Bytes at the ends of the parts that are not used because they do not fill a zone.
    pub(super) cut_bytes: u64,
}

/// A file or device by its name.
struct FileTarget {
    name: String,
    is_device: bool,
    /// Bytes of a device, or of a file as far as known.
    bytes: u64,
    /// First byte on the drive.
    start: u64,
    /// The index of the section that determines its size.
    sizing_section: usize,
}

/// The part of a target that a worker uses.
struct TargetPart {
    /// The index of the target.
    target: usize,
    offset: u64,
    bytes: u64,
}

/// Parts of targets before placement.
struct PlannedParts {
    parts: Vec<TargetPart>,
    /// Bytes of one pass.
    bytes: u64,
    cut_bytes: u64,
}

/// Option and reason.
type Refusal = (&'static str, String);

/// The layout of each clone on a drive of `drive_bytes`; `None` after an error.
pub(super) fn lay_out(
    file: &JobFile,
    clones: &[JobClone],
    drive_bytes: u64,
    warnings: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Option<WorkerLayout>> {
    let mut targets = Vec::new();
    let mut index_of_name = BTreeMap::new();
    let used_targets: Vec<Vec<usize>> =
        clones.iter().map(|clone| register_targets(file, clone, &mut targets, &mut index_of_name)).collect();
    slice_devices(file, &mut targets, drive_bytes, warnings);
    let mut plans = Vec::new();
    let mut has_error = vec![false; file.sections.len()];
    for (clone, used) in clones.iter().zip(&used_targets) {
        let settings = &file.sections[clone.section].settings;
        match plan_parts(settings, clone, used, &mut targets, drive_bytes) {
            Ok(plan) => plans.push(Some(plan)),
            Err((key, message)) => {
                if !std::mem::replace(&mut has_error[clone.section], true) {
                    errors.push(file.diagnostic_at(clone.section, key, message));
                }
                plans.push(None);
            }
        }
    }
    place_files(file, &mut targets, drive_bytes, errors);
    let part_region = |part: &TargetPart| Region { start: targets[part.target].start + part.offset, bytes: part.bytes };
    let whole_region =
        |part: &TargetPart| Region { start: targets[part.target].start, bytes: targets[part.target].bytes };
    let layout = |plan: PlannedParts| WorkerLayout {
        files: plan.parts.iter().map(part_region).collect(),
        whole_files: plan.parts.iter().map(whole_region).collect(),
        names: plan.parts.iter().map(|part| targets[part.target].name.clone()).collect(),
        bytes: plan.bytes,
        cut_bytes: plan.cut_bytes,
    };
    plans.into_iter().map(|plan| plan.map(layout)).collect()
}

/// Adds the targets of a clone to the table unless they are there, and returns their indices.
fn register_targets(
    file: &JobFile,
    clone: &JobClone,
    targets: &mut Vec<FileTarget>,
    index_of_name: &mut BTreeMap<String, usize>,
) -> Vec<usize> {
    let section = &file.sections[clone.section];
    let register = |name: String| {
        *index_of_name.entry(name.clone()).or_insert_with(|| {
            let is_device = is_device_name(&name);
            targets.push(FileTarget { name, is_device, bytes: 0, start: 0, sizing_section: clone.section });
            targets.len() - 1
        })
    };
    file_names(&section.settings, &section.header, clone.number).into_iter().map(register).collect()
}

/// The names of a clone's files: `filename`, or made from `filename_format`.
fn file_names(settings: &FioSettings, section_header: &str, clone_number: u32) -> Vec<String> {
    let directory = match settings.directories.as_slice() {
        [] => None,
        all => all.get(clone_number as usize % all.len()),
    };
    let in_directory = |name: String| match directory {
        Some(directory) if !is_device_name(&name) => format!("{directory}/{name}"),
        _ => name,
    };
    if !settings.filenames.is_empty() {
        return settings.filenames.iter().cloned().map(in_directory).collect();
    }
    if settings.nrfiles == 1 && is_device_name(section_header) {
        return vec![section_header.to_owned()];
    }
    let format = match settings.filename_format.as_str() {
        "" => "$jobname.$jobnum.$filenum",
        format => format,
    };
    let name = |filenum: u64| {
        let name = format.replace("$filenum", &filenum.to_string()).replace("$jobnum", &clone_number.to_string());
        in_directory(name.replace("$clientuid", "localhost").replace("$jobname", section_header))
    };
    (0..settings.nrfiles).map(name).collect()
}

/// True if a name is that of a raw device.
fn is_device_name(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/") || name.starts_with("\\\\.\\")
}

/// Gives each device its bytes: the drive, or an equal slice if there are several names for the one drive.
fn slice_devices(file: &JobFile, targets: &mut [FileTarget], drive_bytes: u64, warnings: &mut Vec<Diagnostic>) {
    let devices = targets.iter().filter(|target| target.is_device).count() as u64;
    if devices == 0 {
        return;
    }
    let slice = if devices == 1 { drive_bytes } else { drive_bytes / devices / ALIGNMENT * ALIGNMENT };
    for (number, target) in targets.iter_mut().filter(|target| target.is_device).enumerate() {
        (target.bytes, target.start) = (slice, slice * number as u64);
    }
    let warning = |message| Diagnostic::at(&file.file, 0, message).with_key("filename");
    if devices > 1 {
        warnings.push(warning(format!("{devices} devices on one drive: each gets a slice of {slice} bytes, in order")));
    }
    if devices < targets.len() as u64 {
        warnings.push(warning("the drive is used both raw and for files; they overlap".to_owned()));
    }
}

/// Plans the parts and bytes of one clone, as fio computes them. Files grow as needed.
fn plan_parts(
    settings: &FioSettings,
    clone: &JobClone,
    used_targets: &[usize],
    targets: &mut [FileTarget],
    drive_bytes: u64,
) -> Result<PlannedParts, Refusal> {
    let block = settings.least_block();
    let stated_size = match settings.size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => 0,
    };
    if stated_size > 0 && stated_size < block {
        return Err(("size", format!("{stated_size} bytes are less than the smallest block of {block}")));
    }
    let exists = used_targets.iter().any(|&target| targets[target].bytes > 0);
    let has_no_size = stated_size == 0 && !exists && settings.filesize.is_none();
    if has_no_size && !settings.fill_device {
        return Err(("size", "the job needs a size: its files do not exist and nothing says how long they are".into()));
    }
    let size = if has_no_size { drive_bytes } else { stated_size };
    let count = used_targets.len() as u64;
    // The first files get the blocks that remain after an equal division.
    let (equal_share, mut extra_blocks) = (size / count, size % count / block);
    let mut plan = PlannedParts { parts: Vec::with_capacity(used_targets.len()), bytes: 0, cut_bytes: 0 };
    let mut total = 0u64;
    for (number, &target) in used_targets.iter().enumerate() {
        let extra = if extra_blocks > 0 { block } else { 0 };
        extra_blocks = extra_blocks.saturating_sub(1);
        let existing_bytes = targets[target].bytes;
        let part = file_part(settings, clone, number as u64, existing_bytes, equal_share + extra)?;
        let FilePart { offset, bytes } = part;
        let end = offset.checked_add(bytes).filter(|end| *end <= drive_bytes);
        let Some(end) = end.filter(|end| !targets[target].is_device || *end <= existing_bytes) else {
            return Err(("size", too_large_message(&targets[target], &part, drive_bytes)));
        };
        if end > targets[target].bytes {
            (targets[target].bytes, targets[target].sizing_section) = (end, clone.section);
        }
        total = total.saturating_add(match settings.io_size {
            Some(Amount::Percent(percent)) => percent_of(bytes, percent),
            _ => bytes,
        });
        let cut_bytes = partial_zone_bytes(settings, offset, bytes)?;
        plan.cut_bytes += cut_bytes;
        plan.parts.push(TargetPart { target, offset, bytes: (bytes - cut_bytes) / SECTOR * SECTOR });
    }
    let pass_bytes = if size == 0 || total > 0 && size > total { total } else { size };
    if pass_bytes < block {
        return Err(("bs", format!("blocks of {block} bytes are larger than the {pass_bytes} bytes there are")));
    }
    plan.bytes = match settings.io_size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => pass_bytes,
    };
    Ok(plan)
}

/// Bytes at the end of a part that do not fill a zone: with `zonemode=zbd` fio uses whole zones, except for sequential reads.
fn partial_zone_bytes(settings: &FioSettings, offset: u64, bytes: u64) -> Result<u64, Refusal> {
    let zone = settings.zone_size;
    if settings.zonemode != Some("zbd") || zone == 0 {
        return Ok(0);
    }
    if !offset.is_multiple_of(zone) {
        return Err(("offset", format!("byte {offset} is not the first of a zone of {zone} bytes")));
    }
    match settings.direction {
        Direction::Read if !settings.random => Ok(0),
        _ if bytes < zone => Err(("size", format!("{bytes} bytes are less than a zone of {zone}"))),
        _ => Ok(bytes % zone),
    }
}

/// `percent` of `bytes`.
fn percent_of(bytes: u64, percent: u64) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

fn too_large_message(target: &FileTarget, part: &FilePart, drive_bytes: u64) -> String {
    let place = if part.offset > 0 { format!(" from byte {}", part.offset) } else { String::new() };
    let have = if target.is_device && target.bytes < drive_bytes { "its slice has" } else { "there are" };
    let limit = if target.is_device { target.bytes } else { drive_bytes };
    format!("{} asks for {} bytes{place}, and {have} {limit}", target.name, part.bytes)
}

/// The part of one file that a clone uses.
struct FilePart {
    offset: u64,
    bytes: u64,
}

/// The part of one file that a clone uses. The file has `existing_bytes` so far; `share_bytes` is its share of `size`.
fn file_part(
    settings: &FioSettings,
    clone: &JobClone,
    file_number: u64,
    existing_bytes: u64,
    share_bytes: u64,
) -> Result<FilePart, Refusal> {
    let offset = start_offset(settings, clone, existing_bytes)?;
    if offset % SECTOR != 0 {
        return Err(("offset", format!("byte {offset} is not the first of a sector of {SECTOR}")));
    }
    let bytes_after_offset = |file_bytes: u64| {
        let message = || ("offset", format!("the job begins at byte {offset} of a file of {file_bytes}"));
        file_bytes.checked_sub(offset).filter(|bytes| *bytes > 0).ok_or_else(message)
    };
    let mut bytes = match settings.filesize {
        None if share_bytes > 0 => share_bytes,
        None => bytes_after_offset(existing_bytes)?,
        Some((low, high)) if (low..=high).contains(&existing_bytes) => bytes_after_offset(existing_bytes)?,
        Some((low, high)) => bytes_after_offset(draw_file_bytes(settings, clone, file_number, low, high))?,
    };
    if let Some(Amount::Percent(percent)) = settings.size.filter(|size| *size != Amount::Percent(100)) {
        bytes = percent_of(offset.saturating_add(bytes), percent).min(bytes);
        bytes -= bytes % settings.least_block();
    }
    if bytes < settings.least_block() {
        return Err(("size", format!("a file of {bytes} bytes is less than a block of {}", settings.least_block())));
    }
    Ok(FilePart { offset, bytes })
}

/// The byte at which a clone starts in a file of `file_bytes`.
fn start_offset(settings: &FioSettings, clone: &JobClone, file_bytes: u64) -> Result<u64, Refusal> {
    let in_bytes = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => percent_of(file_bytes, percent),
        Amount::Zones(_) => unreachable!("zones were converted to bytes"),
    };
    let is_percentage = |amount: Amount| matches!(amount, Amount::Percent(1..));
    let increment = in_bytes(settings.offset_increment).checked_mul(u64::from(clone.number));
    let offset = increment.and_then(|increment| increment.checked_add(in_bytes(settings.offset)));
    let offset = offset.ok_or_else(|| ("offset_increment", "the offset has no value".to_owned()))?;
    if is_percentage(settings.offset) || is_percentage(settings.offset_increment) {
        let unit = settings.offset_align.filter(|unit| *unit > 0).unwrap_or(settings.least_block());
        let offset = offset.checked_next_multiple_of(unit);
        return offset.ok_or_else(|| ("offset", "the offset has no value".to_owned()));
    }
    Ok(offset)
}

/// Draws the size of a file between `low` and `high`, in whole smallest blocks.
fn draw_file_bytes(settings: &FioSettings, clone: &JobClone, file_number: u64, low: u64, high: u64) -> u64 {
    if low == high {
        return low;
    }
    let drawn = mix_bits(clone.draw ^ file_number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let bytes = low + ((u128::from(drawn) * u128::from(high - low + 1)) >> 64) as u64;
    let least = settings.least_block();
    (bytes - bytes % least).max(low)
}

/// The finaliser of SplitMix64: 64 well-mixed bits of a seed (Steele, Lea, Flood, 2014).
pub(super) fn mix_bits(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Places the files one after another; it is an error if they do not fit on the drive.
fn place_files(file: &JobFile, targets: &mut [FileTarget], drive_bytes: u64, errors: &mut Vec<Diagnostic>) {
    let mut next = 0u64;
    let mut section_beyond_end = None;
    for target in targets.iter_mut().filter(|target| !target.is_device) {
        target.start = next;
        next = next.saturating_add(target.bytes).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if next > drive_bytes && section_beyond_end.is_none() {
            section_beyond_end = Some(target.sizing_section);
        }
    }
    if let Some(section) = section_beyond_end {
        let files = targets.iter().filter(|target| !target.is_device).count();
        let message = format!("{files} files take {next} bytes together, and there are {drive_bytes}");
        errors.push(file.diagnostic_at(section, "size", message));
    }
}

impl FioSettings {
    /// The smallest block of any direction, in bytes.
    pub(super) fn least_block(&self) -> u64 {
        (0..3).map(|direction| self.least_block_of(direction)).min().unwrap_or(1)
    }

    /// The smallest block of one direction (0 read, 1 write, 2 trim), in bytes.
    pub(super) fn least_block_of(&self, direction: usize) -> u64 {
        match (&self.bssplit[direction], self.bsrange[direction]) {
            (Some(split), _) => split.iter().map(|(size, _)| *size).min().unwrap_or(1),
            (None, Some((low, _))) => low,
            (None, None) => self.bs[direction],
        }
    }
}
