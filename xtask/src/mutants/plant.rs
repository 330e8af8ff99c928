//! Which faults a seed chooses, and the source with each behind its switch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::sites::{Kind, Site};
use crate::mutate::Chance;

/// The most faults in one function, so that many functions have one.
const IN_A_FUNCTION: usize = 3;

/// A fault that is planted.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Its number, which switches it on.
    pub id: u32,
    /// Where it stands.
    pub site: Site,
    /// What stood there.
    pub before: String,
    /// What stands there when it is on.
    pub after: String,
}

impl Fault {
    /// The folder of its crate, from the root.
    pub fn home(&self) -> &str {
        home(&self.site.file)
    }

    /// The text with the switch: as before while it is off.
    fn switched(&self) -> String {
        let Fault { id, before, after, .. } = self;
        let on = format!("crate::planted::on({id})");
        match self.site.kind {
            Kind::Condition if after.starts_with("!(") => format!("(({before}) != {on})"),
            Kind::Statement => format!("if !{on} {{ {before} }}"),
            Kind::Return => format!(" if {on} {{ {after} }} "),
            _ => format!("(if {on} {{ {after} }} else {{ {before} }})"),
        }
    }
}

/// The crate's folder of a file (`crates/disk`).
pub fn home(file: &str) -> &str {
    file.find("/src/").map_or(file, |at| &file[..at])
}

fn chance(seed: u64) -> Chance {
    Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

fn shuffled_by<T>(mut things: Vec<T>, chance: &mut Chance) -> Vec<T> {
    for at in (1..things.len()).rev() {
        things.swap(at, chance.below(at as u64 + 1) as usize);
    }
    things
}

/// In an order that the seed draws.
pub fn shuffle<T>(things: Vec<T>, seed: u64) -> Vec<T> {
    shuffled_by(things, &mut chance(seed))
}

/// As many of the sites as asked for, by the seed, evenly over all; no two overlap. Texts are by file.
pub fn choose(sites: Vec<Site>, texts: &BTreeMap<String, String>, seed: u64, count: usize) -> Vec<Fault> {
    let mut draws = chance(seed);
    let sites = shuffled_by(sites, &mut draws);
    let (mut taken, mut in_function) = (BTreeMap::<String, Vec<Range<usize>>>::new(), BTreeMap::new());
    let mut chosen = Vec::new();
    for site in sites {
        let which = draws.below(site.changes.len() as u64) as usize;
        let spans = taken.entry(site.file.clone()).or_default();
        let there: &mut usize = in_function.entry((site.file.clone(), site.function.clone())).or_default();
        let meets = |span: &Range<usize>| span.start < site.span.end && site.span.start < span.end;
        if chosen.len() == count
            || *there == IN_A_FUNCTION
            || spans.iter().any(|span| meets(span) || *span == site.span)
        {
            continue;
        }
        *there += 1;
        spans.push(site.span.clone());
        let before = texts[&site.file][site.span.clone()].to_owned();
        chosen.push(Fault { id: 0, after: site.changes[which].clone(), before, site });
    }
    let place = |fault: &Fault| (fault.site.file.clone(), fault.site.span.start, fault.site.span.end);
    chosen.sort_by_key(place);
    chosen.iter_mut().zip(1..).for_each(|(fault, id)| fault.id = id);
    chosen
}

/// A file's text with its faults, those dropped excepted, and where in the new text each stands.
pub fn rewritten(text: &str, faults: &[&Fault], dropped: &BTreeSet<u32>) -> (String, Vec<(u32, Range<usize>)>) {
    let (mut new, mut places, mut done) = (String::new(), Vec::new(), 0);
    for fault in faults.iter().filter(|fault| !dropped.contains(&fault.id)) {
        new.push_str(&text[done..fault.site.span.start]);
        let start = new.len();
        new.push_str(&fault.switched());
        places.push((fault.id, start..new.len()));
        done = fault.site.span.end;
    }
    new.push_str(&text[done..]);
    (new, places)
}

/// The faults that an error at these bytes of the new text may come of: those it meets, else the nearest.
pub fn blamed(places: &[(u32, Range<usize>)], error: &Range<usize>) -> Vec<u32> {
    let met: Vec<u32> = places
        .iter()
        .filter(|(_, place)| place.start <= error.end && error.start <= place.end)
        .map(|(id, _)| *id)
        .collect();
    if !met.is_empty() {
        return met;
    }
    let far = |place: &Range<usize>| place.start.saturating_sub(error.end).max(error.start.saturating_sub(place.end));
    places.iter().min_by_key(|(_, place)| far(place)).map(|(id, _)| *id).into_iter().collect()
}

#[cfg(test)]
mod tests;
