//! Relations between the parts of a review, as its page shows them.
//!
//! - A part may hold one level of a factor that another part compares. Its chapter then names that level: "cache on".
//! - A part may measure what a power cut loses by a change whose speed another part judges. The answer of the latter then shows
//!   the loss as the price of the change.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_drives::dotted::flatten;
use seekwise_formats::study::{Factor, Study};

use crate::provenance::StudyProvenance;
use crate::report::ReportVerdict;
use crate::report::review::Chapter;

/// First words of the keys that describe the work. Each part has its own work and names it, so these keys are never held levels.
const WORK: [&str; 3] = ["job", "program", "volume"];

/// Adds held levels and prices to the chapters of `parts`, which are in the same order. The first leading verdict on the priced change, in
/// the parts that answer the question, shows the price and the name of the part that measured it. All leading verdicts on the change say
/// that it has a price.
pub fn add_held_levels_and_prices(parts: &[(&Study, &StudyProvenance)], chapters: &mut [Chapter]) {
    let answering: Vec<bool> = match chapters.iter().any(|chapter| chapter.answers) {
        true => chapters.iter().map(|chapter| chapter.answers).collect(),
        false => vec![true; chapters.len()],
    };
    for (index, chapter) in chapters.iter_mut().enumerate() {
        chapter.held = levels_held_by_part(parts, &answering, index);
    }
    for ChangePrice { change, price, loses, part } in collect_prices(parts, chapters) {
        let heading = chapters[part].heading.clone();
        let leading = chapters.iter_mut().enumerate().flat_map(|(index, chapter)| {
            let leading = chapter.report.verdicts.iter_mut().filter(|verdict| verdict.leads);
            leading.map(move |verdict| (index, verdict))
        });
        let on_change = leading.filter(|(index, verdict)| changed_settings(parts[*index].1, verdict) == change);
        let mut on_change: Vec<(usize, &mut ReportVerdict)> = on_change.collect();
        for (_, verdict) in on_change.iter_mut().filter(|(_, verdict)| verdict.price.is_none()) {
            verdict.mark_loss(loses);
        }
        let first = on_change.into_iter().find(|(index, _)| answering[*index]);
        if let Some((_, verdict)) = first.filter(|(_, verdict)| verdict.price.is_none()) {
            verdict.set_price(format!("{price}, says the part \u{201c}{heading}\u{201d}"), loses);
        }
    }
}

/// A change, and the words for what a power cut loses by it.
struct ChangePrice {
    change: ChangedSettings,
    price: String,
    loses: bool,
    /// The index of the part that measured it.
    part: usize,
}

/// Settings in which two sides differ, by key: the value on each side, `None` where the side has no such setting.
type ChangedSettings = BTreeMap<String, [Option<String>; 2]>;

fn collect_prices(parts: &[(&Study, &StudyProvenance)], chapters: &[Chapter]) -> Vec<ChangePrice> {
    let prices_of_part = |(part, chapter): (usize, &Chapter)| -> Vec<ChangePrice> {
        let prices = chapter.report.verdicts.iter().filter_map(|verdict| {
            let (change, price) = (changed_settings(parts[part].1, verdict), verdict.price.clone()?);
            (!change.is_empty()).then_some(ChangePrice { change, price, loses: verdict.loses, part })
        });
        prices.collect()
    };
    chapters.iter().enumerate().flat_map(prices_of_part).collect()
}

/// The settings in which the sides of a verdict differ; empty if it has no sides.
fn changed_settings(made: &StudyProvenance, verdict: &ReportVerdict) -> ChangedSettings {
    let cells: Vec<usize> = verdict.cell_ids.iter().filter_map(|id| id.parse().ok()).collect();
    let mut all = ChangedSettings::new();
    for (side, cell) in cells.iter().take(2).enumerate() {
        for setting in made.cell_settings(*cell) {
            all.entry(setting.key.clone()).or_default()[side] = Some(setting.value.clone());
        }
    }
    all.retain(|_, [from, to]| from != to);
    all
}

