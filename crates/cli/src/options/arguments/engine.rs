use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use opscope::engine::{
    EngineName, EngineSpec, ExecutionMode, GraphOptimizationLevel, OnnxRuntimeOptions, Provider, UnknownEngine,
};

use crate::options::environment::Environment;
use crate::options::refusal::Refusal;
use crate::options::values::{one_of, threads, truth};

const ENGINE: &str = "Engine";

/// The engine of a model, as it stands on the command line of every command that runs one.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
#[allow(missing_docs)]
pub struct EngineArguments {
    /// What runs the model: tract, which is built in, or onnxruntime (short: ort), whose library is looked for
    /// [default: what OPSCOPE_ENGINE names, or tract]
    #[arg(long, value_name = "ENGINE", value_parser = engine_name(), help_heading = ENGINE)]
    pub engine: Option<EngineName>,
    /// The file of ONNX Runtime's library, libonnxruntime.so [default: looked for]
    #[arg(long, value_name = "PATH", help_heading = ENGINE)]
    pub engine_library: Option<PathBuf>,
    #[command(flatten)]
    pub providers: ProviderArguments,
    /// Whether ONNX Runtime runs independent operators at the same time [default: sequential]
    #[arg(long, value_name = "MODE", value_parser = one_of(ExecutionMode::ALL, |mode| mode.name()))]
    #[arg(help_heading = ENGINE)]
    pub execution_mode: Option<ExecutionMode>,
    /// How far ONNX Runtime optimises [default: all]
    #[arg(long, value_name = "LEVEL", value_parser = one_of(GraphOptimizationLevel::ALL, |level| level.name()))]
    #[arg(help_heading = ENGINE)]
    pub graph_optimization_level: Option<GraphOptimizationLevel>,
    /// Whether ONNX Runtime's threads wait for work in a busy loop [default: yes]
    #[arg(long, value_name = "BOOL", value_parser = truth, help_heading = ENGINE)]
    pub allow_spinning: Option<bool>,
    /// Threads among operators; needs --execution-mode parallel
    #[arg(long, value_name = "N", help_heading = ENGINE)]
    pub inter_op_threads: Option<NonZeroUsize>,
}

/// The execution providers of ONNX Runtime, each with its options, in the order of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderArguments(Vec<Provider>);

impl EngineArguments {
    /// Returns the chosen engine.
    ///
    /// # Errors
    /// Returns an error if an option does not belong to that engine, or cannot be read.
    pub fn spec(&self, environment: &Environment) -> Result<EngineSpec, Refusal> {
        self.specs([self.name(environment)?]).map(|[spec]| spec)
    }

    /// Returns the name of the engine.
    ///
    /// # Errors
    /// Returns an error if the environment names an engine that does not exist.
    pub fn name(&self, environment: &Environment) -> Result<EngineName, Refusal> {
        self.engine.map_or_else(|| environment.engine(), Ok)
    }

    /// Returns the options that make another command use the same engine, which is called `name`.
    pub fn words(&self, name: EngineName) -> Vec<String> {
        let engine = Some(name).filter(|name| *name != EngineName::Tract || self.engine.is_some());
        let mode = self.execution_mode.map(|mode| mode.name().to_owned());
        let level = self.graph_optimization_level.map(|level| level.name().to_owned());
        let options = [
            ("engine", engine.map(|name| name.name().to_owned())),
            ("engine-library", self.engine_library.as_ref().map(|library| library.display().to_string())),
            ("execution-mode", mode),
            ("graph-optimization-level", level),
            ("allow-spinning", self.allow_spinning.map(|spins| spins.to_string())),
            ("inter-op-threads", self.inter_op_threads.map(|threads| threads.to_string())),
        ];
        let words = options.into_iter().filter_map(|(option, value)| Some(format!("--{option}={}", value?)));
        let providers = self.providers.0.iter().flat_map(|provider| {
            let options = provider.options.iter().map(|(key, value)| format!("--provider-option={key}={value}"));
            std::iter::once(format!("--provider={}", provider.name)).chain(options)
        });
        words.chain(providers).collect()
    }

    /// Returns these engines, each with its own options.
    ///
    /// # Errors
    /// Returns an error if an option belongs to none of them, or cannot be read.
    pub fn specs<const N: usize>(&self, engines: [EngineName; N]) -> Result<[EngineSpec; N], Refusal> {
        if !engines.contains(&EngineName::OnnxRuntime)
            && let Some(option) = self.first_of_onnxruntime()
        {
            return Err(Refusal::OtherEngine { option, belongs_to: EngineName::OnnxRuntime, chosen: engines[0] });
        }
        let onnxruntime = self.onnxruntime()?;
        Ok(engines.map(|name| match name {
            EngineName::Tract => EngineSpec::default(),
            EngineName::OnnxRuntime => onnxruntime.clone(),
        }))
    }

