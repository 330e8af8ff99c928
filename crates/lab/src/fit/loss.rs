//! The error of simulated response times against measured ones, as one figure without a unit.
//!
//! Requests are in groups: all; reads and writes; of each direction those near the last requests (which show read-ahead and the buffer) and
//! those far from them (which show the arm), after a read and after a write separately. A group adds two errors, as shares of its own
//! measured mean:
//!
//! - its demerit, the distance of the two distributions;
//! - its paired error, the mean distance of a request's two times. A distance counts as a quarter of a revolution at most: times further
//!   apart belong to different revolutions, and their distance means nothing.
//!
//! So opposite errors of two groups add up and cannot cancel. In a closed loop each access to the platter sets the phase anew, on the real
//! drive as here, so that a request's two times have the same phase.
//!
//! Every sum can be taken over blocks of requests that count several times or not at all: resampling.

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;
use seekwise_work::workload::replay::ReplayRow;

use super::data::LossAndDraws;

/// The weight of a paired error relative to a demerit. A profile is judged by its demerit. Single requests scatter
/// several times further than their distributions do (by whole revolutions, if one just misses its sector), and would
/// outweigh it, though they separate figures that distributions do not.
const PAIRED: f64 = 0.25;

/// The fewest requests of a group: fewer say nothing about a distribution.
pub const FEWEST: usize = 30;

/// The number of blocks of neighbouring requests into which a part of a trace is divided for resampling.
pub const BLOCKS: usize = 50;

/// The names of the groups of all reads and of all writes.
pub(crate) const READS: &str = "reads";
pub(crate) const WRITES: &str = "writes";

/// The number of earlier requests that a request is compared with to tell whether it is near.
const BEFORE: usize = 8;

/// Sectors after the end of an earlier request within which a request is near, about as many as a segment of the buffer could hold.
const BEHIND: u64 = 128;

/// A group of requests.
#[derive(Clone, Debug)]
struct RequestGroup {
    /// The requests in words.
    name: String,
    weight: f64,
    mean_measured_ns: f64,
    /// Indices of requests, in the trace's order.
    rows: Vec<u32>,
    /// Indices of requests, from the shortest to the longest measured time.
    sorted: Vec<u32>,
}

/// Measured requests, ready for comparison with simulated ones.
#[derive(Clone, Debug)]
pub(crate) struct MeasuredRequests {
    measured_ns: Vec<u64>,
    groups: Vec<RequestGroup>,
}

/// The error of one group.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GroupError {
    /// The requests in words.
    pub name: String,
    pub measured_ms: f64,
    pub simulated_ms: f64,
    /// The standard error of the difference of both means, over blocks.
    pub noise_ms: f64,
    /// The part of the loss that the group adds.
    pub losses: LossAndDraws,
}

/// For each request whether it begins inside one of the requests before it, or shortly after its end.
pub(crate) fn which_are_near_previous(rows: &[ReplayRow]) -> Vec<bool> {
    let is_near =
        |row: &ReplayRow, last: &ReplayRow| (last.lba..=last.lba + u64::from(last.sectors) + BEHIND).contains(&row.lba);
    let earlier = |index: usize| &rows[index.saturating_sub(BEFORE)..index];
    rows.iter().enumerate().map(|(index, row)| earlier(index).iter().any(|last| is_near(row, last))).collect()
}

