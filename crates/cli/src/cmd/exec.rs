//! `seekwise exec`: runs a command on the file system of a modelled disk, in namespaces of its own, and says what the command asked
//! of the disk.
//!
//! The program runs twice. Outside, [`run_outside`] starts it again in new namespaces and passes signals and the exit code on. There,
//! [`run_inside`] serves the disk, mounts the file system and runs the command. Everything that it makes ends with the namespaces.

mod receipt;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use seekwise::exec::{
    DiskWait, FileSystemKind, Lifeline, MountRight, PROGRAM, ProcessWatch, ProgramBounds, ProgramFileSystem,
    command_without_session, follow_lifeline, is_in_namespaces, kill_other_processes, mount_private_folder,
    signal_first_process, start_without_rights,
};
use seekwise::outputs;
use seekwise::serve::{
    BesideCommand, Bytes, CLIENTS, Device, DiskMessage, Export, FILE, FuseFolder, Inbox, LatencyRecorder,
    ListenAddress, MemoryRoom, PaceVerdict, Receipt, SECTOR, ServerSockets, measure_path_cost, serve_disk,
};
use seekwise::{Bounds, Files};
use signal_hook::consts::SIGINT;

use self::receipt::CommandReceipt;
use super::crash::plan::parse_file_system;
use super::serve::ServedTarget;
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::interrupt::{self, OUTER_INTERRUPT};
use crate::output::print_to_stderr;

/// Limit of each tool that makes or mounts a file system.
const TOOL_LIMIT: Duration = Duration::from_secs(300);

/// Runs the command.
pub fn run_command(args: &args::ExecArgs, files: &Files, bounds: &Bounds, json: bool) -> CommandResult {
    match is_in_namespaces() {
        true => run_inside(args, files, bounds, json),
        false => run_outside(args),
    }
}

/// Runs this program again in its own namespaces.
fn run_outside(args: &args::ExecArgs) -> CommandResult {
    let right = MountRight::of_process();
    if let Some(path) = &args.receipt {
        outputs::prepare_output(path, args.force)
            .map_err(|error| CommandError::new(format!("--receipt {}: {error}", path.display())))?;
    }
    let words: Vec<_> = std::env::args_os().collect();
    let called = words.first().map(PathBuf::from).filter(|path| path.is_absolute());
    let program = called.map_or_else(std::env::current_exe, Ok).map_err(CommandError::new)?;
    let lifeline = Lifeline::open().map_err(CommandError::new)?;
    let mut probe = lifeline.command_in_namespaces(Path::new("true"), &[], right);
    let possible = probe
        .output()
        .map_err(|error| CommandError::new(format!("unshare: {error}; expected the package util-linux")))?;
    if !possible.status.success() {
        let said = String::from_utf8_lossy(&possible.stderr);
        return Err(namespace_error(said.lines().next().unwrap_or("unshare failed")));
    }
    let mut command = lifeline.command_in_namespaces(&program, &words[1..], right);
    let (ended, end) = channel();
    // A signal waits until there is a process that gets it, which has no handler yet in its first milliseconds.
    let mut signals = interrupt::lock_signals();
    let started = BesideCommand::start(&mut command, move || ended.send(()).unwrap_or_default());
    let started = started.map_err(|error| CommandError::new(format!("unshare: {error}")))?;
    let process = started.process_reader();
    pass_signals_on(&mut signals, move |signal| {
        let signal = if signal == SIGINT { OUTER_INTERRUPT } else { signal };
        process().map(|unshare| signal_first_process(unshare, signal));
    });
    drop(signals);
    let _ = end.recv();
    drop(lifeline);
    Ok(match started.try_exit_code() {
        Some(0) => CommandAnswer::Done,
        code => CommandAnswer::HandedOn(code.unwrap_or(u8::MAX)),
    })
}

/// Passes each signal on by `send`.
fn pass_signals_on(signals: &mut interrupt::SignalState, mut send: impl FnMut(i32) + Send + 'static) {
    signals.set_ending_by_signal(move |signal| {
        send(signal);
        pass_signals_on(&mut interrupt::lock_signals(), send);
    });
}

fn namespace_error(said: &str) -> CommandError {
    CommandError(vec![
        format!("{said}; exec needs namespaces of its own, for mounts and processes"),
        "On Ubuntu 24.04: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0".to_owned(),
        "In Docker: docker run --privileged, or --cap-add SYS_ADMIN --device /dev/fuse --security-opt apparmor=unconfined"
            .to_owned(),
        "Elsewhere: run it as root".to_owned(),
    ])
}

/// The name of no file system: the command gets the bare disk.
const NO_FILE_SYSTEM: &str = "none";

/// Size of a file system without `--size`: more than test suites write, and made in a second.
const USUAL_BYTES: u64 = 4 << 30;

