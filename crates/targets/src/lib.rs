//! Where work runs.
//!
//! | room | what it is |
//! |---|---|
//! | [`clock`] | the one file that reads real time |
//! | [`null`] | answers each request at once, in real time |
//! | [`place`] | the door to all places |
//! | [`sim`] | a modelled stack, in virtual time |
//! | [`work`] | what a run does: a job of workers, or a scene |
//!
//! The only crate that reads a clock ([`clock`]), and the one that will hold sockets and devices; it holds none yet.

pub mod clock;
pub mod null;
pub mod place;
pub mod sim;
pub mod work;
