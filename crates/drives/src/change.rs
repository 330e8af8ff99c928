//! Changes of a running stack in words: the dotted keys and values of `at` sections, of orders to a served disk, and of
//! recorded sessions. Parses them to settings of layers. Each layer decides itself whether it can take a setting now.

use seekwise_disk::block::setting::{
    ArraySetting, DriverSetting, FlushPolicy, ForcedWritePolicy, LayerSetting, PowerOffPolicy,
};
use seekwise_disk::block::{Control, ControlError};
use seekwise_disk::stack::SettingChange;
use seekwise_disk::time::Instant;

use crate::key_names::{array, drive};

/// The key of a change of the supply, with the value `cut`, `off`, `on` or, for the link, `reset`. Recorded sessions have
/// it; stack files do not.
pub const POWER: &str = "power";

/// The refusal of a key that no layer knows or that is fixed during a run.
pub const UNCHANGEABLE: &str = "no layer of the stack can change it while it runs";
/// The refusal of a value that its key does not take.
pub const UNFIT: &str = "the value does not fit";

/// A change during a run, with the words that ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenChange {
    /// Since the run's beginning.
    pub at: Instant,
    /// The dotted key in the stack.
    pub key: String,
    pub value: String,
    /// The meaning of key and value.
    pub control: Control,
}

impl WrittenChange {
    /// Parses a change, or says why it is refused; see [`parse_setting`].
    pub fn parse(
        at: Instant,
        key: &str,
        value: &str,
        has_level: &dyn Fn(&str) -> bool,
    ) -> Result<WrittenChange, String> {
        let control = match (key, value) {
            (POWER, "cut") => Ok(Control::PowerCut),
            (POWER, "off") => Ok(Control::PowerOff),
            (POWER, "on") => Ok(Control::PowerOn),
            (POWER, "reset") => Ok(Control::Reset),
            _ => parse_setting(key, value, has_level).map(Control::Set),
        };
        let control = control.map_err(|error| describe_refusal(key, value, error))?;
        Ok(WrittenChange { at, key: key.to_owned(), value: value.to_owned(), control })
    }

    /// The change without its words.
    pub fn to_change(&self) -> SettingChange {
        SettingChange { at: self.at, control: self.control }
    }

    /// Why a stack refused it, in words.
    pub fn describe_refusal(&self, error: ControlError) -> String {
        describe_refusal(&self.key, &self.value, error)
    }
}

fn describe_refusal(key: &str, value: &str, error: ControlError) -> String {
    format!("`{key}` = `{value}` during a run: {}", refusal_words(error, key))
}

/// Why a device refused a control, in words; `key` is the key that was to be set, if one was.
pub fn refusal_words(error: ControlError, key: &str) -> &'static str {
    match (error, key) {
        (ControlError::UnknownKey, _) => UNCHANGEABLE,
        (ControlError::BadValue, array::LOSE) => "the value does not fit; expected the number of a drive of the array",
        (ControlError::BadValue, array::REPLACE) => {
            "the value does not fit; expected the number of a drive that is lost, and no rebuild or check under way"
        }
        (ControlError::BadValue, array::CHECK) => {
            "expected `on` for an array that lacks no drive, with no rebuild or check under way, or `off`"
        }
        (ControlError::BadValue, _) => UNFIT,
        (ControlError::UnknownTag | ControlError::PoweredOff, _) => "not in this state",
    }
}

/// Parses a dotted key of a running stack and its value. `has_level` knows the levels of the stack, which are `drive` and the
/// names of its layers: in a value that does not fit, a missing level is the first fault.
pub fn parse_setting(key: &str, value: &str, has_level: &dyn Fn(&str) -> bool) -> Result<LayerSetting, ControlError> {
    let (level, setting) = match key {
        // All layers take this setting. A stack file cannot name it, because its keys have a level.
        "landings" => ("drive", parse_switch(value).map(LayerSetting::Landings).ok_or(ControlError::BadValue)),
        "cache.write_back" | drive::CACHE_WRITE_BACK => {
            ("drive", parse_switch(value).map(LayerSetting::WriteBack).ok_or(ControlError::BadValue))
        }
        _ => {
            let (level, key_in_layer) = key.split_once('.').ok_or(ControlError::UnknownKey)?;
            (level, parse_layer_setting(level, key_in_layer, value))
        }
    };
    // An array's `unit.N` is no level of a stack.
    let is_level = level == "unit" || has_level(level);
    setting.map_err(|error| if is_level { error } else { ControlError::UnknownKey })
}

