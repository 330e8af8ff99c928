//! Where an effect is: the cells of a comparison grouped by their outcome, in as few words as separate the groups.
//!
//! The rule. Cells are *faster*, *slower*, *no difference* or undecided. A group is described by a box: for each factor the levels that its
//! cells have. A box describes its group if no cell of another group is in it; undecided cells may be, and are counted. If one box is not
//! enough, the group is cut in two at a level of one factor, once. The group *elsewhere* has no box. If even two boxes are not enough, the
//! cells are counted by the levels of the factor that separates them best.
//!
//! Words. Levels go by the classes of the study if classes cover them exactly, else by their own names. The counts are
//! the decided cells out of all that the words cover. A sentence fits three lines: names that make it longer are
//! replaced by their number, and the table of regions has them.

use serde::Serialize;

use crate::outcome::{DifferenceWords, Outcome};

/// A factor other than the one compared.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub factor: String,
    /// The unit of levels that are numbers.
    pub unit: Option<String>,
    /// In the study's order.
    pub levels: Vec<String>,
    /// Names for several levels together, with their indexes.
    pub classes: Vec<(String, Vec<usize>)>,
}

/// A cell of the comparison.
#[derive(Clone, Debug)]
pub(crate) struct CellOutcome {
    /// For each axis, the index of the level.
    pub at: Vec<usize>,
    pub outcome: Outcome,
    pub ratio: f64,
}

/// Cells with one outcome, and the words for where they are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellRegion {
    /// "depth 8 and more, pattern random"; "everywhere", for all cells only; "where decided"; "elsewhere".
    pub place: String,
    /// The outcome there.
    pub verdict: Outcome,
    /// The word for it, by what is measured: "shorter".
    pub word: &'static str,
    /// Number of cells with this outcome.
    pub cells: usize,
    /// Undecided cells within these words.
    pub undecided: usize,
    /// The lowest and the highest of their ratios.
    pub ratio: RatioRange,
    /// By how much, as the sentence says it: "+13 to +22 %", "within ±2 %".
    pub by: String,
}

/// Ratios of several cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioRange {
    pub low: f64,
    pub high: f64,
}

impl RatioRange {
    /// The ends of some ratios; `None` without any.
    pub(crate) fn from_ratios(ratios: impl Iterator<Item = f64>) -> Option<RatioRange> {
        let wider = |RatioRange { low, high }: RatioRange, ratio: f64| RatioRange {
            low: low.min(ratio),
            high: high.max(ratio),
        };
        ratios.map(|ratio| RatioRange { low: ratio, high: ratio }).reduce(|all, one| wider(all, one.low))
    }
}

/// Where the effect of a comparison is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectLocation {
    /// In one sentence.
    pub text: String,
    /// The groups, the effects first; empty if no few words separate them.
    pub regions: Vec<CellRegion>,
    /// Between which levels of a factor the outcome changes, if that is the same for all other levels.
    pub turns: Vec<String>,
}

/// A box: a set of levels for each axis.
type Levels = Vec<Vec<usize>>;

const DECIDED: [Outcome; 3] = [Outcome::Faster, Outcome::Slower, Outcome::NoDifference];

/// The wording of outcomes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutcomeWording {
    /// 0.02 for ±2 %.
    pub margin: f64,
    /// The words for the metric.
    pub words: DifferenceWords,
}

