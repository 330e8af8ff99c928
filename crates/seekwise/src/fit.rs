//! A fit: what was measured of a drive becomes its profile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use seekwise_formats::profile::{self, DriveFile};
use seekwise_lab::catalogue;
use seekwise_lab::digest::sha256;
use seekwise_lab::fit::data::{DataSplit, FitData};
use seekwise_lab::fit::evaluator::FitListener;
use seekwise_lab::fit::report::FitReport;
use seekwise_lab::fit::search::SearchEffort;
use seekwise_lab::fit::sources::{self, FileArgument};
use seekwise_lab::fit::{self, parameter, report, write};
use seekwise_os::clock::Clock;

use crate::bounds::wall;
use crate::error::Error;
use crate::journal::SearchJournal;
use crate::observer::Observer;
use crate::reading::{self, FileKind};
use crate::study::warn;
use crate::whole::{admit, write_whole};

/// What is fitted to what.
#[derive(Clone, Debug)]
pub struct Fit {
    /// What was measured: FILE, or FILE,KEY=VALUE,… with what held meanwhile.
    pub data: Vec<String>,
    /// The drive to begin with: a name, or a profile file.
    pub drive: String,
    /// The share that the search does not see.
    pub hold: f64,
    /// Keys, or sections of keys, that move; empty for all that may.
    pub only: Vec<String>,
    /// The fitted profile goes to this file.
    pub out: PathBuf,
    /// A page with tables and pictures goes to this file.
    pub page: Option<PathBuf>,
    /// Generations of the search.
    pub generations: u32,
    /// Go on with a fit that was interrupted.
    pub resume: bool,
    /// Replace files that are there.
    pub force: bool,
}

/// What the fit is made from.
struct Given {
    /// The profile's text, and what it says.
    text: String,
    drive: DriveFile,
    data: Vec<FitData>,
    /// All texts and options in one hash: an interrupted fit goes on with the same ones only.
    hash: String,
}

