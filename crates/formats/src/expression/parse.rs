//! Parses the text of an expression to a tree: splits it into words, then parses them by recursive descent. Errors have their
//! position; nothing is evaluated.

use seekwise_drives::spelling::nearest;

use super::names::resolve_name;
use super::tree::{
    Expression, ExpressionError, ExpressionNode, FactorAxis, Function, Operator, Reduction, Relation, Subexpression,
};

/// The deepest nesting of brackets, so that no text can overflow the stack.
const DEEPEST_NESTING: usize = 40;

/// The most words of an expression, for the same reason: a sum of many terms is a deep tree.
const MOST_WORDS: usize = 400;

const FUNCTIONS: [(&str, Function); 7] = [
    ("abs", Function::Abs),
    ("log2", Function::Log2),
    ("low", Function::Low),
    ("high", Function::High),
    ("deviation", Function::Deviation),
    ("max", Function::Max),
    ("min", Function::Min),
];

const REDUCTIONS: [(&str, Reduction); 12] = [
    ("max", Reduction::Max),
    ("min", Reduction::Min),
    ("mean", Reduction::Mean),
    ("geomean", Reduction::Geomean),
    ("sum", Reduction::Sum),
    ("spread", Reduction::Spread),
    ("argmax", Reduction::ArgMax),
    ("argmin", Reduction::ArgMin),
    ("rising", Reduction::Rising),
    ("falling", Reduction::Falling),
    ("slope", Reduction::Slope),
    ("share", Reduction::Share),
];

const ORDERS: [(&str, Relation); 6] = [
    ("<", Relation::Below),
    ("<=", Relation::AtMost),
    (">", Relation::Above),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
];

/// Signs, longer ones first.
const SIGNS: [&str; 19] =
    ["<=", ">=", "==", "!=", "..", "<", ">", "=", "+", "-", "*", "/", "(", ")", "[", "]", ",", "±", "%"];

/// A word of an expression.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A number and its text; the text may name a level.
    Number(f64, String),
    Name(String),
    Quoted(String),
    Sign(&'static str),
    End,
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
    let words = split_words(text)?;
    let mut parser = ExpressionParser { text, words, current: 0, depth: 0 };
    let body = parser.parse_or()?;
    let mut each = Vec::new();
    if parser.accept_name("for") {
        if !parser.accept_name("each") {
            return Err(parser.unexpected_word("`each` after `for`"));
        }
        each = parser.parse_axes()?;
    }
    match parser.current_word() {
        Word::End => Ok(Expression { text: text.trim().to_owned(), start: 0, body, each }),
        _ => Err(parser.unexpected_word("an operator, a comparison, `for each` or the end")),
    }
}

/// A scanned word with its length in bytes.
type ScannedWord = (usize, Word);

/// The words of a text, each with its position in bytes.
fn split_words(text: &str) -> Result<Vec<(usize, Word)>, ExpressionError> {
    let mut words = Vec::new();
    let mut position = 0;
    while let Some(first) = text[position..].chars().next() {
        let rest = &text[position..];
        if first.is_whitespace() {
            position += first.len_utf8();
            continue;
        }
        let (length, word) = if first.is_ascii_digit() {
            scan_number(rest, position)?
        } else if first.is_ascii_alphabetic() {
            let name = scan_name(rest);
            (name.len(), Word::Name(name.to_owned()))
        } else if first == '"' || first == '\'' {
            scan_quoted(rest, first, position)?
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let unknown = || error_at(position, format!("unexpected `{first}`"));
            sign.map(|sign| (sign.len(), Word::Sign(sign))).ok_or_else(unknown)?
        };
        words.push((position, word));
        position += length;
        if words.len() > MOST_WORDS {
            return Err(error_at(position, format!("more than {MOST_WORDS} words")));
        }
    }
    words.push((text.len(), Word::End));
    Ok(words)
}

fn error_at(position: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError { at: position, message: message.into(), ..ExpressionError::default() }
}

/// Scans digits, with a point or an exponent only if digits follow: `1..2` is a range.
fn scan_number(rest: &str, position: usize) -> Result<ScannedWord, ExpressionError> {
    let bytes = rest.as_bytes();
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let end_of_digits = |start: usize| (start..).find(|&index| !is_digit(index)).unwrap_or(bytes.len());
    let mut end = end_of_digits(0);
    if bytes.get(end) == Some(&b'.') && is_digit(end + 1) {
        end = end_of_digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if is_digit(end + 1 + sign) {
            end = end_of_digits(end + 1 + sign);
        }
    }
    let text = &rest[..end];
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((end, Word::Number(value, text.to_owned()))),
        _ => Err(error_at(position, format!("`{text}` is not a number"))),
    }
}

