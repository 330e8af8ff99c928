//! `seekwise flush-audit`: whether a flush waits for the medium, by timing alone; on a folder, a device, an export, or a
//! modelled stack in virtual time.

use std::path::Path;

use seekwise::flush_audit::{
    AuditInterval, AuditJudgement, AuditSubject, AuditTimings, Certainty, ModelledStack, Overwrite,
    flush_gap_percentiles, flush_gap_picture, judge_timings, measure_timings,
};
use seekwise::pictures::{draw_svg, draw_terminal};
use seekwise::places::{LivePlace, PLACES, PlaceSource, RealTime, RemotePlace, find_place};
use seekwise::setup::{self, Seed};
use seekwise::time::Span;
use serde_json::json;

use super::{print_json, print_text, print_warnings};
use crate::args::FlushAuditArgs;
use crate::exit::{CommandAnswer, CommandError, CommandResult};
use crate::output::print_to_stderr;
use crate::progress::ProgressLine;
use crate::screen;
use crate::tables;
use seekwise::Files;

/// Pixels of the picture.
const PICTURE: (u32, u32) = (760, 400);
/// Rows of it in a terminal.
const ROWS: usize = 14;
/// Columns of it at most.
const COLUMNS: usize = 90;

/// Runs the command.
pub fn flush_audit(args: &FlushAuditArgs, files: &Files, json: bool) -> CommandResult {
    args.pictures.check_paths(args.force, &[&args.target])?;
    let opened = open_target(args, files)?;
    let OpenedSubject { mut subject, on, held, bench } = opened;
    let progress = ProgressLine::unknown("steps");
    let mut step = 0;
    let mut far = |_: &str| {
        step += 1;
        progress.set_done(step);
    };
    let wrong = |why: String| CommandError::new(format!("{}: {why}", args.target));
    let timings = measure_timings(subject.as_mut(), Seed(args.seed), &mut far).map_err(wrong);
    drop(progress);
    drop(subject);
    held.end()?;
    let timings = timings?;
    print_warnings(bench.changes_since_start());
    let judgement = judge_timings(&timings);
    let points = flush_gap_percentiles(&timings);
    args.pictures.write(args.force, || draw_svg(&flush_gap_picture(&points), PICTURE.0, PICTURE.1))?;
    match json {
        true => print_json(&as_json(args, &on, &judgement, &timings, &bench))?,
        false => print_text(&format_judgement(&on, &judgement, &points))?,
    }
    Ok(if judgement.verdict.is_safe() { CommandAnswer::Done } else { CommandAnswer::No })
}

/// The disk to audit, opened.
struct OpenedSubject {
    subject: Box<dyn AuditSubject>,
    /// A description for people.
    on: String,
    held: HeldSettings,
    bench: AuditBench,
}

impl OpenedSubject {
    /// A subject without settings of a device and without a test bench.
    fn without_settings(subject: Box<dyn AuditSubject>, on: String) -> OpenedSubject {
        OpenedSubject { subject, on, held: HeldSettings::default(), bench: AuditBench::default() }
    }
}

/// Opens the target; an existing path comes before a modelled drive.
fn open_target(args: &FlushAuditArgs, files: &Files) -> Result<OpenedSubject, CommandError> {
    let name = args.target.as_str();
    let path = ["file:", "device:"].iter().find_map(|scheme| name.strip_prefix(scheme));
    if let (None, Some((kind, rest))) = (path, find_place(PLACES, name)) {
        let found: (Box<dyn RealTime>, bool) = match (&kind.of, rest) {
            (PlaceSource::Address(_), Some(address)) => {
                (Box::new(RemotePlace::connect(address).map_err(CommandError::new)?), true)
            }
            (PlaceSource::Stack(_), Some(stack)) => {
                (Box::new(LivePlace::new(setup::build_stack(files, stack, &args.set)?.0)), false)
            }
            _ => return Err(CommandError::new(format!("{name}: no medium; expected a folder, a device or a drive"))),
        };
        return at_place(args, found.0.as_ref(), found.1);
    }
    let meta = std::fs::metadata(path.unwrap_or(name));
    match meta {
        Err(error) if path.is_some() => Err(CommandError::new(format!("{name}: {error}"))),
        Err(_) => open_modelled(args, files),
        Ok(meta) if meta.is_file() && path.is_none() && name.ends_with(".toml") => open_modelled(args, files),
        Ok(meta) if meta.is_file() => {
            let why = "is a file; existing files are never written; expected its folder";
            Err(CommandError::new(format!("{name}: {why}")))
        }
        Ok(meta) => real(args, Path::new(path.unwrap_or(name)), meta.is_dir()),
    }
}

