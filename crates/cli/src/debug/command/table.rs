//! The table of commands: names, arguments, and help.

use anyhow::{Result, bail};
use opscope::text::did_you_mean;

/// A command's names and help.
#[derive(Debug)]
pub struct CommandRow {
    /// The name.
    pub name: &'static str,
    /// Short forms and other names. An unambiguous beginning of a name is accepted, too.
    pub aliases: &'static [&'static str],
    /// The arguments, as they are written in help.
    pub arguments: &'static str,
    /// What the command does, in a line.
    pub summary: &'static str,
    /// Further sentences of help.
    pub details: &'static str,
    /// The words that can be completed after the name.
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
    /// Arguments of `catch`.
    Catch,
}

const fn row(
    name: &'static str,
    aliases: &'static [&'static str],
    arguments: &'static str,
    words: Words,
    summary: &'static str,
    details: &'static str,
) -> CommandRow {
    CommandRow { name, aliases, arguments, summary, details, words }
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
--parallel starts P threads that each do so; one can be stopped while others continue. Inputs from files are used in turn. \
The prompt comes back when a run stops or all are over; Ctrl-C stops one, and `abort --all` cancels the rest.",
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
        "stop at the first operator that computes NaN or infinity, or where a run fails",
        "\
This is an operator whose outputs have such elements although its inputs have none, or the first one that reads some from \
outside: from an input of the model, an initializer, or a constant that was computed when the model was loaded. Outputs of \
the model that no operator computes in the run are reported at the last operator.",
    ),
    row(
        "condition",
        &["cond"],
        "N [CONDITION]",
        Words::Nothing,
        "change the condition of breakpoint N, or remove it",
        "",
    ),
    row("ignore", &[], "N COUNT", Words::Nothing, "let COUNT hits of breakpoint N pass", ""),
    row("enable", &["en"], "[N...]", Words::Nothing, "enable breakpoints", "Without a number, all of them."),
    row("disable", &["dis"], "[N...]", Words::Nothing, "disable breakpoints", "Without a number, all of them."),
    row("delete", &["d"], "[N...]", Words::Nothing, "delete breakpoints", "Without a number, all of them."),
    row(
        "info",
        &["i"],
        "TOPIC",
        Words::Topics,
        "show information about a topic",
        "\
Topics: breakpoints, operators [PATTERN], operator [PLACE], runs, inputs, outputs, weights, attributes, model, events, status.",
    ),
    row(
        "print",
        &["p"],
        "TENSOR | FUNCTION(TENSOR)",
        Words::Tensors,
        "show a tensor, or the result of a function of it",
        "\
A tensor is input[0], output[0], weight[0] (by slot) or value(\"name\"), or simply a value's name. A slice may follow, as in \
numpy: output[0][0, :4], input[0][..., -1]. The functions are those of conditions: nan, inf, zeros, count, absmax, min, max, \
mean, std, l2, shape, rank, dtype.",
    ),
    row("stats", &[], "TENSOR", Words::Tensors, "show statistics of a tensor: range, mean, NaN, zeros", TENSORS),
    row("histogram", &["hist"], "TENSOR", Words::Tensors, "count a tensor's elements by powers of two", TENSORS),
    row(
        "topk",
        &[],
        "TENSOR [K] [magnitude]",
        Words::Tensors,
        "show the K largest elements (default 10, at most 4096)",
        "\
With `magnitude`, those with the largest magnitude.",
    ),
    row("save", &[], "TENSOR FILE.npy", Words::TensorsAndFiles, "write a tensor to a new file", TENSORS),
    row(
        "set",
        &[],
        "TENSOR = FILE.npy|NUMBER",
        Words::TensorsAndFiles,
        "replace a tensor, or a part of it",
        "\
Before the operator, its inputs can be replaced; after it, its outputs. The run continues with them. A number fills the \
tensor, or the part that a slice selects.",
    ),
    row(
        "list",
        &["l"],
        "[PLACE]",
        Words::Targets,
        "list the operators around the stopped one, or around PLACE; again: the next ones",
        "",
    ),
    row("where", &["w", "frame", "f"], "", Words::Nothing, "show where the run is", ""),
    row(
        "backtrace",
        &["bt"],
        "[N]",
        Words::Nothing,
        "show where the run is, and the operators that led there",
        "At most N of them (default 64).",
    ),
    row(
        "up",
        &[],
        "[N]",
        Words::Nothing,
        "choose the module around the operator, or around the chosen module",
        "`finish` then leaves that module. N: this many times.",
    ),
    row("down", &[], "[N]", Words::Nothing, "choose the module or the operator inside of the chosen module", ""),
    row(
        "py",
        &[],
        "EXPRESSION",
        Words::Nothing,
        "evaluate an expression of Python in the stopped call of the program",
        "\
The program must have been started with OPSCOPE_TORCH=serve,eval, or by `opscope torch debug --eval`. The expression sees the variables of the innermost call in \
the program's own code, as `backtrace` shows it.",
    ),
    row("thread", &["t"], "[RUN]", Words::Nothing, "choose the stopped run that commands apply to", ""),
    row("rank", &[], "[N]", Words::Nothing, "choose the rank that commands apply to, or list them", ""),
    row(
        "all",
        &[],
        "COMMAND",
        Words::Commands,
        "run a command for every rank",
        "\
Commands that continue a run continue all ranks before one is waited for; the wait ends when all are stopped, or one is and the \
others do not follow.",
    ),
    row("model", &[], "[N]", Words::Nothing, "choose the model that commands apply to when no run is stopped", ""),
    row("step", &["s"], "[N]", Words::Nothing, "continue to the next operator", ""),
    row(
        "next",
        &["n"],
        "[N]",
        Words::Nothing,
        "continue to the next operator, past those of modules inside of this one",
        "",
    ),
    row(
        "finish",
        &["fin"],
        "",
        Words::Nothing,
        "continue to the end of the operator, or of the module that `up` chose",
        "The end of a module is before the next operator that is not in it.",
    ),
    row(
        "until",
        &["u", "advance"],
        "PLACE",
        Words::Targets,
        "continue to one of these operators, or to the run's end",
        TARGETS,
    ),
    row(
        "continue",
        &["c"],
        "[N | --all]",
        Words::Nothing,
        "let the run continue",
        "\
N: the breakpoint that stopped the run lets N-1 hits pass. --all: all stopped runs continue. When no run is stopped, it waits \
for the next stop.",
    ),
    row(
        "skip",
        &[],
        "zeros|FILE.npy...",
        Words::Files,
        "continue without executing the operator",
        "\
Its outputs are zeros, or the tensors of the files, one for each output. The run must be stopped before the operator.",
    ),
    row(
        "abort",
        &[],
        "[--all] [REASON]",
        Words::Nothing,
        "end the run here",
        "--all: end all stopped runs, and cancel those that `run` has not started yet.",
    ),
    row("pause", &["interrupt"], "", Words::Nothing, "stop all runs at their next operator", ""),
    row("wait", &[], "", Words::Nothing, "wait for the next stop", "A stop that came while no command waited counts."),
    row(
        "events",
        &[],
        "[NAME...|all|default|none]",
        Words::Events,
        "choose which events are shown; stops always are",
        "",
    ),
    row("source", &[], "FILE", Words::Files, "run the commands of a file", ""),
    row("echo", &[], "TEXT", Words::Nothing, "print a text", ""),
    row("help", &["h"], "[COMMAND]", Words::Commands, "show help", ""),
    row("detach", &[], "", Words::Nothing, "detach from the program: all runs continue", ""),
    row("quit", &["q", "kill", "k", "exit"], "", Words::Nothing, "end the session; an attached program continues", ""),
];

/// The topics of `info`.
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

/// Returns the command that a word names.
pub fn find(word: &str) -> Result<&'static CommandRow> {
    if let Some(row) = COMMANDS.iter().find(|row| row.name == word || row.aliases.contains(&word)) {
        return Ok(row);
    }
    let name = begun(word, COMMANDS.iter().map(|row| row.name), "command", || "`help` lists the commands".to_owned())?;
    Ok(COMMANDS.iter().find(|row| row.name == name).expect("it is the name of one of them"))
}

/// Returns the topic of `info` that a word names.
pub fn topic(word: &str) -> Result<&'static str> {
    match TOPICS.iter().find(|topic| **topic == word) {
        Some(topic) => Ok(topic),
        // A beginning of `operator` means `operators`.
        None => begun(word, TOPICS.iter().copied().filter(|topic| *topic != "operator"), "topic of info", || {
            format!("the topics are {}", TOPICS.join(", "))
        }),
    }
}

/// Returns the only name that begins with the word.
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
            Some(near) => bail!("unknown {what} '{word}'; did you mean '{near}'?"),
            None => bail!("unknown {what} '{word}'; {}", all()),
        },
        _ => bail!("'{word}' could be {}", beginning.join(", ")),
    }
}
