//! The limits within which a fit may move a figure, by its key; and the choices that it tries for rules.
//!
//! The ranges say how wrong figures of this kind have been found, not what any drive's data say: an extraction gave one
//! drive 0.8 ms for a command that took 3.3, another a transfer a third too slow (`docs/validation.md`); spindles are
//! specified within 0.1 to 0.5 %; makers' seeks and reviewers' differ by up to 15 %. Keys not listed here do not move:
//! the layout (it defines the addresses), the capacity, the state of the write cache (a condition of the data, not a
//! property of the drive), protection, faults and checks.

/// The values of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterRange {
    pub low: f64,
    pub high: f64,
    /// The size of a step.
    pub step: f64,
    /// The scale is logarithmic: equal ratios are equally far.
    pub log: bool,
}

impl ParameterRange {
    /// The value at a place from 0 to 1 of the range.
    pub fn value_at(&self, place: f64) -> f64 {
        let place = place.clamp(0.0, 1.0);
        let value = match self.log {
            true => self.low * (self.high / self.low).powf(place),
            false => self.low + (self.high - self.low) * place,
        };
        self.round(value)
    }

    /// The place of a value in the range, from 0 to 1.
    pub fn place_of(&self, value: f64) -> f64 {
        let place = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        place.clamp(0.0, 1.0)
    }

    /// The nearest allowed value.
    pub fn round(&self, value: f64) -> f64 {
        let steps = (value.clamp(self.low, self.high) / self.step).round();
        // 1/0.001 is not a whole number: division gives the shortest decimal.
        if self.step < 1.0 { steps / (1.0 / self.step).round() } else { steps * self.step }
    }

    /// Formats a value with as many decimals as its step.
    pub fn format_value(&self, value: f64) -> String {
        format!("{}", self.round(value))
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
        _ if key.starts_with("overhead.") && key != "overhead.flush_ms" => {
            linear_range(0.0, 2.0 * value + 2.5, STEP_MS)
        }
        "overhead.flush_ms" | "firmware.dispatch_ms" | "link.command_ms" => {
            linear_range(0.0, 2.0 * value + 1.0, STEP_MS)
        }
        // Settling is a fitted remainder in extractions, and below zero in some.
        "mechanics.write_settle_ms" => linear_range(value - value.abs() - 1.0, value + value.abs() + 1.0, STEP_MS),
        "mechanics.least_write_ms" => linear_range(0.0, 2.0 * value + 3.0, STEP_MS),
        "mechanics.head_switch_ms" => linear_range(0.0, 2.0 * value + 0.5, STEP_MS),
        "mechanics.seek.single_ms" => ratio_range(value, 2.0, STEP_MS),
        // Half of a revolution is often subtracted wrongly, or the settling left in: a quarter either way.
        "mechanics.seek.average_ms" | "mechanics.seek.full_ms" => ratio_range(value, 1.25, STEP_MS),
        "mechanics.rpm" => linear_range(0.995 * value, 1.005 * value, 0.1),
        "link.rate_mb_s" | "link.write_rate_mb_s" => ratio_range(value, 2.0, 0.001),
        "link.buffer_full_percent" => linear_range(0.0, 100.0, 1.0),
        "cache.dirty_percent" => linear_range(1.0, 100.0, 1.0),
        "cache.size_kib" => ratio_range(value, 2.0, 1.0),
        "cache.segments" | "cache.dirty_runs" => ratio_range(value.max(1.0), 4.0, 1.0),
        "cache.destage_idle_ms" => linear_range(0.0, 2.0 * value + 50.0, 0.1),
        "cache.read_ahead.max_sectors" => ratio_range(value, 4.0, 1.0),
        "cache.read_ahead.min_sectors" if value > 0.0 => linear_range(0.0, 4.0 * value, 1.0),
        // The cost of a track change is built into the skew; makers round it up by a few sectors.
        "geometry.track_skew" | "geometry.head_skew" if value > 0.0 => linear_range(0.8 * value, 1.2 * value, 0.001),
        "firmware.queue.max_wait_ms" | "firmware.destage.max_wait_ms" | "cache.destage_age_ms" => {
            ratio_range(value, 4.0, 1.0)
        }
        _ => None,
    }
}

