//! The tree of an expression: what is directly within a node, and how much there is of all.

use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr};
use cel::parser::Expression as Tree;

/// What is directly within a node.
pub(super) fn within(tree: &Tree) -> Vec<&Tree> {
    match &tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => {
            let target = call.target.iter().map(AsRef::as_ref);
            target.chain(&call.args).collect()
        }
        Expr::Comprehension(it) => vec![
            &it.iter_range,
            &it.accu_init,
            &it.loop_cond,
            &it.loop_step,
            &it.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(of_entry).collect(),
        Expr::Struct(it) => it.entries.iter().flat_map(of_entry).collect(),
        Expr::Select(select) => vec![&select.operand],
    }
}

fn of_entry(entry: &IdedEntryExpr) -> Vec<&Tree> {
    match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// The same, to be changed.
pub(super) fn within_mut(tree: &mut Tree) -> Vec<&mut Tree> {
    match &mut tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => {
            let target = call.target.iter_mut().map(AsMut::as_mut);
            target.chain(&mut call.args).collect()
        }
        Expr::Comprehension(it) => vec![
            &mut it.iter_range,
            &mut it.accu_init,
            &mut it.loop_cond,
            &mut it.loop_step,
            &mut it.result,
        ],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map.entries.iter_mut().flat_map(of_entry_mut).collect(),
        Expr::Struct(it) => it.entries.iter_mut().flat_map(of_entry_mut).collect(),
        Expr::Select(select) => vec![&mut select.operand],
    }
}

fn of_entry_mut(entry: &mut IdedEntryExpr) -> Vec<&mut Tree> {
    match &mut entry.expr {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    }
}

/// How much there is of an expression.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    /// Its nodes.
    pub(super) nodes: usize,
    /// Its loops that lie within each other. One over what another one gives lies within it.
    pub(super) loops: usize,
}

impl Extent {
    /// Counts.
    pub(super) fn of(tree: &Tree) -> Self {
        let mut all = Self { nodes: 1, loops: 0 };
        for part in within(tree) {
            let part = Self::of(part);
            all.nodes += part.nodes;
            all.loops = all.loops.max(part.loops);
        }
        all.loops += usize::from(matches!(tree.expr, Expr::Comprehension(_)));
        all
    }
}
