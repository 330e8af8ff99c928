//! The layer that does nothing: the template for new layers.

use alloc::boxed::Box;

use super::layer::{HostLayer, LayeredDevice};
use crate::block::Device;
use crate::record::Part;

/// Passes everything on.
#[derive(Clone)]
pub struct IdentityLayer;

impl IdentityLayer {
    /// An identity above `below`.
    pub fn build_above(below: Box<dyn Device>) -> LayeredDevice<IdentityLayer> {
        let room = below.limits(0).depth;
        LayeredDevice::new(IdentityLayer, room, below)
    }
}

impl HostLayer for IdentityLayer {
    type Note = ();
    const PART: Part = Part::Driver;
}
