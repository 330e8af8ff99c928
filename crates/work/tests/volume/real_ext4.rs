//! The ten operations of `operations.rs` on the kernel's own ext4: a loop device with 8 GiB that mke2fs makes, each
//! operation with an fsync, and the counts of `/sys/block/loopN/stat` beside the table. It needs Linux and root;
//! elsewhere it is skipped with its reason. Nothing is timed.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::operations::REAL_COSTS;

/// Kernels and versions of mke2fs differ by a few blocks.
const WITHIN_PERCENT: u64 = 10;

/// Runs a shell script; returns its output, or its error output if it failed.
fn run_shell(script: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-ec", script]).output().map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// A mounted ext4 on a loop device; unmounted and detached at the end, however it ends.
struct Mounted {
    folder: PathBuf,
    device: String,
}

impl Mounted {
    fn new() -> Result<Mounted, String> {
        let folder = std::env::temp_dir().join(format!("seekwise-ext4-{}", std::process::id()));
        fs::create_dir_all(folder.join("m")).map_err(|error| error.to_string())?;
        let image = folder.join("image");
        File::create(&image).and_then(|file| file.set_len(8 << 30)).map_err(|error| error.to_string())?;
        let device = run_shell(&format!("losetup -f --show {}", image.display()))?;
        let mounted = Mounted { folder, device };
        let (device, on) = (&mounted.device, mounted.folder.join("m"));
        run_shell(&format!(
            "mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 {device}; mount {device} {}",
            on.display()
        ))?;
        Ok(mounted)
    }

    /// The sectors written and the flushes since the device exists.
    fn sectors_and_flushes(&self) -> (u64, usize) {
        let name = self.device.rsplit('/').next().expect("a name");
        let text = fs::read_to_string(format!("/sys/block/{name}/stat")).expect("its counts");
        let words: Vec<u64> = text.split_whitespace().map(|word| word.parse().expect("a count")).collect();
        (words[6], words[15] as usize)
    }

    /// Writes all dirty data, and waits for the next tick of the kernel's clock: in one tick, a second write changes no
    /// time of the inode.
    fn sync_and_wait(&self) {
        std::thread::sleep(std::time::Duration::from_millis(20));
        for _ in 0..2 {
            run_shell(&format!("sync -f {}", self.folder.join("m").display())).expect("sync");
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let (folder, device) = (self.folder.display(), &self.device);
        let _ = run_shell(&format!("set +e; umount {folder}/m 2>/dev/null; losetup -d {device}; rm -r {folder}"));
    }
}

/// Writes bytes to a file, which is created if it does not exist.
fn write_file(path: &Path, from: u64, bytes: usize) -> File {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).expect("a file");
    file.write_all_at(&vec![1; bytes], from).expect("room");
    file
}

fn open_file(path: &Path) -> File {
    File::open(path).expect("there")
}

#[test]
fn a_real_ext4_pays_the_same() {
    if run_shell("test $(id -u) = 0 && which losetup mkfs.ext4 mount && grep -qw ext4 /proc/filesystems").is_err() {
        return eprintln!("skipped: a real ext4, which takes root, losetup and mkfs.ext4");
    }
    let mounted = match Mounted::new() {
        Ok(mounted) => mounted,
        Err(why) => return eprintln!("skipped: a real ext4, for there is no loop device with one: {why}"),
    };
    let at = |name: &str| mounted.folder.join("m").join(name);
    // The first transaction after mke2fs costs more; it is not counted.
    write_file(&at("first"), 0, 4096).sync_all().expect("synced");
    let operations: [&dyn Fn() -> File; 10] = [
        &|| write_file(&at("a"), 0, 65_536),
        &|| write_file(&at("b"), 0, 4096),
        &|| write_file(&at("a"), 65_536, 4096),
        &|| write_file(&at("a"), 0, 4096),
        &|| write_file(&at("a"), 0, 4096),
        &|| fs::create_dir(at("d")).map(|()| open_file(&at("d"))).expect("a folder"),
        &|| fs::create_dir(at("d/e")).map(|()| open_file(&at("d/e"))).expect("a folder"),
        &|| fs::rename(at("a"), at("c")).map(|()| open_file(&at("c"))).expect("renamed"),
        &|| fs::rename(at("c"), at("d/c")).map(|()| open_file(&at("d/c"))).expect("moved"),
        &|| fs::remove_file(at("d/c")).map(|()| open_file(&at("d"))).expect("deleted"),
    ];
    for ((what, expected), operation) in REAL_COSTS.iter().zip(operations) {
        mounted.sync_and_wait();
        let before = mounted.sectors_and_flushes();
        let file = operation();
        let synced = if what.ends_with("data") { file.sync_data() } else { file.sync_all() };
        synced.expect("synced");
        let after = mounted.sectors_and_flushes();
        let cost = (after.0 - before.0, after.1 - before.1);
        println!("{what}: {} sectors and {} flushes, in the model {} and {}", cost.0, cost.1, expected.0, expected.1);
        let near = cost.0.abs_diff(expected.0) * 100 <= expected.0 * WITHIN_PERCENT;
        assert!(near && cost.1 == expected.1, "{what}: {cost:?} instead of {expected:?}");
    }
}
