//! The budget of an expression. The interpreter has no limits, so [`metered`] rewrites the tree before it runs: loop
//! ranges, operands of additions, and elements of lists and maps pass through functions that count them. Expressions
//! cannot call these functions, because `@` is no character of a name.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cel::ExecutionError;
use cel::common::ast::{CallExpr, Expr, LiteralValue, operators};
use cel::parser::Expression as Tree;

use super::tree::{Extent, within_mut};
use crate::limits;

/// The function that adds two values.
pub(super) const ADD: &str = "@add";
/// The function that counts a value, for elements and initial values of loops.
pub(super) const KEEP: &str = "@keep";
/// The function that counts the iterations of a loop, and returns its range. Its second argument is the number of nodes
/// in an iteration.
pub(super) const EACH: &str = "@each";

/// The remaining budget of an expression.
#[derive(Default)]
pub(super) struct Meter {
    work: AtomicUsize,
    memory: AtomicUsize,
    exhausted: AtomicBool,
}

impl Meter {
    /// Resets the budget.
    pub(super) fn begin(&self) {
        self.work.store(limits::EXPRESSION_WORK, Ordering::Relaxed);
        let memory = limits::EXPRESSION_MEMORY;
        self.memory.store(memory, Ordering::Relaxed);
        self.exhausted.store(false, Ordering::Relaxed);
    }

    /// Returns whether the budget was exceeded.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// Deducts the node evaluations of a loop.
    pub(super) fn turns(&self, count: usize, nodes: usize) -> Result<(), ExecutionError> {
        self.take(&self.work, count.checked_mul(nodes))
    }

    /// Deducts the size of a value.
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

/// Rewrites a tree so that its work and memory are counted.
pub(super) fn metered(tree: &mut Tree) {
    within_mut(tree).into_iter().for_each(metered);
    match &mut tree.expr {
        Expr::Call(call) if call.func_name == operators::ADD && !extends_a_result(call) => {
            ADD.clone_into(&mut call.func_name);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(keep),
        Expr::Map(_) => within_mut(tree).into_iter().for_each(keep),
        Expr::Comprehension(comprehension) => {
            let parts = [
                &comprehension.loop_cond,
                &comprehension.loop_step,
                &comprehension.result,
            ];
            let nodes: usize = parts.map(|part| Extent::of(part).nodes).iter().sum();
            let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
            let nodes = Expr::Literal(LiteralValue::Int(nodes.into()));
            call(
                &mut comprehension.iter_range,
                EACH,
                vec![Tree { id: 0, expr: nodes }],
            );
            // The interpreter recognizes loops that start with an empty list, and does not copy their results so far. A
            // call would hide the list.
            if !matches!(
                &comprehension.accu_init.expr,
                Expr::List(_) | Expr::Literal(_)
            ) {
                keep(&mut comprehension.accu_init);
            }
        }
        _ => {}
    }
}

/// Returns whether a call appends to the accumulator of a loop. The appended list is counted itself.
fn extends_a_result(call: &CallExpr) -> bool {
    let first = call.args.first().map(|argument| &argument.expr);
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
