//! `seekwise power`, `set` and `status`: orders to a disk that `seekwise serve` serves.

use std::path::Path;

use seekwise_targets::serve::send;

use super::{print, print_json};
use crate::args::{self, Supply};
use crate::exit::{Answer, Failure, Outcome};

/// Runs `power`.
pub fn power(args: &args::Power) -> Outcome {
    let order = match args.what {
        Supply::Cut => "cut",
        Supply::Off => "off",
        Supply::On => "on",
        Supply::Reset => "reset",
    };
    tell(&args.served.at, order)
}

/// Runs `set`.
pub fn set(args: &args::Set) -> Outcome {
    let (key, value) = &args.setting;
    tell(&args.served.at, &format!("set {key}={value}"))
}

/// Runs `status`.
pub fn status(args: &args::Served, json: bool) -> Outcome {
    if !json {
        return tell(&args.at, "status");
    }
    let said = answer(&args.at, "receipt")?;
    let figure = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    };
    print_json(&serde_json::Value::Object(said.split(' ').filter_map(figure).collect()))?;
    Ok(Answer::Done)
}

fn tell(at: &Path, order: &str) -> Outcome {
    print(&answer(at, order)?)?;
    Ok(Answer::Done)
}

fn answer(at: &Path, order: &str) -> Result<String, Failure> {
    send(at, order).map_err(|error| {
        Failure::new(format!("{}: {error}; expected the socket for orders that `seekwise serve` names", at.display()))
    })
}
