//! Durations as people write them in files and options: `30 s`, `10 m`. Bare numbers are seconds.

use std::fmt;

/// A length of time, written as `30 s`, `10 m`, `500 ms` or a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Duration {
    /// Nanoseconds.
    pub nanos: u64,
}

/// The longest time that a key may say: ten years, in nanoseconds. The stages of a job together take a hundred years at most, and
/// a `u64` of nanoseconds holds 584.
pub const LONGEST: u64 = 3650 * 86_400 * 1_000_000_000;

impl Duration {
    /// Reads `30 s`, `10m`, `500 ms`, `1 h`, or a plain number of seconds.
    pub fn parse(text: &str) -> Result<Duration, String> {
        let text = text.trim();
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let number: f64 = text[..digits].parse().map_err(|_| format!("`{text}` is not a duration"))?;
        let unit = match text[digits..].trim() {
            "ns" => 1.0,
            "us" => 1e3,
            "ms" => 1e6,
            "s" | "" => 1e9,
            "m" | "min" => 60e9,
            "h" => 3600e9,
            "d" => 86_400e9,
            other => return Err(format!("unknown unit of time `{other}`; expected ns, us, ms, s, m, h or d")),
        };
        let nanos = number * unit;
        if !(0.0..=LONGEST as f64).contains(&nanos) {
            return Err(format!("`{text}` is out of range; expected at most 10 years"));
        }
        Ok(Duration { nanos: nanos.round() as u64 })
    }

    /// Seconds.
    pub fn seconds(self) -> f64 {
        self.nanos as f64 / 1e9
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Duration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        match <toml::Value as serde::Deserialize>::deserialize(deserializer)? {
            toml::Value::String(text) => Duration::parse(&text).map_err(serde::de::Error::custom),
            toml::Value::Integer(seconds) if seconds >= 0 => {
                Duration::parse(&seconds.to_string()).map_err(serde::de::Error::custom)
            }
            toml::Value::Float(seconds) => Duration::parse(&seconds.to_string()).map_err(serde::de::Error::custom),
            other => {
                Err(serde::de::Error::custom(format!("`{other}` is not a duration; expected for example \"30 s\"")))
            }
        }
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Duration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, nanos) in
            [("30 s", 30_000_000_000), ("10m", 600_000_000_000), ("500 ms", 500_000_000), ("1.5", 1_500_000_000)]
        {
            assert_eq!(Duration::parse(text).map(|d| d.nanos), Ok(nanos));
        }
        assert!(Duration::parse("10 sec").is_err());
    }

    #[test]
    fn a_key_takes_a_number_of_seconds_or_a_text() {
        use toml::Value::{Boolean, Float, Integer, String};
        for (value, nanos) in [
            (Integer(0), Some(0)),
            (Integer(30), Some(30_000_000_000)),
            (Float(0.0), Some(0)),
            (Float(1.5), Some(1_500_000_000)),
            (String("500 ms".to_owned()), Some(500_000_000)),
            (Integer(-1), None),
            (Float(-1.5), None),
            (Boolean(true), None),
        ] {
            let read: Result<Duration, _> = value.clone().try_into();
            assert_eq!(read.ok().map(|duration| duration.nanos), nanos, "{value}");
        }
    }
}
