//! The seed's event loop, in every generation of clients.

use opscope_c_programs::Language;
use opscope_model::Fidelity;

use super::debuggee::{Debuggee, Lines};
use super::start;

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
    let mut client = start("events.c", language, &[generation, "3"], &[debuggee.target()]);
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

/// Removes the lines of finished kernels. Each comes after the line that says that the kernel is ready.
fn without_finished(printed: &str) -> (String, Vec<&str>) {
    let (finished, others): (Vec<&str>, Vec<&str>) =
        printed.lines().partition(|line| line.starts_with("KERNEL_FINISHED"));
    let place = |wanted: &str| printed.lines().position(|line| line == wanted);
    for line in &finished {
        assert!(place(line) > place(&line.replace("FINISHED", "READY")), "{printed}");
    }
    (others.iter().map(|line| format!("{line}\n")).collect(), finished)
}

/// Finished kernels come from the only queue of these clients, too.
#[test]
fn the_loop_of_cuda_30_gets_images_and_kernels() {
    for language in Language::ALL {
        let printed = looped("30", language);
        let (others, finished) = without_finished(&printed);
        assert_eq!(others, format!("ELF_IMAGE_LOADED an image\n{KERNELS}"));
        // It ends when the last kernel is ready.
        assert!(!finished.is_empty(), "{printed}");
    }
}

#[test]
fn the_loops_of_cuda_32_and_42_get_contexts_too() {
    let contexts = format!(
        "CTX_CREATE context 1\nELF_IMAGE_LOADED an image of module 1\nCTX_PUSH context 1\n{KERNELS}CTX_POP context 1\n\
         CTX_DESTROY context 1\n"
    );
    for (generation, language) in ["32", "42"].into_iter().flat_map(|number| Language::ALL.map(|each| (number, each))) {
        let printed = looped(generation, language);
        let (others, finished) = without_finished(&printed);
        assert_eq!(others, contexts, "{generation}");
        assert_eq!(finished, [1, 2, 3].map(|grid| format!("KERNEL_FINISHED grid {grid}")), "{generation}");
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
