//! Finds the sites of a source at which a fault can stand, and the changes that are possible there. It reads the syntax
//! tree, and keeps each site as bytes of the text.
//!
//! No fault is planted where a switch cannot stand or where no user would see it: in constants, `const fn`, patterns,
//! types, attributes, the arguments of macros, and code that is compiled only for tests or for another system than
//! Linux.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, ImplItem, Item, Lit, Pat, ReturnType, Signature, Stmt, TraitItem, Type};

/// The kind of code that a fault changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultKind {
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

impl FaultKind {
    /// All kinds, in the order of tables.
    pub const ALL: [FaultKind; 6] = [
        FaultKind::Comparison,
        FaultKind::Arithmetic,
        FaultKind::Condition,
        FaultKind::Constant,
        FaultKind::Statement,
        FaultKind::Return,
    ];

    /// The kind's name in reports and lists.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Comparison => "comparison",
            FaultKind::Arithmetic => "arithmetic",
            FaultKind::Condition => "condition",
            FaultKind::Constant => "constant",
            FaultKind::Statement => "statement",
            FaultKind::Return => "return",
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
    /// The function around it: its name, and the byte at which it begins.
    pub function: String,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The bytes that would be replaced. An early return is inserted, and replaces none.
    pub span: Range<usize>,
    /// The texts that could stand there instead.
    pub changes: Vec<String>,
}

/// All sites of a source, in the order of the text. Modules in other files that are compiled only for tests are added
/// to `left_out`.
pub fn find_sites(file: &str, text: &str, left_out: &mut Vec<String>) -> syn::Result<Vec<Site>> {
    let tree = syn::parse_file(text)?;
    let mut finder = Finder { file, text, functions: Vec::new(), modules: Vec::new(), sites: Vec::new(), left_out };
    if is_built_on_linux(&tree.attrs, text) {
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

/// Whether code with these attributes is built into a program on Linux.
fn is_built_on_linux(attributes: &[Attribute], text: &str) -> bool {
    const EXCLUDING: [&str; 9] = [
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
        let words: String =
            text[attribute.span().byte_range()].chars().filter(|character| !character.is_whitespace()).collect();
        words.contains("not(test)") || !EXCLUDING.iter().any(|word| words.contains(word))
    })
}

impl Finder<'_> {
    fn add_site(&mut self, kind: FaultKind, span: Range<usize>, changes: Vec<String>) {
        let Some(function) = self.functions.last().cloned() else { return };
        let line = self.text[..span.start].matches('\n').count() + 1;
        if !changes.is_empty() {
            self.sites.push(Site { file: self.file.to_owned(), line, function, kind, span, changes });
        }
    }

    fn text_of(&self, part: &impl Spanned) -> &str {
        &self.text[part.span().byte_range()]
    }

    fn add_function(&mut self, signature: &Signature, block: &Block) {
        if signature.constness.is_some() {
            return;
        }
        self.functions.push(format!("{} {}", signature.ident, signature.span().byte_range().start));
        if !block.stmts.is_empty() {
            let start = block.brace_token.span.open().byte_range().end;
            self.add_site(FaultKind::Return, start..start, early_returns(&signature.output));
        }
        self.visit_block(block);
        self.functions.pop();
    }

    fn add_condition(&mut self, condition: &Expr) {
        let text = self.text_of(condition);
        // `if let` and its chains bind names, and are no values.
        if !text.contains("let ") {
            let negated = format!("!({text})");
            self.add_site(FaultKind::Condition, condition.span().byte_range(), vec![negated]);
        }
    }

    fn add_operator(&mut self, binary: &syn::ExprBinary) {
        let span = binary.span().byte_range();
        let (kind, operators) = replacement_operators(&binary.op);
        let (left, right) = (binary.left.span().byte_range(), binary.right.span().byte_range());
        let is_literal_text = |part: &Expr| matches!(part, Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_)));
        // Operators that join texts, and those of `if let` chains, are left alone.
        let is_text = matches!(binary.op, BinOp::Add(_) | BinOp::AddAssign(_))
            && (matches!(*binary.right, Expr::Reference(_)) || is_literal_text(&binary.right));
        if is_text || self.text[span.clone()].contains("let ") || !binary.attrs.is_empty() {
            return;
        }
        let operator = binary.op.span().byte_range();
        let with_operator = |replacement: &&str| {
            let (before, after) = (&self.text[left.start..operator.start], &self.text[operator.end..right.end]);
            format!("{before}{replacement}{after}")
        };
        let changes = operators.iter().map(with_operator).collect();
        self.add_site(kind, span, changes);
    }

    fn visit_module(&mut self, module: &syn::ItemMod) {
        let name = module.ident.to_string();
        match &module.content {
            Some((_, items)) if is_built_on_linux(&module.attrs, self.text) => {
                self.modules.push(name);
                items.iter().for_each(|item| self.visit_item(item));
                self.modules.pop();
            }
            None if !is_built_on_linux(&module.attrs, self.text) => {
                let path: String = self.modules.iter().map(|module| format!("{module}/")).collect();
                self.left_out.push(format!("{}{path}{name}", module_folder(self.file)));
            }
            _ => {}
        }
    }
}

