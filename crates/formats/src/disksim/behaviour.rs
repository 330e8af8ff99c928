//! Converts the buffer, firmware, overheads and bus of a `disksim_disk` to sections of the profile, and lists the parameters that
//! the model has no counterpart for.

use super::fields::ParameterFields;
use super::syntax::{Errors, ParameterBlock, SourcePosition};
use super::write::ProfileWriter;

/// Keys of a `disksim_disk`.
pub(super) const DISK: &[&str] = &[
    "Model",
    "Scheduler",
    "Max queue length",
    "Bulk sector transfer time",
    "Segment size (in blks)",
    "Number of buffer segments",
    "Print stats",
    "Per-request overhead time",
    "Time scale for overheads",
    "Hold bus entire read xfer",
    "Hold bus entire write xfer",
    "Allow almost read hits",
    "Allow sneaky full read hits",
    "Allow sneaky partial read hits",
    "Allow sneaky intermediate read hits",
    "Allow read hits on write data",
    "Allow write prebuffering",
    "Preseeking level",
    "Never disconnect",
    "Avg sectors per cylinder",
    "Maximum number of write segments",
    "Use separate write segment",
    "Low (write) water mark",
    "High (read) water mark",
    "Set watermark by reqsize",
    "Calc sector by sector",
    "Enable caching in buffer",
    "Buffer continuous read",
    "Minimum read-ahead (blks)",
    "Maximum read-ahead (blks)",
    "Read-ahead over requested",
    "Read-ahead on idle hit",
    "Read any free blocks",
    "Fast write level",
    "Combine seq writes",
    "Stop prefetch in sector",
    "Disconnect write if seek",
    "Write hit stop prefetch",
    "Read directly to buffer",
    "Immed transfer partial hit",
    "Read hit over. after read",
    "Read hit over. after write",
    "Read miss over. after read",
    "Read miss over. after write",
    "Write hit over. after read",
    "Write hit over. after write",
    "Write miss over. after read",
    "Write miss over. after write",
    "Read completion overhead",
    "Write completion overhead",
    "Data preparation overhead",
    "First reselect overhead",
    "Other reselect overhead",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Write disconnect overhead",
    "Extra write disconnect",
    "Extradisc command overhead",
    "Extradisc disconnect overhead",
    "Extradisc inter-disconnect delay",
    "Extradisc 2nd disconnect overhead",
    "Extradisc seek delta",
    "Minimum seek delay",
    "Immediate buffer read",
    "Immediate buffer write",
    "Constant access time",
];

/// The longest time, in milliseconds.
const LONGEST_MS: f64 = 10_000.0;

/// Writes the sections `cache`, `firmware`, `overhead`, `link` and `power`.
pub(super) fn write_behaviour(
    disk: &ParameterFields<'_>,
    buses: &[&ParameterBlock],
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    write_cache_section(disk, writer)?;
    write_firmware_section(disk, writer)?;
    write_overhead_section(disk, writer)?;
    write_link_section(disk, buses, writer)?;
    writer.begin_section("power");
    writer.write_inferred(
        "cut_sector",
        "\"finished\"",
        "drives finish the sector under the head from the spindle's energy",
    );
    note_unmodelled_keys(disk, writer)
}

fn read_flag(disk: &ParameterFields<'_>, key: &str) -> Result<bool, Errors> {
    Ok(disk.number_or(key, -1.0, 9.0, 0.0)? != 0.0)
}

