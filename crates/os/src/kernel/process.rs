//! Processes in `/proc`: their numbers, their parents, and whether one is still the process that was meant. Numbers are
//! reused, so a process is identified by its number and its start.

use std::fs;

/// A living process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub number: i32,
    pub parent: i32,
}

/// Returns the fields of a process's `stat` after its name (proc_pid_stat(5)); the state is the first.
fn stat_fields_after_name(number: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Returns the start of a process, in ticks since the machine started; `None` if it has ended.
pub(super) fn start_ticks(number: i32) -> Option<String> {
    // Field 22, the twentieth after the name. A process that has ended and is not waited for ("Z") holds nothing any
    // more.
    stat_fields_after_name(number).filter(|words| words[0] != "Z").and_then(|words| words.into_iter().nth(19))
}

/// This process, as `NUMBER-START`.
pub(super) fn own_number_and_start() -> String {
    let own = std::process::id();
    format!("{own}-{}", start_ticks(own as i32).unwrap_or_default())
}

/// Formats a process and its command.
pub(super) fn describe_process(number: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    format!("{number} ({})", name.trim())
}

/// Returns all living processes.
pub(super) fn living_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers
        .filter_map(|number| {
            let words = stat_fields_after_name(number).filter(|words| words[0] != "Z")?;
            Some(Process { number, parent: words.get(1)?.parse().ok()? })
        })
        .collect()
}

/// Returns the children of a process that have ended and were not waited for.
pub(super) fn zombie_children(parent: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_zombie = |number: &i32| {
        let words = stat_fields_after_name(*number).unwrap_or_default();
        words.first().is_some_and(|state| state == "Z") && words.get(1).is_some_and(|it| *it == parent.to_string())
    };
    numbers.filter(is_zombie).collect()
}

/// Returns the processes that have a file or folder below `folder` open, or work or run there.
pub(super) fn processes_using_folder(folder: &std::path::Path) -> Vec<i32> {
    let is_below = |link: std::path::PathBuf| fs::read_link(link).is_ok_and(|target| target.starts_with(folder));
    let uses_folder = |process: &Process| {
        let folder_of_process = std::path::PathBuf::from(format!("/proc/{}", process.number));
        let open = fs::read_dir(folder_of_process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        ["cwd", "root", "exe"].iter().map(|name| folder_of_process.join(name)).chain(open).any(is_below)
    };
    living_processes().iter().filter(|process| uses_folder(process)).map(|process| process.number).collect()
}
