//! Adds noise to fio's results, as another run or another clock would.

use serde_json::Value;

use crate::mutate::Xorshift;

/// Standard deviation of the noise, as a share of a figure.
const DEVIATION: f64 = 0.03;

/// Standard deviation of each figure's own noise where the whole run has the other.
const REST: f64 = 0.003;

/// What a deviation applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// One factor for all figures of a result, as if the whole run had been slower or faster.
    OfRun,
    /// A factor for each figure.
    OfFigures,
}

impl Noise {
    /// Returns the words for a pair's line.
    pub fn words(self) -> &'static str {
        match self {
            Noise::OfRun => "noise of each run",
            Noise::OfFigures => "noise of each figure",
        }
    }
}

/// Moves rates, means and percentiles of a result. Percentiles stay in order. Bins, which only `json+` has, are removed.
pub fn add_noise(result: &mut Value, noise: Noise, random: &mut Xorshift) {
    let jobs = result.get_mut("jobs").and_then(Value::as_array_mut);
    for job in jobs.into_iter().flatten() {
        let common = if noise == Noise::OfRun { DEVIATION * draw_normal(random) } else { 0.0 };
        let deviation = if noise == Noise::OfRun { REST } else { DEVIATION };
        let mut slower = || 1.0 + common + deviation * draw_normal(random);
        for direction in ["read", "write"] {
            let Some(figures) = job.get_mut(direction) else { continue };
            if figures["total_ios"].as_u64().unwrap_or(0) == 0 {
                continue;
            }
            let rate = 1.0 / slower();
            for name in ["iops", "bw", "bw_bytes"] {
                scale(figures, name, rate);
            }
            for name in ["clat_ns", "lat_ns"] {
                figures.get_mut(name).into_iter().for_each(|times| move_times(times, &mut slower));
            }
        }
    }
}

/// Moves the mean and the percentiles of times.
fn move_times(times: &mut Value, slower: &mut dyn FnMut() -> f64) {
    let of_mean = slower();
    ["mean", "stddev"].iter().for_each(|name| scale(times, name, of_mean));
    let (mut first, mut last) = (None, 0);
    if let Some(percentiles) = times.get_mut("percentile").and_then(Value::as_object_mut) {
        let mut names: Vec<String> = percentiles.keys().cloned().collect();
        names.sort_by(|a, b| share(a).total_cmp(&share(b)));
        for name in names {
            let moved = percentiles[&name].as_u64().map_or(0, |value| (value as f64 * slower()) as u64);
            last = last.max(moved);
            first = first.or(Some(last));
            percentiles[&name] = last.into();
        }
    }
    if let Some(times) = times.as_object_mut() {
        times.remove("bins");
        let bound = |times: &serde_json::Map<String, Value>, name| times.get(name).and_then(Value::as_u64);
        if let (Some(least), Some(first)) = (bound(times, "min"), first) {
            times.insert("min".to_owned(), least.min(first).into());
        }
        if let Some(most) = bound(times, "max") {
            times.insert("max".to_owned(), most.max(last).into());
        }
    }
}

/// Reads the share in a percentile's name.
fn share(name: &str) -> f64 {
    name.parse().unwrap_or(0.0)
}

/// Multiplies a figure; whole numbers stay whole.
fn scale(figures: &mut Value, name: &str, factor: f64) {
    let Some(figure) = figures.get_mut(name) else { return };
    if let Some(whole) = figure.as_u64() {
        *figure = ((whole as f64 * factor) as u64).into();
    } else if let Some(value) = figure.as_f64() {
        *figure = (value * factor).into();
    }
}

/// Draws from a distribution close to the standard normal one: twelve uniform numbers less six. It is computed without
/// functions that differ between machines.
fn draw_normal(random: &mut Xorshift) -> f64 {
    const STEPS: u64 = 1 << 20;
    let sum: u64 = (0..12).map(|_| random.below(STEPS)).sum();
    sum as f64 / STEPS as f64 - 6.0
}

#[cfg(test)]
mod tests {
    use super::super::choice::generator;
    use super::*;

    /// A result with many close percentiles, which noise would put out of order.
    fn result() -> Value {
        let percentiles: String = (1..100).map(|at| format!("\"{at}.000000\": {},", 10_000_000 + at * 1_000)).collect();
        let times =
            format!("\"percentile\": {{{percentiles} \"99.9\": 10200000}}, \"min\": 10000000, \"max\": 10200000");
        let text = format!(
            "{{\"jobs\": [{{\"read\": {{\"total_ios\": 100, \"iops\": 100.5, \"bw\": 400, \"clat_ns\": {{\"mean\": 1e7, \
             \"bins\": {{\"1\": 2}}, {times}}}}}, \"write\": {{\"total_ios\": 0, \"iops\": 0.0}}}}]}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    /// The factors of the rate and of each time.
    fn factors(noise: Noise, seed: u64) -> Vec<f64> {
        let (before, mut after) = (result(), result());
        add_noise(&mut after, noise, &mut generator(seed));
        assert_eq!(after["jobs"][0]["write"], before["jobs"][0]["write"]);
        let [before, after] = [before, after].map(|result| result["jobs"][0]["read"].clone());
        assert!(after["clat_ns"].get("bins").is_none() && after["bw"].is_u64());
        let of = |value: &Value| value.as_f64().unwrap();
        let (times, moved) = (&before["clat_ns"]["percentile"], &after["clat_ns"]["percentile"]);
        let rising: Vec<u64> = (1..100)
            .map(|at| moved[format!("{at}.000000")].as_u64().unwrap())
            .chain([moved["99.9"].as_u64().unwrap()])
            .collect();
        assert!(rising.is_sorted(), "{rising:?}");
        assert!(after["clat_ns"]["max"].as_u64() >= rising.last().copied());
        let rate = of(&before["iops"]) / of(&after["iops"]);
        let mean = of(&after["clat_ns"]["mean"]) / of(&before["clat_ns"]["mean"]);
        [rate, mean, of(&moved["1.000000"]) / of(&times["1.000000"])].into()
    }

    #[test]
    fn noise_is_of_a_run_or_of_each_figure() {
        let spread = |factors: &[f64]| {
            let mean = factors.iter().sum::<f64>() / factors.len() as f64;
            (factors.iter().map(|factor| (factor - mean).powi(2)).sum::<f64>() / factors.len() as f64).sqrt()
        };
        let runs: Vec<Vec<f64>> = (0..200).map(|seed| factors(Noise::OfRun, seed)).collect();
        assert!(runs.iter().all(|factors| spread(factors) < 0.012), "one factor");
        let rates: Vec<f64> = runs.iter().map(|factors| factors[0]).collect();
        assert!((0.025..0.035).contains(&spread(&rates)), "{}", spread(&rates));
        let figures: Vec<Vec<f64>> = (0..200).map(|seed| factors(Noise::OfFigures, seed)).collect();
        let means: Vec<f64> = figures.iter().map(|factors| factors[1] - factors[0]).collect();
        assert!((0.035..0.050).contains(&spread(&means)), "two independent factors: {}", spread(&means));
        assert_eq!(factors(Noise::OfRun, 5), factors(Noise::OfRun, 5));
    }
}
