//! One pair: results of the true drive with noise, fits of the other profile to them, and predictions beside the truth.

use std::path::{Path, PathBuf};

use serde_json::Value;
use toml::Table;

use super::choice::{Pair, number, word};
use super::noise::add_noise;
use super::program::{Fit, Load, Program, Target, read_json, write_whole};

/// Loads that each fit sees.
const SEEN: [Load; 5] = [
    Load::new("randread", "4k", 1),
    Load::new("randread", "4k", 4),
    Load::new("randread", "4k", 16),
    Load::new("randread", "4k", 64),
    Load::new("read", "1m", 1),
];

/// Loads that the second fit sees besides.
const SEEN_WRITES: [Load; 2] = [Load::new("randwrite", "4k", 1), Load::new("randwrite", "4k", 16)];

/// The load that is predicted from one result.
const DEPTH_8: Load = Load::new("randread", "4k", 8);

/// Predicted loads, each with its group.
const PREDICTED: [(Load, Group); 6] = [
    (Load::new("randread", "4k", 2), Group::Depths),
    (DEPTH_8, Group::Depths),
    (Load::new("randread", "4k", 32), Group::Depths),
    (Load::new("randread", "64k", 4), Group::Blocks),
    (Load::new("randrw", "4k", 8), Group::Mix),
    (Load::new("randwrite", "4k", 4), Group::Writes),
];

/// Keys whose intervals are judged.
pub const JUDGED: [&str; 10] = [
    "mechanics.seek.average_ms",
    "mechanics.seek.full_ms",
    "mechanics.seek.single_ms",
    "mechanics.rpm",
    "mechanics.write_settle_ms",
    "overhead.read_miss_ms",
    "overhead.write_hit_ms",
    "firmware.dispatch_ms",
    "firmware.queue.ahead",
    "cache.dirty_runs",
];

/// The share of a figure by which the start's must differ from the true one to be wrong.
const WRONG: f64 = 0.05;

const AVERAGE_SEEK: &str = "mechanics.seek.average_ms";

/// Predictions that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Reads at depths between the seen ones.
    Depths,
    /// Reads of another size.
    Blocks,
    /// Seven reads to three writes, with no write seen.
    Mix,
    /// Writes, with no write seen.
    Writes,
    /// The mix, from a fit that saw writes.
    MixOfSeen,
    /// Writes at an unseen depth, from a fit that saw writes.
    WritesOfSeen,
    /// Reads at depth 8, from one result at depth 1.
    Alone,
}

/// A predicted figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    Rate,
    P99,
}

/// A prediction beside the truth.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    pub group: Group,
    pub figure: Figure,
    pub truth: f64,
    pub predicted: f64,
    /// The value on the profile that the fit started from.
    pub start: f64,
    /// The least and the most over the fit's draws.
    pub band: (f64, f64),
}

impl Prediction {
    /// Returns the error of the prediction, as a share of the truth.
    pub fn error(&self) -> f64 {
        (self.predicted / self.truth - 1.0).abs()
    }

    /// Returns the error of the start, as a share of the truth.
    pub fn start_error(&self) -> f64 {
        (self.start / self.truth - 1.0).abs()
    }

    /// Checks whether the band contains the truth.
    pub fn is_in_band(&self) -> bool {
        (self.band.0..=self.band.1).contains(&self.truth)
    }

    /// Returns the width of the band, as a share of the truth.
    pub fn band_width(&self) -> f64 {
        (self.band.1 - self.band.0) / self.truth
    }
}

/// An interval beside the true value.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    pub key: &'static str,
    pub with_writes: bool,
    pub truth: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Checks whether the interval contains the true value.
    pub fn is_held(&self) -> bool {
        (self.low - 1e-9..=self.high + 1e-9).contains(&self.truth)
    }

    /// Returns the width, relative to the true value; if that is zero, to the interval's far end.
    pub fn relative_width(&self) -> f64 {
        let whole = if self.truth == 0.0 { self.low.abs().max(self.high.abs()) } else { self.truth.abs() };
        if whole == 0.0 { 0.0 } else { (self.high - self.low) / whole }
    }
}

