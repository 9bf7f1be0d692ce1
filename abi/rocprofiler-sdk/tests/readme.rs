//! The README names every function that does nothing here.

const README: &str = include_str!("../README.md");
const SOURCE: &str = include_str!("../src/unsupported.rs");

/// The functions of a source file that C sees: those of its list, and those that are written out.
fn functions() -> Vec<&'static str> {
    let list = SOURCE.split_once("not_implemented! {").expect("a list").1.split_once('}').expect("its end").0;
    let name = |line: &'static str| line.strip_prefix("pub fn ")?.split_once('(').map(|(name, _)| name);
    let written_out = SOURCE.lines().filter_map(name);
    list.split_whitespace().chain(written_out).collect()
}

#[test]
fn the_readme_names_every_function_that_is_not_supported() {
    let functions = functions();
    assert!(functions.len() >= 27, "{functions:?}");
    for function in functions {
        assert!(README.contains(&format!("`{function}`")), "{function} is missing");
    }
}

#[test]
fn the_readme_says_which_functions_are_not_implemented() {
    let (not_implemented, others) = README.split_once("These have one answer:").expect("two tables");
    let not_implemented = not_implemented.split_once("NOT_IMPLEMENTED").expect("the first table").1;
    let list = SOURCE.split_once("not_implemented! {").expect("a list").1.split_once('}').expect("its end").0;
    for function in functions() {
        let table = if list.split_whitespace().any(|name| name == function) { not_implemented } else { others };
        assert!(table.contains(&format!("`{function}`")), "{function} is in the wrong table");
    }
}
