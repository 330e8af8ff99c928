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

pub mod claims;
pub mod draw;
pub mod explain;
pub mod findings;
pub mod lever;
pub mod published;
