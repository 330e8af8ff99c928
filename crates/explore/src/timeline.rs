//! The beginning of a run, request by request, with the movements of the arms: the data of the moving picture, as a report has them.

use seekwise::{Error, Setup};
use seekwise_lab::report::ReportStretch;
use seekwise_lab::stretch::run_stretches;

/// Most requests of a timeline.
pub const MOST_REQUESTS: usize = 2000;

/// Runs each setup, with the first one's seed, until so many counted requests are done. The timelines of a comparison begin at the same
/// instant, if they can.
pub fn timelines(setups: &[Setup], requests: usize) -> Result<Vec<ReportStretch>, Error> {
    let prepared = setups.iter().map(Setup::prepare).collect::<Result<Vec<_>, Error>>()?;
    let seed = setups.first().map_or(1, |setup| setup.seed);
    let found = run_stretches(prepared, seed, requests.clamp(1, MOST_REQUESTS));
    match found.len() == setups.len() {
        true => Ok(found),
        false => Err(Error::new(
            "nothing to draw: a run counts no request, or its ramp is too long; expected a modelled drive and a shorter ramp",
        )),
    }
}
