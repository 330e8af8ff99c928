//! The figures of a distribution of response times, as records and pages hold them.

use seekwise_disk::time::Span;
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
    /// Absent in records from before it was stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub max: f64,
}

impl Response {
    /// The figures of a histogram; `None` if it is empty.
    pub fn from_histogram(histogram: &Histogram) -> Option<Response> {
        let ms = |span: Span| span.nanos() as f64 / 1e6;
        let [p50, p90, p95, p99, p99_9, p99_99] = histogram.percentiles(Percentile::KEPT)?.map(ms);
        let (mean, p95, max) = (histogram.mean_ns()? / 1e6, Some(p95), ms(histogram.max()?));
        Some(Response { mean, p50, p90, p95, p99, p99_9, p99_99, max })
    }

    /// Reads a stored response; `None` for the zeroes that older records have where nothing happened.
    pub fn deserialize_nonzero<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Response>, D::Error> {
        Ok(Option::deserialize(from)?.filter(|response: &Response| response.max > 0.0))
    }

    /// The mean of each figure over several runs; of `max` the largest. Panics if there are no runs.
    pub fn average(runs: &[Response]) -> Response {
        let mean = |value: fn(&Response) -> f64| runs.iter().map(value).sum::<f64>() / runs.len() as f64;
        Response {
            mean: mean(|r| r.mean),
            p50: mean(|r| r.p50),
            p90: mean(|r| r.p90),
            p95: runs.iter().map(|r| r.p95).sum::<Option<f64>>().map(|sum| sum / runs.len() as f64),
            p99: mean(|r| r.p99),
            p99_9: mean(|r| r.p99_9),
            p99_99: mean(|r| r.p99_99),
            max: runs.iter().map(|r| r.max).fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_before_it_was_kept_have_no_p95() {
        let mut times = Histogram::default();
        (1..=100).for_each(|ms| times.record(Span::from_nanos(ms * 1_000_000)));
        let new = Response::from_histogram(&times).unwrap();
        let p95 = new.p95.unwrap();
        assert!((95.0..=95.0 * (1.0 + 1.0 / 128.0)).contains(&p95), "{p95}");
        let mut text = serde_json::to_value(new).unwrap();
        text.as_object_mut().unwrap().remove("p95");
        let old: Response = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(old, Response { p95: None, ..new });
        assert_eq!(serde_json::to_value(old).unwrap(), text);
        assert_eq!((Response::average(&[new, new]).p95, Response::average(&[new, old]).p95), (new.p95, None));
    }
}
