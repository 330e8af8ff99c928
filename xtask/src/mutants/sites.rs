//! Where in a source a fault can stand, and which: read from the syntax tree, kept as places in the text.
//!
//! Nothing is planted where a switch cannot stand or where no user would see it: constants, `const fn`, patterns, types, attributes,
//! what a macro is given, and whatever is compiled only for tests or for another system than Linux.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ImplItem, Item, Lit, Pat, ReturnType, Signature, Stmt, TraitItem, Type};

/// What a fault changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `<` is `<=`, `==` is `!=`.
    Comparison,
    /// `+` is `-`, `*` is `/`, `&` is `|`.
    Arithmetic,
    /// A condition is negated, or `&&` is `||`.
    Condition,
    /// A number is one more or doubled; `true` is `false`.
    Constant,
    /// A statement with an effect is left out.
    Statement,
    /// A function returns at once.
    Return,
}

impl Kind {
    /// All, in the order of tables.
    pub const ALL: [Kind; 6] =
        [Kind::Comparison, Kind::Arithmetic, Kind::Condition, Kind::Constant, Kind::Statement, Kind::Return];

    /// Its word in reports and lists.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Comparison => "comparison",
            Kind::Arithmetic => "arithmetic",
            Kind::Condition => "condition",
            Kind::Constant => "constant",
            Kind::Statement => "statement",
            Kind::Return => "return",
        }
    }
}

/// A place where a fault can stand.
#[derive(Clone, PartialEq, Debug)]
pub struct Site {
    /// The file, from the root.
    pub file: String,
    /// Its line, from 1.
    pub line: usize,
    /// The function about it: its name and where it begins.
    pub function: String,
    /// What would be changed.
    pub kind: Kind,
    /// The bytes that would be replaced; none for an early return, which is put there.
    pub span: Range<usize>,
    /// What could stand there instead.
    pub changes: Vec<String>,
}

/// All sites of a source, in the order of the text; adds the modules that are other files and compiled only for tests.
pub fn sites(file: &str, text: &str, left_out: &mut Vec<String>) -> syn::Result<Vec<Site>> {
    let tree = syn::parse_file(text)?;
    let mut finder = Finder { file, text, functions: Vec::new(), modules: Vec::new(), sites: Vec::new(), left_out };
    if is_built(&tree.attrs, text) {
        finder.visit_file(&tree);
    }
    let mut sites = finder.sites;
    sites.sort_by_key(|site| (site.span.start, site.span.end, site.kind));
    Ok(sites)
}

struct Finder<'a> {
    file: &'a str,
    text: &'a str,
    functions: Vec<String>,
    modules: Vec<String>,
    sites: Vec<Site>,
    left_out: &'a mut Vec<String>,
}

/// Whether these attributes let code into a program on Linux.
fn is_built(attributes: &[Attribute], text: &str) -> bool {
    const ELSEWHERE: [&str; 9] = [
        "test",
        "windows",
        "wasm32",
        "cfg(target_family=\"wasm\")",
        "macos",
        "not(unix)",
        "not(target_os=\"linux\")",
        "not(feature=\"parquet\")",
        "feature=\"testing\"",
    ];
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).all(|attribute| {
        let words: String = text[attribute.span().byte_range()].chars().filter(|c| !c.is_whitespace()).collect();
        words.contains("not(test)") || !ELSEWHERE.iter().any(|word| words.contains(word))
    })
}

