//! Describes what uses a file or device now: mounts, swap, devices that are made of it, loop devices, programs that
//! have it open for writing. A file is identified by its device and inode, so all its names (hard links, symbolic
//! links, bind mounts) are one; a device by its number.
//!
//! Not seen: programs of other users if we are not root, and servers inside the kernel that show no file of theirs
//! (iSCSI and NVMe targets).
//!
//! Source: proc_pid_fd(5), proc_pid_fdinfo(5), proc_swaps(5), proc_locks(5), sysfs-block-loop, losetup(8).

use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
use seekwise_disk::time::Span;

use super::{BlockDevice, DeviceNumber, SystemRoot};
use crate::clock::Clock;

/// Identity of a file or device, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FileIdentity {
    File {
        /// Number of its file system.
        device: u64,
        /// Number of the file in there.
        inode: u64,
    },
    /// A block device.
    Device(DeviceNumber),
}

impl FileIdentity {
    /// Takes the identity from `stat`.
    pub(crate) fn from_metadata(meta: &Metadata) -> FileIdentity {
        match meta.file_type().is_block_device() {
            true => FileIdentity::Device(DeviceNumber::new(meta.rdev())),
            false => FileIdentity::File { device: meta.dev(), inode: meta.ino() },
        }
    }

    fn at_path(path: &Path) -> Option<FileIdentity> {
        Some(FileIdentity::from_metadata(&fs::metadata(path).ok()?))
    }

    /// Returns the identity of a file that a program has open, as the kernel has cached it: a network server that is
    /// gone is not asked.
    fn cached_identity(path: &Path) -> Option<FileIdentity> {
        let stat = statx(CWD, path, AtFlags::STATX_DONT_SYNC, StatxFlags::INO | StatxFlags::TYPE).ok()?;
        Some(match FileType::from_raw_mode(stat.stx_mode.into()) {
            FileType::BlockDevice => {
                FileIdentity::Device(DeviceNumber { major: stat.stx_rdev_major, minor: stat.stx_rdev_minor })
            }
            _ => FileIdentity::File { device: makedev(stat.stx_dev_major, stat.stx_dev_minor), inode: stat.stx_ino },
        })
    }
}

/// Describes the system's uses of a file, a phrase each.
pub(crate) fn describe_file_uses(file: FileIdentity, system: &SystemRoot) -> Vec<String> {
    let name_of = |other: FileIdentity| (other == file).then(|| "it".to_owned());
    let mut uses: Vec<String> = Vec::new();
    let swaps = system.read_swaps();
    uses.extend(
        swaps
            .iter()
            .filter(|swap| FileIdentity::at_path(swap) == Some(file))
            .map(|_| "it is in use as swap".to_owned()),
    );
    uses.extend(describe_loop_uses(&name_of, system));
    uses.extend(describe_writers(&name_of, system));
    uses
}

/// Describes the system's uses of the device, a partition of it, or a device made of it, a phrase each.
pub(crate) fn describe_device_uses(node: &BlockDevice, system: &SystemRoot) -> Vec<String> {
    let mut nodes = vec![node.clone()];
    nodes.extend(system.list_partitions(node));
    let find_node = |number: DeviceNumber| nodes.iter().find(|node| node.number == number);
    let mut uses = Vec::new();
    for mount in system.read_mounts() {
        // The number of some file systems (btrfs) is no device's: then the source is its path.
        let source = system.device_number(Path::new(&mount.source)).ok().flatten();
        if let Some(node) = find_node(mount.number).or_else(|| find_node(source?)) {
            uses.push(format!("{} is mounted on {} ({})", node.name, mount.mount_point, mount.kind));
        }
    }
    for swap in system.read_swaps() {
        if let Some(node) = system.device_number(&swap).ok().flatten().and_then(find_node) {
            uses.push(format!("{} is in use as swap", node.name));
        }
    }
    for node in &nodes {
        uses.extend(node.holder_names().into_iter().map(|holder| format!("{} is part of {holder}", node.name)));
    }
    let name_of = |other: FileIdentity| match other {
        FileIdentity::Device(number) => find_node(number).map(|node| node.name.clone()),
        FileIdentity::File { .. } => None,
    };
    uses.extend(describe_loop_uses(&name_of, system));
    uses.extend(describe_writers(&name_of, system));
    uses.sort();
    uses.dedup();
    uses
}

