//! The keys of a stack and of the job on it that are not figures, and the words that errors about a stack may suggest.

use std::sync::LazyLock;

use super::hosts::hosts;
use super::kinds::{keys_of, layers};
use crate::figure::{Plain, Vocabulary};
use crate::trace::keys::KEYS as TRACE;

/// Keys of the stack as a whole.
pub(crate) const STACK: &[Plain] = &[
    (
        "place",
        "sim, or a place in real time (`seekwise --version` names them)",
        "sim",
        "where a study's cells run: on a modelled stack, or elsewhere, where no other key of a stack has a meaning",
    ),
    ("stack", "the path of a stack file", "none", "a stack file to begin with, in a study or beside a drive"),
    (
        "order",
        "a list of layers",
        "as listed here",
        "the layers from the program's side down; a second one of a kind is `driver-2`, with keys of its own",
    ),
    (
        "at.TIME.KEY",
        "a value of KEY",
        "nothing changes",
        "what KEY is from TIME on (`at.10 s.driver.flush`). KEY is one of driver.depth, driver.flush, \
         driver.write_through, driver.power_off, accelerator.flush, drive.cache.write_back, array.lose, array.replace",
    ),
];

/// Keys of a job. Those of fio's own files are fio's.
pub const JOB: &[Plain] = &[
    (
        "job",
        "a pattern, a built-in job, a fio job file, an Iometer .icf or a trace",
        "",
        "what is done (`seekwise patterns`)",
    ),
    ("job.depth", "1 to 65535", "as the job says", "requests that each worker has outstanding"),
    ("job.runtime", "a length of time such as 30 s", "as the job says", "how long each worker is counted"),
    ("job.ramp", "a length of time such as 5 s", "as the job says", "how long it warms up before"),
    (
        "job.span",
        "a size such as 10g, in powers of 1024",
        "the whole target",
        "bytes from its beginning that the job has",
    ),
    ("job.env.NAME", "a text", "the job's own value", "a variable of a built-in job or a fio job: `${NAME}` in it"),
];

/// What errors about a stack, or a setting of one, may suggest.
pub(crate) static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let of = |layer: &'static str| keys_of(layer).iter().map(move |key| (format!("{layer}.{}", key.path), key));
    let hosts = hosts().expect("the ready-made layers are part of the program and load");
    Vocabulary {
        figures: layers().flat_map(of).collect(),
        plain: layers().chain(["order"]).chain(JOB.iter().chain(&TRACE).map(|plain| plain.0)).collect(),
        ready: hosts.into_iter().map(|host| (host.layer, host.name)).collect(),
    }
});
