//! `seekwise power`, `set` and `status`: orders to a disk that `seekwise serve` serves.

use std::path::Path;

use seekwise_targets::serve::send;

use super::print;
use crate::args::{self, Supply};
use crate::exit::{Answer, Failure, Outcome};

/// Runs `power`.
pub fn power(args: &args::Power) -> Outcome {
    let order = match args.what {
        Supply::Cut => "cut",
        Supply::Off => "off",
        Supply::On => "on",
    };
    tell(&args.served.at, order)
}

/// Runs `set`.
pub fn set(args: &args::Set) -> Outcome {
    let (key, value) = &args.setting;
    tell(&args.served.at, &format!("set {key}={value}"))
}

/// Runs `status`.
pub fn status(args: &args::Served) -> Outcome {
    tell(&args.at, "status")
}

fn tell(at: &Path, order: &str) -> Outcome {
    let said = send(at, order).map_err(|error| {
        Failure::new(format!("{}: {error}; expected the socket for orders that `seekwise serve` names", at.display()))
    })?;
    print(&said)?;
    Ok(Answer::Done)
}
