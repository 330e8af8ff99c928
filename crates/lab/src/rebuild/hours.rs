//! The hours of a rebuild or a scrub from stretches of it: lengths over rates, along the members and through the hours of the day.

use super::stretch::{ArrayState, Stretch, rebuilding_seconds, simulate_stretch};
use super::{
    ArrayAnswer, ArrayPhase, ArrayTask, ArrayUnderSync, Exposure, TimelinePoint, UserFigures, mb_per_s, quiet_phase,
    user_figures,
};
use crate::stats::histogram::Histogram;
use crate::workers::Workers;

/// Steps in which a pass along the members is added up.
const STEPS: u32 = 4000;

/// How far the line between two stretches goes on beyond them, in their distance.
const BEYOND: [f64; 2] = [-1.0, 2.0];

/// Standard errors of an interval of 95 %.
const OF_95_PERCENT: f64 = 2.0;

/// Stretches of one state of the array, by their places.
struct PaceTable {
    lost: u32,
    with_users: bool,
    stretches: Vec<Stretch>,
    /// Sectors, and hours, that each stretch stands for.
    sectors: Vec<f64>,
    hours: Vec<f64>,
}

impl PaceTable {
    /// The stretches around a sector, with their shares. Beyond the middle of an outermost one the line through two goes on, as the density
    /// of tracks does: on short members that is several per cent of the way.
    fn around(&self, sector: f64) -> Option<[(usize, f64); 2]> {
        let place = |index: usize| self.stretches[index].pace.map(|pace| pace.sector);
        let last = self.stretches.len() - 1;
        let above = (1..=last).find(|&index| place(index).is_some_and(|at| at >= sector)).unwrap_or(last);
        let below = above.saturating_sub(1);
        let (low, high) = (place(below)?, place(above)?);
        let [least, most] = BEYOND;
        let share = if high > low { ((sector - low) / (high - low)).clamp(least, most) } else { 1.0 };
        Some([(below, 1.0 - share), (above, share)])
    }

    /// Adds a step of so many sectors there; returns its hours, none if nothing goes on there.
    fn add_step(&mut self, sector: f64, sectors: f64) -> Option<f64> {
        let around = self.around(sector)?;
        let pace = |index: usize| self.stretches[index].pace.map_or(0.0, |pace| pace.seconds_per_sector);
        let hours = around.iter().map(|&(index, share)| share * pace(index)).sum::<f64>() * sectors / 3600.0;
        for (index, share) in around {
            self.sectors[index] += share * sectors;
            self.hours[index] += share * hours;
        }
        Some(hours)
    }

    /// The variance of the hours by chance in its stretches.
    fn variance(&self) -> f64 {
        let error =
            |(stretch, sectors): (&Stretch, &f64)| stretch.pace.map_or(0.0, |pace| pace.error * sectors / 3600.0);
        self.stretches.iter().zip(&self.sectors).map(|pair| error(pair).powi(2)).sum()
    }

    /// Figures of users in the hours of these stretches; `None` without users.
    fn users(&self) -> Option<UserFigures> {
        let weighted: Vec<(&Stretch, f64)> = self.stretches.iter().zip(self.hours.iter().copied()).collect();
        weighted_figures(&weighted)
    }
}

/// Figures of users over stretches that stand for different times.
fn weighted_figures(stretches: &[(&Stretch, f64)]) -> Option<UserFigures> {
    let all: f64 = stretches.iter().map(|(_, hours)| hours).sum();
    let mut merged = Histogram::default();
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let (mut requests_per_s, mut sum_ms) = (0.0, 0.0);
    for (stretch, hours) in stretches.iter().filter(|(stretch, hours)| *hours > 0.0 && stretch.latency.count() > 0) {
        let weight = hours / all / stretch.seconds;
        requests_per_s += weight * stretch.latency.count() as f64;
        sum_ms += weight * stretch.latency.sum_ns() as f64 / 1e6;
        steps.extend(
            stretch.latency.buckets().map(|(upper, count)| (upper.nanos() as f64 / 1e6, weight * count as f64)),
        );
        merged.merge(&stretch.latency);
    }
    steps.sort_by(|a, b| a.0.total_cmp(&b.0));
    let quantile = |share: f64| {
        let mut below = 0.0;
        steps.iter().find(|(_, weight)| {
            below += weight;
            below >= share * requests_per_s
        })
    };
    Some(UserFigures {
        requests_per_s,
        mean_ms: sum_ms / requests_per_s,
        p50_ms: quantile(0.5)?.0,
        p99_ms: quantile(0.99).or(steps.last())?.0,
        max_ms: merged.max()?.nanos() as f64 / 1e6,
    })
}

