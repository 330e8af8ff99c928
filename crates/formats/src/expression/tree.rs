//! An expression as a tree.

use std::fmt;

/// An expression as written, and what it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As written.
    pub text: String,
    /// Where it stands in its file, in bytes; 0 when it comes from none.
    pub start: usize,
    /// The part before `for each`.
    pub body: Part,
    /// What is said of each.
    pub each: Vec<Axis>,
}

/// A node, and its own words.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it says.
    pub node: Box<Node>,
    /// How it is written.
    pub text: String,
}

/// A factor to go through.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The factor's name.
    pub factor: String,
    /// Its levels, where not all are meant.
    pub levels: Option<Vec<String>>,
    /// Its levels count by their logarithm.
    pub log2: bool,
}

/// What an expression says.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Number(f64),
    /// A level, or a setting that is no number.
    Word(String),
    /// A figure of a run, by its whole key.
    Quantity(String),
    /// A setting of the stack, by its dotted key.
    Setting(String),
    /// In these cells: factors and levels.
    At(Part, Vec<(String, String)>),
    /// Less than nothing.
    Negative(Part),
    /// Two numbers to one.
    Arithmetic(Part, Operator, Part),
    /// Some numbers to one.
    Function(Function, Vec<Part>),
    /// Many cells to one figure, or to a condition.
    Over(Reduction, Part, Vec<Axis>),
    /// A chain of comparisons.
    Compare(Part, Vec<(Order, Part)>),
    /// A range, ends included; its own words.
    Within(Part, Part, Part, String),
    /// One of several values; their own words.
    Among(Part, Vec<Part>, String),
    /// Both conditions.
    And(Part, Part),
    /// One condition at least.
    Or(Part, Part),
    /// Not the condition.
    Not(Part),
}

/// What two numbers come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "their names say it")]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// How two values stand.
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

/// What some numbers come to, run by run; `Low`, `High` and `Deviation` over the runs.
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

/// What many cells come to.
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

/// What is wrong with an expression, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// In bytes from its beginning.
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
    /// Whether it holds or does not, rather than being so much.
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

    /// What it is made of.
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
