//! The loads of a job, as the record of a fit counts them, and what a job asks of a fitted drive that no measurement covered.

use seekwise_drives::profile::fit_record::{FitRecord, LoadPattern, SeenLoad};
use seekwise_run::work::Work;
use seekwise_work::workload::{AccessLine, BlockSizes, Direction, FioPattern, Pattern, Worker};

/// What `work` asks that no measurement of the fit covered, in words; `write_cache` is the state of the drive's.
///
/// The job's own requests are compared. Layers between the program and the drive may split, merge or spread them.
pub(crate) fn unseen_parts(fit: &FitRecord, work: &Work, write_cache: bool) -> Vec<String> {
    let whole = match work {
        Work::Job(_) => None,
        Work::Cached(_) => Some("work through a page cache"),
        Work::Scene(_) => Some("the work of a scene"),
        Work::Session(_) => Some("the requests of a recorded session"),
        Work::Trace(_) => Some("the requests of a trace"),
    };
    if let Some(whole) = whole {
        return vec![whole.to_owned()];
    }
    let workers = work.workers();
    let mut stages: Vec<u32> = workers.iter().map(|worker| worker.stage).collect();
    stages.sort_unstable();
    stages.dedup();
    let (mut loads, mut others) = (Vec::new(), Vec::new());
    for stage in stages {
        let side_by_side: Vec<&Worker> = workers.iter().filter(|worker| worker.stage == stage).collect();
        loads.extend(stage_loads(&side_by_side, write_cache));
        others.extend(side_by_side.iter().flat_map(|worker| unmeasured_requests(&worker.pattern)));
    }
    let mut unseen = fit.unseen(&loads);
    for other in others {
        if !unseen.iter().any(|known| known == other) {
            unseen.push(other.to_owned());
        }
    }
    unseen
}

