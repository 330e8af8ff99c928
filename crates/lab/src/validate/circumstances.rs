//! Finds which requests of a measured trace the simulated drive answers too fast or too slowly, and their common properties: their kind,
//! their address, and the requests before them.
//!
//! Every request belongs to one circumstance. The requests of a circumstance are off together if the mean of simulated less measured times
//! is farther from zero than chance moves it. The platter's phase differs between the two replays (see `docs/validation.md`), so a single
//! request says nothing, and the mean of many does. Nothing is changed or fitted here.
//!
//! A parameter that an import lists as not modelled is named with each circumstance that it concerns. Whether it is the cause, is not shown.

use seekwise_disk::block::Op;
use seekwise_disk::time::Span;
use seekwise_drives::profile::not_modelled::ForeignParameter;
use seekwise_work::workload::replay::ReplayRow;

use super::ResponseSamples;
use crate::stats::demerit::demerit_ms;

/// Number of earlier requests that may matter to a request: more than the segments of the smallest traced buffers (1 to 3), and so few that
/// large buffers still hold their data.
const BEFORE: usize = 5;

/// Blocks within which a request is near the one before: a segment of a buffer of the traced drives (57 to 561 blocks).
const NEAR: u64 = 512;

/// Standard errors beyond which a mean is off. There are some forty circumstances; the probability that any of them exceeds four by chance
/// is 40 x 0.00006, or a quarter of a per cent.
const SURE: f64 = 4.0;

/// The least difference that matters, as a share of the measured mean: profiles meet means to about that.
const SLIGHT: f64 = 0.01;

/// The fewest requests of which a mean and its error are meaningful.
const FEWEST: usize = 8;

/// The relation of a request to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRelation {
    /// All its blocks were written by one of the last few.
    WrittenBefore,
    /// All its blocks were read by one of the last few.
    ReadBefore,
    /// Some of its blocks, but not all, were read or written by one of the last few.
    Overlaps,
    /// Begins where the last one ended, a read.
    ContinuesRead,
    /// Begins where the last one ended, a write.
    ContinuesWrite,
    /// Begins up to `NEAR` blocks behind the end of the last.
    Behind,
    /// Begins up to `NEAR` blocks before the last.
    Ahead,
    /// At most so many per cent of the trace's addresses away.
    Within(u32),
    /// Farther away than so many per cent.
    Beyond(u32),
}

/// The common properties of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circumstance {
    pub read: bool,
    pub relation: RequestRelation,
    /// True if the last request was a read; nothing if the relation says so already, or for the first request.
    pub after_read: Option<bool>,
}

/// Requests in the same circumstance that are off together.
#[derive(Clone, Debug, PartialEq)]
pub struct OffRequests {
    pub circumstance: Circumstance,
    /// Indexes of the requests in the trace, from 0.
    pub rows: Vec<usize>,
    pub mean_measured_ms: f64,
    pub mean_simulated_ms: f64,
    /// The standard error of the mean of the differences.
    pub standard_error_ms: f64,
    /// The demerit of all other requests.
    pub demerit_without_ms: f64,
}

impl OffRequests {
    /// Simulated less measured mean: above zero the simulated drive is too slow.
    pub fn off_ms(&self) -> f64 {
        self.mean_simulated_ms - self.mean_measured_ms
    }

    /// The finding as a sentence, for a trace of so many requests.
    pub fn sentence(&self, request_count: usize) -> String {
        let side = if self.off_ms() > 0.0 { "slow" } else { "fast" };
        let (n, what, off) = (self.rows.len(), self.circumstance.words(), self.off_ms().abs());
        format!("{n} of {request_count} requests: {what}, {off:.3} ms too {side}")
    }
}

impl Circumstance {
    /// The circumstance of row `index`; `trace_end` is the block after the last of the trace.
    fn from_row(rows: &[ReplayRow], index: usize, trace_end: u64) -> Circumstance {
        let row = &rows[index];
        let read = row.op == Op::Read;
        let (lba, end) = (row.lba, row_end(row));
        let overlaps = |other: &&ReplayRow| other.lba < end && lba < row_end(other);
        let without_last = |relation| Circumstance { read, relation, after_read: None };
        if let Some(other) = rows[index.saturating_sub(BEFORE)..index].iter().rev().find(overlaps) {
            return without_last(match other.lba <= lba && end <= row_end(other) {
                true if other.op == Op::Read => RequestRelation::ReadBefore,
                true => RequestRelation::WrittenBefore,
                false => RequestRelation::Overlaps,
            });
        }
        let Some(last) = index.checked_sub(1).map(|last| &rows[last]) else {
            return without_last(RequestRelation::Within(1));
        };
        let (last_end, after_read) = (row_end(last), last.op == Op::Read);
        let relation = match lba.abs_diff(last_end) {
            0 if after_read => return without_last(RequestRelation::ContinuesRead),
            0 => return without_last(RequestRelation::ContinuesWrite),
            near if lba > last_end && near <= NEAR => RequestRelation::Behind,
            _ if lba < last.lba && last.lba - lba <= NEAR => RequestRelation::Ahead,
            far => distance_relation(far, trace_end),
        };
        Circumstance { read, relation, after_read: Some(after_read) }
    }