/// The folder of a file's modules, with a `/` at its end.
fn module_folder(file: &str) -> String {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    match name {
        "lib.rs" | "main.rs" | "mod.rs" => format!("{folder}/"),
        _ => format!("{}/", file.trim_end_matches(".rs")),
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(function) if is_built_on_linux(&function.attrs, self.text) => {
                self.add_function(&function.sig, &function.block);
            }
            Item::Impl(block) if is_built_on_linux(&block.attrs, self.text) => {
                block.items.iter().for_each(|item| self.visit_impl_item(item));
            }
            Item::Trait(described) if is_built_on_linux(&described.attrs, self.text) => {
                described.items.iter().for_each(|item| self.visit_trait_item(item));
            }
            Item::Mod(module) => self.visit_module(module),
            _ => {}
        }
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if let ImplItem::Fn(function) = item
            && is_built_on_linux(&function.attrs, self.text)
        {
            self.add_function(&function.sig, &function.block);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if let TraitItem::Fn(function) = item
            && is_built_on_linux(&function.attrs, self.text)
            && let Some(block) = &function.default
        {
            self.add_function(&function.sig, block);
        }
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if self.text_of(statement).starts_with("#[cfg") {
            return;
        }
        if let Stmt::Expr(expression, Some(_)) = statement
            && has_effect(expression)
            && !self.text_of(statement).starts_with('#')
        {
            self.add_site(FaultKind::Statement, statement.span().byte_range(), vec![String::new()]);
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        match expression {
            Expr::Const(_) | Expr::Macro(_) => return,
            // A switch cannot stand in the length.
            Expr::Repeat(repeated) => return self.visit_expr(&repeated.expr),
            Expr::If(choice) => self.add_condition(&choice.cond),
            Expr::While(repeated) => self.add_condition(&repeated.cond),
            Expr::Binary(binary) => self.add_operator(binary),
            Expr::Lit(literal) => {
                self.add_site(FaultKind::Constant, literal.span().byte_range(), other_values(&literal.lit))
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_built_on_linux(&arm.attrs, self.text) {
            return;
        }
        if let Some((_, guard)) = &arm.guard {
            self.add_condition(guard);
        }
        visit::visit_arm(self, arm);
    }

    fn visit_pat(&mut self, _: &'ast Pat) {}

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}
}

/// Whether a statement has an effect on later ones.
fn has_effect(expression: &Expr) -> bool {
    match expression {
        Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) => true,
        Expr::Try(tried) => has_effect(&tried.expr),
        Expr::Binary(binary) => {
            matches!(replacement_operators(&binary.op), (FaultKind::Arithmetic, _)) && is_assignment(&binary.op)
        }
        _ => false,
    }
}

fn is_assignment(operator: &BinOp) -> bool {
    use BinOp::*;
    matches!(operator, AddAssign(_) | SubAssign(_) | MulAssign(_) | DivAssign(_) | RemAssign(_) | BitAndAssign(_))
        || matches!(operator, BitOrAssign(_) | BitXorAssign(_) | ShlAssign(_) | ShrAssign(_))
}

/// The kind of an operator, and those that could stand in its place.
fn replacement_operators(operator: &BinOp) -> (FaultKind, &'static [&'static str]) {
    use FaultKind::{Arithmetic, Comparison, Condition};
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

/// The values that could stand in a literal's place.
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

/// The early returns that a function of this type could have.
fn early_returns(output: &ReturnType) -> Vec<String> {
    let values = match output {
        ReturnType::Default => return vec!["return;".to_owned()],
        ReturnType::Type(_, result) => values_of_type(result),
    };
    values.into_iter().map(|value| format!("return {value};")).collect()
}

/// Simple values of a type; none if no value is known.
fn values_of_type(result: &Type) -> Vec<String> {
    const NUMBERS: [&str; 14] =
        ["u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64"];
    const EMPTY: [&str; 9] =
        ["Vec", "String", "BTreeMap", "BTreeSet", "HashMap", "HashSet", "VecDeque", "Duration", "Span"];
    let only = |value: &str| vec![value.to_owned()];
    match result {
        Type::Tuple(tuple) if tuple.elems.is_empty() => only("()"),
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match last.ident.to_string().as_str() {
                "bool" => vec!["false".to_owned(), "true".to_owned()],
                "Option" => only("None"),
                "Result" => first_argument(last).map_or_else(Vec::new, |inner| {
                    values_of_type(inner).into_iter().map(|value| format!("Ok({value})")).collect()
                }),
                name if NUMBERS.contains(&name) => only("Default::default()"),
                name if EMPTY.contains(&name) => only("Default::default()"),
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// The first type argument of a path's segment, as `T` in `Result<T>`.
fn first_argument(segment: &syn::PathSegment) -> Option<&Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(argument) => Some(argument),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
