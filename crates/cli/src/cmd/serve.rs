//! `seekwise serve`: serves a modelled stack as a network block device or as a file in a FUSE folder, until Ctrl-C or the end of the
//! command of `--run`. Then it prints the receipt: counts of requests, how late answers left, and whether the machine kept up with
//! the model.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::MutexGuard;

use seekwise::Bounds;
use seekwise::outputs::{self, NewFile, OutputFile};
use seekwise::places::NullPlace;
use seekwise::reading::display_name;
#[cfg(target_os = "linux")]
use seekwise::serve::FuseFolder;
use seekwise::serve::{
    BesideCommand, Bytes, CutPlan, Device, DiskMessage, DiskRecorder, Export, FILE, Inbox, LatencyRecorder,
    ListenAddress, LiveDisk, MemoryRoom, NullDevice, PaceVerdict, PlatterMedium, Receipt, SECTOR, ServerSockets,
    TransportCost, begin_recording, measure_path_cost, serve_disk,
};
use seekwise::setup::{self, Seed, Stack, WrittenChange};
use seekwise::shell::quote_for_shell;
use seekwise::time::{Instant, Span};
use serde_json::json;

use super::{print_json, print_text, print_warnings};
use crate::args;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::interrupt::{self, SignalState};
use crate::output::print_to_stderr;
use crate::tables;
use seekwise::Files;

/// Runs the command.
pub fn run_command(args: &args::ServeArgs, files: &Files, bounds: &Bounds, json: bool) -> CommandResult {
    check_exposure(args)?;
    let target = ServedTarget::build(&args.target, &args.set, args.seed, files)?;
    let limits = target.device.limits(0);
    let disk_bytes = limits.sectors * SECTOR;
    let room = MemoryRoom::divide_limit(bounds.memory_bytes(), args.max_clients);
    let room = room.map_err(|why| CommandError::new(format!("--max-memory: {why}")))?;
    let (content, image) = open_content(args, disk_bytes)?;
    let export = Export { fast_zeroes: args.target == NullPlace::NAME, ..Export::new(&limits, target.about.clone()) };
    let recorder = args.record.as_deref().map(|path| open_recorder(path, args)).transpose()?;
    let path = measure_path_cost().map_err(|error| CommandError::new(format!("the cost of a connection: {error}")))?;
    let [control, folder] =
        [control_path(args), args.fuse.clone()].map(|path| path.map(std::path::absolute).transpose());
    let (control, folder) = (control.map_err(CommandError::new)?, folder.map_err(CommandError::new)?);
    let address = args.nbd.clone().map(ListenAddress::into_absolute).transpose().map_err(CommandError::new)?;
    let _note = write_debris_note(args, control.as_deref());
    // Signals wait until the disk can be stopped, so that no sockets or mounts stay behind.
    let signals = interrupt::lock_signals();
    let sockets = ServerSockets::open(address.as_ref(), control.as_deref()).map_err(|error| {
        let socket = args.nbd.as_ref().map_or("--control".to_owned(), ListenAddress::client_uri);
        CommandError::new(format!("{socket}: {error}"))
    })?;
    let addresses = DiskAddresses {
        uri: sockets.address().map(ListenAddress::client_uri),
        file: folder.as_ref().map(|folder| folder.join(FILE).display().to_string()),
        control: control.as_ref().map(|control| control.display().to_string()),
    };
    let served_at = addresses.uri.iter().chain(&addresses.file).map(String::as_str).collect::<Vec<_>>().join(" and ");
    print_to_stderr(format!(
        "Serving {}, {:.1} GB, at {served_at}",
        display_name(&args.target),
        disk_bytes as f64 / 1e9
    ));
    if let Some(control) = &addresses.control {
        print_to_stderr(format!("Orders: seekwise disk power cut --control {}", quote_for_shell(control)));
    }
    image.into_iter().for_each(NewFile::keep);
    let disk = target.into_disk(content, args.speed, cut_plan(args)).with_path_cost(path);
    let disk = disk.with_memory_limits(room).with_client_limit(args.max_clients);
    let disk = if let Some(recorder) = recorder { disk.with_recorder(recorder) } else { disk };
    let (mut command, mut mounted) = (None, None);
    let (fuse_export, latencies) = (export.clone(), disk.latency_recorder());
    let receipt = serve_disk(disk, export, sockets, |inbox| {
        mounted =
            folder.as_deref().map(|path| MountedFolder::mount(path, &fuse_export, room, &latencies, inbox.clone()));
        match &mounted {
            Some(Err(_)) => drop(inbox.send(DiskMessage::Stop)),
            _ => command = start_command(args, addresses, inbox, signals, json),
        }
    });
    let unmounted = mounted.transpose()?.map_or(Ok(()), MountedFolder::unmount);
    let receipt = receipt.map_err(CommandError::new)?;
    let command = command.transpose().map_err(CommandError::new)?;
    print_receipt(args, &receipt, json)?;
    unmounted?;
    Ok(match command.map(|command| command.try_exit_code()) {
        // The command was still running when a second signal stopped the disk.
        Some(None) => CommandAnswer::Stopped,
        Some(Some(code)) if code != 0 => CommandAnswer::HandedOn(code),
        _ if args.strict && matches!(receipt.pace_verdict(), PaceVerdict::FellBehind(_)) => CommandAnswer::No,
        _ => CommandAnswer::Done,
    })
}

