//! Real devices on Linux.
//!
//! | room | what it does |
//! |---|---|
//! | [`bench`] | what a measurement stood on: device, file system, kernel, machine |
//! | [`probe`] | whether a device may be written |
//! | [`settings`] | settings of a device for a run, and what they were before |

#[cfg(target_os = "linux")]
pub mod bench;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
mod system;
