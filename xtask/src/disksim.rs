//! `cargo xtask bench beside --disksim PATH`: runs DiskSim's own program, which you build yourself, and ours in turn on
//! equal closed loops: random reads of 4 KiB on the Quantum Atlas 10K, one outstanding in order of arrival, and 32
//! outstanding by shortest positioning time (SPTF). It prints the cost of a request in both, and the ratio.
//!
//! PATH is DiskSim's binary. The drive's files are those that DiskSim brings (`valid` beside the folder of the binary,
//! or `--valid FOLDER`): `atlas10k.parv` and the files that it names. Only its workload and the disk's queue are
//! replaced. A cost is the difference in processor time between a short and a long run, so that starting falls out. The
//! two take turns, since a shared machine is not equally fast all the time. If valgrind is there, instructions are
//! counted too, which load does not change.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::bench::DRIVE;
use crate::steps::{Ended, command};

/// Loops: the description, requests outstanding, and our key in `seekwise bench --only`.
const LOOPS: [(&str, u32, &str); 2] =
    [("random reads, FCFS, depth 1", 1, "fcfs_qd1_per_s"), ("random reads, SPTF, depth 32", 32, "sptf_qd32_per_s")];

/// Requests of a short run.
const SHORT_REQUESTS: u64 = 1_000;

/// Requests of a long run of ours, which takes a second or two.
const OUR_LONG_REQUESTS: u64 = 3_001_000;

/// Requests of a long run of DiskSim's, which takes a second or two.
const DISKSIM_LONG_REQUESTS: u64 = 101_000;

/// If requests in the second half of DiskSim's long run cost more than this many times those of the first half, that is
/// printed. Such a build keeps an account of all requests and searches it: its requests cost more the longer it runs,
/// and the ratio says nothing about the model.
const MAX_GROWTH: f64 = 1.25;

/// Requests of a long run in which instructions are counted, some fifty times slower.
const COUNTED_REQUESTS: u64 = 11_000;

/// Rounds, unless `--rounds` sets another number.
const DEFAULT_ROUNDS: usize = 5;

/// DiskSim's numbers of scheduling policies (`disksim_ioqueue.h`): `SPTF_OPT`, and order of arrival.
const SPTF_POLICY: u32 = 8;
const FCFS_POLICY: u32 = 1;

/// DiskSim's program and its files.
struct DiskSim {
    program: PathBuf,
    /// The folder of its drives' files.
    valid: PathBuf,
    /// The folder below `target` that it runs in.
    folder: PathBuf,
}

