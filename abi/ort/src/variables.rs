//! The environment variables that ask for something. They are read once, when the program first looks for the library.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf, absolute};
use std::sync::LazyLock;

use opscope_border::system::variable;
use opscope_debug::server::Listen;

/// What is asked for.
#[derive(Default)]
pub struct Wanted {
    /// The directory for recordings.
    pub profile: Option<PathBuf>,
    /// The directory for dumps.
    pub dump: Option<PathBuf>,
    /// Whether a run whose outputs have NaN or infinity is an error.
    pub non_finite: bool,
    /// Where a debugger can attach.
    pub debug_server: Option<Listen>,
    /// The variable whose value makes no sense. The creation of every session then fails.
    pub wrong: Option<String>,
}

/// Returns what is asked for.
pub fn wanted() -> &'static Wanted {
    static WANTED: LazyLock<Wanted> = LazyLock::new(Wanted::read);
    &WANTED
}

impl Wanted {
    fn read() -> Self {
        let mut wanted =
            Self { profile: directory(c"OPSCOPE_PROFILE"), dump: directory(c"OPSCOPE_DUMP"), ..Self::default() };
        match variable(c"OPSCOPE_NONFINITE") {
            Some(value) if value.as_bytes() == b"raise" => wanted.non_finite = true,
            Some(value) => {
                let value = value.to_string_lossy();
                wanted.wrong = Some(format!("OPSCOPE_NONFINITE is raise, or is not set, and not '{value}'"));
            }
            None => {}
        }
        match variable(c"OPSCOPE_DEBUG_SERVER").map(|value| path(&value)) {
            Some(value) if value == Path::new("1") => wanted.debug_server = Some(Listen::ByProcess),
            Some(value) if value.components().count() > 1 => wanted.debug_server = Some(Listen::At(value)),
            Some(value) => {
                wanted.wrong = Some(format!(
                    "OPSCOPE_DEBUG_SERVER is 1 or a path such as ./socket, and not '{}'",
                    value.display()
                ));
            }
            None => {}
        }
        wanted
    }

    /// Returns whether nothing is asked for.
    pub fn is_nothing(&self) -> bool {
        let Self { profile, dump, non_finite, debug_server, wrong } = self;
        profile.is_none() && dump.is_none() && !non_finite && debug_server.is_none() && wrong.is_none()
    }
}

/// Returns the directory that a variable names. The program may change its working directory later.
fn directory(name: &CStr) -> Option<PathBuf> {
    let named = path(&variable(name)?);
    Some(absolute(&named).unwrap_or(named))
}

fn path(text: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.to_bytes()))
}
