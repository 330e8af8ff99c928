//! Files: what a file system on a partition makes of what programs do with files. It does no I/O and reads no clock:
//! an operation becomes a list of block requests with their order ([`volume::Plan`]), which whoever drives it issues.
//!
//! | part | what it is |
//! |---|---|
//! | [`buffered`] | a job's requests through the page cache |
//! | [`call`] | what a program asks of the system, and what it gets back |
//! | [`note`] | what a scene tells a judge of power cuts |
//! | [`pagecache`] | which pages of files are in memory, and what is read ahead |
//! | [`program`] | what programs ask, call by call |
//! | [`scene`] | programs on a system with its volumes, as a source of requests |
//! | [`system`] | serves the calls of threads, and issues what they ask of the drive |
//! | [`volume`] | FAT32, NTFS and ext4 as far as their I/O goes, and what a mount finds after a cut |
//!
//! No bytes of data are kept, only where they lie, as everywhere in the model.

pub mod buffered;
pub mod call;
pub mod note;
pub mod pagecache;
pub mod program;
pub mod scene;
pub mod system;
pub mod volume;
