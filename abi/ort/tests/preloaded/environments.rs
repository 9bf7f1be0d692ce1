//! Programs that make an environment in each of the ways that there are, and fork before they load a model.

use std::path::Path;

use opscope_c_programs::Program;

use crate::support::{Installed, Way, image, model, onnxruntime, same_with_and_without};

fn program(library: &Installed, way: usize) -> Program {
    library.program("environments.c", Way::Opened).arguments([model("digits_cnn.onnx"), image(), way.to_string()])
}

#[test]
fn an_environment_is_what_the_program_asks_for_and_a_forked_process_has_a_server_of_its_own() {
    let Some(library) = onnxruntime() else { return };
    for way in 0..4 {
        let printed = same_with_and_without(&program(library, way), &[("OPSCOPE_DEBUG_SERVER", Path::new("1"))]);
        let is_logged = if way % 2 == 1 { "logged" } else { "not logged" };
        assert_eq!(printed.stdout.lines().nth(1), Some(is_logged), "way {way}");
        let attach = "libopscope_ort (opscope): attach with: opscope debug --attach ";
        let processes: Vec<Option<&str>> = printed.stderr.lines().map(|line| line.strip_prefix(attach)).collect();
        assert!(
            matches!(processes[..], [Some(parent), Some(child)] if parent != child),
            "way {way}: {}",
            printed.stderr
        );
    }
}

#[test]
fn a_process_to_which_nobody_can_attach_does_not_wait_for_a_debugger() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let socket = place.path().join("socket");
    // The parent has the socket.
    let with = [("OPSCOPE_DEBUG_SERVER", &*socket), ("OPSCOPE_DEBUG_WAIT", Path::new("5"))];
    let printed = same_with_and_without(&program(library, 0), &with);
    let [first, second, refused] = &printed.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{}", printed.stderr)
    };
    assert_eq!(first, second);
    assert!(refused.starts_with("libopscope_ort (opscope): no debugger can attach: "), "{refused}");
}
