//! Functions that replace or extend those of the CEL crate: the counting functions of the meter, and text functions
//! with bounds, which the crate's own lack. [`add`] registers all of them.

use std::sync::Arc;

use cel::common::value::CowVal;
use cel::objects::Key;
use cel::{Context, ExecutionError, FunctionContext, Value as Computed};

use super::convert::size;
use super::meter::{ADD, EACH, KEEP, Meter};

/// The result of a function.
type Given<'c, 'v> = Result<CowVal<'c, 'v>, ExecutionError>;

/// A function in the form that the interpreter calls.
type Called = Box<dyn for<'c, 'v> Fn(&mut FunctionContext<'c, 'v>) -> Given<'c, 'v> + Send + Sync>;

/// A function of this module. The receiver of a method is its first argument.
type Own = for<'c, 'v> fn(&Meter, Vec<CowVal<'c, 'v>>) -> Given<'c, 'v>;

/// Registers the functions, which share one meter.
pub(super) fn add(context: &mut Context<'_, '_>, meter: &Arc<Meter>) {
    let own: [(&str, Own); 6] = [
        (ADD, sum),
        (KEEP, keep),
        (EACH, each),
        ("split", split),
        ("join", join),
        ("replace", replace),
    ];
    for (name, function) in own {
        let meter = Arc::clone(meter);
        let called: Called = Box::new(move |called| {
            let mut arguments: Vec<CowVal<'_, '_>> = called.this.take().into_iter().collect();
            arguments.append(&mut called.args);
            function(&meter, arguments)
        });
        let added = context.add_function(name, called);
        added.expect("CEL has no function of this name without its extensions");
    }
}

/// Returns exactly `N` arguments.
fn exactly<'c, 'v, const N: usize>(
    arguments: Vec<CowVal<'c, 'v>>,
) -> Result<[CowVal<'c, 'v>; N], ExecutionError> {
    let actual = arguments.len();
    <[_; N]>::try_from(arguments).map_err(|_| ExecutionError::invalid_argument_count(N, actual))
}

fn value(value: &CowVal<'_, '_>) -> Result<Computed, ExecutionError> {
    Computed::try_from(value.as_ref())
}

fn owned<'c, 'v>(value: Computed) -> Given<'c, 'v> {
    Ok(CowVal::Owned(value.try_into()?))
}

fn sum<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [left, right] = exactly(arguments)?;
    // The budget is checked before the sum is built.
    meter.keep(size(&value(&left)?) + size(&value(&right)?))?;
    let no_sum = || {
        let types = [&left, &right].map(|operand| operand.get_type().name().to_owned());
        ExecutionError::no_such_overload("+", types.into())
    };
    let sum = left.as_adder().ok_or_else(no_sum)?.add(right.as_ref())?;
    Ok(CowVal::Owned(sum.into_owned()))
}

fn keep<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [kept] = exactly(arguments)?;
    meter.keep(size(&value(&kept)?))?;
    Ok(kept)
}

/// Returns the items of a list or the keys of a map for a loop, and counts its iterations. Keys are sorted, because
/// maps have no order and results would differ between runs.
fn each<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [range, nodes] = exactly(arguments)?;
    let content = value(&range)?;
    let Computed::Int(nodes) = value(&nodes)? else {
        return Err(ExecutionError::function_error(EACH, "no number of nodes"));
    };
    meter.keep(size(&content))?;
    let nodes = usize::try_from(nodes).unwrap_or(usize::MAX);
    match content {
        Computed::List(items) => {
            meter.turns(items.len(), nodes)?;
            Ok(range)
        }
        Computed::Map(map) => {
            meter.turns(map.map.len(), nodes)?;
            let mut keys: Vec<Key> = map.map.keys().cloned().collect();
            keys.sort();
            let keys: Vec<Computed> = keys.into_iter().map(Computed::from).collect();
            owned(Computed::List(keys.into()))
        }
        _ => Err(ExecutionError::function_error(
            EACH,
            "only lists and maps can be iterated",
        )),
    }
}

fn text(name: &str, argument: &CowVal<'_, '_>) -> Result<Arc<String>, ExecutionError> {
    match value(argument)? {
        Computed::String(text) => Ok(text),
        _ => Err(ExecutionError::function_error(
            name,
            format!("`{name}` takes strings"),
        )),
    }
}

fn split<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [whole, separator] = exactly(arguments)?;
    let (whole, separator) = (text("split", &whole)?, text("split", &separator)?);
    if separator.is_empty() {
        let words = "`split` needs a separator";
        return Err(ExecutionError::function_error("split", words));
    }
    let parts = whole.matches(separator.as_str()).count() + 1;
    meter.keep(whole.len() + parts * size(&Computed::Null))?;
    let parts = whole.split(separator.as_str()).map(Computed::from);
    let parts: Vec<Computed> = parts.collect();
    owned(Computed::List(parts.into()))
}

fn join<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [list, separator] = exactly(arguments)?;
    let separator = text("join", &separator)?;
    let Computed::List(items) = value(&list)? else {
        let words = "`join` takes a list of strings";
        return Err(ExecutionError::function_error("join", words));
    };
    let mut parts = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Computed::String(item) = item else {
            let words = "`join` takes a list of strings: `map(it, string(it))` makes one";
            return Err(ExecutionError::function_error("join", words));
        };
        parts.push(item.as_str());
    }
    let length: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    meter.keep(length)?;
    owned(parts.join(separator.as_str()).into())
}

fn replace<'c, 'v>(meter: &Meter, arguments: Vec<CowVal<'c, 'v>>) -> Given<'c, 'v> {
    let [whole, from, to] = exactly(arguments)?;
    let whole = text("replace", &whole)?;
    let (from, to) = (text("replace", &from)?, text("replace", &to)?);
    if from.is_empty() {
        let words = "`replace` needs a string to replace";
        return Err(ExecutionError::function_error("replace", words));
    }
    let times = whole.matches(from.as_str()).count();
    meter.keep(whole.len().saturating_add(times.saturating_mul(to.len())))?;
    owned(whole.replace(from.as_str(), to.as_str()).into())
}
