//! Which run of a plan is next, on several cores: the first in the plan's order that no finished run stands for, and
//! that none under way will. Whether one stands for another is known when it has ended; that it will is taken from the
//! same two cells under another seed. The cores decide only what runs, never the results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex};

use seekwise_formats::study::Study;

use super::CellRunResult;
use super::reuse::{CellKin, KnownRun, KnownRuns, cell_kin};
use crate::plan::PreparedCell;
use crate::run::RunRecord;

/// The runs of a plan that are not over.
pub(super) struct Schedule<'a> {
    prepared: &'a [PreparedCell],
    /// The plan's order: cells and runs.
    order: &'a [(usize, usize)],
    /// By run of the plan: the number of its work, the same for all runs of one seed whose cells are kin.
    works: Vec<usize>,
    state: Mutex<ScheduleState>,
    ended: Condvar,
}

#[derive(Default)]
struct ScheduleState {
    todo: BTreeSet<usize>,
    running: BTreeSet<usize>,
    /// By work: how many runs of it have not ended, and those that have, with their cells, while others may be like them.
    left: Vec<usize>,
    known: BTreeMap<usize, KnownRuns<'static, usize>>,
    /// From cells to earlier ones of which one stood for the other.
    alike: BTreeMap<usize, usize>,
    stopped: bool,
}

impl ScheduleState {
    /// The first of the cells that are alike, as far as it has turned out.
    fn first_alike(&self, mut cell: usize) -> usize {
        while let Some(&before) = self.alike.get(&cell) {
            cell = before;
        }
        cell
    }

    /// Notes that one of two cells stood for the other.
    fn note_alike(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first_alike(one), self.first_alike(other));
        if one != other {
            self.alike.insert(one.max(other), one.min(other));
        }
    }
}

impl<'a> Schedule<'a> {
    /// All of `order` that is not `done`.
    pub(super) fn new(
        study: &Study,
        prepared: &'a [PreparedCell],
        seeds: &[u64],
        order: &'a [(usize, usize)],
        done: usize,
    ) -> Schedule<'a> {
        let mut kins: BTreeMap<CellKin, usize> = BTreeMap::new();
        let mut numbered = |cell: &PreparedCell| {
            let next = kins.len();
            *kins.entry(cell_kin(study, cell)).or_insert(next)
        };
        let of_cell: Vec<usize> = prepared.iter().map(&mut numbered).collect();
        let mut numbers: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        let mut number = |&(cell, run): &(usize, usize)| {
            let next = numbers.len();
            *numbers.entry((of_cell[cell], seeds[run])).or_insert(next)
        };
        let works: Vec<usize> = order.iter().map(&mut number).collect();
        let mut state = ScheduleState { todo: (done..order.len()).collect(), ..ScheduleState::default() };
        state.left.resize(order.len(), 0);
        works.iter().skip(done).for_each(|&work| state.left[work] += 1);
        Schedule { prepared, order, works, state: Mutex::new(state), ended: Condvar::new() }
    }

    /// Takes the next run of the plan, with its record if that is known; waits while all that is left may be like what is under way.
    /// `None` when nothing is left.
    pub(super) fn take_next(&self) -> Option<(usize, Option<RunRecord>)> {
        let mut state = self.state.lock().expect("no holder panics");
        loop {
            if state.stopped || state.todo.is_empty() {
                return None;
            }
            let ready = |&index: &usize| {
                let known = self.known_record(&state, index);
                (known.is_some() || !self.waits_for_alike(&state, index)).then_some((index, known))
            };
            let ready = state.todo.iter().find_map(ready);
            if let Some((index, known)) = ready {
                state.todo.remove(&index);
                if known.is_some() {
                    self.count_down(&mut state, index);
                } else {
                    state.running.insert(index);
                }
                return Some((index, known));
            }
            state = self.ended.wait(state).expect("no holder panics");
        }
    }

    fn cell_of_run(&self, index: usize) -> usize {
        self.order[index].0
    }

    /// True if one under way will stand for it, unless it has asked more than under another seed.
    fn waits_for_alike(&self, state: &ScheduleState, index: usize) -> bool {
        let of = |index: usize| &self.prepared[self.cell_of_run(index)];
        let first = |index: usize| state.first_alike(self.cell_of_run(index));
        let alike = |&other: &usize| {
            self.works[index] == self.works[other] && (of(index).hash == of(other).hash || first(index) == first(other))
        };
        state.running.iter().any(alike)
    }

    fn known_record(&self, state: &ScheduleState, index: usize) -> Option<RunRecord> {
        let (cell, run) = self.order[index];
        let known = state.known.get(&self.works[index])?;
        let prepared = &self.prepared[cell];
        let record = known.find_alike(prepared)?.0.record_of(prepared);
        Some(RunRecord { cell, run: run as u32, ..record })
    }

    /// Takes the result of a run that has ended.
    pub(super) fn end_run(&self, index: usize, result: &CellRunResult) {
        let (cell, work) = (self.cell_of_run(index), self.works[index]);
        let mut state = self.state.lock().expect("no holder panics");
        let state = &mut *state;
        state.running.remove(&index);
        if let Ok(record) = result
            && state.left[work] > 1
            && let Some(own) = KnownRun::from_run(&self.prepared[cell], record)
        {
            let others = state.known.entry(work).or_default();
            match others.find_alike(&self.prepared[cell]).map(|(_, other)| *other) {
                Some(other) => state.note_alike(cell, other),
                None => others.add(own, cell),
            }
        }
        self.count_down(state, index);
        self.ended.notify_all();
    }

    fn count_down(&self, state: &mut ScheduleState, index: usize) {
        let work = self.works[index];
        state.left[work] -= 1;
        if state.left[work] == 0 {
            state.known.remove(&work);
        }
    }

    /// Ends the schedule: nothing more is to be run.
    pub(super) fn stop(&self) {
        self.state.lock().expect("no holder panics").stopped = true;
        self.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::plan;

    /// Cells with the same settings wait for one another; cells that differ in what a run may leave unasked do so once
    /// one stood for the other; runs of another seed never do.
    #[test]
    fn a_run_waits_for_one_under_way_that_will_stand_for_it() {
        let level = |name: &str, nearest: u32| {
            format!(
                "[[factor.bundle]]\nname = '{name}'\n\
                 set = {{ 'job.depth' = 4, 'drive.firmware.queue.nearest' = {nearest} }}\n"
            )
        };
        let text = format!(
            "title = 't'\nquestion = 'q'\nruns = 1\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
             drive = 'barracuda-7200.7'\n[[factor]]\nname = 'it'\n{}{}{}",
            level("a", 2),
            level("b", 6),
            level("c", 2)
        );
        let study = seekwise_formats::study::parse("s.toml", &text).unwrap();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cells = plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        assert!(prepared[0].hash == prepared[2].hash && prepared[0].hash != prepared[1].hash);
        let order = [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1)];
        let schedule = Schedule::new(&study, &prepared, &[1, 2], &order, 0);
        let mut state = ScheduleState::default();
        let waits = |state: &ScheduleState| [0, 1, 2, 3, 4].map(|index| schedule.waits_for_alike(state, index));
        assert_eq!(waits(&state), [false; 5], "nothing is under way");
        state.running.insert(0);
        assert_eq!(waits(&state)[1..], [false, true, false, false]);
        state.note_alike(1, 0);
        assert_eq!(waits(&state)[1..], [true, true, false, false]);
        state.running = BTreeSet::from([3]);
        assert_eq!(waits(&state), [false, false, false, true, true], "of the other seed");
    }
}
