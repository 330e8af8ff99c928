//! The rows of `cargo xtask md`: reads them from a TOML file, and writes each for the virtual machine and for the
//! model.

use toml::{Table, Value};

/// The kinds of arrays: the model's word, md's, md's number of the layout if the level has any, and the fewest members.
const LEVELS: [(&str, &str, &str, i64); 5] = [
    ("raid-0", "raid0", "-", 2),
    ("raid-1", "raid1", "-", 2),
    // Two near copies: md's default (mdadm(8), `--layout`).
    ("raid-10", "raid10", "258", 2),
    // Left-symmetric: md's default.
    ("raid-5", "raid5", "2", 3),
    ("raid-6", "raid6", "2", 4),
];

/// A member's write cache in MiB, as in the model's drive of the committed rows (8 MB).
const CACHE_MIB: u32 = 8;

/// The most members: as many as the model has.
const MOST_MEMBERS: i64 = 32;

/// A file of rows.
#[derive(Debug)]
pub struct Rows {
    pub members: Members,
    pub rows: Vec<Row>,
}

/// What every row's members are, in the virtual machine and in the model.
#[derive(Debug)]
pub struct Members {
    latency_us: i64,
    at_once: i64,
    max_kib: i64,
    scheduler: String,
    drive: String,
    driver: String,
}

/// A job on an array.
#[derive(Debug)]
pub struct Row {
    array: String,
    members: i64,
    chunk_kib: i64,
    missing: Option<i64>,
    /// Whether the members have a write cache, so that flushes reach them; their data then take the guest's memory.
    has_write_cache: bool,
    /// fio's options.
    job: Vec<String>,
    /// Files below `md/` and what is written there, as `NAME=VALUE`.
    md: Vec<String>,
    /// Settings of the model.
    model: Vec<String>,
}

impl Rows {
    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table: Table = text.parse().map_err(|error| format!("{error}"))?;
        let members = table.remove("members").ok_or("expected a table `[members]`")?;
        let Value::Table(members) = members else { return Err("`members`: expected a table".to_owned()) };
        let rows = match table.remove("row") {
            Some(Value::Array(rows)) if !rows.is_empty() => rows,
            _ => return Err("expected rows, each a table `[[row]]`".to_owned()),
        };
        no_other_key(&table)?;
        let members = Members::read(members).map_err(|why| format!("[members]: {why}"))?;
        let read_row = |(number, row): (usize, Value)| {
            let Value::Table(row) = row else { return Err(format!("row {number}: expected a table")) };
            Row::read(row).map_err(|why| format!("row {number}: {why}"))
        };
        Ok(Self { members, rows: (1..).zip(rows).map(read_row).collect::<Result<_, _>>()? })
    }

    /// The script of the virtual machine, which its first process reads.
    pub fn guest_script(&self) -> String {
        let Members { latency_us, at_once, max_kib, scheduler, .. } = &self.members;
        let mut script =
            format!("LATENCY_NS={}\nAT_ONCE={at_once}\nMAX_KIB={max_kib}\nSCHEDULER={scheduler}\n", latency_us * 1000);
        for (number, row) in self.rows.iter().enumerate() {
            script += &row.guest_line(number);
        }
        script
    }
}

impl Members {
    fn read(mut table: Table) -> Result<Self, String> {
        let members = Self {
            latency_us: number(&mut table, "latency_us", 1..=1_000_000)?,
            at_once: number(&mut table, "at_once", 1..=1024)?,
            max_kib: number(&mut table, "max_kib", 4..=32_768)?,
            scheduler: word(&mut table, "scheduler")?,
            drive: word(&mut table, "drive")?,
            driver: word(&mut table, "driver")?,
        };
        if !["mq-deadline", "none"].contains(&members.scheduler.as_str()) {
            return Err(format!("`scheduler`: expected mq-deadline or none, not {}", members.scheduler));
        }
        no_other_key(&table)?;
        Ok(members)
    }
}