impl MeasuredRequests {
    /// Prepares the requests `range` of a trace.
    pub fn new(rows: &[ReplayRow], measured: &[Span], range: std::ops::Range<usize>) -> MeasuredRequests {
        let near = which_are_near_previous(rows);
        let select = |belongs: &dyn Fn(usize) -> bool| -> Vec<u32> {
            range.clone().filter(|&row| belongs(row)).map(|row| (row - range.start) as u32).collect()
        };
        let measured_ns: Vec<u64> = measured[range.clone()].iter().map(|time| time.nanos()).collect();
        let mut groups = vec![("all requests".to_owned(), 1.0, select(&|_| true))];
        for (op, op_name) in [(Op::Read, READS), (Op::Write, WRITES)] {
            let of_op = select(&|row| rows[row].op == op);
            let n = of_op.len() as f64;
            groups.push((op_name.to_owned(), 1.0, of_op));
            for (previous, previous_name) in [(Op::Read, "read"), (Op::Write, "write")] {
                for (is_near, near_name) in [(true, "near"), (false, "far from")] {
                    let op_before = |row: usize| if row == 0 { Op::Read } else { rows[row - 1].op };
                    let part = select(&|row| rows[row].op == op && near[row] == is_near && op_before(row) == previous);
                    let name = format!("{op_name} {near_name} the last requests, after a {previous_name}");
                    groups.push((name, part.len() as f64 / n, part));
                }
            }
        }
        groups.retain(|(_, _, rows)| rows.len() >= FEWEST);
        let group = |(name, weight, rows): (String, f64, Vec<u32>)| {
            let sum: u64 = rows.iter().map(|&row| measured_ns[row as usize]).sum();
            let mut sorted = rows.clone();
            sorted.sort_by_key(|&row| (measured_ns[row as usize], row));
            RequestGroup { name, weight, mean_measured_ns: (sum as f64 / rows.len() as f64).max(1.0), rows, sorted }
        };
        let groups = groups.into_iter().map(group).collect();
        MeasuredRequests { measured_ns, groups }
    }

    /// Number of requests.
    pub fn request_count(&self) -> usize {
        self.measured_ns.len()
    }

    /// The block of a request for resampling.
    fn resample_block_of(&self, row: u32) -> usize {
        row as usize * BLOCKS / self.measured_ns.len()
    }

    /// The losses of `simulated` times: with every request once, then with the blocks counted as in each of `draws`. `cap` is
    /// a quarter of a revolution.
    pub fn losses(&self, simulated: &[Span], cap: Span, draws: &[Vec<u32>]) -> LossAndDraws {
        let simulated_ns: Vec<u64> = simulated.iter().map(|time| time.nanos()).collect();
        let mut losses = vec![0.0; 1 + draws.len()];
        for group in &self.groups {
            let group_losses = self.group_losses(group, &simulated_ns, cap, draws);
            losses.iter_mut().zip(group_losses).for_each(|(loss, of_group)| *loss += of_group);
        }
        losses
    }

    /// The errors of the groups of `simulated` times, with the arguments of [`losses`](MeasuredRequests::losses).
    pub fn group_errors(&self, simulated: &[Span], cap: Span, draws: &[Vec<u32>]) -> Vec<GroupError> {
        let simulated_ns: Vec<u64> = simulated.iter().map(|time| time.nanos()).collect();
        let error = |group: &RequestGroup| {
            let sum_ns: u64 = group.rows.iter().map(|&row| simulated_ns[row as usize]).sum();
            GroupError {
                name: group.name.clone(),
                measured_ms: group.mean_measured_ns / 1e6,
                simulated_ms: sum_ns as f64 / group.rows.len() as f64 / 1e6,
                noise_ms: self.mean_difference_noise_ns(group, &simulated_ns) / 1e6,
                losses: self.group_losses(group, &simulated_ns, cap, draws),
            }
        };
        self.groups.iter().map(error).collect()
    }

    /// The standard error of the mean difference between simulated and measured times, from the blocks' sums.
    fn mean_difference_noise_ns(&self, group: &RequestGroup, simulated_ns: &[u64]) -> f64 {
        let mut sums = [(0.0f64, 0.0f64); BLOCKS];
        for &row in &group.rows {
            let (sum, n) = &mut sums[self.resample_block_of(row)];
            *sum += simulated_ns[row as usize] as f64 - self.measured_ns[row as usize] as f64;
            *n += 1.0;
        }
        let (sum, n) = sums.iter().fold((0.0, 0.0), |all, block| (all.0 + block.0, all.1 + block.1));
        let squares: f64 = sums.iter().map(|block| (block.0 - block.1 * sum / n).powi(2)).sum();
        (squares * BLOCKS as f64 / (BLOCKS - 1) as f64).sqrt() / n
    }

