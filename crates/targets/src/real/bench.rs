//! What a measurement stood on: the device, its settings, the file system, the kernel and the machine, as the system tells
//! them; taken before a run and after it, so that what changed meanwhile is found. Nothing is measured here.
//!
//! Source: Linux, Documentation/ABI/stable/sysfs-block, Documentation/filesystems/proc.rst.

#[cfg(target_os = "linux")]
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[cfg(target_os = "linux")]
use super::system::{Mount, Node, Number, System};

/// What a measurement stood on. What the system does not tell is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bench {
    /// The disk, or the partition of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// The file system that the path lies in; none of a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// The kernel's release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// How the processor's clock is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Processes at work or waiting for a disk, a mean over the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Memory that programs could have, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_memory_mib: Option<u64>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Device {
    /// The kernel's name.
    pub name: String,
    /// Maker's name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its serial number, or a hash of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// Its firmware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// How long it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of a sector, as it is addressed and as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_sector: Option<u64>,
    /// The same on its medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_sector: Option<u64>,
    /// What the kernel believes of its write cache: `write back` is flushed, `write through` is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// It has a command for forced writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fua: Option<bool>,
    /// The kernel's scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// Bytes a second that its link carries, of a SATA disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<u64>,
    /// Commands that it takes at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u64>,
    /// Requests that the kernel keeps for it at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// It turns, as it says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// `none`, `host-aware` or `host-managed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<String>,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystem {
    /// What it is.
    pub kind: String,
    /// What it is made of.
    pub source: String,
    /// Where it is mounted.
    pub point: String,
    /// With which options.
    pub options: String,
}

/// What a measurement at `path` stands on: a block device, or a file or folder on one.
#[cfg(target_os = "linux")]
pub fn of(path: &Path) -> Bench {
    taken(path, &System::here())
}

#[cfg(target_os = "linux")]
fn taken(path: &Path, system: &System) -> Bench {
    use std::os::unix::fs::MetadataExt;
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let device = system.number(&path).ok().flatten();
    let below = || Some(Number::of(std::fs::metadata(&path).ok()?.dev()));
    let mount = if device.is_none() { mount_of(&path, &system.mounts()) } else { None };
    let source = || system.number(Path::new(&mount.as_ref()?.source)).ok().flatten();
    let node = device.or_else(below).and_then(|number| system.node(number));
    // A file system of several devices has a number of its own: then what it names as its source.
    let node = node.or_else(|| system.node(source()?));
    let memory = system.text("proc/meminfo").unwrap_or_default();
    let available = memory.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    Bench {
        device: node.map(|node| of_device(&node)),
        file_system: mount.map(|Mount { point, kind, source, options, .. }| FileSystem {
            kind,
            source,
            point,
            options,
        }),
        kernel: system.text("proc/sys/kernel/osrelease"),
        governor: system.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load: system.text("proc/loadavg").and_then(|text| text.split(' ').next()?.parse().ok()),
        free_memory_mib: available
            .and_then(|text| text.trim().split(' ').next()?.parse::<u64>().ok())
            .map(|kib| kib >> 10),
    }
}

/// The mount that a path lies in: the one whose point is the longest of its beginnings, of several the last.
#[cfg(target_os = "linux")]
fn mount_of(path: &Path, mounts: &[Mount]) -> Option<Mount> {
    let in_it = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    in_it.max_by_key(|mount| Path::new(&mount.point).components().count()).cloned()
}

