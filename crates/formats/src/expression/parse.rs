//! Parses text to a tree: words, then recursive descent. Errors have their place; nothing is evaluated.

use super::names::resolve;
use super::tree::{
    Expression, ExpressionError, ExpressionNode, FactorAxis, Function, Operator, Reduction, Relation, Subexpression,
};
use crate::spelling::nearest;

/// The deepest nesting of brackets, so that no text can overflow the stack.
const DEEPEST: usize = 40;

/// The most words of an expression, for the same reason: a sum of many terms is as deep as it is long.
const LONGEST: usize = 400;

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

#[derive(Clone, Debug, PartialEq)]
enum Word {
    /// A number, and as written: a level is its text.
    Number(f64, String),
    Name(String),
    Quoted(String),
    Sign(&'static str),
    End,
}

/// Reads an expression.
pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
    let words = words(text)?;
    let mut parser = Parser { text, words, next: 0, depth: 0 };
    let body = parser.either()?;
    let mut each = Vec::new();
    if parser.takes_name("for") {
        if !parser.takes_name("each") {
            return Err(parser.unexpected("`each` after `for`"));
        }
        each = parser.axes()?;
    }
    match parser.word() {
        Word::End => Ok(Expression { text: text.trim().to_owned(), start: 0, body, each }),
        _ => Err(parser.unexpected("an operator, a comparison, `for each` or the end")),
    }
}

fn words(text: &str) -> Result<Vec<(usize, Word)>, ExpressionError> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (length, word) = if first.is_ascii_digit() {
            number(rest, at)?
        } else if first.is_ascii_alphabetic() {
            let name = name(rest);
            (name.len(), Word::Name(name.to_owned()))
        } else if first == '"' || first == '\'' {
            quoted(rest, first, at)?
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let unknown = || fault(at, format!("unexpected `{first}`"));
            sign.map(|sign| (sign.len(), Word::Sign(sign))).ok_or_else(unknown)?
        };
        words.push((at, word));
        at += length;
        if words.len() > LONGEST {
            return Err(fault(at, format!("more than {LONGEST} words")));
        }
    }
    words.push((text.len(), Word::End));
    Ok(words)
}

fn fault(at: usize, message: impl Into<String>) -> ExpressionError {
    ExpressionError { at, message: message.into(), ..ExpressionError::default() }
}

/// Digits, with a point or an exponent only if digits follow: `1..2` is a range.
fn number(rest: &str, at: usize) -> Result<(usize, Word), ExpressionError> {
    let bytes = rest.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let digits = |from: usize| (from..).find(|&index| !digit(index)).unwrap_or(bytes.len());
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') && digit(end + 1) {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        if digit(end + 1 + sign) {
            end = digits(end + 1 + sign);
        }
    }
    let text = &rest[..end];
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((end, Word::Number(value, text.to_owned()))),
        _ => Err(fault(at, format!("`{text}` is not a number"))),
    }
}

/// Letters, digits, underscores, and points inside. A dash is a minus; a level with a dash must be quoted.
fn name(rest: &str) -> &str {
    let bytes = rest.as_bytes();
    let inside = |index: usize| {
        let next = bytes.get(index + 1).is_some_and(u8::is_ascii_alphanumeric);
        bytes[index].is_ascii_alphanumeric() || bytes[index] == b'_' || (bytes[index] == b'.' && next)
    };
    let end = (0..bytes.len()).find(|&index| !inside(index)).unwrap_or(bytes.len());
    &rest[..end]
}

fn quoted(rest: &str, mark: char, at: usize) -> Result<(usize, Word), ExpressionError> {
    match rest[1..].find(mark) {
        Some(length) => Ok((length + 2, Word::Quoted(rest[1..=length].to_owned()))),
        None => Err(fault(at, format!("the text that starts with {mark} is not closed"))),
    }
}

struct Parser<'a> {
    text: &'a str,
    words: Vec<(usize, Word)>,
    next: usize,
    depth: usize,
}

