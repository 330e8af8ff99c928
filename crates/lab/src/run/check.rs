//! Checks the figures of a kept record against one another. Most follow from others, so a figure that was changed by hand contradicts them.
//! A change that contradicts no other figure is not found.

use super::{KindRecord, PhaseRecord, RunRecord};
use crate::stats::histogram::RESOLUTION;
use crate::stats::packed_buckets::PackedBuckets;

/// Relative error up to which two figures count as equal. Figures are sums, products and quotients of exact numbers and agree apart from
/// rounding in floating point, which is 2^-53 in each step; a thousand steps are far below this.
const ROUNDING: f64 = 1e-9;

/// Nanoseconds in a millisecond: parts and means are kept in ms, computed from times in ns.
const NS_PER_MS: f64 = 1e6;

/// Names a figure that contradicts others, and the expected value.
type Fault = String;

/// Smaller figures may differ by as much as figures of this size, because near 0 a relative error means nothing.
const SMALL: f64 = 1e-3;

fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= ROUNDING * one.abs().max(other.abs()).max(SMALL)
}

fn check_equal(key: &str, found: f64, expected: f64, why: &str) -> Result<(), Fault> {
    match is_close(found, expected) {
        true => Ok(()),
        false => Err(format!("`{key}` is {found}; expected {expected}, {why}")),
    }
}

impl RunRecord {
    /// Checks that its figures agree; an error names the first that does not, and what was expected.
    pub fn check_figures(&self) -> Result<(), String> {
        let (all, read, write) = (&self.all, &self.read, &self.write);
        let commit = self.commit.as_ref().map(|commit| ("commit", &commit.figures));
        for (name, view) in
            [("all", all), ("read", read), ("write", write), ("flush", &self.flush)].into_iter().chain(commit)
        {
            let between_ms = self.commit.as_ref().filter(|_| name == "commit").and_then(|commit| commit.between_ms);
            view.check_figures(name, between_ms.unwrap_or(0.0))?;
            let (count, elapsed_s) = (view.iops * self.elapsed_s, self.elapsed_s);
            if elapsed_s > 0.0 && !is_close(count, view.ios as f64) {
                let KindRecord { ios, iops, .. } = view;
                let expected = *ios as f64 / elapsed_s;
                return Err(format!(
                    "`{name}.iops` is {iops}; expected {expected}, {ios} `{name}.ios` in {elapsed_s} s"
                ));
            }
        }
        check_sums("", all, read, write)?;
        if !all.anatomy_ms.is_empty() {
            for (part, ms) in self.anatomy_ms.iter() {
                let (name, other) = (part.name(), all.anatomy_ms.get(part));
                check_equal(&format!("anatomy_ms.{name}"), ms, other, "as in `all.anatomy_ms`")?;
            }
        }
        self.check_processor()?;
        self.check_array()?;
        if !self.histogram.is_empty() {
            all.check_histogram("", &self.histogram)?;
        }
        for group in &self.groups {
            let name = format!("groups.{}", group.name);
            group.all.check_figures(&format!("{name}.all"), 0.0)?;
            group.all.check_histogram(&format!("{name}."), &group.histogram)?;
        }
        if !self.groups.is_empty() {
            let ios = self.groups.iter().map(|group| group.all.ios).sum::<u64>();
            check_count("all.ios", all.ios, ios, "what all `groups` come to")?;
        }
        self.phases.iter().enumerate().try_for_each(|(index, phase)| phase.check_figures(&format!("phases.{index}.")))
    }

    /// Checks that the figures of a modelled processor follow from its share of busy time.
    fn check_processor(&self) -> Result<(), Fault> {
        let Some(cpu) = self.cpu.filter(|cpu| !self.is_measured() && cpu.percent > 0.0) else { return Ok(()) };
        // Older folders do not have these two figures.
        if cpu.iops_per_percent > 0.0 {
            check_equal(
                "cpu.iops_per_percent",
                cpu.iops_per_percent,
                self.all.iops / cpu.percent,
                "`all.iops` of `percent`",
            )?;
        }
        if cpu.mb_per_s_per_percent > 0.0 {
            let expected = self.all.bytes_per_s / 1e6 / cpu.percent;
            check_equal(
                "cpu.mb_per_s_per_percent",
                cpu.mb_per_s_per_percent,
                expected,
                "`all.bytes_per_s` of `percent`",
            )?;
        }
        Ok(())
    }
}

impl RunRecord {
    /// Checks that an array's bytes for each byte follow from its members', and that no member is busy for longer than the run.
    fn check_array(&self) -> Result<(), Fault> {
        let Some(array) = &self.array else { return Ok(()) };
        let kept = [array.read_per_byte_read, array.read_per_byte_written, array.written_per_byte_written];
        let names = ["read_per_byte_read", "read_per_byte_written", "written_per_byte_written"];
        for ((name, kept), expected) in names.into_iter().zip(kept).zip(array.ratios()) {
            let is_equal = match (kept, expected) {
                (Some(kept), Some(expected)) => is_close(kept, expected),
                (kept, expected) => kept.is_none() && expected.is_none(),
            };
            if !is_equal {
                let figure = |value: Option<f64>| value.map_or("null".to_owned(), |value| value.to_string());
                let (kept, expected) = (figure(kept), figure(expected));
                return Err(format!("`array.{name}` is {kept}; expected {expected}, what `array.members` come to"));
            }
        }
        for (index, member) in array.members.iter().enumerate() {
            let busy = member.busy_percent;
            if !(0.0..=100.0 * (1.0 + ROUNDING)).contains(&busy) {
                return Err(format!("`array.members.{index}.busy_percent` is {busy}; expected 0 to 100"));
            }
        }
        Ok(())
    }
}

