//! Expressions over the stored results of a study: the conditions that a claim checks and the figures that it shows.
//!
//! ```text
//! iops[setup="queue on", depth=8] / iops[setup="queue off", depth=8] in 1.15..1.35
//! (read.response_ms[setup=old] - read.response_ms[setup=new])[depth=64] >= 25
//! bytes_per_s[segments=64] / max(bytes_per_s over segments) <= 0.85 for each depth
//! high(slope(read.response_ms over log2(segments))) < 0
//! argmax(write.bytes_per_s over segments) in (8, 16)
//! ```
//!
//! | form | meaning |
//! |---|---|
//! | `iops`, `write.response_ms.p99`, `anatomy_ms.rotation` | a figure of a run, by its key in `seekwise run --json`. Without a kind of request it is of all requests; `response_ms` alone is the mean. The words of a metric (`read.p99`, `flush.mean`) are names too. A list stands for its length |
//! | `setting.drive.cache.segments` | a setting of the cell's stack |
//! | `q[factor=level, …]`, `(…)[factor=level]` | the cells from which a figure, or all figures of a bracket, are taken. The inner choice wins. A factor with one level needs no choice |
//! | `+ - * /`, `abs`, `log2`, `max(a, b)`, `min(a, b)` | arithmetic, run by run: runs with the same seed are paired |
//! | `low(x)`, `high(x)`, `deviation(x)` | the ends of the 95 % interval of `x` over the runs, and its standard deviation |
//! | `max min mean geomean sum spread (q over f, g)` | over all levels of the factors, or over the listed ones (`over f in (a, b)`). `spread` is the greatest divided by the least, minus 1 |
//! | `argmax argmin (q over f)` | the level at which `q` is greatest, least |
//! | `rising falling (q over f)` | true if `q` strictly rises or falls in the order of the levels, or of the listed ones |
//! | `slope(q over f)`, `slope(q over log2(f))` | the slope of the least-squares line, run by run |
//! | `share(condition over f, g)` | the share of cells in which the condition holds |
//! | `a < b <= c`, `==`, `x in a..b`, `x in a ± b`, `x in a ± b %`, `x in (4, 8)` | conditions; a range includes its ends |
//! | `and`, `or`, `not` | combinations of conditions |
//! | `… for each f, g in (a, b)` | the expression for each level; only at the end |
//!
//! A condition is judged by the mean over runs. The module parses expressions and checks their names; `lab` evaluates them.

mod names;
mod parse;
mod tree;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

pub use names::quantities;
pub use parse::parse;
pub use tree::{
    Expression, ExpressionError, ExpressionNode, FactorAxis, Function, Operator, Reduction, Relation, Subexpression,
};

impl Serialize for Expression {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Expression {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
        let spanned = toml::Spanned::<String>::deserialize(deserializer)?;
        let start = spanned.span().start;
        let text = spanned.into_inner();
        match parse(&text) {
            Ok(expression) => Ok(Expression { start, ..expression }),
            Err(fault) => Err(D::Error::custom(format!("in `{}`: {fault}", text.trim()))),
        }
    }
}

#[cfg(test)]
#[path = "expression/tests.rs"]
mod tests;
