//! Recipes of the crash laboratory (`recipes/*.toml`): a workload, and a check of the data that a power cut leaves. The format
//! is this project's own. `seekwise crash` runs recipes.
//!
//! ```toml
//! title = "…"
//! needs = ["sqlite3"]            # required programs
//! fs = "ext4"                    # a file system, with mount options after a colon; default: none
//! size = "64m"                   # of the file system
//! user = "postgres"              # a user whose programs need the file system; default: root alone reaches it
//! env = ["COMMITS"]              # environment variables to pass on
//! prepare = "…"                  # shell command before the disk is served; optional
//! workload = "…"                 # shell command; each line that it prints is a promise
//! check = "…"                    # shell command; its exit code is the verdict
//! recover = "…"                  # shell command that opens the program's data so that it recovers, then closes them; default: only mount
//! version = "…"                  # shell command whose first line names the program and its version; optional
//! promises = "every commit"      # the promise of the program's documentation, in words; "nothing" if it promises nothing
//! expect = "kept"                # "kept" if cuts must not break that promise to the workload, "broken" if some must lose its lines
//! may_lose = "1s"                # promises younger than this at a cut may be lost; default: none
//! [variant.sqlite-wal-full]      # one or more: each is a recipe
//! title = "…"
//! fs = "ext4:barrier=0"          # overrides the above
//! set = { JOURNAL = "WAL" }      # environment variables of all three
//! ```

use std::sync::LazyLock;

use toml::Spanned;
use toml::de::DeValue;

use seekwise_drives::diagnostic::{Diagnostic, sorted_by_line};
use seekwise_drives::dotted;
use seekwise_drives::duration::Duration;
use seekwise_drives::figure::{FigureReader, NO_WORDS};

/// The outcome of cuts that the documentation of a program leads one to expect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedOutcome {
    /// No cut loses a promised line of the workload, or leaves corrupt data.
    Kept,
    /// Some cuts do.
    Broken,
}

impl ExpectedOutcome {
    const ALL: [ExpectedOutcome; 2] = [ExpectedOutcome::Kept, ExpectedOutcome::Broken];

    /// The value of the key `expect`.
    pub fn word(self) -> &'static str {
        match self {
            ExpectedOutcome::Kept => "kept",
            ExpectedOutcome::Broken => "broken",
        }
    }

    /// True if cuts came out as expected; `bad` of them lost a promise or left corrupt data.
    pub fn is_met_by(self, bad: usize) -> bool {
        (self == ExpectedOutcome::Broken) == (bad > 0)
    }
}

/// A recipe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    pub name: String,
    /// A description of what the recipe shows.
    pub title: String,
    /// Required programs.
    pub needs: Vec<String>,
    /// A file system with mount options; `None` for the raw disk.
    pub fs: Option<String>,
    /// Bytes of the file system.
    pub size: Option<u64>,
    /// A user whose programs reach the mounted file system; without one, root alone does.
    pub user: Option<String>,
    /// Environment variables to pass on to all commands.
    pub env: Vec<String>,
    /// Shell command that runs before the disk is served.
    pub prepare: Option<String>,
    /// Shell command; each line that it prints is a promise that its data survives a power cut.
    pub workload: String,
    /// Shell command whose exit code is the verdict.
    pub check: String,
    /// Shell command that opens the program's data so that it recovers; without it, mounting alone is the recovery.
    pub recover: Option<String>,
    /// Shell command whose output's first line names the program and its version.
    pub version: Option<String>,
    /// The promise of the program's documentation, in words.
    pub promises: Option<String>,
    /// The outcome that this documentation leads one to expect.
    pub expect: Option<ExpectedOutcome>,
    /// Promises younger than this at a cut may be lost.
    pub may_lose: Duration,
    /// Environment variables for all commands.
    pub set: Vec<(String, String)>,
}

