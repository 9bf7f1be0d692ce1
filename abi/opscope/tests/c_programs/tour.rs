//! The tour in `docs/c-api.md`. Its code is that of `tour.c`, and its output is what `tour.c` prints.

use std::fs;

use opscope_c_programs::{Language, Library, repository};

use super::program;

#[test]
fn the_tour_shows_a_program_that_runs_and_what_it_prints() {
    let page = fs::read_to_string(repository().join("docs/c-api.md")).expect("the page");
    let source = fs::read_to_string(Library::Opscope.root().join("tests/c/tour.c")).expect("the program");
    let blocks = blocks(&page, "c");
    assert!(blocks.len() >= 5, "the page has the program in parts");
    blocks.iter().for_each(|block| assert!(source.contains(block), "tour.c has no such part:\n{block}"));

    let program = program("tour.c").arguments(["digits_cnn.onnx", "digits_cnn.input.image.npy"]);
    let printed = program.run_as(Language::C11).stdout;
    let shown: String = self::blocks(&page, "text").concat();
    assert_eq!(without_times(&printed), without_times(&shown), "what it prints, and what the page shows");
}

/// Returns the blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

/// Times differ from run to run.
fn without_times(text: &str) -> String {
    let line = |line: &str| line.split_once(" took ").map_or(line.to_owned(), |(what, _)| format!("{what} took"));
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
