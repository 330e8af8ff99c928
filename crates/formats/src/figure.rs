//! Figures: values by key, each with its unit, kind and source, as used by drives, layers, programs and scenes.
//!
//! ```toml
//! rpm = { value = 7200, datasheet = "product manual, p. 12" }
//! ```
//!
//! The rooms that use figures define their keys. A quantity as people write it, in a key's unit, is [`units`].

mod figures;
mod key;
mod reader;
mod setting;
pub mod units;
mod value;
mod vocabulary;

pub(crate) use figures::{Figures, span};
pub(crate) use key::Plain;
pub use key::{KeyDomain, ProfileKey};
pub use reader::switch;
pub(crate) use reader::{FigureReader, join};
pub(crate) use setting::{FigureInput, setting};
pub(crate) use value::KINDS;
pub use value::{Figure, FigureOrigin, FigureValue, RunRow, ZoneBand, ZoneRow};
pub(crate) use vocabulary::{NO_WORDS, Vocabulary};