/// Describes the cells of one comparison; `None` if none is decided.
pub(crate) fn describe_location(
    axes: &[Axis],
    places: &[CellOutcome],
    saying: OutcomeWording,
) -> Option<EffectLocation> {
    let of = |outcome: Outcome| places.iter().filter(move |place| place.outcome == outcome);
    let present: Vec<Outcome> = DECIDED.into_iter().filter(|outcome| of(*outcome).next().is_some()).collect();
    let last = elsewhere_outcome(axes, places, &present)?;
    let mut regions = Some(Vec::new());
    for outcome in present.iter().copied().filter(|outcome| *outcome != last) {
        match (find_boxes(axes, places, outcome), regions.as_mut()) {
            (Some(boxes), Some(regions)) => {
                regions.extend(boxes.iter().map(|it| describe_region((axes, places), outcome, it, saying)))
            }
            _ => regions = None,
        }
    }
    let Some(mut regions) = regions else {
        return Some(EffectLocation {
            text: count_by_levels(axes, places, &present, saying),
            ..EffectLocation::default()
        });
    };
    let rest: Vec<&CellOutcome> = of(last).collect();
    let inside: usize = regions.iter().map(|said| said.region.undecided).sum();
    let undecided = of(Outcome::NotEnoughData).count() - inside.min(of(Outcome::NotEnoughData).count());
    let place = match (regions.is_empty(), undecided) {
        (true, 0) => EVERYWHERE,
        (true, _) => WHERE_DECIDED,
        (false, _) => ELSEWHERE,
    };
    let (word, cells, ratio) = (saying.words.outcome_word(last), rest.len(), ratio_range(&rest));
    let by = saying.effect_text(last, ratio);
    let rest = CellRegion { place: place.to_owned(), verdict: last, word, cells, undecided, ratio, by };
    regions.push(DescribedRegion { region: rest, short: place.to_owned(), preposition: "" });
    let turns = turning_points(axes, places);
    let text = regions_sentence(&regions, &turns, saying);
    Some(EffectLocation { text, regions: regions.into_iter().map(|said| said.region).collect(), turns })
}

/// The place of a region that all cells share.
const EVERYWHERE: &str = "everywhere";

/// The place of a region that all decided cells share.
const WHERE_DECIDED: &str = "where decided";

/// The place of the cells that no other region covers.
const ELSEWHERE: &str = "elsewhere";

/// The group described as *elsewhere*: the one that no box describes, else the cells without a difference, else the largest.
fn elsewhere_outcome(axes: &[Axis], places: &[CellOutcome], present: &[Outcome]) -> Option<Outcome> {
    let count = |outcome: &Outcome| places.iter().filter(|place| place.outcome == *outcome).count();
    let loose = present.iter().copied().find(|outcome| find_boxes(axes, places, *outcome).is_none());
    let same = present.iter().copied().find(|outcome| *outcome == Outcome::NoDifference);
    loose.or(same).or_else(|| present.iter().copied().max_by_key(count))
}

/// The box around some cells: the levels that they have, axis by axis.
fn bounding_box<'a>(axes: &[Axis], of: impl Iterator<Item = &'a CellOutcome> + Clone) -> Levels {
    let levels = |axis: usize| {
        let mut levels: Vec<usize> = of.clone().map(|place| place.at[axis]).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
    };
    (0..axes.len()).map(levels).collect()
}

fn contains_cell(within: &Levels, place: &CellOutcome) -> bool {
    within.iter().zip(&place.at).all(|(levels, at)| levels.contains(at))
}

/// True if no cell of another group is in the box.
fn is_pure(within: &Levels, places: &[CellOutcome], outcome: Outcome) -> bool {
    let other = |place: &CellOutcome| DECIDED.contains(&place.outcome) && place.outcome != outcome;
    !places.iter().any(|place| other(place) && contains_cell(within, place))
}