/// The course of all rebuilds, or of the scrub, while it is added up.
struct Course<'a> {
    array: &'a ArrayUnderSync<'a>,
    tables: Vec<PaceTable>,
    /// Hours since the loss, or since the scrub began.
    hour: f64,
    /// Hours in which so many members were lost, by their number.
    hours_lost: Vec<f64>,
    timeline: Vec<TimelinePoint>,
}

impl Course<'_> {
    /// True if users work at an hour after the loss, which is at the first hour of their day.
    fn is_working(&self, hour: f64) -> bool {
        let Some((from, until)) = self.array.question.terms.working_hours else { return true };
        (from + hour).rem_euclid(24.0) >= from && (from + hour).rem_euclid(24.0) < until
    }

    fn table(&mut self, lost: u32) -> Option<&mut PaceTable> {
        let with_users = self.is_working(self.hour);
        self.tables.iter_mut().find(|table| table.lost == lost && table.with_users == with_users)
    }

    /// Adds hours with so many members lost.
    fn pass_hours(&mut self, lost: u32, hours: f64) {
        self.hour += hours;
        self.hours_lost[lost as usize] += hours;
    }

    /// Adds up one pass along the members, during which one more member may be lost. Returns how many are lost at its end; `None` if it
    /// never ends.
    fn add_pass(&mut self, mut lost: u32, next_loss: Option<f64>) -> Option<u32> {
        let (began, sectors) = (self.hour, self.array.sectors as f64);
        let (step, mut next_loss) = (sectors / f64::from(STEPS), next_loss);
        let points = self.tables.first().map_or(1, |table| table.stretches.len()) as u32;
        for index in 0..STEPS {
            if next_loss.is_some_and(|hours| self.hour - began >= hours) {
                (lost, next_loss) = (lost + 1, None);
            }
            let sector = (f64::from(index) + 0.5) * step;
            let hours = match self.table(lost)?.add_step(sector, step) {
                Some(hours) => hours,
                None => {
                    let (from, until) =
                        self.array.question.terms.working_hours.filter(|_| self.is_working(self.hour))?;
                    self.pass_hours(lost, until - (from + self.hour).rem_euclid(24.0));
                    self.table(lost)?.add_step(sector, step)?
                }
            };
            self.pass_hours(lost, hours);
            if index % (STEPS / points) == STEPS / points / 2 {
                self.add_timeline_point(lost, sector, f64::from(index) / f64::from(STEPS));
            }
        }
        Some(lost)
    }

    fn add_timeline_point(&mut self, lost: u32, sector: f64, done: f64) {
        let hour = self.hour;
        let Some(table) = self.table(lost) else { return };
        let Some([(below, _), (above, share)]) = table.around(sector) else { return };
        let index = if share < 0.5 { below } else { above };
        let stretch = &table.stretches[index];
        let Some(pace) = stretch.pace else { return };
        let users = user_figures(&stretch.latency, stretch.seconds);
        let point = TimelinePoint { hour, done, lost, mb_per_s: mb_per_s(pace.seconds_per_sector), users };
        self.timeline.push(point);
    }
}

