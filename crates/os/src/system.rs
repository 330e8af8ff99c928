//! Block devices as the kernel shows them in `/sys` and `/proc`: which one a path names, its partitions, its
//! attributes. Files are read below a root, which tests replace by a tree of their own. Nothing is written, and no
//! device is opened.
//!
//! Source: Linux, Documentation/ABI/stable/sysfs-block, Documentation/filesystems/proc.rst (3.5 mountinfo).

pub(crate) mod in_use;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The root of `/sys`, `/proc` and `/dev`.
#[derive(Clone, Debug)]
pub(crate) struct SystemRoot {
    root: PathBuf,
}

/// The number of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    /// Number of the driver.
    pub major: u32,
    /// Number among the driver's devices.
    pub minor: u32,
}

impl DeviceNumber {
    /// Splits the number that `stat` gives.
    pub fn new(device: u64) -> DeviceNumber {
        DeviceNumber { major: rustix::fs::major(device), minor: rustix::fs::minor(device) }
    }

    /// Parses `8:17`.
    pub fn parse(text: &str) -> Option<DeviceNumber> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// A block device: a disk, or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BlockDevice {
    /// The kernel's name, such as `sda1`.
    pub name: String,
    pub number: DeviceNumber,
    /// Folder in `/sys`.
    folder: PathBuf,
    partition: Option<PartitionPlace>,
}

/// The number of a partition, and its disk.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PartitionPlace {
    number: String,
    /// Folder of the disk in `/sys`.
    disk_folder: PathBuf,
}

/// A line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountLine {
    /// Number of its device; several file systems have numbers that are no device's.
    pub number: DeviceNumber,
    pub mount_point: String,
    /// Type of the file system.
    pub kind: String,
    /// Device or other source.
    pub source: String,
    /// Options of the mount and of its file system.
    pub options: String,
}

impl SystemRoot {
    /// The root of this machine.
    pub(crate) fn this_machine() -> SystemRoot {
        SystemRoot { root: PathBuf::from("/") }
    }

    /// A tree that stands for a machine's.
    #[cfg(test)]
    pub fn at(root: &Path) -> SystemRoot {
        SystemRoot { root: root.to_owned() }
    }

    /// Whether this is the root of this machine, whose tools can be run.
    pub(crate) fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns all visible processes, with their folders.
    pub(crate) fn visible_processes(&self) -> Vec<(u32, PathBuf)> {
        let entries = fs::read_dir(self.path_below_root("proc")).into_iter().flatten().flatten();
        entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
    }

