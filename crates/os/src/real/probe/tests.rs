//! Tests which devices are refused, and in which words, on trees of files that stand for a system's. Tests on real
//! devices are in `crates/os/tests/probe.rs`.

use std::fs;

use super::*;

/// A tree of `/sys` and `/proc` with `sda` of two partitions, `dm-0` made of the second, `loop0`.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Tree {
        let root = std::env::temp_dir().join(format!("seekwise-tree-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let tree = Tree(root);
        for (disk, number) in
            [("sda", "8:0"), ("sda/sda1", "8:1"), ("sda/sda2", "8:2"), ("dm-0", "253:0"), ("loop0", "7:0")]
        {
            let below = format!("sys/block/{disk}");
            tree.put(&format!("{below}/dev"), number);
            fs::create_dir_all(tree.0.join(&below).join("holders")).unwrap();
            fs::create_dir_all(tree.0.join("sys/dev/block")).unwrap();
            std::os::unix::fs::symlink(tree.0.join(&below), tree.0.join("sys/dev/block").join(number)).unwrap();
        }
        tree.put("sys/block/sda/sda1/partition", "1");
        tree.put("sys/block/sda/sda2/partition", "2");
        tree
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn node(&self, major: u32, minor: u32) -> BlockDevice {
        SystemRoot::at(&self.0).find_device(DeviceNumber { major, minor }).unwrap()
    }

    fn uses(&self, major: u32, minor: u32) -> Vec<String> {
        in_use::describe_device_uses(&self.node(major, minor), &SystemRoot::at(&self.0))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn mounts_and_holders_of_partitions_are_the_disk_s() {
    let tree = Tree::new("uses");
    assert_eq!(tree.uses(8, 0), Vec::<String>::new());
    tree.put("proc/self/mountinfo", "36 35 8:1 / /boot rw - ext4 /dev/sda1 rw");
    tree.put("sys/block/sda/sda2/holders/dm-0", "");
    assert_eq!(tree.uses(8, 0), ["sda1 is mounted on /boot (ext4)", "sda2 is part of dm-0"]);
    assert_eq!(tree.uses(8, 1), ["sda1 is mounted on /boot (ext4)"]);
    assert_eq!(tree.uses(8, 2), ["sda2 is part of dm-0"]);
    // What is made of the whole disk has its partitions too.
    tree.put("sys/block/sda/holders/md0", "");
    assert!(tree.uses(8, 1).contains(&"sda1 is part of md0".to_owned()));
}

#[test]
fn names_are_serial_numbers_and_world_wide_names() {
    let tree = Tree::new("names");
    assert_eq!(device_names(&tree.node(8, 0)), Vec::<String>::new());
    tree.put("sys/block/sda/device/wwid", "naa.5000c500a1b2c3d4");
    let page = [&[0, 0x80, 0, 21][..], b"            WD-WCC4E7"].concat();
    fs::write(tree.0.join("sys/block/sda/device/vpd_pg80"), page).unwrap();
    assert_eq!(device_names(&tree.node(8, 0)), ["WD-WCC4E7", "naa.5000c500a1b2c3d4"]);
    assert_eq!(device_names(&tree.node(8, 2)), ["WD-WCC4E7-part2", "naa.5000c500a1b2c3d4-part2"]);
    tree.put("sys/block/dm-0/serial", "0000 0000");
    assert_eq!(device_names(&tree.node(253, 0)), Vec::<String>::new(), "zeroes are no name");
    assert_eq!((parse_unit_serial(&[0, 0x80, 0, 9]), parse_unit_serial(&[0])), (None, None));
}

impl Tree {
    fn probed(&self, major: u32, minor: u32) -> io::Result<ProbeResult> {
        let system = SystemRoot::at(&self.0);
        let number = DeviceNumber { major, minor };
        probe_number(Path::new("/dev/disk"), number, &system, |_| (Vec::new(), EndsContent::Empty))
    }

    /// A node of the device with this number, if we may make one: as root.
    fn device(&self, major: u32, minor: u32) -> Option<PathBuf> {
        let path = self.0.join(format!("node-{major}-{minor}"));
        let kind = rustix::fs::FileType::BlockDevice;
        let number = rustix::fs::makedev(major, minor);
        let made = rustix::fs::mknodat(rustix::fs::CWD, &path, kind, rustix::fs::Mode::empty(), number);
        made.map_err(|why| println!("skipped: no node of a device: {why}")).ok().map(|()| path)
    }
}

#[test]
fn a_disk_that_can_only_be_read_is_refused_with_its_partitions() {
    let tree = Tree::new("read-only");
    for (word, expected) in [(None, None), (Some("0"), None), (Some("1"), Some("sda can only be read"))] {
        if let Some(word) = word {
            tree.put("sys/block/sda/ro", word);
        }
        let found = tree.probed(8, 0).unwrap();
        assert_eq!(found.uses, expected.map(str::to_owned).into_iter().collect::<Vec<_>>());
        assert_eq!(found.check_write(Some(&found.destroy_name())).is_ok(), expected.is_none());
    }
    assert_eq!(tree.probed(8, 2).unwrap().uses, ["sda2 can only be read"], "its disk says so");
    tree.put("sys/block/sda/sda2/ro", "0");
    assert_eq!(tree.probed(8, 2).unwrap().uses, Vec::<String>::new(), "its own word comes first");
    assert!(tree.probed(8, 3).is_err(), "the kernel does not know it");
}

#[test]
fn what_holds_or_mounts_something_else_is_nobody_s_business() {
    let tree = Tree::new("others");
    tree.put(
        "proc/self/mountinfo",
        "36 35 8:2 / /a rw - ext4 /dev/sda2 rw\n37 35 253:0 / /b\\040c rw - xfs /dev/dm-0 rw",
    );
    assert_eq!(tree.uses(8, 1), Vec::<String>::new());
    assert_eq!(tree.uses(7, 0), Vec::<String>::new());
    assert_eq!(tree.uses(253, 0), ["dm-0 is mounted on /b c (xfs)"]);
    assert_eq!(tree.uses(8, 0), ["sda2 is mounted on /a (ext4)"]);
    // One phrase a use, in order, however often it is mounted there.
    tree.put(
        "proc/self/mountinfo",
        "36 35 8:2 / /b rw - ext4 x rw\n37 35 8:2 / /a rw - ext4 x rw\n38 35 8:2 / /a rw - ext4 x rw",
    );
    assert_eq!(tree.uses(8, 2), ["sda2 is mounted on /a (ext4)", "sda2 is mounted on /b (ext4)"]);
    tree.put("sys/block/dm-0/holders/dm-1", "");
    assert_eq!(tree.uses(8, 1), Vec::<String>::new());
    assert_eq!(tree.uses(253, 0), ["dm-0 is part of dm-1"]);
}

/// As root, else skipped.
#[test]
fn swap_loop_devices_and_writers_are_found_by_the_device_s_number() {
    let tree = Tree::new("numbers");
    let (Some(second), Some(other)) = (tree.device(8, 2), tree.device(253, 0)) else { return };
    let swaps = |path: &Path| format!("Filename Type Size Used Priority\n{} partition 1 0 -2", path.display());
    tree.put("proc/swaps", &swaps(&other));
    assert_eq!(tree.uses(8, 0), Vec::<String>::new());
    assert_eq!(tree.uses(253, 0), ["dm-0 is in use as swap"]);
    tree.put("proc/swaps", &swaps(&second));
    assert_eq!((tree.uses(8, 0), tree.uses(8, 1)), (vec!["sda2 is in use as swap".to_owned()], vec![]));
    tree.put("proc/swaps", "Filename Type Size Used Priority");
    tree.put("sys/block/loop0/loop/backing_file", &second.display().to_string());
    assert_eq!(tree.uses(8, 0), ["the loop device loop0 stands on sda2"]);
    assert_eq!((tree.uses(8, 1), tree.uses(253, 0)), (vec![], vec![]));
    fs::remove_dir_all(tree.0.join("sys/block/loop0/loop")).unwrap();
    // Flags of an open file in octal: the last two bits are read (0), write (1), both (2).
    fs::create_dir_all(tree.0.join("proc/4000000/fd")).unwrap();
    std::os::unix::fs::symlink(&second, tree.0.join("proc/4000000/fd/3")).unwrap();
    tree.put("proc/4000000/comm", "mkfs");
    for (flags, writes) in [("0100000", false), ("0100001", true), ("0100002", true), ("02004", false)] {
        tree.put("proc/4000000/fdinfo/3", &format!("pos:\t0\nflags:\t{flags}"));
        let expected = ["mkfs (process 4000000) has sda2 open for writing"];
        assert_eq!(tree.uses(8, 0), if writes { &expected[..] } else { &[] }, "{flags}");
    }
    assert_eq!(tree.uses(253, 0), Vec::<String>::new());
    // The number of a file system may be no device's; then its source is asked.
    tree.put("proc/self/mountinfo", &format!("36 35 0:40 / /pool rw - btrfs {} rw", other.display()));
    assert_eq!(tree.uses(253, 0), ["dm-0 is mounted on /pool (btrfs)"]);
}

#[test]
fn a_page_of_a_serial_number_is_cut_where_it_says_or_ends() {
    let page = |length: u8, text: &[u8]| parse_unit_serial(&[&[0, 0x80, 0, length][..], text].concat());
    assert_eq!(page(3, b"ABCDEF").as_deref(), Some("ABC"));
    assert_eq!(page(9, b"ABC").as_deref(), Some("ABC"));
    assert_eq!(page(4, b" A \0").as_deref(), Some("A"));
    assert_eq!((page(0, b"ABC"), page(3, b"  \0"), page(3, b"")), (None, None, None));
    assert_eq!(parse_unit_serial(&[&[0, 0x80, 1, 0][..], &[b'x'; 300]].concat()).unwrap().len(), 256);
}

/// Bytes are known, or they are not, whatever else could be read.
#[test]
fn ends_that_hold_anything_or_could_not_be_read_are_no_empty_disk() {
    let disk = |bytes: u64, at: Option<u64>| {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        at.into_iter().for_each(|at| file.write_all_at(b"x", at).unwrap());
        read_ends(&file).1
    };
    let bytes = 8 << 20;
    for (at, expected) in [
        (0, EndsContent::Data),
        ((2 << 20) - 1, EndsContent::Data),
        (2 << 20, EndsContent::EmptyEnds),
        (bytes - (1 << 20) - 1, EndsContent::EmptyEnds),
        (bytes - (1 << 20), EndsContent::Data),
    ] {
        assert_eq!(disk(bytes, Some(at)), expected, "byte {at}");
    }
    for short in [512, 1 << 20, 2 << 20] {
        assert_eq!((disk(short, None), disk(short, Some(short - 1))), (EndsContent::Empty, EndsContent::Data));
    }
    let folder = tempfile::tempdir().unwrap();
    let hidden = folder.path().join("disk");
    fs::write(&hidden, vec![0; 4096]).unwrap();
    let (_, seen) = read_ends(&File::options().write(true).open(&hidden).unwrap());
    let EndsContent::Unread(why) = seen else { panic!("{seen:?}") };
    assert!(why.contains("its first 4 KiB cannot be read") && why.contains("its last 4 KiB cannot be read"), "{why}");
}

fn found(names: &[&str], used: &[&str], signature: Option<&'static str>, seen: EndsContent) -> ProbeResult {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let signatures = signature.map(|name| Signature { name, at: 1024 }).into_iter().collect();
    ProbeResult { path: "/dev/sda".into(), names: words(names), uses: words(used), signatures, ends: seen }
}

#[test]
fn only_a_device_that_is_named_is_written() {
    let unread = || EndsContent::Unread("its last 1024 KiB cannot be read (Input/output error)".to_owned());
    for (found, expected) in [
        (
            found(&["Z1"], &[], None, EndsContent::Data),
            "it holds data of no known kind; expected --destroy Z1 where all",
        ),
        (
            found(&["Z1"], &[], Some("ext4"), EndsContent::Data),
            "it holds ext4 (at byte 1024); expected --destroy Z1 where all",
        ),
        (
            found(&["Z1"], &[], None, EndsContent::EmptyEnds),
            "its first 2 MiB and last 1 MiB are empty, what lies between was not read; expected --destroy Z1 where all",
        ),
        (
            found(&["Z1"], &[], Some("ext4"), unread()),
            "it holds ext4 (at byte 1024), its last 1024 KiB cannot be read (Input/output error), so nobody knows what it \
             holds; expected --destroy Z1 where all",
        ),
        (
            found(&[], &[], None, EndsContent::Empty),
            "it is empty, it has no serial number or world-wide name; expected --destroy /dev/sda where all",
        ),
    ] {
        let why = found.check_write(None).unwrap_err();
        assert!(why.starts_with(expected), "{why}");
        assert_eq!(found.check_write(Some(&found.destroy_name())), Ok(()));
        let why = found.check_write(Some("Z")).unwrap_err();
        assert!(why.starts_with("--destroy Z names another device; this one is"), "{why}");
    }
}

/// A file stands for a disk here: what is judged is bytes.
#[test]
fn a_disk_is_empty_only_where_all_of_it_was_read() {
    let disk = |bytes: u64| {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        file
    };
    assert_eq!(read_ends(&disk(3 << 20)).1, EndsContent::Empty);
    assert_eq!(read_ends(&disk((3 << 20) + 512)).1, EndsContent::EmptyEnds);
    let file = disk(64 << 20);
    file.write_all_at(b"x", 32 << 20).unwrap();
    assert_eq!(read_ends(&file).1, EndsContent::EmptyEnds);
    file.write_all_at(b"x", (64 << 20) - 1).unwrap();
    assert_eq!(read_ends(&file).1, EndsContent::Data);
}

#[test]
fn any_of_its_names_will_do_and_a_path_only_where_there_is_none() {
    let found = found(&["Z1", "naa.5"], &[], Some("XFS"), EndsContent::Data);
    assert_eq!((found.check_write(Some("Z1")), found.check_write(Some("naa.5"))), (Ok(()), Ok(())));
    assert!(found.check_write(Some("/dev/sda")).is_err());
    assert!(found.check_write(Some("")).is_err());
}

#[test]
fn what_is_in_use_is_never_written() {
    let found = found(&["Z1"], &["sda1 is mounted on / (ext4)"], None, EndsContent::Data);
    for destroy in [None, Some("Z1")] {
        let why = found.check_write(destroy).unwrap_err();
        assert!(why.starts_with("sda1 is mounted on / (ext4); expected a device that nothing uses"), "{why}");
    }
}

#[test]
fn what_is_no_block_device_is_its_caller_s_or_refused() {
    let here = std::env::temp_dir();
    assert_eq!(may_write(&here, None), Ok(()));
    assert_eq!(
        may_write(Path::new("/dev/null"), None).unwrap_err(),
        "/dev/null: is no block device, regular file or folder"
    );
    let nothing = Path::new("/dev/there-is-none");
    assert!(may_write(nothing, None).unwrap_err().contains("No such file"));
    let mut used = Vec::new();
    assert_eq!(open_exclusive(nothing, &mut used).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert_eq!(used, Vec::<String>::new(), "only a device that is busy is in use");
}
