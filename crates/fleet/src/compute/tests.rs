//! Tests of the values that a fleet gives to one cluster.

use serde_json::json;

use super::*;

const FLEET: &str = "apiVersion: solutions.metalk8s.scality.com/v1alpha1
kind: SolutionFleet
metadata: {name: shops}
spec:
  site:
    pullSecret: login
    parameters:
      cart: {size: 1}
      shop:
        host: 'shop.${cluster.name}.example'
        replicas: 1
        domain: ${facts.domain}
        colours: [red, '${cluster.labels.tier}']
  clusters:
  - name: paris
    context: paris
    labels: {tier: prod}
    pullSecret: paris-login
    site:
      parameters:
        shop:
          limits: {memory: 2}
  - {name: lab, context: lab, labels: {tier: test}, site: {parameters: {shop: {domain: none}}}}
  groups:
  - name: prod
    selector: {matchLabels: {tier: prod}}
    site:
      parameters: {shop: {replicas: '${nodes.count}', colours: [blue]}}
      workloads:
      - {set: {replicas: '${nodes.count > 2 ? 2 : 1}'}}
  - name: all
    selector: {}
    site:
      parameters:
        shop:
          limits: '${{\"memory\": 1, \"cpu\": cluster.index + 1}}'
  solutions:
  - name: shop
    version: 1.0.0
    environment: prod
    site: {parameters: {shop: {size: large, replicas: 7}}}
  waves:
  - {name: one, groups: [all]}
";

#[test]
fn what_is_chosen_for_others_alone_chooses_nothing() {
    let others = FLEET.replace(
        "parameters: {shop: {replicas: '${nodes.count}', colours: [blue]}}",
        "parameters: {cart: {size: 2}}",
    );
    let ComputedSite { site, origins } = computed(&others, 0, Some("a.example")).unwrap();
    let site = serde_json::to_value(site).unwrap();
    assert!(!origins.is_empty());
    for place in origins.keys() {
        assert!(site.pointer(place).is_some(), "{place} is not in {site:#}");
    }
}

fn facts(file: &FleetFile, cluster: usize) -> Facts {
    let mut facts = Facts::of_file(&file.spec().clusters[cluster], cluster);
    facts.nodes = Some(crate::NodesFact {
        count: 3,
        architectures: Vec::new(),
        zones: Vec::new(),
    });
    facts
}