/// A wrong figure of the start that a fit gave no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftFigure {
    pub key: &'static str,
    pub with_writes: bool,
}

/// The answer of a fit to one result.
#[derive(Clone, Debug)]
pub struct Alone {
    pub intervals: usize,
    pub warnings: Vec<String>,
    /// Whether a prediction says that the fit did not see depth 8.
    pub names_depth: bool,
}

/// The outcome of a pair.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub intervals: Vec<Interval>,
    pub left: Vec<LeftFigure>,
    pub predictions: Vec<Prediction>,
    /// Whether the output contradicts the wrong datasheet, and the right one; nothing if a drive's seeks are a table.
    pub contradicts: Option<(bool, bool)>,
    /// For each fit that contradicts the stated speed: whether its interval contains the true one.
    pub speeds: Vec<bool>,
    pub alone: Alone,
    /// Processor seconds of the fits: of reads, of reads and writes, of one result.
    pub processor_s: [f64; 3],
    /// Warnings of the fit of reads.
    pub warnings: Vec<String>,
}

/// The files of a pair, and what makes them.
pub struct Trial<'a> {
    pub program: &'a Program,
    pub folder: &'a Path,
    pub pair: &'a Pair,
    /// The profile of the true drive, without its changes.
    pub truth: &'a Table,
    /// The profile that the fits start from, and its text.
    pub start: &'a Table,
    pub start_text: &'a str,
}

