//! Parses the text of a line into a command.

use anyhow::{Result, bail};
use opscope::debug::expression::Function;
use opscope::debug::{BreakpointSpec, Target, Watched};

use super::arguments as read;
use super::{Command, CommandRow, Info, Replacement, Skip, table};

/// A command's usage: the context of an error about its arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

/// Parses a command.
///
/// # Errors
/// Returns an error if there is no such command, or its arguments are wrong. The message says what would be right.
pub fn parse(line: &str) -> Result<Command> {
    let (word, rest) = read::first(line);
    let row = table::find(word)?;
    let command = command(row, rest);
    command.map_err(|error| match row.arguments {
        "" => error,
        arguments => error.context(Usage(format!("{} {arguments}", row.name))),
    })
}

fn command(row: &CommandRow, rest: &str) -> Result<Command> {
    if row.arguments.is_empty() && !rest.is_empty() {
        bail!("'{}' takes no arguments, but '{rest}' was given", row.name);
    }
    Ok(match row.name {
        "run" => runs(rest)?,
        "break" => Command::Break(Box::new(read::spec(rest)?)),
        "tbreak" => Command::Break(Box::new(BreakpointSpec { one_shot: true, ..read::spec(rest)? })),
        "catch" => catch(rest)?,
        "condition" => {
            let (breakpoint, condition) = read::breakpoint(rest)?;
            Command::Condition { breakpoint, condition: condition.to_owned() }
        }
        "ignore" => {
            let (breakpoint, hits) = read::breakpoint(rest)?;
            if hits.is_empty() {
                bail!("the number of hits of breakpoint {breakpoint} that pass is missing");
            }
            Command::Ignore { breakpoint, hits: read::number(hits, 0, "a number of hits")? }
        }
        "enable" => Command::Enable { breakpoints: read::breakpoints(rest)?, enabled: true },
        "disable" => Command::Enable { breakpoints: read::breakpoints(rest)?, enabled: false },
        "delete" => Command::Delete(read::breakpoints(rest)?),
        "info" => Command::Info(info(rest)?),
        "print" => print(rest)?,
        "stats" => Command::Statistics(read::part(rest)?),
        "histogram" => Command::Histogram(read::part(rest)?),
        "topk" => top_k(rest)?,
        "save" => {
            let (tensor, path) = read::last(rest);
            Command::Save { tensor: read::part(tensor)?, path: read::path(path)? }
        }
        "set" => set(rest)?,
        "list" => Command::List((!rest.is_empty()).then(|| read::target(rest)).transpose()?),
        "where" => Command::Where,
        "backtrace" => Command::Backtrace(backtrace(rest)?),
        "up" => Command::Up(at_least_one(rest, "modules")?),
        "down" => Command::Down(at_least_one(rest, "modules")?),
        "py" if rest.is_empty() => bail!("the expression is missing"),
        "py" => Command::Evaluate(rest.to_owned()),
        "thread" => Command::Thread(optional(rest, "a run's number; `info runs` lists them")?),
        "rank" => Command::Rank(optional(rest, "a rank's number; `rank` lists them")?),
        "all" if rest.is_empty() => bail!("the command for all ranks is missing"),
        "all" => match parse(rest)? {
            Command::Rank(_) | Command::All(..) | Command::Source(_) => bail!("'{rest}' is not for all ranks"),
            command => Command::All(Box::new(command), rest.to_owned()),
        },
        "model" => Command::Model(optional(rest, "a model's number; `info model` lists them")?),
        "step" => Command::Step(at_least_one(rest, "steps")?),
        "next" => Command::Next(at_least_one(rest, "steps")?),
        "finish" => Command::Finish,
        "until" => Command::Until(read::target(rest)?),
        "continue" if rest == "--all" => Command::ContinueAll,
        "continue" => Command::Continue { pass: at_least_one(rest, "hits")? - 1 },
        "skip" => skip(rest)?,
        "abort" => match read::first(rest) {
            ("--all", reason) => Command::AbortAll(reason.to_owned()),
            _ => Command::Abort(rest.to_owned()),
        },
        "pause" => Command::Pause,
        "wait" => Command::Wait,
        "events" => Command::Events((!rest.is_empty()).then(|| read::events(rest)).transpose()?),
        "source" => Command::Source(read::path(rest)?),
        "echo" => Command::Echo(rest.replace("\\n", "\n")),
        "help" => Command::Help(rest.to_owned()),
        "detach" => Command::Detach,
        "quit" => Command::Quit,
        name => unreachable!("the table of commands has '{name}'"),
    })
}

fn optional<T: std::str::FromStr>(text: &str, what: &str) -> Result<Option<T>> {
    match text {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| anyhow::anyhow!("'{text}' is not {what}")),
    }
}

fn at_least_one(text: &str, what: &str) -> Result<u64> {
    match read::number(text, 1, &format!("a number of {what}"))? {
        0 => bail!("0 {what} do nothing; write 1 or more"),
        number => Ok(number),
    }
}