fn computed(text: &str, cluster: usize, domain: Option<&str>) -> Result<ComputedSite, Vec<String>> {
    let file = FleetFile::read("fleet.yaml", text.as_bytes()).unwrap();
    let members = Members::of(file.spec());
    let deployed = DeploymentIndex {
        cluster,
        solution: 0,
    };
    let mut facts = facts(&file, cluster);
    facts
        .queried
        .extend(domain.map(|name| ("domain".parse().unwrap(), json!(name))));
    let computed = compute(&file, &members, deployed, &facts);
    computed.map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

#[test]
fn the_closest_place_counts_and_maps_are_merged() {
    let ComputedSite { site, origins } = computed(FLEET, 0, Some("a.example")).unwrap();
    let expected = json!({"shop": {
        "host": "shop.paris.example",
        "replicas": 3,
        "domain": "a.example",
        "colours": ["blue"],
        "limits": {"memory": 2, "cpu": 1},
        "size": "large",
    }});
    assert_eq!(json!(site.parameters), expected);
    assert_eq!(site.pull_secret.unwrap().as_str(), "paris-login");
    assert_eq!(
        site.workloads[0].set.replicas.map(std::num::NonZero::get),
        Some(2)
    );
    let origin = |pointer: &str| {
        let ValueOrigin {
            layer,
            line,
            expression,
        } = &origins[pointer];
        (layer.to_string(), *line, expression.clone())
    };
    let from =
        |layer: &str, line, text: Option<&str>| (layer.to_owned(), line, text.map(str::to_owned));
    let shop = "/parameters/shop";
    for (pointer, expected) in [
        (
            "/host",
            from("fleet", 10, Some("shop.${cluster.name}.example")),
        ),
        ("/replicas", from("group prod", 28, Some("${nodes.count}"))),
        ("/colours/0", from("group prod", 28, None)),
        ("/limits/memory", from("cluster paris", 22, None)),
        (
            "/limits/cpu",
            from(
                "group all",
                36,
                Some("${{\"memory\": 1, \"cpu\": cluster.index + 1}}"),
            ),
        ),
        ("/size", from("solution shop in prod", 41, None)),
    ] {
        assert_eq!(origin(&format!("{shop}{pointer}")), expected, "{pointer}");
    }
    assert_eq!(origin("/pullSecret").0, "cluster paris");
    assert!(!origins.contains_key("/parameters/shop/colours/1"));
}

#[test]
fn what_something_closer_decides_is_not_computed() {
    let site = computed(FLEET, 1, None).unwrap().site;
    let shop = json!(site.parameters)["shop"].clone();
    assert_eq!(shop["domain"], "none");
    assert_eq!(shop["replicas"], 7);
    assert_eq!(shop["colours"], json!(["red", "test"]));
    assert_eq!(shop["limits"], json!({"memory": 1, "cpu": 2}));
}

#[test]
fn what_has_no_value_is_told_with_cluster_and_line_and_all_of_it() {
    let refused = computed(FLEET, 0, None).unwrap_err();
    let expected = "fleet.yaml, line 12, cluster paris: `${facts.domain}` needs `facts.domain`, which is not known for this cluster";
    assert_eq!(refused, [expected]);
    let two = FLEET.replacen(
        "host: 'shop.${cluster.name}",
        "host: '${cluster.labels.size}",
        1,
    );
    let refused = computed(&two, 0, None).unwrap_err();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused[1].starts_with("fleet.yaml, line 10, cluster paris: `${cluster.labels.size}.example`: there is no `size`"), "{refused:?}");
}

#[test]
fn what_no_site_can_choose_is_told_with_its_source() {
    let wrong = FLEET.replacen(
        "{set: {replicas: '${nodes.count > 2 ? 2 : 1}'}}",
        "{set: {replicas: '${cluster.name}'}}",
        1,
    );
    let refused = computed(&wrong, 0, Some("a")).unwrap_err();
    let words = "fleet.yaml, line 30, cluster paris: `/workloads/0` (from group prod): invalid type: string \"paris\"";
    assert!(refused[0].starts_with(words), "{refused:?}");
}

#[test]
fn an_expression_may_give_all_values_of_which_those_of_others_are_left() {
    let text = FLEET.replacen(
        "site: {parameters: {shop: {size: large, replicas: 7}}}",
        "site: {parameters: \"${{'shop': {'size': 1}, 'Cart': 2}}\"}",
        1,
    );
    let site = computed(&text, 0, Some("a")).unwrap().site;
    assert_eq!(json!(site.parameters)["shop"]["size"], 1);
    assert_eq!(site.parameters.len(), 1);
}

/// The first example of the documentation page, unchanged.
#[test]
fn the_page_says_what_expressions_give() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/how-to/operate/fleets.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("\n## Expressions\n").unwrap();
    let example = page.split("```yaml\n").nth(1).unwrap();
    let lines = example.split("```").next().unwrap().lines();
    let site: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    let (head, rest) = FLEET.split_once("  site:\n").unwrap();
    let (_, rest) = rest.split_once("  clusters:\n").unwrap();
    let groups = rest.find("  groups:\n").unwrap();
    let without_groups =
        "  groups: []\n  solutions:\n  - {name: shop, version: 1.0.0, environment: prod}\n";
    let text = format!(
        "{head}{}\n  clusters:\n{}{without_groups}",
        site.join("\n"),
        &rest[..groups]
    );
    let file = FleetFile::read("fleet.yaml", text.as_bytes()).unwrap();
    let mut facts = facts(&file, 1);
    facts.nodes.as_mut().unwrap().count = 5;
    facts.pod_cidrs = Some(vec!["10.1.0.0/16".to_owned()]);
    let deployed = DeploymentIndex {
        cluster: 1,
        solution: 0,
    };
    let computed = compute(&file, &Members::of(file.spec()), deployed, &facts).unwrap();
    let expected = json!({"shop": {
        "host": "shop.lab.example",
        "replicas": 3,
        "pools": [{"cidr": "10.1.0.0/16"}],
        "zone": "a",
        "script": "echo ${HOME}",
        "domain": "none",
    }});
    assert_eq!(json!(computed.site.parameters), expected);
}

