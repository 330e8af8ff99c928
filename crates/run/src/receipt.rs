//! How true a session was: how late answers left against the model's instants, the cost of the transport to the disk by
//! itself, stalls of the machine, and whether it kept up (`pace`). Nothing is subtracted from any figure.

pub mod attendance;
pub mod lateness;
pub mod pace;
pub mod transports;

use seekwise_disk::record::DriveLog;
use seekwise_disk::time::{Instant, Span};

use self::attendance::Attendance;
use self::lateness::Lateness;
use self::transports::{TransportEnds, TransportKind, TransportLatencies, TransportLatency};

/// How late an answer may leave beside the model's instant without being counted, in the disk's time: what a program on this
/// machine cannot tell from the path there ([`Receipt::late`]).
pub const BUDGET: Span = Span::from_micros(200);

/// A thread that was to wake up and did so late by more than this was not held up by the path: the machine gave the processor
/// to others.
pub const STALL: Span = Span::from_millis(1);

/// With fewer round trips of our own client, no 99th percentile is reported.
const PROBES_FOR_P99: u64 = 100;

/// Late answers and windows that are kept one by one, to be held against one another; beyond them they are only counted.
const KEPT: usize = 1 << 16;

/// The cost of the round trip to a disk by itself: reads of 4 KiB, one after another, of what takes a known time for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathCost {
    /// Half of them took no longer.
    pub p50: Span,
    /// All but one in a hundred.
    pub p99: Span,
}

/// When the machine stood still, by the clock.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    windows: Vec<(Instant, Instant)>,
    /// How many.
    pub count: u64,
    /// How long in all.
    pub total: Span,
    pub longest: Span,
}

impl Stalls {
    /// Adds a stall.
    pub fn add(&mut self, from: Instant, to: Instant) {
        self.count += 1;
        self.total += to.since(from);
        self.longest = self.longest.max(to.since(from));
        if self.windows.len() < KEPT {
            self.windows.push((from, to));
        }
    }

    /// Whether a stall lies between the two instants, in part at least.
    fn has_stall_between(&self, from: Instant, to: Instant) -> bool {
        let next = self.windows.partition_point(|window| window.1 < from);
        self.windows.get(next).is_some_and(|window| window.0 <= to)
    }
}

/// How many times as fast as the clock the disk's time runs.
#[derive(Clone, Copy, Debug)]
pub struct ClockSpeed(pub f64);

impl Default for ClockSpeed {
    fn default() -> ClockSpeed {
        ClockSpeed(1.0)
    }
}

impl ClockSpeed {
    /// Converts a span of the clock into the disk's time.
    pub fn to_disk_time(self, span: Span) -> Span {
        Span::from_nanos((span.nanos() as f64 * self.0) as u64)
    }
}

/// How well the clock kept up with the model, and what passed.
#[derive(Clone, Debug, Default)]
pub struct Receipt {
    /// Requests answered.
    pub requests: u64,
    /// Reads, writes and flushes of them.
    pub reads: u64,
    /// See [`Receipt::reads`].
    pub writes: u64,
    /// See [`Receipt::reads`].
    pub flushes: u64,
    /// Requests that ended with an error.
    pub failures: u64,
    /// How late each answer left, by the clock.
    pub lateness: Lateness,
    /// Answers later than [`BUDGET`] in the disk's time.
    pub late: u64,
    /// How fast the disk's time runs, against the clock.
    pub speed: ClockSpeed,
    /// When late answers were to leave, and when they did.
    pub kept: Vec<(Instant, Instant)>,
    /// When the machine stood still.
    pub stalls: Stalls,
    /// The cost of the round trip to the disk, if it was measured.
    pub path: Option<PathCost>,
    /// How long the disk's thread worked, by the clock; the rest it waited.
    pub worked: Span,
    /// The cost of the transports to it while it was at work.
    pub ways: TransportLatencies,
    /// Who came, and who was sent away.
    pub attendance: Attendance,
    /// Writes that were refused, for there was no memory for them; and the most bytes that were held.
    pub refused_for_memory: u64,
    /// See [`Receipt::refused_for_memory`].
    pub held_most: u64,
    /// Power failures.
    pub cuts: u64,
    /// Acknowledged bytes that were not on the platters when the last of them came.
    pub at_risk_bytes: u64,
    /// Seconds of the clock.
    pub seconds: f64,
    /// Counts of the drives.
    pub log: DriveLog,
    /// The system let the disk's thread run before all ordinary ones.
    pub precedence: bool,
}

impl Receipt {
    /// Counts an answer that was to leave at `due` and left at `left`, by the clock.
    pub fn count_answer(&mut self, due: Instant, left: Instant) {
        let late = left.saturating_since(due);
        self.lateness.add(late);
        if self.speed.to_disk_time(late) > BUDGET {
            self.late += 1;
            if self.kept.len() < KEPT {
                self.kept.push((due, left));
            }
        }
    }

