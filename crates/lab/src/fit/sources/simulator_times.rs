//! Parses the results of another simulator on the same trace: a response time in milliseconds a line, in the order of the requests. The
//! report shows their errors with those of a fit; they do not affect the fit.

use std::path::Path;

use seekwise_disk::time::Span;
use seekwise_drives::diagnostic::Diagnostic;

use super::FileArgument;
use crate::fit::data::{FitData, ReferenceTimes};

/// The longest time of a drive in milliseconds: a minute.
const LONGEST_MS: f64 = 60_000.0;

/// Attaches the times in `text`, of `file`, to the data of a measured `trace`.
pub fn attach_simulator_times(
    data: &mut [FitData],
    trace: &FileArgument,
    file: &str,
    text: &str,
) -> Result<(), Diagnostic> {
    let traces =
        data.iter_mut().filter_map(|data| if let FitData::Traced(traced) = data { Some(traced) } else { None });
    let Some(traced) = traces.into_iter().find(|traced| traced.file == trace.file) else {
        let fault = Diagnostic::at(&trace.file, 0, "only a trace has times of others beside it").with_key("beside");
        return Err(fault.with_expected("a measured trace"));
    };
    let times = parse_times(file, text)?;
    let (time_count, request_count) = (times.len(), traced.trace.rows.len());
    if time_count != request_count {
        let message = format!("{time_count} times, but {} has {request_count} requests", trace.file);
        return Err(Diagnostic::at(file, 0, message).with_expected("one for each request, in their order"));
    }
    let name = Path::new(file).file_stem().map_or(file.to_owned(), |stem| stem.to_string_lossy().into_owned());
    traced.reference = Some(ReferenceTimes { name, times });
    Ok(())
}

/// Parses a time a line; skips blank lines and comments.
fn parse_times(file: &str, text: &str) -> Result<Vec<Span>, Diagnostic> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let time = |(index, line): (usize, &str)| {
        let ms = line.parse::<f64>().ok().filter(|ms| (0.0..=LONGEST_MS).contains(ms));
        let shown: String = line.chars().take(40).collect();
        let fault = || Diagnostic::at(file, index + 1, format!("`{shown}` is invalid")).with_key("beside");
        let ms = ms.ok_or_else(|| fault().with_expected("a response time in milliseconds a line"))?;
        Ok(Span::from_nanos((ms * 1e6).round() as u64))
    };
    lines.map(time).collect()
}