/// A factor that a part compares.
#[derive(Clone, Copy)]
struct ComparedFactor<'a> {
    made: &'a StudyProvenance,
    /// The index of the factor in its study.
    index: usize,
    factor: &'a Factor,
}

/// The levels that part number `part` holds in all its cells, of factors whose comparison leads another part that answers the question:
/// "cache on".
fn levels_held_by_part(parts: &[(&Study, &StudyProvenance)], answering: &[bool], part: usize) -> Vec<String> {
    let own = parts[part].1;
    let others = parts.iter().enumerate().filter(|(other, _)| *other != part && answering[*other]);
    let compared = others.flat_map(|(_, (study, made))| {
        let factors = study.factor.iter().enumerate();
        let leads =
            |factor: &Factor| study.compare.iter().any(|compare| compare.headline && compare.factor == factor.name);
        let leading = factors.filter(move |(_, factor)| leads(factor));
        leading.map(move |(index, factor)| ComparedFactor { made, index, factor })
    });
    let mut held: Vec<String> = Vec::new();
    let mut keys_named: Vec<BTreeSet<String>> = Vec::new();
    for compared in compared {
        let factor = compared.factor;
        let keys = factor_keys(factor);
        let level = level_held_in_all_cells(own, &keys, compared).filter(|_| !keys_named.contains(&keys));
        if let Some(level) = level {
            let says = factor.says.as_ref().map_or(String::new(), |says| format!(" ({says})"));
            held.push(held_level_words(&factor.name, &level) + &says);
            keys_named.push(keys);
        }
    }
    held
}

/// A held level in words, to which the factor's meaning may be added in brackets: "cache on (of writes)".
fn held_level_words(factor: &str, level: &str) -> String {
    format!("{factor} {}", level_in_words(level))
}

/// True if `held`, one of [`Chapter::held`], names this level of the factor.
pub(super) fn is_held_level(held: &str, factor: &str, level: &str) -> bool {
    let rest = held.strip_prefix(&held_level_words(factor, level));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}

/// The settings that a factor sets.
fn factor_keys(factor: &Factor) -> BTreeSet<String> {
    let set = factor.bundle.iter().flat_map(|bundle| flatten(&bundle.set)).map(|(key, _)| key);
    factor.key.iter().cloned().chain(set).collect()
}

/// The level of another part's factor whose settings all cells of `own` have; `None` if none or several fit, or if cells differ.
fn level_held_in_all_cells(
    own: &StudyProvenance,
    keys: &BTreeSet<String>,
    compared: ComparedFactor<'_>,
) -> Option<String> {
    if keys.iter().any(|key| WORK.contains(&key.split('.').next().unwrap_or_default())) {
        return None;
    }
    let values = |made: &StudyProvenance, cell: usize| -> Vec<Option<String>> {
        keys.iter().map(|key| made.find_setting(cell, key).map(|setting| setting.value.clone())).collect()
    };
    let first = values(own, 0);
    let has_all_keys = first.iter().all(Option::is_some);
    let all_alike = (1..own.cells.len()).all(|cell| values(own, cell) == first);
    if !has_all_keys || !all_alike {
        return None;
    }
    let ComparedFactor { made, index, factor } = compared;
    let mut fitting = factor.level_names().into_iter().filter(|level| {
        let mut cells = (0..made.cells.len()).filter(|cell| made.cells[*cell].cell.levels.get(index) == Some(level));
        cells.any(|cell| values(made, cell) == first)
    });
    fitting.next().filter(|_| fitting.next().is_none())
}

