//! The host's layers: each is a device that owns the device below it. Nothing else knows of a layer. What they share is
//! [`layer`].

pub mod accelerator;
pub mod array;
pub mod beside;
pub mod carried;
pub mod channel;
pub mod controller;
pub mod driver;
pub mod identity;
pub mod layer;
pub mod ports;
pub mod processor;
pub mod scsi;
