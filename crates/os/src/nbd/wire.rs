//! Numbers and layouts of the protocol, big-endian throughout: bytes are parsed to requests, replies are built as
//! bytes. Nothing here reads or waits.

/// Begins a server's greeting: `NBDMAGIC`.
pub const GREETING: u64 = 0x4e42_444d_4147_4943;
/// Follows it, and begins each option: `IHAVEOPT`.
pub const OPTIONS: u64 = 0x4948_4156_454f_5054;
/// Begins an option's reply.
pub(crate) const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// Begins a request.
pub const REQUEST: u32 = 0x2560_9513;
/// Begins a simple reply.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;
/// Begins a chunk of a structured reply.
pub const CHUNK: u32 = 0x668e_33ef;

/// Handshake flag of a server: it keeps to the fixed newstyle negotiation.
pub(crate) const FIXED_NEWSTYLE: u16 = 1;
/// Handshake flag: no zeroes follow the reply to EXPORT_NAME, if the client agrees.
pub(crate) const NO_ZEROES: u16 = 2;

/// Options of a client.
pub mod option {
    /// Names an export and goes to transmission at once; errors close the connection.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends negotiation.
    pub(crate) const ABORT: u32 = 2;
    /// Lists exports.
    pub const LIST: u32 = 3;
    /// Describes an export.
    pub const INFO: u32 = 6;
    /// Describes an export and goes to transmission.
    pub const GO: u32 = 7;
    /// Asks for replies to reads in chunks.
    pub const STRUCTURED_REPLY: u32 = 8;
    /// Lists metadata contexts.
    pub const LIST_META_CONTEXT: u32 = 9;
    /// Chooses metadata contexts.
    pub const SET_META_CONTEXT: u32 = 10;
}

/// Replies to options.
pub mod answer {
    /// Done.
    pub const ACK: u32 = 1;
    /// An export of a list.
    pub const SERVER: u32 = 2;
    /// A piece of information.
    pub const INFO: u32 = 3;
    /// A metadata context.
    pub(crate) const META_CONTEXT: u32 = 4;
    /// No such option.
    pub const UNSUPPORTED: u32 = 0x8000_0001;
    /// Invalid data of an option.
    pub const INVALID: u32 = 0x8000_0003;
    /// No such export.
    pub const UNKNOWN: u32 = 0x8000_0006;
    /// More data than any option has.
    pub(crate) const TOO_BIG: u32 = 0x8000_0009;
}

/// Kinds of information about an export.
pub mod info {
    /// Size and transmission flags.
    pub const EXPORT: u16 = 0;
    /// Canonical name.
    pub const NAME: u16 = 1;
    /// Description for people.
    pub(crate) const DESCRIPTION: u16 = 2;
    /// Smallest, preferred and largest request.
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags: what an export can do.
pub mod can {
    /// The other flags are valid.
    pub(crate) const FLAGS: u16 = 1;
    /// FLUSH.
    pub const FLUSH: u16 = 4;
    /// FUA on a command.
    pub const FUA: u16 = 8;
    /// The disk rotates.
    pub(crate) const ROTATIONAL: u16 = 16;
    /// TRIM.
    pub const TRIM: u16 = 32;
    /// WRITE_ZEROES.
    pub const WRITE_ZEROES: u16 = 64;
    /// A read may ask for its reply in one piece.
    pub(crate) const DONT_FRAGMENT: u16 = 128;
    /// A flush on one connection covers the answered writes of all.
    pub(crate) const MULTI_CONN: u16 = 256;
    /// [`super::FAST_ZERO`] is known: refused at once if zeroes take as long as bytes.
    pub const FAST_ZERO: u16 = 2048;
}

/// Errors of a reply: Linux' numbers, as the specification fixes them.
pub mod error {
    /// Input or output failed.
    pub const IO: u32 = 5;
    /// Invalid request.
    pub const INVALID: u32 = 22;
    /// Write beyond the end.
    pub const NO_SPACE: u32 = 28;
    /// Not supported.
    pub const UNSUPPORTED: u32 = 95;
    /// The server is shutting down.
    pub const SHUTDOWN: u32 = 108;
}

/// Command flag: answered when durable.
pub const FUA: u16 = 1;
/// Flag of zeroes: their space stays allocated.
pub const NO_HOLE: u16 = 2;
/// Flag of a read: answered in one piece, as all are.
pub(crate) const DONT_FRAGMENT: u16 = 4;
/// Flag of block status: one extent.
pub const REQ_ONE: u16 = 8;
/// Flag of zeroes: to be refused at once ([`error::UNSUPPORTED`]) if they take as long as their bytes would.
pub const FAST_ZERO: u16 = 16;
/// All command flags that are known here.
pub(crate) const FLAGS: u16 = FUA | NO_HOLE | DONT_FRAGMENT | REQ_ONE | FAST_ZERO;

/// A client's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdCommand {
    /// Reads bytes.
    Read,
    /// Writes bytes, which follow.
    Write,
    /// Ends the connection.
    Disconnect,
    /// Makes answered writes durable.
    Flush,
    /// Declares bytes no longer needed.
    Trim,
    /// Writes zeroes, without their bytes.
    WriteZeroes,
    /// Asks which bytes are allocated.
    BlockStatus,
    /// None of these.
    Unknown(u16),
}

