//! The safety matrix: data that tools write to a disk are found, the disk is refused and left untouched. The tests use
//! loop devices, as root, and are skipped with the reason if there are none. Formats whose tools need a kernel feature
//! that may be missing (md, ZFS) are written as bytes.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use seekwise_os::audit::file::DirectFile;
use seekwise_os::real::probe::may_write;
use seekwise_run::audit::AuditSubject;

/// The least that mkfs.xfs takes, and some.
const BYTES: u64 = 320 << 20;

/// A loop device over a file of zeroes.
struct Loop {
    folder: PathBuf,
    device: String,
}

impl Loop {
    /// Attaches a loop device; `None`, after the reason is printed, if there can be none.
    fn new(name: &str) -> Option<Loop> {
        let folder = std::env::temp_dir().join(format!("seekwise-probe-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        File::create(folder.join("image")).unwrap().set_len(BYTES).unwrap();
        match run("losetup", &["--find", "--show", &folder.join("image").display().to_string()]) {
            Ok(device) => Some(Loop { folder, device: device.trim().to_owned() }),
            Err(why) => {
                eprintln!("skipped: no loop device: {why}");
                fs::remove_dir_all(&folder).unwrap();
                None
            }
        }
    }

    /// Zeroes the image again, and drops the kernel's cached pages of the device.
    fn clear(&self) {
        let image = File::options().write(true).open(self.folder.join("image")).unwrap();
        image.set_len(0).unwrap();
        image.set_len(BYTES).unwrap();
        run("blockdev", &["--flushbufs", &self.device]).unwrap();
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let device = File::options().write(true).open(&self.device).unwrap();
        device.write_all_at(bytes, at).unwrap();
        device.sync_all().unwrap();
    }

    fn judged(&self, destroy: Option<&str>) -> Result<(), String> {
        may_write(Path::new(&self.device), destroy)
    }

    /// Judges the device once no `losetup` of another test has it open for a moment.
    fn judged_alone(&self, destroy: Option<&str>) -> Result<(), String> {
        let pause = std::time::Duration::from_millis(20);
        let judged = || {
            std::thread::sleep(pause);
            self.judged(destroy)
        };
        let is_settled =
            |judged: &Result<(), String>| judged.as_ref().err().is_none_or(|why| !why.contains("losetup (process"));
        (0..100).map(|_| judged()).find(is_settled).unwrap_or_else(|| self.judged(destroy))
    }

    /// A hash of all that is on it.
    fn hash(&self) -> u64 {
        let (mut file, mut hasher, mut piece) =
            (File::open(&self.device).unwrap(), DefaultHasher::new(), vec![0; 1 << 20]);
        while let Some(read) = Some(file.read(&mut piece).unwrap()).filter(|&read| read > 0) {
            hasher.write(&piece[..read]);
        }
        hasher.finish()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // A loop device that is used next would be read-only too.
        let _ = run("blockdev", &["--setrw", &self.device]);
        let _ = run("losetup", &["--detach", &self.device]);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What it said, or why it failed.
fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

fn shell(text: &str) -> Result<String, String> {
    run("sh", &["-c", text])
}

#[test]
fn what_tools_have_written_is_refused_and_untouched() {
    let Some(disk) = Loop::new("matrix") else { return };
    let luks = |version: &str| {
        format!(
            "echo -n secret | cryptsetup luksFormat -q --type {version} --pbkdf pbkdf2 --pbkdf-force-iterations 1000 $L -"
        )
    };
    let tools = [
        ("mkfs.ext4 -q -F $L", "ext4"),
        ("mkfs.ext3 -q -F $L", "ext3"),
        ("mkfs.ext2 -q -F $L", "ext2"),
        ("mkfs.xfs -q -f $L", "XFS"),
        ("mkswap $L", "swap"),
        ("echo ,,L | sfdisk -q --no-reread --no-tell-kernel $L", "MBR partition table"),
        ("echo ,,L | sfdisk -q --label gpt --no-reread --no-tell-kernel $L", "GPT partition table"),
        (&*luks("luks2"), "LUKS"),
        (&*luks("luks1").replace("--pbkdf pbkdf2", ""), "LUKS"),
        ("pvcreate -q -y -ff $L", "physical volume of LVM2"),
    ];
    let mut tried = 0;
    for (tool, name) in tools {
        disk.clear();
        if let Err(why) = shell(&format!("L={}; {tool}", disk.device)) {
            eprintln!("skipped: {why}");
            continue;
        }
        refused(&disk, name);
        tried += 1;
    }
    let label = 256 << 10;
    let md = 0xa92b_4efc_u32.to_le_bytes();
    for (at, bytes, name) in [
        (4096, &md[..], "member of an array (md 1.2)"),
        (BYTES - 65_536, &md, "member of an array (md 0.90)"),
        (BYTES - 8192, &md, "member of an array (md 1.0)"),
        (label / 2 + 1024, &0x00ba_b10c_u64.to_le_bytes(), "member of a ZFS pool"),
        (BYTES - label / 2, &0x00ba_b10c_u64.to_le_bytes(), "member of a ZFS pool"),
        (77_777, b"a database without a file system", "data of no known kind"),
    ] {
        disk.clear();
        disk.put(at, bytes);
        refused(&disk, name);
        tried += 1;
    }
    eprintln!("{tried} of 16 kinds refused");
    disk.clear();
    let why = disk.judged(None).unwrap_err();
    let between = "its first 2 MiB and last 1 MiB are empty, what lies between was not read";
    assert!(why.contains(between), "{why}");
}

/// It is found by that name, refused, left alone; and may be written where its own name is given, which a loop device's
/// path is.
fn refused(disk: &Loop, name: &str) {
    let before = disk.hash();
    let why = disk.judged(None).unwrap_err();
    assert!(why.contains(&format!("it holds {name}")), "{name}: {why}");
    assert!(disk.judged(Some("WD-1")).unwrap_err().contains("names another device"));
    assert_eq!(disk.judged(Some(&disk.device)), Ok(()));
    assert_eq!(disk.hash(), before, "{name}");
}

#[test]
fn what_is_in_use_is_refused_whatever_is_named() {
    let Some(disk) = Loop::new("use") else { return };
    let refused = |what: &str| {
        for destroy in [None, Some(disk.device.as_str())] {
            let why = disk.judged(destroy).unwrap_err();
            assert!(why.contains(what) && why.contains("expected a device that nothing uses"), "{why}");
        }
    };
    let folder = disk.folder.join("mounted");
    fs::create_dir_all(&folder).unwrap();
    let mounted = format!("mkfs.ext4 -q -F {0} && mount {0} {1}", disk.device, folder.display());
    match shell(&mounted) {
        Ok(_) => {
            refused(&format!("is mounted on {} (ext4)", folder.display()));
            shell(&format!("umount {}", folder.display())).unwrap();
        }
        Err(why) => eprintln!("skipped: {why}"),
    }
    let swap = format!("mkswap {0} && swapon {0}", disk.device);
    match shell(&swap) {
        Ok(_) => {
            refused("is in use as swap");
            shell(&format!("swapoff {}", disk.device)).unwrap();
        }
        Err(why) => eprintln!("skipped: {why}"),
    }
    let above = run("losetup", &["--find", "--show", &disk.device]).unwrap();
    let name = |device: &str| device.trim().trim_start_matches("/dev/").to_owned();
    refused(&format!("the loop device {} stands on {}", name(&above), name(&disk.device)));
    run("losetup", &["--detach", above.trim()]).unwrap();
    let open = File::options().write(true).open(&disk.device).unwrap();
    let mut writer = Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    refused(&format!("sleep (process {}) has {} open for writing", writer.id(), name(&disk.device)));
    writer.kill().unwrap();
    writer.wait().unwrap();
    // As a mount would hold it.
    let held = File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(&disk.device).unwrap();
    let why = disk.judged_alone(Some(&disk.device)).unwrap_err();
    assert!(why.contains("it is in use by the kernel or another program; expected a device"), "{why}");
    drop(held);
    run("blockdev", &["--setro", &disk.device]).unwrap();
    refused("can only be read");
    run("blockdev", &["--setrw", &disk.device]).unwrap();
    // Whoever else asks `losetup` something on this machine opens each loop device for a moment.
    let moments = (0..100).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        disk.judged(Some(&disk.device))
    });
    let free = moments.into_iter().find(|judged| judged.is_ok());
    assert_eq!(free, Some(Ok(())));
}

/// What cannot be read is not called empty: the disk's second half is gone, and reads of it fail.
#[test]
fn what_cannot_be_read_is_refused_unless_it_is_named() {
    let Some(disk) = Loop::new("unread") else { return };
    File::options().write(true).open(disk.folder.join("image")).unwrap().set_len(BYTES / 2).unwrap();
    run("blockdev", &["--flushbufs", &disk.device]).unwrap();
    let why = disk.judged_alone(None).unwrap_err();
    assert!(
        why.contains("its last 1024 KiB cannot be read (") && why.contains("so nobody knows what it holds"),
        "{why}"
    );
    assert_eq!(disk.judged_alone(Some(&disk.device)), Ok(()));
}

/// As a mount would take it: exclusively.
#[test]
fn a_disk_under_audit_is_nobody_else_s_until_the_audit_ends() {
    let Some(disk) = Loop::new("audit") else { return };
    let alone = || {
        let opened = File::options().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(&disk.device);
        opened.map(drop).map_err(|error| error.kind())
    };
    assert_eq!(alone(), Ok(()));
    // Whoever else asks `losetup` something on this machine opens each loop device for a moment.
    let mut claims = (0..100).map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        DirectFile::claim_device(Path::new(&disk.device), Some(&disk.device))
    });
    let audited = claims.find_map(Result::ok).expect("nobody has it");
    assert_eq!((audited.block_count(), alone()), (BYTES / 4096, Err(ErrorKind::ResourceBusy)));
    drop(audited);
    assert_eq!(alone(), Ok(()));
}
