//! The engines of programs: the keys of each, and how its keys' figures become a program of the model (`seekwise_work::files`).

use seekwise_disk::time::Span;
use seekwise_work::files::call::OpenMode;
use seekwise_work::files::program::{
    BootSpec, CopySpec, DatabaseSpec, DefragmentSpec, DocumentSpec, FileSet, PlaybackSpec, ProgramSpec, RecordsSpec,
    RegistrySpec, ScanSpec, ScratchSpec, UnpackSpec,
};

use seekwise_drives::figure::{Figures, KeyDomain, ProfileKey};

/// An engine: a kind of program whose figures a program's file gives.
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
    /// The volume that the program runs on.
    pub on: u8,
    /// The volume that the program writes to, or that holds its log.
    pub to: u8,
}

// Ranges of values shared by several keys.
const COUNT: KeyDomain = KeyDomain::Whole(1, 10_000_000);
const COUNT_OR_ZERO: KeyDomain = KeyDomain::Whole(0, 10_000_000);
const TIME: KeyDomain = KeyDomain::Number(0.0, 1e6);
const SIZE: KeyDomain = KeyDomain::Number(0.001, 1e8);
const SIZE_OR_ZERO: KeyDomain = KeyDomain::Number(0.0, 1e8);
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
    COUNT_OR_ZERO,
    "number of files; 0 means the existing files of the volume, for a program that only reads",
);
const TOTAL: ProfileKey = must("total_mb", "MB", SIZE_OR_ZERO, "total size of the files");
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
        build: |figures, volumes| {
            ProgramSpec::Boot(BootSpec {
                volume: volumes.on,
                set: file_set(figures),
                phases: figures.count("phases"),
                reads: figures.count("phase_reads"),
                most: bytes_from_kib(figures, "most_kib"),
                ahead: figures.count("ahead"),
                time: figures.span("compute_ms"),
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
        build: |figures, volumes| {
            ProgramSpec::Copy(CopySpec {
                from: volumes.on,
                to: volumes.to,
                set: file_set(figures),
                block: bytes_from_kib(figures, "block_kib"),
                buffers: figures.count("buffers"),
                handle: open_mode(figures, "handle"),
                moves: figures.flag("move"),
                sync: figures.flag("sync_each"),
                file_time: figures.span("file_ms"),
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
            must("reads", "", COUNT_OR_ZERO, "pages that each transaction or record reads"),
            must("hit_percent", "%", PERCENT, "share of these that are in the database's memory"),
            must("writes", "", COUNT_OR_ZERO, "pages that each transaction or record writes"),
            must("record_bytes", "", KeyDomain::Whole(1, 1 << 24), "bytes of log per transaction"),
            must("group", "", KeyDomain::Flag, "one client flushes the log for all that wait").also(&["group commit"]),
            must("checkpoint_s", "s", TIME, "checkpoint interval; 0 means none"),
            must("spread_percent", "%", PERCENT, "share of the interval over which a checkpoint's writes are spread"),
            must("data_handle", "", HANDLES, "how the data files are opened"),
            must("log_handle", "", HANDLES, "how the log is opened"),
            COMPUTE,
            must("pause_ms", "ms", TIME, "pause of a client between transactions"),
        ],
        build: |figures, volumes| {
            let checkpoint_interval = Span::from_nanos((figures.number("checkpoint_s") * 1e9).round() as u64);
            ProgramSpec::Database(DatabaseSpec {
                volume: volumes.on,
                log: volumes.to,
                bytes: bytes_from_mb(figures, "data_mb"),
                log_bytes: bytes_from_mb(figures, "log_mb"),
                page: bytes_from_kib(figures, "page_kib"),
                log_block: figures.whole("log_block"),
                clients: figures.count("clients") as u16,
                commits: figures.count("commits"),
                reads: figures.count("reads"),
                hits: figures.count("hit_percent"),
                writes: figures.count("writes"),
                record: figures.whole("record_bytes"),
                group: figures.flag("group"),
                checkpoint: (checkpoint_interval > Span::ZERO).then_some(checkpoint_interval),
                spread: figures.count("spread_percent"),
                data_handle: open_mode(figures, "data_handle"),
                log_handle: open_mode(figures, "log_handle"),
                time: figures.span("compute_ms"),
                pause: figures.span("pause_ms"),
            })
        },
    },
    ProgramEngine {
        name: "defragment",
        description: "moves each fragmented file to a free run, chunk by chunk",
        operation: "a file",
        keys: &[FILES, TOTAL, SPREAD, DIRECTORY, FILE_MS, must("chunk_ms", "ms", TIME, "computing time per chunk")],
        build: |figures, volumes| {
            ProgramSpec::Defragment(DefragmentSpec {
                volume: volumes.on,
                set: file_set(figures),
                file_time: figures.span("file_ms"),
                chunk_time: figures.span("chunk_ms"),
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
            must("sync_directory", "", KeyDomain::Flag, "the directory is made durable after the renaming")
                .also(&["fsync"]),
            COMPUTE,
            must("pause_ms", "ms", TIME, "pause between saves"),
        ],
        build: |figures, volumes| {
            ProgramSpec::Document(DocumentSpec {
                volume: volumes.on,
                bytes: bytes_from_kib(figures, "document_kib"),
                block: bytes_from_kib(figures, "block_kib"),
                saves: figures.count("saves"),
                handle: open_mode(figures, "handle"),
                sync: figures.flag("sync_each"),
                sync_directory: figures.flag("sync_directory"),
                time: figures.span("compute_ms"),
                pause: figures.span("pause_ms"),
            })
        },
    },
    ProgramEngine {
        name: "playback",
        description: "issues requests to one file, synthesized from published counts",
        operation: "a run of requests",
        keys: &[
            must("span_mb", "MB", SIZE, "size of the file"),
            must("reads_sequential", "", COUNT_OR_ZERO, "sequential reads"),
            must("reads_random", "", COUNT_OR_ZERO, "random reads"),
            must("writes_sequential", "", COUNT_OR_ZERO, "sequential writes"),
            must("writes_random", "", COUNT_OR_ZERO, "random writes"),
            must("read_mb", "MB", SIZE_OR_ZERO, "total bytes read"),
            must("written_mb", "MB", SIZE_OR_ZERO, "total bytes written"),
            must("run", "", COUNT, "average run of consecutive requests of one kind"),
            HANDLE,
            COMPUTE,
        ],
        build: |figures, volumes| {
            let count_keys = ["reads_sequential", "reads_random", "writes_sequential", "writes_random"];
            ProgramSpec::Playback(PlaybackSpec {
                volume: volumes.on,
                span: bytes_from_mb(figures, "span_mb"),
                counts: count_keys.map(|key| figures.count(key)),
                bytes: [bytes_from_mb(figures, "read_mb"), bytes_from_mb(figures, "written_mb")],
                run: figures.count("run"),
                handle: open_mode(figures, "handle"),
                time: figures.span("compute_ms"),
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
            must("reads", "", COUNT_OR_ZERO, "pages that each transaction or record reads"),
            must("writes", "", COUNT_OR_ZERO, "pages that each transaction or record writes"),
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
        build: |figures, volumes| {
            ProgramSpec::Records(RecordsSpec {
                volume: volumes.on,
                tables: figures.count("tables"),
                table: bytes_from_mb(figures, "table_mb"),
                index: bytes_from_mb(figures, "index_mb"),
                records: figures.count("records"),
                transaction: figures.count("transaction"),
                reads: figures.count("reads"),
                writes: figures.count("writes"),
                flushes: figures.count("flushes"),
                bytes: figures.whole("write_bytes"),
                handle: open_mode(figures, "handle"),
                time: figures.span("compute_ms"),
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
        build: |figures, volumes| {
            ProgramSpec::Registry(RegistrySpec {
                volume: volumes.on,
                hives: figures.count("hives"),
                hive: bytes_from_mb(figures, "hive_mb"),
                flushes: figures.count("hive_flushes"),
                pages: figures.count("pages"),
                handle: open_mode(figures, "handle"),
                time: figures.span("compute_ms"),
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
        build: |figures, volumes| {
            ProgramSpec::Scan(ScanSpec {
                volume: volumes.on,
                set: file_set(figures),
                block: bytes_from_kib(figures, "block_kib"),
                head: bytes_from_kib(figures, "head_kib"),
                whole: figures.count("whole_percent"),
                handle: open_mode(figures, "handle"),
                file_time: figures.span("file_ms"),
                mebibyte_time: figures.span("mib_ms"),
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
            must("tiles", "", COUNT_OR_ZERO, "tiles that each operation reads back at random"),
            must("tile_kib", "KiB", KIB, "size of a tile"),
            HANDLE,
            COMPUTE,
        ],
        build: |figures, volumes| {
            ProgramSpec::Scratch(ScratchSpec {
                volume: volumes.on,
                bytes: bytes_from_mb(figures, "scratch_mb"),
                strokes: figures.count("strokes"),
                run: bytes_from_mb(figures, "run_mb"),
                block: bytes_from_kib(figures, "block_kib"),
                tiles: figures.count("tiles"),
                tile: bytes_from_kib(figures, "tile_kib"),
                handle: open_mode(figures, "handle"),
                time: figures.span("compute_ms"),
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
        build: |figures, volumes| {
            ProgramSpec::Unpack(UnpackSpec {
                volume: volumes.on,
                set: file_set(figures),
                packed: figures.count("packed_percent"),
                block: bytes_from_kib(figures, "block_kib"),
                handle: open_mode(figures, "handle"),
                sync: figures.flag("sync_each"),
                file_time: figures.span("file_ms"),
                mebibyte_time: figures.span("mib_ms"),
            })
        },
    },
];

/// The set of files that the figures `files`, `total_mb`, `spread` and `directory_files` describe.
pub(crate) fn file_set(figures: &Figures<'_>) -> FileSet {
    FileSet {
        files: figures.count("files"),
        bytes: bytes_from_mb(figures, "total_mb"),
        spread: figures.count("spread"),
        directory: figures.count("directory_files"),
    }
}

/// The figure `key`, in megabytes, as bytes.
fn bytes_from_mb(figures: &Figures<'_>, key: &str) -> u64 {
    (figures.number(key) * 1e6).round() as u64
}

/// The figure `key`, in KiB, as bytes of whole sectors of 512, at least one.
fn bytes_from_kib(figures: &Figures<'_>, key: &str) -> u64 {
    ((figures.number(key) * 2.0).round() as u64).max(1) * 512
}

/// The figure `key`, one of [`HANDLES`], as a mode of opening files.
fn open_mode(figures: &Figures<'_>, key: &str) -> OpenMode {
    match figures.word(key) {
        "write-through" => OpenMode::WriteThrough,
        "direct" => OpenMode::Direct,
        _ => OpenMode::Cached,
    }
}
