//! How the parts of a review relate: which levels a part holds that another part compares, and what a power cut loses by a change that a
//! part judges and another part cuts the power of.

use std::collections::{BTreeMap, BTreeSet};

use seekwise_drives::dotted::flatten;
use seekwise_formats::study::{Factor, Study};

use crate::provenance::StudyProvenance;
use crate::report::ReportVerdict;
use crate::report::review::Chapter;

/// Layers whose settings are the work: each part has and names its own.
const WORK: [&str; 3] = ["job", "program", "volume"];

/// Fills the chapters of `parts`, which are in the same order. The loss in a power cut with one part's work is added to the first answer of
/// another part that judges the same change, with the name of the former; each such answer says that it has a price.
pub fn relate_chapters(parts: &[(&Study, &StudyProvenance)], chapters: &mut [Chapter]) {
    let answering: Vec<bool> = match chapters.iter().any(|chapter| chapter.answers) {
        true => chapters.iter().map(|chapter| chapter.answers).collect(),
        false => vec![true; chapters.len()],
    };
    for (place, chapter) in chapters.iter_mut().enumerate() {
        chapter.held = held_levels(parts, &answering, place);
    }
    for ChangePrice { change, price, loses, place } in collect_prices(parts, chapters) {
        let heading = chapters[place].heading.clone();
        let leading = chapters.iter_mut().enumerate().flat_map(|(place, chapter)| {
            let own = chapter.report.verdicts.iter_mut().filter(|verdict| verdict.leads);
            own.map(move |verdict| (place, verdict))
        });
        let alike = leading.filter(|(place, verdict)| self::setting_change(parts[*place].1, verdict) == change);
        let mut same: Vec<(usize, &mut ReportVerdict)> = alike.collect();
        for (_, verdict) in same.iter_mut().filter(|(_, verdict)| verdict.price.is_none()) {
            verdict.add_cost(loses);
        }
        let first = same.into_iter().find(|(place, _)| answering[*place]);
        if let Some((_, verdict)) = first.filter(|(_, verdict)| verdict.price.is_none()) {
            verdict.set_price(format!("{price}, says the part \u{201c}{heading}\u{201d}"), loses);
        }
    }
}

/// A change, and what a power cut loses by it.
struct ChangePrice {
    change: SettingChange,
    price: String,
    loses: bool,
    /// The part that says so.
    place: usize,
}

/// Settings in which two sides differ, with both values.
type SettingChange = BTreeMap<String, [Option<String>; 2]>;

fn collect_prices(parts: &[(&Study, &StudyProvenance)], chapters: &[Chapter]) -> Vec<ChangePrice> {
    let of_chapter = |(place, chapter): (usize, &Chapter)| -> Vec<ChangePrice> {
        let found = chapter.report.verdicts.iter().filter_map(|verdict| {
            let (change, price) = (setting_change(parts[place].1, verdict), verdict.price.clone()?);
            (!change.is_empty()).then_some(ChangePrice { change, price, loses: verdict.loses, place })
        });
        found.collect()
    };
    chapters.iter().enumerate().flat_map(of_chapter).collect()
}

/// The settings in which the sides of a verdict differ; empty if it has no sides.
fn setting_change(made: &StudyProvenance, verdict: &ReportVerdict) -> SettingChange {
    let cells: Vec<usize> = verdict.cell_ids.iter().filter_map(|id| id.parse().ok()).collect();
    let mut all = SettingChange::new();
    for (side, cell) in cells.iter().take(2).enumerate() {
        for setting in made.cell_settings(*cell) {
            all.entry(setting.key.clone()).or_default()[side] = Some(setting.value.clone());
        }
    }
    all.retain(|_, [from, to]| from != to);
    all
}

