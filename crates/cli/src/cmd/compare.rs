//! `seekwise compare`: a job on two values of one key, interleaved on the same random numbers, and a verdict.

use std::slice::from_ref;

use seekwise_formats::study::Study;
use serde_json::json;

use super::study;
use super::{print, print_json, warn};
use crate::args;
use crate::bounds::Bounds;
use crate::exit::{Answer, Failure, Outcome};
use crate::interrupt;
use crate::output::{quoted, say};
use crate::planned::{self, Opened, Opening, Planned};
use crate::progress::Progress;
use crate::target;

use seekwise_lab::compose::ratio_text;
use seekwise_lab::finding::{Evidence, differences};
use seekwise_lab::run::RunRecord;

/// Runs the command.
pub fn compare(args: &args::Compare, bounds: &Bounds, json: bool) -> Outcome {
    let key = args.vary.0.as_str();
    let [a, b] = values(&args.vary)?;
    target::once(&[from_ref(&args.vary), &args.on.set[..]].concat())?;
    let text = study_text(args, key, a, b)?;
    let (planned, records) = run(args, &text, bounds)?;
    let evidence = Evidence::new(&planned.study, &planned.made, &records);
    let (findings, _) = evidence.findings();
    let judgement = findings.first().and_then(|finding| finding.judgement);
    let Some(judgement) = judgement else {
        return Err(Failure::new("no request of one side was counted: nothing was compared"));
    };
    let differs = differences(planned.made.settings(0), planned.made.settings(1));
    let refused = findings.iter().find_map(|finding| finding.refused.as_ref());
    if json {
        let side = |cell: usize, value: &str| {
            let iops = evidence.mean(cell, |run| run.all.iops);
            let mean = evidence.mean(cell, |run| run.all.response_ms.mean);
            json!({"name": format!("{key}={value}"), "iops": {"estimate": iops.estimate, "low": iops.low, "high": iops.high},
                   "response_ms": {"mean": mean.estimate, "low": mean.low, "high": mean.high}})
        };
        let ratio = judgement.ratio;
        print_json(&json!({
            "sides": [side(0, a), side(1, b)],
            "ratio": {"estimate": ratio.estimate, "low": ratio.low, "high": ratio.high},
            "verdict": refused.map_or_else(|| judgement.verdict.to_string(), |_| "refused".to_owned()),
            "refused": refused,
            "p": judgement.p,
            "runs": args.runs,
            "differs": differs,
        }))?;
    } else {
        for (cell, value) in [(0, a), (1, b)] {
            let iops = evidence.mean(cell, |run| run.all.iops);
            let mean = evidence.mean(cell, |run| run.all.response_ms.mean).estimate;
            let half = (iops.high - iops.low) / 2.0;
            print(&format!("{key}={value:<12} {:10.1} ± {half:.1} requests/s   mean {mean:.3} ms", iops.estimate))?;
        }
        let said = match refused {
            Some(why) => format!("refused: {why}"),
            None => format!("{} — {}", judgement.verdict, ratio_text(&judgement)),
        };
        print(&format!("\n{key}={b} against {key}={a}: {said}"))?;
        print(&format!("{} runs a side, paired on the same random numbers; 95 % interval.", args.runs))?;
        if differs.len() > 1 {
            print(&format!("The sides differ in: {}", differs.join(", ")))?;
        }
        match &args.out {
            Some(out) => say(format!("Again: {}", study::again(out))),
            None => say(format!("Again: {}", command(args))),
        }
    }
    Ok(if refused.is_some() { Answer::No } else { Answer::Done })
}

/// Runs both sides, in the folder that is asked for or in one that goes away.
fn run(args: &args::Compare, text: &str, bounds: &Bounds) -> Result<(Planned, Vec<RunRecord>), Failure> {
    let kept;
    let folder = match &args.out {
        Some(out) => out.as_path(),
        None => {
            kept = interrupt::scratch()?;
            kept.path()
        }
    };
    let opening = Opening { folder, resume: false, force: args.force, bounds, threads: 0 };
    let opened = opening.open("command line", text, || Ok(planned::plan("command line", text.to_owned())?))?;
    let Opened { planned, results, done, threads } = opened;
    warn(&planned.made.warnings);
    if args.out.is_some() {
        study::keep(folder, &planned);
    }
    let progress = Progress::of(study::runs(&planned), "runs");
    let records = study::run(&planned, results, done, threads, &progress)?;
    drop(progress);
    if args.out.is_some() {
        study::write_report(&planned.study, &planned.made, &records, folder)?;
    }
    Ok((planned, records))
}

/// The two values of the key that differs.
fn values((key, values): &(String, String)) -> Result<[&str; 2], Failure> {
    let sides: Vec<&str> = values.split(',').map(str::trim).collect();
    let [a, b] = sides[..] else {
        return Err(Failure::new(format!("--vary {key}={values}: expected two values, as in --vary {key}=A,B")));
    };
    match a == b {
        true => Err(Failure::new(format!("--vary {key}={values}: both values are `{a}`; expected two that differ"))),
        false => Ok([a, b]),
    }
}

/// The comparison as a study: it is run, kept and reported as one.
fn study_text(args: &args::Compare, key: &str, a: &str, b: &str) -> Result<String, Failure> {
    let text = |value: &str| toml::Value::String(value.to_owned());
    let factor = toml::Table::from_iter([
        ("name".to_owned(), text(key)),
        ("key".to_owned(), text(key)),
        ("levels".to_owned(), toml::Value::Array(vec![text(a), text(b)])),
    ]);
    let compare = toml::Table::from_iter([
        ("name".to_owned(), text(&format!("{key} from {a} to {b}"))),
        ("factor".to_owned(), text(key)),
        ("from".to_owned(), text(a)),
        ("to".to_owned(), text(b)),
        ("headline".to_owned(), toml::Value::Boolean(true)),
    ]);
    let question = format!("Is {} faster with {key} = {b} than with {key} = {a}?", target::title(&args.job, &args.on));
    let study = [
        ("factor".to_owned(), toml::Value::Array(vec![toml::Value::Table(factor)])),
        ("compare".to_owned(), toml::Value::Array(vec![toml::Value::Table(compare)])),
    ];
    let text = target::study(&args.job, &args.on, question, args.runs, study)?;
    toml::from_str::<Study>(&text).map_err(|error| Failure::new(error.message()))?;
    Ok(text)
}

fn command(args: &args::Compare) -> String {
    let vary = quoted(&format!("{}={}", args.vary.0, args.vary.1));
    let words = target::words(&args.job, &args.on);
    format!("seekwise compare {words} --vary {vary} --runs {} --seed {}", args.runs, args.on.seed)
}
