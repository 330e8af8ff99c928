//! moonpool's world, whose processes have modelled disks, and its bundle of providers with one. All but storage is moonpool's own.
//!
//! moonpool's runner (`SimulationBuilder`) makes worlds of its own, and its crashes know only moonpool's storage: a process there makes a
//! [`DiskProviders`] of its providers, and a fault injector cuts the power.
//!
//! Source of the interface: `moonpool-sim` 0.8.0, `src/sim/world.rs`; `moonpool-core` 0.8.0, `src/providers.rs`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::{Deref, DerefMut};

use moonpool_core::Providers;
use moonpool_sim::{SimTimeProvider, SimWorld};

use crate::storage::Storage;

/// The drive of the processes of a [`DiskWorld`]: 7,200 rpm, 8 MB of buffer.
pub const DEFAULT_DRIVE: &str = "barracuda-7200.7-ncq";

/// A [`SimWorld`] in which each process has a disk.
pub struct DiskWorld {
    sim: SimWorld,
    drive: String,
    seed: u64,
    disks: RefCell<BTreeMap<IpAddr, Storage<SimTimeProvider>>>,
}

impl DiskWorld {
    /// A world with disks of [`DEFAULT_DRIVE`].
    #[expect(clippy::new_without_default, reason = "nothing of a simulation is a default")]
    pub fn new() -> DiskWorld {
        DiskWorld::with_drive(SimWorld::new(), DEFAULT_DRIVE, 0)
    }

    /// A world with this seed, and disks of [`DEFAULT_DRIVE`].
    pub fn new_with_seed(seed: u64) -> DiskWorld {
        DiskWorld::with_drive(SimWorld::new_with_seed(seed), DEFAULT_DRIVE, seed)
    }

    /// A world with disks of this drive of the catalogue.
    pub fn with_drive(sim: SimWorld, drive: &str, seed: u64) -> DiskWorld {
        DiskWorld { sim, drive: drive.to_owned(), seed, disks: RefCell::default() }
    }

    /// The disk of a process.
    pub fn storage_provider(&self, ip: IpAddr) -> Storage<SimTimeProvider> {
        let mut disks = self.disks.borrow_mut();
        let seed = self.seed + disks.len() as u64;
        let new_disk = || Storage::new(&self.drive, seed, self.sim.time_provider());
        disks.entry(ip).or_insert_with(new_disk).clone()
    }

    /// Cuts the power of a process's disk for an instant. Its files are always closed then, as their handles end.
    pub fn simulate_crash_for_process(&self, ip: IpAddr, _close_files: bool) {
        if let Some(disk) = self.disks.borrow().get(&ip) {
            disk.cut_power();
            disk.power_on();
        }
    }

    /// Gives a process a new disk; the old one has no power any more.
    pub fn wipe_storage_for_process(&self, ip: IpAddr) {
        if let Some(disk) = self.disks.borrow_mut().remove(&ip) {
            disk.cut_power();
        }
    }
}

impl Deref for DiskWorld {
    type Target = SimWorld;

    fn deref(&self) -> &SimWorld {
        &self.sim
    }
}

impl DerefMut for DiskWorld {
    fn deref_mut(&mut self) -> &mut SimWorld {
        &mut self.sim
    }
}

/// A bundle of providers whose storage is a modelled disk.
#[derive(Clone)]
pub struct DiskProviders<P: Providers> {
    others: P,
    storage: Storage<P::Time>,
}

impl<P: Providers> DiskProviders<P> {
    /// The bundle with this disk instead of its own storage.
    pub fn new(others: P, storage: Storage<P::Time>) -> DiskProviders<P> {
        DiskProviders { others, storage }
    }
}

impl<P: Providers> Providers for DiskProviders<P> {
    type Network = P::Network;
    type Time = P::Time;
    type Task = P::Task;
    type Random = P::Random;
    type Storage = Storage<P::Time>;

    fn network(&self) -> &P::Network {
        self.others.network()
    }

    fn time(&self) -> &P::Time {
        self.others.time()
    }

    fn task(&self) -> &P::Task {
        self.others.task()
    }

    fn random(&self) -> &P::Random {
        self.others.random()
    }

    fn storage(&self) -> &Storage<P::Time> {
        &self.storage
    }
}
