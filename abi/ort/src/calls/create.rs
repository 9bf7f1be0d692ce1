//! Sessions that the program makes and releases.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::Arc;

use opscope_engine_onnxruntime::{Library, ProgramOptions};
use ort_sys::{OrtEnv, OrtErrorCode, OrtPrepackedWeightsContainer, OrtSession, OrtSessionOptions, OrtStatusPtr};

use super::{beside, own};
use crate::debug_server;
use crate::interface::interface;
use crate::messages::say;
use crate::observed::{Failure, ModelSource, Observed};
use crate::sessions::{self, Known};
use crate::threads;
use crate::variables::wanted;

pub unsafe extern "system" fn create_session<const SLOT: usize>(
    env: *const OrtEnv,
    path: *const c_char,
    options: *const OrtSessionOptions,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let create = || unsafe { own!(SLOT, CreateSession(env, path, options, session)) };
    // SAFETY: the program passes what the library's function requires.
    unsafe { created::<SLOT>(&Made { env, options, session }, Model::File(path), create) }
}

pub unsafe extern "system" fn create_session_from_array<const SLOT: usize>(
    env: *const OrtEnv,
    data: *const c_void,
    length: usize,
    options: *const OrtSessionOptions,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let create = || unsafe { own!(SLOT, CreateSessionFromArray(env, data, length, options, session)) };
    // SAFETY: the program passes what the library's function requires.
    unsafe { created::<SLOT>(&Made { env, options, session }, Model::Memory(data.cast(), length), create) }
}

pub unsafe extern "system" fn create_session_with_weights<const SLOT: usize>(
    env: *const OrtEnv,
    path: *const c_char,
    options: *const OrtSessionOptions,
    weights: *mut OrtPrepackedWeightsContainer,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    let create = || {
        // SAFETY: the program calls the library's function.
        unsafe { own!(SLOT, CreateSessionWithPrepackedWeightsContainer(env, path, options, weights, session)) }
    };
    // SAFETY: the program passes what the library's function requires.
    unsafe { created::<SLOT>(&Made { env, options, session }, Model::File(path), create) }
}

pub unsafe extern "system" fn create_session_from_array_with_weights<const SLOT: usize>(
    env: *const OrtEnv,
    data: *const c_void,
    length: usize,
    options: *const OrtSessionOptions,
    weights: *mut OrtPrepackedWeightsContainer,
    session: *mut *mut OrtSession,
) -> OrtStatusPtr {
    let create = || {
        // SAFETY: the program calls the library's function.
        unsafe {
            own!(
                SLOT,
                CreateSessionFromArrayWithPrepackedWeightsContainer(env, data, length, options, weights, session)
            )
        }
    };
    // SAFETY: the program passes what the library's function requires.
    unsafe { created::<SLOT>(&Made { env, options, session }, Model::Memory(data.cast(), length), create) }
}

pub unsafe extern "system" fn release_session<const SLOT: usize>(session: *mut OrtSession) {
    beside("the end of a session", || sessions::remove(session.addr()));
    // SAFETY: the program calls the library's function.
    unsafe { own!(SLOT, ReleaseSession(session)) }
}

/// What the program passes to make a session, and the place that the session is written to.
struct Made {
    env: *const OrtEnv,
    options: *const OrtSessionOptions,
    session: *mut *mut OrtSession,
}

/// What the program passes as the model.
#[derive(Clone, Copy)]
enum Model {
    File(*const c_char),
    Memory(*const u8, usize),
}

