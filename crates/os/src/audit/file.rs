//! A flush audit of a scratch file in a folder, or of a block device. Both are accessed past the page cache (O_DIRECT).
//! The file is unlinked as soon as it is made, so nothing remains however the audit ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fdatasync, fstatvfs};
use seekwise_disk::block::SECTOR;
use seekwise_disk::time::Span;

use crate::clock::{Clock, drop_real_time_priority, take_real_time_priority};
use crate::outputs::create_private;
use crate::real::claim::WriteClaim;
use crate::real::path::{self, PathKind};
use seekwise_run::audit::{AREA, AuditAction, AuditInterval, AuditSubject, BLOCK};

/// Bytes of one write while the scratch file is filled.
const CHUNK: u64 = 1 << 20;

/// The smallest useful file: larger than the buffer of a disk of 2004.
const LEAST_BYTES: u64 = 64 << 20;

/// A buffer aligned for direct transfers with any sector size up to a page.
struct AlignedBuffer {
    bytes: Vec<u8>,
    /// The first aligned byte.
    start: usize,
    length: usize,
}

impl AlignedBuffer {
    fn new(length: u64, fill: u8) -> AlignedBuffer {
        let (length, block) = (length as usize, BLOCK as usize);
        let bytes = vec![fill; length + block];
        let start = bytes.as_ptr().align_offset(block);
        AlignedBuffer { bytes, start, length }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
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
    lacks_forced_writes: bool,
    clock: Clock,
    write_buffer: AlignedBuffer,
    read_buffer: AlignedBuffer,
}

impl Drop for DirectFile {
    fn drop(&mut self) {
        drop_real_time_priority();
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
    /// Creates and fills a scratch file in `folder`: `max_bytes`, or a quarter of the free space if that is less.
    pub fn create_in_folder(
        folder: &Path,
        max_bytes: Option<u64>,
        report_stage: &mut dyn FnMut(&str),
    ) -> Result<DirectFile, String> {
        let describe = |error: io::Error| describe_with_advice(&error);
        let space = fstatvfs(File::open(folder).map_err(describe)?).map_err(|error| describe(error.into()))?;
        let free_bytes = space.f_bavail.saturating_mul(space.f_frsize);
        let bytes = max_bytes.unwrap_or(AREA).min(free_bytes / 4) / CHUNK * CHUNK;
        if bytes < LEAST_BYTES.min(max_bytes.unwrap_or(LEAST_BYTES)) {
            return Err(format!(
                "{} MiB are free; expected {} MiB at least, of which the audit takes a quarter, or a \
                 smaller --size",
                free_bytes >> 20,
                (4 * LEAST_BYTES) >> 20
            ));
        }
        let path = folder.join(format!(".seekwise-flush-audit-{}", std::process::id()));
        let scratch = create_private(&path).map_err(describe)?;
        std::fs::remove_file(&path).map_err(describe)?;
        // Reopened by its descriptor: another file may have the name by now.
        let open =
            |dsync| direct_options(dsync).open(format!("/proc/self/fd/{}", scratch.as_raw_fd())).map_err(describe);
        let file = DirectFile::new(open(false)?, open(true)?, bytes / BLOCK)?;
        report_stage("filling the scratch file");
        file.allocate_and_fill(bytes).map_err(describe)?;
        Ok(file)
    }

    /// Opens a block device, claimed for us alone until the audit ends. `destroyed_name` is the name by which the user
    /// agreed to its destruction.
    pub fn claim_device(path: &Path, destroyed_name: Option<&str>) -> Result<DirectFile, String> {
        let resolved = path::resolve_path(path, PathKind::Device, None)?;
        let claim = WriteClaim::acquire(&resolved, destroyed_name)?;
        let open = |dsync| {
            let file = direct_options(dsync).open(&resolved.path).map_err(|error| describe_with_advice(&error))?;
            resolved.check_identity(&file).map(|()| file)
        };
        let blocks = (resolved.sectors * SECTOR).min(AREA) / BLOCK;
        let mut device = DirectFile::new(open(false)?, open(true)?, blocks)?;
        device._claim = Some(claim);
        Ok(device)
    }

    /// Raises the thread's priority; a dropped value restores it.
    fn new(plain: File, forced: File, blocks: u64) -> Result<DirectFile, String> {
        let meta = plain.metadata().map_err(|error| describe_with_advice(&error))?;
        let device_number = if meta.rdev() != 0 { meta.rdev() } else { meta.dev() };
        take_real_time_priority();
        let (write_buffer, read_buffer) = (AlignedBuffer::new(BLOCK, 0x5e), AlignedBuffer::new(BLOCK, 0));
        Ok(DirectFile {
            _claim: None,
            plain,
            forced,
            blocks,
            lacks_forced_writes: lacks_forced_writes(device_number),
            clock: Clock::start(),
            write_buffer,
            read_buffer,
        })
    }

    /// Allocates the file and writes all of it: the first write of a block costs a file system more than an overwrite.
    fn allocate_and_fill(&self, bytes: u64) -> io::Result<()> {
        match fallocate(&self.plain, FallocateFlags::empty(), 0, bytes) {
            // Not all file systems can allocate; then the writes do.
            Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        let chunk = AlignedBuffer::new(CHUNK, 0x5e);
        for offset in (0..bytes).step_by(CHUNK as usize) {
            self.plain.write_all_at(chunk.as_slice(), offset)?;
        }
        self.plain.sync_all()
    }

    fn perform_action(&mut self, action: AuditAction, block: u64) -> io::Result<()> {
        let offset = block * BLOCK;
        match action {
            AuditAction::Read => self.plain.read_exact_at(self.read_buffer.as_mut_slice(), offset),
            AuditAction::Write => self.plain.write_all_at(self.write_buffer.as_slice(), offset),
            AuditAction::Force => self.forced.write_all_at(self.write_buffer.as_slice(), offset),
            AuditAction::Flush => Ok(fdatasync(&self.plain)?),
        }
    }
}

/// Formats an error of the system, with advice.
fn describe_with_advice(error: &io::Error) -> String {
    let advice = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::INVAL) => {
            "; its file system takes no direct transfers (O_DIRECT), without which it is not \
             the disk that answers; expected a folder on a disk's own file system"
        }
        Some(rustix::io::Errno::NOSPC) => "; expected free space",
        _ => "",
    };
    format!("{error}{advice}")
}

/// True if the kernel says that the disk of this device number has no command for forced writes.
fn lacks_forced_writes(device_number: u64) -> bool {
    let (major, minor) = (rustix::fs::major(device_number), rustix::fs::minor(device_number));
    let read_fua = |parent: &str| std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{parent}queue/fua"));
    // A partition has the queue of its disk.
    read_fua("").or_else(|_| read_fua("../")).is_ok_and(|text| text.trim() == "0")
}

impl AuditSubject for DirectFile {
    fn block_count(&self) -> u64 {
        self.blocks
    }

