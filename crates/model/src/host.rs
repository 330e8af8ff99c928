//! The host's layers: each is a device that owns the device below it. Nothing else knows of a layer.

pub mod accelerator;
pub mod array;
mod carried;
pub mod controller;
pub mod driver;
pub mod identity;
pub mod ports;
pub mod processor;
