//! Files: what a file system on a partition makes of what programs do with files. It does no I/O and reads no clock:
//! an operation becomes a list of block requests with their order ([`volume::Plan`]), which whoever drives it issues.
//!
//! | part | what it is |
//! |---|---|
//! | [`volume`] | FAT32, NTFS and ext4 as far as their I/O goes, and what a mount finds after a cut |
//!
//! No bytes of data are kept, only where they lie, as everywhere in the model.

pub mod volume;
