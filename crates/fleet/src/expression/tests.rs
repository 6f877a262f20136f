//! Tests of expressions: results with their types, and hostile expressions.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::*;

fn facts() -> Value {
    json!({
        "cluster": {
            "name": "paris",
            "index": 2,
            "labels": {"tier": "prod", "example.com/zone": "b", "a": "1"},
            "kubernetes": {"text": "v1.36.2", "major": 1, "minor": 36},
        },
        "nodes": {"count": 5, "architectures": ["amd64", "arm64"], "zones": []},
        "network": {"podCIDRs": ["10.1.0.0/16"], "serviceCIDRs": ["10.96.0.0/12"]},
        "storageClasses": ["fast", "slow"],
        "facts": {"ratio": 0.5, "negative": -7, "nothing": null},
    })
}

fn computed_with(source: &str, facts: &Value) -> Result<Value, ExpressionError> {
    let evaluator = Evaluator::new(facts.as_object().unwrap())?;
    evaluator.evaluate(&Expression::parse(source)?)
}

fn computed(source: &str) -> Result<Value, ExpressionError> {
    computed_with(source, &facts())
}

#[test]
fn expressions_give_what_a_reader_expects_with_its_type() {
    for (source, expected) in [
        ("cluster.index", json!(2)),
        ("cluster.index * 2 + 1", json!(5)),
        ("type(cluster.index) == int", json!(true)),
        ("nodes.count > 3 ? 3 : nodes.count", json!(3)),
        ("-7 % 3", json!(-1)),
        ("facts.negative / 2", json!(-3)),
        ("nodes.count / 2", json!(2)),
        ("double(nodes.count) / 2.0", json!(2.5)),
        ("facts.ratio * 2.0", json!(1.0)),
        ("facts.ratio < 1", json!(true)),
        ("facts.nothing == null", json!(true)),
        ("facts.nothing", json!(null)),
        ("cluster.kubernetes.minor >= 30", json!(true)),
        ("cluster.labels.tier == 'prod'", json!(true)),
        ("cluster.labels['example.com/zone']", json!("b")),
        ("'tier' in cluster.labels", json!(true)),
        ("has(cluster.labels.size)", json!(false)),
        (
            "has(cluster.labels.size) ? cluster.labels.size : 's'",
            json!("s"),
        ),
        ("cluster.labels[?'size'].orValue('s')", json!("s")),
        ("cluster.labels.?tier.orValue('s')", json!("prod")),
        ("size(nodes.architectures)", json!(2)),
        ("nodes.zones", json!([])),
        (
            "size(nodes.zones) == 0 ? ['none'] : nodes.zones",
            json!(["none"]),
        ),
        ("storageClasses[0]", json!("fast")),
        ("'slow' in storageClasses", json!(true)),
        (
            "storageClasses.map(it, {'name': it, 'size': size(it)})",
            json!([{"name": "fast", "size": 4}, {"name": "slow", "size": 4}]),
        ),
        (
            "storageClasses.filter(it, it.startsWith('f'))",
            json!(["fast"]),
        ),
        ("storageClasses.exists(it, it == 'slow')", json!(true)),
        ("storageClasses.all(it, it.endsWith('w'))", json!(false)),
        (
            "storageClasses.map(it, it + '-x').join(',')",
            json!("fast-x,slow-x"),
        ),
        (
            "network.podCIDRs + network.serviceCIDRs",
            json!(["10.1.0.0/16", "10.96.0.0/12"]),
        ),
        ("network.podCIDRs[0].split('/')[1]", json!("16")),
        ("int(network.podCIDRs[0].split('/')[1]) + 1", json!(17)),
        (
            "cluster.name.replace('pa', 'o') + string(cluster.index)",
            json!("oris2"),
        ),
        ("'1.10'", json!("1.10")),
        (
            "{'replicas': nodes.count, 'on': true}",
            json!({"replicas": 5, "on": true}),
        ),
        ("1u", json!(1)),
        ("1.0", json!(1.0)),
        // Loops over maps run in the order of the keys.
        (
            "cluster.labels.map(it, it)",
            json!(["a", "example.com/zone", "tier"]),
        ),
    ] {
        assert_eq!(computed(source).as_ref(), Ok(&expected), "{source}");
    }
}

