//! Traversal of an expression's tree. [`within`] and [`within_mut`] return the children of a node, and [`Extent`]
//! measures a tree.

use cel::common::ast::{EntryExpr, Expr, IdedEntryExpr};
use cel::parser::Expression as Tree;

/// Returns the children of a node.
pub(super) fn within(tree: &Tree) -> Vec<&Tree> {
    match &tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => {
            let target = call.target.iter().map(AsRef::as_ref);
            target.chain(&call.args).collect()
        }
        Expr::Comprehension(comprehension) => vec![
            &comprehension.iter_range,
            &comprehension.accu_init,
            &comprehension.loop_cond,
            &comprehension.loop_step,
            &comprehension.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(of_entry).collect(),
        Expr::Struct(object) => object.entries.iter().flat_map(of_entry).collect(),
        Expr::Select(select) => vec![&select.operand],
    }
}

fn of_entry(entry: &IdedEntryExpr) -> Vec<&Tree> {
    match &entry.expr {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Returns the children of a node for changes.
pub(super) fn within_mut(tree: &mut Tree) -> Vec<&mut Tree> {
    match &mut tree.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => {
            let target = call.target.iter_mut().map(AsMut::as_mut);
            target.chain(&mut call.args).collect()
        }
        Expr::Comprehension(comprehension) => vec![
            &mut comprehension.iter_range,
            &mut comprehension.accu_init,
            &mut comprehension.loop_cond,
            &mut comprehension.loop_step,
            &mut comprehension.result,
        ],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map.entries.iter_mut().flat_map(of_entry_mut).collect(),
        Expr::Struct(object) => object.entries.iter_mut().flat_map(of_entry_mut).collect(),
        Expr::Select(select) => vec![&mut select.operand],
    }
}

fn of_entry_mut(entry: &mut IdedEntryExpr) -> Vec<&mut Tree> {
    match &mut entry.expr {
        EntryExpr::StructField(field) => vec![&mut field.value],
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
    }
}

/// The extent of an expression.
#[derive(Clone, Copy, Default)]
pub(super) struct Extent {
    /// The number of nodes.
    pub(super) nodes: usize,
    /// The depth of loops. A loop over the result of another one counts as nested in it.
    pub(super) loops: usize,
}

impl Extent {
    /// Measures a tree.
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
