//! The list of all keys, section by section: range, unit, default and meaning. `seekwise keys` prints the list, and the tables
//! of the guide (`docs/`) are generated from it.
//!
//! Keys of figures are defined next to their readers: `profile/keys` and `stack/*` of `seekwise-drives`, `scene/keys` here.
//! Beside these stand the keys of studies, reviews and real devices.

mod concerns;

use seekwise_drives::diagnostic::Diagnostic;
use seekwise_drives::figure::{KeyDomain, PlainKey};
use seekwise_drives::key_names::real;
use seekwise_drives::limits::terms;
use seekwise_drives::metric::Metric;
use seekwise_drives::spelling::is_same;
use seekwise_drives::stack::{self, LayerDescription, STACK, VOCABULARY, keys_of, layer_descriptions, strip_number};
use serde::Serialize;

use crate::scene;
use crate::trace::keys::KEYS as TRACE;
pub use concerns::{concern_of, may_change};
pub use seekwise_drives::stack::JOB;

/// A layer or another group of keys.
#[derive(Clone, Debug, Serialize)]
pub struct KeySection {
    /// The name, which is the first part of its keys, except in studies.
    pub name: &'static str,
    /// The explanation.
    pub what: String,
    pub keys: Vec<KeyEntry>,
}

/// A key.
#[derive(Clone, Debug, Serialize)]
pub struct KeyEntry {
    /// Dotted, as in `--set`; for a study, as in its file.
    pub key: String,
    /// The values that it takes.
    pub takes: String,
    /// Unit of the value; empty for counts and words.
    pub unit: &'static str,
    /// True if there is no default: a preset's name, a profile or the key itself must give the value.
    pub required: bool,
    /// The default, in words.
    pub otherwise: &'static str,
    /// The effect of the setting, in a sentence.
    pub meaning: &'static str,
    /// Other words that people search for.
    pub also: Vec<&'static str>,
}

/// The default of a required key.
const MUST: &str = "must be there";

/// Keys of a real file or device; they override the job.
pub const REAL: &[PlainKey] = &[
    (real::DIRECT, "true, false", "as the job says, else true", "bypass the page cache (O_DIRECT)"),
    (
        real::ENGINE,
        "io_uring, psync",
        "as the job's ioengine says, else io_uring",
        "how requests reach the kernel: through its ring, or one call at a time",
    ),
    (
        real::CACHE,
        "drop, keep",
        "as the job's invalidate says, else drop",
        "before a run, drop the file's pages from the page cache, or keep them; the result then says that the cache was warm",
    ),
    (
        real::LAYOUT,
        "a size such as 1g, in powers of 1024",
        "no file is created",
        "size of the file to create if there is none",
    ),
    (
        real::DESTROY,
        "the serial number of the device, or the name of the file",
        "nothing is overwritten",
        "permission to overwrite what is there (--destroy)",
    ),
    (
        real::SCHEDULER,
        "a kernel scheduler, such as none, mq-deadline, bfq",
        "unchanged",
        "the kernel's I/O scheduler for the disk during a run, restored afterwards",
    ),
    (
        real::WRITE_CACHE,
        "on, off, unflushed",
        "unchanged",
        "the drive's write cache during a run; `unflushed` leaves it on and stops the kernel from sending flushes",
    ),
    (real::QUEUE_DEPTH, "a whole number from 1", "unchanged", "the disk's queue depth during a run"),
    (real::SERIAL, "plain, hash", "plain", "how the result stores the disk's serial number"),
];

/// Keys of a scene that are names; its other keys are figures.
const SCENE: &[PlainKey] = &[
    ("program.NAME.name", "the name of a program (`seekwise programs`)", "", "the program to run, with its figures"),
    ("program.NAME.on", "the name of a volume", "the only volume", "the volume that it runs on"),
    ("program.NAME.to", "the name of a volume", "as `on`", "the volume that it writes to, or that holds its log"),
    ("volume.NAME.device", "the name of a device", "the drive", "the device that holds it"),
    ("program.NAME.after", "a list of programs", "none", "programs that must finish before it starts"),
];

