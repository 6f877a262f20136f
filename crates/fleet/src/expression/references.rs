//! What an expression calls: facts, and functions.

use std::collections::BTreeSet;

use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use cel::parser::Expression as Tree;
use schemas::nearest;

use super::ExpressionError;
use super::tree::within;

/// The functions that an expression may call, beside operators and macros.
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

/// Variables whose fields are facts of their own.
const WITH_FIELDS: [&str; 3] = ["cluster", "facts", "network"];

/// Names that are no facts: types, and what functions for optional values are called by.
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

/// Refuses what calls a function that there is not.
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

/// The facts that an expression cannot do without.
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
    /// The variables of the loops that a node is in.
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
        let Expr::Comprehension(it) = &tree.expr else {
            for part in within(tree) {
                self.visit(part);
            }
            return;
        };
        self.visit(&it.iter_range);
        self.visit(&it.accu_init);
        let own = [
            Some(it.iter_var.as_str()),
            it.iter_var2.as_deref(),
            Some(it.accu_var.as_str()),
        ];
        let before = self.bound.len();
        self.bound.extend(own.into_iter().flatten());
        for part in [&it.loop_cond, &it.loop_step, &it.result] {
            self.visit(part);
        }
        self.bound.truncate(before);
    }

    fn is_bound(&self, tree: &Tree) -> bool {
        root(tree).is_some_and(|name| self.bound.contains(&name))
    }
}

/// The variable that a chain of fields begins with.
fn root(tree: &Tree) -> Option<&str> {
    match &tree.expr {
        Expr::Ident(name) => Some(name),
        Expr::Select(select) => root(&select.operand),
        Expr::Call(call) if field(call).is_some() => root(call.args.first()?),
        _ => None,
    }
}

/// The fact that a node is, or is a part of: `network.podCIDRs` of `network.podCIDRs`, `nodes` of `nodes.count`.
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

/// The text by which a call takes a field of its first argument: `a['b']`, `a[?'b']`, `a.?b`.
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