/// Parses a key and a value of the layer called `layer`: `driver`, `driver-2`, `array`.
fn parse_layer_setting(layer: &str, key_in_layer: &str, value: &str) -> Result<LayerSetting, ControlError> {
    let (kind, number) = split_layer_name(layer).ok_or(ControlError::UnknownKey)?;
    let driver = |setting: Option<DriverSetting>| setting.map(|setting| LayerSetting::Driver { number, setting });
    let setting = match (kind, key_in_layer, number) {
        ("driver", "depth", _) => driver(value.parse().ok().map(DriverSetting::Depth)),
        ("driver", "flush", _) => driver(flush_policy(value).map(DriverSetting::Flush)),
        ("driver", "write_through", _) => driver(forced_write_policy(value).map(DriverSetting::WriteThrough)),
        ("driver", "power_off", _) => {
            let policy = match value {
                "orderly" => Some(PowerOffPolicy::Orderly),
                "at-once" => Some(PowerOffPolicy::AtOnce),
                _ => None,
            };
            driver(policy.map(DriverSetting::PowerOff))
        }
        ("accelerator", "flush", _) => match value {
            "forward" => Some(LayerSetting::Accelerator { number, drops_flushes: false }),
            "drop" => Some(LayerSetting::Accelerator { number, drops_flushes: true }),
            _ => None,
        },
        ("array", "lose", 1) => {
            parse_member_number(value).map(|member| LayerSetting::Array(ArraySetting::Lose(member)))
        }
        ("array", "replace", 1) => {
            parse_member_number(value).map(|member| LayerSetting::Array(ArraySetting::Replace(member)))
        }
        ("array", "check", 1) => parse_switch(value).map(|on| LayerSetting::Array(ArraySetting::Check(on))),
        ("unit", unit, 1) => {
            let unit = unit.parse().map_err(|_| ControlError::UnknownKey)?;
            parse_switch(value).map(|on| LayerSetting::Unit { unit, on })
        }
        _ => return Err(ControlError::UnknownKey),
    };
    setting.ok_or(ControlError::BadValue)
}

/// The kind of a layer and its number: `driver` is the first from the top, `driver-2` the second.
fn split_layer_name(name: &str) -> Option<(&str, u32)> {
    let Some((kind, digits)) = name.split_once('-') else { return Some((name, 1)) };
    let number = digits.parse().ok().filter(|number: &u32| *number > 1 && number.to_string() == digits)?;
    Some((kind, number))
}

/// The number of a drive of an array, below 64: the model holds sets of drives as bits of a `u64`.
fn parse_member_number(value: &str) -> Option<u32> {
    value.parse().ok().filter(|member| *member < u64::BITS)
}

fn parse_switch(value: &str) -> Option<bool> {
    match value {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    }
}

/// The treatment of flushes that a word names.
pub(crate) fn flush_policy(word: &str) -> Option<FlushPolicy> {
    match word {
        "forward" => Some(FlushPolicy::Forward),
        "cached" => Some(FlushPolicy::Cached),
        "drop" => Some(FlushPolicy::Drop),
        "never" => Some(FlushPolicy::Never),
        _ => None,
    }
}

