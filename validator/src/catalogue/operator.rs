//! Findings of the group `operator`: `operator/`.

use super::FindingInfo;

pub(crate) const UNEXPECTED: FindingInfo = FindingInfo::error(
    "operator.unexpected",
    "there are files for an operator, but the manifest has none",
    "add spec.operator to solution.yaml, or remove the directory operator/",
);
pub(crate) const IGNORED: FindingInfo = FindingInfo::warning(
    "operator.ignored",
    "nothing reads this file below operator/",
    "name definitions operator/deploy/crds/NAME_crd.yaml and put all roles into operator/deploy/role.yaml",
);
pub(crate) const BUDGET: FindingInfo = FindingInfo::error(
    "operator.budget",
    "the operator's files are larger than can be checked",
    "leave generated descriptions out of the definitions, and rights that are not needed out of the rules",
);
pub(crate) const YAML: FindingInfo = FindingInfo::error(
    "operator.yaml",
    "a file of the operator cannot be read",
    "correct the file and pack again",
);
pub(crate) const CRD_COUNT: FindingInfo = FindingInfo::error(
    "operator.crd-count",
    "a definition file does not hold exactly one document",
    "write each CustomResourceDefinition into a file of its own",
);
pub(crate) const CRD_KIND: FindingInfo = FindingInfo::error(
    "operator.crd-kind",
    "a definition file holds something else than an apiextensions.k8s.io/v1 CustomResourceDefinition",
    "convert it to apiextensions.k8s.io/v1, or move it out of operator/deploy/crds",
);
pub(crate) const CRD_SHAPE: FindingInfo = FindingInfo::error(
    "operator.crd-shape",
    "a definition lacks something that the API server requires",
    "generate the definition again, or add the field",
);
pub(crate) const CRD_NAME: FindingInfo = FindingInfo::error(
    "operator.crd-name",
    "a definition's name is not PLURAL.GROUP",
    "set metadata.name to spec.names.plural, a dot, and spec.group",
);
pub(crate) const CRD_VERSIONS: FindingInfo = FindingInfo::error(
    "operator.crd-versions",
    "a definition does not have exactly one storage version, serves none, or repeats one",
    "set `storage: true` for one version and `served: true` for at least one",
);
pub(crate) const CRD_CONVERSION: FindingInfo = FindingInfo::error(
    "operator.crd-conversion",
    "a definition converts versions by a webhook, which names one namespace where environments are many",
    "use `strategy: None` and keep the versions' fields compatible",
);
pub(crate) const CRD_REPEATED: FindingInfo = FindingInfo::error(
    "operator.crd-repeated",
    "two files define the same custom resource",
    "keep one of them",
);
pub(crate) const CRD_GROUP: FindingInfo = FindingInfo::error(
    "operator.crd-group",
    "a definition is for an API group that Kubernetes serves itself",
    "define the resource in a group below a domain of your own",
);
pub(crate) const CRD_METADATA: FindingInfo = FindingInfo::warning(
    "operator.crd-metadata",
    "a definition has metadata that an import does not apply",
    "remove it from the file, or do without it at the site: an import applies the name, and labels and annotations that are nobody else's",
);
pub(crate) const ROLE_KIND: FindingInfo = FindingInfo::error(
    "operator.role-kind",
    "role.yaml holds something else than Role and ClusterRole",
    "remove it: service accounts and bindings are made by the import",
);
pub(crate) const ROLE_NAME: FindingInfo = FindingInfo::error(
    "operator.role-name",
    "a role has no usable name, or one that another has",
    "give each role a name of its own",
);
pub(crate) const ROLE_RULES: FindingInfo = FindingInfo::error(
    "operator.role-rules",
    "a role's rules are not what the API server accepts, or are not in the archive",
    "write each rule with apiGroups, resources and verbs as lists of strings",
);
pub(crate) const WILDCARD: FindingInfo = FindingInfo::warning(
    "operator.wildcard",
    "a rule grants everything of a kind (`*`)",
    "list the API groups, resources and verbs that the operator uses",
);
pub(crate) const DANGEROUS_RULE: FindingInfo = FindingInfo::warning(
    "operator.dangerous-rule",
    "a role gives rights that reach further than they seem to",
    "leave them out if the operator can do without, or grant them for named objects only",
);
pub(crate) const CLUSTER_RULE: FindingInfo = FindingInfo::warning(
    "operator.cluster-rule",
    "a rule grants nothing, because ClusterRoles are bound in one namespace",
    "remove the rule, or set spec.operator.scope to Cluster",
);
