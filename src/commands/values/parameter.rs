//! A parameter in a site's file: what it is for, what it may be, and a value.

use schemas::{Parameter, ParameterName, ParameterType};
use serde_json::{Map, Value};

/// A parameter: what it is for, what it may be, and a value.
pub(super) fn of_parameter(name: &ParameterName, parameter: &Parameter) -> Vec<String> {
    let description = parameter.description.as_deref().unwrap_or_default();
    let mut lines: Vec<String> = description.lines().map(|it| format!("# {it}")).collect();
    lines.push(format!("# {}", kind(parameter)));
    if parameter.sensitive {
        lines.push(format!(
            "# {name}: only with `--values`, because other users can read this file"
        ));
        return lines;
    }
    let default = parameter.default.as_ref().or(parameter.values.first());
    let value = default.cloned().unwrap_or_else(|| example(parameter));
    lines.push(format!("{name}: {value}"));
    lines
}

/// What a parameter may be, in words.
fn kind(parameter: &Parameter) -> String {
    let Parameter {
        kind,
        default,
        values,
        format,
        pattern,
        minimum,
        maximum,
        generate,
        ..
    } = parameter;
    let mut words = vec![match kind {
        ParameterType::String => "a string".to_owned(),
        ParameterType::Integer => "an integer".to_owned(),
        ParameterType::Number => "a number".to_owned(),
        ParameterType::Boolean => "true or false".to_owned(),
        ParameterType::Array => "an array".to_owned(),
        ParameterType::Object => "an object".to_owned(),
    }];
    words.extend(format.map(|it| it.words().to_owned()));
    if !values.is_empty() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        words.push(format!("one of {}", values.join(", ")));
    }
    words.extend(pattern.as_ref().map(|it| format!("matching {it}")));
    words.extend(minimum.as_ref().map(|it| format!("at least {it}")));
    words.extend(maximum.as_ref().map(|it| format!("at most {it}")));
    words.push(match (default, generate) {
        (Some(_), _) => "with a default".to_owned(),
        (None, Some(_)) => "generated where none is given".to_owned(),
        (None, None) => "required".to_owned(),
    });
    words.join(", ")
}

/// A value of its type, where nobody has said one.
fn example(parameter: &Parameter) -> Value {
    let number = || parameter.minimum.clone().unwrap_or_else(|| 0.into());
    match parameter.kind {
        ParameterType::String => Value::from(""),
        ParameterType::Integer | ParameterType::Number => Value::from(number()),
        ParameterType::Boolean => Value::from(false),
        ParameterType::Array => Value::Array(Vec::new()),
        ParameterType::Object => Value::Object(Map::new()),
    }
}
