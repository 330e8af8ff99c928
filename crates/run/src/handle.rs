//! Options for real files and devices: how each worker opens one, and how a place is made of a path. Data only; files
//! are opened in `os/real`.

pub use seekwise_formats::fio::AccessHint;

/// How requests reach the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RealEngine {
    /// By the kernel's ring (io_uring), as many at once as the depth.
    #[default]
    Ring,
    /// By system calls, one after another.
    Calls,
}

impl RealEngine {
    /// The name in fio.
    pub const fn name(self) -> &'static str {
        match self {
            RealEngine::Ring => "io_uring",
            RealEngine::Calls => "psync",
        }
    }
}

/// How a worker opens the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RealHandle {
    /// How its requests reach the system.
    pub engine: RealEngine,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// The file's cached pages are dropped before the first request.
    pub invalidate: bool,
    /// Flushes are `fdatasync`.
    pub data_only: bool,
    /// Durable writes include all metadata (`O_SYNC`).
    pub whole: bool,
    /// The hint to the page cache about the order of its reads.
    pub hint: AccessHint,
}

/// By the ring, past the page cache.
impl Default for RealHandle {
    fn default() -> RealHandle {
        RealHandle {
            engine: RealEngine::Ring,
            direct: true,
            invalidate: true,
            data_only: true,
            whole: false,
            hint: AccessHint::None,
        }
    }
}

/// Options of a place besides its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealOptions {
    /// Creates a missing file with this many bytes.
    pub layout: Option<u64>,
    /// The serial number of the device, or the name of the file, whose contents may be destroyed.
    pub destroy: Option<String>,
    /// Settings of the disk for the length of a run: keys without `real.`, and values.
    pub settings: Vec<(String, String)>,
    /// Records the disk's serial number as a hash.
    pub hashed: bool,
}
