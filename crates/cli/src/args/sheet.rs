//! The options of `seekwise init drive` that take figures of a datasheet. Whether the figures fit together is not checked here.

use clap::Args;
use seekwise::values::{parse_amount, unit_name};

/// Known figures of the drive that `init drive` makes.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Datasheet figures")]
pub struct DatasheetArgs {
    /// Capacity in bytes, as makers count them: 8t and 8 TB are 8 x 10^12, 8 TiB is 8 x 2^40.
    #[arg(long, value_name = "SIZE", value_parser = parse_drive_size)]
    pub capacity: Option<u64>,
    /// Revolutions per minute.
    #[arg(long, value_name = "N", value_parser = |text: &str| parse_in_unit(text, "rpm"))]
    pub rpm: Option<f64>,
    /// Sustained rate of the outermost zone in MB/s (10^6 bytes).
    #[arg(long, value_name = "MB/S", value_parser = |text: &str| parse_in_unit(text, "MB/s"))]
    pub outer: Option<f64>,
    /// Sustained rate of the innermost zone in MB/s.
    #[arg(long, value_name = "MB/S", value_parser = |text: &str| parse_in_unit(text, "MB/s"))]
    pub inner: Option<f64>,
    /// Average read seek in milliseconds.
    #[arg(long, value_name = "MS", value_parser = |text: &str| parse_in_unit(text, "ms"))]
    pub seek: Option<f64>,
    /// Number of heads.
    #[arg(long, value_name = "N")]
    pub heads: Option<u32>,
    /// Buffer (cache) in MB, as makers count them: 256 MB are 256 x 2^20 bytes.
    #[arg(long, alias = "cache", value_name = "MB", value_parser = parse_buffer_mib)]
    pub buffer: Option<u32>,
}

/// Parses a buffer's size into MiB: `256`, `256MB` or `256 MiB`.
fn parse_buffer_mib(text: &str) -> Result<u32, String> {
    let word = text.trim().to_ascii_lowercase();
    let number = word.strip_suffix("mib").or_else(|| word.strip_suffix("mb")).unwrap_or(&word).trim_end();
    number
        .parse()
        .map_err(|_| format!("`{text}` is not a buffer's size; expected MB as a whole number, for example 256"))
}

/// Parses a number, alone or with a unit, and converts it to `unit`: `285`, `285MB/s` or `272 MiB/s`.
fn parse_in_unit(text: &str, unit: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().or_else(|| parse_amount(text, unit));
    let wrong = || format!("`{text}` is not understood; expected {} as a number", unit_name(unit));
    number.filter(|number| number.is_finite()).ok_or_else(wrong)
}

/// Parses a drive's capacity into bytes: `8t`, `500 GB`, `1.2tb`, `8 TiB` or bytes; powers of 1000, with an `i` of 1024.
fn parse_drive_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not a drive size; expected for example 500g, 8t, 7.3TiB, or bytes");
    let word = text.trim().to_ascii_lowercase();
    let end = word.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(word.len());
    let number = word[..end].parse::<f64>().map_err(|_| wrong())?;
    let unit = word[end..].trim().trim_end_matches('b');
    let (prefix, base) = unit.strip_suffix('i').map_or((unit, 1000f64), |prefix| (prefix, 1024.0));
    let power = ["", "k", "m", "g", "t", "p", "e"].iter().position(|known| *known == prefix).ok_or_else(wrong)?;
    let bytes = (number * base.powi(power as i32)).round();
    // The cast is exact below 2^63, and no drive is near that size.
    if bytes < 2f64.powi(63) { Ok(bytes as u64) } else { Err(wrong()) }
}