fn backtrace(text: &str) -> Result<usize> {
    /// As many as fill a few screens.
    const FRAMES: u64 = 64;
    let frames = if text.is_empty() { FRAMES } else { at_least_one(text, "frames")? };
    Ok(usize::try_from(frames).unwrap_or(usize::MAX))
}

fn runs(text: &str) -> Result<Command> {
    /// With very many threads the system stalls before it refuses one.
    const MOST_THREADS: u64 = 256;
    let (mut runs, mut threads) = (1, 1);
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        match word.strip_prefix("--parallel") {
            Some("") => threads = at_least_one(words.next().unwrap_or("0"), "threads")?,
            Some(number) => threads = at_least_one(number.trim_start_matches('='), "threads")?,
            None => runs = at_least_one(word, "runs")?,
        }
    }
    if threads > MOST_THREADS {
        bail!("{threads} threads are too many; write 1 to {MOST_THREADS}");
    }
    Ok(Command::Run { runs, threads: threads as usize })
}

fn catch(text: &str) -> Result<Command> {
    let watched = match text {
        "nan" => Watched::Nan,
        "inf" => Watched::Infinite,
        "nonfinite" => Watched::NonFinite,
        "error" => return Ok(Command::CatchErrors),
        "" => bail!("the kind to catch is missing: nan, inf, nonfinite or error"),
        other => bail!("'{other}' cannot be caught; write nan, inf, nonfinite or error"),
    };
    Ok(Command::Break(Box::new(BreakpointSpec::at(Target::First(watched)))))
}

fn info(text: &str) -> Result<Info> {
    let (word, rest) = read::first(text);
    if word.is_empty() {
        bail!("the topic is missing: {}", table::TOPICS.join(", "));
    }
    let topic = table::topic(word)?;
    if !rest.is_empty() && !topic.starts_with("operator") {
        bail!("'info {topic}' takes no arguments, but '{rest}' was given");
    }
    Ok(match topic {
        "breakpoints" => Info::Breakpoints,
        "operators" => Info::Operators((!rest.is_empty()).then(|| rest.to_owned())),
        "operator" => Info::Operator((!rest.is_empty()).then(|| read::target(rest)).transpose()?),
        "runs" => Info::Runs,
        "inputs" => Info::Inputs,
        "outputs" => Info::Outputs,
        "weights" => Info::Weights,
        "attributes" => Info::Attributes,
        "events" => Info::Events,
        "status" => Info::Status,
        _ => Info::Model,
    })
}

/// Parses a tensor, or a function of one: `max(output[0])`.
fn print(text: &str) -> Result<Command> {
    let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
    match call.and_then(|(name, tensor)| Some((Function::named(name.trim())?, tensor))) {
        Some((function, tensor)) => Ok(Command::Apply { function, tensor: read::part(tensor)? }),
        None => Ok(Command::Print(read::part(text)?)),
    }
}

fn top_k(text: &str) -> Result<Command> {
    let (front, word) = read::last(text);
    let (text, by_magnitude) = if word == "magnitude" { (front, true) } else { (text, false) };
    let (front, word) = read::last(text);
    let (tensor, count) = match word.parse() {
        Ok(count) if !front.is_empty() => (front, count),
        _ => (text, 10),
    };
    Ok(Command::TopK { tensor: read::part(tensor)?, count, by_magnitude })
}

fn set(text: &str) -> Result<Command> {
    let (tensor, with) = read::assignment(text)?;
    let with = match read::element(with) {
        Some(number) => Replacement::Number(number),
        None => Replacement::File(read::path(with)?),
    };
    Ok(Command::Set { tensor: read::part(tensor)?, with })
}