impl Finder<'_> {
    fn add(&mut self, kind: Kind, span: Range<usize>, changes: Vec<String>) {
        let Some(function) = self.functions.last().cloned() else { return };
        let line = self.text[..span.start].matches('\n').count() + 1;
        if !changes.is_empty() {
            self.sites.push(Site { file: self.file.to_owned(), line, function, kind, span, changes });
        }
    }

    fn of(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() {
            return;
        }
        self.functions.push(format!("{} {}", signature.ident, signature.span().byte_range().start));
        if !block.stmts.is_empty() {
            let at = block.brace_token.span.open().byte_range().end;
            self.add(Kind::Return, at..at, returned(&signature.output));
        }
        self.visit_block(block);
        self.functions.pop();
    }

    fn condition(&mut self, condition: &Expr) {
        let text = self.of(condition);
        // `if let` and its chains bind names: they are no values.
        if !text.contains("let ") {
            let negated = format!("!({text})");
            self.add(Kind::Condition, condition.span().byte_range(), vec![negated]);
        }
    }

    fn operator(&mut self, binary: &syn::ExprBinary) {
        let span = binary.span().byte_range();
        let (kind, operators) = others(&binary.op);
        let (left, right) = (binary.left.span().byte_range(), binary.right.span().byte_range());
        let bare_text = |part: &Expr| matches!(part, Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_)));
        // What joins text, and `if let` chains.
        let is_text = matches!(binary.op, BinOp::Add(_) | BinOp::AddAssign(_))
            && (matches!(*binary.right, Expr::Reference(_)) || bare_text(&binary.right));
        if is_text || self.text[span.clone()].contains("let ") || !binary.attrs.is_empty() {
            return;
        }
        let operator = binary.op.span().byte_range();
        let between = |other: &&str| {
            let (before, after) = (&self.text[left.start..operator.start], &self.text[operator.end..right.end]);
            format!("{before}{other}{after}")
        };
        let changes = operators.iter().map(between).collect();
        self.add(kind, span, changes);
    }

    fn module(&mut self, module: &syn::ItemMod) {
        let name = module.ident.to_string();
        match &module.content {
            Some((_, items)) if is_built(&module.attrs, self.text) => {
                self.modules.push(name);
                items.iter().for_each(|item| self.visit_item(item));
                self.modules.pop();
            }
            None if !is_built(&module.attrs, self.text) => {
                let inside: String = self.modules.iter().map(|module| format!("{module}/")).collect();
                self.left_out.push(format!("{}{inside}{name}", room(self.file)));
            }
            _ => {}
        }
    }
}

