//! `docs/operators.md`: for each operator type, the files that know something about it.
//!
//! `UPDATE_DOCS=1 cargo test --workspace --test operators_page` writes the page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The columns: a heading, and the files and folders that it covers.
const COLUMNS: [(&str, &[&str]); 6] = [
    ("shapes", &["crates/onnx/src/types"]),
    ("costs", &["crates/onnx/src/cost"]),
    ("checks", &["crates/engine-tract/src/checks"]),
    ("own computation", &["crates/engine-tract/src/operators", "crates/engine-tract/src/rewrite"]),
    ("faster", &["crates/engine-tract/src/optimise", "crates/engine-tract/src/plan"]),
    ("attribution, scale", &["crates/model/src/kernel", "crates/engine-onnxruntime/src", "crates/job/src/verify"]),
];

const HEAD: &str = "\
# What is known of each operator

Each operator type of ONNX, and of the domain `com.microsoft`, with the files that name it. A test writes this page from the sources:
`UPDATE_DOCS=1 cargo test --workspace --test operators_page`. [CONTRIBUTING](../CONTRIBUTING.md#an-operator) says what belongs where.

- *shapes*, in `crates/onnx/src/types`: the types and shapes of its outputs.
- *costs*, in `crates/onnx/src/cost`: its operations and bytes ([costs](costs.md)).
- *checks*, in `crates/engine-tract/src/checks`: what ONNX allows, and what tract computes wrongly and is refused.
- *own computation*, in `crates/engine-tract/src/operators` and `rewrite`: where our own code or other operators replace tract's.
- *faster*, in `crates/engine-tract/src/optimise` and `plan`: its fast form, and how its kernels are found.
- *attribution, scale*, in `crates/model/src/kernel`, `crates/engine-onnxruntime/src`, `crates/job/src/verify`: whose time a
  fused kernel is, how ONNX Runtime has to be told of it, and how large its results can be.

A type with an empty row needs nothing of ours: tract or ONNX Runtime computes it, and its outputs have the type that the engine reports.

";

#[test]
fn the_page_of_operators_names_every_file_that_knows_an_operator() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = page(&root);
    let path = root.join("docs/operators.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let changed = page.lines().find(|line| !kept.lines().any(|kept| kept == *line));
    assert!(
        kept == page,
        "docs/operators.md is not current: run this test with UPDATE_DOCS=1. A new line is {changed:?}"
    );
}

/// Returns the page's text.
fn page(root: &Path) -> String {
    let types = operator_types(root);
    let mut known: BTreeMap<&str, [Vec<String>; COLUMNS.len()]> = BTreeMap::new();
    for (column, (_, places)) in COLUMNS.iter().enumerate() {
        for place in *places {
            for path in sources(&root.join(place)) {
                let text = fs::read_to_string(&path).unwrap();
                // Below are the file's own tests.
                let code = text.split("\n#[cfg(test)]").next().unwrap_or_default();
                let named: BTreeSet<&str> = code.split('"').skip(1).step_by(2).collect();
                let shown = path.strip_prefix(root.join(place)).unwrap().to_string_lossy().into_owned();
                let shown =
                    if shown.is_empty() { path.file_name().unwrap().to_string_lossy().into_owned() } else { shown };
                for name in types.iter().filter(|name| named.contains(name.as_str())) {
                    known.entry(name).or_default()[column].push(format!("`{}`", shown.trim_end_matches(".rs")));
                }
            }
        }
    }
    let mut page = HEAD.to_owned();
    writeln!(page, "| operator | {} |", COLUMNS.map(|(heading, _)| heading).join(" | ")).unwrap();
    writeln!(page, "|{}", "---|".repeat(COLUMNS.len() + 1)).unwrap();
    for name in &types {
        let cells = known.remove(name.as_str()).unwrap_or_default().map(|files| files.join(", "));
        writeln!(page, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
    page
}

/// Returns the operator types of the models of one operator that the tests of values run.
fn operator_types(root: &Path) -> BTreeSet<String> {
    let models = fs::read_to_string(root.join("models/operators.jsonl")).unwrap();
    models.split("\"op_type\":\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// Returns the Rust files in a folder and those below, in order.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    let (folders, files): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| sources(folder))).collect()
}