/// The built-in recipe files: names and texts.
const TEXTS: &[(&str, &str)] = &[
    ("etcd.toml", include_str!("../recipes/etcd.toml")),
    ("ext4.toml", include_str!("../recipes/ext4.toml")),
    ("leveldb.toml", include_str!("../recipes/leveldb.toml")),
    ("lmdb.toml", include_str!("../recipes/lmdb.toml")),
    ("log-store.toml", include_str!("../recipes/log-store.toml")),
    ("mariadb.toml", include_str!("../recipes/mariadb.toml")),
    ("postgresql.toml", include_str!("../recipes/postgresql.toml")),
    ("raw.toml", include_str!("../recipes/raw.toml")),
    ("redis.toml", include_str!("../recipes/redis.toml")),
    ("rename.toml", include_str!("../recipes/rename.toml")),
    ("rocksdb.toml", include_str!("../recipes/rocksdb.toml")),
    ("sqlite.toml", include_str!("../recipes/sqlite.toml")),
];

/// Keys of a file.
const KEYS: [&str; 15] = [
    "title", "needs", "fs", "size", "user", "env", "prepare", "workload", "check", "recover", "version", "promises",
    "expect", "may_lose", "variant",
];

/// Keys of a variant.
const VARIANT_KEYS: [&str; 6] = ["title", "fs", "promises", "expect", "may_lose", "set"];

/// All built-in recipes.
pub fn recipes() -> &'static [Recipe] {
    static ALL: LazyLock<Vec<Recipe>> = LazyLock::new(|| {
        let parse_built_in = |(file, text): &(&str, &str)| {
            parse(file, text).unwrap_or_else(|faults| panic!("a recipe that comes with the laboratory: {}", faults[0]))
        };
        TEXTS.iter().flat_map(parse_built_in).collect()
    });
    &ALL
}

/// Reads a file of recipes, one per variant, in order.
pub fn parse(file: &str, text: &str) -> Result<Vec<Recipe>, Vec<Diagnostic>> {
    let mut reader = FigureReader::new(file, text, &NO_WORDS);
    let table = reader.parse_table();
    let (mut base, mut recipes) = (Recipe::default(), Vec::new());
    let mut variants = Vec::new();
    for (key, value) in &table {
        let line = reader.line_at(key.span().start);
        let name = key.get_ref().as_ref();
        match name {
            "variant" => match value.get_ref().as_table() {
                Some(table) => variants.extend(table.iter()),
                None => report_error(&mut reader, line, name, "is not a table", "[variant.NAME]"),
            },
            _ if KEYS.contains(&name) => read_field(&mut reader, &mut base, line, name, value),
            _ => report_unknown_key(&mut reader, line, name, &KEYS),
        }
    }
    for (name, value) in variants {
        let line = reader.line_at(name.span().start);
        let recipe = Recipe { name: name.get_ref().to_string(), ..base.clone() };
        recipes.push(read_variant(&mut reader, recipe, line, value));
    }
    for (key, is_given) in [
        ("workload", !base.workload.is_empty()),
        ("check", !base.check.is_empty()),
        ("variant", !recipes.is_empty() || !reader.errors.is_empty()),
    ] {
        if !is_given {
            let expected = if key == "variant" { "[variant.NAME], one or more" } else { "a command for a shell" };
            report_error(&mut reader, 0, key, "missing key", expected);
        }
    }
    match reader.errors.is_empty() {
        true => Ok(recipes),
        false => Err(sorted_by_line(reader.errors)),
    }
}

/// The recipe `base` with the overrides of a variant.
fn read_variant(reader: &mut FigureReader<'_>, base: Recipe, line: usize, value: &Spanned<DeValue<'_>>) -> Recipe {
    let Some(table) = value.get_ref().as_table() else {
        report_error(reader, line, &base.name, "is not a table", &VARIANT_KEYS.join(", "));
        return base;
    };
    let mut recipe = base;
    for (key, value) in table {
        let line = reader.line_at(key.span().start);
        match key.get_ref().as_ref() {
            "set" => read_variables(reader, &mut recipe, line, value),
            name if VARIANT_KEYS.contains(&name) => read_field(reader, &mut recipe, line, name, value),
            name => report_unknown_key(reader, line, name, &VARIANT_KEYS),
        }
    }
    recipe
}