/// The loads of workers that run side by side: their depths add up, and readers beside writers are a mixed load.
fn stage_loads(workers: &[&Worker], write_cache: bool) -> Vec<SeenLoad> {
    let depth = workers.iter().map(|worker| worker.depth).fold(0, u32::saturating_add);
    let streams: Vec<Stream> = workers.iter().flat_map(|worker| pattern_streams(&worker.pattern)).collect();
    let (reads, writes) = (streams.iter().any(|stream| !stream.writes), streams.iter().any(|stream| stream.writes));
    let mut loads = Vec::new();
    for Stream { is_random, block_bytes, .. } in streams {
        let load = SeenLoad::new(LoadPattern::new(reads, writes, is_random), block_bytes, depth, write_cache);
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    loads
}

/// Requests of one direction, order and size.
struct Stream {
    writes: bool,
    is_random: bool,
    block_bytes: u64,
}

fn pattern_streams(pattern: &Pattern) -> Vec<Stream> {
    match pattern {
        Pattern::Fio(fio) => fio_streams(fio),
        Pattern::Iometer(iometer) => {
            iometer.spec.lines.iter().filter(|line| line.share > 0).flat_map(line_streams).collect()
        }
    }
}

fn fio_streams(fio: &FioPattern) -> Vec<Stream> {
    let (reads, writes) = match fio.direction {
        Direction::Read => (true, false),
        Direction::Write | Direction::TrimWrite => (false, true),
        Direction::Mixed => (true, true),
        Direction::Trim => (false, false),
    };
    let mut streams = Vec::new();
    for (index, _) in [reads, writes].into_iter().enumerate().filter(|(_, used)| *used) {
        for is_random in orders(fio.random[index]) {
            let sizes = if fio.sizes_by_randomness { usize::from(is_random) } else { index };
            let stream = |block_bytes| Stream { writes: index == 1, is_random, block_bytes };
            streams.extend(distinct_sizes(&fio.blocks[sizes]).into_iter().map(stream));
        }
    }
    streams
}

fn line_streams(line: &AccessLine) -> Vec<Stream> {
    let directions = [(line.reads > 0, false, line.size), (line.reads < 100, true, line.size)];
    let replies =
        [(line.reply > 0 && line.reads > 0, true, line.reply), (line.reply > 0 && line.reads < 100, false, line.reply)];
    let used = directions.into_iter().chain(replies).filter(|(used, _, _)| *used);
    used.flat_map(|(_, writes, size)| {
        orders(line.random).into_iter().map(move |is_random| Stream { writes, is_random, block_bytes: u64::from(size) })
    })
    .collect()
}

/// The orders of requests of which so many percent go to random places: `true` for random.
fn orders(random_percent: u8) -> Vec<bool> {
    match random_percent {
        0 => vec![false],
        100.. => vec![true],
        _ => vec![false, true],
    }
}

/// The sizes of requests; of a range its ends.
fn distinct_sizes(sizes: &BlockSizes) -> Vec<u64> {
    match sizes {
        BlockSizes::Fixed(bytes) => vec![*bytes],
        BlockSizes::Range { min, max, .. } if min == max => vec![*min],
        BlockSizes::Range { min, max, .. } => vec![*min, *max],
        BlockSizes::Split(shares) => {
            shares.iter().filter(|(_, percent)| *percent > 0).map(|(bytes, _)| *bytes).collect()
        }
    }
}

/// Requests besides reads and writes: no record of a fit has them.
fn unmeasured_requests(pattern: &Pattern) -> Vec<&'static str> {
    let Pattern::Fio(fio) = pattern else { return Vec::new() };
    let asked = [
        (matches!(fio.direction, Direction::Trim | Direction::TrimWrite), "trims"),
        (fio.syncs.has_any() || fio.flush_at_end, "flushes"),
        (fio.write_through, "writes that are durable before they complete"),
    ];
    asked.into_iter().filter(|(is_asked, _)| *is_asked).map(|(_, words)| words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::plan::{Cell, prepare_cell};

    /// What this job asks of a drive that was measured with random reads of 4 KiB at depths 1 and 4.
    fn unseen(job: &str) -> Vec<String> {
        let text = |_: &str| Ok(job.to_owned());
        let settings = [("job", "j.fio"), ("drive", "barracuda-7200.7-ncq")];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec();
        let cell = Cell { levels: Vec::new(), settings };
        let prepared = prepare_cell("s.toml", &cell, &Inputs::from_today(&text)).unwrap();
        let seen = [1, 4].map(|depth| SeenLoad::new(LoadPattern::RandomRead, 4096, depth, true));
        unseen_parts(&FitRecord::new(seen.to_vec(), Vec::new()), &prepared.job, true)
    }

    fn job(options: &str) -> String {
        format!("[global]\nioengine=libaio\ndirect=1\nsize=1g\n{options}\n")
    }

    #[test]
    fn what_was_measured_is_not_named() {
        assert_eq!(unseen(&job("[a]\nrw=randread\nbs=4k")), Vec::<String>::new());
        assert_eq!(unseen(&job("[a]\nrw=randread\nbs=4k\nnumjobs=2\niodepth=2")), Vec::<String>::new());
    }

    #[test]
    fn workers_side_by_side_add_up_and_stages_do_not() {
        let two = "[a]\nrw=randread\nbs=4k\niodepth=4\n[b]\nrw=randread\nbs=4k\niodepth=4";
        assert_eq!(unseen(&job(two)), ["depth 8, beyond the seen 4"]);
        assert_eq!(unseen(&job(&format!("{two}\nstonewall"))), Vec::<String>::new());
    }

    #[test]
    fn readers_beside_writers_and_parts_of_a_pattern_are_named() {
        let beside = "[a]\nrw=randread\nbs=4k\niodepth=2\n[b]\nrw=randwrite\nbs=4k\niodepth=2";
        assert_eq!(unseen(&job(beside)), ["writes"]);
        assert_eq!(
            unseen(&job("[a]\nrw=randread\nbs=4k\npercentage_random=50")),
            ["sequential reads"],
            "a half in sequence"
        );
        assert_eq!(unseen(&job("[a]\nrw=randread\nbssplit=4k/50:64k/50")), ["blocks of 64 KiB, beyond the seen 4 KiB"]);
        assert_eq!(unseen(&job("[a]\nrw=randwrite\nbs=4k\nfsync=1")), ["writes", "flushes"]);
    }
}