/// Answers from `count` stretches of each state of the array.
pub(super) fn answer_from_stretches(
    array: &ArrayUnderSync<'_>,
    count: u32,
    on_stretch: &(dyn Fn(u64) + Sync),
) -> Result<ArrayAnswer, String> {
    // Without users it is fastest, and nowhere faster than at the beginning.
    let sync = Some(array.sync(array.lost, 0));
    let first = ArrayState { lost: array.first_lost(array.lost), sync, with_users: false };
    let fastest = simulate_stretch(array, &first, 0)?.pace.map_or(f64::INFINITY, |pace| 1.0 / pace.seconds_per_sector);
    let lead = (rebuilding_seconds() * fastest) as u64;
    let length = array.sectors.checked_sub(lead).filter(|length| *length >= lead).ok_or_else(|| {
        format!(
            "{:.0} s of it may reach the end of these members, so stretches say nothing; expected to compute it whole",
            2.0 * rebuilding_seconds()
        )
    })?;
    let mut losts = array.lost_by_pass();
    losts.dedup();
    let users: &[bool] = match (array.question.users, array.question.terms.working_hours) {
        (Some(_), None) => &[true],
        (Some(_), Some(_)) => &[true, false],
        (None, _) => &[true],
    };
    let kinds: Vec<(u32, bool)> = losts.iter().flat_map(|&lost| users.iter().map(move |&with| (lost, with))).collect();
    let state_at = |(lost, with_users): (u32, bool), sector: u64| {
        let sync = Some(array.sync(lost, sector));
        ArrayState { lost: array.first_lost(lost), sync, with_users }
    };
    let quiet = |lost| ArrayState { lost: array.first_lost(lost), sync: None, with_users: true };
    let before_last = u64::from(count.max(2) - 1);
    // The last one goes on half as fast as the first, or little faster.
    let places: Vec<u64> = (0..before_last).map(|index| (length + lead / 2) / before_last * index).collect();
    let mut states: Vec<ArrayState> =
        kinds.iter().flat_map(|&kind| places.iter().map(move |&sector| state_at(kind, sector))).collect();
    states.extend([quiet(0), quiet(array.lost)]);
    let all = (states.len() + kinds.len()) as u64;
    let simulate = |(number, state): &(u64, ArrayState)| {
        let stretch = simulate_stretch(array, state, *number);
        on_stretch(all);
        stretch
    };
    let first_last = states.len() as u64 + 1;
    let mut stretches = simulate_all((1..).zip(states).collect(), simulate)?;
    let (waiting, whole) = (stretches.pop().ok_or("no stretch")?, stretches.pop().ok_or("no stretch")?);
    let mut of_kinds: Vec<Vec<Stretch>> = Vec::new();
    for _ in &kinds {
        of_kinds.push(stretches.drain(..places.len()).collect());
    }
    // The last stretch comes to the inner end, where all is slowest.
    let lasts = kinds.iter().zip(&of_kinds).map(|(&kind, stretches)| {
        let rate = stretches.last().and_then(|it| it.pace).map_or(fastest, |pace| 1.0 / pace.seconds_per_sector);
        state_at(kind, array.sectors - ((rebuilding_seconds() * rate) as u64).min(array.sectors))
    });
    let lasts = simulate_all((first_last..).zip(lasts).collect(), simulate)?;
    let table = |((&(lost, with_users), mut stretches), last): ((&(u32, bool), Vec<Stretch>), Stretch)| {
        stretches.push(last);
        let zeros = vec![0.0; stretches.len()];
        PaceTable { lost, with_users, stretches, sectors: zeros.clone(), hours: zeros }
    };
    let tables = kinds.iter().zip(of_kinds).zip(lasts).map(table).collect();
    assemble(array, tables, [whole, waiting])
}

/// Simulates numbered stretches, several at once.
fn simulate_all(
    states: Vec<(u64, ArrayState)>,
    simulate: impl Fn(&(u64, ArrayState)) -> Result<Stretch, String> + Sync,
) -> Result<Vec<Stretch>, String> {
    Workers::Shared.map(&states, simulate)
}

