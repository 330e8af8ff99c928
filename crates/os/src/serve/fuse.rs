//! Serves a disk as one file, `disk.img`, in a folder of the system (FUSE); a loop device makes a kernel's disk of it.
//! Requests come from the kernel, many at once. They become the messages that the requests of a network's clients
//! become, too.
//!
//! The size of the file is fixed. Any bytes can be read and written; the disk gets whole sectors. A sector that a write
//! covers in part is read first, as a kernel does for a block device.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, ReplyXattr, Request, TimeOrNow, WriteFlags,
};

use crate::clock::FileTime;
use crate::live::transports::{LatencyRecorder, TransportProbe};
use crate::live::{Caller, DiskMessage, DiskRequest, Inbox, ReplyTo};
use crate::nbd::Export;
use crate::nbd::wire::{self, NbdCommand, RequestHead, error};
use crate::serve::FILE;
use crate::serve::loops::{self, LoopFollower};
use seekwise_run::receipt::transports::TransportKind;

/// How long the kernel may keep attributes of the file, which never change.
const ATTRIBUTE_LIFETIME: Duration = Duration::from_secs(3600);

/// Inode of the file.
const INODE: INodeNo = INodeNo(2);

/// Linux's mode for zeroing a part of a file (`fallocate(2)`).
const ZERO_RANGE: i32 = 0x10;

/// Open flag of writes that are on the medium when they return: O_DSYNC, which is a part of O_SYNC (`open(2)`).
const DSYNC: i32 = rustix::fs::OFlags::DSYNC.bits() as i32;

/// An empty extended attribute of the file. A read of it goes to the disk's thread and back, past the model: a probe of
/// the latency.
const PROBE_ATTRIBUTE: &str = "user.seekwise.way";

/// Whether the system keeps pages of the file in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileCaching {
    /// No: each read and write is a request to the disk.
    Direct,
    /// Yes, as it does for a block device: writes reach the disk at an fsync, or later by themselves.
    PageCache,
}

/// The mounted folder.
pub struct FuseFolder {
    session: Option<BackgroundSession>,
    probes: Vec<TransportProbe>,
}

impl FuseFolder {
    /// Mounts the export on `folder`. The kernel hands over up to `max_background` requests at once.
    pub fn mount(folder: &Path, export: &Export, max_background: u16, inbox: Inbox) -> io::Result<FuseFolder> {
        FuseFolder::mount_with(FileCaching::Direct, folder, export, max_background, inbox)
    }

    /// As [`FuseFolder::mount`], and the system keeps pages of the file in memory as it does of a block device: for a file
    /// system that runs as a program, which has no pages of its own.
    pub fn mount_with_page_cache(
        folder: &Path,
        export: &Export,
        max_background: u16,
        inbox: Inbox,
    ) -> io::Result<FuseFolder> {
        FuseFolder::mount_with(FileCaching::PageCache, folder, export, max_background, inbox)
    }

    fn mount_with(
        caching: FileCaching,
        folder: &Path,
        export: &Export,
        max_background: u16,
        inbox: Inbox,
    ) -> io::Result<FuseFolder> {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(crate::kernel::debris::MOUNT_SOURCE.to_owned()),
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoExec,
        ];
        let (bytes, sector) = (export.bytes, u64::from(export.smallest));
        let disk = FuseDisk {
            requester: FuseRequester { inbox, bytes, sector },
            max_background,
            caching,
            owner: folder_owner(folder)?,
        };
        Ok(FuseFolder { session: Some(fuser::spawn_mount(disk, folder, &config)?), probes: Vec::new() })
    }

    /// Probes the transport through the file at `folder`, and reads what the kernel counts of a loop device on it.
    pub fn with_probes(mut self, folder: &Path, latencies: &LatencyRecorder) -> FuseFolder {
        let file = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned()).join(FILE);
        let mut follower = LoopFollower::new(&file);
        let round_trip =
            move || rustix::fs::getxattr(&file, PROBE_ATTRIBUTE, &mut [0u8; 0]).map(drop).map_err(io::Error::from);
        let recorder = latencies.clone();
        let totals = TransportProbe::call_every(loops::READ_INTERVAL, move || {
            follower.record_totals(&recorder);
            true
        });
        self.probes = vec![TransportProbe::start_probe(latencies.clone(), TransportKind::File, round_trip), totals];
        self
    }

    /// Unmounts the folder; an error if somebody still has the file open.
    pub fn unmount(mut self) -> io::Result<()> {
        self.probes.clear();
        self.session.take().map_or(Ok(()), BackgroundSession::umount_and_join)
    }
}

