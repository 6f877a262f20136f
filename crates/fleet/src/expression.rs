//! Expressions over facts, in the Common Expression Language (CEL). [`Expression::parse`] checks an expression, and
//! [`Evaluator`] evaluates it for one cluster. Only this module uses the CEL crate.
//!
//! The author of a fleet is trusted, but the answers of clusters are not: facts can be large and lists long. These
//! attacks are stopped:
//!
//! - long, deep or large expressions and nested loops, by [`Expression::parse`];
//!
//! - long-running or growing evaluations, by `meter`, which counts loop iterations and the values that are built;
//!
//! - unsigned integers, which equal no other number, by `convert`;
//!
//! - functions with hidden costs, by `references`, which allows only listed functions.

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

/// The standard library of CEL, including its macros.
static LANGUAGE: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// The error of an expression that cannot be parsed or evaluated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The expression has no closing brace.
    #[error("`${{` is not closed by `}}`")]
    Open,
    /// The expression is longer than the limit.
    #[error("an expression has more than {max} bytes", max = limits::EXPRESSION_SIZE)]
    Long,
    /// The brackets of the expression are nested deeper than the limit.
    #[error("brackets are nested deeper than {max}", max = limits::EXPRESSION_DEPTH)]
    Deep,
    /// The text is not valid CEL.
    #[error("it is not CEL: {0}")]
    Syntax(String),
    /// The expression has more parts than the limit.
    #[error("an expression has more than {max} parts, its loops written out", max = limits::EXPRESSION_NODES)]
    Large,
    /// The loops of the expression are nested deeper than the limit.
    #[error("more than {max} of `map`, `filter`, `all` and `exists` run in or after each other", max = limits::EXPRESSION_LOOPS)]
    Nested,
    /// No allowed function has this name.
    #[error("there is no function `{name}`")]
    Function {
        /// The name.
        name: String,
        /// A similar name that exists.
        near: Option<&'static str>,
    },
    /// The evaluation failed.
    #[error("{0}")]
    Failed(String),
    /// The interpreter panicked, which is a defect in it.
    #[error("the interpreter failed")]
    Broken,
    /// The thread for the evaluation cannot be started.
    #[error("there is no room to compute: {0}")]
    Room(String),
    /// The expression exceeds its budget of work or memory.
    #[error("it runs too long, or builds too large a value")]
    Exhausted,
    /// The result is larger than the limit.
    #[error("its result has more than {max} bytes", max = limits::VALUE_SIZE)]
    Result,
    /// The result has a type that YAML cannot represent.
    #[error("its result is {0}, which YAML cannot represent")]
    Type(&'static str),
    /// The result cannot be a part of a text.
    #[error("its result is {0}, which cannot be part of a text")]
    NotText(&'static str),
    /// The facts together are larger than the limit.
    #[error("the facts of the cluster have more than {max} bytes together", max = limits::VALUE_SIZE)]
    Facts,
    /// A fact has a number outside of CEL's signed 64-bit integers.
    #[error("a fact has the number {0}, which is not an integer of 64 bits")]
    Number(String),
}

/// A parsed expression within the limits.
#[derive(Debug)]
pub(crate) struct Expression {
    tree: Tree,
    references: BTreeSet<String>,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Fails if the text is not valid CEL, exceeds a limit, or calls an unknown function.
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

    /// Returns the facts that the expression requires, such as `cluster.labels`, `nodes` and `facts.domain`. A fact
    /// that the expression tests with `has` is not required.
    pub(crate) fn references(&self) -> &BTreeSet<String> {
        &self.references
    }
}

/// An evaluator with the facts of one cluster.
pub(crate) struct Evaluator {
    context: Context<'static, 'static>,
    meter: Arc<Meter>,
}

impl Evaluator {
    /// Creates an evaluator. The keys of `facts` are the names of variables.
    ///
    /// # Errors
    ///
    /// Fails if the facts are too large, or have a number that CEL cannot represent.
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

    /// Evaluates an expression.
    pub(crate) fn evaluate(&self, expression: &Expression) -> Result<Value, ExpressionError> {
        with_room(|| self.compute(expression))
    }

    fn compute(&self, expression: &Expression) -> Result<Value, ExpressionError> {
        self.meter.begin();
        let value = self.context.resolve(&expression.tree);
        // `||` and `exists` can discard the error of an exhausted budget.
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

/// Runs a recursive function in a thread whose stack is large enough for all expressions within the limits. The
/// caller's stack may be small.
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

/// Converts the first error of the parser.
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

/// Returns the message of an interpreter's error, without quoting whole values.
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
