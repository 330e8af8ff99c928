//! The test environment of a measurement, as data: the device, its settings, the file system, the kernel and the
//! machine. `os/real` reads it before and after a run, and [`changes_between`] reports what changed meanwhile.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The test environment of a measurement. Facts that the system does not report are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestBench {
    /// The disk, or the partition of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceInfo>,
    /// The file system of the path; `None` for a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystemInfo>,
    /// The kernel's release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// How the kernel chooses the processor's clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Mean number of processes running or waiting for a disk over the last minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<f64>,
    /// Memory available to programs, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_memory_mib: Option<u64>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceInfo {
    /// The kernel's name.
    pub name: String,
    /// The model name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The serial number, or a hash of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes of a logical sector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_sector: Option<u64>,
    /// Bytes of a physical sector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_sector: Option<u64>,
    /// The kernel's view of the write cache: `write back` is flushed, `write through` is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// True if it has a command for forced writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fua: Option<bool>,
    /// The kernel's scheduler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<String>,
    /// For a SATA disk: bytes a second of its link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<u64>,
    /// Commands that it accepts at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_depth: Option<u64>,
    /// Requests that the kernel keeps for it at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// True if the device reports that it rotates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// `none`, `host-aware` or `host-managed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<String>,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystemInfo {
    /// The type, such as ext4.
    pub kind: String,
    /// The device or export that is mounted.
    pub source: String,
    /// Where it is mounted.
    pub point: String,
    /// The mount options.
    pub options: String,
}

