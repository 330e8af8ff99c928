//! Laws of Linux's arrays, schedulers, page cache and of queues in general, held against the model. The laws lie in `laws/*.toml`,
//! each with its source, and with bands that were written down before it was run; here each is run and judged.
//!
//! | file | what it holds |
//! |---|---|
//! | `probe` | a device that lists what passes it, for counts that are not the model's own |
//! | `bench` | stacks in the words of users, with probes between their layers; runs and scripts on them |
//! | `arrays`, `stripes`, `drivers`, `page_cache`, `queueing` | what is measured for each law |
//!
//! A law that fails names its statement, its source, and each figure with its band. A guess of the project that was wrong stays in the
//! list as `guess`, beside the law that took its place.

mod arrays;
mod bench;
mod drivers;
mod page_cache;
mod probe;
mod queueing;
mod stripes;

use std::collections::BTreeMap;

use serde::Deserialize;

use bench::Bench;

/// A law as it was written down.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    id: String,
    statement: String,
    source: String,
    /// The least and the largest value of each figure.
    bands: BTreeMap<String, [f64; 2]>,
    /// Why the bands are as wide as they are.
    why: String,
    /// What the project had guessed before, and why that was wrong.
    #[serde(default)]
    guess: Vec<String>,
}

/// A file of laws.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LawList {
    law: Vec<Law>,
}

