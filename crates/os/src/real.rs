//! Real files and block devices as places: `file:PATH` and `device:PATH`, on Linux.
//!
//! The device of a job is the file or block device that the user names, as a whole. Files that the job itself names are
//! ranges of it: no name in a job is ever opened. Each worker of a job has an io_uring and a thread of its own
//! (`threads`); scenes and sessions have one io_uring, on the thread that runs them.
//!
//! | room | what it does |
//! |---|---|
//! | [`bench`](mod@bench) | reads the test bench of a measurement: device, file system, kernel, machine |
//! | `claim` | checks and holds what a run writes |
//! | `device` | requests to the kernel, and their completions |
//! | `file` | the place: its preparation for a job, its refusals |
//! | `foreign_data` | whether a file holds anything that Seekwise did not write |
//! | `path` | resolves paths; creates files if asked to |
//! | `pattern` | the data of writes |
//! | [`probe`] | whether a device may be written |
//! | [`settings`] | settings of a device for a run, and those before it |
//! | `uring` | the kernel's io_uring: the one file with `unsafe` code |

pub mod bench;
#[cfg(target_os = "linux")]
pub(crate) mod claim;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod file;
#[cfg(target_os = "linux")]
mod foreign_data;
#[cfg(target_os = "linux")]
pub(crate) mod path;
#[cfg(target_os = "linux")]
mod pattern;
#[cfg(target_os = "linux")]
pub mod probe;
#[cfg(target_os = "linux")]
pub mod settings;
#[cfg(target_os = "linux")]
mod uring;

use std::sync::Arc;

use seekwise_run::handle::RealOptions;
use seekwise_run::place::Place;

#[cfg(target_os = "linux")]
use self::file::RealPlace;

/// The name of the place of files.
pub const FILE: &str = "file";
/// The name of the place of devices.
pub const DEVICE: &str = "device";

/// Workers at once, at most: each is a thread.
pub(crate) const MAX_THREADS: usize = 1024;

/// Opens the file at this path as a place.
#[cfg(target_os = "linux")]
pub fn open_file_place(path: &str, options: &RealOptions) -> Result<Arc<dyn Place>, String> {
    RealPlace::for_file(path, options)
}

/// Opens the device at this path as a place.
#[cfg(target_os = "linux")]
pub fn open_device_place(path: &str, options: &RealOptions) -> Result<Arc<dyn Place>, String> {
    RealPlace::for_device(path, options)
}

/// Returns the length of the file, or of the device, that `--on` names; of a missing file the size that the options ask
/// for. Nothing is created.
#[cfg(target_os = "linux")]
pub fn path_bytes(path: &str, is_device: bool, options: &RealOptions) -> Result<u64, String> {
    file::path_bytes(path, is_device, options)
}

/// Returns an error: supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn path_bytes(_: &str, _: bool, _: &RealOptions) -> Result<u64, String> {
    Err("real files and devices are places on Linux alone".to_owned())
}

/// Checks whether this kernel grants an io_uring; the error says why not.
#[cfg(target_os = "linux")]
pub(crate) fn check_ring() -> Result<(), String> {
    uring::probe_ring().map_err(|why| why.to_string())
}

/// Returns an error: supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn open_file_place(_: &str, _: &RealOptions) -> Result<Arc<dyn Place>, String> {
    Err("real files are places on Linux alone".to_owned())
}

/// Returns an error: supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn open_device_place(_: &str, _: &RealOptions) -> Result<Arc<dyn Place>, String> {
    Err("devices are places on Linux alone".to_owned())
}

/// Returns an error: supported on Linux only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check_ring() -> Result<(), String> {
    Err("rings are Linux's".to_owned())
}
