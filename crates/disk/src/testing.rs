//! Equipment for tests of devices: small drives with every setting, random stacks, the image that a judge of durability
//! sees, and the conformance suite. Nothing is modelled here; no figure describes a real drive.
//!
//! | part | what it is |
//! |---|---|
//! | [`SmallDrive`] | the settings of a small drive, and the [`Profile`](crate::drive::profile::Profile) they make |
//! | [`SmallStack`] | such a drive with host layers above it |
//! | [`VolumeSight`] | which copies of an array's blocks a client can expect |
//! | [`VolumeMembers`] | what an array with lost members still holds, and where it has a write hole |
//! | [`SectorImage`] | what the platter holds, built from landings alone |
//! | [`DurabilityChecker`] | the laws of durability, judged from acknowledgements and an image |
//! | [`TestClient`] | a random client of a device |
//! | [`cuts`](fn@cuts) | random stacks cut again and again |
//! | [`conformance`](fn@conformance) | the eight rules of [`crate::block`], checked on any device by random scripts |

mod client;
mod conformance;
mod cuts;
mod durability;
mod image;
mod mirror_copies;
mod parity;
mod run;
mod script;
mod stacks;
mod violation;

pub use self::client::{ClientHabits, TestClient};
pub use self::conformance::{conformance, conformance_through, conformance_to};
pub use self::cuts::{CutTally, DriveFault, MemberImages, cuts, stack_to_cut};
pub use self::durability::{Breach, DurabilityChecker, DurabilityLaw, LossCounts, PowerFailure, Promise};
pub use self::image::{ImageSector, SectorImage};
pub use self::mirror_copies::VolumeSight;
pub use self::parity::{UnrecoverableBlock, VolumeMembers};
pub use self::stacks::{
    SmallDrive, SmallStack, random_array, random_discipline, random_profile, random_stack, random_tower,
};
pub use self::violation::Violation;
pub use crate::stack::Layer;
