//! Whether a block device may be written: not while the system uses it, and only by name ([`names`](Found::names)) where
//! anything is on it or where nothing identifies it. There is no question that could be answered by habit.
//!
//! It is judged by what the kernel says (mounts, swap, devices made of it, an exclusive opening) and by its first and last
//! bytes (`formats/signature`). While judging it is opened for reading alone. Whoever then writes opens it exclusively: what
//! is mounted in between is found there.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use seekwise_formats::signature::{Ends, HEAD, Signature, TAIL, is_blank, signatures};

use super::system::{Node, Number, System};

/// What was found of a block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path, links followed.
    pub path: PathBuf,
    /// Its names that stay with it: serial number, world-wide name. With none, its path is its name.
    pub names: Vec<String>,
    /// How the system uses it now, a phrase each.
    pub used: Vec<String>,
    /// What its bytes say it is used for.
    pub signatures: Vec<Signature>,
    /// There are other bytes than zeroes at its ends.
    pub holds_data: bool,
}

/// Whether the file or block device at `path` may be written, where `destroy` is the name that the user gave; else why not.
/// A regular file or a folder may: what is written there is the caller's to say.
pub fn may_write(path: &Path, destroy: Option<&str>) -> Result<(), String> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    if meta.is_file() || meta.is_dir() {
        return Ok(());
    }
    let found = probe(path, &System::here()).map_err(|error| format!("{shown}: {error}"))?;
    found.verdict(destroy).map_err(|why| format!("{shown}: {why}"))
}

/// What is to be known of the device before it is written.
pub fn look(path: &Path) -> io::Result<Found> {
    probe(path, &System::here())
}

fn probe(path: &Path, system: &System) -> io::Result<Found> {
    let other = || io::Error::other("is no block device, regular file or folder");
    let path = std::fs::canonicalize(path)?;
    let number = system.number(&path)?.ok_or_else(other)?;
    let node = system.node(number).ok_or_else(|| io::Error::other("the kernel does not tell what it is (/sys)"))?;
    let mut used = uses(&node, &path, system);
    if node.word("ro").is_some_and(|word| word != "0") {
        used.push(format!("{} can only be read", node.name));
    }
    let (signatures, holds_data) = match open(&path, &mut used).and_then(|file| contents(&file)) {
        // What is in use is refused without being read.
        Err(_) if !used.is_empty() => (Vec::new(), true),
        read => read?,
    };
    Ok(Found { names: names(&node), path, used, signatures, holds_data })
}

impl Found {
    /// May it be written, where the user named `destroy`?
    fn verdict(&self, destroy: Option<&str>) -> Result<(), String> {
        let name = self.name();
        if !self.used.is_empty() {
            return Err(format!(
                "{}; expected a device that nothing uses, whatever --destroy names",
                self.used.join(", ")
            ));
        }
        if let Some(named) = destroy {
            let is_it = self.names.iter().any(|name| name == named) || self.names.is_empty() && named == name;
            return match is_it {
                true => Ok(()),
                false => Err(format!("--destroy {named} names another device; this one is {name} ({self})")),
            };
        }
        if self.signatures.is_empty() && !self.holds_data && !self.names.is_empty() {
            return Ok(());
        }
        Err(format!("{self}; expected an empty device, or --destroy {name} where all that is on it may go"))
    }

    /// What --destroy takes.
    pub fn name(&self) -> String {
        self.names.first().cloned().unwrap_or_else(|| self.path.display().to_string())
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<String> = self.used.clone();
        all.extend(self.signatures.iter().map(|it| format!("it holds {} (at byte {})", it.name, it.at)));
        if self.signatures.is_empty() {
            all.push(if self.holds_data { "it holds data of no known kind" } else { "it is empty" }.to_owned());
        }
        if self.names.is_empty() {
            all.push("it has no serial number or world-wide name".to_owned());
        }
        f.write_str(&all.join(", "))
    }
}

/// How the system uses the device, a partition of it, or a device made of it.
fn uses(node: &Node, path: &Path, system: &System) -> Vec<String> {
    let mut nodes = vec![node.clone()];
    nodes.extend(system.partitions(node));
    let named = |number: Number| nodes.iter().find(|node| node.number == number);
    let mut used = Vec::new();
    for mount in system.mounts() {
        // The number of some file systems (btrfs) is no device's: then the source is its path.
        let source = system.number(Path::new(&mount.source)).ok().flatten();
        if let Some(node) = named(mount.number).or_else(|| named(source?)) {
            used.push(format!("{} is mounted on {} ({})", node.name, mount.point, mount.kind));
        }
    }
    for swap in system.swaps() {
        if let Some(node) = system.number(&swap).ok().flatten().and_then(named) {
            used.push(format!("{} is in use as swap", node.name));
        }
    }
    for node in &nodes {
        for holder in node.holders() {
            used.push(format!("{} is part of {holder}", node.name));
        }
    }
    for disk in system.disks() {
        let backing = disk.word("loop/backing_file").map(PathBuf::from);
        let number = backing.as_ref().and_then(|backing| system.number(backing).ok().flatten());
        if backing.as_deref() == Some(path) || number.is_some_and(|number| named(number).is_some()) {
            used.push(format!("{} stands on it", disk.name));
        }
    }
    used.sort();
    used.dedup();
    used
}

/// Opens it for reading, exclusively: that is refused while the kernel has given it to something else.
fn open(path: &Path, used: &mut Vec<String>) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    match options.clone().custom_flags(OFlags::EXCL.bits() as i32).open(path) {
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
            if used.is_empty() {
                used.push("it is in use by the kernel or another program".to_owned());
            }
            options.open(path)
        }
        opened => opened,
    }
}

/// What its ends say.
fn contents(file: &File) -> io::Result<(Vec<Signature>, bool)> {
    let bytes = rustix::fs::seek(file, rustix::fs::SeekFrom::End(0))?;
    let part = |most: usize| vec![0; (bytes.min(most as u64)) as usize];
    let (mut head, mut tail) = (part(HEAD), part(TAIL));
    file.read_exact_at(&mut head, 0)?;
    let behind = bytes - tail.len() as u64;
    file.read_exact_at(&mut tail, behind)?;
    let ends = Ends { head: &head, tail: &tail, bytes };
    Ok((signatures(ends), !is_blank(ends)))
}

/// Names that a device keeps: serial numbers first. A partition's has its number behind it, as udev makes it.
fn names(node: &Node) -> Vec<String> {
    let behind = node.partition().map_or(String::new(), |part| format!("-part{part}"));
    let known = |name: &String| name.chars().any(|c| c.is_alphanumeric() && c != '0');
    let mut names: Vec<String> = ["serial", "device/serial"].iter().filter_map(|word| node.word(word)).collect();
    names.extend(node.bytes("device/vpd_pg80").as_deref().and_then(unit_serial));
    names.extend(["wwid", "device/wwid", "device/cid", "dm/uuid"].iter().filter_map(|word| node.word(word)));
    names.retain(known);
    names.dedup();
    names.into_iter().map(|name| name + &behind).collect()
}

/// SCSI's page of the unit's serial number (SPC, 80h): four bytes of head, then as many as the last two of them say.
fn unit_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
    let text = page.get(4..4 + length.min(page.len() - 4))?;
    let text = String::from_utf8_lossy(text).trim_matches(['\0', ' ']).to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
#[path = "probe/tests.rs"]
mod tests;