fn open_modelled(args: &FlushAuditArgs, files: &Files) -> Result<OpenedSubject, CommandError> {
    refuse_disk_options(args, "a modelled disk")?;
    let (stack, changes, warnings) = setup::build_stack(files, &args.target, &args.set)?;
    print_warnings(&warnings);
    if let Some(change) = changes.first() {
        return Err(CommandError::new(format!(
            "`{}` changes during a run; expected settings that hold throughout the audit",
            change.key
        )));
    }
    let on = format!("{} as Seekwise models it, in virtual time", stack.profile.name);
    Ok(OpenedSubject::without_settings(Box::new(ModelledStack::new(&stack, Seed(args.seed))), on))
}

/// Refuses options that belong to folders and devices.
fn refuse_disk_options(args: &FlushAuditArgs, of: &str) -> Result<(), CommandError> {
    if let Some(name) = &args.destroy {
        return Err(CommandError::new(format!("--destroy {name}: {of} holds nothing to destroy")));
    }
    if args.size.is_some() {
        return Err(CommandError::new(format!("--size: {of} has a fixed size; only for folders")));
    }
    Ok(())
}

#[cfg(unix)]
fn at_place(args: &FlushAuditArgs, place: &dyn RealTime, remote: bool) -> Result<OpenedSubject, CommandError> {
    if remote {
        setup::reject_settings_without_stack(&args.set)?;
        place.may_write(args.destroy.as_deref()).map_err(CommandError::new)?;
        if args.size.is_some() {
            return Err(CommandError::new("--size: an export has a fixed size; only for folders"));
        }
    } else {
        refuse_disk_options(args, "a modelled disk")?;
    }
    let subject = seekwise::flush_audit::open_export(place, Seed(args.seed));
    Ok(OpenedSubject::without_settings(subject.map_err(CommandError::new)?, place.full_name()))
}

#[cfg(not(unix))]
fn at_place(args: &FlushAuditArgs, _: &dyn RealTime, _: bool) -> Result<OpenedSubject, CommandError> {
    Err(CommandError::new(format!("{}: not supported on this system", args.target)))
}

#[cfg(target_os = "linux")]
fn real(args: &FlushAuditArgs, path: &Path, folder: bool) -> Result<OpenedSubject, CommandError> {
    use seekwise::flush_audit::{DirectFile, may_write, read_bench};
    let wrong = |why: String| CommandError::new(format!("{}: {why}", path.display()));
    if folder {
        if let Some(name) = &args.destroy {
            return Err(wrong(format!(
                "--destroy {name}: nothing in a folder is destroyed; only for devices and exports"
            )));
        }
    } else {
        if args.size.is_some() {
            return Err(wrong("--size: a device has a fixed size; only for folders".to_owned()));
        }
        may_write(path, args.destroy.as_deref()).map_err(CommandError::new)?;
    }
    let held = HeldSettings::apply(args, path)?;
    let before = read_bench(path);
    let subject = match folder {
        true => DirectFile::create_in_folder(path, args.size, &mut |what| print_to_stderr(format!("{what} …"))),
        false => DirectFile::claim_device(path, args.destroy.as_deref()),
    };
    let on = match before.device.as_ref() {
        Some(device) => {
            let model = device.model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
            format!("{}, on {}{model}", path.display(), device.name)
        }
        None => path.display().to_string(),
    };
    let bench = AuditBench { path: path.to_owned(), before: Some(before) };
    Ok(OpenedSubject { subject: Box::new(subject.map_err(wrong)?), on, held, bench })
}

#[cfg(not(target_os = "linux"))]
fn real(args: &FlushAuditArgs, _: &Path, _: bool) -> Result<OpenedSubject, CommandError> {
    Err(CommandError::new(format!(
        "{}: real disks are only supported on Linux; expected a modelled drive",
        args.target
    )))
}

/// Settings of the device for as long as the audit lasts.
#[derive(Default)]
struct HeldSettings {
    #[cfg(target_os = "linux")]
    held: Option<seekwise::flush_audit::SettingsGuard>,
}

impl HeldSettings {
    #[cfg(target_os = "linux")]
    fn apply(args: &FlushAuditArgs, path: &Path) -> Result<HeldSettings, CommandError> {
        use seekwise::flush_audit::{DEVICE_KEYS, DeviceSettings};
        use seekwise::leftovers::restore_settings;
        setup::reject_repeated_keys(&args.set)?;
        let mut settings = DeviceSettings::default();
        for (key, value) in &args.set {
            let Some(below) = key.strip_prefix("real.") else {
                let known: Vec<String> = DEVICE_KEYS.iter().map(|(key, _)| format!("real.{key}")).collect();
                return Err(CommandError::new(format!(
                    "--set {key}={value}: {} is a real disk; expected {}",
                    path.display(),
                    known.join(", ")
                )));
            };
            settings.set(below, value).map_err(CommandError::new)?;
        }
        let held = settings.apply(path).map_err(CommandError::new)?;
        if let Some(record) = held.record_path().map(Path::to_owned) {
            // A signal ends the program without dropping anything.
            crate::interrupt::hold_signals().push_undo(move || {
                let _ = restore_settings(&record);
            });
        }
        Ok(HeldSettings { held: Some(held) })
    }

