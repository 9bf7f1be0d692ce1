//! How ONNX Runtime runs a model, in its own terms.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// ONNX Runtime's settings, except the model and the threads within an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OnnxRuntimeOptions {
    /// The execution providers in order of preference. The CPU executes what none of them does, so it need not be
    /// listed.
    pub providers: Vec<Provider>,
    /// Whether operators run one after the other.
    pub execution_mode: ExecutionMode,
    /// How much the graph is rewritten before it runs. Exact runs always disable it.
    pub graph_optimization_level: GraphOptimizationLevel,
    /// Whether idle threads spin. That makes runs with several threads faster, but occupies processors that other
    /// threads need.
    pub allow_spinning: bool,
    /// The threads that run operators at the same time in the parallel execution mode. `None` means the library's
    /// default.
    pub inter_op_threads: Option<NonZeroUsize>,
}

/// An execution provider, with its own options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The library's name, such as `CUDAExecutionProvider`, or the part before `ExecutionProvider`, in any case.
    pub name: String,
    /// Keys and values that the provider understands.
    pub options: Vec<(String, String)>,
}

/// Whether operators run one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ExecutionMode {
    /// One after the other.
    #[default]
    Sequential,
    /// Independent operators at the same time.
    Parallel,
}

/// How much ONNX Runtime rewrites a graph before it runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum GraphOptimizationLevel {
    /// Not at all.
    Disable,
    /// Rewrites that keep ONNX's own operators, such as constant folding.
    Basic,
    /// Also fusions into the library's own operators.
    Extended,
    /// Also changes of layout.
    Layout,
    /// Everything.
    #[default]
    All,
}

impl Default for OnnxRuntimeOptions {
    /// The library's own defaults: everything on the CPU, in sequence, all optimisations, spinning threads.
    fn default() -> Self {
        Self {
            providers: Vec::new(),
            execution_mode: ExecutionMode::default(),
            graph_optimization_level: GraphOptimizationLevel::default(),
            allow_spinning: true,
            inter_op_threads: None,
        }
    }
}

impl Provider {
    /// Returns whether this is the provider that the library calls `full`.
    pub fn is(&self, full: &str) -> bool {
        let short = full.strip_suffix("ExecutionProvider").unwrap_or(full);
        self.name.eq_ignore_ascii_case(full) || self.name.eq_ignore_ascii_case(short)
    }
}

impl ExecutionMode {
    /// Every mode.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Parallel];

    /// Returns `sequential` or `parallel`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}

impl GraphOptimizationLevel {
    /// Every level, the weakest first.
    pub const ALL: [Self; 5] = [Self::Disable, Self::Basic, Self::Extended, Self::Layout, Self::All];

    /// Returns `disable`, `basic`, `extended`, `layout` or `all`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Basic => "basic",
            Self::Extended => "extended",
            Self::Layout => "layout",
            Self::All => "all",
        }
    }
}

/// The error for an unknown word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not one of {known}")]
pub struct UnknownWord {
    given: String,
    known: String,
}

fn named<T: Copy>(all: &[T], name: fn(T) -> &'static str, given: &str) -> Result<T, UnknownWord> {
    let known = || all.iter().map(|&each| name(each)).collect::<Vec<_>>().join(", ");
    let found = all.iter().copied().find(|&each| name(each).eq_ignore_ascii_case(given));
    found.ok_or_else(|| UnknownWord { given: given.to_owned(), known: known() })
}

impl FromStr for ExecutionMode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        named(&Self::ALL, Self::name, text)
    }
}

impl FromStr for GraphOptimizationLevel {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        named(&Self::ALL, Self::name, text)
    }
}

impl fmt::Display for ExecutionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for GraphOptimizationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
