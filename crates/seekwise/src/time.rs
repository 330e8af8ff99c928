//! Points and lengths of time. Only times of a model and texts are here: no clock is read.

/// Instants of a disk's time, and spans between them, in nanoseconds.
pub use seekwise_disk::time::{Instant, Span};

/// A length as people write it, such as `500 ms`.
pub use seekwise_drives::duration::Duration;
