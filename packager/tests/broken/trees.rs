//! The broken trees. Each differs from the valid one by an edit, results in one finding, and is valid again after the
//! fix that the finding recommends.

use super::tree::Edit::{self, Link, Remove, Rename, Replace, Say, Write};

/// A broken tree.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The edit of the valid tree.
    pub(crate) edit: Edit,
    /// The id of the finding.
    pub(crate) id: &'static str,
    /// The file of the finding.
    pub(crate) file: &'static str,
    /// The start of the line of the finding without its indentation; empty if the finding has no line.
    pub(crate) line: &'static str,
    /// The recommended fix.
    pub(crate) mend: Edit,
}

const FILE: &str = "solution.yaml";
const CRD: &str = "operator/deploy/crds/demos.yaml";
const OTHER: &str = "operator/deploy/crds/other.yaml";
const ROLE: &str = "operator/deploy/role.yaml";
const WEB: &str = "web.yaml";

/// A second CRD, whose file starts with a comment.
const OTHERS: &str = "# others\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: others.demo.test\nspec:\n  group: demo.test\n  scope: Namespaced\n  names: {kind: Other, plural: others}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n";

macro_rules! trees {
    ($($id:literal, $file:expr, $line:literal: $edit:expr => $mend:expr;)*) => {
        &[$(Broken { edit: $edit, id: $id, file: $file, line: $line, mend: $mend },)*]
    };
}