#[test]
fn what_goes_wrong_is_said() {
    for (source, words) in [
        ("cluster.labels.size", "there is no `size`"),
        ("storageClasses[7]", "no such element"),
        ("1 / (cluster.index - 2)", "division by zero"),
        ("9223372036854775807 + cluster.index", "beyond 64 bits"),
        ("nodes.count + '1'", "cannot add int and string"),
        ("'a' < 1", "no matching overload"),
        (
            "storageClasses.map(it, size(it)).join(',')",
            "`map(it, string(it))` makes one",
        ),
        ("'a'.split('')", "needs a separator"),
        ("'a'.replace('', 'b')", "needs a string to replace"),
        ("'a'.join(',')", "takes a list"),
        ("[1, 2].join(1)", "takes strings"),
        ("1.map(it, it)", "only lists and maps"),
        ("1 +", "is not CEL"),
        ("", "is not CEL"),
        ("a }", "is not CEL"),
        ("'a'.matches('.*')", "no function `matches`"),
        ("'a'.spilt(',')", "no function `spilt`"),
        ("b'a'", "its result is bytes"),
        ("optional.of(1)", "its result is an optional value"),
        ("{1: 2}", "keys that are no texts"),
        ("1.0 / 0.0", "not finite"),
        ("Foo{a: 1}", "struct"),
        ("@keep(1)", "is not CEL"),
    ] {
        let refused = computed(source).unwrap_err().to_string();
        assert!(refused.contains(words), "{source}: {refused}");
        assert!(refused.len() < 500, "{source}: {refused}");
    }
    let unknown = Expression::parse("'a'.spilt(',')").unwrap_err();
    let near = Some("split");
    let name = "spilt".to_owned();
    assert_eq!(unknown, ExpressionError::Function { name, near });
}

#[test]
fn the_facts_that_an_expression_cannot_do_without_are_known() {
    for (source, expected) in [
        ("1 + 1", &[][..]),
        (
            "cluster.labels.tier + cluster.name",
            &["cluster.labels", "cluster.name"],
        ),
        ("cluster['name']", &["cluster.name"]),
        ("nodes.count", &["nodes"]),
        ("facts.domain.size", &["facts.domain"]),
        ("facts['domain']", &["facts.domain"]),
        ("facts[cluster.name]", &["cluster.name", "facts"]),
        (
            "storageClasses.map(it, it + cluster.name)",
            &["cluster.name", "storageClasses"],
        ),
        (
            "storageClasses.map(nodes, nodes + 'a')",
            &["storageClasses"],
        ),
        ("has(facts.a) ? facts.a : facts.b", &["facts.b"]),
        ("facts.?a.orValue(facts.b)", &["facts.b"]),
        ("facts[?'a'].orValue('')", &[]),
        ("optional.of(facts.a).value()", &["facts.a"]),
        ("type(nodes.count) == int", &["nodes"]),
        ("foo.bar", &["foo"]),
    ] {
        let expression = Expression::parse(source).unwrap();
        let references: Vec<&str> = expression.references().iter().map(String::as_str).collect();
        assert_eq!(references, expected, "{source}");
    }
}

/// Evaluates on a stack as small as any thread's, in a time that users accept.
#[track_caller]
fn hostile(source: &str, facts: &Value) -> Result<Value, ExpressionError> {
    let begun = Instant::now();
    let answer = std::thread::scope(|scope| {
        let small = std::thread::Builder::new().stack_size(64 * 1024);
        let running = small.spawn_scoped(scope, || computed_with(source, facts));
        running.unwrap().join().unwrap()
    });
    let shown: String = source.chars().take(80).collect();
    assert!(begun.elapsed() < Duration::from_secs(10), "{shown}");
    assert_ne!(answer, Err(ExpressionError::Broken), "{shown}");
    answer
}

