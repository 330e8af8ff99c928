//! The receipt of a session: how well a modelled disk kept its times while it was served in real time.
//!
//! | file | what it is |
//! |---|---|
//! | here | figures of a session: lateness of its answers, stalls of the machine, the cost of each transport |
//! | [`lateness`] | a histogram of spans |
//! | [`transports`] | requests and round trips of each transport |
//! | [`pace`] | the verdict: whether the machine kept up |
//! | [`attendance`] | clients that came, and those that were rejected |
//! | [`demand`] | requests by kind, and where the model's time went |
//!
//! A *transport* is the way of requests to the served disk: a network connection, or a file of the system. An answer is
//! *late* by the time from the model's instant to its departure. Nothing is subtracted from any figure.

pub mod attendance;
pub mod demand;
pub mod lateness;
pub mod pace;
pub mod transports;

use seekwise_disk::record::DriveLog;
use seekwise_disk::time::{Instant, Span};

use self::attendance::Attendance;
use self::demand::{Demand, DemandKind};
use self::lateness::Lateness;
use self::transports::{RequestTotals, TransportEnds, TransportKind, TransportLatencies, TransportLatency};

/// Largest lateness that is not counted ([`Receipt::late`]), in the disk's time: a client on the same machine cannot
/// tell it from the round trip.
pub const BUDGET: Span = Span::from_micros(200);

/// A thread that wakes up later than its alarm by more than this was stalled: the machine gave the processor to others.
pub const STALL: Span = Span::from_millis(1);

/// With fewer round trips of our own client, no 99th percentile is reported.
const PROBES_FOR_P99: u64 = 100;

/// Largest number of late answers, and of stalls, whose instants are recorded; more are only counted.
const RECORDED: usize = 1 << 16;

/// The round trip to a disk, measured by reads of 4 KiB, one after another, whose time in the model is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCost {
    /// Median.
    pub p50: Span,
    /// 99th percentile.
    pub p99: Span,
}

/// Stalls of the machine, by the clock.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    /// Start and end of each, in order; the first `RECORDED` only.
    windows: Vec<(Instant, Instant)>,
    pub count: u64,
    pub total: Span,
    pub longest: Span,
}

impl Stalls {
    /// Adds a stall.
    pub fn add(&mut self, from: Instant, to: Instant) {
        self.count += 1;
        self.total += to.since(from);
        self.longest = self.longest.max(to.since(from));
        if self.windows.len() < RECORDED {
            self.windows.push((from, to));
        }
    }

    /// True if a stall overlaps the time between the two instants.
    fn has_stall_between(&self, from: Instant, to: Instant) -> bool {
        let next = self.windows.partition_point(|window| window.1 < from);
        self.windows.get(next).is_some_and(|window| window.0 <= to)
    }
}

/// The speed of the disk's time: how many of its seconds pass in a second of the clock.
#[derive(Clone, Copy, Debug)]
pub struct ClockSpeed(pub f64);

impl Default for ClockSpeed {
    fn default() -> ClockSpeed {
        ClockSpeed(1.0)
    }
}

impl ClockSpeed {
    /// Converts a span of the clock into the disk's time.
    pub fn to_disk_time(self, clock_span: Span) -> Span {
        Span::from_nanos((clock_span.nanos() as f64 * self.0) as u64)
    }
}

/// The figures of a session of a served disk.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// Requests answered.
    pub requests: u64,
    /// Reads among the requests.
    pub reads: u64,
    /// Writes among the requests.
    pub writes: u64,
    /// Flushes among the requests.
    pub flushes: u64,
    /// Requests by kind, and where the model's time went.
    pub demand: Demand,
    /// Requests that ended with an error.
    pub failures: u64,
    /// Lateness of each answer, by the clock.
    pub lateness: Lateness,
    /// Answers later than [`BUDGET`] in the disk's time.
    pub late: u64,
    /// The speed of the disk's time.
    pub speed: ClockSpeed,
    /// Late answers over the budget: when each was due and when it left; the first 65,536 only.
    pub late_answers: Vec<(Instant, Instant)>,
    /// Stalls of the machine.
    pub stalls: Stalls,
    /// The cost of the round trip to the disk, if it was measured.
    pub path: Option<PathCost>,
    /// How long the disk's thread worked, by the clock; the rest of the time it waited.
    pub worked: Span,
    /// Requests and round trips of each transport.
    pub transports: TransportLatencies,
    /// Clients that came, and those that were rejected.
    pub attendance: Attendance,
    /// Writes that were refused because there was no memory for them.
    pub refused_for_memory: u64,
    /// The most bytes of memory in use at once.
    pub held_most: u64,
    /// Power failures.
    pub cuts: u64,
    /// Acknowledged bytes that were not on the platters at the last power failure.
    pub at_risk_bytes: u64,
    /// Length of the session in seconds of the clock.
    pub seconds: f64,
    /// Counts of the drives.
    pub log: DriveLog,
    /// The system ran the disk's thread before all ordinary ones.
    pub precedence: bool,
}

