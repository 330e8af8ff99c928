//! The verdict on a session: whether the machine kept up with the model, fell behind, or had too few requests to tell.
//!
//! A client waits for the model's response, and for what the machine adds: lateness of the answer and the round trip.
//! The machine kept up if it keeps two limits: it adds at most [`MEAN`] to the mean response, and it makes at most 1 %
//! of all responses exceed the model's 99th percentile by [`TAIL`] or more; requests that do so in the model itself do
//! not count. A session is a sample, so each limit is judged with 95 % confidence: surely kept, surely exceeded, or
//! neither. All figures come from the session's own requests and round trips.

use seekwise_disk::time::Span;

use super::transports::{TransportKind, TransportLatency};
use super::{LatencyWitness, Receipt, TransportCost};

/// Largest share of a client's mean response that the machine may add. A comparison calls a smaller difference
/// practically equal (`docs/statistics.md`).
pub const MEAN: f64 = 0.05;

/// Largest share of a long response that the machine may add: the limit of a response is the model's 99th percentile
/// divided by 1 - `TAIL`.
pub const TAIL: f64 = 0.1;

/// Largest share of responses that the machine may take beyond that limit.
const SLOWEST: f64 = 0.01;

/// Standard errors of a one-sided 95 % confidence bound.
const SURE: f64 = 1.645;

/// Fewest requests of any verdict: below it the normal approximation of a mean does not hold.
const FEWEST: u64 = 30;

/// More requests than any session has. A figure that needs more of them for its verdict is reported as at its limit.
const MOST: f64 = 1e7;

/// Shortest mean response of a disk, in its own time. A place that answers sooner (`null`) models no time.
const SHORTEST: Span = Span::from_micros(5);

/// Whether the machine kept up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaceVerdict {
    /// Surely kept both limits.
    KeptUp,
    /// Surely exceeded one of them; why, in words.
    FellBehind(String),
    /// Neither is sure; why, in words.
    TooFew(String),
}

impl PaceVerdict {
    /// The word in JSON.
    pub fn json_word(&self) -> &'static str {
        match self {
            PaceVerdict::KeptUp => "kept-up",
            PaceVerdict::FellBehind(_) => "fell-behind",
            PaceVerdict::TooFew(_) => "too-few-requests",
        }
    }

    /// The reason in words; `None` if it kept up.
    pub fn reason(&self) -> Option<&str> {
        match self {
            PaceVerdict::KeptUp => None,
            PaceVerdict::FellBehind(why) | PaceVerdict::TooFew(why) => Some(why),
        }
    }

    /// The verdict in a sentence.
    pub fn verdict_sentence(&self) -> String {
        match self {
            PaceVerdict::KeptUp => "The machine kept up.".to_owned(),
            PaceVerdict::FellBehind(why) => format!("The machine fell behind: {why}."),
            PaceVerdict::TooFew(why) => format!("It cannot be told whether the machine kept up: {why}."),
        }
    }
}

/// Whether a sample shows that a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LimitVerdict {
    Kept,
    Exceeded,
    /// Undecided. The number of requests that would decide, if they are like those of the sample.
    Open(f64),
}

impl Receipt {
    /// The verdict on the session: the machine kept up if it kept up on each transport that had requests.
    pub fn pace_verdict(&self) -> PaceVerdict {
        let transports =
            [(TransportKind::Network, &self.transports.network), (TransportKind::File, &self.transports.file)];
        let verdicts: Vec<PaceVerdict> =
            transports.into_iter().filter_map(|(kind, transport)| self.transport_verdict(kind, transport)).collect();
        if verdicts.is_empty() {
            return PaceVerdict::TooFew("no request was answered".to_owned());
        }
        let behind = verdicts.iter().find(|pace| matches!(pace, PaceVerdict::FellBehind(_)));
        let open = || verdicts.iter().find(|pace| matches!(pace, PaceVerdict::TooFew(_)));
        behind.or_else(open).cloned().unwrap_or(PaceVerdict::KeptUp)
    }

