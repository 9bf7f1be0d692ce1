//! What an installation has beside the command: completions for shells, and manual pages.

mod process;

use std::fs;
use std::process::Command;

use process::{Workplace, end};

/// Returns the commands that `opscope help` lists.
fn commands(place: &Workplace) -> Vec<String> {
    let help = end(&mut place.command(&["help"])).stdout;
    let listed = help.split("Commands:\n").nth(1).expect("a list of commands").split("\n\n").next().unwrap();
    let commands: Vec<String> = listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|command| command != "help")
        .collect();
    assert!(commands.len() >= 7, "{commands:?}");
    commands
}

/// Returns the long options that a command's help lists.
fn options(place: &Workplace, command: &str) -> Vec<String> {
    let help = end(&mut place.command(&[command, "--help"])).stdout;
    // A line that is not indented is a sentence.
    let lines = help.lines().filter(|line| line.starts_with(' ')).map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with('-'));
    let names = lines.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")));
    names.map(|name| name.split(['[', '=']).next().unwrap().to_owned()).collect()
}

/// Returns the completions that bash offers for the last word.
fn offered(place: &Workplace, words: &[&str]) -> Vec<String> {
    let complete = r#"
        source ./opscope.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _opscope opscope "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", complete, "complete", "opscope"]).args(words).current_dir(place.path("."));
    let ended = end(&mut bash);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_every_command_option_and_value() {
    let place = Workplace::new();
    place.write("opscope.bash", end(&mut place.command(&["completions", "bash"])).stdout);
    let first = offered(&place, &[""]);
    for command in commands(&place) {
        assert!(first.contains(&command), "{command}: {first:?}");
        let offers = offered(&place, &[&command, "--"]);
        for option in options(&place, &command) {
            assert!(offers.contains(&option), "{command} {option}: {offers:?}");
        }
    }
    assert!(!first.iter().any(|command| command == "manual"), "what the help hides is not offered: {first:?}");
    assert_eq!(offered(&place, &["export", "--format", ""]), ["perfetto", "chrome", "csv", "parquet"]);
    assert_eq!(offered(&place, &["benchmark", "m.onnx", "--dump-format", "a"]), ["ascend"]);
    assert_eq!(offered(&place, &["completions", "z"]), ["zsh"]);
}

#[test]
fn each_shell_has_a_script_that_names_every_command() {
    let place = Workplace::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = end(&mut place.command(&["completions", shell])).stdout;
        for command in commands(&place) {
            assert!(script.contains(&command), "{shell}: {command}");
        }
    }
    let ended = end(&mut place.command(&["completions", "tcsh"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("bash, zsh, fish"), "{ended:?}");
}

#[test]
fn the_manual_has_a_page_for_each_command_with_all_of_its_options() {
    let place = Workplace::new();
    let ended = end(&mut place.command(&["manual", "new/directory"]));
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""), "{ended:?}");
    let commands = commands(&place);
    assert_eq!(fs::read_dir(place.path("new/directory")).unwrap().count(), commands.len() + 1);
    let first = place.text("new/directory/opscope.1").replace("\\-", "-");
    for command in commands {
        assert!(first.contains(&format!("opscope-{command}(1)")), "{command}");
        let page = place.text(&format!("new/directory/opscope-{command}.1")).replace("\\-", "-");
        assert!(page.contains(".SH \"EXIT STATUS\""), "{page}");
        for option in options(&place, &command) {
            assert!(page.contains(&option), "{command} {option}: {page}");
        }
    }
}

#[test]
fn a_manual_that_cannot_be_written_is_an_error_that_names_the_file() {
    let place = Workplace::new();
    place.write("file", "");
    let ended = end(&mut place.command(&["manual", "file"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.starts_with("error: file/opscope-benchmark.1 cannot be written: "), "{ended:?}");
}
