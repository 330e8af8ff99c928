//! `seekwise power`, `set` and `status`: orders to a disk that `seekwise serve` serves.

use std::path::Path;

use seekwise_formats::keys::{Entry, sections, unknown};
use seekwise_formats::spelling::is_same;
use seekwise_targets::live::Said;
use seekwise_targets::serve::send;
use seekwise_targets::sim::{UNCHANGEABLE, UNFIT};

use super::{print, print_json};
use crate::args::{self, Supply};
use crate::exit::{Answer, Failure, Outcome};

/// Runs `power`.
pub fn power(args: &args::Power, json: bool) -> Outcome {
    let order = match args.what {
        Supply::Cut => "cut",
        Supply::Off => "off",
        Supply::On => "on",
        Supply::Reset => "reset",
    };
    let said = answer(&args.served.at, order)?.map_err(|why| Failure::new(format!("{order}: refused: {why}")))?;
    tell(&said, json)
}

/// Runs `set`.
pub fn set(args: &args::Set, json: bool) -> Outcome {
    let (key, value) = &args.setting;
    let said = answer(&args.served.at, &format!("set {key}={value}"))?;
    tell(&said.map_err(|why| refused(key, &why))?, json)
}

/// Why a setting was refused, with the key that was meant, or what it takes.
fn refused(key: &str, why: &str) -> Failure {
    let known = sections().into_iter().flat_map(|section| section.keys).find(|entry| is_same(&entry.key, key));
    match known {
        None if why.ends_with(UNCHANGEABLE) => unknown("set", 0, key).into(),
        Some(Entry { takes, unit, .. }) if why.ends_with(UNFIT) => {
            Failure::new(format!("set: {why}; expected {takes} {unit}").trim_end().to_owned())
        }
        _ => Failure::new(format!("set: {why}")),
    }
}

/// Runs `status`.
pub fn status(args: &args::Served, json: bool) -> Outcome {
    let ask = |order| answer(&args.at, order)?.map_err(|why| Failure::new(format!("{order}: refused: {why}")));
    if !json {
        return tell(&ask("status")?, json);
    }
    let said = ask("receipt")?;
    let figure = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    };
    print_json(&serde_json::Value::Object(said.split(' ').filter_map(figure).collect()))?;
    Ok(Answer::Done)
}

fn tell(said: &str, json: bool) -> Outcome {
    match json {
        true => print_json(&serde_json::json!({ "said": said }))?,
        false => print(said)?,
    }
    Ok(Answer::Done)
}

fn answer(at: &Path, order: &str) -> Result<Said, Failure> {
    send(at, order).map_err(|error| {
        Failure::new(format!("{}: {error}; expected the control socket that `seekwise serve` prints", at.display()))
    })
}
