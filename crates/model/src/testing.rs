//! Equipment for tests of devices: small drives with every setting, random stacks, the image that a judge of durability
//! sees, and the conformance suite. It models nothing; no figure here describes a real drive.
//!
//! | part | what it is |
//! |---|---|
//! | [`Small`] | the settings of a small drive, and the [`Profile`](crate::drive::profile::Profile) they make |
//! | [`Stack`] | such a drive with host layers above it |
//! | [`Sight`] | which copies of an array's blocks a client can expect |
//! | [`Members`] | what an array with lost members still holds, and where it has a write hole |
//! | [`Image`] | what the platter holds, built from landings alone |
//! | [`Checker`] | the laws of durability, judged from acknowledgements and an image |
//! | [`Client`] | a random client of a device |
//! | [`cuts`](fn@cuts) | random stacks cut again and again |
//! | [`conformance`](fn@conformance) | the eight rules of [`crate::block`], checked on any device by random scripts |

mod client;
mod conformance;
mod cuts;
mod durability;
mod image;
mod parity;
mod run;
mod script;
mod sight;
mod stacks;
mod violation;

pub use self::client::{Client, Habits};
pub use self::conformance::{conformance, conformance_through, conformance_to};
pub use self::cuts::{Copies, Fault, Tally, cuts, stack_to_cut};
pub use self::durability::{Breach, Checker, Failure, Law, Promise, Toll};
pub use self::image::{Held, Image};
pub use self::parity::{Gone, Members};
pub use self::sight::Sight;
pub use self::stacks::{
    NO_CACHE, NO_OVERHEAD, Small, Stack, random_array, random_discipline, random_profile, random_stack,
};
pub use self::violation::Violation;
pub use crate::stack::Layer;
