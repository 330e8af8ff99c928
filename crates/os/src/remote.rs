//! Places behind a connection: any export of a network block device, and a modelled disk that is served to this program
//! itself, by the same server and over the same client. Measured times include the way there and back.

#[cfg(unix)]
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use seekwise_disk::block::Limits;
use seekwise_disk::rng::Seed;
use seekwise_disk::stack::Stack;
use seekwise_run::outcome::RunError;
use seekwise_run::place::Place;

#[cfg(unix)]
use crate::clock::take_real_time_priority;
use crate::measured_place::Measured;
#[cfg(unix)]
use crate::nbd::NbdClient;
use crate::real_time::{RealTime, TimedDevice};
use crate::serve::ExportUri;
#[cfg(unix)]
use crate::serve::serve_to_own_client;

/// An export of a server.
#[derive(Debug)]
pub struct RemotePlace {
    uri: ExportUri,
    limits: Limits,
}

impl RemotePlace {
    /// The name of the place.
    pub const NAME: &'static str = "nbd";

    /// Connects to the export at this address to learn its limits.
    pub fn connect(address: &str) -> Result<RemotePlace, String> {
        let uri = ExportUri::parse(address)?;
        Ok(RemotePlace { limits: export_limits(&uri)?, uri })
    }

    /// Connects to the export at this address as a place.
    pub(crate) fn connect_place(address: &str) -> Result<Arc<dyn Place>, String> {
        Ok(Arc::new(Measured(RemotePlace::connect(address)?)))
    }
}

#[cfg(unix)]
fn export_limits(uri: &ExportUri) -> Result<Limits, String> {
    Ok(connect_client(uri)?.limits())
}

#[cfg(not(unix))]
fn export_limits(_: &ExportUri) -> Result<Limits, String> {
    Err("no client of network block devices is there for this system".to_owned())
}

/// Time limit of a connection to a host.
#[cfg(unix)]
const CONNECT_LIMIT: std::time::Duration = std::time::Duration::from_secs(30);

#[cfg(unix)]
fn connect_client(uri: &ExportUri) -> Result<NbdClient, String> {
    use crate::serve::ListenAddress;
    let connected = match &uri.address {
        ListenAddress::Unix(path) => {
            UnixStream::connect(path).and_then(|wire| NbdClient::connect(Box::new(wire), &uri.export))
        }
        ListenAddress::Tcp(address) => TcpStream::connect_timeout(address, CONNECT_LIMIT)
            .and_then(|wire| NbdClient::connect(Box::new(wire), &uri.export)),
    };
    connected.map_err(|error| format!("{uri}: {error}; expected a server of network block devices"))
}

impl RealTime for RemotePlace {
    fn name(&self) -> &'static str {
        RemotePlace::NAME
    }

    fn full_name(&self) -> String {
        format!("{}:{}", RemotePlace::NAME, self.uri)
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    /// Nothing tells what is on an export, so it is never overwritten unasked.
    fn may_write(&self, destroyed_name: Option<&str>) -> Result<(), String> {
        match destroyed_name.map(ExportUri::parse) {
            Some(Ok(named)) if named == self.uri => Ok(()),
            None => Err(format!(
                "{0}: what is on it would be written over; expected --destroy {0} where all of it may go",
                self.uri
            )),
            Some(named) => Err(format!(
                "--destroy {}: names another export than {}",
                named.map_or_else(|why| why, |named| named.to_string()),
                self.uri
            )),
        }
    }

    #[cfg(unix)]
    fn open(&self, _: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        let client = connect_client(&self.uri).map_err(RunError::Unfit)?;
        // Until the run is over: its own instants are deadlines, too.
        take_real_time_priority();
        Ok(Box::new(client))
    }

    #[cfg(not(unix))]
    fn open(&self, _: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        Err(RunError::Unfit(export_limits(&self.uri).map(drop).unwrap_err()))
    }
}

/// A modelled disk, served to this program.
#[derive(Debug)]
pub struct LivePlace {
    stack: Stack,
}

impl LivePlace {
    /// The name of the place.
    pub const NAME: &'static str = "live";

    /// Creates the place of this stack's disk.
    pub fn new(stack: Stack) -> LivePlace {
        LivePlace { stack }
    }

    /// Creates the place of this stack's disk, as runs see it.
    pub(crate) fn new_place(stack: Stack) -> Arc<dyn Place> {
        Arc::new(Measured(LivePlace::new(stack)))
    }
}

impl RealTime for LivePlace {
    fn name(&self) -> &'static str {
        LivePlace::NAME
    }

    fn full_name(&self) -> String {
        format!("{}:{}", LivePlace::NAME, self.stack.profile.name)
    }

    /// As its client sees them: a connection carries no computing.
    fn limits(&self) -> Limits {
        Limits { computes: false, ..self.stack.build(Seed(0)).limits(0) }
    }

    #[cfg(unix)]
    fn open(&self, seed: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        take_real_time_priority();
        let served = serve_to_own_client(&self.stack, seed).map_err(|error| RunError::Unfit(error.to_string()))?;
        Ok(Box::new(served))
    }

    #[cfg(not(unix))]
    fn open(&self, _: Seed) -> Result<Box<dyn TimedDevice>, RunError> {
        Err(RunError::Unfit("a modelled disk cannot be served to itself on this system".to_owned()))
    }
}
