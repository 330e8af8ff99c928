//! Keeps inputs that can be read only once: standard input, and pipes by their names, as a shell makes them of
//! `<(command)`. A plan reads a text more than once, and a trace is read twice. A small input is kept in memory, a
//! large one in a temporary file, which has no name and goes away with the program, however that ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::sync::{Arc, Mutex};

use super::{STANDARD_INPUT, display_name};

/// An input of up to so many bytes is kept in memory: no text of a job, a scene or a stack is nearly as long, and a
/// trace gains nothing by it.
const MAX_BYTES_IN_MEMORY: u64 = 8 << 20;

/// A buffered input, which can be read any number of times.
#[derive(Clone)]
pub(crate) enum BufferedInput {
    Memory(Arc<[u8]>),
    File(Arc<File>),
}

impl BufferedInput {
    /// A reader from the beginning.
    pub fn reader(&self) -> Box<dyn Read + Send> {
        match self {
            BufferedInput::Memory(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            BufferedInput::File(file) => Box::new(SharedFileReader { file: Arc::clone(file), offset: 0 }),
        }
    }
}

/// A reader of a shared file, with a position of its own.
struct SharedFileReader {
    file: Arc<File>,
    offset: u64,
}

impl Read for SharedFileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.offset)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.offset)?;
        // WebAssembly makes no temporary file.
        #[cfg(not(any(unix, windows)))]
        let read = (&*self.file).read(buffer)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// The buffered input of a name, or why there is none.
type BufferResult = Result<BufferedInput, (ErrorKind, String)>;

/// The inputs that were read so far, by name.
#[derive(Default)]
pub(crate) struct OneTimeInputs(Mutex<BTreeMap<String, BufferResult>>);

impl OneTimeInputs {
    /// The whole input of this name, which is read at the first call.
    pub fn read_or_recall(&self, name: &str) -> io::Result<BufferedInput> {
        let mut inputs = self.0.lock().expect("nothing panics while it reads");
        let buffered = inputs
            .entry(name.to_owned())
            .or_insert_with(|| buffer_input(name).map_err(|why| (why.kind(), why.to_string())));
        buffered.clone().map_err(|(kind, why)| io::Error::new(kind, why))
    }
}

/// Whether the input of this name can be read only once.
pub(crate) fn is_readable_once(name: &str) -> io::Result<bool> {
    Ok(name == STANDARD_INPUT || is_pipe(name)?)
}

#[cfg(unix)]
fn is_pipe(path: &str) -> io::Result<bool> {
    use std::os::unix::fs::FileTypeExt;
    Ok(std::fs::metadata(path)?.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &str) -> io::Result<bool> {
    Ok(false)
}

fn buffer_input(name: &str) -> io::Result<BufferedInput> {
    if name != STANDARD_INPUT {
        return buffer_all(File::open(name)?, name);
    }
    if io::stdin().is_terminal() {
        log::info!("reading standard input, until Ctrl-D");
    }
    #[cfg(unix)]
    if let Ok(file) = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned() {
        crate::system::outputs::mark_input(&File::from(file).metadata()?);
    }
    buffer_all(io::stdin().lock(), name)
}

fn buffer_all(mut input: impl Read, name: &str) -> io::Result<BufferedInput> {
    let mut bytes = Vec::new();
    input.by_ref().take(MAX_BYTES_IN_MEMORY + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= MAX_BYTES_IN_MEMORY {
        return Ok(BufferedInput::Memory(bytes.into()));
    }
    let folder = std::env::temp_dir();
    log::info!(
        "a trace is read more than once; keeping {} in a temporary file in {}",
        display_name(name),
        folder.display()
    );
    let file = tempfile::tempfile_in(&folder).and_then(|mut file| {
        file.write_all(&bytes)?;
        io::copy(&mut input, &mut file)?;
        Ok(file)
    });
    let file = file.map_err(|why| {
        let expected = "expected free space there, or another folder in TMPDIR";
        io::Error::new(why.kind(), format!("keeping it in {}: {why}; {expected}", folder.display()))
    })?;
    Ok(BufferedInput::File(Arc::new(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_again(kept: &BufferedInput) -> Vec<u8> {
        let mut bytes = Vec::new();
        kept.reader().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_came_is_read_as_often_as_is_wanted() {
        let short = buffer_all(&b"abc"[..], "x").unwrap();
        assert!(matches!(short, BufferedInput::Memory(_)));
        let bytes: Vec<u8> = (0..MAX_BYTES_IN_MEMORY + 70_000).map(|i| ((i * 31) >> 7) as u8).collect();
        let long = buffer_all(&bytes[..], "x").unwrap();
        assert!(matches!(long, BufferedInput::File(_)));
        // Two readers at once, each from its own place.
        let mut beside = long.reader();
        let mut first = [0; 100];
        beside.read_exact(&mut first).unwrap();
        assert!(read_again(&long) == bytes && read_again(&long) == bytes && first[..] == bytes[..100]);
        beside.read_exact(&mut first).unwrap();
        assert!(first[..] == bytes[100..200]);
        assert_eq!((read_again(&short), read_again(&short)), (b"abc".to_vec(), b"abc".to_vec()));
    }

    #[test]
    fn an_input_is_read_when_it_is_first_asked_for_and_never_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let name = path.display().to_string();
        let once = OneTimeInputs::default();
        let said = || once.read_or_recall(&name).map(|kept| read_again(&kept)).map_err(|why| why.kind());
        assert_eq!(said(), Err(ErrorKind::NotFound));
        std::fs::write(&path, "late").unwrap();
        assert_eq!(said(), Err(ErrorKind::NotFound), "why it could not be read is kept too");
        let once = OneTimeInputs::default();
        let said = || once.read_or_recall(&name).map(|kept| read_again(&kept)).map_err(|why| why.kind());
        assert_eq!(said(), Ok(b"late".to_vec()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(said(), Ok(b"late".to_vec()));
    }
}
