//! The layout of files on the drive: which bytes the files of each worker use.
//!
//! Raw devices are the whole drive. Named files follow one another from its start, each on a 4 KiB boundary, as
//! on an empty file system without metadata; a name is the same file for all workers.
//! Source: fio's setup of files (`size`, `filesize`, `offset` and their percentages, in the order in which fio applies them).

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
    pub(super) section: usize,
    /// fio's subjob number.
    pub(super) number: u32,
    /// 64 random bits of the clone, for what fio draws before the run (delays, sizes of files).
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
    /// The whole files, and their names.
    pub(super) wholes: Vec<Region>,
    /// See [`WorkerLayout::wholes`].
    pub(super) names: Vec<String>,
    /// Bytes of one pass.
    pub(super) bytes: u64,
    /// Bytes of the parts that are left over because they are no whole zones.
    pub(super) cut: u64,
}

/// A file or device by its name.
struct FileTarget {
    name: String,
    device: bool,
    /// Bytes of a device, or of a file as far as known.
    bytes: u64,
    /// First byte on the drive.
    start: u64,
    /// The section that determines its size.
    by: usize,
}

/// Parts of targets before placement.
struct PlannedParts {
    /// Target, offset, bytes.
    parts: Vec<(usize, u64, u64)>,
    bytes: u64,
    cut: u64,
}

