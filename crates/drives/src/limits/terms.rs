//! Terms of the field that users type first. Each leads to keys, to metrics, and to a sentence that names the page or the command
//! with the answer. Errors about unknown keys, metrics, jobs and drives show them, and so does `seekwise keys WORD`.
//!
//! Terms for something that is not modelled are in [`limits`](crate::limits). Other words for one key alone stand beside that key.

use crate::spelling::is_same;

/// A word of the field.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    /// The word, and others for it.
    pub words: &'static [&'static str],
    /// The explanation, without a period at its end.
    pub says: &'static str,
    /// Keys that set it.
    pub keys: &'static [&'static str],
    /// Metrics that show it.
    pub metrics: &'static [&'static str],
}

/// All terms.
pub const TERMS: &[Term] = &[
    Term {
        words: &["fsync", "fdatasync", "commit", "commits", "sync", "durable write"],
        says: "an fsync writes dirty data, then flushes the drive's write cache; docs/how-to/fsync.md says what it costs. \
               A commit is a write and its sync together: `--metric commit`, commit.p99 and commit.iops (commits a second) \
               judge it; `--metric flush` judges the flush alone. A fio job commits by its options fsync, fdatasync and sync",
        keys: &["driver.flush", "drive.cache.write_back", "volume.NAME.barrier", "program.NAME.sync"],
        metrics: &["commit", "commit.p99", "commit.iops", "flush"],
    },
    Term {
        words: &["cache flush", "flush", "flush cache", "synchronize cache", "flush cache ext"],
        says: "a flush empties the drive's write cache; `driver.flush` says whether the driver forwards it",
        keys: &["driver.flush", "drive.cache.write_back", "drive.overhead.flush_ms", "accelerator.flush"],
        metrics: &["flush", "flush.p99", "flush.iops"],
    },
    Term {
        words: &["barrier", "barriers", "write barrier", "nobarrier"],
        says: "a barrier is a flush that the file system requests; without it a power cut may lose promised writes \
               (docs/power-cut.md)",
        keys: &["volume.NAME.barrier", "driver.flush"],
        metrics: &["flush", "flush.iops"],
    },
    Term {
        words: &["fua", "forced unit access", "write through"],
        says: "a write with FUA is on the platter before it is answered",
        keys: &["drive.link.fua", "driver.write_through", "drive.faults.ignores_fua"],
        metrics: &["write.mean", "write.p99"],
    },
    Term {
        words: &["power loss", "power cut", "power failure", "data loss", "ups"],
        says: "`seekwise power-cut JOB --on DRIVE` says what a power cut loses, `seekwise crash` tries a program of yours \
               (docs/power-cut.md). A stack with a UPS is one whose power is never cut",
        keys: &["drive.power.protected", "drive.power.cut_sector", "drive.cache.write_back", "driver.flush"],
        metrics: &[],
    },
    Term {
        words: &["plp", "power loss protection", "bbu", "bbwc", "supercapacitor", "protected cache"],
        says: "a drive or a controller with power-loss protection keeps its buffer through a power cut (docs/power-cut.md)",
        keys: &["drive.power.protected", "drive.cache.flash_kib"],
        metrics: &[],
    },
    Term {
        words: &["qd", "queue depth", "iodepth", "io depth", "outstanding", "concurrency"],
        says: "the depth of a job is how many requests it has in flight; a drive and a driver have limits of their own",
        keys: &["job.depth", "drive.firmware.depth", "driver.depth", "controller.depth", "array.depth"],
        metrics: &[],
    },
    Term {
        words: &["bs", "blocksize", "rw", "readwrite", "randread", "randwrite", "randrw", "rwmixread", "numjobs"],
        says: "a job says what is read or written, in what sizes: a pattern of `seekwise patterns`, or a fio job file with \
               rw and bs (docs/how-to/fio.md); `--set job.depth=N` and `--set job.span=SIZE` change any job",
        keys: &[],
        metrics: &[],
    },
    Term {
        words: &["iops", "requests per second", "tps"],
        says: "requests a second are a result: `--metric iops`, the default of `compare`",
        keys: &[],
        metrics: &["iops", "read.iops", "write.iops"],
    },
    Term {
        words: &[
            "latency",
            "response time",
            "lat",
            "clat",
            "slat",
            "await",
            "service time",
            "tail latency",
            "percentile",
        ],
        says: "response times are a result: `--metric mean`, p50, p90, p95, p99, p99.9, p99.99 or max, alone or after `read.`, \
               `write.`, `flush.`",
        keys: &[],
        metrics: &["mean", "p50", "p95", "p99", "max"],
    },
    Term {
        words: &["throughput", "bandwidth", "bw", "transfer rate", "mb/s"],
        says: "bytes a second are a result: `--metric MB/s`; the rates of a drive follow from its zones and its speed",
        keys: &["drive.link.rate_mb_s", "drive.geometry.zones", "drive.mechanics.rpm"],
        metrics: &["bytes_per_s", "read.bytes_per_s", "write.bytes_per_s"],
    },
    Term {
        words: &["elevator", "scheduler", "io scheduler", "reordering"],
        says: "the host sorts requests in its driver (`driver=linux-mq-deadline`, `driver=linux-bfq`), the drive in its queue; \
               `real.scheduler` sets the kernel's for a measured run",
        keys: &["driver", "driver.queue.policy", "drive.firmware.queue.policy", "real.scheduler"],
        metrics: &[],
    },
    Term {
        words: &["trim", "discard", "unmap", "fstrim"],
        says: "the modelled drives have no TRIM: a fio job of rw=trim fails on them, as it does on a hard disk without discard",
        keys: &[],
        metrics: &[],
    },
    Term {
        words: &["cmr", "pmr", "conventional", "conventional magnetic recording"],
        says: "all built-in drives record conventionally (CMR): tracks do not overlap. Shingled ones (SMR) are not modelled",
        keys: &[],
        metrics: &[],
    },
    Term {
        words: &["stripe size", "stripe", "stripe width", "strip size", "chunk", "chunk size", "stripe unit"],
        says: "a chunk is the part of an array's row on one drive",
        keys: &["array.chunk_kib", "array.drives", "array"],
        metrics: &[],
    },
    Term {
        words: &[
            "alignment",
            "misalignment",
            "misaligned",
            "partition alignment",
            "512e",
            "4kn",
            "512n",
            "sector size",
            "4k sectors",
        ],
        says: "a 512e drive has 512-byte addresses over 4096-byte sectors: it reads a sector before it writes a part of it",
        keys: &["drive.geometry.physical_sector", "partitions.alignment"],
        metrics: &[],
    },
    Term {
        words: &["short stroke", "short stroking", "short-stroked"],
        says: "a job that stays at the start of the drive seeks less: `--set job.span=SIZE`, or fio's size and offset",
        keys: &["job.span"],
        metrics: &[],
    },
    Term {
        words: &["fragmentation", "fragments", "fragmented", "defrag", "defragment", "defragmentation"],
        says: "a scene lays files out in fragments, and `seekwise study f-defragment` asks what that costs (docs/scenes.md)",
        keys: &["volume.NAME.fragments", "volume.NAME.gap_kib", "volume.NAME.spread"],
        metrics: &["elapsed"],
    },
    Term {
        words: &["read-ahead", "readahead", "read ahead", "prefetch", "look-ahead"],
        says: "the drive, the page cache and a cache in host memory each read ahead",
        keys: &["drive.cache.read_ahead.max_sectors", "pagecache.read_ahead_kib", "accelerator.read_ahead_kib"],
        metrics: &[],
    },
    Term {
        words: &["dirty ratio", "dirty_ratio", "dirty_background_ratio", "page cache", "buffered"],
        says: "the page cache of a scene or a buffered fio job holds dirty pages up to a share of its memory (docs/pagecache.md)",
        keys: &[
            "pagecache.dirty_percent",
            "pagecache.background_percent",
            "pagecache.mib",
            "accelerator.dirty_percent",
        ],
        metrics: &[],
    },
    Term {
        words: &["degraded", "failed drive", "drive failure"],
        says: "`seekwise rebuild --on DRIVE --array raid-6` says how long a rebuild takes and what users feel; in a run `array.lose` \
               removes a drive, and `at.TIME.array.replace` puts in a new one (docs/how-to/rebuild.md)",
        keys: &["array.lose", "at.TIME.KEY"],
        metrics: &[],
    },
    Term {
        words: &["rebuild", "replace", "resilver", "resilvering", "recovery", "resync"],
        says: "`seekwise rebuild --on DRIVE --array raid-6` says how long it takes and what users feel; `at.TIME.array.replace` starts \
               one during a run, which yields to users by `array.sync_policy` (docs/how-to/rebuild.md)",
        keys: &["array.sync_policy", "array.sync_speed_min", "array.sync_speed_max", "array.lose", "at.TIME.KEY"],
        metrics: &[],
    },
    Term {
        words: &["scrub", "scrubbing", "check", "data-check", "sync_action"],
        says: "`seekwise scrub --on DRIVE --array raid-6` says how long it takes and what users feel; `at.TIME.array.check` starts one \
               during a run, as `echo check > sync_action` (docs/how-to/rebuild.md); scans that a drive makes by itself are not modelled",
        keys: &["array.sync_policy", "array.sync_speed_min", "array.sync_speed_max", "at.TIME.KEY"],
        metrics: &[],
    },
    Term {
        words: &["hot spare", "hotspare", "spare drive"],
        says: "`seekwise rebuild` replaces a drive at once, as a hot spare does, or with --spare-after later; in a run \
               `at.TIME.array.replace` puts a drive in at a time that you set (docs/how-to/rebuild.md)",
        keys: &["array.lose", "array.sync_speed_max", "at.TIME.KEY"],
        metrics: &[],
    },
];

