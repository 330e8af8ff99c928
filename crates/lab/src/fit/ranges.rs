//! The limits within which a fit may move a figure, by its key; and the choices that it tries for rules.
//!
//! The ranges follow from how wrong figures of a kind have been found, not from any drive's data. An extraction gave one drive 0.8 ms for a
//! command that took 3.3 ms, another a transfer a third too slow (`docs/validation.md`). Spindles are specified within 0.1 to 0.5 %. Makers'
//! seek times and reviewers' differ by up to 15 %.
//!
//! Keys not listed here do not move: the layout (it defines the addresses), the capacity, the state of the write cache (a condition of the
//! data, not a property of the drive), protection, faults and checks. The tests name each such key with its reason.

use seekwise_drives::key_names::figure;

/// The values that a number may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterRange {
    pub low: f64,
    pub high: f64,
    /// The size of a step.
    pub step: f64,
    /// True if the scale is logarithmic, so that equal ratios are equally far.
    pub log: bool,
}

impl ParameterRange {
    /// The value at a position from 0 to 1 in the range.
    pub fn value_at(&self, position: f64) -> f64 {
        let position = position.clamp(0.0, 1.0);
        let value = match self.log {
            true => self.low * (self.high / self.low).powf(position),
            false => self.low + (self.high - self.low) * position,
        };
        self.round_to_step(value)
    }

    /// The position of a value in the range, from 0 to 1.
    pub fn position_of(&self, value: f64) -> f64 {
        let position = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        position.clamp(0.0, 1.0)
    }

    /// The nearest allowed value.
    pub fn round_to_step(&self, value: f64) -> f64 {
        let steps = (value.clamp(self.low, self.high) / self.step).round();
        // 1/0.001 is not a whole number: division gives the shortest decimal.
        if self.step < 1.0 { steps / (1.0 / self.step).round() } else { steps * self.step }
    }

    /// Formats a value with as many decimals as its step.
    pub fn format_value(&self, value: f64) -> String {
        format!("{}", self.round_to_step(value))
    }
}

/// Times in milliseconds move by whole microseconds.
const STEP_MS: f64 = 0.001;

const fn linear_range(low: f64, high: f64, step: f64) -> Option<ParameterRange> {
    Some(ParameterRange { low, high, step, log: false })
}

fn ratio_range(value: f64, factor: f64, step: f64) -> Option<ParameterRange> {
    let low = (value / factor).max(step);
    (value > 0.0).then_some(ParameterRange { low, high: value * factor, step, log: true })
}

/// The range of the figure `key`, now `value`; `None` if it does not move.
pub fn range_for_key(key: &str, value: f64) -> Option<ParameterRange> {
    match key {
        // Electronics: from nothing to twice the figure and 2.5 ms, the most by which an extraction was found wrong.
        _ if key.starts_with("overhead.") && key != figure::OVERHEAD_FLUSH_MS => {
            linear_range(0.0, 2.0 * value + 2.5, STEP_MS)
        }
        figure::OVERHEAD_FLUSH_MS | figure::FIRMWARE_DISPATCH_MS | figure::LINK_COMMAND_MS => {
            linear_range(0.0, 2.0 * value + 1.0, STEP_MS)
        }
        // Settling is a fitted remainder in extractions, and below zero in some.
        figure::MECHANICS_WRITE_SETTLE_MS => {
            linear_range(value - value.abs() - 1.0, value + value.abs() + 1.0, STEP_MS)
        }
        figure::MECHANICS_LEAST_WRITE_MS => linear_range(0.0, 2.0 * value + 3.0, STEP_MS),
        figure::MECHANICS_HEAD_SWITCH_MS => linear_range(0.0, 2.0 * value + 0.5, STEP_MS),
        figure::MECHANICS_SEEK_SINGLE_MS => ratio_range(value, 2.0, STEP_MS),
        // Half of a revolution is often subtracted wrongly, or the settling left in: a quarter either way.
        figure::MECHANICS_SEEK_AVERAGE_MS | figure::MECHANICS_SEEK_FULL_MS => ratio_range(value, 1.25, STEP_MS),
        figure::MECHANICS_RPM => linear_range(0.995 * value, 1.005 * value, 0.1),
        figure::LINK_RATE_MB_S | figure::LINK_WRITE_RATE_MB_S => ratio_range(value, 2.0, 0.001),
        figure::LINK_BUFFER_FULL_PERCENT => linear_range(0.0, 100.0, 1.0),
        figure::CACHE_DIRTY_PERCENT => linear_range(1.0, 100.0, 1.0),
        figure::CACHE_SIZE_KIB => ratio_range(value, 2.0, 1.0),
        figure::CACHE_SEGMENTS | figure::CACHE_DIRTY_RUNS => ratio_range(value.max(1.0), 4.0, 1.0),
        figure::CACHE_DESTAGE_IDLE_MS => linear_range(0.0, 2.0 * value + 50.0, 0.1),
        figure::CACHE_READ_AHEAD_MAX_SECTORS => ratio_range(value, 4.0, 1.0),
        figure::CACHE_READ_AHEAD_MIN_SECTORS if value > 0.0 => linear_range(0.0, 4.0 * value, 1.0),
        // The cost of a track change is built into the skew; makers round it up by a few sectors.
        figure::GEOMETRY_TRACK_SKEW | figure::GEOMETRY_HEAD_SKEW if value > 0.0 => {
            linear_range(0.8 * value, 1.2 * value, 0.001)
        }
        figure::FIRMWARE_QUEUE_MAX_WAIT_MS | figure::FIRMWARE_DESTAGE_MAX_WAIT_MS | figure::CACHE_DESTAGE_AGE_MS => {
            ratio_range(value, 4.0, 1.0)
        }
        _ => None,
    }
}

