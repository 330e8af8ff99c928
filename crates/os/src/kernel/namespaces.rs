//! Runs this program again in namespaces of its own (namespaces(7)): of mounts, so that nobody else sees what it mounts, and of
//! processes, so that everything that it starts ends with it, also when it is killed. A user who may not mount gets a
//! namespace of users too, and may mount there.
//!
//! util-linux's `unshare` makes the namespaces. A command that runs there is started by a thread that has given up its
//! rights. Nothing of this stays in the system: the kernel removes mounts and processes with the namespaces.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, getegid, geteuid, kill_process};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::{ProgramBounds, process, run_tool_for_output, sleep_10_ms};

/// Names the lifeline to the program within the namespaces.
const LIFELINE: &str = "SEEKWISE_LIFELINE";

/// Variables of a run, which name its disk. Within another run they would name the outer one's.
const SESSION_VARIABLES: [&str; 6] =
    [LIFELINE, "SEEKWISE_MOUNT", "SEEKWISE_FILE", "SEEKWISE_URI", "SEEKWISE_CONTROL", "SEEKWISE_DEVICE"];

/// Exit code of a program whose lifeline broke: 128 and the number of SIGKILL.
const KILLED: i32 = 137;

/// Folders on which the private file system is mounted: the first one that is empty. The mount hides nothing, and nobody
/// else sees it.
const MOUNT_POINTS: [&str; 8] =
    ["/mnt", "/media", "/srv", "/opt", "/var/local", "/var/opt", "/usr/local/src", "/usr/local/games"];

/// The right to mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountRight {
    /// `CAP_SYS_ADMIN`: all file systems of the kernel.
    System,
    /// Only in a namespace of users of our own: file systems that run as programs.
    OwnUsers,
}

impl MountRight {
    /// The right of this process.
    pub fn of_process() -> MountRight {
        /// Number of `CAP_SYS_ADMIN` (linux/capability.h).
        const SYS_ADMIN: u32 = 21;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
        // The capability counts for the kernel's file systems only in the first namespace of users, which maps all
        // numbers to themselves (user_namespaces(7)).
        let users = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let is_first = users.split_whitespace().eq(["0", "0", "4294967295"]);
        if mask >> SYS_ADMIN & 1 == 1 && is_first { MountRight::System } else { MountRight::OwnUsers }
    }
}

/// The program outside, as the program within the namespaces knows it: a socket without a file, open until the process
/// ends, however it ends.
#[derive(Debug)]
pub struct Lifeline {
    _listener: UnixListener,
    name: String,
}

impl Lifeline {
    /// Opens the socket.
    pub fn open() -> io::Result<Lifeline> {
        let name = format!("seekwise-exec-{}", process::own_number_and_start());
        let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        Ok(Lifeline { _listener: listener, name })
    }

    /// The command that runs `program` with these arguments in new namespaces. There it is the first process; the others end with it,
    /// and it ends with this process if it calls [`follow_lifeline`].
    pub fn command_in_namespaces(&self, program: &Path, arguments: &[OsString], right: MountRight) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]);
        if right == MountRight::OwnUsers {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            command.args(["--user", "--keep-caps"]);
            command.args([format!("--map-user={user}"), format!("--map-group={group}")]);
        }
        command.arg("--").arg(program).args(arguments).env(LIFELINE, &self.name);
        command
    }
}

/// True in the first process of namespaces that [`Lifeline::command_in_namespaces`] made.
pub fn is_in_namespaces() -> bool {
    std::process::id() == 1 && std::env::var_os(LIFELINE).is_some()
}

/// Ends this process when the one outside has ended. An error if it has ended already.
pub fn follow_lifeline() -> io::Result<()> {
    let name = std::env::var(LIFELINE).map_err(io::Error::other)?;
    let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?)?;
    thread::spawn(move || {
        // Nobody writes: the read ends with the process outside.
        while stream.read(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        std::process::exit(KILLED)
    });
    Ok(())
}

/// Sends a signal to the first process of the namespaces that process `unshare` made; false if there is none.
pub fn signal_first_process(unshare: u32, signal: i32) -> bool {
    let first = process::living_processes().into_iter().find(|process| process.parent == unshare as i32);
    let first = first.and_then(|process| Pid::from_raw(process.number));
    first.zip(Signal::from_named_raw(signal)).is_some_and(|(process, signal)| kill_process(process, signal).is_ok())
}

