//! Parses the language of DiskSim's parameter files to blocks, lists and words, each with its position. The meaning of parameters
//! is not known here.
//!
//! ```text
//! KIND NAME { key words = value, key = [ value, value ], key = KIND { … }, key = source FILE }
//! source FILE      instantiate [ a ] as NAME      topology KIND NAME [ … ]      # a comment, to the end of the line
//! NAME OTHER { … }     a block like NAME, with overrides
//! ```
//!
//! A sourced file is searched for in the folder of the file that names it, then in that of the first file. If blocks share a name,
//! the first is used.

use seekwise_drives::diagnostic::Diagnostic;

/// The deepest nesting of blocks, and of sourced files.
const DEEPEST_NESTING: usize = 24;

/// The errors in the parameters; at least one.
pub(super) type Errors = Vec<Diagnostic>;

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePosition {
    pub file: String,
    /// The line, from 1.
    pub line: usize,
}

impl SourcePosition {
    /// A diagnostic about this place.
    pub fn diagnostic(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.file, self.line, message)
    }
}

/// A block in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParameterBlock {
    /// The kind, such as `disksim_disk`.
    pub kind: String,
    /// The name; optional for nested blocks.
    pub name: String,
    /// The keys, in order.
    pub entries: Vec<ParameterEntry>,
    /// The place in its file.
    pub at: SourcePosition,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterEntry {
    /// The key, with single blanks between its words.
    pub key: String,
    pub value: ParameterValue,
    /// The place of the key.
    pub at: SourcePosition,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterValue {
    /// A number, and how it was written.
    Number(f64, String),
    /// Any other scalar.
    Word(String),
    /// Values in brackets.
    List(Vec<ParameterValue>),
    Block(ParameterBlock),
}

impl ParameterBlock {
    /// The last value of a key.
    pub fn get(&self, key: &str) -> Option<&ParameterEntry> {
        self.entries.iter().rev().find(|entry| entry.key.eq_ignore_ascii_case(key))
    }

    /// Collects all blocks of a kind, including nested ones.
    pub(crate) fn collect_blocks_of_kind<'a>(&'a self, kind: &str, found: &mut Vec<&'a ParameterBlock>) {
        if self.kind == kind {
            found.push(self);
        }
        for entry in &self.entries {
            entry.value.collect_blocks_of_kind(kind, found);
        }
    }
}

impl ParameterValue {
    fn collect_blocks_of_kind<'a>(&'a self, kind: &str, found: &mut Vec<&'a ParameterBlock>) {
        match self {
            ParameterValue::Block(block) => block.collect_blocks_of_kind(kind, found),
            ParameterValue::List(values) => values.iter().for_each(|value| value.collect_blocks_of_kind(kind, found)),
            ParameterValue::Number(..) | ParameterValue::Word(_) => {}
        }
    }
}

/// A function that returns the text of a sourced file by its path relative to the first file.
pub(crate) type SourceLoader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// The parameter files.
#[derive(Clone, Copy)]
pub struct SourceFiles<'a> {
    /// The name of the first file, for messages.
    pub first: &'a str,
    /// Loads the others.
    pub load: &'a SourceLoader<'a>,
}

impl SourceFiles<'_> {
    /// Loads the file `name`, which `sourcing_file` names: its path and text.
    pub(crate) fn load_relative(&self, sourcing_file: &str, name: &str) -> Result<(String, String), String> {
        let is_first = sourcing_file == self.first;
        let folder = if is_first { None } else { sourcing_file.rsplit_once('/').map(|(folder, _)| folder) };
        let path = folder.map(|folder| format!("{folder}/{name}"));
        let beside = path.and_then(|path| (self.load)(&path).ok().map(|text| (path, text)));
        beside.map_or_else(|| (self.load)(name).map(|text| (name.to_owned(), text)), Ok)
    }
}

/// The contents of a file and the files that it sources.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DisksimSetup {
    /// The blocks, with inherited entries.
    pub blocks: Vec<ParameterBlock>,
    /// The names of the instantiated blocks.
    pub instantiated: Vec<String>,
    pub warnings: Vec<Diagnostic>,
}

/// Reads a file and the files that it sources.
pub fn read_setup(text: &str, files: SourceFiles<'_>) -> Result<DisksimSetup, Diagnostic> {
    let mut setup = DisksimSetup::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    ParameterParser { file: files.first, tokens: tokenize(text), next: 0, files, depth: 0 }.parse_items(&mut setup)?;
    Ok(setup)
}

