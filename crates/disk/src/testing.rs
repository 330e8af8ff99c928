//! Equipment for tests of devices: small drives with every setting, random stacks, images of media, the checker of
//! durability, and the conformance suite. Nothing is modelled here; no figure describes a real drive.
//!
//! | part | what it is |
//! |---|---|
//! | [`SmallDrive`] | the settings of a small drive, and the [`Profile`](crate::drive::profile::Profile) they make |
//! | [`SmallStack`] | such a drive with host layers above it |
//! | [`BlockCopies`] | the copies of an array's blocks that a client can expect |
//! | [`VolumeMembers`] | what an array with lost members still holds, and where it has a write hole |
//! | [`SectorImage`] | the content of a medium, built from landings alone |
//! | [`DurabilityChecker`] | the laws of durability, judged from acknowledgements and an image |
//! | [`TestClient`] | a random client of a device |
//! | [`run_cut_case`] | a random stack, cut again and again |
//! | [`check_conformance`] | the eight rules of [`crate::block`], checked on any device by random scripts |

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
pub use self::conformance::{check_array_conformance, check_conformance, check_promise_conformance};
pub use self::cuts::{CopyImages, CutTally, DriveFault, random_stack_to_cut, run_cut_case};
pub use self::durability::{Breach, DurabilityChecker, DurabilityLaw, LossCounts, PowerFailure, Promise};
pub use self::image::{ImageSector, SectorImage, SectorPlace};
pub use self::mirror_copies::BlockCopies;
pub use self::parity::{UnrecoverableBlock, VolumeMembers};
pub use self::stacks::{
    SmallDrive, SmallStack, random_array, random_discipline, random_profile, random_stack, random_sync_policy,
    random_tall_stack,
};
pub use self::violation::Violation;
pub use crate::stack::Layer;
