//! The keys of a drive profile: unit, range, whether it must be there. Each stands here once; the reader, `--set`, the
//! catalogue's table and the errors all go by this list.

use super::figure::Accepts::{Flag, Holes, Number, Pairs, Places, Points, Whole, Word, Zones};
use super::figure::{Accepts, Key};

/// The orders a queue can have.
pub const POLICIES: Accepts = Word(&["fcfs", "sstf", "look", "clook", "sptf"]);

/// A time in milliseconds: nothing a disk does takes ten seconds.
const MS: Accepts = Number(0.0, 10_000.0);
const SECTORS: Accepts = Whole(0, 1 << 24);

const fn must(path: &'static str, unit: &'static str, accepts: Accepts) -> Key {
    Key { path, unit, accepts, required: true }
}

const fn may(path: &'static str, unit: &'static str, accepts: Accepts) -> Key {
    Key { path, unit, accepts, required: false }
}

/// All keys, in the order in which they are shown. Left out, an optional key is nothing: no limit, no window, no
/// ageing, no check.
pub static KEYS: &[Key] = &[
    must("geometry.sectors", "sectors", Whole(1, 1 << 48)),
    must("geometry.physical_sector", "bytes", Whole(512, 4096)),
    must("geometry.heads", "", Whole(1, 64)),
    must("geometry.order", "", Word(&["cylinder", "switchback", "serpentine"])),
    may("geometry.run_tracks", "tracks", Whole(1, 100_000)),
    must("geometry.track_skew", "rev", Number(0.0, 0.999_999)),
    must("geometry.head_skew", "rev", Number(0.0, 0.999_999)),
    must("geometry.zones", "", Zones),
    may("geometry.holes", "", Holes),
    may("geometry.remaps", "", Pairs),
    must("mechanics.rpm", "rpm", Number(1.0, 100_000.0)),
    must("mechanics.head_switch_ms", "ms", MS),
    must("mechanics.write_settle_ms", "ms", Number(-100.0, 10_000.0)),
    may("mechanics.least_write_ms", "ms", MS),
    must("mechanics.seek.form", "", Word(&["table", "sibling", "lee", "three-point"])),
    may("mechanics.seek.single_ms", "ms", MS),
    may("mechanics.seek.average_ms", "ms", MS),
    may("mechanics.seek.full_ms", "ms", MS),
    may("mechanics.seek.points", "", Points),
    may("mechanics.seek.write_points", "", Points),
    must("cache.size_kib", "KiB", Whole(0, 1 << 24)),
    must("cache.segments", "", Whole(0, 4096)),
    may("cache.max_segments", "", Whole(1, 4096)),
    must("cache.write_back", "", Flag),
    must("cache.dirty_percent", "%", Whole(1, 100)),
    may("cache.dirty_runs", "", Whole(1, 4096)),
    may("cache.fills_while_draining", "", Flag),
    must("cache.destage_idle_ms", "ms", MS),
    may("cache.media_cache_mib", "MiB", Whole(0, 1 << 20)),
    may("cache.media_cache_stretches", "", Whole(1, 64)),
    may("cache.media_cache_largest_kib", "KiB", Whole(1, 1024)),
    may("cache.flash_kib", "KiB", Whole(0, 1 << 24)),
    may("cache.destage_age_ms", "ms", Number(0.001, 1e6)),
    may("cache.long_writes", "", Word(&["several", "wrap"])),
    may("cache.adaptive", "", Flag),
    must("cache.read_ahead.max_sectors", "sectors", SECTORS),
    must("cache.read_ahead.min_sectors", "sectors", SECTORS),
    may("cache.read_ahead.after", "", Whole(1, 16)),
    may("cache.read_ahead.until", "", Word(&["segment", "track", "cylinder", "next-track"])),
    may("cache.read_ahead.over_requested", "", Flag),
    may("cache.read_ahead.free_blocks", "", Flag),
    may("cache.read_ahead.hold", "", Word(&["never", "track", "segment", "stream"])),
    may("cache.read_ahead.discard", "", Flag),
    must("firmware.depth", "", Whole(1, 256)),
    must("firmware.dispatch_ms", "ms", MS),
    must("firmware.zero_latency", "", Flag),
    may("firmware.priority", "", Flag),
    may("firmware.recovery_limit_ms", "ms", Number(0.0, 1e6)),
    must("firmware.queue.policy", "", POLICIES),
    may("firmware.queue.window", "", Whole(0, 65_536)),
    may("firmware.queue.nearest", "", Whole(0, 256)),
    may("firmware.queue.ageing", "1/1000", Whole(0, 1_000_000)),
    may("firmware.queue.max_wait_ms", "ms", Number(0.001, 1e6)),
    must("firmware.destage.policy", "", POLICIES),
    may("firmware.destage.window", "", Whole(0, 65_536)),
    may("firmware.destage.nearest", "", Whole(0, 256)),
    may("firmware.destage.ageing", "1/1000", Whole(0, 1_000_000)),
    may("firmware.destage.max_wait_ms", "ms", Number(0.001, 1e6)),
    must("overhead.read_hit_ms", "ms", MS),
    may("overhead.read_hit_after_write_ms", "ms", MS),
    must("overhead.read_miss_ms", "ms", MS),
    may("overhead.read_miss_after_write_ms", "ms", MS),
    must("overhead.write_hit_ms", "ms", MS),
    may("overhead.write_hit_after_write_ms", "ms", MS),
    must("overhead.write_miss_ms", "ms", MS),
    may("overhead.write_miss_after_write_ms", "ms", MS),
    must("overhead.flush_ms", "ms", MS),
    may("overhead.reselect_ms", "ms", MS),
    must("overhead.completion_ms", "ms", MS),
    may("overhead.write_completion_ms", "ms", MS),
    must("link.rate_mb_s", "MB/s", Number(0.001, 100_000.0)),
    may("link.write_rate_mb_s", "MB/s", Number(0.001, 100_000.0)),
    must("link.command_ms", "ms", MS),
    must("link.max_transfer_sectors", "sectors", Whole(1, 65_536)),
    may("link.buffer_full_percent", "%", Whole(0, 100)),
    must("link.fua", "", Flag),
    must("link.queuing", "", Word(&["none", "tcq", "ncq", "scsi"])),
    may("faults.weak", "", Places),
    must("power.cut_sector", "", Word(&["finished", "old", "unreadable"])),
    may("power.protected", "", Flag),
    may("faults.ignores_fua", "", Flag),
    may("faults.early_flush", "", Flag),
    may("faults.forgets_on_power_off", "", Flag),
    may("faults.caches_when_off", "", Flag),
    may("checks.average_seek_ms", "ms", MS),
    may("checks.average_write_seek_ms", "ms", MS),
    may("checks.single_seek_ms", "ms", MS),
    may("checks.full_seek_ms", "ms", MS),
    may("checks.latency_ms", "ms", MS),
    may("checks.outer_mb_s", "MB/s", Number(0.0, 100_000.0)),
    may("checks.inner_mb_s", "MB/s", Number(0.0, 100_000.0)),
];

/// What a drive with the fault of this key does.
pub(super) fn meaning(key: &str) -> &'static str {
    match key {
        "faults.ignores_fua" => "it takes writes with FUA and caches them like others",
        "faults.early_flush" => "it acknowledges a flush before anything is written",
        "faults.forgets_on_power_off" => "it powers off without writing what is in its buffer",
        _ => "it caches writes though its write cache is off",
    }
}