impl DisksimSetup {
    /// Adds a block, which inherits from the block whose name is its kind.
    fn add(&mut self, mut block: ParameterBlock) {
        if let Some(first) = self.blocks.iter().find(|other| !block.name.is_empty() && other.name == block.name) {
            let message = format!("defined again; using the one at {}:{}", first.at.file, first.at.line);
            self.warnings.push(block.at.diagnostic(message).with_key(shorten(&block.name)));
            return;
        }
        if let Some(parent) = self.blocks.iter().find(|other| !other.name.is_empty() && other.name == block.kind) {
            block.kind.clone_from(&parent.kind);
            block.entries.splice(0..0, parent.entries.iter().cloned());
        }
        self.blocks.push(block);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Mark(char),
    Word(&'a str),
}

/// The tokens of a text, each with its line from 1; comments are left out.
fn tokenize(text: &str) -> Vec<(Token<'_>, usize)> {
    let mut tokens = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("");
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '{' | '}' | '[' | ']' | '=' | ',' => {
                    tokens.push((Token::Mark(first), index + 1));
                    1
                }
                _ => {
                    let stops = |c: char| c.is_whitespace() || "{}[]=,".contains(c);
                    let end = rest.find(stops).unwrap_or(rest.len());
                    tokens.push((Token::Word(&rest[..end]), index + 1));
                    end
                }
            };
            rest = rest[end..].trim_start();
        }
    }
    tokens
}

struct ParameterParser<'a> {
    file: &'a str,
    /// Each token with its line.
    tokens: Vec<(Token<'a>, usize)>,
    /// The index of the next token.
    next: usize,
    files: SourceFiles<'a>,
    depth: usize,
}

