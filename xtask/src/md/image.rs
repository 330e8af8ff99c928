//! The virtual machine of `cargo xtask md`: Debian's kernel, and an archive of initial files with a shell, fio, and drivers
//! of md and of its members, in QEMU without any right of the host. The kernel's package is fetched below `target/md` once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::counts::Counts;
use crate::guest::{fetch_kernel, shell};

/// Drivers in the order of their dependencies.
const MODULES: &[&str] = &[
    "configfs",
    "null_blk",
    "virtio_ring",
    "virtio",
    "virtio_pci_modern_dev",
    "virtio_pci_legacy_dev",
    "virtio_pci",
    "virtio_blk",
    "crc32c_generic",
    "libcrc32c",
    "xor",
    "raid6_pq",
    "async_tx",
    "async_memcpy",
    "async_xor",
    "async_pq",
    "async_raid6_recov",
    "md-mod",
    "raid0",
    "raid1",
    "raid10",
    "raid456",
];

/// Programs that it needs, and Debian's packages of them.
const PROGRAMS: [(&str, &str); 6] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("fio", "fio"),
    ("cpio", "cpio"),
    ("dpkg-deb", "dpkg"),
    ("apt-get", "apt"),
];

/// Seconds after which a run is ended: far more than rows of seconds take on a busy host.
const LONGEST: u32 = 7200;

/// The processors of a run.
#[derive(Clone, Copy, Debug)]
pub enum Processors {
    /// One, whose time is the number of its instructions.
    OneCounted,
    /// Two, in the host's time.
    Two,
}

/// The virtual machine's files.
#[derive(Debug)]
pub struct Image {
    folder: PathBuf,
    kernel: PathBuf,
}

impl Image {
    /// Builds it, with a first process below `xtask/md` and its script of rows. The inner error says what is missing on this machine.
    pub fn build(folder: &Path, init: &str, rows: &str) -> Result<Result<Self, String>, String> {
        for (program, package) in PROGRAMS {
            let found = Command::new("which").arg(program).stdout(Stdio::null()).status();
            if !found.is_ok_and(|status| status.success()) {
                return Ok(Err(format!("no {program}: install Debian's {package}")));
            }
        }
        if shell(folder, "ldd \"$(which busybox)\"").is_ok() {
            return Ok(Err("this busybox needs libraries: install Debian's busybox-static".to_owned()));
        }
        let kernel = match shell(folder, "ls kernel/boot/vmlinuz-*") {
            Ok(path) => folder.join(path.trim()),
            Err(_) => match fetch_kernel(folder) {
                Ok(path) => path,
                Err(why) => return Ok(Err(format!("Debian's kernel cannot be fetched: {}", why.trim()))),
            },
        };
        let image = Self { folder: folder.to_owned(), kernel };
        image.write_initial_files(init, rows)?;
        Ok(Ok(image))
    }

    /// Writes the archive of the kernel's initial files. It is not compressed: that would take an emulated processor
    /// longer than the jobs.
    fn write_initial_files(&self, init: &str, rows: &str) -> Result<(), String> {
        let root = self.folder.join("root");
        if root.exists() {
            fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        }
        shell(
            &self.folder,
            &format!(
                "mkdir -p root/bin root/dev root/proc root/sys root/modules
                 cp \"$(which busybox)\" root/bin/busybox
                 install -m 755 '{}' root/init
                 cp \"$(which fio)\" root/bin/fio
                 for library in $(ldd \"$(which fio)\" | grep -o '/[^ ]*'); do
                     install -D \"$(readlink -f \"$library\")\" \"root$library\"
                 done
                 for module in {}; do
                     cp \"$(find kernel/lib/modules -name $module.ko)\" root/modules/
                     echo $module.ko
                 done > root/modules/order",
                crate::root().join("xtask/md").join(init).display(),
                MODULES.join(" ")
            ),
        )?;
        fs::write(root.join("rows"), rows).map_err(|error| format!("{}: {error}", root.display()))?;
        shell(&self.folder, "(cd root; find . | cpio --quiet -o -H newc) > start.cpio")?;
        Ok(())
    }

    /// QEMU with such processors, whose console goes to a file.
    pub fn machine(&self, processors: &[&str], console: &Path) -> Command {
        let mut qemu = Command::new("timeout");
        qemu.arg(LONGEST.to_string()).arg("qemu-system-x86_64").args(processors);
        qemu.args(["-M", "q35", "-cpu", "max", "-m", "1024", "-nic", "none", "-no-reboot"]);
        qemu.args(["-display", "none", "-monitor", "none"]).arg("-serial").arg(format!("file:{}", console.display()));
        qemu.arg("-kernel").arg(&self.kernel).arg("-initrd").arg(self.folder.join("start.cpio"));
        qemu.args(["-append", "console=ttyS0 quiet panic=1 mitigations=off slab_nomerge"]).stdin(Stdio::null());
        qemu
    }

    /// Runs the rows; returns the counts of each, or none for a row whose job failed.
    pub fn run(&self, processors: Processors, rows: usize) -> Result<Vec<Option<Counts>>, String> {
        let (name, options): (&str, &[&str]) = match processors {
            Processors::OneCounted => ("one", &["-smp", "1", "-accel", "tcg", "-icount", "shift=0,sleep=off"]),
            Processors::Two => ("two", &["-smp", "2", "-accel", "tcg,thread=multi"]),
        };
        let console = self.folder.join(format!("console-{name}.txt"));
        let mut qemu = self.machine(options, &console);
        let status = qemu.status().map_err(|error| format!("qemu-system-x86_64: {error}"))?;
        let text = fs::read(&console).map_err(|error| format!("{}: {error}", console.display()))?;
        let text = String::from_utf8_lossy(&text);
        text.lines().filter(|line| line.starts_with("MD-ERROR")).for_each(|line| println!("{line}"));
        // What the first process could not do would make figures of something else.
        let is_complaint = |line: &&str| ["sh:", "/init:", "insmod:"].iter().any(|who| line.starts_with(who));
        if let Some(line) = text.lines().find(is_complaint) {
            return Err(format!("in the virtual machine: {line}: see {}", console.display()));
        }
        let mut counts = vec![None; rows];
        for (row, found) in text.lines().filter_map(Counts::of_guest_line) {
            if let Some(place) = counts.get_mut(row).filter(|_| found.program_bytes > 0) {
                *place = Some(found);
            }
        }
        match status.success() && counts.iter().any(Option::is_some) {
            true => Ok(counts),
            false => Err(format!("the virtual machine ended with {status}: see {}", console.display())),
        }
    }
}