/// Scans letters, digits, underscores, and points inside a name. A dash is a minus; a level with a dash must be quoted.
fn scan_name(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let is_in_name = |index: usize| {
        let continues = bytes.get(index + 1).is_some_and(u8::is_ascii_alphanumeric);
        bytes[index].is_ascii_alphanumeric() || bytes[index] == b'_' || (bytes[index] == b'.' && continues)
    };
    let end = (0..bytes.len()).find(|&index| !is_in_name(index)).unwrap_or(bytes.len());
    &rest[..end]
}

fn scan_quoted(rest: &str, mark: char, position: usize) -> Result<ScannedWord, ExpressionError> {
    match rest[1..].find(mark) {
        Some(length) => Ok((length + 2, Word::Quoted(rest[1..=length].to_owned()))),
        None => Err(error_at(position, format!("the text that starts with {mark} is not closed"))),
    }
}

struct ExpressionParser<'a> {
    text: &'a str,
    /// Each word with its position in bytes.
    words: Vec<(usize, Word)>,
    /// The index of the current word.
    current: usize,
    /// The brackets and signs that are open.
    depth: usize,
}

impl ExpressionParser<'_> {
    fn current_word(&self) -> &Word {
        &self.words[self.current].1
    }

    /// The position of the current word, in bytes.
    fn position(&self) -> usize {
        self.words[self.current].0
    }

    /// Returns the current word and advances, except at the end.
    fn advance(&mut self) -> Word {
        let word = self.current_word().clone();
        self.current = (self.current + 1).min(self.words.len() - 1);
        word
    }

    /// Advances if the current word is this sign.
    fn accept_sign(&mut self, sign: &str) -> bool {
        let is_current = matches!(self.current_word(), Word::Sign(current) if *current == sign);
        if is_current {
            self.advance();
        }
        is_current
    }

    /// Advances if the current word is this name.
    fn accept_name(&mut self, name: &str) -> bool {
        let is_current = matches!(self.current_word(), Word::Name(current) if current == name);
        if is_current {
            self.advance();
        }
        is_current
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.accept_sign(sign) { Ok(()) } else { Err(self.unexpected_word(&format!("`{sign}`"))) }
    }

    fn unexpected_word(&self, expected: &str) -> ExpressionError {
        let found = match self.current_word() {
            Word::Number(_, text) | Word::Name(text) => format!("unexpected `{text}`"),
            Word::Quoted(text) => format!("unexpected text `{text}`"),
            Word::Sign(sign) => format!("unexpected `{sign}`"),
            Word::End => "unexpected end of the expression".to_owned(),
        };
        ExpressionError { expected: Some(expected.to_owned()), ..error_at(self.position(), found) }
    }

    /// A node with its text, from byte `start` to the current position.
    fn node_since(&self, start: usize, node: ExpressionNode) -> Subexpression {
        Subexpression { node: Box::new(node), text: self.text_since(start) }
    }

    fn text_since(&self, start: usize) -> String {
        self.text.get(start..self.position()).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn parse_or(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let mut left = self.parse_and()?;
        while self.accept_name("or") {
            let right = self.parse_and()?;
            left = self.node_since(start, ExpressionNode::Or(left, right));
        }
        Ok(left)
    }

    fn parse_and(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let mut left = self.parse_not()?;
        while self.accept_name("and") {
            let right = self.parse_not()?;
            left = self.node_since(start, ExpressionNode::And(left, right));
        }
        Ok(left)
    }

    fn parse_not(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        if self.accept_name("not") {
            let inner = self.parse_comparison()?;
            return Ok(self.node_since(start, ExpressionNode::Not(inner)));
        }
        self.parse_comparison()
    }

    fn parse_comparison(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let first = self.parse_sum()?;
        if self.accept_name("in") {
            return self.parse_membership(start, first);
        }
        let mut rest = Vec::new();
        while let Word::Sign(sign) = *self.current_word() {
            let Some(&(_, order)) = ORDERS.iter().find(|(text, _)| *text == sign) else { break };
            self.advance();
            rest.push((order, self.parse_sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.node_since(start, ExpressionNode::Compare(first, rest)))
    }

    /// Parses the right side of `in`: a list, a range, or a value with a tolerance.
    fn parse_membership(&mut self, start: usize, value: Subexpression) -> Result<Subexpression, ExpressionError> {
        let right_start = self.position();
        if self.accept_sign("(") {
            let mut list = vec![self.parse_number_or_word()?];
            while self.accept_sign(",") {
                list.push(self.parse_number_or_word()?);
            }
            self.expect_sign(")")?;
            let right_text = self.text_since(right_start);
            return Ok(self.node_since(start, ExpressionNode::Among(value, list, right_text)));
        }
        let low = self.parse_sum()?;
        let (low, high) = if self.accept_sign("..") {
            (low, self.parse_sum()?)
        } else if self.accept_sign("±") {
            self.parse_tolerance(right_start, low)?
        } else {
            return Err(self.unexpected_word("`..` or `±`, as in 1..2 or 6 ± 3 %"));
        };
        let right_text = self.text_since(right_start);
        Ok(self.node_since(start, ExpressionNode::Within(value, low, high, right_text)))
    }

    /// Parses the rest of `middle ± width` or `middle ± width %`, after the `±`; returns the two ends.
    fn parse_tolerance(
        &mut self,
        start: usize,
        middle: Subexpression,
    ) -> Result<(Subexpression, Subexpression), ExpressionError> {
        let Word::Number(width, _) = *self.current_word() else {
            return Err(self.unexpected_word("a number after `±`"));
        };
        self.advance();
        let is_percent = self.accept_sign("%");
        let number =
            |value: f64| Subexpression { node: Box::new(ExpressionNode::Number(value)), text: value.to_string() };
        let end = |sign: f64| match is_percent {
            true => ExpressionNode::Arithmetic(middle.clone(), Operator::Times, number(1.0 + sign * width / 100.0)),
            false => ExpressionNode::Arithmetic(middle.clone(), Operator::Plus, number(sign * width)),
        };
        Ok((self.node_since(start, end(-1.0)), self.node_since(start, end(1.0))))
    }

    /// Parses a member of the list after `in`: a number or a word.
    fn parse_number_or_word(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let node = match self.advance() {
            Word::Number(value, _) => ExpressionNode::Number(value),
            Word::Name(word) | Word::Quoted(word) => ExpressionNode::Word(word),
            _ => {
                self.current = self.current.saturating_sub(1);
                return Err(self.unexpected_word("a number or a level"));
            }
        };
        Ok(self.node_since(start, node))
    }

    fn parse_sum(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let mut left = self.parse_product()?;
        loop {
            let operator = if self.accept_sign("+") {
                Operator::Plus
            } else if self.accept_sign("-") {
                Operator::Minus
            } else {
                return Ok(left);
            };
            let right = self.parse_product()?;
            left = self.node_since(start, ExpressionNode::Arithmetic(left, operator, right));
        }
    }

    fn parse_product(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let mut left = self.parse_signed()?;
        loop {
            let operator = if self.accept_sign("*") {
                Operator::Times
            } else if self.accept_sign("/") {
                Operator::Over
            } else {
                return Ok(left);
            };
            let right = self.parse_signed()?;
            left = self.node_since(start, ExpressionNode::Arithmetic(left, operator, right));
        }
    }

    fn parse_signed(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        self.depth += 1;
        if self.depth > DEEPEST_NESTING {
            return Err(error_at(start, format!("brackets nested more than {DEEPEST_NESTING} deep")));
        }
        let part = if self.accept_sign("-") {
            let inner = self.parse_signed()?;
            self.node_since(start, ExpressionNode::Negative(inner))
        } else {
            self.parse_selection()?
        };
        self.depth -= 1;
        Ok(part)
    }

    /// Parses a value and the cells in brackets after it.
    fn parse_selection(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        let mut part = self.parse_primary()?;
        while self.accept_sign("[") {
            let mut cell = Vec::new();
            loop {
                let factor = match self.advance() {
                    Word::Name(name) | Word::Quoted(name) => name,
                    _ => {
                        self.current = self.current.saturating_sub(1);
                        return Err(self.unexpected_word("a factor, as in [depth=8]"));
                    }
                };
                self.expect_sign("=")?;
                cell.push((factor, self.parse_factor_level()?));
                if !self.accept_sign(",") {
                    break;
                }
            }
            self.expect_sign("]")?;
            part = self.node_since(start, ExpressionNode::At(part, cell));
        }
        Ok(part)
    }

    /// Parses a level of a factor, and returns its text.
    fn parse_factor_level(&mut self) -> Result<String, ExpressionError> {
        let minus = if self.accept_sign("-") { "-" } else { "" };
        match self.current_word().clone() {
            Word::Number(_, text) => {
                self.advance();
                Ok(format!("{minus}{text}"))
            }
            Word::Name(text) | Word::Quoted(text) if minus.is_empty() => {
                self.advance();
                Ok(text)
            }
            _ => Err(self.unexpected_word("a level, as in [depth=8] or [setup=\"queue on\"]")),
        }
    }

    fn parse_primary(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.position();
        match self.current_word().clone() {
            Word::Number(value, _) => {
                self.advance();
                let value = if self.accept_sign("%") { value / 100.0 } else { value };
                Ok(self.node_since(start, ExpressionNode::Number(value)))
            }
            Word::Quoted(text) => {
                self.advance();
                Ok(self.node_since(start, ExpressionNode::Word(text)))
            }
            Word::Name(name) => {
                self.advance();
                if self.accept_sign("(") { self.parse_call(start, &name) } else { self.parse_quantity(start, &name) }
            }
            Word::Sign("(") => {
                self.advance();
                let inner = self.parse_or()?;
                self.expect_sign(")")?;
                Ok(Subexpression { text: self.text_since(start), ..inner })
            }
            _ => Err(self.unexpected_word("a figure, a number or a bracket")),
        }
    }

    fn parse_quantity(&mut self, start: usize, name: &str) -> Result<Subexpression, ExpressionError> {
        let node = resolve_name(name).map_err(|fault| ExpressionError { at: start, ..fault })?;
        Ok(self.node_since(start, node))
    }

    fn parse_call(&mut self, start: usize, name: &str) -> Result<Subexpression, ExpressionError> {
        let reduction = REDUCTIONS.iter().find(|(text, _)| *text == name).map(|&(_, reduction)| reduction);
        let function = FUNCTIONS.iter().find(|(text, _)| *text == name).map(|&(_, function)| function);
        if reduction.is_none() && function.is_none() {
            let known = FUNCTIONS.iter().map(|(text, _)| *text).chain(REDUCTIONS.iter().map(|(text, _)| *text));
            let near = nearest(name, known).map(str::to_owned);
            return Err(ExpressionError { nearest: near, ..error_at(start, format!("unknown function `{name}`")) });
        }
        let mut arguments = vec![self.parse_or()?];
        if self.accept_name("over") {
            let Some(reduction) = reduction else {
                return Err(error_at(start, format!("`{name}` does not range over levels")));
            };
            let axes = self.parse_axes()?;
            self.expect_sign(")")?;
            return Ok(self.node_since(start, ExpressionNode::Over(reduction, arguments.remove(0), axes)));
        }
        while self.accept_sign(",") {
            arguments.push(self.parse_or()?);
        }
        let Some(function) = function else {
            return Err(self.unexpected_word(&format!("`over` and a factor, as in {name}(iops over depth)")));
        };
        self.expect_sign(")")?;
        let takes_several = matches!(function, Function::Max | Function::Min);
        if takes_several == (arguments.len() == 1) {
            let expected = if takes_several { "at least two values, or `over` and a factor" } else { "one value" };
            return Err(ExpressionError {
                expected: Some(expected.into()),
                ..error_at(start, format!("`{name}` of {}", arguments.len()))
            });
        }
        Ok(self.node_since(start, ExpressionNode::Function(function, arguments)))
    }

    /// Parses factors, each with listed levels or with all.
    fn parse_axes(&mut self) -> Result<Vec<FactorAxis>, ExpressionError> {
        let mut axes = vec![self.parse_axis()?];
        while self.accept_sign(",") {
            axes.push(self.parse_axis()?);
        }
        Ok(axes)
    }

    fn parse_axis(&mut self) -> Result<FactorAxis, ExpressionError> {
        let (Word::Name(first) | Word::Quoted(first)) = self.current_word().clone() else {
            return Err(self.unexpected_word("a factor"));
        };
        self.advance();
        let log2 = first == "log2" && self.accept_sign("(");
        let mut factor = first;
        if log2 {
            let (Word::Name(inner) | Word::Quoted(inner)) = self.current_word().clone() else {
                return Err(self.unexpected_word("a factor"));
            };
            self.advance();
            self.expect_sign(")")?;
            factor = inner;
        }
        let mut levels = None;
        if self.accept_name("in") {
            self.expect_sign("(")?;
            let mut list = vec![self.parse_factor_level()?];
            while self.accept_sign(",") {
                list.push(self.parse_factor_level()?);
            }
            self.expect_sign(")")?;
            levels = Some(list);
        }
        Ok(FactorAxis { factor, levels, log2 })
    }
}
