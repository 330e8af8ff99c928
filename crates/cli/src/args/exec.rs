//! Arguments of `seekwise exec`.

use std::path::PathBuf;

use clap::Args;

use super::serve::parse_speed;
use super::{parse_key_value, parse_name, parse_seed, parse_size};

/// The text after the options in the help of `exec`.
pub const EXEC: &str = "\
Examples:
  seekwise exec --on barracuda-7200.7 -- make test
  seekwise exec --on exos-x18 --receipt disk.json -- pytest
  seekwise exec --on exos-x18 --set drive.write_cache=off -- go test ./...
  seekwise exec --on null -- cargo test
  seekwise exec --on barracuda-7200.7 --fs none -- sh -c 'nbdinfo \"$SEEKWISE_URI\"'

The command finds a new file system in SEEKWISE_MOUNT, which is also its TMPDIR; its working directory stays. SEEKWISE_FILE is the
bare disk as a file, SEEKWISE_URI its NBD address, SEEKWISE_CONTROL the socket for `seekwise disk --control`, and with the kernel's file
systems SEEKWISE_DEVICE is the block device. Mounts and processes are in namespaces of their own: nobody else sees them, and they
end with the command, also after kill -9.

Without root the file system is ext4 by fuse2fs (packages fuse2fs and e2fsprogs). With root it is the kernel's ext4, xfs or btrfs.

The exit code is the command's, or 128 plus the signal's number if a signal ended it; 127 if the command is not found, 126 if it
cannot be executed. The receipt goes to standard error: the requests of the command, where the disk's time went, and whether the
machine kept up. docs/exec.md explains it.";

/// Arguments of `exec`.
#[derive(Args, Debug)]
pub struct ExecArgs {
    /// The disk: a drive's name (see `seekwise drives`), a stack file, or `null`, which answers immediately.
    #[arg(long = "on", value_name = "TARGET", value_parser = parse_name)]
    pub target: String,
    /// Set a dotted key of the stack; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// The file system (ext4; with root also xfs, btrfs), with mount options, such as ext4:noatime; or none.
    #[arg(long, value_name = "NAME[:OPTIONS]", default_value = "ext4", value_parser = parse_name)]
    pub fs: String,
    /// The size of the file system; it lies at the beginning of the disk [default: 4g, or all of a smaller disk].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
    /// The folder to mount on; it must be empty, and only the command sees the mount [default: the first empty one of /mnt, /media,
    /// /srv …].
    #[arg(long, value_name = "DIR")]
    pub at: Option<PathBuf>,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// Run the model's time this many times as fast as real time.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = parse_speed)]
    pub speed: f64,
    /// Exit with code 1 if the command succeeded and the machine surely did not keep up.
    #[arg(long)]
    pub strict: bool,
    /// Write the receipt to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    pub receipt: Option<PathBuf>,
    /// Overwrite an existing receipt.
    #[arg(long, requires = "receipt")]
    pub force: bool,
    /// The command.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}