/// Option and reason.
type Refusal = (&'static str, String);

/// The plan of each clone; `None` after an error.
pub(super) fn lay_out(
    file: &JobFile,
    clones: &[JobClone],
    drive: u64,
    warnings: &mut Vec<Diagnostic>,
    errors: &mut Vec<Diagnostic>,
) -> Vec<Option<WorkerLayout>> {
    let mut targets = Vec::new();
    let mut index = BTreeMap::new();
    let used: Vec<Vec<usize>> =
        clones.iter().map(|clone| enter_targets(file, clone, &mut targets, &mut index)).collect();
    slice_devices(file, &mut targets, drive, warnings);
    let mut sized = Vec::new();
    let mut reported = vec![false; file.sections.len()];
    for (clone, used) in clones.iter().zip(&used) {
        let settings = &file.sections[clone.section].settings;
        match plan_parts(settings, clone, used, &mut targets, drive) {
            Ok(plan) => sized.push(Some(plan)),
            Err((key, message)) => {
                if !std::mem::replace(&mut reported[clone.section], true) {
                    errors.push(file.diagnostic_at(clone.section, key, message));
                }
                sized.push(None);
            }
        }
    }
    place_files(file, &mut targets, drive, errors);
    let region = |&(target, offset, bytes): &(usize, u64, u64)| Region { start: targets[target].start + offset, bytes };
    let whole =
        |&(target, ..): &(usize, u64, u64)| Region { start: targets[target].start, bytes: targets[target].bytes };
    let plan = |sized: PlannedParts| WorkerLayout {
        files: sized.parts.iter().map(region).collect(),
        wholes: sized.parts.iter().map(whole).collect(),
        names: sized.parts.iter().map(|part| targets[part.0].name.clone()).collect(),
        bytes: sized.bytes,
        cut: sized.cut,
    };
    sized.into_iter().map(|sized| sized.map(plan)).collect()
}

/// The targets of a clone, entered in the table on first use.
fn enter_targets(
    file: &JobFile,
    clone: &JobClone,
    targets: &mut Vec<FileTarget>,
    index: &mut BTreeMap<String, usize>,
) -> Vec<usize> {
    let section = &file.sections[clone.section];
    let enter = |name: String| {
        *index.entry(name.clone()).or_insert_with(|| {
            let device = is_device(&name);
            targets.push(FileTarget { name, device, bytes: 0, start: 0, by: clone.section });
            targets.len() - 1
        })
    };
    file_names(&section.settings, &section.header, clone.number).into_iter().map(enter).collect()
}

/// The names of a clone's files: `filename`, or made from `filename_format`.
fn file_names(settings: &FioSettings, header: &str, number: u32) -> Vec<String> {
    let directory = match settings.directories.as_slice() {
        [] => None,
        all => all.get(number as usize % all.len()),
    };
    let within = |name: String| match directory {
        Some(directory) if !is_device(&name) => format!("{directory}/{name}"),
        _ => name,
    };
    if !settings.filenames.is_empty() {
        return settings.filenames.iter().cloned().map(within).collect();
    }
    if settings.nrfiles == 1 && is_device(header) {
        return vec![header.to_owned()];
    }
    let format = match settings.filename_format.as_str() {
        "" => "$jobname.$jobnum.$filenum",
        format => format,
    };
    let name = |filenum: u64| {
        let name = format.replace("$filenum", &filenum.to_string()).replace("$jobnum", &number.to_string());
        within(name.replace("$clientuid", "localhost").replace("$jobname", header))
    };
    (0..settings.nrfiles).map(name).collect()
}

/// Whether a name is that of a raw device.
fn is_device(name: &str) -> bool {
    name.starts_with("/dev/") && !name.starts_with("/dev/shm/") || name.starts_with("\\\\.\\")
}

/// Gives each device its bytes: the drive, or an equal slice when there are several names for the one drive.
fn slice_devices(file: &JobFile, targets: &mut [FileTarget], drive: u64, warnings: &mut Vec<Diagnostic>) {
    let devices = targets.iter().filter(|target| target.device).count() as u64;
    if devices == 0 {
        return;
    }
    let slice = if devices == 1 { drive } else { drive / devices / ALIGNMENT * ALIGNMENT };
    for (number, target) in targets.iter_mut().filter(|target| target.device).enumerate() {
        (target.bytes, target.start) = (slice, slice * number as u64);
    }
    let about = |message| Diagnostic::at(&file.file, 0, message).with_key("filename");
    if devices > 1 {
        warnings.push(about(format!("{devices} devices on one drive: each gets a slice of {slice} bytes, in order")));
    }
    if devices < targets.len() as u64 {
        warnings.push(about("the drive is used both raw and for files; they overlap".to_owned()));
    }
}

/// Parts and bytes of one clone, as fio computes them. Files grow as needed.
fn plan_parts(
    settings: &FioSettings,
    clone: &JobClone,
    used: &[usize],
    targets: &mut [FileTarget],
    drive: u64,
) -> Result<PlannedParts, Refusal> {
    let least = settings.least_block();
    let asked = match settings.size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => 0,
    };
    if asked > 0 && asked < least {
        return Err(("size", format!("{asked} bytes are less than the smallest block of {least}")));
    }
    let exists = used.iter().any(|&target| targets[target].bytes > 0);
    let fills = asked == 0 && !exists && settings.fill_device && settings.filesize.is_none();
    if asked == 0 && settings.filesize.is_none() && !exists && !fills {
        return Err(("size", "the job needs a size: its files do not exist and nothing says how long they are".into()));
    }
    let asked = if fills { drive } else { asked };
    let count = used.len() as u64;
    let (each, mut extra) = (asked / count, asked % count / least);
    let mut sized = PlannedParts { parts: Vec::with_capacity(used.len()), bytes: 0, cut: 0 };
    let mut total = 0u64;
    for (number, &target) in used.iter().enumerate() {
        let larger = if extra > 0 { least } else { 0 };
        extra = extra.saturating_sub(1);
        let real = targets[target].bytes;
        let (offset, bytes) = file_part(settings, clone, number as u64, real, each + larger)?;
        let end = offset.checked_add(bytes).filter(|end| *end <= drive);
        let Some(end) = end.filter(|end| !targets[target].device || *end <= real) else {
            return Err(("size", too_large_message(&targets[target], offset, bytes, drive)));
        };
        if end > targets[target].bytes {
            (targets[target].bytes, targets[target].by) = (end, clone.section);
        }
        total = total.saturating_add(match settings.io_size {
            Some(Amount::Percent(percent)) => percent_of(bytes, percent),
            _ => bytes,
        });
        let cut = partial_zone_bytes(settings, offset, bytes)?;
        sized.cut += cut;
        sized.parts.push((target, offset, (bytes - cut) / SECTOR * SECTOR));
    }
    let all = if asked == 0 || total > 0 && asked > total { total } else { asked };
    if all < least {
        return Err(("bs", format!("blocks of {least} bytes are larger than the {all} bytes there are")));
    }
    sized.bytes = match settings.io_size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => all,
    };
    Ok(sized)
}