    fn onnxruntime(&self) -> Result<EngineSpec, Refusal> {
        let defaults = OnnxRuntimeOptions::default();
        let execution_mode = self.execution_mode.unwrap_or(defaults.execution_mode);
        let inter_op_threads = threads("--inter-op-threads", self.inter_op_threads)?;
        if inter_op_threads.is_some() && execution_mode == ExecutionMode::Sequential {
            let needed = "--execution-mode parallel, because otherwise operators run one after the other";
            return Err(Refusal::Needs { option: "--inter-op-threads", needed });
        }
        let providers = &self.providers.0;
        let onnxruntime = OnnxRuntimeOptions {
            providers: if providers.is_empty() { defaults.providers } else { providers.clone() },
            execution_mode,
            graph_optimization_level: self.graph_optimization_level.unwrap_or(defaults.graph_optimization_level),
            allow_spinning: self.allow_spinning.unwrap_or(defaults.allow_spinning),
            inter_op_threads,
        };
        Ok(EngineSpec { name: EngineName::OnnxRuntime, library: self.engine_library.clone(), onnxruntime })
    }

    /// Returns the first given option that only ONNX Runtime has.
    fn first_of_onnxruntime(&self) -> Option<&'static str> {
        let options = [
            ("--engine-library", self.engine_library.is_some()),
            ("--provider", !self.providers.0.is_empty()),
            ("--execution-mode", self.execution_mode.is_some()),
            ("--graph-optimization-level", self.graph_optimization_level.is_some()),
            ("--allow-spinning", self.allow_spinning.is_some()),
            ("--inter-op-threads", self.inter_op_threads.is_some()),
        ];
        options.into_iter().find_map(|(option, given)| given.then_some(option))
    }
}

/// Makes a parser of the names of engines, in all spellings.
pub fn engine_name() -> impl TypedValueParser<Value = EngineName> {
    let spelled = |engine: EngineName| PossibleValue::new(engine.name()).aliases(engine.aliases());
    let names = PossibleValuesParser::new(EngineName::ALL.map(spelled));
    names.try_map(|name| -> Result<EngineName, UnknownEngine> { name.parse() })
}

impl ProviderArguments {
    const PROVIDER: &str = "provider";
    const OPTION: &str = "provider_option";
}

impl Args for ProviderArguments {
    fn augment_args(command: Command) -> Command {
        let provider = Arg::new(Self::PROVIDER).long("provider").value_name("NAME").help(
            "An execution provider of ONNX Runtime, such as cpu, cuda or tensorrt; several in order of preference \
             [default: cpu]",
        );
        let option =
            Arg::new(Self::OPTION).long("provider-option").value_name("KEY=VALUE").value_parser(key_and_value).help(
                "An option of the provider in front of it, under ONNX Runtime's name, such as device_id=1; repeatable",
            );
        let append = |arg: Arg| arg.action(ArgAction::Append).help_heading(ENGINE);
        command.arg(append(provider)).arg(append(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ProviderArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let providers = indexed::<String>(matches, Self::PROVIDER);
        let provider = |(index, name): (usize, &String)| (index, Provider { name: name.clone(), options: Vec::new() });
        let mut providers: BTreeMap<usize, Provider> = providers.map(provider).collect();
        for (index, option) in indexed::<(String, String)>(matches, Self::OPTION) {
            let Some((_, provider)) = providers.range_mut(..index).next_back() else {
                let needed =
                    "--provider-option needs --provider NAME in front of it, the provider that it belongs to\n";
                return Err(Error::raw(ErrorKind::MissingRequiredArgument, needed));
            };
            provider.options.push(option.clone());
        }
        Ok(Self(providers.into_values().collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the values of an argument on the command line, with their positions.
fn indexed<'m, T: Clone + Send + Sync + 'static>(
    matches: &'m ArgMatches,
    id: &str,
) -> impl Iterator<Item = (usize, &'m T)> {
    matches.indices_of(id).into_iter().flatten().zip(matches.get_many::<T>(id).into_iter().flatten())
}

fn key_and_value(text: &str) -> Result<(String, String), &'static str> {
    let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let (key, value) = pair.ok_or("write KEY=VALUE, such as device_id=0")?;
    Ok((key.to_owned(), value.to_owned()))
}