/// A level in words: the values of a switch become "on" and "off".
pub(super) fn level_in_words(level: &str) -> &str {
    match level {
        "true" => "on",
        "false" => "off",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::outcome::Outcome;
    use crate::plan;
    use crate::provenance::RunSample;
    use crate::report::Report;

    const HEAD: &str = "title = 't'\nquestion = 'q'\nruntime = '1 s'\njob = 'random-read'\n[stack]\n\
                        drive = 'barracuda-7200.7-ncq'\n";
    const CACHE: &str = "[[factor]]\nname = 'cache'\nsays = 'of writes'\n[[factor.bundle]]\nname = 'on'\n\
                         set = { 'drive.cache.write_back' = true }\n[[factor.bundle]]\nname = 'off'\n\
                         set = { 'drive.cache.write_back' = false }\n[[compare]]\nname = 'c'\nfactor = 'cache'\n\
                         from = 'off'\nto = 'on'\nheadline = true\n";
    const QUEUE: &str = "[[factor]]\nname = 'queue'\nkey = 'drive.firmware.depth'\nlevels = [1, 32]\n[[compare]]\n\
                         name = 'q'\nfactor = 'queue'\nfrom = 1\nto = 32\nheadline = true\n";

    const ALL: [bool; 3] = [true; 3];

    fn made(factors: &str) -> (Study, StudyProvenance) {
        let text = format!("{HEAD}{factors}");
        let study = seekwise_formats::study::parse("s.toml", &text).unwrap();
        let inputs = Inputs::from_today(&|_| Err(std::io::ErrorKind::NotFound.into()));
        let cells = plan::study_cells(&study);
        let prepared: Vec<_> = cells.iter().map(|cell| plan::prepare_cell("s.toml", cell, &inputs).unwrap()).collect();
        let made =
            StudyProvenance::new(String::new(), &cells, &prepared, inputs.texts_read(), RunSample::new(&study, None));
        (study, made)
    }

    fn chapter(price: Option<&str>) -> Chapter {
        let price = price.map(str::to_owned);
        let sides = vec!["1".to_owned(), "0".to_owned()];
        let loses = price.is_some();
        let verdict = Outcome::Faster;
        let verdict = ReportVerdict { leads: true, cell_ids: sides, price, loses, verdict, ..ReportVerdict::default() };
        let report = Report { verdicts: vec![verdict], ..Report::default() };
        Chapter { heading: "The price".to_owned(), report, ..Chapter::default() }
    }

    #[test]
    fn a_part_names_the_level_that_others_compare() {
        let all = [made(QUEUE), made(CACHE), made(&format!("{CACHE}{QUEUE}"))];
        let parts: Vec<(&Study, &StudyProvenance)> = all.iter().map(|(study, made)| (study, made)).collect();
        assert_eq!(levels_held_by_part(&parts, &ALL, 0), ["cache on (of writes)"], "said once");
        assert_eq!(levels_held_by_part(&parts, &ALL, 1), ["queue 32"]);
        assert!(levels_held_by_part(&parts, &ALL, 2).is_empty(), "it varies both");
        assert!(levels_held_by_part(&parts, &[true, false, false], 0).is_empty(), "the others do not answer");
        let work = made(
            "[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n[[compare]]\nname = 'd'\n\
                         factor = 'depth'\nfrom = 1\nto = 8\n",
        );
        assert!(
            levels_held_by_part(&[(&all[0].0, &all[0].1), (&work.0, &work.1)], &ALL, 0).is_empty(),
            "work is each part's own"
        );
    }

    #[test]
    fn a_price_goes_with_the_first_answer_of_the_same_change() {
        let all = [made(QUEUE), made(CACHE), made(CACHE), made(CACHE)];
        let parts: Vec<(&Study, &StudyProvenance)> = all.iter().map(|(study, made)| (study, made)).collect();
        let loses = Some("but it loses");
        let mut chapters = [chapter(None), chapter(None), chapter(None), chapter(loses)];
        add_held_levels_and_prices(&parts, &mut chapters);
        let price = |place: usize| chapters[place].report.verdicts[0].price.as_deref();
        assert_eq!(price(1), Some("but it loses, says the part \u{201c}The price\u{201d}"));
        assert_eq!((price(0), price(2), price(3)), (None, None, loses));
        let tempered = |place: usize| chapters[place].report.verdicts[0].tempered;
        assert_eq!([0, 1, 2].map(tempered), [false, true, true], "each gain of that change has the price");
        // A change from on to off is not the change from off to on.
        let mut turned = [chapter(None), chapter(loses)];
        turned[0].report.verdicts[0].cell_ids.reverse();
        add_held_levels_and_prices(&parts[1..3], &mut turned);
        assert_eq!(turned[0].report.verdicts[0].price, None);
    }
}
