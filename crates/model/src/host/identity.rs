//! The layer that does nothing: the template for new layers. It changes no workload.

use alloc::boxed::Box;

use super::layer::{Layer, Layered};
use crate::block::Device;
use crate::record::Part;

/// Passes everything on.
pub struct Identity;

impl Identity {
    /// An identity above `below`.
    pub fn above(below: Box<dyn Device>) -> Layered<Identity> {
        let room = below.limits(0).depth;
        Layered::new(Identity, room, below)
    }
}

impl Layer for Identity {
    type Note = ();
    const PART: Part = Part::Driver;
    const NAME: &'static str = "identity";
}
