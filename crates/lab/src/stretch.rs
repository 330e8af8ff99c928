//! A stretch of a run for the page's moving picture: its first requests with their parts, the movements of the arms meanwhile, and where the
//! requests lie that wait.
//!
//! Results do not keep it. A run of the model is equal each time, so the maker of a page runs the beginning again, from the inputs that the
//! folder keeps. Only the program that made the results may do so: another program's run could differ.

use seekwise_disk::block::{Op, Request, Status};
use seekwise_disk::drive::movement::{Movement, MovementPurpose};
use seekwise_disk::record::{Part, Record};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::{Instant, Span};
use seekwise_drives::key_names::job;
use seekwise_run::sim::follow::{DeviceAccess, RunTimeline, record_run_beginning};
use seekwise_run::work::Work;

use crate::inputs::Inputs;
use crate::plan::{PreparedCell, prepare_cell, set_job};
use crate::provenance::{ProgramVersion, StudyProvenance};
use crate::report::{ReportMovements, ReportPlatter, ReportQueue, ReportRequests, ReportStretch};

/// Requests of a stretch: some seconds of a single drive, and at about a hundred bytes each a small part of the page.
const REQUESTS: usize = 400;

/// The longest warm-up that is run again, in requests: a second, at a million requests a second.
const WARM_UP_LIMIT: u64 = 1_000_000;

/// The most movements of a stretch; later ones are left out. An array's members all move at the same time. If more requests wait, none is
/// drawn.
const MOVEMENTS: usize = 1600;

/// The latest start of a picture after another side's, so that both begin at the same instant of the run.
const LATEST_BEGIN: Span = Span::from_secs(1);

/// The beginning of the run of one cell.
struct RecordedSide {
    cell: usize,
    prepared: PreparedCell,
    timeline: RunTimeline,
    /// Requests of the ramp are left out.
    counted: bool,
}

impl RecordedSide {
    fn stack(&self) -> Option<&Stack> {
        self.prepared.target.stack()
    }

    /// True if each request is a read for which an arm moved: no cache answered any, so the run needs no warm-up.
    fn has_only_medium_reads(&self) -> bool {
        let from_medium =
            |record: &Record| record.request.op == Op::Read && record.completion.parts.get(Part::Transfer) > Span::ZERO;
        self.timeline.records.iter().all(from_medium)
    }
}

/// The stretches of the first runs of these cells. A cell has none if its warm-up is too long, or if its settings would be others in this
/// program. All begin at the same instant of the run, if their first counted requests are not far apart.
pub(crate) fn make_stretches(made: &StudyProvenance, cells: &[usize]) -> Vec<ReportStretch> {
    let (Some(&seed), true) = (made.seeds.first(), made.program == ProgramVersion::current()) else {
        return Vec::new();
    };
    let seed = Seed(seed);
    let inputs = Inputs::from_kept(made.inputs.clone());
    let prepared = |&cell: &usize| {
        let kept = made.cells.get(cell)?;
        let prepared = prepare_cell("study.toml", &kept.cell, &inputs).ok()?;
        (prepared.hash == kept.hash).then_some((cell, prepared))
    };
    record_stretches(cells.iter().filter_map(prepared), seed, REQUESTS)
}

/// The stretches of these cells, each of so many requests.
fn record_stretches(
    prepared: impl Iterator<Item = (usize, PreparedCell)>,
    seed: Seed,
    requests: usize,
) -> Vec<ReportStretch> {
    let recorded = |(cell, prepared): (usize, PreparedCell)| {
        let timeline = record_beginning(&prepared, &prepared.job, seed, requests)?;
        Some(RecordedSide { cell, prepared, timeline, counted: true })
    };
    let mut sides: Vec<RecordedSide> = prepared.filter_map(recorded).collect();
    if sides.len() > 1 && sides.iter().all(RecordedSide::has_only_medium_reads) {
        sides.iter_mut().for_each(|side| skip_warm_up(side, seed, requests));
    }
    let begins: Vec<Option<Instant>> = sides.iter().map(|side| picture_begin(&side.timeline)).collect();
    let first = begins.iter().flatten().min().copied();
    let together = |begin: Instant| first.filter(|first| begin <= *first + LATEST_BEGIN).unwrap_or(begin);
    sides.iter().zip(begins).filter_map(|(side, begin)| make_stretch(side, seed, together(begin?))).collect()
}

