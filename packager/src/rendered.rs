//! The analysis of rendered manifests: their objects, the objects outside the namespace, values of unexpected types,
//! and the images that a chart's annotations list. The entry point is [`objects`]; the other functions analyse its
//! result.

use std::collections::BTreeSet;

use charts::Chart;
use manifests::reference::normal;
use manifests::{ObjectKinds, RenderedLine, RenderedObject};
use rules::catalogue::source::RENDERING;
use rules::catalogue::{FindingInfo, advice};
use rules::{self, Reach};
use schemas::{ImageReference, ReleaseName, yaml};
use serde_json::{Map, Value};

use validator::ErrorChain;

use crate::error::PackError;

/// Returns the place of an object in words.
pub(crate) fn place(object: &RenderedObject, release: &ReleaseName) -> String {
    let file = &object.file;
    format!("`{file}` of the chart `{release}`, {}", title(object))
}

/// Returns the place of an object in words, without the chart.
pub(crate) fn place_within(object: &RenderedObject) -> String {
    format!("`{}`, {}", object.file, title(object))
}

fn title(object: &RenderedObject) -> String {
    let shown = |pointer| manifests::display_text(manifests::text(&object.value, pointer));
    format!("{} `{}`", shown("/kind"), shown("/metadata/name"))
}

/// Returns the rendered objects of a chart.
pub(crate) fn objects(
    release: &ReleaseName,
    chart: &Chart,
    rendering: &[u8],
) -> Result<Vec<RenderedObject>, UnrenderedChart> {
    manifests::rendered(rendering).map_err(|error| {
        let place = place_in_template(chart, rendering, error.line());
        let error = ErrorChain(&error).to_string();
        let info = if error.contains(yaml::go::AMBIGUOUS) {
            &advice::AMBIGUOUS
        } else {
            &RENDERING
        };
        let words =
            format!("cannot read the rendered manifests of the chart `{release}`: {error}{place}");
        UnrenderedChart::Refused(info, words)
    })
}

/// Returns the template of a line in a rendering in words, and the line in the template if its text is unique there.
/// Publishers edit templates and do not see the rendering.
fn place_in_template(chart: &Chart, rendering: &[u8], line: Option<usize>) -> String {
    let found = line.and_then(|number| manifests::rendered_line(rendering, number));
    let Some(RenderedLine { file, text }) = found else {
        return String::new();
    };
    let path = file.split_once('/').map_or("", |(_, path)| path);
    let template = String::from_utf8_lossy(chart.file(path).unwrap_or_default());
    let lines = (1..).zip(template.lines());
    let mut same = lines.filter(|(_, line)| line.trim() == text);
    let near = match (same.next(), same.next()) {
        (Some((number, _)), None) if !text.is_empty() => format!(", near line {number}"),
        _ => String::new(),
    };
    let file = manifests::display_text(&file);
    format!("; this line of the rendering comes from `{file}`{near}")
}

/// The reason why the objects of a chart are not known or cannot be installed.
#[derive(Debug)]
pub(crate) enum UnrenderedChart {
    /// The chart or its values are at fault: the finding and its message.
    Refused(&'static FindingInfo, String),
    /// A placeholder in the values is invalid, which is already a finding.
    Known,
    /// The rendering failed for another reason.
    Failed(PackError),
}

/// The parts of a chart that are outside its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalParts {
    /// The kind and name of each cluster-scoped object and of each object in another namespace.
    pub objects: Vec<String>,
    /// The risks of its ClusterRoles, in the words of [`rules::Danger`].
    pub dangers: BTreeSet<&'static str>,
}

/// Returns the parts of a release in this namespace that are outside of it.
pub(crate) fn reaches_out(objects: &[RenderedObject], namespace: &str) -> ExternalParts {
    let values = || objects.iter().map(|object| &object.value);
    let kinds = ObjectKinds::new(values().filter(|object| rules::is_definition(object)));
    let own = BTreeSet::from([namespace]);
    let external = values().filter(|object| kinds.reaches_out(object, &own));
    let title = |object: &Value| {
        let shown = |pointer| manifests::display_text(manifests::text(object, pointer));
        format!("{} {}", shown("/kind"), shown("/metadata/name"))
    };
    let roles = values().filter(|object| manifests::text(object, "/kind") == "ClusterRole");
    // The API server refuses invalid roles, so they grant no rights.
    let rights = roles.filter_map(|role| rules::rights(role, &Reach::Cluster).ok());
    let dangers = rights
        .flatten()
        .filter_map(|right| right.danger().map(|danger| danger.words));
    ExternalParts {
        objects: external.map(title).collect(),
        dangers: dangers.collect(),
    }
}

