//! What an array's members did for a job, as the virtual machine's console has it and as the model's JSON has it.

use serde_json::Value;

/// What an array did for a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Bytes that the program read and wrote.
    pub program_bytes: u64,
    /// Stripes in md's cache when the job had ended; 0 if the level has none.
    pub stripes: u64,
    /// What each member did.
    pub members: Vec<MemberCounts>,
}

/// What a member did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MemberCounts {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
}

impl Counts {
    /// The counts of a row in a line of the guest's console: `MD ROW READ WRITTEN STRIPES` and, for each member,
    /// reads, sectors read, writes, sectors written and flushes with colons between them.
    pub fn of_guest_line(line: &str) -> Option<(usize, Self)> {
        let mut words = line.trim().strip_prefix("MD ")?.split_ascii_whitespace();
        let row = words.next()?.parse().ok()?;
        let mut next = || words.next()?.parse::<u64>().ok();
        let (read, written, stripes) = (next()?, next()?, next()?);
        let member = |word: &str| {
            let numbers: Vec<u64> = word.split(':').map(|number| number.parse().ok()).collect::<Option<_>>()?;
            let [reads, sectors_read, writes, sectors_written, flushes] = numbers[..] else { return None };
            let (read_bytes, written_bytes) = (sectors_read * SECTOR, sectors_written * SECTOR);
            Some(MemberCounts { reads, read_bytes, writes, written_bytes, flushes })
        };
        let members = words.map(member).collect::<Option<_>>()?;
        Some((row, Self { program_bytes: read + written, stripes, members }))
    }

    /// The counts in the JSON of `seekwise run --json`; none if it does not say what members did.
    pub fn of_model_json(run: &Value) -> Option<Self> {
        let number = |value: &Value, key: &str| value.get(key)?.as_f64();
        let program_bytes = number(run.get("all")?, "bytes_per_s")? * number(run, "elapsed_s")?;
        let member = |value: &Value| {
            let count = |key: &str| value.get(key)?.as_u64();
            Some(MemberCounts {
                reads: count("reads")?,
                read_bytes: count("read_bytes")?,
                writes: count("writes")?,
                written_bytes: count("written_bytes")?,
                flushes: count("flushes")?,
            })
        };
        let members = run.get("array")?.get("members")?.as_array()?;
        let members = members.iter().map(member).collect::<Option<_>>()?;
        Some(Self { program_bytes: program_bytes.round() as u64, stripes: 0, members })
    }

    /// Bytes that the members read for each byte of the program.
    pub fn read_per_byte(&self) -> f64 {
        self.per_byte(|member| member.read_bytes)
    }

    /// Bytes that the members wrote for each byte of the program.
    pub fn written_per_byte(&self) -> f64 {
        self.per_byte(|member| member.written_bytes)
    }

    /// Flushes that reached the members.
    pub fn flushes(&self) -> u64 {
        self.members.iter().map(|member| member.flushes).sum()
    }

    /// Each member's percent of the bytes that were read, with colons between them; nothing if nothing was read.
    pub fn shares_of_reads(&self) -> String {
        let all: u64 = self.members.iter().map(|member| member.read_bytes).sum();
        let share = |member: &MemberCounts| (100.0 * member.read_bytes as f64 / all as f64).round().to_string();
        if all == 0 { "-".to_owned() } else { self.members.iter().map(share).collect::<Vec<_>>().join(":") }
    }

    fn per_byte(&self, bytes: fn(&MemberCounts) -> u64) -> f64 {
        self.members.iter().map(bytes).sum::<u64>() as f64 / self.program_bytes.max(1) as f64
    }
}

/// Bytes of a sector in /sys/block/*/stat (Documentation/block/stat.rst).
const SECTOR: u64 = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_console_is_read() {
        let (row, counts) = Counts::of_guest_line("MD 3 0 4096 270 1:8:2:16:0 0:0:1:8:1\r").unwrap();
        assert_eq!((row, counts.program_bytes, counts.stripes, counts.flushes()), (3, 4096, 270, 1));
        assert_eq!((counts.read_per_byte(), counts.written_per_byte()), (1.0, 3.0));
        assert_eq!(counts.shares_of_reads(), "100:0");
        assert_eq!(Counts::of_guest_line("MD 3 0 4096 270 1:8:2:16"), None);
        assert_eq!(Counts::of_guest_line("[    7.1] reboot: Power down"), None);
    }

    #[test]
    fn a_run_of_the_model_is_read() {
        let member = "{\"reads\":1,\"read_bytes\":4096,\"writes\":2,\"written_bytes\":8192,\"flushes\":3}";
        let text = format!(
            "{{\"elapsed_s\":2.0,\"all\":{{\"bytes_per_s\":2048.0}},\"array\":{{\"members\":[{member},{member}]}}}}"
        );
        let counts = Counts::of_model_json(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((counts.read_per_byte(), counts.written_per_byte(), counts.flushes()), (2.0, 4.0, 6));
        assert_eq!(Counts::of_model_json(&serde_json::json!({"elapsed_s": 2.0, "all": {"bytes_per_s": 1.0}})), None);
    }
}