impl PhaseRecord {
    /// Checks that its figures agree; `prefix` stands before the name of each.
    fn check_figures(&self, prefix: &str) -> Result<(), Fault> {
        let views = [("all", &self.all), ("read", &self.read), ("write", &self.write), ("flush", &self.flush)];
        views.into_iter().try_for_each(|(kind, view)| view.check_figures(&format!("{prefix}{kind}"), 0.0))?;
        check_sums(prefix, &self.all, &self.read, &self.write)
    }
}

/// Checks that the figures of reads and writes together follow from those of each: counts and rates are sums, the longest time is the longer
/// of both, the mean time is weighted by counts. `prefix` stands before the name of each figure.
fn check_sums(prefix: &str, all: &KindRecord, read: &KindRecord, write: &KindRecord) -> Result<(), Fault> {
    check_count(&format!("{prefix}all.ios"), all.ios, read.ios.saturating_add(write.ios), "reads and writes")?;
    check_equal(&format!("{prefix}all.iops"), all.iops, read.iops + write.iops, "reads and writes")?;
    check_equal(
        &format!("{prefix}all.bytes_per_s"),
        all.bytes_per_s,
        read.bytes_per_s + write.bytes_per_s,
        "reads and writes",
    )?;
    let Some(response) = &all.response_ms else { return Ok(()) };
    let [reads, writes] = [read, write].map(|view| view.response_ms.unwrap_or_default());
    check_equal(
        &format!("{prefix}all.response_ms.max"),
        response.max,
        reads.max.max(writes.max),
        "the longest of both",
    )?;
    let weighted_sum = reads.mean * read.ios as f64 + writes.mean * write.ios as f64;
    let key = format!("{prefix}all.response_ms.mean");
    check_equal(&key, response.mean, weighted_sum / all.ios as f64, "the mean of reads and writes")
}

fn check_count(key: &str, found: u64, expected: u64, why: &str) -> Result<(), Fault> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("`{key}` is {found}; expected {expected}, {why}")),
    }
}

impl KindRecord {
    /// Checks that the figures of requests of one kind, called `name`, agree; `between_ms` of their mean are in no part.
    fn check_figures(&self, name: &str, between_ms: f64) -> Result<(), Fault> {
        let times = self.response_ms.unwrap_or_default();
        let rising = [
            ("p50", times.p50),
            ("p90", times.p90),
            // Older records have no p95.
            ("p95", times.p95.unwrap_or(times.p90)),
            ("p99", times.p99),
            ("p99_9", times.p99_9),
            ("p99_99", times.p99_99),
            ("max", times.max),
        ];
        let figures =
            rising.into_iter().chain([("mean", times.mean)]).map(|(key, ms)| (format!("response_ms.{key}"), ms));
        let rates = [("iops".to_owned(), self.iops), ("bytes_per_s".to_owned(), self.bytes_per_s)];
        for (key, value) in rates.into_iter().chain(figures) {
            if !(value.is_finite() && value >= 0.0) {
                return Err(format!("`{name}.{key}` is {value}; expected a figure from 0 on"));
            }
            if self.ios == 0 && value > 0.0 {
                return Err(format!("`{name}.{key}` is {value}; expected 0, for `{name}.ios` is 0"));
            }
        }
        for pair in rising.windows(2) {
            let [(lower, below), (upper, above)] = [pair[0], pair[1]];
            if below > above {
                let key = format!("{name}.response_ms.{lower}");
                return Err(format!("`{key}` is {below}; expected at most `{upper}`, {above}"));
            }
        }
        if times.mean > times.max * (1.0 + ROUNDING) {
            return Err(format!("`{name}.response_ms.mean` is {}; expected at most `max`, {}", times.mean, times.max));
        }
        if !self.anatomy_ms.is_empty() {
            let why =
                if between_ms == 0.0 { "the sum of `anatomy_ms`" } else { "the sum of `anatomy_ms` and `between_ms`" };
            check_equal(&format!("{name}.response_ms.mean"), times.mean, self.anatomy_ms.total() + between_ms, why)?;
        }
        Ok(())
    }

    /// Checks that a histogram is that of these requests; `prefix` stands before the name of each figure.
    fn check_histogram(&self, prefix: &str, buckets: &PackedBuckets) -> Result<(), Fault> {
        let buckets: Vec<(u64, u64)> = buckets.iter().collect();
        let key = format!("{prefix}histogram");
        let count = buckets.iter().fold(0u64, |sum, bucket| sum.saturating_add(bucket.1));
        if count != self.ios {
            return Err(format!("`{key}` counts {count}; expected {}, `{prefix}all.ios`", self.ios));
        }
        if let Some(pair) = buckets.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            return Err(format!("`{key}`: behind {} stands {}; expected rising times", pair[0].0, pair[1].0));
        }
        let greatest = buckets.last().map_or(0.0, |bucket| bucket.0 as f64 / NS_PER_MS);
        let times = self.response_ms.unwrap_or_default();
        check_equal(&format!("{prefix}all.response_ms.max"), times.max, greatest, "the last time of the histogram")?;
        // A bucket's edge is its largest time: the mean lies below that of the edges, by at most a bucket's width.
        let sum: f64 = buckets.iter().map(|(edge, count)| *edge as f64 * *count as f64).sum();
        let (most, mean) = (sum / count.max(1) as f64 / NS_PER_MS, times.mean);
        let least = most * (1.0 - 1.0 / RESOLUTION as f64);
        match mean <= most * (1.0 + ROUNDING) && mean >= least * (1.0 - ROUNDING) {
            true => Ok(()),
            false => {
                let why = format!("expected {least} to {most}, what `{key}` comes to");
                Err(format!("`{prefix}all.response_ms.mean` is {mean}; {why}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