/// The user and the group that own a folder.
fn folder_owner(folder: &Path) -> io::Result<FolderOwner> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder)?;
    if !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no folder"));
    }
    Ok(FolderOwner { user: metadata.uid(), group: metadata.gid() })
}

/// Largest part of a range that is zeroed in one request.
const MAX_ZEROED: u64 = 1 << 30;

struct FuseDisk {
    requester: FuseRequester,
    max_background: u16,
    caching: FileCaching,
    owner: FolderOwner,
}

/// The numbers of a user and a group.
#[derive(Clone, Copy)]
struct FolderOwner {
    user: u32,
    group: u32,
}

/// Sends requests to the disk.
#[derive(Clone)]
struct FuseRequester {
    inbox: Inbox,
    bytes: u64,
    /// Bytes of a sector.
    sector: u64,
}

impl FuseDisk {
    fn file_attributes(&self, inode: INodeNo) -> FileAttr {
        let is_folder = inode == INodeNo::ROOT;
        let (kind, perm) = if is_folder { (FileType::Directory, 0o700) } else { (FileType::RegularFile, 0o600) };
        let size = if is_folder { 0 } else { self.requester.bytes };
        let (never, FolderOwner { user, group }) = (UNIX_EPOCH, self.owner);
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: never,
            mtime: never,
            ctime: never,
            crtime: never,
            kind,
            perm,
            nlink: if is_folder { 2 } else { 1 },
            uid: user,
            gid: group,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl FuseRequester {
    /// Sends a command without data for a range of bytes to the disk; `on_answer` gets the outcome.
    fn send_command(
        &self,
        command: NbdCommand,
        offset: u64,
        length: u64,
        on_answer: impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static,
    ) {
        self.send_request((command, 0), offset, length, DiskWrite { data: Vec::new(), skip: 0 }, on_answer);
    }

    /// Sends a request with its flags for whole sectors within the disk; refuses others.
    fn send_request(
        &self,
        (command, flags): (NbdCommand, u16),
        offset: u64,
        length: u64,
        DiskWrite { data, skip }: DiskWrite,
        on_answer: impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static,
    ) {
        let aligned = (offset | length).is_multiple_of(self.sector);
        let within = offset.checked_add(length).is_some_and(|end| end <= self.bytes);
        let length = match u32::try_from(length) {
            Ok(length) if aligned && within && (length > 0 || command == NbdCommand::Flush) => length,
            _ if aligned && !within => return on_answer(Err(Errno::ENOSPC)),
            _ => return on_answer(Err(Errno::EINVAL)),
        };
        let head = RequestHead { command, flags, cookie: 0, offset, length };
        let caller = Caller::new(move |outcome| {
            on_answer(outcome.map_err(|error| match error {
                error::NO_SPACE => Errno::ENOSPC,
                error::UNSUPPORTED => Errno::EOPNOTSUPP,
                _ => Errno::EIO,
            }));
        });
        // If the disk has ended, the reply is an error.
        let _ =
            self.inbox.send(DiskMessage::Request(DiskRequest { head, data, skip, reply_to: ReplyTo::Caller(caller) }));
    }

    /// Writes any bytes. Sectors that they cover in part are read first, only for the time and the errors of a read.
    /// Their other bytes are added when the disk takes the write, so that no concurrent write is lost.
    fn write_bytes(self, offset: u64, data: Vec<u8>, flags: u16, on_answer: OnAnswer) {
        let Some(end) = offset.checked_add(data.len() as u64).filter(|&end| end <= self.bytes) else {
            return on_answer(Err(Errno::ENOSPC));
        };
        let (sectors_start, sectors_end) = (offset / self.sector * self.sector, end.next_multiple_of(self.sector));
        let mut partial: Vec<u64> = if offset > sectors_start { vec![sectors_start] } else { Vec::new() };
        if end < sectors_end && partial.last() != Some(&(sectors_end - self.sector)) {
            partial.push(sectors_end - self.sector);
        }
        let requester = self.clone();
        self.read_and_drop_each(partial, move |read| match read {
            Ok(_) => {
                let write = DiskWrite { data, skip: offset - sectors_start };
                let length = sectors_end - sectors_start;
                requester.send_request((NbdCommand::Write, flags), sectors_start, length, write, on_answer);
            }
            error => on_answer(error),
        });
    }

    /// Reads a sector at each of these offsets, one after another, until a read fails. The data are dropped.
    fn read_and_drop_each(
        self,
        mut offsets: Vec<u64>,
        on_answer: impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static,
    ) {
        let Some(offset) = offsets.pop() else { return on_answer(Ok(Vec::new())) };
        let (rest, on_answer): (FuseRequester, OnAnswer) = (self.clone(), Box::new(on_answer));
        self.send_command(NbdCommand::Read, offset, self.sector, move |read| match read {
            Ok(_) => rest.read_and_drop_each(offsets, on_answer),
            error => on_answer(error),
        });
    }

    /// Zeroes any range: its whole sectors part by part, the others by writes.
    fn zero_range(self, offset: u64, length: u64, on_answer: OnAnswer) {
        let Some(end) = offset.checked_add(length).filter(|&end| end <= self.bytes) else {
            return on_answer(Err(Errno::ENOSPC));
        };
        let (next_sector, last_sector_end) = (offset.next_multiple_of(self.sector), end / self.sector * self.sector);
        let max_part = length.min(MAX_ZEROED);
        let part = if next_sector > offset {
            // The rest of a sector.
            length.min(next_sector - offset)
        } else if last_sector_end > offset {
            // Whole sectors.
            max_part.min(last_sector_end - offset)
        } else {
            max_part
        };
        let rest = self.clone();
        let zero_rest = move |outcome: Result<Vec<u8>, Errno>| match outcome {
            Ok(_) if part < length => rest.zero_range(offset + part, length - part, on_answer),
            outcome => on_answer(outcome),
        };
        match (offset | part).is_multiple_of(self.sector) {
            true => self.send_command(NbdCommand::WriteZeroes, offset, part, zero_rest),
            false => self.write_bytes(offset, vec![0; part as usize], 0, Box::new(zero_rest)),
        }
    }
}

/// Bytes of a write, and how many bytes of its first sector lie before them.
struct DiskWrite {
    data: Vec<u8>,
    skip: u64,
}

/// Receives the data that were read, or an error.
type OnAnswer = Box<dyn FnOnce(Result<Vec<u8>, Errno>) + Send>;

/// Returns a receiver of an outcome that passes it to the kernel without data.
fn empty_reply(reply: ReplyEmpty) -> impl FnOnce(Result<Vec<u8>, Errno>) + Send + 'static {
    move |outcome| match outcome {
        Ok(_) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl Filesystem for FuseDisk {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A kernel that takes fewer requests returns its limit, which is then set.
        let _ = config.set_max_background(self.max_background).map_err(|most| config.set_max_background(most));
        let _ =
            config.set_congestion_threshold(self.max_background).map_err(|most| config.set_congestion_threshold(most));
        // With pages, the kernel asks before each write for the attribute `security.capability`, a round trip, unless this
        // side promises to clear such rights itself (`file_remove_privs`, fs/inode.c). The file never has any.
        let capabilities: &[InitFlags] = match self.caching {
            FileCaching::Direct => &[InitFlags::FUSE_ASYNC_DIO],
            FileCaching::PageCache => &[InitFlags::FUSE_WRITEBACK_CACHE, InitFlags::FUSE_HANDLE_KILLPRIV_V2],
        };
        for &capability in capabilities {
            // An older kernel goes without.
            let _ = config.add_capabilities(capability);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match parent == INodeNo::ROOT && name == FILE {
            true => reply.entry(&ATTRIBUTE_LIFETIME, &self.file_attributes(INODE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTE_LIFETIME, &self.file_attributes(inode));
    }

    /// Accepts only changes without effect.
    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<FileTime>,
        _: Option<FileHandle>,
        _: Option<FileTime>,
        _: Option<FileTime>,
        _: Option<FileTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match mode.is_some() || uid.is_some() || gid.is_some() || size.is_some_and(|size| size != self.requester.bytes)
        {
            true => reply.error(Errno::EPERM),
            false => reply.attr(&ATTRIBUTE_LIFETIME, &self.file_attributes(inode)),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = match self.caching {
            FileCaching::Direct => FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES,
            FileCaching::PageCache => FopenFlags::FOPEN_KEEP_CACHE,
        };
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let (start, end) = (offset.min(self.requester.bytes), (offset + u64::from(size)).min(self.requester.bytes));
        if start == end {
            return reply.data(&[]);
        }
        let first = start / self.requester.sector * self.requester.sector;
        let last = end.next_multiple_of(self.requester.sector).min(self.requester.bytes);
        let within = (start - first) as usize..(end - first) as usize;
        self.requester.send_command(NbdCommand::Read, first, last - first, move |outcome| match outcome {
            Ok(data) => reply.data(&data[within]),
            Err(error) => reply.error(error),
        });
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        opened: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        // A write beyond the end is a short one, as on a block device.
        let fits = self.requester.bytes.saturating_sub(offset).min(data.len() as u64) as usize;
        if fits == 0 && !data.is_empty() {
            return reply.error(Errno::ENOSPC);
        }
        let is_forced = opened.0 & DSYNC != 0;
        let on_answer = move |outcome| match outcome {
            Ok(_) => reply.written(fits as u32),
            Err(error) => reply.error(error),
        };
        let flags = if is_forced { wire::FUA } else { 0 };
        self.requester.clone().write_bytes(offset, data[..fits].to_vec(), flags, Box::new(on_answer));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.requester.send_command(NbdCommand::Flush, 0, 0, empty_reply(reply));
    }

    /// Does nothing: closing a file makes no promise.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    /// Writes zeroes. Holes are not punched: a drive that knows no trim would have to write them, and nobody asked for
    /// that.
    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        match mode & ZERO_RANGE != 0 {
            true => self.requester.clone().zero_range(offset, length, Box::new(empty_reply(reply))),
            false => reply.error(Errno::EOPNOTSUPP),
        }
    }

    /// See [`PROBE_ATTRIBUTE`].
    fn getxattr(&self, _: &Request, inode: INodeNo, name: &OsStr, _: u32, reply: ReplyXattr) {
        if inode != INODE || name != PROBE_ATTRIBUTE {
            return reply.error(Errno::NO_XATTR);
        }
        let caller = Caller::new(move |outcome| match outcome {
            Ok(_) => reply.size(0),
            Err(_) => reply.error(Errno::EIO),
        });
        // If the disk has ended, the reply is an error.
        let _ = self.requester.inbox.send(DiskMessage::Nothing(caller));
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let entries = [
            (INodeNo::ROOT, FileType::Directory, "."),
            (INodeNo::ROOT, FileType::Directory, ".."),
            (INODE, FileType::RegularFile, FILE),
        ];
        for (index, (inode, kind, name)) in entries.into_iter().enumerate().skip(offset as usize) {
            if reply.add(inode, index as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;
    use std::sync::mpsc::channel;

    use fuser::{Session, SessionACL};

    use super::*;
    use crate::live::{Messages, create_inbox};

    /// The kernel's requests by number; these, and where what lies in a reply: `include/uapi/linux/fuse.h`.
    const LOOKUP: u32 = 1;
    const GETATTR: u32 = 3;
    const OPEN: u32 = 14;
    const GETXATTR: u32 = 22;
    const INIT: u32 = 26;
    const DESTROY: u32 = 38;

    /// The kernel's side of a folder that is mounted nowhere.
    struct Kernel {
        wire: UnixDatagram,
        session: BackgroundSession,
    }

    /// What a kernel offers at its INIT: FUSE_ASYNC_READ, FUSE_ASYNC_DIO, FUSE_WRITEBACK_CACHE, FUSE_HANDLE_KILLPRIV_V2.
    const OFFER: u32 = 1 | 1 << 15 | 1 << 16 | 1 << 28;

    fn mounted() -> (Kernel, Messages) {
        let (kernel, disk, _) = mounted_with(FileCaching::Direct);
        (kernel, disk)
    }

    /// A folder of somebody's with a disk of 1 MiB, the disk's side, and the capabilities that were agreed upon.
    fn mounted_with(caching: FileCaching) -> (Kernel, Messages, u32) {
        let (wire, theirs) = UnixDatagram::pair().unwrap();
        // A reply that does not come is a failure, and no wait for good.
        wire.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let (inbox, disk) = create_inbox().unwrap();
        let requester = FuseRequester { inbox, bytes: 1 << 20, sector: 512 };
        let folder = FuseDisk { requester, max_background: 12, caching, owner: FolderOwner { user: 1000, group: 100 } };
        let version = [7, 40, 0, OFFER].map(u32::to_ne_bytes).concat();
        let version = [&version[..], &[0; 48]].concat();
        wire.send(&request(INIT, INodeNo(0), &version)).unwrap();
        let session = Session::from_fd(folder, theirs.into(), SessionACL::All, Config::default()).unwrap();
        let kernel = Kernel { wire, session: session.spawn().unwrap() };
        let agreed = number_at(&kernel.hear().unwrap(), 12);
        (kernel, disk, agreed)
    }

    /// Length, number, what the reply repeats, the inode, user, group and process; then the request's own part.
    fn request(number: u32, inode: INodeNo, own: &[u8]) -> Vec<u8> {
        let length = 40 + own.len() as u32;
        let head = [length.to_ne_bytes(), number.to_ne_bytes()].concat();
        let named = [1u64.to_ne_bytes(), inode.0.to_ne_bytes()].concat();
        [&head[..], &named, &[0; 16], own].concat()
    }

    fn number_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn long_at(bytes: &[u8], at: usize) -> u64 {
        u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
    }

    impl Kernel {
        fn ask(&self, number: u32, inode: INodeNo, own: &[u8]) -> Result<Vec<u8>, i32> {
            self.wire.send(&request(number, inode, own)).unwrap();
            self.hear()
        }

        /// The next reply behind its head, or its error.
        fn hear(&self) -> Result<Vec<u8>, i32> {
            let mut reply = [0; 512];
            let bytes = self.wire.recv(&mut reply).unwrap();
            assert_eq!(number_at(&reply, 0) as usize, bytes);
            match number_at(&reply, 4) as i32 {
                0 => Ok(reply[16..bytes].to_vec()),
                error => Err(-error),
            }
        }

        fn unmount(self) {
            assert_eq!(self.ask(DESTROY, INodeNo(0), &[]), Ok(Vec::new()));
            self.session.join().unwrap();
        }
    }

    #[test]
    fn a_folder_holds_one_file_that_is_as_long_as_the_disk() {
        let (kernel, _disk) = mounted();
        // Inode, bytes, blocks of 512 bytes; mode and links.
        for (numbers, mode, links) in [([1, 0, 0], 0o040_700, 2), ([2, 1 << 20, 2048], 0o100_600, 1)] {
            let reply = kernel.ask(GETATTR, INodeNo(numbers[0]), &[0; 16]).unwrap();
            let of = &reply[16..];
            assert_eq!([0, 8, 16].map(|at| long_at(of, at)), numbers);
            assert_eq!([60, 64, 68, 72].map(|at| number_at(of, at)), [mode, links, 1000, 100]);
        }
        let found = kernel.ask(LOOKUP, INodeNo::ROOT, b"disk.img\0").unwrap();
        assert_eq!([0, 40, 48].map(|at| long_at(&found, at)), [2, 2, 1 << 20]);
        for (folder, name) in [(INodeNo::ROOT, "disk"), (INodeNo::ROOT, "disk.img2"), (INODE, "disk.img")] {
            // ENOENT.
            assert_eq!(kernel.ask(LOOKUP, folder, format!("{name}\0").as_bytes()), Err(2), "{name}");
        }
        kernel.unmount();
    }

    /// Requests that reach the disk are dropped there, which answers them with an error.
    #[test]
    fn the_disk_is_asked_for_whole_sectors_within_it_and_nothing_else() {
        use NbdCommand::{Flush, Read, Write, WriteZeroes};
        let (inbox, disk) = create_inbox().unwrap();
        let bytes = 1 << 33;
        let requester = FuseRequester { inbox, bytes, sector: 512 };
        for ((command, offset, length), refused) in [
            ((Read, 0, 512), None),
            ((Write, bytes - 1024, 1024), None),
            ((WriteZeroes, 0, (1 << 32) - 512), None),
            ((Flush, 0, 0), None),
            ((Read, 0, 0), Some(Errno::EINVAL)),
            ((Read, 1, 512), Some(Errno::EINVAL)),
            ((Write, 0, 511), Some(Errno::EINVAL)),
            ((WriteZeroes, 0, 1 << 32), Some(Errno::EINVAL)),
            ((Write, bytes - 512, 1024), Some(Errno::ENOSPC)),
            ((Write, u64::MAX - 511, 512), Some(Errno::ENOSPC)),
        ] {
            let (tells, hears) = channel();
            requester.send_command(command, offset, length, move |outcome| tells.send(outcome).unwrap());
            let asked = match disk.try_receive() {
                Some(DiskMessage::Request(DiskRequest { head, .. })) => {
                    Some((head.command, head.offset, u64::from(head.length)))
                }
                _ => None,
            };
            assert_eq!(asked, refused.is_none().then_some((command, offset, length)));
            assert_eq!(hears.recv().unwrap(), Err(refused.unwrap_or(Errno::EIO)), "{command:?} {offset} {length}");
        }
    }

    /// With pages and without the last, each write of a few bytes would be a round trip more.
    #[test]
    fn the_kernel_keeps_pages_only_where_they_are_wanted_and_asks_for_no_rights_at_each_write() {
        for (caching, expected) in [(FileCaching::Direct, 1 << 15), (FileCaching::PageCache, 1 << 16 | 1 << 28)] {
            let (kernel, _disk, agreed) = mounted_with(caching);
            assert_eq!(agreed & !1, expected, "{caching:?}");
            kernel.unmount();
        }
    }

    /// Else the kernel would answer from pages of its own, and hand over writes one after another.
    #[test]
    fn an_opened_file_has_no_pages_in_the_kernel_and_is_written_side_by_side() {
        let (kernel, _disk) = mounted();
        let opened = kernel.ask(OPEN, INODE, &[0; 8]).unwrap();
        // FOPEN_DIRECT_IO and FOPEN_PARALLEL_DIRECT_WRITES.
        assert_eq!(number_at(&opened, 8), 1 | 1 << 6);
        kernel.unmount();
    }

    #[test]
    fn one_attribute_is_the_way_to_the_disk_and_there_is_no_other() {
        let (kernel, disk) = mounted();
        let named = |name: &str| [&[0u8; 8][..], name.as_bytes(), &[0]].concat();
        for (inode, name) in
            [(INODE, "security.capability"), (INodeNo::ROOT, PROBE_ATTRIBUTE), (INodeNo::ROOT, "user.other")]
        {
            // ENODATA.
            assert_eq!(kernel.ask(GETXATTR, inode, &named(name)), Err(61), "{name}");
            assert!(disk.try_receive().is_none(), "{name} is nothing to the disk");
        }
        // EIO.
        for (outcome, heard) in [(Ok(Vec::new()), Ok(vec![0; 8])), (Err(error::IO), Err(5))] {
            kernel.wire.send(&request(GETXATTR, INODE, &named(PROBE_ATTRIBUTE))).unwrap();
            let caller = loop {
                match disk.try_receive() {
                    Some(DiskMessage::Nothing(caller)) => break caller,
                    Some(other) => panic!("{other:?}"),
                    None => std::thread::yield_now(),
                }
            };
            caller.answer(outcome);
            assert_eq!(kernel.hear(), heard);
        }
        drop(disk);
        assert_eq!(kernel.ask(GETXATTR, INODE, &named(PROBE_ATTRIBUTE)), Err(5), "the disk has ended");
        kernel.unmount();
    }
}
