//! The flush audit on drives whose behaviour is known: its own requests run through stacks of eight behaviours, on every
//! built-in drive, with ten seeds. What it says is held against what they are.

use std::collections::BTreeMap;

use seekwise_formats::stack::Stack as StackFile;
use seekwise_lab::audit::{Certainty, Judgement, Verdict, judge};
use seekwise_lab::catalogue;
use seekwise_model::block::SECTOR;
use seekwise_model::rng::Seed;
use seekwise_model::stack::Stack;
use seekwise_targets::audit::{Modelled, measure};

const SEEDS: u64 = 10;

/// What a drive does, and how a stack is made to.
const BEHAVIOURS: [(&str, &[(&str, &str)]); 8] = [
    ("honest", &[]),
    ("cache off", &[("drive.cache.write_back", "off")]),
    ("early flush", &[("drive.faults.early_flush", "on")]),
    ("FUA ignored", &[("drive.link.fua", "on"), ("drive.faults.ignores_fua", "on")]),
    ("protected", &[("drive.power.protected", "on")]),
    ("flash-backed", &[("drive.cache.flash_kib", "65536")]),
    ("media cache", &[("drive.cache.media_cache_mib", "64"), ("drive.cache.media_cache_largest_kib", "64")]),
    ("dropped", &[("driver", "nforce-sw")]),
];

fn stack(drive: &str, set: &[(&str, String)]) -> Stack {
    let mut file = StackFile::named_drive(drive);
    for (key, value) in set {
        file.set(key, value).unwrap_or_else(|faults| panic!("{key}: {}", faults[0]));
    }
    let text = |name: &str| Ok(catalogue::text(name).expect("a drive of the catalogue").to_owned());
    file.build(&text).unwrap_or_else(|faults| panic!("{drive} {set:?}: {}", faults[0])).stack
}

/// A media cache has its room on the platter: as much less is there for others.
fn settings<'a>(drive: &str, set: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    let mut set: Vec<(&str, String)> = set.iter().map(|&(key, value)| (key, value.to_owned())).collect();
    if set.iter().any(|(key, _)| *key == "drive.cache.media_cache_mib") {
        let sectors = stack(drive, &[]).sectors() - (256 << 20) / SECTOR;
        set.insert(0, ("drive.geometry.sectors", (sectors / 8 * 8).to_string()));
    }
    set
}

fn audit(stack: &Stack, seed: u64) -> Judgement {
    let timings = measure(&mut Modelled::new(stack, Seed(seed)), Seed(seed), &mut |_| ()).expect("the model answers");
    judge(&timings)
}

/// What it must say: of two behaviours that take the same time, that it cannot tell.
fn expected(behaviour: &str, fua: bool) -> Verdict {
    match (behaviour, fua) {
        ("honest" | "media cache", _) => Verdict::Honest,
        ("cache off", _) => Verdict::CacheOff,
        ("FUA ignored", _) => Verdict::FuaIgnored,
        ("dropped", _) | ("early flush", true) => Verdict::FlushIgnored,
        ("protected" | "flash-backed", true) => Verdict::ProtectedOrFlash,
        // Without forced writes nothing tells a cache that is safe from one that lies.
        ("early flush" | "protected" | "flash-backed", false) => Verdict::CannotTell,
        (other, _) => panic!("{other}"),
    }
}

/// Of each behaviour, with and without FUA: how often each verdict was given.
type Matrix = BTreeMap<(usize, bool), BTreeMap<Verdict, u32>>;

#[test]
fn eight_behaviours_on_every_drive() {
    let (mut matrix, mut wrong) = (Matrix::new(), Vec::new());
    for drive in catalogue::names() {
        for (at, (name, set)) in BEHAVIOURS.iter().enumerate() {
            let stack = stack(drive, &settings(drive, set));
            let fua = stack.profile.link.fua;
            for seed in 1..=SEEDS {
                let said = audit(&stack, seed);
                *matrix.entry((at, fua)).or_default().entry(said.verdict).or_default() += 1;
                if said.verdict != expected(name, fua) {
                    wrong.push(format!("{drive}, {name}, seed {seed}: {said:?}"));
                }
            }
        }
    }
    for ((at, fua), row) in &matrix {
        println!("{}, {} FUA: {row:?}", BEHAVIOURS[*at].0, if *fua { "with" } else { "without" });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all: u32 = matrix.values().flat_map(|row| row.values()).sum();
    assert_eq!(all as u64, catalogue::names().count() as u64 * 8 * SEEDS);
}

/// The speed that was found is the drive's; certain, but where a timer could have it too.
#[test]
fn the_revolution_is_the_drive_s() {
    for drive in catalogue::names() {
        for set in [&BEHAVIOURS[0], &BEHAVIOURS[1]] {
            let stack = stack(drive, &settings(drive, set.1));
            let said = audit(&stack, 3);
            let found = said.revolution.unwrap_or_else(|| panic!("{drive}: {said:?}"));
            let turn_ms = stack.profile.mechanics.revolution().nanos() as f64 / 1e6;
            assert!((found.period_ms / turn_ms - 1.0).abs() < 1e-4, "{drive}: {found:?} beside {turn_ms}");
            let tick = [4.0, 10.0].contains(&turn_ms);
            assert_eq!(said.certainty, if tick { Certainty::Likely } else { Certainty::Certain }, "{drive}: {found:?}");
        }
    }
}