/// Mounts an empty file system in memory on `folder`, or on the first empty one of the system's folders. To be called
/// within the namespaces; it goes with them.
pub fn mount_private_folder(folder: Option<&Path>, bounds: ProgramBounds<'_>) -> io::Result<PathBuf> {
    let is_empty = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
    let folder = match folder {
        Some(folder) if is_empty(folder) => fs::canonicalize(folder)?,
        Some(folder) => {
            return Err(io::Error::other(format!("{}: expected an empty folder", folder.display())));
        }
        None => MOUNT_POINTS.map(PathBuf::from).into_iter().find(|folder| is_empty(folder)).ok_or_else(|| {
            io::Error::other(format!("none of {} is an empty folder; expected --at DIR", MOUNT_POINTS.join(", ")))
        })?,
    };
    let words = ["-t", "tmpfs", "-o", "mode=0755,nosuid,nodev", "seekwise"].map(OsStr::new);
    run_tool_for_output("mount", words.into_iter().chain([folder.as_os_str()]), bounds)?;
    Ok(folder)
}

/// The command of these words, without the variables of an outer run.
pub fn command_without_session(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    for name in SESSION_VARIABLES {
        command.env_remove(name);
    }
    command
}

/// Calls `start` on a thread whose programs do not get the rights that this process has in its own namespaces. Nothing
/// changes for a process with the system's rights.
pub fn start_without_rights<T: Send>(right: MountRight, start: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    if right == MountRight::System {
        return start();
    }
    let start_on_thread = || {
        // A program of a user who is not root gets the ambient capabilities of the thread that starts it, which cannot be more
        // than the inheritable ones (capabilities(7)).
        let sets = capabilities(None)?;
        set_capabilities(None, CapabilitySets { inheritable: CapabilitySet::empty(), ..sets })?;
        start()
    };
    thread::scope(|scope| scope.spawn(start_on_thread).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Longest wait for processes to end after they were killed, in steps of ten milliseconds: five seconds.
const KILL_STEPS: usize = 500;

/// Kills all processes of the namespace but the first one and those in `spared`. To be called within the namespaces.
pub fn kill_other_processes(spared: &[u32]) {
    let others = || {
        let is_other = |number: &i32| *number != 1 && !spared.contains(&(*number as u32));
        process::living_processes().into_iter().map(|process| process.number).filter(is_other).collect::<Vec<_>>()
    };
    if std::process::id() != 1 {
        return;
    }
    for _ in 0..KILL_STEPS {
        let numbers = others();
        if numbers.is_empty() {
            return;
        }
        for process in numbers.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(process, Signal::KILL);
        }
        sleep_10_ms();
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::{capability_is_in_ambient_set, configure_capability_in_ambient_set};

    use super::*;

    /// The name is the process's, so one test has them all.
    #[test]
    fn a_lifeline_is_there_as_long_as_its_process_has_it() {
        let lifeline = Lifeline::open().unwrap();
        let connect = |name: &str| UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap());
        let mut stream = connect(&lifeline.name).unwrap();
        assert!(Lifeline::open().is_err(), "a name is taken once");
        let name = lifeline.name.clone();
        drop(lifeline);
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)), "nobody is there any more");
        assert!(connect(&name).is_err());
        let lifeline = Lifeline::open().unwrap();
        let words = |right| {
            let command = lifeline.command_in_namespaces(Path::new("/bin/true"), &["exec".into()], right);
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        let has_users = |right| words(right).iter().any(|word| word == "--user");
        assert_eq!([MountRight::System, MountRight::OwnUsers].map(has_users), [false, true]);
    }

    /// Only root can raise a right that programs inherit; others have none to give up.
    #[test]
    fn only_rights_of_our_own_namespaces_are_given_up() {
        let kill = CapabilitySet::KILL;
        let sets = capabilities(None).unwrap();
        let has_right = sets.permitted.contains(kill)
            && set_capabilities(None, CapabilitySets { inheritable: kill, ..sets }).is_ok()
            && configure_capability_in_ambient_set(kill, true).is_ok();
        let started = |right| {
            start_without_rights(right, || Ok((capabilities(None)?.inheritable, capability_is_in_ambient_set(kill)?)))
        };
        let kept = if has_right { kill } else { sets.inheritable };
        assert_eq!(started(MountRight::System).unwrap(), (kept, has_right));
        assert_eq!(started(MountRight::OwnUsers).unwrap(), (CapabilitySet::empty(), false));
    }

    #[test]
    fn a_folder_with_files_is_not_hidden() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "mine").unwrap();
        let why = mount_private_folder(Some(folder.path()), ProgramBounds::thirty_seconds()).unwrap_err();
        assert!(why.to_string().ends_with("expected an empty folder"), "{why}");
    }
}
