//! Evaluates an expression: from the records of a study's cells, run by run, to figures and to "holds" or "fails".
//!
//! The unit is the run. A figure has a value for each run, and runs of one seed are paired; the result shows the mean
//! with its 95 % interval. A condition goes by means. If a cell has no runs, there is no value, and nothing holds or
//! fails.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use seekwise_formats::expression::{
    Expression, ExpressionNode, FactorAxis, Function, Operator, Reduction, Relation, Subexpression,
};
use seekwise_formats::study::{Claim, Study};

use crate::plan::Cell;
use crate::provenance::StudyProvenance;
use crate::run::RunRecord;
use crate::stats::packed_buckets::PackedBuckets;
use crate::stats::{deviation, mean_interval};

/// The level of an interval.
const ALPHA: f64 = 0.05;

/// A check, or a figure shown.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedCheck {
    /// The place in the range of its claim; empty without a range.
    pub place: String,
    /// The expression, as written.
    pub of: String,
    /// The levels, of the range and of `for each`.
    pub at: String,
    /// The value or values, each with its interval.
    pub value: String,
    /// The expectation; empty if `of` says it.
    pub wanted: String,
    /// Whether it holds; `None` if a cell has no runs, and for figures that are only shown.
    pub holds: Option<bool>,
    /// How far the mean is from the nearest bound, as a share of it: positive beyond it, negative with that much to
    /// spare. `None` where there is no bound other than 0, and for an order.
    pub distance: Option<f64>,
}

/// A part as described: the expression, its value, what was wanted, whether it holds, and how far from its bound.
struct PartDescription {
    of: String,
    value: String,
    wanted: String,
    holds: Option<bool>,
    distance: Option<f64>,
}

impl EvaluatedCheck {
    /// The levels, the value, and whether the check holds.
    fn status_text(&self) -> String {
        let at = if self.at.is_empty() { String::new() } else { format!("{}: ", self.at) };
        let holds = match self.holds {
            Some(true) => " – holds",
            Some(false) => " – FAILS",
            None => "",
        };
        format!("{at}{}{holds}", self.value)
    }
}

/// Checks as lines: each expression once, with what was wanted; below it its values, one for each level.
pub(crate) fn check_lines(checked: &[EvaluatedCheck]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before: Option<&EvaluatedCheck> = None;
    for check in checked {
        let wanted = if check.wanted.is_empty() { String::new() } else { format!(", wanted {}", check.wanted) };
        let same = before.is_some_and(|before| (&before.of, &before.wanted) == (&check.of, &check.wanted));
        match (same && !check.at.is_empty(), check.at.is_empty()) {
            (true, _) => {}
            (false, true) => lines.push(format!("{}{wanted}: {}", check.of, check.status_text())),
            (false, false) => lines.push(format!("{}{wanted}:", check.of)),
        }
        if !check.at.is_empty() {
            lines.push(format!("  {}", check.status_text()));
        }
        before = Some(check);
    }
    lines
}

/// The value of a node.
#[derive(Clone, Debug, PartialEq)]
enum NodeValue {
    /// A value for each run; a single one stands for all.
    Runs(Vec<f64>),
    Word(String),
    Truth(bool),
}

/// Chosen factors and levels; later ones take precedence.
type Scope = Vec<(String, String)>;

/// Figures by cell and key, run by run; nothing if a run has none.
type KnownFigures = BTreeMap<(usize, String), Option<Vec<f64>>>;

/// The results of a study.
pub(crate) struct StudyResults<'a> {
    study: &'a Study,
    /// The levels of each cell.
    cells: Vec<&'a [String]>,
    made: Option<&'a StudyProvenance>,
    /// Figures asked for so far. Records become JSON, which is large, one at a time.
    figures: RefCell<KnownFigures>,
    runs: &'a [Vec<&'a RunRecord>],
    /// Cells asked for. If set, every figure is 1 and nothing is read.
    asked: Option<RefCell<BTreeSet<usize>>>,
    /// The levels covered by the reductions of the current check, with their values.
    notes: RefCell<Vec<String>>,
}

