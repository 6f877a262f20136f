//! Expressions over facts, in CEL. This module alone knows the crate that reads and computes them.
//!
//! Whoever writes a fleet is trusted, and what clusters answer is not: facts may be large, and lists long. Known attacks and
//! where they stop: long, deep and large expressions, and loops within loops, in [`Expression::parse`]; what runs long or
//! grows, by the `meter`, which counts each turn of a loop and each value that is put together; integers that are unsigned,
//! and so equal to no other, in `convert`; functions that need more than they are given: only the listed ones are called.

mod convert;
mod functions;
mod meter;
mod references;
mod source;
mod tree;

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::thread;

use cel::parser::Expression as Tree;
use cel::{Context, Env, ExecutionError, ParseErrors};
use serde_json::{Map, Value};

use self::meter::{Meter, metered};
pub(crate) use self::source::end_of;
use crate::limits;

/// What CEL knows by itself, its macros included.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// The reason why an expression cannot be read or computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The expression has no end.
    #[error("`${{` is not closed by `}}`")]
    Open,
    /// The expression is longer than the limit.
    #[error("an expression has more than {max} bytes", max = limits::EXPRESSION_SIZE)]
    Long,
    /// The brackets of the expression are nested deeper than the limit.
    #[error("brackets are nested deeper than {max}", max = limits::EXPRESSION_DEPTH)]
    Deep,
    /// The text is no expression.
    #[error("it is not CEL: {0}")]
    Syntax(String),
    /// The expression has more parts than the limit.
    #[error("an expression has more than {max} parts, its loops written out", max = limits::EXPRESSION_NODES)]
    Large,
    /// The loops of the expression are nested deeper than the limit.
    #[error("more than {max} of `map`, `filter`, `all` and `exists` run in or after each other", max = limits::EXPRESSION_LOOPS)]
    Nested,
    /// There is no function of this name.
    #[error("there is no function `{name}`")]
    Function {
        /// The name.
        name: String,
        /// The name that may be meant.
        near: Option<&'static str>,
    },
    /// The interpreter gave up.
    #[error("{0}")]
    Failed(String),
    /// The interpreter broke off, which is a mistake of its own.
    #[error("the interpreter failed")]
    Broken,
    /// No thread can be started to compute in.
    #[error("there is no room to compute: {0}")]
    Room(String),
    /// The expression takes more work or memory than it is given.
    #[error("it runs too long, or builds too large a value")]
    Exhausted,
    /// The result is larger than the limit.
    #[error("its result has more than {max} bytes", max = limits::VALUE_SIZE)]
    Result,
    /// The result is of a type that YAML does not have.
    #[error("its result is {0}, which YAML cannot represent")]
    Type(&'static str),
    /// The result cannot stand within a text.
    #[error("its result is {0}, which cannot be part of a text")]
    NotText(&'static str),
    /// The facts together are larger than the limit.
    #[error("the facts of the cluster have more than {max} bytes together", max = limits::VALUE_SIZE)]
    Facts,
    /// A fact holds a number that CEL has no integer for.
    #[error("a fact has the number {0}, which is not an integer of 64 bits")]
    Number(String),
}

/// An expression that was read and is within the bounds.
#[derive(Debug)]
pub(crate) struct Expression {
    tree: Tree,
    references: BTreeSet<String>,
}

impl Expression {
    /// Reads an expression.
    pub(crate) fn parse(source: &str) -> Result<Self, ExpressionError> {
        let source = source.trim();
        if source.len() > limits::EXPRESSION_SIZE {
            return Err(ExpressionError::Long);
        }
        if end_of(source)?.is_some() {
            return Err(ExpressionError::Syntax("`}` closes nothing".to_owned()));
        }
        with_room(|| Self::read(source))
    }

    fn read(source: &str) -> Result<Self, ExpressionError> {
        let parsed = LANGUAGE.parser().parse(source);
        let mut tree = parsed.map_err(|errors| not_read(&errors))?;
        let extent = tree::Extent::of(&tree);
        if extent.nodes > limits::EXPRESSION_NODES {
            return Err(ExpressionError::Large);
        }
        if extent.loops > limits::EXPRESSION_LOOPS {
            return Err(ExpressionError::Nested);
        }
        references::known_functions(&tree)?;
        let references = references::of(&tree);
        metered(&mut tree);
        Ok(Self { tree, references })
    }

    /// The facts that it cannot do without, such as `cluster.labels`, `nodes` and `facts.domain`. What it asks `has` for
    /// is none of them.
    pub(crate) fn references(&self) -> &BTreeSet<String> {
        &self.references
    }
}

/// Computes expressions for one cluster.
pub(crate) struct Evaluator {
    context: Context<'static, 'static>,
    meter: Arc<Meter>,
}

impl Evaluator {
    /// Takes the facts of a cluster, by the names of the variables that expressions call them.
    pub(crate) fn new(facts: &Map<String, Value>) -> Result<Self, ExpressionError> {
        let meter = Arc::new(Meter::default());
        let mut context = Context::with_env(Arc::clone(&LANGUAGE));
        let mut size = 0;
        for (name, value) in facts {
            let value = convert::from_json(value)?;
            size += convert::size(&value);
            context.add_variable_from_value(name.as_str(), value);
        }
        if size > limits::VALUE_SIZE {
            return Err(ExpressionError::Facts);
        }
        functions::add(&mut context, &meter);
        Ok(Self { context, meter })
    }

    /// Computes an expression.
    pub(crate) fn evaluate(&self, expression: &Expression) -> Result<Value, ExpressionError> {
        with_room(|| self.compute(expression))
    }

    fn compute(&self, expression: &Expression) -> Result<Value, ExpressionError> {
        self.meter.begin();
        let value = self.context.resolve(&expression.tree);
        // An error may have been passed over by `||` or `exists`.
        if self.meter.is_exhausted() {
            return Err(ExpressionError::Exhausted);
        }
        let value = value.map_err(|error| ExpressionError::Failed(words(&error)))?;
        if convert::size(&value) > limits::VALUE_SIZE {
            return Err(ExpressionError::Result);
        }
        convert::to_json(&value)
    }
}

/// Runs what calls itself for each bracket with a stack for all that the limits allow; another thread's may be small.
fn with_room<T: Send>(
    run: impl FnOnce() -> Result<T, ExpressionError> + Send,
) -> Result<T, ExpressionError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(limits::EXPRESSION_STACK);
        let running = thread.spawn_scoped(scope, run);
        let running = running.map_err(|error| ExpressionError::Room(error.to_string()))?;
        running.join().unwrap_or(Err(ExpressionError::Broken))
    })
}

