//! Decompresses traces while they are read: gzip, zstd or xz, the only file of a tar archive, or a combination (`.tgz`). Memory
//! use is limited to the window of the compressor.
//!
//! Sources: RFC 1952 (gzip), RFC 8878 (Zstandard), the .xz file format 1.2.1, POSIX.1-2017 pax (ustar).

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

/// The bytes of a trace, compressed or not, as an input that can be sent to a thread.
pub type TraceInput = Box<dyn Read + Send>;

/// The deepest nesting of compression and archives.
const MOST_NESTED: usize = 4;

/// Bytes of compressed input that are read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// The memory limit of xz in KiB: 1.5 times what its strongest setting needs (`-9`, a window of 64 MiB).
const XZ_KIB: u32 = 96 << 10;

/// Bytes at the beginning of an input in which the magic numbers lie.
const HEAD_BYTES: usize = 512;

/// A way in which an input is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Packing {
    Gzip,
    Zstd,
    Xz,
    Tar,
}

impl Packing {
    fn detect(head: &[u8]) -> Option<Packing> {
        // Zstandard files may start with a skippable frame.
        let is_skippable_frame = head.get(1..4) == Some(b"\x2a\x4d\x18") && head[0] & 0xf0 == 0x50;
        match head {
            _ if head.starts_with(b"\x1f\x8b") => Some(Packing::Gzip),
            _ if head.starts_with(b"\x28\xb5\x2f\xfd") || is_skippable_frame => Some(Packing::Zstd),
            _ if head.starts_with(b"\xfd7zXZ\0") => Some(Packing::Xz),
            _ if head.len() == TAR_BLOCK_BYTES && &head[257..262] == b"ustar" => Some(Packing::Tar),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
            Packing::Xz => "xz",
            Packing::Tar => "tar",
        }
    }
}

/// The decompressed input; the input itself if it is not compressed.
pub fn unpack(mut input: TraceInput) -> io::Result<TraceInput> {
    for _ in 0..MOST_NESTED {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let packing = Packing::detect(&head);
        let from_start: TraceInput = Box::new(Cursor::new(head).chain(input));
        let Some(packing) = packing else { return Ok(from_start) };
        let packed = BufReader::with_capacity(BUFFER_BYTES, from_start);
        let inner: TraceInput = match packing {
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(ZstdFrames::new(packed)),
            Packing::Xz => Box::new(XzReader::new_mem_limit(packed, true, XZ_KIB)),
            Packing::Tar => Box::new(SingleFileTar { archive: packed, bytes_left: 0, padding_bytes: 0, name: None }),
        };
        input = Box::new(NamedErrors { inner, packing });
    }
    Ok(input)
}

/// An input whose errors name the packing.
struct NamedErrors {
    inner: TraceInput,
    packing: Packing,
}

impl Read for NamedErrors {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).map_err(|why| match why.kind() {
            ErrorKind::Interrupted => why,
            kind => io::Error::new(kind, format!("as {}: {why}", self.packing.name())),
        })
    }
}

/// Consecutive Zstandard frames, as `zstd` and `pzstd` write them.
struct ZstdFrames<R> {
    packed: R,
    decoder: FrameDecoder,
    /// True while the decoder reads a frame.
    in_frame: bool,
}

impl<R: BufRead> ZstdFrames<R> {
    fn new(packed: R) -> ZstdFrames<R> {
        ZstdFrames { packed, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Starts the next frame; false at the end of the input.
    fn start_next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.packed.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.packed.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(why) => return Err(io::Error::new(ErrorKind::InvalidData, why.to_string())),
            }
        }
    }
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBytes;
        loop {
            if !self.in_frame && !self.start_next_frame()? {
                return Ok(0);
            }
            if self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self.decoder.decode_blocks(&mut self.packed, UptoBytes(buffer.len()));
                decoded.map_err(|why| io::Error::new(ErrorKind::InvalidData, why.to_string()))?;
            }
            match self.decoder.read(buffer)? {
                0 if self.decoder.is_finished() => self.in_frame = false,
                0 => {}
                read => return Ok(read),
            }
        }
    }
}

/// Bytes of a block of a tar archive.
const TAR_BLOCK_BYTES: usize = 512;

/// The only file of an archive.
struct SingleFileTar<R> {
    archive: R,
    /// Bytes of the file that are not yet read.
    bytes_left: u64,
    /// Bytes to skip before the next header.
    padding_bytes: u64,
    /// The name of the file, once known.
    name: Option<String>,
}

impl<R: Read> SingleFileTar<R> {
    /// Skips to the next header of a file; false at the end. A second file is an error.
    fn skip_to_next_file(&mut self) -> io::Result<bool> {
        let invalid = |why: String| Err(io::Error::new(ErrorKind::InvalidData, why));
        loop {
            self.skip_padding()?;
            let mut header = [0; TAR_BLOCK_BYTES];
            let mut read = 0;
            while read < TAR_BLOCK_BYTES {
                match self.archive.read(&mut header[read..])? {
                    // Some programs do not write an end marker.
                    0 if read == 0 => return Ok(false),
                    0 => return invalid("it ends inside a header: the file is truncated".to_owned()),
                    count => read += count,
                }
            }
            if header[0] == 0 {
                return Ok(false);
            }
            let Some(size) = parse_tar_number(&header[124..136]) else {
                return invalid("the size of a file is not a number".to_owned());
            };
            self.padding_bytes = size.next_multiple_of(TAR_BLOCK_BYTES as u64) - size;
            // Skip folders, links, and long names of the next entry.
            if !matches!(header[156], b'0' | 0 | b'7') {
                self.padding_bytes += size;
                continue;
            }
            let name = String::from_utf8_lossy(header[..100].split(|byte| *byte == 0).next().unwrap_or_default());
            if let Some(first) = &self.name {
                let several = format!("it holds several files ({first}, {name} …), but a trace is a single file");
                return invalid(format!("{several}; expected `tar -xOf ARCHIVE FILE | seekwise … -`"));
            }
            (self.name, self.bytes_left) = (Some(name.into_owned()), size);
            return Ok(true);
        }
    }

