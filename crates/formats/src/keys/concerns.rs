//! The concern of each key, the part of the system that a difference in its value is credited to, and the settings that follow
//! from another key. The table is this project's own; `seekwise-lab` judges what a comparison is credited to.

use seekwise_drives::concern::Concern::{self, *};
use seekwise_drives::key_names::{is_below, job, job_variable, real, work};
use seekwise_drives::stack;

/// The settings of each concern, by the first parts of their keys. The first match counts; a key without a match has the
/// concern of its layer ([`stack::layer_concern`]).
const CONCERNS: [(Concern, &[&str]); 34] = [
    (
        FlushPolicy,
        &[
            "driver.flush",
            "driver.write_through",
            "driver.share_flushes",
            "driver.power_off",
            "driver.power_off_pause_ms",
            "accelerator.flush",
        ],
    ),
    (
        Queue,
        &["drive.firmware.depth", "drive.firmware.queue", "drive.link.queuing", "driver.depth", "controller.depth"],
    ),
    (Scheduler, &["driver.queue", "driver.plug", "driver.merge", "driver.merge_reads"]),
    (Interface, &["controller.mode", "drive.link"]),
    (WriteCache, &["drive.cache.write_back", "drive.power.protected"]),
    (ReadAhead, &["drive.cache.read_ahead"]),
    (
        MediaCache,
        &[
            "drive.cache.media_cache_mib",
            "drive.cache.media_cache_stretches",
            "drive.cache.media_cache_largest_kib",
            "drive.cache.flash_kib",
        ],
    ),
    (
        Firmware,
        &[
            "drive.cache.dirty_percent",
            "drive.cache.dirty_runs",
            "drive.cache.fills_while_draining",
            "drive.cache.destage_idle_ms",
            "drive.cache.destage_age_ms",
            "drive.cache.long_writes",
            "drive.cache.written_hits",
        ],
    ),
    (Segments, &["drive.cache"]),
    (Mechanics, &["drive.mechanics"]),
    (Media, &["drive.geometry"]),
    (Faults, &["drive.faults", "drive.firmware.recovery_limit_ms", "drive.power"]),
    (Firmware, &["drive.firmware", "drive.overhead"]),
    (Change, &["at"]),
    (Order, &["stack.order"]),
    (Drive, &["device"]),
    (System, &["system"]),
    (System, &["real.engine"]),
    (Scheduler, &["real.scheduler"]),
    (Queue, &["real.queue_depth"]),
    (WriteCache, &["real.write_cache"]),
    (FlushPolicy, &["real.flush"]),
    (PageCache, &["real"]),
    (PageCache, &["pagecache"]),
    (FileSystem, &["volume", "partitions"]),
    (Workers, &["job.workers"]),
    (Program, &["program"]),
    (Depth, &["job.depth"]),
    (Size, &["job.size"]),
    (Place, &["job.place", "trace.map", "trace.device"]),
    (Rate, &["job.rate", "trace.loop", "trace.speed"]),
    (Flushes, &["job.flush"]),
    (Duration, &["job.duration"]),
    (Pattern, &["job.pattern", "trace"]),
];

/// The concern of the setting `key`, with or without a layer's number; `None` for keys that are names.
pub fn concern_of(key: &str) -> Option<Concern> {
    let (layer, rest) = key.split_once('.').unwrap_or((key, ""));
    // The key of `driver-2` has the concern of the key of `driver`.
    let key = format!("{}.{rest}", stack::strip_number(layer));
    let found = CONCERNS.iter().find(|(_, roots)| roots.iter().any(|root| is_below(key.trim_end_matches('.'), root)));
    found.map(|(concern, _)| *concern).or_else(|| stack::layer_concern(layer))
}

