use std::fmt;
use std::path::PathBuf;

/// Why no ONNX Runtime can run a model.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// No place has the library.
    #[error(
        "no ONNX Runtime was found: libonnxruntime.so was looked for {}{}\nnot set: {}\nto get it: {}",
        listed(looked), named(skipped), not_set.join(", "), command(not_set)
    )]
    NotFound {
        /// Where it was searched, in order, each place with a description.
        looked: Vec<(&'static str, PathBuf)>,
        /// The options and variables that would name it but are not set.
        not_set: Vec<&'static str>,
        /// Libraries for other processors.
        skipped: Vec<Skipped>,
    },
    /// The named file does not exist.
    #[error("{what} names '{}', and there is no such file", path.display())]
    NoSuchFile {
        /// The option or environment variable that names it.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be loaded, or is not ONNX Runtime.
    #[error("'{}' is not a usable ONNX Runtime: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The library is too old.
    #[error("'{}' is ONNX Runtime {found}; {needed} or later is needed: `pip install --upgrade onnxruntime`", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The oldest version that works.
        needed: &'static str,
    },
    /// The library was built without an execution provider.
    #[error("'{}' has no execution provider '{provider}'; it has {available}", path.display())]
    NoProvider {
        /// The library.
        path: PathBuf,
        /// The requested provider.
        provider: String,
        /// The providers that it has.
        available: String,
    },
    /// An execution provider exists but does not work.
    #[error("the execution provider '{provider}' cannot be used: {reason}")]
    Provider {
        /// The provider.
        provider: String,
        /// The library's reason.
        reason: String,
    },
}

/// A library that this processor cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its file.
    pub path: PathBuf,
    /// The processor that it was built for.
    pub processor: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is for {}", self.path.display(), self.processor)
    }
}

/// Lists the places, grouped by description.
fn listed(looked: &[(&'static str, PathBuf)]) -> String {
    let mut sorts: Vec<(&str, Vec<String>)> = Vec::new();
    for (what, place) in looked {
        let place = place.display().to_string();
        match sorts.iter_mut().find(|(sort, _)| sort == what) {
            Some((_, places)) => places.push(place),
            None => sorts.push((what, vec![place])),
        }
    }
    sorts.iter().map(|(what, places)| format!("{what} ({})", places.join(", "))).collect::<Vec<_>>().join(", ")
}

fn named(skipped: &[Skipped]) -> String {
    skipped.iter().map(|skipped| format!("; {skipped}")).collect()
}

/// Returns the command that installs it in one of the searched places.
fn command(not_set: &[&str]) -> &'static str {
    match not_set.contains(&"VIRTUAL_ENV") {
        true => "python3 -m venv .venv && .venv/bin/pip install onnxruntime",
        false => "pip install onnxruntime",
    }
}