    /// The requests in words.
    pub fn words(&self) -> String {
        let kind = if self.read { "reads" } else { "writes" };
        let place = match self.relation {
            RequestRelation::WrittenBefore => format!(" of blocks written by one of the {BEFORE} requests before"),
            RequestRelation::ReadBefore => format!(" of blocks read by one of the {BEFORE} requests before"),
            RequestRelation::Overlaps => format!(" of blocks some of which one of the {BEFORE} requests before had"),
            RequestRelation::ContinuesRead => " that begin where the last request, a read, ended".to_owned(),
            RequestRelation::ContinuesWrite => " that begin where the last request, a write, ended".to_owned(),
            RequestRelation::Behind => format!(" that begin up to {NEAR} blocks behind the last request"),
            RequestRelation::Ahead => format!(" that begin up to {NEAR} blocks before the last request"),
            RequestRelation::Within(percent) => {
                format!(" up to {percent} % of the addresses away from the last request")
            }
            RequestRelation::Beyond(percent) => {
                format!(" over {percent} % of the addresses away from the last request")
            }
        };
        let after = match self.after_read {
            Some(true) => ", a read",
            Some(false) => ", a write",
            None => "",
        };
        format!("{kind}{place}{after}")
    }

    /// Keys of a profile that decide the times of such requests.
    pub fn profile_keys(&self) -> &'static str {
        use RequestRelation::{
            Ahead, Behind, Beyond, ContinuesRead, ContinuesWrite, Overlaps, ReadBefore, Within, WrittenBefore,
        };
        match (self.read, self.relation) {
            (true, WrittenBefore) => "cache.written_hits, cache.writes_apart, cache.segments",
            (true, ReadBefore | Overlaps) => "cache.read_ahead.over_requested, cache.segments, overhead.read_hit_ms",
            (true, ContinuesRead) => "cache.read_ahead, overhead.read_hit_ms",
            (true, ContinuesWrite) => "overhead.read_miss_after_write_ms, cache.written_hits",
            (true, Behind) => "cache.read_ahead.max_sectors, cache.read_ahead.until, mechanics.seek",
            (true, Ahead) => "cache.read_ahead.free_blocks, cache.read_ahead.over_requested",
            (true, Within(_) | Beyond(_)) => "mechanics.seek, overhead.read_miss_ms",
            (false, WrittenBefore | ReadBefore | Overlaps) => "cache.write_back, overhead.write_hit_ms",
            (false, ContinuesRead | ContinuesWrite) => "overhead.write_hit_after_write_ms, cache.fills_while_draining",
            (false, _) => "mechanics.seek, mechanics.write_settle_ms, overhead.write_miss_ms, cache.dirty_percent",
        }
    }

    /// DiskSim's parameters that concern such requests.
    fn disksim_parameters(&self) -> &'static [&'static str] {
        use RequestRelation::{Beyond, Within, WrittenBefore};
        match (self.read, self.relation) {
            (true, WrittenBefore) => &[
                "Allow read hits on write data",
                "Use separate write segment",
                "Enable caching in buffer",
                "Allow sneaky full read hits",
            ],
            (true, Within(_) | Beyond(_)) => MEDIUM,
            (true, _) => &[
                "Allow almost read hits",
                "Allow sneaky full read hits",
                "Allow sneaky partial read hits",
                "Enable caching in buffer",
                "Read-ahead on idle hit",
                "Stop prefetch in sector",
                "Write hit stop prefetch",
                "Read directly to buffer",
                "Immed transfer partial hit",
            ],
            (false, _) => &[
                "Allow write prebuffering",
                "Combine seq writes",
                "Immediate buffer write",
                "Low (write) water mark",
                "Disconnect write if seek",
                "Write disconnect overhead",
                "Extra write disconnect",
                "Extradisc command overhead",
                "Extradisc disconnect overhead",
                "Extradisc inter-disconnect delay",
                "Extradisc 2nd disconnect overhead",
                "Extradisc seek delta",
                "Use separate write segment",
                "Preseeking level",
                "Constant access time",
            ],
        }
    }

    /// The parameters of `not_modelled` that concern such requests.
    pub fn parameters_of_concern<'a>(
        &self,
        not_modelled: &'a [ForeignParameter],
    ) -> impl Iterator<Item = &'a ForeignParameter> {
        let parameters = self.disksim_parameters();
        not_modelled.iter().filter(move |parameter| parameters.contains(&parameter.key.as_str()))
    }
}

