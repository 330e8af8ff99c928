//! Files: what a file system on a partition does for programs' operations on files. It does no I/O and reads no clock:
//! an operation becomes an ordered list of block requests ([`volume::IoPlan`]), which the caller issues.
//!
//! | part | what it is |
//! |---|---|
//! | [`buffered`] | a job's requests through the page cache |
//! | [`call`] | system calls and their results |
//! | [`note`] | what a scene reports to a judge of power cuts |
//! | [`pagecache`] | which pages of files are in memory, and read-ahead |
//! | [`program`] | the calls of each program |
//! | [`scene`] | programs on a system with its volumes, as a source of requests |
//! | [`system`] | serves the threads' calls, and issues their requests to the drive |
//! | [`volume`] | FAT32, NTFS and ext4 as far as their I/O goes, and what a mount finds after a cut |
//!
//! As everywhere in the model, no data bytes are kept, only where they lie.

pub mod buffered;
pub mod call;
pub mod note;
pub mod pagecache;
pub mod program;
pub mod scene;
pub mod system;
pub mod volume;
