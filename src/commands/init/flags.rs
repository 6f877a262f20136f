//! Refuses flags of `solution init` that apply to another kind of source.

use super::source::Source;
use super::{Arguments, Taken};
use crate::args::first_given;
use crate::failure::Failure;

/// Refuses flags that do not apply to the source, or to a template without a source.
pub(super) fn refuse_others(arguments: &Arguments, source: Option<&Source>) -> Result<(), Failure> {
    let Some(source) = source else {
        return refuse_with_template(arguments);
    };
    let helmfile = &arguments.helmfile;
    let of_helmfile = [
        (helmfile.program.is_some(), "--helmfile"),
        (helmfile.environment.is_some(), "--helmfile-environment"),
        (!helmfile.selectors.is_empty(), "--helmfile-selector"),
    ];
    let of_chart = [(!arguments.values.is_empty(), "--values")];
    let of_manifests = [
        (arguments.taken.is_some(), "--as"),
        (arguments.update, "--update"),
        (arguments.deployment.is_some(), "--deployment"),
    ];
    let given = source.kind();
    for (about, flags) in [
        ("a helmfile", &of_helmfile[..]),
        ("a chart", &of_chart),
        ("manifests", &of_manifests),
    ] {
        if about != given
            && let Some(flag) = first_given(flags)
        {
            let message = format!("cannot use `{flag}` with {given}: it applies to {about}");
            return Err(Failure::usage(message).hint(format!("omit `{flag}`")));
        }
    }
    if matches!(source, Source::Upstream(..) | Source::Release(_)) {
        refuse_reach(arguments)?;
    }
    if arguments.deployment.is_some() && arguments.taken != Some(Taken::Operator) {
        let message =
            "`--deployment` chooses the operator's Deployment and requires `--as operator`";
        return Err(Failure::usage(message).hint("add `--as operator`, or omit `--deployment`"));
    }
    Ok(())
}

/// Refuses flags for registries without a chart.
fn refuse_reach(arguments: &Arguments) -> Result<(), Failure> {
    let reach = &arguments.reach;
    if reach.plain_http || !reach.ca_file.is_empty() || reach.cert_dir.is_some() {
        let message = "`--ca-file`, `--cert-dir` and `--plain-http` require a chart with `--chart`";
        return Err(Failure::usage(message).hint("name the chart with `--chart`, or omit them"));
    }
    Ok(())
}

fn refuse_with_template(arguments: &Arguments) -> Result<(), Failure> {
    refuse_reach(arguments)?;
    let of_source = [
        (arguments.name.is_some(), "--name"),
        (arguments.version.is_some(), "--version"),
        (arguments.deployment.is_some(), "--deployment"),
        (arguments.taken.is_some(), "--as"),
        (!arguments.values.is_empty(), "--values"),
    ];
    let (Some(flag), Some(directory)) = (first_given(&of_source), &arguments.directory) else {
        return Ok(());
    };
    let directory = directory.display();
    let message = format!("`{flag}` requires a release or a chart");
    Err(Failure::usage(message).hint(format!(
        "name the release with `--from` or a chart with `--chart`; to create a template, omit `{flag}`, and edit {directory}/solution.yaml afterwards"
    )))
}
