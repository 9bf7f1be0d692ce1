//! The names of commands, and what each takes.

use anyhow::{Result, bail};
use opscope::spelling::did_you_mean;

/// A command's names and what is said of it.
#[derive(Debug)]
pub struct CommandRow {
    /// Its name.
    pub name: &'static str,
    /// Short forms and other names. Every beginning of the name that is no other command's is understood, too.
    pub short: &'static [&'static str],
    /// What follows it.
    pub takes: &'static str,
    /// What it does, in a line.
    pub does: &'static str,
    /// What else is to be said.
    pub more: &'static str,
    /// What can be completed behind it.
    pub words: Words,
}

/// Kinds of words that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Nothing,
    /// Operators by name, type or index.
    Targets,
    /// Operators, and when to stop there.
    Breakpoint,
    /// Tensors.
    Tensors,
    /// A tensor, then a file.
    TensorsAndFiles,
    Files,
    /// Names of events.
    Events,
    /// Topics of `info`.
    Topics,
    /// Commands.
    Commands,
    /// What `catch` takes.
    Catch,
}

const fn row(
    name: &'static str,
    short: &'static [&'static str],
    takes: &'static str,
    words: Words,
    does: &'static str,
    more: &'static str,
) -> CommandRow {
    CommandRow { name, short, takes, does, more, words }
}

const TARGETS: &str = "A place is an operator's name or, where no operator has it, a type (Conv); a glob pattern (name:/layer1/*, \
type:Conv*) or re: and a regular expression; an index (#12); or first nonfinite, first nan, first inf.";
const TENSORS: &str = "A tensor is input[0], output[0], weight[0] (by slot) or value(\"name\"), or simply a value's \
name. A slice may follow, as in numpy: output[0][0, :4], input[0][..., -1].";

/// All commands, in the order in which `help` lists them.
pub const COMMANDS: &[CommandRow] = &[
    row(
        "run",
        &["r"],
        "[N] [--parallel P]",
        Words::Nothing,
        "run the model, N times one after the other",
        "\
--parallel starts P threads that each do so; one can be stopped while others go on. Inputs that come from files are taken in \
turn. The prompt comes back when a run stops or all are over; Ctrl-C stops one, and `abort --all` ends the rest.",
    ),
    row(
        "break",
        &["b", "br"],
        "PLACE [before|after] [run N] [if CONDITION]",
        Words::Breakpoint,
        "stop at operators",
        TARGETS,
    ),
    row(
        "tbreak",
        &["tb"],
        "PLACE [before|after] [run N] [if CONDITION]",
        Words::Breakpoint,
        "stop at operators once",
        TARGETS,
    ),
    row(
        "catch",
        &[],
        "nan|inf|nonfinite|error",
        Words::Catch,
        "stop at the first operator that makes NaN or infinity, or where a run fails",
        "\
An operator counts whose outputs have such elements although its inputs have none, and one that is the first to take some from \
outside: from an input of the model, an initializer, or a constant that was computed when the model was loaded. What \
the model gives without computing it in a run counts for the last operator.",
    ),
    row(
        "condition",
        &["cond"],
        "N [CONDITION]",
        Words::Nothing,
        "change the condition of breakpoint N, or take it away",
        "",
    ),
    row("ignore", &[], "N COUNT", Words::Nothing, "let COUNT hits of breakpoint N pass", ""),
    row("enable", &["en"], "[N...]", Words::Nothing, "switch breakpoints on", "All of them where none is named."),
    row("disable", &["dis"], "[N...]", Words::Nothing, "switch breakpoints off", "All of them where none is named."),
    row("delete", &["d"], "[N...]", Words::Nothing, "remove breakpoints", "All of them where none is named."),
    row(
        "info",
        &["i"],
        "TOPIC",
        Words::Topics,
        "tell what is there",
        "\
Topics: breakpoints, operators [PATTERN], operator [PLACE], runs, inputs, outputs, weights, attributes, model, events, status.",
    ),
    row(
        "print",
        &["p"],
        "TENSOR | FUNCTION(TENSOR)",
        Words::Tensors,
        "show a tensor, or what a function gives of it",
        "\
A tensor is input[0], output[0], weight[0] (by slot) or value(\"name\"), or simply a value's name. A slice may follow, as in \
numpy: output[0][0, :4], input[0][..., -1]. The functions are those of conditions: nan, inf, zeros, count, absmax, min, max, \
mean, std, l2, shape, rank, dtype.",
    ),
    row("stats", &[], "TENSOR", Words::Tensors, "numbers about a tensor: range, mean, NaN, zeros", TENSORS),
    row(
        "histogram",
        &["hist"],
        "TENSOR",
        Words::Tensors,
        "how a tensor's elements are spread over powers of two",
        TENSORS,
    ),
    row(
        "topk",
        &[],
        "TENSOR [K] [magnitude]",
        Words::Tensors,
        "the K largest elements, 10 if not given, at most 4096",
        "\
With `magnitude` the largest without their sign.",
    ),
    row("save", &[], "TENSOR FILE.npy", Words::TensorsAndFiles, "write a tensor to a new file", TENSORS),
    row(
        "set",
        &[],
        "TENSOR = FILE.npy|NUMBER",
        Words::TensorsAndFiles,
        "change a tensor that the run goes on with",
        "\
Inputs before the operator, outputs after it. A number fills the tensor, or what the slice chooses of it.",
    ),
    row(
        "list",
        &["l"],
        "[PLACE]",
        Words::Targets,
        "the operators around the stopped one, or around PLACE; again: the next ones",
        "",
    ),
    row("where", &["w", "frame", "f"], "", Words::Nothing, "where the run is", ""),
    row(
        "backtrace",
        &["bt"],
        "[N]",
        Words::Nothing,
        "where the run is, and the operators that led there",
        "At most N of them, 64 if not given.",
    ),
    row("thread", &["t"], "[RUN]", Words::Nothing, "choose the stopped run that commands mean", ""),
    row("model", &[], "[N]", Words::Nothing, "choose the model that commands mean where no run is stopped", ""),
    row("step", &["s", "next", "n"], "[N]", Words::Nothing, "go on to the next operator", ""),
    row("finish", &["fin"], "", Words::Nothing, "go on to the end of the operator", ""),
    row(
        "until",
        &["u", "advance"],
        "PLACE",
        Words::Targets,
        "go on to one of these operators, or to the run's end",
        TARGETS,
    ),
    row(
        "continue",
        &["c"],
        "[N | --all]",
        Words::Nothing,
        "go on",
        "\
N: the breakpoint that stopped the run lets N-1 hits pass. --all: all stopped runs go on. Where nothing is stopped it waits for \
the next stop.",
    ),
    row(
        "skip",
        &[],
        "zeros|FILE.npy...",
        Words::Files,
        "go on without executing the operator",
        "\
Its outputs are zeros, or the tensors of the files, one for each output. The run must be stopped before the operator.",
    ),
    row(
        "abort",
        &[],
        "[--all] [REASON]",
        Words::Nothing,
        "end the run here",
        "--all: end all runs that are stopped, and start none of those that `run` was to start after them.",
    ),
    row("pause", &["interrupt"], "", Words::Nothing, "stop what runs at its next operator", ""),
    row("wait", &[], "", Words::Nothing, "wait for the next stop", "One that came while nothing waited for it counts."),
    row("events", &[], "[NAME...|all|default|none]", Words::Events, "which events are told; stops always are", ""),
    row("source", &[], "FILE", Words::Files, "run the commands of a file", ""),
    row("echo", &[], "TEXT", Words::Nothing, "print a text", ""),
    row("help", &["h"], "[COMMAND]", Words::Commands, "explain", ""),
    row("detach", &[], "", Words::Nothing, "leave the program alone: all runs go on", ""),
    row("quit", &["q", "kill", "k", "exit"], "", Words::Nothing, "end; a program that was attached to runs on", ""),
];