fn skip(text: &str) -> Result<Command> {
    Ok(Command::Skip(match text {
        "" => bail!("the outputs are missing: write zeros, or an npy file for each"),
        "zeros" => Skip::Zeros,
        files => Skip::Files(read::paths(files)?),
    }))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use opscope::debug::expression::{TensorPart, TensorRef};
    use opscope::debug::{BreakpointId, Moment};

    use super::*;
    use crate::debug::command::Number;
    use opscope::debug::expression::Quantity;

    fn refusal(line: &str) -> String {
        format!("{:#}", parse(line).expect_err(line))
    }

    fn spec(line: &str) -> BreakpointSpec {
        match parse(line).unwrap_or_else(|error| panic!("{line}: {error:#}")) {
            Command::Break(spec) => *spec,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn every_command_is_known_by_its_names_and_by_unambiguous_beginnings() {
        for row in table::COMMANDS {
            for name in std::iter::once(&row.name).chain(row.aliases) {
                assert_eq!(table::find(name).unwrap().name, row.name, "{name} is one command's");
            }
        }
        for (beginning, name) in [("cont", "continue"), ("back", "backtrace"), ("hi", "histogram"), ("inf", "info")] {
            assert_eq!(table::find(beginning).unwrap().name, name);
        }
        assert_eq!(refusal("de"), "'de' could be delete, detach");
        assert_eq!(refusal("brek Conv"), "unknown command 'brek'; did you mean 'break'?");
        assert_eq!(refusal("xyzzy"), "unknown command 'xyzzy'; `help` lists the commands");
    }

    #[test]
    fn a_breakpoint_has_a_place_a_moment_a_run_and_a_condition() {
        assert_eq!(spec("b Conv"), BreakpointSpec::at("Conv".parse().unwrap()));
        let full = spec("break name:/layer1/* after run 3 if absmax(output[0]) > 5 and nan");
        assert_eq!(full.target.to_string(), "name:/layer1/*");
        assert_eq!((full.moment, full.run), (Some(Moment::After), Some(3)));
        assert_eq!(full.condition.as_deref(), Some("absmax(output[0]) > 5 and nan"));
        assert!(spec("tb #12 before").one_shot);
        assert_eq!(spec("break first nonfinite"), spec("catch nonfinite"));
        assert_eq!(spec("break \"if\" if nan").target.to_string(), "if");
        assert_eq!(spec("break after").target.to_string(), "after", "one word is the place");
        assert!(refusal("break").contains("a name or a pattern is missing"));
        assert!(refusal("break Conv if").contains("followed by a condition"));
        assert!(refusal("break #x").contains("index, as in #12"));
    }

    #[test]
    fn tensors_may_be_named_by_their_value() {
        let named = |line| match parse(line).unwrap() {
            Command::Print(part) => part,
            other => panic!("{other:?}"),
        };
        assert_eq!(named("p output[0][0, :4]").to_string(), "output[0][0, :4]");
        assert_eq!(named("p /conv1/Conv_output_0[0]").to_string(), "value(\"/conv1/Conv_output_0\")[0]");
        assert_eq!(named("p value(\"a b\")").tensor, TensorRef::Value("a b".into()));
        assert!(refusal("p input[").contains("the number of a slot"));
        let applied = |line| match parse(line).unwrap() {
            Command::Apply { function, tensor } => (function, tensor.to_string()),
            other => panic!("{other:?}"),
        };
        assert_eq!(applied("p max(output[0][0, :4])"), (Function::Quantity(Quantity::Max), "output[0][0, :4]".into()));
        assert_eq!(applied("p shape(conv1.weight)"), (Function::Shape, "value(\"conv1.weight\")".into()));
        assert_eq!(named("p maximal(x)").tensor, TensorRef::Value("maximal(x)".into()));
    }

    #[test]
    fn a_tensor_is_set_to_a_number_or_a_file() {
        let with = |line| match parse(line).unwrap() {
            Command::Set { tensor, with } => (tensor.to_string(), with),
            other => panic!("{other:?}"),
        };
        assert_eq!(with("set output[0] = 5"), ("output[0]".into(), Replacement::Number(Number::Int(5))));
        assert_eq!(with("set output[0][0]=-1e3").1, Replacement::Number(Number::Float(-1000.0)));
        assert_eq!(with("set value(\"a=b\") = \"a b.npy\"").1, Replacement::File(PathBuf::from("a b.npy")));
        assert!(refusal("set output[0] 5").contains("as in `set output[0] = 0`"));
        assert!(refusal("set output[0] =").contains("name of a file is missing"));
    }

    #[test]
    fn numbers_of_runs_steps_and_breakpoints_are_checked() {
        assert_eq!(parse("run 3 --parallel 4").unwrap(), Command::Run { runs: 3, threads: 4 });
        assert_eq!(parse("r --parallel=2").unwrap(), Command::Run { runs: 1, threads: 2 });
        assert_eq!(parse("c 4").unwrap(), Command::Continue { pass: 3 });
        assert_eq!(parse("delete 1 3-5").unwrap(), Command::Delete([1, 3, 4, 5].map(BreakpointId).to_vec()));
        for line in
            ["run 0", "run x", "run --parallel", "run --parallel 1000", "step -1", "delete 5-1", "ignore 1", "bt 0"]
        {
            assert!(!refusal(line).is_empty());
        }
        assert!(refusal("finish 3").contains("takes no arguments"));
        for line in ["ignore", "condition"] {
            let refusal = refusal(line);
            assert!(refusal.contains("the number of a breakpoint is missing; `info breakpoints`"), "{refusal}");
        }
        assert_eq!((parse("bt").unwrap(), parse("bt 3").unwrap()), (Command::Backtrace(64), Command::Backtrace(3)));
        assert_eq!(parse("abort --all bad input").unwrap(), Command::AbortAll("bad input".into()));
        assert!(refusal("info nonsense").contains("the topics are attributes, breakpoints"));
        assert_eq!(parse("info op").unwrap(), Command::Info(Info::Operators(None)));
        assert!(refusal("events nonsense").contains("operator_finished"));
    }

    #[test]
    fn the_largest_elements_are_counted_behind_the_tensor() {
        let tensor = TensorPart::from(TensorRef::Output(0));
        let expected = |count, by_magnitude| Command::TopK { tensor: tensor.clone(), count, by_magnitude };
        assert_eq!(parse("topk output[0]").unwrap(), expected(10, false));
        assert_eq!(parse("topk output 3 magnitude").unwrap(), expected(3, true));
    }
}
