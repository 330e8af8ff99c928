//! `seekwise serve`: a modelled stack as a network block device, until Ctrl-C or the end of a command; then what passed,
//! and how well the clock kept up with the model.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::Sender;
use std::thread;

use seekwise_model::block::SECTOR;
use seekwise_model::rng::Seed;
use seekwise_model::stack::Stack;
use seekwise_model::time::{Instant, Span};
use seekwise_targets::bytes::{Bytes, Platters};
use seekwise_targets::live::{Disk, Message, Plan, Receipt};
use seekwise_targets::nbd::Export;
use seekwise_targets::serve::{Address, Doors, serve as served};
use serde_json::json;

use super::{print, print_json, warn};
use crate::args;
use crate::exit::{Answer, Failure, Outcome};
use crate::files::spoken;
use crate::interrupt;
use crate::output::say;
use crate::tables;
use crate::target;

/// The share of answers that may leave later than the budget with --strict: the machine's own stalls are more than one in
/// a thousand on a shared one.
const STRICT: f64 = 0.01;

/// Requests no longer than this are asked of clients, however long the stack takes them: what a disk's command carries at
/// most, and what one client can have here twice.
const LARGEST: u64 = 32 << 20;

/// Runs the command.
pub fn serve(args: &args::Serve, json: bool) -> Outcome {
    if !args.nbd.is_local() && !args.expose {
        return Err(Failure::new(format!(
            "--nbd {}: everybody who reaches this address could read and write the disk; expected 127.0.0.1 or a unix \
             socket, or --expose",
            args.nbd.uri()
        )));
    }
    let (stack, warnings) = target::stack(&args.target, &args.set)?;
    warn(&warnings);
    fits(&stack)?;
    let device = stack.build(Seed(args.seed));
    let limits = device.limits(0);
    let bytes = limits.sectors * SECTOR;
    let platters = args.image.as_deref().map(|path| image(path, bytes)).transpose()?;
    let export = Export {
        description: format!("{} as Seekwise models it", stack.profile.name),
        bytes,
        smallest: limits.logical,
        preferred: limits.physical.max(4096),
        largest: (u64::from(limits.max_transfer) * SECTOR).min(LARGEST) as u32,
    };
    let control = control(args);
    let doors = Doors::open(&args.nbd, control.as_deref())
        .map_err(|error| Failure::new(format!("{}: {error}", args.nbd.uri())))?;
    let uri = doors.address().uri();
    say(format!("Serving {}, {:.1} GB, at {uri}", spoken(&args.target), bytes as f64 / 1e9));
    if let Some(control) = &control {
        say(format!("Orders: seekwise power cut --at {}", control.display()));
    }
    let disk = Disk::new(device, Bytes::on(platters.unwrap_or_default()), args.speed, plan(args));
    let mut child = None;
    let receipt = served(disk, export, doors, |messages| child = begin(args, &uri, control.as_deref(), messages));
    let receipt = receipt.map_err(|error| Failure::new(format!("the image: {error}")))?;
    let failed = child.transpose().map_err(Failure::new)?.and_then(|running| running.join().ok()).unwrap_or(false);
    match json {
        true => print_json(&as_json(args, &receipt))?,
        false => print(&text(&receipt))?,
    }
    let late = receipt.requests > 0 && receipt.late as f64 > receipt.requests as f64 * STRICT;
    Ok(if failed || args.strict && late { Answer::No } else { Answer::Done })
}

/// Changes at instants of a run have no place where there is no run; and where a drive of an array is lost, nothing holds
/// its bytes.
fn fits(stack: &Stack) -> Result<(), Failure> {
    if stack.array().is_some_and(|array| array.lost != 0) {
        return Err(Failure::new("array.lose: an array is served with all of its drives, or not at all"));
    }
    if let Some(change) = stack.changes.first() {
        return Err(Failure::new(format!(
            "`{}` changes during a run, and nothing is run here; expected `seekwise set {}={}` when it is time",
            change.key, change.key, change.value
        )));
    }
    Ok(())
}

