use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::api::SessionOptions;
use crate::errors::Refusal;
use crate::library::{Library, LibraryError};
use crate::options::{ExecutionMode, GraphOptimizationLevel, OnnxRuntimeOptions};

/// A library, and the settings of its sessions.
#[derive(Clone)]
pub(crate) struct Setup {
    pub library: Arc<Library>,
    pub options: OnnxRuntimeOptions,
    /// The providers of `options`, by the library's names.
    providers: Vec<(String, Vec<(String, String)>)>,
    /// The options of a session of the program. If there are any, they count instead of `options`.
    of_program: Option<Arc<SessionOptions>>,
}

/// The library's name of the provider that always exists.
const CPU: &str = "CPUExecutionProvider";

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, options, .. } = self;
        f.debug_struct("Setup").field("library", library).field("options", options).finish_non_exhaustive()
    }
}

impl Setup {
    /// Checks that the library has the providers, and that they accept their options.
    pub fn new(library: Arc<Library>, options: OnnxRuntimeOptions) -> Result<Self, LibraryError> {
        let available = library.providers();
        let mut providers = Vec::new();
        for provider in &options.providers {
            let found = available.iter().find(|full| provider.is(full)).ok_or_else(|| LibraryError::NoProvider {
                path: library.path().to_owned(),
                provider: provider.name.clone(),
                available: available.join(", "),
            })?;
            providers.push((found.clone(), provider.options.clone()));
        }
        let setup = Self { library, options, providers, of_program: None };
        setup.checked_providers()?;
        Ok(setup)
    }

    /// Takes the options of a session of the program.
    pub fn of_program(library: Arc<Library>, options: Arc<SessionOptions>) -> Self {
        Self { library, options: OnnxRuntimeOptions::default(), providers: Vec::new(), of_program: Some(options) }
    }

    /// Returns whether the options are those of a session of the program.
    pub fn is_of_program(&self) -> bool {
        self.of_program.is_some()
    }

    /// Returns the providers in order of preference, with their options.
    pub fn providers_text(&self) -> String {
        let text = |(name, options): &(String, Vec<(String, String)>)| match &options[..] {
            [] => name.clone(),
            options => {
                let options: Vec<String> = options.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("{name} ({})", options.join(", "))
            }
        };
        let mut providers: Vec<String> = self.providers.iter().map(text).collect();
        // It executes what no other provider does.
        if !self.providers.iter().any(|(name, _)| name == CPU) {
            providers.push(CPU.to_owned());
        }
        providers.join(", ")
    }

    fn checked_providers(&self) -> Result<(), LibraryError> {
        let failed = |provider: &str, refusal: Refusal| LibraryError::Provider {
            provider: provider.to_owned(),
            reason: refusal.to_string(),
        };
        let mut options = SessionOptions::new(*self.library.api()).map_err(|reason| failed(CPU, reason))?;
        for (name, given) in &self.providers {
            options.append_provider(name, given).map_err(|reason| failed(name, reason))?;
        }
        Ok(())
    }

    /// Returns the options of a session.
    pub fn session_options(
        &self,
        threads: NonZeroUsize,
        level: GraphOptimizationLevel,
        exact: bool,
    ) -> Result<SessionOptions, Refusal> {
        if let Some(given) = &self.of_program {
            return as_the_program(given, exact);
        }
        let mut options = SessionOptions::new(*self.library.api())?;
        options.intra_op_threads(threads)?;
        options.graph_optimization_level(level)?;
        options.config("session.intra_op.allow_spinning", if self.options.allow_spinning { "1" } else { "0" })?;
        options.config("session.inter_op.allow_spinning", if self.options.allow_spinning { "1" } else { "0" })?;
        // Taps must be called in the order of the operators.
        if !exact {
            options.execution_mode(self.options.execution_mode)?;
            if let Some(threads) = self.options.inter_op_threads {
                options.inter_op_threads(threads)?;
            }
        }
        for (name, given) in &self.providers {
            options.append_provider(name, given)?;
        }
        Ok(options)
    }
}

/// Returns the options of a session beside one of the program: the same options, except that the session leaves no
/// files and prints nothing. An exact session is not optimised, and its taps are called in the order of the operators.
fn as_the_program(given: &SessionOptions, exact: bool) -> Result<SessionOptions, Refusal> {
    let mut options = given.copied()?;
    options.silence()?;
    options.write_optimized_model("")?;
    options.config("ep.context_enable", "0")?;
    if exact {
        options.graph_optimization_level(GraphOptimizationLevel::Disable)?;
        options.execution_mode(ExecutionMode::Sequential)?;
    }
    Ok(options)
}
