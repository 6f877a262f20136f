//! Changes to an archive with sets of manifests. Each case starts from a good archive.

use crate::mistakes::Case;

const WEB: &str = "manifests/web/0001-deployment-web.yaml";
const ROLES: &str = "manifests/web/0003-clusterrolebinding-web.yaml";
const CONFIG: &str = "manifests/web/0004-configmap-web.yaml";
const NOTES: &str = "manifests/notes/0001-configmap-notes.yaml";

pub(crate) const CASES: &[Case] = &[
    ("good", |s| s.carry(), &[]),
    (
        "definitions without an operator",
        |s| {
            s.carry();
            s.remove(crate::source::ROLE);
            s.remove_operator();
        },
        &[],
    ),
    (
        "roles without an operator",
        |s| {
            s.carry();
            s.remove_operator();
        },
        &["operator.unexpected"],
    ),
    (
        "not required",
        |s| {
            s.carry();
            s.requires.clear();
            s.optional.push("manifests".to_owned());
        },
        &["manifests.capability"],
    ),
    (
        "required in vain",
        |s| s.require_manifests(),
        &["manifests.capability"],
    ),
    (
        "unknown field of a set",
        |s| {
            s.carry();
            s.edit("manifest.yaml", "needs: [web]", "need: [web]");
        },
        &["manifest.yaml"],
    ),
    (
        "circle",
        |s| {
            s.carry();
            s.edit("manifest.yaml", "needs: [web]", "needs: [notes]");
        },
        &["manifests.sets"],
    ),
    (
        "fixed or not",
        |s| {
            s.carry();
            s.edit(
                "manifest.yaml",
                "{name: shared, fixed: true}",
                "{name: shared, fixed: true}, {name: web, fixed: true}",
            );
        },
        &["manifests.sets"],
    ),
    (
        "default of another type",
        |s| {
            s.carry();
            s.edit("manifest.yaml", "default: 3", "default: three");
        },
        &["manifests.parameter"],
    ),
    (
        "no such set",
        |s| {
            s.carry();
            s.put("manifests/other/0001-configmap-notes.yaml", "x");
        },
        &["manifests.unexpected"],
    ),
    (
        "a file beside the sets",
        |s| {
            s.carry();
            s.put("manifests/notes.yaml", "x");
        },
        &["manifests.unexpected"],
    ),
    (
        "a file deeper down",
        |s| {
            s.carry();
            s.put("manifests/notes/0002-x/a.yaml", "x");
        },
        &["manifests.unexpected"],
    ),
    (
        "a file without a number",
        |s| {
            s.carry();
            s.put("manifests/notes/configmap-notes.yaml", "x");
        },
        &["manifests.unexpected"],
    ),
    (
        "a number left out",
        |s| {
            s.carry();
            let text = s.text(NOTES).replace("name: notes", "name: more");
            s.put("manifests/notes/0003-configmap-more.yaml", text);
        },
        &["manifests.unexpected"],
    ),
    (
        "a number twice",
        |s| {
            s.carry();
            let text = s.text(NOTES).replace("name: notes", "name: more");
            s.put("manifests/notes/0001-configmap-more.yaml", text);
        },
        &["manifests.unexpected"],
    ),
    (
        "another name than its file",
        |s| {
            s.carry();
            s.edit(NOTES, "name: notes", "name: other");
        },
        &["manifests.unexpected"],
    ),
    (
        "a set of nothing",
        |s| {
            s.carry();
            s.remove(NOTES);
            s.remove(crate::source::CRD);
        },
        &["manifests.empty"],
    ),
    (
        "a set whose objects are definitions",
        |s| {
            s.carry();
            s.remove(NOTES);
        },
        &[],
    ),
    (
        "not YAML",
        |s| {
            s.carry();
            s.put(NOTES, "a: [");
        },
        &["manifests.yaml"],
    ),
    (
        "two documents",
        |s| {
            s.carry();
            let text = s.text(NOTES);
            s.put(NOTES, format!("{text}---\n{text}"));
        },
        &["manifests.yaml"],
    ),
    (
        "a list",
        |s| {
            s.carry();
            s.put(
                NOTES,
                "{apiVersion: v1, kind: List, metadata: {name: x}, items: []}",
            );
        },
        &["manifests.object"],
    ),
    (
        "a text instead of an object",
        |s| {
            s.carry();
            s.put(NOTES, "just text\n");
        },
        &["manifests.object"; 3],
    ),
    (
        "a list instead of an object",
        |s| {
            s.carry();
            s.put(NOTES, "[a, b]\n");
        },
        &["manifests.object"; 3],
    ),
    (
        "an object of 10 MB",
        |s| {
            s.carry();
            let data = "x".repeat(10_000_000);
            s.edit(NOTES, "a: b", &format!("a: {data}"));
        },
        &["manifests.yaml"],
    ),
    (
        "a definition of 10 MB",
        |s| {
            s.carry();
            let text = s.text(crate::source::CRD);
            s.put(
                crate::source::CRD,
                format!("{text}# {}\n", "x".repeat(10_000_000)),
            );
        },
        &["operator.yaml"],
    ),
    (
        "a status",
        |s| {
            s.carry();
            s.edit(WEB, "spec:\n", "status: {}\nspec:\n");
        },
        &["manifests.object"],
    ),
    (
        "a finalizer",
        |s| {
            s.carry();
            s.edit(WEB, "metadata: {", "metadata: {finalizers: [a.test/b], ");
        },
        &["manifests.object"],
    ),
    (
        "in the namespace of the records",
        |s| {
            s.carry();
            s.edit(NOTES, "namespace: shared", "namespace: metalk8s-solutions");
        },
        &["manifests.forbidden"],
    ),
    (
        "a definition in a set",
        |s| {
            s.carry();
            let text = s.text(crate::source::CRD).replace("servers", "others");
            s.put(NOTES, text);
        },
        &["manifests.unexpected", "manifests.forbidden"],
    ),
    (
        "twice in one set",
        |s| {
            s.carry();
            s.put("manifests/notes/0002-configmap-notes.yaml", s.text(NOTES));
        },
        &["manifests.repeated"],
    ),
    (
        "twice in two sets",
        |s| {
            s.carry();
            s.edit(
                "manifest.yaml",
                "namespaces: [{name: web}]",
                "namespaces: [{name: web}, {name: shared, fixed: true}]",
            );
            s.put("manifests/web/0005-configmap-notes.yaml", s.text(NOTES));
        },
        &["manifests.repeated"],
    ),
    (
        "more namespaces than are read",
        |s| {
            s.carry();
            let more: Vec<String> = (0..16)
                .map(|number| format!(", {{name: n{number}}}"))
                .collect();
            let more = more.concat();
            s.edit(
                "manifest.yaml",
                "namespaces: [{name: web}",
                &format!("namespaces: [{{name: web}}{more}"),
            );
        },
        &["manifests.sets"],
    ),
    (
        "a value of another type than its parameter",
        |s| {
            s.carry();
            s.edit("manifest.yaml", "minimum: 1", "enum: [3, four]");
        },
        &["manifests.parameter"],
    ),
    (
        "a limit of another type than its parameter",
        |s| {
            s.carry();
            s.edit("manifest.yaml", "minimum: 1", "minimum: one");
        },
        &["manifest.yaml"],
    ),
    (
        "twice in namespaces of the site's choice",
        |s| {
            s.carry();
            s.edit(
                "manifest.yaml",
                "{name: shared, fixed: true}",
                "{name: shared}",
            );
            s.put(
                NOTES,
                s.text(CONFIG)
                    .replace("$(namespace:web)", "$(namespace:shared)"),
            );
        },
        &["manifests.unexpected", "manifests.repeated"],
    ),
    (
        "a placeholder that is not closed",
        |s| {
            s.carry();
            s.edit(CONFIG, "$(image:server)", "$(image:server");
        },
        &["manifests.placeholder"],
    ),
    (
        "an API that some versions of Kubernetes do not serve",
        |s| {
            s.carry();
            s.put(
                NOTES,
                "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: notes}}",
            );
        },
        &["manifests.unexpected", "manifests.api-deprecated"],
    ),
    (
        "an API that no version of Kubernetes serves that is allowed",
        |s| {
            s.carry();
            s.edit(
                "manifest.yaml",
                "  parameters:\n",
                "  prerequisites: {kubernetes: '>=1.25'}\n  parameters:\n",
            );
            s.edit("manifest.yaml", "when: {parameter: notes}, ", "");
            s.requires
                .push(archive::Feature::Prerequisites.capability());
            s.put(
                NOTES,
                "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: notes}}",
            );
        },
        &["manifests.unexpected", "manifests.api-removed"],
    ),
    (
        "a workload without a probe",
        |s| {
            s.carry();
            s.edit(WEB, "readinessProbe", "livenessProbe");
        },
        &["practice.readiness"],
    ),
    (
        "a workload without requests",
        |s| {
            s.carry();
            s.edit(WEB, "{requests: {cpu: 10m}}", "{}");
        },
        &["practice.requests"],
    ),
    (
        "a dashboard that is no JSON",
        |s| {
            s.carry();
            s.put(
                NOTES,
                "{apiVersion: v1, kind: ConfigMap, metadata: {name: notes, labels: {grafana_dashboard: '1'}}, data: {a.json: '{'}}",
            );
        },
        &["practice.dashboard"],
    ),
    (
        "a rule that takes the series of all environments",
        |s| {
            s.carry();
            s.put(
                CONFIG,
                "{apiVersion: monitoring.coreos.com/v1, kind: PrometheusRule, metadata: {name: config}, spec: {groups: [{name: a, rules: [{alert: Down, expr: up == 0}]}]}}",
            );
        },
        &["manifests.unexpected", "practice.wide-rules"],
    ),
    (
        "a workload that must not be root, of an image that is",
        |s| {
            s.carry();
            s.edit(
                WEB,
                "      containers:",
                "      securityContext: {runAsNonRoot: true}\n      containers:",
            );
        },
        &["practice.user"],
    ),
    (
        "a placeholder for no image",
        |s| {
            s.carry();
            s.edit(CONFIG, "$(image:server)", "$(image:db)");
        },
        &["manifests.placeholder"],
    ),
    (
        "a placeholder for no parameter",
        |s| {
            s.carry();
            s.edit(WEB, "$(param:replicas)", "$(param:replica)");
        },
        &["manifests.placeholder"],
    ),
    (
        "a placeholder for no namespace",
        |s| {
            s.carry();
            s.edit(ROLES, "$(namespace:web)", "$(namespace:wep)");
        },
        &["manifests.placeholder"],
    ),
    (
        "an image that is not carried",
        |s| {
            s.carry();
            s.edit(WEB, "$(image:server)", "registry.example.test/org/db:1");
        },
        &["manifests.image-missing"],
    ),
    (
        "an image that a text names",
        |s| {
            s.carry();
            s.edit(CONFIG, "$(image:server)", "registry.example.test/org/db:1");
        },
        &["manifests.image-mentioned"],
    ),
    (
        "a repository that a text names",
        |s| {
            s.carry();
            s.edit(
                CONFIG,
                "$(image:server)",
                "registry.example.test/org/server",
            );
        },
        &["manifests.image-mentioned"],
    ),
    (
        "an image that fields in a text are parts of",
        |s| {
            s.carry();
            s.edit(
                CONFIG,
                "$(image:server)",
                r#"{"hub": "registry.example.test/org", "image": "db", "tag": "1"}"#,
            );
        },
        &["manifests.image-parts"],
    ),
    (
        "a variable that nothing replaces",
        |s| {
            s.carry();
            s.edit(
                WEB,
                "labels: {app: web}",
                "labels: {app: web, tier: '${TIER:=a}'}",
            );
        },
        &["manifests.variable"],
    ),
    (
        "a namespace that a text may name",
        |s| {
            s.carry();
            s.edit(CONFIG, "web.$(namespace:web).svc", "web.web");
        },
        &["manifests.namespace"],
    ),
    (
        "an image by its reference",
        |s| {
            s.carry();
            s.edit(
                CONFIG,
                "$(image:server)",
                "registry.example.test/org/server:1",
            );
        },
        &["manifests.not-compiled"],
    ),
    (
        "an object of the whole cluster in a namespace",
        |s| {
            s.carry();
            s.edit(
                ROLES,
                "metadata: {name: web}",
                "metadata: {name: web, namespace: default}",
            );
        },
        &["manifests.cluster-object"],
    ),
    (
        "a definition with webhook conversion in a namespace",
        |s| {
            s.carry();
            let definition = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, \
                metadata: {name: as.b.test, namespace: default}, \
                spec: {group: b.test, scope: Cluster, names: {kind: A, plural: as}, \
                versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}], \
                conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], \
                clientConfig: {service: {namespace: '$(namespace:shared)', name: web}}}}}}";
            s.put(
                "manifests/notes/0002-customresourcedefinition-as.b.test.yaml",
                definition,
            );
        },
        &["manifests.cluster-object"],
    ),
];
