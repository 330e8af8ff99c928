//! The log of all requests, where one is wanted and this build can write it.

use std::path::Path;

use seekwise_disk::record::Record;

use crate::error::Error;
#[cfg(feature = "parquet")]
use crate::reading::spoken;
#[cfg(feature = "parquet")]
use crate::request_log::{LogHeader, ParquetLog};
#[cfg(feature = "parquet")]
use crate::system::outputs::prepare_output;

/// The log of all requests, where one is wanted.
#[cfg(feature = "parquet")]
pub(crate) struct RequestLog {
    log: Option<ParquetLog>,
    failure: Option<Error>,
}

#[cfg(feature = "parquet")]
impl RequestLog {
    /// Begins the log at `path`; without one, nothing is logged.
    pub fn create(
        (job, target): (&str, &str),
        seed: u64,
        path: Option<&Path>,
        force: bool,
        measured: bool,
    ) -> Result<RequestLog, Error> {
        let Some(path) = path else { return Ok(RequestLog { log: None, failure: None }) };
        prepare_output(path, force).map_err(|why| Error::of_file(path, &why))?;
        let of = LogHeader { job: spoken(job), target: spoken(target), seed, measured };
        let log = ParquetLog::create(path, force, &of)?;
        Ok(RequestLog { log: Some(log), failure: None })
    }

    /// Logs a request.
    #[inline]
    pub fn take(&mut self, record: &Record) {
        if let (Some(log), None) = (&mut self.log, &self.failure) {
            self.failure = log.take(record).err();
        }
    }

    /// An error where a request could not be logged.
    pub fn check(&mut self) -> Result<(), Error> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Completes the log and puts it in its place; without this call the file never appears.
    pub fn finish(self) -> Result<(), Error> {
        self.log.map_or(Ok(()), ParquetLog::finish)
    }
}

/// None: the feature `parquet` is off.
#[cfg(not(feature = "parquet"))]
pub(crate) struct RequestLog;

#[cfg(not(feature = "parquet"))]
impl RequestLog {
    /// An error where a log is asked for.
    pub fn create(_: (&str, &str), _: u64, path: Option<&Path>, _: bool, _: bool) -> Result<RequestLog, Error> {
        match path {
            Some(_) => Err(Error::new("a log of requests needs the feature `parquet`, which this build is without")),
            None => Ok(RequestLog),
        }
    }

    /// Logs nothing.
    pub fn take(&mut self, _: &Record) {}

    /// Nothing was logged.
    pub fn check(&mut self) -> Result<(), Error> {
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
        assert_eq!(log.check(), Err(Error::new("no space left")));
        assert_eq!(log.check(), Ok(()));
        let mut none = RequestLog::create(("j", "d"), 1, None, false, false).unwrap();
        assert_eq!(none.check(), Ok(()));
    }
}
