//! What of a run of landings is on the medium at an instant inside it: rules 5 and 6 of `model/block`.

use seekwise_model::block::Landing;
use seekwise_model::time::Instant;

use super::risk::{Run, overlap};

/// Sectors of one write.
pub type Part = (Run, u64);

/// True when `next` passes under the head right behind `last`: both are of one track run.
pub fn follows(last: &Landing, next: &Landing) -> bool {
    last.lba + u64::from(last.sectors) == next.lba && last.to == next.from && last.member == next.member
}

/// The parts of `run`, one track run, that have passed the head at `at`, in whole physical sectors of `unit` sectors;
/// and those of the physical sector that is under it.
pub fn at(run: &[Landing], at: Instant, unit: u64) -> (Vec<Part>, Vec<Part>) {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return (Vec::new(), Vec::new());
    };
    let end = last.lba + u64::from(last.sectors);
    let passed = run.iter().find(|landing| landing.to > at).map_or(end, |landing| reached(landing, at));
    let begun = at > first.from;
    // The head may stand at the first sector of a physical one, of which nothing is written yet, only at its start.
    let whole = if begun { (passed / unit * unit).max(first.lba) } else { first.lba };
    let after = if begun { (passed / unit * unit + unit).min(end) } else { whole };
    (parts(run, (first.lba, whole)), parts(run, (whole, after)))
}

/// The first sector that has not passed at `at`, which is before the landing's end.
fn reached(landing: &Landing, at: Instant) -> u64 {
    let (gone, all) = (at.saturating_since(landing.from).nanos(), landing.to.since(landing.from).nanos());
    let passed = u128::from(gone) * u128::from(landing.sectors) / u128::from(all.max(1));
    landing.lba + passed as u64
}

fn parts(run: &[Landing], within: Run) -> Vec<Part> {
    let part = |landing: &Landing| {
        Some((overlap((landing.lba, landing.lba + u64::from(landing.sectors)), within)?, landing.stamp))
    };
    run.iter().filter_map(part).collect()
}
