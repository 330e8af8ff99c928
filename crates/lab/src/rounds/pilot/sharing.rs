//! Pilots that several cells share: a pilot stands for each later cell whose run would be equal. That is known when the pilot has ended, so
//! pilots of one work come one after another, several at once only where a core would be idle. The result does not depend on the number of
//! cores, and each cell is looked up a few times, however many there are.

use std::collections::BTreeMap;

use seekwise_run::outcome::RunError;

use super::{CellPilot, Pilot, Pilots};
use crate::plan::PreparedCell;
use crate::study::{KnownRun, KnownRuns};

/// The work of a pilot: `kin` and `work` of its cell, the job's name, and the length in ns. Pilots run alike only if their works are equal.
type PilotWork<'p> = (u64, &'p str, &'p str, u64);

/// The cells of one work, whose runs may be equal, in the order in which they are wanted.
#[derive(Default)]
struct WorkPilots {
    length_ns: u64,
    cells: Vec<usize>,
    /// Number of the first cells that have a pilot. Only these pilots stand for others, so that the choice does not depend on cores.
    assigned: usize,
    /// Number of the first cells that were examined: each has a pilot, has run, or has a known run equal to its own.
    examined: usize,
    /// Runs of cells that have a pilot.
    known: KnownRuns<'static, usize>,
    /// Pilots that have ended, of cells that are not assigned yet.
    ended: BTreeMap<usize, Pilot>,
}

impl WorkPilots {
    /// Assigns a pilot to each cell in order, up to the first cell whose pilot has to be run.
    fn assign_pilots(&mut self, prepared: &[PreparedCell], pilots: &mut Pilots) {
        while let Some(&cell) = self.cells.get(self.assigned) {
            let own = &prepared[cell];
            let pilot = match self.known.find_alike(own) {
                Some((_, other)) => pilots.of_cell[other].clone(),
                None => {
                    let Some(pilot) = self.ended.remove(&cell) else { break };
                    if let Some(run) = KnownRun::from_run(own, &pilot.record) {
                        self.known.add(run, cell);
                    }
                    pilots.virtual_ns += self.length_ns;
                    pilot
                }
            };
            pilots.of_cell.insert(cell, pilot);
            self.assigned += 1;
        }
        // The first cell without a pilot is run next, so speculation looks only at cells after it.
        self.examined = self.examined.max(self.assigned + 1);
    }

    /// The next later cell for which no known pilot stands. An earlier cell's pilot may yet, so that this run may turn out to be needless.
    fn next_speculative_cell(&mut self, prepared: &[PreparedCell]) -> Option<usize> {
        loop {
            let &cell = self.cells.get(self.examined)?;
            self.examined += 1;
            if self.known.find_alike(&prepared[cell]).is_none() {
                return Some(cell);
            }
        }
    }
}

/// Runs the wanted pilots on `cores` cores; `run` makes several at once. A pilot for which another stands is only run where a core would be
/// idle, and is not counted.
pub(super) fn run_shared(
    prepared: &[PreparedCell],
    wanted: &[CellPilot],
    cores: usize,
    run: impl Fn(&[CellPilot]) -> Result<Vec<Pilot>, RunError>,
) -> Result<Pilots, RunError> {
    let mut works = group_by_work(prepared, wanted);
    let mut pilots = Pilots { of_cell: BTreeMap::new(), virtual_ns: 0 };
    loop {
        works.iter_mut().for_each(|work| work.assign_pilots(prepared, &mut pilots));
        works.retain(|work| work.assigned < work.cells.len());
        if works.is_empty() {
            return Ok(pilots);
        }
        // Indices of a work, and of a cell.
        let mut next: Vec<(usize, usize)> =
            works.iter().enumerate().map(|(index, work)| (index, work.cells[work.assigned])).collect();
        for (index, work) in works.iter_mut().enumerate() {
            let idle = cores.saturating_sub(next.len());
            next.extend(
                std::iter::from_fn(|| work.next_speculative_cell(prepared)).take(idle).map(|cell| (index, cell)),
            );
        }
        let pilot_of = |&(work, cell): &(usize, usize)| CellPilot { cell, length_ns: works[work].length_ns };
        let list: Vec<CellPilot> = next.iter().map(pilot_of).collect();
        for ((work, cell), pilot) in next.into_iter().zip(run(&list)?) {
            works[work].ended.insert(cell, pilot);
        }
    }
}

/// Groups the wanted pilots by work, that of the first cell first.
fn group_by_work(prepared: &[PreparedCell], wanted: &[CellPilot]) -> Vec<WorkPilots> {
    let mut works: BTreeMap<PilotWork<'_>, WorkPilots> = BTreeMap::new();
    for &CellPilot { cell, length_ns } in wanted {
        let own = &prepared[cell];
        let work = works.entry((own.kin, &*own.work, own.job.name(), length_ns)).or_default();
        work.length_ns = length_ns;
        work.cells.push(cell);
    }
    let mut works: Vec<WorkPilots> = works.into_values().collect();
    works.sort_by_key(|work| work.cells[0]);
    works
}
