//! Expressions over the stored results of a study: what a claim checks and what it shows.
//!
//! ```text
//! iops[setup="queue on", depth=8] / iops[setup="queue off", depth=8] in 1.15..1.35
//! (read.response_ms[setup=old] - read.response_ms[setup=new])[depth=64] >= 25
//! bytes_per_s[segments=64] / max(bytes_per_s over segments) <= 0.85 for each depth
//! high(slope(read.response_ms over log2(segments))) < 0
//! argmax(write.bytes_per_s over segments) in (8, 16)
//! ```
//!
//! | written | is |
//! |---|---|
//! | `iops`, `write.response_ms.p99`, `anatomy_ms.rotation` | a figure of a run, by its key in `seekwise run --json`; without a kind it is of all requests, `response_ms` alone is the mean; the words of a comparison's metric (`read.p99`, `flush.mean`) are known too. A list counts its entries |
//! | `setting.drive.cache.segments` | a setting of the cell's stack |
//! | `q[factor=level, …]`, `(…)[factor=level]` | the cells in which a figure, or all figures of a bracket, are taken. The inner choice wins. A factor with one level needs none |
//! | `+ - * /`, `abs`, `log2`, `max(a, b)`, `min(a, b)` | run by run: sides of one seed are paired |
//! | `low(x)`, `high(x)`, `deviation(x)` | over the runs: the ends of the 95 % interval of `x`, its standard deviation |
//! | `max min mean geomean sum spread (q over f, g)` | over all levels of the factors; `over f in (a, b)` over those. `spread` is the greatest over the least, less 1 |
//! | `argmax argmin (q over f)` | the level where it is greatest, least |
//! | `rising falling (q over f)` | strictly, in the order of the levels or of those listed |
//! | `slope(q over f)`, `slope(q over log2(f))` | of the least-squares line, run by run |
//! | `share(condition over f, g)` | the share of cells in which it holds |
//! | `a < b <= c`, `==`, `x in a..b`, `x in a ± b`, `x in a ± b %`, `x in (4, 8)` | conditions; ends belong to a range |
//! | `and`, `or`, `not` | of conditions |
//! | `… for each f, g in (a, b)` | the same for each level; at the end |
//!
//! A condition goes by the mean over runs. Expressions are read and names checked here; the laboratory evaluates them.

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