/// Describes the loop devices on the files and devices that `name_of` names.
fn describe_loop_uses(name_of: &dyn Fn(FileIdentity) -> Option<String>, system: &SystemRoot) -> Vec<String> {
    let with_backing_file =
        |disk: BlockDevice| Some((disk.name.clone(), PathBuf::from(disk.read_attribute("loop/backing_file")?)));
    let backed: Vec<(String, PathBuf)> = system.list_disks().into_iter().filter_map(with_backing_file).collect();
    let mut identities: Vec<(String, FileIdentity)> =
        backed.iter().filter_map(|(name, path)| Some((name.clone(), FileIdentity::at_path(path)?))).collect();
    // A path may be gone, or may name another file for us: the loop devices themselves know the inode.
    if !backed.is_empty() && system.is_this_machine() {
        identities.extend(list_loop_devices());
    }
    let mut uses: Vec<String> = identities
        .into_iter()
        .filter_map(|(name, identity)| name_of(identity).map(|it| format!("the loop device {name} stands on {it}")))
        .collect();
    uses.sort();
    uses.dedup();
    uses
}

/// Lists loop devices and the identity of the file below each, by `losetup`, which opens the devices: root alone may.
fn list_loop_devices() -> Vec<(String, FileIdentity)> {
    let options = ["--list", "--noheadings", "--raw", "--output", "NAME,BACK-INO,BACK-MAJ:MIN"];
    // `losetup` lies where only root looks.
    let listed = Command::new("losetup").env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin").args(options).output();
    let text = listed.map_or(String::new(), |listed| String::from_utf8_lossy(&listed.stdout).into_owned());
    text.lines().filter_map(parse_losetup_line).collect()
}

/// Parses `/dev/loop0 393276 254:0`; some versions pad with blanks, and write those as `\x20`.
fn parse_losetup_line(line: &str) -> Option<(String, FileIdentity)> {
    let line = line.replace("\\x20", " ");
    let [name, inode, number] = line.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    let DeviceNumber { major, minor } = DeviceNumber::parse(number)?;
    let identity = FileIdentity::File { device: makedev(major, minor), inode: inode.parse().ok()? };
    Some((name.trim_start_matches("/dev/").to_owned(), identity))
}

/// Describes the other programs that have a file or device open for writing that `name_of` names.
fn describe_writers(name_of: &dyn Fn(FileIdentity) -> Option<String>, system: &SystemRoot) -> Vec<String> {
    let own = std::process::id();
    let mut writers = Vec::new();
    for (process, folder) in system.visible_processes().into_iter().filter(|(process, _)| *process != own) {
        let entries = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        // An entry without a path (a socket, a pipe) is no file of a disk.
        let files = entries.filter(|path| fs::read_link(path).is_ok_and(|to| to.is_absolute()));
        for path in files {
            let opened_name = || FileIdentity::cached_identity(&path).and_then(name_of);
            let Some(opened) = opened_name() else { continue };
            let number = path.file_name().unwrap_or_default();
            let is_writer =
                || fs::read_to_string(folder.join("fdinfo").join(number)).is_ok_and(|text| is_open_for_writing(&text));
            if is_writer()
                && (parent_process(&folder) != Some(own)
                    || is_open_after_fork(&|| opened_name().is_some() && is_writer()))
            {
                let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
                writers.push(format!("{} (process {process}) has {opened} open for writing", name.trim()));
                break;
            }
        }
    }
    writers
}

/// The time in which a forked child has become another program, and has closed the files of its parent.
const FORK_TIME: Span = Span::from_millis(20);

/// Whether a child of this process still has a file open after it has had time to close those of its parent.
fn is_open_after_fork(is_open: &dyn Fn() -> bool) -> bool {
    let clock = Clock::start();
    clock.wait_until(clock.now() + FORK_TIME);
    is_open()
}

/// The parent of the process with this folder in `/proc`.
fn parent_process(folder: &Path) -> Option<u32> {
    let text = fs::read_to_string(folder.join("stat")).ok()?;
    // The name before may contain spaces and brackets.
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the process that holds the lock of a file or folder, if it can be seen from here.
pub fn lock_holder(file: FileIdentity, system: &SystemRoot) -> Option<u32> {
    let text = system.read_text("proc/locks")?;
    text.lines().filter_map(parse_lock_line).find(|(locked, _)| *locked == file).map(|(_, process)| process)
}

/// Parses `2: FLOCK  ADVISORY  WRITE 28390 fe:00:10051587 0 EOF`; a waiting process has `->` in its line, before the
/// kind.
fn parse_lock_line(line: &str) -> Option<(FileIdentity, u32)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, "WRITE", process, locked, ..] = words[..] else { return None };
    let [major, minor, inode] = locked.split(':').collect::<Vec<_>>()[..] else { return None };
    let number = |text| u32::from_str_radix(text, 16).ok();
    let device = makedev(number(major)?, number(minor)?);
    let process = process.parse().ok().filter(|process| *process != 0)?;
    Some((FileIdentity::File { device, inode: inode.parse().ok()? }, process))
}