#[cfg(target_os = "linux")]
fn of_device(node: &Node) -> Device {
    let number = |word: &str| node.word(word).and_then(|text| text.parse::<u64>().ok());
    let chosen = |text: String| Some(text.split_once('[')?.1.split_once(']')?.0.to_owned());
    let serial = ["serial", "device/serial", "wwid", "device/wwid"].iter().find_map(|word| node.word(word));
    Device {
        name: node.name.clone(),
        model: node.word("device/model"),
        serial,
        firmware: node.word("device/rev").or_else(|| node.word("device/firmware_rev")),
        bytes: number("size").map(|sectors| sectors * 512),
        logical_sector: number("queue/logical_block_size"),
        physical_sector: number("queue/physical_block_size"),
        write_cache: node.word("queue/write_cache"),
        fua: number("queue/fua").map(|fua| fua != 0),
        scheduler: node.word("queue/scheduler").and_then(chosen),
        link: node.folders().find_map(link),
        queue_depth: number("device/queue_depth"),
        requests: number("queue/nr_requests"),
        rotational: number("queue/rotational").map(|turns| turns != 0),
        zones: node.word("queue/zoned"),
    }
}

/// What the link carries of a disk below this folder, where it is that of a SATA port (`ata1`): it says `6.0 Gbps`, of which
/// eight bits in ten are data (Serial ATA 3.0, 8b/10b coding).
#[cfg(target_os = "linux")]
fn link(port: &Path) -> Option<u64> {
    let number = port.file_name()?.to_str()?.strip_prefix("ata")?;
    let link = format!("link{number}");
    let said = std::fs::read_to_string(port.join(&link).join("ata_link").join(&link).join("sata_spd")).ok()?;
    let gigabits: f64 = said.trim().strip_suffix("Gbps")?.trim().parse().ok()?;
    Some((gigabits * 1e9 / 10.0).round() as u64)
}

impl Device {
    fn words(&self) -> String {
        let word = |text: &Option<String>| text.as_ref().map(|text| text.trim().to_owned());
        let zones = word(&self.zones).filter(|zones| zones != "none");
        let facts = [
            word(&self.model),
            word(&self.serial),
            self.bytes.map(|bytes| format!("{:.1} GB", bytes as f64 / 1e9)),
            self.logical_sector.zip(self.physical_sector).map(|(as_asked, real)| format!("sectors {as_asked}/{real}")),
            self.rotational.map(|turns| if turns { "rotating" } else { "not rotating" }.to_owned()),
            word(&self.write_cache).map(|cache| format!("cache {cache}")),
            self.fua.map(|fua| if fua { "FUA" } else { "no FUA" }.to_owned()),
            word(&self.scheduler).map(|scheduler| format!("scheduler {scheduler}")),
            self.link.map(|rate| format!("link {} MB/s", rate / 1_000_000)),
            self.queue_depth.map(|depth| format!("depth {depth}")),
            zones.map(|zones| format!("{zones} zones")),
        ];
        let facts: Vec<String> = facts.into_iter().flatten().collect();
        if facts.is_empty() { self.name.clone() } else { format!("{}: {}", self.name, facts.join(", ")) }
    }
}

impl Bench {
    /// The same with a hash in place of the serial number: equal disks stay equal, and which one it is stays at home.
    pub fn hashed(mut self) -> Bench {
        if let Some(serial) = self.device.as_mut().and_then(|device| device.serial.as_mut()) {
            let hash = Sha256::digest(serial.as_bytes());
            // As many digits as tell all disks of the world apart.
            let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            *serial = format!("sha256:{digits}");
        }
        self
    }