/// Runs the command.
pub fn compare(options: &[&str]) -> ExitCode {
    match parse_options(options).and_then(|(disksim, rounds)| compare_loops(&disksim, rounds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn parse_options(options: &[&str]) -> Result<(DiskSim, usize), String> {
    const USAGE: &str = "cargo xtask bench beside --disksim PATH [--valid FOLDER] [--rounds N]";
    let (mut program, mut valid, mut rounds) = (None, None, DEFAULT_ROUNDS);
    for pair in options.chunks(2) {
        match *pair {
            ["--disksim", path] => program = Some(PathBuf::from(path)),
            ["--valid", path] => valid = Some(PathBuf::from(path)),
            ["--rounds", count] => {
                rounds = count.parse().ok().filter(|&count| count > 0).ok_or_else(|| USAGE.to_owned())?;
            }
            _ => return Err(USAGE.to_owned()),
        }
    }
    let program = program.ok_or_else(|| USAGE.to_owned())?;
    let program = fs::canonicalize(&program).map_err(|why| format!("{}: {why}", program.display()))?;
    let beside = || program.parent().and_then(Path::parent).unwrap_or(Path::new("/")).join("valid");
    let valid = valid.unwrap_or_else(beside);
    Ok((DiskSim { program, valid, folder: crate::target().join("disksim") }, rounds))
}

fn compare_loops(disksim: &DiskSim, rounds: usize) -> Result<(), String> {
    disksim.prepare()?;
    if !matches!(command(&["cargo", "build", "--release", "--locked"], &[]), Ended::Passed) {
        return Err("the program was not built".to_owned());
    }
    let has_valgrind =
        Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    println!("{:32} {:>6} {:>12} {:>12} {:>8}", "a request", "round", "seekwise", "DiskSim", "ratio");
    for (description, depth, key) in LOOPS {
        let mut ratios = Vec::new();
        for round in 1..=rounds {
            let time_ours = |requests: u64| our_command(key, requests).and_then(processor_seconds);
            let time_theirs = |requests: u64| disksim.command(depth, requests).and_then(processor_seconds);
            let our_seconds = time_ours(OUR_LONG_REQUESTS)? - time_ours(SHORT_REQUESTS)?;
            let disksim_times = [
                time_theirs(SHORT_REQUESTS)?,
                time_theirs(SHORT_REQUESTS.midpoint(DISKSIM_LONG_REQUESTS))?,
                time_theirs(DISKSIM_LONG_REQUESTS)?,
            ];
            disksim.check_request_count(DISKSIM_LONG_REQUESTS, depth)?;
            if let Some(factor) = growth_in_second_half(disksim_times) {
                println!(
                    "{description:32} {round:>6} DiskSim's requests cost {factor:.1} times as much in the second half of its run"
                );
            }
            let disksim_seconds = disksim_times[2] - disksim_times[0];
            let our_ns = 1e9 * our_seconds / (OUR_LONG_REQUESTS - SHORT_REQUESTS) as f64;
            let disksim_ns = 1e9 * disksim_seconds / (DISKSIM_LONG_REQUESTS - SHORT_REQUESTS) as f64;
            println!("{description:32} {round:>6} {our_ns:9.0} ns {disksim_ns:9.0} ns {:8.1}", disksim_ns / our_ns);
            ratios.push(disksim_ns / our_ns);
        }
        println!("{description:32} {:>6} {:>12} {:>12} {:8.1}", "median", "", "", median(&mut ratios));
        if has_valgrind {
            let instructions_per_request = |command: &dyn Fn(u64) -> Result<Command, String>| -> Result<f64, String> {
                let [few, more] = [instructions(command(SHORT_REQUESTS)?)?, instructions(command(COUNTED_REQUESTS)?)?];
                Ok((more as f64 - few as f64) / (COUNTED_REQUESTS - SHORT_REQUESTS) as f64)
            };
            let ours = instructions_per_request(&|requests| our_command(key, requests))?;
            let theirs = instructions_per_request(&|requests| disksim.command(depth, requests))?;
            println!("{description:32} {:>6} {ours:12.0} {theirs:12.0} {:8.1}", "instr.", theirs / ours);
        }
    }
    Ok(())
}

/// How many times as long as its first half the second half of a run took, if that is more than chance explains. The
/// times are those of runs that reach the beginning, the middle and the end.
fn growth_in_second_half([begin, middle, end]: [f64; 3]) -> Option<f64> {
    let growth = (end - middle) / (middle - begin);
    (growth > MAX_GROWTH).then_some(growth)
}

/// The command that runs our program on a loop.
fn our_command(key: &str, requests: u64) -> Result<Command, String> {
    let mut command = Command::new(crate::target().join("release/seekwise"));
    command.args(["bench", "--json", "--drive", DRIVE, "--only", key, "--requests", &requests.to_string()]);
    command.current_dir(crate::root());
    Ok(command)
}

impl DiskSim {
    /// Copies the drive's files into the folder that DiskSim runs in.
    fn prepare(&self) -> Result<(), String> {
        let fault = |path: &Path, why: std::io::Error| format!("{}: {why}", path.display());
        fs::create_dir_all(&self.folder).map_err(|why| fault(&self.folder, why))?;
        for name in ["atlas10k.model", "atlas10k.seek", "statdefs"] {
            let from = self.valid.join(name);
            fs::copy(&from, self.folder.join(name)).map_err(|why| fault(&from, why))?;
        }
        Ok(())
    }

    /// The command that runs DiskSim on a loop with so many requests outstanding.
    fn command(&self, depth: u32, requests: u64) -> Result<Command, String> {
        let read = |name: &str| {
            let path = self.valid.join(name);
            fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))
        };
        let text = parameters(&read("atlas10k.parv")?, &read("atlas10k.diskspecs")?, depth, requests)?;
        let file = self.folder.join(format!("depth-{depth}-{requests}.parv"));
        fs::write(&file, text).map_err(|why| format!("{}: {why}", file.display()))?;
        let mut command = Command::new(&self.program);
        // DiskSim's arguments: parameters, output, format of the trace, trace (none), whether it draws requests itself.
        command.arg(&file).arg(self.output(depth, requests)).args(["ascii", "0", "1"]).current_dir(&self.folder);
        Ok(command)
    }

    fn output(&self, depth: u32, requests: u64) -> PathBuf {
        self.folder.join(format!("depth-{depth}-{requests}.out"))
    }

    /// Checks that DiskSim handled all requests.
    fn check_request_count(&self, requests: u64, depth: u32) -> Result<(), String> {
        let path = self.output(depth, requests);
        let text = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        let done = handled_requests(&text)
            .ok_or_else(|| format!("{}: it does not say how many requests it did", path.display()))?;
        // Requests that are outstanding at the end are not counted.
        match done + u64::from(depth) >= requests {
            true => Ok(()),
            false => Err(format!("DiskSim did {done} of {requests} requests")),
        }
    }
}

/// DiskSim's parameters: its own description of the drive with our workload, and with the disk's own queue.
fn parameters(parv: &str, disk: &str, depth: u32, requests: u64) -> Result<String, String> {
    let missing_error = |text: &str| format!("atlas10k.parv has no `{text}`");
    let (system, synthetic) = parv.split_once("disksim_synthio").ok_or_else(|| missing_error("disksim_synthio"))?;
    let capacity =
        synthetic.split_once("Storage capacity per device").ok_or_else(|| missing_error("Storage capacity"))?.1;
    let capacity: String = capacity.trim_start_matches([' ', '=']).chars().take_while(char::is_ascii_digit).collect();
    let policy = if depth == 1 { FCFS_POLICY } else { SPTF_POLICY };
    for key in ["Max queue length = 1,", "Scheduling policy = 1,"] {
        if !disk.contains(key) {
            return Err(format!("atlas10k.diskspecs has no `{key}`"));
        }
    }
    let disk = disk.replace("Max queue length = 1,", &format!("Max queue length = {depth},"));
    let disk = disk.replace("Scheduling policy = 1,", &format!("Scheduling policy = {policy},"));
    let source = "source atlas10k.diskspecs";
    if !system.contains(source) {
        return Err(missing_error(source));
    }
    // A log of every request would be timed too.
    let is_no_log = |line: &&str| !line.contains("Output file for trace of I/O requests simulated");
    let system: Vec<&str> = system.lines().filter(is_no_log).collect();
    let system = system.join("\n").replace("Stat definition file = statdefs,", "Stat definition file = statdefs");
    let system = system.replace(source, &disk);
    let zero_times = "[ uniform, 0.0, 0.0 ]";
    // A generator waits for its request, so that as many are outstanding as there are generators.
    let generator = format!(
        "disksim_synthgen {{ Storage capacity per device = {capacity}, devices = [ disk0 ], Blocking factor = 8,\n\
         Probability of sequential access = 0.0, Probability of local access = 0.0, Probability of read access = 1.0,\n\
         Probability of time-critical request = 1.0, Probability of time-limited request = 0.0,\n\
         Time-limited think times = {zero_times}, General inter-arrival times = {zero_times},\n\
         Sequential inter-arrival times = {zero_times}, Local inter-arrival times = {zero_times}, Local distances = {zero_times},\n\
         Sizes = [ uniform, 8.0, 8.0 ] }}"
    );
    let generators = vec![generator; depth as usize].join(",\n");
    Ok(format!(
        "{system}\ndisksim_synthio Synthio {{ Number of I/O requests to generate = {requests},\n\
         Maximum time of trace generated = 1000000000.0, System call/return with each request = 0,\n\
         Think time from call to request = 0.0, Think time from request to return = 0.0,\n\
         Generators = [ {generators} ] }}\n"
    ))
}

/// The number of handled requests in DiskSim's output.
fn handled_requests(output: &str) -> Option<u64> {
    let line = output.lines().find_map(|line| line.strip_prefix("IOdriver Total Requests handled:"))?;
    line.trim().parse().ok()
}

/// Runs a command; returns its processor seconds.
pub fn processor_seconds(mut command: Command) -> Result<f64, String> {
    let before = children_processor_seconds();
    let clock = std::time::Instant::now();
    run_to_end(&mut command)?;
    let wall_seconds = clock.elapsed().as_secs_f64();
    // Without the system's figures, the clock has to do.
    Ok(before.zip(children_processor_seconds()).map_or(wall_seconds, |(before, after)| after - before))
}

/// Processor seconds of all children that were waited for, as Linux counts them: fields 16 and 17 of `stat`, in
/// hundredths.
pub fn children_processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some((field(16)? + field(17)?) / 100.0)
}

