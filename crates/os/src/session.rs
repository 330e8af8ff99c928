//! Records the session of a program on a modelled disk. The disk is served, a file system mounted on it if one is
//! wanted, and the program run; all events are kept with their data. No power fails here: the [`History`] shows
//! afterwards what cuts would leave.
//!
//! Each line that the program prints is a promise: whatever it names is to survive a power cut. The line stands in the
//! history at the instant at which it was read, which is never before the instant at which it was printed.
//!
//! The recovery from what a cut left is a session too: the mount, which replays the file system's journal, a program that opens its data,
//! and the unmount. Its lines promise nothing, but stand in the history all the same.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;

use crate::bytes::Bytes;
use crate::chronicle::Chronicle;
use crate::kernel::pages::{ChangeTime, FilePages};
use crate::kernel::{
    ExitCause, FileSystemKind, GroupParent, LoopDevice, MountedFileSystem, ProgramBounds, ShellProgram, unmount_lazily,
    unmount_when_free,
};
pub use crate::layer_tap::SentRequests;
use crate::layer_tap::run_behind_layer;
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
    /// The content with which the disk begins; `None` for an empty disk.
    pub base: Option<&'a Path>,
    /// The file system in this content.
    pub file_system: Option<&'a FileSystemKind>,
    /// A command that serves the bare disk to the program: an NBD proxy, whose flushes are counted on both sides.
    pub layer: Option<&'a str>,
    /// The program, for a shell; empty if a recovery is a mount alone.
    pub command: &'a str,
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
    pub history: Arc<History>,
    /// How well the clock kept up.
    pub receipt: Receipt,
    /// Contents of the files that the program changed, when it had ended.
    pub pages: FilePages,
    /// The requests that the program sent to the layer before the disk, if there is one.
    pub sent: Option<SentRequests>,
}

/// Record of a recovery.
#[derive(Debug)]
pub struct RecoveryRecord {
    /// All events.
    pub history: History,
    /// Why the recovery failed: the mount, or the program.
    pub failure: Option<String>,
}

/// A disk that is served.
struct ServedDisk {
    export: Export,
    inbox: Inbox,
    uri: String,
}

impl ServedDisk {
    /// Records a mark. When this returns, no later event comes before it.
    fn mark(&self, mark: HistoryMark) {
        send_mark(&self.inbox, mark);
    }
}

fn send_mark(inbox: &Inbox, mark: HistoryMark) {
    let (answer, answered) = channel();
    let _ = inbox.send(DiskMessage::Order(DiskOrder::Mark(mark), answer));
    let _ = answered.recv();
}