/// Runs the beginnings of these cells' runs with this seed, until so many counted requests are done; all begin at the same instant, if they
/// can. Cells without a modelled stack have none, nor those whose warm-up is too long, or that count no request.
pub fn run_stretches(prepared: Vec<PreparedCell>, seed: u64, requests: usize) -> Vec<ReportStretch> {
    record_stretches(prepared.into_iter().enumerate(), Seed(seed), requests)
}

fn record_beginning(prepared: &PreparedCell, job: &Work, seed: Seed, requests: usize) -> Option<RunTimeline> {
    let stack = prepared.target.stack()?;
    record_run_beginning(stack, job.make_source(seed), seed, requests, WARM_UP_LIMIT).ok()
}

/// Records `side` from the beginning of its run, without a ramp: there the sides of a comparison have equal requests and equal arms, which
/// is lost as soon as one of them is ahead.
fn skip_warm_up(side: &mut RecordedSide, seed: Seed, requests: usize) {
    let mut job = side.prepared.job.clone();
    if job.workers().iter().all(|worker| worker.ramp == Span::ZERO) || set_job("", &mut job, job::RAMP, "0 s").is_err()
    {
        return;
    }
    if let Some(timeline) = record_beginning(&side.prepared, &job, seed, requests) {
        (side.timeline, side.counted) = (timeline, false);
    }
}

fn make_stretch(side: &RecordedSide, seed: Seed, begin: Instant) -> Option<ReportStretch> {
    let RunTimeline { records, movements, accesses } = &side.timeline;
    let stack = side.stack()?;
    let end = records.iter().map(|record| record.completion.finished).max()?;
    let geometry = &stack.profile.geometry;
    let platters = stack.drive_mechanics(seed).into_iter().map(|mechanics| ReportPlatter {
        revolution_ns: mechanics.revolution().nanos(),
        turned: revolution_share(mechanics.angle_at(begin)),
    });
    let shown = movements.iter().filter(|movement| movement.end > begin && movement.start < end).take(MOVEMENTS);
    let shown: Vec<&Movement> = shown.collect();
    Some(ReportStretch {
        cell: side.cell.to_string(),
        begin_ns: begin.nanos().to_string(),
        counted: side.counted,
        cylinders: geometry.cylinders(),
        heads: geometry.surfaces(),
        sectors: stack.sectors(),
        platters: platters.collect(),
        parts: Part::ALL.map(|part| part.name().to_owned()).to_vec(),
        requests: request_columns(records, begin),
        queue: queue_columns(stack, &Picture { begin, end, movements, shown: &shown }, accesses),
        movements: movement_columns(&shown, begin),
    })
}

/// The instant at which the clock of the picture begins: the start of the last movement before the first request was done, but not before
/// that request was issued.
fn picture_begin(timeline: &RunTimeline) -> Option<Instant> {
    let first = timeline.records.first()?;
    let starts = timeline.movements.iter().map(|movement| movement.start);
    let last_start = starts.filter(|start| *start < first.completion.finished).max();
    Some(last_start.unwrap_or(first.issued).max(first.issued))
}

/// The movements of a picture, and its ends.
struct Picture<'a> {
    begin: Instant,
    end: Instant,
    /// All movements that were recorded.
    movements: &'a [Movement],
    /// The movements that the picture shows.
    shown: &'a [&'a Movement],
}