    /// Lateness without the answers that were late over a stall; and how many of these are over the budget.
    pub fn outside_stalls(&self) -> (Lateness, u64) {
        let (mut lateness, mut late) = (self.lateness.clone(), self.late);
        for (due, left) in self.kept.iter().filter(|(due, left)| self.stalls.has_stall_between(*due, *left)) {
            lateness.take_off(left.since(*due));
            late -= 1;
        }
        (lateness, late)
    }

    /// The part of a client's wait that is not the model's, for each transport that requests came by.
    pub fn transport_costs(&self) -> Vec<TransportCost> {
        let transports = [(TransportKind::Network, &self.ways.network), (TransportKind::File, &self.ways.file)];
        transports.into_iter().filter_map(|(kind, transport)| self.transport_cost(kind, transport)).collect()
    }

    /// The cost of one transport; nothing if no request or no round trip was measured.
    fn transport_cost(&self, kind: TransportKind, transport: &TransportLatency) -> Option<TransportCost> {
        let (modelled, late) = (transport.modelled.mean()?, transport.late.mean()?);
        let p99 = |of: &Lateness| of.quantile(0.99);
        let slow = match transport.path.count() {
            0..PROBES_FOR_P99 => None,
            _ => p99(&transport.modelled)
                .zip(p99(&transport.path))
                .zip(p99(&transport.late))
                .map(|((model, path), late)| (model, path + late)),
        };
        let (ends, other) = match kind {
            TransportKind::Network => (self.ways.client, LatencyWitness::Client),
            TransportKind::File => (self.ways.device, LatencyWitness::Kernel),
        };
        let (by, added) = match ends.filter(TransportEnds::is_alone) {
            Some(ends) => (other, ends.added_mean()),
            None => (LatencyWitness::Probe, transport.path.mean()? + late),
        };
        Some(TransportCost { kind, by, modelled, added, slow })
    }

    /// The share of the clock for which the disk's thread worked.
    pub fn busy_share(&self) -> f64 {
        (self.worked.nanos() as f64 / 1e9 / self.seconds.max(1e-9)).min(1.0)
    }

    /// Figures of a served disk by name: its clients, and the memory that it held.
    pub fn client_figures(&self) -> Vec<(&'static str, f64)> {
        let memory =
            [("refused_for_memory", self.refused_for_memory as f64), ("held_most_bytes", self.held_most as f64)];
        self.attendance.figures().into_iter().chain(memory).collect()
    }

    /// All figures of time by name; in microseconds.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        let micros = |span: Span| span.nanos() as f64 / 1e3;
        let (outside, late_outside) = self.outside_stalls();
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
            ("busy_share", self.busy_share()),
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
            figures.extend(cost.figures());
        }
        if let Some(PathCost { p50, p99 }) = self.path {
            figures.extend([("path_p50_us", micros(p50)), ("path_p99_us", micros(p99))]);
        }
        figures
    }
}

/// The witness of the time that requests took at the other end of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyWitness {
    /// A client of our own, which uses the transport beside the others.
    Probe,
    /// The kernel, of a loop device on the file.
    Kernel,
    /// The client itself: a run in this program.
    Client,
}

/// The wait of a client besides the model's time, by a transport; by the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportCost {
    /// The transport.
    pub kind: TransportKind,
    /// The witness of the mean.
    pub by: LatencyWitness,
    /// The model's mean response.
    pub modelled: Span,
    /// The mean of what the transport adds.
    pub added: Span,
    /// The 99th percentiles of the model and of what is added, where enough was measured; always by the probe, whatever `by` is.
    pub slow: Option<(Span, Span)>,
}

impl TransportCost {
    /// The share of a client's mean response that is not the model's.
    pub(crate) fn added_share(&self) -> f64 {
        share_of_added(self.modelled, self.added)
    }

    /// The name in figures.
    fn figure_name(&self) -> &'static str {
        if self.kind == TransportKind::Network { "nbd" } else { "file" }
    }

    /// Share of the mean response that is not the model's, in words.
    fn share_words(&self) -> String {
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

    /// The measurement in a sentence.
    pub fn sentence(&self) -> String {
        let micros = |span: Span| format!("{:.0}", span.nanos() as f64 / 1e3);
        let transport = if self.kind == TransportKind::Network { "connection" } else { "file" };
        let by = match self.by {
            LatencyWitness::Probe => "",
            LatencyWitness::Kernel => ", by the kernel's count of the loop device",
            LatencyWitness::Client => ", by the run's own clock",
        };
        let slow = self.slow.map_or(String::new(), |(modelled, added)| {
            format!("; p99: {} us and {} us", micros(modelled), micros(added))
        });
        format!(
            "A read or write took {} us on average in the model, plus {} us for the round trip over the \
             {transport}{by}: {:.1} % of what a client waits for{slow}.",
            micros(self.modelled),
            micros(self.added),
            100.0 * self.added_share()
        )
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let micros = |span: Span| span.nanos() as f64 / 1e3;
        let names = match self.figure_name() {
            "nbd" => [
                "nbd_modelled_mean_us",
                "nbd_beside_mean_us",
                "nbd_beside_share",
                "nbd_modelled_p99_us",
                "nbd_beside_p99_us",
            ],
            _ => [
                "file_modelled_mean_us",
                "file_beside_mean_us",
                "file_beside_share",
                "file_modelled_p99_us",
                "file_beside_p99_us",
            ],
        };
        let mut figures = vec![micros(self.modelled), micros(self.added), self.added_share()];
        figures.extend(self.slow.into_iter().flat_map(|(modelled, added)| [micros(modelled), micros(added)]));
        names.into_iter().zip(figures).collect()
    }
}

