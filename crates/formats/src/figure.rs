//! Figures: values by key, each with its unit, kind and source, as used by drives, layers, programs and scenes.
//!
//! ```toml
//! rpm = { value = 7200, datasheet = "product manual, p. 12" }
//! ```
//!
//! The rooms that use figures define their keys.

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
