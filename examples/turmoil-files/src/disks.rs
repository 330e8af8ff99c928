//! The disks of hosts. Each outlives its host's software: a crash cuts its power, a bounce restores it.
//!
//! Code on a host finds its disk by the runtime that it runs in, since turmoil does not tell the name of the current host. A
//! host that was not attached gets a disk of [`DEFAULT_DRIVE`] for as long as its software runs.
//!
//! Tokio's timers have steps of a millisecond, so a task may wake late; the disk does each thing at its own instant all the
//! same.
//!
//! A blocking call ([`crate::blocking`]) cannot let the simulation's time pass, so it lets the disk's run ahead: the call is done at
//! once for the host, and later operations wait behind it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::io;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::drives;
use seekwise_files::layer::Files;
use seekwise_files::operation::{Answer, FileError, FileOp, OpId, Settings};
use tokio::runtime::{Handle, Id};
use tokio::sync::Notify;
use turmoil::Sim;

/// The drive of hosts that were not attached: 7,200 rpm, 8 MB of buffer.
pub const DEFAULT_DRIVE: &str = "barracuda-7200.7-ncq";

thread_local! {
    /// True within a blocking call.
    static IS_BLOCKING: Cell<bool> = const { Cell::new(false) };
    /// The disk of each runtime; those of attached hosts are owned by their [`Disks`].
    static BY_RUNTIME: RefCell<HashMap<Id, Weak<HostDisk>>> = RefCell::default();
    /// The disks of hosts that were not attached.
    static UNATTACHED: RefCell<Vec<Rc<HostDisk>>> = RefCell::default();
}

/// The files of a host.
pub(crate) struct HostDisk {
    state: RefCell<State>,
    /// Wakes waiting tasks after the disk has advanced.
    advanced: Notify,
}

struct State {
    files: Files<Box<dyn Device>>,
    /// The end of the last blocking call.
    ahead: Instant,
    /// Results that no task has taken yet, with the instants at which they came.
    results: HashMap<OpId, (Instant, Result<Answer, FileError>)>,
}

/// The disks of a simulation's hosts.
pub struct Disks {
    drive: String,
    settings: Settings,
    seed: u64,
    disks: BTreeMap<String, Rc<HostDisk>>,
}

impl Disks {
    /// Disks of this drive of the catalogue; each host has its own.
    pub fn new(drive: &str, seed: u64) -> Disks {
        Disks { drive: drive.to_owned(), settings: Settings::default(), seed, disks: BTreeMap::new() }
    }

    /// The disks with these settings of the page cache and the journal.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Disks {
        Disks { settings, ..self }
    }

    /// Attaches a disk with these files, each with its length, that are there before the simulation.
    pub fn place_files(&mut self, host: &str, files: &[(&str, u64)]) {
        let disk = self.disk(host);
        for (path, bytes) in files {
            disk.state.borrow_mut().files.place_file(path, *bytes).expect("a new file that fits on the drive");
        }
    }

    /// Adds a host to the simulation, as [`Sim::host`], with its disk.
    pub fn host<'a, F, Fut>(&mut self, sim: &mut Sim<'a>, name: &str, software: F)
    where
        F: Fn() -> Fut + 'a,
        Fut: Future<Output = turmoil::Result> + 'static,
    {
        let disk = Rc::downgrade(&self.disk(name));
        sim.host(name, move || {
            // turmoil starts the software in a new runtime each time.
            BY_RUNTIME.with_borrow_mut(|disks| _ = disks.insert(Handle::current().id(), disk.clone()));
            software()
        });
    }

    /// Crashes a host, and cuts the power of its disk.
    pub fn crash(&self, sim: &mut Sim<'_>, name: &str) {
        sim.crash(name);
        self.cut_power(sim, name);
    }

    /// Cuts the power of a host's disk alone: its operations fail until [`Disks::power_on`].
    pub fn cut_power(&self, sim: &Sim<'_>, name: &str) {
        let disk = &self.disks[name];
        let mut state = disk.state.borrow_mut();
        let now = state.latest(to_instant(sim.elapsed()));
        state.files.cut_power(now);
        state.collect();
        disk.advanced.notify_waiters();
    }

    /// Restores the power of a host's disk: files are those that recovery finds, and open handles have ended.
    pub fn power_on(&self, sim: &Sim<'_>, name: &str) {
        let mut state = self.disks[name].state.borrow_mut();
        let now = state.latest(to_instant(sim.elapsed()));
        state.files.power_on(now);
    }

    /// Restores the power of a host's disk, and restarts the host.
    pub fn bounce(&self, sim: &mut Sim<'_>, name: &str) {
        self.power_on(sim, name);
        sim.bounce(name);
    }

    /// The disk of a host; a new one if it has none.
    fn disk(&mut self, host: &str) -> Rc<HostDisk> {
        let seed = self.seed + self.disks.len() as u64;
        let new_disk = || Rc::new(HostDisk::open(&self.drive, self.settings, seed));
        Rc::clone(self.disks.entry(host.to_owned()).or_insert_with(new_disk))
    }
}

