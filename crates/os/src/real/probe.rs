//! Judges whether a block device may be written: not while the system uses it, and only if the user gave one of its
//! names. There is no prompt, which could be answered by habit.
//!
//! The kernel decides whether a device is in use (`in_use`, an exclusive opening). Its first and last bytes
//! (`formats/signature`) show what would be lost; the bytes between are never read, so a device that has such is never
//! called empty. While judged, the device is opened for reading alone. A writer then claims it: `claim` opens it for us
//! alone and judges it again.

#![expect(clippy::disallowed_methods, reason = "probes a device, read only")]

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use seekwise_formats::signature::{DiskEnds, HEAD_BYTES, Signature, TAIL_BYTES, find_signatures, is_blank};

use crate::system::in_use;
use crate::system::{BlockDevice, DeviceNumber, SystemRoot};

/// Findings about a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProbeResult {
    /// Path, with links followed.
    pub path: PathBuf,
    /// Names that the device keeps: serial number, world-wide name. Without any, its path is its name.
    pub names: Vec<String>,
    /// Present uses by the system, a phrase each.
    pub uses: Vec<String>,
    /// Signatures in its bytes.
    pub signatures: Vec<Signature>,
    /// Other content of its ends.
    pub ends: EndsContent,
}

/// Content of a device's ends besides signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EndsContent {
    /// Other bytes than zeroes (or than ones, as erased flash has).
    Data,
    /// Blank, and nothing lies between them: all of it was read.
    Empty,
    /// Blank. The bytes between them were not read.
    EmptyEnds,
    /// Part of them, or all, could not be read.
    Unread(String),
}

/// Checks whether the file or block device at `path` may be written; the error says why not. `destroyed_name` is the
/// name by which the user agreed to that. A regular file or a folder may: the caller decides what is written there.
pub fn may_write(path: &Path, destroyed_name: Option<&str>) -> Result<(), String> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    if meta.is_file() || meta.is_dir() {
        return Ok(());
    }
    let result = probe_path(path, &SystemRoot::this_machine()).map_err(|error| format!("{shown}: {error}"))?;
    result.check_write(destroyed_name).map_err(|why| format!("{shown}: {why}"))
}

/// Checks whether a block device that is open exclusively may be written, through that opening.
pub(super) fn check_open_device(file: &File, path: &Path, destroyed_name: Option<&str>) -> Result<(), String> {
    let shown = path.display();
    let describe = |error: io::Error| format!("{shown}: {error}");
    let meta = file.metadata().map_err(describe)?;
    let result = probe_number(path, DeviceNumber::new(meta.rdev()), &SystemRoot::this_machine(), |_| read_ends(file))
        .map_err(describe)?;
    result.check_write(destroyed_name).map_err(|why| format!("{shown}: {why}"))
}

/// Probes the block device at a path.
fn probe_path(path: &Path, system: &SystemRoot) -> io::Result<ProbeResult> {
    let no_device = || io::Error::other("is no block device, regular file or folder");
    let path = std::fs::canonicalize(path)?;
    let number = system.device_number(&path)?.ok_or_else(no_device)?;
    probe_number(&path, number, system, |uses| match open_exclusive(&path, uses) {
        Ok(file) => read_ends(&file),
        Err(error) => (Vec::new(), EndsContent::Unread(format!("it cannot be read ({error})"))),
    })
}

/// Probes the block device of a number; `read` reads its ends, and may add a use.
fn probe_number(
    path: &Path,
    number: DeviceNumber,
    system: &SystemRoot,
    read: impl FnOnce(&mut Vec<String>) -> (Vec<Signature>, EndsContent),
) -> io::Result<ProbeResult> {
    let node =
        system.find_device(number).ok_or_else(|| io::Error::other("the kernel does not tell what it is (/sys)"))?;
    let mut uses = in_use::describe_device_uses(&node, system);
    if node.read_attribute("ro").is_some_and(|word| word != "0") {
        uses.push(format!("{} can only be read", node.name));
    }
    let (signatures, ends) = read(&mut uses);
    Ok(ProbeResult { names: device_names(&node), path: path.to_owned(), uses, signatures, ends })
}

impl ProbeResult {
    /// Checks whether the device may be written, if the user agreed by `destroyed_name`; the error says why not.
    fn check_write(&self, destroyed_name: Option<&str>) -> Result<(), String> {
        let name = self.destroy_name();
        if !self.uses.is_empty() {
            return Err(format!(
                "{}; expected a device that nothing uses, whatever --destroy names",
                self.uses.join(", ")
            ));
        }
        if let Some(named) = destroyed_name {
            let is_it = self.names.iter().any(|name| name == named) || self.names.is_empty() && named == name;
            return match is_it {
                true => Ok(()),
                false => Err(format!("--destroy {named} names another device; this one is {name} ({self})")),
            };
        }
        Err(format!("{self}; expected --destroy {name} where all that is on it may go"))
    }

