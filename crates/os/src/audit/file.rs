//! A scratch file in a folder, or a block device, accessed past the page cache (O_DIRECT). The file is unlinked as soon as it is made,
//! so nothing remains however the audit ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fdatasync, fstatvfs};
use seekwise_disk::block::SECTOR;
use seekwise_disk::time::Span;

use crate::clock::{Clock, give_up_precedence, take_precedence};
use crate::outputs::create_private;
use crate::real::claim::WriteClaim;
use crate::real::path::{self, PathKind};
use seekwise_run::audit::{AREA, AuditAction, AuditInterval, AuditSubject, BLOCK};

/// Bytes of one write while the file is filled.
const CHUNK: u64 = 1 << 20;

/// The smallest useful file: larger than the buffer of a disk of 2004.
const LEAST: u64 = 64 << 20;

/// A buffer aligned for direct transfers with any sector size up to a page.
struct AlignedBuffer {
    bytes: Vec<u8>,
    from: usize,
    length: usize,
}

impl AlignedBuffer {
    fn new(length: u64, fill: u8) -> AlignedBuffer {
        let (length, block) = (length as usize, BLOCK as usize);
        let bytes = vec![fill; length + block];
        let from = bytes.as_ptr().align_offset(block);
        AlignedBuffer { bytes, from, length }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.from + self.length]
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.length]
    }
}

/// A file or a block device, open past the page cache.
pub struct DirectFile {
    /// The claim of a device, kept until the end.
    _claim: Option<WriteClaim>,
    plain: File,
    /// Opened again; writes through it are forced (O_DSYNC).
    forced: File,
    blocks: u64,
    forces: Option<bool>,
    clock: Clock,
    write: AlignedBuffer,
    read: AlignedBuffer,
}

impl Drop for DirectFile {
    fn drop(&mut self) {
        give_up_precedence();
    }
}

#[expect(clippy::disallowed_methods, reason = "a claimed device, or a new file by its descriptor")]
fn direct_options(dsync: bool) -> OpenOptions {
    let flags = if dsync { OFlags::DIRECT | OFlags::DSYNC } else { OFlags::DIRECT };
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(flags.bits() as i32);
    options
}

impl DirectFile {
    /// Creates and fills a file in `folder`: `most` bytes, or a quarter of the free space if that is less.
    pub fn create_in_folder(folder: &Path, most: Option<u64>, far: &mut dyn FnMut(&str)) -> Result<DirectFile, String> {
        let wrong = |error: io::Error| describe_error(&error);
        let free = fstatvfs(File::open(folder).map_err(wrong)?).map_err(|error| wrong(error.into()))?;
        let free = free.f_bavail.saturating_mul(free.f_frsize);
        let bytes = most.unwrap_or(AREA).min(free / 4) / CHUNK * CHUNK;
        if bytes < LEAST.min(most.unwrap_or(LEAST)) {
            return Err(format!(
                "{} MiB are free; expected {} MiB at least, of which the audit takes a quarter, or a \
                 smaller --size",
                free >> 20,
                (4 * LEAST) >> 20
            ));
        }
        let path = folder.join(format!(".seekwise-flush-audit-{}", std::process::id()));
        let made = create_private(&path).map_err(wrong)?;
        std::fs::remove_file(&path).map_err(wrong)?;
        // Reopened by its descriptor: another file may have the name by now.
        let open = |dsync| direct_options(dsync).open(format!("/proc/self/fd/{}", made.as_raw_fd())).map_err(wrong);
        let file = DirectFile::new(open(false)?, open(true)?, bytes / BLOCK)?;
        far("filling the scratch file");
        file.fill(bytes).map_err(wrong)?;
        Ok(file)
    }

    /// Opens a block device, claimed for us alone until the audit ends; `destroy` is the name that the user gave.
    pub fn claim_device(path: &Path, destroy: Option<&str>) -> Result<DirectFile, String> {
        let found = path::resolve_path(path, PathKind::Device, None)?;
        let claim = WriteClaim::acquire(&found, destroy)?;
        let open = |dsync| {
            let file = direct_options(dsync).open(&found.path).map_err(|error| describe_error(&error))?;
            found.check_identity(&file).map(|()| file)
        };
        let blocks = (found.sectors * SECTOR).min(AREA) / BLOCK;
        let mut device = DirectFile::new(open(false)?, open(true)?, blocks)?;
        device._claim = Some(claim);
        Ok(device)
    }

    fn new(plain: File, forced: File, blocks: u64) -> Result<DirectFile, String> {
        let meta = plain.metadata().map_err(|error| describe_error(&error))?;
        let forces = forced_write_support(if meta.rdev() != 0 { meta.rdev() } else { meta.dev() });
        take_precedence();
        let (write, read) = (AlignedBuffer::new(BLOCK, 0x5e), AlignedBuffer::new(BLOCK, 0));
        Ok(DirectFile { _claim: None, plain, forced, blocks, forces, clock: Clock::start(), write, read })
    }

