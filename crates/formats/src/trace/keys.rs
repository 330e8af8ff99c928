//! The keys of a trace (`trace.…`): how it is read and replayed, and how its requests are mapped to a device of another size.

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::key_names::trace;
use seekwise_work::workload::trace::{LoopMode, ReplaySpeed};

use super::fields::TIME_UNITS;
use super::format::{FORMATS, KernelEvent, TraceReadOptions, WINDOW, WaitMeaning};

/// The prefix of the keys.
pub const ROOT: &str = "trace.";

/// The keys: name, values, default, meaning.
pub const KEYS: [(&str, &str, &str, &str); 11] = [
    (
        trace::FORMAT,
        "blktrace, blkparse, msr, spc, disksim, validation, iolog, alibaba, tencent, biosnoop, recording",
        "detected",
        "the format of the trace (docs/traces.md)",
    ),
    (
        trace::LOOP,
        "open, closed, dependent",
        "open",
        "issue requests at their recorded times; keep job.depth in flight; or issue each one after all that had completed before it was issued",
    ),
    (trace::SPEED, "0.001 to 1000", "1", "replay speed relative to the recording"),
    (
        trace::MAP,
        "refuse, wrap, scale, compact",
        "refuse",
        "what to do with a trace of a larger device: refuse it; take addresses modulo the target's size; scale regions of 1 MiB in proportion; \
         or pack the regions that the trace touches one after another",
    ),
    (trace::DEVICE, "the name of a device of the trace", "all, one after another", "only the requests of this device"),
    (
        trace::EVENT,
        "queued, issued",
        "queued",
        "for blktrace and blkparse: Q (queued by programs) or D (issued to the driver)",
    ),
    (trace::TIME, "ns, 100ns, us, ms, s", "as the format defines", "the unit of timestamps"),
    (
        trace::ADDRESS,
        "1 to 1048576",
        "as the format defines",
        "bytes per unit of address: 1 for bytes, 512 for sectors",
    ),
    (trace::LENGTH, "1 to 1048576", "as the format defines", "bytes per unit of length"),
    (
        trace::WAIT,
        "absolute, relative",
        "absolute if the values never decrease",
        "for fio's iolog version 2: milliseconds from the start, or microseconds since the previous wait",
    ),
    (trace::WINDOW, "1 to 1048576", "65536", "number of requests in the window that sorts an unsorted trace"),
];

/// The handling of requests of a trace of a larger device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMapping {
    /// Refuse the trace.
    #[default]
    Refuse,
    /// Take addresses modulo the size of the target.
    Wrap,
    /// Scale the positions of regions in proportion.
    Scale,
    /// Pack the touched regions one after another.
    Compact,
}

impl AddressMapping {
    const ALL: [(&'static str, AddressMapping); 4] = [
        ("refuse", AddressMapping::Refuse),
        ("wrap", AddressMapping::Wrap),
        ("scale", AddressMapping::Scale),
        ("compact", AddressMapping::Compact),
    ];

    /// The value of the key `trace.map`.
    pub fn word(self) -> &'static str {
        AddressMapping::ALL.iter().find(|known| known.1 == self).map_or("", |known| known.0)
    }
}

/// The values of the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// How the trace is read.
    pub reading: TraceReadOptions,
    /// The rule for the times of issue; a closed loop keeps one request in flight unless the depth of the job is set.
    pub mode: LoopMode,
    /// The replay speed.
    pub speed: ReplaySpeed,
    /// How addresses are mapped to the target.
    pub map: AddressMapping,
}

/// The values of the key `trace.loop`.
const LOOPS: [(&str, LoopMode); 3] =
    [("open", LoopMode::Open), ("closed", LoopMode::Closed(1)), ("dependent", LoopMode::Dependent)];

/// The word of a loop for reports.
pub fn loop_word(mode: LoopMode) -> &'static str {
    match mode {
        LoopMode::Open => "open",
        LoopMode::Closed(_) => "closed",
        LoopMode::Dependent => "dependent",
        LoopMode::Replay(_) => "replay",
    }
}

impl TraceOptions {
    /// Parses keys and values; `file` names their origin.
    pub fn parse<'a>(
        file: &str,
        keys_and_values: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<TraceOptions, Diagnostic> {
        let mut options = TraceOptions::default();
        keys_and_values.into_iter().try_for_each(|(key, value)| options.set_key(file, key, value))?;
        Ok(options)
    }