impl DeviceInfo {
    fn one_line_summary(&self) -> String {
        let word = |text: &Option<String>| text.as_ref().map(|text| text.trim().to_owned());
        let zones = word(&self.zones).filter(|zones| zones != "none");
        let facts = [
            word(&self.model),
            word(&self.serial),
            self.bytes.map(|bytes| format!("{:.1} GB", bytes as f64 / 1e9)),
            self.logical_sector
                .zip(self.physical_sector)
                .map(|(logical, physical)| format!("sectors {logical}/{physical}")),
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

impl TestBench {
    /// Replaces the serial number by a hash: equal disks stay equal, and the number stays private.
    pub fn with_hashed_serial(mut self) -> TestBench {
        if let Some(serial) = self.device.as_mut().and_then(|device| device.serial.as_mut()) {
            let hash = Sha256::digest(serial.as_bytes());
            // 64 bits: enough to distinguish all disks of the world.
            let digits: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            *serial = format!("sha256:{digits}");
        }
        self
    }

    /// All facts in one line.
    pub fn one_line_summary(&self) -> String {
        let device = self.device.as_ref().map(DeviceInfo::one_line_summary);
        let file = self.file_system.as_ref().map(|it| format!("{} on {} ({})", it.kind, it.point, it.options));
        let kernel = self.kernel.as_ref().map(|release| format!("kernel {release}"));
        let governor = self.governor.as_ref().map(|name| format!("governor {name}"));
        let load = self.load.map(|load| format!("load {load}"));
        let free = self.free_memory_mib.map(|mib| format!("{mib} MiB free"));
        let facts = [device, file, kernel, governor, load, free];
        facts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The facts that must not change during a run, by name, in words. Load and free memory may: a run changes them
    /// itself.
    fn fixed_facts(&self) -> Vec<(&'static str, Option<String>)> {
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

/// The fixed facts that changed between two readings, a sentence for each.
pub fn changes_between(before: &TestBench, after: &TestBench) -> Vec<String> {
    let quoted = |fact: Option<String>| fact.map_or("not known".to_owned(), |fact| format!("`{fact}`"));
    let pairs = before.fixed_facts().into_iter().zip(after.fixed_facts());
    let differing = pairs.filter(|(before, after)| before.1 != after.1);
    differing
        .map(|((name, before), (_, after))| {
            format!("{name} changed during the run: it was {}, and is {}", quoted(before), quoted(after))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> TestBench {
        let word = |text: &str| Some(text.to_owned());
        let device = DeviceInfo {
            name: "sda".to_owned(),
            model: word("M"),
            serial: word("abc"),
            firmware: word("1"),
            bytes: Some(1_500_000_000),
            logical_sector: Some(512),
            physical_sector: Some(4096),
            write_cache: word("write back"),
            fua: Some(false),
            scheduler: word("none"),
            link: Some(600_000_000),
            queue_depth: Some(32),
            requests: Some(64),
            rotational: Some(true),
            zones: word("none"),
        };
        let file = FileSystemInfo {
            kind: "ext4".to_owned(),
            source: "/dev/sda".to_owned(),
            point: "/m".to_owned(),
            options: "rw".to_owned(),
        };
        TestBench {
            device: Some(device),
            file_system: Some(file),
            kernel: word("6"),
            governor: word("g"),
            load: Some(0.5),
            free_memory_mib: Some(9),
        }
    }

    /// Every figure but load and free memory, which a run changes itself.
    #[test]
    fn every_figure_that_changes_is_said_and_load_and_memory_are_not() {
        assert_eq!(changes_between(&bench(), &bench()), Vec::<String>::new());
        for (name, change) in CHANGES {
            let mut after = bench();
            change(&mut after);
            let said = changes_between(&bench(), &after);
            assert_eq!(said.len(), 1, "{name}: {said:?}");
            assert!(said[0].starts_with(&format!("{name} changed during the run: it was `")), "{}", said[0]);
        }
        let mut after = bench();
        (after.load, after.free_memory_mib) = (Some(9.0), None);
        assert_eq!(changes_between(&bench(), &after), Vec::<String>::new());
        after.kernel = None;
        assert_eq!(changes_between(&bench(), &after), ["kernel changed during the run: it was `6`, and is not known"]);
    }

    type BenchChange = (&'static str, fn(&mut TestBench));

    fn device(bench: &mut TestBench) -> &mut DeviceInfo {
        bench.device.as_mut().unwrap()
    }

    const CHANGES: [BenchChange; 18] = [
        ("device", |bench| device(bench).name = "sdb".to_owned()),
        ("model", |bench| device(bench).model = Some("N".to_owned())),
        ("serial number", |bench| device(bench).serial = None),
        ("firmware", |bench| device(bench).firmware = Some("2".to_owned())),
        ("bytes", |bench| device(bench).bytes = Some(1)),
        ("logical sector", |bench| device(bench).logical_sector = Some(4096)),
        ("physical sector", |bench| device(bench).physical_sector = Some(512)),
        ("write cache", |bench| device(bench).write_cache = Some("write through".to_owned())),
        ("FUA", |bench| device(bench).fua = Some(true)),
        ("scheduler", |bench| device(bench).scheduler = Some("bfq".to_owned())),
        ("link's bytes a second", |bench| device(bench).link = Some(300_000_000)),
        ("queue depth", |bench| device(bench).queue_depth = Some(31)),
        ("requests at once", |bench| device(bench).requests = Some(63)),
        ("rotational", |bench| device(bench).rotational = Some(false)),
        ("zones", |bench| device(bench).zones = Some("host-managed".to_owned())),
        ("mount options", |bench| bench.file_system.as_mut().unwrap().options = "ro".to_owned()),
        ("kernel", |bench| bench.kernel = Some("7".to_owned())),
        ("governor", |bench| bench.governor = None),
    ];

    #[test]
    fn a_bench_in_a_line_has_each_figure_in_its_unit() {
        assert_eq!(
            bench().one_line_summary(),
            "sda: M, abc, 1.5 GB, sectors 512/4096, rotating, cache write back, no FUA, scheduler none, link 600 MB/s, depth 32; \
             ext4 on /m (rw); kernel 6; governor g; load 0.5; 9 MiB free"
        );
        assert_eq!(TestBench::default().one_line_summary(), "");
    }

    /// SHA-256 of `abc`, the first example of FIPS 180-2.
    #[test]
    fn a_hashed_serial_number_is_the_same_for_the_same_disk_alone() {
        let hashed = |serial: &str| {
            let mut bench = bench();
            device(&mut bench).serial = Some(serial.to_owned());
            device(&mut bench.with_hashed_serial()).serial.clone().unwrap()
        };
        assert_eq!(hashed("abc"), "sha256:ba7816bf8f01cfea");
        assert_ne!(hashed("abd"), hashed("abc"));
        assert_eq!(TestBench::default().with_hashed_serial(), TestBench::default());
    }
}
