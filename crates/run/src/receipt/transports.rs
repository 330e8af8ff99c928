//! The transports to a served disk: for each, the requests that came by it and the round trips of a probe.

use seekwise_disk::time::Span;

use super::demand::DemandKind;
use super::lateness::Lateness;

/// The transport of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// A network connection.
    Network,
    /// A file of the system.
    File,
}

/// Times of the requests that came by a transport; by the clock.
#[derive(Clone, Debug, Default)]
pub struct TransportLatency {
    /// Response times of the model, from the arrival of each request.
    pub modelled: Lateness,
    /// Lateness of the answers.
    pub late: Lateness,
    /// Sum of both for each request.
    pub response: Lateness,
    /// Round trips of the probe meanwhile.
    pub path: Lateness,
    /// Requests of each kind, with the model's times.
    pub(super) kinds: [RequestTotals; DemandKind::NAMED.len()],
}

impl TransportLatency {
    /// Adds a request with its response time in the model and its lateness; `kind` is `None` for requests of another kind,
    /// such as trims.
    pub fn add_request(&mut self, kind: Option<DemandKind>, modelled: Span, late: Span) {
        self.modelled.add(modelled);
        self.late.add(late);
        self.response.add(modelled + late);
        if let Some(kind) = kind {
            let totals = &mut self.kinds[kind as usize];
            *totals = totals.plus(RequestTotals { requests: 1, took: modelled });
        }
    }
}

/// Number of requests, and the sum of their times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their times.
    pub took: Span,
}

impl RequestTotals {
    fn plus(self, other: RequestTotals) -> RequestTotals {
        RequestTotals { requests: self.requests + other.requests, took: self.took + other.took }
    }

    /// The difference from an earlier snapshot.
    pub fn since(self, earlier: RequestTotals) -> RequestTotals {
        let requests = self.requests.saturating_sub(earlier.requests);
        RequestTotals { requests, took: self.took.saturating_sub(earlier.took) }
    }

    /// The mean time of a request.
    pub fn mean(self) -> Span {
        Span::from_nanos(self.took.nanos() / self.requests.max(1))
    }
}

impl From<&TransportLatency> for RequestTotals {
    /// Reads and writes, which a kernel at the other end counts too; it counts flushes apart.
    fn from(transport: &TransportLatency) -> RequestTotals {
        let [reads, writes] = [DemandKind::Read, DemandKind::Write].map(|kind| transport.kinds[kind as usize]);
        reads.plus(writes)
    }
}

/// Request totals of a transport, as both of its ends count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportEnds {
    /// The other end: a kernel's disk on the file, or a run's client.
    pub far: RequestTotals,
    /// Requests that came to the disk, and the model's time for them.
    pub near: RequestTotals,
}

impl TransportEnds {
    /// True if nobody else uses the transport: the counts of both ends agree within a tenth, for a kernel may split
    /// requests.
    pub fn is_only_client(&self) -> bool {
        let (sent, received) = (self.far.requests, self.near.requests);
        received > 0 && sent.abs_diff(received) <= received / 10
    }

    /// The mean time that the transport adds to the model's.
    pub(crate) fn mean_added_time(&self) -> Span {
        self.far.mean().saturating_sub(self.near.mean())
    }
}

/// All transports.
#[derive(Clone, Debug, Default)]
pub struct TransportLatencies {
    pub network: TransportLatency,
    pub file: TransportLatency,
    /// The ends of a kernel's disk on the file, if there is one.
    pub device: Option<TransportEnds>,
    /// The ends of a run's client in this program, if it is the only client of the network.
    pub client: Option<TransportEnds>,
}

impl TransportLatencies {
    /// The figures of this transport.
    pub fn transport_mut(&mut self, kind: TransportKind) -> &mut TransportLatency {
        match kind {
            TransportKind::Network => &mut self.network,
            TransportKind::File => &mut self.file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_alone_if_the_counts_agree_within_a_tenth() {
        let ends = |asked: u64, came: u64| {
            let totals = |requests| RequestTotals { requests, took: Span::ZERO };
            TransportEnds { far: totals(asked), near: totals(came) }.is_only_client()
        };
        for came in [10, 100, 1009] {
            let tenth = came / 10;
            for (asked, alone) in [
                (came - tenth - 1, false),
                (came - tenth, true),
                (came, true),
                (came + tenth, true),
                (came + tenth + 1, false),
            ] {
                assert_eq!(ends(asked, came), alone, "{asked} asked, {came} came");
            }
        }
        // Below ten no difference is borne; without requests nobody is there.
        assert_eq!(
            [ends(9, 9), ends(8, 9), ends(10, 9), ends(0, 0), ends(0, 10), ends(1, 0)],
            [true, false, false, false, false, false]
        );
    }

    #[test]
    fn what_a_transport_adds_is_the_difference_of_the_means_and_never_negative() {
        let totals = |requests, nanos| RequestTotals { requests, took: Span::from_nanos(nanos) };
        let added = |far, near| TransportEnds { far, near }.mean_added_time().nanos();
        assert_eq!(added(totals(4, 400), totals(5, 300)), 40);
        assert_eq!(added(totals(5, 300), totals(4, 400)), 0);
        assert_eq!(totals(0, 0).mean(), Span::ZERO);
        assert_eq!(totals(7, 700).since(totals(3, 100)), totals(4, 600));
        assert_eq!(totals(3, 100).since(totals(7, 700)), totals(0, 0));
    }

    #[test]
    fn a_response_is_the_model_s_time_and_the_lateness_and_only_reads_and_writes_move() {
        let mut transports = TransportLatencies::default();
        let (modelled, late) = (Span::from_nanos(1 << 20), Span::from_nanos(1 << 10));
        transports.transport_mut(TransportKind::File).add_request(Some(DemandKind::Read), modelled, late);
        transports.transport_mut(TransportKind::File).add_request(Some(DemandKind::Flush), modelled, late);
        assert_eq!(
            (transports.network.modelled.count(), transports.file.modelled.count()),
            (0, 2),
            "each transport has its own"
        );
        let transport = &transports.file;
        assert_eq!(
            (transport.response.mean(), transport.modelled.mean(), transport.late.mean()),
            (Some(modelled + late), Some(modelled), Some(late))
        );
        assert_eq!(RequestTotals::from(transport), RequestTotals { requests: 1, took: modelled });
    }
}
