//! `seekwise flush-audit`: judges by timing alone whether a flush waits until the medium has the data, on a folder, a device, an
//! export of a network block device, or a modelled stack in virtual time.

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

/// Width and height of the picture in pixels.
const PICTURE_PIXELS: (u32, u32) = (760, 400);
/// The lines of the picture in a terminal.
const PICTURE_LINES: usize = 14;
/// The most columns of the picture in a terminal.
const MOST_PICTURE_COLUMNS: usize = 90;

/// Runs the command.
pub fn run_command(args: &FlushAuditArgs, files: &Files, json: bool) -> CommandResult {
    args.pictures.check_paths(args.force, &[&args.target])?;
    let OpenedSubject { mut subject, description, settings, bench } = open_target(args, files)?;
    let progress = ProgressLine::unknown("steps");
    let mut step = 0;
    let mut count_step = |_: &str| {
        step += 1;
        progress.set_done(step);
    };
    let target_error = |why: String| CommandError::new(format!("{}: {why}", args.target));
    let timings = measure_timings(subject.as_mut(), Seed(args.seed), &mut count_step).map_err(target_error);
    drop(progress);
    drop(subject);
    settings.restore()?;
    let timings = timings?;
    print_warnings(bench.changes_since_start());
    let judgement = judge_timings(&timings);
    let points = flush_gap_percentiles(&timings);
    args.pictures.write(args.force, || draw_svg(&flush_gap_picture(&points), PICTURE_PIXELS.0, PICTURE_PIXELS.1))?;
    match json {
        true => print_json(&judgement_json(args, &description, &judgement, &timings, &bench))?,
        false => print_text(&format_judgement(&description, &judgement, &points))?,
    }
    Ok(if judgement.verdict.is_safe() { CommandAnswer::Done } else { CommandAnswer::No })
}

/// The disk to audit, opened.
struct OpenedSubject {
    subject: Box<dyn AuditSubject>,
    /// The name of the disk in the output.
    description: String,
    settings: HeldSettings,
    bench: AuditBench,
}

impl OpenedSubject {
    /// A subject without settings of a device and without a test bench.
    fn without_settings(subject: Box<dyn AuditSubject>, description: String) -> OpenedSubject {
        OpenedSubject { subject, description, settings: HeldSettings::default(), bench: AuditBench::default() }
    }
}

/// Opens the target of the audit. A name that is both an existing path and a modelled drive means the path.
fn open_target(args: &FlushAuditArgs, files: &Files) -> Result<OpenedSubject, CommandError> {
    let name = args.target.as_str();
    let path = ["file:", "device:"].iter().find_map(|scheme| name.strip_prefix(scheme));
    if let (None, Some((kind, rest))) = (path, find_place(PLACES, name)) {
        return match (&kind.of, rest) {
            (PlaceSource::Address(_), Some(address)) => {
                open_place(args, &RemotePlace::connect(address).map_err(CommandError::new)?, true)
            }
            (PlaceSource::Stack(_), Some(stack)) => {
                open_place(args, &LivePlace::new(setup::build_stack(files, stack, &args.set)?.0), false)
            }
            _ => Err(CommandError::new(format!("{name}: no medium; expected a folder, a device or a drive"))),
        };
    }
    let metadata = std::fs::metadata(path.unwrap_or(name));
    match metadata {
        Err(error) if path.is_some() => Err(CommandError::new(format!("{name}: {error}"))),
        Err(_) => open_modelled(args, files),
        Ok(metadata) if metadata.is_file() && path.is_none() && name.ends_with(".toml") => open_modelled(args, files),
        Ok(metadata) if metadata.is_file() => {
            let why = "is a file; existing files are never written; expected its folder";
            Err(CommandError::new(format!("{name}: {why}")))
        }
        Ok(metadata) => open_folder_or_device(args, Path::new(path.unwrap_or(name)), metadata.is_dir()),
    }
}

/// Opens a modelled drive or stack.
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
    let description = format!("{} as Seekwise models it, in virtual time", stack.profile.name);
    Ok(OpenedSubject::without_settings(Box::new(ModelledStack::new(&stack, Seed(args.seed))), description))
}

/// Refuses options that apply to folders and devices only; `target` names what is audited instead.
fn refuse_disk_options(args: &FlushAuditArgs, target: &str) -> Result<(), CommandError> {
    if let Some(name) = &args.destroy {
        return Err(CommandError::new(format!("--destroy {name}: {target} holds nothing to destroy")));
    }
    if args.size.is_some() {
        return Err(CommandError::new(format!("--size: {target} has a fixed size; only for folders")));
    }
    Ok(())
}

