//! The library: where it is, and its abilities.

mod places;

use std::collections::{BTreeMap, HashMap};
use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, LazyLock, OnceLock};

use opscope_sys::Mutex;
use ort_sys::{OrtApi, OrtApiBase, OrtEnv};

use self::places::{FoundLibrary, Surroundings};
use crate::api::{Api, HeldEnvironment};
use crate::errors::Refusal;
use crate::taps::{Domain, Memory};

/// A loaded libonnxruntime. It stays loaded until the process ends, because its threads and statics cannot be removed.
pub struct Library {
    path: PathBuf,
    skipped: Vec<Skipped>,
    version: String,
    api: Api,
    shared_taps: OnceLock<Result<Domain, Refusal>>,
    own_taps: OnceLock<Result<Domain, Refusal>>,
}

/// The oldest version whose interface suffices: it has custom operators that pass their inputs on without a copy.
const OLDEST: &str = "1.18";
/// The number of the interface of [`OLDEST`].
const OLDEST_API: u32 = 18;
/// The newest interface that is used here.
const NEWEST_API: u32 = 25;

impl Library {
    /// Keeps the environment of the process, which exists, until what is returned is dropped. Sessions must be dropped
    /// before.
    ///
    /// # Errors
    /// The library's message, if it refuses.
    pub fn hold_environment(&self) -> Result<HeldEnvironment, Refusal> {
        HeldEnvironment::new(self.api)
    }

    /// Finds and loads the library. `explicit` is a path from the user; it may name a directory.
    ///
    /// The places are, in this order: `explicit`, `ORT_DYLIB_PATH`, beside the program, the Python package
    /// `onnxruntime` of the active virtual environment, of `./venv` and `./.venv`, and of the `python3` on `PATH`, and
    /// the linker's directories. A library for another processor is skipped. A library that was loaded before is
    /// returned again.
    ///
    /// # Errors
    /// Returns an error if there is none, it cannot be loaded, or it is too old.
    pub fn find(explicit: Option<&Path>) -> Result<Arc<Self>, LibraryError> {
        static LOADED: LazyLock<Mutex<HashMap<PathBuf, Arc<Library>>>> = LazyLock::new(Mutex::default);
        let FoundLibrary { path, skipped } = Surroundings::of_process(explicit).find()?;
        let identity = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let mut loaded = LOADED.lock();
        if let Some(library) = loaded.get(&identity) {
            return Ok(Arc::clone(library));
        }
        let library = Arc::new(Self::load(path, skipped)?);
        loaded.insert(identity, Arc::clone(&library));
        Ok(library)
    }

    /// Returns the library that the program uses itself, with an environment that the program has made.
    ///
    /// # Errors
    /// Returns an error if it is too old.
    ///
    /// # Safety
    /// `base` is what a library's `OrtGetApiBase` has returned, and that library stays loaded. The environment is one of
    /// that library, and lives as long as the models that are loaded with it.
    pub unsafe fn of_program(
        base: NonNull<OrtApiBase>,
        path: PathBuf,
        env: NonNull<OrtEnv>,
    ) -> Result<Arc<Self>, LibraryError> {
        static KNOWN: Mutex<BTreeMap<(usize, usize), Arc<Library>>> = Mutex::new(BTreeMap::new());
        let mut known = KNOWN.lock();
        let key = (base.as_ptr().addr(), env.as_ptr().addr());
        if let Some(library) = known.get(&key) {
            return Ok(Arc::clone(library));
        }
        // SAFETY: guaranteed by the caller. The functions have these types.
        let (get_api, get_version) = unsafe { ((*base.as_ptr()).GetApi, (*base.as_ptr()).GetVersionString) };
        // SAFETY: as above.
        let Interface { version, table, number } = unsafe { interface(&path, get_api, get_version) }?;
        let none = || LibraryError::Unusable { path: path.clone(), reason: format!("it has no interface {number}") };
        let table = NonNull::new(table.cast_mut()).ok_or_else(none)?;
        // SAFETY: as above.
        let api = unsafe { Api::with_env(table, number, env) };
        let (shared_taps, own_taps) = (OnceLock::new(), OnceLock::new());
        let library = Arc::new(Self { path, skipped: Vec::new(), version, api, shared_taps, own_taps });
        known.insert(key, Arc::clone(&library));
        Ok(library)
    }

    /// Returns the file that [`Self::find`] would load, without loading it.
    ///
    /// # Errors
    /// Returns an error if there is none.
    pub fn locate(explicit: Option<&Path>) -> Result<PathBuf, LibraryError> {
        Surroundings::of_process(explicit).find().map(|found| found.path)
    }

