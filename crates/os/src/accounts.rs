//! The kernel's accounts of what a run used: processor time of a thread, ticks of all processors, requests of all
//! disks. A run reads them at its beginning and its end, and keeps the difference; a reading costs some microseconds.
//!
//! Formats: getrusage(2), proc_stat(5), Documentation/admin-guide/iostats.rst.

use std::fs;

#[cfg(target_os = "linux")]
use nix::sys::resource::{UsageWho, getrusage};
use seekwise_disk::time::Span;
use seekwise_run::usage::{DiskUsage, SystemUsage, ThreadUsage};

/// Returns an empty usage: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read_thread_usage() -> ThreadUsage {
    ThreadUsage::default()
}

/// Usage of the calling thread until now; `wall` is zero.
#[cfg(target_os = "linux")]
pub(crate) fn read_thread_usage() -> ThreadUsage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_THREAD) else { return ThreadUsage::default() };
    let span = |time: nix::sys::time::TimeVal| {
        Span::from_micros(time.tv_sec().max(0) as u64 * 1_000_000 + time.tv_usec().max(0) as u64)
    };
    let count = |count: i64| count.max(0) as u64;
    ThreadUsage {
        user: span(usage.user_time()),
        system: span(usage.system_time()),
        switches: count(usage.voluntary_context_switches()) + count(usage.involuntary_context_switches()),
        major: count(usage.major_page_faults()),
        minor: count(usage.minor_page_faults()),
        wall: Span::ZERO,
    }
}

/// Cumulative counters of the whole system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemCounters {
    /// Ticks of all processors, idle ones left out.
    busy_ticks: u64,
    /// Ticks of all processors.
    all_ticks: u64,
    /// Number of processors.
    cores: u32,
    /// The name of each disk, and its first eleven counts in the order of iostats.rst.
    disks: Vec<(String, [u64; 11])>,
}

impl SystemCounters {
    /// Reads the counters; those that the kernel does not report are empty.
    pub fn read() -> SystemCounters {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        SystemCounters::parse(&text("/proc/stat"), &text("/proc/diskstats"))
    }

    fn parse(proc_stat: &str, diskstats: &str) -> SystemCounters {
        let mut system = SystemCounters::default();
        for line in proc_stat.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(name) = words.next().filter(|name| name.starts_with("cpu")) else { continue };
            if name != "cpu" {
                system.cores += 1;
                continue;
            }
            // user, nice, system, idle, iowait, irq, softirq, steal; the later fields are part of user already.
            let ticks: Vec<u64> = words.take(8).map(|word| word.parse().unwrap_or(0)).collect();
            let all: u64 = ticks.iter().sum();
            let idle: u64 = ticks.iter().skip(3).take(2).sum();
            (system.busy_ticks, system.all_ticks) = (all - idle, all);
        }
        for line in diskstats.lines() {
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(name) = words.next() else { continue };
            let mut counts = [0; 11];
            counts.iter_mut().zip(words).for_each(|(count, word)| *count = word.parse().unwrap_or(0));
            system.disks.push((name.to_owned(), counts));
        }
        system
    }

    /// Difference from an earlier snapshot.
    pub fn usage_since(&self, earlier: &SystemCounters) -> SystemUsage {
        let busy = self.busy_ticks.saturating_sub(earlier.busy_ticks);
        let all = self.all_ticks.saturating_sub(earlier.all_ticks);
        let disk = |(name, counts): &(String, [u64; 11])| {
            let before = earlier.disks.iter().find(|disk| disk.0 == *name).map_or([0; 11], |disk| disk.1);
            let count = |index: usize| counts[index].saturating_sub(before[index]);
            let pair = |read: usize, write: usize| [count(read), count(write)];
            let (ios, merges, sectors, ticks) = (pair(0, 4), pair(1, 5), pair(2, 6), pair(3, 7));
            let disk =
                DiskUsage { name: name.clone(), ios, merges, sectors, ticks, busy_ms: count(9), queue_ms: count(10) };
            (disk.ios != [0, 0]).then_some(disk)
        };
        SystemUsage {
            busy: if all == 0 { 0.0 } else { busy as f64 / all as f64 },
            cores: self.cores,
            disks: self.disks.iter().filter_map(disk).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_between_two_looks_is_the_runs() {
        let stat = |user: u64, idle: u64| format!("cpu  {user} 0 10 {idle} 5 0 0 0 7 0\ncpu0 1 2\ncpu1 1 2\nintr 5\n");
        let disk =
            |reads: u64| format!(" 254 0 vda {reads} 1 {} 30 2 0 16 4 0 25 34 0 0\n 7 0 loop0 0 0 0\n", reads * 8);
        let from = SystemCounters::parse(&stat(100, 900), &disk(10));
        let whole = SystemCounters::parse(&stat(130, 990), &disk(15)).usage_since(&from);
        // 30 of 120 ticks.
        assert_eq!((whole.busy, whole.cores, whole.disks.len()), (0.25, 2, 1));
        let vda = &whole.disks[0];
        assert_eq!((vda.name.as_str(), vda.ios, vda.sectors), ("vda", [5, 0], [40, 0]));
        assert_eq!(SystemCounters::default().usage_since(&SystemCounters::default()), SystemUsage::default());
    }

    /// Documentation/admin-guide/iostats.rst: four of reads, four of writes, in flight, busy, weighted; then discards.
    #[test]
    fn each_count_of_a_disk_has_its_place() {
        let counters = SystemCounters::parse("", " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13\n");
        let name = "sda".to_owned();
        let (ios, merges, sectors, ticks) = ([1, 5], [2, 6], [3, 7], [4, 8]);
        let disk = DiskUsage { name, ios, merges, sectors, ticks, busy_ms: 10, queue_ms: 11 };
        assert_eq!(counters.usage_since(&SystemCounters::default()).disks, [disk]);
    }

    #[test]
    fn a_thread_has_accounts() {
        let now = read_thread_usage();
        assert_eq!(now.since(&now, Span::from_secs(1)).processor_time(), Span::ZERO);
    }

    /// The kernel tells a thread's counts in `/proc` too: a look between two looks there finds no more and no less. A
    /// new thread has read nothing from a disk, so a single fault too many stands out.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_counts_of_a_new_thread_are_those_that_the_kernel_tells_elsewhere() {
        /// Faults without a disk, faults with one, and switches.
        fn told() -> [u64; 3] {
            let [stat, status] =
                ["stat", "status"].map(|name| fs::read_to_string(format!("/proc/thread-self/{name}")).unwrap());
            // Behind the name, which may hold anything: the third field and those after it.
            let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
            let switches = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
            let switches = switches.map(|(_, count)| count.trim().parse::<u64>().unwrap()).sum();
            [fields[10 - 3].parse().unwrap(), fields[12 - 3].parse().unwrap(), switches]
        }
        let looks = std::thread::spawn(|| {
            let before = told();
            let between = read_thread_usage();
            [before, [between.minor, between.major, between.switches], told()]
        });
        let [before, between, after] = looks.join().unwrap();
        for (at, count) in ["minor faults", "major faults", "switches"].into_iter().enumerate() {
            assert!((before[at]..=after[at]).contains(&between[at]), "{count}: {before:?} {between:?} {after:?}");
        }
    }
}
