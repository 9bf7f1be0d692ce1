use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use opscope::acl_json::AclConfig;

use super::settings::{SETTINGS, Settings};
use super::{model, queue};
use crate::border::{Failure, call, codes, note, text};
use crate::configuration::{check_initialized, parse, read};
use crate::forks::Shared;

/// Sets what models are dumped with, by the file of `aclInit`.
pub fn configure(config: Option<&AclConfig>) {
    let mut state = SETTINGS.lock();
    state.by_init = config.and_then(Settings::of);
    state.path = state.by_init.as_ref().map(|settings| settings.directory.clone());
}

/// Ends the dump of all models, and returns when everything is delivered.
pub fn finish() {
    model::end_all();
    queue::flush();
    let mut state = SETTINGS.lock();
    state.end();
    (state.by_init, state.path) = (None, None);
}

/// Begins to dump models that are loaded from now on.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlInitDump() -> c_int {
    call(|| {
        check_initialized()?;
        let mut state = SETTINGS.lock();
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
}

/// Sets what models that are loaded from now on are dumped with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlSetDump(path: *const c_char) -> c_int {
    call(|| {
        check_dumping()?;
        // SAFETY: as the program promises.
        let config = parse(&read(unsafe { text(path, "dumpCfgPath")? })?)?;
        let settings = Settings::of(&config);
        let mut state = SETTINGS.lock();
        state.path = settings.as_ref().map(|settings| settings.directory.clone());
        // A file that dumps nothing replaces what was set before it, too.
        let nothing = Settings { section: Some(AclConfig::default()), directory: PathBuf::new() };
        state.by_set = Some(settings.unwrap_or(nothing));
        Ok(())
    })
}

/// Ends the dump of all models, and returns when everything is delivered.
#[unsafe(no_mangle)]
pub extern "C" fn aclmdlFinalizeDump() -> c_int {
    call(|| {
        check_dumping()?;
        model::end_all();
        queue::flush();
        SETTINGS.lock().end();
        Ok(())
    })
}

/// The kinds of directories that `acldumpGetPath` knows.
const DATA_DUMP: c_int = 4;
const OVERFLOW_DUMP: c_int = 5;

/// Returns the directory of the dump that was configured last; NULL if there is none. The text is valid until the next configuration.
#[unsafe(no_mangle)]
pub extern "C" fn acldumpGetPath(kind: c_int) -> *const c_char {
    static GIVEN: Shared<Option<CString>> = Shared::new(None, || GIVEN.held(|_| {}));
    let path = SETTINGS.read().path.clone().filter(|_| matches!(kind, DATA_DUMP | OVERFLOW_DUMP));
    let path = path.and_then(|path| CString::new(path.as_os_str().as_bytes()).ok());
    let mut given = GIVEN.lock();
    if given.is_none() || *given != path {
        // The earlier text dies with the configuration that it was of.
        *given = path;
    }
    given.as_ref().map_or(std::ptr::null(), |path| path.as_ptr())
}

fn check_dumping() -> Result<(), Failure> {
    check_initialized()?;
    let text = "aclmdlInitDump was not called";
    if SETTINGS.read().is_dumping { Ok(()) } else { Err(Failure::new(codes::DUMP_NOT_RUN, "EP0008", text)) }
}