/// Fields for which the API server only accepts strings.
const TEXTS: [&str; 6] = [
    "labels",
    "annotations",
    "matchLabels",
    "nodeSelector",
    "args",
    "command",
];

/// Returns the first place, as a JSON pointer, where a string is expected and YAML 1.1 parses another type, such as for
/// `on`, `y` or `1.10`.
pub(crate) fn no_text(object: &Value) -> Option<String> {
    let mut open = vec![(object, String::new())];
    while let Some((value, pointer)) = open.pop() {
        let fields = value.as_object().into_iter().flatten();
        for (key, field) in fields {
            let of_variable = key == "value" && pointer.contains("/env/");
            let of_config = key == "data" && pointer.is_empty();
            let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            if of_variable && is_other_scalar(field) {
                return Some(pointer);
            }
            if TEXTS.contains(&key.as_str()) || of_config {
                let within = field
                    .as_object()
                    .into_iter()
                    .flat_map(|object| object.values());
                let within = within.chain(field.as_array().into_iter().flatten());
                if within.into_iter().any(is_other_scalar) {
                    return Some(pointer);
                }
            }
            open.push((field, pointer));
        }
        let items = value.as_array().into_iter().flatten().enumerate();
        open.extend(items.map(|(index, item)| (item, format!("{pointer}/{index}"))));
    }
    None
}

fn is_other_scalar(value: &Value) -> bool {
    value.is_boolean() || value.is_number()
}

/// The annotation in `Chart.yaml` for the images of a chart, which is a Helm convention.
pub(crate) const ANNOTATION: &str = "helm.sh/images";

/// The annotation in `Chart.yaml` for scanners of images, which is an Artifact Hub convention.
pub(crate) const FOR_SCANNERS: &str = "artifacthub.io/images";

/// Returns the images in an annotation that are needed with these values, each with its index. Returns `None` if the
/// annotation is invalid.
pub(crate) fn annotated(
    text: &str,
    values: &Map<String, Value>,
) -> Option<Vec<(usize, ImageReference)>> {
    let images: Vec<Value> = yaml::from_slice(text.as_bytes()).ok()?;
    let mut listed = Vec::new();
    for (number, image) in images.iter().enumerate() {
        let text = |key: &str| image.get(key).and_then(Value::as_str);
        let reference = normal(text("image")?)?;
        if text("condition").is_none_or(|condition| is_met(condition, values)) {
            listed.push((number, reference));
        }
    }
    Some(listed)
}

