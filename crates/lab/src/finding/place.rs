//! Where an effect is: the cells of a comparison grouped by what came out of them, in as few words as separate the
//! groups.
//!
//! The rule. Cells are *faster*, *slower*, *no difference* or undecided. A group is described by a box: for each factor the
//! levels that its cells have. A box describes its group when no cell of another group is in it; undecided cells may be,
//! and are counted. Where one box does not do, the group is cut in two at a level of one factor, once. The largest group
//! that is left is *elsewhere*. Where even two boxes do not do, nothing is invented: the cells are counted by the
//! levels of the factor that separates them best.

use serde::Serialize;

use crate::report::Outcome;

/// A factor other than the one compared.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub factor: String,
    /// Its levels, in the study's order.
    pub levels: Vec<String>,
}

/// A cell of the comparison.
#[derive(Clone, Debug)]
pub struct Place {
    /// For each axis, which level.
    pub at: Vec<usize>,
    /// What came out.
    pub outcome: Outcome,
    /// By how much.
    pub ratio: f64,
}

/// Cells with one outcome, and the words for where they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Region {
    /// "depth 8 and more, pattern random"; "everywhere"; "elsewhere".
    pub place: String,
    /// What came out there.
    pub verdict: Outcome,
    /// How many cells of this outcome.
    pub cells: usize,
    /// Cells within these words of which nothing is known.
    pub undecided: usize,
    /// The least and the greatest of their ratios.
    pub ratio: Range,
}

/// Ratios of several cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

/// Where the effect of a comparison is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Where {
    /// In one sentence.
    pub text: String,
    /// The groups, the effects first; empty where no few words separate them.
    pub regions: Vec<Region>,
    /// Between which levels of a factor the outcome changes, where that is the same whatever the others.
    pub turns: Vec<String>,
}

/// One set of levels for each axis.
type Levels = Vec<Vec<usize>>;

const DECIDED: [Outcome; 3] = [Outcome::Faster, Outcome::Slower, Outcome::NoDifference];

/// Describes the cells of one comparison; nothing when none is decided. `margin` is 0.02 for ±2 %.
pub fn describe(axes: &[Axis], places: &[Place], margin: f64) -> Option<Where> {
    let of = |outcome: Outcome| places.iter().filter(move |place| place.outcome == outcome);
    let present: Vec<Outcome> = DECIDED.into_iter().filter(|outcome| of(*outcome).next().is_some()).collect();
    let last = elsewhere(axes, places, &present)?;
    let mut regions = Some(Vec::new());
    for outcome in present.iter().copied().filter(|outcome| *outcome != last) {
        match (boxes(axes, places, outcome), regions.as_mut()) {
            (Some(boxes), Some(regions)) => regions.extend(boxes.iter().map(|it| region(axes, places, outcome, it))),
            _ => regions = None,
        }
    }
    let Some(mut regions) = regions else {
        return Some(Where { text: counted(axes, places, &present), ..Where::default() });
    };
    let alone = regions.is_empty();
    let rest: Vec<&Place> = of(last).collect();
    let inside: usize = regions.iter().map(|region| region.undecided).sum();
    let undecided = of(Outcome::NotEnoughData).count() - inside.min(of(Outcome::NotEnoughData).count());
    let place = if alone { "everywhere" } else { "elsewhere" }.to_owned();
    regions.push(Region { place, verdict: last, cells: rest.len(), undecided, ratio: range(&rest) });
    let turns = turns(axes, places);
    let text = sentence(&regions, &turns, places.len(), margin);
    Some(Where { text, regions, turns })
}

/// The group that is named by what it is not: the one that no box describes, else the cells without a difference,
/// else the largest.
fn elsewhere(axes: &[Axis], places: &[Place], present: &[Outcome]) -> Option<Outcome> {
    let count = |outcome: &Outcome| places.iter().filter(|place| place.outcome == *outcome).count();
    let loose = present.iter().copied().find(|outcome| boxes(axes, places, *outcome).is_none());
    let same = present.iter().copied().find(|outcome| *outcome == Outcome::NoDifference);
    loose.or(same).or_else(|| present.iter().copied().max_by_key(count))
}

/// The levels that cells have, axis by axis.
fn hull<'a>(axes: &[Axis], of: impl Iterator<Item = &'a Place> + Clone) -> Levels {
    let levels = |axis: usize| {
        let mut levels: Vec<usize> = of.clone().map(|place| place.at[axis]).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    };
    (0..axes.len()).map(levels).collect()
}

fn holds(within: &Levels, place: &Place) -> bool {
    within.iter().zip(&place.at).all(|(levels, at)| levels.contains(at))
}

