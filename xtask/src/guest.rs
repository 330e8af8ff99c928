//! `cargo xtask guest`: runs a virtual machine on a modelled disk. Debian's kernel in QEMU (emulated, so that no right
//! is needed) reads from the file of `seekwise serve --fuse`, behind an AHCI controller and behind a PIIX one, with one
//! reader and with 32. The output has the guest's figures; by the session's recording, how many requests were in the
//! drive at once; and how many requests complete at the recorded nanosecond when the recording is replayed in virtual
//! time.
//!
//! Needs Debian's `qemu-system-x86` and `busybox-static`, `/dev/fuse` and the right to mount; the kernel's package is
//! fetched below `target`. The guest uses the file, because QEMU's client of network block devices stops at 16
//! requests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::steps::{Ended, command};

/// The drive that is served.
const DRIVE: &str = "barracuda-7200.7-ncq";

/// Drivers in the order of their dependencies.
const MODULES: &[&str] = &[
    "scsi_common",
    "scsi_mod",
    "libata",
    "libahci",
    "ahci",
    "ata_piix",
    "crct10dif_common",
    "crct10dif_generic",
    "crc-t10dif",
    "crc64",
    "crc64_rocksoft_generic",
    "crc64-rocksoft",
    "t10-pi",
    "sd_mod",
];

/// Controllers: the name, QEMU's machine, and the device of the disk.
const CONTROLLERS: [(&str, &str, &str); 2] =
    [("ahci", "q35", "ide-hd,drive=d"), ("piix", "pc", "ide-hd,drive=d,bus=ide.0")];

/// Runs the command.
pub fn guest() -> ExitCode {
    match run_guests() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run_guests() -> Result<(), String> {
    for (program, package) in [("qemu-system-x86_64", "qemu-system-x86"), ("dpkg-deb", "dpkg"), ("cpio", "cpio")] {
        let found = Command::new("which").arg(program).stdout(Stdio::null()).status();
        if !found.is_ok_and(|status| status.success()) {
            return Err(format!("no {program}: install Debian's {package}"));
        }
    }
    if !matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) {
        return Err("the program was not built".to_owned());
    }
    let folder = crate::empty_folder("guest").map_err(|error| format!("a folder for the guest: {error}"))?;
    let image = fetch_kernel(&folder)?;
    write_initial_files(&folder)?;
    for (name, machine, disk) in CONTROLLERS {
        println!("\n{name}:");
        serve_guest(&folder, &image, name, machine, disk)?;
    }
    Ok(())
}

/// Runs a shell script in `folder`; returns its output.
pub fn shell(folder: &Path, script: &str) -> Result<String, String> {
    let output = Command::new("bash").args(["-euo", "pipefail", "-c", script]).current_dir(folder).output();
    let output = output.map_err(|error| format!("bash: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{script}\n{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// Fetches and unpacks Debian's kernel; returns its path.
pub fn fetch_kernel(folder: &Path) -> Result<PathBuf, String> {
    shell(
        folder,
        "package=$(apt-cache depends linux-image-amd64 | sed -n 's/ *Depends: //p' | head -n 1)
         apt-get download -qq \"$package\"
         dpkg-deb -x linux-image-*.deb kernel",
    )?;
    Ok(folder.join(shell(folder, "ls kernel/boot/vmlinuz-*")?.trim()))
}

/// Writes the archive of the kernel's initial files: a shell, the drivers, and the program that reads.
fn write_initial_files(folder: &Path) -> Result<(), String> {
    let sources = crate::root().join("xtask/guest");
    let (init, reader) = (sources.join("init"), sources.join("reader.rs"));
    shell(
        folder,
        &format!(
            "mkdir -p root/bin root/dev root/proc root/sys root/modules
             cp /bin/busybox root/bin/
             install -m 755 '{}' root/init
             rustc -O --edition 2021 -C target-feature=+crt-static -o root/bin/reader '{}'
             for module in {}; do
                 cp \"$(find kernel/lib/modules -name $module.ko)\" root/modules/
                 echo $module.ko
             done > root/modules/order
             (cd root; find . | cpio --quiet -o -H newc) | gzip > start.gz",
            init.display(),
            reader.display(),
            MODULES.join(" ")
        ),
    )?;
    Ok(())
}

/// Runs a guest on a controller, and prints its figures and those of the recording.
fn serve_guest(folder: &Path, kernel: &Path, name: &str, machine: &str, disk: &str) -> Result<(), String> {
    let program = crate::target().join("release/seekwise");
    let recording = format!("{name}.csv");
    fs::create_dir_all(folder.join("disk")).map_err(|error| format!("a folder for the disk: {error}"))?;
    let guest = format!(
        "timeout 600 qemu-system-x86_64 -M {machine} -accel tcg -m 256 -nographic -no-reboot -kernel '{}' -initrd start.gz \
         -append 'console=ttyS0 quiet panic=1' -drive file=$SEEKWISE_FILE,format=raw,if=none,id=d,cache=none,aio=threads \
         -device {disk} | grep -a -o -E '(guest driver|reads [0-9]).*'",
        kernel.display()
    );
    let run = Command::new(&program)
        .args(["serve", DRIVE, "--fuse", "disk", "--record", &recording, "--run", "--", "sh", "-c", &guest])
        .current_dir(folder)
        .stderr(Stdio::inherit())
        .status();
    if !run.is_ok_and(|status| status.success()) {
        return Err(format!("the guest behind {name} failed"));
    }
    let text = fs::read_to_string(folder.join(&recording)).map_err(|error| format!("{recording}: {error}"))?;
    let (mean, max) = requests_at_once(&text);
    println!("requests in the drive at once: {mean:.1} on average while it worked, {max} at most");
    let replay = Command::new(&program).args(["run", &recording, "--on", DRIVE]).current_dir(folder).output();
    let replay = replay.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&replay.stdout).into_owned();
    text.lines().filter(|line| line.contains("recorded nanosecond")).for_each(|line| println!("{line}"));
    Ok(())
}

/// How many requests of a recording were in the drive at once: (the mean over the time in which there was one, the
/// maximum).
fn requests_at_once(recording: &str) -> (f64, i64) {
    let rows = recording.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let requests = rows.filter(|row| row.len() == 9 && ["read", "write"].contains(&row[4]));
    let instants = requests.filter_map(|row| Some([(row[1].parse::<u64>().ok()?, 1), (row[2].parse().ok()?, -1)]));
    let mut steps: Vec<(u64, i64)> = instants.flatten().collect();
    steps.sort_unstable();
    let (mut now, mut in_drive, mut max) = (0, 0i64, 0);
    let (mut busy_ns, mut request_ns) = (0u64, 0u64);
    for (at, step) in steps {
        if in_drive > 0 {
            busy_ns += at - now;
            request_ns += (at - now) * in_drive.unsigned_abs();
        }
        now = at;
        in_drive += step;
        max = max.max(in_drive);
    }
    (request_ns as f64 / busy_ns.max(1) as f64, max)
}

#[cfg(test)]
mod tests {
    #[test]
    fn depth_counts_while_there_is_work() {
        let recording = "# head\nstamp,at_ns,done_ns,status,op,lba,sectors,fua,tag\n1,0,10,done,read,0,8,0,0\n2,5,15,done,read,8,8,0,1\n3,100,110,done,read,16,8,0,0\n";
        // Ten alone, five together, ten alone: 25 over 30 and five of two.
        assert_eq!(super::requests_at_once(recording), (30.0 / 25.0, 2));
    }
}
