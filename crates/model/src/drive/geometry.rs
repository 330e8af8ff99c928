//! LBA to place.