/// The term that `word` means, by itself or as the last part of a dotted key: `drive.fsync`.
pub fn find(word: &str) -> Option<&'static Term> {
    let last = word.rsplit('.').next().unwrap_or(word);
    let is_meant = |term: &&Term| term.words.iter().any(|known| is_same(known, word) || is_same(known, last));
    TERMS.iter().find(is_meant)
}

/// True if `word` as a whole is a term.
pub(crate) fn is_term(word: &str) -> bool {
    TERMS.iter().any(|term| term.words.iter().any(|known| is_same(known, word)))
}

/// Words as an error expects them: `one of …` if there are several, `None` without any.
pub(crate) fn one_of(words: &[&str]) -> Option<String> {
    match words {
        [] => None,
        [only] => Some((*only).to_owned()),
        several => Some(format!("one of {}", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn a_word_is_in_one_place() {
        let all: Vec<&str> = TERMS.iter().flat_map(|term| term.words).copied().collect();
        for (index, word) in all.iter().enumerate() {
            assert!(limits::explain_limit(word).is_none(), "{word} is a limit");
            assert!(!all[..index].contains(word), "{word} stands twice");
        }
    }

    #[test]
    fn words_are_found_in_any_spelling_and_as_the_end_of_a_key() {
        for word in ["fsync", "FSYNC", "drive.fsync", "Cache Flush", "cache-flush", "QD", "dirty_ratio", "4Kn"] {
            assert!(find(word).is_some(), "{word}");
        }
        for word in ["", "seek", "fsynced", "rpm"] {
            assert!(find(word).is_none(), "{word}");
        }
    }
}
