//! All processes that a program begins, however they try to escape: killed together, and waited for.
//!
//! With control groups of version 2, a program begins in a group of its own, if the kernel lets us make one. No process
//! leaves that group by forking, by a new session, or by a dead parent. `cgroup.kill` kills all of its processes at
//! once, also those that fork meanwhile (Linux 5.14, Documentation/admin-guide/cgroup-v2.rst).
//!
//! Elsewhere processes are known by their process group, by their parents, and by a mark, a variable of their
//! environment: one that leaves all three is not found. Names of groups and marks hold their owner, the process that
//! began them; [`debris`](super::debris) removes those of a dead owner.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{program::shell_command, sleep_10_ms};

/// Environment variable that marks every process of a program.
const MARK_VARIABLE: &str = "SEEKWISE_PROGRAM";

/// Checks whether all processes have ended, 10 ms apart: five seconds. A process that waits for a disk ends when the
/// disk answers.
const KILL_ATTEMPTS: usize = 500;

/// Checks in a row that must find no marked process before all count as gone. A process that is becoming another
/// program has no environment for a moment.
const EMPTY_CHECKS: u32 = 4;

/// Processes that an error names.
const MAX_NAMED: usize = 5;

/// All processes of a program.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    /// The value of `MARK_VARIABLE`.
    mark: String,
    /// The folder of its control group, if there can be one.
    control_group: Option<PathBuf>,
}

/// The parent of the control groups of programs, below the group of this process, if it can have one; the default is
/// none.
#[derive(Debug, Default)]
pub struct GroupParent(Option<PathBuf>);

impl GroupParent {
    /// Finds where this process may make groups, by making one that a process enters.
    pub fn find() -> GroupParent {
        GroupParent(find_group_parent())
    }

    /// Path of the parent; the folder exists as long as a group in it does.
    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }
}

fn find_group_parent() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(2) == Some(&"cgroup2")).then(|| words[1].to_owned())
    })?;
    let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own_group = own_groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let parent = PathBuf::from(format!("{mount}{own_group}"))
        .join(format!("seekwise-{}", super::process::own_number_and_start()));
    // A group that accepts no process is of no use.
    let control_group = make_control_group(&parent, &unique_group_name())?;
    let entered = shell_command(&format!("echo $$ > '{}'", control_group.join("cgroup.procs").display())).status();
    let is_usable = control_group.join("cgroup.kill").exists() && entered.is_ok_and(|status| status.success());
    remove_control_group(&control_group);
    is_usable.then_some(parent)
}

/// Returns a name that no other group has: each state of the standard library's hashers has random keys of its own.
fn unique_group_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(()))
}

/// Makes a control group below `parent`. Makes `parent` too, which the end of another program may remove in between.
#[expect(clippy::disallowed_methods, reason = "a folder is a group in the kernel's own file system")]
fn make_control_group(parent: &Path, name: &str) -> Option<PathBuf> {
    let path = parent.join(name);
    (0..10).find_map(|_| {
        let _ = fs::create_dir(parent);
        fs::create_dir(&path).ok().map(|()| path.clone())
    })
}

/// Removes an empty control group, and its parent after the last one.
fn remove_control_group(control_group: &Path) {
    let _ = fs::remove_dir(control_group);
    if let Some(parent) = control_group.parent() {
        let _ = fs::remove_dir(parent);
    }
}

impl ProcessGroup {
    /// Creates an empty group, with a control group below `parent` if it can have one.
    pub fn new(parent: &GroupParent) -> ProcessGroup {
        let name = unique_group_name();
        let control_group = parent.path().and_then(|parent| make_control_group(parent, &name));
        ProcessGroup { mark: format!("{}-{name}", super::process::own_number_and_start()), control_group }
    }

    /// Environment variable for its first process.
    pub(crate) fn environment_mark(&self) -> (&'static str, &str) {
        (MARK_VARIABLE, &self.mark)
    }

    /// The file to which a process writes its number to join the control group; `None` without one.
    pub(crate) fn group_join_file(&self) -> Option<PathBuf> {
        self.control_group.as_ref().map(|control_group| control_group.join("cgroup.procs"))
    }

