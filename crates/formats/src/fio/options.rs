//! All options fio knows, and what becomes of each: honoured, a label, harmless here, or refused with the reason.
//!
//! Options are applied by `settings`. Source: `fio --cmdhelp` of 3.33, options of later versions (to 3.42) from the manual,
//! options of the engines from `fio --enghelp`.

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

const fn o(name: &'static str, alias: &'static str, kind: OptionType, fate: OptionFate) -> OptionSpec {
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
    o("description", "", Text, Label),
    o("name", "", Text, Honoured),
    o("filename", "", Text, Honoured),
    o("directory", "", Text, Honoured),
    o("filename_format", "", Any, Honoured),
    o("unique_filename", "", Switch, FILES),
    o("lockfile", "", Word(&["none", "exclusive", "readwrite"]),
        Refused("workers do not wait for one another's files in this version", &[])),
    o("opendir", "", Text, Refused("a directory of the host cannot be laid out on a modelled drive", &[])),
    o("nrfiles", "nr_files", Int(1, 1_000_000), Honoured),
    o("openfiles", "", Int(0, MANY), Honoured),
    o("file_service_type", "",
        Word(&["random", "zipf", "pareto", "normal", "gauss", "roundrobin", "sequential"]), Honoured),
    o("size", "", Size, Honoured),
    o("io_size", "io_limit", Size, Honoured),
    o("filesize", "", SizeRange, Honoured),
    o("offset", "fileoffset", Size, Honoured),
    o("offset_increment", "", Size, Honoured),
    o("offset_align", "", Int(0, VAST), Honoured),
    o("number_ios", "", Int(0, VAST), Honoured),
    o("fill_device", "fill_fs", Switch, Honoured),
    o("file_append", "", Switch, Refused("files do not grow in this version", &[])),
    o("fallocate", "", Word(&["none", "native", "posix", "keep", "truncate", "0", "1"]), FILES),
    o("fadvise_hint", "", Word(&["0", "1", "random", "sequential", "noreuse"]), CACHE),
    o("overwrite", "", Switch, FILES),
    o("create_serialize", "", Switch, FILES),
    o("create_fsync", "", Switch, FILES),
    o("create_on_open", "", Switch, FILES),
    o("create_only", "", Switch, Refused("it asks only for files to be made, and there is nothing to measure", &[])),
    o("allow_file_create", "", Switch, FILES),
    o("allow_mounted_write", "", Switch, FILES),
    o("unlink", "", Switch, FILES),
    o("unlink_each_loop", "", Switch, FILES),
    // Direction, sizes, places.
    o("rw", "readwrite", DIRECTIONS, Honoured),
    o("rw_sequencer", "", Word(&["sequential", "identical"]), Honoured),
    o("rwmixread", "", Int(0, 100), Honoured),
    o("rwmixwrite", "", Int(0, 100), Honoured),
    o("bs", "blocksize", Ints(1, MANY), Honoured),
    o("bsrange", "blocksize_range", Ranges, Honoured),
    o("bssplit", "", Text, Honoured),
    o("ba", "blockalign", Ints(1, MANY), Honoured),
    o("bs_unaligned", "blocksize_unaligned", Flag, Honoured),
    o("bs_is_seq_rand", "", Switch, Honoured),
    o("percentage_random", "", Ints(0, 100), Honoured),
    o("random_distribution", "", DISTRIBUTIONS, Honoured),
    o("random_generator", "", Word(&["tausworthe", "lfsr", "tausworthe64"]), Honoured),
    o("norandommap", "", Flag, Honoured),
    o("softrandommap", "", Switch, Harmless("the random map always finds room here")),
    o("randrepeat", "", Switch, Honoured),
    o("allrandrepeat", "", Switch, Harmless("all random streams are repeatable here")),
    o("randseed", "", Seed, Honoured),
    o("random_sequence_stride", "", Int(0, VAST), ALONE),
    o("num_range", "", Int(0, MANY), Refused("a trim covers one range here", &["1"])),
    o("zonemode", "", Word(&["none", "strided", "zbd"]), Honoured),
    o("zonesize", "", Size, Honoured),
    o("zonerange", "", Size, Honoured),
    o("zoneskip", "", Size, Honoured),
    o("zonecapacity", "", Size, Honoured),
    o("read_beyond_wp", "", Switch, Honoured),
    o("max_open_zones", "", Int(0, 4096), Honoured),
    o("job_max_open_zones", "", Int(0, 4096), Honoured),
    o("ignore_zone_limits", "", Switch, ZONED),
    o("zone_reset_threshold", "", Decimals(1), Honoured),
    o("zone_reset_frequency", "", Decimals(1), Honoured),
    o("sprandom", "", Switch, Refused("it prepares flash devices", &[])),
    o("spr_op", "", Decimals(1), ALONE),
    o("spr_num_regions", "", Int(0, MANY), ALONE),
    o("spr_cache_size", "", Size, ALONE),
    o("fdp", "", Switch, DATA_PLACEMENT),
    o("fdp_pli", "plids", Text, ALONE),
    o("fdp_pli_select", "plid_select", Text, ALONE),
    o("dataplacement", "", Word(&["none", "fdp", "streams"]), DATA_PLACEMENT),
    o("dp_scheme", "", Text, ALONE),
    // Engine and concurrency.
    o("ioengine", "", Text, Honoured),
    o("iodepth", "", Int(1, MOST_DEPTH), Honoured),
    o("iodepth_batch", "iodepth_batch_submit", Int(0, MANY), AT_ONCE),
    o("iodepth_batch_complete_min", "iodepth_batch_complete", Int(0, MANY), Honoured),
    o("iodepth_batch_complete_max", "", Int(0, MANY), Honoured),
    o("iodepth_low", "", Int(0, MANY), Honoured),
    o("serialize_overlap", "", Switch, Honoured),
    o("io_submit_mode", "", Word(&["inline", "offload"]), Honoured),
    o("numjobs", "", Int(1, 65_535), Honoured),
    o("thread", "threads", Flag, HOST),
    o("stonewall", "wait_for_previous", Flag, Honoured),
    o("new_group", "", Flag, Honoured),
    o("group_reporting", "", Flag, Honoured),
    o("wait_for", "", Text,
        Refused("a job cannot wait for one other job here; stonewall waits for all before it", &[])),
    o("exitall", "", Flag, Refused("the end of one worker does not end the others in this version", &[])),
    o("exit_what", "", Word(&["group", "stonewall", "all"]), ALONE),
    o("exitall_on_error", "", Flag, Harmless("the error of one worker does not end the others in this version")),
    o("flow", "", Int(0, 1000), Honoured),
    o("flow_id", "", Int(0, MANY), Honoured),
    o("flow_sleep", "", Int(0, MANY), Honoured),
    // Caching and durability.
    o("direct", "", Switch, Honoured),
    o("buffered", "", Switch, Honoured),
    o("atomic", "", Switch, Refused("drives here have no atomic writes", &[])),
    o("sync", "", Word(&["none", "0", "sync", "1", "dsync"]), Honoured),
    o("fsync", "", Int(0, MANY), Honoured),
    o("fdatasync", "", Int(0, MANY), Honoured),
    o("write_barrier", "", Int(0, MANY), Refused("there are no barrier writes; fsync flushes", &[])),
    o("sync_file_range", "", Text, CACHE),
    o("end_fsync", "", Switch, Honoured),
    o("end_syncfs", "", Switch, Refused("there is no file system to synchronise; end_fsync flushes the drive", &[])),
    o("fsync_on_close", "", Switch, Honoured),
    o("invalidate", "", Switch, Honoured),
    o("pre_read", "", Switch, CACHE),
    o("write_hint", "", Word(&["none", "short", "medium", "long", "extreme"]),
        Harmless("a hard disk makes no use of the life time of data")),
    // Duration and pace.
    o("runtime", "timeout", SECONDS, Honoured),
    o("time_based", "", Flag, Honoured),
    o("ramp_time", "", SECONDS, Honoured),
    o("ramp_size", "", Size, Refused("a ramp is a time in this version", &[])),
    o("startdelay", "", TimeRange(1_000_000), Honoured),
    o("loops", "", Int(0, MANY), Honoured),
    o("thinktime", "", MICROSECONDS, Honoured),
    o("thinktime_spin", "", MICROSECONDS, Honoured),
    o("thinktime_blocks", "", Int(1, MANY), Honoured),
    o("thinktime_blocks_type", "", Word(&["complete", "issue"]), Honoured),
    o("thinktime_iotime", "", SECONDS, Refused("think time is counted in blocks here, not in time", &[])),
    o("rate", "", Ints(0, VAST), Honoured),
    o("rate_iops", "", Ints(0, MANY), Honoured),
    o("rate_min", "ratemin", Ints(0, VAST), FLOOR),
    o("rate_iops_min", "", Ints(0, MANY), FLOOR),
    o("rate_process", "", Word(&["linear", "poisson"]), Honoured),
    o("rate_cycle", "ratecycle", Int(0, MANY), ALONE),
    o("rate_ignore_thinktime", "", Switch, Honoured),
    o("max_latency", "", Ints(0, VAST), Refused("a run is not stopped for a slow request in this version", &[])),
    o("latency_target", "", MICROSECONDS, LATENCY),
    o("latency_window", "", MICROSECONDS, ALONE),
    o("latency_percentile", "", Decimals(100), ALONE),
    o("latency_run", "", Switch, ALONE),
    o("steadystate", "ss",
        Word(&["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"]), ALONE),
    o("steadystate_duration", "ss_dur", SECONDS,
        Refused("a run does not end at steady state in this version; take the option out and give a runtime", &[])),
    o("steadystate_ramp_time", "ss_ramp", SECONDS, ALONE),
    o("steadystate_check_interval", "ss_interval", SECONDS, ALONE),
    // Verification.
    o("verify", "", CHECKS, Honoured),
    o("do_verify", "", Switch, Honoured),
    o("verify_only", "", Flag, Refused("what an earlier run wrote is not known here", &[])),
    o("verify_backlog", "", Int(0, VAST), Honoured),
    o("verify_backlog_batch", "", Int(0, MANY), Honoured),
    o("verify_interval", "", Int(0, MANY), VERIFY),
    o("verify_offset", "", Int(0, MANY), VERIFY),
    o("verify_pattern", "", Text, VERIFY),
    o("verify_pattern_interval", "", Switch, VERIFY),
    o("verify_fatal", "", Switch, VERIFY),
    o("verify_dump", "", Switch, VERIFY),
    o("verify_async", "", Int(0, MANY), VERIFY),
    o("verify_async_cpus", "", Text, VERIFY),
    o("verify_state_load", "", Switch,
        Harmless("no earlier run's state is read: all is read back, as after a run that came to its end")),
    o("verify_state_save", "", Switch, VERIFY),
    o("verify_write_sequence", "", Switch, VERIFY),
    o("verify_header_seed", "", Switch, VERIFY),
    o("experimental_verify", "", Switch, VERIFY),
    o("trim_percentage", "", Int(0, 100), Refused("verified blocks are not trimmed in this version", &[])),
    o("trim_verify_zero", "", Switch, ALONE),
    o("trim_backlog", "", Int(0, VAST), ALONE),
    o("trim_backlog_batch", "", Int(0, MANY), ALONE),
    // Traces.
    o("write_iolog", "", Text, Honoured),
    o("read_iolog", "", Text, Honoured),
    o("read_iolog_chunked", "", Switch, CHUNKED),
    o("replay_no_stall", "", Switch, Honoured),
    o("replay_redirect", "", Text, Honoured),
    o("replay_scale", "", Int(0, MANY), Honoured),
    o("replay_align", "", Int(0, MANY), Honoured),
    o("replay_time_scale", "", Int(1, 1_000_000), Honoured),
    o("replay_skip", "", Text, SKIPPED),
    o("merge_blktrace_file", "", Text, MERGED),
    o("merge_blktrace_scalars", "", Decimals(1_000_000), ALONE),
    o("merge_blktrace_iters", "", Decimals(1_000_000), ALONE),
    // The host.
    o("exec_prerun", "", Text, BY_CODE),
    o("exec_postrun", "", Text, BY_CODE),
    o("ioscheduler", "", Text, SYSTEM),
    o("clocksource", "", Word(&["gettimeofday", "clock_gettime", "cpu"]), HOST),
    o("mem", "iomem",
        Word(&["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge", "cudamalloc"]), HOST),
    o("iomem_align", "mem_align", Int(0, MANY), HOST),
    o("hugepage-size", "", Int(0, VAST), HOST),
    o("lockmem", "", Size, HOST),
    o("nice", "", Int(-20, 19), HOST),
    o("prio", "", Int(0, 7), HOST),
    o("prioclass", "", Int(0, 3), HOST),
    o("priohint", "", Int(0, 1023), HOST),
    o("cpumask", "", Int(0, VAST), HOST),
    o("cpus_allowed", "", Text, HOST),
    o("cpus_allowed_policy", "", Word(&["shared", "split"]), HOST),
    o("numa_cpu_nodes", "", Text, HOST),
    o("numa_mem_policy", "", Text, HOST),
    o("cgroup", "", Text, HOST),
    o("cgroup_weight", "", Int(100, 1000), HOST),
    o("cgroup_nodelete", "", Switch, HOST),
    o("uid", "", Int(0, MANY), HOST),
    o("gid", "", Int(0, MANY), HOST),
    o("gtod_cpu", "", Int(0, MANY), HOST),
    o("gpu_dev_id", "", Int(0, MANY), HOST),
    o("profile", "", Text, Refused("fio's built-in profiles are not in this version", &[])),
    o("ignore_error", "", Any, Harmless("the errors it names are those of other engines; what fails here is the medium")),
    o("continue_on_error", "", Word(&["none", "read", "write", "io", "verify", "all", "0", "1"]), Honoured),
    o("error_dump", "", Switch, REPORT),
    // Data.
    o("zero_buffers", "", Flag, BYTES),
    o("refill_buffers", "", Flag, BYTES),
    o("scramble_buffers", "", Switch, BYTES),
    o("buffer_pattern", "", Text, BYTES),
    o("buffer_compress_percentage", "", Int(0, 100), BYTES),
    o("buffer_compress_chunk", "", Int(0, MANY), BYTES),
    o("dedupe_percentage", "", Int(0, 100), BYTES),
    o("dedupe_mode", "", Word(&["repeat", "working_set"]), BYTES),
    o("dedupe_working_set_percentage", "", Int(0, 100), BYTES),
    o("dedupe_global", "", Switch, BYTES),
    // Reports and logs.
    o("kb_base", "", Word(&["1024", "1000"]), Honoured),
    o("unit_base", "", Word(&["0", "8", "1"]), REPORT),
    o("significant_figures", "", Int(1, 10), REPORT),
    o("stats", "", Switch, REPORT),
    o("disk_util", "", Switch, REPORT),
    o("unified_rw_reporting", "", Word(&["none", "mixed", "both", "0", "1", "2"]), REPORT),
    o("clat_percentiles", "", Switch, REPORT),
    o("lat_percentiles", "", Switch, REPORT),
    o("slat_percentiles", "", Switch, REPORT),
    o("percentile_list", "", Decimals(100), REPORT),
    o("block_error_percentiles", "", Switch, REPORT),
    o("gtod_reduce", "", Switch, REPORT),
    o("disable_lat", "", Switch, REPORT),
    o("disable_clat", "", Switch, REPORT),
    o("disable_slat", "", Switch, REPORT),
    o("disable_bw_measurement", "disable_bw", Switch, REPORT),
    o("per_job_logs", "", Switch, LOG),
    o("write_bw_log", "", Any, LOG),
    o("write_lat_log", "", Any, LOG),
    o("write_iops_log", "", Any, LOG),
    o("write_hist_log", "", Any, LOG),
    o("bwavgtime", "", Int(0, MANY), REPORT),
    o("iopsavgtime", "", Int(0, MANY), REPORT),
    o("log_entries", "", Int(1024, 1_048_576), LOG),
    o("log_avg_msec", "", Int(0, MANY), LOG),
    o("log_hist_msec", "", Int(0, MANY), LOG),
    o("log_hist_coarseness", "", Int(0, 6), LOG),
    o("log_max_value", "", Switch, LOG),
    o("log_window_value", "", Word(&["average", "max", "both", "0", "1", "2"]), LOG),
    o("log_offset", "", Switch, LOG),
    o("log_prio", "", Switch, LOG),
    o("log_issue_time", "", Switch, LOG),
    o("log_compression", "", Int(1024, 536_870_912), LOG),
    o("log_compression_cpus", "", Text, LOG),
    o("log_store_compressed", "", Switch, LOG),
    o("log_unix_epoch", "", Switch, LOG),
    o("log_alternate_epoch", "", Switch, LOG),
    o("log_alternate_epoch_clock_id", "", Int(0, MANY), LOG),
    o("job_start_clock_id", "", Int(0, MANY), LOG),
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

const fn e(name: &'static str, engines: &'static [&'static str], kind: OptionType, fate: OptionFate) -> EngineOption {
    EngineOption { name, engines, kind, fate }
}

const URING: &[&str] = &["io_uring", "io_uring_cmd"];
const URING_CMD: &[&str] = &["io_uring_cmd"];
const PRIORITY: &[&str] = &["io_uring", "io_uring_cmd", "libaio"];
const BY_SIZE: OptionFate = Refused("priorities are drawn by direction here (cmdprio_percentage), not by size", &[]);
const LEVEL: OptionFate = Harmless("a command has priority or not: the drive knows no levels");
const PROTECTION: OptionFate = Harmless("protection information is not part of the figures");
/// Taken by engines that are refused, and never read further.
const FOREIGN: OptionFate = Refused("it belongs to an engine that is refused", &[]);

/// Options of the engines.
#[rustfmt::skip]
pub(super) const ENGINE_OPTIONS: &[EngineOption] = &[
    e("hipri", &["io_uring", "io_uring_cmd", "pvsync2", "sg"], Flag, HOST),
    e("hipri_percentage", &["pvsync2"], Int(0, 100), HOST),
    e("uncached", &["io_uring", "io_uring_cmd", "pvsync2"], Int(0, 1), CACHE),
    e("nowait", &["io_uring", "io_uring_cmd", "pvsync2", "libaio"], Switch, HOST),
    e("userspace_reap", &["libaio"], Flag, HOST),
    e("cmdprio_percentage", PRIORITY, Ints(0, 100), Honoured),
    e("cmdprio_bssplit", PRIORITY, Text, BY_SIZE),
    e("cmdprio_class", PRIORITY, Ints(0, 3), Honoured),
    e("cmdprio", PRIORITY, Ints(0, 7), LEVEL),
    e("cmdprio_hint", PRIORITY, Ints(0, 1023), LEVEL),
    e("fixedbufs", URING, Flag, HOST),
    e("registerfiles", URING, Flag, HOST),
    e("sqthread_poll", URING, Flag, HOST),
    e("sqthread_poll_cpu", URING, Int(0, MANY), HOST),
    e("nonvectored", URING, Int(-1, 1), HOST),
    e("force_async", URING, Int(0, MANY), HOST),
    e("cmd_type", URING_CMD, Word(&["nvme", "bsg"]), HOST),
    e("md_per_io_size", URING_CMD, Int(0, MANY), PROTECTION),
    e("pi_act", URING_CMD, Switch, PROTECTION),
    e("pi_chk", URING_CMD, Text, PROTECTION),
    e("apptag", URING_CMD, Int(0, 65_535), PROTECTION),
    e("apptag_mask", URING_CMD, Int(0, 65_535), PROTECTION),
    e("write_mode", URING_CMD, Text, Refused("only plain writes are in this version", &["write"])),
    e("readfua", &["sg", "io_uring_cmd"], Switch, Refused("reads past the drive's cache are not in this version", &[])),
    e("writefua", &["sg", "io_uring_cmd"], Switch, Honoured),
    e("sg_write_mode", &["sg"],
        Word(&["write", "write_and_verify", "verify", "write_same", "same", "write_same_ndob", "verify_bytchk_00",
               "verify_bytchk_01", "verify_bytchk_11"]),
        Refused("only plain writes are in this version", &["write"])),
    e("stream_id", &["sg"], Int(0, 255), DATA_PLACEMENT),
    e("thp", &["mmap"], Switch, HOST),
    // Engines that are refused.
    e("cpuload", &[], Any, FOREIGN), e("cpuchunks", &[], Any, FOREIGN), e("cpumode", &[], Any, FOREIGN),
    e("exit_on_io_done", &[], Any, FOREIGN), e("hostname", &[], Any, FOREIGN), e("port", &[], Any, FOREIGN),
    e("protocol", &[], Any, FOREIGN), e("proto", &[], Any, FOREIGN), e("nodelay", &[], Any, FOREIGN),
    e("listen", &[], Any, FOREIGN), e("pingpong", &[], Any, FOREIGN), e("interface", &[], Any, FOREIGN),
    e("ttl", &[], Any, FOREIGN), e("window_size", &[], Any, FOREIGN), e("mss", &[], Any, FOREIGN),
    e("bindname", &[], Any, FOREIGN), e("verb", &[], Any, FOREIGN), e("serverip", &[], Any, FOREIGN),
    e("direct_write_to_pmem", &[], Any, FOREIGN), e("busy_wait_polling", &[], Any, FOREIGN),
    e("stat_type", &[], Any, FOREIGN), e("program", &[], Any, FOREIGN), e("arguments", &[], Any, FOREIGN),
    e("grace_time", &[], Any, FOREIGN), e("std_redirect", &[], Any, FOREIGN), e("donorname", &[], Any, FOREIGN),
    e("inplace", &[], Any, FOREIGN), e("volume", &[], Any, FOREIGN), e("brick", &[], Any, FOREIGN),
    e("single-instance", &[], Any, FOREIGN), e("skip_bad", &[], Any, FOREIGN), e("uri", &[], Any, FOREIGN),
    e("clustername", &[], Any, FOREIGN), e("pool", &[], Any, FOREIGN), e("clientname", &[], Any, FOREIGN),
    e("conf", &[], Any, FOREIGN), e("busy_poll", &[], Any, FOREIGN), e("touch_objects", &[], Any, FOREIGN),
    e("rbdname", &[], Any, FOREIGN), e("namenode", &[], Any, FOREIGN), e("hdfsdirectory", &[], Any, FOREIGN),
    e("chunk_size", &[], Any, FOREIGN), e("nfs_url", &[], Any, FOREIGN), e("cont", &[], Any, FOREIGN),
    e("svcl", &[], Any, FOREIGN), e("object_class", &[], Any, FOREIGN), e("gpu_dev_ids", &[], Any, FOREIGN),
    e("cuda_io", &[], Any, FOREIGN), e("rocm_io", &[], Any, FOREIGN), e("http_mode", &[], Any, FOREIGN),
    e("https", &[], Any, FOREIGN), e("http_host", &[], Any, FOREIGN), e("http_user", &[], Any, FOREIGN),
    e("http_pass", &[], Any, FOREIGN), e("http_s3_key", &[], Any, FOREIGN), e("http_s3_keyid", &[], Any, FOREIGN),
    e("http_s3_region", &[], Any, FOREIGN), e("http_s3_sse_customer_key", &[], Any, FOREIGN),
    e("http_s3_sse_customer_algorithm", &[], Any, FOREIGN), e("http_s3_storage_class", &[], Any, FOREIGN),
    e("http_swift_auth_token", &[], Any, FOREIGN), e("http_verbose", &[], Any, FOREIGN),
    e("http_object_mode", &[], Any, FOREIGN), e("libblkio_driver", &[], Any, FOREIGN),
    e("libblkio_path", &[], Any, FOREIGN), e("libblkio_pre_connect_props", &[], Any, FOREIGN),
    e("libblkio_num_entries", &[], Any, FOREIGN), e("libblkio_queue_size", &[], Any, FOREIGN),
    e("libblkio_pre_start_props", &[], Any, FOREIGN), e("libblkio_vectored", &[], Any, FOREIGN),
    e("libblkio_write_zeroes_on_trim", &[], Any, FOREIGN), e("libblkio_wait_mode", &[], Any, FOREIGN),
    e("libblkio_force_enable_completion_eventfd", &[], Any, FOREIGN), e("xnvme_async", &[], Any, FOREIGN),
    e("xnvme_sync", &[], Any, FOREIGN), e("xnvme_admin", &[], Any, FOREIGN), e("xnvme_be", &[], Any, FOREIGN),
    e("xnvme_mem", &[], Any, FOREIGN), e("xnvme_dev_nsid", &[], Any, FOREIGN),
    e("xnvme_dev_subnqn", &[], Any, FOREIGN), e("xnvme_iovec", &[], Any, FOREIGN),
];

/// The option of this name or alias. As in fio, names are whole and case-sensitive.
pub(super) fn find(name: &str) -> Option<&'static OptionSpec> {
    let threads = |known: &OptionSpec| known.alias == name && !known.alias.is_empty();
    OPTIONS.iter().find(|known| known.name == name || threads(known))
}

/// The engine option of this name.
pub(super) fn find_of_engine(name: &str) -> Option<&'static EngineOption> {
    ENGINE_OPTIONS.iter().find(|option| option.name == name)
}

/// All names and aliases, for the nearest word.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = OPTIONS.iter().flat_map(|known| [known.name, known.alias]).filter(|name| !name.is_empty());
    own.chain(ENGINE_OPTIONS.iter().filter(|option| !option.engines.is_empty()).map(|option| option.name))
}
