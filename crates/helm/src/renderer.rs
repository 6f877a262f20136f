//! A program that transforms the objects that Helm renders: [`PostRenderer`]. Helm calls it as a plugin in the private
//! directory of the run.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use crate::run::HelmRun;

/// The name of the plugin.
const NAME: &str = "renderer";
/// The prefix of the variables with the program and its arguments.
const VARIABLE: &str = "POST_RENDERER_";

/// A program that reads the objects of a chart, of its hooks and of its tests from its standard input as one stream of
/// YAML, and writes to its standard output the objects that Helm uses instead.
///
/// If it fails, Helm fails before it writes anything to the cluster. The output of a failed program is not passed on.
/// The program inherits Helm's environment and memory limit.
#[derive(Clone, Debug)]
pub struct PostRenderer<'a> {
    /// The program.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl PostRenderer<'_> {
    /// Adds the program to a run of `template` or `upgrade`. A run can have only one.
    pub fn join(&self, run: &mut HelmRun<'_>) -> io::Result<()> {
        let words = [self.program.as_os_str().to_owned()];
        let words: Vec<OsString> = words.into_iter().chain(self.arguments.clone()).collect();
        let description = description(self.arguments.len());
        let place = Path::new("plugins").join(NAME).join("plugin.yaml");
        run.home.write(place, description.as_bytes())?;
        let variable = |(number, word)| (format!("{VARIABLE}{number}").into(), word);
        run.environment
            .extend(words.into_iter().enumerate().map(variable));
        run.flag("post-renderer", NAME);
        Ok(())
    }
}

/// Returns the plugin's description for Helm. Helm splits a command at spaces and then expands variables in all its
/// words, so each word is a variable.
fn description(arguments: usize) -> String {
    let mut text = format!(
        "apiVersion: v1\ntype: postrenderer/v1\nname: {NAME}\nversion: 1.0.0\nruntime: subprocess\n\
         runtimeConfig:\n  platformCommand:\n  - command: \"${{{VARIABLE}0}}\"\n    args:\n"
    );
    for number in 1..=arguments {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    - \"${{{VARIABLE}{number}}}\"");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_of_the_command_is_a_variable() {
        let text = "apiVersion: v1\n\
            type: postrenderer/v1\n\
            name: renderer\n\
            version: 1.0.0\n\
            runtime: subprocess\n\
            runtimeConfig:\n  \
              platformCommand:\n  \
              - command: \"${POST_RENDERER_0}\"\n    \
                args:\n    \
                - \"${POST_RENDERER_1}\"\n    \
                - \"${POST_RENDERER_2}\"\n";
        assert_eq!(description(2), text);
    }
}