/// Checks that an address that other machines reach is served only with `--expose`.
fn check_exposure(args: &args::ServeArgs) -> Result<(), CommandError> {
    if let Some(address) = args.nbd.as_ref().filter(|address| !address.is_local() && !args.expose) {
        return Err(CommandError::new(format!(
            "--nbd {}: everybody who reaches this address could read and write the disk; expected 127.0.0.1 or a unix \
             socket, or --expose",
            address.client_uri()
        )));
    }
    Ok(())
}

/// Prints the receipt to standard output; with `--run`, whose command uses that, to standard error, unless it is JSON.
fn print_receipt(args: &args::ServeArgs, receipt: &Receipt, json: bool) -> Result<(), CommandError> {
    match json {
        true => print_json(&receipt_json(&args.target, args.seed, args.speed, receipt)),
        false if args.run => {
            print_to_stderr(format_receipt(receipt).trim_end());
            Ok(())
        }
        false => print_text(&format_receipt(receipt)),
    }
}

/// The addresses of the disk; paths are absolute, because a command may run in any folder.
struct DiskAddresses {
    uri: Option<String>,
    file: Option<String>,
    control: Option<String>,
}

/// The device to serve.
pub(super) struct ServedTarget {
    pub(super) device: Box<dyn Device>,
    /// The stack, if it is modelled.
    stack: Option<Stack>,
    /// The description for clients.
    pub(super) about: String,
}

impl ServedTarget {
    /// Builds a drive or stack by its name or file, or the device that answers at once.
    pub(super) fn build(
        target: &str,
        set: &[(String, String)],
        seed: u64,
        files: &Files,
    ) -> Result<ServedTarget, CommandError> {
        if target == NullPlace::NAME {
            setup::reject_settings_without_stack(set)?;
            let about = "answers at once, to measure the overhead of Seekwise itself".to_owned();
            return Ok(ServedTarget { device: Box::new(NullDevice::new()), stack: None, about });
        }
        let (stack, changes, warnings) = setup::build_stack(files, target, set)?;
        print_warnings(&warnings);
        refuse_changes(&changes)?;
        let about = format!("{} as Seekwise models it", stack.profile.name);
        Ok(ServedTarget { device: stack.build(Seed(seed)), stack: Some(stack), about })
    }