    /// Allocates the file and writes all of it: the first write of a block costs a file system more than an overwrite.
    fn fill(&self, bytes: u64) -> io::Result<()> {
        match fallocate(&self.plain, FallocateFlags::empty(), 0, bytes) {
            // Not all file systems can allocate; then the writes do.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        let chunk = AlignedBuffer::new(CHUNK, 0x5e);
        for at in (0..bytes).step_by(CHUNK as usize) {
            self.plain.write_all_at(chunk.as_slice(), at)?;
        }
        self.plain.sync_all()
    }

    fn perform_action(&mut self, act: AuditAction, block: u64) -> io::Result<()> {
        let at = block * BLOCK;
        match act {
            AuditAction::Read => self.plain.read_exact_at(self.read.as_mut_slice(), at),
            AuditAction::Write => self.plain.write_all_at(self.write.as_slice(), at),
            AuditAction::Force => self.forced.write_all_at(self.write.as_slice(), at),
            AuditAction::Flush => Ok(fdatasync(&self.plain)?),
        }
    }
}

/// Formats an error of the system, with advice.
fn describe_error(error: &io::Error) -> String {
    let what = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::INVAL) => {
            "; its file system takes no direct transfers (O_DIRECT), without which it is not \
             the disk that answers; expected a folder on a disk's own file system"
        }
        Some(rustix::io::Errno::NOSPC) => "; expected free space",
        _ => "",
    };
    format!("{error}{what}")
}

/// Returns `Some(false)` if the disk of this device number has no command for forced writes, else `None`.
fn forced_write_support(device: u64) -> Option<bool> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let of = |below: &str| std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{below}queue/fua")).ok();
    // A partition has the queue of its disk.
    let text = of("").or_else(|| of("../"))?;
    // Even with the command the kernel may send a write and a flush, so the answer is not known.
    if text.trim() == "0" { Some(false) } else { None }
}

impl AuditSubject for DirectFile {
    fn block_count(&self) -> u64 {
        self.blocks
    }

    fn has_forced_writes(&self) -> Option<bool> {
        self.forces
    }

    /// Zero: a system call costs less than can be measured here.
    fn round_trip_time(&self) -> Span {
        Span::ZERO
    }

    fn pause_for(&mut self, span: Span) -> Result<(), String> {
        self.clock.wait_until(self.clock.now() + span);
        Ok(())
    }

    fn perform(&mut self, act: AuditAction, block: u64) -> Result<AuditInterval, String> {
        let from = self.clock.now();
        self.perform_action(act, block)
            .map_err(|error| format!("{} of block {block}: {}", act.words(), describe_error(&error)))?;
        Ok(AuditInterval { from, to: self.clock.now() })
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        let DirectFile { plain, clock, read, .. } = self;
        let took = |ask: &mut dyn FnMut() -> io::Result<()>| -> io::Result<AuditInterval> {
            let from = clock.now();
            ask()?;
            Ok(AuditInterval { from, to: clock.now() })
        };
        let (flush, reads) = std::thread::scope(|threads| {
            let flush = threads.spawn(|| took(&mut || Ok(fdatasync(&*plain)?)));
            let at = |&block: &u64| took(&mut || plain.read_exact_at(read.as_mut_slice(), block * BLOCK));
            let reads: io::Result<Vec<AuditInterval>> = reads.iter().map(at).collect();
            (flush.join().expect("a flush does not panic"), reads)
        });
        let wrong = |error: io::Error| format!("a flush beside reads: {}", describe_error(&error));
        Ok((flush.map_err(wrong)?, reads.map_err(wrong)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_forced_writes_of_a_nameless_file_are_forced() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = match DirectFile::create_in_folder(folder.path(), Some(CHUNK), &mut |_| ()) {
            Err(why) if why.contains("(O_DIRECT)") => return eprintln!("skipped: {why}"),
            made => made.unwrap(),
        };
        assert_eq!((file.block_count(), std::fs::read_dir(folder.path()).unwrap().count()), (CHUNK / BLOCK, 0));
        for (opened, is_forced) in [(&file.plain, false), (&file.forced, true)] {
            let flags = rustix::fs::fcntl_getfl(opened).unwrap();
            assert_eq!((flags.contains(OFlags::DIRECT), flags.contains(OFlags::DSYNC)), (true, is_forced));
        }
        for act in [AuditAction::Read, AuditAction::Write, AuditAction::Force, AuditAction::Flush] {
            assert!(file.perform(act, CHUNK / BLOCK - 1).is_ok(), "{}", act.words());
        }
    }
}
