//! Why a change of settings had no effect: the feature that the job would have had to use, and did not. The records and the settings alone
//! show this, as for all findings.

use seekwise_drives::key_names::{accelerator, controller, drive, driver, is_below, work};

use super::Evidence;
use crate::provenance::differing_keys;

impl Evidence<'_> {
    /// Why two cells of different settings are the same run; `None` if they are not.
    pub(super) fn same_run_reason(&self, from: usize, to: usize) -> Option<String> {
        let alike = self.first_equal_cells();
        let differ = differing_keys(self.made.cell_settings(from), self.made.cell_settings(to));
        if alike[from] != alike[to] || differ.is_empty() || self.cell_runs(from).is_empty() {
            return None;
        }
        let said = differ.iter().find_map(|key| self.key_reason(key, from, to));
        let rest = || {
            format!(
                "this job asks for nothing that {} changes: all runs are equal to the nanosecond",
                summarize_keys(&differ)
            )
        };
        Some(said.unwrap_or_else(rest))
    }

    /// Why a difference in `key` cannot matter to the runs of these cells.
    fn key_reason(&self, key: &str, from: usize, to: usize) -> Option<String> {
        let count = |of: fn(&crate::run::RunRecord) -> u64| self.cell_runs(from).iter().map(|run| of(run)).sum::<u64>();
        let (reads, writes, flushes) =
            (count(|run| run.read.ios), count(|run| run.write.ios), count(|run| run.flush.ios));
        let below = |roots: &[&str]| roots.iter().any(|root| is_below(key, root));
        let in_flight = self.max_in_flight(from).filter(|depth| self.max_in_flight(to) == Some(*depth));
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
                |cell: usize| self.made.find_setting(cell, key).and_then(|setting| setting.value.parse::<u64>().ok());
            let all = [from, to].into_iter().all(|cell| value(cell).is_some_and(|limit| limit >= depth));
            return all
                .then(|| format!("the job has at most {} in flight, and both sides take as many", requests(depth)));
        }
        let sorts = key.contains(".queue.") || key.contains(".destage.");
        (sorts && in_flight == Some(1)).then(|| "one request in flight leaves nothing to sort".to_owned())
    }

    /// Number of requests that all workers of a cell's job have in flight at most; `None` if the job does not say.
    fn max_in_flight(&self, cell: usize) -> Option<u64> {
        let value = |key: &str| self.made.find_setting(cell, key).map(|setting| setting.value.as_str());
        let (depth, workers) = (value(work::DEPTH)?, value(work::WORKERS_COUNT)?.parse::<u64>().ok()?);
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
    drive::CACHE_WRITE_BACK,
    drive::CACHE_DIRTY_PERCENT,
    drive::CACHE_DESTAGE_IDLE_MS,
    drive::CACHE_DESTAGE_AGE_MS,
    drive::FIRMWARE_DESTAGE,
    drive::CACHE_FLASH_KIB,
    drive::POWER_PROTECTED,
    driver::WRITE_THROUGH,
];

/// Settings that only flushes ask for.
const FLUSHES: [&str; 4] = [driver::FLUSH, driver::SHARE_FLUSHES, accelerator::FLUSH, drive::OVERHEAD_FLUSH_MS];

/// Settings that only reads ask for.
const READS: [&str; 2] = [drive::CACHE_READ_AHEAD, accelerator::READ_AHEAD_KIB];

/// Limits of commands in flight.
const DEPTHS: [&str; 4] = [drive::FIRMWARE_DEPTH, driver::DEPTH, driver::CAPACITY, controller::DEPTH];

