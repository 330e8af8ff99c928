//! Converts a quantity as people write it, `256MB`, `285 MB/s` or `8.5ms`, to the unit of a key. Keys take plain numbers; the
//! error about a number with a unit shows the plain number that would have been right.

/// Units of size: the letter before the `b`, and the power of 1000 or 1024 that it stands for. For a key in KiB, MiB or GiB, `MB`
/// means a power of 1024, as for memory.
const SIZES: [(&str, u32); 5] = [("", 0), ("k", 1), ("m", 2), ("g", 3), ("t", 4)];

/// Units of time, in nanoseconds.
const TIMES: [(&str, f64); 12] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("usec", 1e3),
    ("ms", 1e6),
    ("msec", 1e6),
    ("s", 1e9),
    ("sec", 1e9),
    ("min", 6e10),
    ("m", 6e10),
    ("h", 3.6e12),
    ("hours", 3.6e12),
];

/// The name of a unit in a sentence.
pub fn name(unit: &str) -> &str {
    match unit {
        "KiB" => "kibibytes",
        "MiB" => "mebibytes",
        "GiB" => "gibibytes",
        "MB" => "megabytes",
        "MB/s" => "megabytes a second",
        "us" => "microseconds",
        "ms" => "milliseconds",
        "s" => "seconds",
        "rpm" => "revolutions a minute",
        "%" => "percent",
        unit => unit,
    }
}

/// The number in `unit` that `text` means: a number and a unit of the same kind. `None` without a unit, or with one of another
/// kind.
///
/// ```
/// use seekwise_drives::figure::units::convert_quantity;
///
/// assert_eq!(convert_quantity("256MB", "KiB"), Some(262_144.0));
/// assert_eq!(convert_quantity("8.5 ms", "us"), Some(8_500.0));
/// assert_eq!(convert_quantity("7.2k", "rpm"), Some(7_200.0));
/// assert_eq!(convert_quantity("256", "KiB"), None);
/// assert_eq!(convert_quantity("256MB", "ms"), None);
/// ```
pub fn convert_quantity(text: &str, unit: &str) -> Option<f64> {
    let text = text.trim().trim_matches('"').to_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).filter(|end| *end > 0)?;
    let (number, written_unit) = (text[..end].replace('_', "").parse::<f64>().ok()?, text[end..].trim());
    let size_factor = |base: f64, unit: &str| Some(unit_bytes(written_unit, base)? / unit_bytes(unit, base)?);
    let factor = match unit {
        "KiB" | "MiB" | "GiB" => size_factor(1024.0, unit),
        "bytes" => unit_bytes(written_unit, 1024.0),
        "sectors" => unit_bytes(written_unit, 1024.0).map(|bytes| bytes / 512.0),
        "MB" => size_factor(1000.0, unit),
        "MB/s" => unit_megabytes_per_s(written_unit),
        "us" | "ms" | "s" => Some(unit_nanoseconds(written_unit)? / unit_nanoseconds(unit)?),
        "rpm" => match written_unit {
            "rpm" | "u/min" | "/min" => Some(1.0),
            "k" | "krpm" | "k rpm" => Some(1000.0),
            _ => None,
        },
        "%" => matches!(written_unit, "%" | "percent" | "per cent").then_some(1.0),
        _ => None,
    }?;
    Some(number * factor).filter(|amount| amount.is_finite())
}

/// Bytes in a unit of size such as `kib`, `MB` or `g`: with an `i` powers of 1024, else of `base`.
fn unit_bytes(unit: &str, base: f64) -> Option<f64> {
    let unit = unit.to_lowercase();
    let unit = unit.strip_suffix("bytes").or(unit.strip_suffix("byte")).or(unit.strip_suffix('b')).unwrap_or(&unit);
    let (prefix, base) = unit.strip_suffix('i').map_or((unit, base), |prefix| (prefix, 1024.0));
    SIZES.iter().find(|(known, _)| *known == prefix).map(|(_, power)| base.powi(*power as i32))
}

/// Megabytes a second in a unit such as `MiB/s`, `mbps` or `kb/s`.
fn unit_megabytes_per_s(unit: &str) -> Option<f64> {
    let size = unit.strip_suffix("/s").or(unit.strip_suffix("/sec")).or(unit.strip_suffix("ps"))?;
    Some(unit_bytes(size, 1000.0)? / 1e6)
}

