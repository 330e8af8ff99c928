//! A stretch of a run for the page's moving picture: its first counted requests with their parts, and the movements of the arms meanwhile.
//!
//! Results do not keep it. A run of the model is equal each time, so the maker of a page runs the beginning again, from the inputs that the
//! folder keeps. Only the program that made the results may do so: another program's run could differ.

use seekwise_disk::block::{Op, Status};
use seekwise_disk::drive::movement::{Movement, MovementPurpose};
use seekwise_disk::record::{Part, Record};
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_run::sim::follow::{RunTimeline, record_run_beginning};

use crate::inputs::Inputs;
use crate::plan::{PreparedCell, prepare_cell};
use crate::provenance::{ProgramVersion, StudyProvenance};
use crate::report::{ReportMovements, ReportPlatter, ReportRequests, ReportStretch};

/// Requests of a stretch: some seconds of a single drive, and at about a hundred bytes each a small part of the page.
const REQUESTS: usize = 400;

/// The longest warm-up that is run again, in requests: a second, at a million requests a second.
const WARM_UP_LIMIT: u64 = 1_000_000;

/// The most movements of a stretch; later ones are left out. An array's members all move at the same time.
const MOVEMENTS: usize = 1600;

/// The stretches of the first runs of these cells. A cell has none if its warm-up is too long, or if its settings would be others in this
/// program.
pub(crate) fn make_stretches(made: &StudyProvenance, cells: &[usize]) -> Vec<ReportStretch> {
    if made.program != ProgramVersion::current() {
        return Vec::new();
    }
    let inputs = Inputs::from_kept(made.inputs.clone());
    let prepared = |&cell: &usize| {
        let kept = made.cells.get(cell)?;
        let prepared = prepare_cell("study.toml", &kept.cell, &inputs).ok()?;
        (prepared.hash == kept.hash).then_some((cell, prepared))
    };
    let seed = made.seeds.first().copied().map(Seed);
    let stretch = |(cell, prepared): (usize, PreparedCell)| {
        let seed = seed?;
        let stack = prepared.target.stack()?;
        let followed =
            record_run_beginning(stack, prepared.job.make_source(seed), seed, REQUESTS, WARM_UP_LIMIT).ok()?;
        make_stretch(cell, stack, seed, followed)
    };
    cells.iter().filter_map(prepared).filter_map(stretch).collect()
}

fn make_stretch(cell: usize, stack: &Stack, seed: Seed, followed: RunTimeline) -> Option<ReportStretch> {
    let RunTimeline { records, movements } = followed;
    let begin = picture_begin(&records, &movements)?;
    let end = records.iter().map(|record| record.completion.finished).max()?;
    let geometry = &stack.profile.geometry;
    let platters = stack.drive_mechanics(seed).into_iter().map(|mechanics| ReportPlatter {
        revolution_ns: mechanics.revolution().nanos(),
        turned: revolution_share(mechanics.angle_at(begin)),
    });
    let shown = movements.iter().filter(|movement| movement.start >= begin && movement.start < end).take(MOVEMENTS);
    let shown: Vec<&Movement> = shown.collect();
    Some(ReportStretch {
        cell: cell.to_string(),
        begin_ns: begin.nanos().to_string(),
        cylinders: geometry.cylinders(),
        heads: geometry.surfaces(),
        sectors: stack.sectors(),
        platters: platters.collect(),
        parts: Part::ALL.map(|part| part.name().to_owned()).to_vec(),
        requests: request_columns(&records, begin),
        movements: movement_columns(&shown, begin),
    })
}

/// The instant at which the clock of the picture begins: the start of the last movement before the first request was done, but not before
/// that request was issued.
fn picture_begin(records: &[Record], movements: &[Movement]) -> Option<Instant> {
    let first = records.first()?;
    let starts = movements.iter().map(|movement| movement.start).filter(|start| *start < first.completion.finished);
    Some(starts.max().unwrap_or(first.issued).max(first.issued))
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

    const STUDY: &str = "title = 't'\nquestion = 'q'\nruns = 1\nruntime = '5 s'\n[stack]\n\
        drive = 'barracuda-7200.7-ncq'\n[[factor]]\nname = 'job'\nkey = 'job'\nlevels = ['random-read', 'file-server']\n";

    fn made() -> StudyProvenance {
        let study = seekwise_formats::study::parse("s.toml", STUDY).unwrap();
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

    #[test]
    fn another_programs_results_have_none() {
        let mut made = made();
        assert_eq!(make_stretches(&made, &[0]).len(), 1);
        assert_eq!(make_stretches(&made, &[7]).len(), 0);
        made.program.build = "another".to_owned();
        assert_eq!(make_stretches(&made, &[0]).len(), 0);
    }
}
