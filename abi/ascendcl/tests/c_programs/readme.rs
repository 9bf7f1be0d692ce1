//! The README: its program runs and prints what it shows, and it names every function that does nothing here.

use std::collections::BTreeSet;
use std::fs;

use opscope_c_programs::{Language, Library, models, source};

use super::library::UNSUPPORTED;
use super::program;

const README: &str = include_str!("../../README.md");

#[test]
fn the_program_of_the_readme_prints_what_the_readme_shows() {
    let program = program(source("program.c", block("c"))).with("OPSCOPE_ACL_INPUT_SHAPE", "image:1,1,8,8");
    let printed = program.inside(models()).run_as(Language::C11);
    assert_eq!((&*printed.stdout, &*printed.stderr), (block("text"), ""));
}

/// Returns the one block of the README in this language.
fn block(language: &str) -> &'static str {
    let (_, behind) = README.split_once(&format!("```{language}\n")).expect("a block");
    behind.split_once("```").expect("its end").0
}

#[test]
fn the_readme_names_every_function_that_is_not_supported() {
    let (_, behind) = README.split_once("## What is not here").expect("the part");
    let (table, _) = behind.split_once("\n\nOthers answer 200006").expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| ")).flat_map(|line| line.split('`').skip(1).step_by(2));
    let named: BTreeSet<&str> = rows.collect();
    let unsupported: BTreeSet<&str> = unsupported().collect();
    assert!(unsupported.len() > 90, "{unsupported:?}");
    assert_eq!(named, unsupported, "named, and in src/unsupported.rs");
}

/// Returns the functions of the lists in `src/unsupported.rs`.
fn unsupported() -> impl Iterator<Item = &'static str> {
    let lists = UNSUPPORTED.split("! {").skip(1);
    lists.flat_map(|list| list.split_once('}').expect("its end").0.split_whitespace())
}

#[test]
fn the_readme_names_every_variable() {
    let directory = Library::AscendCl.root().join("src");
    let mut sources = vec![directory];
    let mut variables = BTreeSet::new();
    while let Some(path) = sources.pop() {
        if path.is_dir() {
            sources.extend(fs::read_dir(path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else {
            let text = fs::read_to_string(path).expect("UTF-8");
            let found = text.split('"').filter(|text| text.starts_with("OPSCOPE_") && !text.contains(' '));
            variables.extend(found.map(str::to_owned));
        }
    }
    assert!(variables.len() >= 3, "{variables:?}");
    for variable in variables {
        assert!(README.contains(&format!("| `{variable}` |")), "{variable} is missing");
    }
}
