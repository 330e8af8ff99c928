//! The list of fio's I/O engines: which are supported, which are synchronous, which are refused and why. From `fio --enghelp` of
//! 3.33 and the manual of 3.42; "synchronous" as fio marks its engines.

/// How an engine's requests reach the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EngineMode {
    /// Up to the queue depth at once.
    Asynchronous,
    /// A single request at a time, regardless of the depth.
    Synchronous,
    /// Asynchronous on a character device (/dev/sg0), otherwise synchronous.
    ScsiGeneric,
    /// Not supported, for this reason.
    Refused(&'static str),
}
use EngineMode::{Asynchronous, Refused, ScsiGeneric, Synchronous};

/// An I/O engine of fio.
#[derive(Debug)]
pub(super) struct FioEngine {
    pub(super) name: &'static str,
    pub(super) mode: EngineMode,
    /// A warning about a difference from fio.
    pub(super) note: Option<&'static str>,
}

const fn engine(name: &'static str, mode: EngineMode) -> FioEngine {
    FioEngine { name, mode, note: None }
}

const fn engine_with_note(name: &'static str, mode: EngineMode, note: &'static str) -> FioEngine {
    FioEngine { name, mode, note: Some(note) }
}

const NETWORK: EngineMode = Refused("it measures a network or a remote store, not a drive");
const PROCESSOR: EngineMode = Refused("it loads the processor and issues nothing to a drive");
const METADATA: EngineMode = Refused("it measures calls of a file system, not a drive");
const MEMORY: EngineMode = Refused("it measures memory or raw flash, not a drive");
const GPU: EngineMode = Refused("it moves data to a graphics processor");
const LIBRARY: EngineMode = Refused("it drives devices through a library of its own");
const ZONED: EngineMode = Refused("zoned devices are not in this version");
const EXTERNAL: EngineMode = Refused("outside engines cannot be loaded here");

/// fio's default engine on Linux.
pub(super) const DEFAULT: &str = "psync";

#[rustfmt::skip]
pub(super) const ENGINES: &[FioEngine] = &[
    engine("psync", Synchronous), engine("sync", Synchronous), engine("vsync", Synchronous),
    engine("pvsync", Synchronous), engine("pvsync2", Synchronous),
    engine_with_note("mmap", Synchronous, "page faults are not modelled: requests have the block size"),
    engine_with_note("splice", Synchronous, "pipes are not modelled: requests go to the drive as they are"),
    engine("libaio", Asynchronous), engine("io_uring", Asynchronous), engine("io_uring_cmd", Asynchronous),
    engine("posixaio", Asynchronous), engine("solarisaio", Asynchronous), engine("windowsaio", Asynchronous),
    engine("sg", ScsiGeneric),
    engine_with_note("null", Asynchronous, "in fio it moves no data; here its requests go to the drive"),
    engine("net", NETWORK), engine("netsplice", NETWORK), engine("rdma", NETWORK), engine("rbd", NETWORK),
    engine("rados", NETWORK), engine("http", NETWORK), engine("gfapi", NETWORK), engine("gfapi_async", NETWORK),
    engine("libhdfs", NETWORK), engine("nbd", NETWORK), engine("nfs", NETWORK), engine("libiscsi", NETWORK),
    engine("dfs", NETWORK), engine("ime_psync", NETWORK), engine("ime_psyncv", NETWORK), engine("ime_aio", NETWORK),
    engine("librpma_apm_client", NETWORK), engine("librpma_apm_server", NETWORK),
    engine("librpma_gpspm_client", NETWORK), engine("librpma_gpspm_server", NETWORK),
    engine("cpuio", PROCESSOR), engine("exec", PROCESSOR), engine("page_fault", MEMORY),
    engine("ftruncate", METADATA), engine("falloc", METADATA), engine("e4defrag", METADATA),
    engine("filecreate", METADATA), engine("filestat", METADATA), engine("filedelete", METADATA),
    engine("dircreate", METADATA), engine("dirstat", METADATA), engine("dirdelete", METADATA),
    engine("pmemblk", MEMORY), engine("dev-dax", MEMORY), engine("libpmem", MEMORY), engine("mtd", MEMORY),
    engine("libcufile", GPU), engine("libhipfile", GPU),
    engine("xnvme", LIBRARY), engine("libblkio", LIBRARY), engine("spdk", EXTERNAL), engine("spdk_bdev", EXTERNAL),
    engine("libzbc", ZONED), engine("cpp_null", EXTERNAL), engine("external", EXTERNAL),
];

/// The engine of this name; a path or a shared object means the external engine.
pub(super) fn find_engine(name: &str) -> Option<&'static FioEngine> {
    let is_external = name.starts_with("external") || name.ends_with(".so") || name.contains('/');
    let name = if is_external { "external" } else { name };
    ENGINES.iter().find(|engine| engine.name == name)
}

/// True if the engine is not part of fio, so that its options are unknown.
pub(super) fn is_external(engine: &FioEngine) -> bool {
    engine.mode == EXTERNAL
}