fn write_cache_section(disk: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<(), Errors> {
    let segments = disk.whole_number("Number of buffer segments", 0, 4096)?;
    let segment_sectors = disk.whole_number("Segment size (in blks)", 0, 1 << 24)?;
    let write_segments = disk.number_or("Maximum number of write segments", 0.0, 4096.0, 1.0)? as u64;
    writer.begin_section("cache");
    let parameters = "Number of buffer segments times Segment size";
    let position = disk.position("Segment size (in blks)");
    writer.write_given("size_kib", (segments * segment_sectors).div_ceil(2), position, parameters);
    writer.write_given("segments", segments, disk.position("Number of buffer segments"), "Number of buffer segments");
    let has_write_cache = disk.whole_number("Fast write level", 0, 2)? > 0;
    writer.write_given(
        "write_back",
        has_write_cache && segments > 0,
        disk.position("Fast write level"),
        "Fast write level",
    );
    let percent = (100 * write_segments.min(segments)).div_ceil(segments.max(1)).clamp(1, 100);
    let key = "Maximum number of write segments";
    writer.write_given("dirty_percent", percent, disk.position(key), key);
    write_segment_rules(disk, segments, write_segments, writer)?;
    writer.write_inferred("destage_idle_ms", 0.0, "DiskSim destages a cached write at once");
    write_read_ahead_section(disk, segment_sectors, writer)
}

/// Writes the rules of segments: read hits on written data, and segments for writes alone (which DiskSim refuses with a single
/// segment).
fn write_segment_rules(
    disk: &ParameterFields<'_>,
    segments: u64,
    write_segments: u64,
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let key = "Allow read hits on write data";
    if segments > 0 && disk.block.get(key).is_some() {
        let hits = if read_flag(disk, key)? { "\"all\"" } else { "\"none\"" };
        writer.write_given("written_hits", hits, disk.position(key), key);
    }
    let key = "Use separate write segment";
    let leaves_segments = (1..segments).contains(&write_segments);
    match read_flag(disk, key)? {
        false => {}
        true if leaves_segments => writer.write_given("writes_apart", true, disk.position(key), key),
        true => writer.note_unmodelled(disk.block, key, true, "reads would have no segment left"),
    }
    Ok(())
}

fn write_read_ahead_section(
    disk: &ParameterFields<'_>,
    segment_sectors: u64,
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let key = "Buffer continuous read";
    let until = match disk.whole_number(key, 0, 4)? {
        0 => None,
        1 => Some("track"),
        2 => Some("cylinder"),
        3 => Some("segment"),
        _ => Some("next-track"),
    };
    let cached = disk.number_or("Enable caching in buffer", 0.0, 2.0, 1.0)? > 0.0;
    let stated_most = disk.number_or("Maximum read-ahead (blks)", 0.0, 1e7, 0.0)? as u64;
    let most = match (until, cached) {
        (None, _) | (_, false) => 0,
        _ if stated_most == 0 => segment_sectors,
        _ => stated_most,
    };
    let least = disk.number_or("Minimum read-ahead (blks)", 0.0, 1e7, 0.0)? as u64;
    writer.begin_section("cache.read_ahead");
    writer.write_given("max_sectors", most, disk.position("Maximum read-ahead (blks)"), "Maximum read-ahead");
    writer.write_given(
        "min_sectors",
        least.min(most),
        disk.position("Minimum read-ahead (blks)"),
        "Minimum read-ahead",
    );
    writer.write_given("until", format!("\"{}\"", until.unwrap_or("segment")), disk.position(key), key);
    let (over, free) = ("Read-ahead over requested", "Read any free blocks");
    writer.write_given("over_requested", read_flag(disk, over)?, disk.position(over), over);
    writer.write_given("free_blocks", read_flag(disk, free)?, disk.position(free), free);
    Ok(())
}

fn write_firmware_section(disk: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<(), Errors> {
    let depth = disk.number_or("Max queue length", 0.0, 1e6, 1.0)?.clamp(1.0, 256.0) as u64;
    writer.begin_section("firmware");
    writer.write_given("depth", depth, disk.position("Max queue length"), "Max queue length");
    writer.write_inferred("dispatch_ms", 0.0, "DiskSim chooses the next command when the arm is free");
    let key = "Immediate buffer read";
    writer.write_given("zero_latency", read_flag(disk, key)?, disk.position(key), key);
    let scheduler = disk.required_block("Scheduler")?;
    let fields = ParameterFields::new(scheduler, &[]);
    let key = "Scheduling policy";
    let (policy, exact) = match fields.whole_number(key, 1, 40)? {
        1 => ("fcfs", true),
        2 | 5 => ("look", true),
        3 | 6 => ("clook", true),
        4 | 7 => ("sstf", true),
        8 => ("sptf", true),
        _ => ("sptf", false),
    };
    writer.begin_section("firmware.queue");
    writer.write_given("policy", format!("\"{policy}\""), fields.position(key), key);
    writer.begin_section("firmware.destage");
    writer.write_inferred("policy", "\"fcfs\"", "DiskSim destages in the order of writing");
    writer.note_unmodelled(
        fields.block,
        key,
        !exact && depth > 1,
        "a variant of shortest positioning time with weights; the model has the plain policy",
    );
    Ok(())
}

fn write_overhead_section(disk: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<(), Errors> {
    let scale = disk.number_or("Time scale for overheads", 0.0, 1000.0, 1.0)?;
    let scaled_ms = |key: &str| Ok::<f64, Errors>(disk.number_or(key, 0.0, LONGEST_MS, 0.0)? * scale);
    let per_request = scaled_ms("Per-request overhead time")?;
    let preparation = scaled_ms("Data preparation overhead")?;
    writer.begin_section("overhead");
    for (name, kind) in
        [("read_hit", "Read hit"), ("read_miss", "Read miss"), ("write_hit", "Write hit"), ("write_miss", "Write miss")]
    {
        // Data preparation precedes an immediate transfer. A read miss has released the bus before its data arrive; if it never
        // disconnects, the preparation overlaps with the access (DiskSim's `disk_read_arrive`).
        let preparation = if name == "read_miss" { 0.0 } else { preparation };
        for (suffix, before) in [("", "read"), ("_after_write", "write")] {
            let key = format!("{kind} over. after {before}");
            let ms = scaled_ms(&key)? + per_request + preparation;
            writer.write_given(&format!("{name}{suffix}_ms"), round_to_nanos(ms), disk.position(&key), &key);
        }
    }
    let hit = scaled_ms("Read hit over. after read")? + per_request;
    writer.write_inferred("flush_ms", round_to_nanos(hit), "not said; a command without data, decoded as a read hit");
    let reselect = "First reselect overhead";
    let never_disconnects = read_flag(disk, "Never disconnect")?;
    let ms = if never_disconnects { 0.0 } else { scaled_ms(reselect)? + preparation };
    writer.write_given(
        "reselect_ms",
        round_to_nanos(ms),
        disk.position(reselect),
        "First reselect overhead and Data preparation overhead",
    );
    for (name, key) in
        [("completion_ms", "Read completion overhead"), ("write_completion_ms", "Write completion overhead")]
    {
        writer.write_given(name, round_to_nanos(scaled_ms(key)?), disk.position(key), key);
    }
    Ok(())
}

/// Rounds milliseconds to whole nanoseconds.
fn round_to_nanos(ms: f64) -> f64 {
    (ms * 1e6).round() / 1e6
}

/// Writes the link. A sector takes as long as the slowest of drive, buses and controller needs.
fn write_link_section(
    disk: &ParameterFields<'_>,
    buses: &[&ParameterBlock],
    writer: &mut ProfileWriter,
) -> Result<(), Errors> {
    let drive_ms = disk.number("Bulk sector transfer time", 0.0, 100.0)?;
    writer.begin_section("link");
    for (name, key) in [("rate_mb_s", "Read block transfer time"), ("write_rate_mb_s", "Write block transfer time")] {
        let (mut slowest_ms, mut position, mut parameter) =
            (drive_ms, disk.position("Bulk sector transfer time"), "Bulk sector transfer time");
        for bus in buses {
            let fields = ParameterFields::new(bus, &[]);
            for key in [key, "Bulk sector transfer time"] {
                let ms = fields.number_or(key, 0.0, 100.0, 0.0)?;
                if ms > slowest_ms {
                    (slowest_ms, position, parameter) = (ms, fields.position(key), key);
                }
            }
        }
        // A transfer time of zero means that the link is never the limit.
        let rate_mb_s = if slowest_ms > 0.0 { 0.512 / slowest_ms } else { 100_000.0 };
        writer.write_given(
            name,
            (rate_mb_s * 1e6).round() / 1e6,
            position,
            &format!("{parameter}, {slowest_ms} ms for 512 bytes, the slowest on the way"),
        );
    }
    writer.write_inferred("command_ms", 0.0, "within the overheads");
    writer.write_inferred("max_transfer_sectors", 65_536, "no limit is given");
    let by_request = read_flag(disk, "Set watermark by reqsize")?;
    let mark = disk.number_or("High (read) water mark", 0.0, 1.0, 0.0)?;
    let percent = if by_request { (100.0 * mark).round() } else { 0.0 };
    writer.write_given(
        "buffer_full_percent",
        percent,
        disk.position("High (read) water mark"),
        "High (read) water mark",
    );
    writer.note_unmodelled(
        disk.block,
        "Set watermark by reqsize",
        !by_request && mark > 0.0,
        "the model uses a share of the request",
    );
    writer.write_inferred("fua", true, "SCSI's FUA bit; DiskSim has no such flag");
    writer.write_inferred("queuing", "\"scsi\"", "the simulated bus is SCSI's");
    if let Some((position, key)) = find_setup_delay(buses) {
        writer.note_unmodelled_effect(key, position, "an arbitration or initiation delay before each transfer");
    }
    Ok(())
}

/// Finds a delay of buses or controllers that the model's link does not have: its position and key.
fn find_setup_delay<'a>(buses: &[&'a ParameterBlock]) -> Option<(&'a SourcePosition, &'static str)> {
    buses.iter().find_map(|bus| {
        ["Arbitration time", "Constant access time"].into_iter().find_map(|key| {
            let ms = ParameterFields::new(bus, &[]).number_or(key, 0.0, LONGEST_MS, 0.0).unwrap_or(0.0);
            (ms > 0.0).then(|| (&bus.get(key).expect("it has a value").at, key))
        })
    })
}

/// Parameters without a counterpart: the key; the values with which DiskSim behaves as the model does (an empty list: any value);
/// the behaviour that the key governs.
const UNMODELLED: &[(&str, &[f64], &str)] = &[
    ("Hold bus entire read xfer", &[0.0, 1.0], "one request at a time holds the bus either way"),
    ("Hold bus entire write xfer", &[0.0, 1.0], "one request at a time holds the bus either way"),
    ("Allow almost read hits", &[1.0], "in the model, a read just ahead of a prefetch waits for it"),
    ("Allow sneaky full read hits", &[1.0], "reads in the buffer are served while the arm serves other requests"),
    ("Allow sneaky partial read hits", &[1.0], "reads that are partly in the buffer are served in turn"),
    ("Allow sneaky intermediate read hits", &[1.0], "blocks that an access happens to read serve other requests"),
    ("Allow write prebuffering", &[1.0], "write data are transferred while the arm moves"),
    ("Preseeking level", &[0.0], "the arm moves for the next command before the current one completes"),
    ("Low (write) water mark", &[0.0], "the drive asks for more data of a write when its buffer is this empty"),
    ("Calc sector by sector", &[0.0, 1.0], "a method of computation, not a behaviour"),
    ("Enable caching in buffer", &[1.0], "2 serves reads from segments that they leave only in part"),
    ("Read-ahead on idle hit", &[1.0], "a read served from the buffer starts a prefetch when the arm is idle"),
    ("Combine seq writes", &[1.0], "a write that continues another joins its segment"),
    ("Stop prefetch in sector", &[1.0], "a prefetch stops at once, not at the end of a sector"),
    ("Disconnect write if seek", &[0.0], "releases the bus during the seek of a write"),
    ("Write hit stop prefetch", &[1.0], "a write stops the current prefetch"),
    ("Read directly to buffer", &[1.0], "blocks enter the buffer as they pass, not when the track is complete"),
    ("Immed transfer partial hit", &[1.0], "the buffered part of a read is transferred immediately"),
    ("Immediate buffer write", &[0.0], "a write starts with whichever of its sectors comes first"),
    ("Other reselect overhead", &[0.0], "further reselections of a command"),
    ("Read disconnect afterread", &[0.0], "releasing the bus; overlaps with the seek"),
    ("Read disconnect afterwrite", &[0.0], "releasing the bus; overlaps with the seek"),
    ("Write disconnect overhead", &[0.0], "releasing the bus; overlaps with the write"),
    ("Extra write disconnect", &[0.0], "a write after a write that it does not continue releases the bus once more"),
    ("Extradisc command overhead", &[0.0], "belongs to the extra disconnect of such a write"),
    ("Extradisc disconnect overhead", &[0.0], "belongs to the extra disconnect of such a write"),
    ("Extradisc inter-disconnect delay", &[0.0], "belongs to the extra disconnect of such a write"),
    ("Extradisc 2nd disconnect overhead", &[0.0], "belongs to the extra disconnect of such a write"),
    ("Extradisc seek delta", &[0.0], "belongs to the extra disconnect of such a write"),
    ("Constant access time", &[0.0], "a fixed time instead of the mechanism"),
    ("Print stats", &[0.0, 1.0], "affects only DiskSim's own report"),
    ("Avg sectors per cylinder", &[], "only used to estimate distances"),
];

fn note_unmodelled_keys(disk: &ParameterFields<'_>, writer: &mut ProfileWriter) -> Result<(), Errors> {
    for &(key, model_values, why) in UNMODELLED {
        // The default is not a number, which no list contains; `note_unmodelled` passes over missing keys.
        let value = disk.number_or(key, -1e9, 1e9, f64::NAN)?;
        let changes_result = !model_values.is_empty() && !model_values.contains(&value);
        writer.note_unmodelled(disk.block, key, changes_result, why);
    }
    Ok(())
}
