//! The verdicts of comparisons, as pages and summaries name them.

use serde::Serialize;

/// The five verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Outcome {
    /// The judged side is faster.
    #[serde(rename = "faster")]
    Faster,
    /// The judged side is slower.
    #[serde(rename = "slower")]
    Slower,
    /// The whole interval lies within the margin.
    #[serde(rename = "no difference")]
    NoDifference,
    /// The interval is too wide to tell.
    #[default]
    #[serde(rename = "not enough data")]
    NotEnoughData,
    /// The sides differ in more than the factor named.
    #[serde(rename = "refused")]
    Refused,
}

impl Outcome {
    /// All verdicts, in the order in which a reader meets them.
    pub const ALL: [Outcome; 5] =
        [Outcome::Faster, Outcome::Slower, Outcome::NoDifference, Outcome::NotEnoughData, Outcome::Refused];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Faster => "faster",
            Outcome::Slower => "slower",
            Outcome::NoDifference => "no difference",
            Outcome::NotEnoughData => "not enough data",
            Outcome::Refused => "refused",
        }
    }
}