impl Receipt {
    /// Counts an answer that was due at `due` and left at `left`, by the clock.
    pub fn count_answer(&mut self, due: Instant, left: Instant) {
        let late = left.saturating_since(due);
        self.lateness.add(late);
        if self.speed.to_disk_time(late) > BUDGET {
            self.late += 1;
            if self.late_answers.len() < RECORDED {
                self.late_answers.push((due, left));
            }
        }
    }

    /// Lateness without the answers over the budget that overlap a stall, and how many over the budget are left.
    pub fn lateness_outside_stalls(&self) -> (Lateness, u64) {
        let (mut lateness, mut over_budget) = (self.lateness.clone(), self.late);
        for (due, left) in self.late_answers.iter().filter(|(due, left)| self.stalls.has_stall_between(*due, *left)) {
            lateness.remove(left.since(*due));
            over_budget -= 1;
        }
        (lateness, over_budget)
    }

    /// The cost of each transport that had requests.
    pub fn transport_costs(&self) -> Vec<TransportCost> {
        let transports =
            [(TransportKind::Network, &self.transports.network), (TransportKind::File, &self.transports.file)];
        transports.into_iter().filter_map(|(kind, transport)| self.transport_cost(kind, transport)).collect()
    }

    /// The cost of one transport; nothing if no request or no round trip was measured.
    fn transport_cost(&self, kind: TransportKind, transport: &TransportLatency) -> Option<TransportCost> {
        let (modelled, late) = (transport.modelled.mean()?, transport.late.mean()?);
        let p99 = |spans: &Lateness| spans.quantile(0.99);
        let slow = match transport.path.count() {
            0..PROBES_FOR_P99 => None,
            _ => p99(&transport.modelled)
                .zip(p99(&transport.path))
                .zip(p99(&transport.late))
                .map(|((model, path), late)| (model, path + late)),
        };
        let (ends, end_witness) = match kind {
            TransportKind::Network => (self.transports.client, LatencyWitness::Client),
            TransportKind::File => (self.transports.device, LatencyWitness::Kernel),
        };
        let (by, added) = match ends.filter(TransportEnds::is_only_client) {
            Some(ends) => (end_witness, ends.mean_added_time()),
            None => (LatencyWitness::Probe, transport.path.mean()? + late),
        };
        Some(TransportCost { kind, by, modelled, requests: transport.kinds, added, slow })
    }

    /// The share of the clock for which the disk's thread worked.
    pub fn thread_busy_share(&self) -> f64 {
        (self.worked.nanos() as f64 / 1e9 / self.seconds.max(1e-9)).min(1.0)
    }

    /// Counts of its clients, and its use of memory, by name.
    pub fn client_and_memory_figures(&self) -> Vec<(&'static str, f64)> {
        let memory =
            [("refused_for_memory", self.refused_for_memory as f64), ("held_most_bytes", self.held_most as f64)];
        self.attendance.named_counts().into_iter().chain(memory).collect()
    }

    /// All other figures by name: times in microseconds, counts and shares.
    pub fn named_figures(&self) -> Vec<(&'static str, f64)> {
        let micros = |span: Span| span.nanos() as f64 / 1e3;
        let (outside, late_outside) = self.lateness_outside_stalls();
        let mut figures = vec![
            ("seconds", self.seconds),
            ("requests", self.requests as f64),
            ("reads", self.reads as f64),
            ("writes", self.writes as f64),
            ("flushes", self.flushes as f64),
            ("failures", self.failures as f64),
            ("power_cuts", self.cuts as f64),
            ("at_risk_bytes", self.at_risk_bytes as f64),
            ("late_max_us", micros(self.lateness.latest())),
            ("over_200_us", self.late as f64),
            ("over_200_us_outside_stalls", late_outside as f64),
            ("stalls", self.stalls.count as f64),
            ("stalled_us", micros(self.stalls.total)),
            ("longest_stall_us", micros(self.stalls.longest)),
            ("busy_share", self.thread_busy_share()),
        ];
        let shares = [
            ("late_p50_us", "late_p50_us_outside_stalls", 0.5),
            ("late_p99_us", "late_p99_us_outside_stalls", 0.99),
            ("late_p99_9_us", "late_p99_9_us_outside_stalls", 0.999),
        ];
        for (all, without, share) in shares {
            figures.extend(self.lateness.quantile(share).map(|span| (all, micros(span))));
            figures.extend(outside.quantile(share).map(|span| (without, micros(span))));
        }
        for cost in self.transport_costs() {
            figures.extend(cost.named_figures());
        }
        if let Some(PathCost { p50, p99 }) = self.path {
            figures.extend([("path_p50_us", micros(p50)), ("path_p99_us", micros(p99))]);
        }
        figures
    }
}

