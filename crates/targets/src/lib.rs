//! Where work runs.
//!
//! | room | what it is |
//! |---|---|
//! | [`audit`] | what a flush audit asks of a disk, and when it was answered |
//! | [`bytes`] | the bytes of a modelled disk: on its platters, and not there yet |
//! | [`checking`] | what a power cut left, looked at by a check of the user's |
//! | [`clock`] | the one file that reads real time |
//! | [`history`] | all that passed a disk at work, with the data of its writes |
//! | [`kernel`] | the system's side of a disk in a file: loop devices, file systems, and programs on them |
//! | [`live`] | a modelled disk at work in real time |
//! | [`nbd`] | the network block device protocol |
//! | [`null`] | answers each request at once, in real time |
//! | [`place`] | the door to all places |
//! | [`real`] | real files and block devices: the places, the bench they are, whether they may be written, their settings |
//! | [`serve`] | sockets: clients, and orders to a disk |
//! | [`session`] | a program at work on a modelled disk, from the first request to the last |
//! | [`sim`] | a modelled stack, in virtual time |
//! | [`work`] | what a run does: a job of workers, or a scene |
//!
//! The only crate that reads a clock ([`clock`]), and the only one with sockets ([`serve`]) and devices ([`real`], [`audit`]).

pub mod audit;
pub mod bytes;
#[cfg(target_os = "linux")]
pub mod checking;
pub mod clock;
pub mod history;
#[cfg(target_os = "linux")]
pub mod kernel;
pub mod live;
pub mod nbd;
pub mod null;
pub mod place;
pub mod real;
pub mod serve;
#[cfg(target_os = "linux")]
pub mod session;
pub mod sim;
pub mod work;
