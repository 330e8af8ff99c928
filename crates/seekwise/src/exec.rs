//! A command on a modelled disk, as `seekwise exec` runs it: namespaces of its own, a file system on the served disk, and
//! a watch over its processes. Linux only; the disk itself is in [`serve`](crate::serve).

/// Namespaces of its own, which take mounts and processes with them when they end.
pub use seekwise_os::kernel::namespaces::{
    Lifeline, MountRight, command_without_session, follow_lifeline, is_in_namespaces, kill_other_processes,
    mount_private_folder, signal_first_process, start_without_rights,
};

/// File systems: the kernel's, and ext4 as a program.
pub use seekwise_os::kernel::program_filesystem::{PROGRAM, ProgramFileSystem};
pub use seekwise_os::kernel::{FileSystemKind, ProgramBounds};

/// Which processes waited for it.
pub use seekwise_os::kernel::process_watch::{DiskWait, ProcessWatch};

/// Requests to the disk, by kind.
pub use seekwise_run::receipt::demand::{Demand, DemandKind, KindTotals};