    /// The name that --destroy takes.
    pub(crate) fn destroy_name(&self) -> String {
        self.names.first().cloned().unwrap_or_else(|| self.path.display().to_string())
    }
}

impl fmt::Display for ProbeResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut phrases: Vec<String> = self.uses.clone();
        phrases.extend(self.signatures.iter().map(|it| format!("it holds {} (at byte {})", it.name, it.at)));
        match &self.ends {
            EndsContent::Data if !self.signatures.is_empty() => {}
            EndsContent::Data => phrases.push("it holds data of no known kind".to_owned()),
            EndsContent::Empty => phrases.push("it is empty".to_owned()),
            EndsContent::EmptyEnds => phrases.push(format!(
                "its first {} MiB and last {} MiB are empty, what lies between was not read",
                HEAD_BYTES >> 20,
                TAIL_BYTES >> 20
            )),
            EndsContent::Unread(why) => phrases.push(format!("{why}, so nobody knows what it holds")),
        }
        if self.names.is_empty() {
            phrases.push("it has no serial number or world-wide name".to_owned());
        }
        f.write_str(&phrases.join(", "))
    }
}

/// Opens a device for reading, exclusively if possible. The kernel refuses that while the device is in use, which is
/// added to `uses`.
fn open_exclusive(path: &Path, uses: &mut Vec<String>) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    match options.clone().custom_flags(OFlags::EXCL.bits() as i32).open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
            if uses.is_empty() {
                uses.push("it is in use by the kernel or another program".to_owned());
            }
            options.open(path)
        }
        opened => opened,
    }
}

/// Reads both ends of a device. Returns the signatures there, and the other content.
fn read_ends(file: &File) -> (Vec<Signature>, EndsContent) {
    let bytes = match rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)) {
        Ok(bytes) => bytes,
        Err(error) => return (Vec::new(), EndsContent::Unread(format!("its length is not known ({error})"))),
    };
    let buffer = |max_bytes: usize| vec![0; (bytes.min(max_bytes as u64)) as usize];
    let (mut head, mut tail) = (buffer(HEAD_BYTES), buffer(TAIL_BYTES));
    let tail_offset = bytes - tail.len() as u64;
    let unread =
        [("first", &mut head, 0), ("last", &mut tail, tail_offset)].into_iter().filter_map(|(which, end, offset)| {
            let error = file.read_exact_at(end, offset).err()?;
            // A failed read leaves bytes that are not the disk's.
            end.fill(0);
            Some(format!("its {which} {} KiB cannot be read ({error})", end.len() >> 10))
        });
    let unread: Vec<String> = unread.collect();
    let ends = DiskEnds { head: &head, tail: &tail, bytes };
    let content = match () {
        () if !unread.is_empty() => EndsContent::Unread(unread.join(", ")),
        () if !is_blank(ends) => EndsContent::Data,
        () if bytes <= (head.len() + tail.len()) as u64 => EndsContent::Empty,
        () => EndsContent::EmptyEnds,
    };
    (find_signatures(ends), content)
}

/// Returns the names that a device keeps, serial numbers first. A partition's names end with its number, as udev makes
/// them.
fn device_names(node: &BlockDevice) -> Vec<String> {
    let suffix = node.partition_number().map_or(String::new(), |part| format!("-part{part}"));
    let is_meaningful = |name: &String| name.chars().any(|c| c.is_alphanumeric() && c != '0');
    let mut names: Vec<String> =
        ["serial", "device/serial"].iter().filter_map(|word| node.read_attribute(word)).collect();
    names.extend(node.attribute_bytes("device/vpd_pg80").as_deref().and_then(parse_unit_serial));
    names.extend(["wwid", "device/wwid", "device/cid", "dm/uuid"].iter().filter_map(|word| node.read_attribute(word)));
    names.retain(is_meaningful);
    names.dedup();
    names.into_iter().map(|name| name + &suffix).collect()
}

/// Parses SCSI's page of the unit's serial number (SPC, 80h): four bytes of head, then as many as the last two of them
/// say.
fn parse_unit_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..4 + length.min(page.len() - 4))?;
    let text = String::from_utf8_lossy(text).trim_matches(['\0', ' ']).to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
#[path = "probe/tests.rs"]
mod tests;