/// Counts the instructions that a command takes.
fn instructions(command: Command) -> Result<u64, String> {
    let mut under = Command::new("valgrind");
    under
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(command.get_program())
        .args(command.get_args());
    under.current_dir(command.get_current_dir().unwrap_or(Path::new(".")));
    let messages = run_to_end(&mut under)?;
    let count = messages.split_once("Collected :").and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
    count.ok_or_else(|| "valgrind counted nothing".to_owned())
}

/// Runs a command; returns its standard error.
fn run_to_end(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{name}: {why}"))?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(errors),
        false => Err(format!("{name}: {}\n{}{errors}", output.status, String::from_utf8_lossy(&output.stdout))),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARV: &str = "disksim_global Global {\n Stat definition file = statdefs,\n Output file for trace of I/O requests \
        simulated = a.outtrace\n}\nsource atlas10k.diskspecs\ninstantiate [ disk0 ] as D\ndisksim_synthio Synthio {\n \
        Storage capacity per device  = 1234,\n}\n";
    const DISK: &str = "disksim_disk D {\n Max queue length = 1,\n Scheduling policy = 1,\n}";

    #[test]
    fn the_drive_stays_and_the_work_is_ours() {
        let text = parameters(PARV, DISK, 32, 500).unwrap();
        assert_eq!(text.matches("disksim_synthgen").count(), 32);
        for wanted in [
            "Stat definition file = statdefs\n}",
            "Max queue length = 32,\n Scheduling policy = 8,",
            "Number of I/O requests to generate = 500,",
            "Storage capacity per device = 1234,",
        ] {
            assert!(text.contains(wanted), "{wanted}: {text}");
        }
        assert!(!text.contains("outtrace") && !text.contains("source atlas10k"));
        let alone = parameters(PARV, DISK, 1, 500).unwrap();
        assert!(alone.contains("Max queue length = 1,\n Scheduling policy = 1,"));
        assert!(parameters("source atlas10k.diskspecs", DISK, 1, 1).is_err());
    }

    #[test]
    fn what_disksim_did_is_read() {
        let output = "Overall I/O System Total Requests handled:\t999\nIOdriver Total Requests handled:\t969\n";
        assert_eq!(handled_requests(output), Some(969));
        assert_eq!(handled_requests("SIMULATION STATISTICS\n"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_fails_or_does_less_is_told() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("beside-{}", std::process::id()));
        let valid = folder.join("valid");
        fs::create_dir_all(&valid).unwrap();
        for (name, text) in [
            ("atlas10k.parv", PARV),
            ("atlas10k.diskspecs", DISK),
            ("atlas10k.model", ""),
            ("atlas10k.seek", ""),
            ("statdefs", ""),
        ] {
            fs::write(valid.join(name), text).unwrap();
        }
        // Speaks as DiskSim does, of half the requests.
        let program = folder.join("disksim");
        let text = "#!/bin/sh\nn=$(sed -n 's/.*to generate = \\([0-9]*\\),.*/\\1/p' \"$1\")\n\
            printf 'IOdriver Total Requests handled:\\t%d\\n' $((n / 2)) > \"$2\"\n";
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let disksim = DiskSim { program, valid, folder: folder.join("runs") };
        disksim.prepare().unwrap();
        assert!(processor_seconds(disksim.command(1, 500).unwrap()).unwrap() >= 0.0);
        assert_eq!(disksim.check_request_count(500, 1), Err("DiskSim did 250 of 500 requests".to_owned()));
        assert!(processor_seconds(Command::new("false")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_costs_more_and_more_is_told() {
        assert_eq!(growth_in_second_half([0.125, 1.125, 4.125]), Some(3.0));
        assert_eq!(growth_in_second_half([0.125, 1.125, 2.25]), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_between() {
        assert_eq!((median(&mut [3.0, 1.0, 2.0]), median(&mut [4.0, 1.0])), (2.0, 2.5));
    }
}
