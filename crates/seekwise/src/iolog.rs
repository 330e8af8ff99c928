//! Writes the logs that a fio job asks for (`write_iolog`), in fio's own form (fio's manual, "Trace file format"): each
//! request of a worker as it is issued, those of the ramp too. Job files come from others, so that logs are written as
//! all outputs are ([`crate::outputs`]), and in the current folder alone.

use std::io::{BufWriter, Read, Write};
use std::path::{Component, Path};
use std::sync::{Arc, Mutex, PoisonError};

use seekwise_disk::block::Request;
use seekwise_disk::time::Instant;
use seekwise_formats::fio::WorkerIolog;
use seekwise_work::workload::IssueListener;

use crate::error::Error;
use crate::system::outputs::{OutputFile, open_read, prepare_output};

/// The first bytes of fio's logs, in all versions.
const HEAD: &[u8; 12] = b"fio version ";

/// The logs of a run, by worker. Workers may be threads: each has a lock of its own.
pub(crate) struct Iologs(Arc<Vec<Option<Mutex<OpenIolog>>>>);

/// A log that is being written.
struct OpenIolog {
    log: WorkerIolog,
    writer: BufWriter<OutputFile>,
    /// When the first request was issued, and when the last.
    instants: Option<[Instant; 2]>,
    /// The first error; nothing is written after it.
    failure: Option<std::io::Error>,
}

/// Checks that the logs may be written, before any work is done for them. A job comes from anybody, so its logs go to
/// the current folder alone, have plain names that no program reads by itself, and replace nothing but logs, and these
/// only with `force`.
pub(crate) fn check_logs_writable(logs: &[WorkerIolog], force: bool) -> Result<(), Error> {
    for WorkerIolog { path: name, place: (file, line), .. } in logs {
        let refused = |why: String| Err(Error::new(format!("{file}:{line}: `write_iolog`: `{name}` {why}")));
        let path = Path::new(name);
        if !is_plain_name(name) {
            return refused(
                "is not accepted from a job; expected a file name without a folder, which begins with a letter, a digit \
                 or `_`: the log goes to the current folder"
                    .to_owned(),
            );
        }
        if path.symlink_metadata().is_ok_and(|there| there.is_file()) && !is_fio_log(path) {
            return refused(
                "exists and is no log of fio's; a job replaces no other file, whatever --force says".to_owned(),
            );
        }
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
    }
    Ok(())
}

/// Whether a name has no folder, and is neither hidden (`.profile`: programs look for such files by themselves) nor
/// like an option (`-x`).
fn is_plain_name(name: &str) -> bool {
    let begins_plainly = name.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    begins_plainly
        && matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(only)] if only == name)
}

/// Whether a file begins as fio's logs do.
fn is_fio_log(path: &Path) -> bool {
    let mut head = [0; HEAD.len()];
    open_read(path).and_then(|mut file| file.read_exact(&mut head)).is_ok_and(|()| head == *HEAD)
}

impl Iologs {
    /// Begins the logs; logs that are there are replaced only with `force`.
    pub fn create(logs: &[WorkerIolog], force: bool) -> Result<Iologs, Error> {
        let workers = logs.iter().map(|log| usize::from(log.worker) + 1).max().unwrap_or(0);
        let mut by_worker: Vec<Option<Mutex<OpenIolog>>> = (0..workers).map(|_| None).collect();
        for log in logs {
            let begun = OutputFile::create(Path::new(&log.path), force).map(BufWriter::new).and_then(|mut writer| {
                writer.write_all(log.head_lines().as_bytes())?;
                Ok(OpenIolog { log: log.clone(), writer, instants: None, failure: None })
            });
            by_worker[usize::from(log.worker)] = Some(Mutex::new(begun.map_err(|why| log_error(log, &why))?));
        }
        Ok(Iologs(Arc::new(by_worker)))
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
        for open in logs.into_iter().flatten() {
            let OpenIolog { log, mut writer, instants, failure } =
                open.into_inner().unwrap_or_else(PoisonError::into_inner);
            let [first, last] = instants.unwrap_or([Instant::ZERO; 2]);
            let written =
                failure.map_or(Ok(()), Err).and_then(|()| writer.write_all(log.tail_lines(first, last).as_bytes()));
            let finished = written.and_then(|()| writer.into_inner().map_err(|error| error.into_error())?.finish());
            finished.map_err(|why| log_error(&log, &why))?;
            log::info!("{}: the log of the job's requests is written", log.path);
        }
        Ok(())
    }
}

impl OpenIolog {
    fn write_request(&mut self, now: Instant, request: &Request) {
        let [first, last] = self.instants.get_or_insert([now; 2]);
        *last = now;
        if let (Some(line), None) = (self.log.request_line(*first, now, request), &self.failure) {
            self.failure = self.writer.write_all(line.as_bytes()).err();
        }
    }
}

fn log_error(log: &WorkerIolog, why: &std::io::Error) -> Error {
    Error::of_file(Path::new(&log.path), why)
}
