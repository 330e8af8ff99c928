//! All keys there are, layer by layer, of scenes too: what each takes, in which unit, what holds without it, what it says. `seekwise
//! keys`, the guide and the errors about words that stand where they are none are made of it.
//!
//! Keys of figures stand beside what reads them (`profile/keys`, `stack/keys`); here are those of jobs and studies, which
//! are read otherwise.

use serde::Serialize;

use crate::diagnostic::Diagnostic;
use crate::figure::{Accepts, Plain};
use crate::scene;
pub use crate::stack::JOB;
use crate::stack::{self, KINDS, STACK, VOCABULARY, keys_of, unnumbered};
use crate::trace::keys::KEYS as TRACE;

/// A layer, or another part of what is asked for, and its keys.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Its name, with which its keys begin; those of a study do not.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// Its keys.
    pub keys: Vec<Entry>,
}

/// A key.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Dotted, as `--set` takes it; of a study, as its file has it.
    pub key: String,
    /// What it takes.
    pub takes: String,
    /// Unit of the value; empty for counts and words.
    pub unit: &'static str,
    /// Must be there, by its name's or profile's word or its own.
    pub required: bool,
    /// What holds where neither it nor a name says so.
    pub otherwise: &'static str,
    /// What it says.
    pub meaning: &'static str,
    /// Other words by which people look for it.
    pub also: Vec<&'static str>,
}

/// What holds without a key that nothing else says.
const MUST: &str = "must be there";

/// Keys of a real file or device: how a job has it, whatever the job says.
pub const REAL: &[Plain] = &[
    ("real.direct", "true, false", "as the job says, else true", "past the page cache (O_DIRECT)"),
    (
        "real.engine",
        "io_uring, psync",
        "as the job's ioengine says, else io_uring",
        "how requests reach the kernel: by its ring, or one call after another",
    ),
    (
        "real.cache",
        "drop, keep",
        "as the job's invalidate says, else drop",
        "whether what the page cache holds of the file is given up before a run, or kept: declared warm",
    ),
    (
        "real.layout",
        "a size such as 1g, in powers of 1024",
        "nothing is made",
        "a file that is not there is made so long",
    ),
    (
        "real.destroy",
        "the serial number of the device, or the name of the file",
        "nothing is destroyed",
        "what is there may be written over (--destroy)",
    ),
    (
        "real.scheduler",
        "a scheduler of the kernel's, such as none, mq-deadline, bfq",
        "as it is",
        "the kernel's scheduler of the disk during a run, put back behind it",
    ),
    (
        "real.write_cache",
        "on, off, unflushed",
        "as it is",
        "the drive's own write cache during a run; unflushed leaves it on, and the kernel sends no flushes",
    ),
    ("real.queue_depth", "a whole number from 1", "as it is", "commands that the disk has at once during a run"),
    ("real.serial", "plain, hash", "plain", "how the disk's serial number is kept with the result"),
];

/// Keys of a scene's programs that are names of its own. What else a scene has are figures.
const SCENE: &[Plain] = &[
    ("program.NAME.name", "the name of a program (`seekwise programs`)", "", "what runs, and its figures"),
    ("program.NAME.on", "the name of a volume", "the only volume", "the volume that it is on"),
    ("program.NAME.to", "the name of a volume", "as `on`", "the volume that it writes to, or that its log is on"),
    ("volume.NAME.device", "the name of a device", "the drive", "the device that it lies on"),
    ("program.NAME.after", "a list of programs", "at once", "programs that must be over before it begins"),
];

