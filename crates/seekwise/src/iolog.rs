//! The logs that a fio job asks for (`write_iolog`), in fio's own form: each request of a worker as it is issued, the ramp's
//! too. Written as all files are ([`crate::whole`]), below the current folder alone: job files come from others.

use std::io::{BufWriter, Write};
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};

use seekwise_formats::fio::LogOf;
use seekwise_model::block::Request;
use seekwise_model::time::Instant;
use seekwise_model::workload::Tell;

use crate::error::Error;
use crate::whole::{OutputFile, admit};

/// The logs of a run, by worker. Workers may be threads: each has a lock of its own.
pub struct Iologs(Arc<Vec<Option<Mutex<Open>>>>);

/// A log that is being written.
struct Open {
    of: LogOf,
    to: BufWriter<OutputFile>,
    /// When the first request was issued, and the last.
    instants: Option<[Instant; 2]>,
    /// What went wrong; nothing is written after it.
    failed: Option<std::io::Error>,
}

/// Makes sure that the logs may be written, before there is work done for them; `log` is what else is written.
pub fn admit_all(logs: &[LogOf], force: bool, log: Option<&Path>) -> Result<(), Error> {
    for LogOf { path, place: (file, line), .. } in logs {
        let below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !below {
            return Err(Error::new(format!(
                "{file}:{line}: `write_iolog`: `{path}` does not lie below the current folder; expected a path that does"
            )));
        }
        if log.is_some_and(|log| log == Path::new(path)) {
            return Err(Error::new(format!(
                "{file}:{line}: `write_iolog`: `{path}` is what --log names; expected two files"
            )));
        }
        admit(Path::new(path), force)?;
        if !is_below(Path::new(path)) {
            return Err(Error::new(format!(
                "{file}:{line}: `write_iolog`: `{path}` leads out of the current folder by a link; expected a path below it"
            )));
        }
    }
    Ok(())
}

/// Whether the folder of a path lies below the current one, links followed.
fn is_below(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = |path: &Path| path.canonicalize().ok();
    whole(folder).zip(whole(Path::new("."))).is_some_and(|(folder, current)| folder.starts_with(current))
}

impl Iologs {
    /// Begins them.
    pub fn create(logs: &[LogOf]) -> Result<Iologs, Error> {
        let workers = logs.iter().map(|log| usize::from(log.worker) + 1).max().unwrap_or(0);
        let mut all: Vec<Option<Mutex<Open>>> = (0..workers).map(|_| None).collect();
        for of in logs {
            let begun = OutputFile::create(Path::new(&of.path)).map(BufWriter::new).and_then(|mut to| {
                to.write_all(of.head().as_bytes())?;
                Ok(Open { of: of.clone(), to, instants: None, failed: None })
            });
            all[usize::from(of.worker)] = Some(Mutex::new(begun.map_err(|why| failed(of, &why))?));
        }
        Ok(Iologs(Arc::new(all)))
    }

    /// What is told of requests; nothing where there is no log.
    pub fn tell(&self) -> Option<Tell> {
        let logs = Arc::clone(&self.0);
        (!logs.is_empty()).then(|| {
            Tell::new(move |now, request| {
                if let Some(Some(log)) = logs.get(usize::from(request.origin)) {
                    log.lock().unwrap_or_else(PoisonError::into_inner).take(now, request);
                }
            })
        })
    }

    /// Completes them and puts them in their places. Whoever is told has gone.
    pub fn finish(self) -> Result<(), Error> {
        let logs = Arc::into_inner(self.0).unwrap_or_default();
        for log in logs.into_iter().flatten() {
            let Open { of, mut to, instants, failed: why } = log.into_inner().unwrap_or_else(PoisonError::into_inner);
            let [first, last] = instants.unwrap_or([Instant::ZERO; 2]);
            let done = why.map_or(Ok(()), Err).and_then(|()| to.write_all(of.tail(first, last).as_bytes()));
            let done = done.and_then(|()| to.into_inner().map_err(|error| error.into_error())?.finish());
            done.map_err(|why| failed(&of, &why))?;
            log::info!("{}: the log of the job's requests is written", of.path);
        }
        Ok(())
    }
}

impl Open {
    fn take(&mut self, now: Instant, request: &Request) {
        let [first, last] = self.instants.get_or_insert([now; 2]);
        *last = now;
        if let (Some(line), None) = (self.of.line(*first, now, request), &self.failed) {
            self.failed = self.to.write_all(line.as_bytes()).err();
        }
    }
}

fn failed(of: &LogOf, why: &std::io::Error) -> Error {
    Error::new(format!("{}: {why}", of.path))
}