    fn end(self) -> Result<(), CommandError> {
        #[cfg(target_os = "linux")]
        if let Some(held) = self.held {
            return held.restore().map_err(CommandError::new);
        }
        Ok(())
    }
}

/// The test bench before the audit.
#[derive(Default)]
struct AuditBench {
    #[cfg(target_os = "linux")]
    path: std::path::PathBuf,
    #[cfg(target_os = "linux")]
    before: Option<seekwise::flush_audit::TestBench>,
}

impl AuditBench {
    /// Changes of the test bench since then.
    fn changes_since_start(&self) -> Vec<String> {
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            use seekwise::flush_audit::{changes_between, read_bench};
            return changes_between(before, &read_bench(&self.path));
        }
        Vec::new()
    }

    fn as_json(&self) -> serde_json::Value {
        #[cfg(target_os = "linux")]
        if let Some(before) = &self.before {
            return json!(before.clone().with_hashed_serial());
        }
        serde_json::Value::Null
    }
}

fn format_judgement(on: &str, said: &AuditJudgement, points: &[(f64, f64)]) -> String {
    let sure = match said.certainty {
        Certainty::Open => String::new(),
        certainty => format!(" ({})", certainty.words()),
    };
    let mut text = format!("{}{sure}: {on}\n", capitalize_first(said.verdict.words()));
    if let Some(found) = &said.revolution {
        let sold = found.commercial_speed().map_or(String::new(), |speed| format!("; nominal {speed:.0} rpm"));
        text += &format!("Speed: {:.0} rpm, {:.3} ms per revolution{sold}.\n", found.rpm, found.period_ms);
    }
    let why: String = said.why.iter().map(|why| format!("- {why}.\n")).collect();
    let width = screen::output_width();
    let head = screen::wrap_text(&format!("{text}\n{why}"), width);
    let picture = flush_gap_picture(points);
    let drawn = draw_terminal(&picture, width.min(COLUMNS), ROWS);
    let caption = screen::wrap_text(&format!("{} (a spindle makes steps)", picture.caption()), width);
    format!("{head}\n\n{}\n\n{caption}\n{drawn}", medians_table(said, width).trim_end())
}

fn medians_table(said: &AuditJudgement, width: usize) -> String {
    let of = &said.figures;
    let mut table = tables::new_table(["median of", "ms"]);
    tables::mark_figures_from(&mut table, 1);
    for (what, ms) in [
        ("a random read", of.read_ms),
        ("a second read of the same block", of.read_again_ms),
        ("an empty flush", of.empty_flush_ms),
        ("an overwrite of one block", of.write_ms),
        ("the flush after it", of.flush_ms),
        ("a forced overwrite", of.forced_ms),
        ("each of 32 scattered writes", of.scattered_write_ms),
        ("the flush after them", of.scattered_flush_ms),
        ("the slowest of 4 reads during a flush", of.read_beside_flush_ms),
    ] {
        table.add_row([what.to_owned(), format!("{ms:.3}")]);
    }
    if of.path_ms > 0.0 {
        table.add_row(["the round trip (included in all of them)".to_owned(), format!("{:.3}", of.path_ms)]);
    }
    table.draw(width)
}

fn capitalize_first(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn as_json(
    args: &FlushAuditArgs,
    on: &str,
    said: &AuditJudgement,
    timings: &AuditTimings,
    bench: &AuditBench,
) -> serde_json::Value {
    let spans = |spans: &[Span]| spans.iter().map(|span| span.nanos()).collect::<Vec<u64>>();
    let took = |it: &AuditInterval| json!({ "from_ns": it.from.nanos(), "to_ns": it.to.nanos() });
    let overwrite =
        |it: &Overwrite| json!({ "pause_ns": it.pause.nanos(), "write": took(&it.write), "flush": took(&it.flush) });
    let mut value = serde_json::to_value(said).expect("a judgement has no keys but strings");
    value["target"] = json!(args.target);
    value["on"] = json!(on);
    value["seed"] = json!(args.seed);
    value["bench"] = bench.as_json();
    value["timings"] = json!({
        "reads_ns": spans(&timings.reads),
        "reads_again_ns": spans(&timings.again),
        "empty_flushes_ns": spans(&timings.empty),
        "overwrites": timings.overwrites.iter().map(overwrite).collect::<Vec<_>>(),
        "forced": timings.forced.iter().map(took).collect::<Vec<_>>(),
        "scattered": timings.rounds.iter().map(|it| json!({
            "writes_ns": it.writes.nanos(), "flush_ns": it.flush.nanos(),
        })).collect::<Vec<_>>(),
        "beside": timings.beside.iter().map(|it| json!({
            "flush_ns": it.flush.nanos(), "slowest_read_ns": it.slowest.nanos(),
        })).collect::<Vec<_>>(),
        "elsewhere": timings.elsewhere.iter().map(|it| json!({
            "place": it.place, "first": overwrite(&it.first), "other": overwrite(&it.other),
            "forced": it.forced.iter().map(took).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    value
}
