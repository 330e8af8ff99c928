//! Watches the processes of a namespace while a command runs there: samples which of them wait for a file system, and reaps
//! orphans, as the first process of a namespace must.
//!
//! A process waits if one of its threads sleeps without being interruptible (state D of proc_pid_stat(5)), or sleeps in the kernel's
//! function that waits for an answer of FUSE. Samples say which command waited longest; they are no measurement of a
//! single wait.

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::process::{describe_process, living_processes, zombie_children};

/// Interval of the samples: twenty a second cost about a hundredth of a core with ten processes.
const INTERVAL: Duration = Duration::from_millis(50);

/// Kernel functions in which a thread waits for a file system that is a program (fs/fuse/dev.c).
const FUSE_WAITS: [&str; 2] = ["request_wait_answer", "fuse_wait_on_page_writeback"];

/// Characters of a command line that name a process.
const LABEL_CHARS: usize = 60;

/// A command and how long its processes waited for a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskWait {
    /// Its command line, shortened.
    pub command: String,
    /// Time of all samples that found it waiting.
    pub waited: Duration,
}

/// A watch under way.
#[derive(Debug)]
pub struct ProcessWatch {
    stop: Sender<()>,
    thread: JoinHandle<BTreeMap<String, u32>>,
}

impl ProcessWatch {
    /// Begins a watch. `servants` are processes of ours, which are not sampled; neither they nor the `command` are reaped, as they
    /// have waiters. Nothing else may start processes here until it ends.
    pub fn begin(servants: Vec<u32>, command: Option<u32>) -> ProcessWatch {
        let awaited: Vec<u32> = servants.iter().copied().chain(command).collect();
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut samples = BTreeMap::new();
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                sample_waits(&servants, &mut samples);
                reap_orphans(&awaited);
            }
            samples
        });
        ProcessWatch { stop, thread }
    }

    /// Ends it. Returns the commands that waited, the longest wait first.
    pub fn end(self) -> Vec<DiskWait> {
        drop(self.stop);
        let samples = self.thread.join().unwrap_or_default();
        let mut waits: Vec<DiskWait> =
            samples.into_iter().map(|(command, count)| DiskWait { command, waited: INTERVAL * count }).collect();
        waits.sort_by(|a, b| b.waited.cmp(&a.waited).then_with(|| a.command.cmp(&b.command)));
        waits
    }
}

/// Adds one sample for each process that waits.
fn sample_waits(servants: &[u32], samples: &mut BTreeMap<String, u32>) {
    let first = std::process::id() as i32;
    for process in living_processes() {
        let is_servant = process.number == first || servants.contains(&(process.number as u32));
        if !is_servant && has_waiting_thread(process.number) {
            *samples.entry(command_label(process.number)).or_default() += 1;
        }
    }
}

fn has_waiting_thread(process: i32) -> bool {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.map(|entry| entry.path()).any(|thread| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
        match state {
            Some('D') => true,
            Some('S') => {
                let function = fs::read_to_string(thread.join("wchan")).unwrap_or_default();
                FUSE_WAITS.iter().any(|wait| function.starts_with(wait))
            }
            _ => false,
        }
    })
}

fn command_label(process: i32) -> String {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&line).replace(['\0', '\n'], " ");
    let label: String = words.trim().chars().take(LABEL_CHARS).collect();
    if label.is_empty() { describe_process(process) } else { label }
}

/// Reaps processes that have ended and whose parent had ended before.
fn reap_orphans(awaited: &[u32]) {
    for number in zombie_children(std::process::id() as i32) {
        if let Some(process) = Pid::from_raw(number).filter(|_| !awaited.contains(&(number as u32))) {
            let _ = waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_zombie_of_ours_is_left_to_its_waiter() {
        let mut child = Command::new("true").spawn().unwrap();
        let number = child.id();
        let is_zombie = || zombie_children(std::process::id() as i32).contains(&(number as i32));
        while !is_zombie() {
            super::super::sleep_10_ms();
        }
        reap_orphans(&[number]);
        assert!(is_zombie() && child.wait().unwrap().success());
    }

    #[test]
    fn a_process_that_sleeps_waits_for_no_disk() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        // It may wait for the pages of its program first, and has no command line while it is loaded.
        let number = child.id() as i32;
        while has_waiting_thread(number) || command_label(number).starts_with(&number.to_string()) {
            super::super::sleep_10_ms();
        }
        let label = command_label(number);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(label, "sleep 100");
    }
}
