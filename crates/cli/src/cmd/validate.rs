//! `seekwise validate`: a measured trace against a simulated drive.

use seekwise_formats::profile::{self, DriveFile};
use seekwise_formats::trace::measured::{self, Trace};
use seekwise_lab::catalogue;
use seekwise_lab::validate::{self, Errors, Samples, Validation, plot, quantile};
use seekwise_model::drive::profile::Profile;
use seekwise_model::rng::Seed;
use seekwise_model::workload::replay::Timing;

use super::{print, print_json, warn};
use crate::args::{self, Replay};
use crate::exit::{Answer, Failure, Outcome};
use crate::files::{self, Kind, spoken};
use crate::log::{Log, Of};
use crate::output::{admit, say, write_picture};
use crate::progress::Progress;
use crate::screen::{self, wrapped};
use crate::tables::{Table, choose, figures_from, table};
use crate::target;

/// Shares at which the two distributions are set side by side.
const SHARES: [(f64, &str); 7] =
    [(0.01, "1 %"), (0.1, "10 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.9, "90 %"), (0.99, "99 %")];

/// Runs the command.
pub fn validate(args: &args::Validate, json: bool) -> Outcome {
    choose(&mut headed().each_mut(), &args.columns.names)?;
    if args.force && args.svg.is_none() && args.log.is_none() {
        return Err(Failure::new("--force: there is nothing to overwrite; expected --svg or --log as well"));
    }
    files::one_standard_input(&[&args.trace, &args.drive])?;
    target::once(&args.set)?;
    let read = files::read(&args.trace)?;
    files::expect(&args.trace, &read, &[Kind::Trace])?;
    let trace = measured::parse(&args.trace, &read)?;
    warn(&trace.warnings);
    let drive = drive(&args.drive, &args.set)?;
    let samples = play(args, &trace, &drive.profile()?)?;
    let found = samples.errors();
    if let Some(path) = &args.svg {
        write_picture(path, &plot::svg(&drive.title, &samples))?;
    }
    if json {
        print_json(&found)?;
    } else {
        print(&text(&drive.title, &found, &samples, &args.columns.names)?)?;
    }
    Ok(args.at_most.map_or(Answer::Done, |limit| answer(&found, limit)))
}

/// Plays the trace, with a log where one is asked for.
fn play(args: &args::Validate, trace: &Trace, profile: &Profile) -> Result<Samples, Failure> {
    let timing = match args.replay {
        Replay::Think => Timing::Think,
        Replay::Arrival => Timing::Arrival,
    };
    // Said before a log is begun.
    validate::fits(&args.trace, trace, profile)?;
    for path in args.svg.iter().chain(&args.log) {
        admit(path, args.force)?;
    }
    let of = Of { job: spoken(&args.trace), target: spoken(&args.drive), seed: args.seed, measured: false };
    let mut log = args.log.as_deref().map(|path| Log::create(path, &of)).transpose()?;
    let mut failure: Option<Failure> = None;
    let progress = Progress::of(trace.rows.len() as u64, "requests");
    let samples = validate::play(&args.trace, trace, profile, timing, Seed(args.seed), &mut |record| {
        progress.one();
        if let (Some(log), None) = (&mut log, &failure) {
            failure = log.take(record).err();
        }
    })?;
    drop(progress);
    if let Some(failure) = failure {
        return Err(failure);
    }
    log.map_or(Ok(()), Log::finish)?;
    Ok(samples)
}

/// "No" where a demerit is above `limit` percent; says which.
fn answer(found: &Validation, limit: f64) -> Answer {
    let mut answer = Answer::Done;
    for (name, errors) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        if errors.n > 0 && errors.demerit_percent > limit {
            say(format!("{name}: a demerit of {:.2} % is above {limit} %", errors.demerit_percent));
            answer = Answer::No;
        }
    }
    answer
}

/// A drive of the catalogue or of a profile file, with `--set` on top.
fn drive(name: &str, set: &[(String, String)]) -> Result<DriveFile, Failure> {
    let mut drive = match (catalogue::text(name), files::find(name)?) {
        (None, Some(text)) => {
            files::expect(name, &text, &[Kind::Profile])?;
            profile::parse(name, &text)?
        }
        _ => catalogue::load(name)?,
    };
    for (key, value) in set {
        drive.set(key.strip_prefix("drive.").unwrap_or(key), value)?;
    }
    warn(drive.warnings());
    Ok(drive)
}

/// Errors, and times side by side.
fn headed() -> [Table; 2] {
    let mut errors = table(["mean of", "requests", "measured ms", "simulated ms", "off %", "demerit ms", "demerit %"]);
    let mut quantiles = table([
        "share of requests, at most",
        "reads measured ms",
        "reads simulated ms",
        "writes measured ms",
        "writes simulated ms",
    ]);
    figures_from(&mut errors, 1);
    figures_from(&mut quantiles, 1);
    [errors, quantiles]
}

fn text(title: &str, found: &Validation, samples: &Samples, columns: &[String]) -> Result<String, Failure> {
    let [mut errors, mut quantiles] = headed();
    for (name, side) in [("all", &found.all), ("reads", &found.reads), ("writes", &found.writes)] {
        errors.add_row(row(name, side));
    }
    let sides = [true, false].map(|reads| samples.both(Some(reads)));
    let sides = sides.map(|(mut measured, mut simulated)| {
        measured.sort_unstable();
        simulated.sort_unstable();
        [measured, simulated]
    });
    for (share, name) in SHARES {
        let mut cells = vec![name.to_owned()];
        for times in sides.iter().flatten() {
            let time = quantile(times, share).nanos() as f64 / 1e6;
            cells.push(if times.is_empty() { String::new() } else { format!("{time:.3}") });
        }
        quantiles.add_row(cells);
    }
    choose(&mut [&mut errors, &mut quantiles], columns)?;
    let width = screen::width();
    Ok(format!("{}\n\n{}\n\n{}", wrapped(title, width), errors.draw(width), quantiles.draw(width)))
}

fn row(name: &str, errors: &Errors) -> [String; 7] {
    if errors.n == 0 {
        return [name, "0", "–", "–", "–", "–", "–"].map(str::to_owned);
    }
    [
        name.to_owned(),
        errors.n.to_string(),
        format!("{:.3}", errors.mean_measured_ms),
        format!("{:.3}", errors.mean_simulated_ms),
        format!("{:+.2}", errors.mean_error_percent()),
        format!("{:.3}", errors.demerit_ms),
        format!("{:.2}", errors.demerit_percent),
    ]
}
