//! The built-in drives.