    fn set_key(&mut self, file: &str, key: &str, value: &str) -> Result<(), Diagnostic> {
        let accepted = KEYS.iter().find(|known| known.0 == key).map(|known| known.1);
        let invalid_value = || {
            let fault = Diagnostic::at(file, 0, format!("`{value}` is invalid")).with_key(key);
            fault.with_expected(accepted.unwrap_or_default())
        };
        let reading = &mut self.reading;
        match key {
            trace::FORMAT => {
                reading.format = Some(parse_word(value, &FORMATS.map(|spec| (spec.word, spec.format)), invalid_value)?)
            }
            trace::LOOP => self.mode = parse_word(value, &LOOPS, invalid_value)?,
            trace::SPEED => self.speed = parse_speed(value).ok_or_else(invalid_value)?,
            trace::MAP => self.map = parse_word(value, &AddressMapping::ALL, invalid_value)?,
            trace::DEVICE if value.is_empty() => return Err(invalid_value()),
            trace::DEVICE => reading.device = Some(value.to_owned()),
            trace::EVENT => {
                reading.event = parse_word(
                    value,
                    &[("queued", KernelEvent::Queued), ("issued", KernelEvent::Issued)],
                    invalid_value,
                )?;
            }
            trace::TIME => reading.time = Some(parse_word(value, &TIME_UNITS, invalid_value)?),
            trace::ADDRESS => reading.address = Some(parse_up_to_2_20(value).ok_or_else(invalid_value)?),
            trace::LENGTH => reading.length = Some(parse_up_to_2_20(value).ok_or_else(invalid_value)?),
            trace::WAIT => {
                let words = [("absolute", WaitMeaning::Absolute), ("relative", WaitMeaning::Relative)];
                reading.wait = Some(parse_word(value, &words, invalid_value)?);
            }
            trace::WINDOW => reading.window = parse_up_to_2_20(value).ok_or_else(invalid_value)? as usize,
            _ => {
                let known = KEYS.map(|known| known.0);
                let fault = Diagnostic::at(file, 0, "unknown key").with_key(key).with_expected(known.join(", "));
                return Err(fault.suggest_nearest(key, known));
            }
        }
        Ok(())
    }
}

/// Parses a number from 1 to 2^20, the limit of a window and of a unit.
fn parse_up_to_2_20(value: &str) -> Option<u64> {
    value.parse().ok().filter(|number| (1..=1 << 20).contains(number))
}

/// Parses a factor of 0.001 to 1000.
fn parse_speed(value: &str) -> Option<ReplaySpeed> {
    let number: f64 = value.parse().ok()?;
    let thousandths = (number * 1_000.0).round();
    (1.0..=1e6).contains(&thousandths).then_some(ReplaySpeed { thousandths: thousandths as u32 })
}

/// The meaning of a word, from pairs of both; for an unknown word, `invalid_value` with a suggestion.
fn parse_word<T: Copy>(
    value: &str,
    words: &[(&str, T)],
    invalid_value: impl Fn() -> Diagnostic,
) -> Result<T, Diagnostic> {
    let found = words.iter().find(|known| known.0 == value).map(|known| known.1);
    found.ok_or_else(|| invalid_value().suggest_nearest(value, words.iter().map(|known| known.0)))
}

// The table of keys states the default window.
const _: () = assert!(WINDOW == 65_536);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_set_options_and_mistakes_are_reported() {
        let options =
            TraceOptions::parse("f", [("trace.loop", "closed"), ("trace.speed", "0.5"), ("trace.time", "us")]).unwrap();
        assert_eq!(
            (options.mode, options.speed.thousandths, options.reading.time),
            (LoopMode::Closed(1), 500, Some(1_000))
        );
        let error_of = |key: &str, value: &str| TraceOptions::parse("f", [(key, value)]).unwrap_err().to_string();
        assert_eq!(error_of("trace.speed", "0"), "f: `trace.speed`: `0` is invalid; expected 0.001 to 1000");
        assert_eq!(
            error_of("trace.map", "scaled"),
            "f: `trace.map`: `scaled` is invalid; expected refuse, wrap, scale, compact; did you mean `scale`?"
        );
        assert!(
            error_of("trace.sped", "2").ends_with("did you mean `trace.speed`?"),
            "{}",
            error_of("trace.sped", "2")
        );
        assert!(error_of("trace.speed", "NaN").contains("is invalid"));
    }

    #[test]
    fn every_format_has_its_word_in_the_table() {
        assert_eq!(&KEYS.map(|known| known.0)[..], trace::ALL);
        assert_eq!(KEYS[0].1, FORMATS.map(|known| known.word).join(", "));
    }
}