/// Finds one box or two that describe a group.
fn find_boxes(axes: &[Axis], places: &[CellOutcome], outcome: Outcome) -> Option<Vec<Levels>> {
    let own: Vec<&CellOutcome> = places.iter().filter(|place| place.outcome == outcome).collect();
    let whole = bounding_box(axes, own.iter().copied());
    if is_pure(&whole, places, outcome) {
        return Some(vec![whole]);
    }
    let halves = |axis: usize, low: &dyn Fn(usize) -> bool| {
        let side = |wanted: bool| {
            let cells: Vec<&CellOutcome> = own.iter().copied().filter(|place| low(place.at[axis]) == wanted).collect();
            bounding_box(axes, cells.iter().copied())
        };
        let mut halves = vec![side(true), side(false)];
        halves.sort();
        halves.iter().all(|half| is_pure(half, places, outcome)).then_some(halves)
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

/// A region, and its description.
struct DescribedRegion {
    region: CellRegion,
    /// The place in fewer words: levels that go by their own names are counted.
    short: String,
    /// The word before either.
    preposition: &'static str,
}

fn describe_region(
    (axes, places): (&[Axis], &[CellOutcome]),
    outcome: Outcome,
    within: &Levels,
    saying: OutcomeWording,
) -> DescribedRegion {
    let inside: Vec<&CellOutcome> = places.iter().filter(|place| contains_cell(within, place)).collect();
    let own: Vec<&CellOutcome> = inside.iter().copied().filter(|place| place.outcome == outcome).collect();
    let said = |counted: bool| {
        let mut said: Vec<(bool, String)> =
            axes.iter().zip(within).filter_map(|(axis, levels)| level_words(axis, levels, counted)).collect();
        // Classes come first: "in random work, depth 8 and more".
        said.sort_by_key(|(is_class, _)| !is_class);
        let by_class = said.first().is_some_and(|(is_class, _)| *is_class);
        (by_class, said.into_iter().map(|(_, words)| words).collect::<Vec<_>>().join(", "))
    };
    let (cells, undecided) = (own.len(), inside.len() - own.len());
    let ((by_class, place), (_, short)) = (said(false), said(true));
    let word = saying.words.outcome_word(outcome);
    let (ratio, by) = (ratio_range(&own), saying.effect_text(outcome, ratio_range(&own)));
    let region = CellRegion { place, verdict: outcome, word, cells, undecided, ratio, by };
    DescribedRegion { region, short, preposition: if by_class { "in" } else { "at" } }
}

fn ratio_range(places: &[&CellOutcome]) -> RatioRange {
    RatioRange::from_ratios(places.iter().map(|place| place.ratio))
        .unwrap_or(RatioRange { low: f64::INFINITY, high: 0.0 })
}

fn parse_number(level: &str) -> Option<f64> {
    level.parse().ok()
}

/// True if its levels are numbers in rising order.
fn is_numeric(axis: &Axis) -> bool {
    let numbers: Option<Vec<f64>> = axis.levels.iter().map(|level| parse_number(level)).collect();
    numbers.is_some_and(|numbers| numbers.is_sorted())
}

/// The fewest classes that cover these levels and no other. Both are in rising order.
fn covering_classes(axis: &Axis, levels: &[usize]) -> Option<String> {
    /// More names than this say no more than the levels' own.
    const MOST: usize = 3;
    let inside: Vec<&(String, Vec<usize>)> =
        axis.classes.iter().filter(|(_, of)| of.iter().all(|level| levels.binary_search(level).is_ok())).collect();
    let covers = |chosen: &[usize]| {
        levels.iter().all(|level| chosen.iter().any(|class| inside[*class].1.binary_search(level).is_ok()))
    };
    let mut chosen: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..MOST {
        let longer = chosen.iter().flat_map(|few| {
            let next = few.last().map_or(0, |last| last + 1);
            (next..inside.len()).map(move |class| few.iter().copied().chain([class]).collect())
        });
        chosen = longer.collect();
        if let Some(found) = chosen.iter().find(|few| covers(few)) {
            let names: Vec<&str> = found.iter().map(|class| inside[*class].0.as_str()).collect();
            return Some(join_words(&names, "and"));
        }
    }
    None
}

/// The words for some levels of a factor, and whether they are classes; `None` for all levels. `counted` replaces
/// several names by their number.
fn level_words(axis: &Axis, levels: &[usize], counted: bool) -> Option<(bool, String)> {
    let Axis { factor, levels: all, .. } = axis;
    let unit = axis.short_unit();
    let (first, last) = (*levels.first()?, *levels.last()?);
    if levels.len() == all.len() {
        return None;
    }
    if let Some(classes) = covering_classes(axis, levels) {
        return Some((true, classes));
    }
    let together = last - first + 1 == levels.len();
    Some((
        false,
        match (is_numeric(axis) && together, levels.len()) {
            (_, 1) => format!("{factor} {}{unit}", quote_phrase(&all[first])),
            (true, _) if last + 1 == all.len() => format!("{factor} {}{unit} and more", all[first]),
            (true, _) if first == 0 => format!("{factor} up to {}{unit}", all[last]),
            (true, _) => format!("{factor} {} to {}{unit}", all[first], all[last]),
            (false, _) if counted => format!("{} of {} levels of {factor}", levels.len(), all.len()),
            (false, _) if levels.len() > 2 && levels.len() * 2 > all.len() => {
                let missing =
                    (0..all.len()).filter(|level| !levels.contains(level)).map(|level| quote_phrase(&all[level]));
                format!("{factor} other than {}{unit}", join_words(&missing.collect::<Vec<_>>(), "and"))
            }
            (false, _) => {
                let named: Vec<String> = levels.iter().map(|level| quote_phrase(&all[*level])).collect();
                format!("{factor} {}{unit}", join_words(&named, "or"))
            }
        },
    ))
}

impl Axis {
    /// ` sectors` after a level; nothing if levels are names, or the unit is a phrase.
    fn short_unit(&self) -> String {
        let numbers = self.levels.iter().all(|level| parse_number(level).is_some());
        match &self.unit {
            Some(unit) if numbers && !unit.contains(' ') => format!(" {unit}"),
            _ => String::new(),
        }
    }
}

/// Puts a level of several words in quotes, so that a reader sees where it ends.
fn quote_phrase(level: &str) -> String {
    if level.contains(' ') { format!("\u{201c}{level}\u{201d}") } else { level.to_owned() }
}

/// `a, b or c`.
pub(crate) fn join_words(words: &[impl AsRef<str>], last: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match &words[..] {
        [before @ .., end] if !before.is_empty() => format!("{} {last} {end}", before.join(", ")),
        _ => words.concat(),
    }
}

/// Along each numeric factor, the pair of levels between which the outcome changes in every row of the others in which
/// it changes at all; rows that change twice are excluded.
fn turning_points(axes: &[Axis], places: &[CellOutcome]) -> Vec<String> {
    let turn = |axis: usize| {
        let mut found: Option<(usize, usize)> = None;
        for start in places.iter().filter(|place| place.at[axis] == 0) {
            let row = |level: usize| {
                let here = |place: &&CellOutcome| {
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
        let Axis { factor, levels, .. } = &axes[axis];
        Some(format!("between {factor} {} and {}{}", levels[below], levels[above], axes[axis].short_unit()))
    };
    (0..axes.len()).filter(|axis| is_numeric(&axes[*axis])).filter_map(turn).collect()
}

impl OutcomeWording {
    /// `+13 %`; if the range reaches double or half, both ends as `2.40 ×`, with what is so many times. Ratios below a tenth keep two
    /// significant figures.
    fn ratio_text(self, RatioRange { low, high }: RatioRange) -> String {
        let percents = [low, high].iter().all(|ratio| (0.5..2.0).contains(ratio));
        let end = |ratio: f64| match percents {
            true => format!("{:+.0}", (ratio - 1.0) * 100.0),
            false if ratio < 0.095 => format!("{ratio:.*}", (1.0 - ratio.log10().floor()).clamp(2.0, 6.0) as usize),
            false => format!("{ratio:.2}"),
        };
        let (low, high) = (end(low), end(high));
        let both = if low == high { low } else { format!("{low} to {high}") };
        if percents { format!("{both} %") } else { self.words.ratio_to_base(&both) }
    }

    /// By how much, for an outcome: "+13 %", "within ±2 %".
    fn effect_text(self, verdict: Outcome, ratio: RatioRange) -> String {
        match verdict {
            Outcome::NoDifference => format!("within ±{} %", (self.margin * 1e5).round() / 1e3),
            _ => self.ratio_text(ratio),
        }
    }

    /// An outcome with its figures.
    fn outcome_text(self, verdict: Outcome, ratio: RatioRange) -> String {
        let comma = if verdict == Outcome::NoDifference { "" } else { "," };
        format!("{}{comma} {}", self.words.outcome_word(verdict), self.effect_text(verdict, ratio))
    }
}

/// The characters of a sentence of three lines, besides the name of its comparison.
const ROOM: usize = 240;

/// All regions in one sentence; the place of each by its names or, if that is too long, in fewer words.
fn regions_sentence(regions: &[DescribedRegion], turns: &[String], saying: OutcomeWording) -> String {
    let turns = if turns.is_empty() { String::new() } else { format!("; the answer changes {}", turns.join(" and ")) };
    let all = |counted: bool| {
        let said = regions
            .iter()
            .map(|said| region_phrase(said, if counted { &said.short } else { &said.region.place }, saying));
        said.collect::<Vec<_>>().join("; ")
    };
    let named = all(false) + &turns;
    if named.chars().count() <= ROOM { named } else { all(true) }
}

/// The outcome of a region, in how many of its cells if not all are decided, and where.
fn region_phrase(
    DescribedRegion { region, preposition, .. }: &DescribedRegion,
    place: &str,
    saying: OutcomeWording,
) -> String {
    let out = saying.outcome_text(region.verdict, region.ratio);
    let of = match region.cells + region.undecided {
        1 => "1 cell".to_owned(),
        all => format!("{all} cells"),
    };
    match (region.undecided, place) {
        (0, EVERYWHERE | "") => format!("{out} in all {of}"),
        (0, ELSEWHERE) => format!("elsewhere {out}"),
        (0, place) => format!("{out} {preposition} {place}"),
        (_, EVERYWHERE | WHERE_DECIDED | "") => format!("{out} in {} of {of}, the others undecided", region.cells),
        (_, ELSEWHERE) => format!("elsewhere {out} in {} of {of}", region.cells),
        (_, place) => format!("{out} in {} of {of} {preposition} {place}", region.cells),
    }
}

/// Counts the cells of each group along the factor whose levels separate them best, if few words do not separate the groups.
fn count_by_levels(axes: &[Axis], places: &[CellOutcome], present: &[Outcome], saying: OutcomeWording) -> String {
    let count = |outcome: Outcome, axis: usize, level: usize| {
        places.iter().filter(|place| place.outcome == outcome && place.at[axis] == level).count()
    };
    let told = |axis: usize| -> usize {
        let levels = 0..axes[axis].levels.len();
        levels.map(|level| present.iter().map(|outcome| count(*outcome, axis, level)).max().unwrap_or(0)).sum()
    };
    let all = |outcome: Outcome| places.iter().filter(move |place| place.outcome == outcome);
    let of = |outcome: &Outcome| {
        let own: Vec<&CellOutcome> = all(*outcome).collect();
        let by = match outcome {
            Outcome::NoDifference => String::new(),
            _ => format!(" ({})", saying.ratio_text(ratio_range(&own))),
        };
        format!("{} in {}{by}", saying.words.outcome_word(*outcome), own.len())
    };
    let open = all(Outcome::NotEnoughData).count();
    let mut head: Vec<String> = present.iter().map(of).collect();
    if open > 0 {
        head.push(format!("not enough data in {open}"));
    }
    let head = format!("{} of {} cells, in no simple pattern", head.join(", "), places.len());
    let Some(axis) = (0..axes.len()).rev().max_by_key(|axis| told(*axis)) else { return head };
    let at = |(level, name): (usize, &String)| {
        let here = present.iter().filter(|outcome| count(**outcome, axis, level) > 0);
        let here: Vec<String> =
            here.map(|it| format!("{} {}", count(*it, axis, level), saying.words.outcome_word(*it))).collect();
        (!here.is_empty()).then(|| format!("{name}: {}", here.join(", ")))
    };
    let levels: Vec<String> = axes[axis].levels.iter().enumerate().filter_map(at).collect();
    let by = format!("{head}; by {}: {}", axes[axis].factor, levels.join("; "));
    if by.chars().count() <= ROOM { by } else { head }
}

#[cfg(test)]
mod tests {
    use seekwise_drives::metric::IOPS;

    use super::*;
    use Outcome::{Faster, NoDifference, NotEnoughData, Slower};

    const RATES: OutcomeWording = OutcomeWording { margin: 0.02, words: DifferenceWords::for_metric(&IOPS) };

    fn axes() -> Vec<Axis> {
        let axis = |factor: &str, levels: &[&str]| Axis {
            factor: factor.to_owned(),
            unit: None,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            classes: Vec::new(),
        };
        vec![axis("pattern", &["random", "stream", "mixed"]), axis("depth", &["1", "4", "8", "64"])]
    }

    fn places(outcome: impl Fn(&str, u32) -> (Outcome, f64)) -> Vec<CellOutcome> {
        let axes = axes();
        let mut places = Vec::new();
        for (pattern, name) in axes[0].levels.iter().enumerate() {
            for (depth, level) in axes[1].levels.iter().enumerate() {
                let (outcome, ratio) = outcome(name, level.parse().unwrap());
                places.push(CellOutcome { at: vec![pattern, depth], outcome, ratio });
            }
        }
        places
    }

    fn said(outcome: impl Fn(&str, u32) -> (Outcome, f64)) -> String {
        describe_location(&axes(), &places(outcome), RATES).unwrap().text
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
             the answer changes between depth 4 and 8"
        );
    }

    #[test]
    fn levels_are_said_the_shorter_way() {
        let axis = |levels: &[&str]| Axis {
            factor: "mix".to_owned(),
            unit: None,
            levels: levels.iter().map(|level| (*level).to_owned()).collect(),
            classes: Vec::new(),
        };
        let words = |axis: &Axis, levels: &[usize]| super::level_words(axis, levels, false).map(|(_, words)| words);
        let mixes = axis(&["a", "b", "c", "d", "e"]);
        assert_eq!(words(&mixes, &[0, 1, 2, 3, 4]), None);
        assert_eq!(words(&mixes, &[1, 3]).unwrap(), "mix b or d");
        assert_eq!(words(&mixes, &[0, 2, 4]).unwrap(), "mix other than b and d");
        assert_eq!(words(&mixes, &[1, 2, 4]).unwrap(), "mix other than a and d");
        let depths = axis(&["1", "4", "8", "64"]);
        assert_eq!(words(&depths, &[0, 1]).unwrap(), "mix up to 4");
        assert_eq!(words(&depths, &[1, 2]).unwrap(), "mix 4 to 8");
        assert_eq!(words(&depths, &[0, 2]).unwrap(), "mix 1 or 8");
        let sectors = Axis { unit: Some("sectors".to_owned()), ..depths.clone() };
        assert_eq!(words(&sectors, &[1, 2, 3]).unwrap(), "mix 4 sectors and more");
        let phrase = Axis { unit: Some("requests in flight".to_owned()), ..depths };
        assert_eq!(words(&phrase, &[1]).unwrap(), "mix 4");
        let tests = axis(&["512 KB read", "start, 8 ahead", "all", "some", "few"]);
        assert_eq!(words(&tests, &[0, 1]).unwrap(), "mix “512 KB read” or “start, 8 ahead”");
    }

    #[test]
    fn a_ratio_below_a_tenth_has_two_figures() {
        let saying = OutcomeWording { words: DifferenceWords::for_metric(&"mean".parse().unwrap()), margin: 0.02 };
        assert_eq!(saying.ratio_text(RatioRange { low: 0.009_65, high: 0.821 }), "0.0097 to 0.82 × as long");
        assert_eq!(saying.ratio_text(RatioRange { low: 0.0512, high: 0.0512 }), "0.051 × as long");
    }

    #[test]
    fn a_ratio_is_a_percentage_from_a_half_to_below_twice() {
        let by = |low: f64, high: f64| RATES.ratio_text(RatioRange { low, high });
        for (ratio, text) in [
            (1.0, "+0 %"),
            (1.004_9, "+0 %"),
            (1.005_1, "+1 %"),
            (0.994_9, "-1 %"),
            (0.5, "-50 %"),
            (0.499, "0.50 ×"),
            (1.994_9, "+99 %"),
            (2.0, "2.00 ×"),
            (12.345, "12.35 ×"),
            (0.095_1, "0.10 ×"),
            (0.094_9, "0.095 ×"),
            (0.009_949, "0.0099 ×"),
            (0.000_001, "0.000001 ×"),
        ] {
            assert_eq!(by(ratio, ratio), text, "{ratio}");
        }
        assert_eq!(
            [by(0.5, 1.999), by(0.499, 1.5), by(0.9, 2.0)],
            ["-50 to +100 %", "0.50 to 1.50 ×", "0.90 to 2.00 ×"]
        );
        let within = |margin: f64| {
            OutcomeWording { margin, ..RATES }.effect_text(NoDifference, RatioRange { low: 0.9, high: 1.1 })
        };
        assert_eq!([within(0.02), within(0.005), within(0.1)], ["within ±2 %", "within ±0.5 %", "within ±10 %"]);
    }

    #[test]
    fn a_range_has_the_least_and_the_largest_ratio() {
        let of = |ratios: &[f64]| RatioRange::from_ratios(ratios.iter().copied());
        assert_eq!(of(&[1.1, 0.9, 1.0]), Some(RatioRange { low: 0.9, high: 1.1 }));
        assert_eq!(of(&[1.1]), Some(RatioRange { low: 1.1, high: 1.1 }));
        assert_eq!(of(&[]), None);
    }

    /// Where the answer changes is said if every row that changes does so between the same two levels, and once.
    #[test]
    fn an_answer_turns_where_all_rows_turn() {
        let turns = |outcome: &dyn Fn(&str, u32) -> Outcome| {
            super::turning_points(&axes(), &places(|pattern, depth| (outcome(pattern, depth), 1.0)))
        };
        let at = |depth: u32, edge: u32| if depth < edge { NoDifference } else { Faster };
        assert_eq!(turns(&|_, depth| at(depth, 8)), ["between depth 4 and 8"]);
        assert_eq!(
            turns(&|pattern, depth| if pattern == "random" { at(depth, 64) } else { Slower }),
            ["between depth 8 and 64"]
        );
        assert!(
            turns(&|pattern, depth| at(depth, if pattern == "random" { 8 } else { 64 })).is_empty(),
            "elsewhere in another row"
        );
        assert!(turns(&|_, depth| if depth == 4 { Faster } else { NoDifference }).is_empty(), "twice");
        assert!(turns(&|_, _| Faster).is_empty());
        // An undecided cell between leaves a wider gap.
        let gap = |_: &str, depth: u32| if depth == 4 { NotEnoughData } else { at(depth, 8) };
        assert_eq!(turns(&gap), ["between depth 1 and 8"]);
    }

    #[test]
    fn all_cells_alike_are_said_once() {
        assert_eq!(said(|_, _| (Slower, 0.9)), "slower, -10 % in all 12 cells");
        assert_eq!(said(|_, _| (NoDifference, 1.0)), "no difference within ±2 % in all 12 cells");
        let open = said(|_, depth| if depth == 1 { (NotEnoughData, 1.0) } else { (Faster, 2.5) });
        assert_eq!(open, "faster, 2.50 × in 9 of 12 cells, the others undecided");
    }

    #[test]
    fn everywhere_is_said_of_all_cells_only() {
        // 5 of 16 cells are slower, and the others are undecided: that is not everywhere.
        let depths = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];
        let levels = depths.iter().map(|level| (*level).to_owned()).collect();
        let axes = [Axis { factor: "depth".to_owned(), unit: None, levels, classes: Vec::new() }];
        let places = |decided: usize| -> Vec<CellOutcome> {
            let outcome = |at| if at < decided { Slower } else { NotEnoughData };
            (0..16).map(|at| CellOutcome { at: vec![at], outcome: outcome(at), ratio: 0.9 }).collect()
        };
        let found = describe_location(&axes, &places(5), RATES).unwrap();
        assert_eq!(found.text, "slower, -10 % in 5 of 16 cells, the others undecided");
        assert_eq!(
            (&found.regions[0].place[..], found.regions[0].cells, found.regions[0].undecided),
            ("where decided", 5, 11)
        );
        assert_eq!(found.regions[0].by, "-10 %");
        assert_eq!(describe_location(&axes, &places(16), RATES).unwrap().regions[0].place, "everywhere");
    }

    #[test]
    fn what_is_decided_is_counted_of_all_that_the_words_cover() {
        let text = said(|pattern, depth| match (pattern, depth) {
            ("random", 4) => (NotEnoughData, 1.0),
            ("random", _) => (Faster, 1.2),
            (_, 64) => (NotEnoughData, 1.0),
            _ => (NoDifference, 1.0),
        });
        assert_eq!(
            text,
            "faster, +20 % at pattern random, depth other than 4; elsewhere no difference within ±2 % in 6 of 9 cells"
        );
    }

    #[test]
    fn levels_go_by_the_classes_of_the_study() {
        let mut axes = axes();
        axes[0].classes = vec![("random work".to_owned(), vec![0, 2]), ("sequential work".to_owned(), vec![1])];
        axes[1].classes = vec![("deep queues".to_owned(), vec![2, 3]), ("8".to_owned(), vec![2])];
        let said = |levels: &[usize], axis: usize| super::level_words(&axes[axis], levels, false).unwrap().1;
        assert_eq!(said(&[0, 2], 0), "random work");
        assert_eq!(said(&[0], 0), "pattern random", "a class is said of its levels alone");
        assert_eq!(said(&[2, 3], 1), "deep queues", "the fewest");
        let found = places(|pattern, depth| match pattern {
            "stream" => (NoDifference, 1.0),
            _ if depth < 4 => (NoDifference, 1.0),
            _ => (Faster, 1.1),
        });
        let text = describe_location(&axes, &found, RATES).unwrap().text;
        assert!(text.starts_with("faster, +10 % in random work, depth 4 and more; elsewhere"), "{text}");
        axes[0].classes.push(("mixtures".to_owned(), vec![1, 2]));
        axes[0].levels.push("more".to_owned());
        assert_eq!(super::level_words(&axes[0], &[0, 1, 2], false).unwrap().1, "random work and sequential work");
    }

    #[test]
    fn a_sentence_has_room_on_three_lines() {
        let name = |number: usize| format!("a pattern with a long name, the {number}th of many");
        let levels: Vec<String> = (0..20).map(name).collect();
        let axes = [Axis { factor: "pattern".to_owned(), unit: None, levels, classes: Vec::new() }];
        let outcome = |at: usize| if at.is_multiple_of(2) { Faster } else { NoDifference };
        let places: Vec<CellOutcome> =
            (0..20).map(|at| CellOutcome { at: vec![at], outcome: outcome(at), ratio: 1.1 }).collect();
        let found = describe_location(&axes, &places, RATES).unwrap();
        assert_eq!(found.text, "faster, +10 % at 10 of 20 levels of pattern; elsewhere no difference within ±2 %");
        assert!(found.regions[0].place.contains("the 18th of many"), "the table names them");
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
        assert_eq!(
            turn,
            "faster, +30 % at depth 8 and more; elsewhere slower, -20 %; the answer changes between depth 4 and 8"
        );
        // The larger of two groups is elsewhere.
        let most = said(|_, depth| if depth == 1 { (Slower, 0.8) } else { (Faster, 1.3) });
        assert_eq!(most, "slower, -20 % at depth 1; elsewhere faster, +30 %; the answer changes between depth 1 and 4");
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
            text.starts_with(
                "faster in 4 (+50 %), slower in 3 (-50 %), no difference in 5 of 12 cells, in no simple pattern; by "
            ),
            "{text}"
        );
        // Cells without an outcome are told beside the others: all add up to the twelve.
        for (open, same) in [(1, 4), (2, 3)] {
            let text = said(|pattern, depth| match (pattern, depth) {
                ("random", 1) | ("stream", 4) | ("mixed", 8) | ("random", 64) => (Faster, 1.5),
                ("random", 4) | ("stream", 8) | ("mixed", 1) => (Slower, 0.5),
                ("mixed", 64) => (NotEnoughData, 1.0),
                ("stream", 64) if open > 1 => (NotEnoughData, 1.0),
                _ => (NoDifference, 1.0),
            });
            let head = format!(
                "faster in 4 (+50 %), slower in 3 (-50 %), no difference in {same}, not enough data in {open} of 12 cells, \
                 in no simple pattern"
            );
            assert!(text.starts_with(&head), "{text}");
        }
    }

    #[test]
    fn undecided_cells_are_in_no_way() {
        let found = places(|pattern, depth| match (pattern, depth) {
            ("random", 8) => (NotEnoughData, 1.0),
            ("random", 4 | 64) => (Faster, 1.2),
            _ => (NoDifference, 1.0),
        });
        let found = describe_location(&axes(), &found, RATES).unwrap();
        assert_eq!((found.regions[0].cells, found.regions[0].undecided), (2, 0), "{}", found.text);
        assert!(describe_location(&axes(), &places(|_, _| (NotEnoughData, 1.0)), RATES).is_none());
    }
}
