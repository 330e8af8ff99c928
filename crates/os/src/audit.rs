//! Disks that a flush audit asks in real time: a file or device (`file`), and the export of a network block device. What is
//! asked, and in which order, is in [`seekwise_run::audit`].

#[cfg(unix)]
mod export;
#[cfg(target_os = "linux")]
pub mod file;

#[cfg(unix)]
pub use self::export::exported;