/// The cells of `cells` that the checks of `claim` need, in order.
pub fn needed_cells(study: &Study, cells: &[Cell], claim: &Claim) -> Vec<usize> {
    let mut results = StudyResults::new(study, cells.iter().map(|cell| &cell.levels[..]).collect(), None, &[]);
    results.asked = Some(RefCell::new(BTreeSet::new()));
    for expression in claim.check.iter().chain(&claim.decided_if) {
        results.check_expression(expression, &claim.over);
    }
    results.asked.map(|asked| asked.into_inner().into_iter().collect()).unwrap_or_default()
}

impl<'a> StudyResults<'a> {
    /// The results of the cells with these levels: what made them, and their runs.
    pub fn new(
        study: &'a Study,
        cells: Vec<&'a [String]>,
        made: Option<&'a StudyProvenance>,
        runs: &'a [Vec<&'a RunRecord>],
    ) -> StudyResults<'a> {
        let figures = RefCell::default();
        StudyResults { study, cells, made, figures, runs, asked: None, notes: RefCell::default() }
    }

    /// The values of an expression, for each of its levels, at each place of the range of some factors.
    pub(crate) fn check_expression(&self, expression: &Expression, over: &[String]) -> Vec<EvaluatedCheck> {
        let range: Vec<FactorAxis> =
            over.iter().map(|name| FactorAxis { factor: name.clone(), levels: None, log2: false }).collect();
        let all = [&range[..], &expression.each].concat();
        let said = |scope: &Scope| {
            self.notes.borrow_mut().clear();
            let PartDescription { of, value, wanted, holds, distance } =
                self.describe_part(&expression.body, &mut scope.clone());
            let notes = self.notes.borrow().join("; ");
            let value = if notes.is_empty() { value } else { format!("{value} ({notes})") };
            EvaluatedCheck {
                place: scope_text(&scope[..range.len()]),
                of,
                at: scope_text(scope),
                value,
                wanted,
                holds,
                distance,
            }
        };
        self.level_combinations(&all).iter().map(said).collect()
    }

    /// The values of a figure at one level of a factor, run by run; `None` if a cell has no runs.
    pub(crate) fn figure_at(&self, expression: &Expression, factor: &str, level: &str) -> Option<Vec<f64>> {
        self.run_values(&expression.body, &mut vec![(factor.to_owned(), level.to_owned())])
    }

    /// All combinations of levels of some factors.
    fn level_combinations(&self, axes: &[FactorAxis]) -> Vec<Scope> {
        let mut scopes = vec![Scope::new()];
        for axis in axes {
            let levels = self.axis_levels(axis);
            let with = |scope: Scope| {
                let more = levels.iter().map(move |level| {
                    let mut scope = scope.clone();
                    scope.push((axis.factor.clone(), level.clone()));
                    scope
                });
                more.collect::<Vec<_>>()
            };
            scopes = scopes.into_iter().flat_map(with).collect();
        }
        scopes
    }

    fn axis_levels(&self, axis: &FactorAxis) -> Vec<String> {
        let all = || self.study.factor.iter().find(|factor| factor.name == axis.factor);
        axis.levels.clone().unwrap_or_else(|| all().map_or(Vec::new(), |factor| factor.level_names()))
    }

    /// Describes a part.
    fn describe_part(&self, part: &Subexpression, scope: &mut Scope) -> PartDescription {
        match &*part.node {
            ExpressionNode::Within(value, low, high, wanted) => {
                let ends = [self.part_value(low, scope), self.part_value(high, scope)];
                let value_of = self.part_value(value, scope);
                let all = ends[0].as_ref().zip(ends[1].as_ref()).zip(value_of.as_ref());
                let holds = all.map(|((low, high), value)| {
                    compare_means(low, Relation::AtMost, value) && compare_means(value, Relation::AtMost, high)
                });
                let distance = all.and_then(|((low, high), value)| {
                    larger_distance(
                        bound_distance(value, Relation::AtLeast, low),
                        bound_distance(value, Relation::AtMost, high),
                    )
                });
                let (of, value) = (value.text.clone(), value_text(value_of.as_ref()));
                PartDescription { of, value, wanted: wanted.clone(), holds, distance }
            }
            ExpressionNode::Among(value, list, wanted) => {
                let value_of = self.part_value(value, scope);
                let list: Vec<NodeValue> = list.iter().filter_map(|one| self.part_value(one, scope)).collect();
                let among = |value: &NodeValue| list.iter().any(|one| compare_means(value, Relation::Equal, one));
                let holds = value_of.as_ref().map(among);
                let (of, value) = (value.text.clone(), value_text(value_of.as_ref()));
                PartDescription { of, value, wanted: format!("one of {wanted}"), holds, distance: None }
            }
            ExpressionNode::Compare(first, rest) => self.describe_chain(first, rest, scope, &part.text),
            ExpressionNode::And(a, b) | ExpressionNode::Or(a, b) => {
                let (left, right) = (self.describe_part(a, scope), self.describe_part(b, scope));
                let both = matches!(&*part.node, ExpressionNode::And(..));
                let holds = left.holds.zip(right.holds).map(|(a, b)| if both { a && b } else { a || b });
                let value = format!("{} and {}", left.value, right.value);
                PartDescription { of: part.text.clone(), value, wanted: String::new(), holds, distance: None }
            }
            ExpressionNode::Not(inner) => {
                let inner = self.describe_part(inner, scope);
                let holds = inner.holds.map(|holds| !holds);
                PartDescription { wanted: format!("not {}", inner.wanted), holds, distance: None, ..inner }
            }
            ExpressionNode::At(inner, cell) if inner.node.is_condition() => {
                let before = scope.len();
                scope.extend(cell.iter().cloned());
                let described = self.describe_part(inner, scope);
                scope.truncate(before);
                described
            }
            node => {
                let value = self.part_value(part, scope);
                let holds = match &value {
                    Some(NodeValue::Truth(holds)) if node.is_condition() => Some(*holds),
                    _ => None,
                };
                let (of, value) = (part.text.clone(), value_text(value.as_ref()));
                PartDescription { of, value, wanted: String::new(), holds, distance: None }
            }
        }
    }

    /// Describes a chain of comparisons. A single constant on the right is what was wanted.
    fn describe_chain(
        &self,
        first: &Subexpression,
        rest: &[(Relation, Subexpression)],
        scope: &mut Scope,
        words: &str,
    ) -> PartDescription {
        let parts = std::iter::once(first).chain(rest.iter().map(|(_, part)| part));
        let values: Vec<Option<NodeValue>> = parts.map(|part| self.part_value(part, scope)).collect();
        let pairs = || values.windows(2).zip(rest);
        let holds = pairs().map(|(pair, (order, _))| Some(compare_means(pair[0].as_ref()?, *order, pair[1].as_ref()?)));
        let holds = holds.collect::<Option<Vec<bool>>>().map(|holds| holds.into_iter().all(|holds| holds));
        let distances = pairs().map(|(pair, (order, _))| bound_distance(pair[0].as_ref()?, *order, pair[1].as_ref()?));
        let distance = distances.reduce(larger_distance).flatten();
        let fixed = |part: &Subexpression| matches!(&*part.node, ExpressionNode::Number(_) | ExpressionNode::Word(_));
        if let [(order, wanted)] = rest
            && fixed(wanted)
        {
            let wanted = format!("{} {}", order.sign(), wanted.text);
            return PartDescription {
                of: first.text.clone(),
                value: value_text(values[0].as_ref()),
                wanted,
                holds,
                distance,
            };
        }
        let mut shown = value_text(values[0].as_ref());
        for ((order, _), value) in rest.iter().zip(&values[1..]) {
            shown.push_str(&format!(" {} {}", order.sign(), value_text(value.as_ref())));
        }
        PartDescription { of: words.to_owned(), value: shown, wanted: String::new(), holds, distance }
    }

    /// The value of a part; `None` if a cell has no runs, or if the figure has no value there.
    fn part_value(&self, part: &Subexpression, scope: &mut Scope) -> Option<NodeValue> {
        Some(match &*part.node {
            ExpressionNode::Number(number) => NodeValue::Runs(vec![*number]),
            ExpressionNode::Word(word) => NodeValue::Word(word.clone()),
            ExpressionNode::Quantity(key) => NodeValue::Runs(self.cell_figure(key, scope)?),
            ExpressionNode::Setting(key) => self.cell_setting(key, scope)?,
            ExpressionNode::At(inner, cell) => {
                let before = scope.len();
                scope.extend(cell.iter().cloned());
                let value = self.part_value(inner, scope);
                scope.truncate(before);
                value?
            }
            ExpressionNode::Negative(inner) => {
                NodeValue::Runs(self.run_values(inner, scope)?.into_iter().map(|value| -value).collect())
            }
            ExpressionNode::Arithmetic(a, operator, b) => {
                let (a, b) = (self.run_values(a, scope), self.run_values(b, scope));
                NodeValue::Runs(join_runs(&a?, &b?, |a, b| match operator {
                    Operator::Plus => a + b,
                    Operator::Minus => a - b,
                    Operator::Times => a * b,
                    Operator::Over => a / b,
                }))
            }
            ExpressionNode::Function(function, arguments) => {
                NodeValue::Runs(self.apply_function(*function, arguments, scope)?)
            }
            ExpressionNode::Over(reduction, inner, axes) => self.reduce_over(*reduction, inner, axes, scope)?,
            _ => NodeValue::Truth(self.describe_part(part, scope).holds?),
        })
    }

    fn run_values(&self, part: &Subexpression, scope: &mut Scope) -> Option<Vec<f64>> {
        numbers_by_run(&self.part_value(part, scope)?)
    }

    fn apply_function(&self, function: Function, arguments: &[Subexpression], scope: &mut Scope) -> Option<Vec<f64>> {
        let values: Vec<Option<Vec<f64>>> = arguments.iter().map(|part| self.run_values(part, scope)).collect();
        let mut values = values.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let first = values.next()?;
        let end = |high: bool| {
            // When only the needed cells are asked for, there is one run of each and no interval.
            let interval = mean_interval(&first, ALPHA);
            let end = interval.map(|interval| if high { interval.high } else { interval.low });
            end.or(self.asked.as_ref().map(|_| 1.0)).map(|end| vec![end])
        };
        match function {
            Function::Abs => Some(first.into_iter().map(f64::abs).collect()),
            Function::Log2 => Some(first.into_iter().map(f64::log2).collect()),
            Function::Low => end(false),
            Function::High => end(true),
            Function::Deviation => deviation(&first).or(self.asked.as_ref().map(|_| 1.0)).map(|spread| vec![spread]),
            Function::Max => Some(values.fold(first, |most, next| join_runs(&most, &next, f64::max))),
            Function::Min => Some(values.fold(first, |least, next| join_runs(&least, &next, f64::min))),
        }
    }

    fn reduce_over(
        &self,
        reduction: Reduction,
        inner: &Subexpression,
        axes: &[FactorAxis],
        scope: &mut Scope,
    ) -> Option<NodeValue> {
        let before = scope.len();
        let places = self.level_combinations(axes);
        let mut values = Vec::new();
        for place in &places {
            scope.extend(place.iter().cloned());
            values.push(self.part_value(inner, scope));
            scope.truncate(before);
        }
        let values = values.into_iter().collect::<Option<Vec<NodeValue>>>()?;
        if reduction == Reduction::Share {
            let holding = values.iter().filter(|value| matches!(value, NodeValue::Truth(true))).count();
            return Some(NodeValue::Runs(vec![holding as f64 / values.len().max(1) as f64]));
        }
        let names: Vec<String> = places.iter().map(level_names).collect();
        let runs: Vec<Vec<f64>> = values.iter().map(numbers_by_run).collect::<Option<_>>()?;
        if !matches!(reduction, Reduction::Mean | Reduction::Geomean | Reduction::Sum) {
            let shown =
                names.iter().zip(&runs).map(|(name, runs)| format!("{name}: {}", short_number(mean_of_runs(runs))));
            self.notes.borrow_mut().push(shown.collect::<Vec<_>>().join(", "));
        }
        reduce_cells(reduction, &names, &runs, axes.first().is_some_and(|axis| axis.log2))
    }

    /// The cell that a scope chooses; a factor with one level needs no choice.
    fn find_cell(&self, scope: &Scope) -> Option<usize> {
        let chosen = |name: &str| scope.iter().rev().find(|(factor, _)| factor == name).map(|(_, level)| level);
        let fits = |levels: &&[String]| {
            let mut pairs = self.study.factor.iter().zip(levels.iter());
            pairs.all(|(factor, level)| chosen(&factor.name).is_none_or(|chosen| chosen == level))
        };
        self.cells.iter().position(fits)
    }

    fn cell_figure(&self, key: &str, scope: &Scope) -> Option<Vec<f64>> {
        let cell = self.find_cell(scope)?;
        if let Some(asked) = &self.asked {
            asked.borrow_mut().insert(cell);
            return Some(vec![1.0]);
        }
        let read = || {
            let values: Option<Vec<f64>> = self.runs[cell].iter().map(|run| json_figure(&as_json(run), key)).collect();
            values.filter(|values| !values.is_empty())
        };
        self.figures.borrow_mut().entry((cell, key.to_owned())).or_insert_with(read).clone()
    }

    fn cell_setting(&self, key: &str, scope: &Scope) -> Option<NodeValue> {
        let cell = self.find_cell(scope)?;
        if let Some(asked) = &self.asked {
            asked.borrow_mut().insert(cell);
            return Some(NodeValue::Runs(vec![1.0]));
        }
        let setting = self.made?.find_setting(cell, key)?;
        Some(NodeValue::Word(setting.value.clone()))
    }
}

