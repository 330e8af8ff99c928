//! The flags and hints with which a worker opens a real file.

/// How a worker opens a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FioOpenFlags {
    /// Issues one system call at a time (`psync`) instead of using io_uring.
    pub calls: bool,
    /// Bypasses the page cache.
    pub direct: bool,
    /// Drops the file from the page cache first.
    pub invalidate: bool,
    /// Flushes are `fdatasync`.
    pub data_only: bool,
    /// `sync=sync`: writes are durable with all metadata.
    pub whole: bool,
    /// The hint to the page cache about the order of reads.
    pub hint: AccessHint,
}

/// `fadvise_hint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessHint {
    /// No hint.
    #[default]
    None,
    /// Random: no read-ahead.
    Random,
    /// Sequential: twice the usual read-ahead.
    Sequential,
}
