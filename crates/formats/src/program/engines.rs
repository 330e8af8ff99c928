//! The engines of programs: their keys, and how the model's programs are built from them.

use seekwise_disk::time::Span;
use seekwise_work::files::call::OpenMode;
use seekwise_work::files::program::{
    BootSpec, CopySpec, DatabaseSpec, DefragmentSpec, DocumentSpec, FileSet, PlaybackSpec, ProgramSpec, RecordsSpec,
    RegistrySpec, ScanSpec, ScratchSpec, UnpackSpec,
};

use seekwise_drives::figure::{Figures, KeyDomain, ProfileKey};

/// An engine.
pub(crate) struct ProgramEngine {
    pub name: &'static str,
    /// A description: a verb and its objects.
    pub description: &'static str,
    /// The name of an operation, such as `a commit`.
    pub operation: &'static str,
    /// The keys, all of which a program's file must have.
    pub keys: &'static [ProfileKey],
    /// Builds the program from its figures.
    pub build: fn(&Figures<'_>, ProgramVolumes) -> ProgramSpec,
}

/// The volumes of a program, by their indices in the scene.
#[derive(Clone, Copy)]
pub(crate) struct ProgramVolumes {
    /// The volume that it runs on.
    pub on: u8,
    /// The volume that it writes to.
    pub to: u8,
}

const COUNT: KeyDomain = KeyDomain::Whole(1, 10_000_000);
const MAYBE: KeyDomain = KeyDomain::Whole(0, 10_000_000);
const TIME: KeyDomain = KeyDomain::Number(0.0, 1e6);
const SIZE: KeyDomain = KeyDomain::Number(0.001, 1e8);
const ANY_SIZE: KeyDomain = KeyDomain::Number(0.0, 1e8);
const KIB: KeyDomain = KeyDomain::Number(0.5, 65_536.0);
const PERCENT: KeyDomain = KeyDomain::Whole(0, 100);
const HANDLES: KeyDomain = KeyDomain::Word(&["cached", "write-through", "direct"]);

const fn must(path: &'static str, unit: &'static str, accepts: KeyDomain, meaning: &'static str) -> ProfileKey {
    ProfileKey::must(path, unit, accepts, meaning)
}

// Keys shared by several engines.
const FILES: ProfileKey = must(
    "files",
    "",
    MAYBE,
    "number of files; 0 means the existing files of the volume, for a program that only reads",
);
const TOTAL: ProfileKey = must("total_mb", "MB", ANY_SIZE, "total size of the files");
const SPREAD: ProfileKey =
    must("spread", "", KeyDomain::Whole(0, 16), "the largest file is up to 2 to this power times the smallest");
const DIRECTORY: ProfileKey = must("directory_files", "", COUNT, "files per directory");
const BLOCK: ProfileKey = must("block_kib", "KiB", KIB, "size of each read and write").also(&["block size", "buffer"]);
const HANDLE: ProfileKey = must("handle", "", HANDLES, "how files are opened");
const SYNC: ProfileKey =
    must("sync_each", "", KeyDomain::Flag, "each file is made durable before it is closed").also(&["fsync"]);
const FILE_MS: ProfileKey = must("file_ms", "ms", TIME, "computing time per file").also(&["think time"]);
const MIB_MS: ProfileKey = must("mib_ms", "ms", TIME, "computing time per MiB");
const COMPUTE: ProfileKey = must("compute_ms", "ms", TIME, "computing time per operation").also(&["think time"]);

/// All engines.
pub(crate) static ENGINES: &[ProgramEngine] = &[
    ProgramEngine {
        name: "boot",
        description: "boots a system: phases of scattered reads, with or without prefetch",
        operation: "a phase",
        keys: &[
            FILES,
            TOTAL,
            SPREAD,
            DIRECTORY,
            must("phases", "", COUNT, "phases of the boot"),
            must("phase_reads", "", COUNT, "reads per phase"),
            must("most_kib", "KiB", KIB, "size of the largest read; the others are 4 KiB times smaller powers of two"),
            must(
                "ahead",
                "",
                KeyDomain::Whole(0, 1024),
                "reads in flight while a phase is prefetched; 0 means no prefetch",
            )
            .also(&["prefetch"]),
            COMPUTE,
        ],
        build: |it, on| {
            ProgramSpec::Boot(BootSpec {
                volume: on.on,
                set: file_set(it),
                phases: it.count("phases"),
                reads: it.count("phase_reads"),
                most: bytes_from_kib(it, "most_kib"),
                ahead: it.count("ahead"),
                time: it.span("compute_ms"),
            })
        },
    },
    ProgramEngine {
        name: "copy",
        description: "copies or moves files from the volume `on` to the volume `to`",
        operation: "a file",
        keys: &[
            FILES,
            TOTAL,
            SPREAD,
            DIRECTORY,
            BLOCK,
            must(
                "buffers",
                "",
                KeyDomain::Whole(0, 4096),
                "blocks that a reading thread may be ahead of the writer; 0 means that one thread does both",
            ),
            HANDLE,
            must("move", "", KeyDomain::Flag, "delete each source when its copy is closed"),
            SYNC,
            FILE_MS,
        ],
        build: |it, on| {
            ProgramSpec::Copy(CopySpec {
                from: on.on,
                to: on.to,
                set: file_set(it),
                block: bytes_from_kib(it, "block_kib"),
                buffers: it.count("buffers"),
                handle: open_mode(it, "handle"),
                moves: it.flag("move"),
                sync: it.flag("sync_each"),
                file_time: it.span("file_ms"),
            })
        },
    },
    ProgramEngine {
        name: "database",
        description: "commits transactions through a write-ahead log on the volume `to`, with its data on `on`",
        operation: "a commit",
        keys: &[
            must("data_mb", "MB", SIZE, "size of the data"),
            must("log_mb", "MB", SIZE, "size of the circular log"),
            must("page_kib", "KiB", KIB, "page size"),
            must("log_block", "", KeyDomain::Whole(512, 65_536), "block size of the log's writes"),
            must("clients", "", KeyDomain::Whole(1, 4096), "clients, each with one transaction at a time"),
            must("commits", "", COUNT, "total commits of all clients"),
            must("reads", "", MAYBE, "pages that each transaction or record reads"),
            must("hit_percent", "%", PERCENT, "share of these that are in the database's memory"),
            must("writes", "", MAYBE, "pages that each transaction or record writes"),
            must("record_bytes", "", KeyDomain::Whole(1, 1 << 24), "bytes of log per transaction"),
            must("group", "", KeyDomain::Flag, "one client flushes the log for all that wait").also(&["group commit"]),
            must("checkpoint_s", "s", TIME, "checkpoint interval; 0 means none"),
            must("spread_percent", "%", PERCENT, "share of the interval over which a checkpoint's writes are spread"),
            must("data_handle", "", HANDLES, "how the data files are opened"),
            must("log_handle", "", HANDLES, "how the log is opened"),
            COMPUTE,
            must("pause_ms", "ms", TIME, "pause of a client between transactions"),
        ],
        build: |it, on| {
            let every = Span::from_nanos((it.number("checkpoint_s") * 1e9).round() as u64);
            ProgramSpec::Database(DatabaseSpec {
                volume: on.on,
                log: on.to,
                bytes: bytes_from_mb(it, "data_mb"),
                log_bytes: bytes_from_mb(it, "log_mb"),
                page: bytes_from_kib(it, "page_kib"),
                log_block: it.whole("log_block"),
                clients: it.count("clients") as u16,
                commits: it.count("commits"),
                reads: it.count("reads"),
                hits: it.count("hit_percent"),
                writes: it.count("writes"),
                record: it.whole("record_bytes"),
                group: it.flag("group"),
                checkpoint: (every > Span::ZERO).then_some(every),
                spread: it.count("spread_percent"),
                data_handle: open_mode(it, "data_handle"),
                log_handle: open_mode(it, "log_handle"),
                time: it.span("compute_ms"),
                pause: it.span("pause_ms"),
            })
        },
    },
    ProgramEngine {
        name: "defragment",
        description: "moves each fragmented file to a free run, chunk by chunk",
        operation: "a file",
        keys: &[FILES, TOTAL, SPREAD, DIRECTORY, FILE_MS, must("chunk_ms", "ms", TIME, "computing time per chunk")],
        build: |it, on| {
            ProgramSpec::Defragment(DefragmentSpec {
                volume: on.on,
                set: file_set(it),
                file_time: it.span("file_ms"),
                chunk_time: it.span("chunk_ms"),
            })
        },
    },
    ProgramEngine {
        name: "document",
        description: "saves a document from time to time: writes a new file, deletes the old one, renames the new one",
        operation: "a save",
        keys: &[
            must("document_kib", "KiB", KeyDomain::Number(0.5, 1e7), "size of the document"),
            BLOCK,
            must("saves", "", COUNT, "saves"),
            HANDLE,
            SYNC,
            COMPUTE,
            must("pause_ms", "ms", TIME, "pause between saves"),
        ],
        build: |it, on| {
            ProgramSpec::Document(DocumentSpec {
                volume: on.on,
                bytes: bytes_from_kib(it, "document_kib"),
                block: bytes_from_kib(it, "block_kib"),
                saves: it.count("saves"),
                handle: open_mode(it, "handle"),
                sync: it.flag("sync_each"),
                time: it.span("compute_ms"),
                pause: it.span("pause_ms"),
            })
        },
    },
    ProgramEngine {
        name: "playback",
        description: "issues requests to one file, synthesized from published counts",
        operation: "a run of requests",
        keys: &[
            must("span_mb", "MB", SIZE, "size of the file"),
            must("reads_sequential", "", MAYBE, "sequential reads"),
            must("reads_random", "", MAYBE, "random reads"),
            must("writes_sequential", "", MAYBE, "sequential writes"),
            must("writes_random", "", MAYBE, "random writes"),
            must("read_mb", "MB", ANY_SIZE, "total bytes read"),
            must("written_mb", "MB", ANY_SIZE, "total bytes written"),
            must("run", "", COUNT, "average run of consecutive requests of one kind"),
            HANDLE,
            COMPUTE,
        ],
        build: |it, on| {
            let counts = ["reads_sequential", "reads_random", "writes_sequential", "writes_random"];
            ProgramSpec::Playback(PlaybackSpec {
                volume: on.on,
                span: bytes_from_mb(it, "span_mb"),
                counts: counts.map(|key| it.count(key)),
                bytes: [bytes_from_mb(it, "read_mb"), bytes_from_mb(it, "written_mb")],
                run: it.count("run"),
                handle: open_mode(it, "handle"),
                time: it.span("compute_ms"),
            })
        },
    },
    ProgramEngine {
        name: "records",
        description: "posts records to tables and indexes, one by one or many in a transaction",
        operation: "a record, or a transaction",
        keys: &[
            must("tables", "", KeyDomain::Whole(1, 10_000), "tables, each with an index"),
            must("table_mb", "MB", SIZE, "size of a table"),
            must("index_mb", "MB", SIZE, "size of an index"),
            must("records", "", COUNT, "records"),
            must("transaction", "", COUNT, "records per transaction; 1 means each by itself"),
            must("reads", "", MAYBE, "pages that each transaction or record reads"),
            must("writes", "", MAYBE, "pages that each transaction or record writes"),
            must(
                "flushes",
                "",
                KeyDomain::Whole(0, 1000),
                "writes of a record that are followed by a flush; for a transaction, files that are flushed at its end",
            ),
            must("write_bytes", "", KeyDomain::Whole(512, 1 << 20), "size of a write"),
            HANDLE,
            COMPUTE,
        ],
        build: |it, on| {
            ProgramSpec::Records(RecordsSpec {
                volume: on.on,
                tables: it.count("tables"),
                table: bytes_from_mb(it, "table_mb"),
                index: bytes_from_mb(it, "index_mb"),
                records: it.count("records"),
                transaction: it.count("transaction"),
                reads: it.count("reads"),
                writes: it.count("writes"),
                flushes: it.count("flushes"),
                bytes: it.whole("write_bytes"),
                handle: open_mode(it, "handle"),
                time: it.span("compute_ms"),
            })
        },
    },
    ProgramEngine {
        name: "registry",
        description: "flushes registry hives through their logs",
        operation: "a hive flush",
        keys: &[
            must("hives", "", KeyDomain::Whole(1, 1000), "hives, each with a log"),
            must("hive_mb", "MB", SIZE, "size of a hive"),
            must("hive_flushes", "", COUNT, "total hive flushes"),
            must("pages", "", COUNT, "pages that each flush writes"),
            HANDLE,
            COMPUTE,
        ],
        build: |it, on| {
            ProgramSpec::Registry(RegistrySpec {
                volume: on.on,
                hives: it.count("hives"),
                hive: bytes_from_mb(it, "hive_mb"),
                flushes: it.count("hive_flushes"),
                pages: it.count("pages"),
                handle: open_mode(it, "handle"),
                time: it.span("compute_ms"),
            })
        },
    },
    ProgramEngine {
        name: "scan",
        description: "reads the start of each file, and some files to the end",
        operation: "a file",
        keys: &[
            FILES,
            TOTAL,
            SPREAD,
            DIRECTORY,
            BLOCK,
            must("head_kib", "KiB", KIB, "bytes read from the start of each file"),
            must("whole_percent", "%", PERCENT, "share of files that are read to the end"),
            HANDLE,
            FILE_MS,
            MIB_MS,
        ],
        build: |it, on| {
            ProgramSpec::Scan(ScanSpec {
                volume: on.on,
                set: file_set(it),
                block: bytes_from_kib(it, "block_kib"),
                head: bytes_from_kib(it, "head_kib"),
                whole: it.count("whole_percent"),
                handle: open_mode(it, "handle"),
                file_time: it.span("file_ms"),
                mebibyte_time: it.span("mib_ms"),
            })
        },
    },
    ProgramEngine {
        name: "scratch",
        description: "writes parts of an image to a scratch file, and reads tiles back",
        operation: "a stroke",
        keys: &[
            must("scratch_mb", "MB", SIZE, "size of the scratch file"),
            must("strokes", "", COUNT, "strokes"),
            must("run_mb", "MB", SIZE, "bytes that each operation writes sequentially"),
            BLOCK,
            must("tiles", "", MAYBE, "tiles that each operation reads back at random"),
            must("tile_kib", "KiB", KIB, "size of a tile"),
            HANDLE,
            COMPUTE,
        ],
        build: |it, on| {
            ProgramSpec::Scratch(ScratchSpec {
                volume: on.on,
                bytes: bytes_from_mb(it, "scratch_mb"),
                strokes: it.count("strokes"),
                run: bytes_from_mb(it, "run_mb"),
                block: bytes_from_kib(it, "block_kib"),
                tiles: it.count("tiles"),
                tile: bytes_from_kib(it, "tile_kib"),
                handle: open_mode(it, "handle"),
                time: it.span("compute_ms"),
            })
        },
    },
    ProgramEngine {
        name: "unpack",
        description: "writes files, from an archive or generated",
        operation: "a file",
        keys: &[
            FILES,
            TOTAL,
            SPREAD,
            DIRECTORY,
            must(
                "packed_percent",
                "%",
                PERCENT,
                "size of the archive as a percentage of the files; 0 means no archive",
            ),
            BLOCK,
            HANDLE,
            SYNC,
            FILE_MS,
            MIB_MS,
        ],
        build: |it, on| {
            ProgramSpec::Unpack(UnpackSpec {
                volume: on.on,
                set: file_set(it),
                packed: it.count("packed_percent"),
                block: bytes_from_kib(it, "block_kib"),
                handle: open_mode(it, "handle"),
                sync: it.flag("sync_each"),
                file_time: it.span("file_ms"),
                mebibyte_time: it.span("mib_ms"),
            })
        },
    },
];

/// A set of files.
pub(crate) fn file_set(it: &Figures<'_>) -> FileSet {
    FileSet {
        files: it.count("files"),
        bytes: bytes_from_mb(it, "total_mb"),
        spread: it.count("spread"),
        directory: it.count("directory_files"),
    }
}

/// Megabytes as bytes.
fn bytes_from_mb(it: &Figures<'_>, key: &str) -> u64 {
    (it.number(key) * 1e6).round() as u64
}

/// KiB as bytes, rounded to whole sectors and at least one.
fn bytes_from_kib(it: &Figures<'_>, key: &str) -> u64 {
    ((it.number(key) * 2.0).round() as u64).max(1) * 512
}

fn open_mode(it: &Figures<'_>, key: &str) -> OpenMode {
    match it.word(key) {
        "write-through" => OpenMode::WriteThrough,
        "direct" => OpenMode::Direct,
        _ => OpenMode::Cached,
    }
}
