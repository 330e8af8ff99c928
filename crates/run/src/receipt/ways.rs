//! The ways to a disk and back, as figures: what each costs beside what the model says.

use seekwise_model::time::Span;

use super::Lateness;

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
pub struct Way {
    /// What reads and writes took by the model, from when they came: by the clock.
    pub modelled: Lateness,
    /// How late their answers left.
    pub late: Lateness,
    /// What the way there and back took a client of our own meanwhile.
    pub path: Lateness,
}

/// What a kernel's disk on the file took for requests, beside what the model did meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Requests of the kernel's disk, and their time in all.
    pub requests: u64,
    /// See [`Device::requests`].
    pub took: Span,
    /// Reads and writes that came to the file, and the model's time for them.
    pub came: u64,
    /// See [`Device::came`].
    pub modelled: Span,
}

impl Device {
    /// Nobody else uses the file: as many came to it as the kernel's disk had, within a tenth, for that may part them otherwise.
    pub fn is_alone(&self) -> bool {
        self.requests > 0 && self.came > 0 && self.requests.abs_diff(self.came) <= self.came / 10
    }

    /// The mean of the kernel's.
    pub fn mean(&self) -> Span {
        Span::from_nanos(self.took.nanos() / self.requests.max(1))
    }

    /// The mean of the model's.
    pub fn modelled_mean(&self) -> Span {
        Span::from_nanos(self.modelled.nanos() / self.came.max(1))
    }
}

/// All ways.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Of the network.
    pub network: Way,
    /// Of the file.
    pub file: Way,
    /// Of a kernel's disk on the file, where there is one.
    pub device: Option<Device>,
}

impl Ways {
    /// The way through this door.
    pub fn of(&mut self, door: Door) -> &mut Way {
        match door {
            Door::Network => &mut self.network,
            Door::File => &mut self.file,
        }
    }
}