impl Parser<'_> {
    fn word(&self) -> &Word {
        &self.words[self.next].1
    }

    fn at(&self) -> usize {
        self.words[self.next].0
    }

    /// Advances, except at the end.
    fn advance(&mut self) -> Word {
        let word = self.word().clone();
        self.next = (self.next + 1).min(self.words.len() - 1);
        word
    }

    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.word(), Word::Sign(here) if *here == sign);
        if found {
            self.advance();
        }
        found
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let found = matches!(self.word(), Word::Name(here) if here == name);
        if found {
            self.advance();
        }
        found
    }

    fn must(&mut self, sign: &str) -> Result<(), ExpressionError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, expected: &str) -> ExpressionError {
        let found = match self.word() {
            Word::Number(_, text) | Word::Name(text) => format!("unexpected `{text}`"),
            Word::Quoted(text) => format!("unexpected text `{text}`"),
            Word::Sign(sign) => format!("unexpected `{sign}`"),
            Word::End => "unexpected end of the expression".to_owned(),
        };
        ExpressionError { expected: Some(expected.to_owned()), ..fault(self.at(), found) }
    }

    /// A node with its text, from byte `start` to the current position.
    fn part(&self, start: usize, node: ExpressionNode) -> Subexpression {
        Subexpression { node: Box::new(node), text: self.since(start) }
    }

    fn since(&self, start: usize) -> String {
        self.text.get(start..self.at()).unwrap_or("").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn either(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let mut left = self.both()?;
        while self.takes_name("or") {
            let right = self.both()?;
            left = self.part(start, ExpressionNode::Or(left, right));
        }
        Ok(left)
    }

    fn both(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let mut left = self.negated()?;
        while self.takes_name("and") {
            let right = self.negated()?;
            left = self.part(start, ExpressionNode::And(left, right));
        }
        Ok(left)
    }

    fn negated(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        if self.takes_name("not") {
            let inner = self.comparison()?;
            return Ok(self.part(start, ExpressionNode::Not(inner)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let first = self.sum()?;
        if self.takes_name("in") {
            return self.within(start, first);
        }
        let mut rest = Vec::new();
        while let Word::Sign(sign) = *self.word() {
            let Some(&(_, order)) = ORDERS.iter().find(|(text, _)| *text == sign) else { break };
            self.advance();
            rest.push((order, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(self.part(start, ExpressionNode::Compare(first, rest)))
    }

    /// Parses the right side of `in`: a list, a range, or a value with a tolerance.
    fn within(&mut self, start: usize, value: Subexpression) -> Result<Subexpression, ExpressionError> {
        let wanted = self.at();
        if self.takes("(") {
            let mut list = vec![self.level_value()?];
            while self.takes(",") {
                list.push(self.level_value()?);
            }
            self.must(")")?;
            let words = self.since(wanted);
            return Ok(self.part(start, ExpressionNode::Among(value, list, words)));
        }
        let low = self.sum()?;
        let (low, high) = if self.takes("..") {
            (low, self.sum()?)
        } else if self.takes("±") {
            self.around(wanted, low)?
        } else {
            return Err(self.unexpected("`..` or `±`, as in 1..2 or 6 ± 3 %"));
        };
        let words = self.since(wanted);
        Ok(self.part(start, ExpressionNode::Within(value, low, high, words)))
    }

    /// The two ends of `middle ± width` or `middle ± width %`.
    fn around(
        &mut self,
        start: usize,
        middle: Subexpression,
    ) -> Result<(Subexpression, Subexpression), ExpressionError> {
        let Word::Number(width, _) = *self.word() else { return Err(self.unexpected("a number after `±`")) };
        self.advance();
        let share = self.takes("%");
        let number =
            |value: f64| Subexpression { node: Box::new(ExpressionNode::Number(value)), text: value.to_string() };
        let end = |sign: f64| match share {
            true => ExpressionNode::Arithmetic(middle.clone(), Operator::Times, number(1.0 + sign * width / 100.0)),
            false => ExpressionNode::Arithmetic(middle.clone(), Operator::Plus, number(sign * width)),
        };
        Ok((self.part(start, end(-1.0)), self.part(start, end(1.0))))
    }

    /// A level as a value: a number or a word.
    fn level_value(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let node = match self.advance() {
            Word::Number(value, _) => ExpressionNode::Number(value),
            Word::Name(word) | Word::Quoted(word) => ExpressionNode::Word(word),
            _ => {
                self.next = self.next.saturating_sub(1);
                return Err(self.unexpected("a number or a level"));
            }
        };
        Ok(self.part(start, node))
    }

    fn sum(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let mut left = self.product()?;
        loop {
            let operator = if self.takes("+") {
                Operator::Plus
            } else if self.takes("-") {
                Operator::Minus
            } else {
                return Ok(left);
            };
            let right = self.product()?;
            left = self.part(start, ExpressionNode::Arithmetic(left, operator, right));
        }
    }

    fn product(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let mut left = self.signed()?;
        loop {
            let operator = if self.takes("*") {
                Operator::Times
            } else if self.takes("/") {
                Operator::Over
            } else {
                return Ok(left);
            };
            let right = self.signed()?;
            left = self.part(start, ExpressionNode::Arithmetic(left, operator, right));
        }
    }

    fn signed(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(fault(start, format!("brackets nested more than {DEEPEST} deep")));
        }
        let part = if self.takes("-") {
            let inner = self.signed()?;
            self.part(start, ExpressionNode::Negative(inner))
        } else {
            self.selected()?
        };
        self.depth -= 1;
        Ok(part)
    }

    /// Parses a value and its cells.
    fn selected(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        let mut part = self.primary()?;
        while self.takes("[") {
            let mut cell = Vec::new();
            loop {
                let factor = match self.advance() {
                    Word::Name(name) | Word::Quoted(name) => name,
                    _ => {
                        self.next = self.next.saturating_sub(1);
                        return Err(self.unexpected("a factor, as in [depth=8]"));
                    }
                };
                self.must("=")?;
                cell.push((factor, self.level()?));
                if !self.takes(",") {
                    break;
                }
            }
            self.must("]")?;
            part = self.part(start, ExpressionNode::At(part, cell));
        }
        Ok(part)
    }

    /// A level by its text.
    fn level(&mut self) -> Result<String, ExpressionError> {
        let minus = if self.takes("-") { "-" } else { "" };
        match self.word().clone() {
            Word::Number(_, text) => {
                self.advance();
                Ok(format!("{minus}{text}"))
            }
            Word::Name(text) | Word::Quoted(text) if minus.is_empty() => {
                self.advance();
                Ok(text)
            }
            _ => Err(self.unexpected("a level, as in [depth=8] or [setup=\"queue on\"]")),
        }
    }

    fn primary(&mut self) -> Result<Subexpression, ExpressionError> {
        let start = self.at();
        match self.word().clone() {
            Word::Number(value, _) => {
                self.advance();
                let value = if self.takes("%") { value / 100.0 } else { value };
                Ok(self.part(start, ExpressionNode::Number(value)))
            }
            Word::Quoted(text) => {
                self.advance();
                Ok(self.part(start, ExpressionNode::Word(text)))
            }
            Word::Name(name) => {
                self.advance();
                if self.takes("(") { self.call(start, &name) } else { self.quantity(start, &name) }
            }
            Word::Sign("(") => {
                self.advance();
                let inner = self.either()?;
                self.must(")")?;
                Ok(Subexpression { text: self.since(start), ..inner })
            }
            _ => Err(self.unexpected("a figure, a number or a bracket")),
        }
    }

    fn quantity(&mut self, start: usize, name: &str) -> Result<Subexpression, ExpressionError> {
        let node = resolve(name).map_err(|fault| ExpressionError { at: start, ..fault })?;
        Ok(self.part(start, node))
    }

    fn call(&mut self, start: usize, name: &str) -> Result<Subexpression, ExpressionError> {
        let reduction = REDUCTIONS.iter().find(|(text, _)| *text == name).map(|&(_, reduction)| reduction);
        let function = FUNCTIONS.iter().find(|(text, _)| *text == name).map(|&(_, function)| function);
        if reduction.is_none() && function.is_none() {
            let known = FUNCTIONS.iter().map(|(text, _)| *text).chain(REDUCTIONS.iter().map(|(text, _)| *text));
            let near = nearest(name, known).map(str::to_owned);
            return Err(ExpressionError { nearest: near, ..fault(start, format!("unknown function `{name}`")) });
        }
        let mut arguments = vec![self.either()?];
        if self.takes_name("over") {
            let Some(reduction) = reduction else {
                return Err(fault(start, format!("`{name}` does not range over levels")));
            };
            let axes = self.axes()?;
            self.must(")")?;
            return Ok(self.part(start, ExpressionNode::Over(reduction, arguments.remove(0), axes)));
        }
        while self.takes(",") {
            arguments.push(self.either()?);
        }
        let Some(function) = function else {
            return Err(self.unexpected(&format!("`over` and a factor, as in {name}(iops over depth)")));
        };
        self.must(")")?;
        let many = matches!(function, Function::Max | Function::Min);
        if many == (arguments.len() == 1) {
            let expected = if many { "at least two values, or `over` and a factor" } else { "one value" };
            return Err(ExpressionError {
                expected: Some(expected.into()),
                ..fault(start, format!("`{name}` of {}", arguments.len()))
            });
        }
        Ok(self.part(start, ExpressionNode::Function(function, arguments)))
    }

    /// Factors, each with its levels or all of them.
    fn axes(&mut self) -> Result<Vec<FactorAxis>, ExpressionError> {
        let mut axes = vec![self.axis()?];
        while self.takes(",") {
            axes.push(self.axis()?);
        }
        Ok(axes)
    }

    fn axis(&mut self) -> Result<FactorAxis, ExpressionError> {
        let (Word::Name(first) | Word::Quoted(first)) = self.word().clone() else {
            return Err(self.unexpected("a factor"));
        };
        self.advance();
        let log2 = first == "log2" && self.takes("(");
        let mut factor = first;
        if log2 {
            let (Word::Name(inner) | Word::Quoted(inner)) = self.word().clone() else {
                return Err(self.unexpected("a factor"));
            };
            self.advance();
            self.must(")")?;
            factor = inner;
        }
        let mut levels = None;
        if self.takes_name("in") {
            self.must("(")?;
            let mut list = vec![self.level()?];
            while self.takes(",") {
                list.push(self.level()?);
            }
            self.must(")")?;
            levels = Some(list);
        }
        Ok(FactorAxis { factor, levels, log2 })
    }
}