    /// The disk with this content. It begins now.
    pub(super) fn into_disk(self, content: Bytes, speed: f64, planned_cut: Option<CutPlan>) -> LiveDisk {
        let disk = LiveDisk::new(self.device, content, speed, planned_cut);
        let Some(stack) = self.stack else { return disk };
        let missing_drives = stack.array().map_or(0, |array| array.lost);
        disk.without_drives(missing_drives).with_cut_history(&stack).with_layers(&stack)
    }
}

/// Refuses settings that change at instants of a run, because nothing is run here.
fn refuse_changes(changes: &[WrittenChange]) -> Result<(), CommandError> {
    if let Some(change) = changes.first() {
        return Err(CommandError::new(format!(
            "`{}` changes during a run, and nothing is run here; expected `seekwise disk set {}={}` when it is time",
            change.key, change.key, change.value
        )));
    }
    Ok(())
}

/// Opens the disk's initial contents and the file of `--image`. If that file is new, it is removed again unless it is kept
/// ([`NewFile::keep`]).
fn open_content(args: &args::ServeArgs, disk_bytes: u64) -> Result<(Bytes, Option<NewFile>), CommandError> {
    let base = args.base.as_deref().map(|path| open_base(path, disk_bytes)).transpose()?;
    let image = args.image.as_deref().map(|path| open_image(path, disk_bytes, base.is_some())).transpose()?;
    let (platters, image) = image.unzip();
    let content = Bytes::on_platters(platters.unwrap_or_default());
    let (Some(path), Some(base)) = (&args.base, base) else { return Ok((content, image)) };
    let with_base = content.with_base(base);
    let content = with_base.map_err(|error| CommandError::new(format!("--base {}: {error}", path.display())))?;
    Ok((content, image))
}

/// Opens the file of `--base`, which is only read.
fn open_base(path: &Path, disk_bytes: u64) -> Result<File, CommandError> {
    let base_error = |why: String| CommandError::new(format!("--base {}: {why}", path.display()));
    let base = File::open(path).map_err(|error| base_error(error.to_string()))?;
    let metadata = base.metadata().map_err(|error| base_error(error.to_string()))?;
    outputs::mark_input(&metadata);
    match metadata.len() {
        length if length > disk_bytes => {
            Err(base_error(format!("has {length} bytes; expected at most {disk_bytes}, the size of the disk")))
        }
        _ => Ok(base),
    }
}

/// A mounted folder with the disk as a file.
#[cfg(target_os = "linux")]
struct MountedFolder {
    path: PathBuf,
    folder: FuseFolder,
}

#[cfg(target_os = "linux")]
impl MountedFolder {
    fn mount(
        path: &Path,
        export: &Export,
        room: MemoryRoom,
        latencies: &LatencyRecorder,
        inbox: Inbox,
    ) -> Result<MountedFolder, CommandError> {
        let folder = FuseFolder::mount(path, export, room.max_callers(), inbox)
            .map_err(|error| CommandError::new(format!("--fuse {}: {error}", path.display())))?;
        Ok(MountedFolder { path: path.to_owned(), folder: folder.with_probes(path, latencies) })
    }

    fn unmount(self) -> Result<(), CommandError> {
        let path = self.path.display();
        self.folder.unmount().map_err(|error| {
            CommandError::new(format!(
                "--fuse {path}: {error}; still in use: run `losetup -d`, then `umount -l {path}`"
            ))
        })
    }
}

/// Writes a note of the sockets and the folder that a kill would leave behind, for `seekwise restore`. Dropping it removes it.
#[cfg(target_os = "linux")]
fn write_debris_note(args: &args::ServeArgs, control: Option<&Path>) -> seekwise::leftovers::DebrisNote {
    use seekwise::leftovers::{DebrisItem, DebrisNote, GroupParent};
    let nbd_socket = args
        .nbd
        .as_ref()
        .and_then(|address| if let ListenAddress::Unix(path) = address { Some(&**path) } else { None });
    let sockets = [nbd_socket, control].into_iter().flatten().map(|path| DebrisItem::Socket(path.to_owned()));
    let debris: Vec<_> = args.fuse.iter().cloned().map(DebrisItem::Fuse).chain(sockets).collect();
    DebrisNote::write(&debris, &GroupParent::default())
}

