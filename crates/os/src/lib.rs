//! All that knows an operating system: clocks, sockets, devices, processes, and the places in real time that rest on them.
//!
//! | room | what it is |
//! |---|---|
//! | [`unfinished`] | what a program that ends at once would leave half done |
//! | `system` | what the kernel tells of its devices; who uses a file or device now |
//! | [`outputs`] | files and folders that commands write, whole or not at all |
//! | [`clock`] | the one file that reads real time |
//! | [`accounts`] | the kernel's accounts of processor time and disks |
//! | [`real_time`] | what a place in real time provides, and the crank that the clock turns |
//! | `threads` | a job whose workers run each on a thread of its own |
//! | [`measured`] | a place in real time as runs see it |
//! | [`chronicle`] | a history that is being written |
//! | [`bytes`] | the bytes of a modelled disk: on its platters, and not there yet |
//! | [`kernel`] | the system's side of a disk in a file: loop devices, file systems, and programs on them |
//! | [`real`] | real files and block devices: the places, their test beds, whether they may be written, their settings |
//! | [`null`] | answers each request at once, in real time |
//! | [`nbd`] | the network block device protocol |
//! | [`live`] | a modelled disk at work in real time |
//! | [`serve`] | sockets: clients, and orders to a disk |
//! | [`remote`] | places behind a connection |
//! | [`places`] | the list of places in real time |
//! | [`audit`] | disks that a flush audit asks in real time |
//! | [`session`] | a program at work on a modelled disk, from the first request to the last |
//! | [`checking`] | what a power cut left, looked at by a check of the user's |
//!
//! The only crate that reads a clock ([`clock`]), and the only one with sockets ([`serve`]) and devices ([`real`], [`audit`]).

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

pub mod accounts;
pub mod audit;
pub mod bytes;
#[cfg(target_os = "linux")]
pub mod checking;
pub mod chronicle;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod live;
pub mod measured;
pub mod nbd;
pub mod null;
pub mod outputs;
pub mod places;
pub mod real;
pub mod real_time;
pub mod remote;
pub mod serve;
#[cfg(target_os = "linux")]
pub mod session;
#[cfg(target_os = "linux")]
mod system;
mod threads;
pub mod unfinished;
