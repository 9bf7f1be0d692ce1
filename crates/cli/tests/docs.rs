//! The pages show what the commands print today: every console block of the README and of `docs/` is run, and the
//! structure of its output is compared with the page. Numbers, and the order of rows that are sorted by time, may
//! differ.
//!
//! A line `<!-- $ command -->` runs a command that later commands need and a reader does not.
//! `OPSCOPE_UPDATE_DOCS=PROGRAM cargo test -p opscope-cli --test docs` writes into the pages what that program prints.
//! PROGRAM is a release build.

mod process;

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use opscope::engine::Library;
use opscope_model::testing::skipped;
use tempfile::TempDir;

/// The commands that are not run here, by their beginning, and why.
const NOT_RUN: [(&str, &str); 4] = [
    ("opscope debug ", "sessions are played by the tests of the debugger"),
    ("cargo test", "this is a part of it"),
    ("scripts/", "installs; checked by the check of installations"),
    ("export ", "sets a variable for the commands behind it"),
];

/// Other commands that are not run here, by a word in them, and why.
const NOT_RUN_WITH: [(&str, &str); 3] = [
    ("--debug-server", "waits for a debugger"),
    ("--tool", "needs a tool; checked by the tests of consumers"),
    ("crash", "needs a library that crashes; checked by the tests of isolation"),
];

/// A command of a page with the output that the page shows.
#[derive(Debug)]
struct Shown {
    command: String,
    /// Whether it only prepares something for other commands, and is not shown.
    is_hidden: bool,
    output: Vec<String>,
}

/// A directory in which commands find the models that pages name.
struct Scratch {
    directory: TempDir,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages() -> Vec<PathBuf> {
    let listed = fs::read_dir(top().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(top().join("README.md"));
    pages.sort();
    pages
}

/// Returns the console blocks of a page, each with its commands and the hidden commands before them.
fn blocks(page: &str) -> Vec<Vec<Shown>> {
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        let hidden = line.trim().strip_prefix("<!-- $ ").and_then(|rest| rest.strip_suffix(" -->"));
        match (&mut block, line) {
            (Some(_), "```") => blocks.push(commands(&block.take().unwrap())),
            (Some(text), line) => *text = format!("{text}{line}\n"),
            (None, "```console") => block = Some(String::new()),
            (None, _) => blocks.extend(
                hidden.map(|command| vec![Shown { command: command.to_owned(), is_hidden: true, output: Vec::new() }]),
            ),
        }
    }
    blocks
}

fn commands(block: &str) -> Vec<Shown> {
    let mut commands: Vec<Shown> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => {
                commands.push(Shown { command: command.to_owned(), is_hidden: false, output: Vec::new() })
            }
            (None, Some(shown)) => shown.output.push(line.to_owned()),
            (None, None) => (),
        }
    }
    commands
}

impl Scratch {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let models = top().join("models");
        symlink(&models, directory.path().join("models")).unwrap();
        // Pages also name a model without its directory.
        for entry in
            fs::read_dir(&models).unwrap().chain(light_models().into_iter().flat_map(|at| fs::read_dir(at).unwrap()))
        {
            let path = entry.unwrap().path();
            let _ = symlink(&path, directory.path().join(path.file_name().unwrap()));
        }
        Self { directory }
    }

    /// Runs a command. Returns its exit status and its output, in which messages stand where they were printed.
    fn run(&self, command: &str, library: Option<&Path>) -> (String, ExitStatus) {
        let program = std::env::var_os("OPSCOPE_UPDATE_DOCS").unwrap_or(env!("CARGO_BIN_EXE_opscope").into());
        let program = Path::new(&program).parent().unwrap().display();
        let command = command.replace("cargo run --release -p opscope-cli --", "opscope");
        let mut shell = Command::new("sh");
        shell.arg("-c").arg(format!("PATH={program}:$PATH; {command} 2>&1")).current_dir(self.directory.path());
        shell.env("COLUMNS", "80").env("LC_ALL", "C.UTF-8").env_remove("OPSCOPE_ENGINE");
        // Earlier measurements of this machine are not used.
        shell.env("XDG_CACHE_HOME", self.directory.path().join("cache"));
        if let Some(library) = library {
            shell.env("ORT_DYLIB_PATH", library);
        }
        for name in process::RAW_ONLY {
            shell.env_remove(name);
        }
        let output = shell.stdin(Stdio::null()).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).trim_end().to_owned(), output.status)
    }
}

/// Returns the directory of the models that pages name but the repository does not have, if it is known.
fn light_models() -> Option<PathBuf> {
    std::env::var_os("OPSCOPE_LIGHT_MODELS").map(PathBuf::from)
}