/// Parameters that concern requests that go to the medium.
const MEDIUM: &[&str] = &[
    "Preseeking level",
    "Constant access time",
    "Other reselect overhead",
    "Read disconnect afterread",
    "Read disconnect afterwrite",
    "Arbitration time",
    "Set watermark by reqsize",
];

/// The block after a request.
fn row_end(row: &ReplayRow) -> u64 {
    row.lba + u64::from(row.sectors)
}

/// The relation by distance, at shares of the trace's blocks between which seek curves bend. A third is the mean of random distances.
fn distance_relation(distance: u64, trace_end: u64) -> RequestRelation {
    let is_within = |percent: u64| u128::from(distance) * 100 <= u128::from(trace_end) * u128::from(percent);
    match [1, 10, 33].into_iter().find(|&percent| is_within(percent)) {
        Some(percent) => RequestRelation::Within(percent as u32),
        None => RequestRelation::Beyond(33),
    }
}

/// The groups of requests that are off together; the group with the largest sum of differences comes first.
pub fn find_off_requests(rows: &[ReplayRow], samples: &ResponseSamples) -> Vec<OffRequests> {
    let trace_end = rows.iter().map(row_end).max().unwrap_or(0);
    let mut groups: Vec<(Circumstance, Vec<usize>)> = Vec::new();
    for index in 0..rows.len() {
        let circumstance = Circumstance::from_row(rows, index, trace_end);
        match groups.iter_mut().find(|group| group.0 == circumstance) {
            Some(group) => group.1.push(index),
            None => groups.push((circumstance, vec![index])),
        }
    }
    let judged = groups.into_iter().map(|(circumstance, rows)| judge_group(circumstance, rows, samples));
    let mut found: Vec<OffRequests> = judged.flatten().collect();
    let weight = |off: &OffRequests| off.off_ms().abs() * off.rows.len() as f64;
    found.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    found
}

