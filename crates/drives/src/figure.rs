//! Figures: values by key, each with its unit, kind and source, as used by drives, layers, programs and scenes.
//!
//! ```toml
//! rpm = { value = 7200, datasheet = "product manual, p. 12" }
//! ```
//!
//! The modules that use figures define their keys; [`units`] reads quantities as people write them.

mod figures;
mod key;
mod reader;
mod setting;
pub mod units;
mod value;
mod vocabulary;

pub use figures::Figures;
pub(crate) use figures::span_from_ms;
pub use key::{KeyDomain, PlainKey, ProfileKey};
pub use reader::{FigureReader, join_key, parse_switch};
pub use setting::{FigureInput, parse_setting};
pub(crate) use value::KINDS;
pub use value::{Figure, FigureOrigin, FigureValue, RunRow, ZoneBand, ZoneRow};
pub use vocabulary::{NO_WORDS, Vocabulary};