/// Keys of a study's file.
const STUDY: &[Plain] = &[
    ("title", "a text", "", "its name for a reader"),
    ("question", "a text", "", "what it asks"),
    ("expect", "a text", "nothing", "what its author expects"),
    ("seed", "a whole number", "1", "the seed of all chance"),
    ("runs", "1 to 1000000", "5", "independent runs of each cell"),
    ("runtime", "a length of time such as 30 s", "as the job says", "how long each run is counted"),
    ("ramp", "a length of time such as 5 s", "as the job says", "how long each run warms up before"),
    ("margin_percent", "0 to 50", "2", "ratios so near to 1 are called equal"),
    ("cuts", "1 to 1000000", "none", "power cuts in each run, beside the run itself"),
    ("shutdowns", "1 to 1000000", "none", "runs beside each run that end with an orderly power-off"),
    ("job", "as the key `job`", "a factor says it", "what is done"),
    ("stack", "a table of keys of the stack and the job", "factors say it", "what is under every cell"),
    ("factor.name", "a text", "", "the name of what is varied, one [[factor]] each"),
    ("factor.unit", "a text", "none", "the unit of its levels"),
    ("factor.key", "a key of the stack or the job", "with bundles", "the key that it sets"),
    (
        "factor.levels",
        "a list of numbers, texts or both",
        "with bundles",
        "the key's values; `none` leaves the key out",
    ),
    (
        "factor.classes",
        "tables of a name and a list of levels",
        "levels go by their own names",
        "what answers call these levels together, such as random work",
    ),
    ("factor.bundle", "tables of `name` and `set`", "with a key", "named settings of several keys at once"),
    ("compare.name", "a text", "", "what the comparison shows, one [[compare]] each"),
    ("compare.factor", "a factor's name", "", "what differs"),
    ("compare.from", "a level", "", "the base"),
    ("compare.to", "a level", "", "what is compared with it"),
    ("compare.credit", "a list of concerns", "the factor", "what is credited with the difference"),
    ("compare.headline", "true or false", "false", "leads the report"),
    (
        "compare.metric",
        "what is compared",
        "iops, elapsed of scenes",
        "iops, bytes_per_s, p99, elapsed … (docs/statistics.md)",
    ),
    ("claim.id", "a text", "", "a finding's number, one [[claim]] each"),
    ("claim.class", "M, N, S, I or J", "", "what kind of finding it is (docs/claims.md)"),
    ("claim.finding", "a text", "", "what the source found"),
    ("claim.condition", "a text", "", "when it counts as reproduced, in words"),
    ("claim.mechanism", "a text", "", "what causes it in the model"),
    ("claim.check", "a list of conditions", "none", "all must hold"),
    ("claim.show", "a list of expressions", "none", "reported beside them"),
    ("claim.over", "a list of factors", "none", "factors whose levels vote"),
    ("claim.with", "{ claim, same }", "none", "another claim that must hold beside it"),
    ("claim.ablate", "a key and its value, and `in`", "none", "what switches the mechanism off"),
    ("claim.plant", "a key and its value, and `in`", "none", "a difference that the same cells must show"),
];

/// Keys of a review's file.
const REVIEW: &[Plain] = &[
    ("title", "a text", "", "its name for a reader"),
    ("question", "a text", "", "what it asks"),
    ("introduction", "a text", "", "what was asked and on what; a free line ends a paragraph"),
    ("part.study", "a study's name or file", "", "its studies in order, one [[part]] each"),
    ("part.title", "a text", "the study's title", "the heading of its chapter"),
    ("part.why", "a text", "none", "what it adds"),
];

/// Keys of a drive's file beside its figures.
const HEAD: &[Plain] = &[
    ("name", "a text", "", "its name in the catalogue"),
    ("title", "a text", "", "maker and model"),
    ("year", "a year", "unknown", "the year of the model"),
    ("studies", "a list of texts", "none", "studies that measured it"),
    ("interface", "a text", "none", "the interface in words"),
    ("sources.NAME", "a text", "none", "a citation, which figures' sources name by @NAME"),
    ("everyday.CASE", "a text", "none", "why it does otherwise than arithmetic says (docs/everyday.md)"),
];

/// All sections: the layers from the program down, then the stack as a whole, the job, a drive's file, a study's file.
pub fn sections() -> Vec<Section> {
    let layers = KINDS.iter().map(|kind| layer(kind.name, kind.otherwise, kind.what));
    let plain = |name, what, keys: &[Plain]| Section { name, what, keys: keys.iter().map(plain).collect() };
    let others = [
        plain("stack", "a stack as a whole", STACK),
        plain("job", "what is done", JOB),
        plain("real", "a real file or device (--on file:PATH, device:PATH)", REAL),
        plain("trace", "a recorded trace: how it is read and played", &TRACE),
        scene(),
        plain("profile", "a drive's file, beside its figures (keys of `drive` without that word)", HEAD),
        plain("study", "a study's file", STUDY),
        plain("review", "a review's file: studies that answer one question", REVIEW),
    ];
    layers.chain([layer("drive", MUST, "the drive")]).chain(others).collect()
}

