//! The logs that a fio job asks for (`write_iolog`), in fio's own form: each request of a worker as it is issued, the ramp's
//! too. Written as all files are ([`crate::outputs`]), in the current folder alone: job files come from others.

use std::io::{BufWriter, Read, Write};
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};

use seekwise_disk::block::Request;
use seekwise_disk::time::Instant;
use seekwise_formats::fio::WorkerIolog;
use seekwise_work::workload::IssueListener;

use crate::error::Error;
use crate::system::outputs::{OutputFile, open_read, prepare_output};

/// How all versions of fio's logs begin.
const HEAD: &[u8; 12] = b"fio version ";

/// The logs of a run, by worker. Workers may be threads: each has a lock of its own.
pub(crate) struct Iologs(Arc<Vec<Option<Mutex<OpenIolog>>>>);

/// A log that is being written.
struct OpenIolog {
    of: WorkerIolog,
    to: BufWriter<OutputFile>,
    /// When the first request was issued, and the last.
    instants: Option<[Instant; 2]>,
    /// The first error; nothing is written after it.
    failed: Option<std::io::Error>,
}

/// Checks that the logs may be written, before work is done for them. A job comes from anybody, so its logs go to the current
/// folder alone, under plain names that no program reads by itself, and replace nothing but logs, and these only with `force`.
pub(crate) fn admit_all(logs: &[WorkerIolog], force: bool) -> Result<(), Error> {
    for WorkerIolog { path: name, place: (file, line), .. } in logs {
        let refused = |why: String| Err(Error::new(format!("{file}:{line}: `write_iolog`: `{name}` {why}")));
        let path = Path::new(name);
        if !is_plain(name) {
            return refused(
                "is not accepted from a job; expected a file name without a folder, which begins with a letter, a digit \
                 or `_`: the log goes to the current folder"
                    .to_owned(),
            );
        }
        if path.symlink_metadata().is_ok_and(|there| there.is_file()) && !is_log(path) {
            return refused(
                "exists and is no log of fio's; a job replaces no other file, whatever --force says".to_owned(),
            );
        }
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
    }
    Ok(())
}

/// Whether a name says no folder, and no file that programs look for by themselves (`.profile`) or take for an option.
fn is_plain(name: &str) -> bool {
    let begins = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    begins && matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(only)] if only == name)
}

/// Whether a file begins as fio's logs do.
fn is_log(path: &Path) -> bool {
    let mut head = [0; HEAD.len()];
    open_read(path).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *HEAD)
}

impl Iologs {
    /// Begins the logs; logs that are there are replaced only with `force`.
    pub fn create(logs: &[WorkerIolog], force: bool) -> Result<Iologs, Error> {
        let workers = logs.iter().map(|log| usize::from(log.worker) + 1).max().unwrap_or(0);
        let mut all: Vec<Option<Mutex<OpenIolog>>> = (0..workers).map(|_| None).collect();
        for of in logs {
            let begun = OutputFile::create(Path::new(&of.path), force).map(BufWriter::new).and_then(|mut to| {
                to.write_all(of.head_lines().as_bytes())?;
                Ok(OpenIolog { of: of.clone(), to, instants: None, failed: None })
            });
            all[usize::from(of.worker)] = Some(Mutex::new(begun.map_err(|why| log_error(of, &why))?));
        }
        Ok(Iologs(Arc::new(all)))
    }

    /// A listener that logs requests; `None` if there is no log.
    pub(crate) fn request_listener(&self) -> Option<IssueListener> {
        let logs = Arc::clone(&self.0);
        (!logs.is_empty()).then(|| {
            IssueListener::new(move |now, request| {
                if let Some(Some(log)) = logs.get(usize::from(request.origin)) {
                    log.lock().unwrap_or_else(PoisonError::into_inner).write_request(now, request);
                }
            })
        })
    }

    /// Completes the logs and puts them in their places. Listeners must have been dropped.
    pub fn finish(self) -> Result<(), Error> {
        let logs = Arc::into_inner(self.0).unwrap_or_default();
        for log in logs.into_iter().flatten() {
            let OpenIolog { of, mut to, instants, failed: why } =
                log.into_inner().unwrap_or_else(PoisonError::into_inner);
            let [first, last] = instants.unwrap_or([Instant::ZERO; 2]);
            let done = why.map_or(Ok(()), Err).and_then(|()| to.write_all(of.tail_lines(first, last).as_bytes()));
            let done = done.and_then(|()| to.into_inner().map_err(|error| error.into_error())?.finish());
            done.map_err(|why| log_error(&of, &why))?;
            log::info!("{}: the log of the job's requests is written", of.path);
        }
        Ok(())
    }
}

impl OpenIolog {
    fn write_request(&mut self, now: Instant, request: &Request) {
        let [first, last] = self.instants.get_or_insert([now; 2]);
        *last = now;
        if let (Some(line), None) = (self.of.request_line(*first, now, request), &self.failed) {
            self.failed = self.to.write_all(line.as_bytes()).err();
        }
    }
}

fn log_error(of: &WorkerIolog, why: &std::io::Error) -> Error {
    Error::of_file(Path::new(&of.path), why)
}
