//! Records the session of a program on a modelled disk. The disk is served, a file system mounted on it if one is
//! wanted, and the program run; all events are kept with their data. No power fails here: the [`History`] shows
//! afterwards what cuts would leave.
//!
//! Each line that the program prints is a promise: whatever it names is to survive a power cut. The line stands in the
//! history at the instant at which it was read, which is never before the instant at which it was printed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;

use crate::bytes::Bytes;
use crate::chronicle::Chronicle;
use crate::kernel::pages::{ChangeTime, FilePages};
use crate::kernel::{
    ExitCause, FileSystemKind, GroupParent, LoopDevice, ProgramBounds, ShellProgram, unmount_lazily, unmount_when_free,
};
use crate::live::{DiskMessage, DiskOrder, Inbox, LiveDisk, MemoryRoom};
use crate::nbd::Export;
use crate::outputs::create_like_parent;
use crate::serve::fuse::FuseFolder;
use crate::serve::{FILE, ListenAddress, ServerSockets, serve_disk};
use seekwise_disk::history::{History, HistoryMark};
use seekwise_run::receipt::Receipt;

/// A program and the disk that it runs on.
#[derive(Clone, Debug)]
pub struct ProgramSession<'a> {
    /// The disk.
    pub stack: &'a Stack,
    /// Seed of the disk's random numbers.
    pub seed: Seed,
    /// The disk's time runs so many times as fast as the clock.
    pub speed: f64,
    /// The base image of the disk, and its file system.
    pub base: Option<(&'a Path, &'a FileSystemKind)>,
    /// The program, for a shell.
    pub workload: &'a str,
    /// Variables of its environment, besides those of the session and of every program.
    pub set: &'a [(String, String)],
    /// The parent of its control group.
    pub groups: &'a GroupParent,
    /// When it is ended early, which is an error.
    pub bounds: ProgramBounds<'a>,
    /// A folder for the disk's sockets and mounts, for this session alone.
    pub folder: &'a Path,
}

/// Record of a session.
#[derive(Debug)]
pub struct SessionRecord {
    /// All events.
    pub history: History,
    /// How well the clock kept up.
    pub receipt: Receipt,
    /// Contents of the files that the program changed, when it had ended.
    pub pages: FilePages,
}