/// What was measured for a law: each figure by its name, or why it cannot be run.
type Measured = Result<Vec<(&'static str, f64)>, String>;

/// How a law is measured.
type Measure = fn(&Bench) -> Measured;

/// A list of laws, and how each is measured.
struct Group {
    text: &'static str,
    measures: &'static [&'static [(&'static str, Measure)]],
}

const ARRAYS: Group = Group { text: include_str!("laws/arrays.toml"), measures: &[arrays::LAWS, stripes::LAWS] };
const DRIVERS: Group = Group { text: include_str!("laws/drivers.toml"), measures: &[drivers::LAWS] };
const PAGE_CACHE: Group = Group { text: include_str!("laws/page_cache.toml"), measures: &[page_cache::LAWS] };
const QUEUEING: Group = Group { text: include_str!("laws/queueing.toml"), measures: &[queueing::LAWS] };

impl Group {
    fn laws(&self) -> Vec<Law> {
        toml::from_str::<LawList>(self.text).expect("a list of laws").law
    }

    fn measure(&self, id: &str) -> Option<Measure> {
        self.measures.iter().copied().flatten().find(|(name, _)| *name == id).map(|(_, measure)| *measure)
    }
}

/// What a law says about what was measured; none if it holds.
fn judge(law: &Law, measured: &Measured) -> Option<String> {
    let head = format!("{} {}\n    by {}", law.id, law.statement, law.source);
    let figures = match measured {
        Ok(figures) => figures,
        Err(fault) => return Some(format!("{head}\n    cannot be run: {fault}")),
    };
    let mut lines = Vec::new();
    for (name, [least, most]) in &law.bands {
        match figures.iter().find(|(figure, _)| figure == name) {
            Some((_, found)) if (*least..=*most).contains(found) => {}
            Some((_, found)) => lines.push(format!("    {name}: {found:.4}, expected {least} to {most}")),
            None => lines.push(format!("    {name}: not measured")),
        }
    }
    let is_named = |(name, _): &&(&'static str, f64)| !law.bands.contains_key(*name);
    lines.extend(figures.iter().filter(is_named).map(|(name, _)| format!("    {name}: no band")));
    (!lines.is_empty()).then(|| format!("{head}\n{}", lines.join("\n")))
}

/// Runs all laws of a group; prints each with its figures, and fails with those that do not hold.
fn hold(group: &Group) {
    let bench = Bench::default();
    let laws = group.laws();
    let mut failing = Vec::new();
    for law in &laws {
        let measure = group.measure(&law.id).unwrap_or_else(|| panic!("{} is measured by nothing", law.id));
        let measured = measure(&bench);
        let fault = judge(law, &measured);
        let figures: Vec<String> =
            measured.iter().flatten().map(|(name, found)| format!("{name} {found:.4}")).collect();
        println!("{} {}: {}", law.id, if fault.is_some() { "FAILS" } else { "holds" }, figures.join(", "));
        failing.extend(fault);
    }
    assert!(failing.is_empty(), "{} of {} laws fail:\n{}", failing.len(), laws.len(), failing.join("\n"));
}

#[test]
fn arrays_keep_their_laws() {
    hold(&ARRAYS);
}

#[test]
fn drivers_keep_their_laws() {
    hold(&DRIVERS);
}

#[test]
fn the_page_cache_keeps_its_laws() {
    hold(&PAGE_CACHE);
}

#[test]
fn queues_keep_their_laws() {
    hold(&QUEUEING);
}

#[test]
fn every_law_is_whole_and_measured() {
    let mut ids = Vec::new();
    for group in [&ARRAYS, &DRIVERS, &PAGE_CACHE, &QUEUEING] {
        for law in group.laws() {
            let texts = [&law.statement, &law.source, &law.why].into_iter().chain(&law.guess);
            assert!(texts.into_iter().all(|text| !text.is_empty()), "{}: an empty text", law.id);
            assert!(law.bands.values().all(|[least, most]| least <= most), "{}: an empty band", law.id);
            assert!(!law.bands.is_empty() && group.measure(&law.id).is_some(), "{}: not measured", law.id);
            ids.push(law.id);
        }
        let measured = group.measures.iter().copied().flatten();
        measured.for_each(|(id, _)| assert!(ids.iter().any(|law| law == id), "{id}: measured without a law"));
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert!(ids.len() == count && count >= 80, "{count} laws, {} of them by their own number", ids.len());
}

/// Settings that make a stack other than Linux's, and laws that must then fail: what the laws are worth as a check.
const WRONG: [(&str, &Group, &[&str]); 14] = [
    ("array.parity=reconstruct", &ARRAYS, &["A16", "A17", "A20"]),
    ("array.parity=modify", &ARRAYS, &["A18", "A19", "A21"]),
    ("array.read=round-robin", &ARRAYS, &["A39", "A40", "A41"]),
    ("array.read=first", &ARRAYS, &["A37", "A42"]),
    ("array.stripe_cache=17", &ARRAYS, &["A23", "A24"]),
    ("array.chunk_kib=256", &ARRAYS, &["A01"]),
    ("array.sync_speed_max=29297", &ARRAYS, &["A49", "A50"]),
    ("driver.flush=forward", &DRIVERS, &["D13"]),
    ("driver.share_flushes=off", &DRIVERS, &["D15", "D16"]),
    ("driver.merge=off", &DRIVERS, &["D09", "D10"]),
    ("driver.max_transfer_sectors=1024", &DRIVERS, &["D01", "D09"]),
    ("pagecache.read_ahead_kib=256", &PAGE_CACHE, &["P01", "P02"]),
    ("pagecache.background_percent=5", &PAGE_CACHE, &["P08", "P09"]),
    ("drive.mechanics.rpm=5400", &QUEUEING, &["Q10"]),
];

#[test]
fn laws_fail_on_a_stack_that_is_not_linux_s() {
    let mut missed = Vec::new();
    for (setting, group, expected) in WRONG {
        let bench = Bench::with_wrong_setting(setting);
        for law in group.laws().iter().filter(|law| expected.contains(&law.id.as_str())) {
            let measured = group.measure(&law.id).expect("measured")(&bench);
            if judge(law, &measured).is_none() {
                missed.push(format!("{} holds with {setting}: {measured:?}", law.id));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_figure_without_a_value_or_a_band_fails_its_law() {
    let law = &QUEUEING.laws()[0];
    let figure = |value| Ok(vec![("counted_over_law", value)]);
    assert_eq!(judge(law, &figure(1.0)), None);
    for wrong in [figure(1.02), figure(f64::NAN), Ok(Vec::new()), Err("no such key".to_owned())] {
        assert!(judge(law, &wrong).is_some(), "{wrong:?}");
    }
    assert!(judge(law, &Ok(vec![("counted_over_law", 1.0), ("other", 1.0)])).is_some());
}
