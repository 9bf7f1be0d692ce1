use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

use opscope_acl_json::AclConfig;
use opscope_border::{Text, exported};

use super::settings::{SETTINGS, Settings};
use super::{exceptions, model, queue};
use crate::border::{Failure, codes, note};
use crate::configuration::{check_initialized, parse, read};
use crate::forks::Shared;

/// Sets the dump settings from the file of `aclInit`.
pub fn configure(config: Option<&AclConfig>) {
    let mut state = SETTINGS.lock();
    state.by_init = config.and_then(Settings::of);
    state.path = state.by_init.as_ref().map(|settings| settings.directory.clone());
    state.exceptions = config.and_then(|config| config.exceptions.clone());
}

/// Ends the dump of all models. Returns once everything is delivered.
pub fn finish() {
    model::end_all();
    queue::flush();
    queue::tell_loss();
    let mut state = SETTINGS.lock();
    state.end();
    (state.by_init, state.path, state.exceptions) = (None, None, None);
}

/// Dumps the models that are loaded from now on.
#[exported]
pub fn aclmdlInitDump() -> Result<(), Failure> {
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
}

/// Sets the dump settings for the models that are loaded from now on.
#[exported]
pub fn aclmdlSetDump(path: Text<'_>) -> Result<(), Failure> {
    check_dumping()?;
    let config = parse(&read(path.c_str("dumpCfgPath")?)?)?;
    let settings = Settings::of(&config);
    let mut state = SETTINGS.lock();
    state.path = settings.as_ref().map(|settings| settings.directory.clone());
    state.exceptions = config.exceptions;
    // A file that dumps nothing also replaces the earlier settings.
    state.by_set = Some(settings);
    Ok(())
}

/// Ends the dump of all models. Returns once everything is delivered.
#[exported]
pub fn aclmdlFinalizeDump() -> Result<(), Failure> {
    check_dumping()?;
    model::end_all();
    queue::flush();
    queue::tell_loss();
    SETTINGS.lock().end();
    Ok(())
}

/// The kinds of directories that `acldumpGetPath` knows: for exceptions, and for dumps.
const AIC_ERR_BRIEF_DUMP: c_int = 1;
const AIC_ERR_DETAIL_DUMP: c_int = 3;
const DATA_DUMP: c_int = 4;
const OVERFLOW_DUMP: c_int = 5;

/// The texts that programs received, for exceptions and for dumps. A text lives until the directory changes.
static GIVEN: Shared<[Option<CString>; 2]> = Shared::new([None, None], || GIVEN.held(|_| {}));

/// Returns the directory of the dump that was configured last, or the directory for the data of exceptions, which this
/// creates. NULL if there is none. The text is valid until the next configuration.
#[exported]
pub fn acldumpGetPath(kind: c_int) -> *const c_char {
    let path = match kind {
        AIC_ERR_BRIEF_DUMP..=AIC_ERR_DETAIL_DUMP => exceptions::directory().map(|path| (0, path)),
        DATA_DUMP | OVERFLOW_DUMP => SETTINGS.read().path.clone().map(|path| (1, path)),
        _ => None,
    };
    let text = path.and_then(|(of, path)| Some((of, CString::new(path.into_os_string().into_vec()).ok()?)));
    let Some((of, text)) = text else { return std::ptr::null() };
    let mut given = GIVEN.lock();
    if given[of].as_ref() != Some(&text) {
        given[of] = Some(text);
    }
    given[of].as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

fn check_dumping() -> Result<(), Failure> {
    check_initialized()?;
    let text = "aclmdlInitDump was not called";
    if SETTINGS.read().is_dumping { Ok(()) } else { Err(Failure::new(codes::DUMP_NOT_RUN, "EP0008", text)) }
}
