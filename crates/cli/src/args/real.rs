//! Arguments of `seekwise flush-audit`.

use clap::Args;

use super::{PictureArgs, parse_key_value, parse_name, parse_seed, parse_size};

/// The text after the options in the help of `flush-audit`.
pub const FLUSH_AUDIT: &str = "\
Examples:
  seekwise flush-audit /mnt/data
  seekwise flush-audit /mnt/data --png flush.png --set real.write_cache=off
  seekwise flush-audit /dev/sdb --destroy WD-WCC4E7
  seekwise flush-audit nbd:unix:/tmp/disk --destroy unix:/tmp/disk
  seekwise flush-audit barracuda-7200.7 --set drive.faults.early_flush=on

In a folder, the audit uses a nameless file of its own, which disappears at the end, even after a crash. A device or an export
is overwritten, so --destroy must name it. On a modelled drive or stack the audit runs in virtual time, to show each verdict. It
takes about twelve seconds and judges by timing alone (docs/flush-audit.md). --svg and --png draw the evidence.

Exit code 0: flushed data survive a power failure. Exit code 1: flushes or forced writes are acknowledged before the medium
has the data, the audit cannot tell, or nothing rotates (RAM, flash), so timing shows nothing about a power failure.";

/// Arguments of `flush-audit`.
#[derive(Args, Debug)]
pub struct FlushAuditArgs {
    /// A folder on the disk to test, a block device, nbd:ADDRESS, live:NAME, or a modelled drive or stack file.
    #[arg(value_name = "PATH|TARGET", value_parser = parse_name)]
    pub target: String,
    /// Set real.scheduler, real.write_cache or real.queue_depth for the audit, or a key of a modelled stack.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_key_value)]
    pub set: Vec<(String, String)>,
    /// Allow destroying all data on this device (by serial number), or at this address.
    #[arg(long, value_name = "SERIAL|ADDRESS")]
    pub destroy: Option<String>,
    /// The size of the file in a folder, such as 256m [default: 1g, or a quarter of the free space].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub size: Option<u64>,
    /// The random seed of locations and pauses.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub seed: u64,
    /// The picture's files.
    #[command(flatten)]
    pub pictures: PictureArgs,
    /// Overwrite existing files.
    #[arg(long, requires = "pictures")]
    pub force: bool,
}
