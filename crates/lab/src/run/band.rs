//! The band of a prediction on a fitted drive: the range of each figure over runs on the drive and on the draws of
//! its fit, which are drives that meet the measurements as well.
//!
//! The range of n draws covers a further one with a probability of (n - 1) / (n + 1), whatever their distribution: 90 % for 20.

use serde::{Deserialize, Serialize};

use super::{KindRecord, Response, RunRecord};

/// The least and the greatest value of each figure over the draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KindBand {
    pub iops: [f64; 2],
    pub bytes_per_s: [f64; 2],
    /// `None` without requests.
    pub response_ms: Option<ResponseBand>,
}

/// The least and the greatest value of each figure of the response times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ResponseBand {
    pub mean: [f64; 2],
    pub p50: [f64; 2],
    pub p90: [f64; 2],
    pub p95: [f64; 2],
    pub p99: [f64; 2],
    pub p99_9: [f64; 2],
    pub p99_99: [f64; 2],
    pub max: [f64; 2],
}

/// The requests of one kind in a run.
type KindOfRun = fn(&RunRecord) -> &KindRecord;

impl RunRecord {
    /// Adds the range of each figure over this run and those on the draws of its drive's fit.
    pub fn add_bands(&mut self, draws: &[RunRecord]) {
        self.draws = u32::try_from(draws.len()).ok();
        let kinds: [(&mut KindRecord, KindOfRun); 4] = [
            (&mut self.all, |run| &run.all),
            (&mut self.read, |run| &run.read),
            (&mut self.write, |run| &run.write),
            (&mut self.flush, |run| &run.flush),
        ];
        for (kind, kind_of) in kinds {
            kind.add_band(&draws.iter().map(kind_of).collect::<Vec<_>>());
        }
        if let Some(commit) = &mut self.commit {
            let drawn = draws.iter().filter_map(|run| run.commit.as_ref().map(|commit| &commit.figures));
            commit.figures.add_band(&drawn.collect::<Vec<_>>());
        }
        for (index, group) in self.groups.iter_mut().enumerate() {
            let drawn = draws.iter().filter_map(|run| run.groups.get(index).map(|group| &group.all));
            group.all.add_band(&drawn.collect::<Vec<_>>());
        }
    }
}

impl RunRecord {
    /// A sentence about the bands: which drives they cover. `None` without bands.
    pub fn band_sentence(&self) -> Option<String> {
        let draws = self.draws?;
        let others = if draws == 1 { "1 other".to_owned() } else { format!("{draws} others") };
        // Less than a half is no promise.
        let promise = match 100 * draws.saturating_sub(1) / (draws + 1) {
            percent @ 50.. => format!("; a further such drive lies between with a probability of {percent} %"),
            _ => String::new(),
        };
        Some(format!("Least and most: over this drive and {others} that meet the fit's measurements as well{promise}."))
    }

    /// Notes for a page: the band of the main figures, and what the job asks that no measurement of the fit covered.
    pub(crate) fn fit_notes(&self) -> impl Iterator<Item = String> {
        let band = self.all.band.as_deref().map(|band| {
            let [low, high] = band.iops;
            let times = band.response_ms.map_or(String::new(), |times| {
                let ([mean_low, mean_high], [p99_low, p99_high]) = (times.mean, times.p99);
                format!(", mean {mean_low:.3} to {mean_high:.3} ms, p99 {p99_low:.3} to {p99_high:.3} ms")
            });
            let drives = self.draws.map_or(String::new(), |draws| format!(" over {draws} draws of the drive's fit"));
            format!("Band: {low:.1} to {high:.1} requests/s{times}{drives}.")
        });
        band.into_iter().chain(self.unseen_sentence())
    }

    /// A sentence about what the job asks that no measurement of the fit covered. `None` if it asks nothing such.
    pub fn unseen_sentence(&self) -> Option<String> {
        (!self.unseen.is_empty()).then(|| format!("Not seen by the fit: {}.", self.unseen.join("; ")))
    }
}

impl KindRecord {
    fn add_band(&mut self, draws: &[&KindRecord]) {
        if self.ios == 0 {
            return;
        }
        let kinds = || std::iter::once(&*self).chain(draws.iter().copied());
        let responses: Vec<Response> = kinds().filter_map(|kind| kind.response_ms).collect();
        self.band = Some(Box::new(KindBand {
            iops: value_range(kinds().map(|kind| kind.iops)),
            bytes_per_s: value_range(kinds().map(|kind| kind.bytes_per_s)),
            response_ms: (!responses.is_empty()).then(|| ResponseBand::from_responses(&responses)),
        }));
    }
}

impl ResponseBand {
    fn from_responses(responses: &[Response]) -> ResponseBand {
        let range = |value: fn(&Response) -> f64| value_range(responses.iter().map(value));
        ResponseBand {
            mean: range(|r| r.mean),
            p50: range(|r| r.p50),
            p90: range(|r| r.p90),
            // Runs of this program have it.
            p95: range(|r| r.p95.unwrap_or(r.p90)),
            p99: range(|r| r.p99),
            p99_9: range(|r| r.p99_9),
            p99_99: range(|r| r.p99_99),
            max: range(|r| r.max),
        }
    }
}

/// The least and the greatest value.
fn value_range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)])
}

#[cfg(test)]
mod tests {
    use super::super::blank::record_with;
    use super::*;

    fn run(iops: f64, mean: f64) -> RunRecord {
        let times = format!(r#"{{"mean":{mean},"p50":1,"p90":1,"p95":1,"p99":1,"p99_9":1,"p99_99":1,"max":9}}"#);
        record_with(&format!(
            r#"{{"all":{{"ios":10,"iops":{iops},"bytes_per_s":4096,"response_ms":{times},"since_due_ms":null}}}}"#
        ))
    }

    #[test]
    fn a_band_is_the_range_of_the_run_and_its_draws() {
        let mut record = run(80.0, 12.0);
        record.add_bands(&[run(82.0, 11.0), run(81.0, 11.5)]);
        let band = record.all.band.as_deref().unwrap();
        assert_eq!((band.iops, band.bytes_per_s), ([80.0, 82.0], [4096.0, 4096.0]));
        assert_eq!(band.response_ms.unwrap().mean, [11.0, 12.0]);
        assert_eq!(record.draws, Some(2));
        assert!(record.read.band.is_none(), "nothing was read");
    }

    #[test]
    fn a_draw_equal_to_the_profile_has_a_band_without_width() {
        let mut record = run(80.0, 12.0);
        record.add_bands(&[run(80.0, 12.0)]);
        let band = record.all.band.as_deref().unwrap();
        assert_eq!((band.iops, band.response_ms.unwrap().mean), ([80.0; 2], [12.0; 2]));
    }
}
