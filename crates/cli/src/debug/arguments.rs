use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use opscope::model::{Fidelity, LoadBudget};

use crate::options::{EngineArguments, FeedArguments, one_of, truth};

/// The arguments of `opscope debug`.
#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub struct DebugArguments {
    /// The ONNX file
    #[arg(value_name = "MODEL", required_unless_present = "attach")]
    pub model: Option<PathBuf>,
    #[command(flatten)]
    pub fed: Fed,
    /// Debug a program that runs with --debug-server, by its process number or the path of its socket; several ranks by
    /// their numbers with commas between them, or by that of the launcher that started them
    #[arg(long, value_name = "PID|PATH,...", conflicts_with = "model")]
    pub attach: Option<String>,
    /// How faithfully the file is followed: exact, every operator as it stands there; or optimised, fused and fast,
    /// where an operator may be a part of a step of the engine, or none at all
    #[arg(long, value_parser = one_of(Fidelity::ALL, |fidelity| fidelity.name()), default_value_t = Fidelity::Exact)]
    #[arg(value_name = "FIDELITY")]
    pub fidelity: Fidelity,
    /// Threads within one operator [default: 1]
    #[arg(long, value_name = "N")]
    pub engine_threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub engine: EngineArguments,
    /// Let loading take N times the time and memory that a model of its size may take [default: 1]
    #[arg(long, value_name = "N")]
    pub load_budget: Option<LoadBudget>,
    /// Run the model and this debugger in a process of its own: a crash of the engine's library is then an error of
    /// this command
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL", conflicts_with = "attach")]
    pub isolate: Option<bool>,
    #[command(flatten)]
    pub script: Script,
    /// Run the commands of -ex and -x, or else lines of stdin, then end; the first that fails ends it with exit code 1
    #[arg(long)]
    pub batch: bool,
    /// Print one JSON object a line
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL")]
    pub json: Option<bool>,
    /// Print results, stops and errors only
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = truth)]
    #[arg(value_name = "BOOL")]
    pub quiet: Option<bool>,
}

/// The inputs of the model.
#[derive(Debug, PartialEq, Eq)]
pub struct Fed(pub FeedArguments);

/// The commands that run before the prompt, in the order of the command line.
#[derive(Debug, Clone, Default)]
pub struct Script(pub Vec<ScriptPart>);

/// A part of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptPart {
    /// One command.
    Command(String),
    /// The commands of a file.
    File(PathBuf),
}

impl Args for Fed {
    fn augment_args(command: Command) -> Command {
        // A session has one set of shapes; a range is refused with a message that says what to write instead.
        FeedArguments::augment_args(command).mut_arg("dym_shape_range", |arg| arg.hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Fed {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        FeedArguments::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for Script {
    fn augment_args(command: Command) -> Command {
        let command_arg = Arg::new("ex")
            .long("ex")
            .value_name("COMMAND")
            .allow_hyphen_values(true)
            .help("Run this command before the prompt comes [also: -ex]; repeatable");
        let file_arg = Arg::new("x")
            .short('x')
            .value_name("FILE")
            .allow_hyphen_values(true)
            .help("Run the commands of this file before the prompt comes; repeatable");
        command.arg(command_arg.action(ArgAction::Append)).arg(file_arg.action(ArgAction::Append))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Script {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut parts: Vec<(usize, ScriptPart)> = Vec::new();
        for (id, part) in
            [("ex", ScriptPart::Command as fn(String) -> ScriptPart), ("x", |file| ScriptPart::File(file.into()))]
        {
            if matches.value_source(id) == Some(ValueSource::CommandLine) {
                let values = matches.get_many::<String>(id).into_iter().flatten().cloned().map(part);
                parts.extend(matches.indices_of(id).into_iter().flatten().zip(values));
            }
        }
        parts.sort_by_key(|(index, _)| *index);
        Ok(Self(parts.into_iter().map(|(_, part)| part).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
