//! Negotiates with a client, from the first byte to transmission: answers its options for the one export of a server.

use std::io::{self, Read, Write};

use seekwise_disk::block::{Limits, SECTOR};

use super::wire::{self, WireReader, answer, can, info, option};

/// A disk as a server offers it to clients.
#[derive(Clone, Debug)]
pub struct Export {
    /// Description for people.
    pub description: String,
    pub bytes: u64,
    /// Smallest request, in bytes.
    pub smallest: u32,
    /// Preferred request, in bytes.
    pub preferred: u32,
    /// Largest request, in bytes.
    pub largest: u32,
    /// Whether zeroes are written faster than their bytes would be.
    pub fast_zeroes: bool,
}

/// Terms of a transmission, as negotiated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransmissionTerms {
    /// Reads are answered in chunks.
    pub structured: bool,
    /// Block status of `base:allocation` was chosen.
    pub status: bool,
}

/// The name of the one metadata context.
const ALLOCATION: &str = "base:allocation";
/// The number of that context.
pub(super) const ALLOCATION_ID: u32 = 1;

/// Longest data of an option: names have at most 4096 bytes, and there are few.
const MAX_OPTION_BYTES: u32 = 64 << 10;

/// Largest request that clients may send, even if a stack takes longer ones: the most that a disk's command carries,
/// and half of what one client can have here.
pub const MAX_REQUEST_BYTES: u64 = 32 << 20;

impl Export {
    /// Creates the export of a disk with these limits, which writes zeroes as other data: drives of the catalogue know
    /// no command for them.
    pub fn new(limits: &Limits, description: String) -> Export {
        Export {
            description,
            bytes: limits.sectors * SECTOR,
            smallest: limits.logical,
            preferred: limits.physical.max(4096),
            largest: (u64::from(limits.max_transfer) * SECTOR).min(MAX_REQUEST_BYTES) as u32,
            fast_zeroes: false,
        }
    }

    /// Transmission flags.
    fn transmission_flags(&self, terms: TransmissionTerms) -> u16 {
        let fragments = if terms.structured { can::DONT_FRAGMENT } else { 0 };
        can::FLAGS
            | can::FLUSH
            | can::FUA
            | can::ROTATIONAL
            | can::TRIM
            | can::WRITE_ZEROES
            | can::FAST_ZERO
            | can::MULTI_CONN
            | fragments
    }

    /// Builds the reply to GO and INFO: size and flags, block sizes, and the information asked for.
    fn info_reply(&self, option: u32, kinds: &[u16], terms: TransmissionTerms) -> Vec<u8> {
        let mut reply = Vec::new();
        let mut push_info = |kind: u16, data: &[u8]| {
            let data = [&kind.to_be_bytes(), data].concat();
            reply.extend(wire::option_reply(option, answer::INFO, &data));
        };
        push_info(
            info::EXPORT,
            &[&self.bytes.to_be_bytes()[..], &self.transmission_flags(terms).to_be_bytes()].concat(),
        );
        let sizes = [self.smallest, self.preferred, self.largest].map(u32::to_be_bytes).concat();
        push_info(info::BLOCK_SIZE, &sizes);
        if kinds.contains(&info::NAME) {
            push_info(info::NAME, b"");
        }
        if kinds.contains(&info::DESCRIPTION) {
            push_info(info::DESCRIPTION, self.description.as_bytes());
        }
        reply.extend(wire::option_reply(option, answer::ACK, &[]));
        reply
    }
}

/// Negotiation step by step: bytes in, bytes out. Nothing here waits, and a client's memory is bounded.
#[derive(Debug)]
pub struct Handshake {
    export: Export,
    stage: HandshakeStage,
    /// Received bytes of the item that is not whole yet.
    received: Vec<u8>,
    /// Whether zeroes follow the reply to EXPORT_NAME.
    sends_zeroes: bool,
    terms: TransmissionTerms,
}

/// The next item of a negotiation.
#[derive(Clone, Copy, Debug)]
enum HandshakeStage {
    /// The client's flags.
    Flags,
    /// An option's head.
    Head,
    /// An option's data.
    Data { option: u32, bytes: u32 },
    /// Longer data than any option has, which are dropped.
    TooLong { option: u32, bytes_left: u32 },
}

