//! Evaluates the expressions of a study's checks: from the records of its cells to figures and to "holds" or "fails".
//!
//! A figure has a value for each run of a cell, and arithmetic pairs runs of one seed. The text of a figure shows the mean of its runs with its
//! 95 % interval; a condition compares means. If a cell has no runs, a figure of it has no value, and a condition on it neither holds nor fails.

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

/// The share of intervals that may miss the true mean.
const INTERVAL_ALPHA: f64 = 0.05;

/// A check, or a figure shown.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluatedCheck {
    /// The levels in the range of its claim; empty without a range.
    pub place: String,
    /// The expression, as written.
    pub of: String,
    /// The levels of the range and of `for each`.
    pub at: String,
    /// The value or values, each with its interval.
    pub value: String,
    /// The wanted value; empty if `of` says it.
    pub wanted: String,
    /// Whether the check holds; `None` if a cell has no runs, and for figures that are only shown.
    pub holds: Option<bool>,
    /// How far the mean is from the nearest bound, as a share of the bound: positive beyond it, negative on the side where the check holds. `None`
    /// where there is no bound other than 0, and for an order.
    pub distance: Option<f64>,
}

/// A part of an expression in one scope; the fields are those of [`EvaluatedCheck`].
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

/// Checks as lines: each expression once, with what was wanted, and below it a line for each combination of levels.
pub(crate) fn check_lines(checked: &[EvaluatedCheck]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut before: Option<&EvaluatedCheck> = None;
    for check in checked {
        let wanted = if check.wanted.is_empty() { String::new() } else { format!(", wanted {}", check.wanted) };
        let is_continued = before.is_some_and(|before| (&before.of, &before.wanted) == (&check.of, &check.wanted));
        if check.at.is_empty() {
            lines.push(format!("{}{wanted}: {}", check.of, check.status_text()));
        } else {
            if !is_continued {
                lines.push(format!("{}{wanted}:", check.of));
            }
            lines.push(format!("  {}", check.status_text()));
        }
        before = Some(check);
    }
    lines
}

/// The value of a part of an expression.
#[derive(Clone, Debug, PartialEq)]
enum NodeValue {
    /// A number for each run; a single one stands for all runs.
    Runs(Vec<f64>),
    /// A level or a setting.
    Word(String),
    Truth(bool),
}

/// Factors with the level chosen for each; later entries take precedence.
type Scope = Vec<(String, String)>;

/// Figures by cell and key, run by run; `None` if a run has no such figure.
type KnownFigures = BTreeMap<(usize, String), Option<Vec<f64>>>;

/// The results of a study, in which expressions are evaluated.
pub(crate) struct StudyResults<'a> {
    study: &'a Study,
    /// The levels of each cell.
    cells: Vec<&'a [String]>,
    provenance: Option<&'a StudyProvenance>,
    /// Figures that expressions have read so far. Records become JSON, which is large, one at a time.
    figures: RefCell<KnownFigures>,
    /// The records of each cell.
    runs: &'a [Vec<&'a RunRecord>],
    /// If set, every figure is 1, no record is read, and the cells of the figures are collected here.
    queried_cells: Option<RefCell<BTreeSet<usize>>>,
    /// The levels that reductions of the current check cover, with their values.
    notes: RefCell<Vec<String>>,
}

/// The indices of the cells that the checks of `claim` read, in order.
pub fn needed_cells(study: &Study, cells: &[Cell], claim: &Claim) -> Vec<usize> {
    let mut results = StudyResults::new(study, cells.iter().map(|cell| &cell.levels[..]).collect(), None, &[]);
    results.queried_cells = Some(RefCell::new(BTreeSet::new()));
    for expression in claim.check.iter().chain(&claim.decided_if) {
        results.check_expression(expression, &claim.over);
    }
    results.queried_cells.map(|queried| queried.into_inner().into_iter().collect()).unwrap_or_default()
}

