//! Whole numbers and texts as bytes: numbers in LEB128, seven bits a byte, the lowest first; texts with their length before them. Reading
//! trusts nothing: it ends with `None` at the end of the bytes, and allocates nothing.

/// Appends a number.
pub fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Appends a text.
pub fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len() as u64);
    bytes.extend_from_slice(text.as_bytes());
}

/// A signed difference as a number that is small if the difference is.
pub fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

/// The difference that [`zigzag`] was given.
pub fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Reads bytes from the start.
#[derive(Clone, Copy, Debug)]
pub struct ByteReader<'a> {
    rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    /// Reads these bytes.
    pub fn new(bytes: &'a [u8]) -> ByteReader<'a> {
        ByteReader { rest: bytes }
    }

    /// True at the end.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads a byte.
    pub fn read_byte(&mut self) -> Option<u8> {
        self.read_bytes(1).map(|bytes| bytes[0])
    }

    /// Reads a number; `None` also if it takes more than 64 bits.
    pub fn read_number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.read_byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads so many bytes.
    pub fn read_bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(usize::try_from(count).ok()?)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads eight bytes, the lowest first.
    pub fn read_word(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.read_bytes(8)?.try_into().ok()?))
    }

    /// Reads a text of at most `most_bytes` bytes.
    pub fn read_text(&mut self, most_bytes: usize) -> Option<&'a str> {
        let length = self.read_number().filter(|&length| length <= most_bytes as u64)?;
        std::str::from_utf8(self.read_bytes(length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for number in [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), 1 << 62, u64::MAX] {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            let mut reader = ByteReader::new(&bytes);
            assert_eq!((reader.read_number(), reader.is_at_end()), (Some(number), true));
            assert_eq!(ByteReader::new(&bytes[..bytes.len() - 1]).read_number(), None, "cut short");
            assert_eq!(unzigzag(zigzag(number as i64)), number as i64);
        }
        assert_eq!((zigzag(-1), zigzag(1), zigzag(i64::MIN)), (1, 2, u64::MAX));
    }

    #[test]
    fn bytes_that_are_no_number_or_text_are_refused() {
        assert_eq!(ByteReader::new(&[0xff; 11]).read_number(), None, "without an end");
        let too_large = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        assert_eq!(ByteReader::new(&too_large).read_number(), None, "65 bits");
        assert_eq!(ByteReader::new(b"\x03abc").read_text(2), None, "too long");
        assert_eq!(ByteReader::new(b"\x03ab").read_text(9), None, "cut short");
        assert_eq!(ByteReader::new(b"\x01\xff").read_text(9), None, "not UTF-8");
        assert_eq!(ByteReader::new(b"\x02ab").read_text(2), Some("ab"));
    }
}