impl Trial<'_> {
    /// Does all that the pair's folder does not have yet.
    pub fn run(&self) -> Result<Outcome, String> {
        let reads = self.make_results(&SEEN)?;
        let writes = self.make_results(&SEEN_WRITES)?;
        let fit =
            |results: &[PathBuf], start: &str, stem: &str| self.program.fit(results, start, &self.folder.join(stem));
        let of_reads = fit(&reads, self.pair.start, "reads")?;
        let of_writes = fit(&[&reads[..], &writes].concat(), self.pair.start, "writes")?;
        let of_one = fit(&reads[..1], self.pair.start, "alone")?;
        let mut predictions = Vec::new();
        for (load, group) in PREDICTED {
            predictions.extend(self.predict(load, group, &of_reads)?);
            match group {
                Group::Mix => predictions.extend(self.predict(load, Group::MixOfSeen, &of_writes)?),
                Group::Writes => predictions.extend(self.predict(load, Group::WritesOfSeen, &of_writes)?),
                _ => {}
            }
        }
        predictions.extend(self.predict(DEPTH_8, Group::Alone, &of_one)?);
        let unseen = read_json(&self.output_path("alone", DEPTH_8))?["unseen"].clone();
        let of_datasheets = self.fit_to_datasheets(&reads)?;
        let mut intervals = self.judge_intervals(&of_reads.report, false);
        intervals.extend(self.judge_intervals(&of_writes.report, true));
        let mut left = self.find_left(&of_reads.report, false);
        left.extend(self.find_left(&of_writes.report, true));
        let fits = [&of_reads, &of_writes].into_iter().chain(of_datasheets.iter().flatten());
        let true_rpm = self.pair.true_number(self.truth, "mechanics.rpm").unwrap_or(0.0);
        Ok(Outcome {
            intervals,
            left,
            predictions,
            speeds: fits.flat_map(|fit| contradicted_speeds(&fit.report, true_rpm)).collect(),
            contradicts: of_datasheets
                .map(|[wrong, right]| (contradicts_datasheet(&wrong.report), contradicts_datasheet(&right.report))),
            alone: Alone {
                intervals: intervals_of(&of_one.report).count(),
                warnings: texts(&of_one.report["warnings"]),
                names_depth: texts(&unseen).iter().any(|text| text.starts_with("depth 8")),
            },
            processor_s: [of_reads.processor_s, of_writes.processor_s, of_one.processor_s],
            warnings: texts(&of_reads.report["warnings"]),
        })
    }

    /// Makes results of the true drive with noise.
    fn make_results(&self, loads: &[Load]) -> Result<Vec<PathBuf>, String> {
        let make_result = |load: &Load| {
            let path = self.folder.join("results").join(format!("{}.json", load.name()));
            if !path.exists() {
                let words = ["--format", "fio-json", "--seed", "7"];
                let mut result =
                    self.program.run(*load, self.true_drive(), &words, &self.output_path("exact", *load))?;
                let purpose = load.name().bytes().fold(0, |sum, byte| sum * 31 % 997 + u64::from(byte));
                add_noise(&mut result, self.pair.noise, &mut self.pair.generator(purpose));
                write_whole(&path, &format!("{result:#}\n"))?;
            }
            Ok(path)
        };
        loads.iter().map(make_result).collect()
    }

    fn true_drive(&self) -> Target<'_> {
        Target { drive: self.pair.truth, changes: &self.pair.changes }
    }

    /// The path of an output for a load.
    fn output_path(&self, whose: &str, load: Load) -> PathBuf {
        self.folder.join(whose).join(format!("{}.json", load.name()))
    }

    /// Predicts a load by a fitted profile, beside the true drive and the start.
    fn predict(&self, load: Load, group: Group, fit: &Fit) -> Result<Vec<Prediction>, String> {
        let fitted = fit.profile.to_string_lossy();
        let stem = fit.profile.file_stem().unwrap_or_default().to_string_lossy();
        let run =
            |target, words: &[&str], whose: &str| self.program.run(load, target, words, &self.output_path(whose, load));
        let truth = run(self.true_drive(), &["--format", "json", "--seed", "2"], "truth")?;
        let start = run(Target::unchanged(self.pair.start), &["--format", "json"], "start")?;
        let predicted = run(Target::unchanged(&fitted), &["--format", "json"], &stem)?;
        Ok(compare_figures(load, group, [&truth, &predicted, &start]))
    }

    /// Judges the intervals of a fit whose key both profiles give in the same form.
    fn judge_intervals(&self, report: &Value, with_writes: bool) -> Vec<Interval> {
        let judge = |(name, low, high): (&str, f64, f64)| {
            let key = JUDGED.into_iter().find(|key| *key == name)?;
            let (truth, _) = self.true_and_start_numbers(key)?;
            Some(Interval { key, with_writes, truth, low, high })
        };
        intervals_of(report).filter_map(judge).collect()
    }

    /// Finds figures of the start that are wrong, and that a fit left without an interval.
    fn find_left(&self, report: &Value, with_writes: bool) -> Vec<LeftFigure> {
        let is_left = |key: &&str| {
            let is_wrong = |(truth, start): (f64, f64)| (start - truth).abs() > WRONG * truth.abs().max(start.abs());
            !intervals_of(report).any(|interval| interval.0 == *key)
                && self.true_and_start_numbers(key).is_some_and(is_wrong)
        };
        JUDGED.into_iter().filter(is_left).map(|key| LeftFigure { key, with_writes }).collect()
    }

    /// Returns a figure of the true drive and of the start, if both give it in one form.
    fn true_and_start_numbers(&self, key: &str) -> Option<(f64, f64)> {
        let has_form = !key.starts_with("mechanics.seek.") || self.have_equal_seek_figures();
        let absent = (key == "firmware.queue.ahead").then_some(0.0);
        let truth = self.pair.true_number(self.truth, key).or(absent)?;
        let start = number(self.start, key).or(absent)?;
        has_form.then_some((truth, start))
    }

    /// Checks whether both drives have their seeks as three figures of one form.
    fn have_equal_seek_figures(&self) -> bool {
        let [truth, start] = [self.truth, self.start].map(|profile| word(profile, "mechanics.seek.form"));
        truth == start && truth != Some("table")
    }

    /// Fits from profiles that state the average seek as a datasheet does, wrongly and rightly.
    fn fit_to_datasheets(&self, reads: &[PathBuf]) -> Result<Option<[Fit; 2]>, String> {
        let Some(average_ms) = self.pair.true_number(self.truth, AVERAGE_SEEK) else { return Ok(None) };
        if !self.have_equal_seek_figures() {
            return Ok(None);
        }
        let fit = |percent: u32, name: &str| {
            let path = self.folder.join(format!("{name}-datasheet.toml"));
            let stated_ms = (average_ms * f64::from(percent) * 10.0).round() / 1e3;
            let single_ms = number(self.start, "mechanics.seek.single_ms").unwrap_or(0.0);
            if !path.exists() {
                write_whole(&path, &state_average(self.start_text, single_ms, stated_ms)?)?;
            }
            self.program.fit(reads, &path.to_string_lossy(), &self.folder.join(name))
        };
        Ok(Some([fit(self.pair.wrong_percent, "wrong")?, fit(100, "right")?]))
    }
}