/// The finding on the requests of a circumstance; `None` if they are not off by more than chance.
fn judge_group(circumstance: Circumstance, rows: Vec<usize>, samples: &ResponseSamples) -> Option<OffRequests> {
    if rows.len() < FEWEST {
        return None;
    }
    let ms = |time: Span| time.nanos() as f64 / 1e6;
    let n = rows.len() as f64;
    let mean = |value: &dyn Fn(usize) -> f64| rows.iter().map(|&row| value(row)).sum::<f64>() / n;
    let difference = |row: usize| ms(samples.simulated[row]) - ms(samples.measured[row]);
    let off_ms = mean(&difference);
    let variance = mean(&|row| (difference(row) - off_ms).powi(2)) * n / (n - 1.0);
    let standard_error_ms = (variance / n).sqrt();
    let mean_measured_ms = mean(&|row| ms(samples.measured[row]));
    if off_ms.abs() <= SURE * standard_error_ms || off_ms.abs() < SLIGHT * mean_measured_ms {
        return None;
    }
    let times_of_others = |times: &[Span]| {
        let mut chosen = rows.iter().copied().peekable();
        let others = times.iter().enumerate().filter(|(row, _)| chosen.next_if_eq(row).is_none());
        others.map(|(_, time)| *time).collect::<Vec<_>>()
    };
    let (mut measured, mut simulated) = (times_of_others(&samples.measured), times_of_others(&samples.simulated));
    let demerit_without_ms = if measured.is_empty() { 0.0 } else { demerit_ms(&mut measured, &mut simulated) };
    Some(OffRequests {
        circumstance,
        mean_measured_ms,
        mean_simulated_ms: mean(&|row| ms(samples.simulated[row])),
        standard_error_ms,
        demerit_without_ms,
        rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(op: Op, lba: u64, sectors: u32) -> ReplayRow {
        ReplayRow { op, lba, sectors, arrival: Span::ZERO, think: Span::ZERO }
    }

    fn words(rows: &[ReplayRow]) -> Vec<String> {
        (0..rows.len()).map(|index| Circumstance::from_row(rows, index, 100_000).words()).collect()
    }

    #[test]
    fn a_request_is_told_by_what_came_before() {
        let rows = [
            row(Op::Write, 50_000, 8),
            row(Op::Read, 50_002, 4),
            row(Op::Read, 50_006, 4),
            row(Op::Read, 50_010, 8),
            row(Op::Read, 50_008, 2),
            row(Op::Read, 50_100, 8),
            row(Op::Write, 50_090, 2),
            row(Op::Read, 50_092, 2),
            row(Op::Write, 90_000, 8),
            row(Op::Write, 90_900, 8),
        ];
        let found = words(&rows);
        let expected = [
            "reads of blocks written by one of the 5 requests before",
            "reads of blocks some of which one of the 5 requests before had",
            "reads that begin where the last request, a read, ended",
            "reads of blocks read by one of the 5 requests before",
            "reads that begin up to 512 blocks behind the last request, a read",
            "writes that begin up to 512 blocks before the last request, a read",
            "reads that begin where the last request, a write, ended",
            "writes over 33 % of the addresses away from the last request, a read",
            "writes up to 1 % of the addresses away from the last request, a write",
        ];
        assert_eq!(found[1..], expected);
    }

    /// A thousand far reads, of which every tenth goes before a write and a read of what was written; those `wrong_ms` too fast.
    fn trace(wrong_ms: u64) -> (Vec<ReplayRow>, ResponseSamples) {
        let (mut rows, mut samples) = (Vec::new(), ResponseSamples::default());
        let mut add = |row: ReplayRow, measured: u64, simulated: u64| {
            samples.read.push(row.op == Op::Read);
            samples.measured.push(Span::from_micros(measured));
            samples.simulated.push(Span::from_micros(simulated));
            rows.push(row);
        };
        for index in 0..1000u64 {
            let lba = index * 7919 % 100_000 * 10;
            // Phases that are not those of the measurement, 5 ms wide, the same in sum.
            let phase = |step: u64| 5000 + index * step % 1000 * 5;
            add(row(Op::Read, lba, 8), phase(37), phase(91));
            if index % 10 == 0 {
                add(row(Op::Write, lba + 20, 8), 900, 900);
                add(row(Op::Read, lba + 22, 2), 600 + 1000 * wrong_ms + index % 7, 600 + index % 3);
            }
        }
        (rows, samples)
    }

    #[test]
    fn what_is_off_together_is_found_with_its_number() {
        let (rows, samples) = trace(4);
        let found = find_off_requests(&rows, &samples);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].sentence(rows.len()),
            "100 of 1200 requests: reads of blocks written by one of the 5 requests before, 4.002 ms too fast"
        );
        let errors = samples.to_validation();
        assert!(errors.all.demerit_ms > 0.5 && found[0].demerit_without_ms < 0.1, "{errors:?} {found:?}");
    }

    /// A hundred requests 4 ms too fast weigh more than ten 20 ms too slow, and less than ten 50 ms too slow.
    #[test]
    fn what_is_off_by_most_in_sum_comes_first() {
        let found = |slow_ms: u64| {
            let (mut rows, mut samples) = (Vec::new(), ResponseSamples::default());
            let mut add = |row: ReplayRow, measured: u64, simulated: u64| {
                samples.read.push(row.op == Op::Read);
                samples.measured.push(Span::from_millis(measured));
                samples.simulated.push(Span::from_millis(simulated));
                rows.push(row);
            };
            for index in 0..100u64 {
                let lba = index * 7919 % 100_000 * 10;
                add(row(Op::Read, lba, 8), 5, 5);
                add(row(Op::Write, lba + 20, 8), 1, 1);
                add(row(Op::Read, lba + 22, 6), 5, 1);
                if index % 10 == 0 {
                    // From where the last read ended, and what was written.
                    add(row(Op::Read, lba + 28, 4), 2, 2 + slow_ms);
                }
            }
            let found = find_off_requests(&rows, &samples);
            found.iter().map(|off| off.sentence(rows.len())).collect::<Vec<_>>()
        };
        let written = "100 of 310 requests: reads of blocks written by one of the 5 requests before, 4.000 ms too fast";
        let continued = |by: u64| {
            format!("10 of 310 requests: reads that begin where the last request, a read, ended, {by}.000 ms too slow")
        };
        assert_eq!(found(20), [written.to_owned(), continued(20)]);
        assert_eq!(found(50), [continued(50), written.to_owned()]);
    }

    #[test]
    fn phases_alone_are_not_off() {
        let (rows, samples) = trace(0);
        assert_eq!(find_off_requests(&rows, &samples), []);
    }

    #[test]
    fn what_an_import_left_is_named_where_it_concerns_them() {
        let left = ["Preseeking level", "Allow read hits on write data"]
            .map(|key| ForeignParameter { key: key.to_owned(), says: "0".to_owned() });
        let of = |read, relation| {
            let circumstance = Circumstance { read, relation, after_read: None };
            circumstance.parameters_of_concern(&left).map(|one| one.key.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(true, RequestRelation::WrittenBefore), ["Allow read hits on write data"]);
        assert_eq!(of(true, RequestRelation::Beyond(33)), ["Preseeking level"]);
        assert!(of(true, RequestRelation::ContinuesRead).is_empty());
    }
}