impl<'a> StudyResults<'a> {
    /// The results of the cells with these levels, in the same order as their runs; `provenance` has their settings.
    pub fn new(
        study: &'a Study,
        cells: Vec<&'a [String]>,
        provenance: Option<&'a StudyProvenance>,
        runs: &'a [Vec<&'a RunRecord>],
    ) -> StudyResults<'a> {
        let figures = RefCell::default();
        StudyResults { study, cells, provenance, figures, runs, queried_cells: None, notes: RefCell::default() }
    }

    /// Evaluates an expression at each combination of levels: of the factors over which its claim ranges, and of its `for each`.
    pub(crate) fn check_expression(&self, expression: &Expression, range_factors: &[String]) -> Vec<EvaluatedCheck> {
        let range: Vec<FactorAxis> =
            range_factors.iter().map(|name| FactorAxis { factor: name.clone(), levels: None, log2: false }).collect();
        let axes = [&range[..], &expression.each].concat();
        let evaluate = |scope: &Scope| {
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
        self.level_combinations(&axes).iter().map(evaluate).collect()
    }

    /// The values of a figure at one level of a factor, run by run; `None` if a cell has no runs.
    pub(crate) fn figure_at(&self, expression: &Expression, factor: &str, level: &str) -> Option<Vec<f64>> {
        self.part_by_run(&expression.body, &mut vec![(factor.to_owned(), level.to_owned())])
    }

    /// All combinations of levels of some factors.
    fn level_combinations(&self, axes: &[FactorAxis]) -> Vec<Scope> {
        let mut scopes = vec![Scope::new()];
        for axis in axes {
            let levels = self.axis_levels(axis);
            let with_each_level = |scope: Scope| {
                let extended = levels.iter().map(move |level| {
                    let mut scope = scope.clone();
                    scope.push((axis.factor.clone(), level.clone()));
                    scope
                });
                extended.collect::<Vec<_>>()
            };
            scopes = scopes.into_iter().flat_map(with_each_level).collect();
        }
        scopes
    }

    fn axis_levels(&self, axis: &FactorAxis) -> Vec<String> {
        let study_factor = || self.study.factor.iter().find(|factor| factor.name == axis.factor);
        axis.levels.clone().unwrap_or_else(|| study_factor().map_or(Vec::new(), |factor| factor.level_names()))
    }

    /// Evaluates a part of an expression: its value, and whether it holds.
    fn describe_part(&self, part: &Subexpression, scope: &mut Scope) -> PartDescription {
        match &*part.node {
            ExpressionNode::Within(value, low, high, wanted) => {
                let ends = [self.part_value(low, scope), self.part_value(high, scope)];
                let found = self.part_value(value, scope);
                let complete = ends[0].as_ref().zip(ends[1].as_ref()).zip(found.as_ref());
                let holds = complete.map(|((low, high), value)| {
                    compare_means(low, Relation::AtMost, value) && compare_means(value, Relation::AtMost, high)
                });
                let distance = complete.and_then(|((low, high), value)| {
                    larger_distance(
                        share_beyond_bound(value, Relation::AtLeast, low),
                        share_beyond_bound(value, Relation::AtMost, high),
                    )
                });
                let (of, value) = (value.text.clone(), value_text(found.as_ref()));
                PartDescription { of, value, wanted: wanted.clone(), holds, distance }
            }
            ExpressionNode::Among(value, list, wanted) => {
                let found = self.part_value(value, scope);
                let allowed: Vec<NodeValue> = list.iter().filter_map(|entry| self.part_value(entry, scope)).collect();
                let is_allowed =
                    |value: &NodeValue| allowed.iter().any(|entry| compare_means(value, Relation::Equal, entry));
                let holds = found.as_ref().map(is_allowed);
                let (of, value) = (value.text.clone(), value_text(found.as_ref()));
                PartDescription { of, value, wanted: format!("one of {wanted}"), holds, distance: None }
            }
            ExpressionNode::Compare(first, rest) => self.describe_chain(first, rest, scope, &part.text),
            ExpressionNode::And(a, b) | ExpressionNode::Or(a, b) => {
                let (left, right) = (self.describe_part(a, scope), self.describe_part(b, scope));
                let is_and = matches!(&*part.node, ExpressionNode::And(..));
                let holds = left.holds.zip(right.holds).map(|(a, b)| if is_and { a && b } else { a || b });
                let value = format!("{} and {}", left.value, right.value);
                PartDescription { of: part.text.clone(), value, wanted: String::new(), holds, distance: None }
            }
            ExpressionNode::Not(inner) => {
                let inner = self.describe_part(inner, scope);
                let holds = inner.holds.map(|holds| !holds);
                PartDescription { wanted: format!("not {}", inner.wanted), holds, distance: None, ..inner }
            }
            ExpressionNode::At(inner, cell) if inner.node.is_condition() => {
                let outer_len = scope.len();
                scope.extend(cell.iter().cloned());
                let described = self.describe_part(inner, scope);
                scope.truncate(outer_len);
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

    /// Evaluates a chain of comparisons. A single constant on the right becomes the wanted value.
    fn describe_chain(
        &self,
        first: &Subexpression,
        rest: &[(Relation, Subexpression)],
        scope: &mut Scope,
        text: &str,
    ) -> PartDescription {
        let parts = std::iter::once(first).chain(rest.iter().map(|(_, part)| part));
        let values: Vec<Option<NodeValue>> = parts.map(|part| self.part_value(part, scope)).collect();
        let pairs = || values.windows(2).zip(rest);
        let links =
            pairs().map(|(pair, (relation, _))| Some(compare_means(pair[0].as_ref()?, *relation, pair[1].as_ref()?)));
        let holds = links.collect::<Option<Vec<bool>>>().map(|links| links.into_iter().all(|holds| holds));
        let distances =
            pairs().map(|(pair, (relation, _))| share_beyond_bound(pair[0].as_ref()?, *relation, pair[1].as_ref()?));
        let distance = distances.reduce(larger_distance).flatten();
        let is_constant =
            |part: &Subexpression| matches!(&*part.node, ExpressionNode::Number(_) | ExpressionNode::Word(_));
        if let [(relation, wanted)] = rest
            && is_constant(wanted)
        {
            let wanted = format!("{} {}", relation.sign(), wanted.text);
            return PartDescription {
                of: first.text.clone(),
                value: value_text(values[0].as_ref()),
                wanted,
                holds,
                distance,
            };
        }
        let mut shown = value_text(values[0].as_ref());
        for ((relation, _), value) in rest.iter().zip(&values[1..]) {
            shown.push_str(&format!(" {} {}", relation.sign(), value_text(value.as_ref())));
        }
        PartDescription { of: text.to_owned(), value: shown, wanted: String::new(), holds, distance }
    }

    /// The value of a part; `None` if a cell has no runs, or its records no such figure.
    fn part_value(&self, part: &Subexpression, scope: &mut Scope) -> Option<NodeValue> {
        Some(match &*part.node {
            ExpressionNode::Number(number) => NodeValue::Runs(vec![*number]),
            ExpressionNode::Word(word) => NodeValue::Word(word.clone()),
            ExpressionNode::Quantity(key) => NodeValue::Runs(self.cell_figure_by_run(key, scope)?),
            ExpressionNode::Setting(key) => self.cell_setting(key, scope)?,
            ExpressionNode::At(inner, cell) => {
                let outer_len = scope.len();
                scope.extend(cell.iter().cloned());
                let value = self.part_value(inner, scope);
                scope.truncate(outer_len);
                value?
            }
            ExpressionNode::Negative(inner) => {
                NodeValue::Runs(self.part_by_run(inner, scope)?.into_iter().map(|value| -value).collect())
            }
            ExpressionNode::Arithmetic(a, operator, b) => {
                let (a, b) = (self.part_by_run(a, scope), self.part_by_run(b, scope));
                NodeValue::Runs(combine_by_run(&a?, &b?, |a, b| match operator {
                    Operator::Plus => a + b,
                    Operator::Minus => a - b,
                    Operator::Times => a * b,
                    Operator::Over => a / b,
                }))
            }
            ExpressionNode::Function(function, arguments) => {
                NodeValue::Runs(self.function_by_run(*function, arguments, scope)?)
            }
            ExpressionNode::Over(reduction, inner, axes) => {
                self.reduction_over_cells(*reduction, inner, axes, scope)?
            }
            _ => NodeValue::Truth(self.describe_part(part, scope).holds?),
        })
    }

    /// The value of a part as a number for each run.
    fn part_by_run(&self, part: &Subexpression, scope: &mut Scope) -> Option<Vec<f64>> {
        numbers_by_run(&self.part_value(part, scope)?)
    }

    fn function_by_run(&self, function: Function, arguments: &[Subexpression], scope: &mut Scope) -> Option<Vec<f64>> {
        let values: Vec<Option<Vec<f64>>> = arguments.iter().map(|part| self.part_by_run(part, scope)).collect();
        let mut values = values.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
        let first = values.next()?;
        let interval_end = |is_high: bool| {
            // Figures have one run and no interval while only the cells are collected.
            let interval = mean_interval(&first, INTERVAL_ALPHA);
            let end = interval.map(|interval| if is_high { interval.high } else { interval.low });
            end.or(self.queried_cells.as_ref().map(|_| 1.0)).map(|end| vec![end])
        };
        match function {
            Function::Abs => Some(first.into_iter().map(f64::abs).collect()),
            Function::Log2 => Some(first.into_iter().map(f64::log2).collect()),
            Function::Low => interval_end(false),
            Function::High => interval_end(true),
            Function::Deviation => {
                deviation(&first).or(self.queried_cells.as_ref().map(|_| 1.0)).map(|spread| vec![spread])
            }
            Function::Max => Some(values.fold(first, |most, next| combine_by_run(&most, &next, f64::max))),
            Function::Min => Some(values.fold(first, |least, next| combine_by_run(&least, &next, f64::min))),
        }
    }

    /// The reduction of a part's values at all combinations of levels. Where the text of the result needs them, the values become a note.
    fn reduction_over_cells(
        &self,
        reduction: Reduction,
        inner: &Subexpression,
        axes: &[FactorAxis],
        scope: &mut Scope,
    ) -> Option<NodeValue> {
        let outer_len = scope.len();
        let combinations = self.level_combinations(axes);
        let mut values = Vec::new();
        for levels in &combinations {
            scope.extend(levels.iter().cloned());
            values.push(self.part_value(inner, scope));
            scope.truncate(outer_len);
        }
        let values = values.into_iter().collect::<Option<Vec<NodeValue>>>()?;
        if reduction == Reduction::Share {
            let holding_count = values.iter().filter(|value| matches!(value, NodeValue::Truth(true))).count();
            return Some(NodeValue::Runs(vec![holding_count as f64 / values.len().max(1) as f64]));
        }
        let names: Vec<String> = combinations.iter().map(join_level_names).collect();
        let runs: Vec<Vec<f64>> = values.iter().map(numbers_by_run).collect::<Option<_>>()?;
        if !matches!(reduction, Reduction::Mean | Reduction::Geomean | Reduction::Sum) {
            let shown =
                names.iter().zip(&runs).map(|(name, runs)| format!("{name}: {}", four_digits(mean_of_runs(runs))));
            self.notes.borrow_mut().push(shown.collect::<Vec<_>>().join(", "));
        }
        reduce_cells(reduction, &names, &runs, axes.first().is_some_and(|axis| axis.log2))
    }

    /// The index of the first cell whose levels are those that the scope chooses. Factors without a choice may have any level.
    fn find_cell(&self, scope: &Scope) -> Option<usize> {
        let chosen = |name: &str| scope.iter().rev().find(|(factor, _)| factor == name).map(|(_, level)| level);
        let fits = |levels: &&[String]| {
            let mut pairs = self.study.factor.iter().zip(levels.iter());
            pairs.all(|(factor, level)| chosen(&factor.name).is_none_or(|chosen| chosen == level))
        };
        self.cells.iter().position(fits)
    }

    /// The figure of the chosen cell by its key in records, for each run.
    fn cell_figure_by_run(&self, key: &str, scope: &Scope) -> Option<Vec<f64>> {
        let cell = self.find_cell(scope)?;
        if let Some(queried) = &self.queried_cells {
            queried.borrow_mut().insert(cell);
            return Some(vec![1.0]);
        }
        let read = || {
            let values: Option<Vec<f64>> =
                self.runs[cell].iter().map(|run| json_figure(&record_json(run), key)).collect();
            values.filter(|values| !values.is_empty())
        };
        self.figures.borrow_mut().entry((cell, key.to_owned())).or_insert_with(read).clone()
    }

    /// The setting of the chosen cell, as a word.
    fn cell_setting(&self, key: &str, scope: &Scope) -> Option<NodeValue> {
        let cell = self.find_cell(scope)?;
        if let Some(queried) = &self.queried_cells {
            queried.borrow_mut().insert(cell);
            return Some(NodeValue::Runs(vec![1.0]));
        }
        let setting = self.provenance?.find_setting(cell, key)?;
        Some(NodeValue::Word(setting.value.clone()))
    }
}

/// The record as JSON, without its histograms, which are the most of it and which no expression names.
fn record_json(record: &RunRecord) -> serde_json::Value {
    let mut light = RunRecord { histogram: PackedBuckets::default(), ..record.clone() };
    light.groups.iter_mut().for_each(|group| group.histogram = PackedBuckets::default());
    serde_json::to_value(light).expect("a record has no keys but strings")
}

/// The figure of a record by its dotted key; for a list, its entries.
fn json_figure<'a>(record: &'a serde_json::Value, key: &str) -> Option<f64> {
    let child = |value: &'a serde_json::Value, name: &str| match name.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(name),
    };
    let found = key.split('.').try_fold(record, child)?;
    found.as_array().map(|list| list.len() as f64).or_else(|| found.as_f64())
}

/// A value as a number for each run, or one for all; a level or a setting may be a number.
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

/// The levels of a scope, for the reader.
fn join_level_names(scope: &Scope) -> String {
    scope.iter().map(|(_, level)| level.as_str()).collect::<Vec<_>>().join(" ")
}

fn mean_of_runs(runs: &[f64]) -> f64 {
    runs.iter().sum::<f64>() / runs.len() as f64
}

/// Combines two values run by run; a single number is combined with each run.
fn combine_by_run(left: &[f64], right: &[f64], combine: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    match (left, right) {
        ([a], right) => right.iter().map(|&b| combine(*a, b)).collect(),
        (left, [b]) => left.iter().map(|&a| combine(a, *b)).collect(),
        (left, right) => left.iter().zip(right).map(|(&a, &b)| combine(a, b)).collect(),
    }
}

/// Whether the means of two values have a relation. Words that are no numbers are only equal or unequal.
fn compare_means(left: &NodeValue, relation: Relation, right: &NodeValue) -> bool {
    match (numbers_by_run(left), numbers_by_run(right)) {
        (Some(left), Some(right)) => {
            let (left, right) = (mean_of_runs(&left), mean_of_runs(&right));
            match relation {
                Relation::Below => left < right,
                Relation::AtMost => left <= right,
                Relation::Above => left > right,
                Relation::AtLeast => left >= right,
                Relation::Equal => left == right,
                Relation::Unequal => left != right,
            }
        }
        _ => match relation {
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
            _ => false,
        },
    }
}

/// How far the mean of `value` is from a bound, as a share of the bound: positive beyond it, negative on the side where the relation holds.
fn share_beyond_bound(value: &NodeValue, relation: Relation, bound: &NodeValue) -> Option<f64> {
    let (mean, limit) = (mean_of_runs(&numbers_by_run(value)?), mean_of_runs(&numbers_by_run(bound)?));
    let above = (mean - limit) / limit.abs();
    let distance = match relation {
        Relation::Below | Relation::AtMost => above,
        Relation::Above | Relation::AtLeast => -above,
        Relation::Equal => above.abs(),
        Relation::Unequal => return None,
    };
    Some(distance).filter(|distance| distance.is_finite())
}

/// The larger of two distances, or the only one.
fn larger_distance(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

/// Reduces many cells to one value. `level_names` and `figures`, run by run, have an entry for each cell.
fn reduce_cells(
    reduction: Reduction,
    level_names: &[String],
    figures: &[Vec<f64>],
    log2_levels: bool,
) -> Option<NodeValue> {
    let (first, rest) = figures.split_first()?;
    let fold = |combine: fn(f64, f64) -> f64| {
        rest.iter().fold(first.clone(), |so_far, next| combine_by_run(&so_far, next, combine))
    };
    let count = figures.len() as f64;
    let means: Vec<f64> = figures.iter().map(|runs| mean_of_runs(runs)).collect();
    let level_of_largest = |sign: f64| {
        let cell = (0..means.len()).max_by(|&a, &b| (sign * means[a]).total_cmp(&(sign * means[b])))?;
        Some(NodeValue::Word(level_names[cell].clone()))
    };
    let all_steps = |fits: fn(f64, f64) -> bool| NodeValue::Truth(means.windows(2).all(|pair| fits(pair[0], pair[1])));
    Some(match reduction {
        Reduction::Max => NodeValue::Runs(fold(f64::max)),
        Reduction::Min => NodeValue::Runs(fold(f64::min)),
        Reduction::Sum => NodeValue::Runs(fold(|a, b| a + b)),
        Reduction::Mean => NodeValue::Runs(fold(|a, b| a + b).into_iter().map(|sum| sum / count).collect()),
        Reduction::Geomean => {
            let logs: Vec<Vec<f64>> =
                figures.iter().map(|runs| runs.iter().map(|value| value.ln()).collect()).collect();
            let sum =
                logs[1..].iter().fold(logs[0].clone(), |so_far, next| combine_by_run(&so_far, next, |a, b| a + b));
            NodeValue::Runs(sum.into_iter().map(|sum| (sum / count).exp()).collect())
        }
        Reduction::Spread => {
            NodeValue::Runs(combine_by_run(&fold(f64::max), &fold(f64::min), |most, least| most / least - 1.0))
        }
        Reduction::ArgMax => level_of_largest(1.0)?,
        Reduction::ArgMin => level_of_largest(-1.0)?,
        Reduction::Rising => all_steps(|a, b| a < b),
        Reduction::Falling => all_steps(|a, b| a > b),
        Reduction::Slope => NodeValue::Runs(slope_by_run(level_names, figures, log2_levels)?),
        Reduction::Share => return None,
    })
}

/// For each run, the slope of the least-squares line of the cells' figures over their levels; `None` if a level is no number.
fn slope_by_run(level_names: &[String], figures: &[Vec<f64>], log2_levels: bool) -> Option<Vec<f64>> {
    let mut levels: Vec<f64> = level_names.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
    if log2_levels {
        levels.iter_mut().for_each(|level| *level = level.log2());
    }
    let mean_level = mean_of_runs(&levels);
    let squares: f64 = levels.iter().map(|level| (level - mean_level).powi(2)).sum();
    let run_count = figures.iter().map(Vec::len).min()?;
    let slope_of_run = |run: usize| {
        let products: f64 = levels.iter().zip(figures).map(|(level, runs)| (level - mean_level) * runs[run]).sum();
        products / squares
    };
    Some((0..run_count).map(slope_of_run).collect())
}

/// The number with four significant digits, or with all digits before the point.
fn four_digits(value: f64) -> String {
    let digits = if value == 0.0 || !value.is_finite() { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", (3.0 - digits).clamp(0.0, 9.0) as usize)
}

/// An estimate and half the width of its interval. The estimate has four digits, and up to two more if the interval needs them; an interval that
/// needs still more is given as smaller than the last digit.
fn estimate_with_interval(estimate: f64, half_width: f64) -> String {
    let least_decimals = four_digits(estimate).split('.').nth(1).map_or(0, str::len);
    let decimals = ((-half_width.log10()).ceil().clamp(0.0, 9.0) as usize).clamp(least_decimals, least_decimals + 2);
    let last_digit = 10f64.powi(-(decimals as i32));
    if half_width < last_digit {
        return format!("{estimate:.decimals$} ± <{last_digit:.decimals$}");
    }
    format!("{estimate:.decimals$} ± {half_width:.decimals$}")
}

/// A value as text: the mean of its runs with the interval, a word, or whether a condition holds.
fn value_text(value: Option<&NodeValue>) -> String {
    match value {
        None => "not run".to_owned(),
        Some(NodeValue::Word(word)) => word.clone(),
        Some(NodeValue::Truth(true)) => "so".to_owned(),
        Some(NodeValue::Truth(false)) => "not so".to_owned(),
        Some(NodeValue::Runs(runs)) => match mean_interval(runs, INTERVAL_ALPHA) {
            Some(interval) if interval.high > interval.low => {
                let half_width = (interval.high - interval.low) / 2.0;
                estimate_with_interval(interval.estimate, half_width)
            }
            _ => four_digits(mean_of_runs(runs)),
        },
    }
}

#[cfg(test)]
#[path = "evaluate/tests.rs"]
mod tests;
