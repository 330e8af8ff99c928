//! The parameter language, apart from its parameters: words, blocks, lists and sources, each with its place.
//!
//! ```text
//! KIND NAME { key words = value, key = [ value, value ], key = KIND { … }, key = source FILE }
//! source FILE      instantiate [ a ] as NAME      topology KIND NAME [ … ]      # a comment, to the end of the line
//! NAME OTHER { … }     a block like NAME, with overrides
//! ```
//!
//! A file is searched for next to the one that names it, then next to the first. If blocks share a name, the first is used.

use crate::diagnostic::Diagnostic;

/// The deepest nesting of blocks, and of sourced files.
const DEEPEST: usize = 24;

/// All errors in the parameters.
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
    pub fn says(&self, message: impl Into<String>) -> Diagnostic {
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
    pub fn all<'a>(&'a self, kind: &str, found: &mut Vec<&'a ParameterBlock>) {
        if self.kind == kind {
            found.push(self);
        }
        for entry in &self.entries {
            entry.value.all(kind, found);
        }
    }
}

impl ParameterValue {
    fn all<'a>(&'a self, kind: &str, found: &mut Vec<&'a ParameterBlock>) {
        match self {
            ParameterValue::Block(block) => block.all(kind, found),
            ParameterValue::List(values) => values.iter().for_each(|value| value.all(kind, found)),
            ParameterValue::Number(..) | ParameterValue::Word(_) => {}
        }
    }
}

/// Returns the text of a sourced file, by its path relative to the first file.
pub type SourceLoader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// The parameter files.
#[derive(Clone, Copy)]
pub struct SourceFiles<'a> {
    /// The name of the first file, for messages.
    pub first: &'a str,
    /// Loads the others.
    pub load: &'a SourceLoader<'a>,
}

