//! The names in an expression. [`known_functions`] rejects unknown functions, and [`of`] collects the required facts.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use cel::parser::Expression as Tree;
use schemas::nearest;

use super::ExpressionError;
use super::tree::within;

/// The allowed functions, in addition to operators and macros.
const FUNCTIONS: [&str; 22] = [
    "bool",
    "bytes",
    "contains",
    "double",
    "dyn",
    "endsWith",
    "hasValue",
    "int",
    "join",
    "none",
    "of",
    "ofNonZeroValue",
    "or",
    "orValue",
    "replace",
    "size",
    "split",
    "startsWith",
    "string",
    "type",
    "uint",
    "value",
];

/// Variables whose fields are separate facts.
const WITH_FIELDS: [&str; 3] = ["cluster", "facts", "network"];

/// Names that are not facts: types, and the namespaces of functions for optional values.
const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "optional",
    "optional_type",
    "string",
    "type",
    "uint",
];

/// Fails if an expression calls a function that is not allowed.
pub(super) fn known_functions(tree: &Tree) -> Result<(), ExpressionError> {
    if let Expr::Call(CallExpr { func_name, .. }) = &tree.expr {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_operator = !func_name.bytes().all(is_word);
        if !is_operator && !FUNCTIONS.contains(&func_name.as_str()) {
            let macros = [
                "all",
                "exists",
                "existsOne",
                "exists_one",
                "filter",
                "has",
                "map",
            ];
            let names = FUNCTIONS.into_iter().chain(macros);
            let near = nearest(func_name, names.collect::<Vec<_>>(), 2);
            let name = super::shortened(func_name);
            return Err(ExpressionError::Function { name, near });
        }
    }
    within(tree).into_iter().try_for_each(known_functions)
}

/// Returns the facts that an expression requires. A fact whose presence is tested anywhere in the expression is
/// optional.
pub(super) fn of(tree: &Tree) -> BTreeSet<String> {
    let mut found = Found::default();
    found.visit(tree);
    found.used.retain(|name| !found.asked_for.contains(name));
    found.used
}

#[derive(Default)]
struct Found<'a> {
    used: BTreeSet<String>,
    asked_for: BTreeSet<String>,
    /// The variables of the enclosing loops.
    bound: Vec<&'a str>,
}

impl<'a> Found<'a> {
    fn visit(&mut self, tree: &'a Tree) {
        if let Some(name) = fact(tree).filter(|_| !self.is_bound(tree)) {
            let is_asked = matches!(&tree.expr, Expr::Select(select) if select.test)
                || matches!(&tree.expr, Expr::Call(call) if is_optional(call));
            let names = if is_asked {
                &mut self.asked_for
            } else {
                &mut self.used
            };
            names.insert(name);
            return;
        }
        let Expr::Comprehension(comprehension) = &tree.expr else {
            for part in within(tree) {
                self.visit(part);
            }
            return;
        };
        self.visit(&comprehension.iter_range);
        self.visit(&comprehension.accu_init);
        let own = [
            Some(comprehension.iter_var.as_str()),
            comprehension.iter_var2.as_deref(),
            Some(comprehension.accu_var.as_str()),
        ];
        let before = self.bound.len();
        self.bound.extend(own.into_iter().flatten());
        for part in [
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ] {
            self.visit(part);
        }
        self.bound.truncate(before);
    }

    fn is_bound(&self, tree: &Tree) -> bool {
        root(tree).is_some_and(|name| self.bound.contains(&name))
    }
}

/// Returns the variable at the start of a chain of fields.
fn root(tree: &Tree) -> Option<&str> {
    match &tree.expr {
        Expr::Ident(name) => Some(name),
        Expr::Select(select) => root(&select.operand),
        Expr::Call(call) if field(call).is_some() => root(call.args.first()?),
        _ => None,
    }
}

/// Returns the fact that a node is, or of which it is a part: `network.podCIDRs` for itself, and `nodes` for
/// `nodes.count`.
fn fact(tree: &Tree) -> Option<String> {
    let (operand, field) = match &tree.expr {
        Expr::Ident(name) => {
            let is_own = name.starts_with('@') || TYPES.contains(&name.as_str());
            return (!is_own).then(|| name.clone());
        }
        Expr::Select(select) => (&*select.operand, select.field.as_str()),
        Expr::Call(call) => (call.args.first()?, field(call)?),
        _ => return None,
    };
    let within = fact(operand)?;
    if WITH_FIELDS.contains(&within.as_str()) {
        return Some(format!("{within}.{field}"));
    }
    Some(within)
}

/// Returns the name of the field that a call selects from its first argument, as in `a['b']`, `a[?'b']` and `a.?b`.
fn field(call: &CallExpr) -> Option<&str> {
    let is_index = call.func_name == operators::INDEX || is_optional(call);
    match &call.args[..] {
        [
            _,
            Tree {
                expr: Expr::Literal(LiteralValue::String(name)),
                ..
            },
        ] if is_index => Some(name.inner()),
        _ => None,
    }
}

fn is_optional(call: &CallExpr) -> bool {
    [operators::OPT_INDEX, operators::OPT_SELECT].contains(&call.func_name.as_str())
}