/// Who measured the time of requests at the other end of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyWitness {
    /// A probe: our own client, which makes round trips besides the others' requests.
    Probe,
    /// The kernel, by its counts of a loop device on the file.
    Kernel,
    /// The client itself, if it is a run in this program.
    Client,
}

/// The time that a transport adds to the model's response; by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportCost {
    pub kind: TransportKind,
    /// Who measured `added`.
    pub by: LatencyWitness,
    /// The model's mean response, of requests of all kinds.
    pub modelled: Span,
    /// Requests of each kind, with the model's times.
    pub requests: [RequestTotals; DemandKind::NAMED.len()],
    /// The mean time that the transport adds.
    pub added: Span,
    /// 99th percentiles of the model's response and of the added time, always by the probe; `None` with too few round
    /// trips.
    pub slow: Option<(Span, Span)>,
}

impl TransportCost {
    /// Share of a client's mean response that the transport adds.
    pub(crate) fn added_share(&self) -> f64 {
        share_of_added(self.modelled, self.added)
    }

    /// The added share in a sentence.
    fn added_share_sentence(&self) -> String {
        let through = match (self.kind, self.by) {
            (TransportKind::Network, _) => "over its connection",
            (TransportKind::File, LatencyWitness::Kernel) => "through the loop device, as the kernel counts it,",
            (TransportKind::File, _) => "through the file",
        };
        let [modelled, added] = [self.modelled, self.added].map(|span| span.nanos() / 1000);
        format!(
            "{:.0} % of a client's mean response {through} is not the model's ({modelled} us in the model, {added} us \
             outside)",
            100.0 * self.added_share()
        )
    }

    /// The model's mean time of each kind, then [`TransportCost::added_sentence`].
    pub fn cost_sentence(&self) -> String {
        let means: Vec<String> =
            self.kind_means().map(|(name, mean)| format!("{name} took {} us", in_micros(mean))).collect();
        let means = match means.is_empty() {
            true => format!("requests took {} us", in_micros(self.modelled)),
            false => means.join(", "),
        };
        format!("On average {means} in the model. {}", self.added_sentence())
    }

    /// What the machine adds to a request, and its share, in a sentence.
    pub fn added_sentence(&self) -> String {
        let transport = if self.kind == TransportKind::Network { "connection" } else { "file" };
        let by = match self.by {
            LatencyWitness::Probe => "",
            LatencyWitness::Kernel => ", by the kernel's count of the loop device",
            LatencyWitness::Client => ", by the run's own clock",
        };
        let slow = self.slow.map_or(String::new(), |(modelled, added)| {
            format!(" (p99: {} us in the model, {} us more)", in_micros(modelled), in_micros(added))
        });
        format!(
            "Each request took {} us more for lateness and the round trip over the {transport}{by}: {:.1} % of what a client \
             waits for{slow}.",
            in_micros(self.added),
            100.0 * self.added_share()
        )
    }

