//! Grammars as regular expressions (ECMA-262) for the JSON Schemas, with which an editor marks an invalid name while it
//! is typed. They decide nothing: the `FromStr` of each type does, and `tests/json_schema.rs` compares both.

/// One component of an OCI repository name.
macro_rules! component {
    () => {
        "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*"
    };
}

/// An image's name, up to five components.
macro_rules! image_name {
    () => {
        concat!(component!(), "(/", component!(), "){0,4}")
    };
}

macro_rules! tag {
    () => {
        "[A-Za-z0-9_][A-Za-z0-9._-]{0,102}"
    };
}

/// A part of a version without leading zeros.
macro_rules! number {
    () => {
        "(0|[1-9][0-9]*)"
    };
}

/// A chart's version, with an optional pre-release or build.
macro_rules! chart_version {
    () => {
        concat!(
            "v?",
            number!(),
            "\\.",
            number!(),
            "\\.",
            number!(),
            "([-+][0-9A-Za-z.+-]+)?"
        )
    };
}

/// An identifier of a pre-release: a number, or something with a letter or hyphen (semver 2.0.0, clause 9).
macro_rules! identifier {
    () => {
        concat!("(", number!(), "|[0-9]*[a-z-][0-9a-z-]*)")
    };
}

pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";
pub(crate) const DNS_SUBDOMAIN: &str =
    "^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$";
pub(crate) const FACT_PATH: &str = "^(?=.{0,1024}$)(/([^~]|~[01])*)?$";
pub(crate) const KIND: &str = "^(?!Secret$)[A-Z][A-Za-z0-9]{0,62}$";
pub(crate) const UID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";
pub(crate) const FINDING_ID: &str = "^(?=.{1,64}$)[a-z]+\\.[a-z0-9-]+$";
pub(crate) const IGNORE_REASON: &str = "^(?=.{1,400}$).*\\S";
pub(crate) const PLACES: &str = "^.{1,400}$";
pub(crate) const DATE: &str = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$";
pub(crate) const DIGEST: &str = "^sha256:[0-9a-f]{64}$";
pub(crate) const KEY_ID: &str = "^[0-9a-f]{64}$";
pub(crate) const RELEASE_NAME: &str = "^[a-z0-9]([a-z0-9-]{0,51}[a-z0-9])?$";
pub(crate) const CHART_NAME: &str = concat!("^(?=.{1,63}$)", component!(), "$");
pub(crate) const CHART_SOURCE: &str = concat!(
    "^((file|dir):.+|oci://[^/@]+/[^:@]+(:",
    chart_version!(),
    "|@sha256:[0-9a-f]{64})|https?://[^/#@?][^#@?]*#",
    component!(),
    "@",
    chart_version!(),
    ")$"
);
pub(crate) const KUBERNETES_VERSION: &str = "^v?1\\.(0|[1-9][0-9]{0,2})(\\.(0|[1-9][0-9]{0,2}))?$";
pub(crate) const TIMEOUT: &str = "^[1-9][0-9]{0,4}[smh]$";
pub(crate) const LABEL_VALUE: &str = "^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$";
pub(crate) const QUANTITY: &str = "^(?=.{1,32}$)[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$";
pub(crate) const IMAGE_NAME: &str = concat!("^", image_name!(), "$");
pub(crate) const TAG: &str = concat!("^", tag!(), "$");
pub(crate) const IMAGE_PLACE: &str = concat!("^", image_name!(), ":", tag!(), "$");
pub(crate) const IMAGE_SOURCE: &str =
    "^(((oci|oci-archive|docker-archive):[^:]+(:.+)?)|dir:[^:]+|docker://.+|docker-daemon:.+)$";
pub(crate) const PLATFORM: &str = "^[a-z0-9._-]+(/[a-z0-9._-]+){1,2}$";
pub(crate) const SOLUTIONS: &str = "^(\\*|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(-\\*)?)$";
pub(crate) const TIME: &str = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$";
/// Three numbers with an optional pre-release.
macro_rules! version {
    () => {
        concat!(
            number!(),
            "\\.",
            number!(),
            "\\.",
            number!(),
            "(-",
            identifier!(),
            "(\\.",
            identifier!(),
            ")*)?"
        )
    };
}

pub(crate) const VERSION: &str = concat!("^", version!(), "$");
pub(crate) const ACTIVE_VERSION: &str = concat!("^(latest|", version!(), ")$");