impl Picture<'_> {
    /// The movement that serves `access` first. A write that is answered early is served by a destage afterwards; one in the buffer by that
    /// of a later write to its blocks.
    fn serving_movement(&self, access: &DeviceAccess) -> Option<&Movement> {
        let finished = access.completion.map_or(Instant::FAR, |completion| completion.finished);
        let serves = |movement: &&Movement| {
            let purpose_fits = match movement.purpose {
                MovementPurpose::Read => access.request.op == Op::Read && movement.start < finished,
                MovementPurpose::Write => access.request.op == Op::Write && movement.start < finished,
                MovementPurpose::Destage => access.request.op == Op::Write,
                MovementPurpose::Home => false,
            };
            purpose_fits && movement.start >= access.issued && overlaps(movement, &access.request)
        };
        self.movements.iter().filter(serves).min_by_key(|movement| movement.start)
    }

    fn shown_index(&self, movement: &Movement) -> Option<u32> {
        self.shown.iter().position(|shown| std::ptr::eq(*shown, movement)).map(|index| index as u32)
    }

    /// Destages of blocks that no known access wrote: the buffer held them before.
    fn destages_of_earlier_data(&self, accesses: &[DeviceAccess]) -> Vec<u32> {
        let is_of_earlier = |movement: &Movement| {
            let wrote = |access: &DeviceAccess| {
                access.request.op == Op::Write && access.issued <= movement.start && overlaps(movement, &access.request)
            };
            movement.purpose == MovementPurpose::Destage && !accesses.iter().any(wrote)
        };
        (0..self.shown.len() as u32).filter(|&index| is_of_earlier(self.shown[index as usize])).collect()
    }
}

fn overlaps(movement: &Movement, request: &Request) -> bool {
    movement.pass.extent.lba < request.end() && movement.pass.extent.end() > request.lba
}

/// The reads and writes that wait in the picture, with their places; `None` if their places are not known: several drives share them, the
/// drive moves blocks to a media cache, or they are too many.
fn queue_columns(stack: &Stack, picture: &Picture<'_>, accesses: &[DeviceAccess]) -> Option<ReportQueue> {
    if stack.drives() > 1 || stack.profile.cache.media_cache.is_some() {
        return None;
    }
    let mut queue = ReportQueue { earlier: picture.destages_of_earlier_data(accesses), ..ReportQueue::default() };
    let mut accesses: Vec<&DeviceAccess> = accesses.iter().filter(|access| access.issued < picture.end).collect();
    accesses.sort_by_key(|access| access.number);
    for access in accesses {
        let movement = picture.serving_movement(access);
        let is_over = access.completion.is_some_and(|completion| completion.finished <= picture.begin);
        if is_over && movement.is_none_or(|movement| movement.end <= picture.begin) {
            continue;
        }
        queue.push_access(access, stack, picture.begin, movement.and_then(|movement| picture.shown_index(movement)));
    }
    (queue.cylinder.len() <= MOVEMENTS).then_some(queue)
}

impl ReportQueue {
    fn push_access(&mut self, access: &DeviceAccess, stack: &Stack, begin: Instant, movement: Option<u32>) {
        let DeviceAccess { request, issued, completion, .. } = access;
        if request.op == Op::Write {
            self.writes.push(self.cylinder.len() as u32);
        }
        let place = stack.profile.geometry.extent(request.lba, request.sectors);
        let micros = |span: Span| to_micros(span.nanos() as i64);
        self.issued_us.push(to_micros(nanos_after(begin, *issued)));
        self.host_us.push(completion.map(|it| micros(it.submitted.since(*issued) + it.parts.get(Part::Driver))));
        self.done_us.push(completion.map(|it| micros(it.finished.since(*issued))));
        self.cylinder.push(place.cylinder);
        self.angle.push(revolution_share(place.angle));
        self.movement.push(movement);
    }
}