/// File systems have blocks of 4 KiB, a whole number of them.
const PAGE: u64 = 4096;

/// The file system that the command gets.
enum ChosenFileSystem {
    None,
    /// The kernel's.
    Kernel(FileSystemKind),
    /// ext4 by fuse2fs, with mount options.
    Program(FileSystemKind, String),
}

impl ChosenFileSystem {
    fn from_args(args: &args::ExecArgs, right: MountRight) -> Result<ChosenFileSystem, CommandError> {
        match args.fs.split_once(':') {
            None if args.fs == NO_FILE_SYSTEM => return Ok(ChosenFileSystem::None),
            Some((NO_FILE_SYSTEM, _)) => {
                let why = format!("--fs {}: the bare disk has no mount options; expected {NO_FILE_SYSTEM}", args.fs);
                return Err(CommandError::new(why));
            }
            _ => {}
        }
        let kind = parse_file_system(&args.fs, &[NO_FILE_SYSTEM])?;
        if right == MountRight::System && Path::new("/dev/loop-control").exists() {
            return Ok(ChosenFileSystem::Kernel(kind));
        }
        if kind.name() != "ext4" {
            return Err(CommandError::new(format!(
                "--fs {}: only the kernel has it, which takes root and a loop device; expected ext4, or none",
                kind.name()
            )));
        }
        let options = args.fs.split_once(':').map_or("", |(_, options)| options).to_owned();
        Ok(ChosenFileSystem::Program(kind, options))
    }

    /// Its size on a disk of `disk_bytes`, if `size` is that of `--size`.
    fn bytes_on(&self, disk_bytes: u64, size: Option<u64>) -> Result<u64, CommandError> {
        let kind = match (self, size) {
            (ChosenFileSystem::Kernel(kind) | ChosenFileSystem::Program(kind, _), _) => kind,
            (ChosenFileSystem::None, None) => return Ok(disk_bytes),
            (ChosenFileSystem::None, Some(_)) => {
                return Err(CommandError::new("--size: is a file system's; expected no --size with --fs none"));
            }
        };
        let bytes = size.unwrap_or(USUAL_BYTES.min(disk_bytes)) / PAGE * PAGE;
        if bytes > disk_bytes {
            let why = format!("--size: {bytes} bytes; expected at most {disk_bytes}, the size of the disk");
            return Err(CommandError::new(why));
        }
        if bytes < kind.least_bytes() {
            let (name, least) = (kind.name(), kind.least_bytes() >> 20);
            return Err(CommandError::new(format!("--size: {bytes} bytes; {name} needs at least {least}m")));
        }
        Ok(bytes)
    }

    /// Name for the receipt.
    fn describe(&self) -> String {
        match self {
            ChosenFileSystem::None => NO_FILE_SYSTEM.to_owned(),
            ChosenFileSystem::Kernel(kind) => format!("{} of the kernel", kind.name()),
            ChosenFileSystem::Program(..) => format!("ext4 by {PROGRAM}"),
        }
    }
}

/// The private folder and all paths in it.
struct ExecPaths {
    base: PathBuf,
    disk: PathBuf,
    mount: PathBuf,
    socket: PathBuf,
    control: PathBuf,
    log: PathBuf,
}

impl ExecPaths {
    fn create(at: &Path) -> io::Result<ExecPaths> {
        let path = |name: &str| at.join(name);
        let paths = ExecPaths {
            base: path("base.img"),
            disk: path("disk"),
            mount: path("fs"),
            socket: path("nbd"),
            control: path("control"),
            log: path("fuse2fs.log"),
        };
        for folder in [&paths.disk, &paths.mount] {
            outputs::create_like_parent(folder)?;
        }
        Ok(paths)
    }
}