fn unit_nanoseconds(unit: &str) -> Option<f64> {
    TIMES.iter().find(|(known, _)| *known == unit).map(|(_, nanoseconds)| *nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_come_in_the_unit_of_the_key() {
        for (text, unit, expected) in [
            ("256MB", "KiB", 262_144.0),
            ("256 MiB", "KiB", 262_144.0),
            ("64k", "KiB", 64.0),
            ("1g", "MiB", 1024.0),
            ("2 GB", "MB", 2000.0),
            ("285MB/s", "MB/s", 285.0),
            ("285 mbps", "MB/s", 285.0),
            ("100 MiB/s", "MB/s", 104.857_6),
            ("4096 B", "bytes", 4096.0),
            ("4k", "bytes", 4096.0),
            ("128 KiB", "sectors", 256.0),
            ("8.5ms", "ms", 8.5),
            ("1 s", "ms", 1000.0),
            ("50us", "ms", 0.05),
            ("5 min", "s", 300.0),
            ("7200rpm", "rpm", 7200.0),
            ("10k", "rpm", 10_000.0),
            ("50%", "%", 50.0),
        ] {
            let found = convert_quantity(text, unit).unwrap_or(f64::NAN);
            assert!((found / expected - 1.0).abs() < 1e-9, "{text} in {unit}: {found}");
        }
        for (text, unit) in [("256", "KiB"), ("MB", "KiB"), ("8 parsecs", "ms"), ("256MB", "ms"), ("3", ""), ("3x", "")]
        {
            assert_eq!(convert_quantity(text, unit), None, "{text} in {unit}");
        }
    }

    /// A prefix is a power of 1000 or 1024, whatever word for bytes stands behind it; an `i` means 1024 wherever it stands.
    #[test]
    fn every_prefix_is_its_power_in_every_spelling() {
        for (power, prefix) in ["", "k", "m", "g", "t"].into_iter().enumerate() {
            for word in ["", "b", "byte", "bytes"].into_iter().filter(|word| !(prefix.is_empty() && word.is_empty())) {
                let [plain, binary] = [format!("3{prefix}{word}"), format!("3 {prefix}i{word}")];
                let [by_1000, by_1024] = [1000f64, 1024.0].map(|base| 3.0 * base.powi(power as i32));
                for (text, unit, expected) in [
                    (&plain, "bytes", by_1024),
                    (&binary, "bytes", by_1024),
                    (&plain, "sectors", by_1024 / 512.0),
                    (&plain, "KiB", by_1024 / 1024.0),
                    (&plain, "MiB", by_1024 / 1_048_576.0),
                    (&plain, "GiB", by_1024 / 1_073_741_824.0),
                    (&plain, "MB", by_1000 / 1e6),
                    (&binary, "MB", by_1024 / 1e6),
                ] {
                    let found = convert_quantity(text, unit).unwrap_or(f64::NAN);
                    assert!((found / expected - 1.0).abs() < 1e-12, "{text} in {unit}: {found}, not {expected}");
                }
                for second in ["/s", "/sec", "ps"] {
                    let found = convert_quantity(&format!("{plain}{second}"), "MB/s").unwrap_or(f64::NAN);
                    assert!((found / (by_1000 / 1e6) - 1.0).abs() < 1e-12, "{plain}{second}: {found}");
                }
            }
        }
    }

    #[test]
    fn every_word_of_a_time_is_its_length() {
        let words = [
            (1e-9, "ns"),
            (1e-6, "us"),
            (1e-6, "µs"),
            (1e-6, "usec"),
            (1e-3, "ms"),
            (1e-3, "msec"),
            (1.0, "s"),
            (1.0, "sec"),
            (60.0, "m"),
            (60.0, "min"),
            (3600.0, "h"),
            (3600.0, "hours"),
        ];
        for (seconds, word) in words {
            for (unit, factor) in [("s", 1.0), ("ms", 1e3), ("us", 1e6)] {
                let found = convert_quantity(&format!("2.5 {word}"), unit).unwrap_or(f64::NAN);
                assert!((found / (2.5 * seconds * factor) - 1.0).abs() < 1e-9, "2.5 {word} in {unit}: {found}");
            }
            assert_eq!(convert_quantity(&format!("2{word}"), "MB/s"), None, "{word} is no rate");
        }
    }
}