/// Returns a profile's text with another average seek, which a datasheet states. The full stroke follows as profiles of
/// the catalogue infer it. What the replaced line cited is cited further: a source that nothing cites is an error.
fn state_average(text: &str, single_ms: f64, average_ms: f64) -> Result<String, String> {
    let full_ms = single_ms + 2.1 * (average_ms - single_ms);
    let mut replaced = 0;
    let mut replace = |line: &str| {
        let figure = match line.split('=').next().unwrap_or("").trim() {
            "average_ms" => {
                let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned();
                let cited: String = line.split('@').skip(1).map(|rest| format!(", not of @{}", word(rest))).collect();
                format!("average_ms = {{ value = {average_ms:.3}, datasheet = \"average seek, read{cited}\" }}")
            }
            "full_ms" => {
                format!("full_ms = {{ value = {full_ms:.3}, inferred = \"single + 2.1 x (average - single)\" }}")
            }
            _ => return format!("{line}\n"),
        };
        replaced += 1;
        format!("{figure}\n")
    };
    let text: String = text.lines().map(&mut replace).collect();
    if replaced == 2 { Ok(text) } else { Err("expected one line each for average_ms and full_ms".to_owned()) }
}

/// Checks whether a report says that the data contradict the datasheet's average seek.
fn contradicts_datasheet(report: &Value) -> bool {
    statements(report, AVERAGE_SEEK).next().is_some()
}

/// For a stated speed that a report contradicts: whether the report's interval contains the true one.
fn contradicted_speeds(report: &Value, true_rpm: f64) -> Vec<bool> {
    let is_held = |it: &Value| {
        let (low, high) = (it["interval"][0].as_f64(), it["interval"][1].as_f64());
        low.zip(high).is_some_and(|(low, high)| (low..=high).contains(&true_rpm))
    };
    statements(report, "mechanics.rpm").map(is_held).collect()
}

/// Stated values of a figure that a report contradicts.
fn statements<'a>(report: &'a Value, key: &'a str) -> impl Iterator<Item = &'a Value> {
    report["contradictions"].as_array().into_iter().flatten().filter(move |it| {
        let says = it["says"].as_str().unwrap_or("");
        it["name"] == key && says.starts_with("your data contradict the")
    })
}

/// Figures with an interval: name, least and most.
fn intervals_of(report: &Value) -> impl Iterator<Item = (&str, f64, f64)> {
    report["figures"].as_array().into_iter().flatten().filter_map(|figure| {
        let interval = &figure["interval"];
        Some((figure["name"].as_str()?, interval[0].as_f64()?, interval[1].as_f64()?))
    })
}

/// The texts of a list.
fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Compares rate and p99 of each direction of a load. The rate of a mix is that of its reads, which its writes follow.
fn compare_figures(load: Load, group: Group, [truth, predicted, start]: [&Value; 3]) -> Vec<Prediction> {
    let figures: &[(&str, Figure)] = match load.rw {
        "randrw" => &[("read", Figure::Rate), ("read", Figure::P99), ("write", Figure::P99)],
        "randwrite" => &[("write", Figure::Rate), ("write", Figure::P99)],
        _ => &[("read", Figure::Rate), ("read", Figure::P99)],
    };
    let compare = |&(direction, figure): &(&str, Figure)| {
        let read = |output: &Value| read_figure(&output[direction], figure).as_f64();
        let (truth, value, start) = (read(truth)?, read(predicted)?, read(start)?);
        let band = read_figure(&predicted[direction]["band"], figure);
        // A fit that moved nothing has no draws.
        let band = (band[0].as_f64().unwrap_or(value), band[1].as_f64().unwrap_or(value));
        (truth > 0.0).then_some(Prediction { group, figure, truth, predicted: value, start, band })
    };
    figures.iter().filter_map(compare).collect()
}

