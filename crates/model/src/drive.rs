//! The drive.

pub mod geometry;
pub mod mechanics;
pub mod profile;
