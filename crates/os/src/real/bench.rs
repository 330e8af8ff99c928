//! Reads the test bench of a measurement from the system: the device, its file system, the kernel, the load. No time is
//! measured here.
//!
//! Source: Linux, Documentation/ABI/stable/sysfs-block, Documentation/filesystems/proc.rst.

#[cfg(target_os = "linux")]
use std::path::Path;

#[cfg(target_os = "linux")]
use seekwise_run::testbed::{DeviceInfo, FileSystemInfo, TestBench};

#[cfg(target_os = "linux")]
use crate::system::{BlockDevice, DeviceNumber, MountLine, SystemRoot};

/// Reads the test bench of a measurement at `path`: a block device, or a file or folder on one.
#[cfg(target_os = "linux")]
pub fn read_bench(path: &Path) -> TestBench {
    read_bench_in(path, &SystemRoot::this_machine())
}

#[cfg(target_os = "linux")]
fn read_bench_in(path: &Path, system: &SystemRoot) -> TestBench {
    use std::os::unix::fs::MetadataExt;
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let device = system.device_number(&path).ok().flatten();
    let below = || Some(DeviceNumber::new(std::fs::metadata(&path).ok()?.dev()));
    let mount = if device.is_none() { find_mount(&path, &system.read_mounts()) } else { None };
    let source = || system.device_number(Path::new(&mount.as_ref()?.source)).ok().flatten();
    let node = device.or_else(below).and_then(|number| system.find_device(number));
    // A file system of several devices has a number of its own: then its source names the device.
    let node = node.or_else(|| system.find_device(source()?));
    let memory = system.read_text("proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    TestBench {
        device: node.map(|node| read_device_info(&node)),
        file_system: mount.map(|MountLine { mount_point, kind, source, options, .. }| FileSystemInfo {
            kind,
            source,
            point: mount_point,
            options,
        }),
        kernel: system.read_text("proc/sys/kernel/osrelease"),
        governor: system.read_text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load: system.read_text("proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        free_memory_mib: available
            .and_then(|text| text.trim().split(' ').next()?.parse::<u64>().ok())
            .map(|kib| kib >> 10),
    }
}

/// Returns the mount of a path: the one with the longest matching mount point, of several the last.
#[cfg(target_os = "linux")]
fn find_mount(path: &Path, mounts: &[MountLine]) -> Option<MountLine> {
    let matching = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    matching.max_by_key(|mount| Path::new(&mount.mount_point).components().count()).cloned()
}

#[cfg(target_os = "linux")]
fn read_device_info(node: &BlockDevice) -> DeviceInfo {
    let number = |word: &str| node.read_attribute(word).and_then(|text| text.parse::<u64>().ok());
    let chosen = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    let serial = ["serial", "device/serial", "wwid", "device/wwid"].iter().find_map(|word| node.read_attribute(word));
    DeviceInfo {
        name: node.name.clone(),
        model: node.read_attribute("device/model"),
        serial,
        firmware: node.read_attribute("device/rev").or_else(|| node.read_attribute("device/firmware_rev")),
        bytes: number("size").map(|sectors| sectors * 512),
        logical_sector: number("queue/logical_block_size"),
        physical_sector: number("queue/physical_block_size"),
        write_cache: node.read_attribute("queue/write_cache"),
        fua: number("queue/fua").map(|fua| fua != 0),
        scheduler: node.read_attribute("queue/scheduler").and_then(chosen),
        link: node.folder_and_parents().find_map(link_bytes_per_second),
        queue_depth: number("device/queue_depth"),
        requests: number("queue/nr_requests"),
        rotational: number("queue/rotational").map(|turns| turns != 0),
        zones: node.read_attribute("queue/zoned"),
    }
}

/// Returns the rate of a disk's link, if this folder is that of a SATA port (`ata1`). The port reports `6.0 Gbps`, of
/// which eight bits in ten are data (Serial ATA 3.0, 8b/10b coding).
#[cfg(target_os = "linux")]
fn link_bytes_per_second(port: &Path) -> Option<u64> {
    let number = port.file_name()?.to_str()?.strip_prefix("ata")?;
    let link = format!("link{number}");
    let speed = std::fs::read_to_string(port.join(&link).join("ata_link").join(&link).join("sata_spd")).ok()?;
    let gigabits: f64 = speed.trim().strip_suffix("Gbps")?.trim().parse().ok()?;
    Some((gigabits * 1e9 / 10.0).round() as u64)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use seekwise_run::testbed::changes_between;
    use std::fs;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    /// A disk that the folder of temporary files lies on.
    fn tree() -> std::path::PathBuf {
        use std::os::unix::fs::MetadataExt;
        let root = std::env::temp_dir().join(format!("seekwise-bench-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        let number = DeviceNumber::new(fs::metadata(std::env::temp_dir()).unwrap().dev());
        let number = format!("{}:{}", number.major, number.minor);
        for (word, text) in [
            ("dev", number.as_str()),
            ("size", "312581808"),
            ("device/model", "ST3160827AS"),
            ("serial", "5MT0ABCD"),
            ("queue/scheduler", "none [mq-deadline] bfq"),
            ("queue/write_cache", "write back"),
            ("queue/fua", "0"),
            ("queue/rotational", "1"),
            ("queue/logical_block_size", "512"),
            ("device/queue_depth", "31"),
        ] {
            put(&root, &format!("sys/block/sda/{word}"), text);
        }
        fs::create_dir_all(root.join("sys/dev/block")).unwrap();
        std::os::unix::fs::symlink(root.join("sys/block/sda"), root.join("sys/dev/block").join(&number)).unwrap();
        put(&root, "proc/self/mountinfo", &format!("1 0 {number} / / rw,noatime - ext4 /dev/sda rw,barrier=1"));
        put(&root, "proc/loadavg", "0.31 0.10 0.05 1/123 4567");
        put(&root, "proc/meminfo", "MemTotal: 2048000 kB\nMemAvailable:   1048576 kB");
        put(&root, "proc/sys/kernel/osrelease", "6.12.0");
        root
    }

    #[test]
    fn a_bench_is_what_the_system_tells_and_a_change_is_said() {
        let root = tree();
        let before = read_bench_in(&root, &SystemRoot::at(&root));
        let device = before.device.clone().unwrap();
        assert_eq!((&*device.name, device.bytes, device.queue_depth), ("sda", Some(160_041_885_696), Some(31)));
        assert_eq!((device.scheduler.as_deref(), device.fua, device.zones), (Some("mq-deadline"), Some(false), None));
        assert_eq!((before.load, before.free_memory_mib), (Some(0.31), Some(1024)));
        assert_eq!(before.file_system.as_ref().map(|file| &*file.options), Some("rw,noatime,rw,barrier=1"));
        put(&root, "sys/block/sda/queue/scheduler", "[none] mq-deadline bfq");
        put(&root, "proc/loadavg", "1.90 0.10 0.05 1/123 4567");
        fs::remove_file(root.join("sys/block/sda/queue/rotational")).unwrap();
        let after = read_bench_in(&root, &SystemRoot::at(&root));
        assert_eq!(
            changes_between(&before, &after),
            [
                "scheduler changed during the run: it was `mq-deadline`, and is `none`",
                "rotational changed during the run: it was `yes`, and is not known"
            ]
        );
        assert!(changes_between(&before, &before).is_empty());
        let hashed = before.clone().with_hashed_serial().device.unwrap().serial.unwrap();
        assert!(hashed.starts_with("sha256:") && hashed.len() == 23 && !hashed.contains("5MT0"), "{hashed}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_link_is_that_of_the_port_above() {
        let root = std::env::temp_dir().join(format!("seekwise-link-{}", std::process::id()));
        put(&root, "pci0/ata3/link3/ata_link/link3/sata_spd", "3.0 Gbps");
        put(&root, "pci0/ata4/link4/ata_link/link4/sata_spd", "<unknown>");
        let of = |disk: &str| root.join(disk).ancestors().find_map(link_bytes_per_second);
        assert_eq!(of("pci0/ata3/host2/target2:0:0/2:0:0:0/block/sda"), Some(300_000_000));
        assert_eq!(of("pci0/ata4/host3/target3:0:0/3:0:0:0/block/sdb"), None);
        assert_eq!(of("pci0/virtio1/block/vda"), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_machine_has_a_kernel() {
        let bench = read_bench(Path::new("/"));
        assert!(bench.kernel.is_some() && bench.file_system.is_some(), "{bench:?}");
    }
}
