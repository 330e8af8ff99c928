//! A key-value store that two hosts keep: a primary that clients talk to, and a follower that the primary talks to. Each has a
//! log on its own disk, a record a sector, and reads it when it starts.
//!
//! A line is a question (`put KEY VALUE`, `get KEY`), a line is the answer (`ok`; the value, or `-`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::time::sleep;
use turmoil::net::{TcpListener, TcpStream};

use crate::disk::{Disk, SECTOR};

const PORT: u16 = 7000;

/// From one attempt to reach a host until the next.
const RETRY: Duration = Duration::from_millis(20);

/// When a write is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// When it is in the disk's buffer: quick, and wrong.
    BeforeFlush,
    /// When a flush has brought it to the medium.
    AfterFlush,
}

struct Replica {
    disk: Disk,
    when: Acknowledge,
    follower: Option<&'static str>,
    /// Where the next record goes. Whoever holds it writes one.
    end: Mutex<u64>,
    values: RefCell<BTreeMap<String, String>>,
}

/// Serves a replica on `disk`; the primary names its `follower`.
pub async fn serve(disk: Disk, when: Acknowledge, follower: Option<&'static str>) -> turmoil::Result {
    let replica = Rc::new(recover(disk, when, follower).await?);
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let replica = Rc::clone(&replica);
        // A conversation ends when one side goes away.
        tokio::task::spawn_local(async move { talk(&replica, stream).await.ok() });
    }
}

/// Reads the log up to the first sector that holds no record.
async fn recover(disk: Disk, when: Acknowledge, follower: Option<&'static str>) -> io::Result<Replica> {
    let (mut end, mut values) = (0, BTreeMap::new());
    while let Some((key, value)) = decode(&disk.read(end).await?) {
        values.insert(key, value);
        end += 1;
    }
    Ok(Replica { disk, when, follower, end: Mutex::new(end), values: RefCell::new(values) })
}

async fn talk(replica: &Replica, stream: TcpStream) -> io::Result<()> {
    let mut client = Connection { stream: BufReader::new(stream) };
    let mut follower = match replica.follower {
        Some(name) => Some(Connection::to(name).await?),
        None => None,
    };
    loop {
        let line = client.receive().await?;
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["put", key, value] => {
                replica.append(key, value).await?;
                match &mut follower {
                    Some(follower) => follower.ask(&line).await?,
                    None => "ok".to_owned(),
                }
            }
            ["get", key] => replica.values.borrow().get(key).cloned().unwrap_or_else(|| "-".to_owned()),
            _ => return Err(io::Error::other(format!("no such question: {line}"))),
        };
        client.send(&answer).await?;
    }
}

impl Replica {
    async fn append(&self, key: &str, value: &str) -> io::Result<()> {
        let mut end = self.end.lock().await;
        self.disk.write(*end, encode(key, value)).await?;
        if self.when == Acknowledge::AfterFlush {
            self.disk.flush().await?;
        }
        *end += 1;
        self.values.borrow_mut().insert(key.to_owned(), value.to_owned());
        Ok(())
    }
}

/// A conversation, from the side that asks.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// With the replica on this host, once it has read its log.
    pub async fn to(host: &str) -> io::Result<Connection> {
        loop {
            match TcpStream::connect((host, PORT)).await {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => sleep(RETRY).await,
                tried => return Ok(Connection { stream: BufReader::new(tried?) }),
            }
        }
    }

    /// Asks, and waits for the answer.
    pub async fn ask(&mut self, line: &str) -> io::Result<String> {
        self.send(line).await?;
        self.receive().await
    }

    async fn send(&mut self, line: &str) -> io::Result<()> {
        self.stream.write_all(format!("{line}\n").as_bytes()).await
    }

    async fn receive(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}

fn encode(key: &str, value: &str) -> [u8; SECTOR] {
    let mut sector = [0; SECTOR];
    let text = format!("{key} {value}\n");
    sector[..text.len()].copy_from_slice(text.as_bytes());
    sector
}

fn decode(sector: &[u8; SECTOR]) -> Option<(String, String)> {
    let text = std::str::from_utf8(sector).ok()?;
    let (key, value) = text.split_once('\n')?.0.split_once(' ')?;
    Some((key.to_owned(), value.to_owned()))
}
