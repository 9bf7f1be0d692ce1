//! Information in both directions: versions, features and names for the program, and the program's log lines and
//! exception callbacks. All versions are that of the interface, 1.17.0. The device has no exceptions, so their
//! callbacks are never called.

#[allow(unsafe_code, reason = "a line is formatted by the C library")]
mod log;
#[allow(unsafe_code, reason = "a function with a variable number of arguments is assembler")]
mod variadic;

use std::ffi::{CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStringExt;
use std::sync::OnceLock;

use opscope_border::{Out, Text, exported};

use crate::border::{Failure, codes};
use crate::forks::Shared;
use crate::thread_context::runtime_call;

const MAJOR: i32 = 1;
const MINOR: i32 = 17;
const PATCH: i32 = 0;
/// The three numbers as a text.
const VERSION: &str = "1.17.0";
/// The three numbers as one, which increases with them.
const NUMBER: i32 = (MAJOR * 100 + MINOR) * 100_000 + PATCH * 1000;
/// The size of a text buffer in the program's structs.
const TEXT: usize = 128;
const PART: usize = 64;

/// The vendor's packages that this library replaces: their names and numbers.
const PACKAGES: [(&str, c_int); 2] = [("cann", 0), ("runtime", 1)];

/// `aclCANNPackageVersion`
#[repr(C)]
pub struct PackageVersion {
    version: [u8; TEXT],
    major: [u8; PART],
    minor: [u8; PART],
    release: [u8; PART],
    patch: [u8; PART],
    reserved: [u8; TEXT],
}

const _: () = assert!(size_of::<PackageVersion>() == 512);

/// Writes the version of the interface.
#[exported(runtime_call)]
pub fn aclrtGetVersion(major: Out<'_, i32>, minor: Out<'_, i32>, patch: Out<'_, i32>) -> Result<(), Failure> {
    let places = [major.place("majorVersion")?, minor.place("minorVersion")?, patch.place("patchVersion")?];
    for (place, value) in places.into_iter().zip([MAJOR, MINOR, PATCH]) {
        place.write(value);
    }
    Ok(())
}

/// Writes the version of a package as a text.
#[exported(runtime_call)]
pub fn aclsysGetVersionStr(package: Text<'_>, version: Out<'_, [u8; TEXT]>) -> Result<(), Failure> {
    check_package(package)?;
    version.place("versionStr")?.write(padded(VERSION));
    Ok(())
}

/// Writes the version of a package as a number, which increases with the version.
#[exported(runtime_call)]
pub fn aclsysGetVersionNum(package: Text<'_>, number: Out<'_, i32>) -> Result<(), Failure> {
    check_package(package)?;
    number.place("versionNum")?.write(NUMBER);
    Ok(())
}

/// Writes the version of a package as a text, and its parts.
#[exported(runtime_call)]
pub fn aclsysGetCANNVersion(package: c_int, version: Out<'_, PackageVersion>) -> Result<(), Failure> {
    let version = version.place("version")?;
    if !PACKAGES.iter().any(|(_, number)| *number == package) {
        return Err(Failure::wrong_value("name", package, "the package is not installed"));
    }
    let value = PackageVersion {
        version: padded(VERSION),
        major: padded(&MAJOR.to_string()),
        minor: padded(&MINOR.to_string()),
        release: padded(&PATCH.to_string()),
        patch: padded(""),
        reserved: [0; TEXT],
    };
    version.write(value);
    Ok(())
}

fn check_package(name: Text<'_>) -> Result<(), Failure> {
    let name = name.c_str("pkgName")?.to_string_lossy();
    if PACKAGES.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(Failure::wrong_value("pkgName", name, "no package of this name is installed; there are cann and runtime"))
}

/// Returns a text, padded with zeros.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N - 1);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}

/// The environment variable that sets the name.
const VARIABLE: &str = "OPSCOPE_SOC_NAME";
/// The default name. Programs choose a model by the beginning of the name.
const DEFAULT: &str = "Ascend310P3";

/// Returns the name of the device's chip: the value of OPSCOPE_SOC_NAME, if it is set at the first call.
#[exported]
pub fn aclrtGetSocName() -> *const c_char {
    static NAME: OnceLock<CString> = OnceLock::new();
    NAME.get_or_init(|| {
        let set = std::env::var_os(VARIABLE).filter(|name| !name.is_empty());
        let name = set.map_or_else(|| DEFAULT.into(), OsStringExt::into_vec);
        CString::new(name).unwrap_or_default()
    })
    .as_ptr()
}

const INF_NAN: c_int = 0;
const JIT_COMPILE: c_int = 2;

/// The supported features: infinities and NaN are preserved. There is no BF16, and nothing is compiled.
static SUPPORTED: [c_int; 1] = [INF_NAN];

/// Writes the address of the list of supported features, and its length. The list is valid until the process ends.
#[exported(runtime_call)]
pub fn aclGetCannAttributeList(list: Out<'_, *const c_int>, count: Out<'_, usize>) -> Result<(), Failure> {
    let (list, count) = (list.place("cannAttrList")?, count.place("num")?);
    list.write(SUPPORTED.as_ptr());
    count.write(SUPPORTED.len());
    Ok(())
}

/// Writes 1 if the feature is supported, else 0.
#[exported(runtime_call)]
pub fn aclGetCannAttribute(attribute: c_int, value: Out<'_, i32>) -> Result<(), Failure> {
    let value = value.place("value")?;
    if !(INF_NAN..=JIT_COMPILE).contains(&attribute) {
        return Err(Failure::wrong_value("cannAttr", attribute, "it is not one of aclCannAttr"));
    }
    value.write(SUPPORTED.contains(&attribute).into());
    Ok(())
}

type Callback = extern "C" fn(info: *mut c_void);

/// The registered callbacks, by address.
static REGISTERED: Shared<Vec<usize>> = Shared::new(Vec::new(), || REGISTERED.held(|_| {}));

/// The value that means "unknown".
const NONE: u32 = u32::MAX;

/// Accepts a callback; NULL removes the last one.
#[exported]
pub fn aclrtSetExceptionInfoCallback(_callback: Option<Callback>) -> c_int {
    0
}

/// Registers a callback.
#[exported(runtime_call)]
pub fn aclrtExceptionInfoCallbackRegister(callback: Option<Callback>) -> Result<(), Failure> {
    let callback = address(callback)?;
    let mut registered = REGISTERED.lock();
    if !registered.contains(&callback) {
        registered.push(callback);
    }
    Ok(())
}

/// Removes a registered callback.
#[exported(runtime_call)]
pub fn aclrtExceptionInfoCallbackUnregister(callback: Option<Callback>) -> Result<(), Failure> {
    let callback = address(callback)?;
    let mut registered = REGISTERED.lock();
    let Some(at) = registered.iter().position(|known| *known == callback) else {
        return Err(wrong("it is not registered"));
    };
    registered.remove(at);
    Ok(())
}

fn address(callback: Option<Callback>) -> Result<usize, Failure> {
    callback.map(|callback| callback as usize).ok_or_else(|| wrong("it is NULL"))
}

fn wrong(reason: &str) -> Failure {
    Failure::new(codes::RT_PARAM_INVALID, "EE1003", format!("the callback cannot be used: {reason}"))
}

/// Defines functions that read an exception. No program ever receives one.
macro_rules! of_exception {
    ($($function:ident)+) => {
        $(
            /// Returns 0xFFFFFFFF.
            #[exported]
            pub fn $function(_info: *const c_void) -> u32 {
                NONE
            }
        )+
    };
}

of_exception! {
    aclrtGetTaskIdFromExceptionInfo
    aclrtGetStreamIdFromExceptionInfo
    aclrtGetThreadIdFromExceptionInfo
    aclrtGetDeviceIdFromExceptionInfo
    aclrtGetErrorCodeFromExceptionInfo
}