#[test]
fn long_deep_and_large_expressions_are_refused_before_they_are_read() {
    let facts = facts();
    for (source, expected) in [
        ("1+".repeat(20_000) + "1", ExpressionError::Long),
        ("(".repeat(100_000), ExpressionError::Long),
        ("(".repeat(500) + &")".repeat(500), ExpressionError::Deep),
        ("[".repeat(25), ExpressionError::Deep),
        ("{'a':".repeat(25), ExpressionError::Deep),
        ("1+".repeat(500) + "1", ExpressionError::Large),
        ("a".to_owned() + &".a".repeat(250), ExpressionError::Large),
    ] {
        let answer = hostile(&source, &facts);
        assert_eq!(answer, Err(expected), "{}", &source[..20]);
    }
    // The parser has its own limit for these.
    for source in [
        "true?1:".repeat(140) + "1",
        "!".repeat(1000) + "true",
        "-".repeat(1000) + "1",
        "a[".repeat(24) + "0" + &"]".repeat(24),
        "1<".repeat(90) + "1",
        "'a'+".repeat(90) + "'a'",
        "true||".repeat(90) + "true",
        "((((((((((((((((((((((((1))))))))))))))))))))))))".to_owned(),
        "\u{1F600}'\u{0}".to_owned(),
        "'\\u{110000}'".to_owned(),
        "'\\ud800'".to_owned(),
        "99999999999999999999".to_owned(),
        "1e999999".to_owned(),
        "0x".to_owned(),
        "'\\x'".to_owned(),
        "has(1)".to_owned(),
        "a.map(1, 2)".to_owned(),
        "a.map()".to_owned(),
        "[1].map(it, it, it)".to_owned(),
        "{'a': 1, 'a': 2}".to_owned(),
        "-9223372036854775808".to_owned(),
        "-(-9223372036854775807 - 1)".to_owned(),
        "(-9223372036854775807 - 1) / -1".to_owned(),
        "(-9223372036854775807 - 1) % -1".to_owned(),
        "int(1e300)".to_owned(),
        "uint(-1)".to_owned(),
        "1u - 2u".to_owned(),
        "'a'[0]".to_owned(),
        "[1][-1]".to_owned(),
        "[1][1.5]".to_owned(),
        "string(b'\\xff')".to_owned(),
        ".".repeat(1000),
        "\"".repeat(1000),
        "a?".repeat(500),
        "[".repeat(24) + &"]".repeat(24),
        "{".repeat(24),
        ",".repeat(1000),
    ] {
        let _ = hostile(&source, &facts);
    }
}

#[test]
fn loops_in_and_after_each_other_are_refused() {
    for source in [
        "[1].map(a, [1].map(b, [1].map(c, 1)))",
        "[1].map(a, 1).map(b, 1).map(c, 1)",
        "[1].filter(a, [1].all(b, [1].exists(c, true)))",
        "['a'].map(t, t+t).map(t, t+t).map(t, t+t)",
    ] {
        assert_eq!(computed(source), Err(ExpressionError::Nested), "{source}");
    }
    let two = "storageClasses.map(a, storageClasses.map(b, a + b))";
    assert_eq!(computed(two).unwrap()[1][0], json!("slowfast"));
}