/// The record as JSON, without the histograms, which no expression names: they are the most of it.
fn as_json(record: &RunRecord) -> serde_json::Value {
    let mut light = RunRecord { histogram: PackedBuckets::default(), ..record.clone() };
    light.groups.iter_mut().for_each(|group| group.histogram = PackedBuckets::default());
    serde_json::to_value(light).expect("a record has no keys but strings")
}

/// The figure of a record by its dotted key; for a list, its entries.
fn json_figure<'a>(record: &'a serde_json::Value, key: &str) -> Option<f64> {
    let entry = |value: &'a serde_json::Value, name: &str| match name.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(name),
    };
    let found = key.split('.').try_fold(record, entry)?;
    found.as_array().map(|list| list.len() as f64).or_else(|| found.as_f64())
}

/// A value as one number for each run; a level or a setting may be one.
fn numbers_by_run(value: &NodeValue) -> Option<Vec<f64>> {
    match value {
        NodeValue::Runs(runs) => Some(runs.clone()),
        NodeValue::Word(word) => word.parse().ok().map(|number| vec![number]),
        NodeValue::Truth(_) => None,
    }
}

/// Factors and their levels, for the reader.
fn scope_text(scope: &[(String, String)]) -> String {
    scope.iter().map(|(factor, level)| format!("{factor} {level}")).collect::<Vec<_>>().join(", ")
}

