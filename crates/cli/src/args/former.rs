//! Names that the orders of `seekwise disk` had in the version before: `power`, `set` and `status`, whose `--at` was
//! the control socket. Hidden but still understood; the next version drops them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::key_value;
use super::serve::{Order, PowerArgs, PowerState, ServedDiskArgs, SetArgs};

/// Arguments of `status`, and of the others too: the socket, as it was given.
#[derive(Args, Debug)]
pub struct FormerServed {
    /// The disk's control socket.
    #[arg(long, value_name = "PATH")]
    pub at: PathBuf,
}

/// Arguments of `set`.
#[derive(Args, Debug)]
pub struct FormerSet {
    /// A dotted key of the stack and its new value.
    #[arg(value_name = "KEY=VALUE", value_parser = key_value)]
    pub setting: (String, String),
    /// The served disk.
    #[command(flatten)]
    pub served: FormerServed,
}

/// Arguments of `power`.
#[derive(Args, Debug)]
pub struct FormerPower {
    /// The change of power, or a reset of the link.
    #[arg(value_enum)]
    pub what: FormerSupply,
    /// The served disk.
    #[command(flatten)]
    pub served: FormerServed,
}

/// Values of `power`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormerSupply {
    /// The power fails.
    Cut,
    /// Shut the disk down properly.
    Off,
    /// Switch the power on again.
    On,
    /// The link is reset.
    Reset,
}

impl From<FormerServed> for ServedDiskArgs {
    fn from(FormerServed { at }: FormerServed) -> ServedDiskArgs {
        ServedDiskArgs { control: at }
    }
}

impl From<FormerServed> for Order {
    fn from(served: FormerServed) -> Order {
        Order::Status(served.into())
    }
}

impl From<FormerSet> for Order {
    fn from(FormerSet { setting, served }: FormerSet) -> Order {
        Order::Set(SetArgs { setting, served: served.into() })
    }
}

impl From<FormerPower> for Order {
    fn from(FormerPower { what, served }: FormerPower) -> Order {
        let served = served.into();
        let power = |what, served| Order::Power(PowerArgs { what, served });
        match what {
            FormerSupply::Cut => power(PowerState::Cut, served),
            FormerSupply::Off => power(PowerState::Off, served),
            FormerSupply::On => power(PowerState::On, served),
            FormerSupply::Reset => Order::ResetLink(served),
        }
    }
}
