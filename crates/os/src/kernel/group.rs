//! All processes that a program begins, whatever they do to get away: ended together, and waited for.
//!
//! Where the kernel has control groups of version 2 and lets this program make one, a program begins in a group of its own and cannot leave
//! it by forking, by a new session, or by a parent that is gone; `cgroup.kill` ends all of it at once, also what forks meanwhile (Linux 5.14,
//! Documentation/admin-guide/cgroup-v2.rst). Elsewhere processes are known by their process group, by their parents, and by a variable of
//! their environment: one that leaves all three is not found. Names of groups and the variable hold whose they are, for
//! [`debris`](super::debris).

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::{pause, program::shell};

/// A variable that every process of a program finds in its environment.
const MARK: &str = "SEEKWISE_PROGRAM";

/// How often it is looked whether all have ended, 10 ms apart: five seconds. What waits for a disk ends when that answers.
const ENDING: usize = 500;

/// Looks in a row that find none before all are gone that are known by their environment: a process that is becoming another
/// program has none for a moment.
const LOOKS: u32 = 4;

/// Processes that are named where they cannot be ended.
const NAMED: usize = 5;

/// A program's processes.
#[derive(Debug)]
pub struct ProcessGroup {
    mark: String,
    /// Its control group; nothing where there can be none.
    control: Option<PathBuf>,
}

/// Where this process may make control groups: below the one that it is in itself.
static PARENT: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mount = mounts.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        (words.get(2) == Some(&"cgroup2")).then(|| words[1].to_owned())
    })?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let parent = PathBuf::from(format!("{mount}{own}")).join(format!("seekwise-{}", super::process::own_name()));
    // A group that takes no process is none.
    let control = make(&parent, "probe")?;
    let enters = shell(&format!("echo $$ > '{}'", control.join("cgroup.procs").display())).status();
    let fits = control.join("cgroup.kill").exists() && enters.is_ok_and(|status| status.success());
    remove(&control);
    fits.then_some(parent)
});

/// Makes a group below `parent`, and that; another program's end may take `parent` away in between.
#[expect(clippy::disallowed_methods, reason = "a folder is a group in the kernel's own file system")]
fn make(parent: &Path, name: &str) -> Option<PathBuf> {
    let path = parent.join(name);
    (0..10).find_map(|_| {
        let _ = fs::create_dir(parent);
        fs::create_dir(&path).ok().map(|()| path.clone())
    })
}

/// Removes a group that is empty, and its parent where this was the last.
fn remove(control: &Path) {
    let _ = fs::remove_dir(control);
    if let Some(parent) = control.parent() {
        let _ = fs::remove_dir(parent);
    }
}

/// Where control groups of this process are; nothing where it can have none.
pub(super) fn parent() -> Option<&'static Path> {
    PARENT.as_deref()
}

impl ProcessGroup {
    /// A new one.
    pub fn new() -> ProcessGroup {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let control = PARENT.as_ref().and_then(|parent| make(parent, &number.to_string()));
        ProcessGroup { mark: format!("{}-{number}", super::process::own_name()), control }
    }

    /// One that the kernel does not hold together.
    #[cfg(test)]
    pub fn loose() -> ProcessGroup {
        ProcessGroup { control: None, ..ProcessGroup::new().and_remove() }
    }

    #[cfg(test)]
    fn and_remove(self) -> ProcessGroup {
        self.control.iter().for_each(|control| remove(control));
        self
    }

    /// What its first process finds in its environment.
    pub fn variable(&self) -> (&'static str, &str) {
        (MARK, &self.mark)
    }

    /// The file that a process writes its number to in order to be in it.
    pub fn door(&self) -> Option<PathBuf> {
        self.control.as_ref().map(|control| control.join("cgroup.procs"))
    }

    /// Ends all of it and waits until it is gone; `leader` is its first process. An error names those that stay.
    pub fn end(&self, leader: Pid) -> io::Result<()> {
        if self.control.is_none() {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        // The kernel knows who is in a control group; of environments one look is not enough.
        let looks = if self.control.is_some() { 1 } else { LOOKS };
        let mut gone = 0;
        for _ in 0..ENDING {
            gone = if self.kill() { gone + 1 } else { 0 };
            if gone == looks {
                self.control.iter().for_each(|control| remove(control));
                return Ok(());
            }
            pause();
        }
        let left: Vec<String> =
            self.processes().iter().take(NAMED).map(|&process| super::process::named(process)).collect();
        Err(io::Error::other(format!("could not be ended within 5 s: process {}", left.join(", "))))
    }

    /// Whether all are gone; those that are not are told to end.
    fn kill(&self) -> bool {
        match &self.control {
            Some(control) => emptied(control),
            None => {
                let left = self.processes();
                left.iter().for_each(|&process| end_one(process));
                left.is_empty()
            }
        }
    }

    /// Those that are known to be in it.
    fn processes(&self) -> Vec<i32> {
        match &self.control {
            Some(control) => members(control),
            None => marked(|mark| mark == self.mark),
        }
    }
}

fn end_one(process: i32) {
    if let Some(process) = Pid::from_raw(process) {
        let _ = kill_process(process, Signal::KILL);
    }
}

fn members(control: &Path) -> Vec<i32> {
    let text = fs::read_to_string(control.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Whether a control group and all below have no process left; what is left is told to end.
#[expect(clippy::disallowed_methods, reason = "an order to the kernel is no file")]
fn emptied(control: &Path) -> bool {
    let events = fs::read_to_string(control.join("cgroup.events")).unwrap_or_default();
    if !events.lines().any(|line| line == "populated 1") {
        return true;
    }
    let _ = fs::write(control.join("cgroup.kill"), "1");
    false
}

/// Ends all that is in the control group `parent` of a process that is gone, and removes it. Whether that was done.
pub(super) fn clear(parent: &Path) -> bool {
    let gone = (0..ENDING).any(|_| {
        emptied(parent) || {
            pause();
            false
        }
    });
    let inner = fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path()).filter(|it| it.is_dir());
    inner.for_each(|control| drop(fs::remove_dir(control)));
    gone && fs::remove_dir(parent).is_ok()
}

/// Processes of programs of the process `owner`, known by their environment.
pub(super) fn of_owner(owner: &str) -> Vec<i32> {
    marked(|mark| mark.rsplit_once('-').is_some_and(|(of, _)| of == owner))
}

/// Ends processes, and says whether they are gone.
pub(super) fn end_all(owner: &str) -> bool {
    let mut gone = 0;
    (0..ENDING).any(|_| {
        let left = of_owner(owner);
        left.iter().for_each(|&process| end_one(process));
        gone = if left.is_empty() { gone + 1 } else { 0 };
        if gone < LOOKS {
            pause();
        }
        gone == LOOKS
    })
}

/// Living processes with such a mark, and those that descend from one.
fn marked(is: impl Fn(&str) -> bool) -> Vec<i32> {
    let all = super::process::all();
    let has = |process: i32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        let mut words = environment.split(|&byte| byte == 0);
        let value = words.find_map(|word| word.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="));
        value.is_some_and(|value| is(&String::from_utf8_lossy(value)))
    };
    let own = std::process::id() as i32;
    let mut found: BTreeSet<i32> =
        all.iter().filter(|it| it.number != own && has(it.number)).map(|it| it.number).collect();
    // Parents stand before their children in no order: again until nothing is added.
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
