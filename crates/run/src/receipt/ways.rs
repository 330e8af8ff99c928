//! The ways to a disk and back, as figures: what each costs beside what the model says.

use seekwise_model::time::Span;

use super::lateness::Lateness;

/// Which way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A network's connection.
    Network,
    /// A file of the system's.
    File,
}

/// A way, with those who came it.
#[derive(Clone, Debug, Default)]
pub struct DoorLatency {
    /// What requests took by the model, from when they came: by the clock.
    pub modelled: Lateness,
    /// How late their answers left.
    pub late: Lateness,
    /// Both together: each response as it left.
    pub response: Lateness,
    /// What the way there and back took a client of our own meanwhile.
    pub path: Lateness,
    /// Reads and writes among them, by the model: what a kernel counts at the other end.
    moves: RequestTotals,
}

impl DoorLatency {
    /// One more request, of `modelled` in the model; `moves` if it reads or writes.
    pub fn answered(&mut self, modelled: Span, late: Span, moves: bool) {
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
    /// What came to it since.
    pub fn since(self, before: RequestTotals) -> RequestTotals {
        let requests = self.requests.saturating_sub(before.requests);
        RequestTotals { requests, took: self.took.saturating_sub(before.took) }
    }

    /// Their mean.
    pub fn mean(self) -> Span {
        Span::from_nanos(self.took.nanos() / self.requests.max(1))
    }
}

impl From<&DoorLatency> for RequestTotals {
    fn from(way: &DoorLatency) -> RequestTotals {
        way.moves
    }
}

/// A way as both of its ends count what goes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoorEnds {
    /// Whoever asks: a kernel's disk on the file, or a run's client.
    pub far: RequestTotals,
    /// What came to the disk, and the model's time for it.
    pub near: RequestTotals,
}

impl DoorEnds {
    /// Nobody else goes this way: as many came as were asked, within a tenth, for a kernel may part them otherwise.
    pub fn is_alone(&self) -> bool {
        let (asked, came) = (self.far.requests, self.near.requests);
        asked > 0 && came > 0 && asked.abs_diff(came) <= came / 10
    }

    /// What comes to the model's mean on the way.
    pub fn added(&self) -> Span {
        self.far.mean().saturating_sub(self.near.mean())
    }
}

/// All ways.
#[derive(Clone, Debug, Default)]
pub struct DoorLatencies {
    pub network: DoorLatency,
    pub file: DoorLatency,
    /// Of a kernel's disk on the file, where there is one.
    pub device: Option<DoorEnds>,
    /// Of a run's client in this program, where it is the only one of the network's.
    pub client: Option<DoorEnds>,
}

impl DoorLatencies {
    /// The way through this door.
    pub fn of(&mut self, door: Door) -> &mut DoorLatency {
        match door {
            Door::Network => &mut self.network,
            Door::File => &mut self.file,
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
            DoorEnds { far: totals(asked), near: totals(came) }.is_alone()
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
        let added = |far, near| DoorEnds { far, near }.added().nanos();
        assert_eq!(added(totals(4, 400), totals(5, 300)), 40);
        assert_eq!(added(totals(5, 300), totals(4, 400)), 0);
        assert_eq!(totals(0, 0).mean(), Span::ZERO);
        assert_eq!(totals(7, 700).since(totals(3, 100)), totals(4, 600));
        assert_eq!(totals(3, 100).since(totals(7, 700)), totals(0, 0));
    }

    #[test]
    fn a_response_is_the_model_s_time_and_the_lateness_and_only_reads_and_writes_move() {
        let mut ways = DoorLatencies::default();
        let (modelled, late) = (Span::from_nanos(1 << 20), Span::from_nanos(1 << 10));
        ways.of(Door::File).answered(modelled, late, true);
        ways.of(Door::File).answered(modelled, late, false);
        assert_eq!((ways.network.modelled.count(), ways.file.modelled.count()), (0, 2), "each door has its own");
        let way = &ways.file;
        assert_eq!(
            (way.response.mean(), way.modelled.mean(), way.late.mean()),
            (Some(modelled + late), Some(modelled), Some(late))
        );
        assert_eq!(RequestTotals::from(way), RequestTotals { requests: 1, took: modelled });
    }
}