/// Keys of a study file.
const STUDY: &[PlainKey] = &[
    ("title", "a string", "", "its title in reports"),
    ("question", "a string", "", "the question that it answers"),
    ("expect", "a string", "none", "what the author expects"),
    ("seed", "a whole number", "1", "the seed of all random numbers"),
    ("runs", "1 to 1000000", "5", "independent runs of each cell"),
    (
        "sampling",
        "fixed, until-decided",
        "until-decided",
        "the number of runs that `runs` says, or short runs until the verdicts are decided",
    ),
    ("runtime", "a duration such as 30 s", "as the job says", "measured time of each run"),
    ("ramp", "a duration such as 5 s", "as the job says", "warm-up time of each run"),
    ("margin_percent", "0 to 50", "2", "ratios within this margin of 1 count as equal"),
    ("cuts", "1 to 1000000", "none", "power cuts simulated in each run, besides the run itself"),
    ("shutdowns", "1 to 1000000", "none", "additional runs per run that end with an orderly power-off"),
    ("job", "as the key `job`", "set by a factor", "the job to run"),
    ("stack", "a table of keys of the stack and the job", "set by factors", "the stack of every cell"),
    ("factor.name", "a string", "", "the name of a factor, one [[factor]] each"),
    ("factor.unit", "a string", "none", "the unit of its levels"),
    ("factor.says", "a sentence", "none", "what the factor varies, if its name does not say it; reports show it"),
    ("factor.key", "a key of the stack or the job", "with bundles", "the key that it sets"),
    (
        "factor.levels",
        "a list of numbers, strings or both",
        "with bundles",
        "the values of the key; `none` omits the key",
    ),
    (
        "factor.classes",
        "tables of a name and a list of levels",
        "levels keep their own names",
        "the name that answers use for these levels together, such as random work",
    ),
    ("factor.bundle", "tables of `name` and `set`", "with a key", "named sets of settings"),
    ("compare.name", "a string", "", "the title of a comparison, one [[compare]] each"),
    ("compare.factor", "a factor's name", "", "the factor that differs"),
    ("compare.from", "a level", "", "the base"),
    ("compare.to", "a level", "", "the level compared with the base"),
    ("compare.credit", "a list of concerns", "the factor", "the concerns that the difference is credited to"),
    ("compare.headline", "true or false", "false", "leads the report"),
    (
        "compare.metric",
        "what is compared",
        "iops, elapsed of scenes",
        "iops, bytes_per_s, p99, elapsed … (docs/statistics.md)",
    ),
    ("best.work", "a string", "", "a kind of work whose best level is sought, one [[best]] each"),
    ("best.of", "an expression", "", "the figure of that work; higher is better"),
    ("best.factor", "a factor", "", "the factor whose levels are compared"),
    ("best.claims", "a list of findings", "none", "the findings about this work"),
    ("claim.id", "a string", "", "the number of a finding, one [[claim]] each"),
    ("claim.class", "M, N, S, I or J", "", "the class of the finding (docs/claims.md)"),
    ("claim.finding", "a string", "", "what the source found"),
    ("claim.condition", "a string", "", "when the finding counts as reproduced, in words"),
    ("claim.reading", "a string", "none", "how the checks read finding and condition, from the source alone"),
    ("claim.unchecked", "a string", "none", "the part of the finding that no check covers, and why"),
    ("claim.mechanism", "a string", "", "what causes it in the model"),
    ("claim.check", "a list of conditions", "none", "all must hold"),
    ("claim.decided_if", "a list of conditions", "none", "all must hold; otherwise the checks decide nothing"),
    ("claim.show", "a list of expressions", "none", "expressions to report as well"),
    ("claim.over", "a list of factors", "none", "factors whose levels vote"),
    ("claim.with", "{ claim, same }", "none", "another claim that must hold too"),
    ("claim.ablate", "a key and its value, and `in`", "none", "the setting that switches the mechanism off"),
    ("claim.plant", "a key and its value, and `in`", "none", "a difference that the same cells must detect"),
];