    /// In one line.
    pub fn words(&self) -> String {
        let device = self.device.as_ref().map(Device::words);
        let file = self.file_system.as_ref().map(|it| format!("{} on {} ({})", it.kind, it.point, it.options));
        let kernel = self.kernel.as_ref().map(|release| format!("kernel {release}"));
        let governor = self.governor.as_ref().map(|name| format!("governor {name}"));
        let load = self.load.map(|load| format!("load {load}"));
        let free = self.free_memory_mib.map(|mib| format!("{mib} MiB free"));
        let facts = [device, file, kernel, governor, load, free];
        facts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// All that is to be the same before and after, in words. Load and free memory are not: a run changes them itself.
    fn facts(&self) -> Vec<(&'static str, Option<String>)> {
        let device = self.device.clone().unwrap_or_default();
        let file = self.file_system.clone().unwrap_or_default();
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let switch = |on: Option<bool>| on.map(|on| if on { "yes" } else { "no" }.to_owned());
        vec![
            ("device", self.device.as_ref().map(|device| device.name.clone())),
            ("model", device.model),
            ("serial number", device.serial),
            ("firmware", device.firmware),
            ("bytes", number(device.bytes)),
            ("logical sector", number(device.logical_sector)),
            ("physical sector", number(device.physical_sector)),
            ("write cache", device.write_cache),
            ("FUA", switch(device.fua)),
            ("scheduler", device.scheduler),
            ("link's bytes a second", number(device.link)),
            ("queue depth", number(device.queue_depth)),
            ("requests at once", number(device.requests)),
            ("rotational", switch(device.rotational)),
            ("zones", device.zones),
            ("file system", self.file_system.as_ref().map(|file| file.kind.clone())),
            ("mounted from", self.file_system.as_ref().map(|_| file.source)),
            ("mount options", self.file_system.as_ref().map(|_| file.options)),
            ("kernel", self.kernel.clone()),
            ("governor", self.governor.clone()),
        ]
    }
}

/// What changed during a run, a sentence each.
pub fn changed(before: &Bench, after: &Bench) -> Vec<String> {
    let told = |fact: Option<String>| fact.map_or("not known".to_owned(), |fact| format!("`{fact}`"));
    let pairs = before.facts().into_iter().zip(after.facts());
    let differing = pairs.filter(|(before, after)| before.1 != after.1);
    differing
        .map(|((what, before), (_, after))| {
            format!("{what} changed during the run: it was {}, and is {}", told(before), told(after))
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
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
        let number = Number::of(fs::metadata(std::env::temp_dir()).unwrap().dev());
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
        let before = taken(&root, &System::at(&root));
        let device = before.device.clone().unwrap();
        assert_eq!((&*device.name, device.bytes, device.queue_depth), ("sda", Some(160_041_885_696), Some(31)));
        assert_eq!((device.scheduler.as_deref(), device.fua, device.zones), (Some("mq-deadline"), Some(false), None));
        assert_eq!((before.load, before.free_memory_mib), (Some(0.31), Some(1024)));
        assert_eq!(before.file_system.as_ref().map(|file| &*file.options), Some("rw,noatime,rw,barrier=1"));
        put(&root, "sys/block/sda/queue/scheduler", "[none] mq-deadline bfq");
        put(&root, "proc/loadavg", "1.90 0.10 0.05 1/123 4567");
        fs::remove_file(root.join("sys/block/sda/queue/rotational")).unwrap();
        let after = taken(&root, &System::at(&root));
        assert_eq!(
            changed(&before, &after),
            [
                "scheduler changed during the run: it was `mq-deadline`, and is `none`",
                "rotational changed during the run: it was `yes`, and is not known"
            ]
        );
        assert!(changed(&before, &before).is_empty());
        let hashed = before.clone().hashed().device.unwrap().serial.unwrap();
        assert!(hashed.starts_with("sha256:") && hashed.len() == 23 && !hashed.contains("5MT0"), "{hashed}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn the_link_is_that_of_the_port_above() {
        let root = std::env::temp_dir().join(format!("seekwise-link-{}", std::process::id()));
        put(&root, "pci0/ata3/link3/ata_link/link3/sata_spd", "3.0 Gbps");
        put(&root, "pci0/ata4/link4/ata_link/link4/sata_spd", "<unknown>");
        let of = |disk: &str| root.join(disk).ancestors().find_map(link);
        assert_eq!(of("pci0/ata3/host2/target2:0:0/2:0:0:0/block/sda"), Some(300_000_000));
        assert_eq!(of("pci0/ata4/host3/target3:0:0/3:0:0:0/block/sdb"), None);
        assert_eq!(of("pci0/virtio1/block/vda"), None);
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn this_machine_has_a_kernel() {
        let bench = of(Path::new("/"));
        assert!(bench.kernel.is_some() && bench.file_system.is_some(), "{bench:?}");
    }
}