/// Does nothing: only on Linux does `seekwise restore` remove leftovers.
#[cfg(not(target_os = "linux"))]
fn write_debris_note(_: &args::ServeArgs, _: Option<&Path>) {}

/// There is no such folder: only Linux has it.
#[cfg(not(target_os = "linux"))]
struct MountedFolder;

#[cfg(not(target_os = "linux"))]
impl MountedFolder {
    fn mount(
        path: &Path,
        _: &Export,
        _: MemoryRoom,
        _: &LatencyRecorder,
        _: Inbox,
    ) -> Result<MountedFolder, CommandError> {
        Err(CommandError::new(format!("--fuse {}: only supported on Linux; expected --nbd", path.display())))
    }

    fn unmount(self) -> Result<(), CommandError> {
        Ok(())
    }
}

/// Opens the file of `--image`, which holds the contents of the platters; creates it if it is missing. Refuses a file that another
/// server uses, and with `must_be_new` a file that holds a disk.
fn open_image(path: &Path, disk_bytes: u64, must_be_new: bool) -> Result<(PlatterMedium, NewFile), CommandError> {
    let image_error = |why: String| CommandError::new(format!("--image {}: {why}", path.display()));
    let (file, new_file) = outputs::open_image(path).map_err(|error| image_error(error.to_string()))?;
    if file.try_lock().is_err() {
        return Err(image_error("another server is using it".to_owned()));
    }
    let length = file.metadata().map_err(|error| image_error(error.to_string()))?.len();
    if length != 0 && must_be_new {
        return Err(image_error("already holds a disk; with --base, expected a new file".to_owned()));
    }
    if length != 0 && length != disk_bytes {
        return Err(image_error(format!(
            "has {length} bytes; expected {disk_bytes}, the size of the disk, or a new file"
        )));
    }
    file.set_len(disk_bytes).map_err(|error| image_error(error.to_string()))?;
    Ok((PlatterMedium::File(file), new_file))
}

/// Creates the file of `--record`, which gets all requests and orders.
fn open_recorder(path: &Path, args: &args::ServeArgs) -> Result<DiskRecorder, CommandError> {
    let record_error = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::AlreadyExists => "already exists; expected a new file".to_owned(),
            _ => error.to_string(),
        };
        CommandError::new(format!("--record {}: {why}", path.display()))
    };
    let file = OutputFile::create(path, false).map_err(record_error)?;
    let set: String = args.set.iter().map(|(key, value)| format!(", {key} = {value}")).collect();
    let recorded_on = format!("{}{set}, seed {}", display_name(&args.target), args.seed);
    begin_recording(file, &recorded_on).map_err(record_error)
}

/// The path of the control socket: that of `--control`, or beside the unix socket or the folder.
fn control_path(args: &args::ServeArgs) -> Option<PathBuf> {
    let default_path = || {
        let base = if let Some(ListenAddress::Unix(path)) = &args.nbd { Some(path) } else { args.fuse.as_ref() };
        base.map(|path| PathBuf::from(format!("{}.control", path.display().to_string().trim_end_matches('/'))))
    };
    args.control.clone().or_else(default_path)
}

fn cut_plan(args: &args::ServeArgs) -> Option<CutPlan> {
    let after = args.cut_after.map(|after| CutPlan::At(Instant::from_nanos(after.nanos)));
    after.or(args.cut_at_flush.map(CutPlan::Flush)).or(args.cut_at_write.map(CutPlan::Write))
}