/// Returns why a block is not run here; `None` if it is.
fn not_run(block: &[Shown], scratch: &Scratch) -> Option<String> {
    for shown in block.iter().filter(|shown| !shown.is_hidden) {
        let begins = NOT_RUN.iter().find(|(beginning, _)| shown.command.starts_with(beginning));
        let has = NOT_RUN_WITH.iter().find(|(part, _)| shown.command.split(' ').any(|word| word.contains(part)));
        if let Some((_, why)) = begins.or(has) {
            return Some((*why).to_owned());
        }
        if ["onnxruntime", "opscope engines"].iter().any(|part| shown.command.contains(part))
            && Library::find(None).is_err()
        {
            skipped("ONNX Runtime is not there for the commands of the pages");
            return Some("needs ONNX Runtime".to_owned());
        }
        let names =
            shown.command.split([' ', ',', '=']).filter(|word| word.ends_with(".onnx") || word.ends_with(".npy"));
        if let Some(name) =
            names.filter(|name| !name.starts_with("out/")).find(|name| !scratch.directory.path().join(name).exists())
        {
            if light_models().is_none() && name.starts_with("light_") {
                skipped("OPSCOPE_LIGHT_MODELS names no directory");
            }
            return Some(format!("{name} is not in the repository"));
        }
    }
    None
}

/// Returns the structure of an output: its labels and the heads of its tables. The rows of a table count as one.
fn structure<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut before: Option<&str> = None;
    let mut in_table = false;
    for line in lines {
        if line.starts_with("──") {
            // The line before is the table's head.
            let head = before.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
            found.pop();
            found.push(head);
            in_table = true;
        } else if line.trim().is_empty() {
            in_table = false;
        } else if ["reference work", "load average", "faster "].iter().any(|part| line.starts_with(part)) {
            // These lines depend on the machine: whether it was slower or busier for one of the two, and whether the
            // other engine is much faster.
        } else {
            let label = line.split_whitespace().next().unwrap();
            let is_label =
                !line.starts_with(' ') && label.chars().all(|letter| letter.is_ascii_alphabetic() || letter == ':');
            let key = match () {
                () if line.trim() == "..." => "...".to_owned(),
                // A bar: which operator types are there depends on the machine.
                () if line.contains('█') => "rows".to_owned(),
                () if is_label && (!in_table || line.starts_with("...")) => label.to_owned(),
                () => "rows".to_owned(),
            };
            if key != "rows" || found.last().is_none_or(|last| last != "rows") {
                found.push(key);
            }
        }
        before = Some(line);
    }
    found
}

/// Returns whether an output has the structure that is shown, where `...` stands for any lines.
fn fits(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first == "..." => (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..])),
        Some((first, rest)) => printed.split_first().is_some_and(|(one, others)| one == first && fits(rest, others)),
    }
}

#[test]
fn the_pages_show_what_the_commands_print_today() {
    let library = Library::find(None).ok().map(|library| library.path().to_owned());
    let update = std::env::var_os("OPSCOPE_UPDATE_DOCS").is_some();
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut reasons: HashMap<String, usize> = HashMap::new();
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let mut updated = page.clone();
        let scratch = Scratch::new();
        for block in blocks(&page) {
            if let Some(why) = not_run(&block, &scratch) {
                *reasons.entry(why).or_default() += 1;
                continue;
            }
            let (mut code, mut is_undecided) = (0, false);
            for shown in &block {
                // Each command has a shell of its own, which gets the exit code of the previous command.
                let command = format!("(exit {code}); {}", shown.command);
                let (printed, status) = scratch.run(&command, library.as_deref());
                code = status.code().unwrap_or(1);
                count += 1;
                let want = structure(shown.output.iter().map(String::as_str));
                let got = structure(printed.lines());
                // A command whose output the page omits only has to succeed. Any other command must print what the page
                // shows.
                let is_right = match &shown.output[..] {
                    [] => status.success(),
                    // On a noisy machine a comparison of times decides nothing.
                    [exit_code] if shown.command == "echo $?" => {
                        *exit_code == printed || is_undecided && printed == "3"
                    }
                    _ => fits(&want, &got),
                };
                is_undecided = printed.contains(": cannot tell;");
                if !is_right {
                    wrong.push(format!(
                        "{}: $ {} ({status})\nshown: {want:?}\nprinted: {got:?}\n{printed}\n",
                        path.display(),
                        shown.command
                    ));
                }
                if update && !shown.output.is_empty() && !want.contains(&"...".to_owned()) {
                    let old = format!("$ {}\n{}", shown.command, shown.output.join("\n"));
                    updated = updated.replace(&old, &format!("$ {}\n{printed}", shown.command));
                }
            }
        }
        if updated != page {
            fs::write(&path, updated).unwrap();
        }
    }
    println!("{count} commands were run; not run: {reasons:?}");
    assert!(wrong.is_empty(), "{} of {count} commands print something else:\n{}", wrong.len(), wrong.join("\n"));
    for (what, why) in NOT_RUN.iter().chain(&NOT_RUN_WITH) {
        assert!(reasons.contains_key(*why), "no page has a command with '{what}': {why}");
    }
    if library.is_some() && light_models().is_some() {
        assert_eq!(count, 59, "the number of commands that are run: {reasons:?}");
    }
}