    fn skip_padding(&mut self) -> io::Result<()> {
        io::copy(&mut self.archive.by_ref().take(self.padding_bytes), &mut io::sink()).map(|_| self.padding_bytes = 0)
    }
}

impl<R: Read> Read for SingleFileTar<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.bytes_left == 0 {
            if !self.skip_to_next_file()? {
                return Ok(0);
            }
        }
        let wanted = usize::try_from(self.bytes_left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = self.archive.read(&mut buffer[..wanted])?;
        if read == 0 && wanted > 0 {
            return Err(io::Error::new(ErrorKind::UnexpectedEof, "it ends inside the file: the file is truncated"));
        }
        self.bytes_left -= read as u64;
        Ok(read)
    }
}

/// A number of a tar header: octal, or from 8 GiB on in base 256, as GNU and POSIX write it.
fn parse_tar_number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let fits = high[0] == 0x80 && high[1..].iter().all(|byte| *byte == 0);
        return fits.then(|| low.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches(|c: char| c == '\0' || c == ' ');
    u64::from_str_radix(text, 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::write::GzEncoder;
    use lzma_rust2::{XzOptions, XzWriter};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    /// A text that is longer than any buffer here.
    fn long_text() -> Vec<u8> {
        (0..12_000u64).flat_map(|i| format!("{},{},8\n", i * 31, i * 48_271 % 9_973).into_bytes()).collect()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn xz(text: &[u8]) -> Vec<u8> {
        let mut packed = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    /// An archive of a folder and of these files.
    fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
        let member = |name: &str, kind: u8, text: &[u8]| {
            let mut header = [0; TAR_BLOCK_BYTES];
            header[..name.len()].copy_from_slice(name.as_bytes());
            header[124..135].copy_from_slice(format!("{:011o}", text.len()).as_bytes());
            header[156] = kind;
            header[257..263].copy_from_slice(b"ustar\0");
            let padding = text.len().next_multiple_of(TAR_BLOCK_BYTES) - text.len();
            [&header[..], text, &vec![0; padding]].concat()
        };
        let files = files.iter().map(|(name, text)| member(name, b'0', text));
        let all = [member("folder/", b'5', b"")].into_iter().chain(files).chain([vec![0; 2 * TAR_BLOCK_BYTES]]);
        all.collect::<Vec<_>>().concat()
    }

    fn unpack_all(packed: Vec<u8>) -> Result<Vec<u8>, String> {
        let mut text = Vec::new();
        unpack(Box::new(Cursor::new(packed)))
            .and_then(|mut input| input.read_to_end(&mut text))
            .map_err(|error| error.to_string())?;
        Ok(text)
    }

    #[test]
    fn what_was_packed_comes_out_again() {
        let text = long_text();
        let archive = tar(&[("folder/t.csv", &text)]);
        let skipped = [&b"\x53\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(&text)].concat();
        for (packed, case) in [
            (text.clone(), "nothing"),
            (gzip(&text), "gzip"),
            (zstd(&text), "zstd"),
            (skipped, "a frame that is skipped"),
            (xz(&text), "xz"),
            (archive.clone(), "tar"),
            (gzip(&archive), "tgz"),
            (xz(&archive), "txz"),
            (gzip(&tar(&[("t.gz", &gzip(&text))])), "an archive of what is packed"),
        ] {
            assert!(unpack_all(packed).unwrap() == text, "{case}");
        }
        // Concatenated, as by `cat a.gz b.gz`.
        for pack in [gzip, zstd, xz] {
            let (first, second) = text.split_at(1_000);
            assert!(unpack_all([pack(first), pack(second)].concat()).unwrap() == text);
        }
        assert_eq!(unpack_all(Vec::new()), Ok(Vec::new()));
        assert_eq!(unpack_all(b"\x1f".to_vec()), Ok(b"\x1f".to_vec()));
    }

    #[test]
    fn what_is_cut_or_several_is_an_error() {
        let text = long_text();
        for (pack, word) in [(gzip as fn(&[u8]) -> Vec<u8>, "gzip"), (zstd, "zstd"), (xz, "xz")] {
            let packed = pack(&text);
            let error = unpack_all(packed[..packed.len() / 2].to_vec()).unwrap_err();
            assert!(error.starts_with(&format!("as {word}: ")), "{error}");
        }
        let archive = tar(&[("a.csv", &text)]);
        assert_eq!(
            unpack_all(archive[..9_000].to_vec()).unwrap_err(),
            "as tar: it ends inside the file: the file is truncated"
        );
        assert_eq!(
            unpack_all(archive[..700].to_vec()).unwrap_err(),
            "as tar: it ends inside a header: the file is truncated"
        );
        assert_eq!(
            unpack_all(tar(&[("a.csv", &text), ("b.csv", b"x")])).unwrap_err(),
            "as tar: it holds several files (a.csv, b.csv …), but a trace is a single file; expected `tar -xOf ARCHIVE FILE | seekwise … -`"
        );
    }

    #[test]
    fn sizes_of_archives_are_octal_or_base_256() {
        assert_eq!(parse_tar_number(b"00000001750\0"), Some(1_000));
        assert_eq!(parse_tar_number(b"      1750 \0"), Some(1_000));
        assert_eq!(parse_tar_number(&[0x80, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]), Some((4 << 32) + 1));
        assert_eq!(parse_tar_number(b"9\0\0\0\0\0\0\0\0\0\0\0"), None);
    }
}