    fn has_forced_writes(&self) -> Option<bool> {
        // Even a disk that has the command may be sent a write and a flush by the kernel: unknown.
        self.lacks_forced_writes.then_some(false)
    }

    /// Zero: a system call costs less than can be measured here.
    fn round_trip_time(&self) -> Span {
        Span::ZERO
    }

    fn pause_for(&mut self, span: Span) -> Result<(), String> {
        self.clock.wait_until(self.clock.now() + span);
        Ok(())
    }

    fn perform(&mut self, action: AuditAction, block: u64) -> Result<AuditInterval, String> {
        let from = self.clock.now();
        self.perform_action(action, block)
            .map_err(|error| format!("{} of block {block}: {}", action.words(), describe_with_advice(&error)))?;
        Ok(AuditInterval { from, to: self.clock.now() })
    }

    fn flush_beside_reads(&mut self, reads: &[u64]) -> Result<(AuditInterval, Vec<AuditInterval>), String> {
        let DirectFile { plain, clock, read_buffer, .. } = self;
        let time = |action: &mut dyn FnMut() -> io::Result<()>| -> io::Result<AuditInterval> {
            let from = clock.now();
            action()?;
            Ok(AuditInterval { from, to: clock.now() })
        };
        let (flush, reads) = std::thread::scope(|threads| {
            let flush = threads.spawn(|| time(&mut || Ok(fdatasync(&*plain)?)));
            let time_read = |&block: &u64| time(&mut || plain.read_exact_at(read_buffer.as_mut_slice(), block * BLOCK));
            let reads: io::Result<Vec<AuditInterval>> = reads.iter().map(time_read).collect();
            (flush.join().expect("a flush does not panic"), reads)
        });
        let describe = |error: io::Error| format!("a flush beside reads: {}", describe_with_advice(&error));
        Ok((flush.map_err(describe)?, reads.map_err(describe)?))
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
