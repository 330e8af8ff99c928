//! Points and lengths of time, of models and in texts. No clock is read here.

/// Instants of a disk's time, and spans between them, in nanoseconds.
pub use seekwise_disk::time::{Instant, Span};

/// A length as people write it, such as `500 ms`.
pub use seekwise_drives::duration::Duration;
