//! A plan that is sampled until it is decided: the same cells with runs of the lengths that pilot runs suggest.

use seekwise_lab::inputs::Inputs;
use seekwise_lab::sampling;
use seekwise_lab::study::is_measured;
use seekwise_os::places::PLACES;

use crate::error::Error;
use crate::planned::{PlannedStudy, prepare};
use crate::reading;

/// Plans anew how many runs there are, and how long ones; on this many cores (0: all). An error for runs in real time.
pub fn sampled(planned: PlannedStudy, threads: usize) -> Result<PlannedStudy, Error> {
    let PlannedStudy { text, study, prepared, made } = planned;
    if is_measured(&prepared) {
        return Err(Error::new(
            "runs in real time cannot be sampled until decided: a pilot and short runs would wear on a device and begin cold; \
             expected a modelled disk, or --fixed",
        ));
    }
    let plan = sampling::plan(&study, &made, &prepared, threads)?;
    let inputs = Inputs::kept(made.inputs.clone()).opening(reading::parts).with_places(PLACES);
    let cells = plan.cells(&made);
    let mut planned = prepare("study.toml", text, study.clone(), cells, &inputs)?;
    (planned.made.seeds, planned.made.sampling) = (plan.seeds(&study), Some(plan));
    Ok(planned)
}
