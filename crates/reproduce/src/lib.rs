//! The model's own examination: whether the findings of published studies are reproduced on the modelled disks, which settings
//! decide them, and whether drives give the figures that others measured. It runs built-in studies through the library; users'
//! own studies do not need it.
//!
//! | room | what it is |
//! |---|---|
//! | [`findings`] | the sources' findings; the cells a claim needs, and those without its mechanism |
//! | [`draw`] | inferred figures varied within their ranges |
//! | [`lever`] | the inferred settings of a claim's cells, and their ranges |
//! | [`published`] | published figures of drives as cases |
//! | [`claims`](mod@claims) | the findings of the source studies, run and judged |
//! | [`explain`](mod@explain) | which single inferred setting changes the answer of a claim, and what else it changes |
//!
//! A published figure, and the one that the model gives for its job:
//!
//! ```
//! use seekwise_reproduce::published::parse_published;
//!
//! let text = r#"
//! drive = []
//! [[case]]
//! drive = "exos-x18"
//! what = "random reads, depth 16"
//! job = "rw=randread\nbs=4k\niodepth=16"
//! figure = "iops"
//! measured = 170
//! within = 10
//! role = "fitted"
//! since = 2026-11-01
//! held_first = true
//! why = "as published, without conditions"
//! holds = true
//! "#;
//! let case = &parse_published(text)?.case[0];
//! let no_profile = |_: &str| Err(std::io::ErrorKind::NotFound.into());
//! let simulated = case.simulate(&[], &no_profile, &Default::default()).unwrap();
//! assert!(case.is_within_tolerance(simulated), "{simulated}");
//! # Ok::<(), toml::de::Error>(())
//! ```

pub mod claims;
pub mod draw;
pub mod explain;
pub mod findings;
pub mod lever;
pub mod published;
