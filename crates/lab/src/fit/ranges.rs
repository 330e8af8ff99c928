//! The limits within which a fit may move a figure, by its key; and the choices that it tries for rules.
//!
//! The ranges follow from how wrong figures of a kind have been found, not from any drive's data. An extraction gave one drive 0.8 ms for a
//! command that took 3.3 ms, another a transfer a third too slow (`docs/validation.md`). Spindles are specified within 0.1 to 0.5 %. Makers'
//! seek times and reviewers' differ by up to 15 %.
//!
//! Keys not listed here do not move: the layout (it defines the addresses), the capacity, the state of the write cache (a condition of the
//! data, not a property of the drive), protection, faults and checks.

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
const POLICY: &[&str] = &["fcfs", "look", "sptf"];
/// Numbers of commands among which a drive chooses; 0 for all.
const AMONG: &[&str] = &["0", "1", "2", "4", "8", "16", "32"];
/// Numbers of commands that are chosen before their turn.
const AHEAD: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "8", "12", "16"];
/// Thousandths of its wait that are taken off a command's cost.
const AGEING: &[&str] = &["0", "30", "100", "300", "1000", "3000"];

/// Patience of a command, in rounds.
const PATIENCE: &[&str] = &["0", "1", "2", "3"];
/// Per cent of a round after which new commands join it.
const ROUND: &[&str] = &["0", "50", "100"];
/// Milliseconds for which a choice of a command may be revised: none, or until the host has answered, some tenths at most.
const REVISE: &[&str] = &["0", "0.2"];

/// A rule of a drive that a fit may change.
#[derive(Clone, Copy, Debug)]
pub struct RuleChoices {
    /// The key in a profile.
    pub key: &'static str,
    /// The choice of a profile that does not state one.
    pub default: &'static str,
    pub choices: &'static [&'static str],
}

const fn rule(key: &'static str, default: &'static str, choices: &'static [&'static str]) -> RuleChoices {
    RuleChoices { key, default, choices }
}

/// All rules.
pub const RULES: &[RuleChoices] = &[
    rule(figure::CACHE_READ_AHEAD_AFTER, "1", &["1", "2", "3", "4"]),
    rule(figure::CACHE_READ_AHEAD_UNTIL, "segment", &["segment", "track", "cylinder", "next-track"]),
    rule(figure::CACHE_READ_AHEAD_OVER_REQUESTED, "false", FLAG),
    rule(figure::CACHE_READ_AHEAD_FREE_BLOCKS, "false", FLAG),
    rule(figure::CACHE_READ_AHEAD_HOLD, "never", &["never", "track", "segment", "stream"]),
    rule(figure::CACHE_READ_AHEAD_DISCARD, "false", FLAG),
    rule(figure::CACHE_LONG_WRITES, "several", &["several", "wrap"]),
    rule(figure::CACHE_WRITTEN_HITS, "cached", &["none", "cached", "all"]),
    rule(figure::CACHE_FILLS_WHILE_DRAINING, "false", FLAG),
    rule(figure::FIRMWARE_ZERO_LATENCY, "false", FLAG),
    rule(figure::FIRMWARE_DEPTH, "1", &["1", "2", "4", "8", "16", "32", "64"]),
    rule(figure::FIRMWARE_REVISE_MS, "0", REVISE),
    rule(figure::FIRMWARE_QUEUE_POLICY, "fcfs", POLICY),
    rule(figure::FIRMWARE_QUEUE_WINDOW, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_NEAREST, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_SAMPLE, "0", AMONG),
    rule(figure::FIRMWARE_QUEUE_AGEING, "0", AGEING),
    rule(figure::FIRMWARE_QUEUE_PATIENCE, "0", PATIENCE),
    rule(figure::FIRMWARE_QUEUE_ROUND_PERCENT, "0", ROUND),
    rule(figure::FIRMWARE_QUEUE_AHEAD, "0", AHEAD),
    rule(figure::FIRMWARE_DESTAGE_POLICY, "fcfs", POLICY),
    rule(figure::FIRMWARE_DESTAGE_WINDOW, "0", AMONG),
    rule(figure::FIRMWARE_DESTAGE_NEAREST, "0", AMONG),
    rule(figure::FIRMWARE_DESTAGE_AGEING, "0", AGEING),
];

/// The rule with this key; `None` if the key is of no rule.
pub fn find_rule(key: &str) -> Option<&'static RuleChoices> {
    RULES.iter().find(|rule| rule.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_drives::profile::keys::KEYS;

    #[test]
    fn every_rule_is_a_key_that_takes_its_choices() {
        for RuleChoices { key, default, choices } in RULES {
            let known = KEYS.iter().find(|known| known.path == *key).expect(key);
            assert!(choices.contains(default), "{key}");
            if !known.required {
                let holds = known.otherwise.split([',', ' ']).next().unwrap_or_default();
                let holds = if holds == "off" { "false" } else { holds };
                assert_eq!(holds, *default, "{key}");
            }
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