    fn path_below_root(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns a file's text, trimmed.
    pub fn read_text(&self, path: &str) -> Option<String> {
        read_trimmed(&self.path_below_root(path))
    }

    /// Returns the device of this number.
    pub(crate) fn find_device(&self, number: DeviceNumber) -> Option<BlockDevice> {
        let link = self.path_below_root(&format!("sys/dev/block/{}:{}", number.major, number.minor));
        self.device_in(fs::canonicalize(link).ok()?)
    }

    /// Reads the device of a folder in `/sys`.
    fn device_in(&self, folder: PathBuf) -> Option<BlockDevice> {
        let name = folder.file_name()?.to_str()?.to_owned();
        let number = DeviceNumber::parse(&read_trimmed(&folder.join("dev"))?)?;
        let partition = read_trimmed(&folder.join("partition"))
            .and_then(|number| Some(PartitionPlace { number, disk_folder: folder.parent()?.to_owned() }));
        Some(BlockDevice { name, number, folder, partition })
    }

    /// Returns all disks.
    pub(crate) fn list_disks(&self) -> Vec<BlockDevice> {
        let entries = fs::read_dir(self.path_below_root("sys/block")).into_iter().flatten().flatten();
        entries.filter_map(|entry| self.device_in(fs::canonicalize(entry.path()).ok()?)).collect()
    }

    /// Returns a disk's partitions.
    pub(crate) fn list_partitions(&self, node: &BlockDevice) -> Vec<BlockDevice> {
        let entries = fs::read_dir(&node.folder).into_iter().flatten().flatten();
        let folders = entries.map(|entry| entry.path()).filter(|path| path.join("partition").is_file());
        folders.filter_map(|folder| self.device_in(folder)).collect()
    }

    /// Returns all mounts.
    pub(crate) fn read_mounts(&self) -> Vec<MountLine> {
        let text = self.read_text("proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(parse_mount).collect()
    }

    /// Returns the files and devices of swap.
    pub(crate) fn read_swaps(&self) -> Vec<PathBuf> {
        let text = self.read_text("proc/swaps").unwrap_or_default();
        let first_word = |line: &str| Some(PathBuf::from(unescape_octal(line.split_whitespace().next()?)));
        text.lines().skip(1).filter_map(first_word).collect()
    }

    /// Returns the number of the block device at a path, if it is one.
    pub(crate) fn device_number(&self, path: &Path) -> io::Result<Option<DeviceNumber>> {
        let meta = fs::metadata(path)?;
        Ok(meta.file_type().is_block_device().then(|| DeviceNumber::new(meta.rdev())))
    }
}

impl BlockDevice {
    /// Reads an attribute, such as `queue/scheduler`; for a partition without it, that of its disk. `None` if there is
    /// none, or an empty one.
    pub(crate) fn read_attribute(&self, attribute: &str) -> Option<String> {
        self.attribute_path(attribute).and_then(|path| read_trimmed(&path)).filter(|word| !word.is_empty())
    }

    /// Returns the path of an attribute.
    pub(crate) fn attribute_path(&self, attribute: &str) -> Option<PathBuf> {
        self.own_folders().map(|folder| folder.join(attribute)).find(|path| path.exists())
    }

    /// Iterates over its folder and, if it is a partition, that of its disk.
    fn own_folders(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.folder).chain(self.partition.as_ref().map(|partition| &partition.disk_folder))
    }

    /// Iterates over its folder and all above it: the host, the port, the bus.
    pub(crate) fn folder_and_parents(&self) -> impl Iterator<Item = &Path> {
        self.folder.ancestors()
    }

    /// Reads the bytes of an attribute.
    pub(crate) fn attribute_bytes(&self, attribute: &str) -> Option<Vec<u8>> {
        fs::read(self.attribute_path(attribute)?).ok()
    }

    /// Number of the partition on its disk, if it is one.
    pub(crate) fn partition_number(&self) -> Option<&str> {
        self.partition.as_ref().map(|partition| partition.number.as_str())
    }

    /// Returns the names of the devices that are made of it, or of its disk.
    pub(crate) fn holder_names(&self) -> Vec<String> {
        let entries =
            self.own_folders().flat_map(|folder| fs::read_dir(folder.join("holders")).into_iter().flatten().flatten());
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn read_trimmed(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
}

/// Parses `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`.
fn parse_mount(line: &str) -> Option<MountLine> {
    let (before, after) = line.split_once(" - ")?;
    let before: Vec<&str> = before.split(' ').collect();
    let after: Vec<&str> = after.split(' ').collect();
    let [_, _, number, _, mount_point, options, ..] = before[..] else { return None };
    let [kind, source, rest @ ..] = &after[..] else { return None };
    Some(MountLine {
        number: DeviceNumber::parse(number)?,
        mount_point: unescape_octal(mount_point),
        kind: (*kind).to_owned(),
        source: unescape_octal(source),
        options: std::iter::once(options).chain(rest.iter().copied()).collect::<Vec<_>>().join(","),
    })
}

/// Resolves escapes of three octal digits, in which blanks and the like are written.
fn unescape_octal(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| byte == b'\\') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_with_blanks_in_its_names_is_read() {
        let line = r"36 35 8:17 / /media/my\040disk rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue";
        let read = parse_mount(line).unwrap();
        assert_eq!((read.number, &*read.mount_point), (DeviceNumber { major: 8, minor: 17 }, "/media/my disk"));
        assert_eq!((&*read.kind, &*read.options), ("ext4", "rw,noatime,rw,errors=continue"));
        assert_eq!(parse_mount("nonsense"), None);
        assert_eq!(unescape_octal(r"a\134b\04"), r"a\b\04");
    }
}