impl NbdCommand {
    fn from_number(number: u16) -> NbdCommand {
        match number {
            0 => NbdCommand::Read,
            1 => NbdCommand::Write,
            2 => NbdCommand::Disconnect,
            3 => NbdCommand::Flush,
            4 => NbdCommand::Trim,
            6 => NbdCommand::WriteZeroes,
            7 => NbdCommand::BlockStatus,
            other => NbdCommand::Unknown(other),
        }
    }
}

/// A request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead {
    /// `NBD_CMD_READ` and others.
    pub command: NbdCommand,
    /// [`FUA`] and others.
    pub flags: u16,
    /// The client's identifier of the request.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// Bytes of a request's head.
pub const HEAD: usize = 28;

impl RequestHead {
    /// Parses a head; `None` if it does not begin as one.
    pub fn parse(bytes: &[u8; HEAD]) -> Option<RequestHead> {
        let mut reader = WireReader(bytes);
        if reader.read_u32()? != REQUEST {
            return None;
        }
        let (flags, command) = (reader.read_u16()?, NbdCommand::from_number(reader.read_u16()?));
        Some(RequestHead {
            command,
            flags,
            cookie: reader.read_u64()?,
            offset: reader.read_u64()?,
            length: reader.read_u32()?,
        })
    }
}

/// Reads numbers from the front of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct WireReader<'a>(pub &'a [u8]);

impl<'a> WireReader<'a> {
    /// Takes so many bytes.
    pub(crate) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take_bytes(N)?.try_into().ok()
    }

    /// Reads 16 bits.
    pub(crate) fn read_u16(&mut self) -> Option<u16> {
        self.take_array().map(u16::from_be_bytes)
    }

    /// Reads 32 bits.
    pub fn read_u32(&mut self) -> Option<u32> {
        self.take_array().map(u32::from_be_bytes)
    }

    /// Reads 64 bits.
    pub(crate) fn read_u64(&mut self) -> Option<u64> {
        self.take_array().map(u64::from_be_bytes)
    }

    /// Reads a length of 32 bits and so many bytes of text.
    pub fn read_text(&mut self) -> Option<&'a str> {
        let length = self.read_u32()?;
        std::str::from_utf8(self.take_bytes(length as usize)?).ok()
    }
}

/// Builds an option's reply.
pub(crate) fn option_reply(option: u32, answer: u32, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(20 + data.len());
    out.extend(OPTION_REPLY.to_be_bytes());
    out.extend(option.to_be_bytes());
    out.extend(answer.to_be_bytes());
    out.extend((data.len() as u32).to_be_bytes());
    out.extend(data);
    out
}

