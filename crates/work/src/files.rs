//! Files: the block requests of a file system on a partition for programs' operations on files. No I/O is done and no
//! clock is read: an operation becomes an ordered list of block requests ([`volume::IoPlan`]), which the caller issues.
//!
//! | part | what it is |
//! |---|---|
//! | [`buffered_source`] | a job's requests through the page cache |
//! | [`call`] | system calls and their results |
//! | [`note`] | notes from a scene to a judge of power cuts |
//! | [`pagecache`] | pages of files in memory, and read-ahead |
//! | [`program`] | the calls of each program |
//! | [`scene`] | programs on a system with its volumes, as a source of requests |
//! | [`system`] | serves the threads' calls, and issues their requests to the drive |
//! | [`volume`] | the I/O of FAT32, NTFS and ext4, and files as a mount finds them after a cut |
//!
//! As everywhere in the model, only places of data are kept, no bytes.

pub mod buffered_source;
pub mod call;
pub mod note;
pub mod pagecache;
pub mod program;
pub mod scene;
pub mod system;
pub mod volume;
