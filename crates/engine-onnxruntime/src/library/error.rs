use std::path::PathBuf;

/// Why there is no ONNX Runtime to run a model with.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// There is no library in any of the places.
    #[error(
        "no ONNX Runtime was found. It was looked for in:\n{}\nGet it with `pip install onnxruntime`, or give its path with \
         --engine-library or in ORT_DYLIB_PATH",
        listed(places)
    )]
    NotFound {
        /// Where it was looked for, in order.
        places: Vec<String>,
    },
    /// The file that was named does not exist.
    #[error("{what} names '{}', and there is no such file", path.display())]
    NoSuchFile {
        /// What named it: an option or an environment variable.
        what: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be loaded, or is another library.
    #[error("'{}' is not a usable ONNX Runtime: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The library is older than what is needed.
    #[error("'{}' is ONNX Runtime {found}; {needed} or later is needed: `pip install --upgrade onnxruntime`", path.display())]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: String,
        /// The oldest version that is enough.
        needed: &'static str,
    },
    /// The library was built without an execution provider.
    #[error("'{}' has no execution provider '{provider}'; it has {available}", path.display())]
    NoProvider {
        /// The library.
        path: PathBuf,
        /// The provider that was asked for.
        provider: String,
        /// Those that it has.
        available: String,
    },
    /// An execution provider was there and refused to work.
    #[error("the execution provider '{provider}' cannot be used: {reason}")]
    Provider {
        /// The provider.
        provider: String,
        /// The library's reason.
        reason: String,
    },
}

fn listed(places: &[String]) -> String {
    places.iter().map(|place| format!("  {place}")).collect::<Vec<_>>().join("\n")
}
