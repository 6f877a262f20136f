//! The budget of an expression. The interpreter has none, so that the tree is changed before it runs: what loops go over,
//! what is added and what is put into lists and maps passes through functions that count it. No expression can name these.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use cel::parser::Expression as Tree;

use super::tree::{Extent, within_mut};
use crate::limits;

/// Adds two values.
pub(super) const ADD: &str = "@add";
/// Gives a value that is put into another one, or that a loop begins with.
pub(super) const KEEP: &str = "@keep";
/// Gives what a loop goes over, whose turns have so many nodes.
pub(super) const EACH: &str = "@each";

/// What is left of the budget.
#[derive(Default)]
pub(super) struct Meter {
    work: AtomicUsize,
    memory: AtomicUsize,
    exhausted: AtomicBool,
}

impl Meter {
    /// Begins with all of it.
    pub(super) fn begin(&self) {
        self.work.store(limits::EXPRESSION_WORK, Ordering::Relaxed);
        let memory = limits::EXPRESSION_MEMORY;
        self.memory.store(memory, Ordering::Relaxed);
        self.exhausted.store(false, Ordering::Relaxed);
    }

    /// Whether it was not enough.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// Takes the nodes of all turns of a loop.
    pub(super) fn turns(&self, count: usize, nodes: usize) -> Result<(), ExecutionError> {
        self.take(&self.work, count.checked_mul(nodes))
    }

    /// Takes the bytes of a value.
    pub(super) fn keep(&self, bytes: usize) -> Result<(), ExecutionError> {
        let fits = bytes <= limits::VALUE_SIZE;
        self.take(&self.memory, fits.then_some(bytes))
    }

    fn take(&self, from: &AtomicUsize, amount: Option<usize>) -> Result<(), ExecutionError> {
        let left = from.load(Ordering::Relaxed);
        let Some(left) = amount.and_then(|amount| left.checked_sub(amount)) else {
            self.exhausted.store(true, Ordering::Relaxed);
            return Err(ExecutionError::function_error(KEEP, "exhausted"));
        };
        from.store(left, Ordering::Relaxed);
        Ok(())
    }
}

/// Changes a tree so that what it does is counted.
pub(super) fn metered(tree: &mut Tree) {
    within_mut(tree).into_iter().for_each(metered);
    match &mut tree.expr {
        Expr::Call(call) if call.func_name == operators::ADD && !extends_a_result(call) => {
            ADD.clone_into(&mut call.func_name);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(keep),
        Expr::Map(_) => within_mut(tree).into_iter().for_each(keep),
        Expr::Comprehension(it) => {
            let parts = [&it.loop_cond, &it.loop_step, &it.result];
            let nodes: usize = parts.map(|part| Extent::of(part).nodes).iter().sum();
            let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
            let nodes = Expr::Literal(LiteralValue::Int(nodes.into()));
            call(&mut it.iter_range, EACH, vec![Tree { id: 0, expr: nodes }]);
            // The interpreter knows loops that begin with an empty list, and does not copy what they have so far.
            if !matches!(&it.accu_init.expr, Expr::List(_) | Expr::Literal(_)) {
                keep(&mut it.accu_init);
            }
        }
        _ => {}
    }
}

/// Whether it appends to what a loop has so far. What is appended is counted.
fn extends_a_result(call: &CallExpr) -> bool {
    let first = call.args.first().map(|it| &it.expr);
    matches!(first, Some(Expr::Ident(name)) if name.starts_with('@'))
}

fn keep(tree: &mut Tree) {
    call(tree, KEEP, Vec::new());
}

fn call(tree: &mut Tree, name: &str, more: Vec<Tree>) {
    let id = tree.id;
    let mut args = vec![std::mem::take(tree)];
    args.extend(more);
    let call = CallExpr {
        func_name: name.to_owned(),
        target: None,
        args,
    };
    let expr = Expr::Call(call);
    *tree = Tree { id, expr };
}
