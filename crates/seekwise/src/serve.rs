//! Modelled disks in real time, as `seekwise serve` runs them: a disk with its contents, served to clients over a
//! network block device (NBD) or as a file in a folder; orders to it, recordings of its requests, and how well the
//! machine kept up.

use std::io::{self, BufWriter, Write};

use seekwise_formats::recording;
use seekwise_os::outputs::OutputFile;

/// A disk at work, and messages to it.
pub use seekwise_disk::block::{Device, SECTOR};
pub use seekwise_os::live::transports::LatencyRecorder;
pub use seekwise_os::live::{CutPlan, DiskMessage, DiskRecorder, Inbox, LiveDisk, MemoryRoom, RecorderEvent};
pub use seekwise_os::null::NullDevice;

/// The contents of its platters.
pub use seekwise_os::bytes::{Bytes, PlatterMedium};

/// Sockets for its clients, and a folder in which it is a file.
pub use seekwise_os::nbd::Export;
#[cfg(target_os = "linux")]
pub use seekwise_os::serve::fuse::FuseFolder;
pub use seekwise_os::serve::{FILE, ListenAddress, ServerSockets, measure_path_cost, serve_disk};

/// A command that runs beside it.
pub use seekwise_os::serve::command::BesideCommand;

/// Orders to a disk that is served, and the ends of refusals.
pub use seekwise_drives::change::{UNCHANGEABLE, UNFIT};
pub use seekwise_os::live::OrderReply;
pub use seekwise_os::serve::send_order;

/// How well the machine kept up.
pub use seekwise_run::receipt::attendance::CLIENTS;
pub use seekwise_run::receipt::pace::PaceVerdict;
pub use seekwise_run::receipt::{ClockSpeed, PathCost, Receipt, Stalls, TransportCost};

/// Begins a recording in a new file: the recorder writes the requests and orders that reach a disk, whose description
/// is `made_on`.
pub fn begin_recording(file: OutputFile, made_on: &str) -> io::Result<DiskRecorder> {
    let mut writer = BufWriter::new(file);
    writer.write_all(recording::head_lines(&made_on.replace('\n', " ")).as_bytes())?;
    let mut writer = Some(writer);
    Ok(Box::new(move |event| match (event, &mut writer) {
        (RecorderEvent::Request(entry), Some(writer)) => writer.write_all(recording::request_line(entry).as_bytes()),
        (RecorderEvent::Order(at, words), Some(writer)) => {
            writer.write_all(recording::order_line(at, words).as_bytes())
        }
        (RecorderEvent::End, _) => match writer.take() {
            Some(writer) => writer.into_inner()?.finish(),
            None => Ok(()),
        },
        (_, None) => Ok(()),
    }))
}
