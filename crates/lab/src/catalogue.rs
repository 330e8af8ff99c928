//! What is built in. Drives: what can be checked of each, their curves as text and as pictures. Studies.
//!
//! | room | what it is |
//! |---|---|
//! | [`check`] | what the model's drive does, against its datasheet or measurements |
//! | [`everyday`] | everyday work on the model's drive, against arithmetic from its figures |
//! | [`curves`] | seek times and transfer rates as points |
//! | [`show`] | the list of drives and one drive in full, as values |
//! | [`sketch`] | a drive's profile from a few figures of its datasheet |
//! | [`studies`] | the built-in studies |
//!
//! The drives themselves, by name, are [`seekwise_formats::drives`], here too for whoever uses both.

pub mod check;
pub mod curves;
pub mod everyday;
pub mod show;
pub mod sketch;
pub mod studies;

pub use seekwise_formats::drives::{load, names, text};