/// True if setting the key `set_key` may change the value of the key `other_key`.
pub fn may_change(set_key: &str, other_key: &str) -> bool {
    match set_key {
        "stack" => !is_below(other_key, "job"),
        job::RUNTIME => [work::DURATION_RUNTIME, work::DURATION_REPEATS].contains(&other_key),
        job::RAMP => other_key == work::DURATION_RAMP,
        // Another job is other work: no setting of this one follows from it.
        "job" => false,
        variable if job_variable(variable).is_some() => is_below(other_key, "job"),
        // A cache without a size has no other settings, and nothing is opened through it.
        "pagecache.mib" => is_below(other_key, "pagecache"),
        // Past the page cache, hints do not apply.
        real::DIRECT => [real::DIRECT, "real.hint"].contains(&other_key),
        // Another program has other figures.
        program if program.starts_with("program.") && program.ends_with(".name") => {
            is_below(other_key, program.trim_end_matches(".name"))
        }
        root => is_below(other_key, root),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_belongs_to_one_concern() {
        for (key, concern) in [
            ("driver.flush", FlushPolicy),
            ("driver.depth", Queue),
            ("driver-2.depth", Queue),
            ("driver.merge", Scheduler),
            ("driver.timeout_ms", Driver),
            ("drive.firmware.depth", Queue),
            ("drive.firmware.queue.window", Queue),
            ("drive.firmware.destage.policy", Firmware),
            ("drive.firmware.recovery_limit_ms", Faults),
            ("drive.overhead.flush_ms", Firmware),
            ("drive.link.queuing", Queue),
            ("drive.link.rate_mb_s", Interface),
            ("drive.cache.write_back", WriteCache),
            ("drive.cache.read_ahead.after", ReadAhead),
            ("drive.cache.dirty_percent", Firmware),
            ("drive.cache.size_kib", Segments),
            ("drive.cache.media_cache_mib", MediaCache),
            ("drive.mechanics.rpm", Mechanics),
            ("drive.geometry.heads", Media),
            ("drive.power.protected", WriteCache),
            ("job.depth", Depth),
            ("job.pattern.mix", Pattern),
            ("job.size", Size),
            ("job.rate", Rate),
            ("job.flush", Flushes),
            ("job.duration.runtime", Duration),
            ("job.workers.count", Workers),
            ("trace.speed", Rate),
            ("trace.loop", Rate),
            ("trace.map", Place),
            ("trace.device", Place),
            ("trace.requests", Pattern),
            ("volume.fs", FileSystem),
        ] {
            assert_eq!(concern_of(key), Some(concern), "{key}");
        }
        // A root is a whole word of a key.
        assert_eq!(concern_of("drive.firmware.depths"), Some(Firmware));
    }

    /// The first match counts: a root that stands behind a shorter one would never be found.
    #[test]
    fn no_root_hides_another() {
        for (concern, roots) in CONCERNS {
            for root in roots {
                assert_eq!(concern_of(root), Some(concern), "{root}");
                assert_eq!(concern_of(&format!("{root}.more")), Some(concern), "{root}.more");
            }
        }
    }

    #[test]
    fn a_key_reaches_what_is_below_it_and_what_follows_from_it() {
        for (set_key, other_key, is_reached) in [
            ("drive.cache", "drive.cache.size_kib", true),
            ("drive.cache", "drive.cache", true),
            ("drive.cache", "drive.cached", false),
            ("drive.cache.size_kib", "drive.cache", false),
            ("stack", "drive.cache.size_kib", true),
            ("stack", "job.depth", false),
            ("stack", "jobs.depth", true),
            ("job.runtime", "job.duration.runtime", true),
            ("job.runtime", "job.duration.repeats", true),
            ("job.runtime", "job.duration.ramp", false),
            ("job.ramp", "job.duration.ramp", true),
            ("job.ramp", "job.duration.runtime", false),
            ("job", "job.depth", false),
            ("job.env.SIZE", "job.depth", true),
            ("job.env.SIZE", "drive.cache", false),
            ("pagecache.mib", "pagecache.dirty", true),
            ("real.direct", "real.hint", true),
            ("real.direct", "real.engine", false),
            ("program.copy.name", "program.copy.files", true),
            ("program.copy.name", "program.other.files", false),
        ] {
            assert_eq!(may_change(set_key, other_key), is_reached, "{set_key} {other_key}");
        }
    }

    /// Names, and the size of the drive for which a job was laid out, are the only keys without a concern.
    #[test]
    fn every_setting_has_a_concern() {
        let keys = stack::keys().into_iter().chain(work::ALL.iter().map(|key| (*key).to_owned()));
        for key in keys.filter(|key| !key.starts_with("drive.checks.")) {
            assert_eq!(concern_of(&key).is_none(), [work::NAMES, work::CAPACITY].contains(&key.as_str()), "{key}");
        }
    }
}