/// State of a negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeStep {
    /// Negotiation continues.
    Continues,
    /// Transmission begins.
    Begins(TransmissionTerms),
    /// The client leaves, or is to be disconnected.
    Leaves,
}

impl Handshake {
    /// Begins with a client that has just connected; also returns the greeting to be sent.
    pub fn new(export: Export) -> (Handshake, Vec<u8>) {
        let mut hello = wire::GREETING.to_be_bytes().to_vec();
        hello.extend(wire::OPTIONS.to_be_bytes());
        hello.extend((wire::FIXED_NEWSTYLE | wire::NO_ZEROES).to_be_bytes());
        let (stage, terms) = (HandshakeStage::Flags, TransmissionTerms::default());
        (Handshake { export, stage, received: Vec::new(), sends_zeroes: false, terms }, hello)
    }

    /// How many bytes may be passed to `receive` now: transmission may begin after them.
    pub(crate) fn bytes_wanted(&self) -> usize {
        match self.stage {
            HandshakeStage::Flags => 4 - self.received.len(),
            HandshakeStage::Head => 16 - self.received.len(),
            HandshakeStage::Data { bytes, .. } => bytes as usize - self.received.len(),
            HandshakeStage::TooLong { bytes_left, .. } => bytes_left as usize,
        }
    }

    /// The export.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Processes received bytes, at most [`Handshake::bytes_wanted`], and appends the answer to `out`.
    pub(crate) fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        if let HandshakeStage::TooLong { option, bytes_left } = &mut self.stage {
            *bytes_left -= bytes.len() as u32;
            if *bytes_left == 0 {
                out.extend(wire::option_reply(*option, answer::TOO_BIG, &[]));
                self.stage = HandshakeStage::Head;
            }
            return HandshakeStep::Continues;
        }
        self.received.extend(bytes);
        if self.bytes_wanted() > 0 {
            return HandshakeStep::Continues;
        }
        let item = std::mem::take(&mut self.received);
        let mut reader = WireReader(&item);
        match self.stage {
            HandshakeStage::Flags => {
                let flags = reader.read_u32().unwrap_or(u32::MAX);
                self.sends_zeroes = flags & u32::from(wire::NO_ZEROES) == 0;
                self.stage = HandshakeStage::Head;
                // A client with an unknown flag is newer than this server: the specification has the server disconnect.
                let known = u32::from(wire::FIXED_NEWSTYLE | wire::NO_ZEROES);
                if flags & !known == 0 { HandshakeStep::Continues } else { HandshakeStep::Leaves }
            }
            HandshakeStage::Head => {
                let (magic, option, length) = (reader.read_u64(), reader.read_u32(), reader.read_u32());
                let (Some(wire::OPTIONS), Some(option), Some(length)) = (magic, option, length) else {
                    return HandshakeStep::Leaves;
                };
                match length {
                    0 => self.answer_option(option, &[], out),
                    1..=MAX_OPTION_BYTES => {
                        self.stage = HandshakeStage::Data { option, bytes: length };
                        HandshakeStep::Continues
                    }
                    _ => {
                        self.stage = HandshakeStage::TooLong { option, bytes_left: length };
                        HandshakeStep::Continues
                    }
                }
            }
            HandshakeStage::Data { option, .. } => {
                self.stage = HandshakeStage::Head;
                self.answer_option(option, &item, out)
            }
            HandshakeStage::TooLong { .. } => HandshakeStep::Continues,
        }
    }

    /// Carries out a whole option, and appends the answer to `out`.
    fn answer_option(&mut self, option: u32, data: &[u8], out: &mut Vec<u8>) -> HandshakeStep {
        match option {
            option::EXPORT_NAME if data.is_empty() => {
                out.extend(self.export.bytes.to_be_bytes());
                out.extend(self.export.transmission_flags(self.terms).to_be_bytes());
                out.extend(vec![0; if self.sends_zeroes { 124 } else { 0 }]);
                HandshakeStep::Begins(self.terms)
            }
            option::EXPORT_NAME => HandshakeStep::Leaves,
            option::ABORT => {
                out.extend(wire::option_reply(option, answer::ACK, &[]));
                HandshakeStep::Leaves
            }
            _ => {
                let reply = reply_to_option(option, data, &self.export, &mut self.terms);
                out.extend(reply.bytes);
                if reply.begins_transmission { HandshakeStep::Begins(self.terms) } else { HandshakeStep::Continues }
            }
        }
    }
}

