//! How a worker has a real file.

/// How a worker has the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// One call after another (`psync`), not by io_uring.
    pub calls: bool,
    /// Past the page cache.
    pub direct: bool,
    /// What the page cache holds of the file is given up before.
    pub invalidate: bool,
    /// Its flushes are `fdatasync`.
    pub data_only: bool,
    /// `sync=sync`: its writes are durable with all metadata.
    pub whole: bool,
    /// What the page cache is told of the order of reads.
    pub hint: Hint,
}

/// `fadvise_hint`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hint {
    /// Nothing.
    #[default]
    None,
    /// At random: nothing is read ahead.
    Random,
    /// One behind another: twice as much as usual is.
    Sequential,
}
