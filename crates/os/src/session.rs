//! A program at work on a modelled disk, from its first request to its last: the disk is served, a file system mounted on it if
//! one is wanted, the program run, and all events kept with their data. No power fails here: the [`History`] shows afterwards what cuts
//! would leave.
//!
//! Each line that the program prints is a promise that it was given. The line stands in the history at the instant at which it was
//! read, which is never before the instant at which it was printed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;

use crate::bytes::Bytes;
use crate::chronicle::Chronicle;
use crate::kernel::pages::{self, FilePages};
use crate::kernel::{ExitCause, FileSystemKind, GroupParent, LoopDevice, ProgramBounds, ShellProgram, unmount_lazily};
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
        let doors = ServerSockets::open(Some(&ListenAddress::Unix(socket.clone())), None)?;
        let chronicle = Chronicle::default();
        let (tells, hears) = channel();
        let (exported, written) = (export.clone(), chronicle.clone());
        let (stack, seed, speed) = (self.stack.clone(), self.seed, self.speed);
        let running = thread::spawn(move || {
            let lost = stack.array().map_or(0, |array| array.lost);
            let disk =
                LiveDisk::new(stack.build(seed), bytes, speed, None).without_drives(lost).with_chronicle(written);
            serve_disk(disk, export, doors, |inbox| drop(tells.send(inbox)))
        });
        let ended = || running.join().unwrap_or_else(|_| Err(io::Error::other("the disk's thread panicked")));
        let Ok(inbox) = hears.recv() else { return ended().and(Err(io::Error::other("the disk did not begin"))) };
        let done = self.run_with_mounts(&exported, &inbox, &ListenAddress::Unix(socket).client_uri());
        let _ = inbox.send(DiskMessage::Stop);
        let receipt = ended()?;
        Ok(SessionRecord { pages: done?, history: chronicle.take_history(), receipt })
    }

    /// Mounts what the program needs, and runs it.
    fn run_with_mounts(&self, export: &Export, inbox: &Inbox, uri: &str) -> io::Result<FilePages> {
        let mut environment = self.set.to_vec();
        environment.push(("SEEKWISE_URI".to_owned(), uri.to_owned()));
        let Some((base, system)) = self.base else {
            return self.run_program(environment, inbox).map(|()| FilePages::default());
        };
        let place = |name: &str| {
            let path = self.folder.join(name);
            create_like_parent(&path).map(|()| path)
        };
        let (disk, mount) = (place("disk")?, place("mount")?);
        let folder = FuseFolder::mount(&disk, export, MemoryRoom::default().max_callers(), inbox.clone())?;
        let done = self.run_mounted(base, system, [&disk.join(FILE), &mount], &mut environment, inbox);
        let unmounted = folder.unmount().map_err(|error| {
            unmount_lazily(&disk);
            io::Error::new(error.kind(), format!("umount {}: {error}", disk.display()))
        });
        done.and_then(|pages| unmounted.map(|()| pages))
    }

    fn run_mounted(
        &self,
        base: &Path,
        system: &FileSystemKind,
        [file, mount]: [&PathBuf; 2],
        environment: &mut Vec<(String, String)>,
        inbox: &Inbox,
    ) -> io::Result<FilePages> {
        let attached = LoopDevice::attach(file, std::fs::metadata(base)?.len(), self.bounds)?;
        let mounted = system.mount(attached.path(), mount, self.bounds)?;
        let began = pages::file_time_now(&self.folder.join("began"))?;
        for (name, path) in [("SEEKWISE_MOUNT", &**mount), ("SEEKWISE_DEVICE", attached.path())] {
            environment.push((name.to_owned(), path.display().to_string()));
        }
        let done = self.run_program(environment.clone(), inbox);
        let pages =
            done.as_ref().map_or_else(|_| FilePages::default(), |()| FilePages::read(mount, began, self.bounds.stop));
        let unmounted = mounted.unmount();
        done.and(unmounted).map(|()| pages)
    }

    fn run_program(&self, environment: Vec<(String, String)>, inbox: &Inbox) -> io::Result<()> {
        let mark = {
            let inbox = inbox.clone();
            move |mark| {
                let (answer, answered) = channel();
                let _ = inbox.send(DiskMessage::Order(DiskOrder::Mark(mark), answer));
                // The disk has recorded it: no later event comes before it.
                let _ = answered.recv();
            }
        };
        let program = ShellProgram { command: self.workload, environment, groups: self.groups, bounds: self.bounds };
        mark(HistoryMark::Begin);
        let said = mark.clone();
        let how = program.run_with_lines(move |line| said(HistoryMark::Said(line.to_owned())));
        let how = how.map_err(|error| io::Error::new(error.kind(), format!("the workload: {error}")))?;
        mark(HistoryMark::End);
        match how {
            how if how.is_success() => Ok(()),
            ExitCause::Stopped => Err(io::Error::other("stopped")),
            how => Err(io::Error::other(format!("the workload {how}"))),
        }
    }
}
