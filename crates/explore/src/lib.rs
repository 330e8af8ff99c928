//! The library behind the page Explore (`web/explore.html`): a question as JSON in, the program's answer as JSON out. `cargo xtask web`
//! compiles it to WebAssembly and puts it into the page. Nothing is computed here: each answer is a call of the library `seekwise`, and
//! the JSON of a run, a comparison, a power cut or a rebuild is what the program prints with `--json`.
//!
//! | room | what it is |
//! |---|---|
//! | [`setup`] | a job on a target, as a page names it |
//! | [`timeline`] | the beginning of a run, request by request, for the moving picture |
//! | [`plug`] | the writes of a run: when each was issued, acknowledged and on the platter |
//! | [`question`] | the questions, and the answer to each |
//! | `boundary` (WebAssembly) | the functions that a page calls |

#[cfg(target_family = "wasm")]
mod boundary;
pub mod plug;
pub mod question;
pub mod setup;
pub mod timeline;