    /// The verdict on one transport; `None` if it had no requests.
    fn transport_verdict(&self, kind: TransportKind, transport: &TransportLatency) -> Option<PaceVerdict> {
        let (modelled, modelled_p99) = (transport.modelled.mean()?, transport.modelled.quantile(0.99)?);
        if self.speed.to_disk_time(modelled) < SHORTEST {
            let why = "the disk answers at once, so no request took time of its own";
            return Some(PaceVerdict::TooFew(why.to_owned()));
        }
        let mean = self
            .transport_cost(kind, transport)
            .map(|cost| (judge_mean(&cost, transport), cost.added_share_sentence()));
        let limits =
            [mean.unwrap_or((LimitVerdict::Open(FEWEST as f64), String::new())), judge_tail(transport, modelled_p99)];
        if let Some((_, why)) = limits.iter().find(|limit| limit.0 == LimitVerdict::Exceeded) {
            return Some(PaceVerdict::FellBehind(why.clone()));
        }
        let needed =
            |limit: &(LimitVerdict, String)| if let LimitVerdict::Open(needed) = limit.0 { Some(needed) } else { None };
        let Some(needed) = limits.iter().filter_map(needed).reduce(f64::max) else { return Some(PaceVerdict::KeptUp) };
        let (requests, round_trips) = (transport.modelled.count(), transport.path.count());
        let through = if kind == TransportKind::Network { "over the connection" } else { "through the file" };
        let measured = format!("{requests} requests were answered {through} and {round_trips} round trips measured");
        Some(PaceVerdict::TooFew(match needed.max(FEWEST as f64).ceil() {
            needed if needed < MOST => {
                format!("{measured}; about {needed} of each would tell")
            }
            _ => format!("{measured}, and what the machine adds is at a limit"),
        }))
    }
}

/// Number of samples at which `error` shrinks to `distance`, if it is the error of `samples` samples: it falls with the
/// square root of their number.
fn samples_needed(samples: u64, error: f64, distance: f64) -> f64 {
    samples as f64 * (error / distance).powi(2)
}

/// Judges the mean: whether the added time exceeds [`MEAN`] of the whole. The samples count as independent.
fn judge_mean(cost: &TransportCost, transport: &TransportLatency) -> LimitVerdict {
    if transport.modelled.count() < FEWEST {
        return LimitVerdict::Open(FEWEST as f64);
    }
    // A kernel or a run times all of its own requests, a probe only samples round trips. If these are too few, the
    // added time is the lateness alone: a lower bound, which may show that the limit is exceeded, but not that it is kept.
    let is_sampled = cost.by == LatencyWitness::Probe;
    let known = !is_sampled || transport.path.count() >= FEWEST;
    let added = if known { cost.added } else { transport.late.mean().unwrap_or_default() };
    let path_error = if is_sampled && known { transport.path.standard_error() } else { 0.0 };
    let excess = (1.0 - MEAN) * added.nanos() as f64 - MEAN * cost.modelled.nanos() as f64;
    let added_error = (1.0 - MEAN) * transport.late.standard_error().hypot(path_error);
    let error = SURE * added_error.hypot(MEAN * transport.modelled.standard_error());
    if excess - error > 0.0 {
        LimitVerdict::Exceeded
    } else if known && excess + error <= 0.0 {
        LimitVerdict::Kept
    } else if known {
        LimitVerdict::Open(samples_needed(transport.modelled.count(), error, excess))
    } else {
        LimitVerdict::Open(FEWEST as f64)
    }
}