/// Sets what a signal does, and starts the command of `--run`, if there is one: when it ends, the disk is stopped.
fn start_command(
    args: &args::ServeArgs,
    addresses: DiskAddresses,
    inbox: Inbox,
    mut signals: MutexGuard<'static, SignalState>,
    json: bool,
) -> Option<io::Result<BesideCommand>> {
    let stop_disk = {
        let inbox = inbox.clone();
        move || drop(inbox.send(DiskMessage::Stop))
    };
    let Some((program, arguments)) = args.command.split_first() else {
        signals.set_ending(stop_disk);
        return None;
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if json {
        // Standard output has only the receipt.
        command.stdout(Stdio::from(io::stderr()));
    }
    let DiskAddresses { uri, file, control } = addresses;
    for (name, value) in [("SEEKWISE_URI", uri), ("SEEKWISE_FILE", file), ("SEEKWISE_CONTROL", control)] {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    let started = BesideCommand::start(&mut command, stop_disk.clone());
    let started = started.map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")));
    match &started {
        Err(_) => stop_disk(),
        Ok(started) => {
            let send_signal = started.signal_sender();
            // The first signal goes to the command, which ends while it still has its disk. The second stops the disk, even if the
            // command still runs.
            signals.set_ending_by_signal(move |signal| {
                interrupt::lock_signals().set_ending(stop_disk.clone());
                if !send_signal(signal) {
                    stop_disk();
                }
            });
        }
    }
    Some(started)
}

/// A time in microseconds, or a dash if there is none.
fn format_micros(span: Option<Span>) -> String {
    span.map_or("–".to_owned(), |span| format!("{:.0}", span.nanos() as f64 / 1e3))
}

fn format_receipt(receipt: &Receipt) -> String {
    let Receipt { reads, writes, flushes, failures, cuts, seconds, .. } = receipt;
    let mut table = tables::new_table(["answers", "number", "p50 late us", "p99", "p99.9", "max", "over 200 us"]);
    tables::mark_figures_from(&mut table, 1);
    let (outside_lateness, outside_late) = receipt.lateness_outside_stalls();
    for (name, lateness, late) in
        [("all", &receipt.lateness, receipt.late), ("outside stalls", &outside_lateness, outside_late)]
    {
        let max = if name == "all" { Some(lateness.latest()) } else { lateness.quantile(1.0) };
        let quantiles = [0.5, 0.99, 0.999].map(|share| format_micros(lateness.quantile(share)));
        let row = [name.to_owned(), lateness.count().to_string()].into_iter().chain(quantiles);
        table.add_row(row.chain([format_micros(max), late.to_string()]));
    }
    let cut = match cuts {
        0 => String::new(),
        count => format!(
            " The power failed {count} {}; at the last failure {} acknowledged bytes were not on the medium.",
            if *count == 1 { "time" } else { "times" },
            receipt.at_risk_bytes
        ),
    };
    format!(
        "Served for {seconds:.1} s: {reads} reads, {writes} writes, {flushes} flushes; {failures} failed.{cut}\n\nHow \
         late answers left, compared with the model (in real time; percentiles are up to 3 % too high; \"over 200 us\" counts the \
         disk's time):\n{table}\n\n{}",
        machine_text(receipt, TransportCost::cost_sentence)
    )
}

/// The part of the machine in the lateness: the round trip, stalls, costs of each transport in words, and the verdict on its pace.
pub(super) fn machine_text(receipt: &Receipt, cost_words: fn(&TransportCost) -> String) -> String {
    let stalls = &receipt.stalls;
    let mut text = match receipt.path {
        Some(path) => format!(
            "The round trip alone took {} us (p99 {}), measured at the start; no figure has it subtracted.{}\n",
            format_micros(Some(path.p50)),
            format_micros(Some(path.p99)),
            match receipt.speed.0 {
                1.0 => String::new(),
                speed => format!(
                    " The disk's time runs {speed} times as fast, so in the disk's time it is {} us.",
                    format_micros(Some(receipt.speed.to_disk_time(path.p50)))
                ),
            }
        ),
        None => String::new(),
    };
    text.push_str(&format!(
        "The machine stalled {} times, for {} us in total and {} at most. The disk's thread was busy for {:.1} % of the time{}.\n",
        stalls.count,
        format_micros(Some(stalls.total)),
        format_micros(Some(stalls.longest)),
        100.0 * receipt.thread_busy_share(),
        if receipt.precedence { "" } else { ", without real-time priority (SCHED_FIFO was not permitted)" }
    ));
    for loss in receipt.transport_costs() {
        text.push_str(&format!("{}\n", cost_words(&loss)));
    }
    if let Some(words) = receipt.attendance.rejection_sentence() {
        text.push_str(&words);
        text.push('\n');
    }
    if receipt.refused_for_memory > 0 {
        text.push_str(&format!(
            "{} writes were refused (ENOSPC), because the contents of the disk had reached --max-memory. Run it again with a \
             larger --max-memory, or write less.\n",
            receipt.refused_for_memory
        ));
    }
    text.push_str(&receipt.pace_verdict().verdict_sentence());
    text
}

/// The receipt of a disk that was served so.
pub(super) fn receipt_json(target: &str, seed: u64, speed: f64, receipt: &Receipt) -> serde_json::Value {
    let pace = receipt.pace_verdict();
    let mut value = json!({
        "target": target,
        "seed": seed,
        "speed": speed,
        "precedence": receipt.precedence,
        "pace": pace.json_word(),
        "pace_why": pace.reason(),
    });
    let figures = value.as_object_mut().expect("it was made as one");
    figures.extend(
        receipt
            .named_figures()
            .into_iter()
            .chain(receipt.client_and_memory_figures())
            .map(|(name, figure)| (name.to_owned(), json_number(figure))),
    );
    value
}

/// A JSON number, without a decimal point if it is whole.
fn json_number(figure: f64) -> serde_json::Value {
    if figure.fract() == 0.0 { json!(figure as u64) } else { json!(figure) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_as_long_as_the_disk_at_most() {
        let base = tempfile::NamedTempFile::new().unwrap();
        base.as_file().set_len(4096).unwrap();
        let open = |bytes: u64| open_base(base.path(), bytes).map(drop).map_err(|why| why.0.concat());
        let why = "has 4096 bytes; expected at most 4095, the size of the disk";
        assert_eq!([open(4097), open(4096)], [Ok(()), Ok(())]);
        assert_eq!(open(4095), Err(format!("--base {}: {why}", base.path().display())));
    }

    /// Half of 2,000 answers are among the first 1,200, 99 of 100 among the first 1,990, and 999 of 1,000 among the
    /// first 1,999. Each size is a power of two of nanoseconds, and its quantile a thirty-second more: 2^20 and 2^15 ns
    /// are 1,081 us. The latest answer is told as it was, 2^23 ns; it left over a stall.
    #[test]
    fn the_receipt_s_quantiles_are_those_of_the_answers() {
        let sizes = [(20, 1200), (21, 790), (22, 9), (23, 1)];
        let late: Vec<u64> = sizes.into_iter().flat_map(|(power, count)| vec![1 << power; count]).collect();
        let due = |answer: usize| Instant::from_nanos(answer as u64 * 20_000_000);
        let mut receipt = Receipt { seconds: 40.0, ..Receipt::default() };
        for (answer, late) in late.into_iter().enumerate() {
            receipt.count_answer(due(answer), due(answer) + Span::from_nanos(late));
        }
        receipt.stalls.add(due(1999) + Span::from_millis(1), due(1999) + Span::from_millis(2));
        let text = format_receipt(&receipt);
        let row = |what: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_else(|| panic!("{text}"));
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(row("all "), ["2000", "1081", "2163", "4325", "8389", "2000"]);
        assert_eq!(row("outside stalls "), ["1999", "1081", "2163", "4325", "4325", "1999"]);
    }
}