/// Compares with Helm's merge of values, which also applies to a site's file, for literal values and for expressions.
#[test]
fn values_are_merged_as_those_of_sites_are() {
    // A linear congruential generator (Knuth, MMIX): the same values in every run.
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for _ in 0..300 {
        let layers = [0; 3].map(|_| Layer::random(3, &mut next));
        merged_alike(&layers);
    }
}

/// A map of values, and the same map in a fleet, where any value may be an expression.
struct Layer {
    plain: String,
    written: String,
}

impl Layer {
    /// A map with few keys, so that multiple maps often have the same ones.
    fn random(depth: usize, next: &mut dyn FnMut(usize) -> usize) -> Self {
        let (mut plain, mut written) = (Vec::new(), Vec::new());
        for key in ["a", "b", "c"] {
            let value = match next(if depth == 0 { 5 } else { 9 }) {
                0 | 1 => continue,
                2 => Self::same(next(3).to_string()),
                3 => Self::same("null".to_owned()),
                4 => Self::same(r#"[1, {"a": 2}]"#.to_owned()),
                _ => Self::random(depth - 1, next),
            };
            plain.push(format!(r#""{key}": {}"#, value.plain));
            written.push(match next(4) {
                0 => format!(r#""{key}": '${{{}}}'"#, value.plain),
                _ => format!(r#""{key}": {}"#, value.written),
            });
        }
        Self {
            plain: format!("{{{}}}", plain.join(", ")),
            written: format!("{{{}}}", written.join(", ")),
        }
    }

    fn same(plain: String) -> Self {
        let written = plain.clone();
        Self { plain, written }
    }
}

#[track_caller]
fn merged_alike(layers: &[Layer; 3]) {
    let site = |layer: &Layer| {
        let values = &layer.written;
        format!("site: {{charts: {{shop: {{db: {{values: {values}}}}}}}}}")
    };
    let [fleet, group, cluster] = layers.each_ref().map(site);
    let text = format!(
        "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionFleet\nmetadata: {{name: a}}\nspec:\n  {fleet}\n  clusters:\n  - name: a\n    {cluster}\n  groups:\n  - name: g\n    selector: {{}}\n    {group}\n  solutions: [{{name: shop, version: 1.0.0, environment: prod}}]\n"
    );
    let ComputedSite { site, origins } = computed(&text, 0, None).unwrap();
    let values = json!(site.charts[&"shop".parse().unwrap()][&"db".parse().unwrap()].values);
    let mut expected = Map::new();
    for layer in layers {
        schemas::merge_values(&mut expected, &serde_json::from_str(&layer.plain).unwrap());
    }
    assert_eq!(values, Value::Object(expected), "{text}");
    // Every value has an origin, and there are no other origins.
    let mut leaves = Vec::new();
    leaves_of(&values, "/charts/shop/db/values", &mut leaves);
    leaves.sort();
    let known: Vec<String> = origins.into_keys().collect();
    assert_eq!(known, leaves, "{text}");
}

fn leaves_of(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                leaves_of(value, &within(path, key), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                leaves_of(item, &within(path, &at.to_string()), found);
            }
        }
        _ => found.push(path.to_owned()),
    }
}
