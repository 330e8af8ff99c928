//! Whether the machine kept up with the model: yes, no, or too few requests to tell.
//!
//! A client waits for the model's time of each request, and also for what the machine adds to it: lateness of the answer and the
//! round trip. The machine kept up if it adds little to the mean response ([`MEAN`]) and to its 99th percentile ([`TAIL`]). A
//! session is a sample of what its machine does, so each limit is judged with 95 % confidence: surely kept, surely exceeded, or
//! neither. All of it comes from the session's own requests and round trips.

use seekwise_model::time::Span;

use super::ways::{Door, DoorLatency};
use super::{DoorCost, LatencyWitness, Receipt};

/// Largest share of a client's mean response that may be the machine's: what a comparison calls practically equal
/// (`docs/statistics.md`).
pub const MEAN: f64 = 0.05;

/// Largest share of a client's 99th percentile that may be the machine's.
pub const TAIL: f64 = 0.1;

/// Share of responses above the 99th percentile.
const SLOWEST: f64 = 0.01;

/// Standard errors of a one-sided 95 % confidence bound.
const SURE: f64 = 1.645;

/// Fewest requests of any verdict: below it the normal approximation of a mean does not hold.
const FEWEST: u64 = 30;

/// Fewest requests that can show that at most [`SLOWEST`] of all take longer than a limit: if none does, the confidence bound
/// is `SURE^2 / (n + SURE^2)`.
pub const ENOUGH: u64 = 268;

/// Shortest time that a disk takes for a request, in its own time: what answers sooner (`null`) has no time of its own.
const SOME: Span = Span::from_micros(5);

/// Whether the machine kept up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It surely kept both limits.
    KeptUp,
    /// It surely exceeded one of them; why, in words.
    FellBehind(String),
    /// Neither is sure; why, in words.
    TooFew(String),
}

impl Pace {
    /// The word in JSON.
    pub fn word(&self) -> &'static str {
        match self {
            Pace::KeptUp => "kept-up",
            Pace::FellBehind(_) => "fell-behind",
            Pace::TooFew(_) => "too-few-requests",
        }
    }

    /// Why, in words; nothing if it kept up.
    pub fn why(&self) -> Option<&str> {
        match self {
            Pace::KeptUp => None,
            Pace::FellBehind(why) | Pace::TooFew(why) => Some(why),
        }
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        match self {
            Pace::KeptUp => "The machine kept up.".to_owned(),
            Pace::FellBehind(why) => format!("The machine fell behind: {why}."),
            Pace::TooFew(why) => format!("Too few requests to tell whether the machine kept up: {why}."),
        }
    }
}

/// Whether a limit is kept, as far as a sample shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Kept,
    Exceeded,
    Open,
}

impl Receipt {
    /// The verdict on the session. A door without a verdict of its own does not change that of another.
    pub fn pace(&self) -> Pace {
        let mut kept = false;
        let mut open: Option<(u64, String)> = None;
        for (door, way) in [(Door::Network, &self.ways.network), (Door::File, &self.ways.file)] {
            let requests = way.modelled.count();
            match self.at_door(door, way) {
                Pace::KeptUp => kept = true,
                Pace::TooFew(why) if open.as_ref().is_none_or(|it| it.0 < requests) => open = Some((requests, why)),
                Pace::TooFew(_) => {}
                behind => return behind,
            }
        }
        match open {
            Some((_, why)) if !kept => Pace::TooFew(why),
            _ => Pace::KeptUp,
        }
    }

    /// The verdict on requests through one door.
    fn at_door(&self, door: Door, way: &DoorLatency) -> Pace {
        let (Some(modelled), Some(slow)) = (way.modelled.mean(), way.modelled.quantile(0.99)) else {
            return Pace::TooFew("no request was answered".to_owned());
        };
        if self.speed.of(modelled) < SOME {
            return Pace::TooFew("the disk answers at once, so no request took time of its own".to_owned());
        }
        let loss = self.loss(door, way);
        let limits = [
            loss.map_or((Limit::Open, String::new()), |loss| (mean_limit(&loss, way), loss.words())),
            tail_limit(way, slow),
        ];
        if let Some((_, why)) = limits.iter().find(|limit| limit.0 == Limit::Exceeded) {
            return Pace::FellBehind(why.clone());
        }
        if limits.iter().all(|limit| limit.0 == Limit::Kept) {
            return Pace::KeptUp;
        }
        let (requests, journeys) = (way.modelled.count(), way.path.count());
        let adds = loss.map_or(String::new(), |loss| {
            format!(
                ", and more if what the machine adds ({:.1} % of the mean response) is close to a limit",
                100.0 * loss.share()
            )
        });
        Pace::TooFew(format!(
            "{requests} requests were answered and {journeys} round trips measured; expected {ENOUGH} of each{adds}"
        ))
    }
}

