//! Versions: everywhere that of the interface, 1.17.0.

use std::ffi::{c_char, c_int};

use crate::border::{Failure, out, text};
use crate::last_error::runtime_call;

const MAJOR: i32 = 1;
const MINOR: i32 = 17;
const PATCH: i32 = 0;
/// The three as a text.
const VERSION: &str = "1.17.0";
/// The three as a number, which grows with them.
const NUMBER: i32 = (MAJOR * 100 + MINOR) * 100_000 + PATCH * 1000;
/// The size of a text that a program gives room for.
const TEXT: usize = 128;
const PART: usize = 64;

/// What this library stands for, of the vendor's packages: their names, and their numbers.
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
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclrtGetVersion(major: *mut i32, minor: *mut i32, patch: *mut i32) -> c_int {
    runtime_call(|| {
        let places = [out(major, "majorVersion")?, out(minor, "minorVersion")?, out(patch, "patchVersion")?];
        for (place, value) in places.into_iter().zip([MAJOR, MINOR, PATCH]) {
            // SAFETY: it is not NULL, and the program promises that it is writable.
            unsafe { place.write(value) };
        }
        Ok(())
    })
}

/// Writes the version of a package.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetVersionStr(package: *const c_char, version: *mut c_char) -> c_int {
    runtime_call(|| {
        // SAFETY: the program promises that it is a text.
        unsafe { check_package(package)? };
        // SAFETY: the program promises that it has room for so many bytes.
        unsafe { out(version, "versionStr")?.cast::<[u8; TEXT]>().write(padded(VERSION)) };
        Ok(())
    })
}

/// Writes the version of a package as a number, which is the larger the newer it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetVersionNum(package: *const c_char, number: *mut i32) -> c_int {
    runtime_call(|| {
        // SAFETY: the program promises that it is a text.
        unsafe { check_package(package)? };
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { out(number, "versionNum")?.write(NUMBER) };
        Ok(())
    })
}

/// Writes the version of a package.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclsysGetCANNVersion(package: c_int, version: *mut PackageVersion) -> c_int {
    runtime_call(|| {
        let version = out(version, "version")?;
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
        // SAFETY: it is not NULL, and the program promises that it is writable.
        unsafe { version.write(value) };
        Ok(())
    })
}

/// # Safety
/// The name is NULL or a text.
unsafe fn check_package(name: *const c_char) -> Result<(), Failure> {
    // SAFETY: the caller promises it.
    let name = unsafe { text(name, "pkgName")? }.to_string_lossy();
    if PACKAGES.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(Failure::wrong_value("pkgName", name, "no package of this name is installed; there are cann and runtime"))
}

/// Returns a text with zeros behind it.
fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut bytes = [0; N];
    let length = text.len().min(N - 1);
    bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
    bytes
}