/// Judges the tail: the share of responses that only the machine takes over the limit ([`TAIL`]). A request that is
/// over the limit in the model is also over it with the machine, so that share is the difference of two counts. Any
/// request may coincide with any round trip.
fn judge_tail(transport: &TransportLatency, modelled_p99: Span) -> (LimitVerdict, String) {
    let limit = Span::from_nanos((modelled_p99.nanos() as f64 / (1.0 - TAIL)) as u64);
    let (requests, round_trips) = (transport.response.count(), transport.path.count());
    let modelled = transport.modelled.count_above(limit);
    let over = |path: Span| {
        transport.response.count_above(limit.saturating_sub(path)).saturating_sub(modelled) as f64 / requests as f64
    };
    // With too few round trips, their time is taken as 0: a lower bound.
    let known = round_trips >= FEWEST;
    let share = match known {
        true => {
            transport.path.size_counts().map(|(path, count)| over(path) * count as f64).sum::<f64>()
                / round_trips as f64
        }
        false => over(Span::ZERO),
    };
    let verdict = match judge_slow_share(share, if known { requests.min(round_trips) } else { requests }) {
        LimitVerdict::Kept if !known => LimitVerdict::Open(requests_to_decide(share)),
        verdict => verdict,
    };
    let [modelled_p99, limit] = [modelled_p99, limit].map(|span| span.nanos() / 1000);
    let why = format!(
        "{:.1} % of a client's responses took over {limit} us by the machine alone; in the model the 99th percentile is \
         {modelled_p99} us",
        100.0 * share
    );
    (verdict, why)
}

/// Judges by Wilson's interval whether at most [`SLOWEST`] of all responses are slow; of `samples` samples `share` are.
fn judge_slow_share(share: f64, samples: u64) -> LimitVerdict {
    if samples < FEWEST {
        return LimitVerdict::Open(requests_to_decide(share));
    }
    let samples = samples as f64;
    let square = SURE * SURE / samples;
    let half = SURE * (share * (1.0 - share) / samples + square / (4.0 * samples)).sqrt();
    let bound = |sign: f64| (share + square / 2.0 + sign * half) / (1.0 + square);
    if bound(-1.0) > SLOWEST {
        LimitVerdict::Exceeded
    } else if bound(1.0) <= SLOWEST {
        LimitVerdict::Kept
    } else {
        LimitVerdict::Open(requests_to_decide(share))
    }
}

