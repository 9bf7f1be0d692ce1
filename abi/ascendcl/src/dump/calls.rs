use std::ffi::{CStr, CString, c_char, c_int};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use opscope::acl_json::{AclConfig, LARGEST_FILE, Location, Problem, ProblemKind};

use super::settings::{Settings, with_state};
use super::{model, queue};
use crate::border::{Failure, call, codes, note, text};

/// Initializes the library, with the settings of a file unless `path` is NULL or "". Every call after the first one counts, and answers
/// 100002.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclInit(path: *const c_char) -> c_int {
    call(|| {
        // SAFETY: as the program promises.
        let path = (!path.is_null()).then(|| unsafe { CStr::from_ptr(path) }).filter(|path| !path.is_empty());
        let content = match path {
            None => None,
            Some(path) => Some(read(path)?),
        };
        let is_first = with_state(|state| {
            if state.inits == 0 {
                return Ok(true);
            }
            if content.is_some() && content != state.first {
                let text = "aclInit was called with another configuration than the first time";
                return Err(Failure::new(codes::INVALID_PARAM, "EP0006", text));
            }
            state.inits += 1;
            Ok(false)
        })?;
        if !is_first {
            let text = "aclInit was called already; this call counts, and its configuration is the first one's";
            return Err(Failure::new(codes::REPEAT_INITIALIZE, "EP0008", text));
        }
        let config = content.as_deref().map(|content| parse(content, codes::INVALID_DUMP_CONFIG)).transpose()?;
        with_state(|state| {
            (state.inits, state.first) = (1, content);
            state.by_init = config.and_then(Settings::of);
            state.path = state.by_init.as_ref().map(|settings| settings.directory.clone());
        });
        Ok(())
    })
}

/// Ends the use of the library, however often it was initialized. What is queued is delivered.
#[unsafe(no_mangle)]
pub extern "C" fn aclFinalize() -> c_int {
    call(|| {
        if with_state(|state| std::mem::take(&mut state.inits)) == 0 {
            return Err(not_initialized(codes::REPEAT_FINALIZE));
        }
        finish();
        Ok(())
    })
}

/// Takes back one call of `aclInit`, and writes how many are left, unless `count` is NULL. The last one ends the use of the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclFinalizeReference(count: *mut u64) -> c_int {
    call(|| {
        let left = with_state(|state| {
            state.inits = state.inits.checked_sub(1).ok_or_else(|| not_initialized(codes::REPEAT_FINALIZE))?;
            Ok(state.inits)
        })?;
        if !count.is_null() {
            // SAFETY: it is not NULL, and the program promises that it is writable.
            unsafe { count.write(left) };
        }
        if left == 0 {
            finish();
        }
        Ok(())
    })
}

fn finish() {
    model::end_all();
    queue::flush();
    with_state(|state| {
        state.end();
        (state.first, state.by_init, state.path) = (None, None, None);
    });
}

/// Begins to dump models that are loaded from now on.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlInitDump() -> c_int {
    call(|| {
        with_state(|state| {
            if state.inits == 0 {
                return Err(not_initialized(codes::UNINITIALIZE));
            }
            if state.is_dumping {
                let text = "aclmdlInitDump was called already; call aclmdlFinalizeDump first";
                return Err(Failure::new(codes::REPEAT_INITIALIZE, "EP0008", text));
            }
            if state.by_init.is_some() {
                note("EP0008: aclInit has configured a dump; it stays until aclmdlSetDump".to_owned());
            }
            state.begin();
            Ok(())
        })
    })
}

/// Sets what models that are loaded from now on are dumped with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlSetDump(path: *const c_char) -> c_int {
    call(|| {
        with_state(|state| check_dumping(state.inits, state.is_dumping))?;
        // SAFETY: as the program promises.
        let config = parse(&read(unsafe { text(path, "dumpCfgPath")? })?, codes::INVALID_DUMP_CONFIG)?;
        with_state(|state| {
            let nothing =
                || Settings { section: Some(AclConfig { dump: None, ..config.clone() }), directory: PathBuf::new() };
            let settings = Settings::of(config.clone());
            state.path = settings.as_ref().map(|settings| settings.directory.clone());
            state.by_set = Some(settings.unwrap_or_else(nothing));
        });
        Ok(())
    })
}

/// Ends the dump of all models, and returns when everything is delivered.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlFinalizeDump() -> c_int {
    call(|| {
        with_state(|state| check_dumping(state.inits, state.is_dumping))?;
        model::end_all();
        queue::flush();
        with_state(|state| state.end());
        Ok(())
    })
}

/// The kinds of directories that `acldumpGetPath` knows.
const DATA_DUMP: c_int = 4;
const OVERFLOW_DUMP: c_int = 5;

/// Returns the directory of the dump that was configured last; NULL if there is none. The text is valid until the next configuration.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpGetPath(kind: c_int) -> *const c_char {
    use std::sync::Mutex;
    static GIVEN: Mutex<Option<CString>> = Mutex::new(None);
    let path = with_state(|state| state.path.clone()).filter(|_| matches!(kind, DATA_DUMP | OVERFLOW_DUMP));
    let path = path.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
    let mut given = GIVEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if given.is_none() || *given != path {
        // The earlier text dies with the configuration that it was of.
        *given = path;
    }
    given.as_ref().map_or(std::ptr::null(), |path| path.as_ptr())
}

fn check_dumping(inits: u64, is_dumping: bool) -> Result<(), Failure> {
    if inits == 0 {
        return Err(not_initialized(codes::UNINITIALIZE));
    }
    let text = "aclmdlInitDump was not called";
    if is_dumping { Ok(()) } else { Err(Failure::new(codes::DUMP_NOT_RUN, "EP0008", text)) }
}

fn not_initialized(code: i32) -> Failure {
    Failure::new(code, "EP0008", "aclInit was not called, or aclFinalize was since")
}

/// Reads a file, as large as such a file may be.
fn read(path: &CStr) -> Result<Vec<u8>, Failure> {
    let path = Path::new(std::ffi::OsStr::from_bytes(path.to_bytes()));
    let refused = |reason: &dyn std::fmt::Display| Failure::bad_path(codes::INVALID_FILE, path.display(), reason);
    let facts = fs::metadata(path).map_err(|error| refused(&error))?;
    if !facts.is_file() {
        return Err(refused(&"it is no regular file"));
    }
    if facts.len() > LARGEST_FILE {
        return Err(refused(&"it is larger than 10 MiB"));
    }
    fs::read(path).map_err(|error| refused(&error))
}

fn parse(content: &[u8], of_dump: i32) -> Result<AclConfig, Failure> {
    let unreadable =
        |reason: &str| Failure::new(codes::PARSE_FILE, "EP0004", format!("the file cannot be parsed: {reason}"));
    let content = std::str::from_utf8(content).map_err(|_| unreadable("it is not UTF-8"))?;
    // The paths of files stay as they are written: what a callback is told is relative, too.
    AclConfig::parse(content, Path::new("")).map_err(|problems| {
        let first: &Problem = &problems[0];
        let is_profiler = matches!(&first.location, Location::Pointer(pointer) if pointer.starts_with("/profiler"));
        let code = match first.kind {
            ProblemKind::File => codes::INVALID_FILE,
            ProblemKind::Syntax => return unreadable(&first.to_string()),
            _ if is_profiler => codes::INVALID_PARAM,
            _ => of_dump,
        };
        Failure::new(code, first.code().unwrap_or("EP0001"), first.to_string())
    })
}