/// The range of a correction to a seek curve where a seek takes `seek_ms`: 15 % either way, and half a millisecond for what an extraction
/// may have included or excluded (settling, a head switch).
pub(crate) fn bend_range(seek_ms: f64) -> ParameterRange {
    let limit = 0.15 * seek_ms + 0.5;
    ParameterRange { low: -limit, high: limit, step: STEP_MS, log: false }
}

const FLAG: &[&str] = &["false", "true"];
const POLICY: &[&str] = &["fcfs", "sstf", "look", "clook", "sptf"];
/// Numbers of commands among which a drive chooses; 0 for all.
const AMONG: &[&str] = &["0", "1", "2", "4", "8", "16", "32"];
/// Numbers of commands that are chosen before their turn.
const AHEAD: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "8", "12", "16"];
/// Thousandths of its wait that are taken off a command's cost.
const AGEING: &[&str] = &["0", "30", "100", "300", "1000", "3000"];
/// Milliseconds of a wait that do not count: from about a rotation to as long as a deep queue takes.
const AGEING_AFTER: &[&str] = &["0", "10", "30", "100", "300"];
/// Patience of a command, in rounds.
const PATIENCE: &[&str] = &["0", "1", "2", "3"];
/// Per cent of a round after which new commands join it.
const ROUND: &[&str] = &["0", "50", "100"];
/// Milliseconds for which a choice of a command may be revised: none, or until the host has answered, some tenths at most.
const REVISE: &[&str] = &["0", "0.2"];
/// Milliseconds after which a command or dirty data comes first.
const WAIT: &[&str] = &["30", "100", "300", "1000", "3000"];
/// Numbers of runs of dirty blocks.
const RUNS: &[&str] = &["1", "2", "4", "8", "16", "32", "64", "128"];
/// Runs that must be free before a write continues.
const ROOM: &[&str] = &["1", "2", "4", "8", "16", "32"];
/// Per cent of writes that begin a revolution late. Drives with narrow tracks are suspected of tens.
const LATE: &[&str] = &["0", "1", "2", "5", "10", "20", "30", "50"];
/// Per cent of the accesses to the medium that commands get.
const SHARE: &[&str] = &["20", "40", "60", "80", "90"];
/// The read of a stream from which on read-ahead is held.
const HOLD_AFTER: &[&str] = &["2", "3", "4", "8", "16", "32"];
/// Limits of lengths in sectors, from 4 KiB to 512 KiB.
const LENGTHS: &[&str] = &["8", "32", "128", "512", "1024"];
/// The largest write, in KiB, that goes to a media cache.
const LARGEST: &[&str] = &["4", "16", "64", "256"];

/// A rule of a drive that a fit may change.
#[derive(Clone, Copy, Debug)]
pub struct RuleChoices {
    /// The key in a profile.
    pub key: &'static str,
    /// The choice of a profile that does not state one. It is not among the choices if a profile cannot state it.
    pub default: &'static str,
    pub choices: &'static [&'static str],
}

