//! Iometer: its configurations (.icf), its results (results.csv) and its well-known access specifications.
//!
//! | room | what it does |
//! |---|---|
//! | [`icf`] | reads a configuration of any version |
//! | [`standard`] | access specifications that have a name in the field |
//! | [`results`] | reads results.csv by its captions |
//!
//! [`icf`] turns a configuration into a job; `seekwise_work::workload` draws the job's requests.

mod config;
pub mod icf;
mod job;
mod lines;
mod reader;
pub mod results;
pub mod standard;
