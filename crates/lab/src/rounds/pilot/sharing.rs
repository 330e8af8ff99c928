//! Pilots that several cells share: a pilot stands for each later cell whose run would be the same. Whether it does is
//! known when it has ended, so pilots of one work come one after another, several at once only where a core would be
//! idle. The result does not depend on the cores, and each cell is looked up a few times, however many there are.

use std::collections::BTreeMap;

use seekwise_run::outcome::RunError;

use super::{Pilot, Pilots};
use crate::plan::PreparedCell;
use crate::study::{KnownRun, KnownRuns};

/// The work of a pilot: the kin of its stack, the hash of its job and the job's name, for so many nanoseconds.
type PilotWork<'p> = (u64, &'p str, &'p str, u64);

/// The cells of one work, any of which may be like another, in the order in which they are wanted.
#[derive(Default)]
struct WorkPilots {
    nanos: u64,
    cells: Vec<usize>,
    /// How many of them have a pilot: of these alone one may stand for another, so that which does is the same on any cores.
    over: usize,
    /// How many were looked at: those that are not over have run, or one that is known stands for them.
    looked_at: usize,
    /// Runs of those that are over.
    known: KnownRuns<'static, usize>,
    /// Pilots of cells that are not over.
    ran: BTreeMap<usize, Pilot>,
}

impl WorkPilots {
    /// Gives each cell its pilot, up to the first that has to be run.
    fn settle_cells(&mut self, prepared: &[PreparedCell], pilots: &mut Pilots) {
        while let Some(&cell) = self.cells.get(self.over) {
            let own = &prepared[cell];
            let pilot = match self.known.find_alike(own) {
                Some((_, other)) => pilots.of_cell[other].clone(),
                None => {
                    let Some(pilot) = self.ran.remove(&cell) else { break };
                    if let Some(run) = KnownRun::from_run(own, &pilot.record) {
                        self.known.add(run, cell);
                    }
                    pilots.virtual_ns += self.nanos;
                    pilot
                }
            };
            pilots.of_cell.insert(cell, pilot);
            self.over += 1;
        }
        // The first that is not over is run next.
        self.looked_at = self.looked_at.max(self.over + 1);
    }

    /// A later cell for which no known pilot stands. An earlier one may, so that this one may turn out to be run for nothing.
    fn next_ahead(&mut self, prepared: &[PreparedCell]) -> Option<usize> {
        loop {
            let &cell = self.cells.get(self.looked_at)?;
            self.looked_at += 1;
            if self.known.find_alike(&prepared[cell]).is_none() {
                return Some(cell);
            }
        }
    }
}

/// Runs a pilot of each that is wanted; `run` does so many of them at once. A pilot for which another stands is only
/// run where a core would be idle, and is not counted.
pub(super) fn run_shared(
    prepared: &[PreparedCell],
    wanted: &[(usize, u64)],
    cores: usize,
    run: impl Fn(&[(usize, u64)]) -> Result<Vec<Pilot>, RunError>,
) -> Result<Pilots, RunError> {
    let mut works = group_by_work(prepared, wanted);
    let mut pilots = Pilots { of_cell: BTreeMap::new(), virtual_ns: 0 };
    loop {
        works.iter_mut().for_each(|work| work.settle_cells(prepared, &mut pilots));
        works.retain(|work| work.over < work.cells.len());
        if works.is_empty() {
            return Ok(pilots);
        }
        let mut next: Vec<(usize, usize)> =
            works.iter().enumerate().map(|(at, work)| (at, work.cells[work.over])).collect();
        for (at, work) in works.iter_mut().enumerate() {
            let idle = cores.saturating_sub(next.len());
            next.extend(std::iter::from_fn(|| work.next_ahead(prepared)).take(idle).map(|cell| (at, cell)));
        }
        let list: Vec<(usize, u64)> = next.iter().map(|&(at, cell)| (cell, works[at].nanos)).collect();
        for ((at, cell), pilot) in next.into_iter().zip(run(&list)?) {
            works[at].ran.insert(cell, pilot);
        }
    }
}

/// Groups the wanted pilots by work, that of the first cell first.
fn group_by_work(prepared: &[PreparedCell], wanted: &[(usize, u64)]) -> Vec<WorkPilots> {
    let mut works: BTreeMap<PilotWork<'_>, WorkPilots> = BTreeMap::new();
    for &(cell, nanos) in wanted {
        let own = &prepared[cell];
        let work = works.entry((own.kin, &*own.work, own.job.name(), nanos)).or_default();
        work.nanos = nanos;
        work.cells.push(cell);
    }
    let mut works: Vec<WorkPilots> = works.into_values().collect();
    works.sort_by_key(|work| work.cells[0]);
    works
}
