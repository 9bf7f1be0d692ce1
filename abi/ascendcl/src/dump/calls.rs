//! The functions for dumps.
//!
//! A callback is never called after the call that removes it. No single operator is executed here, so the dump of the
//! arguments of single operators can be switched on and off, but writes nothing. The counts of what was delivered are
//! for programs that check whether a dump is complete.

use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use opscope_acl_json::AclConfig;
use opscope_border::{ArgumentError, Out, SizedOut, Text, exported, sized};

use super::delivery::Counts;
use super::settings::{SETTINGS, Settings};
use super::slot::MessageCallback;
use super::subscribers::Callback;
use super::{exceptions, model, queue, slot, subscribers};
use crate::border::{Data, Failure, codes, note, required, value};
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

/// Registers the callback that receives the chunks of all dumps from now on. `flag` must be 0. If a callback is
/// registered already, it stays, the new one is ignored, and the call returns 0.
#[exported]
pub fn acldumpRegCallback(callback: Option<MessageCallback>, flag: i32) -> Result<(), Failure> {
    let callback = callback.ok_or_else(|| {
        Failure::new(codes::FAILURE, "EP0007", "argument messageCallback of acldumpRegCallback is NULL")
    })?;
    if flag != 0 {
        let text = format!("argument flag of acldumpRegCallback is {flag}; only 0 is supported");
        return Err(Failure::new(codes::FAILURE, "EP0006", text));
    }
    // Chunks that were dumped earlier must not go to the new callback.
    queue::flush();
    if !slot::register(callback) {
        let text = "acldumpRegCallback was called twice; the first callback stays until acldumpUnregCallback";
        note(format!("EP0008: {text}"));
    }
    Ok(())
}

/// Delivers what is queued, and removes the callback, which is then never called again. Inside the callback, returns
/// immediately.
#[exported]
pub fn acldumpUnregCallback() {
    value((), || {
        queue::flush();
        // A chunk that was pushed meanwhile may be being delivered to the callback, so this waits again.
        let was_registered = slot::unregister();
        queue::flush();
        if !was_registered {
            note("EP0008: acldumpUnregCallback was called, and no callback is registered".to_owned());
        }
        queue::tell_loss();
        Ok(())
    });
}

/// Adds a callback that receives all chunks from now on. It is called after the callback of `acldumpRegCallback`, on
/// the same thread. While any such callback exists, nothing is written to the disk. The callback returns 0 to continue,
/// 1 to receive no more of this file, and any other value to receive nothing any more.
#[exported]
pub fn opscope_acldump_subscribe(
    callback: Option<Callback>,
    user: *mut c_void,
    subscription: Out<'_, u64>,
) -> Result<(), Failure> {
    let callback = required(callback, "callback")?;
    let to = subscription.place("subscription")?;
    to.write(subscribers::add(callback, Data(user)));
    Ok(())
}

/// Delivers what is queued, and removes a callback, which is then never called again. Inside a callback, returns
/// immediately.
#[exported]
pub fn opscope_acldump_unsubscribe(subscription: u64) -> Result<(), Failure> {
    queue::flush();
    let was_there = subscribers::remove(subscription);
    // A chunk that was pushed meanwhile may be being delivered to the callback.
    queue::flush();
    let reason = "there is no such subscription, or it has ended";
    if was_there { Ok(()) } else { Err(Failure::wrong_value("subscription", subscription, reason)) }
}

/// The only kind of arguments.
const AI_CORE: u32 = 1;

static IS_ON: Shared<bool> = Shared::new(false, || IS_ON.held(|_| {}));

/// Creates the directory for the dump, and switches the dump on.
#[exported]
pub fn aclopStartDumpArgs(dump_type: u32, path: Text<'_>) -> Result<(), Failure> {
    let refused = |code: &str, text: &str| Err(Failure::new(codes::FAILURE, code, text));
    {
        let Some(path) = path.given() else {
            return refused("EP0007", "argument path of aclopStartDumpArgs is NULL");
        };
        if dump_type & AI_CORE == 0 {
            return refused("EP0006", "argument dumpType of aclopStartDumpArgs has to be ACL_OP_DUMP_OP_AICORE_ARGS");
        }
        let directory = Path::new(OsStr::from_bytes(path.to_bytes()));
        if directory.as_os_str().is_empty() {
            return refused("EP0006", "argument path of aclopStartDumpArgs is empty");
        }
        if let Err(error) = fs::create_dir_all(directory) {
            let text = format!("the directory {} cannot be made: {error}", directory.display());
            return refused("EP0006", &text);
        }
        if std::mem::replace(&mut *IS_ON.lock(), true) {
            return refused("EP0008", "aclopStartDumpArgs was called already; call aclopStopDumpArgs first");
        }
        Ok(())
    }
}

/// Switches the dump off.
#[exported]
pub fn aclopStopDumpArgs(dump_type: u32) -> c_int {
    if dump_type & AI_CORE != 0 {
        *IS_ON.lock() = false;
    }
    0
}

/// The counts in the form that a program receives.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_acldump_report {
    pub size: usize,
    pub files: u64,
    pub incomplete_files: u64,
    pub chunks: u64,
    pub bytes: u64,
    pub lost_chunks: u64,
}
sized!(opscope_acldump_report, 48);

/// Waits until everything that runs have dumped so far is delivered, and writes the counts. Inside a callback, does not
/// wait. The program sets `size` to the size of its struct.
#[exported]
pub fn opscope_acldump_get_report(report: SizedOut<'_, opscope_acldump_report>) -> Result<(), Failure> {
    report.check_given("report")?;
    let place = report.place().map_err(|error| match error {
        ArgumentError::WrongSize { size, .. } => {
            Failure::wrong_value("size", size, "set it to sizeof(opscope_acldump_report)")
        }
        error => error.into(),
    })?;
    queue::flush();
    let Counts { files, incomplete_files, chunks, bytes, lost_chunks } = queue::counts();
    let size = size_of::<opscope_acldump_report>();
    place.write(&opscope_acldump_report { size, files, incomplete_files, chunks, bytes, lost_chunks });
    Ok(())
}
