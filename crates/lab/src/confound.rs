//! What a difference may be credited to. Two sides of a comparison differ in settings; settings belong to concerns (the
//! flush policy, the command queue, the interface, …). A headline that credits one concern with the effect of another
//! is refused, by name.
//!
//! - A comparison that says what it credits (`credit`) must name each concern in which its sides differ. A bundle of
//!   several is credited as one when its words say so: "a bundle: the queue and the controller".
//! - One that does not is credited to its factor: a bundle to all that it sets, a key to what stands under it. The name of
//!   a layer (`driver`) stands for all of that layer. What else differs is not named, and refused.
//!
//! Whether a difference has an effect is not asked here.

use seekwise_formats::stack::Setting;
use seekwise_formats::study::{Compare, Factor, flatten};

use crate::finding::differences;

/// A concern: what it is called, the settings that belong to it, and the words that name it.
struct Concern {
    name: &'static str,
    keys: &'static [&'static str],
    words: &'static [&'static str],
}

const fn concern(name: &'static str, keys: &'static [&'static str], words: &'static [&'static str]) -> Concern {
    Concern { name, keys, words }
}

/// The first that fits counts.
const CONCERNS: [Concern; 13] = [
    concern(
        "the flush policy",
        &["driver.flush", "driver.write_through", "driver.power_off", "accelerator.flush"],
        &["flush"],
    ),
    concern("the write cache", &["drive.cache.write_back", "drive.power.protected"], &["cache"]),
    concern("the drive's buffer", &["drive.cache"], &["buffer", "cache", "segment", "read-ahead"]),
    concern(
        "the command queue",
        &["drive.firmware.depth", "drive.firmware.queue", "drive.link.queuing", "driver.depth", "controller.depth"],
        &["queu", "depth", "wait limit", "ageing", "window"],
    ),
    concern("the scheduler", &["driver.queue", "driver.scheduler", "driver.plug"], &["schedul", "sort", "order"]),
    concern("the interface", &["controller.mode", "drive.link"], &["interface", "link", "mode"]),
    concern("the controller", &["controller", "bus"], &["controller", "board", "bus"]),
    concern("the driver", &["driver"], &["driver"]),
    concern("the cache in memory", &["accelerator"], &["accelerat", "host memory", "cache in memory"]),
    concern("the processor", &["processor"], &["processor"]),
    concern("the array", &["array"], &["array", "raid"]),
    concern("the drive", &["drive"], &["drive", "firmware"]),
    concern("a change during the run", &["at"], &["change"]),
];

fn under(key: &str, root: &str) -> bool {
    key.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn concern_of(key: &str) -> Option<&'static Concern> {
    CONCERNS.iter().find(|concern| concern.keys.iter().any(|root| under(key, root)))
}

/// The dotted keys that a factor sets on one of two of its levels.
fn named(factor: &Factor, levels: [&str; 2]) -> Vec<String> {
    match &factor.key {
        Some(key) => vec![key.clone()],
        None => {
            let bundles = factor.bundle.iter().filter(|bundle| levels.contains(&bundle.name.as_str()));
            bundles.flat_map(|bundle| flatten(&bundle.set)).map(|(key, _)| key).collect()
        }
    }
}

/// Why `compare`, between stacks of these settings, may not be credited as it is; nothing when it may.
pub fn refusal(compare: &Compare, factor: &Factor, from: &[Setting], to: &[Setting]) -> Option<String> {
    let differ = differences(from, to);
    let keys = named(factor, [&compare.from, &compare.to]);
    let credited = |key: &str, concern: &Concern| match &compare.credit {
        Some(credit) => {
            let credit = credit.to_lowercase();
            concern.words.iter().any(|word| credit.contains(word))
        }
        None => keys.iter().any(|named| under(key, named)),
    };
    let mut besides: Vec<(&str, Vec<&str>)> = Vec::new();
    for key in differ.iter().filter(|key| key.contains('.')) {
        let Some(concern) = concern_of(key).filter(|concern| !credited(key, concern)) else { continue };
        match besides.iter_mut().find(|(name, _)| *name == concern.name) {
            Some((_, keys)) => keys.push(key),
            None => besides.push((concern.name, vec![key])),
        }
    }
    if besides.is_empty() {
        return None;
    }
    let what = compare.credit.as_ref().unwrap_or(&compare.factor);
    let said = besides.iter().map(|(name, keys)| match keys[..] {
        [key] => format!("{name} ({key})"),
        [first, ..] => format!("{name} ({first} and {} more)", keys.len() - 1),
        [] => (*name).to_owned(),
    });
    let said: Vec<String> = said.collect();
    Some(format!("it credits {what}, but the sides differ in {} too", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_formats::profile::figure::Kind;

    fn settings(pairs: &[(&str, &str)]) -> Vec<Setting> {
        let setting = |&(key, value): &(&str, &str)| Setting {
            key: key.to_owned(),
            value: value.to_owned(),
            unit: "",
            kind: Kind::Set,
            source: String::new(),
        };
        pairs.iter().map(setting).collect()
    }

    fn study(factor: &str, credit: &str) -> (Compare, Factor) {
        let head = "title = 't'\nquestion = 'q'\nruntime = '1 s'\n";
        let compare = format!("[[compare]]\nname = 'c'\nfactor = 'f'\nfrom = 'a'\nto = 'b'\n{credit}");
        let text = format!("{head}[[factor]]\nname = 'f'\n{factor}\n{compare}");
        let study = seekwise_formats::study::parse("s.toml", &text).unwrap();
        (study.compare[0].clone(), study.factor[0].clone())
    }

    const VENDOR: &str = "[[factor.bundle]]\nname = 'a'\nset = { driver = 'x' }\n\
                          [[factor.bundle]]\nname = 'b'\nset = { driver = 'y', controller = 'z' }";

    #[test]
    fn a_credit_must_name_all_that_differs() {
        let from = settings(&[("driver", "x"), ("driver.flush", "forward"), ("controller.rate_mb_s", "1")]);
        let to = settings(&[("driver", "y"), ("driver.flush", "drop"), ("controller.rate_mb_s", "2")]);
        let (compare, factor) = study(VENDOR, "credit = 'the controller'");
        let said = refusal(&compare, &factor, &from, &to);
        assert_eq!(
            said.as_deref(),
            Some("it credits the controller, but the sides differ in the flush policy (driver.flush) too")
        );
        let (compare, factor) = study(VENDOR, "credit = 'a bundle: the controller and the flush policy'");
        assert_eq!(refusal(&compare, &factor, &from, &to), None);
        // A declared bundle is credited as one.
        let (compare, factor) = study(VENDOR, "");
        assert_eq!(refusal(&compare, &factor, &from, &to), None);
    }

    #[test]
    fn a_key_is_credited_with_what_stands_under_it() {
        let (compare, factor) = study("key = 'driver'\nlevels = ['a', 'b']", "");
        let from = settings(&[("driver.flush", "forward"), ("driver.depth", "1")]);
        let to = settings(&[("driver.flush", "drop"), ("driver.depth", "32")]);
        assert_eq!(refusal(&compare, &factor, &from, &to), None);
        let to = settings(&[("driver.flush", "drop"), ("driver.depth", "32"), ("drive.cache.write_back", "off")]);
        let said = refusal(&compare, &factor, &from, &to).unwrap();
        assert_eq!(said, "it credits f, but the sides differ in the write cache (drive.cache.write_back) too");
    }
}