/// Keys of a review file.
const REVIEW: &[PlainKey] = &[
    ("title", "a string", "", "its title in reports"),
    ("question", "a string", "", "the question that it answers"),
    ("introduction", "a string", "", "what was asked and tested; an empty line ends a paragraph"),
    ("part.study", "a study's name or file", "", "its studies in order, one [[part]] each"),
    ("part.title", "a string", "the study's title", "the heading of its chapter"),
    ("part.why", "a string", "none", "what this part adds"),
    (
        "part.answers",
        "true or false",
        "false",
        "its leading comparison answers the question and stands at the page's top",
    ),
    (
        "part.half",
        "a string",
        "none",
        "if the question has several parts, the one that this study answers, in the question's words; it begins a sentence of the answer",
    ),
];

/// Keys of a drive's file besides its figures.
const HEAD: &[PlainKey] = &[
    ("name", "a string", "", "its name in the catalogue"),
    ("title", "a string", "", "maker and model"),
    ("year", "a year", "unknown", "the year of the model"),
    ("studies", "a list of strings", "none", "studies that measured it"),
    ("interface", "a string", "none", "the interface in words"),
    ("sources.NAME", "a string", "none", "a citation, which figures' sources name by @NAME"),
    ("everyday.CASE", "a string", "none", "why the drive deviates from the arithmetic (docs/everyday.md)"),
];

/// All sections: the layers from the program down, then the stack as a whole, the job, and the kinds of files.
pub fn sections() -> Vec<KeySection> {
    let drive = LayerDescription { name: "drive", otherwise: MUST, what: "the drive" };
    let layers = layer_descriptions().chain([drive]).map(|layer| layer_section(&layer));
    let plain_section = |name, what: &str, keys: &[PlainKey]| KeySection {
        name,
        what: what.to_owned(),
        keys: keys.iter().map(entry_of_plain_key).collect(),
    };
    let others = [
        plain_section("stack", "the stack as a whole", STACK),
        plain_section("job", "the job to run", JOB),
        plain_section("real", "a real file or device (--on file:PATH, device:PATH)", REAL),
        plain_section("trace", "how a recorded trace is read and replayed", &TRACE),
        scene_section(),
        plain_section("profile", "a drive's file, besides its figures (keys of `drive` without that prefix)", HEAD),
        plain_section("study", "a study's file", STUDY),
        plain_section("review", "a review's file: studies that answer one question", REVIEW),
    ];
    layers.chain(others).collect()
}

/// The keys of a layer: the layer itself, whose value is a preset's name, then its figures.
fn layer_section(&LayerDescription { name, otherwise, what }: &LayerDescription) -> KeySection {
    let presets: Vec<&str> =
        VOCABULARY.presets.iter().filter(|preset| preset.0 == name).map(|preset| preset.1.as_str()).collect();
    let takes = match name {
        "drive" => "the name of a drive (`seekwise drives`), or a profile's path".to_owned(),
        _ => format!("none, {}", presets.join(", ")),
    };
    let layer = KeyEntry {
        key: name.to_owned(),
        takes,
        unit: "",
        required: otherwise == MUST,
        otherwise,
        meaning: what,
        also: Vec::new(),
    };
    let keys = keys_of(name).iter().map(|key| KeyEntry {
        key: format!("{name}.{}", key.path),
        takes: key.accepts.describe_values(),
        unit: key.unit,
        required: key.required,
        otherwise: match (key.required, name) {
            (false, _) => key.otherwise,
            (true, "drive") => "the profile's",
            (true, _) => "the preset's",
        },
        meaning: key.meaning,
        also: key.also.to_vec(),
    });
    KeySection { name, what: what.to_owned(), keys: std::iter::once(layer).chain(keys).collect() }
}