#[test]
fn what_runs_long_or_grows_is_ended() {
    let numbers: Vec<usize> = (0..2000).collect();
    let text = "x".repeat(20_000);
    let facts = json!({"facts": {"numbers": numbers, "text": text}});
    let adds = vec!["facts.text"; 60].join("+");
    let replaced = ".replace('x', 'xxxxxxxxxxxxxxxx')".repeat(12);
    for source in [
        "facts.numbers.map(a, facts.numbers.map(b, a * b))".to_owned(),
        "facts.numbers.all(a, facts.numbers.all(b, a + b >= 0))".to_owned(),
        "facts.numbers.exists(a, facts.numbers.exists(b, a + b < 0))".to_owned(),
        "facts.numbers.filter(a, facts.numbers.exists(b, b < 0))".to_owned(),
        "facts.numbers.map(a, facts.text)".to_owned(),
        "facts.numbers.map(a, [facts.text, facts.text])".to_owned(),
        "facts.numbers.map(a, {'a': facts.text})".to_owned(),
        "facts.numbers.map(a, optional.of(facts.text))".to_owned(),
        "facts.numbers.map(a, facts.text == facts.text && facts.text + 'a' != facts.text)"
            .to_owned(),
        format!("'x'{replaced}"),
        format!("facts.text{}", ".split('x').join('xxxxxxxx')".repeat(12)),
        adds,
        "facts.numbers.map(a, facts.text.split('x'))".to_owned(),
        // An exhausted budget is reported even if `||` or `exists` discards its error.
        "true || size(facts.text + facts.text + facts.text + facts.text) > 0 || true".to_owned(),
    ] {
        let answer = hostile(&source, &facts);
        let is_ended = answer == Err(ExpressionError::Exhausted);
        let is_short = source.starts_with("true ||") && answer == Ok(json!(true));
        assert!(
            is_ended || is_short,
            "{}: {:?}",
            &source[..40.min(source.len())],
            answer.err()
        );
    }
    let absorbed = "facts.numbers.exists(a, size(facts.text + facts.text + facts.text + facts.text) == 0 || a == 5)";
    assert_eq!(hostile(absorbed, &facts), Err(ExpressionError::Exhausted));
    // Few items with much work for each.
    let few: Vec<usize> = (0..60).collect();
    let few = json!({"facts": {"few": few}});
    let body = |terms: usize| vec!["a * b >= 0"; terms].join(" && ");
    let loops = |terms| format!("facts.few.all(a, facts.few.all(b, {}))", body(terms));
    assert_eq!(hostile(&loops(1), &few), Ok(json!(true)));
    assert_eq!(hostile(&loops(20), &few), Err(ExpressionError::Exhausted));
    // The intermediate values fit, but the result does not.
    let result = "[facts.text, facts.text, facts.text, facts.text]";
    assert_eq!(hostile(result, &facts), Err(ExpressionError::Result));
    // Each expression has its own budget.
    let evaluator = Evaluator::new(facts.as_object().unwrap()).unwrap();
    let fits = Expression::parse("size(facts.numbers.map(a, a * 2))").unwrap();
    for _ in 0..5 {
        assert_eq!(evaluator.evaluate(&fits), Ok(json!(2000)));
    }
}

#[test]
fn facts_are_bounded_and_their_numbers_exact() {
    let large = json!({"facts": {"a": "x".repeat(limits::VALUE_SIZE)}});
    let refused = Evaluator::new(large.as_object().unwrap()).err();
    assert_eq!(refused, Some(ExpressionError::Facts));
    let beyond = json!({"facts": {"a": u64::MAX}});
    let refused = Evaluator::new(beyond.as_object().unwrap()).err();
    assert_eq!(refused, Some(ExpressionError::Number(u64::MAX.to_string())));
    let least = json!({"facts": {"a": i64::MIN}});
    assert_eq!(computed_with("facts.a", &least), Ok(json!(i64::MIN)));
}

/// Random sequences of tokens: each of them results in a value or an error, never in a panic.
#[test]
fn no_text_panics_or_runs_without_end() {
    const PIECES: [&str; 44] = [
        "1",
        "-",
        "+",
        "*",
        "/",
        "%",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
        "!",
        "&&",
        "||",
        "==",
        "<",
        "in",
        "'a'",
        "\"",
        "'",
        "\\",
        "facts",
        "cluster",
        "nodes.count",
        ".map(a, ",
        ".filter(a, ",
        ".exists(a, ",
        "a",
        "has(",
        "size(",
        "true",
        "null",
        "1.5",
        "2u",
        "b'a'",
        " ",
        "\n",
        "//",
        "`",
    ];
    let facts = facts();
    // The same texts in every run: a linear congruential generator (Knuth, MMIX).
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut answers = 0;
    for _ in 0..1500 {
        let mut source = String::new();
        for _ in 0..=next(14) {
            write!(source, "{}", PIECES[next(PIECES.len())]).unwrap();
        }
        answers += usize::from(hostile(&source, &facts).is_ok());
    }
    assert!(answers > 10, "{answers}");
}
