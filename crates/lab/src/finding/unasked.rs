//! Why a change of settings changed nothing: what the job would have had to ask for, and did not. This is told from the records and
//! the settings alone, as all findings are.

use super::Evidence;
use crate::provenance::differences;

impl Evidence<'_> {
    /// Why two cells of different settings are the same run; `None` if they are not.
    pub(super) fn unasked(&self, from: usize, to: usize) -> Option<String> {
        let alike = self.alike();
        let differ = differences(self.made.settings(from), self.made.settings(to));
        if alike[from] != alike[to] || differ.is_empty() || self.runs(from).is_empty() {
            return None;
        }
        let said = differ.iter().find_map(|key| self.reason(key, from, to));
        let rest = || {
            format!("this job asks for nothing that {} changes: all runs are equal to the nanosecond", named(&differ))
        };
        Some(said.unwrap_or_else(rest))
    }

    /// Why a difference in `key` cannot matter to the runs of these cells.
    fn reason(&self, key: &str, from: usize, to: usize) -> Option<String> {
        let count = |of: fn(&crate::run::RunRecord) -> u64| self.runs(from).iter().map(|run| of(run)).sum::<u64>();
        let (reads, writes, flushes) =
            (count(|run| run.read.ios), count(|run| run.write.ios), count(|run| run.flush.ios));
        let below = |roots: &[&str]| {
            roots.iter().any(|root| key.strip_prefix(root).is_some_and(|it| it.is_empty() || it.starts_with('.')))
        };
        let in_flight = self.in_flight(from).filter(|depth| self.in_flight(to) == Some(*depth));
        if writes == 0 && below(&WRITES) {
            return Some("the job writes nothing, so a cache of writes cannot matter".to_owned());
        }
        if flushes == 0 && below(&FLUSHES) {
            return Some("the job flushes nothing, so what becomes of a flush cannot matter".to_owned());
        }
        if reads == 0 && below(&READS) {
            return Some("the job reads nothing, so reading ahead cannot matter".to_owned());
        }
        let requests = |count: u64| if count == 1 { "one request".to_owned() } else { format!("{count} requests") };
        if let Some(depth) = in_flight.filter(|_| below(&DEPTHS)) {
            let value =
                |cell: usize| self.made.setting(cell, key).and_then(|setting| setting.value.parse::<u64>().ok());
            let all = [from, to].into_iter().all(|cell| value(cell).is_some_and(|limit| limit >= depth));
            return all
                .then(|| format!("the job has at most {} in flight, and both sides take as many", requests(depth)));
        }
        let sorts = key.contains(".queue.") || key.contains(".destage.");
        (sorts && in_flight == Some(1)).then(|| "one request in flight leaves nothing to sort".to_owned())
    }

    /// How many requests the workers of a cell's job have in flight at most, all together; `None` if the job does not say.
    fn in_flight(&self, cell: usize) -> Option<u64> {
        let value = |key: &str| self.made.setting(cell, key).map(|setting| setting.value.as_str());
        let (depth, workers) = (value("job.depth")?, value("job.workers.count")?.parse::<u64>().ok()?);
        // `32`, or `1 (4 workers), 32`.
        let part = |text: &str| {
            let (depth, count) = text.split_once(" (").map_or((text, "1"), |(depth, rest)| (depth, rest));
            let count = count.split(' ').next()?.parse::<u64>().ok()?;
            Some(depth.parse::<u64>().ok()?.saturating_mul(count))
        };
        match depth.parse::<u64>() {
            Ok(each) => Some(each.saturating_mul(workers)),
            Err(_) => depth.split(", ").map(part).sum(),
        }
    }
}

/// Settings that only writes ask for.
const WRITES: [&str; 8] = [
    "drive.cache.write_back",
    "drive.cache.dirty_percent",
    "drive.cache.destage_idle_ms",
    "drive.cache.destage_age_ms",
    "drive.firmware.destage",
    "drive.cache.flash_kib",
    "drive.power.protected",
    "driver.write_through",
];

/// Settings that only flushes ask for.
const FLUSHES: [&str; 3] = ["driver.flush", "accelerator.flush", "drive.overhead.flush_ms"];

/// Settings that only reads ask for.
const READS: [&str; 2] = ["drive.cache.read_ahead", "accelerator.read_ahead_kib"];

/// Limits of commands in flight.
const DEPTHS: [&str; 4] = ["drive.firmware.depth", "driver.depth", "driver.capacity", "controller.depth"];

/// The first of some keys, and how many more.
fn named(keys: &[String]) -> String {
    match keys {
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
        [] => String::new(),
    }
}
