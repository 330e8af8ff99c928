//! Iometer configurations and results.
