//! `cargo xtask sampling [FOLDER]`: runs every built-in study with comparisons twice, by its fixed sample and by
//! sampling until decided, each on one core, and rewrites the table in docs/statistics.md: which verdicts are equal,
//! and the cost of both. Results of the same build in the folder are not made again.
//!
//! The program's JSON is read by its lines: both outputs have equal comparisons and cells in the same order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::cargo;
use crate::disksim::processor_seconds;

/// Where the table stands, and the marks around it.
const DOCUMENT: &str = "docs/statistics.md";
const MARKS: [&str; 2] = ["<!-- samples -->\n", "<!-- end of samples -->"];

/// The two samplings, the fixed one first: the name of the option, and of the folder.
const SAMPLINGS: [&str; 2] = ["fixed", "until-decided"];

/// Runs the command.
pub fn sampling(options: &[&str]) -> ExitCode {
    let folder = options.first().map_or_else(|| crate::target().join("sampling"), PathBuf::from);
    let table = cargo::build_and_hash_release().and_then(|build| build_table(&folder.join(build)));
    match table.and_then(|table| rewrite_document(&table)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The result of a study by one sampling.
struct Sampled {
    verdicts: Vec<Verdict>,
    virtual_s: Option<f64>,
    pilot_s: Option<f64>,
    /// Virtual time of the fixed sample, as the other sampling reports it.
    fixed_s: Option<f64>,
    processor_s: f64,
}

/// The verdict on a cell, or on all cells together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Faster,
    Slower,
    NoDifference,
    NotEnoughData,
}

fn build_table(folder: &Path) -> Result<String, String> {
    let mut text = String::from(
        "| study | equal verdicts | only decided by sampling until decided | only decided by the fixed sample | one *no \
         difference* | opposite | virtual seconds | processor seconds |\n|---|---|---|---|---|---|---|---|\n",
    );
    let (mut processor_sums, mut unshortened, mut unshortened_verdicts) = ([0.0; 2], Vec::new(), 0);
    let mut sums = Counts::default();
    for study in studies()? {
        let samples: Vec<Sampled> =
            SAMPLINGS.iter().map(|sampling| run_or_read_sample(folder, sampling, &study)).collect::<Result<_, _>>()?;
        let [fixed, until] = &samples[..] else { unreachable!("there are two") };
        let counts = Counts::of(&study, &fixed.verdicts, &until.verdicts)?;
        processor_sums[0] += fixed.processor_s;
        processor_sums[1] += until.processor_s;
        if until.pilot_s == Some(0.0) {
            if counts.equal < counts.all {
                return Err(format!("{study}: no run is shortened, but its verdicts differ"));
            }
            unshortened.push(format!("`{study}`"));
            unshortened_verdicts += counts.all;
            continue;
        }
        sums.add(&counts);
        let seconds = match (until.virtual_s, until.fixed_s) {
            (Some(until), Some(fixed)) => format!("{until:.0} of {fixed:.0}"),
            _ => "–".to_owned(),
        };
        let processor = format!("{:.1} of {:.1}", until.processor_s, fixed.processor_s);
        text += &format!("| `{study}` | {} | {seconds} | {processor} |\n", counts.cells());
    }
    text += &format!("| all | {} | | |\n", sums.cells());
    text += &format!(
        "\n{} studies are not shortened, because their jobs end by themselves, come at a rate or have power cuts: {}. Their {unshortened_verdicts} \
         verdicts are equal.\n\nAll {} studies: {:.0} of {:.0} processor seconds.\n",
        unshortened.len(),
        unshortened.join(", "),
        studies()?.len(),
        processor_sums[1],
        processor_sums[0]
    );
    Ok(text)
}

/// Pairs of verdicts, of a study or of all: one by the fixed sample, one by sampling until decided.
#[derive(Default)]
struct Counts {
    all: usize,
    equal: usize,
    /// Verdicts that only sampling until decided reaches.
    gained: usize,
    /// Verdicts that only the fixed sample reaches.
    lost: usize,
    /// Pairs of which one says that there is no difference.
    no_difference: usize,
    /// Pairs of opposite verdicts.
    opposite: usize,
}

impl Counts {
    fn of(study: &str, fixed: &[Verdict], until: &[Verdict]) -> Result<Counts, String> {
        if fixed.len() != until.len() {
            return Err(format!("{study}: {} verdicts, and {}", fixed.len(), until.len()));
        }
        let mut counts = Counts { all: fixed.len(), ..Counts::default() };
        for (fixed, until) in fixed.iter().zip(until) {
            let count = match (fixed, until) {
                _ if fixed == until => &mut counts.equal,
                (Verdict::NotEnoughData, _) => &mut counts.gained,
                (_, Verdict::NotEnoughData) => &mut counts.lost,
                (Verdict::NoDifference, _) | (_, Verdict::NoDifference) => &mut counts.no_difference,
                _ => &mut counts.opposite,
            };
            *count += 1;
        }
        Ok(counts)
    }

    fn add(&mut self, other: &Counts) {
        for (sum, count) in [
            (&mut self.all, other.all),
            (&mut self.equal, other.equal),
            (&mut self.gained, other.gained),
            (&mut self.lost, other.lost),
            (&mut self.no_difference, other.no_difference),
            (&mut self.opposite, other.opposite),
        ] {
            *sum += count;
        }
    }

    fn cells(&self) -> String {
        let Counts { all, equal, gained, lost, no_difference, opposite } = self;
        format!("{equal} of {all} | {gained} | {lost} | {no_difference} | {opposite}")
    }
}

/// The studies with comparisons, by name.
fn studies() -> Result<Vec<String>, String> {
    let fault = |why: std::io::Error| format!("studies: {why}");
    let mut names = Vec::new();
    for entry in fs::read_dir(crate::root().join("crates/lab/studies")).map_err(fault)? {
        let path = entry.map_err(fault)?.path();
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let text = if path.is_file() { fs::read_to_string(&path).map_err(fault)? } else { String::new() };
        if text.contains("\n[[compare]]") {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The result of a study by one sampling; the study runs if the folder has no result.
fn run_or_read_sample(folder: &Path, sampling: &str, study: &str) -> Result<Sampled, String> {
    let folder = folder.join(sampling);
    let fault = |why: std::io::Error| format!("{}: {why}", folder.display());
    let (answer_path, cost_path) = (folder.join(format!("{study}.json")), folder.join(format!("{study}.seconds")));
    if !cost_path.exists() {
        fs::create_dir_all(&folder).map_err(fault)?;
        println!("$ seekwise study {study} --{sampling}");
        let mut command = Command::new(crate::target().join("release/seekwise"));
        command.args(["study", study, &format!("--{sampling}"), "--threads", "1", "--force", "--json", "--out"]);
        command.arg(folder.join(study));
        // The shell writes the answer to the file.
        let mut shell = Command::new("sh");
        shell.args(["-c", "out=$1; shift; exec \"$@\" > \"$out\"", "sh"]).arg(&answer_path);
        shell.arg(command.get_program()).args(command.get_args());
        let processor_s = processor_seconds(shell)?;
        fs::write(&cost_path, processor_s.to_string()).map_err(fault)?;
    }
    let text = fs::read_to_string(&answer_path).map_err(fault)?;
    let cost_text = fs::read_to_string(&cost_path).map_err(fault)?;
    let processor_s =
        cost_text.trim().parse().map_err(|_| format!("{}: `{cost_text}` is no time", cost_path.display()))?;
    let number = |key: &str| number_below_sampling(&text, key);
    let [virtual_s, pilot_s, fixed_s] = ["virtual_s", "pilot_s", "fixed_s"].map(number);
    Ok(Sampled { verdicts: verdicts(&text)?, virtual_s, pilot_s, fixed_s, processor_s })
}

/// The verdicts of all cells and of all cells together, in the order of the JSON. Verdicts with a p are meant, not
/// those of regions.
fn verdicts(json: &str) -> Result<Vec<Verdict>, String> {
    let (mut last, mut words) = (None, Vec::new());
    for line in json.lines().map(str::trim) {
        last = line.strip_prefix("\"verdict\": \"").or(last);
        if line.starts_with("\"p_adjusted\"") {
            words.push(last.take().ok_or("p_adjusted without a verdict")?);
        }
    }
    if words.is_empty() {
        return Err("no verdict with a p".to_owned());
    }
    words
        .into_iter()
        .map(|word| match word {
            _ if word.starts_with("faster") => Ok(Verdict::Faster),
            _ if word.starts_with("slower") => Ok(Verdict::Slower),
            _ if word.starts_with("no difference") => Ok(Verdict::NoDifference),
            _ if word.starts_with("not enough data") => Ok(Verdict::NotEnoughData),
            _ => Err(format!("`{word}` is not a verdict")),
        })
        .collect()
}

/// The number of a key below `sampling`.
fn number_below_sampling(json: &str, key: &str) -> Option<f64> {
    let (_, sampling) = json.split_once("\n  \"sampling\": {")?;
    let (_, rest) = sampling.split_once(&format!("\"{key}\": "))?;
    rest.split([',', '\n']).next()?.parse().ok()
}

fn rewrite_document(table: &str) -> Result<(), String> {
    let path = crate::root().join(DOCUMENT);
    let text = fs::read_to_string(&path).map_err(|why| format!("{DOCUMENT}: {why}"))?;
    let [begin, end] = MARKS;
    let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{DOCUMENT} has no {begin}"))?;
    fs::write(&path, format!("{before}{begin}{table}{end}{after}")).map_err(|why| format!("{DOCUMENT}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = "{\n  \"comparisons\": [\n    {\n      \"verdict\": \"faster\",\n      \"cells\": 2\n    },\n    {\n      \
        \"verdict\": \"faster\",\n      \"said\": \"faster, 2 ×\",\n      \"p_adjusted\": 0.01\n    },\n    {\n      \"verdict\": \"not enough data, 3 more runs\",\n      \
        \"p_adjusted\": 1.0\n    }\n  ],\n  \"sampling\": {\n    \"virtual_s\": 12.5,\n    \"fixed_s\": null\n  }\n}";

    #[test]
    fn verdicts_are_those_with_a_p() {
        assert_eq!(verdicts(JSON).unwrap(), [Verdict::Faster, Verdict::NotEnoughData]);
        assert!(verdicts(&JSON.replace("not enough", "far too few")).is_err());
        assert!(verdicts(&JSON.replace("p_adjusted", "p")).is_err(), "a study that compares has verdicts");
        assert_eq!(
            (number_below_sampling(JSON, "virtual_s"), number_below_sampling(JSON, "fixed_s")),
            (Some(12.5), None)
        );
    }

    #[test]
    fn each_difference_has_its_kind() {
        use Verdict::{Faster, NoDifference, NotEnoughData, Slower};
        let fixed = [Faster, NotEnoughData, NoDifference, Faster, Faster];
        let until = [Faster, Slower, Slower, Slower, NotEnoughData];
        assert_eq!(Counts::of("s", &fixed, &until).unwrap().cells(), "1 of 5 | 1 | 1 | 1 | 1");
        assert!(Counts::of("s", &fixed, &until[1..]).is_err());
    }
}