/// Returns true if a condition holds. Like for dependencies in Helm, the first existing value in the list decides.
fn is_met(condition: &str, values: &Map<String, Value>) -> bool {
    let value = |path: &str| {
        let mut steps = path.trim().split('.');
        let first = values.get(steps.next()?)?;
        steps
            .try_fold(first, |value, step| value.get(step))?
            .as_bool()
    };
    condition.split(',').find_map(value).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RENDERED: &str = "---
# Source: web/templates/a.yaml
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
# Source: web/charts/db/templates/b.yaml
# more
apiVersion: v1
kind: List
items: [{kind: Secret, metadata: {name: b}}, {kind: Secret, metadata: {name: c}}]
";

    /// Returns a chart with one template.
    fn chart(template: &str) -> Chart {
        let metadata = "{apiVersion: v2, name: web, version: 1.0.0}";
        let files = [("Chart.yaml", metadata), ("templates/a.yaml", template)];
        let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        Chart::read(&charts::package(&files.into()).unwrap()).unwrap()
    }

    fn of(text: &str) -> Result<Vec<RenderedObject>, UnrenderedChart> {
        objects(&"shop".parse().unwrap(), &chart(""), text.as_bytes())
    }

    #[test]
    fn what_readers_understand_differently_is_refused_with_its_line_in_the_template() {
        const TEMPLATE: &str =
            "# {{ .Chart.Name }}\nkind: ConfigMap\n{{ if true }}\ndata:\n    \"1\": b\n{{ end }}\n";
        const FILE: &str = "---\n# Source: web/templates/a.yaml\n";
        let said = |template: &str, rendering: &str| {
            let rendering = format!("{FILE}kind: Secret\n{FILE}{rendering}");
            match objects(
                &"shop".parse().unwrap(),
                &chart(template),
                rendering.as_bytes(),
            ) {
                Err(UnrenderedChart::Refused(info, said)) => (info.fix, said),
                other => panic!("{other:?}"),
            }
        };
        let keys = "# web\nkind: ConfigMap\ndata:\n  1: a\n  \"1\": b\n";
        let (fix, words) = said(TEMPLATE, keys);
        assert!(fix.starts_with("change the template"), "{fix}");
        let place = "at line 10, column 3; this line of the rendering comes from `web/templates/a.yaml`, near line 5";
        assert!(words.ends_with(place), "{words}");
        // If the text is repeated or results from an expression, the line in the template is unknown.
        for template in [&TEMPLATE.repeat(2), &TEMPLATE.replace("\"1\"", "{{ 1 }}")] {
            let (_, words) = said(template, keys);
            assert!(
                words.ends_with("comes from `web/templates/a.yaml`"),
                "{words}"
            );
        }
        let (fix, words) = said("a: b\n---c: d\n", "a: b\n---c: d\n");
        assert!(fix.starts_with("change the template"), "{fix}");
        assert!(
            words.ends_with("comes from `web/templates/a.yaml`, near line 2"),
            "{words}"
        );
        // YAML that every parser refuses has the general advice.
        let (fix, _) = said(TEMPLATE, "a: [\n");
        assert_eq!(fix, RENDERING.fix);
    }

    #[test]
    fn objects_are_known_by_their_template() {
        let places: Vec<String> = of(RENDERED)
            .unwrap()
            .iter()
            .map(|object| place(object, &"shop".parse().unwrap()))
            .collect();
        let expected = [
            "`web/templates/a.yaml` of the chart `shop`, ConfigMap `a`",
            "`web/charts/db/templates/b.yaml` of the chart `shop`, Secret `b`",
            "`web/charts/db/templates/b.yaml` of the chart `shop`, Secret `c`",
        ];
        assert_eq!(places, expected);
        let broken = RENDERED.replace("name: a}", "name: a");
        let Err(UnrenderedChart::Refused(info, said)) = of(&broken) else {
            panic!("it was read");
        };
        let words = "cannot read the rendered manifests of the chart `shop`: `web/templates/a.yaml` renders to invalid YAML";
        assert_eq!(info.id, "source.rendering");
        assert!(said.starts_with(words), "{said}");
    }

    #[test]
    fn what_reaches_beyond_the_namespace_is_found() {
        let text = "{kind: ClusterRole, apiVersion: rbac.authorization.k8s.io/v1, metadata: {name: r}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get, list, watch]}]}
---
{kind: Service, apiVersion: v1, metadata: {name: s, namespace: kube-system}}
---
{kind: Service, apiVersion: v1, metadata: {name: s, namespace: shop}}
---
{kind: Service, apiVersion: v1, metadata: {name: t}}
";
        let found = reaches_out(&of(text).unwrap(), "shop");
        assert_eq!(found.objects, ["ClusterRole r", "Service s"]);
        assert_eq!(found.dangers.len(), 1, "{found:?}");
    }

    #[test]
    fn texts_that_yaml_reads_otherwise_are_found() {
        for (text, pointer) in [
            ("{metadata: {labels: {app: n}}}", "/metadata/labels"),
            (
                "{spec: {template: {metadata: {annotations: {a/b: 1.10}}}}}",
                "/spec/template/metadata/annotations",
            ),
            ("{kind: ConfigMap, data: {port: 80}}", "/data"),
            (
                "{spec: {containers: [{env: [{name: A, value: on}]}]}}",
                "/spec/containers/0/env/0/value",
            ),
            (
                "{spec: {containers: [{args: [--port, 80]}]}}",
                "/spec/containers/0/args",
            ),
        ] {
            let of_kind = |text: &str| no_text(&of(text).unwrap()[0].value);
            assert_eq!(of_kind(text).as_deref(), Some(pointer), "{text}");
            let quoted = ["n", "1.10", "on", "80"]
                .iter()
                .fold(text.to_owned(), |text, word| {
                    text.replace(&format!(" {word}}}"), &format!(" '{word}'}}"))
                        .replace(&format!(" {word}]"), &format!(" '{word}']"))
                });
            assert_eq!(of_kind(&quoted), None, "{quoted}");
        }
        let values = of("{spec: {replicas: 3, paused: true, data: {a: 1}}}").unwrap();
        assert_eq!(no_text(&values[0].value), None);
    }

    #[test]
    fn images_that_a_chart_lists_count_where_their_condition_holds() {
        let text = "- {name: a, image: 'r.test/a:1'}
- {name: b, image: 'r.test/b:1', condition: 'b.enabled,global.b'}
- {name: c, image: 'r.test/c:1', condition: 'none.enabled'}
";
        let listed = |values: Value| {
            let listed = annotated(text, values.as_object().unwrap()).unwrap();
            listed
                .into_iter()
                .map(|(number, _)| number)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            listed(json!({"b": {"enabled": false}, "global": {"b": true}})),
            [0, 2]
        );
        assert_eq!(listed(json!({"global": {"b": true}})), [0, 1, 2]);
        for text in ["a: b", "- r.test/a:1", "- {image: 'A B'}", "["] {
            assert_eq!(annotated(text, &Map::new()), None, "{text}");
        }
    }
}
