//! All code that uses an operating system: clocks, sockets, devices, processes, and the places in real time that rest
//! on them.
//!
//! | room | what it is |
//! |---|---|
//! | [`clock`] | the one file that reads real time |
//! | [`unfinished`] | files that a program killed now would leave half done |
//! | `system` | the kernel's block devices, and what uses a file or device |
//! | [`outputs`] | files and folders that commands write, whole or not at all |
//! | [`accounts`] | the kernel's accounts of processor time and disks |
//! | [`kernel`] | the system's side of a disk in a file: loop devices, file systems, and programs on them |
//! | [`real_time`] | the traits of a place in real time, and the loop that the clock drives |
//! | `threads` | runs a job whose workers have each a thread of their own |
//! | `measured_place` | a place in real time as runs see it |
//! | [`real`] | real files and block devices: the places, their test beds, whether they may be written, their settings |
//! | [`bytes`] | the data of a modelled disk: on its platters, and not there yet |
//! | [`chronicle`] | the history of a disk at work, shared with its reader |
//! | [`nbd`] | the network block device protocol |
//! | [`live`] | a modelled disk at work in real time |
//! | [`serve`] | sockets: clients, and orders to a disk |
//! | [`audit`] | disks for a flush audit in real time |
//! | [`medium_change`] | changes of a medium that a check must notice |
//! | [`image_checker`] | checks what a power cut left, by a command of the user's |
//! | [`null`] | a place that answers each request at once |
//! | [`remote`] | places behind a connection |
//! | [`places`] | the list of places in real time |
//! | `layer_tap` | a proxy between a program and the disk, and the flushes that the program sends to it |
//! | [`session`] | records the session of a program on a modelled disk |
//!
//! Only this crate reads a clock ([`clock`]) or has sockets ([`serve`]) and devices ([`real`], [`audit`]).
//!
//! A file appears whole or not at all, and no other is replaced unless that is asked for:
//!
//! ```
//! use seekwise_os::outputs::{create_temporary_folder, write_whole};
//!
//! let folder = create_temporary_folder()?;
//! let file = folder.path().join("answer.txt");
//! write_whole(&file, b"100.8 requests/s", false)?;
//! assert!(write_whole(&file, b"another", false).is_err());
//! assert_eq!(std::fs::read(&file)?, b"100.8 requests/s");
//! # Ok::<(), std::io::Error>(())
//! ```

#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "a test makes what it looks at"))]

pub mod accounts;
pub mod audit;
pub mod bytes;
pub mod chronicle;
pub mod clock;
#[cfg(target_os = "linux")]
pub mod image_checker;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
mod layer_tap;
pub mod live;
mod measured_place;
#[cfg(target_os = "linux")]
pub mod medium_change;
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
