//! `opscope debug` at a terminal: line editing, history, completion, Ctrl-C and Ctrl-D.

mod process;
mod terminal;

use process::running::Running;
use process::{Workplace, model};
use rustix::process::Signal;
use terminal::Terminal;

const PROMPT: &str = "(opscope) ";
const UP: &str = "\u{1b}[A";
const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";

/// A debugger at its first prompt.
fn begun(place: &Workplace, arguments: &[&str]) -> Terminal {
    let mut command = place.command(&[&["debug"], arguments].concat());
    command.env("XDG_STATE_HOME", place.path("state"));
    let mut terminal = Terminal::start(&command);
    terminal.until(PROMPT);
    terminal
}

#[test]
fn a_session_is_typed_with_completion_and_history_and_ctrl_c_pauses_what_runs() {
    let place = Workplace::new();
    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);

    // Tab finds the only operator whose name begins with the typed text, and one whose name only contains it.
    terminal.types("b /conv2\t");
    terminal.until("/conv2/Conv");
    terminal.types("\r");
    terminal.until("Breakpoint 1 before /conv2/Conv");
    terminal.until(PROMPT);
    terminal.types("tbreak relu4\t\r");
    terminal.until("Breakpoint 2 before /relu4/Relu");
    terminal.until(PROMPT);

    terminal.types("run\r");
    terminal.until("Breakpoint 1, before #3 /conv2/Conv (Conv), run 0");
    terminal.until(PROMPT);
    terminal.types("print inp\t");
    terminal.until("print input[0]");
    terminal.types("[0, 0, 0, :2]\r");
    terminal.until("input[0][0, 0, 0, :2]  float32 [2]");
    terminal.until(PROMPT);

    // The arrow brings back what was typed; an empty line repeats a step.
    terminal.types("step\r");
    terminal.until("before #4 /bn2/BatchNormalization");
    terminal.until(PROMPT);
    terminal.types("\r");
    terminal.until("before #5 /relu2/Relu");
    terminal.until(PROMPT);
    terminal.types(&format!("{UP}{UP}\r"));
    terminal.until("input[0][0, 0, 0, :2]  float32 [2]");
    terminal.until(PROMPT);

    // Ctrl-C at the prompt discards the line.
    terminal.types("nonsense");
    terminal.until("nonsense");
    terminal.types(CTRL_C);
    terminal.until(PROMPT);
    terminal.types("delete 1\r");
    let shown = terminal.until("Breakpoint 1 deleted");
    assert!(!shown.contains("error"), "{shown}");
    terminal.until(PROMPT);

    terminal.types("continue\r");
    terminal.until("Breakpoint 2, before #13 /relu4/Relu (Relu), run 0");
    terminal.until(PROMPT);
    terminal.types("c\r");
    terminal.until("Run 0 ended");
    terminal.until(PROMPT);

    // Runs that would take days.
    terminal.types("run 1000000000\r");
    terminal.until("Run 20 ended");
    terminal.types(CTRL_C);
    terminal.until("Paused before #");
    terminal.until(PROMPT);
    terminal.types("info runs\r");
    terminal.until("*  run ");
    terminal.until(PROMPT);
    // This Ctrl-C comes soon after the first one, but the prompt was shown in between.
    terminal.types("continue\r");
    terminal.until(" ended: ");
    terminal.types(CTRL_C);
    terminal.until("Paused before #");
    terminal.until(PROMPT);
    terminal.types(CTRL_D);
    let (status, shown) = terminal.end();
    assert_eq!(status.code(), Some(0), "{shown}");

    let history = place.text("state/opscope/history");
    assert!(history.contains("b /conv2/Conv\n") && history.contains("print input[0][0, 0, 0, :2]\n"), "{history}");
}