fn share_of_added(modelled: Span, added: Span) -> f64 {
    added.nanos() as f64 / (modelled + added).nanos().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::transports::RequestTotals;
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
            let told = lateness.quantile(share).unwrap().nanos() as f64 / 1e3;
            assert!((true_us..=true_us * 1.04).contains(&told), "{share}: {told}");
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
        let (outside, late) = receipt.outside_stalls();
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
            assert_eq!((receipt.late, receipt.kept.len() as u64, receipt.lateness.count()), (late, late, 1), "{nanos}");
        }
        let mut early = Receipt::default();
        early.count_answer(at(9), at(1));
        assert_eq!((early.late, early.lateness.latest()), (0, Span::ZERO));
    }

    #[test]
    fn what_clients_wait_for_beside_the_model_stands_among_the_figures() {
        for (probes, slow) in [(99, false), (100, true)] {
            let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
            let way = receipt.ways.transport_mut(TransportKind::Network);
            (0..200).for_each(|_| way.add_request(Span::from_micros(100), Span::ZERO, true));
            (0..probes).for_each(|_| way.path.add(Span::from_micros(25)));
            let figures = receipt.figures();
            let figure = |name: &str| figures.iter().find(|it| it.0 == name).map(|it| it.1);
            assert_eq!((figure("nbd_modelled_mean_us"), figure("nbd_beside_share")), (Some(100.0), Some(0.2)));
            // Percentiles are up to 3.2 % above what they stand for.
            let near = |name, micros: f64| figure(name).map(|found| (micros..=1.032 * micros).contains(&found));
            let found = (near("nbd_modelled_p99_us", 100.0), near("nbd_beside_p99_us", 25.0));
            assert_eq!(found, (slow.then_some(true), slow.then_some(true)), "{probes} probes");
        }
    }

    #[test]
    fn the_kernels_count_stands_for_a_loop_device_that_is_alone_on_the_file() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        let way = receipt.ways.transport_mut(TransportKind::File);
        (0..100).for_each(|_| way.add_request(Span::from_micros(200), Span::ZERO, true));
        // A flush is no read or write: the kernel counts it apart.
        way.add_request(Span::from_micros(200), Span::ZERO, false);
        assert_eq!(RequestTotals::from(&*way).requests, 100);
        way.path.add(Span::from_micros(2));
        let loss = |receipt: &Receipt| receipt.transport_costs()[0];
        assert_eq!((loss(&receipt).by, loss(&receipt).added), (LatencyWitness::Probe, Span::from_micros(2)));
        let counted = |requests, micros| RequestTotals { requests, took: Span::from_micros(micros) };
        receipt.ways.device = Some(TransportEnds { far: counted(100, 30_000), near: counted(100, 20_000) });
        assert_eq!((loss(&receipt).by, loss(&receipt).added), (LatencyWitness::Kernel, Span::from_micros(100)));
        assert!(
            loss(&receipt)
                .share_words()
                .starts_with("33 % of a client's mean response through the loop device, as the")
        );
        receipt.ways.device = Some(TransportEnds { far: counted(50, 30_000), near: counted(100, 20_000) });
        assert_eq!(loss(&receipt).by, LatencyWitness::Probe, "others used the file too");
    }

    #[test]
    fn what_a_runs_own_client_waited_for_counts_and_not_what_a_probe_found() {
        let mut receipt = Receipt { seconds: 1.0, ..Receipt::default() };
        let way = receipt.ways.transport_mut(TransportKind::Network);
        (0..100).for_each(|_| way.add_request(Span::from_micros(1000), Span::ZERO, true));
        (0..50).for_each(|_| way.path.add(Span::from_micros(20)));
        let counted = |micros: u64| RequestTotals { requests: 100, took: Span::from_micros(100 * micros) };
        receipt.ways.client = Some(TransportEnds { far: counted(1250), near: counted(1000) });
        let [loss] = receipt.transport_costs()[..] else { panic!() };
        assert_eq!((loss.by, loss.added), (LatencyWitness::Client, Span::from_micros(250)));
        assert!(loss.sentence().contains("plus 250 us for the round trip over the connection, by the run's own clock"));
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
