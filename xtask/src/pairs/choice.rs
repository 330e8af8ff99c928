//! Chooses the drives of each pair, by a seeded generator of integers.

use toml::{Table, Value};

use super::noise::Noise;
use crate::mutate::Xorshift;

/// Drives of the catalogue with NCQ.
const CATALOGUE: [&str; 6] = [
    "barracuda-2t-st2000dm006",
    "barracuda-7200.7-ncq",
    "exos-x18",
    "travelstar-5k250-160",
    "ultrastar-hc570-22tb",
    "wd140edfz",
];

/// Profiles from other people's publications: server drives with tagged queuing.
const PUBLISHED: [&str; 5] = ["atlas-10k-v-300", "atlas-15k-ii-73", "cheetah-10k.7", "cheetah-15k.4", "raptor-wd740gd"];

/// Rules of a queue that an invented drive may have, each with its policy.
const QUEUES: [(&str, Option<(&str, &str)>); 7] = [
    ("sptf", Some(("firmware.queue.ahead", "2"))),
    ("sptf", Some(("firmware.queue.ahead", "6"))),
    ("sptf", Some(("firmware.queue.ageing", "100"))),
    ("sptf", Some(("firmware.queue.nearest", "4"))),
    ("sptf", Some(("firmware.queue.window", "8"))),
    ("sptf", Some(("firmware.revise_ms", "0.2"))),
    ("look", None),
];

/// How the true drive of a pair was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A drive of the catalogue with NCQ.
    Catalogue,
    /// A drive of the catalogue with NCQ, whose figures and rules were changed at random.
    Invented,
    /// A profile from a publication, without NCQ.
    Published,
}

impl Kind {
    /// Returns the word for a pair's line.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Catalogue => "catalogue",
            Kind::Invented => "invented",
            Kind::Published => "published",
        }
    }
}

/// A true drive, and the profile that its fit starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// From 1.
    pub number: usize,
    pub kind: Kind,
    pub truth: &'static str,
    pub start: &'static str,
    /// Keys of the true drive that differ from its profile, as `--set drive.KEY=VALUE` takes them.
    pub changes: Vec<(&'static str, String)>,
    pub noise: Noise,
    /// The wrong datasheet's average seek, in hundredths of the true one.
    pub wrong_percent: u32,
}

impl Pair {
    /// Returns the true value of a figure, if the true drive has it.
    pub fn true_number(&self, profile: &Table, key: &str) -> Option<f64> {
        let change = self.changes.iter().find(|change| change.0 == key);
        change.map_or_else(|| number(profile, key), |(_, value)| value.parse().ok())
    }

    /// Returns a generator for one purpose within this pair.
    pub fn generator(&self, purpose: u64) -> Xorshift {
        generator(self.number as u64 * 1_000 + purpose)
    }
}