/// The first of some keys, and how many more.
fn summarize_keys(keys: &[String]) -> String {
    match keys {
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, made, plain, runs};
    use super::*;
    use crate::provenance::StudyProvenance;
    use crate::run::RunRecord;

    /// Why a difference in `key` between cells 0 and 2 (depth 1), or 1 and 3 (depth 8), cannot matter to runs that read, write and flush
    /// so often in all.
    fn reason(key: &str, cells: (usize, usize), [reads, writes, flushes]: [u64; 3]) -> Option<String> {
        let change = |run: &mut RunRecord| {
            let once = u64::from(run.run == 2);
            (run.read.ios, run.write.ios, run.flush.ios) = (reads * once, writes * once, flushes * once);
            true
        };
        ask(&plain(), change, |evidence| evidence.key_reason(key, cells.0, cells.1))
    }

    #[test]
    fn a_setting_matters_only_to_the_requests_that_ask_for_it() {
        let (alone, deep) = ((0, 2), (1, 3));
        for (key, cells, counts, words) in [
            (
                "drive.cache.write_back",
                deep,
                [9, 0, 0],
                Some("the job writes nothing, so a cache of writes cannot matter"),
            ),
            (
                "drive.cache.write_back.more",
                deep,
                [9, 0, 0],
                Some("the job writes nothing, so a cache of writes cannot matter"),
            ),
            ("drive.cache.write_backs", deep, [9, 0, 0], None),
            ("drive.cache.write_back", deep, [9, 1, 0], None),
            (
                "driver.flush",
                deep,
                [9, 1, 0],
                Some("the job flushes nothing, so what becomes of a flush cannot matter"),
            ),
            ("driver.flush", deep, [9, 1, 1], None),
            (
                "drive.cache.read_ahead.after",
                deep,
                [0, 1, 1],
                Some("the job reads nothing, so reading ahead cannot matter"),
            ),
            ("drive.cache.read_ahead.after", deep, [1, 1, 1], None),
            ("drive.firmware.queue.policy", alone, [1, 1, 1], Some("one request in flight leaves nothing to sort")),
            ("drive.firmware.destage.policy", alone, [1, 1, 1], Some("one request in flight leaves nothing to sort")),
            ("drive.firmware.queue.policy", deep, [1, 1, 1], None),
            ("drive.firmware.queue.policy", (0, 3), [1, 1, 1], None),
            ("drive.mechanics.rpm", alone, [1, 1, 1], None),
            (
                "drive.firmware.depth",
                alone,
                [1, 1, 1],
                Some("the job has at most one request in flight, and both sides take as many"),
            ),
            ("drive.firmware.depth", deep, [1, 1, 1], None),
            ("controller.depth", alone, [1, 1, 1], None),
        ] {
            assert_eq!(reason(key, cells, counts).as_deref(), words, "{key} {cells:?} {counts:?}");
        }
    }

    /// What made the results, with other values of some settings in every cell that has them.
    fn with(settings: &[(&str, &str)]) -> StudyProvenance {
        let mut json = serde_json::to_value(made()).unwrap();
        for list in ["shared", "varied"] {
            for setting in json[list].as_array_mut().unwrap() {
                let key = setting["key"].as_str().unwrap().to_owned();
                for (_, value) in settings.iter().filter(|(other, _)| *other == key) {
                    setting["value"] = (*value).into();
                }
            }
        }
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn requests_in_flight_are_those_of_all_workers() {
        let records = runs(&plain(), |_| true);
        let in_flight = |depth: &str, workers: &str| {
            let (study, made) = (plain(), with(&[("job.depth", depth), ("job.workers.count", workers)]));
            Evidence::new(&study, &made, &records).max_in_flight(0)
        };
        assert_eq!([in_flight("1", "1"), in_flight("8", "1"), in_flight("8", "3")], [Some(1), Some(8), Some(24)]);
        assert_eq!(in_flight("1 (4 workers), 32", "5"), Some(36));
        assert_eq!(in_flight("2 (3 workers), 4 (2 workers)", "5"), Some(14));
        assert_eq!([in_flight("x", "1"), in_flight("1", "x"), in_flight("1 (x workers), 2", "3")], [None; 3]);
        // Three workers of eight have 24 in flight, which a queue of 32 takes; nine of eight, 72, it does not.
        let enough = |workers: &str| {
            let (study, made) =
                (plain(), with(&[("job.depth", "8"), ("job.workers.count", workers), ("drive.firmware.depth", "32")]));
            Evidence::new(&study, &made, &records).key_reason("drive.firmware.depth", 1, 3)
        };
        let words =
            |count: u32| Some(format!("the job has at most {count} requests in flight, and both sides take as many"));
        assert_eq!([enough("3"), enough("4"), enough("5")], [words(24), words(32), None]);
    }

    #[test]
    fn keys_are_named_by_the_first_and_the_number_of_the_others() {
        let of = |keys: &[&str]| summarize_keys(&keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>());
        assert_eq!(
            [of(&[]), of(&["a"]), of(&["a", "b"]), of(&["a", "b", "c"])],
            ["", "a", "a (and 1 more)", "a (and 2 more)"]
        );
    }
}