/// Adds up the course, and makes the answer of it.
fn assemble(
    array: &ArrayUnderSync<'_>,
    tables: Vec<PaceTable>,
    [whole, waiting]: [Stretch; 2],
) -> Result<ArrayAnswer, String> {
    let question = array.question;
    let simulated = tables.iter().map(|table| table.stretches.len()).sum::<usize>();
    let failures = tables.iter().flat_map(|table| &table.stretches).map(|it| it.failures).sum::<u64>();
    let hours_lost = vec![0.0; array.volume.members as usize + 1];
    let mut course = Course { array, tables, hour: 0.0, hours_lost, timeline: Vec::new() };
    let spare_after =
        if matches!(question.terms.task, ArrayTask::Scrub) { 0.0 } else { question.terms.spare_after_hours };
    course.pass_hours(array.lost, spare_after);
    let (mut lost, mut next_loss, mut is_over) = (array.lost, question.terms.next_loss_hours, true);
    loop {
        let Some(after) = course.add_pass(lost, next_loss) else {
            is_over = false;
            break;
        };
        if next_loss.is_some() && after == lost {
            let hours = course.hour - spare_after;
            return Err(format!("the rebuild ends after {hours:.1} h, before the next loss; expected fewer hours"));
        }
        next_loss = None;
        lost = if question.terms.together { 0 } else { after.saturating_sub(1) };
        if lost == 0 {
            break;
        }
    }
    let hours = course.hour - spare_after;
    let error = course.tables.iter().map(PaceTable::variance).sum::<f64>().sqrt();
    let mut phases = vec![quiet_phase("before", array, (0, None), &whole)];
    if spare_after > 0.0 {
        phases.push(quiet_phase("waiting for a new drive", array, (array.lost, Some(spare_after)), &waiting));
    }
    phases.extend(
        course
            .tables
            .iter()
            .filter(|table| !is_over || table.hours.iter().sum::<f64>() > 0.0)
            .map(|table| sync_phase(array, table, is_over)),
    );
    let sectors: f64 = course.tables.iter().flat_map(|table| &table.sectors).sum();
    let read_while = |counts: &dyn Fn(u32) -> bool| -> f64 {
        let counted = course.tables.iter().filter(|table| counts(table.lost));
        counted.map(|table| 512.0 * table.sectors.iter().sum::<f64>() * f64::from(array.sources(table.lost))).sum()
    };
    Ok(ArrayAnswer {
        computed: format!(
            "from {simulated} simulated stretches of {:.0} s along the members; the hours between them are added up",
            super::stretch::simulated_seconds()
        ),
        members: array.volume.members,
        member_bytes: array.sectors * 512,
        hours: is_over.then_some(hours),
        interval: is_over.then_some((hours - OF_95_PERCENT * error, hours + OF_95_PERCENT * error)),
        mb_per_s: is_over.then(|| sectors * 512.0 / 1e6 / (hours * 3600.0)),
        read_bytes: read_while(&|_| true),
        unspared_read_bytes: read_while(&|lost| array.is_unspared(lost)),
        phases,
        exposure: exposure(array, &course.hours_lost),
        timeline: course.timeline,
        failures,
    })
}

/// The phase of a rebuild or a scrub with so many members lost.
fn sync_phase(array: &ArrayUnderSync<'_>, table: &PaceTable, is_over: bool) -> ArrayPhase {
    let (hours, sectors): (f64, f64) = (table.hours.iter().sum(), table.sectors.iter().sum());
    let base = match array.question.terms.task {
        ArrayTask::Scrub => "scrub".to_owned(),
        ArrayTask::Rebuild { .. } => format!("rebuild, {} lost", table.lost),
    };
    let has_both = array.question.terms.working_hours.is_some() && array.question.users.is_some();
    let name = match (has_both, table.with_users) {
        (true, false) => format!("{base}, no users"),
        _ => base,
    };
    let users = if hours > 0.0 { table.users() } else { unweighted_users(&table.stretches) };
    ArrayPhase {
        name,
        hours: is_over.then_some(hours),
        lost: table.lost,
        spare: array.spare(table.lost),
        mb_per_s: Some(if hours > 0.0 { sectors * 512.0 / 1e6 / (hours * 3600.0) } else { 0.0 }),
        users,
    }
}

/// Figures of users beside a rebuild that does not go on.
fn unweighted_users(stretches: &[Stretch]) -> Option<UserFigures> {
    weighted_figures(&stretches.iter().map(|stretch| (stretch, 1.0)).collect::<Vec<_>>())
}

/// The hours in which so many more losses were survived, the least first.
pub(super) fn exposure(array: &ArrayUnderSync<'_>, hours_lost: &[f64]) -> Vec<Exposure> {
    let mut all: Vec<Exposure> = Vec::new();
    for (lost, &hours) in hours_lost.iter().enumerate().skip(1).filter(|(_, hours)| **hours > 0.0) {
        let spare = array.spare(lost as u32);
        match all.iter_mut().find(|exposure| exposure.spare == spare) {
            Some(exposure) => exposure.hours += hours,
            None => all.push(Exposure { spare, hours }),
        }
    }
    all.sort_by_key(|exposure| exposure.spare);
    all
}
