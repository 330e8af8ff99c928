//! What killed runs left in the system, such as mounts, loop devices and settings of devices: notes of it, and its
//! removal. Linux only; half-written files are in [`unfinished`](crate::unfinished).

/// Notes of mounts, sockets, folders and processes, and the removal of those whose run is over.
pub use seekwise_os::kernel::GroupParent;
pub use seekwise_os::kernel::debris::{CleanupResult, DebrisItem, DebrisNote, FOLDER, remove_leftovers};

/// Settings of devices as they were before a run.
pub use seekwise_os::real::settings::{RestoreResult, restore, restore_own_settings, restore_settings};
