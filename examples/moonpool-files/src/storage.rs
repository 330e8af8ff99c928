//! A disk with its files, for programs that ask moonpool's traits for them. An operation begins at the simulation's present instant;
//! its future sleeps in the simulation's time until the disk has done it.
//!
//! moonpool asks for `Send`, and a modelled disk stays on its thread, as moonpool's tasks do: access from another thread panics. No
//! thread waits for the disk, so moonpool may fork the process. Links, times and permissions are missing.
//!
//! Source of the interface: `moonpool-core` 0.8.0, `src/storage.rs`.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use moonpool_core::{OpenOptions, StorageProvider, TimeError, TimeProvider};
use seekwise_disk::block::Device;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_disk::time::Instant;
use seekwise_drives::drives;
use seekwise_files::layer::Files;
use seekwise_files::operation::{Answer, FileError, FileOp, Handle, OpId, Settings};
use send_wrapper::SendWrapper;

use crate::file::File;

/// The files of a modelled disk. Clones share the disk.
#[derive(Clone)]
pub struct Storage<T> {
    disk: Arc<SendWrapper<RefCell<State>>>,
    time: Arc<T>,
}

struct State {
    files: Files<Box<dyn Device>>,
    /// The latest instant that the disk was told.
    now: Instant,
    /// Operations whose futures have not answered. In order, so that wakes have one.
    waiting: BTreeMap<OpId, Waiting>,
    /// Tasks that look again.
    woken: Vec<Waker>,
}

#[derive(Default)]
struct Waiting {
    waker: Option<Waker>,
    result: Option<Result<Answer, FileError>>,
}

impl<T: TimeProvider> Storage<T> {
    /// An empty disk of this drive of the catalogue, in this time.
    pub fn new(drive: &str, seed: u64, time: T) -> Storage<T> {
        Storage::with_settings(drive, seed, time, Settings::default())
    }

    /// The same with these settings of the page cache and the journal.
    pub fn with_settings(drive: &str, seed: u64, time: T, settings: Settings) -> Storage<T> {
        let profile = drives::load(drive).and_then(|drive| drive.profile()).expect("a drive of the catalogue");
        let device = Stack::bare(profile).build(Seed(seed));
        let files = Files::format(device, settings).expect("a drive of 512 MiB or more");
        let state = State { files, now: Instant::ZERO, waiting: BTreeMap::new(), woken: Vec::new() };
        Storage { disk: Arc::new(SendWrapper::new(RefCell::new(state))), time: Arc::new(time) }
    }

    /// Cuts the power: operations fail until [`Storage::power_on`].
    pub fn cut_power(&self) {
        self.with_state(|state, now| state.files.cut_power(now));
    }

    /// Restores the power: files are those that recovery finds, and open handles have ended.
    pub fn power_on(&self) {
        self.with_state(|state, now| state.files.power_on(now));
    }

    /// Creates a directory; moonpool's trait has none.
    pub async fn create_directory(&self, path: &str) -> io::Result<()> {
        self.run(FileOp::CreateDirectory { path }).await.map(drop)
    }

    /// Begins an operation.
    pub(crate) fn run(&self, op: FileOp<'_>) -> Operation<T> {
        let op = self.with_state(|state, now| state.submit(now, op));
        Operation { storage: self.clone(), op, sleep: None }
    }

    /// The length of a file, which takes no time.
    pub(crate) fn file_len(&self, file: Handle) -> io::Result<u64> {
        let result = self.with_state(|state, now| {
            let op = state.submit(now, FileOp::Len { file });
            state.waiting.remove(&op).and_then(|waiting| waiting.result).expect("it is known at once")
        });
        match result.map_err(to_io_error)? {
            Answer::Len(len) => Ok(len),
            answer => unreachable!("{answer:?} is no length"),
        }
    }

    async fn open_handle(&self, op: FileOp<'_>) -> io::Result<Handle> {
        match self.run(op).await? {
            Answer::Opened(handle) => Ok(handle),
            answer => unreachable!("{answer:?} opens nothing"),
        }
    }