    fn load(path: PathBuf, skipped: Vec<Skipped>) -> Result<Self, LibraryError> {
        let unusable = |reason: Refusal| LibraryError::Unusable { path: path.clone(), reason: reason.to_string() };
        let base = api_base(&path).map_err(&unusable)?;
        let (Some(get_api), Some(get_version)) = (base.get_api, base.get_version) else {
            return Err(unusable("its table OrtApiBase has a null pointer".into()));
        };
        // SAFETY: these are the library's own functions.
        let Interface { version, table, number } = unsafe { interface(&path, get_api, get_version) }?;
        // SAFETY: a table that is not null has at least the entries of its number, and is never freed.
        let api = unsafe { Api::new(table, number) }.map_err(unusable)?;
        Ok(Self { path, skipped, version, api, shared_taps: OnceLock::new(), own_taps: OnceLock::new() })
    }

    /// Returns where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the libraries that were skipped before it was found, because they are for other processors.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Returns its version, such as `1.31.1`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the execution providers that it was built with, by the library's names, in its order of preference.
    pub fn providers(&self) -> Vec<String> {
        self.api.providers()
    }

    /// Returns the operator set of taps.
    pub(crate) fn taps(&self, memory: Memory) -> Result<&Domain, Refusal> {
        let made = match memory {
            Memory::Shared | Memory::Held => &self.shared_taps,
            Memory::Own => &self.own_taps,
        };
        made.get_or_init(|| Domain::new(self.api, memory)).as_ref().map_err(Clone::clone)
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("path", &self.path).field("version", &self.version).finish_non_exhaustive()
    }
}

/// The interface of a library that is used here.
struct Interface {
    /// The version of the library.
    version: String,
    /// The table; null if the library does not have it.
    table: *const OrtApi,
    /// The number of the interface.
    number: u32,
}

/// Returns the newest interface that both a library and this crate know.
///
/// # Safety
/// The functions are those of the library's `OrtApiBase`.
unsafe fn interface(
    path: &Path,
    get_api: unsafe extern "system" fn(u32) -> *const OrtApi,
    get_version: unsafe extern "system" fn() -> *const c_char,
) -> Result<Interface, LibraryError> {
    let unusable = |reason: String| LibraryError::Unusable { path: path.to_owned(), reason };
    // SAFETY: this is the library's own function, and takes no arguments.
    let version = unsafe { get_version() };
    if version.is_null() {
        return Err(unusable("it does not say its version".to_owned()));
    }
    // SAFETY: the pointer is not null, and the text is static.
    let version = unsafe { CStr::from_ptr(version) }.to_string_lossy().into_owned();
    let offered = minor(&version).ok_or_else(|| unusable(format!("its version is '{version}'")))?;
    if offered < OLDEST_API {
        return Err(LibraryError::TooOld { path: path.to_owned(), found: version, needed: OLDEST });
    }
    let number = offered.min(NEWEST_API);
    // SAFETY: as above. The function returns null for an interface that the library does not have.
    let table = unsafe { get_api(number) };
    Ok(Interface { version, table, number })
}

/// Returns the second number of a version `1.N.P`, which is also the number of the interface.
fn minor(version: &str) -> Option<u32> {
    let mut numbers = version.split('.').map(|number| number.parse().ok());
    match (numbers.next()??, numbers.next()??) {
        (1, minor) => Some(minor),
        _ => None,
    }
}

/// The table `OrtApiBase` of ONNX Runtime's C header. Unlike there, the functions are optional, because a foreign
/// library may lack them.
#[repr(C)]
struct ApiBase {
    get_api: Option<unsafe extern "system" fn(u32) -> *const OrtApi>,
    get_version: Option<unsafe extern "system" fn() -> *const c_char>,
}

/// Loads the library and returns its entry point.
fn api_base(path: &Path) -> Result<&'static ApiBase, Refusal> {
    let name = CString::new(path.as_os_str().as_bytes()).map_err(|_| "its path contains a null byte")?;
    // SAFETY: the name is a valid C string. Constructors of the library run, as for any loaded library.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(last_error().into());
    }
    // SAFETY: the handle is open, and the name is a valid C string.
    let entry = unsafe { libc::dlsym(handle, c"OrtGetApiBase".as_ptr()) };
    if entry.is_null() {
        return Err("it has no function OrtGetApiBase".into());
    }
    // SAFETY: ONNX Runtime exports this function with this signature.
    let entry = unsafe { std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn() -> *const ApiBase>(entry) };
    // SAFETY: the function takes no arguments and returns a table that is never freed, or null.
    unsafe { entry().as_ref() }.ok_or_else(|| "OrtGetApiBase returns nothing".into())
}

fn last_error() -> String {
    // SAFETY: the text is valid until this thread's next call of the loader, and is copied here.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "it cannot be loaded".to_owned();
    }
    // SAFETY: it was checked above; the loader's texts end with a null byte.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

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