/// Number of requests that decide on which side of [`SLOWEST`] a share lies: Wilson's interval around it ends there.
fn requests_to_decide(share: f64) -> f64 {
    samples_needed(1, SURE * (SLOWEST * (1.0 - SLOWEST)).sqrt(), share - SLOWEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::ClockSpeed;
    use crate::receipt::lateness::Lateness;
    use crate::receipt::transports::{RequestTotals, TransportEnds};

    /// Requests that decide that the machine kept up, if it makes none slow.
    const ENOUGH: u64 = 268;

    /// A session of requests of `modelled_us` each, every `each`th of them late by `late_us`, with a round trip of
    /// `path_us` for each.
    fn session(requests: u64, modelled_us: u64, (each, late_us): (u64, u64), path_us: u64) -> Receipt {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        for request in 1..=requests {
            let transport = receipt.transports.transport_mut(TransportKind::Network);
            let late = if request % each == 0 { Span::from_micros(late_us) } else { Span::ZERO };
            transport.add_request(None, Span::from_micros(modelled_us), late);
            transport.path.add(Span::from_micros(path_us));
        }
        receipt
    }

    fn word(receipt: &Receipt) -> &'static str {
        receipt.pace_verdict().json_word()
    }

    #[test]
    fn a_session_without_requests_has_too_few_however_busy_it_was() {
        let mut receipt = Receipt { seconds: 0.01, worked: Span::from_millis(10), ..Receipt::default() };
        receipt.stalls.add(seekwise_disk::time::Instant::ZERO, seekwise_disk::time::Instant::from_nanos(9_000_000));
        assert_eq!(receipt.pace_verdict(), PaceVerdict::TooFew("no request was answered".to_owned()));
    }

    #[test]
    fn enough_requests_are_those_that_the_bound_needs() {
        assert_eq!(requests_to_decide(0.0).ceil() as u64, ENOUGH);
        for share in [0.0, 0.001, 0.005, 0.008, 0.013, 0.02] {
            let enough = requests_to_decide(share).ceil() as u64;
            let decided = if share < SLOWEST { LimitVerdict::Kept } else { LimitVerdict::Exceeded };
            assert_eq!(judge_slow_share(share, enough), decided, "{share}");
            assert_eq!(judge_slow_share(share, enough - 1), LimitVerdict::Open(requests_to_decide(share)), "{share}");
        }
        assert_eq!(judge_slow_share(SLOWEST, 1_000_000), LimitVerdict::Open(f64::INFINITY));
        assert_eq!(judge_slow_share(1.0, FEWEST - 1), LimitVerdict::Open(requests_to_decide(1.0)));
    }

    #[test]
    fn a_session_is_judged_by_what_the_machine_adds_to_mean_and_tail() {
        assert_eq!(word(&session(300, 8_000, (1, 20), 60)), "kept-up");
        assert_eq!(word(&session(ENOUGH - 1, 8_000, (1, 20), 60)), "too-few-requests");
        // 0.6 % of the mean, and every answer 600 us late: less than a tenth of what the slowest requests take.
        assert_eq!(word(&session(300, 100_000, (1, 600), 60)), "kept-up");
        // One stall says nothing in 40 requests, nor in 300; many do.
        assert_eq!(word(&session(40, 8_000, (40, 30_000), 60)), "too-few-requests");
        assert_eq!(word(&session(300, 8_000, (300, 30_000), 60)), "too-few-requests");
        assert_eq!(word(&session(2_000, 8_000, (1_000, 30_000), 60)), "kept-up");
        let PaceVerdict::FellBehind(why) = session(400, 8_000, (20, 2_000), 60).pace_verdict() else { panic!() };
        assert!(why.starts_with("5.0 % of a client's responses took over 8888 us by the machine alone; in"), "{why}");
        let PaceVerdict::FellBehind(why) = session(40, 100, (1, 5), 30).pace_verdict() else { panic!() };
        assert!(why.starts_with("26 % of a client's mean response over its connection is not the model's"), "{why}");
        let PaceVerdict::FellBehind(why) = session(400, 40_000, (1, 0), 9_000).pace_verdict() else { panic!() };
        assert!(why.contains("mean response"), "{why}");
    }

    #[test]
    fn round_trips_that_are_held_up_count_by_their_own_number() {
        let mut receipt = session(10_000, 8_000, (1, 20), 60);
        let transport = receipt.transports.transport_mut(TransportKind::Network);
        transport.path = Lateness::default();
        (0..95).for_each(|_| transport.path.add(Span::from_micros(60)));
        (0..5).for_each(|_| transport.path.add(Span::from_millis(2)));
        let PaceVerdict::FellBehind(why) = receipt.pace_verdict() else { panic!() };
        assert!(why.starts_with("5.0 % of a client's responses took over "), "{why}");
        // They change no percentile of a disk whose own responses differ by more: 0.6 % of the mean is the machine's.
        let mut spread = Receipt { seconds: 1.0, ..Receipt::default() };
        let transport = spread.transports.transport_mut(TransportKind::Network);
        (0..1_000).for_each(|request| transport.add_request(None, Span::from_millis(1 + request % 50), Span::ZERO));
        (0..1_000).for_each(|trip| transport.path.add(Span::from_micros(if trip % 40 == 0 { 6_000 } else { 5 })));
        assert!((spread.transport_costs()[0].added_share() - 0.006).abs() < 0.001, "{:?}", spread.transport_costs());
        assert_eq!(spread.pace_verdict(), PaceVerdict::KeptUp);
    }

    #[test]
    fn without_round_trips_only_late_answers_show_that_it_fell_behind() {
        let mut receipt = session(5_000, 60, (1, 0), 60);
        let transport = receipt.transports.transport_mut(TransportKind::Network);
        transport.path = Lateness::default();
        let PaceVerdict::TooFew(why) = receipt.pace_verdict() else { panic!() };
        assert_eq!(
            why,
            "5000 requests were answered over the connection and 0 round trips measured; about 268 of each \
             would tell"
        );
        let transport = receipt.transports.transport_mut(TransportKind::Network);
        (0..FEWEST - 1).for_each(|_| transport.path.add(Span::from_micros(5)));
        assert_eq!(word(&receipt), "too-few-requests");
        (0..400).for_each(|_| {
            receipt.transports.transport_mut(TransportKind::Network).add_request(
                None,
                Span::from_micros(60),
                Span::from_micros(90),
            )
        });
        assert_eq!(word(&receipt), "fell-behind");
    }

    #[test]
    fn the_disks_own_time_counts_at_any_speed_and_a_disk_without_one_is_not_judged() {
        assert_eq!(word(&session(300, 2, (1, 0), 60)), "too-few-requests");
        let fast = Receipt { speed: ClockSpeed(1_000.0), ..session(300, 2, (1, 0), 60) };
        assert_eq!(word(&fast), "fell-behind");
    }

    #[test]
    fn each_transport_with_requests_has_to_keep_up() {
        let mut receipt = session(300, 8_000, (1, 20), 60);
        assert_eq!(receipt.pace_verdict(), PaceVerdict::KeptUp);
        let transport = receipt.transports.transport_mut(TransportKind::File);
        (0..FEWEST - 1).for_each(|_| transport.add_request(None, Span::from_micros(8_000), Span::ZERO));
        transport.path.add(Span::from_micros(2));
        let PaceVerdict::TooFew(why) = receipt.pace_verdict() else { panic!() };
        assert!(why.starts_with("29 requests were answered through the file and 1 round trips measured;"), "{why}");
        let transport = receipt.transports.transport_mut(TransportKind::File);
        (0..400).for_each(|_| transport.add_request(None, Span::from_micros(8_000), Span::from_millis(30)));
        assert_eq!(word(&receipt), "fell-behind");
    }

    #[test]
    fn the_models_own_tail_is_not_the_machines() {
        // In the model 0.9 % of requests take far longer than its 99th percentile.
        let tail = |late: u64| {
            let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
            let transport = receipt.transports.transport_mut(TransportKind::Network);
            for request in 0..2_000 {
                let modelled = Span::from_micros(if request % 1_000 < 9 { 80_000 } else { 8_000 });
                let late = Span::from_micros(if request % 400 == 399 { late } else { 5 });
                transport.add_request(None, modelled, late);
                transport.path.add(Span::from_micros(60));
            }
            receipt
        };
        assert_eq!(tail(5).pace_verdict(), PaceVerdict::KeptUp);
        // The machine makes 0.25 % more so slow.
        assert_eq!(tail(2_000).pace_verdict(), PaceVerdict::KeptUp);
        // A number that is asked for is above those that were answered.
        for (each, requests) in [(150, 300), (120, 1_711), (90, 2_000)] {
            let PaceVerdict::TooFew(why) = session(requests, 8_000, (each, 3_000), 60).pace_verdict() else {
                panic!("{each}")
            };
            let asked = why.split("about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            assert!(asked.is_some_and(|asked| asked > requests), "{why}");
        }
    }

    #[test]
    fn the_clients_own_count_stands_for_the_round_trips_mean() {
        let mut receipt = session(300, 1_000, (1, 0), 20);
        let counted = |micros: u64| RequestTotals { requests: 300, took: Span::from_nanos(1000 * 300 * micros) };
        receipt.transports.client = Some(TransportEnds { far: counted(1_250), near: counted(1_000) });
        let PaceVerdict::FellBehind(why) = receipt.pace_verdict() else { panic!() };
        assert!(why.starts_with("20 % of a client's mean response over its connection"), "{why}");
        receipt.transports.client = Some(TransportEnds { far: counted(1_030), near: counted(1_000) });
        assert_eq!(receipt.pace_verdict(), PaceVerdict::KeptUp);
    }
}
