//! `seekwise disk`: sends an order to a disk that `seekwise serve` serves, through its control socket, and prints the reply.

use std::path::Path;

use seekwise::keys::{KeyEntry, is_same, sections, unknown_key};
use seekwise::serve::{OrderReply, UNCHANGEABLE, UNFIT};

use super::{print_json, print_text};
use crate::args::{Order, PowerArgs, PowerState, ServedDiskArgs, SetArgs};
use crate::exit::{CommandAnswer, CommandError, CommandResult};

/// Runs the command.
pub fn run_command(order: &Order, json: bool) -> CommandResult {
    match order {
        Order::Status(ServedDiskArgs { control }) => print_status(control, json),
        Order::Set(SetArgs { setting: (key, value), served }) => {
            let reply = send_order(&served.control, &format!("set {key}={value}"))?;
            print_reply(&reply.map_err(|why| setting_error(key, &why))?, json)
        }
        Order::Power(PowerArgs { what: state, served }) => {
            print_reply(&accepted_reply(&served.control, power_order(*state))?, json)
        }
        Order::ResetLink(ServedDiskArgs { control }) => print_reply(&accepted_reply(control, "reset")?, json),
    }
}

/// The order that changes the power.
fn power_order(state: PowerState) -> &'static str {
    match state {
        PowerState::Cut => "cut",
        PowerState::Off => "off",
        PowerState::On => "on",
    }
}

/// The error for a refused setting: for an unknown key with the nearest known one, for a wrong value with the values that the
/// key takes.
fn setting_error(key: &str, why: &str) -> CommandError {
    let known = sections().into_iter().flat_map(|section| section.keys).find(|entry| is_same(&entry.key, key));
    match known {
        None if why.ends_with(UNCHANGEABLE) => unknown_key("set", 0, key).into(),
        Some(KeyEntry { takes, unit, .. }) if why.ends_with(UNFIT) => {
            CommandError::new(format!("set: {why}; expected {takes} {unit}").trim_end().to_owned())
        }
        _ => CommandError::new(format!("set: {why}")),
    }
}

/// Prints the status: in words, or all figures of the receipt.
fn print_status(control: &Path, json: bool) -> CommandResult {
    if !json {
        return print_reply(&accepted_reply(control, "status")?, json);
    }
    let receipt = accepted_reply(control, "receipt")?;
    let figure = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), serde_json::from_str(value).ok()?))
    };
    print_json(&serde_json::Value::Object(receipt.split(' ').filter_map(figure).collect()))?;
    Ok(CommandAnswer::Done)
}

fn print_reply(reply: &str, json: bool) -> CommandResult {
    match json {
        true => print_json(&serde_json::json!({ "said": reply }))?,
        false => print_text(reply)?,
    }
    Ok(CommandAnswer::Done)
}

/// The reply to an order; a refusal is an error.
fn accepted_reply(control: &Path, order: &str) -> Result<String, CommandError> {
    send_order(control, order)?.map_err(|why| CommandError::new(format!("{order}: refused: {why}")))
}

fn send_order(control: &Path, order: &str) -> Result<OrderReply, CommandError> {
    seekwise::serve::send_order(control, order).map_err(|error| {
        let expected = "expected the control socket that `seekwise serve` prints";
        CommandError::new(format!("--control {}: {error}; {expected}", control.display()))
    })
}