fn layer(name: &'static str, otherwise: &'static str, what: &'static str) -> Section {
    let names: Vec<&str> =
        VOCABULARY.ready.iter().filter(|ready| ready.0 == name).map(|ready| ready.1.as_str()).collect();
    let takes = match name {
        "drive" => "the name of a drive (`seekwise drives`), or a profile's path".to_owned(),
        _ => format!("none, {}", names.join(", ")),
    };
    let whole = Entry {
        key: name.to_owned(),
        takes,
        unit: "",
        required: otherwise == MUST,
        otherwise,
        meaning: what,
        also: Vec::new(),
    };
    let keys = keys_of(name).iter().map(|key| Entry {
        key: format!("{name}.{}", key.path),
        takes: key.accepts.range(),
        unit: key.unit,
        required: key.required,
        otherwise: match (key.required, name) {
            (false, _) => key.otherwise,
            (true, "drive") => "the profile's",
            (true, _) => "the name's",
        },
        meaning: key.meaning,
        also: key.also.to_vec(),
    });
    Section { name, what, keys: std::iter::once(whole).chain(keys).collect() }
}

/// The keys of scenes: names, then figures.
fn scene() -> Section {
    let names = SCENE.iter().map(plain);
    let figures = scene::sections().into_iter().flat_map(|(below, keys)| {
        keys.iter().map(move |key| Entry {
            key: format!("{below}.{}", key.path),
            takes: key.accepts.range(),
            unit: key.unit,
            // A program's file has what its engine needs.
            required: key.required && !below.starts_with("program"),
            otherwise: match (key.required, below) {
                (false, _) => key.otherwise,
                (true, "program.NAME") => "the program's",
                (true, _) => MUST,
            },
            meaning: key.meaning,
            also: key.also.to_vec(),
        })
    });
    let what = "programs on volumes, through a page cache";
    Section { name: "scene", what, keys: names.chain(figures).collect() }
}

fn plain(&(key, takes, otherwise, meaning): &Plain) -> Entry {
    let required = otherwise.is_empty();
    let otherwise = if required { MUST } else { otherwise };
    Entry { key: key.to_owned(), takes: takes.to_owned(), unit: "", required, otherwise, meaning, also: Vec::new() }
}

/// What the figure called `key` takes, in a stack or in a scene.
fn accepts(key: &str) -> Option<Accepts> {
    let (root, below) = key.split_once('.')?;
    let in_scene = || {
        let below = if matches!(root, "program" | "volume") { below.split_once('.')?.1 } else { below };
        let sections = scene::sections().into_iter().filter(|(name, _)| name.split('.').next() == Some(root));
        sections.flat_map(|(_, keys)| keys).find(|key| key.path == below)
    };
    let known = match scene::ROOTS.contains(&root) {
        true => in_scene(),
        false if stack::layers().any(|layer| layer == unnumbered(root)) => {
            keys_of(root).iter().find(|key| key.path == below)
        }
        false => None,
    };
    known.map(|key| key.accepts)
}

/// The number `value` of the figure called `key`, times `factor`: whole where the key takes whole numbers, and within what
/// it takes. Nothing where it takes no number.
pub fn scaled(key: &str, value: &str, factor: f64) -> Option<String> {
    let number: f64 = value.parse().ok()?;
    match accepts(key)? {
        Accepts::Whole(low, high) => {
            Some(((number * factor).round().max(low as f64) as u64).clamp(low, high).to_string())
        }
        // Six digits say more than any figure that is inferred.
        Accepts::Number(low, high) => {
            let digits = format!("{:.5e}", (number * factor).clamp(low, high));
            digits.parse::<f64>().ok().map(|number| number.clamp(low, high).to_string())
        }
        _ => None,
    }
}

/// An error about a key that neither a stack nor a job has: it suggests the key or the setting that was meant.
pub fn unknown(file: &str, line: usize, key: &str) -> Diagnostic {
    VOCABULARY.unknown(file, line, key)
}

#[cfg(test)]
#[path = "keys/tests.rs"]
mod tests;
