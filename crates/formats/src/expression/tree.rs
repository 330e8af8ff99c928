//! The types of a parsed expression: a tree in which each part has its text.

use std::fmt;

/// An expression with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// As written.
    pub text: String,
    /// The position in the file, in bytes; 0 if it is not from a file.
    pub start: usize,
    /// The part before `for each`.
    pub body: Subexpression,
    /// The axes of `for each`.
    pub each: Vec<FactorAxis>,
}

/// A node with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Subexpression {
    pub node: Box<ExpressionNode>,
    pub text: String,
}

/// A factor to iterate over.
#[derive(Clone, Debug, PartialEq)]
pub struct FactorAxis {
    /// The factor's name.
    pub factor: String,
    /// The levels, if not all.
    pub levels: Option<Vec<String>>,
    /// True if a slope is over the logarithms of the levels.
    pub log2: bool,
}

/// The kinds of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionNode {
    Number(f64),
    /// A level, or a setting that is not a number.
    Word(String),
    /// A figure of a run, by its full key.
    Quantity(String),
    /// A setting of the stack, by its dotted key.
    Setting(String),
    /// An expression restricted to cells with these factors and levels.
    At(Subexpression, Vec<(String, String)>),
    Negative(Subexpression),
    /// Arithmetic with two numbers.
    Arithmetic(Subexpression, Operator, Subexpression),
    /// A function of numbers.
    Function(Function, Vec<Subexpression>),
    /// A reduction over many cells to a number or a condition.
    Over(Reduction, Subexpression, Vec<FactorAxis>),
    /// A chain of comparisons.
    Compare(Subexpression, Vec<(Relation, Subexpression)>),
    /// A range including its ends, with its text.
    Within(Subexpression, Subexpression, Subexpression, String),
    /// A list of values, with its text.
    Among(Subexpression, Vec<Subexpression>, String),
    /// Both conditions.
    And(Subexpression, Subexpression),
    /// At least one condition.
    Or(Subexpression, Subexpression),
    /// Not the condition.
    Not(Subexpression),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Plus,
    Minus,
    Times,
    Over,
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
    Equal,
    Unequal,
}

impl Relation {
    /// The sign that stands for the relation.
    pub const fn sign(self) -> &'static str {
        match self {
            Relation::Below => "<",
            Relation::AtMost => "<=",
            Relation::Above => ">",
            Relation::AtLeast => ">=",
            Relation::Equal => "==",
            Relation::Unequal => "!=",
        }
    }
}

/// A function, evaluated run by run; `Low`, `High` and `Deviation` are over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
pub struct ExpressionError {
    /// The position in bytes.
    pub at: usize,
    /// The problem.
    pub message: String,
    /// The form that would be right.
    pub expected: Option<String>,
    /// The nearest known word.
    pub nearest: Option<String>,
}

impl fmt::Display for ExpressionError {
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

impl ExpressionNode {
    /// True for a condition, false for a number.
    pub fn is_condition(&self) -> bool {
        match self {
            ExpressionNode::At(inner, _) => inner.node.is_condition(),
            ExpressionNode::Over(reduction, ..) => matches!(reduction, Reduction::Rising | Reduction::Falling),
            ExpressionNode::Compare(..)
            | ExpressionNode::Within(..)
            | ExpressionNode::Among(..)
            | ExpressionNode::And(..)
            | ExpressionNode::Or(..)
            | ExpressionNode::Not(_) => true,
            _ => false,
        }
    }

    /// The direct subexpressions.
    pub fn parts(&self) -> Vec<&Subexpression> {
        match self {
            ExpressionNode::Number(_)
            | ExpressionNode::Word(_)
            | ExpressionNode::Quantity(_)
            | ExpressionNode::Setting(_) => Vec::new(),
            ExpressionNode::At(inner, _)
            | ExpressionNode::Negative(inner)
            | ExpressionNode::Over(_, inner, _)
            | ExpressionNode::Not(inner) => vec![inner],
            ExpressionNode::Arithmetic(a, _, b) | ExpressionNode::And(a, b) | ExpressionNode::Or(a, b) => vec![a, b],
            ExpressionNode::Function(_, arguments) => arguments.iter().collect(),
            ExpressionNode::Compare(first, rest) => {
                std::iter::once(first).chain(rest.iter().map(|(_, part)| part)).collect()
            }
            ExpressionNode::Within(value, low, high, _) => vec![value, low, high],
            ExpressionNode::Among(value, list, _) => std::iter::once(value).chain(list).collect(),
        }
    }
}

impl Subexpression {
    /// The figures of runs that the expression names.
    pub fn quantity_names(&self) -> Vec<&str> {
        match &*self.node {
            ExpressionNode::Quantity(name) => vec![name],
            node => node.parts().into_iter().flat_map(Subexpression::quantity_names).collect(),
        }
    }
}