/// What `info` can tell.
pub const TOPICS: &[&str] = &[
    "attributes",
    "breakpoints",
    "events",
    "inputs",
    "model",
    "operator",
    "operators",
    "outputs",
    "runs",
    "status",
    "weights",
];

/// The command that a word means.
pub fn find(word: &str) -> Result<&'static CommandRow> {
    if let Some(row) = COMMANDS.iter().find(|row| row.name == word || row.short.contains(&word)) {
        return Ok(row);
    }
    let name = begun(word, COMMANDS.iter().map(|row| row.name), "command", || "`help` lists the commands".to_owned())?;
    Ok(COMMANDS.iter().find(|row| row.name == name).expect("it is the name of one of them"))
}

/// The topic of `info` that a word means.
pub fn topic(word: &str) -> Result<&'static str> {
    match TOPICS.iter().find(|topic| **topic == word) {
        Some(topic) => Ok(topic),
        // Whoever writes less than the one wants the other.
        None => begun(word, TOPICS.iter().copied().filter(|topic| *topic != "operator"), "topic of info", || {
            format!("the topics are {}", TOPICS.join(", "))
        }),
    }
}

/// The one name that begins with the word.
fn begun(
    word: &str,
    names: impl Iterator<Item = &'static str> + Clone,
    what: &str,
    all: impl FnOnce() -> String,
) -> Result<&'static str> {
    let beginning: Vec<_> = names.clone().filter(|name| name.starts_with(word)).collect();
    match beginning[..] {
        [only] => Ok(only),
        [] => match did_you_mean(word, names) {
            Some(near) => bail!("'{word}' is no {what}; did you mean '{near}'?"),
            None => bail!("'{word}' is no {what}; {}", all()),
        },
        _ => bail!("'{word}' could be {}", beginning.join(", ")),
    }
}
