//! All processes that a program begins, however they try to escape: ended together, and waited for.
//!
//! With control groups of version 2, a program begins in a group of its own, if the kernel lets us make one. It cannot leave by
//! forking, by a new session, or by a dead parent; `cgroup.kill` ends all of it at once, also what forks meanwhile (Linux 5.14,
//! Documentation/admin-guide/cgroup-v2.rst). Elsewhere processes are known by their process group, by their parents, and by a variable of
//! their environment: one that leaves all three is not found. Names of groups and the variable hold their owner, for
//! [`debris`](super::debris).

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{program::shell_command, sleep_10_ms};

/// Environment variable that marks every process of a program.
const MARK: &str = "SEEKWISE_PROGRAM";

/// Checks whether all have ended, 10 ms apart: five seconds. A process that waits for a disk ends when the disk answers.
const ENDING: usize = 500;

/// Checks in a row that must find no marked process before all count as gone: a process that is becoming another program has
/// no environment for a moment.
const LOOKS: u32 = 4;

/// Processes that an error names.
const NAMED: usize = 5;

/// A program's processes.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    mark: String,
    /// Its control group, if there can be one.
    control: Option<PathBuf>,
}

/// The parent of the control groups of programs, below the group of this process, if it can have one; the default is none.
#[derive(Debug, Default)]
pub struct GroupParent(Option<PathBuf>);

impl GroupParent {
    /// Finds where this process may make groups, by making one that a process enters.
    pub fn find() -> GroupParent {
        GroupParent(find_parent())
    }

    /// Path of the parent; the folder exists as long as a group in it does.
    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

fn find_parent() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(2) == Some(&"cgroup2")).then(|| words[1].to_owned())
    })?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let parent = PathBuf::from(format!("{mount}{own}")).join(format!("seekwise-{}", super::process::own_name()));
    // A group that accepts no process is of no use.
    let control = make_group(&parent, &unique_name())?;
    let enters = shell_command(&format!("echo $$ > '{}'", control.join("cgroup.procs").display())).status();
    let fits = control.join("cgroup.kill").exists() && enters.is_ok_and(|status| status.success());
    remove_group(&control);
    fits.then_some(parent)
}

/// Returns a name that no other group has: each state of the standard library's hashers has random keys of its own.
fn unique_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(()))
}

/// Makes a group below `parent`, and `parent`, which another program's end may remove in between.
#[expect(clippy::disallowed_methods, reason = "a folder is a group in the kernel's own file system")]
fn make_group(parent: &Path, name: &str) -> Option<PathBuf> {
    let path = parent.join(name);
    (0..10).find_map(|_| {
        let _ = fs::create_dir(parent);
        fs::create_dir(&path).ok().map(|()| path.clone())
    })
}

/// Removes an empty group, and its parent after the last one.
fn remove_group(control: &Path) {
    let _ = fs::remove_dir(control);
    if let Some(parent) = control.parent() {
        let _ = fs::remove_dir(parent);
    }
}

impl ProcessGroup {
    /// Creates an empty group, with a control group below `parent` if it can have one.
    pub fn new(parent: &GroupParent) -> ProcessGroup {
        let name = unique_name();
        let control = parent.path().and_then(|parent| make_group(parent, &name));
        ProcessGroup { mark: format!("{}-{name}", super::process::own_name()), control }
    }

    /// Environment variable for its first process.
    pub(crate) fn environment_mark(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// The file to which a process writes its number to join.
    pub(crate) fn join_file(&self) -> Option<PathBuf> {
        self.control.as_ref().map(|control| control.join("cgroup.procs"))
    }

    /// Ends all processes and waits until they are gone; `leader` is the first one. An error names those that stay.
    pub(crate) fn end_processes(&self, leader: Pid) -> io::Result<()> {
        if self.control.is_none() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        // The kernel knows the members of a control group; one check of environments is not enough.
        let looks = if self.control.is_some() { 1 } else { LOOKS };
        let mut gone = 0;
        for _ in 0..ENDING {
            gone = if self.kill_remaining() { gone + 1 } else { 0 };
            if gone == looks {
                self.control.iter().for_each(|control| remove_group(control));
                return Ok(());
            }
            sleep_10_ms();
        }
        let left: Vec<String> = self
            .known_processes()
            .iter()
            .take(NAMED)
            .map(|&process| super::process::describe_process(process))
            .collect();
        Err(io::Error::other(format!("could not be ended within 5 s: process {}", left.join(", "))))
    }

    /// Kills the processes that are left; true if there are none.
    fn kill_remaining(&self) -> bool {
        match &self.control {
            Some(control) => kill_members(control),
            None => {
                let left = self.known_processes();
                left.iter().for_each(|&process| kill_one(process));
                left.is_empty()
            }
        }
    }

    /// Processes known to be in it.
    fn known_processes(&self) -> Vec<i32> {
        match &self.control {
            Some(control) => group_members(control),
            None => find_marked(|mark| mark == self.mark),
        }
    }
}

fn kill_one(process: i32) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = kill_process(process, Signal::KILL);
    }
}

fn group_members(control: &Path) -> Vec<i32> {
    let text = fs::read_to_string(control.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills the processes left in a control group and below; true if there are none.
#[expect(clippy::disallowed_methods, reason = "an order to the kernel is no file")]
fn kill_members(control: &Path) -> bool {
    let events = fs::read_to_string(control.join("cgroup.events")).unwrap_or_default();
    if !events.lines().any(|line| line == "populated 1") {
        return true;
    }
    let _ = fs::write(control.join("cgroup.kill"), "1");
    false
}

/// Ends all processes in the control group `parent` of a dead process, and removes it; true on success.
pub(super) fn clear_group(parent: &Path) -> bool {
    let gone = (0..ENDING).any(|_| {
        kill_members(parent) || {
            sleep_10_ms();
            false
        }
    });
    let inner = fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|it| it.is_dir());
    inner.for_each(|control| drop(fs::remove_dir(control)));
    gone && fs::remove_dir(parent).is_ok()
}

/// Processes of programs of the process `owner`, known by their environment.
pub(super) fn processes_of_owner(owner: &str) -> Vec<i32> {
    find_marked(|mark| mark.rsplit_once('-').is_some_and(|(of, _)| of == owner))
}

/// Ends the processes of `owner`; true if they are gone.
pub(super) fn end_owner_processes(owner: &str) -> bool {
    let mut gone = 0;
    (0..ENDING).any(|_| {
        let left = processes_of_owner(owner);
        left.iter().for_each(|&process| kill_one(process));
        gone = if left.is_empty() { gone + 1 } else { 0 };
        if gone < LOOKS {
            sleep_10_ms();
        }
        gone == LOOKS
    })
}

/// Returns the living processes with such a mark, and their descendants.
fn find_marked(is: impl Fn(&str) -> bool) -> Vec<i32> {
    let all = super::process::all_processes();
    let has = |process: i32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut words = environment.split(|&byte| byte == 0);
        let value = words.find_map(|word| word.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="));
        value.is_some_and(|value| is(&String::from_utf8_lossy(value)))
    };
    let own = std::process::id() as i32;
    let mut found: BTreeSet<i32> =
        all.iter().filter(|it| it.number != own && has(it.number)).map(|it| it.number).collect();
    // Processes stand in no order of descent: repeated until nothing is added.
    loop {
        let more: Vec<i32> = all
            .iter()
            .filter(|it| found.contains(&it.parent) && !found.contains(&it.number))
            .map(|it| it.number)
            .collect();
        if more.is_empty() {
            return found.into_iter().collect();
        }
        found.extend(more);
    }
}
