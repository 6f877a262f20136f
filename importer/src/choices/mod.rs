//! The choices that change a Solution in an environment: parameters, chart values, settings of workloads, patches,
//! namespace and registry. They come from the request, the site configuration and earlier deployments. Each file resolves
//! one kind of choice, and applies it to objects. Sensitive choices are redacted from everything that is shown.

pub(crate) mod destination;
pub(crate) mod parameters;
pub(crate) mod patches;
pub(crate) mod redact;
pub(crate) mod values;
pub(crate) mod workloads;