/// What the parser says first.
fn not_read(errors: &ParseErrors) -> ExpressionError {
    let Some(first) = errors.errors.first() else {
        return ExpressionError::Syntax("it cannot be read".to_owned());
    };
    if first.msg.contains("Recursion limit") {
        return ExpressionError::Deep;
    }
    let (line, column) = first.pos;
    let message = first.msg.trim_start_matches("Syntax error: ");
    let place = match line {
        ..=1 => format!("at character {}", column + 1),
        line => format!("at line {line} of it, character {}", column + 1),
    };
    ExpressionError::Syntax(format!("{}, {place}", shortened(message)))
}

/// What the interpreter says, without whole values.
fn words(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("there is no `{}`", shortened(key)),
        ExecutionError::UndeclaredReference(name) => {
            format!("there is no `{}`", shortened(name))
        }
        ExecutionError::IndexOutOfBounds(_) => "the list has no such element".to_owned(),
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => {
            "division by zero".to_owned()
        }
        ExecutionError::Overflow(..) => "the number is beyond 64 bits".to_owned(),
        ExecutionError::FunctionError { message, .. } => shortened(message),
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            format!(
                "cannot {operator} {} and {}",
                left.type_of(),
                right.type_of()
            )
        }
        error => shortened(&error.to_string()),
    }
}

fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(limits::QUOTED).collect()
}

#[cfg(test)]
mod tests;