/// Builds the head of a simple reply.
pub(crate) fn simple_reply_head(error: u32, cookie: u64) -> [u8; 16] {
    let mut out = [0; 16];
    out[..4].copy_from_slice(&SIMPLE_REPLY.to_be_bytes());
    out[4..8].copy_from_slice(&error.to_be_bytes());
    out[8..].copy_from_slice(&cookie.to_be_bytes());
    out
}

/// Builds the head of the last chunk of a structured reply, of `length` bytes.
fn chunk_head(kind: u16, cookie: u64, length: usize) -> [u8; 20] {
    const DONE: u16 = 1;
    let mut out = [0; 20];
    out[..4].copy_from_slice(&CHUNK.to_be_bytes());
    out[4..6].copy_from_slice(&DONE.to_be_bytes());
    out[6..8].copy_from_slice(&kind.to_be_bytes());
    out[8..16].copy_from_slice(&cookie.to_be_bytes());
    out[16..].copy_from_slice(&(length as u32).to_be_bytes());
    out
}

/// Builds the head of a read's structured reply: all of its bytes follow, in one chunk.
pub(crate) fn data_chunk_head(cookie: u64, offset: u64, length: usize) -> [u8; 28] {
    let mut out = [0; 28];
    out[..20].copy_from_slice(&chunk_head(1, cookie, 8 + length));
    out[20..].copy_from_slice(&offset.to_be_bytes());
    out
}

/// Builds an error of a structured reply.
pub(crate) fn error_chunk(cookie: u64, error: u32) -> Vec<u8> {
    let mut out = chunk_head(0x8001, cookie, 6).to_vec();
    out.extend(error.to_be_bytes());
    out.extend(0u16.to_be_bytes());
    out
}

/// Builds the reply to a block status: extents, each with its bytes and flags, in the context that was chosen.
pub fn status_chunk(cookie: u64, context: u32, extents: &[(u32, u32)]) -> Vec<u8> {
    let mut out = chunk_head(5, cookie, 4 + 8 * extents.len()).to_vec();
    out.extend(context.to_be_bytes());
    for (bytes, flags) in extents {
        out.extend(bytes.to_be_bytes());
        out.extend(flags.to_be_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_the_specification_lays_it_out() {
        let mut bytes = [0u8; HEAD];
        bytes[..4].copy_from_slice(&[0x25, 0x60, 0x95, 0x13]);
        bytes[4..8].copy_from_slice(&[0, 1, 0, 1]);
        bytes[8..16].copy_from_slice(&7u64.to_be_bytes());
        bytes[16..24].copy_from_slice(&4096u64.to_be_bytes());
        bytes[24..].copy_from_slice(&512u32.to_be_bytes());
        let head = RequestHead { command: NbdCommand::Write, flags: FUA, cookie: 7, offset: 4096, length: 512 };
        assert_eq!(RequestHead::parse(&bytes), Some(head));
        bytes[0] = 0;
        assert_eq!(RequestHead::parse(&bytes), None);
    }

    #[test]
    fn what_is_cut_short_is_no_text() {
        assert_eq!(WireReader(&[0, 0, 0, 2, b'a', b'b', b'c']).read_text(), Some("ab"));
        assert_eq!(WireReader(&[0, 0, 0, 9, b'a']).read_text(), None);
        assert_eq!(WireReader(&[0xff, 0xff, 0xff, 0xff]).read_text(), None);
        assert_eq!(WireReader(&[0, 0]).read_u32(), None);
    }

    #[test]
    fn replies_have_the_length_they_say() {
        assert_eq!(data_chunk_head(1, 0, 5)[16..20], 13u32.to_be_bytes());
        assert_eq!(error_chunk(1, error::IO)[16..20], 6u32.to_be_bytes());
        assert_eq!(status_chunk(1, 1, &[(512, 3)]).len(), 20 + 4 + 8);
        assert_eq!(option_reply(option::GO, answer::ACK, &[]).len(), 20);
    }
}
