//! The keys of scenes: values, unit, default and meaning of each. [`super`] reads them. Defaults of the page cache are those of
//! each system, as `seekwise_work::files::pagecache` has them.

use seekwise_drives::figure::{Figures, KeyDomain, ProfileKey};

use crate::program;

/// The first parts of a scene's dotted keys.
pub const ROOTS: [&str; 6] = ["system", "pagecache", "partitions", "device", "volume", "program"];

/// Keys of the system.
pub(super) static SYSTEM: &[ProfileKey] = &[ProfileKey::must(
    "family",
    "",
    KeyDomain::Word(&["windows-98", "windows-nt", "linux"]),
    "the system whose rules apply to calls, write-through handles and flushes",
)
.also(&["operating system", "os"])];

/// Keys of the page cache; the defaults are the system's.
pub(super) static PAGECACHE: &[ProfileKey] = &[
    ProfileKey::may("mib", "MiB", KeyDomain::Number(0.0, 1e7), "0, none", "memory for file pages")
        .also(&["ram", "memory"]),
    ProfileKey::may(
        "read_ahead_kib",
        "KiB",
        KeyDomain::Whole(4, 1 << 20),
        "64 of Windows; of Linux 128, and two rows of an array",
        "Windows: size of the granule that is read ahead of a sequential reader; Linux: maximum size of the read-ahead window",
    ),
    ProfileKey::may(
        "dirty_percent",
        "%",
        KeyDomain::Whole(1, 100),
        "25 NT, 50 98, 20 Linux",
        "share of memory with dirty pages above which writers are throttled",
    ),
    ProfileKey::may(
        "background_percent",
        "%",
        KeyDomain::Whole(0, 100),
        "10",
        "Linux: share of memory with dirty pages above which the flusher writes back",
    ),
    ProfileKey::may("wake_s", "s", KeyDomain::Number(0.001, 3600.0), "5", "Linux: wake-up interval of the flusher"),
    ProfileKey::may(
        "expire_s",
        "s",
        KeyDomain::Number(0.001, 3600.0),
        "30",
        "Linux: age at which dirty pages are written back",
    ),
    ProfileKey::may(
        "write_kib",
        "KiB",
        KeyDomain::Whole(4, 1 << 20),
        "64 of Windows, 4096 of Linux",
        "bytes written back per file at a time",
    ),
    ProfileKey::may(
        "writers",
        "",
        KeyDomain::Whole(1, 256),
        "4 NT, 1 98, 4 Linux",
        "number of such write-backs in flight at once; of one file, Windows has one, Linux as many",
    ),
    ProfileKey::may("call_us", "us", KeyDomain::Number(0.0, 1e4), "2", "processor time of a call"),
    ProfileKey::may(
        "copy_mb_s",
        "MB/s",
        KeyDomain::Number(1.0, 1e6),
        "600",
        "rate of copying between program and cache",
    ),
];

/// Keys of the placement of volumes.
pub(super) static PARTITIONS: &[ProfileKey] = &[ProfileKey::may(
    "alignment",
    "",
    KeyDomain::Word(&["mebibytes", "cylinders"]),
    "mebibytes",
    "alignment to multiples of 1 MiB, as since 2007, or to cylinders of 255 x 63 sectors, where the first volume starts at sector 63",
)];

/// Keys of a device beside the drive: a flash stick on USB. Inferred figures state their range.
///
/// Times: a command, its data and its status each take a microframe of 125 us of high-speed USB at least (USB 2.0, 5.3;
/// bulk-only transport 1.0, 5), and then the stick's controller reads or programs flash. Measured sticks of the time lie within
/// the ranges; small writes differ most. Rates: 480 Mbit/s leave 53 MB/s of bulk data (USB 2.0, table 5-10), of which host
/// adapters had 30 to 35.
pub(super) static DEVICE: &[ProfileKey] = &[
    ProfileKey::must("size_gib", "GiB", KeyDomain::Number(0.001, 1e6), "capacity of the stick"),
    ProfileKey::may("read_ms", "ms", KeyDomain::Number(0.0, 1e4), "0.7", "fixed time of a read; inferred, 0.4 to 1.5"),
    ProfileKey::may("write_ms", "ms", KeyDomain::Number(0.0, 1e4), "3", "fixed time of a write; inferred, 1 to 30"),
    ProfileKey::may("read_mb_s", "MB/s", KeyDomain::Number(0.01, 1e5), "20", "read rate; inferred, 8 to 33 on USB 2.0"),
    ProfileKey::may("write_mb_s", "MB/s", KeyDomain::Number(0.01, 1e5), "8", "write rate; inferred, 3 to 20"),
    ProfileKey::may(
        "request_kib",
        "KiB",
        KeyDomain::Whole(4, 32_767),
        "64",
        "largest request: 64 in Windows' driver for USB storage, 120 in Linux's (`max_sectors` of usb-storage)",
    ),
];