/// Negotiates with a client, waiting for it. `None` if it left or was disconnected; errors are those of the connection.
pub fn negotiate(stream: &mut (impl Read + Write), export: &Export) -> io::Result<Option<TransmissionTerms>> {
    let (mut handshake, mut out) = Handshake::new(export.clone());
    let mut piece = [0; 4096];
    loop {
        stream.write_all(&out)?;
        out.clear();
        let wanted = handshake.bytes_wanted().min(piece.len());
        let received = stream.read(&mut piece[..wanted])?;
        if received == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let step = handshake.receive(&piece[..received], &mut out);
        // A client that leaves may not wait for this.
        let written = if step == HandshakeStep::Continues { Ok(()) } else { stream.write_all(&out) };
        match step {
            HandshakeStep::Continues => {}
            HandshakeStep::Begins(terms) => return written.map(|()| Some(terms)),
            HandshakeStep::Leaves => return Ok(None),
        }
    }
}

/// The reply to an option.
struct OptionReply {
    bytes: Vec<u8>,
    begins_transmission: bool,
}

/// Returns the reply to an option, which may change the terms.
fn reply_to_option(option: u32, data: &[u8], export: &Export, terms: &mut TransmissionTerms) -> OptionReply {
    let only = |answer: u32| wire::option_reply(option, answer, &[]);
    let mut begins_transmission = false;
    let bytes = match option {
        option::LIST if data.is_empty() => {
            let mut listed = wire::option_reply(option, answer::SERVER, &0u32.to_be_bytes());
            listed.extend(only(answer::ACK));
            listed
        }
        option::STRUCTURED_REPLY if data.is_empty() => {
            terms.structured = true;
            only(answer::ACK)
        }
        option::INFO | option::GO => match parse_info_request(data) {
            None => only(answer::INVALID),
            Some(("", kinds)) => {
                begins_transmission = option == option::GO;
                export.info_reply(option, &kinds, *terms)
            }
            Some(_) => only(answer::UNKNOWN),
        },
        option::LIST_META_CONTEXT | option::SET_META_CONTEXT => match parse_context_request(data) {
            None => only(answer::INVALID),
            Some((name, _)) if !name.is_empty() => only(answer::UNKNOWN),
            // A status needs chunks, which this client has not asked for.
            Some(_) if !terms.structured => only(answer::INVALID),
            Some((_, queries)) => context_reply(option, &queries, terms),
        },
        option::LIST | option::STRUCTURED_REPLY => only(answer::INVALID),
        _ => only(answer::UNSUPPORTED),
    };
    OptionReply { bytes, begins_transmission }
}

/// Parses the data of GO and INFO: the export's name, and the kinds of information asked for.
fn parse_info_request(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut reader = WireReader(data);
    let name = reader.read_text()?;
    let kinds = (0..reader.read_u16()?).map(|_| reader.read_u16()).collect::<Option<Vec<u16>>>()?;
    reader.0.is_empty().then_some((name, kinds))
}

/// Parses the data of the options about contexts: the export's name, and queries.
fn parse_context_request(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut reader = WireReader(data);
    let name = reader.read_text()?;
    let count = reader.read_u32()?;
    // Each query takes four bytes at least.
    if count as usize > reader.0.len() / 4 {
        return None;
    }
    let queries = (0..count).map(|_| reader.read_text()).collect::<Option<Vec<&str>>>()?;
    reader.0.is_empty().then_some((name, queries))
}

/// Returns the reply to an option about contexts: the one context, if a query names it. SET chooses it in the terms.
fn context_reply(option: u32, queries: &[&str], terms: &mut TransmissionTerms) -> Vec<u8> {
    let is_list = option == option::LIST_META_CONTEXT;
    let is_named = queries.iter().any(|query| *query == ALLOCATION || is_list && *query == "base:");
    let is_given = is_named || is_list && queries.is_empty();
    let mut reply = Vec::new();
    if is_given {
        let data = [&if is_list { 0 } else { ALLOCATION_ID }.to_be_bytes(), ALLOCATION.as_bytes()].concat();
        reply = wire::option_reply(option, answer::META_CONTEXT, &data);
    }
    if !is_list {
        terms.status = is_given;
    }
    reply.extend(wire::option_reply(option, answer::ACK, &[]));
    reply
}

