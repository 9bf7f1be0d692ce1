//! How often the library was initialized, and its configuration file.

use std::ffi::CStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use opscope_acl_json::{AclConfig, LARGEST_FILE, Location, Problem, ProblemKind};

use crate::border::{Failure, codes};
use crate::forks::Shared;

/// Reads a configuration file. A file that is larger than allowed is an error.
pub fn read(path: &CStr) -> Result<Vec<u8>, Failure> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    let refused = |reason: &dyn std::fmt::Display| Failure::bad_path(codes::INVALID_FILE, path.display(), reason);
    opscope::files::read(path, LARGEST_FILE).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => refused(&"it is larger than 10 MiB"),
        _ => refused(&error),
    })
}

/// Parses the content of a configuration file. Returns the first problem as an error.
pub fn parse(content: &[u8]) -> Result<AclConfig, Failure> {
    let unreadable =
        |reason: &str| Failure::new(codes::PARSE_FILE, "EP0004", format!("the file cannot be parsed: {reason}"));
    let content = std::str::from_utf8(content).map_err(|_| unreadable("it is not UTF-8"))?;
    // Some editors begin UTF-8 files with a byte order mark.
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    // Paths stay as they are in the file: callbacks receive relative paths as relative paths.
    AclConfig::parse_as_vendor(content, Path::new("")).map_err(|problems| {
        let first: &Problem = &problems[0];
        let is_profiler = matches!(&first.location, Location::Pointer(pointer) if pointer.starts_with("/profiler"));
        let code = match first.kind {
            ProblemKind::File => codes::INVALID_FILE,
            ProblemKind::Syntax => return unreadable(&first.to_string()),
            _ if is_profiler => codes::INVALID_PARAM,
            _ => codes::INVALID_DUMP_CONFIG,
        };
        Failure::new(code, first.code().unwrap_or("EP0001"), first.to_string())
    })
}

/// How often the library was initialized.
#[derive(Default)]
pub struct Initialized {
    /// How many calls of `aclInit` have not been undone.
    pub count: u64,
    /// The content of the first call's file.
    pub first: Option<Vec<u8>>,
}

pub static INITIALIZED: Shared<Initialized> =
    Shared::new(Initialized { count: 0, first: None }, || INITIALIZED.held(|_| {}));

/// Checks that `aclInit` was called.
pub fn check_initialized() -> Result<(), Failure> {
    if INITIALIZED.read().count > 0 { Ok(()) } else { Err(not_initialized(codes::UNINITIALIZE)) }
}

/// Returns the failure, with this code, of a call that needs `aclInit`.
pub fn not_initialized(code: i32) -> Failure {
    Failure::new(code, "EP0008", "aclInit was not called, or aclFinalize was since")
}