const fn rule(key: &'static str, default: &'static str, choices: &'static [&'static str]) -> RuleChoices {
    RuleChoices { key, default, choices }
}

/// All rules. A combination that the reader refuses is a point that makes no drive. A key that is also a number with a range
/// ([`range_for_key`]) is a rule only if the profile lacks it.
pub const RULES: &[RuleChoices] = &[
    rule(figure::CACHE_DIRTY_RUNS, "one per segment", RUNS),
    rule(figure::CACHE_FILLS_WHILE_DRAINING, "false", FLAG),
    rule(figure::CACHE_ROOM_RUNS, "1", ROOM),
    rule(figure::CACHE_WRITTEN_HITS, "cached", &["none", "cached", "all"]),
    rule(figure::CACHE_WRITES_APART, "false", FLAG),
    rule(figure::CACHE_MEDIA_CACHE_LARGEST_KIB, "none", LARGEST),
    rule(figure::CACHE_DESTAGE_AGE_MS, "no limit", WAIT),
    rule(figure::CACHE_LONG_WRITES, "several", &["several", "wrap"]),
    rule(figure::CACHE_ADAPTIVE, "false", FLAG),
    rule(figure::CACHE_ADAPTIVE_LENGTHS, "equal", &["equal", "own"]),
    rule(figure::CACHE_READ_AHEAD_AFTER, "1", &["1", "2", "3", "4"]),
    rule(figure::CACHE_READ_AHEAD_UNTIL, "segment", &["segment", "track", "cylinder", "next-track"]),
    rule(figure::CACHE_READ_AHEAD_OVER_REQUESTED, "false", FLAG),
    rule(figure::CACHE_READ_AHEAD_FREE_BLOCKS, "false", FLAG),
    rule(figure::CACHE_READ_AHEAD_HOLD, "never", &["never", "track", "segment", "stream"]),
    rule(figure::CACHE_READ_AHEAD_HOLD_AFTER, "2", HOLD_AFTER),
    rule(figure::CACHE_READ_AHEAD_CEILING_SECTORS, "no limit", LENGTHS),
    rule(figure::CACHE_READ_AHEAD_LONGEST_READ_SECTORS, "no limit", LENGTHS),
    rule(figure::CACHE_READ_AHEAD_DISCARD, "false", FLAG),
    rule(figure::FIRMWARE_ZERO_LATENCY, "false", FLAG),
    rule(figure::FIRMWARE_WRITE_VERIFY, "false", FLAG),
    rule(figure::FIRMWARE_LATE_WRITES_PERCENT, "0", LATE),
    rule(figure::FIRMWARE_COMMANDS_PERCENT, "by position", SHARE),
    rule(figure::FIRMWARE_DEPTH, "1", &["1", "2", "4", "8", "16", "32", "64"]),
    rule(figure::FIRMWARE_REVISE_MS, "0", REVISE),
    rule(figure::FIRMWARE_QUEUE_POLICY, "fcfs", POLICY),
    rule(figure::FIRMWARE_QUEUE_WINDOW, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_NEAREST, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_SAMPLE, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_AGEING, "0", AGEING),
    rule(figure::FIRMWARE_QUEUE_AGEING_AFTER_MS, "0", AGEING_AFTER),
    rule(figure::FIRMWARE_QUEUE_PATIENCE, "0", PATIENCE),
    rule(figure::FIRMWARE_QUEUE_ROUND_PERCENT, "0", ROUND),
    rule(figure::FIRMWARE_QUEUE_AHEAD, "0", AHEAD),
    rule(figure::FIRMWARE_QUEUE_MAX_WAIT_MS, "no limit", WAIT),
    rule(figure::FIRMWARE_DESTAGE_POLICY, "fcfs", POLICY),
    rule(figure::FIRMWARE_DESTAGE_WINDOW, "0", AMONG),
    rule(figure::FIRMWARE_DESTAGE_NEAREST, "0", AMONG),
    rule(figure::FIRMWARE_DESTAGE_SAMPLE, "0", AMONG),
    rule(figure::FIRMWARE_DESTAGE_AGEING, "0", AGEING),
    rule(figure::FIRMWARE_DESTAGE_AGEING_AFTER_MS, "0", AGEING_AFTER),
    rule(figure::FIRMWARE_DESTAGE_PATIENCE, "0", PATIENCE),
    rule(figure::FIRMWARE_DESTAGE_ROUND_PERCENT, "0", ROUND),
    rule(figure::FIRMWARE_DESTAGE_MAX_WAIT_MS, "no limit", WAIT),
];