#[test]
fn the_history_of_one_session_is_there_in_the_next() {
    let place = Workplace::new();
    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);
    terminal.types("echo from the first session\r");
    terminal.until("\nfrom the first session");
    terminal.until(PROMPT);
    terminal.types("quit\r");
    assert_eq!(terminal.end().0.code(), Some(0));

    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);
    terminal.types(UP);
    terminal.types(UP);
    terminal.until("echo from the first session");
    terminal.types("\r");
    terminal.until("\nfrom the first session");
    terminal.until(PROMPT);
    terminal.types(CTRL_D);
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn tab_lists_what_could_be_meant() {
    let place = Workplace::new();
    place.write("a file.npy", "");
    place.write("script.txt", "echo it ran\n");
    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);
    terminal.types("b type:Ma\t\r");
    terminal.until("before type:MaxPool: 2 operators");
    terminal.until(PROMPT);
    terminal.types("tb first nonf\t\r");
    terminal.until("after first nonfinite");
    terminal.until(PROMPT);
    terminal.types("tb Conv aft\t if absm\t > 1e9\r");
    terminal.until("after Conv if absmax > 1e9: 3 operators");
    terminal.until(PROMPT);
    terminal.types("events operator_f\t\r");
    terminal.until("Shown: stops, operator_finished");
    terminal.until(PROMPT);
    terminal.types("source scr\t");
    terminal.until("source script.txt");
    terminal.types("\r");
    terminal.until("it ran");
    terminal.until(PROMPT);
    terminal.types("info ope\t\t");
    let shown = terminal.until("operators");
    assert!(!shown.contains("events"), "{shown}");
    terminal.types("s\r");
    terminal.until("#15  Softmax");
    terminal.until(PROMPT);
    terminal.types("q\r");
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn ctrl_c_twice_leaves_a_program_that_does_not_answer() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let mut terminal = begun(&place, &["--attach", "socket"]);
    // At the second stop there is the end of a run to report.
    terminal.types("break Softmax\r");
    terminal.until("Breakpoint 1 before Softmax");
    terminal.until(PROMPT);
    for go in ["wait\r", "continue\r"] {
        terminal.types(go);
        terminal.until("Breakpoint 1, before #15");
        terminal.until(PROMPT);
    }
    terminal.types("delete\r");
    terminal.until("Breakpoint 1 deleted");
    terminal.until(PROMPT);
    running.signal(Signal::STOP);
    terminal.types("wait\r");
    // Once the end of the line is shown, Ctrl-C is a signal again, not a key.
    terminal.until("wait");
    terminal.until("\n");
    assert_eq!(terminal.types_until_it_ends(CTRL_C, "^C").code(), Some(130));
    running.signal(Signal::CONT);
    // The program continues as before.
    let ended = running.interrupt();
    assert_eq!(ended.code, Some(3), "{ended:?}");
}

#[test]
fn a_program_that_goes_away_ends_the_session() {
    let place = Workplace::new();
    let running = Running::start(&place, &["--debug-server=socket"]);
    let terminal = begun(&place, &["--attach", "socket"]);
    running.signal(Signal::KILL);
    // The session ends at once, not after the next line.
    let (status, shown) = terminal.end();
    assert!(shown.contains("Nothing is left to debug: the program ended"), "{shown}");
    assert_eq!(status.code(), Some(0), "{shown}");
}

#[test]
fn lines_that_are_typed_ahead_are_run_one_after_the_other() {
    let place = Workplace::new();
    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);
    terminal.types("break Softmax\rrun 2\recho one\rcontinue\recho two\rdelete\rcontinue\recho three\rinfo runs\r");
    for shown in ["Breakpoint 1, before", "\none", "run 1", "\ntwo", "deleted", "Run 1 ended", "\nthree", "No run is"] {
        terminal.until(shown);
    }
    terminal.until(PROMPT);
    terminal.types(CTRL_D);
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn runs_that_nothing_ends_are_ended_by_ctrl_c_and_abort_all() {
    let place = Workplace::new();
    let mut terminal = begun(&place, &[&model("digits_cnn.onnx")]);
    terminal.types("run 1000000000\r");
    terminal.until("Run 20 ended");
    terminal.types(CTRL_C);
    terminal.until("Paused before #");
    terminal.until(PROMPT);
    terminal.types("abort --all\r");
    terminal.until("was aborted");
    terminal.until(PROMPT);
    terminal.types("info runs\r");
    terminal.until("No run is active.");
    terminal.until(PROMPT);
    // The process ends although its runs have not ended.
    terminal.types("run 1000000000\r");
    terminal.until(" ended: ");
    terminal.types(CTRL_C);
    terminal.until("Paused before #");
    terminal.until(PROMPT);
    terminal.types("detach\r");
    terminal.until(" ended: ");
    terminal.types(CTRL_C);
    assert_eq!(terminal.end().0.code(), Some(0));
}

#[test]
fn ctrl_c_ends_a_batch() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let command = place.command(&["debug", &digits, "--batch", "-ex", "run 1000000000", "-ex", "echo not reached"]);
    let mut terminal = Terminal::start(&command);
    terminal.until("Run 20 ended");
    terminal.types(CTRL_C);
    let (status, shown) = terminal.end();
    assert_eq!(status.code(), Some(130), "{shown}");
    assert!(!shown.contains("not reached"), "{shown}");
}

#[test]
fn a_terminal_works_again_when_the_debugger_is_ended_at_its_prompt() {
    let place = Workplace::new();
    for signal in [Signal::TERM, Signal::HUP] {
        let terminal = begun(&place, &[&model("digits_cnn.onnx")]);
        assert!(!terminal.echoes(), "the editor shows what is typed");
        let (code, echoes) = terminal.end_by(signal);
        assert_eq!((code, echoes), (Some(128 + signal.as_raw()), true));
    }
}
