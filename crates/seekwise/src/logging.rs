//! The log of all requests of a run or a replay. Without the feature `parquet`, this build cannot write one: asking for
//! it is an error.

use std::path::Path;

use seekwise_disk::record::Record;

use crate::error::Error;
#[cfg(feature = "parquet")]
use crate::request_log::{LogHeader, ParquetLog};
#[cfg(feature = "parquet")]
use crate::system::outputs::prepare_output;

/// The run whose requests are logged.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "no log is written"))]
pub(crate) struct LoggedRun<'a> {
    /// The job that ran, as a title has it.
    pub job: &'a str,
    /// The target that it ran on, as a title has it.
    pub target: &'a str,
    pub seed: u64,
    /// Whether times are measured, not virtual.
    pub measured: bool,
}

/// The log of all requests, if the caller wants one.
#[cfg(feature = "parquet")]
pub(crate) struct RequestLog {
    log: Option<ParquetLog>,
    failure: Option<Error>,
}

#[cfg(feature = "parquet")]
impl RequestLog {
    /// Begins the log at `path`; without one, nothing is logged.
    pub fn create(path: Option<&Path>, force: bool, run: &LoggedRun<'_>) -> Result<RequestLog, Error> {
        let Some(path) = path else { return Ok(RequestLog { log: None, failure: None }) };
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
        let LoggedRun { job, target, seed, measured } = *run;
        let log = ParquetLog::create(path, force, &LogHeader { job, target, seed, measured })?;
        Ok(RequestLog { log: Some(log), failure: None })
    }

    /// Logs a request.
    #[inline]
    pub fn log_request(&mut self, record: &Record) {
        if let (Some(log), None) = (&mut self.log, &self.failure) {
            self.failure = log.add_row(record).err();
        }
    }

    /// An error, once, if a request could not be logged.
    pub fn check_written(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Completes the log and puts it in its place; without this call the file never appears.
    pub fn finish(self) -> Result<(), Error> {
        self.log.map_or(Ok(()), ParquetLog::finish)
    }
}

/// Stands for the log where the feature `parquet` is off.
#[cfg(not(feature = "parquet"))]
pub(crate) struct RequestLog;

#[cfg(not(feature = "parquet"))]
impl RequestLog {
    /// An error where a log is asked for.
    pub fn create(path: Option<&Path>, _: bool, _: &LoggedRun<'_>) -> Result<RequestLog, Error> {
        match path {
            Some(_) => Err(Error::new("a log of requests needs the feature `parquet`, which this build is without")),
            None => Ok(RequestLog),
        }
    }

    /// Logs nothing.
    pub fn log_request(&mut self, _: &Record) {}

    /// Nothing was logged.
    pub fn check_written(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// There is nothing to complete.
    pub fn finish(self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(all(test, feature = "parquet"))]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_could_not_be_logged_is_told_once() {
        let mut log = RequestLog { log: None, failure: Some(Error::new("no space left")) };
        assert_eq!(log.check_written(), Err(Error::new("no space left")));
        assert_eq!(log.check_written(), Ok(()));
        let run = LoggedRun { job: "j", target: "d", seed: 1, measured: false };
        let mut none = RequestLog::create(None, false, &run).unwrap();
        assert_eq!(none.check_written(), Ok(()));
    }
}