impl SourceFiles<'_> {
    /// The path and text of a file that `from` names.
    pub fn beside(&self, from: &str, name: &str) -> Result<(String, String), String> {
        let folder = if from == self.first { None } else { from.rsplit_once('/').map(|(folder, _)| folder) };
        let near = folder.map(|folder| format!("{folder}/{name}"));
        let near = near.and_then(|path| (self.load)(&path).ok().map(|text| (path, text)));
        near.map_or_else(|| (self.load)(name).map(|text| (name.to_owned(), text)), Ok)
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
pub fn read(text: &str, files: SourceFiles<'_>) -> Result<DisksimSetup, Diagnostic> {
    let mut setup = DisksimSetup::default();
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Parser { file: files.first, tokens: tokens(text), next: 0, files, depth: 0 }.items(&mut setup)?;
    Ok(setup)
}

impl DisksimSetup {
    /// Adds a block, which inherits from the block whose name is its kind.
    fn add(&mut self, mut block: ParameterBlock) {
        if let Some(first) = self.blocks.iter().find(|other| !block.name.is_empty() && other.name == block.name) {
            let message = format!("defined again; using the one at {}:{}", first.at.file, first.at.line);
            self.warnings.push(block.at.says(message).key(short(&block.name)));
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

fn tokens(text: &str) -> Vec<(Token<'_>, usize)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("");
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '{' | '}' | '[' | ']' | '=' | ',' => {
                    found.push((Token::Mark(first), index + 1));
                    1
                }
                _ => {
                    let stops = |c: char| c.is_whitespace() || "{}[]=,".contains(c);
                    let end = rest.find(stops).unwrap_or(rest.len());
                    found.push((Token::Word(&rest[..end]), index + 1));
                    end
                }
            };
            rest = rest[end..].trim_start();
        }
    }
    found
}

struct Parser<'a> {
    file: &'a str,
    tokens: Vec<(Token<'a>, usize)>,
    next: usize,
    files: SourceFiles<'a>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn at(&self) -> SourcePosition {
        let last = self.tokens.last().map_or(1, |token| token.1);
        SourcePosition { file: self.file.to_owned(), line: self.tokens.get(self.next).map_or(last, |token| token.1) }
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.next).map(|token| token.0)
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek();
        self.next += usize::from(token.is_some());
        token
    }

    fn mark(&mut self, mark: char, after: &str) -> Result<(), Diagnostic> {
        let at = self.at();
        match self.take() {
            Some(Token::Mark(found)) if found == mark => Ok(()),
            None => Err(at.says(format!("the file ends inside {after}")).expected(format!("`{mark}`"))),
            Some(Token::Mark(found)) => Err(at.says(format!("`{found}` after {after}")).expected(format!("`{mark}`"))),
            Some(Token::Word(found)) => {
                Err(at.says(format!("`{}` after {after}", short(found))).expected(format!("`{mark}`")))
            }
        }
    }

    /// The words up to the next mark.
    fn words(&mut self) -> Vec<&'a str> {
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.peek() {
            words.push(word);
            self.next += 1;
        }
        words
    }

    fn items(&mut self, setup: &mut DisksimSetup) -> Result<(), Diagnostic> {
        while self.peek().is_some() {
            let at = self.at();
            match self.take() {
                Some(Token::Word("source")) => self.sourced(&at, setup)?,
                Some(Token::Word("instantiate")) => {
                    self.skip_brackets("`instantiate`")?;
                    setup.instantiated.push(self.instance(&at)?);
                }
                Some(Token::Word("topology")) => {
                    self.words();
                    self.skip_brackets("`topology`")?;
                }
                Some(Token::Word(kind)) => {
                    let name = self.words().join(" ");
                    if !matches!(self.peek(), Some(Token::Mark('{')) | None) {
                        let message = format!("`{}` does not start a block of DiskSim parameters", short(kind));
                        let forms = "`KIND NAME { … }`, `source FILE`, `instantiate` or `topology`";
                        return Err(at.says(message).expected(forms));
                    }
                    setup.add(self.block(kind, name, at)?);
                }
                Some(Token::Mark(',')) => {}
                Some(Token::Mark(mark)) => {
                    return Err(at.says(format!("`{mark}` without an opening bracket")).expected("a block"));
                }
                None => break,
            }
        }
        Ok(())
    }

    /// Reads `as NAME` after `instantiate [ … ]`.
    fn instance(&mut self, at: &SourcePosition) -> Result<String, Diagnostic> {
        match (self.take(), self.take()) {
            (Some(Token::Word("as")), Some(Token::Word(name))) => Ok(name.to_owned()),
            _ => Err(at
                .says("it does not say what to instantiate")
                .key("instantiate")
                .expected("`instantiate [ a, b ] as NAME`")),
        }
    }

    /// Reads the file that the next word names.
    fn sourced(&mut self, at: &SourcePosition, setup: &mut DisksimSetup) -> Result<(), Diagnostic> {
        let Some(Token::Word(name)) = self.take() else {
            return Err(at.says("`source` without a file").expected("a file's name"));
        };
        if self.depth >= DEEPEST {
            return Err(at.says(format!("files are sourced more than {DEEPEST} deep")).key(name));
        }
        let found = self.files.beside(self.file, name);
        let (file, text) = found.map_err(|error| at.says(format!("cannot be read: {error}")).key(name))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let tokens = tokens(text);
        Parser { file: &file, tokens, next: 0, files: self.files, depth: self.depth + 1 }.items(setup)
    }

    fn skip_brackets(&mut self, what: &str) -> Result<(), Diagnostic> {
        self.mark('[', what)?;
        let mut open = 1;
        while open > 0 {
            let at = self.at();
            match self.take() {
                Some(Token::Mark('[')) => open += 1,
                Some(Token::Mark(']')) => open -= 1,
                Some(_) => {}
                None => return Err(at.says(format!("the file ends inside {what}")).expected("`]`")),
            }
        }
        Ok(())
    }

    fn block(&mut self, kind: &str, name: String, at: SourcePosition) -> Result<ParameterBlock, Diagnostic> {
        let what = format!("`{}`", short(if name.is_empty() { kind } else { &name }));
        self.mark('{', &what)?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(at.says(format!("blocks are nested more than {DEEPEST} deep")));
        }
        let mut entries = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Mark('}')) => break,
                Some(Token::Mark(',')) => self.next += 1,
                Some(Token::Word(_)) => entries.push(self.entry()?),
                Some(Token::Mark(mark)) => {
                    return Err(self.at().says(format!("`{mark}` in {what}")).expected("a key, or `}`"));
                }
                None => return Err(self.at().says(format!("the file ends inside {what}")).expected("`}`")),
            }
        }
        self.next += 1;
        self.depth -= 1;
        Ok(ParameterBlock { kind: kind.to_owned(), name, entries, at })
    }

    fn entry(&mut self) -> Result<ParameterEntry, Diagnostic> {
        let at = self.at();
        let key = self.words().join(" ");
        self.mark('=', &format!("`{}`", short(&key)))?;
        let value = self.value(&key)?;
        Ok(ParameterEntry { key, value, at })
    }

    fn value(&mut self, key: &str) -> Result<ParameterValue, Diagnostic> {
        let at = self.at();
        if self.peek() == Some(Token::Mark('[')) {
            self.next += 1;
            return self.list(key);
        }
        if self.peek() == Some(Token::Word("source")) {
            self.next += 1;
            let mut inner = DisksimSetup::default();
            self.sourced(&at, &mut inner)?;
            return match inner.blocks.pop() {
                Some(block) if inner.blocks.is_empty() => Ok(ParameterValue::Block(block)),
                _ => Err(at.says("the sourced file does not hold exactly one block").key(key)),
            };
        }
        let words = self.words();
        match self.peek() {
            Some(Token::Mark('{')) => {
                let Some((kind, name)) = words.split_first() else {
                    return Err(at.says("a block without a kind").key(key));
                };
                Ok(ParameterValue::Block(self.block(kind, name.join(" "), at)?))
            }
            Some(Token::Mark('=')) => {
                let message = format!("`{}` runs into the next key", short(&words.join(" ")));
                Err(at.says(message).key(key).expected("a comma between them"))
            }
            _ if words.is_empty() => Err(at.says("the key has no value").key(key)),
            _ => Ok(scalar(&words.join(" "))),
        }
    }

    fn list(&mut self, key: &str) -> Result<ParameterValue, Diagnostic> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.at().says(format!("lists are nested more than {DEEPEST} deep")).key(key));
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Mark(']')) => break,
                Some(Token::Mark(',')) => self.next += 1,
                Some(Token::Mark('}' | '=')) => {
                    return Err(self.at().says("a list that is not closed").key(key).expected("`]`"));
                }
                None => return Err(self.at().says("the file ends inside a list").key(key).expected("`]`")),
                Some(_) => values.push(self.value(key)?),
            }
        }
        self.next += 1;
        self.depth -= 1;
        Ok(ParameterValue::List(values))
    }
}

fn scalar(text: &str) -> ParameterValue {
    match text.parse::<f64>().ok().or_else(|| hexadecimal(text)) {
        Some(number) if number.is_finite() => ParameterValue::Number(number, text.to_owned()),
        _ => ParameterValue::Word(text.to_owned()),
    }
}

/// `0x1F`, with an optional sign.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    u32::from_str_radix(digits, 16).ok().map(|number| sign * f64::from(number))
}

/// The first 40 characters of a text.
pub(super) fn short(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}

/// Describes a value in a few words.
pub(super) fn shown(value: &ParameterValue) -> String {
    match value {
        ParameterValue::Number(_, text) => short(text).to_owned(),
        ParameterValue::Word(word) => format!("`{}`", short(word)),
        ParameterValue::List(values) => format!("a list of {}", values.len()),
        ParameterValue::Block(block) => format!("a block `{}`", short(&block.kind)),
    }
}
