//! The host's layers. Each is a device that owns the devices below it; most are built on [`layer`].

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
