//! An expression as a tree.

use std::fmt;

/// An expression with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As written.
    pub text: String,
    /// Its position in the file, in bytes; 0 if it is not from a file.
    pub start: usize,
    /// The part before `for each`.
    pub body: Part,
    /// The axes of `for each`.
    pub each: Vec<Axis>,
}

/// A node with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub node: Box<Node>,
    pub text: String,
}

/// A factor to iterate over.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The factor's name.
    pub factor: String,
    /// Its levels, if not all.
    pub levels: Option<Vec<String>>,
    /// Whether to use the logarithm of its levels.
    pub log2: bool,
}

/// The kinds of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Number(f64),
    /// A level, or a setting that is not a number.
    Word(String),
    /// A figure of a run, by its full key.
    Quantity(String),
    /// A setting of the stack, by its dotted key.
    Setting(String),
    /// Restricted to cells with these factors and levels.
    At(Part, Vec<(String, String)>),
    Negative(Part),
    /// Arithmetic with two numbers.
    Arithmetic(Part, Operator, Part),
    /// A function of numbers.
    Function(Function, Vec<Part>),
    /// A reduction over many cells to a number or a condition.
    Over(Reduction, Part, Vec<Axis>),
    /// A chain of comparisons.
    Compare(Part, Vec<(Order, Part)>),
    /// A range including its ends, with its text.
    Within(Part, Part, Part, String),
    /// A list of values, with its text.
    Among(Part, Vec<Part>, String),
    /// Both conditions.
    And(Part, Part),
    /// One condition at least.
    Or(Part, Part),
    /// Not the condition.
    Not(Part),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Order {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

impl Order {
    /// As it is written.
    pub const fn sign(self) -> &'static str {
        match self {
            Order::Below => "<",
            Order::AtMost => "<=",
            Order::Above => ">",
            Order::AtLeast => ">=",
            Order::Equal => "==",
            Order::Unequal => "!=",
        }
    }
}

/// A function, evaluated run by run; `Low`, `High` and `Deviation` are over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Function {
    Abs,
    Log2,
    Low,
    High,
    Deviation,
    Max,
    Min,
}

/// A reduction over cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Reduction {
    Max,
    Min,
    Mean,
    Geomean,
    Sum,
    Spread,
    ArgMax,
    ArgMin,
    Rising,
    Falling,
    Slope,
    Share,
}

/// An error in an expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Its position in bytes.
    pub at: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub expected: Option<String>,
    /// The nearest known word.
    pub nearest: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)?;
        if let Some(expected) = &self.expected {
            write!(f, "; expected {expected}")?;
        }
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean `{nearest}`?")?;
        }
        Ok(())
    }
}

impl Node {
    /// Whether it is a condition, not a number.
    pub fn is_condition(&self) -> bool {
        match self {
            Node::At(inner, _) => inner.node.is_condition(),
            Node::Over(reduction, ..) => matches!(reduction, Reduction::Rising | Reduction::Falling),
            Node::Compare(..) | Node::Within(..) | Node::Among(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => {
                true
            }
            _ => false,
        }
    }

    /// Its parts.
    pub fn parts(&self) -> Vec<&Part> {
        match self {
            Node::Number(_) | Node::Word(_) | Node::Quantity(_) | Node::Setting(_) => Vec::new(),
            Node::At(inner, _) | Node::Negative(inner) | Node::Over(_, inner, _) | Node::Not(inner) => vec![inner],
            Node::Arithmetic(a, _, b) | Node::And(a, b) | Node::Or(a, b) => vec![a, b],
            Node::Function(_, arguments) => arguments.iter().collect(),
            Node::Compare(first, rest) => std::iter::once(first).chain(rest.iter().map(|(_, part)| part)).collect(),
            Node::Within(value, low, high, _) => vec![value, low, high],
            Node::Among(value, list, _) => std::iter::once(value).chain(list).collect(),
        }
    }
}

impl Part {
    /// The figures of runs that it names.
    pub fn named(&self) -> Vec<&str> {
        match &*self.node {
            Node::Quantity(name) => vec![name],
            node => node.parts().into_iter().flat_map(Part::named).collect(),
        }
    }
}