/// Whether the flags of an open file, in octal, say that it is open for writing (`O_WRONLY`, `O_RDWR`).
fn is_open_for_writing(information: &str) -> bool {
    let flags = information.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & 3 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{ProgramBounds, run_tool_for_output};
    use std::process::Stdio;

    #[test]
    fn all_names_of_a_file_are_one() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("one"), "x").unwrap();
        fs::hard_link(at("one"), at("two")).unwrap();
        std::os::unix::fs::symlink(at("one"), at("three")).unwrap();
        fs::write(at("other"), "x").unwrap();
        let of = |name: &str| FileIdentity::at_path(&at(name)).unwrap();
        assert_eq!((of("one"), of("one")), (of("two"), of("three")));
        assert_ne!(of("one"), of("other"));
        assert_eq!(FileIdentity::cached_identity(&at("three")), Some(of("one")));
    }

    /// As root, else skipped.
    #[test]
    fn a_file_behind_a_loop_device_is_found_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::File::create(at("one")).unwrap().set_len(1 << 20).unwrap();
        fs::hard_link(at("one"), at("two")).unwrap();
        let device = match run_tool_for_output(
            "losetup",
            ["--find", "--show", &at("one").display().to_string()],
            ProgramBounds::thirty_seconds(),
        ) {
            Ok(device) => device,
            Err(why) => return println!("skipped: no loop device: {why}"),
        };
        let used = || describe_file_uses(FileIdentity::at_path(&at("two")).unwrap(), &SystemRoot::this_machine());
        let with_both = used();
        fs::remove_file(at("one")).unwrap();
        let with_one = used();
        run_tool_for_output("losetup", ["--detach", &device], ProgramBounds::thirty_seconds()).unwrap();
        let expected = [format!("the loop device {} stands on it", device.trim_start_matches("/dev/"))];
        assert_eq!((&with_both[..], &with_one[..]), (&expected[..], &expected[..]));
        assert_eq!(used(), Vec::<String>::new());
    }

    #[test]
    fn a_program_that_writes_is_found_and_one_that_reads_is_not() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let it = FileIdentity::from_metadata(&file.as_file().metadata().unwrap());
        let opened = |how: &mut fs::OpenOptions| {
            let input = how.open(file.path()).unwrap();
            let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(input)).spawn().unwrap();
            let used = describe_file_uses(it, &SystemRoot::this_machine());
            child.kill().unwrap();
            child.wait().unwrap();
            (child.id(), used)
        };
        assert_eq!(opened(fs::File::options().read(true)).1, Vec::<String>::new());
        let (child, used) = opened(fs::File::options().read(true).write(true));
        assert_eq!(used, [format!("sleep (process {child}) has it open for writing")]);
    }

    #[test]
    fn what_the_system_says_of_locks_is_read() {
        let it = FileIdentity::File { device: makedev(254, 16), inode: 10_051_587 };
        assert_eq!(parse_lock_line("2: FLOCK  ADVISORY  WRITE 28390 fe:10:10051587 0 EOF"), Some((it, 28_390)));
        for other in [
            "1: FLOCK  ADVISORY  READ 28390 fe:10:10051587 0 EOF",
            "1: -> FLOCK  ADVISORY  WRITE 28390 fe:10:10051587 0 EOF",
            "1: POSIX  ADVISORY  WRITE 28390 fe:10:10051587 0 EOF",
            // Of a process that is not to be seen from here.
            "1: FLOCK  ADVISORY  WRITE 0 fe:10:10051587 0 EOF",
        ] {
            assert_eq!(parse_lock_line(other), None, "{other}");
        }
    }

    #[test]
    fn what_losetup_says_is_read() {
        let device = makedev(254, 0);
        assert_eq!(
            parse_losetup_line("/dev/loop3 393276 254:0"),
            Some(("loop3".into(), FileIdentity::File { device, inode: 393_276 }))
        );
        assert_eq!(
            parse_losetup_line(r"/dev/loop3 393276 \x20\x20254:0\x20"),
            parse_losetup_line("/dev/loop3 393276 254:0")
        );
        assert_eq!((parse_losetup_line("/dev/loop3"), parse_losetup_line("")), (None, None));
        assert!(
            is_open_for_writing("pos:\t0\nflags:\t0100002\nmnt_id:\t29\n")
                && !is_open_for_writing("pos:\t0\nflags:\t0100000\n")
        );
    }
}
