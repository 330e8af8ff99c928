//! Resolves the names in an expression: figures of a run and settings of a stack. Checks its factors and levels against those of a
//! study, and that numbers and conditions are where they belong.

use seekwise_disk::record::Part as Spent;
use seekwise_drives::metric::Metric;
use seekwise_drives::spelling::nearest;
use seekwise_drives::stack;

use super::tree::{Expression, ExpressionError, ExpressionNode, FactorAxis, Function, Reduction, Subexpression};

/// The kinds of requests.
const REQUEST_KINDS: [&str; 5] = ["all", "read", "write", "flush", "commit"];
/// Figures of each kind.
const FIGURES: [&str; 4] = ["ios", "iops", "bytes_per_s", "response_ms"];
/// Figures of a response time.
const RESPONSES: [&str; 8] = ["mean", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];
/// Figures of a program's operations, besides their response times.
const OPERATIONS: [&str; 2] = ["count", "per_s"];
/// Figures of a whole run.
const WHOLE_RUN: [&str; 19] = [
    "elapsed_s",
    "memory_percent",
    "failures",
    "warnings",
    "cpu.percent",
    "cpu.ios_per_cpu_second",
    "cpu.iops_per_percent",
    "cpu.mb_per_s_per_percent",
    "cost.wall_ns",
    "cost.processor_ns",
    "drive.flushes",
    "drive.seeks",
    "drive.reversals",
    "drive.bitmap_writes",
    "array.read_per_byte_read",
    "array.read_per_byte_written",
    "array.written_per_byte_written",
    "array.read_modify_writes",
    "array.reconstruct_writes",
];
/// Roots of the keys of power cuts and orderly power-offs. The keys below them are those of `seekwise power-cut --json`.
const ENDS: [&str; 2] = ["cuts", "shutdowns"];
/// Counts of cuts.
const CUTS: [&str; 5] = ["cuts", "writes", "flushes", "torn_cuts", "hole_cuts"];
/// Classes of lost writes, each counted in cuts and in writes.
const LOST_WRITES: [&str; 4] = ["acknowledged_lost", "flushed_lost", "fua_lost", "promised_lost"];

/// The states of files and operations after a mount, each counted in itself and in cuts.
const AFTER_MOUNT: [&str; 8] = [
    "files.promised_lost",
    "files.unpromised_lost",
    "files.in_neither_place",
    "files.stale",
    "files.unreadable",
    "operations.promised_lost",
    "operations.unpromised_lost",
    "operations.in_part",
];

/// The figures of a run that an expression can name, by their keys in the record.
pub fn quantities() -> Vec<String> {
    let mut known: Vec<String> = WHOLE_RUN.map(str::to_owned).to_vec();
    for kind in REQUEST_KINDS {
        known.extend(FIGURES[..3].iter().map(|figure| format!("{kind}.{figure}")));
        known.extend(RESPONSES.map(|figure| format!("{kind}.response_ms.{figure}")));
        if !["flush", "commit"].contains(&kind) {
            known.extend(RESPONSES.map(|figure| format!("{kind}.since_due_ms.{figure}")));
        }
    }
    for end in ENDS {
        known.extend(CUTS.map(|count| format!("{end}.{count}")));
        known.extend(
            LOST_WRITES
                .iter()
                .flat_map(|lost| ["writes", "cuts_with_loss"].map(|count| format!("{end}.{lost}.{count}"))),
        );
        known.extend(
            AFTER_MOUNT
                .iter()
                .flat_map(|state| ["count", "cuts_with_loss"].map(|count| format!("{end}.{state}.{count}"))),
        );
    }
    known.extend(Spent::ALL.map(|part| format!("anatomy_ms.{}", part.name())));
    known
}

