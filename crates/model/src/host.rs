//! The host's layers: each is a device that owns the device below it. Nothing else knows of a layer.

pub mod array;
pub mod controller;
pub mod driver;
pub mod identity;
pub mod ports;
pub mod processor;
