//! The list of all options that fio knows, and the treatment of each: honoured, a label, harmless here, or refused with the
//! reason.
//!
//! `settings` applies the options. The list is from `fio --cmdhelp` of 3.33, the manual (options of later versions, to 3.42) and
//! `fio --enghelp` (options of the engines).

use super::value::OptionType;
use super::value::OptionType::*;

/// The treatment of an option.
#[derive(Clone, Copy, Debug)]
pub(super) enum OptionFate {
    /// Shapes the job.
    Honoured,
    /// Kept for the result; shapes nothing.
    Label,
    /// Cannot change the figures of a modelled drive, for this reason: a warning.
    Harmless(&'static str),
    /// Not in this version: an error, unless it is zero, `none`, or one of these words.
    Refused(&'static str, &'static [&'static str]),
}
use OptionFate::{Harmless, Honoured, Label, Refused};

/// An option of fio.
#[derive(Debug)]
pub(super) struct OptionSpec {
    pub(super) name: &'static str,
    pub(super) alias: &'static str,
    pub(super) kind: OptionType,
    pub(super) fate: OptionFate,
}

const fn option(name: &'static str, alias: &'static str, kind: OptionType, fate: OptionFate) -> OptionSpec {
    OptionSpec { name, alias, kind, fate }
}

/// Largest count.
const MANY: i64 = u32::MAX as i64;
/// Requests in flight of a worker: more than any queue of the field, and a job of many such workers still fits.
const MOST_DEPTH: i64 = 65_535;
/// Largest size.
const VAST: i64 = i64::MAX;
/// A bare number is seconds.
const SECONDS: OptionType = Time(1_000_000);
/// A bare number is microseconds.
const MICROSECONDS: OptionType = Time(1);

// Why an option is harmless.
const HOST: OptionFate = Harmless("it concerns the host's processors, memory or scheduling, not the drive");
const REPORT: OptionFate = Harmless("it shapes fio's own report; results here have a form of their own");
const LOG: OptionFate = Harmless("fio's log files are not written; this program has a log of its own");
const BYTES: OptionFate = Harmless("what the bytes are makes no difference to the drive");
const CACHE: OptionFate = Harmless("the page cache (`pagecache.mib`) takes no such hint in this version");
const FILES: OptionFate = Harmless("files are laid out on the drive before the run, and nothing is created or removed");
const VERIFY: OptionFate = Harmless("how fio checks what it reads back makes no difference to the drive");
const ZONED: OptionFate = Harmless("drives here have no limit of open zones of their own");
const AT_ONCE: OptionFate = Harmless("here requests reach the drive at once");
const ALONE: OptionFate = Harmless("it does nothing without the option it belongs to, which is refused by itself");
const SYSTEM: OptionFate = Harmless("it acts on the operating system, which is not part of the run");

// Why an option is refused.
const MERGED: OptionFate = Refused("traces are not merged in this version", &[]);
const SKIPPED: OptionFate = Refused("it leaves requests out of blktrace's traces, and no log of fio's", &["none"]);
const CHUNKED: OptionFate = Harmless("a log is always read while it is played");
const LATENCY: OptionFate = Refused("the depth of a worker is fixed here; it is not steered by a latency", &[]);
const DATA_PLACEMENT: OptionFate = Refused("data placement is a matter of flash devices", &[]);
const FLOOR: OptionFate = Refused("a job is not stopped for falling below a rate in this version", &[]);
const BY_CODE: OptionFate = Refused("an outside program cannot be part of a repeatable run", &[]);

const DIRECTIONS: OptionType = Word(&[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
]);
const CHECKS: OptionType = Word(&[
    "0",
    "none",
    "md5",
    "crc64",
    "crc32",
    "crc32c-intel",
    "crc32c",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "pattern_hdr",
    "null",
]);
const DISTRIBUTIONS: OptionType =
    Word(&["random", "zipf", "pareto", "normal", "gauss", "zoned", "zoned_abs", "sequence"]);

/// All options that are not an engine's own.
#[rustfmt::skip]
pub(super) const OPTIONS: &[OptionSpec] = &[
    // Names and files.
    option("description", "", Text, Label),
    option("name", "", Text, Honoured),
    option("filename", "", Text, Honoured),
    option("directory", "", Text, Honoured),
    option("filename_format", "", Any, Honoured),
    option("unique_filename", "", Switch, FILES),
    option("lockfile", "", Word(&["none", "exclusive", "readwrite"]),
        Refused("workers do not wait for one another's files in this version", &[])),
    option("opendir", "", Text, Refused("a directory of the host cannot be laid out on a modelled drive", &[])),
    option("nrfiles", "nr_files", Int(1, 1_000_000), Honoured),
    option("openfiles", "", Int(0, MANY), Honoured),
    option("file_service_type", "",
        Word(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]), Honoured),
    option("size", "", Size, Honoured),
    option("io_size", "io_limit", Size, Honoured),
    option("filesize", "", SizeRange, Honoured),
    option("offset", "fileoffset", Size, Honoured),
    option("offset_increment", "", Size, Honoured),
    option("offset_align", "", Int(0, VAST), Honoured),
    option("number_ios", "", Int(0, VAST), Honoured),
    option("fill_device", "fill_fs", Switch, Honoured),
    option("file_append", "", Switch, Refused("files do not grow in this version", &[])),
    option("fallocate", "", Word(&["none", "native", "posix", "keep", "truncate", "0", "1"]), FILES),
    option("fadvise_hint", "", Word(&["0", "1", "random", "sequential", "noreuse"]), CACHE),
    option("overwrite", "", Switch, FILES),
    option("create_serialize", "", Switch, FILES),
    option("create_fsync", "", Switch, FILES),
    option("create_on_open", "", Switch, FILES),
    option("create_only", "", Switch, Refused("it asks only for files to be made, and there is nothing to measure", &[])),
    option("allow_file_create", "", Switch, FILES),
    option("allow_mounted_write", "", Switch, FILES),
    option("unlink", "", Switch, FILES),
    option("unlink_each_loop", "", Switch, FILES),
    // Direction, sizes, places.
    option("rw", "readwrite", DIRECTIONS, Honoured),
    option("rw_sequencer", "", Word(&["sequential", "identical"]), Honoured),
    option("rwmixread", "", Int(0, 100), Honoured),
    option("rwmixwrite", "", Int(0, 100), Honoured),
    option("bs", "blocksize", Ints(1, MANY), Honoured),
    option("bsrange", "blocksize_range", Ranges, Honoured),
    option("bssplit", "", Text, Honoured),
    option("ba", "blockalign", Ints(1, MANY), Honoured),
    option("bs_unaligned", "blocksize_unaligned", Flag, Honoured),
    option("bs_is_seq_rand", "", Switch, Honoured),
    option("percentage_random", "", Ints(0, 100), Honoured),
    option("random_distribution", "", DISTRIBUTIONS, Honoured),
    option("random_generator", "", Word(&["tausworthe", "lfsr", "tausworthe64"]), Honoured),
    option("norandommap", "", Flag, Honoured),
    option("softrandommap", "", Switch, Harmless("the random map always finds room here")),
    option("randrepeat", "", Switch, Honoured),
    option("allrandrepeat", "", Switch, Harmless("all random streams are repeatable here")),
    option("randseed", "", Seed, Honoured),
    option("random_sequence_stride", "", Int(0, VAST), ALONE),
    option("num_range", "", Int(0, MANY), Refused("a trim covers one range here", &["1"])),
    option("zonemode", "", Word(&["none", "strided", "zbd"]), Honoured),
    option("zonesize", "", Size, Honoured),
    option("zonerange", "", Size, Honoured),
    option("zoneskip", "", Size, Honoured),
    option("zonecapacity", "", Size, Honoured),
    option("read_beyond_wp", "", Switch, Honoured),
    option("max_open_zones", "", Int(0, 4096), Honoured),
    option("job_max_open_zones", "", Int(0, 4096), Honoured),
    option("ignore_zone_limits", "", Switch, ZONED),
    option("zone_reset_threshold", "", Decimals(1), Honoured),
    option("zone_reset_frequency", "", Decimals(1), Honoured),
    option("sprandom", "", Switch, Refused("it prepares flash devices", &[])),
    option("spr_op", "", Decimals(1), ALONE),
    option("spr_num_regions", "", Int(0, MANY), ALONE),
    option("spr_cache_size", "", Size, ALONE),
    option("fdp", "", Switch, DATA_PLACEMENT),
    option("fdp_pli", "plids", Text, ALONE),
    option("fdp_pli_select", "plid_select", Text, ALONE),
    option("dataplacement", "", Word(&["none", "fdp", "streams"]), DATA_PLACEMENT),
    option("dp_scheme", "", Text, ALONE),
    // Engine and concurrency.
    option("ioengine", "", Text, Honoured),
    option("iodepth", "", Int(1, MOST_DEPTH), Honoured),
    option("iodepth_batch", "iodepth_batch_submit", Int(0, MANY), AT_ONCE),
    option("iodepth_batch_complete_min", "iodepth_batch_complete", Int(0, MANY), Honoured),
    option("iodepth_batch_complete_max", "", Int(0, MANY), Honoured),
    option("iodepth_low", "", Int(0, MANY), Honoured),
    option("serialize_overlap", "", Switch, Honoured),
    option("io_submit_mode", "", Word(&["inline", "offload"]), Honoured),
    option("numjobs", "", Int(1, 65_535), Honoured),
    option("thread", "threads", Flag, HOST),
    option("stonewall", "wait_for_previous", Flag, Honoured),
    option("new_group", "", Flag, Honoured),
    option("group_reporting", "", Flag, Honoured),
    option("wait_for", "", Text,
        Refused("a job cannot wait for one other job here; stonewall waits for all before it", &[])),
    option("exitall", "", Flag, Refused("the end of one worker does not end the others in this version", &[])),
    option("exit_what", "", Word(&["group", "stonewall", "all"]), ALONE),
    option("exitall_on_error", "", Flag, Harmless("the error of one worker does not end the others in this version")),
    option("flow", "", Int(0, 1000), Honoured),
    option("flow_id", "", Int(0, MANY), Honoured),
    option("flow_sleep", "", Int(0, MANY), Honoured),
    // Caching and durability.
    option("direct", "", Switch, Honoured),
    option("buffered", "", Switch, Honoured),
    option("atomic", "", Switch, Refused("drives here have no atomic writes", &[])),
    option("sync", "", Word(&["none", "0", "sync", "1", "dsync"]), Honoured),
    option("fsync", "", Int(0, MANY), Honoured),
    option("fdatasync", "", Int(0, MANY), Honoured),
    option("write_barrier", "", Int(0, MANY), Refused("there are no barrier writes; fsync flushes", &[])),
    option("sync_file_range", "", Text, CACHE),
    option("end_fsync", "", Switch, Honoured),
    option("end_syncfs", "", Switch, Refused("there is no file system to synchronise; end_fsync flushes the drive", &[])),
    option("fsync_on_close", "", Switch, Honoured),
    option("invalidate", "", Switch, Honoured),
    option("pre_read", "", Switch, CACHE),
    option("write_hint", "", Word(&["none", "short", "medium", "long", "extreme"]),
        Harmless("a hard disk makes no use of the life time of data")),
    // Duration and pace.
    option("runtime", "timeout", SECONDS, Honoured),
    option("time_based", "", Flag, Honoured),
    option("ramp_time", "", SECONDS, Honoured),
    option("ramp_size", "", Size, Refused("a ramp is a time in this version", &[])),
    option("startdelay", "", TimeRange(1_000_000), Honoured),
    option("loops", "", Int(0, MANY), Honoured),
    option("thinktime", "", MICROSECONDS, Honoured),
    option("thinktime_spin", "", MICROSECONDS, Honoured),
    option("thinktime_blocks", "", Int(1, MANY), Honoured),
    option("thinktime_blocks_type", "", Word(&["complete", "issue"]), Honoured),
    option("thinktime_iotime", "", SECONDS, Refused("think time is counted in blocks here, not in time", &[])),
    option("rate", "", Ints(0, VAST), Honoured),
    option("rate_iops", "", Ints(0, MANY), Honoured),
    option("rate_min", "ratemin", Ints(0, VAST), FLOOR),
    option("rate_iops_min", "", Ints(0, MANY), FLOOR),
    option("rate_process", "", Word(&["linear", "poisson"]), Honoured),
    option("rate_cycle", "ratecycle", Int(0, MANY), ALONE),
    option("rate_ignore_thinktime", "", Switch, Honoured),
    option("max_latency", "", Ints(0, VAST), Refused("a run is not stopped for a slow request in this version", &[])),
    option("latency_target", "", MICROSECONDS, LATENCY),
    option("latency_window", "", MICROSECONDS, ALONE),
    option("latency_percentile", "", Decimals(100), ALONE),
    option("latency_run", "", Switch, ALONE),
    option("steadystate", "ss",
        Word(&["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"]), ALONE),
    option("steadystate_duration", "ss_dur", SECONDS,
        Refused("a run does not end at steady state in this version; take the option out and give a runtime", &[])),
    option("steadystate_ramp_time", "ss_ramp", SECONDS, ALONE),
    option("steadystate_check_interval", "ss_interval", SECONDS, ALONE),
    // Verification.
    option("verify", "", CHECKS, Honoured),
    option("do_verify", "", Switch, Honoured),
    option("verify_only", "", Flag, Refused("what an earlier run wrote is not known here", &[])),
    option("verify_backlog", "", Int(0, VAST), Honoured),
    option("verify_backlog_batch", "", Int(0, MANY), Honoured),
    option("verify_interval", "", Int(0, MANY), VERIFY),
    option("verify_offset", "", Int(0, MANY), VERIFY),
    option("verify_pattern", "", Text, VERIFY),
    option("verify_pattern_interval", "", Switch, VERIFY),
    option("verify_fatal", "", Switch, VERIFY),
    option("verify_dump", "", Switch, VERIFY),
    option("verify_async", "", Int(0, MANY), VERIFY),
    option("verify_async_cpus", "", Text, VERIFY),
    option("verify_state_load", "", Switch,
        Harmless("no earlier run's state is read: all is read back, as after a run that came to its end")),
    option("verify_state_save", "", Switch, VERIFY),
    option("verify_write_sequence", "", Switch, VERIFY),
    option("verify_header_seed", "", Switch, VERIFY),
    option("experimental_verify", "", Switch, VERIFY),
    option("trim_percentage", "", Int(0, 100), Refused("verified blocks are not trimmed in this version", &[])),
    option("trim_verify_zero", "", Switch, ALONE),
    option("trim_backlog", "", Int(0, VAST), ALONE),
    option("trim_backlog_batch", "", Int(0, MANY), ALONE),
    // Traces.
    option("write_iolog", "", Text, Honoured),
    option("read_iolog", "", Text, Honoured),
    option("read_iolog_chunked", "", Switch, CHUNKED),
    option("replay_no_stall", "", Switch, Honoured),
    option("replay_redirect", "", Text, Honoured),
    option("replay_scale", "", Int(0, MANY), Honoured),
    option("replay_align", "", Int(0, MANY), Honoured),
    option("replay_time_scale", "", Int(1, 1_000_000), Honoured),
    option("replay_skip", "", Text, SKIPPED),
    option("merge_blktrace_file", "", Text, MERGED),
    option("merge_blktrace_scalars", "", Decimals(1_000_000), ALONE),
    option("merge_blktrace_iters", "", Decimals(1_000_000), ALONE),
    // The host.
    option("exec_prerun", "", Text, BY_CODE),
    option("exec_postrun", "", Text, BY_CODE),
    option("ioscheduler", "", Text, SYSTEM),
    option("clocksource", "", Word(&["gettimeofday", "clock_gettime", "cpu"]), HOST),
    option("mem", "iomem",
        Word(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"]), HOST),
    option("iomem_align", "mem_align", Int(0, MANY), HOST),
    option("hugepage-size", "", Int(0, VAST), HOST),
    option("lockmem", "", Size, HOST),
    option("nice", "", Int(-20, 19), HOST),
    option("prio", "", Int(0, 7), HOST),
    option("prioclass", "", Int(0, 3), HOST),
    option("priohint", "", Int(0, 1023), HOST),
    option("cpumask", "", Int(0, VAST), HOST),
    option("cpus_allowed", "", Text, HOST),
    option("cpus_allowed_policy", "", Word(&["shared", "split"]), HOST),
    option("numa_cpu_nodes", "", Text, HOST),
    option("numa_mem_policy", "", Text, HOST),
    option("cgroup", "", Text, HOST),
    option("cgroup_weight", "", Int(100, 1000), HOST),
    option("cgroup_nodelete", "", Switch, HOST),
    option("uid", "", Int(0, MANY), HOST),
    option("gid", "", Int(0, MANY), HOST),
    option("gtod_cpu", "", Int(0, MANY), HOST),
    option("gpu_dev_id", "", Int(0, MANY), HOST),
    option("profile", "", Text, Refused("fio's built-in profiles are not in this version", &[])),
    option("ignore_error", "", Any, Harmless("the errors it names are those of other engines; what fails here is the medium")),
    option("continue_on_error", "", Word(&["none", "read", "write", "io", "verify", "all", "0", "1"]), Honoured),
    option("error_dump", "", Switch, REPORT),
    // Data.
    option("zero_buffers", "", Flag, BYTES),
    option("refill_buffers", "", Flag, BYTES),
    option("scramble_buffers", "", Switch, BYTES),
    option("buffer_pattern", "", Text, BYTES),
    option("buffer_compress_percentage", "", Int(0, 100), BYTES),
    option("buffer_compress_chunk", "", Int(0, MANY), BYTES),
    option("dedupe_percentage", "", Int(0, 100), BYTES),
    option("dedupe_mode", "", Word(&["repeat", "working_set"]), BYTES),
    option("dedupe_working_set_percentage", "", Int(0, 100), BYTES),
    option("dedupe_global", "", Switch, BYTES),
    // Reports and logs.
    option("kb_base", "", Word(&["1024", "1000"]), Honoured),
    option("unit_base", "", Word(&["0", "8", "1"]), REPORT),
    option("significant_figures", "", Int(1, 10), REPORT),
    option("stats", "", Switch, REPORT),
    option("disk_util", "", Switch, REPORT),
    option("unified_rw_reporting", "", Word(&["none", "mixed", "both", "0", "1", "2"]), REPORT),
    option("clat_percentiles", "", Switch, REPORT),
    option("lat_percentiles", "", Switch, REPORT),
    option("slat_percentiles", "", Switch, REPORT),
    option("percentile_list", "", Decimals(100), REPORT),
    option("block_error_percentiles", "", Switch, REPORT),
    option("gtod_reduce", "", Switch, REPORT),
    option("disable_lat", "", Switch, REPORT),
    option("disable_clat", "", Switch, REPORT),
    option("disable_slat", "", Switch, REPORT),
    option("disable_bw_measurement", "disable_bw", Switch, REPORT),
    option("per_job_logs", "", Switch, LOG),
    option("write_bw_log", "", Any, LOG),
    option("write_lat_log", "", Any, LOG),
    option("write_iops_log", "", Any, LOG),
    option("write_hist_log", "", Any, LOG),
    option("bwavgtime", "", Int(0, MANY), REPORT),
    option("iopsavgtime", "", Int(0, MANY), REPORT),
    option("log_entries", "", Int(1024, 1_048_576), LOG),
    option("log_avg_msec", "", Int(0, MANY), LOG),
    option("log_hist_msec", "", Int(0, MANY), LOG),
    option("log_hist_coarseness", "", Int(0, 6), LOG),
    option("log_max_value", "", Switch, LOG),
    option("log_window_value", "", Word(&["average", "max", "both", "0", "1", "2"]), LOG),
    option("log_offset", "", Switch, LOG),
    option("log_prio", "", Switch, LOG),
    option("log_issue_time", "", Switch, LOG),
    option("log_compression", "", Int(1024, 536_870_912), LOG),
    option("log_compression_cpus", "", Text, LOG),
    option("log_store_compressed", "", Switch, LOG),
    option("log_unix_epoch", "", Switch, LOG),
    option("log_alternate_epoch", "", Switch, LOG),
    option("log_alternate_epoch_clock_id", "", Int(0, MANY), LOG),
    option("job_start_clock_id", "", Int(0, MANY), LOG),
];

/// An option of some engines only.
#[derive(Debug)]
pub(super) struct EngineOption {
    pub(super) name: &'static str,
    /// The engines of this version that take it; none: only engines that are refused take it.
    pub(super) engines: &'static [&'static str],
    pub(super) kind: OptionType,
    pub(super) fate: OptionFate,
}

const fn entry(
    name: &'static str,
    engines: &'static [&'static str],
    kind: OptionType,
    fate: OptionFate,
) -> EngineOption {
    EngineOption { name, engines, kind, fate }
}

const URING: &[&str] = &["io_uring", "io_uring_cmd"];
const URING_CMD: &[&str] = &["io_uring_cmd"];
const PRIORITY: &[&str] = &["io_uring", "io_uring_cmd", "libaio"];
const BY_SIZE: OptionFate = Refused("priorities are drawn by direction here (cmdprio_percentage), not by size", &[]);
const LEVEL: OptionFate = Harmless("a command has priority or not: the drive knows no levels");
const PROTECTION: OptionFate = Harmless("protection information is not part of the figures");
/// The treatment of options of refused engines: never applied.
const FOREIGN: OptionFate = Refused("it belongs to an engine that is refused", &[]);

/// Options of the engines.
#[rustfmt::skip]
pub(super) const ENGINE_OPTIONS: &[EngineOption] = &[
    entry("hipri", &["io_uring", "io_uring_cmd", "pvsync2", "sg"], Flag, HOST),
    entry("hipri_percentage", &["pvsync2"], Int(0, 100), HOST),
    entry("uncached", &["io_uring", "io_uring_cmd", "pvsync2"], Int(0, 1), CACHE),
    entry("nowait", &["io_uring", "io_uring_cmd", "pvsync2", "libaio"], Switch, HOST),
    entry("userspace_reap", &["libaio"], Flag, HOST),
    entry("cmdprio_percentage", PRIORITY, Ints(0, 100), Honoured),
    entry("cmdprio_bssplit", PRIORITY, Text, BY_SIZE),
    entry("cmdprio_class", PRIORITY, Ints(0, 3), Honoured),
    entry("cmdprio", PRIORITY, Ints(0, 7), LEVEL),
    entry("cmdprio_hint", PRIORITY, Ints(0, 1023), LEVEL),
    entry("fixedbufs", URING, Flag, HOST),
    entry("registerfiles", URING, Flag, HOST),
    entry("sqthread_poll", URING, Flag, HOST),
    entry("sqthread_poll_cpu", URING, Int(0, MANY), HOST),
    entry("nonvectored", URING, Int(-1, 1), HOST),
    entry("force_async", URING, Int(0, MANY), HOST),
    entry("cmd_type", URING_CMD, Word(&["nvme", "bsg"]), HOST),
    entry("md_per_io_size", URING_CMD, Int(0, MANY), PROTECTION),
    entry("pi_act", URING_CMD, Switch, PROTECTION),
    entry("pi_chk", URING_CMD, Text, PROTECTION),
    entry("apptag", URING_CMD, Int(0, 65_535), PROTECTION),
    entry("apptag_mask", URING_CMD, Int(0, 65_535), PROTECTION),
    entry("write_mode", URING_CMD, Text, Refused("only plain writes are in this version", &["write"])),
    entry("readfua", &["sg", "io_uring_cmd"], Switch, Refused("reads past the drive's cache are not in this version", &[])),
    entry("writefua", &["sg", "io_uring_cmd"], Switch, Honoured),
    entry("sg_write_mode", &["sg"],
        Word(&["write", "write_and_verify", "verify", "write_same", "same", "write_same_ndob", "verify_bytchk_00",
               "verify_bytchk_01", "verify_bytchk_11"]),
        Refused("only plain writes are in this version", &["write"])),
    entry("stream_id", &["sg"], Int(0, 255), DATA_PLACEMENT),
    entry("thp", &["mmap"], Switch, HOST),
    // Engines that are refused.
    entry("cpuload", &[], Any, FOREIGN), entry("cpuchunks", &[], Any, FOREIGN), entry("cpumode", &[], Any, FOREIGN),
    entry("exit_on_io_done", &[], Any, FOREIGN), entry("hostname", &[], Any, FOREIGN), entry("port", &[], Any, FOREIGN),
    entry("protocol", &[], Any, FOREIGN), entry("proto", &[], Any, FOREIGN), entry("nodelay", &[], Any, FOREIGN),
    entry("listen", &[], Any, FOREIGN), entry("pingpong", &[], Any, FOREIGN), entry("interface", &[], Any, FOREIGN),
    entry("ttl", &[], Any, FOREIGN), entry("window_size", &[], Any, FOREIGN), entry("mss", &[], Any, FOREIGN),
    entry("bindname", &[], Any, FOREIGN), entry("verb", &[], Any, FOREIGN), entry("serverip", &[], Any, FOREIGN),
    entry("direct_write_to_pmem", &[], Any, FOREIGN), entry("busy_wait_polling", &[], Any, FOREIGN),
    entry("stat_type", &[], Any, FOREIGN), entry("program", &[], Any, FOREIGN), entry("arguments", &[], Any, FOREIGN),
    entry("grace_time", &[], Any, FOREIGN), entry("std_redirect", &[], Any, FOREIGN), entry("donorname", &[], Any, FOREIGN),
    entry("inplace", &[], Any, FOREIGN), entry("volume", &[], Any, FOREIGN), entry("brick", &[], Any, FOREIGN),
    entry("single-instance", &[], Any, FOREIGN), entry("skip_bad", &[], Any, FOREIGN), entry("uri", &[], Any, FOREIGN),
    entry("clustername", &[], Any, FOREIGN), entry("pool", &[], Any, FOREIGN), entry("clientname", &[], Any, FOREIGN),
    entry("conf", &[], Any, FOREIGN), entry("busy_poll", &[], Any, FOREIGN), entry("touch_objects", &[], Any, FOREIGN),
    entry("rbdname", &[], Any, FOREIGN), entry("namenode", &[], Any, FOREIGN), entry("hdfsdirectory", &[], Any, FOREIGN),
    entry("chunk_size", &[], Any, FOREIGN), entry("nfs_url", &[], Any, FOREIGN), entry("cont", &[], Any, FOREIGN),
    entry("svcl", &[], Any, FOREIGN), entry("object_class", &[], Any, FOREIGN), entry("gpu_dev_ids", &[], Any, FOREIGN),
    entry("cuda_io", &[], Any, FOREIGN), entry("rocm_io", &[], Any, FOREIGN), entry("http_mode", &[], Any, FOREIGN),
    entry("https", &[], Any, FOREIGN), entry("http_host", &[], Any, FOREIGN), entry("http_user", &[], Any, FOREIGN),
    entry("http_pass", &[], Any, FOREIGN), entry("http_s3_key", &[], Any, FOREIGN), entry("http_s3_keyid", &[], Any, FOREIGN),
    entry("http_s3_region", &[], Any, FOREIGN), entry("http_s3_sse_customer_key", &[], Any, FOREIGN),
    entry("http_s3_sse_customer_algorithm", &[], Any, FOREIGN), entry("http_s3_storage_class", &[], Any, FOREIGN),
    entry("http_swift_auth_token", &[], Any, FOREIGN), entry("http_verbose", &[], Any, FOREIGN),
    entry("http_object_mode", &[], Any, FOREIGN), entry("libblkio_driver", &[], Any, FOREIGN),
    entry("libblkio_path", &[], Any, FOREIGN), entry("libblkio_pre_connect_props", &[], Any, FOREIGN),
    entry("libblkio_num_entries", &[], Any, FOREIGN), entry("libblkio_queue_size", &[], Any, FOREIGN),
    entry("libblkio_pre_start_props", &[], Any, FOREIGN), entry("libblkio_vectored", &[], Any, FOREIGN),
    entry("libblkio_write_zeroes_on_trim", &[], Any, FOREIGN), entry("libblkio_wait_mode", &[], Any, FOREIGN),
    entry("libblkio_force_enable_completion_eventfd", &[], Any, FOREIGN), entry("xnvme_async", &[], Any, FOREIGN),
    entry("xnvme_sync", &[], Any, FOREIGN), entry("xnvme_admin", &[], Any, FOREIGN), entry("xnvme_be", &[], Any, FOREIGN),
    entry("xnvme_mem", &[], Any, FOREIGN), entry("xnvme_dev_nsid", &[], Any, FOREIGN),
    entry("xnvme_dev_subnqn", &[], Any, FOREIGN), entry("xnvme_iovec", &[], Any, FOREIGN),
];

/// The option of this name or alias. As in fio, names are whole and case-sensitive.
pub(super) fn find_option(name: &str) -> Option<&'static OptionSpec> {
    let has_alias = |known: &OptionSpec| known.alias == name && !known.alias.is_empty();
    OPTIONS.iter().find(|known| known.name == name || has_alias(known))
}

/// The engine option of this name.
pub(super) fn find_engine_option(name: &str) -> Option<&'static EngineOption> {
    ENGINE_OPTIONS.iter().find(|option| option.name == name)
}

/// All names and aliases, except those of options of refused engines.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let general = OPTIONS.iter().flat_map(|known| [known.name, known.alias]).filter(|name| !name.is_empty());
    general.chain(ENGINE_OPTIONS.iter().filter(|option| !option.engines.is_empty()).map(|option| option.name))
}