/// Bytes at the end of a part that do not fill a zone: with `zonemode=zbd` fio uses whole zones, except for sequential reads.
fn partial_zone_bytes(settings: &FioSettings, offset: u64, bytes: u64) -> Result<u64, Refusal> {
    let zone = settings.zones[0];
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

fn too_large_message(target: &FileTarget, offset: u64, bytes: u64, drive: u64) -> String {
    let place = if offset > 0 { format!(" from byte {offset}") } else { String::new() };
    let have = if target.device && target.bytes < drive { "its slice has" } else { "there are" };
    let limit = if target.device { target.bytes } else { drive };
    format!("{} asks for {bytes} bytes{place}, and {have} {limit}", target.name)
}

/// Offset and bytes of one file that has `real` bytes so far; `each` is its share of `size`.
fn file_part(
    settings: &FioSettings,
    clone: &JobClone,
    number: u64,
    real: u64,
    each: u64,
) -> Result<(u64, u64), Refusal> {
    let offset = start_offset(settings, clone, real)?;
    if offset % SECTOR != 0 {
        return Err(("offset", format!("byte {offset} is not the first of a sector of {SECTOR}")));
    }
    let beyond = |end: u64| ("offset", format!("the job begins at byte {offset} of a file of {end}"));
    let rest = |end: u64| end.checked_sub(offset).filter(|bytes| *bytes > 0).ok_or_else(|| beyond(end));
    let mut bytes = match settings.filesize {
        None if each > 0 => each,
        None => rest(real)?,
        Some((low, high)) if (low..=high).contains(&real) => rest(real)?,
        Some((low, high)) => rest(file_size(settings, clone, number, low, high))?,
    };
    if let Some(Amount::Percent(percent)) = settings.size.filter(|size| *size != Amount::Percent(100)) {
        bytes = percent_of(offset.saturating_add(bytes), percent).min(bytes);
        bytes -= bytes % settings.least_block();
    }
    if bytes < settings.least_block() {
        return Err(("size", format!("a file of {bytes} bytes is less than a block of {}", settings.least_block())));
    }
    Ok((offset, bytes))
}

/// Where a clone starts in a file of `real` bytes.
fn start_offset(settings: &FioSettings, clone: &JobClone, real: u64) -> Result<u64, Refusal> {
    let of = |amount: Amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => percent_of(real, percent),
        Amount::Zones(_) => unreachable!("they were made bytes"),
    };
    let percent = |amount: Amount| matches!(amount, Amount::Percent(1..));
    let increment = of(settings.offset_increment).checked_mul(u64::from(clone.number));
    let offset = increment.and_then(|increment| increment.checked_add(of(settings.offset)));
    let offset = offset.ok_or_else(|| ("offset_increment", "the offset has no value".to_owned()))?;
    if percent(settings.offset) || percent(settings.offset_increment) {
        let unit = settings.offset_align.filter(|unit| *unit > 0).unwrap_or(settings.least_block());
        let offset = offset.checked_next_multiple_of(unit);
        return offset.ok_or_else(|| ("offset", "the offset has no value".to_owned()));
    }
    Ok(offset)
}

/// A size between the two, whole smallest blocks, drawn by the clone for each file.
fn file_size(settings: &FioSettings, clone: &JobClone, number: u64, low: u64, high: u64) -> u64 {
    if low == high {
        return low;
    }
    let drawn = mix(clone.draw ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let bytes = low + ((u128::from(drawn) * u128::from(high - low + 1)) >> 64) as u64;
    let least = settings.least_block();
    (bytes - bytes % least).max(low)
}

/// The finaliser of SplitMix64: 64 well-mixed bits of a seed (Steele, Lea, Flood, 2014).
pub(super) fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Places the files one after another, and reports if the drive is full.
fn place_files(file: &JobFile, targets: &mut [FileTarget], drive: u64, errors: &mut Vec<Diagnostic>) {
    let mut next = 0u64;
    let mut full = None;
    for target in targets.iter_mut().filter(|target| !target.device) {
        target.start = next;
        next = next.saturating_add(target.bytes).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if next > drive && full.is_none() {
            full = Some(target.by);
        }
    }
    if let Some(section) = full {
        let files = targets.iter().filter(|target| !target.device).count();
        let message = format!("{files} files take {next} bytes together, and there are {drive}");
        errors.push(file.diagnostic_at(section, "size", message));
    }
}

impl FioSettings {
    /// The smallest block of any direction.
    pub(super) fn least_block(&self) -> u64 {
        (0..3).map(|direction| self.least_block_of(direction)).min().unwrap_or(1)
    }

    /// The smallest block of one direction.
    pub(super) fn least_block_of(&self, direction: usize) -> u64 {
        match (&self.bssplit[direction], self.bsrange[direction]) {
            (Some(split), _) => split.iter().map(|(size, _)| *size).min().unwrap_or(1),
            (None, Some((low, _))) => low,
            (None, None) => self.bs[direction],
        }
    }
}
