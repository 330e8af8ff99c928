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