    /// The model's mean response of each kind that came, with the kind's name.
    fn kind_means(&self) -> impl Iterator<Item = (&'static str, Span)> + '_ {
        let kinds = DemandKind::NAMED.into_iter().map(|(kind, name)| (name, self.requests[kind as usize]));
        kinds.filter(|(_, totals)| totals.requests > 0).map(|(name, totals)| (name, totals.mean()))
    }

    fn named_figures(&self) -> Vec<(&'static str, f64)> {
        let micros = |span: Span| span.nanos() as f64 / 1e3;
        let [modelled, added, share, slow_modelled, slow_added, means @ ..] = match self.kind {
            TransportKind::Network => NETWORK_FIGURES,
            TransportKind::File => FILE_FIGURES,
        };
        let mut figures =
            vec![(modelled, micros(self.modelled)), (added, micros(self.added)), (share, self.added_share())];
        if let Some((modelled, added)) = self.slow {
            figures.extend([(slow_modelled, micros(modelled)), (slow_added, micros(added))]);
        }
        let kinds = means.into_iter().zip(self.requests).filter(|(_, totals)| totals.requests > 0);
        figures.extend(kinds.map(|(name, totals)| (name, micros(totals.mean()))));
        figures
    }
}

/// Names of the figures of network connections; the last three in the order of [`DemandKind::NAMED`].
const NETWORK_FIGURES: [&str; 8] = [
    "nbd_modelled_mean_us",
    "nbd_beside_mean_us",
    "nbd_beside_share",
    "nbd_modelled_p99_us",
    "nbd_beside_p99_us",
    "nbd_modelled_reads_mean_us",
    "nbd_modelled_writes_mean_us",
    "nbd_modelled_flushes_mean_us",
];

/// Names of the figures of the file, in the same order.
const FILE_FIGURES: [&str; 8] = [
    "file_modelled_mean_us",
    "file_beside_mean_us",
    "file_beside_share",
    "file_modelled_p99_us",
    "file_beside_p99_us",
    "file_modelled_reads_mean_us",
    "file_modelled_writes_mean_us",
    "file_modelled_flushes_mean_us",
];

fn in_micros(span: Span) -> String {
    format!("{:.0}", span.nanos() as f64 / 1e3)
}

fn share_of_added(modelled: Span, added: Span) -> f64 {
    added.nanos() as f64 / (modelled + added).nanos().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    #[test]
    fn quantiles_are_a_thirty_second_above_at_most() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), None);
        for micros in 1..=1000 {
            lateness.add(Span::from_micros(micros));
        }
        for (share, true_us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = lateness.quantile(share).unwrap().nanos() as f64 / 1e3;
            assert!((true_us..=true_us * 1.04).contains(&found), "{share}: {found}");
        }
        assert_eq!(lateness.latest(), Span::from_millis(1));
        let mut none = Lateness::default();
        none.add(Span::ZERO);
        assert_eq!(none.quantile(1.0), Some(Span::ZERO));
    }

    #[test]
    fn what_was_late_over_a_stall_is_told_apart_and_not_hidden() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        for request in 0..100u64 {
            receipt.count_answer(at(request * 1000), at(request * 1000 + 20));
        }
        receipt.count_answer(at(200_000), at(205_000));
        receipt.count_answer(at(300_000), at(300_300));
        receipt.stalls.add(at(201_000), at(204_900));
        let (outside, late) = receipt.lateness_outside_stalls();
        assert_eq!((receipt.late, late, outside.count(), receipt.lateness.count()), (2, 1, 101, 102));
        assert_eq!(
            (receipt.lateness.latest(), receipt.stalls.longest),
            (Span::from_millis(5), Span::from_micros(3900))
        );
    }

    /// Spans [from, to], ends included, as a plain search finds them.
    #[test]
    fn a_stall_touches_what_it_shares_an_instant_with() {
        let windows = [(10, 20), (30, 30), (40, 45)];
        let mut stalls = Stalls::default();
        windows.iter().for_each(|&(from, to)| stalls.add(at(from), at(to)));
        for from in 0..50 {
            for to in from..50 {
                let touched = windows.iter().any(|window| window.0 <= to && from <= window.1);
                assert_eq!(stalls.has_stall_between(at(from), at(to)), touched, "{from} to {to}");
            }
        }
        let total = (stalls.count, stalls.total, stalls.longest);
        assert_eq!(total, (3, Span::from_micros(15), Span::from_micros(10)));
    }

    #[test]
    fn an_answer_is_late_beyond_two_hundred_microseconds_of_the_disk_s_time() {
        for (nanos, late) in [(0, 0), (199_999, 0), (200_000, 0), (200_001, 1)] {
            let mut receipt = Receipt::default();
            receipt.count_answer(at(1), at(1) + Span::from_nanos(nanos));
            assert_eq!(
                (receipt.late, receipt.late_answers.len() as u64, receipt.lateness.count()),
                (late, late, 1),
                "{nanos}"
            );
        }
        let mut early = Receipt::default();
        early.count_answer(at(9), at(1));
        assert_eq!((early.late, early.lateness.latest()), (0, Span::ZERO));
    }

    #[test]
    fn what_clients_wait_for_beside_the_model_stands_among_the_figures() {
        for (probes, slow) in [(99, false), (100, true)] {
            let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
            let transport = receipt.transports.transport_mut(TransportKind::Network);
            (0..200).for_each(|_| transport.add_request(Some(DemandKind::Read), Span::from_micros(100), Span::ZERO));
            (0..probes).for_each(|_| transport.path.add(Span::from_micros(25)));
            let figures = receipt.named_figures();
            let figure = |name: &str| figures.iter().find(|it| it.0 == name).map(|it| it.1);
            assert_eq!((figure("nbd_modelled_mean_us"), figure("nbd_beside_share")), (Some(100.0), Some(0.2)));
            // Percentiles are up to 3.2 % above what they stand for.
            let near = |name, micros: f64| figure(name).map(|found| (micros..=1.032 * micros).contains(&found));
            let found = (near("nbd_modelled_p99_us", 100.0), near("nbd_beside_p99_us", 25.0));
            assert_eq!(found, (slow.then_some(true), slow.then_some(true)), "{probes} probes");
        }
    }

    /// A flush takes as long as the writes that it waits for, so no mean of all says how long a read takes.
    #[test]
    fn each_kind_of_request_has_its_own_mean() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        let transport = receipt.transports.transport_mut(TransportKind::File);
        for (kind, millis) in [(DemandKind::Write, 1), (DemandKind::Write, 3), (DemandKind::Flush, 20)] {
            transport.add_request(Some(kind), Span::from_millis(millis), Span::ZERO);
        }
        transport.path.add(Span::from_micros(80));
        let sentence = receipt.transport_costs()[0].cost_sentence();
        let means =
            "On average writes took 2000 us, flushes took 20000 us in the model. Each request took 80 us more for";
        assert!(sentence.starts_with(means), "{sentence}");
        let figures = receipt.named_figures();
        let figure = |name: &str| figures.iter().find(|it| it.0 == name).map(|it| it.1);
        let means = ["reads", "writes", "flushes"].map(|kind| figure(&format!("file_modelled_{kind}_mean_us")));
        assert_eq!((means, figure("file_modelled_mean_us")), ([None, Some(2000.0), Some(20_000.0)], Some(8000.0)));
    }

    #[test]
    fn the_kernels_count_stands_for_a_loop_device_that_is_alone_on_the_file() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        let transport = receipt.transports.transport_mut(TransportKind::File);
        (0..100).for_each(|_| transport.add_request(Some(DemandKind::Read), Span::from_micros(200), Span::ZERO));
        // A flush is no read or write: the kernel counts it apart.
        transport.add_request(Some(DemandKind::Flush), Span::from_micros(200), Span::ZERO);
        assert_eq!(RequestTotals::from(&*transport).requests, 100);
        transport.path.add(Span::from_micros(2));
        let loss = |receipt: &Receipt| receipt.transport_costs()[0];
        assert_eq!((loss(&receipt).by, loss(&receipt).added), (LatencyWitness::Probe, Span::from_micros(2)));
        let counted = |requests, micros| RequestTotals { requests, took: Span::from_micros(micros) };
        receipt.transports.device = Some(TransportEnds { far: counted(100, 30_000), near: counted(100, 20_000) });
        assert_eq!((loss(&receipt).by, loss(&receipt).added), (LatencyWitness::Kernel, Span::from_micros(100)));
        assert!(
            loss(&receipt)
                .added_share_sentence()
                .starts_with("33 % of a client's mean response through the loop device, as the")
        );
        receipt.transports.device = Some(TransportEnds { far: counted(50, 30_000), near: counted(100, 20_000) });
        assert_eq!(loss(&receipt).by, LatencyWitness::Probe, "others used the file too");
    }

    #[test]
    fn what_a_runs_own_client_waited_for_counts_and_not_what_a_probe_found() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        let transport = receipt.transports.transport_mut(TransportKind::Network);
        (0..100).for_each(|_| transport.add_request(Some(DemandKind::Write), Span::from_micros(1000), Span::ZERO));
        (0..50).for_each(|_| transport.path.add(Span::from_micros(20)));
        let counted = |micros: u64| RequestTotals { requests: 100, took: Span::from_micros(100 * micros) };
        receipt.transports.client = Some(TransportEnds { far: counted(1250), near: counted(1000) });
        let [loss] = receipt.transport_costs()[..] else { panic!() };
        assert_eq!((loss.by, loss.added), (LatencyWitness::Client, Span::from_micros(250)));
        assert!(loss.cost_sentence().contains(
            "Each request took 250 us more for lateness and the round trip over the connection, by the run's own"
        ));
    }

    #[test]
    fn at_another_speed_lateness_counts_in_the_disks_time() {
        let at_speed = |speed: f64| {
            let mut receipt = Receipt { seconds: 1.0, speed: ClockSpeed(speed), ..Receipt::default() };
            (0..100).for_each(|request| receipt.count_answer(at(request * 1000), at(request * 1000 + 30)));
            receipt.late
        };
        assert_eq!((at_speed(0.1), at_speed(1.0), at_speed(10.0)), (0, 0, 100));
    }
}
