//! The seed's event loop, in every generation of clients.

use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Lines};
use super::support::{Language, program};

const KERNELS: &str = "\
KERNEL_READY grid 1
KERNEL_READY grid 2
KERNEL_READY grid 3
";

const FINISHED: &str = "\
async KERNEL_FINISHED grid 1
async KERNEL_FINISHED grid 2
async KERNEL_FINISHED grid 3
";

/// Runs the loop of a generation over a model that is loaded, run once, and unloaded.
fn looped(generation: &str, language: Language) -> String {
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let mut client = program("events.c", language).start(&[generation, "3"], &[debuggee.target()]);
    client.until("attached");
    assert_eq!(lines.run(&debuggee, 1).expect("the run succeeds"), Lines::expected());
    drop(loaded);
    let printed = client.end();
    assert_eq!(printed.stderr, "");
    printed.stdout
}

fn of_generation(generation: &str) -> String {
    let [c, cxx] = Language::ALL.map(|language| looped(generation, language));
    assert_eq!(c, cxx, "C and C++ behave alike");
    c
}

#[test]
fn the_loop_of_cuda_30_gets_images_and_kernels() {
    assert_eq!(of_generation("30"), format!("ELF_IMAGE_LOADED an image\n{KERNELS}"));
}

#[test]
fn the_loops_of_cuda_32_and_42_get_contexts_too() {
    let contexts = format!(
        "CTX_CREATE context 1\nELF_IMAGE_LOADED an image of module 1\nCTX_PUSH context 1\n{KERNELS}CTX_POP context 1\n\
         CTX_DESTROY context 1\n"
    );
    for generation in ["32", "42"] {
        assert_eq!(of_generation(generation), contexts, "{generation}");
    }
}

#[test]
fn the_loops_of_cuda_50_and_55_get_the_end_of_attaching_and_finished_kernels_from_another_queue() {
    let expected = format!(
        "CTX_CREATE context 1\nELF_IMAGE_LOADED an image of module 1\nATTACH_COMPLETE\nCTX_PUSH context 1\n{KERNELS}\
         CTX_POP context 1\nCTX_DESTROY context 1\n{FINISHED}"
    );
    for generation in ["50", "55"] {
        assert_eq!(of_generation(generation), expected, "{generation}");
    }
}

#[test]
fn the_loop_since_cuda_60_gets_the_end_of_images_too() {
    let expected = format!(
        "CTX_CREATE context 1\nELF_IMAGE_LOADED an image of module 1\nATTACH_COMPLETE\nCTX_PUSH context 1\n{KERNELS}\
         CTX_POP context 1\nELF_IMAGE_UNLOADED module 1\nCTX_DESTROY context 1\n{FINISHED}"
    );
    assert_eq!(of_generation("60"), expected);
}