/// Fits; the profile is written when it is done. The observer may cancel it from point to point: the points stay in the journal
/// beside the profile, and [`Fit::resume`] goes on with them.
pub fn fit(fit: &Fit, observer: &dyn Observer) -> Result<FitReport, Error> {
    for path in std::iter::once(&fit.out).chain(&fit.page) {
        admit(path, fit.force)?;
    }
    let given = given(fit)?;
    let parameters = parameter::of(&given.drive, &fit.only);
    if parameters.is_empty() {
        return Err(nothing(fit));
    }
    let (journal, known) = SearchJournal::open(&fit.out, &given.hash, fit.resume, fit.force)?;
    // From now on points are kept.
    observer.begin(None, 0, "points");
    let (fitted, search) = searched(fit, &given, parameters, &journal, known, observer)?;
    let report = report::report(&given.drive, &given.data, &fitted)?;
    let stem = fit.out.file_stem().map_or("fitted".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let profile = write::profile(&given.text, &given.drive, &fitted, &stem, &shares(&given.data))
        .map_err(|why| Error::new(format!("{}: {why}", fit.drive)))?;
    // What is written is what will be read: a profile that its own reader refuses is a fault of ours.
    profile::parse(&fit.out.to_string_lossy(), &profile)?.profile()?;
    let written = |path: &PathBuf, text: &str| {
        write_whole(path, text.as_bytes()).map_err(|error| Error::new(format!("{}: {error}", path.display())))
    };
    written(&fit.out, &profile)?;
    if let Some(page) = &fit.page {
        written(page, &fit::page::page(&given.drive.title, &report, &shares(&given.data), &search))?;
    }
    journal.done();
    warn(&report.warnings);
    Ok(report)
}

fn nothing(args: &Fit) -> Error {
    let why = if args.only.is_empty() {
        "all figures are from a datasheet or measured"
    } else {
        "--only names no figure that can be fitted"
    };
    Error::new(format!("{}: nothing to fit: {why}; `seekwise keys drive` lists the keys", args.drive))
}

/// Reads all that is given.
fn given(args: &Fit) -> Result<Given, Error> {
    let named: Vec<FileArgument> = args.data.iter().map(|text| FileArgument::parse(text)).collect::<Result<_, _>>()?;
    let files: Vec<&str> = named.iter().map(|named| named.file.as_str()).chain([args.drive.as_str()]).collect();
    reading::one_standard_input(&files)?;
    let text = match (catalogue::text(&args.drive), reading::find(&args.drive)?) {
        (None, Some(text)) => {
            reading::expect(&args.drive, &text, &[FileKind::Profile])?;
            text
        }
        (Some(text), _) => text.to_owned(),
        (None, None) => return Err(catalogue::load(&args.drive).map_or_else(Error::from, |_| Error::new(""))),
    };
    let drive = profile::parse(&args.drive, &text)?;
    known_keys(&args.only)?;
    let mut all = format!("{} {} {}\n{text}", args.hold, args.generations, args.only.join(","));
    let mut texts = Vec::new();
    for named in &named {
        let read = reading::read(&named.file)?;
        all.push_str(&format!("\n{named:?}\n{read}"));
        texts.push(read);
    }
    let (mut data, warnings) = sources::data(&named, &texts, args.hold, &drive, &text)?;
    warn(&warnings);
    for (named, file) in named.iter().filter_map(|named| Some((named, named.beside.as_ref()?))) {
        sources::beside::put(&mut data, named, file, &reading::read(file)?)?;
    }
    if data.iter().all(|data| data.count(DataSplit::Seen) == 0) {
        return Err(Error::new(
            "all data is held out or skipped, so there is nothing to fit to; expected hold=none for some",
        ));
    }
    Ok(Given { hash: sha256(all.as_bytes()), text, drive, data })
}

/// An error for what `--only` names that is no key.
fn known_keys(only: &[String]) -> Result<(), Error> {
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

/// The least error of what was seen, each time that it fell, and after how many points.
type Search = Vec<(u64, f64)>;

/// Searches, with a line of how far it is; says beforehand how long it takes.
fn searched(
    args: &Fit,
    given: &Given,
    parameters: Vec<parameter::Parameter>,
    journal: &SearchJournal,
    known: BTreeMap<String, Vec<f64>>,
    observer: &dyn Observer,
) -> Result<(fit::FitResult, Search), Error> {
    let effort = SearchEffort { generations: args.generations as usize };
    foretell(args, given, parameters.len())?;
    let tried = Mutex::new((0, Search::new()));
    let heard = |name: &str, answer: &[f64], was_known: bool| {
        let mut now = tried.lock().expect("no holder panics");
        now.0 += 1;
        observer.at(now.0);
        let (point, least) = (now.0, now.1.last().map_or(f64::MAX, |step| step.1));
        if name.starts_with("Seen") && answer[0] < least {
            now.1.push((point, answer[0]));
            observer.doing(&format!("best error {:.4}", answer[0]));
        }
        drop(now);
        if !was_known {
            journal.write(name, answer);
        }
    };
    let listener = FitListener { heard: &heard, cancelled: &|| observer.is_cancelled() };
    let fitted = fit::fit(&given.drive, parameters, &given.data, effort, known, listener);
    let (all, mut search) = tried.into_inner().expect("no holder panics");
    if let Some(&(_, least)) = search.last() {
        search.push((all, least));
    }
    // What it cost is not lost: the points are kept, and a fit that goes on knows them.
    let fitted = fitted.ok_or_else(Error::cancelled)?;
    journal.failure().map_or(Ok((fitted, search)), Err)
}

/// Points that a fit tries for each figure that may move: one of six figures to five jobs tried 254 each (measured). What the
/// data feel decides it, so half and twice of that are said.
const POINTS: (f64, f64) = (127.0, 508.0);

/// From this many seconds on it is said how long a fit takes.
const LONG: f64 = 10.0;

/// Says how long the search takes, by what the first point takes: on any standard error, a terminal or none.
fn foretell(args: &Fit, given: &Given, parameters: usize) -> Result<(), Error> {
    let clock = Clock::start();
    for data in &given.data {
        data.simulated(&given.drive)?;
    }
    let one = clock.seconds() * parameters as f64;
    let [least, most] = [POINTS.0, POINTS.1].map(|points| points * one);
    if most >= LONG {
        let again = format!("{}.journal keeps the progress; --resume continues", args.out.display());
        log::info!(
            "figures that may move: {parameters}; this takes about {} to {} here. --only and --generations make it shorter; \
             {again}",
            wall(least),
            wall(most)
        );
    }
    Ok(())
}

/// What was fitted to, and how much of it, in words.
fn shares(data: &[FitData]) -> String {
    let one = |data: &FitData| match data {
        FitData::Traced(traced) => {
            let file = traced.file.rsplit(['/', '\\']).next().unwrap_or(&traced.file);
            format!("rows 1 to {} of the {} of {file}", traced.seen, traced.trace.rows.len())
        }
        FitData::Points(points) => {
            format!("{} of {} jobs with figures", data.count(DataSplit::Seen), points.len())
        }
    };
    let list: Vec<String> = data.iter().map(one).collect();
    format!("fitted by `seekwise fit` to {}; what it did not see stood against each change", list.join(" and "))
}