/// The file of the platters: made if it is not there, and nobody else's meanwhile.
fn image(path: &Path, bytes: u64) -> Result<Platters, Failure> {
    let wrong = |what: String| Failure::new(format!("--image {}: {what}", path.display()));
    let opened = File::options().read(true).write(true).create(true).truncate(false).open(path);
    let file = opened.map_err(|error| wrong(error.to_string()))?;
    if file.try_lock().is_err() {
        return Err(wrong("another server has it".to_owned()));
    }
    let length = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
    if length != 0 && length != bytes {
        return Err(wrong(format!("has {length} bytes; expected {bytes}, as the disk has, or no file")));
    }
    file.set_len(bytes).map_err(|error| wrong(error.to_string()))?;
    Ok(Platters::File(file))
}

fn control(args: &args::Serve) -> Option<PathBuf> {
    let beside = || match &args.nbd {
        Address::Unix(path) => Some(PathBuf::from(format!("{}.control", path.display()))),
        Address::Tcp(_) => None,
    };
    args.control.clone().or_else(beside)
}

fn plan(args: &args::Serve) -> Option<Plan> {
    let after = args.cut_after.map(|after| Plan::At(Instant::from_nanos(after.nanos)));
    after.or(args.cut_at_flush.map(Plan::Flush)).or(args.cut_at_write.map(Plan::Write))
}

/// Whether a command failed, once it has ended.
type Running = thread::JoinHandle<bool>;

/// Lets a signal end it in order, and starts the command of --run, with whose end it ends.
fn begin(
    args: &args::Serve,
    uri: &str,
    control: Option<&Path>,
    messages: Sender<Message>,
) -> Option<io::Result<Running>> {
    let stop = messages.clone();
    interrupt::hold().end_with(move || {
        let _ = stop.send(Message::Stop);
    });
    let (program, arguments) = args.command.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).env("SEEKWISE_URI", uri);
    if let Some(control) = control {
        command.env("SEEKWISE_CONTROL", control);
    }
    let child = command.spawn().map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")));
    if child.is_err() {
        let _ = messages.send(Message::Stop);
    }
    Some(child.map(|child| thread::spawn(move || wait(child, &messages))))
}

fn wait(mut child: Child, messages: &Sender<Message>) -> bool {
    let failed = !child.wait().is_ok_and(|status| status.success());
    let _ = messages.send(Message::Stop);
    failed
}

/// Microseconds, where there are any.
fn micros(span: Option<Span>) -> String {
    span.map_or("–".to_owned(), |span| format!("{:.0}", span.nanos() as f64 / 1e3))
}

fn text(receipt: &Receipt) -> String {
    let Receipt { requests, reads, writes, flushes, failures, late, stalled, cuts, seconds, .. } = receipt;
    let mut table = tables::table(["answers", "p50 late us", "p99", "p99.9", "max", "over 200 us", "over 1 ms"]);
    tables::figures_from(&mut table, 0);
    table.add_row([
        requests.to_string(),
        micros(receipt.quantile(0.5)),
        micros(receipt.quantile(0.99)),
        micros(receipt.quantile(0.999)),
        micros(Some(receipt.latest)),
        late.to_string(),
        stalled.to_string(),
    ]);
    let cut = match cuts {
        0 => String::new(),
        n => format!(" The power failed {n} times; {} bytes were not on the medium then.", receipt.at_risk_bytes),
    };
    format!(
        "Served for {seconds:.1} s: {reads} reads, {writes} writes, {flushes} flushes; {failures} failed.{cut}\n\nHow late \
         answers left beside the model's instants (quantiles up to a factor of two):\n{table}"
    )
}

fn as_json(args: &args::Serve, receipt: &Receipt) -> serde_json::Value {
    let late = |share| receipt.quantile(share).map(|span| span.nanos() as f64 / 1e3);
    json!({
        "target": args.target,
        "seed": args.seed,
        "speed": args.speed,
        "seconds": receipt.seconds,
        "requests": receipt.requests,
        "reads": receipt.reads,
        "writes": receipt.writes,
        "flushes": receipt.flushes,
        "failures": receipt.failures,
        "power_cuts": receipt.cuts,
        "at_risk_bytes": receipt.at_risk_bytes,
        "lateness_us": {
            "p50": late(0.5), "p99": late(0.99), "p99_9": late(0.999), "max": receipt.latest.nanos() as f64 / 1e3,
        },
        "over_200_us": receipt.late,
        "over_1_ms": receipt.stalled,
    })
}