/// The range of a bend of a seek curve that takes `ms` there: 15 % either way, and half a millisecond for what an
/// extraction may have included or excluded (settling, a head switch).
pub fn bend_range(ms: f64) -> ParameterRange {
    let most = 0.15 * ms + 0.5;
    ParameterRange { low: -most, high: most, step: STEP_MS, log: false }
}

const FLAG: &[&str] = &["false", "true"];
const POLICY: &[&str] = &["fcfs", "look", "sptf"];
/// Number of commands among which a drive chooses: 0 for all.
const AMONG: &[&str] = &["0", "1", "2", "4", "8", "16", "32"];
/// Commands chosen before their turn.
const AHEAD: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "8", "12", "16"];
/// Thousandths of its wait that are taken off a command's cost.
const AGEING: &[&str] = &["0", "30", "100", "300", "1000", "3000"];

/// Patience of a command in rounds, and the percent of a round after which new commands join it.
const PATIENCE: &[&str] = &["0", "1", "2", "3"];
const ROUND: &[&str] = &["0", "50", "100"];
/// Milliseconds for which a choice is revised: none, or until a host has answered, which takes some tenths at most.
const REVISE: &[&str] = &["0", "0.2"];

/// Rules: the default of a profile without one, and the choices.
pub const RULES: &[(&str, (&str, &[&str]))] = &[
    ("cache.read_ahead.after", ("1", &["1", "2", "3", "4"])),
    ("cache.read_ahead.until", ("segment", &["segment", "track", "cylinder", "next-track"])),
    ("cache.read_ahead.over_requested", ("false", FLAG)),
    ("cache.read_ahead.free_blocks", ("false", FLAG)),
    ("cache.read_ahead.hold", ("never", &["never", "track", "segment", "stream"])),
    ("cache.read_ahead.discard", ("false", FLAG)),
    ("cache.long_writes", ("several", &["several", "wrap"])),
    ("cache.written_hits", ("cached", &["none", "cached", "all"])),
    ("cache.fills_while_draining", ("false", FLAG)),
    ("firmware.zero_latency", ("false", FLAG)),
    ("firmware.depth", ("1", &["1", "2", "4", "8", "16", "32", "64"])),
    ("firmware.revise_ms", ("0", REVISE)),
    ("firmware.queue.policy", ("fcfs", POLICY)),
    ("firmware.queue.window", ("0", AMONG)),
    ("firmware.queue.nearest", ("0", AMONG)),
    ("firmware.queue.ageing", ("0", AGEING)),
    ("firmware.queue.patience", ("0", PATIENCE)),
    ("firmware.queue.round_percent", ("0", ROUND)),
    ("firmware.queue.ahead", ("0", AHEAD)),
    ("firmware.destage.policy", ("fcfs", POLICY)),
    ("firmware.destage.window", ("0", AMONG)),
    ("firmware.destage.nearest", ("0", AMONG)),
    ("firmware.destage.ageing", ("0", AGEING)),
];

/// The rule `key`: its default, and its choices.
pub fn find_rule(key: &str) -> Option<(&'static str, &'static [&'static str])> {
    RULES.iter().find(|(rule, _)| *rule == key).map(|(_, rule)| *rule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_formats::profile::keys::KEYS;

    #[test]
    fn every_rule_is_a_key_that_takes_its_choices() {
        for (key, (otherwise, words)) in RULES {
            let known = KEYS.iter().find(|known| known.path == *key).expect(key);
            assert!(words.contains(otherwise), "{key}");
            if !known.required {
                let holds = known.otherwise.split([',', ' ']).next().unwrap_or_default();
                let holds = if holds == "off" { "false" } else { holds };
                assert_eq!(holds, *otherwise, "{key}");
            }
        }
    }

    #[test]
    fn values_and_places_go_both_ways_and_keep_to_the_steps() {
        let range = range_for_key("link.rate_mb_s", 5.0).unwrap();
        assert_eq!((range.value_at(0.0), range.value_at(0.5), range.value_at(1.0)), (2.5, 5.0, 10.0));
        assert!((range.place_of(5.0) - 0.5).abs() < 1e-12);
        let range = range_for_key("overhead.read_hit_ms", 0.184).unwrap();
        assert_eq!(range.value_at(0.123_456), 0.354);
        assert_eq!(range.format_value(0.184), "0.184");
        assert_eq!(range_for_key("geometry.heads", 4.0), None);
        assert_eq!(range_for_key("cache.segments", 10.0).unwrap().value_at(1.0), 40.0);
    }
}
