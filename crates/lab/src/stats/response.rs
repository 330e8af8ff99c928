//! The figures of a distribution of response times, as records and pages hold them.

use seekwise_model::time::Span;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};

use super::histogram::{Histogram, Percentile};

/// The distribution of a response time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    pub mean: f64,
    /// The median.
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub max: f64,
}

impl Response {
    /// The figures of a histogram; `None` if it is empty.
    pub fn of(histogram: &Histogram) -> Option<Response> {
        let ms = |span: Span| span.nanos() as f64 / 1e6;
        let [p50, p90, p99, p99_9, p99_99] = histogram.percentiles(Percentile::LISTED)?.map(ms);
        Some(Response { mean: histogram.mean()? / 1e6, p50, p90, p99, p99_9, p99_99, max: ms(histogram.max()?) })
    }

    /// Reads what a record keeps: older ones have zeroes where nothing happened.
    pub fn kept<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Response>, D::Error> {
        Ok(Option::deserialize(from)?.filter(|response: &Response| response.max > 0.0))
    }

    /// The plain mean of each figure over several runs. Panics if there are none.
    pub fn average(runs: &[Response]) -> Response {
        let mean = |value: fn(&Response) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Response {
            mean: mean(|r| r.mean),
            p50: mean(|r| r.p50),
            p90: mean(|r| r.p90),
            p99: mean(|r| r.p99),
            p99_9: mean(|r| r.p99_9),
            p99_99: mean(|r| r.p99_99),
            max: runs.iter().map(|r| r.max).fold(0.0, f64::max),
        }
    }
}
