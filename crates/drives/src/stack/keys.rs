//! The keys of a stack and of the job on it that are not figures, and the words that errors about a stack may suggest.

use std::sync::LazyLock;

use super::hosts::hosts;
use super::kinds::{keys_of, layers};
use crate::figure::{PlainKey, Vocabulary};
use crate::key_names::{job, stack, trace};

/// Keys of the stack as a whole.
pub const STACK: &[PlainKey] = &[
    (
        stack::PLACE,
        "sim, or a real-time place (listed by `seekwise --version`)",
        "sim",
        "where a study's cells run: on a modelled stack, or in real time, where no other key of a stack applies",
    ),
    ("stack", "the path of a stack file", "none", "a stack file to start from, in a study or instead of a drive"),
    (
        "order",
        "a list of layers",
        // The list of keys, in which this text is shown, has the layers in their order.
        "the order of this list; with an array, Linux's drivers stand below it",
        "the layers from the program down; a second layer of a kind is `driver-2`, with its own keys",
    ),
    (
        "at.TIME.KEY",
        "a value of KEY",
        "no change",
        "the value of KEY from TIME on (`at.10 s.driver.flush`). KEY is one of driver.depth, driver.flush, \
         driver.write_through, driver.power_off, accelerator.flush, drive.cache.write_back, array.lose, array.replace, \
         array.check",
    ),
];

/// Keys of a job, besides the options of its own file.
pub const JOB: &[PlainKey] = &[
    (
        "job",
        "a pattern, a built-in job, a fio job file, an Iometer .icf or a trace",
        "",
        "the job to run (`seekwise patterns`)",
    ),
    (job::DEPTH, "1 to 65535", "as the job says", "requests in flight per worker"),
    (job::RUNTIME, "a duration such as 30 s", "as the job says", "measured time of each worker"),
    (job::RAMP, "a duration such as 5 s", "as the job says", "warm-up time before the measured time"),
    (
        job::COUNTED,
        "tool, window",
        "tool",
        "which requests count: those that the job's tool counts, or those that complete in the measured time",
    ),
    (
        job::SPAN,
        "a size such as 10g, in powers of 1024",
        "the whole target",
        "bytes from the start of the target that the job may use",
    ),
    (
        "job.env.NAME",
        "a string",
        "the job's own value",
        "a variable of a built-in job or a fio job, `${NAME}` in its text",
    ),
];

/// The words that errors about a stack or its settings may suggest.
pub static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let dotted_keys =
        |layer: &'static str| keys_of(layer).iter().map(move |key| (format!("{layer}.{}", key.path), key));
    let presets = hosts().expect("the presets are part of the program and load");
    Vocabulary {
        figures: layers().flat_map(dotted_keys).collect(),
        // A layer's name alone is the key of its preset.
        plain: layers()
            .chain(["order"])
            .chain(JOB.iter().map(|plain| plain.0))
            .chain(trace::ALL.iter().copied())
            .collect(),
        presets: presets.iter().map(|host| (host.layer, host.name.clone())).collect(),
    }
});