/// Lets the library create a session, and begins to observe it.
///
/// # Safety
/// The program passes what the library's function requires.
unsafe fn created<const SLOT: usize>(made: &Made, model: Model, create: impl FnOnce() -> OrtStatusPtr) -> OrtStatusPtr {
    if let Some(wrong) = &wanted().wrong {
        let text = CString::new(wrong.as_str()).unwrap_or_default();
        // SAFETY: the text ends with NUL, and the library copies it.
        return unsafe { own!(SLOT, CreateStatus(OrtErrorCode::ORT_INVALID_ARGUMENT, text.as_ptr())) };
    }
    // A client may attach while the library loads the model.
    beside("the debug server", debug_server::listen);
    let status = create();
    if !status.0.is_null() || made.session.is_null() {
        return status;
    }
    // SAFETY: the library has written it.
    let session = unsafe { *made.session };
    // SAFETY: as above; the library has just accepted what the program passes.
    let observed = beside("a look at a new session", || unsafe { observe::<SLOT>(made, model) });
    let known = match observed {
        Some(Ok(observed)) => Known::Observed(Arc::new(observed)),
        Some(Err(reason)) => {
            say(format_args!("the session of '{}' is not observed: {reason}", name_of(model).display()));
            Known::LeftAlone
        }
        None => Known::LeftAlone,
    };
    sessions::add(session.addr(), known);
    status
}

/// Returns the model's path, or a word for one in memory.
fn name_of(model: Model) -> PathBuf {
    match model {
        // SAFETY: the library has accepted the text.
        Model::File(path) => path_of(unsafe { CStr::from_ptr(path) }),
        Model::Memory(..) => PathBuf::from("(memory)"),
    }
}

fn path_of(text: &CStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.to_bytes()))
}

/// # Safety
/// The library has accepted the arguments.
unsafe fn observe<const SLOT: usize>(made: &Made, model: Model) -> Result<Observed, Failure> {
    let known = interface(SLOT).ok_or(Failure::UnknownLibrary)?;
    let env = NonNull::new(made.env.cast_mut()).ok_or(Failure::NoEnvironment)?;
    let source = match model {
        Model::File(_) => ModelSource::File(name_of(model)),
        Model::Memory(data, length) => ModelSource::Memory {
            // SAFETY: the library has read the model from there. The program may free it when this call returns.
            bytes: unsafe { slice::from_raw_parts(data, length) }.to_vec(),
            // SAFETY: the library has accepted the options.
            directory: unsafe { directory_of_weights::<SLOT>(made.options) },
        },
    };
    // SAFETY: the library's functions have returned both. The program keeps the environment until its sessions are
    // released, and models are dropped before that.
    let library = unsafe { Library::of_program(known.base(), known.path.clone(), env) }?;
    // SAFETY: the program keeps what options refer to as long as their sessions.
    let options = unsafe { ProgramOptions::copy_of(&library, made.options) }?;
    Ok(Observed::new(source, library, options, threads::of(made.options.addr()))?)
}

/// Returns the directory of a model's external data, if the program has set it.
///
/// # Safety
/// The options are null or valid.
unsafe fn directory_of_weights<const SLOT: usize>(options: *const OrtSessionOptions) -> Option<PathBuf> {
    const KEY: &CStr = c"session.model_external_initializers_file_folder_path";
    let (mut is_set, mut size): (c_int, usize) = (0, 0);
    if options.is_null() {
        return None;
    }
    // SAFETY: the options are valid, and the results may be written. The library writes `size` bytes at most, and says
    // how many there are.
    unsafe {
        let checked = own!(SLOT, HasSessionConfigEntry(options, KEY.as_ptr(), &mut is_set));
        if !checked.0.is_null() || is_set == 0 {
            return None;
        }
        let asked = own!(SLOT, GetSessionConfigEntry(options, KEY.as_ptr(), ptr::null_mut(), &mut size));
        let mut value = vec![0u8; size];
        let read = own!(SLOT, GetSessionConfigEntry(options, KEY.as_ptr(), value.as_mut_ptr().cast(), &mut size));
        let is_read = asked.0.is_null() && read.0.is_null();
        let text = CStr::from_bytes_until_nul(&value).ok().filter(|_| is_read)?;
        Some(Path::new(OsStr::from_bytes(text.to_bytes())).to_owned())
    }
}