impl<'a> ParameterParser<'a> {
    fn position(&self) -> SourcePosition {
        let last = self.tokens.last().map_or(1, |token| token.1);
        SourcePosition { file: self.file.to_owned(), line: self.tokens.get(self.next).map_or(last, |token| token.1) }
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|token| token.0)
    }

    fn take_token(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.next += usize::from(token.is_some());
        token
    }

    fn expect_mark(&mut self, mark: char, after: &str) -> Result<(), Diagnostic> {
        let at = self.position();
        match self.take_token() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            None => Err(at.diagnostic(format!("the file ends inside {after}")).with_expected(format!("`{mark}`"))),
            Some(Token::Mark(found)) => {
                Err(at.diagnostic(format!("`{found}` after {after}")).with_expected(format!("`{mark}`")))
            }
            Some(Token::Word(found)) => {
                Err(at.diagnostic(format!("`{}` after {after}", shorten(found))).with_expected(format!("`{mark}`")))
            }
        }
    }

    /// The words up to the next mark.
    fn take_words(&mut self) -> Vec<&'a str> {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            words.push(word);
            self.next += 1;
        }
        words
    }

    /// Parses a whole file into `setup`.
    fn parse_items(&mut self, setup: &mut DisksimSetup) -> Result<(), Diagnostic> {
        while self.peek().is_some() {
            let at = self.position();
            match self.take_token() {
                Some(Token::Word("source")) => self.parse_source(&at, setup)?,
                Some(Token::Word("instantiate")) => {
                    self.skip_brackets("`instantiate`")?;
                    setup.instantiated.push(self.parse_instance(&at)?);
                }
                Some(Token::Word("topology")) => {
                    self.take_words();
                    self.skip_brackets("`topology`")?;
                }
                Some(Token::Word(kind)) => {
                    let name = self.take_words().join(" ");
                    if !matches!(self.peek(), Some(Token::Mark('{')) | None) {
                        let message = format!("`{}` does not start a block of DiskSim parameters", shorten(kind));
                        let forms = "`KIND NAME { … }`, `source FILE`, `instantiate` or `topology`";
                        return Err(at.diagnostic(message).with_expected(forms));
                    }
                    setup.add(self.parse_block(kind, name, at)?);
                }
                Some(Token::Mark(',')) => {}
                Some(Token::Mark(mark)) => {
                    return Err(at.diagnostic(format!("`{mark}` without an opening bracket")).with_expected("a block"));
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Reads `as NAME` after `instantiate [ … ]`.
    fn parse_instance(&mut self, at: &SourcePosition) -> Result<String, Diagnostic> {
        match (self.take_token(), self.take_token()) {
            (Some(Token::Word("as")), Some(Token::Word(name))) => Ok(name.to_owned()),
            _ => Err(at
                .diagnostic("it does not say what to instantiate")
                .with_key("instantiate")
                .with_expected("`instantiate [ a, b ] as NAME`")),
        }
    }

    /// Reads the file that the next word names.
    fn parse_source(&mut self, at: &SourcePosition, setup: &mut DisksimSetup) -> Result<(), Diagnostic> {
        let Some(Token::Word(name)) = self.take_token() else {
            return Err(at.diagnostic("`source` without a file").with_expected("a file's name"));
        };
        if self.depth >= DEEPEST_NESTING {
            return Err(at.diagnostic(format!("files are sourced more than {DEEPEST_NESTING} deep")).with_key(name));
        }
        let found = self.files.load_relative(self.file, name);
        let (file, text) = found.map_err(|error| at.diagnostic(format!("cannot be read: {error}")).with_key(name))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let tokens = tokenize(text);
        ParameterParser { file: &file, tokens, next: 0, files: self.files, depth: self.depth + 1 }.parse_items(setup)
    }

    /// Skips a list in brackets, which follows `after`.
    fn skip_brackets(&mut self, after: &str) -> Result<(), Diagnostic> {
        self.expect_mark('[', after)?;
        let mut open = 1;
        while open > 0 {
            let at = self.position();
            match self.take_token() {
                Some(Token::Mark('[')) => open += 1,
                Some(Token::Mark(']')) => open -= 1,
                Some(_) => {}
                None => return Err(at.diagnostic(format!("the file ends inside {after}")).with_expected("`]`")),
            }
        }
        Ok(())
    }

    fn parse_block(&mut self, kind: &str, name: String, at: SourcePosition) -> Result<ParameterBlock, Diagnostic> {
        let what = format!("`{}`", shorten(if name.is_empty() { kind } else { &name }));
        self.expect_mark('{', &what)?;
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(at.diagnostic(format!("blocks are nested more than {DEEPEST_NESTING} deep")));
        }
        let mut entries = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Mark('}')) => break,
                Some(Token::Mark(',')) => self.next += 1,
                Some(Token::Word(_)) => entries.push(self.parse_entry()?),
                Some(Token::Mark(mark)) => {
                    return Err(self
                        .position()
                        .diagnostic(format!("`{mark}` in {what}"))
                        .with_expected("a key, or `}`"));
                }
                None => {
                    return Err(self
                        .position()
                        .diagnostic(format!("the file ends inside {what}"))
                        .with_expected("`}`"));
                }
            }
        }
        self.next += 1;
        self.depth -= 1;
        Ok(ParameterBlock { kind: kind.to_owned(), name, entries, at })
    }

    fn parse_entry(&mut self) -> Result<ParameterEntry, Diagnostic> {
        let at = self.position();
        let key = self.take_words().join(" ");
        self.expect_mark('=', &format!("`{}`", shorten(&key)))?;
        let value = self.parse_value(&key)?;
        Ok(ParameterEntry { key, value, at })
    }

    fn parse_value(&mut self, key: &str) -> Result<ParameterValue, Diagnostic> {
        let at = self.position();
        if self.peek() == Some(Token::Mark('[')) {
            self.next += 1;
            return self.parse_list(key);
        }
        if self.peek() == Some(Token::Word("source")) {
            self.next += 1;
            let mut inner = DisksimSetup::default();
            self.parse_source(&at, &mut inner)?;
            return match inner.blocks.pop() {
                Some(block) if inner.blocks.is_empty() => Ok(ParameterValue::Block(block)),
                _ => Err(at.diagnostic("the sourced file does not hold exactly one block").with_key(key)),
            };
        }
        let words = self.take_words();
        match self.peek() {
            Some(Token::Mark('{')) => {
                let Some((kind, name)) = words.split_first() else {
                    return Err(at.diagnostic("a block without a kind").with_key(key));
                };
                Ok(ParameterValue::Block(self.parse_block(kind, name.join(" "), at)?))
            }
            Some(Token::Mark('=')) => {
                let message = format!("`{}` runs into the next key", shorten(&words.join(" ")));
                Err(at.diagnostic(message).with_key(key).with_expected("a comma between them"))
            }
            _ if words.is_empty() => Err(at.diagnostic("the key has no value").with_key(key)),
            _ => Ok(parse_scalar(&words.join(" "))),
        }
    }

    fn parse_list(&mut self, key: &str) -> Result<ParameterValue, Diagnostic> {
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(self
                .position()
                .diagnostic(format!("lists are nested more than {DEEPEST_NESTING} deep"))
                .with_key(key));
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Mark(']')) => break,
                Some(Token::Mark(',')) => self.next += 1,
                Some(Token::Mark('}' | '=')) => {
                    return Err(self
                        .position()
                        .diagnostic("a list that is not closed")
                        .with_key(key)
                        .with_expected("`]`"));
                }
                None => {
                    return Err(self
                        .position()
                        .diagnostic("the file ends inside a list")
                        .with_key(key)
                        .with_expected("`]`"));
                }
                Some(_) => values.push(self.parse_value(key)?),
            }
        }
        self.next += 1;
        self.depth -= 1;
        Ok(ParameterValue::List(values))
    }
}

fn parse_scalar(text: &str) -> ParameterValue {
    match text.parse::<f64>().ok().or_else(|| parse_hexadecimal(text)) {
        Some(number) if number.is_finite() => ParameterValue::Number(number, text.to_owned()),
        _ => ParameterValue::Word(text.to_owned()),
    }
}

/// Parses `0x1F`, with an optional minus.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    u32::from_str_radix(digits, 16).ok().map(|number| sign * f64::from(number))
}

/// The first 40 characters of a text.
pub(super) fn shorten(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}

/// Describes a value in a few words.
pub(super) fn describe_value(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Number(_, text) => shorten(text).to_owned(),
        ParameterValue::Word(word) => format!("`{}`", shorten(word)),
        ParameterValue::List(values) => format!("a list of {}", values.len()),
        ParameterValue::Block(block) => format!("a block `{}`", shorten(&block.kind)),
    }
}
