//! An array of drives: its keys, and how to build it.

use seekwise_model::host::array::layout::{Level, Share};
use seekwise_model::host::array::{ArraySpec, Balance, ParityWrite};
use seekwise_model::stack::Layer;

use super::kind::{Beside, Kind, Misfit};
use crate::concern::Concern;
use crate::figure::{Accepts, Figures, Key};
use crate::profile::discipline;

pub(super) static ARRAY: Kind = Kind {
    name: "array",
    otherwise: "none: one drive",
    what: "several drives as one, each with its own controller",
    keys: KEYS,
    belongs: BELONGS,
    concern: Concern::Array,
    build,
};

const LEVELS: &[&str] = &["linear", "raid-0", "raid-1", "raid-10", "raid-5", "raid-6"];

static KEYS: &[Key] = &[
    Key::must("level", "", Accepts::Word(LEVELS), "RAID level of the first volume").also(&[
        "raid",
        "raid level",
        "mirror",
        "stripe",
        "jbod",
        "concatenation",
    ]),
    Key::must("drives", "", Accepts::Whole(2, 32), "number of drives").also(&["members", "disks"]),
    Key::must("chunk_kib", "KiB", Accepts::Whole(4, 65_536), "chunk size").also(&[
        "stripe size",
        "stripe unit",
        "strip",
    ]),
    Key::must("percent", "%", Accepts::Whole(1, 100), "share of each drive that the first volume takes"),
    Key::may("second", "", Accepts::Word(LEVELS), "one volume", "RAID level of a second volume after the first")
        .also(&["matrix raid"]),
    Key::must("depth", "", Accepts::Whole(1, 65_536), "requests in flight at once"),
    Key::must(
        "queue.policy",
        "",
        Accepts::Word(&["fcfs", "sstf", "look", "clook"]),
        "order of the requests that wait for a drive",
    ),
    Key::must("read", "", Accepts::Word(&["nearest", "round-robin", "first"]), "which copy of a mirror is read")
        .also(&["read balance"]),
    Key::must(
        "parity",
        "",
        Accepts::Word(&["fewest", "modify", "reconstruct"]),
        "how parity is updated: with the fewest reads, always by read-modify-write, or always by reconstruction",
    )
    .also(&["read-modify-write", "rmw"]),
    Key::must("rebuild_mb_s", "MB/s", Accepts::Number(0.001, 100_000.0), "rate at which a new drive is rebuilt")
        .also(&["resync"]),
    Key::must("rebuild_run_kib", "KiB", Accepts::Whole(4, 65_536), "length of the runs that a rebuild copies"),
    Key::may(
        "lose",
        "",
        Accepts::Whole(0, 31),
        "none is missing",
        "a drive that is missing from the start, counted from 0",
    )
    .also(&["degraded", "failed drive"]),
];

static BELONGS: &[(&str, &[&str], &[&str])] =
    &[("read", &["level", "second"], &["raid-1", "raid-10"]), ("parity", &["level", "second"], &["raid-5", "raid-6"])];

fn level(word: &str) -> Level {
    match word {
        "linear" => Level::Linear,
        "raid-1" => Level::Raid1,
        "raid-10" => Level::Raid10,
        "raid-5" => Level::Raid5,
        "raid-6" => Level::Raid6,
        _ => Level::Raid0,
    }
}

fn build(it: &Figures<'_>, _: &mut Beside<'_>) -> Result<Layer, Misfit> {
    let sectors = |key: &str| it.count(key) * 2;
    let members = it.count("drives");
    let (first, second) = (it.count("percent") * 10, it.may_word("second"));
    let mut shares = vec![Share { level: level(it.word("level")), permille: first }];
    match (second, first) {
        (None, 1000) => {}
        (None, _) => return Err(("second", "a level for the rest of each drive".to_owned())),
        (_, 1000) => return Err(("percent", "less than 100, since there is a second volume".to_owned())),
        (Some(word), _) => shares.push(Share { level: level(word), permille: 1000 - first }),
    }
    for share in &shares {
        let least = share.level.least_members();
        if members < least {
            return Err(("drives", format!("at least {least}")));
        }
        if share.level == Level::Raid10 && !members.is_multiple_of(2) {
            return Err(("drives", "an even number, to form pairs".to_owned()));
        }
    }
    let lost = it.may_whole("lose");
    if lost.is_some_and(|member| member >= u64::from(members)) {
        return Err(("lose", format!("a number from 0 to {}", members - 1)));
    }
    Ok(Layer::Array(ArraySpec {
        members,
        shares,
        chunk: sectors("chunk_kib"),
        depth: it.count("depth"),
        queue: discipline(it.word("queue.policy"), 0, 0, 0, 0.0),
        balance: match it.word("read") {
            "round-robin" => Balance::RoundRobin,
            "first" => Balance::First,
            _ => Balance::Nearest,
        },
        parity: match it.word("parity") {
            "modify" => ParityWrite::Modify,
            "reconstruct" => ParityWrite::Reconstruct,
            _ => ParityWrite::Fewest,
        },
        rebuild_rate: it.rate("rebuild_mb_s"),
        rebuild_run: sectors("rebuild_run_kib"),
        lost: lost.map_or(0, |member| 1 << member),
    }))
}
