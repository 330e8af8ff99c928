//! `seekwise fit`: what was measured of a drive becomes its profile.

mod journal;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use seekwise_formats::profile::{self, DriveFile};
use seekwise_lab::catalogue;
use seekwise_lab::fit::data::{Data, Part};
use seekwise_lab::fit::search::Effort;
use seekwise_lab::fit::sources::{self, Named};
use seekwise_lab::fit::{self, parameter, report, write};
use seekwise_lab::inputs::sha256;

use super::{print, print_json, warn};
use crate::args;
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, Kind};
use crate::output::{admit, write_whole};
use crate::progress::Progress;
use journal::Journal;

/// What the fit is made from.
struct Given {
    /// The profile's text, and what it says.
    text: String,
    drive: DriveFile,
    data: Vec<Data>,
    /// All texts and options in one hash: an interrupted fit goes on with the same ones only.
    hash: String,
}

/// Runs the command.
pub fn fit(args: &args::Fit, json: bool) -> Outcome {
    for path in std::iter::once(&args.out).chain(&args.page) {
        admit(path, args.force)?;
    }
    let given = given(args)?;
    let parameters = parameter::of(&given.drive, &args.only);
    if parameters.is_empty() {
        return Err(nothing(args));
    }
    let (journal, known) = Journal::open(&args.out, &given.hash, args)?;
    let fitted = searched(args, &given, parameters, &journal, known)?;
    let report = report::report(&given.drive, &given.data, &fitted)?;
    let stem = args.out.file_stem().map_or("fitted".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let profile = write::profile(&given.text, &given.drive, &fitted, &stem, &shares(&given.data))
        .map_err(|why| Failure::new(format!("{}: {why}", args.drive)))?;
    // What is written is what will be read: a profile that its own reader refuses is a fault of ours.
    profile::parse(&args.out.to_string_lossy(), &profile)?.profile()?;
    let written = |path: &PathBuf, text: &str| {
        write_whole(path, text.as_bytes()).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
    };
    written(&args.out, &profile)?;
    if let Some(page) = &args.page {
        written(page, &fit::page::page(&given.drive.title, &report, &shares(&given.data)))?;
    }
    journal.done();
    warn(&report.warnings);
    if json {
        print_json(&report)?;
    } else {
        print(&text::text(&args.out, &report))?;
    }
    Ok(Answer::Done)
}

fn nothing(args: &args::Fit) -> Failure {
    let why =
        if args.only.is_empty() { "every figure is stated or measured" } else { "--only names no figure that moves" };
    Failure::new(format!("{}: nothing of it may move: {why}; `seekwise keys drive` lists the keys", args.drive))
}

/// Reads all that is given.
fn given(args: &args::Fit) -> Result<Given, Failure> {
    let named: Vec<Named> = args.data.iter().map(|text| Named::parse(text)).collect::<Result<_, _>>()?;
    let files: Vec<&str> = named.iter().map(|named| named.file.as_str()).chain([args.drive.as_str()]).collect();
    files::one_standard_input(&files)?;
    let text = match (catalogue::text(&args.drive), files::find(&args.drive)?) {
        (None, Some(text)) => {
            files::expect(&args.drive, &text, &[Kind::Profile])?;
            text
        }
        (Some(text), _) => text.to_owned(),
        (None, None) => return Err(catalogue::load(&args.drive).map_or_else(Failure::from, |_| Failure::new(""))),
    };
    let drive = profile::parse(&args.drive, &text)?;
    known_keys(&args.only)?;
    let mut all = format!("{} {} {}\n{text}", args.hold, args.generations, args.only.join(","));
    let mut texts = Vec::new();
    for named in &named {
        let read = files::read(&named.file)?;
        all.push_str(&format!("\n{named:?}\n{read}"));
        texts.push(read);
    }
    let (mut data, warnings) = sources::data(&named, &texts, args.hold, &drive, &text)?;
    warn(&warnings);
    for (named, file) in named.iter().filter_map(|named| Some((named, named.beside.as_ref()?))) {
        sources::beside::put(&mut data, named, file, &files::read(file)?)?;
    }
    if data.iter().all(|data| data.count(Part::Seen) == 0) {
        return Err(Failure::new(
            "all data are held back or left out: there is nothing to fit to; expected hold=none of some",
        ));
    }
    Ok(Given { hash: sha256(all.as_bytes()), text, drive, data })
}

/// An error for what `--only` names that is no key.
fn known_keys(only: &[String]) -> Result<(), Failure> {
    let keys = || profile::keys::KEYS.iter().map(|key| key.path);
    for name in only {
        let below = format!("{name}.");
        if !keys().any(|key| key == name || key.starts_with(&below)) {
            let fault = seekwise_formats::diagnostic::Diagnostic::at("--only", 0, "unknown key").key(name);
            return Err(fault.nearest_to(name, keys()).into());
        }
    }
    Ok(())
}

/// Searches, with a line of how far it is.
fn searched(
    args: &args::Fit,
    given: &Given,
    parameters: Vec<parameter::Parameter>,
    journal: &Journal,
    known: BTreeMap<String, Vec<f64>>,
) -> Result<fit::Fitted, Failure> {
    let effort = Effort { generations: args.generations as usize };
    let progress = Progress::unknown("points");
    let best = std::sync::Mutex::new(f64::MAX);
    let heard = |name: &str, answer: &[f64], was_known: bool| {
        progress.one();
        let mut best = best.lock().expect("no holder panics");
        if name.starts_with("Seen") && answer[0] < *best {
            *best = answer[0];
            progress.what(&format!("best error {:.4}", *best));
        }
        drop(best);
        if !was_known {
            journal.write(name, answer);
        }
    };
    let fitted = fit::fit(&given.drive, parameters, &given.data, effort, known, &heard);
    drop(progress);
    journal.failure().map_or(Ok(fitted), Err)
}

/// What was fitted to, and how much of it, in words.
fn shares(data: &[Data]) -> String {
    let one = |data: &Data| match data {
        Data::Traced(traced) => {
            let file = traced.file.rsplit(['/', '\\']).next().unwrap_or(&traced.file);
            format!("rows 1 to {} of the {} of {file}", traced.seen, traced.trace.rows.len())
        }
        Data::Points(points) => {
            format!("{} of {} jobs with figures", data.count(Part::Seen), points.len())
        }
    };
    let list: Vec<String> = data.iter().map(one).collect();
    format!("fitted by `seekwise fit` to {}; what it did not see stood against each change", list.join(" and "))
}