/// Resolves a name. Short forms are those of a [`Metric`] (`iops`, `read.p99`, `flush`), and
/// `cuts.flushed_lost` for its writes and `cuts.files.stale` for the number of files.
pub(super) fn resolve_name(name: &str) -> Result<ExpressionNode, ExpressionError> {
    if let Some(key) = name.strip_prefix("setting.") {
        return resolve_setting(key);
    }
    let mut key = name.to_owned();
    // Counts of operations come before metrics: as a metric, `operations.read.count` would be the mean response time of a
    // program `read.count`.
    if name
        .strip_prefix("operations.")
        .and_then(|rest| rest.split_once('.'))
        .is_some_and(|(_, figure)| OPERATIONS.contains(&figure))
    {
        return Ok(ExpressionNode::Quantity(key));
    }
    if let Some(figure) = name.parse::<Metric>().ok().and_then(|metric| metric.record_key()) {
        return Ok(ExpressionNode::Quantity(figure));
    }
    if FIGURES.contains(&name.split('.').next().unwrap_or("")) {
        key = format!("all.{key}");
    }
    if key.ends_with(".response_ms") {
        key.push_str(".mean");
    }
    if name.split_once('.').is_some_and(|(end, lost)| ENDS.contains(&end) && LOST_WRITES.contains(&lost)) {
        key.push_str(".writes");
    }
    if name.split_once('.').is_some_and(|(end, state)| ENDS.contains(&end) && AFTER_MOUNT.contains(&state)) {
        key.push_str(".count");
    }
    // `operations.copy.per_s`: a program of a scene, whose name the scene gives.
    if let Some((_, figure)) = key.strip_prefix("operations.").and_then(|rest| rest.split_once('.')) {
        let known =
            || OPERATIONS.map(str::to_owned).into_iter().chain(RESPONSES.map(|figure| format!("response_ms.{figure}")));
        if known().any(|known| known == figure) {
            return Ok(ExpressionNode::Quantity(key));
        }
        let all: Vec<String> = known().collect();
        let near = nearest(figure, all.iter().map(String::as_str)).map(str::to_owned);
        let message = format!("operations have no figure `{figure}`");
        return Err(ExpressionError { message, expected: Some(all.join(", ")), nearest: near, at: 0 });
    }
    let known = quantities();
    // `phases.1.all.iops`: the second stretch between changes of settings.
    let inner = key.strip_prefix("phases.").and_then(|rest| rest.split_once('.'));
    let of_phase = inner.filter(|(index, _)| index.parse::<usize>().is_ok()).map(|(_, figure)| figure);
    if known.iter().any(|known| known == of_phase.unwrap_or(&key)) {
        return Ok(ExpressionNode::Quantity(key));
    }
    let short = FIGURES.map(str::to_owned).into_iter();
    let all: Vec<String> = known.into_iter().chain(short).collect();
    let near = nearest(name, all.iter().map(String::as_str)).map(str::to_owned);
    Err(ExpressionError {
        message: format!("unknown figure `{name}`"),
        expected: Some("a key of `seekwise run --json`, or `setting.` and a dotted key".to_owned()),
        nearest: near,
        at: 0,
    })
}

fn resolve_setting(key: &str) -> Result<ExpressionNode, ExpressionError> {
    let known = stack::keys();
    if known.iter().any(|known| known == key) {
        return Ok(ExpressionNode::Setting(key.to_owned()));
    }
    let near = nearest(key, known.iter().map(String::as_str)).map(|near| format!("setting.{near}"));
    Err(ExpressionError { message: format!("unknown setting `{key}`"), nearest: near, ..ExpressionError::default() })
}

/// A factor and its levels.
pub(crate) type FactorLevels = (String, Vec<String>);

impl Expression {
    /// The faults of the expression in a claim of a study with these factors; the claim ranges over `claim_factors`.
    pub(crate) fn find_faults(
        &self,
        factors: &[FactorLevels],
        claim_factors: &[String],
        must_be_condition: bool,
    ) -> Vec<ExpressionError> {
        let mut check = ExpressionCheck { factors, faults: Vec::new(), text: &self.text };
        let mut bound_factors: Vec<&str> = claim_factors.iter().map(String::as_str).collect();
        for axis in &self.each {
            check.check_axis(axis);
            if claim_factors.contains(&axis.factor) {
                let message = format!("the claim already ranges over `{}`", axis.factor);
                check.add_fault("for each", message, None, None);
            }
            bound_factors.push(&axis.factor);
        }
        if must_be_condition && !self.body.node.is_condition() {
            let fault = ExpressionError {
                message: format!("`{}` is not a condition", self.body.text),
                ..ExpressionError::default()
            };
            check
                .faults
                .push(ExpressionError { expected: Some("a comparison, `in`, `rising` or `falling`".into()), ..fault });
        }
        check.check_part(&self.body, &mut bound_factors);
        check.faults
    }
}

/// A check of one expression, with the faults found so far.
struct ExpressionCheck<'a> {
    factors: &'a [FactorLevels],
    faults: Vec<ExpressionError>,
    text: &'a str,
}

impl<'a> ExpressionCheck<'a> {
    /// Adds a fault at the first place of `word` in the text.
    fn add_fault(&mut self, word: &str, message: String, expected: Option<String>, nearest: Option<String>) {
        let at = self.text.find(word).unwrap_or(0);
        self.faults.push(ExpressionError { at, message, expected, nearest });
    }