/// The folder of a file's modules, with `/` at its end.
fn room(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{}/", file.trim_end_matches(".rs")),
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(function) if is_built(&function.attrs, self.text) => {
                self.function(&function.sig, &function.block);
            }
            Item::Impl(block) if is_built(&block.attrs, self.text) => {
                block.items.iter().for_each(|item| self.visit_impl_item(item));
            }
            Item::Trait(described) if is_built(&described.attrs, self.text) => {
                described.items.iter().for_each(|item| self.visit_trait_item(item));
            }
            Item::Mod(module) => self.module(module),
            _ => {}
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item
            && is_built(&function.attrs, self.text)
        {
            self.function(&function.sig, &function.block);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(function) = item
            && is_built(&function.attrs, self.text)
            && let Some(block) = &function.default
        {
            self.function(&function.sig, block);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if self.of(statement).starts_with("#[cfg") {
            return;
        }
        if let Stmt::Expr(expression, Some(_)) = statement
            && has_effect(expression)
            && !self.of(statement).starts_with('#')
        {
            self.add(Kind::Statement, statement.span().byte_range(), vec![String::new()]);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Const(_) | Expr::Macro(_) => return,
            // The length is no place for a switch.
            Expr::Repeat(repeated) => return self.visit_expr(&repeated.expr),
            Expr::If(choice) => self.condition(&choice.cond),
            Expr::While(repeated) => self.condition(&repeated.cond),
            Expr::Binary(binary) => self.operator(binary),
            Expr::Lit(literal) => self.add(Kind::Constant, literal.span().byte_range(), other_values(&literal.lit)),
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_built(&arm.attrs, self.text) {
            return;
        }
        if let Some((_, guard)) = &arm.guard {
            self.condition(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Whether a statement does something that is seen later.
fn has_effect(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
        Expr::Try(tried) => has_effect(&tried.expr),
        Expr::Binary(binary) => matches!(others(&binary.op), (Kind::Arithmetic, _)) && is_assignment(&binary.op),
        _ => false,
    }
}

fn is_assignment(operator: &BinOp) -> bool {
    use BinOp::*;
    matches!(operator, AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_) | BitAndAssign(_))
        || matches!(operator, BitOrAssign(_) | BitXorAssign(_) | ShlAssign(_) | ShrAssign(_))
}

/// The operators that could stand in an operator's place.
fn others(operator: &BinOp) -> (Kind, &'static [&'static str]) {
    use Kind::{Arithmetic, Comparison, Condition};
    match operator {
        BinOp::Lt(_) => (Comparison, &["<=", ">"]),
        BinOp::Le(_) => (Comparison, &["<", ">="]),
        BinOp::Gt(_) => (Comparison, &[">=", "<"]),
        BinOp::Ge(_) => (Comparison, &[">", "<="]),
        BinOp::Eq(_) => (Comparison, &["!="]),
        BinOp::Ne(_) => (Comparison, &["=="]),
        BinOp::And(_) => (Condition, &["||"]),
        BinOp::Or(_) => (Condition, &["&&"]),
        BinOp::Add(_) => (Arithmetic, &["-"]),
        BinOp::Sub(_) => (Arithmetic, &["+"]),
        BinOp::Mul(_) => (Arithmetic, &["/"]),
        BinOp::Div(_) => (Arithmetic, &["*", "%"]),
        BinOp::Rem(_) => (Arithmetic, &["/", "*"]),
        BinOp::BitAnd(_) => (Arithmetic, &["|"]),
        BinOp::BitOr(_) => (Arithmetic, &["&"]),
        BinOp::BitXor(_) => (Arithmetic, &["|"]),
        BinOp::Shl(_) => (Arithmetic, &[">>"]),
        BinOp::Shr(_) => (Arithmetic, &["<<"]),
        BinOp::AddAssign(_) => (Arithmetic, &["-="]),
        BinOp::SubAssign(_) => (Arithmetic, &["+="]),
        BinOp::MulAssign(_) => (Arithmetic, &["/="]),
        BinOp::DivAssign(_) => (Arithmetic, &["*="]),
        BinOp::BitAndAssign(_) => (Arithmetic, &["|="]),
        BinOp::BitOrAssign(_) => (Arithmetic, &["&="]),
        _ => (Arithmetic, &[]),
    }
}

/// What a literal could be instead.
fn other_values(literal: &Lit) -> Vec<String> {
    match literal {
        Lit::Bool(truth) => vec![(!truth.value).to_string()],
        Lit::Int(number) => match number.base10_parse::<u128>() {
            Ok(value) => {
                let more = value.checked_add(1);
                let double = value.checked_mul(2).filter(|&double| value > 0 && Some(double) != more);
                more.into_iter().chain(double).map(|value| format!("{value}{}", number.suffix())).collect()
            }
            Err(_) => Vec::new(),
        },
        Lit::Float(number) => match number.base10_parse::<f64>() {
            Ok(value) => {
                let double = Some(value * 2.0).filter(|&double| double != value && double != value + 1.0);
                let values = [Some(value + 1.0).filter(|&more| more != value), double];
                values.into_iter().flatten().map(|value| format!("{value:?}{}", number.suffix())).collect()
            }
            Err(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What a function of this type could return at once.
fn returned(output: &ReturnType) -> Vec<String> {
    let values = match output {
        ReturnType::Default => return vec!["return;".to_owned()],
        ReturnType::Type(_, of) => values_of(of),
    };
    values.into_iter().map(|value| format!("return {value};")).collect()
}

fn values_of(of: &Type) -> Vec<String> {
    const NUMBERS: [&str; 14] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
    const EMPTY: [&str; 9] =
        ["Vec", "String", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "VecDeque", "Duration", "Span"];
    let own = |value: &str| vec![value.to_owned()];
    match of {
        Type::Tuple(tuple) if tuple.elems.is_empty() => own("()"),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match last.ident.to_string().as_str() {
                "bool" => vec!["false".to_owned(), "true".to_owned()],
                "Option" => own("None"),
                "Result" => first_argument(last).map_or_else(Vec::new, |inner| {
                    values_of(inner).into_iter().map(|value| format!("Ok({value})")).collect()
                }),
                name if NUMBERS.contains(&name) => own("Default::default()"),
                name if EMPTY.contains(&name) => own("Default::default()"),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn first_argument(segment: &syn::PathSegment) -> Option<&Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(of) => Some(of),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