/// No cell of another group is in it.
fn is_clean(within: &Levels, places: &[Place], outcome: Outcome) -> bool {
    let other = |place: &Place| DECIDED.contains(&place.outcome) && place.outcome != outcome;
    !places.iter().any(|place| other(place) && holds(within, place))
}

/// One box or two that describe a group.
fn boxes(axes: &[Axis], places: &[Place], outcome: Outcome) -> Option<Vec<Levels>> {
    let own: Vec<&Place> = places.iter().filter(|place| place.outcome == outcome).collect();
    let whole = hull(axes, own.iter().copied());
    if is_clean(&whole, places, outcome) {
        return Some(vec![whole]);
    }
    let halves = |axis: usize, low: &dyn Fn(usize) -> bool| {
        let side = |wanted: bool| {
            let cells: Vec<&Place> = own.iter().copied().filter(|place| low(place.at[axis]) == wanted).collect();
            hull(axes, cells.iter().copied())
        };
        let mut halves = vec![side(true), side(false)];
        halves.sort();
        halves.iter().all(|half| is_clean(half, places, outcome)).then_some(halves)
    };
    for (axis, levels) in whole.iter().enumerate() {
        let numeric = is_numeric(&axes[axis]);
        for cut in levels.iter().skip(usize::from(numeric || levels.len() == 1)) {
            let found = match numeric {
                true => halves(axis, &|at| at < *cut),
                false => halves(axis, &|at| at != *cut),
            };
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn region(axes: &[Axis], places: &[Place], outcome: Outcome, within: &Levels) -> Region {
    let inside: Vec<&Place> = places.iter().filter(|place| holds(within, place)).collect();
    let own: Vec<&Place> = inside.iter().copied().filter(|place| place.outcome == outcome).collect();
    let words: Vec<String> = axes.iter().zip(within).filter_map(|(axis, levels)| words(axis, levels)).collect();
    Region {
        place: words.join(", "),
        verdict: outcome,
        cells: own.len(),
        undecided: inside.len() - own.len(),
        ratio: range(&own),
    }
}

fn range(places: &[&Place]) -> Range {
    let ratios = || places.iter().map(|place| place.ratio);
    Range { low: ratios().fold(f64::INFINITY, f64::min), high: ratios().fold(0.0, f64::max) }
}

fn number(level: &str) -> Option<f64> {
    level.parse().ok()
}

/// Its levels are numbers in rising order.
fn is_numeric(axis: &Axis) -> bool {
    let numbers: Option<Vec<f64>> = axis.levels.iter().map(|level| number(level)).collect();
    numbers.is_some_and(|numbers| numbers.is_sorted())
}

/// The words for some levels of a factor; none for all of them.
fn words(axis: &Axis, levels: &[usize]) -> Option<String> {
    let Axis { factor, levels: all } = axis;
    let (first, last) = (*levels.first()?, *levels.last()?);
    if levels.len() == all.len() {
        return None;
    }
    let together = last - first + 1 == levels.len();
    Some(match (is_numeric(axis) && together, levels.len()) {
        (_, 1) => format!("{factor} {}", all[first]),
        (true, _) if last + 1 == all.len() => format!("{factor} {} and more", all[first]),
        (true, _) if first == 0 => format!("{factor} up to {}", all[last]),
        (true, _) => format!("{factor} {} to {}", all[first], all[last]),
        (false, _) if levels.len() > 2 && levels.len() * 2 > all.len() => {
            let missing = (0..all.len()).filter(|level| !levels.contains(level)).map(|level| all[level].as_str());
            format!("{factor} other than {}", listed(&missing.collect::<Vec<_>>(), "and"))
        }
        (false, _) => {
            let named: Vec<&str> = levels.iter().map(|level| all[*level].as_str()).collect();
            format!("{factor} {}", listed(&named, "or"))
        }
    })
}

/// `a, b or c`.
fn listed(words: &[&str], last: &str) -> String {
    match words {
        [before @ .., end] if !before.is_empty() => format!("{} {last} {end}", before.join(", ")),
        _ => words.concat(),
    }
}

/// Along each numeric factor, the pair of levels between which the outcome changes in every row of the others in which it
/// changes at all; a row that changes twice is none.
fn turns(axes: &[Axis], places: &[Place]) -> Vec<String> {
    let turn = |axis: usize| {
        let mut found: Option<(usize, usize)> = None;
        for start in places.iter().filter(|place| place.at[axis] == 0) {
            let row = |level: usize| {
                let here = |place: &&Place| {
                    (0..axes.len()).all(|it| place.at[it] == if it == axis { level } else { start.at[it] })
                };
                let decided = places.iter().find(here).map(|place| place.outcome);
                decided.filter(|outcome| DECIDED.contains(outcome)).map(|outcome| (level, outcome))
            };
            let row: Vec<(usize, Outcome)> = (0..axes[axis].levels.len()).filter_map(row).collect();
            let changes: Vec<(usize, usize)> =
                row.windows(2).filter(|pair| pair[0].1 != pair[1].1).map(|pair| (pair[0].0, pair[1].0)).collect();
            match (changes[..].as_ref(), found) {
                ([], _) => {}
                ([one], None) => found = Some(*one),
                ([one], Some(known)) if *one == known => {}
                _ => return None,
            }
        }
        let (below, above) = found?;
        let Axis { factor, levels } = &axes[axis];
        Some(format!("between {factor} {} and {}", levels[below], levels[above]))
    };
    (0..axes.len()).filter(|axis| is_numeric(&axes[*axis])).filter_map(turn).collect()
}

/// `+13 %`; of a range that reaches double or half both its ends as `2.40 ×`.
fn by(Range { low, high }: Range) -> String {
    let percents = [low, high].iter().all(|ratio| (0.5..2.0).contains(ratio));
    let percent = |ratio: f64| format!("{:+.0}", (ratio - 1.0) * 100.0);
    let times = |ratio: f64| format!("{ratio:.2}");
    let (low, high, unit) = match percents {
        true => (percent(low), percent(high), "%"),
        false => (times(low), times(high), "×"),
    };
    match low == high {
        true => format!("{low} {unit}"),
        false => format!("{low} to {high} {unit}"),
    }
}

/// A region's outcome with its figures.
fn outcome(region: &Region, margin: f64) -> String {
    match region.verdict {
        Outcome::NoDifference => {
            let percent = (margin * 1e5).round() / 1e3;
            format!("no difference within ±{percent} %")
        }
        verdict => format!("{}, {}", verdict.name(), by(region.ratio)),
    }
}

fn sentence(regions: &[Region], turns: &[String], all: usize, margin: f64) -> String {
    let cells = |count: usize| if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
    let said = |region: &Region| {
        let open = match region.undecided {
            0 => String::new(),
            open => format!(" ({} undecided)", cells(open)),
        };
        let place = match region.place.as_str() {
            "everywhere" if region.cells == all => format!("in all {}", cells(all)),
            "everywhere" => format!("in {} of {}", region.cells, cells(all)),
            "elsewhere" => return format!("elsewhere {}{open}", outcome(region, margin)),
            place => format!("at {place}"),
        };
        format!("{} {place}{open}", outcome(region, margin))
    };
    let mut said: Vec<String> = regions.iter().map(said).collect();
    if !turns.is_empty() {
        said.push(format!("turns {}", turns.join(" and ")));
    }
    said.join("; ")
}

/// Where few words do not separate the groups: how many cells of each, along the factor whose levels tell most.
fn counted(axes: &[Axis], places: &[Place], present: &[Outcome]) -> String {
    let count = |outcome: Outcome, axis: usize, level: usize| {
        places.iter().filter(|place| place.outcome == outcome && place.at[axis] == level).count()
    };
    let told = |axis: usize| -> usize {
        let levels = 0..axes[axis].levels.len();
        levels.map(|level| present.iter().map(|outcome| count(*outcome, axis, level)).max().unwrap_or(0)).sum()
    };
    let all = |outcome: Outcome| places.iter().filter(|place| place.outcome == outcome).count();
    let of = |outcome: &Outcome| format!("{} in {}", outcome.name(), all(*outcome));
    let open = all(Outcome::NotEnoughData);
    let mut head: Vec<String> = present.iter().map(of).collect();
    if open > 0 {
        head.push(format!("not enough data in {open}"));
    }
    let head = format!("{} of {} cells, in no few words", head.join(", "), places.len());
    let Some(axis) = (0..axes.len()).rev().max_by_key(|axis| told(*axis)) else { return head };
    let at = |(level, name): (usize, &String)| {
        let here = present.iter().filter(|outcome| count(**outcome, axis, level) > 0);
        let here: Vec<String> = here.map(|it| format!("{} {}", count(*it, axis, level), it.name())).collect();
        (!here.is_empty()).then(|| format!("{name}: {}", here.join(", ")))
    };
    let levels: Vec<String> = axes[axis].levels.iter().enumerate().filter_map(at).collect();
    format!("{head}; by {}: {}", axes[axis].factor, levels.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::{Faster, NoDifference, NotEnoughData, Slower};

    fn axes() -> Vec<Axis> {
        let axis = |factor: &str, levels: &[&str]| Axis {
            factor: factor.to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        vec![axis("pattern", &["random", "stream", "mixed"]), axis("depth", &["1", "4", "8", "64"])]
    }

    fn places(outcome: impl Fn(&str, u32) -> (Outcome, f64)) -> Vec<Place> {
        let axes = axes();
        let mut places = Vec::new();
        for (pattern, name) in axes[0].levels.iter().enumerate() {
            for (depth, level) in axes[1].levels.iter().enumerate() {
                let (outcome, ratio) = outcome(name, level.parse().unwrap());
                places.push(Place { at: vec![pattern, depth], outcome, ratio });
            }
        }
        places
    }

    fn said(outcome: impl Fn(&str, u32) -> (Outcome, f64)) -> String {
        describe(&axes(), &places(outcome), 0.02).unwrap().text
    }

    #[test]
    fn one_corner_has_the_effect() {
        let text = said(|pattern, depth| match (pattern, depth) {
            ("random", 8) => (Faster, 1.13),
            ("random", 64) => (Faster, 1.22),
            _ => (NoDifference, 1.001),
        });
        assert_eq!(
            text,
            "faster, +13 to +22 % at pattern random, depth 8 and more; elsewhere no difference within ±2 %; \
             turns between depth 4 and 8"
        );
    }

    #[test]
    fn levels_are_said_the_shorter_way() {
        let axis = |levels: &[&str]| Axis {
            factor: "mix".to_owned(),
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
        };
        let mixes = axis(&["a", "b", "c", "d", "e"]);
        assert_eq!(words(&mixes, &[0, 1, 2, 3, 4]), None);
        assert_eq!(words(&mixes, &[1, 3]).unwrap(), "mix b or d");
        assert_eq!(words(&mixes, &[0, 2, 4]).unwrap(), "mix other than b and d");
        let depths = axis(&["1", "4", "8", "64"]);
        assert_eq!(words(&depths, &[0, 1]).unwrap(), "mix up to 4");
        assert_eq!(words(&depths, &[1, 2]).unwrap(), "mix 4 to 8");
        assert_eq!(words(&depths, &[0, 2]).unwrap(), "mix 1 or 8");
    }

    #[test]
    fn all_cells_alike_are_said_once() {
        assert_eq!(said(|_, _| (Slower, 0.9)), "slower, -10 % in all 12 cells");
        assert_eq!(said(|_, _| (NoDifference, 1.0)), "no difference within ±2 % in all 12 cells");
        let open = said(|_, depth| if depth == 1 { (NotEnoughData, 1.0) } else { (Faster, 2.5) });
        assert_eq!(open, "faster, 2.50 × in 9 of 12 cells (3 cells undecided)");
    }

    #[test]
    fn faster_here_and_slower_there_name_both() {
        let text = said(|_, depth| match depth {
            1 => (Slower, 0.8),
            4 => (NoDifference, 1.0),
            _ => (Faster, 1.3),
        });
        assert_eq!(
            text,
            "faster, +30 % at depth 8 and more; slower, -20 % at depth 1; elsewhere no difference within ±2 %"
        );
        let turn = said(|_, depth| if depth <= 4 { (Slower, 0.8) } else { (Faster, 1.3) });
        assert_eq!(turn, "faster, +30 % at depth 8 and more; elsewhere slower, -20 %; turns between depth 4 and 8");
    }

    #[test]
    fn two_corners_take_two_boxes() {
        let text = said(|pattern, depth| match (pattern, depth) {
            ("random", 64) | ("mixed", 4) => (Faster, 1.5),
            _ => (NoDifference, 1.0),
        });
        assert!(
            text.starts_with(
                "faster, +50 % at pattern random, depth 64; faster, +50 % at pattern mixed, depth 4; elsewhere"
            ),
            "{text}"
        );
    }

    #[test]
    fn what_no_words_separate_is_counted() {
        let text = said(|pattern, depth| match (pattern, depth) {
            ("random", 1) | ("stream", 4) | ("mixed", 8) | ("random", 64) => (Faster, 1.5),
            ("random", 4) | ("stream", 8) | ("mixed", 1) => (Slower, 0.5),
            _ => (NoDifference, 1.0),
        });
        assert!(
            text.starts_with("faster in 4, slower in 3, no difference in 5 of 12 cells, in no few words; by "),
            "{text}"
        );
    }

    #[test]
    fn undecided_cells_are_in_no_way() {
        let found = places(|pattern, depth| match (pattern, depth) {
            ("random", 8) => (NotEnoughData, 1.0),
            ("random", 4 | 64) => (Faster, 1.2),
            _ => (NoDifference, 1.0),
        });
        let found = describe(&axes(), &found, 0.02).unwrap();
        assert_eq!((found.regions[0].cells, found.regions[0].undecided), (2, 0), "{}", found.text);
        assert!(describe(&axes(), &places(|_, _| (NotEnoughData, 1.0)), 0.02).is_none());
    }
}