fn level_names(place: &Scope) -> String {
    place.iter().map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(" ")
}

fn mean_of_runs(runs: &[f64]) -> f64 {
    runs.iter().sum::<f64>() / runs.len() as f64
}

/// Joins run by run; a single value goes with each.
fn join_runs(a: &[f64], b: &[f64], join: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    match (a, b) {
        ([a], b) => b.iter().map(|&b| join(*a, b)).collect(),
        (a, [b]) => a.iter().map(|&a| join(a, *b)).collect(),
        (a, b) => a.iter().zip(b).map(|(&a, &b)| join(a, b)).collect(),
    }
}

fn compare_means(left: &NodeValue, order: Relation, right: &NodeValue) -> bool {
    match (numbers_by_run(left), numbers_by_run(right)) {
        (Some(left), Some(right)) => {
            let (left, right) = (mean_of_runs(&left), mean_of_runs(&right));
            match order {
                Relation::Below => left < right,
                Relation::AtMost => left <= right,
                Relation::Above => left > right,
                Relation::AtLeast => left >= right,
                Relation::Equal => left == right,
                Relation::Unequal => left != right,
            }
        }
        _ => match order {
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
            _ => false,
        },
    }
}

/// How far the mean of `value` is from a bound, as a share of it: positive beyond, negative with that much to spare.
fn bound_distance(value: &NodeValue, order: Relation, bound: &NodeValue) -> Option<f64> {
    let (value, bound) = (mean_of_runs(&numbers_by_run(value)?), mean_of_runs(&numbers_by_run(bound)?));
    let above = (value - bound) / bound.abs();
    let distance = match order {
        Relation::Below | Relation::AtMost => above,
        Relation::Above | Relation::AtLeast => -above,
        Relation::Equal => above.abs(),
        Relation::Unequal => return None,
    };
    Some(distance).filter(|distance| distance.is_finite())
}