fn request_columns(records: &[Record], begin: Instant) -> ReportRequests {
    let op = |record: &Record| match record.request.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::WriteZeroes => "write zeroes",
        Op::Flush => "flush",
        Op::Trim => "trim",
        Op::Compute => "compute",
    };
    ReportRequests {
        worker: records.iter().map(|record| record.worker).collect(),
        op: records.iter().map(|record| op(record).to_owned()).collect(),
        failed: (0..records.len() as u32)
            .filter(|&index| records[index as usize].completion.status != Status::Done)
            .collect(),
        lba: records.iter().map(|record| record.request.lba).collect(),
        sectors: records.iter().map(|record| record.request.sectors).collect(),
        due_ns: records.iter().map(|record| nanos_after(begin, record.issued)).collect(),
        parts_ns: records.iter().map(|record| record.completion.parts.nanos().to_vec()).collect(),
    }
}

fn movement_columns(movements: &[&Movement], begin: Instant) -> ReportMovements {
    let purpose = |movement: &Movement| match movement.purpose {
        MovementPurpose::Read => "read",
        MovementPurpose::Write => "write",
        MovementPurpose::Destage => "destage",
        MovementPurpose::Home => "home",
    };
    let course_us = |movement: &Movement| {
        let pass = &movement.pass;
        let waited = pass.settle + pass.data;
        let passed = pass.end.since(movement.start + pass.seek + waited);
        let spans = [pass.seek, waited, passed, movement.end.since(pass.end)];
        [nanos_after(begin, movement.start)]
            .into_iter()
            .chain(spans.map(|span| span.nanos() as i64))
            .map(to_micros)
            .collect()
    };
    ReportMovements {
        drive: movements.iter().map(|movement| movement.drive).collect(),
        errand: movements.iter().map(|movement| purpose(movement).to_owned()).collect(),
        from: movements.iter().map(|movement| movement.from.cylinder).collect(),
        to: movements.iter().map(|movement| movement.pass.extent.cylinder).collect(),
        head: movements.iter().map(|movement| movement.pass.extent.head).collect(),
        lba: movements.iter().map(|movement| movement.pass.extent.lba).collect(),
        sectors: movements.iter().map(|movement| movement.pass.extent.sectors).collect(),
        angle: movements.iter().map(|movement| revolution_share(movement.pass.extent.angle)).collect(),
        arc: movements.iter().map(|movement| revolution_share(movement.pass.extent.covered_angle())).collect(),
        course_us: movements.iter().map(|movement| course_us(movement)).collect(),
    }
}

/// Nanoseconds from `begin` to `at`, which may lie before it.
fn nanos_after(begin: Instant, at: Instant) -> i64 {
    at.nanos() as i64 - begin.nanos() as i64
}

/// The nearest microsecond: the resolution of a picture.
fn to_micros(nanos: i64) -> i64 {
    (nanos + 500).div_euclid(1000)
}