/// The rule with this key; `None` if the key is of no rule.
pub fn find_rule(key: &str) -> Option<&'static RuleChoices> {
    RULES.iter().find(|rule| rule.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use seekwise_drives::key_names::is_below;
    use seekwise_drives::profile::keys::KEYS;

    #[test]
    fn every_rule_is_a_key_that_takes_its_choices() {
        let mut drive = catalogue::load_drive("barracuda-7200.7-ncq").unwrap();
        for RuleChoices { key, default, choices } in RULES {
            let known = KEYS.iter().find(|known| known.path == *key).expect(key);
            choices.iter().for_each(|word| drive.set(key, word).unwrap());
            if known.required {
                assert!(choices.contains(default), "{key}");
                continue;
            }
            let words = if known.otherwise == "off" { "false" } else { known.otherwise };
            let word = words.split(", ").next().unwrap_or_default();
            assert_eq!(word, *default, "{key}");
            assert_eq!(choices.contains(default), word != "none" && drive.clone().set(key, word).is_ok(), "{key}");
        }
    }

    /// Keys, or sections, that no fit moves, each with the reason.
    const FIXED: &[(&str, &str)] = &[
        ("geometry", "the layout defines the addresses, and the capacity is known"),
        ("mechanics.seek.form", "the form of the curve's description; its times move"),
        ("mechanics.seek.settle_ms", "a share of the curve, which moves with its three times"),
        ("mechanics.seek.write_points", "a measured curve; `write_settle_ms` moves all of it"),
        ("cache.max_segments", "a limit for settings, not a rule of the running drive"),
        ("cache.write_back", "a condition of the measurement"),
        ("cache.media_cache_mib", "it takes slots of the layout, which defines the addresses"),
        ("cache.media_cache_stretches", "as its size"),
        ("cache.flash_kib", "protection from power cuts, stated by the maker"),
        ("cache.read_ahead.multiplied", "the unit of two numbers, which move: with both, a fit ended in a worse place"),
        ("firmware.priority", "data have no marked commands"),
        ("firmware.recovery_limit_ms", "only weak sectors need retries"),
        ("link.max_transfer_sectors", "a limit of the interface, which splits requests"),
        ("link.fua", "a command set, not a rule of time"),
        ("link.queuing", "a command set; `firmware.depth` moves"),
        ("faults", "a healthy drive was measured"),
        ("power", "no measurement of times cuts the power"),
        ("checks", "no property of the drive"),
    ];

    /// The next key of the model must be decided on: it may move, or stands above with the reason why not.
    #[test]
    fn every_key_may_move_or_has_a_reason_not_to() {
        let reason = |key: &str| FIXED.iter().find(|(fixed, _)| is_below(key, fixed));
        for key in KEYS.iter().map(|key| key.path) {
            let moves =
                find_rule(key).is_some() || range_for_key(key, 10.0).is_some() || key == figure::MECHANICS_SEEK_POINTS;
            let in_layout = key.starts_with("geometry.");
            assert!(moves || reason(key).is_some(), "{key}: expected a range, a rule, or a reason in FIXED");
            assert!(!moves || reason(key).is_none() || in_layout, "{key} moves, and FIXED says why it does not");
        }
        for (fixed, _) in FIXED {
            assert!(KEYS.iter().any(|key| is_below(key.path, fixed)), "{fixed} is no key");
        }
    }

    #[test]
    fn values_and_places_go_both_ways_and_keep_to_the_steps() {
        let range = range_for_key("link.rate_mb_s", 5.0).unwrap();
        assert_eq!((range.value_at(0.0), range.value_at(0.5), range.value_at(1.0)), (2.5, 5.0, 10.0));
        assert!((range.position_of(5.0) - 0.5).abs() < 1e-12);
        let range = range_for_key("overhead.read_hit_ms", 0.184).unwrap();
        assert_eq!(range.value_at(0.123_456), 0.354);
        assert_eq!(range.format_value(0.184), "0.184");
        assert_eq!(range_for_key("geometry.heads", 4.0), None);
        assert_eq!(range_for_key("cache.segments", 10.0).unwrap().value_at(1.0), 40.0);
    }
}
