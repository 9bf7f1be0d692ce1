//! Errors as exceptions of one family, each with the command's sentence. The classes are in `opscope/_errors.py`.

use std::fmt::Display;

use opscope::SessionError;
use opscope::debug::DebugError;
use opscope::dump::DumpError;
use opscope::engine::LibraryError;
use opscope::model::EngineError;
use opscope::onnx::OnnxError;
use opscope::profile::ProfileError;
use opscope_job::benchmark::JobError;
use opscope_job::compare::CompareError;
use opscope_job::inputs::InputError;
use opscope_job::precision::PrecisionError;
use opscope_report::ReportError;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// An error, and the class of its exception.
#[derive(Debug)]
pub struct Failure {
    class: Class,
    message: String,
}

#[derive(Debug, Clone, Copy)]
enum Class {
    /// Anything else.
    Any,
    /// A file is not a model that can run.
    Model,
    /// An engine is missing, or a run failed.
    Engine,
    /// Arguments do not fit.
    Input,
    /// Files of recordings, dumps and reports.
    File,
    /// The debugger.
    Debug,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Self::Any => "Error",
            Self::Model => "ModelError",
            Self::Engine => "EngineError",
            Self::Input => "InputError",
            Self::File => "FileError",
            Self::Debug => "DebugError",
        }
    }
}

impl Failure {
    fn new(class: Class, message: impl Display) -> Self {
        Self { class, message: message.to_string() }
    }

    pub fn any(message: impl Display) -> Self {
        Self::new(Class::Any, message)
    }

    pub fn model(message: impl Display) -> Self {
        Self::new(Class::Model, message)
    }

    pub fn engine(message: impl Display) -> Self {
        Self::new(Class::Engine, message)
    }

    pub fn input(message: impl Display) -> Self {
        Self::new(Class::Input, message)
    }

    pub fn file(message: impl Display) -> Self {
        Self::new(Class::File, message)
    }

    pub fn debug(message: impl Display) -> Self {
        Self::new(Class::Debug, message)
    }
}

/// An exception about an argument.
pub fn input(message: impl Display) -> PyErr {
    Failure::input(message).into()
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let class = py.import("opscope._errors").and_then(|errors| errors.getattr(failure.class.name()));
            match class.and_then(|class| class.cast_into::<PyType>().map_err(PyErr::from)) {
                Ok(class) => PyErr::from_type(class, failure.message),
                // The package is incomplete, or the interpreter is shutting down.
                Err(_) => PyException::new_err(failure.message),
            }
        })
    }
}

impl From<OnnxError> for Failure {
    fn from(error: OnnxError) -> Self {
        Self::model(error)
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Self {
        Self::engine(error)
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::InputCount { .. } | EngineError::InputShape { .. } | EngineError::InputType { .. } => {
                Self::input(error)
            }
            _ => Self::engine(error),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::File(error) => error.into(),
            SessionError::Library(error) => error.into(),
            SessionError::Engine(error) => Self::model(error),
            error => Self::any(error),
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        Self::input(error)
    }
}

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        match error {
            JobError::Session(error) => error.into(),
            JobError::Input(error) => error.into(),
            JobError::OutputPath(error) => Self::file(error),
            error => Self::engine(error),
        }
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Session { .. } => Self::model(error),
            CompareError::Engine {
                source: EngineError::InputCount { .. } | EngineError::InputShape { .. } | EngineError::InputType { .. },
                ..
            }
            | CompareError::Input(_)
            | CompareError::NoInputs
            | CompareError::OneSet { .. } => Self::input(error),
            error => Self::engine(error),
        }
    }
}

impl From<PrecisionError> for Failure {
    fn from(error: PrecisionError) -> Self {
        match error {
            PrecisionError::Session(error) => error.into(),
            PrecisionError::Engine(error) => error.into(),
            PrecisionError::Input(_)
            | PrecisionError::TooFewInputs { .. }
            | PrecisionError::NoMetric { .. }
            | PrecisionError::OriginalFails(_)
            | PrecisionError::OtherSearch(_) => Self::input(error),
            PrecisionError::NothingToLower { .. } => Self::model(error),
            PrecisionError::Write(_) | PrecisionError::Output { .. } | PrecisionError::Journal(_) => Self::file(error),
            error => Self::engine(error),
        }
    }
}

impl From<DumpError> for Failure {
    fn from(error: DumpError) -> Self {
        match error {
            DumpError::NoSuchOperator { .. } | DumpError::NoSuchRun { .. } | DumpError::NothingSelected { .. } => {
                Self::input(error)
            }
            error => Self::file(error),
        }
    }
}

impl From<ProfileError> for Failure {
    fn from(error: ProfileError) -> Self {
        Self::file(error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        Self::file(error)
    }
}

impl From<DebugError> for Failure {
    fn from(error: DebugError) -> Self {
        Self::debug(error)
    }
}
