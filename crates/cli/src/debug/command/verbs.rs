//! The names of commands, and what each takes.

use anyhow::{Result, bail};
use opscope::spelling::did_you_mean;

/// A command's names and what is said of it.
#[derive(Debug)]
pub struct Verb {
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
    Verbs,
    /// What `catch` takes.
    Catch,
}

const fn verb(
    name: &'static str,
    short: &'static [&'static str],
    takes: &'static str,
    words: Words,
    does: &'static str,
    more: &'static str,
) -> Verb {
    Verb { name, short, takes, does, more, words }
}

const TARGETS: &str = "A place is an operator's name or, where no operator has it, a type (Conv); a glob pattern (name:/layer1/*, \
type:Conv*) or re: and a regular expression; an index (#12); or first nonfinite, first nan, first inf.";
const TENSORS: &str = "A tensor is input[0], output[0], weight[0] (by slot) or value(\"name\"), or simply a value's \
name. A slice may follow, as in numpy: output[0][0, :4], input[0][..., -1].";

/// All commands, in the order in which `help` lists them.
pub const VERBS: &[Verb] = &[
    verb(
        "run",
        &["r"],
        "[N] [--parallel P]",
        Words::Nothing,
        "run the model, N times one after the other",
        "\
--parallel starts P threads that each do so; one can be stopped while others go on. Inputs that come from files are taken in \
turn. The prompt comes back when a run stops or all are over; Ctrl-C stops one, and `abort --all` ends the rest.",
    ),
    verb(
        "break",
        &["b", "br"],
        "PLACE [before|after] [run N] [if CONDITION]",
        Words::Breakpoint,
        "stop at operators",
        TARGETS,
    ),
    verb(
        "tbreak",
        &["tb"],
        "PLACE [before|after] [run N] [if CONDITION]",
        Words::Breakpoint,
        "stop at operators once",
        TARGETS,
    ),
    verb(
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
    verb(
        "condition",
        &["cond"],
        "N [CONDITION]",
        Words::Nothing,
        "change the condition of breakpoint N, or take it away",
        "",
    ),
    verb("ignore", &[], "N COUNT", Words::Nothing, "let COUNT hits of breakpoint N pass", ""),
    verb("enable", &["en"], "[N...]", Words::Nothing, "switch breakpoints on", "All of them where none is named."),
    verb("disable", &["dis"], "[N...]", Words::Nothing, "switch breakpoints off", "All of them where none is named."),
    verb("delete", &["d"], "[N...]", Words::Nothing, "remove breakpoints", "All of them where none is named."),
    verb(
        "info",
        &["i"],
        "TOPIC",
        Words::Topics,
        "tell what is there",
        "\
Topics: breakpoints, operators [PATTERN], operator [PLACE], runs, inputs, outputs, weights, attributes, model, events, status.",
    ),
    verb(
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
    verb("stats", &[], "TENSOR", Words::Tensors, "numbers about a tensor: range, mean, NaN, zeros", TENSORS),
    verb(
        "histogram",
        &["hist"],
        "TENSOR",
        Words::Tensors,
        "how a tensor's elements are spread over powers of two",
        TENSORS,
    ),
    verb(
        "topk",
        &[],
        "TENSOR [K] [magnitude]",
        Words::Tensors,
        "the K largest elements, 10 if not given, at most 4096",
        "\
With `magnitude` the largest without their sign.",
    ),
    verb("save", &[], "TENSOR FILE.npy", Words::TensorsAndFiles, "write a tensor to a new file", TENSORS),
    verb(
        "set",
        &[],
        "TENSOR = FILE.npy|NUMBER",
        Words::TensorsAndFiles,
        "change a tensor that the run goes on with",
        "\
Inputs before the operator, outputs after it. A number fills the tensor, or what the slice chooses of it.",
    ),
    verb(
        "list",
        &["l"],
        "[PLACE]",
        Words::Targets,
        "the operators around the stopped one, or around PLACE; again: the next ones",
        "",
    ),
    verb("where", &["w", "frame", "f"], "", Words::Nothing, "where the run is", ""),
    verb(
        "backtrace",
        &["bt"],
        "[N]",
        Words::Nothing,
        "where the run is, and the operators that led there",
        "At most N of them, 64 if not given.",
    ),
    verb("thread", &["t"], "[RUN]", Words::Nothing, "choose the stopped run that commands mean", ""),
    verb("model", &[], "[N]", Words::Nothing, "choose the model that commands mean where no run is stopped", ""),
    verb("step", &["s", "next", "n"], "[N]", Words::Nothing, "go on to the next operator", ""),
    verb("finish", &["fin"], "", Words::Nothing, "go on to the end of the operator", ""),
    verb(
        "until",
        &["u", "advance"],
        "PLACE",
        Words::Targets,
        "go on to one of these operators, or to the run's end",
        TARGETS,
    ),
    verb(
        "continue",
        &["c"],
        "[N | --all]",
        Words::Nothing,
        "go on",
        "\
N: the breakpoint that stopped the run lets N-1 hits pass. --all: all stopped runs go on. Where nothing is stopped it waits for \
the next stop.",
    ),
    verb(
        "skip",
        &[],
        "zeros|FILE.npy...",
        Words::Files,
        "go on without executing the operator",
        "\
Its outputs are zeros, or the tensors of the files, one for each output. The run must be stopped before the operator.",
    ),
    verb(
        "abort",
        &[],
        "[--all] [REASON]",
        Words::Nothing,
        "end the run here",
        "--all: end all runs that are stopped, and start none of those that `run` was to start after them.",
    ),
    verb("pause", &["interrupt"], "", Words::Nothing, "stop what runs at its next operator", ""),
    verb(
        "wait",
        &[],
        "",
        Words::Nothing,
        "wait for the next stop",
        "One that came while nothing waited for it counts.",
    ),
    verb("events", &[], "[NAME...|all|default|none]", Words::Events, "which events are told; stops always are", ""),
    verb("source", &[], "FILE", Words::Files, "run the commands of a file", ""),
    verb("echo", &[], "TEXT", Words::Nothing, "print a text", ""),
    verb("help", &["h"], "[COMMAND]", Words::Verbs, "explain", ""),
    verb("detach", &[], "", Words::Nothing, "leave the program alone: all runs go on", ""),
    verb("quit", &["q", "kill", "k", "exit"], "", Words::Nothing, "end; a program that was attached to runs on", ""),
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
pub fn find(word: &str) -> Result<&'static Verb> {
    if let Some(verb) = VERBS.iter().find(|verb| verb.name == word || verb.short.contains(&word)) {
        return Ok(verb);
    }
    let name = begun(word, VERBS.iter().map(|verb| verb.name), "command", || "`help` lists the commands".to_owned())?;
    Ok(VERBS.iter().find(|verb| verb.name == name).expect("it is the name of one of them"))
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