/// Reads environment variables into `recipe`. Names are in capitals, so that none replaces a variable of the shell by accident.
fn read_variables(reader: &mut FigureReader<'_>, recipe: &mut Recipe, line: usize, value: &Spanned<DeValue<'_>>) {
    let Some(table) = value.get_ref().as_table() else {
        return report_error(reader, line, "set", "is not a table", "{ NAME = \"value\" }");
    };
    for (name, value) in table {
        let key: &str = name.get_ref();
        match value.get_ref().as_str() {
            Some(text) if may_set_variable(key) => recipe.set.push((key.to_owned(), text.to_owned())),
            Some(_) => report_error(reader, line, key, "not a valid name of a variable", "capitals, digits and _"),
            None => report_error(reader, line, key, "is not a string", "a quoted string"),
        }
    }
}

/// True for a variable that a recipe may set: in capitals, and none that shells or the laboratory use.
fn may_set_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && !["PATH", "HOME", "IFS", "ENV"].contains(&name)
        && !name.starts_with("SEEKWISE_")
}

/// Reads the value of one key of a recipe or a variant into `recipe`.
fn read_field(
    reader: &mut FigureReader<'_>,
    recipe: &mut Recipe,
    line: usize,
    key: &str,
    value: &Spanned<DeValue<'_>>,
) {
    if ["needs", "env"].contains(&key) {
        let words = value.get_ref().as_array().map(|list| list.iter().map(|word| word.get_ref().as_str()));
        let words: Option<Vec<String>> = words.and_then(|words| words.map(|word| word.map(str::to_owned)).collect());
        match words {
            Some(words) if key == "needs" => recipe.needs = words,
            Some(words) => match words.iter().find(|word| !may_set_variable(word)) {
                Some(word) => {
                    report_error(reader, line, word, "not a valid name of a variable", "capitals, digits and _")
                }
                None => recipe.env = words,
            },
            None => report_error(reader, line, key, "is not a list of strings", "[\"WORD\", …]"),
        }
        return;
    }
    let Some(text) = value.get_ref().as_str().map(str::to_owned).filter(|text| !text.trim().is_empty()) else {
        return report_error(reader, line, key, "is not a string, or is empty", "a quoted string");
    };
    match key {
        "title" => recipe.title = text,
        "user" => recipe.user = Some(text),
        "fs" => recipe.fs = Some(text),
        "size" => match dotted::parse_size(&text) {
            Some(size) => recipe.size = Some(size),
            None => report_error(reader, line, key, &format!("`{text}` is not a size"), "such as 64m or 1g"),
        },
        "may_lose" => match Duration::parse(&text) {
            Ok(may_lose) => recipe.may_lose = may_lose,
            Err(why) => report_error(reader, line, key, &why, "such as 1s or 200ms"),
        },
        "expect" => match ExpectedOutcome::ALL.into_iter().find(|expected| expected.word() == text) {
            Some(expected) => recipe.expect = Some(expected),
            None => report_error(reader, line, key, &format!("`{text}` is not an outcome"), "kept or broken"),
        },
        "version" => recipe.version = Some(text),
        "promises" => recipe.promises = Some(text),
        "prepare" => recipe.prepare = Some(text),
        "recover" => recipe.recover = Some(text),
        "workload" => recipe.workload = text,
        _ => recipe.check = text,
    }
}

fn report_error(reader: &mut FigureReader<'_>, line: usize, key: &str, message: &str, expected: &str) {
    let error = reader.diagnostic(line, message.to_owned()).with_key(key).with_expected(expected);
    reader.errors.push(error);
}