impl Row {
    fn read(mut table: Table) -> Result<Self, String> {
        let array = word(&mut table, "array")?;
        let Some((.., fewest)) = LEVELS.iter().find(|(level, ..)| *level == array) else {
            return Err(format!(
                "`array`: expected one of {}, not {array}",
                LEVELS.map(|(level, ..)| level).join(", ")
            ));
        };
        let members = number(&mut table, "members", *fewest..=MOST_MEMBERS)?;
        let row = Self {
            members,
            chunk_kib: match array == "raid-1" {
                true => 0,
                false => number(&mut table, "chunk_kib", 4..=65_536)?,
            },
            missing: match table.contains_key("missing") {
                true => Some(number(&mut table, "missing", 0..=members - 1)?),
                false => None,
            },
            has_write_cache: match table.remove("write_cache") {
                None => false,
                Some(Value::Boolean(has)) => has,
                Some(_) => return Err("`write_cache`: expected true or false".to_owned()),
            },
            job: words(&mut table, "job")?,
            md: words(&mut table, "md")?,
            model: words(&mut table, "model")?,
            array,
        };
        if row.job.is_empty() {
            return Err("expected `job`, options of fio".to_owned());
        }
        no_other_key(&table)?;
        Ok(row)
    }

    /// What the row is, in a line.
    pub fn title(&self) -> String {
        let chunk = if self.chunk_kib > 0 { format!(", chunks {} KiB", self.chunk_kib) } else { String::new() };
        let missing = self.missing.map_or_else(String::new, |member| format!(", without {member}"));
        let more = |words: &[String]| words.iter().map(|word| format!(" {word}")).collect::<String>();
        format!("{} of {}{chunk}{missing}:{}{}", self.array, self.members, more(&self.job), more(&self.md))
    }

    /// Whether the array has copies, of which a read needs one.
    pub fn has_copies(&self) -> bool {
        ["raid-1", "raid-10"].contains(&self.array.as_str())
    }

    /// The call of the virtual machine's `row`.
    fn guest_line(&self, number: usize) -> String {
        let level = LEVELS.iter().find(|(level, ..)| *level == self.array);
        let (_, level, layout, _) = level.expect("a row of an unknown level is refused");
        let missing = self.missing.map_or_else(|| "-".to_owned(), |member| member.to_string());
        let options: Vec<String> = self.job.iter().map(|option| format!("--{option}")).collect();
        format!(
            "row {number} {level} {} {} {layout} {missing} {} '{}' '{}'\n",
            self.members,
            self.chunk_kib * 1024,
            if self.has_write_cache { CACHE_MIB } else { 0 },
            self.md.join(" "),
            options.join(" ")
        )
    }

    /// The model's job file.
    pub fn model_job(&self) -> String {
        format!("[j]\n{}\n", self.job.join("\n"))
    }

    /// The model's stack, as arguments of `seekwise run JOB`.
    pub fn model_arguments(&self, members: &Members) -> Vec<String> {
        let mut settings = vec![
            format!("driver={}", members.driver),
            format!("array={}", self.array),
            format!("array.drives={}", self.members),
        ];
        if self.chunk_kib > 0 {
            settings.push(format!("array.chunk_kib={}", self.chunk_kib));
        }
        settings.extend(self.missing.map(|member| format!("array.lose={member}")));
        settings.extend(self.model.iter().cloned());
        let target = ["--on".to_owned(), members.drive.clone()];
        target.into_iter().chain(settings.into_iter().flat_map(|set| ["--set".to_owned(), set])).collect()
    }
}

fn no_other_key(table: &Table) -> Result<(), String> {
    match table.keys().next() {
        Some(key) => Err(format!("`{key}` is no key of a row or of its members")),
        None => Ok(()),
    }
}

fn number(table: &mut Table, key: &str, range: std::ops::RangeInclusive<i64>) -> Result<i64, String> {
    match table.remove(key) {
        Some(Value::Integer(number)) if range.contains(&number) => Ok(number),
        _ => Err(format!("`{key}`: expected a number, {} to {}", range.start(), range.end())),
    }
}

