//! The boundary to the Python interpreter, which knows neither jobs nor results.
//!
//! | file | what it holds |
//! |---|---|
//! | [`watch`] | work beside a waiting interpreter: Ctrl-C, progress, notes |
//! | `fault` | diagnostics as exceptions |
//! | `notes` | notes and warnings of the library for Python's `logging` |

pub mod fault;
mod notes;
pub mod watch;
