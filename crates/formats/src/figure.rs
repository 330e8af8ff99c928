//! Figures: values with unit, kind and source, by key, as drives, layers of stacks, programs and scenes have them.
//!
//! ```toml
//! rpm = { value = 7200, datasheet = "product manual, p. 12" }
//! ```
//!
//! Which keys there are is said in the rooms that use them.

mod figures;
mod key;
mod reader;
mod setting;
mod value;
mod vocabulary;

pub(crate) use figures::{Figures, span};
pub(crate) use key::Plain;
pub use key::{Accepts, Key};
pub(crate) use reader::{Reader, join, switch};
pub(crate) use setting::{Given, setting};
pub(crate) use value::KINDS;
pub use value::{Band, Figure, Kind, RunRow, Value, ZoneRow};
pub(crate) use vocabulary::{NO_WORDS, Vocabulary};
