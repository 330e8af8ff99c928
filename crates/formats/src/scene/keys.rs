//! The keys of scenes.

use crate::figure::{Accepts, Figures, Key};
use crate::program;

/// What the keys of a scene begin with.
pub const ROOTS: [&str; 6] = ["system", "pagecache", "partitions", "device", "volume", "program"];

/// Keys of the system.
pub(super) static SYSTEM: &[Key] = &[Key::must(
    "family",
    "",
    Accepts::Word(&["windows-98", "windows-nt", "linux"]),
    "the system whose rules apply to calls, write-through handles and flushes",
)
.also(&["operating system", "os"])];

/// Keys of the page cache. What is left out is as the system has it.
pub(super) static PAGECACHE: &[Key] = &[
    Key::may("mib", "MiB", Accepts::Number(0.0, 1e7), "0, none", "memory for file pages").also(&["ram", "memory"]),
    Key::may(
        "read_ahead_kib",
        "KiB",
        Accepts::Whole(4, 1 << 20),
        "64 of Windows, 128 of Linux",
        "Windows: size of the granule that is read ahead of a sequential reader; Linux: maximum size of the read-ahead window",
    ),
    Key::may("dirty_percent", "%", Accepts::Whole(1, 100), "25 NT, 50 98, 20 Linux", "above it, writers are throttled"),
    Key::may("background_percent", "%", Accepts::Whole(0, 100), "10", "Linux: above it, the flusher writes back"),
    Key::may("wake_s", "s", Accepts::Number(0.001, 3600.0), "5", "Linux: wake-up interval of the flusher"),
    Key::may("expire_s", "s", Accepts::Number(0.001, 3600.0), "30", "Linux: age at which dirty pages are written back"),
    Key::may(
        "write_kib",
        "KiB",
        Accepts::Whole(4, 1 << 20),
        "64 of Windows, 4096 of Linux",
        "bytes written back per file at a time",
    ),
    Key::may("writers", "", Accepts::Whole(1, 256), "4 NT, 1 98, 4 Linux", "how many of these are in flight at once"),
    Key::may("call_us", "us", Accepts::Number(0.0, 1e4), "2", "processor time of a call"),
    Key::may("copy_mb_s", "MB/s", Accepts::Number(1.0, 1e6), "600", "rate of copying between program and cache"),
];

/// Keys of how volumes lie.
pub(super) static PARTITIONS: &[Key] = &[Key::may(
    "alignment",
    "",
    Accepts::Word(&["mebibytes", "cylinders"]),
    "mebibytes",
    "alignment to multiples of 1 MiB, as since 2007, or to cylinders of 255 x 63 sectors, where the first volume starts at sector 63",
)];

/// Keys of a device beside the drive: a flash stick on USB. What is inferred has its range beside it. Times: a command, its
/// data and its status each take a microframe of 125 us of high-speed USB at least (USB 2.0, 5.3; bulk-only transport 1.0,
/// 5), and the stick's controller reads or programs flash; measured sticks of the time lie between the bounds, writes of
/// little far apart. Rates: 480 Mbit/s leave 53 MB/s of bulk data (USB 2.0, table 5-10), of which host adapters had 30 to 35.
pub(super) static DEVICE: &[Key] = &[
    Key::must("size_gib", "GiB", Accepts::Number(0.001, 1e6), "capacity of the stick"),
    Key::may("read_ms", "ms", Accepts::Number(0.0, 1e4), "0.7", "fixed time of a read; inferred, 0.4 to 1.5"),
    Key::may("write_ms", "ms", Accepts::Number(0.0, 1e4), "3", "fixed time of a write; inferred, 1 to 30"),
    Key::may("read_mb_s", "MB/s", Accepts::Number(0.01, 1e5), "20", "read rate; inferred, 8 to 33 on USB 2.0"),
    Key::may("write_mb_s", "MB/s", Accepts::Number(0.01, 1e5), "8", "write rate; inferred, 3 to 20"),
    Key::may(
        "request_kib",
        "KiB",
        Accepts::Whole(4, 32_767),
        "64",
        "largest request: 64 in Windows' driver for USB storage, 120 in Linux's (`max_sectors` of usb-storage)",
    ),
];

/// Keys of a volume.
pub(super) static VOLUME: &[Key] = &[
    Key::must("fs", "", Accepts::Word(&["fat32", "ntfs", "ext4"]), "its file system").also(&["file system"]),
    Key::may("size_gib", "GiB", Accepts::Number(0.001, 1e6), "the rest of its device", "size of the volume"),
    Key::may("cluster", "bytes", Accepts::Whole(1, 1 << 20), "the formatter's default for the size", "cluster size"),
    Key::may("barrier", "", Accepts::Flag, "on", "ext4: flush and FUA write around each commit").also(&["barriers"]),
    Key::may("commit_s", "s", Accepts::Number(0.01, 3600.0), "5", "ext4: commit interval"),
    Key::may("files", "", Accepts::Whole(0, 10_000_000), "0", "number of existing files"),
    Key::may("total_mb", "MB", Accepts::Number(0.0, 1e8), "0", "total size of the existing files"),
    Key::may("spread", "", Accepts::Whole(0, 16), "0", "the largest file is up to 2 to this power times the smallest"),
    Key::may("directory_files", "", Accepts::Whole(1, 10_000_000), "100", "files per directory"),
    Key::may("fragments", "", Accepts::Number(1.0, 1000.0), "1", "average number of fragments of an existing file")
        .also(&["fragmentation"]),
    Key::may("gap_kib", "KiB", Accepts::Whole(1, 1 << 30), "1024", "largest gap between two fragments"),
];

/// Keys of any program beside its figures.
pub(super) static PROGRAM: &[Key] = &[
    Key::may("cold", "", Accepts::Flag, "off", "write all dirty data and empty the cache before it starts"),
    Key::may("sync", "", Accepts::Flag, "off", "wait at its end until all dirty data is written"),
    Key::may("background", "", Accepts::Flag, "off", "the scene does not wait for its end"),
];

/// The key of a volume that is a word of the scene's own.
pub(super) const DEVICE_OF: &str = "device";

/// Keys of a program that are words of the scene's own.
pub(super) const WORDS: [&str; 4] = ["name", "on", "to", "after"];

/// A key of a volume that means nothing for its file system, and the one that it belongs to.
pub(super) fn meaningless(fs: &str, it: &Figures<'_>) -> Option<(&'static str, &'static str)> {
    match fs {
        "ext4" => it.has("cluster").then_some(("cluster", "fat32 or ntfs")),
        _ => ["barrier", "commit_s"].into_iter().find(|key| it.has(key)).map(|key| (key, "ext4")),
    }
}

/// The keys of figures, with what they stand below.
pub(crate) fn sections() -> [(&'static str, &'static [Key]); 7] {
    [
        ("system", SYSTEM),
        ("pagecache", PAGECACHE),
        ("partitions", PARTITIONS),
        ("device.NAME", DEVICE),
        ("volume.NAME", VOLUME),
        ("program.NAME", PROGRAM),
        ("program.NAME", program::keys()),
    ]
}
