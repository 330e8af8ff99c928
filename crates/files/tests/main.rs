//! Tests of the file layer, in one program.

#![allow(clippy::disallowed_methods, reason = "a test makes what it looks at")]

mod laws;
mod layer;
mod model;