fn report_unknown_key(reader: &mut FigureReader<'_>, line: usize, key: &str, known_keys: &[&'static str]) {
    let error = reader.diagnostic(line, "unknown key".to_owned()).with_key(key);
    reader.errors.push(error.with_expected(known_keys.join(", ")).suggest_nearest(key, known_keys.iter().copied()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_recipes_load_and_have_unique_names() {
        let names: Vec<&str> = recipes().iter().map(|recipe| recipe.name.as_str()).collect();
        let different: std::collections::BTreeSet<_> = names.iter().collect();
        assert!(different.len() == names.len() && names.contains(&"sqlite-wal-full"), "{names:?}");
        for recipe in recipes() {
            let is_judged = recipe.expect.is_some() && recipe.promises.is_some() && recipe.version.is_some();
            assert!(is_judged && !recipe.title.is_empty(), "{}: title, version, promises, expect", recipe.name);
            // The file system's journal is all that recovers on the bare disk and in files that a shell writes.
            let is_program = !["raw", "ext4", "xfs", "btrfs", "rename"].iter().any(|it| recipe.name.starts_with(it));
            assert_eq!(recipe.recover.is_some(), is_program, "{}", recipe.name);
        }
    }

    #[test]
    fn an_expected_outcome_is_met_by_losses_or_by_none() {
        let met = |expected: ExpectedOutcome| [0, 1, 7].map(|bad| expected.is_met_by(bad));
        assert_eq!(met(ExpectedOutcome::Kept), [true, false, false]);
        assert_eq!(met(ExpectedOutcome::Broken), [false, true, true]);
    }

    const TEXT: &str = "fs = \"ext4\"\nsize = \"8m\"\nworkload = \"w\"\ncheck = \"c\"\n[variant.a]\ntitle = \"t\"\n\
                        set = { MODE = \"x\" }\n[variant.b]\nfs = \"ext4:barrier=0\"\nmay_lose = \"1s\"\n\
                        promises = \"a second\"\nexpect = \"broken\"\n";

    #[test]
    fn a_variant_overrides_keys_of_the_file() {
        let all = parse("r.toml", TEXT).unwrap();
        let [a, b] = &all[..] else { panic!("{all:?}") };
        assert_eq!((a.name.as_str(), a.fs.as_deref(), a.size), ("a", Some("ext4"), Some(8 << 20)));
        assert_eq!(a.set, [("MODE".to_owned(), "x".to_owned())]);
        assert_eq!((b.fs.as_deref(), b.workload.as_str(), b.set.len()), (Some("ext4:barrier=0"), "w", 0));
        assert_eq!((a.may_lose.nanos, b.may_lose.nanos), (0, 1_000_000_000));
        assert_eq!(
            (a.expect, b.expect, b.promises.as_deref()),
            (None, Some(ExpectedOutcome::Broken), Some("a second"))
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (from, to, expected) in [
            (
                "check =",
                "chekc =",
                "r.toml:4: `chekc`: unknown key; expected title, needs, fs, size, user, env, prepare",
            ),
            ("size = \"8m\"", "env = [\"A\", \"HOME\"]", "r.toml:2: `HOME`: not a valid name of a variable"),
            ("check = \"c\"\n", "", "r.toml: `check`: missing key; expected a command for a shell"),
            ("title =", "may_lose =", "r.toml:6: `may_lose`: `t` is not a duration; expected such as 1s or 200ms"),
            ("8m", "8 x", "r.toml:2: `size`: `8 x` is not a size; expected such as 64m or 1g"),
            ("\"broken\"", "\"bad\"", "r.toml:12: `expect`: `bad` is not an outcome; expected kept or broken"),
            ("MODE", "PATH", "r.toml:7: `PATH`: not a valid name of a variable"),
            ("\"x\"", "3", "r.toml:7: `MODE`: is not a string"),
            ("title", "titel", "did you mean `title`?"),
            ("\"w\"", "\"  \"", "r.toml:3: `workload`: is not a string, or is empty"),
        ] {
            let text = TEXT.replace(from, to);
            let faults = parse("r.toml", &text).unwrap_err();
            assert!(faults.iter().any(|fault| fault.to_string().contains(expected)), "{expected}\n{faults:?}");
        }
        let no_variant = parse("r.toml", "workload = \"w\"\ncheck = \"c\"\n").unwrap_err();
        assert!(no_variant[0].to_string().contains("`variant`: missing key; expected [variant.NAME]"));
    }
}