/// The keys of scenes: names, then figures.
fn scene_section() -> KeySection {
    let names = SCENE.iter().map(entry_of_plain_key);
    let figures = scene::keys_by_prefix().into_iter().flat_map(|(prefix, keys)| {
        keys.iter().map(move |key| KeyEntry {
            key: format!("{prefix}.{}", key.path),
            takes: key.accepts.describe_values(),
            unit: key.unit,
            // A program's file has what its engine needs.
            required: key.required && !prefix.starts_with("program"),
            otherwise: match (key.required, prefix) {
                (false, _) => key.otherwise,
                (true, "program.NAME") => "the program's",
                (true, _) => MUST,
            },
            meaning: key.meaning,
            also: key.also.to_vec(),
        })
    });
    let what = "programs on volumes, through a page cache";
    KeySection { name: "scene", what: what.to_owned(), keys: names.chain(figures).collect() }
}

fn entry_of_plain_key(&(key, takes, otherwise, meaning): &PlainKey) -> KeyEntry {
    let required = otherwise.is_empty();
    let otherwise = if required { MUST } else { otherwise };
    KeyEntry { key: key.to_owned(), takes: takes.to_owned(), unit: "", required, otherwise, meaning, also: Vec::new() }
}

/// The values that the figure `key` of a stack or a scene accepts.
fn accepted_values(key: &str) -> Option<KeyDomain> {
    let (root, below) = key.split_once('.')?;
    let in_scene = || {
        let below = if matches!(root, "program" | "volume") { below.split_once('.')?.1 } else { below };
        let of_root = scene::keys_by_prefix().into_iter().filter(|(prefix, _)| prefix.split('.').next() == Some(root));
        of_root.flat_map(|(_, keys)| keys).find(|key| key.path == below)
    };
    let profile_key = match scene::ROOTS.contains(&root) {
        true => in_scene(),
        false if stack::layers().any(|layer| layer == strip_number(root)) => {
            keys_of(root).iter().find(|key| key.path == below)
        }
        false => None,
    };
    profile_key.map(|key| key.accepts)
}

/// The number `value` of the figure `key`, times `factor`, rounded and clamped to what the key accepts; `None` if the key does
/// not accept numbers.
pub fn scale_value(key: &str, value: &str, factor: f64) -> Option<String> {
    let number: f64 = value.parse().ok()?;
    match accepted_values(key)? {
        KeyDomain::Whole(low, high) => {
            Some(((number * factor).round().max(low as f64) as u64).clamp(low, high).to_string())
        }
        // No inferred figure is more precise than six digits.
        KeyDomain::Number(low, high) => {
            let six_digits = format!("{:.5e}", (number * factor).clamp(low, high));
            six_digits.parse::<f64>().ok().map(|number| number.clamp(low, high).to_string())
        }
        _ => None,
    }
}

/// Explains a term of the field: the explanation with the term's keys, then other keys that have the term as a synonym. For a
/// metric, the explanation alone. `None` if `word` is neither.
pub fn explain_word(word: &str) -> Option<Vec<KeySection>> {
    let Some(term) = terms::find(word) else {
        let metric = word.parse::<Metric>().ok()?;
        let what = format!("{}, in {}: `--metric {word}` judges it", metric.title(), metric.unit());
        return Some(vec![KeySection { name: "metric", what, keys: Vec::new() }]);
    };
    let all = sections();
    let find_entry = |key: &&str| all.iter().flat_map(|section| &section.keys).find(|entry| entry.key == *key);
    let own_keys: Vec<KeyEntry> = term.keys.iter().filter_map(find_entry).cloned().collect();
    let metrics = match term.metrics {
        [] => String::new(),
        metrics => format!("; --metric {}", metrics.join(", ")),
    };
    let first = KeySection { name: term.words[0], what: format!("{}{metrics}", term.says), keys: own_keys };
    let others = all.into_iter().filter_map(|mut section| {
        section.keys.retain(|entry| {
            !term.keys.contains(&entry.key.as_str()) && entry.also.iter().any(|also| is_same(also, word))
        });
        (!section.keys.is_empty()).then_some(section)
    });
    Some(std::iter::once(first).chain(others).collect())
}

/// An error about a key that neither a stack nor a job has; the error suggests the key or the setting that was meant.
pub fn unknown_key(file: &str, line: usize, key: &str) -> Diagnostic {
    stack::unknown_key(file, line, key)
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
