//! `seekwise compare`: a job on two values of one key, interleaved on the same random numbers, and a verdict.

use seekwise_formats::study::Study;
use serde_json::json;

use super::study;
use super::{print, print_json, warn};
use crate::args;
use crate::bounds::Bounds;
use crate::exit::{Answer, Failure, Outcome};
use crate::output::say;
use crate::planned::{self, Opened, Opening};
use crate::screen::{width, wrapped};
use crate::target;

use seekwise_lab::compose::ratio_text;
use seekwise_lab::finding::{Evidence, differences};

/// Runs the command.
pub fn compare(args: &args::Compare, bounds: &Bounds, json: bool) -> Outcome {
    let key = args.vary.0.as_str();
    let [a, b] = values(&args.vary)?;
    let text = study_text(args, key, a, b)?;
    let kept;
    let folder = match &args.out {
        Some(out) => out.as_path(),
        None => {
            kept = tempfile::tempdir()?;
            kept.path()
        }
    };
    let opening = Opening { folder, resume: false, bounds, threads: 0 };
    let opened = opening.open("command line", &text, || Ok(planned::plan("command line", text.clone())?))?;
    let Opened { planned, results, done, threads } = opened;
    warn(&planned.made.warnings);
    let records = study::run(&planned, results, done, threads, "")?;
    if args.out.is_some() {
        study::write_report(&planned.study, &planned.made, &records, folder)?;
    }
    let evidence = Evidence::new(&planned.study, &planned.made, &records);
    let (findings, _) = evidence.findings();
    let judgement = findings.first().and_then(|finding| finding.judgement);
    let Some(judgement) = judgement else { return Err(Failure::new("one side completed no request at all")) };
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
            let side = format!("{key}={value}  {:.1} ± {half:.1} requests/s  mean {mean:.3} ms", iops.estimate);
            print(&wrapped(&side, width()))?;
        }
        let said = match refused {
            Some(why) => format!("refused: {why}"),
            None => format!("{} — {}", judgement.verdict, ratio_text(&judgement)),
        };
        print(&format!("\n{}", wrapped(&format!("{key}={b} against {key}={a}: {said}"), width())))?;
        let runs = format!("{} runs a side, paired on the same random numbers; 95 % interval.", args.runs);
        print(&wrapped(&runs, width()))?;
        if differs.len() > 1 {
            print(&wrapped(&format!("The sides differ in: {}", differs.join(", ")), width()))?;
        }
        match &args.out {
            Some(out) => say(format!("Again: {}", study::again(out))),
            None => say(format!("Again: {}", command(args))),
        }
    }
    Ok(if refused.is_some() { Answer::No } else { Answer::Done })
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
    let question = format!("Is {} on {} faster with {key} = {b} than with {key} = {a}?", args.job, args.on.target);
    let study = [
        ("factor".to_owned(), toml::Value::Array(vec![toml::Value::Table(factor)])),
        ("compare".to_owned(), toml::Value::Array(vec![toml::Value::Table(compare)])),
    ];
    let text = target::study(&args.job, &args.on, question, args.runs, study)?;
    toml::from_str::<Study>(&text).map_err(|error| Failure::new(error.message()))?;
    Ok(text)
}

fn command(args: &args::Compare) -> String {
    let set: Vec<String> = args.on.set.iter().map(|(key, value)| format!(" --set {key}={value}")).collect();
    let runtime = args.on.runtime.as_ref().map_or(String::new(), |time| format!(" --runtime '{time}'"));
    let (key, values) = &args.vary;
    let target = &args.on.target;
    format!(
        "seekwise compare {} --on {target} --vary {key}={values}{}{runtime} --runs {} --seed {}",
        args.job,
        set.concat(),
        args.runs,
        args.on.seed
    )
}
