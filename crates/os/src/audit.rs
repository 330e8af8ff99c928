//! Disks for a flush audit in real time: a file or device (`file`), and the export of a network block device. The
//! questions and their order are in [`seekwise_run::audit`].

#[cfg(unix)]
mod export;
#[cfg(target_os = "linux")]
pub mod file;

#[cfg(unix)]
pub use self::export::open_export;
