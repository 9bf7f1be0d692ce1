//! The program of the README.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use opscope_c_programs::{Language, source};
use opscope_model::Fidelity;

use super::client;
use super::debuggee::{Debuggee, Done, Lines};

const README: &str = include_str!("../../README.md");

#[test]
fn the_program_of_the_readme_prints_an_image_and_three_grids() {
    let code = README.split("```c\n").nth(1).and_then(|after| after.split("```").next()).expect("the program");
    let debuggee = Debuggee::new();
    let lines = Lines::new();
    let _loaded = debuggee.debugger.load(&lines.plan().graph, Fidelity::Exact);
    let (variable, target) = debuggee.target();
    let client = client(source("debugger.c", code)).with(variable, target);
    let is_done = AtomicBool::new(false);
    let printed = thread::scope(|scope| {
        scope.spawn(|| {
            let runs = (1..).take_while(|_| !is_done.load(Ordering::Relaxed));
            runs.for_each(|run| drop(lines.run(&debuggee, run).expect("the run succeeds")));
        });
        let _done = Done(&is_done);
        client.run_as(Language::C11)
    });
    let lines: Vec<_> = printed.stdout.lines().collect();
    assert!(lines.len() == 4 && lines[0].starts_with("an image of ") && lines[0].ends_with(" bytes"), "{lines:?}");
    let places: Vec<_> = (0..3).map(|operator| format!("{:#x}", 0x0001_0001_0000_0000_u64 + operator * 32)).collect();
    for (index, line) in lines[1..].iter().enumerate() {
        let (grid, place) = line.split_once(" at ").expect("a grid and its place");
        assert_eq!(grid, format!("grid {}", index + 1));
        assert!(places.iter().any(|known| known == place), "{line}");
    }
    assert_eq!(printed.stderr, "");
}
