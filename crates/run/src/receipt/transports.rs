//! The transports to a disk, as figures: the cost of each besides the model's time.

use seekwise_disk::time::Span;

use super::lateness::Lateness;

/// The transport of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportKind {
    /// A network's connection.
    Network,
    /// A file of the system's.
    File,
}

/// A transport, with the requests that came by it.
#[derive(Clone, Debug, Default)]
pub struct TransportLatency {
    /// Response times of the model, from when requests came: by the clock.
    pub modelled: Lateness,
    /// How late their answers left.
    pub late: Lateness,
    /// Both together: each response as it left.
    pub response: Lateness,
    /// Round trips of a client of our own meanwhile.
    pub path: Lateness,
    /// Reads and writes among the requests, by the model: a kernel counts these at the other end.
    moves: RequestTotals,
}

impl TransportLatency {
    /// Adds a request, of `modelled` in the model; `moves` if it reads or writes.
    pub fn add_request(&mut self, modelled: Span, late: Span, moves: bool) {
        self.modelled.add(modelled);
        self.late.add(late);
        self.response.add(modelled + late);
        if moves {
            self.moves.requests += 1;
            self.moves.took += modelled;
        }
    }
}

/// Reads and writes, and their time in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestTotals {
    /// How many.
    pub requests: u64,
    /// All of them together.
    pub took: Span,
}

impl RequestTotals {
    /// The difference from an earlier snapshot.
    pub fn since(self, before: RequestTotals) -> RequestTotals {
        let requests = self.requests.saturating_sub(before.requests);
        RequestTotals { requests, took: self.took.saturating_sub(before.took) }
    }

    /// The mean time of a request.
    pub fn mean(self) -> Span {
        Span::from_nanos(self.took.nanos() / self.requests.max(1))
    }
}

impl From<&TransportLatency> for RequestTotals {
    fn from(transport: &TransportLatency) -> RequestTotals {
        transport.moves
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
    /// True if nobody else uses the transport: the counts of both ends agree within a tenth, for a kernel may split requests.
    pub fn is_alone(&self) -> bool {
        let (asked, came) = (self.far.requests, self.near.requests);
        came > 0 && asked.abs_diff(came) <= came / 10
    }

    /// The mean time that the transport adds to the model's.
    pub(crate) fn added_mean(&self) -> Span {
        self.far.mean().saturating_sub(self.near.mean())
    }
}

/// All transports.
#[derive(Clone, Debug, Default)]
pub struct TransportLatencies {
    pub network: TransportLatency,
    pub file: TransportLatency,
    /// The ends of a kernel's disk on the file, where there is one.
    pub device: Option<TransportEnds>,
    /// The ends of a run's client in this program, where it is the only one of the network's.
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
            TransportEnds { far: totals(asked), near: totals(came) }.is_alone()
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
    fn what_the_way_adds_is_the_difference_of_the_means_and_never_negative() {
        let totals = |requests, nanos| RequestTotals { requests, took: Span::from_nanos(nanos) };
        let added = |far, near| TransportEnds { far, near }.added_mean().nanos();
        assert_eq!(added(totals(4, 400), totals(5, 300)), 40);
        assert_eq!(added(totals(5, 300), totals(4, 400)), 0);
        assert_eq!(totals(0, 0).mean(), Span::ZERO);
        assert_eq!(totals(7, 700).since(totals(3, 100)), totals(4, 600));
        assert_eq!(totals(3, 100).since(totals(7, 700)), totals(0, 0));
    }

    #[test]
    fn a_response_is_the_model_s_time_and_the_lateness_and_only_reads_and_writes_move() {
        let mut ways = TransportLatencies::default();
        let (modelled, late) = (Span::from_nanos(1 << 20), Span::from_nanos(1 << 10));
        ways.transport_mut(TransportKind::File).add_request(modelled, late, true);
        ways.transport_mut(TransportKind::File).add_request(modelled, late, false);
        assert_eq!((ways.network.modelled.count(), ways.file.modelled.count()), (0, 2), "each door has its own");
        let way = &ways.file;
        assert_eq!(
            (way.response.mean(), way.modelled.mean(), way.late.mean()),
            (Some(modelled + late), Some(modelled), Some(late))
        );
        assert_eq!(RequestTotals::from(way), RequestTotals { requests: 1, took: modelled });
    }
}
