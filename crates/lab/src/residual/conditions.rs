//! What a measured job did, and what the modelled drive could do for it: the figures with which suspicions calculate.

use seekwise_disk::block::{Queuing, SECTOR};
use seekwise_disk::drive::mechanics::Arm;
use seekwise_disk::drive::profile::Profile;
use seekwise_disk::time::Span;
use seekwise_run::work::Work;
use seekwise_work::workload::{BlockSizes, Direction, FioPattern, Pace, Pattern, Worker};

use crate::catalogue::curves::sustained_mb_s;

/// The direction of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOp {
    Read,
    Write,
    Mixed,
}

/// The order of a job's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOrder {
    Random,
    Sequential,
    /// Partly random.
    Mixed,
}

/// Conditions of a measured job, and figures of the modelled drive for them.
#[derive(Clone, Debug, PartialEq)]
pub struct JobConditions {
    pub op: JobOp,
    pub order: JobOrder,
    pub block_bytes: u64,
    /// Requests in flight, of all its workers together.
    pub depth: u32,
    /// True if the job covers the whole drive: it names no `size` or `offset`.
    pub is_whole_drive: bool,
    /// True if the job waits for syncs between its writes, or writes through.
    pub is_synced: bool,
    /// The state of the drive's write cache.
    pub write_cache: bool,
    /// Commands that the drive queues; 1 without a queue.
    pub drive_depth: u32,
    pub revolution_ms: f64,
    /// Mean time of the arm between two random places of the job; of writes with their settling.
    pub mean_seek_ms: f64,
    /// The rate of the medium where the job begins.
    pub medium_mb_s: f64,
    /// The rate of the drive's link, in the direction of the job.
    pub link_mb_s: f64,
}

impl JobConditions {
    /// The conditions of `work` on the drive of `profile`; `None` for work that no rule covers: anything but a closed loop of fio's requests
    /// of one size, straight to the drive.
    pub fn new(profile: &Profile, work: &Work) -> Option<JobConditions> {
        let Work::Job(job) = work else { return None };
        let first = job.workers.first()?;
        let fio = closed_loop_pattern(first)?;
        let is_alike = |worker: &Worker| {
            let alike = |other: &FioPattern| {
                (other.direction, other.random, &other.blocks) == (fio.direction, fio.random, &fio.blocks)
            };
            closed_loop_pattern(worker).is_some_and(alike)
        };
        if !job.workers.iter().all(is_alike) {
            return None;
        }
        let (op, random) = match fio.direction {
            Direction::Read => (JobOp::Read, fio.random[0]),
            Direction::Write => (JobOp::Write, fio.random[1]),
            Direction::Mixed => (JobOp::Mixed, fio.random[0]),
            Direction::Trim | Direction::TrimWrite => return None,
        };
        let is_write = op == JobOp::Write;
        let BlockSizes::Fixed(block_bytes) = fio.blocks[usize::from(is_write)] else { return None };
        let (first_byte, end_byte) = used_bytes(&job.workers)?;
        let drive_sectors = profile.geometry.sectors();
        let (first_lba, end_lba) = (first_byte / SECTOR, (end_byte / SECTOR).min(drive_sectors));
        if first_lba >= end_lba {
            return None;
        }
        let rate = if is_write { profile.link.write_rate } else { profile.link.rate };
        Some(JobConditions {
            op,
            order: match random {
                0 => JobOrder::Sequential,
                100 => JobOrder::Random,
                _ => JobOrder::Mixed,
            },
            block_bytes,
            depth: job.workers.iter().map(|worker| worker.depth).sum(),
            is_whole_drive: (end_lba - first_lba) as f64 >= WHOLE * drive_sectors as f64,
            is_synced: fio.syncs.has_any() || fio.write_through,
            write_cache: profile.cache.write_back,
            drive_depth: if profile.link.queuing == Queuing::None { 1 } else { profile.firmware.depth },
            revolution_ms: milliseconds(profile.mechanics.revolution()),
            mean_seek_ms: mean_seek_ms(profile, first_lba, end_lba, is_write),
            medium_mb_s: sustained_mb_s(profile, first_lba, end_lba, is_write),
            link_mb_s: rate as f64 / 1e6,
        })
    }

    /// True for random requests of this direction without syncs.
    pub(crate) fn is_random(&self, op: JobOp) -> bool {
        (self.op, self.order, self.is_synced) == (op, JobOrder::Random, false)
    }

    /// True for sequential requests of this direction without syncs.
    pub(crate) fn is_sequential(&self, op: JobOp) -> bool {
        (self.op, self.order, self.is_synced) == (op, JobOrder::Sequential, false)
    }

    /// Turns of the platter a second.
    pub(crate) fn turns_per_s(&self) -> f64 {
        1e3 / self.revolution_ms
    }
}

/// The share of a drive from which on a job covers all of it: fio leaves out a last part that is no whole block.
const WHOLE: f64 = 0.99;

/// fio's pattern of a worker that issues as soon as it may; a paced worker has the rate that it was given.
fn closed_loop_pattern(worker: &Worker) -> Option<&FioPattern> {
    match &worker.pattern {
        Pattern::Fio(fio) if worker.pace == Pace::default() => Some(fio),
        _ => None,
    }
}

/// The first byte that any worker may touch, and the byte after the last.
fn used_bytes(workers: &[Worker]) -> Option<(u64, u64)> {
    let files = || workers.iter().filter_map(closed_loop_pattern).flat_map(|fio| &fio.files);
    let first = files().map(|file| file.start).min()?;
    files().map(|file| file.start.saturating_add(file.bytes)).max().map(|end| (first, end))
}

fn milliseconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e6
}

/// Places between which the mean seek is taken: with so many the mean of all pairs is within 1 % of that of all places.
const PLACES: u64 = 200;

/// The golden section keeps the places out of step with tracks.
const GOLDEN: f64 = 0.618_033_988_749_895;

fn mean_seek_ms(profile: &Profile, first_lba: u64, end_lba: u64, write: bool) -> f64 {
    let width = (end_lba - first_lba) as f64 / PLACES as f64;
    let place = |index: u64| {
        let lba = first_lba + ((index as f64 + (index as f64 * GOLDEN).fract()) * width) as u64;
        profile.geometry.extent(lba.min(end_lba - 1), 1).cylinder_and_head()
    };
    let places: Vec<(u32, u8)> = (0..PLACES).map(place).collect();
    let mechanics = &profile.mechanics;
    let mut sum = 0.0;
    for &(cylinder, head) in &places {
        let arm = Arm { cylinder, head };
        for &(to_cylinder, to_head) in &places {
            let movement = mechanics.movement_time(arm, to_cylinder, to_head, write);
            let settle = if write { mechanics.extra_write_time(movement) } else { Span::ZERO };
            sum += milliseconds(movement + settle);
        }
    }
    sum / (PLACES * PLACES) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    #[test]
    fn the_mean_seek_of_a_drive_is_that_of_its_datasheet_and_shorter_within_a_part() {
        let profile = catalogue::load_drive("barracuda-7200.7-ncq").unwrap().profile().unwrap();
        let sectors = profile.geometry.sectors();
        let whole = mean_seek_ms(&profile, 0, sectors, false);
        let average = milliseconds(profile.mechanics.seek().mean_time());
        // Outer tracks hold more sectors, so random sectors lie a little closer together than random cylinders.
        assert!((whole / average - 1.0).abs() < 0.06, "{whole} {average}");
        assert!(mean_seek_ms(&profile, 0, sectors / 10, false) < 0.7 * whole);
        assert!(mean_seek_ms(&profile, 0, sectors, true) > whole);
    }
}
