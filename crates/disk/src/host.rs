//! The layers between a client and the drives: adapters, cables, arrays, drivers, caches and processors of a host. Each
//! is a device that owns the devices below it; most are built on [`layer`].

pub mod accelerator;
pub mod array;
pub mod carried_writes;
pub mod channel;
pub mod controller;
pub mod driver;
pub mod identity;
pub mod layer;
pub mod mixed_devices;
pub mod ports;
pub mod processor;
pub mod scsi;