impl HostDisk {
    fn open(drive: &str, settings: Settings, seed: u64) -> HostDisk {
        let profile = drives::load(drive).and_then(|drive| drive.profile()).expect("a drive of the catalogue");
        let files =
            Files::format(Stack::bare(profile).build(Seed(seed)), settings).expect("a drive of 512 MiB or more");
        HostDisk {
            state: RefCell::new(State { files, ahead: Instant::ZERO, results: HashMap::new() }),
            advanced: Notify::new(),
        }
    }

    /// The disk of the host that runs.
    fn current() -> Rc<HostDisk> {
        let id = Handle::current().id();
        let known = BY_RUNTIME.with_borrow(|disks| disks.get(&id).and_then(Weak::upgrade));
        known.unwrap_or_else(|| {
            let disk = Rc::new(HostDisk::open(DEFAULT_DRIVE, Settings::default(), 1));
            BY_RUNTIME.with_borrow_mut(|disks| _ = disks.insert(id, Rc::downgrade(&disk)));
            UNATTACHED.with_borrow_mut(|disks| disks.push(Rc::clone(&disk)));
            disk
        })
    }

    /// Waits for the result of an operation.
    async fn wait_for(&self, op: OpId) -> Result<Answer, FileError> {
        loop {
            let advanced = self.advanced.notified();
            let (done, next) = {
                let mut state = self.state.borrow_mut();
                state.collect();
                (state.results.remove(&op), state.files.poll_timeout())
            };
            if let Some((finished, result)) = done {
                // Later than now only behind a blocking call.
                let wait = finished.saturating_since(now()).nanos();
                if wait > 0 && !IS_BLOCKING.get() {
                    tokio::time::sleep(Duration::from_nanos(wait)).await;
                }
                return result;
            }
            let next = next.expect("an operation is in flight");
            if IS_BLOCKING.get() {
                let mut state = self.state.borrow_mut();
                state.ahead = next;
                state.files.handle_timeout(next);
                self.advanced.notify_waiters();
                continue;
            }
            tokio::select! {
                biased;
                () = advanced => {}
                () = tokio::time::sleep(Duration::from_nanos(next.saturating_since(now()).nanos())) => {
                    let mut state = self.state.borrow_mut();
                    let now = state.latest(now());
                    state.files.handle_timeout(now);
                    state.collect();
                    self.advanced.notify_waiters();
                }
            }
        }
    }
}

impl State {
    /// The instant at which the disk is: never before the end of a blocking call.
    fn latest(&self, now: Instant) -> Instant {
        now.max(self.ahead)
    }

    fn collect(&mut self) {
        while let Some(completion) = self.files.poll_completion() {
            self.results.insert(completion.op, (completion.finished, completion.result));
        }
    }
}

/// Runs an operation on the disk of the current host.
pub(crate) async fn run(op: FileOp<'_>) -> io::Result<Answer> {
    let disk = HostDisk::current();
    let id = {
        let mut state = disk.state.borrow_mut();
        let now = state.latest(now());
        let id = state.files.submit(now, op);
        state.collect();
        id
    };
    // Whoever waits for the disk looks again: its next instant may be earlier.
    disk.advanced.notify_waiters();
    disk.wait_for(id).await.map_err(to_io_error)
}

/// Runs a future of this crate to its end in a blocking call.
pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    let was_blocking = IS_BLOCKING.replace(true);
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    IS_BLOCKING.set(was_blocking);
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("a blocking call waits for nothing but its disk"),
    }
}

/// The error of the standard library for an error of the file layer.
fn to_io_error(error: FileError) -> io::Error {
    let kind = match error {
        FileError::NotFound => io::ErrorKind::NotFound,
        FileError::Exists => io::ErrorKind::AlreadyExists,
        FileError::NotADirectory => io::ErrorKind::NotADirectory,
        FileError::IsADirectory => io::ErrorKind::IsADirectory,
        FileError::NotEmpty => io::ErrorKind::DirectoryNotEmpty,
        FileError::BadName | FileError::WithinItself => io::ErrorKind::InvalidInput,
        FileError::NoSpace => io::ErrorKind::StorageFull,
        FileError::TooLarge => io::ErrorKind::FileTooLarge,
        FileError::Unreadable | FileError::Device | FileError::PowerLost | FileError::PoweredOff => {
            io::ErrorKind::Other
        }
    };
    io::Error::new(kind, error)
}

/// The present instant of the simulation.
fn now() -> Instant {
    to_instant(turmoil::sim_elapsed().expect("a host of a simulation"))
}

fn to_instant(elapsed: Duration) -> Instant {
    Instant::from_nanos(elapsed.as_nanos() as u64)
}