    /// The losses of one group, weighted.
    fn group_losses(&self, group: &RequestGroup, simulated_ns: &[u64], cap: Span, draws: &[Vec<u32>]) -> LossAndDraws {
        let mut sorted = group.rows.clone();
        sorted.sort_by_key(|&row| (simulated_ns[row as usize], row));
        let loss = |draw: Option<&Vec<u32>>| {
            let count_of = |row: u32| draw.map_or(1, |draw| u64::from(draw[self.resample_block_of(row)]));
            let paired_ns = self.paired_error_ns(group, simulated_ns, cap.nanos(), count_of);
            let demerit_ns = self.group_demerit_ns(group, &sorted, simulated_ns, count_of);
            group.weight * (PAIRED * paired_ns + demerit_ns) / group.mean_measured_ns
        };
        std::iter::once(None).chain(draws.iter().map(Some)).map(loss).collect()
    }

    /// The mean distance of two times of a request, at most `cap_ns`; a request counts `count_of` times.
    fn paired_error_ns(
        &self,
        group: &RequestGroup,
        simulated_ns: &[u64],
        cap_ns: u64,
        count_of: impl Fn(u32) -> u64,
    ) -> f64 {
        let (mut sum, mut n) = (0u64, 0u64);
        for &row in &group.rows {
            let count = count_of(row);
            sum += count * simulated_ns[row as usize].abs_diff(self.measured_ns[row as usize]).min(cap_ns);
            n += count;
        }
        if n == 0 { 0.0 } else { sum as f64 / n as f64 }
    }