pub(crate) const TREES: &[Broken] = trees! {
    "source.yaml", FILE, "paramters:":
        Say("  parameters:", "  paramters:") => Say("  paramters:", "  parameters:");
    "source.yaml", FILE, "version: 1.0":
        Say("  version: 1.0.0", "  version: 1.0") => Say("  version: 1.0", "  version: 1.0.0");
    "source.yaml", FILE, "version: 2.0.0":
        Say("  version: 1.0.0", "  version: 1.0.0\n  version: 2.0.0") => Say("  version: 1.0.0\n", "");
    "source.yaml", FILE, "kind: Solution":
        Say("kind: SolutionSource", "kind: Solution") => Say("kind: Solution", "kind: SolutionSource");
    "source.path", FILE, "crds: ../crds":
        Say("  parameters:", "  crds: ../crds\n  parameters:") => Say("../crds", "operator/deploy/crds");
    "source.path", FILE, "- /web.yaml":
        Say("- web.yaml", "- /web.yaml") => Say("- /web.yaml", "- web.yaml");
    "source.missing", FILE, "roles: role.yaml":
        Say("  parameters:", "  roles: role.yaml\n  parameters:") => Write("role.yaml", "# none\n");
    "source.missing", FILE, "- more.yaml":
        Say("- web.yaml\n", "- web.yaml\n        - more.yaml\n") => Say("        - more.yaml\n", "");
    "source.missing", FILE, "- site.yaml":
        Say("- cache.yaml", "- cache.yaml\n        - site.yaml") => Write("site.yaml", "size: 3\n");
    "source.file", FILE, "- cache":
        Say("- web.yaml", "- cache") => Say("- cache\n", "- web.yaml\n");
    "source.file-name", "operator/deploy/crds/-demos.yaml", "":
        Rename(CRD, "operator/deploy/crds/-demos.yaml") => Rename("operator/deploy/crds/-demos.yaml", CRD);
    "source.file-twice", "operator/deploy/crds/demos_crd.yml", "":
        Write("operator/deploy/crds/demos_crd.yml", OTHERS) => Rename("operator/deploy/crds/demos_crd.yml", OTHER);
    "source.nothing", FILE, "version: 1.0.0":
        Write(FILE, "apiVersion: solutions.metalk8s.scality.com/v1alpha1\nkind: SolutionSource\nmetadata:\n  name: demo\n  annotations: {solutions.metalk8s.scality.com/display-name: Demo}\nspec:\n  version: 1.0.0\n")
        => Say("  version: 1.0.0\n", "  version: 1.0.0\n  images:\n    - {name: web, tag: 1.0.0, source: 'oci:images/web'}\n");
    "source.reference", FILE, "- name: web":
        Say("ref: r.test/operator:1.0.0", "ref: r.test/web:1.0.0") => Say("ref: r.test/web:1.0.0", "ref: r.test/operator:1.0.0");
    "source.object-name", CRD, "name: Demos.demo.test":
        Write(CRD, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: Demos.demo.test\nspec:\n  group: demo.test\n  scope: Namespaced\n  names: {kind: Demo, plural: Demos}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n")
        => Write(CRD, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: demos.demo.test\nspec:\n  group: demo.test\n  scope: Namespaced\n  names: {kind: Demo, plural: demos}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n");
    "source.image", WEB, "image: r.test/other:1":
        Replace(WEB, "image: r.test/web:1.0.0", "image: r.test/other:1")
        => Say("  parameters:", "    - {name: other, tag: '1', source: 'oci:images/web', ref: 'r.test/other:1'}\n  parameters:");
    "source.image-source", FILE, "source: oci:images/site":
        Say("oci:images/web", "oci:images/site") => Say("oci:images/site", "oci:images/web");
    "source.image-source", FILE, "source: oci:images/web:2":
        Say("oci:images/web", "oci:images/web:2") => Say("oci:images/web:2", "oci:images/web");
    "source.patch", FILE, "- target: {kind: StatefulSet}":
        Say("kind: Service", "kind: StatefulSet") => Say("kind: StatefulSet", "kind: Deployment");
    "source.chart", FILE, "source: dir:cache":
        Link("cache/secret", "/etc/passwd") => Remove("cache/secret");
    "manifest.image-repeated", FILE, "- name: operator":
        Say("    - name: web\n      tag", "    - name: operator\n      tag: 1.0.0\n      source: oci:images/operator\n    - name: web\n      tag")
        => Say("    - name: operator\n      tag: 1.0.0\n      source: oci:images/operator\n    - name: web\n", "    - name: web\n");
    "manifest.operator-image", FILE, "name: operator":
        Say("      tag: 1.0.0\n    args", "      tag: 2.0.0\n    args") => Say("      tag: 2.0.0", "      tag: 1.0.0");
    "manifest.expansion", FILE, "- --web=$(image:site)":
        Say("$(image:web)", "$(image:site)") => Say("$(image:site)", "$(image:web)");
    "manifest.expansion", FILE, "- name: LEVEL":
        Say("value: info", "value: $(image:web") => Say("value: $(image:web", "value: $(image:web)");
    "manifest.variable", FILE, "- name: LEVEL":
        Say("value: info", "value: info\n      - name: LEVEL\n        value: debug") => Say("      - name: LEVEL\n        value: info\n", "");
    "manifest.variable", FILE, "- name: LEVEL=":
        Say("name: LEVEL", "name: LEVEL=") => Say("name: LEVEL=", "name: LEVEL");
    "manifest.related-image", FILE, "- name: RELATED_IMAGE_WEB":
        Say("value: r.test/web:1.0.0", "value: r.test/web:2.0.0") => Say("value: r.test/web:2.0.0", "value: $(image:web)");
    "manifest.prerequisite", FILE, "- {name: demo":
        Say("    kubernetes: '>=1.30'", "    solutions:\n      - {name: demo, version: '>=1.0'}")
        => Say("{name: demo,", "{name: storage,");
    "images.place", FILE, "- name: operator/1.0.0":
        Say("    - name: web\n      tag: 1.0.0\n", "    - name: operator/1.0.0\n      tag: a\n      source: oci:images/web\n    - name: web\n      tag: 1.0.0\n")
        => Say("name: operator/1.0.0", "name: site");
    "practice.latest", FILE, "- name: web":
        Say("    - name: web\n      tag: 1.0.0", "    - name: web\n      tag: latest") => Say("tag: latest", "tag: 1.0.0");
    "operator.pod-template", FILE, "spec:":
        Say("    args:", "    template:\n      spec: {containers: [{name: x, image: y}]}\n    args:")
        => Say("    template:\n      spec: {containers: [{name: x, image: y}]}\n", "");
    "operator.yaml", CRD, "kind: Demo":
        Replace(CRD, "kind: Demo\n", "kind: Demo: x\n") => Replace(CRD, "kind: Demo: x", "kind: Demo");
    "operator.crd-count", OTHER, "":
        Write(OTHER, "# roles\n---\n") => Write(OTHER, OTHERS);
    "operator.crd-kind", OTHER, "kind: ConfigMap":
        Write(OTHER, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n") => Remove(OTHER);
    "operator.crd-shape", CRD, "scope: Everywhere":
        Replace(CRD, "scope: Namespaced", "scope: Everywhere") => Replace(CRD, "scope: Everywhere", "scope: Namespaced");
    "operator.crd-group", CRD, "group: apps":
        Write(CRD, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: demos.apps\nspec:\n  group: apps\n  scope: Namespaced\n  names: {kind: Demo, plural: demos}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n")
        => Write(CRD, OTHERS);
    "operator.crd-name", CRD, "name: demo.test":
        Replace(CRD, "name: demos.demo.test", "name: demo.test") => Replace(CRD, "name: demo.test", "name: demos.demo.test");
    "operator.crd-versions", CRD, "- name: v1":
        Replace(CRD, "storage: true", "storage: false") => Replace(CRD, "storage: false", "storage: true");
    "operator.crd-conversion", CRD, "strategy: Webhook":
        Replace(CRD, "  scope:", "  conversion:\n    strategy: Webhook\n  scope:") => Replace(CRD, "strategy: Webhook", "strategy: None");
    "operator.crd-repeated", "operator/deploy/crds/zz.yaml", "name: demos.demo.test":
        Write("operator/deploy/crds/zz.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: demos.demo.test\nspec:\n  group: demo.test\n  scope: Namespaced\n  names: {kind: Demo, plural: demos}\n  versions:\n    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}\n")
        => Remove("operator/deploy/crds/zz.yaml");
    "operator.role-kind", ROLE, "kind: RoleBinding":
        Replace(ROLE, "kind: Role\nmetadata:\n  name: web", "kind: RoleBinding\nmetadata:\n  name: web") => Replace(ROLE, "kind: RoleBinding", "kind: Role");
    "operator.role-name", ROLE, "name: demo":
        Replace(ROLE, "name: web", "name: demo") => Replace(ROLE, "name: demo\nrules:\n  - apiGroups: ['']", "name: web\nrules:\n  - apiGroups: ['']");
    "operator.role-rules", ROLE, "- apiGroups: [demo.test]":
        Replace(ROLE, "verbs: [get, list, watch]", "verbs: all") => Replace(ROLE, "verbs: all", "verbs: [get]");
    "operator.wildcard", ROLE, "- apiGroups: ['']":
        Replace(ROLE, "verbs: [get]", "verbs: ['*']") => Replace(ROLE, "verbs: ['*']", "verbs: [list]");
    "operator.dangerous-rule", ROLE, "- apiGroups: ['']":
        Replace(ROLE, "resources: [configmaps]\n    verbs: [get]", "resources: [secrets]\n    verbs: [list]") => Replace(ROLE, "resources: [secrets]", "resources: [services]");
    "operator.crd-metadata", CRD, "labels:":
        Replace(CRD, "metadata:\n", "metadata:\n  labels: {helm.sh/chart: x}\n") => Replace(CRD, "  labels: {helm.sh/chart: x}\n", "");
    "manifests.sets", FILE, "- name: web":
        Say("      patches:", "      needs: [db]\n      patches:") => Say("needs: [db]", "needs: [cache]");
    "manifests.parameter", FILE, "type: integer":
        Say("default: 1", "default: one") => Say("default: one", "default: 2");
    "manifests.empty", FILE, "- name: web":
        Write(WEB, "# nothing\n") => Write(WEB, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n");
    "manifests.yaml", WEB, "name: web: x":
        Replace(WEB, "name: web\n", "name: web: x\n") => Replace(WEB, "name: web: x", "name: web");
    "manifests.object", WEB, "size: 1":
        Replace(WEB, "# the release\n", "# the release\n---\nsize: 1\n---\n") => Replace(WEB, "size: 1\n", "");
    "manifests.object", WEB, "namespace: web":
        Replace(WEB, "kind: ConfigMap\nmetadata:\n  name: web\n", "kind: ConfigMap\nmetadata:\n") => Replace(WEB, "kind: ConfigMap\nmetadata:\n", "kind: ConfigMap\nmetadata:\n  name: other\n");
    "manifests.forbidden", WEB, "apiVersion: v1":
        Replace(WEB, "kind: ConfigMap", "kind: Secret") => Replace(WEB, "kind: Secret", "kind: ConfigMap");
    "manifests.repeated", WEB, "apiVersion: v1":
        Replace(WEB, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:", "---\napiVersion: v1\nkind: Service\nmetadata:") => Replace(WEB, "kind: Service\nmetadata:\n  name: web\n  namespace: web\ndata", "kind: ConfigMap\nmetadata:\n  name: web\n  namespace: web\ndata");
    "manifests.placeholder", WEB, "size: $(param:sizes)":
        Replace(WEB, "$(param:size)", "$(param:sizes)") => Replace(WEB, "$(param:sizes)", "$$(param:sizes)");
    "charts.release", FILE, "- name: cache":
        Say("      source: dir:cache", "      source: dir:cache\n      needs: [db]") => Say("needs: [db]", "needs: [web]");
    "charts.metadata", FILE, "source: dir:cache":
        Replace("cache/Chart.yaml", "version: 1.0.0", "version: one") => Replace("cache/Chart.yaml", "version: one", "version: 1.0.1");
    "charts.dependency", FILE, "source: dir:cache":
        Replace("cache/Chart.yaml", "version: 1.0.0", "version: 1.0.0\ndependencies: [{name: db, version: 1.0.0, repository: 'https://charts.test'}]")
        => Write("cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 1.0.0\n");
    "charts.values", "cache.yaml", "- 1":
        Write("cache.yaml", "- 1\n") => Write("cache.yaml", "size: 1\n");
    "charts.placeholder", "cache.yaml", "image: $(image:none)":
        Write("cache.yaml", "size: 1\nimage: $(image:none)\n") => Write("cache.yaml", "image: $(image:web)\n");
    "charts.schema", FILE, "source: dir:cache":
        Write("cache/values.schema.json", "{\"type\": \"text\"}") => Write("cache/values.schema.json", "{\"type\": \"object\"}");
};