    /// Kills all processes and waits until they are gone; `leader` is the first one. An error names those that stay.
    pub(crate) fn kill_and_wait(&self, leader: Pid) -> io::Result<()> {
        if self.control_group.is_none() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        // The kernel knows the members of a control group; one check of environments is not enough.
        let checks_needed = if self.control_group.is_some() { 1 } else { EMPTY_CHECKS };
        let mut empty_checks = 0;
        for _ in 0..KILL_ATTEMPTS {
            empty_checks = if self.kill_or_confirm_empty() { empty_checks + 1 } else { 0 };
            if empty_checks == checks_needed {
                self.control_group.iter().for_each(|control_group| remove_control_group(control_group));
                return Ok(());
            }
            sleep_10_ms();
        }
        let described: Vec<String> = self
            .known_processes()
            .iter()
            .take(MAX_NAMED)
            .map(|&process| super::process::describe_process(process))
            .collect();
        Err(io::Error::other(format!("could not be ended within 5 s: process {}", described.join(", "))))
    }

    /// Kills the processes that are left; true if there are none.
    fn kill_or_confirm_empty(&self) -> bool {
        match &self.control_group {
            Some(control_group) => kill_or_confirm_group_empty(control_group),
            None => {
                let left = self.known_processes();
                left.iter().for_each(|&process| kill_by_number(process));
                left.is_empty()
            }
        }
    }

    /// Processes known to be in it.
    fn known_processes(&self) -> Vec<i32> {
        match &self.control_group {
            Some(control_group) => read_group_members(control_group),
            None => find_marked_processes(|mark| mark == self.mark),
        }
    }
}

fn kill_by_number(number: i32) {
    if let Some(process) = Pid::from_raw(number) {
        let _ = kill_process(process, Signal::KILL);
    }
}

fn read_group_members(control_group: &Path) -> Vec<i32> {
    let text = fs::read_to_string(control_group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Kills the processes left in a control group and below; true if there are none.
#[expect(clippy::disallowed_methods, reason = "an order to the kernel is no file")]
fn kill_or_confirm_group_empty(control_group: &Path) -> bool {
    let events = fs::read_to_string(control_group.join("cgroup.events")).unwrap_or_default();
    if !events.lines().any(|line| line == "populated 1") {
        return true;
    }
    let _ = fs::write(control_group.join("cgroup.kill"), "1");
    false
}

/// Kills all processes in the control group `parent` of a dead process, and removes it; true on success.
pub(super) fn kill_and_remove_group(parent: &Path) -> bool {
    let is_empty = (0..KILL_ATTEMPTS).any(|_| {
        kill_or_confirm_group_empty(parent) || {
            sleep_10_ms();
            false
        }
    });
    let inner_groups =
        fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|it| it.is_dir());
    inner_groups.for_each(|control_group| drop(fs::remove_dir(control_group)));
    is_empty && fs::remove_dir(parent).is_ok()
}

/// Processes of programs that the process `owner` began, known by their environment.
pub(super) fn processes_of_owner(owner: &str) -> Vec<i32> {
    find_marked_processes(|mark| mark.rsplit_once('-').is_some_and(|(marked_owner, _)| marked_owner == owner))
}

/// Kills the processes of `owner`; true once they are gone.
pub(super) fn kill_owner_processes(owner: &str) -> bool {
    let mut empty_checks = 0;
    (0..KILL_ATTEMPTS).any(|_| {
        let left = processes_of_owner(owner);
        left.iter().for_each(|&process| kill_by_number(process));
        empty_checks = if left.is_empty() { empty_checks + 1 } else { 0 };
        if empty_checks < EMPTY_CHECKS {
            sleep_10_ms();
        }
        empty_checks == EMPTY_CHECKS
    })
}

/// Returns the living processes with such a mark, and their descendants.
fn find_marked_processes(is_wanted_mark: impl Fn(&str) -> bool) -> Vec<i32> {
    let all = super::process::living_processes();
    let has_mark = |process: i32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut variables = environment.split(|&byte| byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(MARK_VARIABLE.as_bytes())?.strip_prefix(b"="));
        value.is_some_and(|value| is_wanted_mark(&String::from_utf8_lossy(value)))
    };
    let own = std::process::id() as i32;
    let mut found: BTreeSet<i32> =
        all.iter().filter(|it| it.number != own && has_mark(it.number)).map(|it| it.number).collect();
    // Parents need not be listed before their children: repeated until nothing is added.
    loop {
        let children: Vec<i32> = all
            .iter()
            .filter(|it| found.contains(&it.parent) && !found.contains(&it.number))
            .map(|it| it.number)
            .collect();
        if children.is_empty() {
            return found.into_iter().collect();
        }
        found.extend(children);
    }
}