/// The levels that a part holds in all its cells, of factors that lead the answer of another: "cache on".
fn held_levels(parts: &[(&Study, &StudyProvenance)], answering: &[bool], place: usize) -> Vec<String> {
    let own = parts[place].1;
    let others = parts.iter().enumerate().filter(|(other, _)| *other != place && answering[*other]);
    let compared = others.flat_map(|(_, (study, made))| {
        let factors = study.factor.iter().enumerate();
        let leads = |factor: &Factor| study.compare.iter().any(|it| it.headline && it.factor == factor.name);
        factors.filter(move |(_, factor)| leads(factor)).map(move |(index, factor)| (*made, index, factor))
    });
    let mut held: Vec<String> = Vec::new();
    let mut known: Vec<BTreeSet<String>> = Vec::new();
    for (made, index, factor) in compared {
        let keys = factor_keys(factor);
        let level = fitting_level(own, &keys, (made, index, factor)).filter(|_| !known.contains(&keys));
        if let Some(level) = level {
            let says = factor.says.as_ref().map_or(String::new(), |says| format!(" ({says})"));
            held.push(format!("{} {}{says}", factor.name, spoken_level(&level)));
            known.push(keys);
        }
    }
    held
}

/// The settings that a factor sets.
fn factor_keys(factor: &Factor) -> BTreeSet<String> {
    let set = factor.bundle.iter().flat_map(|bundle| flatten(&bundle.set)).map(|(key, _)| key);
    factor.key.iter().cloned().chain(set).collect()
}

/// The level of another part's factor at which all cells of `own` are; `None` if none or several fit, or if cells differ.
fn fitting_level(
    own: &StudyProvenance,
    keys: &BTreeSet<String>,
    (made, index, factor): (&StudyProvenance, usize, &Factor),
) -> Option<String> {
    if keys.iter().any(|key| WORK.contains(&key.split('.').next().unwrap_or_default())) {
        return None;
    }
    let values = |made: &StudyProvenance, cell: usize| -> Vec<Option<String>> {
        keys.iter().map(|key| made.find_setting(cell, key).map(|setting| setting.value.clone())).collect()
    };
    let first = values(own, 0);
    let known = first.iter().all(Option::is_some);
    let alike = (1..own.cells.len()).all(|cell| values(own, cell) == first);
    if !known || !alike {
        return None;
    }
    let mut fitting = factor.level_names().into_iter().filter(|level| {
        let mut cells = (0..made.cells.len()).filter(|cell| made.cells[*cell].cell.levels.get(index) == Some(level));
        cells.any(|cell| values(made, cell) == first)
    });
    fitting.next().filter(|_| fitting.next().is_none())
}

/// A level as it is said: switches are on or off.
pub(super) fn spoken_level(level: &str) -> &str {
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
        assert_eq!(held_levels(&parts, &ALL, 0), ["cache on (of writes)"], "said once");
        assert_eq!(held_levels(&parts, &ALL, 1), ["queue 32"]);
        assert!(held_levels(&parts, &ALL, 2).is_empty(), "it varies both");
        assert!(held_levels(&parts, &[true, false, false], 0).is_empty(), "the others do not answer");
        let work = made(
            "[[factor]]\nname = 'depth'\nkey = 'job.depth'\nlevels = [1, 8]\n[[compare]]\nname = 'd'\n\
                         factor = 'depth'\nfrom = 1\nto = 8\n",
        );
        assert!(
            held_levels(&[(&all[0].0, &all[0].1), (&work.0, &work.1)], &ALL, 0).is_empty(),
            "work is each part's own"
        );
    }

    #[test]
    fn a_price_goes_with_the_first_answer_of_the_same_change() {
        let all = [made(QUEUE), made(CACHE), made(CACHE), made(CACHE)];
        let parts: Vec<(&Study, &StudyProvenance)> = all.iter().map(|(study, made)| (study, made)).collect();
        let loses = Some("but it loses");
        let mut chapters = [chapter(None), chapter(None), chapter(None), chapter(loses)];
        relate_chapters(&parts, &mut chapters);
        let price = |place: usize| chapters[place].report.verdicts[0].price.as_deref();
        assert_eq!(price(1), Some("but it loses, says the part \u{201c}The price\u{201d}"));
        assert_eq!((price(0), price(2), price(3)), (None, None, loses));
        let tempered = |place: usize| chapters[place].report.verdicts[0].tempered;
        assert_eq!([0, 1, 2].map(tempered), [false, true, true], "each gain of that change has the price");
        // The same setting the other way round is another change.
        let mut turned = [chapter(None), chapter(loses)];
        turned[0].report.verdicts[0].cell_ids.reverse();
        relate_chapters(&parts[1..3], &mut turned);
        assert_eq!(turned[0].report.verdicts[0].price, None);
    }
}