/// Judges the mean: what the machine adds, less its limit, is positive or not. The samples count as independent.
fn mean_limit(loss: &DoorCost, way: &DoorLatency) -> Limit {
    if way.modelled.count() < FEWEST {
        return Limit::Open;
    }
    // A kernel or a run counts all of its own requests. Too few round trips say nothing: then they took no time, at least.
    let counted = loss.by != LatencyWitness::Probe;
    let known = counted || way.path.count() >= FEWEST;
    let added = if known { loss.added } else { way.late.mean().unwrap_or_default() };
    let path = if counted || !known { 0.0 } else { way.path.standard_error() };
    let excess = (1.0 - MEAN) * added.nanos() as f64 - MEAN * loss.modelled.nanos() as f64;
    let of_added = (1.0 - MEAN) * way.late.standard_error().hypot(path);
    let error = SURE * of_added.hypot(MEAN * way.modelled.standard_error());
    if excess - error > 0.0 {
        Limit::Exceeded
    } else if known && excess + error <= 0.0 {
        Limit::Kept
    } else {
        Limit::Open
    }
}

/// Judges the tail: how many responses take longer than the model's 99th percentile, `slow`, and what the machine may add to it.
/// Any request may meet any round trip.
fn tail_limit(way: &DoorLatency, slow: Span) -> (Limit, String) {
    let limit = Span::from_nanos((slow.nanos() as f64 / (1.0 - TAIL)) as u64);
    let (requests, journeys) = (way.response.count(), way.path.count());
    let over = |path: Span| way.response.over(limit.saturating_sub(path)) as f64 / requests as f64;
    // Too few round trips say nothing: then they took no time, at least.
    let known = journeys >= FEWEST;
    let share = match known {
        true => way.path.sizes().map(|(path, count)| over(path) * count as f64).sum::<f64>() / journeys as f64,
        false => over(Span::ZERO),
    };
    let judged = match share_limit(share, if known { requests.min(journeys) } else { requests }) {
        Limit::Kept if !known => Limit::Open,
        judged => judged,
    };
    let [slow, limit] = [slow, limit].map(|span| span.nanos() / 1000);
    let why = format!(
        "{:.1} % of a client's responses took over {limit} us; in the model the 99th percentile is {slow} us",
        100.0 * share
    );
    (judged, why)
}

