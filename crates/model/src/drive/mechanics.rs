//! Seek and spin.