/// A figure of a direction, or of its band.
fn read_figure(of: &Value, figure: Figure) -> &Value {
    match figure {
        Figure::Rate => &of["iops"],
        Figure::P99 => &of["response_ms"]["p99"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_outputs_are_read() {
        let report = serde_json::json!({
            "figures": [{"name": "mechanics.rpm", "interval": [7180.0, 7220.0]}, {"name": "a", "interval": null}],
            "contradictions": [{"name": AVERAGE_SEEK, "says": "your data contradict the datasheet's average seek of 8 ms"}],
        });
        assert_eq!(intervals_of(&report).collect::<Vec<_>>(), [("mechanics.rpm", 7180.0, 7220.0)]);
        assert!(contradicts_datasheet(&report));
        let symptom = serde_json::json!({"contradictions": [{"name": AVERAGE_SEEK, "says": "do not trust it"}]});
        assert!(!contradicts_datasheet(&symptom));
        let says = "your data contradict the datasheet's speed of 5400 rpm: 5901 (5886 to 5916)";
        let speed = serde_json::json!({"name": "mechanics.rpm", "says": says, "interval": [5886.0, 5916.0]});
        let report = serde_json::json!({"contradictions": [speed]});
        assert_eq!([5900.0, 7200.0].map(|rpm| contradicted_speeds(&report, rpm)), [vec![true], vec![false]]);
        let output = |rate: f64, band: Value| serde_json::json!({"read": {"iops": rate, "response_ms": {"p99": 20.0}, "band": band}});
        let predicted = output(110.0, serde_json::json!({"iops": [90.0, 120.0], "response_ms": {"p99": [21.0, 30.0]}}));
        let outputs = [&output(100.0, Value::Null), &predicted, &output(50.0, Value::Null)];
        let [rate, p99] = compare_figures(DEPTH_8, Group::Depths, outputs)[..] else { panic!("two figures") };
        assert!((rate.error() - 0.1).abs() < 1e-9 && rate.start_error() == 0.5 && rate.is_in_band());
        assert!((rate.band_width() - 0.3).abs() < 1e-9 && !p99.is_in_band());
        let moved_nothing = compare_figures(DEPTH_8, Group::Depths, [outputs[0], outputs[2], outputs[2]]);
        assert_eq!(moved_nothing[0].band, (50.0, 50.0));
    }

    #[test]
    fn a_datasheet_is_stated_and_intervals_are_counted() {
        let text = "[mechanics.seek]\naverage_ms = { value = 1 }\nfull_ms    = 2\n[checks]\naverage_seek_ms = 3\n";
        let stated = state_average(text, 1.0, 9.0).unwrap();
        assert!(stated.contains("\naverage_ms = { value = 9.000, datasheet ="), "{stated}");
        assert!(
            stated.contains("\nfull_ms = { value = 17.800, inferred =") && stated.ends_with("\naverage_seek_ms = 3\n")
        );
        assert!(state_average("points = []\n", 1.0, 9.0).is_err());
        let cites =
            state_average(&text.replace("{ value = 1 }", "{ value = 1, fitted = \"@fit; was 8\" }"), 1.0, 9.0).unwrap();
        assert!(cites.contains("datasheet = \"average seek, read, not of @fit\""), "{cites}");
        let interval = |truth, low, high| Interval { key: JUDGED[0], with_writes: false, truth, low, high };
        assert!(interval(8.0, 7.0, 8.0).is_held() && !interval(8.1, 7.0, 8.0).is_held());
        assert_eq!(interval(8.0, 7.0, 9.0).relative_width(), 0.25);
        assert_eq!((interval(0.0, 0.0, 2.0).relative_width(), interval(0.0, 0.0, 0.0).relative_width()), (1.0, 0.0));
    }
}