    /// The demerit of a group, whose requests are also sorted by simulated time. Both sides hold the same requests equally often, so their
    /// shares match.
    fn group_demerit_ns(
        &self,
        group: &RequestGroup,
        sorted_by_simulated: &[u32],
        simulated_ns: &[u64],
        count_of: impl Fn(u32) -> u64,
    ) -> f64 {
        let (mut i, mut j) = (0, 0);
        // How often the present request of either side still counts.
        let (mut left_measured, mut left_simulated) = (0u64, 0u64);
        let (mut squares, mut n) = (0.0f64, 0u64);
        loop {
            while left_measured == 0 && i < sorted_by_simulated.len() {
                left_measured = count_of(group.sorted[i]);
                i += 1;
            }
            while left_simulated == 0 && j < sorted_by_simulated.len() {
                left_simulated = count_of(sorted_by_simulated[j]);
                j += 1;
            }
            let both = left_measured.min(left_simulated);
            if both == 0 {
                return if n == 0 { 0.0 } else { (squares / n as f64).sqrt() };
            }
            let (measured, simulated) = (group.sorted[i - 1] as usize, sorted_by_simulated[j - 1] as usize);
            let apart_ns = self.measured_ns[measured].abs_diff(simulated_ns[simulated]) as f64;
            squares += both as f64 * apart_ns * apart_ns;
            n += both;
            left_measured -= both;
            left_simulated -= both;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: Op, lba: u64) -> ReplayRow {
        ReplayRow { op, lba, sectors: 8, arrival: Span::ZERO, think: Span::ZERO }
    }

    fn ms(ms: f64) -> Span {
        Span::from_nanos((ms * 1e6) as u64)
    }

    #[test]
    fn near_is_inside_a_segment_behind_one_of_the_last() {
        let rows = [1000, 5000, 1008, 1136, 1137 + 8, 4999].map(|lba| row(Op::Read, lba));
        assert_eq!(which_are_near_previous(&rows), [false, false, true, true, true, false]);
        let far: Vec<ReplayRow> =
            (0..12).map(|index| row(Op::Read, if index == 11 { 0 } else { index * 10_000 })).collect();
        assert!(!which_are_near_previous(&far)[11]);
    }

    #[test]
    fn opposite_errors_of_reads_and_writes_do_not_hide() {
        let rows: Vec<ReplayRow> =
            (0..200).map(|index| row(if index % 2 == 0 { Op::Read } else { Op::Write }, index * 9_000)).collect();
        let measured = vec![ms(4.0); 200];
        let compared = MeasuredRequests::new(&rows, &measured, 0..200);
        let off = |by: f64| -> Vec<Span> {
            (0..200).map(|index| ms(if index % 2 == 0 { 4.0 + by } else { 4.0 - by })).collect()
        };
        assert_eq!(compared.losses(&measured, ms(2.0), &[]), [0.0]);
        // All, reads and writes, the far ones of each: all writes are after a read, all reads but the first after a
        // write.
        const WEIGHTS: f64 = 3.0 + 0.99 + 1.0;
        // A tenth of each mean, paired and unpaired.
        let loss = compared.losses(&off(0.4), ms(2.0), &[])[0];
        assert!((loss - WEIGHTS * (PAIRED + 1.0) * 0.1).abs() < 1e-9, "{loss}");
        // A paired error ends at a quarter of a revolution, a demerit does not.
        let loss = compared.losses(&off(2.0), ms(1.0), &[])[0];
        assert!((loss - WEIGHTS * (PAIRED * 0.25 + 0.5)).abs() < 1e-9, "{loss}");
    }

    #[test]
    fn a_group_knows_its_means_its_noise_and_its_part_of_the_loss() {
        let rows: Vec<ReplayRow> =
            (0..200).map(|index| row(if index % 2 == 0 { Op::Read } else { Op::Write }, index * 9_000)).collect();
        let measured = vec![ms(2.0); 200];
        let compared = MeasuredRequests::new(&rows, &measured, 0..200);
        // Writes are off by 1 ms, in every other block of four requests by 1.5 ms.
        let simulated: Vec<Span> = (0..200)
            .map(|row| ms([2.0, 3.0][row % 2] + if row % 2 == 1 && row / 4 % 2 == 1 { 0.5 } else { 0.0 }))
            .collect();
        let errors = compared.group_errors(&simulated, ms(2.0), &[vec![1; BLOCKS]]);
        let find = |name: &str| errors.iter().find(|error| error.name == name).expect(name);
        let (reads, writes) = (find(READS), find(WRITES));
        assert_eq!((reads.measured_ms, reads.simulated_ms, reads.noise_ms), (2.0, 2.0, 0.0));
        assert!((writes.simulated_ms - 3.25).abs() < 1e-9);
        // Fifty blocks of two writes that scatter by 0.25 ms: 0.25 over the root of 49.
        assert!((writes.noise_ms - 0.25 / 7.0).abs() < 1e-9, "{}", writes.noise_ms);
        let losses = compared.losses(&simulated, ms(2.0), &[vec![1; BLOCKS]]);
        let sum: f64 = errors.iter().map(|error| error.losses[0]).sum();
        assert!((losses[0] - sum).abs() < 1e-12 && (losses[1] - sum).abs() < 1e-12);
        let far = find("writes far from the last requests, after a read");
        assert!((far.simulated_ms - 3.25).abs() < 1e-9 && reads.losses == [0.0, 0.0]);
    }

    #[test]
    fn a_draw_of_all_blocks_once_is_no_draw_and_blocks_left_out_do_not_count() {
        let rows: Vec<ReplayRow> = (0..100).map(|index| row(Op::Read, index * 9_000)).collect();
        let measured: Vec<Span> = (0..100).map(|index| ms(1.0 + index as f64 * 0.01)).collect();
        let compared = MeasuredRequests::new(&rows, &measured, 0..100);
        let mut simulated = measured.clone();
        simulated[99] = ms(9.0);
        let mut without = vec![1; BLOCKS];
        without[BLOCKS - 1] = 0;
        without[0] = 2;
        let losses = compared.losses(&simulated, ms(2.0), &[vec![1; BLOCKS], without]);
        assert!(losses[0] > 0.01 && (losses[0] - losses[1]).abs() < 1e-12 && losses[2] == 0.0, "{losses:?}");
    }
}