/// Keys of a volume.
pub(super) static VOLUME: &[ProfileKey] = &[
    ProfileKey::must("fs", "", KeyDomain::Word(&["fat32", "ntfs", "ext4"]), "its file system").also(&["file system"]),
    ProfileKey::may("size_gib", "GiB", KeyDomain::Number(0.001, 1e6), "the rest of its device", "size of the volume"),
    ProfileKey::may(
        "cluster",
        "bytes",
        KeyDomain::Whole(1, 1 << 20),
        "the formatter's default for the size",
        "cluster size",
    ),
    ProfileKey::may("barrier", "", KeyDomain::Flag, "on", "ext4: flush and FUA write around each commit")
        .also(&["barriers"]),
    ProfileKey::may("commit_s", "s", KeyDomain::Number(0.01, 3600.0), "5", "ext4: commit interval"),
    ProfileKey::may("files", "", KeyDomain::Whole(0, 10_000_000), "0", "number of existing files"),
    ProfileKey::may("total_mb", "MB", KeyDomain::Number(0.0, 1e8), "0", "total size of the existing files"),
    ProfileKey::may(
        "spread",
        "",
        KeyDomain::Whole(0, 16),
        "0",
        "the largest file is up to 2 to this power times the smallest",
    ),
    ProfileKey::may("directory_files", "", KeyDomain::Whole(1, 10_000_000), "100", "files per directory"),
    ProfileKey::may(
        "fragments",
        "",
        KeyDomain::Number(1.0, 1000.0),
        "1",
        "average number of fragments of an existing file",
    )
    .also(&["fragmentation"]),
    ProfileKey::may("gap_kib", "KiB", KeyDomain::Whole(1, 1 << 30), "1024", "largest gap between two fragments"),
];

/// Keys of any program besides its figures.
pub(super) static PROGRAM: &[ProfileKey] = &[
    ProfileKey::may("cold", "", KeyDomain::Flag, "off", "write all dirty data and empty the cache before it starts"),
    ProfileKey::may("sync", "", KeyDomain::Flag, "off", "wait at its end until all dirty data is written"),
    ProfileKey::may("background", "", KeyDomain::Flag, "off", "the scene does not wait for its end"),
];

/// The key of a volume that names its device.
pub(super) const VOLUME_DEVICE: &str = "device";

/// Keys of a program whose values are names.
pub(super) const PROGRAM_NAME_KEYS: [&str; 4] = ["name", "on", "to", "after"];

/// A given key of a volume that has no effect with its file system `fs`, and the file systems that the key belongs to.
pub(super) fn find_key_without_effect(fs: &str, volume: &Figures<'_>) -> Option<(&'static str, &'static str)> {
    match fs {
        "ext4" => volume.is_given("cluster").then_some(("cluster", "fat32 or ntfs")),
        _ => ["barrier", "commit_s"].into_iter().find(|key| volume.is_given(key)).map(|key| (key, "ext4")),
    }
}

/// The keys of figures, each list after the prefix of its keys.
pub(crate) fn keys_by_prefix() -> [(&'static str, &'static [ProfileKey]); 7] {
    [
        ("system", SYSTEM),
        ("pagecache", PAGECACHE),
        ("partitions", PARTITIONS),
        ("device.NAME", DEVICE),
        ("volume.NAME", VOLUME),
        ("program.NAME", PROGRAM),
        ("program.NAME", program::figure_keys()),
    ]
}