impl ProgramSession<'_> {
    /// Runs the program and records it. Errors are those of the system, and of a program that failed.
    pub fn record(&self) -> io::Result<SessionRecord> {
        let limits = self.stack.build(self.seed).limits(0);
        let export = Export::new(&limits, self.stack.profile.name.clone());
        let bytes = match self.base {
            Some((base, _)) => Bytes::default().with_base(File::open(base)?)?,
            None => Bytes::default(),
        };
        let socket = self.folder.join("nbd");
        let sockets = ServerSockets::open(Some(&ListenAddress::Unix(socket.clone())), None)?;
        let chronicle = Chronicle::default();
        let (inbox_sender, inbox_receiver) = channel();
        let (client_export, disk_chronicle) = (export.clone(), chronicle.clone());
        let (stack, seed, speed) = (self.stack.clone(), self.seed, self.speed);
        let running = thread::spawn(move || {
            let lost_drives = stack.array().map_or(0, |array| array.lost);
            let disk = LiveDisk::new(stack.build(seed), bytes, speed, None)
                .without_drives(lost_drives)
                .with_chronicle(disk_chronicle);
            serve_disk(disk, export, sockets, |inbox| drop(inbox_sender.send(inbox)))
        });
        let join_disk = || running.join().unwrap_or_else(|_| Err(io::Error::other("the disk's thread panicked")));
        let Ok(inbox) = inbox_receiver.recv() else {
            return join_disk().and(Err(io::Error::other("the disk did not begin")));
        };
        let recorded = self.run_with_mounts(&client_export, &inbox, &ListenAddress::Unix(socket).client_uri());
        let _ = inbox.send(DiskMessage::Stop);
        let receipt = join_disk()?;
        Ok(SessionRecord { pages: recorded?, history: chronicle.take_history(), receipt })
    }

    /// Mounts the disk and its file system, if there is one, and runs the program.
    fn run_with_mounts(&self, export: &Export, inbox: &Inbox, uri: &str) -> io::Result<FilePages> {
        let mut environment = self.set.to_vec();
        environment.push(("SEEKWISE_URI".to_owned(), uri.to_owned()));
        let Some((base, file_system)) = self.base else {
            return self.run_program(environment, inbox).map(|()| FilePages::default());
        };
        let create_folder = |name: &str| {
            let path = self.folder.join(name);
            create_like_parent(&path).map(|()| path)
        };
        let (disk, mount) = (create_folder("disk")?, create_folder("mount")?);
        let fuse_folder = FuseFolder::mount(&disk, export, MemoryRoom::default().max_callers(), inbox.clone())?;
        let ran = self.run_mounted((base, file_system), &disk.join(FILE), &mount, environment, inbox);
        let unmounted = fuse_folder.unmount().or_else(|error| {
            // The kernel lets go of a loop device's file a moment after the device is free.
            match unmount_when_free(&disk) {
                Ok(()) => Ok(()),
                // The first attempt has ended the mount all the same.
                Err(again) if again.to_string().contains("not mounted") => Ok(()),
                Err(_) => {
                    unmount_lazily(&disk);
                    Err(io::Error::new(error.kind(), format!("umount {}: {error}", disk.display())))
                }
            }
        });
        ran.and_then(|pages| unmounted.map(|()| pages))
    }

    /// Mounts the file system of the served disk, a file that is `base` in its content, and runs the program there.
    fn run_mounted(
        &self,
        (base, file_system): (&Path, &FileSystemKind),
        served_file: &Path,
        mount_point: &Path,
        mut environment: Vec<(String, String)>,
        inbox: &Inbox,
    ) -> io::Result<FilePages> {
        let attach = || LoopDevice::attach(served_file, std::fs::metadata(base)?.len(), self.bounds);
        let mut attached = attach()?;
        let mut mounted = file_system.mount(attached.path(), mount_point, self.bounds);
        if mounted.is_err() && !attached.is_attached() {
            // Another process detached the device between the two.
            attached = attach()?;
            mounted = file_system.mount(attached.path(), mount_point, self.bounds);
        }
        let mounted = mounted?;
        let began = ChangeTime::now_by_new_file(&self.folder.join("began"))?;
        for (name, path) in [("SEEKWISE_MOUNT", mount_point), ("SEEKWISE_DEVICE", attached.path())] {
            environment.push((name.to_owned(), path.display().to_string()));
        }
        let ran = self.run_program(environment, inbox);
        let read = || FilePages::read_changed(mount_point, began, self.bounds.stop);
        let pages = if ran.is_ok() { read() } else { FilePages::default() };
        let unmounted = mounted.unmount();
        ran.and(unmounted).map(|()| pages)
    }

    fn run_program(&self, environment: Vec<(String, String)>, inbox: &Inbox) -> io::Result<()> {
        let mark = {
            let inbox = inbox.clone();
            move |mark| {
                let (answer, answered) = channel();
                let _ = inbox.send(DiskMessage::Order(DiskOrder::Mark(mark), answer));
                // An answer means that the disk has recorded the mark: no later event comes before it.
                let _ = answered.recv();
            }
        };
        let program = ShellProgram { command: self.workload, environment, groups: self.groups, bounds: self.bounds };
        mark(HistoryMark::Begin);
        let mark_line = mark.clone();
        let how = program.run_reading_lines(move |line| mark_line(HistoryMark::Said(line.to_owned())));
        let how = how.map_err(|error| io::Error::new(error.kind(), format!("the workload: {error}")))?;
        mark(HistoryMark::End);
        match how {
            how if how.is_success() => Ok(()),
            ExitCause::Stopped => Err(io::Error::other("stopped")),
            how => Err(io::Error::other(format!("the workload {how}"))),
        }
    }
}
