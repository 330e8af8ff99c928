//! Files: the block requests that file systems make for programs' calls. A call becomes an ordered list of block
//! requests ([`volume::IoPlan`]), which the caller issues; this room does no I/O and reads no clock. Bytes of files are
//! not kept, only where they lie.
//!
//! | part | what it is |
//! |---|---|
//! | [`buffered_source`] | a job's requests through the page cache |
//! | [`call`] | system calls and their results |
//! | [`note`] | notes from a scene to a judge of power cuts |
//! | [`pagecache`] | pages of files in memory, and read-ahead |
//! | [`program`] | the calls of each program |
//! | [`scene`] | programs on a system with its volumes, as a source of requests |
//! | [`system`] | an operating system: it serves the threads' calls and issues their requests |
//! | [`volume`] | the I/O of FAT32, NTFS and ext4, and files as a mount finds them after a cut |

pub mod buffered_source;
pub mod call;
pub mod note;
pub mod pagecache;
pub mod program;
pub mod scene;
pub mod system;
pub mod volume;