    /// The factor of this name; a missing one is a fault.
    fn find_factor(&mut self, name: &str) -> Option<&'a FactorLevels> {
        let factors = self.factors;
        let found = factors.iter().find(|(factor, _)| factor == name);
        if found.is_none() {
            let near = nearest(name, factors.iter().map(|(factor, _)| factor.as_str())).map(str::to_owned);
            self.add_fault(name, format!("no factor `{name}`"), None, near);
        }
        found
    }

    fn check_level(&mut self, factor: &str, level: &str) {
        let Some((_, levels)) = self.find_factor(factor) else { return };
        if !levels.iter().any(|known| known == level) {
            let near = nearest(level, levels.iter().map(String::as_str)).map(str::to_owned);
            let expected = levels.join(", ");
            self.add_fault(level, format!("factor `{factor}` has no level `{level}`"), Some(expected), near);
        }
    }

    fn check_axis(&mut self, axis: &FactorAxis) {
        match &axis.levels {
            Some(levels) => levels.iter().for_each(|level| self.check_level(&axis.factor, level)),
            None => drop(self.find_factor(&axis.factor)),
        }
    }

    /// Checks that each figure has a single cell, and that numbers and conditions are where they belong. `bound_factors` are
    /// fixed or iterated around the part.
    fn check_part<'p>(&mut self, part: &'p Subexpression, bound_factors: &mut Vec<&'p str>) {
        let bound_before = bound_factors.len();
        match &*part.node {
            ExpressionNode::At(_, cell) => {
                for (factor, level) in cell {
                    self.check_level(factor, level);
                    bound_factors.push(factor);
                }
            }
            ExpressionNode::Over(reduction, inner, axes) => {
                axes.iter().for_each(|axis| self.check_axis(axis));
                self.check_reduction(*reduction, part, axes);
                bound_factors.extend(axes.iter().map(|axis| axis.factor.as_str()));
                self.check_kind(inner, *reduction == Reduction::Share);
            }
            ExpressionNode::Quantity(name) | ExpressionNode::Setting(name) => {
                self.check_open_factor(name, part, bound_factors)
            }
            ExpressionNode::Function(function, arguments) => {
                let is_over_runs = matches!(function, Function::Low | Function::High | Function::Deviation);
                arguments.iter().for_each(|argument| self.check_kind(argument, false));
                if is_over_runs && matches!(*arguments[0].node, ExpressionNode::Number(_)) {
                    self.add_fault(&part.text, format!("`{}` is the same in every run", arguments[0].text), None, None);
                }
            }
            ExpressionNode::And(a, b) | ExpressionNode::Or(a, b) => {
                self.check_kind(a, true);
                self.check_kind(b, true);
            }
            ExpressionNode::Not(inner) => self.check_kind(inner, true),
            node => node.parts().into_iter().for_each(|inner| self.check_kind(inner, false)),
        }
        for inner in part.node.parts() {
            self.check_part(inner, bound_factors);
        }
        bound_factors.truncate(bound_before);
    }

    /// Checks that a reduction that depends on the order of levels has one factor, and that a slope has a factor with numbers.
    fn check_reduction(&mut self, reduction: Reduction, part: &Subexpression, axes: &[FactorAxis]) {
        use Reduction::{ArgMax, ArgMin, Falling, Rising, Slope};
        let takes_one_factor = matches!(reduction, ArgMax | ArgMin | Rising | Falling | Slope);
        if takes_one_factor && axes.len() > 1 {
            self.add_fault(&part.text, format!("`{}` takes one factor at a time", part.text), None, None);
        }
        if axes.iter().any(|axis| axis.log2) && reduction != Slope {
            self.add_fault("log2", "`log2` of a factor only applies to `slope`".to_owned(), None, None);
        }
        let [axis] = axes else { return };
        let Some((_, all)) = self.factors.iter().find(|(factor, _)| *factor == axis.factor) else { return };
        let levels = axis.levels.as_ref().unwrap_or(all);
        let is_number = |level: &String| level.parse::<f64>().is_ok_and(|value| !axis.log2 || value > 0.0);
        if reduction == Slope && !levels.iter().all(is_number) {
            self.add_fault(&axis.factor, format!("the levels of `{}` are not numbers", axis.factor), None, None);
        }
    }

    /// Checks that a part is a condition, or a number.
    fn check_kind(&mut self, part: &Subexpression, expects_condition: bool) {
        if part.node.is_condition() != expects_condition {
            let (found, expected) =
                if expects_condition { ("not a condition", "a condition") } else { ("a condition", "a number") };
            self.add_fault(&part.text, format!("`{}` is {found}", part.text), Some(expected.to_owned()), None);
        }
    }

    /// Checks that a figure has a single cell: each factor with several levels is fixed or iterated.
    fn check_open_factor(&mut self, name: &str, part: &Subexpression, bound_factors: &[&str]) {
        let is_open = |(factor, levels): &&FactorLevels| levels.len() > 1 && !bound_factors.contains(&factor.as_str());
        if let Some((factor, levels)) = self.factors.iter().find(is_open) {
            let example = levels.first().map_or("", String::as_str);
            let expected = format!("[{factor}=\"{example}\"], `over {factor}` or `for each {factor}`");
            self.add_fault(&part.text, format!("`{name}` leaves factor `{factor}` open"), Some(expected), None);
        }
    }
}
