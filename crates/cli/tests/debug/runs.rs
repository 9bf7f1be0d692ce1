//! Several runs: which one is looked at, and how they end.

use serde_json::Value;

use super::process::{Workplace, model};
use super::{batch, digits, in_json, in_order};

#[test]
fn an_aborted_run_ends_without_outputs_and_is_no_failure() {
    let place = Workplace::new();
    let text = digits(&place, &["b /conv2/Conv", "run 2", "abort no more of this", "c"]);
    in_order(
        &text,
        &[
            "run 0",
            "`run` has 1 more run to start; `abort --all` cancels them, too.",
            "Run 0 was aborted",
            "Breakpoint 1, before #3 /conv2/Conv (Conv), run 1",
            "Run 1 ended: prob",
        ],
    );
}

#[test]
fn of_parallel_runs_one_can_be_looked_at_while_others_wait_or_go_on() {
    let place = Workplace::new();
    let commands = [
        "break /conv2/Conv run 1",
        "run --parallel 3",
        "info runs",
        "print input[0][0, 0, 0]",
        "continue --all",
        "run 2",
    ];
    let text = digits(&place, &commands);
    in_order(&text, &["Breakpoint 1, before #3 /conv2/Conv (Conv), run 1", "* ", "run 1", "input[0][0, 0, 0]"]);
    for run in 0..5 {
        assert!(text.contains(&format!("Run {run} ended")), "{run}: {text}");
    }
}

#[test]
fn a_run_that_continue_all_resumed_is_not_reported_as_stopped_and_its_end_is_waited_for() {
    let place = Workplace::new();
    let ends = |lines: &[Value]| lines.iter().filter(|line| line["type"] == "run_ended").count();
    // A thread that had reached its breakpoint when the breakpoint was deleted still stops.
    let all_and_wait = ["-continue --all", "-wait"].repeat(12);
    let commands = ["break Softmax", "run 2 --parallel 8", "-continue --all", "delete"];
    let lines = in_json(&place, &[&commands[..], &all_and_wait[..], &["info runs"]].concat());
    assert_eq!(ends(&lines), 16, "{lines:?}");
    for stop in lines.iter().filter(|line| line["type"] == "stopped") {
        assert!(stop["location"].is_object(), "{stop}");
    }
    let runs = lines.iter().find(|line| line["type"] == "runs").unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 0, "{runs}");
}

#[test]
fn each_stopped_run_can_be_chosen() {
    let place = Workplace::new();
    let choose = |run: &str| [format!("thread {run}"), "where".into(), "info runs".into()];
    let begin = ["break Softmax", "run --parallel 2", "wait"].map(str::to_owned);
    let end = ["continue", "thread", "continue", "info runs"].map(str::to_owned);
    let commands: Vec<String> = [&begin[..], &choose("0"), &choose("1"), &end].concat();
    let lines = in_json(&place, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let (chosen, wheres, listed) = (of("thread"), of("location"), of("runs"));
    for run in [0, 1] {
        assert_eq!(chosen[run]["event"]["place"]["run"], run, "{chosen:?}");
        assert_eq!(wheres[run]["location"]["place"]["run"], run, "commands mean the run that was chosen: {wheres:?}");
        assert_eq!(listed[run]["runs"].as_array().unwrap().len(), 2, "{listed:?}");
        assert_eq!(listed[run]["current"], chosen[run]["event"]["sequence"], "{listed:?}");
    }
    let ended: Vec<_> = of("run_ended").iter().map(|end| end["run"].clone()).collect();
    assert_eq!(ended, [1, 0], "the chosen one continues, and then the other one");
    assert_eq!(chosen[2]["event"]["place"]["run"], 0);
    assert_eq!(listed[2]["runs"].as_array().unwrap().len(), 0, "{listed:?}");
}

#[test]
fn runs_without_end_are_ended_by_abort_all_and_others_can_be_started_after_them() {
    let place = Workplace::new();
    let commands = ["break Softmax", "run 1000000 --parallel 2", "abort --all", "info runs", "delete", "run"];
    let text = digits(&place, &commands);
    in_order(&text, &["Breakpoint 1, before #15", "was aborted", "No run is active.", "deleted", " ended: "]);
}

#[test]
fn a_run_that_was_aborted_is_not_offered_again() {
    let place = Workplace::new();
    let text = digits(&place, &["break Softmax", "run 2", "abort", "continue"]);
    in_order(&text, &["Run 0 was aborted", "Breakpoint 1, before #15 /Softmax (Softmax), run 1", "Run 1 ended"]);
    assert!(!text.contains("switches back"), "{text}");
}

#[test]
fn a_pause_where_all_is_stopped_says_so() {
    let place = Workplace::new();
    let ended = batch(&place, &[&model("digits_cnn.onnx")], &["-pause", "break Softmax", "run", "-pause", "continue"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(
        &ended.stderr,
        &["no run is active; `run` starts one", "all runs are stopped already; `continue` resumes"],
    );
}