/// Returns a generator for a seed.
pub fn generator(seed: u64) -> Xorshift {
    Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

/// Chooses the first `count` pairs. Drives of the catalogue or of publications make no pair twice while there are others.
pub fn choose_pairs(count: usize, read_profile: &dyn Fn(&str) -> Result<Table, String>) -> Result<Vec<Pair>, String> {
    let mut pairs: Vec<Pair> = Vec::new();
    for number in 1..=count {
        let mut random = generator(number as u64);
        let kind = [Kind::Catalogue, Kind::Invented, Kind::Published][(number - 1) % 3];
        let drives = if kind == Kind::Published { &PUBLISHED[..] } else { &CATALOGUE[..] };
        let is_new = |&(truth, start): &(&str, &str)| {
            !pairs.iter().any(|pair| pair.kind == kind && (pair.truth, pair.start) == (truth, start))
        };
        let drawn: Vec<_> = (0..100).map(|_| draw_two(drives, &mut random)).collect();
        let (truth, start) = drawn.iter().copied().find(is_new).unwrap_or(drawn[0]);
        let changes = match kind {
            Kind::Invented => invent_changes(&read_profile(truth)?, &mut random),
            Kind::Catalogue | Kind::Published => Vec::new(),
        };
        let noise = [Noise::OfRun, Noise::OfFigures][number % 2];
        let wrong_percent = [75, 125][random.below(2) as usize];
        pairs.push(Pair { number, kind, truth, start, changes, noise, wrong_percent });
    }
    Ok(pairs)
}

/// Draws two different drives.
fn draw_two(drives: &[&'static str], random: &mut Xorshift) -> (&'static str, &'static str) {
    let first = random.below(drives.len() as u64) as usize;
    let second = random.below(drives.len() as u64 - 1) as usize;
    (drives[first], drives[second + usize::from(second >= first)])
}

/// Invents a drive: changes of the profile's arm, spindle, electronics, queue and write cache.
fn invent_changes(profile: &Table, random: &mut Xorshift) -> Vec<(&'static str, String)> {
    let mut changes = Vec::new();
    let microseconds = |key| number(profile, key).map(|value| (value * 1e3).round() as u64);
    let (average, single) = (microseconds("mechanics.seek.average_ms"), microseconds("mechanics.seek.single_ms"));
    if let (Some(average), Some(single)) = (average, single) {
        let average = average * between(random, 75, 140) / 100;
        changes.push(("mechanics.seek.average_ms", as_ms(average)));
        changes.push(("mechanics.seek.full_ms", as_ms(average * between(random, 185, 225) / 100)));
        let single = single * between(random, 80, 120) / 100;
        changes.push(("mechanics.seek.single_ms", as_ms(single.min(450))));
    }
    changes.push(("overhead.read_miss_ms", as_ms(between(random, 30, 300))));
    if random.below(10) < 3 {
        changes.push(("mechanics.rpm", one_of(random, &["5400", "5900", "7200", "10000"]).to_owned()));
    }
    if random.below(10) < 7 {
        let (policy, rule) = one_of(random, &QUEUES);
        changes.push(("firmware.queue.policy", policy.to_owned()));
        changes.extend(rule.map(|(key, value)| (key, value.to_owned())));
    }
    changes.push(("cache.dirty_runs", one_of(random, &["16", "24", "48", "64"]).to_owned()));
    changes.push(("mechanics.write_settle_ms", as_ms(between(random, 0, 800))));
    changes
}

/// Draws a number from `low` to `high`.
fn between(random: &mut Xorshift, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// Draws one of the choices.
fn one_of<T: Copy>(random: &mut Xorshift, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// Writes microseconds as milliseconds.
fn as_ms(microseconds: u64) -> String {
    format!("{}.{:03}", microseconds / 1_000, microseconds % 1_000)
}

/// Finds a figure of a profile, without its source.
fn find_figure<'a>(profile: &'a Table, key: &str) -> Option<&'a Value> {
    let (sections, name) = key.rsplit_once('.').unwrap_or(("", key));
    let mut table = profile;
    for section in sections.split('.').filter(|section| !section.is_empty()) {
        table = table.get(section)?.as_table()?;
    }
    let figure = table.get(name)?;
    Some(figure.get("value").unwrap_or(figure))
}

/// Returns a number of a profile.
pub fn number(profile: &Table, key: &str) -> Option<f64> {
    let figure = find_figure(profile, key)?;
    figure.as_float().or_else(|| figure.as_integer().map(|whole| whole as f64))
}

/// Returns a word of a profile.
pub fn word<'a>(profile: &'a Table, key: &str) -> Option<&'a str> {
    find_figure(profile, key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_equal_each_time_and_differ_from_each_other() {
        let profile = "[mechanics]\nrpm = { value = 7200, datasheet = \"a\" }\n[mechanics.seek]\nform = \"sibling\"\n\
                       average_ms = { value = 8.5, datasheet = \"b\" }\nsingle_ms = { value = 1.0, datasheet = \"c\" }\n";
        let read = |_: &str| profile.parse::<Table>().map_err(|why| why.to_string());
        let pairs = choose_pairs(30, &read).unwrap();
        assert_eq!(pairs[..7], choose_pairs(7, &read).unwrap());
        for pair in &pairs {
            assert_ne!(pair.truth, pair.start);
            assert_eq!(pair.changes.is_empty(), pair.kind != Kind::Invented);
            let same = |other: &&Pair| (other.kind, other.truth, other.start) == (pair.kind, pair.truth, pair.start);
            assert_eq!(pairs.iter().filter(same).count(), 1, "{pair:?}");
        }
        let profile = read("").unwrap();
        assert_eq!(
            (number(&profile, "mechanics.rpm"), word(&profile, "mechanics.seek.form")),
            (Some(7200.0), Some("sibling"))
        );
        let invented = &pairs[1];
        let average = invented.true_number(&profile, "mechanics.seek.average_ms").unwrap();
        assert!(average != 8.5 && (6.375..=11.9).contains(&average), "{average}");
        assert_eq!(pairs[0].true_number(&profile, "mechanics.seek.average_ms"), Some(8.5));
        assert_eq!(pairs[0].true_number(&profile, "firmware.queue.ahead"), None);
    }
}