    /// Changes the disk at the present instant, then wakes the tasks that have to look again.
    fn with_state<R>(&self, change: impl FnOnce(&mut State, Instant) -> R) -> R {
        let (result, woken) = {
            let mut state = self.disk.borrow_mut();
            // The clock of a simulation that has ended stands at 0.
            let now = state.now.max(Instant::from_nanos(self.time.now().as_nanos() as u64));
            state.now = now;
            let next = state.files.poll_timeout();
            let result = change(&mut state, now);
            state.collect();
            // Whoever sleeps until a later instant may be answered before it.
            if state.files.poll_timeout().is_some_and(|at| next.is_none_or(|before| at < before)) {
                let State { waiting, woken, .. } = &mut *state;
                woken.extend(waiting.values_mut().filter_map(|waiting| waiting.waker.take()));
            }
            (result, std::mem::take(&mut state.woken))
        };
        woken.into_iter().for_each(Waker::wake);
        result
    }
}

impl State {
    fn submit(&mut self, now: Instant, op: FileOp<'_>) -> OpId {
        let id = self.files.submit(now, op);
        self.waiting.insert(id, Waiting::default());
        self.collect();
        id
    }

    /// Gives results to those who wait for them.
    fn collect(&mut self) {
        while let Some(completion) = self.files.poll_completion() {
            // Nobody waits for an operation whose future was dropped.
            if let Some(waiting) = self.waiting.get_mut(&completion.op) {
                waiting.result = Some(completion.result);
                self.woken.extend(waiting.waker.take());
            }
        }
    }
}

/// An operation in progress. Dropping it leaves the operation to the disk.
pub(crate) struct Operation<T: TimeProvider> {
    storage: Storage<T>,
    op: OpId,
    /// The sleep in progress, and its end.
    sleep: Option<(Instant, Sleep)>,
}

type Sleep = Pin<Box<dyn Future<Output = Result<(), TimeError>> + Send>>;

impl<T: TimeProvider> Future for Operation<T> {
    type Output = io::Result<Answer>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<Answer>> {
        let this = &mut *self;
        loop {
            let done_or_times = this.storage.with_state(|state, now| {
                state.files.handle_timeout(now);
                state.collect();
                let waiting = state.waiting.get_mut(&this.op).expect("it has not answered yet");
                if let Some(result) = waiting.result.take() {
                    state.waiting.remove(&this.op);
                    return Ok(result);
                }
                waiting.waker = Some(context.waker().clone());
                Err((now, state.files.poll_timeout().expect("an operation is in progress")))
            });
            let (now, next) = match done_or_times {
                Ok(result) => return Poll::Ready(result.map_err(to_io_error)),
                Err(times) => times,
            };
            if this.sleep.as_ref().is_none_or(|(end, _)| next < *end) {
                let (time, span) = (Arc::clone(&this.storage.time), next.saturating_since(now).nanos());
                let sleep = async move { time.sleep(Duration::from_nanos(span)).await };
                this.sleep = Some((next, Box::pin(sleep)));
            }
            let (_, sleep) = this.sleep.as_mut().expect("it was set");
            let slept = ready!(sleep.as_mut().poll(context));
            slept.map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error))?;
            this.sleep = None;
        }
    }
}

impl<T: TimeProvider> Drop for Operation<T> {
    fn drop(&mut self) {
        self.storage.disk.borrow_mut().waiting.remove(&self.op);
    }
}

impl<T: TimeProvider> StorageProvider for Storage<T> {
    type File = File<T>;

    async fn open(&self, path: &str, options: OpenOptions) -> io::Result<File<T>> {
        let handle = match options.is_create_new() {
            true => self.open_handle(FileOp::Create { path }).await?,
            false => match self.open_handle(FileOp::Open { path }).await {
                Ok(handle) if options.is_truncate() => {
                    self.run(FileOp::SetLen { file: handle, len: 0 }).await?;
                    handle
                }
                Err(error) if options.is_create() && error.kind() == io::ErrorKind::NotFound => {
                    self.open_handle(FileOp::Create { path }).await?
                }
                opened => opened?,
            },
        };
        Ok(File::new(self.clone(), handle, options))
    }

    async fn exists(&self, path: &str) -> io::Result<bool> {
        match self.open_handle(FileOp::Open { path }).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            opened => opened.map(|_| true),
        }
    }

    async fn delete(&self, path: &str) -> io::Result<()> {
        let handle = self.open_handle(FileOp::Open { path }).await?;
        // An error if it is a directory.
        self.file_len(handle)?;
        self.run(FileOp::Remove { path }).await.map(drop)
    }

    async fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.run(FileOp::Rename { from, to }).await.map(drop)
    }
}

impl<T> fmt::Debug for Storage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").finish_non_exhaustive()
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
