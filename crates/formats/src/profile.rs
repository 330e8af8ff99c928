//! Drive profiles.
