//! Chooses the faults of a seed, and writes the source text with each behind its switch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::sites::{FaultKind, Site};
use crate::mutate::Xorshift;

/// The most faults in one function. A limit leaves faults for many functions.
const MAX_FAULTS_IN_FUNCTION: usize = 3;

/// A planted fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Its number, which switches it on.
    pub id: u32,
    /// The place in the source.
    pub site: Site,
    /// The text that stood there.
    pub before: String,
    /// The text that stands there while the fault is on.
    pub after: String,
}

impl Fault {
    /// The folder of its crate, from the root.
    pub fn crate_folder(&self) -> &str {
        crate_folder(&self.site.file)
    }

    /// The new text: it does as the former one unless the fault is switched on.
    fn text_with_switch(&self) -> String {
        let Fault { id, before, after, .. } = self;
        let is_on = format!("crate::planted::on({id})");
        match self.site.kind {
            FaultKind::Condition if after.starts_with("!(") => format!("(({before}) != {is_on})"),
            FaultKind::Statement => format!("if !{is_on} {{ {before} }}"),
            FaultKind::Return => format!(" if {is_on} {{ {after} }} "),
            _ => format!("(if {is_on} {{ {after} }} else {{ {before} }})"),
        }
    }
}

/// The crate's folder of a file (`crates/disk`).
pub fn crate_folder(file: &str) -> &str {
    file.find("/src/").map_or(file, |at| &file[..at])
}

fn seeded_generator(seed: u64) -> Xorshift {
    Xorshift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

fn shuffle_with<T>(mut items: Vec<T>, generator: &mut Xorshift) -> Vec<T> {
    for index in (1..items.len()).rev() {
        items.swap(index, generator.below(index as u64 + 1) as usize);
    }
    items
}

/// The items in an order that the seed draws.
pub fn shuffle<T>(items: Vec<T>, seed: u64) -> Vec<T> {
    shuffle_with(items, &mut seeded_generator(seed))
}

/// Chooses up to `count` faults by the seed, evenly over all sites; no two overlap. `texts` are the sources by file.
pub fn choose_faults(sites: Vec<Site>, texts: &BTreeMap<String, String>, seed: u64, count: usize) -> Vec<Fault> {
    let mut draws = seeded_generator(seed);
    let sites = shuffle_with(sites, &mut draws);
    let (mut spans_by_file, mut counts_by_function) = (BTreeMap::<String, Vec<Range<usize>>>::new(), BTreeMap::new());
    let mut chosen = Vec::new();
    for site in sites {
        let change_index = draws.below(site.changes.len() as u64) as usize;
        let spans = spans_by_file.entry(site.file.clone()).or_default();
        let count_in_function: &mut usize =
            counts_by_function.entry((site.file.clone(), site.function.clone())).or_default();
        let overlaps = |span: &Range<usize>| span.start < site.span.end && site.span.start < span.end;
        if chosen.len() == count
            || *count_in_function == MAX_FAULTS_IN_FUNCTION
            || spans.iter().any(|span| overlaps(span) || *span == site.span)
        {
            continue;
        }
        *count_in_function += 1;
        spans.push(site.span.clone());
        let before = texts[&site.file][site.span.clone()].to_owned();
        chosen.push(Fault { id: 0, after: site.changes[change_index].clone(), before, site });
    }
    let position = |fault: &Fault| (fault.site.file.clone(), fault.site.span.start, fault.site.span.end);
    chosen.sort_by_key(position);
    chosen.iter_mut().zip(1..).for_each(|(fault, id)| fault.id = id);
    chosen
}

/// Faults by their numbers, with the bytes that they take in a new text.
pub type FaultPlaces = Vec<(u32, Range<usize>)>;

/// Plants faults in a file's text, except for the dropped ones; returns the new text, and the place of each fault in
/// it.
pub fn plant_faults(text: &str, faults: &[&Fault], dropped: &BTreeSet<u32>) -> (String, FaultPlaces) {
    let (mut new, mut places, mut copied) = (String::new(), Vec::new(), 0);
    for fault in faults.iter().filter(|fault| !dropped.contains(&fault.id)) {
        new.push_str(&text[copied..fault.site.span.start]);
        let start = new.len();
        new.push_str(&fault.text_with_switch());
        places.push((fault.id, start..new.len()));
        copied = fault.site.span.end;
    }
    new.push_str(&text[copied..]);
    (new, places)
}

/// The faults that may cause an error at these bytes of the new text: those that touch them, else the nearest one.
pub fn faults_near(places: &[(u32, Range<usize>)], error: &Range<usize>) -> Vec<u32> {
    let touching: Vec<u32> = places
        .iter()
        .filter(|(_, place)| place.start <= error.end && error.start <= place.end)
        .map(|(id, _)| *id)
        .collect();
    if !touching.is_empty() {
        return touching;
    }
    let distance =
        |place: &Range<usize>| place.start.saturating_sub(error.end).max(error.start.saturating_sub(place.end));
    places.iter().min_by_key(|(_, place)| distance(place)).map(|(id, _)| *id).into_iter().collect()
}

#[cfg(test)]
mod tests;