/// Serves the disk and runs the command on it, in the namespaces.
fn run_inside(args: &args::ExecArgs, files: &Files, bounds: &Bounds, json: bool) -> CommandResult {
    follow_lifeline().map_err(|error| CommandError::new(format!("the program outside: {error}")))?;
    let right = MountRight::of_process();
    let system = ChosenFileSystem::from_args(args, right)?;
    let target = ServedTarget::build(&args.target, &args.set, args.seed, files)?;
    let limits = target.device.limits(0);
    let size = system.bytes_on(limits.sectors * SECTOR, args.size)?;
    let tools = ProgramBounds { limit: TOOL_LIMIT, stop: None };
    let at = mount_private_folder(args.at.as_deref(), tools).map_err(CommandError::new)?;
    if let Some(path) =
        args.receipt.as_deref().filter(|path| std::path::absolute(path).is_ok_and(|it| it.starts_with(&at)))
    {
        let (path, at) = (path.display(), at.display());
        return Err(CommandError::new(format!(
            "--receipt {path}: the disk is mounted on {at}; expected another folder"
        )));
    }
    let paths = ExecPaths::create(&at).map_err(CommandError::new)?;
    let content = make_content(&system, &paths.base, size, tools)?;
    let room = MemoryRoom::divide_limit(bounds.memory_bytes(), CLIENTS);
    let room = room.map_err(|why| CommandError::new(format!("--max-memory: {why}")))?;
    let path_cost = measure_path_cost().map_err(CommandError::new)?;
    let address = ListenAddress::Unix(paths.socket.clone());
    let sockets = ServerSockets::open(Some(&address), Some(&paths.control)).map_err(CommandError::new)?;
    let export = Export::new(&limits, target.about.clone());
    let disk = target.into_disk(content, args.speed, None).with_path_cost(path_cost).with_memory_limits(room);
    let latencies = disk.latency_recorder();
    let run =
        CommandRun { args, right, system: &system, paths: &paths, size, room, export: export.clone(), latencies, json };
    let (outcome, served) = thread::scope(|scope| {
        let (send_inbox, inbox) = channel::<Inbox>();
        let running = scope.spawn(move || {
            let inbox = inbox.recv().map_err(|_| CommandError::new("the disk did not begin"))?;
            let outcome = run.run(&inbox);
            let _ = inbox.send(DiskMessage::Stop);
            outcome
        });
        let served = serve_disk(disk, export, sockets, move |inbox| drop(send_inbox.send(inbox)));
        (running.join(), served)
    });
    served.map_err(CommandError::new)?;
    let outcome = match outcome.map_err(|_| CommandError::new("a thread panicked"))?? {
        Ok(outcome) => outcome,
        Err(error) => {
            let (why, code) = explain_unstarted(&args.command[0], &error);
            print_to_stderr(format!("error: {}: {why}", args.command[0].display()));
            return Ok(CommandAnswer::HandedOn(code));
        }
    };
    let receipt = CommandReceipt { args, system: system.describe(), outcome: &outcome };
    let printed = receipt.print(json);
    if let (Err(error), Some(1..)) = (&printed, outcome.exit_code) {
        // The command's own code says more.
        error.0.iter().for_each(|line| print_to_stderr(format!("error: {line}")));
    } else {
        printed?;
    }
    Ok(match outcome.exit_code {
        None => CommandAnswer::Stopped,
        Some(0) if args.strict && matches!(outcome.receipt.pace_verdict(), PaceVerdict::FellBehind(_)) => {
            CommandAnswer::No
        }
        Some(0) => CommandAnswer::Done,
        Some(code) => CommandAnswer::HandedOn(code),
    })
}

/// Makes the file system's image, with which the disk begins.
fn make_content(
    system: &ChosenFileSystem,
    base: &Path,
    size: u64,
    tools: ProgramBounds<'_>,
) -> Result<Bytes, CommandError> {
    let kind = match system {
        ChosenFileSystem::None => return Ok(Bytes::default()),
        ChosenFileSystem::Kernel(kind) | ChosenFileSystem::Program(kind, _) => kind,
    };
    kind.make_image_for_user(base, size, tools).map_err(|error| {
        let package = if error.kind() == io::ErrorKind::NotFound {
            "; expected the package e2fsprogs, xfsprogs or btrfs-progs"
        } else {
            ""
        };
        CommandError::new(format!("{error}{package}"))
    })?;
    File::open(base).and_then(|file| Bytes::default().with_base(file)).map_err(CommandError::new)
}

/// Why a command could not be started, and a shell's exit code for it (POSIX.1-2017, Shell & Utilities, 2.8.2).
fn explain_unstarted(program: &OsStr, error: &io::Error) -> (String, u8) {
    // One folder of PATH that this user may not search hides that the command is in none of them (execvp(3)).
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_in_path = || std::env::split_paths(&path).any(|folder| folder.join(program).exists());
    let is_bare_name = !program.as_encoded_bytes().contains(&b'/');
    match error.kind() {
        io::ErrorKind::NotFound => (error.to_string(), 127),
        io::ErrorKind::PermissionDenied if is_bare_name && !is_in_path() => ("not found in PATH".to_owned(), 127),
        _ => (error.to_string(), 126),
    }
}

/// Result of a command on the disk.
struct CommandOutcome {
    /// `None` if it is unknown.
    exit_code: Option<u8>,
    /// The disk's receipt from the command's start to its end.
    receipt: Receipt,
    /// Seconds of the clock that the command took.
    seconds: f64,
    waits: Vec<DiskWait>,
}

/// A command that is to run on a served disk.
struct CommandRun<'a> {
    args: &'a args::ExecArgs,
    right: MountRight,
    system: &'a ChosenFileSystem,
    paths: &'a ExecPaths,
    size: u64,
    room: MemoryRoom,
    export: Export,
    latencies: LatencyRecorder,
    json: bool,
}

