//! Versions. All of them are that of the interface, 1.17.0.

use std::ffi::c_int;

use opscope_border::{Out, Text, exported};

use crate::border::Failure;
use crate::last_error::runtime_call;

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