#[cfg(test)]
mod tests {
    use super::*;
    use seekwise_disk::block::Queuing;

    /// What a client sends, and what it is sent.
    struct Both<'a> {
        sends: &'a [u8],
        gets: Vec<u8>,
    }

    impl Read for Both<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.sends.read(into)
        }
    }

    impl Write for Both<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.gets.write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn export() -> Export {
        Export {
            description: "a disk".to_owned(),
            bytes: 1 << 30,
            smallest: 512,
            preferred: 4096,
            largest: 1 << 20,
            fast_zeroes: false,
        }
    }

    fn option(number: u32, data: &[u8]) -> Vec<u8> {
        let mut out = wire::OPTIONS.to_be_bytes().to_vec();
        out.extend(number.to_be_bytes());
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(data);
        out
    }

    fn talk(flags: u32, options: &[Vec<u8>]) -> (io::Result<Option<TransmissionTerms>>, Vec<u8>) {
        let sends = [flags.to_be_bytes().to_vec(), options.concat()].concat();
        let mut both = Both { sends: &sends, gets: Vec::new() };
        let negotiated = negotiate(&mut both, &export());
        (negotiated, both.gets[18..].to_vec())
    }

    const GO: &[u8] = &[0, 0, 0, 0, 0, 0];

    /// Kinds of the replies to options.
    fn kinds(mut bytes: &[u8]) -> Vec<u32> {
        let mut kinds = Vec::new();
        while !bytes.is_empty() {
            let mut reader = WireReader(bytes);
            assert_eq!(reader.read_u64(), Some(wire::OPTION_REPLY));
            reader.read_u32();
            kinds.extend(reader.read_u32());
            let length = reader.read_u32().unwrap();
            reader.take_bytes(length as usize).unwrap();
            bytes = reader.0;
        }
        kinds
    }

    #[test]
    fn a_client_asks_and_goes() {
        let context = [&0u32.to_be_bytes()[..], &1u32.to_be_bytes(), &15u32.to_be_bytes(), b"base:allocation"].concat();
        let options = [
            option(option::LIST, &[]),
            option(option::STRUCTURED_REPLY, &[]),
            option(option::SET_META_CONTEXT, &context),
            option(5, &[]),
            option(option::GO, GO),
        ];
        let (negotiated, got) = talk(3, &options);
        assert_eq!(negotiated.unwrap(), Some(TransmissionTerms { structured: true, status: true }));
        use answer::*;
        assert_eq!(kinds(&got), [SERVER, ACK, ACK, META_CONTEXT, ACK, UNSUPPORTED, INFO, INFO, ACK]);
    }

    #[test]
    fn the_old_way_tells_size_and_flags_and_zeroes_where_they_are_wanted() {
        for (flags, length) in [(3, 10), (1, 134)] {
            let (negotiated, got) = talk(flags, &[option(option::EXPORT_NAME, &[])]);
            assert_eq!((negotiated.unwrap(), got.len()), (Some(TransmissionTerms::default()), length));
            assert_eq!(got[..8], (1u64 << 30).to_be_bytes());
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_the_next_option_read() {
        let unknown = [&3u32.to_be_bytes()[..], b"abc", &[0, 0]].concat();
        let many = [&0u32.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
        let options = [
            option(option::INFO, &[1]),
            option(option::INFO, &unknown),
            option(option::SET_META_CONTEXT, &many),
            option(option::SET_META_CONTEXT, &[0; 8]),
            option(99, &vec![0; MAX_OPTION_BYTES as usize + 1]),
            option(option::ABORT, &[]),
        ];
        let (negotiated, got) = talk(1, &options);
        assert_eq!(negotiated.unwrap(), None);
        use answer::*;
        assert_eq!(kinds(&got), [INVALID, UNKNOWN, INVALID, INVALID, TOO_BIG, ACK]);
    }

    /// Data of the replies to options, by kind.
    fn replies(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut all = Vec::new();
        while !bytes.is_empty() {
            let mut reader = WireReader(bytes);
            assert_eq!(reader.read_u64(), Some(wire::OPTION_REPLY));
            let (_, kind, length) = (reader.read_u32(), reader.read_u32().unwrap(), reader.read_u32().unwrap());
            all.push((kind, reader.take_bytes(length as usize).unwrap().to_vec()));
            bytes = reader.0;
        }
        all
    }

    /// proto.md of the protocol: flags are bit 0; flush, FUA, rotational, trim, zeroes are bits 2 to 6, one reply a
    /// read bit 7, several connections bit 8, fast zeroes bit 11. Read-only (1), resize (9) and cache (10) are never
    /// promised.
    #[test]
    fn the_flags_promise_what_a_disk_does_and_no_more() {
        let all = [0, 2, 3, 4, 5, 6, 8, 11].iter().map(|bit| 1u16 << bit).sum::<u16>();
        let (_, got) = talk(3, &[option(option::EXPORT_NAME, &[])]);
        assert_eq!(got[8..10], all.to_be_bytes());
        for (options, expected) in [
            (vec![option(option::GO, GO)], all),
            (vec![option(option::STRUCTURED_REPLY, &[]), option(option::GO, GO)], all | 1 << 7),
        ] {
            let got = replies(&talk(3, &options).1);
            let export = got.iter().find(|(kind, data)| *kind == answer::INFO && data[..2] == [0, 0]).unwrap();
            assert_eq!(export.1, [&[0, 0][..], &(1u64 << 30).to_be_bytes(), &expected.to_be_bytes()].concat());
        }
    }

    #[test]
    fn information_is_what_was_asked_for_and_what_a_client_must_know() {
        let sizes = [&[0, 3][..], &512u32.to_be_bytes(), &4096u32.to_be_bytes(), &(1u32 << 20).to_be_bytes()].concat();
        for (wanted, more) in [
            (&[][..], vec![]),
            (&[info::NAME][..], vec![vec![0, 1]]),
            (&[info::DESCRIPTION][..], vec![[&[0, 2][..], b"a disk"].concat()]),
            (&[info::BLOCK_SIZE, 77][..], vec![]),
        ] {
            let count = u16::try_from(wanted.len()).unwrap();
            let asked: Vec<u8> =
                [0, 0, 0, 0].into_iter().chain([count].iter().chain(wanted).flat_map(|it| it.to_be_bytes())).collect();
            for (number, goes) in [(option::INFO, false), (option::GO, true)] {
                let (negotiated, got) = talk(3, &[option(number, &asked), option(option::ABORT, &[])]);
                assert_eq!(negotiated.unwrap().is_some(), goes, "only GO goes");
                let mut got = replies(&got);
                got.truncate(3 + more.len());
                assert_eq!(got.pop(), Some((answer::ACK, vec![])));
                assert_eq!(got.remove(0).1[..2], [0, 0]);
                let told: Vec<Vec<u8>> = got.into_iter().map(|(_, data)| data).collect();
                assert_eq!(told, [&[sizes.clone()][..], &more].concat(), "{wanted:?}");
            }
        }
    }

    #[test]
    fn contexts_are_listed_and_chosen_only_with_chunks() {
        let asked = |name: &str, queries: &[&str]| {
            let texts = queries.iter().flat_map(|it| [&(it.len() as u32).to_be_bytes()[..], it.as_bytes()].concat());
            let head = [&(name.len() as u32).to_be_bytes()[..], name.as_bytes(), &(queries.len() as u32).to_be_bytes()];
            head.concat().into_iter().chain(texts).collect::<Vec<u8>>()
        };
        use answer::{ACK, INVALID, META_CONTEXT, UNKNOWN};
        let (list, set) = (option::LIST_META_CONTEXT, option::SET_META_CONTEXT);
        for (number, data, kinds_with_chunks, chosen) in [
            (list, asked("", &[]), vec![META_CONTEXT, ACK], false),
            (list, asked("", &["base:"]), vec![META_CONTEXT, ACK], false),
            (list, asked("", &["base:allocation"]), vec![META_CONTEXT, ACK], false),
            (list, asked("", &["", ""]), vec![ACK], false),
            (set, asked("", &["base:allocation"]), vec![META_CONTEXT, ACK], true),
            (set, asked("", &["x:", "base:allocation"]), vec![META_CONTEXT, ACK], true),
            (set, asked("", &["base:"]), vec![ACK], false),
            (set, asked("", &[]), vec![ACK], false),
            (set, asked("disk", &["base:allocation"]), vec![UNKNOWN], false),
            (set, [asked("", &["base:allocation"]), vec![0]].concat(), vec![INVALID], false),
        ] {
            let options = [option(option::STRUCTURED_REPLY, &[]), option(number, &data), option(option::GO, GO)];
            let (negotiated, got) = talk(3, &options);
            assert_eq!(negotiated.unwrap(), Some(TransmissionTerms { structured: true, status: chosen }), "{data:?}");
            assert_eq!(kinds(&got)[1..=kinds_with_chunks.len()], kinds_with_chunks, "{data:?}");
            // The context has the number 1 where it is chosen, and none where it is listed.
            let told = replies(&got).into_iter().find(|(kind, _)| *kind == META_CONTEXT);
            let number = [0, 0, 0, u8::from(number == set)];
            assert!(told.is_none_or(|(_, data)| data == [&number[..], b"base:allocation"].concat()));
            let (negotiated, got) = talk(3, &[options[1].clone(), option(option::GO, GO)]);
            assert_eq!(negotiated.unwrap(), Some(TransmissionTerms::default()));
            let named = kinds_with_chunks == [UNKNOWN];
            assert_eq!(kinds(&got)[0], if named { UNKNOWN } else { INVALID }, "a status is a chunk");
        }
    }

    #[test]
    fn an_option_has_its_data_or_none() {
        let go = |more: &[u8]| option(option::GO, &[GO, more].concat());
        for (wrong, expected) in [
            (option(option::LIST, &[1]), answer::INVALID),
            (option(option::STRUCTURED_REPLY, &[1]), answer::INVALID),
            (go(&[0]), answer::INVALID),
            (option(99, &vec![0; MAX_OPTION_BYTES as usize]), answer::UNSUPPORTED),
            (option(99, &vec![0; MAX_OPTION_BYTES as usize + 1]), answer::TOO_BIG),
            (option(option::ABORT, &[]), answer::ACK),
        ] {
            let (negotiated, got) = talk(3, &[wrong, option(option::ABORT, &[])]);
            assert_eq!((negotiated.unwrap(), kinds(&got)[0]), (None, expected));
        }
        assert_eq!(talk(3, &[option(option::EXPORT_NAME, b"disk")]).0.unwrap(), None, "there is no other export");
    }

    #[test]
    fn a_client_may_know_two_flags_and_is_left_with_any_other() {
        for flag in 0..32 {
            let negotiated = talk(1 << flag, &[option(option::GO, GO)]).0.unwrap();
            assert_eq!(negotiated.is_some(), flag < 2, "bit {flag}");
        }
    }

    #[test]
    fn an_export_has_the_limits_of_its_disk() {
        // Logical and physical bytes, the longest transfer in sectors; preferred and largest bytes.
        for (logical, physical, longest, preferred, largest) in [
            (512, 512, 2560, 4096, 2560 * 512),
            (512, 4096, 65_535, 4096, 65_535 * 512),
            (4096, 4096, 65_536, 4096, 32 << 20),
            (512, 65_536, 65_537, 65_536, 32 << 20),
        ] {
            let limits = Limits {
                sectors: 1000,
                logical,
                physical,
                max_transfer: longest,
                optimal_transfer: 0,
                depth: 1,
                fua: true,
                volatile_cache: true,
                queuing: Queuing::None,
                computes: false,
            };
            let export = Export::new(&limits, String::new());
            assert_eq!((export.bytes, export.smallest), (1000 * 512, logical));
            assert_eq!((export.preferred, export.largest, export.fast_zeroes), (preferred, largest, false));
        }
    }

    #[test]
    fn a_client_that_goes_away_is_an_error_of_the_connection() {
        assert!(talk(1, &[option(option::GO, GO)[..9].to_vec()]).0.is_err());
        assert_eq!(talk(8, &[]).0.unwrap(), None, "a flag of another time");
        assert_eq!(talk(1, &[vec![0; 16]]).0.unwrap(), None, "no option");
    }
}