fn word(table: &mut Table, key: &str) -> Result<String, String> {
    match table.remove(key) {
        Some(Value::String(text)) => plain_word(key, text),
        _ => Err(format!("`{key}`: expected a word in quotes")),
    }
}

/// The words of a list; none if there is no such key.
fn words(table: &mut Table, key: &str) -> Result<Vec<String>, String> {
    let expected = || format!("`{key}`: expected a list of words in quotes");
    match table.remove(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            let texts = list.into_iter().map(|value| match value {
                Value::String(text) => plain_word(key, text),
                _ => Err(expected()),
            });
            texts.collect()
        }
        Some(_) => Err(expected()),
    }
}

/// A word that a shell takes as it is: it goes into the virtual machine's script.
fn plain_word(key: &str, text: String) -> Result<String, String> {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_=.,:%/+".contains(character);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text),
        false => Err(format!("`{key}`: expected letters, digits and - _ = . , : % / +, not `{text}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERS: &str = "[members]\nlatency_us = 5000\nat_once = 32\nmax_kib = 1280\nscheduler = 'none'\n\
        drive = 'd'\ndriver = 'linux-none'\n";

    fn parsed(row: &str) -> Result<Rows, String> {
        Rows::parse(&format!("{MEMBERS}[[row]]\n{row}"))
    }

    #[test]
    fn the_committed_rows_are_read() {
        let text = std::fs::read_to_string(crate::root().join(super::super::ROWS)).unwrap();
        assert!(Rows::parse(&text).unwrap().rows.len() > 20);
    }

    #[test]
    fn a_row_is_written_for_both_sides() {
        let rows = parsed(
            "array = 'raid-6'\nmembers = 6\nchunk_kib = 64\nmissing = 2\nwrite_cache = true\njob = ['rw=write', 'bs=64k']\n\
             md = ['stripe_cache_size=4096']\nmodel = ['array.x=4096']\n",
        );
        let rows = rows.unwrap();
        assert_eq!(
            rows.guest_script(),
            "LATENCY_NS=5000000\nAT_ONCE=32\nMAX_KIB=1280\nSCHEDULER=none\n\
             row 0 raid6 6 65536 2 2 8 'stripe_cache_size=4096' '--rw=write --bs=64k'\n"
        );
        assert_eq!(rows.rows[0].model_job(), "[j]\nrw=write\nbs=64k\n");
        let arguments = rows.rows[0].model_arguments(&rows.members).join(" ");
        assert_eq!(
            arguments,
            "--on d --set driver=linux-none --set array=raid-6 --set array.drives=6 --set array.chunk_kib=64 \
             --set array.lose=2 --set array.x=4096"
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let job = "job = ['rw=read']\n";
        for (row, why) in [
            ("array = 'raid-7'\n".to_owned(), "row 1: `array`: expected one of raid-0"),
            (
                format!("array = 'raid-5'\nmembers = 2\nchunk_kib = 64\n{job}"),
                "row 1: `members`: expected a number, 3 to",
            ),
            (format!("array = 'raid-1'\nmembers = 2\nchunk_kib = 64\n{job}"), "row 1: `chunk_kib` is no key"),
            (
                format!("array = 'raid-1'\nmembers = 2\nmissing = 2\n{job}"),
                "row 1: `missing`: expected a number, 0 to 1",
            ),
            ("array = 'raid-1'\nmembers = 2\n".to_owned(), "row 1: expected `job`"),
            ("array = 'raid-1'\nmembers = 2\njob = ['bs=4k; reboot']\n".to_owned(), "row 1: `job`: expected letters"),
        ] {
            let error = parsed(&row).unwrap_err();
            assert!(error.starts_with(why), "{row}{error}");
        }
        assert!(Rows::parse(MEMBERS).unwrap_err().starts_with("expected rows"));
    }
}