/// The larger of two distances, as far as there are any.
fn larger_distance(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Reduces many cells to one value. `names` are their levels, `runs` their figures.
fn reduce_cells(reduction: Reduction, names: &[String], runs: &[Vec<f64>], log2: bool) -> Option<NodeValue> {
    let (first, rest) = runs.split_first()?;
    let fold =
        |join: fn(f64, f64) -> f64| rest.iter().fold(first.clone(), |so_far, next| join_runs(&so_far, next, join));
    let count = runs.len() as f64;
    let means: Vec<f64> = runs.iter().map(|runs| mean_of_runs(runs)).collect();
    let best = |sign: f64| {
        let place = (0..means.len()).max_by(|&a, &b| (sign * means[a]).total_cmp(&(sign * means[b])))?;
        Some(NodeValue::Word(names[place].clone()))
    };
    let steps = |fits: fn(f64, f64) -> bool| NodeValue::Truth(means.windows(2).all(|pair| fits(pair[0], pair[1])));
    Some(match reduction {
        Reduction::Max => NodeValue::Runs(fold(f64::max)),
        Reduction::Min => NodeValue::Runs(fold(f64::min)),
        Reduction::Sum => NodeValue::Runs(fold(|a, b| a + b)),
        Reduction::Mean => NodeValue::Runs(fold(|a, b| a + b).into_iter().map(|sum| sum / count).collect()),
        Reduction::Geomean => {
            let logs: Vec<Vec<f64>> = runs.iter().map(|runs| runs.iter().map(|value| value.ln()).collect()).collect();
            let sum = logs[1..].iter().fold(logs[0].clone(), |so_far, next| join_runs(&so_far, next, |a, b| a + b));
            NodeValue::Runs(sum.into_iter().map(|sum| (sum / count).exp()).collect())
        }
        Reduction::Spread => {
            NodeValue::Runs(join_runs(&fold(f64::max), &fold(f64::min), |most, least| most / least - 1.0))
        }
        Reduction::ArgMax => best(1.0)?,
        Reduction::ArgMin => best(-1.0)?,
        Reduction::Rising => steps(|a, b| a < b),
        Reduction::Falling => steps(|a, b| a > b),
        Reduction::Slope => NodeValue::Runs(slope_by_run(names, runs, log2)?),
        Reduction::Share => return None,
    })
}

/// The slope of the least-squares line through the cells of each run.
fn slope_by_run(names: &[String], runs: &[Vec<f64>], log2: bool) -> Option<Vec<f64>> {
    let places: Vec<f64> = names.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
    let places: Vec<f64> = if log2 { places.into_iter().map(f64::log2).collect() } else { places };
    let middle = mean_of_runs(&places);
    let square: f64 = places.iter().map(|x| (x - middle).powi(2)).sum();
    let count = runs.iter().map(Vec::len).min()?;
    let of_run = |run: usize| {
        let product: f64 = places.iter().zip(runs).map(|(x, runs)| (x - middle) * runs[run]).sum();
        product / square
    };
    Some((0..count).map(of_run).collect())
}

/// Four significant digits, or all before the point.
fn short_number(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (3.0 - digits).clamp(0.0, 9.0) as usize)
}

/// As many digits as the figure has, and up to two more to show the interval; a still smaller interval is described as
/// such.
fn with_interval(estimate: f64, half: f64) -> String {
    let least = short_number(estimate).split('.').nth(1).map_or(0, str::len);
    let places = ((-half.log10()).ceil().clamp(0.0, 9.0) as usize).clamp(least, least + 2);
    let unit = 10f64.powi(-(places as i32));
    if half < unit {
        return format!("{estimate:.places$} ± <{unit:.places$}");
    }
    format!("{estimate:.places$} ± {half:.places$}")
}

fn value_text(value: Option<&NodeValue>) -> String {
    match value {
        None => "not run".to_owned(),
        Some(NodeValue::Word(word)) => word.clone(),
        Some(NodeValue::Truth(true)) => "so".to_owned(),
        Some(NodeValue::Truth(false)) => "not so".to_owned(),
        Some(NodeValue::Runs(runs)) => match mean_interval(runs, ALPHA) {
            Some(interval) if interval.high > interval.low => {
                let half = (interval.high - interval.low) / 2.0;
                with_interval(interval.estimate, half)
            }
            _ => short_number(mean_of_runs(runs)),
        },
    }
}

#[cfg(test)]
#[path = "evaluate/tests.rs"]
mod tests;