impl ProgramSession<'_> {
    /// Runs the program and records it. Errors are those of the system, and of a program that failed.
    pub fn record(&self) -> io::Result<SessionRecord> {
        let ((pages, sent), history, receipt) = self.serve_during(|disk| match self.file_system {
            None => self.run_on_bare_disk(disk).map(|sent| (FilePages::default(), sent)),
            Some(file_system) => {
                let run = |file: &Path| self.run_mounted_workload(file_system, file, disk);
                self.with_served_file(disk, run).map(|pages| (pages, None))
            }
        })?;
        Ok(SessionRecord { pages, sent, history: Arc::new(history), receipt })
    }

    /// Recovers from the content with which the disk begins, and records it: mounts the file system, runs the program, which opens its data
    /// and closes them, and unmounts. Errors are those of the system; a recovery that fails is a record too.
    pub fn record_recovery(&self) -> io::Result<RecoveryRecord> {
        let (failure, history, _) = self.serve_during(|disk| match self.file_system {
            None => {
                disk.mark(HistoryMark::Begin);
                let failure = self.run_recovery(self.environment(disk), disk)?;
                disk.mark(HistoryMark::End);
                Ok(failure)
            }
            Some(file_system) => self.with_served_file(disk, |file| self.run_mounted_recovery(file_system, file, disk)),
        })?;
        Ok(RecoveryRecord { history, failure })
    }

    /// Serves the disk while `work` runs.
    fn serve_during<T>(&self, work: impl FnOnce(&ServedDisk) -> io::Result<T>) -> io::Result<(T, History, Receipt)> {
        let limits = self.stack.build(self.seed).limits(0);
        let export = Export::new(&limits, self.stack.profile.name.clone());
        let bytes = match self.base {
            Some(base) => Bytes::default().with_base(File::open(base)?)?,
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
        let disk = ServedDisk { export: client_export, inbox, uri: ListenAddress::Unix(socket).client_uri() };
        let done = work(&disk);
        let _ = disk.inbox.send(DiskMessage::Stop);
        let receipt = join_disk()?;
        Ok((done?, chronicle.take_history(), receipt))
    }

    /// The program's environment on a bare disk.
    fn environment(&self, disk: &ServedDisk) -> Vec<(String, String)> {
        let mut environment = self.set.to_vec();
        environment.push(("SEEKWISE_URI".to_owned(), disk.uri.clone()));
        environment
    }

    fn create_folder(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.folder.join(name);
        create_like_parent(&path).map(|()| path)
    }

    /// Mounts the disk as a file while `work` runs with it.
    fn with_served_file<T>(&self, served: &ServedDisk, work: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let disk = self.create_folder("disk")?;
        let inbox = served.inbox.clone();
        let fuse_folder = FuseFolder::mount(&disk, &served.export, MemoryRoom::default().max_callers(), inbox)?;
        let done = work(&disk.join(FILE));
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
        done.and_then(|done| unmounted.map(|()| done))
    }

    /// Runs the program on the bare disk, behind the layer if there is one.
    fn run_on_bare_disk(&self, served: &ServedDisk) -> io::Result<Option<SentRequests>> {
        let mut environment = self.environment(served);
        let Some(command) = self.layer else { return self.run_workload(environment, served).map(|()| None) };
        let layer =
            ShellProgram { command, environment: environment.clone(), groups: self.groups, bounds: self.bounds };
        let ran = run_behind_layer(layer, self.folder, |tap| {
            environment.retain(|(name, _)| name != "SEEKWISE_URI");
            environment.push(("SEEKWISE_URI".to_owned(), ListenAddress::Unix(tap.to_owned()).client_uri()));
            self.run_workload(environment, served)
        });
        ran.map(|((), sent)| Some(sent))
    }

    /// Mounts the file system of the served disk, a file that is `base` in its content, and runs the program there.
    fn run_mounted_workload(
        &self,
        file_system: &FileSystemKind,
        served_file: &Path,
        disk: &ServedDisk,
    ) -> io::Result<FilePages> {
        let mount_point = self.create_folder("mount")?;
        let (attached, mounted) = self.attach_and_mount(file_system, served_file, &mount_point)?;
        let mounted = mounted?;
        let began = ChangeTime::now_by_new_file(&self.folder.join("began"))?;
        let ran = self.run_workload(self.mounted_environment(disk, &mount_point, attached.path()), disk);
        let read = || FilePages::read_changed(&mount_point, began, self.bounds.stop);
        let pages = if ran.is_ok() { read() } else { FilePages::default() };
        let unmounted = mounted.unmount();
        ran.and(unmounted).map(|()| pages)
    }

    /// Attaches a loop device to the served disk and mounts it; the inner error is that of the mount.
    fn attach_and_mount<'a>(
        &self,
        file_system: &'a FileSystemKind,
        served_file: &Path,
        mount_point: &Path,
    ) -> io::Result<(LoopDevice, io::Result<MountedFileSystem<'a>>)> {
        let bytes = self.base.map_or(Ok(0), |base| std::fs::metadata(base).map(|metadata| metadata.len()))?;
        let attach = || LoopDevice::attach(served_file, bytes, self.bounds);
        let mut attached = attach()?;
        let mut mounted = file_system.mount(attached.path(), mount_point, self.bounds);
        if mounted.is_err() && !attached.is_attached() {
            // Another process detached the device between the two.
            attached = attach()?;
            mounted = file_system.mount(attached.path(), mount_point, self.bounds);
        }
        Ok((attached, mounted))
    }

    /// The program's environment with a mounted file system.
    fn mounted_environment(&self, disk: &ServedDisk, mount_point: &Path, device: &Path) -> Vec<(String, String)> {
        let mut environment = self.environment(disk);
        for (name, path) in [("SEEKWISE_MOUNT", mount_point), ("SEEKWISE_DEVICE", device)] {
            environment.push((name.to_owned(), path.display().to_string()));
        }
        environment
    }

    fn run_workload(&self, environment: Vec<(String, String)>, disk: &ServedDisk) -> io::Result<()> {
        let program = ShellProgram { command: self.command, environment, groups: self.groups, bounds: self.bounds };
        disk.mark(HistoryMark::Begin);
        let inbox = disk.inbox.clone();
        let how = program.run_reading_lines(Stdio::inherit(), move |line| {
            send_mark(&inbox, HistoryMark::Said(line.to_owned()));
        });
        let how = how.map_err(|error| io::Error::new(error.kind(), format!("the workload: {error}")))?;
        disk.mark(HistoryMark::End);
        match how {
            how if how.is_success() => Ok(()),
            ExitCause::Stopped => Err(io::Error::other("stopped")),
            how => Err(io::Error::other(format!("the workload {how}"))),
        }
    }

    /// Mounts, runs the program and unmounts; returns why the recovery failed, if it did.
    fn run_mounted_recovery(
        &self,
        file_system: &FileSystemKind,
        served_file: &Path,
        disk: &ServedDisk,
    ) -> io::Result<Option<String>> {
        let mount_point = self.create_folder("mount")?;
        disk.mark(HistoryMark::Begin);
        let (attached, mounted) = self.attach_and_mount(file_system, served_file, &mount_point)?;
        let mounted = match mounted {
            Ok(mounted) => mounted,
            Err(error) if self.is_stopped() || !attached.is_attached() => return Err(error),
            Err(error) => return Ok(Some(error.to_string().replace(&format!("{}: ", mount_point.display()), ""))),
        };
        let failure = self.run_recovery(self.mounted_environment(disk, &mount_point, attached.path()), disk);
        mounted.unmount()?;
        let failure = failure?;
        // The unmount belongs to the recovery.
        disk.mark(HistoryMark::End);
        Ok(failure)
    }

    fn is_stopped(&self) -> bool {
        self.bounds.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Runs the program that recovers, if there is one; returns why it failed.
    fn run_recovery(&self, mut environment: Vec<(String, String)>, disk: &ServedDisk) -> io::Result<Option<String>> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let scratch = self.create_folder("scratch")?;
        environment.push(("SEEKWISE_SCRATCH".to_owned(), scratch.display().to_string()));
        // Its errors are lines like others: the last line says why it failed.
        let command = format!("exec 2>&1\n{}", self.command);
        let program = ShellProgram { command: &command, environment, groups: self.groups, bounds: self.bounds };
        let (inbox, last_line) = (disk.inbox.clone(), Arc::new(Mutex::new(String::new())));
        let kept_line = Arc::clone(&last_line);
        let how = program.run_reading_lines(Stdio::null(), move |line| {
            send_mark(&inbox, HistoryMark::Said(line.to_owned()));
            if !line.trim().is_empty() {
                line.trim().clone_into(&mut kept_line.lock().unwrap_or_else(PoisonError::into_inner));
            }
        });
        let how = how.map_err(|error| io::Error::new(error.kind(), format!("the recovery: {error}")))?;
        let words = std::mem::take(&mut *last_line.lock().unwrap_or_else(PoisonError::into_inner));
        match how {
            how if how.is_success() => Ok(None),
            ExitCause::Stopped => Err(io::Error::other("stopped")),
            // Exit codes of a shell: the command could not run, or was not found.
            ExitCause::Exited(code @ (126 | 127)) => {
                Err(io::Error::other(format!("the recovery could not run (exit code {code}): {words}")))
            }
            how if words.is_empty() => Ok(Some(how.to_string())),
            how => Ok(Some(format!("{how}: {words}"))),
        }
    }
}