/// Judges whether `share` of `all` shows a share of at most [`SLOWEST`], by Wilson's interval.
fn share_limit(share: f64, all: u64) -> Limit {
    if all < FEWEST {
        return Limit::Open;
    }
    let all = all as f64;
    let square = SURE * SURE / all;
    let half = SURE * (share * (1.0 - share) / all + square / (4.0 * all)).sqrt();
    let bound = |sign: f64| (share + square / 2.0 + sign * half) / (1.0 + square);
    if bound(-1.0) > SLOWEST {
        Limit::Exceeded
    } else if bound(1.0) <= SLOWEST {
        Limit::Kept
    } else {
        Limit::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::receipt::ClockSpeed;
    use crate::receipt::lateness::Lateness;
    use crate::receipt::ways::{DoorEnds, RequestTotals};

    /// A session of `requests` of `modelled` microseconds. Every `each`th is late by `late` microseconds; a round trip of `path`
    /// microseconds goes beside each.
    fn session(requests: u64, modelled: u64, (each, late): (u64, u64), path: u64) -> Receipt {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        for request in 1..=requests {
            let way = receipt.ways.of(Door::Network);
            let late = if request % each == 0 { Span::from_micros(late) } else { Span::ZERO };
            way.answered(Span::from_micros(modelled), late, true);
            way.path.add(Span::from_micros(path));
        }
        receipt
    }

    fn word(receipt: &Receipt) -> &'static str {
        receipt.pace().word()
    }

    #[test]
    fn a_session_without_requests_has_too_few_however_busy_it_was() {
        let mut receipt = Receipt { seconds: 0.01, worked: Span::from_millis(10), ..Receipt::default() };
        receipt.stalls.add(seekwise_model::time::Instant::ZERO, seekwise_model::time::Instant::from_nanos(9_000_000));
        assert_eq!(receipt.pace(), Pace::TooFew("no request was answered".to_owned()));
    }

    #[test]
    fn enough_requests_are_those_that_the_bound_needs() {
        assert_eq!(share_limit(0.0, ENOUGH), Limit::Kept);
        assert_eq!(share_limit(0.0, ENOUGH - 1), Limit::Open);
        assert_eq!(share_limit(0.001, 1_000), Limit::Kept);
        assert_eq!(share_limit(0.01, 1_000), Limit::Open);
        assert_eq!(share_limit(0.02, 1_000), Limit::Exceeded);
        assert_eq!(share_limit(1.0, FEWEST - 1), Limit::Open);
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
        let Pace::FellBehind(why) = session(400, 8_000, (20, 2_000), 60).pace() else { panic!() };
        assert!(why.starts_with("5.0 % of a client's responses took over 8888 us; in the model the 99th"), "{why}");
        let Pace::FellBehind(why) = session(40, 100, (1, 5), 30).pace() else { panic!() };
        assert!(why.starts_with("26 % of a client's mean response over its connection is not the model's"), "{why}");
        let Pace::FellBehind(why) = session(400, 40_000, (1, 0), 9_000).pace() else { panic!() };
        assert!(why.contains("mean response"), "{why}");
    }

    #[test]
    fn round_trips_that_are_held_up_count_by_their_own_number() {
        let mut receipt = session(10_000, 8_000, (1, 20), 60);
        let way = receipt.ways.of(Door::Network);
        way.path = Lateness::default();
        (0..95).for_each(|_| way.path.add(Span::from_micros(60)));
        (0..5).for_each(|_| way.path.add(Span::from_millis(2)));
        let Pace::FellBehind(why) = receipt.pace() else { panic!() };
        assert!(why.starts_with("5.0 % of a client's responses took over "), "{why}");
        // They change no percentile of a disk whose own responses differ by more: 0.6 % of the mean is the machine's.
        let mut spread = Receipt { seconds: 1.0, ..Receipt::default() };
        let way = spread.ways.of(Door::Network);
        (0..1_000).for_each(|request| way.answered(Span::from_millis(1 + request % 50), Span::ZERO, true));
        (0..1_000).for_each(|trip| way.path.add(Span::from_micros(if trip % 40 == 0 { 6_000 } else { 5 })));
        assert!((spread.losses()[0].share() - 0.006).abs() < 0.001, "{:?}", spread.losses());
        assert_eq!(spread.pace(), Pace::KeptUp);
    }

    #[test]
    fn without_round_trips_only_late_answers_show_that_it_fell_behind() {
        let mut receipt = session(5_000, 60, (1, 0), 60);
        let way = receipt.ways.of(Door::Network);
        way.path = Lateness::default();
        let Pace::TooFew(why) = receipt.pace() else { panic!() };
        assert_eq!(why, "5000 requests were answered and 0 round trips measured; expected 268 of each");
        let way = receipt.ways.of(Door::Network);
        (0..FEWEST - 1).for_each(|_| way.path.add(Span::from_micros(5)));
        assert_eq!(word(&receipt), "too-few-requests");
        (0..400)
            .for_each(|_| receipt.ways.of(Door::Network).answered(Span::from_micros(60), Span::from_micros(90), true));
        assert_eq!(word(&receipt), "fell-behind");
    }

    #[test]
    fn the_disks_own_time_counts_at_any_speed_and_a_disk_without_one_is_not_judged() {
        assert_eq!(word(&session(300, 2, (1, 0), 60)), "too-few-requests");
        let fast = Receipt { speed: ClockSpeed(1_000.0), ..session(300, 2, (1, 0), 60) };
        assert_eq!(word(&fast), "fell-behind");
    }

    #[test]
    fn a_door_with_few_requests_says_nothing_about_the_other() {
        let mut receipt = session(300, 8_000, (1, 20), 60);
        receipt.ways.of(Door::File).answered(Span::from_micros(8_000), Span::from_millis(30), true);
        receipt.ways.of(Door::File).path.add(Span::from_micros(2));
        assert_eq!(receipt.pace(), Pace::KeptUp);
    }

    #[test]
    fn the_clients_own_count_stands_for_the_round_trips_mean() {
        let mut receipt = session(300, 1_000, (1, 0), 20);
        let counted = |micros: u64| RequestTotals { requests: 300, took: Span::from_nanos(1000 * 300 * micros) };
        receipt.ways.client = Some(DoorEnds { far: counted(1_250), near: counted(1_000) });
        let Pace::FellBehind(why) = receipt.pace() else { panic!() };
        assert!(why.starts_with("20 % of a client's mean response over its connection"), "{why}");
        receipt.ways.client = Some(DoorEnds { far: counted(1_030), near: counted(1_000) });
        assert_eq!(receipt.pace(), Pace::KeptUp);
    }
}