/// The treatment of writes with forced unit access that a word names.
pub(crate) fn forced_write_policy(word: &str) -> Option<ForcedWritePolicy> {
    match word {
        "fua" => Some(ForcedWritePolicy::Fua),
        "flush" => Some(ForcedWritePolicy::Flush),
        "fua-on-scsi" => Some(ForcedWritePolicy::FuaOnScsi),
        "ignore" => Some(ForcedWritePolicy::Ignore),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(key: &str, value: &str) -> Result<LayerSetting, ControlError> {
        parse_setting(key, value, &|level| ["drive", "driver", "driver-2", "array"].contains(&level))
    }

    #[test]
    fn keys_and_values_are_settings_of_a_layer() {
        let driver = |number, setting| Ok(LayerSetting::Driver { number, setting });
        for (key, value, setting) in [
            ("landings", "on", Ok(LayerSetting::Landings(true))),
            ("drive.cache.write_back", "true", Ok(LayerSetting::WriteBack(true))),
            ("cache.write_back", "off", Ok(LayerSetting::WriteBack(false))),
            ("driver.depth", "7", driver(1, DriverSetting::Depth(7))),
            ("driver-2.flush", "never", driver(2, DriverSetting::Flush(FlushPolicy::Never))),
            ("driver.write_through", "flush", driver(1, DriverSetting::WriteThrough(ForcedWritePolicy::Flush))),
            ("driver.power_off", "at-once", driver(1, DriverSetting::PowerOff(PowerOffPolicy::AtOnce))),
            // A layer that is not there refuses its settings itself.
            ("accelerator.flush", "drop", Ok(LayerSetting::Accelerator { number: 1, drops_flushes: true })),
            ("accelerator-3.flush", "forward", Ok(LayerSetting::Accelerator { number: 3, drops_flushes: false })),
            ("array.lose", "2", Ok(LayerSetting::Array(ArraySetting::Lose(2)))),
            ("array.replace", "0", Ok(LayerSetting::Array(ArraySetting::Replace(0)))),
            ("array.check", "true", Ok(LayerSetting::Array(ArraySetting::Check(true)))),
            ("unit.1", "off", Ok(LayerSetting::Unit { unit: 1, on: false })),
        ] {
            assert_eq!(parsed(key, value), setting, "{key} = {value}");
        }
    }

    #[test]
    fn a_key_is_unknown_or_its_value_does_not_fit() {
        for (key, value) in [
            ("drive.cache.write_back", "perhaps"),
            ("drive.cache.write_back", "yes"),
            ("landings", "1"),
            ("driver.depth", "deep"),
            ("driver.depth", "-1"),
            ("driver-2.flush", "sometimes"),
            ("driver.power_off", "pause"),
            ("array.lose", "none"),
            ("array.lose", "64"),
            ("array.check", "1"),
            ("unit.0", "perhaps"),
        ] {
            assert_eq!(parsed(key, value), Err(ControlError::BadValue), "{key} = {value}");
        }
        for (key, value) in [
            ("", "on"),
            ("power", "cut"),
            ("cache.colour", "on"),
            ("drive.mechanics.rpm", "9"),
            ("drive.landings", "on"),
            ("drive.driver.flush", "drop"),
            ("driver.colour", "drop"),
            ("driver-1.flush", "drop"),
            ("driver-02.flush", "drop"),
            ("driver-x.flush", "drop"),
            ("array-2.lose", "0"),
            ("unit.x", "off"),
            ("controller.rate_mb_s", "90"),
            // There is no accelerator.
            ("accelerator.flush", "sometimes"),
        ] {
            assert_eq!(parsed(key, value), Err(ControlError::UnknownKey), "{key} = {value}");
        }
    }

    #[test]
    fn a_change_of_the_supply_is_no_setting_and_a_refusal_names_key_and_value() {
        let parse = |key, value| WrittenChange::parse(Instant::ZERO, key, value, &|_| true);
        for (word, control) in [
            ("cut", Control::PowerCut),
            ("off", Control::PowerOff),
            ("on", Control::PowerOn),
            ("reset", Control::Reset),
        ] {
            assert_eq!(parse(POWER, word).unwrap().to_change(), SettingChange { at: Instant::ZERO, control });
        }
        let refused = [("power", "low", UNCHANGEABLE), ("driver.flush", "maybe", UNFIT)];
        for (key, value, why) in refused {
            assert_eq!(parse(key, value).unwrap_err(), format!("`{key}` = `{value}` during a run: {why}"));
        }
        let lose = parse("array.lose", "9").unwrap();
        let refusal =
            "`array.lose` = `9` during a run: the value does not fit; expected the number of a drive of the array";
        assert_eq!(lose.describe_refusal(ControlError::BadValue), refusal);
    }
}
