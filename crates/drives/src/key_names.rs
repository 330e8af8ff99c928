//! Constants for the keys that code names, by layer (`drive::CACHE_WRITE_BACK` is `drive.cache.write_back`), and functions that
//! take keys apart. Ranges and meanings of keys are not here: `seekwise-formats` lists them.

/// Declares modules of constants. A constant has the name of its key without the layer.
macro_rules! key_names {
    ($($(#[$doc:meta])* $module:ident { $($name:ident = $key:expr,)* })*) => {
        $($(#[$doc])* pub mod $module {
            $(pub const $name: &str = $key;)*
            /// All constants of the module, in order.
            pub const ALL: &[&str] = &[$($name),*];
        })*

        /// The constants of each module: name and key.
        pub const NAMES: &[(&str, &[(&str, &str)])] =
            &[$((stringify!($module), &[$((stringify!($name), $module::$name)),*])),*];
    };
}

key_names! {
    /// Keys that change a job.
    job {
        DEPTH = "job.depth",
        RUNTIME = "job.runtime",
        RAMP = "job.ramp",
        COUNTED = "job.counted",
        SPAN = "job.span",
    }
    /// Settings that record how a job was understood, in the order in which they are shown.
    work {
        NAMES = "job.names",
        CAPACITY = "job.capacity",
        WORKERS_COUNT = "job.workers.count",
        WORKERS_STAGE = "job.workers.stage",
        WORKERS_GROUP = "job.workers.group",
        DEPTH = "job.depth",
        DEPTH_ENGINE = "job.depth.engine",
        DURATION_RUNTIME = "job.duration.runtime",
        DURATION_RAMP = "job.duration.ramp",
        DURATION_COUNTED = "job.duration.counted",
        DURATION_REPEATS = "job.duration.repeats",
        DURATION_REQUESTS = "job.duration.requests",
        DURATION_PASSES = "job.duration.passes",
        RATE_START = "job.rate.start",
        RATE_LIMIT = "job.rate.limit",
        RATE_SPACING = "job.rate.spacing",
        RATE_PAUSE = "job.rate.pause",
        PATTERN_GENERATOR = "job.pattern.generator",
        PATTERN_DIRECTION = "job.pattern.direction",
        PATTERN_READS = "job.pattern.reads",
        PATTERN_RANDOM = "job.pattern.random",
        PATTERN_ORDER = "job.pattern.order",
        PATTERN_DISTRIBUTION = "job.pattern.distribution",
        PATTERN_COVERAGE = "job.pattern.coverage",
        PATTERN_SEED = "job.pattern.seed",
        PATTERN_SHARES = "job.pattern.shares",
        PATTERN_VERIFY = "job.pattern.verify",
        PATTERN_PRIORITY = "job.pattern.priority",
        PATTERN_FAILURES = "job.pattern.failures",
        SIZE_BLOCKS = "job.size.blocks",
        SIZE_ALIGN = "job.size.align",
        PLACE_FILES = "job.place.files",
        PLACE_BYTES = "job.place.bytes",
        PLACE_ZONES = "job.place.zones",
        FLUSH_EVERY = "job.flush.every",
        FLUSH_EACH = "job.flush.each",
    }
    /// Keys of the stack as a whole.
    stack {
        PLACE = "place",
    }
    /// Keys of a driver.
    driver {
        CAPACITY = "driver.capacity",
        DEPTH = "driver.depth",
        FLUSH = "driver.flush",
        WRITE_THROUGH = "driver.write_through",
        SHARE_FLUSHES = "driver.share_flushes",
    }
    /// Keys of a cache of the disk in host memory.
    accelerator {
        FLUSH = "accelerator.flush",
        READ_AHEAD_KIB = "accelerator.read_ahead_kib",
    }
    /// Keys of an array.
    array {
        CHECK = "array.check",
        LOSE = "array.lose",
        REPLACE = "array.replace",
        DRIVES = "array.drives",
        BITMAP = "array.bitmap",
        SYNC_POLICY = "array.sync_policy",
        SYNC_SPEED_MIN = "array.sync_speed_min",
        SYNC_SPEED_MAX = "array.sync_speed_max",
        SYNC_IN_FLIGHT = "array.sync_in_flight",
        SYNC_PIECE_KIB = "array.sync_piece_kib",
        SYNC_GROUP_KIB = "array.sync_group_kib",
        SYNC_TARGET = "array.sync_target",
    }
    /// Keys of a host bus adapter.
    controller {
        DEPTH = "controller.depth",
    }
    /// Keys of a drive in a stack, and roots of such keys.
    drive {
        CACHE_SEGMENTS = "drive.cache.segments",
        CACHE_WRITE_BACK = "drive.cache.write_back",
        CACHE_DIRTY_PERCENT = "drive.cache.dirty_percent",
        CACHE_DESTAGE_IDLE_MS = "drive.cache.destage_idle_ms",
        CACHE_FLASH_KIB = "drive.cache.flash_kib",
        CACHE_DESTAGE_AGE_MS = "drive.cache.destage_age_ms",
        CACHE_READ_AHEAD = "drive.cache.read_ahead",
        FIRMWARE_DEPTH = "drive.firmware.depth",
        FIRMWARE_QUEUE_POLICY = "drive.firmware.queue.policy",
        FIRMWARE_QUEUE_WINDOW = "drive.firmware.queue.window",
        FIRMWARE_DESTAGE = "drive.firmware.destage",
        OVERHEAD_FLUSH_MS = "drive.overhead.flush_ms",
        POWER_PROTECTED = "drive.power.protected",
    }
    /// Keys of a drive in its own file.
    figure {
        GEOMETRY_SECTORS = "geometry.sectors",
        GEOMETRY_PHYSICAL_SECTOR = "geometry.physical_sector",
        GEOMETRY_HEADS = "geometry.heads",
        GEOMETRY_ORDER = "geometry.order",
        GEOMETRY_RUN_TRACKS = "geometry.run_tracks",
        GEOMETRY_TRACK_SKEW = "geometry.track_skew",
        GEOMETRY_HEAD_SKEW = "geometry.head_skew",
        GEOMETRY_ZONES = "geometry.zones",
        MECHANICS_RPM = "mechanics.rpm",
        MECHANICS_HEAD_SWITCH_MS = "mechanics.head_switch_ms",
        MECHANICS_WRITE_SETTLE_MS = "mechanics.write_settle_ms",
        MECHANICS_LEAST_WRITE_MS = "mechanics.least_write_ms",
        MECHANICS_SEEK_FORM = "mechanics.seek.form",
        MECHANICS_SEEK_SINGLE_MS = "mechanics.seek.single_ms",
        MECHANICS_SEEK_AVERAGE_MS = "mechanics.seek.average_ms",
        MECHANICS_SEEK_FULL_MS = "mechanics.seek.full_ms",
        MECHANICS_SEEK_POINTS = "mechanics.seek.points",
        CACHE_SIZE_KIB = "cache.size_kib",
        CACHE_SEGMENTS = "cache.segments",
        CACHE_WRITE_BACK = "cache.write_back",
        CACHE_DIRTY_PERCENT = "cache.dirty_percent",
        CACHE_DIRTY_RUNS = "cache.dirty_runs",
        CACHE_FILLS_WHILE_DRAINING = "cache.fills_while_draining",
        CACHE_ROOM_RUNS = "cache.room_runs",
        CACHE_WRITTEN_HITS = "cache.written_hits",
        CACHE_WRITES_APART = "cache.writes_apart",
        CACHE_DESTAGE_IDLE_MS = "cache.destage_idle_ms",
        CACHE_MEDIA_CACHE_MIB = "cache.media_cache_mib",
        CACHE_MEDIA_CACHE_LARGEST_KIB = "cache.media_cache_largest_kib",
        CACHE_DESTAGE_AGE_MS = "cache.destage_age_ms",
        CACHE_LONG_WRITES = "cache.long_writes",
        CACHE_ADAPTIVE = "cache.adaptive",
        CACHE_ADAPTIVE_LENGTHS = "cache.adaptive_lengths",
        CACHE_READ_AHEAD_MAX_SECTORS = "cache.read_ahead.max_sectors",
        CACHE_READ_AHEAD_MIN_SECTORS = "cache.read_ahead.min_sectors",
        CACHE_READ_AHEAD_AFTER = "cache.read_ahead.after",
        CACHE_READ_AHEAD_UNTIL = "cache.read_ahead.until",
        CACHE_READ_AHEAD_OVER_REQUESTED = "cache.read_ahead.over_requested",
        CACHE_READ_AHEAD_FREE_BLOCKS = "cache.read_ahead.free_blocks",
        CACHE_READ_AHEAD_HOLD = "cache.read_ahead.hold",
        CACHE_READ_AHEAD_HOLD_AFTER = "cache.read_ahead.hold_after",
        CACHE_READ_AHEAD_CEILING_SECTORS = "cache.read_ahead.ceiling_sectors",
        CACHE_READ_AHEAD_LONGEST_READ_SECTORS = "cache.read_ahead.longest_read_sectors",
        CACHE_READ_AHEAD_DISCARD = "cache.read_ahead.discard",
        FIRMWARE_DEPTH = "firmware.depth",
        FIRMWARE_DISPATCH_MS = "firmware.dispatch_ms",
        FIRMWARE_REVISE_MS = "firmware.revise_ms",
        FIRMWARE_ZERO_LATENCY = "firmware.zero_latency",
        FIRMWARE_WRITE_VERIFY = "firmware.write_verify",
        FIRMWARE_LATE_WRITES_PERCENT = "firmware.late_writes_percent",
        FIRMWARE_COMMANDS_PERCENT = "firmware.commands_percent",
        FIRMWARE_QUEUE_POLICY = "firmware.queue.policy",
        FIRMWARE_QUEUE_WINDOW = "firmware.queue.window",
        FIRMWARE_QUEUE_NEAREST = "firmware.queue.nearest",
        FIRMWARE_QUEUE_SAMPLE = "firmware.queue.sample",
        FIRMWARE_QUEUE_AGEING = "firmware.queue.ageing",
        FIRMWARE_QUEUE_AGEING_AFTER_MS = "firmware.queue.ageing_after_ms",
        FIRMWARE_QUEUE_PATIENCE = "firmware.queue.patience",
        FIRMWARE_QUEUE_ROUND_PERCENT = "firmware.queue.round_percent",
        FIRMWARE_QUEUE_AHEAD = "firmware.queue.ahead",
        FIRMWARE_QUEUE_MAX_WAIT_MS = "firmware.queue.max_wait_ms",
        FIRMWARE_DESTAGE_POLICY = "firmware.destage.policy",
        FIRMWARE_DESTAGE_WINDOW = "firmware.destage.window",
        FIRMWARE_DESTAGE_NEAREST = "firmware.destage.nearest",
        FIRMWARE_DESTAGE_SAMPLE = "firmware.destage.sample",
        FIRMWARE_DESTAGE_AGEING = "firmware.destage.ageing",
        FIRMWARE_DESTAGE_AGEING_AFTER_MS = "firmware.destage.ageing_after_ms",
        FIRMWARE_DESTAGE_PATIENCE = "firmware.destage.patience",
        FIRMWARE_DESTAGE_ROUND_PERCENT = "firmware.destage.round_percent",
        FIRMWARE_DESTAGE_MAX_WAIT_MS = "firmware.destage.max_wait_ms",
        OVERHEAD_READ_HIT_MS = "overhead.read_hit_ms",
        OVERHEAD_READ_MISS_MS = "overhead.read_miss_ms",
        OVERHEAD_WRITE_HIT_MS = "overhead.write_hit_ms",
        OVERHEAD_WRITE_MISS_MS = "overhead.write_miss_ms",
        OVERHEAD_FLUSH_MS = "overhead.flush_ms",
        LINK_RATE_MB_S = "link.rate_mb_s",
        LINK_WRITE_RATE_MB_S = "link.write_rate_mb_s",
        LINK_COMMAND_MS = "link.command_ms",
        LINK_BUFFER_FULL_PERCENT = "link.buffer_full_percent",
        CHECKS_AVERAGE_SEEK_MS = "checks.average_seek_ms",
        CHECKS_AVERAGE_WRITE_SEEK_MS = "checks.average_write_seek_ms",
        CHECKS_SINGLE_SEEK_MS = "checks.single_seek_ms",
        CHECKS_FULL_SEEK_MS = "checks.full_seek_ms",
        CHECKS_LATENCY_MS = "checks.latency_ms",
        CHECKS_OUTER_MB_S = "checks.outer_mb_s",
        CHECKS_INNER_MB_S = "checks.inner_mb_s",
    }
    /// Keys of a real file or device.
    real {
        DIRECT = "real.direct",
        ENGINE = "real.engine",
        CACHE = "real.cache",
        LAYOUT = "real.layout",
        DESTROY = "real.destroy",
        SCHEDULER = "real.scheduler",
        WRITE_CACHE = "real.write_cache",
        QUEUE_DEPTH = "real.queue_depth",
        SERIAL = "real.serial",
    }
    /// Keys of a recorded trace.
    trace {
        FORMAT = "trace.format",
        LOOP = "trace.loop",
        SPEED = "trace.speed",
        MAP = "trace.map",
        DEVICE = "trace.device",
        EVENT = "trace.event",
        TIME = "trace.time",
        ADDRESS = "trace.address",
        LENGTH = "trace.length",
        WAIT = "trace.wait",
        WINDOW = "trace.window",
    }
}

/// True if `key` is `root` or below it.
pub fn is_below(key: &str, root: &str) -> bool {
    key.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// True if the key changes the job. The key `job` alone names another job.
pub fn is_job_key(key: &str) -> bool {
    key.starts_with("job.")
}

/// The variable of a job that the key sets: `NAME` of `job.env.NAME`, which is `${NAME}` in a fio job.
pub fn job_variable(key: &str) -> Option<&str> {
    key.strip_prefix("job.env.")
}

/// The key in a drive's own file: `cache.segments` of `drive.cache.segments`. `None` for other keys.
pub fn strip_drive(key: &str) -> Option<&str> {
    key.strip_prefix("drive.")
}

/// The name of a key of a real file or device: `engine` of `real.engine`. `None` for other keys.
pub fn strip_real(key: &str) -> Option<&str> {
    key.strip_prefix("real.")
}

/// True for keys of a real file or device.
pub fn is_real_key(key: &str) -> bool {
    strip_real(key).is_some()
}