impl CommandRun<'_> {
    /// Mounts the disk, and its file system if there is one, and runs the command. The inner error is that of a command that
    /// could not be started.
    fn run(&self, inbox: &Inbox) -> Result<io::Result<CommandOutcome>, CommandError> {
        let mount_disk = match self.system {
            ChosenFileSystem::Program(..) => FuseFolder::mount_with_page_cache,
            _ => FuseFolder::mount,
        };
        let folder = mount_disk(&self.paths.disk, &self.export, self.room.max_callers(), inbox.clone())
            .map_err(|error| CommandError::new(format!("FUSE: {error}; expected a /dev/fuse that you may open")))?;
        let folder = folder.with_probes(&self.paths.disk, &self.latencies);
        let file = self.paths.disk.join(FILE);
        let tools = ProgramBounds { limit: TOOL_LIMIT, stop: None };
        let outcome = match self.system {
            ChosenFileSystem::None => self.run_command(inbox, None, &[]),
            ChosenFileSystem::Kernel(kind) => {
                let mounted = kind.mount_served(&file, self.size, &self.paths.mount, tools);
                let (mounted, device) = mounted.map_err(CommandError::new)?;
                let outcome = self.run_command(inbox, Some(&device), &[]);
                warn_if_busy(mounted.unmount());
                outcome
            }
            ChosenFileSystem::Program(_, options) => {
                let mounted = ProgramFileSystem::mount(&file, &self.paths.mount, options, &self.paths.log);
                let mounted = mounted.map_err(|error| {
                    let is_missing = error.kind() == io::ErrorKind::NotFound;
                    let package = if is_missing { "; expected the package fuse2fs, or `--fs none`" } else { "" };
                    CommandError::new(format!("{error}{package}"))
                })?;
                let outcome = self.run_command(inbox, None, &[mounted.process()]);
                warn_if_busy(mounted.unmount());
                outcome
            }
        };
        // It ends with the namespace if something still has it open.
        let _ = folder.unmount();
        outcome
    }

    /// Runs the command to its end. `ours` are processes of ours that go on.
    fn run_command(
        &self,
        inbox: &Inbox,
        device: Option<&Path>,
        ours: &[u32],
    ) -> Result<io::Result<CommandOutcome>, CommandError> {
        let mut command = command_without_session(&self.args.command);
        if self.json {
            // Standard output has only the receipt.
            command.stdout(io::stderr());
        }
        command.env("SEEKWISE_FILE", self.paths.disk.join(FILE));
        command.env("SEEKWISE_URI", ListenAddress::Unix(self.paths.socket.clone()).client_uri());
        command.env("SEEKWISE_CONTROL", &self.paths.control);
        if !matches!(self.system, ChosenFileSystem::None) {
            command.env("SEEKWISE_MOUNT", &self.paths.mount).env("TMPDIR", &self.paths.mount);
        }
        if let Some(device) = device {
            command.env("SEEKWISE_DEVICE", device);
        }
        let before = ask_receipt(inbox)?;
        let (send_end, end) = channel();
        let mut signals = interrupt::lock_signals();
        let started = start_without_rights(self.right, || {
            BesideCommand::start(&mut command, move || send_end.send(()).unwrap_or_default())
        });
        let started = match started {
            Ok(started) => started,
            Err(error) => return Ok(Err(error)),
        };
        let send_signal = started.signal_sender();
        let mut is_sent_to_all = false;
        pass_signals_on(&mut signals, move |signal| match signal {
            SIGINT => is_sent_to_all = true,
            // The program outside got one too.
            OUTER_INTERRUPT if std::mem::take(&mut is_sent_to_all) => {}
            OUTER_INTERRUPT => drop(send_signal(SIGINT)),
            signal => drop(send_signal(signal)),
        });
        drop(signals);
        let watch = ProcessWatch::begin(ours.to_vec(), started.process_reader()());
        let _ = end.recv();
        let after = ask_receipt(inbox)?;
        let waits = watch.end();
        kill_other_processes(ours);
        Ok(Ok(CommandOutcome {
            exit_code: started.try_exit_code(),
            seconds: after.seconds - before.seconds,
            receipt: after,
            waits,
        }))
    }
}

/// Says that a file system was still in use; it ends with the namespace.
fn warn_if_busy(unmounted: io::Result<()>) {
    if let Err(error) = unmounted {
        print_to_stderr(format!("warning: {error}"));
    }
}

/// Asks the disk for its receipt; the demand is counted anew from here.
fn ask_receipt(inbox: &Inbox) -> Result<Receipt, CommandError> {
    let (sender, receiver) = channel();
    let ended = || CommandError::new("the disk has ended: its memory may be full (--max-memory)");
    inbox.send(DiskMessage::Report(sender)).map_err(|_| ended())?;
    receiver.recv().map_err(|_| ended())
}
