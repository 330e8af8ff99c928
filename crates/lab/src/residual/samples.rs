//! Jobs for the tests of the rules: on a drive of 7200 rpm with an average seek of 8 ms, a queue of 32 and a medium of 200 MB/s.

use super::conditions::{JobConditions, JobOp, JobOrder};
use super::{FigureResidual, JobResidual};

/// A name, the measured value, the predicted one.
pub(super) type Sample<'a> = (&'a str, f64, f64);

/// A revolution at 7200 rpm.
pub(super) const TURN_MS: f64 = 60_000.0 / 7200.0;

/// A job of this direction and order, block size and depth.
pub(super) fn job(op: JobOp, order: JobOrder, (block_bytes, depth): (u64, u32), figures: &[Sample<'_>]) -> JobResidual {
    let figure = |&(name, measured, predicted): &Sample<'_>| FigureResidual {
        figure: name.to_owned(),
        measured,
        predicted,
        error: 0.005,
    };
    JobResidual {
        job: format!("{op:?} {order:?} {block_bytes}, depth {depth}"),
        file: "a.json".to_owned(),
        figures: figures.iter().map(figure).collect(),
        conditions: Some(JobConditions {
            op,
            order,
            block_bytes,
            depth,
            is_whole_drive: true,
            is_synced: false,
            write_cache: true,
            drive_depth: 32,
            revolution_ms: TURN_MS,
            mean_seek_ms: 8.0,
            medium_mb_s: 200.0,
            link_mb_s: 300.0,
        }),
    }
}

/// Random reads of 4 KiB at depth 1.
pub(super) fn lone_reads(figures: &[Sample<'_>]) -> JobResidual {
    job(JobOp::Read, JobOrder::Random, (4096, 1), figures)
}

/// Random reads of 4 KiB at a depth, with a measured and a predicted rate.
pub(super) fn reads_at_depth(depth: u32, measured: f64, predicted: f64) -> JobResidual {
    job(JobOp::Read, JobOrder::Random, (4096, depth), &[("iops", measured, predicted)])
}

/// Sequential reads with a measured and a predicted rate in MB/s.
pub(super) fn stream(block_bytes: u64, measured: f64, predicted: f64) -> JobResidual {
    let rate = |mb_s: f64| mb_s * 1e6 / block_bytes as f64;
    job(JobOp::Read, JobOrder::Sequential, (block_bytes, 1), &[("iops", rate(measured), rate(predicted))])
}

/// Random writes of 4 KiB at depth 1 with a measured and a predicted rate, and the cache on or off.
pub(super) fn lone_writes(measured: f64, predicted: f64, write_cache: bool) -> JobResidual {
    let mut writes = job(JobOp::Write, JobOrder::Random, (4096, 1), &[("iops", measured, predicted)]);
    let ms = |rate: f64| 1e3 / rate;
    writes.figures.push(FigureResidual {
        figure: "mean".to_owned(),
        measured: ms(measured),
        predicted: ms(predicted),
        error: 0.005,
    });
    if let Some(conditions) = &mut writes.conditions {
        conditions.write_cache = write_cache;
    }
    writes
}