/// An angle of 2^64 a revolution as a share of it, to a ten-thousandth (a twenty-eighth of a degree): less than a picture shows.
fn revolution_share(angle: u64) -> f64 {
    (angle as f64 / 2f64.powi(64) * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use seekwise_disk::time::Span;

    use super::*;
    use crate::provenance::RunSample;
    use crate::run::measure_run;

    const HEAD: &str =
        "title = 't'\nquestion = 'q'\nruns = 1\nruntime = '5 s'\n[stack]\ndrive = 'barracuda-7200.7-ncq'\n";

    const JOBS: &str = "[[factor]]\nname = 'job'\nkey = 'job'\nlevels = ['random-read', 'file-server']\n";

    /// A queue of 32 in the host, of which the drive knows one or all.
    const DEPTHS: &str =
        "'job.depth' = 32\n[[factor]]\nname = 'depth'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n";

    fn made() -> StudyProvenance {
        made_of(&format!("{HEAD}{JOBS}"))
    }

    fn made_of(text: &str) -> StudyProvenance {
        let study = seekwise_formats::study::parse("s.toml", text).unwrap();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cells = crate::plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None))
    }

    #[test]
    fn a_stretch_is_the_beginning_of_the_run() {
        let made = made();
        let inputs = Inputs::from_kept(made.inputs.clone());
        for (place, stretch) in make_stretches(&made, &[0, 1]).iter().enumerate() {
            let cell = prepare_cell("s.toml", &made.cells[place].cell, &inputs).unwrap();
            assert!(stretch.counted, "one side writes, so both are seen after their warm-up");
            let mut run: Vec<(u64, Vec<u64>)> = Vec::new();
            let watch = |record: &Record| run.push((record.request.lba, record.completion.parts.nanos().to_vec()));
            measure_run(&cell.target, &cell.job, made.seeds[0], watch).unwrap();
            let ReportRequests { lba, parts_ns, .. } = &stretch.requests;
            assert_eq!(lba.len(), REQUESTS.min(run.len()));
            assert!(lba.len() > 300);
            assert!(lba.iter().copied().zip(parts_ns.iter().cloned()).eq(run.into_iter().take(REQUESTS)));
        }
    }

    #[test]
    fn a_long_beginning_keeps_few_movements() {
        let made = made();
        let inputs = Inputs::from_kept(made.inputs.clone());
        let cell = prepare_cell("s.toml", &made.cells[0].cell, &inputs).unwrap();
        let (stack, mut job) = (cell.target.stack().unwrap(), cell.job.clone());
        crate::plan::set_job("s.toml", &mut job, "job.runtime", "200 s").unwrap();
        let of =
            |most: usize| record_run_beginning(stack, job.make_source(Seed(1)), Seed(1), most, WARM_UP_LIMIT).unwrap();
        let (short, long) = (of(REQUESTS), of(12_000));
        assert_eq!((long.records.len(), short.records.len()), (12_000, REQUESTS));
        let told = |of: &RunTimeline| of.movements.iter().map(|it| (it.start, it.end, it.drive)).collect::<Vec<_>>();
        assert!(long.movements.len() < 10_000 && told(&long).starts_with(&told(&short)));
        // It goes on until what the arm was about at its end is told, and no longer: a whole run would be minutes.
        let end = short.records.iter().map(|record| record.completion.finished).max().unwrap();
        let begun = |of: &RunTimeline| of.movements.iter().filter(|it| it.start < end).count();
        assert_eq!(begun(&short), begun(&long));
        assert!(short.movements.last().unwrap().end < end + Span::from_secs(2));
    }

    #[test]
    fn the_platter_brings_what_the_arm_waits_for() {
        for stretch in make_stretches(&made(), &[0, 1]) {
            let ReportStretch { platters, movements, .. } = stretch;
            assert!(movements.to.len() > 100);
            for (place, course) in movements.course_us.iter().enumerate() {
                let passed = (course[0] + course[1] + course[2] + course[3]) as f64 * 1000.0;
                let turned = platters[0].turned + passed / platters[0].revolution_ns as f64;
                let off = (turned - movements.angle[place] - movements.arc[place] + 0.5).rem_euclid(1.0) - 0.5;
                // Half a microsecond for each span that was rounded, and the shares' last digits. A read that began in
                // the middle of its sectors ends there.
                let near = 2.5e-3 / 8.3 + 3e-4;
                let least = if movements.errand[place] == "read" { -movements.arc[place] } else { 0.0 };
                assert!(off < near && off > least - near, "movement {place}: {off} of a revolution");
            }
        }
    }

    #[test]
    fn a_read_by_itself_moves_the_arm_as_its_parts_say() {
        let stretch = &make_stretches(&made(), &[0])[0];
        let seek = stretch.parts.iter().position(|part| part == "seek").unwrap();
        let ReportStretch { requests, movements, .. } = stretch;
        for (place, lba) in requests.lba.iter().enumerate() {
            let own = |&at: &usize| (*lba..lba + u64::from(requests.sectors[place])).contains(&movements.lba[at]);
            let moved: i64 = (0..movements.lba.len()).filter(own).map(|at| movements.course_us[at][1]).sum();
            let told = requests.parts_ns[place][seek] / 1000;
            assert!(moved.abs_diff(told as i64) <= 2, "request {place}: {moved} and {told} us");
        }
    }

    /// The indexes of the queue in the order in which the movements that serve them start.
    fn order_of_taking(stretch: &ReportStretch) -> Vec<usize> {
        let queue = stretch.queue.as_ref().unwrap();
        let start = |index: &usize| stretch.movements.course_us[queue.movement[*index].unwrap() as usize][0];
        let mut served: Vec<usize> = (0..queue.cylinder.len()).filter(|&it| queue.movement[it].is_some()).collect();
        served.sort_by_key(start);
        served
    }

    #[test]
    fn a_request_lies_where_the_movement_goes_that_serves_it() {
        for stretch in make_stretches(&made(), &[0, 1]) {
            let ReportStretch { queue, movements, .. } = &stretch;
            let queue = queue.as_ref().unwrap();
            let mut served = 0;
            for (index, movement) in queue.movement.iter().enumerate() {
                let Some(movement) = movement.map(|movement| movement as usize) else { continue };
                assert_eq!(queue.cylinder[index], movements.to[movement], "{index}");
                // Neighbours that are destaged together begin with the first of them.
                let into = (queue.angle[index] - movements.angle[movement]).rem_euclid(1.0);
                assert!(into <= movements.arc[movement] + 2e-4 || into > 1.0 - 2e-4, "{index}: {into}");
                assert!(queue.issued_us[index] <= movements.course_us[movement][0] + 1, "{index}");
                let writes = queue.writes.contains(&(index as u32));
                assert_eq!(writes, movements.errand[movement] != "read", "{index}");
                served += 1;
            }
            assert!(served > 250, "{served} of {}", queue.cylinder.len());
        }
    }

    #[test]
    fn both_sides_begin_with_the_same_requests_and_take_them_in_their_own_order() {
        let stretches = make_stretches(&made_of(&format!("job = 'random-read'\n{HEAD}{DEPTHS}")), &[0, 1]);
        assert_eq!(stretches[0].begin_ns, stretches[1].begin_ns);
        let waiting = |stretch: &ReportStretch| {
            let queue = stretch.queue.as_ref().unwrap();
            let issued = (0..queue.cylinder.len()).filter(|&index| queue.issued_us[index] <= 0);
            issued.map(|index| (queue.cylinder[index], queue.angle[index].to_bits())).collect::<Vec<_>>()
        };
        assert_eq!(waiting(&stretches[0]).len(), 32);
        assert_eq!(waiting(&stretches[0]), waiting(&stretches[1]));
        for stretch in &stretches {
            assert!(!stretch.counted);
            // A drive without read-ahead hits answers in the order in which the arm went.
            let queue = stretch.queue.as_ref().unwrap();
            let answered = |&index: &usize| queue.done_us[index].map(|done| queue.issued_us[index] + done);
            assert!(order_of_taking(stretch).iter().filter_map(answered).is_sorted());
            // 400 requests were followed; those that still waited at the end are there as well.
            assert!(queue.cylinder.len() > 420, "{}", queue.cylinder.len());
        }
        let in_order = |stretch: &ReportStretch| order_of_taking(stretch).is_sorted();
        assert_eq!([in_order(&stretches[0]), in_order(&stretches[1])], [true, false]);
        let in_host = |stretch: &ReportStretch| {
            stretch.queue.as_ref().unwrap().host_us.iter().flatten().filter(|us| **us > 10_000).count()
        };
        assert!(in_host(&stretches[0]) > 300 && in_host(&stretches[1]) == 0);
    }

    #[test]
    fn where_requests_of_an_array_wait_is_not_known() {
        let array = "array = 'raid-1'\n'array.drives' = 2\n";
        for stretch in make_stretches(&made_of(&format!("{HEAD}{array}{JOBS}")), &[0]) {
            assert_eq!((stretch.platters.len(), stretch.queue), (2, None));
        }
    }

    #[test]
    fn another_programs_results_have_none() {
        let mut made = made();
        assert_eq!(make_stretches(&made, &[0]).len(), 1);
        assert_eq!(make_stretches(&made, &[7]).len(), 0);
        made.program.build = "another".to_owned();
        assert_eq!(make_stretches(&made, &[0]).len(), 0);
    }
}
