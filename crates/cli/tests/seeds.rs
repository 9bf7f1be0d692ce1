//! `scripts/check-seeds` and `scripts/check-claims`: which rows of their pages they accept, and which they refuse.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Returns a tree with the script, one test, and a page with a row for each seed. The last row has this test.
fn tree(test: &str) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = tree.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    let rows: String =
        (0..4).map(|seed| format!("| `00{seed}-row` | a rule | `crates/x/tests/x.rs::right` |\n")).collect();
    let page = format!(
        "| seed | about | library or command here | source |\n|---|---|---|---|\n| 004 | events | `liby.so.1` | `abi/y` |\n\n\
         | id | what it says | test |\n|---|---|---|\n{rows}| `004-row` | a rule | {test} |\n"
    );
    write("docs/seeds.md", &page);
    write("crates/x/tests/x.rs", "#[test]\nfn right() {}\n\n#[test]\n#[ignore]\nfn never() {}\n\nfn helper() {}\n");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    fs::create_dir(tree.path().join("scripts")).unwrap();
    for script in ["check-seeds", "check-claims", "named-tests.awk"] {
        fs::copy(scripts.join(script), tree.path().join("scripts").join(script)).unwrap();
    }
    tree
}

/// Runs the script on a tree. Returns whether it succeeds, and its messages. The shell reads the script, instead of the
/// system executing it: a process that another test is starting may still have it open for writing, and then the system
/// would refuse to execute it.
fn checked(tree: &TempDir) -> (bool, String) {
    run("check-seeds", tree)
}

fn run(script: &str, tree: &TempDir) -> (bool, String) {
    let output = Command::new("sh").arg(tree.path().join("scripts").join(script)).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_row_without_a_test_that_runs_is_refused() {
    assert_eq!(checked(&tree("`crates/x/tests/x.rs::right`")), (true, String::new()));
    for (test, says) in [
        ("", "names no test"),
        ("pending", "is pending"),
        ("`crates/x/tests/x.rs::wrong`", "which crates/x/tests/x.rs does not have"),
        ("`crates/x/tests/y.rs::right`", "which does not exist"),
        ("`crates/x/tests/x.rs::never`", "is ignored and so never runs"),
        ("`crates/x/tests/x.rs::helper`", "is a function but no test"),
        ("`scripts/nothing`", "which is missing or cannot be executed"),
    ] {
        let (good, messages) = checked(&tree(test));
        assert!(!good && messages.contains("004-row") && messages.contains(says), "{test}: {messages}");
    }
}

#[test]
fn a_row_of_a_library_that_exists_may_not_say_that_it_is_not_built() {
    let tree = tree("not built: liby.so.1");
    assert_eq!(checked(&tree), (true, String::new()), "there is no source of it");
    fs::create_dir_all(tree.path().join("abi/y")).unwrap();
    let (good, messages) = checked(&tree);
    assert!(!good && messages.contains("004-row says that liby.so.1 is not built, but abi/y exists"), "{messages}");
}

#[test]
fn a_row_of_a_library_that_is_in_no_seed_is_refused() {
    let (good, messages) = checked(&tree("not built: libz.so.1"));
    assert!(!good && messages.contains("\"libz.so.1\", which the table of the seeds does not have"), "{messages}");
}

#[test]
fn a_claim_that_its_page_does_not_make_or_no_test_holds_is_refused() {
    let claims = |last: &str| {
        let tree = tree("`crates/x/tests/x.rs::right`");
        let row =
            "| It is\nright. | `docs/page.md` | `crates/x/tests/x.rs::right` |\n".replace('\n', " ").trim().to_owned();
        let rows: String = (0..39).map(|_| format!("{row}\n")).collect();
        let page = format!("| the page says | page | test |\n|---|---|---|\n{rows}{last}\n");
        fs::write(tree.path().join("docs/claims.md"), page).unwrap();
        // The words of a claim may be wrapped.
        fs::write(tree.path().join("docs/page.md"), "# A page\n\nIt is\nright.\n").unwrap();
        run("check-claims", &tree)
    };
    let right = "| It is right. | `docs/page.md` | `crates/x/tests/x.rs::right` |";
    assert_eq!(claims(right), (true, String::new()));
    for (row, says) in [
        ("", "only 39 claims"),
        ("| It is left. | `docs/page.md` | `crates/x/tests/x.rs::right` |", "docs/page.md does not say"),
        ("| It is right. | `docs/other.md` | `crates/x/tests/x.rs::right` |", "docs/other.md cannot be read"),
        ("| It is right. | `docs/page.md` |  |", "names no test"),
        ("| It is right. | `docs/page.md` | `crates/x/tests/x.rs::wrong` |", "does not have"),
        ("| It is right. | `docs/page.md` | `crates/x/tests/x.rs::never` |", "never runs"),
    ] {
        let (good, messages) = claims(row);
        assert!(!good && messages.contains(says), "{row}: {messages}");
    }
}
