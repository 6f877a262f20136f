//! The program as a plugin of the real kubectl.

use crate::common::Desk;

/// Returns kubectl's output with the desk's programs in `PATH`.
fn kubectl(desk: &Desk, arguments: &str) -> String {
    let line = format!("PATH=$PWD/bin:$PATH exec kubectl {arguments}");
    desk.run("sh", &["-c", &line]).success()
}

#[test]
fn kubectl_runs_the_plugin_and_completes_it() {
    let desk = Desk::installed();
    let help = kubectl(&desk, "solution environment create --help");
    assert!(
        help.contains("Usage: kubectl solution environment create [OPTIONS]"),
        "{help}"
    );
    let candidates = kubectl(&desk, "__complete solution environment cr");
    assert_eq!(candidates, "create\n:0\n");
}