/// Opens an export of a network block device (`is_remote`), or a modelled stack that runs in real time.
#[cfg(unix)]
fn open_place(args: &FlushAuditArgs, place: &dyn RealTime, is_remote: bool) -> Result<OpenedSubject, CommandError> {
    if is_remote {
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
fn open_place(args: &FlushAuditArgs, _: &dyn RealTime, _: bool) -> Result<OpenedSubject, CommandError> {
    Err(CommandError::new(format!("{}: not supported on this system", args.target)))
}

/// Opens a real disk: a new file in a folder, or a whole device.
#[cfg(target_os = "linux")]
fn open_folder_or_device(args: &FlushAuditArgs, path: &Path, is_folder: bool) -> Result<OpenedSubject, CommandError> {
    use seekwise::flush_audit::{DirectFile, may_write, read_bench};
    let path_error = |why: String| CommandError::new(format!("{}: {why}", path.display()));
    if is_folder {
        if let Some(name) = &args.destroy {
            return Err(path_error(format!(
                "--destroy {name}: nothing in a folder is destroyed; only for devices and exports"
            )));
        }
    } else {
        if args.size.is_some() {
            return Err(path_error("--size: a device has a fixed size; only for folders".to_owned()));
        }
        may_write(path, args.destroy.as_deref()).map_err(CommandError::new)?;
    }
    let settings = HeldSettings::apply(args, path)?;
    let before = read_bench(path);
    let subject = match is_folder {
        true => DirectFile::create_in_folder(path, args.size, &mut |step| print_to_stderr(format!("{step} …"))),
        false => DirectFile::claim_device(path, args.destroy.as_deref()),
    };
    let description = match before.device.as_ref() {
        Some(device) => {
            let model = device.model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
            format!("{}, on {}{model}", path.display(), device.name)
        }
        None => path.display().to_string(),
    };
    let bench = AuditBench { path: path.to_owned(), before: Some(before) };
    Ok(OpenedSubject { subject: Box::new(subject.map_err(path_error)?), description, settings, bench })
}

#[cfg(not(target_os = "linux"))]
fn open_folder_or_device(args: &FlushAuditArgs, _: &Path, _: bool) -> Result<OpenedSubject, CommandError> {
    Err(CommandError::new(format!(
        "{}: real disks are only supported on Linux; expected a modelled drive",
        args.target
    )))
}

/// Settings of the device that are in force during the audit, and restored afterwards.
#[derive(Default)]
struct HeldSettings {
    #[cfg(target_os = "linux")]
    guard: Option<seekwise::flush_audit::SettingsGuard>,
}

impl HeldSettings {
    /// Applies the settings of `--set` to the device; a signal restores them, too.
    #[cfg(target_os = "linux")]
    fn apply(args: &FlushAuditArgs, path: &Path) -> Result<HeldSettings, CommandError> {
        use seekwise::flush_audit::{DEVICE_KEYS, DeviceSettings};
        use seekwise::leftovers::restore_settings;
        setup::reject_repeated_keys(&args.set)?;
        let mut settings = DeviceSettings::default();
        for (key, value) in &args.set {
            let Some(setting) = key.strip_prefix("real.") else {
                let known: Vec<String> = DEVICE_KEYS.iter().map(|(key, _)| format!("real.{key}")).collect();
                return Err(CommandError::new(format!(
                    "--set {key}={value}: {} is a real disk; expected {}",
                    path.display(),
                    known.join(", ")
                )));
            };
            settings.set(setting, value).map_err(CommandError::new)?;
        }
        let guard = settings.apply(path).map_err(CommandError::new)?;
        if let Some(record) = guard.record_path().map(Path::to_owned) {
            // A signal ends the program without dropping the guard.
            crate::interrupt::lock_signals().push_undo(move || {
                let _ = restore_settings(&record);
            });
        }
        Ok(HeldSettings { guard: Some(guard) })
    }

    fn restore(self) -> Result<(), CommandError> {
        #[cfg(target_os = "linux")]
        if let Some(guard) = self.guard {
            return guard.restore().map_err(CommandError::new);
        }
        Ok(())
    }
}

/// The machine and the device (kernel, model, settings) as they were before the audit.
#[derive(Default)]
struct AuditBench {
    #[cfg(target_os = "linux")]
    path: std::path::PathBuf,
    #[cfg(target_os = "linux")]
    before: Option<seekwise::flush_audit::TestBench>,
}

impl AuditBench {
    /// The differences between the machine and device then and now.
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

fn format_judgement(description: &str, judgement: &AuditJudgement, points: &[(f64, f64)]) -> String {
    let certainty = match judgement.certainty {
        Certainty::Open => String::new(),
        certainty => format!(" ({})", certainty.words()),
    };
    let mut text = format!("{}{certainty}: {description}\n", capitalize_first(judgement.verdict.words()));
    if let Some(revolution) = &judgement.revolution {
        let nominal = revolution.commercial_speed().map_or(String::new(), |speed| format!("; nominal {speed:.0} rpm"));
        text += &format!("Speed: {:.0} rpm, {:.3} ms per revolution{nominal}.\n", revolution.rpm, revolution.period_ms);
    }
    let why: String = judgement.why.iter().map(|why| format!("- {why}.\n")).collect();
    let width = screen::output_width();
    let heading = screen::wrap_text(&format!("{text}\n{why}"), width);
    let picture = flush_gap_picture(points);
    let drawn = draw_terminal(&picture, width.min(MOST_PICTURE_COLUMNS), PICTURE_LINES);
    let caption = screen::wrap_text(&format!("{} (a spindle makes steps)", picture.caption()), width);
    format!("{heading}\n\n{}\n\n{caption}\n{drawn}", medians_table(judgement, width).trim_end())
}

fn medians_table(judgement: &AuditJudgement, width: usize) -> String {
    let figures = &judgement.figures;
    let mut table = tables::new_table(["median of", "ms"]);
    tables::mark_figures_from(&mut table, 1);
    for (name, ms) in [
        ("a random read", figures.read_ms),
        ("a second read of the same block", figures.read_again_ms),
        ("an empty flush", figures.empty_flush_ms),
        ("an overwrite of one block", figures.write_ms),
        ("the flush after it", figures.flush_ms),
        ("a forced overwrite", figures.forced_ms),
        ("each of 32 scattered writes", figures.scattered_write_ms),
        ("the flush after them", figures.scattered_flush_ms),
        ("the slowest of 4 reads during a flush", figures.read_beside_flush_ms),
    ] {
        table.add_row([name.to_owned(), format!("{ms:.3}")]);
    }
    if figures.path_ms > 0.0 {
        table.add_row(["the round trip (included in all of them)".to_owned(), format!("{:.3}", figures.path_ms)]);
    }
    table.draw(width)
}

fn capitalize_first(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn judgement_json(
    args: &FlushAuditArgs,
    description: &str,
    judgement: &AuditJudgement,
    timings: &AuditTimings,
    bench: &AuditBench,
) -> serde_json::Value {
    let spans = |spans: &[Span]| spans.iter().map(|span| span.nanos()).collect::<Vec<u64>>();
    let interval = |timing: &AuditInterval| json!({ "from_ns": timing.from.nanos(), "to_ns": timing.to.nanos() });
    let overwrite = |timing: &Overwrite| {
        let (write, flush) = (interval(&timing.write), interval(&timing.flush));
        json!({ "pause_ns": timing.pause.nanos(), "write": write, "flush": flush })
    };
    let mut value = serde_json::to_value(judgement).expect("a judgement has no keys but strings");
    value["target"] = json!(args.target);
    value["on"] = json!(description);
    value["seed"] = json!(args.seed);
    value["bench"] = bench.as_json();
    value["timings"] = json!({
        "reads_ns": spans(&timings.reads),
        "reads_again_ns": spans(&timings.again),
        "empty_flushes_ns": spans(&timings.empty),
        "overwrites": timings.overwrites.iter().map(overwrite).collect::<Vec<_>>(),
        "forced": timings.forced.iter().map(interval).collect::<Vec<_>>(),
        "scattered": timings.rounds.iter().map(|timing| json!({
            "writes_ns": timing.writes.nanos(), "flush_ns": timing.flush.nanos(),
        })).collect::<Vec<_>>(),
        "beside": timings.beside.iter().map(|timing| json!({
            "flush_ns": timing.flush.nanos(), "slowest_read_ns": timing.slowest.nanos(),
        })).collect::<Vec<_>>(),
        "elsewhere": timings.elsewhere.iter().map(|timing| json!({
            "place": timing.place, "first": overwrite(&timing.first), "other": overwrite(&timing.other),
            "forced": timing.forced.iter().map(interval).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
    });
    value
}
