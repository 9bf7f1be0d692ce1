//! The pages show what `opscope debug` really does: their sessions are run, and their tables are compared.

mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use process::{Workplace, end, fixture, model};
use serde_json::Value;

const PROMPT: &str = "(opscope) ";

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(top().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the blocks of a page that show sessions of the debugger.
fn sessions(page: &str) -> Vec<&str> {
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter(|block| block.starts_with("$ opscope debug ")).collect()
}

/// Runs the command of a session with the same input. Returns the new session.
fn played(session: &str) -> String {
    const MARK: &str = "= next =";
    let (command, rest) = session.split_once('\n').unwrap();
    let typed: Vec<&str> = rest.lines().filter_map(|line| line.strip_prefix(PROMPT)).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_opscope")).parent().unwrap().display();
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("PATH={program}:$PATH; exec {} 2>&1", &command[2..])).current_dir(top());
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut keyboard = child.stdin.take().unwrap();
    for line in &typed {
        writeln!(keyboard, "echo {MARK}\n{line}").unwrap();
    }
    drop(keyboard);
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let mark = format!("{MARK}\n");
    let mut parts = output.split(&mark);
    let mut went = format!("{command}\n{}", parts.next().unwrap());
    for (line, part) in typed.iter().zip(parts) {
        went.push_str(&format!("{PROMPT}{line}\n{part}"));
    }
    went.trim_end().to_owned()
}

/// Returns a session without everything that may differ on another machine: digits of numbers, hashes, columns, the
/// engine's kernels, threads.
fn essence(session: &str) -> Vec<String> {
    let word = |word: &str| {
        let bare = word.trim_matches(|letter| "[](),:".contains(letter));
        let is_hash = bare.len() == 16 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash || bare.contains('.') && bare.parse::<f64>().is_ok() {
            word.replace(bare, "N")
        } else {
            word.to_owned()
        }
    };
    let line = |line: &str| {
        let mut words: Vec<String> = line.split_whitespace().map(word).collect();
        for at in 1..words.len() {
            if (words[at - 1].ends_with("kernel") || words[at - 1] == "thread")
                && words[at].starts_with(|letter: char| letter.is_ascii_digit())
            {
                words[at] = "N".to_owned();
            }
        }
        words.join(" ")
    };
    session.lines().map(line).collect()
}

#[test]
fn the_sessions_on_the_pages_go_as_they_are_shown() {
    let mut count = 0;
    for name in ["README.md", "docs/guide.md", "docs/debug.md"] {
        let page = page(name);
        let sessions = sessions(&page);
        assert!(!sessions.is_empty(), "{name} shows none");
        for session in sessions {
            let went = played(session);
            assert_eq!(essence(&went), essence(session), "{name} shows:\n{session}\n\nand it goes:\n{went}");
            count += 1;
        }
    }
    assert!(count >= 5);
}

#[test]
fn the_page_names_every_command_and_every_part_of_a_condition() {
    let page = page("docs/debug.md");
    let place = Workplace::new();
    let help = end(&mut place.command(&["debug", &fixture("nan.onnx"), "--quiet", "--batch", "-ex", "help"]));
    let calls = help.stdout.lines().filter(|line| line.starts_with(|letter: char| letter.is_ascii_lowercase()));
    let names: Vec<&str> = calls.map(|line| line.split([' ', ',']).next().unwrap()).collect();
    assert!(names.len() > 30, "{help:?}");
    for name in names {
        assert!(page.contains(&format!("\n| `{name}")), "{name} is not in docs/debug.md");
    }
    let language = page_of_the_language();
    for row in language.lines().filter(|line| line.starts_with("| `")) {
        assert!(page.contains(row), "docs/debug.md has not {row}");
    }
}

/// Returns the documentation of the language of conditions.
fn page_of_the_language() -> String {
    let source = page("crates/debug/src/expression/mod.rs");
    let lines: Vec<&str> = source.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    assert!(lines.iter().any(|line| line.starts_with("| `absmax`")), "the table is there");
    lines.join("\n")
}

#[test]
fn every_json_object_has_the_type_and_the_fields_of_the_table() {
    let place = Workplace::new();
    let commands = "break Conv\ncatch nonfinite\ncatch error\ndelete 2\nbreak Relu if absmax(input[9]) > 1\n\
         info breakpoints\nrun\nwhere\nbacktrace\nup\nthread\nlist\n\
         print input[0]\nstats input[0]\nhistogram input[0]\ntopk input[0]\nsave input[0] saved.npy\nset input[0] = 0\n\
         print max(input[0])\ninfo inputs\ninfo outputs\ninfo weights\ninfo attributes\ninfo operators\ninfo operator\ninfo runs\ninfo model\n\
         info events\ninfo status\nevents\necho text\nhelp run\nnonsense\ncontinue\nabort\nquit\n";
    place.write("commands", commands);
    let mut command = place.command(&["debug", &model("digits_cnn.onnx"), "--json"]);
    let ended = end(command.stdin(fs::File::open(place.path("commands")).unwrap()));
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let page = page("docs/debug.md");
    let table = page.split("| `type` | fields | when |").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut fields: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in table.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let names = cells[1].split('`').skip(1).step_by(2);
        fields.insert(cells[0].trim_matches(['|', ' ', '`']), names.collect());
    }
    let mut seen = BTreeSet::new();
    for line in ended.stdout.lines() {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let kind = object["type"].as_str().unwrap();
        let known = fields.get(kind).unwrap_or_else(|| panic!("'{kind}' is not in the table"));
        for name in object.as_object().unwrap().keys().filter(|name| *name != "type") {
            assert!(known.contains(&**name), "'{name}' of '{kind}' is not in the table: {line}");
        }
        seen.insert(kind.to_owned());
    }
    let shown: BTreeSet<String> = fields.keys().map(|kind| (*kind).to_owned()).collect();
    let rare = BTreeSet::from(["evaluated", "gone", "ranks", "untold"].map(str::to_owned));
    assert_eq!(shown.difference(&seen).cloned().collect::<BTreeSet<_>>(), rare);
    let first: Value = serde_json::from_str(ended.stdout.lines().next().unwrap()).unwrap();
    assert_eq!((&first["type"], &first["schema"]), (&"hello".into(), &"opscope.debug/1".into()));
    // An error is reported in both forms.
    ended.says(&["error: unknown command 'nonsense'"]);
}
