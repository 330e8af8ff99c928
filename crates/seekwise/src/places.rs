//! Places in real time, where jobs run besides modelled disks, and how the name of a target leads to one.

/// The list of places, and how each is opened.
pub use seekwise_os::places::PLACES;
pub use seekwise_run::place::{PlaceKind, PlaceSource, parse_place as find_place};

/// Places that are opened without a job.
pub use seekwise_os::null::NullPlace;
pub use seekwise_os::real_time::RealTime;
pub use seekwise_os::remote::{LivePlace, RemotePlace};
